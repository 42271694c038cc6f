//! Acknowledgements that come in heaps (radio, cable), for every version: the surplus of a heap over the number that
//! the rate predicts, and the kernel's memory of such surpluses. (`bbr_update_ack_aggregation`; draft-ietf-ccwg-bbr
//! §5.5.9.)

use super::BW_BITS;
use crate::rate_sample::micros_between;
use sojourn_units::Time;

/// An epoch starts over before it reaches this number of acknowledged segments.
const LONGEST: u32 = 1 << 20;
/// Most that the kernel adds: deliveries at the estimated rate in this many microseconds.
const MOST_US: u64 = 100_000;

/// Since this began, more has been acknowledged than expected.
#[derive(Clone, Debug, Default)]
pub(super) struct Epoch {
    began: Time,
    pub(super) acked: u32,
}

impl Epoch {
    pub(super) fn begin(&mut self, at: Time) {
        self.began = at;
        self.acked = 0;
    }

    /// `delivered` segments are acknowledged at `at`; returns how many more have come than `bw` made expect, at most the
    /// window.
    pub(super) fn take(&mut self, bw: u32, at: Time, delivered: u32, cwnd: u32) -> u32 {
        let epoch_us = u64::from(micros_between(at, self.began));
        let mut expected = (u64::from(bw) * epoch_us) >> BW_BITS;
        if u64::from(self.acked) <= expected || self.acked + delivered >= LONGEST {
            self.begin(at);
            expected = 0;
        }
        self.acked = (self.acked + delivered).min(LONGEST - 1);
        (u64::from(self.acked) - expected).min(u64::from(cwnd)) as u32
    }
}

/// The kernel's memory: the most in this stretch of rounds, and in the one before.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots {
    pub(super) most: [u32; 2],
    current: usize,
    rounds: u32,
}

impl Slots {
    /// A round begins; a stretch has `rounds_a_slot` of them.
    pub(super) fn next_round(&mut self, rounds_a_slot: u32) {
        self.rounds += 1;
        if self.rounds >= rounds_a_slot {
            self.rounds = 0;
            self.current ^= 1;
            self.most[self.current] = 0;
        }
    }

    pub(super) fn take(&mut self, extra: u32) {
        self.most[self.current] = self.most[self.current].max(extra);
    }

    /// What the window gets more at this rate.
    pub(super) fn extra(&self, bw: u32) -> u32 {
        let bound = ((u64::from(bw) * MOST_US) >> BW_BITS) as u32;
        self.most[0].max(self.most[1]).min(bound)
    }
}
