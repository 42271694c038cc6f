//! The simulator in a page of a browser: an experiment's text in, its mistakes or its tables and metrics out.
//!
//! A page speaks with a [`Session`] by requests in JSON and replies of JSON and typed columns ([`Reply`]). All contents
//! come from the crates that have them for other programs, too: mistakes from the language, choices from the tables of
//! the build, numbers from the one implementation of the metrics. Nothing here computes.
//!
//! - A run goes on in steps of a number of events, so that a worker can report progress, and cancel it.
//! - Text, runs and memory have limits ([`limits`]): the text may be from anybody.
//! - There are no threads, no files, no plugins, no QUIC, no TCP by other authors and no Linux: each is refused by name, with what has it.
//!
//! On `wasm32` a page calls it by the module `exports`. Natively the session is the same, and tests compare the two.

mod diagnostics;
#[cfg(target_arch = "wasm32")]
mod exports;
pub mod limits;
mod reply;
mod request;
mod running;
mod session;

pub use reply::Reply;
pub use session::Session;
