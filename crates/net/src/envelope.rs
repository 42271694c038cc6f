//! A packet for programs that have none of their own.

use crate::Routed;
use sojourn_path::{Outer, PathPacket, SkbCharge};
use sojourn_qdisc::Packet;
use sojourn_units::{Dscp, ETHERNET_HEADER, Ecn, Time};

/// Bytes of an IPv4 header without options.
const IP_HEADER: u32 = 20;

/// A packet that carries any content: the fields that queues read, and the route.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Envelope<T> {
    /// What it carries. The network never looks at it.
    pub content: T,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its DSCP.
    pub dscp: Dscp,
    wire_len: u32,
    flow: u32,
    route: u16,
    position: u8,
    stamp: Time,
    entered: Time,
    /// Headers of tunnels, the outermost last, each with the fields that it covers.
    outer: Vec<(Outer, Ecn, Dscp)>,
}

impl<T> Envelope<T> {
    /// A packet of `wire_len` bytes including the Ethernet header, of a flow (queues keep flows apart by this number) on a
    /// route. It is not ECN-capable and best effort.
    pub const fn new(content: T, wire_len: u32, flow: u32, route: u16) -> Self {
        Self {
            content,
            ecn: Ecn::NotEct,
            dscp: Dscp::BEST_EFFORT,
            wire_len,
            flow,
            route,
            position: 0,
            stamp: Time::ZERO,
            entered: Time::ZERO,
            outer: Vec::new(),
        }
    }
}

impl<T: Clone> Packet for Envelope<T> {
    fn wire_len(&self) -> u32 {
        self.wire_len
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }

    fn dscp(&self) -> Dscp {
        self.dscp
    }

    fn set_dscp(&mut self, dscp: Dscp) {
        self.dscp = dscp;
    }

    fn flow_key(&self) -> u64 {
        self.outer.last().map_or(u64::from(self.flow), |(outer, ..)| outer.key)
    }

    /// One host at each end of a route.
    fn host_keys(&self) -> (u32, u32) {
        (2 * u32::from(self.route), 2 * u32::from(self.route) + 1)
    }

    fn l4_len(&self) -> u32 {
        self.wire_len.saturating_sub(ETHERNET_HEADER + IP_HEADER)
    }

    fn duplicate(&self) -> Option<Self> {
        Some(self.clone())
    }

    fn stamp(&self) -> Time {
        self.stamp
    }

    fn set_stamp(&mut self, at: Time) {
        self.stamp = at;
    }
}

impl<T: Clone> PathPacket for Envelope<T> {
    fn entered(&self) -> Time {
        self.entered
    }

    fn set_entered(&mut self, at: Time) {
        self.entered = at;
    }

    fn flow(&self) -> usize {
        self.flow as usize
    }

    /// The content is opaque: nobody sees a TCP header in it.
    fn is_syn(&self) -> bool {
        false
    }

    fn strip_tcp_ecn(&mut self) {}

    fn charge(&self) -> Option<SkbCharge> {
        None
    }

    fn outer(&self) -> Option<Outer> {
        self.outer.last().map(|(outer, ..)| *outer)
    }

    fn push_header(&mut self, outer: Outer) {
        self.outer.push((outer, self.ecn, self.dscp));
        (self.ecn, self.dscp) = (outer.ecn, outer.dscp);
        self.wire_len += outer.growth;
    }

    fn pop_header(&mut self) -> bool {
        let Some((outer, ecn, dscp)) = self.outer.pop() else { return false };
        (self.ecn, self.dscp) = (ecn, dscp);
        self.wire_len -= outer.growth;
        true
    }
}

impl<T: Clone> Routed for Envelope<T> {
    fn route(&self) -> u16 {
        self.route
    }

    fn position(&self) -> u8 {
        self.position
    }

    fn set_position(&mut self, position: u8) {
        self.position = position;
    }
}
