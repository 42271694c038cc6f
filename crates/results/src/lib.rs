//! What comes out of a run: columns, each with its unit and with where its values come from.
//!
//! One schema a table, stated once in [`schema`]: the recorder of every engine, the Arrow export, the metrics
//! and the reference pages read the same constants. Text is kept as a dictionary; time is seconds from the
//! run's origin as `f64`, for tables are read, never added up to a clock.
//!
//! What is read off the columns is here, too, each number defined once: [`estimators`] on plain numbers, [`metrics`] on tables.

mod column;
pub mod estimators;
pub mod metrics;
mod run;
pub mod schema;
pub mod steps;
mod table;
mod writer;

/// The example of the README runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use run::{EngineId, MACHINE, Run};
pub use schema::rows;
pub use table::{Column, MisfitTable, Provenance, Table, Text};
pub use writer::{Code, Columns, CountColumn, Name, NumberColumn, Rows, TextColumn};
