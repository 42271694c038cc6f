//! The two ends of a flow: a TCP sender and receiver, a probe, or an unresponsive source and its sink, with
//! what the records need.

use crate::packet::{Body, Owner, Packet, Pool};
use crate::recorder::Distribution;
use crate::stacks::Stack;
use crate::topology::Station;
use sojourn_scenario::model::{EcnMode, Flow, Ping, ReceiveWindow, Tcp, Traffic, Udp};
use sojourn_transport::cc::CongestionControl;
use sojourn_transport::segment::{Ack, Data, HEADERS, Handshake, Output};
use sojourn_transport::stack::EcnRequest;
use sojourn_transport::{Config, Receiver, Sender, WindowPolicy, cc};
use sojourn_units::{Dscp, Ecn, Random, Serializer, Span, Time, random};

/// IP bytes of a full packet.
pub(crate) const MTU: u32 = 1500;
/// IPv4 and UDP headers.
const UDP_HEADERS: u32 = 28;

/// Where a flow's packets leave its hosts.
#[derive(Debug)]
pub(crate) struct Nic {
    /// The flow that its packets are of.
    owner: Owner,
    /// Route of data.
    pub(crate) there: u16,
    /// Route of what comes back.
    pub(crate) back: u16,
    dscp: Dscp,
    jitter: u64,
    random: Random,
    /// Packets sent, both ways.
    pub(crate) sent: u64,
}

impl Nic {
    /// When a packet caused now leaves, before order is kept.
    #[inline]
    fn leaves(&mut self, now: Time) -> Time {
        if self.jitter == 0 { now } else { now + Span::from_nanos(self.random.below(self.jitter)) }
    }

    /// Sends a packet into the first port of its route.
    #[inline]
    pub(crate) fn send(&mut self, now: Time, entry: &mut Station, pool: &mut Pool, packet: Packet) {
        self.sent += 1;
        let at = self.leaves(now);
        let mut parcel = pool.pack(packet);
        if let Some(tap) = &mut pool.tap {
            tap.sent(now, &mut parcel);
        }
        entry.port.admit(at, parcel);
    }

    /// The first packet of a connection is answered.
    pub(crate) fn syn_ack(&self, answer: Handshake) -> Packet {
        Packet::tcp(self.owner, self.back, self.dscp, Ecn::NotEct, Body::SynAck(answer))
    }

    /// An acknowledgement.
    #[inline]
    pub(crate) fn ack(&self, ack: Ack, ecn: Ecn) -> Packet {
        Packet::tcp(self.owner, self.back, self.dscp, ecn, Body::Ack(ack))
    }
}

/// A TCP sender's way out.
pub(crate) struct Outlet<'a> {
    /// The flow's host side.
    pub(crate) nic: &'a mut Nic,
    /// First port of its data's route.
    pub(crate) entry: &'a mut Station,
    /// Where boxes for packets come from.
    pub(crate) pool: &'a mut Pool,
    /// Now.
    pub(crate) now: Time,
}

impl Output for Outlet<'_> {
    fn syn(&mut self, syn: Handshake, ecn: Ecn) {
        let n = &*self.nic;
        let packet = Packet::tcp(n.owner, n.there, n.dscp, ecn, Body::Syn(syn));
        self.nic.send(self.now, self.entry, self.pool, packet);
    }

    #[inline]
    fn data(&mut self, data: Data, ecn: Ecn) {
        let n = &*self.nic;
        let packet = Packet::tcp(n.owner, n.there, n.dscp, ecn, Body::Data(data));
        self.nic.send(self.now, self.entry, self.pool, packet);
    }
}

/// A probe that asks at fixed intervals.
#[derive(Debug)]
pub(crate) struct Probe {
    settings: Ping,
    /// Requests sent.
    pub(crate) sent: u32,
    /// When the next one is due.
    pub(crate) next: Time,
    /// Replies: when, to which, and after how long.
    pub(crate) replies: Vec<(Time, u32, Span)>,
    /// Send times of requests not answered yet, by number.
    pub(crate) waiting: std::collections::VecDeque<(u32, Time)>,
}

/// An unresponsive source.
#[derive(Debug)]
pub(crate) struct Source {
    settings: Udp,
    pace: Serializer,
    /// When the next datagram is due.
    pub(crate) next: Time,
    /// Datagrams sent.
    pub(crate) sent: u64,
    /// Datagrams received.
    pub(crate) received: u64,
    /// Of these, marked CE.
    pub(crate) ce: u64,
}

/// What a flow is made of.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one per flow, kept in place")]
pub(crate) enum Ends {
    /// A TCP connection.
    Tcp(Sender, Receiver),
    /// A probe.
    Probe(Probe),
    /// An unresponsive source.
    Source(Source),
}

/// A flow's life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Life {
    /// Not yet started.
    Waiting,
    /// Sending.
    Running,
    /// Stopped or finished.
    Ended,
}

/// A flow while it runs.
#[derive(Debug)]
pub(crate) struct FlowRun {
    /// Its hosts' side.
    pub(crate) nic: Nic,
    /// Its ends.
    pub(crate) ends: Ends,
    /// Its life.
    pub(crate) life: Life,
    /// Packets that have arrived, both ways.
    pub(crate) arrived: u64,
    /// RTT samples; one-way delays of an unresponsive source.
    pub(crate) delays: Distribution,
    /// The sender's RTT samples that are in `delays`.
    pub(crate) samples_seen: u64,
    /// Whether it ends by itself.
    pub(crate) finite: bool,
}

