//! Facts about an engine that lists, plans, comparisons and stores need. They ask for these and never for its name.

use core::num::NonZero;

/// The clock of an engine's runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// The clock of a discrete-event simulation.
    Simulated,
    /// The clock of real kernels, with jumps to their next timer.
    Virtual,
    /// The machine's own.
    Wall,
}

impl Clock {
    /// `simulated`, `virtual` or `wall`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Simulated => "simulated",
            Self::Virtual => "virtual",
            Self::Wall => "wall",
        }
    }
}

/// What an engine is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Facts {
    /// What a sentence calls it: "the simulator", "Linux".
    pub title: &'static str,
    /// The clock of its runs.
    pub clock: Clock,
    /// Whether one scenario and seed always give the same tables. If not, a run has a repetition next to its seed.
    pub deterministic: bool,
    /// The most runs that one machine may do at the same time without changing them; none if there is no limit.
    pub at_once: Option<NonZero<usize>>,
    /// Whether its runs need a kernel, which the user may choose (`NAME:KERNEL`), and a folder in which kernels are kept.
    pub kernels: bool,
    /// The TCP port of the first flow's sender in its captures; each further flow has the next one.
    pub sender_port: u16,
}

impl Facts {
    /// An engine with this clock. On a wall clock, runs differ from one another and need the machine for themselves.
    pub const fn new(title: &'static str, clock: Clock, sender_port: u16) -> Self {
        let wall = matches!(clock, Clock::Wall);
        let at_once = if wall { NonZero::new(1) } else { None };
        Self { title, clock, deterministic: !wall, at_once, kernels: false, sender_port }
    }

    /// Its runs need a kernel.
    #[must_use]
    pub const fn with_kernels(self) -> Self {
        Self { kernels: true, ..self }
    }

    /// Whether runs of two engines with the same seed can be compared in pairs: both take the seed's start times and
    /// jitter, and nothing else varies.
    pub const fn paired_by_seed(&self, other: &Self) -> bool {
        self.deterministic && other.deterministic
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_on_a_wall_clock_repeat_one_at_a_time_and_have_no_pairs() {
        let sim = Facts::new("the simulator", Clock::Simulated, 30_000);
        let live = Facts::new("the live engine", Clock::Wall, 40_001);
        assert!(sim.deterministic && sim.at_once.is_none() && sim.paired_by_seed(&sim));
        assert!(!live.deterministic && !sim.paired_by_seed(&live) && !live.paired_by_seed(&sim));
        assert_eq!(live.at_once.map(NonZero::get), Some(1));
    }
}
