//! Probes: ICMP echo as `ping` sends it, and irtt's packets. Both ask at fixed intervals whatever comes back, and are
//! answered at once by a packet of the same size.

use crate::host::Nic;
use crate::packet::{Body, Packet};
use sojourn_model::{Irtt, Ping};
use sojourn_units::{Ecn, Random, Span, Time};
use sojourn_workload::{Act, Periodic, Source};

/// IPv4 and UDP headers.
pub(crate) const UDP_HEADERS: u32 = 28;
/// What an irtt client waits at the end for replies: three times the largest round trip, or this if none came.
const WAIT: Span = Span::from_secs(4);

/// What became of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    /// When it was sent.
    pub(crate) sent: Time,
    /// When it reached the peer; never if it did not.
    pub(crate) there: Time,
    /// When the reply came; never if none did.
    pub(crate) back: Time,
}

/// A probe that asks at fixed intervals.
#[derive(Debug)]
pub(crate) struct Probe {
    clock: Option<Periodic>,
    interval: Span,
    /// Bytes of the IP packet.
    ip_len: u32,
    ecn: Ecn,
    /// Every request.
    pub(crate) requests: Vec<Request>,
    /// Replies that came, copies included.
    pub(crate) replies: u64,
}

impl Probe {
    /// A ping at rest.
    pub(crate) fn ping(ping: &Ping) -> Self {
        Self::new(ping.interval, ping.size, ping.ecn)
    }

    /// An irtt client at rest.
    pub(crate) fn irtt(irtt: &Irtt) -> Self {
        Self::new(irtt.interval, irtt.payload + UDP_HEADERS, irtt.ecn)
    }

    fn new(interval: Span, ip_len: u32, ecn: Ecn) -> Self {
        Self { clock: None, interval, ip_len, ecn, requests: Vec::new(), replies: 0 }
    }

    /// Begins to ask.
    pub(crate) fn start(&mut self, now: Time) {
        self.clock = Some(Periodic::new(now, self.interval, self.ip_len));
    }

    /// Asks no more.
    pub(crate) fn stop(&mut self) {
        self.clock = None;
    }

    /// When the next request is due.
    pub(crate) fn next(&self) -> Time {
        self.clock.as_ref().and_then(Source::next).unwrap_or(Time::NEVER)
    }

    /// The request that is due.
    pub(crate) fn request(&mut self, now: Time, nic: &Nic) -> Option<Packet> {
        // Its beat takes no draws.
        let mut random = Random::named(0, "");
        let act = self.clock.as_mut()?.act(&mut random);
        let Act::Datagram { bytes, .. } = act else { return None };
        let number = self.requests.len() as u32;
        self.requests.push(Request { sent: now, there: Time::NEVER, back: Time::NEVER });
        let body = Body::Echo { number, sent: now, reply: false };
        Some(Packet::new(nic.owner, nic.there, nic.dscp, self.ecn, bytes, body))
    }

    /// The far end's reply to a request that has come.
    pub(crate) fn reply(&mut self, now: Time, number: u32, sent: Time, nic: &Nic) -> Packet {
        if let Some(request) = self.requests.get_mut(number as usize) {
            request.there = request.there.min(now);
        }
        let body = Body::Echo { number, sent, reply: true };
        Packet::new(nic.owner, nic.back, nic.dscp, self.ecn, self.ip_len, body)
    }

    /// A reply has come back.
    pub(crate) fn on_reply(&mut self, now: Time, number: u32) {
        self.replies += 1;
        if let Some(request) = self.requests.get_mut(number as usize) {
            request.back = request.back.min(now);
        }
    }

    /// Requests sent later than this and not answered may still be.
    pub(crate) fn patience(&self, end: Time) -> Time {
        let answered = self.requests.iter().filter(|r| !r.back.is_never());
        let longest = answered.map(|r| r.back.since(r.sent)).max();
        end.saturating_sub(longest.map_or(WAIT, |rtt| rtt * 3))
    }
}
