//! The table that says everything about a discipline's words: its options with kind, unit, range and default,
//! its counters and its gauges. Parser, error messages, `sojourn qdiscs NAME` and the documentation all read
//! this one table.

use crate::QdiscQuirks;
use crate::xstats::Xstats;
use sojourn_units::Span;

/// Everything there is to know about a discipline before it runs.
#[derive(Clone, Copy, Debug)]
pub struct Discipline {
    /// tc's name.
    pub name: &'static str,
    /// What it is, in one sentence.
    pub summary: &'static str,
    /// The source of the model: RFC and section, kernel file and version.
    pub source: &'static str,
    /// Its options, in the order in which they are documented.
    pub options: &'static [OptionSpec],
    /// Its own statistics, in tc's order: the names in [`crate::Stats::own`].
    pub counters: &'static [Counter],
    /// The controller's state: the names that [`crate::Qdisc::gauges`] reports.
    pub gauges: &'static [Gauge],
    /// How the kernel's sends its statistics, for engines that run Linux.
    pub xstats: &'static Xstats,
    /// The classes with their own records of sojourn times, if it has any.
    pub classes: &'static [Class],
    /// Words that tc has and that are not here, each with the reason.
    pub refused: &'static [(&'static str, &'static str)],
    /// Whether a discipline for the child may follow the options.
    pub classful: bool,
    /// Whole texts that somebody might build it from, its name first, at the edges of what its options do. The tests of
    /// this crate and of the simulator try each of them: whoever adds a discipline adds nothing there.
    pub examples: &'static [&'static str],
    /// Texts that each of them may be changed by while it runs.
    pub changes: &'static [&'static str],
}

impl Discipline {
    /// What a table says unless it says otherwise: nothing.
    pub const BASE: Self = Self {
        name: "",
        summary: "",
        source: "",
        options: &[],
        counters: &[],
        gauges: &[],
        xstats: &Xstats::NONE,
        classes: &[],
        refused: &[],
        classful: false,
        examples: &[],
        changes: &[],
    };

    /// Words that somebody might write, for tests: the name with some options, each as its [`OptionSpec::tried`] has
    /// it, or one of [`Discipline::examples`]. With `changing` they are for `tc qdisc change`. Options that not all of
    /// `kernels` have are left out. A classful discipline gets a child out of `children`, or none where there are none.
    ///
    /// `pick(n)` chooses a number below `n`. Where it is always 0, there are no more words than must be.
    ///
    /// # Panics
    /// When the table gives nothing to draw from.
    pub fn drawn(
        &self,
        kernels: &[&QdiscQuirks],
        changing: bool,
        children: &[&Self],
        pick: &mut dyn FnMut(usize) -> usize,
    ) -> String {
        let is_known = |o: &&OptionSpec| kernels.iter().all(|kernel| o.is_known(kernel));
        let texts = if changing { self.changes } else { self.examples };
        let is_known_text = |text: &&&str| {
            let mut unknown = self.options.iter().filter(|o| !is_known(o));
            !unknown.any(|o| o.words().any(|word| text.split(' ').any(|w| w == word)))
        };
        let texts: Vec<&str> = texts.iter().filter(is_known_text).copied().collect();
        let must = |o: &OptionSpec| matches!(o.preset, DefaultValue::Required);
        let can_be_made = self.options.iter().all(|o| !must(o) || !o.tried.is_empty());
        if !can_be_made || (!texts.is_empty() && pick(2) == 1) {
            return texts[pick(texts.len())].to_owned();
        }

        let mut words = self.name.to_owned();
        for option in self.options.iter().filter(is_known) {
            let has_gone = changing && option.fixed;
            let may_stand = !option.tried.is_empty() && !has_gone;
            if may_stand && (must(option) || pick(2) == 1) {
                words = words + " " + option.tried[pick(option.tried.len())];
            }
        }
        let children: Vec<_> = children.iter().filter(|child| !child.classful).collect();
        if self.classful && !changing && !children.is_empty() {
            let child = children[pick(children.len())];
            words = words + " " + &child.drawn(kernels, changing, &[], pick);
        }
        words
    }
}

