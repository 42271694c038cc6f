//! Who wants to be woken next.
//!
//! Everything in a run that acts by itself has one slot: a port, a queue's timer, a flow, the recorder. A slot
//! holds one time, [`Time::NEVER`] when there is nothing to do. There is no queue of events; each element says
//! when it next wants to be woken, and may change its mind.
//!
//! The order of things that happen at one time is the order of the slots, and so does not depend on what
//! happened before.
//!
//! The tricks. A run of few ports has few slots: whenever one changes its mind, those of its group are compared with each
//! other in pairs, and then the groups. With many slots, as flows have, that is a tournament tree which stays. Its leaves are the
//! slots, and each inner node has the earlier of its two children (the left one on a tie), so that the next slot is at
//! the root and a change is handed up one level after another. A time and its slot are one number with the same order:
//! so the comparison needs no branch, which for pacing timers no processor could predict.

use sojourn_units::Time;

/// Slots and their times.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Agenda {
    /// When each slot wants to be woken.
    times: Vec<Time>,
    /// The slot that is next, and when.
    next: (Time, usize),
    /// Each slot's key, if there are few.
    few: [u64; FEW],
    /// The lowest of each group of them.
    groups: [u64; FEW / GROUP],
    /// Node 1 is the root, the children of `n` are `2n` and `2n + 1`, the last half are the slots. Empty if there are few.
    nodes: Vec<u128>,
}

/// Up to this number of slots are compared in pairs.
const FEW: usize = 16;
/// Slots that are compared among themselves.
const GROUP: usize = 4;
/// All times later than 36 years are alike to them: no run is that long.
const LATEST: u64 = u64::MAX / FEW as u64;
const SLOT_BITS: u32 = 64;

/// A time and who has it, to be compared.
#[inline]
fn key(at: Time, slot: usize) -> u128 {
    u128::from(at.as_nanos()) << SLOT_BITS | slot as u128
}

/// The same of few.
#[inline]
fn short_key(at: Time, slot: usize) -> u64 {
    (at.as_nanos().min(LATEST) * FEW as u64) | slot as u64
}

impl Agenda {
    /// An agenda of `slots` slots, all asleep.
    pub fn new(slots: usize) -> Self {
        let mut nodes = Vec::new();
        if slots > FEW {
            let leaves = slots.next_power_of_two();
            nodes = vec![u128::MAX; leaves];
            nodes.extend((0..leaves).map(|slot| key(Time::NEVER, slot)));
            for node in (1..leaves).rev() {
                nodes[node] = nodes[2 * node];
            }
        }
        let few = core::array::from_fn(|slot| short_key(Time::NEVER, slot));
        let groups = core::array::from_fn(|group| few[group * GROUP]);
        Self { times: vec![Time::NEVER; slots], next: (Time::NEVER, 0), few, groups, nodes }
    }

    /// When a slot wants to be woken.
    #[inline]
    pub fn time(&self, slot: usize) -> Time {
        self.times[slot]
    }

    /// The slot that is next, and when. [`Time::NEVER`] when all are asleep.
    #[inline]
    pub fn next(&self) -> (Time, usize) {
        self.next
    }

    /// Sets when a slot wants to be woken.
    #[inline]
    pub fn set(&mut self, slot: usize, at: Time) {
        let before = core::mem::replace(&mut self.times[slot], at);
        if before == at {
            return;
        }
        if !self.nodes.is_empty() {
            return self.hand_up(slot, at);
        }
        self.few[slot % FEW] = short_key(at, slot);
        let group = slot % FEW / GROUP;
        let i = group * GROUP;
        let few = &self.few;
        self.groups[group] = few[i].min(few[i + 1]).min(few[i + 2].min(few[i + 3]));
        let [a, b, c, d] = self.groups;
        let slot = a.min(b).min(c.min(d)) as usize % FEW;
        // A slot that is none is not first: its number is higher than all others'.
        self.next = (self.times[slot], slot);
    }

    /// Tells the tree of a slot's time.
    #[inline(never)]
    fn hand_up(&mut self, slot: usize, at: Time) {
        let nodes = &mut self.nodes[..];
        let mut node = nodes.len() / 2 + slot;
        let mut winner = key(at, slot);
        nodes[node] = winner;
        while node > 1 {
            winner = winner.min(nodes[node ^ 1]);
            node >>= 1;
            if nodes[node] == winner {
                return;
            }
            nodes[node] = winner;
        }
        self.next = (Time::from_nanos((winner >> SLOT_BITS) as u64), winner as u64 as usize);
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
        for slots in [1, 2, 3, 7, 8, 16, 17, 33, 70] {
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
