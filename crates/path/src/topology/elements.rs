//! The input for a topology, and the scenario's settings of an element over the whole run.

use crate::Elements;
use core::fmt;
use sojourn_model::{Action, Element, Kind, Scenario, Side};
use sojourn_qdisc::{QdiscQuirks, Registry};

/// The input for ports, at the beginning and when an event puts another in their place.
pub struct Basis<'a, P> {
    /// A checked scenario ([`Scenario::check`]).
    pub scenario: &'a Scenario,
    /// The disciplines that words may name.
    pub registry: &'a Registry<P>,
    /// The path elements that words may name.
    pub elements: &'a Elements,
    /// The disciplines' switches of the stack of this name. It is asked for the stacks of the scenario's hops and flows.
    pub profiles: &'a dyn Fn(&str) -> QdiscQuirks,
}

impl<P> fmt::Debug for Basis<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Basis").field("scenario", &self.scenario).finish_non_exhaustive()
    }
}

impl<P> Basis<'_, P> {
    /// The switches of the disciplines on a hop.
    pub(super) fn profile_of_hop(&self, hop: &str) -> QdiscQuirks {
        (self.profiles)(self.scenario.hop(hop).map_or("", |h| h.stack.as_str()))
    }

    /// Those where an element stands.
    pub(super) fn profile_at(&self, element: &str) -> QdiscQuirks {
        self.profile_of_hop(element.split('.').next().unwrap_or(""))
    }
}

/// An element where it stands.
pub(super) struct Place<'a> {
    /// Its path, `hop.side.element`.
    pub(super) path: String,
    pub(super) hop: &'a str,
    pub(super) side: Side,
    pub(super) e: &'a Element,
}

impl<'a> Place<'a> {
    pub(super) fn new((hop, side, e): (&'a str, Side, &'a Element)) -> Self {
        Self { path: format!("{hop}.{side}.{}", e.name), hop, side, e }
    }

    /// Whether packets can meet this element in the run at all: it is not switched off for good, and no empty chain.
    pub(super) fn exists(&self, scenario: &Scenario) -> bool {
        let acts = self.e.enabled || is_switched(scenario, &self.path);
        match &self.e.kind {
            Kind::Netem(netem) => acts && links(scenario, &self.path, netem.chain.len()) > 0,
            _ => acts,
        }
    }
}

/// What events do to an element.
pub(super) fn actions<'a>(scenario: &'a Scenario, path: &str) -> impl Iterator<Item = &'a Action> {
    let actions = scenario.events.iter().flat_map(|e| &e.actions);
    actions.filter(move |a| a.element() == Some(path))
}

/// Whether an event switches the element.
pub(super) fn is_switched(scenario: &Scenario, path: &str) -> bool {
    actions(scenario, path).any(|a| matches!(a, Action::Enable { .. } | Action::Disable { .. }))
}

/// The largest number of netems here at any time of the run.
pub(super) fn links(scenario: &Scenario, path: &str, at_first: usize) -> usize {
    let later = actions(scenario, path).filter_map(|a| {
        if let Action::ChangeNetem { chain, .. } = a { Some(chain.len()) } else { None }
    });
    later.fold(at_first, usize::max)
}
