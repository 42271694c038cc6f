//! `dualpi2`: two queues, L for scalable traffic and C for the rest, that share a link and one controller. L is
//! marked from a shallow delay on and by the coupling; C by the square of the controller's output, so that a
//! scalable and a classic flow get about the same rate.
//!
//! Source: RFC 9332 (§2, appendix A) and `net/sched/sch_dualpi2.c` in two versions ([`crate::profile::DualPi2`]): Linux 7.3, and
//! L4STeam/linux of 2020 and 2021 (its text as of May 2020 in the overload experiments).
//!
//! The controller ([`crate::pi2_law`]) runs every `tupdate` on the age of the older head. With its output p' and
//! k the `coupling_factor`, a packet that leaves (or arrives, with `drop_enqueue`):
//! - C: signalled at p'²: a mark if ECN-capable, else a drop ([`Reason::Classic`]);
//! - L: marked at k p' ([`Reason::Coupled`]), and besides whenever it waited longer than `step_thresh`
//!   ([`Reason::Step`]);
//! - overload is k p' above 1: C's signals are drops whatever the ECN field, and L loses packets at p'² too
//!   ([`Reason::Overload`]); all others of L are marked. With `overflow` p' stops at 1 / k instead.
//!
//! Nothing is signalled by probability while less than two full packets are held; the step knows no such floor.
//!
//! Which queue is next: L while the credit is not above zero. While both hold packets, a packet from L adds C's
//! weight times its length, one from C takes L's weight times its length, so that bytes are shared 90:10 at the
//! default `classic_protection 10`. The credit begins, and begins again when both are empty, at a full packet
//! times the difference of the weights, in L's favour. Drops are not charged.
//!
//! Invariants: order of arrival within each queue; Not-ECT goes to C and is never marked; L holds only
//! ECN-capable packets, so nothing in it is dropped but in overload.
//!
//! Where Linux and the RFC differ: the RFC's native AQM is a ramp of 400 µs above 800 µs, p_L is the greater of
//! native and coupled probability, and its example of a scheduler is a time-shifted FIFO (§4.2.2, appendix A);
//! Linux has a step of 1 ms, decides twice, and schedules by credit. With a step, the greater and either are the
//! same. The RFC's forms are the options `rfc_ramp` and `rfc_t_shift`, which Linux lacks. Also left out by Linux:
//! beta of 3.0 Hz at RTT_max 100 ms (it has 3.2), and a limit in time.
//!
//! Where this differs from Linux: there are no tc filters nor `skb->priority` here, so none of their classes (L
//! without marks, Not-ECT in L); `delay_c` and `delay_l` in the statistics are of the last update; and a change
//! that lowers a limit drops from C's head, then from L's, where Linux looks only at C and falls over if C is
//! empty.

mod config;

use self::config::{CLASSES, Config, Step, WORDS};
use crate::configured::{BuildContext, TcConfigurable};
use crate::pi2_law::{Fraction, Law, MTU, ONE, Verdict, roll_squared, share};
use crate::report;
use crate::settings::Settings;
use crate::tally::{PacketQueue, QdiscCounters};
use crate::words::{TcError, TcTokens};
use crate::{
    Backlog, Context, Dequeued, Discipline, Packet, Qdisc, QdiscQuirks, Reason, Telemetry,
};
use sojourn_units::{Ecn, Random, Span, Time};
use std::collections::VecDeque;

/// The table of `dualpi2`.
pub const INFO: Discipline = Discipline { counters: COUNTERS, gauges: GAUGES, ..WORDS };

/// The two classes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Class {
    Classic,
    Scalable,
}

/// A packet taken off its queue, and what it is owed.
struct Taken<P> {
    packet: P,
    class: Class,
    /// Whether the step concerns it.
    applies: bool,
    /// What the credit changes by if it leaves.
    charge: i64,
}

/// What has been counted for the statistics.
#[derive(Clone, Copy, Default, Debug)]
struct Counts {
    packets_in_c: u64,
    packets_in_l: u64,
    maxq: u32,
    ecn_mark: u64,
    step_marks: u64,
    max_memory: u64,
}

/// How often each class's packets are signalled.
#[derive(Clone, Copy, Default, Debug)]
struct Fractions {
    classic: Fraction,
    coupled: Fraction,
    native: Fraction,
    updates: u32,
}

