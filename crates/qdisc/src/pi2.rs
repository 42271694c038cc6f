//! `pi2`: one queue with a proportional-integral controller. Packets are marked or dropped, on leaving, with the square
//! of the controller's output.
//!
//! Source: De Schepper, Bondarenko, Tsang, Briscoe, "PI²: A Linearized AQM for both Classic and Scalable TCP",
//! CoNEXT 2016; RFC 9332 appendix A; this is its C queue alone. There is no `pi2` in mainline Linux: where the paper is
//! silent, this code follows `net/sched/sch_dualpi2.c` of Linux 7.3 and shares its controller ([`crate::pi2_law`]) and
//! defaults. The paper's own: target 20 ms, tupdate 32 ms, alpha 0.3125 Hz, beta 3.125 Hz.
//!
//! The delay that the controller sees is the age of the head, every `tupdate`. A packet that leaves two full ones
//! behind is signalled at p'² ([`Reason::Classic`]); ECN-capable ones are marked up to `ecn_drop` (25 %, which is
//! where DualPI2's overload begins at k = 2) and dropped like all others beyond ([`Reason::Overload`]). With
//! `scalable`, the paper's coexistence in one queue: ECT(1) and CE are marked at k p' ([`Reason::Coupled`]) until
//! then.
//!
//! Invariants: order of arrival; a Not-ECT packet is never marked; nothing is signalled with less than two full
//! packets held.

use crate::configured::{BuildContext, TcConfigurable};
use crate::pi2_law::{self, Fraction, Gain, Law, MTU, ONE, Params, Verdict, roll_squared};
use crate::settings::{Setting, Settings};
use crate::show;
use crate::table::{self, DefaultValue, Discipline, Kind, OptionSpec, ValueSpec};
use crate::tally::{PacketQueue, QdiscCounters};
use crate::words::{TcError, TcTokens};
use crate::{Context, Dequeued, Packet, Qdisc, QdiscQuirks, Reason, Telemetry};
use crate::{options_of, report};
use sojourn_units::{Ecn, Random, Span, Time};

/// The table of `pi2`.
pub const INFO: Discipline = Discipline {
    name: "pi2",
    summary: "one queue that marks or drops with the square of a proportional-integral controller's output",
    source: "De Schepper et al., CoNEXT 2016; RFC 9332 appendix A; as Linux 7.3, net/sched/sch_dualpi2.c, where that is silent",
    options: options_of!(Config),
    counters: COUNTERS,
    gauges: GAUGES,
    examples: &[
        "pi2 limit 9 target 1us tupdate 1ms alpha 900 beta 900",
        "pi2 noecn target 2ms tupdate 2ms alpha 5000",
        "pi2 scalable ecn_drop 50% target 1ms tupdate 1ms alpha 300",
    ],
    changes: &["pi2 limit 3", "pi2 ecn_drop 0", "pi2 target 1s"],
    ..Discipline::BASE
};

#[derive(Clone, Debug)]
struct Config {
    limit: u32,
    pi: Params,
    tupdate: Span,
    ecn: bool,
    /// A share of [`ONE`] of p'².
    ecn_drop: u64,
    scalable: bool,
    coupling: u32,
}

