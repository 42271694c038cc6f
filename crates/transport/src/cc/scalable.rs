//! Scalable TCP (Kelly, Computer Communication Review 33:2, 2003) as Linux has it (`net/ipv4/tcp_scalable.c`): one segment
//! more for each hundred acknowledged, an eighth less on congestion, so that the time to come back does not depend on the
//! window. Below a window of a hundred it grows as Reno does. It is unfair to Reno, and to itself at unequal RTTs: it
//! is here for comparison.

use super::{CongestionControl, Info, MIN_CWND};
use crate::cc::{Control, View};
use crate::stack::TcpQuirks;

/// Segments acknowledged for which the window grows by one.
const INCREASE_EVERY: u32 = 100;

/// Scalable TCP.
#[derive(Clone, Debug)]
pub struct Scalable;

impl Scalable {
    /// What it is.
    pub const INFO: Info = Info {
        name: "scalable",
        summary: "Scalable TCP: a hundredth of a segment for each that is acknowledged, an eighth less on congestion",
        source: "Kelly, CCR 33:2 (2003); Linux net/ipv4/tcp_scalable.c",
        gauges: &[],
        options: &[],
    };

    /// A new one.
    pub fn new(_switches: &TcpQuirks) -> Self {
        Self
    }
}

impl CongestionControl for Scalable {
    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        (control.cwnd - control.cwnd / 8).max(MIN_CWND)
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
        control.additive_increase(control.cwnd.min(INCREASE_EVERY), left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcb::Tcb;

    /// The paper's a = 0.01: a window of 1000 grows by ten when all of it is acknowledged; one of 10 by one, as Reno's.
    #[test]
    fn a_hundredth_of_what_is_acknowledged() {
        for (cwnd, grown) in [(1000, 1010), (100, 101), (10, 11)] {
            let (mut scalable, mut tcb) = (Scalable, Tcb::example(cwnd));
            tcb.control.ssthresh = cwnd;
            for _ in 0..cwnd {
                scalable.cong_avoid(&tcb.view, &mut tcb.control, 1);
            }
            assert_eq!(tcb.control.cwnd, grown);
        }
    }

    /// The paper's b = 0.125, in whole segments: the fraction of an eighth is not taken.
    #[test]
    fn an_eighth_less_but_not_below_two() {
        for (cwnd, ssthresh) in [(1000, 875), (100, 88), (7, 7), (1, 2)] {
            let tcb = Tcb::example(cwnd);
            assert_eq!(Scalable.ssthresh(&tcb.view, &tcb.control), ssthresh);
        }
    }

    #[test]
    fn growth_has_to_be_used() {
        let (mut scalable, mut tcb) = (Scalable, Tcb::example(200));
        (tcb.control.ssthresh, tcb.view.cwnd_limited) = (5, false);
        scalable.cong_avoid(&tcb.view, &mut tcb.control, 1000);
        assert_eq!(tcb.control.cwnd, 200);
    }
}
