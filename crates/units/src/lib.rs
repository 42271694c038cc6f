//! The quantities every other room speaks in: time, spans, rates, sizes, ECN and DSCP, as integers in
//! newtypes that parse and print the way `tc` does; named random streams and draws from
//! distributions.
//!
//! Invariants: simulated time is whole nanoseconds in a `u64` and never a float; rates are whole bits per
//! second, and the remainder of a division is either carried ([`Serializer`]) or rounded in a stated direction; every
//! text form round-trips.

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod ecn;
mod parse;
pub mod random;
mod rate;
pub mod sample;
mod text;
mod time;
mod wheel;

/// The example of the README runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use ecn::{Dscp, Ecn};
pub use parse::{ParseError, Quantity, parse_probability, parse_rate, parse_size, parse_span};
pub use random::Random;
pub use rate::{Rate, Serializer};
pub use text::NotACodepoint;
pub use time::{Span, Time};
pub use wheel::CoarseClock;

/// Bytes that the Ethernet header adds to an IP packet in every queue's eyes (Linux `skb->len` at a qdisc,
/// without preamble or frame check sequence): a 1500-byte IP packet counts as 1514.
pub const ETHERNET_HEADER: u32 = 14;
