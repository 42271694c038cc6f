//! What the disciplines with SCE have in common besides the law: its options, and the memory of 65 536 flows.
//!
//! Source: docs/sources/sce.md#the-marking-law; chromi/sce `sch_cnq_codel_af.c` (`cnq_change`) and iproute2-sce `tc/q_cnq_codel_af.c`. tc
//! hands over `rtt` as an interval and a twentieth of it as the target; there is no word for another target.

use crate::QdiscQuirks;
use crate::cobalt_law::{Crossing, TwofoldParams};
use crate::settings::Setting;
use crate::shaper::{HasRtt, describe_rtt};
use crate::table::{DefaultValue, Kind, OptionSpec, ValueSpec};
use sojourn_units::Span;
use sojourn_units::random::mix;

const fn sce_thresh_from(preset: DefaultValue) -> OptionSpec {
    OptionSpec {
        name: "sce-thresh",
        off: Some("no-sce"),
        values: &[ValueSpec {
            name: "N",
            kind: Kind::Count { unit: "SCE intervals in an interval", min: 1, max: 1024 },
            optional: false,
        }],
        preset,
        doc: "mark SCE, ECT(0) to ECT(1), on a schedule of its own, with 1/N of the interval",
        ..OptionSpec::BASE
    }
}

/// `sce-thresh N | no-sce` where SCE is off by default.
pub(crate) const SCE_THRESH_OFF: OptionSpec = sce_thresh_from(DefaultValue::Unset("no-sce"));
/// The same where it is on by default.
pub(crate) const SCE_THRESH_4: OptionSpec = sce_thresh_from(DefaultValue::Is("4"));
/// `sce`.
pub(crate) const SCE: OptionSpec = OptionSpec {
    name: "sce",
    preset: DefaultValue::Unset("as sce-thresh has it"),
    doc: "the same as sce-thresh 1",
    ..OptionSpec::BASE
};

/// The law's options.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Aqm {
    interval: u64,
    target: u64,
    sce_interval: u64,
    /// `sce-thresh` as given last, 0 for `no-sce`, until it is settled.
    asked: Option<u32>,
}

/// A configuration that has the law's options: [`crate::shaper::rtt`], [`crate::shaper::path`], [`sce_thresh`] and
/// [`sce`].
pub(crate) trait HasAqm: 'static {
    fn aqm(&mut self) -> &mut Aqm;
}

impl<C: HasAqm> HasRtt for C {
    fn set_rtt(&mut self, interval: Span, target: Span) {
        let aqm = self.aqm();
        (aqm.interval, aqm.target) = (interval.as_nanos(), target.as_nanos());
    }
}

/// One of [`SCE_THRESH_OFF`] and [`SCE_THRESH_4`].
pub(crate) const fn sce_thresh<C: HasAqm>(option: OptionSpec) -> Setting<C> {
    option.sets(|config, given| {
        config.aqm().asked = Some(if given.on { given.number() } else { 0 });
    })
}

/// [`SCE`].
pub(crate) const fn sce<C: HasAqm>() -> Setting<C> {
    SCE.sets(|config, _| config.aqm().asked = Some(1))
}

impl Aqm {
    /// Every option is set: the interval is divided as it now is. A later change of `rtt` alone leaves the SCE
    /// interval (docs/sources/sce.md#the-marking-law).
    pub(crate) fn settle(&mut self) {
        match self.asked.take() {
            Some(0) => self.sce_interval = 0,
            Some(thresh) => self.sce_interval = (self.interval / u64::from(thresh)).max(1),
            None => {}
        }
    }

    /// The law's parameters, all of them divided by `divisor` (5 for the tight class).
    pub(crate) fn params(&self, divisor: u64, crossing: Crossing) -> TwofoldParams {
        let part = |of: u64| if of == 0 { 0 } else { (of / divisor).max(1) };
        let (ce_interval, ce_target) = (part(self.interval), part(self.target));
        TwofoldParams {
            ce_interval,
            ce_target,
            sce_interval: part(self.sce_interval),
            sce_target: ce_target.div_ceil(2),
            blue_threshold: ce_interval * 4,
            crossing,
        }
    }

    /// How the disciplines that mirror the SCE schedule do so in this kernel.
    pub(crate) const fn mirrors(profile: &QdiscQuirks) -> Crossing {
        if profile.sce_mirrors_at_rest { Crossing::MirrorsAtRest } else { Crossing::Mirrors }
    }

    /// As tc prints it, before the shaper's options.
    pub(crate) fn describe_rtt(&self) -> String {
        describe_rtt(self.interval)
    }

    /// As tc prints it, behind them.
    pub(crate) fn describe_sce(&self) -> String {
        match self.interval.checked_div(self.sce_interval) {
            None => "no-sce".to_owned(),
            Some(1) => "sce".to_owned(),
            Some(thresh) => format!("sce-thresh {thresh}"),
        }
    }
}

/// The number of buckets that flows are hashed to, without set association.
const BUCKETS: usize = 65_536;

/// The buckets' memory. Only buckets that were ever used exist: a walk over all of them costs nothing for the others,
/// since decay would not change their state.
#[derive(Clone, Debug)]
pub(crate) struct Buckets<B> {
    /// One more than a bucket's place in `used`; 0 if it never was.
    place: Vec<u32>,
    used: Vec<B>,
    perturbation: u64,
    /// The bucket that is looked at next when idle ones are aged.
    sweep: u16,
}

impl<B: Default> Buckets<B> {
    pub(crate) fn new(perturbation: u64) -> Self {
        Self { place: vec![0; BUCKETS], used: Vec::new(), perturbation, sweep: 0 }
    }

    /// Where the flow's bucket is.
    #[inline]
    pub(crate) fn slot(&mut self, flow_key: u64) -> u32 {
        let bucket = (mix(flow_key ^ self.perturbation) >> 48) as usize;
        let place = &mut self.place[bucket];
        if *place == 0 {
            self.used.push(B::default());
            *place = self.used.len() as u32;
        }
        *place - 1
    }

    #[inline]
    pub(crate) fn at(&self, slot: u32) -> &B {
        &self.used[slot as usize]
    }

    #[inline]
    pub(crate) fn at_mut(&mut self, slot: u32) -> &mut B {
        &mut self.used[slot as usize]
    }

    /// The next bucket of the walk, if it was ever used. The walk goes one bucket a packet (docs/sources/sce.md#approximate-fairness).
    #[inline]
    pub(crate) fn sweep(&mut self) -> Option<&mut B> {
        let place = self.place[usize::from(self.sweep)] as usize;
        self.sweep = self.sweep.wrapping_add(1);
        self.used.get_mut(place.wrapping_sub(1))
    }

    /// Every bucket that was ever used.
    pub(crate) fn used(&mut self) -> &mut [B] {
        &mut self.used
    }
}
