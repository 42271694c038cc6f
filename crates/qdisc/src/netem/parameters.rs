//! netem's settings as one typed thing: read from tc's words, asked, changed, and written as words again.
//!
//! Whoever wants to know what a netem does to a packet's delay asks here; nobody else reads netem's words.
//!
//! Invariant: written words read back to the same settings. Shares are kept as the kernel has them, in 32 bits, and
//! written with as many digits as it takes.

use super::distribution::Distribution;
use super::loss::Loss;
use super::slot::SlotConfig;
use crate::options_of;
use crate::settings::{ParsedOption, Setting, Settings};
use crate::table::{self, DefaultValue, Kind, OptionSpec, ValueSpec};
use crate::words::{TcError, TcTokens};
use crate::{Discipline, QdiscQuirks};
use core::fmt;
use sojourn_units::{Rate, Span};

/// The part of netem's table that says which words it takes.
pub(super) const WORDS: Discipline = Discipline {
    name: "netem",
    options: options_of!(Parameters),
    refused: &[
        (
            "corrupt",
            "a flipped bit is found by a checksum and the packet dropped at its host: loss behind the queue",
        ),
        ("seed", "the run's seed is the experiment's; each netem has a stream of its own"),
    ],
    examples: &[
        "netem delay 3ms limit 6",
        "netem delay 2ms 2ms 20% loss 10% limit 9",
        "netem",
        "netem delay 2ms 3ms distribution pareto rate 9mbit 10 48 5 limit 9",
        "netem rate 900kbit loss state 20% 30% 10% 50% 10% limit 9",
    ],
    changes: &["netem delay 1ms", "netem delay 9ms 1ms limit 3", "netem loss 50% 30% ecn"],
    ..Discipline::BASE
};

/// The longest delay that is taken: an hour.
const LONGEST: u64 = 3_600_000_000_000;

const PERCENT_CORRELATION: &[ValueSpec] = &[
    ValueSpec { name: "PERCENT", kind: Kind::Percent, optional: false },
    ValueSpec { name: "CORRELATION", kind: Kind::Percent, optional: true },
];
const SMALL: Kind = Kind::Count { unit: "bytes", min: 0, max: u16::MAX as u64 };
// The kernel keeps both in 31 bits.
const MOST_PACKETS: &[ValueSpec] = &[ValueSpec {
    name: "PACKETS",
    kind: Kind::Count { unit: "packets", min: 0, max: i32::MAX as u64 },
    optional: false,
}];
const MOST_BYTES: &[ValueSpec] = &[ValueSpec {
    name: "BYTES",
    kind: Kind::Size { min: 0, max: i32::MAX as u64 },
    optional: false,
}];

/// The places of the correlations.
pub(super) const DELAY: usize = 0;
pub(super) const LOSS: usize = 1;
pub(super) const DUPLICATE: usize = 2;
pub(super) const REORDER: usize = 3;

/// A probability as tc hands it over: in 32 bits, 100 % being all ones (`get_percent`).
fn percent(probability: Option<f64>) -> u32 {
    (probability.unwrap_or(0.0) * f64::from(u32::MAX)).round_ties_even() as u32
}

/// The `nth` probability of an option, none being 0.
fn share(given: &ParsedOption, nth: usize) -> u32 {
    percent(given.probability(nth))
}

/// A slot's configuration before any words set it.
const NO_SLOT: SlotConfig = SlotConfig { min: Span::ZERO, max: Span::ZERO, packets: 0, bytes: 0 };

/// `rate RATE PACKETOVERHEAD CELLSIZE CELLOVERHEAD`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pace {
    pub(super) rate: Rate,
    pub(super) overhead: u32,
    /// 0: not cut into cells.
    pub(super) cell: u32,
    pub(super) cell_overhead: u32,
}

impl Pace {
    /// The time of a packet (`packet_time_ns`), rounded down.
    #[inline]
    pub(super) fn time(&self, len: u32) -> Span {
        let mut len = u64::from(len) + u64::from(self.overhead);
        if self.cell > 0 {
            let cells = len.div_ceil(u64::from(self.cell));
            len = cells * u64::from(self.cell + self.cell_overhead);
        }
        Span::from_nanos(len * 1_000_000_000 / self.rate.bytes_per_sec().max(1))
    }
}

