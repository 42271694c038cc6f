//! Middleboxes from elements, each once however many flows pass it.

use super::elements::{Basis, Place, near_end};
use crate::{Entrance, Exit, Middlebox, MiddleboxKind, Policer, Rewriter};
use sojourn_model::{Kind, Side, TunnelKind};
use std::collections::BTreeMap;

/// The middleboxes that there are so far.
#[derive(Default)]
pub(super) struct Middleboxes {
    /// With their elements' paths.
    pub(super) all: Vec<(String, Middlebox)>,
    /// Kinds of the tunnels, by their numbers.
    pub(super) tunnels: Vec<TunnelKind>,
    /// Places in `all` by path.
    known: BTreeMap<String, u16>,
    /// Tunnels by side and name; a tunnel's number is its place.
    names: Vec<(Side, String)>,
}

impl Middleboxes {
    /// The number of an element's middlebox; none if the element holds packets.
    pub(super) fn of_element<P>(&mut self, basis: &Basis<'_, P>, place: &Place<'_>) -> Option<u16> {
        if let Some(&number) = self.known.get(&place.path) {
            return Some(number);
        }
        let kind = match &place.e.kind {
            Kind::Rewrite(r) => {
                MiddleboxKind::Rewrite(Rewriter::new(r.rule, basis.selection(&r.select), r.syn))
            }
            Kind::Policer(policer) => MiddleboxKind::Police(Policer::new(policer)),
            Kind::Encapsulate(tunnel) => {
                let number = self.tunnel(place.side, &place.e.name, tunnel.kind);
                let select = basis.selection(&tunnel.select);
                MiddleboxKind::Enter(Entrance::new(number, tunnel.kind, select, tunnel.overhead))
            }
            Kind::Decapsulate { tunnel } => {
                let near = near_end(basis.scenario, place.side, tunnel)?;
                let number = self.tunnel(place.side, tunnel, near.kind);
                MiddleboxKind::Leave(Exit::new(number, near.kind, near.replay_window))
            }
            Kind::Netem(_) | Kind::Queue(_) | Kind::AggregatingLink(_) | Kind::Wifi(_) => {
                return None;
            }
        };
        let number = self.all.len() as u16;
        self.all.push((place.path.clone(), Middlebox::new(kind, place.e.enabled)));
        self.known.insert(place.path.clone(), number);
        Some(number)
    }

    /// A tunnel's number. Each direction is a tunnel by itself.
    fn tunnel(&mut self, side: Side, name: &str, kind: TunnelKind) -> u16 {
        let known = self.names.iter().position(|t| t.0 == side && t.1 == name);
        let place = known.unwrap_or_else(|| {
            self.names.push((side, name.to_owned()));
            self.tunnels.push(kind);
            self.names.len() - 1
        });
        place as u16
    }
}
