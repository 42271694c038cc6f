//! Published values compared with ours.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sojourn_results::estimators;
use sojourn_results::metrics::{self, Agreement, Noise};

/// A published value compared with those of our seeds, as JSON: published, ours (the median), low and high (our
/// central 95 %), noise, agrees, bias, relative_error.
#[pyfunction]
pub fn agreement(published: f64, noise: f64, ours: Vec<f64>) -> PyResult<String> {
    metrics::agreement(published, Noise::Absolute(noise), &ours)
        .map(|agreement| crate::json::to_json(&agreement))
        .ok_or_else(|| PyValueError::new_err("there is nothing to compare"))
}

/// Harm (Ware et al., HotNets 2019) that rivals do to something: its value alone, next to them, and whether `less` or `more`
/// of it is better.
#[pyfunction]
#[pyo3(signature = (alone, shared, *, better))]
pub fn harm(alone: f64, shared: f64, better: &str) -> PyResult<f64> {
    match better {
        "less" => Ok(estimators::harm_less_is_better(alone, shared)),
        "more" => Ok(estimators::harm_more_is_better(alone, shared)),
        _ => Err(PyValueError::new_err(format!("\"{better}\" is neither less nor more"))),
    }
}

/// Agreements summed up by group, as JSON; each is a group, whether it agrees, and its bias.
#[pyfunction]
pub fn summarise(rows: Vec<(String, bool, f64)>) -> String {
    let rows: Vec<(String, Agreement)> = rows
        .into_iter()
        .map(|(group, agrees, bias)| {
            let nothing = f64::NAN;
            let agreement = Agreement {
                published: nothing,
                ours: nothing,
                low: nothing,
                high: nothing,
                noise: nothing,
                agrees,
                bias,
                relative_error: None,
            };
            (group, agreement)
        })
        .collect();
    let groups = metrics::summarise(rows.iter().map(|(group, row)| (group.as_str(), row)));
    crate::json::to_json(&groups)
}
