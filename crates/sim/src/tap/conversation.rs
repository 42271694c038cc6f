//! What the two hosts of a connection, of a stream of datagrams or of a probe keep for the wire: addresses, ports, initial
//! sequence numbers, IP identifiers, the agreement of their handshake, and how far each has reported to be.

use crate::packet::mss;
use crate::packet::{Body, Packet, PacketBox};
use crate::topology::stack;
#[cfg(feature = "quic")]
use sojourn_model::Ip;
use sojourn_model::{Direction, Flow, ReceiveWindow, Scenario, Traffic};
use sojourn_qdisc::Packet as _;
use sojourn_transport::ecn::{Agreed, Flags, Request, accurate, conclude, option};
use sojourn_transport::segment::{Seq, after, before};
use sojourn_units::{Ecn, Random};
#[cfg(feature = "quic")]
use std::net::{IpAddr, SocketAddr};

/// The server's side and the client's. In the published harness the side that data comes from has the first, too.
const ADDRESSES: [[u8; 4]; 2] = [[10, 9, 9, 1], [10, 9, 9, 2]];
/// The hosts' network of IP version 6, fd00:9:9::/48 (RFC 4193): the server is 1 in it, the client 2.
const PREFIX: [u8; 6] = [0xfd, 0, 0, 9, 0, 9];
/// First port of senders, and of receivers. No protocol is at home there, so that no reader tries to see one.
const PORTS: [u16; 2] = [super::SENDER_PORT, 50_000];
/// Flows and connections above this share ports with earlier ones.
const MOST_PORTS: usize = 15_000;

/// The addresses and ports of the sender and of the receiver of the flow of this number.
#[cfg(feature = "quic")]
pub(crate) fn endpoints(index: usize, flow: &Flow) -> [SocketAddr; 2] {
    let server = usize::from(flow.direction == Direction::Up);
    core::array::from_fn(|end| {
        let host = usize::from(end != server);
        let address = match flow.ip {
            Ip::V4 => IpAddr::from(ADDRESSES[host]),
            Ip::V6 => IpAddr::from(address_v6(host as u8 + 1)),
        };
        SocketAddr::new(address, port(end, index))
    })
}

/// The port of an end of the flow of this number.
const fn port(end: usize, index: usize) -> u16 {
    PORTS[end] + (index % MOST_PORTS) as u16
}

/// The address of a host of IP version 6.
const fn address_v6(host: u8) -> [u8; 16] {
    let [a, b, c, d, e, f] = PREFIX;
    [a, b, c, d, e, f, 0, 0, 0, 0, 0, 0, 0, 0, 0, host]
}

/// One end: of the sender of the flow's data (0), or of the receiver (1).
#[derive(Debug)]
struct End {
    /// Port.
    port: u16,
    /// Initial sequence number.
    initial: u32,
    /// IP identifier of its next packet.
    next_id: u16,
    /// Payload of a full segment of its stream.
    full: u32,
    /// Segments of its stream that are not full, ascending, each with the bytes missing before the next segment.
    short: Vec<(Seq, u32)>,
    /// Bytes of its stream that it has sent.
    sent: u32,
    /// Bytes of the other's stream that it has acknowledged.
    acked: u32,
    /// The last receive window that it announced, bytes.
    window: u32,
    /// Marked packets of the other that it has counted.
    counted: u32,
    /// Bytes of the other's data that it has counted as ECT(1), CE and ECT(0), from where these counters begin
    /// (RFC 9768 §3.2.1).
    ecn_bytes: [u32; 3],
    /// The codepoint of the answer to its SYN, until reported.
    answer: Option<Ecn>,
}

/// The two ends.
#[derive(Debug)]
pub(super) struct Conversation {
    /// Whether data goes from the server to the client.
    down: bool,
    ends: [End; 2],
    /// Whether probes are ICMP; irtt's are UDP.
    pub(super) is_ping: bool,
    /// The identifier of ICMP echo.
    pub(super) echo_id: u16,
    /// Window scale of both, RFC 7323 §2.
    pub(super) window_scale: u8,
    /// Payload of a full segment.
    pub(super) mss: u32,
    /// What the SYN asked.
    asked: Request,
    agreed: Agreed,
}

