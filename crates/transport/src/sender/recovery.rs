//! The state machine of loss and ECN response (`tcp_fastretrans_alert` in `net/ipv4/tcp_input.c`), proportional
//! rate reduction (RFC 6937 and its successor), and undoing what was reduced for nothing.
//!
//! Who may follow whom is a table, [`may_follow`], and tests compare every change of state with it.

use super::Sender;
use super::flags::Flags;
use super::output::Push;
use super::reduction::{REO_WND_PERSIST, Tlp};
use super::scoreboard::AckSummary;
use super::timer::Kind;
use crate::cc::{CaState, INFINITE_SSTHRESH};
use crate::cc::{CongestionControl, Event};
use crate::segment::{Output, Seq, after, before};
use crate::stack::PrrBound;
use crate::tcb::Tcb;
use sojourn_units::Span;

/// The segments to send once the window is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RetransmitMode {
    Nothing,
    Lost,
    /// F-RTO: new data first, to see whether the timeout was spurious.
    New,
}

/// Whether a connection may go from one state to the other.
///
/// ```text
///             to Open  Disorder  Cwr  Recovery  Loss
/// Open           .        SACK   ECE     loss   RTO
/// Disorder    in order      .    ECE     loss   RTO
/// Cwr          passed      TLP   TLP     loss   RTO
/// Recovery     passed     undo   TLP       .    RTO
/// Loss         passed       .     .  lost again RTO
/// ```
///
/// "TLP": a probe repaired the tail, for which the window is reduced in one step by way of Cwr; if the probe was sent
/// in Cwr it may be found out in Cwr or in the Recovery that followed.
pub(super) const fn may_follow(from: CaState, to: CaState) -> bool {
    use CaState::{Cwr, Disorder, Loss, Open, Recovery};
    match (from, to) {
        (_, Open | Loss)
        | (Open | Disorder | Cwr | Recovery, Cwr | Disorder)
        | (Open | Disorder | Cwr | Loss, Recovery) => true,
        (Recovery, Recovery) | (Loss, Disorder | Cwr) => false,
    }
}

impl Sender {
    pub(super) fn set_state(&mut self, state: CaState) {
        debug_assert!(
            may_follow(self.tcb.view.ca_state, state),
            "{:?} to {state:?}",
            self.tcb.view.ca_state
        );
        self.cc.set_state(&self.tcb.view, &mut self.tcb.control, state);
        self.tcb.view.ca_state = state;
    }

    pub(super) fn init_undo(&mut self) {
        self.recovery.undo.marker = Some(self.tcb.view.una);
        let out = self.tcb.view.retrans_out as i32;
        self.recovery.undo.retransmissions = if out > 0 { out } else { -1 };
    }

    /// A reduction begins (`tcp_init_cwnd_reduction`).
    fn init_reduction(&mut self) {
        self.recovery.high_seq = self.tcb.view.nxt;
        self.recovery.tlp = None;
        self.tcb.control.cwnd_count = 0;
        self.tcb.view.prior_cwnd = self.tcb.control.cwnd;
        self.recovery.prr.delivered = 0;
        self.recovery.prr.out = 0;
        self.tcb.control.ssthresh = self.cc.ssthresh(&self.tcb.view, &self.tcb.control);
        self.ecn.feedback.reduced(self.tcb.view.ecn);
    }

    fn end_reduction(&mut self) {
        if self.has_cong_control {
            return;
        }
        let t = &mut self.tcb;
        if t.control.ssthresh < INFINITE_SSTHRESH
            && (t.view.ca_state == CaState::Cwr || self.recovery.undo.marker.is_some())
        {
            t.control.cwnd = t.control.ssthresh;
        }
        self.cc.event(&self.tcb.view, &mut self.tcb.control, Event::CompleteCwr);
    }

    fn enter_cwr(&mut self) {
        self.recovery.prior_ssthresh = 0;
        if self.tcb.view.ca_state < CaState::Cwr {
            self.recovery.undo.marker = None;
            self.init_reduction();
            self.set_state(CaState::Cwr);
            self.counters.ece_reductions += 1;
        }
    }

    pub(super) fn enter_recovery(&mut self, ece: bool) {
        // The clock of this episode starts with its own first retransmission.
        self.forget_retransmissions();
        self.recovery.prior_ssthresh = 0;
        self.init_undo();
        if !self.tcb.view.in_reduction() {
            if !ece {
                self.recovery.prior_ssthresh = self.current_ssthresh();
            }
            self.init_reduction();
        }
        self.set_state(CaState::Recovery);
        self.counters.recoveries += 1;
    }

