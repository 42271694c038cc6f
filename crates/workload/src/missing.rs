//! The datagrams that a receiver takes for lost by their numbers: those that have not come although a number of later
//! ones have. It needs no word from the sender, and counts nothing that is merely on its way.

use std::collections::VecDeque;

/// This number of datagrams may overtake one before it counts as lost.
const REORDERING: usize = 64;

/// Counts what is missing. Numbers begin at 0.
#[derive(Clone, Debug, Default)]
pub struct Missing {
    /// Whether the last of those below `highest` have come.
    seen: VecDeque<bool>,
    /// One past the highest number that has come.
    highest: u32,
    lost: u64,
}

impl Missing {
    /// A datagram has come.
    pub fn arrived(&mut self, number: u32) {
        while self.highest <= number {
            self.seen.push_back(false);
            self.highest += 1;
            if self.seen.len() > REORDERING && self.seen.pop_front() == Some(false) {
                self.lost += 1;
            }
        }
        let behind = (self.highest - number) as usize;
        if let Some(place) = self.seen.len().checked_sub(behind) {
            self.seen[place] = true;
        }
    }

    /// Datagrams that have not come while 64 later ones were sent and seen to be.
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// Of how many datagrams it is settled whether they have come.
    pub fn settled(&self) -> u32 {
        self.highest - self.seen.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 3 is missing and 5 comes late. After 66, sixty-three have followed 3; with 67 it is given up.
    #[test]
    fn what_sixty_four_have_overtaken_is_lost() {
        let mut missing = Missing::default();
        for number in [0, 1, 2, 4].into_iter().chain(6..=66).chain([5]) {
            missing.arrived(number);
        }
        assert_eq!((missing.lost(), missing.settled()), (0, 3));
        missing.arrived(67);
        assert_eq!((missing.lost(), missing.settled()), (1, 4));
        // It came after all, and was lost nevertheless; copies change nothing.
        missing.arrived(3);
        missing.arrived(67);
        assert_eq!((missing.lost(), missing.settled()), (1, 4));
        // Nothing of 68 to 99 comes: when 100 does, 36 and lower are settled, when 163 does, all of them.
        missing.arrived(100);
        assert_eq!((missing.lost(), missing.settled()), (1, 37));
        for number in 101..=163 {
            missing.arrived(number);
        }
        assert_eq!((missing.lost(), missing.settled()), (33, 100));
    }
}
