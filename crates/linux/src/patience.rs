//! How long the engine waits for a guest with a clock that stands still.
//!
//! On the guest's clock work takes no time, so a program that computes without end stops it. The time of day is no
//! measure of that on a busy machine; CPU time is.

use rustix::param::clock_ticks_per_second;
use std::fs;
use std::time::Duration;

/// The CPU time that a guest may take while its clock goes a second on.
#[derive(Debug)]
pub(crate) struct Patience {
    limit: Duration,
    clock: Option<u64>,
    /// The CPU time taken when its clock was last seen to move.
    then: Duration,
}

impl Patience {
    /// With this limit.
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, clock: None, then: Duration::ZERO }
    }

    /// Whether it has come to its end: the clock shows this, and so much CPU time has been taken in all.
    pub(crate) fn is_over(&mut self, clock: Option<u64>, taken: Duration) -> bool {
        if clock != self.clock {
            (self.clock, self.then) = (clock, taken);
        }
        taken.saturating_sub(self.then) > self.limit
    }
}

/// The CPU time that the processes of a group have taken, those that they have waited for included.
pub(crate) fn taken_by(group: u32) -> Duration {
    let ticks: u64 = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| {
            entry.file_name().as_encoded_bytes().first().is_some_and(u8::is_ascii_digit)
        })
        .filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok())
        .filter_map(|stat| ticks_of(&stat, group))
        .sum();
    Duration::from_nanos(1_000_000_000 / clock_ticks_per_second().max(1) * ticks)
}

/// The ticks that a process has taken, by its line (proc(5)), if it is of this group.
fn ticks_of(stat: &str, group: u32) -> Option<u64> {
    // The name is in parentheses, and may have any sign in it. The state is the first word behind it.
    let words: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    if words.get(2)?.parse() != Ok(group) {
        return None;
    }
    Some(words.get(11..15)?.iter().filter_map(|word| word.parse::<u64>().ok()).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_moves_is_given_new_time() {
        let secs = Duration::from_secs;
        let mut patience = Patience::new(secs(10));
        assert!(!patience.is_over(None, secs(1)));
        assert!(!patience.is_over(Some(0), secs(8)));
        assert!(!patience.is_over(Some(0), secs(18)));
        assert!(!patience.is_over(Some(1), secs(19)));
        assert!(!patience.is_over(Some(1), secs(29)));
        assert!(patience.is_over(Some(1), secs(30)));
    }

    #[test]
    fn the_ticks_of_a_group_are_its_processes() {
        let line = "7 (a) b) S 1 42 42 0 -1 4194304 10 20 30 40 5 6 7 8 20 0 1 0 99 1000 100";
        assert_eq!((ticks_of(line, 42), ticks_of(line, 7)), (Some(26), None));
        assert!(ticks_of("nonsense", 42).is_none());
    }
}
