//! `fq`: a host's queue. A queue for each flow, served in turn, and no packet before its time.
//!
//! Source: Linux 7.3, `net/sched/sch_fq.c`; iproute2 6, `tc/q_fq.c`. The kernel's flow is a socket; here it is
//! [`Packet::flow_key`], exactly, without buckets; `orphan_mask` hashes flows to buckets, as the kernel does with packets of other hosts. Turns are as in `fq_codel`: new flows first, `quantum` bytes of
//! credit a turn, `initial_quantum` to begin with. There is no AQM, only `limit` and `flow_limit`.
//!
//! Two things pace: the earliest time that a packet itself brings along ([`Packet::departure`], the kernel's
//! `skb->tstamp`), and `maxrate` for every flow. A transport that paces itself hands packets over when they are due and
//! brings none. A flow is set aside until its head is due. A packet that brings no time is paced by quanta: the gap
//! comes after the credit is used up, and is that of at least a quantum.
//!
//! Invariants: a flow's packets leave in the order of their times, those of one time in order of arrival; none
//! before its time; no flow holds more than `flow_limit` packets.
//!
//! Where this differs from Linux: one band (packets here have no priority); no fast path around the flows for a
//! queue that is empty, so that credit is charged for those packets too; a socket's own pacing rate is the
//! sender's business; flows idle for 3 s are forgotten when they come back, the kernel's gather in passing; `orphan_mask` cannot be changed,
//! because flows would move between queues.

use crate::configured::{BuildContext, TcConfigurable};
use crate::settings::{Setting, Settings};
use crate::show;
use crate::table::{self, DefaultValue, Discipline, Kind, OptionSpec, ValueSpec};
use crate::tally::{QdiscCounters, mark};
use crate::words::{TcError, TcTokens};
use crate::{Backlog, Context, Dequeued, Packet, Qdisc, QdiscQuirks, Reason, Telemetry};
use crate::{options_of, report};
use core::hash::{BuildHasherDefault, Hasher};
use sojourn_units::{Rate, Span, Time, random::mix};
use std::collections::{BTreeSet, HashMap, VecDeque};

/// The table of `fq`.
pub const INFO: Discipline = Discipline {
    name: "fq",
    summary: "fair queueing by flow that sends no packet before its time",
    source: "Linux 7.3, net/sched/sch_fq.c; iproute2 6, tc/q_fq.c",
    options: options_of!(Config),
    counters: COUNTERS,
    gauges: GAUGES,
    examples: &[
        "fq limit 20 flow_limit 6 quantum 500 initial_quantum 900",
        "fq maxrate 3mbit low_rate_threshold 1mbit ce_threshold 1ms refill_delay 1ms",
        "fq maxrate 100kbit flow_limit 9 nopacing",
    ],
    changes: &["fq limit 3", "fq maxrate 9mbit", "fq quantum 9000 pacing"],
    ..Discipline::BASE
};

/// After this long without packets a flow is new again.
const FORGOTTEN: Span = Span::from_secs(3);
/// Longest gap between two packets.
const LONGEST_GAP: u64 = 1_000_000_000;

#[derive(Clone, Debug)]
struct Config {
    limit: u32,
    flow_limit: u32,
    quantum: i64,
    initial_quantum: i64,
    maxrate: Option<Rate>,
    low_rate: Rate,
    pacing: bool,
    refill_delay: Span,
    ce_threshold: Option<Span>,
    horizon: Span,
    horizon_drop: bool,
    orphan_mask: Option<u32>,
}

