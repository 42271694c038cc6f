//! `pfifo_head_drop`: first in, first out; when full, the packet at the head goes.
//!
//! Source: Linux 5.4 to 7.3, `net/sched/sch_fifo.c`, `pfifo_tail_enqueue`.
//!
//! Invariant: order of arrival; a packet that comes is taken.

use crate::configured::{BuildContext, TcConfigurable};
use crate::settings::{Setting, Settings};
use crate::table::{self, DefaultValue, Discipline, OptionSpec};
use crate::tally::{PacketQueue, QdiscCounters};
use crate::words::{TcError, TcTokens};
use crate::{Backlog, Context, Dequeued, Packet, Qdisc, QdiscQuirks, Reason, Stats, Telemetry};
use crate::{options_of, report};
use sojourn_units::Time;

/// The table of `pfifo_head_drop`.
pub const INFO: Discipline = Discipline {
    name: "pfifo_head_drop",
    summary: "first in, first out; when full, the oldest packet goes",
    source: "Linux 5.4 to 7.3, net/sched/sch_fifo.c",
    options: options_of!(Config),
    counters: COUNTERS,
    gauges: GAUGES,
    examples: &["pfifo_head_drop", "pfifo_head_drop limit 3"],
    changes: &["pfifo_head_drop limit 2"],
    ..Discipline::BASE
};

#[derive(Clone, Debug)]
struct Config {
    limit: u32,
}

impl Settings for Config {
    const INFO: &'static Discipline = &INFO;
    const OPTIONS: &'static [Setting<Self>] =
        &[OptionSpec { preset: DefaultValue::Is("1000"), ..table::LIMIT }
            .sets(|config, given| config.limit = given.number())];
    const CHANGE_STARTS_AFRESH: bool = true;

    fn blank(_profile: &QdiscQuirks) -> Self {
        Self { limit: 0 }
    }
}

/// A queue that loses its oldest packet.
#[derive(Clone, Debug)]
pub struct HeadDrop<P> {
    config: Config,
    profile: QdiscQuirks,
    ring: PacketQueue<P>,
    tally: QdiscCounters,
}

report! {
    impl[P: Packet] HeadDrop<P>, fifo at now;
    counters {}
    gauges {
        head_delay: Seconds, "time that the packet at the head has waited; 0 without one"
            => fifo.ring.head_delay(now);
    }
}

impl<P: Packet> Qdisc<P> for HeadDrop<P> {
    fn enqueue<T: Telemetry<P>>(&mut self, now: Time, mut packet: P, cx: &mut Context<'_, T>) {
        let room = self.config.limit - 1;
        self.ring.shorten(now, room, Reason::Overlimit, &mut self.tally, cx);
        packet.set_stamp(now);
        self.ring.push(packet);
    }

    fn dequeue<T: Telemetry<P>>(&mut self, _now: Time, _cx: &mut Context<'_, T>) -> Dequeued<P> {
        let Some(packet) = self.ring.pop() else { return Dequeued::Empty };
        self.tally.sent(packet.wire_len());
        Dequeued::Packet(packet)
    }

    fn backlog(&self) -> Backlog {
        self.ring.backlog()
    }

    fn stats(&self) -> Stats {
        self.tally.stats(self.backlog(), self.counted())
    }

    fn gauges(&self, now: Time, out: &mut dyn FnMut(&'static str, f64)) {
        self.gauged(now, out);
    }
}

impl<P: Packet> TcConfigurable<P> for HeadDrop<P> {
    const INFO: &'static Discipline = &INFO;

    fn build(words: &mut TcTokens<'_>, cx: &mut BuildContext<'_, P>) -> Result<Self, TcError> {
        let profile = *cx.quirks;
        let config = Config::read(words, &profile)?;
        Ok(Self { config, profile, ring: PacketQueue::new(), tally: QdiscCounters::default() })
    }

    fn change<T: Telemetry<P>>(
        &mut self,
        _now: Time,
        words: &mut TcTokens<'_>,
        _cx: &mut Context<'_, T>,
    ) -> Result<(), TcError> {
        self.config = self.config.changed(words, &self.profile)?.0;
        Ok(())
    }

    fn flush<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        self.ring.shorten(now, 0, Reason::Flushed, &mut self.tally, cx);
    }

    fn quirks(&self) -> &QdiscQuirks {
        &self.profile
    }

    fn describe(&self) -> String {
        format!("limit {}p", self.config.limit)
    }
}
