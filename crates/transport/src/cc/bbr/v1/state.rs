//! What BBR remembers, its modes, and which may follow which.

use super::policer::Policer;
use crate::cc::CaState;
use crate::cc::bbr::UNIT;
use crate::cc::bbr::heaps::{Epoch, Slots};
use crate::minmax::WindowedMax;
use crate::stack::TcpQuirks;
use sojourn_units::{Random, Time};

/// 2/ln 2, rounded up: the least gain that doubles what is sent every round.
pub(super) const HIGH_GAIN: u32 = UNIT * 2885 / 1000 + 1;
/// Its inverse: what one round of [`HIGH_GAIN`] has queued, one round of this drains.
pub(super) const DRAIN_GAIN: u32 = UNIT * 1000 / 2885;
/// Of the window while bandwidth is probed for.
pub(super) const CWND_GAIN: u32 = 2 * UNIT;
/// Lowest window, segments (`bbr_cwnd_min_target`): two pairs, so that delayed acknowledgements keep coming.
pub(super) const LEAST_CWND: u32 = 4;
/// Below this pacing rate, bytes per second, segments are sent one by one (`bbr_min_tso_rate`, 1.2 Mbit/s).
pub(super) const PAIRS_FROM: u64 = 1_200_000 / 8;

/// What BBR is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
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
    pub(super) const fn may_follow(from: Self, to: Self) -> bool {
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

/// Acknowledgements that come in heaps.
#[derive(Clone, Debug, Default)]
pub(super) struct Aggregation {
    pub(super) epoch: Epoch,
    pub(super) slots: Slots,
}

/// BBR.
#[derive(Clone, Debug)]
pub struct Bbr {
    pub(super) random: Random,
    pub(super) mode: Mode,
    pub(super) pacing_gain: u32,
    pub(super) cwnd_gain: u32,
    /// Highest delivery rate of the last ten rounds.
    pub(super) max_bw: WindowedMax,
    /// Round trips so far, counted by packets: one ends when what was sent in it is delivered.
    pub(super) rounds: u32,
    /// `delivered` at which the round ends: a packet sent when as much had been delivered ends it.
    pub(super) round_end: u32,
    /// Whether this ACK began a round.
    pub(super) round_start: bool,
    /// Lowest RTT of the last ten seconds, microseconds; `u32::MAX` before the first.
    pub(super) min_rtt_us: u32,
    /// When it was seen, in ticks.
    pub(super) min_rtt_at: u32,
    /// When ProbeRtt may end, in ticks; known once few enough packets are in flight.
    pub(super) probe_rtt_until: Option<u32>,
    pub(super) probe_rtt_round_done: bool,
    /// Whether it begins to send again after the application paused.
    pub(super) restarting: bool,
    /// Whether the first pacing rate was made from a measured RTT.
    pub(super) has_seen_rtt: bool,
    /// Rate that Startup last took for a growth.
    pub(super) full_bw: u32,
    /// Rounds since.
    pub(super) full_bw_rounds: u32,
    /// Whether Startup has filled the pipe.
    pub(super) full_pipe: bool,
    /// Place in the cycle of gains.
    pub(super) phase: u32,
    pub(super) phase_began: Time,
    /// Window before recovery or ProbeRtt.
    pub(super) prior_cwnd: u32,
    pub(super) prior_state: CaState,
    /// In the first round of recovery, a packet out for a packet delivered.
    pub(super) conserving: bool,
    pub(super) policer: Policer,
    pub(super) aggregation: Aggregation,
}

impl Bbr {
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
    pub(super) fn go(&mut self, to: Mode) {
        debug_assert!(Mode::may_follow(self.mode, to), "{:?} to {to:?}", self.mode);
        self.mode = to;
    }
}
