//! `netem`: a delay line, with jitter, slots, loss, copies and reordering.
//!
//! Source: Linux 5.4 to 7.3, `net/sched/sch_netem.c`; iproute2 6, `tc/q_netem.c`. Each packet is given the
//! time at which it may leave, and packets leave in the order of those times, equal ones in order of arrival.
//! Hence jitter reorders whenever it exceeds the gap between packets, and so does a delay that is lowered at
//! run time; a constant delay keeps the order. With `slot`, packets that are due wait for the next slot ([`slot`]).
//!
//! Invariants: nothing leaves before its time, and at most `limit` packets are held (one more for the moment in which a
//! copy was made). Jitter is uniform in [delay - jitter, delay + jitter). A correlation mixes each 32-bit draw with the
//! one before, as in the kernel; since the kernel takes the rest of dividing by twice the jitter afterwards, jitter
//! well below 4 s is as uniform and independent as without. Loss, copies and reordering, which compare the mixed value
//! itself, do become bursty, and rarer than their percentages.
//!
//! Order on arrival: copy, loss, limit, then for the copy all of it again without being copied, then delay. The
//! kernel gives the copy to the root of the tree; here it goes into this netem, which is the same unless netems are
//! chained (the kernel refuses copies in such trees since 6.16). A packet to be reordered leaves at once, ahead of
//! all, slots or not; of several, the last comes first.
//!
//! `tc qdisc change` hands limit, delay, loss, duplicate and reordering over whole; `slot`, `rate`, `distribution` and
//! `ecn` stay as they are unless they are written (`slot 0` is none).
//!
//! The trick: packets that leave no earlier than all before them wait in a ring; only the others go through a heap, and
//! with a constant delay there are no others.
//!
//! With `rate` a packet takes its time on top of its delay, and begins it when the last packet held is due: like a link
//! of that rate behind the queue, without serving the delay twice. With a rate, jitter no longer reorders.
//!
//! Of netem's options `corrupt`, `seed` and the slots' distribution are not here, and are refused by name.

mod correlated;
mod distribution;
mod line;
mod loss;
mod parameters;
mod slot;

pub use self::parameters::Parameters;

use self::correlated::Correlated;
use self::line::Line;
use self::loss::{Chain, Loss};
use self::parameters::{DELAY, DUPLICATE, LOSS, Pace, REORDER};
use self::slot::{Slot, SlotConfig};
use crate::configured::{BuildContext, TcConfigurable};
use crate::report;
use crate::settings::Settings;
use crate::show;
use crate::table::Discipline;
use crate::tally::{QdiscCounters, mark};
use crate::words::{TcError, TcTokens};
use crate::{Backlog, Context, Dequeued, Packet, Qdisc, QdiscQuirks, Reason, Telemetry};
use core::cmp::{Ordering, Reverse};
use sojourn_units::{Random, Span, Time};
use std::collections::{BinaryHeap, VecDeque};

/// The table of `netem`.
pub const INFO: Discipline = Discipline {
    summary: "a delay line, with jitter, slots, loss, copies and reordering",
    source: "Linux 5.4 to 7.3, net/sched/sch_netem.c; iproute2 6, tc/q_netem.c",
    counters: COUNTERS,
    gauges: GAUGES,
    ..parameters::WORDS
};

/// The draws that may be correlated.
type Draws = [Correlated; 4];

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
    config: Parameters,
    profile: QdiscQuirks,
    draws: Draws,
    /// Where the chain of the loss model is.
    chain: Chain,
    slot: Option<Box<Slot>>,
    /// Packets since the last one that was reordered.
    counter: u32,
    /// Reordered packets, which leave at once.
    ahead: VecDeque<P>,
    ahead_bytes: u64,
    /// Packets in the order of their times.
    ring: Line<P>,
    /// The time of the last one in the ring.
    last: Time,
    /// Whether there is a constant delay and nothing else, and all packets are in the ring.
    is_plain: bool,
    late: BinaryHeap<Reverse<Late<P>>>,
    late_bytes: u64,
    arrivals: u64,
    tally: QdiscCounters,
}

