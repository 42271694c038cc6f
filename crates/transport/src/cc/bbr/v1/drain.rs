//! Drain: as much slower than the path as Startup was faster, until what is in flight fits it. (`bbr_check_drain`.)

use super::state::{Bbr, Mode};
use crate::cc::bbr::UNIT;
use crate::cc::{Control, ControlSample, View};

impl Bbr {
    /// Enters Drain once the pipe is full, and leaves it once the queue is gone; both may be at once.
    pub(super) fn check_drained(
        &mut self,
        view: &View,
        control: &mut Control,
        sample: &ControlSample,
    ) {
        if self.mode == Mode::Startup && self.full_pipe {
            self.go(Mode::Drain);
            control.ssthresh = self.inflight(view, control, UNIT);
        }
        if self.mode == Mode::Drain
            && self.in_network(view, control, sample, view.in_flight())
                <= self.inflight(view, control, UNIT)
        {
            self.begin_cycle(view);
        }
    }
}
