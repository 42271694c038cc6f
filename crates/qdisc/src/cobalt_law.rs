//! COBALT's law, CoDel and BLUE at once, in its two forms: CAKE's ([`Plain`]) and that of the disciplines with SCE
//! ([`Twofold`]: one schedule for CE, one for SCE).
//!
//! Source: docs/sources/queues.md and docs/sources/sce.md, which were read in Linux 5.4 to 7.3 `net/sched/sch_cake.c` and in chromi/sce
//! `sch_cnq_codel_af.c`, `sch_cobalt.c`. Where CoDel forgets its count on leaving the dropping state and has rules
//! for resuming, COBALT keeps the schedule running and counts down on it: a signal is due each
//! `interval / sqrt(count)`; above target it is sent and count goes up, below target count goes down. BLUE drops
//! with a probability that grows while the queue overflows and shrinks while it is empty.
//!
//! Invariants: count is 0 only of a schedule at rest; Not-ECT is dropped, never marked; BLUE never marks.
//!
//! What the kernel does and its description does not say, kept here because it is measured:
//! - a queue's memory begins with all zeros, 1/sqrt among them, so the *first* crossing of the target in a
//!   queue's life waits no interval: the packet behind the one that crossed is signalled;
//! - above target a schedule that is overdue after a mark, or was so before the crossing, is set to now, so marks
//!   do not come in rows to make up for lost time; after a drop it is left overdue, so drops do.
//!
//! The trick: `1/sqrt(count)` is a 32-bit fraction, looked up below 16 and improved by one Newton step beyond,
//! which is exact enough since count changes by one.

use crate::tally::mark;
use crate::{Context, Packet, Reason, Telemetry};
use sojourn_units::{Ecn, Time};

/// Nanoseconds on the kernel's signed clock (`ktime_t`).
type Nanos = i64;

const CACHED: usize = 16;
/// 1/sqrt(n) in 2^-32; those of 0 and 1 are as near to one as fits.
const INV_SQRT: [u32; CACHED] = inv_sqrt_table();

/// y (3 - count y²) / 2 in 2^-32.
#[inline]
const fn newton_step(count: u32, y: u32) -> u32 {
    let y2 = ((y as u64 * y as u64) >> 32) as u32;
    let slope = (3_u64 << 32).wrapping_sub(count as u64 * y2 as u64);
    // Two bits are given up before the product and taken back after it, to stay within 64.
    ((slope >> 2).wrapping_mul(y as u64) >> (32 - 2 + 1)) as u32
}

/// Four steps from the neighbour below, as the kernel fills its table.
const fn inv_sqrt_table() -> [u32; CACHED] {
    let mut table = [u32::MAX; CACHED];
    let mut y = u32::MAX;
    let mut count = 1;
    while count < CACHED {
        let mut steps = 0;
        while steps < 4 {
            y = newton_step(count as u32, y);
            steps += 1;
        }
        table[count] = y;
        count += 1;
    }
    table
}

#[inline]
fn nanos(at: Time) -> Nanos {
    at.as_nanos() as Nanos
}

/// When signals are due, and how many there have been lately.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Schedule {
    /// Signals, up one by each that is sent and down one by each that is not needed; 0 at rest.
    pub(crate) count: u32,
    /// 1/sqrt(count) in 2^-32, as of the last change of count; 0 before the first.
    inv_sqrt: u32,
    /// When the next signal is due.
    next: Nanos,
    /// Whether the queue was above target at the last packet.
    pub(crate) dropping: bool,
}

impl Schedule {
    #[inline]
    fn refresh(&mut self) {
        self.inv_sqrt = match INV_SQRT.get(self.count as usize) {
            Some(&y) => y,
            None => newton_step(self.count, self.inv_sqrt),
        };
    }

    /// `from` and interval / sqrt(count). The kernel's `reciprocal_scale` takes 32 bits: an interval of more than
    /// 4.29 s loses what is above.
    #[inline]
    const fn control(&self, from: Nanos, interval: u64) -> Nanos {
        let scaled = (interval & 0xffff_ffff) * self.inv_sqrt as u64;
        from.wrapping_add((scaled >> 32) as Nanos)
    }

    /// How long the next signal has been due: negative when it is not.
    #[inline]
    const fn overdue(&self, now: Nanos) -> Nanos {
        now.wrapping_sub(self.next)
    }

    #[inline]
    const fn is_due(&self, now: Nanos) -> bool {
        self.count > 0 && self.overdue(now) >= 0
    }

    /// The next signal follows this one, which was sent.
    #[inline]
    fn sent(&mut self, interval: u64) {
        self.count = self.count.saturating_add(1);
        self.refresh();
        self.next = self.control(self.next, interval);
    }