/// The settings of a netem: `delay 10ms 2ms loss 1% limit 1000`.
///
/// ```
/// use sojourn_qdisc::{QdiscQuirks, netem::Parameters};
/// use sojourn_units::Span;
/// # fn main() -> Result<(), sojourn_qdisc::TcError> {
/// let netem = Parameters::parse("latency 10ms limit 500", &QdiscQuirks::LINUX_7_3)?;
/// assert_eq!((netem.delay(), netem.limit(), netem.varies()), (Span::from_millis(10), 500, false));
/// assert_eq!(netem.with_delay(Span::from_millis(40)).to_string(), "delay 40000us limit 500");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameters {
    pub(super) limit: u32,
    pub(super) delay: Span,
    /// Nanoseconds.
    pub(super) jitter: u32,
    pub(super) distribution: Option<Distribution>,
    pub(super) rate: Option<Pace>,
    pub(super) loss: Loss,
    pub(super) ecn: bool,
    pub(super) duplicate: u32,
    pub(super) reorder: u32,
    /// 0 without reordering.
    pub(super) gap: u32,
    pub(super) slot: Option<SlotConfig>,
    /// Of delay, loss, copies and reordering.
    pub(super) correlations: [u32; 4],
    /// What is wrong with the options taken together, if anything.
    conflict: Option<&'static str>,
}

impl Parameters {
    /// From tc's words behind the name `netem`, as the kernel of `profile` reads them.
    ///
    /// # Errors
    /// Whatever is wrong with the words, with its place in them.
    pub fn parse(words: &str, profile: &QdiscQuirks) -> Result<Self, TcError> {
        let mut words = TcTokens::new(words);
        let (parameters, given) = Self::read_given(&mut words, profile, false)?;
        parameters.completed(&given, &words)
    }

    /// The packets held at most, those on their way included.
    pub const fn limit(&self) -> u32 {
        self.limit
    }

    /// The constant part of the delay: jitter is around it; the time that a packet takes at a rate, and the wait for
    /// a slot, come on top.
    pub const fn delay(&self) -> Span {
        self.delay
    }

    /// The rate at which it sends one packet after the other, if it has one.
    pub fn rate(&self) -> Option<Rate> {
        self.rate.map(|pace| pace.rate)
    }

