//! The engines there are.

use crate::errors::usage_error;
use pyo3::prelude::*;
use sojourn_engine::{Engine, Registry, UnknownEngine};
use sojourn_sim::Sim;

/// The package's version and the digest of an engine's sources, which `build.rs` takes.
macro_rules! version {
    ($sources:literal) => {
        concat!(env!("CARGO_PKG_VERSION"), "+", env!($sources))
    };
}

/// Every engine of the package, a line each: its file in `engines`, which adds it to a registry.
macro_rules! engines {
    ($take:ident) => {
        $take! {
            sim;
            linux;
        }
    };
}

macro_rules! modules {
    ($($file:ident;)*) => {
        $(mod $file;)*

        /// All of them. The simulator is this one, with what was added to it.
        fn registry(sim: &Sim) -> Registry {
            let mut engines = Registry::new();
            $($file::add(&mut engines, sim);)*
            engines
        }
    };
}

engines!(modules);

/// The engine of this name.
pub fn engine(py: Python<'_>, name: &str) -> PyResult<Box<dyn Engine>> {
    engine_with(py, name, Sim::new())
}

/// The engine of this name; if it is the simulator, this one.
pub fn engine_with(py: Python<'_>, name: &str, sim: Sim) -> PyResult<Box<dyn Engine>> {
    registry(&sim).engine(name).map_err(|error| unknown(py, &error))
}

/// The names of the engines.
#[pyfunction]
pub fn engines() -> Vec<String> {
    registry(&Sim::new()).names().map(str::to_owned).collect()
}

/// Sojourn's version: the package's, and a digest of the sources that decide what comes out of a run on this engine.
#[pyfunction]
#[pyo3(signature = (engine = "sim"))]
pub fn version(py: Python<'_>, engine: &str) -> PyResult<String> {
    registry(&Sim::new()).version(engine).map(str::to_owned).map_err(|error| unknown(py, &error))
}

fn unknown(py: Python<'_>, error: &UnknownEngine) -> PyErr {
    usage_error(py, &error.to_string(), Some(&error.help))
}
