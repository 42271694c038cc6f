//! The anti-replay window of a tunnel's far end.
//!
//! Sources: RFC 4303 §3.4.3 and Linux `net/xfrm/xfrm_replay.c` (ESP: a number `window` or more behind the highest
//! is refused); RFC 6479 and Linux `drivers/net/wireguard/receive.c` (WireGuard: its bitmap of `window` bits gives
//! one word of 64 away, so a number more than `window - 64` behind is refused). A number that was seen is refused
//! by both.
//!
//! Invariant: a number is accepted at most once.

/// What has been seen.
#[derive(Clone, Debug)]
pub struct ReplayWindow {
    /// How far behind the highest a number may be; `None` for no check.
    reach: Option<u64>,
    highest: Option<u64>,
    /// Of each number from `highest - reach` on, at its remainder, whether it was seen.
    seen: Vec<bool>,
}

impl ReplayWindow {
    /// ESP's window of `packets` packets, the highest among them; 0 for no check.
    pub fn esp(packets: u32) -> Self {
        Self::reaching(u64::from(packets).checked_sub(1))
    }

    /// WireGuard's with a bitmap of `bits` bits (8192; 2048 before May 2020); 0 for no check.
    pub fn wireguard(bits: u32) -> Self {
        let reach = (bits > 0).then(|| u64::from(bits.saturating_sub(64)));
        Self::reaching(reach)
    }

    /// No check.
    pub const fn off() -> Self {
        Self { reach: None, highest: None, seen: Vec::new() }
    }

    fn reaching(reach: Option<u64>) -> Self {
        let size = reach.map_or(0, |r| r as usize + 1);
        Self { reach, highest: None, seen: vec![false; size] }
    }

    /// Whether this number is new and not too old; it counts as seen from now on.
    pub fn accept(&mut self, number: u64) -> bool {
        let Some(reach) = self.reach else { return true };
        let slot = |n: u64| (n % (reach + 1)) as usize;
        match self.highest {
            Some(highest) if number <= highest => {
                if highest - number > reach || self.seen[slot(number)] {
                    return false;
                }
            }
            Some(highest) => {
                // Numbers that leave the window make room for unseen ones.
                if number - highest > reach {
                    self.seen.fill(false);
                } else {
                    (highest + 1..number).for_each(|n| self.seen[slot(n)] = false);
                }
                self.highest = Some(number);
            }
            None => self.highest = Some(number),
        }
        self.seen[slot(number)] = true;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The highest is 100: a window of 32 holds 69 to 100.
    #[test]
    fn esp_holds_as_many_as_it_says() {
        for (window, oldest) in [(32, 69), (64, 37), (128, 1)] {
            let mut w = ReplayWindow::esp(window);
            assert!(w.accept(100));
            for n in 1..100 {
                assert_eq!(w.accept(n), n >= oldest, "{n} of {window}");
            }
        }
    }

    #[test]
    fn wireguard_gives_a_word_away() {
        let mut w = ReplayWindow::wireguard(8192);
        assert!(w.accept(10_000));
        // 10 000 - 8128.
        assert!(!w.accept(1_871) && w.accept(1_872));
    }

    #[test]
    fn nothing_is_accepted_twice_and_zero_is_no_check() {
        let mut w = ReplayWindow::esp(1);
        assert!(w.accept(5) && !w.accept(5) && !w.accept(4) && w.accept(6));
        let (mut off, mut esp0) = (ReplayWindow::off(), ReplayWindow::esp(0));
        for n in [3, 3, 1] {
            assert!(off.accept(n) && esp0.accept(n));
        }
    }

    /// Against a set of everything that was accepted.
    #[test]
    fn as_a_set_of_all_numbers() {
        let mut random = sojourn_units::Random::named(1, "replay");
        for window in [1, 2, 32, 64, 100, 4096] {
            let mut w = ReplayWindow::esp(window);
            let mut all = BTreeSet::new();
            let mut base = 5_000;
            for _ in 0..50_000 {
                base += random.below(3);
                if random.below(1000) == 0 {
                    base += random.below(2 * u64::from(window));
                }
                let n = base - random.below(2 * u64::from(window) + 3).min(base);
                let highest = all.last().copied().unwrap_or(0);
                let old = !all.is_empty() && n + u64::from(window) <= highest;
                let expected = !old && !all.contains(&n);
                assert_eq!(w.accept(n), expected, "{n} with {highest} of {window}");
                if expected {
                    all.insert(n);
                }
            }
        }
    }
}