    /// The next signal follows this one, which was not needed.
    #[inline]
    fn spared(&mut self, interval: u64) {
        self.count -= 1;
        self.refresh();
        self.next = self.control(self.next, interval);
    }

    /// A signal is due at once: the queue overflows.
    const fn overflow(&mut self, now: Nanos) {
        self.dropping = true;
        self.next = now;
        if self.count == 0 {
            self.count = 1;
        }
    }

    /// What ends the work on a packet (the kernel's "activity timeout"). `overdue` is by how much the schedule was
    /// overdue when that was last computed, which is not always now.
    #[inline]
    const fn rest(&mut self, now: Nanos, interval: u64, overdue: Nanos, dropped: bool) {
        if self.count == 0 {
            self.next = now.wrapping_add(interval as Nanos);
        } else if overdue > 0 && !dropped {
            self.next = now;
        }
    }
}

/// BLUE: a probability of dropping.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Blue {
    changed: Nanos,
    /// In 2^-32.
    p_drop: u32,
}

impl Blue {
    /// 1/256 and 1/4096 (docs/sources/queues.md#cobalt-and-cake).
    const UP: u32 = 1 << 24;
    const DOWN: u32 = 1 << 20;

    /// More, unless it changed within `target`. Says whether it was zero before.
    fn more(&mut self, now: Nanos, target: u64) -> bool {
        let changes = now.wrapping_sub(self.changed) > target as Nanos;
        let was_quiet = self.p_drop == 0;
        if changes {
            self.p_drop = self.p_drop.saturating_add(Self::UP);
            self.changed = now;
        }
        changes && was_quiet
    }

    /// Less, unless it changed within `target`. Says whether it is zero now and was not.
    #[inline]
    const fn less(&mut self, now: Nanos, target: u64) -> bool {
        if self.p_drop == 0 || now.wrapping_sub(self.changed) <= target as Nanos {
            return false;
        }
        self.p_drop = self.p_drop.saturating_sub(Self::DOWN);
        self.changed = now;
        self.p_drop == 0
    }

    /// Whether it drops this packet. Draws only when it may.
    #[inline]
    fn strikes<T>(&self, cx: &mut Context<'_, T>) -> bool {
        self.p_drop > 0 && cx.random.next_u32() < self.p_drop
    }

    /// The probability, 0 to 1.
    pub(crate) fn probability(&self) -> f64 {
        f64::from(self.p_drop) / 4_294_967_296.0
    }
}

/// The law's verdict on a packet. The packet already carries its marks, and the telemetry has them; the caller decides
/// whether to drop it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Verdict {
    /// Why the packet is to be dropped; `None`: it leaves.
    pub(crate) drop: Option<Reason>,
    /// Whether the law took the packet for its signal by a CE mark (CE before or now).
    pub(crate) ce: bool,
    /// Whether it was marked SCE.
    pub(crate) sce: bool,
}

/// Marks ECT(0) as ECT(1) and reports that. Leaves anything else and returns false (docs/sources/sce.md#codepoints).
#[inline]
pub(crate) fn mark_sce<P: Packet, T: Telemetry<P>>(
    now: Time,
    packet: &mut P,
    reason: Reason,
    cx: &mut Context<'_, T>,
) -> bool {
    let markable = packet.ecn() == Ecn::Ect0;
    if markable {
        packet.set_ecn(Ecn::Ect1);
        cx.telemetry.sce_marked(now, packet, reason);
    }
    markable
}

/// Sends the signal that is due, by a mark or a drop.
#[inline]
fn signal<P: Packet, T: Telemetry<P>>(
    now: Time,
    packet: &mut P,
    verdict: &mut Verdict,
    cx: &mut Context<'_, T>,
) {
    verdict.ce = mark(now, packet, Reason::ControlLaw, cx);
    if !verdict.ce {
        verdict.drop = Some(Reason::ControlLaw);
    }
}

/// CAKE's parameters for a tin, in nanoseconds.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct PlainParams {
    pub(crate) target: u64,
    pub(crate) interval: u64,
    /// Time of a full packet at the tin's rate.
    pub(crate) mtu_time: u64,
}

/// CAKE's form: one schedule, BLUE fed by the buffer limit.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Plain {
    pub(crate) schedule: Schedule,
    pub(crate) blue: Blue,
}

impl Plain {
    /// A packet was dropped because the buffer was full. Says whether BLUE woke up.
    pub(crate) fn queue_full(&mut self, now: Time, params: &PlainParams) -> bool {
        let now = nanos(now);
        self.schedule.overflow(now);
        self.blue.more(now, params.target)
    }

    /// The queue was served and had nothing. Says whether BLUE fell asleep.
    pub(crate) fn queue_empty(&mut self, now: Time, params: &PlainParams) -> bool {
        let now = nanos(now);
        self.schedule.dropping = false;
        if self.schedule.is_due(now) {
            self.schedule.spared(params.interval);
        }
        self.blue.less(now, params.target)
    }

