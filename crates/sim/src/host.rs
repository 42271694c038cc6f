//! The two ends of a flow: a TCP sender and receiver, or another application (`app`), with what the records need.

use crate::app::netperf::Control;
use crate::app::probe::Probe;
use crate::app::short_flows::ShortFlows;
use crate::app::stream::Stream;
use crate::app::streaming::Streaming;
use crate::app::writer::Writer;
use crate::distribution::Distribution;
use crate::packet::{Body, Owner, Packet, Pool};
use crate::topology::Station;
use sojourn_model::{
    Direction, EcnMode, Flow, Ip, OnOff, Pulse, ReceiveWindow, RttScaling, Tcp, Traffic,
};
use sojourn_stacks::Stack;
use sojourn_transport::cc::{CongestionControl, Registry};
use sojourn_transport::segment::{Ack, Data, HEADERS, Handshake, Output};
use sojourn_transport::stack::{EcnRequest, Independence, Scaling, TcpQuirks};
use sojourn_transport::{Config, OwnDevice, Receiver, Sender, WindowPolicy};
use sojourn_units::{Dscp, Ecn, Random, Span, Time, random};
use std::sync::Arc;

/// What a host makes its connections with: the stack, and the congestion controls that it knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostStack<'a> {
    /// The stack.
    pub(crate) stack: &'static Stack,
    /// What its TCP differs in.
    pub(crate) quirks: &'a Arc<TcpQuirks>,
    /// The controls.
    pub(crate) controls: &'a Registry,
}

/// IP bytes of a full packet.
pub(crate) const MTU: u32 = 1500;

/// Where a flow's packets leave its hosts.
#[derive(Debug)]
pub(crate) struct Nic {
    /// The flow that its packets are of.
    pub(crate) owner: Owner,
    /// Route of data.
    pub(crate) there: u16,
    /// Route of what comes back.
    pub(crate) back: u16,
    /// The DSCP of its packets, both ways.
    pub(crate) dscp: Dscp,
    jitter: u64,
    /// What its hosts draw from.
    pub(crate) random: Random,
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
        parcel.sent = now;
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

/// Prague's target RTT unless a flow says another (`prague_rtt_target` from 2021 on).
const RTT_TARGET: Span = Span::from_millis(25);

/// What a flow is made of.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one per flow, kept in place")]
pub(crate) enum Ends {
    /// A TCP connection.
    Tcp(Sender, Receiver),
    /// A probe.
    Probe(Probe),
    /// Datagrams one way.
    Stream(Box<Stream>),
    /// Short connections.
    Short(Box<ShortFlows>),
    /// An adaptive stream.
    Streaming(Box<Streaming>),
}

/// A flow's life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Life {
    /// Not yet started.
    Waiting,
    /// Its program agrees with its peer on what is to come.
    Agreeing,
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
    /// What writes to a TCP connection that does not always have data.
    pub(crate) writer: Option<Box<Writer>>,
    /// The control connection of its program, until nothing more comes by it.
    pub(crate) control: Option<Box<Control>>,
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
    /// A flow of a checked scenario, at rest: its routes and those of its program's control connection, and the device
    /// that its sender's packets wait for.
    pub(crate) fn new(
        index: usize,
        flow: &Flow,
        (routes, control_routes): ((u16, u16), (u16, u16)),
        device: Option<OwnDevice>,
        host: HostStack<'_>,
        seed: u64,
    ) -> Self {
        let mut random = Random::named(seed, &format!("flow/{}/host", flow.name));
        let owner = Owner {
            flow: index as u32,
            key: random::key(&flow.name) as u32,
            up: flow.direction == Direction::Up,
            ip: flow.ip,
        };
        let name = flow.name.as_str();
        let own = || Random::named(seed, &sojourn_workload::random_name(name));
        let mut writer = None;
        let ends = match &flow.traffic {
            Traffic::Tcp(tcp) | Traffic::OnOff(OnOff { over: Pulse::Tcp(tcp), .. }) => {
                let control = Random::named(seed, &format!("flow/{name}/cc"));
                let clocks = (random.next_u32(), random.next_u32());
                let (sender, receiver) = endpoint(tcp, flow.ip, host, device, control, clocks);
                writer = Writer::of(&flow.traffic, sender.tcb().view.mss, own()).map(Box::new);
                let sender = if writer.is_some() { sender.without_data() } else { sender };
                Ends::Tcp(sender, receiver)
            }
            Traffic::Ping(ping) => Ends::Probe(Probe::ping(ping)),
            Traffic::Irtt(irtt) => Ends::Probe(Probe::irtt(irtt)),
            Traffic::Udp(_) | Traffic::Voip(_) | Traffic::Video(_) | Traffic::OnOff(_) => {
                Ends::Stream(Box::new(Stream::new(&flow.traffic, own())))
            }
            Traffic::ShortFlows(settings) => {
                Ends::Short(Box::new(ShortFlows::new(settings, host, device, seed, name)))
            }
            Traffic::Streaming(settings) => Ends::Streaming(Box::new(Streaming::new(
                settings,
                (host, device),
                seed,
                name,
                owner,
                &mut random,
            ))),
        };
        let control = is_netperfs(flow, host.stack).then(|| {
            let with_data = flow.direction == Direction::Down;
            let routes = control_routes;
            Box::new(Control::new(host, seed, name, owner, with_data, routes, &mut random))
        });
        let finite = match &flow.traffic {
            Traffic::Tcp(tcp) => tcp.bytes.is_some(),
            Traffic::ShortFlows(short) => short.count.is_some(),
            _ => false,
        };
        let nic = Nic {
            owner,
            there: routes.0,
            back: routes.1,
            dscp: flow.dscp,
            jitter: host.stack.tcp.host_jitter.as_nanos(),
            random,
            sent: 0,
        };
        Self {
            nic,
            ends,
            writer,
            control,
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
            Ends::Tcp(sender, receiver) => {
                let tcp = sender.next_timer().min(receiver.next_timer());
                let tcp = self.writer.as_ref().map_or(tcp, |writer| tcp.min(writer.next()));
                self.control.as_ref().map_or(tcp, |control| tcp.min(control.next()))
            }
            Ends::Probe(probe) => probe.next(),
            Ends::Stream(stream) => stream.next(),
            Ends::Short(short) => short.next(),
            Ends::Streaming(streaming) => streaming.next(),
        }
    }

