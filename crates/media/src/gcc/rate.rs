//! The rate by delay (draft §5.5; libwebrtc's `AimdRateControl` and `LinkCapacityEstimator`): it grows by 8 % a
//! second, or by about half a packet a response time once the link's capacity has been seen, and falls to 85 % of the
//! received rate at overuse.
//!
//! Invariant: growth never passes 1.5 times the received rate and 10 kbit/s. A sender that its application limits
//! learns nothing about a higher rate, and the bound keeps its estimate near what it sends; a rate already above the
//! bound stays.

use super::trendline::Usage;

/// The part of the received rate that overuse leaves (β).
const BETA: f64 = 0.85;
/// Growth in a second, far from the capacity (η of the text).
const GROWTH: f64 = 1.08;
/// The least multiplicative step, bit/s.
const LEAST_STEP: f64 = 1_000.0;
/// The bound of growth: this times the received rate, and bit/s on top.
const LIMIT: f64 = 1.5;
const LIMIT_MORE: f64 = 10_000.0;
/// Near the capacity: frames a second and bytes of a packet that are assumed, and the least growth, bit/s in a second.
const FRAMES: f64 = 30.0;
const PACKET: f64 = 1_200.0;
const LEAST_GROWTH: f64 = 4_000.0;
/// Time that the detector is assumed to take, milliseconds.
const DETECTION_MS: f64 = 100.0;
/// The RTT before the first sample, milliseconds.
const RTT_MS: f64 = 200.0;
/// Reductions are an RTT apart, within these bounds, milliseconds.
const LEAST_APART: f64 = 10.0;
const MOST_APART: f64 = 200.0;

/// What the rate does (§5.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Hold,
    Increase,
    Decrease,
}

/// An average of the received rate at overuse, kbit/s, and the normalised variance of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Capacity {
    estimate: Option<f64>,
    variance: f64,
}

impl Capacity {
    /// Three standard deviations around the estimate, bit/s.
    fn deviation(&self) -> Option<(f64, f64)> {
        let estimate = self.estimate?;
        let spread = 3.0 * libm::sqrt(self.variance * estimate);
        Some((1_000.0 * (estimate - spread), 1_000.0 * (estimate + spread)))
    }

    fn on_overuse(&mut self, received: f64) {
        let received = received / 1_000.0;
        let estimate = self.estimate.map_or(received, |old| 0.95 * old + 0.05 * received);
        let error = estimate - received;
        self.estimate = Some(estimate);
        self.variance =
            (0.95 * self.variance + 0.05 * error * error / estimate.max(1.0)).clamp(0.4, 2.5);
    }

    /// The estimate, bit/s.
    pub(super) fn rate(&self) -> Option<f64> {
        self.estimate.map(|kbit| kbit * 1_000.0)
    }
}

/// The controller. Rates in bit/s, times in milliseconds.
#[derive(Clone, Debug)]
pub(super) struct RateControl {
    rate: f64,
    least: f64,
    /// The last received rate.
    received: f64,
    capacity: Capacity,
    state: State,
    changed: Option<f64>,
    rtt: f64,
}

impl RateControl {
    /// One that begins at `start` and never falls below `least`.
    pub(super) fn new(start: f64, least: f64) -> Self {
        Self {
            rate: start.max(least),
            least,
            received: start,
            capacity: Capacity { estimate: None, variance: 0.4 },
            state: State::Hold,
            changed: None,
            rtt: RTT_MS,
        }
    }

    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    pub(super) fn state(&self) -> State {
        self.state
    }

    pub(super) fn capacity(&self) -> &Capacity {
        &self.capacity
    }

    pub(super) fn set_rtt(&mut self, rtt: f64) {
        self.rtt = rtt;
    }

    /// A report has been worked through at `now`, with this finding and received rate.
    pub(super) fn update(&mut self, now: f64, usage: Usage, received: Option<f64>) {
        if usage == Usage::Over {
            match received {
                Some(rate) if self.may_reduce(now, rate) => self.change(now, usage, received),
                // Before a rate is known: half with each report, as libwebrtc's check of the time passes always.
                None => {
                    self.rate = (self.rate / 2.0).max(self.least);
                    self.changed = Some(now);
                }
                Some(_) => {}
            }
            return;
        }
        self.change(now, usage, received);
    }

    /// Whether a reduction may follow the last change: an RTT later, or if less than half of the rate arrives.
    fn may_reduce(&self, now: f64, received: f64) -> bool {
        let apart = self.rtt.clamp(LEAST_APART, MOST_APART);
        self.changed.is_none_or(|changed| now - changed >= apart) || received < 0.5 * self.rate
    }

    fn change(&mut self, now: f64, usage: Usage, received: Option<f64>) {
        self.received = received.unwrap_or(self.received);
        let received = self.received;
        match (usage, self.state) {
            (Usage::Over, _) => self.state = State::Decrease,
            (Usage::Under, _) => self.state = State::Hold,
            (Usage::Normal, State::Hold) => {
                (self.changed, self.state) = (Some(now), State::Increase);
            }
            (Usage::Normal, _) => {}
        }
        match self.state {
            State::Hold => {}
            State::Increase => self.increase(now, received),
            State::Decrease => self.decrease(now, received),
        }
        self.rate = self.rate.max(self.least);
    }

