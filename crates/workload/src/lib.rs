//! When traffic that is no bulk TCP sends what: state machines that every engine shares, so that a video call or
//! a series of short flows is the same on the simulator and on Linux.
//!
//! A [`Source`] says when it next wants to act, and on being asked does one thing. Time and randomness are
//! arguments; the same stream of random numbers gives the same traffic. Draws are taken in an order that does not
//! depend on what becomes of the traffic.
//!
//! Most listen to nothing but the clock: constant rate, probes, voice, video, on and off, arrivals of short flows. The
//! client of an adaptive stream ([`Player`]) acts on what it receives and is a machine of another kind, and so is a receiver
//! that finds by their numbers what is lost ([`Missing`]).

mod arrivals;
mod datagrams;
mod missing;
mod on_off;
mod periodic;
mod player;
mod source;
mod video;

pub use arrivals::Arrivals;
pub use datagrams::{Datagrams, random_name};
pub use missing::Missing;
pub use on_off::{PulsedUdp, Pulses};
pub use periodic::{ConstantRate, Periodic};
pub use player::{Arrived, Player, Playing, Wish};
pub use source::{Act, Source};
pub use video::VideoSource;
