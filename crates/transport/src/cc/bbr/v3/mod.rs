//! BBR, version 3: the window and the pacing rate come from a model of the path, its highest recent delivery rate and
//! its lowest recent RTT, within bounds that losses teach.
//!
//! There are two texts of it, and a control for each: `bbr3` is draft-ietf-ccwg-bbr as of 3 August 2026 (the posted text
//! -06 is of 6 July), `bbr3-google` the kernel module of google/bbr, branch v3, which last changed its behaviour in
//! November 2023. They share all code; where they differ there is a named rule in [`rules`]. `bbr3-google-ecn` is the
//! kernel's module on a route with the feature `ecn_low`, without which it takes no notice of marks.
//!
//! - [`version`], [`rules`]: the two texts; [`settings`]: what an experiment may set; [`memory`], [`parts`], [`marks`]:
//!   its memory;
//! - [`state`]: the seven states, and the table of allowed transitions;
//! - [`model`]: rounds, the path's rate and lowest RTT, and what fills it; [`aggregation`]: ACKs that come in heaps;
//! - [`signals`]: losses, and the short-term bounds; [`ecn`]: marks;
//! - [`startup`], [`probe_bw`], [`probe_rtt`]: what each state does and when it ends;
//! - [`window`]: how the window follows.
//!
//! What the draft leaves open is read so (its own section numbers are in the files):
//!
//! - bytes are whole segments; rates are packets per microsecond times 2^24, gains 1/25600;
//! - the sample's `tx_in_flight` and `lost` are those of the newest segment that the ACK delivers;
//! - "lost ranges" of Startup are runs of consecutive segments, counted in the round of losses that ends in recovery;
//! - Startup's end by loss sets `full_bw_now`, too, as the draft's second test expects;
//! - the undo state is saved once an episode, at its first loss: saved again when recovery begins, it would keep the
//!   window that the loss has cut already;
//! - Drain is not bounded by `inflight_longterm` (its code; its table says otherwise);
//! - the draft has no response to marks, and says that a sender which sets ECT must have one: `bbr3` sends Not-ECT.
//!
//! Not modelled: PLB, which changes the path and not the rate; the receiver's fast ACK mode of google/bbr.

mod aggregation;
mod ecn;
mod marks;
mod memory;
mod model;
mod parts;
mod probe_bw;
mod probe_rtt;
mod rules;
mod settings;
mod signals;
mod startup;
mod state;
mod version;
mod window;

#[cfg(test)]
mod tests;

use super::BW_BITS;
use crate::cc::{
    CaState, CongestionControl, Control, ControlSample, Event, INFINITE_SSTHRESH, Info,
    LostSegment, OptionValue, View,
};
use crate::ecn::EcnRequirements;
use crate::stack::TcpQuirks;
use core::ops::{Deref, DerefMut};
use marks::Marks;
use memory::Model;
use parts::{NONE, Undo};
use rules::UNIT;
use sojourn_units::Random;
use state::State;
use version::{Draft, Google, GoogleEcn, Version};

/// Longest initial window that Google remembers.
const LONGEST_INITIAL_WINDOW: u32 = 127;

/// BBRv3, in a box: its state is several times as large as any other control's, and few flows have it.
#[derive(Clone, Debug)]
pub struct Bbr3<V>(Box<Model<V>>);

impl<V> Deref for Bbr3<V> {
    type Target = Model<V>;

    fn deref(&self) -> &Model<V> {
        &self.0
    }
}

impl<V> DerefMut for Bbr3<V> {
    fn deref_mut(&mut self) -> &mut Model<V> {
        &mut self.0
    }
}

/// BBRv3 as the draft has it.
pub type Bbr3Draft = Bbr3<Draft>;
/// BBRv3 as Google's kernel branch has it.
pub type Bbr3Google = Bbr3<Google>;
/// The same on a route with `ecn_low`.
pub type Bbr3GoogleEcn = Bbr3<GoogleEcn>;

impl<V: Version> Bbr3<V> {
    /// What it is.
    pub const INFO: Info = V::INFO;

