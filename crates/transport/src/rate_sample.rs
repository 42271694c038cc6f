//! Delivery-rate samples (`struct rate_sample`): the results of the sender's estimator, for controls and records.

use sojourn_units::Time;

/// The sample kept for `ss` and for controllers that ask (`tp->rate_delivered`, `rate_interval_us`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RateSample {
    /// Segments delivered in the interval.
    pub delivered: u32,
    /// The interval in microseconds; zero before the first sample.
    pub interval_us: u32,
    /// Whether the application was pausing in it.
    pub app_limited: bool,
}

impl RateSample {
    /// Payload bytes per second for segments of `mss` bytes; zero before the first sample.
    pub fn bytes_per_sec(&self, mss: u32) -> u64 {
        if self.interval_us == 0 {
            return 0;
        }
        u64::from(self.delivered) * u64::from(mss) * 1_000_000 / u64::from(self.interval_us)
    }
}

/// Difference of two points in whole microseconds, each rounded down first, as the kernel's µs clock gives it.
#[inline]
pub fn micros_between(later: Time, earlier: Time) -> u32 {
    (later.as_micros().wrapping_sub(earlier.as_micros())) as u32
}