impl Conversation {
    /// Of the flow of this number, at rest.
    pub(super) fn new(index: usize, flow: &Flow, scenario: &Scenario) -> Self {
        let random = Random::named(scenario.seed, &format!("flow/{}/wire", flow.name));
        Self::with(index, [port(0, index), port(1, index)], random, flow)
    }

    /// Of the connection of this number of a flow that has many. The end that asks, and receives, has a port of its own,
    /// of those that come after the flows' and the earlier connections' (`earlier` together); that of the end that answers is the flow's.
    pub(super) fn connection(
        (index, number): (usize, u32),
        flow: &Flow,
        scenario: &Scenario,
        earlier: usize,
    ) -> Self {
        let random = Random::named(scenario.seed, &format!("flow/{}/wire/{number}", flow.name));
        let [answers, asks] = PORTS;
        let ports = [answers + (index % MOST_PORTS) as u16, asks + (earlier % MOST_PORTS) as u16];
        Self::with(index, ports, random, flow)
    }

    fn with(index: usize, ports: [u16; 2], mut random: Random, flow: &Flow) -> Self {
        let largest_window = match flow.traffic.tcp().map(|tcp| tcp.receive_window) {
            Some(ReceiveWindow::Fixed(bytes)) => bytes,
            _ => u64::from(stack(flow.receiver()).tcp.receive_buffer.1),
        };
        let initial = [random.next_u32(), random.next_u32()];
        let next_id = [random.next_u32() as u16, random.next_u32() as u16];
        let end = |n: usize| End {
            port: ports[n],
            initial: initial[n],
            next_id: next_id[n],
            full: mss(flow.ip),
            short: Vec::new(),
            sent: 0,
            acked: 0,
            // That of a SYN, until there is an acknowledgement.
            window: u32::from(u16::MAX),
            counted: 0,
            ecn_bytes: [1, 0, 1],
            answer: None,
        };
        Self {
            down: flow.direction == Direction::Down,
            ends: [end(0), end(1)],
            is_ping: matches!(flow.traffic, Traffic::Ping(_)),
            echo_id: index as u16 + 1,
            window_scale: window_scale(largest_window),
            mss: mss(flow.ip),
            asked: Request::Off,
            agreed: Agreed::Off,
        }
    }

    /// Whether the end that sends or receives is the server's.
    pub(super) fn is_at_server(&self, receiver: bool) -> bool {
        self.down != receiver
    }

    /// Source and destination address.
    pub(super) fn addresses(&self, from_receiver: bool) -> [[u8; 4]; 2] {
        let [server, client] = ADDRESSES;
        if self.is_at_server(from_receiver) { [server, client] } else { [client, server] }
    }

    /// The same of IP version 6.
    pub(super) fn addresses_v6(&self, from_receiver: bool) -> [[u8; 16]; 2] {
        let [server, client] = [1, 2].map(address_v6);
        if self.is_at_server(from_receiver) { [server, client] } else { [client, server] }
    }

    /// Source and destination port.
    pub(super) fn ports(&self, from_receiver: bool) -> (u16, u16) {
        let end = usize::from(from_receiver);
        (self.ends[end].port, self.ends[1 - end].port)
    }

    /// The initial sequence number of an end.
    pub(super) fn initial(&self, receiver: bool) -> u32 {
        self.ends[usize::from(receiver)].initial
    }

    /// The sequence number of the first byte of a segment of an end's stream; the SYN takes the initial one.
    pub(super) fn byte(&self, receiver: bool, seq: Seq) -> u32 {
        let end = usize::from(receiver);
        self.ends[end].initial.wrapping_add(1).wrapping_add(self.bytes_before(end, seq))
    }

    /// The bytes of an end's stream before a segment.
    fn bytes_before(&self, end: usize, seq: Seq) -> u32 {
        let short = &self.ends[end].short;
        let earlier = short.partition_point(|&(s, _)| before(s, seq));
        let missing = earlier.checked_sub(1).map_or(0, |last| short[last].1);
        seq.wrapping_mul(self.ends[end].full).wrapping_sub(missing)
    }

