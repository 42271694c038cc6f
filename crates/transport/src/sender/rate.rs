//! Delivery-rate estimation (`net/ipv4/tcp_rate.c`; draft-cheng-iccrg-delivery-rate-estimation): how fast the
//! network carried what was sent between two deliveries.
//!
//! Each segment remembers how much had been delivered when it left. When it is delivered itself, the difference
//! over the longer of the sending and the acknowledging interval is the rate: the longer, because either can be
//! compressed.

use crate::cc::View;
use crate::rate_sample::{RateSample, micros_between};
use crate::segment::{Seq, after};
use crate::stack::TcpQuirks;
use sojourn_units::Time;

/// What a segment remembers from when it left.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SentState {
    /// When the segment that had been delivered last was sent.
    pub(super) first_sent: Time,
    /// When something was last delivered.
    pub(super) delivered_at: Time,
    /// Segments delivered by then.
    pub(super) delivered: u32,
    /// Whether the application was pausing.
    pub(super) app_limited: bool,
}

/// The sender's side of the estimate: where the last delivery stands. The rest of it is the [`View`]'s.
#[derive(Clone, Debug, Default)]
pub(super) struct RateEstimator {
    /// Send time of the segment delivered last.
    first_sent: Time,
    /// Which of the segments that one ACK delivers counts: the one sent last (from Linux 5.19), or the first of those
    /// that left when most had been delivered.
    by_send_time: bool,
}

/// What one ACK has gathered (`struct rate_sample` while it is being filled).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckRate {
    /// Delivery count, and its time, when the newest segment of this ACK left; `None` when it acknowledges none.
    prior: Option<(u32, Time)>,
    /// One past that segment.
    end: Seq,
    send_interval_us: u32,
    app_limited: bool,
}

impl AckRate {
    /// Delivery count when the newest segment that this ACK delivers had left.
    pub(super) fn prior_delivered(&self) -> Option<u32> {
        self.prior.map(|p| p.0)
    }

    /// That segment.
    pub(super) fn newest(&self) -> Option<Seq> {
        self.prior.map(|_| self.end.wrapping_sub(1))
    }

    /// Whether that segment left when a flight began.
    pub(super) fn began_flight(&self) -> bool {
        self.prior.is_some() && self.send_interval_us == 0
    }
}

impl RateEstimator {
    /// The stack's.
    pub(super) fn new(quirks: &TcpQuirks) -> Self {
        Self { first_sent: Time::ZERO, by_send_time: quirks.rate_sample_by_send_time }
    }

    /// A segment leaves now; a flight begins if nothing was out.
    #[inline]
    pub(super) fn on_sent(&mut self, view: &mut View) -> SentState {
        if view.packets_out == 0 {
            self.first_sent = view.now;
            view.delivered_at = view.now;
        }
        SentState {
            first_sent: self.first_sent,
            delivered_at: view.delivered_at,
            delivered: view.delivered,
            app_limited: view.app_limited.is_some(),
        }
    }

    /// Segment `seq`, sent at `sent` with `state`, has been delivered by the ACK being handled. The newest one of an
    /// ACK counts.
    #[inline]
    pub(super) fn on_delivered(
        &mut self,
        seq: Seq,
        sent: Time,
        state: &SentState,
        ack: &mut AckRate,
    ) {
        let end = seq.wrapping_add(1);
        let newer = match ack.prior {
            None => true,
            Some(_) if self.by_send_time => {
                sent > self.first_sent || (sent == self.first_sent && after(end, ack.end))
            }
            Some((delivered, _)) => after(state.delivered, delivered),
        };
        if newer {
            ack.end = end;
            ack.prior = Some((state.delivered, state.delivered_at));
            ack.app_limited = state.app_limited;
            self.first_sent = sent;
            ack.send_interval_us = micros_between(sent, state.first_sent);
        }
    }

