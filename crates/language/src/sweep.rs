//! An axis with labels that are values of one setting between two ends: `hop.bottleneck.rate = "1mbit..1gbit log 10"`,
//! `hop.bottleneck.rtt = "10ms..100ms step 10ms"`.

use super::source::{Diagnostic, DiagnosticKind, Place};
use super::tree::{Entry, Node, Table, Text, Value};
use core::ops::Range;
use sojourn_units::{Quantity, parse_rate, parse_size, parse_span};

/// One label of an axis.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Label {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) bundle: Table,
}

/// More values than this are a mistake.
const MOST: u64 = 10_000;

/// The labels of a swept axis; `None` if it names its labels itself.
pub(crate) fn labels(axis: &Entry) -> Result<Option<Vec<Label>>, Box<Diagnostic>> {
    let Some(node) = leaf(&axis.node) else { return Ok(None) };
    let Some(text) = node.text().filter(|text| text.contains("..")) else { return Ok(None) };
    let values = values(text).map_err(|(at, message)| {
        let place: Place = node.inside(&at);
        let said = place.says(DiagnosticKind::Matrix, message);
        Box::new(said.help("\"1mbit..1gbit log 10\" is ten values, each a factor apart; \"10ms..100ms step 10ms\" as many as the step makes"))
    })?;
    let label = |value: &String| Label {
        name: value.clone(),
        place: node.place.clone(),
        bundle: match with_leaf(&axis.node, value).value {
            Value::Table(bundle) => bundle,
            _ => Table::default(),
        },
    };
    Ok(Some(values.iter().map(label).collect()))
}

/// The one setting that a table makes, at the end of tables of one entry each.
fn leaf(node: &Node) -> Option<&Node> {
    match &node.value {
        Value::Table(table) => match &table.entries[..] {
            [only] => leaf(&only.node),
            _ => None,
        },
        Value::Text(_) => Some(node),
        _ => None,
    }
}

/// The same tables with another value at their end.
fn with_leaf(node: &Node, text: &str) -> Node {
    let value = match &node.value {
        Value::Table(table) => Value::Table(Table {
            entries: table
                .entries
                .iter()
                .map(|entry| Entry { node: with_leaf(&entry.node, text), ..entry.clone() })
                .collect(),
        }),
        _ => Value::Text(Text { text: text.to_owned(), literal: None }),
    };
    Node { value, place: node.place.clone() }
}

pub(crate) type Wrong = (Range<usize>, String);

/// The values of a sweep, as they are written in a setting.
fn values(text: &str) -> Result<Vec<String>, Wrong> {
    let ends = ends(text)?;
    let kind = ends.kind;
    Ok(points(text, &ends)?.into_iter().map(|value| kind.write(value)).collect())
}

/// The values of a sweep in base units: s, bit/s, bytes.
pub(crate) fn edges(text: &str) -> Result<Vec<f64>, Wrong> {
    let ends = ends(text)?;
    let worth = if ends.kind == Kind::Time { 1e-9 } else { 1.0 };
    Ok(points(text, &ends)?.into_iter().map(|value| value * worth).collect())
}

fn points(text: &str, ends: &Ends) -> Result<Vec<f64>, Wrong> {
    match &text[ends.how.clone()] {
        "log" => by_factor(ends.kind, ends.low, ends.high, text, &ends.by),
        "step" => by_step(ends.low, ends.high, ends.read(text, &ends.by)?, &ends.by),
        "" => Err((0..text.len(), "a sweep says its steps".to_owned())),
        other => Err((ends.how.clone(), format!("\"{other}\" is neither log nor step"))),
    }
}

/// `FROM..TO`, and the two words behind it, which need not be there.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Ends {
    pub(crate) kind: Kind,
    /// In the smallest unit, as all values here.
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Where the first word behind the ends is.
    pub(crate) how: Range<usize>,
    /// Where the second is.
    pub(crate) by: Range<usize>,
}

impl Ends {
    /// Reads a part of the text as what the ends are.
    pub(crate) fn read(&self, text: &str, at: &Range<usize>) -> Result<f64, Wrong> {
        read(self.kind, text, at)
    }
}

