//! Which core of the machine a guest runs on.
//!
//! A guest is two processes that hand over to each other at each system call: the kernel, and what runs in its user
//! space. On two cores each handing over wakes a core that sleeps; on one it is a switch. So a guest stays on one core:
//! the one with the fewest guests of this process.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::sync::{Mutex, PoisonError};

/// Guests of this process, by core.
static GUESTS: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// A core that a guest has as long as this value lives.
#[derive(Debug)]
pub(crate) struct Core(usize);

impl Core {
    /// One of those that this process may use; none if the machine does not say which they are.
    pub(crate) fn take() -> Option<Self> {
        let may = sched_getaffinity(None).ok()?;
        let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| may.is_set(core)).collect();
        // Several processes at a time begin with different cores.
        let begin = std::process::id() as usize;
        let mut guests = GUESTS.lock().unwrap_or_else(PoisonError::into_inner);
        guests.resize(CpuSet::MAX_CPU, 0);
        let core = least(&guests, &cores, begin)?;
        guests[core] += 1;
        Some(Self(core))
    }

    /// Keeps this thread on it, too, as long as what this returns lives.
    pub(crate) fn stay(&self) -> Staying {
        let before = sched_getaffinity(None).ok();
        let mut one = CpuSet::new();
        one.set(self.0);
        // Where that is not allowed, all is slower and nothing else.
        let _ = sched_setaffinity(None, &one);
        Staying(before)
    }

    /// Its number.
    pub(crate) fn number(&self) -> usize {
        self.0
    }
}

/// A thread that stays on a core; with this value that ends.
#[derive(Debug)]
pub(crate) struct Staying(Option<CpuSet>);

impl Drop for Staying {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = sched_setaffinity(None, before);
        }
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        GUESTS.lock().unwrap_or_else(PoisonError::into_inner)[self.0] -= 1;
    }
}

/// The core with the fewest guests; of several the first from the `begin`-th on.
fn least(guests: &[u32], cores: &[usize], begin: usize) -> Option<usize> {
    let from = |place: usize| cores[(begin + place) % cores.len()];
    (0..cores.len()).map(from).min_by_key(|&core| guests[core])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_spread_over_the_cores_that_there_are() {
        assert_eq!(least(&[0, 0, 0, 0], &[1, 3], 0), Some(1));
        assert_eq!(least(&[0, 0, 0, 0], &[1, 3], 7), Some(3));
        assert_eq!(least(&[0, 2, 0, 1], &[1, 3], 0), Some(3));
        assert_eq!(least(&[0, 0], &[], 5), None);
    }

    #[test]
    fn a_core_is_given_back() {
        let of = |core: usize| GUESTS.lock().unwrap_or_else(PoisonError::into_inner)[core];
        let Some(core) = Core::take() else { return };
        let (number, with) = (core.number(), of(core.number()));
        drop(core);
        assert_eq!(of(number), with - 1);
    }
}
