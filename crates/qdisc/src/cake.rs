//! `cake`: a shaper, up to eight tins by DSCP, fair queueing by flow and host in each, COBALT on each queue, a filter of
//! superfluous acknowledgements; and the SCE ramp of chromi/sce.
//!
//! Source: Linux 5.4 to 7.3, `net/sched/sch_cake.c`; docs/sources/queues.md; for SCE chromi/sce @05bf6c32 (docs/sources/sce.md#the-ramp-of-cake); words of
//! iproute2 6 and iproute2-sce, `tc/q_cake.c`.
//!
//! The shaper is a virtual clock without burst (`shaper`), with a second, half again as slow, that takes over when
//! the first has got far ahead. With a rate, the tin that goes is the last in their order (`diffserv3`: best effort, bulk, voice)
//! that has flows and is within its threshold (all, a sixteenth, a quarter of the rate), or, when none is, that
//! which has been beyond it for the shortest time to come. Without a rate tins take turns by weight.
//!
//! Invariants: a flow's packets keep their order within a tin; a queue's last packet is marked at most, but for the
//! buffer limit; memory held is within the limit after every packet.
//!
//! What the filter drops is counted as `ack_filter` among the drops (tc's `ack_drop` of all tins together).
//!
//! Not modelled, and refused as words: `autorate-ingress`, `ingress`, `fwmark`. Packets here are never GSO and addresses never translated, so
//! `split-gso` and `nat` have nothing to do. Where Linux is not followed: of equally long queues the first loses a packet when the buffer is
//! full (Linux has whichever its heap gives); a packet's charged length is found when it leaves, not when it comes,
//! which shows only if `overhead` is changed in between.

mod ack_filter;
mod diffserv;
mod ramp;
mod tin;

use self::ack_filter::AckFilter;
use self::diffserv::{CLASSES, Diffserv, MOST};
use self::ramp::SINGLE;
use self::tin::{Isolation, Keys, Tin};
use crate::cobalt_config::{SCE, SCE_THRESH_OFF};
use crate::configured::{BuildContext, TcConfigurable};
use crate::options_of;
use crate::report::report_classes;
use crate::settings::{Setting, Settings};
use crate::shaper::{self, Clock, Framed, Framing, HasRtt};
use crate::show;
use crate::table::{self, DefaultValue, Discipline, OptionSpec};
use crate::tally::QdiscCounters;
use crate::words::{TcError, TcTokens};
use crate::{Backlog, Context, Dequeued, Packet, Qdisc, QdiscQuirks, Reason, Telemetry};
use sojourn_units::{Dscp, Rate, Span, Time, random::mix};

/// The table of `cake`.
pub const INFO: Discipline = Discipline {
    name: "cake",
    summary: "a shaper with fair queueing by flow and host, priority by DSCP, COBALT, and an SCE ramp",
    source: "Linux 5.4 to 7.3, net/sched/sch_cake.c; SCE: chromi/sce; iproute2 6, tc/q_cake.c",
    options: options_of!(Config),
    counters: COUNTERS,
    gauges: GAUGES,
    classes: &CLASSES,
    refused: &[
        ("ingress", "charging what is dropped is not modelled"),
        (
            "autorate-ingress",
            "estimating the rate is not modelled; use an event that changes the bandwidth",
        ),
        ("fwmark", "there are no firewall marks here"),
    ],
    examples: &[
        "cake",
        "cake bandwidth 5mbit rtt 1ms memlimit 30000 sce",
        "cake bandwidth 800kbit besteffort flows internet sce-thresh 8",
        "cake bandwidth 20mbit dual-srchost rtt 100us overhead 18 mpu 64 ptm sce-single",
        "cake besteffort flowblind rtt 2ms memlimit 9000",
        "cake bandwidth 2mbit hosts rtt 50us atm memlimit 20000",
        "cake bandwidth 9mbit diffserv4 ack-filter rtt 1ms",
        "cake diffserv8 ack-filter-aggressive memlimit 40000",
        "cake bandwidth 4mbit precedence",
        "cake bandwidth 3mbit docsis ether-vlan rtt 3ms",
        "cake bandwidth 6mbit pppoe-ptm rtt 5ms",
        "cake bandwidth 1mbit pppoa-vcmux",
    ],
    changes: &[
        "cake bandwidth 1mbit",
        "cake unlimited",
        "cake besteffort",
        "cake ack-filter-aggressive",
        "cake rtt 30us sce",
        "cake memlimit 5000",
    ],
    ..Discipline::BASE
};

