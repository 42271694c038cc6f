//! One ACK, in the kernel's order of work (`tcp_ack`).

use super::recovery::Repair;
use super::scoreboard::{News, REORDERING};
use super::{Push, Sender};
use crate::cc::{AckSample, CongestionControl};
use crate::rate_sample::micros_between;
use crate::segment::{Ack, Output, Seq, after, before};
use crate::tcb::CaState;
use sojourn_units::Time;

/// What the ACK turned out to be (`FLAG_*`).
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Flags {
    pub(super) una_advanced: bool,
    pub(super) ece: bool,
    pub(super) data_sacked: bool,
    pub(super) dsack_tlp: bool,
    pub(super) original_delivered: bool,
    pub(super) lost_retransmission: bool,
    /// Nothing new at all: neither data acknowledged nor a window update.
    pub(super) is_duplicate: bool,
    /// A duplicate that tells nothing either.
    pub(super) is_pure_duplicate: bool,
    /// The retransmission timer is to start anew.
    pub(super) set_timer: bool,
}

impl Sender {
    /// Takes an ACK and sends what it lets out.
    pub fn on_ack(&mut self, now: Time, ack: &Ack, out: &mut impl Output) {
        if !self.is_established() || after(ack.ack, self.tcb.nxt) {
            return;
        }
        self.tcb.now = now;
        let prior_una = self.tcb.una;
        let old = before(ack.ack, prior_una);
        if old && ack.blocks == 0 {
            return;
        }
        if !old {
            self.peer_clock = ack.tsval;
        }
        let mut f = Flags { una_advanced: after(ack.ack, prior_una), ..Flags::default() };
        if f.una_advanced {
            self.retransmits = 0;
        }
        let prior_fack = self.board.highest_sacked(&self.tcb);
        let prior_packets = self.tcb.packets_out;
        let prior_delivered = self.tcb.delivered;
        let prior_lost = self.tcb.lost;
        let mut news = News::default();

        let window_update = f.una_advanced || ack.window > self.window;
        if !old && window_update {
            self.take_window(ack.ack, ack.window);
        }
        if ack.blocks > 0 {
            let tlp = self.tlp.filter(|t| t.1).map(|t| t.0);
            self.board.take_sack(
                &mut self.tcb,
                ack,
                self.high_seq,
                &mut self.undo,
                tlp,
                &mut self.estimator,
                &mut news,
            );
            if news.dsack {
                self.note_dsack();
            }
        }
        f.data_sacked = news.newly_sacked > 0;
        f.dsack_tlp = news.dsack_tlp;
        f.ece = ack.ece && self.ecn;
        if f.ece {
            self.counters.ece_acks += 1;
        }
        if prior_packets > 0 && !old {
            self.board.acknowledge(
                &mut self.tcb,
                ack.ack,
                self.high_seq,
                prior_fack,
                &mut self.estimator,
                &mut news,
            );
        }
        f.original_delivered = news.original_delivered;
        let delivered = news.newly_sacked + self.newly_delivered_by_ack(prior_una, &news);
        self.tcb.delivered = prior_delivered.wrapping_add(delivered);
        if f.ece {
            self.tcb.delivered_ce = self.tcb.delivered_ce.wrapping_add(delivered);
        }
        let rtt_us = self.sample_rtt(&news, &mut f);
        if f.una_advanced {
            self.cc.pkts_acked(&mut self.tcb, AckSample { acked: news.newly_acked, rtt_us });
        }
        self.update_reo_wnd(news.rate.prior_delivered());
        let not_duplicate = f.una_advanced || window_update;
        f.is_duplicate = !not_duplicate && !news.dsack;
        f.is_pure_duplicate = !not_duplicate && !f.data_sacked;
        self.after_probe(ack.ack, &f);

        let dubious = !not_duplicate
            || f.data_sacked
            || f.ece
            || news.dsack
            || self.tcb.ca_state != CaState::Open;
        let repair =
            if dubious { self.alert(prior_una, ack.tsecr, &mut f) } else { Repair::Nothing };
        if f.set_timer {
            self.set_timer_after_ack();
        }
        self.finish_rate(delivered, &news);
        let newly_lost = self.tcb.lost.wrapping_sub(prior_lost);
        self.control(delivered, newly_lost, &news, &f);
        self.repair(repair, out);
        self.write(Push::Normal, out);
    }

    /// Segments acknowledged cumulatively that no SACK had delivered before: what `delivered` has not counted.
    fn newly_delivered_by_ack(&self, prior_una: Seq, news: &News) -> u32 {
        debug_assert_eq!(self.tcb.una.wrapping_sub(prior_una), news.newly_acked);
        news.newly_acked - news.acked_were_sacked()
    }

    /// RTT samples of the ACK (`tcp_ack_update_rtt`): the oldest segment's for the estimator, the newest's for the
    /// congestion control. None when a retransmission is among what was acknowledged and no SACK gives one.
    fn sample_rtt(&mut self, news: &News, f: &mut Flags) -> Option<u32> {
        let now = self.tcb.now;
        let micros = |sent: Time| micros_between(now, sent);
        let by_ack = news.acked_sent.filter(|_| !news.retransmitted_acked);
        let by_sack = news.sacked_sent;
        let latest = by_sack.or(by_ack).map(|x| micros(x.1));
        let oldest = by_ack.or(by_sack).map(|x| micros(x.0));
        if let (Some(oldest), Some(latest)) = (oldest, latest) {
            // A lone segment's ACK has probably waited for a second one.
            let maybe_delayed =
                news.newly_acked == 1 && by_ack.is_some() && self.tcb.packets_out > 0 && !f.data_sacked;
            let (una, nxt) = (self.tcb.una, self.tcb.nxt);
            self.tcb.rtt.sample(now, oldest.max(1), latest.max(1), maybe_delayed, una, nxt);
        }
        if f.una_advanced {
            f.set_timer = true;
        } else if let (Some(sack), Some(head)) = (by_sack, self.board.head_sent()) {
            // Only data sent before the head's last transmission says that the head may still be on its way.
            f.set_timer = micros(sack.0) > micros(head);
        }
        latest
    }

    fn finish_rate(&mut self, delivered: u32, news: &News) {
        let t = &mut self.tcb;
        if t.app_limited.is_some_and(|until| after(t.delivered, until)) {
            t.app_limited = None;
        }
        let min_rtt = t.rtt.min_us();
        let sample =
            self.estimator.finish(t.now, delivered > 0, t.delivered, min_rtt, &news.rate);
        if let Some(s) = sample {
            let faster = u64::from(s.delivered) * u64::from(t.rate.interval_us)
                >= u64::from(t.rate.delivered) * u64::from(s.interval_us);
            if !s.app_limited || faster {
                t.rate = s;
            }
        }
    }

    /// The congestion control's part (`tcp_cong_control`).
    fn control(&mut self, delivered: u32, newly_lost: u32, news: &News, f: &Flags) {
        if self.tcb.in_reduction() {
            self.reduce_cwnd(
                delivered,
                newly_lost,
                f.una_advanced,
                news.retransmitted_acked,
                f.lost_retransmission,
            );
        } else {
            // Where reordering was seen, SACKed data counts as progress too.
            let may_raise = if self.board.reordering > REORDERING {
                f.una_advanced || f.data_sacked
            } else {
                f.una_advanced
            };
            if may_raise && delivered > 0 {
                self.cc.cong_avoid(&mut self.tcb, delivered);
            }
        }
        self.tcb.update_pacing_rate();
    }
}
