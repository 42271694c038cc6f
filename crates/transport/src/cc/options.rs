//! The options behind a control's name: `bbr3 drain_gain 0.35 probe_rtt_interval 10s`. They make an open question of a
//! working group a word of an experiment, rather than another control.
//!
//! Invariants: an option is read once, into a value within the bounds of its table; a control without words is the control of
//! its text; numbers are read as decimal digits, so that no float comes near a sender.

use core::fmt;
use core::ops::Range;
use sojourn_units::{Span, parse_span};

/// What an option takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum OptionKind {
    /// A factor, in millionths, within these bounds, both allowed; written as a decimal number.
    Factor {
        /// The least, millionths.
        least: u32,
        /// The most, millionths.
        most: u32,
    },
    /// A length of time within these bounds, both allowed; written with its unit.
    Time {
        /// The least.
        least: Span,
        /// The most.
        most: Span,
    },
}

impl fmt::Display for OptionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Factor { least, most } => {
                write!(f, "a factor from {} to {}", Millionths(*least), Millionths(*most))
            }
            Self::Time { least, most } => write!(f, "a time from {least} to {most}"),
        }
    }
}

/// An option of a control, for parsers and people.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ControlOption {
    /// Its word.
    pub name: &'static str,
    /// What follows the word.
    pub kind: OptionKind,
    /// The value of the control's text, which holds unless another is given.
    pub default: &'static str,
    /// What it is, in a line.
    pub doc: &'static str,
}

/// A value that has been read, and is within the bounds of its option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum OptionValue {
    /// A factor, millionths.
    Factor(u32),
    /// A length of time.
    Time(Span),
}

/// What is wrong with the words behind a control's name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OptionError {
    /// Where in the words, bytes from the control's name on.
    pub at: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: String,
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.help)
    }
}

impl std::error::Error for OptionError {}

/// A number of millionths as people write it.
struct Millionths(u32);

impl fmt::Display for Millionths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0 / 1_000_000, self.0 % 1_000_000);
        let digits = format!("{part:06}");
        match digits.trim_end_matches('0') {
            "" => write!(f, "{whole}"),
            part => write!(f, "{whole}.{part}"),
        }
    }
}

/// Reads decimal digits with at most six behind the point; `None` for anything else, and for what is above 4294.
fn millionths(text: &str) -> Option<u32> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if (whole.is_empty() && part.is_empty()) || !digits(whole) || !digits(part) || part.len() > 6 {
        return None;
    }
    let whole: u32 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let part: u32 = format!("{part:0<6}").parse().ok()?;
    whole.checked_mul(1_000_000)?.checked_add(part)
}

impl ControlOption {
    /// Reads its value.
    fn read(&self, text: &str) -> Option<OptionValue> {
        match self.kind {
            OptionKind::Factor { least, most } => millionths(text)
                .filter(|factor| (least..=most).contains(factor))
                .map(OptionValue::Factor),
            OptionKind::Time { least, most } => parse_span(text)
                .ok()
                .filter(|span| (least..=most).contains(span))
                .map(OptionValue::Time),
        }
    }
}

/// The word that was probably meant: a third of the letters may be wrong.
pub(super) fn nearest(
    word: &str,
    known: impl Iterator<Item = &'static str>,
) -> Option<&'static str> {
    let allowed = (word.chars().count() / 3).max(1);
    known
        .map(|n| (strsim::damerau_levenshtein(&word.to_lowercase(), n), n))
        .filter(|&(distance, _)| distance <= allowed)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, n)| n)
}

/// The words of a text and where each stands.
fn words(text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    text.split_whitespace().map(|word| {
        let from = word.as_ptr() as usize - text.as_ptr() as usize;
        (from..from + word.len(), word)
    })
}

