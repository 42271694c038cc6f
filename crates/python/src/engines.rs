//! The engines there are.

use crate::errors::usage_error;
use pyo3::prelude::*;
use sojourn_engine::Engine;

/// The engine of this name.
pub fn engine(py: Python<'_>, name: &str) -> PyResult<Box<dyn Engine>> {
    match name {
        "sim" => Ok(Box::new(sojourn_sim::Sim)),
        "linux" => Ok(Box::new(sojourn_linux::Linux::new())),
        _ => {
            let help = Some("there are sim and linux");
            Err(usage_error(py, &format!("there is no engine \"{name}\""), help))
        }
    }
}
