//! Super-packets of segmentation offload, split into the packets that the wire would carry.
//!
//! Linux's GSO: every segment has the headers of the whole; the IPv4 identification counts up, sequence numbers count
//! bytes, FIN and PSH stay on the last segment, CWR on the first (RFC 3168 §6.1.2; with AccECN, where the flag is a
//! counter's bit, on all: `SKB_GSO_TCP_ACCECN`). Checksums are computed again, since hosts that offload leave them
//! unfinished.

use crate::frame::{CWR, Frame, IpAt, TCP_CHECKSUM, TCP_FLAGS, Transport};
use crate::join::ChecksumAt;
use etherparse::checksum;

const TCP: u8 = 6;
const UDP: u8 = 17;
/// Offset in a UDP header.
const UDP_CHECKSUM: usize = 6;
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;

impl Frame {
    /// Splits it into frames with at most `payload` bytes behind the transport header. It stays whole if it is short
    /// enough, or neither TCP nor UDP. `accecn` says that CWR is a bit of AccECN's counter.
    pub fn segments(self, payload: usize, accecn: bool) -> Vec<Self> {
        self.split(payload, accecn, Self::finish)
    }

    /// The same, for whoever sends them through an interface that finishes transport checksums: they are as
    /// [`Frame::finish_partly`] leaves them.
    pub fn unfinished_segments(self, payload: usize, accecn: bool) -> Vec<Self> {
        self.split(payload, accecn, |frame| {
            frame.finish_partly();
        })
    }

    fn split(self, payload: usize, accecn: bool, finish: impl Fn(&mut Self)) -> Vec<Self> {
        let Some(ip @ IpAt { transport: Some((transport, at)), .. }) = self.ip else {
            return vec![self];
        };
        let header = match transport {
            Transport::Tcp => usize::from(self.bytes[at + 12] >> 4) * 4,
            Transport::Udp => 8,
        };
        let (body, end) = (at + header, self.end());
        if payload == 0 || end.saturating_sub(body) <= payload {
            return vec![self];
        }
        let parts: Vec<&[u8]> = self.bytes[body..end].chunks(payload).collect();
        let last = parts.len() - 1;
        let mut sent = 0;
        let split = parts.iter().enumerate().map(|(number, part)| {
            let mut bytes = self.bytes[..body].to_vec();
            bytes.extend_from_slice(part);
            let mut frame = Self { bytes, ip: Some(ip) };
            if !ip.is_v6 {
                let id = self.word(ip.start + 4).wrapping_add(number as u16);
                frame.put(ip.start + 4, id);
            }
            if transport == Transport::Tcp {
                let seq = self.long(at + 4).wrapping_add(sent);
                frame.bytes[at + 4..at + 8].copy_from_slice(&seq.to_be_bytes());
                let mut flags = self.bytes[at + TCP_FLAGS];
                if number < last {
                    flags &= !(FIN | PSH);
                }
                if number > 0 && !accecn {
                    flags &= !CWR;
                }
                frame.bytes[at + TCP_FLAGS] = flags;
            }
            sent += part.len() as u32;
            finish(&mut frame);
            frame
        });
        split.collect()
    }

    /// Sets lengths and computes all checksums, for a frame from a host that left them to its network card.
    pub fn finish(&mut self) {
        let Some((field, protocol)) = self.finish_network() else { return };
        self.put(field, 0);
        let at = self.ip.and_then(|ip| ip.transport).map_or(0, |(_, at)| at);
        let sum = self.pseudo_header(protocol).add_slice(&self.bytes[at..]).ones_complement();
        let sum = sum.to_be();
        // RFC 768: a UDP checksum of zero would say that there is none.
        self.put(field, if protocol == UDP && sum == 0 { 0xffff } else { sum });
    }

    /// Sets lengths and the checksum of IPv4, and leaves the transport checksum to a network card: its field has the sum of
    /// the pseudo-header. Returns what the card has to know; nothing where there is no transport header.
    pub fn finish_partly(&mut self) -> Option<ChecksumAt> {
        let (field, protocol) = self.finish_network()?;
        let sum = !self.pseudo_header(protocol).ones_complement().to_be();
        self.put(field, sum);
        self.checksum_at()
    }

    /// Where a network card would finish the transport checksum.
    pub fn checksum_at(&self) -> Option<ChecksumAt> {
        let (transport, at) = self.ip?.transport?;
        let field = if transport == Transport::Tcp { TCP_CHECKSUM } else { UDP_CHECKSUM };
        Some((at as u16, field as u16))
    }

    /// Sets lengths and the checksum of IPv4; returns the place of the transport checksum, and the protocol's number.
    fn finish_network(&mut self) -> Option<(usize, u8)> {
        let ip = self.ip?;
        let length = self.bytes.len() - ip.start;
        if ip.is_v6 {
            self.put(ip.start + 4, crate::length(length - 40));
        } else {
            self.put(ip.start + 2, crate::length(length));
            self.put(ip.start + 10, 0);
            let header = usize::from(self.bytes[ip.start] & 15) * 4;
            let sum = checksum::Sum16BitWords::new()
                .add_slice(&self.bytes[ip.start..ip.start + header])
                .ones_complement();
            self.put(ip.start + 10, sum.to_be());
        }
        let (transport, at) = ip.transport?;
        match transport {
            Transport::Tcp => Some((at + TCP_CHECKSUM, TCP)),
            Transport::Udp => {
                self.put(at + 4, crate::length(self.bytes.len() - at));
                Some((at + UDP_CHECKSUM, UDP))
            }
        }
    }

    /// The sum of the bytes that the transport checksum covers besides the transport's own.
    fn pseudo_header(&self, protocol: u8) -> checksum::Sum16BitWords {
        let at = self.ip.and_then(|ip| ip.transport).map_or(0, |(_, at)| at);
        let [source, destination] = self.addresses();
        let length = (self.bytes.len() - at) as u32;
        checksum::Sum16BitWords::new()
            .add_slice(source)
            .add_slice(destination)
            .add_2bytes([0, protocol])
            .add_4bytes(length.to_be_bytes())
    }
}
