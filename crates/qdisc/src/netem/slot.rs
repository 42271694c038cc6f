//! netem's slots: packets leave only when a slot opens, a limited number in each, and the next slot opens later.
//!
//! Source: Linux 5.4 to 7.3, `net/sched/sch_netem.c`, `get_slot_next` and the dequeue; docs/sources/queues.md#slots-of-netem.
//!
//! Invariant: a slot serves packets only that were due when it opened. Whenever the queue is asked and its first
//! packet became due after the slot opened, or will, a new slot is drawn, counted from that moment. Hence bursts of
//! at most `packets` packets or `bytes` bytes (the one that exceeds them still leaves), and gaps between MIN and
//! MAX.

use sojourn_units::{Random, Span, Time};

/// `slot MIN MAX packets N bytes B`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SlotConfig {
    pub(super) min: Span,
    pub(super) max: Span,
    /// 0: as many as are due.
    pub(super) packets: u32,
    /// 0: as many as are due.
    pub(super) bytes: u32,
}

/// The slot that is open, or opens next.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    config: SlotConfig,
    /// When it opens, or opened.
    at: Time,
    packets_left: i64,
    bytes_left: i64,
}

impl Slot {
    /// Slots from `now` on.
    pub(super) fn new(now: Time, config: SlotConfig, random: &mut Random) -> Self {
        let mut slot = Self { config, at: now, packets_left: 0, bytes_left: 0 };
        slot.draw(now, random);
        slot
    }

    /// Makes a slot that was drawn at time zero one that was drawn at `now`.
    pub(super) fn shift(&mut self, now: Time) {
        self.at = now + self.at.since(Time::ZERO);
    }

    fn draw(&mut self, now: Time, random: &mut Random) {
        let SlotConfig { min, max, packets, bytes } = self.config;
        let width = max.saturating_sub(min).as_nanos();
        let more = (u128::from(random.next_u32()) * u128::from(width)) >> 32;
        self.at = now + min + Span::from_nanos(more as u64);
        let unless_zero = |n: u32| if n == 0 { i64::from(i32::MAX) } else { i64::from(n) };
        (self.packets_left, self.bytes_left) = (unless_zero(packets), unless_zero(bytes));
    }

    /// When a packet that is due at `due` may leave, for a queue that is asked at `now`.
    pub(super) fn opens(&mut self, now: Time, due: Time, random: &mut Random) -> Time {
        if self.at < due {
            self.draw(now, random);
        }
        self.at.max(due)
    }

    /// Counts a packet of `bytes` bytes that leaves.
    pub(super) fn serve(&mut self, now: Time, bytes: u32, random: &mut Random) {
        self.packets_left -= 1;
        self.bytes_left -= i64::from(bytes);
        if self.packets_left <= 0 || self.bytes_left <= 0 {
            self.draw(now, random);
        }
    }
}
