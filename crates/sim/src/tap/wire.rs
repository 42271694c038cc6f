//! A packet's bytes: Ethernet, IPv4 or IPv6, TCP, UDP, ICMP, and the outer headers of tunnels, which are IPv4.
//!
//! RFC 9293 §3.1 (TCP), RFC 7323 §2.2 and §3.2 (window scale, timestamps), RFC 2018 §3 (SACK), RFC 9768 §3.1 (the
//! flags AE, CWR, ECE), RFC 8200 §3 (IPv6), RFC 4443 §4 (ICMPv6), RFC 4303 §2 (ESP), the WireGuard whitepaper §5.4.6 (transport data). The order of the options
//! is Linux's (`tcp_options_write`). Formats and checksums are `etherparse`'s.
//!
//! Payload is zeros where nobody reads it, as is everything that a tunnel would encrypt; checksums are right for that. The length is the
//! one that queues counted with.

use super::conversation::Conversation;
use crate::packet::{Body, Layer, PacketBox};
use etherparse::{
    EtherType, Ethernet2Header, IcmpEchoHeader, Icmpv4Header, Icmpv4Type, Icmpv6Header, Icmpv6Type,
    IpDscp, IpEcn, IpNumber, Ipv4Header, Ipv6FlowLabel, Ipv6Header, TcpHeader, UdpHeader,
};
use sojourn_model::{Ip as Version, TunnelKind};
use sojourn_path::{Outer, PathPacket as _};
use sojourn_qdisc::Packet as _;
use sojourn_transport::ecn::Flags;
use sojourn_transport::segment::{Ack, Data, Handshake};
use sojourn_units::{Dscp, ETHERNET_HEADER, Ecn};

/// Payload of any length.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

const IP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;
const ICMP_HEADER: usize = 8;
/// What every host and router of the published rigs sets.
const TTL: u8 = 64;
/// What the MSS that a SYN tells has beyond the payload of a segment: the timestamps (RFC 6691 §2).
const TIMESTAMPS: u16 = 12;
/// UDP ports of WireGuard and of Foo over UDP, by their documents' examples.
const WIREGUARD_PORT: u16 = 51_820;
const FOU_PORT: u16 = 5_555;
/// Security parameters index of the first tunnel.
const FIRST_SPI: u32 = 0x1000;

/// What a header says of this length: 0 where it does not fit, as of a jumbogram (RFC 2675 §3).
fn length(bytes: usize) -> u16 {
    u16::try_from(bytes).unwrap_or(0)
}

/// An IP header and what is behind it.
struct Ip {
    ends: Addresses,
    ecn: Ecn,
    dscp: Dscp,
    /// Of the whole IP packet.
    len: usize,
    id: u16,
}

/// Source and destination.
#[derive(Clone, Copy)]
enum Addresses {
    V4([[u8; 4]; 2]),
    /// With the flow label.
    V6([[u8; 16]; 2], u32),
}

impl Ip {
    /// What is left for the IP packet's payload.
    fn payload(&self) -> usize {
        let header = match self.ends {
            Addresses::V4(_) => IP_HEADER,
            Addresses::V6(..) => Ipv6Header::LEN,
        };
        self.len.saturating_sub(header)
    }

