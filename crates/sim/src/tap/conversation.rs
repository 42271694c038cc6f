//! What the two hosts of a flow keep for the wire: addresses, ports, initial sequence numbers, IP identifiers, and
//! what their handshake agreed on.

use crate::host::MTU;
use crate::packet::{Body, Packet, Parcel};
use crate::topology::stack;
use sojourn_qdisc::Packet as _;
use sojourn_scenario::model::{Direction, Flow, ReceiveWindow, Scenario, Traffic};
use sojourn_transport::ecn::{Agreed, Flags, Request, accurate, conclude};
use sojourn_transport::segment::{HEADERS, Seq, after, before};
use sojourn_units::{Ecn, Random, random};

/// The client's side and the server's, as in the published harness.
const ADDRESSES: [[u8; 4]; 2] = [[10, 9, 9, 1], [10, 9, 9, 2]];
/// First port of senders, and of receivers. No protocol is at home there, so that no reader tries to see one.
const PORTS: [u16; 2] = [30_000, 50_000];
/// Flows above this share ports with earlier ones.
const MOST_PORTS: usize = 15_000;

/// A flow on the wire. Of each pair the sender's comes first.
#[derive(Debug)]
pub(super) struct Conversation {
    /// The flow's key.
    key: u32,
    /// Whether data goes from the client to the server.
    down: bool,
    /// Ports.
    pub(super) ports: [u16; 2],
    /// Initial sequence numbers.
    pub(super) initial: [u32; 2],
    /// IP identifiers of the next packets.
    next_id: [u16; 2],
    /// Whether probes are ICMP; irtt's are UDP.
    pub(super) is_ping: bool,
    /// The identifier of ICMP echo.
    pub(super) echo_id: u16,
    /// Window scale of the receiver, RFC 7323 §2.
    pub(super) window_scale: u8,
    /// Payload of a full segment.
    mss: u32,
    /// Segments that are not full, ascending, each with the bytes missing before the next segment.
    short: Vec<(Seq, u32)>,
    /// What the SYN asked.
    asked: Request,
    agreed: Agreed,
    /// How the SYN/ACK arrived, until the sender has told.
    answer: Option<Ecn>,
    /// Marked packets that the sender has counted.
    counted: u32,
}

impl Conversation {
    /// Of the flow of this number, at rest.
    pub(super) fn new(index: usize, flow: &Flow, scenario: &Scenario) -> Self {
        let mut random = Random::named(scenario.seed, &format!("flow/{}/wire", flow.name));
        let largest_window = match flow.traffic.tcp().map(|tcp| tcp.receive_window) {
            Some(ReceiveWindow::Fixed(bytes)) => bytes,
            _ => u64::from(stack(&flow.stack).tcp.receive_buffer.1),
        };
        Self {
            key: random::key(&flow.name) as u32,
            down: flow.direction == Direction::Down,
            ports: PORTS.map(|first| first + (index % MOST_PORTS) as u16),
            initial: [random.next_u32(), random.next_u32()],
            next_id: [random.next_u32() as u16, random.next_u32() as u16],
            is_ping: matches!(flow.traffic, Traffic::Ping(_)),
            echo_id: index as u16 + 1,
            window_scale: window_scale(largest_window),
            mss: MTU - HEADERS,
            short: Vec::new(),
            asked: Request::Off,
            agreed: Agreed::Off,
            answer: None,
            counted: 0,
        }
    }

    /// Whether a packet is the flow's own, and not of a connection beside it.
    pub(super) fn has(&self, packet: &Packet) -> bool {
        packet.key == self.key
    }

    /// Whether the end that sends or receives is the client's.
    pub(super) fn is_at_client(&self, receiver: bool) -> bool {
        self.down != receiver
    }

    /// Source and destination address.
    pub(super) fn addresses(&self, from_receiver: bool) -> [[u8; 4]; 2] {
        let [client, server] = ADDRESSES;
        if self.is_at_client(from_receiver) { [client, server] } else { [server, client] }
    }

    /// The bytes of the stream before a segment.
    pub(super) fn bytes_before(&self, seq: Seq) -> u32 {
        let earlier = self.short.partition_point(|&(s, _)| before(s, seq));
        let missing = earlier.checked_sub(1).map_or(0, |last| self.short[last].1);
        seq.wrapping_mul(self.mss).wrapping_sub(missing)
    }

    /// A host sends: the packet gets its identifier and the flags that only the wire has.
    pub(super) fn send(&mut self, packet: &mut Packet) {
        let end = usize::from(packet.is_from_receiver());
        packet.id = self.next_id[end];
        self.next_id[end] = self.next_id[end].wrapping_add(1);
        packet.ace = self.sender_flags(&packet.body).ace();
        match &packet.body {
            // A repeated one may not ask any more; the answer still is to the first.
            Body::Syn(syn) if syn.ecn.ace() == 0b111 => self.asked = Request::AccEcn,
            Body::Syn(syn) if syn.ecn.ace() == 0b011 => self.asked = Request::Rfc3168,
            Body::Data(data) if u32::from(data.len) < self.mss => {
                let (last, missing) = self.short.last().map_or((None, 0), |s| (Some(s.0), s.1));
                if last.is_none_or(|last| after(data.seq, last)) {
                    self.short.push((data.seq, missing + self.mss - u32::from(data.len)));
                }
            }
            _ => {}
        }
    }

    /// The ECN flags of a data segment: CWR (RFC 3168 §6.1.2), or Accurate ECN's counter of the data's sender, whose
    /// first packet after the handshake says how the SYN/ACK arrived (RFC 9768 §3.2.2.1, table 3).
    fn sender_flags(&mut self, body: &Body) -> Flags {
        let Body::Data(data) = body else { return Flags::default() };
        if self.agreed != Agreed::AccEcn {
            return Flags { cwr: data.cwr, ..Flags::default() };
        }
        Flags::from_ace(match self.answer.take() {
            Some(Ecn::NotEct) => 0b010,
            Some(Ecn::Ect1) => 0b011,
            Some(Ecn::Ect0) => 0b100,
            Some(Ecn::Ce) => 0b110,
            None => accurate::field(self.counted),
        })
    }

    /// A packet has come to its host.
    pub(super) fn arrive(&mut self, packet: &Parcel) {
        let Body::SynAck(answer) = &packet.body else { return };
        if self.agreed == Agreed::Off {
            self.agreed = conclude(self.asked, answer.ecn);
            self.answer = Some(packet.ecn());
            self.counted = u32::from(packet.ecn() == Ecn::Ce);
        }
    }
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
