//! netem's draws that may depend on the one before (`get_crandom`).

use sojourn_units::Random;

/// Draws, each mixed with the one before (`struct crndstate`).
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Correlated {
    pub(super) last: u32,
    /// Share of the one before, of all ones in 32 bits.
    pub(super) rho: u32,
}

impl Correlated {
    #[inline]
    /// Draws the next number.
    pub(super) fn draw(&mut self, random: &mut Random) -> u32 {
        let fresh = random.next_u32();
        if self.rho == 0 {
            return fresh;
        }
        let rho = u64::from(self.rho) + 1;
        let mixed = u64::from(fresh).wrapping_mul((1 << 32) - rho) + u64::from(self.last) * rho;
        self.last = (mixed >> 32) as u32;
        self.last
    }
}
