//! Puts a digest of the sources that decide results into the version, so that a results folder tells the runs
//! of one state of the code from those of another, in a checkout too.

use std::fs;
use std::path::{Path, PathBuf};

/// The crates whose code decides what comes out of a simulated run.
const CRATES: [&str; 14] = [
    "units",
    "model",
    "language",
    "workload",
    "results",
    "capture",
    "engine",
    "qdisc",
    "path",
    "transport",
    "stacks",
    "sim",
    "plugin",
    "plugin-host",
];
/// What decides how a run on Linux is carried out and read. The plan, which the rest of that crate makes, is a part of
/// the run's identity itself.
const LINUX: [&str; 6] = [
    "linux/guest",
    "linux/src/guest.rs",
    "linux/src/record.rs",
    "linux/src/samples.rs",
    "linux/src/stamps.rs",
    "linux/src/statistics.rs",
];

fn main() {
    let crates = Path::new("..");
    // How a class of the user's is called.
    let custom = PathBuf::from("src/custom");
    tell(
        "SOJOURN_SOURCES",
        CRATES.map(|name| crates.join(name).join("src")).into_iter().chain([custom]),
    );
    tell("SOJOURN_LINUX_SOURCES", LINUX.map(|part| crates.join(part)));
}

/// Puts the digest of these files and folders into the environment of the build.
fn tell(name: &str, parts: impl IntoIterator<Item = PathBuf>) {
    let mut files = Vec::new();
    for part in parts {
        println!("cargo::rerun-if-changed={}", part.display());
        collect(&part, &mut files);
    }
    files.sort();
    // FNV-1a, 64 bits: enough to tell states of the code apart.
    let mut digest = 0xcbf2_9ce4_8422_2325_u64;
    for file in files {
        let name = file.to_string_lossy().replace('\\', "/");
        let content = fs::read(&file).unwrap_or_default();
        for byte in name.bytes().chain(content) {
            digest = (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    println!("cargo::rustc-env={name}={:08x}", (digest ^ (digest >> 32)) & 0xffff_ffff);
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            collect(&entry.path(), files);
        }
    } else if path.extension().is_some_and(|e| e == "rs" || e == "c") {
        files.push(path.to_owned());
    }
}
