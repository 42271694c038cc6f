//! The minimum or maximum of a signal over a sliding window, in constant space (K. Nichols' windowed filter, as
//! the kernel's `lib/win_minmax.c`): the best, second-best and third-best samples of the window, each from a
//! later part of it.
//!
//! Invariant: the three estimates are in order of time and of value. The answer may miss a sample that was
//! briefly best in the middle of the window; that is the filter's price.
//!
//! The trick: a maximum is the minimum of the complements.

use sojourn_units::{Span, Time};

#[derive(Clone, Copy, Debug)]
struct Sample {
    at: u64,
    value: u32,
}

/// The least of `u32` samples over a window of a clock that never goes back; `u32::MAX` before the first.
#[derive(Clone, Debug)]
struct Least([Sample; 3]);

impl Least {
    const NONE: Self = Self([Sample { at: 0, value: u32::MAX }; 3]);

    #[inline]
    fn get(&self) -> u32 {
        self.0[0].value
    }

    fn update(&mut self, at: u64, value: u32, window: u64) -> u32 {
        let s = Sample { at, value };
        let e = &mut self.0;
        if value <= e[0].value || at - e[2].at > window {
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
    fn age(&mut self, s: Sample, window: u64) {
        let e = &mut self.0;
        let age = s.at - e[0].at;
        if age > window {
            *e = [e[1], e[2], s];
            if s.at - e[0].at > window {
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

/// A minimum over a window of time; `u32::MAX` before the first sample.
#[derive(Clone, Debug)]
pub struct WindowedMin(Least);

impl WindowedMin {
    /// No sample yet.
    pub fn new() -> Self {
        Self(Least::NONE)
    }

    /// The minimum.
    #[inline]
    pub fn get(&self) -> u32 {
        self.0.get()
    }

    /// Takes a sample and returns the minimum over the last `window`.
    #[inline]
    pub fn update(&mut self, at: Time, value: u32, window: Span) -> u32 {
        self.0.update(at.as_nanos(), value, window.as_nanos())
    }
}

/// A maximum over a window of rounds; zero before the first sample.
#[derive(Clone, Debug)]
pub struct WindowedMax(Least);

impl WindowedMax {
    /// No sample yet.
    pub fn new() -> Self {
        Self(Least::NONE)
    }

    /// The maximum.
    #[inline]
    pub fn get(&self) -> u32 {
        !self.0.get()
    }

    /// Takes a sample of a round, none earlier than the last one's, and returns the maximum over the last `window`
    /// rounds.
    #[inline]
    pub fn update(&mut self, round: u32, value: u32, window: u32) -> u32 {
        !self.0.update(u64::from(round), !value, u64::from(window))
    }
}

impl Default for WindowedMax {
    fn default() -> Self {
        Self::new()
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

    /// By rounds, as BBR keeps its rate: the best of ten rounds, then the best of the later ones that was noted.
    #[test]
    fn a_maximum_over_rounds() {
        let mut f = WindowedMax::new();
        assert_eq!(f.get(), 0);
        for (round, v, max) in
            [(0, 50, 50), (1, 90, 90), (5, 60, 90), (11, 40, 90), (12, 30, 60), (16, 30, 40)]
        {
            assert_eq!(f.update(round, v, 10), max, "in round {round}");
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
