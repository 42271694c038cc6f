//! The queue's delay (§4.2.1.4): from one-way delays to `qdelay`, its average, how it varies, and the target that it is held to.
//!
//! `qdelay` is a packet's way less the base delay, as LEDBAT has them (RFC 6817 §3.4.2): the least of the last ten minutes'
//! minima. There is no filter before it: the text takes a sample a report.

use super::constants::{
    LATENCY_DIFF_DOWN_GAIN, LATENCY_DIFF_MARGIN, LATENCY_DIFF_UP_GAIN, LOSS_EVENT_RATE,
    QDELAY_AVG_G, QDELAY_LONG_AVG_G, QDELAY_MIN_AVG_ALPHA, QDELAY_SHORT_AVG_G, QDELAY_TARGET_HI,
    QDELAY_TARGET_LO,
};
use sojourn_units::{Span, Time};
use std::collections::VecDeque;

/// The minima of this number of minutes are kept (RFC 6817: BASE_HISTORY).
const MINUTES: usize = 10;
/// The history that the variance is of, in samples (§4.5.4).
const HISTORY: usize = 200;
/// The part of it that the mean is of.
const RECENT: usize = 50;

/// The queue's delay, in seconds.
#[derive(Clone, Debug)]
pub(super) struct Delay {
    /// The least way of each of the last minutes.
    minima: VecDeque<f64>,
    minute_ends: Time,
    /// The newest sample.
    pub(super) qdelay: f64,
    /// Its average: slow to rise, at once down.
    pub(super) qdelay_avg: f64,
    updated: Option<Time>,
    qdelay_short_avg: f64,
    qdelay_long_avg: f64,
    /// How much it varies, from 0 to 1; 0 unless jitter is to be reduced.
    pub(super) latency_diff_avg: f64,
    /// The target.
    pub(super) qdelay_target: f64,
    /// Newest last, over `QDELAY_TARGET_LO`.
    norm_history: VecDeque<f64>,
    qdelay_min: f64,
    qdelay_min_avg: f64,
}

impl Delay {
    pub(super) fn new() -> Self {
        Self {
            minima: VecDeque::new(),
            minute_ends: Time::ZERO,
            qdelay: 0.0,
            qdelay_avg: 0.0,
            updated: None,
            qdelay_short_avg: 0.0,
            qdelay_long_avg: 0.0,
            latency_diff_avg: 0.0,
            qdelay_target: QDELAY_TARGET_LO,
            norm_history: VecDeque::new(),
            qdelay_min: f64::MAX,
            qdelay_min_avg: 0.0,
        }
    }

    /// A packet was so long on its way, in seconds on two clocks.
    pub(super) fn sample(&mut self, now: Time, one_way: f64) {
        if now >= self.minute_ends {
            self.minute_ends = now + Span::from_secs(60);
            self.minima.push_back(one_way);
            if self.minima.len() > MINUTES {
                self.minima.pop_front();
            }
        } else if let Some(least) = self.minima.back_mut() {
            *least = least.min(one_way);
        }
        let base = self.minima.iter().copied().fold(f64::MAX, f64::min);
        self.qdelay = one_way - base;
        self.qdelay_min = self.qdelay_min.min(self.qdelay);
    }

    /// The averages, at most once in `interval` seconds; whether they were updated. `varies` says whether the variation is
    /// looked at, `is_congestion_detected` whether there has been congestion.
    pub(super) fn average(
        &mut self,
        now: Time,
        interval: f64,
        varies: bool,
        is_congestion_detected: bool,
    ) -> bool {
        if self.updated.is_some_and(|at| now.since(at).as_secs_f64() < interval) {
            return false;
        }
        self.updated = Some(now);
        self.qdelay_avg = if self.qdelay < self.qdelay_avg {
            self.qdelay
        } else {
            QDELAY_AVG_G * self.qdelay + (1.0 - QDELAY_AVG_G) * self.qdelay_avg
        };
        if varies {
            self.vary(is_congestion_detected);
        }
        true
    }

    fn vary(&mut self, is_congestion_detected: bool) {
        let toward = |avg: f64, gain: f64| avg * (1.0 - gain) + self.qdelay * gain;
        self.qdelay_short_avg = toward(self.qdelay_short_avg, QDELAY_SHORT_AVG_G);
        self.qdelay_long_avg = toward(self.qdelay_long_avg, QDELAY_LONG_AVG_G);
        if !is_congestion_detected {
            self.qdelay_long_avg = self.qdelay_short_avg;
            return;
        }
        let apart = self.qdelay_short_avg - self.qdelay_long_avg - LATENCY_DIFF_MARGIN;
        let diff = apart.min(LATENCY_DIFF_MARGIN);
        let gain = if diff > 0.0 { LATENCY_DIFF_UP_GAIN } else { LATENCY_DIFF_DOWN_GAIN };
        self.latency_diff_avg = (self.latency_diff_avg + gain * diff).clamp(0.0, 1.0);
    }

    /// A round trip has passed (§4.5.1): whether the base delay is held to be wrong, which is forgotten then.
    pub(super) fn drifts(&mut self) -> bool {
        if self.qdelay_min == f64::MAX {
            return false;
        }
        self.qdelay_min_avg += QDELAY_MIN_AVG_ALPHA * (self.qdelay_min - self.qdelay_min_avg);
        self.qdelay_min = f64::MAX;
        let drifts = self.qdelay_min_avg > self.qdelay_target / 4.0;
        if drifts {
            self.qdelay_min_avg = 0.0;
            self.minima.clear();
            self.minute_ends = Time::ZERO;
        }
        drifts
    }

