//! The receive window: the part of its buffer that the kernel offers (`tcp_select_window`), how the offer grows with
//! arrivals (`tcp_grow_window`), and how the buffer grows with the application's reads in a round trip
//! (`tcp_rcv_space_adjust`, dynamic right-sizing).

use crate::segment::Data;
use crate::stack::{ReceiveTuning, TcpQuirks};
use sojourn_units::{Span, Time};

/// Memory that the kernel charges for a full-sized segment in a buffer of its own (`skb->truesize`): one that was cut from a
/// group. A share of 160/256 on Linux 7.3.4 shows it.
const TRUE_SIZE: u32 = 2304;
/// The same of one that was sent by itself; the share that follows is 162/256 from 2275 to 2288 bytes, as was seen.
const LONE_TRUE_SIZE: u32 = 2280;
/// Largest window that a SYN can offer: it is not scaled.
const UNSCALED_MOST: u32 = 65_535;
/// Smaller segments say nothing of how much a buffer can hold (`tcp_event_data_recv`).
const SMALLEST_THAT_COUNTS: u32 = 128;
/// Below this round trip a buffer grows little beyond what is read, microseconds (`net.ipv4.tcp_rcvbuf_low_rtt`).
const LOW_RTT_US: u64 = 1_000;
/// Offers are made in units of 2^7 bytes (the scale that a 6 MB buffer gives).
const SCALE: u32 = 128;

/// How the receive window is managed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowPolicy {
    /// The kernel's autotuning within the stack's `tcp_rmem`.
    Autotuned,
    /// A constant window of this many bytes.
    Fixed(u32),
}

#[derive(Clone, Debug)]
pub(super) struct Window {
    fixed: Option<u32>,
    mss: u32,
    tuning: ReceiveTuning,
    /// Of the buffer that is offered, in 1/256.
    share: u32,
    is_measured: bool,
    buffer: u32,
    buffer_most: u32,
    /// Window that the whole buffer stands for.
    clamp: u32,
    /// Window that arrivals have earned so far (`rcv_ssthresh`).
    earned: u32,
    /// Offered last, less what has arrived in order since.
    offered: u32,
    /// Bytes read in the last round trip (`rcvq_space.space`).
    read_space: u32,
    read: u64,
    read_at_start: u64,
    started: Time,
    rtt8_us: u32,
    last_echo: Option<u32>,
}

impl Window {
    pub(super) fn new(policy: WindowPolicy, mss: u32, quirks: &TcpQuirks) -> Self {
        let (buffer, buffer_most) = quirks.receive_buffer;
        let share = quirks.window_share;
        let clamp = from_space(buffer, share);
        let initial = clamp.min(UNSCALED_MOST) / mss * mss;
        Self {
            fixed: match policy {
                WindowPolicy::Autotuned => None,
                WindowPolicy::Fixed(bytes) => Some(bytes),
            },
            mss,
            tuning: quirks.receive_tuning,
            share,
            is_measured: quirks.window_share_measured,
            buffer,
            buffer_most,
            clamp,
            earned: initial,
            offered: initial,
            read_space: initial.min(10 * mss),
            read: 0,
            read_at_start: 0,
            started: Time::ZERO,
            rtt8_us: 0,
            last_echo: None,
        }
    }

    /// What the SYN/ACK offers.
    pub(super) fn initial(&self) -> u32 {
        self.fixed.map_or(self.offered, |w| w.min(UNSCALED_MOST))
    }

    pub(super) fn offered(&self) -> u32 {
        self.offered
    }

    #[cfg(test)]
    pub(super) fn buffer(&self) -> u32 {
        self.buffer
    }

    /// The receiver's estimate of the round trip, microseconds; zero before the first.
    pub(super) fn rtt_us(&self) -> u32 {
        self.rtt8_us >> 3
    }

    /// Quick ACKs that half the window is worth in segments of this size, two if that is none (`tcp_incr_quickack`).
    pub(super) fn quick_acks(&self, segment: u32) -> u32 {
        match self.offered / (2 * segment) {
            0 => 2,
            n => n,
        }
    }

    /// A data segment has arrived: its echo tells the round trip (`tcp_rcv_rtt_measure_ts`). The kernel also takes
    /// the time in which a whole window arrives, where that is less; it never is by more than the clock's
    /// millisecond.
    #[inline]
    pub(super) fn measure(&mut self, now: Time, data: &Data, clock_ms: u32) {
        if self.last_echo != Some(data.tsecr) && data.tsecr != 0 {
            self.last_echo = Some(data.tsecr);
            let waited = clock_ms.wrapping_sub(data.tsecr);
            match self.tuning {
                ReceiveTuning::Generous => self.sample_rtt(waited.max(1).saturating_mul(1000)),
                // Less than a tick tells nothing.
                ReceiveTuning::Exact if waited == 0 => {}
                ReceiveTuning::Exact => self.sample_least(waited.saturating_mul(1000)),
            }
        }
        if self.started == Time::ZERO {
            self.started = now;
        }
    }

    /// A segment is larger than all before: its memory decides from now on which share of the buffer is offered
    /// (`tcp_measure_rcv_mss`). The offer earned so far stays.
    pub(super) fn weigh(&mut self, data: &Data) {
        if self.is_measured {
            self.share = u32::from(data.len) * 256 / true_size(data);
            self.clamp = from_space(self.buffer, self.share);
            self.read_space = self.read_space.min(self.clamp);
        }
    }

