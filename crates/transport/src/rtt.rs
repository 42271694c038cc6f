//! The kernel's round-trip estimator and retransmission timeout (`tcp_rtt_estimator`, `tcp_set_rto` in
//! `net/ipv4/tcp_input.c`; RFC 6298 with Linux's own treatment of the variance), and the windowed minimum.
//!
//! All values are whole microseconds; `srtt` is kept times eight and `mdev` times four, as in the kernel, so
//! that rounding is the kernel's.
//!
//! Where Linux and RFC 6298 differ: the variance term is the *maximum* deviation of the last round trip,
//! decays by a quarter a round trip at most, is never below `rto_min`, and a falling RTT moves the deviation
//! with gain 1/32 instead of 1/4.

use crate::minmax::WindowedMin;
use crate::segment::{Seq, after};
use sojourn_units::{Span, Time};

/// Lowest variance term of the timeout (`TCP_RTO_MIN`), microseconds.
pub const RTO_MIN_US: u32 = 200_000;
/// First timeout, before any sample (`TCP_TIMEOUT_INIT`), microseconds.
pub const RTO_INIT_US: u32 = 1_000_000;
/// Highest timeout (`TCP_RTO_MAX`), microseconds.
pub const RTO_MAX_US: u32 = 120_000_000;
/// How long a minimum is remembered (`tcp_min_rtt_wlen`).
const MIN_RTT_WINDOW: Span = Span::from_secs(300);

/// Round-trip state of a sender.
#[derive(Clone, Debug)]
pub struct Rtt {
    srtt8: u32,
    mdev4: u32,
    mdev_max4: u32,
    rttvar4: u32,
    round_end: Seq,
    rto_us: u32,
    latest_us: u32,
    samples: u64,
    min: WindowedMin,
}

impl Default for Rtt {
    fn default() -> Self {
        Self {
            srtt8: 0,
            mdev4: 0,
            mdev_max4: 0,
            rttvar4: 0,
            round_end: 0,
            rto_us: RTO_INIT_US,
            latest_us: 0,
            samples: 0,
            min: WindowedMin::new(),
        }
    }
}

impl Rtt {
    /// Smoothed RTT in microseconds; zero before the first sample.
    #[inline]
    pub fn srtt_us(&self) -> u32 {
        self.srtt8 >> 3
    }

    /// Smoothed RTT times eight, as the kernel keeps it.
    #[inline]
    pub fn srtt8_us(&self) -> u32 {
        self.srtt8
    }

    /// Mean deviation in microseconds (what `ss` shows behind the slash).
    pub fn mdev_us(&self) -> u32 {
        self.mdev4 >> 2
    }

    /// The latest sample in microseconds; zero before the first.
    pub fn latest_us(&self) -> u32 {
        self.latest_us
    }

    /// How many samples there have been.
    #[inline]
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Lowest sample of the last 300 s in microseconds; `u32::MAX` before the first (as `tcp_min_rtt`).
    #[inline]
    pub fn min_us(&self) -> u32 {
        self.min.get()
    }

    /// The retransmission timeout, backoff included.
    #[inline]
    pub fn rto(&self) -> Span {
        Span::from_micros(u64::from(self.rto_us))
    }

    /// Takes the sample of an ACK: `seq_us` from the oldest segment it newly acknowledges (it holds the delayed
    /// ACK's wait), `latest_us` from the newest (what congestion controls and the minimum see).
    ///
    /// The kernel keeps the ACK of a lone piece below the segment size out of the minimum, as it has probably been
    /// delayed (`FLAG_ACK_MAYBE_DELAYED`). Here only a stream's last segment can be one, and it ends the flow.
    pub fn sample(&mut self, now: Time, seq_us: u32, latest_us: u32, una: Seq, nxt: Seq) {
        self.latest_us = latest_us;
        self.samples += 1;
        self.min.update(now, latest_us.max(1), MIN_RTT_WINDOW);
        self.estimate(seq_us, una, nxt);
        self.rto_us = ((self.srtt8 >> 3) + self.rttvar4).min(RTO_MAX_US);
    }

