//! When an ACK may wait (`tcp_event_data_recv`, `tcp_send_delayed_ack`, `tcp_delack_timer_handler`): quick ACKs
//! at first and after events, then one for every second segment, or a timer that adapts to the sender's pace
//! between 40 ms and 200 ms.

use sojourn_units::{Span, Time};

/// Most quick ACKs in a row (`TCP_MAX_QUICKACKS`).
pub(super) const MAX_QUICK_ACKS: u32 = 16;
/// Shortest wait (`TCP_ATO_MIN`, `TCP_DELACK_MIN`).
const ATO_MIN: Span = Span::from_millis(40);
/// Longest wait (`TCP_DELACK_MAX`).
const DELAY_MAX: Span = Span::from_millis(200);
/// A pause longer than this means the sender has restarted; the kernel takes its own RTO.
const LONG_GAP: Span = Span::from_secs(1);

#[derive(Clone, Debug)]
pub(super) struct DelayedAck {
    quick: u32,
    now: bool,
    ato: Span,
    last_data: Option<Time>,
    at: Time,
    tick: u64,
}

impl DelayedAck {
    pub(super) fn new(hz: u32) -> Self {
        Self {
            quick: 0,
            now: false,
            ato: Span::ZERO,
            last_data: None,
            at: Time::NEVER,
            tick: 1_000_000_000 / u64::from(hz),
        }
    }

    pub(super) fn deadline(&self) -> Time {
        self.at
    }

    pub(super) fn is_quick(&self) -> bool {
        self.quick > 0
    }

    pub(super) fn is_due_now(&self) -> bool {
        self.now
    }

    /// The next ACK goes at once.
    pub(super) fn acknowledge_now(&mut self) {
        self.now = true;
    }

    /// The next `count` ACKs go at once.
    pub(super) fn quicken(&mut self, count: u32) {
        self.quick = self.quick.max(count);
        self.ato = ATO_MIN;
    }

    /// Data has come; `quick` is how many quick ACKs the window would allow.
    #[inline]
    pub(super) fn on_data(&mut self, now: Time, quick: u32) {
        let Some(last) = self.last_data.replace(now) else {
            self.quick = self.quick.max(quick.min(MAX_QUICK_ACKS));
            self.ato = ATO_MIN;
            return;
        };
        let gap = now.since(last);
        if gap <= ATO_MIN / 2 {
            self.ato = self.ato / 2 + ATO_MIN / 2;
        } else if gap < self.ato {
            self.ato = self.ato / 2 + gap;
        } else if gap > LONG_GAP {
            self.quick = self.quick.max(quick.min(MAX_QUICK_ACKS));
        }
    }

    /// Lets the ACK wait. True when a timer set earlier is about to fire, so that it had better go now.
    #[inline]
    pub(super) fn schedule(&mut self, now: Time, rtt_us: u32) -> bool {
        let mut wait = self.ato;
        if wait > ATO_MIN {
            let rtt = Span::from_micros(u64::from(rtt_us)).max(ATO_MIN);
            wait = wait.min(rtt).min(DELAY_MAX);
        }
        let at = now + wait;
        if !self.at.is_never() {
            if self.at <= now + wait / 4 {
                return true;
            }
            self.at = self.at.min(at);
            return false;
        }
        let ticks = at.as_nanos().div_ceil(self.tick);
        self.at = Time::from_nanos(ticks * self.tick);
        false
    }

    /// An ACK has left.
    #[inline]
    pub(super) fn on_sent(&mut self) {
        self.now = false;
        self.at = Time::NEVER;
        if self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = ATO_MIN;
            }
        }
    }

    /// Whether the timer has fired. A sender that did not send in time is slower than thought: wait longer.
    pub(super) fn fire(&mut self, now: Time) -> bool {
        if now < self.at {
            return false;
        }
        self.ato = (self.ato * 2).min(DELAY_MAX);
        true
    }
}
