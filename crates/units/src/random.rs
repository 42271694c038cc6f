//! Named random streams.
//!
//! A run has one seed; every element that needs randomness gets a stream of its own, named by its path
//! ("hop/bottleneck/down/qdisc"). Adding a flow or a queue therefore leaves every other element's draws as
//! they were. The generator is PCG XSH RR 64/32 (O'Neill 2014), pinned by version: the bits are a promise.

use rand_core::Rng;
use rand_pcg::Pcg32;

/// A deterministic stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random(Pcg32);

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
        Self(Pcg32::new(mix(seed ^ name), mix(name)))
    }

    /// Uniform over all 32-bit values (what `get_random_u32()` gives a kernel qdisc).
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// Uniform over all 64-bit values.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
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
