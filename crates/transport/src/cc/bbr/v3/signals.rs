//! What losses say: whether a flight was too much for the path, and the short-term bounds that hold until the next
//! probe. (draft §5.5.4, §5.5.6, §5.5.10.)

use super::memory::Model;
use super::parts::{NONE, Undo};
use super::rules::UNIT;
use super::state::State;
use super::version::Version;
use crate::cc::{Control, ControlSample, LostSegment, View};
use crate::segment::before;

impl<V: Version> Model<V> {
    /// Forgets the losses and marks, and the deliveries, of this round.
    pub(super) fn forget_signals(&mut self) {
        self.loss_in_round = false;
        self.loss_in_cycle = false;
        self.ecn.forget();
        self.bw_latest = 0;
        self.inflight_latest = 0;
    }

    /// The most that was delivered, and the fastest, in this round of losses.
    pub(super) fn update_latest(&mut self, view: &View, sample: &ControlSample) {
        self.loss_round_start = false;
        let Some(prior) = sample.prior_delivered else { return };
        if V::RULES.kernel_clocks && sample.rate.is_none() {
            return;
        }
        self.bw_latest = self.bw_latest.max(Self::sample_bw(sample));
        self.inflight_latest = self.inflight_latest.max(view.delivered.wrapping_sub(prior));
        if !before(prior, self.loss_round_delivered) {
            self.loss_round_delivered = view.delivered;
            self.loss_round_start = true;
        }
    }

    /// At the end of an ACK that ended a round of losses: the next begins with this ACK's values. The kernel keeps the
    /// old maxima while it is not known whether a tail-loss probe's loss was repaired.
    pub(super) fn advance_latest(&mut self, view: &View, sample: &ControlSample) {
        if !self.loss_round_start || (V::RULES.kernel_clocks && sample.acks_probe) {
            return;
        }
        self.bw_latest = Self::sample_bw(sample);
        self.inflight_latest =
            sample.prior_delivered.map_or(0, |prior| view.delivered.wrapping_sub(prior));
    }

    /// At the end of a round of losses, the short-term bounds follow what was delivered.
    pub(super) fn update_bounds(&mut self, control: &Control, sample: &ControlSample) {
        if V::RULES.kernel_clocks && sample.lost > 0 {
            self.loss_in_round = true;
        }
        if !self.loss_round_start {
            return;
        }
        if !self.state.is_probing() {
            let by_ecn = self.bound_by_ecn(control);
            if self.loss_in_round {
                self.cut_shortterm(control);
            }
            self.inflight_shortterm = self.inflight_shortterm.min(by_ecn);
        }
        self.loss_in_round = false;
        self.ecn.end_round();
    }

    /// A round lost something: down by the factor, but not below what did get through.
    fn cut_shortterm(&mut self, control: &Control) {
        let beta = |n: u32| (u64::from(n) * u64::from(V::RULES.beta) / u64::from(UNIT)) as u32;
        if self.bw_shortterm == NONE {
            self.bw_shortterm = self.max_bw.get();
        }
        if self.inflight_shortterm == NONE {
            self.inflight_shortterm = control.cwnd;
        }
        self.bw_shortterm = self.bw_latest.max(beta(self.bw_shortterm));
        self.inflight_shortterm = self.inflight_latest.max(beta(self.inflight_shortterm));
    }

    /// The short-term bounds are no more.
    pub(super) fn forget_shortterm(&mut self) {
        self.bw_shortterm = NONE;
        self.inflight_shortterm = NONE;
    }

    /// Something was lost: the verdict comes a full round later.
    fn note_loss(&mut self, view: &View) {
        if !self.loss_in_round {
            self.loss_round_delivered = view.delivered;
            if V::RULES.saves_undo_at_loss {
                self.save_undo();
            }
        }
        self.loss_in_round = true;
        self.loss_in_cycle = true;
    }

    /// Notes what a spurious recovery gives back; once an episode.
    pub(super) fn save_undo(&mut self) {
        if self.undo.saved {
            return;
        }
        self.undo = Undo {
            saved: true,
            state: Some(self.state),
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }

    /// Whether `lost` of a flight exceed the threshold.
    pub(super) fn is_too_much_lost(flight: u32, lost: u32) -> bool {
        let threshold = u64::from(flight) * u64::from(V::RULES.loss_threshold);
        if V::RULES.loss_in_whole_segments {
            u64::from(lost) > threshold / u64::from(UNIT)
        } else {
            u64::from(lost) * u64::from(UNIT) > threshold
        }
    }

    /// Whether the flight of the ACK's newest segment was too much for the path.
    pub(super) fn is_sample_too_high(&self, view: &View, sample: &ControlSample) -> bool {
        let Some(sent) = sample.sent else { return false };
        Self::is_too_much_lost(sent.in_flight, view.lost.wrapping_sub(sent.lost))
            || self.is_too_much_marked(view, sample)
    }

    /// A segment has been taken for lost.
    pub(super) fn take_loss(&mut self, view: &View, control: &Control, lost: &LostSegment) {
        self.note_loss(view);
        if self.state == State::Startup {
            self.startup_losses.take(lost);
        }
        let flight = lost.sent.in_flight;
        let since_sent = lost.lost.wrapping_sub(lost.sent.lost);
        if self.probe_sample && Self::is_too_much_lost(flight, since_sent) {
            let fits = Self::flight_that_fits(flight, since_sent);
            self.on_too_high(view, control, fits, lost.app_limited);
        }
    }

    /// A tail-loss probe has repaired a loss that no segment was marked for.
    pub(super) fn take_repaired_loss(&mut self, view: &View, control: &Control, app_limited: bool) {
        self.note_loss(view);
        let flight = self.inflight_latest + 1;
        if self.probe_sample && Self::is_too_much_lost(flight, 1) {
            self.on_too_high(view, control, flight, app_limited);
        }
    }

    /// What of a flight had been sent before the losses reached the threshold: all before the segment that made it too
    /// much, and of that as much as was still allowed.
    pub(super) fn flight_that_fits(flight: u32, lost: u32) -> u32 {
        let (before, lost_before) = (u64::from(flight.saturating_sub(1)), u64::from(lost - 1));
        let (threshold, unit) = (u64::from(V::RULES.loss_threshold), u64::from(UNIT));
        let prefix = if V::RULES.loss_in_whole_segments {
            let budget = (before * threshold).div_ceil(unit);
            budget.saturating_sub(lost_before) * unit / (unit - threshold)
        } else {
            (before * threshold).saturating_sub(lost_before * unit) / (unit - threshold)
        };
        (before + prefix.min(1)) as u32
    }

    /// So much in flight was too much: one reaction for each probe.
    pub(super) fn on_too_high(
        &mut self,
        view: &View,
        control: &Control,
        fits: u32,
        app_limited: bool,
    ) {
        self.probe_too_high = true;
        self.probe_sample = false;
        if !app_limited {
            let target = u64::from(self.target_inflight(view, control));
            let least = (target * u64::from(V::RULES.beta) / u64::from(UNIT)) as u32;
            self.inflight_longterm = fits.max(least);
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(view);
        }
    }
}