/// Two coupled queues.
#[derive(Clone, Debug)]
pub struct DualPi2<P> {
    config: Config,
    profile: QdiscQuirks,
    c: PacketQueue<P>,
    l: PacketQueue<P>,
    /// For each packet in L, whether the step concerns it.
    applies: VecDeque<bool>,
    law: Law,
    next_update: Time,
    /// Ages of the heads at the last update, C's first.
    delays: (Span, Span),
    /// Per cent of bytes; at zero or below it is L's turn.
    credit: i64,
    memory: u64,
    counts: Counts,
    fractions: Fractions,
    tally: QdiscCounters,
}

fn age<P: Packet>(ring: &PacketQueue<P>, now: Time) -> Span {
    ring.first().map_or(Span::ZERO, |packet| now.since(packet.stamp()))
}

impl<P: Packet> DualPi2<P> {
    fn class(&self, ecn: Ecn) -> Class {
        match ecn {
            Ecn::Ect1 | Ecn::Ce => Class::Scalable,
            Ecn::Ect0 if self.config.any_ect => Class::Scalable,
            Ecn::Ect0 | Ecn::NotEct => Class::Classic,
        }
    }

    #[inline]
    fn held(&self) -> Backlog {
        Backlog { packets: self.c.len() + self.l.len(), bytes: self.c.bytes() + self.l.bytes() }
    }

    const fn initial_credit(&self) -> i64 {
        MTU as i64 * (self.config.wc - (100 - self.config.wc))
    }

    /// Whether L is next, both holding packets.
    #[inline]
    fn is_l_next(&self, now: Time) -> bool {
        match self.config.t_shift {
            None => self.credit <= 0,
            // RFC 9332 §4.2.2: the queue with the older head, with L's age raised by the shift.
            Some(shift) => age(&self.l, now) + shift >= age(&self.c, now),
        }
    }

    /// Takes the packet that the scheduler chooses.
    #[inline]
    fn take(&mut self, now: Time) -> Option<Taken<P>> {
        let (in_c, in_l) = (!self.c.is_empty(), !self.l.is_empty());
        let taken = if in_l && (!in_c || self.is_l_next(now)) {
            let packet = self.l.pop()?;
            let applies = self.applies.pop_front().unwrap_or(true);
            let charge = if in_c { self.config.wc * i64::from(packet.wire_len()) } else { 0 };
            Taken { packet, class: Class::Scalable, applies, charge }
        } else if in_c {
            let packet = self.c.pop()?;
            let weight = 100 - self.config.wc;
            let charge = if in_l { -weight * i64::from(packet.wire_len()) } else { 0 };
            Taken { packet, class: Class::Classic, applies: false, charge }
        } else {
            self.credit = self.initial_credit();
            return None;
        };
        self.memory -= u64::from(taken.packet.truesize());
        Some(taken)
    }

    /// The controller's decision on a packet that is not among those held (`must_drop`). `draw` is the random
    /// number that it is to share with the ramp.
    #[inline]
    fn decide(
        &mut self,
        class: Class,
        is_capable: bool,
        draw: Option<u32>,
        random: &mut Random,
    ) -> Verdict {
        let p = self.law.prob;
        let coupled = u64::from(p) * u64::from(self.config.coupling);
        let overload = coupled > u64::from(ONE);
        let speaks = self.held().bytes >= 2 * u64::from(MTU);
        let verdict = match class {
            _ if !speaks => Verdict::Pass,
            Class::Classic if !roll_squared(p, random) => Verdict::Pass,
            Class::Classic if overload => Verdict::Drop(Reason::Overload),
            Class::Classic if is_capable => Verdict::Mark(Reason::Classic),
            Class::Classic => Verdict::Drop(Reason::Classic),
            Class::Scalable if overload => {
                if self.config.drop_on_overload && roll_squared(p, random) {
                    Verdict::Drop(Reason::Overload)
                } else {
                    Verdict::Mark(Reason::Coupled)
                }
            }
            Class::Scalable => {
                let draw = draw.unwrap_or_else(|| random.next_u32());
                if u64::from(draw) <= coupled {
                    Verdict::Mark(Reason::Coupled)
                } else {
                    Verdict::Pass
                }
            }
        };
        let signalled = verdict != Verdict::Pass;
        match class {
            Class::Classic => self.fractions.classic.count(signalled),
            Class::Scalable => self.fractions.coupled.count(signalled),
        }
        verdict
    }

    /// L's own decision on a packet that leaves it (`do_step_aqm`), at the time it waited.
    #[inline]
    fn native(&mut self, applies: bool, waited: Span, draw: Option<u32>) -> Option<Reason> {
        let reason = match (self.config.step, self.config.ramp) {
            _ if !applies => None,
            (Step::Packets(packets), _) => (self.l.len() > packets).then_some(Reason::Step),
            (Step::Time(least), None) => (waited > least).then_some(Reason::Step),
            (Step::Time(least), Some(range)) => {
                let above = waited.saturating_sub(least);
                let native = u128::from(above.as_nanos()) * u128::from(ONE);
                let prob = native / u128::from(range.as_nanos());
                let is_drawn = draw.is_some_and(|draw| u128::from(draw) < prob);
                is_drawn.then_some(Reason::Ramp)
            }
        };
        self.fractions.native.count(reason.is_some());
        reason
    }

