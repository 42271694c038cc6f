//! Puts a digest of the sources that decide results into the version, so that a results folder tells the runs
//! of one state of the code from those of another, in a checkout too.

use std::fs;
use std::path::{Path, PathBuf};

/// The rooms whose code decides what comes out of a run.
const ROOMS: [&str; 6] = ["units", "scenario", "qdisc", "path", "transport", "sim"];

fn main() {
    let crates = Path::new("..");
    let mut files = Vec::new();
    for room in ROOMS {
        let folder = crates.join(room).join("src");
        println!("cargo::rerun-if-changed={}", folder.display());
        collect(&folder, &mut files);
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
    println!("cargo::rustc-env=SOJOURN_SOURCES={:08x}", (digest ^ (digest >> 32)) & 0xffff_ffff);
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
}
