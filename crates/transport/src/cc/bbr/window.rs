//! The window: twice what fills the path and room for bursts and heaps, reached by slow start. Losses only take away
//! what was lost; the first round of recovery sends a packet for a packet, and afterwards the window comes back.
//! (`bbr_set_cwnd`.)

use super::model::SAFE_CWND;
use super::{Bbr, CaState, ControlSample, LEAST_CWND, Mode, Tcb};

impl Bbr {
    /// Notes the window, to come back to it after recovery or ProbeRtt (`bbr_save_cwnd`).
    pub(super) fn save_cwnd(&mut self, tcb: &Tcb) {
        let cut_already = self.prior_state >= CaState::Recovery || self.mode == Mode::ProbeRtt;
        self.prior_cwnd = if cut_already { self.prior_cwnd.max(tcb.cwnd) } else { tcb.cwnd };
    }

    /// An ACK has been worked through: lets the window follow.
    pub(super) fn set_cwnd(&mut self, tcb: &mut Tcb, sample: &ControlSample) {
        let mut cwnd = tcb.cwnd;
        if sample.delivered > 0 {
            cwnd = self.recover_or_restore(tcb, sample);
            if !self.conserving {
                cwnd = self.approach(tcb, cwnd, sample.delivered);
            }
        }
        tcb.cwnd = cwnd.min(tcb.cwnd_clamp);
        if self.mode == Mode::ProbeRtt {
            tcb.cwnd = tcb.cwnd.min(LEAST_CWND);
        }
    }

    /// Towards the target, at most as fast as slow start; down only once the pipe has been full.
    fn approach(&self, tcb: &Tcb, cwnd: u32, acked: u32) -> u32 {
        let target = self.bdp(self.bw(), self.cwnd_gain) + self.aggregation_cwnd();
        let target = self.with_bursts(tcb, target);
        let cwnd = if self.full_pipe {
            (cwnd + acked).min(target)
        } else if cwnd < target || tcb.delivered < SAFE_CWND {
            cwnd + acked
        } else {
            cwnd
        };
        cwnd.max(LEAST_CWND)
    }

    /// What recovery makes of the window (`bbr_set_cwnd_to_recover_or_restore`).
    fn recover_or_restore(&mut self, tcb: &Tcb, sample: &ControlSample) -> u32 {
        let (before, now) = (self.prior_state, tcb.ca_state);
        let mut cwnd = tcb.cwnd;
        if sample.lost > 0 {
            cwnd = cwnd.saturating_sub(sample.lost).max(1);
        }
        let conserved = tcb.in_flight() + sample.delivered;
        if now == CaState::Recovery && before != CaState::Recovery {
            self.conserving = true;
            // A round begins here.
            self.round_end = tcb.delivered;
            cwnd = conserved;
        } else if before >= CaState::Recovery && now < CaState::Recovery {
            self.conserving = false;
            cwnd = cwnd.max(self.prior_cwnd);
        }
        self.prior_state = now;
        if self.conserving { cwnd.max(conserved) } else { cwnd }
    }
}
