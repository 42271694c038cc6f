//! The packets of a delay line that leave in the order in which they came, each with its time.

use crate::Packet;
use crate::packet::fetch;
use sojourn_units::Time;
use std::collections::VecDeque;

/// Packets in the order of their times. Each time is stored next to the packet's handle: asking for the next departure
/// touches no packet, which after the whole delay would no longer be in the cache.
#[derive(Clone, Debug)]
pub(super) struct Line<P> {
    packets: VecDeque<(Time, P)>,
    bytes: u64,
}

impl<P: Packet> Line<P> {
    /// Without packets.
    pub(super) const fn new() -> Self {
        Self { packets: VecDeque::new(), bytes: 0 }
    }

    /// Takes a packet that leaves at `at`, no earlier than the last one. That is its stamp, too.
    #[inline]
    pub(super) fn push(&mut self, at: Time, mut packet: P) {
        packet.set_stamp(at);
        self.bytes += u64::from(packet.wire_len());
        self.packets.push_back((at, packet));
    }

    /// When the first leaves.
    #[inline]
    pub(super) fn first(&self) -> Option<Time> {
        self.packets.front().map(|first| first.0)
    }

    /// The first packet.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<P> {
        let (_, packet) = self.packets.pop_front()?;
        if let Some((_, next)) = self.packets.front() {
            fetch(next);
        }
        self.bytes -= u64::from(packet.wire_len());
        Some(packet)
    }

    /// Whether there is none.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// How many there are.
    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.packets.len() as u32
    }

    /// Their bytes.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }
}