const SCE_THRESH: OptionSpec = OptionSpec {
    doc: "mark SCE, ECT(0) to ECT(1), on a ramp of the sojourn time from half the target, 1/N at it, 1 at twice it",
    ..SCE_THRESH_OFF
};

#[derive(Clone, Debug)]
struct Config {
    rate: Rate,
    diffserv: Diffserv,
    isolation: Isolation,
    interval: u64,
    target: u64,
    framing: Framing,
    memory_limit: Option<u32>,
    wash: bool,
    ack_filter: AckFilter,
    /// Neither changes anything; they are kept to be shown.
    nat: bool,
    split_gso: bool,
    /// The ramp's divisor; 0: no SCE.
    sce: u32,
}

impl Config {
    /// In bytes of memory (`cake_reconfigure`).
    fn buffer_limit(&self) -> u64 {
        const MOST: u64 = 10_240 * 1514;
        let most = MOST.max(self.memory_limit.map_or(0, u64::from));
        let limit = match self.memory_limit {
            Some(limit) => u64::from(limit),
            None if self.rate.is_zero() => u64::MAX,
            None => {
                let interval = u128::from(self.interval / 1_000);
                let bytes = u128::from(self.rate.bytes_per_sec()) * interval / 250_000;
                // The kernel has it in 32 bits.
                u64::from(bytes as u32).max(4 << 20)
            }
        };
        limit.min(most)
    }
}

impl Framed for Config {
    fn framing(&mut self) -> &mut Framing {
        &mut self.framing
    }
}

impl HasRtt for Config {
    fn set_rtt(&mut self, interval: Span, target: Span) {
        (self.interval, self.target) = (interval.as_nanos(), target.as_nanos());
    }
}

