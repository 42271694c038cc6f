//! What the SCE project's senders have in common (docs/sources/sce.md#senders; chromi/sce `net/ipv4/tcp_{cubic,reno,dctcp}_sce.c`
//! at 1280a6d0, 63982553, 9fae76b9; draft-morton-tsvwg-sce): a byte acknowledged with ESCE takes a little off the window,
//! where it is counted; CE takes off less than a loss (RFC 8511), and half of that again where an ACK has reported SCE within
//! about a window.
//!
//! The published senders have bugs, which is how the stack `sce-2020-03` behaves
//! ([`SceSenders::Published`]); `sce-2020-03-fixed` has what their text says is meant
//! ([`SceSenders::Corrected`]):
//!
//! 1. Acknowledged data are counted in bytes of sequence space, and compared with windows of
//!    `icsk_ack.rcv_mss`: the size of segments that this end *receives*. An end that receives no data keeps its first
//!    guess, 536 bytes (`tcp_initialize_rcv_mss`), so that each segment of 1448 bytes counts for 2.7: growth of `reno-sce`
//!    is 2.7 segments a round trip, and a window of ESCE takes 2.7·√cwnd.
//! 2. `cubic-sce` holds bytes acknowledged against √cwnd in segments when it flattens its curve: always all of it.
//! 3. Below the plateau `cubic-sce` computes the new plateau's level with the time that has just been set to zero. The
//!    distance is negative, its cube taken as unsigned is 2^24 short of it, and the plateau lands near 2^32 segments:
//!    until the next reduction the window grows as fast as CUBIC may, one segment for two. The sign of the whole is
//!    wrong, too: it would move the plateau up.
//!
//! Bugs 2 and 3 are read off the code; that 1 matters follows from it, and was not measured on a kernel.

use super::{AckEvent, CongestionControl, Event, Info, MIN_CWND};
use crate::cc::{Control, View};
use crate::stack::{SceSenders, TcpQuirks};
use core::marker::PhantomData;

/// `rcv_mss` of an end that has received no data (`TCP_MSS_DEFAULT`).
const UNMEASURED_MSS: u32 = 536;

/// In what a sender counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub(super) senders: SceSenders,
}

impl Scale {
    /// The value of a segment of window, bytes.
    pub(super) fn unit(self, view: &View) -> i64 {
        i64::from(match self.senders {
            SceSenders::Published => UNMEASURED_MSS,
            SceSenders::Corrected => view.mss,
        })
    }

    /// The bytes of an ACK: those that it acknowledges, or one segment if it repeats another.
    pub(super) fn acked(self, view: &View, event: AckEvent) -> i64 {
        match event.acked {
            0 if event.window_update => 0,
            0 => self.unit(view),
            n => i64::from(n) * i64::from(view.mss),
        }
    }
}

/// How a sender that grows as Reno answers to SCE.
pub trait Response: Clone + core::fmt::Debug + Send + 'static {
    /// What the control is.
    const INFO: Info;

    /// Bytes that `acked` bytes with ESCE take off a window of bytes, at a window of `cwnd` segments with the root
    /// about `root`.
    fn taken(acked: i64, cwnd: u32, root: u32) -> i64;
}

/// The numbers that such a sender reports.
pub(super) const GAUGES: &[(&str, &str, &str)] = &[
    ("cwnd_cnt", "segments", "growth, or shrinking if below zero, that is not yet in the window"),
    ("sqrt_cwnd", "segments", "about the root of the window; moves by one when the window does"),
    (
        "recent_sce",
        "ACKs",
        "the number of further ACKs for which CE takes an eighth instead of a quarter",
    ),
];

/// A sender that grows as Reno and answers to SCE as `R`.
#[derive(Clone, Debug)]
pub struct Linear<R> {
    scale: Scale,
    /// Bytes times segments: `unit` times `cwnd` of them are a segment of window (`snd_cwnd_cnt`).
    count: i64,
    loss_cwnd: u32,
    recent: u32,
    root: u32,
    response: PhantomData<R>,
}

impl<R: Response> Linear<R> {
    /// What it is.
    pub const INFO: Info = R::INFO;

    /// A new one, with the stack's bugs.
    pub fn new(quirks: &TcpQuirks) -> Self {
        Self {
            scale: Scale { senders: quirks.sce },
            count: 0,
            loss_cwnd: 0,
            recent: 0,
            root: 1,
            response: PhantomData,
        }
    }

    fn threshold(&self, control: &Control) -> u32 {
        control.ssthresh.max(self.loss_cwnd / 2).max(MIN_CWND)
    }

    /// Turns the counts into segments of window.
    fn apply(&mut self, control: &mut Control, window: i64) {
        while self.count <= -window {
            self.count += window;
            if control.cwnd > MIN_CWND {
                control.cwnd -= 1;
                if self.root * self.root >= control.cwnd {
                    self.root -= 1;
                }
            }
        }
        while self.count >= window {
            self.count -= window;
            if control.cwnd < control.cwnd_clamp {
                control.cwnd += 1;
                if self.root * self.root < control.cwnd {
                    self.root += 1;
                }
            }
        }
    }

