//! Estimators on plain numbers: means, quantiles, fairness, harm, intervals.
//!
//! Sums are taken one after the other in the order given, so that a result has the same bits on every machine;
//! logarithms and exponentials come from libm for the same reason. An estimator of nothing is NaN.

use core::cmp::Ordering;

/// `Σx`, in order.
pub fn sum(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |total, x| total + x)
}

/// The arithmetic mean, `Σx / n`; NaN of nothing.
pub fn mean(values: &[f64]) -> f64 {
    sum(values) / values.len() as f64
}

/// The weighted mean, `Σwx / Σw`; NaN if the weights add up to nothing.
pub fn weighted_mean(values: &[f64], weights: &[f64]) -> f64 {
    let (mut total, mut weight) = (0.0, 0.0);
    for (x, w) in values.iter().zip(weights) {
        total += x * w;
        weight += w;
    }
    total / weight
}

/// The standard deviation of a sample, `√(Σ(x − x̄)² / (n − 1))`; NaN of fewer than two.
pub fn standard_deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return f64::NAN;
    }
    let centre = mean(values);
    let squares = values.iter().fold(0.0, |total, x| total + (x - centre) * (x - centre));
    libm::sqrt(squares / (values.len() - 1) as f64)
}

/// The geometric mean, `exp(Σ ln x / n)`; NaN of nothing or with a value that is not positive.
pub fn geometric_mean(values: &[f64]) -> f64 {
    if values.iter().any(|&x| x <= 0.0) {
        return f64::NAN;
    }
    let logs: Vec<f64> = values.iter().map(|&x| libm::log(x)).collect();
    libm::exp(mean(&logs))
}

/// The values in ascending order, those that are not numbers left out.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|x| !x.is_nan()).collect();
    sorted.sort_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
    sorted
}

/// The quantile by nearest rank: the smallest value with at least the share `p` of the values not above it, the
/// one at `⌈p·n⌉` counted from 1 (as the completion-time test has it, docs/sources/applications.md#percentiles-of-completion-times). `sorted` ascends.
pub fn quantile_nearest_rank(sorted: &[f64], p: f64) -> f64 {
    if sorted.is_empty() {
        return f64::NAN;
    }
    let rank = libm::ceil(p * sorted.len() as f64).max(1.0) as usize;
    sorted[rank.min(sorted.len()) - 1]
}

/// The quantile interpolated between the two nearest values, at `p·(n − 1)` counted from 0 (Hyndman and Fan's
/// type 7, the default of R and NumPy). `sorted` ascends.
pub fn quantile_interpolated(sorted: &[f64], p: f64) -> f64 {
    if sorted.is_empty() {
        return f64::NAN;
    }
    let at = p.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let below = libm::floor(at) as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * (at - below as f64)
}

/// The weighted quantile by nearest rank: the smallest value at which the weights up to it reach the share `p`
/// of them all.
pub fn quantile_weighted(values: &[f64], weights: &[f64], p: f64) -> f64 {
    let mut pairs: Vec<(f64, f64)> = values
        .iter()
        .copied()
        .zip(weights.iter().copied())
        .filter(|(x, w)| !x.is_nan() && *w > 0.0)
        .collect();
    pairs.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal));
    let total = pairs.iter().fold(0.0, |total, (_, w)| total + w);
    let mut so_far = 0.0;
    for (x, w) in &pairs {
        so_far += w;
        if so_far >= p * total {
            return *x;
        }
    }
    pairs.last().map_or(f64::NAN, |(x, _)| *x)
}

/// One bucket of a histogram, `[low, high)`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bucket {
    /// Lower edge.
    pub low: f64,
    /// Upper edge.
    pub high: f64,
    /// How many values.
    pub count: u64,
}

