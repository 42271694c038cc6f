//! The simulator's packet: a small plain value that stays where it is while its handle moves.
//!
//! Packets live in boxes that are used again ([`Pool`]), so that none is allocated on the common way. By value they
//! were slower: each move is a few wide loads soon after some narrow stores (an ECN field, a time stamp), which the
//! processor cannot forward; a quarter of the whole run went on waiting for that, measured.

use sojourn_model::Ip;
use sojourn_net::Routed;
use sojourn_path::{Outer, PathPacket, SkbCharge};
use sojourn_qdisc::{Acknowledgement, Packet as QdiscPacket};
use sojourn_transport::Sender;
use sojourn_transport::ecn::Flags;
use sojourn_transport::segment::{Ack, Data, HEADERS, Handshake};
use sojourn_units::{Dscp, ETHERNET_HEADER, Ecn, Time};
use sojourn_wire::Frame;

/// Bytes of an IPv4 header without options.
const IP_HEADER: u32 = 20;

/// IPv4 and UDP headers.
pub(crate) const UDP_HEADERS: u32 = 28;

/// IP bytes of a full packet.
const MTU: u32 = 1500;

/// TCP payload of a full segment.
pub(crate) fn mss(ip: Ip) -> u32 {
    MTU - HEADERS - ip.more()
}

/// A packet's handle: what queues and ports move. Outside the simulator it is a [`sojourn_qdisc::Packet`].
#[derive(Clone, Debug)]
pub struct PacketBox(Box<Packet>);

/// Boxes that are free to be used again.
#[derive(Default, Debug)]
#[allow(clippy::vec_box, reason = "the pool keeps the boxes themselves")]
pub(crate) struct Pool {
    free: Vec<Box<Packet>>,
}

impl Pool {
    /// Puts a packet from a host into a box. It has no outer header; the taps add the fields that they need, and so the
    /// second line of cache is not touched.
    #[inline(always)]
    pub(crate) fn pack(&mut self, packet: Packet) -> PacketBox {
        let Some(mut used) = self.free.pop() else { return PacketBox(Box::new(packet)) };
        if used.form.has(Form::COVERED | Form::CARRIES) {
            used.extra = None;
        }
        let Packet {
            stamp, entered, sent, flow, key, form, route, position, tos, body, extra, ..
        } = packet;
        if form.has(Form::CARRIES) {
            used.extra = extra;
        }
        (used.stamp, used.entered, used.sent) = (stamp, entered, sent);
        (used.flow, used.key, used.form) = (flow, key, form);
        (used.route, used.position, used.tos) = (route, position, tos);
        used.body = body;
        PacketBox(used)
    }

    /// Takes the box back.
    #[inline]
    pub(crate) fn unpack(&mut self, packet: PacketBox) {
        self.free.push(packet.0);
    }
}

impl core::ops::Deref for PacketBox {
    type Target = Packet;
    #[inline]
    fn deref(&self) -> &Packet {
        &self.0
    }
}

impl core::ops::DerefMut for PacketBox {
    #[inline]
    fn deref_mut(&mut self) -> &mut Packet {
        &mut self.0
    }
}

/// The owner of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner {
    /// The flow's number in the run.
    pub(crate) flow: u32,
    /// What queues tell flows apart by. From the flow's name, so that another flow more or less in the run does not
    /// move it to another slot.
    pub(crate) key: u32,
    /// Whether its data goes up, from the client to the server.
    pub(crate) up: bool,
    /// The version of IP.
    pub(crate) ip: Ip,
}

/// What the keys of a flow's connections are apart: odd, so that none comes twice.
const KEY_STEP: u32 = 0x9e37_79b1;

impl Owner {
    /// The flow's connection of this number, for queues a flow of its own.
    pub(crate) fn connection(self, number: u32) -> Self {
        Self { key: self.key.wrapping_add(number.wrapping_mul(KEY_STEP)), ..self }
    }

