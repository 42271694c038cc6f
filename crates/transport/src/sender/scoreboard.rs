//! The retransmission queue and what is known of each segment in it: SACKed, lost, retransmitted (RFC 6675's
//! scoreboard with Linux's tags), and the rules by which SACK blocks and RACK (RFC 8985) change the tags.
//!
//! Invariants: the counts in the [`Tcb`] (`packets_out`, `sacked_out`, `lost_out`, `retrans_out`) are at all
//! times what counting the tags would give; a SACKed segment is never lost.
//!
//! The trick: segments never sent twice are in order of both number and time, so RACK needs no list sorted by
//! time: a cursor walks the originals, and a short queue holds the retransmissions in the order they left.

use crate::rate_sample::{AckRate, RateEstimator, SentState, micros_between};
use crate::segment::{Ack, Block, SACK_BLOCKS, Seq, after, before};
use crate::tcb::Tcb;
use sojourn_units::Time;
use std::collections::VecDeque;

/// Tags of a segment.
const SACKED: u8 = 1;
/// Taken for lost.
const LOST: u8 = 2;
/// A retransmission of it is out.
const RETRANSMITTED: u8 = 4;
/// It was retransmitted at some time.
const EVER_RETRANSMITTED: u8 = 8;
/// Its delivery has entered a rate sample.
const RATE_USED: u8 = 16;

#[derive(Clone, Copy, Debug)]
struct Segment {
    sent: Time,
    state: SentState,
    tags: u8,
}

impl Segment {
    #[inline]
    fn has(&self, tags: u8) -> bool {
        self.tags & tags != 0
    }
}

/// RACK's view: the newest delivery, by send time (RFC 8985 §6.2, `struct tcp_sock::rack`).
#[derive(Clone, Debug, Default)]
pub(super) struct Rack {
    /// Send time of the newest segment known to be delivered.
    sent: Time,
    /// One past that segment.
    end: Seq,
    /// Its round-trip time, microseconds.
    rtt_us: u32,
    /// Whether there is news since losses were last looked for.
    pub(super) advanced: bool,
}

impl Rack {
    /// A segment, sent (last) at `sent`, has been delivered.
    #[inline]
    fn advance(&mut self, now: Time, min_rtt_us: u32, seq: Seq, sent: Time, ever_retransmitted: bool) {
        let rtt_us = micros_between(now, sent);
        // Too early to be the retransmission's doing: it was the original.
        if ever_retransmitted && rtt_us < min_rtt_us {
            return;
        }
        self.advanced = true;
        self.rtt_us = rtt_us;
        if sent_after(sent, self.sent, seq + 1, self.end) {
            self.sent = sent;
            self.end = seq + 1;
        }
    }
}

#[inline]
fn sent_after(t1: Time, t2: Time, end1: Seq, end2: Seq) -> bool {
    t1 > t2 || (t1 == t2 && after(end1, end2))
}

/// What an ACK has told, gathered while the scoreboard takes it in.
#[derive(Clone, Debug, Default)]
pub(super) struct News {
    /// Rate sample in the making.
    pub(super) rate: AckRate,
    /// Segments newly SACKed.
    pub(super) newly_sacked: u32,
    /// Segments newly acknowledged cumulatively.
    pub(super) newly_acked: u32,
    /// Of these, those that had been SACKed before.
    acked_sacked: u32,
    /// Send times of the first and last original newly SACKed.
    pub(super) sacked_sent: Option<(Time, Time)>,
    /// Send times of the first and last original newly acknowledged.
    pub(super) acked_sent: Option<(Time, Time)>,
    /// Whether a segment that had been retransmitted was cumulatively acknowledged.
    pub(super) retransmitted_acked: bool,
    /// Whether an original below the recovery point was delivered (F-RTO's evidence).
    pub(super) original_delivered: bool,
    /// Whether a duplicate was reported.
    pub(super) dsack: bool,
    /// Whether the duplicate is of the tail-loss probe's.
    pub(super) dsack_tlp: bool,
    /// Lowest original that was delivered out of order, if any.
    reordered: Option<Seq>,
}

impl News {
    /// Segments of this cumulative acknowledgement that SACKs had delivered before.
    pub(super) fn acked_were_sacked(&self) -> u32 {
        self.acked_sacked
    }
}

