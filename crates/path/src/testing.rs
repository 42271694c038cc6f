//! A packet for this crate's tests.

use crate::{Outer, PathPacket, SkbCharge};
use sojourn_qdisc::Packet;
use sojourn_units::{Dscp, Ecn, Time};

/// Fields to look at.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Walker {
    pub(crate) flow: usize,
    pub(crate) wire_len: u32,
    pub(crate) ecn: Ecn,
    pub(crate) dscp: Dscp,
    pub(crate) syn: bool,
    /// Whether its TCP header still has its ECN flags.
    pub(crate) feedback: bool,
    pub(crate) stamp: Time,
    pub(crate) entered: Time,
    /// Outer headers, each with the fields that it covered.
    pub(crate) outer: Vec<(Outer, Ecn, Dscp)>,
}

impl Default for Walker {
    fn default() -> Self {
        Self {
            flow: 0,
            wire_len: 1514,
            ecn: Ecn::NotEct,
            dscp: Dscp::BEST_EFFORT,
            syn: false,
            feedback: true,
            stamp: Time::ZERO,
            entered: Time::ZERO,
            outer: Vec::new(),
        }
    }
}

impl Packet for Walker {
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
        self.outer.last().map_or(self.flow as u64, |o| o.0.key)
    }

    fn host_keys(&self) -> (u32, u32) {
        (0, 1)
    }

    fn l4_len(&self) -> u32 {
        self.wire_len - 34
    }

    fn stamp(&self) -> Time {
        self.stamp
    }

    fn set_stamp(&mut self, at: Time) {
        self.stamp = at;
    }
}

impl PathPacket for Walker {
    fn entered(&self) -> Time {
        self.entered
    }

    fn set_entered(&mut self, at: Time) {
        self.entered = at;
    }

    fn flow(&self) -> usize {
        self.flow
    }

    fn is_syn(&self) -> bool {
        self.syn
    }

    fn charge(&self) -> Option<SkbCharge> {
        let bytes = u64::from(self.wire_len);
        Some(SkbCharge { flow: self.flow as u32, key: self.flow as u32, bytes })
    }

    fn strip_tcp_ecn(&mut self) {
        self.feedback = false;
    }

    fn outer(&self) -> Option<Outer> {
        self.outer.last().map(|o| o.0)
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
