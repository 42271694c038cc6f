//! `lfq_cobalt`: lightweight fair queueing, fair by skipping over packets in one list, with COBALT and a shaper.
//!
//! Source: docs/sources/sce.md#lightweight-fair-queueing; chromi/sce `net/sched/sch_lfq_cobalt.c` @016a60ca; draft-morton-tsvwg-lightweight-fair-queueing.
//!
//! A flow with nothing queued, no debt and no skip mark puts its packet into the sparse queue, which is served
//! first. All other packets go to the bulk queue. A scan reads it from head to tail. A flow with a deficit below zero
//! gets a packet's worth back and a skip mark: the scan passes over its packets. At the end of the list all marks are
//! cleared and the scan begins at the head again, so a flow sends about a full packet in each pass.
//!
//! Invariants: a flow's packets keep their order; a flow's last packet is never dropped by the law.
//!
//! What the kernel does and docs/sources/sce.md does not say: a flow's backlog is counted in packets; deficits are charged before
//! the law judges, for dropped packets too; packets of DSCP 4 are judged by a fifth of the *defaults*, so neither
//! `rtt` nor `sce-thresh` reaches them, and they are never marked SCE. Where it is not followed: on running into
//! `memlimit` it loses the arriving packet without counting it and queues the dropped one; here packets are
//! dropped from the bulk queue's head, then from the sparse queue's, until the new one fits, and a packet that
//! alone does not fit is refused.

use crate::cobalt_config::{Aqm, Buckets, HasAqm, SCE_THRESH_OFF, sce, sce_thresh};
use crate::cobalt_law::{Crossing, Twofold, TwofoldParams, Verdict, Weighted};
use crate::configured::{BuildContext, TcConfigurable};
use crate::scan_list::ScanList;
use crate::settings::{Setting, Settings};
use crate::shaper::{self, Clock, Framed, Framing};
use crate::show;
use crate::table::{self, Class, DefaultValue, Discipline, OptionSpec};
use crate::tally::QdiscCounters;
use crate::words::{TcError, TcTokens};
use crate::{Backlog, Context, Dequeued, Packet, Qdisc, QdiscQuirks, Reason, Telemetry};
use crate::{options_of, report};
use sojourn_units::{Rate, Time};
use std::collections::VecDeque;

static SPARSE_AND_BULK: [Class; 2] = [
    Class { name: "sparse", doc: "packets of flows that had none held" },
    Class { name: "bulk", doc: "all other packets" },
];
const SPARSE: &Class = &SPARSE_AND_BULK[0];
const BULK: &Class = &SPARSE_AND_BULK[1];

/// The table of `lfq_cobalt`.
pub const INFO: Discipline = Discipline {
    name: "lfq_cobalt",
    summary: "lightweight fair queueing in two queues with COBALT for each flow, and a shaper",
    source: "draft-morton-tsvwg-lightweight-fair-queueing; Linux 5.4 of chromi/sce, net/sched/sch_lfq_cobalt.c; iproute2-sce, tc/q_lfq_cobalt.c",
    options: options_of!(Config),
    counters: COUNTERS,
    gauges: GAUGES,
    classes: &SPARSE_AND_BULK,
    examples: &[
        "lfq_cobalt",
        "lfq_cobalt bandwidth 5mbit rtt 1ms sce-thresh 8",
        "lfq_cobalt bandwidth 2mbit rtt 100us memlimit 9000",
        "lfq_cobalt rtt 20us memlimit 20000 sce",
    ],
    changes: &["lfq_cobalt bandwidth 1mbit", "lfq_cobalt memlimit 4000", "lfq_cobalt rtt 2us"],
    ..Discipline::BASE
};

/// The DSCP that is judged by a fifth.
const TIGHT_DSCP: u8 = 4;
/// Credit for a flow with a deficit below zero (`psched_mtu`).
const MTU: i32 = 1514;
/// The defaults divided by 5, in nanoseconds (docs/sources/sce.md).
const TIGHT: TwofoldParams = TwofoldParams {
    ce_interval: 20_000_000,
    ce_target: 1_000_000,
    sce_interval: 0,
    sce_target: 500_000,
    blue_threshold: 80_000_000,
    crossing: Crossing::Mirrors,
};

#[derive(Clone, Debug)]
struct Config {
    rate: Rate,
    framing: Framing,
    aqm: Aqm,
    memory_limit: Option<u32>,
}