    /// Proportional rate reduction: the window that lets this ACK send its share (`tcp_cwnd_reduction`).
    pub(super) fn reduce_cwnd(&mut self, delivered: u32, newly_lost: u32, f: &Flags) {
        let t = &mut self.tcb;
        if t.view.prior_cwnd == 0 || self.has_cong_control {
            return;
        }
        if self.cc.reduce(&t.view, &mut t.control, delivered, newly_lost) || delivered == 0 {
            return;
        }
        self.recovery.prr.delivered += delivered;
        let (in_flight, out) = (i64::from(t.view.in_flight()), i64::from(self.recovery.prr.out));
        let delta = i64::from(t.control.ssthresh) - in_flight;
        let (prr_delivered, delivered) =
            (i64::from(self.recovery.prr.delivered), i64::from(delivered));
        let mut send = if delta < 0 {
            let prior = i64::from(t.view.prior_cwnd);
            (i64::from(t.control.ssthresh) * prr_delivered + prior - 1) / prior - out
        } else {
            match self.quirks.prr {
                PrrBound::Rfc6937 if f.retransmission_acked && !f.lost_retransmission => {
                    delta.min((prr_delivered - out).max(delivered) + 1)
                }
                PrrBound::Rfc6937 => delta.min(delivered),
                PrrBound::Rfc6937bis => {
                    let progress = f.una_advanced && newly_lost == 0;
                    delta.min((prr_delivered - out).max(delivered) + i64::from(progress))
                }
            }
        };
        // The first ACK of a reduction always lets one segment out.
        send = send.max(i64::from(self.recovery.prr.out == 0));
        t.control.cwnd = (in_flight + send).max(0) as u32;
    }

    fn reo_wnd_us(&self) -> u32 {
        if self.board.reorderings == 0
            && (self.tcb.view.ca_state >= CaState::Recovery
                || self.tcb.view.sacked_out >= self.board.reordering)
        {
            return 0;
        }
        let min_rtt = self.tcb.view.rtt.min_us();
        ((min_rtt >> 2).saturating_mul(self.recovery.reo_wnd.steps))
            .min(self.tcb.view.rtt.srtt_us())
    }

    /// Looks for losses and sets RACK's timer if a candidate remains; true when it did.
    pub(super) fn detect_loss(&mut self) -> bool {
        let reo_wnd = self.reo_wnd_us();
        let left_us = self.board.detect_loss(&mut self.tcb.view, reo_wnd);
        self.tell_lost();
        if left_us == 0 {
            return false;
        }
        let wait = Span::from_micros(u64::from(left_us)) + self.timers.slack;
        self.arm(Kind::Reorder, wait.min(self.tcb.view.rtt.rto()));
        true
    }

    /// An ACK's rate sample tells whether a round trip has passed since the reordering window was widened.
    #[inline]
    pub(super) fn update_reo_wnd(&mut self, prior_delivered: Option<u32>) {
        if let Some(prior) = prior_delivered {
            self.recovery.reo_wnd.update(prior, self.tcb.view.delivered);
        }
    }

    /// Tells the control of segments that have just been taken for lost, if it wants to know.
    #[inline]
    pub(super) fn tell_lost(&mut self) {
        let Some(lost) = self.board.newly_lost() else { return };
        for segment in lost {
            self.cc.segment_lost(&self.tcb.view, &mut self.tcb.control, &segment);
        }
    }

    /// A duplicate may mean that RACK was too quick. Recent kernels say so only where reordering has been seen, and
    /// not of the tail-loss probe's, which is the timer's doing (`tcp_dsack_seen`).
    #[inline]
    pub(super) fn note_dsack(&mut self, news: &AckSummary) {
        if news.dsack
            && (!self.quirks.dsack_needs_reordering
                || (self.board.reorderings > 0 && !news.dsack_tlp))
        {
            self.recovery.reo_wnd.dsack_seen = true;
        }
    }

    /// Whether what arrived was the original, by its timestamp (`tcp_packet_delayed`; Eifel, RFC 3522). It was if
    /// nothing has been retransmitted yet, which pacing can put off.
    fn original_arrived(&self, tsecr: u32) -> bool {
        self.recovery.retrans_stamp.is_none_or(|stamp| before(tsecr, stamp))
    }

    /// Restarts the episode's clock unless a retransmission may still be about (`tcp_retrans_stamp_cleanup`).
    fn forget_retransmissions(&mut self) {
        if !self.board.head_was_resent(&self.tcb.view) {
            self.recovery.retrans_stamp = None;
        }
    }

