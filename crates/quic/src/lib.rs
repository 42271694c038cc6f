//! QUIC and TCP as people run them, inside a simulation: both ends of a connection are an implementation from the registry,
//! which gets its packets, its time and its randomness from its caller.
//!
//! [`STACKS`] says which there are, with their versions and congestion controls; it is there even without the feature
//! `stacks`, which brings the implementations. [`connect`] makes a connection of QUIC, [`connect_tcp`] one of TCP. What its two ends do depends on its
//! settings and its seed alone: instants are made from the caller's time, connection IDs and the implementations'
//! generators from the seed. What TLS draws from the operating system (key shares, nonces) changes the bytes that are
//! sent and neither their number nor their time.

#![allow(
    clippy::duplicate_mod,
    reason = "`ends.rs` is a module of each implementation: it names their types"
)]

mod table;

#[cfg(feature = "stacks")]
mod clock;
#[cfg(feature = "stacks")]
mod connection;
#[cfg(feature = "stacks")]
mod noq;
#[cfg(feature = "stacks")]
mod null;
#[cfg(feature = "stacks")]
mod quinn;
#[cfg(feature = "stacks")]
mod seeds;
#[cfg(feature = "stacks")]
mod smoltcp;
#[cfg(feature = "stacks")]
mod steps;
#[cfg(feature = "stacks")]
mod tls;
#[cfg(feature = "stacks")]
mod watch;

#[cfg(feature = "stacks")]
pub use connection::{Connection, Datagram, End, Measured, Out, Reduced, connect, connect_tcp};
pub use table::{Control, Gauge, STACKS, Stack};

/// Whether the implementations are built in.
pub const BUILT_IN: bool = cfg!(feature = "stacks");
