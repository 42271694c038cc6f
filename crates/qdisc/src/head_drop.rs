//! `pfifo_head_drop`: first in, first out, limited in packets; a packet that finds the queue full is taken, and the one at the head
//! goes. Senders learn of a full queue a queue's time earlier, and packets that leave are fresh: for real-time traffic.
//!
//! Source: Linux 5.4 to 7.3, `net/sched/sch_fifo.c` (`pfifo_tail_enqueue`); tc's name and default as for `pfifo`.
//!
//! Invariant: order of arrival; a full queue drops one packet for each that arrives, so a lowered limit shortens nothing.

use crate::configured::{BuildContext, TcConfigurable};
use crate::settings::{Setting, Settings};
use crate::table::{self, DefaultValue, Discipline, OptionSpec};
use crate::tally::{PacketQueue, QdiscCounters};
use crate::words::{TcError, TcTokens};
use crate::{Context, Dequeued, Packet, Qdisc, QdiscQuirks, Reason, Telemetry};
use crate::{options_of, report, reports};
use sojourn_units::Time;

/// The table of `pfifo_head_drop`.
pub const INFO: Discipline = Discipline {
    name: "pfifo_head_drop",
    summary: "first in, first out; a full queue drops the packet at its head",
    source: "Linux 5.4 to 7.3, net/sched/sch_fifo.c",
    options: options_of!(Config),
    counters: COUNTERS,
    gauges: GAUGES,
    examples: &["pfifo_head_drop limit 4", "pfifo_head_drop"],
    changes: &["pfifo_head_drop limit 2"],
    ..Discipline::BASE
};

#[derive(Clone, Debug)]
struct Config {
    limit: u32,
}

impl Settings for Config {
    const INFO: &'static Discipline = &INFO;
    const OPTIONS: &'static [Setting<Self>] = &[OptionSpec {
        name: "limit",
        values: table::PACKETS,
        preset: DefaultValue::Is("1000"),
        doc: "packets held at most; the default is a veth's txqueuelen",
        tried: &["limit 1", "limit 30", "limit 1500"],
        ..OptionSpec::BASE
    }
    .sets(|config: &mut Self, given| config.limit = given.number())];
    // As pfifo: without options the kernel takes the default.
    const CHANGE_STARTS_AFRESH: bool = true;

    fn blank(_profile: &QdiscQuirks) -> Self {
        Self { limit: 0 }
    }
}

/// A queue in order of arrival that drops at its head.
#[derive(Clone, Debug)]
pub struct PfifoHeadDrop<P> {
    config: Config,
    profile: QdiscQuirks,
    ring: PacketQueue<P>,
    tally: QdiscCounters,
}

report! {
    impl[P: Packet] PfifoHeadDrop<P>, fifo at now;
    counters {}
    gauges {
        head_delay: Seconds, "time that the packet at the head has waited; 0 without one"
            => fifo.ring.head_delay(now);
    }
}

impl<P: Packet> Qdisc<P> for PfifoHeadDrop<P> {
    #[inline]
    fn enqueue<T: Telemetry<P>>(&mut self, now: Time, mut packet: P, cx: &mut Context<'_, T>) {
        if self.ring.len() >= self.config.limit
            && let Some(first) = self.ring.pop()
        {
            self.tally.drop(now, first, Reason::Overlimit, cx);
        }
        packet.set_stamp(now);
        self.ring.push(packet);
    }

    #[inline]
    fn dequeue<T: Telemetry<P>>(&mut self, _now: Time, _cx: &mut Context<'_, T>) -> Dequeued<P> {
        let Some(packet) = self.ring.pop() else { return Dequeued::Empty };
        self.tally.sent(packet.wire_len());
        Dequeued::Packet(packet)
    }

    reports!(ring.backlog());
}

impl<P: Packet> TcConfigurable<P> for PfifoHeadDrop<P> {
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
