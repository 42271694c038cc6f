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
use crate::cc::CaState;
use crate::cc::{Control, View};
use crate::ecn::{Agreed, EcnRequirements, Request};
use crate::segment::{Seq, before};
use crate::stack::TcpQuirks;

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
        options: &[],
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

    fn begin_window(&mut self, view: &View) {
        self.window_end = view.nxt;
        self.old_delivered = view.delivered;
        self.old_delivered_ce = view.delivered_ce;
    }

    fn react_to_loss(&mut self, control: &mut Control) {
        self.loss_cwnd = control.cwnd;
        control.ssthresh = (control.cwnd / 2).max(MIN_CWND);
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

    fn init(&mut self, view: &View, _control: &mut Control) {
        self.plain = view.ecn == Agreed::Off;
        self.begin_window(view);
    }

    fn ssthresh(&mut self, view: &View, control: &Control) -> u32 {
        if self.plain {
            return Reno.ssthresh(view, control);
        }
        self.loss_cwnd = control.cwnd;
        let cut = (u64::from(control.cwnd) * u64::from(self.alpha)) >> 11;
        (control.cwnd - cut as u32).max(MIN_CWND)
    }

    #[inline]
    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        Reno.cong_avoid(view, control, acked);
    }

    fn in_ack_event(&mut self, view: &View, _control: &mut Control, _event: AckEvent) {
        if self.plain || before(view.una, self.window_end) {
            return;
        }
        let delivered = view.delivered.wrapping_sub(self.old_delivered);
        let marked = view.delivered_ce.wrapping_sub(self.old_delivered_ce);
        // Below 16/1024 a sixteenth is nothing: then it goes at once.
        let decay = match self.alpha >> SHIFT_G {
            0 => self.alpha,
            some => some,
        };
        self.alpha -= decay;
        let share = (u64::from(marked) << (10 - SHIFT_G)) / u64::from(delivered.max(1));
        self.alpha = (self.alpha + share as u32).min(ONE);
        self.begin_window(view);
    }

    fn set_state(&mut self, view: &View, control: &mut Control, state: CaState) {
        if !self.plain && state == CaState::Recovery && view.ca_state != CaState::Recovery {
            self.react_to_loss(control);
        }
    }

    fn event(&mut self, _view: &View, control: &mut Control, event: Event) {
        if !self.plain && event == Event::Loss {
            self.react_to_loss(control);
        }
    }

    fn undo_cwnd(&mut self, view: &View, control: &Control) -> u32 {
        if self.plain { Reno.undo_cwnd(view, control) } else { control.cwnd.max(self.loss_cwnd) }
    }

    fn gauges(&self, _view: &View, _control: &Control, out: &mut dyn FnMut(&'static str, f64)) {
        out("alpha", f64::from(self.alpha) / f64::from(ONE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::examples::LINUX_7_3;
    use crate::tcb::Tcb;

    fn established(cwnd: u32) -> (Dctcp, Tcb) {
        let (mut dctcp, mut tcb) = (Dctcp::new(&LINUX_7_3), Tcb::example(cwnd));
        tcb.view.ecn = Agreed::Rfc3168;
        dctcp.init(&tcb.view, &mut tcb.control);
        (dctcp, tcb)
    }

    /// One window, with `delivered` segments, `marked` of them marked.
    fn window(dctcp: &mut Dctcp, tcb: &mut Tcb, delivered: u32, marked: u32) -> u32 {
        tcb.view.una = tcb.view.nxt;
        tcb.view.nxt += delivered;
        tcb.view.delivered += delivered;
        tcb.view.delivered_ce += marked;
        dctcp.in_ack_event(&tcb.view, &mut tcb.control, AckEvent::default());
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
        t.view.una -= 1;
        t.view.delivered_ce += 5;
        d.in_ack_event(&t.view, &mut t.control, AckEvent::default());
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
            assert_eq!(d.ssthresh(&t.view, &t.control), ssthresh);
        }
        d.set_state(&t.view, &mut t.control, CaState::Recovery);
        assert_eq!(t.control.ssthresh, 50);
        t.control.cwnd = 60;
        assert_eq!(d.undo_cwnd(&t.view, &t.control), 100);
        t.control.cwnd = 2;
        assert_eq!(d.ssthresh(&t.view, &t.control), 2, "never below two");
    }

    #[test]
    fn without_ecn_it_is_reno() {
        let (mut d, mut t) = (Dctcp::new(&LINUX_7_3), Tcb::example(100));
        d.init(&t.view, &mut t.control);
        d.alpha = 100;
        assert_eq!(d.ssthresh(&t.view, &t.control), 50);
    }
}
