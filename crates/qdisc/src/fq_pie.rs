//! `fq_pie`: a queue for each flow, served in turn with precedence for new ones, PIE on each.
//!
//! Source: Linux 5.6 to 7.3, `net/sched/sch_fq_pie.c` (kernels before have none; a profile of theirs has this one), with the
//! lists and turns of RFC 8290 §4.2 and the controller of RFC 8033 as `pie` has it: see there for its arithmetic and its
//! timer.
//! Each queue has its own probability, delay and burst allowance. Packets are dropped or marked as they arrive, never
//! later. ECN is off unless asked for.
//!
//! Invariants: packets of one flow keep their order; a queue is on at most one list, and on one whenever it holds
//! packets; the timer visits every queue with a controller that is not at rest.
//!
//! As in Linux, `memory_limit` bounds nothing: an arrival beyond it is counted as `overmemory` and goes on. The timer
//! visits 2048 queues at a time; where there are more, the next come a timer tick later, and `tupdate` counts from
//! the last (6.6, and the stable kernels that took it over). One thing differs from Linux: packets that a lowered
//! limit costs at run time are counted as sent there, and as dropped here.
//!
//! The trick: the update of a controller at rest changes nothing, so only queues are visited that had a packet since
//! they were at rest.

use crate::configured::{BuildContext, TcConfigurable};
use crate::flow_list::{self, FlowList, Listed, UNLISTED};
use crate::pie_config::{self, DQ_RATE_ESTIMATOR, FIRST_UPDATE, HasPie, PieConfig};
use crate::pie_law::{Controller, seconds, ticks};
use crate::settings::{Setting, Settings};
use crate::show;
use crate::table::{self, DefaultValue, Discipline, Kind, OptionSpec, ValueSpec};
use crate::tally::{PacketQueue, QdiscCounters, mark};
use crate::words::{TcError, TcTokens};
use crate::xstats::{Counted, Form, Xstats};
use crate::{Backlog, Context, Dequeued, Packet, Qdisc, QdiscQuirks, Reason, Telemetry};
use crate::{options_of, report};
use sojourn_units::{CoarseClock, Span, Time};

/// The table of `fq_pie`.
pub const INFO: Discipline = Discipline {
    name: "fq_pie",
    summary: "fair queueing by flow with PIE on each queue",
    source: "RFC 8033; RFC 8290; Linux 5.6 to 7.3, net/sched/sch_fq_pie.c, include/net/pie.h",
    options: options_of!(Config),
    counters: COUNTERS,
    gauges: GAUGES,
    xstats: &Xstats {
        fields: &[
            Form::Number.of("pkts_in"),
            Form::Number.of("dropped"),
            Form::Number.of("overlimit"),
            Form::Number.of("overmemory"),
            Form::Number.of("ecn_mark"),
            Form::Number.of("new_flow_count"),
            Form::Number.of("new_flows_len"),
            Form::Number.of("old_flows_len"),
            Form::Number.of("memory_used"),
        ],
        signals: &[
            Counted::Drops(Reason::Tail, "overlimit"),
            Counted::OtherDrops(Reason::Early),
            Counted::Marks(Reason::Early, "ecn_mark"),
        ],
    },
    examples: &[
        "fq_pie",
        "fq_pie flows 1 limit 9 target 1ms tupdate 1ms",
        "fq_pie flows 5000 ecn ecn_prob 99 target 0 tupdate 2ms alpha 32 beta 32 quantum 300",
        "fq_pie bytemode dq_rate_estimator target 500us tupdate 3ms memory_limit 5000",
    ],
    changes: &["fq_pie limit 2", "fq_pie ecn target 5ms", "fq_pie quantum 400 alpha 0"],
    ..Discipline::BASE
};

/// Queues that one call of the timer visits.
const VISITED: u32 = 2_048;
/// Bits of a probability since 5.6, with which it came.
const PROBABILITY_BITS: u32 = 56;

#[derive(Clone, Debug)]
struct Config {
    limit: u32,
    flows: u32,
    pie: PieConfig,
    quantum: i32,
    memory_limit: u32,
    /// In percent.
    ecn_prob: u32,
    ecn: bool,
}

