//! Probes: ICMP echo as `ping` sends it, and irtt's packets. Both ask at fixed intervals whatever comes back, and are
//! answered at once by a packet of the same size.

use super::interface::App;
use super::report::{FlowReport, Record};
use super::setup::{FromFlow, Setup};
use crate::host::HostTx;
use crate::packet::{Body, Packet, UDP_HEADERS};
use sojourn_model::Traffic;
use sojourn_record::PingSample;
use sojourn_units::{Ecn, Random, Span, Time};
use sojourn_workload::{Act, Periodic, Source};

/// An irtt client's wait for replies at the end: three times the largest round trip, or this if none came.
const WAIT: Span = Span::from_secs(4);

/// What became of a request.
#[derive(Clone, Copy, Debug)]
struct Request {
    /// When it was sent.
    sent: Time,
    /// When it reached the peer; never if it did not.
    there: Time,
    /// When the reply came; never if none did.
    back: Time,
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
    requests: Vec<Request>,
    /// Replies that came, copies included.
    replies: u64,
}

impl FromFlow for Probe {
    fn of(setup: &mut Setup<'_>) -> Option<Self> {
        let (interval, ip_len, ecn) = match &setup.flow.traffic {
            Traffic::Ping(ping) => (ping.interval, ping.size, ping.ecn),
            Traffic::Irtt(irtt) => (irtt.interval, irtt.payload + UDP_HEADERS, irtt.ecn),
            _ => return None,
        };
        Some(Self { clock: None, interval, ip_len, ecn, requests: Vec::new(), replies: 0 })
    }
}

impl Probe {
    /// Sends the request that is due.
    fn ask(&mut self, tx: &mut HostTx<'_>) {
        // Its beat takes no draws.
        let mut random = Random::named(0, "");
        let Some(clock) = &mut self.clock else { return };
        let Act::Datagram { bytes, .. } = clock.act(&mut random) else { return };
        let (number, sent) = (self.requests.len() as u32, tx.now());
        self.requests.push(Request { sent, there: Time::NEVER, back: Time::NEVER });
        let body = Body::Echo { number, sent, reply: false };
        let host = &*tx.host;
        tx.send(Packet::new(host.owner, host.there, host.dscp, self.ecn, bytes, body));
    }

    /// A request has reached the far end, which replies.
    fn reply(&mut self, tx: &mut HostTx<'_>, number: u32, sent: Time) {
        if let Some(request) = self.requests.get_mut(number as usize) {
            request.there = request.there.min(tx.now());
        }
        let body = Body::Echo { number, sent, reply: true };
        let host = &*tx.host;
        tx.send(Packet::new(host.owner, host.back, host.dscp, self.ecn, self.ip_len, body));
    }

    /// Requests sent later than this and not answered may still be.
    fn patience(&self, end: Time) -> Time {
        let answered = self.requests.iter().filter(|r| !r.back.is_never());
        let longest = answered.map(|r| r.back.since(r.sent)).max();
        end.saturating_sub(longest.map_or(WAIT, |rtt| rtt * 3))
    }
}

impl App for Probe {
    fn start(&mut self, tx: &mut HostTx<'_>) {
        self.clock = Some(Periodic::new(tx.now(), self.interval, self.ip_len));
    }

    fn stop(&mut self, _now: Time) {
        self.clock = None;
    }

    fn on_packet(&mut self, tx: &mut HostTx<'_>, packet: &Packet) {
        let Body::Echo { number, sent, reply } = packet.body else { return };
        if !reply {
            return self.reply(tx, number, sent);
        }
        self.replies += 1;
        if let Some(request) = self.requests.get_mut(number as usize) {
            request.back = request.back.min(tx.now());
        }
        tx.note_delay(tx.now() - sent);
    }

    fn on_timer(&mut self, tx: &mut HostTx<'_>) {
        if self.next_timer() <= tx.now() {
            self.ask(tx);
        }
    }

    fn next_timer(&self) -> Time {
        self.clock.as_ref().and_then(Source::next).unwrap_or(Time::NEVER)
    }

    fn delivered_bytes(&self) -> u64 {
        0
    }

    fn record(&self) -> Record {
        Record::Nothing
    }

    fn report(&self, end: Time) -> FlowReport {
        let patience = self.patience(end);
        let row = |(number, &Request { sent, there, back }): (u64, &Request)| {
            let lost = match (back.is_never(), there.is_never()) {
                (false, _) => "",
                (true, _) if sent > patience => "late",
                (true, true) => "there",
                (true, false) => "back",
            };
            let at = if back.is_never() { sent } else { back };
            PingSample { at, number, sent, there, back, lost }
        };
        let mut pings: Vec<PingSample> = (0..).zip(&self.requests).map(row).collect();
        pings.sort_by_key(|row| row.at);
        let totals =
            vec![("requests", self.requests.len() as f64), ("replies", self.replies as f64)];
        FlowReport { pings, totals, ..FlowReport::default() }
    }
}
