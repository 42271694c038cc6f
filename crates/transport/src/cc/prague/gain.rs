//! How fast the window grows: one packet for each window of unmarked packets, or, with RTT independence, as fast as
//! a flow of the target RTT does in the same time (reference/prague.md §4.3, mode RATE).

use super::{ONE, ONE_BITS};

/// The target of RTT independence, microseconds (`rtt_target`).
pub(super) const TARGET_US: u64 = 25_000;

/// (r/T)², at most one, in 2^-20. With `coarse` both are counted in 128 µs, as up to 2021.
pub(super) fn additive(srtt_us: u32, coarse: bool) -> i64 {
    let bits = if coarse { 7 } else { 0 };
    let (r, target) = (u64::from(srtt_us) >> bits, TARGET_US >> bits);
    if r >= target { ONE } else { (((r * r) << ONE_BITS) / (target * target)) as i64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 12.5 ms is half the target: a quarter. In 128 µs they are 97 and 195: 97²/195² = 0.2474.
    #[test]
    fn growth_is_the_square_of_the_ratio() {
        assert_eq!(additive(12_500, false), ONE / 4);
        assert_eq!(additive(12_500, true), ((97 * 97) << 20) / (195 * 195));
        assert_eq!((additive(25_000, false), additive(100_000, true)), (ONE, ONE));
    }
}
