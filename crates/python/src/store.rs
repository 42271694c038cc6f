//! Results folders: the segments of one, its runs, and their answers.

use crate::arrow::import;
use crate::errors::store_error;
use crate::run::Run;
use crate::scenario::Scenario;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use serde::Deserialize;
use sojourn_model::Scenario as Resolved;
use sojourn_results::{EngineId, Run as Results, schema};
use sojourn_store::answers::{Values, View};
use sojourn_store::columns::{CELL, FLOW, QUEUE};
use sojourn_store::folder::QueueSum;
use sojourn_store::{About, Answers as Own, Brief, Entry, Keep, SegmentError, Segments, Source};
use sojourn_store::{OfCell, Stored, identity, tables};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// A metric's value, and where it was measured.
type Measured = (f64, Vec<(f64, f64)>);

/// A metric's values by run, and each set of windows that they were measured in.
type Column = (Vec<f64>, Vec<Vec<(f64, f64)>>);

/// A check: name, what came out, whether it holds, and where it looks, s.
type Checked = (String, String, Option<bool>, Vec<(f64, f64)>);

/// Experiment, (axis, label), seed, the cell's digest, engine, version, repetition, how much is kept, and the stored tables.
type Row = (String, Vec<(String, String)>, u64, String, String, String, u32, String, Vec<String>);

/// The runs in a results folder's segments.
#[pyclass(frozen, module = "sojourn._core")]
pub struct Store {
    segments: Arc<Segments>,
    /// What each cell's first run says of all, by the cell's digest; nothing of imported runs, which measure parts of their
    /// scenarios.
    cells: Mutex<HashMap<String, (Scenario, Py<PyTuple>)>>,
}

/// The part of a head that identifies a run, and its warnings.
#[derive(Deserialize)]
struct Head {
    scenario: Resolved,
    #[serde(default)]
    warnings: Vec<String>,
    #[serde(default)]
    imported: Option<Imported>,
}

/// The keys of an imported run's scenario that are measurements.
#[derive(Deserialize)]
struct Imported {
    #[serde(default)]
    measured: Vec<String>,
}

/// A run's scenario, the keys of it that are measurements, and the experiment's warnings.
type Identified = (Scenario, Vec<String>, Py<PyTuple>);

impl Store {
    /// What threads append to.
    pub fn segments(&self) -> Arc<Segments> {
        Arc::clone(&self.segments)
    }

    fn with<T>(
        &self,
        py: Python<'_>,
        name: &str,
        read: impl FnOnce(&Source, &Entry) -> Result<T, SegmentError>,
    ) -> PyResult<T> {
        match self.segments.with(name, read) {
            Some(found) => found.map_err(|error| store_error(py, &error)),
            None => Err(PyKeyError::new_err(name.to_owned())),
        }
    }
}

#[pymethods]
impl Store {
    /// The segments in a folder. With `add`, which needs the folder's lock, those that killed commands left are cut behind
    /// their last whole run and closed.
    #[new]
    #[pyo3(signature = (folder, *, add=false))]
    fn new(py: Python<'_>, folder: PathBuf, add: bool) -> PyResult<Self> {
        let open = if add { Segments::open_to_add } else { Segments::open };
        let segments = py.detach(|| open(&folder)).map_err(|error| store_error(py, &error))?;
        Ok(Self { segments: Arc::new(segments), cells: Mutex::default() })
    }

    /// The names of the runs, in the order in which they came.
    fn names(&self) -> Vec<String> {
        self.segments.names()
    }

    fn __contains__(&self, name: &str) -> bool {
        self.segments.has(name)
    }

    fn __len__(&self) -> usize {
        self.segments.count()
    }

    /// Whether there is a run of this name, with at least this much of it.
    fn has(&self, name: &str, keep: &str) -> PyResult<bool> {
        let keep = self::keep(keep)?;
        Ok(self.segments.keeps(name).is_some_and(|own| own >= keep))
    }

    /// The files of the segments.
    fn files(&self, py: Python<'_>) -> PyResult<Vec<PathBuf>> {
        self.segments.files().map_err(|error| store_error(py, &error))
    }

    /// What the index says of a run.
    fn brief(&self, py: Python<'_>, name: &str) -> PyResult<Row> {
        self.with(py, name, |_, entry| {
            let Brief { of, seed, repetition } = &entry.brief;
            let OfCell { experiment, labels, cell, engine, version, keep, tables } = (**of).clone();
            Ok((experiment, labels, *seed, cell, engine, version, *repetition, keep, tables))
        })
    }

    /// Bytes that a run takes.
    fn bytes(&self, py: Python<'_>, name: &str) -> PyResult<u64> {
        self.with(py, name, |_, entry| Ok(entry.bytes()))
    }

