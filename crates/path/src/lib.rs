//! What packets pass on their way: ports, each a queue discipline in front of a device, and what they count.
//!
//! A port is without I/O and without a clock of its own: it takes a packet at a time it is told, and is pulled
//! until it says when it wants to be pulled again. Delays of a path are ports too, with `netem` in front of a
//! device that takes no time.

mod ledger;
mod port;

pub use ledger::{Ledger, Sojourns};
pub use port::{Device, Port, Pulled};

use sojourn_qdisc::Packet;
use sojourn_units::Time;

/// A packet that remembers when it entered the port it is in, and whose it is.
pub trait Traveller: Packet {
    /// When it entered.
    fn entered(&self) -> Time;
    /// Notes [`Traveller::entered`].
    fn set_entered(&mut self, at: Time);
    /// The number of its flow.
    fn flow(&self) -> usize;
}
