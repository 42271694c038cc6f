//! PIE's controller and estimators, in the kernel's integers: `pie_drop_early`, `pie_process_dequeue` and
//! `pie_calculate_probability` of Linux 5.10 to 7.3, and what they were in 5.4. `pie` has one, `fq_pie` one a queue.

use sojourn_units::{Random, Time};

/// The scheduler's time in ticks of 64 ns (`psched_time_t`).
pub(crate) type Ticks = u64;
pub(crate) const TICKS_PER_SEC: u64 = 15_625_000;
/// 150 ms.
const BURST_ALLOWANCE: Ticks = 150_000_000 >> 6;
/// Bytes held from which the departure rate is measured, and over which.
const QUEUE_THRESHOLD: u64 = 16_384;
/// The departure rate is kept in 256ths of a byte per tick.
pub(crate) const RATE_SCALE: u32 = 8;
/// `psched_mtu` of an Ethernet device.
const MTU: u32 = 1514;

/// A point in time in ticks, rounded down.
pub(crate) const fn ticks(time: Time) -> Ticks {
    time.as_nanos() >> 6
}

/// As the kernel reports delays: whole microseconds of a 32-bit number of nanoseconds.
pub(crate) fn seconds(ticks: Ticks) -> f64 {
    f64::from((ticks << 6) as u32 / 1_000) / 1e6
}

/// The settings of the controller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Params {
    /// Delay that it aims at.
    pub(crate) target: Ticks,
    /// Sixteenths of a hertz, as the next.
    pub(crate) alpha: u32,
    pub(crate) beta: u32,
    /// Whether the probability is scaled by a packet's length.
    pub(crate) bytemode: bool,
    /// Whether the delay is known from the departure rate.
    pub(crate) by_rate: bool,
}

/// A departure rate being measured.
#[derive(Clone, Copy, Debug)]
struct Cycle {
    since: Ticks,
    bytes: u64,
}

/// The controller and its estimators (`struct pie_vars`).
#[derive(Clone, Debug)]
pub(crate) struct Controller {
    /// Certainty, in the kernel's fraction: 2^64 - 1 or 2^56 - 1.
    pub(crate) one: u64,
    pub(crate) prob: u64,
    /// Probabilities since the last decision. 5.4 keeps its overflows apart, which is the same number.
    pub(crate) accu_prob: u128,
    pub(crate) burst_time: Ticks,
    pub(crate) qdelay: Ticks,
    qdelay_old: Ticks,
    /// When the last packet left, if any did since the state was reset.
    left: Option<Ticks>,
    cycle: Option<Cycle>,
    pub(crate) avg_dq_rate: u32,
}

impl Controller {
    /// A controller with a probability of `bits` bits: 64, or 56 since 5.6.
    pub(crate) const fn new(bits: u32) -> Self {
        Self {
            one: u64::MAX >> (64 - bits),
            prob: 0,
            accu_prob: 0,
            burst_time: BURST_ALLOWANCE,
            qdelay: 0,
            qdelay_old: 0,
            left: None,
            cycle: None,
            avg_dq_rate: 0,
        }
    }

    /// Back to the beginning, except for delays and probability (`pie_vars_init`).
    pub(crate) const fn reset(&mut self) {
        self.burst_time = BURST_ALLOWANCE;
        self.left = None;
        self.accu_prob = 0;
        self.cycle = None;
        self.avg_dq_rate = 0;
    }

    /// Whether [`Controller::update`] with nothing held leaves it as it is: it knows of no packet.
    pub(crate) const fn is_at_rest(&self) -> bool {
        self.prob == 0
            && self.accu_prob == 0
            && self.qdelay == 0
            && self.qdelay_old == 0
            && self.burst_time == BURST_ALLOWANCE
            && self.left.is_none()
            && self.cycle.is_none()
            && self.avg_dq_rate == 0
    }

    /// The probability, 0 to 1. It may go beyond certainty (see [`Controller::update`]); a report does not.
    pub(crate) fn probability(&self) -> f64 {
        (self.prob as f64 / self.one as f64).min(1.0)
    }

    /// Whether the packet is to be dropped or marked (`pie_drop_early`). `held` excludes it.
    #[inline]
    pub(crate) fn signals(
        &mut self,
        params: &Params,
        held: u64,
        len: u32,
        random: &mut Random,
    ) -> bool {
        if self.burst_time > 0
            || (self.qdelay < params.target / 2 && self.prob < self.one / 5)
            || held < 2 * u64::from(MTU)
        {
            return false;
        }
        let prob = if params.bytemode && len <= MTU {
            u64::from(len) * (self.prob / u64::from(MTU))
        } else {
            self.prob
        };
        if prob == 0 {
            self.accu_prob = 0;
        }
        self.accu_prob += u128::from(prob);
        if self.accu_prob < u128::from(self.one / 100 * 85) {
            return false;
        }
        if self.is_certain() {
            return true;
        }
        let signals = random.next_u64() >> self.one.leading_zeros() < prob;
        if signals {
            self.accu_prob = 0;
        }
        signals
    }

    /// Whether the probabilities have added up to 8.5.
    fn is_certain(&self) -> bool {
        if self.one == u64::MAX {
            // 5.4 counts overflows and looks for exactly eight.
            self.accu_prob >> 64 == 8 && self.accu_prob as u64 >= u64::MAX / 2
        } else {
            self.accu_prob >= u128::from(self.one / 2 * 17)
        }
    }

