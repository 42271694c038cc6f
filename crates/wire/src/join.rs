//! Packets of one TCP connection, joined into a super-packet that a host takes in one piece.
//!
//! The rules are those of Linux's GRO (`tcp_gro_receive`, `inet_gro_receive`, `ipv6_gro_receive`, 7.3): equal
//! headers but for lengths, identification, checksums and sequence numbers, which continue; equal options, ECN field and
//! acknowledgement number; no flag but ACK, ECE and, on the last, PSH; all payloads but the last of one size. A receiver
//! splits it at that size, or acknowledges it once.

use crate::frame::{Frame, IpAt, TCP_CHECKSUM, TCP_FLAGS, Transport};

const ACK: u8 = 0x10;
const PSH: u8 = 0x08;
const ECE: u8 = 0x40;
/// The most that the length field of an IP packet can say.
const LONGEST: usize = 65_535;

/// The place of a checksum that a network card finishes: where it begins to count, and its place from there.
pub type ChecksumAt = (u16, u16);

/// A super-packet under construction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Joined {
    frame: Frame,
    ip: IpAt,
    /// Where the TCP header begins, and its payload.
    tcp: usize,
    body: usize,
    /// Payload of every packet but the last.
    size: usize,
    packets: usize,
    is_closed: bool,
}

impl Joined {
    /// The first packet of one; nothing if it may not be joined with others.
    pub fn begin(first: &Frame) -> Option<Self> {
        let ip @ IpAt { transport: Some((Transport::Tcp, tcp)), .. } = first.ip? else {
            return None;
        };
        let body = tcp + usize::from(first.bytes[tcp + 12] >> 4) * 4;
        let flags = first.bytes[tcp + TCP_FLAGS];
        let size = first.end().checked_sub(body).filter(|size| *size > 0)?;
        let is_whole = first.end() == first.bytes.len();
        let is_fragment = !ip.is_v6 && first.word(ip.start + 6) & 0x3fff != 0;
        if flags & !ECE != ACK || !is_whole || is_fragment {
            return None;
        }
        Some(Self { frame: first.clone(), ip, tcp, body, size, packets: 1, is_closed: false })
    }

    /// Adds the packet that follows, unless it may not be joined.
    pub fn add(&mut self, next: &Frame) -> bool {
        let Some(payload) = next.bytes.get(self.body..).map(<[u8]>::len) else { return false };
        let is_longer = self.frame.bytes.len() + payload - self.ip.start > LONGEST;
        if self.is_closed
            || payload == 0
            || payload > self.size
            || is_longer
            || !self.continues(next)
        {
            return false;
        }
        let has_push = next.bytes[self.tcp + TCP_FLAGS] & PSH != 0;
        self.is_closed = has_push || payload < self.size;
        self.frame.bytes[self.tcp + TCP_FLAGS] |= next.bytes[self.tcp + TCP_FLAGS] & PSH;
        self.frame.bytes.extend_from_slice(&next.bytes[self.body..]);
        self.packets += 1;
        true
    }

    /// Whether the headers of a packet are those of the next one.
    fn continues(&self, next: &Frame) -> bool {
        let (ours, theirs) = (&self.frame.bytes, &next.bytes);
        let (ip, tcp) = (self.ip.start, self.tcp);
        let equal = |from: usize, to: usize| ours[from..to] == theirs[from..to];
        let is_ip_equal = if self.ip.is_v6 {
            equal(0, ip + 4) && equal(ip + 6, tcp)
        } else {
            equal(0, ip + 2) && equal(ip + 6, ip + 10) && equal(ip + 12, tcp)
        };
        let sent = (ours.len() - self.body) as u32;
        next.ip == Some(self.ip)
            && next.end() == theirs.len()
            && is_ip_equal
            && equal(tcp, tcp + 4)
            && next.long(tcp + 4) == self.frame.long(tcp + 4).wrapping_add(sent)
            && equal(tcp + 8, tcp + TCP_FLAGS)
            && ours[tcp + TCP_FLAGS] == theirs[tcp + TCP_FLAGS] & !PSH
            && equal(tcp + 14, tcp + TCP_CHECKSUM)
            && equal(tcp + 18, self.body)
    }

    /// How many packets it is.
    pub const fn packets(&self) -> usize {
        self.packets
    }

    /// Payload of every packet but the last, bytes.
    pub const fn size(&self) -> usize {
        self.size
    }

    /// Bytes before the payload.
    pub const fn headers(&self) -> usize {
        self.body
    }

    /// Whether it is of IP version 6.
    pub const fn is_v6(&self) -> bool {
        self.ip.is_v6
    }

