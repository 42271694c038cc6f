//! Aggregation: where acknowledgements come in heaps (radio, cable), twice the bandwidth-delay product is used up
//! between two heaps. So the window gets as much more as recent heaps had above what the rate made expect.
//! (`bbr_update_ack_aggregation`; from Linux 5.1 on.)

use super::state::Bbr;
use crate::cc::{Control, ControlSample, View};

/// Rounds after which the older of two maxima is forgotten: one holds 5 to 10 rounds.
const ROUNDS: u32 = 5;

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
        let bw = self.bw();
        let a = &mut self.aggregation;
        if self.round_start {
            a.slots.next_round(ROUNDS);
        }
        a.slots.take(a.epoch.take(bw, view.delivered_at, sample.delivered, control.cwnd));
    }

    /// What the window gets more (`bbr_ack_aggregation_cwnd`).
    pub(super) fn aggregation_cwnd(&self) -> u32 {
        if self.full_pipe { self.aggregation.slots.extra(self.bw()) } else { 0 }
    }
}
