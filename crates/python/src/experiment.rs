//! Experiments: from the text that a person wrote to the scenarios that engines run.

use crate::custom::{Classes, WithClasses};
use crate::engines;
use crate::errors::experiment_error;
use crate::kernels::WithKernels;
use crate::plugins::{self, load_error};
use crate::scenario::Scenario;
use pyo3::prelude::*;
use sojourn_language::{Diagnostics, MOST_RUNS, Plan};
use sojourn_model::Scenario as Resolved;
use sojourn_plugin_host::LoadError;
use std::path::PathBuf;

/// An experiment with its axes multiplied out.
#[pyclass(frozen, module = "sojourn._core")]
pub struct Experiment {
    /// Its name.
    #[pyo3(get)]
    name: String,
    /// Its description; may be empty.
    #[pyo3(get)]
    about: String,
    /// Where it comes from; may be empty.
    #[pyo3(get)]
    source: String,
    /// How much of each run is kept, if the file says it; may be empty.
    #[pyo3(get)]
    keep: String,
    /// One a run.
    scenarios: Vec<Scenario>,
    /// Settings that may not be as intended.
    #[pyo3(get)]
    warnings: Vec<Warning>,
}

/// Something legal that may not be what was meant, with its place.
#[pyclass(frozen, get_all, module = "sojourn._core")]
#[derive(Clone)]
pub struct Warning {
    /// What it is.
    message: String,
    /// The words to write if it is not intended.
    help: Option<String>,
    /// The file, or the option of the command line.
    file: String,
    /// Its line, from 1.
    line: usize,
    /// Its column in characters, from 1.
    column: usize,
    /// The length of the place.
    width: usize,
    /// The line itself.
    source: String,
    /// The scenarios that have it, by their places in [`Experiment::scenarios`].
    scenarios: Vec<usize>,
}

/// The plan's warnings, each with the runs that have it.
fn warnings(plan: &Plan) -> Vec<Warning> {
    let mut next = 0;
    let runs = plan.cells().iter().map(|(_, seeds)| {
        let first = next;
        next += seeds.len();
        first..next
    });
    let runs = runs.collect::<Vec<_>>();
    plan.warnings()
        .iter()
        .map(|warning| {
            let own = &warning.diagnostic;
            Warning {
                message: own.message.clone(),
                help: own.help.clone(),
                file: own.file.clone(),
                line: own.line,
                column: own.column,
                width: own.span.len(),
                source: own.excerpt.clone(),
                scenarios: warning.cells.iter().flat_map(|&cell| runs[cell].clone()).collect(),
            }
        })
        .collect()
}

#[pymethods]
impl Experiment {
    /// One scenario a run: combinations in the order of the file, seeds fastest.
    #[getter]
    fn scenarios(&self) -> Vec<Scenario> {
        self.scenarios.clone()
    }
}

/// Reads an experiment; `name` is the file's name in messages, `settings` are `PATH=VALUE`. More than 100 000 runs are
/// refused unless `yes`. `engine` is the one that is to run it: Linux knows the words of its kernels. The plugins that
/// it names are looked for in `folder`, those at `plugins` are added to them; all are loaded, and so are the Python
/// files that words name.
#[pyfunction]
#[pyo3(signature = (text, name, *, settings=Vec::new(), seeds=None, yes=false, engine="sim", plugins=Vec::new(), folder=PathBuf::new()))]
#[allow(clippy::too_many_arguments, reason = "keywords, as Python has them")]
pub fn load(
    py: Python<'_>,
    text: &str,
    name: &str,
    settings: Vec<String>,
    seeds: Option<u64>,
    yes: bool,
    engine: &str,
    plugins: Vec<PathBuf>,
    folder: PathBuf,
) -> PyResult<Experiment> {
    let linux = engines::linux(py, engine)?;
    let read = move || -> Result<_, Wrong> {
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
        let words = WithClasses::new(sim, plugins.named(), Classes::in_folder(folder.clone()));
        let words = WithKernels::new(words, linux);
        let plan = experiment.plan(&words, if yes { u64::MAX } else { MOST_RUNS })?;
        let classes = words.into_words().into_classes();
        let named = |scenario: Resolved| {
            if classes.is_empty() {
                return scenario;
            }
            let files = classes.named_by(&scenario);
            let plugins = scenario.plugins.iter().cloned().chain(files).collect();
            Resolved { plugins, ..scenario }
        };
        let scenarios = plan.cells().iter().flat_map(|(scenario, seeds)| {
            let cell = Scenario::new(named(scenario.clone()));
            seeds.iter().map(move |&seed| cell.seeded(seed))
        });
        let says = |key| experiment.says(key).unwrap_or_default().to_owned();
        Ok(Experiment {
            name: says("name"),
            about: says("about"),
            source: says("source"),
            keep: says("keep"),
            scenarios: scenarios.collect(),
            warnings: warnings(&plan),
        })
    };
    py.detach(read).map_err(|wrong| raised(py, wrong))
}

