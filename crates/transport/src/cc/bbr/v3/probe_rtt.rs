//! ProbeRTT: when the lowest RTT of five seconds is that old, half of what fills the path stays in flight for 200 ms and
//! a round, so that the queue shows its bottom. (draft §5.3.4.)

use super::memory::{LEAST_CWND, Model};
use super::parts::AckPhase;
use super::rules::UNIT;
use super::state::State;
use super::version::Version;
use crate::cc::{Control, ControlSample, View};
use sojourn_units::Span;

/// How long little is in flight.
const STAY: Span = Span::from_millis(200);

impl<V: Version> Model<V> {
    /// What is in flight while the RTT is looked for.
    pub(super) fn probe_rtt_cwnd(&self) -> u32 {
        self.bdp(self.bw(), UNIT / 2).max(LEAST_CWND)
    }

    /// The filters of RTTs, and ProbeRTT from beginning to end.
    pub(super) fn update_min_rtt(
        &mut self,
        view: &View,
        control: &mut Control,
        sample: &ControlSample,
    ) {
        let now = Self::clock(view);
        let expired =
            Self::is_older(view, self.probe_rtt_min_stamp, self.settings.probe_rtt_interval);
        if let Some(rtt_us) = sample.rtt_us {
            let lower = rtt_us < self.probe_rtt_min_us
                || (V::RULES.equal_rtt_renews && rtt_us == self.probe_rtt_min_us);
            if lower || (expired && !(V::RULES.equal_rtt_renews && sample.ack_delayed)) {
                self.probe_rtt_min_us = rtt_us;
                self.probe_rtt_min_stamp = now;
            }
        }
        let lower = self.probe_rtt_min_us < self.min_rtt_us
            || (V::RULES.equal_rtt_renews && self.probe_rtt_min_us == self.min_rtt_us);
        if lower || Self::is_older(view, self.min_rtt_stamp, self.settings.min_rtt_window) {
            self.min_rtt_us = self.probe_rtt_min_us;
            self.min_rtt_stamp = self.probe_rtt_min_stamp;
        }
        if expired && !self.idle_restart && self.state != State::ProbeRtt {
            self.go(State::ProbeRtt);
            self.save_cwnd(view, control);
            self.probe_rtt_done_stamp = None;
            self.ack_phase = AckPhase::Stopping;
            self.start_round(view);
        }
        if self.state == State::ProbeRtt {
            self.stay_low(view, control);
        }
        if sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn stay_low(&mut self, view: &View, control: &mut Control) {
        // The rates of these packets are not the path's.
        control.app_limited = true;
        match self.probe_rtt_done_stamp {
            None if view.in_flight() <= self.probe_rtt_cwnd() => {
                self.probe_rtt_done_stamp = Some(Self::clock(view) + STAY);
                self.probe_rtt_round_done = false;
                self.start_round(view);
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

    /// Goes on once the time is over. It begins slowly, whatever comes next is in DOWN's account.
    pub(super) fn check_probe_rtt_done(&mut self, view: &View, control: &mut Control) {
        let now = Self::clock(view);
        if self.probe_rtt_done_stamp.is_none_or(|done| now <= done) {
            return;
        }
        self.probe_rtt_min_stamp = now;
        self.restore_cwnd(control);
        self.forget_shortterm();
        if self.full_bw_reached {
            self.start_down(view);
            self.start_cruise();
        } else {
            self.go(State::Startup);
        }
    }
}
