//! Loads plugins: shared libraries with queue disciplines and congestion controls of other people, over the C ABI of `sojourn-plugin`.
//!
//! A [`Plugins`] is what was loaded; whoever builds an engine or checks words adds it to a registry, and from then on its
//! disciplines are like any other: the same parser reads their options, and lists, errors and result columns name them
//! alike.
//!
//! Invariants:
//! - nothing of a library is called before its version has been read, and nothing is loaded that was not named;
//! - a packet never leaves the host: it lies in a slab, and the plugin has a handle, which the host checks whenever it
//!   comes back;
//! - whatever a plugin does that it must not do ends the run with an error that names the plugin, and no other run. What
//!   native code can do to a process (write where it likes) nobody can prevent: a plugin runs with its user's rights.
//!
//! `unsafe` is in five files: `library` (the operating system's loader), `tables` (reading C's tables), `call` (what a
//! plugin calls), `instance` and `control` (what is called of a plugin's disciplines and controls).

mod call;
mod control;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzz;
mod instance;
mod library;
mod mirror;
mod plugins;
mod qdisc;
mod slab;
mod tables;

pub use library::LoadError;
pub use plugins::Plugins;
