//! What is run, and what comes out: the contract that every other room of Sojourn keeps.
//!
//! - [`model`]: one run, with every name resolved and no sugar left; the results folder stores it and it can be
//!   run again.
pub mod model;