    /// The header's bytes.
    fn header(&self, protocol: IpNumber, out: &mut Vec<u8>) {
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

    fn v4(&self, protocol: IpNumber) -> Ipv4Header {
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
}

/// Writes the first `most` bytes of a packet's frame, or all if there are fewer, and returns how long it is.
pub(super) fn frame(
    packet: &PacketBox,
    conversation: &Conversation,
    tunnels: &[TunnelKind],
    most: usize,
    out: &mut Vec<u8>,
) -> u32 {
    let wire_len = packet.wire_len();
    out.clear();
    let from_server = conversation.is_at_server(packet.is_from_receiver());
    let is_v6 = packet.outer().is_none() && packet.ip() == Version::V6;
    let ether_type = if is_v6 { EtherType::IPV6 } else { EtherType::IPV4 };
    let ethernet =
        Ethernet2Header { source: mac(from_server), destination: mac(!from_server), ether_type };
    out.extend_from_slice(&ethernet.to_bytes());
    packet.layers(&mut |layer| {
        let Layer { outer, ecn, dscp, wire_len } = layer;
        let len = (wire_len - ETHERNET_HEADER) as usize;
        let Some(outer) = outer else {
            let from_receiver = packet.is_from_receiver();
            let ends = match packet.ip() {
                Version::V4 => Addresses::V4(conversation.addresses(from_receiver)),
                // Linux labels every flow (`net.ipv6.auto_flowlabels` 1), each direction by itself.
                Version::V6 => {
                    let label = packet.key.rotate_left(u32::from(from_receiver));
                    Addresses::V6(conversation.addresses_v6(from_receiver), label)
                }
            };
            let ip = Ip { ends, ecn, dscp, len, id: packet.id };
            innermost(packet, conversation, &ip, out);
            return true;
        };
        let kind = tunnels[usize::from(outer.tunnel)];
        let ip = outer_ip(outer, from_server, ecn, dscp, len);
        open(outer, kind, &ip, out);
        // Only what is in the clear is followed by the packet within.
        matches!(kind, TunnelKind::Fou { .. })
    });
    out.resize(most.min(wire_len as usize), 0);
    wire_len
}

/// Locally administered, the host's number last.
const fn mac(server: bool) -> [u8; 6] {
    [2, 0, 0, 0, 0, if server { 1 } else { 2 }]
}

/// The ends of a tunnel have addresses of their own: 10.8.NUMBER.1 at the server's side, .2 at the client's.
fn outer_ip(outer: &Outer, from_server: bool, ecn: Ecn, dscp: Dscp, len: usize) -> Ip {
    let end = |server| [10, 8, outer.tunnel as u8, if server { 1 } else { 2 }];
    Ip {
        ends: Addresses::V4([end(from_server), end(!from_server)]),
        ecn,
        dscp,
        len,
        id: outer.sequence as u16,
    }
}

/// The outer headers of a tunnel.
fn open(outer: &Outer, kind: TunnelKind, ip: &Ip, out: &mut Vec<u8>) {
    let udp = |source_port, destination_port| UdpHeader {
        source_port,
        destination_port,
        length: length(ip.payload()),
        checksum: 0,
    };
    match kind {
        TunnelKind::Wireguard => {
            let header = ip.v4(IpNumber::UDP);
            // Type 4, three zeros, the receiver's index, the counter, little-endian.
            let mut message = [0; 16];
            message[0] = 4;
            message[4..8].copy_from_slice(&(u32::from(outer.tunnel) + 1).to_le_bytes());
            message[8..].copy_from_slice(&outer.sequence.to_le_bytes());
            let mut udp = udp(WIREGUARD_PORT, WIREGUARD_PORT);
            let mut payload = message.to_vec();
            payload.resize(ip.payload().saturating_sub(UDP_HEADER).max(message.len()), 0);
            udp.checksum = udp.calc_checksum_ipv4(&header, &payload).unwrap_or_default();
            out.extend_from_slice(&header.to_bytes());
            out.extend_from_slice(&udp.to_bytes());
            out.extend_from_slice(&message);
        }
        TunnelKind::Fou { auto_source_port } => {
            // With the kernel's default, `noencap-csum`, there is no checksum; the source port is from the range of
            // local ports (`udp_flow_src_port`).
            let port =
                if auto_source_port { 32_768 + (outer.key % 28_232) as u16 } else { FOU_PORT };
            ip.header(IpNumber::UDP, out);
            out.extend_from_slice(&udp(port, FOU_PORT).to_bytes());
        }
        TunnelKind::Esp => {
            ip.header(IpNumber::ENCAPSULATING_SECURITY_PAYLOAD, out);
            out.extend_from_slice(&(FIRST_SPI + u32::from(outer.tunnel)).to_be_bytes());
            // RFC 4303 §3.3.3: the first packet is number 1.
            out.extend_from_slice(&(outer.sequence as u32).wrapping_add(1).to_be_bytes());
        }
    }
}

/// The packet that the hosts know of.
fn innermost(packet: &PacketBox, c: &Conversation, ip: &Ip, out: &mut Vec<u8>) {
    let flags = Flags::from_ace(packet.ace);
    let from_receiver = packet.is_from_receiver();
    match &packet.body {
        Body::Syn(syn) => tcp(&opening(c, syn, packet, false), ip, out),
        Body::SynAck(answer) => tcp(&opening(c, answer, packet, true), ip, out),
        Body::Data(segment) => tcp(&data(c, segment, packet, flags), ip, out),
        Body::Ack(ack) => tcp(&acknowledgement(c, ack, packet), ip, out),
        Body::Echo { .. } if !c.is_ping => udp(c, from_receiver, ip, out),
        &Body::Echo { number, reply, .. } => {
            let echo = IcmpEchoHeader { id: c.echo_id, seq: number as u16 };
            let payload = &ZEROS[..ip.payload().saturating_sub(ICMP_HEADER)];
            if let Addresses::V6([source, destination], _) = ip.ends {
                use Icmpv6Type::{EchoReply, EchoRequest};
                let kind = if reply { EchoReply(echo) } else { EchoRequest(echo) };
                let icmp = Icmpv6Header::with_checksum(kind, source, destination, payload);
                ip.header(IpNumber::IPV6_ICMP, out);
                out.extend_from_slice(&icmp.map(|i| i.to_bytes()).unwrap_or_default());
            } else {
                use Icmpv4Type::{EchoReply, EchoRequest};
                let kind = if reply { EchoReply(echo) } else { EchoRequest(echo) };
                ip.header(IpNumber::ICMP, out);
                out.extend_from_slice(&Icmpv4Header::with_checksum(kind, payload).to_bytes());
            }
        }
        Body::Datagram { .. } | Body::Report { .. } => match packet.payload() {
            Some(payload) => {
                udp_with(payload, c, from_receiver, ip, out);
                out.extend_from_slice(payload);
            }
            None => udp(c, from_receiver, ip, out),
        },
    }
}

/// A UDP header, its payload being what is left of the IP packet.
fn udp(c: &Conversation, from_receiver: bool, ip: &Ip, out: &mut Vec<u8>) {
    udp_with(&ZEROS[..ip.payload().saturating_sub(UDP_HEADER)], c, from_receiver, ip, out);
}

/// A UDP header in front of this payload.
fn udp_with(payload: &[u8], c: &Conversation, from_receiver: bool, ip: &Ip, out: &mut Vec<u8>) {
    let (from, to) = c.ports(from_receiver);
    let mut udp = UdpHeader {
        source_port: from,
        destination_port: to,
        length: length(UDP_HEADER + payload.len()),
        checksum: 0,
    };
    let sum = match ip.ends {
        Addresses::V4([source, destination]) => {
            udp.calc_checksum_ipv4_raw(source, destination, payload)
        }
        Addresses::V6([source, destination], _) => {
            udp.calc_checksum_ipv6_raw(source, destination, payload)
        }
    };
    udp.checksum = sum.unwrap_or_default();
    ip.header(IpNumber::UDP, out);
    out.extend_from_slice(&udp.to_bytes());
}

/// A TCP header, its payload being what is left of the IP packet.
fn tcp(header: &TcpHeader, ip: &Ip, out: &mut Vec<u8>) {
    let mut header = header.clone();
    let payload = &ZEROS[..ip.payload().saturating_sub(header.header_len())];
    let sum = match ip.ends {
        Addresses::V4([source, destination]) => {
            header.calc_checksum_ipv4_raw(source, destination, payload)
        }
        Addresses::V6([source, destination], _) => {
            header.calc_checksum_ipv6_raw(source, destination, payload)
        }
    };
    header.checksum = sum.unwrap_or_default();
    ip.header(IpNumber::TCP, out);
    out.extend_from_slice(&header.to_bytes());
}

/// SYN or SYN/ACK: 20 bytes of options, and 12 if it has AccECN's.
fn opening(c: &Conversation, shake: &Handshake, packet: &PacketBox, is_answer: bool) -> TcpHeader {
    let from_receiver = packet.is_from_receiver();
    let mut header = empty(c, from_receiver, shake.ecn);
    header.syn = true;
    header.ack = is_answer;
    header.sequence_number = c.initial(from_receiver);
    let of_other = c.initial(!from_receiver).wrapping_add(1);
    header.acknowledgment_number = if is_answer { of_other } else { 0 };
    // The window of a SYN is not scaled.
    header.window_size = shake.window.min(u32::from(u16::MAX)) as u16;
    let mut options = Options::new();
    let [high, low] = (c.mss as u16 + TIMESTAMPS).to_be_bytes();
    options.put(&[kind::MSS, 4, high, low]);
    options.put(&[kind::SACK_PERMITTED, 2]);
    options.timestamps(shake.tsval, shake.tsecr);
    if shake.accecn {
        options.accecn(WHOLE_FIELDS, packet);
        options.put(&[kind::NOP]);
    }
    options.put(&[kind::NOP, kind::WINDOW_SCALE, 3, c.window_scale]);
    options.end(header)
}

fn data(c: &Conversation, data: &Data, packet: &PacketBox, flags: Flags) -> TcpHeader {
    let from_receiver = packet.is_from_receiver();
    let mut header = empty(c, from_receiver, flags);
    header.sequence_number = c.byte(from_receiver, data.seq);
    header.acknowledgment_number =
        c.initial(!from_receiver).wrapping_add(1).wrapping_add(packet.beside);
    header.window_size = packet.window;
    header.psh = data.push;
    let mut options = Options::new();
    options.put(&[kind::NOP, kind::NOP]);
    options.timestamps(data.tsval, data.tsecr);
    if data.accecn {
        options.accecn(WHOLE_FIELDS, packet);
        options.put(&[kind::NOP]);
    }
    options.end(header)
}

fn acknowledgement(c: &Conversation, ack: &Ack, packet: &PacketBox) -> TcpHeader {
    let from_receiver = packet.is_from_receiver();
    let mut header = empty(c, from_receiver, ack.ecn);
    header.sequence_number = c.initial(from_receiver).wrapping_add(1).wrapping_add(packet.beside);
    let byte = |seq| c.byte(!from_receiver, seq);
    header.acknowledgment_number = byte(ack.ack);
    header.window_size = packet.window;
    let mut options = Options::new();
    options.put(&[kind::NOP, kind::NOP]);
    options.timestamps(ack.tsval, ack.tsecr);
    if let Some(fields) = ack.accecn {
        options.accecn(fields, packet);
    }
    let blocks = ack.sacked();
    // What AccECN's option leaves of a word is filled up: before SACK's kind, or at the end.
    options.pad(if blocks.is_empty() { 0 } else { 2 });
    if !blocks.is_empty() {
        options.put(&[kind::SACK, 2 + 8 * blocks.len() as u8]);
        for block in blocks {
            options.put(&byte(block.start).to_be_bytes());
            options.put(&byte(block.end).to_be_bytes());
        }
    }
    options.end(header)
}

/// Kinds of TCP options (RFC 9293 §3.2, RFC 2018 §2 and §3, RFC 7323 §2.2 and §3.2, RFC 9768 §3.2.3).
mod kind {
    pub(super) const NOP: u8 = 1;
    pub(super) const MSS: u8 = 2;
    pub(super) const WINDOW_SCALE: u8 = 3;
    pub(super) const SACK_PERMITTED: u8 = 4;
    pub(super) const SACK: u8 = 5;
    pub(super) const TIMESTAMPS: u8 = 8;
    /// AccECN's option of order 1: ECT(1), CE, ECT(0).
    pub(super) const ACCECN1: u8 = 174;
}

/// Fields of AccECN's option where there is room.
const WHOLE_FIELDS: u8 = 3;

/// The options of a header, as they are put together.
struct Options {
    bytes: [u8; 40],
    len: usize,
}

impl Options {
    fn new() -> Self {
        Self { bytes: [0; 40], len: 0 }
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn timestamps(&mut self, value: u32, echo: u32) {
        self.put(&[kind::TIMESTAMPS, 10]);
        self.put(&value.to_be_bytes());
        self.put(&echo.to_be_bytes());
    }

    /// AccECN's, with the first so many of its counters, 24 bits each.
    fn accecn(&mut self, fields: u8, packet: &PacketBox) {
        self.put(&[kind::ACCECN1, 2 + 3 * fields]);
        for counter in &packet.ecn_bytes[..usize::from(fields)] {
            self.put(&counter.to_be_bytes()[1..]);
        }
    }

    /// No-operations up to where so many bytes end a word of four.
    fn pad(&mut self, more: usize) {
        while !(self.len + more).is_multiple_of(4) {
            self.put(&[kind::NOP]);
        }
    }

    fn end(&self, mut header: TcpHeader) -> TcpHeader {
        header.set_options_raw(&self.bytes[..self.len]).expect("options fill whole words");
        header
    }
}

fn empty(c: &Conversation, from_receiver: bool, ecn: Flags) -> TcpHeader {
    let (from, to) = c.ports(from_receiver);
    let mut header = TcpHeader::new(from, to, 0, 0);
    header.ack = true;
    (header.ns, header.cwr, header.ece) = (ecn.ae, ecn.cwr, ecn.ece);
    header
}
