//! NewReno's window (RFC 5681, RFC 6582) as Linux has it (`tcp_reno_*` in `net/ipv4/tcp_cong.c`): half on a
//! reduction, one segment a window of ACKs. Unlike RFC 5681, slow start counts segments, not bytes, and has no
//! limit on how many one ACK may count for.

use super::{CongestionControl, Info, MIN_CWND};
use crate::cc::{Control, View};
use crate::stack::TcpQuirks;

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
        options: &[],
    };

    /// A new one.
    pub fn new(_switches: &TcpQuirks) -> Self {
        Self
    }
}

impl CongestionControl for Reno {
    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        (control.cwnd / 2).max(MIN_CWND)
    }

    #[inline]
    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        if !control.is_cwnd_limited(view) {
            return;
        }
        let mut left = acked;
        if control.in_slow_start() {
            left = control.slow_start(acked);
            if left == 0 {
                return;
            }
        }
        control.additive_increase(control.cwnd, left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcb::Tcb;

    /// RFC 5681 §3.1, in segments: one more for each window acknowledged, and what an ACK has over is kept.
    #[test]
    fn one_segment_a_window() {
        let (mut reno, mut tcb) = (Reno, Tcb::example(10));
        tcb.control.ssthresh = 10;
        for _ in 0..4 {
            reno.cong_avoid(&tcb.view, &mut tcb.control, 2);
        }
        assert_eq!((tcb.control.cwnd, tcb.control.cwnd_count), (10, 8));
        reno.cong_avoid(&tcb.view, &mut tcb.control, 3);
        assert_eq!((tcb.control.cwnd, tcb.control.cwnd_count), (11, 1));
        // Stretch ACKs count in full: 23 are two windows of 11 and two over.
        reno.cong_avoid(&tcb.view, &mut tcb.control, 23);
        assert_eq!((tcb.control.cwnd, tcb.control.cwnd_count), (13, 2));
    }

    #[test]
    fn half_but_not_below_two() {
        let mut reno = Reno;
        for (cwnd, ssthresh) in [(100, 50), (5, 2), (3, 2), (1, 2)] {
            let tcb = Tcb::example(cwnd);
            assert_eq!(reno.ssthresh(&tcb.view, &tcb.control), ssthresh);
        }
    }

    #[test]
    fn growth_has_to_be_used() {
        let (mut reno, mut tcb) = (Reno, Tcb::example(10));
        (tcb.control.ssthresh, tcb.view.cwnd_limited) = (5, false);
        reno.cong_avoid(&tcb.view, &mut tcb.control, 100);
        assert_eq!(tcb.control.cwnd, 10);
    }
}
