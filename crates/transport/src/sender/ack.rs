//! One ACK, in the kernel's order of work (`tcp_ack`).

use super::Sender;
use super::flags::Flags;
use super::output::Push;
use super::rate::RateEstimator;
use super::recovery::RetransmitMode;
use super::scoreboard::{AckSummary, REORDERING, SackCtx};
use crate::cc::CaState;
use crate::cc::{AckEvent, AckSample, CongestionControl, ControlSample};
use crate::ecn::{AckInfo, EcnFeedback};
use crate::rate_sample::{RateSample, micros_between};
use crate::segment::{Ack, Output, after, before};
use sojourn_units::Time;

impl Sender {
    /// Takes an ACK and sends what it lets out.
    pub fn on_ack(&mut self, now: Time, ack: &Ack, out: &mut impl Output) {
        if !self.is_established() || after(ack.ack, self.tcb.view.nxt) {
            return;
        }
        self.tcb.view.now = now;
        self.note_pause();
        let prior_una = self.tcb.view.una;
        if before(ack.ack, prior_una) {
            self.on_old_ack(ack, out);
            return;
        }
        let clock_moved = after(ack.tsval, self.peer.clock);
        if !before(ack.tsval, self.peer.clock) {
            self.peer.clock = ack.tsval;
        }
        let mut f = Flags { una_advanced: after(ack.ack, prior_una), ..Flags::default() };
        if f.una_advanced {
            self.recovery.timeouts = 0;
        }
        if let Some(rule) = &mut self.limited_increase {
            rule.note(&self.tcb);
        }
        let prior_fack = self.board.highest_sacked(&self.tcb.view);
        let prior_packets = self.tcb.view.packets_out;
        let prior_lost = self.tcb.view.lost;
        let prior_in_flight = self.tcb.view.in_flight();

        let window_update = f.una_advanced || ack.window > self.peer.window;
        let loss = self.tcb.view.ca_state == CaState::Loss;
        let mut news = AckSummary::default();
        let mut taking = SackCtx {
            view: &mut self.tcb.view,
            estimator: &mut self.rate,
            undo: &mut self.recovery.undo,
            high_seq: self.recovery.high_seq,
            tlp: self.recovery.tlp.map(|t| t.point),
            tsecr: ack.tsecr,
            clock_offset_ms: self.clock_offset_ms,
            news: &mut news,
        };
        if ack.blocks > 0 {
            self.board.take_sack(ack, loss, &mut taking);
        }
        if f.una_advanced {
            self.board.acknowledge(ack.ack, prior_fack, &mut taking);
        }
        let gives_room = self.data.free(ack, f.una_advanced, news.newly_sacked > 0);
        if window_update {
            self.take_window(ack.window);
        }
        let delivered = news.delivered();
        let is_news = f.una_advanced || news.newly_sacked > 0 || clock_moved;
        let counted_ce = self.tcb.view.delivered_ce;
        self.read_marks(ack, delivered, is_news, &mut f);
        let event = AckEvent {
            acked: ack.ack.wrapping_sub(prior_una),
            ece: f.ece,
            esce: self.read_sce(ack),
            window_update,
        };
        self.count_delivered(delivered, news.newly_sacked, counted_ce, event);
        self.note_dsack(&news);
        f.data_sacked = news.newly_sacked > 0;
        f.dsack_tlp = if self.quirks.dsack_needs_reordering { news.dsack_tlp } else { news.dsack };
        f.original_delivered = news.original_delivered;
        f.retransmission_acked = news.retransmitted_acked;
        let not_duplicate = f.una_advanced || window_update;
        f.is_duplicate = !not_duplicate && !news.dsack;
        f.is_pure_duplicate = !not_duplicate && !f.data_sacked;
        if prior_packets == 0 {
            // Nothing was out: of use only as news of the window, or that a reduction was for nothing.
            if news.dsack {
                self.fast_retrans_alert(prior_una, ack.tsecr, &mut f);
            }
            self.after_probe(ack.ack, &f);
            self.push(RetransmitMode::Nothing, gives_room, out);
            return;
        }
        let rtt_us = self.sample_rtt(&news, ack.tsecr, &mut f);
        self.cc.pkts_acked(
            &self.tcb.view,
            &mut self.tcb.control,
            AckSample { acked: news.newly_acked, rtt_us },
        );
        self.update_reo_wnd(news.rate.prior_delivered());
        let acks_probe = self.after_probe(ack.ack, &f);

        let dubious = !not_duplicate
            || f.data_sacked
            || f.ece
            || news.dsack
            || self.tcb.view.ca_state != CaState::Open;
        let repair = if dubious {
            self.fast_retrans_alert(prior_una, ack.tsecr, &mut f)
        } else {
            RetransmitMode::Nothing
        };
        if f.set_timer {
            self.set_timer_after_ack();
        }
        let rate = self.finish_rate(delivered, &news);
        let newly_lost = self.tcb.view.lost.wrapping_sub(prior_lost);
        if self.has_cong_control {
            let sample = ControlSample {
                delivered,
                ce: f.ce,
                lost: newly_lost,
                ece: f.ece,
                rtt_us,
                rate,
                prior_delivered: news.rate.prior_delivered(),
                sent: news.rate.prior_delivered().and_then(|_| self.board.newest_sent()),
                prior_in_flight,
                acks_probe,
                ack_delayed: prior_packets == 1 && self.acked_a_lone_short_segment(&news),
                next_departure: self.pacing.until,
                backlogged: !self.pacing.by_host && self.is_ready(),
            };
            self.cc.cong_control(&self.tcb.view, &mut self.tcb.control, &sample);
        } else {
            self.control(delivered, newly_lost, &f);
        }
        self.follow_control();
        self.push(repair, gives_room, out);
    }

