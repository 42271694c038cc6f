//! The retransmission queue and what is known of each segment in it: SACKed, lost, retransmitted (RFC 6675's
//! scoreboard with Linux's tags), and the rules by which SACK blocks and RACK (RFC 8985) change the tags.
//!
//! Invariants: the counts in the [`View`] (`packets_out`, `sacked_out`, `lost_out`, `retrans_out`) are at all
//! times what counting the tags would give; a SACKed segment is never lost.
//!
//! The trick: segments never sent twice are in order of both number and time, so RACK needs no list sorted by
//! time: a cursor walks the originals, and a short queue holds the retransmissions in the order they left.

use super::rate::{AckRate, RateEstimator, SentState};
use crate::cc::{LostSegment, SegmentState, View};
use crate::rate_sample::micros_between;
use crate::segment::{Ack, Block, SACK_BLOCKS, Seq, after, before, clock_ms};
use sojourn_units::Time;
use std::collections::VecDeque;
use std::vec;

/// Of spans of segments, start before end as one number: the one that is none, after all others.
const EMPTY: u64 = u64::MAX;
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
/// RACK has found its latest transmission lost, and does not look at it again until it is sent again.
const JUDGED: u8 = 32;
/// The application was pausing when it last left.
const APP_LIMITED: u8 = 64;

/// A segment that is sent and not cumulatively acknowledged: 32 bytes, two in a cache line.
#[derive(Clone, Copy, Debug)]
struct Segment {
    sent: Time,
    /// With `delivered_at` and `delivered`: [`SentState`].
    first_sent: Time,
    delivered_at: Time,
    delivered: u32,
    /// Payload, bytes.
    len: u16,
    tags: u8,
}

impl Segment {
    #[inline]
    fn new(sent: Time, state: SentState, len: u16) -> Self {
        let SentState { first_sent, delivered_at, delivered, app_limited } = state;
        let tags = if app_limited { APP_LIMITED } else { 0 };
        Self { sent, first_sent, delivered_at, delivered, len, tags }
    }

    #[inline]
    fn has(&self, tags: u8) -> bool {
        self.tags & tags != 0
    }

