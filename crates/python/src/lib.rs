//! The extension module `sojourn._core`: what Python sees of the Rust rooms. No logic lives here.

mod arrow;
mod engines;
mod errors;
mod listings;
mod run;
mod units;

use pyo3::prelude::*;

/// Rust's half of the package `sojourn`; use that.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::arrow::Table;
    #[pymodule_export]
    use super::listings::{ccs, qdiscs, stacks};
    #[pymodule_export]
    use super::run::{Run, check, refusals, run_many};
    #[pymodule_export]
    use super::units::{parse_rate, parse_span};
    #[pymodule_export]
    use super::version;
}

/// Sojourn's version: the package's, and a digest of the sources that decide what comes out of a run.
#[pyfunction]
const fn version() -> &'static str {
    concat!(env!("CARGO_PKG_VERSION"), "+", env!("SOJOURN_SOURCES"))
}
