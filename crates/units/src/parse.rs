//! Quantities in `tc`'s spelling (iproute2 `lib/utils.c`, version 6: `get_rate64`, `get_time64`, `get_size64`).
//!
//! Unit names are read in any case, as tc does. The one trap is kept: `mbit` is bits, `mbps` is *bytes*.
//! Where tc takes a bare number in a hidden unit, [`parse_span`], [`parse_rate`] and [`parse_size`] do so too;
//! text that is not for tc goes through [`Quantity::strict`], which asks for the unit.

use crate::{Rate, Span};
use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use core::fmt;

/// The kind of quantity that a text was taken for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantity {
    /// A length of time.
    Span,
    /// A bit rate.
    Rate,
    /// A number of bytes.
    Size,
    /// A probability.
    Probability,
}

impl Quantity {
    /// How it is written, for messages.
    pub const fn example(self) -> &'static str {
        match self {
            Self::Span => "a time such as 20ms, 250us or 1.5s",
            Self::Rate => "a rate such as 50mbit, 1gbit or 256kbit",
            Self::Size => "a size such as 1600b, 32k or 4mb",
            Self::Probability => "a probability such as 10% or 0.1",
        }
    }

    /// Refuses what a reader would have to guess: the unit of a bare number (zero needs none), and whether `bps` are
    /// bits or tc's bytes.
    pub fn strict(self, text: &str) -> Result<(), ParseError> {
        let bare = text.trim().parse::<f64>().is_ok_and(|n| n != 0.0);
        let fail = |reason| Err(ParseError { text: text.to_owned(), quantity: self, reason });
        if bare {
            return fail(Reason::NoUnit);
        }
        if self == Self::Rate
            && text.trim_end().to_ascii_lowercase().ends_with("bps")
            && let Ok(bytes) = parse_rate(text)
        {
            return fail(Reason::Bytes(Rate::from_bits_per_sec(bytes.bits_per_sec() / 8), bytes));
        }
        Ok(())
    }
}

/// Why a text is not the quantity that was asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ParseError {
    text: String,
    quantity: Quantity,
    reason: Reason,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Reason {
    NotANumber,
    Negative,
    TooLarge,
    NoUnit,
    /// The same number in bits a second, and as tc takes it, in bytes.
    Bytes(Rate, Rate),
    UnknownUnit(String),
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, quantity, reason } = self;
        if let Reason::Bytes(bits, bytes) = reason {
            let (bits, bytes) = (written(*bits), written(*bytes));
            return write!(
                f,
                "\"{text}\" may be bits or bytes a second: tc takes bps for bytes; write {bits} or {bytes}"
            );
        }
        match reason {
            Reason::Bytes(..) => {}
            Reason::NotANumber => write!(f, "\"{text}\" does not begin with a number")?,
            Reason::Negative => write!(f, "\"{text}\" is negative")?,
            Reason::TooLarge => write!(f, "\"{text}\" is out of range")?,
            Reason::NoUnit => write!(f, "\"{text}\" has no unit")?,
            Reason::UnknownUnit(unit) => write!(f, "\"{unit}\" in \"{text}\" is not a unit here")?,
        }
        write!(f, "; write {}", quantity.example())
    }
}

impl core::error::Error for ParseError {}

/// A rate as people write it for tc: `50mbit`.
fn written(rate: Rate) -> String {
    rate.to_string().to_ascii_lowercase()
}

/// A number and the unit behind it, lower-cased.
fn split(text: &str, quantity: Quantity) -> Result<(f64, String), ParseError> {
    let fail = |reason| ParseError { text: text.to_owned(), quantity, reason };
    let t = text.trim();
    let end = t
        .char_indices()
        .find(|&(i, c)| {
            !(c.is_ascii_digit()
                || c == '.'
                || (i == 0 && (c == '-' || c == '+'))
                || is_exponent(t, i))
        })
        .map_or(t.len(), |(i, _)| i);
    let number: f64 = t[..end].parse().map_err(|_| fail(Reason::NotANumber))?;
    if number < 0.0 {
        return Err(fail(Reason::Negative));
    }
    Ok((number, t[end..].trim().to_ascii_lowercase()))
}

