//! What BBRv3 remembers.

use super::marks::Marks;
use super::parts::{AckPhase, Aggregation, FullBw, MaxBw, NONE, Raise, StartupLosses, Undo};
use super::rules::UNIT;
use super::settings::Settings;
use super::state::State;
use super::version::Version;
use core::marker::PhantomData;
use sojourn_units::{Random, Span, Time};

/// Lowest window, segments: two pairs, so that delayed acknowledgements keep coming.
pub(super) const LEAST_CWND: u32 = 4;

/// The state of BBRv3. Times are of [`Model::clock`].
#[derive(Clone, Debug)]
pub struct Model<V> {
    pub(super) version: PhantomData<V>,
    pub(super) settings: Settings,
    pub(super) random: Random,
    pub(super) state: State,
    pub(super) pacing_gain: u32,
    pub(super) cwnd_gain: u32,
    pub(super) initial_window: u32,
    pub(super) has_seen_rtt: bool,
    /// Whether it begins to send again after the application paused.
    pub(super) idle_restart: bool,
    /// Whether the window had reached what the model wants.
    pub(super) reached_target: bool,
    /// Window before recovery or ProbeRTT.
    pub(super) prior_cwnd: u32,

    /// Rounds, counted by packets, and `delivered` at which this one ends.
    pub(super) round_count: u32,
    pub(super) round_end: u32,
    /// Whether this ACK began a round.
    pub(super) round_start: bool,
    pub(super) max_bw: MaxBw,
    pub(super) min_rtt_us: u32,
    pub(super) min_rtt_stamp: Time,
    pub(super) probe_rtt_min_us: u32,
    pub(super) probe_rtt_min_stamp: Time,
    pub(super) probe_rtt_done_stamp: Option<Time>,
    pub(super) probe_rtt_round_done: bool,
    pub(super) aggregation: Aggregation,

    pub(super) full_bw: FullBw,
    /// Whether the pipe has been full.
    pub(super) full_bw_reached: bool,
    pub(super) startup_losses: StartupLosses,
    pub(super) drain_start_round: u32,

    /// Rounds of losses, which are counted by themselves.
    pub(super) loss_round_delivered: u32,
    pub(super) loss_round_start: bool,
    pub(super) loss_in_round: bool,
    /// Whether anything was lost since DOWN began.
    pub(super) loss_in_cycle: bool,
    pub(super) bw_latest: u32,
    pub(super) inflight_latest: u32,
    pub(super) bw_shortterm: u32,
    pub(super) inflight_shortterm: u32,
    pub(super) inflight_longterm: u32,
    pub(super) undo: Undo,
    pub(super) ecn: Marks,

    pub(super) ack_phase: AckPhase,
    pub(super) raise: Raise,
    /// Whether what comes in tells of a probe.
    pub(super) probe_sample: bool,
    /// Whether the last probe was too much, and whether this one stopped where it was.
    pub(super) probe_too_high: bool,
    pub(super) precautionary: bool,
    pub(super) rounds_since_probe: u32,
    pub(super) probe_wait: Span,
    pub(super) cycle_stamp: Time,
}

impl<V: Version> Model<V> {
    pub(super) fn new() -> Self {
        Self {
            version: PhantomData,
            settings: Settings::of(&V::RULES),
            random: Random::named(0, "bbr3"),
            state: State::Startup,
            pacing_gain: V::RULES.startup_pacing,
            cwnd_gain: 2 * UNIT,
            initial_window: 0,
            has_seen_rtt: false,
            idle_restart: false,
            reached_target: false,
            prior_cwnd: 0,
            round_count: 0,
            round_end: 0,
            round_start: false,
            max_bw: MaxBw::default(),
            min_rtt_us: u32::MAX,
            min_rtt_stamp: Time::ZERO,
            probe_rtt_min_us: u32::MAX,
            probe_rtt_min_stamp: Time::ZERO,
            probe_rtt_done_stamp: None,
            probe_rtt_round_done: false,
            aggregation: Aggregation::default(),
            full_bw: FullBw::default(),
            full_bw_reached: false,
            startup_losses: StartupLosses::default(),
            drain_start_round: 0,
            loss_round_delivered: 0,
            loss_round_start: false,
            loss_in_round: false,
            loss_in_cycle: false,
            bw_latest: 0,
            inflight_latest: 0,
            bw_shortterm: NONE,
            inflight_shortterm: NONE,
            inflight_longterm: NONE,
            undo: Undo::NOTHING,
            ecn: Marks::default(),
            ack_phase: AckPhase::Init,
            raise: Raise::default(),
            probe_sample: false,
            probe_too_high: false,
            precautionary: false,
            rounds_since_probe: 0,
            probe_wait: Span::ZERO,
            cycle_stamp: Time::ZERO,
        }
    }

    /// Goes to another state.
    pub(super) fn go(&mut self, to: State) {
        debug_assert!(State::may_follow(self.state, to), "{:?} to {to:?}", self.state);
        self.state = to;
        // Gains have changed: the next ACK has to set window and pace.
        self.reached_target = false;
    }
}
