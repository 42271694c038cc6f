//! The window: twice what fills the path and room for bursts and heaps, reached by slow start. Losses only take away
//! what was lost; the first round of recovery sends a packet for a packet, and afterwards the window comes back.
//! (`bbr_set_cwnd`.)

use super::model::SAFE_CWND;
use super::state::{Bbr, LEAST_CWND, Mode};
use crate::cc::{CaState, Control, ControlSample, View};

impl Bbr {
    /// Notes the window, to come back to it after recovery or ProbeRtt (`bbr_save_cwnd`).
    pub(super) fn save_cwnd(&mut self, control: &Control) {
        let cut_already = self.prior_state >= CaState::Recovery || self.mode == Mode::ProbeRtt;
        self.prior_cwnd =
            if cut_already { self.prior_cwnd.max(control.cwnd) } else { control.cwnd };
    }

    /// An ACK has been worked through: lets the window follow.
    pub(super) fn set_cwnd(&mut self, view: &View, control: &mut Control, sample: &ControlSample) {
        let mut cwnd = control.cwnd;
        if sample.delivered > 0 {
            cwnd = self.recover_or_restore(view, control, sample);
            if !self.conserving {
                cwnd = self.approach(view, control, cwnd, sample.delivered);
            }
        }
        control.cwnd = cwnd.min(control.cwnd_clamp);
        if self.mode == Mode::ProbeRtt {
            control.cwnd = control.cwnd.min(LEAST_CWND);
        }
    }

    /// Towards the target, at most as fast as slow start; down only once the pipe has been full.
    fn approach(&self, view: &View, control: &Control, cwnd: u32, acked: u32) -> u32 {
        let target = self.bdp(self.bw(), self.cwnd_gain) + self.aggregation_cwnd();
        let target = self.with_bursts(view, control, target);
        let cwnd = if self.full_pipe {
            (cwnd + acked).min(target)
        } else if cwnd < target || view.delivered < SAFE_CWND {
            cwnd + acked
        } else {
            cwnd
        };
        cwnd.max(LEAST_CWND)
    }

    /// What recovery makes of the window (`bbr_set_cwnd_to_recover_or_restore`).
    fn recover_or_restore(
        &mut self,
        view: &View,
        control: &Control,
        sample: &ControlSample,
    ) -> u32 {
        let (before, now) = (self.prior_state, view.ca_state);
        let mut cwnd = control.cwnd;
        if sample.lost > 0 {
            cwnd = cwnd.saturating_sub(sample.lost).max(1);
        }
        let conserved = view.in_flight() + sample.delivered;
        if now == CaState::Recovery && before != CaState::Recovery {
            self.conserving = true;
            // A round begins here.
            self.round_end = view.delivered;
            cwnd = conserved;
        } else if before >= CaState::Recovery && now < CaState::Recovery {
            self.conserving = false;
            cwnd = cwnd.max(self.prior_cwnd);
        }
        self.prior_state = now;
        if self.conserving { cwnd.max(conserved) } else { cwnd }
    }
}
