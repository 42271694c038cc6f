//! The simulator in a page of a browser: an experiment's text in, its mistakes or its tables and metrics out.
//!
//! A page speaks with a [`Session`] by requests in JSON and replies of JSON and typed columns ([`Reply`]). Everything that is
//! said comes from the crates that say it elsewhere: mistakes from the language, choices from the tables of the build, numbers
//! from the one implementation of the metrics. Nothing here computes.
//!
//! - A run goes on in steps of so many events, so that a worker can tell how far it is, and give it up.
//! - Text, runs and memory have limits ([`limits`]): what comes in may be from anybody.
//! - There are no threads, no files, no plugins, no QUIC and no Linux: each is refused by name, with what has it.
//!
//! On `wasm32` the module `exports` is how a page calls it. Natively the session is the same, and tests hold the two against
//! each other.

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
