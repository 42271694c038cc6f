//! `pie`: drops or marks on arrival with a probability that a proportional-integral controller steers towards
//! a target delay.
//!
//! Source: RFC 8033 and Linux: `net/sched/sch_pie.c` of 5.4; the same and `include/net/pie.h` of 5.10 to 7.3.
//! The controller runs every `tupdate`, for the first time half a second after the queue is made, by timers of the
//! kernel's wheel ([`CoarseClock`]), which make the default of 15 ms one of 20 at 250 Hz. All its arithmetic is the kernel's, in integers: probabilities are fractions of 2^64 (5.4) or 2^56 (later), times
//! are ticks of 64 ns, wide enough or not. In 5.4 it is not: a gain times a delay that jumps by more than
//! 0.4 s overflows and comes out negative.
//!
//! Two ways to know the delay ([`PieEstimator`]): backlog over the measured departure rate, or the sojourn
//! time of the last packet that left.
//!
//! Invariants: order of arrival; no early drop during the burst allowance (150 ms), nor with less than two
//! full packets held, nor while the delay is below half the target and the probability below 20 %; decisions
//! are spaced out (RFC 8033 §5.5): none before the probabilities since the last add up to 0.85, one for
//! certain at 8.5. Where Linux differs from the RFC, Linux is followed.

mod controller;

use self::controller::{Controller, Params, RATE_SCALE, TICKS_PER_SEC, seconds, ticks};
use crate::configured::{BuildContext, TcConfigurable};
use crate::profile::PieEstimator;
use crate::settings::{Setting, Settings};
use crate::show;
use crate::table::{self, DefaultValue, Discipline, Kind, OptionSpec, ValueSpec};
use crate::tally::{PacketQueue, QdiscCounters, mark};
use crate::words::{TcError, TcTokens};
use crate::xstats::{Counted, Form, Xstats};
use crate::{Backlog, Context, Dequeued, Packet, Qdisc, QdiscQuirks, Reason, Stats, Telemetry};
use crate::{options_of, report};
use sojourn_units::{CoarseClock, Span, Time};

const GAIN: &[ValueSpec] = &[ValueSpec {
    name: "SIXTEENTHS",
    kind: Kind::Count { unit: "sixteenths of a hertz", min: 0, max: 32 },
    optional: false,
}];

/// The table of `pie`.
pub const INFO: Discipline = Discipline {
    name: "pie",
    summary: "one queue whose early drops or marks a proportional-integral controller steers",
    source: "RFC 8033; Linux 5.4 to 7.3, net/sched/sch_pie.c, include/net/pie.h",
    options: options_of!(Config),
    counters: COUNTERS,
    gauges: GAUGES,
    xstats: &Xstats {
        fields: &[
            Form::Share64.of("prob"),
            Form::Micros.of("delay"),
            Form::Number.of("avg_dq_rate"),
            Form::Number.of(""),
            Form::Number.of("pkts_in"),
            Form::Number.of("dropped"),
            Form::Number.of("overlimit"),
            Form::Number.of("maxq"),
            Form::Number.of("ecn_mark"),
        ],
        signals: &[
            Counted::Drops(Reason::Tail, "overlimit"),
            Counted::OtherDrops(Reason::Early),
            Counted::Marks(Reason::Early, "ecn_mark"),
        ],
    },
    examples: &[
        "pie limit 9 target 1ms tupdate 1ms",
        "pie ecn target 0 tupdate 2ms alpha 32 beta 32",
        "pie bytemode target 500us tupdate 3ms ecn beta 0",
    ],
    changes: &["pie limit 2", "pie noecn target 5ms", "pie alpha 0"],
    ..Discipline::BASE
};

/// From creation to the first update.
const FIRST_UPDATE: Span = Span::from_millis(500);

#[derive(Clone, Debug)]
struct Config {
    limit: u32,
    params: Params,
    target_shown: Span,
    tupdate: Span,
    ecn: bool,
    clock: CoarseClock,
}

