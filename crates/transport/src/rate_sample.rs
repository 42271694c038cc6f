//! Delivery-rate estimation (`net/ipv4/tcp_rate.c`; draft-cheng-iccrg-delivery-rate-estimation): how fast the
//! network carried what was sent between two deliveries.
//!
//! Each segment remembers how much had been delivered when it left. When it is delivered itself, the difference
//! over the longer of the sending and the acknowledging interval is the rate: the longer, because either can be
//! compressed.

use sojourn_units::Time;

/// What a segment remembers from when it left.
#[derive(Clone, Copy, Debug, Default)]
pub struct SentState {
    /// When the segment that had been delivered last was sent.
    pub first_sent: Time,
    /// When something was last delivered.
    pub delivered_at: Time,
    /// Segments delivered by then.
    pub delivered: u32,
    /// Whether the application was pausing.
    pub app_limited: bool,
}

/// The sample kept for `ss` and for controllers that ask (`tp->rate_delivered`, `rate_interval_us`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RateSample {
    /// Segments delivered in the interval.
    pub delivered: u32,
    /// The interval in microseconds; zero before the first sample.
    pub interval_us: u32,
    /// Whether the application was pausing in it.
    pub app_limited: bool,
}

impl RateSample {
    /// Payload bytes per second for segments of `mss` bytes; zero before the first sample.
    pub fn bytes_per_sec(&self, mss: u32) -> u64 {
        if self.interval_us == 0 {
            return 0;
        }
        u64::from(self.delivered) * u64::from(mss) * 1_000_000 / u64::from(self.interval_us)
    }
}

/// The sender's side of the estimate: where the last delivery stands.
#[derive(Clone, Debug, Default)]
pub struct RateEstimator {
    /// Send time of the segment delivered last.
    first_sent: Time,
    /// When something was last delivered.
    delivered_at: Time,
}

/// What one ACK has gathered (`struct rate_sample` while it is being filled).
#[derive(Clone, Copy, Debug, Default)]
pub struct AckRate {
    /// Delivery count, and its time, when the newest segment of this ACK left; `None` when it acknowledges none.
    prior: Option<(u32, Time)>,
    send_interval_us: u32,
    app_limited: bool,
}

impl AckRate {
    /// Delivery count when the newest segment that this ACK delivers had left.
    pub fn prior_delivered(&self) -> Option<u32> {
        self.prior.map(|p| p.0)
    }
}

/// Difference of two points in whole microseconds, each rounded down first, as the kernel's µs clock gives it.
#[inline]
pub fn micros_between(later: Time, earlier: Time) -> u32 {
    (later.as_micros().wrapping_sub(earlier.as_micros())) as u32
}

impl RateEstimator {
    /// A segment leaves now.
    #[inline]
    pub fn on_sent(
        &mut self,
        now: Time,
        idle: bool,
        delivered: u32,
        app_limited: bool,
    ) -> SentState {
        if idle {
            self.first_sent = now;
            self.delivered_at = now;
        }
        SentState {
            first_sent: self.first_sent,
            delivered_at: self.delivered_at,
            delivered,
            app_limited,
        }
    }

    /// A segment that was sent at `sent` with `state` has been delivered by the ACK being handled. The newest one
    /// of an ACK counts.
    #[inline]
    pub fn on_delivered(&mut self, sent: Time, state: &SentState, ack: &mut AckRate) {
        let newer = ack.prior.is_none_or(|(d, _)| state.delivered.wrapping_sub(d) as i32 > 0);
        if newer {
            ack.prior = Some((state.delivered, state.delivered_at));
            ack.app_limited = state.app_limited;
            self.first_sent = sent;
            ack.send_interval_us = micros_between(sent, state.first_sent);
        }
    }

    /// All segments of the ACK have been told; returns its sample, if it is one. Samples shorter than the minimum
    /// RTT are not believed: an ACK that the network delayed looks fast afterwards.
    #[inline]
    pub fn finish(
        &mut self,
        now: Time,
        any_delivered: bool,
        delivered: u32,
        min_rtt_us: u32,
        ack: &AckRate,
    ) -> Option<RateSample> {
        if any_delivered {
            self.delivered_at = now;
        }
        let (prior_delivered, prior_at) = ack.prior?;
        let interval_us = ack.send_interval_us.max(micros_between(now, prior_at));
        if interval_us < min_rtt_us || interval_us == 0 {
            return None;
        }
        Some(RateSample {
            delivered: delivered.wrapping_sub(prior_delivered),
            interval_us,
            app_limited: ack.app_limited,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten segments leave back to back at 0; their ACKs come in pairs from 20 ms on, 0.5 ms apart. The second pair
    /// (segments 2, 3) was sent when nothing was delivered: 4 segments in max(0, 20.5 ms).
    #[test]
    fn the_first_window_by_hand() {
        let mut est = RateEstimator::default();
        let t0 = Time::from_millis(100);
        let sent: Vec<SentState> = (0..10).map(|i| est.on_sent(t0, i == 0, 0, false)).collect();
        let mut ack = AckRate::default();
        est.on_delivered(t0, &sent[0], &mut ack);
        est.on_delivered(t0, &sent[1], &mut ack);
        let s = est.finish(Time::from_millis(120), true, 2, 20_000, &ack).unwrap();
        assert_eq!((s.delivered, s.interval_us), (2, 20_000));
        // 2 · 1448 B in 20 ms
        assert_eq!(s.bytes_per_sec(1448), 144_800);
        let mut ack = AckRate::default();
        est.on_delivered(t0, &sent[2], &mut ack);
        est.on_delivered(t0, &sent[3], &mut ack);
        let s = est.finish(Time::from_micros(120_500), true, 4, 20_000, &ack).unwrap();
        assert_eq!((s.delivered, s.interval_us), (4, 20_500));
    }

    #[test]
    fn a_sample_shorter_than_the_minimum_rtt_is_not_believed() {
        let mut est = RateEstimator::default();
        let sent = est.on_sent(Time::from_millis(1), true, 0, false);
        let mut ack = AckRate::default();
        est.on_delivered(Time::from_millis(1), &sent, &mut ack);
        assert_eq!(est.finish(Time::from_millis(6), true, 1, 20_000, &ack), None);
    }
}
