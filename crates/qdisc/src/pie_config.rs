//! The options that `pie` and `fq_pie` have in common, and what they set.

use crate::QdiscQuirks;
use crate::pie_law::Params;
use crate::settings::Setting;
use crate::show;
use crate::table::{self, DefaultValue, Kind, OptionSpec, ValueSpec};
use sojourn_units::{CoarseClock, Span, Time};

/// From creation to the first update.
pub(crate) const FIRST_UPDATE: Span = Span::from_millis(500);

const GAIN: &[ValueSpec] = &[ValueSpec {
    name: "SIXTEENTHS",
    kind: Kind::Count { unit: "sixteenths of a hertz", min: 0, max: 32 },
    optional: false,
}];

/// The settings of a discipline's controllers (`struct pie_params`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct PieConfig {
    pub(crate) params: Params,
    /// The target as tc handed it over.
    target_shown: Span,
    /// In whole ticks of `clock`.
    tupdate: Span,
    pub(crate) clock: CoarseClock,
}

impl PieConfig {
    /// Nothing is set yet; `by_rate` says which estimator holds unless an option changes it.
    pub(crate) fn blank(profile: &QdiscQuirks, by_rate: bool) -> Self {
        let params = Params { target: 0, alpha: 0, beta: 0, bytemode: false, by_rate };
        let clock = CoarseClock::new(profile.hz);
        Self { params, target_shown: Span::ZERO, tupdate: Span::ZERO, clock }
    }

    /// When the update comes that is `tupdate` after `now`.
    #[inline]
    pub(crate) fn next_update(&self, now: Time) -> Time {
        self.clock.fires_after(now, self.tupdate)
    }

    /// Target, period and gains as tc prints them.
    pub(crate) fn describe(&self) -> String {
        let Params { alpha, beta, .. } = self.params;
        let (target, tupdate) = (show::time(self.target_shown), show::time(self.tupdate));
        format!("target {target} tupdate {tupdate} alpha {alpha} beta {beta}")
    }

    /// What is switched on, as tc prints it: a blank before each word.
    pub(crate) fn switches(&self, ecn: bool, estimator_is_choosable: bool) -> String {
        let by_rate = self.params.by_rate && estimator_is_choosable;
        let switches =
            [(ecn, " ecn"), (self.params.bytemode, " bytemode"), (by_rate, " dq_rate_estimator")];
        switches.into_iter().filter_map(|(on, word)| on.then_some(word)).collect()
    }
}

/// A configuration that has the options here.
pub(crate) trait HasPie: 'static {
    fn pie(&mut self) -> &mut PieConfig;
}

/// Which estimator of the delay is used. Whether there is a choice is the discipline's to say.
pub(crate) const DQ_RATE_ESTIMATOR: OptionSpec = OptionSpec {
    name: "dq_rate_estimator",
    off: Some("no_dq_rate_estimator"),
    preset: DefaultValue::Is("no_dq_rate_estimator"),
    ..OptionSpec::BASE
};

/// The target.
pub(crate) const fn target<C: HasPie>() -> Setting<C> {
    OptionSpec {
        name: "target",
        values: table::TIME,
        preset: DefaultValue::Is("15ms"),
        doc: "delay that the controller aims at",
        tried: &["target 0", "target 900us", "target 30ms"],
        ..OptionSpec::BASE
    }
    .sets(|config, given| {
        let pie = config.pie();
        pie.params.target = given.micros().as_nanos() >> 6;
        pie.target_shown = given.micros();
    })
}

/// The period.
pub(crate) const fn tupdate<C: HasPie>() -> Setting<C> {
    OptionSpec {
        name: "tupdate",
        values: table::TIME_ABOVE_ZERO,
        preset: DefaultValue::Is("15ms"),
        doc: "time between updates of the probability, rounded up to whole timer ticks, and a tick more",
        tried: &["tupdate 1ms", "tupdate 7ms", "tupdate 40ms"],
        ..OptionSpec::BASE
    }
    .sets(|config, given| {
        let pie = config.pie();
        pie.tupdate = pie.clock.tick() * pie.clock.ticks(given.micros());
    })
}

/// The gain on the distance from target.
pub(crate) const fn alpha<C: HasPie>() -> Setting<C> {
    OptionSpec {
        name: "alpha",
        values: GAIN,
        preset: DefaultValue::Is("2"),
        doc: "gain on the distance from target: 2 is 0.125 Hz",
        tried: &["alpha 0", "alpha 5", "alpha 32"],
        ..OptionSpec::BASE
    }
    .sets(|config, given| config.pie().params.alpha = given.number())
}

/// The gain on the change of the delay.
pub(crate) const fn beta<C: HasPie>() -> Setting<C> {
    OptionSpec {
        name: "beta",
        values: GAIN,
        preset: DefaultValue::Is("20"),
        doc: "gain on the change of the delay: 20 is 1.25 Hz",
        tried: &["beta 0", "beta 9", "beta 32"],
        ..OptionSpec::BASE
    }
    .sets(|config, given| config.pie().params.beta = given.number())
}

/// Whether long packets are likelier to be dropped.
pub(crate) const fn bytemode<C: HasPie>() -> Setting<C> {
    OptionSpec {
        name: "bytemode",
        off: Some("nobytemode"),
        preset: DefaultValue::Is("nobytemode"),
        doc: "scale the probability by a packet's length over the MTU",
        ..OptionSpec::BASE
    }
    .sets(|config, given| config.pie().params.bytemode = given.on)
}