    /// The number of the connection that has this key.
    pub(crate) fn number(self, key: u32) -> u32 {
        // Newton's iteration for the inverse of an odd number doubles the bits that are right each time.
        let inverse = (0..5)
            .fold(KEY_STEP, |x, _| x.wrapping_mul(2_u32.wrapping_sub(KEY_STEP.wrapping_mul(x))));
        key.wrapping_sub(self.key).wrapping_mul(inverse)
    }
}

/// A packet on its way: two lines of cache. The first is all that ports touch, and a data segment and an acknowledgement
/// without SACK blocks end in it.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Packet {
    stamp: Time,
    entered: Time,
    /// When its host sent it, before the host's jitter.
    pub(crate) sent: Time,
    /// The flow it belongs to.
    pub(crate) flow: u32,
    /// See [`Owner::key`].
    pub(crate) key: u32,
    form: Form,
    /// Which of the run's routes it takes.
    pub(crate) route: u16,
    /// How many ports of the route it has entered.
    pub(crate) position: u8,
    /// The traffic-class byte: DSCP and ECN field.
    tos: u8,
    /// What it carries.
    pub(crate) body: Body,
    /// What few packets have; of what is in it nothing counts unless the form says so.
    extra: Option<Box<Extra>>,
    /// What a TCP header says of the other direction, where somebody sees it: bytes acknowledged by a data segment, bytes
    /// sent before an acknowledgement. 0 unless there is a tap.
    pub(crate) opposite: u32,
    /// Counters of AccECN's option, likewise: bytes of ECT(1), CE and ECT(0).
    pub(crate) ecn_bytes: [u32; 3],
    /// The IP identifier; likewise.
    pub(crate) id: u16,
    /// The window field; likewise.
    pub(crate) window: u16,
    /// The ACE flags of a data segment; likewise.
    pub(crate) ace: u8,
}

/// What few packets have: one pointer in the packet, so that it is two lines of cache.
#[derive(Clone, Default, Debug)]
struct Extra {
    /// The outermost header of a tunnel, and under it what it covers.
    covered: Option<Box<Covered>>,
    /// The bytes that a datagram carries.
    payload: Box<[u8]>,
    /// Of a frame with a tunnel's headers of its own: what queues tell flows and hosts apart by.
    outer: (u64, (u32, u32)),
}

/// An outer header, and the fields that the packet has again without it.
#[derive(Clone, Debug)]
struct Covered {
    outer: Outer,
    ecn: Ecn,
    dscp: Dscp,
    within: Option<Box<Self>>,
}

/// One IP header of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layer<'a> {
    /// The tunnel's header, unless it is the innermost.
    pub(crate) outer: Option<&'a Outer>,
    /// Its ECN field.
    pub(crate) ecn: Ecn,
    /// Its DSCP.
    pub(crate) dscp: Dscp,
    /// Bytes from it on, and an Ethernet header's.
    pub(crate) wire_len: u32,
}

/// The contents of a packet. Its kind comes first, so that it is in the packet's first line of cache.
#[derive(Clone, Debug)]
#[repr(u8)]
#[non_exhaustive]
pub enum Body {
    /// First packet of a connection.
    Syn(Handshake),
    /// Its answer.
    SynAck(Handshake),
    /// TCP data.
    Data(Data),
    /// A TCP acknowledgement.
    Ack(Ack),
    /// A probe or its reply.
    Echo {
        /// Number of the request.
        number: u32,
        /// When the request was sent.
        sent: Time,
        /// Whether this is the reply.
        reply: bool,
    },
    /// A datagram.
    Datagram {
        /// Its number in the flow.
        number: u32,
        /// When it was sent.
        sent: Time,
    },
    /// An Ethernet frame of hosts outside of the simulator ([`Packet::payload`] has its bytes).
    Frame {
        /// Whether it goes from the receiver of the flow's data to the sender.
        is_from_receiver: bool,
        /// Whether it opens a TCP connection.
        is_syn: bool,
    },
    /// What a receiver of datagrams tells the sender (RFC 3550 §6.4.2).
    Report {
        /// Datagrams expected since the last report.
        expected: u32,
        /// Of these, missing.
        missing: u32,
    },
}

