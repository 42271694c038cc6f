//! A cable modem's upstream: a packet needs a grant, and a grant needs a request.
//!
//! The termination system (CMTS) divides time into MAP intervals and announces the grants of each in advance. The modem requests bytes
//! for its backlog: with each grant that it uses, or in a contention opportunity if an interval has no grant for it. The timing follows
//! the model of DOCSIS 3.1 that `CableLabs` publishes for ns-3 (docsis-ns3, "Model Overview" and "System Configuration", commit 02aa242,
//! one service flow on an OFDMA channel of 96 MHz); its constants are the defaults here.
//!
//! ```text
//! request    sent at a grant, or at a random time of an interval without one; at the CMTS after plant/2 + 3 frames
//! MAP        made 200 µs + 3 downstream symbols + interleaver + plant/2 + (600 µs + 7/6 frame) before its interval: 1.11 ms
//! grant      min(requested, MSR bucket, peak · interval, free minislots), in whole minislots, at a random place in the interval
//! packet     taken one frame before the grant; at the CMTS plant/2 + 1 frame after its last byte. Grants cut packets anywhere
//! buckets    the hop's rate and `peak`, times 210/200 for the MAC headers of packets of 200 bytes, as that CMTS has it
//! ```
//!
//! Approximations, as there: contention always succeeds; segment headers take no bytes; other modems are a random part of the channel
//! (`free`, `vary`). One service flow: `pgs` grants serve any packet, so put `dualpi2` in front for Low Latency DOCSIS.
//!
//! Invariants: packets keep their order; a byte leaves in one grant; turns are in the order of time.

use crate::link::{Fate, Link, NamedLink};
use crate::requests::Requests;
use core::iter::successors;
use sojourn_qdisc::table::{DefaultValue, Kind, OptionSpec, RATE, ValueSpec};
use sojourn_qdisc::{Backlog, Discipline, QdiscQuirks, Setting, Settings, options_of};
use sojourn_units::{Random, Rate, Span, Time};
use std::collections::VecDeque;

/// An OFDMA frame: six symbols of 20 µs with cyclic prefixes of 2.5 µs.
const FRAME: u64 = 135_000;
/// Minislots of a frame, and the bytes of each: 1880 subcarriers in groups of eight, 10 bits each, a fifth of them redundancy.
const SLOTS: u64 = 235;
const SLOT_BYTES: u64 = 48;
/// A downstream symbol: 20 µs and a cyclic prefix of 2.5 µs.
const DOWN_SYMBOL: u64 = 22_500;
/// The downstream interleaver has a depth of three.
const INTERLEAVER: u64 = 2 * DOWN_SYMBOL;
/// How long the CMTS and the modem process a MAP.
const CMTS_MAP: u64 = 200_000;
const MODEM_MAP: u64 = 600_000 + FRAME * 7 / 6;
/// Frames in which the modem prepares a transmission, and in which the CMTS decodes it.
const PREPARE: u64 = FRAME;
const DECODE: u64 = FRAME;
/// Bytes that a frame has beyond [`Link::take`]'s: the MAC header and Ethernet's checksum.
const PER_PACKET: u64 = 10 + 4;
/// The token buckets' factor for MAC headers.
const INFLATED: (u128, u128) = (210, 200);

const TIME: &[ValueSpec] = &[ValueSpec {
    name: "TIME",
    kind: Kind::Span { min: FRAME, max: 100_000_000 },
    optional: false,
}];

/// Its table.
pub const INFO: Discipline = Discipline {
    name: "docsis",
    summary: "a cable modem's upstream: requests and grants; the hop's rate is the maximum sustained rate",
    source: "CableLabs' docsis-ns3 model of DOCSIS 3.1",
    options: options_of!(Options),
    examples: &["docsis", "docsis map 1ms", "docsis map 1ms pgs 5mbit free 100mbit vary 50%"],
    ..Discipline::BASE
};