impl Settings for Config {
    const INFO: &'static Discipline = &INFO;
    const OPTIONS: &'static [Setting<Self>] = &[
        OptionSpec {
            preset: DefaultValue::Is("10000"),
            doc: "packets held at most",
            ..table::LIMIT
        }
        .sets(|config, given| config.limit = given.number()),
        OptionSpec {
            name: "flow_limit",
            values: table::PACKETS,
            preset: DefaultValue::Is("100"),
            doc: "packets of one flow held at most",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.flow_limit = given.number()),
        OptionSpec {
            name: "quantum",
            values: table::BYTES,
            preset: DefaultValue::Is("3028"),
            doc: "bytes a flow may send in a turn; the default is twice the device's 1514",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.quantum = given.number().into()),
        OptionSpec {
            name: "initial_quantum",
            values: table::BYTES,
            preset: DefaultValue::Is("15140"),
            doc: "bytes a flow may send in its first turn; the default is ten times 1514",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.initial_quantum = given.number().into()),
        OptionSpec {
            name: "maxrate",
            values: table::RATE,
            preset: DefaultValue::Unset("no limit"),
            doc: "rate that no flow exceeds",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.maxrate = Some(given.rate())),
        OptionSpec {
            name: "low_rate_threshold",
            values: table::RATE,
            preset: DefaultValue::Is("550kbit"),
            doc: "up to this rate each packet is paced by itself, not by quanta",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.low_rate = given.rate()),
        OptionSpec {
            name: "pacing",
            off: Some("nopacing"),
            preset: DefaultValue::Is("pacing"),
            doc: "space packets by maxrate; times that packets bring along hold in either case",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.pacing = given.on),
        OptionSpec {
            name: "refill_delay",
            values: table::TIME,
            preset: DefaultValue::Is("40ms"),
            doc: "idle time after which a flow has at least a quantum of credit again",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.refill_delay = given.span()),
        OptionSpec {
            name: "ce_threshold",
            values: table::TIME,
            preset: DefaultValue::Unset("no threshold"),
            doc: "wait beyond its time above which every ECN-capable packet is marked",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.ce_threshold = Some(given.span())),
        OptionSpec {
            name: "horizon",
            values: table::TIME_ABOVE_ZERO,
            preset: DefaultValue::Is("10s"),
            doc: "how far in the future a packet's time may be",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.horizon = given.span()),
        OptionSpec {
            name: "horizon_drop",
            off: Some("horizon_cap"),
            preset: DefaultValue::Is("horizon_drop"),
            doc: "drop packets beyond the horizon; else they leave at it",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.horizon_drop = given.on),
        OptionSpec {
            name: "orphan_mask",
            values: &[ValueSpec {
                name: "MASK",
                kind: Kind::Count { unit: "hash buckets, less one,", min: 0, max: u32::MAX as u64 },
                optional: false,
            }],
            preset: DefaultValue::Unset("each flow has a socket"),
            doc: "treat packets as a router's, which have no socket: flows with the same masked hash share a queue (Linux: 1023)",
            tried: &["orphan_mask 0", "orphan_mask 1023"],
            fixed: true,
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.orphan_mask = Some(given.number())),
    ];
    const CHANGE_STARTS_AFRESH: bool = false;

    fn blank(_profile: &QdiscQuirks) -> Self {
        Self {
            limit: 0,
            flow_limit: 0,
            quantum: 0,
            initial_quantum: 0,
            maxrate: None,
            low_rate: Rate::ZERO,
            pacing: false,
            refill_delay: Span::ZERO,
            ce_threshold: None,
            horizon: Span::ZERO,
            horizon_drop: false,
            orphan_mask: None,
        }
    }
}

/// Spreads flow keys over the map: cheap, and the same in every run.
#[derive(Clone, Copy, Default, Debug)]
struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = mix(self.0 ^ u64::from(byte));
        }
    }

    #[inline]
    fn write_u64(&mut self, key: u64) {
        self.0 = mix(key);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Where a flow is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// On no list, since.
    Detached(Time),
    Listed,
    /// Not before.
    Throttled(Time),
}

#[derive(Clone, Debug)]
struct Flow<P> {
    /// By time, which is in their stamps.
    packets: VecDeque<P>,
    credit: i64,
    place: Place,
    /// When `maxrate` lets the next one go.
    next: Option<Time>,
}

#[derive(Clone, Copy, Default, Debug)]
struct Counts {
    throttlings: u64,
    flow_limit: u64,
    too_long: u64,
    ce_mark: u64,
    horizon_drops: u64,
    horizon_caps: u64,
}

/// A queue for each flow, and pacing.
#[derive(Clone, Debug)]
pub struct Fq<P> {
    config: Config,
    profile: QdiscQuirks,
    /// From flow to its place in `flows`.
    slots: HashMap<u64, usize, BuildHasherDefault<Spread>>,
    flows: Vec<Flow<P>>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    throttled: BTreeSet<(Time, usize)>,
    held: Backlog,
    counts: Counts,
    tally: QdiscCounters,
}

impl<P: Packet> Fq<P> {
    fn slot(&mut self, now: Time, key: u64) -> usize {
        let fresh = self.config.initial_quantum;
        let slot = *self.slots.entry(key).or_insert_with(|| {
            let packets = VecDeque::new();
            self.flows.push(Flow {
                packets,
                credit: fresh,
                place: Place::Detached(now),
                next: None,
            });
            self.flows.len() - 1
        });
        let flow = &mut self.flows[slot];
        if let Place::Detached(since) = flow.place
            && now.since(since) > FORGOTTEN
        {
            (flow.credit, flow.next) = (fresh, None);
        }
        slot
    }

