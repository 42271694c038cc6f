//! What TCP endpoints put on the wire, as plain values.
//!
//! Sequence space is counted in segments: segment *n* is the *n*-th piece of the stream, and `ack = n` means that all
//! below *n* has arrived. A piece is as long whenever it is sent as when it first was, so nothing is lost by it, and a
//! scoreboard is an array. Taps that write real headers turn segments into bytes.

use crate::ecn::{Flags, option};
use sojourn_units::{Ecn, Time};

/// A segment number.
pub type Seq = u32;

/// IPv4 and TCP headers with the timestamp option: the bytes that a data segment adds to its payload.
pub const HEADERS: u32 = 52;

/// IP bytes of a SYN or SYN/ACK: 20 of IP, 20 of TCP, 20 of options (MSS, SACK permitted, timestamps, window
/// scale).
pub const SYN_LEN: u32 = 60;

/// Most SACK blocks that fit next to timestamps (RFC 2018 §3).
pub const SACK_BLOCKS: usize = 3;

/// The timestamp clock (RFC 7323 §4; Linux's ticks once a millisecond): the reading at `at` on a host with a clock
/// `offset` ahead.
#[inline]
pub fn clock_ms(at: Time, offset: u32) -> u32 {
    ((at.as_nanos() / 1_000_000) as u32).wrapping_add(offset)
}

/// A run of segments `[start, end)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Block {
    /// First segment.
    pub start: Seq,
    /// One past the last.
    pub end: Seq,
}

/// What a SYN or a SYN/ACK says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Handshake {
    /// ECN flags (RFC 3168 §6.1.1, RFC 9768 §3.1).
    pub ecn: Flags,
    /// Sender's clock in milliseconds (timestamp option).
    pub tsval: u32,
    /// Echo of the peer's clock; on a SYN/ACK only.
    pub tsecr: u32,
    /// Receive window in bytes (unscaled, as on every SYN).
    pub window: u32,
    /// Whether it has AccECN's option; a SYN never has.
    pub accecn: bool,
}

impl Handshake {
    /// IP bytes.
    #[inline]
    pub fn ip_len(&self) -> u32 {
        SYN_LEN + if self.accecn { option::WHOLE } else { 0 }
    }
}

/// A data segment: 20 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Data {
    /// Its number.
    pub seq: Seq,
    /// Payload bytes.
    pub len: u16,
    /// Whether the sender has reduced its window (RFC 3168 §6.1.2).
    pub cwr: bool,
    /// Whether it is the last of those that left together, or of the stream (PSH). From Linux 5.4 on TCP sets it on
    /// every burst of two and more ("tcp: force a PSH flag on TSO packets").
    pub push: bool,
    /// Whether it was sent before; not on the wire, for the records.
    pub retransmission: bool,
    /// Whether it is cut from a burst on the way to the device; not on the wire, for the sender's small queue.
    pub gso_segment: bool,
    /// Whether it has AccECN's option.
    pub accecn: bool,
    /// Sender's clock in milliseconds (timestamp option).
    pub tsval: u32,
    /// Echo of the receiver's clock, in milliseconds.
    pub tsecr: u32,
}

/// An acknowledgement without data. The fields of every ACK are in its first 20 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Ack {
    /// All below this has arrived.
    pub ack: Seq,
    /// Receive window in bytes, counted from `ack`.
    pub window: u32,
    /// Receiver's clock in milliseconds (timestamp option).
    pub tsval: u32,
    /// Echo of a data segment's clock, in milliseconds.
    pub tsecr: u32,
    /// SACK blocks in use.
    pub blocks: u8,
    /// ECN flags: ECN-Echo (RFC 3168 §6.1.3) or Accurate ECN's counter (RFC 9768 §3.2.2).
    pub ecn: Flags,
    /// Whether the first block tells of a duplicate (RFC 2883).
    pub dsack: bool,
    /// Fields of AccECN's option, if it has that.
    pub accecn: Option<u8>,
    /// The blocks that have arrived above `ack`, newest first (RFC 2018); `blocks` of them are in use.
    pub sack: [Block; SACK_BLOCKS],
}

impl Data {
    /// IP bytes.
    #[inline]
    pub fn ip_len(&self) -> u32 {
        HEADERS + if self.accecn { option::WHOLE } else { 0 } + u32::from(self.len)
    }
}

impl Ack {
    /// The SACK blocks in use.
    #[inline]
    pub fn sacked(&self) -> &[Block] {
        &self.sack[..usize::from(self.blocks)]
    }

    /// IP bytes: headers with timestamps, the SACK option and AccECN's.
    #[inline]
    pub fn ip_len(&self) -> u32 {
        HEADERS + option::sack_bytes(self.blocks) + self.accecn.map_or(0, option::bytes)
    }
}

/// Where a sender or receiver puts what it sends. The moment is the call's.
pub trait Output {
    /// The first packet of a connection, with its ECN field.
    fn syn(&mut self, syn: Handshake, ecn: Ecn);
    /// A data segment, with its ECN field.
    fn data(&mut self, data: Data, ecn: Ecn);
}

/// Before or at, in a sequence space that wraps.
#[inline]
pub fn before(a: Seq, b: Seq) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// Strictly after, in a sequence space that wraps.
#[inline]
pub fn after(a: Seq, b: Seq) -> bool {
    before(b, a)
}