    /// A host sends: the packet gets its identifier, the flags that only the wire has, and what a header says of the
    /// other direction.
    pub(super) fn send(&mut self, packet: &mut Packet) {
        let from = usize::from(packet.is_from_receiver());
        packet.id = self.ends[from].next_id;
        self.ends[from].next_id = packet.id.wrapping_add(1);
        packet.ace = self.sender_flags(from, &packet.body).ace();
        packet.ecn_bytes = self.ends[from].ecn_bytes;
        match &packet.body {
            // A repeated one may not ask any more; the answer still is to the first.
            Body::Syn(syn) if syn.ecn.ace() == 0b111 => self.asked = Request::AccEcn,
            Body::Syn(syn) if syn.ecn.ace() == 0b011 => self.asked = Request::Rfc3168,
            Body::Data(data) => {
                let (mss, end) = (self.mss, &mut self.ends[from]);
                if end.sent == 0 && data.accecn {
                    end.full = mss - option::WHOLE;
                }
                if u32::from(data.len) < end.full {
                    let (last, missing) = end.short.last().map_or((None, 0), |s| (Some(s.0), s.1));
                    if last.is_none_or(|last| after(data.seq, last)) {
                        end.short.push((data.seq, missing + end.full - u32::from(data.len)));
                    }
                }
                let upto = self.bytes_before(from, data.seq).wrapping_add(u32::from(data.len));
                let end = &mut self.ends[from];
                if after(upto, end.sent) {
                    end.sent = upto;
                }
                // A segment acknowledges what its host has acknowledged before, and no more: the model's ACKs are
                // packets of their own.
                packet.opposite = end.acked;
                packet.window = scaled(end.window, self.window_scale);
            }
            Body::Ack(ack) => {
                let acked = self.bytes_before(1 - from, ack.ack);
                let end = &mut self.ends[from];
                if after(acked, end.acked) {
                    end.acked = acked;
                }
                end.window = ack.window;
                packet.opposite = end.sent;
                packet.window = scaled(ack.window, self.window_scale);
            }
            _ => {}
        }
    }

    /// The ECN flags of a data segment: CWR (RFC 3168 §6.1.2), or Accurate ECN's counter of the data's sender; its
    /// first packet after the handshake says how the SYN/ACK arrived (RFC 9768 §3.2.2.1, table 3).
    fn sender_flags(&mut self, from: usize, body: &Body) -> Flags {
        let Body::Data(data) = body else { return Flags::default() };
        if self.agreed != Agreed::AccEcn {
            return Flags { cwr: data.cwr, ..Flags::default() };
        }
        let end = &mut self.ends[from];
        Flags::from_ace(match end.answer.take() {
            Some(Ecn::NotEct) => 0b010,
            Some(Ecn::Ect1) => 0b011,
            Some(Ecn::Ect0) => 0b100,
            Some(Ecn::Ce) => 0b110,
            None => accurate::field(end.counted),
        })
    }

    /// A packet has come to its host.
    pub(super) fn arrive(&mut self, packet: &PacketBox) {
        let end = &mut self.ends[1 - usize::from(packet.is_from_receiver())];
        let is_marked = packet.ecn() == Ecn::Ce;
        match &packet.body {
            Body::SynAck(answer) if self.agreed == Agreed::Off => {
                self.agreed = conclude(self.asked, answer.ecn);
                end.answer = Some(packet.ecn());
                end.counted = u32::from(is_marked);
            }
            Body::Data(data) => {
                end.counted = end.counted.wrapping_add(u32::from(is_marked));
                let counter = match packet.ecn() {
                    Ecn::NotEct => None,
                    Ecn::Ect1 => Some(0),
                    Ecn::Ce => Some(1),
                    Ecn::Ect0 => Some(2),
                };
                if let Some(counter) = counter {
                    let bytes = &mut end.ecn_bytes[counter];
                    *bytes = bytes.wrapping_add(u32::from(data.len));
                }
            }
            _ => {}
        }
    }
}

/// A window as a header has it.
fn scaled(window: u32, shift: u8) -> u16 {
    (window >> shift).min(u32::from(u16::MAX)) as u16
}

/// The least shift with which the largest window fits 16 bits, at most 14 (RFC 7323 §2.3).
fn window_scale(largest: u64) -> u8 {
    (0..14).find(|&shift| u16::try_from(largest >> shift).is_ok()).unwrap_or(14)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux's default of 6 MB has a shift of 7.
    #[test]
    fn window_scales() {
        for (largest, shift) in [(65_535, 0), (65_536, 1), (6_291_456, 7), (u64::MAX, 14)] {
            assert_eq!(window_scale(largest), shift, "{largest}");
        }
    }
}
