//! `netem`: a delay line, with jitter and random loss.
//!
//! Source: Linux 5.4 to 7.3, `net/sched/sch_netem.c`; iproute2 6, `tc/q_netem.c`. Each packet is given the
//! time at which it may leave, and packets leave in the order of those times, equal ones in order of arrival.
//! Hence jitter reorders whenever it exceeds the gap between packets, and so does a delay that is lowered at
//! run time; a constant delay keeps the order.
//!
//! Invariants: at most `limit` packets are held; nothing leaves before its time. Jitter is uniform in
//! [delay - jitter, delay + jitter). A correlation mixes each 32-bit draw with the one before, as in the
//! kernel; since the kernel takes the rest of dividing by twice the jitter afterwards, jitter well below 4 s is
//! as uniform and independent as without. Loss, which compares the mixed value itself, does become bursty, and
//! rarer than its percentage.
//!
//! The trick: packets that leave no earlier than all before them wait in a ring; only the others, of which a
//! constant delay has none, go through a heap.
//!
//! Of netem's options `duplicate`, `reorder`, `corrupt`, `rate`, `slot`, `distribution` and the loss models
//! other than `random` are not here yet, and are refused by name.

use crate::configured::Configured;
use crate::settings::{Given, Settings};
use crate::show;
use crate::table::{self, Discipline, Gauge, Kind, OptionSpec, Preset, Unit, ValueSpec};
use crate::tally::{Ring, Tally, mark};
use crate::words::{TcError, Words};
use crate::{Backlog, Context, Dequeued, Packet, Profile, Qdisc, Stats, Telemetry, Why};
use core::cmp::{Ordering, Reverse};
use sojourn_units::{Random, Span, Time};
use std::collections::BinaryHeap;

/// The longest delay that is taken: an hour.
const LONGEST: u64 = 3_600_000_000_000;

/// The table of `netem`.
pub const INFO: Discipline = Discipline {
    name: "netem",
    summary: "a delay line, with jitter and random loss",
    source: "Linux 5.4 to 7.3, net/sched/sch_netem.c; iproute2 6, tc/q_netem.c",
    options: &[
        OptionSpec {
            name: "limit",
            values: table::PACKETS,
            preset: Preset::Is("1000"),
            doc: "packets held at most, those on their way included",
            ..OptionSpec::BASE
        },
        OptionSpec {
            name: "delay",
            aliases: &["latency"],
            values: &[
                ValueSpec {
                    name: "TIME",
                    kind: Kind::Span { min: 0, max: LONGEST },
                    optional: false,
                },
                ValueSpec {
                    name: "JITTER",
                    // The kernel keeps it in 31 bits.
                    kind: Kind::Span { min: 0, max: i32::MAX as u64 },
                    optional: true,
                },
                ValueSpec { name: "CORRELATION", kind: Kind::Percent, optional: true },
            ],
            preset: Preset::Unset("none"),
            doc: "delay of each packet; it varies uniformly by up to JITTER either way",
            ..OptionSpec::BASE
        },
        OptionSpec {
            name: "loss",
            aliases: &["drop"],
            values: &[
                ValueSpec { name: "random", kind: Kind::Keyword("random"), optional: true },
                ValueSpec { name: "PERCENT", kind: Kind::Percent, optional: false },
                ValueSpec { name: "CORRELATION", kind: Kind::Percent, optional: true },
            ],
            preset: Preset::Unset("none"),
            doc: "probability that a packet is lost on arrival",
            ..OptionSpec::BASE
        },
        OptionSpec {
            name: "ecn",
            preset: Preset::Unset("packets are lost"),
            doc: "mark ECN-capable packets instead of losing them",
            ..OptionSpec::BASE
        },
    ],
    counters: &[],
    gauges: &[Gauge {
        name: "late",
        unit: Unit::Count,
        doc: "packets held that will leave before one that came earlier",
    }],
    classful: false,
};

/// Draws of which each is mixed with the one before (`struct crndstate`).
#[derive(Clone, Copy, Default, Debug)]
struct Correlated {
    last: u32,
    rho: u32,
}

impl Correlated {
    #[inline]
    fn draw(&mut self, random: &mut Random) -> u32 {
        let fresh = random.next_u32();
        if self.rho == 0 {
            return fresh;
        }
        let rho = u64::from(self.rho) + 1;
        let mixed = u64::from(fresh).wrapping_mul((1 << 32) - rho) + u64::from(self.last) * rho;
        self.last = (mixed >> 32) as u32;
        self.last
    }
}