    /// The target is adjusted to others that fill the queue (§4.5.4). How often is left open; here with each average.
    pub(super) fn adjust_target(&mut self, loss_event_rate: f64) {
        self.norm_history.push_back(self.qdelay / QDELAY_TARGET_LO);
        if self.norm_history.len() > HISTORY {
            self.norm_history.pop_front();
        }
        let mean = |values: &mut dyn Iterator<Item = f64>| {
            let (sum, count) = values.fold((0.0, 0.0), |(sum, count), x| (sum + x, count + 1.0));
            sum / count
        };
        let all = || self.norm_history.iter().copied();
        let centre = mean(&mut all());
        let variance = mean(&mut all().map(|x| (x - centre) * (x - centre)));
        let average = mean(&mut all().rev().take(RECENT));
        let new_target = (average + libm::sqrt(variance)) * QDELAY_TARGET_LO;
        self.qdelay_target = if loss_event_rate > LOSS_EVENT_RATE {
            1.5 * new_target
        } else if variance < 0.2 {
            new_target
        } else if new_target < QDELAY_TARGET_LO {
            (self.qdelay_target * 0.5).max(new_target)
        } else {
            self.qdelay_target * 0.9
        };
        self.qdelay_target = self.qdelay_target.clamp(QDELAY_TARGET_LO, QDELAY_TARGET_HI);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(ours: f64, expected: f64) {
        assert!((ours - expected).abs() < 1e-12, "{ours}, expected {expected}");
    }

    /// 20 ms above the base of 30: up by quarters, 5 and 8.75 ms; down at once.
    #[test]
    fn the_average_is_slow_to_rise_and_falls_at_once() {
        let mut delay = Delay::new();
        for (millis, one_way, avg) in [
            (0, 0.030, 0.0),
            (25, 0.050, 0.005),
            (30, 0.050, 0.005), // 25 ms have not passed
            (50, 0.050, 0.008_75),
            (75, 0.033, 0.003),
        ] {
            let now = Time::from_millis(millis);
            delay.sample(now, one_way);
            delay.average(now, 0.025, false, true);
            near(delay.qdelay_avg, avg);
        }
    }

    /// A route longer by 40 ms is a queue for ten minutes, and none when the minute of the shorter route is forgotten.
    #[test]
    fn the_base_is_the_least_of_ten_minutes() {
        let mut delay = Delay::new();
        delay.sample(Time::ZERO, -0.010);
        delay.sample(Time::from_secs(59), 0.030);
        near(delay.qdelay, 0.040);
        for minute in 1..10 {
            delay.sample(Time::from_secs(60 * minute), 0.030);
            near(delay.qdelay, 0.040);
        }
        delay.sample(Time::from_secs(600), 0.030);
        near(delay.qdelay, 0.0);
    }

    /// Short and long average from 0, a sample of 20 ms: 4 and 0.4 ms, 3.6 apart, bounded to 1 ms above the margin: + 0.02. Then
    /// 0: 3.2 and 0.392, 1.808 above the margin, + 0.02 again. Before any congestion nothing is counted.
    #[test]
    fn variation_is_counted_in_bounded_steps() {
        let mut delay = Delay::new();
        delay.qdelay = 0.020;
        delay.vary(false);
        near(delay.latency_diff_avg, 0.0);
        near(delay.qdelay_long_avg, 0.004);
        let mut delay = Delay::new();
        delay.qdelay = 0.020;
        delay.vary(true);
        near(delay.latency_diff_avg, 0.02);
        delay.qdelay = 0.0;
        delay.vary(true);
        near(delay.qdelay_short_avg, 0.0032);
        near(delay.latency_diff_avg, 0.04);
        // Both at rest: a millisecond below the margin, twice that down.
        (delay.qdelay_short_avg, delay.qdelay_long_avg) = (0.0, 0.0);
        delay.vary(true);
        near(delay.latency_diff_avg, 0.038);
    }

    /// 32 ms in every round trip: the average is above a quarter of 60 ms, 15, after ln(1 − 15/32)/ln(255/256) = 161.6 of them.
    #[test]
    fn a_delay_that_never_goes_is_drift() {
        let mut delay = Delay::new();
        delay.sample(Time::ZERO, 0.0);
        delay.qdelay_min = f64::MAX;
        let mut rounds = 0;
        loop {
            rounds += 1;
            delay.sample(Time::from_millis(rounds * 100), 0.032);
            if delay.drifts() {
                break;
            }
        }
        assert_eq!(rounds, 162);
        delay.sample(Time::from_secs(20), 0.032);
        near(delay.qdelay, 0.0);
    }

    /// A steady 90 ms has no variance: the target becomes 90 ms. 120 ms more beyond, a variance above 0.2: it sinks by tenths.
    /// With losses it is half more than mean and deviation, at most 400 ms.
    #[test]
    fn the_target_follows_a_steady_queue() {
        let mut delay = Delay::new();
        delay.qdelay = 0.09;
        for _ in 0..50 {
            delay.adjust_target(0.0);
        }
        near(delay.qdelay_target, 0.09);
        delay.qdelay = 0.21;
        let mut before = delay.qdelay_target;
        for _ in 0..6 {
            before = delay.qdelay_target;
            delay.adjust_target(0.0);
        }
        near(delay.qdelay_target, before * 0.9);
        delay.qdelay = 0.6;
        for _ in 0..50 {
            delay.adjust_target(0.01);
        }
        near(delay.qdelay_target, 0.4);
    }
}
