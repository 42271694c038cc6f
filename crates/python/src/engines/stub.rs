//! An engine that can do nothing: it refuses whatever it is given, by name.

use sojourn_engine::{Capabilities, Engine, Registry, RunError, Watch};
use sojourn_model::Scenario;
use sojourn_results::Run;
use sojourn_sim::Sim;

struct Stub;

impl Engine for Stub {
    fn name(&self) -> &'static str {
        "stub"
    }
    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }
    fn run(&self, _: &Scenario, _: &dyn Watch) -> Result<Run, RunError> {
        let why = "a stub runs nothing".to_owned();
        Err(RunError::Environment { why, help: "choose another engine".to_owned() })
    }
}

/// Adds it.
pub(super) fn add(engines: &mut Registry, _: &Sim) {
    engines.add("stub", env!("CARGO_PKG_VERSION"), || Stub);
}
