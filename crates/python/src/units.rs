//! Quantities in tc's spelling, as numbers.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sojourn_qdisc::QdiscQuirks;
use sojourn_qdisc::netem::Parameters;

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

/// The settings of a netem.
#[pyclass(frozen, get_all, module = "sojourn._core")]
pub struct Netem {
    /// The constant part of its delay, as tc writes it.
    delay: String,
    /// The same, s.
    delay_s: f64,
    /// Whether it does more than delay every packet by this.
    varies: bool,
    /// The packets held at most.
    limit: u32,
}

/// A netem from tc's words behind its name.
#[pyfunction]
pub fn netem(words: &str) -> PyResult<Netem> {
    let netem = Parameters::parse(words, &QdiscQuirks::default())
        .map_err(|e| PyValueError::new_err(e.to_string()))?;
    let delay = netem.delay();
    Ok(Netem {
        delay: delay.to_string(),
        delay_s: delay.as_secs_f64(),
        varies: netem.varies(),
        limit: netem.limit(),
    })
}
