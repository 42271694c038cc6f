//! Datagrams one way: unresponsive UDP, a voice call, a video call, UDP that is alternately on and off. The receiver
//! counts datagrams, and reports missing ones to an adaptive video call once a second (an RTCP receiver report, RFC
//! 3550 §6.4.2, which travels back as a packet).

use super::interface::App;
use super::report::{Counts, DelayKind, FlowReport, Record};
use super::setup::{FromFlow, Setup};
use crate::host::HostTx;
use crate::packet::{Body, Packet, UDP_HEADERS};
use sojourn_model::Traffic;
use sojourn_record::PingSample;
use sojourn_units::{Ecn, Random, Span, Time};
use sojourn_workload::{Act, Datagrams, Missing, Source as _};

/// Between reports.
const REPORT_EVERY: Span = Span::from_secs(1);
/// IP bytes of a receiver report with one block: 8 and 24 on top of the headers.
const REPORT_LEN: u32 = UDP_HEADERS + 32;

/// A stream of datagrams and its receiver.
#[derive(Debug)]
pub(crate) struct Stream {
    traffic: Traffic,
    ecn: Ecn,
    generator: Option<Datagrams>,
    random: Random,
    /// Datagrams sent.
    sent: u32,
    /// Datagrams received, copies included.
    received: u64,
    /// Payload bytes received.
    received_bytes: u64,
    /// Of the datagrams received, marked CE.
    ce: u64,
    missing: Missing,
    /// Of each packet when it was sent and when it came, of a voice call.
    packets: Option<Vec<(Time, Time)>>,
    next_report: Time,
    reported: (u32, u64),
}

impl FromFlow for Stream {
    fn of(setup: &mut Setup<'_>) -> Option<Self> {
        let traffic = &setup.flow.traffic;
        let ecn = traffic.datagrams()?;
        let listed = matches!(traffic, Traffic::Voip(_));
        let adapts = matches!(traffic, Traffic::Video(video) if video.adaptation.is_some());
        Some(Self {
            traffic: traffic.clone(),
            ecn,
            generator: None,
            random: setup.own_random(),
            sent: 0,
            received: 0,
            received_bytes: 0,
            ce: 0,
            missing: Missing::default(),
            packets: listed.then(Vec::new),
            next_report: if adapts { Time::ZERO } else { Time::NEVER },
            reported: (0, 0),
        })
    }
}

impl Stream {
    /// Sends the datagram that is due.
    fn send(&mut self, tx: &mut HostTx<'_>) {
        let Some(generator) = &mut self.generator else { return };
        let Act::Datagram { bytes, .. } = generator.act(&mut self.random) else { return };
        let (number, now) = (self.sent, tx.now());
        self.sent += 1;
        if let Some(packets) = &mut self.packets {
            packets.push((now, Time::NEVER));
        }
        let body = Body::Datagram { number, sent: now };
        let host = &*tx.host;
        tx.send(Packet::udp(host.owner, host.there, host.dscp, self.ecn, bytes, body));
    }

    /// A datagram has come to the receiver.
    fn on_datagram(&mut self, now: Time, number: u32, packet: &Packet) {
        self.received += 1;
        self.received_bytes += u64::from(packet.udp_payload());
        self.ce += u64::from(packet.ecn_field() == Ecn::Ce);
        self.missing.arrived(number);
        if let Some(packet) = self.packets.as_mut().and_then(|p| p.get_mut(number as usize)) {
            packet.1 = packet.1.min(now);
        }
    }

    /// Datagrams that have not come although enough later ones have.
    const fn lost(&self) -> u64 {
        self.missing.lost()
    }

    /// What the receiver tells the sender.
    fn report_loss(&mut self, tx: &mut HostTx<'_>) {
        self.next_report += REPORT_EVERY;
        let (settled, missing) = (self.missing.settled(), self.lost());
        let (before, lost) = self.reported;
        self.reported = (settled, missing);
        let body = Body::Report { expected: settled - before, missing: (missing - lost) as u32 };
        let host = &*tx.host;
        tx.send(Packet::new(host.owner, host.back, host.dscp, self.ecn, REPORT_LEN, body));
    }

    /// A report has come to the sender.
    fn on_report(&mut self, expected: u32, missing: u32) {
        if let Some(Datagrams::Video(video)) = &mut self.generator
            && expected > 0
        {
            video.on_loss(f64::from(missing) / f64::from(expected));
        }
    }

    /// Each packet of a voice call.
    fn listed(&self, end: Time) -> Vec<PingSample> {
        let packets = self.packets.iter().flatten();
        let came = packets.clone().filter(|p| !p.1.is_never());
        let longest = came.map(|p| p.1 - p.0).max().unwrap_or(Span::ZERO);
        let patience = end.saturating_sub(longest * 3);
        let row = |(number, &(sent, there)): (u64, &(Time, Time))| {
            let (at, lost) = match there.is_never() {
                false => (there, ""),
                true if sent > patience => (sent, "late"),
                true => (sent, "there"),
            };
            PingSample { at, number, sent, there, back: Time::NEVER, lost }
        };
        let mut rows: Vec<PingSample> = (0..).zip(packets).map(row).collect();
        rows.sort_by_key(|row| row.at);
        rows
    }
}

impl App for Stream {
    fn start(&mut self, tx: &mut HostTx<'_>) {
        self.generator = Datagrams::of(&self.traffic, tx.now());
        if !self.next_report.is_never() {
            self.next_report = tx.now() + REPORT_EVERY;
        }
    }

    fn stop(&mut self, _now: Time) {
        self.generator = None;
        self.next_report = Time::NEVER;
    }

    fn on_packet(&mut self, tx: &mut HostTx<'_>, packet: &Packet) {
        match packet.body {
            Body::Datagram { number, .. } => {
                tx.note_delivery(packet);
                tx.note_delay(tx.now() - packet.sent);
                self.on_datagram(tx.now(), number, packet);
            }
            Body::Report { expected, missing } => self.on_report(expected, missing),
            _ => {}
        }
    }

    fn on_timer(&mut self, tx: &mut HostTx<'_>) {
        if self.next_report <= tx.now() {
            self.report_loss(tx);
        } else if self.next_timer() <= tx.now() {
            self.send(tx);
        }
    }

    #[inline]
    fn next_timer(&self) -> Time {
        match &self.generator {
            Some(generator) => generator.next().unwrap_or(Time::NEVER).min(self.next_report),
            None => Time::NEVER,
        }
    }

    fn delivered_bytes(&self) -> u64 {
        self.received_bytes
    }

    fn record(&self) -> Record {
        Record::Counts(Counts {
            lost: self.lost(),
            delivered: self.received,
            ce: self.ce,
            ..Counts::default()
        })
    }

    fn report(&self, end: Time) -> FlowReport {
        let totals = vec![
            ("datagrams_sent", f64::from(self.sent)),
            ("datagrams_received", self.received as f64),
            ("ce_packets", self.ce as f64),
        ];
        let delays = DelayKind::OneWay;
        FlowReport { delays, pings: self.listed(end), totals, ..FlowReport::default() }
    }
}
