//! Aggregation: where ACKs come in heaps (radio, cable), the window needs as much more as recent heaps had above what
//! the rate made expect. (draft §5.5.9.)

use super::rules::AggregationWindow;
use super::{BW_BITS, Control, ControlSample, Model, Version, View};
use crate::minmax::WindowedMax;
use crate::rate_sample::micros_between;
use sojourn_units::Time;

/// An epoch with so many acknowledged begins anew; fewer than this are counted.
const LONGEST: u32 = 1 << 20;
/// Most that Google adds: what the rate delivers in this many microseconds.
const MOST_US: u64 = 100_000;

/// The heaps.
#[derive(Clone, Debug)]
pub(super) struct Aggregation {
    /// Most packets acknowledged above what was expected: in a window of rounds, or in two slots of rounds.
    pub(super) filter: WindowedMax,
    pub(super) slots: [u32; 2],
    current: usize,
    rounds: u32,
    /// The epoch: since then more has been acknowledged than expected.
    began: Time,
    pub(super) acked: u32,
}

impl Aggregation {
    pub(super) fn new() -> Self {
        Self {
            filter: WindowedMax::new(),
            slots: [0; 2],
            current: 0,
            rounds: 0,
            began: Time::ZERO,
            acked: 0,
        }
    }

    pub(super) fn begin_epoch(&mut self, at: Time) {
        self.began = at;
        self.acked = 0;
    }

    /// The slots move on by a round.
    fn next_round(&mut self, rounds_a_slot: u32) {
        self.rounds += 1;
        if self.rounds >= rounds_a_slot {
            self.rounds = 0;
            self.current ^= 1;
            self.slots[self.current] = 0;
        }
    }
}

impl<V: Version> Model<V> {
    /// Takes in what an ACK has delivered.
    pub(super) fn update_aggregation(
        &mut self,
        view: &View,
        control: &Control,
        sample: &ControlSample,
    ) {
        if sample.delivered == 0 {
            return;
        }
        let (bw, full) = (u64::from(self.bw()), self.full_bw_reached);
        let a = &mut self.aggregation;
        if let AggregationWindow::TwoSlots(rounds) = V::RULES.aggregation {
            if sample.rate.is_none() {
                return;
            }
            if self.round_start {
                a.next_round(if full { rounds } else { 1 });
            }
        }
        let epoch_us = u64::from(micros_between(view.delivered_at, a.began));
        let mut expected = (bw * epoch_us) >> BW_BITS;
        if u64::from(a.acked) <= expected || a.acked + sample.delivered >= LONGEST {
            a.begin_epoch(view.delivered_at);
            expected = 0;
        }
        a.acked = (a.acked + sample.delivered).min(LONGEST - 1);
        let extra = u64::from(a.acked).saturating_sub(expected).min(u64::from(control.cwnd)) as u32;
        match V::RULES.aggregation {
            AggregationWindow::Rounds(rounds) => {
                let window = if full { rounds } else { 1 };
                a.filter.update(self.round_count, extra, window);
            }
            AggregationWindow::TwoSlots(_) => {
                a.slots[a.current] = a.slots[a.current].max(extra);
            }
        }
    }

    /// What the window gets more.
    pub(super) fn extra_acked(&self) -> u32 {
        match V::RULES.aggregation {
            AggregationWindow::Rounds(_) => self.aggregation.filter.get(),
            AggregationWindow::TwoSlots(_) => {
                let most = ((u64::from(self.bw()) * MOST_US) >> BW_BITS) as u32;
                let [a, b] = self.aggregation.slots;
                a.max(b).min(most)
            }
        }
    }
}
