//! Where an element's packets are held, and what its routes amount to.

use super::elements::actions;
use super::node::queue_among;
use super::{HOST, Node, Role, Topology};
use crate::Middlebox;
use sojourn_model::Scenario;
use sojourn_units::Span;

impl<P> Topology<P> {
    /// The middlebox of an element.
    pub fn middlebox(&mut self, element: &str) -> Option<&mut Middlebox> {
        self.middleboxes.iter_mut().find(|p| p.0 == element).map(|p| &mut p.1)
    }

    /// The port of a queue; none if no flow passes it.
    pub fn queue(&self, element: &str) -> Option<usize> {
        queue_among(&self.nodes, element)
    }

    /// Ports of a netem element: those of one flow, or those of all flows that have none of their own.
    pub fn netems(&self, element: &str, flow: Option<&str>) -> Vec<usize> {
        let of = |s: &Node<P>| match &s.role {
            Role::Netem { element: e, flow: f, .. } => e == element && f.as_deref() == flow,
            _ => false,
        };
        (0..self.nodes.len()).filter(|&i| of(&self.nodes[i])).collect()
    }

    /// The part of the delay on a route that never changes: that of its constant netems, as long as no event changes
    /// or switches them.
    pub fn fixed_delay(&self, scenario: &Scenario, route: u16) -> Span {
        let ports = self.routes[usize::from(route)].iter().map(|entry| entry.port);
        let delays = ports.filter(|&port| port != HOST).filter_map(|port| {
            let node = &self.nodes[usize::from(port)];
            let Role::Netem { element, .. } = &node.role else { return None };
            let netem = node.netem.as_ref()?;
            let varies = netem.varies() || actions(scenario, element).next().is_some();
            (!varies).then(|| netem.delay())
        });
        delays.fold(Span::ZERO, |sum, delay| sum + delay)
    }
}