/// A probability as tc hands it over: in 32 bits, 100 % being all ones (`get_percent`).
fn percent(probability: Option<f64>) -> u32 {
    (probability.unwrap_or(0.0) * f64::from(u32::MAX)).round_ties_even() as u32
}

#[derive(Clone, Debug)]
struct Config {
    limit: u32,
    delay: Span,
    jitter: u32,
    loss: u32,
    ecn: bool,
    delay_correlation: u32,
    loss_correlation: u32,
}

impl Settings for Config {
    const INFO: &'static Discipline = &INFO;
    // tc hands over limit, delay, jitter and loss in one structure, given or not.
    const CHANGE_STARTS_AFRESH: bool = true;

    fn blank(_profile: &Profile) -> Self {
        Self {
            limit: 0,
            delay: Span::ZERO,
            jitter: 0,
            loss: 0,
            ecn: false,
            delay_correlation: 0,
            loss_correlation: 0,
        }
    }

    fn set(&mut self, given: &Given) {
        match given.name {
            "limit" => self.limit = given.number(),
            "delay" => {
                self.delay = given.span();
                self.jitter = given.nth_span(1).map_or(0, |jitter| jitter.as_nanos() as u32);
                self.delay_correlation = percent(given.probability(0));
            }
            "loss" => {
                self.loss = percent(given.probability(0));
                self.loss_correlation = percent(given.probability(1));
            }
            "ecn" => self.ecn = given.on,
            name => unreachable!("{name} is in the table"),
        }
    }
}

/// A packet that leaves before one that came earlier.
#[derive(Clone, Debug)]
struct Late<P> {
    at: Time,
    arrival: u64,
    packet: P,
}

impl<P> PartialEq for Late<P> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.arrival) == (other.at, other.arrival)
    }
}
impl<P> Eq for Late<P> {}
impl<P> PartialOrd for Late<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<P> Ord for Late<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.arrival).cmp(&(other.at, other.arrival))
    }
}

/// A delay line.
#[derive(Clone, Debug)]
pub struct Netem<P> {
    config: Config,
    profile: Profile,
    delay_draws: Correlated,
    loss_draws: Correlated,
    /// Packets whose times do not decrease.
    ring: Ring<P>,
    /// The time of the last one in the ring.
    last: Time,
    late: BinaryHeap<Reverse<Late<P>>>,
    late_bytes: u64,
    arrivals: u64,
    tally: Tally,
}

impl<P: Packet> Netem<P> {
    /// When a packet that arrives now leaves.
    #[inline]
    fn departure(&mut self, now: Time, random: &mut Random) -> Time {
        let Config { delay, jitter, .. } = self.config;
        if jitter == 0 {
            return now + delay;
        }
        // The kernel's order of evaluation: up to 2^32, then down by jitter, possibly to before now.
        let spread = self.delay_draws.draw(random) % jitter.wrapping_mul(2);
        let at = i128::from(now.as_nanos()) + i128::from(delay.as_nanos()) + i128::from(spread)
            - i128::from(jitter);
        Time::from_nanos(u64::try_from(at).unwrap_or(0))
    }

    /// Whether the packet is lost or, where that is asked for and possible, marked.
    #[inline]
    fn loses<T: Telemetry<P>>(
        &mut self,
        now: Time,
        packet: &mut P,
        cx: &mut Context<'_, T>,
    ) -> bool {
        self.config.loss != 0
            && self.config.loss >= self.loss_draws.draw(cx.random)
            && !(self.config.ecn && mark(now, packet, Why::Loss, cx))
    }

    fn take_correlations(&mut self, random: &mut Random) {
        for (draws, rho) in [
            (&mut self.delay_draws, self.config.delay_correlation),
            (&mut self.loss_draws, self.config.loss_correlation),
        ] {
            *draws = Correlated { rho, last: if rho == 0 { 0 } else { random.next_u32() } };
        }
    }

    /// Whether the next packet is a late one, and its time.
    #[inline]
    fn next(&self) -> Option<(bool, Time)> {
        let first = self.ring.first().map(|packet| (false, packet.stamp()));
        match self.late.peek() {
            None => first,
            Some(Reverse(late)) => match first {
                Some((_, at)) if at <= late.at => first,
                _ => Some((true, late.at)),
            },
        }
    }

