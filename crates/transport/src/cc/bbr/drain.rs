//! Drain: as much slower than the path as Startup was faster, until what is in flight fits it. (`bbr_check_drain`.)

use super::{Bbr, ControlSample, Mode, Tcb, UNIT};

impl Bbr {
    /// Enters Drain once the pipe is full, and leaves it once the queue is gone; both may be at once.
    pub(super) fn check_drained(&mut self, tcb: &mut Tcb, sample: &ControlSample) {
        if self.mode == Mode::Startup && self.full_pipe {
            self.go(Mode::Drain);
            tcb.ssthresh = self.inflight(tcb, UNIT);
        }
        if self.mode == Mode::Drain
            && self.in_network(tcb, sample, tcb.in_flight()) <= self.inflight(tcb, UNIT)
        {
            self.begin_cycle(tcb);
        }
    }
}
