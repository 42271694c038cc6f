//! What is added to Sojourn by this example: a queue discipline, a path element, an application.

pub mod curvy;
pub mod outage;
pub mod page;
