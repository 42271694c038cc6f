//! `cnq_codel_af` and `twin_codel_af`: one or two pairs of FIFOs with a shaper, where flows are made equal by how
//! often they are signalled and not by when they are served ("approximate fairness").
//!
//! Source: docs/sources/sce.md; chromi/sce `net/sched/sch_cnq_codel_af.c` @016a60ca, `sch_twin_codel_af.c` @03a785e0;
//! draft-morton-tsvwg-codel-approx-fair-01.
//!
//! A packet of a flow that has nothing in the bulk queue goes to the sparse queue, which is served first, and
//! leaves a dummy of no length in the bulk queue. The flow counts as present until its dummy has come to the head,
//! so it stays sparse only while its packets come no faster than the bulk queue passes. A packet that leaves the
//! bulk queue has its sojourn time weighed: times the flow's packets there and times the flows, against the target
//! times all packets held. Who holds an equal share is judged by the plain sojourn time, who holds twice that by
//! twice the time.
//!
//! `twin_codel_af` has two such pairs, the second (DSCP 4) with everything of the law divided by 5; they are served
//! in proportion to the numbers of their flows, in packets. A flow's bucket has one controller for both.
//!
//! Invariants: a flow's packets keep their order within a class; a bucket's count is of what it has in the bulk
//! queue, its dummy included; a flow's last packet in the bulk queue is never dropped. There is no limit: BLUE
//! alone bounds the queue. A flow with a dummy *and* packets in the bulk queue does not count among the flows of
//! the weight, since the kernel subtracts dummies from flows that have anything.
//!
//! Where the kernel is not followed: its twin serves class 0 although it is empty, when that has the smaller
//! deficit, and then sends nothing; here the class with packets is served. The kernel counts a class as empty when all
//! its flows have dummies in the bulk queue, so it does not serve that class, although only serving would take the
//! dummies out: a flow that begins in one class starves until the other is empty. Here a class with packets counts as
//! one flow at least. Whether the SCE schedule is mirrored at rest is the kernel's
//! (`QdiscQuirks::sce_mirrors_at_rest`).

use crate::cobalt_config::{Aqm, Buckets, HasAqm, SCE_THRESH_4, SCE_THRESH_OFF, sce, sce_thresh};
use crate::cobalt_law::{Twofold, TwofoldParams, Verdict, Weighted};
use crate::configured::{BuildContext, TcConfigurable};
use crate::report::report_classes;
use crate::settings::{Setting, Settings};
use crate::shaper::{self, Clock, Framed, Framing};
use crate::table::{self, Discipline};
use crate::tally::QdiscCounters;
use crate::words::{TcError, TcTokens};
use crate::{Backlog, Context, Dequeued, Packet, Qdisc, QdiscQuirks, Reason, Telemetry};
use crate::{options_of, report};
use sojourn_units::{Rate, Time};
use std::collections::VecDeque;

static CNQ_CLASSES: [table::Class; 2] = [
    table::Class { name: "sparse", doc: "packets of flows that had none held" },
    table::Class { name: "bulk", doc: "all other packets" },
];
static TWIN_CLASSES: [table::Class; 2] = [
    table::Class { name: "loose", doc: "whatever is not of DSCP 4" },
    table::Class { name: "tight", doc: "DSCP 4" },
];

/// The table of `cnq_codel_af`.
pub const CNQ: Discipline = Discipline {
    name: "cnq_codel_af",
    summary: "a sparse and a bulk queue with approximate fairness by COBALT, and a shaper",
    source: "draft-morton-tsvwg-codel-approx-fair-01; Linux 5.4 of chromi/sce, net/sched/sch_cnq_codel_af.c; iproute2-sce, tc/q_cnq_codel_af.c",
    options: options_of!(Config<1>),
    counters: COUNTERS,
    // Of the two pairs of queues it has one.
    gauges: GAUGES.split_at(GAUGES.len() / 2).0,
    classes: &CNQ_CLASSES,
    examples: &[
        "cnq_codel_af",
        "cnq_codel_af bandwidth 5mbit rtt 1ms",
        "cnq_codel_af bandwidth 2mbit rtt 100us sce-thresh 4",
        "cnq_codel_af bandwidth 800kbit datacentre overhead 18 sce",
    ],
    changes: &["cnq_codel_af bandwidth 100mbit", "cnq_codel_af rtt 20us", "cnq_codel_af no-sce"],
    ..Discipline::BASE
};