impl HasPie for Config {
    fn pie(&mut self) -> &mut PieConfig {
        &mut self.pie
    }
}

impl Settings for Config {
    const INFO: &'static Discipline = &INFO;
    const OPTIONS: &'static [Setting<Self>] = &[
        OptionSpec { preset: DefaultValue::Is("10240"), ..table::LIMIT }.sets(|config, given| config.limit = given.number()),
        table::FLOWS.sets(|config, given| config.flows = given.number()),
        pie_config::target(),
        pie_config::tupdate(),
        pie_config::alpha(),
        pie_config::beta(),
        OptionSpec {
            name: "quantum",
            values: &[ValueSpec {
                name: "BYTES",
                kind: Kind::Size { min: 1, max: 1 << 20 },
                optional: false,
            }],
            preset: DefaultValue::Is("1514"),
            doc: "bytes a queue may send in a turn",
            tried: &["quantum 256", "quantum 1000", "quantum 9000"],
            ..OptionSpec::BASE
        }.sets(|config, given| config.quantum = given.number() as i32),
        OptionSpec {
            name: "memory_limit",
            values: table::BYTES,
            preset: DefaultValue::Is("32mb"),
            doc: "memory of the packets held (skb->truesize) beyond which arrivals count as overmemory; it drops nothing",
            tried: &["memory_limit 10000", "memory_limit 40000000"],
            ..OptionSpec::BASE
        }.sets(|config, given| config.memory_limit = given.number()),
        OptionSpec {
            name: "ecn_prob",
            values: &[ValueSpec {
                name: "PERCENT",
                kind: Kind::Count { unit: "percent", min: 1, max: 99 },
                optional: false,
            }],
            preset: DefaultValue::Is("10"),
            doc: "with ecn: the greatest probability at which packets are marked; beyond, they are dropped",
            tried: &["ecn_prob 1", "ecn_prob 50"],
            ..OptionSpec::BASE
        }.sets(|config, given| config.ecn_prob = given.number()),
        OptionSpec {
            preset: DefaultValue::Is("noecn"),
            doc: "mark ECN-capable packets instead of dropping them while the probability is at most ecn_prob",
            ..table::ECN
        }.sets(|config, given| config.ecn = given.on),
        pie_config::bytemode(),
        OptionSpec {
            doc: "know the delay from the departure rate",
            tried: &["dq_rate_estimator", "no_dq_rate_estimator"],
            ..DQ_RATE_ESTIMATOR
        }.sets(|config, given| config.pie.params.by_rate = given.on),
    ];
    const CHANGE_STARTS_AFRESH: bool = false;

    fn blank(profile: &QdiscQuirks) -> Self {
        Self {
            limit: 0,
            flows: 0,
            pie: PieConfig::blank(profile, false),
            quantum: 0,
            memory_limit: 0,
            ecn_prob: 0,
            ecn: false,
        }
    }
}

/// A queue.
#[derive(Clone, Debug)]
struct Flow<P> {
    packets: PacketQueue<P>,
    controller: Controller,
    /// Bytes left of this turn; negative when the last packet overran it.
    deficit: i32,
    /// The next queue on its list.
    next: u32,
    /// Whether it is among those that the timer visits.
    is_awake: bool,
}

impl<P> Listed for Flow<P> {
    #[inline]
    fn next(&mut self) -> &mut u32 {
        &mut self.next
    }
}

/// Fair queueing by flow with PIE on each queue.
#[derive(Clone, Debug)]
pub struct FqPie<P> {
    config: Config,
    profile: QdiscQuirks,
    /// Mixed into the hash: the kernel's boot-time key.
    perturbation: u64,
    flows: Vec<Flow<P>>,
    new: FlowList,
    old: FlowList,
    /// Queues with controllers that may not be at rest, in no order.
    awake: Vec<u32>,
    next_update: Time,
    /// The first queue of the timer's next visit.
    cursor: u32,
    backlog: Backlog,
    memory: u64,
    packets_in: u64,
    overlimit: u64,
    overmemory: u64,
    dropped: u64,
    ecn_mark: u64,
    new_flow_count: u64,
    tally: QdiscCounters,
}

