//! Puts twice the load that its link carries on a discipline, in tc's words, for ten seconds, and prints its drops and
//! marks.
//!
//! ```text
//! cargo run -p sojourn-qdisc --example overload -- codel target 5ms ecn
//! ```

#![expect(clippy::print_stdout, reason = "it prints its result")]
#![expect(clippy::print_stderr, reason = "and what is wrong")]

use sojourn_qdisc::{
    Context, Dequeued, Packet, Qdisc as _, QdiscQuirks, Reason, Registry, Telemetry,
};
use sojourn_units::{Dscp, Ecn, Random, Span, Time};
use std::collections::BTreeMap;
use std::process::ExitCode;

/// Arrivals are this far apart; departures twice as far.
const BETWEEN: Span = Span::from_micros(500);
const END: Time = Time::from_millis(10_000);

/// A full Ethernet frame of a flow that understands ECN.
#[derive(Debug)]
struct Frame {
    ecn: Ecn,
    dscp: Dscp,
    stamp: Time,
}

impl Packet for Frame {
    fn wire_len(&self) -> u32 {
        1514
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }
    fn dscp(&self) -> Dscp {
        self.dscp
    }
    fn set_dscp(&mut self, dscp: Dscp) {
        self.dscp = dscp;
    }
    fn flow_key(&self) -> u64 {
        1
    }
    fn host_keys(&self) -> (u32, u32) {
        (1, 2)
    }
    fn l4_len(&self) -> u32 {
        1480
    }
    fn stamp(&self) -> Time {
        self.stamp
    }
    fn set_stamp(&mut self, at: Time) {
        self.stamp = at;
    }
}

/// Counts drops and marks by reason.
#[derive(Default)]
struct Tally(BTreeMap<(&'static str, String), u32>);

impl Telemetry<Frame> for Tally {
    fn dropped(&mut self, _now: Time, _packet: Frame, reason: Reason) {
        *self.0.entry(("dropped", reason.to_string())).or_default() += 1;
    }
    fn marked(&mut self, _now: Time, _packet: &Frame, reason: Reason) {
        *self.0.entry(("marked", reason.to_string())).or_default() += 1;
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words = if words.is_empty() { "codel ecn".to_owned() } else { words.join(" ") };
    match overload(&words) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn overload(words: &str) -> Result<String, String> {
    let mut random = Random::named(1, "queue");
    let mut queue = Registry::built_in()
        .build(words, &QdiscQuirks::LINUX_7_3, &mut random)
        .map_err(|e| e.to_string())?;
    let mut tally = Tally::default();
    let mut cx = Context { random: &mut random, telemetry: &mut tally };
    let (mut now, mut longest, mut left) = (Time::ZERO, Span::ZERO, 0_u32);
    while now < END {
        for is_departure in [false, true] {
            // A timer of its own, as PIE has, is served when it is due.
            while let Some(at) = queue.next_timer().filter(|&at| at <= now) {
                queue.on_timer(at, &mut cx);
            }
            let frame = Frame { ecn: Ecn::Ect0, dscp: Dscp::BEST_EFFORT, stamp: now };
            queue.enqueue(now, frame, &mut cx);
            if is_departure && let Dequeued::Packet(frame) = queue.dequeue(now, &mut cx) {
                longest = longest.max(now.since(frame.stamp));
                left += 1;
            }
            now += BETWEEN;
        }
    }
    let mut lines = vec![format!("{words}: {left} packets left, the longest wait was {longest}")];
    lines.extend(tally.0.iter().map(|((what, why), count)| format!("  {what} by {why}: {count}")));
    lines.extend(queue.stats().own.iter().map(|(name, value)| format!("  {name}: {value}")));
    Ok(lines.join("\n"))
}