    /// Flows with a head that is now due take their turns again.
    fn release(&mut self, now: Time) {
        while let Some(&(at, slot)) = self.throttled.first()
            && at <= now
        {
            self.throttled.pop_first();
            self.flows[slot].place = Place::Listed;
            self.old.push_back(slot);
        }
    }

    /// The next packet in turn, if any is due.
    fn next<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) -> Option<P> {
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let slot = *list.front()?;
            let flow = &mut self.flows[slot];
            if flow.credit <= 0 {
                flow.credit += self.config.quantum;
                list.pop_front();
                self.old.push_back(slot);
                continue;
            }
            let Some(head) = flow.packets.front() else {
                list.pop_front();
                // A pass among the old ones keeps it from starving them.
                if from_new {
                    self.old.push_back(slot);
                } else {
                    flow.place = Place::Detached(now);
                }
                continue;
            };
            let due = head.stamp().max(flow.next.unwrap_or(Time::ZERO));
            if now < due {
                list.pop_front();
                flow.next = Some(due);
                flow.place = Place::Throttled(due);
                self.throttled.insert((due, slot));
                self.counts.throttlings += 1;
                continue;
            }
            let mut packet = flow.packets.pop_front()?;
            if self.config.ce_threshold.is_some_and(|least| now.since(due) > least)
                && mark(now, &mut packet, Reason::CeThreshold, cx)
            {
                self.counts.ce_mark += 1;
            }
            self.held.packets -= 1;
            self.held.bytes -= u64::from(packet.wire_len());
            self.charge(now, slot, &packet);
            return Some(packet);
        }
    }

    /// Takes the packet off the flow's credit, and makes a gap if `maxrate` asks for one.
    fn charge(&mut self, now: Time, slot: usize, packet: &P) {
        let flow = &mut self.flows[slot];
        let mut len = i64::from(packet.wire_len());
        flow.credit -= len;
        let Some(rate) = self.config.maxrate.filter(|_| self.config.pacing) else { return };
        if packet.departure().is_none() {
            if rate <= self.config.low_rate {
                flow.credit = 0;
            } else {
                len = len.max(self.config.quantum);
                if flow.credit > 0 {
                    return;
                }
            }
        }
        let mut gap = len.cast_unsigned() * 1_000_000_000 / rate.bytes_per_sec().max(1);
        if gap > LONGEST_GAP {
            gap = LONGEST_GAP;
            self.counts.too_long += 1;
        }
        // Being late is made up for, by half of the gap at most.
        if let Some(next) = flow.next {
            gap -= (gap / 2).min(now.since(next).as_nanos());
        }
        flow.next = Some(now + Span::from_nanos(gap));
    }

    /// Drops a flow's head, without its turn.
    fn drop_head<T: Telemetry<P>>(
        &mut self,
        now: Time,
        slot: usize,
        reason: Reason,
        cx: &mut Context<'_, T>,
    ) {
        if let Some(packet) = self.flows[slot].packets.pop_front() {
            self.held.packets -= 1;
            self.held.bytes -= u64::from(packet.wire_len());
            self.tally.drop(now, packet, reason, cx);
        }
    }

    fn active(&self) -> usize {
        self.flows.iter().filter(|flow| !flow.packets.is_empty()).count()
    }
}

report! {
    impl[P: Packet] Fq<P>, fq at now;
    counters {
        flows: Count, line 0, Always, "flows known" => fq.flows.len();
        inactive: Count, line 0, Always, "of them, those without packets"
            => (fq.flows.len() - fq.active()) as f64;
        throttled: Count, line 0, Always, "of them, those whose head is not due"
            => fq.throttled.len();
        throttlings: Count, line 1, Always, "times a flow was set aside" => fq.counts.throttlings;
        flows_plimit: Count, line 1, NonZero, "packets dropped at flow_limit"
            => fq.counts.flow_limit;
        too_long_pkt: Count, line 1, NonZero, "gaps cut to a second" => fq.counts.too_long;
        ce_mark: Count, line 1, NonZero, "packets marked by ce_threshold" => fq.counts.ce_mark;
        horizon_drops: Count, line 1, NonZero, "packets dropped beyond the horizon"
            => fq.counts.horizon_drops;
        horizon_caps: Count, line 1, NonZero, "packets brought back to it"
            => fq.counts.horizon_caps;
    }
    gauges {
        flows: Count, "flows with packets" => fq.active();
        throttled: Count, "flows with a head that is not due" => fq.throttled.len();
    }
}

