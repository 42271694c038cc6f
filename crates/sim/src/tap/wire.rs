//! A packet's bytes: Ethernet, IPv4, TCP, UDP, ICMP, and the outer headers of tunnels.
//!
//! RFC 9293 §3.1 (TCP), RFC 7323 §2.2 and §3.2 (window scale, timestamps), RFC 2018 §3 (SACK), RFC 9768 §3.1 (the
//! flags AE, CWR, ECE), RFC 4303 §2 (ESP), the WireGuard whitepaper §5.4.6 (transport data). The order of the options
//! is Linux's (`tcp_options_write`). Formats and checksums are `etherparse`'s.
//!
//! Payload is zeros, as is everything that a tunnel would encrypt; checksums are right for that. The length is the
//! one that queues reckoned with.

use super::conversation::Conversation;
use crate::packet::{Body, Layer, Parcel};
use etherparse::{
    EtherType, Ethernet2Header, IcmpEchoHeader, Icmpv4Header, Icmpv4Type, IpDscp, IpEcn, IpNumber,
    Ipv4Header, TcpHeader, TcpOptionElement, UdpHeader,
};
use sojourn_path::Outer;
use sojourn_qdisc::Packet as _;
use sojourn_scenario::model::TunnelKind;
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
/// MSS that a SYN tells: what a packet of 1500 bytes holds besides 40 of headers.
const MSS_OPTION: u16 = 1460;
/// UDP ports of WireGuard and of Foo over UDP, by their documents' examples.
const WIREGUARD_PORT: u16 = 51_820;
const FOU_PORT: u16 = 5_555;
/// Security parameters index of the first tunnel.
const FIRST_SPI: u32 = 0x1000;

/// An IPv4 header and what is behind it.
struct Ip {
    addresses: [[u8; 4]; 2],
    ecn: Ecn,
    dscp: Dscp,
    /// Of the whole IP packet.
    len: usize,
    id: u16,
}

impl Ip {
    /// What is left for the IP packet's payload.
    fn payload(&self) -> usize {
        self.len.saturating_sub(IP_HEADER)
    }

    fn header(&self, protocol: IpNumber) -> Ipv4Header {
        let mut header = Ipv4Header {
            dscp: IpDscp::try_new(self.dscp.value()).unwrap_or_default(),
            ecn: IpEcn::try_new(self.ecn.bits()).unwrap_or_default(),
            total_len: self.len as u16,
            identification: self.id,
            dont_fragment: true,
            time_to_live: TTL,
            protocol,
            source: self.addresses[0],
            destination: self.addresses[1],
            ..Ipv4Header::default()
        };
        header.header_checksum = header.calc_header_checksum();
        header
    }
}

/// Writes the first `most` bytes of a packet's frame, or all if there are fewer, and returns how long it is.
pub(super) fn frame(
    packet: &Parcel,
    conversation: &Conversation,
    tunnels: &[TunnelKind],
    most: usize,
    out: &mut Vec<u8>,
) -> u32 {
    let wire_len = packet.wire_len();
    out.clear();
    let from_client = conversation.is_at_client(packet.is_from_receiver());
    let ethernet = Ethernet2Header {
        source: mac(from_client),
        destination: mac(!from_client),
        ether_type: EtherType::IPV4,
    };
    out.extend_from_slice(&ethernet.to_bytes());
    packet.layers(&mut |layer| {
        let Layer { outer, ecn, dscp, wire_len } = layer;
        let len = (wire_len - ETHERNET_HEADER) as usize;
        let Some(outer) = outer else {
            let addresses = conversation.addresses(packet.is_from_receiver());
            let ip = Ip { addresses, ecn, dscp, len, id: packet.id };
            innermost(packet, conversation, &ip, out);
            return true;
        };
        let kind = tunnels[usize::from(outer.tunnel)];
        let ip = outer_ip(outer, from_client, ecn, dscp, len);
        open(outer, kind, &ip, out);
        // Only what is in the clear is followed by the packet within.
        matches!(kind, TunnelKind::Fou { .. })
    });
    out.resize(most.min(wire_len as usize), 0);
    wire_len
}

/// Locally administered, the host's number last.
const fn mac(client: bool) -> [u8; 6] {
    [2, 0, 0, 0, 0, if client { 1 } else { 2 }]
}

/// The ends of a tunnel have addresses of their own: 10.8.NUMBER.1 at the client's side, .2 at the server's.
fn outer_ip(outer: &Outer, from_client: bool, ecn: Ecn, dscp: Dscp, len: usize) -> Ip {
    let end = |client| [10, 8, outer.tunnel as u8, if client { 1 } else { 2 }];
    Ip {
        addresses: [end(from_client), end(!from_client)],
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
        length: ip.payload() as u16,
        checksum: 0,
    };
    match kind {
        TunnelKind::Wireguard => {
            let header = ip.header(IpNumber::UDP);
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
            out.extend_from_slice(&ip.header(IpNumber::UDP).to_bytes());
            out.extend_from_slice(&udp(port, FOU_PORT).to_bytes());
        }
        TunnelKind::Esp => {
            out.extend_from_slice(&ip.header(IpNumber::ENCAPSULATING_SECURITY_PAYLOAD).to_bytes());
            out.extend_from_slice(&(FIRST_SPI + u32::from(outer.tunnel)).to_be_bytes());
            // RFC 4303 §3.3.3: the first packet is number 1.
            out.extend_from_slice(&(outer.sequence as u32).wrapping_add(1).to_be_bytes());
        }
    }
}