    /// A data segment has been taken in, while `held` wait out of order: the window may grow by twice as much, but where its
    /// memory takes more of the window than it has payload, up to half of the largest window alone. True if it has
    /// (`tcp_grow_window`).
    #[inline]
    pub(super) fn grow(&mut self, data: &Data, held: u32) -> bool {
        if self.fixed.is_some() {
            return false;
        }
        let free = self.free(held).min(self.clamp);
        let len = u32::from(data.len);
        if self.earned >= free
            || len < SMALLEST_THAT_COUNTS
            || !self.may_grow_by(len, true_size(data))
        {
            return false;
        }
        self.earned += (free - self.earned).min(2 * self.mss);
        true
    }

    /// Whether a segment of this payload and memory has room in the window that there may come to be (`__tcp_grow_window`).
    fn may_grow_by(&self, len: u32, memory: u32) -> bool {
        let mut taken = from_space(memory, self.share);
        let mut window = from_space(self.buffer_most, self.share);
        if taken <= len {
            return true;
        }
        loop {
            (taken, window) = (taken / 2, window / 2);
            if self.earned > window {
                return false;
            }
            if taken <= len {
                return true;
            }
        }
    }

    /// A lower one is taken at once (`tcp_rcv_rtt_update` of 7.3).
    fn sample_least(&mut self, us: u32) {
        if us.saturating_mul(8) < self.rtt8_us {
            self.rtt8_us = 0;
        }
        self.sample_rtt(us);
    }

    fn sample_rtt(&mut self, us: u32) {
        self.rtt8_us = if self.rtt8_us == 0 {
            us << 3
        } else {
            (i64::from(self.rtt8_us) + i64::from(us) - i64::from(self.rtt8_us >> 3)) as u32
        };
    }

    /// The application has read `bytes`, while the out-of-order data ends `ahead` segments ahead: once a round trip,
    /// let the buffer hold twice the amount read in it, and more while that grows.
    #[inline]
    pub(super) fn on_read(&mut self, now: Time, bytes: u32, ahead: u32) {
        self.read += u64::from(bytes);
        self.offered = self.offered.saturating_sub(bytes);
        let rtt = Span::from_micros(u64::from(self.rtt_us()));
        if self.fixed.is_some() || rtt.is_zero() || now.since(self.started) < rtt {
            return;
        }
        let copied = (self.read - self.read_at_start).min(u64::from(u32::MAX)) as u32;
        if copied > self.read_space {
            match self.tuning {
                ReceiveTuning::Generous => self.hold_generously(copied),
                ReceiveTuning::Exact => self.hold(copied, ahead),
            }
            self.read_space = copied;
        }
        self.read_at_start = self.read;
        self.started = now;
    }

    // A path without a rate delivers gigabytes in a round trip. Amounts above the largest buffer make no difference, so
    // sums and products saturate.

    fn hold_generously(&mut self, copied: u32) {
        let space = u64::from(self.read_space);
        let mut window = 2 * u64::from(copied) + 16 * u64::from(self.mss);
        let growth = window.saturating_mul(u64::from(copied) - space) / space;
        window = window.saturating_add(growth.saturating_mul(2));
        let segments = window / u64::from(self.mss);
        self.enlarge(segments.saturating_mul(u64::from(self.memory_per_segment())));
    }

    /// Linux 7.3 (`tcp_rcvbuf_grow`).
    fn hold(&mut self, copied: u32, ahead: u32) {
        let (before, now) = (u64::from(self.read_space), u64::from(copied));
        let (window, rtt) = (2 * now, u64::from(self.rtt_us()));
        // A sender in slow start may double its rate.
        let more = if rtt < LOW_RTT_US {
            window * rtt / LOW_RTT_US
        } else {
            (2 * window).saturating_mul(now - before) / before
        };
        let ahead = u64::from(ahead) * u64::from(self.mss);
        let window = window.saturating_add(more).saturating_add(ahead);
        self.enlarge(window.saturating_mul(256) / u64::from(self.share));
    }

    /// A segment has come out of order, and the out-of-order data ends `ahead` segments ahead: that has room, too
    /// (7.3).
    #[inline]
    pub(super) fn on_disorder(&mut self, ahead: u32) {
        if self.fixed.is_none() && self.tuning == ReceiveTuning::Exact {
            self.hold(self.read_space, ahead);
        }
    }

    pub(super) fn enlarge(&mut self, buffer: u64) {
        let buffer = buffer.min(u64::from(self.buffer_most)) as u32;
        if buffer > self.buffer {
            self.buffer = buffer;
            self.clamp = from_space(buffer, self.share);
        }
    }

    /// The memory that a segment needs, so that its payload fits the offered share.
    fn memory_per_segment(&self) -> u32 {
        let mut memory = TRUE_SIZE;
        while from_space(memory, self.share) < self.mss {
            memory += 128;
        }
        memory
    }

    fn free(&self, held: u32) -> u32 {
        from_space(self.buffer.saturating_sub(held.saturating_mul(TRUE_SIZE)), self.share)
    }

    /// The window to offer, which never takes back what was offered before.
    #[inline]
    pub(super) fn select(&mut self, held: u32) -> u32 {
        if let Some(fixed) = self.fixed {
            self.offered = fixed;
            return fixed;
        }
        let window = self.free(held).min(self.earned).max(self.offered);
        self.offered = window.div_ceil(SCALE) * SCALE;
        self.offered
    }
}

#[inline]
fn true_size(data: &Data) -> u32 {
    if data.gso_segment { TRUE_SIZE } else { LONE_TRUE_SIZE }
}

#[inline]
fn from_space(space: u32, share: u32) -> u32 {
    (u64::from(space) * u64::from(share) / 256) as u32
}