impl<P: Packet> Qdisc<P> for Fq<P> {
    fn enqueue<T: Telemetry<P>>(&mut self, now: Time, mut packet: P, cx: &mut Context<'_, T>) {
        if self.held.packets >= self.config.limit {
            self.tally.drop(now, packet, Reason::Tail, cx);
            return;
        }
        let mut due = packet.departure().unwrap_or(now);
        let horizon = now + self.config.horizon;
        if due > horizon {
            if self.config.horizon_drop {
                self.counts.horizon_drops += 1;
                self.tally.drop(now, packet, Reason::Horizon, cx);
                return;
            }
            self.counts.horizon_caps += 1;
            due = horizon;
        }
        packet.set_stamp(due);
        let key = match self.config.orphan_mask {
            Some(mask) => mix(packet.flow_key()) & u64::from(mask),
            None => packet.flow_key(),
        };
        let slot = self.slot(now, key);
        let flow = &mut self.flows[slot];
        if flow.packets.len() >= self.config.flow_limit as usize {
            self.counts.flow_limit += 1;
            self.tally.drop(now, packet, Reason::FlowLimit, cx);
            return;
        }
        if let Place::Detached(since) = flow.place {
            flow.place = Place::Listed;
            self.new.push_back(slot);
            if now.since(since) > self.config.refill_delay {
                flow.credit = flow.credit.max(self.config.quantum);
            }
        }
        self.held.packets += 1;
        self.held.bytes += u64::from(packet.wire_len());
        let at = flow.packets.partition_point(|held| held.stamp() <= due);
        flow.packets.insert(at, packet);
    }

    fn dequeue<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) -> Dequeued<P> {
        self.release(now);
        match (self.next(now, cx), self.throttled.first()) {
            (Some(packet), _) => {
                self.tally.sent(packet.wire_len());
                Dequeued::Packet(packet)
            }
            (None, Some(&(at, _))) if self.held.packets > 0 => Dequeued::Wait(at),
            (None, _) => Dequeued::Empty,
        }
    }

    crate::reports!(held);
}

impl<P: Packet> TcConfigurable<P> for Fq<P> {
    const INFO: &'static Discipline = &INFO;

    fn build(words: &mut TcTokens<'_>, cx: &mut BuildContext<'_, P>) -> Result<Self, TcError> {
        let profile = cx.quirks;
        Ok(Self {
            config: Config::read(words, profile)?,
            profile: *profile,
            slots: HashMap::default(),
            flows: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            throttled: BTreeSet::new(),
            held: Backlog::default(),
            counts: Counts::default(),
            tally: QdiscCounters::default(),
        })
    }

    fn change<T: Telemetry<P>>(
        &mut self,
        now: Time,
        words: &mut TcTokens<'_>,
        cx: &mut Context<'_, T>,
    ) -> Result<(), TcError> {
        self.config = self.config.changed(words, &self.profile)?.0;
        // The kernel takes what its turn gives, and stops when nothing is due. Here the oldest flows lose heads.
        for slot in 0..self.flows.len() {
            while self.held.packets > self.config.limit && !self.flows[slot].packets.is_empty() {
                self.drop_head(now, slot, Reason::Overlimit, cx);
            }
        }
        Ok(())
    }

    fn flush<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        for slot in 0..self.flows.len() {
            while !self.flows[slot].packets.is_empty() {
                self.drop_head(now, slot, Reason::Flushed, cx);
            }
        }
        self.slots.clear();
        self.flows.clear();
        self.new.clear();
        self.old.clear();
        self.throttled.clear();
    }

    fn quirks(&self) -> &QdiscQuirks {
        &self.profile
    }

    fn describe(&self) -> String {
        let c = &self.config;
        let mut text = format!(
            "limit {}p flow_limit {}p quantum {}b initial_quantum {}b",
            c.limit, c.flow_limit, c.quantum, c.initial_quantum
        );
        let mut add = |more: String| text.push_str(&more);
        if let Some(mask) = c.orphan_mask {
            add(format!(" orphan_mask {mask}"));
        }
        if !c.pacing {
            add(" nopacing".to_owned());
        }
        if let Some(rate) = c.maxrate {
            add(format!(" maxrate {rate}"));
        }
        add(format!(
            " low_rate_threshold {} refill_delay {}",
            c.low_rate,
            show::time(c.refill_delay)
        ));
        if let Some(least) = c.ce_threshold {
            add(format!(" ce_threshold {}", show::time(least)));
        }
        let beyond = if c.horizon_drop { "horizon_drop" } else { "horizon_cap" };
        add(format!(" horizon {} {beyond}", show::time(c.horizon)));
        text
    }
}
