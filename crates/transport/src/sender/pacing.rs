//! The pacing gate (`tcp_update_skb_after_send`, `tcp_pacing_check`): when the next segment may leave.

use sojourn_units::{Span, Time};

/// The gate.
#[derive(Clone, Debug)]
pub(super) struct Pacing {
    /// Not before this may the next segment leave.
    pub(super) until: Time,
    /// Whether only pacing kept the last attempt from sending.
    pub(super) blocked: bool,
    /// Whether the host's own queue does the pacing.
    pub(super) by_host: bool,
}

impl Pacing {
    pub(super) fn new(by_host: bool) -> Self {
        Self { until: Time::ZERO, blocked: false, by_host }
    }

    /// Whether nothing may leave yet.
    #[inline]
    pub(super) fn holds(&self, now: Time) -> bool {
        now < self.until
    }

    /// Payload of `bytes` leaves now, at `rate` bytes per second; a rate of zero does not hold the next one back.
    #[inline]
    pub(super) fn charge(&mut self, now: Time, bytes: u32, rate: u64) {
        let might_have = self.until;
        self.until = might_have.max(now);
        if rate == 0 {
            return;
        }
        let nanos = u64::from(bytes) * 1_000_000_000 / rate;
        // A late departure shortens the next gap, by half at most.
        let late = self.until.since(might_have).as_nanos();
        self.until += Span::from_nanos(nanos - late.min(nanos / 2));
    }
}
