//! Where the packets of a plugin's queue lie, each under a handle.
//!
//! Invariant: a handle is taken once. It has the packet's place and its number of arrival, so that one that was used before
//! is not taken for another packet's.

use sojourn_qdisc::{Backlog, Packet};

#[derive(Clone, Debug)]
pub(crate) struct Slab<P> {
    /// Number of arrival and packet; no packet where the place is free.
    places: Vec<(u32, Option<P>)>,
    free: Vec<u32>,
    /// The number of the next arrival.
    next: u32,
    bytes: u64,
}

impl<P: Packet> Slab<P> {
    pub(crate) const fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new(), next: 0, bytes: 0 }
    }

    /// Keeps a packet of `wire_len` bytes.
    #[inline]
    pub(crate) fn insert(&mut self, packet: P, wire_len: u32) -> u64 {
        let arrival = self.next;
        self.next = arrival.wrapping_add(1);
        self.bytes += u64::from(wire_len);
        let place = if let Some(place) = self.free.pop() {
            self.places[place as usize] = (arrival, Some(packet));
            place
        } else {
            self.places.push((arrival, Some(packet)));
            (self.places.len() - 1) as u32
        };
        u64::from(arrival) << 32 | u64::from(place)
    }

    /// The packet of this handle, if it is here.
    #[inline]
    pub(crate) fn get_mut(&mut self, handle: u64) -> Option<&mut P> {
        let (arrival, packet) = self.places.get_mut(handle as u32 as usize)?;
        if u64::from(*arrival) == handle >> 32 { packet.as_mut() } else { None }
    }

    /// The packet of this handle, which leaves.
    #[inline]
    pub(crate) fn take(&mut self, handle: u64) -> Option<P> {
        let place = handle as u32;
        let (arrival, packet) = self.places.get_mut(place as usize)?;
        if u64::from(*arrival) != handle >> 32 {
            return None;
        }
        let packet = packet.take()?;
        self.free.push(place);
        self.bytes -= u64::from(packet.wire_len());
        Some(packet)
    }

    /// All packets, in the order in which they came.
    pub(crate) fn take_all(&mut self) -> Vec<P> {
        let now = self.next;
        let mut held: Vec<(u32, P)> = core::mem::take(&mut self.places)
            .into_iter()
            .filter_map(|(arrival, packet)| Some((now.wrapping_sub(arrival), packet?)))
            .collect();
        self.free.clear();
        self.bytes = 0;
        // The oldest is the farthest from now.
        held.sort_unstable_by_key(|&(age, _)| core::cmp::Reverse(age));
        held.into_iter().map(|(_, packet)| packet).collect()
    }

    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        Backlog { packets: (self.places.len() - self.free.len()) as u32, bytes: self.bytes }
    }
}