/// Tables in the alphabetical order of their names.
pub(crate) const fn sorted<const N: usize>(
    mut tables: [&'static Discipline; N],
) -> [&'static Discipline; N] {
    let mut end = N;
    while end > 1 {
        let mut place = 1;
        while place < end {
            if is_before(tables[place].name.as_bytes(), tables[place - 1].name.as_bytes()) {
                (tables[place - 1], tables[place]) = (tables[place], tables[place - 1]);
            }
            place += 1;
        }
        end -= 1;
    }
    tables
}

/// Whether a name comes before another, where comparisons of text are not to be had.
const fn is_before(name: &[u8], other: &[u8]) -> bool {
    let mut place = 0;
    while place < name.len() && place < other.len() {
        if name[place] != other[place] {
            return name[place] < other[place];
        }
        place += 1;
    }
    name.len() < other.len()
}

/// One of the queues inside a discipline.
#[derive(PartialEq, Eq, Debug)]
pub struct Class {
    /// Its name, which its gauges have too.
    pub name: &'static str,
    /// What goes there.
    pub doc: &'static str,
}

/// One option.
#[derive(Clone, Copy, Debug)]
pub struct OptionSpec {
    /// tc's word.
    pub name: &'static str,
    /// Other words that tc takes for it.
    pub aliases: &'static [&'static str],
    /// The word that switches it off (`noecn`).
    pub off: Option<&'static str>,
    /// Words that replace the name and mean something else (`atm` for `noatm`); none has a value.
    pub others: &'static [&'static str],
    /// The values behind it; none for a switch.
    pub values: &'static [ValueSpec],
    /// The value when it is not given.
    pub preset: DefaultValue,
    /// What it does, in one sentence.
    pub doc: &'static str,
    /// Which kernels have it; `None`: all.
    pub known: Option<fn(&QdiscQuirks) -> bool>,
    /// On which kernels it is taken and has no effect, and why; `None`: on none.
    pub inert: Option<Inert>,
    /// The option without which it does nothing, such as `bandwidth`.
    pub needs: Option<&'static str>,
    /// Whether it can only be given at creation.
    pub fixed: bool,
    /// Ways to write it, its name and all, from one edge of what it does to the other. Tests draw from them
    /// ([`Discipline::drawn`]); an option without any is tried by [`Discipline::examples`] alone.
    pub tried: &'static [&'static str],
}

/// That an option has no effect on some kernels.
#[derive(Clone, Copy, Debug)]
pub struct Inert {
    /// Whether it has none on this one.
    pub on: fn(&QdiscQuirks) -> bool,
    /// Why, in a clause.
    pub why: &'static str,
}

impl OptionSpec {
    /// The base to write tables from: `OptionSpec { name: …, ..OptionSpec::BASE }`.
    pub const BASE: Self = Self {
        name: "",
        aliases: &[],
        off: None,
        others: &[],
        values: &[],
        preset: DefaultValue::Unset(""),
        doc: "",
        known: None,
        inert: None,
        needs: None,
        fixed: false,
        tried: &[],
    };

    /// Whether the kernel of `profile` has this option.
    pub fn is_known(&self, profile: &QdiscQuirks) -> bool {
        self.known.is_none_or(|known| known(profile))
    }

    /// Why the kernel of `profile` takes this option and does not act on it, if that is so.
    pub fn inert_on(&self, profile: &QdiscQuirks) -> Option<&'static str> {
        self.inert.filter(|inert| (inert.on)(profile)).map(|inert| inert.why)
    }

    /// Every word that begins it.
    pub fn words(&self) -> impl Iterator<Item = &'static str> + use<> {
        let more = self.aliases.iter().chain(self.others).copied();
        core::iter::once(self.name).chain(more).chain(self.off)
    }
}

