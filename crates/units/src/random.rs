//! Named random streams.
//!
//! A run has one seed; every element that needs randomness gets a stream of its own, named by its path
//! ("hop/bottleneck/down/qdisc"). Adding a flow or a queue therefore leaves every other element's draws as
//! they were. The generator is PCG XSH RR 64/32 (O'Neill, "PCG: a family of simple fast space-efficient
//! statistically good algorithms", 2014, §6.3). It is written out here because its bits are a promise that no update of
//! a dependency may break.

/// A deterministic stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random {
    /// The linear congruential generator.
    state: u64,
    /// Its increment, odd: which of 2^63 sequences it draws.
    increment: u64,
}

/// The multiplier of PCG's 64-bit generators.
const MULTIPLIER: u64 = 6_364_136_223_846_793_005;

/// FNV-1a, 64 bits: small, stable and good enough to tell names apart.
const fn fnv1a(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut i = 0;
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u64).wrapping_mul(0x0000_0100_0000_01b3);
        i += 1;
    }
    hash
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): spreads every input bit over the output. Also the
/// hash that queues use to spread flows over their slots.
#[inline]
pub const fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number that stands for a name: the same for the same name in every run.
pub const fn key(name: &str) -> u64 {
    mix(fnv1a(name.as_bytes()))
}

impl Random {
    /// The stream `name` of the run with this `seed`.
    pub fn named(seed: u64, name: &str) -> Self {
        let name = fnv1a(name.as_bytes());
        Self::pcg(mix(seed ^ name), mix(name))
    }

    /// `pcg32_srandom_r` of the reference implementation.
    const fn pcg(seed: u64, sequence: u64) -> Self {
        let increment = sequence << 1 | 1;
        let state = increment.wrapping_add(seed).wrapping_mul(MULTIPLIER).wrapping_add(increment);
        Self { state, increment }
    }

    /// Uniform over all 32-bit values (what `get_random_u32()` gives a kernel qdisc).
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        let state = self.state;
        self.state = state.wrapping_mul(MULTIPLIER).wrapping_add(self.increment);
        let shifted = ((state >> 18 ^ state) >> 27) as u32;
        shifted.rotate_right((state >> 59) as u32)
    }

    /// Uniform over all 64-bit values: two draws, the lower half first.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let low = u64::from(self.next_u32());
        u64::from(self.next_u32()) << 32 | low
    }

    /// Uniform in `0..bound`; zero when `bound` is zero. The bias is below `bound`/2^64.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform in [0, 1), with 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::prelude::v1::*;

    #[test]
    fn a_stream_depends_on_seed_and_name_and_nothing_else() {
        let draw = |seed, name| {
            let mut r = Random::named(seed, name);
            [r.next_u32(), r.next_u32(), r.next_u32()]
        };
        assert_eq!(draw(1, "a"), draw(1, "a"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
        assert_ne!(draw(1, "a"), draw(1, "b"));
    }

    /// The first numbers that the reference implementation's demonstration prints (`pcg32-demo`: seed 42, sequence 54).
    #[test]
    fn draws_are_those_of_the_reference_implementation() {
        let mut r = Random::pcg(42, 54);
        let got: Vec<u32> = (0..6).map(|_| r.next_u32()).collect();
        let expected =
            [0xa15c_02b7, 0x7b47_f409, 0xba1d_3330, 0x83d2_f293, 0xbfa4_784b, 0xcbed_606e];
        assert_eq!(got, expected);
    }

    /// The bits are a promise: an update of the generator that changed them must fail here.
    #[test]
    fn the_first_draws_are_fixed() {
        let mut r = Random::named(7, "hop/bottleneck/down/qdisc");
        let got: Vec<u32> = (0..4).map(|_| r.next_u32()).collect();
        assert_eq!(got, FIRST_DRAWS);
    }
    const FIRST_DRAWS: [u32; 4] = [2_332_722_820, 3_809_673_154, 2_504_750_241, 1_321_902_318];

    #[test]
    fn draws_below_a_bound_stay_below_it_and_reach_both_ends() {
        let mut r = Random::named(1, "bound");
        let draws: Vec<u64> = (0..1000).map(|_| r.below(10)).collect();
        assert!(draws.iter().all(|&d| d < 10));
        assert!(draws.contains(&0) && draws.contains(&9));
        assert!((0..1000).all(|_| (0.0..1.0).contains(&r.unit())));
        assert_eq!(r.below(0), 0);
    }
}
