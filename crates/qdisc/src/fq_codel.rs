//! `fq_codel`: a queue for each flow, served in turn with precedence for new ones, CoDel on each.
//!
//! Source: RFC 8290 and Linux 5.4 to 7.3, `net/sched/sch_fq_codel.c`. Packets are spread over `flows` queues
//! by a hash of their 5-tuple; two lists hold the queues that have packets, new ones first; a deficit of
//! `quantum` bytes makes turns fair in bytes (RFC 8290 §4.1, §4.2). Over `limit` packets or `memory_limit`
//! bytes, the queue with the most bytes loses packets from its head (§4.1.2).
//!
//! Invariants: packets of one flow keep their order; a queue is on at most one list, and on one whenever it
//! holds packets.
//!
//! Where Linux differs from the RFC, Linux is followed: CoDel compares the backlog of the *whole* discipline
//! with the MTU, not the flow's; up to `drop_batch` packets are dropped at once, and the flow's CoDel counts
//! them as signals. One thing differs from Linux: packets that a lowered limit costs at run time go through
//! CoDel there and are counted as sent; here they are counted as dropped.
//!
//! The trick: queues are rings that allocate when first used and keep what they have; lists are chained
//! through the queues by index; nothing scans all queues except when over the limit.

use crate::codel_law::{self, Counts, Dequeue, Params, State};
use crate::configured::{BuildContext, TcConfigurable};
use crate::flow_list::{self, FlowList, Listed, UNLISTED};
use crate::packet::fetch;
use crate::settings::{Setting, Settings};
use crate::show;
use crate::table::{self, DefaultValue, Discipline, Kind, OptionSpec, ValueSpec};
use crate::tally::QdiscCounters;
use crate::words::{TcError, TcTokens};
use crate::xstats::{Counted, Form, Xstats};
use crate::{Backlog, Context, Dequeued, Packet, Qdisc, QdiscQuirks, Reason, Telemetry};
use crate::{options_of, report};
use sojourn_units::{Span, Time};
use std::collections::VecDeque;

/// The table of `fq_codel`.
pub const INFO: Discipline = Discipline {
    name: "fq_codel",
    summary: "fair queueing by flow with CoDel on each queue",
    source: "RFC 8290; Linux 5.4 to 7.3, net/sched/sch_fq_codel.c",
    options: options_of!(Config),
    counters: COUNTERS,
    gauges: GAUGES,
    xstats: &Xstats {
        fields: &[
            Form::Number.of(""),
            Form::Number.of("maxpacket"),
            Form::Number.of("drop_overlimit"),
            Form::Number.of("ecn_mark"),
            Form::Number.of("new_flow_count"),
            Form::Number.of("new_flows_len"),
            Form::Number.of("old_flows_len"),
            Form::Number.of("ce_mark"),
            Form::Number.of("memory_used"),
            Form::Number.of("drop_overmemory"),
        ],
        signals: &[
            Counted::Drops(Reason::Overlimit, "drop_overlimit"),
            Counted::OtherDrops(Reason::ControlLaw),
            Counted::Marks(Reason::ControlLaw, "ecn_mark"),
            Counted::Marks(Reason::CeThreshold, "ce_mark"),
        ],
    },
    examples: &[
        "fq_codel",
        "fq_codel flows 1 limit 12 target 1ms interval 4ms",
        "fq_codel flows 4 quantum 300 memory_limit 20000 drop_batch 3 target 100 interval 2ms",
        "fq_codel noecn ce_threshold 2ms limit 5",
    ],
    changes: &[
        "fq_codel limit 4",
        "fq_codel memory_limit 9000",
        "fq_codel quantum 5000 target 1us",
    ],
    ..Discipline::BASE
};

#[derive(Clone, Debug)]
struct Config {
    limit: u32,
    flows: u32,
    quantum: i32,
    memory_limit: u64,
    drop_batch: u32,
    drop_batch_bug: bool,
    has_drop_batch: bool,
    codel: Params,
}