/// How long a packet is, which way it goes, its version of IP, and whether it is in a tunnel: the length above some bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Form(u32);

impl Form {
    /// Bits under the length.
    const BITS: u32 = 8;
    /// It is of a flow that sends its data up.
    const UP: u32 = 1;
    /// It goes against what its body says: the data of its half-connection go against the flow's.
    const TURNED: u32 = 2;
    /// It is of IP version 6.
    const V6: u32 = 4;
    /// It answers: a body that goes against its half-connection's data.
    const ANSWER: u32 = 8;
    /// It has an outer header.
    const COVERED: u32 = 16;
    /// It carries bytes that somebody reads.
    const CARRIES: u32 = 32;
    /// It is a frame with a tunnel's headers of its own.
    const OUTER: u32 = 64;
    /// And carries an application's data.
    const DATA: u32 = 128;

    const fn has(self, bits: u32) -> bool {
        self.0 & bits != 0
    }

    /// Bytes with the Ethernet header.
    const fn wire_len(self) -> u32 {
        self.0 >> Self::BITS
    }

    /// The same of another length.
    #[must_use]
    const fn with_len(self, wire_len: u32) -> Self {
        Self(wire_len << Self::BITS | self.0 & ((1 << Self::BITS) - 1))
    }
}

impl Body {
    /// Whether it goes against the data of its half-connection.
    #[inline]
    const fn is_answer(&self) -> bool {
        use Body::{Ack, Echo, Frame, Report, SynAck};
        matches!(
            self,
            SynAck(_)
                | Ack(_)
                | Echo { reply: true, .. }
                | Report { .. }
                | Frame { is_from_receiver: true, .. }
        )
    }

    /// Bytes of the IPv4 packet that carries a TCP body.
    pub(crate) fn ip_len(&self) -> u32 {
        match self {
            Self::Syn(h) | Self::SynAck(h) => h.ip_len(),
            Self::Data(d) => d.ip_len(),
            Self::Ack(a) => a.ip_len(),
            Self::Echo { .. }
            | Self::Datagram { .. }
            | Self::Report { .. }
            | Self::Frame { .. } => 0,
        }
    }
}

impl Packet {
    /// A TCP packet at its source.
    #[inline(always)]
    pub(crate) fn tcp(owner: Owner, route: u16, dscp: Dscp, ecn: Ecn, body: Body) -> Self {
        let ip_len = body.ip_len();
        Self::new(owner, route, dscp, ecn, ip_len, body)
    }

    /// A UDP datagram at its source.
    pub(crate) fn udp(
        owner: Owner,
        route: u16,
        dscp: Dscp,
        ecn: Ecn,
        payload: u32,
        body: Body,
    ) -> Self {
        Self::new(owner, route, dscp, ecn, payload + UDP_HEADERS, body)
    }

    /// A frame of hosts outside of the simulator: as long as it is, with the ECN field and the DSCP that it has. One that is
    /// no IP packet is not ECN-capable.
    pub(crate) fn of_frame(owner: Owner, route: u16, frame: Frame, is_from_receiver: bool) -> Self {
        let (ecn, dscp) = (frame.ecn(), frame.dscp());
        let is_syn = frame.tcp().is_some_and(|tcp| tcp.is_syn());
        let length = frame.bytes().len() as u32;
        let body = Body::Frame { is_from_receiver, is_syn };
        let mut packet = Self::new(owner, route, dscp, ecn, 0, body);
        packet.form = packet.form.with_len(length);
        packet.form.0 |= Form::CARRIES;
        let payload = frame.into_bytes().into();
        packet.extra = Some(Box::new(Extra { payload, ..Extra::default() }));
        packet
    }

