//! The received rate (libwebrtc's `BitrateEstimator`): samples over 150 ms of arrivals, the first over 500 ms, in a
//! Bayesian average that trusts a sample less the further it is from the estimate.

/// Milliseconds of the first sample, and of those after it.
const FIRST_MS: f64 = 500.0;
const WINDOW_MS: f64 = 150.0;
/// The uncertainty of a sample is this times its distance from the estimate, relative to the estimate.
const UNCERTAINTY: f64 = 10.0;
/// The variance at the beginning, (kbit/s)², and what each sample adds.
const VARIANCE: f64 = 50.0;
const VARIANCE_GROWTH: f64 = 5.0;

/// The estimator; rates in kbit/s.
#[derive(Clone, Debug)]
pub(super) struct Throughput {
    bytes: f64,
    window: f64,
    last: Option<f64>,
    estimate: Option<f64>,
    variance: f64,
}

impl Default for Throughput {
    fn default() -> Self {
        Self { bytes: 0.0, window: 0.0, last: None, estimate: None, variance: VARIANCE }
    }
}

impl Throughput {
    /// A packet of these bytes came, milliseconds on the receiver's clock.
    pub(super) fn update(&mut self, at: f64, bytes: u32) {
        let length = if self.estimate.is_some() { WINDOW_MS } else { FIRST_MS };
        let Some(sample) = self.sample(at, bytes, length) else { return };
        let Some(estimate) = self.estimate else {
            self.estimate = Some(sample);
            return;
        };
        let uncertainty = UNCERTAINTY * (estimate - sample).abs() / estimate.max(1e-3);
        let (spread, variance) = (uncertainty * uncertainty, self.variance + VARIANCE_GROWTH);
        self.estimate = Some((spread * estimate + variance * sample) / (spread + variance));
        self.variance = spread * variance / (spread + variance);
    }

    fn sample(&mut self, at: f64, bytes: u32, length: f64) -> Option<f64> {
        if self.last.is_some_and(|last| at < last) {
            (self.last, self.bytes, self.window) = (None, 0.0, 0.0);
        }
        if let Some(last) = self.last {
            self.window += at - last;
            if at - last > length {
                self.bytes = 0.0;
                self.window %= length;
            }
        }
        self.last = Some(at);
        let sample = (self.window >= length).then(|| 8.0 * self.bytes / length);
        if sample.is_some() {
            self.window -= length;
            self.bytes = 0.0;
        }
        self.bytes += f64::from(bytes);
        sample
    }

    /// The received rate, bit/s; `None` before the first sample.
    pub(super) fn rate(&self) -> Option<f64> {
        self.estimate.map(|kbit| kbit * 1_000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet of 1000 bytes each 10 ms: 800 kbit/s. The packet at 500 ms ends the first sample, which has the fifty
    /// before it.
    #[test]
    fn a_steady_stream_is_its_rate() {
        let mut throughput = Throughput::default();
        for n in 0..50 {
            throughput.update(f64::from(n) * 10.0, 1_000);
        }
        assert_eq!(throughput.rate(), None);
        throughput.update(500.0, 1_000);
        assert_eq!(throughput.rate(), Some(800_000.0));
        for n in 51..100 {
            throughput.update(f64::from(n) * 10.0, 1_000);
        }
        assert_eq!(throughput.rate(), Some(800_000.0));
    }

    /// It doubles: the sample of 1600 is 10 · 800/800 = 10 off, its spread 100. The variance has fallen to nothing by
    /// samples that agreed exactly, and grows by 5: (100 · 800 + 5 · 1600)/105 = 838.1, and the variance is 500/105.
    #[test]
    fn a_far_sample_weighs_little() {
        let mut throughput =
            Throughput { estimate: Some(800.0), variance: 0.0, ..Throughput::default() };
        for n in 0..=15 {
            throughput.update(f64::from(n) * 10.0, 2_000);
        }
        assert!((throughput.rate().unwrap() - 88_000_000.0 / 105.0).abs() < 1e-6);
        assert!((throughput.variance - 500.0 / 105.0).abs() < 1e-9);
    }
}