    fn increase(&mut self, now: f64, received: f64) {
        if self.capacity.deviation().is_some_and(|(_, above)| received > above) {
            self.capacity.estimate = None;
        }
        let limit = LIMIT * received + LIMIT_MORE;
        let since = self.changed.map_or(1_000.0, |changed| now - changed) / 1_000.0;
        if self.rate < limit {
            let step = match self.capacity.estimate {
                Some(_) => self.near_capacity() * since,
                None => (self.rate * (libm::pow(GROWTH, since.min(1.0)) - 1.0)).max(LEAST_STEP),
            };
            self.rate = (self.rate + step).min(limit);
        }
        self.changed = Some(now);
    }

    /// Growth near the capacity in a second, bit/s: a packet of average size in twice the time that the path and the
    /// detector take.
    fn near_capacity(&self) -> f64 {
        let frame = self.rate / FRAMES / 8.0;
        let packet = frame / libm::ceil(frame / PACKET).max(1.0);
        let response = 2.0 * (self.rtt + DETECTION_MS) / 1_000.0;
        (packet * 8.0 / response).max(LEAST_GROWTH)
    }

    fn decrease(&mut self, now: f64, received: f64) {
        let mut lower = BETA * received;
        if lower > self.rate {
            lower = self.capacity.rate().map_or(lower, |capacity| BETA * capacity);
        }
        self.rate = self.rate.min(lower);
        if self.capacity.deviation().is_some_and(|(below, _)| received < below) {
            self.capacity.estimate = None;
        }
        self.capacity.on_overuse(received);
        // Until the queue is empty.
        (self.state, self.changed) = (State::Hold, Some(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(ours: f64, expected: f64) {
        assert!((ours / expected - 1.0).abs() < 1e-9, "{ours}, expected {expected}");
    }

    /// Ten reports a second at 300 kbit/s received as well: each grows by 1.08^0.1, above the step of 1 kbit/s. In a
    /// second it is 8 %.
    #[test]
    fn far_from_the_capacity_it_grows_by_a_twelfth_a_second() {
        let mut control = RateControl::new(300e3, 50e3);
        control.update(0.0, Usage::Normal, Some(300e3));
        // The state has changed now: no time has passed, and the least step is taken.
        near(control.rate(), 301e3);
        control.rate = 300e3;
        for n in 1..=10 {
            control.update(f64::from(n) * 100.0, Usage::Normal, Some(300e3));
        }
        near(control.rate(), 324e3);
        assert_eq!(control.state(), State::Increase);
    }

    /// The case of pion/interceptor's issue 299: the application sends 784 kbit/s, nothing is congested, and the
    /// estimate stops at 1.5 · 784 + 10 = 1186 kbit/s. What arrives falls to 400 kbit/s: the bound of 610 does not
    /// take the rate back.
    #[test]
    fn an_application_limits_the_estimate() {
        let mut control = RateControl::new(784e3, 50e3);
        for n in 0..600 {
            control.update(f64::from(n) * 100.0, Usage::Normal, Some(784e3));
            assert!(control.rate() <= 1_186e3);
        }
        near(control.rate(), 1_186e3);
        for n in 600..700 {
            control.update(f64::from(n) * 100.0, Usage::Normal, Some(400e3));
        }
        near(control.rate(), 1_186e3);
    }

    /// Overuse at 1 Mbit/s received: 850 kbit/s, and the state holds until the detector is normal. The capacity is
    /// 1000 kbit/s with a normalised variance of 0.4: three deviations are 3 · √400 = 60 kbit/s.
    #[test]
    fn overuse_falls_below_what_arrives() {
        let mut control = RateControl::new(1_200e3, 50e3);
        control.update(1_000.0, Usage::Over, Some(1_000e3));
        near(control.rate(), 850e3);
        assert_eq!(control.state(), State::Hold);
        let (below, above) = control.capacity().deviation().unwrap();
        near(below, 940e3);
        near(above, 1_060e3);
        // Within an RTT of 200 ms nothing more is taken, unless less than half of the rate arrives.
        control.update(1_100.0, Usage::Over, Some(900e3));
        near(control.rate(), 850e3);
        control.update(1_150.0, Usage::Over, Some(400e3));
        near(control.rate(), 340e3);
        near(control.capacity().rate().unwrap(), 400e3);
        // Emptying queues hold it.
        control.update(1_200.0, Usage::Under, Some(400e3));
        near(control.rate(), 340e3);
    }

    /// With a capacity known, 850 kbit/s at an RTT of 50 ms: a frame is 3541.67 bytes in three packets of 1180.56; one
    /// in 300 ms is 31 481.5 bit/s a second.
    #[test]
    fn near_the_capacity_it_grows_by_a_packet() {
        let mut control = RateControl::new(1_200e3, 50e3);
        control.set_rtt(50.0);
        control.update(1_000.0, Usage::Over, Some(1_000e3));
        control.update(1_100.0, Usage::Normal, Some(850e3));
        near(control.rate(), 850e3);
        control.update(1_200.0, Usage::Normal, Some(850e3));
        near(control.rate(), 850e3 + 850e3 / 30.0 / 3.0 / 0.3 * 0.1);
        // More than three deviations above: the capacity is forgotten, and growth is 8 % again.
        control.update(1_300.0, Usage::Normal, Some(1_061e3));
        assert_eq!(control.capacity().rate(), None);
    }

    /// Overuse before a received rate is known halves the rate with each report, down to the least one.
    #[test]
    fn overuse_without_a_rate_halves() {
        let mut control = RateControl::new(800e3, 150e3);
        control.update(0.0, Usage::Over, None);
        near(control.rate(), 400e3);
        control.update(100.0, Usage::Over, None);
        near(control.rate(), 200e3);
        control.update(200.0, Usage::Over, None);
        near(control.rate(), 150e3);
    }
}