    /// A new one.
    pub fn new(_quirks: &TcpQuirks) -> Self {
        Self(Box::new(Model::new()))
    }
}

impl<V: Version> Model<V> {
    /// Whether an ACK of an application that pauses is no news to the model.
    fn may_skip_model(&self, sample: &ControlSample) -> bool {
        V::RULES.fast_path
            && self.reached_target
            && Self::is_app_limited(sample)
            && Self::sample_bw(sample) < self.max_bw.get()
            && !self.loss_in_round
            && !self.ecn.in_round()
    }

    /// What losses, rates and aggregation say, and whether the pipe is full.
    fn update_model(&mut self, view: &View, control: &Control, sample: &ControlSample) {
        self.update_max_bw(sample);
        self.update_bounds(control, sample);
        self.update_aggregation(view, control, sample);
        if V::RULES.growth_on_each_ack {
            self.check_startup_loss(view, control, sample);
            self.check_full_bw(sample);
        } else {
            self.check_full_bw(sample);
            self.check_startup_loss(view, control, sample);
        }
    }

    fn update_state(&mut self, view: &View, control: &mut Control, sample: &ControlSample) {
        self.check_drain(view, control, sample);
        self.update_phase(view, control, sample);
        self.update_min_rtt(view, control, sample);
    }

    /// An ACK, in the draft's order of work.
    fn on_ack(&mut self, view: &View, control: &mut Control, sample: &ControlSample) {
        self.update_round(view, sample);
        self.update_marks(view, control, sample);
        self.update_latest(view, sample);
        if self.may_skip_model(sample) {
            let before = (self.state, self.min_rtt_us);
            self.update_state(view, control, sample);
            if (self.state, self.min_rtt_us) == before && self.reached_target {
                self.advance_latest(view, sample);
                return;
            }
        } else {
            self.update_model(view, control, sample);
            self.update_state(view, control, sample);
        }
        self.advance_latest(view, sample);
        (self.pacing_gain, self.cwnd_gain) = self.state.gains(&V::RULES, &self.settings);
        self.pace(view, control, self.pacing_gain);
        self.set_cwnd(view, control, sample);
    }

    /// The recovery was for nothing: the bounds of before come back, and in the draft the state does.
    fn undo_recovery(&mut self, view: &View) {
        self.loss_in_round = false;
        self.restart_full_bw(0);
        let undo = core::mem::replace(&mut self.undo, Undo::NOTHING);
        if undo.saved {
            self.bw_shortterm = self.bw_shortterm.max(undo.bw_shortterm);
            self.inflight_shortterm = self.inflight_shortterm.max(undo.inflight_shortterm);
            self.inflight_longterm = self.inflight_longterm.max(undo.inflight_longterm);
        }
        if !V::RULES.undo_returns || self.state == State::ProbeRtt {
            return;
        }
        match undo.state {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_bw_reached = false;
                self.go(State::Startup);
            }
            Some(State::Up) if self.state != State::Up => self.start_refill(view, 0),
            _ => {}
        }
    }
}

impl<V: Version> CongestionControl for Bbr3<V> {
    fn seed(&mut self, random: Random) {
        self.random = random;
    }

    fn set(&mut self, option: &'static str, value: OptionValue) {
        self.settings.set(option, value);
    }

    fn init(&mut self, view: &View, control: &mut Control) {
        control.ssthresh = INFINITE_SSTHRESH;
        control.paced = true;
        self.initial_window = control.cwnd.min(LONGEST_INITIAL_WINDOW);
        self.min_rtt_us = view.rtt.min_us();
        self.probe_rtt_min_us = self.min_rtt_us;
        self.min_rtt_stamp = Model::<V>::clock(view);
        self.probe_rtt_min_stamp = self.min_rtt_stamp;
        self.round_end = view.delivered;
        // The first round of losses ends after the first flight.
        self.loss_round_delivered = view.delivered.wrapping_add(1);
        self.ecn = Marks::new(view);
        self.pace_by_window(view, control);
        self.aggregation.epoch.begin(view.now);
    }

