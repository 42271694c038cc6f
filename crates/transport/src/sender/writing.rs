//! The application writes into the send buffer, sleeps for want of room, and is woken ([`super::send_buffer`]).

use super::Sender;
use super::output::Push;
use super::send_buffer::SendBuffer;
use crate::cc::CongestionControl;
use crate::segment::{Output, Seq, before};

/// The bytes that a segment counts in the limit: payload and headers, 2052 bytes, rounded up to a power of two, and
/// `sk_buff`.
const PER_SEGMENT: u64 = 4096 + 256;
/// The least window that it is for (`TCP_INIT_CWND`).
const LEAST_WINDOW: u32 = 10;
/// What netperf writes at a time: the send buffer of a new socket (`net.ipv4.tcp_wmem`).
const NETPERF_WRITES: u64 = 16 << 10;
/// What iperf3 writes at a time (`DEFAULT_TCP_BLKSIZE`), and Sojourn's own sender in a guest no less.
const IPERF3_WRITES: u64 = 128 << 10;
/// Payload of a buffer at most: 64 kB less headers (`tcp_xmit_size_goal`).
const LARGEST_PIECE: u64 = 65_536 - 1 - 320;

impl Sender {
    /// One past the last segment that is there to be sent.
    #[inline]
    pub(super) fn ready_end(&self) -> Seq {
        self.data.send_buffer.as_ref().map_or(self.data.end, |buffer| buffer.end)
    }

    /// Whether segments are there to be sent.
    #[inline]
    pub(super) fn is_ready(&self) -> bool {
        before(self.tcb.view.nxt, self.ready_end())
    }

    /// The bytes that the application still has to write.
    fn unwritten(&self, buffer: &SendBuffer) -> u64 {
        match self.data.end.wrapping_sub(buffer.end) {
            0 => 0,
            n => {
                u64::from(n - 1) * u64::from(self.tcb.view.mss) + u64::from(self.data.last_len)
                    - buffer.odd
            }
        }
    }

    /// What is queued (`sk_wmem_queued`); a short last segment counts as a full one.
    fn queued(&self, buffer: &SendBuffer) -> u64 {
        let whole =
            u64::from(buffer.end.wrapping_sub(self.tcb.view.una)) * u64::from(self.tcb.view.mss);
        let buffers = (buffer.unsent.len() + buffer.sent.len()) as u64;
        whole + buffer.odd + buffers * u64::from(self.quirks.skb_overhead)
    }

    /// Makes room for two windows, or as the control has it (`tcp_sndbuf_expand`).
    pub(super) fn expand_buffer(&mut self) {
        let window = self.tcb.control.cwnd.max(LEAST_WINDOW).max(self.board.reordering + 1);
        let windows = self.cc.send_buffer_windows();
        let most = u64::from(self.quirks.send_buffer);
        let is_fixed = self.data.is_fixed;
        if let Some(buffer) = &mut self.data.send_buffer {
            let wanted = windows * u64::from(window) * PER_SEGMENT;
            let size = if is_fixed { most } else { wanted.min(most) };
            buffer.limit = buffer.limit.max(size);
        }
    }

    /// The connection is established: the application begins to write.
    pub(super) fn let_application_begin(&mut self, out: &mut impl Output) {
        if self.data.send_buffer.is_some() {
            self.expand_buffer();
            self.let_application_write(out);
        }
    }

    /// After an ACK: a sleeping application is woken if there is room (`tcp_check_space`), which is looked at where the ACK has freed
    /// some (`SOCK_QUEUE_SHRUNK`).
    #[inline]
    pub(super) fn check_space(&mut self, gives_room: bool, out: &mut impl Output) {
        match &self.data.send_buffer {
            None if self.tcb.view.packets_out > u32::from(self.data.unbuffered) => {
                self.begin_to_buffer();
            }
            Some(buffer) if gives_room && buffer.asleep => self.wake_application(out),
            _ => {}
        }
    }

    /// A sleeping application is woken if there is room.
    fn wake_application(&mut self, out: &mut impl Output) {
        if self.tcb.view.in_flight() < self.tcb.control.cwnd {
            self.expand_buffer();
        }
        let writable = self.data.send_buffer.as_ref().is_some_and(|buffer| {
            let queued = self.queued(buffer);
            queued + queued / 2 <= buffer.limit && queued < buffer.limit
        });
        if writable {
            self.let_application_write(out);
        }
    }

