//! The receiving half of a Linux TCP connection, without I/O: reassembly, SACK blocks (RFC 2018, RFC 2883),
//! when to acknowledge (`__tcp_ack_snd_check` in `net/ipv4/tcp_input.c`), and the echo of ECN marks (RFC 3168).
//!
//! The application reads at once. Every segment is acknowledged on its own or with the next one: the host
//! merges nothing (GRO off, as in the published testbeds).
//!
//! Where Linux and RFC 2018 differ: the kernel keeps four blocks; one that it has forgotten starts over with the next
//! adjacent segment. Here it is reported whole, as the RFC asks.

mod delayed_ack;
mod reassembly;
mod segment_size;
mod window;

#[cfg(test)]
mod tests;

use crate::ecn::{self, AckUrgency, Echo, EcnRequirements, EctPolicy, Flags, Turn};
use crate::segment::{Ack, Block, Data, Handshake, SACK_BLOCKS, Seq, before};
use crate::stack::TcpQuirks;
use delayed_ack::DelayedAck;
use reassembly::{Arrival, Reassembly};
use segment_size::SegmentSize;
use sojourn_units::{Ecn, Span, Time};
use window::Window;
pub use window::WindowPolicy;

/// Duplicate ACKs sent at once before SACKs are compressed (`TCP_FASTRETRANS_THRESH`).
const DUPLICATES_AT_ONCE: u32 = 3;
/// Most ACKs that one compressed ACK stands for (`net.ipv4.tcp_comp_sack_nr`).
const COMPRESSED_MOST: u32 = 44;
/// Longest that a compressed ACK waits (`net.ipv4.tcp_comp_sack_delay_ns`).
const COMPRESSED_WAIT: Span = Span::from_millis(1);

/// A TCP receiver.
///
/// What every segment touches stands together, behind what only disorder and the handshake need.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Receiver {
    /// Segments that came out of order below full size, and the bytes they lack: the last of what was written.
    short: Vec<(Seq, u32)>,
    compressed_sack_percent: u64,
    /// See [`TcpQuirks::sack_blocks_kept`].
    sack_blocks_kept: usize,
    duplicates: u32,
    duplicates_at: Seq,
    /// The flags of the SYN/ACK.
    answer: Flags,
    /// Whether a SYN has come.
    opened: bool,
    mss: u32,
    /// Blocks to report, most recent first.
    recent: [Block; SACK_BLOCKS + 1],
    /// An ACK that has to leave before the one that is answered with.
    earlier: Option<Ack>,
    recent_len: usize,
    /// When the SYN was answered, until the handshake ends.
    answered: Option<Time>,
    reassembly: Reassembly,
    duplicate: Option<Block>,
    compressed: u32,
    next: Seq,
    /// What the last ACK acknowledged (`rcv_wup`, by segments).
    last_acked: Seq,
    /// Bytes that have come in order since.
    unacknowledged: u32,
    /// What is echoed (`ts_recent`).
    tsecr: u32,
    clock_offset_ms: u32,
    segment_size: SegmentSize,
    delivered_bytes: u64,
    ce_packets: u64,
    echo: Echo,
    ect: EctPolicy,
    has_accecn: bool,
    window: Window,
    delayed: DelayedAck,
    compress_at: Time,
}

