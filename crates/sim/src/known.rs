//! What the simulator knows by name.

use crate::app::Apps;
use crate::packet::PacketBox;
use crate::topology::PathWords;
use sojourn_path::Elements;
use sojourn_qdisc::Registry;
use sojourn_transport::cc::Registry as Controls;

/// What the words of a scenario may name. To begin with, what the crates have; whoever brings more adds it
/// ([`Sim`](crate::Sim)).
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// Queue disciplines.
    pub(crate) qdiscs: Registry<PacketBox>,
    /// Congestion controls.
    pub(crate) controls: Controls,
    /// Path elements that hold no packets.
    pub(crate) elements: Elements,
    /// Applications.
    pub(crate) apps: Apps,
}

impl Known {
    /// The input for a path.
    pub(crate) const fn of_path(&self) -> PathWords<'_> {
        (&self.qdiscs, &self.elements)
    }
}
