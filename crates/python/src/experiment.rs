//! Experiments: from the text that a person wrote to the scenarios that engines run.

use crate::errors::experiment_error;
use crate::run::to_json;
use pyo3::prelude::*;
use sojourn_language::{MOST_RUNS, Trial};
use sojourn_sim::Sim;
use sojourn_vocabulary::Words;

/// An experiment with its axes multiplied out.
#[pyclass(frozen, get_all, module = "sojourn._core")]
pub struct Experiment {
    /// Its name.
    name: String,
    /// What it is about; may be empty.
    about: String,
    /// Where it comes from; may be empty.
    source: String,
    /// One scenario a run, as JSON: combinations in the order of the file, seeds fastest.
    scenarios: Vec<String>,
}

/// Reads an experiment; `name` is how messages call the file, `settings` are `PATH=VALUE`. More than 100 000 runs
/// are refused unless `yes`.
#[pyfunction]
#[pyo3(signature = (text, name, *, settings=Vec::new(), seeds=None, yes=false))]
pub fn load(
    py: Python<'_>,
    text: &str,
    name: &str,
    settings: Vec<String>,
    seeds: Option<u64>,
    yes: bool,
) -> PyResult<Experiment> {
    let read = || {
        let mut experiment = sojourn_language::Experiment::parse(name, text)?;
        for setting in &settings {
            experiment.set(setting)?;
        }
        if let Some(seeds) = seeds {
            experiment.set_seeds(&(1..=seeds).collect::<Vec<_>>())?;
        }
        let sim = Sim::new();
        let words = Words::new(sim.qdiscs().clone()).with_controls(sim.controls().clone());
        let plan = experiment.plan(&words, if yes { u64::MAX } else { MOST_RUNS })?;
        let says = |key| experiment.says(key).unwrap_or_default().to_owned();
        Ok(Experiment {
            name: says("name"),
            about: says("about"),
            source: says("source"),
            scenarios: plan.scenarios().map(|s| to_json(&s)).collect(),
        })
    };
    py.detach(read).map_err(|diagnostics| experiment_error(py, &diagnostics))
}

/// The experiment file that a command line stands for.
#[pyfunction]
#[pyo3(signature = (ccs, *, rate, rtt, qdisc, duration, stack, seed))]
pub fn trial(
    ccs: Vec<String>,
    rate: String,
    rtt: String,
    qdisc: String,
    duration: String,
    stack: String,
    seed: u64,
) -> String {
    Trial { rate, rtt, qdisc, ccs, duration, stack, seed }.toml()
}

/// The JSON Schema of experiment files.
#[pyfunction]
pub fn json_schema() -> String {
    format!("{:#}", sojourn_language::json_schema())
}
