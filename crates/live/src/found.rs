//! The flows of programs: nobody announces them, so each is found by its first packet.
//!
//! A flow is one 5-tuple, both directions together. The first [`MOST`] get rows of their own; later ones share the flow
//! `others`. A TCP flow's rows have the kernel's own numbers (window, RTT, retransmissions), for which the relay asks the
//! sending host's kernel by sock_diag; a router cannot. Goodput is counted here, from sequence numbers.

use crate::info::Info;
use crate::netlink::{Sockets, TcpSocket};
use crate::packet::Packet;
use crate::protocol::Host;
use crate::relay::{dropped, whole_millis};
use sojourn_model::{
    At, Direction, EcnMode, Flow, Ip, Ping, Scenario, Start, Tcp, Traffic, Udp, Window,
    WindowBounds,
};
use sojourn_path::{PathPacket as _, Topology};
use sojourn_qdisc::Packet as _;
use sojourn_record::{FlowSample, LimitedTimes, Recorder};
use sojourn_units::{Dscp, Ecn, Rate, Span, Time};
use sojourn_wire::{Frame, Transport};
use std::collections::HashMap;
use std::net::IpAddr;

/// Flows with rows of their own.
pub(crate) const MOST: usize = 64;
/// The flow of what has no rows of its own.
pub(crate) const OTHERS: &str = "others";

/// What tells a flow from others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Identity {
    /// The server's, and the client's.
    addresses: [IpAddr; 2],
    ports: [u16; 2],
    transport: Option<Kind>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Kind {
    Tcp,
    Udp,
}

impl Identity {
    /// Of a frame for this host; none if the frame is no IP packet, or one for everybody, as hosts' kernels send.
    pub(crate) fn of(frame: &Frame, to: Host) -> Option<Self> {
        let address = |bytes: &[u8]| -> Option<IpAddr> {
            match bytes.len() {
                4 => <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from),
                16 => <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from),
                _ => None,
            }
        };
        let [source, destination] = frame.addresses();
        let mut addresses = [address(source)?, address(destination)?];
        if addresses[1].is_multicast() {
            return None;
        }
        let mut ports = frame.ports().unwrap_or_default();
        if to == Host::Server {
            addresses.reverse();
            ports.reverse();
        }
        let transport = frame.transport().map(|transport| match transport {
            Transport::Tcp => Kind::Tcp,
            Transport::Udp => Kind::Udp,
        });
        Some(Self { addresses, ports, transport })
    }

    pub(crate) const fn is_tcp(&self) -> bool {
        matches!(self.transport, Some(Kind::Tcp))
    }

    /// A host's address and port.
    pub(crate) fn end(&self, host: Host) -> (IpAddr, u16) {
        (self.addresses[host.index()], self.ports[host.index()])
    }
}

/// The traffic that has come to one host of a flow.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Arrived {
    pub(crate) packets: u64,
    /// Bytes of payload; of TCP each once, up to the highest.
    pub(crate) payload: u64,
    ce: u64,
    /// Segments that echo congestion.
    ece: u64,
    /// The next sequence number of TCP after the highest.
    next: Option<u32>,
}

impl Arrived {
    pub(crate) fn add(&mut self, packet: &Packet) {
        self.packets += 1;
        self.ce += u64::from(packet.ecn() == Ecn::Ce);
        self.ece += u64::from(packet.echoes());
        let Some(tcp) = packet.frame().tcp() else {
            const UDP_HEADER: u64 = 8;
            self.payload += u64::from(packet.l4_len()).saturating_sub(UDP_HEADER);
            return;
        };
        // SYN and FIN take a sequence number each, and are no payload.
        let (syn, fin) = (u32::from(tcp.is_syn()), u32::from(tcp.is_fin()));
        let end = tcp.seq.wrapping_add(tcp.payload as u32).wrapping_add(syn + fin);
        let ahead = end.wrapping_sub(self.next.unwrap_or(end)) as i32;
        if self.next.is_none() || ahead > 0 {
            // The first packet that is seen may be a segment. A gap counts at once: its segments arrive later.
            self.payload += match self.next {
                None => tcp.payload as u64,
                Some(_) => u64::from(ahead as u32 - fin),
            };
            self.next = Some(end);
        }
    }
}