impl Settings for Config {
    const INFO: &'static Discipline = &INFO;
    const OPTIONS: &'static [Setting<Self>] = &[
        shaper::BANDWIDTH.sets(|config, given| config.rate = if given.on { given.rate() } else { Rate::ZERO }),
        OptionSpec {
            name: "diffserv3",
            others: &["besteffort", "diffserv4", "diffserv8", "precedence"],
            preset: DefaultValue::Is("diffserv3"),
            doc: "tins by DSCP: bulk (CS1, LE), voice (CS6, CS7, EF, VA, TOS4), best effort; a single one; four, with one for video; eight; eight by precedence",
            ..OptionSpec::BASE
        }.sets(|config, given| config.diffserv = Diffserv::of(given.word)),
        OptionSpec {
            name: "triple-isolate",
            others: &[
                "flowblind",
                "srchost",
                "dsthost",
                "hosts",
                "flows",
                "dual-srchost",
                "dual-dsthost",
            ],
            preset: DefaultValue::Is("triple-isolate"),
            doc: "whether flows or hosts have queues of their own, and whether hosts have equal shares",
            ..OptionSpec::BASE
        }.sets(|config, given| {
                let bits = Isolation::WORDS.iter().position(|word| *word == given.word);
                config.isolation = Isolation(bits.unwrap_or(0) as u8);
            }),
        shaper::rtt(),
        shaper::path(),
        shaper::overhead(),
        shaper::cells(),
        shaper::mpu(),
        shaper::framing(),
        shaper::ether_vlan(),
        OptionSpec {
            name: "memlimit",
            values: table::BYTES,
            preset: DefaultValue::Unset(
                "rate times rtt times 4, at least 4 MiB; without a rate 10240 full packets",
            ),
            doc: "memory of the packets held at most, as the kernel accounts it (skb->truesize)",
            ..OptionSpec::BASE
        }.sets(|config, given| config.memory_limit = Some(given.number())),
        OptionSpec {
            name: "wash",
            off: Some("nowash"),
            preset: DefaultValue::Is("nowash"),
            doc: "clear the DSCP of every packet, after its tin was chosen by it",
            ..OptionSpec::BASE
        }.sets(|config, given| config.wash = given.on),
        OptionSpec {
            name: "no-ack-filter",
            others: &["ack-filter", "ack-filter-aggressive"],
            preset: DefaultValue::Is("no-ack-filter"),
            doc: "drop what a later acknowledgement of the connection in the queue makes superfluous: nothing; all but two of a run; all but one",
            ..OptionSpec::BASE
        }.sets(|config, given| {
                config.ack_filter = match given.word {
                    "ack-filter" => AckFilter::Moderate,
                    "ack-filter-aggressive" => AckFilter::Aggressive,
                    _ => AckFilter::Off,
                };
            }),
        OptionSpec {
            name: "nat",
            off: Some("nonat"),
            preset: DefaultValue::Is("nonat"),
            doc: "look addresses up before translation; there is none here, so it changes nothing",
            ..OptionSpec::BASE
        }.sets(|config, given| config.nat = given.on),
        OptionSpec {
            name: "split-gso",
            off: Some("no-split-gso"),
            preset: DefaultValue::Is("split-gso"),
            doc: "split super-packets; there are none here, so it changes nothing",
            ..OptionSpec::BASE
        }.sets(|config, given| config.split_gso = given.on),
        SCE_THRESH.sets(|config, given| config.sce = if given.on { given.number() } else { 0 }),
        OptionSpec {
            others: &["sce-single"],
            doc: "the ramp of sce-thresh 1, which reaches 1 at the target; or one that begins there (sce-single)",
            ..SCE
        }.sets(|config, given| config.sce = if given.word == "sce-single" { SINGLE } else { 1 }),
    ];
    const CHANGE_STARTS_AFRESH: bool = false;

    fn blank(_profile: &QdiscQuirks) -> Self {
        Self {
            rate: Rate::ZERO,
            diffserv: Diffserv::Three,
            isolation: Isolation(0),
            interval: 0,
            target: 0,
            framing: Framing::default(),
            memory_limit: None,
            wash: false,
            ack_filter: AckFilter::Off,
            nat: false,
            split_gso: true,
            sce: 0,
        }
    }
}

/// A shaper with fair queueing by flow and host, tins by DSCP, and COBALT.
#[derive(Clone, Debug)]
pub struct Cake<P> {
    config: Config,
    profile: QdiscQuirks,
    /// Mixed into the hashes: the kernel's boot-time key.
    perturbation: u64,
    tins: Box<[Tin<P>; MOST]>,
    /// The tin that had the last turn, for when there is no rate.
    turn: usize,
    clock: Clock,
    /// The clock that goes half again as far.
    failsafe: Time,
    memory: u64,
    memory_max: u64,
    memory_limit: u64,
    tally: QdiscCounters,
}

impl<P: Packet> Cake<P> {
    /// Tells tins, clocks and buffer of the configuration.
    fn configure(&mut self) {
        let Config { rate, diffserv, interval, target, sce, .. } = self.config;
        let bytes = rate.bytes_per_sec();
        for (tin, (rate, weight)) in self.tins.iter_mut().zip(diffserv.plan(bytes)) {
            tin.configure(rate, weight, interval, target, sce);
        }
        self.clock.set_rate(rate);
        self.memory_limit = self.config.buffer_limit();
    }

    #[inline]
    const fn used_tins(&self) -> usize {
        self.config.diffserv.tins()
    }

