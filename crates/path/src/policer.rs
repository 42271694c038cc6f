//! A token bucket without a queue: packets above a rate are dropped or marked at once.
//!
//! Source: Linux 5.4 to 7.3, `net/sched/act_police.c` with `rate` and `burst` alone. The bucket starts full; a
//! packet conforms if the bucket holds its bytes and then takes them out; one that does not takes none.
//!
//! The trick: tokens are counted in billionths of a bit: a nanosecond brings exactly `rate` of them, so that nothing is
//! rounded. Lengths are those that queues count.

use crate::PathPacket;
use crate::element::Verdict;
use crate::setup::{FromElement, Setup, Typed};
use sojourn_model::{Kind, PoliceAction, Policer as Settings};
use sojourn_qdisc::Reason;
use sojourn_units::{Ecn, Rate, Time};

/// Billionths of a bit in a byte.
const BYTE: u128 = 8 * 1_000_000_000;

/// The bucket.
#[derive(Clone, Debug)]
pub struct Policer {
    rate: Rate,
    burst: u128,
    exceed: PoliceAction,
    tokens: u128,
    last: Time,
}

impl Policer {
    /// A full bucket.
    pub fn new(settings: &Settings) -> Self {
        let burst = u128::from(settings.burst) * BYTE;
        let (rate, exceed) = (settings.rate, settings.exceed);
        Self { rate, burst, exceed, tokens: burst, last: Time::ZERO }
    }

    fn refill(&mut self, now: Time) {
        let fresh =
            u128::from(now.since(self.last).as_nanos()) * u128::from(self.rate.bits_per_sec());
        self.tokens = (self.tokens + fresh).min(self.burst);
        self.last = now;
    }

    /// Changes the rate; the tokens are kept.
    pub fn set_rate(&mut self, now: Time, rate: Rate) {
        self.refill(now);
        self.rate = rate;
    }

    /// Judges a packet that passes, and marks it where that is the verdict.
    pub fn judge<P: PathPacket>(&mut self, now: Time, packet: &mut P) -> Verdict {
        self.refill(now);
        let cost = u128::from(packet.wire_len()) * BYTE;
        if self.tokens >= cost {
            self.tokens -= cost;
            return Verdict::Passes;
        }
        match (self.exceed, packet.ecn()) {
            (PoliceAction::Mark, Ecn::Ce) => Verdict::Passes,
            (PoliceAction::Mark, Ecn::Ect0 | Ecn::Ect1) => {
                packet.set_ecn(Ecn::Ce);
                Verdict::Marked(Reason::Policer)
            }
            _ => Verdict::Dropped(Reason::Policer),
        }
    }
}

impl FromElement for Policer {
    fn of(setup: &mut Setup<'_>) -> Option<Self> {
        let Kind::Policer(settings) = setup.kind else { return None };
        Some(Self::new(settings))
    }
}

impl Typed for Policer {
    fn pass<P: PathPacket>(&mut self, now: Time, packet: &mut P) -> Verdict {
        self.judge(now, packet)
    }

    fn set_rate(&mut self, now: Time, rate: Rate) -> bool {
        Self::set_rate(self, now, rate);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Walker;
    use Verdict::Passes;

    const MARKED: Verdict = Verdict::Marked(Reason::Policer);
    const DROPPED: Verdict = Verdict::Dropped(Reason::Policer);

    fn policer(exceed: PoliceAction) -> Policer {
        Policer::new(&Settings { rate: Rate::from_mbit(8), burst: 3000, exceed })
    }

    /// 8 Mbit/s is a byte a microsecond. 3000 B let two of 1000 and 1500 through; the 500 left are short of
    /// 1000 for 500 us.
    #[test]
    fn by_hand() {
        let mut p = policer(PoliceAction::Drop);
        let mut at = |us, wire_len| {
            p.judge(Time::from_micros(us), &mut Walker { wire_len, ..Walker::default() })
        };
        assert_eq!([at(0, 1000), at(0, 1500), at(0, 1000)], [Passes, Passes, DROPPED]);
        assert_eq!([at(499, 1000), at(500, 1000), at(500, 60)], [DROPPED, Passes, DROPPED]);
        // Full again after 3 ms, and not fuller later.
        assert_eq!(
            [at(10_000, 3001), at(10_000, 3000), at(10_000, 60)],
            [DROPPED, Passes, DROPPED]
        );
    }

    #[test]
    fn marks_what_can_be_marked() {
        let mut p = policer(PoliceAction::Mark);
        let mut judge = |ecn| {
            let mut packet = Walker { ecn, wire_len: 4000, ..Walker::default() };
            (p.judge(Time::ZERO, &mut packet), packet.ecn)
        };
        assert_eq!(judge(Ecn::NotEct), (DROPPED, Ecn::NotEct));
        assert_eq!(judge(Ecn::Ect0), (MARKED, Ecn::Ce));
        assert_eq!(judge(Ecn::Ect1), (MARKED, Ecn::Ce));
        assert_eq!(judge(Ecn::Ce), (Passes, Ecn::Ce));
    }

    /// 20 Mbit/s against 8 for 10 s: burst and rate, to the packet.
    #[test]
    fn the_long_run_is_the_rate_and_one_bucket() {
        let mut p = policer(PoliceAction::Drop);
        let passed = (0..25_000_u64)
            .filter(|n| {
                let mut packet = Walker { wire_len: 1000, ..Walker::default() };
                p.judge(Time::from_micros(400 * n), &mut packet) == Passes
            })
            .count();
        // 3000 B and 9.9996 s of a byte a microsecond.
        assert_eq!(passed, 10_002);
    }

    #[test]
    fn a_change_of_rate_keeps_the_tokens() {
        let mut p = policer(PoliceAction::Drop);
        let mut packet = Walker { wire_len: 3000, ..Walker::default() };
        assert_eq!(p.judge(Time::ZERO, &mut packet), Passes);
        p.set_rate(Time::from_micros(1000), Rate::from_mbit(16));
        packet.wire_len = 2000;
        assert_eq!(p.judge(Time::from_micros(1499), &mut packet), DROPPED);
        assert_eq!(p.judge(Time::from_micros(1500), &mut packet), Passes);
    }
}
