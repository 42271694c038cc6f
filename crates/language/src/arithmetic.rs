//! The inside of `${` and `}`: plain arithmetic over quantities, with a check of their units. A rate times a time is a
//! size, a size over a time a rate, a size over a rate a time; like quantities add up.

use core::ops::Range;
use sojourn_model::WordError;
use sojourn_units::{Quantity, Rate, Span, parse_rate, parse_size, parse_span};

/// The unit of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unit {
    /// A plain number.
    None,
    /// Seconds.
    Time,
    /// Bits per second.
    Rate,
    /// Bytes.
    Size,
}

impl Unit {
    const fn name(self) -> &'static str {
        match self {
            Self::None => "a number",
            Self::Time => "a time",
            Self::Rate => "a rate",
            Self::Size => "a size",
        }
    }
}

/// A number with its unit: seconds, bits per second, bytes, or none.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Value {
    pub(crate) number: f64,
    pub(crate) unit: Unit,
}

impl Value {
    /// Reads a number, with a unit or without; `None` if it is none.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Ok(number) = text.parse::<f64>() {
            return number.is_finite().then_some(Self { number, unit: Unit::None });
        }
        // tc's `mbit` is a rate and a size; here it is a rate. `mbps` is nobody's.
        if Quantity::Rate.strict(text).is_ok()
            && let Ok(rate) = parse_rate(text)
        {
            return Some(Self { number: rate.bits_per_sec() as f64, unit: Unit::Rate });
        }
        if let Ok(span) = parse_span(text) {
            return Some(Self { number: span.as_nanos() as f64 / 1e9, unit: Unit::Time });
        }
        let size = parse_size(text).ok()?;
        Some(Self { number: size as f64, unit: Unit::Size })
    }

    /// As a setting is written: `50Mbit`, `20ms`, `250000b`, `12.5`.
    pub(crate) fn text(self) -> String {
        let whole = |x: f64| (x + 0.5) as u64;
        match self.unit {
            Unit::None => self.number.to_string(),
            Unit::Time => Span::from_nanos(whole(self.number * 1e9)).to_string(),
            Unit::Rate => Rate::from_bits_per_sec(whole(self.number)).to_string(),
            Unit::Size => format!("{}b", whole(self.number)),
        }
    }
}

/// What names stand for.
pub(crate) trait Names {
    /// The value of a name, or the mistake and its remedy.
    fn value(&self, name: &str) -> Result<Value, (String, String)>;
}

/// Works out an expression.
pub(crate) fn evaluate(text: &str, names: &dyn Names) -> Result<Value, WordError> {
    let mut reader = Reader { text, at: 0, depth: 0, names };
    let (value, at) = reader.sum()?;
    reader.space();
    if reader.at < text.len() {
        return Err(
            reader.wrong("there is something behind the expression", "join it with + - * or /")
        );
    }
    let problem = if !value.number.is_finite() {
        "this is no number: something was divided by zero, or is too large"
    } else if value.unit != Unit::None && value.number < 0.0 {
        "this is below zero"
    } else if value.unit != Unit::None && value.number >= 9.0e9 * scale(value.unit) {
        "this is out of range"
    } else {
        return Ok(value);
    };
    Err(WordError { at, message: problem.into(), help: String::new() })
}

/// What a unit's largest number is a multiple of: 9·10⁹ s, and as many bits a second or bytes as fit.
const fn scale(unit: Unit) -> f64 {
    match unit {
        Unit::Time | Unit::None => 1.0,
        Unit::Rate | Unit::Size => 1e9,
    }
}

/// Parentheses in parentheses beyond this help nobody.
const DEEPEST: usize = 32;

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    names: &'a dyn Names,
}

type Part = Result<(Value, Range<usize>), WordError>;