    /// Enough is out that the send buffer may run empty from now on: it starts in the state of an application that has
    /// just filled it and sleeps, with the data out sent in bursts of today's size.
    #[cold]
    fn begin_to_buffer(&mut self) {
        let t = &self.tcb;
        let (una, nxt, mss) = (t.view.una, t.view.nxt, u64::from(t.view.mss));
        let mut buffer = SendBuffer { end: nxt, asleep: true, ..SendBuffer::default() };
        buffer.offered(self.peer.window);
        let burst = self.tso_segs_goal().max(1);
        let bursts = nxt.wrapping_sub(una).div_ceil(burst);
        buffer
            .sent
            .extend((1..=bursts).map(|k| una.wrapping_add((k * burst).min(nxt.wrapping_sub(una)))));
        self.data.send_buffer = Some(Box::new(buffer));
        self.expand_buffer();
        let goal = self.goal() / mss;
        while let Some(buffer) = &self.data.send_buffer
            && self.queued(buffer) < buffer.limit
            && before(buffer.end, self.data.end)
        {
            let left = self.data.end.wrapping_sub(buffer.end);
            let segments = left.min(goal as u32);
            let short = if segments == left { mss - u64::from(self.data.last_len) } else { 0 };
            let Some(buffer) = &mut self.data.send_buffer else { return };
            buffer.unsent.push_back(u64::from(segments) * mss - short);
            buffer.end = buffer.end.wrapping_add(segments);
        }
    }

    /// Payload of a full buffer (`tcp_xmit_size_goal`).
    fn goal(&self) -> u64 {
        let mss = u64::from(self.tcb.view.mss);
        let half = self.data.send_buffer.as_ref().map_or(0, |buffer| buffer.max_window / 2);
        (LARGEST_PIECE.min(u64::from(half)) / mss).max(1) * mss
    }

    /// The application writes until it has to sleep, or has written all. It runs as a process: its packets pass through
    /// the host before it goes on.
    pub(super) fn let_application_write(&mut self, out: &mut impl Output) {
        loop {
            let Some(buffer) = &self.data.send_buffer else { return };
            let write = if self.quirks.netperf { NETPERF_WRITES } else { IPERF3_WRITES };
            let next = if buffer.left == 0 { write.min(self.unwritten(buffer)) } else { 0 };
            if buffer.left == 0 && next == 0 {
                return;
            }
            if next > 0 {
                self.check_app_limited();
            }
            if let Some(buffer) = &mut self.data.send_buffer {
                buffer.asleep = false;
                buffer.copied &= next == 0;
                buffer.left += next;
            }
            if !self.copy_write(out) {
                return;
            }
            self.push_written(Push::Normal, out);
        }
    }

    /// Takes the rest of a write into buffers; false if the application sleeps now.
    fn copy_write(&mut self, out: &mut impl Output) -> bool {
        let mss = u64::from(self.tcb.view.mss);
        while let Some(buffer) = self.data.send_buffer.as_ref().filter(|buffer| buffer.left > 0) {
            let goal = self.goal();
            let room = buffer.unsent.back().map_or(0, |last| goal.saturating_sub(*last));
            let full = room == 0 && self.queued(buffer) >= buffer.limit;
            let copied = buffer.copied;
            if full {
                // It sleeps before what it has written is pushed (`SOCK_NOSPACE`): that attempt knows why no more comes.
                if let Some(buffer) = &mut self.data.send_buffer {
                    buffer.asleep = true;
                }
                if copied {
                    self.push_written(Push::Normal, out);
                }
                return false;
            }
            let (data_end, last_len) = (self.data.end, u64::from(self.data.last_len));
            let Some(buffer) = &mut self.data.send_buffer else { return false };
            if room == 0 {
                buffer.unsent.push_back(0);
            }
            let taken = buffer.left.min(if room == 0 { goal } else { room });
            buffer.left -= taken;
            buffer.copied = true;
            if let Some(last) = buffer.unsent.back_mut() {
                *last += taken;
            }
            buffer.odd += taken;
            buffer.end = buffer.end.wrapping_add((buffer.odd / mss) as u32);
            buffer.odd %= mss;
            if data_end.wrapping_sub(buffer.end) == 1 && buffer.odd == last_len {
                (buffer.end, buffer.odd) = (data_end, 0);
            }
            // A buffer that is full and next to be sent is begun with at once.
            if buffer.unsent.len() == 1 && buffer.first() >= goal {
                self.push_written(Push::One, out);
            }
        }
        true
    }

    fn push_written(&mut self, push: Push, out: &mut impl Output) {
        if let Some(queue) = &mut self.tsq {
            queue.set_in_process(true);
        }
        self.write(push, out);
        if let Some(queue) = &mut self.tsq {
            queue.set_in_process(false);
        }
    }
}