    /// An ACK that another has overtaken: only its SACK blocks may still be news (`old_ack` in `tcp_ack`). If it is
    /// more than a millisecond late, its timestamp gives it away and it is dropped (PAWS, RFC 7323 §5).
    fn on_old_ack(&mut self, ack: &Ack, out: &mut impl Output) {
        if ack.blocks == 0 || after(self.peer.clock, ack.tsval.wrapping_add(1)) {
            return;
        }
        let loss = self.tcb.view.ca_state == CaState::Loss;
        let mut news = AckSummary::default();
        let mut taking = SackCtx {
            view: &mut self.tcb.view,
            estimator: &mut self.rate,
            undo: &mut self.recovery.undo,
            high_seq: self.recovery.high_seq,
            tlp: self.recovery.tlp.map(|t| t.point),
            tsecr: ack.tsecr,
            clock_offset_ms: self.clock_offset_ms,
            news: &mut news,
        };
        self.board.take_sack(ack, loss, &mut taking);
        let gives_room = self.data.free(ack, false, news.newly_sacked > 0);
        let mut f = Flags {
            data_sacked: news.newly_sacked > 0,
            original_delivered: news.original_delivered,
            ..Flags::default()
        };
        self.tcb.view.delivered = self.tcb.view.delivered.wrapping_add(news.delivered());
        self.note_dsack(&news);
        let una = self.tcb.view.una;
        let repair = self.fast_retrans_alert(una, ack.tsecr, &mut f);
        self.push(repair, gives_room, out);
    }

    /// Repairs what is to be repaired, then sends new data.
    fn push(&mut self, repair: RetransmitMode, gives_room: bool, out: &mut impl Output) {
        self.pacing.blocked = false;
        self.repair(repair, out);
        self.write(Push::Normal, out);
        self.check_space(gives_room, out);
    }

    /// Counts what the ACK delivers and tells the control of the ACK, in the stack's order.
    #[inline]
    fn count_delivered(&mut self, delivered: u32, sacked: u32, counted_ce: u32, event: AckEvent) {
        let before = self.tcb.view.delivered;
        if self.quirks.ack_event_counts_its_ack {
            self.tcb.view.delivered = before.wrapping_add(delivered);
            self.cc.in_ack_event(&self.tcb.view, &mut self.tcb.control, event);
            return;
        }
        // Marks are counted with their segments; SACKed segments are counted already (from 5.9 on also
        // its marks, which makes no difference in the published beds).
        let marked = core::mem::replace(&mut self.tcb.view.delivered_ce, counted_ce);
        self.tcb.view.delivered = before.wrapping_add(sacked);
        self.cc.in_ack_event(&self.tcb.view, &mut self.tcb.control, event);
        self.tcb.view.delivered = before.wrapping_add(delivered);
        self.tcb.view.delivered_ce = marked;
    }

