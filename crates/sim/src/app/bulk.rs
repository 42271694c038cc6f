//! One TCP connection that carries the flow's data: without end, a number of bytes, or a [`Writer`]'s output. Where
//! netperf makes it, a control connection comes first.

use super::endpoint::endpoint;
use super::half::{HalfPath, TcpHalf};
use super::interface::App;
use super::netperf::Control;
use super::report::{FlowReport, Record};
use super::setup::{FromFlow, Setup};
use super::writer::Writer;
use crate::host::HostTx;
use crate::packet::{Body, Packet};
use crate::topology::is_netperfs;
use sojourn_model::{Direction, OnOff, Pulse, Traffic};
use sojourn_path::SkbCharge;
use sojourn_transport::LimitedTimes;
use sojourn_units::{Random, Time};

/// How far it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Not started, or not yet agreed on.
    Waiting,
    /// The connection is open.
    Begun,
    /// Stopped.
    Stopped,
}

/// The connection. The fields that every packet touches come first, see [`FlowRun`](crate::flow::FlowRun).
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Bulk {
    /// What writes to it, if it does not always have data.
    writer: Option<Box<Writer>>,
    /// The control connection of its program, until nothing more comes by it.
    control: Option<Box<Control>>,
    half: TcpHalf,
    phase: Phase,
    is_finite: bool,
}

impl FromFlow for Bulk {
    fn of(setup: &mut Setup<'_>) -> Option<Self> {
        let (flow, host, seed, owner) = (setup.flow, setup.host, setup.seed, setup.owner);
        let (Traffic::Tcp(tcp) | Traffic::OnOff(OnOff { over: Pulse::Tcp(tcp), .. })) =
            &flow.traffic
        else {
            return None;
        };
        let name = flow.name.as_str();
        let control = Random::named(seed, &format!("flow/{name}/cc"));
        let clocks = (setup.random.next_u32(), setup.random.next_u32());
        let (sender, receiver) = endpoint(tcp, flow.ip, host, setup.device, control, clocks);
        let mss = sender.tcb().view.mss;
        let writer = Writer::of(&flow.traffic, mss, setup.own_random()).map(Box::new);
        let sender = if writer.is_some() { sender.without_data() } else { sender };
        let path = HalfPath { owner, routes: setup.routes, dscp: flow.dscp, turned: false };
        let control = is_netperfs(flow, host.stack).then(|| {
            // In the testbeds with netperf its client sends (TCP_STREAM), and the suites call the way of that data `down`.
            let with_data = flow.direction == Direction::Down;
            let routes = setup.control_routes;
            Box::new(Control::new(host, seed, name, owner, with_data, routes, setup.random))
        });
        Some(Self {
            half: TcpHalf::new((sender, receiver), path),
            phase: Phase::Waiting,
            is_finite: matches!(&flow.traffic, Traffic::Tcp(tcp) if tcp.bytes.is_some()),
            writer,
            control,
        })
    }
}

impl Bulk {
    fn begin(&mut self, tx: &mut HostTx<'_>) {
        self.phase = Phase::Begun;
        self.half.open(tx);
        if let Some(writer) = &mut self.writer {
            writer.start(tx.now());
        }
    }

    /// A packet of the control connection: once both ends agree, the flow begins. One that is late finds nobody.
    #[cold]
    fn on_control_packet(&mut self, tx: &mut HostTx<'_>, packet: &Packet) {
        let Some(control) = &mut self.control else { return };
        control.on_packet(tx, packet);
        let agreed = control.is_agreed();
        if control.is_quiet() {
            self.control = None;
        }
        if agreed && self.phase == Phase::Waiting {
            self.begin(tx);
        }
    }
}

impl App for Bulk {
    fn start(&mut self, tx: &mut HostTx<'_>) {
        match &mut self.control {
            Some(control) => control.open(tx),
            None => self.begin(tx),
        }
    }

    fn has_begun(&self) -> bool {
        self.phase == Phase::Begun
    }

    fn stop(&mut self, now: Time) {
        if self.phase == Phase::Begun {
            self.half.sender.stop(now);
            if let Some(writer) = &mut self.writer {
                writer.stop();
            }
        }
        self.phase = Phase::Stopped;
    }

    #[inline]
    fn on_packet(&mut self, tx: &mut HostTx<'_>, packet: &Packet) {
        if packet.key != self.half.path.owner.key {
            return self.on_control_packet(tx, packet);
        }
        let is_data = matches!(packet.body, Body::Data(_));
        if is_data {
            tx.note_delivery(packet);
        }
        self.half.on_packet(tx, packet);
        if !is_data {
            self.half.note_rtt(tx);
        }
    }

    #[inline]
    fn on_timer(&mut self, tx: &mut HostTx<'_>) {
        let now = tx.now();
        if let Some(control) = &mut self.control
            && control.next_timer() <= now
        {
            control.on_timer(tx);
        }
        self.half.on_timer(tx);
        if let Some(writer) = &mut self.writer
            && writer.next() <= now
        {
            writer.act(tx, &mut self.half);
        }
    }

    #[inline]
    fn next_timer(&self) -> Time {
        let tcp = self.half.next_timer();
        let tcp = self.writer.as_ref().map_or(tcp, |writer| tcp.min(writer.next()));
        self.control.as_ref().map_or(tcp, |control| tcp.min(control.next_timer()))
    }

    fn tx_completion(&mut self, tx: &mut HostTx<'_>, done: &SkbCharge) {
        if done.key == self.half.path.owner.key {
            self.half.tx_completion(tx, done.bytes);
        }
    }

    fn is_finite(&self) -> bool {
        self.is_finite
    }

    fn is_finished(&self) -> bool {
        self.half.sender.is_finished() && self.writer.as_ref().is_none_or(|w| w.is_done())
    }

    fn delivered_bytes(&self) -> u64 {
        self.half.receiver.delivered_bytes()
    }

    fn record(&self) -> Record {
        Record::Connection(self.half.record())
    }

    fn limited_times(&self, now: Time) -> Option<LimitedTimes> {
        Some(self.half.sender.limited_times(now))
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.half.sender.gauges(out);
    }

    fn report(&self, _end: Time) -> FlowReport {
        let (sender, receiver) = (&self.half.sender, &self.half.receiver);
        let c = sender.counters();
        let totals = vec![
            ("segments_sent", c.sent as f64),
            ("retransmits", c.retransmits as f64),
            ("timeouts", c.timeouts as f64),
            ("probes", c.probes as f64),
            ("ece_acks", c.ece_acks as f64),
            ("esce_acks", c.esce_acks as f64),
            ("ece_reductions", c.ece_reductions as f64),
            ("recoveries", c.recoveries as f64),
            ("undos", c.undos as f64),
            ("ecn_agreed", f64::from(sender.ecn_agreed() as u8)),
            ("ce_packets", receiver.ce_packets() as f64),
            ("delivered_bytes", receiver.delivered_bytes() as f64),
        ];
        FlowReport { totals, ..FlowReport::default() }
    }
}