/// Whether the character at `i` belongs to an exponent such as `1e6` or `1e-3`.
fn is_exponent(t: &str, i: usize) -> bool {
    let b = t.as_bytes();
    let digit = |j: usize| b.get(j).is_some_and(u8::is_ascii_digit);
    match b[i] {
        b'e' | b'E' => {
            i > 0 && (digit(i + 1) || (matches!(b.get(i + 1), Some(b'-' | b'+')) && digit(i + 2)))
        }
        b'-' | b'+' => i > 0 && matches!(b[i - 1], b'e' | b'E') && digit(i + 1),
        _ => false,
    }
}

fn scaled(
    text: &str,
    quantity: Quantity,
    scale: impl Fn(&str) -> Option<f64>,
) -> Result<u64, ParseError> {
    let (number, unit) = split(text, quantity)?;
    let fail = |reason| ParseError { text: text.to_owned(), quantity, reason };
    let scale = scale(&unit).ok_or_else(|| fail(Reason::UnknownUnit(unit)))?;
    let value = number * scale;
    // Anything above 2^63 is absurd for every quantity here, and keeps later sums from overflowing.
    if value >= 9.2e18 {
        return Err(fail(Reason::TooLarge));
    }
    Ok((value + 0.5) as u64)
}

/// A length of time: `s`, `ms`, `us` and `ns` with their long forms; a bare number is microseconds, as in tc.
pub fn parse_span(text: &str) -> Result<Span, ParseError> {
    scaled(text, Quantity::Span, |unit| {
        Some(match unit {
            "s" | "sec" | "secs" => 1e9,
            "ms" | "msec" | "msecs" => 1e6,
            "" | "us" | "µs" | "usec" | "usecs" => 1e3,
            "ns" | "nsec" | "nsecs" => 1.0,
            _ => return None,
        })
    })
    .map(Span::from_nanos)
}

/// A rate: `bit`, `kbit`, `mbit`, `gbit`, `tbit`; with `i` for powers of 1024; `bps` and its multiples are
/// *bytes* per second; a bare number is bits per second. All as in tc.
pub fn parse_rate(text: &str) -> Result<Rate, ParseError> {
    scaled(text, Quantity::Rate, |unit| {
        let (prefix, bits) = match unit {
            "" => ("", 1.0),
            _ => match unit.strip_suffix("bit") {
                Some(p) => (p, 1.0),
                None => (unit.strip_suffix("bps")?, 8.0),
            },
        };
        let (prefix, base) = match prefix.strip_suffix('i') {
            Some(p) if !p.is_empty() => (p, 1024_u64),
            Some(_) => return None,
            None => (prefix, 1000),
        };
        let power = ["", "k", "m", "g", "t"].iter().position(|p| *p == prefix)?;
        Some(bits * base.pow(power as u32) as f64)
    })
    .map(Rate::from_bits_per_sec)
}

/// A number of bytes: `b`, `k`/`kb`, `m`/`mb`, `g`/`gb` in powers of 1024; `kbit`, `mbit`, `gbit` in powers of
/// 1024 bits; a bare number is bytes. All as in tc.
pub fn parse_size(text: &str) -> Result<u64, ParseError> {
    scaled(text, Quantity::Size, |unit| {
        Some(match unit {
            "" | "b" => 1.0,
            "k" | "kb" => 1024.0,
            "m" | "mb" => 1024.0 * 1024.0,
            "g" | "gb" => 1024.0 * 1024.0 * 1024.0,
            "kbit" => 1024.0 / 8.0,
            "mbit" => 1024.0 * 1024.0 / 8.0,
            "gbit" => 1024.0 * 1024.0 * 1024.0 / 8.0,
            _ => return None,
        })
    })
}

