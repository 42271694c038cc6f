//! Puts a digest of the sources that decide an engine's results into its version, so that a results folder can tell
//! whether a stored run is still what this build would compute.
//!
//! The list of sources is derived, not written: Cargo's manifests name the crates of this repository that an engine
//! is built from, and `Cargo.lock` names the version of every crate of others below those. Each file of such a crate
//! counts, whatever its ending (`include!`, C headers), except its tests, benchmarks, examples and prose.
//! `tests/python/test_sources.py` compares the list with the files that the compiler read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};
use toml::Table;

/// Each engine: the variable that carries its digest (the list of sources is a file of this name), and its own crates.
const ENGINES: [(&str, &[&str]); 3] = [
    ("SIM_SOURCES", &["sojourn-sim", "sojourn-plugin-host", "sojourn-store"]),
    ("LINUX_SOURCES", &["sojourn-linux", "sojourn-plugin-host", "sojourn-store"]),
    ("LIVE_SOURCES", &["sojourn-live", "sojourn-store"]),
];
/// The folders and files of a crate that no library is compiled from.
const APART: [&str; 8] = [
    "tests",
    "benches",
    "examples",
    "fuzz",
    "target",
    "proptest-regressions",
    "__pycache__",
    ".gitignore",
];
/// The Python code of the package between a run and a class of the user's.
const PYTHON: &str = "../../python/sojourn/custom";

fn main() {
    let root = Path::new("../..");
    let lock = table(&root.join("Cargo.lock"));
    let locked = lock["package"].as_array().expect("Cargo.lock lists packages");
    println!("cargo::rerun-if-changed={}", root.join("Cargo.lock").display());
    for (variable, crates) in ENGINES {
        // This crate hands scenarios and tables over, and calls the user's Python classes.
        let mut files = parts_of(Path::new("."));
        files.extend(parts_of(Path::new(PYTHON)));
        let mut others = BTreeSet::new();
        let (mut seen, mut next) =
            (BTreeSet::new(), crates.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        while let Some(name) = next.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            let folder = name.strip_prefix("sojourn-").map(|part| Path::new("..").join(part));
            if let Some(folder) = folder.filter(|folder| folder.is_dir()) {
                files.extend(parts_of(&folder));
                next.extend(dependencies(&table(&folder.join("Cargo.toml"))));
            } else {
                // Several versions of one crate count together.
                for package in
                    locked.iter().filter(|package| package["name"].as_str() == Some(&name))
                {
                    others.insert(package_line(package));
                    let below = package.get("dependencies").and_then(toml::Value::as_array);
                    let words = below.into_iter().flatten().filter_map(toml::Value::as_str);
                    next.extend(
                        words.filter_map(|words| words.split(' ').next()).map(str::to_owned),
                    );
                }
            }
        }
        files.sort();
        let mut bytes = Vec::new();
        let mut list = String::new();
        for file in &files {
            let name = file.to_string_lossy().replace('\\', "/");
            bytes.extend(name.bytes());
            bytes.extend(fs::read(file).expect("a source can be read"));
            list.push_str(&name);
            list.push('\n');
        }
        for package in others {
            bytes.extend(package.bytes());
            list.push_str(&package);
            list.push('\n');
        }
        println!("cargo::rustc-env={variable}={:08x}", digest(&bytes));
        let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
        fs::write(out.join(variable), list).expect("the list can be written");
    }
}

fn table(path: &Path) -> Table {
    let text = fs::read_to_string(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    text.parse().unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// The names that a manifest depends on in a build: not those of its tests.
fn dependencies(manifest: &Table) -> Vec<String> {
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let targets = targets.into_iter().flat_map(Table::values).filter_map(toml::Value::as_table);
    let sections = std::iter::once(manifest).chain(targets);
    let lists = sections
        .flat_map(|section| ["dependencies", "build-dependencies"].map(|key| section.get(key)));
    let lists = lists.flatten().filter_map(toml::Value::as_table);
    lists.flat_map(|list| list.iter().map(|(key, value)| package_name(key, value))).collect()
}

/// A dependency may be renamed: its package is then what `package` says.
fn package_name(key: &str, value: &toml::Value) -> String {
    value.get("package").and_then(toml::Value::as_str).unwrap_or(key).to_owned()
}

fn package_line(package: &toml::Value) -> String {
    let word = |key| package.get(key).and_then(toml::Value::as_str).unwrap_or_default();
    format!("{} {} {}", word("name"), word("version"), word("checksum"))
}

/// The files of a crate that its libraries are compiled from.
fn parts_of(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for part in entries(folder) {
        let name = part.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let prose =
            name.starts_with("LICENSE") || part.extension().is_some_and(|ending| ending == "md");
        if !prose && !APART.contains(&name.as_str()) {
            println!("cargo::rerun-if-changed={}", part.display());
            collect(&part, &mut files);
        }
    }
    files
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in entries(path) {
            collect(&entry, files);
        }
    } else {
        files.push(path.to_owned());
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// FNV-1a of 64 bits, folded: enough to tell states of the code apart.
fn digest(bytes: &[u8]) -> u64 {
    let whole = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| {
        (digest ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    (whole ^ (whole >> 32)) & 0xffff_ffff
}
