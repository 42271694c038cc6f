//! The engines there are.

use crate::errors::{failed, usage_error};
use core::num::NonZero;
use pyo3::prelude::*;
use sojourn_engine::{Engine, Registry, UnknownEngine};
use sojourn_linux::{Linux, NAME as LINUX};
use sojourn_sim::Sim;
use std::path::PathBuf;

/// The package's version and the digest of an engine's sources, which `build.rs` takes.
macro_rules! version {
    ($sources:literal) => {
        concat!(env!("CARGO_PKG_VERSION"), "+", env!($sources))
    };
}

mod linux;
mod live;
mod sim;

pub use live::{Qdiscs, helper as live_helper_command};

/// All of them. The simulator is this one, with what was added to it; the live engine has these queue disciplines.
fn registry(sim: &Sim, live: &Qdiscs) -> Registry {
    let mut engines = Registry::new();
    sim::add(&mut engines, sim);
    linux::add(&mut engines, sim);
    live::add(&mut engines, live);
    engines
}

/// The engine of this name.
pub fn engine(py: Python<'_>, name: &str) -> PyResult<Box<dyn Engine>> {
    engine_with(py, name, Sim::new(), &Qdiscs::built_in())
}

/// The engine of this name; the simulator is this one, the live engine has these queue disciplines. `linux:NAME` is Linux on the kernel of this name.
pub fn engine_with(
    py: Python<'_>,
    name: &str,
    sim: Sim,
    live: &Qdiscs,
) -> PyResult<Box<dyn Engine>> {
    match parts(name) {
        (LINUX, Some(kernel)) => Ok(Box::new(linux::Foreseeing::new(linux_on(py, kernel)?, &sim))),
        (plain, None) => registry(&sim, live).engine(plain).map_err(|error| unknown(py, &error)),
        (other, Some(_)) => {
            registry(&sim, live).engine(other).map_err(|error| unknown(py, &error))?;
            let why = format!("the engine {other} has no kernels to choose from");
            Err(usage_error(py, &why, Some("write linux:NAME")))
        }
    }
}

/// An engine's name, and the kernel that is named behind a colon.
fn parts(name: &str) -> (&str, Option<&str>) {
    name.split_once(':').map_or((name, None), |(engine, kernel)| (engine, Some(kernel)))
}

/// Linux as this engine's name has it, if it is that.
pub fn linux(py: Python<'_>, name: &str) -> PyResult<Option<Linux>> {
    match parts(name) {
        (LINUX, Some(kernel)) => linux_on(py, kernel).map(Some),
        (LINUX, None) => Ok(Some(Linux::new())),
        _ => Ok(None),
    }
}

fn linux_on(py: Python<'_>, kernel: &str) -> PyResult<Linux> {
    Linux::new().on(kernel).map_err(|error| {
        let why = format!("there is no kernel \"{}\"", error.word);
        usage_error(py, &why, Some(&error.help))
    })
}

/// What a kernel says that it has, as JSON: it is booted, which takes a second. `cache` is the Linux engine's folder.
#[pyfunction]
pub fn ask_kernel(py: Python<'_>, kernel: PathBuf, cache: PathBuf) -> PyResult<String> {
    let answer = py.detach(|| sojourn_linux::probe::ask(&cache, &kernel));
    let answer = answer.map_err(|why| failed(py, &why))?;
    Ok(serde_json::json!(answer).to_string())
}

/// Which kernel of the Linux engine's folder each stack runs on where none is named: stacks with the ids of kernels.
#[pyfunction]
pub fn standing_kernels(cache: PathBuf) -> Vec<(&'static str, String)> {
    let kernels = sojourn_linux::cache::kernels(&cache);
    let stacks = sojourn_stacks::STACKS.iter().map(|stack| stack.name);
    let stand = |name| Some((name, sojourn_linux::cache::standing_for(&kernels, name)?.id()));
    stacks.filter_map(stand).collect()
}

/// The names of the engines.
#[pyfunction]
pub fn engines() -> Vec<String> {
    registry(&Sim::new(), &Qdiscs::built_in()).names().map(str::to_owned).collect()
}

/// Facts about an engine ([`sojourn_engine::Facts`]).
#[pyclass(frozen, get_all, module = "sojourn._core")]
pub struct Facts {
    title: &'static str,
    clock: &'static str,
    deterministic: bool,
    at_once: Option<usize>,
    kernels: bool,
    sender_port: u16,
}

/// What the engine of this name is; a kernel behind a colon does not matter.
#[pyfunction]
pub fn facts(py: Python<'_>, engine: &str) -> PyResult<Facts> {
    let found = registry(&Sim::new(), &Qdiscs::built_in())
        .facts(parts(engine).0)
        .map_err(|error| unknown(py, &error))?;
    Ok(Facts {
        title: found.title,
        clock: found.clock.name(),
        deterministic: found.deterministic,
        at_once: found.at_once.map(NonZero::get),
        kernels: found.kernels,
        sender_port: found.sender_port,
    })
}

/// Sojourn's version: the package's, and a digest of the sources that decide what comes out of a run on this engine.
#[pyfunction]
#[pyo3(signature = (engine = "sim"))]
pub fn version(py: Python<'_>, engine: &str) -> PyResult<String> {
    let (engine, _) = parts(engine);
    registry(&Sim::new(), &Qdiscs::built_in())
        .version(engine)
        .map(str::to_owned)
        .map_err(|error| unknown(py, &error))
}

/// The sources that the digest in this engine's version covers: files, relative to the extension's crate, and crates of others
/// with version and checksum.
#[pyfunction]
#[pyo3(signature = (engine = "sim"))]
pub fn sources(py: Python<'_>, engine: &str) -> PyResult<Vec<&'static str>> {
    let list = match parts(engine).0 {
        LINUX => include_str!(concat!(env!("OUT_DIR"), "/LINUX_SOURCES")),
        sojourn_live::NAME => include_str!(concat!(env!("OUT_DIR"), "/LIVE_SOURCES")),
        _ => include_str!(concat!(env!("OUT_DIR"), "/SIM_SOURCES")),
    };
    version(py, engine)?;
    Ok(list.lines().collect())
}

fn unknown(py: Python<'_>, error: &UnknownEngine) -> PyErr {
    usage_error(py, &error.to_string(), Some(&error.help))
}
