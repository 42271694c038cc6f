//! One recorder for all engines: samples of flows and queues, events and counters in; result tables out.
//!
//! An engine says what it sees and how well it knows it ([`Provenances`]); the recorder computes goodput from bytes, rows
//! from changes, distributions from times. So a column means the same whether a model, a kernel or a program filled it.
//!
//! Invariants: rows come in the order of the calls; a row's time is counted from the run's origin (the end of the
//! warm-up); a time span without length has no row; nothing here reads a clock.

mod delays;
mod distribution;
pub mod ports;
mod recorder;
mod samples;

pub use delays::Delays;
pub use distribution::Distribution;
pub use ports::PortElements;
pub use recorder::{Provenances, Recorder};
pub use samples::{
    Completion, FlowSample, LimitedTimes, PingSample, QueueSample, RecoveryState, SignalKind,
};
