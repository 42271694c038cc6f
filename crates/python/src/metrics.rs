//! The subjects of metrics: units, names and places, for labels of axes.

use crate::errors::word_error;
use pyo3::prelude::*;
use serde_json::{Value, json};
use sojourn_results::metrics::functions::{FUNCTIONS, Gives};
use sojourn_results::metrics::{Expression, QUANTITIES, QuantityTable};

/// A metric's name, the quantity that it is given, the percentage or level (NaN if none), and the names in it.
pub type Single = (&'static str, Option<String>, f64, Vec<String>);

/// The unit of an expression's value (empty for plain numbers), and its subject if it is a single metric.
#[pyfunction]
pub fn about(py: Python<'_>, expression: &str) -> PyResult<(&'static str, Option<Single>)> {
    let parsed = Expression::parse(expression).map_err(|e| word_error(py, expression, &e))?;
    let about = parsed.about();
    let single = about.single.map(|one| (one.function, one.quantity, one.number, one.names));
    Ok((about.unit.symbol(), single))
}

/// Every metric with its unit and label, and every quantity with its unit, label and the place of its values, as JSON.
#[pyfunction]
pub fn metrics() -> String {
    let functions = FUNCTIONS.iter().map(|function| {
        let unit = match function.gives {
            Gives::Unit(unit) => Value::from(unit.symbol()),
            Gives::Quantity => Value::Null,
        };
        json!({
            "name": function.name, "unit": unit, "looks": function.looks.word(), "label": function.label,
            "read": function.read.word(), "up_to_all": function.up_to_all,
            "of_single_values": function.of_single_values,
        })
    });
    let quantities = QUANTITIES.iter().map(|quantity| {
        let (table, column) = place(quantity.table);
        json!({
            "name": quantity.name, "label": quantity.label, "unit": quantity.unit.symbol(), "doc": quantity.doc,
            "table": table, "column": column,
        })
    });
    let (functions, quantities): (Value, Value) = (functions.collect(), quantities.collect());
    json!({"functions": functions, "quantities": quantities}).to_string()
}

/// The table that has a quantity's values, and their column there; of a histogram the name that it has there; nothing
/// for what is computed from other columns.
const fn place(table: QuantityTable) -> (&'static str, &'static str) {
    match table {
        QuantityTable::Flows(column) => ("flows", column),
        QuantityTable::Queues(column) => ("queues", column),
        QuantityTable::QueueHistogram(name) | QuantityTable::FlowHistogram(name) => {
            ("histograms", name)
        }
        QuantityTable::Completions(column) => ("completions", column),
        QuantityTable::Probes(column) => ("pings", column),
        QuantityTable::Segments(column) => ("segments", column),
        QuantityTable::DelayVariation | QuantityTable::Variation(_) => ("", ""),
    }
}