impl<P: Packet> Netem<P> {
    /// When a packet that arrives now leaves.
    #[inline]
    fn departure(&mut self, now: Time, len: u32, random: &mut Random) -> Time {
        let Parameters { delay, jitter, rate, .. } = self.config;
        if jitter == 0 && rate.is_none() {
            return now + delay;
        }
        let mut delay = i128::from(delay.as_nanos());
        if jitter != 0 {
            let draw = self.draws[DELAY].draw(random);
            delay += match self.config.distribution {
                // The kernel's order of evaluation: up to 2^32, then down by jitter, possibly to before now.
                None => i128::from(draw % jitter.wrapping_mul(2)) - i128::from(jitter),
                Some(shape) => i128::from(shape.deviation(jitter, draw)),
            };
        }
        let mut from = now;
        if let Some(pace) = rate {
            // Packets that are late come before the last of the ring, and only while there is one.
            if !self.ring.is_empty() {
                delay = (delay - i128::from(self.last.signed_since(now))).max(0);
                from = self.last;
            }
            delay += i128::from(pace.time(len).as_nanos());
        }
        let at = i128::from(from.as_nanos()) + delay;
        Time::from_nanos(u64::try_from(at).unwrap_or(if at < 0 { 0 } else { u64::MAX }))
    }

    /// Whether the packet is lost or, where that is asked for and possible, marked.
    #[inline]
    fn loses<T: Telemetry<P>>(
        &mut self,
        now: Time,
        packet: &mut P,
        cx: &mut Context<'_, T>,
    ) -> bool {
        self.config.loss.strikes(&mut self.draws[LOSS], &mut self.chain, cx.random)
            && !(self.config.ecn && mark(now, packet, Reason::Loss, cx))
    }

    fn take_correlations(&mut self, random: &mut Random) {
        for (draws, rho) in self.draws.iter_mut().zip(self.config.correlations) {
            *draws = Correlated { rho, last: if rho == 0 { 0 } else { random.next_u32() } };
        }
    }

    /// Whether it has a constant delay and nothing else, and all packets are in the ring.
    fn seems_plain(&self) -> bool {
        let Parameters { loss, duplicate, gap, jitter, rate, .. } = self.config;
        let is_constant = jitter == 0 && rate.is_none() && self.slot.is_none();
        let takes_all = matches!(loss, Loss::None) && duplicate == 0 && gap == 0;
        is_constant && takes_all && self.late.is_empty() && self.ahead.is_empty()
    }

    /// What [`Qdisc::enqueue`] does, whatever is configured.
    #[inline(never)]
    fn arrive<T: Telemetry<P>>(&mut self, now: Time, packet: P, cx: &mut Context<'_, T>) {
        let Parameters { loss, duplicate, gap, limit, .. } = self.config;
        if !matches!(loss, Loss::None) || duplicate != 0 || gap != 0 {
            return self.take(now, packet, true, cx);
        }
        if self.backlog().packets >= limit {
            return self.tally.drop(now, packet, Reason::Tail, cx);
        }
        self.hold(now, packet, cx.random);
    }

