//! The sender's one timer and its purposes (`net/ipv4/tcp_timer.c`): SYN and data retransmission
//! (RFC 6298), tail-loss probe (RFC 8985 §7), RACK's reordering timer; and the pacing gate.
//!
//! They hang on the kernel's timer wheel ([`sojourn_units::CoarseClock`]). As most are set again long before they fire,
//! their wheel times are computed only at the earliest time at which one may fire.

use super::Sender;
use super::flags::Flags;
use super::output::Push;
use super::reduction::Tlp;
use super::scoreboard::REORDERING;
use super::timer::{Kind, Timer};
use crate::cc::CaState;
use crate::cc::{CongestionControl, Event};
use crate::rate_sample::micros_between;
use crate::segment::{Output, after, before};
use sojourn_units::{Span, Time};

impl Sender {
    pub(super) fn arm(&mut self, kind: Kind, span: Span) {
        let set = self.tcb.view.now;
        self.timers.next = Some(Timer { kind, set, span, at: set + span });
    }

    fn is_armed(&self, kind: Kind) -> bool {
        self.timers.next.is_some_and(|t| t.kind == kind)
    }

    /// Whether RACK waits for a candidate.
    pub(super) fn awaits_reordering(&self) -> bool {
        self.is_armed(Kind::Reorder)
    }

    /// Whether a tail-loss probe is due next.
    #[inline]
    pub(super) fn awaits_probe(&self) -> bool {
        self.is_armed(Kind::Probe)
    }

    /// When [`Sender::on_timer`] wants to be called: never later than needed, perhaps earlier than there is work.
    #[inline]
    pub fn next_timer(&self) -> Time {
        let timer = self.timers.next.map_or(Time::NEVER, |t| t.at);
        if self.pacing.blocked { timer.min(self.pacing.until) } else { timer }
    }

    /// The time that [`Sender::next_timer`] named has come. Calls that come early only set the deadline right.
    pub fn on_timer(&mut self, now: Time, out: &mut impl Output) {
        self.tcb.view.now = now;
        self.note_pause();
        if self.pacing.blocked && now >= self.pacing.until {
            self.pacing.blocked = false;
            self.retransmit_lost(out);
            self.write(Push::Normal, out);
        }
        let Some(timer) = self.timers.next else { return };
        if now < timer.at {
            return;
        }
        let due = self.timers.clock.fires_after(timer.set, timer.span);
        if now < due {
            self.timers.next = Some(Timer { at: due, ..timer });
            return;
        }
        match timer.kind {
            Kind::Syn => self.repeat_syn(out),
            Kind::Rto => {
                self.timers.next = None;
                self.on_rto(out);
            }
            // These two run in place of the retransmission timer, and read that from the timer.
            Kind::Probe => self.send_probe(out),
            Kind::Reorder => self.on_reorder_timer(out),
        }
    }

    /// RFC 6298 §5.5 doubles the timeout each time; from Linux 6.5 on only after four SYNs
    /// (`net.ipv4.tcp_syn_linear_timeouts`).
    fn repeat_syn(&mut self, out: &mut impl Output) {
        self.handshake.syn_retries += 1;
        if self.handshake.syn_retries > self.quirks.syn_linear_timeouts {
            self.tcb.view.rtt.back_off();
        }
        self.send_syn(out);
    }

    /// Time left of the RTO of the oldest segment (`tcp_rto_delta_us`); none when it is over.
    fn rto_left(&self) -> Span {
        let rto = self.tcb.view.rtt.rto();
        let since =
            self.board.head_sent().map_or(0, |sent| micros_between(self.tcb.view.now, sent));
        rto.saturating_sub(Span::from_micros(u64::from(since)))
    }

    /// (Re)starts the retransmission timer (`tcp_rearm_rto`). A deadline that a probe or RACK had postponed is
    /// counted from when the oldest segment left.
    pub(super) fn rearm_rto(&mut self) {
        if self.tcb.view.packets_out == 0 {
            self.timers.next = None;
            return;
        }
        let postponed =
            matches!(self.timers.next, Some(Timer { kind: Kind::Probe | Kind::Reorder, .. }));
        let span = if postponed {
            self.rto_left().max(Span::from_micros(1))
        } else {
            self.tcb.view.rtt.rto()
        };
        self.arm(Kind::Rto, span);
    }

    /// After an ACK: a probe if one is due, else the retransmission timer (`tcp_set_xmit_timer`).
    pub(super) fn set_timer_after_ack(&mut self) {
        if !self.schedule_probe(true) {
            self.rearm_rto();
        }
    }

