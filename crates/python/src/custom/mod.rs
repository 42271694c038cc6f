//! Congestion controls and queue disciplines that are classes in a Python file of the user's, for the simulator.
//!
//! The file is found and the class checked in Python (`sojourn.custom.loading`); here it becomes one of the registries'
//! entries, and its methods are called. An exception or a wrong return value ends its run with a [`Fault`] that names
//! file and line; the other runs go on.
//!
//! [`Fault`]: sojourn_engine::Fault

mod answer;
mod aqm;
mod attached;
mod class;
mod classes;
mod control;
mod fault;
mod name;
mod queue;
mod view;
mod vocabulary;

pub use attached::Attached;
pub use classes::Classes;
pub use fault::Wrong;
pub use queue::{Packet, QueueView};
pub use view::View;
pub use vocabulary::WithClasses;