    /// The share of packets that it loses, or marks instead, in the long run: 0 to 1.
    ///
    /// ```
    /// use sojourn_qdisc::{QdiscQuirks, netem::Parameters};
    /// # fn main() -> Result<(), sojourn_qdisc::TcError> {
    /// let per_mille = |words| -> Result<f64, sojourn_qdisc::TcError> {
    ///     Ok((Parameters::parse(words, &QdiscQuirks::LINUX_7_3)?.loss() * 1000.0).round())
    /// };
    /// assert_eq!(per_mille("delay 1ms")?, 0.0);
    /// assert_eq!(per_mille("loss 2%")?, 20.0);
    /// // A tenth of the packets find the bad state, which loses all; of the others 5 % are lost.
    /// assert_eq!(per_mille("loss gemodel 1% 9% 100% 5%")?, 145.0);
    /// // A burst of two on the average begins with 1 %: 0.02 of 1.02; alone another 1 %.
    /// assert_eq!(per_mille("loss state 1% 50%")?, 20.0);
    /// assert_eq!(per_mille("loss state 1% 50% 0% 100% 1%")?, 29.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn loss(&self) -> f64 {
        self.loss.share()
    }

    /// The same with another constant delay.
    pub fn with_delay(self, delay: Span) -> Self {
        Self { delay, ..self }
    }

    /// The settings after `tc qdisc change` with these words. Rate, slots, shape of the jitter, marking and correlations stay
    /// where the words do not mention them; all others begin afresh.
    ///
    /// # Errors
    /// Whatever is wrong with the words, with its place in them.
    ///
    /// ```
    /// use sojourn_qdisc::{QdiscQuirks, netem::Parameters};
    /// # fn main() -> Result<(), sojourn_qdisc::TcError> {
    /// let linux = &QdiscQuirks::LINUX_7_3;
    /// let netem = Parameters::parse("delay 10ms loss 1% rate 8mbit limit 500", linux)?;
    /// let changed = netem.changed_by("delay 20ms", linux)?;
    /// assert_eq!(changed.to_string(), "delay 20000us rate 8000000bit limit 1000");
    /// # Ok(())
    /// # }
    /// ```
    pub fn changed_by(&self, words: &str, profile: &QdiscQuirks) -> Result<Self, TcError> {
        let mut words = TcTokens::new(words);
        let (config, given) = self.changed(&mut words, profile)?;
        Ok(config.completed(&given, &words)?.after(self, &given))
    }

    /// With what stays of the settings `before`, because it is not among the options that were `given`.
    pub(super) fn after(mut self, before: &Self, given: &[ParsedOption]) -> Self {
        let has = |name| given.iter().any(|g| g.name == name);
        // Their attributes are handed over only if they are given.
        if !has("slot") {
            self.slot = before.slot;
        }
        if !has("distribution") {
            self.distribution = before.distribution;
        }
        if !has("rate") {
            self.rate = before.rate;
        }
        self.ecn |= before.ecn;
        // tc hands correlations over only if there are any.
        if !self.is_correlated() {
            self.correlations = before.correlations;
        }
        self
    }

    /// Whether any draw depends on the one before.
    pub(super) fn is_correlated(&self) -> bool {
        self.correlations.iter().any(|&rho| rho != 0)
    }

    /// tc's words after which, by `qdisc change`, a netem of these settings lets every packet pass at once.
    ///
    /// ```
    /// use sojourn_qdisc::{QdiscQuirks, netem::Parameters};
    /// # fn main() -> Result<(), sojourn_qdisc::TcError> {
    /// let netem = Parameters::parse("delay 10ms rate 8mbit", &QdiscQuirks::LINUX_7_3)?;
    /// assert_eq!(netem.opened(), "rate 0 limit 1000000");
    /// # Ok(())
    /// # }
    /// ```
    pub fn opened(&self) -> String {
        let of = |is_set: bool, words: &'static str| if is_set { words } else { "" };
        let (rate, slot) = (of(self.rate.is_some(), "rate 0 "), of(self.slot.is_some(), "slot 0 "));
        format!("{rate}{slot}limit 1000000")
    }

    /// Whether it does more than delay every packet by [`Parameters::delay`]: packets wait unevenly, or some are lost,
    /// marked, copied or reordered.
    pub fn varies(&self) -> bool {
        let Self {
            limit: _,
            delay: _,
            jitter,
            // The shape of the jitter.
            distribution: _,
            rate,
            loss,
            // Instead of a loss.
            ecn: _,
            duplicate,
            reorder,
            // Of reordering.
            gap: _,
            slot,
            correlations: _,
            conflict: _,
        } = self;
        *jitter != 0
            || rate.is_some()
            || !matches!(loss, Loss::None)
            || *duplicate != 0
            || *reorder != 0
            || slot.is_some()
    }
}

/// A time in microseconds, which tc of any age reads.
struct Micros(Span);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0.as_nanos() / 1000, self.0.as_nanos() % 1000);
        match part {
            0 => write!(f, "{whole}us"),
            _ => write!(f, "{whole}.{part:03}us"),
        }
    }
}

/// A share of all ones in 32 bits, exactly.
struct Percent(u32);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", f64::from(self.0) * 100.0 / f64::from(u32::MAX))
    }
}