    /// Notes a new RTT sample of a TCP sender, if there is one; `counts` says whether it belongs to the records.
    #[inline]
    pub(crate) fn note_rtt(&mut self, counts: bool) {
        let Ends::Tcp(sender, _) = &self.ends else { return };
        let rtt = &sender.tcb().view.rtt;
        if rtt.samples() != self.samples_seen {
            self.samples_seen = rtt.samples();
            if counts {
                self.delays.add(Span::from_micros(u64::from(rtt.latest_us())));
            }
        }
    }

    /// Payload bytes that have arrived in order.
    pub(crate) fn delivered_bytes(&self) -> u64 {
        match &self.ends {
            Ends::Tcp(_, receiver) => receiver.delivered_bytes(),
            Ends::Probe(_) => 0,
            Ends::Stream(stream) => stream.received_bytes,
            Ends::Short(short) => short.counts().bytes,
            Ends::Streaming(streaming) => streaming.connection.taken(),
        }
    }

    /// Whether a flow with an end has reached it.
    pub(crate) fn is_finished(&self) -> bool {
        match &self.ends {
            Ends::Tcp(sender, _) => {
                sender.is_finished() && self.writer.as_ref().is_none_or(|w| w.is_done())
            }
            Ends::Short(short) => short.is_finished(),
            Ends::Probe(_) | Ends::Stream(_) | Ends::Streaming(_) => false,
        }
    }
}

/// Whether netperf makes the flow, so that there is a control connection beside it.
pub(crate) fn is_netperfs(flow: &Flow, stack: &Stack) -> bool {
    stack.tcp.netperf && matches!(flow.traffic, Traffic::Tcp(_))
}

/// Payload of a full segment.
pub(crate) fn mss(ip: Ip) -> u32 {
    MTU - HEADERS - ip.more()
}

/// A sender and the receiver that faces it, with the readings of their hosts' timestamp clocks at the beginning.
/// `device` is what the sender's packets wait for on its own host, `random` what the congestion control draws from.
pub(crate) fn endpoint(
    tcp: &Tcp,
    ip: Ip,
    host: HostStack<'_>,
    device: Option<OwnDevice>,
    random: Random,
    clocks: (u32, u32),
) -> (Sender, Receiver) {
    let quirks = match tcp.rtt_scaling {
        None => Arc::clone(host.quirks),
        Some(mode) => {
            let scaling = match mode {
                RttScaling::None => Scaling::None,
                RttScaling::Rate => Scaling::Rate,
                RttScaling::Scalable => Scaling::Scalable,
                RttScaling::Additive => Scaling::Additive,
            };
            let target = tcp.rtt_target.unwrap_or(RTT_TARGET);
            let target_us = (target.as_nanos() / 1_000) as u32;
            Arc::new(TcpQuirks {
                rtt_independence: Some(Independence { scaling, target_us }),
                ..TcpQuirks::clone(host.quirks)
            })
        }
    };
    let mut control = host.controls.build(&tcp.cc, &quirks).expect("the control was checked");
    control.seed(random);
    let needs = control.ecn();
    let ecn = match tcp.ecn {
        // A control that needs more than the stack asks for gets it (`tcp_ca_needs_ecn`).
        EcnMode::Default => quirks.ecn.max(needs.request),
        EcnMode::Off => EcnRequest::Off,
        EcnMode::Rfc3168 | EcnMode::Sce => EcnRequest::Rfc3168,
        EcnMode::AccEcn => EcnRequest::AccEcn,
    };
    let config = Config {
        mss: mss(ip),
        headers: HEADERS + ip.more(),
        ecn,
        codepoint: tcp.codepoint,
        ignores_ce: tcp.unresponsive_to_ce,
        pacing_cap: tcp.pacing_cap,
        paced: tcp.host_qdisc.as_deref().is_some_and(|q| q.split_whitespace().next() == Some("fq")),
        device,
        initial_window: tcp.initial_window,
        bytes: tcp.bytes,
        clock_offset_ms: clocks.0,
    };
    let window = match tcp.receive_window {
        ReceiveWindow::Autotune => WindowPolicy::Autotuned,
        ReceiveWindow::Fixed(bytes) => {
            WindowPolicy::Fixed(bytes.min(u64::from(u32::MAX / 2)) as u32)
        }
    };
    let receiver = Receiver::new(config.mss, window, &quirks, clocks.1);
    let receiver = receiver.facing(&needs, ecn, tcp.codepoint);
    let receiver = match tcp.ecn {
        EcnMode::Sce => receiver.echoing_sce(true),
        EcnMode::Rfc3168 => receiver.echoing_sce(false),
        EcnMode::Default | EcnMode::Off | EcnMode::AccEcn => receiver,
    };
    (Sender::new(&config, quirks, control), receiver)
}
