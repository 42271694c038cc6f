//! The table that says everything about a discipline's words: its options with kind, unit, range and default,
//! its counters and its gauges. Parser, error messages, `sojourn qdiscs NAME` and the documentation all read
//! this one table.
//!
//! Reading is in three steps, the same for every discipline: the defaults of the table, written as words, are
//! parsed; the user's words are parsed; each option found is handed to [`Settings::set`] in that order.
//!
//! An option given twice is refused. tc's disciplines mostly let the last one win in silence (htb refuses its
//! rate); in an experiment that is a mistake waiting to be published.

use crate::words::{TcError, Words, nearest};
use crate::{Profile, disciplines};
use core::ops::Range;
use sojourn_units::{Rate, Span};

/// Everything there is to know about a discipline before it runs.
#[derive(Clone, Copy, Debug)]
pub struct Discipline {
    /// tc's name.
    pub name: &'static str,
    /// What it is, in one sentence.
    pub summary: &'static str,
    /// What it is modelled on: RFC and section, kernel file and version.
    pub source: &'static str,
    /// Its options, in the order in which they are documented.
    pub options: &'static [OptionSpec],
    /// Its own statistics, in tc's order: the names in [`crate::Stats::own`].
    pub counters: &'static [Counter],
    /// The controller's state: the names that [`crate::Qdisc::gauges`] reports.
    pub gauges: &'static [Gauge],
    /// Whether a discipline for the child may follow the options.
    pub classful: bool,
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
    /// The values behind it; none for a switch.
    pub values: &'static [ValueSpec],
    /// What holds when it is not given.
    pub preset: Preset,
    /// What it does, in one sentence.
    pub doc: &'static str,
    /// Which kernels have it; `None`: all.
    pub known: Option<fn(&Profile) -> bool>,
    /// Whether it can only be given at creation.
    pub fixed: bool,
}

impl OptionSpec {
    /// The base to write tables from: `OptionSpec { name: …, ..OptionSpec::BASE }`.
    pub const BASE: Self = Self {
        name: "",
        aliases: &[],
        off: None,
        values: &[],
        preset: Preset::Unset(""),
        doc: "",
        known: None,
        fixed: false,
    };

    /// Whether the kernel of `profile` has this option.
    pub fn is_known(&self, profile: &Profile) -> bool {
        self.known.is_none_or(|known| known(profile))
    }

    /// Every word that begins it.
    pub fn words(&self) -> impl Iterator<Item = &'static str> + use<> {
        core::iter::once(self.name).chain(self.aliases.iter().copied()).chain(self.off)
    }
}

/// What holds when an option is not given.
#[derive(Clone, Copy, Debug)]
pub enum Preset {
    /// This value, in tc's words; for a switch the word itself.
    Is(&'static str),
    /// A value that depends on the kernel.
    Per(fn(&Profile) -> &'static str),
    /// No value: what that means.
    Unset(&'static str),
    /// It must be given.
    Required,
}

impl Preset {
    /// The default as words, if it has any.
    pub fn words(&self, profile: &Profile) -> Option<&'static str> {
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
    /// This word, which adds nothing.
    Keyword(&'static str),
}

/// The longest time that tc can hand over in its 32-bit microseconds.
const LONGEST: u64 = u32::MAX as u64 * 1_000;
/// One time.
pub(crate) const TIME: &[ValueSpec] =
    &[ValueSpec { name: "TIME", kind: Kind::Span { min: 0, max: LONGEST }, optional: false }];
/// One time that must not be zero.
pub(crate) const TIME_ABOVE_ZERO: &[ValueSpec] =
    &[ValueSpec { name: "TIME", kind: Kind::Span { min: 1_000, max: LONGEST }, optional: false }];
/// One number of packets. tc takes 0 for "not given", so it is refused here.
pub(crate) const PACKETS: &[ValueSpec] = &[ValueSpec {
    name: "PACKETS",
    kind: Kind::Count { unit: "packets", min: 1, max: u32::MAX as u64 },
    optional: false,
}];
/// One number of bytes.
pub(crate) const BYTES: &[ValueSpec] = &[ValueSpec {
    name: "BYTES",
    kind: Kind::Size { min: 1, max: u32::MAX as u64 },
    optional: false,
}];
/// One rate.
pub(crate) const RATE: &[ValueSpec] =
    &[ValueSpec { name: "RATE", kind: Kind::Rate, optional: false }];

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
            Self::Keyword(word) => format!("\"{word}\""),
        }
    }

    fn read(&self, of: &str, words: &mut Words<'_>) -> Result<Value, TcError> {
        let what = self.expected();
        let (value, number, word) = match self {
            Self::Span { .. } => {
                let (span, word) = words.span(of, &what)?;
                (Value::Span(span), span.as_nanos(), word)
            }
            Self::Rate => {
                let (rate, word) = words.rate(of, &what)?;
                (Value::Rate(rate), rate.bits_per_sec(), word)
            }
            Self::Size { .. } => {
                let (size, word) = words.size(of, &what)?;
                (Value::Number(size), size, word)
            }
            Self::Count { .. } => {
                let (count, word) = words.count(of, &what)?;
                (Value::Number(count), count, word)
            }
            // The next two check their own range.
            Self::Percent => return Ok(Value::Probability(words.percent(of, &what)?.0)),
            Self::Masked => {
                let ((value, mask), _) = words.masked(of, &what)?;
                return Ok(Value::Masked { value, mask });
            }
            Self::Keyword(_) => {
                words.take();
                return Ok(Value::Keyword);
            }
        };
        let (min, max) = match *self {
            Self::Span { min, max } | Self::Size { min, max } | Self::Count { min, max, .. } => {
                (min, max)
            }
            // Beyond this many bits a second a packet takes less than a picosecond.
            _ => (8, 1 << 53),
        };
        if (min..=max).contains(&number) {
            Ok(value)
        } else {
            let message = format!("\"{of}\": {} is out of range", word.text);
            Err(words.error(word.at, message, Some(format!("write {what}"))))
        }
    }
}

/// A value as read.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Value {
    Span(Span),
    Rate(Rate),
    Number(u64),
    Probability(f64),
    Masked { value: u8, mask: u8 },
    Keyword,
}

