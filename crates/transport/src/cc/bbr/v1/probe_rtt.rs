//! ProbeRtt: when the lowest RTT is ten seconds old, the window goes down to four packets for 200 ms and a round, so
//! that the queue shows its bottom. (`bbr_update_min_rtt`.)

use super::state::{Bbr, LEAST_CWND, Mode};
use crate::cc::{Control, ControlSample, View};
use crate::segment::after;

/// How long a lowest RTT holds, seconds.
const MIN_RTT_S: u32 = 10;
/// How long few packets are in flight, milliseconds.
const STAY_MS: u32 = 200;

impl Bbr {
    /// The filter of RTTs, and ProbeRtt from beginning to end.
    pub(super) fn update_min_rtt(
        &mut self,
        view: &View,
        control: &mut Control,
        sample: &ControlSample,
    ) {
        let expires = self.min_rtt_at.wrapping_add(MIN_RTT_S * view.hz);
        let expired = after(view.jiffies(), expires);
        if let Some(rtt_us) = sample.rtt_us
            && (rtt_us < self.min_rtt_us || (expired && !sample.ack_delayed))
        {
            self.min_rtt_us = rtt_us;
            self.min_rtt_at = view.jiffies();
        }
        if expired && !self.restarting && self.mode != Mode::ProbeRtt {
            self.go(Mode::ProbeRtt);
            self.save_cwnd(control);
            self.probe_rtt_until = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.stay_low(view, control);
        }
        if sample.prior_delivered.is_some_and(|prior| view.delivered != prior) {
            self.restarting = false;
        }
    }

    fn stay_low(&mut self, view: &View, control: &mut Control) {
        // The rates of these packets are not the path's.
        control.app_limited = true;
        match self.probe_rtt_until {
            None if view.in_flight() <= LEAST_CWND => {
                let stay = (STAY_MS * view.hz).div_ceil(1_000);
                self.probe_rtt_until = Some(view.jiffies().wrapping_add(stay));
                self.probe_rtt_round_done = false;
                self.round_end = view.delivered;
            }
            None => {}
            Some(_) => {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done {
                    self.check_probe_rtt_done(view, control);
                }
            }
        }
    }

    /// Goes back to where it came from once the time is over (`bbr_check_probe_rtt_done`).
    pub(super) fn check_probe_rtt_done(&mut self, view: &View, control: &mut Control) {
        let now = view.jiffies();
        if !self.probe_rtt_until.is_some_and(|until| after(now, until)) {
            return;
        }
        self.min_rtt_at = now;
        control.cwnd = control.cwnd.max(self.prior_cwnd);
        if self.full_pipe {
            self.begin_cycle(view);
        } else {
            self.go(Mode::Startup);
        }
    }
}
