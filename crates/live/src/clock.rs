//! The machine's clocks. The model's time is the monotonic clock's, from the beginning of the run on.
//!
//! Frames carry stamps of the real-time clock, which a time server may set. Each reading takes the distance of the two clocks
//! again, so a step of the real-time clock misplaces at most the frames that were waiting when it happened, and these are
//! kept between the time before and now.

use rustix::time::{ClockId, clock_gettime};
use sojourn_units::{Span, Time};

fn nanos(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// CPU time of the calling thread.
pub(crate) fn thread_cpu() -> Span {
    Span::from_nanos(nanos(ClockId::ThreadCPUTime))
}

/// A run's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// The monotonic clock when the run began.
    origin: u64,
    /// The real-time clock less the monotonic one, at the last look.
    distance: i64,
    /// Time that the machine slept before the run.
    slept: u64,
    /// Changes of the distance that no slewing explains.
    pub(crate) steps: u64,
}

/// A change of the distance between two looks that is a step.
const STEP: u64 = 1_000_000;

fn distance() -> i64 {
    nanos(ClockId::Realtime).wrapping_sub(nanos(ClockId::Monotonic)) as i64
}

/// How long the machine has slept since it was started.
fn slept() -> u64 {
    nanos(ClockId::Boottime).saturating_sub(nanos(ClockId::Monotonic))
}

impl Clock {
    /// A run begins.
    pub(crate) fn start() -> Self {
        let origin = nanos(ClockId::Monotonic);
        Self { origin, distance: distance(), slept: slept(), steps: 0 }
    }

    /// The time of the run.
    pub(crate) fn now(&self) -> Time {
        Time::from_nanos(nanos(ClockId::Monotonic).saturating_sub(self.origin))
    }

    /// Looks at both clocks.
    pub(crate) fn look(&mut self) -> Time {
        let distance = distance();
        if distance.abs_diff(self.distance) > STEP {
            self.steps += 1;
        }
        self.distance = distance;
        self.now()
    }

    /// The time of the run that a stamp of the real-time clock is, no later than `now` and no earlier than `last`.
    pub(crate) fn of_stamp(&self, stamp: Option<u64>, last: Time, now: Time) -> Time {
        let Some(stamp) = stamp else { return now };
        let since = (stamp as i64).saturating_sub(self.distance).saturating_sub(self.origin as i64);
        Time::from_nanos(since.max(0).unsigned_abs()).min(now).max(last)
    }

    /// Whether the machine has slept since the beginning, a tenth of a second or longer.
    pub(crate) fn was_suspended(&self) -> bool {
        slept().saturating_sub(self.slept) > 100_000_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The run began at 5 s of the monotonic clock, when the real-time clock showed 1005 s.
    const CLOCK: Clock =
        Clock { origin: 5_000_000_000, distance: 1_000_000_000_000, slept: 0, steps: 0 };

    #[test]
    fn a_stamp_becomes_the_run_s_time_and_never_turns_it_back() {
        let of = |stamp, last: u64, now: u64| {
            CLOCK.of_stamp(stamp, Time::from_millis(last), Time::from_millis(now)).as_nanos()
                / 1_000_000
        };
        let real = |millis: u64| Some(1_005_000_000_000 + millis * 1_000_000);
        assert_eq!(of(real(10), 0, 20), 10);
        assert_eq!(of(real(10), 15, 20), 15, "an earlier stamp behind a later one");
        assert_eq!(of(real(3_600_000), 15, 20), 20, "before the clock was set back");
        assert_eq!(of(Some(7), 15, 20), 15, "before it was set forward");
        assert_eq!(of(None, 15, 20), 20);
    }
}
