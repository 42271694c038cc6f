//! `red`: marks or drops on arrival with a probability that grows with the average queue length, in bytes.
//!
//! Source: Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", 1993; Floyd, Gummadi
//! and Shenker, "Adaptive RED", 2001; Linux 5.4 to 7.3, `net/sched/sch_red.c` and `include/net/red.h`; iproute2 6,
//! `tc/q_red.c` and `tc/tc_red.c`, which compute most of the parameters. RFC 7567 §2 no longer recommends RED as
//! the default.
//!
//! What tc computes: `max` is a quarter of `limit`, `min` a third of `max`, `burst` (2 min + max) / (3 avpkt), and
//! from these the weight of the average, 2^-ewma, and the table by which it shrinks while the queue is idle.
//!
//! On arrival the average takes in the bytes held (`avg += (held - avg) / 2^ewma`). Below `min` the packet is
//! taken; from `max` on it is signalled ([`Reason::Hard`]); between, signals ([`Reason::Early`]) are spaced uniformly
//! over 1 to 1/p packets, p growing to `probability` at `max`. A signal is a mark with `ecn`, except that
//! `harddrop` drops what is at `max`. `adaptive` moves the probability every half second (512 ms by the
//! kernel's wheel at 250 Hz, [`CoarseClock`]) so that the average
//! stays between 40 and 60 % of the way from `min` to `max`; but with a tc of June 2020 or later the probability stays
//! where it is ([`QdiscQuirks::red_adapts`], docs/linux-notes/red-adaptive.md).
//!
//! Invariants: order of arrival; with `ecn` and without `harddrop`, ECN-capable packets are lost only at `limit`.
//!
//! Linux's peculiarities, all kept: the idle table is computed in ticks of 64 ns and looked up in microseconds, and
//! takes natural logarithms for halvings, so that an idle average shrinks 22 times more slowly than meant; the
//! queue counts as idle only once a packet
//! was asked for in vain, which a shaper above does not do, so that under `htb` the average just stays; and
//! `tc qdisc change` gives it a new, empty queue: all that is held is lost.

mod average;

use self::average::{Average, Idling, Params, Signal, weight};
use crate::configured::{BuildContext, TcConfigurable};
use crate::settings::{Setting, Settings};
use crate::show;
use crate::table::{self, DefaultValue, Discipline, Inert, Kind, OptionSpec, ValueSpec};
use crate::tally::{PacketQueue, QdiscCounters, mark};
use crate::words::{TcError, TcTokens};
use crate::xstats::{Counted, Form, Xstats};
use crate::{Context, Dequeued, Packet, Qdisc, QdiscQuirks, Reason, Telemetry};
use crate::{options_of, report};
use sojourn_units::{CoarseClock, Rate, Span, Time};

/// The table of `red`.
pub const INFO: Discipline = Discipline {
    name: "red",
    summary: "one queue that signals at random, the more the longer it is on the average",
    source: "Floyd and Jacobson 1993; Linux 5.4 to 7.3, net/sched/sch_red.c; iproute2 6, tc/q_red.c, tc/tc_red.c",
    options: options_of!(Config),
    counters: COUNTERS,
    gauges: GAUGES,
    xstats: &Xstats {
        fields: &[
            Form::Number.of("early"),
            Form::Number.of("pdrop"),
            Form::Number.of("other"),
            Form::Number.of("marked"),
        ],
        signals: &[
            Counted::Drops(Reason::Early, "early"),
            Counted::OtherDrops(Reason::Tail),
            Counted::Marks(Reason::Early, "marked"),
        ],
    },
    refused: &[(
        "nodrop",
        "packets that are not ECN-capable would pass unmarked until the limit; use pfifo for those",
    )],
    examples: &[
        "red limit 9000 avpkt 500 min 1000 max 4000 probability 0.5 adaptive",
        "red limit 20000 avpkt 100 ecn burst 60 bandwidth 1mbit",
        "red limit 20000 avpkt 1000 ecn harddrop adaptive",
    ],
    changes: &["red limit 3000 min 500 avpkt 300", "red limit 90000 avpkt 1000 adaptive ecn"],
    ..Discipline::BASE
};

/// From one adaptation to the next.
const ADAPTATION: Span = Span::from_millis(500);

/// The words.
#[derive(Clone, Debug)]
struct Config {
    limit: u32,
    min: Option<u32>,
    max: Option<u32>,
    avpkt: u32,
    burst: Option<u32>,
    adaptive: bool,
    probability: f64,
    bandwidth: Rate,
    ecn: bool,
    harddrop: bool,
}

