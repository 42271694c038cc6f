//! `curvy`: one queue; its marking probability grows with the square of the sojourn time between two thresholds.
//!
//! Below `low` nothing is marked, from `high` on everything is; in between a packet that waited for d is marked with
//! probability ((d - low) / (high - low))². The square makes short excursions cheap. Packets that are not ECN-capable
//! are dropped with the same probability. Both decisions are made when a packet leaves, on its own sojourn time, so there
//! is no estimator and no timer.
//!
//! Invariants: order of arrival; a Not-ECT packet is never marked; a packet that finds `limit` packets is refused.

use sojourn_qdisc::table::{self, DefaultValue, OptionSpec};
use sojourn_qdisc::{
    BuildContext, Context, Dequeued, Discipline, Family, OwnedPacket, Packet, PacketQueue, Qdisc,
    QdiscCounters, QdiscQuirks, Reason, Setting, Settings, TcConfigurable, TcError, TcTokens,
    Telemetry, mark, options_of, report, reports,
};
use sojourn_units::{Span, Time};

/// What the recorder calls a mark or a drop by the curve, in `queue_signals`.
const CURVE: Reason = Reason::Custom("curve");

/// The name, the options and the statistics: parser, messages, `tc -s` text and result tables read this.
pub const INFO: Discipline = Discipline {
    name: "curvy",
    summary: "one queue marked with the square of its sojourn time between two thresholds",
    source: "examples/own-aqm",
    options: options_of!(Config),
    counters: COUNTERS,
    gauges: GAUGES,
    ..Discipline::BASE
};

/// The options as a type.
#[derive(Clone, Debug)]
struct Config {
    limit: u32,
    low: Span,
    high: Span,
}

impl Settings for Config {
    const INFO: &'static Discipline = &INFO;
    const OPTIONS: &'static [Setting<Self>] = &[
        OptionSpec { preset: DefaultValue::Is("1000"), ..table::LIMIT }
            .sets(|config, given| config.limit = given.number()),
        OptionSpec {
            name: "low",
            values: table::TIME,
            preset: DefaultValue::Is("1ms"),
            doc: "sojourn time up to which nothing is marked",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.low = given.span()),
        OptionSpec {
            name: "high",
            values: table::TIME_ABOVE_ZERO,
            preset: DefaultValue::Is("10ms"),
            doc: "sojourn time from which everything is marked; above low",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.high = given.span()),
    ];
    // What a change does not name stays as it is.
    const CHANGE_STARTS_AFRESH: bool = false;

    fn blank(_profile: &QdiscQuirks) -> Self {
        Self { limit: 0, low: Span::ZERO, high: Span::ZERO }
    }
}

impl Config {
    /// What no single option can be wrong about.
    fn checked(self, words: &TcTokens<'_>) -> Result<Self, TcError> {
        if self.low < self.high {
            return Ok(self);
        }
        let end = words.text().len();
        let message = format!("\"low\" ({}) is not below \"high\" ({})", self.low, self.high);
        Err(words.error(end..end, message, Some("write a greater \"high\"".to_owned())))
    }

    fn probability(&self, waited: Span) -> f64 {
        let above = waited.saturating_sub(self.low).as_secs_f64();
        let share = (above / (self.high - self.low).as_secs_f64()).min(1.0);
        share * share
    }
}

/// One queue under the curve.
#[derive(Clone, Debug)]
pub struct Curvy<P> {
    config: Config,
    profile: QdiscQuirks,
    ring: PacketQueue<P>,
    tally: QdiscCounters,
    marked: u64,
    refused: u64,
}

/// Names it for a registry.
#[derive(Clone, Copy, Debug)]
pub struct CurvyFamily;

impl Family for CurvyFamily {
    type Of<P: OwnedPacket> = Curvy<P>;
}

report! {
    impl[P: Packet] Curvy<P>, curvy at now;
    counters {
        marked: Count, line 0, Always, "packets marked by the curve" => curvy.marked;
        refused: Count, line 0, Always, "packets refused at the limit" => curvy.refused;
    }
    gauges where {
        let waited = curvy.ring.first().map_or(Span::ZERO, |packet| now.since(packet.stamp()));
    } {
        head_delay: Seconds, "time that the packet at the head has waited; 0 without one"
            => waited;
        probability: Probability, "what the curve says of the head's sojourn time"
            => curvy.config.probability(waited);
    }
}

impl<P: Packet> Qdisc<P> for Curvy<P> {
    fn enqueue<T: Telemetry<P>>(&mut self, now: Time, mut packet: P, cx: &mut Context<'_, T>) {
        if self.ring.len() >= self.config.limit {
            self.refused += 1;
            self.tally.drop(now, packet, Reason::Tail, cx);
            return;
        }
        packet.set_stamp(now);
        self.ring.push(packet);
    }

    fn dequeue<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) -> Dequeued<P> {
        while let Some(mut packet) = self.ring.pop() {
            let probability = self.config.probability(now.since(packet.stamp()));
            if probability > 0.0 && cx.random.unit() < probability {
                if !mark(now, &mut packet, CURVE, cx) {
                    self.tally.drop(now, packet, CURVE, cx);
                    continue;
                }
                self.marked += 1;
            }
            self.tally.sent(packet.wire_len());
            return Dequeued::Packet(packet);
        }
        Dequeued::Empty
    }

    reports!(ring.backlog());
}

impl<P: Packet> TcConfigurable<P> for Curvy<P> {
    const INFO: &'static Discipline = &INFO;

    fn build(words: &mut TcTokens<'_>, cx: &mut BuildContext<'_, P>) -> Result<Self, TcError> {
        Ok(Self {
            config: Config::read(words, cx.quirks)?.checked(words)?,
            profile: *cx.quirks,
            ring: PacketQueue::new(),
            tally: QdiscCounters::default(),
            marked: 0,
            refused: 0,
        })
    }

    fn change<T: Telemetry<P>>(
        &mut self,
        now: Time,
        words: &mut TcTokens<'_>,
        cx: &mut Context<'_, T>,
    ) -> Result<(), TcError> {
        self.config = self.config.changed(words, &self.profile)?.0.checked(words)?;
        self.ring.shorten(now, self.config.limit, Reason::Overlimit, &mut self.tally, cx);
        Ok(())
    }

    fn flush<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        self.ring.shorten(now, 0, Reason::Flushed, &mut self.tally, cx);
    }

    fn quirks(&self) -> &QdiscQuirks {
        &self.profile
    }

    fn describe(&self) -> String {
        let Config { limit, low, high } = &self.config;
        format!("limit {limit}p low {low} high {high}")
    }
}