/// The quantile of a histogram: the bucket that holds the value of rank `p·n`, and by how far the rank is into
/// it. The error is at most the bucket's width. `buckets` ascend.
pub fn quantile_histogram(buckets: &[Bucket], p: f64) -> f64 {
    let total: u64 = buckets.iter().map(|b| b.count).sum();
    if total == 0 {
        return f64::NAN;
    }
    let rank = p.clamp(0.0, 1.0) * total as f64;
    let mut before = 0.0;
    for bucket in buckets {
        let count = bucket.count as f64;
        if bucket.count > 0 && before + count >= rank {
            let into = ((rank - before) / count).clamp(0.0, 1.0);
            return bucket.low + (bucket.high - bucket.low) * into;
        }
        before += count;
    }
    buckets.last().map_or(f64::NAN, |b| b.high)
}

/// The mean of a histogram, each value taken for its bucket's middle.
pub fn mean_histogram(buckets: &[Bucket]) -> f64 {
    let middles: Vec<f64> = buckets.iter().map(|b| f64::midpoint(b.low, b.high)).collect();
    let weights: Vec<f64> = buckets.iter().map(|b| b.count as f64).collect();
    weighted_mean(&middles, &weights)
}

/// Jain's fairness index, `(Σx)² / (n·Σx²)`: 1 when all are equal, 1/n when one has everything (Jain, Chiu,
/// Hawe 1984). NaN when there is nothing to share.
pub fn jain(values: &[f64]) -> f64 {
    let total = sum(values);
    let squares = values.iter().fold(0.0, |total, x| total + x * x);
    total * total / (values.len() as f64 * squares)
}

/// Harm to a quantity that should be small (completion time, delay): `(w − s) / w` with `s` alone and `w` against a
/// competitor, 0 when nothing got worse (Ware et al., HotNets 2019; docs/sources/applications.md#harm). NaN when `w` is
/// 0 or either is not known.
pub fn harm_less_is_better(solo: f64, with: f64) -> f64 {
    harm(with - solo, with)
}

/// Harm to a quantity that should be large (throughput, bitrate): `(s − w) / s`. NaN when `s` is 0 or either is not
/// known.
pub fn harm_more_is_better(solo: f64, with: f64) -> f64 {
    harm(solo - with, solo)
}

fn harm(worse: f64, whole: f64) -> f64 {
    if whole == 0.0 || worse.is_nan() { f64::NAN } else { (worse / whole).max(0.0) }
}

/// A range of values.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// The central 95 % range across seeds: from the 2.5th to the 97.5th percentile, interpolated. NaN of nothing.
pub fn central_range(values: &[f64]) -> Interval {
    let sorted = sorted(values);
    Interval {
        low: quantile_interpolated(&sorted, 0.025),
        high: quantile_interpolated(&sorted, 0.975),
    }
}