/// The value of an option that is not given.
#[derive(Clone, Copy, Debug)]
pub enum DefaultValue {
    /// This value, in tc's words; for a switch the word itself.
    Is(&'static str),
    /// A value that depends on the kernel.
    Per(fn(&QdiscQuirks) -> &'static str),
    /// No value: what that means.
    Unset(&'static str),
    /// It must be given.
    Required,
}

impl DefaultValue {
    /// The default as words, if it has any.
    pub fn words(&self, profile: &QdiscQuirks) -> Option<&'static str> {
        match self {
            Self::Is(words) => Some(words),
            Self::Per(words) => Some(words(profile)),
            Self::Unset(_) | Self::Required => None,
        }
    }
}

/// One value behind an option.
#[derive(Clone, Copy, Debug)]
pub struct ValueSpec {
    /// What stands for it in a usage line.
    pub name: &'static str,
    /// How it is written.
    pub kind: Kind,
    /// Whether it may be left out (then so are all behind it).
    pub optional: bool,
}

/// How a value is written, and its range, both ends included.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    /// A time, in nanoseconds; bare numbers are microseconds.
    Span {
        /// Least.
        min: u64,
        /// Greatest.
        max: u64,
    },
    /// A rate, in bits per second, at least 8 (one byte a second).
    Rate,
    /// A number of bytes.
    Size {
        /// Least.
        min: u64,
        /// Greatest.
        max: u64,
    },
    /// A whole number of something.
    Count {
        /// Of what, in the plural.
        unit: &'static str,
        /// Least.
        min: u64,
        /// Greatest.
        max: u64,
    },
    /// A percentage from 0 to 100, with or without its sign.
    Percent,
    /// A value and a mask, each below 256.
    Masked,
    /// A number with decimals, without a unit.
    Real {
        /// What it is, with its article: `a number of hertz`.
        what: &'static str,
        /// Least.
        min: f64,
        /// Greatest.
        max: f64,
    },
    /// A time, as [`Kind::Span`] has it, or a number of packets with `p`, `pkt` or `packets` behind it, at least 1.
    SpanOrPackets {
        /// Least time.
        min: u64,
        /// Greatest time.
        max: u64,
    },
    /// One of these words.
    Word(&'static [&'static str]),
    /// This word, which adds nothing.
    Keyword(&'static str),
}

/// The longest time that tc can hand over in its 32-bit microseconds.
const LONGEST: u64 = u32::MAX as u64 * 1_000;
/// One time.
pub const TIME: &[ValueSpec] =
    &[ValueSpec { name: "TIME", kind: Kind::Span { min: 0, max: LONGEST }, optional: false }];
/// One time that must not be zero.
pub const TIME_ABOVE_ZERO: &[ValueSpec] =
    &[ValueSpec { name: "TIME", kind: Kind::Span { min: 1_000, max: LONGEST }, optional: false }];
/// One number of packets. tc takes 0 for "not given", so it is refused here.
pub const PACKETS: &[ValueSpec] = &[ValueSpec {
    name: "PACKETS",
    kind: Kind::Count { unit: "packets", min: 1, max: u32::MAX as u64 },
    optional: false,
}];
/// One number of bytes.
pub const BYTES: &[ValueSpec] = &[ValueSpec {
    name: "BYTES",
    kind: Kind::Size { min: 1, max: u32::MAX as u64 },
    optional: false,
}];
/// Of a packet's length: up to what 16 bits hold.
const LENGTH: &[ValueSpec] = &[ValueSpec {
    name: "BYTES",
    kind: Kind::Count { unit: "bytes", min: 0, max: u16::MAX as u64 },
    optional: false,
}];
/// How many packets a queue holds.
pub const LIMIT: OptionSpec = OptionSpec {
    name: "limit",
    values: PACKETS,
    doc: "packets held at most; one that arrives beyond is refused",
    tried: &["limit 2", "limit 17", "limit 300", "limit 2000"],
    ..OptionSpec::BASE
};
/// How many queues flows are hashed to.
pub const FLOWS: OptionSpec = OptionSpec {
    name: "flows",
    values: &[ValueSpec {
        name: "QUEUES",
        kind: Kind::Count { unit: "queues", min: 1, max: 65_536 },
        optional: false,
    }],
    preset: DefaultValue::Is("1024"),
    doc: "queues that flows are hashed to",
    tried: &["flows 1", "flows 2", "flows 16"],
    fixed: true,
    ..OptionSpec::BASE
};
/// Whether packets are marked.
pub const ECN: OptionSpec = OptionSpec {
    name: "ecn",
    off: Some("noecn"),
    doc: "mark ECN-capable packets instead of dropping them",
    tried: &["ecn", "noecn"],
    ..OptionSpec::BASE
};
/// CoDel's target.
pub const TARGET: OptionSpec = OptionSpec {
    name: "target",
    values: TIME,
    preset: DefaultValue::Is("5ms"),
    doc: "acceptable sojourn time",
    tried: &["target 0", "target 1us", "target 700us", "target 20ms"],
    ..OptionSpec::BASE
};
/// CoDel's interval.
pub const INTERVAL: OptionSpec = OptionSpec {
    name: "interval",
    values: TIME_ABOVE_ZERO,
    preset: DefaultValue::Is("100ms"),
    doc: "time above target before the first signal; about the longest usual RTT",
    tried: &["interval 100us", "interval 3ms", "interval 200ms"],
    ..OptionSpec::BASE
};
/// A sojourn time at which everything is marked.
pub const CE_THRESHOLD: OptionSpec = OptionSpec {
    name: "ce_threshold",
    values: TIME,
    preset: DefaultValue::Unset("no threshold"),
    doc: "sojourn time above which every ECN-capable packet is marked",
    tried: &["ce_threshold 0", "ce_threshold 900us", "ce_threshold 20ms"],
    ..OptionSpec::BASE
};
/// What a bucket adds to a packet's length (`tc_ratespec`).
pub const OVERHEAD: OptionSpec = OptionSpec {
    name: "overhead",
    values: LENGTH,
    preset: DefaultValue::Is("0"),
    doc: "bytes added to each packet's length when it is charged",
    ..OptionSpec::BASE
};
/// The least length that a bucket charges.
pub const MPU: OptionSpec = OptionSpec {
    name: "mpu",
    values: LENGTH,
    preset: DefaultValue::Is("0"),
    doc: "length that a shorter packet is charged as",
    ..OptionSpec::BASE
};
/// One rate.
pub const RATE: &[ValueSpec] = &[ValueSpec { name: "RATE", kind: Kind::Rate, optional: false }];

impl Kind {
    /// What to write, with the range.
    pub fn expected(&self) -> String {
        match *self {
            Self::Span { min, max } => format!(
                "a time from {} to {}, such as 20ms (a bare number is microseconds)",
                Span::from_nanos(min),
                Span::from_nanos(max)
            ),
            Self::Rate => "a rate of at least 8bit, such as 50mbit".to_owned(),
            Self::Size { min, max } => format!("a size from {min} to {max} bytes, such as 32k"),
            Self::Count { unit, min, max } => format!("a number of {unit} from {min} to {max}"),
            Self::Percent => "a percentage from 0% to 100%".to_owned(),
            Self::Masked => "VALUE/MASK, such as 0x1/0x3".to_owned(),
            Self::Real { what, min, max } => format!("{what} from {min} to {max}"),
            Self::SpanOrPackets { min, max } => {
                format!("{}, or packets, such as 5p", Self::Span { min, max }.expected())
            }
            Self::Word(words) => words.join(" or "),
            Self::Keyword(word) => format!("\"{word}\""),
        }
    }
}

/// A discipline's own statistic.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// The name that tc prints.
    pub name: &'static str,
    /// Unit of the value in [`crate::Stats::own`].
    pub unit: Unit,
    /// On which line below `backlog` tc prints it, from 0.
    pub line: u8,
    /// When tc prints it.
    pub shown: Shown,
    /// What it counts.
    pub doc: &'static str,
}

/// A row of a table of counters.
pub const fn counter(
    name: &'static str,
    unit: Unit,
    line: u8,
    shown: Shown,
    doc: &'static str,
) -> Counter {
    Counter { name, unit, line, shown, doc }
}

/// The unit of a statistic or a gauge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// A count of something.
    Count,
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
    /// A probability, 0 to 1.
    Probability,
    /// Bytes per second.
    BytesPerSecond,
    /// The scheduler's ticks of 64 ns.
    Ticks,
    /// 0 or 1.
    Flag,
}

/// When tc prints a statistic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shown {
    /// Always, behind its name.
    Always,
    /// When it is not zero.
    NonZero,
    /// Always, behind its name and a colon.
    Colon,
    /// When it is not zero, the name alone.
    Flag,
}

/// The gauge of a queue's head.
pub const HEAD_DELAY: Gauge = Gauge {
    name: "head_delay",
    unit: Unit::Seconds,
    doc: "time that the packet at the head has waited; 0 without one",
};

/// Something of a controller's state that the recorder samples.
#[derive(Clone, Copy, Debug)]
pub struct Gauge {
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// What it is.
    pub doc: &'static str,
}
