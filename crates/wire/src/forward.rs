//! A router's changes to a frame.

use crate::frame::{Frame, IpAt};

/// Offset of the time to live in an IPv4 header; the protocol follows it.
const TTL: usize = 8;
/// Offset of the checksum in an IPv4 header.
const CHECKSUM: usize = 10;
/// Offset of the hop limit in an IPv6 header.
const HOP_LIMIT: usize = 7;

impl Frame {
    /// The number of routers that may still forward it: IPv4's time to live, IPv6's hop limit; none if it is no IP packet.
    pub fn hop_limit(&self) -> Option<u8> {
        let IpAt { start, is_v6, .. } = self.ip?;
        Some(self.bytes[start + if is_v6 { HOP_LIMIT } else { TTL }])
    }

    /// Forwards it as a router does (RFC 1812 §5.3.1, RFC 8200 §3): the link's addresses are new, the hop limit is one less, and
    /// IPv4's checksum covers that. A frame that is no IP packet, or has a hop limit of 0, keeps all its bytes and is no frame to
    /// send: the answer is then false.
    pub fn forward(&mut self, source: [u8; 6], destination: [u8; 6]) -> bool {
        let Some(IpAt { start, is_v6, .. }) = self.ip else { return false };
        if self.hop_limit() == Some(0) {
            return false;
        }
        self.bytes[..6].copy_from_slice(&destination);
        self.bytes[6..12].copy_from_slice(&source);
        if is_v6 {
            self.bytes[start + HOP_LIMIT] -= 1;
        } else {
            self.set_word(start + TTL, start + CHECKSUM, |word| word - 0x100);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROM: [u8; 6] = [2, 0, 0, 0, 0, 8];
    const TO: [u8; 6] = [2, 0, 0, 0, 0, 9];

    /// By hand: 0x4500 + 0x001d + 0x0000 + 0x4000 + 0x4011 + 0x0a09 + 0x0902 + 0x0a09 + 0x0901 = 0xeb43. Its complement
    /// is 0x14bc; with a time to live of 63 it is 0x15bc.
    #[test]
    fn ipv4_loses_one_hop_and_its_checksum_stays_right() {
        let mut bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
        bytes.extend([0x45, 0, 0, 29, 0, 0, 0x40, 0, 64, 17, 0x14, 0xbc]);
        bytes.extend([10, 9, 9, 2, 10, 9, 9, 1, 0, 1, 0, 2, 0, 9, 0, 0, 7]);
        let mut frame = Frame::new(bytes.clone());
        assert_eq!(frame.hop_limit(), Some(64));
        assert!(frame.forward(FROM, TO));
        assert_eq!(frame.bytes()[..12], [2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8]);
        assert_eq!(frame.bytes()[22..26], [63, 17, 0x15, 0xbc]);
        assert_eq!((&frame.bytes()[12..22], &frame.bytes()[26..]), (&bytes[12..22], &bytes[26..]));
    }

    #[test]
    fn ipv6_loses_one_hop_and_has_no_checksum() {
        let mut bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd];
        bytes.extend([0x60, 0, 0, 0, 0, 9, 17, 2]);
        bytes.extend([0xfd; 32]);
        bytes.extend([0, 1, 0, 2, 0, 9, 0, 0, 7]);
        let mut frame = Frame::new(bytes.clone());
        assert!(frame.forward(FROM, TO));
        assert_eq!((frame.hop_limit(), &frame.bytes()[22..]), (Some(1), &bytes[22..]));
        assert!(frame.forward(FROM, TO));
        let last = frame.clone();
        assert!(!frame.forward(TO, FROM), "no hop is left");
        assert_eq!(frame, last);
    }

    #[test]
    fn what_is_no_ip_packet_stays_as_it_is() {
        let mut frame = Frame::new(vec![0xff; 60]);
        assert_eq!(frame.hop_limit(), None);
        assert!(!frame.forward(FROM, TO));
        assert_eq!(frame.bytes(), [0xff; 60]);
    }
}
