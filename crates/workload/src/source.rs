//! What every generator that listens to nothing but the clock is.

use sojourn_units::{Random, Time};

/// Something that sends on its own account.
pub trait Source {
    /// When it next wants to act; `None` when it has nothing more to do.
    fn next(&self) -> Option<Time>;

    /// Acts, at the time that [`Source::next`] said.
    fn act(&mut self, random: &mut Random) -> Act;
}

/// One thing that a source does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// Sends a datagram of `bytes` bytes of payload (of a ping: the IP packet's bytes).
    Datagram {
        /// From 0.
        sequence: u64,
        /// Bytes.
        bytes: u32,
    },
    /// Opens a connection on which `bytes` bytes come back.
    Connection {
        /// From 0.
        sequence: u64,
        /// Bytes.
        bytes: u64,
    },
    /// Begins to send.
    On,
    /// Ceases to send.
    Off,
}
