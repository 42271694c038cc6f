//! The extension module `sojourn._core`: what Python sees of the Rust rooms. No logic lives here.

mod arrow;

use pyo3::prelude::*;

/// Rust's half of the package `sojourn`; use that.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::arrow::Table;
    #[pymodule_export]
    use super::version;
}

/// Sojourn's version.
#[pyfunction]
const fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