    /// The head of a run, JSON.
    fn head(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        let head = self.with(py, name, Source::head)?;
        String::from_utf8(head).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The identity of a run, and its warnings. The runs of a cell share the parts of the head that is read first.
    fn identified(&self, py: Python<'_>, name: &str) -> PyResult<Identified> {
        let (cell, seed) =
            self.with(py, name, |_, own| Ok((own.brief.of.cell.clone(), own.brief.seed)))?;
        let cells = || self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((shared, warnings)) = cells().get(&cell) {
            return Ok((shared.seeded(seed), Vec::new(), warnings.clone_ref(py)));
        }
        let head = self.with(py, name, Source::head)?;
        let head: Head = serde_json::from_slice(&head)
            .map_err(|error| PyValueError::new_err(format!("this is not a scenario: {error}")))?;
        let own = Scenario::new(head.scenario);
        let warnings = PyTuple::new(py, head.warnings)?.unbind();
        let Some(imported) = head.imported else {
            cells().insert(cell, (own.clone(), warnings.clone_ref(py)));
            return Ok((own, Vec::new(), warnings));
        };
        Ok((own, imported.measured, warnings))
    }

    /// The answers of a run; None if it was stored without.
    fn answers(&self, py: Python<'_>, name: &str) -> PyResult<Option<Answers>> {
        let view = self.segments.view(name);
        let view = view.ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        view.map(|own| own.map(|own| Answers { own })).map_err(|error| store_error(py, &error))
    }

    /// The facts of each queue in these runs together, as `Answers.queues` gives them; None if a run is not there or has no
    /// answers.
    fn queues(&self, py: Python<'_>, names: Vec<String>) -> PyResult<Option<Vec<QueueSum>>> {
        py.detach(|| self.segments.queues(&names)).map_err(|error| store_error(py, &error))
    }

    /// The values of metrics in these runs, each with where they were measured; None for a metric that the answers of one of
    /// the runs lack, or if a run is not there.
    fn values(
        &self,
        py: Python<'_>,
        names: Vec<String>,
        metrics: Vec<String>,
    ) -> PyResult<Option<Vec<Option<Column>>>> {
        let found = py
            .detach(|| self.segments.values(&names, &metrics))
            .map_err(|error| store_error(py, &error))?;
        let column = |own: Values| (own.values, own.windows);
        Ok(found.map(|found| found.into_iter().map(|own| own.map(column)).collect()))
    }

    /// A run with these tables, or with all.
    #[pyo3(signature = (name, scenario, engine, version, wanted=None))]
    fn run(
        &self,
        py: Python<'_>,
        name: &str,
        scenario: &Scenario,
        engine: String,
        version: String,
        wanted: Option<Vec<String>>,
    ) -> PyResult<Run> {
        let bytes = self.with(py, name, Source::tables)?;
        let admits =
            |table: &str| wanted.as_ref().is_none_or(|wanted| wanted.iter().any(|w| w == table));
        let tables = tables::decode(&bytes, &admits)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let engine = EngineId { name: engine, version, detail: String::new() };
        let scenario = scenario.resolved();
        Ok(Run::of(Results { scenario, engine, tables, unrecorded: Vec::new() }))
    }

    /// Appends a run that was made elsewhere: the bytes of `encoded`.
    fn append(&self, py: Python<'_>, encoded: &[u8]) -> PyResult<String> {
        let run = Stored::from_bytes(encoded)
            .ok_or_else(|| PyValueError::new_err("these bytes are no run"))?;
        py.detach(|| self.segments.append(&run)).map_err(|error| store_error(py, &error))?;
        Ok(run.name)
    }

    /// Takes over the runs of another folder that are not here; returns how many.
    fn take(&self, py: Python<'_>, other: &Self) -> PyResult<usize> {
        py.detach(|| self.segments.take(&other.segments)).map_err(|error| store_error(py, &error))
    }

    /// What is damaged, in words with the file; each with the run that it is in, if it is in one.
    fn verify(&self, py: Python<'_>) -> Vec<(Option<String>, String)> {
        py.detach(|| self.segments.verify())
    }

    /// Damage that was seen when the segments were opened: runs that it hides are not among the names.
    fn faults(&self) -> Vec<String> {
        self.segments.faults().iter().map(ToString::to_string).collect()
    }

    /// Raises the first of the faults, if there are some.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.segments.faults().first().map_or(Ok(()), |error| Err(store_error(py, error)))
    }

    /// Removes these runs from a folder, and with `broken` the segments that cannot be read; its lock is needed.
    #[staticmethod]
    #[pyo3(signature = (folder, names, *, broken=false))]
    fn remove(
        py: Python<'_>,
        folder: PathBuf,
        names: HashSet<String>,
        broken: bool,
    ) -> PyResult<()> {
        py.detach(|| Segments::remove(&folder, &|name| names.contains(name), broken))
            .map_err(|error| store_error(py, &error))
    }

    /// Hands to the disk what was appended.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.segments.sync()).map_err(|error| store_error(py, &error))
    }

    /// Closes the segment that is being written.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.segments.close()).map_err(|error| store_error(py, &error))
    }
}

/// The answers that a run was stored with.
#[pyclass(frozen, module = "sojourn._core")]
pub struct Answers {
    own: View,
}

#[pymethods]
impl Answers {
    /// The value of a metric and where it was measured; None if it is not among the answers.
    fn get(&self, metric: &str) -> Option<Measured> {
        self.own.get(metric)
    }

