//! What every discipline counts, and the plain queue that most of them keep.

use crate::{Backlog, Context, Packet, Reason, Stats, Telemetry};
use sojourn_units::{Ecn, Time};
use std::collections::VecDeque;

/// The counters of tc's first line.
#[derive(Clone, Copy, Default, Debug)]
pub struct QdiscCounters {
    bytes: u64,
    packets: u64,
    dropped: u64,
    overlimits: u64,
}

impl QdiscCounters {
    /// A packet of `len` bytes leaves.
    #[inline]
    pub const fn sent(&mut self, len: u32) {
        self.bytes += len as u64;
        self.packets += 1;
    }

    /// A limit was hit, for a discipline that reports it so.
    #[inline]
    pub const fn over_limit(&mut self) {
        self.overlimits += 1;
    }

    /// Counts a drop and hands the packet to the telemetry.
    #[inline]
    pub fn drop<P, T: Telemetry<P>>(
        &mut self,
        now: Time,
        packet: P,
        reason: Reason,
        cx: &mut Context<'_, T>,
    ) {
        self.dropped += 1;
        cx.telemetry.dropped(now, packet, reason);
    }

    /// What [`crate::Qdisc::stats`] reports: these counters, what is held, and the discipline's own in its table's order.
    pub fn stats(&self, backlog: Backlog, own: Vec<(&'static str, f64)>) -> Stats {
        let Self { bytes, packets, dropped, overlimits } = *self;
        Stats { bytes, packets, dropped, overlimits, backlog, own }
    }
}

/// Marks `packet` if it is ECN-capable and says whether it now is CE, as `INET_ECN_set_ce` does. A packet that
/// was CE already counts as marked to the caller, as in the kernel, but is no news to the telemetry.
#[inline]
pub fn mark<P: Packet, T: Telemetry<P>>(
    now: Time,
    packet: &mut P,
    reason: Reason,
    cx: &mut Context<'_, T>,
) -> bool {
    match packet.ecn() {
        Ecn::NotEct => false,
        Ecn::Ce => true,
        Ecn::Ect0 | Ecn::Ect1 => {
            packet.set_ecn(Ecn::Ce);
            cx.telemetry.marked(now, packet, reason);
            true
        }
    }
}

/// Packets in order of arrival, and how many bytes they are.
#[derive(Clone, Debug)]
pub struct PacketQueue<P> {
    packets: VecDeque<P>,
    bytes: u64,
}

impl<P: Packet> Default for PacketQueue<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Packet> PacketQueue<P> {
    /// An empty queue.
    pub const fn new() -> Self {
        Self { packets: VecDeque::new(), bytes: 0 }
    }

    /// Takes a packet at the tail. It is not stamped: [`Packet::set_stamp`] is the discipline's to call.
    #[inline]
    pub fn push(&mut self, packet: P) {
        self.bytes += u64::from(packet.wire_len());
        self.packets.push_back(packet);
    }

    /// The packet at the head, which leaves.
    #[inline]
    pub fn pop(&mut self) -> Option<P> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.wire_len());
        Some(packet)
    }

    /// Drops from the head until no more than `limit` packets are left.
    pub fn shorten<T: Telemetry<P>>(
        &mut self,
        now: Time,
        limit: u32,
        reason: Reason,
        tally: &mut QdiscCounters,
        cx: &mut Context<'_, T>,
    ) {
        while self.len() > limit {
            let Some(packet) = self.pop() else { return };
            tally.drop(now, packet, reason, cx);
        }
    }

    /// The packet at the head, which stays.
    #[inline]
    pub fn first(&self) -> Option<&P> {
        self.packets.front()
    }

    /// For how long the first packet has waited, from its stamp on; 0 without one.
    pub fn head_delay(&self, now: Time) -> f64 {
        self.first().map_or(0.0, |packet| now.since(packet.stamp()).as_secs_f64())
    }

    /// Whether nothing is held.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Packets held.
    #[inline]
    pub fn len(&self) -> u32 {
        self.packets.len() as u32
    }

    /// Bytes held, as [`Packet::wire_len`] counts them.
    #[inline]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Both.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: self.len(), bytes: self.bytes }
    }
}
