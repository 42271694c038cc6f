//! Taps: packets that pass the points of a capture go to their files, in their form on the wire.
//!
//! A run that nobody wants the packets of has no tap: each place that could write asks for one, which costs a branch
//! that is never taken, and that is all. Nothing here draws from a stream that anything else draws from, nor changes
//! what queues and hosts see, so a run gives the same results with a tap and without. Left out are the packets of
//! connections that a flow's program has next to the flow ([`crate::app::netperf`]).
//!
//! The simulator's packets are small values, and its TCP counts segments. The other fields of a wire are added here:
//! addresses, ports, byte sequence numbers from an initial one, IP identifiers ([`Conversation`]); [`wire`] makes the
//! bytes.
//!
//! Stamps are of the event, before the host's jitter, so that time never runs back in a file.

mod conversation;
mod wire;

use crate::packet::{Owner, PacketBox};
use crate::topology::{Role, Topology};
use conversation::Conversation;
#[cfg(feature = "quic")]
pub(crate) use conversation::endpoints;
use sojourn_capture::{Capture, CaptureError, PcapFile, Point, stamp};
use sojourn_model::{Hop, Scenario, Side, TunnelKind};
use sojourn_units::{Time, random};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

/// The port of the first flow's sender.
pub(crate) const SENDER_PORT: u16 = 30_000;

/// Places of the hosts' files among the points.
const SERVER: usize = 0;

/// The capture of one run.
#[derive(Debug)]
pub(crate) struct Tap {
    /// Of every point, in the order of [`Point::all`].
    files: Vec<PcapFile>,
    /// For each port, the file of what enters it and that of what leaves it.
    entering: Vec<Option<usize>>,
    leaving: Vec<Option<usize>>,
    scenario: Arc<Scenario>,
    /// By flow and key: each flow's own from the beginning, those of further connections from their first packet on.
    conversations: HashMap<(u32, u32), Conversation>,
    /// Of each flow, whether its application has connections that are all shown.
    many: Vec<bool>,
    tunnels: Vec<TunnelKind>,
    /// The date of the run's own zero.
    zero: Duration,
    snap_len: usize,
    frame: Vec<u8>,
    /// The first thing that went wrong; nothing is written after it.
    failure: Option<CaptureError>,
}

impl Tap {
    /// Opens the files.
    pub(crate) fn new(
        capture: &Capture,
        scenario: &Arc<Scenario>,
        topology: &Topology,
    ) -> Result<Self, CaptureError> {
        let points = Point::all(scenario);
        let files =
            points.iter().map(|p| PcapFile::create(capture, p)).collect::<Result<_, _>>()?;
        let place = |point: Point| points.iter().position(|p| *p == point);
        let count = topology.nodes.len();
        let (mut entering, mut leaving) = (vec![None; count], vec![None; count]);
        for hop in &scenario.hops {
            let (left, right) =
                (place(Point::Left(hop.name.clone())), place(Point::Right(hop.name.clone())));
            for (side, near, far) in [(Side::Down, left, right), (Side::Up, right, left)] {
                let queues = queues(hop, side, topology);
                if let (Some(&first), Some(&last)) = (queues.first(), queues.last()) {
                    (entering[first], leaving[last]) = (near, far);
                }
            }
        }
        let own = scenario.flows.iter().enumerate().map(|(i, flow)| {
            let key = random::key(&flow.name) as u32;
            ((i as u32, key), Conversation::new(i, flow, scenario))
        });
        Ok(Self {
            files,
            entering,
            leaving,
            scenario: Arc::clone(scenario),
            conversations: own.collect(),
            many: vec![false; scenario.flows.len()],
            tunnels: topology.tunnels.clone(),
            zero: stamp(scenario, Time::ZERO),
            snap_len: capture.snap_len as usize,
            frame: Vec::new(),
            failure: None,
        })
    }

    /// Whether all connections of a flow are shown: its application's answer.
    pub(crate) fn show_connections(&mut self, flow: usize, all: bool) {
        self.many[flow] = all;
    }

    /// A host sends a packet.
    #[cold]
    pub(crate) fn sent(&mut self, now: Time, packet: &mut PacketBox) {
        let (earlier, scenario) = (self.conversations.len(), &self.scenario);
        let index = packet.flow as usize;
        let flow = &scenario.flows[index];
        let conversation = match self.conversations.entry((packet.flow, packet.key)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) if self.many[index] => {
                let key = random::key(&flow.name) as u32;
                let owner = Owner { flow: packet.flow, key, up: false, ip: flow.ip };
                let place = (index, owner.number(packet.key));
                new.insert(Conversation::connection(place, flow, scenario, earlier))
            }
            // A connection next to the flow's own, which is not shown.
            Entry::Vacant(_) => return,
        };
        conversation.send(packet);
        let host = if conversation.is_at_server(packet.is_from_receiver()) {
            SERVER
        } else {
            self.files.len() - 1
        };
        self.write(host, now, packet);
    }

    /// A packet has come to its host; tunnels' headers are still on it.
    #[cold]
    pub(crate) fn arrived(&mut self, now: Time, packet: &PacketBox) {
        let Some(conversation) = self.conversations.get_mut(&(packet.flow, packet.key)) else {
            return;
        };
        conversation.arrive(packet);
        let host = if conversation.is_at_server(!packet.is_from_receiver()) {
            SERVER
        } else {
            self.files.len() - 1
        };
        self.write(host, now, packet);
    }

    /// A packet comes to a port.
    #[cold]
    pub(crate) fn entered(&mut self, now: Time, port: usize, packet: &PacketBox) {
        if let Some(file) = self.entering[port] {
            self.write(file, now, packet);
        }
    }

    /// A packet has left a port.
    #[cold]
    pub(crate) fn left(&mut self, now: Time, port: usize, packet: &PacketBox) {
        if let Some(file) = self.leaving[port] {
            self.write(file, now, packet);
        }
    }

    fn write(&mut self, file: usize, now: Time, packet: &PacketBox) {
        if self.failure.is_some() {
            return;
        }
        let Some(conversation) = self.conversations.get(&(packet.flow, packet.key)) else { return };
        let wire_len =
            wire::frame(packet, conversation, &self.tunnels, self.snap_len, &mut self.frame);
        let at = self.zero + Duration::from_nanos(now.as_nanos());
        self.failure = self.files[file].write(at, wire_len, &self.frame).err();
    }

    /// What has gone wrong so far.
    pub(crate) fn check(&mut self) -> Result<(), CaptureError> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// The run is over: the files get their names.
    pub(crate) fn finish(mut self) -> Result<(), CaptureError> {
        self.check()?;
        self.files.into_iter().try_for_each(PcapFile::finish)
    }
}

/// The ports of a hop's queues in the order in which packets of that side pass them.
fn queues(hop: &Hop, side: Side, topology: &Topology) -> Vec<usize> {
    let queues = hop.side(side).iter().filter(|e| e.kind.holds_a_queue());
    let ports = queues.filter_map(|e| {
        let path = format!("{}.{side}.{}", hop.name, e.name);
        let is = |role: &Role| matches!(role, Role::Queue { element } if *element == path);
        topology.nodes.iter().position(|s| is(&s.role))
    });
    ports.collect()
}