    /// The metrics that are answered.
    #[getter]
    fn metrics(&self) -> Vec<&str> {
        self.own.metrics().collect()
    }

    /// The default window, s.
    #[getter]
    fn window(&self) -> Option<(f64, f64)> {
        self.own.window()
    }

    /// Of each queue that packets came to: packets that came, were dropped or marked, left, waited, and the time that they
    /// spent there together, s.
    #[getter]
    fn queues(&self) -> Vec<(&str, [f64; 5])> {
        self.own.queues().collect()
    }

    /// The experiment's checks: name, what came out, whether it holds, where it looks.
    #[getter]
    fn checks(&self) -> PyResult<Vec<Checked>> {
        let checks = self.own.checks().ok_or_else(unfit)?.into_iter();
        Ok(checks.map(|own| (own.name, own.said, own.passed, own.windows)).collect())
    }

    /// The remarks, JSON.
    #[getter]
    fn remarks(&self) -> PyResult<String> {
        let remarks = self.own.remarks().ok_or_else(unfit)?;
        Ok(serde_json::to_string(&remarks).expect("texts and numbers"))
    }
}

fn unfit() -> PyErr {
    PyValueError::new_err("its answers are not as they are written")
}

/// How the tables of a fresh or imported run answer the usual questions.
#[pyfunction]
pub fn answers_of(py: Python<'_>, run: &Run) -> Answers {
    Answers { own: py.detach(|| View::of(&Own::of(run.results()))) }
}

/// A run in its stored form, for [`Store::append`]. An imported run has `imported`, JSON, and no answers.
#[pyfunction]
#[pyo3(signature = (run, version, *, command, warnings=Vec::new(), keep="all", imported=None, repetition=1, texts=BTreeMap::new()))]
#[allow(clippy::too_many_arguments, reason = "keywords, as Python has them")]
pub fn encode_run<'py>(
    py: Python<'py>,
    run: &Run,
    version: &str,
    command: String,
    warnings: Vec<String>,
    keep: &str,
    imported: Option<&str>,
    repetition: u32,
    texts: BTreeMap<String, String>,
) -> PyResult<Bound<'py, PyBytes>> {
    let keep = self::keep(keep)?;
    let imported = imported.map_or(Ok(serde_json::Value::Null), serde_json::from_str);
    let imported = imported.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let about = About { command, warnings, imported, keep, repetition, texts };
    let encoded = py.detach(|| {
        let answers = about.imported.is_null().then(|| Own::of(run.results()));
        sojourn_store::record::stored(run.results(), version, &about, answers.as_ref()).to_bytes()
    });
    Ok(PyBytes::new(py, &encoded.map_err(|error| PyValueError::new_err(error.to_string()))?))
}

/// How much to keep, by its word.
pub fn keep(word: &str) -> PyResult<Keep> {
    Keep::named(word).ok_or_else(|| PyValueError::new_err(format!("{word} is not a level of keep")))
}

/// The digests of a run and of its cell; `measured` are the keys of an imported run's scenario that are measurements.
#[pyfunction]
#[pyo3(signature = (scenario, engine, version, measured=Vec::new(), repetition=1))]
pub fn run_digests(
    scenario: &Scenario,
    engine: &str,
    version: &str,
    measured: Vec<String>,
    repetition: u32,
) -> (String, String) {
    let own = if measured.is_empty() {
        scenario.identity(engine, version, repetition)
    } else {
        identity::identity(&scenario.resolved(), engine, version, &measured, repetition)
    };
    (own.run, own.cell)
}

/// A run's name in its folder.
#[pyfunction]
pub fn run_name(label: &str, digest: &str) -> String {
    identity::name(label, digest)
}

/// How much of a run may be kept: words with what they mean.
#[pyfunction]
pub fn keeps() -> Vec<(&'static str, &'static str)> {
    Keep::EACH.iter().map(|own| (own.1, own.2)).collect()
}

/// The columns of the summary's tables, JSON: of a cell, of a flow, of a queue.
#[pyfunction]
pub fn summary_columns() -> String {
    serde_json::json!({"cell": CELL, "flow": FLOW, "queue": QUEUE}).to_string()
}

/// The version that a run is known by: the build, and what else the engine names.
pub fn full_version(version: &str, identity: &str) -> String {
    if identity.is_empty() { version.to_owned() } else { format!("{version}, {identity}") }
}

/// The tables of a dictionary as results of this scenario.
pub fn results(
    scenario: Arc<Resolved>,
    engine: String,
    version: String,
    tables: &Bound<'_, PyDict>,
) -> PyResult<Results> {
    let mut read = Vec::new();
    for (name, table) in tables {
        let name: String = name.extract()?;
        let schema = schema::Schema::named(&name)
            .ok_or_else(|| PyValueError::new_err(format!("there is no table {name}")))?;
        read.push(import(&table, schema)?);
    }
    let engine = EngineId { name: engine, version, detail: String::new() };
    Ok(Results { scenario, engine, tables: read, unrecorded: Vec::new() })
}