    /// The same of a frame with the headers of a tunnel between such hosts: queues see the frame's own flow and hosts. `carries`
    /// says whether an application's data are in it.
    pub(crate) fn of_outer_frame(
        owner: Owner,
        route: u16,
        frame: Frame,
        is_from_receiver: bool,
        carries: bool,
    ) -> Self {
        let outer = (frame.flow_key(), frame.host_keys());
        let mut packet = Self::of_frame(owner, route, frame, is_from_receiver);
        packet.form.0 |= Form::OUTER | if carries { Form::DATA } else { 0 };
        if let Some(extra) = &mut packet.extra {
            extra.outer = outer;
        }
        packet
    }

    /// Of a frame with a tunnel's headers of its own whether it carries an application's data; of others nobody has said.
    pub(crate) fn carries_data(&self) -> Option<bool> {
        self.form.has(Form::OUTER).then(|| self.form.has(Form::DATA))
    }

    /// The same, of a datagram that the other end reads byte by byte.
    #[must_use]
    pub(crate) fn carrying(mut self, payload: &[u8]) -> Self {
        self.form.0 |= Form::CARRIES;
        self.extra = Some(Box::new(Extra { payload: payload.into(), ..Extra::default() }));
        self
    }

    /// Any packet at its source; `ip_len` is the length of the IP packet in bytes, were it of version 4.
    #[inline(always)]
    pub(crate) fn new(
        owner: Owner,
        route: u16,
        dscp: Dscp,
        ecn: Ecn,
        ip_len: u32,
        body: Body,
    ) -> Self {
        let wire_len = ip_len + owner.ip.more() + ETHERNET_HEADER;
        let bits = if owner.up { Form::UP } else { 0 }
            | if owner.ip == Ip::V6 { Form::V6 } else { 0 }
            | if body.is_answer() { Form::ANSWER } else { 0 };
        Self {
            stamp: Time::ZERO,
            entered: Time::ZERO,
            sent: Time::ZERO,
            flow: owner.flow,
            key: owner.key,
            form: Form(bits).with_len(wire_len),
            route,
            position: 0,
            tos: dscp.tos(ecn),
            body,
            extra: None,
            opposite: 0,
            id: 0,
            window: 0,
            ace: 0,
            ecn_bytes: [0; 3],
        }
    }

    /// As a packet of a half-connection that carries data from the receiver of the flow's data to the sender: requests,
    /// or answers to what the sender asked.
    #[must_use]
    #[inline]
    pub(crate) fn turned(mut self) -> Self {
        self.form.0 |= Form::TURNED;
        self
    }

    /// What it carries.
    #[inline]
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// Its ECN field, that of the outermost header.
    #[inline]
    pub fn ecn_field(&self) -> Ecn {
        Ecn::from_bits(self.tos)
    }

    /// Its DSCP, that of the outermost header.
    #[inline]
    pub(crate) fn dscp_field(&self) -> Dscp {
        Dscp::from_tos(self.tos)
    }

    /// Bytes of UDP payload of a datagram that has come.
    pub fn udp_payload(&self) -> u32 {
        self.form.wire_len() - ETHERNET_HEADER - UDP_HEADERS - self.ip().more()
    }

    /// The bytes of a datagram that has come, if somebody is to read them; of any other only the length is known.
    #[inline]
    pub fn payload(&self) -> Option<&[u8]> {
        let extra = self.extra.as_deref().filter(|_| self.form.has(Form::CARRIES));
        extra.map(|extra| &*extra.payload)
    }

    /// Whether it is of such a half.
    pub(crate) fn is_turned(&self) -> bool {
        self.form.has(Form::TURNED)
    }

    /// Its version of IP, that of the innermost header.
    pub(crate) fn ip(&self) -> Ip {
        if self.form.has(Form::V6) { Ip::V6 } else { Ip::V4 }
    }

    /// Whether it goes from the receiver of the flow's data to the sender.
    pub fn is_from_receiver(&self) -> bool {
        self.form.has(Form::ANSWER) != self.is_turned()
    }