    fn drop<T: Telemetry<P>>(
        &mut self,
        now: Time,
        packet: P,
        reason: Reason,
        cx: &mut Context<'_, T>,
    ) {
        self.tally.drop(now, packet, reason, cx);
    }
}

report! {
    impl[P: Packet] DualPi2<P>, dualpi2 at now;
    counters {
        prob: Probability, line 0, Always, "base probability p'" => dualpi2.law.base();
        delay_c: Seconds, line 0, Always, "age of C's head at the last update" => dualpi2.delays.0;
        delay_l: Seconds, line 0, Always, "age of L's head at the last update" => dualpi2.delays.1;
        pkts_in_c: Count, line 1, Always, "packets taken into C" => dualpi2.counts.packets_in_c;
        pkts_in_l: Count, line 1, Always, "packets taken into L" => dualpi2.counts.packets_in_l;
        maxq: Count, line 1, Always, "most packets held when one arrived" => dualpi2.counts.maxq;
        ecn_mark: Count, line 2, Always, "marks by probability or step; a packet may get two"
            => dualpi2.counts.ecn_mark;
        step_marks: Count, line 2, Always, "those of them by the step or the ramp"
            => dualpi2.counts.step_marks;
        credit: Bytes, line 3, Always, "scheduler's credit in per cent of bytes; above 0 it is C's turn"
            => dualpi2.credit;
        memory_used: Bytes, line 4, NonZero, "memory of the packets held" => dualpi2.memory;
        max_memory_used: Bytes, line 4, NonZero, "most of it so far" => dualpi2.counts.max_memory;
    }
    gauges where {
        let base = dualpi2.law.base();
        let coupled = u64::from(dualpi2.law.prob) * u64::from(dualpi2.config.coupling);
    } {
        prob: Probability, "base probability p'" => base;
        prob_l: Probability, "L's coupled probability, k p'"
            => share(coupled.min(ONE.into()) as u32);
        prob_c: Probability, "C's probability, p' squared" => base * base;
        fraction_c: Probability, "share of C's packets that were signalled in the last 16 updates"
            => dualpi2.fractions.classic.last();
        fraction_l: Probability, "share of L's packets that were signalled by coupling in the last 16 updates"
            => dualpi2.fractions.coupled.last();
        fraction_native: Probability, "share of L's packets that were above the step (or drawn on the ramp) in the last 16 updates"
            => dualpi2.fractions.native.last();
        credit: Bytes, "scheduler's credit in per cent of bytes" => dualpi2.credit;
        delay_c: Seconds, "age of C's head" => age(&dualpi2.c, now);
        delay_l: Seconds, "age of L's head" => age(&dualpi2.l, now);
        backlog_c: Count, "packets in C" => dualpi2.c.len();
        backlog_l: Count, "packets in L" => dualpi2.l.len();
    }
}

impl<P: Packet> Qdisc<P> for DualPi2<P> {
    #[inline]
    fn enqueue<T: Telemetry<P>>(&mut self, now: Time, mut packet: P, cx: &mut Context<'_, T>) {
        let held = self.held().packets;
        let size = u64::from(packet.truesize());
        let refused = if held >= self.config.limit {
            Some(Reason::Tail)
        } else if self.memory + size > self.config.memory_limit {
            Some(Reason::Memory)
        } else {
            None
        };
        if let Some(reason) = refused {
            self.tally.over_limit();
            return self.drop(now, packet, reason, cx);
        }
        let class = self.class(packet.ecn());
        if self.config.drop_enqueue {
            let verdict = self.decide(class, packet.ecn().is_capable(), None, cx.random);
            if let Some(reason) = verdict.apply(now, &mut packet, &mut self.counts.ecn_mark, cx) {
                return self.drop(now, packet, reason, cx);
            }
        }
        packet.set_stamp(now);
        self.memory += size;
        self.counts.max_memory = self.counts.max_memory.max(self.memory);
        self.counts.maxq = self.counts.maxq.max(held);
        match class {
            Class::Classic => {
                self.counts.packets_in_c += 1;
                self.c.push(packet);
            }
            Class::Scalable => {
                self.counts.packets_in_l += 1;
                self.applies.push_back(self.l.len() >= self.config.min_qlen_step);
                self.l.push(packet);
            }
        }
    }