/// The table of `twin_codel_af`.
pub const TWIN: Discipline = Discipline {
    name: "twin_codel_af",
    summary: "two of cnq_codel_af behind one shaper, the second tighter by 5 and for DSCP 4, with SCE",
    source: "Linux 5.4 of chromi/sce, net/sched/sch_twin_codel_af.c; iproute2-sce, tc/q_twin_codel_af.c",
    options: options_of!(Config<2>),
    counters: COUNTERS,
    gauges: GAUGES,
    classes: &TWIN_CLASSES,
    examples: &[
        "twin_codel_af",
        "twin_codel_af bandwidth 5mbit rtt 1ms",
        "twin_codel_af bandwidth 2mbit rtt 100us sce-thresh 8",
        "twin_codel_af bandwidth 20mbit lan no-sce",
    ],
    changes: &["twin_codel_af bandwidth 1mbit", "twin_codel_af rtt 20us sce"],
    ..Discipline::BASE
};

/// The DSCP of the tight class: the old "minimise delay" (TOS 0x10).
const TIGHT_DSCP: u8 = 4;
/// The divisor of its parameters.
const TIGHT_DIVISOR: u64 = 5;

#[derive(Clone, Debug)]
struct Config<const CLASSES: usize> {
    rate: Rate,
    framing: Framing,
    aqm: Aqm,
}

impl<const CLASSES: usize> Config<CLASSES> {
    fn params(&self, profile: &QdiscQuirks) -> [TwofoldParams; CLASSES] {
        core::array::from_fn(|class| {
            self.aqm.params(if class == 0 { 1 } else { TIGHT_DIVISOR }, Aqm::mirrors(profile))
        })
    }
}

impl<const CLASSES: usize> HasAqm for Config<CLASSES> {
    fn aqm(&mut self) -> &mut Aqm {
        &mut self.aqm
    }
}

impl<const CLASSES: usize> Framed for Config<CLASSES> {
    fn framing(&mut self) -> &mut Framing {
        &mut self.framing
    }
}

impl<const CLASSES: usize> Settings for Config<CLASSES> {
    const INFO: &'static Discipline = if CLASSES == 1 { &CNQ } else { &TWIN };
    const OPTIONS: &'static [Setting<Self>] = &[
        shaper::BANDWIDTH.sets(|config, given| {
            config.rate = if given.on { given.rate() } else { Rate::ZERO };
        }),
        shaper::rtt(),
        shaper::path(),
        shaper::overhead(),
        shaper::cells(),
        shaper::mpu(),
        sce_thresh(if CLASSES == 1 { SCE_THRESH_OFF } else { SCE_THRESH_4 }),
        sce(),
    ];
    const CHANGE_STARTS_AFRESH: bool = false;

    fn blank(_profile: &QdiscQuirks) -> Self {
        Self { rate: Rate::ZERO, framing: Framing::default(), aqm: Aqm::default() }
    }
}

/// An entry of a bulk queue.
#[derive(Clone, Copy, Debug)]
enum Entry<P> {
    Packet(P),
    /// Stands for a packet of the flow that went to the sparse queue.
    Dummy,
}

/// One pair of queues. Each packet has the slot of its bucket.
#[derive(Clone, Debug)]
struct Class<P> {
    sparse: VecDeque<(u32, P)>,
    bulk: VecDeque<(u32, Entry<P>)>,
    /// Flows with anything in the bulk queue.
    active: u32,
    dummies: u32,
    held: Backlog,
    /// The service of this class ahead of the other's, in packets times flows.
    deficit: i64,
}

impl<P> Class<P> {
    const fn new() -> Self {
        Self {
            sparse: VecDeque::new(),
            bulk: VecDeque::new(),
            active: 0,
            dummies: 0,
            held: Backlog { packets: 0, bytes: 0 },
            deficit: 0,
        }
    }

