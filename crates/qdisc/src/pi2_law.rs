//! The controller that PI2 and DualPI2 share: a proportional-integral law on the queueing delay. Its output p' applies
//! to scalable traffic as it is and to classic traffic squared.
//!
//! Source: RFC 9332 §2.4 and appendix A; Linux 7.3 and L4STeam/linux of 2020, `net/sched/sch_dualpi2.c`
//! (`calculate_probability`), which compute alike. De Schepper et al., "PI²", CoNEXT 2016, has the idea.
//!
//! In the kernel's integers: p' is a share of 2^32 - 1, delays are nanoseconds, gains are parts of 2^32 - 1 per
//! nanosecond, times 64. One consequence that surprises: the change is cut to 32 bits *before* it is compared, so
//! a delay that jumps by more than about 0.31 s (at the default gains) changes p' by the remainder only.

use crate::table::{Kind, ValueSpec};
use crate::{Context, Packet, Reason, Telemetry, tally};
use sojourn_units::{Random, Span, Time};

/// Certainty.
pub(crate) const ONE: u32 = u32::MAX;
/// `psched_mtu` of an Ethernet device.
pub(crate) const MTU: u32 = 1514;
/// A gain in hertz. tc hands over 256ths, rounded down, and the kernel refuses more than 31 bits of them.
pub(crate) const GAIN: &[ValueSpec] = &[ValueSpec {
    name: "HERTZ",
    kind: Kind::Real { what: "a number of hertz", min: 1.0 / 256.0, max: 8_388_607.0 },
    optional: false,
}];

/// 256ths of a hertz from tc's word, which is a `float` there.
pub(crate) const fn parts(hertz: f64) -> u32 {
    (hertz as f32 * 256.0) as u32
}

/// A gain as the kernel multiplies by it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Gain(u32);

impl Gain {
    pub(crate) const ZERO: Self = Self(0);

    /// From 256ths of a hertz (`dualpi2_scale_alpha_beta`).
    pub(crate) const fn from_parts(parts: u32) -> Self {
        Self((((parts as u64 * ONE as u64) >> 2) / 1_000_000_000) as u32)
    }

    /// In hertz, as tc prints what the kernel makes of it on the way back: 0.160156 comes out as 0.156250.
    pub(crate) fn shown(self) -> f64 {
        let parts = ((u64::from(self.0) * 1_000_000_000) << 2) / u64::from(ONE);
        parts as f64 / 256.0
    }
}

/// What the controller aims at, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Params {
    pub(crate) target: Span,
    pub(crate) alpha: Gain,
    pub(crate) beta: Gain,
}

impl Params {
    pub(crate) const BLANK: Self = Self { target: Span::ZERO, alpha: Gain::ZERO, beta: Gain::ZERO };
}

/// The controller's state.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Law {
    /// p', a share of [`ONE`].
    pub(crate) prob: u32,
    /// The delay at the last update.
    last: Span,
}

impl Law {
    /// One update, with the queue's delay now.
    pub(crate) const fn update(&mut self, params: &Params, delay: Span) {
        let now = delay.as_nanos().cast_signed();
        let off_target = now.wrapping_sub(params.target.as_nanos().cast_signed());
        let growth = now.wrapping_sub(self.last.as_nanos().cast_signed());
        let delta = off_target
            .wrapping_mul(params.alpha.0 as i64)
            .wrapping_add(growth.wrapping_mul(params.beta.0 as i64));
        let step = (delta.unsigned_abs() / 64) as u32;
        let old = self.prob;
        self.prob = if delta > 0 {
            let new = old.wrapping_add(step);
            if new < old { ONE } else { new }
        } else {
            let new = old.wrapping_sub(step);
            if new > old { 0 } else { new }
        };
        self.last = delay;
    }

    /// p'.
    pub(crate) fn base(&self) -> f64 {
        share(self.prob)
    }
}

/// A share of [`ONE`] as a number.
pub(crate) fn share(prob: u32) -> f64 {
    f64::from(prob) / f64::from(ONE)
}

/// Whether an event of probability `prob` happens (`dualpi2_roll`).
#[inline]
pub(crate) fn roll(prob: u32, random: &mut Random) -> bool {
    random.next_u32() <= prob
}

/// The same of p'², by two draws, which needs no multiplication of wide numbers. The second is drawn only after a first
/// that is not above `prob`; that is no branch, since half of them would be guessed wrongly where `prob` is a half.
#[inline]
pub(crate) fn roll_squared(prob: u32, random: &mut Random) -> bool {
    let mut after_one = random.clone();
    let first = roll(prob, &mut after_one);
    let mut after_two = after_one.clone();
    let second = roll(prob, &mut after_two);
    *random = core::hint::select_unpredictable(first, after_two, after_one);
    first & second
}

/// What is to become of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Pass,
    Mark(Reason),
    Drop(Reason),
}

impl Verdict {
    /// Marks the packet if that is the verdict; whether it is to be dropped, and why.
    #[inline]
    pub(crate) fn apply<P: Packet, T: Telemetry<P>>(
        self,
        now: Time,
        packet: &mut P,
        ecn_mark: &mut u64,
        cx: &mut Context<'_, T>,
    ) -> Option<Reason> {
        match self {
            Self::Pass => None,
            Self::Mark(reason) => {
                *ecn_mark += u64::from(tally::mark(now, packet, reason, cx));
                None
            }
            Self::Drop(reason) => Some(reason),
        }
    }
}

/// How many of a class's packets were signalled, counted over whole intervals of [`Fraction::UPDATES`] updates.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Fraction {
    seen: u32,
    hit: u32,
    last: f64,
}

impl Fraction {
    /// Updates of the controller in an interval: 256 ms at the default 16.
    pub(crate) const UPDATES: u32 = 16;

    /// A packet was decided upon.
    #[inline]
    pub(crate) fn count(&mut self, hit: bool) {
        self.seen += 1;
        self.hit += u32::from(hit);
    }

    /// The interval is over.
    pub(crate) fn close(&mut self) {
        let last = if self.seen == 0 { 0.0 } else { f64::from(self.hit) / f64::from(self.seen) };
        *self = Self { last, ..Self::default() };
    }

    /// That of the last whole interval; 0 if no packet passed in it.
    pub(crate) const fn last(&self) -> f64 {
        self.last
    }
}
