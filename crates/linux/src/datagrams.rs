//! The datagrams of a voice call, a video call or a source that is on and off by turns, written down before the run.
//!
//! They listen to nothing but the clock, so what they send is known beforehand: the generators that the simulator
//! runs (`sojourn_workload`) are run here, from the same named streams of random numbers, and the agent
//! sends each datagram at its time. UDP at a constant rate needs no list; the agent computes it by the same rule.
//!
//! A list is a file of 12 bytes a datagram in the machine's order: nanoseconds after the flow's start, 8 bytes, and
//! bytes of payload, 4. Its name has the hash of what is in it, so that a plan that names it is another one when the
//! datagrams are others.

use crate::schedule::start_offset;
use crate::tools::fnv1a;
use sojourn_model::{Flow, Scenario, Start, Traffic};
use sojourn_units::{Random, Span, Time};
use sojourn_workload::{Act, Datagrams, Source as _, random_name};

/// Payloads that the agent can send: a number and a time must fit in, and the datagram into a packet.
pub(crate) const PAYLOADS: std::ops::RangeInclusive<u32> = 12..=1472;

/// A flow's datagrams.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct List {
    /// Of its file.
    pub name: String,
    /// When after the flow's start each leaves, and its bytes of payload.
    pub datagrams: Vec<(Span, u32)>,
}

impl List {
    /// The datagrams of a flow that is a stream of them without a constant rate, up to its end or the run's.
    pub fn of(scenario: &Scenario, flow: &Flow) -> Option<Self> {
        if matches!(flow.traffic, Traffic::Udp(_)) {
            return None;
        }
        let mut stream = Datagrams::of(&flow.traffic, Time::ZERO)?;
        let mut random = Random::named(scenario.seed, &random_name(&flow.name));
        let starts = match flow.start {
            Start::At(at) => scenario.clock(at) + start_offset(scenario, flow),
            Start::Event => Time::ZERO,
        };
        let stops = flow.stop.map(|at| scenario.clock(at)).filter(|_| flow.start != Start::Event);
        let end = Time::ZERO + scenario.length();
        let until = stops.map_or(end, |stop| stop.min(end)).since(starts);
        let mut datagrams = Vec::new();
        while let Some(at) = stream.next().filter(|&at| at < Time::ZERO + until) {
            if let Act::Datagram { bytes, .. } = stream.act(&mut random) {
                datagrams.push((at - Time::ZERO, bytes));
            }
        }
        let name = format!("datagrams-{:016x}", fnv1a(bytes(&datagrams)));
        Some(Self { name, datagrams })
    }

    /// Its file.
    pub fn bytes(&self) -> Vec<u8> {
        bytes(&self.datagrams)
    }
}

fn bytes(datagrams: &[(Span, u32)]) -> Vec<u8> {
    let one = |&(at, bytes): &(Span, u32)| {
        let mut record = [0; 12];
        record[..8].copy_from_slice(&at.as_nanos().to_ne_bytes());
        record[8..].copy_from_slice(&bytes.to_ne_bytes());
        record
    };
    datagrams.iter().flat_map(one).collect()
}
