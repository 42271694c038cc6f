//! Applications at the two ends of a flow: what is written, asked for and answered beyond one endless TCP connection.
//!
//! One application a file. Each is told of the packets that reach either of its ends and of the times that it asked
//! for, and sends through [`Wires`]. When what is sent is decided by the state machines of `sojourn_workload`,
//! which the engines share; here is what happens to it.

pub(crate) mod connection;
pub(crate) mod netperf;
pub(crate) mod probe;
pub(crate) mod short_flows;
pub(crate) mod stream;
pub(crate) mod streaming;
pub(crate) mod writer;

use crate::host::Nic;
use crate::packet::{Packet, Pool};
use crate::topology::Station;
use sojourn_units::Time;

/// The ways out of a flow's two hosts.
pub(crate) struct Wires<'a> {
    /// Now.
    pub(crate) now: Time,
    /// The flow's host side.
    pub(crate) nic: &'a mut Nic,
    /// Every port of the run.
    pub(crate) stations: &'a mut [Station],
    /// Where boxes for packets come from.
    pub(crate) pool: &'a mut Pool,
    /// The routes there and back.
    pub(crate) routes: (u16, u16),
    /// Their first ports.
    pub(crate) entries: (usize, usize),
}

impl Wires<'_> {
    /// Sends a packet by the route that it names.
    pub(crate) fn send(&mut self, packet: Packet) {
        let port = if packet.route == self.routes.0 { self.entries.0 } else { self.entries.1 };
        self.nic.send(self.now, &mut self.stations[port], self.pool, packet);
    }
}