impl Config {
    fn params(&self, profile: &QdiscQuirks) -> TwofoldParams {
        self.aqm.params(1, Aqm::mirrors(profile))
    }
}

impl HasAqm for Config {
    fn aqm(&mut self) -> &mut Aqm {
        &mut self.aqm
    }
}

impl Framed for Config {
    fn framing(&mut self) -> &mut Framing {
        &mut self.framing
    }
}

impl Settings for Config {
    const INFO: &'static Discipline = &INFO;
    const OPTIONS: &'static [Setting<Self>] = &[
        shaper::BANDWIDTH
            .sets(|config, given| config.rate = if given.on { given.rate() } else { Rate::ZERO }),
        shaper::rtt(),
        shaper::path(),
        shaper::overhead(),
        shaper::cells(),
        shaper::mpu(),
        OptionSpec {
            name: "memlimit",
            values: table::BYTES,
            preset: DefaultValue::Unset("no limit"),
            doc: "memory of the packets held at most, as the kernel accounts it (skb->truesize)",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.memory_limit = Some(given.number())),
        sce_thresh(SCE_THRESH_OFF),
        sce(),
    ];
    const CHANGE_STARTS_AFRESH: bool = false;

    fn blank(_profile: &QdiscQuirks) -> Self {
        Self {
            rate: Rate::ZERO,
            framing: Framing::default(),
            aqm: Aqm::default(),
            memory_limit: None,
        }
    }
}

#[derive(Clone, Copy, Default, Debug)]
struct Flow {
    law: Twofold,
    /// Packets held.
    held: u32,
    deficit: i32,
    skip: bool,
    /// Whether the next sweep has to look at it.
    dirty: bool,
}

#[derive(Clone, Copy, Default, Debug)]
struct Counts {
    sparse_sent: u64,
    bulk_sent: u64,
    sweeps: u64,
    ecn_mark: u64,
    sce_mark: u64,
    law_drop: u64,
    blue_drop: u64,
    memory_drop: u64,
}

/// Lightweight fair queueing with COBALT and a shaper.
#[derive(Clone, Debug)]
pub struct LfqCobalt<P> {
    config: Config,
    profile: QdiscQuirks,
    params: TwofoldParams,
    clock: Clock,
    sparse: VecDeque<(u32, P)>,
    bulk: ScanList<(u32, P)>,
    flows: Buckets<Flow>,
    dirty: Vec<u32>,
    held: Backlog,
    memory: u64,
    counts: Counts,
    tally: QdiscCounters,
}

impl<P: Packet> LfqCobalt<P> {
    #[inline]
    fn touch(&mut self, slot: u32) {
        let flow = self.flows.at_mut(slot);
        if !flow.dirty {
            flow.dirty = true;
            self.dirty.push(slot);
        }
    }

    #[inline]
    fn forget(&mut self, slot: u32, packet: &P) {
        self.held.packets -= 1;
        self.held.bytes -= u64::from(packet.wire_len());
        self.memory -= u64::from(packet.truesize());
        self.flows.at_mut(slot).held -= 1;
        self.touch(slot);
    }

    /// Accounts a packet that goes to the law, or out.
    #[inline]
    fn send(&mut self, slot: u32, packet: &P) {
        self.forget(slot, packet);
        let flow = self.flows.at_mut(slot);
        // A flow of segments of 60 kB goes down by more than a pass gives back.
        flow.deficit = flow.deficit.saturating_sub(packet.wire_len() as i32);
        if flow.deficit < 0 {
            flow.skip = true;
            flow.deficit += MTU;
        }
    }

    /// The scan has come to the end: marks are cleared, and credit of flows that have nothing.
    fn sweep(&mut self) {
        self.counts.sweeps += 1;
        for slot in self.dirty.drain(..) {
            let flow = self.flows.at_mut(slot);
            if !flow.skip && flow.held == 0 {
                flow.deficit = 0;
            }
            (flow.skip, flow.dirty) = (false, false);
        }
        self.bulk.rewind();
    }

    /// The next packet of the bulk queue that belongs to a flow without a skip mark.
    #[inline]
    fn pull(&mut self) -> Option<(u32, P)> {
        while !self.bulk.is_empty() {
            match self.bulk.scanned() {
                None => self.sweep(),
                Some((slot, _)) if self.flows.at(*slot).skip => self.bulk.advance(),
                Some(_) => return self.bulk.pull(),
            }
        }
        None
    }

