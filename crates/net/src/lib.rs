//! A network of queues, delays, links and middleboxes that forwards packets between hosts of any kind.
//!
//! An engine puts hosts around a [`Network`]: modelled TCP endpoints, kernels, programs, or several kinds in one run.
//! The network owns the [`Topology`](sojourn_path::Topology) and the times at which its ports act. It has no clock, no
//! I/O and no hosts: the caller passes the time, sends packets in with [`Network::send`] and gets packets back through
//! [`Hosts::deliver`].
//!
//! Invariants:
//! - A port that holds a packet has a time in the [`Agenda`], so the caller never polls a port that has nothing to do.
//! - Events at one instant happen in the order of the agenda's slots ([`Slots`]), whatever happened before.
//! - The network draws no random numbers; disciplines and links have streams of their own.
//! - Nothing depends on the number of calls in which the caller advances time.
//!
//! ```
//! use sojourn_net::{Envelope, Hosts, Network};
//! use sojourn_path::{Device, Port, Topology};
//! use sojourn_qdisc::{QdiscQuirks, Registry};
//! use sojourn_units::{Random, Rate, Time};
//!
//! /// Notes when each packet arrives.
//! struct Arrivals(Vec<(u64, &'static str)>);
//!
//! impl Hosts<Envelope<&'static str>> for Arrivals {
//!     fn deliver(
//!         &mut self,
//!         _network: &mut Network<Envelope<&'static str>>,
//!         now: Time,
//!         packet: Envelope<&'static str>,
//!     ) {
//!         self.0.push((now.as_nanos() / 1000, packet.content));
//!     }
//! }
//!
//! // One queue in front of a line of 12 Mbit/s, which takes 1 ms for 1500 bytes.
//! let mut random = Random::named(1, "queue");
//! let qdisc = Registry::built_in().build("pfifo limit 10", &QdiscQuirks::default(), &mut random)?;
//! let port = Port::new(qdisc, Device::line(Rate::from_bits_per_sec(12_000_000)), random);
//! let mut network = Network::new(Topology::of_ports([("link", port)], &[&[0]]), (), 0);
//! for content in ["first", "second"] {
//!     network.send(Time::ZERO, Time::ZERO, Envelope::new(content, 1500, 0, 0));
//! }
//! let mut arrivals = Arrivals(Vec::new());
//! let next = network.advance(Time::from_secs(1), &mut arrivals);
//! assert_eq!(arrivals.0, [(1000, "first"), (2000, "second")]);
//! assert!(next.is_never());
//! # Ok::<(), sojourn_qdisc::TcError>(())
//! ```

pub mod agenda;
mod envelope;
mod network;

pub use agenda::Agenda;
pub use envelope::Envelope;
pub use network::{CALENDAR, Hosts, Network, Observer, Routed, Slots};
