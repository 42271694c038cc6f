//! A packet, a telemetry that remembers, and a discipline on a bench.

use sojourn_qdisc::{
    Acknowledgement, AnyQdisc, Backlog, Context, Dequeued, Packet, Qdisc, QdiscQuirks, Reason,
    Registry, Stats, TcError, Telemetry,
};
use sojourn_units::{Dscp, Ecn, Random, Time};

/// A full packet's length in a queue's eyes.
pub(crate) const FULL: u32 = 1514;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pkt {
    pub(crate) id: u64,
    pub(crate) flow: u64,
    pub(crate) len: u32,
    pub(crate) ecn: Ecn,
    pub(crate) dscp: Dscp,
    pub(crate) stamp: Time,
    pub(crate) departure: Option<Time>,
    pub(crate) ack: Option<Acknowledgement>,
}

/// A full Not-ECT packet of flow 1.
pub(crate) fn pkt(id: u64) -> Pkt {
    let stamp = Time::ZERO;
    let (ecn, dscp) = (Ecn::NotEct, Dscp::BEST_EFFORT);
    Pkt { id, flow: 1, len: FULL, ecn, dscp, stamp, departure: None, ack: None }
}

impl Pkt {
    pub(crate) fn of(self, flow: u64) -> Self {
        Self { flow, ..self }
    }
    pub(crate) fn long(self, len: u32) -> Self {
        Self { len, ..self }
    }
    pub(crate) fn ecn(self, ecn: Ecn) -> Self {
        Self { ecn, ..self }
    }
    pub(crate) fn ack(self, ack: Acknowledgement) -> Self {
        Self { ack: Some(ack), len: 66, ..self }
    }
    pub(crate) fn dscp(self, dscp: u8) -> Self {
        Self { dscp: Dscp::new(dscp).unwrap(), ..self }
    }
}

impl Packet for Pkt {
    fn wire_len(&self) -> u32 {
        self.len
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }
    fn dscp(&self) -> Dscp {
        self.dscp
    }
    fn set_dscp(&mut self, dscp: Dscp) {
        self.dscp = dscp;
    }
    fn flow_key(&self) -> u64 {
        self.flow
    }
    /// A hundred flows come from one host, and all go to one.
    fn host_keys(&self) -> (u32, u32) {
        ((self.flow / 100) as u32, 0)
    }
    fn l4_len(&self) -> u32 {
        self.len.saturating_sub(34)
    }
    fn duplicate(&self) -> Option<Self> {
        Some(*self)
    }
    fn departure(&self) -> Option<Time> {
        self.departure
    }
    fn acknowledgement(&self) -> Option<Acknowledgement> {
        self.ack
    }
    fn stamp(&self) -> Time {
        self.stamp
    }
    fn set_stamp(&mut self, at: Time) {
        self.stamp = at;
    }
}

/// Everything that was decided, in order.
#[derive(Default, Debug)]
pub(crate) struct Log {
    pub(crate) dropped: Vec<(Time, Pkt, Reason)>,
    pub(crate) marked: Vec<(Time, Pkt, Reason)>,
    pub(crate) sce_marked: Vec<(Time, Pkt, Reason)>,
    pub(crate) copied: Vec<u64>,
}

impl Telemetry<Pkt> for Log {
    fn dropped(&mut self, now: Time, packet: Pkt, reason: Reason) {
        self.dropped.push((now, packet, reason));
    }
    fn marked(&mut self, now: Time, packet: &Pkt, reason: Reason) {
        assert_eq!(packet.ecn, Ecn::Ce, "a packet is CE when its mark is reported");
        self.marked.push((now, *packet, reason));
    }
    fn sce_marked(&mut self, now: Time, packet: &Pkt, reason: Reason) {
        assert_eq!(packet.ecn, Ecn::Ect1, "a packet is ECT(1) when its SCE mark is reported");
        self.sce_marked.push((now, *packet, reason));
    }
    fn duplicated(&mut self, _now: Time, packet: &Pkt) {
        self.copied.push(packet.id);
    }
}

