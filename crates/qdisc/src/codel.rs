//! `codel`: one queue under CoDel's law.
//!
//! Source: RFC 8289 and Linux 5.4 to 7.3, `net/sched/sch_codel.c`; the law itself is in `codel_law`. ECN is off
//! unless asked for, unlike in `fq_codel`.
//!
//! Invariants: order of arrival; a packet that finds `limit` packets is refused.

use crate::codel_law::{self, Counts, Dequeue, Params, State, seconds};
use crate::configured::{BuildContext, Configured};
use crate::settings::{Given, Settings};
use crate::show::time;
use crate::table::{self, Discipline, Gauge, OptionSpec, Preset, Shown, Unit, counter};
use crate::tally::{Ring, Tally};
use crate::words::{TcError, Words};
use crate::{Backlog, Context, Dequeued, Packet, Profile, Qdisc, Stats, Telemetry, Why};
use sojourn_units::Time;

/// The table of `codel`.
pub const INFO: Discipline = Discipline {
    name: "codel",
    summary: "one queue under CoDel's control law",
    source: "RFC 8289; Linux 5.4 to 7.3, net/sched/sch_codel.c, include/net/codel_impl.h",
    options: &[
        OptionSpec { preset: Preset::Is("1000"), ..table::LIMIT },
        table::TARGET,
        table::INTERVAL,
        OptionSpec { preset: Preset::Is("noecn"), ..table::ECN },
        table::CE_THRESHOLD,
    ],
    counters: &[
        counter("count", Unit::Count, 0, Shown::Always, "signals in this dropping state"),
        counter("lastcount", Unit::Count, 0, Shown::Always, "count when it began"),
        counter("ldelay", Unit::Seconds, 0, Shown::Always, "the last packet's sojourn time"),
        counter("dropping", Unit::Flag, 0, Shown::Flag, "whether in the dropping state"),
        counter("maxpacket", Unit::Bytes, 1, Shown::Always, "largest packet seen"),
        counter("ecn_mark", Unit::Count, 1, Shown::Always, "packets marked by the law"),
        counter("drop_overlimit", Unit::Count, 1, Shown::Always, "packets refused at the limit"),
        counter("ce_mark", Unit::Count, 1, Shown::NonZero, "packets marked by ce_threshold"),
    ],
    gauges: &[
        Gauge { name: "count", unit: Unit::Count, doc: "signals in this dropping state" },
        Gauge { name: "dropping", unit: Unit::Flag, doc: "whether in the dropping state" },
        Gauge { name: "drop_next", unit: Unit::Seconds, doc: "time until the next signal" },
        table::HEAD_DELAY,
    ],
    ..Discipline::BASE
};

#[derive(Clone, Debug)]
struct Config {
    limit: u32,
    law: Params,
}

impl Settings for Config {
    const INFO: &'static Discipline = &INFO;
    const CHANGE_STARTS_AFRESH: bool = false;

    fn blank(_profile: &Profile) -> Self {
        Self { limit: 0, law: Params::BLANK }
    }

    fn set(&mut self, given: &Given) {
        match given.name {
            "limit" => self.limit = given.number(),
            "target" => self.law.set_target(given.span()),
            "interval" => self.law.set_interval(given.span()),
            "ecn" => self.law.ecn = given.on,
            "ce_threshold" => self.law.set_ce_threshold(given.span()),
            name => unreachable!("{name} is in the table"),
        }
    }
}

impl<P: Packet> codel_law::Queue<P> for &mut Ring<P> {
    #[inline]
    fn take(&mut self) -> Option<P> {
        self.pop()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        Ring::bytes(self)
    }
}

/// One queue under CoDel's law.
#[derive(Clone, Debug)]
pub struct Codel<P> {
    config: Config,
    profile: Profile,
    ring: Ring<P>,
    state: State,
    counts: Counts,
    drop_overlimit: u64,
    tally: Tally,
}

impl<P: Packet> Qdisc<P> for Codel<P> {
    #[inline]
    fn enqueue<T: Telemetry<P>>(&mut self, now: Time, mut packet: P, cx: &mut Context<'_, T>) {
        if self.ring.len() < self.config.limit {
            packet.set_stamp(now);
            self.ring.push(packet);
        } else {
            self.drop_overlimit += 1;
            self.tally.drop(now, packet, Why::Tail, cx);
        }
    }

    #[inline]
    fn dequeue<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) -> Dequeued<P> {
        let dequeue = Dequeue {
            now,
            params: &self.config.law,
            state: &mut self.state,
            counts: &mut self.counts,
            tally: &mut self.tally,
            queue: &mut self.ring,
        };
        match dequeue.run(cx) {
            Some(packet) => {
                self.tally.sent(packet.wire_len());
                Dequeued::Packet(packet)
            }
            None => Dequeued::Empty,
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.ring.backlog()
    }

    fn stats(&self) -> Stats {
        let own = vec![
            ("count", f64::from(self.state.count)),
            ("lastcount", f64::from(self.state.lastcount)),
            ("ldelay", seconds(self.state.ldelay)),
            ("dropping", f64::from(u8::from(self.state.dropping))),
            ("maxpacket", f64::from(self.counts.maxpacket)),
            ("ecn_mark", self.counts.ecn_mark as f64),
            ("drop_overlimit", self.drop_overlimit as f64),
            ("ce_mark", self.counts.ce_mark as f64),
        ];
        self.tally.stats(self.ring.backlog(), own)
    }

    fn gauges(&self, now: Time, out: &mut dyn FnMut(&'static str, f64)) {
        out("count", f64::from(self.state.count));
        out("dropping", f64::from(u8::from(self.state.dropping)));
        let due = if self.state.dropping { self.state.until_next(now) } else { 0.0 };
        out("drop_next", due);
        out("head_delay", self.ring.head_delay(now));
    }
}

impl<P: Packet> Configured<P> for Codel<P> {
    const INFO: &'static Discipline = &INFO;

    fn build(words: &mut Words<'_>, cx: &mut BuildContext<'_, P>) -> Result<Self, TcError> {
        let profile = cx.quirks;
        Ok(Self {
            config: Config::read(words, profile)?,
            profile: *profile,
            ring: Ring::new(),
            state: State::default(),
            counts: Counts::default(),
            drop_overlimit: 0,
            tally: Tally::default(),
        })
    }

    fn change<T: Telemetry<P>>(
        &mut self,
        now: Time,
        words: &mut Words<'_>,
        cx: &mut Context<'_, T>,
    ) -> Result<(), TcError> {
        self.config = self.config.changed(words, &self.profile)?.0;
        self.ring.shorten(now, self.config.limit, Why::Overlimit, &mut self.tally, cx);
        Ok(())
    }

    fn flush<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        self.ring.shorten(now, 0, Why::Flushed, &mut self.tally, cx);
        self.state = State::default();
    }

    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn describe(&self) -> String {
        let Config { limit, law } = &self.config;
        let (target, interval, ce_threshold) = law.spans();
        let threshold =
            ce_threshold.map_or_else(String::new, |span| format!(" ce_threshold {}", time(span)));
        let ecn = if law.ecn { " ecn" } else { "" };
        let (target, interval) = (time(target), time(interval));
        format!("limit {limit}p target {target}{threshold} interval {interval}{ecn}")
    }
}
