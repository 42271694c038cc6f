//! Startup and Drain: the rate doubles each round until it has not grown by a quarter for three rounds, or until too
//! much is lost; then the queue that this has made is drained. (draft §5.3.1, §5.3.2.)

use super::memory::Model;
use super::parts::{FullBw, NONE};
use super::rules::{StartupLoss, UNIT};
use super::state::State;
use super::version::Version;
use crate::cc::{CaState, Control, ControlSample, View};

/// What counts as growth.
const GROWTH: u64 = (UNIT / 4 * 5) as u64;
/// Rounds without it.
const ROUNDS: u32 = 3;
/// Counters of losses stop here.
const MOST: u32 = 15;

impl<V: Version> Model<V> {
    /// Looks for growth again, from this rate on.
    pub(super) fn restart_full_bw(&mut self, baseline: u32) {
        self.full_bw = FullBw { baseline, ..FullBw::default() };
    }

    /// Looks at the rate; a round in which the application paused says nothing.
    pub(super) fn check_full_bw(&mut self, sample: &ControlSample) {
        if self.full_bw.now || sample.rate.is_none() || Self::is_app_limited(sample) {
            return;
        }
        if !(self.round_start || V::RULES.growth_on_each_ack) {
            return;
        }
        let bw = Self::sample_bw(sample);
        if u64::from(bw) * u64::from(UNIT) >= u64::from(self.full_bw.baseline) * GROWTH {
            self.restart_full_bw(bw);
            return;
        }
        if !self.round_start {
            return;
        }
        self.full_bw.rounds += 1;
        self.full_bw.now = self.full_bw.rounds >= ROUNDS;
        self.full_bw_reached |= self.full_bw.now;
    }

    /// Whether Startup has lost too much in a round of fast recovery.
    pub(super) fn check_startup_loss(
        &mut self,
        view: &View,
        control: &Control,
        sample: &ControlSample,
    ) {
        if self.full_bw_reached {
            return;
        }
        if sample.lost > 0 {
            self.startup_losses.acks = (self.startup_losses.acks + 1).min(MOST);
        }
        if !self.loss_round_start {
            return;
        }
        let l = &self.startup_losses;
        let too_high = view.ca_state == CaState::Recovery
            && match V::RULES.startup_loss {
                StartupLoss::Ranges(least) => {
                    let delivered = view.delivered.wrapping_sub(l.delivered);
                    l.ranges >= least && Self::is_too_much_lost(delivered + l.segments, l.segments)
                }
                StartupLoss::Acks(least) => {
                    l.acks >= least && self.is_sample_too_high(view, sample)
                }
            };
        self.startup_losses.begin_round(view);
        if too_high {
            self.end_startup_by_queue(view, control);
        }
    }

    /// The queue was too much for the path: the amount known to fit becomes the long-term bound.
    pub(super) fn end_startup_by_queue(&mut self, view: &View, control: &Control) {
        self.undo.state = Some(State::Startup);
        self.full_bw_reached = true;
        self.full_bw.now = true;
        let fits = if V::RULES.counts_at_departure {
            self.inflight(view, control, self.max_bw.get(), UNIT)
        } else {
            self.bdp(self.max_bw.get(), UNIT)
        };
        self.inflight_longterm = fits.max(self.inflight_latest);
        debug_assert_ne!(self.inflight_longterm, NONE);
    }

    /// Enters Drain once the pipe is full, and leaves it once the queue is gone.
    pub(super) fn check_drain(
        &mut self,
        view: &View,
        control: &mut Control,
        sample: &ControlSample,
    ) {
        if self.state == State::Startup && self.full_bw_reached {
            self.go(State::Drain);
            self.drain_start_round = self.round_count;
            // Nothing reads it but people.
            control.ssthresh = self.inflight(view, control, self.max_bw.get(), UNIT);
            if V::RULES.drain_forgets {
                self.forget_signals();
            }
        }
        if self.state != State::Drain {
            return;
        }
        let in_network = self.in_network(view, control, sample, view.in_flight());
        let rounds = self.round_count.wrapping_sub(self.drain_start_round);
        if in_network <= self.inflight(view, control, self.max_bw.get(), UNIT)
            || V::RULES.drain_rounds.is_some_and(|most| rounds > most)
        {
            self.start_down(view);
        }
    }
}
