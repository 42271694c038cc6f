//! When an ACK may wait (`tcp_event_data_recv`, `tcp_send_delayed_ack`, `tcp_delack_timer_handler`): quick ACKs
//! at first, after events and while the window grows, then one for every second segment, or a timer that adapts
//! to the sender's pace between 40 ms and 200 ms.

use sojourn_units::{CoarseClock, Span, Time};

/// Most quick ACKs in a row (`TCP_MAX_QUICKACKS`).
pub(super) const MAX_QUICK_ACKS: u32 = 16;
/// Shortest wait (`TCP_ATO_MIN`, `TCP_DELACK_MIN`).
const ATO_MIN: Span = Span::from_millis(40);
/// Longest wait (`TCP_DELACK_MAX`).
const DELAY_MAX: Span = Span::from_millis(200);
/// The receiver's own timeout before it has measured a round trip (`TCP_TIMEOUT_INIT`).
const RTO_INIT: Span = Span::from_secs(1);

#[derive(Clone, Debug)]
pub(super) struct DelayedAck {
    quick: u32,
    /// Round trip of the handshake; zero if that was not measured. A receiver that only receives has no other.
    rtt: Span,
    /// The receiver's own timeout. A pause longer than this means that the sender has started over.
    rto: Span,
    now: bool,
    ato: Span,
    last_data: Option<Time>,
    /// The tick that was asked for; none when no ACK waits.
    expires: Option<u64>,
    /// When the wheel lets it fire.
    at: Time,
    clock: CoarseClock,
}

impl DelayedAck {
    pub(super) fn new(hz: u32) -> Self {
        Self {
            quick: 0,
            rtt: Span::ZERO,
            rto: RTO_INIT,
            now: false,
            ato: Span::ZERO,
            last_data: None,
            expires: None,
            at: Time::NEVER,
            clock: CoarseClock::new(hz),
        }
    }

    pub(super) fn deadline(&self) -> Time {
        self.at
    }

    /// Round trip of the handshake; zero if it was not measured.
    pub(super) fn rtt(&self) -> Span {
        self.rtt
    }

    /// The handshake took this long (`tcp_synack_rtt_meas`): the timeout is its first estimate (`rtt.rs`).
    pub(super) fn measured(&mut self, rtt: Span) {
        self.rtt = rtt;
        self.rto = rtt + (rtt * 2).max(DELAY_MAX);
    }

    pub(super) fn is_quick(&self) -> bool {
        self.quick > 0
    }

    /// Whether an ACK waits for the timer.
    pub(super) fn is_waiting(&self) -> bool {
        !self.at.is_never()
    }

    pub(super) fn is_due_now(&self) -> bool {
        self.now
    }

    /// The next ACK goes at once.
    pub(super) fn acknowledge_now(&mut self) {
        self.now = true;
    }

    /// The window has grown: the sender hears of it soon. An even number of quick ACKs becomes one more, as the kernel
    /// sets the lowest bit (`tcp_grow_window`).
    #[inline]
    pub(super) fn quicken_once(&mut self) {
        self.quick |= 1;
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
        } else if gap > self.rto {
            self.quick = self.quick.max(quick.min(MAX_QUICK_ACKS));
        }
    }

    /// Lets the ACK wait. True when a timer set earlier is about to fire, so that it had better go now.
    #[inline]
    pub(super) fn schedule(&mut self, now: Time) -> bool {
        let mut wait = self.ato;
        if wait > ATO_MIN {
            if !self.rtt.is_zero() {
                wait = wait.min(self.rtt.max(ATO_MIN));
            }
            wait = wait.min(DELAY_MAX);
        }
        let (clock, begun) = (self.clock, self.clock.at(now));
        // The kernel counts the wait in whole ticks.
        let wait = wait.as_nanos() / clock.tick().as_nanos();
        if self.expires.is_some_and(|expires| expires <= begun + wait / 4) {
            return true;
        }
        let expires = self.expires.map_or(begun + wait, |e| e.min(begun + wait));
        self.expires = Some(expires);
        self.at = clock.fires(now, expires);
        false
    }

    /// An ACK has left.
    #[inline]
    pub(super) fn on_sent(&mut self) {
        self.now = false;
        (self.expires, self.at) = (None, Time::NEVER);
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
        self.ato = (self.ato * 2).min(self.rto);
        true
    }
}