/// The retransmission queue.
#[derive(Clone, Debug)]
pub(super) struct Scoreboard {
    segments: VecDeque<Segment>,
    /// Number of the first in `segments`; equals `tcb.una`.
    base: Seq,
    /// Retransmissions in the order they left; entries that no longer hold are skipped.
    resent: VecDeque<(Time, Seq)>,
    /// No segment below is an original that could still be found lost.
    fresh: Seq,
    /// No segment below is lost and waiting to be retransmitted.
    hint: Seq,
    /// One past the highest SACKed segment.
    fack: Seq,
    /// The SACK blocks of the last ACK: what they cover is known.
    seen: [Block; SACK_BLOCKS],
    pub(super) rack: Rack,
    /// Reordering degree in segments (`tp->reordering`).
    pub(super) reordering: u32,
    /// Times that reordering was seen.
    pub(super) reorderings: u32,
}

/// Reordering assumed at first (`net.ipv4.tcp_reordering`), which is also the duplicate-ACK threshold.
pub(super) const REORDERING: u32 = 3;
/// Reordering never taken to be more than this (`net.ipv4.tcp_max_reordering`).
const MAX_REORDERING: u32 = 300;

/// What the scoreboard needs to know of the undo state to account for duplicates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    /// Segment from which on retransmissions count (`undo_marker`); `None` when there is nothing to undo.
    pub(super) marker: Option<Seq>,
    /// Retransmissions not yet reported as duplicates (`undo_retrans`); negative when there were none.
    pub(super) retransmissions: i32,
}

impl Scoreboard {
    pub(super) fn new() -> Self {
        Self {
            segments: VecDeque::with_capacity(64),
            base: 0,
            resent: VecDeque::new(),
            fresh: 0,
            hint: 0,
            fack: 0,
            seen: [Block::default(); SACK_BLOCKS],
            rack: Rack::default(),
            reordering: REORDERING,
            reorderings: 0,
        }
    }

    #[inline]
    fn get(&self, seq: Seq) -> &Segment {
        &self.segments[seq.wrapping_sub(self.base) as usize]
    }

    #[inline]
    fn get_mut(&mut self, seq: Seq) -> &mut Segment {
        &mut self.segments[seq.wrapping_sub(self.base) as usize]
    }

    fn end(&self) -> Seq {
        self.base.wrapping_add(self.segments.len() as u32)
    }

    /// One past the highest SACKed segment; `una` when none is (`tcp_highest_sack_seq`).
    #[inline]
    pub(super) fn highest_sacked(&self, tcb: &Tcb) -> Seq {
        if tcb.sacked_out == 0 { tcb.una } else { self.fack }
    }

    /// A new segment has left.
    #[inline]
    pub(super) fn push(&mut self, tcb: &mut Tcb, state: SentState) {
        self.segments.push_back(Segment { sent: tcb.now, state, tags: 0 });
        tcb.packets_out += 1;
        tcb.nxt = tcb.nxt.wrapping_add(1);
    }

    /// When the oldest segment was (last) sent.
    pub(super) fn head_sent(&self) -> Option<Time> {
        self.segments.front().map(|s| s.sent)
    }

    /// A segment has been retransmitted now.
    pub(super) fn mark_resent(&mut self, tcb: &mut Tcb, seq: Seq, state: SentState) {
        let now = tcb.now;
        let s = self.get_mut(seq);
        s.sent = now;
        s.state = state;
        if !s.has(RETRANSMITTED) {
            tcb.retrans_out += 1;
        }
        s.tags |= RETRANSMITTED | EVER_RETRANSMITTED;
        s.tags &= !RATE_USED;
        self.resent.push_back((now, seq));
    }

    /// The lowest segment that is lost and not retransmitted.
    pub(super) fn next_lost(&mut self, tcb: &Tcb) -> Option<Seq> {
        if tcb.retrans_out >= tcb.lost_out {
            return None;
        }
        if before(self.hint, self.base) {
            self.hint = self.base;
        }
        let end = self.end();
        while before(self.hint, end) {
            let s = self.get(self.hint);
            if s.has(LOST) && !s.has(SACKED | RETRANSMITTED) {
                return Some(self.hint);
            }
            self.hint = self.hint.wrapping_add(1);
        }
        None
    }

