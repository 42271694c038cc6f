//! What is run, and what comes out: the contract that every other room of Sojourn keeps.
//!
//! - [`model`]: one run, with every name resolved and no sugar left; the results folder stores it and it can be
//!   run again.
//! - [`language`]: experiments as people write them, with matrices, defaults and errors that point at the place.
//! - [`workload`]: when traffic that is no bulk TCP sends what, as state machines that every engine shares.
//! - [`results`]: what a run gives, as columns with their provenance.
//! - [`estimators`] and [`metrics`]: what is read off results, each defined once.
//! - [`capture`]: the files that the packets of a run go to, if they are wanted.
//! - [`engine`]: what runs a scenario; many runs at once.
//!
//! Nothing here looks at a clock, draws from a generator of its own or knows what a packet is.

pub mod capture;
pub mod engine;
pub mod estimators;
pub mod language;
pub mod metrics;
pub mod model;
pub mod results;
pub mod workload;
