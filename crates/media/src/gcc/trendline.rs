//! The trendline filter and its detector of overuse (libwebrtc's `TrendlineEstimator`), instead of the draft's Kalman
//! filter (§5.3): the slope of a line through the last twenty smoothed delays says whether the queue grows.
//!
//! Invariant: the threshold stays within 6 and 600. It follows |m| up by K_u and down by K_d (§5.4), where the draft
//! recommends 0.01 and 0.00018, and libwebrtc has 0.0087 and 0.039.

use std::collections::VecDeque;

/// Points of the line.
const WINDOW: usize = 20;
/// The smoothing of the delay: the share of the old one.
const SMOOTHING: f64 = 0.9;
/// The slope is multiplied by this and by the number of samples, at most [`MOST_SAMPLES`].
const GAIN: f64 = 4.0;
const MOST_SAMPLES: u32 = 60;
/// Threshold's gains up and down, per millisecond.
const K_UP: f64 = 0.0087;
const K_DOWN: f64 = 0.039;
/// The threshold at the beginning, and its bounds (§5.4).
const THRESHOLD: f64 = 12.5;
const LEAST_THRESHOLD: f64 = 6.0;
const MOST_THRESHOLD: f64 = 600.0;
/// Above the threshold by more than this, a sample does not move it (§5.4).
const SPIKE: f64 = 15.0;
/// Longest time that one sample moves the threshold for, milliseconds.
const MOST_TIME: f64 = 100.0;
/// Least time above the threshold, milliseconds (overuse_time_th).
const OVERUSE_MS: f64 = 10.0;

/// What the detector finds (§5.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Usage {
    /// The queue empties.
    Under,
    /// The delay stays.
    Normal,
    /// The queue grows.
    Over,
}

/// Filter and detector.
#[derive(Clone, Debug)]
pub(super) struct Trendline {
    samples: u32,
    /// The first arrival, milliseconds.
    begun: Option<f64>,
    accumulated: f64,
    smoothed: f64,
    /// Arrival and smoothed delay of the newest samples, milliseconds.
    points: VecDeque<(f64, f64)>,
    trend: f64,
    modified: f64,
    threshold: f64,
    threshold_at: Option<f64>,
    /// For how long it has been above the threshold, and by how many samples.
    over_for: Option<f64>,
    over_count: u32,
    usage: Usage,
}

impl Default for Trendline {
    fn default() -> Self {
        Self {
            samples: 0,
            begun: None,
            accumulated: 0.0,
            smoothed: 0.0,
            points: VecDeque::with_capacity(WINDOW + 1),
            trend: 0.0,
            modified: 0.0,
            threshold: THRESHOLD,
            threshold_at: None,
            over_for: None,
            over_count: 0,
            usage: Usage::Normal,
        }
    }
}

impl Trendline {
    /// A sample: `sent` between two groups' departures, `came` between their arrivals, with the last one at `at`;
    /// milliseconds.
    pub(super) fn update(&mut self, sent: f64, came: f64, at: f64) {
        self.samples += 1;
        let begun = *self.begun.get_or_insert(at);
        self.accumulated += came - sent;
        self.smoothed = SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * self.accumulated;
        self.points.push_back((at - begun, self.smoothed));
        if self.points.len() > WINDOW {
            self.points.pop_front();
        }
        let trend = if self.points.len() == WINDOW {
            slope(&self.points).unwrap_or(self.trend)
        } else {
            self.trend
        };
        self.detect(trend, sent, at);
    }

    fn detect(&mut self, trend: f64, sent: f64, at: f64) {
        if self.samples < 2 {
            self.usage = Usage::Normal;
            return;
        }
        self.modified = f64::from(self.samples.min(MOST_SAMPLES)) * trend * GAIN;
        if self.modified > self.threshold {
            // It is assumed that half of the time since the last sample was above, too.
            let over_for = self.over_for.map_or(sent / 2.0, |over_for| over_for + sent);
            self.over_for = Some(over_for);
            self.over_count += 1;
            if over_for > OVERUSE_MS && self.over_count > 1 && trend >= self.trend {
                (self.over_for, self.over_count) = (Some(0.0), 0);
                self.usage = Usage::Over;
            }
        } else {
            (self.over_for, self.over_count) = (None, 0);
            self.usage = if self.modified < -self.threshold { Usage::Under } else { Usage::Normal };
        }
        self.trend = trend;
        self.adapt(at);
    }

    /// The threshold follows (§5.4).
    fn adapt(&mut self, at: f64) {
        let since = self.threshold_at.replace(at).map_or(0.0, |last| at - last);
        let size = self.modified.abs();
        if size > self.threshold + SPIKE {
            return;
        }
        let gain = if size < self.threshold { K_DOWN } else { K_UP };
        self.threshold += gain * (size - self.threshold) * since.min(MOST_TIME);
        self.threshold = self.threshold.clamp(LEAST_THRESHOLD, MOST_THRESHOLD);
    }

    pub(super) fn usage(&self) -> Usage {
        self.usage
    }

