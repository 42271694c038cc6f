//! Rust's errors as the exceptions of `sojourn.errors`, where the tree is stated.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_scenario::engine::RunError;

mod python {
    pyo3::import_exception!(sojourn.errors, Interrupted);
    pyo3::import_exception!(sojourn.errors, Refused);
    pyo3::import_exception!(sojourn.errors, RunError);
    pyo3::import_exception!(sojourn.errors, UsageError);
}

/// What a failed run raises. `run` is its name.
pub fn run_error(error: RunError, run: &str) -> PyErr {
    match error {
        RunError::Refused(_) => python::Refused::new_err(format!("{run} cannot be run: {error}")),
        RunError::Inconsistent(why) => {
            python::UsageError::new_err(format!("{run} does not hold together: {why}"))
        }
        RunError::Cancelled => python::Interrupted::new_err(format!("{run} was interrupted")),
        RunError::Failed(why) => python::RunError::new_err(format!("{run} failed: {why}")),
        RunError::Panicked(why) => {
            python::RunError::new_err(format!("{run} failed by a mistake in Sojourn: {why}"))
        }
    }
}

/// Something that the caller asked for and that is not there.
pub fn usage_error(py: Python<'_>, message: &str, help: Option<&str>) -> PyErr {
    let arguments = PyDict::new(py);
    let made = arguments
        .set_item("help", help)
        .and_then(|()| py.get_type::<python::UsageError>().call((message,), Some(&arguments)));
    made.map_or_else(|error| error, PyErr::from_value)
}