    /// Takes off a part of 2^-`shift` at once (`*_react_to_loss`).
    fn cut(&mut self, control: &mut Control, shift: u32) {
        self.loss_cwnd = control.cwnd;
        self.count = 0;
        control.cwnd = control.cwnd.saturating_sub((control.cwnd >> shift).max(1)).max(MIN_CWND);
        control.ssthresh = half(self.loss_cwnd);
        while self.root * self.root >= control.cwnd {
            self.root -= 1;
        }
    }
}

impl<R: Response> CongestionControl for Linear<R> {
    fn ecn(&self) -> crate::ecn::EcnRequirements {
        NEEDS
    }

    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        self.threshold(control)
    }

    fn in_ack_event(&mut self, view: &View, control: &mut Control, event: AckEvent) {
        let acked = self.scale.acked(view, event);
        if acked == 0 {
            return;
        }
        let window = self.scale.unit(view) * i64::from(control.cwnd);
        if event.esce && !event.ece {
            self.count -= R::taken(acked, control.cwnd, self.root);
            self.loss_cwnd = control.cwnd;
            // The higher of the two: while there is none, SCE does not end slow start.
            control.ssthresh = self.threshold(control);
            self.recent = control.cwnd + 1;
        } else if !control.in_slow_start() && control.is_cwnd_limited(view) {
            self.count += acked;
            self.loss_cwnd = self.loss_cwnd.max(control.cwnd);
        }
        self.apply(control, window);
        self.recent = self.recent.saturating_sub(1);
    }

    #[inline]
    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        // Beyond slow start every ACK has counted already, whatever the state.
        if control.is_cwnd_limited(view) && control.in_slow_start() {
            let left = control.slow_start(acked);
            self.count += i64::from(left) * self.scale.unit(view);
        }
    }

    fn event(&mut self, _view: &View, control: &mut Control, event: Event) {
        match event {
            // A quarter (RFC 8511 would be a fifth), or an eighth where SCE has been at work. A reduction that had a
            // threshold has gone down to it already: this comes on top.
            Event::CompleteCwr => self.cut(control, if self.recent > 0 { 3 } else { 2 }),
            Event::Loss => self.cut(control, 1),
            Event::TxStart { .. } | Event::TlpRecovery { .. } => {}
        }
    }

    fn undo_cwnd(&mut self, _view: &View, control: &Control) -> u32 {
        control.cwnd.max(self.loss_cwnd)
    }

    fn gauges(&self, view: &View, control: &Control, out: &mut dyn FnMut(&'static str, f64)) {
        let window = self.scale.unit(view) * i64::from(control.cwnd.max(1));
        out("cwnd_cnt", self.count as f64 / window as f64);
        out("sqrt_cwnd", f64::from(self.root));
        out("recent_sce", f64::from(self.recent));
    }
}

/// Half a window, as a threshold. Half of a window of one is zero in the kernel, which then waits for its window probe;
/// here, without that probe, it is one.
pub(super) fn half(cwnd: u32) -> u32 {
    (cwnd / 2).max(1)
}

