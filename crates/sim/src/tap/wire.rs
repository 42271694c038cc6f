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
    IpNumber, TcpHeader, UdpHeader,
};
use sojourn_model::{Ip as Version, TunnelKind};
use sojourn_path::{Outer, PathPacket as _};
use sojourn_qdisc::Packet as _;
use sojourn_transport::ecn::Flags;
use sojourn_transport::segment::{Ack, Data, Handshake};
use sojourn_units::{Dscp, ETHERNET_HEADER, Ecn};
use sojourn_wire::{Addresses, Frame, Ip, ZEROS, length};

const UDP_HEADER: usize = 8;
const ICMP_HEADER: usize = 8;
/// What the MSS that a SYN tells has beyond the payload of a segment: the timestamps (RFC 6691 §2).
const TIMESTAMPS: u16 = 12;
/// UDP ports of WireGuard and of Foo over UDP, by their documents' examples.
const WIREGUARD_PORT: u16 = 51_820;
const FOU_PORT: u16 = 5_555;
/// Security parameters index of the first tunnel.
const FIRST_SPI: u32 = 0x1000;

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
        Body::Syn(syn) => ip.tcp_of_zeros(opening(c, syn, packet, false), out),
        Body::SynAck(answer) => ip.tcp_of_zeros(opening(c, answer, packet, true), out),
        Body::Data(segment) => ip.tcp_of_zeros(data(c, segment, packet, flags), out),
        Body::Ack(ack) => ip.tcp_of_zeros(acknowledgement(c, ack, packet), out),
        Body::Echo { .. } if !c.is_ping => ip.udp_of_zeros(ports(c, from_receiver), out),
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
        // As it is, but for what the path has changed.
        Body::Frame { .. } => {
            let mut frame = Frame::new(packet.payload().unwrap_or_default().to_vec());
            frame.set_ecn(ip.ecn);
            frame.set_dscp(ip.dscp);
            out.extend(frame.bytes().iter().skip(ETHERNET_HEADER as usize));
        }
        Body::Datagram { .. } | Body::Report { .. } => match packet.payload() {
            Some(payload) => {
                ip.udp(ports(c, from_receiver), payload, out);
                out.extend_from_slice(payload);
            }
            None => ip.udp_of_zeros(ports(c, from_receiver), out),
        },
    }
}

/// Source and destination port.
fn ports(c: &Conversation, from_receiver: bool) -> [u16; 2] {
    c.ports(from_receiver).into()
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
        c.initial(!from_receiver).wrapping_add(1).wrapping_add(packet.opposite);
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
    header.sequence_number = c.initial(from_receiver).wrapping_add(1).wrapping_add(packet.opposite);
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

    /// AccECN's option, with the first `fields` of its counters, 24 bits each.
    fn accecn(&mut self, fields: u8, packet: &PacketBox) {
        self.put(&[kind::ACCECN1, 2 + 3 * fields]);
        for counter in &packet.ecn_bytes[..usize::from(fields)] {
            self.put(&counter.to_be_bytes()[1..]);
        }
    }

    /// No-operations until `more` further bytes end a word of four.
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
