//! CAKE's SCE ramp: ECT(0) becomes ECT(1) with a probability that depends on this packet's sojourn time alone.
//!
//! Source: docs/sources/sce.md#the-ramp-of-cake; chromi/sce `net/sched/sch_cake.c` @05bf6c32.
//!
//! With target τ and divisor d: nothing up to τ/2, then linearly to 1/d at τ, then linearly to 1 at 2τ. With
//! `sce-single`: nothing up to τ, then linearly to 1 at 2τ.

use crate::cobalt_law::mark_sce;
use crate::{Context, Packet, Reason, Telemetry};
use sojourn_units::Time;

/// The kernel's code for `sce-single`: anything above 1024.
pub(super) const SINGLE: u32 = 1025;

/// Slopes in 2^-32 a nanosecond, rounded down, and the probability at the target in 2^-32.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Ramp {
    low: u64,
    high: u64,
    knee: u64,
}

impl Ramp {
    const ONE: u64 = u32::MAX as u64;

    /// For divisor 0 (none), 1 to 1024, or [`SINGLE`]; `target` in nanoseconds.
    pub(super) const fn new(divisor: u32, target: u64) -> Self {
        match divisor {
            0 => Self { low: 0, high: 0, knee: 0 },
            1..SINGLE => {
                let knee = Self::ONE / divisor as u64;
                let half = if target < 2 { 1 } else { target / 2 };
                Self { low: knee / half, high: (Self::ONE - knee) / target, knee }
            }
            _ => Self { low: 0, high: Self::ONE / target, knee: 0 },
        }
    }

    /// The probability in 2^-32 of a packet after `sojourn` ns; `over` as the control law has it, which at a low
    /// rate wants four packets' time too.
    #[inline]
    const fn probability(&self, sojourn: u64, target: u64, over: bool) -> u64 {
        if over {
            (sojourn - target).saturating_mul(self.high).saturating_add(self.knee)
        } else {
            sojourn.saturating_sub(target / 2).saturating_mul(self.low)
        }
    }

    /// Marks the packet or does not; draws only when it may.
    #[inline]
    pub(super) fn apply<P: Packet, T: Telemetry<P>>(
        &self,
        now: Time,
        sojourn: u64,
        target: u64,
        over: bool,
        packet: &mut P,
        cx: &mut Context<'_, T>,
    ) -> bool {
        let p = self.probability(sojourn, target, over);
        let marks = p > Self::ONE || (p > 0 && u64::from(cx.random.next_u32()) < p);
        marks && mark_sce(now, packet, Reason::Ramp, cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: u64 = 5_000_000;

    fn at(divisor: u32, micros: u64) -> f64 {
        let (ramp, sojourn) = (Ramp::new(divisor, TARGET), micros * 1_000);
        let p = ramp.probability(sojourn, TARGET, sojourn > TARGET);
        (p as f64 / 4_294_967_296.0).min(1.0)
    }

    /// docs/sources/sce.md#the-ramp-of-cake, with the slopes rounded down to whole 2^-32 a nanosecond: less than 0.2 %.
    #[test]
    fn the_ramp_has_its_knee_at_the_target() {
        for (divisor, micros, p) in [
            (1, 2_500, 0.0),
            (1, 3_750, 0.5),
            (1, 5_000, 1.0),
            (1, 6_000, 1.0),
            (4, 2_400, 0.0),
            (4, 3_750, 0.125),
            (4, 5_000, 0.25),
            (4, 7_500, 0.625),
            (4, 10_010, 1.0),
            (1024, 5_000, 1.0 / 1024.0),
            (SINGLE, 5_000, 0.0),
            (SINGLE, 7_500, 0.5),
            (SINGLE, 10_010, 1.0),
            (0, 50_000, 0.0),
        ] {
            assert!(
                (at(divisor, micros) - p).abs() < 0.002,
                "{divisor} {micros}: {}",
                at(divisor, micros)
            );
        }
    }
}
