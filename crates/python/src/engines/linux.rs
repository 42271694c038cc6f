//! Linux in virtual time.

use sojourn_engine::Registry;
use sojourn_linux::{Linux, NAME};
use sojourn_sim::Sim;

/// Adds it.
pub(super) fn add(engines: &mut Registry, _: &Sim) {
    engines.add(NAME, version!("SOJOURN_LINUX_SOURCES"), Linux::new);
}
