//! Quantities in tc's spelling, as numbers.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A rate such as `50mbit`, in bits per second.
#[pyfunction]
pub fn parse_rate(text: &str) -> PyResult<u64> {
    let rate = sojourn_units::parse_rate(text).map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(rate.bits_per_sec())
}

/// A time such as `20ms`, in seconds.
#[pyfunction]
pub fn parse_span(text: &str) -> PyResult<f64> {
    let span = sojourn_units::parse_span(text).map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(span.as_secs_f64())
}