impl Settings for Config {
    const INFO: &'static Discipline = &INFO;
    const OPTIONS: &'static [Setting<Self>] = &[
        OptionSpec {
            preset: DefaultValue::Is("10240"),
            doc: "packets held at most; beyond, the longest queue loses packets from its head",
            ..table::LIMIT
        }.sets(|config, given| config.limit = given.number()),
        table::FLOWS.sets(|config, given| config.flows = given.number()),
        OptionSpec {
            name: "quantum",
            values: &[ValueSpec {
                name: "BYTES",
                kind: Kind::Size { min: 1, max: 1 << 20 },
                optional: false,
            }],
            preset: DefaultValue::Is("1514"),
            doc: "bytes a queue may send in a turn; less than 256 counts as 256",
            tried: &["quantum 256", "quantum 1000", "quantum 9000"],
            ..OptionSpec::BASE
        }.sets(|config, given| config.quantum = given.number().max(256) as i32),
        table::TARGET.sets(|config, given| config.codel.set_target(given.span())),
        table::INTERVAL.sets(|config, given| config.codel.set_interval(given.span())),
        table::CE_THRESHOLD.sets(|config, given| config.codel.set_ce_threshold(given.span())),
        OptionSpec {
            name: "ce_threshold_selector",
            values: &[ValueSpec { name: "VALUE/MASK", kind: Kind::Masked, optional: false }],
            preset: DefaultValue::Unset("every packet"),
            doc: "ce_threshold concerns only packets with this value in the masked bits of their traffic-class byte",
            known: Some(|profile| profile.fq_codel_ce_threshold_selector),
            ..OptionSpec::BASE
        }.sets(|config, given| config.codel.selector = Some(given.masked())),
        OptionSpec { preset: DefaultValue::Is("ecn"), ..table::ECN }.sets(|config, given| config.codel.ecn = given.on),
        OptionSpec {
            name: "memory_limit",
            values: table::BYTES,
            preset: DefaultValue::Is("32mb"),
            doc: "memory of the packets held at most, as the kernel accounts it (skb->truesize)",
            tried: &["memory_limit 10000", "memory_limit 300000", "memory_limit 40000000"],
            ..OptionSpec::BASE
        }.sets(|config, given| config.memory_limit = u64::from(given.number()).min(1 << 31)),
        OptionSpec {
            name: "drop_batch",
            values: table::PACKETS,
            preset: DefaultValue::Is("64"),
            doc: "packets dropped at once when over the limit; in linux-5.4 any value set acts as 1",
            tried: &["drop_batch 1", "drop_batch 9", "drop_batch 100"],
            ..OptionSpec::BASE
        }.sets(|config, given| {
                // The default is never passed through that bug: only what is set by tc is.
                let buggy = config.drop_batch_bug && config.has_drop_batch;
                config.drop_batch = if buggy { given.number().min(1) } else { given.number() };
                config.has_drop_batch = true;
            }),
    ];
    const CHANGE_STARTS_AFRESH: bool = false;

    fn blank(profile: &QdiscQuirks) -> Self {
        Self {
            limit: 0,
            flows: 0,
            quantum: 0,
            memory_limit: 0,
            drop_batch: 0,
            drop_batch_bug: profile.fq_codel_drop_batch_bug,
            has_drop_batch: false,
            codel: Params::blank(profile),
        }
    }
}

/// Where more queues than this take turns, the packet that is next has long been out of the nearer caches.
const MANY: u32 = 16;

/// A queue: one line of cache.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Flow<P> {
    packets: VecDeque<P>,
    codel: State,
    /// Bytes left of this turn; negative when the last packet overran it.
    deficit: i32,
    /// The next queue on its list.
    next: u32,
}

impl<P> Listed for Flow<P> {
    #[inline]
    fn next(&mut self) -> &mut u32 {
        &mut self.next
    }
}

/// What is held in all queues together.
#[derive(Clone, Copy, Default, Debug)]
struct Held {
    backlog: Backlog,
    memory: u64,
}

/// One flow's queue, and the sums that change with it.
struct Head<'a, P> {
    packets: &'a mut VecDeque<P>,
    bytes: &'a mut u32,
    held: &'a mut Held,
}

impl<P: Packet> codel_law::Queue<P> for Head<'_, P> {
    #[inline]
    fn take(&mut self) -> Option<P> {
        let packet = self.packets.pop_front()?;
        let len = packet.wire_len();
        *self.bytes -= len;
        self.held.backlog.bytes -= u64::from(len);
        self.held.backlog.packets -= 1;
        self.held.memory -= u64::from(packet.truesize());
        Some(packet)
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.held.backlog.bytes
    }
}

/// Fair queueing by flow with CoDel on each queue.
#[derive(Clone, Debug)]
pub struct FqCodel<P> {
    config: Config,
    profile: QdiscQuirks,
    /// Mixed into the hash: the kernel's boot-time key.
    perturbation: u64,
    flows: Vec<Flow<P>>,
    /// Bytes held by each flow, apart so that the search for the greatest stays in few cache lines.
    bytes: Vec<u32>,
    new: FlowList,
    old: FlowList,
    held: Held,
    counts: Counts,
    drop_overlimit: u64,
    drop_overmemory: u64,
    new_flow_count: u64,
    tally: QdiscCounters,
}

