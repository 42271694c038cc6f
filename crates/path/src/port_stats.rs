//! What a port counts: every drop and mark with its reason, and the time that packets spent in it; and what it gives back to
//! sockets, if it is a device of theirs.
//!
//! Invariant: `entered = left + dropped + held` at all times, where the port's discipline knows what is held.

use crate::packet::{PathPacket, SkbCharge};
#[cfg(debug_assertions)]
use sojourn_qdisc::Backlog;
use sojourn_qdisc::{Class, Packet, Reason, Telemetry};
use sojourn_units::{Span, Time};
use std::collections::VecDeque;

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

    /// Returns the values so far, and starts over.
    pub fn take(&mut self) -> Self {
        core::mem::take(self)
    }
}

/// What was done for one reason.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Signals {
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked CE.
    pub marks: u64,
    /// Packets marked SCE, ECT(0) to ECT(1).
    pub sce_marks: u64,
}

/// A port's counts since the beginning.
#[derive(Clone, Debug, Default)]
pub struct PortStats {
    signals: [Signals; Reason::BUILT_IN.len()],
    /// Of reasons that disciplines from outside give, in the order in which they first came.
    custom: Vec<(&'static str, Signals)>,
    drops_by_flow: Vec<u64>,
    copies_by_flow: Vec<u64>,
    marked_not_ect: u64,
    /// The class of the packet that left last, until somebody asks.
    class: Option<&'static Class>,
    /// What goes back to sockets, and when, if the port is their host's NIC; in order of time.
    completions: Option<VecDeque<(Time, SkbCharge)>>,
    /// Packets taken, copies made here included.
    pub entered: u64,
    /// Packets that left.
    pub left: u64,
    /// Bytes that left.
    pub left_bytes: u64,
    #[cfg(debug_assertions)]
    books: Books,
}

/// Bytes, where assertions are on: the counts of packets in release builds are checked by their lengths there.
#[cfg(debug_assertions)]
#[derive(Clone, Copy, Default, Debug)]
struct Books {
    entered: u64,
    dropped: u64,
}

impl PortStats {
    /// Every reason there is and what was done for it: those of [`Reason::BUILT_IN`], in their order, then those of
    /// disciplines from outside, in the order in which they first came. A reason keeps its place.
    pub fn signals(&self) -> impl Iterator<Item = (Reason, Signals)> + '_ {
        let custom = self.custom.iter().map(|&(name, signals)| (Reason::Custom(name), signals));
        Reason::BUILT_IN.iter().copied().zip(self.signals).chain(custom)
    }

    fn of(&self, reason: Reason) -> Signals {
        match reason.index() {
            Some(index) => self.signals[index],
            None => self.signals().find(|s| s.0 == reason).map_or_else(Signals::default, |s| s.1),
        }
    }

    #[inline]
    fn of_mut(&mut self, reason: Reason) -> &mut Signals {
        match reason.index() {
            Some(index) => &mut self.signals[index],
            None => self.custom_mut(reason.name()),
        }
    }

    #[inline(never)]
    fn custom_mut(&mut self, name: &'static str) -> &mut Signals {
        let known = self.custom.iter().position(|c| c.0 == name);
        let place = known.unwrap_or_else(|| {
            self.custom.push((name, Signals::default()));
            self.custom.len() - 1
        });
        &mut self.custom[place].1
    }

    /// Drops for this reason.
    pub fn drops(&self, reason: Reason) -> u64 {
        self.of(reason).drops
    }

    /// Marks for this reason.
    pub fn marks(&self, reason: Reason) -> u64 {
        self.of(reason).marks
    }

    /// SCE marks, ECT(0) to ECT(1), for this reason.
    pub fn sce_marks(&self, reason: Reason) -> u64 {
        self.of(reason).sce_marks
    }

    /// Drops for any reason.
    pub fn all_drops(&self) -> u64 {
        self.signals().map(|s| s.1.drops).sum()
    }

