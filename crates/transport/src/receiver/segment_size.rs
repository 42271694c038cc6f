//! What a receiver takes for the size of its peer's segments (`tcp_measure_rcv_mss` in `net/ipv4/tcp_input.c`; `rcv_mss`):
//! an ACK may wait until more than one of it has come (RFC 1122 §4.2.3.2, RFC 5681 §4.2).
//!
//! A larger segment is the size at once. A smaller one says that the sender has written no more for now; but if the
//! next is as small, that is how the sender cuts its data.

use crate::segment::{Data, HEADERS};

/// First guess (`TCP_MSS_DEFAULT`); a segment of this size with its TCP header counts whatever its flags.
const DEFAULT: u32 = 536;
/// Below this, TCP header included, a segment is no measure (`TCP_MIN_MSS`).
const LEAST: u32 = 88;
/// TCP header without and with the timestamp option.
const TCP_HEADER: u32 = 20;
const WITH_OPTIONS: u32 = HEADERS - 20;

#[derive(Clone, Debug)]
pub(super) struct SegmentSize {
    size: u32,
    /// See [`TcpQuirks::acks_push`](crate::stack::TcpQuirks::acks_push).
    acks_push: bool,
    /// Payload of the last segment, if it was smaller.
    last_smaller: u32,
}

impl SegmentSize {
    /// For a connection with segments no larger than this.
    pub(super) fn new(mss: u32, acks_push: bool) -> Self {
        Self { size: DEFAULT.min(mss), acks_push, last_smaller: 0 }
    }

    /// The size, bytes of payload.
    #[inline]
    pub(super) fn get(&self) -> u32 {
        self.size
    }

    /// Whether the kernel learns the size again from this segment, and with it how much memory a payload takes.
    #[inline]
    pub(super) fn is_news(&self, data: &Data) -> bool {
        u32::from(data.len) > self.size
    }

    /// A segment has come in order. Whether it is the end of what was written, for all one knows.
    #[inline]
    pub(super) fn measure(&mut self, data: &Data) -> bool {
        let len = u32::from(data.len);
        let last = core::mem::take(&mut self.last_smaller);
        if len >= self.size {
            self.size = len;
            return data.push && self.acks_push;
        }
        let with_header = len + WITH_OPTIONS;
        if with_header >= DEFAULT + TCP_HEADER || (with_header >= LEAST + TCP_HEADER && !data.push)
        {
            self.last_smaller = len;
            if len == last {
                self.size = len;
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(len: u16, push: bool) -> Data {
        Data {
            seq: 0,
            len,
            cwr: false,
            push,
            retransmission: false,
            gso_segment: false,
            accecn: false,
            tsval: 0,
            tsecr: 0,
        }
    }

    /// 1448 at once, and ends the write if it has PSH; a smaller one ends the write; two alike are the size, but with
    /// PSH only from 524 bytes on (556 with their header); sizes below 76 never are; a larger one is the size at once.
    #[test]
    fn sizes_by_hand() {
        let mut size = SegmentSize::new(1448, true);
        assert_eq!(size.get(), 536);
        for (len, push, ends, now) in [
            (1448, false, false, 1448),
            (1448, true, true, 1448),
            (700, false, true, 1448),
            (1448, false, false, 1448),
            (700, false, true, 1448),
            (700, true, false, 700),
            (150, true, true, 700),
            (150, true, true, 700),
            (150, false, true, 700),
            (150, false, false, 150),
            (75, false, true, 150),
            (75, false, true, 150),
            (151, false, false, 151),
        ] {
            assert_eq!((size.measure(&data(len, push)), size.get()), (ends, now), "{len}");
        }
    }
}