impl<P: Packet> FqCodel<P> {
    /// The queue that a flow is hashed to.
    #[inline]
    fn slot(&self, flow_key: u64) -> u32 {
        flow_list::slot(flow_key, self.perturbation, self.config.flows)
    }

    #[inline]
    fn is_over(&self) -> bool {
        self.held.backlog.packets > self.config.limit || self.is_over_memory()
    }

    #[inline]
    fn is_over_memory(&self) -> bool {
        self.held.memory > self.config.memory_limit
    }

    /// The next packet in turn.
    #[inline]
    fn next<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) -> Option<P> {
        loop {
            let from_new = self.new.len > 0;
            let list = if from_new { &mut self.new } else { &mut self.old };
            if list.len == 0 {
                return None;
            }
            let slot = list.head;
            let flow = &mut self.flows[slot as usize];
            let turn_is_over = flow.deficit <= 0;
            if turn_is_over {
                flow.deficit += self.config.quantum;
            } else {
                let queue = Head {
                    packets: &mut flow.packets,
                    bytes: &mut self.bytes[slot as usize],
                    held: &mut self.held,
                };
                let dequeue = Dequeue {
                    now,
                    params: &self.config.codel,
                    state: &mut flow.codel,
                    counts: &mut self.counts,
                    tally: &mut self.tally,
                    queue,
                };
                if let Some(packet) = dequeue.run(cx) {
                    flow.deficit -= packet.wire_len() as i32;
                    if self.old.len > MANY {
                        self.look_ahead(slot);
                    }
                    return Some(packet);
                }
            }
            list.pop(&mut self.flows);
            // An emptied new queue takes a turn among the old ones, or it could starve them by coming back.
            if turn_is_over || (from_new && self.old.len > 0) {
                self.old.push(slot, &mut self.flows);
            } else {
                self.flows[slot as usize].next = UNLISTED;
            }
        }
    }

    /// Looks at the packet that leaves next, unless something comes between.
    #[inline]
    fn look_ahead(&self, slot: u32) {
        let flow = &self.flows[slot as usize];
        let next = if flow.deficit > 0 { Some(flow) } else { self.flows.get(flow.next as usize) };
        if let Some(packet) = next.and_then(|flow| flow.packets.front()) {
            fetch(packet);
        }
    }

    /// Drops from the head of the queue with the most bytes until half of them or `drop_batch` packets are
    /// gone, and returns how many went.
    #[cold]
    fn drop_from_longest<T: Telemetry<P>>(
        &mut self,
        now: Time,
        reason: Reason,
        cx: &mut Context<'_, T>,
    ) -> u32 {
        let mut slot = 0;
        let mut most = 0;
        for (i, &bytes) in self.bytes.iter().enumerate() {
            if bytes > most {
                (slot, most) = (i, bytes);
            }
        }
        let flow = &mut self.flows[slot];
        let mut head =
            Head { packets: &mut flow.packets, bytes: &mut self.bytes[slot], held: &mut self.held };
        let mut gone = 0;
        loop {
            let Some(packet) = codel_law::Queue::take(&mut head) else { break };
            self.tally.drop(now, packet, reason, cx);
            gone += 1;
            if gone >= self.config.drop_batch || most - *head.bytes >= most / 2 {
                break;
            }
        }
        flow.codel.count = flow.codel.count.wrapping_add(gone);
        gone
    }
}

report! {
    impl[P: Packet] FqCodel<P>, fq_codel at now;
    counters {
        maxpacket: Bytes, line 0, Always, "largest packet seen" => fq_codel.counts.maxpacket;
        drop_overlimit: Count, line 0, Always, "packets dropped over a limit"
            => fq_codel.drop_overlimit;
        new_flow_count: Count, line 0, Always, "times a queue became new"
            => fq_codel.new_flow_count;
        ecn_mark: Count, line 0, Always, "packets marked by CoDel" => fq_codel.counts.ecn_mark;
        ce_mark: Count, line 0, NonZero, "packets marked by ce_threshold"
            => fq_codel.counts.ce_mark;
        memory_used: Bytes, line 0, NonZero, "memory of the packets held" => fq_codel.held.memory;
        drop_overmemory: Count, line 0, NonZero, "of drop_overlimit, by memory"
            => fq_codel.drop_overmemory;
        new_flows_len: Count, line 1, Always, "queues on the new list" => fq_codel.new.len;
        old_flows_len: Count, line 1, Always, "queues on the old list" => fq_codel.old.len;
    }
    gauges where {
        let (mut dropping, mut count, mut delay) = (0, 0, Span::ZERO);
        for list in [&fq_codel.new, &fq_codel.old] {
            let mut slot = list.head;
            for _ in 0..list.len {
                let flow = &fq_codel.flows[slot as usize];
                if flow.codel.dropping {
                    dropping += 1;
                    count = count.max(flow.codel.count);
                }
                if let Some(head) = flow.packets.front() {
                    delay = delay.max(now.since(head.stamp()));
                }
                slot = flow.next;
            }
        }
    } {
        new_flows_len: Count, "queues on the new list" => fq_codel.new.len;
        old_flows_len: Count, "queues on the old list" => fq_codel.old.len;
        dropping: Count, "listed queues with CoDel in its dropping state" => dropping;
        count: Count, "greatest CoDel count of those queues" => count;
        head_delay: Seconds, "longest wait of a packet at the head of its queue" => delay;
    }
}