    /// Whether there is nothing left to decay at `now`.
    pub(crate) fn is_at_rest(&self, now: Time) -> bool {
        self.blue.p_drop == 0 && self.schedule.count == 0 && self.schedule.overdue(nanos(now)) >= 0
    }

    /// Above target, for as long as matters at the tin's rate.
    #[inline]
    pub(crate) const fn is_over(sojourn: u64, params: &PlainParams) -> bool {
        sojourn > params.target && sojourn > params.mtu_time * 4
    }

    /// Judges a packet that has just left the queue after `sojourn` ns.
    #[inline]
    pub(crate) fn judge<P: Packet, T: Telemetry<P>>(
        &mut self,
        now: Time,
        params: &PlainParams,
        sojourn: u64,
        packet: &mut P,
        cx: &mut Context<'_, T>,
    ) -> Verdict {
        let (at, s) = (nanos(now), &mut self.schedule);
        let mut verdict = Verdict { drop: None, ce: false, sce: false };
        let mut overdue = s.overdue(at);
        // Seen before a crossing moves the schedule: a signal that was due is sent by the packet that crosses.
        let due = s.is_due(at);
        if Self::is_over(sojourn, params) {
            if !s.dropping {
                s.dropping = true;
                s.next = s.control(at, params.interval);
            }
            s.count = s.count.max(1);
        } else {
            s.dropping = false;
        }
        if due && s.dropping {
            signal(now, packet, &mut verdict, cx);
            s.sent(params.interval);
            overdue = s.overdue(at);
        } else if due {
            while s.is_due(at) {
                s.spared(params.interval);
            }
            overdue = s.overdue(at);
        }
        if self.blue.strikes(cx) {
            verdict.drop = verdict.drop.or(Some(Reason::Blue));
        }
        s.rest(at, params.interval, overdue, verdict.drop.is_some());
        verdict
    }
}

/// What becomes of the SCE schedule when the queue crosses the SCE target, one way or the other, and no signal is
/// due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Crossing {
    /// It begins one interval from now (the single-queue `cobalt` of 2022).
    BeginsAnew,
    /// It is mirrored about now, so that what was left of the wait is served on the other side (docs/sources/sce.md#the-marking-law, step 1);
    /// at rest it begins one interval from now.
    Mirrors,
    /// It is mirrored at rest, too, as the kernels of 2020 have it. That puts the first mark off by as long as the
    /// flow has been quiet, and that of a new flow by the age of the clock. Falling below the target mirrors it back
    /// into the past, where it is due: if the very next packet is above again it begins, else it is at rest and the
    /// next crossing puts it off once more.
    MirrorsAtRest,
}

/// Parameters of the form with SCE, in nanoseconds (docs/sources/sce.md#the-marking-law).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TwofoldParams {
    pub(crate) ce_interval: u64,
    pub(crate) ce_target: u64,
    /// 0: no SCE.
    pub(crate) sce_interval: u64,
    pub(crate) sce_target: u64,
    /// Sojourn time above which BLUE's probability grows.
    pub(crate) blue_threshold: u64,
    /// What becomes of the SCE schedule when the target is crossed.
    pub(crate) crossing: Crossing,
}

/// A sojourn time and what it is multiplied by before it is compared with a target multiplied by the other: the
/// weights of approximate fairness (docs/sources/sce.md#approximate-fairness).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weighted {
    pub(crate) sojourn: u64,
    pub(crate) by: u64,
    pub(crate) against: u64,
}

impl Weighted {
    /// No weights.
    pub(crate) const fn plain(sojourn: u64) -> Self {
        Self { sojourn, by: 1, against: 1 }
    }

    #[inline]
    const fn is_above(self, threshold: u64) -> bool {
        self.sojourn.wrapping_mul(self.by) > threshold.wrapping_mul(self.against)
    }
}

/// How long the machine has been up when a run begins: the zero of the kernel's clock, where a new SCE schedule
/// stands. A year. Any time longer than a run gives the same run.
const UPTIME: Nanos = 365 * 86_400 * 1_000_000_000;

/// The form with SCE: two schedules, BLUE fed by the sojourn time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Twofold {
    pub(crate) ce: Schedule,
    pub(crate) sce: Schedule,
    pub(crate) blue: Blue,
}

impl Default for Twofold {
    fn default() -> Self {
        let sce = Schedule { next: -UPTIME, ..Schedule::default() };
        Self { ce: Schedule::default(), sce, blue: Blue::default() }
    }
}

