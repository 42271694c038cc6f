//! An Ethernet frame as a queue sees it.

use etherparse::{LaxNetSlice, LaxSlicedPacket, TransportSlice};
use sojourn_units::{Dscp, Ecn, random};

/// A frame without preamble and frame check sequence, and where its headers are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    pub(crate) bytes: Vec<u8>,
    /// The IP header, if it is whole.
    pub(crate) ip: Option<IpAt>,
}

/// Where an IP header is, and the transport header behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct IpAt {
    pub(crate) start: usize,
    pub(crate) is_v6: bool,
    pub(crate) transport: Option<(Transport, usize)>,
}

/// A transport protocol with a whole header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// The fixed part of a TCP header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpView {
    /// Source and destination port.
    pub ports: [u16; 2],
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Flags: CWR, ECE, URG, ACK, PSH, RST, SYN, FIN from the highest bit on.
    pub flags: u8,
    /// AccECN's flag AE (RFC 9768 §3.1), formerly NS.
    pub ae: bool,
    /// Bytes of payload.
    pub payload: usize,
}

impl TcpView {
    /// Whether it opens a connection: SYN or SYN/ACK.
    pub const fn is_syn(&self) -> bool {
        self.flags & SYN != 0
    }

    /// Whether it ends one of its directions: FIN, which takes a sequence number, as SYN does.
    pub const fn is_fin(&self) -> bool {
        self.flags & FIN != 0
    }
}

const FIN: u8 = 0x01;

const SYN: u8 = 0x02;
pub(crate) const ECE: u8 = 0x40;
pub(crate) const CWR: u8 = 0x80;
/// AE is the lowest bit of the byte with the data offset.
const AE: u8 = 0x01;
/// Offsets in a TCP header.
pub(crate) const TCP_FLAGS: usize = 13;
pub(crate) const TCP_CHECKSUM: usize = 16;

