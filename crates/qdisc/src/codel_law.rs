//! CoDel's control law, shared by every discipline that runs it on a queue: `codel` and `fq_codel`.
//!
//! A queue that has stayed above `target` for an `interval` gets one signal, then another each
//! `interval / sqrt(count)`, until it is below `target` again. Source: RFC 8289 §5 and Linux 5.4 to 7.3,
//! `include/net/codel.h`, `codel_impl.h`, which this follows wherever the two differ:
//! - time is in units of 1024 ns and 32 bits wide, wrapping after 73 minutes;
//! - 1/sqrt(count) is a 16-bit fraction improved by one Newton step at each signal, so that it lags when
//!   `count` jumps;
//! - on entering the dropping state, `count` resumes from what it gained in the last one if that ended less
//!   than 16 intervals ago;
//! - a mark ends the work of a dequeue, so at most one packet is marked, however many signals are due;
//! - the kernel ([`CodelLaw`]) decides what bounds the drops of a dequeue, and whether an empty queue starts over.
//!
//! With 32-bit time "less than 16 intervals ago" is also true of anything more than 36 minutes ago. The
//! kernel's clock starts at boot, ours at the run's beginning; within 36 minutes the two agree.

use crate::tally::{QdiscCounters, mark};
use crate::{CodelLaw, Context, Packet, QdiscQuirks, Reason, Telemetry};
use sojourn_units::{Span, Time};

/// A time or a span in units of 1024 ns.
type Units = u32;

/// A threshold that no sojourn time passes.
const NO_THRESHOLD: Units = i32::MAX as u32;
/// `psched_mtu` of an Ethernet device: at or below this backlog there is never a signal.
const MTU: u64 = 1514;

/// Most packets that one dequeue drops in the dropping state, where that is bounded (`CODEL_MAX_DROPS_PER_DEQUEUE`).
const MOST_DROPS: u32 = 256;

#[inline]
const fn units(nanos: u64) -> Units {
    (nanos >> 10) as Units
}

#[inline]
const fn is_after(a: Units, b: Units) -> bool {
    b.wrapping_sub(a).cast_signed() < 0
}

#[inline]
const fn is_before(a: Units, b: Units) -> bool {
    is_after(b, a)
}

/// A span as the law keeps it: tc hands over whole microseconds.
#[inline]
const fn from_span(span: Span) -> Units {
    units(span.as_micros() * 1_000)
}

/// A span of the law in seconds, for statistics.
pub(crate) fn seconds(units: Units) -> f64 {
    f64::from(units) * 1024e-9
}

/// The law's parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Params {
    target: Units,
    interval: Units,
    ce_threshold: Units,
    /// Value and mask that the traffic-class byte must match for `ce_threshold` to apply.
    pub(crate) selector: Option<(u8, u8)>,
    /// Whether to mark what can be marked.
    pub(crate) ecn: bool,
    /// Whether an empty queue starts over, and signals are bounded.
    bounded: bool,
}

impl Params {
    /// This kernel's, before anything is set.
    pub(crate) fn blank(profile: &QdiscQuirks) -> Self {
        Self {
            target: 0,
            interval: 0,
            ce_threshold: NO_THRESHOLD,
            selector: None,
            ecn: false,
            bounded: profile.codel == CodelLaw::Bounded,
        }
    }

    pub(crate) const fn set_target(&mut self, span: Span) {
        self.target = from_span(span);
    }

    pub(crate) const fn set_interval(&mut self, span: Span) {
        self.interval = from_span(span);
    }

    pub(crate) const fn set_ce_threshold(&mut self, span: Span) {
        self.ce_threshold = from_span(span);
    }

    /// `target`, `interval` and `ce_threshold` (if there is one), back in time: up to 1.024 us less than set.
    pub(crate) fn spans(&self) -> (Span, Span, Option<Span>) {
        // The kernel's `codel_time_to_us`.
        let span = |units: Units| Span::from_micros(u64::from(units) * 1024 / 1000);
        let threshold = (self.ce_threshold != NO_THRESHOLD).then(|| span(self.ce_threshold));
        (span(self.target), span(self.interval), threshold)
    }
}

