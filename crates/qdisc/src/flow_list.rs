//! Lists of queues that take turns, for `fq_codel` and `fq_pie` (RFC 8290 §4.2): chained through the queues by index, so
//! that nothing is allocated and a queue is on one list at most.

use sojourn_units::random::mix;

/// The end of a list.
const NONE: u32 = u32::MAX;
/// The mark of a queue that is on none.
pub(crate) const UNLISTED: u32 = u32::MAX - 1;

/// A queue that can be on a list.
pub(crate) trait Listed {
    /// The next queue on the list, or [`UNLISTED`].
    fn next(&mut self) -> &mut u32;
}

/// Queues in the order of their turns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowList {
    pub(crate) head: u32,
    tail: u32,
    pub(crate) len: u32,
}

impl FlowList {
    pub(crate) const EMPTY: Self = Self { head: NONE, tail: NONE, len: 0 };

    #[inline]
    pub(crate) fn push<F: Listed>(&mut self, slot: u32, flows: &mut [F]) {
        *flows[slot as usize].next() = NONE;
        if self.len == 0 {
            self.head = slot;
        } else {
            *flows[self.tail as usize].next() = slot;
        }
        self.tail = slot;
        self.len += 1;
    }

    #[inline]
    pub(crate) fn pop<F: Listed>(&mut self, flows: &mut [F]) {
        self.head = *flows[self.head as usize].next();
        self.len -= 1;
    }
}

/// Which of `flows` queues a flow is hashed to (`reciprocal_scale` of a hash that `perturbation` keys).
#[inline]
pub(crate) fn slot(flow_key: u64, perturbation: u64, flows: u32) -> u32 {
    let hash = mix(flow_key ^ perturbation) >> 32;
    ((hash * u64::from(flows)) >> 32) as u32
}
