//! Segments that have come out of order.
//!
//! Invariant: the ranges are in order, do not touch, and hold nothing below the next segment wanted.

use crate::segment::{Block, Seq, before};

/// What an out-of-order segment was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arrival {
    /// Held already, in this range.
    Duplicate(Block),
    /// New; the range that it is now part of.
    New(Block),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Reassembly {
    ranges: Vec<Block>,
    held: u32,
}

impl Reassembly {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Segments held.
    pub(super) fn held(&self) -> u32 {
        self.held
    }

    /// One past the last segment held.
    pub(super) fn end(&self) -> Option<Seq> {
        self.ranges.last().map(|range| range.end)
    }

    /// Takes in a segment above the next one wanted.
    pub(super) fn insert(&mut self, seq: Seq) -> Arrival {
        // Most come at the end: look from there. `at` is the number of ranges that begin at or before `seq`.
        let at = self.ranges.iter().rposition(|r| !before(seq, r.start)).map_or(0, |i| i + 1);
        if at > 0 && before(seq, self.ranges[at - 1].end) {
            return Arrival::Duplicate(self.ranges[at - 1]);
        }
        self.held += 1;
        let joins_left = at > 0 && self.ranges[at - 1].end == seq;
        let end = seq.wrapping_add(1);
        let joins_right = self.ranges.get(at).is_some_and(|r| r.start == end);
        let index = match (joins_left, joins_right) {
            (true, true) => {
                self.ranges[at - 1].end = self.ranges.remove(at).end;
                at - 1
            }
            (true, false) => {
                self.ranges[at - 1].end = end;
                at - 1
            }
            (false, true) => {
                self.ranges[at].start = seq;
                at
            }
            (false, false) => {
                self.ranges.insert(at, Block { start: seq, end });
                at
            }
        };
        Arrival::New(self.ranges[index])
    }

    /// All below `next` has come: gives up what follows without a gap and returns where the next gap begins.
    pub(super) fn take_from(&mut self, next: Seq) -> Seq {
        match self.ranges.first() {
            Some(first) if first.start == next => {
                let range = self.ranges.remove(0);
                self.held -= range.end.wrapping_sub(range.start);
                range.end
            }
            _ => next,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn ranges_join_when_the_gap_between_them_is_filled() {
        let mut r = Reassembly::default();
        assert_eq!(r.insert(5), Arrival::New(Block { start: 5, end: 6 }));
        assert_eq!(r.insert(7), Arrival::New(Block { start: 7, end: 8 }));
        assert_eq!(r.insert(6), Arrival::New(Block { start: 5, end: 8 }));
        assert_eq!(r.insert(6), Arrival::Duplicate(Block { start: 5, end: 8 }));
        assert_eq!(r.take_from(4), 4);
        assert_eq!(r.take_from(5), 8);
        assert!(r.is_empty() && r.held() == 0);
    }

    proptest! {
        /// A set of numbers does the same, slowly.
        #[test]
        fn as_a_plain_set(seqs in proptest::collection::vec(1_u32..60, 0..120)) {
            let (mut r, mut set) = (Reassembly::default(), BTreeSet::new());
            for s in seqs {
                let duplicate = matches!(r.insert(s), Arrival::Duplicate(_));
                prop_assert_eq!(duplicate, !set.insert(s));
                let count: u32 = r.ranges.iter().map(|b| b.end - b.start).sum();
                prop_assert_eq!(count, set.len() as u32);
                prop_assert_eq!(count, r.held());
                prop_assert!(r.ranges.windows(2).all(|w| w[0].end < w[1].start));
            }
        }
    }
}