fn read(kind: Kind, text: &str, at: &Range<usize>) -> Result<f64, Wrong> {
    let part = text[at.clone()].trim_end();
    kind.read(part).ok_or_else(|| (at.clone(), format!("\"{part}\" is not {}", kind.name())))
}

/// Reads the ends of a sweep or a range, and finds what follows.
pub(crate) fn ends(text: &str) -> Result<Ends, Wrong> {
    let whole = 0..text.len();
    let dots = text.find("..").ok_or((whole, "a sweep is FROM..TO".to_owned()))?;
    let word = |from: usize| -> Range<usize> {
        let rest = &text[from..];
        let start = from + rest.len() - rest.trim_start().len();
        let end = text[start..].find(char::is_whitespace).map_or(text.len(), |n| start + n);
        start..end
    };
    let (low_at, high_at) = (word(0).start..dots, word(dots + 2));
    let how = word(high_at.end);
    let by = word(how.end);
    let (low_text, high_text) = (text[low_at.clone()].trim_end(), &text[high_at.clone()]);
    let kind = Kind::of(low_text).ok_or_else(|| {
        (low_at.clone(), format!("\"{low_text}\" is not a number, a time, a rate or a size"))
    })?;
    let (low, high) = (read(kind, text, &low_at)?, read(kind, text, &high_at)?);
    if low >= high {
        return Err((low_at.start..high_at.end, format!("{low_text} is not below {high_text}")));
    }
    let rest = word(by.end);
    if !rest.is_empty() {
        return Err((rest, "a sweep ends here".to_owned()));
    }
    Ok(Ends { kind, low, high, how, by })
}

fn by_step(low: f64, high: f64, step: f64, at: &Range<usize>) -> Result<Vec<f64>, Wrong> {
    if step <= 0.0 {
        return Err((at.clone(), "a step is above 0".to_owned()));
    }
    let count = ((high - low) / step + 1e-9).floor();
    if count >= MOST as f64 {
        return Err((at.clone(), format!("this makes more than {MOST} values")));
    }
    Ok((0..=count as u64).map(|n| low + n as f64 * step).collect())
}

fn by_factor(
    kind: Kind,
    low: f64,
    high: f64,
    text: &str,
    at: &Range<usize>,
) -> Result<Vec<f64>, Wrong> {
    let word = &text[at.clone()];
    let Ok(count @ 2..=MOST) = word.parse::<u64>() else {
        return Err((at.clone(), format!("\"{word}\" is not a number of values from 2 to {MOST}")));
    };
    if low <= 0.0 {
        return Err((
            0..text.find("..").unwrap_or(0),
            "a sweep by factors begins above 0".to_owned(),
        ));
    }
    let mut values: Vec<f64> = (0..count)
        .map(|n| match n {
            0 => low,
            n if n == count - 1 => high,
            n => kind.three_digits(low * libm::pow(high / low, n as f64 / (count - 1) as f64)),
        })
        .collect();
    let before = values.len();
    values.dedup();
    if values.len() < before || values.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err((
            at.clone(),
            format!("{count} values are too many here: some are the same in three digits"),
        ));
    }
    Ok(values)
}

/// What is swept; values are in the smallest unit: nanoseconds, bits per second, bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Number,
    Time,
    Rate,
    Size,
}

