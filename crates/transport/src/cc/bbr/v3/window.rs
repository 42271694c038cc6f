//! The window: it grows towards the model's target no faster than data is acknowledged, and stays below the bounds of
//! the phase. (draft §5.6.4.)

use super::memory::{LEAST_CWND, Model};
use super::parts::NONE;
use super::state::State;
use super::version::Version;
use crate::cc::{CaState, Control, ControlSample, View};

impl<V: Version> Model<V> {
    /// Notes the window, to come back to it after recovery or ProbeRTT.
    pub(super) fn save_cwnd(&mut self, view: &View, control: &Control) {
        let cut_already = view.ca_state >= CaState::Recovery || self.state == State::ProbeRtt;
        self.prior_cwnd =
            if cut_already { self.prior_cwnd.max(control.cwnd) } else { control.cwnd };
    }

    /// The window of before.
    pub(super) fn restore_cwnd(&self, control: &mut Control) {
        control.cwnd = control.cwnd.max(self.prior_cwnd);
    }

    /// What the model wants in flight at the most.
    pub(super) fn max_inflight(&self, view: &View, control: &Control) -> u32 {
        let inflight = self.bdp(self.bw(), self.cwnd_gain).saturating_add(self.extra_acked());
        self.with_bursts(view, control, inflight)
    }

    /// An ACK has been worked through: lets the window follow.
    pub(super) fn set_cwnd(&mut self, view: &View, control: &mut Control, sample: &ControlSample) {
        let mut cwnd = control.cwnd;
        if sample.delivered > 0 {
            let target = self.max_inflight(view, control);
            let grown = cwnd.saturating_add(sample.delivered);
            self.reached_target = false;
            if self.full_bw_reached {
                cwnd = grown.min(target);
                self.reached_target = cwnd == target;
            } else if cwnd < target || self.is_young(view, cwnd) {
                cwnd = grown;
            } else {
                self.reached_target = true;
            }
            cwnd = cwnd.max(LEAST_CWND);
        }
        cwnd = cwnd.min(control.cwnd_clamp);
        if self.state == State::ProbeRtt {
            cwnd = cwnd.min(self.probe_rtt_cwnd());
        }
        control.cwnd = cwnd.min(self.model_bound());
    }

    /// Whether so little has been sent that the rate says nothing yet.
    fn is_young(&self, view: &View, cwnd: u32) -> bool {
        if V::RULES.kernel_clocks {
            cwnd < 2 * self.initial_window
        } else {
            view.delivered < self.initial_window
        }
    }

    /// The bound of the phase.
    fn model_bound(&self) -> u32 {
        let longterm = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.with_headroom(),
            State::Startup | State::Drain => NONE,
        };
        longterm.min(self.inflight_shortterm).max(LEAST_CWND)
    }
}
