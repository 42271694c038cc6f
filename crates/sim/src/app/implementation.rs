//! One connection of QUIC or TCP between two ends of an implementation in public use (`sojourn-quic`): its datagrams or
//! segments are packets of the run, with their bytes.

use super::interface::App;
use super::report::{FlowReport, Record};
use super::setup::{FromFlow, Setup};
use crate::host::HostTx;
use crate::packet::{Body, Packet};
use crate::tap::endpoints;
use sojourn_model::{Direction, Traffic};
use sojourn_quic::{Connection, End, Measured, Reduced, connect, connect_tcp};
use sojourn_record::{FlowSample, RecoveryState};
use sojourn_transport::cc::INFINITE_SSTHRESH;
use sojourn_units::{ETHERNET_HEADER, Ecn, Span, Time};

/// What an end hands to its host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Unit {
    /// Payload of a UDP datagram.
    Datagram,
    /// An IP packet.
    Packet,
}

/// The connection and what its hosts count.
#[derive(Debug)]
pub(crate) struct Implementation {
    connection: Box<dyn Connection>,
    unit: Unit,
    is_finite: bool,
    sent: [u32; 2],
    received: [u32; 2],
    /// What reached the receiver with CE, and the sender.
    ce: [u64; 2],
    /// RTT samples that the records have.
    noted: u64,
    /// When the sender knew that the handshake was complete.
    opened: Option<(Time, Time)>,
}

impl FromFlow for Implementation {
    fn of(setup: &mut Setup<'_>) -> Option<Self> {
        let (flow, seed) = (setup.flow, setup.seed);
        let upload = flow.direction == Direction::Up;
        let (connection, unit, bytes) = match &flow.traffic {
            Traffic::Quic(quic) => {
                (connect(quic, upload, seed, &flow.name), Unit::Datagram, quic.bytes)
            }
            Traffic::TcpStack(tcp) => {
                let ends = endpoints(setup.owner.flow as usize, flow);
                (connect_tcp(tcp, ends, upload, seed, &flow.name), Unit::Packet, tcp.bytes)
            }
            _ => return None,
        };
        Some(Self {
            connection,
            unit,
            is_finite: bytes.is_some(),
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

/// Whether an IP packet with a TCP segment, whole and without extensions, has data.
fn has_data(packet: &[u8]) -> bool {
    let at = |n: usize| usize::from(packet.get(n).copied().unwrap_or(0));
    let tcp = if at(0) >> 4 == 4 { (at(0) & 15) * 4 } else { 40 };
    packet.len() > tcp + (at(tcp + 12) >> 4) * 4
}

impl Implementation {
    /// Lets the connection act; its packets leave.
    fn act(
        &mut self,
        tx: &mut HostTx<'_>,
        act: impl FnOnce(&mut dyn Connection, sojourn_quic::Out<'_>),
    ) {
        let (sent, unit) = (&mut self.sent, self.unit);
        act(&mut *self.connection, &mut |datagram| {
            let number = &mut sent[index(datagram.from)];
            let back = datagram.from == End::Receiver;
            match unit {
                Unit::Datagram => {
                    tx.send_payload(*number, datagram.payload, datagram.ecn, back);
                }
                Unit::Packet => tx.send_ip(datagram.payload, datagram.ecn, back),
            }
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

impl App for Implementation {
    fn start(&mut self, tx: &mut HostTx<'_>) {
        let now = tx.now();
        self.opened = Some((now, Time::NEVER));
        self.act(tx, |connection, out| connection.open(now, out));
    }

    fn stop(&mut self, now: Time) {
        self.connection.stop(now);
    }

    fn on_packet(&mut self, tx: &mut HostTx<'_>, packet: &Packet) {
        let Some(bytes) = packet.payload() else { return };
        let (payload, is_data) = match (packet.body(), self.unit) {
            (Body::Datagram { .. }, Unit::Datagram) => (bytes, true),
            (Body::Frame { .. }, Unit::Packet) => {
                let ip = bytes.get(ETHERNET_HEADER as usize..).unwrap_or_default();
                (ip, has_data(ip))
            }
            _ => return,
        };
        let at = if packet.is_from_receiver() { End::Sender } else { End::Receiver };
        let ecn = packet.ecn_field();
        self.received[index(at)] += 1;
        self.ce[index(at)] += u64::from(ecn == Ecn::Ce);
        if at == End::Receiver && is_data {
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
        // Without a window there is no threshold, either.
        let none = if m.window.is_some() { u64::from(INFINITE_SSTHRESH) } else { 0 };
        let ssthresh = m.ssthresh.map_or(none, packets);
        Record::Connection(FlowSample {
            delivery_rate_bps: rate(m.delivery_rate),
            rtt_s: seconds(m.rtt),
            srtt_s: seconds(m.srtt),
            cwnd: m.window.map_or(0, packets),
            ssthresh: ssthresh.min(u64::from(INFINITE_SSTHRESH)),
            in_flight: packets(m.in_flight),
            retransmits: m.repeated,
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
        let ce = self.ce[index(End::Receiver)] as f64;
        let totals = match self.unit {
            Unit::Datagram => vec![
                ("datagrams_sent", sent),
                ("datagrams_received", received),
                ("answers_sent", back),
                ("answers_received", answers),
                ("packets_lost", m.lost as f64),
                ("loss_events", m.loss_events as f64),
                ("ecn_events", m.ecn_events as f64),
                ("persistent_congestion", m.persistent as f64),
                ("ce_packets", ce),
                ("handshake_s", handshake),
                ("delivered_bytes", self.delivered_bytes() as f64),
            ],
            Unit::Packet => vec![
                ("segments_sent", sent),
                ("segments_received", received),
                ("answers_sent", back),
                ("answers_received", answers),
                ("retransmits", m.repeated as f64),
                ("ce_packets", ce),
                ("handshake_s", handshake),
                ("delivered_bytes", self.delivered_bytes() as f64),
            ],
        };
        FlowReport { totals, ..FlowReport::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_has_data_behind_its_options() {
        let mut packet = vec![0; 20 + 32];
        (packet[0], packet[32]) = (0x45, 8 << 4);
        assert!(!has_data(&packet));
        packet.push(0);
        assert!(has_data(&packet));
        let mut packet = vec![0; 40 + 20];
        (packet[0], packet[52]) = (0x60, 5 << 4);
        assert!(!has_data(&packet) && !has_data(&[]));
        packet.push(0);
        assert!(has_data(&packet));
    }
}
