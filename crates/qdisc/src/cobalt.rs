//! `cobalt`: one FIFO under COBALT with SCE, to be compared with `codel` and `pie`.
//!
//! Source: chromi/sce `net/sched/sch_cobalt.c` @30e022e4 (2022); the law is in `cobalt_law`, docs/sources/sce.md#the-marking-law without the
//! weights of fairness. No published tc knows it; the words here are those of its relatives for what its kernel
//! code takes.
//!
//! Invariants: order of arrival; a packet that leaves nothing behind is never dropped or marked. There is no limit:
//! BLUE alone bounds the queue. SCE is on by default, so ECT(0) packets come out as ECT(1).

use crate::cobalt_config::{Aqm, HasAqm, SCE_THRESH_4, sce, sce_thresh};
use crate::cobalt_law::{Crossing, Twofold, TwofoldParams, Verdict, Weighted};
use crate::configured::{BuildContext, TcConfigurable};
use crate::settings::{Setting, Settings};
use crate::shaper;
use crate::table::Discipline;
use crate::tally::{PacketQueue, QdiscCounters};
use crate::words::{TcError, TcTokens};
use crate::{Context, Dequeued, Packet, Qdisc, QdiscQuirks, Reason, Telemetry};
use crate::{options_of, report};
use sojourn_units::Time;

/// The table of `cobalt`.
pub const INFO: Discipline = Discipline {
    name: "cobalt",
    summary: "one queue under COBALT's law, with SCE",
    source: "Linux 6 of chromi/sce, net/sched/sch_cobalt.c (2022)",
    options: options_of!(Config),
    counters: COUNTERS,
    gauges: GAUGES,
    examples: &["cobalt", "cobalt rtt 1ms", "cobalt rtt 100us no-sce", "cobalt rtt 1us sce"],
    changes: &["cobalt lan", "cobalt rtt 3us sce-thresh 1024"],
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

impl HasAqm for Config {
    fn aqm(&mut self) -> &mut Aqm {
        &mut self.aqm
    }
}

impl Settings for Config {
    const INFO: &'static Discipline = &INFO;
    const OPTIONS: &'static [Setting<Self>] =
        &[shaper::rtt(), shaper::path(), sce_thresh(SCE_THRESH_4), sce()];
    const CHANGE_STARTS_AFRESH: bool = false;

    fn blank(_profile: &QdiscQuirks) -> Self {
        Self { aqm: Aqm::default() }
    }
}

/// One queue under COBALT's law.
#[derive(Clone, Debug)]
pub struct Cobalt<P> {
    config: Config,
    profile: QdiscQuirks,
    params: TwofoldParams,
    ring: PacketQueue<P>,
    law: Twofold,
    ecn_mark: u64,
    sce_mark: u64,
    law_drop: u64,
    blue_drop: u64,
    tally: QdiscCounters,
}

report! {
    impl[P: Packet] Cobalt<P>, cobalt at now;
    counters {
        ecn_mark: Count, line 0, NonZero, "signals by CE, on packets that were CE too"
            => cobalt.ecn_mark;
        sce_mark: Count, line 0, NonZero, "packets marked SCE" => cobalt.sce_mark;
        law_drop: Count, line 0, NonZero, "packets dropped by the control law" => cobalt.law_drop;
        blue_drop: Count, line 0, NonZero, "packets dropped by BLUE" => cobalt.blue_drop;
    }
    gauges {
        delay: Seconds, "time that the first packet has waited"
            => cobalt.ring.first().map_or(0.0, |p| now.since(p.stamp()).as_secs_f64());
        count: Count, "count of the CE schedule" => cobalt.law.ce.count;
        dropping: Flag, "whether above the CE target" => cobalt.law.ce.dropping;
        sce_count: Count, "count of the SCE schedule" => cobalt.law.sce.count;
        p_drop: Probability, "BLUE's probability of dropping" => cobalt.law.blue.probability();
    }
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
            let mut reason = None;
            if self.ring.is_empty() {
                self.law.queue_empty(now, &self.params);
            } else {
                let delay = Weighted::plain(now.since(packet.stamp()).as_nanos());
                let Verdict { drop, ce, sce } =
                    self.law.judge(now, &self.params, delay, &mut packet, cx);
                self.ecn_mark += u64::from(ce);
                self.sce_mark += u64::from(sce);
                reason = drop;
            }
            let Some(reason) = reason else {
                self.tally.sent(packet.wire_len());
                return Dequeued::Packet(packet);
            };
            match reason {
                Reason::Blue => self.blue_drop += 1,
                _ => self.law_drop += 1,
            }
            self.tally.drop(now, packet, reason, cx);
        }
        Dequeued::Empty
    }

    crate::reports!(ring.backlog());
}

impl<P: Packet> TcConfigurable<P> for Cobalt<P> {
    const INFO: &'static Discipline = &INFO;

    fn build(words: &mut TcTokens<'_>, cx: &mut BuildContext<'_, P>) -> Result<Self, TcError> {
        let profile = cx.quirks;
        let mut config = Config::read(words, profile)?;
        config.aqm.settle();
        Ok(Self {
            params: config.params(),
            config,
            profile: *profile,
            ring: PacketQueue::new(),
            law: Twofold::default(),
            ecn_mark: 0,
            sce_mark: 0,
            law_drop: 0,
            blue_drop: 0,
            tally: QdiscCounters::default(),
        })
    }

    fn change<T: Telemetry<P>>(
        &mut self,
        _now: Time,
        words: &mut TcTokens<'_>,
        _cx: &mut Context<'_, T>,
    ) -> Result<(), TcError> {
        self.config = self.config.changed(words, &self.profile)?.0;
        self.config.aqm.settle();
        self.params = self.config.params();
        Ok(())
    }

    fn flush<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        self.ring.shorten(now, 0, Reason::Flushed, &mut self.tally, cx);
        self.law = Twofold::default();
    }

    fn quirks(&self) -> &QdiscQuirks {
        &self.profile
    }

    fn describe(&self) -> String {
        format!("{} {}", self.config.aqm.describe_rtt(), self.config.aqm.describe_sce())
    }
}
