//! Periodic loss, or marks: the loss of models and tests, not of any link.
//!
//! Mathis, Semke, Mahdavi and Ott, "The macroscopic behavior of the TCP congestion avoidance algorithm" (Computer
//! Communication Review 27(3), 1997), derive the window of a sender by just this loss: it delivers `every` packets between two
//! losses. A run with it compares a congestion control with its own response function, without a queue and without chance.
//!
//! The counter includes all packets that pass it: of every flow that it is for, and of both directions if it is in
//! both. SYN and SYN/ACK segments are neither counted nor lost unless `syn` is given, since one lost at the beginning
//! costs a second and says nothing of the response function; nor are packets shorter than `least`.

use crate::PathPacket;
use crate::element::{NamedElement, PathElement, Verdict};
use sojourn_qdisc::table::{DefaultValue, Kind, OptionSpec, ValueSpec};
use sojourn_qdisc::{Discipline, QdiscQuirks, Reason, Setting, Settings, options_of};
use sojourn_units::{Random, Time};

/// What the recorder calls its drops and marks.
const PERIODIC: Reason = Reason::Custom("periodic_loss");

const NTH: &[ValueSpec] = &[ValueSpec {
    name: "PACKETS",
    kind: Kind::Count { unit: "packets", min: 1, max: u32::MAX as u64 },
    optional: false,
}];

/// Its table.
pub const INFO: Discipline = Discipline {
    name: "periodic_loss",
    summary: "drops, or marks, every n-th packet",
    source: "Mathis et al., The macroscopic behavior of the TCP congestion avoidance algorithm (CCR 27(3), 1997)",
    options: options_of!(Options),
    examples: &["periodic_loss every 100", "periodic_loss every 1 least 1000b mark"],
    ..Discipline::BASE
};

/// The options.
#[derive(Clone, Debug)]
pub struct Options {
    every: u32,
    first: Option<u32>,
    least: u32,
    mark: bool,
    syn: bool,
}

impl Settings for Options {
    const INFO: &'static Discipline = &INFO;
    const OPTIONS: &'static [Setting<Self>] = &[
        OptionSpec {
            name: "every",
            values: NTH,
            preset: DefaultValue::Required,
            doc: "every PACKETS-th packet is lost",
            tried: &["every 2", "every 100"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.every = given.number()),
        OptionSpec {
            name: "first",
            values: NTH,
            preset: DefaultValue::Unset("that of `every`"),
            doc: "the number of the first that is lost, counted from 1",
            tried: &["first 1", "first 10"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.first = Some(given.number())),
        OptionSpec {
            name: "least",
            values: &[ValueSpec {
                name: "BYTES",
                kind: Kind::Size { min: 0, max: u32::MAX as u64 },
                optional: false,
            }],
            preset: DefaultValue::Is("0b"),
            doc: "packets with a shorter transport header and payload pass uncounted",
            tried: &["least 100b"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.least = given.number()),
        OptionSpec {
            name: "mark",
            preset: DefaultValue::Unset("dropped"),
            doc: "set CE on ECN-capable packets instead of dropping them",
            tried: &["mark"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.mark = given.on),
        OptionSpec {
            name: "syn",
            preset: DefaultValue::Unset("they pass uncounted"),
            doc: "SYN and SYN/ACK segments count, too",
            tried: &["syn"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.syn = given.on),
    ];
    const CHANGE_STARTS_AFRESH: bool = false;

    fn blank(_profile: &QdiscQuirks) -> Self {
        Self { every: 0, first: None, least: 0, mark: false, syn: false }
    }
}

/// The counter.
#[derive(Clone, Debug)]
pub struct PeriodicLoss {
    options: Options,
    /// This many more pass before the next that is lost.
    left: u32,
}

impl NamedElement for PeriodicLoss {
    type Options = Options;

    fn new(options: Options) -> Self {
        let left = options.first.unwrap_or(options.every) - 1;
        Self { options, left }
    }
}

impl PathElement for PeriodicLoss {
    fn pass(&mut self, _now: Time, packet: &mut dyn PathPacket, _random: &mut Random) -> Verdict {
        let options = &self.options;
        if packet.l4_len() < options.least || (packet.is_syn() && !options.syn) {
            return Verdict::Passes;
        }
        if self.left > 0 {
            self.left -= 1;
            return Verdict::Passes;
        }
        self.left = options.every - 1;
        if options.mark && packet.set_ce() {
            return Verdict::Marked(PERIODIC);
        }
        Verdict::Dropped(PERIODIC)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Elements;
    use crate::testing::Walker;
    use sojourn_units::Ecn;

    /// What becomes of packets that pass one after the other.
    fn fates(words: &str, packets: impl IntoIterator<Item = Walker>) -> String {
        let mut element = Elements::built_in().build(words).expect("the words are right");
        let mut random = Random::named(1, "test");
        let fate = |mut packet: Walker| {
            let verdict = element.pass(Time::ZERO, &mut packet, &mut random);
            match verdict {
                Verdict::Passes => '.',
                Verdict::Marked(reason) => {
                    assert_eq!((reason.name(), packet.ecn), ("periodic_loss", Ecn::Ce));
                    'm'
                }
                Verdict::Dropped(_) => 'x',
            }
        };
        packets.into_iter().map(fate).collect()
    }

    fn plain(n: usize) -> Vec<Walker> {
        vec![Walker::default(); n]
    }

    #[test]
    fn one_in_every_so_many_is_lost() {
        assert_eq!(fates("periodic_loss every 3", plain(8)), "..x..x..");
        assert_eq!(fates("periodic_loss every 3 first 1", plain(8)), "x..x..x.");
        assert_eq!(fates("periodic_loss every 2 first 5", plain(8)), "....x.x.");
        assert_eq!(fates("periodic_loss every 1", plain(3)), "xxx");
    }

    #[test]
    fn what_does_not_count_passes() {
        let syn = Walker { syn: true, ..Walker::default() };
        let ack = Walker { wire_len: 66, ..Walker::default() };
        let mixed = || [syn.clone(), Walker::default(), ack.clone(), Walker::default()];
        assert_eq!(fates("periodic_loss every 2", mixed()), "..x.");
        assert_eq!(fates("periodic_loss every 2 syn", mixed()), ".x.x");
        assert_eq!(fates("periodic_loss every 2 least 100b", mixed()), "...x");
    }

    /// Packets with CE stay so, and packets that cannot be marked are lost.
    #[test]
    fn marks_what_can_be_marked() {
        let packets = [Ecn::Ect0, Ecn::Ect1, Ecn::NotEct, Ecn::Ce]
            .map(|ecn| Walker { ecn, ..Walker::default() });
        assert_eq!(fates("periodic_loss every 1 mark", packets), "mmxm");
    }

    #[test]
    fn it_needs_a_period() {
        let says = |words| Elements::built_in().build(words).expect_err("it is wrong").to_string();
        assert!(says("periodic_loss").starts_with("periodic_loss needs \"every\""));
        assert!(says("periodic_loss every 0").starts_with("\"every\": 0 is out of range"));
    }
}
