//! netem's models of loss: independent or correlated draws, and the two states of Gilbert and Elliott.
//!
//! Source: Linux 5.4 to 7.3, `net/sched/sch_netem.c` (`loss_event`, `loss_gilb_ell`); iproute2 6, `tc/q_netem.c`.
//!
//! The chain moves before each packet, and the packet's fate is drawn by the state it was in before. In the
//! long run the bad state holds p / (p + r) of the packets, and 1-H of them are lost, 1-K of the others.

use super::Correlated;
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
}

impl Loss {
    /// Whether the next packet is lost; `bad` is the chain's state.
    #[inline]
    pub(super) fn strikes(
        self,
        draws: &mut Correlated,
        bad: &mut bool,
        random: &mut Random,
    ) -> bool {
        match self {
            Self::None => false,
            Self::Random(share) => share >= draws.draw(random),
            Self::GilbertElliott { p, r, h, k1 } => {
                let was_bad = *bad;
                let moves = random.next_u32() < if was_bad { r } else { p };
                *bad = was_bad != moves;
                let fate = random.next_u32();
                if was_bad { fate > h } else { fate < k1 }
            }
        }
    }
}