/// The law's memory of one queue.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct State {
    /// Signals in this dropping state, more or less.
    pub(crate) count: u32,
    /// `count` when this dropping state began.
    pub(crate) lastcount: u32,
    /// Whether signals are being sent.
    pub(crate) dropping: bool,
    /// 1/sqrt(count) in 65536ths.
    rec_inv_sqrt: u16,
    /// When the queue will have been above target for an interval; 0 while it is below.
    first_above: Units,
    /// When the next signal is due.
    pub(crate) drop_next: Units,
    /// The last packet's sojourn time.
    pub(crate) ldelay: Units,
}

impl State {
    /// One Newton step towards 1/sqrt(count): y (3 - count y²) / 2.
    #[inline]
    const fn newton_step(&mut self) {
        let y = (self.rec_inv_sqrt as u32) << 16;
        let y2 = ((y as u64 * y as u64) >> 32) as u32;
        let slope = (3_u64 << 32).wrapping_sub((self.count as u64).wrapping_mul(y2 as u64));
        // Two bits are given up before the product and taken back after it, to stay within 64.
        let y = (slope >> 2).wrapping_mul(y as u64) >> (32 - 2 + 1);
        self.rec_inv_sqrt = (y >> 16) as u16;
    }

    /// `from` plus interval / sqrt(count).
    #[inline]
    const fn next_after(&self, from: Units, params: &Params) -> Units {
        let fraction = (self.rec_inv_sqrt as u64) << 16;
        let gap = ((params.interval as u64 * fraction) >> 32) as Units;
        from.wrapping_add(if params.bounded && gap == 0 { 1 } else { gap })
    }

    /// How far in the future the next signal is, negative when it is due, in seconds; as tc prints `drop_next`.
    pub(crate) fn until_next(&self, now: Time) -> f64 {
        let units = self.drop_next.wrapping_sub(units(now.as_nanos())).cast_signed();
        f64::from(units) * 1024e-9
    }
}

/// What the law counts.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Counts {
    /// The largest packet seen, in bytes.
    pub(crate) maxpacket: u32,
    /// Marks by the law.
    pub(crate) ecn_mark: u64,
    /// Marks by `ce_threshold`.
    pub(crate) ce_mark: u64,
}

/// The queue that the law works on.
pub(crate) trait Queue<P> {
    /// Takes the packet at the head.
    fn take(&mut self) -> Option<P>;
    /// Bytes that the law weighs against the MTU, without what was taken.
    fn bytes(&self) -> u64;
}

/// One dequeue at one time, and everything that it works on.
pub(crate) struct Dequeue<'a, Q> {
    pub(crate) now: Time,
    pub(crate) params: &'a Params,
    pub(crate) state: &'a mut State,
    pub(crate) counts: &'a mut Counts,
    pub(crate) tally: &'a mut QdiscCounters,
    pub(crate) queue: Q,
}

