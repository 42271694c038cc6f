//! The states of BBRv3, and which may follow which.

use super::rules::{Rules, UNIT};
use super::settings::Settings;

/// What BBR is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Doubling each round, until the pipe is full.
    Startup,
    /// Letting the queue drain that Startup has made.
    Drain,
    /// ProbeBW: a little slower than the path, until there is room again.
    Down,
    /// ProbeBW: at the rate of the path, with headroom for others.
    Cruise,
    /// ProbeBW: a round at the full rate, so that losses of UP are UP's.
    Refill,
    /// ProbeBW: a quarter faster, to see whether there is more.
    Up,
    /// Half of what fills the path in flight, to see the RTT without a queue.
    ProbeRtt,
}

/// Twice what fills the path.
const TWO: u32 = 2 * UNIT;

impl State {
    /// All of them, in the order of their numbers.
    #[cfg(test)]
    pub(super) const ALL: [Self; 7] = [
        Self::Startup,
        Self::Drain,
        Self::Down,
        Self::Cruise,
        Self::Refill,
        Self::Up,
        Self::ProbeRtt,
    ];

    /// Whether BBR may go from one state to the other.
    ///
    /// ```text
    ///             to Startup   Drain      Down       Cruise     Refill      Up      ProbeRtt
    /// Startup          .     pipe full      .          .          .          .       5 s old
    /// Drain         spurious     .       drained       .          .          .       5 s old
    /// Down          spurious     .          .        room      time, clean   .       5 s old
    /// Cruise        spurious     .          .          .        time         .       5 s old
    /// Refill        spurious     .          .          .       spurious   a round     5 s old
    /// Up            spurious     .      loss, plateau  .          .          .       5 s old
    /// ProbeRtt    pipe not full  .      pipe full      .          .          .          .
    /// ```
    ///
    /// "Spurious": what ended Startup or UP was no loss (only the draft goes back).
    pub(super) const fn may_follow(from: Self, to: Self) -> bool {
        use State::{Cruise, Down, Drain, ProbeRtt, Refill, Startup, Up};
        matches!(
            (from, to),
            (Startup | Drain | Down | Cruise | Refill | Up, ProbeRtt)
                | (Drain | Down | Cruise | Refill | Up | ProbeRtt, Startup)
                | (Startup, Drain)
                | (Drain | Up | ProbeRtt, Down)
                | (Down, Cruise)
                | (Down | Cruise | Refill, Refill)
                | (Refill, Up)
        )
    }

    /// Whether it is one of the four phases of ProbeBW.
    pub(super) const fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// Whether it looks for more bandwidth, so that losses are expected.
    pub(super) const fn is_probing(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }

    /// Gain of the pacing rate and of the window.
    pub(super) const fn gains(self, rules: &Rules, settings: &Settings) -> (u32, u32) {
        match self {
            Self::Startup => (rules.startup_pacing, TWO),
            Self::Drain => (settings.drain_gain, TWO),
            Self::Down => (rules.down_pacing, TWO),
            Self::Cruise | Self::Refill => (UNIT, TWO),
            Self::Up => (UNIT / 4 * 5, UNIT / 4 * 9),
            Self::ProbeRtt => (UNIT, UNIT / 2),
        }
    }
}