/// One option as found in a text.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    /// The option's own name, whichever of its words was written.
    pub(crate) name: &'static str,
    /// False when its `off` word was written.
    pub(crate) on: bool,
    values: Vec<Value>,
}

/// What a table promised and a discipline asked for do not agree: a mistake in this crate.
const MISMATCH: &str = "the table and its reader agree on the kinds of values";

impl Given {
    fn find<V>(&self, pick: impl Fn(&Value) -> Option<V>, nth: usize) -> Option<V> {
        self.values.iter().filter_map(pick).nth(nth)
    }

    /// The first time.
    pub(crate) fn span(&self) -> Span {
        self.nth_span(0).expect(MISMATCH)
    }

    /// The `nth` time, if it was given.
    pub(crate) fn nth_span(&self, nth: usize) -> Option<Span> {
        self.find(|v| if let Value::Span(s) = v { Some(*s) } else { None }, nth)
    }

    /// The rate.
    pub(crate) fn rate(&self) -> Rate {
        self.find(|v| if let Value::Rate(r) = v { Some(*r) } else { None }, 0).expect(MISMATCH)
    }

    /// The number of packets, bytes, …; the tables keep all of them within 32 bits.
    pub(crate) fn number(&self) -> u32 {
        self.find(|v| if let Value::Number(n) = v { Some(*n as u32) } else { None }, 0)
            .expect(MISMATCH)
    }

    /// The `nth` probability, if it was given.
    pub(crate) fn probability(&self, nth: usize) -> Option<f64> {
        self.find(|v| if let Value::Probability(p) = v { Some(*p) } else { None }, nth)
    }

