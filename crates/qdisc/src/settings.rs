//! From tc's words to a discipline's configuration, driven by its table.
//!
//! Reading is in three steps, the same for every discipline: the defaults of the table, written as words, are
//! parsed; the user's words are parsed; each option found sets what its row in [`Settings::OPTIONS`] says, in that order.
//!
//! An option given twice is refused. tc's disciplines mostly let the last one win in silence (htb refuses its
//! rate); in an experiment that is a mistake waiting to be published.

use crate::QdiscQuirks;
use crate::table::{DefaultValue, Discipline, Kind, OptionSpec};
use crate::words::{TcError, TcTokens, nearest};
use core::ops::Range;
use sojourn_units::{Rate, Span};

impl Kind {
    fn read(&self, of: &str, words: &mut TcTokens<'_>) -> Result<Value, TcError> {
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
            // The next ones check their own range.
            Self::Percent => return Ok(Value::Probability(words.percent(of, &what)?.0)),
            Self::Masked => {
                let ((value, mask), _) = words.masked(of, &what)?;
                return Ok(Value::Masked { value, mask });
            }
            Self::Real { min, max, .. } => {
                let (number, word) = words.real(of, &what)?;
                if (min..=max).contains(&&number) {
                    return Ok(Value::Real(number));
                }
                let message = format!("\"{of}\": {} is out of range", word.text);
                return Err(words.error(word.at, message, Some(format!("write {what}"))));
            }
            Self::SpanOrPackets { .. } => {
                if let Some(packets) = words.packets() {
                    return Ok(Value::Number(packets.into()));
                }
                let (span, word) = words.span(of, &what)?;
                (Value::Span(span), span.as_nanos(), word)
            }
            Self::Word(choice) => {
                let word = words.value(of, &what)?;
                if let Some(chosen) = choice.iter().find(|c| **c == word.text) {
                    return Ok(Value::Keyword(chosen));
                }
                let message = format!("\"{of}\": there is no \"{}\"", word.text);
                let help = match nearest(word.text, choice.iter().copied()) {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => format!("write {what}"),
                };
                return Err(words.error(word.at, message, Some(help)));
            }
            Self::Keyword(keyword) => {
                words.take();
                return Ok(Value::Keyword(keyword));
            }
        };
        let (min, max) = match *self {
            Self::Span { min, max }
            | Self::SpanOrPackets { min, max }
            | Self::Size { min, max }
            | Self::Count { min, max, .. } => (min, max),
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
enum Value {
    Span(Span),
    Rate(Rate),
    Number(u64),
    Probability(f64),
    Masked { value: u8, mask: u8 },
    Real(f64),
    Keyword(&'static str),
}

/// One option as found in a text.
#[derive(Clone, Debug)]
pub struct ParsedOption {
    /// The option's own name, whichever of its words was written.
    pub name: &'static str,
    /// The word that was written: the name, or one of its others.
    pub word: &'static str,
    /// False when its `off` word was written.
    pub on: bool,
    /// The option's place in the table.
    pub place: usize,
    values: Vec<Value>,
}

/// What a table promised and a discipline asked for do not agree: a mistake of whoever wrote the two.
const MISMATCH: &str = "the table and its reader agree on the kinds of values";

impl ParsedOption {
    fn find<V>(&self, pick: impl Fn(&Value) -> Option<V>, nth: usize) -> Option<V> {
        self.values.iter().filter_map(pick).nth(nth)
    }

    /// The first time.
    pub fn span(&self) -> Span {
        self.nth_span(0).expect(MISMATCH)
    }

    /// The `nth` time, if it was given.
    pub fn nth_span(&self, nth: usize) -> Option<Span> {
        self.find(|v| if let Value::Span(s) = v { Some(*s) } else { None }, nth)
    }

    /// The first time in whole microseconds, as most of tc's options are handed over.
    pub fn micros(&self) -> Span {
        Span::from_micros(self.span().as_micros())
    }

    /// The rate.
    pub fn rate(&self) -> Rate {
        self.find(|v| if let Value::Rate(r) = v { Some(*r) } else { None }, 0).expect(MISMATCH)
    }

    /// The number of packets, bytes, …; the tables keep all of them within 32 bits.
    pub fn number(&self) -> u32 {
        self.nth_number(0).expect(MISMATCH)
    }

    /// The `nth` number, if it was given.
    pub fn nth_number(&self, nth: usize) -> Option<u32> {
        self.find(|v| if let Value::Number(n) = v { Some(*n as u32) } else { None }, nth)
    }

    /// The number with decimals.
    pub fn real(&self) -> f64 {
        self.find(|v| if let Value::Real(n) = v { Some(*n) } else { None }, 0).expect(MISMATCH)
    }

    /// The `nth` probability, if it was given.
    pub fn probability(&self, nth: usize) -> Option<f64> {
        self.find(|v| if let Value::Probability(p) = v { Some(*p) } else { None }, nth)
    }

    /// Whether this word is among the values.
    pub fn has(&self, keyword: &str) -> bool {
        self.values.iter().any(|v| matches!(v, Value::Keyword(word) if *word == keyword))
    }

    /// Value and mask.
    pub fn masked(&self) -> (u8, u8) {
        let pick = |v: &Value| {
            if let Value::Masked { value, mask } = v { Some((*value, *mask)) } else { None }
        };
        self.find(pick, 0).expect(MISMATCH)
    }
}

/// An option, and what of a configuration it sets.
#[derive(Debug)]
pub struct Setting<C> {
    option: OptionSpec,
    set: fn(&mut C, &ParsedOption),
}

impl OptionSpec {
    /// The option of a configuration that it sets by `set`.
    pub const fn sets<C>(self, set: fn(&mut C, &ParsedOption)) -> Setting<C> {
        Setting { option: self, set }
    }
}

/// The options alone, for [`Discipline::options`]; [`crate::options_of!`] fills in how many there are.
pub const fn options<C, const N: usize>(settings: &[Setting<C>]) -> [OptionSpec; N] {
    let mut options = [OptionSpec::BASE; N];
    let mut place = 0;
    while place < N {
        options[place] = settings[place].option;
        place += 1;
    }
    options
}

/// What a configuration's [`Settings::OPTIONS`] are in the table of its discipline: `options: options_of!(Config)`.
#[macro_export]
macro_rules! options_of {
    ($config:ty) => {
        &$crate::options::<$config, { <$config as $crate::Settings>::OPTIONS.len() }>(
            <$config as $crate::Settings>::OPTIONS,
        )
    };
}

/// A discipline's configuration: its options, each with what it sets.
pub trait Settings: Clone + 'static {
    /// The table; its options are [`options_of!`](crate::options_of) this.
    const INFO: &'static Discipline;

    /// The options, in the order in which they are documented.
    const OPTIONS: &'static [Setting<Self>];

    /// Whether `tc qdisc change` starts from the defaults again, as it does for those that hand over one
    /// structure, rather than from what holds.
    const CHANGE_STARTS_AFRESH: bool;

    /// Before any option is set.
    fn blank(profile: &QdiscQuirks) -> Self;

    /// Takes options over, in their order.
    fn take(&mut self, given: &[ParsedOption]) {
        for given in given {
            let setting = &Self::OPTIONS[given.place];
            assert_eq!(setting.option.name, given.name, "the table has these options");
            (setting.set)(self, given);
        }
    }

    /// From the words behind the discipline's name.
    fn read(words: &mut TcTokens<'_>, profile: &QdiscQuirks) -> Result<Self, TcError> {
        Ok(Self::read_given(words, profile, false)?.0)
    }

    /// As [`Settings::read`], with the names of the options that were written.
    fn read_given(
        words: &mut TcTokens<'_>,
        profile: &QdiscQuirks,
        changing: bool,
    ) -> Result<(Self, Vec<ParsedOption>), TcError> {
        let mut settings = Self::blank(profile);
        settings.take(&defaults(Self::INFO, profile));
        let given = read(Self::INFO, words, profile, changing)?;
        settings.take(&given);
        Ok((settings, given))
    }

    /// These settings after `tc qdisc change` with the words.
    fn changed(
        &self,
        words: &mut TcTokens<'_>,
        profile: &QdiscQuirks,
    ) -> Result<(Self, Vec<ParsedOption>), TcError> {
        if Self::CHANGE_STARTS_AFRESH {
            return Self::read_given(words, profile, true);
        }
        let mut settings = self.clone();
        let given = read_change(Self::INFO, words, profile)?;
        settings.take(&given);
        Ok((settings, given))
    }
}

/// What a table's defaults set, as if they had been written. The table has been checked.
pub fn defaults(info: &'static Discipline, profile: &QdiscQuirks) -> Vec<ParsedOption> {
    let presets = presets(info, profile);
    let defaults = parse(info, &mut TcTokens::new(&presets), profile, false);
    defaults.expect("the defaults in the table can be read")
}

/// Reads a discipline's options, from the words behind its name to their end. `changing` says that the discipline
/// exists already and these words restore its defaults.
fn read(
    info: &'static Discipline,
    words: &mut TcTokens<'_>,
    profile: &QdiscQuirks,
    changing: bool,
) -> Result<Vec<ParsedOption>, TcError> {
    let given = parse(info, words, profile, changing)?;
    for option in info.options {
        if matches!(option.preset, DefaultValue::Required)
            && !given.iter().any(|g| g.name == option.name)
        {
            let end = words.text().len();
            let message = format!("{} needs \"{}\"", info.name, option.name);
            let help = format!("write \"{}\" and {}", option.name, expected(option));
            return Err(words.error(end..end, message, Some(help)));
        }
    }
    Ok(given)
}

/// What the words behind a discipline's name set: [`Settings::read`] for a table that is known at run time only.
///
/// # Errors
/// Whatever is wrong with the words, with its place in them.
pub fn read_options(
    info: &'static Discipline,
    words: &mut TcTokens<'_>,
    profile: &QdiscQuirks,
) -> Result<Vec<ParsedOption>, TcError> {
    read(info, words, profile, false)
}

/// The same for `tc qdisc change`, where what is not written stays as it is.
///
/// # Errors
/// As of [`read_options`], and for an option that can only be given at creation.
pub fn read_change(
    info: &'static Discipline,
    words: &mut TcTokens<'_>,
    profile: &QdiscQuirks,
) -> Result<Vec<ParsedOption>, TcError> {
    parse(info, words, profile, true)
}

fn expected(option: &OptionSpec) -> String {
    option.values.first().map_or_else(String::new, |value| value.kind.expected())
}

/// What is wrong with a table, for any kernel.
pub(crate) fn check(info: &'static Discipline) -> Result<(), String> {
    let mut seen: Vec<&str> = Vec::new();
    for word in info.options.iter().flat_map(OptionSpec::words) {
        if word.is_empty() || word.contains(char::is_whitespace) {
            return Err(format!("the option \"{word}\" is not one word"));
        }
        if seen.contains(&word) {
            return Err(format!("two options are called \"{word}\""));
        }
        seen.push(word);
    }
    for (what, names) in [
        ("counters", info.counters.iter().map(|c| c.name).collect::<Vec<_>>()),
        ("gauges", info.gauges.iter().map(|g| g.name).collect()),
        ("classes", info.classes.iter().map(|c| c.name).collect()),
    ] {
        if let Some((_, twice)) = (1..).zip(&names).find(|&(next, n)| names[next..].contains(n)) {
            return Err(format!("two {what} are called \"{twice}\""));
        }
    }
    for profile in QdiscQuirks::ALL {
        let presets = presets(info, profile);
        parse(info, &mut TcTokens::new(&presets), profile, false)
            .map_err(|error| format!("a default cannot be read: {error}"))?;
    }
    Ok(())
}

/// The table's defaults as words.
fn presets(info: &Discipline, profile: &QdiscQuirks) -> String {
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
    words: &mut TcTokens<'_>,
    profile: &QdiscQuirks,
    changing: bool,
) -> Result<Vec<ParsedOption>, TcError> {
    let mut found: Vec<(ParsedOption, Range<usize>)> = Vec::new();
    while let Some(word) = words.peek() {
        if info.classful && words.children().iter().any(|d| d.name == word.text) {
            break;
        }
        let (place, option) = find(info, profile, words)?;
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
        let written = option.words().find(|w| *w == word.text).unwrap_or(option.name);
        let bare = option.others.contains(&written);
        let mut values = Vec::new();
        for value in option.values.iter().take_while(|_| on && !bare) {
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
        found.push((ParsedOption { name: option.name, word: written, on, place, values }, word.at));
    }
    Ok(found.into_iter().map(|(given, _)| given).collect())
}

/// The option that the next word names.
fn find(
    info: &'static Discipline,
    profile: &QdiscQuirks,
    words: &TcTokens<'_>,
) -> Result<(usize, &'static OptionSpec), TcError> {
    let word = words.peek().expect("the caller has seen a word");
    let mut options = info.options.iter().enumerate();
    let here = options.find(|(_, option)| option.words().any(|name| name == word.text));
    match here {
        Some((place, option)) if option.is_known(profile) => Ok((place, option)),
        Some(_) => {
            let message =
                format!("{} of {} has no option \"{}\"", info.name, profile.name, word.text);
            let others: Vec<&str> = QdiscQuirks::ALL
                .iter()
                .filter(|profile| here.is_some_and(|(_, option)| option.is_known(profile)))
                .map(|profile| profile.name)
                .collect();
            let help = format!("that of {} has", others.join(", "));
            Err(words.error(word.at, message, Some(help)))
        }
        None if info.refused.iter().any(|(refused, _)| *refused == word.text) => {
            let why = info.refused.iter().find(|(refused, _)| *refused == word.text);
            let message = format!("\"{}\" of {} is not modelled here", word.text, info.name);
            Err(words.error(word.at, message, why.map(|(_, why)| (*why).to_owned())))
        }
        None => {
            let known =
                || info.options.iter().filter(|o| o.is_known(profile)).flat_map(OptionSpec::words);
            let message = format!("{} has no option \"{}\"", info.name, word.text);
            let children = if info.classful { words.children() } else { &[] };
            let meant = known().chain(children.iter().map(|d| d.name));
            let help = match nearest(word.text, meant) {
                Some(name) => format!("did you mean \"{name}\"?"),
                None => format!("its options are {}", known().collect::<Vec<_>>().join(", ")),
            };
            Err(words.error(word.at, message, Some(help)))
        }
    }
}