impl Reader<'_> {
    fn wrong(&self, message: &str, help: &str) -> WordError {
        let end = self.text[self.at..].chars().next().map_or(self.at, |c| self.at + c.len_utf8());
        WordError { at: self.at..end, message: message.into(), help: help.into() }
    }

    fn space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    /// The next character, if it is one of these.
    fn take(&mut self, wanted: &str) -> Option<char> {
        self.space();
        let next = self.text[self.at..].chars().next().filter(|c| wanted.contains(*c))?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn sum(&mut self) -> Part {
        let (mut value, mut at) = self.product()?;
        while let Some(sign) = self.take("+-") {
            let (other, there) = self.product()?;
            at = at.start..there.end;
            if value.unit != other.unit {
                let verb = if sign == '+' { "added to" } else { "taken from" };
                let message =
                    format!("{} cannot be {verb} {}", other.unit.name(), value.unit.name());
                return Err(WordError { at, message, help: "both are to be alike".into() });
            }
            value.number += if sign == '+' { other.number } else { -other.number };
        }
        Ok((value, at))
    }

    fn product(&mut self) -> Part {
        let (mut value, mut at) = self.factor()?;
        while let Some(sign) = self.take("*/") {
            let (other, there) = self.factor()?;
            at = at.start..there.end;
            let found = if sign == '*' { times(value, other) } else { over(value, other) };
            value = found.ok_or_else(|| {
                let message = if sign == '*' {
                    format!(
                        "{} times {} is nothing that is known here",
                        value.unit.name(),
                        other.unit.name()
                    )
                } else {
                    format!(
                        "{} over {} is nothing that is known here",
                        value.unit.name(),
                        other.unit.name()
                    )
                };
                WordError {
                    at: at.clone(),
                    message,
                    help: "rate * time is a size, size / time a rate, size / rate a time".into(),
                }
            })?;
        }
        Ok((value, at))
    }

    fn factor(&mut self) -> Part {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wrong("this is nested too deep", "write it with fewer parentheses"));
        }
        let part = self.whole_factor();
        self.depth -= 1;
        part
    }

    fn whole_factor(&mut self) -> Part {
        self.space();
        let start = self.at;
        if self.take("-").is_some() {
            let (value, at) = self.factor()?;
            return Ok((Value { number: -value.number, ..value }, start..at.end));
        }
        if self.take("(").is_some() {
            let (value, _) = self.sum()?;
            self.close()?;
            return Ok((value, start..self.at));
        }
        let rest = &self.text[start..];
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | 'µ');
        let mut end = rest.find(|c| !word(c)).unwrap_or(rest.len());
        let number = rest.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        if number && rest[..end].ends_with(['e', 'E']) && rest[end..].starts_with(['-', '+']) {
            // 1e-3s
            let behind = &rest[end + 1..];
            end += 1 + behind.find(|c| !word(c)).unwrap_or(behind.len());
        }
        let text = &rest[..end];
        self.at = start + end;
        let at = start..self.at;
        if text.is_empty() {
            self.at = start;
            return Err(self.wrong(
                "a value is missing here",
                "write a number such as 0.2 or 10ms, or a name",
            ));
        }
        if number {
            return Value::read(text).map(|value| (value, at.clone())).ok_or_else(|| WordError {
                at,
                message: format!("\"{text}\" is not a number, a time, a rate or a size"),
                help: "write 0.2, 10ms, 50mbit or 1514b".into(),
            });
        }
        if self.take("(").is_some() {
            return self.call(text, at);
        }
        match self.names.value(text) {
            Ok(value) => Ok((value, at)),
            Err((message, help)) => Err(WordError { at, message, help }),
        }
    }

    fn close(&mut self) -> Result<(), WordError> {
        if self.take(")").is_none() {
            return Err(self.wrong("a \")\" is missing here", ""));
        }
        Ok(())
    }

    fn call(&mut self, name: &str, at: Range<usize>) -> Part {
        let mut given = vec![self.sum()?];
        while self.take(",").is_some() {
            given.push(self.sum()?);
        }
        self.close()?;
        let whole = at.start..self.at;
        let (first, _) = given[0];
        if let Some((_, there)) = given.iter().find(|(value, _)| value.unit != first.unit) {
            let message = format!("{name} is of values that are alike");
            return Err(WordError { at: there.clone(), message, help: String::new() });
        }
        let number = match (name, given.len()) {
            ("min", _) => given.iter().fold(f64::INFINITY, |least, (v, _)| least.min(v.number)),
            ("max", _) => given.iter().fold(f64::NEG_INFINITY, |most, (v, _)| most.max(v.number)),
            ("round", 1) => first.number.round(),
            ("round", _) => {
                return Err(WordError {
                    at: whole,
                    message: "round is of one value".into(),
                    help: String::new(),
                });
            }
            _ => {
                return Err(WordError {
                    at,
                    message: format!("there is no function \"{name}\""),
                    help: "there are min, max and round".into(),
                });
            }
        };
        Ok((Value { number, ..first }, whole))
    }
}