/// A probability, as `10%` or `0.1`: between 0 and 1.
pub fn parse_probability(text: &str) -> Result<f64, ParseError> {
    let quantity = Quantity::Probability;
    let (number, unit) = split(text, quantity)?;
    let fail = |reason| ParseError { text: text.to_owned(), quantity, reason };
    let value = match unit.as_str() {
        "%" => number / 100.0,
        "" => number,
        _ => return Err(fail(Reason::UnknownUnit(unit))),
    };
    if value <= 1.0 { Ok(value) } else { Err(fail(Reason::TooLarge)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::prelude::v1::*;

    #[test]
    fn times_as_tc_reads_them() {
        for (text, nanos) in [
            ("20ms", 20_000_000),
            ("1.5s", 1_500_000_000),
            ("250", 250_000),
            ("15000us", 15_000_000),
            ("7ns", 7),
            ("5MSEC", 5_000_000),
            ("0", 0),
            ("1e-3s", 1_000_000),
        ] {
            assert_eq!(parse_span(text), Ok(Span::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn rates_as_tc_reads_them() {
        for (text, bits) in [
            ("50mbit", 50_000_000),
            ("50Mbit", 50_000_000),
            ("1gbps", 8_000_000_000),
            ("1.5mbit", 1_500_000),
            ("1mibit", 1_048_576),
            ("8", 8),
            ("256kbit", 256_000),
        ] {
            assert_eq!(parse_rate(text), Ok(Rate::from_bits_per_sec(bits)), "{text}");
        }
    }

    #[test]
    fn sizes_as_tc_reads_them() {
        for (text, bytes) in
            [("1600b", 1600), ("32k", 32_768), ("4mb", 4 << 20), ("8kbit", 1024), ("1514", 1514)]
        {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn probabilities_with_and_without_percent() {
        assert_eq!(parse_probability("10%"), Ok(0.1));
        assert_eq!(parse_probability("0.25"), Ok(0.25));
        assert!(parse_probability("101%").is_err());
    }

    #[test]
    fn errors_say_what_would_be_right() {
        for (result, text) in [
            (
                parse_span("20mss").map(|_| ()),
                "\"mss\" in \"20mss\" is not a unit here; write a time such as 20ms, 250us or 1.5s",
            ),
            (
                parse_rate("fast").map(|_| ()),
                "\"fast\" does not begin with a number; write a rate such as 50mbit, 1gbit or 256kbit",
            ),
            (
                parse_span("-5ms").map(|_| ()),
                "\"-5ms\" is negative; write a time such as 20ms, 250us or 1.5s",
            ),
            (
                Quantity::Rate.strict("50"),
                "\"50\" has no unit; write a rate such as 50mbit, 1gbit or 256kbit",
            ),
            (
                Quantity::Rate.strict("50 Mbps"),
                "\"50 Mbps\" may be bits or bytes a second: tc takes bps for bytes; write 50mbit or 400mbit",
            ),
            (
                parse_rate("1e30bit").map(|_| ()),
                "\"1e30bit\" is out of range; write a rate such as 50mbit, 1gbit or 256kbit",
            ),
        ] {
            assert_eq!(result.unwrap_err().to_string(), text);
        }
    }

    #[test]
    fn what_is_printed_can_be_read_again() {
        for nanos in [1, 999, 1_000, 242_240, 20_000_000, 61_500_000_000] {
            let span = Span::from_nanos(nanos);
            assert_eq!(parse_span(&span.to_string()), Ok(span));
        }
        for bits in [1, 1_500_000, 50_000_000, 10_000_000_000] {
            let rate = Rate::from_bits_per_sec(bits);
            assert_eq!(parse_rate(&rate.to_string()), Ok(rate));
        }
    }
}