    /// Whether the ACK echoes SCE, unless nobody listens.
    #[inline]
    fn read_sce(&mut self, ack: &Ack) -> bool {
        let echoed = EcnFeedback::echoes_sce(self.tcb.view.ecn, ack.ecn);
        self.counters.esce_acks += u64::from(echoed);
        echoed && !self.ecn.ignores_ce
    }

    /// What the ACK says of marks, unless nobody listens.
    #[inline]
    fn read_marks(&mut self, ack: &Ack, delivered: u32, is_news: bool, f: &mut Flags) {
        let clues = AckInfo { delivered, counted: self.tcb.view.delivered_ce, is_news };
        let Some(ce) = self.ecn.feedback.read(self.tcb.view.ecn, ack.ecn, clues) else { return };
        self.counters.ece_acks += 1;
        self.tcb.view.delivered_ce = self.tcb.view.delivered_ce.wrapping_add(ce);
        if !self.ecn.ignores_ce {
            (f.ece, f.ce) = (true, ce);
        }
    }

    /// RTT samples of the ACK (`tcp_ack_update_rtt`): the oldest segment's for the estimator, the newest's for the
    /// congestion control. A retransmission among what was acknowledged leaves only the timestamp's echo (Karn's
    /// rule; RFC 7323 §4), and that only if no SACK gives a better one.
    fn sample_rtt(&mut self, news: &AckSummary, tsecr: u32, f: &mut Flags) -> Option<u32> {
        let now = self.tcb.view.now;
        let micros = |sent: Time| micros_between(now, sent);
        let by_ack = news.acked_sent.filter(|_| !news.retransmitted_acked);
        let by_sack = news.sacked_sent;
        let mut latest = by_sack.or(by_ack).map(|x| micros(x.1).max(1));
        let mut oldest = by_ack.or(by_sack).map(|x| micros(x.0).max(1));
        if oldest.is_none() && f.una_advanced {
            oldest = Some(self.rtt_by_echo(tsecr));
            latest = oldest;
        }
        if let (Some(oldest), Some(latest)) = (oldest, latest) {
            let (una, nxt) = (self.tcb.view.una, self.tcb.view.nxt);
            self.tcb.view.rtt.sample(now, oldest, latest, una, nxt);
        }
        if f.una_advanced {
            f.set_timer = true;
        } else if let (Some(sack), Some(head)) = (by_sack, self.board.head_sent()) {
            // Only data sent before the head's last transmission says that the head may still be on its way.
            f.set_timer = micros(sack.0) > micros(head);
        }
        latest
    }

    /// Whether the one segment acknowledged was below the segment size and left while nothing else was out.
    fn acked_a_lone_short_segment(&self, news: &AckSummary) -> bool {
        news.newly_acked == 1
            && !news.retransmitted_acked
            && news.rate.began_flight()
            && u32::from(news.last_len) < self.tcb.view.mss
    }

    #[inline(always)]
    fn finish_rate(&mut self, delivered: u32, news: &AckSummary) -> Option<RateSample> {
        let t = &mut self.tcb;
        if t.view.app_limited.is_some_and(|until| after(t.view.delivered, until)) {
            t.view.app_limited = None;
        }
        let sample = RateEstimator::finish(&mut t.view, delivered > 0, &news.rate);
        if let Some(s) = sample {
            let faster = u64::from(s.delivered) * u64::from(t.view.rate.interval_us)
                >= u64::from(t.view.rate.delivered) * u64::from(s.interval_us);
            if !s.app_limited || faster {
                t.view.rate = s;
            }
        }
        sample
    }

    /// The congestion control's part (`tcp_cong_control`).
    fn control(&mut self, delivered: u32, newly_lost: u32, f: &Flags) {
        if self.tcb.view.in_reduction() {
            self.reduce_cwnd(delivered, newly_lost, f);
        } else {
            // Where reordering was seen, SACKed data counts as progress too.
            let may_raise = if self.board.reordering > REORDERING {
                f.una_advanced || f.data_sacked
            } else {
                f.una_advanced
            };
            if may_raise && delivered > 0 {
                match &self.limited_increase {
                    None => self.cc.cong_avoid(&self.tcb.view, &mut self.tcb.control, delivered),
                    Some(rule) => rule.grow(&mut self.cc, &mut self.tcb, delivered),
                }
            }
        }
        self.tcb.control.update_pacing_rate(&self.tcb.view);
    }
}