    /// All segments of the ACK are counted; returns its sample, if it is one. Samples shorter than the minimum RTT are
    /// not believed: an ACK that the network delayed looks fast afterwards.
    #[inline]
    pub(super) fn finish(
        view: &mut View,
        any_delivered: bool,
        ack: &AckRate,
    ) -> Option<RateSample> {
        if any_delivered {
            view.delivered_at = view.now;
        }
        let (prior_delivered, prior_at) = ack.prior?;
        let interval_us = ack.send_interval_us.max(micros_between(view.now, prior_at));
        if interval_us < view.rtt.min_us() || interval_us == 0 {
            return None;
        }
        Some(RateSample {
            delivered: view.delivered.wrapping_sub(prior_delivered),
            interval_us,
            app_limited: ack.app_limited,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::examples::{LINUX_5_10, LINUX_7_3};
    use crate::tcb::Tcb;

    /// A connection with a lowest RTT of 20 ms and no data out.
    fn idle(at: Time) -> Tcb {
        let mut tcb = Tcb::example(10);
        (tcb.view.now, tcb.view.packets_out) = (at, 0);
        tcb.view.rtt.sample(at, 20_000, 20_000, 0, 0);
        tcb
    }

    /// Ten segments leave back to back at 0; their ACKs come in pairs from 20 ms on, 0.5 ms apart. The second pair
    /// (segments 2, 3) was sent when nothing was delivered: 4 segments in max(0, 20.5 ms).
    #[test]
    fn the_first_window_by_hand() {
        let t0 = Time::from_millis(100);
        let (mut est, mut tcb) = (RateEstimator::default(), idle(t0));
        let mut sent = Vec::new();
        for _ in 0..10 {
            sent.push(est.on_sent(&mut tcb.view));
            tcb.view.packets_out += 1;
        }
        let mut ack = AckRate::default();
        est.on_delivered(0, t0, &sent[0], &mut ack);
        est.on_delivered(1, t0, &sent[1], &mut ack);
        (tcb.view.now, tcb.view.delivered) = (Time::from_millis(120), 2);
        let s = RateEstimator::finish(&mut tcb.view, true, &ack).unwrap();
        assert_eq!((s.delivered, s.interval_us), (2, 20_000));
        // 2 · 1448 B in 20 ms
        assert_eq!(s.bytes_per_sec(1448), 144_800);
        let mut ack = AckRate::default();
        est.on_delivered(2, t0, &sent[2], &mut ack);
        est.on_delivered(3, t0, &sent[3], &mut ack);
        (tcb.view.now, tcb.view.delivered) = (Time::from_micros(120_500), 4);
        let s = RateEstimator::finish(&mut tcb.view, true, &ack).unwrap();
        assert_eq!((s.delivered, s.interval_us), (4, 20_500));
    }

    /// Two segments leave 1 ms apart, and nothing is delivered between: which of them an ACK of both is measured by
    /// decides where the next sending interval begins.
    #[test]
    fn which_segment_of_an_ack_counts() {
        for (stack, begins) in [(LINUX_7_3, 101), (LINUX_5_10, 100)] {
            let (mut est, mut tcb) = (RateEstimator::new(&stack), idle(Time::from_millis(100)));
            let first = est.on_sent(&mut tcb.view);
            (tcb.view.packets_out, tcb.view.now) = (1, Time::from_millis(101));
            let second = est.on_sent(&mut tcb.view);
            let mut ack = AckRate::default();
            est.on_delivered(0, Time::from_millis(100), &first, &mut ack);
            est.on_delivered(1, Time::from_millis(101), &second, &mut ack);
            assert_eq!(est.first_sent, Time::from_millis(begins));
            assert_eq!(ack.send_interval_us, 1_000 * (begins as u32 - 100));
        }
    }

    #[test]
    fn a_sample_shorter_than_the_minimum_rtt_is_not_believed() {
        let t0 = Time::from_millis(1);
        let (mut est, mut tcb) = (RateEstimator::default(), idle(t0));
        let sent = est.on_sent(&mut tcb.view);
        let mut ack = AckRate::default();
        est.on_delivered(0, t0, &sent, &mut ack);
        (tcb.view.now, tcb.view.delivered) = (Time::from_millis(6), 1);
        assert_eq!(RateEstimator::finish(&mut tcb.view, true, &ack), None);
        assert_eq!(tcb.view.delivered_at, tcb.view.now);
    }
}
