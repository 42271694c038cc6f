//! Two congestion controls draw random numbers from the operating system, and their crates leave no way to give them a
//! seed: BBRv3 of noq-proto has a field for it that is private, BBR of quinn-proto has none. Two runs would differ.
//!
//! So this script takes these two modules from the crates' own sources, those of the versions that are built, and compiles
//! them once more inside this crate: `src/noq/bbr3.rs` and `src/quinn/bbr.rs` include them and set the seed. It changes
//! the paths of `use`, which are the crate's own, the notation of one struct, and the one expression of quinn's that
//! draws. If a source is not as expected, the build fails and says so.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// A text to replace, and its replacement.
type Replacement = (&'static str, &'static str);

/// Outside its crate the struct cannot be written by its fields: a macro of ours sets them one by one.
const METRICS: Replacement = (
    "        ControllerMetrics {\n            congestion_window:",
    "        metrics! {\n            congestion_window:",
);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_STACKS").is_none() {
        return;
    }
    let instants = ("use crate::{Duration, Instant};", "use std::time::{Duration, Instant};");
    let noq = source("noq-proto", NOQ);
    let max_filter = edited(&noq.join("src/congestion/bbr3/max_filter.rs"), &[]);
    let bbr3 = edited(
        &noq.join("src/congestion/bbr3/mod.rs"),
        &[
            ("mod max_filter;", ""),
            (
                "use alloc::{boxed::Box, collections::VecDeque, sync::Arc};",
                "use std::{collections::VecDeque, sync::Arc};",
            ),
            ("use crate::RttEstimator;", "use noq_proto::RttEstimator;"),
            ("use crate::congestion::bbr3::max_filter::MaxFilter;", "use max_filter::MaxFilter;"),
            (
                "use crate::congestion::{BASE_DATAGRAM_SIZE, Controller,",
                "use noq_proto::congestion::{Controller,",
            ),
            ("use crate::connection::SpaceKind;", ""),
            instants,
            METRICS,
        ],
    );
    write("noq_bbr3.rs", &format!("{bbr3}\nmod max_filter {{\n{max_filter}\n}}\n"));

    let quinn = source("quinn-proto", QUINN);
    let folder = quinn.join("src/congestion/bbr");
    let bandwidth = edited(&folder.join("bw_estimation.rs"), &[instants]);
    let min_max = edited(&folder.join("min_max.rs"), &[]);
    let bbr = edited(
        &folder.join("mod.rs"),
        &[
            ("mod bw_estimation;", ""),
            ("mod min_max;", ""),
            (
                "use crate::congestion::ControllerMetrics;",
                "use quinn_proto::congestion::ControllerMetrics;",
            ),
            (
                "use crate::congestion::bbr::bw_estimation::BandwidthEstimation;",
                "use bw_estimation::BandwidthEstimation;",
            ),
            ("use crate::congestion::bbr::min_max::MinMax;", "use min_max::MinMax;"),
            ("use crate::connection::RttEstimator;", "use quinn_proto::RttEstimator;"),
            instants,
            (
                "use super::{BASE_DATAGRAM_SIZE, Controller, ControllerFactory};",
                "use quinn_proto::congestion::{Controller, ControllerFactory};",
            ),
            METRICS,
            ("Pcg32::from_rng(&mut rand::rng())", "Pcg32::from_seed(next_seed())"),
        ],
    );
    let modules = format!("mod bw_estimation {{\n{bandwidth}\n}}\nmod min_max {{\n{min_max}\n}}\n");
    write("quinn_bbr.rs", &format!("{bbr}\n{modules}"));
}

/// The versions that these edits are for: the ones that the workspace pins.
const NOQ: &str = "1.4.0";
const QUINN: &str = "0.11.19";

/// A module without its tests, and with each text replaced, which must be there once.
fn edited(file: &Path, replacements: &[Replacement]) -> String {
    println!("cargo::rerun-if-changed={}", file.display());
    let text =
        fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut text = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
    for (from, to) in replacements {
        let found = text.matches(from).count();
        assert!(found == 1, "{}: expected once, found {found} times: {from}", file.display());
        text = text.replace(from, to);
    }
    text
}

fn write(name: &str, text: &str) {
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let file = folder.join(name);
    fs::write(&file, text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
}

/// The folder of a dependency: next to this crate where both come from a registry or were vendored, else where cargo
/// says, else where cargo keeps what it has unpacked. Cargo has no answer while it verifies a package: this crate's
/// dependencies are then in no registry that a second cargo would know of.
fn source(name: &str, version: &str) -> PathBuf {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let beside = here.with_file_name(format!("{name}-{version}"));
    if beside.join("src").is_dir() {
        return beside;
    }
    let output = Command::new(env::var_os("CARGO").expect("cargo sets CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--filter-platform"])
        .arg(env::var_os("TARGET").expect("cargo sets TARGET"))
        .arg("--manifest-path")
        .arg(here.join("Cargo.toml"))
        .output()
        .expect("cargo runs");
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or(serde_json::Value::Null);
    let packages = metadata["packages"].as_array().cloned().unwrap_or_default();
    let found = packages.iter().find(|p| p["name"] == name && p["version"] == version);
    let manifest = found.and_then(|p| p["manifest_path"].as_str()).map(Path::new);
    let told = manifest.and_then(Path::parent).map(Path::to_owned);
    told.or_else(|| unpacked(&format!("{name}-{version}"))).unwrap_or_else(|| {
        panic!(
            "the sources of {name} {version} are not to be found: {}",
            String::from_utf8_lossy(&output.stderr)
        )
    })
}

/// Where cargo has unpacked a crate from a registry.
fn unpacked(folder: &str) -> Option<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| {
        let user = env::var_os(if cfg!(windows) { "USERPROFILE" } else { "HOME" })?;
        Some(PathBuf::from(user).join(".cargo"))
    })?;
    let registries = fs::read_dir(home.join("registry").join("src")).ok()?;
    let found = registries.flatten().map(|registry| registry.path().join(folder));
    found.into_iter().find(|path| path.join("src").is_dir())
}
