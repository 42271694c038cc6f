//! The socket's send buffer and the application that fills it (`tcp_sendmsg_locked` in `net/ipv4/tcp.c`,
//! `tcp_new_space` in `net/ipv4/tcp_input.c`, `net/core/stream.c`, Linux 5.4 and 7.3), where that matters:
//!
//! - Where a sender that its small queue has stopped is not woken (see [`super::small_queue`]), the application's next
//!   write lets it go on, and the send buffer decides how far apart writes are. Such a sender has its buffer from the
//!   beginning.
//! - Where more is out than two thirds of the largest buffer hold (`net.ipv4.tcp_wmem`, 4 MB), the written data runs
//!   out before the application is woken: a larger window is alternately used up and not used up. A sender gets its
//!   buffer when that much is out for the first time ([`TcpQuirks::send_buffer`]; docs/linux-notes/send-buffer.md).
//!
//! The application writes 128 kB at a time, as iperf3 does, or 16 kB, as netperf does, until it is put to sleep. Its data goes
//! into buffers of some 64 kB, half of the largest window that the peer has offered at most, and the room is only
//! looked at when a new buffer is needed: if the queued data has reached the limit, the application sleeps until a
//! third of the limit is free. So it writes in spells, of at least one whole buffer.
//!
//! Queued data is all that is not acknowledged yet, in payload and, for each buffer, [`TcpQuirks::skb_overhead`]; a
//! buffer that is sent in bursts has become as many, and those that are SACKed in a row are joined to one
//! (`tcp_shift_skb_data`). An ACK that acknowledges or joins wakes the application if that makes enough room. The limit is twice the window, counted with 4352 bytes a segment,
//! as it was when the application last slept while the window was not full; it never shrinks (`tcp_sndbuf_expand`).
//! Where the application has asked for a size (`SO_SNDBUF`), the limit is twice that and stays so.
//!
//! Approximate here: less than a segment waits until it is one or the last, as Nagle's algorithm has it of all but the
//! first such; retransmitted data is not cut in the buffer; a buffer that is SACKed in part is not joined with what is in front
//! of it; joined buffers have no largest size (the kernel's have 17 fragments); the application runs at once when it is
//! woken, after what the ACK itself lets out; and a buffer that is given late is full at first, wherever in its cycle
//! the kernel's may be.
//!
//! [`TcpQuirks::send_buffer`]: crate::stack::TcpQuirks::send_buffer
//! [`TcpQuirks::skb_overhead`]: crate::stack::TcpQuirks::skb_overhead

use crate::segment::{Block, Seq, before};
use crate::stack::TcpQuirks;
use std::collections::VecDeque;

/// The least that a socket has (`SOCK_MIN_SNDBUF`), bytes.
const LEAST: u32 = 4608;

/// A stack with sockets that have the buffer that the application asked for (`sk_setsockopt`).
pub(super) fn with_send_buffer(quirks: &TcpQuirks, asked: u32) -> TcpQuirks {
    TcpQuirks { send_buffer: asked.saturating_mul(2).max(LEAST), ..quirks.clone() }
}

/// What the socket holds, and the application behind it.
#[derive(Clone, Default, Debug)]
pub(super) struct SendBuffer {
    /// The limit (`sk_sndbuf`), bytes.
    pub(super) limit: u64,
    /// Buffers that have not been sent (`sk_write_queue`), bytes each.
    pub(super) unsent: VecDeque<u64>,
    /// One past the last segment of each buffer that is sent and not acknowledged (`tcp_rtx_queue`).
    pub(super) sent: VecDeque<Seq>,
    /// One past the last segment that the application has written whole.
    pub(super) end: Seq,
    /// Bytes that it has written of the next.
    pub(super) odd: u64,
    /// The bytes left of the current write.
    pub(super) left: u64,
    /// Whether something of that write has been taken.
    pub(super) copied: bool,
    /// Whether it sleeps for want of room (`SOCK_NOSPACE`).
    pub(super) asleep: bool,
    /// The largest window that the peer has offered, bytes.
    pub(super) max_window: u32,
}

impl SendBuffer {
    /// Payload of the buffer that is sent from.
    pub(super) fn first(&self) -> u64 {
        self.unsent.front().copied().unwrap_or(0)
    }

    /// The first buffer is made what leaves in a burst: cut (`tso_fragment`), or filled up from the next (`tcp_grow_skb`).
    pub(super) fn cut(&mut self, bytes: u64) {
        let Some(mut burst) = self.unsent.pop_front() else { return };
        while burst < bytes
            && let Some(next) = self.unsent.pop_front()
        {
            burst += next;
        }
        if burst > bytes {
            self.unsent.push_front(burst - bytes);
            burst = bytes;
        }
        self.unsent.push_front(burst);
    }