    #[inline]
    fn pop(&mut self, is_late: bool) -> Option<P> {
        if !is_late {
            return self.ring.pop();
        }
        let Reverse(late) = self.late.pop()?;
        self.late_bytes -= u64::from(late.packet.wire_len());
        Some(late.packet)
    }
}

impl<P: Packet> Qdisc<P> for Netem<P> {
    #[inline]
    fn enqueue<T: Telemetry<P>>(&mut self, now: Time, mut packet: P, cx: &mut Context<'_, T>) {
        if self.loses(now, &mut packet, cx) {
            self.tally.drop(now, packet, Why::Loss, cx);
            return;
        }
        if self.backlog().packets >= self.config.limit {
            self.tally.drop(now, packet, Why::Tail, cx);
            return;
        }
        let at = self.departure(now, cx.random);
        packet.set_stamp(at);
        if at >= self.last || self.ring.len() == 0 {
            self.last = at;
            self.ring.push(packet);
        } else {
            self.arrivals += 1;
            self.late_bytes += u64::from(packet.wire_len());
            self.late.push(Reverse(Late { at, arrival: self.arrivals, packet }));
        }
    }

    #[inline]
    fn dequeue<T: Telemetry<P>>(&mut self, now: Time, _cx: &mut Context<'_, T>) -> Dequeued<P> {
        let Some((is_late, at)) = self.next() else { return Dequeued::Empty };
        if at > now {
            return Dequeued::Wait(at);
        }
        match self.pop(is_late) {
            Some(packet) => {
                self.tally.sent(packet.wire_len());
                Dequeued::Packet(packet)
            }
            None => Dequeued::Empty,
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.ring.len() + self.late.len() as u32,
            bytes: self.ring.bytes() + self.late_bytes,
        }
    }

    fn stats(&self) -> Stats {
        self.tally.stats(self.backlog(), Vec::new())
    }

    fn gauges(&self, _now: Time, out: &mut dyn FnMut(&'static str, f64)) {
        out("late", self.late.len() as f64);
    }
}

impl<P: Packet> Configured<P> for Netem<P> {
    fn build(
        words: &mut Words<'_>,
        profile: &Profile,
        random: &mut Random,
    ) -> Result<Self, TcError> {
        let mut netem = Self {
            config: Config::read(words, profile)?,
            profile: *profile,
            delay_draws: Correlated::default(),
            loss_draws: Correlated::default(),
            ring: Ring::new(),
            last: Time::ZERO,
            late: BinaryHeap::new(),
            late_bytes: 0,
            arrivals: 0,
            tally: Tally::default(),
        };
        netem.take_correlations(random);
        Ok(netem)
    }

    fn change<T: Telemetry<P>>(
        &mut self,
        _now: Time,
        words: &mut Words<'_>,
        cx: &mut Context<'_, T>,
    ) -> Result<(), TcError> {
        self.config = self.config.changed(words, &self.profile)?.0;
        // tc hands correlations over only if there are any; the kernel else keeps those it has.
        if self.config.delay_correlation != 0 || self.config.loss_correlation != 0 {
            self.take_correlations(cx.random);
        }
        Ok(())
    }

    fn flush<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        while let Some((is_late, _)) = self.next() {
            let Some(packet) = self.pop(is_late) else { break };
            self.tally.drop(now, packet, Why::Flushed, cx);
        }
    }

    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn describe(&self) -> String {
        let Config { limit, delay, jitter, loss, ecn, .. } = self.config;
        let mut text = format!("limit {limit}");
        let mut add = |more: String| text.push_str(&more);
        if !delay.is_zero() || jitter != 0 {
            add(format!(" delay {}", show::time(delay)));
        }
        if jitter != 0 {
            add(format!("  {}", show::time(Span::from_nanos(jitter.into()))));
            if self.delay_draws.rho != 0 {
                add(format!(" {}", show::percent(self.delay_draws.rho)));
            }
        }
        if loss != 0 {
            add(format!(" loss {}", show::percent(loss)));
            if self.loss_draws.rho != 0 {
                add(format!(" {}", show::percent(self.loss_draws.rho)));
            }
        }
        if ecn {
            add(" ecn".to_owned());
        }
        text
    }
}
