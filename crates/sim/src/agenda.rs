//! Who wants to be woken next.
//!
//! Everything in a run that acts by itself has one slot: a port, a queue's timer, a flow, the recorder. A slot
//! holds one time, [`Time::NEVER`] when there is nothing to do. There is no queue of events; each element says
//! when it next wants to be woken, and may change its mind.
//!
//! The order of things that happen at one time is the order of the slots, and so does not depend on what
//! happened before.
//!
//! The trick: a tournament tree. Its leaves are the slots, and each inner node names the earlier of its two
//! children (the left one on a tie), so that the next slot is at the root and a change costs one comparison a
//! level.

use sojourn_units::Time;

/// Slots and their times.
#[derive(Clone, Debug)]
pub struct Agenda {
    times: Vec<u64>,
    /// Winner of each inner node; node 1 is the root, the children of `n` are `2n` and `2n + 1`.
    winners: Vec<u32>,
    leaves: usize,
}

const NEVER: u64 = u64::MAX;

impl Agenda {
    /// So many slots, all asleep.
    pub fn new(slots: usize) -> Self {
        let leaves = slots.max(2).next_power_of_two();
        let mut winners = vec![0; leaves];
        for node in (1..leaves).rev() {
            winners[node] =
                if 2 * node >= leaves { (2 * node - leaves) as u32 } else { winners[2 * node] };
        }
        Self { times: vec![NEVER; leaves], winners, leaves }
    }

    /// When a slot wants to be woken.
    #[inline]
    pub fn time(&self, slot: usize) -> Time {
        Time::from_nanos(self.times[slot])
    }

    /// The slot that is next, and when. [`Time::NEVER`] when all are asleep.
    #[inline]
    pub fn next(&self) -> (Time, usize) {
        let slot = self.winners[1] as usize;
        (Time::from_nanos(self.times[slot]), slot)
    }

    /// The earlier of two slots, of which `left` has the smaller number.
    #[inline]
    fn earlier(&self, left: u32, right: u32) -> u32 {
        if self.times[right as usize] < self.times[left as usize] { right } else { left }
    }

    /// Sets when a slot wants to be woken.
    #[inline]
    pub fn set(&mut self, slot: usize, at: Time) {
        let at = at.as_nanos();
        if self.times[slot] == at {
            return;
        }
        self.times[slot] = at;
        let mut node = (slot + self.leaves) >> 1;
        let pair = (slot & !1) as u32;
        let mut winner = self.earlier(pair, pair + 1);
        loop {
            let before = core::mem::replace(&mut self.winners[node], winner);
            // Above here nothing changes if neither the winner is another nor its time.
            if node == 1 || (before == winner && winner as usize != slot) {
                return;
            }
            let (left, right) = (self.winners[node & !1], self.winners[node | 1]);
            winner = self.earlier(left, right);
            node >>= 1;
        }
    }

    /// Makes a slot wake no later than `at`.
    #[inline]
    pub fn no_later_than(&mut self, slot: usize, at: Time) {
        if at.as_nanos() < self.times[slot] {
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
        for slots in [1, 2, 3, 7, 8, 33] {
            let (mut a, mut plain) = (Agenda::new(slots), vec![NEVER; slots]);
            for _ in 0..10_000 {
                let slot = random.below(slots as u64) as usize;
                let at = if random.below(4) == 0 { NEVER } else { random.below(50) };
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