impl<P: Packet> FqPie<P> {
    /// Takes a packet into a queue.
    #[inline]
    fn take(&mut self, now: Time, slot: u32, mut packet: P) {
        packet.set_stamp(now);
        self.packets_in += 1;
        self.memory += u64::from(packet.truesize());
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.wire_len());
        let flow = &mut self.flows[slot as usize];
        flow.packets.push(packet);
        if !flow.is_awake {
            flow.is_awake = true;
            self.awake.push(slot);
        }
        if flow.next == UNLISTED {
            flow.deficit = self.config.quantum;
            self.new.push(slot, &mut self.flows);
            self.new_flow_count += 1;
        }
    }

    /// The next packet in turn; its queue's controller has seen it go.
    #[inline]
    fn next(&mut self, now: Time) -> Option<P> {
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
            } else if let Some(packet) = flow.packets.pop() {
                let len = packet.wire_len();
                flow.deficit -= len as i32;
                flow.controller.on_departure(
                    self.config.pie.params.by_rate,
                    ticks(now),
                    ticks(packet.stamp()),
                    len,
                    flow.packets.bytes(),
                );
                self.backlog.packets -= 1;
                self.backlog.bytes -= u64::from(len);
                self.memory -= u64::from(packet.truesize());
                return Some(packet);
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

    /// Updates the controllers of the queues from `cursor` on, [`VISITED`] at most, and sets the timer again
    /// (`fq_pie_timer`).
    fn update(&mut self, now: Time) {
        let Self { config, flows, awake, cursor, .. } = self;
        let end = cursor.saturating_add(VISITED).min(config.flows);
        let visited = *cursor..end;
        awake.retain(|&slot| {
            if !visited.contains(&slot) {
                return true;
            }
            let flow = &mut flows[slot as usize];
            flow.controller.update(&config.pie.params, flow.packets.bytes());
            flow.is_awake = !flow.packets.is_empty() || !flow.controller.is_at_rest();
            flow.is_awake
        });
        let is_done = end == config.flows;
        *cursor = if is_done { 0 } else { end };
        self.next_update = if is_done {
            config.pie.next_update(now)
        } else {
            config.pie.clock.fires_after(now, Span::ZERO)
        };
    }
}

report! {
    impl[P: Packet] FqPie<P>, fq_pie at now;
    counters {
        pkts_in: Count, line 0, Always, "packets taken" => fq_pie.packets_in;
        overlimit: Count, line 0, Always, "packets refused at the limit" => fq_pie.overlimit;
        overmemory: Count, line 0, Always, "packets that came with more than memory_limit held"
            => fq_pie.overmemory;
        dropped: Count, line 0, Always, "packets dropped, early or at the limit" => fq_pie.dropped;
        ecn_mark: Count, line 0, Always, "packets marked" => fq_pie.ecn_mark;
        new_flow_count: Count, line 1, Always, "times a queue became new" => fq_pie.new_flow_count;
        new_flows_len: Count, line 1, Always, "queues on the new list" => fq_pie.new.len;
        old_flows_len: Count, line 1, Always, "queues on the old list" => fq_pie.old.len;
        memory_used: Bytes, line 1, Always, "memory of the packets held" => fq_pie.memory;
    }
    gauges where {
        let (mut prob, mut delay, mut head_delay) = (0_f64, 0_f64, 0_f64);
        for slot in &fq_pie.awake {
            let flow = &fq_pie.flows[*slot as usize];
            prob = prob.max(flow.controller.probability());
            delay = delay.max(seconds(flow.controller.qdelay));
            head_delay = head_delay.max(flow.packets.head_delay(now));
        }
    } {
        new_flows_len: Count, "queues on the new list" => fq_pie.new.len;
        old_flows_len: Count, "queues on the old list" => fq_pie.old.len;
        prob: Probability, "greatest drop probability of a queue" => prob;
        delay: Seconds, "longest delay as last estimated of a queue" => delay;
        head_delay: Seconds, "longest wait of a packet at the head of its queue" => head_delay;
    }
}

