//! The simulator, with what was added to it.

use sojourn_engine::Registry;
use sojourn_sim::{NAME, Sim};

/// Adds it.
pub(super) fn add(engines: &mut Registry, sim: &Sim) {
    let sim = sim.clone();
    engines.add(NAME, version!("SIM_SOURCES"), move || sim.clone());
}
