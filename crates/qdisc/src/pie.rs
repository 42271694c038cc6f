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

use crate::configured::{BuildContext, TcConfigurable};
use crate::pie_config::{self, DQ_RATE_ESTIMATOR, FIRST_UPDATE, HasPie, PieConfig};
use crate::pie_law::{Controller, RATE_SCALE, TICKS_PER_SEC, seconds, ticks};
use crate::profile::PieEstimator;
use crate::settings::{Setting, Settings};
use crate::table::{self, DefaultValue, Discipline, OptionSpec};
use crate::tally::{PacketQueue, QdiscCounters, mark};
use crate::words::{TcError, TcTokens};
use crate::xstats::{Counted, Form, Xstats};
use crate::{Context, Dequeued, Packet, Qdisc, QdiscQuirks, Reason, Telemetry};
use crate::{options_of, report};
use sojourn_units::{CoarseClock, Time};

/// The table of `pie`.
pub const INFO: Discipline = Discipline {
    name: "pie",
    summary: "one queue with early drops or marks by a proportional-integral controller",
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

#[derive(Clone, Debug)]
struct Config {
    limit: u32,
    pie: PieConfig,
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
        OptionSpec { preset: DefaultValue::Is("1000"), ..table::LIMIT }.sets(|config, given| config.limit = given.number()),
        pie_config::target(),
        pie_config::tupdate(),
        pie_config::alpha(),
        pie_config::beta(),
        OptionSpec {
            preset: DefaultValue::Is("noecn"),
            doc: "mark ECN-capable packets instead of dropping them while the probability is at most 10 %",
            ..table::ECN
        }.sets(|config, given| config.ecn = given.on),
        pie_config::bytemode(),
        OptionSpec {
            doc: "know the delay from the departure rate; linux-5.4 always does",
            known: Some(|profile| matches!(profile.pie_estimator, PieEstimator::Timestamp)),
            ..DQ_RATE_ESTIMATOR
        }.sets(|config, given| config.pie.params.by_rate = given.on),
    ];
    const CHANGE_STARTS_AFRESH: bool = false;

    fn blank(profile: &QdiscQuirks) -> Self {
        let by_rate = matches!(profile.pie_estimator, PieEstimator::DepartureRate);
        Self { limit: 0, pie: PieConfig::blank(profile, by_rate), ecn: false }
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

    /// In bytes per second, as the kernel computes it: in 32 bits, which overflow from 2.2 Gbit/s.
    fn departure_rate(&self) -> f64 {
        let rate = (u64::from(self.controller.avg_dq_rate) * TICKS_PER_SEC) >> RATE_SCALE;
        if self.config.pie.params.by_rate { f64::from(rate as u32) } else { 0.0 }
    }
}

report! {
    impl[P: Packet] Pie<P>, pie at now;
    counters {
        prob: Probability, line 0, Always, "drop probability" => pie.controller.probability();
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
        prob: Probability, "drop probability" => pie.controller.probability();
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
        } else if !self.controller.signals(&self.config.pie.params, held.bytes, len, cx.random) {
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
            self.config.pie.params.by_rate,
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
            self.controller.update(&self.config.pie.params, self.ring.bytes());
            self.next_update = self.config.pie.next_update(now);
        }
    }

    crate::reports!(ring.backlog());
}

impl<P: Packet> TcConfigurable<P> for Pie<P> {
    const INFO: &'static Discipline = &INFO;

    fn build(words: &mut TcTokens<'_>, cx: &mut BuildContext<'_, P>) -> Result<Self, TcError> {
        let profile = cx.quirks;
        Ok(Self {
            config: Config::read(words, profile)?,
            profile: *profile,
            ring: PacketQueue::new(),
            controller: Controller::new(profile.pie_probability_bits),
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
        self.next_update = self.config.pie.clock.fires_after(now, FIRST_UPDATE);
    }

    fn flush<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        self.ring.shorten(now, 0, Reason::Flushed, &mut self.tally, cx);
        self.controller.reset();
    }

    fn quirks(&self) -> &QdiscQuirks {
        &self.profile
    }

    fn describe(&self) -> String {
        let Config { limit, pie, ecn } = &self.config;
        let choosable = matches!(self.profile.pie_estimator, PieEstimator::Timestamp);
        format!("limit {limit}p {}{}", pie.describe(), pie.switches(*ecn, choosable))
    }
}