impl<P: Packet> Qdisc<P> for FqPie<P> {
    #[inline]
    fn enqueue<T: Telemetry<P>>(&mut self, now: Time, mut packet: P, cx: &mut Context<'_, T>) {
        let slot = flow_list::slot(packet.flow_key(), self.perturbation, self.config.flows);
        let Config { limit, pie, memory_limit, ecn_prob, ecn, .. } = &self.config;
        let flow = &mut self.flows[slot as usize];
        let reason = if self.backlog.packets >= *limit {
            self.overlimit += 1;
            Reason::Tail
        } else {
            let most = u64::from(*memory_limit) + u64::from(packet.truesize());
            self.overmemory += u64::from(self.memory > most);
            let (held, len) = (flow.packets.bytes(), packet.wire_len());
            if !flow.controller.signals(&pie.params, held, len, cx.random) {
                self.take(now, slot, packet);
                return;
            }
            let most_marked = flow.controller.one / 100 * u64::from(*ecn_prob);
            if *ecn
                && flow.controller.prob <= most_marked
                && mark(now, &mut packet, Reason::Early, cx)
            {
                self.ecn_mark += 1;
                self.take(now, slot, packet);
                return;
            }
            Reason::Early
        };
        flow.controller.accu_prob = 0;
        self.dropped += 1;
        self.tally.drop(now, packet, reason, cx);
    }

    #[inline]
    fn dequeue<T: Telemetry<P>>(&mut self, now: Time, _cx: &mut Context<'_, T>) -> Dequeued<P> {
        let Some(packet) = self.next(now) else { return Dequeued::Empty };
        self.tally.sent(packet.wire_len());
        Dequeued::Packet(packet)
    }

    #[inline]
    fn next_timer(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn on_timer<T: Telemetry<P>>(&mut self, now: Time, _cx: &mut Context<'_, T>) {
        if now >= self.next_update {
            self.update(now);
        }
    }

    crate::reports!(backlog);
}

impl<P: Packet> TcConfigurable<P> for FqPie<P> {
    const INFO: &'static Discipline = &INFO;

    fn build(words: &mut TcTokens<'_>, cx: &mut BuildContext<'_, P>) -> Result<Self, TcError> {
        let (profile, random) = (cx.quirks, &mut *cx.random);
        let config = Config::read(words, profile)?;
        let flows = (0..config.flows).map(|_| Flow {
            packets: PacketQueue::new(),
            controller: Controller::new(PROBABILITY_BITS),
            deficit: 0,
            next: UNLISTED,
            is_awake: false,
        });
        Ok(Self {
            perturbation: random.next_u64(),
            flows: flows.collect(),
            config,
            profile: *profile,
            new: FlowList::EMPTY,
            old: FlowList::EMPTY,
            awake: Vec::new(),
            next_update: CoarseClock::new(profile.hz).fires_after(Time::ZERO, FIRST_UPDATE),
            cursor: 0,
            backlog: Backlog::default(),
            memory: 0,
            packets_in: 0,
            overlimit: 0,
            overmemory: 0,
            dropped: 0,
            ecn_mark: 0,
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
        while self.backlog.packets > self.config.limit {
            let Some(packet) = self.next(now) else { break };
            self.tally.drop(now, packet, Reason::Overlimit, cx);
        }
        Ok(())
    }

    fn start(&mut self, now: Time) {
        self.next_update = self.config.pie.clock.fires_after(now, FIRST_UPDATE);
    }

    fn flush<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        for flow in &mut self.flows {
            flow.packets.shorten(now, 0, Reason::Flushed, &mut self.tally, cx);
            flow.next = UNLISTED;
            flow.controller.reset();
        }
        (self.new, self.old) = (FlowList::EMPTY, FlowList::EMPTY);
        (self.backlog, self.memory) = (Backlog::default(), 0);
    }

    fn quirks(&self) -> &QdiscQuirks {
        &self.profile
    }

    fn describe(&self) -> String {
        let Config { limit, flows, pie, quantum, memory_limit, ecn_prob, ecn } = &self.config;
        let law = pie.describe();
        let quantum = show::size(quantum.unsigned_abs().into());
        let memory = show::size((*memory_limit).into());
        let switches = pie.switches(*ecn, true);
        format!(
            "limit {limit}p flows {flows} {law} quantum {quantum} memory_limit {memory} ecn_prob {ecn_prob}{switches}"
        )
    }
}
