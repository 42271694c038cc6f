//! One QUIC connection between two ends of an implementation in public use (`sojourn-quic`): its datagrams are packets
//! of the run, with their bytes.

use super::interface::App;
use super::report::{FlowReport, Record};
use super::setup::{FromFlow, Setup};
use crate::host::HostTx;
use crate::packet::{Body, Packet};
use sojourn_model::{Direction, Traffic};
use sojourn_quic::{Connection, End, Measured, Reduced, connect};
use sojourn_record::{FlowSample, RecoveryState};
use sojourn_transport::cc::INFINITE_SSTHRESH;
use sojourn_units::{Ecn, Span, Time};

/// The connection and what its hosts count.
#[derive(Debug)]
pub(crate) struct Quic {
    connection: Box<dyn Connection>,
    is_finite: bool,
    sent: [u32; 2],
    received: [u32; 2],
    /// Datagrams that reached the receiver with CE, and the sender.
    ce: [u64; 2],
    /// RTT samples that the records have.
    noted: u64,
    /// When the sender knew that the handshake was complete.
    opened: Option<(Time, Time)>,
}

impl FromFlow for Quic {
    fn of(setup: &mut Setup<'_>) -> Option<Self> {
        let Traffic::Quic(quic) = &setup.flow.traffic else { return None };
        let upload = setup.flow.direction == Direction::Up;
        Some(Self {
            connection: connect(quic, upload, setup.seed, &setup.flow.name),
            is_finite: quic.bytes.is_some(),
            sent: [0; 2],
            received: [0; 2],
            ce: [0; 2],
            noted: 0,
            opened: None,
        })
    }
}

/// Where an end's counts stand.
const fn index(end: End) -> usize {
    match end {
        End::Sender => 0,
        End::Receiver => 1,
    }
}

impl Quic {
    /// Lets the connection act; the datagrams that it sends leave.
    fn act(
        &mut self,
        tx: &mut HostTx<'_>,
        act: impl FnOnce(&mut dyn Connection, sojourn_quic::Out<'_>),
    ) {
        let sent = &mut self.sent;
        act(&mut *self.connection, &mut |datagram| {
            let number = &mut sent[index(datagram.from)];
            let back = datagram.from == End::Receiver;
            tx.send_payload(*number, datagram.payload, datagram.ecn, back);
            *number += 1;
        });
    }

    /// Records the sender's measurements.
    fn note(&mut self, tx: &mut HostTx<'_>) {
        let measured = self.connection.measured();
        if measured.samples != self.noted {
            self.noted = measured.samples;
            if let Some(rtt) = measured.rtt {
                tx.note_delay(rtt);
            }
        }
        if measured.is_open
            && let Some((begun, opened)) = &mut self.opened
            && opened.is_never()
        {
            *opened = tx.now().max(*begun);
        }
    }
}

impl App for Quic {
    fn start(&mut self, tx: &mut HostTx<'_>) {
        let now = tx.now();
        self.opened = Some((now, Time::NEVER));
        self.act(tx, |connection, out| connection.open(now, out));
    }

    fn stop(&mut self, now: Time) {
        self.connection.stop(now);
    }

    fn on_packet(&mut self, tx: &mut HostTx<'_>, packet: &Packet) {
        let (Body::Datagram { .. }, Some(payload)) = (packet.body(), packet.payload()) else {
            return;
        };
        let at = if packet.is_from_receiver() { End::Sender } else { End::Receiver };
        let ecn = packet.ecn_field();
        self.received[index(at)] += 1;
        self.ce[index(at)] += u64::from(ecn == Ecn::Ce);
        if at == End::Receiver {
            tx.note_delivery(packet);
        }
        let now = tx.now();
        self.act(tx, |connection, out| connection.receive(now, at, ecn, payload, out));
        if at == End::Sender {
            self.note(tx);
        }
    }

    fn on_timer(&mut self, tx: &mut HostTx<'_>) {
        let now = tx.now();
        if self.connection.next_timer() <= now {
            self.act(tx, |connection, out| connection.on_timer(now, out));
        }
    }

    fn next_timer(&self) -> Time {
        self.connection.next_timer()
    }

    fn is_finite(&self) -> bool {
        self.is_finite
    }

    fn is_finished(&self) -> bool {
        self.connection.is_finished()
    }

    fn failure(&self) -> Option<&str> {
        self.connection.failure()
    }

    fn delivered_bytes(&self) -> u64 {
        self.connection.delivered_bytes()
    }

    fn record(&self) -> Record {
        let m = self.connection.measured();
        let Measured { packet, .. } = m;
        let seconds = |span: Option<Span>| span.map_or(f64::NAN, Span::as_secs_f64);
        let rate = |bits: Option<u64>| bits.map_or(f64::NAN, |bits| bits as f64);
        // A window of BBR's may be shorter than a packet for a moment.
        let packets = |bytes: u64| bytes.div_ceil(packet.max(1));
        let ssthresh = m.ssthresh.map_or(u64::from(INFINITE_SSTHRESH), packets);
        Record::Connection(FlowSample {
            delivery_rate_bps: rate(m.delivery_rate),
            rtt_s: seconds(m.rtt),
            srtt_s: seconds(m.srtt),
            cwnd: packets(m.window),
            ssthresh: ssthresh.min(u64::from(INFINITE_SSTHRESH)),
            in_flight: packets(m.in_flight),
            retransmits: m.lost,
            lost: m.lost,
            delivered: m.acked,
            ce: self.ce[index(End::Receiver)],
            ece: m.ecn_events,
            pacing_bps: rate(m.pacing),
            state: match m.reduced {
                None => RecoveryState::Open,
                Some(Reduced::ByEcn) => RecoveryState::Cwr,
                Some(Reduced::ByLoss) => RecoveryState::Recovery,
            },
            ..FlowSample::UNKNOWN
        })
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.connection.gauges(out);
    }

    fn report(&self, _end: Time) -> FlowReport {
        let m = self.connection.measured();
        let [sent, back] = self.sent.map(f64::from);
        let [answers, received] = self.received.map(f64::from);
        let handshake = match self.opened {
            Some((begun, opened)) if !opened.is_never() => (opened - begun).as_secs_f64(),
            _ => f64::NAN,
        };
        let totals = vec![
            ("datagrams_sent", sent),
            ("datagrams_received", received),
            ("answers_sent", back),
            ("answers_received", answers),
            ("packets_lost", m.lost as f64),
            ("loss_events", m.loss_events as f64),
            ("ecn_events", m.ecn_events as f64),
            ("persistent_congestion", m.persistent as f64),
            ("ce_packets", self.ce[index(End::Receiver)] as f64),
            ("handshake_s", handshake),
            ("delivered_bytes", self.delivered_bytes() as f64),
        ];
        FlowReport { totals, ..FlowReport::default() }
    }
}