impl Log {
    /// Ids of the dropped, and why.
    pub(crate) fn drops(&self) -> Vec<(u64, Reason)> {
        self.dropped.iter().map(|(_, packet, reason)| (packet.id, *reason)).collect()
    }
    /// Ids of the marked, and why.
    pub(crate) fn marks(&self) -> Vec<(u64, Reason)> {
        self.marked.iter().map(|(_, packet, reason)| (packet.id, *reason)).collect()
    }
}

/// The disciplines of this crate and those that the tests bring from outside.
pub(crate) fn registry() -> Registry<Pkt> {
    let mut registry = Registry::built_in();
    crate::outside::add(&mut registry);
    registry
}

/// What the words describe, with the disciplines of [`registry`].
pub(crate) fn build(
    words: &str,
    profile: &QdiscQuirks,
    random: &mut Random,
) -> Result<AnyQdisc<Pkt>, TcError> {
    registry().build(words, profile, random)
}

pub(crate) struct Bench {
    pub(crate) any: AnyQdisc<Pkt>,
    pub(crate) random: Random,
    pub(crate) log: Log,
}

impl Bench {
    pub(crate) fn new(words: &str) -> Self {
        // A tick of 1 ms, so that times worked out by hand are whole.
        Self::on(words, &QdiscQuirks { hz: 1000, ..QdiscQuirks::LINUX_7_3 })
    }

    pub(crate) fn on(words: &str, profile: &QdiscQuirks) -> Self {
        let mut random = Random::named(1, "bench");
        let any = build(words, profile, &mut random).unwrap_or_else(|e| panic!("{e}"));
        Self { any, random, log: Log::default() }
    }

    pub(crate) fn put(&mut self, now: Time, packet: Pkt) {
        let mut cx = Context { random: &mut self.random, telemetry: &mut self.log };
        self.any.enqueue(now, packet, &mut cx);
    }

    pub(crate) fn take(&mut self, now: Time) -> Dequeued<Pkt> {
        let mut cx = Context { random: &mut self.random, telemetry: &mut self.log };
        self.any.dequeue(now, &mut cx)
    }

    /// The packet that leaves now; there must be one.
    pub(crate) fn get(&mut self, now: Time) -> Pkt {
        match self.take(now) {
            Dequeued::Packet(packet) => packet,
            other => panic!("a packet was to leave at {now}, not {other:?}"),
        }
    }

    /// As [`Bench::get`], whatever packet it is.
    pub(crate) fn pass(&mut self, now: Time) {
        self.get(now);
    }

    pub(crate) fn timer(&mut self, now: Time) {
        let mut cx = Context { random: &mut self.random, telemetry: &mut self.log };
        self.any.on_timer(now, &mut cx);
    }

    pub(crate) fn change(&mut self, now: Time, words: &str) {
        let mut cx = Context { random: &mut self.random, telemetry: &mut self.log };
        let registry = registry();
        let changed = self.any.change(now, &mut registry.words(words), &mut cx);
        changed.unwrap_or_else(|e| panic!("{e}"));
    }

    pub(crate) fn flush(&mut self, now: Time) {
        let mut cx = Context { random: &mut self.random, telemetry: &mut self.log };
        self.any.flush(now, &mut cx);
    }

    pub(crate) fn backlog(&self) -> Backlog {
        self.any.backlog()
    }

    pub(crate) fn next_timer(&self) -> Option<Time> {
        self.any.next_timer()
    }

    pub(crate) fn stats(&self) -> Stats {
        self.any.stats()
    }

    /// One of the discipline's own statistics.
    pub(crate) fn stat(&self, name: &str) -> f64 {
        let stats = self.any.stats();
        let found = stats.own.iter().find(|(n, _)| *n == name);
        found.unwrap_or_else(|| panic!("no statistic {name}")).1
    }

    /// One of the controller's gauges.
    pub(crate) fn gauge(&self, now: Time, name: &str) -> f64 {
        let mut found = None;
        self.any.gauges(now, &mut |n, value| {
            if n == name {
                found = Some(value);
            }
        });
        found.unwrap_or_else(|| panic!("no gauge {name}"))
    }
}

/// `n` milliseconds after the beginning.
pub(crate) fn ms(n: u64) -> Time {
    Time::from_millis(n)
}

/// `n` nanoseconds after the beginning.
pub(crate) fn ns(n: u64) -> Time {
    Time::from_nanos(n)
}
