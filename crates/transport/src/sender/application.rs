//! The application's side of a sender that does not have all its data from the beginning: what it writes, when it is
//! what limits the flow, and the connection that its peer opened.

use super::send_buffer::SendBuffer;
use super::{Phase, Push, Sender};
use crate::ecn::Agreed;
use crate::segment::{Output, Seq, before};
use sojourn_units::Time;

/// More than is ever sent in a run, segments.
const ENDLESS: Seq = 1 << 29;

impl Sender {
    /// A sender that has only what the application writes ([`Sender::supply`]); what its settings say of bytes does not
    /// count.
    #[must_use]
    pub fn without_data(mut self) -> Self {
        self.data_end = 0;
        self.endless = false;
        self.last_len = self.tcb.view.mss;
        self
    }

    /// The application writes so many bytes, which leave as soon as windows and pacing allow. What fills no segment
    /// leaves as a shorter one (Nagle's algorithm off); what waits is joined by what is written next.
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
        self.endless = true;
        self.data_end = self.tcb.view.nxt.wrapping_add(ENDLESS);
        self.last_len = self.tcb.view.mss;
        self.send_supplied(out);
    }

    /// Takes back what was written and has not left; returns how many bytes.
    pub fn discard_unsent(&mut self) -> u64 {
        let bytes = self.unsent_bytes();
        self.endless = false;
        self.data_end = self.tcb.view.nxt;
        self.last_len = self.tcb.view.mss;
        if let Some(buffer) = &mut self.send_buffer {
            buffer.discard(self.tcb.view.nxt);
        }
        bytes
    }

    /// The peer has opened the connection and now ended the handshake, `rtt_us` after its SYN was answered (none if
    /// the answer was repeated). `window` is what it offers, `peer_clock` its timestamp.
    pub fn accepted(
        &mut self,
        now: Time,
        agreed: Agreed,
        window: u32,
        peer_clock: u32,
        rtt_us: Option<u32>,
    ) {
        debug_assert_eq!(self.phase, Phase::Closed);
        self.tcb.view.now = now;
        self.phase = Phase::Established;
        self.tcb.view.ecn = agreed;
        self.peer_clock = peer_clock;
        self.take_window(window);
        if let Some(rtt) = rtt_us {
            self.tcb.view.rtt.sample(now, rtt, rtt, 0, 0);
        }
        self.begin(self.initial_window);
        self.expand_buffer();
    }

    /// Marks that the application leaves the network idle (`tcp_rate_check_app_limited`, called whenever it writes):
    /// less than a segment waits, the window has room, and nothing lost waits for repair. What is delivered until all
    /// that is out now has been says nothing of what the path could carry.
    pub(super) fn check_app_limited(&mut self) {
        let end = self.ready_end();
        let t = &mut self.tcb;
        let waiting = end.wrapping_sub(t.view.nxt);
        let below_a_segment =
            waiting == 0 || (waiting == 1 && end == self.data_end && self.last_len < t.view.mss);
        if below_a_segment
            && t.view.in_flight() < t.control.cwnd
            && t.view.lost_out <= t.view.retrans_out
        {
            t.view.app_limited = Some(t.view.delivered.wrapping_add(t.view.in_flight()));
        }
    }

    fn append(&mut self, mut bytes: u64) {
        let mss = u64::from(self.tcb.view.mss);
        if before(self.tcb.view.nxt, self.data_end) {
            // The last segment still waits: fill it up.
            if let Some(buffer) = &mut self.send_buffer {
                buffer.reopen(self.data_end, self.last_len);
            }
            let more = (mss - u64::from(self.last_len)).min(bytes);
            self.last_len += more as u32;
            bytes -= more;
        }
        if bytes > 0 {
            let segments = bytes.div_ceil(mss);
            self.data_end = self.data_end.wrapping_add(segments.min(u64::from(ENDLESS)) as Seq);
            self.last_len = (bytes - (segments - 1) * mss) as u32;
        }
    }

    fn send_supplied(&mut self, out: &mut impl Output) {
        if self.is_established() {
            if self.send_buffer.as_ref().is_none_or(SendBuffer::is_asleep) {
                self.write(Push::Normal, out);
            } else {
                self.let_application_write(out);
            }
        }
    }
}
