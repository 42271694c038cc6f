//! What a port counts: every drop and mark with its reason, and the time that packets spent in it.
//!
//! Invariant: `entered = left + dropped + held` at all times, where the port's discipline knows what is held.

use crate::Traveller;
use sojourn_qdisc::{Class, Packet, Telemetry, Why};
use sojourn_units::{Span, Time};

/// Times from entering to leaving, since they were last taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sojourns {
    /// Packets that left.
    pub count: u64,
    /// The shortest; [`Span::MAX`] if none left.
    pub min: Span,
    /// The longest.
    pub max: Span,
    /// Their sum.
    pub sum: Span,
}

impl Default for Sojourns {
    fn default() -> Self {
        Self { count: 0, min: Span::MAX, max: Span::ZERO, sum: Span::ZERO }
    }
}

impl Sojourns {
    /// A packet left after this time.
    #[inline]
    pub fn add(&mut self, sojourn: Span) {
        self.count += 1;
        self.sum += sojourn;
        self.min = self.min.min(sojourn);
        self.max = self.max.max(sojourn);
    }

    /// What has gathered, and begins anew.
    pub fn take(&mut self) -> Self {
        core::mem::take(self)
    }
}

/// A port's counts since the beginning.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    drops: [u64; Why::ALL.len()],
    marks: [u64; Why::ALL.len()],
    sce_marks: [u64; Why::ALL.len()],
    drops_by_flow: Vec<u64>,
    copies_by_flow: Vec<u64>,
    marked_not_ect: u64,
    /// The class of the packet that left last, until somebody asks.
    class: Option<&'static Class>,
    /// Packets taken, copies made here included.
    pub entered: u64,
    /// Packets that left.
    pub left: u64,
    /// Bytes that left.
    pub left_bytes: u64,
}

impl Ledger {
    /// Drops for this reason.
    pub fn drops(&self, why: Why) -> u64 {
        self.drops[why as usize]
    }

    /// Marks for this reason.
    pub fn marks(&self, why: Why) -> u64 {
        self.marks[why as usize]
    }

    /// SCE marks, ECT(0) to ECT(1), for this reason.
    pub fn sce_marks(&self, why: Why) -> u64 {
        self.sce_marks[why as usize]
    }

    /// Drops for any reason.
    pub fn all_drops(&self) -> u64 {
        self.drops.iter().sum()
    }

    /// Marks for any reason.
    pub fn all_marks(&self) -> u64 {
        self.marks.iter().sum()
    }

    /// SCE marks for any reason.
    pub fn all_sce_marks(&self) -> u64 {
        self.sce_marks.iter().sum()
    }

    /// Drops of one flow's packets.
    pub fn drops_of(&self, flow: usize) -> u64 {
        self.drops_by_flow.get(flow).copied().unwrap_or(0)
    }

    /// Copies made here of one flow's packets.
    pub fn copies_of(&self, flow: usize) -> u64 {
        self.copies_by_flow.get(flow).copied().unwrap_or(0)
    }

    /// The class of the packet that has just left, if its discipline has classes.
    #[inline]
    pub(crate) fn take_class(&mut self) -> Option<&'static Class> {
        self.class.take()
    }

    /// Marks that a discipline claims of packets which do not carry CE, and SCE marks of packets which are not
    /// ECT(1): always zero, or the discipline is wrong.
    pub fn false_marks(&self) -> u64 {
        self.marked_not_ect
    }
}

impl<P: Traveller + Packet> Telemetry<P> for Ledger {
    fn dropped(&mut self, _now: Time, packet: P, why: Why) {
        self.drops[why as usize] += 1;
        count(&mut self.drops_by_flow, packet.flow());
    }

    fn marked(&mut self, _now: Time, packet: &P, why: Why) {
        self.marks[why as usize] += 1;
        self.marked_not_ect += u64::from(packet.ecn() != sojourn_units::Ecn::Ce);
    }

    fn sce_marked(&mut self, _now: Time, packet: &P, why: Why) {
        self.sce_marks[why as usize] += 1;
        self.marked_not_ect += u64::from(packet.ecn() != sojourn_units::Ecn::Ect1);
    }

    #[inline]
    fn leaves(&mut self, class: &'static Class) {
        self.class = Some(class);
    }

    fn duplicated(&mut self, _now: Time, packet: &P) {
        self.entered += 1;
        count(&mut self.copies_by_flow, packet.flow());
    }
}

fn count(counts: &mut Vec<u64>, flow: usize) {
    if flow >= counts.len() {
        counts.resize(flow + 1, 0);
    }
    counts[flow] += 1;
}