impl Receiver {
    /// A listening receiver of this stack; `clock_offset_ms` is added to its timestamp clock.
    pub fn new(mss: u32, policy: WindowPolicy, quirks: &TcpQuirks, clock_offset_ms: u32) -> Self {
        Self {
            next: 0,
            reassembly: Reassembly::default(),
            recent: [Block::default(); SACK_BLOCKS + 1],
            recent_len: 0,
            duplicate: None,
            delayed: DelayedAck::new(quirks.hz),
            window: Window::new(policy, mss, quirks),
            last_acked: 0,
            unacknowledged: 0,
            segment_size: SegmentSize::new(mss, quirks.acks_push),
            echo: Echo::new(quirks.acks_ecn_change, quirks.echoes_sce, quirks.accecn_option),
            ect: EctPolicy::new(&EcnRequirements::NONE, None),
            has_accecn: quirks.ecn == ecn::Request::AccEcn,
            earlier: None,
            compressed: 0,
            compress_at: Time::NEVER,
            duplicates: 0,
            duplicates_at: 0,
            compressed_sack_percent: u64::from(quirks.compressed_sack_percent),
            sack_blocks_kept: quirks.sack_blocks_kept,
            mss,
            tsecr: 0,
            answer: Flags::default(),
            answered: None,
            opened: false,
            short: Vec::new(),
            clock_offset_ms,
            delivered_bytes: 0,
            ce_packets: 0,
        }
    }

    /// Makes it the peer of a sender with these needs and this request: the testbeds gave both ends the same
    /// congestion control and the same settings.
    #[must_use]
    pub fn facing(
        mut self,
        needs: &EcnRequirements,
        request: ecn::Request,
        codepoint: Option<Ecn>,
    ) -> Self {
        self.ect = EctPolicy::new(needs, codepoint);
        self.echo.exact = needs.exact_echo;
        self.echo.sce |= needs.echo_sce;
        self.has_accecn |= request == ecn::Request::AccEcn;
        self
    }

    /// Sets whether it echoes ECT(1) as SCE (`net.ipv4.tcp_sce`), whatever its stack and its peer's control say.
    #[must_use]
    pub fn echoing_sce(mut self, echoes: bool) -> Self {
        self.echo.sce = echoes;
        self
    }

    /// Makes it the receiving half of the end that opened the connection: its SYN was answered now, with this clock and
    /// this agreement about ECN.
    pub fn connected(&mut self, agreed: ecn::Agreed, peer_clock: u32) {
        self.opened = true;
        self.echo.agreed = agreed;
        self.tsecr = peer_clock;
    }

    /// What has been agreed about ECN.
    pub fn ecn_agreed(&self) -> ecn::Agreed {
        self.echo.agreed
    }

    /// The window that it begins with, bytes.
    pub fn initial_window(&self) -> u32 {
        self.window.initial()
    }

    /// How long ago the SYN was answered, if that measures the round trip.
    pub fn since_answer(&self, now: Time) -> Option<Span> {
        self.answered.map(|at| now.since(at))
    }

    /// Answers a SYN that came with this ECN field. RFC 3168 is accepted whenever it is asked for (`tcp_ecn` 1 or 2).
    pub fn on_syn(&mut self, now: Time, syn: &Handshake, field: Ecn) -> Handshake {
        // A repeated SYN, which asks without ECN, changes nothing of what the first has agreed; and then the handshake
        // is no measure of the round trip.
        if self.opened {
            self.answered = None;
        } else {
            self.opened = true;
            (self.echo.agreed, self.answer) = ecn::accept(syn.ecn, field, self.has_accecn);
            self.answered = Some(now);
        }
        self.tsecr = syn.tsval;
        Handshake {
            ecn: self.answer,
            tsval: self.clock_ms(now),
            tsecr: syn.tsval,
            window: self.window.initial(),
            accecn: self.echo.has_option(),
        }
    }