    /// What the rate estimator had noted when it last left.
    #[inline]
    fn state(&self) -> SentState {
        SentState {
            first_sent: self.first_sent,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            app_limited: self.has(APP_LIMITED),
        }
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
    fn advance(
        &mut self,
        now: Time,
        min_rtt_us: u32,
        seq: Seq,
        sent: Time,
        ever_retransmitted: bool,
    ) {
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

/// What the scoreboard needs of the sender to take an ACK in, and what it finds out.
#[derive(Debug)]
pub(super) struct SackCtx<'a> {
    pub(super) view: &'a mut View,
    pub(super) estimator: &'a mut RateEstimator,
    pub(super) undo: &'a mut Undo,
    /// Recovery point.
    pub(super) high_seq: Seq,
    /// Where a tail-loss probe ended, if one is out.
    pub(super) tlp: Option<Seq>,
    /// Echo of the ACK's timestamp, and what is added to the clock that it echoes.
    pub(super) tsecr: u32,
    pub(super) clock_offset_ms: u32,
    pub(super) news: &'a mut AckSummary,
}

/// The contents of an ACK, gathered while the scoreboard takes it in.
#[derive(Clone, Debug, Default)]
pub(super) struct AckSummary {
    /// Rate sample in the making.
    pub(super) rate: AckRate,
    /// Segments newly SACKed.
    pub(super) newly_sacked: u32,
    /// Segments reported as duplicates.
    pub(super) duplicates: u32,
    /// Segments newly acknowledged cumulatively.
    pub(super) newly_acked: u32,
    /// Payload of the last of them.
    pub(super) last_len: u16,
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
    /// Whether a duplicate was reported, and believed.
    pub(super) dsack: bool,
    /// Whether the duplicate is the tail-loss probe's.
    pub(super) dsack_tlp: bool,
    /// Lowest segment that was delivered out of order, if any.
    reordered: Option<Seq>,
}

impl AckSummary {
    /// Segments that this ACK delivered (`tcp_newly_delivered`): a duplicate is a delivery too.
    pub(super) fn delivered(&self) -> u32 {
        self.newly_sacked + self.duplicates + self.newly_acked - self.acked_sacked
    }
}

/// The retransmission queue.
#[derive(Clone, Debug)]
pub(super) struct Scoreboard {
    segments: VecDeque<Segment>,
    /// Number of the first in `segments`; equals `view.una`.
    base: Seq,
    /// Payload of them all.
    bytes: u64,
    /// Retransmissions in the order they left; entries that no longer hold are skipped.
    resent: VecDeque<(Time, Seq)>,
    /// No segment below is an original that could still be found lost.
    fresh: Seq,
    /// No segment below is lost and waiting to be retransmitted.
    hint: Seq,
    /// One past the highest SACKed segment.
    fack: Seq,
    /// The SACK blocks of the last ACK, with segments that are known.
    seen: [Block; SACK_BLOCKS],
    tracked: Option<Box<Tracked>>,
    pub(super) rack: Rack,
    /// Reordering degree in segments (`tp->reordering`).
    pub(super) reordering: u32,
    /// Times that reordering was seen.
    pub(super) reorderings: u32,
}

/// Of a segment that leaves now and is not counted yet.
fn segment_state(view: &View) -> SegmentState {
    SegmentState {
        in_flight: view.in_flight() + 1,
        lost: view.lost,
        delivered_ce: view.delivered_ce,
    }
}

/// The state that the scoreboard keeps with segments for a control that asks for it.
#[derive(Clone, Debug, Default)]
struct Tracked {
    /// Of each segment in the queue, in its order.
    sent: VecDeque<SegmentState>,
    /// Of the newest segment that the last ACK with deliveries has delivered.
    newest: SegmentState,
    /// Segments taken for lost that the control has not heard of.
    lost: Vec<LostSegment>,
}

impl Tracked {
    /// Deliveries have been taken in while the queue began with `base`; the newest is known by now.
    fn note_newest(&mut self, rate: &AckRate, base: Seq) {
        if let Some(seq) = rate.newest() {
            self.newest = self.sent[seq.wrapping_sub(base) as usize];
        }
    }
}

/// Segments that there is room for at first: an initial window of ten, rounded up.
const FIRST_CAPACITY: usize = 16;
/// A ring that is larger than that gives room back when no more than one in this number of places is in use.
const ROOMY: usize = 4;

/// Reordering assumed at first (`net.ipv4.tcp_reordering`), which is also the duplicate-ACK threshold.
pub(super) const REORDERING: u32 = 3;
/// Reordering never taken to be more than this (`net.ipv4.tcp_max_reordering`).
const MAX_REORDERING: u32 = 300;

/// What has to be known to tell from duplicates that a reduction was for nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    /// Segment from which on retransmissions count (`undo_marker`); `None` when there is nothing to undo.
    pub(super) marker: Option<Seq>,
    /// Retransmissions not yet reported as duplicates (`undo_retrans`); negative when there were none.
    pub(super) retransmissions: i32,
    /// Retransmissions ever (`total_retrans`).
    pub(super) resent: u64,
    /// Duplicates ever reported (`dsack_dups`).
    pub(super) duplicates: u64,
}

impl Scoreboard {
    pub(super) fn new() -> Self {
        Self {
            segments: VecDeque::with_capacity(FIRST_CAPACITY),
            base: 0,
            bytes: 0,
            resent: VecDeque::new(),
            fresh: 0,
            hint: 0,
            fack: 0,
            seen: [Block::default(); SACK_BLOCKS],
            tracked: None,
            rack: Rack::default(),
            reordering: REORDERING,
            reorderings: 0,
        }
    }

    /// Keeps a [`SegmentState`] with each segment from now on, and notes which are lost. Nothing has been sent.
    pub(super) fn track(&mut self) {
        debug_assert!(self.segments.is_empty());
        self.tracked = Some(Box::default());
    }

