//! The ranges of settings, for the language's table of keys and for scenarios that are read back from a file.
//!
//! A stored scenario does not pass the language, and a program can build one without it. Settings that no engine could
//! run to the end (an interval of zero, a table of a billion rows) are refused here for all of them. The bounds are
//! texts, as an experiment would have them: errors and the reference show the same texts.

use sojourn_units::Span;

/// A range of times, both bounds included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Times {
    /// The shortest: `10us`.
    pub least: &'static str,
    /// The longest.
    pub most: &'static str,
}

impl Times {
    const fn from(least: &'static str, most: &'static str) -> Self {
        Self { least, most }
    }

    /// Whether a time is in it.
    ///
    /// # Panics
    /// If a bound is no time; a test reads those of this module.
    pub fn holds(&self, span: Span) -> bool {
        let bound = |text: &str| text.parse::<Span>().unwrap_or_else(|e| panic!("{text}: {e}"));
        (bound(self.least)..=bound(self.most)).contains(&span)
    }
}

/// A range of counts, both bounds included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counts {
    /// The smallest.
    pub least: u64,
    /// The largest.
    pub most: u64,
}

impl Counts {
    /// Whether a count is in it.
    pub fn holds(&self, count: impl Into<u64>) -> bool {
        (self.least..=self.most).contains(&count.into())
    }
}

/// The length of a run, of a window or of a period in it.
pub const LENGTH: Times = Times::from("1ms", "100000s");
/// How long a run lasts before its origin.
pub const WARMUP: Times = Times::from("0s", "1000s");
/// The time between two rows of the tables over time.
pub const SAMPLE_INTERVAL: Times = Times::from("1ms", "1000s");
/// The interval of a periodic source, and the mean of a random one.
pub const INTERVAL: Times = Times::from("10us", "1000s");
/// The payload of a datagram in bytes.
pub const PAYLOAD: Counts = Counts { least: 1, most: 65_507 };
/// How many streams share a QUIC connection: the number that the stacks allow a peer by default.
pub const QUIC_STREAMS: Counts = Counts { least: 1, most: 100 };
/// How many datagrams a QUIC stack hands over at once: the most that Linux takes (`UDP_MAX_SEGMENTS`).
pub const QUIC_BURST: Counts = Counts { least: 1, most: 64 };
/// The receiver's buffer of a TCP implementation in bytes: from a full segment to the largest window that TCP can say
/// (RFC 7323 §2.3).
pub const STACK_WINDOW: Counts = Counts { least: 1460, most: 1 << 30 };
/// For how long a TCP implementation may hold an acknowledgement back.
pub const ACK_DELAY: Times = Times::from("0s", "1s");
/// The step of a program's timers.
pub const TIMER_GRANULARITY: Times = Times::from("1us", "1s");
/// The IP packet of an echo request in bytes.
pub const PING_SIZE: Counts = Counts { least: 28, most: 65_535 };
/// The slowest rate in bits a second: tc counts whole bytes a second, and at none nothing would ever leave.
pub const LEAST_RATE: u64 = 8;
/// A token bucket in bytes: tc's size, 32 bits.
pub const BUCKET: Counts = Counts { least: 1, most: 4_294_967_295 };
/// The CPU time that a run may take for a second of its clock.
pub const CPU: Times = Times::from("1s", "1000000s");
/// How many connections a source of short flows makes.
pub const SHORT_FLOWS: Counts = Counts { least: 1, most: 10_000_000 };

/// Rows that the tables of one run may have together: with their columns some ten gigabytes.
pub const ROWS: u64 = 100_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_times_in_order() {
        for range in [LENGTH, WARMUP, SAMPLE_INTERVAL, INTERVAL, TIMER_GRANULARITY, CPU] {
            let (least, most) = (range.least.parse().unwrap(), range.most.parse::<Span>().unwrap());
            assert!(range.holds(least) && range.holds(most) && least < most, "{range:?}");
            assert!(!range.holds(most + Span::from_nanos(1)), "{range:?}");
        }
        assert!(!INTERVAL.holds(Span::ZERO) && !PAYLOAD.holds(0_u32) && PAYLOAD.holds(65_507_u32));
    }
}