impl fmt::Display for Parameters {
    /// tc's words behind `netem`, which read as the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rho = self.correlations;
        let correlated = |f: &mut fmt::Formatter<'_>, name, share, rho| match (share, rho) {
            (0, 0) => Ok(()),
            (_, 0) => write!(f, "{name} {} ", Percent(share)),
            _ => write!(f, "{name} {} {} ", Percent(share), Percent(rho)),
        };
        if !self.delay.is_zero() || self.jitter != 0 || rho[DELAY] != 0 {
            write!(f, "delay {} ", Micros(self.delay))?;
            if self.jitter != 0 || rho[DELAY] != 0 {
                write!(f, "{} ", Micros(Span::from_nanos(self.jitter.into())))?;
            }
            if rho[DELAY] != 0 {
                write!(f, "{} ", Percent(rho[DELAY]))?;
            }
        }
        if let Some(shape) = self.distribution {
            write!(f, "distribution {} ", shape.name())?;
        }
        if let Some(Pace { rate, overhead, cell, cell_overhead }) = self.rate {
            write!(f, "rate {}bit ", rate.bits_per_sec())?;
            if overhead != 0 || cell != 0 || cell_overhead != 0 {
                write!(f, "{overhead} {cell} {cell_overhead} ")?;
            }
        }
        match self.loss {
            Loss::None => correlated(f, "loss", 0, rho[LOSS])?,
            Loss::Random(share) => correlated(f, "loss", share, rho[LOSS])?,
            Loss::GilbertElliott { p, r, h, k1 } => {
                let [p, r, lost, k1] = [p, r, u32::MAX - h, k1].map(Percent);
                write!(f, "loss gemodel {p} {r} {lost} {k1} ")?;
            }
            Loss::FourStates { p13, p31, p32, p23, p14 } => {
                let [p13, p31, p32, p23, p14] = [p13, p31, p32, p23, p14].map(Percent);
                write!(f, "loss state {p13} {p31} {p32} {p23} {p14} ")?;
            }
        }
        if self.ecn {
            f.write_str("ecn ")?;
        }
        correlated(f, "duplicate", self.duplicate, rho[DUPLICATE])?;
        correlated(f, "reorder", self.reorder, rho[REORDER])?;
        if self.gap != 0 {
            write!(f, "gap {} ", self.gap)?;
        }
        if let Some(SlotConfig { min, max, packets, bytes }) = self.slot {
            // tc wants the limits of a slot right behind it.
            write!(f, "slot {} {} ", Micros(min), Micros(max))?;
            if packets != 0 {
                write!(f, "packets {packets} ")?;
            }
            if bytes != 0 {
                write!(f, "bytes {bytes} ")?;
            }
        }
        write!(f, "limit {}", self.limit)
    }
}

