//! Which packets an element is for.

use crate::PathPacket;
use sojourn_units::Dscp;

/// A choice among packets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Selection {
    /// Every packet.
    All,
    /// Those that carry this DSCP here; inside a tunnel it is the outer header's.
    Dscp(Dscp),
    /// Those of the flows with `true` at their place, both directions of each, tunnel or not.
    Flows(Vec<bool>),
}

impl Selection {
    /// Whether this packet is among them.
    pub fn takes<P: PathPacket>(&self, packet: &P) -> bool {
        match self {
            Self::All => true,
            Self::Dscp(dscp) => packet.dscp() == *dscp,
            Self::Flows(these) => these.get(packet.flow()).copied().unwrap_or(false),
        }
    }
}