impl FlowRun {
    /// A flow of a checked scenario, at rest.
    pub(crate) fn new(
        index: usize,
        flow: &Flow,
        routes: (u16, u16),
        stack: &Stack,
        seed: u64,
    ) -> Self {
        let mut random = Random::named(seed, &format!("flow/{}/host", flow.name));
        let ends = match &flow.traffic {
            Traffic::Tcp(tcp) => tcp_ends(tcp, stack, &flow.name, seed, &mut random),
            Traffic::Ping(ping) => Ends::Probe(Probe {
                settings: *ping,
                sent: 0,
                next: Time::NEVER,
                replies: Vec::new(),
                waiting: std::collections::VecDeque::new(),
            }),
            Traffic::Udp(udp) => Ends::Source(Source {
                settings: *udp,
                pace: Serializer::new(udp.rate),
                next: Time::NEVER,
                sent: 0,
                received: 0,
                ce: 0,
            }),
            other => unreachable!("{} is refused beforehand", other.name()),
        };
        let finite = flow.traffic.tcp().is_some_and(|t| t.bytes.is_some());
        let nic = Nic {
            owner: Owner { flow: index as u32, key: random::key(&flow.name) as u32 },
            there: routes.0,
            back: routes.1,
            dscp: flow.dscp,
            jitter: stack.tcp.host_jitter.as_nanos(),
            random,
            sent: 0,
        };
        Self {
            nic,
            ends,
            life: Life::Waiting,
            arrived: 0,
            delays: Distribution::new(),
            samples_seen: 0,
            finite,
        }
    }

    /// When the flow wants to be woken.
    #[inline]
    pub(crate) fn next_timer(&self) -> Time {
        match &self.ends {
            Ends::Tcp(sender, receiver) => sender.next_timer().min(receiver.next_timer()),
            Ends::Probe(probe) => probe.next,
            Ends::Source(source) => source.next,
        }
    }

    /// Payload bytes that have arrived in order.
    pub(crate) fn delivered_bytes(&self) -> u64 {
        match &self.ends {
            Ends::Tcp(_, receiver) => receiver.delivered_bytes(),
            Ends::Probe(_) => 0,
            Ends::Source(s) => s.received * u64::from(s.settings.payload),
        }
    }
}

fn tcp_ends(tcp: &Tcp, stack: &Stack, name: &str, seed: u64, random: &mut Random) -> Ends {
    let switches = &stack.tcp;
    let mut control = cc::Any::named(&tcp.cc, switches).expect("the control was checked");
    control.seed(Random::named(seed, &format!("flow/{name}/cc")));
    let needs = control.ecn();
    let ecn = match tcp.ecn {
        // A control that needs more than the stack asks for gets it (`tcp_ca_needs_ecn`).
        EcnMode::Default => switches.ecn.max(needs.request),
        EcnMode::Off => EcnRequest::Off,
        EcnMode::Rfc3168 | EcnMode::Sce => EcnRequest::Rfc3168,
        EcnMode::AccEcn => EcnRequest::AccEcn,
    };
    let config = Config {
        mss: MTU - HEADERS,
        ecn,
        codepoint: tcp.codepoint,
        ignores_ce: tcp.unresponsive_to_ce,
        pacing_cap: tcp.pacing_cap,
        paced: tcp.host_qdisc.as_deref().is_some_and(|q| q.split_whitespace().next() == Some("fq")),
        initial_window: tcp.initial_window,
        bytes: tcp.bytes,
        clock_offset_ms: random.next_u32(),
    };
    let window = match tcp.receive_window {
        ReceiveWindow::Autotune => WindowPolicy::Autotuned,
        ReceiveWindow::Fixed(bytes) => {
            WindowPolicy::Fixed(bytes.min(u64::from(u32::MAX / 2)) as u32)
        }
    };
    let receiver = Receiver::new(config.mss, window, switches, random.next_u32());
    let receiver = receiver.facing(&needs, ecn, tcp.codepoint);
    let receiver = match tcp.ecn {
        EcnMode::Sce => receiver.echoing_sce(true),
        EcnMode::Rfc3168 => receiver.echoing_sce(false),
        EcnMode::Default | EcnMode::Off | EcnMode::AccEcn => receiver,
    };
    Ends::Tcp(Sender::new(&config, switches, control), receiver)
}

impl Probe {
    /// The request that is due.
    pub(crate) fn request(&mut self, now: Time, nic: &Nic) -> Packet {
        let number = self.sent;
        self.sent += 1;
        self.next = now + self.settings.interval;
        self.waiting.push_back((number, now));
        let body = Body::Echo { number, sent: now, reply: false };
        Packet::new(nic.owner, nic.there, nic.dscp, self.settings.ecn, self.settings.size, body)
    }

    /// The far end's reply to a request.
    pub(crate) fn reply(&self, number: u32, sent: Time, nic: &Nic) -> Packet {
        let body = Body::Echo { number, sent, reply: true };
        Packet::new(nic.owner, nic.back, nic.dscp, self.settings.ecn, self.settings.size, body)
    }

    /// A reply has come back.
    pub(crate) fn on_reply(&mut self, now: Time, number: u32, sent: Time) {
        self.waiting.retain(|w| w.0 != number);
        self.replies.push((now, number, now - sent));
    }
}

impl Source {
    /// The datagram that is due.
    pub(crate) fn datagram(&mut self, now: Time, nic: &Nic) -> Packet {
        self.sent += 1;
        self.next = self.pace.finish(self.next, u64::from(self.settings.payload));
        let ip_len = self.settings.payload + UDP_HEADERS;
        let body = Body::Datagram { sent: now };
        Packet::new(nic.owner, nic.there, nic.dscp, self.settings.ecn, ip_len, body)
    }
}