/// The options.
#[derive(Clone, Debug)]
pub struct Options {
    map: Span,
    peak: Option<Rate>,
    burst: Span,
    pgs: Rate,
    ggi: Option<Span>,
    free: Option<Rate>,
    vary: u64,
    plant: Span,
}

impl Settings for Options {
    const INFO: &'static Discipline = &INFO;
    const OPTIONS: &'static [Setting<Self>] = &[
        OptionSpec {
            name: "map",
            values: TIME,
            preset: DefaultValue::Is("2ms"),
            doc: "MAP interval, rounded to frames of 135 us; usually 1 to 2 ms",
            tried: &["map 1ms", "map 4ms"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.map = given.span()),
        OptionSpec {
            name: "peak",
            values: RATE,
            preset: DefaultValue::Unset("twice the hop's rate"),
            doc: "peak rate: bytes of one interval's grants",
            tried: &["peak 30mbit"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.peak = Some(given.rate())),
        OptionSpec {
            name: "burst",
            values: &[ValueSpec {
                name: "TIME",
                kind: Kind::Span { min: 1_000_000, max: 10_000_000_000 },
                optional: false,
            }],
            preset: DefaultValue::Is("100ms"),
            doc: "maximum traffic burst, as time at the hop's rate",
            tried: &["burst 10ms", "burst 1s"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.burst = given.span()),
        OptionSpec {
            name: "pgs",
            values: RATE,
            preset: DefaultValue::Unset("no proactive grants"),
            doc: "guaranteed grant rate: bytes that nobody has to request",
            tried: &["pgs 1mbit", "pgs 20mbit"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.pgs = given.rate()),
        OptionSpec {
            name: "ggi",
            values: TIME,
            preset: DefaultValue::Unset("the MAP interval"),
            doc: "guaranteed grant interval of pgs, rounded down to frames",
            tried: &["ggi 135us", "ggi 4ms"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.ggi = Some(given.span())),
        OptionSpec {
            name: "free",
            values: RATE,
            preset: DefaultValue::Unset("the channel's 668 Mbit/s"),
            doc: "mean rate that other modems leave; grants on request share it",
            tried: &["free 30mbit"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.free = Some(given.rate())),
        OptionSpec {
            name: "vary",
            values: &[ValueSpec { name: "PERCENT", kind: Kind::Percent, optional: false }],
            preset: DefaultValue::Is("0%"),
            doc: "how far free varies, evenly, from interval to interval",
            tried: &["vary 50%"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| {
            options.vary = (given.probability(0).unwrap_or(0.0) * 1000.0).round() as u64;
        }),
        OptionSpec {
            name: "plant",
            values: &[ValueSpec {
                name: "TIME",
                kind: Kind::Span { min: 0, max: 20_000_000 },
                optional: false,
            }],
            preset: DefaultValue::Is("80us"),
            doc: "round trip of the plant; packets take half of it (8 km: 80 us)",
            tried: &["plant 0", "plant 800us"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.plant = given.span()),
    ];
    const CHANGE_STARTS_AFRESH: bool = false;

    fn blank(_profile: &QdiscQuirks) -> Self {
        Self {
            map: Span::from_millis(2),
            peak: None,
            burst: Span::from_millis(100),
            pgs: Rate::ZERO,
            ggi: None,
            free: None,
            vary: 0,
            plant: Span::from_micros(80),
        }
    }
}

/// Bytes that the modem may send from a time on.
#[derive(Clone, Copy, Debug)]
struct Grant {
    start: u64,
    bytes: u64,
    /// How much of it answers requests.
    answers: u64,
    used: u64,
}

/// A part of an interval's schedule that the modem acts on.
#[derive(Clone, Copy, Debug)]
enum Turn {
    Use(Grant),
    /// A contention opportunity.
    Ask(u64),
}

impl Turn {
    /// When the modem acts.
    fn at(&self) -> u64 {
        match self {
            Self::Use(grant) => grant.start.saturating_sub(PREPARE),
            Self::Ask(at) => *at,
        }
    }
}

/// The link.
#[derive(Clone, Debug)]
pub struct Docsis {
    options: Options,
    rate: Rate,
    random: Random,
    /// Length of an interval, and the number of the one that the next MAP is about.
    interval: u64,
    next: u64,
    /// The modem's requests, and the bucket of the CMTS.
    requests: Requests,
    tokens: i128,
    /// The modem: announced turns, the grant in use, bytes left of a packet that is cut.
    turns: VecDeque<Turn>,
    open: Option<Grant>,
    rest: u64,
}

/// Of the bucket: millionths of a byte, so that its rate is exact enough for hours.
const TOKEN: i128 = 1_000_000;

impl NamedLink for Docsis {
    type Options = Options;

    fn new(options: Options, rate: Rate, random: Random) -> Self {
        let frames = (options.map.as_nanos() + FRAME / 2) / FRAME;
        let mut made = Self {
            options,
            rate,
            random,
            interval: frames.max(1) * FRAME,
            next: 1,
            requests: Requests::default(),
            tokens: 0,
            turns: VecDeque::new(),
            open: None,
            rest: 0,
        };
        made.tokens = made.most_tokens();
        made
    }
}

impl Docsis {
    /// How long before its interval a MAP is made.
    fn lead(&self) -> u64 {
        MODEM_MAP + INTERLEAVER + 3 * DOWN_SYMBOL + self.options.plant.as_nanos() / 2 + CMTS_MAP
    }

    /// How long a request takes from the modem to the CMTS.
    fn request_delay(&self) -> u64 {
        self.options.plant.as_nanos() / 2 + PREPARE + FRAME + DECODE
    }

    /// When the MAP of an interval is made.
    fn made(&self, interval: u64) -> u64 {
        (interval * self.interval).saturating_sub(self.lead())
    }

    fn bucket(rate: Rate, span: u64) -> i128 {
        let bits = u128::from(rate.bits_per_sec()) * u128::from(span) * INFLATED.0 / INFLATED.1;
        (bits / 8_000) as i128
    }

    fn most_tokens(&self) -> i128 {
        Self::bucket(self.rate, self.options.burst.as_nanos())
    }

    /// Makes all MAPs up to a time.
    fn schedule(&mut self, now: u64) {
        // Intervals without requests need no schedule, unless their grants are proactive or the modem may want to ask.
        if self.requests.outstanding() == 0 {
            let newest = (now + self.lead()) / self.interval;
            // These may still have turns in the future.
            let kept = self.lead() / self.interval + 2;
            let skipped = newest.saturating_sub(self.next).saturating_sub(kept);
            self.fill(skipped);
            self.next += skipped;
        }
        while self.made(self.next) <= now {
            self.fill(1);
            self.announce();
            self.next += 1;
        }
    }

    /// Fills the bucket for a number of intervals.
    fn fill(&mut self, intervals: u64) {
        let more = Self::bucket(self.rate, self.interval) * i128::from(intervals);
        self.tokens = (self.tokens + more).min(self.most_tokens());
    }

    /// Makes the next MAP.
    fn announce(&mut self) {
        let (begin, made) = (self.next * self.interval, self.made(self.next));
        self.requests.arrive(made);
        let mut grants = self.proactive(begin);
        let proactive: u64 = grants.iter().map(|grant| grant.bytes).sum();
        let all = self.interval / FRAME * SLOTS;
        let peak =
            self.options.peak.unwrap_or(Rate::from_bits_per_sec(self.rate.bits_per_sec() * 2));
        let tokens = self.tokens.min(Self::bucket(peak, self.interval)).max(0) / TOKEN;
        let wanted = self.requests.owed().min(tokens as u64);
        let slots = wanted.div_ceil(SLOT_BYTES).min(self.free(all));
        let extra = (slots * SLOT_BYTES).saturating_sub(proactive);
        if let Some(first) = grants.first_mut() {
            first.bytes += extra;
        } else if extra > 0 {
            let slots = extra / SLOT_BYTES;
            let place = self.random.below(all - slots + 1);
            let start = begin + place * FRAME / SLOTS;
            grants.push(Grant { start, bytes: extra, answers: 0, used: 0 });
        }
        let mut end = 0;
        for mut grant in grants.iter().copied() {
            // One grant never begins before the last has ended.
            grant.start = grant.start.max(end);
            end = grant.start + length(grant.bytes);
            grant.answers = self.requests.answer(grant.bytes);
            self.tokens -= i128::from(grant.bytes) * TOKEN;
            self.plan(Turn::Use(grant));
        }
        if grants.is_empty() {
            let at = begin + self.random.below(self.interval);
            self.plan(Turn::Ask(at));
        }
    }

    /// Adds a turn. The modem prepares for a grant at the beginning of an interval before the last one has ended.
    fn plan(&mut self, turn: Turn) {
        let place = self.turns.partition_point(|other| other.at() <= turn.at());
        self.turns.insert(place, turn);
    }

    /// The proactive grants of an interval.
    fn proactive(&self, begin: u64) -> Vec<Grant> {
        if self.options.pgs.is_zero() {
            return Vec::new();
        }
        let every = self.options.ggi.map_or(self.interval, |ggi| ggi.as_nanos() / FRAME * FRAME);
        let slots = self.options.pgs.bytes_in(Span::from_nanos(every)).div_ceil(SLOT_BYTES);
        let slots = slots.clamp(1, every / FRAME * SLOTS);
        successors(Some(begin.next_multiple_of(every)), |start| Some(start + every))
            .take_while(|start| *start < begin + self.interval)
            .map(|start| Grant { start, bytes: slots * SLOT_BYTES, answers: 0, used: 0 })
            .collect()
    }

    /// Minislots that other modems leave in an interval of `all`.
    fn free(&mut self, all: u64) -> u64 {
        let Some(free) = self.options.free else { return all };
        let mean = free.bytes_in(Span::from_nanos(self.interval)) / SLOT_BYTES;
        let spread = mean * self.options.vary / 1000;
        let drawn =
            if spread == 0 { mean } else { mean - spread + self.random.below(2 * spread + 1) };
        drawn.min(all)
    }

    /// Acts on announced turns up to a time. `backlog` counts bytes with headers that wait at that time.
    fn act(&mut self, now: u64, backlog: u64) {
        while let Some(turn) = self.turns.front().copied().filter(|turn| turn.at() <= now) {
            self.turns.pop_front();
            // The port asks at every turn as long as packets wait. So nothing waited at one that has passed.
            let waits = if turn.at() == now { backlog } else { 0 };
            let granted = match turn {
                Turn::Use(grant) => {
                    self.close();
                    self.open = Some(grant);
                    grant.bytes
                }
                Turn::Ask(_) => 0,
            };
            let wanted = waits.saturating_sub(granted).saturating_sub(self.outstanding());
            self.requests.send(turn.at() + self.request_delay(), wanted);
            if turn.at() < now {
                self.close();
            }
        }
    }

    /// Bytes requested and not granted, or announced for a turn to come.
    fn outstanding(&self) -> u64 {
        let announced = self.turns.iter().map(|turn| match turn {
            Turn::Use(grant) => grant.answers,
            Turn::Ask(_) => 0,
        });
        self.requests.outstanding() + announced.sum::<u64>()
    }

    /// Gives back the tokens of bytes that the grant in use did not need.
    fn close(&mut self) {
        if let Some(grant) = self.open.take() {
            self.tokens += i128::from(grant.bytes - grant.used) * TOKEN;
            self.tokens = self.tokens.min(self.most_tokens());
        }
    }

    /// Sends bytes in the grant in use. The time at which the last one is at the CMTS, or none if they do not all fit.
    fn send(&mut self, bytes: u64) -> Fate {
        let grant = self.open.as_mut().expect("the link is ready in a grant alone");
        let sent = bytes.min(grant.bytes - grant.used);
        grant.used += sent;
        self.rest = bytes - sent;
        if self.rest > 0 {
            return Fate::Cut;
        }
        let left = grant.start + length(grant.used);
        Fate::Arrives(Time::from_nanos(left + self.options.plant.as_nanos() / 2 + DECODE))
    }
}

/// How long bytes take on the channel.
fn length(bytes: u64) -> u64 {
    (bytes * FRAME).div_ceil(SLOTS * SLOT_BYTES)
}

impl Link for Docsis {
    fn ready(&mut self, now: Time, waiting: Backlog) -> Time {
        let at = now.as_nanos();
        let backlog = waiting.bytes + u64::from(waiting.packets) * PER_PACKET + self.rest;
        if self.open.is_some_and(|grant| Turn::Use(grant).at() < at) {
            self.close();
        }
        self.schedule(at);
        self.act(at, backlog);
        if self.open.is_some_and(|grant| grant.used < grant.bytes) {
            return now;
        }
        let turn = self.turns.front().map_or(u64::MAX, Turn::at);
        Time::from_nanos(turn.min(self.made(self.next)).max(at + 1))
    }

    fn take(&mut self, _now: Time, bytes: u32, _left: Backlog) -> Fate {
        self.send(u64::from(bytes) + PER_PACKET)
    }

    fn resume(&mut self, _now: Time) -> Fate {
        self.send(self.rest)
    }

    fn set_rate(&mut self, rate: Rate) -> bool {
        self.rate = rate;
        self.tokens = self.tokens.min(self.most_tokens());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Modem;

    const US: u64 = 1_000;

    fn link(words: &str, rate: u64) -> Docsis {
        crate::testing::link(words, Rate::from_mbit(rate))
    }

    #[test]
    fn the_timing_is_that_of_the_published_model() {
        let docsis = link("docsis", 20);
        // 15 frames are nearest to 2 ms, 7 to 1 ms.
        assert_eq!(docsis.interval, 2_025 * US);
        assert_eq!(link("docsis map 1ms", 20).interval, 945 * US);
        // 757.5 µs for the modem ("on the order of 757 us"), 200 for the CMTS, 45 + 67.5 downstream, 40 of cable.
        assert_eq!(docsis.lead(), 1_110 * US);
        assert_eq!(docsis.request_delay(), 445 * US);
        // The channel's 668 Mbit/s: 235 minislots of 48 bytes a frame.
        assert_eq!(length(SLOTS * SLOT_BYTES), FRAME);
        assert_eq!(length(48), 575);
    }

    #[test]
    fn a_lone_packet_asks_and_waits_for_the_next_map() {
        for seed in 0..200 {
            let mut modem = Modem::new(link("docsis", 20));
            modem.link.random = Random::named(seed, "docsis");
            let at = 50_000 * US + seed * 10 * US;
            modem.arrive(at, 1);
            modem.until(100_000 * US);
            let [(taken, arrived)] = modem.sent[..] else { panic!("one packet") };
            // To the CMTS, until its next MAP, until that interval: no sooner than both delays, no later than an interval
            // until the opportunity, one more until the MAP, and one within the interval.
            let least = at + modem.link.request_delay() + modem.link.lead() - PREPARE;
            let interval = modem.link.interval;
            assert!((least..least + 3 * interval).contains(&taken), "{seed}: {}", taken - at);
            // 1514 bytes in its grant: 18.1 µs, half of the plant, a frame before and one after.
            assert_eq!(arrived - taken, PREPARE + length(1514) + 40 * US + DECODE);
        }
    }

    #[test]
    fn proactive_grants_need_no_request() {
        let mut modem = Modem::new(link("docsis pgs 8mbit", 20));
        for n in 0..50 {
            modem.arrive(100_000 * US + n * 7_919 * US, 1);
        }
        modem.until(1_000_000 * US);
        for (n, (taken, _)) in modem.sent.iter().enumerate() {
            let waited = taken - (100_000 * US + n as u64 * 7_919 * US);
            assert!(waited <= modem.link.interval, "{n}: {waited}");
        }
        // 8 Mbit/s are 2025 bytes an interval: 43 minislots.
        let grants = modem.link.proactive(modem.link.interval * 10);
        assert_eq!(grants.iter().map(|grant| grant.bytes).collect::<Vec<_>>(), [43 * 48]);
        // No more than the channel has: 15 frames.
        let most = link("docsis pgs 10gbit", 20).proactive(0);
        assert_eq!(most.iter().map(|grant| grant.bytes).collect::<Vec<_>>(), [15 * 235 * 48]);
        let often = link("docsis pgs 8mbit ggi 300us", 20);
        let starts = often.proactive(0).iter().map(|grant| grant.start / US).collect::<Vec<_>>();
        assert_eq!(starts, [0, 270, 540, 810, 1080, 1350, 1620, 1890]);
    }

    #[test]
    fn a_grant_cuts_a_packet_and_the_next_one_sends_its_rest() {
        // A bucket of 10 ms at 1 Mbit/s holds 1312 bytes: fewer than a packet.
        let mut modem = Modem::new(link("docsis burst 10ms", 1));
        modem.arrive(50_000 * US, 1);
        modem.until(200_000 * US);
        let [(taken, arrived)] = modem.sent[..] else { panic!("one packet") };
        assert!(arrived - taken > modem.link.interval, "{}", arrived - taken);
        // 28 minislots are 1344 bytes; 170 of 1514 are left, and the bucket is 32 short.
        assert_eq!(modem.link.outstanding(), 0);
        assert_eq!(modem.link.rest, 0);
    }

    #[test]
    fn a_full_queue_gets_its_rate_and_a_short_burst_the_peak() {
        let mut modem = Modem::new(link("docsis", 20));
        modem.arrive(50_000 * US, 60_000);
        modem.until(10_050_000 * US);
        let within = |from: u64, to: u64| {
            let packets = modem.sent.iter().filter(|(_, at)| (from..to).contains(at)).count();
            packets as f64 * 1514.0 * 8.0 / ((to - from) as f64 / 1e9) / 1e6
        };
        // 105 % of the rate, MAC headers included.
        let steady = within(2_000_000 * US, 10_000_000 * US);
        assert!((steady - 21.0).abs() < 0.05, "{steady}");
        // The bucket of 100 ms lasts as long at twice the rate.
        let burst = within(60_000 * US, 140_000 * US);
        assert!((burst - 42.0).abs() < 1.0, "{burst}");
    }

    #[test]
    fn other_modems_take_what_is_not_free() {
        for (words, mbit) in [("docsis free 10mbit", 10.0), ("docsis free 10mbit vary 100%", 10.0)]
        {
            let mut modem = Modem::new(link(words, 20));
            modem.arrive(50_000 * US, 60_000);
            modem.until(10_050_000 * US);
            let rate = modem.sent.len() as f64 * 1514.0 * 8.0 / 10.0 / 1e6;
            assert!((rate - mbit).abs() < 0.2, "{words}: {rate}");
        }
    }

    #[test]
    fn every_packet_is_sent_in_its_order() {
        let mut random = Random::named(7, "arrivals");
        for words in [
            "docsis",
            "docsis map 135us",
            "docsis pgs 2mbit ggi 270us",
            "docsis free 5mbit vary 50%",
        ] {
            let mut modem = Modem::new(link(words, 10));
            let mut at = 0;
            for _ in 0..3_000 {
                at += random.below(4_000 * US);
                modem.arrive(at, random.below(4) as u32);
                assert!(modem.link.turns.iter().is_sorted_by_key(Turn::at));
            }
            modem.until(at + 10_000_000 * US);
            assert_eq!((modem.waiting, modem.cut), (0, false), "{words}");
            let arrivals: Vec<u64> = modem.sent.iter().map(|(_, at)| *at).collect();
            assert!(arrivals.is_sorted(), "{words}");
        }
    }
}