/// A row of a flow, as far as it is known when it is taken.
#[derive(Clone, Copy, Debug)]
struct Row {
    at: Time,
    /// Payload that has come to the server, and to the client.
    payload: [u64; 2],
    /// Of the host that had sent most.
    sample: FlowSample,
    limits: Option<LimitedTimes>,
}

/// A flow that was found.
#[derive(Clone, Debug)]
struct Found {
    identity: Option<Identity>,
    started: Time,
    /// When its last packet came.
    last: Time,
    arrived: [Arrived; 2],
    rows: Vec<Row>,
    control: String,
    ecn: bool,
    /// The longest datagram's payload, bytes.
    longest: u32,
}

impl Found {
    fn new(identity: Option<Identity>, now: Time) -> Self {
        Self {
            identity,
            started: now,
            last: now,
            arrived: [Arrived::default(); 2],
            rows: Vec::new(),
            control: String::new(),
            ecn: false,
            longest: 0,
        }
    }

    fn payload(&self) -> [u64; 2] {
        self.arrived.map(|arrived| arrived.payload)
    }

    /// The host that most of the payload goes to.
    fn receiver(&self) -> Host {
        let [server, client] = self.payload();
        if server > client { Host::Server } else { Host::Client }
    }

    fn name_of_transport(&self) -> &'static str {
        match self.identity.map(|identity| identity.transport) {
            None => "other packets",
            Some(None) => "packets of IP",
            Some(Some(Kind::Tcp)) => "TCP",
            Some(Some(Kind::Udp)) => "UDP",
        }
    }

    /// In words: `TCP 10.9.9.1:80 to 10.9.9.2:40000, cubic`.
    fn words(&self) -> String {
        let Some(identity) = &self.identity else { return self.name_of_transport().to_owned() };
        let receiver = self.receiver();
        let end = |host| match identity.end(host) {
            (address, 0) => address.to_string(),
            (address @ IpAddr::V6(_), port) => format!("[{address}]:{port}"),
            (address, port) => format!("{address}:{port}"),
        };
        let ends = format!("{} to {}", end(receiver.other()), end(receiver));
        let control = if self.control.is_empty() { "" } else { ", " };
        format!("{} {ends}{control}{}", self.name_of_transport(), self.control)
    }

    /// The traffic that a simulator would have to send for the same result: the traffic of an experiment.
    fn traffic(&self, end: Time) -> Traffic {
        let payload = self.payload().into_iter().max().unwrap_or(0);
        let last = self.last.max(self.started + Span::from_millis(1)).min(end);
        let length = last.since(self.started).max(Span::from_millis(1));
        match self.identity.and_then(|identity| identity.transport) {
            Some(Kind::Tcp) => {
                let ecn = if self.ecn { EcnMode::Rfc3168 } else { EcnMode::Off };
                let control = if self.control.is_empty() { "cubic" } else { &self.control };
                Traffic::Tcp(Tcp { bytes: Some(payload.max(1)), ..Tcp::plain(control, ecn) })
            }
            Some(Kind::Udp) => {
                let bits = (payload * 8) as f64 / length.as_secs_f64();
                Traffic::Udp(Udp {
                    rate: Rate::from_bits_per_sec((bits as u64).max(1000)),
                    payload: self.longest.clamp(1, 1472),
                    ecn: Ecn::NotEct,
                })
            }
            None => {
                let count = self.arrived[self.receiver().index()].packets.max(1);
                let interval = Span::from_nanos((length.as_nanos() / count).max(1_000_000));
                Traffic::Ping(Ping { interval, size: 84, ecn: Ecn::NotEct })
            }
        }
    }
}

/// The flows that were found.
pub(crate) struct Flows {
    numbers: HashMap<Identity, u32>,
    /// The first is [`OTHERS`].
    found: Vec<Found>,
    names: Vec<String>,
    end: Time,
    /// Whether there were more flows than may have rows of their own.
    are_more: bool,
}

/// A flow as the status has it.
pub(crate) struct InStatus<'a> {
    pub(crate) name: &'a str,
    pub(crate) words: String,
    /// Payload that has come to the server, and to the client.
    pub(crate) payload: [u64; 2],
    pub(crate) ce: u64,
    pub(crate) dropped: u64,
    pub(crate) last: Time,
}