    /// Value and mask.
    pub(crate) fn masked(&self) -> (u8, u8) {
        let pick = |v: &Value| {
            if let Value::Masked { value, mask } = v { Some((*value, *mask)) } else { None }
        };
        self.find(pick, 0).expect(MISMATCH)
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
pub(crate) const fn counter(
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

/// A discipline's configuration, as its table describes it.
pub(crate) trait Settings: Clone {
    /// The table.
    const INFO: &'static Discipline;

    /// Whether `tc qdisc change` starts from the defaults again, as it does for those that hand over one
    /// structure, rather than from what holds.
    const CHANGE_STARTS_AFRESH: bool;

    /// Before any option is set.
    fn blank(profile: &Profile) -> Self;

    /// Takes over one option.
    fn set(&mut self, given: &Given);

    /// From the words behind the discipline's name.
    fn read(words: &mut Words<'_>, profile: &Profile) -> Result<Self, TcError> {
        Ok(Self::read_given(words, profile, false)?.0)
    }

    /// As [`Settings::read`], with the names of the options that were written.
    fn read_given(
        words: &mut Words<'_>,
        profile: &Profile,
        changing: bool,
    ) -> Result<(Self, Vec<Given>), TcError> {
        let mut settings = Self::blank(profile);
        let presets = presets(Self::INFO, profile);
        let defaults = parse(Self::INFO, &mut Words::new(&presets), profile, false);
        for given in &defaults.expect("the defaults in the table can be read") {
            settings.set(given);
        }
        let given = parse(Self::INFO, words, profile, changing)?;
        for option in Self::INFO.options {
            if matches!(option.preset, Preset::Required)
                && !given.iter().any(|g| g.name == option.name)
            {
                let end = words.text().len();
                let message = format!("{} needs \"{}\"", Self::INFO.name, option.name);
                let help = format!("write \"{}\" and {}", option.name, expected(option));
                return Err(words.error(end..end, message, Some(help)));
            }
        }
        for given in &given {
            settings.set(given);
        }
        Ok((settings, given))
    }

    /// These settings after `tc qdisc change` with the words.
    fn changed(
        &self,
        words: &mut Words<'_>,
        profile: &Profile,
    ) -> Result<(Self, Vec<Given>), TcError> {
        if Self::CHANGE_STARTS_AFRESH {
            return Self::read_given(words, profile, true);
        }
        let mut settings = self.clone();
        let given = parse(Self::INFO, words, profile, true)?;
        for given in &given {
            settings.set(given);
        }
        Ok((settings, given))
    }
}

fn expected(option: &OptionSpec) -> String {
    option.values.first().map_or_else(String::new, |value| value.kind.expected())
}

/// The table's defaults as words.
fn presets(info: &Discipline, profile: &Profile) -> String {
    let mut text = String::new();
    for option in info.options.iter().filter(|option| option.is_known(profile)) {
        let Some(words) = option.preset.words(profile) else { continue };
        if !option.values.is_empty() {
            text.push_str(option.name);
            text.push(' ');
        }
        text.push_str(words);
        text.push(' ');
    }
    text
}

/// Reads options until the words end, or a discipline's name where a child may follow.
fn parse(
    info: &'static Discipline,
    words: &mut Words<'_>,
    profile: &Profile,
    changing: bool,
) -> Result<Vec<Given>, TcError> {
    let mut found: Vec<(Given, Range<usize>)> = Vec::new();
    while let Some(word) = words.peek() {
        if info.classful && disciplines().iter().any(|d| d.name == word.text) {
            break;
        }
        let option = find(info, profile, words)?;
        words.take();
        if let Some((_, first)) = found.iter().find(|(given, _)| given.name == option.name) {
            let (first, message) = (&words.text()[first.clone()], &word.text);
            let message = if first == *message {
                format!("\"{message}\" is given twice")
            } else {
                format!(
                    "\"{message}\" comes after \"{first}\", which says the same or the opposite"
                )
            };
            return Err(words.error(word.at, message, Some("keep one of them".to_owned())));
        }
        if changing && option.fixed {
            let message = format!("\"{}\" cannot be changed while the queue runs", word.text);
            let help = Some(format!("replace the {} instead", info.name));
            return Err(words.error(word.at, message, help));
        }
        let on = option.off != Some(word.text);
        let mut values = Vec::new();
        for value in option.values.iter().take_while(|_| on) {
            let present = match value.kind {
                Kind::Keyword(keyword) => words.peek().is_some_and(|word| word.text == keyword),
                _ => !value.optional || words.number_follows(),
            };
            if present {
                values.push(value.kind.read(option.name, words)?);
            } else if !matches!(value.kind, Kind::Keyword(_)) {
                break;
            }
        }
        found.push((Given { name: option.name, on, values }, word.at));
    }
    Ok(found.into_iter().map(|(given, _)| given).collect())
}

/// The option that the next word names.
fn find(
    info: &'static Discipline,
    profile: &Profile,
    words: &Words<'_>,
) -> Result<&'static OptionSpec, TcError> {
    let word = words.peek().expect("the caller has seen a word");
    let here = info.options.iter().find(|option| option.words().any(|name| name == word.text));
    match here {
        Some(option) if option.is_known(profile) => Ok(option),
        Some(_) => {
            let message =
                format!("{} of {} has no option \"{}\"", info.name, profile.name, word.text);
            let others: Vec<&str> = Profile::ALL
                .iter()
                .filter(|profile| here.is_some_and(|option| option.is_known(profile)))
                .map(|profile| profile.name)
                .collect();
            let help = format!("that of {} has", others.join(", "));
            Err(words.error(word.at, message, Some(help)))
        }
        None => {
            let known =
                || info.options.iter().filter(|o| o.is_known(profile)).flat_map(OptionSpec::words);
            let message = format!("{} has no option \"{}\"", info.name, word.text);
            let children = if info.classful { disciplines() } else { &[] };
            let meant = known().chain(children.iter().map(|d| d.name));
            let help = match nearest(word.text, meant) {
                Some(name) => format!("did you mean \"{name}\"?"),
                None => format!("its options are {}", known().collect::<Vec<_>>().join(", ")),
            };
            Err(words.error(word.at, message, Some(help)))
        }
    }
}
