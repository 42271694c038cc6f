//! Aggregation: where ACKs come in heaps (radio, cable), the window needs as much more as recent heaps had above what
//! the rate made expect. (draft §5.5.9.)

use super::memory::Model;
use super::rules::AggregationWindow;
use super::version::Version;
use crate::cc::{Control, ControlSample, View};

impl<V: Version> Model<V> {
    /// Takes in what an ACK has delivered.
    pub(super) fn update_aggregation(
        &mut self,
        view: &View,
        control: &Control,
        sample: &ControlSample,
    ) {
        let is_kernels = matches!(V::RULES.aggregation, AggregationWindow::TwoSlots(_));
        if sample.delivered == 0 || (is_kernels && sample.rate.is_none()) {
            return;
        }
        // Startup forgets after a round: the rate has grown since.
        let full = self.full_bw_reached;
        let window = |rounds| if full { rounds } else { 1 };
        let bw = self.bw();
        let a = &mut self.aggregation;
        match V::RULES.aggregation {
            AggregationWindow::Rounds(rounds) => {
                let extra = a.epoch.take(bw, view.delivered_at, sample.delivered, control.cwnd);
                a.rounds.update(self.round_count, extra, window(rounds));
            }
            AggregationWindow::TwoSlots(rounds) => {
                if self.round_start {
                    a.slots.next_round(window(rounds));
                }
                a.slots.take(a.epoch.take(bw, view.delivered_at, sample.delivered, control.cwnd));
            }
        }
    }

    /// What the window gets more.
    pub(super) fn extra_acked(&self) -> u32 {
        match V::RULES.aggregation {
            AggregationWindow::Rounds(_) => self.aggregation.rounds.get(),
            AggregationWindow::TwoSlots(_) => self.aggregation.slots.extra(self.bw()),
        }
    }
}
