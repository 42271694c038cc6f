//! What packets pass on their way: ports, each a queue discipline in front of a device, middleboxes that hold
//! nothing, and what both count.
//!
//! A port is without I/O and without a clock of its own: it takes a packet at a given time, and is polled
//! until it says when it wants to be polled again. Delays of a path are ports too, with `netem` in front of a
//! device that takes no time.
//!
//! [`topology`] puts them together: from a scenario's hops to ports, and to the routes of its flows through them.

/// Every middlebox of this crate, a line each: its file, and the types there. Those that the model has a type for stand first,
/// each with its variant of the enum in `middlebox.rs`; then those that words name ([`NamedElement`]). The enum and the
/// registry in `elements.rs` take the list.
macro_rules! middleboxes {
    ($take:ident) => {
        $take! {
            typed {
                rewrite: Rewrite(Rewriter);
                tunnel: Enter(Entrance), Leave(Exit);
                policer: Police(Policer);
            }
            by_words {
                flow_limit: FlowLimit;
                handover: Handover;
                periodic_loss: PeriodicLoss;
            }
        }
    };
}

/// Every link of this crate that words name: its file, and the type there. The registry in `elements.rs` takes the list.
macro_rules! links {
    ($take:ident) => {
        $take! {
            docsis: Docsis;
            lte: Lte;
            slotted: Slotted;
        }
    };
}

mod delivery;
pub mod docsis;
mod element;
mod elements;
pub mod flow_limit;
pub mod handover;
pub mod link;
pub mod lte;
mod middlebox;
mod packet;
pub mod periodic_loss;
pub mod policer;
mod port;
mod port_stats;
mod radio;
mod replay;
mod requests;
pub mod rewrite;
mod select;
mod setup;
pub mod slotted;
#[cfg(test)]
mod testing;
pub mod topology;
pub mod tunnel;
pub mod wifi;

pub use element::{NamedElement, PathElement, Verdict};
pub use elements::Elements;
pub use link::{Link, NamedLink, OnLink};
pub use middlebox::{Middlebox, MiddleboxKind, Named};
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
