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
    /// So long, ending some time before the last sample of each flow: the published convention (docs/sources/testbeds.md#steady-state).
    Last {
        /// Its length.
        length: Span,
        /// How long before the last sample it ends.
        before_end: Span,
    },
}

/// A window that a run does not have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outside {
    /// What is outside.
    pub message: String,
    /// What would be right.
    pub help: String,
}

impl WindowBounds {
    /// What is wrong with it in a run of this length, if anything: where there is no run there is nothing to measure, and
    /// a rate over the window would count it as nothing. Times may be in the warmup; a length counts from the origin on.
    pub fn outside(&self, warmup: Span, duration: Span) -> Option<Outside> {
        let (first, last) = (-(warmup.as_nanos() as i64), duration.as_nanos() as i64);
        let lasts = if warmup.is_zero() {
            format!("the run lasts {duration}")
        } else {
            format!("the run lasts {duration}, after a warmup of {warmup}")
        };
        match *self {
            Self::Between { to, .. } if to.as_nanos() > last => Some(Outside {
                message: format!("a window that ends at {to}, but {lasts}"),
                help: format!("end it at {duration} or earlier, or let the run last longer"),
            }),
            Self::Between { from, .. } if from.as_nanos() < first => Some(Outside {
                message: format!("a window that begins at {from}, but {lasts}"),
                help: format!("begin it at {} or later", super::At::from_nanos(first)),
            }),
            Self::Last { length, before_end } => {
                let back = length + before_end;
                (back > duration).then(|| Outside {
                    message: format!("a window that reaches {back} back from the end, but {lasts}"),
                    help: format!("together `last` and `before_end` are {duration} at most"),
                })
            }
            Self::Between { .. } => None,
        }
    }
}

/// What must hold of a run's results.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Check {
    /// A name for reports (default: the expression itself).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The expression: `ratio(delivery_rate, prague, rival) >= 10`.
    pub that: String,
}
