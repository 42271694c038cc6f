//! Metrics over a run's tables, and the expressions that name them.
//!
//! A metric is a function of the tables alone, documented with its formula and source ([`functions`]), and used
//! alike by tables, checks, claims, `validate` and `parity`: none is computed in two places. An expression such
//! as `ratio(delivery_rate, prague, rival) >= 10` is parsed once with positions and evaluated on any run.
//!
//! Where a metric is given no window, it takes the default one, whatever it measures: the window called `steady`; where
//! there is none, the last third of the run up to one second before the flow's last sample (the published convention,
//! docs/sources/testbeds.md#steady-state, with the length that it has in the longest of those experiments). A few are of the
//! whole run by their nature, and say so ([`functions::Looks`]).
//!
//! A row of a table stands for the step that ends at its `t_s`; it belongs to the window `(from, to]`.

mod about;
mod asked;
mod counts;
mod delays;
mod evaluate;
mod expression;
mod fault;
pub mod functions;
mod limits;
mod oscillation;
mod playback;
mod probes;
mod quantity;
mod rates;
mod rows;
mod series;
mod signals;
mod summary;
mod swings;
mod unit;
mod validate;
mod window;

pub use about::{About, Single};
pub use delays::{FEW, Subject, subjects};
pub use evaluate::{EvaluationError, Value, Verdict};
pub use expression::{Expression, Names, reference};
pub use quantity::{QUANTITIES, Quantity, Table as QuantityTable};
pub use series::Frame;
pub use summary::{FlowSummary, QueueSummary, Summary, summary};
pub use swings::{Swing, swing};
pub use unit::Unit;
pub use validate::{Agreement, GroupSummary, Noise, agreement, summarise};
pub use window::{Bounds, WindowSpec};

/// A number; `None` for NaN.
fn known(x: f64) -> Option<f64> {
    (!x.is_nan()).then_some(x)
}

#[cfg(test)]
mod tests;
