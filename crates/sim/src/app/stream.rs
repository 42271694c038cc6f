//! Datagrams one way: unresponsive UDP, a voice call, a video call, UDP that is on and off by turns. The receiver counts
//! what comes, and tells a video call that adapts what is missing, once a second (an RTCP receiver report, RFC 3550
//! §6.4.2, which travels back as a packet).

use super::probe::UDP_HEADERS;
use crate::host::Nic;
use crate::packet::{Body, Packet};
use sojourn_scenario::model::{OnOff, Pulse, Traffic};
use sojourn_scenario::workload::{
    Act, ConstantRate, Periodic, PulsedUdp, Source as _, VideoSource,
};
use sojourn_units::{Ecn, Random, Span, Time};
use std::collections::VecDeque;

/// Between reports.
const REPORT_EVERY: Span = Span::from_secs(1);
/// So many datagrams may overtake one before it counts as lost.
const REORDERING: usize = 64;
/// IP bytes of a receiver report with one block: 8 and 24 beside the headers.
const REPORT_LEN: u32 = UDP_HEADERS + 32;

#[derive(Clone, Debug)]
enum Generator {
    Constant(ConstantRate),
    Voice(Periodic),
    Video(Box<VideoSource>),
    Pulsed(PulsedUdp),
}

impl Generator {
    /// What the traffic of a flow is when it starts now; nothing if it is no stream of datagrams.
    fn of(traffic: &Traffic, now: Time) -> Option<Self> {
        Some(match traffic {
            Traffic::Udp(udp) => Self::Constant(ConstantRate::new(now, *udp)),
            Traffic::Voip(voip) => Self::Voice(Periodic::voip(now, voip)),
            Traffic::Video(video) => Self::Video(Box::new(VideoSource::new(now, video.clone()))),
            Traffic::OnOff(source @ OnOff { over: Pulse::Udp(udp), .. }) => {
                Self::Pulsed(PulsedUdp::new(now, source, *udp))
            }
            _ => return None,
        })
    }

    fn next(&self) -> Option<Time> {
        match self {
            Self::Constant(g) => g.next(),
            Self::Voice(g) => g.next(),
            Self::Video(g) => g.next(),
            Self::Pulsed(g) => g.next(),
        }
    }

    fn act(&mut self, random: &mut Random) -> Act {
        match self {
            Self::Constant(g) => g.act(random),
            Self::Voice(g) => g.act(random),
            Self::Video(g) => g.act(random),
            Self::Pulsed(g) => g.act(random),
        }
    }
}

/// A stream of datagrams and its receiver.
#[derive(Debug)]
pub(crate) struct Stream {
    traffic: Traffic,
    ecn: Ecn,
    generator: Option<Generator>,
    random: Random,
    /// Datagrams sent.
    pub(crate) sent: u32,
    /// Datagrams received, copies included.
    pub(crate) received: u64,
    /// Payload bytes received.
    pub(crate) received_bytes: u64,
    /// Of the datagrams received, marked CE.
    pub(crate) ce: u64,
    /// Whether the last of those below `highest` have come.
    seen: VecDeque<bool>,
    /// One past the highest number that has come.
    highest: u32,
    /// Datagrams that have not come while so many later ones have.
    pub(crate) lost: u64,
    /// Of each packet when it was sent and when it came, of a voice call.
    pub(crate) packets: Option<Vec<(Time, Time)>>,
    next_report: Time,
    reported: (u32, u64),
}

impl Stream {
    /// A stream at rest.
    pub(crate) fn new(traffic: &Traffic, random: Random) -> Self {
        let (ecn, listed, adapts) = match traffic {
            Traffic::Udp(udp) | Traffic::OnOff(OnOff { over: Pulse::Udp(udp), .. }) => {
                (udp.ecn, false, false)
            }
            Traffic::Voip(voip) => (voip.ecn, true, false),
            Traffic::Video(video) => (video.ecn, false, video.adaptation.is_some()),
            other => unreachable!("{} is no stream of datagrams", other.name()),
        };
        Self {
            traffic: traffic.clone(),
            ecn,
            generator: None,
            random,
            sent: 0,
            received: 0,
            received_bytes: 0,
            ce: 0,
            seen: VecDeque::new(),
            highest: 0,
            lost: 0,
            packets: listed.then(Vec::new),
            next_report: if adapts { Time::ZERO } else { Time::NEVER },
            reported: (0, 0),
        }
    }

    /// Begins to send.
    pub(crate) fn start(&mut self, now: Time) {
        self.generator = Generator::of(&self.traffic, now);
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
        self.note_number(number);
        if let Some(packet) = self.packets.as_mut().and_then(|p| p.get_mut(number as usize)) {
            packet.1 = packet.1.min(now);
        }
    }

    /// The receiver reckons by numbers what is missing.
    fn note_number(&mut self, number: u32) {
        while self.highest <= number {
            self.seen.push_back(false);
            self.highest += 1;
            if self.seen.len() > REORDERING && self.seen.pop_front() == Some(false) {
                self.lost += 1;
            }
        }
        let behind = (self.highest - number) as usize;
        if let Some(place) = self.seen.len().checked_sub(behind) {
            self.seen[place] = true;
        }
    }

    /// What the receiver tells the sender.
    fn report(&mut self, nic: &Nic) -> Packet {
        self.next_report += REPORT_EVERY;
        let settled = self.highest - self.seen.len() as u32;
        let (before, lost) = self.reported;
        self.reported = (settled, self.lost);
        let body = Body::Report { expected: settled - before, missing: (self.lost - lost) as u32 };
        Packet::new(nic.owner, nic.back, nic.dscp, self.ecn, REPORT_LEN, body)
    }

    /// A report has come to the sender.
    pub(crate) fn on_report(&mut self, expected: u32, missing: u32) {
        if let Some(Generator::Video(video)) = &mut self.generator
            && expected > 0
        {
            video.on_loss(f64::from(missing) / f64::from(expected));
        }
    }
}
