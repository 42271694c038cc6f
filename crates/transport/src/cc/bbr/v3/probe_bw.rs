//! ProbeBW: DOWN, CRUISE, REFILL, UP. How long it cruises is bounded by two to three seconds and, so that a competing
//! Reno finds room, by as many rounds as there are packets in flight, 63 at most. (draft §5.3.3, §5.5.5, §5.5.10.)

use super::memory::Model;
use super::parts::{AckPhase, NONE};
use super::rules::UNIT;
use super::state::State;
use super::version::Version;
use crate::cc::{CaState, Control, ControlSample, View};
use sojourn_units::{Span, Time};

/// Most rounds between two probes.
const MOST_ROUNDS: u32 = 63;
/// Least time between two probes, and the span that is drawn for more.
const LEAST_WAIT: Span = Span::from_secs(2);
const WAIT_RANGE_US: u64 = 1_000_000;
/// Steps of the bound's growth double no more often than this.
const MOST_DOUBLINGS: u32 = 30;

impl<V: Version> Model<V> {
    pub(super) fn start_down(&mut self, view: &View) {
        self.forget_signals();
        self.raise.acked_per_step = None;
        // Half of all flows wait a round less, so that they do not probe together.
        self.rounds_since_probe = self.random.below(2) as u32;
        self.probe_wait = LEAST_WAIT + Span::from_micros(self.random.below(WAIT_RANGE_US));
        self.cycle_stamp = Self::phase_clock(view);
        self.ack_phase = AckPhase::Stopping;
        self.start_round(view);
        self.go(State::Down);
    }

    pub(super) fn start_cruise(&mut self) {
        if V::RULES.cruise_bounds && self.inflight_shortterm != NONE {
            self.inflight_shortterm = self.inflight_shortterm.min(self.inflight_longterm);
        }
        self.go(State::Cruise);
    }

    /// `doublings`: how many rounds of growth the bound is taken to have had.
    pub(super) fn start_refill(&mut self, view: &View, doublings: u32) {
        self.forget_shortterm();
        self.raise.rounds = doublings;
        self.raise.acked = 0;
        self.precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.start_round(view);
        self.go(State::Refill);
    }

    fn start_up(&mut self, view: &View, control: &Control, sample: &ControlSample) {
        self.probe_sample = true;
        self.ack_phase = AckPhase::Starting;
        self.start_round(view);
        self.restart_full_bw(Self::sample_bw(sample));
        if V::RULES.kernel_clocks {
            self.cycle_stamp = Self::phase_clock(view);
        }
        self.go(State::Up);
        self.raise_slope(control);
    }

    /// The bound grows by 1, 2, 4, … segments a round, spread over what is acknowledged.
    fn raise_slope(&mut self, control: &Control) {
        let growth = 1_u32 << self.raise.rounds;
        self.raise.rounds = (self.raise.rounds + 1).min(MOST_DOUBLINGS);
        self.raise.acked_per_step = Some((control.cwnd / growth).max(1));
    }

    fn raise_longterm(&mut self, view: &View, control: &Control, sample: &ControlSample) {
        if !view.cwnd_limited || control.cwnd < self.inflight_longterm {
            return;
        }
        self.raise.acked += sample.delivered;
        if let Some(step) = self.raise.acked_per_step {
            let steps = self.raise.acked / step;
            self.raise.acked -= steps * step;
            self.inflight_longterm = self.inflight_longterm.saturating_add(steps);
        }
        if self.round_start {
            self.raise_slope(control);
        }
    }

    /// The phases, once the pipe has been full.
    pub(super) fn update_phase(&mut self, view: &View, control: &Control, sample: &ControlSample) {
        if !self.full_bw_reached {
            return;
        }
        if self.update_longterm(view, control, sample) {
            return;
        }
        match self.state {
            State::Down => {
                if !self.probe_if_due(view, control) && self.may_cruise(view, control, sample) {
                    self.start_cruise();
                }
            }
            State::Cruise => {
                self.probe_if_due(view, control);
            }
            State::Refill => {
                if self.round_start {
                    self.start_up(view, control, sample);
                }
            }
            State::Up => self.check_up(view, control, sample),
            State::Startup | State::Drain | State::ProbeRtt => {}
        }
    }

    /// The long-term bound, and what a probe's feedback says in its end; true if that has begun another phase.
    fn update_longterm(&mut self, view: &View, control: &Control, sample: &ControlSample) -> bool {
        if self.ack_phase == AckPhase::Starting && self.round_start {
            self.ack_phase = AckPhase::Feedback;
        }
        if self.ack_phase == AckPhase::Stopping && self.round_start {
            self.probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.state.is_probe_bw() {
                if !Self::is_app_limited(sample) {
                    self.max_bw.advance();
                }
                if self.precautionary && !self.probe_too_high {
                    // It stopped where the last probe had lost, and a round later nothing was: there is room.
                    self.start_refill(view, 0);
                    return true;
                }
            }
        }
        if self.is_sample_too_high(view, sample) {
            if V::RULES.cuts_by_ack && self.probe_sample {
                let fits = sample.sent.map_or(0, |sent| sent.in_flight);
                self.on_too_high(view, control, fits, Self::is_app_limited(sample));
            }
        } else if self.inflight_longterm != NONE {
            if let Some(sent) = sample.sent {
                self.inflight_longterm = self.inflight_longterm.max(sent.in_flight);
            }
            if self.state == State::Up {
                self.raise_longterm(view, control, sample);
            }
        }
        false
    }

    /// UP ends where the last probe was too much, or when the rate does not grow any more.
    fn check_up(&mut self, view: &View, control: &Control, sample: &ControlSample) {
        let at_bound = self.phase_inflight(view, control, sample) >= self.inflight_longterm;
        if self.probe_too_high && at_bound {
            self.precautionary = true;
        } else if view.cwnd_limited && control.cwnd >= self.inflight_longterm {
            // It is the bound that limits the rate, not the path.
            self.restart_full_bw(Self::sample_bw(sample));
            return;
        } else if !self.full_bw.now {
            return;
        }
        self.probe_too_high = false;
        self.start_down(view);
    }

    fn may_cruise(&self, view: &View, control: &Control, sample: &ControlSample) -> bool {
        let in_flight = self.phase_inflight(view, control, sample);
        in_flight <= self.with_headroom()
            && in_flight <= self.inflight(view, control, self.max_bw.get(), UNIT)
    }

    /// Begins to probe if it is time; true if so.
    fn probe_if_due(&mut self, view: &View, control: &Control) -> bool {
        if self.marks_have_ceased(view) {
            let half = (self.inflight_longterm / 2).max(1);
            self.start_refill(view, half.ilog2().min(MOST_DOUBLINGS));
            return true;
        }
        let now: Time = Self::phase_clock(view);
        let rounds = self.target_inflight(view, control).min(MOST_ROUNDS);
        if now > self.cycle_stamp + self.probe_wait || self.rounds_since_probe >= rounds {
            self.start_refill(view, 0);
            return true;
        }
        false
    }

    /// Whether marks alone slowed this cycle, and are over.
    fn marks_have_ceased(&self, view: &View) -> bool {
        self.ecn.eligible
            && self.ecn.in_cycle()
            && !self.loss_in_cycle
            && view.ca_state == CaState::Open
    }
}
