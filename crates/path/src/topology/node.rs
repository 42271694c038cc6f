//! A port and what it is to the scenario.

use crate::Port;
use core::fmt;
use sojourn_qdisc::netem;

/// The role of a port in the scenario.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Role {
    /// A delay: of all flows that have none of their own, or of one flow.
    Netem {
        /// The element's path, `hop.side.element`.
        element: String,
        /// Its place in the chain.
        link: usize,
        /// The flow it is for, if for one alone.
        flow: Option<String>,
    },
    /// A queue with recorded statistics.
    Queue {
        /// The element's path.
        element: String,
    },
    /// Where packets of hosts wait: for their jitter, or for the host's NIC.
    Nic {
        /// The device: `host.near.STACK` sends packets that go down, `host.far.STACK` those that go up.
        name: String,
    },
}

impl fmt::Display for Role {
    /// The element's path, or the interface's name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Netem { element, .. } | Self::Queue { element } => f.write_str(element),
            Self::Nic { name } => f.write_str(name),
        }
    }
}

/// A port with its role.
#[derive(Debug)]
pub struct Node<P> {
    /// The port.
    pub port: Port<P>,
    /// What it is.
    pub role: Role,
    /// Whether it is a device of the host that sends.
    pub own: bool,
    /// Whether a packet that comes later may leave earlier, so that each arrival asks again when to poll.
    pub reorders: bool,
    /// The settings of a netem, for changes of its delay alone.
    pub netem: Option<netem::Parameters>,
}

/// The place of an element's queue among ports.
pub(super) fn queue_among<P>(nodes: &[Node<P>], element: &str) -> Option<usize> {
    nodes.iter().position(|s| matches!(&s.role, Role::Queue { element: e } if e == element))
}
