//! netem's models of loss: independent or correlated draws, the two states of Gilbert and Elliott, and four states.
//!
//! Source: Linux 5.4 to 7.3, `net/sched/sch_netem.c` (`loss_event`, `loss_gilb_ell`); iproute2 6, `tc/q_netem.c`.
//!
//! The chain moves before each packet, and the packet's fate is drawn by the state it was in before. In the
//! long run the bad state holds p / (p + r) of the packets, and 1-H of them are lost, 1-K of the others.
//!
//! The four states (Salsano, Ludovici, Ordine) are good, loss in a burst, good in a burst, and a lone loss. A packet's
//! fate is that of the state which the chain is in after its move, but for the lone loss, which is over with the next
//! packet. Linux before 7.1 compares with both bounds open, so that one draw in 2^32 moves otherwise than here.

use super::correlated::Correlated;
use sojourn_units::Random;

/// `loss …`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Loss {
    /// Nothing is lost.
    None,
    /// `loss random PERCENT CORRELATION`.
    Random(u32),
    /// `loss gemodel P R 1-H 1-K`, shares of all ones in 32 bits.
    GilbertElliott {
        /// From good to bad.
        p: u32,
        /// From bad to good.
        r: u32,
        /// Kept in the bad state (the word is its opposite, 1-H).
        h: u32,
        /// Lost in the good state.
        k1: u32,
    },
    /// `loss state P13 P31 P32 P23 P14`, likewise.
    FourStates {
        /// From good to a burst's loss.
        p13: u32,
        /// From a burst's loss to good.
        p31: u32,
        /// From a burst's loss to good inside the burst.
        p32: u32,
        /// From there to a burst's loss.
        p23: u32,
        /// From good to a lone loss.
        p14: u32,
    },
}

impl Loss {
    /// The share of packets that it loses in the long run.
    pub(super) fn share(self) -> f64 {
        let of = |part: u32| f64::from(part) / f64::from(u32::MAX);
        match self {
            Self::None => 0.0,
            Self::Random(p) => of(p),
            Self::GilbertElliott { p, r, h, k1 } => {
                let (p, r) = (of(p), of(r));
                let bad = if p + r > 0.0 { p / (p + r) } else { 0.0 };
                bad * (1.0 - of(h)) + (1.0 - bad) * of(k1)
            }
            // As many moves go from the good state to bursts as come back, and within bursts likewise.
            Self::FourStates { p13, p31, p32, p23, p14 } => {
                let part = |a: u32, b: u32| if a == 0 { 0.0 } else { of(a) / of(b) };
                let burst = part(p13, p31);
                let lost = burst + of(p14);
                let good = 1.0 + burst * part(p32, p23);
                if lost.is_finite() && good.is_finite() { lost / (lost + good) } else { 1.0 }
            }
        }
    }
}

/// A state of the four.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Four {
    #[default]
    Good,
    GoodInBurst,
    LostInBurst,
    LostAlone,
}

/// Where the chains are.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Chain {
    bad: bool,
    four: Four,
}

impl Loss {
    /// Whether the next packet is lost; the chain moves.
    #[inline]
    pub(super) fn strikes(
        self,
        draws: &mut Correlated,
        chain: &mut Chain,
        random: &mut Random,
    ) -> bool {
        match self {
            Self::None => false,
            Self::Random(share) => share >= draws.draw(random),
            Self::GilbertElliott { p, r, h, k1 } => {
                let was_bad = chain.bad;
                let moves = random.next_u32() < if was_bad { r } else { p };
                chain.bad = was_bad != moves;
                let fate = random.next_u32();
                if was_bad { fate > h } else { fate < k1 }
            }
            Self::FourStates { p13, p31, p32, p23, p14 } => {
                let draw = random.next_u32();
                chain.four = match chain.four {
                    Four::Good if draw < p14 => Four::LostAlone,
                    Four::Good if draw - p14 < p13 => Four::LostInBurst,
                    Four::Good | Four::LostAlone => Four::Good,
                    Four::GoodInBurst if draw < p23 => Four::LostInBurst,
                    Four::LostInBurst if draw < p32 => Four::GoodInBurst,
                    Four::LostInBurst if draw - p32 < p31 => Four::Good,
                    state @ (Four::GoodInBurst | Four::LostInBurst) => state,
                };
                matches!(chain.four, Four::LostInBurst | Four::LostAlone)
            }
        }
    }
}