    /// The slope times samples and gain, which is compared with the threshold.
    pub(super) fn modified(&self) -> f64 {
        self.modified
    }

    pub(super) fn threshold(&self) -> f64 {
        self.threshold
    }
}

/// The slope of the least-squares line; `None` if all points are at one time.
fn slope(points: &VecDeque<(f64, f64)>) -> Option<f64> {
    let count = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
    let (x, y) = (x / count, y / count);
    let (mut above, mut below) = (0.0, 0.0);
    for point in points {
        above += (point.0 - x) * (point.1 - y);
        below += (point.0 - x) * (point.0 - x);
    }
    (below != 0.0).then(|| above / below)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples of 20 ms each, in which the delay grows by `grows`; how many until this usage.
    fn until(line: &mut Trendline, at: &mut f64, grows: f64, usage: Usage) -> Option<u32> {
        (1..=200).find(|_| {
            *at += 20.0 + grows;
            line.update(20.0, 20.0 + grows, *at);
            line.usage() == usage
        })
    }

    #[test]
    fn a_line_has_its_slope() {
        let points: VecDeque<_> =
            (0..20).map(|i| (f64::from(i) * 10.0, 3.0 + f64::from(i) * 0.5)).collect();
        assert!((slope(&points).unwrap() - 0.05).abs() < 1e-12);
        assert_eq!(slope(&VecDeque::from([(1.0, 1.0), (1.0, 2.0)])), None);
    }

    /// A delay that stays: no trend, and the threshold falls from 12.5 by 3.9 % of it a millisecond, 78 % in 20 ms: to
    /// the floor of 6 with the third sample, which is the first to move it.
    #[test]
    fn a_steady_delay_is_normal() {
        let (mut line, mut at) = (Trendline::default(), 0.0);
        for (sample, threshold) in [(1, 12.5), (2, 12.5), (3, 6.0)] {
            at += 20.0;
            line.update(20.0, 20.0, at);
            assert!((line.threshold() - threshold).abs() < 1e-12, "{sample}: {}", line.threshold());
        }
        assert_eq!((line.usage(), line.modified()), (Usage::Normal, 0.0));
    }

    /// The delay grows by 2 ms in 20 ms, so smoothed delays are 2 (n − 9 (1 − 0.9^n)), 22 ms apart. The least-squares
    /// slope of twenty of these, times n and 4, passes the threshold's floor of 6 with some n. That sample counts half
    /// of its 20 ms, which is not above 10 ms; the next one is overuse.
    #[test]
    fn a_growing_queue_is_overuse() {
        let delay = |n: f64| 2.0 * (n - 9.0 * (1.0 - libm::pow(0.9, n)));
        let by_hand = |n: u32| {
            // Σ (x − x̄)(y − ȳ) = Σ (x − x̄) y, and Σ (x − x̄)² = 665 for twenty points that are one apart.
            let above: f64 =
                (1..=20).map(|i| (f64::from(i) - 10.5) * delay(f64::from(n - 20 + i))).sum();
            above / 665.0 / 22.0
        };
        let first = (20..60).find(|&n| by_hand(n) * f64::from(n) * 4.0 > 6.0).unwrap();
        let (mut line, mut at) = (Trendline::default(), 0.0);
        assert_eq!(until(&mut line, &mut at, 2.0, Usage::Over), Some(first + 1));
        let expected = by_hand(first + 1) * f64::from(first + 1) * 4.0;
        assert!((line.modified() - expected).abs() < 1e-9, "{} {expected}", line.modified());
        // It empties again.
        assert!(until(&mut line, &mut at, -2.0, Usage::Under).is_some_and(|n| n < 40));
        assert!(until(&mut line, &mut at, 0.0, Usage::Normal).is_some_and(|n| n < 60));
    }

    /// A slope that falls is not overuse, though it is above the threshold (§5.4: m(i) < m(i − 1)).
    #[test]
    fn a_falling_trend_is_none() {
        let mut line = Trendline { samples: 60, trend: 0.2, ..Trendline::default() };
        line.detect(0.19, 20.0, 20.0);
        line.detect(0.18, 20.0, 40.0);
        assert_eq!(line.usage(), Usage::Normal);
        line.detect(0.18, 20.0, 60.0);
        assert_eq!(line.usage(), Usage::Over);
    }

    /// The threshold rises by 0.87 % of the difference a millisecond: from 12.5 at |m| = 24, 20 ms later, to 12.5 +
    /// 0.0087 · 11.5 · 20 = 14.501. A spike of more than 15 above it leaves it alone.
    #[test]
    fn the_threshold_follows_and_ignores_spikes() {
        let mut line = Trendline { samples: 60, threshold_at: Some(0.0), ..Trendline::default() };
        line.detect(0.1, 20.0, 20.0);
        assert!((line.threshold() - 14.501).abs() < 1e-9, "{}", line.threshold());
        line.detect(0.2, 20.0, 40.0);
        assert!((line.threshold() - 14.501).abs() < 1e-9, "{}", line.threshold());
    }
}