    /// The tin of a class, by its place in [`CLASSES`].
    fn tin(&self, class: usize) -> Option<&Tin<P>> {
        self.config.diffserv.place(class).map(|tin| &self.tins[tin])
    }

    #[inline]
    fn keys(&self, packet: &P) -> Keys {
        let hash = |key: u64| (mix(key ^ self.perturbation) >> 32) as u32;
        let flow = hash(packet.flow_key());
        // Hosts count only where they are asked for; the high bits tell sources from destinations.
        let (source, destination) = packet.host_keys();
        Keys {
            flow,
            source: hash(u64::from(source) | 1 << 32),
            destination: hash(u64::from(destination) | 2 << 32),
        }
    }

    /// The tin that sends next; there are packets.
    #[inline]
    fn choose(&mut self, now: Time) -> usize {
        let tins = self.used_tins();
        if !self.config.rate.is_zero() {
            let mut best = (i64::MAX, 0);
            for (i, tin) in self.tins[..tins].iter().enumerate().filter(|(_, t)| t.has_flows()) {
                let early = tin.next.signed_since(now);
                if early <= 0 || early <= best.0 {
                    best = (early, i);
                }
            }
            return best.1;
        }
        loop {
            let tin = &mut self.tins[self.turn];
            if tin.deficit >= 0 && tin.has_flows() {
                return self.turn;
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.weight;
            }
            self.turn = (self.turn + 1) % tins;
        }
    }

    /// When the next packet may leave, if that is later than `now`: the earlier of both clocks.
    #[inline]
    fn wait(&self, now: Time) -> Option<Time> {
        self.clock.wait(now).filter(|_| self.failsafe > now).map(|at| at.min(self.failsafe))
    }

    /// Drops from the head of the longest queue until the memory held is within the limit.
    #[cold]
    fn shed<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        while self.memory > self.memory_limit {
            let tins = self.tins.iter().enumerate();
            let longest =
                tins.filter_map(|(i, tin)| tin.longest().map(|(bytes, slot)| (bytes, i, slot)));
            // The first of equals.
            let Some((_, i, slot)) = longest.reduce(|a, b| if b.0 > a.0 { b } else { a }) else {
                return;
            };
            let Some(packet) = self.tins[i].overflow(now, slot) else { return };
            self.memory -= u64::from(packet.truesize());
            self.tally.drop(now, packet, Tin::<P>::OVERFLOW, cx);
        }
    }

    fn clear<T: Telemetry<P>>(&mut self, now: Time, from: usize, cx: &mut Context<'_, T>) {
        let Self { tins, memory, tally, .. } = self;
        for tin in &mut tins[from..] {
            tin.clear(&mut |packet: P| {
                *memory -= u64::from(packet.truesize());
                tally.drop(now, packet, Reason::Flushed, cx);
            });
        }
    }
}

/// Nanoseconds as seconds.
fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