    /// A packet stamped `stamp` leaves, and `held` bytes stay (`pie_process_dequeue`).
    #[inline]
    pub(crate) fn on_departure(
        &mut self,
        by_rate: bool,
        now: Ticks,
        stamp: Ticks,
        len: u32,
        held: u64,
    ) {
        let elapsed = if by_rate {
            self.measure(now, len, held)
        } else {
            let elapsed = self.left.map_or(0, |left| now - left) as u32;
            self.left = Some(now);
            self.qdelay = if held == 0 { 0 } else { now - stamp };
            elapsed
        };
        self.burst_time = self.burst_time.saturating_sub(elapsed.into());
    }

    /// Goes on with the measurement of the departure rate; how long the cycle took if it is complete.
    fn measure(&mut self, now: Ticks, len: u32, held: u64) -> u32 {
        if self.cycle.is_none() && held >= QUEUE_THRESHOLD {
            self.cycle = Some(Cycle { since: now, bytes: 0 });
        }
        let Some(cycle) = &mut self.cycle else { return 0 };
        cycle.bytes += u64::from(len);
        let elapsed = (now - cycle.since) as u32;
        if cycle.bytes < QUEUE_THRESHOLD || elapsed == 0 {
            return 0;
        }
        let rate = ((cycle.bytes << RATE_SCALE) as u32) / elapsed;
        self.avg_dq_rate = match self.avg_dq_rate {
            0 => rate,
            average => average - (average >> 3) + (rate >> 3),
        };
        self.cycle = (held >= QUEUE_THRESHOLD).then_some(Cycle { since: now, bytes: 0 });
        elapsed
    }

    /// The update that comes every `tupdate`, with `held` bytes (`pie_calculate_probability`).
    pub(crate) fn update(&mut self, params: &Params, held: u64) {
        let held = held as u32;
        let (qdelay, qdelay_old) = if params.by_rate {
            self.qdelay_old = self.qdelay;
            let now = (held << RATE_SCALE).checked_div(self.avg_dq_rate).unwrap_or(0);
            (Ticks::from(now), self.qdelay)
        } else {
            (self.qdelay, self.qdelay_old)
        };
        // Something held but no delay: too little to know anything.
        let may_decay = qdelay != 0 || held == 0;

        let (alpha, beta) = self.gains(params);
        let delta = alpha
            .wrapping_mul(qdelay.wrapping_sub(params.target))
            .wrapping_add(beta.wrapping_mul(qdelay.wrapping_sub(qdelay_old)))
            .cast_signed();
        // At most 2 % at a time once there is much.
        let two_percent = (self.one / 50).cast_signed();
        let delta = if delta > two_percent && self.prob >= self.one / 10 {
            (self.one / 100 * 2).cast_signed()
        } else {
            delta
        };
        // RFC 8033 §5.1's way out of a delay above 250 ms.
        let is_high = qdelay > 250_000_000 >> 6;
        let delta = if is_high { delta.wrapping_add(two_percent) } else { delta };

        let old = self.prob;
        self.prob = old.wrapping_add_signed(delta);
        if delta > 0 {
            // The kernel asks whether 64 bits overflowed. A fraction of 2^56 does not do that for long: from
            // 5.10 the probability winds up beyond certainty while an unresponsive load lasts.
            if self.prob < old {
                self.prob = self.one;
            }
        } else if self.prob > old {
            self.prob = 0;
        }
        if qdelay == 0 && qdelay_old == 0 && may_decay {
            self.prob -= self.prob / 64;
        }
        self.qdelay = qdelay;
        let half = params.target / 2;
        if self.qdelay < half
            && self.qdelay_old < half
            && self.prob == 0
            && (!params.by_rate || self.avg_dq_rate > 0)
        {
            self.reset();
        }
        if !params.by_rate {
            self.qdelay_old = qdelay;
        }
    }

    /// The gains per tick, less the smaller the probability (RFC 8033 §5.2): a half below 10 %, and a quarter
    /// of that for each decade further down to a millionth.
    fn gains(&self, params: &Params) -> (u64, u64) {
        let per_tick = |gain: u32| (u64::from(gain) * (self.one / TICKS_PER_SEC)) >> 4;
        let mut shift = 0;
        if self.prob < self.one / 10 {
            shift = 1;
            let mut power = 100;
            while power <= 1_000_000 && self.prob < self.one / power {
                shift += 2;
                power *= 10;
            }
        }
        (per_tick(params.alpha) >> shift, per_tick(params.beta) >> shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `fq_pie` counts on: whatever the options, updates leave a controller at rest as it is.
    #[test]
    fn rest_stays_rest() {
        for (target, alpha, beta) in [(0, 0, 0), (0, 32, 32), (1, 2, 20), (234_375, 2, 20)] {
            for by_rate in [false, true] {
                let params = Params { target, alpha, beta, bytemode: false, by_rate };
                let mut controller = Controller::new(56);
                let before = format!("{controller:?}");
                for _ in 0..3 {
                    controller.update(&params, 0);
                }
                assert!(controller.is_at_rest());
                assert_eq!(format!("{controller:?}"), before, "{params:?}");
            }
        }
    }
}