impl Settings for Parameters {
    const INFO: &'static Discipline = &WORDS;
    const OPTIONS: &'static [Setting<Self>] = &[
        OptionSpec {
            preset: DefaultValue::Is("1000"),
            doc: "packets held at most, those on their way included",
            ..table::LIMIT
        }.sets(|config: &mut Self, given| config.limit = given.number()),
        OptionSpec {
            name: "delay",
            aliases: &["latency"],
            values: &[
                ValueSpec {
                    name: "TIME",
                    kind: Kind::Span { min: 0, max: LONGEST },
                    optional: false,
                },
                ValueSpec {
                    name: "JITTER",
                    // The kernel keeps it in 31 bits.
                    kind: Kind::Span { min: 0, max: i32::MAX as u64 },
                    optional: true,
                },
                ValueSpec { name: "CORRELATION", kind: Kind::Percent, optional: true },
            ],
            preset: DefaultValue::Unset("none"),
            doc: "delay of each packet; it varies uniformly by up to JITTER either way, or as distribution says",
            tried: &["delay 0", "delay 4ms", "delay 9ms 5ms", "delay 30ms 1ms 100%", "delay 1ms 2ms 30%"],
            ..OptionSpec::BASE
        }.sets(|config: &mut Self, given| {
            config.delay = given.span();
            config.jitter = given.nth_span(1).map_or(0, |jitter| jitter.as_nanos() as u32);
            config.correlations[DELAY] = share(given, 0);
        }),
        OptionSpec {
            name: "distribution",
            values: &[ValueSpec {
                name: "SHAPE",
                kind: Kind::Word(Distribution::WORDS),
                optional: false,
            }],
            preset: DefaultValue::Is("uniform"),
            doc: "shape of the jitter: normal (JITTER is its standard deviation), pareto (from 2/3 JITTER below the \
                  delay to 4 above, most near the least), or 1/4 and 3/4 of them",
            ..OptionSpec::BASE
        }.sets(|config: &mut Self, given| {
            let word = Distribution::WORDS.iter().find(|word| given.has(word));
            config.distribution = word.and_then(|word| Distribution::named(word));
        }),
        OptionSpec {
            name: "rate",
            values: &[
                ValueSpec { name: "RATE", kind: Kind::Rate, optional: false },
                ValueSpec { name: "PACKETOVERHEAD", kind: SMALL, optional: true },
                ValueSpec { name: "CELLSIZE", kind: SMALL, optional: true },
                ValueSpec { name: "CELLOVERHEAD", kind: SMALL, optional: true },
            ],
            preset: DefaultValue::Unset("packets take no time"),
            doc: "packets leave one after the other at this rate; bytes added to each, and the size of the cells that \
                  it is cut into with bytes added to each of those",
            ..OptionSpec::BASE
        }.sets(|config: &mut Self, given| {
            let number = |nth| given.nth_number(nth).unwrap_or(0);
            config.rate = Some(Pace {
                rate: given.rate(),
                overhead: number(0),
                cell: number(1),
                cell_overhead: number(2),
            });
        }),
        OptionSpec {
            name: "loss",
            aliases: &["drop"],
            values: &[
                ValueSpec { name: "random", kind: Kind::Keyword("random"), optional: true },
                ValueSpec { name: "gemodel", kind: Kind::Keyword("gemodel"), optional: true },
                ValueSpec { name: "state", kind: Kind::Keyword("state"), optional: true },
                ValueSpec { name: "PERCENT", kind: Kind::Percent, optional: false },
                ValueSpec { name: "CORRELATION|R|P31", kind: Kind::Percent, optional: true },
                ValueSpec { name: "1-H|P32", kind: Kind::Percent, optional: true },
                ValueSpec { name: "1-K|P23", kind: Kind::Percent, optional: true },
                ValueSpec { name: "P14", kind: Kind::Percent, optional: true },
            ],
            preset: DefaultValue::Unset("none"),
            doc: "probability that a packet is lost on arrival; after gemodel (Gilbert-Elliott) the probabilities \
                  to turn bad, to turn good again (default: 100% less the first), of loss while bad (100%) and \
                  of loss while good (0%); after state those of a chain of four states, from good to a burst of \
                  losses (P13), back (P31, 100% less P13), from loss to a gap inside the burst (P32, 0%) and back \
                  (P23, 100%), and of a lone loss while good (P14, 0%)",
            tried: &["loss 0.1%", "loss 3%", "loss random 10% 50%"],
            ..OptionSpec::BASE
        }.sets(Self::set_loss),
        OptionSpec {
            name: "ecn",
            preset: DefaultValue::Unset("packets are lost"),
            doc: "mark ECN-capable packets instead of losing them",
            tried: &["ecn"],
            ..OptionSpec::BASE
        }.sets(|config: &mut Self, given| config.ecn = given.on),
        OptionSpec {
            name: "duplicate",
            values: PERCENT_CORRELATION,
            preset: DefaultValue::Unset("none"),
            doc: "probability that a packet comes twice",
            ..OptionSpec::BASE
        }.sets(|config: &mut Self, given| {
            config.duplicate = share(given, 0);
            config.correlations[DUPLICATE] = share(given, 1);
        }),
        OptionSpec {
            name: "reorder",
            values: PERCENT_CORRELATION,
            preset: DefaultValue::Unset("none"),
            doc: "probability that a packet is not delayed, and leaves ahead of those that are",
            ..OptionSpec::BASE
        }.sets(|config: &mut Self, given| {
            config.reorder = share(given, 0);
            config.correlations[REORDER] = share(given, 1);
        }),
        OptionSpec {
            name: "gap",
            values: table::PACKETS,
            preset: DefaultValue::Unset("1"),
            doc: "with reorder: only every PACKETS-th packet may be reordered",
            ..OptionSpec::BASE
        }.sets(|config: &mut Self, given| config.gap = given.number()),
        OptionSpec {
            name: "slot",
            values: &[
                ValueSpec {
                    name: "MIN",
                    kind: Kind::Span { min: 0, max: LONGEST },
                    optional: false,
                },
                ValueSpec {
                    name: "MAX",
                    kind: Kind::Span { min: 0, max: LONGEST },
                    optional: true,
                },
            ],
            preset: DefaultValue::Unset("packets leave when they are due"),
            doc: "packets leave in bursts, when a slot opens: from MIN to MAX after the one before",
            ..OptionSpec::BASE
        }.sets(|config: &mut Self, given| {
            let slot = config.slot.get_or_insert(NO_SLOT);
            slot.min = given.span();
            slot.max = given.nth_span(1).unwrap_or(slot.min).max(slot.min);
        }),
        OptionSpec {
            name: "packets",
            values: MOST_PACKETS,
            preset: DefaultValue::Unset("all that are due"),
            doc: "with slot: packets that leave in a slot at most",
            ..OptionSpec::BASE
        }.sets(|config: &mut Self, given| config.slot.get_or_insert(NO_SLOT).packets = given.number()),
        OptionSpec {
            name: "bytes",
            values: MOST_BYTES,
            preset: DefaultValue::Unset("all that are due"),
            doc: "with slot: bytes after which a slot closes",
            ..OptionSpec::BASE
        }.sets(|config: &mut Self, given| config.slot.get_or_insert(NO_SLOT).bytes = given.number()),
    ];
    // tc hands over most of it in one structure, given or not.
    const CHANGE_STARTS_AFRESH: bool = true;

    fn blank(_profile: &QdiscQuirks) -> Self {
        Self {
            limit: 0,
            delay: Span::ZERO,
            jitter: 0,
            distribution: None,
            rate: None,
            loss: Loss::None,
            ecn: false,
            duplicate: 0,
            reorder: 0,
            gap: 0,
            slot: None,
            correlations: [0; 4],
            conflict: None,
        }
    }
}