    /// Takes in the SACK blocks of an ACK (`tcp_sacktag_write_queue`).
    pub(super) fn take_sack(
        &mut self,
        tcb: &mut Tcb,
        ack: &Ack,
        high_seq: Seq,
        undo: &mut Undo,
        tlp: Option<Seq>,
        estimator: &mut RateEstimator,
        news: &mut News,
    ) {
        let mut blocks = [Block::default(); SACK_BLOCKS];
        let mut n = 0;
        for (i, b) in ack.sacked().iter().enumerate() {
            let duplicate = i == 0 && ack.dsack;
            if duplicate {
                self.take_duplicate(tcb, *b, undo, tlp, news);
                continue;
            }
            let start = if before(b.start, self.base) { self.base } else { b.start };
            let end = if after(b.end, self.end()) { self.end() } else { b.end };
            if before(start, end) {
                blocks[n] = Block { start, end };
                n += 1;
            }
        }
        let blocks = &mut blocks[..n];
        blocks.sort_unstable_by_key(|b| b.start.wrapping_sub(self.base));
        let seen = self.seen;
        for b in blocks.iter() {
            self.take_block(tcb, *b, &seen, high_seq, estimator, news);
        }
        self.seen = [Block::default(); SACK_BLOCKS];
        self.seen[..n].copy_from_slice(blocks);
        if let Some(low) = news.reordered {
            self.note_reordering(low, tcb);
        }
    }

    /// Tags what a block covers and the blocks of the ACK before did not.
    fn take_block(
        &mut self,
        tcb: &mut Tcb,
        block: Block,
        seen: &[Block; SACK_BLOCKS],
        high_seq: Seq,
        estimator: &mut RateEstimator,
        news: &mut News,
    ) {
        let mut seq = block.start;
        while before(seq, block.end) {
            if let Some(known) =
                seen.iter().find(|k| !before(seq, k.start) && before(seq, k.end))
            {
                seq = known.end;
                continue;
            }
            self.tag_sacked(tcb, seq, high_seq, estimator, news);
            seq = seq.wrapping_add(1);
        }
    }

    fn tag_sacked(
        &mut self,
        tcb: &mut Tcb,
        seq: Seq,
        high_seq: Seq,
        estimator: &mut RateEstimator,
        news: &mut News,
    ) {
        let highest = self.highest_sacked(tcb);
        let index = seq.wrapping_sub(self.base) as usize;
        let s = &mut self.segments[index];
        if s.has(SACKED) {
            return;
        }
        self.rack.advance(tcb.now, tcb.rtt.min_us(), seq, s.sent, s.has(EVER_RETRANSMITTED));
        if s.has(RETRANSMITTED) {
            // Only a segment still taken for lost was being repaired; else the repair is still on its way.
            if s.has(LOST) {
                s.tags &= !(LOST | RETRANSMITTED);
                tcb.lost_out -= 1;
                tcb.retrans_out -= 1;
            }
        } else {
            if !s.has(EVER_RETRANSMITTED) {
                if before(seq, highest) && news.reordered.is_none_or(|r| before(seq, r)) {
                    news.reordered = Some(seq);
                }
                news.original_delivered |= before(seq, high_seq);
                let first = news.sacked_sent.map_or(s.sent, |x| x.0);
                news.sacked_sent = Some((first, s.sent));
            }
            if s.has(LOST) {
                s.tags &= !LOST;
                tcb.lost_out -= 1;
            }
        }
        s.tags |= SACKED;
        tcb.sacked_out += 1;
        news.newly_sacked += 1;
        if !s.has(RATE_USED) {
            estimator.on_delivered(s.sent, &s.state, &mut news.rate);
            s.tags |= RATE_USED;
        }
        let next = seq.wrapping_add(1);
        if tcb.sacked_out == 1 || after(next, self.fack) {
            self.fack = next;
        }
    }

