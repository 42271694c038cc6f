//! What is run, and what comes out: the contract that every other room of Sojourn keeps.
//!
//! - [`model`]: one run, with every name resolved and no sugar left; the results folder stores it and it can be
//!   run again.
//! - [`results`]: what a run gives, as columns with their provenance.
//! - [`engine`]: what runs a scenario; many runs at once.

pub mod engine;
pub mod model;
pub mod results;
