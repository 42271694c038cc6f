//! The simulator's packet: a small plain value that stays where it is while its handle moves.
//!
//! Packets live in boxes that are used again ([`Pool`]), so that none is allocated on the common way. By value they
//! were slower: each move is a few wide loads soon after some narrow stores (an ECN field, a time stamp), which the
//! processor cannot forward; a quarter of the whole run went on waiting for that, measured.

use sojourn_path::Traveller;
use sojourn_qdisc::Packet as QdiscPacket;
use sojourn_transport::segment::{Ack, Data, HEADERS, Handshake, SYN_LEN};
use sojourn_units::{Dscp, ETHERNET_HEADER, Ecn, Time};

/// Bytes of an IPv4 header without options.
const IP_HEADER: u32 = 20;

/// A packet's handle: what queues and ports move.
#[derive(Clone, Debug)]
pub(crate) struct Parcel(Box<Packet>);

/// Boxes that are free to be used again.
#[derive(Debug, Default)]
#[allow(clippy::vec_box, reason = "the boxes themselves are what is kept")]
pub(crate) struct Pool {
    free: Vec<Box<Packet>>,
}

impl Pool {
    /// Puts a packet into a box.
    #[inline]
    pub(crate) fn pack(&mut self, packet: Packet) -> Parcel {
        Parcel(match self.free.pop() {
            Some(mut used) => {
                *used = packet;
                used
            }
            None => Box::new(packet),
        })
    }

    /// Takes the box back.
    #[inline]
    pub(crate) fn unpack(&mut self, parcel: Parcel) {
        self.free.push(parcel.0);
    }
}

impl core::ops::Deref for Parcel {
    type Target = Packet;
    #[inline]
    fn deref(&self) -> &Packet {
        &self.0
    }
}

impl core::ops::DerefMut for Parcel {
    #[inline]
    fn deref_mut(&mut self) -> &mut Packet {
        &mut self.0
    }
}

/// A packet on its way.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    /// The flow it belongs to.
    pub(crate) flow: u32,
    /// Which of the run's routes it takes.
    pub(crate) route: u16,
    /// How many stations of the route it has entered.
    pub(crate) leg: u8,
    ecn: Ecn,
    dscp: Dscp,
    wire_len: u16,
    stamp: Time,
    entered: Time,
    /// What it carries.
    pub(crate) body: Body,
}

/// What a packet carries.
#[derive(Clone, Debug)]
pub(crate) enum Body {
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
    /// A datagram of an unresponsive source.
    Datagram {
        /// When it was sent.
        sent: Time,
    },
}

impl Body {
    /// Bytes of the IP packet that carries a TCP body.
    pub(crate) fn ip_len(&self) -> u32 {
        match self {
            Self::Syn(_) | Self::SynAck(_) => SYN_LEN,
            Self::Data(d) => HEADERS + u32::from(d.len),
            Self::Ack(a) => a.ip_len(),
            Self::Echo { .. } | Self::Datagram { .. } => 0,
        }
    }
}

impl Packet {
    /// A TCP packet at its source.
    #[inline]
    pub(crate) fn tcp(flow: u32, route: u16, dscp: Dscp, ecn: Ecn, body: Body) -> Self {
        let ip_len = body.ip_len();
        Self::new(flow, route, dscp, ecn, ip_len, body)
    }

    /// Any packet at its source; `ip_len` is the length of the IP packet in bytes.
    #[inline]
    pub(crate) fn new(
        flow: u32,
        route: u16,
        dscp: Dscp,
        ecn: Ecn,
        ip_len: u32,
        body: Body,
    ) -> Self {
        let wire_len = (ip_len + ETHERNET_HEADER).min(u32::from(u16::MAX)) as u16;
        Self {
            flow,
            route,
            leg: 0,
            ecn,
            dscp,
            wire_len,
            stamp: Time::ZERO,
            entered: Time::ZERO,
            body,
        }
    }

    fn is_from_receiver(&self) -> bool {
        matches!(self.body, Body::SynAck(_) | Body::Ack(_) | Body::Echo { reply: true, .. })
    }
}

impl QdiscPacket for Parcel {
    #[inline]
    fn wire_len(&self) -> u32 {
        u32::from(self.0.wire_len)
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        self.0.ecn
    }

    #[inline]
    fn set_ecn(&mut self, ecn: Ecn) {
        self.0.ecn = ecn;
    }

    #[inline]
    fn dscp(&self) -> Dscp {
        self.0.dscp
    }

    #[inline]
    fn set_dscp(&mut self, dscp: Dscp) {
        self.0.dscp = dscp;
    }

    #[inline]
    fn flow_key(&self) -> u64 {
        u64::from(self.0.flow) << 1 | u64::from(self.0.is_from_receiver())
    }

    /// All senders of data are one host and all receivers another, as in the published test beds.
    fn host_keys(&self) -> (u32, u32) {
        if self.0.is_from_receiver() { (1, 0) } else { (0, 1) }
    }

    fn l4_len(&self) -> u32 {
        u32::from(self.0.wire_len) - ETHERNET_HEADER - IP_HEADER
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

impl Traveller for Parcel {
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
}
