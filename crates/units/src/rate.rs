//! Bit rates, and the time that bytes take at them.

use crate::{Span, Time};
use core::fmt;

/// A rate in whole bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);

const NANOS_PER_SECOND: u128 = 1_000_000_000;

impl Rate {
    /// No bits at all.
    pub const ZERO: Self = Self(0);

    /// `bits` bits per second.
    #[inline]
    pub const fn from_bits_per_sec(bits: u64) -> Self {
        Self(bits)
    }

    /// `bytes` bytes per second.
    #[inline]
    pub const fn from_bytes_per_sec(bytes: u64) -> Self {
        Self(bytes * 8)
    }

    /// `n` million bits per second (tc's `mbit`).
    #[inline]
    pub const fn from_mbit(n: u64) -> Self {
        Self(n * 1_000_000)
    }

    /// In bits per second.
    #[inline]
    pub const fn bits_per_sec(self) -> u64 {
        self.0
    }

    /// In bytes per second, rounded down.
    #[inline]
    pub const fn bytes_per_sec(self) -> u64 {
        self.0 / 8
    }

    /// In million bits per second; for reports only.
    #[inline]
    pub fn as_mbit(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Whether nothing gets through.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The time that `bytes` take, rounded up to the nanosecond; [`Span::MAX`] at rate zero.
    #[inline]
    pub const fn time_for(self, bytes: u64) -> Span {
        if self.0 == 0 {
            return Span::MAX;
        }
        let nanos = (bytes as u128 * 8 * NANOS_PER_SECOND).div_ceil(self.0 as u128);
        Span::from_nanos(if nanos > u64::MAX as u128 { u64::MAX } else { nanos as u64 })
    }

    /// The whole bytes that get through in `span`.
    #[inline]
    pub const fn bytes_in(self, span: Span) -> u64 {
        (self.0 as u128 * span.as_nanos() as u128 / (8 * NANOS_PER_SECOND)) as u64
    }
}

impl fmt::Display for Rate {
    /// As `tc` prints it, in the largest decimal unit that leaves no remainder: `50Mbit`, `1500Kbit`, `999bit`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let b = self.0;
        match b {
            _ if b >= 1_000_000_000 && b.is_multiple_of(1_000_000_000) => {
                write!(f, "{}Gbit", b / 1_000_000_000)
            }
            _ if b >= 1_000_000 && b.is_multiple_of(1_000_000) => {
                write!(f, "{}Mbit", b / 1_000_000)
            }
            _ if b >= 1_000 && b.is_multiple_of(1_000) => write!(f, "{}Kbit", b / 1_000),
            _ => write!(f, "{b}bit"),
        }
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A line that sends one packet after the other and carries the fraction of a nanosecond that each leaves
/// over, so that the long-run rate is exact.
#[derive(Clone, Debug)]
pub struct Serializer {
    rate: Rate,
    /// What is left of the last division, in bit-nanoseconds per second (below `rate`).
    remainder: u64,
}

impl Serializer {
    /// A line of the given rate, which must not be zero.
    pub fn new(rate: Rate) -> Self {
        assert!(!rate.is_zero(), "a line needs a rate");
        Self { rate, remainder: 0 }
    }

    /// The line's rate.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// When a packet of `bytes` that starts at `start` has wholly left.
    #[inline]
    pub fn finish(&mut self, start: Time, bytes: u64) -> Time {
        let bits = u128::from(bytes) * 8 * NANOS_PER_SECOND + u128::from(self.remainder);
        self.remainder = (bits % u128::from(self.rate.bits_per_sec())) as u64;
        start + Span::from_nanos((bits / u128::from(self.rate.bits_per_sec())) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::prelude::v1::*;

    #[test]
    fn a_full_packet_at_fifty_mbit_takes_its_published_time() {
        assert_eq!(Rate::from_mbit(50).time_for(1514), Span::from_nanos(242_240));
    }

    #[test]
    fn the_carried_remainder_keeps_the_long_run_rate_exact() {
        let mut line = Serializer::new(Rate::from_bits_per_sec(7));
        let end = (0..7).fold(Time::ZERO, |t, _| line.finish(t, 1));
        assert_eq!(end, Time::from_secs(8));
    }

    #[test]
    fn rates_print_as_tc_prints_them() {
        for (bits, text) in [
            (50_000_000, "50Mbit"),
            (1_500_000, "1500Kbit"),
            (8_000_000_000, "8Gbit"),
            (999, "999bit"),
            (0, "0bit"),
        ] {
            assert_eq!(Rate::from_bits_per_sec(bits).to_string(), text);
        }
    }
}