fn times(a: Value, b: Value) -> Option<Value> {
    let number = a.number * b.number;
    let (number, unit) = match (a.unit, b.unit) {
        (Unit::None, unit) | (unit, Unit::None) => (number, unit),
        (Unit::Rate, Unit::Time) | (Unit::Time, Unit::Rate) => (number / 8.0, Unit::Size),
        _ => return None,
    };
    Some(Value { number, unit })
}

fn over(a: Value, b: Value) -> Option<Value> {
    let number = a.number / b.number;
    let (number, unit) = match (a.unit, b.unit) {
        (unit, Unit::None) => (number, unit),
        (Unit::Size, Unit::Time) => (number * 8.0, Unit::Rate),
        (Unit::Size, Unit::Rate) => (number * 8.0, Unit::Time),
        (one, other) if one == other => (number, Unit::None),
        _ => return None,
    };
    Some(Value { number, unit })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Line;

    impl Names for Line {
        fn value(&self, name: &str) -> Result<Value, (String, String)> {
            let text = match name {
                "rate" => "50mbit",
                "hop.b.rtt" => "20ms",
                "n" => "3",
                _ => return Err((format!("\"{name}\" is not set"), String::new())),
            };
            Value::read(text).ok_or_else(|| (String::new(), String::new()))
        }
    }

    #[test]
    fn units_are_worked_out() {
        for (text, said) in [
            ("rate * hop.b.rtt * 0.2", "25000b"),
            ("0.2 * hop.b.rtt * rate", "25000b"),
            ("round(rate * hop.b.rtt / 1514b)", "83"),
            ("rate / n", "16666667bit"),
            ("125000b / rate", "20ms"),
            ("125000b / 20ms", "50Mbit"),
            ("hop.b.rtt / 10ms", "2"),
            ("2 * (hop.b.rtt + 5ms) - 10ms", "40ms"),
            ("min(rate, 10mbit, 1gbit)", "10Mbit"),
            ("max(1, n, -2)", "3"),
            ("-n + 5", "2"),
            ("1e-3s * 2", "2ms"),
            ("2k + 1b", "2049b"),
        ] {
            let value = evaluate(text, &Line).unwrap_or_else(|e| panic!("{text}: {}", e.message));
            assert_eq!(value.text(), said, "{text}");
        }
    }

    #[test]
    fn mistakes_are_pointed_at() {
        for (text, part, said) in [
            ("rate + hop.b.rtt", "rate + hop.b.rtt", "a time cannot be added to a rate"),
            ("rate * rate", "rate * rate", "a rate times a rate"),
            ("n / rate", "n / rate", "a number over a rate"),
            ("rate * delay", "delay", "\"delay\" is not set"),
            ("rate *", "", "a value is missing"),
            ("(rate", "", "a \")\" is missing"),
            ("rate rate", "r", "something behind"),
            ("sin(n)", "sin", "no function \"sin\""),
            ("round(n, n)", "round(n, n)", "of one value"),
            ("min(n, rate)", "rate", "alike"),
            ("5parsec", "5parsec", "is not a number"),
            ("50mbps", "50mbps", "is not a number"),
            ("n / 0", "n / 0", "divided by zero"),
            ("1s - 2s", "1s - 2s", "below zero"),
            ("1e9 * 100s", "1e9 * 100s", "out of range"),
        ] {
            let error = evaluate(text, &Line).expect_err(text);
            assert!(error.message.contains(said), "{text}: {}", error.message);
            assert_eq!(&text[error.at], part, "{text}");
        }
        let deep = format!("{}1{}", "(".repeat(40), ")".repeat(40));
        assert!(evaluate(&deep, &Line).expect_err("deep").message.contains("nested"));
        let deep = format!("{}1", "-".repeat(100_000));
        assert!(evaluate(&deep, &Line).is_err());
    }
}
