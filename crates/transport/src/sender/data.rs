//! The application's data that has not left.

use super::send_buffer::SendBuffer;
use crate::cc::LARGEST_BURST;
use crate::segment::{Ack, Seq};
use crate::stack::TcpQuirks;

/// The application's data that has not left.
#[derive(Clone, Debug)]
pub(super) struct AppData {
    /// One past the last segment that may be sent.
    pub(super) end: Seq,
    /// Payload of the last segment that is not sent yet; full if there is none.
    pub(super) last_len: u32,
    /// Unsent segments of the buffer that is sent from, at least one.
    pub(super) buffer_left: u32,
    /// Segments that may be out before the send buffer matters.
    pub(super) unbuffered: u16,
    /// Whether there is no end of it.
    pub(super) endless: bool,
    /// Whether the send buffer does not grow with the window (`SOCK_SNDBUF_LOCK`).
    pub(super) is_fixed: bool,
    /// The socket's buffer, where it matters.
    pub(super) send_buffer: Option<Box<SendBuffer>>,
}

impl AppData {
    /// The data of a flow with `bytes` bytes, or without end, in segments.
    pub(super) fn new(
        bytes: Option<u64>,
        mss: u32,
        quirks: &TcpQuirks,
        has_send_buffer: bool,
    ) -> Self {
        let (end, last_len) = match bytes {
            None => (Seq::MAX / 2, mss),
            Some(bytes) => {
                let segments = bytes.div_ceil(u64::from(mss));
                let last = bytes - segments.saturating_sub(1) * u64::from(mss);
                (segments.min(u64::from(Seq::MAX / 2)) as Seq, last as u32)
            }
        };
        Self {
            end,
            last_len,
            buffer_left: buffer_size(mss),
            unbuffered: unbuffered(mss, quirks),
            endless: bytes.is_none(),
            is_fixed: false,
            send_buffer: has_send_buffer.then(Box::default),
        }
    }
}

impl AppData {
    /// Frees what an ACK gives back of the send buffer; true if that is anything, or may be where there is no buffer.
    #[inline]
    pub(super) fn free(&mut self, ack: &Ack, una_advanced: bool, newly_sacked: bool) -> bool {
        let Some(buffer) = &mut self.send_buffer else { return una_advanced };
        if una_advanced {
            buffer.acknowledged(ack.ack);
        }
        let mut gives_room = una_advanced;
        if newly_sacked {
            for &block in ack.sacked() {
                gives_room |= buffer.join(block, ack.ack);
            }
        }
        gives_room
    }
}

/// Segments that may be out before the application could have been asleep with nothing written: it is woken when two thirds
/// of the send buffer are left, and a segment costs no more than one that is a buffer of its own.
fn unbuffered(mss: u32, quirks: &TcpQuirks) -> u16 {
    (quirks.send_buffer / 3 * 2 / (mss + quirks.skb_overhead)).try_into().unwrap_or(u16::MAX)
}

/// Segments that a full buffer holds.
pub(super) fn buffer_size(mss: u32) -> u32 {
    (LARGEST_BURST / u64::from(mss)).max(1) as u32
}