impl Flows {
    /// None yet; a scenario's first flow says which hops they pass, and gives way to them.
    pub(crate) fn new(base: &Scenario) -> (Self, Scenario) {
        let name = |number| {
            if number == 0 { OTHERS.to_owned() } else { format!("flow-{number}") }
        };
        let names: Vec<String> = (0..=MOST).map(name).collect();
        let template = Flow {
            name: String::new(),
            group: None,
            stack: base.stack.clone(),
            receiver_stack: None,
            by: None,
            ip: Ip::V4,
            direction: Direction::Down,
            hops: (0..base.hops.len()).collect(),
            dscp: Dscp::BEST_EFFORT,
            start: Start::At(At::ORIGIN),
            stop: None,
            delays: Some(true),
            traffic: Traffic::Tcp(Tcp::plain("cubic", EcnMode::Default)),
        };
        let flows = names.iter().map(|name| Flow { name: name.clone(), ..template.clone() });
        let scenario = Scenario { flows: flows.collect(), ..base.clone() };
        let flows = Self {
            numbers: HashMap::new(),
            found: vec![Found::new(None, Time::ZERO)],
            names,
            end: Time::ZERO,
            are_more: false,
        };
        (flows, scenario)
    }

    /// The number of a frame's flow.
    pub(crate) fn of(&mut self, now: Time, frame: &Frame, to: Host) -> u32 {
        let number = Identity::of(frame, to).map_or(0, |identity| {
            if let Some(&known) = self.numbers.get(&identity) {
                return known;
            }
            if self.found.len() > MOST {
                self.are_more = true;
                return 0;
            }
            let number = self.found.len() as u32;
            self.found.push(Found::new(Some(identity), now));
            self.numbers.insert(identity, number);
            number
        });
        self.found[number as usize].last = now;
        number
    }

    /// A packet has come to its host.
    pub(crate) fn delivered(&mut self, packet: &Packet) {
        let found = &mut self.found[packet.flow()];
        found.ecn |= found.identity.is_some_and(|of| of.is_tcp()) && packet.ecn() != Ecn::NotEct;
        found.arrived[packet.to().index()].add(packet);
        found.longest = found.longest.max(packet.l4_len().saturating_sub(8));
    }

    /// An interval ends: a row of each flow that has sent since its last row. Without the hosts' `sockets` a sender's own numbers
    /// stay unknown, as those of UDP are.
    pub(crate) fn sample(
        &mut self,
        now: Time,
        sockets: Option<&[Sockets; 2]>,
        topology: &Topology<Packet>,
    ) {
        for (number, found) in self.found.iter_mut().enumerate() {
            if found.rows.last().is_some_and(|row| row.at > found.last) {
                continue;
            }
            let is_tcp = |identity: &&Identity| identity.is_tcp();
            let receiver = found.receiver();
            let socket = found.identity.as_ref().filter(is_tcp).and_then(|identity| {
                let (own, peer) = (identity.end(receiver.other()), identity.end(receiver));
                sockets?[receiver.other().index()].connection(own, peer).ok().flatten()
            });
            let (ce, ece) =
                (found.arrived[receiver.index()].ce, found.arrived[receiver.other().index()].ece);
            let (sample, limits) = match &socket {
                Some(TcpSocket { control, info }) if !info.is_empty() => {
                    let info = Info(info);
                    found.control.clone_from(control);
                    found.ecn |= info.ecn();
                    (FlowSample { ce, ece, ..info.sample() }, Some(info.limited()))
                }
                _ => {
                    let delivered = found.arrived[receiver.index()].packets;
                    let lost = dropped(topology, number);
                    (FlowSample { delivered, lost, ce, ece, ..FlowSample::UNKNOWN }, None)
                }
            };
            found.rows.push(Row { at: now, payload: found.payload(), sample, limits });
        }
    }

    /// The flows that packets arrived of, with their numbers.
    fn seen(&self) -> impl Iterator<Item = (usize, &Found)> {
        let all = self.found.iter().enumerate().skip(usize::from(!self.are_more));
        all.filter(|(_, found)| found.arrived.iter().any(|arrived| arrived.packets > 0))
    }

