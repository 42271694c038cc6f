//! The extension module `sojourn._core`: what Python sees of the Rust crates. No logic lives here.

mod arrow;
mod captures;
mod custom;
mod engines;
mod errors;
mod experiment;
mod json;
mod kernels;
mod listings;
mod live;
mod metrics;
mod plugins;
mod run;
mod scenario;
mod steps;
mod store;
mod units;
mod validate;

use pyo3::prelude::*;

/// Rust's half of the package `sojourn`; use that.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::arrow::Table;
    #[pymodule_export]
    use super::captures::annotate_captures;
    #[pymodule_export]
    use super::custom::{Packet, QueueView, View};
    #[pymodule_export]
    use super::engines::{Facts, ask_kernel, engines, facts, sources, standing_kernels, version};
    #[pymodule_export]
    use super::experiment::{Experiment, Search, Warning, json_schema, load, load_search};
    #[pymodule_export]
    use super::listings::{
        apps, ccs, columns, elements, implementations, links, plugin_header, qdiscs, reference,
        renamed_column, renamed_key, renamed_table, stacks,
    };
    #[pymodule_export]
    use super::live::{live_helper, probe_live, run_router, run_shell};
    #[pymodule_export]
    use super::metrics::{about, metrics};
    #[pymodule_export]
    use super::run::{Foreseen, Run, foresee, identities, refusals, run_many};
    #[pymodule_export]
    use super::scenario::Scenario;
    #[pymodule_export]
    use super::steps::Steps;
    #[pymodule_export]
    use super::store::{
        Answers, Store, answers_of, encode_run, keeps, run_digests, run_name, summary_columns,
    };
    #[pymodule_export]
    use super::units::{Netem, netem, parse_rate, parse_span};
    #[pymodule_export]
    use super::validate::{agreement, harm, summarise};

    /// Bytes of a packet that a capture keeps unless asked otherwise.
    #[pymodule_export]
    const SNAP_LEN: u32 = sojourn_capture::SNAP_LEN;

    /// The Unix time that captures and exported files give to a run's origin, s.
    #[pymodule_export]
    const EPOCH: u64 = sojourn_capture::EPOCH;

    /// More runs than this need to be asked for.
    #[pymodule_export]
    const MOST_RUNS: u64 = sojourn_language::MOST_RUNS;
}
