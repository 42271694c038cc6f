//! What is asked of the results: phases and windows to measure in, checks that must hold.

use super::When;
use serde::{Deserialize, Serialize};
use sojourn_units::Span;

/// A named interval `[from, to)` of the run, that metrics and events can refer to.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Phase {
    /// Unique among the phases.
    pub name: String,
    /// Its start.
    pub from: When,
    /// Its end, which does not belong to it.
    pub to: When,
}

/// A named measuring window.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Window {
    /// Unique among the windows. The one called `steady` is taken by metrics that are given none.
    pub name: String,
    /// Where it lies.
    pub bounds: WindowBounds,
}

/// Where a window lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowBounds {
    /// Between two points of the run.
    Between {
        /// From here on.
        from: super::At,
        /// Up to here, which does not belong to it.
        to: super::At,
    },
    /// So long, ending some time before the last sample of each flow: the published convention (measurements.md §1).
    Last {
        /// Its length.
        length: Span,
        /// How long before the last sample it ends.
        before_end: Span,
    },
}

/// What must hold of a run's results.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Check {
    /// A name for reports; the expression itself unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The expression: `ratio(delivery_rate, prague, rival) >= 10`.
    pub that: String,
}