    fn may_undo(&self, tsecr: u32) -> bool {
        self.recovery.undo.marker.is_some()
            && (self.recovery.undo.retransmissions == 0 || self.original_arrived(tsecr))
    }

    fn undo_reduction(&mut self, forget_losses: bool) {
        if forget_losses {
            self.board.forget_losses(&mut self.tcb.view);
        }
        if self.recovery.prior_ssthresh > 0 {
            self.tcb.control.cwnd = self.cc.undo_cwnd(&self.tcb.view, &self.tcb.control);
            if self.recovery.prior_ssthresh > self.tcb.control.ssthresh {
                self.tcb.control.ssthresh = self.recovery.prior_ssthresh;
                self.ecn.feedback.restored();
            }
        }
        self.recovery.undo.marker = None;
        self.board.rack.advanced = true;
        self.counters.undos += 1;
    }

    fn undo_after_recovery(&mut self, tsecr: u32) {
        if self.may_undo(tsecr) {
            self.undo_reduction(false);
        } else {
            self.recovery.reo_wnd.persist = self.recovery.reo_wnd.persist.saturating_sub(1);
        }
        self.set_state(CaState::Open);
    }

    fn undo_by_dsack(&mut self) -> bool {
        if self.recovery.undo.marker.is_some() && self.recovery.undo.retransmissions == 0 {
            self.recovery.reo_wnd.persist =
                (self.recovery.reo_wnd.persist + 1).min(REO_WND_PERSIST);
            self.undo_reduction(false);
            return true;
        }
        false
    }

    fn undo_loss(&mut self, by_frto: bool, tsecr: u32) -> bool {
        if by_frto || self.may_undo(tsecr) {
            self.undo_reduction(true);
            self.recovery.timeouts = 0;
            self.set_state(CaState::Open);
            return true;
        }
        false
    }

    fn keep_open(&mut self) {
        let disorder = self.tcb.view.sacked_out + self.tcb.view.lost_out > 0
            || self.board.head_was_resent(&self.tcb.view);
        let state = if disorder { CaState::Disorder } else { CaState::Open };
        if self.tcb.view.ca_state != state {
            self.set_state(state);
            self.recovery.high_seq = self.tcb.view.nxt;
        }
    }

    fn try_to_open(&mut self, ece: bool) {
        self.forget_retransmissions();
        if ece {
            self.enter_cwr();
        }
        if self.tcb.view.ca_state != CaState::Cwr {
            self.keep_open();
        }
    }

    fn identify_losses(&mut self, f: &mut Flags) {
        if self.tcb.view.packets_out == 0 || !self.board.rack.advanced {
            return;
        }
        self.board.rack.advanced = false;
        let retrans_out = self.tcb.view.retrans_out;
        if self.detect_loss() {
            f.set_timer = false;
        }
        f.lost_retransmission |= retrans_out > self.tcb.view.retrans_out;
    }

    /// An ACK that is out of the ordinary, or any while not Open (`tcp_fastretrans_alert`).
    pub(super) fn fast_retrans_alert(
        &mut self,
        prior_una: Seq,
        tsecr: u32,
        f: &mut Flags,
    ) -> RetransmitMode {
        if f.ece {
            // What ECN asked for is never taken back.
            self.recovery.prior_ssthresh = 0;
        }
        if self.tcb.view.ca_state == CaState::Open {
            self.recovery.retrans_stamp = None;
        } else if !before(self.tcb.view.una, self.recovery.high_seq) {
            match self.tcb.view.ca_state {
                // CWR lasts until something above its point is acknowledged, so that the CWR flag has arrived.
                CaState::Cwr if self.tcb.view.una != self.recovery.high_seq => {
                    self.end_reduction();
                    self.set_state(CaState::Open);
                }
                CaState::Recovery => {
                    self.undo_after_recovery(tsecr);
                    self.end_reduction();
                }
                _ => {}
            }
        }
        match self.tcb.view.ca_state {
            CaState::Recovery => {
                if f.una_advanced
                    && self.recovery.undo.marker.is_some()
                    && self.original_arrived(tsecr)
                {
                    // The hole was filled by the original: more was reordered than thought.
                    self.board.note_reordering(prior_una, &self.tcb.view);
                    if self.tcb.view.retrans_out > 0 {
                        return RetransmitMode::Nothing;
                    }
                    self.forget_retransmissions();
                    self.undo_reduction(true);
                    self.keep_open();
                }
                if self.undo_by_dsack() {
                    self.try_to_open(f.ece);
                }
                self.identify_losses(f);
                if self.tcb.view.ca_state != CaState::Recovery {
                    if self.tcb.view.lost_out == 0 {
                        return RetransmitMode::Nothing;
                    }
                    self.enter_recovery(f.ece);
                }
            }
            CaState::Loss => {
                let repair = self.after_timeout(tsecr, f);
                self.identify_losses(f);
                if !(self.tcb.view.ca_state == CaState::Open || f.lost_retransmission) {
                    return repair;
                }
                return self.otherwise(f);
            }
            _ => return self.otherwise(f),
        }
        RetransmitMode::Lost
    }

