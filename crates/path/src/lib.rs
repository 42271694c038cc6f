//! What packets pass on their way: ports, each a queue discipline in front of a device, middleboxes that hold
//! nothing, and what both count.
//!
//! A port is without I/O and without a clock of its own: it takes a packet at a time it is told, and is polled
//! until it says when it wants to be polled again. Delays of a path are ports too, with `netem` in front of a
//! device that takes no time.
//!
//! [`topology`] puts them together: from a scenario's hops to ports, and to the routes of its flows through them.

mod middlebox;
mod packet;
pub mod policer;
mod port;
mod port_stats;
mod radio;
mod replay;
mod rewrite;
mod select;
#[cfg(test)]
mod testing;
pub mod topology;
pub mod tunnel;
pub mod wifi;

pub use middlebox::{Middlebox, MiddleboxKind};
pub use packet::{Outer, PathPacket, SkbCharge, Sojourn};
pub use policer::Policer;
pub use port::{Device, Poll, Port};
pub use port_stats::{PortStats, Signals, Sojourns};
pub use radio::Radio;
pub use replay::ReplayWindow;
pub use rewrite::Rewriter;
pub use select::Selection;
pub use topology::Topology;
pub use tunnel::{Entrance, Exit};