impl Kind {
    fn of(text: &str) -> Option<Self> {
        let kinds = [Self::Number, Self::Rate, Self::Time, Self::Size];
        kinds.into_iter().find(|kind| kind.read(text).is_some())
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Number => "a number",
            Self::Time => "a time",
            Self::Rate => "a rate",
            Self::Size => "a size",
        }
    }

    fn read(self, text: &str) -> Option<f64> {
        let bare = text.parse::<f64>().ok().filter(|x| x.is_finite());
        match self {
            Self::Number => bare,
            _ if bare.is_some() => None,
            Self::Time => parse_span(text).ok().map(|span| span.as_nanos() as f64),
            Self::Rate => {
                Quantity::Rate.strict(text).ok()?;
                parse_rate(text).ok().map(|rate| rate.bits_per_sec() as f64)
            }
            Self::Size => parse_size(text).ok().map(|bytes| bytes as f64),
        }
    }

    /// The nearest value of three digits in the unit that it is written in: a label says all of it.
    pub(crate) fn three_digits(self, value: f64) -> f64 {
        let (_, unit) = self.unit(value);
        let number = value / unit;
        let step = if number >= 100.0 {
            1.0
        } else if number >= 10.0 {
            0.1
        } else {
            0.01
        };
        let rounded = (number / step).round() * step * unit;
        match self {
            Self::Number => (number / step).round() * step,
            _ => rounded.round(),
        }
    }

    /// The largest unit that is not above a value, and its worth.
    fn unit(self, value: f64) -> (&'static str, f64) {
        let units: &[(&'static str, f64)] = match self {
            Self::Number => &[("", 1.0)],
            Self::Time => &[("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0)],
            Self::Rate => {
                &[("tbit", 1e12), ("gbit", 1e9), ("mbit", 1e6), ("kbit", 1e3), ("bit", 1.0)]
            }
            Self::Size => {
                &[("gb", 1_073_741_824.0), ("mb", 1_048_576.0), ("k", 1024.0), ("b", 1.0)]
            }
        };
        *units.iter().find(|(_, worth)| value >= *worth).unwrap_or(&units[units.len() - 1])
    }

    /// A value as a setting has it, in its own unit; in the smallest where that would lose something.
    pub(crate) fn write(self, value: f64) -> String {
        let (name, unit) = self.unit(value);
        let text = |decimals: usize| {
            let number = format!("{:.decimals$}", value / unit);
            let number = if number.contains('.') {
                number.trim_end_matches('0').trim_end_matches('.')
            } else {
                &number
            };
            format!("{number}{name}")
        };
        let exact = (0..=6).map(text).find(|text| self.read(text) == Some(value));
        exact.unwrap_or_else(|| match self {
            Self::Number => text(6),
            Self::Time => format!("{value}ns"),
            Self::Rate => format!("{value}bit"),
            Self::Size => format!("{value}b"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_the_values() {
        for (text, said) in [
            ("1mbit..1gbit log 4", "1mbit 10mbit 100mbit 1gbit"),
            (
                "1mbit..1gbit log 10",
                "1mbit 2.15mbit 4.64mbit 10mbit 21.5mbit 46.4mbit 100mbit 215mbit 464mbit 1gbit",
            ),
            ("10ms..50ms step 10ms", "10ms 20ms 30ms 40ms 50ms"),
            ("10ms..45ms step 10ms", "10ms 20ms 30ms 40ms"),
            ("500us..1.5ms step 500us", "500us 1ms 1.5ms"),
            ("1..5 step 2", "1 3 5"),
            ("1..100 log 3", "1 10 100"),
            ("0.1..0.4 step 0.1", "0.1 0.2 0.3 0.4"),
            ("16k..64k step 16k", "16k 32k 48k 64k"),
            (" 1mbit .. 3mbit  step  1mbit ", "1mbit 2mbit 3mbit"),
        ] {
            assert_eq!(values(text).unwrap_or_else(|e| panic!("{text}: {e:?}")).join(" "), said);
        }
    }

    #[test]
    fn mistakes_are_pointed_at() {
        for (text, part, said) in [
            ("1mbit..1gbit", "1mbit..1gbit", "says its steps"),
            ("1mbit..1gbit lin 10", "lin", "neither log nor step"),
            ("1mbit..1gbit log 1", "1", "from 2 to"),
            ("1mbit..1gbit log x", "x", "from 2 to"),
            ("1mbit..1gbit log", "", "from 2 to"),
            ("1gbit..1mbit log 3", "1gbit..1mbit", "is not below"),
            ("0ms..1s log 3", "0ms", "above 0"),
            ("1ms..1s step 0ms", "0ms", "above 0"),
            ("1ns..1s step 1ns", "1ns", "more than 10000"),
            ("1mbit..1s log 3", "1s", "\"1s\" is not a rate"),
            ("1mbps..8mbps log 3", "1mbps", "is not a number, a time"),
            ("x..1s log 3", "x", "is not a number"),
            ("10ms..11ms log 500", "500", "too many"),
            ("1s..2s log 3 4", "4", "ends here"),
        ] {
            let (at, message) = values(text).expect_err(text);
            assert!(message.contains(said), "{text}: {message}");
            assert_eq!(&text[at], part, "{text}");
        }
    }
}
