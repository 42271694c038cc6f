//! Rust's errors as the exceptions of `sojourn.errors`, where the tree is stated.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_engine::RunError;
use sojourn_language::{Diagnostic, Diagnostics};
use sojourn_model::WordError;
use sojourn_store::SegmentError;
use std::io::ErrorKind;
use std::path::Path;

mod python {
    pyo3::import_exception!(sojourn.errors, ExperimentError);
    pyo3::import_exception!(sojourn.errors, Interrupted);
    pyo3::import_exception!(sojourn.errors, Refused);
    pyo3::import_exception!(sojourn.errors, RunError);
    pyo3::import_exception!(sojourn.errors, StoreError);
    pyo3::import_exception!(sojourn.errors, UsageError);
}

/// A segment that could not be read or written.
pub fn store_error(py: Python<'_>, error: &SegmentError) -> PyErr {
    let full = matches!(error, SegmentError::NotWritten { error, .. } if matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
    ));
    let folder = error.path().parent().and_then(Path::parent).unwrap_or_else(|| Path::new("DIR"));
    let prune = format!(
        "`sojourn store prune --damaged --yes {}` removes the damage; the command that made the runs then makes those \
         alone again",
        folder.display()
    );
    let (message, help) = if full {
        let message = format!("the disk is full: {} could not be written", error.path().display());
        (message, "finished runs are kept; make room and give the same command again to go on")
    } else if matches!(error, SegmentError::NotWritten { .. } | SegmentError::Io { .. }) {
        (error.to_string(), "")
    } else {
        (error.to_string(), prune.as_str())
    };
    let arguments = PyDict::new(py);
    let made = arguments
        .set_item("help", Some(help).filter(|help| !help.is_empty()))
        .and_then(|()| py.get_type::<python::StoreError>().call((message,), Some(&arguments)));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// What a failed run raises. `run` is its name.
pub fn run_error(py: Python<'_>, error: RunError, run: &str) -> PyErr {
    match error {
        RunError::Refused(_) => python::Refused::new_err(format!("{run} cannot be run: {error}")),
        RunError::Inconsistent(why) => {
            python::UsageError::new_err(format!("{run} does not hold together: {why}"))
        }
        RunError::Cancelled => python::Interrupted::new_err(format!("{run} was interrupted")),
        RunError::Failed(why) => python::RunError::new_err(format!("{run} failed: {why}")),
        RunError::Environment { why, help } => {
            environment_error(py, &format!("{run} failed: {why}"), &help)
        }
        RunError::Panicked(why) => {
            python::RunError::new_err(format!("{run} failed by a mistake in Sojourn: {why}"))
        }
    }
}

/// What raises where the machine stands against something: what happened, and what to do.
pub fn environment_error(py: Python<'_>, why: &str, help: &str) -> PyErr {
    let arguments = PyDict::new(py);
    let made = arguments
        .set_item("help", help)
        .and_then(|()| py.get_type::<python::RunError>().call((why,), Some(&arguments)));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// The exception for a failure that is no run's.
pub fn failed(_: Python<'_>, why: &str) -> PyErr {
    python::RunError::new_err(why.to_owned())
}

/// Everything that is wrong with an experiment: the first mistake, which carries the others.
pub fn experiment_error(py: Python<'_>, diagnostics: &Diagnostics) -> PyErr {
    let make = |diagnostic: &Diagnostic, also: Vec<Py<PyAny>>| {
        let arguments = PyDict::new(py);
        arguments.set_item("file", &diagnostic.file)?;
        arguments.set_item("line", diagnostic.line)?;
        arguments.set_item("column", diagnostic.column)?;
        // Bytes stand for characters here: the mark under a place may be a little long.
        arguments.set_item("width", diagnostic.span.len())?;
        arguments.set_item("source", &diagnostic.excerpt)?;
        arguments.set_item("help", &diagnostic.help)?;
        arguments.set_item("also", also)?;
        let class = py.get_type::<python::ExperimentError>();
        class.call((&diagnostic.message,), Some(&arguments))
    };
    let mut rest = diagnostics.iter();
    let first = rest.next();
    let others = rest.map(|d| make(d, Vec::new()).map(Bound::unbind)).collect::<PyResult<Vec<_>>>();
    let error = match first {
        Some(first) => others.and_then(|also| make(first, also)),
        None => Err(usage_error(py, "the experiment is wrong", None)),
    };
    error.map_or_else(|error| error, PyErr::from_value)
}

/// A wrong word in an expression.
pub fn word_error(py: Python<'_>, text: &str, error: &WordError) -> PyErr {
    let part = text.get(error.at.clone()).filter(|part| !part.is_empty());
    let place = part.map_or_else(String::new, |part| format!(" (at \"{part}\")"));
    let help = Some(error.help.as_str()).filter(|help| !help.is_empty());
    let text = if text.trim().is_empty() { "an empty text" } else { text };
    usage_error(py, &format!("{text}: {}{place}", error.message), help)
}

/// Something that the caller asked for and that is not there.
pub fn usage_error(py: Python<'_>, message: &str, help: Option<&str>) -> PyErr {
    let arguments = PyDict::new(py);
    let made = arguments
        .set_item("help", help)
        .and_then(|()| py.get_type::<python::UsageError>().call((message,), Some(&arguments)));
    made.map_or_else(|error| error, PyErr::from_value)
}
