//! An engine with threads that Python knows.

use pyo3::prelude::*;
use sojourn_engine::{Capabilities, Engine, Facts, Foreseen, RunError, Watch};
use sojourn_model::{Scenario, Unsupported};
use sojourn_results::Run;
use std::sync::Arc;

/// Runs each scenario on a thread that Python has a state for, and without its lock: taking that for a call is cheap
/// then. Otherwise each call would make a state and throw it away.
pub struct Attached(pub Box<dyn Engine>);

#[deny(clippy::missing_trait_methods, reason = "methods not forwarded would run the default")]
impl Engine for Attached {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn version(&self) -> &str {
        self.0.version()
    }

    fn facts(&self) -> Facts {
        self.0.facts()
    }

    fn identity(&self, scenario: &Scenario) -> String {
        self.0.identity(scenario)
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn refuse(&self, scenario: &Scenario) -> Vec<Unsupported> {
        self.0.refuse(scenario)
    }

    fn foresee(&self, scenario: &Scenario) -> Option<Foreseen> {
        self.0.foresee(scenario)
    }

    fn run(&self, scenario: &Arc<Scenario>, watch: &dyn Watch) -> Result<Run, RunError> {
        Python::attach(|py| py.detach(|| self.0.run(scenario, watch)))
    }
}
