//! Actions of flows by the clock alone, written down before the run: the datagrams of a voice call, a video call or a
//! source that is alternately on and off; the on and off periods of one over TCP; the arrivals of short flows and their
//! lengths.
//!
//! They depend on nothing but the clock, so they are known beforehand: the generators that the simulator runs
//! (`sojourn_workload`) are run here, from the same named streams of random numbers, and the agent does each thing at
//! its time. UDP at a constant rate needs no list; the agent computes it by the same rule. Flows that depend on more
//! than the clock have none either ([`crate::asked`]).
//!
//! A list is a file of 16 bytes each in the machine's order: nanoseconds after the flow's start, 8 bytes, and how many
//! bytes, 8; of periods 1 for on and 0 for off. Its name has the hash of what is in it, so that a plan that names it is
//! another one when the list is another.

use crate::asked;
use crate::schedule::start_offset;
use sojourn_engine::programs::fnv1a;
use sojourn_model::{Flow, OnOff, Pulse, Scenario, Start, Traffic};
use sojourn_units::{Random, Span, Time};
use sojourn_workload::{Act, Arrivals, Datagrams, Pulses, Source, random_name};

/// Payloads that the agent can send: a number and a time must fit in, and the datagram into a packet.
pub(crate) const PAYLOADS: std::ops::RangeInclusive<u32> = 12..=1472;

/// What a flow does by the clock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct List {
    /// Of its file.
    pub name: String,
    /// When after the flow's start, and how many bytes: of payload, of an answer; of periods 1 for on and 0 for off.
    pub entries: Vec<(Span, u64)>,
}

impl List {
    /// That of a flow, up to its end or the run's; nothing if it needs none.
    pub fn of(scenario: &Scenario, flow: &Flow) -> Option<Self> {
        if matches!(flow.traffic, Traffic::Udp(_)) || asked::decides(&flow.traffic) {
            return None;
        }
        let mut source: Box<dyn Source> = match &flow.traffic {
            Traffic::OnOff(source @ OnOff { over: Pulse::Tcp(_), .. }) => {
                Box::new(Pulses::new(Time::ZERO, source))
            }
            Traffic::ShortFlows(flows) => Box::new(Arrivals::new(Time::ZERO, flows.clone())),
            traffic => Box::new(Datagrams::of(traffic, Time::ZERO)?),
        };
        let mut random = Random::named(scenario.seed, &random_name(&flow.name));
        let starts = match flow.start {
            Start::At(at) => scenario.clock(at) + start_offset(scenario, flow),
            Start::Event => Time::ZERO,
        };
        let stops = flow.stop.map(|at| scenario.clock(at)).filter(|_| flow.start != Start::Event);
        let end = Time::ZERO + scenario.length();
        let until = stops.map_or(end, |stop| stop.min(end)).since(starts);
        let over_tcp = flow.traffic.tcp().is_some();
        let mut entries = Vec::new();
        while let Some(at) = source.next().filter(|&at| at < Time::ZERO + until) {
            let bytes = match source.act(&mut random) {
                Act::Datagram { bytes, .. } => Some(u64::from(bytes)),
                Act::Connection { bytes, .. } => Some(bytes),
                // Over UDP the datagrams themselves are listed.
                Act::On => over_tcp.then_some(1),
                Act::Off => over_tcp.then_some(0),
            };
            entries.extend(bytes.map(|bytes| (at - Time::ZERO, bytes)));
        }
        let name = format!("list-{:016x}", fnv1a(bytes(&entries)));
        Some(Self { name, entries })
    }

    /// Its file.
    pub fn bytes(&self) -> Vec<u8> {
        bytes(&self.entries)
    }
}

fn bytes(entries: &[(Span, u64)]) -> Vec<u8> {
    let one = |&(at, bytes): &(Span, u64)| [at.as_nanos().to_ne_bytes(), bytes.to_ne_bytes()];
    entries.iter().flat_map(one).flatten().collect()
}
