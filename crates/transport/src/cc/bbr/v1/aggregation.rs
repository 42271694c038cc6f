//! Aggregation: where acknowledgements come in heaps (radio, cable), twice the bandwidth-delay product is used up
//! between two heaps. So the window gets as much more as recent heaps had above what the rate made expect.
//! (`bbr_update_ack_aggregation`; from Linux 5.1 on.)

use super::{BW_BITS, Bbr, Control, ControlSample, View};
use crate::rate_sample::micros_between;
use sojourn_units::Time;

/// Rounds after which the older of two maxima is forgotten: one holds 5 to 10 rounds.
const ROUNDS: u32 = 5;
/// An epoch with so many acknowledged begins anew; fewer than this are counted.
const LONGEST: u32 = 1 << 20;
/// Most that is added: what the rate delivers in this many microseconds.
const MOST_US: u64 = 100_000;

/// The heaps.
#[derive(Clone, Debug, Default)]
pub(super) struct Aggregation {
    /// Most packets acknowledged above what was expected, in this stretch of rounds and the one before.
    pub(super) extra: [u32; 2],
    current: usize,
    rounds: u32,
    /// The epoch: since then more has been acknowledged than expected.
    began: Time,
    acked: u32,
}

impl Aggregation {
    pub(super) fn begin_epoch(&mut self, at: Time) {
        self.began = at;
        self.acked = 0;
    }
}

impl Bbr {
    /// Takes in what an ACK with a rate sample has delivered.
    pub(super) fn update_aggregation(
        &mut self,
        view: &View,
        control: &Control,
        sample: &ControlSample,
    ) {
        if sample.delivered == 0 || sample.rate.is_none() {
            return;
        }
        let bw = u64::from(self.bw());
        let a = &mut self.aggregation;
        if self.round_start {
            a.rounds += 1;
            if a.rounds >= ROUNDS {
                a.rounds = 0;
                a.current ^= 1;
                a.extra[a.current] = 0;
            }
        }
        let epoch_us = u64::from(micros_between(view.delivered_at, a.began));
        let mut expected = (bw * epoch_us) >> BW_BITS;
        if u64::from(a.acked) <= expected || a.acked + sample.delivered >= LONGEST {
            a.begin_epoch(view.delivered_at);
            expected = 0;
        }
        a.acked = (a.acked + sample.delivered).min(LONGEST - 1);
        let extra = (u64::from(a.acked) - expected).min(u64::from(control.cwnd)) as u32;
        a.extra[a.current] = a.extra[a.current].max(extra);
    }

    /// What the window gets more (`bbr_ack_aggregation_cwnd`).
    pub(super) fn aggregation_cwnd(&self) -> u32 {
        if !self.full_pipe {
            return 0;
        }
        let most = ((u64::from(self.bw()) * MOST_US) >> BW_BITS) as u32;
        let [a, b] = self.aggregation.extra;
        a.max(b).min(most)
    }
}