impl Parameters {
    fn set_loss(&mut self, given: &ParsedOption) {
        let share = |nth| share(given, nth);
        if given.has("gemodel") {
            let p = share(0);
            self.loss = Loss::GilbertElliott {
                p,
                r: given.probability(1).map_or(u32::MAX - p, |r| percent(Some(r))),
                h: given.probability(2).map_or(0, |lost| u32::MAX - percent(Some(lost))),
                k1: share(3),
            };
        } else if given.has("state") {
            let p13 = share(0);
            let or = |nth, else_| given.probability(nth).map_or(else_, |p| percent(Some(p)));
            let (p31, p32, p14) = (or(1, u32::MAX - p13), share(2), share(4));
            self.loss = Loss::FourStates { p13, p31, p32, p23: or(3, u32::MAX), p14 };
            if p13.checked_add(p14).is_none() || p31.checked_add(p32).is_none() {
                self.conflict =
                    Some("\"loss state\": P13 and P14, and P31 and P32, add up to 100% at most");
            }
        }
        let models = ["random", "gemodel", "state"].iter().filter(|model| given.has(model)).count();
        if models > 1 {
            self.conflict = Some("\"loss\" is one of random, gemodel and state");
        }
        if given.probability(4).is_some() && !given.has("state") {
            self.conflict = Some("only \"loss state\" has five probabilities");
        }
        if given.has("gemodel") || given.has("state") {
            return;
        }
        self.loss = if share(0) == 0 { Loss::None } else { Loss::Random(share(0)) };
        self.correlations[LOSS] = share(1);
        if given.probability(2).is_some() {
            self.conflict = Some("\"loss random\" has a probability and a correlation");
        }
    }

    /// As tc does when it has read everything, from the options that were `given`.
    pub(super) fn completed(
        mut self,
        given: &[ParsedOption],
        words: &TcTokens<'_>,
    ) -> Result<Self, TcError> {
        let has = |name| given.iter().any(|g| g.name == name);
        if !has("slot") && (has("packets") || has("bytes")) {
            self.conflict = Some("\"packets\" and \"bytes\" are of \"slot\", which is not given");
        }
        if self.reorder != 0 {
            self.gap = self.gap.max(1);
            if self.delay.is_zero() {
                self.conflict = Some("\"reorder\" needs a delay, which others do not get");
            }
        } else if self.gap > 0 {
            self.conflict = Some("\"gap\" needs \"reorder\"");
        }
        if self.distribution.is_some() && has("distribution") && self.jitter == 0 {
            self.conflict = Some("\"distribution\" is the shape of a jitter, which is not given");
        }
        if let Some(conflict) = self.conflict {
            let end = words.text().len();
            return Err(words.error(end..end, conflict.to_owned(), None));
        }
        self.slot = self.slot.filter(|s| !s.max.is_zero());
        Ok(self)
    }
}