impl<P: Packet> Qdisc<P> for FqCodel<P> {
    #[inline]
    fn enqueue<T: Telemetry<P>>(&mut self, now: Time, mut packet: P, cx: &mut Context<'_, T>) {
        packet.set_stamp(now);
        let slot = self.slot(packet.flow_key());
        let len = packet.wire_len();
        self.held.backlog.packets += 1;
        self.held.backlog.bytes += u64::from(len);
        self.held.memory += u64::from(packet.truesize());
        self.bytes[slot as usize] += len;
        let flow = &mut self.flows[slot as usize];
        flow.packets.push_back(packet);
        if flow.next == UNLISTED {
            flow.deficit = self.config.quantum;
            self.new.push(slot, &mut self.flows);
            self.new_flow_count += 1;
        }
        if self.is_over() {
            let over_memory = self.is_over_memory();
            let reason = if over_memory { Reason::Memory } else { Reason::Overlimit };
            let gone = u64::from(self.drop_from_longest(now, reason, cx));
            self.drop_overlimit += gone;
            if over_memory {
                self.drop_overmemory += gone;
            }
        }
    }

    #[inline]
    fn dequeue<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) -> Dequeued<P> {
        match self.next(now, cx) {
            Some(packet) => {
                self.tally.sent(packet.wire_len());
                Dequeued::Packet(packet)
            }
            None => Dequeued::Empty,
        }
    }

    crate::reports!(held.backlog);
}

impl<P: Packet> TcConfigurable<P> for FqCodel<P> {
    const INFO: &'static Discipline = &INFO;

    fn build(words: &mut TcTokens<'_>, cx: &mut BuildContext<'_, P>) -> Result<Self, TcError> {
        let (profile, random) = (cx.quirks, &mut *cx.random);
        let config = Config::read(words, profile)?;
        let flows = (0..config.flows).map(|_| Flow {
            packets: VecDeque::new(),
            codel: State::default(),
            deficit: 0,
            next: UNLISTED,
        });
        Ok(Self {
            perturbation: random.next_u64(),
            flows: flows.collect(),
            bytes: vec![0; config.flows as usize],
            config,
            profile: *profile,
            new: FlowList::EMPTY,
            old: FlowList::EMPTY,
            held: Held::default(),
            counts: Counts::default(),
            drop_overlimit: 0,
            drop_overmemory: 0,
            new_flow_count: 0,
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
        while self.is_over() {
            let reason = if self.is_over_memory() { Reason::Memory } else { Reason::Overlimit };
            let Some(packet) = self.next(now, cx) else { break };
            self.tally.drop(now, packet, reason, cx);
        }
        Ok(())
    }

    fn flush<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        for (slot, flow) in self.flows.iter_mut().enumerate() {
            for packet in flow.packets.drain(..) {
                self.tally.drop(now, packet, Reason::Flushed, cx);
            }
            self.bytes[slot] = 0;
            flow.next = UNLISTED;
            flow.codel = State::default();
        }
        (self.new, self.old, self.held) = (FlowList::EMPTY, FlowList::EMPTY, Held::default());
    }

    fn quirks(&self) -> &QdiscQuirks {
        &self.profile
    }

    fn describe(&self) -> String {
        let Config { limit, flows, quantum, memory_limit, drop_batch, codel, .. } = &self.config;
        let (target, interval, ce_threshold) = codel.spans();
        let target = show::time(target);
        let mut text = format!("limit {limit}p flows {flows} quantum {quantum} target {target}");
        let mut add = |more: String| text.push_str(&more);
        if let Some(threshold) = ce_threshold {
            add(format!(" ce_threshold {}", show::time(threshold)));
        }
        if let Some((value, mask)) = codel.selector {
            add(format!(" ce_threshold_selector {value:#x}/{mask:#x}"));
        }
        let (interval, memory) = (show::time(interval), show::size(*memory_limit));
        add(format!(" interval {interval} memory_limit {memory}"));
        if codel.ecn {
            add(" ecn".to_owned());
        }
        add(format!(" drop_batch {drop_batch}"));
        text
    }
}
