//! Units of metrics.

use core::fmt;
use serde::{Deserialize, Serialize};

/// The unit of a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A ratio, a share, an index, a number of the controller's own.
    One,
    /// Seconds.
    Seconds,
    /// Bits per second.
    BitsPerSecond,
    /// Packets, or other things that are counted.
    Packets,
    /// Bytes.
    Bytes,
}

impl Unit {
    /// What is written behind a number; empty for plain numbers.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::One => "",
            Self::Seconds => "s",
            Self::BitsPerSecond => "bit/s",
            Self::Packets => "packets",
            Self::Bytes => "bytes",
        }
    }

    /// What it measures, for messages.
    pub const fn what(self) -> &'static str {
        match self {
            Self::One => "a plain number",
            Self::Seconds => "a time",
            Self::BitsPerSecond => "a rate",
            Self::Packets => "a count",
            Self::Bytes => "a size",
        }
    }

    /// How to write one, for messages.
    pub const fn example(self) -> &'static str {
        match self {
            Self::One => "0.95 or 95%",
            Self::Seconds => "30ms",
            Self::BitsPerSecond => "20mbit",
            Self::Packets => "100",
            Self::Bytes => "32k",
        }
    }

    /// A number with this unit as people read it: `24.3 ms`, `47.82 Mbit/s`.
    pub fn show(self, value: f64) -> String {
        let scaled = |steps: &[(f64, &str)]| {
            let (scale, name) = steps
                .iter()
                .copied()
                .find(|(scale, _)| value.abs() >= *scale)
                .unwrap_or(steps[steps.len() - 1]);
            format!("{} {name}", significant(value / scale))
        };
        if value.is_nan() {
            return "none".to_owned();
        }
        match self {
            Self::One => significant(value),
            Self::Seconds => scaled(&[(1.0, "s"), (1e-3, "ms"), (1e-6, "us")]),
            Self::BitsPerSecond => {
                scaled(&[(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")])
            }
            Self::Packets => format!("{} packets", significant(value)),
            Self::Bytes => format!("{} bytes", significant(value)),
        }
    }
}

/// Four significant digits without trailing zeros; whole thousands in full.
fn significant(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 1000.0 => 0,
        v if v >= 100.0 => 1,
        v if v >= 10.0 => 2,
        v if v >= 1.0 => 3,
        _ => 4,
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.symbol())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_in_the_unit_that_they_reach() {
        for (unit, value, text) in [
            (Unit::BitsPerSecond, 47_820_000.0, "47.82 Mbit/s"),
            (Unit::Seconds, 0.0243, "24.3 ms"),
            (Unit::Seconds, 0.0, "0 us"),
            (Unit::One, 23.5, "23.5"),
            (Unit::Packets, 17.0, "17 packets"),
            (Unit::BitsPerSecond, 0.0, "0 bit/s"),
            (Unit::One, 12_345.6, "12346"),
            (Unit::One, f64::NAN, "none"),
        ] {
            assert_eq!(unit.show(value), text);
        }
    }
}