    /// The first buffer has left, up to this segment.
    pub(super) fn leave(&mut self, nxt: Seq) {
        self.unsent.pop_front();
        self.sent.push_back(nxt);
    }

    /// Frees acknowledged data.
    pub(super) fn acknowledged(&mut self, una: Seq) {
        while self.sent.front().is_some_and(|&end| !before(una, end)) {
            self.sent.pop_front();
        }
    }

    /// Joins the buffers that a SACK block covers whole into one, which keeps their payload and one overhead
    /// (`tcp_shift_skb_data`); true if there were several.
    pub(super) fn join(&mut self, block: Block, una: Seq) -> bool {
        let Block { start, end } = block;
        if !before(una, start) {
            return false;
        }
        // A buffer begins where the one in front ends; the first begins at `una`, below the block.
        let first = self.sent.partition_point(|&at| before(at, start));
        let behind = self.sent.partition_point(|&at| !before(end, at));
        // The ends of all buffers between them but the last go.
        let [from, to] = [first + 1, behind.saturating_sub(1)];
        if from >= to {
            return false;
        }
        self.sent.drain(from..to);
        true
    }

    pub(super) fn offered(&mut self, window: u32) {
        self.max_window = self.max_window.max(window);
    }

    /// Forgets what has not left.
    pub(super) fn discard(&mut self, nxt: Seq) {
        self.unsent.clear();
        (self.end, self.odd, self.left) = (nxt, 0, 0);
        (self.copied, self.asleep) = (false, false);
    }

    /// Segments have another size now.
    pub(super) fn cut_again(&mut self, nxt: Seq, mss: u32, data_end: Seq) {
        let (bytes, mss) = (self.unsent.iter().sum::<u64>(), u64::from(mss));
        (self.end, self.odd) = (nxt.wrapping_add((bytes / mss) as u32), bytes % mss);
        if before(data_end, self.end.wrapping_add(1)) {
            (self.end, self.odd) = (data_end, 0);
        }
    }

    /// The last segment was short and all there was; now it may grow.
    pub(super) fn reopen(&mut self, data_end: Seq, last_len: u32) {
        if self.end == data_end {
            self.end = data_end.wrapping_sub(1);
            self.odd = u64::from(last_len);
        }
    }

    /// Whether the application sleeps for want of room.
    pub(super) fn is_asleep(&self) -> bool {
        self.asleep
    }
}

#[cfg(test)]
impl SendBuffer {
    /// As if the application did not wait for room.
    pub(super) fn keep_awake(&mut self) {
        self.asleep = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Buffers of two segments from 10 on; the first is never SACKed.
    fn buffers() -> SendBuffer {
        SendBuffer { sent: (12..=30).step_by(2).collect(), ..SendBuffer::default() }
    }

    #[test]
    fn buffers_that_are_sacked_in_a_row_become_one() {
        let ends = |buffer: &SendBuffer| buffer.sent.iter().copied().collect::<Vec<_>>();
        let mut buffer = buffers();
        assert!(!buffer.join(Block { start: 14, end: 16 }, 10), "one alone");
        assert!(buffer.join(Block { start: 14, end: 20 }, 10));
        assert_eq!(ends(&buffer), [12, 14, 20, 22, 24, 26, 28, 30]);
        // What follows joins what was joined, and a buffer that is SACKed in part stays what it is.
        assert!(buffer.join(Block { start: 14, end: 23 }, 10));
        assert_eq!(ends(&buffer), [12, 14, 22, 24, 26, 28, 30]);
        assert!(!buffer.join(Block { start: 13, end: 23 }, 10));
        assert!(buffer.join(Block { start: 25, end: 30 }, 10));
        assert_eq!(ends(&buffer), [12, 14, 22, 24, 26, 30]);
        // A duplicate says nothing of the buffers.
        assert!(!buffer.join(Block { start: 10, end: 30 }, 10));
        buffer.acknowledged(26);
        assert_eq!(ends(&buffer), [30]);
        assert!(!buffer.join(Block { start: 28, end: 30 }, 26));
    }

    /// Sequence numbers wrap.
    #[test]
    fn buffers_are_joined_across_the_end_of_the_numbers() {
        let base = Seq::MAX - 4;
        let mut buffer = SendBuffer {
            sent: (1..=5).map(|k| base.wrapping_add(2 * k)).collect(),
            ..SendBuffer::default()
        };
        assert!(
            buffer.join(Block { start: base.wrapping_add(2), end: base.wrapping_add(8) }, base)
        );
        let ends: Vec<Seq> = buffer.sent.iter().map(|end| end.wrapping_sub(base)).collect();
        assert_eq!(ends, [2, 8, 10]);
    }
}