/// An interval for the median that supposes nothing about the distribution: between the order statistics of
/// ranks `k` and `n + 1 − k` (from 1), where `k` is the largest for which the interval holds the median with
/// probability at least `confidence`, `1 − 2·P(B ≤ k − 1)`, `B` binomial with `n` and ½. `None` when even the
/// whole range does not: more runs are needed.
pub fn median_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let sorted = sorted(values);
    let n = sorted.len();
    if n == 0 {
        return None;
    }
    // P(B = i), from i = 0, as long as they stay above the smallest double.
    let mut probability = libm::exp(-(n as f64) * core::f64::consts::LN_2);
    let mut below = 0.0;
    let mut k = 0;
    for i in 0..n.div_ceil(2) {
        below += probability;
        if 1.0 - 2.0 * below < confidence {
            break;
        }
        k = i + 1;
        probability *= (n - i) as f64 / (i + 1) as f64;
    }
    (k > 0).then(|| Interval { low: sorted[k - 1], high: sorted[n - k] })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{a} is not {b}");
    }

    #[test]
    fn means_by_hand() {
        near(mean(&[1.0, 2.0, 6.0]), 3.0);
        near(weighted_mean(&[1.0, 2.0], &[3.0, 1.0]), 1.25);
        near(
            standard_deviation(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]),
            (32.0_f64 / 7.0).sqrt(),
        );
        near(geometric_mean(&[1.0, 8.0]), 8.0_f64.sqrt());
        assert!(mean(&[]).is_nan());
        assert!(geometric_mean(&[1.0, 0.0]).is_nan());
        assert!(standard_deviation(&[1.0]).is_nan());
    }

    #[test]
    fn quantiles_by_hand() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0];
        for (p, nearest, interpolated) in [
            (0.0, 1.0, 1.0),
            (0.5, 5.0, 5.5),
            (0.95, 10.0, 9.55),
            (0.9, 9.0, 9.1),
            (1.0, 10.0, 10.0),
        ] {
            near(quantile_nearest_rank(&values, p), nearest);
            near(quantile_interpolated(&values, p), interpolated);
        }
        near(quantile_weighted(&[3.0, 1.0, 2.0], &[1.0, 8.0, 1.0], 0.8), 1.0);
        near(quantile_weighted(&[3.0, 1.0, 2.0], &[1.0, 8.0, 1.0], 0.85), 2.0);
        assert!(quantile_nearest_rank(&[], 0.5).is_nan());
    }

    #[test]
    fn histograms_are_read_within_a_bucket() {
        let buckets = [
            Bucket { low: 0.0, high: 1.0, count: 50 },
            Bucket { low: 1.0, high: 2.0, count: 0 },
            Bucket { low: 2.0, high: 3.0, count: 50 },
        ];
        near(quantile_histogram(&buckets, 0.25), 0.5);
        near(quantile_histogram(&buckets, 0.5), 1.0);
        near(quantile_histogram(&buckets, 0.75), 2.5);
        near(quantile_histogram(&buckets, 1.0), 3.0);
        near(mean_histogram(&buckets), 1.5);
    }

    #[test]
    fn fairness_and_harm_by_hand() {
        near(jain(&[1.0, 1.0, 1.0]), 1.0);
        near(jain(&[1.0, 0.0]), 0.5);
        // s1_50mbit.csv, first row: 12.65 and 34.57 Mbit/s, printed as 0.823.
        assert!((jain(&[12.65, 34.57]) - 0.823).abs() < 0.0005);
        // docs/sources/applications.md#harm, 10 ms: 176 ms alone, 339 against CUBIC (.481), 1171 against Prague (.850).
        assert!((harm_less_is_better(176.0, 339.0) - 0.481).abs() < 0.0005);
        assert!((harm_less_is_better(176.0, 1171.0) - 0.850).abs() < 0.0005);
        near(harm_less_is_better(2.0, 1.0), 0.0);
        near(harm_more_is_better(10.0, 4.0), 0.6);
        assert!(harm_more_is_better(0.0, 1.0).is_nan());
        assert!(
            harm_more_is_better(1.0, f64::NAN).is_nan()
                && harm_less_is_better(f64::NAN, 1.0).is_nan()
        );
    }

    #[test]
    fn the_medians_interval_takes_known_ranks() {
        let values = |n: u32| (1..=n).map(f64::from).collect::<Vec<_>>();
        // Tables of the sign test: n = 10 gives ranks 2 and 9 (97.9 %), n = 6 the whole range (96.9 %), n = 5 none.
        assert_eq!(median_interval(&values(10), 0.95), Some(Interval { low: 2.0, high: 9.0 }));
        assert_eq!(median_interval(&values(6), 0.95), Some(Interval { low: 1.0, high: 6.0 }));
        assert_eq!(median_interval(&values(5), 0.95), None);
        assert_eq!(median_interval(&values(20), 0.95), Some(Interval { low: 6.0, high: 15.0 }));
        assert_eq!(median_interval(&[], 0.95), None);
        let range = central_range(&values(41));
        near(range.low, 2.0);
        near(range.high, 40.0);
    }
}
