//! Instants of the implementations from the caller's time.

use sojourn_units::Time;
use std::time::{Duration, Instant};

/// An instant that stands for time zero. An `Instant` can only be had from the system's clock; nothing depends on which it
/// is, since the implementations only ever take differences.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    #[allow(clippy::disallowed_methods, reason = "the only way to an Instant; it decides nothing")]
    pub(crate) fn new() -> Self {
        Self(Instant::now())
    }

    /// This time, as an instant.
    pub(crate) fn at(self, time: Time) -> Instant {
        self.0 + Duration::from_nanos(time.as_nanos())
    }

    /// This instant, as a time; an instant before time zero is time zero.
    pub(crate) fn time(self, at: Instant) -> Time {
        let since = at.saturating_duration_since(self.0).as_nanos();
        Time::from_nanos(u64::try_from(since).unwrap_or(u64::MAX))
    }
}
