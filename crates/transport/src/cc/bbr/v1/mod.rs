//! BBR, version 1 (N. Cardwell et al., ACM Queue 14(5), 2016; draft-cardwell-iccrg-bbr-congestion-control-00; Linux
//! `net/ipv4/tcp_bbr.c`, whose integers and order of work are followed): the window and the pacing rate come from a
//! model of the path, its highest recent delivery rate and its lowest recent RTT, not from losses or marks.
//!
//! - [`model`]: the delivery rate, rounds, and what a window has to be for them;
//! - [`startup`], [`drain`], [`probe_bw`], [`probe_rtt`]: the four modes, each with the rule that ends it;
//! - [`policer`]: the long-term rate that is used behind a token bucket;
//! - [`aggregation`]: room for acknowledgements that come in heaps (from Linux 5.1 on);
//! - [`window`]: how the window follows, and what it does in recovery.
//!
//! Which mode may follow which is the table at [`Mode::may_follow`]. Between 5.1 and 7.3 the module did not change in
//! anything that shows here. All rates are packets per microsecond times 2^24, all gains 1/256.

mod aggregation;
mod drain;
mod model;
mod policer;
mod probe_bw;
mod probe_rtt;
mod startup;
mod window;

#[cfg(test)]
mod tests;

use super::{BW_BITS, BW_UNIT, GAIN_BITS, UNIT};
use crate::cc::{
    CaState, CongestionControl, Control, ControlSample, Event, INFINITE_SSTHRESH, Info, View,
};
use crate::minmax::WindowedMax;
use crate::stack::TcpQuirks;
use aggregation::Aggregation;
use policer::Policer;
use sojourn_units::{Random, Time};

/// 2/ln 2, rounded up: the least gain that doubles what is sent every round.
const HIGH_GAIN: u32 = UNIT * 2885 / 1000 + 1;
/// Its inverse: what one round of [`HIGH_GAIN`] has queued, one round of this drains.
const DRAIN_GAIN: u32 = UNIT * 1000 / 2885;
/// Of the window while bandwidth is probed for.
const CWND_GAIN: u32 = 2 * UNIT;
/// Lowest window, segments (`bbr_cwnd_min_target`): two pairs, so that delayed acknowledgements keep coming.
const LEAST_CWND: u32 = 4;
/// Below this pacing rate, bytes per second, segments are sent one by one (`bbr_min_tso_rate`, 1.2 Mbit/s).
const PAIRS_FROM: u64 = 1_200_000 / 8;

/// What BBR is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// Doubling each round, until the pipe is full.
    Startup,
    /// Letting the queue drain that Startup has made.
    Drain,
    /// Cycling around the estimated rate.
    ProbeBw,
    /// Four packets in flight, to see the RTT without a queue.
    ProbeRtt,
}

impl Mode {
    /// Whether BBR may go from one mode to the other.
    ///
    /// ```text
    ///             to Startup   Drain      ProbeBw       ProbeRtt
    /// Startup          .     pipe full       .          10 s old
    /// Drain            .         .        drained       10 s old
    /// ProbeBw          .         .     no longer policed 10 s old
    /// ProbeRtt   pipe not full   .      pipe full           .
    /// ```
    const fn may_follow(from: Self, to: Self) -> bool {
        use Mode::{Drain, ProbeBw, ProbeRtt, Startup};
        matches!(
            (from, to),
            (Startup, Drain)
                | (Drain | ProbeBw, ProbeBw)
                | (Startup | Drain | ProbeBw, ProbeRtt)
                | (ProbeRtt, Startup | ProbeBw)
        )
    }
}

/// BBR.
#[derive(Clone, Debug)]
pub struct Bbr {
    random: Random,
    mode: Mode,
    pacing_gain: u32,
    cwnd_gain: u32,
    /// Highest delivery rate of the last ten rounds.
    max_bw: WindowedMax,
    /// Round trips so far, counted by packets: one ends when what was sent in it is delivered.
    rounds: u32,
    /// `delivered` at which the round ends: a packet sent when as much had been delivered ends it.
    round_end: u32,
    /// Whether this ACK began a round.
    round_start: bool,
    /// Lowest RTT of the last ten seconds, microseconds; `u32::MAX` before the first.
    min_rtt_us: u32,
    /// When it was seen, in ticks.
    min_rtt_at: u32,
    /// When ProbeRtt may end, in ticks; known once few enough packets are in flight.
    probe_rtt_until: Option<u32>,
    probe_rtt_round_done: bool,
    /// Whether it begins to send again after the application paused.
    restarting: bool,
    /// Whether the first pacing rate was made from a measured RTT.
    has_seen_rtt: bool,
    /// Rate that Startup last took for a growth.
    full_bw: u32,
    /// Rounds since.
    full_bw_rounds: u32,
    /// Whether Startup has filled the pipe.
    full_pipe: bool,
    /// Place in the cycle of gains.
    phase: u32,
    phase_began: Time,
    /// Window before recovery or ProbeRtt.
    prior_cwnd: u32,
    prior_state: CaState,
    /// In the first round of recovery, a packet out for a packet delivered.
    conserving: bool,
    policer: Policer,
    aggregation: Aggregation,
}

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
    };

    /// A new one.
    pub fn new(_switches: &TcpQuirks) -> Self {
        Self {
            random: Random::named(0, "bbr"),
            mode: Mode::Startup,
            pacing_gain: 0,
            cwnd_gain: 0,
            max_bw: WindowedMax::new(),
            rounds: 0,
            round_end: 0,
            round_start: false,
            min_rtt_us: u32::MAX,
            min_rtt_at: 0,
            probe_rtt_until: None,
            probe_rtt_round_done: false,
            restarting: false,
            has_seen_rtt: false,
            full_bw: 0,
            full_bw_rounds: 0,
            full_pipe: false,
            phase: 0,
            phase_began: Time::ZERO,
            prior_cwnd: 0,
            prior_state: CaState::Open,
            conserving: false,
            policer: Policer::default(),
            aggregation: Aggregation::default(),
        }
    }

    /// Goes to another mode.
    fn go(&mut self, to: Mode) {
        debug_assert!(Mode::may_follow(self.mode, to), "{:?} to {to:?}", self.mode);
        self.mode = to;
    }

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

    /// What was lost was not: nor was the pipe full, nor is there a policer. The window comes back with the state.
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