impl Settings for Config {
    const INFO: &'static Discipline = &INFO;
    const OPTIONS: &'static [Setting<Self>] = &[
        OptionSpec { preset: DefaultValue::Is("10000"), ..table::LIMIT }
            .sets(|config, given| config.limit = given.number()),
        OptionSpec {
            name: "target",
            values: table::TIME_ABOVE_ZERO,
            preset: DefaultValue::Is("15ms"),
            doc: "delay that the controller aims at",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.pi.target = given.micros()),
        OptionSpec {
            name: "tupdate",
            values: table::TIME_ABOVE_ZERO,
            preset: DefaultValue::Is("16ms"),
            doc: "time between updates of the probability",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.tupdate = given.micros()),
        OptionSpec {
            name: "alpha",
            values: pi2_law::GAIN,
            preset: DefaultValue::Is("0.16015625"),
            doc: "gain on the distance from target, in 256ths rounded down",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.pi.alpha = Gain::from_parts(pi2_law::parts(given.real()))),
        OptionSpec {
            name: "beta",
            values: pi2_law::GAIN,
            preset: DefaultValue::Is("3.19921875"),
            doc: "gain on the change of the delay, in 256ths rounded down",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.pi.beta = Gain::from_parts(pi2_law::parts(given.real()))),
        OptionSpec { preset: DefaultValue::Is("ecn"), ..table::ECN }
            .sets(|config, given| config.ecn = given.on),
        OptionSpec {
            name: "ecn_drop",
            values: &[ValueSpec { name: "PERCENT", kind: Kind::Percent, optional: false }],
            preset: DefaultValue::Is("25%"),
            doc: "squared probability above which ECN-capable packets are dropped too",
            ..OptionSpec::BASE
        }
        .sets(|config, given| {
            let share = given.probability(0).unwrap_or(1.0);
            config.ecn_drop = (share * f64::from(ONE)).round() as u64;
        }),
        OptionSpec {
            name: "scalable",
            off: Some("noscalable"),
            preset: DefaultValue::Is("noscalable"),
            doc: "mark ECT(1) and CE with the unsquared probability times coupling_factor",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.scalable = given.on),
        OptionSpec {
            name: "coupling_factor",
            values: &[ValueSpec {
                name: "FACTOR",
                kind: Kind::Count { unit: "times", min: 1, max: u8::MAX as u64 },
                optional: false,
            }],
            preset: DefaultValue::Is("2"),
            doc: "k of scalable",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.coupling = given.number()),
    ];
    const CHANGE_STARTS_AFRESH: bool = false;

    fn blank(_profile: &QdiscQuirks) -> Self {
        Self {
            limit: 0,
            pi: Params::BLANK,
            tupdate: Span::ZERO,
            ecn: false,
            ecn_drop: 0,
            scalable: false,
            coupling: 0,
        }
    }
}

/// One queue under PI².
#[derive(Clone, Debug)]
pub struct Pi2<P> {
    config: Config,
    profile: QdiscQuirks,
    ring: PacketQueue<P>,
    law: Law,
    next_update: Time,
    delay: Span,
    fraction: Fraction,
    updates: u32,
    packets_in: u64,
    overlimit: u64,
    dropped: u64,
    maxq: u32,
    ecn_mark: u64,
    tally: QdiscCounters,
}

impl<P: Packet> Pi2<P> {
    fn age(&self, now: Time) -> Span {
        self.ring.first().map_or(Span::ZERO, |packet| now.since(packet.stamp()))
    }

    /// The decision on a packet that has been taken off the queue.
    #[inline]
    fn decide(&self, ecn: Ecn, random: &mut Random) -> Verdict {
        if self.ring.bytes() < 2 * u64::from(MTU) {
            return Verdict::Pass;
        }
        let p = self.law.prob;
        let overload = (u64::from(p) * u64::from(p)) >> 32 > self.config.ecn_drop;
        let marks = self.config.ecn && ecn.is_capable() && !overload;
        if self.config.scalable && marks && matches!(ecn, Ecn::Ect1 | Ecn::Ce) {
            let coupled = u64::from(p) * u64::from(self.config.coupling);
            let is_drawn = u64::from(random.next_u32()) <= coupled;
            return if is_drawn { Verdict::Mark(Reason::Coupled) } else { Verdict::Pass };
        }
        if !roll_squared(p, random) {
            Verdict::Pass
        } else if marks {
            Verdict::Mark(Reason::Classic)
        } else if overload {
            Verdict::Drop(Reason::Overload)
        } else {
            Verdict::Drop(Reason::Classic)
        }
    }
}

