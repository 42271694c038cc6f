//! The input for the middleboxes that the model has types for.

use crate::element::Verdict;
use crate::{PathPacket, Selection};
use sojourn_model::{Kind, Scenario, Selector, Side, Tunnel, TunnelKind};
use sojourn_units::{Rate, Time};

/// An element, and what of the scenario around it matters to it.
#[derive(Debug)]
pub(crate) struct Setup<'a> {
    /// What it is.
    pub(crate) kind: &'a Kind,
    /// Its name.
    pub(crate) name: &'a str,
    /// Its side of the hop.
    pub(crate) side: Side,
    /// The scenario.
    pub(crate) scenario: &'a Scenario,
    /// The tunnels so far.
    pub(crate) tunnels: &'a mut Tunnels,
}

/// A middlebox that a typed element of the model asks for.
pub(crate) trait FromElement: Sized {
    /// The middlebox, which has seen no packet; nothing if the element is not for it.
    fn of(setup: &mut Setup<'_>) -> Option<Self>;
}

/// A middlebox that the model has a type for, and that is a variant of the enum of [`MiddleboxKind`](crate::MiddleboxKind).
pub(crate) trait Typed: FromElement {
    /// A packet passes.
    fn pass<P: PathPacket>(&mut self, now: Time, packet: &mut P) -> Verdict;

    /// Sets the rate that it lets pass; false if it has none.
    fn set_rate(&mut self, _now: Time, _rate: Rate) -> bool {
        false
    }
}

/// The tunnels of a topology. Each direction is a tunnel by itself.
#[derive(Debug, Default)]
pub(crate) struct Tunnels {
    /// Their kinds, by their numbers.
    pub(crate) kinds: Vec<TunnelKind>,
    /// By side and name; a tunnel's number is its place.
    names: Vec<(Side, String)>,
}

impl Tunnels {
    /// A tunnel's number.
    pub(crate) fn number(&mut self, side: Side, name: &str, kind: TunnelKind) -> u16 {
        let known = self.names.iter().position(|t| t.0 == side && t.1 == name);
        let place = known.unwrap_or_else(|| {
            self.names.push((side, name.to_owned()));
            self.kinds.push(kind);
            self.names.len() - 1
        });
        place as u16
    }
}

impl Setup<'_> {
    /// The packets that a selector means.
    pub(crate) fn selection(&self, selector: &Selector) -> Selection {
        selection(self.scenario, selector)
    }

    /// The near end of a tunnel that has its far end here.
    pub(crate) fn near_end(&self, tunnel: &str) -> Option<&Tunnel> {
        self.scenario.hops.iter().flat_map(|h| h.side(self.side)).find_map(|e| match &e.kind {
            Kind::Encapsulate(found) if e.name == tunnel => Some(found),
            _ => None,
        })
    }
}

/// The packets that a selector of this scenario means.
pub(crate) fn selection(scenario: &Scenario, selector: &Selector) -> Selection {
    match selector {
        Selector::All => Selection::All,
        Selector::Dscp(dscp) => Selection::Dscp(*dscp),
        Selector::Flows(names) => {
            Selection::Flows(scenario.flows.iter().map(|f| names.contains(&f.name)).collect())
        }
    }
}
