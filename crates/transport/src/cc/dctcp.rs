//! DCTCP (RFC 8257) as Linux has it (`net/ipv4/tcp_dctcp.c`): the window is cut in proportion to the share of
//! marked segments, smoothed over about sixteen windows of data. Growth is Reno's; so is the answer to a loss.
//!
//! Where Linux and RFC 8257 differ: alpha is a number of 1/1024; it loses at least one unit a window, so it reaches
//! zero; and every packet is ECN-capable, not only data.
//!
//! The receiver's half, which echoes each packet's mark, is [`crate::ecn`]'s. Up to Linux 6.14 alpha does not yet see
//! the ACK that ends its window: it counts for the next one. From 6.15 on it does
//! ([`crate::stack::TcpQuirks::ack_event_counts_its_ack`]).

use super::{AckEvent, CongestionControl, Event, Info, MIN_CWND, Reno};
use crate::ecn::{Agreed, EcnRequirements, Request};
use crate::segment::{Seq, before};
use crate::stack::TcpQuirks;
use crate::tcb::{CaState, Tcb};

/// Alpha of one.
const ONE: u32 = 1 << 10;
/// Gain 1/16 (`dctcp_shift_g`).
const SHIFT_G: u32 = 4;

/// DCTCP.
#[derive(Clone, Debug)]
pub struct Dctcp {
    /// Smoothed share of marked segments, 1/1024.
    alpha: u32,
    /// Where the window of data ends.
    window_end: Seq,
    old_delivered: u32,
    old_delivered_ce: u32,
    loss_cwnd: u32,
    /// Without ECN it is Reno.
    plain: bool,
}

impl Dctcp {
    /// What it is.
    pub const INFO: Info = Info {
        name: "dctcp",
        summary: "cuts in proportion to the share of marked packets; grows as Reno",
        source: "RFC 8257; Linux net/ipv4/tcp_dctcp.c",
        gauges: &[("alpha", "", "smoothed share of marked segments, 0 to 1")],
    };

    /// A new one.
    pub fn new(_switches: &TcpQuirks) -> Self {
        Self {
            alpha: ONE,
            window_end: 0,
            old_delivered: 0,
            old_delivered_ce: 0,
            loss_cwnd: 0,
            plain: false,
        }
    }

    fn begin_window(&mut self, tcb: &Tcb) {
        self.window_end = tcb.nxt;
        self.old_delivered = tcb.delivered;
        self.old_delivered_ce = tcb.delivered_ce;
    }

    fn react_to_loss(&mut self, tcb: &mut Tcb) {
        self.loss_cwnd = tcb.cwnd;
        tcb.ssthresh = (tcb.cwnd / 2).max(MIN_CWND);
    }
}

impl CongestionControl for Dctcp {
    fn ecn(&self) -> EcnRequirements {
        EcnRequirements {
            request: Request::Rfc3168,
            on_all: true,
            on_syn: true,
            exact_echo: true,
            ..EcnRequirements::NONE
        }
    }

    fn init(&mut self, tcb: &mut Tcb) {
        self.plain = tcb.ecn == Agreed::Off;
        self.begin_window(tcb);
    }

    fn ssthresh(&mut self, tcb: &Tcb) -> u32 {
        if self.plain {
            return Reno.ssthresh(tcb);
        }
        self.loss_cwnd = tcb.cwnd;
        let cut = (u64::from(tcb.cwnd) * u64::from(self.alpha)) >> 11;
        (tcb.cwnd - cut as u32).max(MIN_CWND)
    }

    #[inline]
    fn cong_avoid(&mut self, tcb: &mut Tcb, acked: u32) {
        Reno.cong_avoid(tcb, acked);
    }

    fn in_ack_event(&mut self, tcb: &mut Tcb, _event: AckEvent) {
        if self.plain || before(tcb.una, self.window_end) {
            return;
        }
        let delivered = tcb.delivered.wrapping_sub(self.old_delivered);
        let marked = tcb.delivered_ce.wrapping_sub(self.old_delivered_ce);
        // Below 16/1024 a sixteenth is nothing: then it goes at once.
        let decay = match self.alpha >> SHIFT_G {
            0 => self.alpha,
            some => some,
        };
        self.alpha -= decay;
        let share = (u64::from(marked) << (10 - SHIFT_G)) / u64::from(delivered.max(1));
        self.alpha = (self.alpha + share as u32).min(ONE);
        self.begin_window(tcb);
    }