    /// The outermost header of a tunnel, and what it covers.
    #[inline]
    fn covered(&self) -> Option<&Covered> {
        let extra = self.extra.as_deref().filter(|_| self.form.has(Form::COVERED));
        extra.and_then(|extra| extra.covered.as_deref())
    }

    /// Shows its headers, the outermost first, as long as `next` asks for what is inside.
    pub(crate) fn layers(&self, next: &mut dyn FnMut(Layer<'_>) -> bool) {
        let (mut ecn, mut dscp) = (self.ecn_field(), Dscp::from_tos(self.tos));
        let (mut wire_len, mut outer) = (self.form.wire_len(), self.covered());
        while let Some(covered) = outer {
            if !next(Layer { outer: Some(&covered.outer), ecn, dscp, wire_len }) {
                return;
            }
            (ecn, dscp, outer) = (covered.ecn, covered.dscp, covered.within.as_deref());
            wire_len -= covered.outer.growth;
        }
        next(Layer { outer: None, ecn, dscp, wire_len });
    }
}

impl QdiscPacket for PacketBox {
    #[inline]
    fn wire_len(&self) -> u32 {
        self.0.form.wire_len()
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        self.0.ecn_field()
    }

    #[inline]
    fn set_ecn(&mut self, ecn: Ecn) {
        self.0.tos = self.dscp().tos(ecn);
    }

    #[inline]
    fn dscp(&self) -> Dscp {
        Dscp::from_tos(self.0.tos)
    }

    #[inline]
    fn set_dscp(&mut self, dscp: Dscp) {
        self.0.tos = dscp.tos(self.ecn());
    }

    /// In a tunnel nothing is seen of it, as of UDP's payload. Nobody looks into frames of hosts outside of the simulator.
    fn acknowledgement(&self) -> Option<Acknowledgement> {
        let (Body::Ack(ack), None) = (&self.0.body, self.0.covered()) else { return None };
        Some(Acknowledgement {
            ack: ack.ack,
            sack: ack.sack.map(|block| (block.start, block.end)),
            blocks: ack.blocks,
            timestamps: (ack.tsval, ack.tsecr),
            cwr: ack.ecn.cwr,
            ece: ack.ecn.ece,
            is_plain: !ack.ecn.ae && ack.accecn.is_none(),
        })
    }

    #[inline]
    fn flow_key(&self) -> u64 {
        let packet = &*self.0;
        match &packet.extra {
            Some(extra) if packet.form.has(Form::COVERED | Form::OUTER) => match packet.covered() {
                Some(covered) => covered.outer.key,
                None => extra.outer.0,
            },
            _ => u64::from(packet.key) << 1 | u64::from(packet.is_from_receiver()),
        }
    }

    /// Packets that go down come from one host and go to another, as in the published testbeds; so with the two ends of
    /// a tunnel.
    fn host_keys(&self) -> (u32, u32) {
        if let Some(covered) = self.0.covered() {
            let near = 2 + 2 * u32::from(covered.outer.tunnel);
            return (near, near + 1);
        }
        if let Some(extra) = self.0.extra.as_deref().filter(|_| self.0.form.has(Form::OUTER)) {
            return extra.outer.1;
        }
        let goes_up = self.0.is_from_receiver() != self.0.form.has(Form::UP);
        if goes_up { (1, 0) } else { (0, 1) }
    }

    fn l4_len(&self) -> u32 {
        self.wire_len() - ETHERNET_HEADER - IP_HEADER - self.0.ip().more()
    }

    fn duplicate(&self) -> Option<Self> {
        Some(self.clone())
    }

    #[inline]
    fn stamp(&self) -> Time {
        self.0.stamp
    }

    #[inline]
    fn set_stamp(&mut self, at: Time) {
        self.0.stamp = at;
    }
}

impl PathPacket for PacketBox {
    #[inline]
    fn entered(&self) -> Time {
        self.0.entered
    }

