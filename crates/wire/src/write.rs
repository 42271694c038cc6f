//! Headers, written.

use etherparse::{
    IpDscp, IpEcn, IpNumber, Ipv4Header, Ipv6FlowLabel, Ipv6Header, TcpHeader, UdpHeader,
};
use sojourn_units::{Dscp, Ecn};

/// Payload of any length that nobody reads.
pub static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// The time to live that every host and router sets.
pub const TTL: u8 = 64;

const IP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;

/// A length as a header has it: 0 if it does not fit, as in a jumbogram (RFC 2675 §3).
pub fn length(bytes: usize) -> u16 {
    u16::try_from(bytes).unwrap_or(0)
}

/// Source and destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Addresses {
    /// Of version 4.
    V4([[u8; 4]; 2]),
    /// Of version 6, with the flow label.
    V6([[u8; 16]; 2], u32),
}

/// The fields of an IP header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ip {
    /// Source and destination.
    pub ends: Addresses,
    /// ECN field.
    pub ecn: Ecn,
    /// DSCP.
    pub dscp: Dscp,
    /// Bytes of the whole IP packet.
    pub len: usize,
    /// Identification (version 4).
    pub id: u16,
}

impl Ip {
    /// Bytes behind the IP header.
    pub fn payload(&self) -> usize {
        let header = match self.ends {
            Addresses::V4(_) => IP_HEADER,
            Addresses::V6(..) => Ipv6Header::LEN,
        };
        self.len.saturating_sub(header)
    }

    /// Appends the header.
    pub fn header(&self, protocol: IpNumber, out: &mut Vec<u8>) {
        match self.ends {
            Addresses::V4(_) => out.extend_from_slice(&self.v4(protocol).to_bytes()),
            Addresses::V6([source, destination], label) => {
                let header = Ipv6Header {
                    // RFC 8200 §7: the DSCP and the ECN field, as in version 4.
                    traffic_class: self.dscp.value() << 2 | self.ecn.bits(),
                    flow_label: Ipv6FlowLabel::try_new(label & 0xf_ffff).unwrap_or_default(),
                    payload_length: length(self.payload()),
                    next_header: protocol,
                    hop_limit: TTL,
                    source,
                    destination,
                };
                out.extend_from_slice(&header.to_bytes());
            }
        }
    }

    /// The header of version 4, with its checksum; addresses of version 6 become zeros.
    pub fn v4(&self, protocol: IpNumber) -> Ipv4Header {
        let [source, destination] = match self.ends {
            Addresses::V4(ends) => ends,
            Addresses::V6(..) => Default::default(),
        };
        let mut header = Ipv4Header {
            dscp: IpDscp::try_new(self.dscp.value()).unwrap_or_default(),
            ecn: IpEcn::try_new(self.ecn.bits()).unwrap_or_default(),
            total_len: length(self.len),
            identification: self.id,
            dont_fragment: true,
            time_to_live: TTL,
            protocol,
            source,
            destination,
            ..Ipv4Header::default()
        };
        header.header_checksum = header.calc_header_checksum();
        header
    }

    /// Appends IP and UDP headers in front of this payload, which the caller appends.
    pub fn udp(&self, [from, to]: [u16; 2], payload: &[u8], out: &mut Vec<u8>) {
        let mut udp = UdpHeader {
            source_port: from,
            destination_port: to,
            length: length(UDP_HEADER + payload.len()),
            checksum: 0,
        };
        let sum = match self.ends {
            Addresses::V4([source, destination]) => {
                udp.calc_checksum_ipv4_raw(source, destination, payload)
            }
            Addresses::V6([source, destination], _) => {
                udp.calc_checksum_ipv6_raw(source, destination, payload)
            }
        };
        udp.checksum = sum.unwrap_or_default();
        self.header(IpNumber::UDP, out);
        out.extend_from_slice(&udp.to_bytes());
    }

    /// Appends IP and UDP headers; the payload is zeros, up to [`Ip::len`].
    pub fn udp_of_zeros(&self, ports: [u16; 2], out: &mut Vec<u8>) {
        self.udp(ports, &ZEROS[..self.payload().saturating_sub(UDP_HEADER)], out);
    }

    /// Appends IP and TCP headers in front of this payload, which the caller appends; sets the TCP checksum.
    pub fn tcp(&self, mut header: TcpHeader, payload: &[u8], out: &mut Vec<u8>) {
        let sum = match self.ends {
            Addresses::V4([source, destination]) => {
                header.calc_checksum_ipv4_raw(source, destination, payload)
            }
            Addresses::V6([source, destination], _) => {
                header.calc_checksum_ipv6_raw(source, destination, payload)
            }
        };
        header.checksum = sum.unwrap_or_default();
        self.header(IpNumber::TCP, out);
        out.extend_from_slice(&header.to_bytes());
    }

    /// Appends IP and TCP headers; the payload is zeros, up to [`Ip::len`].
    pub fn tcp_of_zeros(&self, header: TcpHeader, out: &mut Vec<u8>) {
        let payload = self.payload().saturating_sub(header.header_len());
        self.tcp(header, &ZEROS[..payload], out);
    }
}