    fn ecn(&self) -> EcnRequirements {
        V::ECN
    }

    fn has_cong_control(&self) -> bool {
        true
    }

    fn wants_segment_state(&self) -> bool {
        true
    }

    fn send_buffer_windows(&self) -> u64 {
        3
    }

    fn min_tso_segs(&self, _view: &View, _control: &Control) -> u32 {
        2
    }

    fn tso_segs(&self, view: &View, control: &Control) -> Option<u32> {
        Some(self.burst(view, control))
    }

    fn cong_control(&mut self, view: &View, control: &mut Control, sample: &ControlSample) {
        self.on_ack(view, control, sample);
    }

    /// The threshold plays no part, but this is when a reduction begins: the window is noted for afterwards.
    fn ssthresh(&mut self, view: &View, control: &Control) -> u32 {
        self.save_cwnd(view, control);
        self.save_undo();
        control.ssthresh
    }

    fn cong_avoid(&mut self, _view: &View, _control: &mut Control, _acked: u32) {}

    fn segment_lost(&mut self, view: &View, control: &mut Control, lost: &LostSegment) {
        self.take_loss(view, control, lost);
    }

    fn set_state(&mut self, view: &View, control: &mut Control, state: CaState) {
        self.reached_target = false;
        if state == CaState::Loss {
            if V::RULES.timeout_sets_bound {
                self.restart_full_bw(0);
                if !self.state.is_probing() && self.inflight_shortterm == NONE {
                    self.inflight_shortterm = control.cwnd.max(self.prior_cwnd);
                }
            }
            return;
        }
        let before = view.ca_state;
        if before == CaState::Loss
            || (before == CaState::Recovery && V::RULES.restores_after_recovery)
        {
            self.restore_cwnd(control);
        }
        if state <= CaState::Disorder {
            self.undo = Undo::NOTHING;
        }
    }

    fn event(&mut self, view: &View, control: &mut Control, event: Event) {
        match event {
            Event::TxStart { .. } if view.app_limited.is_some() => {
                self.idle_restart = true;
                self.aggregation.epoch.begin(view.now);
                if self.state.is_probe_bw() {
                    // No need to be faster: it is the application that is slow.
                    self.pace(view, control, UNIT);
                } else if self.state == State::ProbeRtt {
                    self.check_probe_rtt_done(view, control);
                }
            }
            Event::TlpRecovery { app_limited } => {
                self.take_repaired_loss(view, control, app_limited);
                // The probe itself has shown that the loss was none to undo.
                self.undo = Undo::NOTHING;
            }
            Event::TxStart { .. } | Event::CompleteCwr | Event::Loss => {}
        }
    }

    fn undo_cwnd(&mut self, view: &View, control: &Control) -> u32 {
        self.undo_recovery(view);
        control.cwnd.max(self.prior_cwnd)
    }

    fn gauges(&self, view: &View, _control: &Control, out: &mut dyn FnMut(&'static str, f64)) {
        let rate = |bw: u32| {
            let bytes = (u128::from(bw) * u128::from(view.mss_cache()) * 1_000_000) >> BW_BITS;
            bytes as f64 * 8.0
        };
        let gain = |gain: u32| f64::from(gain) / f64::from(UNIT);
        out("state", f64::from(self.state as u32));
        out("bw", rate(self.bw()));
        out("max_bw", rate(self.max_bw.get()));
        out("mrtt", f64::from(self.min_rtt_us) / 1e6);
        out("pacing_gain", gain(self.pacing_gain));
        out("cwnd_gain", gain(self.cwnd_gain));
        for (name, bound) in [
            ("inflight_longterm", self.inflight_longterm),
            ("inflight_shortterm", self.inflight_shortterm),
        ] {
            if bound != NONE {
                out(name, f64::from(bound));
            }
        }
        out("extra_acked", f64::from(self.extra_acked()));
        out("round", f64::from(self.round_count));
        if V::RULES.ecn {
            out("alpha", f64::from(self.ecn.alpha) / 256.0);
        }
    }
}
