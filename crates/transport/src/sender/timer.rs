//! The sender's one timer: its purpose and its time.

use crate::stack::TcpQuirks;
use sojourn_units::{CoarseClock, Span, Time};

/// The purpose of a timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Repeat the SYN.
    Syn,
    /// Retransmission timeout.
    Rto,
    /// Tail-loss probe.
    Probe,
    /// RACK: a candidate's reordering window ends.
    Reorder,
}

/// A timer that is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Timer {
    pub(super) kind: Kind,
    /// When it was set, and for how long.
    pub(super) set: Time,
    pub(super) span: Span,
    /// Not before this is it due.
    pub(super) at: Time,
}

/// The one timer that runs, and the clock that it hangs on.
#[derive(Clone, Debug)]
pub(super) struct Timers {
    pub(super) next: Option<Timer>,
    /// What is added to short timers ([`TcpQuirks::timer_slack`]).
    pub(super) slack: Span,
    pub(super) clock: CoarseClock,
}

impl Timers {
    pub(super) fn new(quirks: &TcpQuirks) -> Self {
        let clock = CoarseClock::new(quirks.hz);
        let slack = quirks.timer_slack.unwrap_or(clock.tick() * 2);
        Self { next: None, slack, clock }
    }
}