    /// Marks for any reason.
    pub fn all_marks(&self) -> u64 {
        self.signals().map(|s| s.1.marks).sum()
    }

    /// SCE marks for any reason.
    pub fn all_sce_marks(&self) -> u64 {
        self.signals().map(|s| s.1.sce_marks).sum()
    }

    /// Drops of one flow's packets.
    pub fn drops_of(&self, flow: usize) -> u64 {
        self.drops_by_flow.get(flow).copied().unwrap_or(0)
    }

    /// Copies made here of one flow's packets.
    pub fn copies_of(&self, flow: usize) -> u64 {
        self.copies_by_flow.get(flow).copied().unwrap_or(0)
    }

    /// From now on what the port is done with goes back to sockets.
    pub(crate) fn report_completions(&mut self) {
        self.completions.get_or_insert_default();
    }

    /// Whether it does.
    pub(crate) const fn reports_completions(&self) -> bool {
        self.completions.is_some()
    }

    /// The port is, or will be, done at `at` with a packet that this is the charge of.
    pub(crate) fn done_with(&mut self, at: Time, charge: Option<SkbCharge>) {
        if let Some(completions) = &mut self.completions
            && let Some(charge) = charge
        {
            let place = completions.partition_point(|r| r.0 <= at);
            completions.insert(place, (at, charge));
        }
    }

    /// Counts a packet of `bytes` bytes that enters.
    #[inline(always)]
    pub(crate) fn count_entered(&mut self, bytes: u32) {
        self.entered += 1;
        #[cfg(debug_assertions)]
        {
            self.books.entered += u64::from(bytes);
        }
        #[cfg(not(debug_assertions))]
        let _ = bytes;
    }

    /// That what entered has left, was dropped or is held, in packets and in bytes.
    #[cfg(debug_assertions)]
    pub(crate) fn balance(&self, held: Backlog) -> bool {
        self.entered == self.left + self.all_drops() + u64::from(held.packets)
            && self.books.entered == self.left_bytes + self.books.dropped + held.bytes
    }

    /// What goes back to a socket by now.
    pub(crate) fn take_completion(&mut self, now: Time) -> Option<SkbCharge> {
        let completions = self.completions.as_mut()?;
        if completions.front()?.0 > now {
            return None;
        }
        completions.pop_front().map(|r| r.1)
    }

    /// When something goes back next.
    pub(crate) fn next_completion(&self) -> Time {
        let next = self.completions.as_ref().and_then(VecDeque::front);
        next.map_or(Time::NEVER, |r| r.0)
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

impl<P: PathPacket + Packet> Telemetry<P> for PortStats {
    fn dropped(&mut self, now: Time, packet: P, reason: Reason) {
        // Of what a wireless device gives up it has said so at the end of the last exchange.
        if !matches!(reason, Reason::Retries) {
            self.done_with(now, packet.charge());
        }
        #[cfg(debug_assertions)]
        {
            self.books.dropped += u64::from(packet.wire_len());
        }
        self.of_mut(reason).drops += 1;
        count(&mut self.drops_by_flow, packet.flow());
    }

    fn marked(&mut self, _now: Time, packet: &P, reason: Reason) {
        self.of_mut(reason).marks += 1;
        self.marked_not_ect += u64::from(packet.ecn() != sojourn_units::Ecn::Ce);
    }

    fn sce_marked(&mut self, _now: Time, packet: &P, reason: Reason) {
        self.of_mut(reason).sce_marks += 1;
        self.marked_not_ect += u64::from(packet.ecn() != sojourn_units::Ecn::Ect1);
    }

    #[inline]
    fn leaves(&mut self, class: &'static Class) {
        self.class = Some(class);
    }

    fn duplicated(&mut self, _now: Time, packet: &P) {
        self.count_entered(packet.wire_len());
        count(&mut self.copies_by_flow, packet.flow());
    }
}

fn count(counts: &mut Vec<u64>, flow: usize) {
    if flow >= counts.len() {
        counts.resize(flow + 1, 0);
    }
    counts[flow] += 1;
}
