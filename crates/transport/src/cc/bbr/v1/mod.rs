//! BBR, version 1 (N. Cardwell et al., ACM Queue 14(5), 2016; draft-cardwell-iccrg-bbr-congestion-control-00; Linux
//! `net/ipv4/tcp_bbr.c`, with its integers and order of work): the window and the pacing rate come from a model of the
//! path, its highest recent delivery rate and its lowest recent RTT, not from losses or marks.
//!
//! - [`state`]: its memory, and which mode may follow which;
//! - [`model`]: the delivery rate, rounds, and the window that they require;
//! - [`startup`], [`drain`], [`probe_bw`], [`probe_rtt`]: the four modes, each with the rule that ends it;
//! - [`policer`], [`long_term`]: the long-term rate that is used behind a token bucket;
//! - [`aggregation`]: room for acknowledgements that come in heaps (from Linux 5.1 on);
//! - [`window`]: how the window follows, and what it does in recovery.
//!
//! Between 5.1 and 7.3 the module did not change in anything that shows here. All rates are packets per microsecond times
//! 2^24, all gains 1/256.

mod aggregation;
mod drain;
mod long_term;
mod model;
mod policer;
mod probe_bw;
mod probe_rtt;
mod rate;
mod startup;
mod state;
mod window;

#[cfg(test)]
mod tests;

use super::{BW_BITS, UNIT};
use crate::cc::{
    CaState, CongestionControl, Control, ControlSample, Event, INFINITE_SSTHRESH, Info, View,
};
use sojourn_units::Random;
pub use state::Bbr;
use state::{CWND_GAIN, DRAIN_GAIN, HIGH_GAIN, Mode};

impl Bbr {
    /// What it is.
    pub const INFO: Info = Info {
        name: "bbr",
        summary: "version 1: paces at the highest recent delivery rate, twice the bandwidth-delay product in flight",
        source: "draft-cardwell-iccrg-bbr-congestion-control-00; Linux net/ipv4/tcp_bbr.c",
        gauges: &[
            ("bw", "bit/s", "rate that is taken for the bottleneck's, of payload"),
            ("mrtt", "s", "lowest RTT of the last ten seconds"),
            ("pacing_gain", "", "pacing rate over `bw`"),
            ("cwnd_gain", "", "window over the bandwidth-delay product"),
        ],
        options: &[],
    };

    fn choose_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.used => (UNIT, CWND_GAIN),
            Mode::ProbeBw => (self.phase_gain(), CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }
}

impl CongestionControl for Bbr {
    fn seed(&mut self, random: Random) {
        self.random = random;
    }

    fn init(&mut self, view: &View, control: &mut Control) {
        control.ssthresh = INFINITE_SSTHRESH;
        control.paced = true;
        self.round_end = view.delivered;
        self.min_rtt_us = view.rtt.min_us();
        self.min_rtt_at = view.jiffies();
        self.pace_by_window(view, control);
        self.policer.reset(view);
        self.aggregation.epoch.begin(view.now);
    }

    fn has_cong_control(&self) -> bool {
        true
    }

    fn send_buffer_windows(&self) -> u64 {
        3
    }

    fn min_tso_segs(&self, view: &View, control: &Control) -> u32 {
        model::min_tso_segs(view, control)
    }

    fn cong_control(&mut self, view: &View, control: &mut Control, sample: &ControlSample) {
        self.update_rate(view, sample);
        self.update_aggregation(view, control, sample);
        self.update_phase(view, control, sample);
        self.check_full_pipe(sample);
        self.check_drained(view, control, sample);
        self.update_min_rtt(view, control, sample);
        self.choose_gains();
        self.pace(view, control, self.pacing_gain);
        self.set_cwnd(view, control, sample);
    }

    /// The threshold plays no part, but this is when recovery begins: the window is noted for afterwards.
    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        self.save_cwnd(control);
        control.ssthresh
    }

    fn cong_avoid(&mut self, _view: &View, _control: &mut Control, _acked: u32) {}

    fn set_state(&mut self, view: &View, _control: &mut Control, state: CaState) {
        if state == CaState::Loss {
            self.prior_state = CaState::Loss;
            self.full_bw = 0;
            // A timeout counts as the end of a round.
            self.round_start = true;
            self.sample_long_term(view, 1, false);
        }
    }

    fn event(&mut self, view: &View, control: &mut Control, event: Event) {
        if !matches!(event, Event::TxStart { .. }) || view.app_limited.is_none() {
            return;
        }
        self.restarting = true;
        self.aggregation.epoch.begin(view.now);
        match self.mode {
            // No need to be faster: it is the application that is slow.
            Mode::ProbeBw => self.pace(view, control, UNIT),
            Mode::ProbeRtt => self.check_probe_rtt_done(view, control),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// The losses were none: nor was the pipe full, nor is there a policer. The window comes back with the state.
    fn undo_cwnd(&mut self, view: &View, control: &Control) -> u32 {
        self.full_bw = 0;
        self.full_bw_rounds = 0;
        self.policer.reset(view);
        control.cwnd
    }

    fn gauges(&self, view: &View, _control: &Control, out: &mut dyn FnMut(&'static str, f64)) {
        let bw = (u128::from(self.bw()) * u128::from(view.mss_cache()) * 1_000_000) >> BW_BITS;
        out("bw", bw as f64 * 8.0);
        out("mrtt", f64::from(self.min_rtt_us) / 1e6);
        out("pacing_gain", f64::from(self.pacing_gain) / f64::from(UNIT));
        out("cwnd_gain", f64::from(self.cwnd_gain) / f64::from(UNIT));
    }
}
