//! A point in time relative to the run's origin.

use core::fmt;
use core::ops::Add;
use core::str::FromStr;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sojourn_units::{ParseError, Span, parse_span};

/// A point in time: nanoseconds from the run's origin, negative before it. Prints as `24.7s` and `-5s`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct At(i64);

impl At {
    /// The origin.
    pub const ORIGIN: Self = Self(0);

    /// `nanos` nanoseconds after the origin.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// `secs` whole seconds after the origin.
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs * 1_000_000_000)
    }

    /// `millis` milliseconds after the origin.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis * 1_000_000)
    }

    /// `span` after the origin.
    pub const fn after_origin(span: Span) -> Self {
        Self(span.as_nanos() as i64)
    }

    /// Nanoseconds from the origin.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Seconds from the origin; for reports and tables.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Add<Span> for At {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0 + span.as_nanos() as i64)
    }
}

impl FromStr for At {
    type Err = ParseError;

    /// A span in tc's spelling, with a `-` before it for a point before the origin.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let t = text.trim();
        match t.strip_prefix('-') {
            Some(before) => Ok(Self(-(parse_span(before)?.as_nanos() as i64))),
            None => Ok(Self(parse_span(t)?.as_nanos() as i64)),
        }
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 0 {
            f.write_str("-")?;
        }
        fmt::Display::fmt(&Span::from_nanos(self.0.unsigned_abs()), f)
    }
}

impl fmt::Debug for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for At {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for At {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_before_the_origin_read_and_print() {
        for (text, nanos) in [("-5s", -5_000_000_000), ("24.7s", 24_700_000_000), ("0s", 0)] {
            assert_eq!(text.parse(), Ok(At(nanos)));
            assert_eq!(At(nanos).to_string(), text);
        }
        assert!("--5s".parse::<At>().is_err());
    }
}
