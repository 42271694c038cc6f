//! When Linux's coarse timers fire: the timer wheel (`kernel/time/timer.c`, 4.8 and later), which TCP's timers and those of
//! `pie` and `red` hang on.
//!
//! A timer asked for within a tick counts from that tick's beginning. The wheel must not fire early, whatever it has
//! rounded, so it fires one step behind what it was asked for, and steps are coarse far ahead:
//!
//! ```text
//! ticks ahead    < 63   < 504   < 4032   < 32256   …
//! step, ticks       1       8       64       512   …
//! ```
//!
//! So at 250 Hz a delayed ACK's 40 ms take 40 to 44, and a timeout of 400 ms up to 32 ms longer.

use crate::{Span, Time};

/// Ticks ahead that the finest level of the wheel holds (`LVL_START(1)`).
const FINEST: u64 = 63;
/// Each level's steps are eight times as long as those of the one before (`LVL_CLK_SHIFT`).
const SHIFT: u32 = 3;

/// A host's coarse clock, which moves by ticks (`jiffies`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CoarseClock {
    nanos: u64,
}

impl CoarseClock {
    /// A clock of `hz` ticks a second, at least one.
    pub fn new(hz: u32) -> Self {
        Self { nanos: 1_000_000_000 / u64::from(hz.max(1)) }
    }

    /// The length of a tick.
    #[inline]
    pub fn tick(self) -> Span {
        Span::from_nanos(self.nanos)
    }

    /// Ticks that have begun by `now`.
    #[inline]
    pub fn at(self, now: Time) -> u64 {
        now.as_nanos() / self.nanos
    }

    /// The least number of ticks that take `span`.
    #[inline]
    pub fn ticks(self, span: Span) -> u64 {
        span.as_nanos().div_ceil(self.nanos)
    }

    /// When a timer fires that is asked `now` to expire with the tick number `expires`.
    #[inline]
    pub fn fires(self, now: Time, expires: u64) -> Time {
        let ahead = expires.saturating_sub(self.at(now));
        let mut shift = 0;
        while ahead >= FINEST << shift {
            shift += SHIFT;
        }
        Time::from_nanos((((expires >> shift) + 1) << shift) * self.nanos)
    }

    /// When a timer fires that is asked `now` to take `span`.
    #[inline]
    pub fn fires_after(self, now: Time, span: Span) -> Time {
        self.fires(now, self.at(now) + self.ticks(span))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::prelude::v1::*;

    fn micros(us: u64) -> Time {
        Time::from_micros(us)
    }

    /// 250 Hz, asked at 5.3 ms, in tick 1: 40 ms are ten ticks; the eleventh tick behind begins at 48 ms. The first
    /// multiple of 8 ticks beyond 1 + 100 is 104; of 64 ticks beyond 1 + 1000, 1024.
    #[test]
    fn a_timer_fires_a_step_behind() {
        let clock = CoarseClock::new(250);
        assert_eq!(clock.tick(), Span::from_millis(4));
        let fires = |ms| clock.fires_after(micros(5_300), Span::from_millis(ms));
        assert_eq!(fires(40), micros(48_000));
        assert_eq!(fires(39), micros(48_000));
        assert_eq!(fires(1), micros(12_000));
        assert_eq!(fires(62 * 4), micros(64 * 4_000));
        assert_eq!(fires(63 * 4), micros(72 * 4_000));
        assert_eq!(fires(100 * 4), micros(104 * 4_000));
        assert_eq!(fires(503 * 4), micros(512 * 4_000));
        assert_eq!(fires(1000 * 4), micros(1024 * 4_000));
        assert_eq!(fires(30_000 * 4), micros(30_208 * 4_000));
    }

    /// What is asked for on the edge of a step waits for the next, and what is overdue for the next tick.
    #[test]
    fn an_edge_is_not_early() {
        let clock = CoarseClock::new(1000);
        assert_eq!(clock.fires(micros(0), 104), micros(112_000));
        assert_eq!(clock.fires(micros(7_000), 7), micros(8_000));
        assert_eq!(clock.fires(micros(7_000), 5), micros(6_000));
    }
}
