//! Loads plugins: shared libraries with queue disciplines and congestion controls of other people, over the C ABI of `sojourn-plugin`.
//!
//! A [`Plugins`] holds the loaded plugins; whoever builds an engine or checks words adds it to a registry, and from
//! then on its disciplines are like any other: the same parser reads their options, and lists, errors and result
//! columns name them alike.
//!
//! Invariants:
//! - nothing of a library is called before its version has been read, and nothing is loaded that was not named;
//! - a packet never leaves the host: a slab holds it, and the plugin has a handle, which the host checks whenever it
//!   comes back;
//! - a plugin that breaks a rule ends its run with an error that names the plugin, and no other run. Nobody can prevent
//!   native code from harming the process (it can write where it likes): a plugin runs with its user's rights.
//!
//! `unsafe` is in five files: `library` (the operating system's loader), `tables` (reading C's tables), `call` (the
//! functions that a plugin calls), `instance` and `control` (calls of a plugin's disciplines and controls).

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
