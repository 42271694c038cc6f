//! TCP small queues (`tcp_small_queue_check`, `tcp_wfree` in `net/ipv4/tcp_output.c`) where they do not work: with a
//! netem on the sender's own machine before Linux 5.12 (see [`Switches::small_queue_wakes`]).
//!
//! A socket has no more on its way through its host than two of the buffers that it would send next, or what its pacing
//! rate gives in a millisecond; it is woken when that has left. A netem takes a packet over within microseconds. It took
//! it off the socket's account, but did not wake the socket. So one attempt to send, an ACK's, sends about two groups, and
//! the rest of the window waits for the next attempt.
//!
//! Mostly an ACK admits no more than that. But of a window of three, two segments leave, one by one (a group is no larger
//! than half of the window): their account is just above what would let the third go. The window was not used up, so
//! it does not grow. A flow that marks have brought down to two or three segments stays there.
//!
//! The other attempts are the application's. It writes until the send buffer is full and sleeps until a third of it is
//! free (`sk_stream_is_writeable`); then it writes 16 kB at a time, and each write is an attempt. The buffer has room for
//! twice the window, each segment counted with 4352 bytes, and never shrinks (`tcp_sndbuf_expand`).
//!
//! Where the kernel works properly a host's queue never holds anything back for longer than microseconds, and there is
//! nothing to model. Approximate here: what is in the send buffer is counted by its payload, some two per cent too
//! little, and the writes follow the ACK that let the application run at once.
//!
//! [`Switches::small_queue_wakes`]: crate::stack::Switches::small_queue_wakes

use super::Sender;
use crate::segment::{Output, Seq, before};
use sojourn_units::Time;

/// What a packet costs beside its payload: head of 704 bytes, `sk_buff` of 256, `skb_shared_info` of 320
/// (`MAX_TCP_HEADER` of 320, to which the allocator gives 1024). Cut into segments, each has one.
const OVERHEAD: u64 = 1280;
/// Buffers on the way: two.
const BUFFERS: u64 = 2;
/// The pacing rate's share: a 2^10th of a second (`sk_pacing_shift`).
const PACING_SHIFT: u32 = 10;
/// Never more than this of what is not paced (`net.ipv4.tcp_limit_output_bytes`).
const MOST: u64 = 1 << 20;
/// What a segment counts in the send buffer's size: payload and headers rounded up to a power of two, and `sk_buff`.
const PER_SEGMENT: u64 = 4096 + 256;
/// Windows that the send buffer is for.
const WINDOWS: u64 = 2;
/// The least window that it is for (`TCP_INIT_CWND`).
const LEAST_WINDOW: u32 = 10;
/// Its largest size (`net.ipv4.tcp_wmem`).
const LARGEST_BUFFER: u64 = 4 << 20;
/// What the application writes at a time (netperf and iperf3 on a socket of default size).
const WRITE: u64 = 16 << 10;

/// What an attempt to send has put on its way, and the application behind it.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct SmallQueue {
    /// When.
    at: Time,
    /// Bytes on the socket's account (`sk_wmem_alloc`, less the one that an idle socket has).
    held: u64,
    /// Size of the send buffer (`sk_sndbuf`), bytes.
    buffer: u64,
    /// One past the last segment that the application has written.
    written: Seq,
}

impl Sender {
    /// Whether the small queue keeps a group of so many segments back. The limit is shifted for retransmissions, which
    /// may have twice as much.
    pub(super) fn small_queue_holds(&self, group: u32, factor: u64) -> bool {
        let Some(queue) = &self.small_queue else { return false };
        if queue.at != self.tcb.now {
            return false;
        }
        let next = OVERHEAD + u64::from(group) * u64::from(self.tcb.mss);
        let mut limit = (BUFFERS * next).max(self.tcb.pacing_rate >> PACING_SHIFT);
        if !self.tcb.paced {
            limit = limit.min(MOST);
        }
        1 + queue.held > limit * factor
    }

    /// A group has left.
    pub(super) fn fill_small_queue(&mut self, group: u32) {
        let (now, mss) = (self.tcb.now, u64::from(self.tcb.mss));
        let Some(queue) = &mut self.small_queue else { return };
        if queue.at != now {
            (queue.at, queue.held) = (now, 0);
        }
        queue.held += u64::from(group) * (OVERHEAD + mss);
    }

    /// After an ACK, and at the beginning: if the application may write, it does, and TCP tries to send at each write.
    pub(super) fn let_application_write(&mut self, out: &mut impl Output) {
        for _ in 0..self.writes() {
            if let Some(queue) = &mut self.small_queue {
                // What the last attempt sent has passed through the host.
                queue.held = 0;
            }
            if self.write(super::Push::Normal, out) == 0 {
                break;
            }
        }
    }

    /// How often the application writes now.
    fn writes(&mut self) -> u64 {
        let mss = u64::from(self.tcb.mss);
        let window = self.tcb.cwnd.max(LEAST_WINDOW).max(self.board.reordering + 1);
        let filled = self.tcb.in_flight() >= self.tcb.cwnd;
        let (una, data_end) = (self.tcb.una, self.data_end);
        let Some(queue) = &mut self.small_queue else { return 0 };
        if !filled || queue.buffer == 0 {
            let size = (WINDOWS * u64::from(window) * PER_SEGMENT).min(LARGEST_BUFFER);
            queue.buffer = queue.buffer.max(size);
        }
        if before(queue.written, una) {
            // It had nothing more to write until now.
            queue.written = una;
        }
        let queued = u64::from(queue.written.wrapping_sub(una)) * mss;
        if !before(queue.written, data_end) || queued + queued / 2 > queue.buffer {
            return 0;
        }
        let end = una.wrapping_add((queue.buffer / mss) as u32);
        queue.written = if before(data_end, end) { data_end } else { end };
        (queue.buffer - queued).div_ceil(WRITE)
    }
}