    fn estimate(&mut self, sample_us: u32, una: Seq, nxt: Seq) {
        if self.srtt8 == 0 {
            self.srtt8 = (sample_us << 3).max(1);
            self.mdev4 = sample_us << 1;
            self.rttvar4 = self.mdev4.max(RTO_MIN_US);
            self.mdev_max4 = self.rttvar4;
            self.round_end = nxt;
            return;
        }
        let error = i64::from(sample_us) - i64::from(self.srtt8 >> 3);
        self.srtt8 = (i64::from(self.srtt8) + error).max(1) as u32;
        let mut deviation = error.abs() - i64::from(self.mdev4 >> 2);
        if error < 0 && deviation > 0 {
            deviation >>= 3;
        }
        self.mdev4 = (i64::from(self.mdev4) + deviation) as u32;
        if self.mdev4 > self.mdev_max4 {
            self.mdev_max4 = self.mdev4;
            self.rttvar4 = self.rttvar4.max(self.mdev_max4);
        }
        if after(una, self.round_end) {
            if self.mdev_max4 < self.rttvar4 {
                self.rttvar4 -= (self.rttvar4 - self.mdev_max4) >> 2;
            }
            self.round_end = nxt;
            self.mdev_max4 = RTO_MIN_US;
        }
    }

    /// Doubles the timeout (RFC 6298 §5.5).
    pub fn back_off(&mut self) {
        self.rto_us = (self.rto_us.saturating_mul(2)).min(RTO_MAX_US);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    /// First sample 20 ms: srtt 20, mdev 10 ms, variance term max(4·10, 200) = 200 ms, RTO 220 ms.
    /// Then 28 ms: error +8; srtt 21; mdev4 = 40 + (8 − 10) = 38 ms.
    /// Then 4 ms: error 4 − 21 = −17; srtt8 = 168 − 17 = 151; deviation 17 − 9.5 = 7.5 > 0, falling: /8 → 0.9375.
    #[test]
    fn three_samples_by_hand() {
        let mut rtt = Rtt::default();
        assert_eq!(rtt.rto(), Span::from_secs(1));
        rtt.sample(at(0), 20_000, 20_000, 0, 10);
        assert_eq!(
            (rtt.srtt_us(), rtt.mdev_us(), rtt.rto()),
            (20_000, 10_000, Span::from_millis(220))
        );
        rtt.sample(at(20), 28_000, 28_000, 5, 10);
        assert_eq!((rtt.srtt_us(), rtt.mdev4), (21_000, 38_000));
        rtt.sample(at(40), 4_000, 4_000, 9, 12);
        assert_eq!((rtt.srtt8, rtt.mdev4), (151_000, 38_937));
        assert_eq!(rtt.min_us(), 4_000);
    }

    #[test]
    fn the_timeout_is_never_below_srtt_plus_200_ms_and_doubles() {
        let mut rtt = Rtt::default();
        for i in 0..100 {
            rtt.sample(at(i), 20_000, 20_000, i as u32 * 10, i as u32 * 10 + 10);
        }
        assert_eq!(rtt.rto(), Span::from_millis(220));
        rtt.back_off();
        assert_eq!(rtt.rto(), Span::from_millis(440));
    }

    /// The variance term: 200 ms at least; a sample of 500 ms on 20 ms raises it to 4·(10 + (480 − 10)/4) = 510 ms
    /// at once; then it decays by a quarter of what it is too high, once a round trip.
    #[test]
    fn the_variance_term_rises_at_once_and_decays_a_quarter_a_round_trip() {
        let mut rtt = Rtt::default();
        rtt.sample(at(0), 20_000, 20_000, 0, 10);
        rtt.sample(at(500), 500_000, 500_000, 5, 20);
        assert_eq!((rtt.srtt_us(), rtt.mdev4, rtt.rttvar4), (80_000, 510_000, 510_000));
        assert_eq!(rtt.rto(), Span::from_millis(590));
        // Round's end: the maximum of the round is 510, so nothing decays yet; a new round begins.
        rtt.sample(at(520), 80_000, 80_000, 11, 30);
        assert_eq!((rtt.mdev4, rtt.rttvar4, rtt.mdev_max4), (382_500, 510_000, 200_000));
        // 382.5 − 382.5/4 = 286.875 becomes this round's maximum, which ends at once: 510 − (510 − 286.875)/4.
        rtt.sample(at(540), 80_000, 80_000, 31, 40);
        assert_eq!((rtt.mdev4, rtt.rttvar4), (286_875, 454_219));
    }
}