impl Settings for Config {
    const INFO: &'static Discipline = &INFO;
    const OPTIONS: &'static [Setting<Self>] = &[
        OptionSpec {
            name: "limit",
            values: table::BYTES,
            preset: DefaultValue::Required,
            doc: "bytes held at most",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.limit = given.number()),
        OptionSpec {
            name: "min",
            values: table::BYTES,
            preset: DefaultValue::Unset("a third of max"),
            doc: "average from which packets are signalled",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.min = Some(given.number())),
        OptionSpec {
            name: "max",
            values: table::BYTES,
            preset: DefaultValue::Unset("a quarter of limit; three times min, if that is given"),
            doc: "average from which every packet is signalled",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.max = Some(given.number())),
        OptionSpec {
            name: "avpkt",
            values: table::BYTES,
            preset: DefaultValue::Required,
            doc: "usual size of a packet, for the weight of the average",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.avpkt = given.number()),
        OptionSpec {
            name: "burst",
            values: &[ValueSpec {
                name: "BURST",
                kind: Kind::Count { unit: "packets", min: 1, max: 1 << 24 },
                optional: false,
            }],
            preset: DefaultValue::Unset("(2 min + max) / (3 avpkt)"),
            doc: "packets that may arrive at once before the average, from zero, is at min",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.burst = Some(given.number())),
        OptionSpec {
            name: "adaptive",
            aliases: &["adaptative"],
            preset: DefaultValue::Unset("the probability stays"),
            doc: "move the probability between 1 and 50 % so that the average stays in the middle",
            inert: Some(Inert {
                on: |profile| !profile.red_adapts,
                why: "tc of June 2020 and later (iproute2 5.7) hands \"adaptive\" over where the kernel does not look for it",
            }),
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.adaptive = given.on),
        OptionSpec {
            name: "probability",
            values: &[ValueSpec {
                name: "PROBABILITY",
                kind: Kind::Real { what: "a probability", min: 0.0, max: 1.0 },
                optional: false,
            }],
            preset: DefaultValue::Is("0.02"),
            doc: "probability of a signal at max; where adaptive begins",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.probability = given.real()),
        OptionSpec {
            name: "bandwidth",
            values: table::RATE,
            preset: DefaultValue::Is("10mbit"),
            doc: "rate of the link, by which the average shrinks while the queue is idle",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.bandwidth = given.rate()),
        OptionSpec {
            name: "ecn",
            preset: DefaultValue::Unset("packets are dropped"),
            doc: "mark ECN-capable packets instead of dropping them",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.ecn = given.on),
        OptionSpec {
            name: "harddrop",
            preset: DefaultValue::Unset("ecn marks there too"),
            doc: "drop ECN-capable packets where the average is at max",
            ..OptionSpec::BASE
        }
        .sets(|config, given| config.harddrop = given.on),
    ];
    // tc computes a whole configuration from the words of a change.
    const CHANGE_STARTS_AFRESH: bool = true;

    fn blank(_profile: &QdiscQuirks) -> Self {
        Self {
            limit: 0,
            min: None,
            max: None,
            avpkt: 0,
            burst: None,
            adaptive: false,
            probability: 0.0,
            bandwidth: Rate::ZERO,
            ecn: false,
            harddrop: false,
        }
    }
}

impl Config {
    /// What tc computes and the kernel checks.
    fn compute(&self, words: &TcTokens<'_>) -> Result<Params, TcError> {
        let end = words.text().len();
        let wrong = |message: String, help: String| words.error(end..end, message, Some(help));
        let max = self
            .max
            .unwrap_or_else(|| self.min.map_or(self.limit / 4, |min| min.saturating_mul(3)));
        let min = self.min.unwrap_or(max / 3);
        if max <= min {
            let message = format!("\"max\" {max} is not above \"min\" {min}");
            return Err(wrong(message, "write a greater max or limit".to_owned()));
        }
        let burst = self.burst.unwrap_or_else(|| {
            ((2 * u64::from(min) + u64::from(max)) / (3 * u64::from(self.avpkt))) as u32
        });
        let Some(weight_log) = weight(min, burst, self.avpkt) else {
            let message =
                format!("a \"burst\" of {burst} packets of {} bytes is too small", self.avpkt);
            return Err(wrong(message, format!("write burst {}", 1 + min / self.avpkt)));
        };
        // In the kernel the scaled threshold is 32 bits.
        if 32 - max.leading_zeros() + weight_log >= 32 {
            let message = format!("\"max\" {max} with a weight of 1/2^{weight_log} is too large");
            return Err(wrong(message, "write a smaller max or burst".to_owned()));
        }
        let Some(idling) = Idling::new(weight_log, self.avpkt, self.bandwidth) else {
            let message = format!("\"bandwidth\" {} is too low", self.bandwidth);
            return Err(wrong(message, "write the rate of the link".to_owned()));
        };
        Ok(Params { min, max, weight_log, idling })
    }

    /// The probability as tc hands it over.
    fn max_p(&self) -> u32 {
        (self.probability * 4_294_967_296.0) as u32
    }
}

/// One queue under RED.
#[derive(Clone, Debug)]
pub struct Red<P> {
    config: Config,
    params: Params,
    profile: QdiscQuirks,
    ring: PacketQueue<P>,
    average: Average,
    next_adaptation: Time,
    marked: u64,
    early: u64,
    pdrop: u64,
    tally: QdiscCounters,
}

impl<P: Packet> Red<P> {
    fn adapts(&self) -> bool {
        self.config.adaptive && self.profile.red_adapts
    }

    fn clock(&self) -> CoarseClock {
        CoarseClock::new(self.profile.hz)
    }