/// The packet that the hosts know of.
fn innermost(packet: &Parcel, c: &Conversation, ip: &Ip, out: &mut Vec<u8>) {
    let flags = Flags::from_ace(packet.ace);
    match &packet.body {
        Body::Syn(syn) => tcp(&opening(c, syn, false), ip, out),
        Body::SynAck(answer) => tcp(&opening(c, answer, true), ip, out),
        Body::Data(segment) => tcp(&data(c, segment, flags), ip, out),
        Body::Ack(ack) => tcp(&acknowledgement(c, ack), ip, out),
        &Body::Echo { reply, .. } if !c.is_ping => udp(c, reply, ip, out),
        &Body::Echo { number, reply, .. } => {
            let echo = IcmpEchoHeader { id: c.echo_id, seq: number as u16 };
            let kind =
                if reply { Icmpv4Type::EchoReply(echo) } else { Icmpv4Type::EchoRequest(echo) };
            let payload = &ZEROS[..ip.payload().saturating_sub(ICMP_HEADER)];
            out.extend_from_slice(&ip.header(IpNumber::ICMP).to_bytes());
            out.extend_from_slice(&Icmpv4Header::with_checksum(kind, payload).to_bytes());
        }
        Body::Datagram { .. } => udp(c, false, ip, out),
        Body::Report { .. } => udp(c, true, ip, out),
    }
}

/// A UDP header and its payload.
fn udp(c: &Conversation, from_receiver: bool, ip: &Ip, out: &mut Vec<u8>) {
    let [sender, receiver] = c.ports;
    let (from, to) = if from_receiver { (receiver, sender) } else { (sender, receiver) };
    let payload = &ZEROS[..ip.payload().saturating_sub(UDP_HEADER)];
    let header = ip.header(IpNumber::UDP);
    let udp = UdpHeader::with_ipv4_checksum(from, to, &header, payload);
    out.extend_from_slice(&header.to_bytes());
    out.extend_from_slice(&udp.map(|u| u.to_bytes()).unwrap_or_default());
}

/// A TCP header, its payload being what is left of the IP packet.
fn tcp(header: &TcpHeader, ip: &Ip, out: &mut Vec<u8>) {
    let mut header = header.clone();
    let payload = &ZEROS[..ip.payload().saturating_sub(header.header_len())];
    let [source, destination] = ip.addresses;
    header.checksum =
        header.calc_checksum_ipv4_raw(source, destination, payload).unwrap_or_default();
    out.extend_from_slice(&ip.header(IpNumber::TCP).to_bytes());
    out.extend_from_slice(&header.to_bytes());
}

/// SYN or SYN/ACK: 20 bytes of options.
fn opening(c: &Conversation, shake: &Handshake, is_answer: bool) -> TcpHeader {
    use TcpOptionElement as Option;
    let mut header = empty(c, is_answer, shake.ecn);
    header.syn = true;
    header.ack = is_answer;
    header.sequence_number = c.initial[usize::from(is_answer)];
    header.acknowledgment_number = if is_answer { c.initial[0].wrapping_add(1) } else { 0 };
    // The window of a SYN is not scaled.
    header.window_size = shake.window.min(u32::from(u16::MAX)) as u16;
    with(
        header,
        &[
            Option::MaximumSegmentSize(MSS_OPTION),
            Option::SelectiveAcknowledgementPermitted,
            Option::Timestamp(shake.tsval, shake.tsecr),
            Option::Noop,
            Option::WindowScale(c.window_scale),
        ],
    )
}

fn data(c: &Conversation, data: &Data, flags: Flags) -> TcpHeader {
    let mut header = empty(c, false, flags);
    header.sequence_number = byte(c, data.seq);
    header.acknowledgment_number = c.initial[1].wrapping_add(1);
    // Nothing comes the other way; the window is that of the SYN.
    header.window_size = u16::MAX >> c.window_scale;
    header.psh = data.push;
    with(
        header,
        &[
            TcpOptionElement::Noop,
            TcpOptionElement::Noop,
            TcpOptionElement::Timestamp(data.tsval, data.tsecr),
        ],
    )
}

fn acknowledgement(c: &Conversation, ack: &Ack) -> TcpHeader {
    use TcpOptionElement as Option;
    let mut header = empty(c, true, ack.ecn);
    header.sequence_number = c.initial[1].wrapping_add(1);
    header.acknowledgment_number = byte(c, ack.ack);
    header.window_size = (ack.window >> c.window_scale).min(u32::from(u16::MAX)) as u16;
    let stamps = [Option::Noop, Option::Noop, Option::Timestamp(ack.tsval, ack.tsecr)];
    let mut blocks = ack.sacked().iter().map(|b| (byte(c, b.start), byte(c, b.end)));
    let Some(first) = blocks.next() else { return with(header, &stamps) };
    let others = [blocks.next(), blocks.next(), None];
    let sack = Option::SelectiveAcknowledgement(first, others);
    let [a, b, t] = stamps;
    with(header, &[a, b, t, Option::Noop, Option::Noop, sack])
}

/// The sequence number of a segment's first byte; the SYN takes the initial one.
fn byte(c: &Conversation, seq: u32) -> u32 {
    c.initial[0].wrapping_add(1).wrapping_add(c.bytes_before(seq))
}

fn empty(c: &Conversation, from_receiver: bool, ecn: Flags) -> TcpHeader {
    let [sender, receiver] = c.ports;
    let (from, to) = if from_receiver { (receiver, sender) } else { (sender, receiver) };
    let mut header = TcpHeader::new(from, to, 0, 0);
    header.ack = true;
    (header.ns, header.cwr, header.ece) = (ecn.ae, ecn.cwr, ecn.ece);
    header
}

fn with(mut header: TcpHeader, options: &[TcpOptionElement]) -> TcpHeader {
    header.set_options(options).expect("three SACK blocks fit beside timestamps");
    header
}
