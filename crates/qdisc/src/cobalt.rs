//! `cobalt`: one FIFO under COBALT with SCE, to be compared with `codel` and `pie`.
//!
//! Source: chromi/sce `net/sched/sch_cobalt.c` @30e022e4 (2022); the law is in `cobalt_law`, sce.md §3 without the
//! weights of fairness. No published tc knows it; the words here are those of its relatives for what its kernel
//! code takes.
//!
//! Invariants: order of arrival; a packet that leaves nothing behind is never dropped or marked. There is no limit:
//! BLUE alone bounds the queue. SCE is on by default, so ECT(0) packets come out as ECT(1).

use crate::cobalt_config::{Aqm, SCE, SCE_THRESH_4};
use crate::cobalt_law::{Crossing, Twofold, TwofoldParams, Verdict, Weighted};
use crate::configured::{BuildContext, Configured};
use crate::settings::{Given, Settings};
use crate::shaper;
use crate::table::{Discipline, Gauge, Shown, Unit, counter};
use crate::tally::{Ring, Tally};
use crate::words::{TcError, Words};
use crate::{Backlog, Context, Dequeued, Packet, Profile, Qdisc, Stats, Telemetry, Why};
use sojourn_units::Time;

/// The table of `cobalt`.
pub const INFO: Discipline = Discipline {
    name: "cobalt",
    summary: "one queue under COBALT's law, with SCE",
    source: "Linux 6 of chromi/sce, net/sched/sch_cobalt.c (2022)",
    options: &[shaper::RTT, shaper::PATH, SCE_THRESH_4, SCE],
    counters: &[
        counter(
            "ecn_mark",
            Unit::Count,
            0,
            Shown::NonZero,
            "signals by CE, on packets that were CE too",
        ),
        counter("sce_mark", Unit::Count, 0, Shown::NonZero, "packets marked SCE"),
        counter("law_drop", Unit::Count, 0, Shown::NonZero, "packets dropped by the control law"),
        counter("blue_drop", Unit::Count, 0, Shown::NonZero, "packets dropped by BLUE"),
    ],
    gauges: &[
        Gauge { name: "delay", unit: Unit::Seconds, doc: "time that the first packet has waited" },
        Gauge { name: "count", unit: Unit::Count, doc: "count of the CE schedule" },
        Gauge { name: "dropping", unit: Unit::Flag, doc: "whether above the CE target" },
        Gauge { name: "sce_count", unit: Unit::Count, doc: "count of the SCE schedule" },
        Gauge { name: "p_drop", unit: Unit::Probability, doc: "BLUE's probability of dropping" },
    ],
    ..Discipline::BASE
};

#[derive(Clone, Debug)]
struct Config {
    aqm: Aqm,
}

impl Config {
    fn params(&self) -> TwofoldParams {
        self.aqm.params(1, Crossing::BeginsAnew)
    }
}

impl Settings for Config {
    const INFO: &'static Discipline = &INFO;
    const CHANGE_STARTS_AFRESH: bool = false;

    fn blank(_profile: &Profile) -> Self {
        Self { aqm: Aqm::default() }
    }

    fn set(&mut self, given: &Given) {
        let known = self.aqm.set(given);
        debug_assert!(known, "{} is in the table", given.name);
    }
}

/// One queue under COBALT's law.
#[derive(Clone, Debug)]
pub struct Cobalt<P> {
    config: Config,
    profile: Profile,
    params: TwofoldParams,
    ring: Ring<P>,
    law: Twofold,
    ecn_mark: u64,
    sce_mark: u64,
    law_drop: u64,
    blue_drop: u64,
    tally: Tally,
}

impl<P: Packet> Qdisc<P> for Cobalt<P> {
    #[inline]
    fn enqueue<T: Telemetry<P>>(&mut self, now: Time, mut packet: P, _cx: &mut Context<'_, T>) {
        packet.set_stamp(now);
        self.ring.push(packet);
    }

    #[inline]
    fn dequeue<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) -> Dequeued<P> {
        while let Some(mut packet) = self.ring.pop() {
            let mut why = None;
            if self.ring.is_empty() {
                self.law.queue_empty(now, &self.params);
            } else {
                let delay = Weighted::plain(now.since(packet.stamp()).as_nanos());
                let Verdict { drop, ce, sce } =
                    self.law.judge(now, &self.params, delay, &mut packet, cx);
                self.ecn_mark += u64::from(ce);
                self.sce_mark += u64::from(sce);
                why = drop;
            }
            let Some(why) = why else {
                self.tally.sent(packet.wire_len());
                return Dequeued::Packet(packet);
            };
            match why {
                Why::Blue => self.blue_drop += 1,
                _ => self.law_drop += 1,
            }
            self.tally.drop(now, packet, why, cx);
        }
        Dequeued::Empty
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.ring.backlog()
    }

    fn stats(&self) -> Stats {
        let own = vec![
            ("ecn_mark", self.ecn_mark as f64),
            ("sce_mark", self.sce_mark as f64),
            ("law_drop", self.law_drop as f64),
            ("blue_drop", self.blue_drop as f64),
        ];
        self.tally.stats(self.ring.backlog(), own)
    }

    fn gauges(&self, now: Time, out: &mut dyn FnMut(&'static str, f64)) {
        out("delay", self.ring.first().map_or(0.0, |p| now.since(p.stamp()).as_secs_f64()));
        out("count", f64::from(self.law.ce.count));
        out("dropping", f64::from(u8::from(self.law.ce.dropping)));
        out("sce_count", f64::from(self.law.sce.count));
        out("p_drop", self.law.blue.probability());
    }
}

impl<P: Packet> Configured<P> for Cobalt<P> {
    const INFO: &'static Discipline = &INFO;

    fn build(words: &mut Words<'_>, cx: &mut BuildContext<'_, P>) -> Result<Self, TcError> {
        let profile = cx.quirks;
        let mut config = Config::read(words, profile)?;
        config.aqm.settle();
        Ok(Self {
            params: config.params(),
            config,
            profile: *profile,
            ring: Ring::new(),
            law: Twofold::default(),
            ecn_mark: 0,
            sce_mark: 0,
            law_drop: 0,
            blue_drop: 0,
            tally: Tally::default(),
        })
    }

    fn change<T: Telemetry<P>>(
        &mut self,
        _now: Time,
        words: &mut Words<'_>,
        _cx: &mut Context<'_, T>,
    ) -> Result<(), TcError> {
        self.config = self.config.changed(words, &self.profile)?.0;
        self.config.aqm.settle();
        self.params = self.config.params();
        Ok(())
    }

    fn flush<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        self.ring.shorten(now, 0, Why::Flushed, &mut self.tally, cx);
        self.law = Twofold::default();
    }

    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn describe(&self) -> String {
        format!("{} {}", self.config.aqm.describe_rtt(), self.config.aqm.describe_sce())
    }
}
