//! What runs a scenario: the simulator, Linux, whatever comes next.
//!
//! An engine says beforehand what it cannot run, by name and with what would provide it; a refused scenario
//! never begins. Runs are independent of one another: [`run_many`] gives every scenario the same result with
//! any number of threads.

mod capabilities;
mod contract;
mod facts;
mod foreseen;
mod many;
pub mod programs;
mod registry;
pub mod tc;
mod timeline;

pub use capabilities::Capabilities;
pub use contract::{Engine, Fault, RunError, Watch};
pub use facts::{Clock, Facts};
pub use foreseen::{Disk, Foreseen, Memory};
pub use many::{WatchMany, refuse_capture, run_many};
pub use registry::{Registry, UnknownEngine};
pub use timeline::{Item, Timeline, WATCH_EVERY};