report_classes! {
    impl[P: Packet] Cake<P>, cake;
    counters {
        memory_used: Bytes, line 0, Always, "memory of the packets held" => cake.memory;
        memory_max: Bytes, line 0, Always, "the most that it has been" => cake.memory_max;
        memory_limit: Bytes, line 0, Always, "the most that it may be" => cake.memory_limit;
    }
    each tin of {
        "bulk_", line 1 => cake.tin(1);
        "best_effort_", line 2 => cake.tin(0);
        "video_", line 3 => cake.tin(3);
        "voice_", line 4 => cake.tin(2);
        "tin_0_", line 5 => cake.tin(4);
        "tin_1_", line 6 => cake.tin(5);
        "tin_2_", line 7 => cake.tin(6);
        "tin_3_", line 8 => cake.tin(7);
        "tin_4_", line 9 => cake.tin(8);
        "tin_5_", line 10 => cake.tin(9);
        "tin_6_", line 11 => cake.tin(10);
        "tin_7_", line 12 => cake.tin(11);
    }
    where { let (law, counts) = (&tin.params, &tin.counts); }
    {
        thresh: BytesPerSecond, "rate up to which the tin has priority" => tin.rate;
        target: Seconds, "its COBALT's target" => seconds(law.target);
        interval: Seconds, "its COBALT's interval" => seconds(law.interval);
        pk_delay: Seconds, "moving average of the sojourn time, quick to rise"
            => seconds(counts.peak);
        av_delay: Seconds, "moving average of the sojourn time" => seconds(counts.average);
        sp_delay: Seconds, "moving average of the sojourn time, quick to fall"
            => seconds(counts.base);
        backlog: Bytes, "bytes held" => tin.held.bytes;
        pkts: Count, "packets taken" => counts.packets;
        bytes: Bytes, "bytes taken" => counts.bytes;
        way_inds: Count, "packets found in another way of their set" => counts.way_hits;
        way_miss: Count, "times a flow was given a queue" => counts.way_misses;
        way_cols: Count, "times it had to share one" => counts.way_collisions;
        drops: Count, "packets dropped" => counts.drops;
        marks: Count, "packets marked CE, or that were CE and took a signal" => counts.marks;
        sce_marks: Count, "packets marked SCE" => counts.sce_marks;
        sp_flows: Count, "sparse flows" => tin.sparse;
        bk_flows: Count, "bulk flows" => tin.bulk;
        un_flows: Count, "flows with BLUE awake" => tin.unresponsive;
        max_len: Bytes, "largest packet seen" => counts.longest;
        quantum: Bytes, "a flow's turn" => tin.quantum;
    }
}

report_classes! {
    impl[P: Packet] Cake<P>, cake at now;
    each tin of {
        "bulk_" => cake.tin(1);
        "best_effort_" => cake.tin(0);
        "video_" => cake.tin(3);
        "voice_" => cake.tin(2);
        "tin_0_" => cake.tin(4);
        "tin_1_" => cake.tin(5);
        "tin_2_" => cake.tin(6);
        "tin_3_" => cake.tin(7);
        "tin_4_" => cake.tin(8);
        "tin_5_" => cake.tin(9);
        "tin_6_" => cake.tin(10);
        "tin_7_" => cake.tin(11);
    }
    gauges where { let state = tin.now(now); }
    {
        delay: Seconds, "longest wait of a packet at the head of its queue" => state.delay;
        backlog: Bytes, "bytes held" => tin.held.bytes;
        sp_flows: Count, "sparse flows" => tin.sparse;
        bk_flows: Count, "bulk flows" => tin.bulk;
        count: Count, "greatest COBALT count of its flows" => state.count;
        p_drop: Probability, "greatest BLUE probability of its flows" => state.p_drop;
    }
}

impl<P: Packet> Qdisc<P> for Cake<P> {
    #[inline]
    fn enqueue<T: Telemetry<P>>(&mut self, now: Time, mut packet: P, cx: &mut Context<'_, T>) {
        packet.set_stamp(now);
        let i = self.config.diffserv.tin(packet.dscp(), self.profile.cake_lower_effort);
        if self.config.wash {
            packet.set_dscp(Dscp::BEST_EFFORT);
        }
        let (keys, idle) = (self.keys(&packet), self.backlog().packets == 0);
        let isolation = self.config.isolation;
        let tin = &mut self.tins[i];
        let slot = tin.slot(keys, isolation);
        if tin.held.packets == 0 {
            tin.next = tin.next.max(now);
        }
        if idle {
            if self.clock.is_behind(now) {
                self.clock.wake(now);
                self.failsafe = now;
            } else if self.clock.wait(now).is_some() && self.failsafe > now {
                self.tally.over_limit();
            }
        }
        self.memory += u64::from(packet.truesize());
        tin.push(slot, packet, isolation);
        if self.config.ack_filter != AckFilter::Off
            && let Some(superfluous) = tin.filter(slot, self.config.ack_filter)
        {
            self.memory -= u64::from(superfluous.truesize());
            self.tally.drop(now, superfluous, Reason::AckFilter, cx);
        }
        self.memory_max = self.memory_max.max(self.memory);
        if self.memory > self.memory_limit {
            self.shed(now, cx);
        }
    }

