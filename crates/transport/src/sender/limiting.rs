//! What keeps the sender from sending more, as each attempt to send finds it ([`super::limits`]).

use super::Sender;
use super::limits::{Limit, LimitedTimes};
use sojourn_units::{Span, Time};

impl Sender {
    /// The limits of the connection until now. `now` is not before the last call of the sender.
    pub fn limited_times(&self, now: Time) -> LimitedTimes {
        let mut limits = self.limits.clone();
        limits.change(now, Limit::Closed);
        let of = |limit: Limit| limits.held[limit as usize];
        let busy =
            limits.held[Limit::Application as usize..].iter().fold(Span::ZERO, |a, &b| a + b);
        LimitedTimes {
            busy,
            receive_window: of(Limit::ReceiveWindow),
            send_buffer: of(Limit::SendBuffer),
            congestion_window: of(Limit::CongestionWindow),
            pacing: of(Limit::Pacing),
            application: of(Limit::Idle) + of(Limit::Application),
            host: of(Limit::Host),
        }
    }

    /// Notes what ended an attempt to send: `stopped` if something did that had more to send.
    #[inline]
    pub(super) fn note_limit(&mut self, stopped: Option<Limit>, sent: u32) {
        let limit = match stopped {
            Some(limit) => limit,
            // One burst was all that was wanted: the sender's limit is as before.
            None if self.is_ready() => return,
            None => self.limit_without_data(sent),
        };
        self.limits.set(self.tcb.view.now, limit);
    }

    /// The limit of a sender that has sent all written data.
    fn limit_without_data(&self, sent: u32) -> Limit {
        let (view, control) = (&self.tcb.view, &self.tcb.control);
        let asleep = self.data.send_buffer.as_ref().is_some_and(|buffer| buffer.is_asleep());
        let full = view.in_flight() >= control.cwnd;
        if asleep {
            // Decided by the attempt that has sent the last of it (`tcp_cwnd_validate`).
            if sent == 0 {
                return self.limits.current;
            }
            let limited_by_cwnd = full || control.is_cwnd_limited(view);
            return if limited_by_cwnd { Limit::CongestionWindow } else { Limit::SendBuffer };
        }
        if view.packets_out == 0 {
            Limit::Idle
        } else if full {
            Limit::CongestionWindow
        } else {
            Limit::Application
        }
    }
}
