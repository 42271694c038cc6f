//! TCP as Linux does it, without I/O: a sender and a receiver that receive packets and timer events, and say what they
//! send and when they want to be woken. Nothing here knows whether its clock is simulated or real.
//!
//! Sources: RFC 9293, 5681, 6298, 6582, 6675, 6937, 8985, 3168, 8257, 9438, 9768, and `net/ipv4/` of Linux 5.4 to 7.3,
//! with its order of work and rounding. Where versions differ, a switch of [`stack::TcpQuirks`] says which.

pub mod cc;
pub mod ecn;
pub mod minmax;
pub mod rate_sample;
pub mod receiver;
pub mod rtt;
pub mod segment;
pub mod sender;
pub mod stack;
pub mod tcb;

#[cfg(test)]
mod properties;

/// The example in the docs compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/adding-a-congestion-control.md")]
struct AddingACongestionControl;

/// The example of the README runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use cc::CaState;
pub use receiver::{Receiver, WindowPolicy};
pub use sender::{Config, HostNic, LimitedTimes, Sender};
pub use tcb::Tcb;