/// What `[search]` of an experiment file may vary.
#[pyclass(frozen, module = "sojourn._core")]
pub struct Search(sojourn_language::Search);

#[pymethods]
impl Search {
    /// Path, number of values (None where they are continuous), and whether these are choices, of each setting.
    #[getter]
    fn dimensions(&self) -> Vec<(&str, Option<u64>, bool)> {
        self.0.dimensions().iter().map(|d| (d.path(), d.size(), d.is_choice())).collect()
    }

    /// The metric that is to be small.
    #[getter]
    fn minimise(&self) -> Option<&str> {
        self.0.minimise()
    }

    /// The metric that is to be large.
    #[getter]
    fn maximise(&self) -> Option<&str> {
        self.0.maximise()
    }

    /// Metrics that tell findings apart, each with the edges of its bins in base units.
    #[getter]
    fn behaviour(&self) -> Vec<(&str, Vec<f64>)> {
        self.0.behaviour().map(|(metric, edges)| (metric, edges.to_vec())).collect()
    }

    /// The settings `PATH=VALUE` at a place of each range, from 0 to 1.
    fn settings(&self, at: Vec<f64>) -> Vec<String> {
        self.0.dimensions().iter().zip(at).map(|(d, at)| d.setting(at)).collect()
    }
}

/// Reads and judges what `[search]` of an experiment says; None if there is none. Otherwise as `load`.
#[pyfunction]
#[pyo3(signature = (text, name, *, settings=Vec::new(), engine="sim", plugins=Vec::new(), folder=PathBuf::new()))]
pub fn load_search(
    py: Python<'_>,
    text: &str,
    name: &str,
    settings: Vec<String>,
    engine: &str,
    plugins: Vec<PathBuf>,
    folder: PathBuf,
) -> PyResult<Option<Search>> {
    let linux = engines::linux(py, engine)?;
    let read = move || -> Result<_, Wrong> {
        let mut experiment = sojourn_language::Experiment::parse(name, text)?;
        for setting in &settings {
            experiment.set(setting)?;
        }
        let mut plugins = plugins::load(&plugins)?;
        experiment.plugins(|path| {
            plugins.load(&folder.join(path)).map_err(|error| (error.message, error.help))
        })?;
        let sim = plugins::sim(&plugins)?;
        let words = WithClasses::new(sim, plugins.named(), Classes::in_folder(folder.clone()));
        experiment.check_search(&WithKernels::new(words, linux))?;
        Ok(experiment.search().cloned().map(Search))
    };
    py.detach(read).map_err(|wrong| raised(py, wrong))
}

/// What a file that cannot be read raises.
fn raised(py: Python<'_>, wrong: Wrong) -> PyErr {
    match wrong {
        Wrong::Experiment(diagnostics) => experiment_error(py, &diagnostics),
        Wrong::Plugin(error) => load_error(py, &error),
    }
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
