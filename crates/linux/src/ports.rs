//! The ports that tell flows apart on the wire: a flow's number is added to them.

/// The first port of senders; flow `i` has the `i`th.
pub const SENDER_PORT: usize = 40_001;
/// The first port of receivers.
pub const RECEIVER_PORT: usize = 5_001;
