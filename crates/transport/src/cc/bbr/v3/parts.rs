//! What BBRv3 remembers of each thing that it watches.

use super::state::State;
use crate::cc::bbr::heaps::{Epoch, Slots};
use crate::cc::{LostSegment, View};
use crate::minmax::WindowedMax;

/// A bound that is not set.
pub(super) const NONE: u32 = u32::MAX;

/// The highest rate of this ProbeBW cycle and of the one before.
#[derive(Clone, Debug, Default)]
pub(super) struct MaxBw {
    slots: [u32; 2],
}

impl MaxBw {
    #[inline]
    pub(super) fn get(&self) -> u32 {
        self.slots[0].max(self.slots[1])
    }

    pub(super) fn take(&mut self, bw: u32) {
        self.slots[1] = self.slots[1].max(bw);
    }

    /// A cycle is over; one that saw no rate at all does not count.
    pub(super) fn advance(&mut self) {
        if self.slots[1] > 0 {
            self.slots = [self.slots[1], 0];
        }
    }
}

/// The heaps, in the memory of either version.
#[derive(Clone, Debug, Default)]
pub(super) struct Aggregation {
    pub(super) epoch: Epoch,
    pub(super) rounds: WindowedMax,
    pub(super) slots: Slots,
}

/// The search for a rate that does not grow any more; UP uses it, too.
#[derive(Clone, Debug, Default)]
pub(super) struct FullBw {
    /// Rate that was last taken for a growth.
    pub(super) baseline: u32,
    /// Rounds since.
    pub(super) rounds: u32,
    /// Whether three have passed.
    pub(super) now: bool,
}

/// What Startup has lost in this round of losses.
#[derive(Clone, Debug, Default)]
pub(super) struct StartupLosses {
    /// ACKs that reported losses.
    pub(super) acks: u32,
    /// Separate ranges of sequence numbers.
    pub(super) ranges: u32,
    /// Segments.
    pub(super) segments: u32,
    /// One past the last segment taken for lost.
    end: Option<u32>,
    /// `delivered` when the round began.
    pub(super) delivered: u32,
}

impl StartupLosses {
    /// A segment has been taken for lost.
    pub(super) fn take(&mut self, lost: &LostSegment) {
        self.ranges += u32::from(self.end != Some(lost.seq));
        self.segments += 1;
        self.end = Some(lost.seq.wrapping_add(1));
    }

    pub(super) fn begin_round(&mut self, view: &View) {
        *self = Self { delivered: view.delivered, ..Self::default() };
    }
}

/// The meaning of the feedback of a probe that is coming in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum AckPhase {
    /// No probe's.
    #[default]
    Init,
    /// REFILL sends.
    Refilling,
    /// UP has begun; incoming ACKs are for data sent before it.
    Starting,
    /// Incoming ACKs are for data that UP sent.
    Feedback,
    /// UP is over; incoming ACKs are for data that it sent.
    Stopping,
}

/// How the long-term bound grows while UP finds that more fits.
#[derive(Clone, Debug, Default)]
pub(super) struct Raise {
    /// Rounds of it.
    pub(super) rounds: u32,
    /// Segments acknowledged that have not raised it yet.
    pub(super) acked: u32,
    /// Segments acknowledged for each step of one; `None`: no raise.
    pub(super) acked_per_step: Option<u32>,
}

/// What a spurious recovery gives back.
#[derive(Clone, Debug)]
pub(super) struct Undo {
    /// Whether it has been noted in this episode.
    pub(super) saved: bool,
    /// Where losses have ended a probe.
    pub(super) state: Option<State>,
    pub(super) bw_shortterm: u32,
    pub(super) inflight_shortterm: u32,
    pub(super) inflight_longterm: u32,
}

impl Undo {
    pub(super) const NOTHING: Self = Self {
        saved: false,
        state: None,
        bw_shortterm: NONE,
        inflight_shortterm: NONE,
        inflight_longterm: NONE,
    };
}