    /// Whether a [`SegmentState`] is kept with each segment.
    #[inline]
    pub(super) fn is_tracking(&self) -> bool {
        self.tracked.is_some()
    }

    /// The segments taken for lost since this was last asked, if they are noted.
    #[inline]
    pub(super) fn newly_lost(&mut self) -> Option<vec::Drain<'_, LostSegment>> {
        self.tracked.as_mut().map(|tracked| tracked.lost.drain(..))
    }

    /// What was kept with the segment that the ACK's rate sample is of. The ACK has delivered something.
    #[inline]
    pub(super) fn newest_sent(&self) -> Option<SegmentState> {
        self.tracked.as_ref().map(|tracked| tracked.newest)
    }

    /// Whether the application was pausing when a segment last left.
    pub(super) fn was_app_limited(&self, seq: Seq) -> bool {
        self.get(seq).has(APP_LIMITED)
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
    pub(super) fn highest_sacked(&self, view: &View) -> Seq {
        if view.sacked_out == 0 { view.una } else { self.fack }
    }

    /// Payload of all that is sent and not cumulatively acknowledged.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Payload of a segment, which it has whenever it is sent.
    pub(super) fn len(&self, seq: Seq) -> u16 {
        self.get(seq).len
    }

    /// A new segment of `len` bytes has left.
    #[inline]
    pub(super) fn push(&mut self, view: &mut View, state: SentState, len: u16) {
        self.segments.push_back(Segment::new(view.now, state, len));
        if let Some(tracked) = &mut self.tracked {
            tracked.sent.push_back(segment_state(view));
        }
        self.bytes += u64::from(len);
        view.packets_out += 1;
        view.nxt = view.nxt.wrapping_add(1);
    }

    /// When the oldest segment was (last) sent.
    pub(super) fn head_sent(&self) -> Option<Time> {
        self.segments.front().map(|s| s.sent)
    }

    /// A segment has been retransmitted now. A tail-loss probe is not `counted` among the retransmissions that are
    /// out: nothing is known to be lost yet (`tcp_send_loss_probe` calls `__tcp_retransmit_skb`).
    pub(super) fn mark_resent(
        &mut self,
        view: &mut View,
        seq: Seq,
        state: SentState,
        counted: bool,
    ) {
        let now = view.now;
        if let Some(tracked) = &mut self.tracked {
            tracked.sent[seq.wrapping_sub(self.base) as usize] = segment_state(view);
        }
        let s = self.get_mut(seq);
        let tags = s.tags & !(RATE_USED | JUDGED | APP_LIMITED);
        *s = Segment::new(now, state, s.len);
        s.tags |= tags | EVER_RETRANSMITTED;
        if counted && !s.has(RETRANSMITTED) {
            s.tags |= RETRANSMITTED;
            view.retrans_out += 1;
        }
        self.resent.push_back((now, seq));
    }

    /// The lowest segment that is lost and not retransmitted.
    pub(super) fn next_lost(&mut self, view: &View) -> Option<Seq> {
        if view.retrans_out >= view.lost_out {
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
    pub(super) fn take_sack(&mut self, ack: &Ack, recovering_loss: bool, t: &mut SackCtx<'_>) {
        let duplicate = ack.sacked().first().filter(|_| ack.dsack).copied();
        let duplicate = duplicate.filter(|d| self.note_duplicate(*d, t));
        // From `base` on, in order of where they start; which block is where cannot be predicted, so nothing branches.
        let len = self.segments.len() as u32;
        let offset = |seq: Seq| (seq.wrapping_sub(self.base) as i32).clamp(0, len as i32) as u32;
        let mut spans = [EMPTY; SACK_BLOCKS];
        for (b, span) in ack.sacked()[usize::from(ack.dsack)..].iter().zip(&mut spans) {
            let (start, end) = (offset(b.start), offset(b.end));
            *span = if start < end { u64::from(start) << 32 | u64::from(end) } else { EMPTY };
        }
        let [a, b, c] = spans;
        let (a, b) = (a.min(b), a.max(b));
        let (b, c) = (b.min(c), b.max(c));
        let spans = [a.min(b), a.max(b), c];
        let n = spans.iter().take_while(|span| **span != EMPTY).count();
        let at = |offset: u32| self.base.wrapping_add(offset);
        let blocks =
            spans.map(|span| Block { start: at((span >> 32) as u32), end: at(span as u32) });
        let blocks = &blocks[..n];
        let seen = self.seen;
        for b in blocks {
            self.take_block(*b, &seen, t);
        }
        self.seen = [Block::default(); SACK_BLOCKS];
        self.seen[..n].copy_from_slice(blocks);
        if let Some(d) = duplicate {
            self.settle_duplicate(d, t);
        }
        if let Some(tracked) = &mut self.tracked {
            tracked.note_newest(&t.news.rate, self.base);
        }
        // In Loss, retransmissions are too many to tell reordering from them.
        if let Some(low) = t.news.reordered
            && (!recovering_loss || t.undo.marker.is_some())
        {
            self.note_reordering(low, t.view);
        }
    }

    /// Tags what a block covers and the blocks of the ACK before did not.
    fn take_block(&mut self, block: Block, seen: &[Block; SACK_BLOCKS], t: &mut SackCtx<'_>) {
        let mut seq = block.start;
        while before(seq, block.end) {
            // All are looked at: which one it is cannot be predicted. They do not overlap.
            let known = seen.iter().fold(seq, |known, k| {
                let inside = !before(seq, k.start) & before(seq, k.end);
                if inside { k.end } else { known }
            });
            if known != seq {
                seq = known;
                continue;
            }
            self.tag_sacked(seq, t);
            seq = seq.wrapping_add(1);
        }
    }

    /// `tcp_sacktag_one`.
    fn tag_sacked(&mut self, seq: Seq, t: &mut SackCtx<'_>) {
        let highest = self.highest_sacked(t.view);
        let index = seq.wrapping_sub(self.base) as usize;
        let s = &mut self.segments[index];
        if s.has(SACKED) {
            return;
        }
        self.rack.advance(t.view.now, t.view.rtt.min_us(), seq, s.sent, s.has(EVER_RETRANSMITTED));
        if s.has(RETRANSMITTED) {
            // Only a segment still taken for lost was being repaired; else the repair is still on its way.
            if s.has(LOST) {
                s.tags &= !(LOST | RETRANSMITTED);
                t.view.lost_out -= 1;
                t.view.retrans_out -= 1;
            }
        } else {
            if !s.has(EVER_RETRANSMITTED) {
                if before(seq, highest) && t.news.reordered.is_none_or(|r| before(seq, r)) {
                    t.news.reordered = Some(seq);
                }
                t.news.original_delivered |= before(seq, t.high_seq);
                let first = t.news.sacked_sent.map_or(s.sent, |x| x.0);
                t.news.sacked_sent = Some((first, s.sent));
            }
            if s.has(LOST) {
                s.tags &= !LOST;
                t.view.lost_out -= 1;
            }
        }
        s.tags |= SACKED;
        t.view.sacked_out += 1;
        t.news.newly_sacked += 1;
        if !s.has(RATE_USED) {
            t.estimator.on_delivered(seq, s.sent, &s.state(), &mut t.news.rate);
            s.tags |= RATE_USED;
        }
        let next = seq.wrapping_add(1);
        if t.view.sacked_out == 1 || after(next, self.fack) {
            self.fack = next;
        }
    }

    /// A duplicate was reported (RFC 2883; `tcp_check_dsack`, `tcp_dsack_seen`): a retransmission was not needed.
    /// False if it is not believed: more duplicates than retransmissions are the network's, not ours. (Linux 5.4
    /// still believes them all.)
    fn note_duplicate(&mut self, block: Block, t: &mut SackCtx<'_>) -> bool {
        let count = block.end.wrapping_sub(block.start);
        t.news.dsack_tlp = count == 1 && t.tlp == Some(block.end);
        t.undo.duplicates += u64::from(count);
        if t.undo.duplicates > t.undo.resent {
            return false;
        }
        t.news.dsack = true;
        t.news.duplicates += count;
        let counts = |end| t.undo.marker.is_some_and(|m| after(end, m));
        if !after(block.end, self.base) {
            // Of data that has been forgotten: count without looking.
            if t.undo.retransmissions > 0 && counts(block.end) {
                t.undo.retransmissions = (t.undo.retransmissions - count as i32).max(0);
            }
            return true;
        }
        for seq in self.known(block) {
            let s = self.get(seq);
            if s.has(EVER_RETRANSMITTED) {
                if t.undo.retransmissions > 0 && counts(seq.wrapping_add(1)) {
                    t.undo.retransmissions -= 1;
                }
                // Delivered, and delivered again out of order: the original was late.
                if s.has(SACKED) && t.news.reordered.is_none_or(|r| before(seq, r)) {
                    t.news.reordered = Some(seq);
                }
            }
        }
        true
    }

    /// A segment that a duplicate repeats is no longer on its way.
    fn settle_duplicate(&mut self, block: Block, t: &mut SackCtx<'_>) {
        for seq in self.known(block) {
            let s = self.get_mut(seq);
            if s.has(RETRANSMITTED) && s.has(SACKED) {
                s.tags &= !RETRANSMITTED;
                t.view.retrans_out -= 1;
            }
        }
    }

    /// The segments of a block that are in the queue.
    fn known(&self, block: Block) -> impl Iterator<Item = Seq> + use<> {
        let (base, len) = (self.base, self.segments.len() as u32);
        let from = if before(block.start, base) { 0 } else { block.start.wrapping_sub(base) };
        let to = if after(block.end, base) { block.end.wrapping_sub(base).min(len) } else { 0 };
        (from..to).map(move |i| base.wrapping_add(i))
    }

    /// Takes off what an ACK acknowledges (`tcp_clean_rtx_queue`).
    pub(super) fn acknowledge(&mut self, ack: Seq, prior_fack: Seq, t: &mut SackCtx<'_>) {
        let (mut lowest_original, min_rtt, now) = (None, t.view.rtt.min_us(), t.view.now);
        let (mut bytes, mut last_len) = (0, 0);
        while before(self.base, ack) {
            let Some(s) = self.segments.pop_front() else { break };
            let seq = self.base;
            if s.tags & !APP_LIMITED == 0 {
                // The common way: sent once, neither SACKed nor lost.
                let first = t.news.acked_sent.map_or(s.sent, |x| x.0);
                t.news.acked_sent = Some((first, s.sent));
                lowest_original.get_or_insert(seq);
                t.news.original_delivered |= before(seq, t.high_seq);
                self.rack.advance(now, min_rtt, seq, s.sent, false);
            } else {
                self.acknowledge_tagged(seq, &s, &mut lowest_original, t);
            }
            if !s.has(RATE_USED) {
                t.estimator.on_delivered(seq, s.sent, &s.state(), &mut t.news.rate);
            }
            bytes += u64::from(s.len);
            last_len = s.len;
            self.base = self.base.wrapping_add(1);
        }
        if self.segments.len() * ROOMY <= self.segments.capacity() {
            self.give_room_back();
        }
        let acked = self.base.wrapping_sub(t.view.una);
        self.bytes -= bytes;
        t.view.packets_out -= acked;
        t.news.newly_acked += acked;
        t.news.last_len = last_len;
        if let Some(tracked) = &mut self.tracked {
            tracked.note_newest(&t.news.rate, t.view.una);
            tracked.sent.drain(..self.base.wrapping_sub(t.view.una) as usize);
        }
        t.view.una = self.base;
        while self.resent.front().is_some_and(|(_, seq)| before(*seq, self.base)) {
            self.resent.pop_front();
        }
        if let Some(low) = lowest_original
            && before(low, prior_fack)
        {
            self.note_reordering(low, t.view);
        }
    }

    /// A window that has come down leaves a ring that is walked all around, every place of it a miss of the cache.
    #[cold]
    fn give_room_back(&mut self) {
        let room = (self.segments.len() * ROOMY / 2).max(FIRST_CAPACITY);
        if room < self.segments.capacity() {
            self.segments.shrink_to(room);
        }
    }

    fn acknowledge_tagged(
        &mut self,
        seq: Seq,
        s: &Segment,
        lowest_original: &mut Option<Seq>,
        t: &mut SackCtx<'_>,
    ) {
        if s.has(EVER_RETRANSMITTED) {
            if s.has(RETRANSMITTED) {
                t.view.retrans_out -= 1;
            }
            t.news.retransmitted_acked = true;
        } else if !s.has(SACKED) {
            let first = t.news.acked_sent.map_or(s.sent, |x| x.0);
            t.news.acked_sent = Some((first, s.sent));
            lowest_original.get_or_insert(seq);
            t.news.original_delivered |= before(seq, t.high_seq);
        }
        if s.has(SACKED) {
            t.view.sacked_out -= 1;
            t.news.acked_sacked += 1;
        } else {
            let ever = s.has(EVER_RETRANSMITTED);
            // An echo older than the retransmission: the original has arrived, which says nothing of what was sent
            // around the retransmission (`tcp_skb_spurious_retrans`).
            let spurious = ever && before(t.tsecr, clock_ms(s.sent, t.clock_offset_ms));
            if !spurious {
                self.rack.advance(t.view.now, t.view.rtt.min_us(), seq, s.sent, ever);
            }
        }
        if s.has(LOST) {
            t.view.lost_out -= 1;
        }
    }

    /// An original numbered `low` came after the highest one that has (`tcp_check_sack_reordering`).
    pub(super) fn note_reordering(&mut self, low: Seq, view: &View) {
        let fack = self.highest_sacked(view);
        if !before(low, fack) {
            return;
        }
        let degree = fack.wrapping_sub(low);
        if degree > self.reordering {
            self.reordering = degree.min(MAX_REORDERING);
        }
        self.reorderings += 1;
    }

    /// A segment has just been counted as lost: notes it for the control, if that asked for it.
    fn note_lost(&mut self, view: &View, seq: Seq) {
        let index = seq.wrapping_sub(self.base) as usize;
        let Some(tracked) = &mut self.tracked else { return };
        tracked.lost.push(LostSegment {
            seq,
            sent: tracked.sent[index],
            app_limited: self.segments[index].has(APP_LIMITED),
            lost: view.lost,
        });
    }

    /// Takes a segment for lost (`tcp_mark_skb_lost`).
    fn mark_lost(&mut self, view: &mut View, seq: Seq) {
        let s = self.get_mut(seq);
        if s.has(SACKED) {
            return;
        }
        let newly = if s.has(LOST) {
            let again = s.has(RETRANSMITTED);
            if again {
                s.tags &= !RETRANSMITTED;
                view.retrans_out -= 1;
            }
            again
        } else {
            s.tags |= LOST;
            view.lost_out += 1;
            true
        };
        if newly {
            view.lost += 1;
            self.note_lost(view, seq);
        }
        if before(seq, self.hint) {
            self.hint = seq;
        }
    }

    /// RACK's verdict. It stands until the segment is sent again, also when the loss is forgotten in an undo: the
    /// kernel takes the segment off the list that RACK walks.
    fn judge_lost(&mut self, view: &mut View, seq: Seq) {
        self.mark_lost(view, seq);
        self.get_mut(seq).tags |= JUDGED;
    }

    /// RACK (RFC 8985 §6.2 step 5, `tcp_rack_detect_loss`): segments sent a round trip and `reo_wnd_us` before the
    /// newest delivery, and has not been delivered itself, is lost. Returns the longest time, in microseconds,
    /// that a candidate still has; zero when there is none.
    pub(super) fn detect_loss(&mut self, view: &mut View, reo_wnd_us: u32) -> u32 {
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
            if !s.has(SACKED | LOST | EVER_RETRANSMITTED | JUDGED) {
                if !sent_after(sent, s.sent, end, seq.wrapping_add(1)) {
                    break;
                }
                let left = remaining(view.now, &s);
                if left <= 0 {
                    self.judge_lost(view, seq);
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
                s.sent != at || s.has(SACKED | JUDGED) || (s.has(LOST) && !s.has(RETRANSMITTED))
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
            let left = remaining(view.now, self.get(seq));
            if left <= 0 {
                self.judge_lost(view, seq);
            } else {
                longest = longest.max(left);
            }
            i += 1;
        }
        longest.max(0) as u32
    }

    /// The timer fired: all is lost but what RACK says was sent too recently (`tcp_timeout_mark_lost`). The head is
    /// lost in any case.
    pub(super) fn mark_all_lost(&mut self, view: &mut View) {
        let limit = i64::from(self.rack.rtt_us);
        let mut seq = self.base;
        while before(seq, self.end()) {
            let s = self.get(seq);
            let recent = limit > i64::from(micros_between(view.now, s.sent));
            if seq == self.base || !recent {
                self.mark_lost(view, seq);
            }
            seq = seq.wrapping_add(1);
        }
        self.hint = self.base;
    }

    /// Nothing is taken for lost any more (`tcp_undo_cwnd_reduction` with `unmark_loss`).
    pub(super) fn forget_losses(&mut self, view: &mut View) {
        for s in &mut self.segments {
            s.tags &= !LOST;
        }
        view.lost_out = 0;
        self.fresh = self.base;
        self.hint = self.base;
    }

    /// A timeout although enough was SACKed: reordering was overestimated (`tcp_enter_loss`).
    pub(super) fn forget_reordering(&mut self) {
        self.reordering = self.reordering.min(REORDERING);
    }

    /// Whether a retransmission is out, or the head has been retransmitted (`tcp_any_retrans_done`).
    pub(super) fn head_was_resent(&self, view: &View) -> bool {
        view.retrans_out > 0 || self.segments.front().is_some_and(|s| s.has(EVER_RETRANSMITTED))
    }

    /// Bytes that the ring of segments takes.
    #[cfg(test)]
    pub(super) fn bytes_held(&self) -> usize {
        self.segments.capacity() * size_of::<Segment>()
    }

    /// What counting the tags gives. For the tests.
    #[cfg(test)]
    pub(super) fn recount(&self) -> Recount {
        let count = |tag| self.segments.iter().filter(|s| s.has(tag)).count() as u32;
        Recount {
            packets: self.segments.len() as u32,
            sacked: count(SACKED),
            lost: count(LOST),
            retransmitted: count(RETRANSMITTED),
            sacked_and_lost: self.segments.iter().filter(|s| s.tags & 3 == 3).count() as u32,
        }
    }

    /// The tags of the segments in flight, for the tests: `S`, `L`, `R`, or a dot.
    #[cfg(test)]
    pub(super) fn picture(&self) -> String {
        let tag = |s: &Segment, tag, c: char| if s.has(tag) { Some(c) } else { None };
        let one = |s: &Segment| -> String {
            let tags = [(SACKED, 'S'), (LOST, 'L'), (RETRANSMITTED, 'R')];
            let text: String = tags.iter().filter_map(|&(t, c)| tag(s, t, c)).collect();
            if text.is_empty() { ".".to_owned() } else { text }
        };
        self.segments.iter().map(one).collect::<Vec<_>>().join(" ")
    }
}

/// The counts that the tags give.
#[cfg(test)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Recount {
    pub(super) packets: u32,
    pub(super) sacked: u32,
    pub(super) lost: u32,
    pub(super) retransmitted: u32,
    pub(super) sacked_and_lost: u32,
}
