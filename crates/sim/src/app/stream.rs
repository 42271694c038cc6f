//! Datagrams one way: unresponsive UDP, a voice call, a video call, UDP that is on and off by turns. The receiver counts
//! what comes, and tells a video call that adapts what is missing, once a second (an RTCP receiver report, RFC 3550
//! §6.4.2, which travels back as a packet).

use super::probe::UDP_HEADERS;
use crate::host::Nic;
use crate::packet::{Body, Packet};
use sojourn_model::Traffic;
use sojourn_units::{Ecn, Random, Span, Time};
use sojourn_workload::{Act, Datagrams, Missing, Source as _};

/// Between reports.
const REPORT_EVERY: Span = Span::from_secs(1);
/// IP bytes of a receiver report with one block: 8 and 24 beside the headers.
const REPORT_LEN: u32 = UDP_HEADERS + 32;

/// A stream of datagrams and its receiver.
#[derive(Debug)]
pub(crate) struct Stream {
    traffic: Traffic,
    ecn: Ecn,
    generator: Option<Datagrams>,
    random: Random,
    /// Datagrams sent.
    pub(crate) sent: u32,
    /// Datagrams received, copies included.
    pub(crate) received: u64,
    /// Payload bytes received.
    pub(crate) received_bytes: u64,
    /// Of the datagrams received, marked CE.
    pub(crate) ce: u64,
    missing: Missing,
    /// Of each packet when it was sent and when it came, of a voice call.
    pub(crate) packets: Option<Vec<(Time, Time)>>,
    next_report: Time,
    reported: (u32, u64),
}

impl Stream {
    /// A stream at rest.
    pub(crate) fn new(traffic: &Traffic, random: Random) -> Self {
        let Some(ecn) = traffic.datagrams() else {
            unreachable!("{} is no stream of datagrams", traffic.name())
        };
        let listed = matches!(traffic, Traffic::Voip(_));
        let adapts = matches!(traffic, Traffic::Video(video) if video.adaptation.is_some());
        Self {
            traffic: traffic.clone(),
            ecn,
            generator: None,
            random,
            sent: 0,
            received: 0,
            received_bytes: 0,
            ce: 0,
            missing: Missing::default(),
            packets: listed.then(Vec::new),
            next_report: if adapts { Time::ZERO } else { Time::NEVER },
            reported: (0, 0),
        }
    }

    /// Begins to send.
    pub(crate) fn start(&mut self, now: Time) {
        self.generator = Datagrams::of(&self.traffic, now);
        if !self.next_report.is_never() {
            self.next_report = now + REPORT_EVERY;
        }
    }

    /// Sends no more.
    pub(crate) fn stop(&mut self) {
        self.generator = None;
        self.next_report = Time::NEVER;
    }

    /// When there is something to do.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        match &self.generator {
            Some(generator) => generator.next().unwrap_or(Time::NEVER).min(self.next_report),
            None => Time::NEVER,
        }
    }

    /// The packet that is due, if one is: a datagram, or a report.
    pub(crate) fn packet(&mut self, now: Time, nic: &Nic) -> Option<Packet> {
        if self.next_report <= now {
            return Some(self.report(nic));
        }
        let generator = self.generator.as_mut()?;
        let Act::Datagram { bytes, .. } = generator.act(&mut self.random) else { return None };
        let number = self.sent;
        self.sent += 1;
        if let Some(packets) = &mut self.packets {
            packets.push((now, Time::NEVER));
        }
        let body = Body::Datagram { number, sent: now };
        Some(Packet::new(nic.owner, nic.there, nic.dscp, self.ecn, bytes + UDP_HEADERS, body))
    }

    /// A datagram has come to the receiver.
    pub(crate) fn on_datagram(&mut self, now: Time, number: u32, payload: u32, ecn: Ecn) {
        self.received += 1;
        self.received_bytes += u64::from(payload);
        self.ce += u64::from(ecn == Ecn::Ce);
        self.missing.arrived(number);
        if let Some(packet) = self.packets.as_mut().and_then(|p| p.get_mut(number as usize)) {
            packet.1 = packet.1.min(now);
        }
    }

    /// Datagrams that have not come while so many later ones have.
    pub(crate) const fn lost(&self) -> u64 {
        self.missing.lost()
    }

    /// What the receiver tells the sender.
    fn report(&mut self, nic: &Nic) -> Packet {
        self.next_report += REPORT_EVERY;
        let (settled, missing) = (self.missing.settled(), self.lost());
        let (before, lost) = self.reported;
        self.reported = (settled, missing);
        let body = Body::Report { expected: settled - before, missing: (missing - lost) as u32 };
        Packet::new(nic.owner, nic.back, nic.dscp, self.ecn, REPORT_LEN, body)
    }

    /// A report has come to the sender.
    pub(crate) fn on_report(&mut self, expected: u32, missing: u32) {
        if let Some(Datagrams::Video(video)) = &mut self.generator
            && expected > 0
        {
            video.on_loss(f64::from(missing) / f64::from(expected));
        }
    }
}
