//! `codel`: one queue under CoDel's law.
//!
//! Source: RFC 8289 and Linux 5.4 to 7.3, `net/sched/sch_codel.c`; the law itself is in `codel_law`. ECN is off
//! unless asked for, unlike in `fq_codel`.
//!
//! Invariants: order of arrival; a packet that finds `limit` packets is refused.

use crate::codel_law::{self, Counts, Dequeue, Params, State, seconds};
use crate::configured::{BuildContext, TcConfigurable};
use crate::settings::{Setting, Settings};
use crate::show::time;
use crate::table::{self, DefaultValue, Discipline, OptionSpec};
use crate::tally::{PacketQueue, QdiscCounters};
use crate::words::{TcError, TcTokens};
use crate::xstats::{Counted, Form, Xstats};
use crate::{Context, Dequeued, Packet, Qdisc, QdiscQuirks, Reason, Telemetry};
use crate::{options_of, report};
use sojourn_units::Time;

/// The table of `codel`.
pub const INFO: Discipline = Discipline {
    name: "codel",
    summary: "one queue under CoDel's control law",
    source: "RFC 8289; Linux 5.4 to 7.3, net/sched/sch_codel.c, include/net/codel_impl.h",
    options: options_of!(Config),
    counters: COUNTERS,
    gauges: GAUGES,
    xstats: &Xstats {
        fields: &[
            Form::Number.of("maxpacket"),
            Form::Number.of("count"),
            Form::Number.of("lastcount"),
            Form::Micros.of("ldelay"),
            Form::SignedMicros.of("drop_next"),
            Form::Number.of("drop_overlimit"),
            Form::Number.of("ecn_mark"),
            Form::Number.of("dropping"),
            Form::Number.of("ce_mark"),
        ],
        signals: &[
            Counted::Drops(Reason::Tail, "drop_overlimit"),
            Counted::OtherDrops(Reason::ControlLaw),
            Counted::Marks(Reason::ControlLaw, "ecn_mark"),
            Counted::Marks(Reason::CeThreshold, "ce_mark"),
        ],
    },
    examples: &[
        "codel limit 8 target 1ms interval 5ms",
        "codel ecn target 0 interval 2ms ce_threshold 1ms",
    ],
    changes: &["codel limit 3", "codel noecn", "codel ecn target 3ms"],
    ..Discipline::BASE
};

#[derive(Clone, Debug)]
struct Config {
    limit: u32,
    law: Params,
}

impl Settings for Config {
    const INFO: &'static Discipline = &INFO;
    const OPTIONS: &'static [Setting<Self>] = &[
        OptionSpec { preset: DefaultValue::Is("1000"), ..table::LIMIT }
            .sets(|config, given| config.limit = given.number()),
        table::TARGET.sets(|config, given| config.law.set_target(given.span())),
        table::INTERVAL.sets(|config, given| config.law.set_interval(given.span())),
        OptionSpec { preset: DefaultValue::Is("noecn"), ..table::ECN }
            .sets(|config, given| config.law.ecn = given.on),
        table::CE_THRESHOLD.sets(|config, given| config.law.set_ce_threshold(given.span())),
    ];
    const CHANGE_STARTS_AFRESH: bool = false;

    fn blank(profile: &QdiscQuirks) -> Self {
        Self { limit: 0, law: Params::blank(profile) }
    }
}

impl<P: Packet> codel_law::Queue<P> for &mut PacketQueue<P> {
    #[inline]
    fn take(&mut self) -> Option<P> {
        self.pop()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        PacketQueue::bytes(self)
    }
}

/// One queue under CoDel's law.
#[derive(Clone, Debug)]
pub struct Codel<P> {
    config: Config,
    profile: QdiscQuirks,
    ring: PacketQueue<P>,
    state: State,
    counts: Counts,
    drop_overlimit: u64,
    tally: QdiscCounters,
}

report! {
    impl[P: Packet] Codel<P>, codel at now;
    counters {
        count: Count, line 0, Always, "signals in this dropping state" => codel.state.count;
        lastcount: Count, line 0, Always, "count when it began" => codel.state.lastcount;
        ldelay: Seconds, line 0, Always, "the last packet's sojourn time"
            => seconds(codel.state.ldelay);
        dropping: Flag, line 0, Flag, "whether in the dropping state" => codel.state.dropping;
        maxpacket: Bytes, line 1, Always, "largest packet seen" => codel.counts.maxpacket;
        ecn_mark: Count, line 1, Always, "packets marked by the law" => codel.counts.ecn_mark;
        drop_overlimit: Count, line 1, Always, "packets refused at the limit"
            => codel.drop_overlimit;
        ce_mark: Count, line 1, NonZero, "packets marked by ce_threshold" => codel.counts.ce_mark;
    }
    gauges where {

        let due = if codel.state.dropping { codel.state.until_next(now) } else { 0.0 };
    } {
        count: Count, "signals in this dropping state" => codel.state.count;
        dropping: Flag, "whether in the dropping state" => codel.state.dropping;
        drop_next: Seconds, "time until the next signal" => due;
        head_delay: Seconds, "time that the packet at the head has waited; 0 without one"
            => codel.ring.head_delay(now);
    }
}

impl<P: Packet> Qdisc<P> for Codel<P> {
    #[inline]
    fn enqueue<T: Telemetry<P>>(&mut self, now: Time, mut packet: P, cx: &mut Context<'_, T>) {
        if self.ring.len() < self.config.limit {
            packet.set_stamp(now);
            self.ring.push(packet);
        } else {
            self.drop_overlimit += 1;
            self.tally.drop(now, packet, Reason::Tail, cx);
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

    crate::reports!(ring.backlog());
}

impl<P: Packet> TcConfigurable<P> for Codel<P> {
    const INFO: &'static Discipline = &INFO;

    fn build(words: &mut TcTokens<'_>, cx: &mut BuildContext<'_, P>) -> Result<Self, TcError> {
        let profile = cx.quirks;
        Ok(Self {
            config: Config::read(words, profile)?,
            profile: *profile,
            ring: PacketQueue::new(),
            state: State::default(),
            counts: Counts::default(),
            drop_overlimit: 0,
            tally: QdiscCounters::default(),
        })
    }

    fn change<T: Telemetry<P>>(
        &mut self,
        now: Time,
        words: &mut TcTokens<'_>,
        cx: &mut Context<'_, T>,
    ) -> Result<(), TcError> {
        self.config = self.config.changed(words, &self.profile)?.0;
        self.ring.shorten(now, self.config.limit, Reason::Overlimit, &mut self.tally, cx);
        Ok(())
    }

    fn flush<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        self.ring.shorten(now, 0, Reason::Flushed, &mut self.tally, cx);
        self.state = State::default();
    }

    fn quirks(&self) -> &QdiscQuirks {
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