    #[inline]
    fn dequeue<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) -> Dequeued<P> {
        if self.backlog().packets == 0 {
            return Dequeued::Empty;
        }
        if let Some(at) = self.wait(now) {
            self.tally.over_limit();
            return Dequeued::Wait(at);
        }
        let mut first = true;
        loop {
            let i = self.choose(now);
            let Self { config, tins, memory, tally, .. } = self;
            let served = tins[i].serve(now, &mut first, config.isolation, tally, memory, cx);
            let Some((slot, packet)) = served else { continue };
            let len = packet.wire_len();
            self.tally.sent(len);
            let charged = self.config.framing.charged(len);
            self.tins[i].charge(now, slot, charged);
            let time = self.clock.charge(charged);
            self.failsafe += time + Span::from_nanos(time.as_nanos() >> 1);
            cx.telemetry.leaves(self.config.diffserv.class(i));
            return Dequeued::Packet(packet);
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.tins[..self.used_tins()].iter().fold(Backlog::default(), |sum, tin| Backlog {
            packets: sum.packets + tin.held.packets,
            bytes: sum.bytes + tin.held.bytes,
        })
    }

    crate::reports!();
}

impl<P: Packet> TcConfigurable<P> for Cake<P> {
    const INFO: &'static Discipline = &INFO;

    fn build(words: &mut TcTokens<'_>, cx: &mut BuildContext<'_, P>) -> Result<Self, TcError> {
        let (profile, random) = (cx.quirks, &mut *cx.random);
        let config = Config::read(words, profile)?;
        let mut cake = Self {
            perturbation: random.next_u64(),
            clock: Clock::new(config.rate),
            config,
            profile: *profile,
            tins: Box::new(core::array::from_fn(|_| Tin::new())),
            turn: 0,
            failsafe: Time::ZERO,
            memory: 0,
            memory_max: 0,
            memory_limit: 0,
            tally: QdiscCounters::default(),
        };
        cake.configure();
        Ok(cake)
    }

    fn change<T: Telemetry<P>>(
        &mut self,
        now: Time,
        words: &mut TcTokens<'_>,
        cx: &mut Context<'_, T>,
    ) -> Result<(), TcError> {
        self.config = self.config.changed(words, &self.profile)?.0;
        self.configure();
        // Packets of tins that are no more are lost; a lowered memlimit is felt by the next packet that comes.
        self.clear(now, self.used_tins(), cx);
        self.turn = self.turn.min(self.used_tins() - 1);
        Ok(())
    }

    fn flush<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        self.clear(now, 0, cx);
    }

    fn quirks(&self) -> &QdiscQuirks {
        &self.profile
    }

    fn describe(&self) -> String {
        let c = &self.config;
        let rate = shaper::describe_rate(c.rate);
        let (tins, acks) = (c.diffserv.word(), c.ack_filter.word());
        let isolation = Isolation::WORDS[usize::from(c.isolation.0)];
        let (rtt, framing) = (shaper::describe_rtt(c.interval), c.framing.describe());
        let memory =
            c.memory_limit.map_or(String::new(), |l| format!(" memlimit {}", show::size(l.into())));
        let sce = match c.sce {
            0 => String::new(),
            1 => " sce".to_owned(),
            SINGLE => " sce-single".to_owned(),
            thresh => format!(" sce-thresh {thresh}"),
        };
        format!(
            "{rate} {tins} {isolation} {}nat {}wash {acks} {}split-gso {rtt} {framing}{memory}{sce}",
            if c.nat { "" } else { "no" },
            if c.wash { "" } else { "no" },
            if c.split_gso { "" } else { "no-" },
        )
    }
}
