//! One run, resolved, as Python carries it from the language to an engine.
//!
//! The runs of a cell differ only in their seed. They share one parsed scenario and one Python mapping of it, so that a hundred
//! thousand keys take a few megabytes; a scenario of its own exists only while an engine runs it.

use crate::json::to_json;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};
use sojourn_model::Scenario as Resolved;
use sojourn_store::{CellText, Identity};
use std::sync::{Arc, OnceLock};

/// What the runs of a cell share.
struct Cell {
    /// With the seed of one of them.
    resolved: Arc<Resolved>,
    /// What identifies its runs.
    text: OnceLock<CellText>,
    /// The same as a mapping that nobody changes.
    mapping: PyOnceLock<Py<PyDict>>,
}

/// A resolved scenario. It is pickled and compared by what it says.
#[pyclass(frozen, eq, from_py_object, module = "sojourn._core")]
#[derive(Clone)]
pub struct Scenario {
    cell: Arc<Cell>,
    seed: u64,
}

impl PartialEq for Scenario {
    fn eq(&self, other: &Self) -> bool {
        self.seed == other.seed
            && (Arc::ptr_eq(&self.cell, &other.cell) || self.resolved() == other.resolved())
    }
}

impl From<Scenario> for Arc<Resolved> {
    fn from(scenario: Scenario) -> Self {
        scenario.resolved()
    }
}

impl Scenario {
    /// A scenario of its own cell.
    pub fn new(scenario: impl Into<Arc<Resolved>>) -> Self {
        let resolved = scenario.into();
        let seed = resolved.seed;
        Self {
            cell: Arc::new(Cell { resolved, text: OnceLock::new(), mapping: PyOnceLock::new() }),
            seed,
        }
    }

    /// The run of the same cell with this seed.
    pub fn seeded(&self, seed: u64) -> Self {
        Self { cell: Arc::clone(&self.cell), seed }
    }

    /// The scenario of the run.
    pub fn resolved(&self) -> Arc<Resolved> {
        let shared = &self.cell.resolved;
        if shared.seed == self.seed {
            return Arc::clone(shared);
        }
        Arc::new(Resolved { seed: self.seed, ..(**shared).clone() })
    }

    /// The scenario of the cell: that of the run but for the seed.
    pub fn of_cell(&self) -> &Resolved {
        &self.cell.resolved
    }

    /// One scenario for each cell among these, in their order.
    pub fn cells(scenarios: &[Self]) -> Vec<&Resolved> {
        Self::by_cell(scenarios).map(|own| own[0].of_cell()).collect()
    }

    /// These scenarios, those that follow each other and share a cell together.
    pub fn by_cell(scenarios: &[Self]) -> impl Iterator<Item = &[Self]> {
        scenarios.chunk_by(Self::is_seed_of)
    }

    /// What identifies the run on an engine of this version.
    pub fn identity(&self, engine: &str, version: &str, repetition: u32) -> Identity {
        let text = self.cell.text.get_or_init(|| CellText::of(&self.cell.resolved));
        text.identity(self.seed, engine, version, repetition)
    }

    /// Whether both share a cell.
    fn is_seed_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.cell, &other.cell)
    }
}

#[pymethods]
impl Scenario {
    /// From its JSON.
    #[new]
    fn parse(json: &str) -> PyResult<Self> {
        serde_json::from_str::<Resolved>(json)
            .map(Self::new)
            .map_err(|e| PyValueError::new_err(format!("this is not a scenario: {e}")))
    }

    /// The whole of it, as JSON.
    #[getter]
    fn json(&self) -> String {
        to_json(&*self.resolved())
    }

    /// The whole of it as a mapping; all but the outermost is shared with other seeds, so nobody may change it.
    #[getter]
    fn mapping<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let shared = self.cell.mapping.get_or_try_init(py, || {
            let loads = py.import("json")?.getattr("loads")?;
            let parsed = loads.call1((to_json(&*self.cell.resolved),))?;
            Ok::<_, PyErr>(parsed.cast_into::<PyDict>()?.unbind())
        })?;
        let own = shared.bind(py).copy()?;
        own.set_item("seed", self.seed)?;
        Ok(own)
    }

    /// What people call the run: `s1[fq_codel,20ms]#3`.
    #[getter]
    pub fn label(&self) -> String {
        self.cell.resolved.label(self.seed)
    }

    /// The seed.
    #[getter]
    const fn seed(&self) -> u64 {
        self.seed
    }

    /// How long is simulated, warmup included, s.
    #[getter]
    fn length(&self) -> f64 {
        self.cell.resolved.length().as_secs_f64()
    }

    /// The same with another seed.
    fn with_seed(&self, seed: u64) -> Self {
        self.seeded(seed)
    }

    /// Whether both are known to differ in nothing but the seed: they were made from one scenario.
    fn shares_cell(&self, other: &Self) -> bool {
        self.is_seed_of(other)
    }

    /// Raises ValueError if it does not hold together.
    fn check(&self) -> PyResult<()> {
        self.cell.resolved.check().map_err(|e| PyValueError::new_err(e.to_string()))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (String,)) {
        (slf.py().get_type::<Self>(), (slf.get().json(),))
    }

    fn __repr__(&self) -> String {
        format!("<Scenario {}>", self.label())
    }
}
