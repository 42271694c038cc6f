//! ProbeBw: eight phases of about one minimum RTT. In the first it sends a quarter faster, to see whether there is
//! more; in the second a quarter slower, to drain what that has queued; in six at the rate. It begins in any of them
//! but the second, at random, so that flows do not probe together. (`bbr_update_cycle_phase`.)

use super::state::{Bbr, Mode};
use crate::cc::bbr::UNIT;
use crate::cc::{Control, ControlSample, View};
use crate::rate_sample::micros_between;

/// Phases in a cycle.
pub(super) const PHASES: u32 = 8;
/// Gain of the first phase and of the second.
const UP: u32 = UNIT * 5 / 4;
const DOWN: u32 = UNIT * 3 / 4;

impl Bbr {
    /// The gain of the phase.
    pub(super) fn phase_gain(&self) -> u32 {
        match self.phase {
            0 => UP,
            1 => DOWN,
            _ => UNIT,
        }
    }

    /// Begins to cycle (`bbr_reset_probe_bw_mode`): in any phase but the second.
    pub(super) fn begin_cycle(&mut self, view: &View) {
        self.go(Mode::ProbeBw);
        self.phase = PHASES - 1 - self.random.below(u64::from(PHASES) - 1) as u32;
        self.next_phase(view);
    }

    fn next_phase(&mut self, view: &View) {
        self.phase = (self.phase + 1) % PHASES;
        self.phase_began = view.delivered_at;
    }

    /// Goes on to the next phase when this one has done what it is for.
    pub(super) fn update_phase(&mut self, view: &View, control: &Control, sample: &ControlSample) {
        if self.mode == Mode::ProbeBw && self.phase_is_over(view, control, sample) {
            self.next_phase(view);
        }
    }

    fn phase_is_over(&self, view: &View, control: &Control, sample: &ControlSample) -> bool {
        let over = micros_between(view.delivered_at, self.phase_began) > self.min_rtt_us;
        // The gain is that of the last ACK, which a policer may have brought to one.
        if self.pacing_gain == UNIT {
            return over;
        }
        let in_network = || self.in_network(view, control, sample, sample.prior_in_flight);
        if self.pacing_gain > UNIT {
            // Until as much is in flight as it aims at; a loss says that so much does not fit.
            return over
                && (sample.lost > 0
                    || in_network() >= self.inflight(view, control, self.pacing_gain));
        }
        over || in_network() <= self.inflight(view, control, UNIT)
    }
}
