//! Which acknowledgement of a queue the one that has just come makes superfluous.
//!
//! Source: Linux 5.4 to 7.3, `net/sched/sch_cake.c` (`cake_ack_filter`, `cake_tcph_may_drop`, `cake_tcph_sack_compare`).
//!
//! An acknowledgement is superfluous if the last one of the queue, of the same connection, acknowledges or SACKs
//! more, is not older by either timestamp, and nothing else would be lost with it: no flag, no option, no change of
//! ECE or CWR. The first such one goes when a second is found (`ack-filter`), so that of a run two stay; or when it is
//! alone and right before the last, with the same flags (`ack-filter-aggressive`).
//!
//! Invariant: at most one goes for each that comes, and never the last.
//!
//! One thing differs from Linux: a data segment carries no acknowledgement number here, so that it makes none
//! superfluous.

use crate::{Acknowledgement, Packet};
use core::cmp::Ordering;
use std::collections::VecDeque;

/// Which acknowledgements are dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AckFilter {
    /// None.
    Off,
    /// All but two of a run.
    Moderate,
    /// All but one of a run.
    Aggressive,
}

impl AckFilter {
    /// tc's words, in the order of the variants.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Off => "no-ack-filter",
            Self::Moderate => "ack-filter",
            Self::Aggressive => "ack-filter-aggressive",
        }
    }

    /// The place of the packet that the last of `packets` makes superfluous.
    pub(super) fn superfluous<P: Packet>(self, packets: &VecDeque<P>) -> Option<usize> {
        let last = packets.len().checked_sub(1).filter(|last| *last > 0)?;
        let key = packets[last].flow_key();
        let newest = packets[last].acknowledgement()?;
        let flags = |a: &Acknowledgement| (a.cwr, a.ece);
        let mut eligible = None;
        let mut found = 0;
        for (place, packet) in packets.iter().enumerate().take(last) {
            if packet.flow_key() != key {
                continue;
            }
            let Some(older) = packet.acknowledgement() else { continue };
            // The flags changed: the packet found first only shows that the former kind was there.
            if eligible.is_some_and(|(_, before)| before != flags(&older)) {
                eligible = None;
                found -= 1;
            }
            if !is_covered(&older, &newest) {
                continue;
            }
            let (first, _) = *eligible.get_or_insert((place, flags(&older)));
            if found > 0 {
                return Some(first);
            }
            found += 1;
        }
        let (place, before) = eligible?;
        let is_alone = self == Self::Aggressive && place + 1 == last && before == flags(&newest);
        is_alone.then_some(place)
    }
}

/// Whether `a` comes after `b`, modulo 2^32.
const fn is_after(a: u32, b: u32) -> bool {
    b.wrapping_sub(a).cast_signed() < 0
}

/// Whether `newest` says all that `older` does, and more.
fn is_covered(older: &Acknowledgement, newest: &Acknowledgement) -> bool {
    if !older.is_plain
        || is_after(older.timestamps.0, newest.timestamps.0)
        || is_after(older.timestamps.1, newest.timestamps.1)
        || is_after(older.ack, newest.ack)
    {
        return false;
    }
    match compare_sack(older, newest) {
        Ordering::Less => false,
        Ordering::Equal => older.ack != newest.ack,
        Ordering::Greater => true,
    }
}

/// Whether `newest` SACKs more than `older` (greater), the same, or not all of it (less). A block of `older` below what it
/// acknowledges tells of a duplicate, which is never all.
fn compare_sack(older: &Acknowledgement, newest: &Acknowledgement) -> Ordering {
    let blocks = |a: &Acknowledgement| usize::from(a.blocks);
    let (of_older, of_newest) = (&older.sack[..blocks(older)], &newest.sack[..blocks(newest)]);
    match (of_older.is_empty(), of_newest.is_empty()) {
        (false, true) => return Ordering::Less,
        (true, false) => return Ordering::Greater,
        (true, true) => return Ordering::Equal,
        (false, false) => {}
    }
    let is_within = |(start, end): (u32, u32)| {
        of_newest.iter().any(|outer| !is_after(outer.0, start) && !is_after(end, outer.1))
    };
    if of_older.iter().any(|block| is_after(older.ack, block.0) || !is_within(*block)) {
        return Ordering::Less;
    }
    let size = |blocks: &[(u32, u32)]| {
        blocks.iter().fold(0_u32, |sum, (start, end)| sum.wrapping_add(end.wrapping_sub(*start)))
    };
    if size(of_newest) > size(of_older) { Ordering::Greater } else { Ordering::Equal }
}