    /// Schedules a tail-loss probe two smoothed RTTs ahead (`tcp_schedule_loss_probe`), unless the RTO comes first.
    /// `advancing` says that the RTO would start again now.
    pub(super) fn schedule_probe(&mut self, advancing: bool) -> bool {
        let t = &self.tcb;
        if t.view.packets_out == 0 || !matches!(t.view.ca_state, CaState::Open | CaState::Cwr) {
            return false;
        }
        let srtt8 = t.view.rtt.srtt8_us();
        let mut span = if srtt8 > 0 {
            let alone = t.view.packets_out == 1;
            // A lone segment's ACK may be delayed.
            let slack = if alone { Span::from_millis(200) } else { self.timers.slack };
            Span::from_micros(u64::from(srtt8 >> 2)) + slack
        } else {
            Span::from_secs(1)
        };
        let rto = if advancing { t.view.rtt.rto() } else { self.rto_left() };
        if !rto.is_zero() {
            span = span.min(rto);
        }
        self.arm(Kind::Probe, span);
        true
    }

    fn send_probe(&mut self, out: &mut impl Output) {
        if self.tcb.view.packets_out == 0 {
            self.timers.next = None;
            return;
        }
        // One probe an episode; anything else is left to the RTO, which counts from when the head left.
        if self.recovery.tlp.is_none() {
            let can_send_new = self.is_ready() && before(self.tcb.view.nxt, self.peer.window_end);
            let mut app_limited = false;
            let sent = if can_send_new {
                self.write(Push::Probe, out) > 0
            } else {
                let last = self.tcb.view.nxt.wrapping_sub(1);
                app_limited = self.board.was_app_limited(last);
                self.repeat(last, false, out);
                true
            };
            if sent {
                let (point, repeated) = (self.tcb.view.nxt, !can_send_new);
                self.recovery.tlp = Some(Tlp { point, repeated, app_limited });
                self.counters.probes += 1;
                // After a probe the RTO counts from now.
                self.timers.next = None;
            }
        }
        self.rearm_rto();
    }

    fn on_reorder_timer(&mut self, out: &mut impl Output) {
        let (in_flight, lost) = (self.tcb.view.in_flight(), self.tcb.view.lost);
        self.detect_loss();
        if self.tcb.view.in_flight() != in_flight {
            if self.tcb.view.ca_state != CaState::Recovery {
                self.enter_recovery(false);
                let newly_lost = self.tcb.view.lost.wrapping_sub(lost);
                self.reduce_cwnd(1, newly_lost, &Flags::default());
            }
            self.retransmit_lost(out);
        }
        // Candidates that are left wait for the next ACK or the RTO.
        if !self.is_armed(Kind::Rto) {
            self.rearm_rto();
        }
    }

    /// The retransmission timer (`tcp_retransmit_timer`, `tcp_enter_loss`; RFC 6298 §5.4-5.7, F-RTO RFC 5682).
    fn on_rto(&mut self, out: &mut impl Output) {
        if self.tcb.view.packets_out == 0 {
            return;
        }
        self.counters.timeouts += 1;
        let state = self.tcb.view.ca_state;
        let new_recovery = state < CaState::Recovery;
        self.board.mark_all_lost(&mut self.tcb.view);
        self.tell_lost();
        let first_in_window = state <= CaState::Disorder
            || !after(self.recovery.high_seq, self.tcb.view.una)
            || (state == CaState::Loss && self.recovery.timeouts == 0);
        if first_in_window {
            self.recovery.prior_ssthresh = self.current_ssthresh();
            self.tcb.view.prior_cwnd = self.tcb.control.cwnd;
            self.tcb.control.ssthresh = self.cc.ssthresh(&self.tcb.view, &self.tcb.control);
            self.cc.event(&self.tcb.view, &mut self.tcb.control, Event::Loss);
            self.init_undo();
        }
        self.tcb.control.cwnd = self.tcb.view.in_flight() + 1;
        self.tcb.control.cwnd_count = 0;
        if state <= CaState::Disorder && self.tcb.view.sacked_out >= REORDERING {
            self.board.forget_reordering();
        }
        self.set_state(CaState::Loss);
        self.recovery.high_seq = self.tcb.view.nxt;
        self.recovery.tlp = None;
        self.ecn.feedback.reduced(self.tcb.view.ecn);
        self.recovery.frto = new_recovery || self.recovery.timeouts > 0;
        self.recovery.timeouts += 1;
        let head = self.tcb.view.una;
        self.send_again(head, out);
        self.tcb.view.rtt.back_off();
        self.arm(Kind::Rto, self.tcb.view.rtt.rto());
    }
}
