//! A packet and a queue for this crate's tests.

use crate::link::{Fate, Link, NamedLink};
use crate::{Outer, PathPacket, SkbCharge};
use sojourn_qdisc::{Backlog, Packet, Settings, TcTokens};
use sojourn_units::{Dscp, Ecn, Random, Rate, Time};

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

/// A link by its words.
pub(crate) fn link<L: NamedLink>(words: &str, rate: Rate) -> L {
    let mut tokens = TcTokens::new(words);
    let name = <L::Options as Settings>::INFO.name;
    assert!(tokens.keyword(name), "{words}");
    L::new(L::options(&mut tokens).unwrap(), rate, Random::named(0, name))
}

/// A queue of packets of 1500 bytes in front of a link, as the port drives it.
pub(crate) struct Modem<L> {
    pub(crate) link: L,
    pub(crate) now: u64,
    pub(crate) waiting: u32,
    pub(crate) cut: bool,
    /// When each packet was taken and arrived, ns.
    pub(crate) sent: Vec<(u64, u64)>,
}

impl<L: Link> Modem<L> {
    pub(crate) fn new(link: L) -> Self {
        Self { link, now: 0, waiting: 0, cut: false, sent: Vec::new() }
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.waiting, bytes: u64::from(self.waiting) * 1500 }
    }

    /// Serves the queue up to a time.
    pub(crate) fn until(&mut self, end: u64) {
        while self.waiting > 0 || self.cut {
            let now = Time::from_nanos(self.now);
            let at = self.link.ready(now, self.backlog());
            if at > now {
                if at.as_nanos() > end {
                    break;
                }
                self.now = at.as_nanos();
                continue;
            }
            let fate = if self.cut {
                self.link.resume(now)
            } else {
                self.waiting -= 1;
                self.sent.push((self.now, 0));
                self.link.take(now, 1500, self.backlog())
            };
            self.cut = matches!(fate, Fate::Cut);
            if let Fate::Arrives(at) = fate {
                self.sent.last_mut().unwrap().1 = at.as_nanos();
            }
        }
        self.now = end;
    }

    /// Serves the queue up to a time at which packets arrive.
    pub(crate) fn arrive(&mut self, at: u64, packets: u32) {
        self.until(at);
        self.waiting += packets;
    }
}