report! {
    impl[P: Packet] Pi2<P>, pi2 at now;
    counters {
        prob: Probability, line 0, Always, "base probability p'" => pi2.law.base();
        delay: Seconds, line 0, Always, "age of the head at the last update" => pi2.delay;
        pkts_in: Count, line 1, Always, "packets taken" => pi2.packets_in;
        overlimit: Count, line 1, Always, "packets refused at the limit" => pi2.overlimit;
        dropped: Count, line 1, Always, "packets dropped, by probability or at the limit"
            => pi2.dropped;
        maxq: Count, line 1, Always, "most packets held when one arrived" => pi2.maxq;
        ecn_mark: Count, line 1, Always, "packets marked" => pi2.ecn_mark;
    }
    gauges where {
        let base = pi2.law.base();
    } {
        prob: Probability, "base probability p'" => base;
        prob_c: Probability, "p' squared" => base * base;
        fraction: Probability, "share of packets that were signalled in the last 16 updates"
            => pi2.fraction.last();
        delay: Seconds, "age of the head" => pi2.age(now);
    }
}

impl<P: Packet> Qdisc<P> for Pi2<P> {
    #[inline]
    fn enqueue<T: Telemetry<P>>(&mut self, now: Time, mut packet: P, cx: &mut Context<'_, T>) {
        let held = self.ring.len();
        if held >= self.config.limit {
            self.overlimit += 1;
            self.tally.over_limit();
            self.dropped += 1;
            self.tally.drop(now, packet, Reason::Tail, cx);
            return;
        }
        packet.set_stamp(now);
        self.packets_in += 1;
        self.maxq = self.maxq.max(held);
        self.ring.push(packet);
    }

    #[inline]
    fn dequeue<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) -> Dequeued<P> {
        while let Some(mut packet) = self.ring.pop() {
            let verdict = self.decide(packet.ecn(), cx.random);
            self.fraction.count(verdict != Verdict::Pass);
            if let Some(reason) = verdict.apply(now, &mut packet, &mut self.ecn_mark, cx) {
                self.dropped += 1;
                self.tally.drop(now, packet, reason, cx);
                continue;
            }
            self.tally.sent(packet.wire_len());
            return Dequeued::Packet(packet);
        }
        Dequeued::Empty
    }

    #[inline]
    fn next_timer(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn on_timer<T: Telemetry<P>>(&mut self, now: Time, _cx: &mut Context<'_, T>) {
        if now < self.next_update {
            return;
        }
        self.delay = self.age(now);
        self.law.update(&self.config.pi, self.delay);
        self.next_update = now + self.config.tupdate;
        self.updates += 1;
        if self.updates == Fraction::UPDATES {
            self.fraction.close();
            self.updates = 0;
        }
    }

    crate::reports!(ring.backlog());
}

impl<P: Packet> TcConfigurable<P> for Pi2<P> {
    const INFO: &'static Discipline = &INFO;

    fn build(words: &mut TcTokens<'_>, cx: &mut BuildContext<'_, P>) -> Result<Self, TcError> {
        let profile = cx.quirks;
        let config = Config::read(words, profile)?;
        Ok(Self {
            next_update: Time::ZERO + config.tupdate,
            config,
            profile: *profile,
            ring: PacketQueue::new(),
            law: Law::default(),
            delay: Span::ZERO,
            fraction: Fraction::default(),
            updates: 0,
            packets_in: 0,
            overlimit: 0,
            dropped: 0,
            maxq: 0,
            ecn_mark: 0,
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
        self.ring.shorten(now, self.config.limit, Reason::Overlimit, &mut self.tally, cx);
        Ok(())
    }

    fn start(&mut self, now: Time) {
        self.next_update = now + self.config.tupdate;
    }

    fn flush<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        self.ring.shorten(now, 0, Reason::Flushed, &mut self.tally, cx);
        self.law.prob = 0;
    }

    fn quirks(&self) -> &QdiscQuirks {
        &self.profile
    }

    fn describe(&self) -> String {
        let Config { limit, pi, tupdate, ecn, ecn_drop, scalable, coupling } = &self.config;
        let word = |on: bool, yes: &'static str, no: &'static str| if on { yes } else { no };
        format!(
            "limit {limit}p target {} tupdate {} alpha {:.6} beta {:.6} {} ecn_drop {} {} coupling_factor {coupling}",
            show::time(pi.target),
            show::time(*tupdate),
            pi.alpha.shown(),
            pi.beta.shown(),
            word(*ecn, "ecn", "noecn"),
            show::percent(*ecn_drop as u32),
            word(*scalable, "scalable", "noscalable"),
        )
    }
}
