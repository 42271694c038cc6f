//! Differences between the two versions of BBRv3, the draft's and Google's. Each is a named rule; all other code is
//! shared.

/// A gain of one.
pub(super) const UNIT: u32 = 25_600;
/// When Startup takes losses for a full pipe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StartupLoss {
    /// A round of fast recovery in which more than the threshold was lost, in this many separate ranges of sequence numbers.
    Ranges(u32),
    /// A round of fast recovery in which this many ACKs reported losses, the last one's flight having lost more than
    /// the threshold.
    Acks(u32),
}

/// Over how many rounds extra acknowledged data is remembered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AggregationWindow {
    /// The maximum of this many rounds; of one round in Startup.
    Rounds(u32),
    /// Two slots with this many rounds each, with one in Startup; adds at most 100 ms of the rate.
    TwoSlots(u32),
}

/// What one version does. Gains and shares are in units of 1/25600: decimal fractions of the draft and the kernel's
/// 256ths are both exact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// Pacing gain of Startup.
    pub(super) startup_pacing: u32,
    /// Pacing gain of Drain.
    pub(super) drain_pacing: u32,
    /// Pacing gain of ProbeBW DOWN.
    pub(super) down_pacing: u32,
    /// What counts as too much lost of a flight.
    pub(super) loss_threshold: u32,
    /// Whether that share of a flight is first rounded down to whole segments.
    pub(super) loss_in_whole_segments: bool,
    /// What is left of a bound after a loss.
    pub(super) beta: u32,
    /// What is left free below the long-term bound.
    pub(super) headroom: u32,
    /// Rounds after which Drain ends, whatever is in flight.
    pub(super) drain_rounds: Option<u32>,
    /// Whether Drain begins with a clean slate of losses and marks.
    pub(super) drain_forgets: bool,
    /// Losses that end Startup.
    pub(super) startup_loss: StartupLoss,
    /// Memory of aggregation.
    pub(super) aggregation: AggregationWindow,
    /// Whether growth of the rate is looked for on every ACK, and not only at a round's start.
    pub(super) growth_on_each_ack: bool,
    /// Whether an RTT that equals the lowest renews it, and one that a delayed ACK gave does not replace an expired one.
    pub(super) equal_rtt_renews: bool,
    /// Whether the ACK's own sample lowers the long-term bound, too, and not only a segment taken for lost.
    pub(super) cuts_by_ack: bool,
    /// Whether a recovery's undo state is noted at its first loss, or only when it begins.
    pub(super) saves_undo_at_loss: bool,
    /// Whether a spurious recovery goes back to the Startup or UP that it ended.
    pub(super) undo_returns: bool,
    /// Whether the window comes back when fast recovery ends, and not only after a timeout.
    pub(super) restores_after_recovery: bool,
    /// Whether a timeout sets the short-term bound of what is in flight.
    pub(super) timeout_sets_bound: bool,
    /// Whether what is in flight is that before the ACK, less what will have left the network when the next burst leaves.
    pub(super) counts_at_departure: bool,
    /// Whether entering CRUISE keeps the short-term bound below the long-term one.
    pub(super) cruise_bounds: bool,
    /// Whether an ACK of an application that pauses may skip the model.
    pub(super) fast_path: bool,
    /// Whether seconds are counted in ticks of the coarse clock and phases from the last delivery.
    pub(super) kernel_clocks: bool,
    /// Whether a delivery rate is rounded up, and so what fills the path by one at times.
    pub(super) rates_round_up: bool,
    /// Whether bursts are larger where the lowest RTT is short (`tso_rtt_shift`).
    pub(super) bursts_by_rtt: bool,
    /// Whether marks count (a route with the feature `ecn_low`).
    pub(super) ecn: bool,
}

const fn hundredths(n: u32) -> u32 {
    n * (UNIT / 100)
}

const fn of_256(n: u32) -> u32 {
    n * (UNIT / 256)
}

impl Rules {
    /// draft-ietf-ccwg-bbr as of 3 August 2026.
    pub(super) const DRAFT: Self = Self {
        startup_pacing: hundredths(277),
        drain_pacing: hundredths(50),
        down_pacing: hundredths(90),
        loss_threshold: hundredths(2),
        loss_in_whole_segments: false,
        beta: hundredths(70),
        headroom: hundredths(15),
        drain_rounds: Some(3),
        drain_forgets: false,
        startup_loss: StartupLoss::Ranges(6),
        aggregation: AggregationWindow::Rounds(10),
        growth_on_each_ack: false,
        equal_rtt_renews: false,
        cuts_by_ack: false,
        saves_undo_at_loss: true,
        undo_returns: true,
        restores_after_recovery: true,
        timeout_sets_bound: false,
        counts_at_departure: false,
        cruise_bounds: false,
        fast_path: false,
        kernel_clocks: false,
        rates_round_up: false,
        bursts_by_rtt: false,
        ecn: false,
    };

    /// `net/ipv4/tcp_bbr.c` of the branch v3 of google/bbr (November 2023).
    pub(super) const GOOGLE: Self = Self {
        startup_pacing: of_256(710),
        drain_pacing: of_256(88),
        down_pacing: of_256(232),
        loss_threshold: of_256(5),
        loss_in_whole_segments: true,
        beta: of_256(180),
        headroom: of_256(38),
        drain_rounds: None,
        drain_forgets: true,
        startup_loss: StartupLoss::Acks(6),
        aggregation: AggregationWindow::TwoSlots(5),
        growth_on_each_ack: true,
        equal_rtt_renews: true,
        cuts_by_ack: true,
        saves_undo_at_loss: false,
        undo_returns: false,
        restores_after_recovery: false,
        timeout_sets_bound: true,
        counts_at_departure: true,
        cruise_bounds: true,
        fast_path: true,
        kernel_clocks: true,
        rates_round_up: true,
        bursts_by_rtt: true,
        ecn: false,
    };

    /// The same on a route with `ecn_low`.
    pub(super) const GOOGLE_ECN: Self = Self { ecn: true, ..Self::GOOGLE };
}