impl Frame {
    /// A frame of these bytes, whatever they are.
    pub fn new(bytes: Vec<u8>) -> Self {
        let ip = locate(&bytes);
        Self { bytes, ip }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes, owned.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Whether it carries an IP packet with a whole header.
    pub const fn is_ip(&self) -> bool {
        self.ip.is_some()
    }

    /// Which transport header it has, if that is whole. Later fragments have none.
    pub fn transport(&self) -> Option<Transport> {
        self.ip?.transport.map(|(transport, _)| transport)
    }

    /// DSCP and ECN field in one byte.
    fn traffic_class(&self) -> u8 {
        match self.ip {
            None => 0,
            Some(IpAt { start, is_v6: false, .. }) => self.bytes[start + 1],
            Some(IpAt { start, .. }) => self.bytes[start] << 4 | self.bytes[start + 1] >> 4,
        }
    }

    fn set_traffic_class(&mut self, class: u8) {
        let Some(IpAt { start, is_v6, .. }) = self.ip else { return };
        if is_v6 {
            self.bytes[start] = 0x60 | class >> 4;
            self.bytes[start + 1] = class << 4 | self.bytes[start + 1] & 0x0f;
            return;
        }
        self.set_word(start, start + 10, |word| word & 0xff00 | u16::from(class));
    }

    /// Changes a word of 16 bits, and the checksum that covers it (RFC 1624, equation 3).
    pub(crate) fn set_word(&mut self, at: usize, checksum: usize, change: impl FnOnce(u16) -> u16) {
        let (old, sum) = (self.word(at), self.word(checksum));
        let new = change(old);
        let total = u32::from(!sum) + u32::from(!old) + u32::from(new);
        let folded = (total & 0xffff) + (total >> 16);
        let folded = (folded & 0xffff) + (folded >> 16);
        self.put(at, new);
        self.put(checksum, !(folded as u16));
    }

    pub(crate) fn word(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.bytes[at], self.bytes[at + 1]])
    }

    pub(crate) fn put(&mut self, at: usize, word: u16) {
        self.bytes[at..at + 2].copy_from_slice(&word.to_be_bytes());
    }

    pub(crate) fn long(&self, at: usize) -> u32 {
        u32::from(self.word(at)) << 16 | u32::from(self.word(at + 2))
    }

    /// The ECN field; Not-ECT if it is no IP packet.
    pub fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.traffic_class())
    }

    /// Sets the ECN field, and the checksum of IPv4.
    pub fn set_ecn(&mut self, ecn: Ecn) {
        self.set_traffic_class(self.traffic_class() & !0b11 | ecn.bits());
    }

    /// The DSCP; best effort if it is no IP packet.
    pub fn dscp(&self) -> Dscp {
        Dscp::from_tos(self.traffic_class())
    }

    /// Sets the DSCP, and the checksum of IPv4.
    pub fn set_dscp(&mut self, dscp: Dscp) {
        self.set_traffic_class(dscp.tos(self.ecn()));
    }

    /// The source's and the destination's address, empty if it is no IP packet.
    pub fn addresses(&self) -> [&[u8]; 2] {
        let (from, length) = match self.ip {
            None => return [&[], &[]],
            Some(IpAt { start, is_v6: false, .. }) => (start + 12, 4),
            Some(IpAt { start, .. }) => (start + 8, 16),
        };
        [&self.bytes[from..from + length], &self.bytes[from + length..from + 2 * length]]
    }

    /// Source and destination port, if it has a transport header.
    pub fn ports(&self) -> Option<[u16; 2]> {
        let (_, at) = self.ip?.transport?;
        Some([self.word(at), self.word(at + 2)])
    }

    /// A number that all packets of one 5-tuple share, for one direction. Frames that are no IP packets share one
    /// number by EtherType.
    pub fn flow_key(&self) -> u64 {
        let Some(ip) = self.ip else {
            let kind = self.bytes.get(12..14).map_or(0, |b| u64::from(b[0]) << 8 | u64::from(b[1]));
            return random::mix(kind);
        };
        let [source, destination] = self.addresses();
        let protocol = self.bytes[ip.start + if ip.is_v6 { 6 } else { 9 }];
        let ports = match self.ports() {
            Some([a, b]) => u64::from(a) << 16 | u64::from(b),
            None => self.security_parameters_index().map_or(0, u64::from),
        };
        let mut key = random::mix(ports << 8 | u64::from(protocol));
        for part in source.chunks(8).chain(destination.chunks(8)) {
            let part = part.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
            key = random::mix(key ^ part);
        }
        key
    }

    /// The security parameters index of ESP over IPv4 (RFC 4303 §2.1), if it is ESP and has one. Linux's flow dissector takes
    /// it for ports (`skb_flow_get_ports`, 7.3), so that queues tell security associations apart.
    pub fn security_parameters_index(&self) -> Option<u32> {
        const ESP: u8 = 50;
        let IpAt { start, is_v6: false, .. } = self.ip? else { return None };
        let is_first = self.word(start + 6) << 3 == 0;
        let at = start + usize::from(self.bytes[start] & 15) * 4;
        let is_it = self.bytes[start + 9] == ESP && is_first && at + 4 <= self.end();
        is_it.then(|| self.long(at))
    }

    /// Numbers of the source and destination host.
    pub fn host_keys(&self) -> (u32, u32) {
        let [source, destination] = self.addresses().map(|address| {
            let mix = |key, &byte: &u8| random::mix(key << 8 | u64::from(byte));
            address.iter().fold(0, mix) as u32
        });
        (source, destination)
    }

    /// Bytes of the transport header and what follows it; of the IP payload if there is no such header.
    pub fn l4_len(&self) -> usize {
        let at = match self.ip {
            None => return 0,
            Some(IpAt { transport: Some((_, at)), .. }) => at,
            Some(IpAt { start, is_v6: true, .. }) => start + 40,
            Some(IpAt { start, .. }) => start + usize::from(self.bytes[start] & 15) * 4,
        };
        self.end().saturating_sub(at)
    }

    /// The end of the IP packet: Ethernet pads short frames.
    pub(crate) fn end(&self) -> usize {
        let Some(IpAt { start, is_v6, .. }) = self.ip else { return self.bytes.len() };
        let length = if is_v6 {
            40 + usize::from(self.word(start + 4))
        } else {
            usize::from(self.word(start + 2))
        };
        // With segmentation offload a packet may be longer than the field can say; it then says 0.
        let whole =
            if length <= 40 && is_v6 || length == 0 { self.bytes.len() } else { start + length };
        whole.min(self.bytes.len())
    }

    /// The TCP header, if it has one.
    pub fn tcp(&self) -> Option<TcpView> {
        let (Transport::Tcp, at) = self.ip?.transport? else { return None };
        let header = usize::from(self.bytes[at + 12] >> 4) * 4;
        Some(TcpView {
            ports: [self.word(at), self.word(at + 2)],
            seq: self.long(at + 4),
            ack: self.long(at + 8),
            flags: self.bytes[at + TCP_FLAGS],
            ae: self.bytes[at + 12] & AE != 0,
            payload: self.end().saturating_sub(at + header),
        })
    }

    /// The identifier of an ICMP echo request or reply over IPv4 (RFC 792), if it is one that is whole.
    pub fn echo(&self) -> Option<u16> {
        const ICMP: u8 = 1;
        let IpAt { start, is_v6: false, .. } = self.ip? else { return None };
        let is_first = self.word(start + 6) << 3 == 0;
        let at = start + usize::from(self.bytes[start] & 15) * 4;
        let message = self.bytes.get(at..self.end())?;
        let is_echo = self.bytes[start + 9] == ICMP && matches!(message.first()?, 0 | 8);
        (is_first && is_echo && message.len() >= 8).then(|| self.word(at + 4))
    }

    /// The options of a TCP header, if it has one that is whole.
    pub fn tcp_options(&self) -> Option<&[u8]> {
        let (Transport::Tcp, at) = self.ip?.transport? else { return None };
        let header = usize::from(self.bytes[at + 12] >> 4) * 4;
        self.bytes.get(at + 20..at + header)
    }

    /// Clears ECE and CWR of a TCP header, with its checksum, as `iptables -j ECN --ecn-tcp-remove` does.
    pub fn strip_tcp_ecn(&mut self) {
        if let Some((Transport::Tcp, at)) = self.ip.and_then(|ip| ip.transport) {
            self.set_word(at + 12, at + TCP_CHECKSUM, |word| word & !u16::from(ECE | CWR));
        }
    }
}

/// Finds the headers.
fn locate(bytes: &[u8]) -> Option<IpAt> {
    let packet = LaxSlicedPacket::from_ethernet(bytes).ok()?;
    let offset = |part: &[u8]| part.as_ptr() as usize - bytes.as_ptr() as usize;
    let (start, is_v6) = match packet.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => (offset(ip.header().slice()), false),
        LaxNetSlice::Ipv6(ip) => (offset(ip.header().slice()), true),
        LaxNetSlice::Arp(_) => return None,
    };
    let transport = match packet.transport {
        Some(TransportSlice::Tcp(tcp)) => Some((Transport::Tcp, offset(tcp.slice()))),
        Some(TransportSlice::Udp(udp)) => Some((Transport::Udp, offset(udp.slice()))),
        _ => None,
    };
    Some(IpAt { start, is_v6, transport })
}