    /// The flows that the other class is to be fair to: one at least if there are packets.
    #[inline]
    fn flows(&self) -> i64 {
        let flows = i64::from(self.active) + self.sparse.len() as i64 - i64::from(self.dummies);
        flows.max(i64::from(self.held.packets > 0))
    }
}

/// A flow's controller, and its packets in each class's bulk queue.
#[derive(Clone, Copy, Debug)]
struct Bucket<const CLASSES: usize> {
    law: Twofold,
    in_bulk: [u32; CLASSES],
}

impl<const CLASSES: usize> Default for Bucket<CLASSES> {
    fn default() -> Self {
        Self { law: Twofold::default(), in_bulk: [0; CLASSES] }
    }
}

#[derive(Clone, Copy, Default, Debug)]
struct Counts {
    sparse_sent: u64,
    bulk_sent: u64,
    tight_sent: u64,
    ecn_mark: u64,
    sce_mark: u64,
    law_drop: u64,
    blue_drop: u64,
}

/// One or two pairs of FIFOs with approximate fairness and a shaper.
#[derive(Clone, Debug)]
pub struct CodelAf<P, const CLASSES: usize> {
    config: Config<CLASSES>,
    profile: QdiscQuirks,
    params: [TwofoldParams; CLASSES],
    clock: Clock,
    classes: [Class<P>; CLASSES],
    buckets: Buckets<Bucket<CLASSES>>,
    counts: Counts,
    tally: QdiscCounters,
}

/// `cnq_codel_af`.
pub type CnqCodelAf<P> = CodelAf<P, 1>;
/// `twin_codel_af`.
pub type TwinCodelAf<P> = CodelAf<P, 2>;

impl<P: Packet, const CLASSES: usize> CodelAf<P, CLASSES> {
    #[inline]
    fn class_of(packet: &P) -> usize {
        usize::from(CLASSES > 1 && packet.dscp().value() == TIGHT_DSCP)
    }

    /// The class that telemetry has for a packet of this pair and queue (0: sparse).
    #[inline]
    fn class(pair: usize, queue: usize) -> &'static table::Class {
        if CLASSES == 1 { &CNQ_CLASSES[queue] } else { &TWIN_CLASSES[pair] }
    }

    /// The class that is served: that with packets, of two such the one less ahead, of two equals the tight one.
    #[inline]
    fn choose(&self) -> usize {
        let [loose, .., tight] = &self.classes[..] else { return 0 };
        let tight_turn = loose.held.packets == 0 || loose.deficit >= tight.deficit;
        usize::from(tight.held.packets > 0 && tight_turn)
    }

    /// The class has delivered a packet: it is ahead by the other's flows.
    #[inline]
    fn account(&mut self, served: usize) {
        if CLASSES < 2 {
            return;
        }
        let other = 1 - served;
        self.classes[served].deficit += self.classes[other].flows();
        let least = self.classes[served].deficit.min(self.classes[other].deficit);
        self.classes.iter_mut().for_each(|class| class.deficit -= least);
    }

    /// The next packet of the bulk queue, dummies thrown away, with its slot.
    #[inline]
    fn pop_bulk(&mut self, c: usize) -> Option<(u32, P)> {
        let class = &mut self.classes[c];
        loop {
            let (slot, entry) = class.bulk.pop_front()?;
            let in_bulk = &mut self.buckets.at_mut(slot).in_bulk[c];
            *in_bulk -= 1;
            class.active -= u32::from(*in_bulk == 0);
            match entry {
                Entry::Packet(packet) => return Some((slot, packet)),
                Entry::Dummy => class.dummies -= 1,
            }
        }
    }

    /// The packet that leaves. There may be none although something was held only if all of it was dropped, which
    /// the law does not do.
    fn next<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) -> Option<(usize, P)> {
        loop {
            let packets = self.backlog().packets;
            if packets == 0 {
                return None;
            }
            let c = self.choose();
            if let Some((slot, packet)) = self.classes[c].sparse.pop_front() {
                self.forget(c, &packet);
                self.buckets.at_mut(slot).law.queue_empty(now, &self.params[c]);
                self.counts.sparse_sent += 1;
                cx.telemetry.leaves(Self::class(c, 0));
                return Some((c, packet));
            }
            let (slot, mut packet) = self.pop_bulk(c)?;
            self.forget(c, &packet);
            let class = &self.classes[c];
            let bucket = self.buckets.at_mut(slot);
            let flow = u64::from(bucket.in_bulk[c]) + 1;
            let delay = Weighted {
                sojourn: now.since(packet.stamp()).as_nanos(),
                by: flow.wrapping_mul(u64::from(class.active - class.dummies)),
                against: u64::from(packets),
            };
            let Verdict { drop, ce, sce } =
                bucket.law.judge(now, &self.params[c], delay, &mut packet, cx);
            self.counts.ecn_mark += u64::from(ce);
            self.counts.sce_mark += u64::from(sce);
            match drop {
                Some(reason) if bucket.in_bulk[c] > 0 => {
                    match reason {
                        Reason::Blue => self.counts.blue_drop += 1,
                        _ => self.counts.law_drop += 1,
                    }
                    self.tally.drop(now, packet, reason, cx);
                }
                _ => {
                    self.counts.bulk_sent += 1;
                    cx.telemetry.leaves(Self::class(c, 1));
                    return Some((c, packet));
                }
            }
        }
    }

    #[inline]
    fn forget(&mut self, c: usize, packet: &P) {
        let held = &mut self.classes[c].held;
        held.packets -= 1;
        held.bytes -= u64::from(packet.wire_len());
    }
}

