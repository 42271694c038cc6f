//! Experiments: from the text that a person wrote to the scenarios that engines run.

use crate::errors::experiment_error;
use crate::plugins::{self, load_error};
use crate::scenario::Scenario;
use pyo3::prelude::*;
use sojourn_language::{Diagnostics, MOST_RUNS};
use sojourn_plugin_host::LoadError;
use sojourn_vocabulary::Words;
use std::path::PathBuf;

/// An experiment with its axes multiplied out.
#[pyclass(frozen, module = "sojourn._core")]
pub struct Experiment {
    /// Its name.
    #[pyo3(get)]
    name: String,
    /// What it is about; may be empty.
    #[pyo3(get)]
    about: String,
    /// Where it comes from; may be empty.
    #[pyo3(get)]
    source: String,
    /// One a run.
    scenarios: Vec<Scenario>,
}

#[pymethods]
impl Experiment {
    /// One scenario a run: combinations in the order of the file, seeds fastest.
    #[getter]
    fn scenarios(&self) -> Vec<Scenario> {
        self.scenarios.clone()
    }
}

/// Reads an experiment; `name` is how messages call the file, `settings` are `PATH=VALUE`. More than 100 000 runs
/// are refused unless `yes`. The plugins that it names are looked for in `folder`, those at `plugins` are added to them;
/// all are loaded.
#[pyfunction]
#[pyo3(signature = (text, name, *, settings=Vec::new(), seeds=None, yes=false, plugins=Vec::new(), folder=PathBuf::new()))]
#[allow(clippy::too_many_arguments, reason = "keywords, as Python has them")]
pub fn load(
    py: Python<'_>,
    text: &str,
    name: &str,
    settings: Vec<String>,
    seeds: Option<u64>,
    yes: bool,
    plugins: Vec<PathBuf>,
    folder: PathBuf,
) -> PyResult<Experiment> {
    let read = || -> Result<_, Wrong> {
        let mut experiment = sojourn_language::Experiment::parse(name, text)?;
        for setting in &settings {
            experiment.set(setting)?;
        }
        if let Some(seeds) = seeds {
            experiment.set_seeds(&(1..=seeds).collect::<Vec<_>>())?;
        }
        let mut plugins = plugins::load(&plugins)?;
        experiment.plugins(|path| {
            plugins.load(&folder.join(path)).map_err(|error| (error.message, error.help))
        })?;
        let sim = plugins::sim(&plugins)?;
        let words = Words::new(sim.qdiscs().clone())
            .with_controls(sim.controls().clone())
            .with_plugins(plugins.named());
        let plan = experiment.plan(&words, if yes { u64::MAX } else { MOST_RUNS })?;
        let says = |key| experiment.says(key).unwrap_or_default().to_owned();
        Ok(Experiment {
            name: says("name"),
            about: says("about"),
            source: says("source"),
            scenarios: plan.scenarios().map(Scenario::new).collect(),
        })
    };
    py.detach(read).map_err(|wrong| match wrong {
        Wrong::Experiment(diagnostics) => experiment_error(py, &diagnostics),
        Wrong::Plugin(error) => load_error(py, &error),
    })
}

/// Why an experiment was not read.
enum Wrong {
    Experiment(Diagnostics),
    Plugin(LoadError),
}

impl From<Diagnostics> for Wrong {
    fn from(diagnostics: Diagnostics) -> Self {
        Self::Experiment(diagnostics)
    }
}

impl From<LoadError> for Wrong {
    fn from(error: LoadError) -> Self {
        Self::Plugin(error)
    }
}

/// The JSON Schema of experiment files.
#[pyfunction]
pub fn json_schema() -> String {
    format!("{:#}", sojourn_language::json_schema())
}
