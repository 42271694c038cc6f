//! What is added to Sojourn by this example: a queue discipline.

pub mod curvy;
