//! A link that is open in slots: for `open` of every `every` it sends at the hop's rate, and in between not at all.
//!
//! Links with periodic grants behave so: time-division uplinks, satellite slots, power-saving radios. RFC 9743 §7.3 wants controls
//! evaluated over such links. It is a model of the access alone: slots are regular, begin with the run (or `offset` later), and
//! nobody has to ask for one.
//!
//! ```text
//! a packet begins only inside a slot, and only if its last bit leaves before the slot ends; one that is longer than a slot
//! begins at the start of one and runs over
//! ```
//!
//! Invariant: order of arrival; the mean rate is at most `rate · open / every`.

use crate::link::{Fate, Link, NamedLink};
use sojourn_qdisc::table::{DefaultValue, Kind, OptionSpec, ValueSpec};
use sojourn_qdisc::{Backlog, Discipline, QdiscQuirks, Setting, Settings, options_of};
use sojourn_units::{Random, Rate, Serializer, Span, Time};

const TIME: &[ValueSpec] = &[ValueSpec {
    name: "TIME",
    kind: Kind::Span { min: 1_000, max: 60_000_000_000 },
    optional: false,
}];

/// Its table.
pub const INFO: Discipline = Discipline {
    name: "slotted",
    summary: "open for a part of each period, at the hop's rate",
    source: "a model of periodic grants (RFC 9743 §7.3)",
    options: options_of!(Options),
    examples: &["slotted every 5ms open 1ms", "slotted every 20ms open 10ms offset 3ms"],
    ..Discipline::BASE
};

/// The options.
#[derive(Clone, Debug)]
pub struct Options {
    every: Span,
    open: Span,
    offset: Span,
}

impl Settings for Options {
    const INFO: &'static Discipline = &INFO;
    const OPTIONS: &'static [Setting<Self>] = &[
        OptionSpec {
            name: "every",
            values: TIME,
            preset: DefaultValue::Required,
            doc: "from the beginning of a slot to that of the next",
            tried: &["every 5ms", "every 40ms"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.every = given.span()),
        OptionSpec {
            name: "open",
            values: TIME,
            preset: DefaultValue::Required,
            doc: "length of a slot; the period's if it is longer",
            tried: &["open 1ms", "open 4ms"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.open = given.span()),
        OptionSpec {
            name: "offset",
            values: TIME,
            preset: DefaultValue::Unset("the run's"),
            doc: "beginning of the first slot",
            tried: &["offset 2ms"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.offset = given.span()),
    ];
    const CHANGE_STARTS_AFRESH: bool = false;

    fn blank(_profile: &QdiscQuirks) -> Self {
        Self { every: Span::ZERO, open: Span::ZERO, offset: Span::ZERO }
    }
}

/// The link.
#[derive(Clone, Debug)]
pub struct Slotted {
    every: u64,
    open: u64,
    offset: u64,
    rate: Rate,
    line: Serializer,
    /// When the last bit of the last packet leaves.
    free: Time,
}

impl NamedLink for Slotted {
    type Options = Options;

    fn new(options: Options, rate: Rate, _random: Random) -> Self {
        let every = options.every.as_nanos();
        let open = options.open.as_nanos().min(every);
        let (offset, line) = (options.offset.as_nanos() % every, Serializer::new(rate));
        Self { every, open, offset, rate, line, free: Time::ZERO }
    }
}

impl Slotted {
    /// The beginning of the slot that is open at a time, or of the next one.
    fn slot(&self, at: Time) -> u64 {
        let Some(since) = at.as_nanos().checked_sub(self.offset) else { return self.offset };
        let begun = self.offset + since - since % self.every;
        if at.as_nanos() < begun + self.open { begun } else { begun + self.every }
    }
}

impl Link for Slotted {
    fn ready(&mut self, now: Time, waiting: Backlog) -> Time {
        let from = now.max(self.free);
        let slot = self.slot(from);
        let begin = from.as_nanos().max(slot);
        // The mean length of what waits stands for the first packet's.
        let mean = waiting.bytes.div_ceil(u64::from(waiting.packets.max(1)));
        let end = begin + self.rate.time_for(mean).as_nanos();
        if end > slot + self.open && begin > slot {
            return Time::from_nanos(self.slot(Time::from_nanos(slot + self.every)));
        }
        Time::from_nanos(begin)
    }

    fn take(&mut self, now: Time, bytes: u32, _left: Backlog) -> Fate {
        self.free = self.line.finish(now, u64::from(bytes));
        Fate::Arrives(self.free)
    }

    fn set_rate(&mut self, rate: Rate) -> bool {
        (self.rate, self.line) = (rate, Serializer::new(rate));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 12 Mbit/s: 1500 bytes take a millisecond.
    fn link(every: u64, open: u64, offset: u64) -> Slotted {
        let ms = Span::from_millis;
        let options = Options { every: ms(every), open: ms(open), offset: ms(offset) };
        Slotted::new(options, Rate::from_mbit(12), Random::named(0, "slots"))
    }

    const ONE: Backlog = Backlog { packets: 1, bytes: 1500 };

    /// Begin and end of packets that wait from the beginning, in milliseconds.
    fn sent(link: &mut Slotted, packets: u32) -> Vec<(u64, u64)> {
        let mut now = Time::ZERO;
        let ms = |t: Time| t.as_nanos() / 1_000_000;
        let mut one = || {
            now = link.ready(now, ONE);
            let Fate::Arrives(at) = link.take(now, 1500, ONE) else { unreachable!() };
            (ms(now), ms(at))
        };
        (0..packets).map(|_| one()).collect()
    }

    #[test]
    fn two_packets_fit_a_slot_of_two_milliseconds() {
        assert_eq!(sent(&mut link(5, 2, 0), 5), [(0, 1), (1, 2), (5, 6), (6, 7), (10, 11)]);
        assert_eq!(sent(&mut link(5, 2, 3), 3), [(3, 4), (4, 5), (8, 9)]);
    }

    #[test]
    fn a_packet_longer_than_a_slot_runs_over_its_end() {
        let mut short = link(5, 1, 0);
        short.set_rate(Rate::from_mbit(6));
        assert_eq!(sent(&mut short, 2), [(0, 2), (5, 7)]);
    }

    #[test]
    fn one_that_is_always_open_is_a_line() {
        assert_eq!(sent(&mut link(3, 3, 0), 4), [(0, 1), (1, 2), (2, 3), (3, 4)]);
        assert_eq!(sent(&mut link(3, 9, 0), 2), [(0, 1), (1, 2)]);
    }

    #[test]
    fn a_packet_that_comes_between_slots_waits_for_the_next() {
        let mut slotted = link(5, 1, 0);
        for (now, at) in [(500, 5_000), (1_000, 5_000), (4_999, 5_000), (5_000, 5_000)] {
            let now = Time::ZERO + Span::from_micros(now);
            assert_eq!(slotted.ready(now, ONE).as_nanos(), at * 1_000);
        }
    }
}
