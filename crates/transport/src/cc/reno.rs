//! NewReno's window (RFC 5681, RFC 6582) as Linux has it (`tcp_reno_*` in `net/ipv4/tcp_cong.c`): half on a
//! reduction, one segment a window of ACKs. Unlike RFC 5681, slow start counts segments, not bytes, and has no
//! limit on how many one ACK may count for.

use super::{CongestionControl, Info, MIN_CWND, additive_increase, slow_start};
use crate::stack::TcpQuirks;
use crate::tcb::Tcb;

/// Reno.
#[derive(Clone, Debug)]
pub struct Reno;

impl Reno {
    /// What it is.
    pub const INFO: Info = Info {
        name: "reno",
        summary: "additive increase of one segment a round trip, half on congestion",
        source: "RFC 5681, RFC 6582; Linux net/ipv4/tcp_cong.c",
        gauges: &[],
    };

    /// A new one.
    pub fn new(_switches: &TcpQuirks) -> Self {
        Self
    }
}

impl CongestionControl for Reno {
    fn ssthresh(&mut self, tcb: &Tcb) -> u32 {
        (tcb.cwnd / 2).max(MIN_CWND)
    }

    #[inline]
    fn cong_avoid(&mut self, tcb: &mut Tcb, acked: u32) {
        if !tcb.is_cwnd_limited() {
            return;
        }
        let mut left = acked;
        if tcb.in_slow_start() {
            left = slow_start(tcb, acked);
            if left == 0 {
                return;
            }
        }
        additive_increase(tcb, tcb.cwnd, left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 5681 §3.1, in segments: one more for each window acknowledged, and what an ACK has over is kept.
    #[test]
    fn one_segment_a_window() {
        let (mut reno, mut tcb) = (Reno, Tcb::example(10));
        tcb.ssthresh = 10;
        for _ in 0..4 {
            reno.cong_avoid(&mut tcb, 2);
        }
        assert_eq!((tcb.cwnd, tcb.cwnd_count), (10, 8));
        reno.cong_avoid(&mut tcb, 3);
        assert_eq!((tcb.cwnd, tcb.cwnd_count), (11, 1));
        // Stretch ACKs count in full: 23 are two windows of 11 and two over.
        reno.cong_avoid(&mut tcb, 23);
        assert_eq!((tcb.cwnd, tcb.cwnd_count), (13, 2));
    }

    #[test]
    fn half_but_not_below_two() {
        let mut reno = Reno;
        for (cwnd, ssthresh) in [(100, 50), (5, 2), (3, 2), (1, 2)] {
            assert_eq!(reno.ssthresh(&Tcb::example(cwnd)), ssthresh);
        }
    }

    #[test]
    fn growth_has_to_be_used() {
        let (mut reno, mut tcb) = (Reno, Tcb::example(10));
        (tcb.ssthresh, tcb.cwnd_limited) = (5, false);
        reno.cong_avoid(&mut tcb, 100);
        assert_eq!(tcb.cwnd, 10);
    }
}
