//! One run, resolved, as Python carries it from the language to an engine: parsed once, however often it is asked about.

use crate::json::to_json;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyType;
use sojourn_model::Scenario as Resolved;
use std::sync::Arc;

/// A resolved scenario. It is pickled and compared by what it says.
#[pyclass(frozen, eq, module = "sojourn._core")]
#[derive(Clone, PartialEq)]
pub struct Scenario(Arc<Resolved>);

impl Scenario {
    /// What Python shall carry.
    pub fn new(scenario: Resolved) -> Self {
        Self(Arc::new(scenario))
    }

    /// One that a run shares.
    pub const fn shared(scenario: Arc<Resolved>) -> Self {
        Self(scenario)
    }

    /// What it carries.
    pub const fn resolved(&self) -> &Arc<Resolved> {
        &self.0
    }
}

#[pymethods]
impl Scenario {
    /// From its JSON.
    #[new]
    fn parse(json: &str) -> PyResult<Self> {
        serde_json::from_str(json)
            .map(Self::new)
            .map_err(|e| PyValueError::new_err(format!("this is not a scenario: {e}")))
    }

    /// The whole of it, as JSON.
    #[getter]
    fn json(&self) -> String {
        to_json(&*self.0)
    }

    /// What people call the run: `s1[fq_codel,20ms]#3`.
    #[getter]
    fn label(&self) -> String {
        self.0.id()
    }

    /// The seed.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed
    }

    /// How long is simulated, warmup included, s.
    #[getter]
    fn length(&self) -> f64 {
        self.0.length().as_secs_f64()
    }

    /// The same with another seed.
    fn with_seed(&self, seed: u64) -> Self {
        Self::new(Resolved { seed, ..(*self.0).clone() })
    }

    /// Raises ValueError if it does not hold together.
    fn check(&self) -> PyResult<()> {
        self.0.check().map_err(|e| PyValueError::new_err(e.to_string()))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (String,)) {
        (slf.py().get_type::<Self>(), (slf.get().json(),))
    }

    fn __repr__(&self) -> String {
        format!("<Scenario {}>", self.0.id())
    }
}