    /// What [`Qdisc::dequeue`] does, whatever is configured.
    #[inline(never)]
    fn leave<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) -> Dequeued<P> {
        if let Some(packet) = self.ahead.pop_front() {
            self.ahead_bytes -= u64::from(packet.wire_len());
            self.tally.sent(packet.wire_len());
            return Dequeued::Packet(packet);
        }
        let Some((is_late, mut at)) = self.next() else { return Dequeued::Empty };
        if let Some(slot) = &mut self.slot {
            at = slot.opens(now, at, cx.random);
        }
        if at > now {
            return Dequeued::Wait(at);
        }
        match self.pop(is_late) {
            Some(packet) => {
                self.tally.sent(packet.wire_len());
                if let Some(slot) = &mut self.slot {
                    slot.serve(now, packet.wire_len(), cx.random);
                }
                Dequeued::Packet(packet)
            }
            None => Dequeued::Empty,
        }
    }

    /// Takes a packet, and a copy of it where that is drawn; a copy is not copied again.
    #[cold]
    fn take<T: Telemetry<P>>(
        &mut self,
        now: Time,
        mut packet: P,
        may_copy: bool,
        cx: &mut Context<'_, T>,
    ) {
        let duplicate = self.config.duplicate;
        let copies =
            may_copy && duplicate != 0 && duplicate >= self.draws[DUPLICATE].draw(cx.random);
        let lost = self.loses(now, &mut packet, cx);
        // Of two, one may be lost.
        if lost && !copies {
            self.tally.drop(now, packet, Reason::Loss, cx);
            return;
        }
        if self.backlog().packets >= self.config.limit {
            self.tally.drop(now, packet, Reason::Tail, cx);
            return;
        }
        if copies
            && !lost
            && let Some(copy) = packet.duplicate()
        {
            cx.telemetry.duplicated(now, &copy);
            self.take(now, copy, false, cx);
        }
        if self.goes_ahead(cx.random) {
            packet.set_stamp(now);
            self.ahead_bytes += u64::from(packet.wire_len());
            self.ahead.push_front(packet);
            return;
        }
        self.hold(now, packet, cx.random);
    }

    /// Puts a packet where it waits for its time.
    #[inline]
    fn hold(&mut self, now: Time, mut packet: P, random: &mut Random) {
        let at = self.departure(now, packet.wire_len(), random);
        if at >= self.last || self.ring.is_empty() {
            self.last = at;
            self.ring.push(at, packet);
        } else {
            packet.set_stamp(at);
            self.is_plain = false;
            self.arrivals += 1;
            self.late_bytes += u64::from(packet.wire_len());
            self.late.push(Reverse(Late { at, arrival: self.arrivals, packet }));
        }
    }

    /// Whether the packet that comes is reordered.
    #[inline]
    fn goes_ahead(&mut self, random: &mut Random) -> bool {
        let Parameters { gap, reorder, .. } = self.config;
        if gap == 0 {
            return false;
        }
        let ahead = self.counter >= gap - 1 && reorder >= self.draws[REORDER].draw(random);
        self.counter = if ahead { 0 } else { self.counter + 1 };
        ahead
    }

    /// Whether the next packet is a late one, and its time.
    #[inline]
    fn next(&self) -> Option<(bool, Time)> {
        let first = self.ring.first().map(|at| (false, at));
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

report! {
    impl[P: Packet] Netem<P>, netem at now;
    counters {}
    gauges {
        late: Count, "packets held that will leave before one that came earlier"
            => netem.late.len();
    }
}

impl<P: Packet> Qdisc<P> for Netem<P> {
    #[inline]
    fn enqueue<T: Telemetry<P>>(&mut self, now: Time, packet: P, cx: &mut Context<'_, T>) {
        // What nearly every netem does, in line.
        if self.is_plain && self.ring.len() < self.config.limit {
            let at = now + self.config.delay;
            if at >= self.last {
                self.last = at;
                return self.ring.push(at, packet);
            }
        }
        self.arrive(now, packet, cx);
    }

    #[inline]
    fn dequeue<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) -> Dequeued<P> {
        if !self.is_plain {
            return self.leave(now, cx);
        }
        let Some(at) = self.ring.first() else { return Dequeued::Empty };
        if at > now {
            return Dequeued::Wait(at);
        }
        let Some(packet) = self.ring.pop() else { return Dequeued::Empty };
        self.tally.sent(packet.wire_len());
        Dequeued::Packet(packet)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.ring.len() + self.late.len() as u32 + self.ahead.len() as u32,
            bytes: self.ring.bytes() + self.late_bytes + self.ahead_bytes,
        }
    }

    crate::reports!();
}

impl<P: Packet> TcConfigurable<P> for Netem<P> {
    const INFO: &'static Discipline = &INFO;

    fn build(words: &mut TcTokens<'_>, cx: &mut BuildContext<'_, P>) -> Result<Self, TcError> {
        let (profile, random) = (cx.quirks, &mut *cx.random);
        let (config, given) = Parameters::read_given(words, profile, false)?;
        let config = config.completed(&given, words)?;
        let slot = config.slot.map(|slot| Box::new(Slot::new(Time::ZERO, slot, random)));
        let mut netem = Self {
            config,
            profile: *profile,
            draws: Draws::default(),
            chain: Chain::default(),
            slot,
            counter: 0,
            ahead: VecDeque::new(),
            ahead_bytes: 0,
            ring: Line::new(),
            last: Time::ZERO,
            is_plain: false,
            late: BinaryHeap::new(),
            late_bytes: 0,
            arrivals: 0,
            tally: QdiscCounters::default(),
        };
        netem.take_correlations(random);
        netem.is_plain = netem.seems_plain();
        Ok(netem)
    }