    /// The packet that leaves.
    fn next<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) -> Option<P> {
        if let Some((slot, packet)) = self.sparse.pop_front() {
            self.send(slot, &packet);
            self.counts.sparse_sent += 1;
            cx.telemetry.leaves(SPARSE);
            return Some(packet);
        }
        loop {
            let (slot, mut packet) = self.pull()?;
            self.send(slot, &packet);
            let flow = self.flows.at_mut(slot);
            let mut reason = None;
            if self.held.packets == 0 {
                flow.law.queue_empty(now, &self.params);
            } else {
                let tight = packet.dscp().value() == TIGHT_DSCP;
                let params = if tight { &TIGHT } else { &self.params };
                let delay = Weighted::plain(now.since(packet.stamp()).as_nanos());
                let Verdict { drop, ce, sce } = flow.law.judge(now, params, delay, &mut packet, cx);
                self.counts.ecn_mark += u64::from(ce);
                self.counts.sce_mark += u64::from(sce);
                reason = drop.filter(|_| flow.held > 0);
            }
            let Some(reason) = reason else {
                self.counts.bulk_sent += 1;
                cx.telemetry.leaves(BULK);
                return Some(packet);
            };
            match reason {
                Reason::Blue => self.counts.blue_drop += 1,
                _ => self.counts.law_drop += 1,
            }
            self.tally.drop(now, packet, reason, cx);
        }
    }

    /// Drops until `more` fits under the memory limit, and says whether it does.
    #[cold]
    fn make_room<T: Telemetry<P>>(
        &mut self,
        now: Time,
        more: u64,
        limit: u64,
        cx: &mut Context<'_, T>,
    ) -> bool {
        while self.memory + more > limit {
            let Some((slot, packet)) = self.bulk.pop_head().or_else(|| self.sparse.pop_front())
            else {
                return false;
            };
            self.forget(slot, &packet);
            self.counts.memory_drop += 1;
            self.tally.drop(now, packet, Reason::Memory, cx);
        }
        true
    }

    fn limit(&self) -> u64 {
        self.config.memory_limit.map_or(u64::MAX, u64::from)
    }
}

report! {
    impl[P: Packet] LfqCobalt<P>, lfq at now;
    counters {
        sparse_sent: Count, line 0, NonZero, "packets sent from the sparse queue"
            => lfq.counts.sparse_sent;
        bulk_sent: Count, line 0, NonZero, "packets sent from the bulk queue"
            => lfq.counts.bulk_sent;
        sweeps: Count, line 0, NonZero, "times the scan began again" => lfq.counts.sweeps;
        ecn_mark: Count, line 1, NonZero, "signals by CE, on packets that were CE too"
            => lfq.counts.ecn_mark;
        sce_mark: Count, line 1, NonZero, "packets marked SCE" => lfq.counts.sce_mark;
        law_drop: Count, line 1, NonZero, "packets dropped by the control law"
            => lfq.counts.law_drop;
        blue_drop: Count, line 1, NonZero, "packets dropped by BLUE" => lfq.counts.blue_drop;
        memory_drop: Count, line 1, NonZero, "packets dropped for memlimit"
            => lfq.counts.memory_drop;
        memory_used: Bytes, line 1, NonZero, "memory of the packets held" => lfq.memory;
    }
    gauges where {
        let waited = |first: Option<&(u32, P)>| {
            first.map_or(0.0, |(_, packet)| now.since(packet.stamp()).as_secs_f64())
        };
        let (mut skipped, mut count, mut sce_count, mut p_drop) = (0, 0, 0, 0.0_f64);
        for (slot, _) in lfq.bulk.iter() {
            let flow = lfq.flows.at(*slot);
            skipped += u32::from(flow.skip);
            count = count.max(flow.law.ce.count);
            sce_count = sce_count.max(flow.law.sce.count);
            p_drop = p_drop.max(flow.law.blue.probability());
        }
    } {
        sparse_delay: Seconds, "time that the first packet of the sparse queue has waited"
            => waited(lfq.sparse.front());
        bulk_delay: Seconds, "time that the first packet of the bulk queue has waited"
            => waited(lfq.bulk.iter().next());
        sparse_backlog: Count, "packets in the sparse queue" => lfq.sparse.len();
        bulk_backlog: Count, "packets in the bulk queue"
            => f64::from(lfq.held.packets) - lfq.sparse.len() as f64;
        skipped: Count, "packets that the scan passes over" => skipped;
        count: Count, "greatest CE count of the flows in the bulk queue" => count;
        sce_count: Count, "greatest SCE count of the flows in the bulk queue" => sce_count;
        p_drop: Probability, "greatest BLUE probability of the flows in the bulk queue" => p_drop;
    }
}

