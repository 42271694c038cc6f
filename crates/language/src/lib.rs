//! The experiment language: a TOML file says once the common settings, the varying ones and the measurements; out come
//! [`Scenario`](sojourn_model::Scenario)s with nothing left to resolve.
//!
//! - Axes are named bundles of settings: `[axis.queue] "pie" = { hop.bottleneck.qdisc = "pie ecn" }`. A path leads
//!   through tables and, in a list such as `[[hop]]`, to the item of that `name`. There is a run for every
//!   combination, less what `[[exclude]]` leaves out, and what `[[include]]` adds.
//! - Hops, flows, events, phases, windows and checks are lists of named things; the keys of each are in one table, from
//!   which the parser, its messages, the JSON Schema ([`json_schema`]) and the reference ([`reference()`]) come.
//! - Every message points at the place in the file, also inside tc's words and inside an axis's bundle: a
//!   setting keeps the place at which it was written wherever it is put.

mod arithmetic;
mod bdp;
mod decode;
mod experiment;
mod keys;
mod matrix;
mod moment;
mod overrides;
mod path;
mod renamed;
mod resolve;
mod schema;
mod search;
mod sections;
mod source;
mod substitute;
mod surprises;
mod sweep;
mod tree;
mod vocabulary;

/// The example of the README runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use experiment::{Experiment, MOST_RUNS, Plan};
pub use renamed::renamed_key;
pub use schema::{json_schema, reference};
pub use search::{Dimension, Search};
pub use source::{Diagnostic, DiagnosticKind, Diagnostics};
pub use surprises::Warning;
pub use vocabulary::{AnyWords, Takes, Vocabulary};

#[cfg(test)]
mod tests;
