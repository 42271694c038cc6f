//! How fast the window grows: one packet for each window of unmarked packets, or, with RTT independence, as a function
//! of the RTT (docs/sources/prague.md#gain; L4STeam/linux `net/ipv4/tcp_prague.c`, `rtt_scaling_heuristics`).

/// One packet of window, and a gain or alpha of one: 2^20.
pub(super) const ONE: i64 = 1 << 20;
pub(super) const ONE_BITS: u32 = 20;

/// The target of RTT independence from 2021 on, microseconds (`rtt_target`).
pub(super) const TARGET_US: u64 = 25_000;

/// How growth goes with the RTT (`prague_rtt_scaling`, 0 to 3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scaling {
    /// A packet a round trip, whatever the RTT.
    None,
    /// As fast as a flow of the target RTT grows in the same time: (r/T)², at most one.
    Rate,
    /// With at least two marks in sixteen round trips: linear between 1.5 and 18 ms, times r/16.4 ms.
    Scalable,
    /// [`Scaling::Rate`] with the RTT itself added to the target.
    Additive,
}

/// RTT independence as a flow's kernel has it: the mode, and the target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Independence {
    /// The mode.
    pub scaling: Scaling,
    /// The target RTT, microseconds (`prague_rtt_target`).
    pub target_us: u32,
}

impl Independence {
    /// The RTT that growth is measured by, and for which a cut or a new alpha waits; microseconds.
    pub(super) fn target_us(self, srtt_us: u32) -> u64 {
        let rtt = if self.scaling == Scaling::Additive { srtt_us } else { 0 };
        u64::from(self.target_us) + u64::from(rtt)
    }

    /// Growth for a window of unmarked packets, in 2^-20. With `coarse` times are counted in 128 µs, as up to 2021.
    pub(super) fn growth(self, srtt_us: u32, coarse: bool) -> i64 {
        match self.scaling {
            Scaling::None => ONE,
            Scaling::Rate | Scaling::Additive => by_rate(srtt_us, self.target_us(srtt_us), coarse),
            Scaling::Scalable => scalable(srtt_us),
        }
    }
}

/// (r/T)², at most one, in 2^-20. With `coarse` both are counted in 128 µs.
pub(super) fn by_rate(srtt_us: u32, target_us: u64, coarse: bool) -> i64 {
    let bits = if coarse { 7 } else { 0 };
    let (r, target) = (u64::from(srtt_us) >> bits, target_us >> bits);
    if r >= target { ONE } else { (((r * r) << ONE_BITS) / (target * target)) as i64 }
}

/// [R0/8 + min(max(r − R1, 0), R0)]·r / R0², R0 and R1 being 2^14 and 1536 µs, in units of 128 µs.
fn scalable(srtt_us: u32) -> i64 {
    let r0 = (1_i64 << 14) >> 7;
    let r1 = 1_536_i64 >> 7;
    let r = i64::from(srtt_us) >> 7;
    ((ONE >> 3) * r0 + ONE * (r - r1).clamp(0, r0)) * r / (r0 * r0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 12.5 ms is half the target: a quarter. In 128 µs they are 97 and 195: 97²/195² = 0.2474.
    #[test]
    fn growth_is_the_square_of_the_ratio() {
        let rate = Independence { scaling: Scaling::Rate, target_us: 25_000 };
        assert_eq!(rate.growth(12_500, false), ONE / 4);
        assert_eq!(rate.growth(12_500, true), ((97 * 97) << 20) / (195 * 195));
        assert_eq!((rate.growth(25_000, false), rate.growth(100_000, true)), (ONE, ONE));
    }

    /// 5 ms with a target of 15 + 5: a sixteenth; never one, however long the RTT.
    #[test]
    fn the_rtt_itself_may_be_added_to_the_target() {
        let additive = Independence { scaling: Scaling::Additive, target_us: 15_000 };
        assert_eq!(additive.target_us(5_000), 20_000);
        assert_eq!(additive.growth(5_000, false), ONE / 16);
        assert!(additive.growth(1_000_000, false) < ONE);
    }

    /// R0 is 128 and R1 12 units. Below R1 an eighth of r/R0; at 76 units, halfway up, (1/8 + 1/2)·76/128; above
    /// R0 + R1 = 140 units 9/8 of r/R0.
    #[test]
    fn scalable_growth_is_linear_and_goes_with_the_rtt() {
        let scalable = Independence { scaling: Scaling::Scalable, target_us: 15_000 };
        let at = |units: u32| scalable.growth(units * 128, true);
        assert_eq!(at(8), ONE / 8 * 8 / 128);
        assert_eq!(at(76), ONE * 5 / 8 * 76 / 128);
        assert_eq!(at(256), ONE * 9 / 8 * 2);
        let none = Independence { scaling: Scaling::None, target_us: 15_000 };
        assert_eq!(none.growth(500, true), ONE);
    }
}