impl<P: Packet> Qdisc<P> for LfqCobalt<P> {
    #[inline]
    fn enqueue<T: Telemetry<P>>(&mut self, now: Time, mut packet: P, cx: &mut Context<'_, T>) {
        packet.set_stamp(now);
        let (more, limit) = (u64::from(packet.truesize()), self.limit());
        if self.memory + more > limit && !self.make_room(now, more, limit, cx) {
            self.counts.memory_drop += 1;
            self.tally.drop(now, packet, Reason::Memory, cx);
            return;
        }
        if self.held.packets == 0 {
            self.clock.wake(now);
        }
        self.held.packets += 1;
        self.held.bytes += u64::from(packet.wire_len());
        self.memory += more;
        let slot = self.flows.slot(packet.flow_key());
        let flow = self.flows.at_mut(slot);
        let sparse = flow.held == 0 && flow.deficit >= 0 && !flow.skip;
        flow.held += 1;
        self.touch(slot);
        if sparse {
            self.sparse.push_back((slot, packet));
        } else {
            self.bulk.push((slot, packet));
        }
    }

    #[inline]
    fn dequeue<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) -> Dequeued<P> {
        if self.held.packets == 0 {
            return Dequeued::Empty;
        }
        if let Some(at) = self.clock.wait(now) {
            self.tally.over_limit();
            return Dequeued::Wait(at);
        }
        let Some(packet) = self.next(now, cx) else { return Dequeued::Empty };
        let len = packet.wire_len();
        self.tally.sent(len);
        self.clock.charge(self.config.framing.charged(len));
        if let Some(flow) = self.flows.sweep()
            && flow.held == 0
        {
            flow.law.queue_empty(now, &self.params);
        }
        Dequeued::Packet(packet)
    }

    crate::reports!(held);
}

impl<P: Packet> TcConfigurable<P> for LfqCobalt<P> {
    const INFO: &'static Discipline = &INFO;

    fn build(words: &mut TcTokens<'_>, cx: &mut BuildContext<'_, P>) -> Result<Self, TcError> {
        let (profile, random) = (cx.quirks, &mut *cx.random);
        let mut config = Config::read(words, profile)?;
        config.aqm.settle();
        Ok(Self {
            params: config.params(profile),
            clock: Clock::new(config.rate),
            config,
            profile: *profile,
            sparse: VecDeque::new(),
            bulk: ScanList::new(),
            flows: Buckets::new(random.next_u64()),
            dirty: Vec::new(),
            held: Backlog::default(),
            memory: 0,
            counts: Counts::default(),
            tally: QdiscCounters::default(),
        })
    }

    fn change<T: Telemetry<P>>(
        &mut self,
        _now: Time,
        words: &mut TcTokens<'_>,
        _cx: &mut Context<'_, T>,
    ) -> Result<(), TcError> {
        self.config = self.config.changed(words, &self.profile)?.0;
        self.config.aqm.settle();
        self.params = self.config.params(&self.profile);
        self.clock.set_rate(self.config.rate);
        // A lowered memlimit is felt by the next packet that comes.
        Ok(())
    }

    fn flush<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        while let Some((_, packet)) = self.sparse.pop_front().or_else(|| self.bulk.pop_head()) {
            self.tally.drop(now, packet, Reason::Flushed, cx);
        }
        self.flows.used().fill(Flow::default());
        self.dirty.clear();
        (self.held, self.memory) = (Backlog::default(), 0);
    }

    fn quirks(&self) -> &QdiscQuirks {
        &self.profile
    }

    fn describe(&self) -> String {
        let Config { rate, framing, aqm, memory_limit } = &self.config;
        let rate = shaper::describe_rate(*rate);
        let memory =
            memory_limit.map_or(String::new(), |l| format!(" memlimit {}", show::size(l.into())));
        let (rtt, sce) = (aqm.describe_rtt(), aqm.describe_sce());
        format!("{rate} {rtt} {}{memory} {sce}", framing.describe())
    }
}