impl<Q> Dequeue<'_, Q> {
    /// Whether the queue, seen by the packet just taken from it, has been above target for an interval.
    #[inline]
    fn is_bad<P: Packet>(&mut self, packet: Option<&P>) -> bool
    where
        Q: Queue<P>,
    {
        let Some(packet) = packet else {
            self.state.first_above = 0;
            return false;
        };
        let now = units(self.now.as_nanos());
        let sojourn = now.wrapping_sub(units(packet.stamp().as_nanos()));
        self.state.ldelay = sojourn;
        self.counts.maxpacket = self.counts.maxpacket.max(packet.wire_len());
        if is_before(sojourn, self.params.target) || self.queue.bytes() <= MTU {
            self.state.first_above = 0;
            return false;
        }
        if self.state.first_above == 0 {
            self.state.first_above = now.wrapping_add(self.params.interval);
            return false;
        }
        is_after(now, self.state.first_above)
    }

    /// The packet that leaves, after the law has had its way.
    #[inline]
    pub(crate) fn run<P: Packet, T: Telemetry<P>>(mut self, cx: &mut Context<'_, T>) -> Option<P>
    where
        Q: Queue<P>,
    {
        let Some(mut packet) = self.queue.take() else {
            if self.params.bounded {
                self.state.first_above = 0;
            }
            self.state.dropping = false;
            return None;
        };
        let bad = self.is_bad(Some(&packet));
        if self.state.dropping {
            if bad {
                packet = self.go_on(packet, cx)?;
            } else {
                self.state.dropping = false;
            }
        } else if bad {
            packet = self.begin(packet, cx)?;
        }
        self.apply_threshold(&mut packet, cx);
        Some(packet)
    }

    /// Sends the signals that are due in the dropping state.
    fn go_on<P: Packet, T: Telemetry<P>>(
        &mut self,
        mut packet: P,
        cx: &mut Context<'_, T>,
    ) -> Option<P>
    where
        Q: Queue<P>,
    {
        let now = units(self.now.as_nanos());
        let mut left = if self.params.bounded { MOST_DROPS } else { u32::MAX };
        while self.state.dropping && !is_before(now, self.state.drop_next) {
            if left == 0 {
                // Far behind: forget the signals that are due.
                self.state.drop_next = self.state.next_after(now, self.params);
                break;
            }
            left -= 1;
            self.state.count = self.state.count.wrapping_add(1);
            self.state.newton_step();
            if self.params.ecn && mark(self.now, &mut packet, Reason::ControlLaw, cx) {
                self.counts.ecn_mark += 1;
                self.state.drop_next = self.state.next_after(self.state.drop_next, self.params);
                break;
            }
            self.tally.drop(self.now, packet, Reason::ControlLaw, cx);
            let next = self.queue.take();
            if self.is_bad(next.as_ref()) {
                self.state.drop_next = self.state.next_after(self.state.drop_next, self.params);
            } else {
                self.state.dropping = false;
            }
            packet = next?;
        }
        Some(packet)
    }

    /// Enters the dropping state with its first signal.
    fn begin<P: Packet, T: Telemetry<P>>(
        &mut self,
        mut packet: P,
        cx: &mut Context<'_, T>,
    ) -> Option<P>
    where
        Q: Queue<P>,
    {
        let next = if self.params.ecn && mark(self.now, &mut packet, Reason::ControlLaw, cx) {
            self.counts.ecn_mark += 1;
            Some(packet)
        } else {
            self.tally.drop(self.now, packet, Reason::ControlLaw, cx);
            let next = self.queue.take();
            self.is_bad(next.as_ref());
            next
        };
        let now = units(self.now.as_nanos());
        let state = &mut *self.state;
        state.dropping = true;
        let gained = state.count.wrapping_sub(state.lastcount);
        let idle = now.wrapping_sub(state.drop_next);
        if gained > 1 && is_before(idle, self.params.interval.wrapping_mul(16)) {
            state.count = gained;
            state.newton_step();
        } else {
            state.count = 1;
            state.rec_inv_sqrt = u16::MAX;
        }
        state.lastcount = state.count;
        state.drop_next = state.next_after(now, self.params);
        next
    }

    /// Marks whatever leaves later than `ce_threshold`.
    #[inline]
    fn apply_threshold<P: Packet, T: Telemetry<P>>(
        &mut self,
        packet: &mut P,
        cx: &mut Context<'_, T>,
    ) {
        if !is_after(self.state.ldelay, self.params.ce_threshold) {
            return;
        }
        let tos = packet.dscp().tos(packet.ecn());
        let selected = self.params.selector.is_none_or(|(value, mask)| tos & mask == value);
        if selected && mark(self.now, packet, Reason::CeThreshold, cx) {
            self.counts.ce_mark += 1;
        }
    }
}