    /// A duplicate was reported (RFC 2883): a retransmission was not needed.
    fn take_duplicate(
        &mut self,
        tcb: &mut Tcb,
        block: Block,
        undo: &mut Undo,
        tlp: Option<Seq>,
        news: &mut News,
    ) {
        news.dsack = true;
        if tlp.is_some_and(|high| block.end == high) {
            news.dsack_tlp = true;
        }
        if undo.marker.is_some_and(|m| after(block.end, m)) && undo.retransmissions > 0 {
            let count = block.end.wrapping_sub(block.start) as i32;
            undo.retransmissions = (undo.retransmissions - count).max(0);
        }
        let mut seq = if before(block.start, self.base) { self.base } else { block.start };
        while before(seq, block.end) && before(seq, self.end()) {
            let s = self.get_mut(seq);
            if s.has(RETRANSMITTED) && s.has(SACKED) {
                s.tags &= !RETRANSMITTED;
                tcb.retrans_out -= 1;
            }
            seq = seq.wrapping_add(1);
        }
    }

    /// Takes off what an ACK acknowledges (`tcp_clean_rtx_queue`).
    pub(super) fn acknowledge(
        &mut self,
        tcb: &mut Tcb,
        ack: Seq,
        high_seq: Seq,
        prior_fack: Seq,
        estimator: &mut RateEstimator,
        news: &mut News,
    ) {
        let (mut lowest_original, min_rtt) = (None, tcb.rtt.min_us());
        while before(self.base, ack) {
            let Some(s) = self.segments.pop_front() else { break };
            let seq = self.base;
            if s.tags == 0 {
                // The common way: sent once, neither SACKed nor lost.
                let first = news.acked_sent.map_or(s.sent, |x| x.0);
                news.acked_sent = Some((first, s.sent));
                lowest_original.get_or_insert(seq);
                news.original_delivered |= before(seq, high_seq);
                self.rack.advance(tcb.now, min_rtt, seq, s.sent, false);
            } else {
                self.acknowledge_tagged(tcb, seq, &s, high_seq, &mut lowest_original, news);
            }
            if !s.has(RATE_USED) {
                estimator.on_delivered(s.sent, &s.state, &mut news.rate);
            }
            tcb.packets_out -= 1;
            news.newly_acked += 1;
            self.base = self.base.wrapping_add(1);
        }
        tcb.una = self.base;
        while self.resent.front().is_some_and(|(_, seq)| before(*seq, self.base)) {
            self.resent.pop_front();
        }
        if let Some(low) = lowest_original
            && before(low, prior_fack)
        {
            self.note_reordering_between(low, prior_fack);
        }
    }

    fn acknowledge_tagged(
        &mut self,
        tcb: &mut Tcb,
        seq: Seq,
        s: &Segment,
        high_seq: Seq,
        lowest_original: &mut Option<Seq>,
        news: &mut News,
    ) {
        if s.has(RETRANSMITTED | EVER_RETRANSMITTED) {
            if s.has(RETRANSMITTED) {
                tcb.retrans_out -= 1;
            }
            news.retransmitted_acked = true;
        } else if !s.has(SACKED) {
            let first = news.acked_sent.map_or(s.sent, |x| x.0);
            news.acked_sent = Some((first, s.sent));
            lowest_original.get_or_insert(seq);
            news.original_delivered |= before(seq, high_seq);
        }
        if s.has(SACKED) {
            tcb.sacked_out -= 1;
            news.acked_sacked += 1;
        } else {
            let ever = s.has(EVER_RETRANSMITTED);
            self.rack.advance(tcb.now, tcb.rtt.min_us(), seq, s.sent, ever);
        }
        if s.has(LOST) {
            tcb.lost_out -= 1;
        }
    }

    fn note_reordering(&mut self, low: Seq, tcb: &Tcb) {
        let fack = self.highest_sacked(tcb);
        self.note_reordering_between(low, fack);
    }

    /// An original numbered `low` came after one numbered `fack - 1` (`tcp_check_sack_reordering`).
    pub(super) fn note_reordering_between(&mut self, low: Seq, fack: Seq) {
        if !before(low, fack) {
            return;
        }
        let degree = fack.wrapping_sub(low);
        if degree > self.reordering {
            self.reordering = degree.min(MAX_REORDERING);
        }
        self.reorderings += 1;
    }

    /// Takes a segment for lost (`tcp_mark_skb_lost`).
    fn mark_lost(&mut self, tcb: &mut Tcb, seq: Seq) {
        let s = self.get_mut(seq);
        if s.has(SACKED) {
            return;
        }
        if s.has(LOST) {
            if s.has(RETRANSMITTED) {
                s.tags &= !RETRANSMITTED;
                tcb.retrans_out -= 1;
                tcb.lost += 1;
            }
        } else {
            s.tags |= LOST;
            tcb.lost_out += 1;
            tcb.lost += 1;
        }
        if before(seq, self.hint) {
            self.hint = seq;
        }
    }

