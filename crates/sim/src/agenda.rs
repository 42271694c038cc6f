//! Who wants to be woken next.
//!
//! Everything in a run that acts by itself has one slot: a port, a queue's timer, a flow, the recorder. A slot
//! holds one time, [`Time::NEVER`] when there is nothing to do. There is no queue of events; each element says
//! when it next wants to be woken, and may change its mind.
//!
//! The order of things that happen at one time is the order of the slots, and so does not depend on what
//! happened before.
//!
//! The trick: a tournament tree. Its leaves are the slots, and each inner node has the earlier of its two children (the
//! left one on a tie), so that the next slot is at the root and a change is handed up one level after another. A node
//! holds time and slot as one number, whose order is theirs: the others on the way up are loaded before it is known who
//! wins, and who wins is no branch, which for pacing timers no processor could predict.

use sojourn_units::Time;

/// Slots and their times.
#[derive(Clone, Debug)]
pub struct Agenda {
    /// Node 1 is the root, the children of `n` are `2n` and `2n + 1`, the last half are the slots.
    nodes: Vec<u128>,
    leaves: usize,
    /// Whether there are so many levels that it is better to stop where nothing changes.
    deep: bool,
}

/// Up to so many leaves a change goes to the root: five levels cost less than a wrong guess.
const SHALLOW: usize = 32;
const SLOT_BITS: u32 = 64;

/// A time and who has it, to be compared.
#[inline]
fn key(at: Time, slot: usize) -> u128 {
    u128::from(at.as_nanos()) << SLOT_BITS | slot as u128
}

#[inline]
fn time_of(key: u128) -> Time {
    Time::from_nanos((key >> SLOT_BITS) as u64)
}

impl Agenda {
    /// So many slots, all asleep.
    pub fn new(slots: usize) -> Self {
        let leaves = slots.max(2).next_power_of_two();
        let mut nodes = vec![u128::MAX; leaves];
        nodes.extend((0..leaves).map(|slot| key(Time::NEVER, slot)));
        for node in (1..leaves).rev() {
            nodes[node] = nodes[2 * node];
        }
        Self { nodes, leaves, deep: leaves > SHALLOW }
    }

    /// When a slot wants to be woken.
    #[inline]
    pub fn time(&self, slot: usize) -> Time {
        time_of(self.nodes[self.leaves + slot])
    }

    /// The slot that is next, and when. [`Time::NEVER`] when all are asleep.
    #[inline]
    pub fn next(&self) -> (Time, usize) {
        let root = self.nodes[1];
        (time_of(root), root as u64 as usize)
    }

    /// Sets when a slot wants to be woken.
    #[inline]
    pub fn set(&mut self, slot: usize, at: Time) {
        let mut node = self.leaves + slot;
        let mut winner = key(at, slot);
        if self.nodes[node] == winner {
            return;
        }
        self.nodes[node] = winner;
        while node > 1 {
            winner = winner.min(self.nodes[node ^ 1]);
            node >>= 1;
            if self.deep && self.nodes[node] == winner {
                return;
            }
            self.nodes[node] = winner;
        }
    }

    /// Makes a slot wake no later than `at`.
    #[inline]
    pub fn no_later_than(&mut self, slot: usize, at: Time) {
        if at < self.time(slot) {
            self.set(slot, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_units::Random;

    #[test]
    fn at_one_time_the_lower_slot_acts_first() {
        let mut a = Agenda::new(5);
        assert!(a.next().0.is_never());
        for slot in [4, 2, 3] {
            a.set(slot, Time::from_secs(1));
        }
        assert_eq!(a.next(), (Time::from_secs(1), 2));
        a.set(2, Time::NEVER);
        assert_eq!(a.next(), (Time::from_secs(1), 3));
        a.no_later_than(4, Time::from_millis(1));
        assert_eq!(a.next(), (Time::from_millis(1), 4));
        a.no_later_than(4, Time::from_secs(9));
        assert_eq!(a.time(4), Time::from_millis(1));
    }

    /// The same as looking through all slots, for every size and ten thousand random changes.
    #[test]
    fn as_looking_through_all_slots() {
        let mut random = Random::named(1, "agenda");
        for slots in [1, 2, 3, 7, 8, 33, 70] {
            let (mut a, mut plain) = (Agenda::new(slots), vec![u64::MAX; slots]);
            for _ in 0..10_000 {
                let slot = random.below(slots as u64) as usize;
                let at = if random.below(4) == 0 { u64::MAX } else { random.below(50) };
                a.set(slot, Time::from_nanos(at));
                plain[slot] = at;
                let best = (0..slots).min_by_key(|&s| (plain[s], s)).unwrap();
                let (time, next) = a.next();
                assert_eq!(time.as_nanos(), plain[best]);
                assert!(next == best || time.is_never());
            }
        }
    }
}
