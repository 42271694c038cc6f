//! Numbers of the two texts that working groups ask about, and that an experiment may set: `bbr3 drain_gain 0.35`. All other
//! numbers are a text's own ([`rules`](super::rules)).

use super::rules::{Rules, UNIT};
use crate::cc::{ControlOption, OptionKind, OptionValue};
use sojourn_units::Span;

/// What may be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Settings {
    /// Pacing gain of Drain, 1/25600.
    pub(super) drain_gain: u32,
    /// How old the lowest RTT may become until it is looked for.
    pub(super) probe_rtt_interval: Span,
    /// How long the model keeps a lowest RTT.
    pub(super) min_rtt_window: Span,
}

impl Settings {
    /// Those of a text.
    pub(super) const fn of(rules: &Rules) -> Self {
        Self {
            drain_gain: rules.drain_pacing,
            probe_rtt_interval: Span::from_secs(5),
            min_rtt_window: Span::from_secs(10),
        }
    }

    /// Takes the value of an option of [`options`].
    pub(super) fn set(&mut self, option: &str, value: OptionValue) {
        match (option, value) {
            // To the nearest 1/25600.
            (DRAIN_GAIN, OptionValue::Factor(millionths)) => {
                let gain = (u64::from(millionths) * u64::from(UNIT) + 500_000) / 1_000_000;
                self.drain_gain = gain as u32;
            }
            (PROBE_RTT_INTERVAL, OptionValue::Time(span)) => self.probe_rtt_interval = span,
            (MIN_RTT_WINDOW, OptionValue::Time(span)) => self.min_rtt_window = span,
            _ => debug_assert!(false, "{option} {value:?} is of no table here"),
        }
    }
}

const DRAIN_GAIN: &str = "drain_gain";
const PROBE_RTT_INTERVAL: &str = "probe_rtt_interval";
const MIN_RTT_WINDOW: &str = "min_rtt_window";

/// The draft's.
pub(super) const DRAFT: [ControlOption; 3] = options("0.5");
/// Google's: 88/256.
pub(super) const GOOGLE: [ControlOption; 3] = options("0.34375");

/// The longest time that may be set: such a probe never comes in a run of minutes.
const LONGEST: Span = Span::from_secs(3_600);

const fn options(drain_gain: &'static str) -> [ControlOption; 3] {
    [
        ControlOption {
            name: DRAIN_GAIN,
            // A gain of one drains nothing; the kernel of 2016 had 0.35.
            kind: OptionKind::Factor { least: 10_000, most: 1_000_000 },
            default: drain_gain,
            doc: "pacing gain of Drain",
        },
        ControlOption {
            name: PROBE_RTT_INTERVAL,
            kind: OptionKind::Time { least: Span::from_millis(100), most: LONGEST },
            default: "5s",
            doc: "how old the lowest RTT may become until ProbeRTT looks for it",
        },
        ControlOption {
            name: MIN_RTT_WINDOW,
            kind: OptionKind::Time { least: Span::from_millis(100), most: LONGEST },
            default: "10s",
            doc: "how long the model keeps a lowest RTT; below two intervals it may forget before it has looked",
        },
    ]
}