report! {
    impl[P: Packet, const CLASSES: usize] CodelAf<P, CLASSES>, af;
    counters {
        sparse_sent: Count, line 0, NonZero, "packets sent from the sparse queues"
            => af.counts.sparse_sent;
        bulk_sent: Count, line 0, NonZero, "packets sent from the bulk queues"
            => af.counts.bulk_sent;
        tight_sent: Count, line 0, NonZero, "of all sent, those of the tight class"
            => af.counts.tight_sent;
        ecn_mark: Count, line 1, NonZero, "signals by CE, on packets that were CE too"
            => af.counts.ecn_mark;
        sce_mark: Count, line 1, NonZero, "packets marked SCE" => af.counts.sce_mark;
        law_drop: Count, line 1, NonZero, "packets dropped by the control law"
            => af.counts.law_drop;
        blue_drop: Count, line 1, NonZero, "packets dropped by BLUE" => af.counts.blue_drop;
    }
}

impl<P: Packet> Class<P> {
    /// The first packet of the bulk queue, past dummies.
    fn first_of_bulk(&self) -> Option<&P> {
        self.bulk.iter().find_map(|(_, entry)| match entry {
            Entry::Packet(packet) => Some(packet),
            Entry::Dummy => None,
        })
    }
}

/// The greatest that there is among the flows of a bulk queue.
#[derive(Default)]
struct Greatest {
    count: u32,
    sce_count: u32,
    p_drop: f64,
}

impl<P: Packet, const CLASSES: usize> CodelAf<P, CLASSES> {
    fn greatest(&self, class: &Class<P>) -> Greatest {
        let laws = class.bulk.iter().map(|(slot, _)| &self.buckets.at(*slot).law);
        laws.fold(Greatest::default(), |greatest, law| Greatest {
            count: greatest.count.max(law.ce.count),
            sce_count: greatest.sce_count.max(law.sce.count),
            p_drop: greatest.p_drop.max(law.blue.probability()),
        })
    }
}

report_classes! {
    impl[P: Packet, const CLASSES: usize] CodelAf<P, CLASSES>, af at now;
    each class of {
        "" => af.classes.first();
        "tight_" => af.classes.get(1);
    }
    gauges where {
        let waited = |packet: Option<&P>| {
            packet.map_or(0.0, |packet| now.since(packet.stamp()).as_secs_f64())
        };
        let flows = af.greatest(class);
    }
    {
        sparse_delay: Seconds, "time that the first packet of the sparse queue has waited"
            => waited(class.sparse.front().map(|(_, packet)| packet));
        bulk_delay: Seconds, "time that the first packet of the bulk queue has waited"
            => waited(class.first_of_bulk());
        sparse_backlog: Count, "packets in the sparse queue" => class.sparse.len();
        bulk_backlog: Count, "packets in the bulk queue, without dummies"
            => class.bulk.len() as u64 - u64::from(class.dummies);
        active_flows: Count, "flows in the bulk queue, dummies included" => class.active;
        sparse_dummies: Count, "dummies in the bulk queue" => class.dummies;
        count: Count, "greatest CE count of the flows in the bulk queue" => flows.count;
        sce_count: Count, "greatest SCE count of the flows in the bulk queue" => flows.sce_count;
        p_drop: Probability, "greatest BLUE probability of the flows in the bulk queue"
            => flows.p_drop;
    }
}