    /// RACK (RFC 8985 §6.2 step 5, `tcp_rack_detect_loss`): what was sent a round trip and `reo_wnd_us` before the
    /// newest delivery, and has not been delivered itself, is lost. Returns the longest time, in microseconds,
    /// that a candidate still has; zero when there is none.
    pub(super) fn detect_loss(&mut self, tcb: &mut Tcb, reo_wnd_us: u32) -> u32 {
        let (sent, end) = (self.rack.sent, self.rack.end);
        let limit = i64::from(self.rack.rtt_us) + i64::from(reo_wnd_us);
        let remaining = |now: Time, s: &Segment| limit - i64::from(micros_between(now, s.sent));
        let mut longest = 0;
        // Originals, in order.
        if before(self.fresh, self.base) {
            self.fresh = self.base;
        }
        let queue_end = self.end();
        let (mut seq, mut prefix) = (self.fresh, true);
        while before(seq, queue_end) {
            let s = *self.get(seq);
            if !s.has(SACKED | LOST | EVER_RETRANSMITTED) {
                if !sent_after(sent, s.sent, end, seq.wrapping_add(1)) {
                    break;
                }
                let left = remaining(tcb.now, &s);
                if left <= 0 {
                    self.mark_lost(tcb, seq);
                } else {
                    longest = longest.max(left);
                    prefix = false;
                }
            }
            seq = seq.wrapping_add(1);
            if prefix {
                self.fresh = seq;
            }
        }
        // Retransmissions, in the order they left.
        let mut i = 0;
        while i < self.resent.len() {
            let (at, seq) = self.resent[i];
            let stale = before(seq, self.base) || {
                let s = self.get(seq);
                s.sent != at || s.has(SACKED) || (s.has(LOST) && !s.has(RETRANSMITTED))
            };
            if stale {
                if i == 0 {
                    self.resent.pop_front();
                } else {
                    i += 1;
                }
                continue;
            }
            if !sent_after(sent, at, end, seq.wrapping_add(1)) {
                break;
            }
            let left = remaining(tcb.now, self.get(seq));
            if left <= 0 {
                self.mark_lost(tcb, seq);
            } else {
                longest = longest.max(left);
            }
            i += 1;
        }
        longest.max(0) as u32
    }

    /// The timer fired: all is lost but what RACK says was sent too recently (`tcp_timeout_mark_lost`). The head is
    /// lost in any case.
    pub(super) fn mark_all_lost(&mut self, tcb: &mut Tcb) {
        let limit = i64::from(self.rack.rtt_us);
        let mut seq = self.base;
        while before(seq, self.end()) {
            let s = self.get(seq);
            let recent = limit > i64::from(micros_between(tcb.now, s.sent));
            if seq == self.base || !recent {
                self.mark_lost(tcb, seq);
            }
            seq = seq.wrapping_add(1);
        }
        self.hint = self.base;
    }

    /// Nothing is taken for lost any more (`tcp_undo_cwnd_reduction` with `unmark_loss`).
    pub(super) fn forget_losses(&mut self, tcb: &mut Tcb) {
        for s in &mut self.segments {
            s.tags &= !LOST;
        }
        tcb.lost_out = 0;
        self.fresh = self.base;
        self.hint = self.base;
    }

    /// Whether the head has been retransmitted (`tcp_any_retrans_done`).
    pub(super) fn head_was_resent(&self, tcb: &Tcb) -> bool {
        tcb.retrans_out > 0 || self.segments.front().is_some_and(|s| s.has(EVER_RETRANSMITTED))
    }

    /// The counts that the tags give: packets, SACKed, lost, retransmissions out. For the tests.
    #[cfg(test)]
    pub(super) fn recount(&self) -> (u32, u32, u32, u32) {
        let count = |tag| self.segments.iter().filter(|s| s.has(tag)).count() as u32;
        (self.segments.len() as u32, count(SACKED), count(LOST), count(RETRANSMITTED))
    }
}
