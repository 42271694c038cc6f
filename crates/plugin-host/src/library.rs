//! From a path to a library with tables that are known to be ours.

use crate::tables::{self, AqmEntry, ControlEntry, Wrong};
use core::fmt::{self, Write as _};
use libloading::Library;
use sha2::{Digest as _, Sha256};
use sojourn_plugin::abi;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The symbol that a plugin exports.
const SYMBOL: &[u8] = b"sojourn_plugin\0";

/// Why a plugin was not loaded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoadError {
    /// The plugin's file, as it was named.
    pub file: String,
    /// What was found.
    pub message: String,
    /// What would be right.
    pub help: String,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.file, self.message, self.help)
    }
}

impl core::error::Error for LoadError {}

/// A plugin as it was loaded.
#[derive(Debug)]
pub(crate) struct Plugin {
    /// Where it is, from the root.
    pub(crate) path: PathBuf,
    /// SHA-256 of the file, in hexadecimal digits.
    pub(crate) digest: String,
    /// Its disciplines.
    pub(crate) aqms: Vec<Arc<AqmEntry>>,
    /// Its congestion controls.
    pub(crate) controls: Vec<Arc<ControlEntry>>,
}

impl Plugin {
    pub(crate) fn load(path: &Path) -> Result<Self, LoadError> {
        let file = path.display().to_string();
        load(path).map_err(|(message, help)| LoadError { file, message, help })
    }

    /// How messages name it.
    pub(crate) fn file(&self) -> String {
        self.path.display().to_string()
    }
}

fn load(path: &Path) -> Result<Plugin, Wrong> {
    let wrong = |message: String, help: &str| (message, help.to_owned());
    // From the root: a bare name would be looked for among the system's libraries.
    let found = path.canonicalize().and_then(|path| Ok((std::fs::read(&path)?, path)));
    let (content, path) = found.map_err(|error| match error.kind() {
        ErrorKind::NotFound => wrong(
            "there is no such file".to_owned(),
            "a path in an experiment is seen from the experiment's file, one in a command from the present folder",
        ),
        _ => wrong(format!("it cannot be read: {error}"), "check that it is a file, and its permissions"),
    })?;
    if let Some(whole) = elf_size(&content)
        && whole > content.len() as u64
    {
        // The system's loader maps what the headers name, and the process dies when it touches what is not there.
        return Err(wrong(
            format!(
                "it is cut short: it has {} bytes, and its headers name {whole}",
                content.len()
            ),
            "build it again, or copy it again",
        ));
    }
    let digest = hexadecimal(&Sha256::digest(&content));
    // SAFETY: this runs the library's own initialisers, which nobody can vouch for. The user has named this file, and
    // documentation and command line say that it runs with the user's rights.
    #[allow(unsafe_code)]
    let library = unsafe { Library::new(&path) }.map_err(|error| {
        wrong(
            format!("it cannot be loaded: {}", innermost(&error)),
            "a plugin is a shared library, built for this machine, with everything that it needs",
        )
    })?;
    // SAFETY: only the symbol's address is taken.
    #[allow(unsafe_code)]
    let table = unsafe { library.get::<*const abi::Plugin>(SYMBOL) }.map(|symbol| *symbol);
    let table = table.ok().filter(|table| !table.is_null()).ok_or_else(|| {
        wrong(
            "it is a shared library but no plugin: it does not export \"sojourn_plugin\"".to_owned(),
            "write `sojourn_plugin! { … }` in Rust, or export `const SojournPlugin sojourn_plugin` in C",
        )
    })?;
    let (aqms, controls) = tables::read(table, &Arc::new(library), &path)?;
    Ok(Plugin { path, digest, aqms, controls })
}

/// How many bytes the headers of a 64-bit little-endian ELF file say that it has; nothing of another file.
///
/// The end of the table of program headers and of each segment that is loaded from the file (ELF-64 object file format
/// 1.5, chapters 2 and 6).
fn elf_size(content: &[u8]) -> Option<u64> {
    let number = |at: usize, len: usize| {
        let bytes = content.get(at..at.checked_add(len)?)?;
        Some(bytes.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte)))
    };
    if content.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let (table, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    let mut end = table.saturating_add(size * count);
    for header in 0..count {
        let at = usize::try_from(table.saturating_add(header * size)).ok()?;
        // Where the table itself is cut, its end says so.
        let Some(offset) = number(at.saturating_add(8), 8) else { break };
        let Some(len) = number(at.saturating_add(32), 8) else { break };
        end = end.max(offset.saturating_add(len));
    }
    Some(end)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes everything");
        text
    })
}

/// What the operating system's loader says.
fn innermost(error: &libloading::Error) -> String {
    let mut error: &dyn core::error::Error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
