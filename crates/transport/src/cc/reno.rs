//! NewReno's window (RFC 5681, RFC 6582) as Linux has it (`tcp_reno_*` in `net/ipv4/tcp_cong.c`): half on a
//! reduction, one segment a window of ACKs. Unlike RFC 5681, slow start counts segments, not bytes, and has no
//! limit on how many one ACK may count for.

use super::{CongestionControl, Info, MIN_CWND, additive_increase, slow_start};
use crate::stack::Switches;
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
    pub fn new(_switches: &Switches) -> Self {
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
