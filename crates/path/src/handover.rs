//! The reconfigurations of a low-orbit satellite's link: at fixed points of the clock the link may change its satellite, and for a
//! while nothing passes.
//!
//! Sources: Mohan et al., "A Multifaceted Look at Starlink Performance" (WWW 2024, arXiv 2310.09242), and Tanveer et al., "Making
//! Sense of Constellations" (CoNEXT Companion 2023), see Starlink assign its links for intervals of 15 s, which begin 12, 27, 42 and
//! 57 s after each full minute for all terminals; Huston, "A transport protocol's view of Starlink" (APNIC, May 2024), sees losses
//! at these points. We read their abstracts and summaries by others, not the whole papers. The measurements give no distribution for
//! the length of the silence: the words have a range and a chance, and
//! their defaults are ours.
//!
//! Invariants: a boundary's silence depends on the words' seed and the boundary's number alone, so both directions of a hop fall silent
//! together, and each seed of a run meets the same link; without a silence the element takes only its chance of loss.
//!
//! It holds no packets: the change of the delay is an event's (`rtt`), and so is that of the rate.

use crate::PathPacket;
use crate::element::{NamedElement, PathElement, Verdict};
use sojourn_qdisc::table::{self, DefaultValue, Kind, OptionSpec, ValueSpec};
use sojourn_qdisc::{Discipline, QdiscQuirks, Reason, Setting, Settings, options_of};
use sojourn_units::{Random, Span, Time, sample};

/// The recorder's name for its drops.
const HANDOVER: Reason = Reason::Custom("handover");

const PERCENT: &[ValueSpec] =
    &[ValueSpec { name: "PERCENT", kind: Kind::Percent, optional: false }];

/// Its table.
pub const INFO: Discipline = Discipline {
    name: "handover",
    summary: "falls silent at fixed points of the clock, as a low-orbit satellite's link",
    source: "Mohan et al., A Multifaceted Look at Starlink Performance (WWW 2024); Tanveer et al., Making Sense of Constellations \
             (CoNEXT Companion 2023); the silences are ours",
    options: options_of!(Options),
    examples: &["handover", "handover at 12s outage_min 20ms outage 120ms chance 75% loss 0.5%"],
    ..Discipline::BASE
};

/// The options.
#[derive(Clone, Debug)]
pub struct Options {
    every: Span,
    at: Span,
    outage_min: Span,
    outage: Span,
    chance: f64,
    loss: f64,
    seed: u32,
}

