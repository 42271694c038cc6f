//! What an engine is, who watches a run, and why one gives no result.

use super::capabilities::Capabilities;
use super::facts::Facts;
use super::foreseen::Foreseen;
use sojourn_capture::{Capture, CaptureError};
use sojourn_model::{Inconsistent, Scenario, Unsupported};
use sojourn_results::Run;
use sojourn_units::Span;
use std::io::ErrorKind;
use std::sync::Arc;

/// Runs scenarios.
pub trait Engine: Send + Sync {
    /// `sim`, `linux`.
    fn name(&self) -> &str;

    /// Its version; results of different versions may differ.
    fn version(&self) -> &str;

    /// What it is: its clock, whether its runs repeat, how many may run at once.
    fn facts(&self) -> Facts;

    /// The further inputs of a run of this scenario: a kernel, a plan. A run with the same version and the same
    /// identity need not be made again.
    fn identity(&self, _scenario: &Scenario) -> String {
        String::new()
    }

    /// What it can run.
    fn capabilities(&self) -> Capabilities;

    /// What it cannot run of this scenario; empty if it can run it all. The default holds the scenario against
    /// [`Engine::capabilities`]; an engine with further limits adds its own.
    fn refuse(&self, scenario: &Scenario) -> Vec<Unsupported> {
        self.capabilities().refuse(scenario)
    }

    /// About what a run of this scenario will need. The scenario has been checked and not refused. None if the engine
    /// cannot say.
    fn foresee(&self, _scenario: &Scenario) -> Option<Foreseen> {
        None
    }

    /// Runs it. The scenario has been checked ([`Scenario::check`]) and not refused. Calls `watch` now and
    /// then, at least each simulated second, and gives up soon after it says so. The run shares the scenario: one with
    /// thousands of flows is not copied.
    fn run(&self, scenario: &Arc<Scenario>, watch: &dyn Watch) -> Result<Run, RunError>;
}

/// Whoever wants to know how far a run is, may stop it, and may want its packets.
pub trait Watch: Sync {
    /// So much of the run's length is done.
    fn progress(&self, _simulated: Span) {}

    /// Whether the run should be given up.
    fn cancelled(&self) -> bool {
        false
    }

    /// Where the run's packets are to be written, if they are wanted.
    fn capture(&self) -> Option<Capture> {
        None
    }
}

/// Nobody watches.
impl Watch for () {}

/// Why a run gave no result.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RunError {
    /// The engine cannot run it.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Refused(Vec<Unsupported>),
    /// The scenario does not hold together.
    #[error(transparent)]
    Inconsistent(#[from] Inconsistent),
    /// It was given up on request.
    #[error("cancelled")]
    Cancelled,
    /// The engine failed, in its own words.
    #[error("{0}")]
    Failed(String),
    /// The machine or a part from outside did not let it go on: what happened, and what to do.
    #[error("{why}")]
    Environment {
        /// What happened.
        why: String,
        /// What to do.
        help: String,
    },
    /// The program made a mistake; the other runs go on.
    #[error("a mistake in the program: {0}")]
    Panicked(String),
}

/// What a part from outside (a plugin) ends its run with when it has no other way to say so: it unwinds with this
/// ([`Fault::raise`]), and [`run_many`](crate::run_many) makes an error of it. The other runs go on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// What happened.
    pub why: String,
    /// What to do.
    pub help: String,
}

impl Fault {
    /// Ends the run that this thread is at. No panic is reported.
    pub fn raise(self) -> ! {
        std::panic::resume_unwind(Box::new(self))
    }
}

impl From<Fault> for RunError {
    fn from(Fault { why, help }: Fault) -> Self {
        Self::Environment { why, help }
    }
}

impl From<CaptureError> for RunError {
    fn from(e: CaptureError) -> Self {
        let help = match e.why.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                "make room there, keep less of each packet (--snap-len 96), or capture fewer runs (--only, --seeds 1)"
            }
            _ => {
                "captures go where results go: see that this folder is there and may be written to"
            }
        };
        Self::Environment { why: e.to_string(), help: help.to_owned() }
    }
}