    fn start(&mut self, now: Time) {
        if let Some(slot) = &mut self.slot {
            slot.shift(now);
        }
    }

    fn change<T: Telemetry<P>>(
        &mut self,
        now: Time,
        words: &mut TcTokens<'_>,
        cx: &mut Context<'_, T>,
    ) -> Result<(), TcError> {
        let (config, given) = self.config.changed(words, &self.profile)?;
        let config = config.completed(&given, words)?;
        let is_correlated = config.is_correlated();
        self.config = config.after(&self.config, &given);
        if given.iter().any(|g| g.name == "slot") {
            let slot = self.config.slot;
            self.slot = slot.map(|slot| Box::new(Slot::new(now, slot, cx.random)));
        }
        (self.counter, self.chain) = (0, Chain::default());
        // The kernel else keeps those it has.
        if is_correlated {
            self.take_correlations(cx.random);
        }
        self.is_plain = self.seems_plain();
        Ok(())
    }

    fn flush<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        self.ahead_bytes = 0;
        while let Some(packet) = self.ahead.pop_front() {
            self.tally.drop(now, packet, Reason::Flushed, cx);
        }
        while let Some((is_late, _)) = self.next() {
            let Some(packet) = self.pop(is_late) else { break };
            self.tally.drop(now, packet, Reason::Flushed, cx);
        }
        self.is_plain = self.seems_plain();
    }

    fn quirks(&self) -> &QdiscQuirks {
        &self.profile
    }

    fn describe(&self) -> String {
        let Parameters {
            limit,
            delay,
            jitter,
            distribution,
            rate,
            loss,
            ecn,
            duplicate,
            reorder,
            ..
        } = self.config;
        let Parameters { gap, slot, .. } = self.config;
        let mut text = format!("limit {limit}");
        let mut add = |more: String| text.push_str(&more);
        let with_correlation = |share, draws: usize| match self.draws[draws].rho {
            0 => show::percent(share),
            rho => format!("{} {}", show::percent(share), show::percent(rho)),
        };
        if !delay.is_zero() || jitter != 0 {
            add(format!(" delay {}", show::time(delay)));
        }
        if jitter != 0 {
            add(format!("  {}", show::time(Span::from_nanos(jitter.into()))));
            if self.draws[DELAY].rho != 0 {
                add(format!(" {}", show::percent(self.draws[DELAY].rho)));
            }
            if let Some(shape) = distribution {
                add(format!(" distribution {}", shape.name()));
            }
        }
        match loss {
            Loss::None => {}
            Loss::Random(share) => add(format!(" loss {}", with_correlation(share, LOSS))),
            Loss::FourStates { p13, p31, p32, p23, p14 } => {
                let [p13, p31, p32, p23, p14] = [p13, p31, p32, p23, p14].map(show::percent);
                add(format!(" loss state p13 {p13} p31 {p31} p32 {p32} p23 {p23} p14 {p14}"));
            }
            Loss::GilbertElliott { p, r, h, k1 } => {
                let [p, r, h, k1] = [p, r, u32::MAX - h, k1].map(show::percent);
                add(format!(" loss gemodel p {p} r {r} 1-h {h} 1-k {k1}"));
            }
        }
        if duplicate != 0 {
            add(format!(" duplicate {}", with_correlation(duplicate, DUPLICATE)));
        }
        if reorder != 0 {
            add(format!(" reorder {}", with_correlation(reorder, REORDER)));
        }
        if let Some(Pace { rate, overhead, cell, cell_overhead }) = rate {
            add(format!(" rate {rate}"));
            for (name, bytes) in
                [("packetoverhead", overhead), ("cellsize", cell), ("celloverhead", cell_overhead)]
            {
                if bytes != 0 {
                    add(format!(" {name} {bytes}"));
                }
            }
        }
        if let Some(SlotConfig { min, max, packets, bytes }) = slot {
            add(format!(" slot {} {}", show::time(min), show::time(max)));
            if packets != 0 {
                add(format!(" packets {packets}"));
            }
            if bytes != 0 {
                add(format!(" bytes {bytes}"));
            }
        }
        if ecn {
            add(" ecn".to_owned());
        }
        if gap != 0 {
            add(format!(" gap {gap}"));
        }
        text
    }
}
