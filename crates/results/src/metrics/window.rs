//! Where a metric looks.

use crate::{Run, schema};
use sojourn_model::{At, Phase, Scenario, When, Window, WindowBounds};
use sojourn_units::Span;

/// Which part of a run a metric is about, as an expression says it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum WindowSpec {
    /// The window called `steady`, or the last third up to a second before the end, of runs shorter than ten seconds up to
    /// a tenth of the run before it; of what ended before so much had passed, all of it.
    #[default]
    Default,
    /// The whole run from the origin on.
    Whole,
    /// So long, ending some time before the last sample of each flow or queue.
    Last {
        /// Its length.
        length: Span,
        /// How long before the last sample it ends.
        before_end: Span,
    },
    /// Between two points, in nanoseconds from the origin.
    Between {
        /// Its start.
        from: At,
        /// Its end.
        to: At,
    },
    /// A window of the experiment, by name.
    Named(String),
    /// A phase of the experiment, by name.
    Phase(String),
}

/// A window in seconds from the origin: rows with `from < t ≤ to`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bounds {
    /// Not included.
    pub from: f64,
    /// Included.
    pub to: f64,
}

impl Bounds {
    /// Times come from nanoseconds: a nanosecond either way is the same point.
    const SAME: f64 = 0.5e-9;

    /// Whether a row with this time belongs to it.
    pub fn holds(self, t: f64) -> bool {
        t > self.from + Self::SAME && t <= self.to + Self::SAME
    }

    /// Whether it is the same to the nanosecond.
    pub fn is_same(self, other: Self) -> bool {
        (self.from - other.from).abs() <= Self::SAME && (self.to - other.to).abs() <= Self::SAME
    }

    /// Its length in seconds.
    pub fn length(self) -> f64 {
        self.to - self.from
    }
}

impl WindowSpec {
    /// Where it lies, if that is stated.
    pub fn stated(&self, windows: &[Window]) -> Option<WindowBounds> {
        match self {
            Self::Last { length, before_end } => {
                Some(WindowBounds::Last { length: *length, before_end: *before_end })
            }
            Self::Between { from, to } => Some(WindowBounds::Between { from: *from, to: *to }),
            Self::Named(name) => windows.iter().find(|w| w.name == *name).map(|w| w.bounds),
            Self::Default => Self::Named("steady".to_owned()).stated(windows),
            Self::Whole | Self::Phase(_) => None,
        }
    }

    /// The window in a run with the last sample of the subject at `last`; `None` if its name is unknown or the
    /// run never came to it.
    pub fn bounds(&self, run: &Run, last: f64) -> Option<Bounds> {
        if let Self::Phase(name) = self {
            let phase = run.scenario.phases.iter().find(|p| p.name == *name)?;
            // The part of it after the run has not happened.
            let end = run.scenario.duration.as_secs_f64();
            let to = edge(run, phase, false)?.min(end);
            return Some(Bounds { from: edge(run, phase, true)?, to });
        }
        self.planned(&run.scenario, last)
    }

    /// The window as the scenario alone tells it; `None` if its name is unknown, or it is a phase that waits for
    /// something.
    pub(super) fn planned(&self, scenario: &Scenario, last: f64) -> Option<Bounds> {
        let before = |end: f64, length: f64| Bounds { from: end - length, to: end };
        let between = |from: At, to: At| Bounds { from: from.as_secs_f64(), to: to.as_secs_f64() };
        match self.stated(&scenario.windows) {
            Some(WindowBounds::Between { from, to }) => return Some(between(from, to)),
            Some(WindowBounds::Last { length, before_end }) => {
                return Some(before(last - before_end.as_secs_f64(), length.as_secs_f64()));
            }
            None => {}
        }
        match self {
            Self::Whole => Some(Bounds { from: 0.0, to: scenario.duration.as_secs_f64() }),
            Self::Phase(name) => {
                let phase = scenario.phases.iter().find(|p| p.name == *name)?;
                match (&phase.from, &phase.to) {
                    (When::At(from), When::At(to)) => Some(between(*from, *to)),
                    _ => None,
                }
            }
            Self::Default => {
                let duration = scenario.duration.as_secs_f64();
                // A second of a run of two would leave slow start, and little else.
                let usual = before(last - (duration / 10.0).min(1.0), duration / 3.0);
                Some(if usual.from < 0.0 { Bounds { from: 0.0, to: last } } else { usual })
            }
            Self::Last { .. } | Self::Between { .. } | Self::Named(_) => None,
        }
    }
}

/// When a phase started or ended: as the experiment states it, or as it happened.
fn edge(run: &Run, phase: &Phase, start: bool) -> Option<f64> {
    match if start { &phase.from } else { &phase.to } {
        When::At(at) => Some(at.as_secs_f64()),
        When::After { .. } | When::State { .. } => {
            let events = run.table(schema::EVENTS.name)?;
            let subject = events.text("subject").code(&format!("phase {}", phase.name))?;
            let what = events.text("what").code(if start { "start" } else { "end" })?;
            let row = (0..events.len()).find(|&row| {
                events.text("subject").codes()[row] == subject
                    && events.text("what").codes()[row] == what
            })?;
            Some(events.f64("t_s")[row])
        }
    }
}