impl<P: Packet, const CLASSES: usize> Qdisc<P> for CodelAf<P, CLASSES> {
    #[inline]
    fn enqueue<T: Telemetry<P>>(&mut self, now: Time, mut packet: P, _cx: &mut Context<'_, T>) {
        packet.set_stamp(now);
        if self.backlog().packets == 0 {
            self.clock.wake(now);
        }
        let c = Self::class_of(&packet);
        let slot = self.buckets.slot(packet.flow_key());
        let class = &mut self.classes[c];
        class.held.packets += 1;
        class.held.bytes += u64::from(packet.wire_len());
        let in_bulk = &mut self.buckets.at_mut(slot).in_bulk[c];
        *in_bulk += 1;
        if *in_bulk == 1 {
            class.active += 1;
            class.dummies += 1;
            class.bulk.push_back((slot, Entry::Dummy));
            class.sparse.push_back((slot, packet));
        } else {
            class.bulk.push_back((slot, Entry::Packet(packet)));
        }
    }

    #[inline]
    fn dequeue<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) -> Dequeued<P> {
        if self.backlog().packets == 0 {
            return Dequeued::Empty;
        }
        if let Some(at) = self.clock.wait(now) {
            self.tally.over_limit();
            return Dequeued::Wait(at);
        }
        let Some((class, packet)) = self.next(now, cx) else { return Dequeued::Empty };
        let len = packet.wire_len();
        self.tally.sent(len);
        self.counts.tight_sent += u64::from(class == 1);
        self.account(class);
        self.clock.charge(self.config.framing.charged(len));
        if let Some(bucket) = self.buckets.sweep()
            && bucket.in_bulk.iter().all(|n| *n == 0)
        {
            bucket.law.queue_empty(now, &self.params[0]);
        }
        Dequeued::Packet(packet)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.classes.iter().fold(Backlog::default(), |sum, class| Backlog {
            packets: sum.packets + class.held.packets,
            bytes: sum.bytes + class.held.bytes,
        })
    }

    crate::reports!();
}

impl<P: Packet, const CLASSES: usize> TcConfigurable<P> for CodelAf<P, CLASSES> {
    const INFO: &'static Discipline = Config::<CLASSES>::INFO;

    fn build(words: &mut TcTokens<'_>, cx: &mut BuildContext<'_, P>) -> Result<Self, TcError> {
        let (profile, random) = (cx.quirks, &mut *cx.random);
        let mut config = Config::<CLASSES>::read(words, profile)?;
        config.aqm.settle();
        Ok(Self {
            params: config.params(profile),
            clock: Clock::new(config.rate),
            config,
            profile: *profile,
            classes: core::array::from_fn(|_| Class::new()),
            buckets: Buckets::new(random.next_u64()),
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
        Ok(())
    }

    fn flush<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        for class in &mut self.classes {
            let emptied = core::mem::replace(class, Class::new());
            let bulk = emptied.bulk.into_iter().filter_map(|(_, entry)| match entry {
                Entry::Packet(packet) => Some(packet),
                Entry::Dummy => None,
            });
            for packet in emptied.sparse.into_iter().map(|(_, packet)| packet).chain(bulk) {
                self.tally.drop(now, packet, Reason::Flushed, cx);
            }
        }
        self.buckets.used().fill(Bucket::default());
    }

    fn quirks(&self) -> &QdiscQuirks {
        &self.profile
    }

    fn describe(&self) -> String {
        let Config { rate, framing, aqm } = &self.config;
        let rate = shaper::describe_rate(*rate);
        let (rtt, sce) = (aqm.describe_rtt(), aqm.describe_sce());
        format!("{rate} {rtt} {} {sce}", framing.describe())
    }
}
