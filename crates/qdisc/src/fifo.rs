//! `pfifo` and `bfifo`: first in, first out, refusing what does not fit; limited in packets or in bytes.
//!
//! Source: Linux 5.4 to 7.3, `net/sched/sch_fifo.c`; defaults from the device, a veth with a transmit queue of
//! 1000 packets and an MTU of 1500 bytes.
//!
//! Invariant: order of arrival. A packet is refused by pfifo when the queue already holds `limit` packets, by
//! bfifo when it would take the queue above `limit` bytes. Lowering the limit at run time drops nothing.

use crate::configured::{BuildContext, TcConfigurable};
use crate::settings::{Setting, Settings};
use crate::table::{self, DefaultValue, Discipline, OptionSpec};
use crate::tally::{PacketQueue, QdiscCounters};
use crate::words::{TcError, TcTokens};
use crate::{Backlog, Context, Dequeued, Packet, Qdisc, QdiscQuirks, Reason, Telemetry};
use crate::{options_of, report};
use sojourn_units::Time;

/// The table of `pfifo`.
pub const PFIFO: Discipline = Discipline {
    name: "pfifo",
    summary: "first in, first out, limited in packets",
    source: "Linux 5.4 to 7.3, net/sched/sch_fifo.c",
    options: options_of!(Limited<InPackets>),
    counters: COUNTERS,
    gauges: GAUGES,
    examples: &["pfifo limit 4", "pfifo"],
    changes: &["pfifo limit 2"],
    ..Discipline::BASE
};

/// The table of `bfifo`.
pub const BFIFO: Discipline = Discipline {
    name: "bfifo",
    summary: "first in, first out, limited in bytes",
    source: "Linux 5.4 to 7.3, net/sched/sch_fifo.c",
    options: options_of!(Limited<InBytes>),
    counters: COUNTERS,
    gauges: GAUGES,
    examples: &["bfifo", "bfifo limit 4000"],
    changes: &["bfifo limit 2000", "bfifo limit 9000"],
    ..Discipline::BASE
};

/// What the limit counts.
pub trait Limit: Clone + 'static {
    /// The discipline's table.
    const INFO: &'static Discipline;
    /// Its only option.
    const LIMIT: OptionSpec;
    /// What tc prints behind the limit.
    const UNIT: char;
    /// Whether a packet of `len` bytes still fits, with `held` in the queue.
    fn fits(held: Backlog, len: u32, limit: u32) -> bool;
}

/// The limit is in packets.
#[derive(Clone, Copy, Debug)]
pub struct InPackets;

/// The limit is in bytes.
#[derive(Clone, Copy, Debug)]
pub struct InBytes;

impl Limit for InPackets {
    const INFO: &'static Discipline = &PFIFO;
    const LIMIT: OptionSpec = OptionSpec {
        name: "limit",
        values: table::PACKETS,
        preset: DefaultValue::Is("1000"),
        doc: "packets held at most; the default is a veth's txqueuelen",
        tried: &["limit 1", "limit 30", "limit 1500"],
        ..OptionSpec::BASE
    };
    const UNIT: char = 'p';
    #[inline]
    fn fits(held: Backlog, _len: u32, limit: u32) -> bool {
        held.packets < limit
    }
}

impl Limit for InBytes {
    const INFO: &'static Discipline = &BFIFO;
    const LIMIT: OptionSpec = OptionSpec {
        name: "limit",
        values: table::BYTES,
        preset: DefaultValue::Is("1514000"),
        doc: "bytes held at most; the default is a veth's txqueuelen times 1514",
        tried: &["limit 1514", "limit 40000", "limit 2000000"],
        ..OptionSpec::BASE
    };
    const UNIT: char = 'b';
    #[inline]
    fn fits(held: Backlog, len: u32, limit: u32) -> bool {
        held.bytes + u64::from(len) <= u64::from(limit)
    }
}

#[derive(Clone, Debug)]
struct Limited<L> {
    limit: u32,
    unit: core::marker::PhantomData<L>,
}

impl<L: Limit> Settings for Limited<L> {
    const INFO: &'static Discipline = L::INFO;
    const OPTIONS: &'static [Setting<Self>] =
        &[L::LIMIT.sets(|config, given| config.limit = given.number())];
    // tc hands over no options at all where none are written, and the kernel then takes the default.
    const CHANGE_STARTS_AFRESH: bool = true;

    fn blank(_profile: &QdiscQuirks) -> Self {
        Self { limit: 0, unit: core::marker::PhantomData }
    }
}

/// A queue in order of arrival with a limit.
#[derive(Clone, Debug)]
pub struct Fifo<P, L> {
    settings: Limited<L>,
    profile: QdiscQuirks,
    ring: PacketQueue<P>,
    tally: QdiscCounters,
}

/// First in, first out, limited in packets.
pub type Pfifo<P> = Fifo<P, InPackets>;
/// First in, first out, limited in bytes.
pub type Bfifo<P> = Fifo<P, InBytes>;

report! {
    impl[P: Packet, L: Limit] Fifo<P, L>, fifo at now;
    counters {}
    gauges {
        head_delay: Seconds, "time that the packet at the head has waited; 0 without one"
            => fifo.ring.head_delay(now);
    }
}

impl<P: Packet, L: Limit> Qdisc<P> for Fifo<P, L> {
    #[inline]
    fn enqueue<T: Telemetry<P>>(&mut self, now: Time, mut packet: P, cx: &mut Context<'_, T>) {
        if L::fits(self.ring.backlog(), packet.wire_len(), self.settings.limit) {
            packet.set_stamp(now);
            self.ring.push(packet);
        } else {
            self.tally.drop(now, packet, Reason::Tail, cx);
        }
    }

    #[inline]
    fn dequeue<T: Telemetry<P>>(&mut self, _now: Time, _cx: &mut Context<'_, T>) -> Dequeued<P> {
        match self.ring.pop() {
            Some(packet) => {
                self.tally.sent(packet.wire_len());
                Dequeued::Packet(packet)
            }
            None => Dequeued::Empty,
        }
    }

    crate::reports!(ring.backlog());
}

impl<P: Packet, L: Limit> TcConfigurable<P> for Fifo<P, L> {
    const INFO: &'static Discipline = L::INFO;

    fn build(words: &mut TcTokens<'_>, cx: &mut BuildContext<'_, P>) -> Result<Self, TcError> {
        let profile = cx.quirks;
        let settings = Settings::read(words, profile)?;
        Ok(Self {
            settings,
            profile: *profile,
            ring: PacketQueue::new(),
            tally: QdiscCounters::default(),
        })
    }

    fn change<T: Telemetry<P>>(
        &mut self,
        _now: Time,
        words: &mut TcTokens<'_>,
        _cx: &mut Context<'_, T>,
    ) -> Result<(), TcError> {
        self.settings = self.settings.changed(words, &self.profile)?.0;
        Ok(())
    }

    fn flush<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        self.ring.shorten(now, 0, Reason::Flushed, &mut self.tally, cx);
    }

    fn quirks(&self) -> &QdiscQuirks {
        &self.profile
    }

    fn describe(&self) -> String {
        format!("limit {}{}", self.settings.limit, L::UNIT)
    }
}
