//! What there is: disciplines and congestion controls, from the tables that the parsers and the engine read.

use crate::custom::Classes;
use crate::plugins::{sim_of_classes, sim_with};
use pyo3::prelude::*;
use serde_json::{Value, json};
use sojourn_qdisc::table::{DefaultValue, OptionSpec, Unit};
use sojourn_qdisc::{Discipline, QdiscQuirks};
use sojourn_results::schema;
use sojourn_sim::Sim;
use sojourn_stacks::STACKS;
use std::path::PathBuf;

/// What is to be said of a key of a section (such as `[experiment]`) that only earlier versions had; None of any other.
#[pyfunction]
pub fn renamed_key(section: &str, name: &str) -> Option<String> {
    sojourn_language::renamed_key(section, name)
}

/// What is to be said of a table's name that only earlier versions had: what it is called now; None of any other.
#[pyfunction]
pub fn renamed_table(name: &str) -> Option<String> {
    schema::renamed_table(name)
}

/// The same of a column of a table.
#[pyfunction]
pub fn renamed_column(table: &str, name: &str) -> Option<String> {
    schema::renamed_column(table, name)
}

/// Every queue discipline as JSON: name, summary, source, options with their defaults by stack, statistics and
/// the controller's own numbers.
/// With those of the plugins at these paths, and with these classes of Python files.
#[pyfunction]
#[pyo3(signature = (*, plugins=Vec::new(), classes=Vec::new()))]
pub fn qdiscs(py: Python<'_>, plugins: Vec<PathBuf>, classes: Vec<String>) -> PyResult<String> {
    let sim = sim_of_classes(py, &sim_with(py, &plugins)?, &classes, Classes::aqm)?;
    Ok(tables(sim.qdiscs().disciplines().iter().copied()))
}

/// Every path element that words name, as JSON, as [`qdiscs`] has its own.
#[pyfunction]
pub fn elements() -> String {
    tables(Sim::new().elements().infos())
}

/// Every application that words name, as JSON, as [`qdiscs`] has its own.
#[pyfunction]
pub fn apps() -> String {
    tables(Sim::new().apps().infos())
}

/// Tables as JSON: name, summary, source, options, statistics.
fn tables(infos: impl Iterator<Item = &'static Discipline>) -> String {
    let listed = infos.map(|info| {
        json!({
            "name": info.name,
            "summary": info.summary,
            "source": info.source,
            "classful": info.classful,
            "options": info.options.iter().map(option).collect::<Vec<_>>(),
            "counters": info.counters.iter().map(|c| json!({
                "name": c.name, "unit": unit(c.unit), "doc": c.doc,
            })).collect::<Vec<_>>(),
            "gauges": info.gauges.iter().map(|g| json!({
                "name": g.name, "unit": unit(g.unit), "doc": g.doc,
            })).collect::<Vec<_>>(),
        })
    });
    listed.collect::<Value>().to_string()
}

fn option(option: &OptionSpec) -> Value {
    let values: Vec<_> = option
        .values
        .iter()
        .map(|v| json!({ "name": v.name, "kind": v.kind.expected(), "optional": v.optional }))
        .collect();
    let known = QdiscQuirks::ALL.iter().filter(|p| option.is_known(p));
    let defaults: serde_json::Map<_, _> =
        known.map(|p| (p.name.to_owned(), json!(option.preset.words(p)))).collect();
    let unset = match option.preset {
        DefaultValue::Unset(meaning) => Some(meaning),
        DefaultValue::Required => Some("must be given"),
        DefaultValue::Is(_) | DefaultValue::Per(_) => None,
    };
    json!({
        "name": option.name,
        "aliases": option.aliases,
        "off": option.off,
        "values": values,
        "defaults": defaults,
        "unset": unset,
        "doc": option.doc,
        "fixed": option.fixed,
    })
}

const fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Count => "",
        Unit::Bytes => "bytes",
        Unit::Seconds => "s",
        Unit::Probability => "probability",
        Unit::BytesPerSecond => "bytes/s",
        Unit::Ticks => "64 ns",
        Unit::Flag => "0 or 1",
    }
}

/// Every congestion control as JSON: name, summary, source and the numbers that it reports.
/// With those of the plugins at these paths, and with these classes of Python files.
#[pyfunction]
#[pyo3(signature = (*, plugins=Vec::new(), classes=Vec::new()))]
pub fn ccs(py: Python<'_>, plugins: Vec<PathBuf>, classes: Vec<String>) -> PyResult<String> {
    let sim = sim_of_classes(py, &sim_with(py, &plugins)?, &classes, Classes::control)?;
    let listed = sim.controls().infos().map(|control| {
        json!({
            "name": control.name,
            "summary": control.summary,
            "source": control.source,
            "gauges": control.gauges.iter().map(|(name, unit, doc)| json!({
                "name": name, "unit": unit, "doc": doc,
            })).collect::<Vec<_>>(),
        })
    });
    Ok(listed.collect::<Value>().to_string())
}

/// Every QUIC implementation as JSON: name, package and version, whether it is built in, its congestion controls, what it
/// does not have.
#[pyfunction]
pub fn quic_stacks() -> String {
    let listed = sojourn_quic::STACKS.iter().map(|stack| {
        json!({
            "name": stack.name,
            "package": stack.package,
            "version": stack.version,
            "built_in": sojourn_quic::BUILT_IN,
            "controls": stack.controls.iter().map(|control| json!({
                "name": control.name, "summary": control.says,
                "gauges": control.gauges.iter().map(|(name, unit, doc)| json!({
                    "name": name, "unit": unit, "doc": doc,
                })).collect::<Vec<_>>(),
            })).collect::<Vec<_>>(),
            "lacks": stack.lacks.iter().map(|(setting, why)| json!({
                "setting": setting, "why": why,
            })).collect::<Vec<_>>(),
        })
    });
    listed.collect::<Value>().to_string()
}

/// Every stack as JSON: name, summary, source and its switches.
#[pyfunction]
pub fn stacks() -> String {
    let listed = STACKS.iter().map(|stack| {
        json!({
            "name": stack.name,
            "summary": stack.summary,
            "source": stack.source,
            "switches": stack.table().iter().map(|row| json!({
                "name": row.name, "value": row.value, "doc": row.doc,
            })).collect::<Vec<_>>(),
        })
    });
    listed.collect::<Value>().to_string()
}

/// The columns of every result table, as JSON: pairs of name and type in order.
#[pyfunction]
pub fn columns() -> String {
    let tables = schema::ALL.iter().map(|table| {
        let columns = table.columns.iter().map(|c| json!([c.name, c.ty.to_string()]));
        (table.name.to_owned(), columns.collect::<Value>())
    });
    tables.collect::<Value>().to_string()
}

/// The C header of plugins.
#[pyfunction]
pub fn plugin_header() -> &'static str {
    sojourn_plugin::HEADER
}
