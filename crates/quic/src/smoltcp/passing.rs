//! Measurements of a connection from the packets that pass its sender, as of any TCP: segments that were sent again, bytes
//! that are unacknowledged, RTT samples of segments that were sent once (Karn's rule, RFC 6298 §3).

use smoltcp::wire::{Ipv4Packet, Ipv6Packet, TcpPacket};
use sojourn_units::{Span, Time};
use std::collections::VecDeque;

/// A segment that was sent and is not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Segment {
    /// Bytes of the stream up to its end.
    end: u64,
    /// When it left first.
    sent: Time,
    is_repeated: bool,
}

/// The observer.
#[derive(Debug)]
pub(super) struct Passing {
    /// The sequence number of the first byte.
    first: Option<u32>,
    /// Bytes of the stream that have left, each counted once.
    highest: u64,
    /// Bytes of the stream that were acknowledged.
    acknowledged: u64,
    segments: VecDeque<Segment>,
    /// The largest payload so far, bytes; a full segment's before the first.
    pub(super) packet: u64,
    /// Segments that were acknowledged.
    pub(super) acked: u64,
    /// Segments with bytes that had left before.
    pub(super) repeated: u64,
    /// The newest RTT sample.
    pub(super) rtt: Option<Span>,
    /// How many there have been.
    pub(super) samples: u64,
}

/// Payload of a full segment in a packet of 1500 bytes of IPv4.
const FULL: u64 = 1460;

impl Default for Passing {
    fn default() -> Self {
        Self {
            first: None,
            highest: 0,
            acknowledged: 0,
            segments: VecDeque::new(),
            packet: FULL,
            acked: 0,
            repeated: 0,
            rtt: None,
            samples: 0,
        }
    }
}

impl Passing {
    /// Bytes that have left and were not acknowledged.
    pub(super) fn in_flight(&self) -> u64 {
        self.highest - self.acknowledged
    }

    /// The byte of the stream that a sequence number is, where the stream has come to `near`. The SYN is before the first.
    fn byte(&self, seq: i32, near: u64) -> Option<u64> {
        let ahead = (seq as u32).wrapping_sub(self.first?).wrapping_sub(near as u32) as i32;
        near.checked_add_signed(i64::from(ahead))
    }

    /// The sender sends this packet.
    pub(super) fn sent(&mut self, now: Time, packet: &[u8]) {
        let Some(tcp) = segment(packet) else { return };
        if tcp.syn() {
            self.first = Some((tcp.seq_number().0 as u32).wrapping_add(1));
        }
        let bytes = tcp.payload().len() as u64;
        let Some(start) = self.byte(tcp.seq_number().0, self.highest).filter(|_| bytes > 0) else {
            return;
        };
        let end = start + bytes;
        if start < self.highest {
            self.repeated += 1;
            let from = self.segments.partition_point(|segment| segment.end <= start);
            for segment in self.segments.range_mut(from..).take_while(|own| own.end <= end) {
                segment.is_repeated = true;
            }
        }
        if end > self.highest {
            self.packet = self.packet.max(bytes);
            self.segments.push_back(Segment { end, sent: now, is_repeated: start < self.highest });
            self.highest = end;
        }
    }

    /// This packet comes to the sender.
    pub(super) fn received(&mut self, now: Time, packet: &[u8]) {
        let Some(tcp) = segment(packet).filter(TcpPacket::ack) else { return };
        let Some(upto) = self.byte(tcp.ack_number().0, self.acknowledged) else { return };
        // The FIN has a number, and is no byte of the stream.
        self.acknowledged = self.acknowledged.max(upto.min(self.highest));
        while let Some(segment) = self.segments.front().filter(|own| own.end <= self.acknowledged) {
            if !segment.is_repeated {
                self.rtt = Some(now - segment.sent);
                self.samples += 1;
            }
            self.acked += 1;
            self.segments.pop_front();
        }
    }
}

/// The TCP segment of an IP packet.
fn segment(packet: &[u8]) -> Option<TcpPacket<&[u8]>> {
    let payload = match packet.first()? >> 4 {
        4 => Ipv4Packet::new_checked(packet).ok()?.payload(),
        _ => Ipv6Packet::new_checked(packet).ok()?.payload(),
    };
    TcpPacket::new_checked(payload).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet of IPv4 with this sequence number, acknowledgement, flags, and as many bytes.
    fn packet(seq: u32, ack: u32, flags: u8, bytes: u16) -> Vec<u8> {
        let mut packet = vec![0; 40 + usize::from(bytes)];
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&(40 + bytes).to_be_bytes());
        packet[24..28].copy_from_slice(&seq.to_be_bytes());
        packet[28..32].copy_from_slice(&ack.to_be_bytes());
        (packet[32], packet[33]) = (0x50, flags);
        packet
    }

    const SYN: u8 = 2;
    const ACK: u8 = 16;

    /// Three segments of 100 bytes across the end of the numbers. The second is sent again, and so its acknowledgement is
    /// no sample; the third's is.
    #[test]
    fn a_segment_that_was_sent_again_is_no_sample() {
        let ms = Time::from_millis;
        let mut own = Passing::default();
        let isn = u32::MAX - 150;
        own.sent(ms(0), &packet(isn, 0, SYN, 0));
        let seq = |byte: u32| isn.wrapping_add(1).wrapping_add(byte);
        for (at, byte) in [(10, 0), (11, 100), (12, 200)] {
            own.sent(ms(at), &packet(seq(byte), 0, ACK, 100));
        }
        assert_eq!((own.in_flight(), own.repeated), (300, 0));
        own.received(ms(30), &packet(0, seq(100), ACK, 0));
        assert_eq!((own.in_flight(), own.rtt, own.acked), (200, Some(Span::from_millis(20)), 1));
        own.sent(ms(31), &packet(seq(100), 0, ACK, 100));
        assert_eq!((own.in_flight(), own.repeated), (200, 1));
        own.received(ms(51), &packet(0, seq(200), ACK, 0));
        assert_eq!((own.samples, own.acked), (1, 2), "it may be of either");
        // With the FIN's number behind the last byte.
        own.received(ms(52), &packet(0, seq(301), ACK, 0));
        assert_eq!((own.in_flight(), own.rtt, own.acked), (0, Some(Span::from_millis(40)), 3));
    }
}
