//! Rewriters and policers, which tc has where packets come in, and what is switched on and off by events.
//!
//! Each has the filters of one priority: those of the first element of a side come first. One that is switched off has no
//! filters, and a netem that is has the words of one that delays nothing; what it holds still comes out.

use crate::places::{element_at, find, place};
use crate::words::tc_rate;
use crate::{bypass, netems, rewrite, schedule};
use sojourn_model::{Action, Element, Kind, Policer, Scenario, Side};

/// Bytes of the Ethernet header, which queues count and a filter where packets come in does not.
const ETHERNET: u32 = 14;

/// Whether this is what this module is about.
pub(crate) const fn is_one(kind: &Kind) -> bool {
    matches!(kind, Kind::Rewrite(_) | Kind::Policer(_))
}

/// A rewriter or policer of a side.
#[derive(Debug)]
pub(crate) struct Middlebox<'a> {
    pub(crate) element: &'a Element,
    device: &'static str,
    prio: usize,
    filters: Vec<String>,
    /// The number of a policer in its namespace.
    pub(crate) index: Option<usize>,
}

/// Those of a side, in order.
pub(crate) fn of_side<'a>(scenario: &'a Scenario, hop: usize, side: Side) -> Vec<Middlebox<'a>> {
    let device = place(hop, side).from;
    let elements = scenario.hops[hop].side(side).iter().filter(|e| is_one(&e.kind));
    let middlebox = |(number, element): (usize, &'a Element)| {
        let prio = bypass::priorities(scenario, hop) + number + 1;
        // Both sides of a hop are in one namespace.
        let number = 2 * number + usize::from(side == Side::Up) + 1;
        let (filters, index) = match &element.kind {
            Kind::Rewrite(rewrite) => {
                let ip = |words: String| format!("protocol ip prio {prio} {words}");
                (rewrite::filters(scenario, rewrite).into_iter().map(ip).collect(), None)
            }
            Kind::Policer(policer) => (vec![police(policer, prio, number)], Some(number)),
            _ => (Vec::new(), None),
        };
        Middlebox { element, device, prio, filters, index }
    };
    elements.enumerate().map(middlebox).collect()
}

/// tc's police with a rate and a burst alone, which every packet passes. What is within goes on to the next filter.
fn police(policer: &Policer, prio: usize, index: usize) -> String {
    let Policer { rate, burst, .. } = policer;
    format!(
        "protocol all prio {prio} matchall action police rate {} burst {burst} overhead {ETHERNET} \
         conform-exceed drop/continue index {index}",
        tc_rate(*rate)
    )
}

impl Middlebox<'_> {
    /// tc's words that put it there.
    pub(crate) fn on(&self) -> Vec<String> {
        let add = |words| format!("filter add dev {} parent ffff: {words}", self.device);
        self.filters.iter().map(add).collect()
    }

    /// tc's words that take it away.
    fn off(&self) -> String {
        let protocol = if self.index.is_some() { "all" } else { "ip" };
        let (device, prio) = (self.device, self.prio);
        format!("filter del dev {device} parent ffff: protocol {protocol} prio {prio}")
    }
}

/// The element that an action switches, and to what.
pub(crate) const fn switches(action: &Action) -> Option<(&String, bool)> {
    match action {
        Action::Enable { element } => Some((element, true)),
        Action::Disable { element } => Some((element, false)),
        _ => None,
    }
}

/// Whether any event switches this element.
pub(crate) fn is_switched(scenario: &Scenario, path: &str) -> bool {
    let mut actions = scenario.events.iter().flat_map(|event| &event.actions);
    actions.any(|action| switches(action).is_some_and(|(element, _)| element == path))
}

/// What tc is told when an event switches a middlebox or a netem: nothing where that is as it should be already.
pub(crate) fn switch(
    scenario: &Scenario,
    event: usize,
    path: &str,
    to: bool,
) -> Option<(String, Vec<String>)> {
    let (hop, side) = find(scenario, path)?;
    let ns = place(hop, side).ns;
    let element = element_at(scenario, path)?;
    if state_before(scenario, event, path, element.enabled) == to {
        return Some((ns, Vec::new()));
    }
    let words = if matches!(element.kind, Kind::Netem(_)) {
        netems::switch(scenario, hop, side, to)
    } else {
        let middleboxes = of_side(scenario, hop, side);
        let own = middleboxes.iter().find(|m| m.element.name == element.name)?;
        if to { own.on() } else { vec![own.off()] }
    };
    Some((ns, words))
}

/// Whether an element acts when an event comes: as the last one before it has left it.
fn state_before(scenario: &Scenario, event: usize, path: &str, begins: bool) -> bool {
    let at = |event: usize| {
        schedule::time_of(scenario, &scenario.events[event].when).map(|at| (at, event))
    };
    let now = at(event);
    let mut earlier: Vec<_> = (0..scenario.events.len())
        .filter(|&other| at(other) < now)
        .flat_map(|other| {
            let actions = scenario.events[other].actions.iter().filter_map(switches);
            actions.filter(|(element, _)| *element == path).map(move |(_, to)| (at(other), to))
        })
        .collect();
    earlier.sort_by_key(|(at, _)| *at);
    earlier.last().map_or(begins, |(_, to)| *to)
}
