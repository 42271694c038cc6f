//! How many segments leave together, and when it is better to wait until more may (`tcp_write_xmit`,
//! `tcp_tso_segs` and `tcp_tso_should_defer` in `net/ipv4/tcp_output.c`).
//!
//! Linux builds segments in bursts (for TSO, which cuts them into GSO segments), as if every device could cut a large
//! one into pieces: at least two, or a millisecond at the pacing rate. A sender with a window that admits less waits
//! for the next ACK, if that is about to come. So lone segments are rare: ACKs of one segment let nothing out, and the
//! window is used a segment later than it opens.
//!
//! The application's data is in buffers of some 64 kB. Older kernels build a burst from one buffer alone; newer ones
//! fill it up from the next. The rest of a buffer that fits the window does not wait.

use super::Sender;
use super::data::buffer_size;
use super::limits::Limit;
use crate::cc::CongestionControl;
use crate::cc::{CaState, LARGEST_BURST};
use crate::stack::TsoBursts;
use sojourn_units::{Span, Time};

/// Waits only if the last segment left within this.
const RECENT: Span = Span::from_millis(1);
/// Waits only if the next ACK is expected within this.
const SOON: Span = Span::from_millis(1);
/// Whoever may send this part of the window does so (`net.ipv4.tcp_tso_win_divisor`).
const WINDOW_DIVISOR: u64 = 3;
/// The lowest RTT counts in these, in powers of two of a microsecond (`net.ipv4.tcp_tso_rtt_log`).
const RTT_LOG: u32 = 9;

/// What the windows admit of the next burst.
#[derive(Clone, Copy, Debug)]
pub(super) struct Admitted {
    /// Segments that the congestion window admits.
    pub(super) room: u32,
    /// Segments that the peer's window admits.
    pub(super) window: u32,
    /// Segments of the burst at most.
    pub(super) quota: u32,
    /// Segments that there are.
    pub(super) unsent: u32,
}

/// What to do with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// This many segments leave.
    Send(u32),
    /// Wait for the next ACK: for this to admit more.
    Wait(Limit),
}

impl Sender {
    /// Segments that a burst should have: about a millisecond at the pacing rate, at least two unless the control says
    /// otherwise, at most 64 kB (`tcp_tso_segs`). Linux 5.18 adds 64 kB, halved for every 512 µs of the lowest RTT.
    pub(super) fn tso_segs_goal(&self) -> u32 {
        if let Some(segments) = self.cc.tso_segs(&self.tcb.view, &self.tcb.control)
            && self.quirks.tso_bursts != TsoBursts::Singly
        {
            return segments;
        }
        let more = match self.quirks.tso_bursts {
            TsoBursts::Singly => return 1,
            TsoBursts::HalfRtt => 0,
            TsoBursts::Millisecond => {
                LARGEST_BURST.checked_shr(self.tcb.view.rtt.min_us() >> RTT_LOG).unwrap_or(0)
            }
        };
        let goal = self.tcb.control.tso_segs(
            &self.tcb.view,
            more,
            self.cc.min_tso_segs(&self.tcb.view, &self.tcb.control),
        );
        self.tcb.control.burst_limit.map_or(goal, |limit| goal.min(limit.max(1)))
    }

    /// The segments left of the buffer that is sent from.
    fn buffer(&self, quota: u32) -> u32 {
        match self.quirks.tso_bursts {
            // Newer kernels fill it up.
            TsoBursts::Millisecond => self.data.buffer_left.max(quota),
            _ => self.data.buffer_left,
        }
    }

    /// The buffer that is sent from, where what the application has written is known.
    pub(super) fn look_at_buffer(&mut self) {
        if let Some(buffer) = &self.data.send_buffer {
            self.data.buffer_left =
                (buffer.first().div_ceil(u64::from(self.tcb.view.mss)) as u32).max(1);
        }
    }

    /// A burst is cut from the buffer, which it is before it is known whether it may leave.
    pub(super) fn cut_from_buffer(&mut self, burst: u32) {
        if let Some(buffer) = &mut self.data.send_buffer {
            buffer.cut(u64::from(burst) * u64::from(self.tcb.view.mss));
        }
    }

    /// Takes a burst from the buffer, and a new buffer where that ends.
    pub(super) fn take_from_buffer(&mut self, burst: u32) {
        if let Some(buffer) = &mut self.data.send_buffer {
            buffer.leave(self.tcb.view.nxt);
            return;
        }
        if self.data.buffer_left <= burst {
            self.data.buffer_left += buffer_size(self.tcb.view.mss);
        }
        self.data.buffer_left -= burst.min(self.data.buffer_left - 1);
    }

    /// The next burst, or to wait.
    pub(super) fn next_burst(&self, goal: u32, may_wait: bool, admitted: Admitted) -> Next {
        let Admitted { room, window, quota, unsent } = admitted;
        let burst = quota.min(window).min(unsent);
        if self.quirks.tso_bursts == TsoBursts::Singly {
            return Next::Send(burst);
        }
        let last = self.buffer(quota) >= unsent;
        let buffer = self.buffer(quota).min(unsent);
        let limit = room.min(window);
        // A lone segment at a buffer's end, or a buffer's end that fits: no further data comes to it.
        let whole = buffer == 1 || (!last && limit >= buffer);
        if may_wait && !whole && self.would_wait(limit, goal) {
            let (own, other) = (room, window);
            if own < other && own <= buffer {
                return Next::Wait(Limit::CongestionWindow);
            }
            if own >= other && other <= buffer {
                return Next::Wait(Limit::ReceiveWindow);
            }
            // The end of the stream gets no more data either.
            if !last {
                return Next::Wait(Limit::Application);
            }
        }
        Next::Send(burst.min(buffer))
    }

    /// Whether it is better to wait for the next ACK than to send `limit` segments now.
    fn would_wait(&self, limit: u32, goal: u32) -> bool {
        let t = &self.tcb;
        if t.view.ca_state >= CaState::Recovery || limit >= goal {
            return false;
        }
        let written =
            if t.control.paced { self.last_sent.max(self.pacing.until) } else { self.last_sent };
        if t.view.now > written + RECENT {
            return false;
        }
        let mss = u64::from(t.view.mss);
        let in_use = u64::from(self.peer.window).min(u64::from(t.control.cwnd) * mss);
        if u64::from(limit) * mss >= in_use / WINDOW_DIVISOR {
            return false;
        }
        self.board.head_sent().is_some_and(|sent| self.ack_is_near(sent))
    }

    /// Whether the ACK of the oldest segment, which left then, is about to come.
    fn ack_is_near(&self, sent: Time) -> bool {
        let srtt8 = u64::from(self.tcb.view.rtt.srtt8_us());
        let now = self.tcb.view.now;
        match self.quirks.tso_bursts {
            TsoBursts::Singly => false,
            TsoBursts::HalfRtt => now >= sent + Span::from_micros(srtt8 >> 4),
            TsoBursts::Millisecond => {
                let srtt = Span::from_nanos(srtt8 * 125);
                let soon = SOON.min(Span::from_nanos(srtt.as_nanos() / 2));
                sent + srtt <= now + soon
            }
        }
    }
}