    /// Payload bytes handed to the application, in order.
    pub fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }

    /// Payload bytes that have come out of order and wait for what is missing before them.
    pub fn out_of_order_bytes(&self) -> u64 {
        let full = u64::from(self.reassembly.held()) * u64::from(self.mss);
        full - self.short.iter().map(|&(_, missing)| u64::from(missing)).sum::<u64>()
    }

    /// Data packets that arrived marked CE.
    pub fn ce_packets(&self) -> u64 {
        self.ce_packets
    }

    /// The ECN field of its ACKs.
    #[inline]
    pub fn ack_field(&self) -> Ecn {
        self.ect.other(self.echo.agreed)
    }

    /// An ACK that has to leave before the one that [`Receiver::on_data`] has just returned.
    #[inline]
    pub fn take_earlier(&mut self) -> Option<Ack> {
        self.earlier.take()
    }

    /// The next segment wanted.
    pub fn next(&self) -> Seq {
        self.next
    }

    /// The window offered last, bytes.
    pub fn offered_window(&self) -> u32 {
        self.window.offered()
    }

    fn clock_ms(&self, now: Time) -> u32 {
        ((now.as_nanos() / 1_000_000) as u32).wrapping_add(self.clock_offset_ms)
    }

    /// When [`Receiver::on_timer`] wants to be called.
    #[inline]
    pub fn next_timer(&self) -> Time {
        self.delayed.deadline().min(self.compress_at)
    }

    /// Takes a data segment; perhaps answers at once.
    #[inline]
    pub fn on_data(&mut self, now: Time, data: &Data, ecn: Ecn) -> Option<Ack> {
        if ecn == Ecn::Ce {
            self.ce_packets += 1;
        }
        if let Some(answered) = self.answered.take() {
            // The ACK that ends the handshake comes with the first data.
            self.delayed.measured(now.since(answered));
        }
        let clock = self.clock_ms(now);
        let old = before(data.tsval.wrapping_add(1), self.tsecr);
        if old || before(data.seq.wrapping_add(1), self.last_acked) {
            return Some(self.refuse(now, data));
        }
        if !before(self.last_acked, data.seq) && !before(data.tsval, self.tsecr) {
            self.tsecr = data.tsval;
        }
        self.window.measure(now, data, clock);
        if self.echo.count(ecn) == AckUrgency::Now || (data.cwr && self.echo.heard_cwr()) {
            self.delayed.acknowledge_now();
        }
        if data.seq == self.next && self.reassembly.is_empty() {
            // The common way: in order, nothing missing.
            self.turn(now, ecn);
            self.next = self.next.wrapping_add(1);
            self.note_arrival(now, data, ecn);
            self.deliver(now, data, 1);
            return self.acknowledge(now, false);
        }
        self.on_disorder(now, data, ecn)
    }

    /// Old by its timestamp, a copy that a retransmission has overtaken (PAWS, RFC 7323 §5), or by its number, wholly below
    /// the last acknowledgement (`tcp_sequence`). Nothing of it is taken, its timestamp neither; it is acknowledged at once
    /// (`tcp_send_dupack`).
    fn refuse(&mut self, now: Time, data: &Data) -> Ack {
        if before(data.seq, self.next) {
            self.quicken();
            self.duplicate = Some(Block { start: data.seq, end: data.seq.wrapping_add(1) });
        }
        self.ack(now)
    }

    fn quicken(&mut self) {
        let quick = self.window.quick_acks(self.segment_size.get());
        self.delayed.quicken(quick.min(delayed_ack::MAX_QUICK_ACKS));
    }

    /// The next segment in order has come (`tcp_event_data_recv`).
    #[inline]
    fn note_arrival(&mut self, now: Time, data: &Data, ecn: Ecn) {
        if self.segment_size.is_news(data) {
            self.window.weigh(data);
        }
        let is_end = self.segment_size.measure(data);
        self.delayed.on_data(now, self.window.quick_acks(self.segment_size.get()));
        self.note_ecn(ecn);
        if self.window.grow(data, self.reassembly.held()) {
            self.delayed.quicken_once();
        }
        if is_end {
            // The end of what there was to send, for all one knows: the application that reads it has it acknowledged
            // (`ICSK_ACK_PUSHED` in `tcp_measure_rcv_mss`, `tcp_cleanup_rbuf`).
            self.delayed.acknowledge_now();
        }
    }

    /// The application reads what is in order.
    fn deliver(&mut self, now: Time, data: &Data, segments: u32) {
        let mut bytes = u64::from(data.len) + u64::from(segments - 1) * u64::from(self.mss);
        if segments > 1 && !self.short.is_empty() {
            let next = self.next;
            self.short.retain(|&(seq, missing)| {
                let delivered = before(seq, next);
                bytes -= u64::from(if delivered { missing } else { 0 });
                !delivered
            });
        }
        self.delivered_bytes += bytes;
        self.unacknowledged += bytes as u32;
        let ahead = self.segments_ahead();
        self.window.on_read(now, bytes as u32, ahead);
    }

    /// Segments from the next one wanted to the end of what waits out of order.
    #[inline]
    fn segments_ahead(&self) -> u32 {
        self.reassembly.end().map_or(0, |end| end.wrapping_sub(self.next))
    }

    fn on_disorder(&mut self, now: Time, data: &Data, ecn: Ecn) -> Option<Ack> {
        let block = Block { start: data.seq, end: data.seq.wrapping_add(1) };
        if before(data.seq, self.next) {
            self.duplicate = Some(block);
            self.quicken();
            return Some(self.ack(now));
        }
        if data.seq == self.next {
            let end = self.reassembly.take_from(self.next.wrapping_add(1));
            let segments = end.wrapping_sub(self.next);
            self.turn(now, ecn);
            self.next = end;
            self.note_arrival(now, data, ecn);
            self.deliver(now, data, segments);
            self.forget_acknowledged();
            if self.reassembly.is_empty() {
                // RFC 5681 §4.2: a filled gap is acknowledged at once.
                self.delayed.acknowledge_now();
            }
            return self.acknowledge(now, true);
        }
        self.turn(now, ecn);
        self.note_ecn(ecn);
        let (range, new) = match self.reassembly.insert(data.seq) {
            Arrival::New(range) => (range, true),
            Arrival::Duplicate(range) => (range, false),
        };
        // An ACK held back is let go before its blocks are shifted out of what an ACK can tell
        // (`tcp_sack_compress_send_ack`).
        let flushed = (self.compressed > 0 && self.crowds_out(range)).then(|| self.ack(now));
        self.report(range);
        if new {
            if u32::from(data.len) < self.mss {
                self.short.push((data.seq, self.mss - u32::from(data.len)));
            }
            if self.window.grow(data, self.reassembly.held()) {
                self.delayed.quicken_once();
            }
            self.window.on_disorder(self.segments_ahead());
        } else {
            self.duplicate = Some(block);
        }
        self.acknowledge(now, true).or(flushed)
    }

    /// Whether reporting `range` would push one of the blocks that are to be kept further down.
    fn crowds_out(&self, range: Block) -> bool {
        let inside = |b: &Block| !before(b.start, range.start) && !before(range.end, b.end);
        let place = self.recent[..self.recent_len].iter().position(inside);
        place.unwrap_or(self.recent_len) >= self.sack_blocks_kept
    }

    /// Puts a range at the head of those to report.
    fn report(&mut self, range: Block) {
        // Mostly a hole is being waited for: the block reported last has grown by the segment that came. Any block
        // inside it now was inside it before.
        let latest = &mut self.recent[0];
        if self.recent_len > 0
            && latest.start == range.start
            && latest.end.wrapping_add(1) == range.end
        {
            latest.end = range.end;
            return;
        }
        let mut blocks = [Block::default(); SACK_BLOCKS + 1];
        blocks[0] = range;
        let mut n = 1;
        for b in &self.recent[..self.recent_len] {
            let inside = !before(b.start, range.start) && !before(range.end, b.end);
            if !inside && n < blocks.len() {
                blocks[n] = *b;
                n += 1;
            }
        }
        self.recent = blocks;
        self.recent_len = n;
    }

    fn forget_acknowledged(&mut self) {
        let mut n = 0;
        for i in 0..self.recent_len {
            if before(self.next, self.recent[i].end) {
                self.recent[n] = self.recent[i];
                n += 1;
            }
        }
        self.recent_len = n;
    }

    /// Before a packet with another mark than the last one's is taken, the earlier ones are acknowledged.
    #[inline]
    fn turn(&mut self, now: Time, ecn: Ecn) {
        let Some(Turn { before, then }) = self.echo.turn(ecn, self.delayed.is_waiting()) else {
            return;
        };
        if self.delayed.is_waiting() {
            self.earlier = Some(self.ack_with(now, before));
        }
        self.hurry(then);
    }

    /// What a data packet's ECN field asks of the next ACKs.
    #[inline]
    fn note_ecn(&mut self, ecn: Ecn) {
        let urge = self.echo.take(ecn);
        self.hurry(urge);
    }

    #[inline]
    fn hurry(&mut self, urge: AckUrgency) {
        match urge {
            AckUrgency::Nothing => {}
            AckUrgency::Quicken(n) => self.delayed.quicken(n),
            AckUrgency::Now => self.delayed.acknowledge_now(),
        }
    }

    /// Whether to acknowledge now, and if not, when (`__tcp_ack_snd_check`).
    #[inline]
    fn acknowledge(&mut self, now: Time, maybe_out_of_order: bool) -> Option<Ack> {
        let more = self.unacknowledged > self.segment_size.get();
        if more || self.delayed.is_quick() || self.delayed.is_due_now() {
            return Some(self.ack(now));
        }
        if !maybe_out_of_order || self.reassembly.is_empty() {
            return if self.delayed.schedule(now) { Some(self.ack(now)) } else { None };
        }
        if self.compressed >= COMPRESSED_MOST {
            return Some(self.ack(now));
        }
        if self.duplicates_at != self.next {
            self.duplicates_at = self.next;
            self.duplicates = 0;
        }
        if self.duplicates < DUPLICATES_AT_ONCE {
            self.duplicates += 1;
            return Some(self.ack(now));
        }
        self.compressed += 1;
        if self.compress_at.is_never() {
            // Of its two estimates of the round trip the kernel takes the smaller.
            let mut rtt = Span::from_micros(u64::from(self.window.rtt_us()));
            if !self.delayed.rtt().is_zero() {
                rtt = rtt.min(self.delayed.rtt());
            }
            let share = rtt * self.compressed_sack_percent / 100;
            self.compress_at = now + COMPRESSED_WAIT.min(share);
        }
        None
    }

    /// Builds an ACK and notes that it was sent.
    fn ack(&mut self, now: Time) -> Ack {
        let flags = self.echo.flags();
        self.ack_with(now, flags)
    }

    fn ack_with(&mut self, now: Time, flags: Flags) -> Ack {
        let mut ack = Ack {
            ack: self.next,
            window: self.window.select(self.reassembly.held()),
            tsval: self.clock_ms(now),
            tsecr: self.tsecr,
            ecn: flags,
            ..Ack::default()
        };
        if let Some(d) = self.duplicate.take() {
            ack.sack[0] = d;
            ack.blocks = 1;
            ack.dsack = true;
        }
        for b in &self.recent[..self.recent_len] {
            if usize::from(ack.blocks) == SACK_BLOCKS {
                break;
            }
            ack.sack[usize::from(ack.blocks)] = *b;
            ack.blocks += 1;
        }
        (ack.accecn, ack.blocks) = self.echo.take_option(ack.blocks);
        self.last_acked = self.next;
        self.unacknowledged = 0;
        self.compressed = 0;
        self.compress_at = Time::NEVER;
        self.delayed.on_sent();
        ack
    }

    /// The time that [`Receiver::next_timer`] named has come. Early calls do nothing.
    pub fn on_timer(&mut self, now: Time) -> Option<Ack> {
        if now >= self.compress_at {
            return Some(self.ack(now));
        }
        if self.delayed.fire(now) {
            return Some(self.ack(now));
        }
        None
    }
}
