//! The detector of a bottleneck with classic ECN (docs/sources/prague.md#detector-of-classic-queues): it looks at how much the RTT varies, and
//! how far it is above its minimum, for neither is much behind an L4S queue. April 2020 only.
//!
//! The kernel keeps logarithms as integers and a remainder; here they are floating, which over time is the same.

use crate::cc::View;

/// Deviation that speaks neither way, microseconds.
const DEVIATION_US: f64 = 750.0;
/// Queue delay from which on it speaks for a classic one, microseconds.
const DEPTH_US: f64 = 2_000.0;
/// Scores: pure L4S up to here, classic from here on, and the highest.
const L4S: f64 = 8.0;
const CLASSIC: f64 = 9.0;
const HIGHEST: f64 = 17.0;
/// The least that alpha is taken for behind a classic queue.
const CLASSIC_ALPHA: f64 = 0.625;
/// Smallest gain of the averages, as a shift.
const SLOWEST: u32 = 18;

/// The detector.
#[derive(Clone, Debug)]
pub(super) struct Detector {
    srtt: f64,
    mdev: f64,
    shift: u32,
    score: f64,
}

impl Detector {
    pub(super) fn new() -> Self {
        Self { srtt: 0.0, mdev: 1.0, shift: SLOWEST, score: 0.0 }
    }

    pub(super) fn init(&mut self, view: &View) {
        self.srtt = f64::from(view.rtt.srtt_us());
    }

    /// An RTT sample, microseconds.
    pub(super) fn sample(&mut self, rtt_us: u32) {
        let gain = 1.0 / f64::from(1_u32 << self.shift);
        let error = f64::from(rtt_us) - self.srtt;
        self.srtt += error * gain;
        self.mdev += (error.abs() - self.mdev) * gain / 2.0;
    }

    /// The averages are to span some sawteeth of a flow with this threshold.
    pub(super) fn adapt(&mut self, ssthresh: u32) {
        let log = ssthresh.max(1).ilog2();
        self.shift = SLOWEST.min(log + log / 2 + 1);
    }

    /// A round with marks is over.
    pub(super) fn judge(&mut self, min_rtt_us: u32) {
        let depth = self.srtt - f64::from(min_rtt_us);
        let by_depth = if depth > 0.0 { 0.5 * libm::log2(depth / DEPTH_US) } else { 0.0 };
        let by_deviation = 0.5 * libm::log2(self.mdev.max(1.0) / DEVIATION_US);
        self.score = (self.score + by_deviation + by_depth.max(0.0)).clamp(0.0, HIGHEST);
    }

    /// The least that alpha is to be taken for.
    pub(super) fn floor(&self) -> f64 {
        CLASSIC_ALPHA * self.classic()
    }

    /// The verdict: 0 for L4S, 1 for classic.
    pub(super) fn classic(&self) -> f64 {
        self.score.clamp(L4S, CLASSIC) - L4S
    }

    pub(super) fn score(&self) -> f64 {
        self.score
    }

    /// The gain of the average RTT, as a shift.
    #[cfg(test)]
    pub(super) fn shift(&self) -> u32 {
        self.shift
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Deviation of 3000 µs: ½·log2(4) = 1 a round. A queue of 8 ms: ½·log2(4) = 1 more. Deviation of 187.5 µs: −1.
    #[test]
    fn scores_by_hand() {
        let mut d = Detector { srtt: 28_000.0, mdev: 3_000.0, shift: 18, score: 0.0 };
        d.judge(28_000);
        assert!((d.score - 1.0).abs() < 1e-9);
        d.judge(20_000);
        assert!((d.score - 3.0).abs() < 1e-9);
        (d.mdev, d.srtt) = (187.5, 20_500.0);
        d.judge(20_000);
        assert!((d.score - 2.0).abs() < 1e-9, "a shallow queue does not speak for L4S");
        for (score, floor) in [(8.0, 0.0), (8.5, 0.3125), (9.0, 0.625), (17.0, 0.625)] {
            d.score = score;
            assert!((d.floor() - floor).abs() < 1e-12);
        }
        d.mdev = 1e9;
        d.judge(0);
        assert!((d.score - HIGHEST).abs() < 1e-12);
    }

    /// Samples at a gain of 1/4 (a threshold of two: shift 2), of the deviation 1/8. From 20 000 and 1 µs: a sample of
    /// 28 000 errs by 8000: 22 000 and 1 + 7999/8 = 1000.875; one of 22 000 errs by nothing: 22 000 and 875.766; one of
    /// 18 000 by −4000: 21 000 and 1266.295. Above a minimum of 20 000 the depth of 1 ms speaks for nothing, the deviation
    /// for ½·log2(1266.295/750) = 0.3778 a round: 22 rounds until classic is suspected, 24 until it is sure.
    #[test]
    fn averages_and_verdict_by_hand() {
        let mut d = Detector { srtt: 20_000.0, ..Detector::new() };
        d.adapt(2);
        for (rtt_us, srtt, mdev) in [
            (28_000, 22_000.0, 1_000.875),
            (22_000, 22_000.0, 875.765_625),
            (18_000, 21_000.0, 1_266.294_921_875),
        ] {
            d.sample(rtt_us);
            assert!((d.srtt - srtt).abs() < 1e-9 && (d.mdev - mdev).abs() < 1e-9, "{d:?}");
        }
        let mut verdicts = Vec::new();
        for _ in 0..24 {
            d.judge(20_000);
            verdicts.push(d.classic());
        }
        assert!((d.score() - 24.0 * 0.377_83).abs() < 0.01, "{}", d.score());
        assert_eq!(verdicts[20], 0.0);
        assert!((verdicts[21] - (22.0 * 0.377_83 - 8.0)).abs() < 0.01, "{verdicts:?}");
        assert_eq!(verdicts[23], 1.0);
    }

    #[test]
    fn the_gain_follows_the_threshold() {
        let mut d = Detector::new();
        for (ssthresh, shift) in [(2, 2), (64, 10), (1000, 14), (0x7fff_ffff, 18)] {
            d.adapt(ssthresh);
            assert_eq!(d.shift, shift);
        }
    }
}