    #[inline]
    fn set_entered(&mut self, at: Time) {
        self.0.entered = at;
    }

    #[inline]
    fn flow(&self) -> usize {
        self.0.flow as usize
    }

    fn is_syn(&self) -> bool {
        let opens = matches!(
            self.0.body,
            Body::Syn(_) | Body::SynAck(_) | Body::Frame { is_syn: true, .. }
        );
        opens && !self.0.form.has(Form::COVERED)
    }

    /// Data have one, on the account of the flow's sender: requests go the other way, and are never held back.
    fn charge(&self) -> Option<SkbCharge> {
        let Packet { flow, key, ref body, .. } = *self.0;
        match body {
            Body::Data(data) if !self.0.is_turned() => {
                Some(SkbCharge { flow, key, bytes: Sender::account_of(data) })
            }
            _ => None,
        }
    }

    fn strip_tcp_ecn(&mut self) {
        if self.0.form.has(Form::COVERED) {
            return;
        }
        self.0.ace = Flags::from_ace(self.0.ace).without_ece_and_cwr().ace();
        match &mut self.0.body {
            Body::Syn(h) | Body::SynAck(h) => h.ecn = h.ecn.without_ece_and_cwr(),
            Body::Data(data) => data.cwr = false,
            Body::Ack(ack) => ack.ecn = ack.ecn.without_ece_and_cwr(),
            Body::Frame { .. } => {
                if let Some(extra) = &mut self.0.extra {
                    let mut frame = Frame::new(core::mem::take(&mut extra.payload).into());
                    frame.strip_tcp_ecn();
                    extra.payload = frame.into_bytes().into();
                }
            }
            Body::Echo { .. } | Body::Datagram { .. } | Body::Report { .. } => {}
        }
    }

    fn outer(&self) -> Option<Outer> {
        self.0.covered().map(|covered| covered.outer)
    }

    fn push_header(&mut self, outer: Outer) {
        let packet = &mut *self.0;
        let extra = packet.extra.get_or_insert_default();
        let (tos, within) = (packet.tos, extra.covered.take());
        let (ecn, dscp) = (Ecn::from_bits(tos), Dscp::from_tos(tos));
        extra.covered = Some(Box::new(Covered { outer, ecn, dscp, within }));
        packet.tos = outer.dscp.tos(outer.ecn);
        packet.form = packet.form.with_len(packet.form.wire_len() + outer.growth);
        packet.form.0 |= Form::COVERED;
    }

    fn pop_header(&mut self) -> bool {
        let packet = &mut *self.0;
        let Some(extra) = &mut packet.extra else { return false };
        let Some(covered) = extra.covered.take() else { return false };
        let Covered { outer, ecn, dscp, within } = *covered;
        packet.tos = dscp.tos(ecn);
        packet.form = packet.form.with_len(packet.form.wire_len() - outer.growth);
        if within.is_none() {
            packet.form.0 &= !Form::COVERED;
        }
        extra.covered = within;
        true
    }
}

impl Routed for PacketBox {
    #[inline]
    fn route(&self) -> u16 {
        self.0.route
    }

    #[inline]
    fn position(&self) -> u8 {
        self.0.position
    }

    #[inline]
    fn set_position(&mut self, position: u8) {
        self.0.position = position;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::{offset_of, size_of};

    /// What a hop, a receiver and a sender need of every packet is in one line of cache.
    #[test]
    fn data_and_plain_acknowledgements_end_in_the_first_line() {
        // The body's tag is in front of what it carries, which is aligned to four bytes.
        let carried = offset_of!(Packet, body) + 4;
        assert!(carried + size_of::<Data>() <= 64, "data end at {}", carried + size_of::<Data>());
        let plain = carried + offset_of!(Ack, ecn) + size_of::<Flags>();
        assert!(plain <= 64, "acknowledgements end at {plain}");
    }
}
