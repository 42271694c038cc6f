//! What keeps the sender from sending more, and for how long: the kernel's chronographs (`tcp_chrono_start`,
//! `tcp_chrono_stop` in `net/ipv4/tcp_output.c`; `tcpi_busy_time`, `tcpi_rwnd_limited`, `tcpi_sndbuf_limited` of
//! `TCP_INFO`) and what they leave out.
//!
//! At each moment one [`Limit`] holds, the one that stopped the last attempt to send. `tcp_write_xmit` tests them in
//! this order: pacing, congestion window, receive window, the host's small queue. As in the kernel:
//!
//! - Busy is the time from when data are written until all of it is acknowledged; the limited times are parts of it.
//! - The receive window limits from an attempt that it stops until the next one that it does not.
//! - The send buffer limits only if an attempt has sent all that was written, the congestion window is not in use as
//!   a whole, and the application sleeps for want of room; from then on until it is woken.
//!
//! The kernel counts in ticks, here it is nanoseconds.

use sojourn_units::{Span, Time};

/// What keeps a sender from sending more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Limit {
    /// The connection is not established.
    Closed,
    /// The application: nothing is written, and nothing is out.
    Idle,
    /// The application: all that is written is out, and the congestion window would admit more.
    Application,
    /// The congestion window.
    CongestionWindow,
    /// The pacing rate.
    Pacing,
    /// The peer's window (`TCP_CHRONO_RWND_LIMITED`).
    ReceiveWindow,
    /// The socket's buffer (`TCP_CHRONO_SNDBUF_LIMITED`).
    SendBuffer,
    /// The host's small queue ([`super::small_queue`]).
    Host,
}

const LIMITS: usize = Limit::Host as usize + 1;

/// How long each limit has held.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    pub(super) current: Limit,
    since: Time,
    /// Before that, by [`Limit`]. Touched only when the limit changes, so it is not among what every ACK reads.
    pub(super) held: Box<[Span; LIMITS]>,
}

/// How long a connection was kept from sending more, and by what, since it was established.
///
/// The times of all limits exclude one another, and their sum is the connection's age. Busy is the sum without what the
/// application left idle.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct LimitedTimes {
    /// With data written that are not acknowledged yet (`tcpi_busy_time`).
    pub busy: Span,
    /// By the peer's receive window (`tcpi_rwnd_limited`).
    pub receive_window: Span,
    /// By the socket's send buffer (`tcpi_sndbuf_limited`).
    pub send_buffer: Span,
    /// By the congestion window.
    pub congestion_window: Span,
    /// By the pacing rate.
    pub pacing: Span,
    /// By the application, which had written no more, while the congestion window would have admitted more.
    pub application: Span,
    /// By the small queue of its own host.
    pub host: Span,
}

impl Limits {
    pub(super) fn new() -> Self {
        Self { current: Limit::Closed, since: Time::ZERO, held: Box::new([Span::ZERO; LIMITS]) }
    }

    /// This limit holds from now on.
    #[inline]
    pub(super) fn set(&mut self, now: Time, limit: Limit) {
        if self.current != limit {
            self.change(now, limit);
        }
    }

    #[inline(never)]
    pub(super) fn change(&mut self, now: Time, limit: Limit) {
        self.held[self.current as usize] += now.since(self.since);
        (self.current, self.since) = (limit, now);
    }
}
