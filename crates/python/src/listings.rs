//! Lists of disciplines and congestion controls, from the tables that the parsers and the engine read.

use crate::custom::Classes;
use crate::plugins::{sim_of_classes, sim_with};
use pyo3::prelude::*;
use serde_json::{Value, json};
use sojourn_results::schema;
use sojourn_sim::Sim;
use sojourn_stacks::{DEFAULT, Stack};
use sojourn_transport::cc::{CongestionControl, Registry};
use sojourn_transport::ecn::Request;
use sojourn_vocabulary::listing;
use std::path::PathBuf;

/// The hint for a key of a section (such as `[experiment]`) that only earlier versions had; None for any other.
#[pyfunction]
pub fn renamed_key(section: &str, name: &str) -> Option<String> {
    sojourn_language::renamed_key(section, name)
}

/// The hint for a table's name that only earlier versions had: the present name; None for any other.
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
    Ok(listing::disciplines(sim.qdiscs().disciplines().iter().copied()).to_string())
}

/// Every path element that words name, as JSON, as [`qdiscs`] has its own.
#[pyfunction]
pub fn elements() -> String {
    listing::disciplines(Sim::new().elements().infos()).to_string()
}

/// Every link that words name, as JSON, as [`qdiscs`] has its own.
#[pyfunction]
pub fn links() -> String {
    listing::disciplines(Sim::new().elements().link_infos()).to_string()
}

/// Every application that words name, as JSON, as [`qdiscs`] has its own.
#[pyfunction]
pub fn apps() -> String {
    listing::disciplines(Sim::new().apps().infos()).to_string()
}

/// Every congestion control as JSON: name, summary, source and the numbers that it reports.
/// With those of the plugins at these paths, and with these classes of Python files.
#[pyfunction]
#[pyo3(signature = (*, plugins=Vec::new(), classes=Vec::new()))]
pub fn ccs(py: Python<'_>, plugins: Vec<PathBuf>, classes: Vec<String>) -> PyResult<String> {
    let sim = sim_of_classes(py, &sim_with(py, &plugins)?, &classes, Classes::control)?;
    Ok(listing::controls(sim.controls().infos()).to_string())
}

/// Every implementation of QUIC and TCP by other authors as JSON: name, the key of a flow that has its settings, package
/// and version, whether it is built in, its congestion controls, what it does not have.
#[pyfunction]
pub fn implementations() -> String {
    let listed = sojourn_quic::STACKS.iter().map(|stack| {
        json!({
            "name": stack.name,
            "key": stack.key(),
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
    listing::stacks().to_string()
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

/// A part of the reference in Markdown: the language's `keys`, the `metrics`, the result `tables` or what congestion
/// `controls` ask of ECN. None for any other name.
#[pyfunction]
pub fn reference(part: &str) -> Option<String> {
    match part {
        "keys" => Some(sojourn_language::reference()),
        "metrics" => Some(sojourn_results::metrics::reference()),
        "tables" => {
            let tables: Vec<String> = schema::ALL.iter().map(|table| table.markdown()).collect();
            Some(tables.join("\n"))
        }
        "controls" => Some(controls()),
        _ => None,
    }
}

/// Every congestion control with its source and its use of ECN on the default stack.
fn controls() -> String {
    let mut text = String::from(
        "| control | what | source | negotiates | codepoint of data | also ECN-capable | the receiver echoes |\n\
         |---|---|---|---|---|---|---|\n",
    );
    let Some(stack) = Stack::named(DEFAULT) else { return text };
    let registry = Registry::built_in();
    for info in registry.infos() {
        let Ok(control) = registry.build(info.name, &stack.tcp) else { continue };
        let needs = control.ecn();
        let asks = match needs.request {
            Request::Off => "as the stack",
            Request::Rfc3168 => "RFC 3168",
            Request::AccEcn => "AccECN",
        };
        let also = match (needs.on_all, needs.on_syn) {
            (false, false) => "with AccECN: ACKs, retransmissions",
            (true, false) => "ACKs, retransmissions",
            (_, true) => "SYN, ACKs, retransmissions",
        };
        let echoes = match (needs.exact_echo, needs.echo_sce) {
            (true, _) => "each mark (RFC 8257 §3.2)",
            (_, true) => "CE, and SCE by ESCE",
            _ => "as negotiated",
        };
        let (name, what, source) = (info.name, info.summary, info.source);
        let page = format!("[`{name}`](reference/controls/{name}.md)");
        let codepoint = needs.codepoint.to_string();
        let cells = [&page, what, source, asks, &codepoint, also, echoes];
        text += "| ";
        text += &cells.join(" | ");
        text += " |\n";
    }
    text
}

/// The C header of plugins.
#[pyfunction]
pub fn plugin_header() -> &'static str {
    sojourn_plugin::HEADER
}