impl Settings for Config {
    const INFO: &'static Discipline = &INFO;
    const OPTIONS: &'static [Setting<Self>] = &[
        OptionSpec { preset: DefaultValue::Is("1000"), ..table::LIMIT }.sets(|config, given| config.limit = given.number()),
        OptionSpec {
            name: "target",
            values: table::TIME,
            preset: DefaultValue::Is("15ms"),
            doc: "delay that the controller aims at",
            tried: &["target 0", "target 900us", "target 30ms"],
            ..OptionSpec::BASE
        }.sets(|config, given| {
                config.params.target = given.micros().as_nanos() >> 6;
                config.target_shown = given.micros();
            }),
        OptionSpec {
            name: "tupdate",
            values: table::TIME_ABOVE_ZERO,
            preset: DefaultValue::Is("15ms"),
            doc: "time between updates of the probability, rounded up to whole timer ticks, and a tick more",
            tried: &["tupdate 1ms", "tupdate 7ms", "tupdate 40ms"],
            ..OptionSpec::BASE
        }.sets(|config, given| {
                config.tupdate = config.clock.tick() * config.clock.ticks(given.micros());
            }),
        OptionSpec {
            name: "alpha",
            values: GAIN,
            preset: DefaultValue::Is("2"),
            doc: "gain on the distance from target: 2 is 0.125 Hz",
            tried: &["alpha 0", "alpha 5", "alpha 32"],
            ..OptionSpec::BASE
        }.sets(|config, given| config.params.alpha = given.number()),
        OptionSpec {
            name: "beta",
            values: GAIN,
            preset: DefaultValue::Is("20"),
            doc: "gain on the change of the delay: 20 is 1.25 Hz",
            tried: &["beta 0", "beta 9", "beta 32"],
            ..OptionSpec::BASE
        }.sets(|config, given| config.params.beta = given.number()),
        OptionSpec {
            preset: DefaultValue::Is("noecn"),
            doc: "mark ECN-capable packets instead of dropping them while the probability is at most 10 %",
            ..table::ECN
        }.sets(|config, given| config.ecn = given.on),
        OptionSpec {
            name: "bytemode",
            off: Some("nobytemode"),
            preset: DefaultValue::Is("nobytemode"),
            doc: "scale the probability by a packet's length over the MTU",
            ..OptionSpec::BASE
        }.sets(|config, given| config.params.bytemode = given.on),
        OptionSpec {
            name: "dq_rate_estimator",
            off: Some("no_dq_rate_estimator"),
            preset: DefaultValue::Is("no_dq_rate_estimator"),
            doc: "know the delay from the departure rate; linux-5.4 always does",
            known: Some(|profile| matches!(profile.pie_estimator, PieEstimator::Timestamp)),
            ..OptionSpec::BASE
        }.sets(|config, given| config.params.by_rate = given.on),
    ];
    const CHANGE_STARTS_AFRESH: bool = false;

    fn blank(profile: &QdiscQuirks) -> Self {
        Self {
            limit: 0,
            params: Params {
                target: 0,
                alpha: 0,
                beta: 0,
                bytemode: false,
                by_rate: matches!(profile.pie_estimator, PieEstimator::DepartureRate),
            },
            target_shown: Span::ZERO,
            tupdate: Span::ZERO,
            ecn: false,
            clock: CoarseClock::new(profile.hz),
        }
    }
}

/// One queue under PIE.
#[derive(Clone, Debug)]
pub struct Pie<P> {
    config: Config,
    profile: QdiscQuirks,
    ring: PacketQueue<P>,
    controller: Controller,
    next_update: Time,
    packets_in: u64,
    overlimit: u64,
    dropped: u64,
    maxq: u32,
    ecn_mark: u64,
    tally: QdiscCounters,
}

impl<P: Packet> Pie<P> {
    #[inline]
    fn take(&mut self, now: Time, mut packet: P) {
        packet.set_stamp(now);
        self.packets_in += 1;
        self.maxq = self.maxq.max(self.ring.len());
        self.ring.push(packet);
    }

    /// The controller may go beyond certainty (see [`Controller::update`]); a report does not.
    fn probability(&self) -> f64 {
        (self.controller.prob as f64 / self.controller.one as f64).min(1.0)
    }

    /// In bytes per second, as the kernel computes it: in 32 bits, which overflow from 2.2 Gbit/s.
    fn departure_rate(&self) -> f64 {
        let rate = (u64::from(self.controller.avg_dq_rate) * TICKS_PER_SEC) >> RATE_SCALE;
        if self.config.params.by_rate { f64::from(rate as u32) } else { 0.0 }
    }
}

