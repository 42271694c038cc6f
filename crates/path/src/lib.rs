//! What packets pass on their way: ports, each a queue discipline in front of a device, passages that hold
//! nothing, and what both count.
//!
//! A port is without I/O and without a clock of its own: it takes a packet at a time it is told, and is pulled
//! until it says when it wants to be pulled again. Delays of a path are ports too, with `netem` in front of a
//! device that takes no time.

mod ledger;
mod passage;
pub mod policer;
mod port;
mod radio;
mod replay;
mod rewrite;
mod select;
#[cfg(test)]
mod testing;
pub mod tunnel;
pub mod wlan;

pub use ledger::{Charge, Ledger, Signals, Sojourns};
pub use passage::{Deed, Passage};
pub use policer::Policer;
pub use port::{Device, Port, Pulled, Stay};
pub use radio::Radio;
pub use replay::ReplayWindow;
pub use rewrite::Rewriter;
pub use select::Selection;
pub use tunnel::{Entrance, Exit, Outer};

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
    /// Whether it can be seen to be a SYN or SYN/ACK; never inside a tunnel.
    fn is_syn(&self) -> bool;
    /// Clears every ECN flag of its TCP header (ECE and CWR). Nothing where there is none to be seen.
    fn strip_tcp_ecn(&mut self);
    /// What it is on its socket's account with while its host's own device has it, if anything.
    fn charge(&self) -> Option<Charge>;
    /// The outermost header of a tunnel that it is in.
    fn outer(&self) -> Option<Outer>;
    /// Puts an outer header on: it has that header's ECN field, DSCP and flow from now on, and is longer.
    fn push_header(&mut self, outer: Outer);
    /// Takes the outermost header off and has the fields again that it had before; false if there is none.
    fn pop_header(&mut self) -> bool;
}
