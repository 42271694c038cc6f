//! The live engine: hosts on the machine's own kernel.

use pyo3::prelude::*;
use sojourn_engine::Registry;
use sojourn_live::{HelperCommand, Live, NAME, Packet};
use std::ffi::OsString;
use std::path::PathBuf;

/// The queue disciplines of real packets.
pub type Qdiscs = sojourn_qdisc::Registry<Packet>;

/// Python's words that load this very extension, by its file, and nothing else of the package: a few milliseconds.
const WORDS: &str = "import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
loader = ExtensionFileLoader('sojourn._core', sys.argv[1])
core = module_from_spec(spec_from_loader('sojourn._core', loader))
loader.exec_module(core)
sys.exit(core.live_helper(int(sys.argv[2])))";

/// Adds it, with these queue disciplines.
pub(super) fn add(engines: &mut Registry, qdiscs: &Qdiscs) {
    let qdiscs = qdiscs.clone();
    engines.add(NAME, version!("LIVE_SOURCES"), move || {
        // Without an interpreter nobody can ask for the engine.
        let helper = Python::attach(helper).unwrap_or_else(|_| HelperCommand {
            program: PathBuf::from("python3"),
            arguments: Vec::new(),
        });
        Live::new(helper).with_registry(qdiscs.clone())
    });
}

/// How to start a process that is the helper: this interpreter, with this extension.
pub fn helper(py: Python<'_>) -> PyResult<HelperCommand> {
    let program = py.import("sys")?.getattr("executable")?.extract()?;
    let file: OsString = py.import("sojourn._core")?.getattr("__file__")?.extract()?;
    let words = ["-I", "-S", "-c", WORDS].map(OsString::from);
    Ok(HelperCommand { program, arguments: words.into_iter().chain([file]).collect() })
}