report! {
    impl[P: Packet] Pie<P>, pie at now;
    counters {
        prob: Probability, line 0, Always, "drop probability" => pie.probability();
        delay: Seconds, line 0, Always, "delay as last estimated" => seconds(pie.controller.qdelay);
        avg_dq_rate: BytesPerSecond, line 0, NonZero, "departure rate, where it is estimated"
            => pie.departure_rate();
        pkts_in: Count, line 1, Always, "packets taken" => pie.packets_in;
        overlimit: Count, line 1, Always, "packets refused at the limit" => pie.overlimit;
        dropped: Count, line 1, Always, "packets dropped, early or at the limit" => pie.dropped;
        maxq: Count, line 1, Always, "most packets held when one arrived" => pie.maxq;
        ecn_mark: Count, line 1, Always, "packets marked" => pie.ecn_mark;
    }
    gauges {
        prob: Probability, "drop probability" => pie.probability();
        delay: Seconds, "delay as last estimated" => seconds(pie.controller.qdelay);
        avg_dq_rate: BytesPerSecond, "departure rate, where it is estimated; 0 before the first estimate"
            => pie.departure_rate();
        accu_prob: Count, "probabilities added up since the last decision, 0 to 8.5"
            => pie.controller.accu_prob as f64 / pie.controller.one as f64;
        burst_time: Seconds, "burst allowance left" => seconds(pie.controller.burst_time);
        head_delay: Seconds, "time that the packet at the head has waited; 0 without one"
            => pie.ring.head_delay(now);
    }
}

impl<P: Packet> Qdisc<P> for Pie<P> {
    #[inline]
    fn enqueue<T: Telemetry<P>>(&mut self, now: Time, mut packet: P, cx: &mut Context<'_, T>) {
        let (held, len) = (self.ring.backlog(), packet.wire_len());
        let reason = if held.packets >= self.config.limit {
            self.overlimit += 1;
            Reason::Tail
        } else if !self.controller.signals(&self.config.params, held.bytes, len, cx.random) {
            self.take(now, packet);
            return;
        } else if self.config.ecn
            && self.controller.prob <= self.controller.one / 10
            && mark(now, &mut packet, Reason::Early, cx)
        {
            // A certain decision that ends in a mark leaves the sum where it is, so that the next is
            // certain too, until something is dropped: the kernel's way.
            self.ecn_mark += 1;
            self.take(now, packet);
            return;
        } else {
            Reason::Early
        };
        self.dropped += 1;
        self.controller.accu_prob = 0;
        self.tally.drop(now, packet, reason, cx);
    }

    #[inline]
    fn dequeue<T: Telemetry<P>>(&mut self, now: Time, _cx: &mut Context<'_, T>) -> Dequeued<P> {
        let Some(packet) = self.ring.pop() else { return Dequeued::Empty };
        let len = packet.wire_len();
        self.tally.sent(len);
        self.controller.on_departure(
            self.config.params.by_rate,
            ticks(now),
            ticks(packet.stamp()),
            len,
            self.ring.bytes(),
        );
        Dequeued::Packet(packet)
    }

    #[inline]
    fn next_timer(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn on_timer<T: Telemetry<P>>(&mut self, now: Time, _cx: &mut Context<'_, T>) {
        if now >= self.next_update {
            self.controller.update(&self.config.params, self.ring.bytes());
            self.next_update = self.config.clock.fires_after(now, self.config.tupdate);
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.ring.backlog()
    }

    fn stats(&self) -> Stats {
        self.tally.stats(self.ring.backlog(), self.counted())
    }

    fn gauges(&self, now: Time, out: &mut dyn FnMut(&'static str, f64)) {
        self.gauged(now, out);
    }
}

impl<P: Packet> TcConfigurable<P> for Pie<P> {
    const INFO: &'static Discipline = &INFO;

    fn build(words: &mut TcTokens<'_>, cx: &mut BuildContext<'_, P>) -> Result<Self, TcError> {
        let profile = cx.quirks;
        Ok(Self {
            config: Config::read(words, profile)?,
            profile: *profile,
            ring: PacketQueue::new(),
            controller: Controller::new(profile),
            next_update: CoarseClock::new(profile.hz).fires_after(Time::ZERO, FIRST_UPDATE),
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
        self.next_update = self.config.clock.fires_after(now, FIRST_UPDATE);
    }

    fn flush<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        self.ring.shorten(now, 0, Reason::Flushed, &mut self.tally, cx);
        self.controller.reset();
    }

    fn quirks(&self) -> &QdiscQuirks {
        &self.profile
    }

    fn describe(&self) -> String {
        let Config { limit, params, target_shown, tupdate, ecn, .. } = &self.config;
        let Params { alpha, beta, bytemode, by_rate, .. } = params;
        let (target, tupdate) = (show::time(*target_shown), show::time(*tupdate));
        let mut text =
            format!("limit {limit}p target {target} tupdate {tupdate} alpha {alpha} beta {beta}");
        let choosable = matches!(self.profile.pie_estimator, PieEstimator::Timestamp);
        for (on, word) in [
            (*ecn, " ecn"),
            (*bytemode, " bytemode"),
            (*by_rate && choosable, " dq_rate_estimator"),
        ] {
            if on {
                text.push_str(word);
            }
        }
        text
    }
}
