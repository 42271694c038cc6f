//! Plugins: those named are loaded for each call, and let go after it. The operating system keeps one copy.

use crate::custom::{Attached, Classes, Wrong};
use crate::engines::{self, Qdiscs};
use crate::errors::usage_error;
use pyo3::prelude::*;
use sojourn_engine::Engine;
use sojourn_model::Scenario;
use sojourn_plugin_host::{LoadError, Plugins};
use sojourn_sim::Sim;
use std::path::PathBuf;

/// The simulator with the plugins' words.
pub fn sim(plugins: &Plugins) -> Result<Sim, LoadError> {
    let sim = Sim::new();
    let (mut qdiscs, mut controls) = (sim.qdiscs().clone(), sim.controls().clone());
    plugins.add_qdiscs(&mut qdiscs)?;
    plugins.add_controls(&mut controls)?;
    Ok(Sim::with_registry(qdiscs).with_controls(controls))
}

/// The plugins at these paths.
pub fn load(paths: &[PathBuf]) -> Result<Plugins, LoadError> {
    let mut plugins = Plugins::new();
    for path in paths {
        plugins.load(path)?;
    }
    Ok(plugins)
}

/// The simulator with the plugins at these paths.
pub fn sim_with(py: Python<'_>, paths: &[PathBuf]) -> PyResult<Sim> {
    load(paths).and_then(|plugins| sim(&plugins)).map_err(|error| load_error(py, &error))
}

/// This simulator with these classes of Python files, each loaded by `load`.
pub fn sim_of_classes(
    py: Python<'_>,
    sim: &Sim,
    names: &[String],
    load: fn(&mut Classes, &str) -> Result<(), Wrong>,
) -> PyResult<Sim> {
    let mut classes = Classes::default();
    let loaded = names.iter().try_for_each(|name| load(&mut classes, name));
    loaded.and_then(|()| classes.sim(sim)).map_err(|wrong| class_error(py, &wrong))
}

/// What a class that cannot be used raises.
fn class_error(py: Python<'_>, wrong: &Wrong) -> PyErr {
    usage_error(py, &wrong.message, Some(&wrong.help))
}

/// The engine of this name with the plugins and the Python files of these scenarios.
pub fn engine_of<'a>(
    py: Python<'_>,
    name: &str,
    scenarios: impl IntoIterator<Item = &'a Scenario> + Clone,
) -> PyResult<Box<dyn Engine>> {
    let mut live = Qdiscs::built_in();
    let sim = Plugins::of(scenarios.clone())
        .and_then(|plugins| plugins.add_qdiscs(&mut live).and_then(|()| sim(&plugins)))
        .map_err(|error| load_error(py, &error))?;
    let classes = Classes::of(scenarios).map_err(|wrong| class_error(py, &wrong))?;
    if classes.is_empty() {
        return engines::engine_with(py, name, sim, &live);
    }
    let sim = classes
        .add_qdiscs(&mut live)
        .and_then(|()| classes.sim(&sim))
        .map_err(|wrong| class_error(py, &wrong))?;
    let engine = engines::engine_with(py, name, sim, &live)?;
    Ok(Box::new(Attached(engine)))
}

/// What a plugin that cannot be used raises.
pub fn load_error(py: Python<'_>, error: &LoadError) -> PyErr {
    let message = format!("the plugin {}: {}", error.file, error.message);
    usage_error(py, &message, Some(&error.help))
}