/// Reads the options behind the name, which is the first word of `text`; each option at most once.
///
/// # Errors
/// The control does not have the option, the option occurs twice, or its value is missing or out of bounds.
pub(super) fn read(
    text: &str,
    options: &'static [ControlOption],
) -> Result<Vec<(&'static str, OptionValue)>, OptionError> {
    let mut words = words(text);
    let name = words.next().map_or("", |(_, name)| name);
    let mut read: Vec<(&'static str, OptionValue)> = Vec::new();
    while let Some((at, word)) = words.next() {
        let fail = |at: &Range<usize>, message: String, help: String| {
            Err(OptionError { at: at.clone(), message, help })
        };
        let Some(option) = options.iter().find(|option| option.name == word) else {
            let message = format!("{name} has no option \"{word}\"");
            let known: Vec<&str> = options.iter().map(|option| option.name).collect();
            let help = match (nearest(word, known.iter().copied()), &known[..]) {
                (Some(near), _) => format!("did you mean \"{near}\"?"),
                (None, []) => "it has none: write the name alone".to_owned(),
                (None, _) => format!("it has {}", known.join(", ")),
            };
            return fail(&at, message, help);
        };
        if read.iter().any(|(given, _)| *given == option.name) {
            return fail(&at, format!("{word} is given twice"), "leave one of them out".to_owned());
        }
        let kind = option.kind;
        let Some((place, value)) = words.next() else {
            return fail(&at, format!("{word} has no value"), format!("it takes {kind}"));
        };
        let Some(value) = option.read(value) else {
            let message = format!("\"{value}\" is no value for {word}");
            return fail(&place, message, format!("it takes {kind}"));
        };
        read.push((option.name, value));
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: &[ControlOption] = &[
        ControlOption {
            name: "gain",
            kind: OptionKind::Factor { least: 100_000, most: 1_500_000 },
            default: "0.5",
            doc: "a gain",
        },
        ControlOption {
            name: "interval",
            kind: OptionKind::Time { least: Span::from_millis(1), most: Span::from_secs(60) },
            default: "5s",
            doc: "an interval",
        },
    ];

    #[test]
    fn what_is_right() {
        let gain = |n| ("gain", OptionValue::Factor(n));
        assert_eq!(read("x", OPTIONS), Ok(vec![]));
        for (text, millionths) in [
            ("x gain 0.1", 100_000),
            ("x gain .34375", 343_750),
            ("x  gain 1", 1_000_000),
            ("x gain 1.5", 1_500_000),
            ("x gain 0.000001e0", 0),
        ] {
            let expected = (millionths > 0).then(|| vec![gain(millionths)]);
            assert_eq!(read(text, OPTIONS).ok(), expected, "{text}");
        }
        let both = vec![("interval", OptionValue::Time(Span::from_secs(10))), gain(350_000)];
        assert_eq!(read("x interval 10s gain 0.35", OPTIONS), Ok(both));
    }

    #[test]
    fn what_is_wrong_is_said_where_it_stands() {
        for (text, at, says) in [
            ("x gian 1", 2..6, "x has no option \"gian\"; did you mean \"gain\"?"),
            ("x other 1", 2..7, "x has no option \"other\"; it has gain, interval"),
            ("x gain", 2..6, "gain has no value; it takes a factor from 0.1 to 1.5"),
            (
                "x gain 1.6",
                7..10,
                "\"1.6\" is no value for gain; it takes a factor from 0.1 to 1.5",
            ),
            ("x gain 0.0999999", 7..16, "\"0.0999999\" is no value for gain"),
            ("x gain -1", 7..9, "\"-1\" is no value for gain"),
            ("x gain .", 7..8, "\".\" is no value for gain"),
            ("x interval 61s", 11..14, "it takes a time from 1ms to 60s"),
            ("x gain 1 gain 1", 9..13, "gain is given twice; leave one of them out"),
        ] {
            let error = read(text, OPTIONS).expect_err(text);
            assert_eq!(error.at, at, "{text}");
            assert!(error.to_string().contains(says), "{text}: {error}");
        }
        let error = read("cubic gain 1", &[]).expect_err("it has none");
        assert!(error.to_string().contains("cubic has no option \"gain\"; it has none"), "{error}");
    }
}
