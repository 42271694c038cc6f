//! Timers of a program that end at whole steps, as an event loop's do: tokio's clock counts milliseconds, and a call
//! that waits for a time comes late.
//!
//! Such a loop reads its clock in whole steps, rounds the time that it waits for up, and sleeps for the steps between. It sleeps
//! from the moment that it is, which is not where a step begins. So it wakes up to two steps late, one in the mean (tokio 1.53,
//! `runtime/time`; mio 1.2 asks `epoll_wait` for whole milliseconds, too).

use crate::seeds::Seeds;
use sojourn_units::{Span, Time};

/// The clock of one program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    /// Nanoseconds.
    step: u64,
    /// When a step begins: before time zero the program has run for less than a step.
    phase: u64,
}

impl Steps {
    /// Steps of this length, of a program that began at a moment of its own.
    pub(crate) fn new(step: Span, seeds: &Seeds) -> Self {
        let step = step.as_nanos().max(1);
        Self { step, phase: seeds.stream("timers").below(step) }
    }

    /// When a loop that begins to wait now is called for something due then. There is no wait for anything due by now.
    pub(crate) fn wake(self, now: Time, due: Time) -> Time {
        if due <= now || due == Time::NEVER {
            return due;
        }
        let at = |time: Time| time.as_nanos().saturating_add(self.phase);
        let steps = at(due).div_ceil(self.step) - at(now) / self.step;
        Time::from_nanos(now.as_nanos().saturating_add(steps.saturating_mul(self.step)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(tenths: u64) -> Time {
        Time::from_micros(100 * tenths)
    }

    /// By hand, in steps of 1 ms that begin with time zero: at 5.7 ms a loop that is to be called at 6.0 counts from 5 to 6 and
    /// sleeps until 6.7; for 6.1 it counts to 7. Where a step begins it is late by what its time is short of a step.
    #[test]
    fn a_loop_sleeps_for_whole_steps() {
        let steps = Steps { step: 1_000_000, phase: 0 };
        for (now, due, wake) in
            [(57, 60, 67), (57, 61, 77), (50, 60, 60), (50, 51, 60), (57, 57, 57)]
        {
            assert_eq!(steps.wake(ms(now), ms(due)), ms(wake), "at {now}, due at {due}");
        }
        assert_eq!(steps.wake(ms(1), Time::NEVER), Time::NEVER);
    }

    #[test]
    fn it_is_never_early_and_less_than_two_steps_late() {
        let mut draws = sojourn_units::Random::named(1, "steps");
        for _ in 0..10_000 {
            let step = 1 + draws.below(1_000_000);
            let steps = Steps { step, phase: draws.below(step) };
            let now = draws.below(1 << 40);
            let due = now + 1 + draws.below(10_000_000);
            let wake = steps.wake(Time::from_nanos(now), Time::from_nanos(due)).as_nanos();
            assert!(
                (due..due + 2 * step).contains(&wake),
                "{steps:?}: at {now}, due at {due}: {wake}"
            );
            assert_eq!((wake - now) % step, 0);
        }
    }
}
