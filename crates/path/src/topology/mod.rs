//! From a scenario's hops to ports and routes.
//!
//! Every netem of a chain, every queue and every radio link becomes a port; every element that holds no packets
//! (rewriters, ends of tunnels, policers) becomes a middlebox. A route is a list of entries: what happens to the
//! packets of one flow, one way, before a port, and the port; the last entry leads to the host. Flows with a delay of
//! their own have netems of their own. The engine decides what is between a host and the first element ([`HostSide`]),
//! which clock holds, and who asks a port when it wants to be polled.
//!
//! A chain of netems is one port after the other. The kernel has the second as the child of the first (the
//! harness's `root-tree`): the parent hands a packet down when its delay is over, which is when the first port
//! hands it on; the parent's limit counts its own packets (as of 6.13; before, 5.4 among them, too: it takes
//! what it hands down off its length). The difference that is left: a child with slots looks for packets whenever
//! the parent has one come or leave, a second port when one comes or is due. Only if `slot`'s least gap is shorter
//! than its own netem's delay does it then draw its next slot more often; nobody's is.
//!
//! What an event may switch off is there from the beginning: a delay with a bypass, which the entry before
//! it takes while it is off; packets that it holds still come out.
//!
//! Invariants: the topology depends on the scenario alone, port by port in the order of the flows; random streams are
//! named by the element that draws from them; elements that no flow passes are not there.

mod build;
mod change;
mod elements;
mod error;
mod host;
mod middleboxes;
mod node;
mod ports;
mod query;
mod route;
#[cfg(test)]
mod tests;
mod walk;

pub use elements::Basis;
pub use error::{ChangeError, Unbuildable};
pub use host::{HostSide, NicKind};
pub use node::{Node, Role};
pub use route::{HOST, RouteEntry, Step, Switch};
pub use walk::Passed;

use crate::Middlebox;
use crate::wifi::Air;
use sojourn_model::TunnelKind;

/// Ports, middleboxes and the routes through them.
#[derive(Debug)]
pub struct Topology<P> {
    /// The ports.
    pub nodes: Vec<Node<P>>,
    /// The middleboxes, with their elements' paths.
    pub middleboxes: Vec<(String, Middlebox)>,
    /// Delays, queues and radio links that events switch.
    pub switches: Vec<Switch>,
    /// Kinds of the tunnels, by their numbers.
    pub tunnels: Vec<TunnelKind>,
    /// What happens before ports; entries refer to it by the place plus one.
    pub steps: Vec<Vec<Step>>,
    /// The entries of each route, in order; the last leads to the host. Where hosts have an interface
    /// ([`HostSide::nic`]), the first leads to a port, and nothing happens on it.
    pub routes: Vec<Vec<RouteEntry>>,
    /// Wireless channels, to be handed to ports when they are polled.
    pub air: Air,
    /// The device of each flow's sending host, where it is separate from the path.
    pub device_of: Vec<Option<NicKind>>,
    /// Routes of each flow: data, then what comes back.
    pub of_flow: Vec<(u16, u16)>,
    /// Those of its control connection ([`HostSide::control`]), which has no delay of its own; the flow's own where
    /// there is none.
    pub of_control: Vec<(u16, u16)>,
}
