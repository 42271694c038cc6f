//! Plugins: what of them was named is loaded for each call, and let go after it. The operating system keeps one copy.

use crate::errors::usage_error;
use pyo3::prelude::*;
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

/// The simulator with the plugins of these scenarios.
pub fn sim_of<'a>(
    py: Python<'_>,
    scenarios: impl IntoIterator<Item = &'a Scenario>,
) -> PyResult<Sim> {
    let plugins = Plugins::of(scenarios);
    plugins.and_then(|plugins| sim(&plugins)).map_err(|error| load_error(py, &error))
}

/// What a plugin that cannot be used raises.
pub fn load_error(py: Python<'_>, error: &LoadError) -> PyErr {
    let message = format!("the plugin {}: {}", error.file, error.message);
    usage_error(py, &message, Some(&error.help))
}
