//! Takes the mark off packets of a flow that sends more than a marked flow is to: a limit of each flow by itself.
//!
//! RFC 9956 (§5.2) wants networks that have a queue for non-queue-building flows to protect it: to find the flows that do not
//! behave as the mark promises, and to send them to the default queue. How is left to the network. This is the plainest way: a
//! token bucket for each flow, and a packet that finds it empty loses its DSCP. It is not the queuing score of RFC 9957 (DOCSIS
//! queue protection), which looks at the delay that a flow has caused in the queue, and lets a flow send what nobody waits for.
//!
//! It belongs before the element that classifies by the DSCP. Buckets begin full; a flow's packets that are put into
//! the default queue may arrive behind later ones, as with any protection that decides packet by packet.

use crate::PathPacket;
use crate::element::{NamedElement, PathElement, Verdict};
use sojourn_qdisc::table::{self, DefaultValue, OptionSpec};
use sojourn_qdisc::{Discipline, QdiscQuirks, Setting, Settings, options_of};
use sojourn_units::{Dscp, Random, Rate, Time};
use std::collections::BTreeMap;

/// Its table.
pub const INFO: Discipline = Discipline {
    name: "flow_limit",
    summary: "takes the DSCP off packets of a flow that sends more than a rate",
    source: "RFC 9956 §5.2 asks for a protection and leaves the way open; this one is ours",
    options: options_of!(Options),
    examples: &["flow_limit", "flow_limit rate 500kbit burst 3000b"],
    ..Discipline::BASE
};

/// The options.
#[derive(Clone, Debug)]
pub struct Options {
    rate: Rate,
    burst: u32,
}

impl Settings for Options {
    const INFO: &'static Discipline = &INFO;
    const OPTIONS: &'static [Setting<Self>] = &[
        OptionSpec {
            name: "rate",
            values: table::RATE,
            preset: DefaultValue::Is("1mbit"),
            doc: "what a flow may send in the long run",
            tried: &["rate 100kbit", "rate 5mbit"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.rate = given.rate()),
        OptionSpec {
            name: "burst",
            values: table::BYTES,
            preset: DefaultValue::Is("6000b"),
            doc: "what it may send at once, Ethernet headers included",
            tried: &["burst 2000b", "burst 60000b"],
            ..OptionSpec::BASE
        }
        .sets(|options, given| options.burst = given.number()),
    ];
    const CHANGE_STARTS_AFRESH: bool = false;

    fn blank(_profile: &QdiscQuirks) -> Self {
        Self { rate: Rate::ZERO, burst: 0 }
    }
}

/// Billionths of a bit in a byte: a nanosecond brings exactly the rate of them.
const BYTE: u128 = 8 * 1_000_000_000;

/// The tokens that a flow has left, and since when.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: u128,
    last: Time,
}

/// A bucket for each flow.
#[derive(Clone, Debug)]
pub struct FlowLimit {
    options: Options,
    buckets: BTreeMap<u64, Bucket>,
}

impl NamedElement for FlowLimit {
    type Options = Options;

    fn new(options: Options) -> Self {
        Self { options, buckets: BTreeMap::new() }
    }
}

impl PathElement for FlowLimit {
    fn pass(&mut self, now: Time, packet: &mut dyn PathPacket, _random: &mut Random) -> Verdict {
        let full = u128::from(self.options.burst) * BYTE;
        let rate = u128::from(self.options.rate.bits_per_sec());
        let begins = Bucket { tokens: full, last: now };
        let bucket = self.buckets.entry(packet.flow_key()).or_insert(begins);
        let fresh = u128::from(now.since(bucket.last).as_nanos()) * rate;
        *bucket = Bucket { tokens: (bucket.tokens + fresh).min(full), last: now };
        let needs = u128::from(packet.wire_len()) * BYTE;
        if bucket.tokens >= needs {
            bucket.tokens -= needs;
        } else {
            packet.set_dscp(Dscp::BEST_EFFORT);
        }
        Verdict::Passes
    }

    fn set_rate(&mut self, _now: Time, rate: Rate) -> bool {
        self.options.rate = rate;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Elements;
    use crate::testing::Walker;

    /// Whether each of these packets (milliseconds, flow) keeps its mark.
    fn keeps(words: &str, packets: &[(u64, usize)]) -> Vec<bool> {
        let mut element = Elements::built_in().build(words).expect("the words are right");
        let mut random = Random::named(1, "test");
        let nqb = Dscp::new(45).unwrap();
        let mut pass = |&(millis, flow): &(u64, usize)| {
            let mut packet = Walker { flow, wire_len: 1_000, dscp: nqb, ..Walker::default() };
            let verdict = element.pass(Time::from_millis(millis), &mut packet, &mut random);
            assert_eq!(verdict, Verdict::Passes);
            packet.dscp == nqb
        };
        packets.iter().map(&mut pass).collect()
    }

    /// 800 kbit/s are a packet of 1000 bytes each 10 ms; two may come at once. What loses its mark takes nothing out.
    #[test]
    fn what_exceeds_a_flows_rate_loses_its_mark() {
        let one = [(0, 1), (0, 1), (0, 1), (5, 1), (10, 1), (15, 1), (40, 1), (40, 1), (40, 1)];
        let kept = [true, true, false, false, true, false, true, true, false];
        assert_eq!(keeps("flow_limit rate 800kbit burst 2000b", &one), kept);
    }

    #[test]
    fn flows_do_not_share_a_bucket() {
        let two = [(0, 1), (0, 1), (0, 2), (0, 2), (0, 1)];
        let kept = [true, false, true, false, false];
        assert_eq!(keeps("flow_limit rate 800kbit burst 1000b", &two), kept);
    }
}