impl Twofold {
    /// Decay, run when a packet leaves without having met the controlled queue, and on idle flows (docs/sources/sce.md#the-marking-law).
    pub(crate) fn queue_empty(&mut self, now: Time, params: &TwofoldParams) {
        let at = nanos(now);
        self.blue.less(at, params.ce_target);
        while self.ce.is_due(at) {
            self.ce.spared(params.ce_interval);
            self.sce.refresh();
        }
        if self.ce.dropping {
            self.ce.next = self.ce.control(at, params.ce_interval);
            self.ce.dropping = false;
        }
        while self.sce.is_due(at) {
            self.sce.spared(params.sce_interval);
            self.ce.refresh();
        }
        if self.sce.dropping {
            self.turn_sce(at, params, true);
            self.sce.dropping = false;
        }
    }

    /// Moves the SCE schedule when the queue crosses the target; `mirror` says that no signal was due.
    fn turn_sce(&mut self, at: Nanos, params: &TwofoldParams, mirror: bool) {
        let (sce, crossing) = (&mut self.sce, params.crossing);
        let mirrored = match crossing {
            Crossing::BeginsAnew => false,
            Crossing::Mirrors => sce.count > 0,
            Crossing::MirrorsAtRest => true,
        };
        if sce.count == 0 && crossing == Crossing::Mirrors {
            sce.refresh();
        }
        let from = if mirror && mirrored { at.wrapping_add(at.wrapping_sub(sce.next)) } else { at };
        sce.next = sce.control(from, params.sce_interval);
    }

    /// Judges a packet that has just left the queue.
    #[inline]
    pub(crate) fn judge<P: Packet, T: Telemetry<P>>(
        &mut self,
        now: Time,
        params: &TwofoldParams,
        delay: Weighted,
        packet: &mut P,
        cx: &mut Context<'_, T>,
    ) -> Verdict {
        let at = nanos(now);
        let mut verdict = Verdict { drop: None, ce: false, sce: false };
        if params.sce_interval > 0 || self.sce.count > 0 || self.sce.dropping {
            verdict.sce = self.judge_sce(now, params, delay, packet, cx);
        }
        let overdue = self.judge_ce(now, params, delay, packet, &mut verdict, cx);
        if delay.is_above(params.blue_threshold) {
            self.blue.more(at, params.ce_target);
            self.ce.overflow(at);
            if params.sce_interval > 0 {
                self.sce.overflow(at);
            }
        }
        if self.blue.strikes(cx) {
            verdict.drop = verdict.drop.or(Some(Reason::Blue));
        }
        self.ce.rest(at, params.ce_interval, overdue, verdict.drop.is_some());
        verdict
    }

    /// Steps 1 to 3 of docs/sources/sce.md#the-marking-law: whether the packet was marked SCE.
    fn judge_sce<P: Packet, T: Telemetry<P>>(
        &mut self,
        now: Time,
        params: &TwofoldParams,
        delay: Weighted,
        packet: &mut P,
        cx: &mut Context<'_, T>,
    ) -> bool {
        let at = nanos(now);
        let over = params.sce_interval > 0 && delay.is_above(params.sce_target);
        let mut due = self.sce.is_due(at);
        if over != self.sce.dropping {
            self.turn_sce(at, params, !due);
            self.sce.dropping = over;
            // Only when entering: when leaving, a due signal is still counted down, from the schedule's new state.
            due &= !over;
        }
        if over {
            self.sce.count = self.sce.count.max(1);
        }
        if due && over {
            // A packet that cannot be marked leaves the signal to the next one.
            let marked = mark_sce(now, packet, Reason::ControlLaw, cx);
            if marked {
                self.sce.sent(params.sce_interval);
                self.ce.refresh();
            }
            return marked;
        }
        while due {
            self.sce.spared(params.sce_interval);
            self.ce.refresh();
            due = self.sce.is_due(at);
        }
        false
    }

    /// Steps 4 and 5: by how much the schedule was overdue when that was last computed.
    #[inline]
    fn judge_ce<P: Packet, T: Telemetry<P>>(
        &mut self,
        now: Time,
        params: &TwofoldParams,
        delay: Weighted,
        packet: &mut P,
        verdict: &mut Verdict,
        cx: &mut Context<'_, T>,
    ) -> Nanos {
        let at = nanos(now);
        let over = delay.is_above(params.ce_target);
        let mut overdue = self.ce.overdue(at);
        let mut due = self.ce.is_due(at);
        if over != self.ce.dropping {
            self.ce.next = self.ce.control(at, params.ce_interval);
            self.ce.dropping = over;
            due &= !over;
        }
        if over {
            self.ce.count = self.ce.count.max(1);
        }
        if due && over {
            signal(now, packet, verdict, cx);
            self.ce.sent(params.ce_interval);
            self.sce.refresh();
            return self.ce.overdue(at);
        }
        while due {
            self.ce.spared(params.ce_interval);
            self.sce.refresh();
            overdue = self.ce.overdue(at);
            due = self.ce.is_due(at);
        }
        overdue
    }
}
