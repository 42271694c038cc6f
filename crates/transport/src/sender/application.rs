//! The application's side of a sender that does not have all its data from the beginning: its writes, when it limits
//! the flow, and a connection that its peer opened.

use super::Sender;
use super::output::Push;
use super::phase::Phase;
use crate::ecn::Agreed;
use crate::segment::{Output, Seq, before};
use sojourn_units::Time;

/// More than is ever sent in a run, segments.
const ENDLESS: Seq = 1 << 29;

impl Sender {
    /// A sender that has only the data that the application writes ([`Sender::supply`]); the settings' number of bytes
    /// does not count.
    #[must_use]
    pub fn without_data(mut self) -> Self {
        self.data.end = 0;
        self.data.endless = false;
        self.data.last_len = self.tcb.view.mss;
        self
    }

    /// The application writes `bytes` bytes, which leave as soon as windows and pacing allow. A rest smaller than a
    /// segment leaves as a shorter segment (Nagle's algorithm off); later writes join waiting data.
    pub fn supply(&mut self, now: Time, bytes: u64, out: &mut impl Output) {
        if bytes == 0 {
            return;
        }
        self.tcb.view.now = now;
        self.check_app_limited();
        self.append(bytes);
        self.send_supplied(out);
    }

    /// The application has data without end from now on, until [`Sender::stop`].
    pub fn supply_endlessly(&mut self, now: Time, out: &mut impl Output) {
        self.tcb.view.now = now;
        self.check_app_limited();
        self.data.endless = true;
        self.data.end = self.tcb.view.nxt.wrapping_add(ENDLESS);
        self.data.last_len = self.tcb.view.mss;
        self.send_supplied(out);
    }

    /// Takes back what was written and has not left; returns how many bytes.
    pub fn discard_unsent(&mut self) -> u64 {
        let bytes = self.unsent_bytes();
        self.data.endless = false;
        self.data.end = self.tcb.view.nxt;
        self.data.last_len = self.tcb.view.mss;
        if let Some(buffer) = &mut self.data.send_buffer {
            buffer.discard(self.tcb.view.nxt);
        }
        if self.is_established() {
            self.note_limit(None, 0);
        }
        bytes
    }

    /// The peer has opened the connection and now ended the handshake, `rtt_us` after its SYN was answered (none if the
    /// answer was repeated). `window` is the peer's window, `peer_clock` its timestamp.
    pub fn accepted(
        &mut self,
        now: Time,
        agreed: Agreed,
        window: u32,
        peer_clock: u32,
        rtt_us: Option<u32>,
    ) {
        debug_assert_eq!(self.handshake.phase, Phase::Closed);
        self.tcb.view.now = now;
        self.handshake.phase = Phase::Established;
        self.tcb.view.ecn = agreed;
        self.peer.clock = peer_clock;
        self.take_window(window);
        // Both ends are of one stack.
        self.carry_option(true);
        if let Some(rtt) = rtt_us {
            self.tcb.view.rtt.sample(now, rtt, rtt, 0, 0);
        }
        self.begin(self.handshake.initial_window);
        self.expand_buffer();
    }

    /// Marks that the application leaves the network idle (`tcp_rate_check_app_limited`, called whenever it writes):
    /// less than a segment waits, the window has room, and nothing lost waits for repair. Deliveries until all data out
    /// now is delivered say nothing of the path's capacity.
    pub(super) fn check_app_limited(&mut self) {
        let end = self.ready_end();
        let t = &mut self.tcb;
        let waiting = end.wrapping_sub(t.view.nxt);
        let below_a_segment = waiting == 0
            || (waiting == 1 && end == self.data.end && self.data.last_len < t.view.mss);
        if below_a_segment
            && t.view.in_flight() < t.control.cwnd
            && t.view.lost_out <= t.view.retrans_out
        {
            t.view.app_limited = Some(t.view.delivered.wrapping_add(t.view.in_flight()));
        }
    }

    /// The same before an ACK or a timer changes anything, for a control that wants pauses marked exactly.
    #[inline]
    pub(super) fn note_pause(&mut self) {
        if self.board.is_tracking() {
            self.check_app_limited();
        }
    }

    fn append(&mut self, mut bytes: u64) {
        let mss = u64::from(self.tcb.view.mss);
        if before(self.tcb.view.nxt, self.data.end) {
            // The last segment still waits: fill it up.
            if let Some(buffer) = &mut self.data.send_buffer {
                buffer.reopen(self.data.end, self.data.last_len);
            }
            let more = (mss - u64::from(self.data.last_len)).min(bytes);
            self.data.last_len += more as u32;
            bytes -= more;
        }
        if bytes > 0 {
            let segments = bytes.div_ceil(mss);
            self.data.end = self.data.end.wrapping_add(segments.min(u64::from(ENDLESS)) as Seq);
            self.data.last_len = (bytes - (segments - 1) * mss) as u32;
        }
    }

    fn send_supplied(&mut self, out: &mut impl Output) {
        if self.is_established() {
            if self.data.send_buffer.as_ref().is_none_or(|buffer| buffer.is_asleep()) {
                self.write(Push::Normal, out);
            } else {
                self.let_application_write(out);
            }
        }
    }

    /// Payload of the next new segment.
    pub(super) fn next_len(&self) -> u16 {
        let is_last = self.tcb.view.nxt.wrapping_add(1) == self.data.end;
        (if is_last { self.data.last_len } else { self.tcb.view.mss }) as u16
    }

    /// Payload that waits to be sent.
    pub(super) fn unsent_bytes(&self) -> u64 {
        match self.data.end.wrapping_sub(self.tcb.view.nxt) {
            0 => 0,
            n => u64::from(n - 1) * u64::from(self.tcb.view.mss) + u64::from(self.data.last_len),
        }
    }

    /// The control has given segments another size (`tcp_sync_mss`): unsent data is cut again.
    #[cold]
    pub(super) fn cut_again(&mut self) {
        let (mss, counted, bytes) = (self.tcb.control.mss, self.tcb.view.mss, self.unsent_bytes());
        self.data.buffer_left = (self.data.buffer_left * counted / mss).max(1);
        self.tcb.view.mss = mss;
        self.data.last_len = mss;
        if !self.data.endless && bytes > 0 {
            let segments = bytes.div_ceil(u64::from(mss)).min(u64::from(Seq::MAX / 2));
            self.data.end = self.tcb.view.nxt.wrapping_add(segments as Seq);
            self.data.last_len = (bytes - (segments - 1) * u64::from(mss)) as u32;
        }
        if let Some(buffer) = &mut self.data.send_buffer {
            buffer.cut_again(self.tcb.view.nxt, mss, self.data.end);
        }
        self.take_window(self.peer.window);
    }
}
