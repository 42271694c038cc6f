//! Rate-Limited Increase (draft-ietf-ccwg-ratelimited-increase-10): a sender that does not fill its window may raise it no
//! further than a round trip of growth from the most that it has had in flight.
//!
//! Linux has a rule of its own, which is the same in slow start and stricter beyond (no growth at all); a control asks for
//! it itself ([`Control::is_cwnd_limited`](crate::cc::Control::is_cwnd_limited)). Here the answer is always yes, and
//! the control's growth is limited to the draft's bound.
//!
//! Invariant: it never lowers a window.

use crate::cc::{AnyCongestionControl, CongestionControl};
use crate::tcb::Tcb;

/// The draft's state.
#[derive(Clone, Debug)]
pub(super) struct LimitedIncrease {
    /// Most segments in flight since the window was last reduced (`maxFS`).
    max_flight: u32,
    /// The window when it was last looked at.
    cwnd: u32,
}

impl LimitedIncrease {
    pub(super) fn new() -> Self {
        Self { max_flight: 0, cwnd: 0 }
    }

    /// The connection begins with this window.
    pub(super) fn begin(&mut self, cwnd: u32) {
        (self.max_flight, self.cwnd) = (cwnd, cwnd);
    }

    /// Notes the amount in flight; to be called after every transmission, and before each ACK is processed.
    #[inline]
    pub(super) fn note(&mut self, tcb: &Tcb) {
        if tcb.control.cwnd < self.cwnd {
            self.max_flight = 0;
        }
        self.cwnd = tcb.control.cwnd;
        self.max_flight = self.max_flight.max(tcb.view.packets_out);
    }

    /// Lets the control grow by `acked` segments, and no further than it may.
    pub(super) fn grow(&self, cc: &mut AnyCongestionControl, tcb: &mut Tcb, acked: u32) {
        let before = tcb.control.cwnd;
        let most =
            if tcb.control.in_slow_start() { 2 * self.max_flight } else { self.max_flight + 1 };
        let was_limited = core::mem::replace(&mut tcb.view.cwnd_limited, true);
        cc.cong_avoid(&tcb.view, &mut tcb.control, acked);
        tcb.view.cwnd_limited = was_limited;
        tcb.control.cwnd = tcb.control.cwnd.min(most.max(before));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::{Registry, slow_start};
    use crate::stack::examples::LINUX_7_3;

    struct Played {
        rule: LimitedIncrease,
        cc: AnyCongestionControl,
        tcb: Tcb,
    }

    impl Played {
        fn new(cwnd: u32) -> Self {
            let cc = Registry::built_in().build("reno", &LINUX_7_3).unwrap();
            let mut tcb = Tcb::example(cwnd);
            (tcb.view.packets_out, tcb.view.cwnd_limited) = (0, false);
            let mut rule = LimitedIncrease::new();
            rule.begin(cwnd);
            Self { rule, cc, tcb }
        }

        /// `segments` segments leave, and an ACK comes for each two of them.
        fn round(&mut self, segments: u32) -> u32 {
            for _ in 0..segments {
                self.tcb.view.packets_out += 1;
                self.rule.note(&self.tcb);
            }
            for _ in 0..segments / 2 {
                self.rule.note(&self.tcb);
                self.tcb.view.packets_out -= 2;
                self.rule.grow(&mut self.cc, &mut self.tcb, 2);
            }
            self.tcb.control.cwnd
        }
    }

    /// The draft's appendix A, in segments: 4, 8, 4 and 20 in a round from a window of 10.
    #[test]
    fn the_drafts_example() {
        let mut played = Played::new(10);
        assert_eq!([4, 8, 4, 20].map(|segments| played.round(segments)), [14, 20, 20, 40]);
    }

    /// The draft's section 3.1: ten, a pause, four.
    #[test]
    fn the_drafts_first_example() {
        let mut played = Played::new(10);
        assert_eq!([10, 4].map(|segments| played.round(segments)), [20, 20]);
    }

    /// Beyond slow start: one segment above what has been in flight, where Linux would not grow at all; and from there no
    /// further.
    #[test]
    fn in_congestion_avoidance_one_segment_more() {
        let mut played = Played::new(10);
        played.tcb.control.ssthresh = 10;
        for _ in 0..4 {
            played.round(10);
        }
        assert_eq!(played.tcb.control.cwnd, 11);
    }

    /// A reduction forgets the earlier flight; only the present flight counts. A window above the bound stays.
    #[test]
    fn a_reduction_starts_again() {
        let mut played = Played::new(40);
        played.round(40);
        (played.tcb.control.cwnd, played.tcb.control.ssthresh) = (20, 20);
        assert_eq!(played.round(4), 20);
        assert_eq!(played.rule.max_flight, 4);
    }

    /// With another slow start it holds, too.
    #[test]
    fn next_to_another_slow_start() {
        let mut played = Played::new(10);
        let kind = slow_start::Kind::HyStartPlusPlus;
        let with = crate::cc::WithSlowStart::new(kind, played.cc.clone()).unwrap();
        played.cc = AnyCongestionControl::custom(with);
        assert_eq!([4, 8, 4, 20].map(|segments| played.round(segments)), [14, 20, 20, 40]);
    }
}
