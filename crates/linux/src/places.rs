//! Where the elements of a path are in the guest: the namespace of a hop, its devices, and the names of its ifbs.

use sojourn_model::{Element, Scenario, Side};

/// The names of one side of a hop in its namespace.
pub(crate) struct Place {
    pub(crate) ns: String,
    /// Where packets come in.
    pub(crate) from: &'static str,
    /// Where they leave: the queue's device.
    pub(crate) to: &'static str,
    /// Begins the names of its ifbs.
    pub(crate) letter: char,
}

pub(crate) fn place(hop: usize, side: Side) -> Place {
    let ns = format!("hop{hop}");
    match side {
        Side::Down => Place { ns, from: "s", to: "c", letter: 'd' },
        Side::Up => Place { ns, from: "c", to: "s", letter: 'u' },
    }
}

/// The hop and side of an element's path.
pub(crate) fn find(scenario: &Scenario, path: &str) -> Option<(usize, Side)> {
    let mut parts = path.splitn(3, '.');
    let (hop, side) = (parts.next()?, parts.next()?);
    let hop = scenario.hops.iter().position(|h| h.name == hop)?;
    Some((hop, Side::from_name(side)?))
}

/// An element by its path.
pub(crate) fn element_at<'a>(scenario: &'a Scenario, path: &str) -> Option<&'a Element> {
    let (hop, side) = find(scenario, path)?;
    let name = path.rsplit('.').next()?;
    scenario.hops[hop].side(side).iter().find(|element| element.name == name)
}
