//! A terminal's share of a cell, LTE or 5G: blocks once per transmission interval, retransmissions that hold back their successors, and,
//! upstream, requests before grants.
//!
//! Sources: 3GPP TS 36.213 and 36.321 for an FDD carrier, as ns-3's LTE module states them (a grant is four subframes before its block; a
//! retransmission comes eight subframes after its block; scheduling requests every 1 to 80 ms). 5G is the same with shorter intervals.
//!
//! ```text
//! block       the bytes of one interval at the hop's rate, cut anywhere; taken at its beginning, delivered at its end
//! schedule    each interval is the terminal's with probability 1/(users + 1)
//! HARQ        a block fails with `bler`, at most three more times, `harq` later each; then RLC repeats it after `rlc`
//! upstream    with an empty buffer a packet waits for the next request opportunity; then, and for the backlog that each block
//!             reports, the grant's block is eight intervals later
//! ```
//!
//! Approximations: the rate does not fade (an event changes it); other terminals are a coin, where a scheduler would follow their fading;
//! all attempts fail with the same probability; nobody uses a grant that the terminal no longer needs.
//!
//! Invariant: packets keep their order (RLC delivers in order, so a block waits for a retransmission before it).

use crate::link::{Fate, Link, NamedLink};
use crate::requests::Requests;
use sojourn_qdisc::table::{DefaultValue, Kind, OptionSpec, ValueSpec};
use sojourn_qdisc::{Backlog, Discipline, QdiscQuirks, Setting, Settings, options_of};
use sojourn_units::{Random, Rate, Span, Time};

/// Intervals from a request to its block: four to the grant, four from there.
const GRANT: u64 = 8;
/// Transmissions of a block (`maxHARQ-Tx`, usually 4).
const ATTEMPTS: u32 = 4;

const TIME: &[ValueSpec] = &[ValueSpec {
    name: "TIME",
    kind: Kind::Span { min: 1_000, max: 1_000_000_000 },
    optional: false,
}];

/// Its table.
pub const INFO: Discipline = Discipline {
    name: "lte",
    summary: "a terminal in an LTE or 5G cell: blocks, HARQ, scheduling requests, at the hop's rate",
    source: "3GPP TS 36.213 and 36.321 (FDD), as ns-3's LTE module has them",
    options: options_of!(Options),
    examples: &["lte", "lte sr 10ms users 3", "lte tti 500us harq 4ms bler 10%"],
    ..Discipline::BASE
};

/// The options.
#[derive(Clone, Debug)]
pub struct Options {
    tti: Span,
    users: u32,
    /// Thousandths.
    bler: u64,
    harq: Span,
    rlc: Span,
    sr: Option<Span>,
}

