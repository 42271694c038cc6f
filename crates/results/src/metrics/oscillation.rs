//! How much, and how regularly, a quantity goes up and down (RFC 5166 §2.4: oscillations in throughput or delay).

use super::rows::Series;
use super::window::Bounds;
use crate::estimators::{mean, standard_deviation};

/// The least correlation with itself, one period later, of something that is called periodic.
const PERIODIC: f64 = 0.3;

/// The coefficient of variation, standard deviation over mean. `None` of fewer than two values, or around zero.
pub(super) fn variation(values: &[f64]) -> Option<f64> {
    let centre = mean(values);
    let spread = standard_deviation(values);
    (centre != 0.0 && !spread.is_nan()).then(|| spread / centre.abs())
}

/// The mean of the values of each whole second of the window; seconds without a value are given the one before.
pub(super) fn by_second(series: &Series, bounds: Bounds) -> Vec<f64> {
    by_part(series, bounds, 1.0)
}

/// The same of each whole part of the window of this length in seconds.
pub(super) fn by_part(series: &Series, bounds: Bounds, length: f64) -> Vec<f64> {
    let parts = libm::floor(bounds.length() / length + 1e-9).max(0.0) as usize;
    let mut sums = vec![(0.0, 0_u32); parts];
    for (&t, &value) in series.times.iter().zip(&series.values) {
        // A value at the end of a part belongs to it.
        let part = libm::ceil((t - bounds.from) / length - 1e-9) as i64 - 1;
        if let Some((sum, n)) = usize::try_from(part).ok().and_then(|p| sums.get_mut(p)) {
            *sum += value;
            *n += 1;
        }
    }
    let mut means = Vec::with_capacity(parts);
    let mut last = None;
    for (sum, n) in sums {
        if n > 0 {
            last = Some(sum / f64::from(n));
        }
        means.extend(last);
    }
    means
}

/// Largest less least value of each whole second, averaged over the seconds that have a value.
pub(super) fn spread_1s(series: &Series, bounds: Bounds) -> Option<f64> {
    let seconds = libm::floor(bounds.length() + 1e-9).max(0.0) as usize;
    let mut ends: Vec<Option<(f64, f64)>> = vec![None; seconds];
    for (&t, &value) in series.times.iter().zip(&series.values) {
        let second = libm::ceil(t - bounds.from - 1e-9) as i64 - 1;
        if let Some(own) = usize::try_from(second).ok().and_then(|s| ends.get_mut(s)) {
            let (least, largest) = own.unwrap_or((value, value));
            *own = Some((least.min(value), largest.max(value)));
        }
    }
    let ranges: Vec<f64> = ends.into_iter().flatten().map(|(low, high)| high - low).collect();
    (!ranges.is_empty()).then(|| mean(&ranges))
}

/// The period in seconds of values a second apart: the lag of the highest peak of their autocorrelation
/// `Σ (x(i) − m)(x(i+k) − m) / (n − k)` behind its first fall below zero, among lags up to two thirds of the window
/// and correlations of at least 0.3 of the variance. `None` if there is no such peak: nothing recurs.
pub(super) fn period(values: &[f64]) -> Option<f64> {
    let n = values.len();
    let centre = mean(values);
    let at = |lag: usize| {
        let products = values[..n - lag].iter().zip(&values[lag..]);
        let sum = products.fold(0.0, |sum, (a, b)| sum + (a - centre) * (b - centre));
        sum / (n - lag) as f64
    };
    if n < 6 {
        return None;
    }
    let variance = at(0);
    let last = 2 * n / 3;
    let correlation: Vec<f64> = (0..=last).map(|lag| at(lag) / variance).collect();
    let fell = correlation.iter().position(|&r| r < 0.0)?;
    let mut best: Option<(usize, f64)> = None;
    for lag in fell + 1..last {
        let r = correlation[lag];
        let is_peak = r >= correlation[lag - 1] && r >= correlation[lag + 1];
        if is_peak && r >= PERIODIC && best.is_none_or(|(_, b)| r > b) {
            best = Some((lag, r));
        }
    }
    best.map(|(lag, _)| lag as f64)
}

/// When the quantity is first beyond the level, in seconds from the window's beginning.
pub(super) fn first(series: &Series, bounds: Bounds, beyond: impl Fn(f64) -> bool) -> Option<f64> {
    let found = series.values.iter().position(|&x| beyond(x))?;
    Some(series.times[found] - bounds.from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saw_of_seven_seconds_has_a_period_of_seven() {
        let saw: Vec<f64> = (0..40).map(|i| f64::from(i % 7)).collect();
        assert_eq!(period(&saw), Some(7.0));
        // A straight line never recurs, nor does a constant.
        let line: Vec<f64> = (0..40).map(f64::from).collect();
        assert_eq!(period(&line), None);
        assert_eq!(period(&[3.0; 40]), None);
        assert_eq!(period(&[1.0, 2.0]), None);
    }

    #[test]
    fn two_and_a_half_turns_are_enough() {
        // The overload experiments' cycle: 100 s, seen for 250.
        let wave: Vec<f64> = (0..250)
            .map(|i| 20.0 + libm::sin(f64::from(i) * 2.0 * core::f64::consts::PI / 100.0))
            .collect();
        let found = period(&wave).unwrap();
        assert!((98.0..=102.0).contains(&found), "{found}");
    }

    #[test]
    fn seconds_take_what_ends_in_them() {
        let series = Series {
            times: vec![0.5, 1.0, 1.5, 3.5],
            values: vec![1.0, 3.0, 5.0, 7.0],
            weights: None,
        };
        let seconds = by_second(&series, Bounds { from: 0.0, to: 4.0 });
        assert_eq!(seconds, [2.0, 5.0, 5.0, 7.0]);
        let ranges = spread_1s(&series, Bounds { from: 0.0, to: 4.0 });
        assert_eq!(ranges, Some(2.0 / 3.0));
        assert_eq!(variation(&[1.0, 3.0]), Some(2.0_f64.sqrt() / 2.0));
        assert_eq!(variation(&[1.0]), None);
    }
}
