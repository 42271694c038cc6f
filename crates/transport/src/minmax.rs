//! The minimum of a signal over a sliding window of time, in constant space (K. Nichols' windowed filter, as
//! the kernel's `lib/win_minmax.c`): the best, second-best and third-best samples of the window, each from a
//! later part of it.
//!
//! Invariant: the three estimates are in order of time and of value. The answer may miss a sample that was
//! briefly best in the middle of the window; that is the filter's price.

use sojourn_units::{Span, Time};

#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Time,
    value: u32,
}

/// A windowed minimum of `u32` samples; `u32::MAX` before the first.
#[derive(Clone, Debug)]
pub struct WindowedMin([Sample; 3]);

impl WindowedMin {
    /// No sample yet.
    pub fn new() -> Self {
        Self([Sample { at: Time::ZERO, value: u32::MAX }; 3])
    }

    /// The minimum.
    #[inline]
    pub fn get(&self) -> u32 {
        self.0[0].value
    }

    /// Takes a sample and returns the minimum over the last `window`.
    pub fn update(&mut self, at: Time, value: u32, window: Span) -> u32 {
        let s = Sample { at, value };
        let e = &mut self.0;
        if value <= e[0].value || at.since(e[2].at) > window {
            *e = [s; 3];
            return value;
        }
        if value <= e[1].value {
            e[1] = s;
            e[2] = s;
        } else if value <= e[2].value {
            e[2] = s;
        }
        self.age(s, window);
        self.get()
    }

    /// Lets estimates that left the window, or stayed best for too large a part of it, give way.
    fn age(&mut self, s: Sample, window: Span) {
        let e = &mut self.0;
        let age = s.at.since(e[0].at);
        if age > window {
            *e = [e[1], e[2], s];
            if s.at.since(e[0].at) > window {
                *e = [e[1], e[2], s];
            }
        } else if e[1].at == e[0].at && age > window / 4 {
            e[1] = s;
            e[2] = s;
        } else if e[2].at == e[1].at && age > window / 2 {
            e[2] = s;
        }
    }
}

impl Default for WindowedMin {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_minimum_is_forgotten_after_the_window() {
        let mut f = WindowedMin::new();
        let w = Span::from_secs(10);
        assert_eq!(f.get(), u32::MAX);
        for (t, v, min) in [(0, 5, 5), (1, 9, 5), (4, 8, 5), (9, 7, 5), (11, 9, 7), (20, 9, 9)] {
            assert_eq!(f.update(Time::from_secs(t), v, w), min, "at {t} s");
        }
    }

    proptest! {
        /// Never below the true minimum of the window, never above the latest sample.
        #[test]
        fn bounded_by_truth(steps in proptest::collection::vec((0_u64..4, 0_u32..50), 1..200)) {
            let (mut f, w) = (WindowedMin::new(), Span::from_secs(10));
            let (mut t, mut seen) = (0, Vec::new());
            for (dt, v) in steps {
                t += dt;
                seen.push((t, v));
                let got = f.update(Time::from_secs(t), v, w);
                let truth = seen.iter().filter(|(at, _)| t - at <= 10).map(|x| x.1).min().unwrap();
                prop_assert!(got >= truth && got <= v);
            }
        }
    }
}
