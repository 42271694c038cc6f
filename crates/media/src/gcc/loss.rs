//! The rate by loss (draft §6; libwebrtc's `SendSideBandwidthEstimation` without its later loss models): up to 2 %
//! lost it grows, above 10 % it falls by half of the loss, in between it stays. The rate by delay is its upper bound.
//!
//! The rules were read in copies of libwebrtc. The constants of time and packets below (300 ms, 1 s, 2 s, 6 s, 20) were not in the parts
//! that could be read: they are from memory.

use std::collections::VecDeque;

/// Shares of lost packets up to which the rate grows, and above which it falls.
const LOW: f64 = 0.02;
const HIGH: f64 = 0.10;
/// Growth from the least rate of the last second, and bit/s on top; the text has 1.05.
const GROWTH: f64 = 1.08;
const GROWTH_MORE: f64 = 1_000.0;
const GROWTH_MS: f64 = 1_000.0;
/// Reductions are an RTT and this apart, milliseconds.
const APART_MS: f64 = 300.0;
/// In this time after the first report the rate by delay is believed alone, unless packets were lost, milliseconds.
const START_MS: f64 = 2_000.0;
/// Losses are judged at most this often, milliseconds, and by at least this number of packets.
const JUDGED_MS: f64 = 1_000.0;
const JUDGED_PACKETS: u32 = 20;
/// A judgement holds for this time, milliseconds.
const VALID_MS: f64 = 6_000.0;

/// The controller. Rates in bit/s, times in milliseconds.
#[derive(Clone, Debug)]
pub(super) struct LossControl {
    target: f64,
    least: f64,
    most: f64,
    first_report: Option<f64>,
    lost: u32,
    expected: u32,
    next_judgement: f64,
    /// The last judged share, and when.
    share: f64,
    judged: Option<f64>,
    has_decreased: bool,
    decreased: Option<f64>,
    /// The last second's rates, rising: the first is the least.
    history: VecDeque<(f64, f64)>,
}

impl LossControl {
    pub(super) fn new(start: f64, least: f64, most: f64) -> Self {
        Self {
            target: start,
            least,
            most,
            first_report: None,
            lost: 0,
            expected: 0,
            next_judgement: 0.0,
            share: 0.0,
            judged: None,
            has_decreased: false,
            decreased: None,
            history: VecDeque::new(),
        }
    }

    pub(super) fn target(&self) -> f64 {
        self.target
    }

    /// The share of packets lost at the last judgement.
    pub(super) fn share(&self) -> f64 {
        self.share
    }

    /// A report at `now`: packets newly lost and newly received, the rate by delay, the RTT.
    pub(super) fn update(&mut self, now: f64, lost: u32, received: u32, by_delay: f64, rtt: f64) {
        let first = *self.first_report.get_or_insert(now);
        self.lost += lost;
        self.expected += lost + received;
        if now >= self.next_judgement && self.expected >= JUDGED_PACKETS {
            // In 256ths, rounded down, as RTCP reports it.
            let share = (f64::from(self.lost) / f64::from(self.expected)).min(1.0);
            self.share = libm::floor(share * 256.0).min(255.0) / 256.0;
            (self.lost, self.expected) = (0, 0);
            (self.judged, self.has_decreased) = (Some(now), false);
            self.next_judgement = now + JUDGED_MS;
        }
        let most = by_delay.min(self.most);
        if self.share == 0.0 && now - first < START_MS {
            self.history.clear();
            self.history.push_back((now, self.target));
            return self.set(by_delay.max(self.target), most);
        }
        self.remember(now);
        if self.judged.is_none_or(|judged| now - judged >= VALID_MS) {
            return self.set(self.target, most);
        }
        let mut rate = self.target;
        if self.share <= LOW {
            let least = self.history.front().map_or(self.target, |&(_, rate)| rate);
            rate = least * GROWTH + GROWTH_MORE;
        } else if self.share > HIGH
            && !self.has_decreased
            && self.decreased.is_none_or(|before| now - before >= APART_MS + rtt)
        {
            (self.decreased, self.has_decreased) = (Some(now), true);
            rate *= 1.0 - self.share / 2.0;
        }
        self.set(rate, most);
    }

    fn set(&mut self, rate: f64, most: f64) {
        self.target = rate.min(most).max(self.least);
    }

    /// The least rate of the last second is the first one kept.
    fn remember(&mut self, now: f64) {
        while self.history.front().is_some_and(|&(at, _)| now - at >= GROWTH_MS) {
            self.history.pop_front();
        }
        while self.history.back().is_some_and(|&(_, rate)| self.target <= rate) {
            self.history.pop_back();
        }
        self.history.push_back((now, self.target));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_LIMIT: f64 = 1e9;

    fn near(ours: f64, expected: f64) {
        assert!((ours / expected - 1.0).abs() < 1e-9, "{ours}, expected {expected}");
    }

    /// One at 1 Mbit/s beyond its first two seconds, with this loss in a hundred packets.
    fn judged(lost: u32) -> LossControl {
        let mut control = LossControl::new(1e6, 50e3, 10e6);
        control.first_report = Some(0.0);
        control.update(10_000.0, lost, 100 - lost, NO_LIMIT, 50.0);
        control
    }

    /// 2 % are 5/256, 1.95 %: the rate grows to 1.08 of the least in the last second and 1 kbit/s, and no further
    /// within the second. 3 % and 10 % (25/256) leave it. 20 % are 51/256: it falls by half of them.
    #[test]
    fn thresholds_of_two_and_ten_percent() {
        for (lost, expected) in [
            (0, 1_081e3),
            (2, 1_081e3),
            (3, 1e6),
            (10, 1e6),
            (11, 1e6 * (1.0 - 28.0 / 512.0)),
            (20, 1e6 * (1.0 - 51.0 / 512.0)),
        ] {
            near(judged(lost).target(), expected);
        }
        let mut control = judged(0);
        control.update(10_900.0, 0, 1, NO_LIMIT, 50.0);
        near(control.target(), 1_081e3);
        // A second later the least rate is the 1081 kbit/s.
        control.update(11_000.0, 0, 1, NO_LIMIT, 50.0);
        near(control.target(), 1_081e3 * 1.08 + 1_000.0);
    }

    /// One judgement reduces once; the next one after a second and twenty packets.
    #[test]
    fn a_judgement_reduces_once() {
        let mut control = judged(20);
        let once = 1e6 * (1.0 - 51.0 / 512.0);
        control.update(10_500.0, 10, 9, NO_LIMIT, 50.0);
        near(control.target(), once);
        control.update(11_000.0, 0, 0, NO_LIMIT, 50.0);
        near(control.target(), once);
        control.update(11_100.0, 0, 1, NO_LIMIT, 50.0);
        near(control.share(), 0.5);
        near(control.target(), once * 0.75);
    }

    /// The rate by delay bounds it, above its least rate; in the first two seconds it follows that rate up.
    #[test]
    fn the_rate_by_delay_is_its_bound() {
        let mut control = judged(0);
        control.update(10_100.0, 0, 1, 400e3, 50.0);
        near(control.target(), 400e3);
        control.update(10_200.0, 0, 1, 10e3, 50.0);
        near(control.target(), 50e3);
        let mut control = LossControl::new(300e3, 50e3, 1e6);
        control.update(100.0, 0, 5, 900e3, 50.0);
        near(control.target(), 900e3);
        control.update(200.0, 0, 5, 2e6, 50.0);
        near(control.target(), 1e6);
    }
}