/// Ordinary ECN, and a far end that echoes SCE.
pub(super) const NEEDS: crate::ecn::EcnRequirements = crate::ecn::EcnRequirements {
    request: crate::ecn::Request::Rfc3168,
    echo_sce: true,
    ..crate::ecn::EcnRequirements::NONE
};

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::cc::INFINITE_SSTHRESH;
    use crate::cc::{DctcpSce, RenoSce};
    use crate::ecn::Agreed;
    use crate::stack::examples::LINUX_5_4;
    use crate::tcb::Tcb;

    pub(in crate::cc) fn quirks(sce: SceSenders) -> TcpQuirks {
        TcpQuirks { sce, echoes_sce: true, ..LINUX_5_4 }
    }

    /// Beyond slow start, of `cwnd`.
    pub(in crate::cc) fn beyond_slow_start(cwnd: u32) -> Tcb {
        let mut tcb = Tcb::example(cwnd);
        (tcb.control.ssthresh, tcb.view.ecn) = (cwnd, Agreed::Rfc3168);
        tcb
    }

    /// An ACK of this number of segments.
    pub(in crate::cc) fn ack(acked: u32, esce: bool) -> AckEvent {
        AckEvent { acked, esce, ece: false, window_update: true }
    }

    fn begun<R: Response>(sce: SceSenders, tcb: &mut Tcb) -> Linear<R> {
        let mut control = Linear::<R>::new(&quirks(sce));
        control.init(&tcb.view, &mut tcb.control);
        control
    }

    /// Growth is Reno's, one segment a window: 5 ACKs of two at a window of ten. As published a segment counts for
    /// 1448/536 = 2.7: after two ACKs 4·2.7 = 10.8 are a window of 10 and 0.8, which at 11 segments is 0.073 of one.
    #[test]
    fn growth_by_hand() {
        let mut t = beyond_slow_start(10);
        let mut c: RenoSce = begun(SceSenders::Corrected, &mut t);
        for _ in 0..4 {
            c.in_ack_event(&t.view, &mut t.control, ack(2, false));
            assert_eq!(t.control.cwnd, 10);
        }
        c.in_ack_event(&t.view, &mut t.control, ack(2, false));
        assert_eq!((t.control.cwnd, c.count, c.root), (11, 0, 2));
        let mut t = beyond_slow_start(10);
        let mut c: RenoSce = begun(SceSenders::Published, &mut t);
        c.in_ack_event(&t.view, &mut t.control, ack(2, false));
        c.in_ack_event(&t.view, &mut t.control, ack(2, false));
        assert_eq!((t.control.cwnd, c.count), (11, 4 * 1448 - 10 * 536));
        // Growth that is not used is not earned, and slow start has its own.
        t.view.cwnd_limited = false;
        let before = c.count;
        c.in_ack_event(&t.view, &mut t.control, ack(2, false));
        assert_eq!(c.count, before);
    }

    /// A duplicate counts for one segment of the size that this end receives; a window update for nothing.
    #[test]
    fn what_an_ack_counts_for() {
        let t = beyond_slow_start(10);
        for (sce, duplicate) in [(SceSenders::Published, 536), (SceSenders::Corrected, 1448)] {
            let scale = Scale { senders: sce };
            assert_eq!(scale.acked(&t.view, AckEvent::default()), duplicate);
            assert_eq!(scale.acked(&t.view, ack(0, true)), 0);
            assert_eq!(scale.acked(&t.view, ack(3, false)), 3 * 1448);
        }
    }

    /// ECE and ESCE on one ACK: ECE counts, and the ACK grows the window.
    #[test]
    fn ece_goes_before_esce() {
        let mut t = beyond_slow_start(10);
        let mut c: RenoSce = begun(SceSenders::Corrected, &mut t);
        c.in_ack_event(&t.view, &mut t.control, AckEvent { ece: true, ..ack(2, true) });
        assert_eq!((c.count, c.recent), (2 * 1448, 0));
    }

    /// In slow start SCE shrinks the window a little and does not end it; CE does. At 100: 100 − 25 = 75, and the
    /// threshold is half the window. With SCE in the last window: 100 − 12 = 88.
    #[test]
    fn slow_start_ends_with_ce_alone() {
        for (sce, cwnd) in [(false, 75), (true, 88)] {
            let mut t = Tcb::example(100);
            let mut c: RenoSce = begun(SceSenders::Published, &mut t);
            c.in_ack_event(&t.view, &mut t.control, ack(2, sce));
            assert_eq!((t.control.cwnd, t.control.ssthresh), (100, INFINITE_SSTHRESH));
            c.event(&t.view, &mut t.control, Event::CompleteCwr);
            assert_eq!((t.control.cwnd, t.control.ssthresh), (cwnd, 50), "{sce}");
        }
    }

    /// The kernel's reduction goes down to the threshold first: max(50, 100/2), and a quarter of that comes on top.
    #[test]
    fn a_later_reduction_is_both() {
        let mut t = beyond_slow_start(100);
        t.control.ssthresh = 50;
        let mut c: DctcpSce = begun(SceSenders::Published, &mut t);
        c.in_ack_event(&t.view, &mut t.control, ack(2, false));
        t.control.ssthresh = c.ssthresh(&t.view, &t.control);
        assert_eq!(t.control.ssthresh, 50);
        t.control.cwnd = t.control.ssthresh;
        c.event(&t.view, &mut t.control, Event::CompleteCwr);
        assert_eq!((t.control.cwnd, t.control.ssthresh, c.count), (38, 25, 0));
    }

    /// A timeout halves the window; undo restores the one before.
    #[test]
    fn a_loss_halves() {
        let mut t = beyond_slow_start(100);
        let mut c: RenoSce = begun(SceSenders::Published, &mut t);
        c.event(&t.view, &mut t.control, Event::Loss);
        assert_eq!(
            (t.control.cwnd, t.control.ssthresh, c.undo_cwnd(&t.view, &t.control)),
            (50, 50, 100)
        );
        // Never below two.
        t.control.cwnd = 2;
        c.event(&t.view, &mut t.control, Event::Loss);
        assert_eq!(t.control.cwnd, 2);
    }

    /// "Recently" is a window of ACKs.
    #[test]
    fn sce_is_recent_for_a_window_of_acks() {
        let mut t = beyond_slow_start(10);
        let mut c: RenoSce = begun(SceSenders::Corrected, &mut t);
        c.in_ack_event(&t.view, &mut t.control, ack(1, true));
        assert_eq!(c.recent, 10);
        for _ in 0..10 {
            assert!(c.recent > 0);
            c.in_ack_event(&t.view, &mut t.control, ack(1, false));
        }
        assert_eq!(c.recent, 0);
    }
}
