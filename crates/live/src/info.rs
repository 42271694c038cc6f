//! `struct tcp_info` of Linux (`linux/tcp.h`, 6.18) as samples of the recorder.
//!
//! The kernel's structure grows at its end; fields that an older kernel lacks are unknown. Durations are in microseconds.

use sojourn_record::{FlowSample, LimitedTimes, RecoveryState};

/// The bytes of a `struct tcp_info`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Info<'a>(pub(crate) &'a [u8]);

/// Linux's threshold before the first loss.
const NO_THRESHOLD: u32 = 0x7fff_ffff;

impl Info<'_> {
    fn u32(self, at: usize) -> Option<u32> {
        Some(u32::from_ne_bytes(self.0.get(at..at + 4)?.try_into().ok()?))
    }

    fn u64(self, at: usize) -> Option<u64> {
        Some(u64::from_ne_bytes(self.0.get(at..at + 8)?.try_into().ok()?))
    }

    /// Whether ECN was negotiated.
    pub(crate) fn ecn(self) -> bool {
        const ECN: u8 = 8;
        self.0.get(5).is_some_and(|options| options & ECN != 0)
    }

    /// The sample of the sender that it belongs to.
    pub(crate) fn sample(self) -> FlowSample {
        let micros = |at| self.u32(at).map_or(f64::NAN, |us| f64::from(us) / 1e6);
        let count = |at| self.u32(at).map_or(0, u64::from);
        let rate = |at| match self.u64(at) {
            None | Some(0 | u64::MAX) => f64::NAN,
            Some(bytes) => bytes as f64 * 8.0,
        };
        let state = self.0.get(1).map_or(0, |&state| usize::from(state));
        let (unacked, sacked) = (count(24), count(28));
        let (lost, retransmitted) = (count(32), count(36));
        let in_flight = (unacked + retransmitted).saturating_sub(sacked + lost);
        FlowSample {
            delivery_rate_bps: rate(160),
            rtt_s: micros(68),
            srtt_s: micros(68),
            rttvar_s: micros(72),
            cwnd: count(80),
            ssthresh: match self.u32(76) {
                None | Some(NO_THRESHOLD) => 0,
                Some(threshold) => u64::from(threshold),
            },
            in_flight,
            retransmits: count(100),
            // As on the engine with virtual time: segments that were sent again, and those that wait for it.
            lost: count(100) + lost,
            delivered: count(192),
            // The kernel counts what acknowledgements with ECE cover; the relay sees marks and echoes themselves.
            ce: 0,
            ece: 0,
            pacing_bps: rate(104),
            state: RecoveryState::ALL.get(state).copied().unwrap_or_default(),
            out_of_order_bytes: 0,
        }
    }

    /// What has limited the sender.
    pub(crate) fn limited(self) -> LimitedTimes {
        let seconds = |at| self.u64(at).map_or(f64::NAN, |us| us as f64 / 1e6);
        LimitedTimes {
            busy_s: seconds(168),
            rwnd_s: seconds(176),
            sndbuf_s: seconds(184),
            cwnd_s: f64::NAN,
            pacing_s: f64::NAN,
            app_s: f64::NAN,
            host_s: f64::NAN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `tcp_info` of 6.18 with numbers at the offsets of `linux/tcp.h`.
    #[test]
    fn fields_are_where_the_kernel_has_them() {
        let mut bytes = vec![0_u8; 248];
        let mut put = |at: usize, value: u32| {
            bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        };
        put(24, 30); // unacked
        put(28, 5); // sacked
        put(32, 3); // lost
        put(36, 2); // retrans
        put(68, 41_000); // rtt
        put(72, 500); // rttvar
        put(76, NO_THRESHOLD);
        put(80, 40); // snd_cwnd
        put(100, 7); // total_retrans
        put(192, 1000); // delivered
        bytes[1] = 3;
        bytes[5] = 8;
        bytes[160..168].copy_from_slice(&1_250_000_u64.to_ne_bytes());
        bytes[104..112].copy_from_slice(&u64::MAX.to_ne_bytes());
        let info = Info(&bytes);
        let sample = info.sample();
        assert_eq!((sample.rtt_s, sample.rttvar_s, sample.cwnd), (0.041, 0.0005, 40));
        assert_eq!((sample.in_flight, sample.ssthresh, sample.retransmits), (24, 0, 7));
        assert_eq!((sample.delivered, sample.state), (1000, RecoveryState::Recovery));
        assert_eq!(sample.delivery_rate_bps, 1e7);
        assert!(sample.pacing_bps.is_nan() && info.ecn());
    }

    #[test]
    fn an_older_kernel_s_is_shorter() {
        let sample = Info(&[0; 104]).sample();
        assert!(sample.delivery_rate_bps.is_nan() && sample.delivered == 0);
        assert!(Info(&[]).sample().rtt_s.is_nan() && !Info(&[]).ecn());
    }
}
