//! The application's data that has not left.

use super::send_buffer::SendBuffer;
use crate::cc::LARGEST_BURST;
use crate::segment::Seq;

/// The application's data that has not left.
#[derive(Clone, Debug)]
pub(super) struct AppData {
    /// One past the last segment that may be sent.
    pub(super) end: Seq,
    /// Payload of the last segment that is not sent yet; full if there is none.
    pub(super) last_len: u32,
    /// Unsent segments of the buffer that is sent from, at least one.
    pub(super) buffer_left: u32,
    /// Whether there is no end of it.
    pub(super) endless: bool,
    /// The socket's buffer, where it matters.
    pub(super) send_buffer: Option<Box<SendBuffer>>,
}

impl AppData {
    /// So many bytes, or without end, in segments of `mss`.
    pub(super) fn new(bytes: Option<u64>, mss: u32, has_send_buffer: bool) -> Self {
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
            endless: bytes.is_none(),
            send_buffer: has_send_buffer.then(Box::default),
        }
    }
}

/// Segments that a full buffer holds.
pub(super) fn buffer_size(mss: u32) -> u32 {
    (LARGEST_BURST / u64::from(mss)).max(1) as u32
}
