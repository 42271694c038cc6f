//! How far a connection's opening has come.

use sojourn_units::Time;

/// Life of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    Closed,
    SynSent,
    Established,
}

/// How far the handshake has come.
#[derive(Clone, Debug)]
pub(super) struct HandshakeState {
    pub(super) phase: Phase,
    pub(super) syn_sent: Time,
    /// The timestamp of the first SYN.
    pub(super) syn_clock: u32,
    pub(super) syn_retries: u32,
    /// Segments of the window that the connection begins with.
    pub(super) initial_window: u32,
}

impl HandshakeState {
    pub(super) fn new(initial_window: u32) -> Self {
        Self {
            phase: Phase::Closed,
            syn_sent: Time::ZERO,
            syn_clock: 0,
            syn_retries: 0,
            initial_window,
        }
    }

    #[inline]
    pub(super) fn is_done(&self) -> bool {
        self.phase == Phase::Established
    }
}
