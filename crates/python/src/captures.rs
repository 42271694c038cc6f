//! Captures of a run as one annotated file.

use crate::scenario::Scenario;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::path::PathBuf;

/// Writes the captures in a run's folder as one pcapng file; whether there were any. Flow n sends from port `senders` + n.
#[pyfunction]
pub fn annotate_captures(
    py: Python<'_>,
    folder: PathBuf,
    scenario: &Scenario,
    senders: u16,
    to: PathBuf,
    about: String,
) -> PyResult<bool> {
    let resolved = scenario.resolved();
    let captures = sojourn_capture::Captures { folder: &folder, scenario: &resolved, senders };
    py.detach(|| captures.annotate(&to, &about)).map_err(|e| PyOSError::new_err(e.to_string()))
}