    /// Open, Disorder or CWR, or Loss that may become Recovery.
    fn otherwise(&mut self, f: &mut Flags) -> RetransmitMode {
        if self.tcb.view.ca_state <= CaState::Disorder {
            self.undo_by_dsack();
        }
        self.identify_losses(f);
        if self.tcb.view.lost_out == 0 {
            self.try_to_open(f.ece);
            return RetransmitMode::Nothing;
        }
        self.enter_recovery(f.ece);
        RetransmitMode::Lost
    }

    /// An ACK in Loss (`tcp_process_loss`; F-RTO, RFC 5682 §3.1).
    fn after_timeout(&mut self, tsecr: u32, f: &Flags) -> RetransmitMode {
        let recovered = !before(self.tcb.view.una, self.recovery.high_seq);
        if f.una_advanced && self.undo_loss(false, tsecr) {
            return RetransmitMode::Nothing;
        }
        if self.recovery.frto {
            if f.original_delivered && self.undo_loss(true, tsecr) {
                return RetransmitMode::Nothing;
            }
            if after(self.tcb.view.nxt, self.recovery.high_seq) {
                if f.data_sacked || f.is_duplicate {
                    self.recovery.frto = false;
                }
            } else if f.una_advanced && !recovered {
                self.recovery.high_seq = self.tcb.view.nxt;
                if self.is_ready() && before(self.tcb.view.nxt, self.peer.window_end) {
                    return RetransmitMode::New;
                }
                self.recovery.frto = false;
            }
        }
        if recovered {
            self.undo_after_recovery(tsecr);
            return RetransmitMode::Nothing;
        }
        RetransmitMode::Lost
    }

    /// An ACK at or above the probe's point (`tcp_process_tlp_ack`; RFC 8985 §7.4.2); true if that had repeated
    /// old data.
    pub(super) fn after_probe(&mut self, ack: Seq, f: &Flags) -> bool {
        let Some(Tlp { point, repeated, app_limited }) = self.recovery.tlp else { return false };
        if before(ack, point) {
            return false;
        }
        if !repeated || f.dsack_tlp {
            self.recovery.tlp = None;
        } else if after(ack, point) {
            // The probe repaired a loss: reduce for it.
            self.init_reduction();
            self.set_state(CaState::Cwr);
            self.end_reduction();
            self.keep_open();
            let Tcb { view, control } = &mut self.tcb;
            self.cc.event(view, control, Event::TlpRecovery { app_limited });
        } else if f.is_pure_duplicate {
            self.recovery.tlp = None;
        }
        repeated
    }

    /// Sends what `repair` asks for (`tcp_xmit_recovery`).
    pub(super) fn repair(&mut self, repair: RetransmitMode, out: &mut impl Output) {
        match repair {
            RetransmitMode::Nothing => {}
            RetransmitMode::New => {
                self.write(Push::Normal, out);
                if after(self.tcb.view.nxt, self.recovery.high_seq) {
                    return;
                }
                self.recovery.frto = false;
                self.retransmit_lost(out);
            }
            RetransmitMode::Lost => self.retransmit_lost(out),
        }
    }

    /// Retransmits lost segments as far as the window allows (`tcp_xmit_retransmit_queue`).
    pub(super) fn retransmit_lost(&mut self, out: &mut impl Output) {
        let mut head_resent = false;
        while self.tcb.view.in_flight() < self.tcb.control.cwnd {
            if self.tcb.control.paced && self.pacing.holds(self.tcb.view.now) {
                if self.tcb.view.lost_out > self.tcb.view.retrans_out {
                    self.pacing.blocked = true;
                }
                break;
            }
            let Some(seq) = self.board.next_lost(&self.tcb.view) else { break };
            if self.small_queue_holds(1, 2) {
                break;
            }
            self.send_again(seq, out);
            if self.tcb.view.in_reduction() {
                self.recovery.prr.out += 1;
            }
            head_resent |= seq == self.tcb.view.una;
        }
        if head_resent && !self.awaits_reordering() {
            self.arm(Kind::Rto, self.tcb.view.rtt.rto());
        }
    }
}