    fn set_state(&mut self, tcb: &mut Tcb, state: CaState) {
        if !self.plain && state == CaState::Recovery && tcb.ca_state != CaState::Recovery {
            self.react_to_loss(tcb);
        }
    }

    fn event(&mut self, tcb: &mut Tcb, event: Event) {
        if !self.plain && event == Event::Loss {
            self.react_to_loss(tcb);
        }
    }

    fn undo_cwnd(&mut self, tcb: &Tcb) -> u32 {
        if self.plain { Reno.undo_cwnd(tcb) } else { tcb.cwnd.max(self.loss_cwnd) }
    }

    fn gauges(&self, _tcb: &Tcb, out: &mut dyn FnMut(&'static str, f64)) {
        out("alpha", f64::from(self.alpha) / f64::from(ONE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::examples::LINUX_7_3;

    fn established(cwnd: u32) -> (Dctcp, Tcb) {
        let (mut dctcp, mut tcb) = (Dctcp::new(&LINUX_7_3), Tcb::example(cwnd));
        tcb.ecn = Agreed::Rfc3168;
        dctcp.init(&mut tcb);
        (dctcp, tcb)
    }

    /// One window: so many delivered, so many marked.
    fn window(dctcp: &mut Dctcp, tcb: &mut Tcb, delivered: u32, marked: u32) -> u32 {
        tcb.una = tcb.nxt;
        tcb.nxt += delivered;
        tcb.delivered += delivered;
        tcb.delivered_ce += marked;
        dctcp.in_ack_event(tcb, AckEvent::default());
        dctcp.alpha
    }

    /// α ← α − α/16 + 64·marked/delivered, in integers: 1024 → 960 → 900 without marks; then half marked is
    /// 900 − 56 + 32 = 876; all marked 876 − 54 + 64 = 886.
    #[test]
    fn alpha_by_hand() {
        let (mut d, mut t) = established(10);
        assert_eq!(window(&mut d, &mut t, 10, 0), 960);
        assert_eq!(window(&mut d, &mut t, 10, 0), 900);
        assert_eq!(window(&mut d, &mut t, 10, 5), 876);
        assert_eq!(window(&mut d, &mut t, 10, 10), 886);
        // In the middle of a window nothing is learnt.
        t.una -= 1;
        t.delivered_ce += 5;
        d.in_ack_event(&mut t, AckEvent::default());
        assert_eq!(d.alpha, 886);
        for _ in 0..100 {
            window(&mut d, &mut t, 10, 0);
        }
        assert_eq!(d.alpha, 0, "below 16 it goes at once");
    }

    /// Shares below 1/64 round to nothing: with rare marks Linux's alpha forgets them, and its window is well above
    /// what RFC 8257's would be.
    #[test]
    fn rare_marks_are_rounded_away() {
        let (mut d, mut t) = established(70);
        d.alpha = 20;
        assert_eq!(window(&mut d, &mut t, 70, 1), 19);
        assert_eq!(window(&mut d, &mut t, 64, 1), 19);
    }

    /// RFC 8257 §3.3: cwnd·(1 − α/2) for marks, half for losses.
    #[test]
    fn the_cut_is_half_of_alpha() {
        let (mut d, mut t) = established(100);
        for (alpha, ssthresh) in [(1024, 50), (512, 75), (100, 96), (0, 100)] {
            d.alpha = alpha;
            assert_eq!(d.ssthresh(&t), ssthresh);
        }
        d.set_state(&mut t, CaState::Recovery);
        assert_eq!(t.ssthresh, 50);
        t.cwnd = 60;
        assert_eq!(d.undo_cwnd(&t), 100);
        t.cwnd = 2;
        assert_eq!(d.ssthresh(&t), 2, "never below two");
    }

    #[test]
    fn without_ecn_it_is_reno() {
        let (mut d, mut t) = (Dctcp::new(&LINUX_7_3), Tcb::example(100));
        d.init(&mut t);
        d.alpha = 100;
        assert_eq!(d.ssthresh(&t), 50);
    }
}