impl Settings for Options {
    const INFO: &'static Discipline = &INFO;
    const OPTIONS: &'static [Setting<Self>] = &[
        OptionSpec {
            name: "tti",
            values: TIME,
            preset: DefaultValue::Is("1ms"),
            doc: "transmission interval: a subframe of LTE, a slot of 5G",
            tried: &["tti 500us", "tti 125us"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.tti = given.span()),
        OptionSpec {
            name: "users",
            values: &[ValueSpec {
                name: "TERMINALS",
                kind: Kind::Count { unit: "terminals", min: 0, max: 1000 },
                optional: false,
            }],
            preset: DefaultValue::Is("0"),
            doc: "other terminals that always have data",
            tried: &["users 1", "users 9"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.users = given.number()),
        OptionSpec {
            name: "bler",
            values: &[ValueSpec { name: "PERCENT", kind: Kind::Percent, optional: false }],
            preset: DefaultValue::Is("10%"),
            doc: "blocks that fail; link adaptation usually aims at 10%",
            tried: &["bler 0%", "bler 30%"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| {
            options.bler = (given.probability(0).unwrap_or(0.0) * 1000.0).round() as u64;
        }),
        OptionSpec {
            name: "harq",
            values: TIME,
            preset: DefaultValue::Is("8ms"),
            doc: "from a block that fails to its retransmission",
            tried: &["harq 4ms"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.harq = given.span()),
        OptionSpec {
            name: "rlc",
            values: TIME,
            preset: DefaultValue::Is("50ms"),
            doc: "until RLC repeats a block that failed four times",
            tried: &["rlc 20ms"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.rlc = given.span()),
        OptionSpec {
            name: "sr",
            values: TIME,
            preset: DefaultValue::Unset("downstream, without requests"),
            doc: "upstream: period of scheduling requests, 1 to 80 ms",
            tried: &["sr 5ms", "sr 40ms"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.sr = Some(given.span())),
    ];
    const CHANGE_STARTS_AFRESH: bool = false;

    fn blank(_profile: &QdiscQuirks) -> Self {
        Self {
            tti: Span::from_millis(1),
            users: 0,
            bler: 100,
            harq: Span::from_millis(8),
            rlc: Span::from_millis(50),
            sr: None,
        }
    }
}

/// A block of this interval.
#[derive(Clone, Copy, Debug)]
struct Block {
    interval: u64,
    left: u64,
    arrives: u64,
}

/// The link.
#[derive(Clone, Debug)]
pub struct Lte {
    options: Options,
    rate: Rate,
    random: Random,
    /// The first interval without a decision.
    next: u64,
    block: Option<Block>,
    /// Requests arrive with the interval of their first block.
    requests: Requests,
    /// Bytes left of a packet that is cut.
    rest: u64,
}

impl NamedLink for Lte {
    type Options = Options;

    fn new(options: Options, rate: Rate, random: Random) -> Self {
        Self { options, rate, random, next: 0, block: None, requests: Requests::default(), rest: 0 }
    }
}

impl Lte {
    /// Decides about an interval, with the bytes that wait at its beginning.
    fn decide(&mut self, interval: u64, backlog: u64) {
        let queue_was_empty = interval > self.next;
        self.next = interval + 1;
        self.requests.arrive(interval);
        if queue_was_empty {
            // Blocks of the meantime found nothing to send.
            self.requests.answer(u64::MAX);
        }
        if self.options.sr.is_some() && self.requests.owed() == 0 {
            return self.request(interval, backlog);
        }
        if self.random.below(u64::from(self.options.users) + 1) > 0 {
            return;
        }
        let bytes = self.rate.bytes_in(self.options.tti).max(1);
        self.requests.answer(bytes);
        if self.options.sr.is_some() {
            self.report(interval, backlog.saturating_sub(bytes));
        }
        let arrives = (interval + 1) * self.options.tti.as_nanos() + self.repeats();
        self.block = Some(Block { interval, left: bytes, arrives });
    }

    /// A scheduling request, if this interval has the opportunity and none is on its way.
    fn request(&mut self, interval: u64, backlog: u64) {
        let period = self.options.sr.unwrap_or(Span::ZERO).as_nanos() / self.options.tti.as_nanos();
        if self.requests.outstanding() == 0 && interval.is_multiple_of(period.max(1)) {
            self.report(interval, backlog);
        }
    }

    /// Reports bytes that no request or grant covers to the base station.
    fn report(&mut self, interval: u64, backlog: u64) {
        let more = backlog.saturating_sub(self.requests.outstanding());
        self.requests.send(interval + GRANT, more);
    }

    /// How long a block's retransmissions take.
    fn repeats(&mut self) -> u64 {
        let mut fails = 0;
        while fails < ATTEMPTS && self.random.below(1000) < self.options.bler {
            fails += 1;
        }
        let last = if fails == ATTEMPTS { self.options.rlc.as_nanos() } else { 0 };
        u64::from(fails.min(ATTEMPTS - 1)) * self.options.harq.as_nanos() + last
    }

    fn send(&mut self, bytes: u64) -> Fate {
        let block = self.block.as_mut().expect("the link is ready in a block alone");
        let sent = bytes.min(block.left);
        block.left -= sent;
        self.rest = bytes - sent;
        if self.rest > 0 { Fate::Cut } else { Fate::Arrives(Time::from_nanos(block.arrives)) }
    }
}

impl Link for Lte {
    fn ready(&mut self, now: Time, waiting: Backlog) -> Time {
        let tti = self.options.tti.as_nanos();
        let interval = now.as_nanos() / tti;
        if now.as_nanos().is_multiple_of(tti) {
            if interval >= self.next {
                self.decide(interval, waiting.bytes + self.rest);
            }
            if self.block.is_some_and(|block| block.interval == interval && block.left > 0) {
                return now;
            }
        }
        Time::from_nanos((interval + 1) * tti)
    }

    fn take(&mut self, _now: Time, bytes: u32, _left: Backlog) -> Fate {
        self.send(u64::from(bytes))
    }

    fn resume(&mut self, _now: Time) -> Fate {
        self.send(self.rest)
    }

    fn set_rate(&mut self, rate: Rate) -> bool {
        self.rate = rate;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Modem;

    const MS: u64 = 1_000_000;

    /// 12 Mbit/s: a block of a millisecond has 1500 bytes.
    fn link(words: &str) -> Lte {
        crate::testing::link(words, Rate::from_mbit(12))
    }

    #[test]
    fn a_block_leaves_at_an_interval_s_beginning_and_arrives_at_its_end() {
        let mut modem = Modem::new(link("lte bler 0%"));
        modem.arrive(10 * MS + 1, 3);
        modem.until(100 * MS);
        assert_eq!(modem.sent, [(11 * MS, 12 * MS), (12 * MS, 13 * MS), (13 * MS, 14 * MS)]);
        // Blocks of 750 bytes cut each packet.
        let mut half = Modem::new(link("lte bler 0% tti 500us"));
        half.arrive(10 * MS, 2);
        half.until(100 * MS);
        assert_eq!(half.sent, [(10 * MS, 11 * MS), (11 * MS, 12 * MS)]);
    }

    #[test]
    fn a_block_that_fails_comes_eight_milliseconds_later_and_after_four_times_by_rlc() {
        let mut modem = Modem::new(link("lte bler 100%"));
        modem.arrive(10 * MS, 1);
        modem.until(200 * MS);
        assert_eq!(modem.sent, [(10 * MS, (11 + 3 * 8 + 50) * MS)]);
        let mut modem = Modem::new(link("lte"));
        for n in 0..20_000 {
            modem.arrive(n * 20 * MS, 1);
        }
        modem.until(500_000 * MS);
        // 1 ms, 8 ms for 0.111 retransmissions, 50 ms for one block in 10 000: 1.893 ms, three deviations of the mean are 0.06.
        let mean = modem.sent.iter().map(|(taken, at)| at - taken).sum::<u64>() / 20_000;
        assert!((1_833_000..1_953_000).contains(&mean), "{mean}");
    }

    #[test]
    fn other_terminals_take_their_share() {
        let mut modem = Modem::new(link("lte users 3"));
        modem.arrive(0, 100_000);
        modem.until(10_000 * MS);
        assert!((2_350..2_650).contains(&modem.sent.len()), "{}", modem.sent.len());
    }

    #[test]
    fn upstream_a_packet_waits_for_the_request_and_eight_intervals_for_its_block() {
        let mut modem = Modem::new(link("lte sr 10ms bler 0%"));
        modem.arrive(13 * MS, 1);
        modem.until(40 * MS);
        assert_eq!(modem.sent, [(28 * MS, 29 * MS)]);
        // A second one, with the first still in the buffer, needs no request of its own: the first block reports it.
        modem.sent.clear();
        modem.arrive(43 * MS, 1);
        modem.arrive(55 * MS, 1);
        modem.until(100 * MS);
        assert_eq!(modem.sent, [(58 * MS, 59 * MS), (66 * MS, 67 * MS)]);
        assert_eq!(modem.link.requests.outstanding(), 0);
    }

    #[test]
    fn upstream_a_full_buffer_keeps_the_rate() {
        let mut modem = Modem::new(link("lte sr 10ms bler 0%"));
        modem.arrive(0, 100_000);
        modem.until(10_000 * MS);
        assert!((9_980..=10_000).contains(&modem.sent.len()), "{}", modem.sent.len());
    }

    #[test]
    fn upstream_every_packet_is_sent() {
        let mut random = Random::named(7, "arrivals");
        let mut modem = Modem::new(link("lte sr 5ms users 2"));
        let mut at = 0;
        for _ in 0..3_000 {
            at += random.below(8 * MS);
            modem.arrive(at, random.below(4) as u32);
        }
        modem.until(at + 60_000 * MS);
        assert_eq!((modem.waiting, modem.cut), (0, false));
    }
}