    /// The flows that packets were seen of.
    pub(crate) fn status(&self, dropped: impl Fn(usize) -> u64) -> Vec<InStatus<'_>> {
        self.seen()
            .map(|(number, found)| InStatus {
                name: &self.names[number],
                words: found.words(),
                payload: found.payload(),
                ce: found.arrived.iter().map(|arrived| arrived.ce).sum(),
                dropped: dropped(number),
                last: found.last,
            })
            .collect()
    }

    /// The run is over: rows, starts and ends, counters.
    pub(crate) fn finish(
        &mut self,
        end: Time,
        recorder: &mut Recorder,
        topology: &Topology<Packet>,
    ) {
        self.end = end;
        for (number, found) in self.seen() {
            let subject = format!("flow {}", self.names[number]);
            recorder.event(found.started, "start", &subject, &found.words());
            recorder.flow_started(found.started, number);
            let receiver = found.receiver().index();
            for row in &found.rows {
                if recorder.flow(row.at, number, row.payload[receiver], Some(&row.sample))
                    && let Some(limits) = &row.limits
                {
                    recorder.limits(row.at, number, limits);
                }
            }
            recorder.event(found.last, "end", &subject, "its last packet");
            let name = &self.names[number];
            let arrived: u64 = found.arrived.iter().map(|arrived| arrived.packets).sum();
            let ce: u64 = found.arrived.iter().map(|arrived| arrived.ce).sum();
            recorder.total(name, "packets_arrived", arrived as f64);
            recorder.total(name, "packets_dropped", dropped(topology, number) as f64);
            recorder.total(name, "ce", ce as f64);
        }
    }

    /// The scenario that was run: the flows that were found, as long as the run was.
    pub(crate) fn scenario(&self, base: &Scenario, length: Span) -> Scenario {
        let template = &base.flows[0];
        let mut flows: Vec<Flow> = self
            .seen()
            .map(|(number, found)| {
                let name = &self.names[number];
                let traffic = found.traffic(self.end);
                // Only a transfer ends by itself.
                let stop = (!matches!(traffic, Traffic::Tcp(_)))
                    .then(|| at(found.last.max(found.started + Span::from_millis(1))));
                Flow {
                    name: name.clone(),
                    direction: match found.receiver() {
                        Host::Client => Direction::Down,
                        Host::Server => Direction::Up,
                    },
                    start: Start::At(at(found.started)),
                    stop,
                    traffic,
                    ..template.clone()
                }
            })
            .collect();
        if flows.is_empty() {
            flows.push(Flow { name: OTHERS.to_owned(), ..template.clone() });
        }
        let duration = whole_millis(Time::ZERO + length).since(Time::ZERO);
        let duration = duration.max(Span::from_millis(1));
        // Programs have no steady state: metrics look at the whole run.
        let bounds = WindowBounds::Between { from: At::ORIGIN, to: At::after_origin(duration) };
        let windows = vec![Window { name: "steady".to_owned(), bounds }];
        Scenario { flows, duration, windows, ..base.clone() }
    }
}

/// A point of a run without warmup.
fn at(time: Time) -> At {
    At::from_nanos(whole_millis(time).as_nanos() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SYN, two segments, the first of them again, FIN, and the acknowledgement behind it.
    #[test]
    fn payload_of_tcp_counts_once_and_without_syn_and_fin() {
        let packet = |seq: u32, flags: u8, payload: usize| {
            let mut bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0];
            bytes.extend(((40 + payload) as u16).to_be_bytes());
            bytes.extend([0, 0, 0x40, 0, 64, 6, 0, 0, 10, 9, 9, 1, 10, 9, 9, 2, 0, 80, 0, 99]);
            bytes.extend(seq.to_be_bytes());
            bytes.extend([0, 0, 0, 0, 0x50, flags, 0, 1, 0, 0, 0, 0]);
            bytes.resize(bytes.len() + payload, 7);
            Packet::new(Frame::new(bytes), Time::ZERO, Host::Client, 0, 0)
        };
        let mut arrived = Arrived::default();
        let start = u32::MAX - 500;
        for (seq, flags, payload) in [
            (0, 0x02, 0),
            (1, 0x10, 1000),
            (1001, 0x10, 1000),
            (1, 0x10, 1000),
            (2001, 0x11, 300),
            (2302, 0x10, 0),
        ] {
            arrived.add(&packet(start.wrapping_add(seq), flags, payload));
        }
        assert_eq!((arrived.packets, arrived.payload), (6, 2300));
    }
}
