//! Draws from distributions, on libm and one uniform stream: the same bits everywhere, with every version of every
//! library.

use crate::{Random, Span};

/// An exponential span of this mean, by inversion: `−mean · ln(1 − u)`.
pub fn exponential(mean: Span, random: &mut Random) -> Span {
    let u = random.unit();
    Span::from_secs_f64(-mean.as_secs_f64() * libm::log(1.0 - u))
}

/// A standard normal number, by Box and Muller's cosine: two draws each, nothing kept for the next.
pub fn normal(random: &mut Random) -> f64 {
    let (u, v) = (random.unit(), random.unit());
    libm::sqrt(-2.0 * libm::log(1.0 - u)) * libm::cos(2.0 * core::f64::consts::PI * v)
}

/// A log-normal number: `exp(μ + σ·z)`.
pub fn log_normal(mu: f64, sigma: f64, random: &mut Random) -> f64 {
    libm::exp(mu + sigma * normal(random))
}

/// The parameters μ and σ of the log-normal distribution with these 5th and 95th percentiles,
/// `μ = (ln p5 + ln p95) / 2`, `σ = (ln p95 − ln p5) / (2·1.645)` (docs/sources/applications.md#short-flows).
pub fn log_normal_by_percentiles(p5: f64, p95: f64) -> (f64, f64) {
    const Z95: f64 = 1.645;
    let (low, high) = (libm::log(p5), libm::log(p95));
    (f64::midpoint(low, high), (high - low) / (2.0 * Z95))
}

/// Uniform between two spans, both included.
pub fn uniform(low: Span, high: Span, random: &mut Random) -> Span {
    let width = high.as_nanos().saturating_sub(low.as_nanos());
    low + Span::from_nanos(random.below(width.saturating_add(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::prelude::v1::*;

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    fn standard_deviation(values: &[f64]) -> f64 {
        let centre = mean(values);
        let squares: Vec<f64> = values.iter().map(|x| (x - centre) * (x - centre)).collect();
        libm::sqrt(mean(&squares))
    }

    fn draws(mut draw: impl FnMut(&mut Random) -> f64) -> Vec<f64> {
        let mut random = Random::named(1, "sample");
        (0..100_000).map(|_| draw(&mut random)).collect()
    }

    #[test]
    fn the_moments_are_those_of_the_distributions() {
        let spans = draws(|r| exponential(Span::from_millis(200), r).as_secs_f64());
        assert!((mean(&spans) - 0.2).abs() < 0.002);
        assert!((standard_deviation(&spans) - 0.2).abs() < 0.002);
        let normals = draws(normal);
        assert!(mean(&normals).abs() < 0.01);
        assert!((standard_deviation(&normals) - 1.0).abs() < 0.01);
        let uniforms =
            draws(|r| uniform(Span::from_millis(1), Span::from_millis(3), r).as_secs_f64());
        assert!((mean(&uniforms) - 0.002).abs() < 1e-5);
    }

    #[test]
    fn the_completion_time_tests_parameters_come_out() {
        // docs/sources/applications.md#short-flows: mu = 12.8232, sigma = 1.05342, mean 645683 B.
        let (mu, sigma) = log_normal_by_percentiles(65_536.0, 2_097_152.0);
        assert!((mu - 12.8232).abs() < 1e-3, "{mu}");
        assert!((sigma - 1.05342).abs() < 1e-4, "{sigma}");
        let lengths = draws(|r| log_normal(mu, sigma, r));
        assert!((mean(&lengths) / 645_683.0 - 1.0).abs() < 0.02);
    }
}