    fn drop_all<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        self.ring.shorten(now, 0, Reason::Flushed, &mut self.tally, cx);
    }
}

report! {
    impl[P: Packet] Red<P>, red at now;
    counters {
        marked: Count, line 0, Always, "packets marked" => red.marked;
        early: Count, line 0, Always, "packets dropped by the average" => red.early;
        pdrop: Count, line 0, Always, "packets dropped at the limit" => red.pdrop;
        other: Count, line 0, Always, "none any more" => 0.0;
    }
    gauges {
        average: Bytes, "average queue length" => red.average.bytes(&red.params);
        max_p: Probability, "probability of a signal at max"
            => f64::from(red.average.max_p) / 4_294_967_296.0;
        head_delay: Seconds, "time that the packet at the head has waited; 0 without one"
            => red.ring.head_delay(now);
    }
}

impl<P: Packet> Qdisc<P> for Red<P> {
    #[inline]
    fn enqueue<T: Telemetry<P>>(&mut self, now: Time, mut packet: P, cx: &mut Context<'_, T>) {
        let held = self.ring.bytes();
        let signal = self.average.arrival(&self.params, now, held, cx.random);
        let reason = match signal {
            Signal::None => None,
            Signal::Early => Some(Reason::Early),
            Signal::Hard => Some(Reason::Hard),
        };
        if let Some(reason) = reason {
            self.tally.over_limit();
            let may_mark = self.config.ecn && !(self.config.harddrop && signal == Signal::Hard);
            if may_mark && mark(now, &mut packet, reason, cx) {
                self.marked += 1;
            } else {
                self.early += 1;
                self.tally.drop(now, packet, reason, cx);
                return;
            }
        }
        if held + u64::from(packet.wire_len()) > u64::from(self.config.limit) {
            self.pdrop += 1;
            self.tally.drop(now, packet, Reason::Tail, cx);
        } else {
            packet.set_stamp(now);
            self.ring.push(packet);
        }
    }

    #[inline]
    fn dequeue<T: Telemetry<P>>(&mut self, now: Time, _cx: &mut Context<'_, T>) -> Dequeued<P> {
        let Some(packet) = self.ring.pop() else {
            self.average.idles(now);
            return Dequeued::Empty;
        };
        self.tally.sent(packet.wire_len());
        Dequeued::Packet(packet)
    }

    #[inline]
    fn next_timer(&self) -> Option<Time> {
        self.adapts().then_some(self.next_adaptation)
    }

    fn on_timer<T: Telemetry<P>>(&mut self, now: Time, _cx: &mut Context<'_, T>) {
        if self.adapts() && now >= self.next_adaptation {
            self.average.adapt(&self.params, now);
            self.next_adaptation = self.clock().fires_after(now, ADAPTATION);
        }
    }

    crate::reports!(ring.backlog());
}

impl<P: Packet> TcConfigurable<P> for Red<P> {
    const INFO: &'static Discipline = &INFO;

    fn build(words: &mut TcTokens<'_>, cx: &mut BuildContext<'_, P>) -> Result<Self, TcError> {
        let profile = cx.quirks;
        let config = Config::read(words, profile)?;
        let params = config.compute(words)?;
        Ok(Self {
            average: Average::new(&params, config.max_p(), Time::ZERO),
            config,
            params,
            profile: *profile,
            ring: PacketQueue::new(),
            next_adaptation: CoarseClock::new(profile.hz).fires_after(Time::ZERO, ADAPTATION),
            marked: 0,
            early: 0,
            pdrop: 0,
            tally: QdiscCounters::default(),
        })
    }

    fn change<T: Telemetry<P>>(
        &mut self,
        now: Time,
        words: &mut TcTokens<'_>,
        cx: &mut Context<'_, T>,
    ) -> Result<(), TcError> {
        let config = self.config.changed(words, &self.profile)?.0;
        self.params = config.compute(words)?;
        self.config = config;
        self.drop_all(now, cx);
        self.start(now);
        Ok(())
    }

    fn start(&mut self, now: Time) {
        self.average = Average::new(&self.params, self.config.max_p(), now);
        self.next_adaptation = self.clock().fires_after(now, ADAPTATION);
    }

    fn flush<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        self.drop_all(now, cx);
        self.average.reset();
    }

    fn quirks(&self) -> &QdiscQuirks {
        &self.profile
    }

    fn describe(&self) -> String {
        let Params { min, max, weight_log, idling } = &self.params;
        let size = |bytes: u32| show::size(bytes.into());
        let mut text =
            format!("limit {} min {} max {}", size(self.config.limit), size(*min), size(*max));
        for (on, word) in [
            (self.config.ecn, " ecn"),
            (self.config.harddrop, " harddrop"),
            (self.config.adaptive, " adaptive"),
        ] {
            if on {
                text.push_str(word);
            }
        }
        let max_p = show::significant(f64::from(self.average.max_p) / 4_294_967_296.0, 6);
        text + &format!(" ewma {weight_log} probability {max_p} Scell_log {}", idling.cell_log)
    }
}