    /// The whole, its transport checksum to be finished by whoever sends it.
    pub fn finish(mut self) -> (Frame, ChecksumAt) {
        let at = self.frame.finish_partly().unwrap_or((self.tcp as u16, TCP_CHECKSUM as u16));
        (self.frame, at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{Ethernet2Header, Ipv4Header, TcpHeader};
    use proptest::prelude::*;

    /// A super-packet of TCP over IPv4 with timestamps.
    fn whole(payload: usize, change: impl FnOnce(&mut TcpHeader)) -> Frame {
        let mut tcp = TcpHeader::new(1000, 2000, u32::MAX - 1000, 500);
        (tcp.ack, tcp.acknowledgment_number) = (true, 77);
        tcp.set_options_raw(&[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]).unwrap();
        change(&mut tcp);
        let length = (tcp.header_len() + payload) as u16;
        let ip = Ipv4Header::new(length, 64, etherparse::ip_number::TCP, [1; 4], [2; 4]).unwrap();
        let mut bytes =
            Ethernet2Header { ether_type: 0x0800.into(), ..Default::default() }.to_bytes().to_vec();
        bytes.extend(ip.to_bytes());
        bytes.extend(tcp.to_bytes());
        bytes.extend((0..payload).map(|n| n as u8));
        let mut frame = Frame::new(bytes);
        frame.finish();
        frame
    }

    fn joined(parts: &[Frame]) -> (Joined, usize) {
        let mut joined = Joined::begin(&parts[0]).unwrap();
        let taken = 1 + parts[1..].iter().take_while(|part| joined.add(part)).count();
        (joined, taken)
    }

    proptest! {
        /// Splitting and joining give the whole again.
        #[test]
        fn what_was_split_is_joined(payload in 2_usize..60_000, size in 700_usize..1448, push in any::<bool>()) {
            let whole = whole(payload, |tcp| tcp.psh = push);
            let parts = whole.clone().segments(size, false);
            prop_assume!(parts.len() > 1);
            let (joined, taken) = joined(&parts);
            prop_assert_eq!((taken, joined.size()), (parts.len(), size));
            let (mut frame, at) = joined.finish();
            prop_assert_eq!(at, (34, 16));
            frame.finish();
            prop_assert_eq!(frame.bytes(), whole.bytes());
        }
    }

    #[test]
    fn what_differs_is_not_joined() {
        let parts = |change: fn(&mut TcpHeader)| whole(3000, change).segments(1000, false);
        let plain = parts(|_| {});
        assert_eq!(joined(&plain).1, 3);
        let mut marked = plain[1].clone();
        marked.set_ecn(sojourn_units::Ecn::Ce);
        for other in [
            marked,
            plain[2].clone(),
            parts(|tcp| tcp.acknowledgment_number = 78)[1].clone(),
            parts(|tcp| tcp.window_size = 501)[1].clone(),
            parts(|tcp| tcp.source_port = 1001)[1].clone(),
            parts(|tcp| tcp.ece = true)[1].clone(),
            parts(|tcp| tcp.set_options_raw(&[1, 1, 8, 10, 0, 0, 0, 3, 0, 0, 0, 2]).unwrap())[1]
                .clone(),
            Frame::new(vec![0; 60]),
        ] {
            assert!(!Joined::begin(&plain[0]).unwrap().add(&other), "{other:?}");
        }
        for first in [parts(|tcp| tcp.syn = true), parts(|tcp| tcp.cwr = true)] {
            assert_eq!(Joined::begin(&first[0]), None);
        }
        assert_eq!(Joined::begin(&whole(0, |_| {})), None, "a pure acknowledgement");
    }

    /// A short packet, and one with PSH, is the last.
    #[test]
    fn a_short_packet_is_the_last() {
        let parts = whole(2500, |_| {}).segments(1000, false);
        let (mut joined, taken) = joined(&parts);
        assert_eq!((taken, joined.packets()), (3, 3));
        let next = whole(3500, |tcp| tcp.sequence_number = tcp.sequence_number.wrapping_add(2500));
        assert!(!joined.add(&next.segments(1000, false)[0]));
    }

    /// No more than a length field can say.
    #[test]
    fn a_whole_is_no_longer_than_its_length_field_says() {
        let parts = whole(65_400, |_| {}).segments(1448, false);
        let (mut joined, _) = joined(&parts);
        let rest =
            whole(3000, |tcp| tcp.sequence_number = tcp.sequence_number.wrapping_add(65_400));
        assert!(!joined.add(&rest.segments(1448, false)[0]));
        assert!(joined.finish().0.bytes().len() <= 14 + LONGEST);
    }
}