impl Settings for Options {
    const INFO: &'static Discipline = &INFO;
    const OPTIONS: &'static [Setting<Self>] = &[
        OptionSpec {
            name: "every",
            values: table::TIME_ABOVE_ZERO,
            preset: DefaultValue::Is("15s"),
            doc: "time from one boundary to the next",
            tried: &["every 1s", "every 30s"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.every = given.span()),
        OptionSpec {
            name: "at",
            values: table::TIME,
            preset: DefaultValue::Is("12s"),
            doc: "the first boundary, from the run's beginning: 12 s if that is a full minute",
            tried: &["at 0s", "at 5s"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.at = given.span()),
        OptionSpec {
            name: "outage_min",
            values: table::TIME,
            preset: DefaultValue::Is("0s"),
            doc: "the shortest silence after a boundary",
            tried: &["outage_min 20ms"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.outage_min = given.span()),
        OptionSpec {
            name: "outage",
            values: table::TIME,
            preset: DefaultValue::Is("100ms"),
            doc: "the longest silence; each is drawn uniformly, and is at least `outage_min`",
            tried: &["outage 20ms", "outage 1s"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.outage = given.span()),
        OptionSpec {
            name: "chance",
            values: PERCENT,
            preset: DefaultValue::Is("100%"),
            doc: "the chance that a boundary changes the satellite, and falls silent",
            tried: &["chance 50%"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.chance = given.probability(0).unwrap_or(1.0)),
        OptionSpec {
            name: "loss",
            values: PERCENT,
            preset: DefaultValue::Is("0%"),
            doc: "the chance that a packet is lost outside of the silences",
            tried: &["loss 1%"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.loss = given.probability(0).unwrap_or(0.0)),
        OptionSpec {
            name: "seed",
            values: &[ValueSpec {
                name: "NUMBER",
                kind: Kind::Count { unit: "", min: 0, max: u32::MAX as u64 },
                optional: false,
            }],
            preset: DefaultValue::Is("1"),
            doc: "which one of the possible links, the same for each seed of a run",
            tried: &["seed 2"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.seed = given.number()),
    ];
    const CHANGE_STARTS_AFRESH: bool = false;

    fn blank(_profile: &QdiscQuirks) -> Self {
        Self {
            every: Span::ZERO,
            at: Span::ZERO,
            outage_min: Span::ZERO,
            outage: Span::ZERO,
            chance: 0.0,
            loss: 0.0,
            seed: 0,
        }
    }
}

/// The element.
#[derive(Clone, Debug)]
pub struct Handover {
    options: Options,
    /// The boundaries so far, and the end of the last one's silence.
    boundaries: u64,
    silent_until: Time,
}

impl NamedElement for Handover {
    type Options = Options;

    fn new(options: Options) -> Self {
        Self { options, boundaries: 0, silent_until: Time::ZERO }
    }
}

impl Handover {
    /// The silence of a boundary: none if its satellite stays.
    fn silence(&self, number: u64) -> Span {
        let Options { outage_min, outage, chance, seed, .. } = self.options;
        let mut random = Random::named(seed.into(), &format!("handover/{number}"));
        if random.unit() >= chance {
            return Span::ZERO;
        }
        sample::uniform(outage_min, outage.max(outage_min), &mut random)
    }

    /// Passes the boundaries up to now. The silence lasts until the latest end of them.
    fn advance(&mut self, now: Time) {
        let Options { every, at, .. } = self.options;
        let since = now.as_nanos().checked_sub(at.as_nanos());
        let passed = since.map_or(0, |since| since / every.as_nanos().max(1) + 1);
        while self.boundaries < passed {
            let begun = Time::ZERO + at + every * self.boundaries;
            let until = begun + self.silence(self.boundaries);
            self.silent_until = self.silent_until.max(until);
            self.boundaries += 1;
        }
    }
}

impl PathElement for Handover {
    fn pass(&mut self, now: Time, _packet: &mut dyn PathPacket, random: &mut Random) -> Verdict {
        self.advance(now);
        let lost = self.options.loss > 0.0 && random.unit() < self.options.loss;
        if now < self.silent_until || lost { Verdict::Dropped(HANDOVER) } else { Verdict::Passes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Elements;
    use crate::testing::Walker;

    /// A packet each 10 ms until 60 s: the times of those that are lost, milliseconds.
    fn lost(words: &str, seed: u64) -> Vec<u64> {
        let mut element = Elements::built_in().build(words).expect("the words are right");
        let mut random = Random::named(seed, "test");
        let mut packet = Walker::default();
        let mut passes = |millis: &u64| {
            element.pass(Time::from_millis(*millis), &mut packet, &mut random) == Verdict::Passes
        };
        (0..60_000).step_by(10).filter(|millis| !passes(millis)).collect()
    }

    /// Boundaries at 12, 27, 42 and 57 s, each with 50 ms of silence: five packets of 10 ms.
    #[test]
    fn it_is_silent_after_each_boundary() {
        let gone = lost("handover outage_min 50ms outage 50ms", 1);
        let expected: Vec<u64> = [12_000, 27_000, 42_000, 57_000]
            .into_iter()
            .flat_map(|from| (0..5).map(move |n| from + 10 * n))
            .collect();
        assert_eq!(gone, expected);
        assert_eq!(
            lost("handover every 20s at 0s outage_min 10ms outage 10ms", 1),
            [0, 20_000, 40_000]
        );
    }

    /// Silences of 20 to 100 ms take 2 to 10 packets each. They are the words', not the run's; another seed has others.
    #[test]
    fn silences_are_drawn_by_the_words() {
        let words = "handover every 1s at 1s outage_min 20ms outage 100ms";
        let one = lost(words, 1);
        assert_eq!(one, lost(words, 2));
        assert_ne!(one, lost(&format!("{words} seed 2"), 1));
        let mut counts = [0_usize; 60];
        for millis in &one {
            counts[(millis / 1_000) as usize] += 1;
        }
        assert_eq!(counts[0], 0);
        assert!(counts[1..].iter().all(|n| (2..=10).contains(n)), "{counts:?}");
        // The mean of 59 silences is near 60 ms, six packets.
        let mean = one.len() as f64 / 59.0;
        assert!((5.0..7.0).contains(&mean), "{mean}");
    }

    /// Half of the boundaries change the satellite; and a packet in a hundred is lost in between.
    #[test]
    fn chances() {
        let gone = lost("handover every 1s at 1s outage_min 10ms outage 10ms chance 50%", 1);
        assert!((20..=40).contains(&gone.len()), "{}", gone.len());
        let gone = lost("handover at 100s loss 1%", 1);
        assert!((30..=90).contains(&gone.len()), "{}", gone.len());
        assert!(lost("handover at 100s", 1).is_empty());
    }

    /// A silence that is longer than the interval lasts on.
    #[test]
    fn silences_may_overlap() {
        let gone = lost("handover every 1s at 10s outage_min 1500ms outage 1500ms", 1);
        assert_eq!(gone.first(), Some(&10_000));
        assert_eq!(gone.len(), 5_000);
    }
}