    #[inline]
    fn dequeue<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) -> Dequeued<P> {
        while let Some(Taken { mut packet, class, applies, charge }) = self.take(now) {
            // One number for coupling and ramp: either happens as often as the likelier of them, the RFC's
            // max(p'_L, p_CL).
            let draw = self.config.ramp.map(|_| cx.random.next_u32());
            if !self.config.drop_enqueue {
                let verdict = self.decide(class, packet.ecn().is_capable(), draw, cx.random);
                if let Some(reason) = verdict.apply(now, &mut packet, &mut self.counts.ecn_mark, cx)
                {
                    self.drop(now, packet, reason, cx);
                    continue;
                }
            }
            if class == Class::Scalable
                && let Some(reason) = self.native(applies, now.since(packet.stamp()), draw)
            {
                let native = Verdict::Mark(reason);
                native.apply(now, &mut packet, &mut self.counts.ecn_mark, cx);
                self.counts.step_marks += 1;
            }
            self.credit += charge;
            self.tally.sent(packet.wire_len());
            cx.telemetry.leaves(&CLASSES[class as usize]);
            return Dequeued::Packet(packet);
        }
        Dequeued::Empty
    }

    #[inline]
    fn next_timer(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn on_timer<T: Telemetry<P>>(&mut self, now: Time, _cx: &mut Context<'_, T>) {
        if now < self.next_update {
            return;
        }
        self.delays = (age(&self.c, now), age(&self.l, now));
        self.law.update(&self.config.pi, self.delays.0.max(self.delays.1));
        if !self.config.drop_on_overload {
            self.law.prob = self.law.prob.min(ONE / self.config.coupling);
        }
        self.next_update = now + self.config.tupdate;
        self.fractions.updates += 1;
        if self.fractions.updates == Fraction::UPDATES {
            self.fractions.classic.close();
            self.fractions.coupled.close();
            self.fractions.native.close();
            self.fractions.updates = 0;
        }
    }

    crate::reports!(held());
}

impl<P: Packet> TcConfigurable<P> for DualPi2<P> {
    const INFO: &'static Discipline = &INFO;

    fn build(words: &mut TcTokens<'_>, cx: &mut BuildContext<'_, P>) -> Result<Self, TcError> {
        let profile = cx.quirks;
        let (config, given) = Config::read_given(words, profile, false)?;
        let config = config.finish(&given, words)?;
        let mut new = Self {
            next_update: Time::ZERO + config.tupdate,
            config,
            profile: *profile,
            c: PacketQueue::new(),
            l: PacketQueue::new(),
            applies: VecDeque::new(),
            law: Law::default(),
            delays: (Span::ZERO, Span::ZERO),
            credit: 0,
            memory: 0,
            counts: Counts::default(),
            fractions: Fractions::default(),
            tally: QdiscCounters::default(),
        };
        new.credit = new.initial_credit();
        Ok(new)
    }

    fn change<T: Telemetry<P>>(
        &mut self,
        now: Time,
        words: &mut TcTokens<'_>,
        cx: &mut Context<'_, T>,
    ) -> Result<(), TcError> {
        let (config, given) = self.config.changed(words, &self.profile)?;
        self.config = config.finish(&given, words)?;
        if given.iter().any(|option| option.name == "classic_protection") {
            self.credit = self.initial_credit();
        }
        loop {
            let reason = if self.held().packets > self.config.limit {
                Reason::Overlimit
            } else if self.memory > self.config.memory_limit {
                Reason::Memory
            } else {
                return Ok(());
            };
            let packet = self.c.pop().or_else(|| {
                self.applies.pop_front();
                self.l.pop()
            });
            let Some(packet) = packet else { return Ok(()) };
            self.memory -= u64::from(packet.truesize());
            self.drop(now, packet, reason, cx);
        }
    }

    fn start(&mut self, now: Time) {
        self.next_update = now + self.config.tupdate;
    }

    fn flush<T: Telemetry<P>>(&mut self, now: Time, cx: &mut Context<'_, T>) {
        while let Some(packet) = self.c.pop().or_else(|| self.l.pop()) {
            self.drop(now, packet, Reason::Flushed, cx);
        }
        self.applies.clear();
        self.memory = 0;
        // The delay at the last update stays, in every version.
        self.law.prob = 0;
        self.credit = self.initial_credit();
    }

    fn quirks(&self) -> &QdiscQuirks {
        &self.profile
    }

    fn describe(&self) -> String {
        self.config.describe()
    }
}
