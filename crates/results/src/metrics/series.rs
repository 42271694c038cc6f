//! A run's tables, sorted by subject once, so that a metric of one flow reads that flow's rows only.

use super::Unit;
use super::probes;
use super::quantity::{Quantity, Table as Place};
use super::rows::{Rows, Series, numbers, take};
use super::window::{Bounds, WindowSpec};
use crate::estimators::Bucket;
use crate::{Run, schema};
use sojourn_model::{Flow, Traffic};

/// A run, ready to be measured.
#[derive(Debug)]
pub struct Frame<'a> {
    pub(super) run: &'a Run,
    pub(super) flows: Rows<'a>,
    pub(super) queues: Rows<'a>,
    pub(super) limits: Rows<'a>,
    pub(super) signals: Rows<'a>,
    pub(super) pings: Rows<'a>,
    completions: Rows<'a>,
    segments: Rows<'a>,
    pub(super) playback: Rows<'a>,
    flow_state: Rows<'a>,
    queue_state: Rows<'a>,
    histograms: Rows<'a>,
    pub(super) delays: Rows<'a>,
}

/// The quantity of a series: a known one, or a controller's own number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Of {
    Quantity(&'static Quantity),
    State(String),
    /// The histogram of a class's sojourn times, by its quantity in `histograms`.
    ClassSojourn(String),
}

impl Of {
    /// The quantity of `histograms` that its values are in, if they are in a histogram and not in a series.
    pub(super) fn histogram(&self) -> Option<&str> {
        match self {
            Self::Quantity(quantity) => match quantity.table {
                Place::QueueHistogram(name) | Place::FlowHistogram(name) => Some(name),
                Place::DelayVariation => Some("owd"),
                _ => None,
            },
            Self::ClassSojourn(name) => Some(name),
            Self::State(_) => None,
        }
    }

    /// Whether it is of queues' packets, those of one flow perhaps.
    pub(super) fn is_sojourn(&self) -> bool {
        self.histogram().is_some_and(|name| name == "sojourn" || name.starts_with("sojourn."))
    }

    /// Whether it can be measured in a window.
    pub(super) fn takes_window(&self) -> bool {
        self.histogram() != Some("rtt")
    }

    /// Its name in expressions.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Quantity(quantity) => quantity.name,
            Self::State(name) | Self::ClassSojourn(name) => name,
        }
    }

    /// Its unit, where it is known to have one.
    pub(super) const fn unit(&self) -> Unit {
        match self {
            Self::Quantity(quantity) => quantity.unit,
            Self::ClassSojourn(_) => Unit::Seconds,
            Self::State(_) => Unit::One,
        }
    }
}

impl<'a> Frame<'a> {
    /// Sorts the tables of a run.
    pub fn new(run: &'a Run) -> Self {
        Self {
            run,
            flows: Rows::new(run, &schema::FLOWS, "flow"),
            queues: Rows::new(run, &schema::QUEUES, "queue"),
            limits: Rows::new(run, &schema::LIMITS, "flow"),
            signals: Rows::new(run, &schema::QUEUE_SIGNALS, "queue"),
            pings: Rows::new(run, &schema::PINGS, "flow"),
            completions: Rows::new(run, &schema::COMPLETIONS, "flow"),
            segments: Rows::new(run, &schema::SEGMENTS, "flow"),
            playback: Rows::new(run, &schema::PLAYBACK, "flow"),
            flow_state: Rows::new(run, &schema::FLOW_STATE, "flow"),
            queue_state: Rows::new(run, &schema::QUEUE_STATE, "queue"),
            histograms: Rows::new(run, &schema::HISTOGRAMS, "subject"),
            delays: Rows::new(run, &schema::DELAYS, "flow"),
        }
    }

    /// The run.
    pub const fn run(&self) -> &'a Run {
        self.run
    }

    /// The flows that a name stands for: the flow, or the members of the group.
    pub(super) fn members(&self, name: &str) -> Vec<&'a Flow> {
        let flows = &self.run.scenario.flows;
        match flows.iter().find(|f| f.name == name) {
            Some(flow) => vec![flow],
            None => flows.iter().filter(|f| f.group.as_deref() == Some(name)).collect(),
        }
    }

    /// The names of a flow's or queue's own numbers, in the order in which they come.
    pub(super) fn states(&self, subject: &str) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for rows in [&self.flow_state, &self.queue_state] {
            let column = rows.table.text("name");
            let mut seen = vec![false; column.names().len()];
            for &row in rows.of(subject) {
                let code = column.codes()[row] as usize;
                if !core::mem::replace(&mut seen[code], true) {
                    names.push(column.get(row));
                }
            }
        }
        names
    }

    /// The flows that carry data, for metrics over all of them; with `tcp_only` those that have delivery-rate
    /// samples.
    pub(super) fn load(&self, tcp_only: bool) -> Vec<&'a Flow> {
        let has_rate = |f: &&Flow| !tcp_only || matches!(f.traffic, Traffic::Tcp(_));
        self.run.scenario.flows.iter().filter(|f| f.traffic.is_load()).filter(has_rate).collect()
    }

    /// The time of the last row of a flow or queue; the end of the run if it has none.
    pub(super) fn last(&self, subject: &str) -> f64 {
        let last = |rows: &Rows<'_>| rows.of(subject).last().map(|&row| rows.table.f64("t_s")[row]);
        last(&self.flows)
            .or_else(|| last(&self.queues))
            .or_else(|| last(&self.pings))
            .unwrap_or_else(|| self.run.scenario.duration.as_secs_f64())
    }

    /// The window of a subject.
    pub fn bounds(&self, window: &WindowSpec, subject: &str) -> Option<Bounds> {
        window.bounds(self.run, self.last(subject))
    }

    /// The buckets of a histogram, ascending.
    pub(super) fn buckets(&self, subject: &str, quantity: &str) -> Vec<Bucket> {
        let table = &self.histograms.table;
        let (low, high, count) = (table.f64("lo_s"), table.f64("hi_s"), table.u64("count"));
        let mut buckets: Vec<Bucket> = self
            .histograms
            .of(subject)
            .iter()
            .filter(|&&row| table.text("quantity").get(row) == quantity)
            .map(|&row| Bucket { low: low[row], high: high[row], count: count[row] })
            .collect();
        buckets.sort_by(|a, b| a.low.total_cmp(&b.low));
        buckets
    }

    /// The values of a quantity of one flow or queue in a window, those that are not numbers left out.
    pub(super) fn series(&self, of: &Of, subject: &str, bounds: Bounds) -> Series {
        match of {
            Of::Quantity(quantity) => match quantity.table {
                Place::Flows("rtt_s") if !self.pings.of(subject).is_empty() => {
                    take(&self.pings, subject, bounds, |t| numbers(t, "rtt_s"), None)
                }
                Place::Flows(column) => {
                    let mut series =
                        take(&self.flows, subject, bounds, |t| numbers(t, column), None);
                    if column == "delivery_rate_bps" {
                        series.leave_out(|x| x == 0.0);
                    }
                    series
                }
                Place::Queues(column @ "sojourn_mean_s") => {
                    take(&self.queues, subject, bounds, |t| numbers(t, column), Some(left_in_step))
                }
                Place::Queues(column) => {
                    take(&self.queues, subject, bounds, |t| numbers(t, column), None)
                }
                Place::Completions(column) => {
                    take(&self.completions, subject, bounds, |t| numbers(t, column), None)
                }
                Place::Probes(column) => {
                    take(&self.pings, subject, bounds, |t| numbers(t, column), None)
                }
                Place::Variation(column) => probes::variation(&self.pings, subject, column, bounds),
                Place::Segments(column) => {
                    take(&self.segments, subject, bounds, |t| numbers(t, column), None)
                }
                Place::QueueHistogram(_) | Place::FlowHistogram(_) | Place::DelayVariation => {
                    Series::default()
                }
            },
            Of::ClassSojourn(_) => Series::default(),
            Of::State(name) => {
                let of = |rows: &Rows<'_>| {
                    let table = &rows.table;
                    let mut series = Series::default();
                    let (times, values) = (table.f64("t_s"), table.f64("value"));
                    for &row in rows.of(subject) {
                        if table.text("name").get(row) == name && bounds.holds(times[row]) {
                            series.push(times[row], values[row]);
                        }
                    }
                    series
                };
                let flow = of(&self.flow_state);
                if flow.values.is_empty() { of(&self.queue_state) } else { flow }
            }
        }
    }

    /// Short flows of a generator that started in a window: completed, and not.
    pub(super) fn short_flows(&self, flow: &str, bounds: Bounds) -> (usize, usize) {
        let table = &self.completions.table;
        let (times, durations) = (table.f64("t_s"), table.f64("duration_s"));
        let started: Vec<usize> =
            self.completions.of(flow).iter().copied().filter(|&r| bounds.holds(times[r])).collect();
        let completed = started.iter().filter(|&&r| !durations[r].is_nan()).count();
        (completed, started.len() - completed)
    }

    /// The sample intervals of a subject that end in a window, together: from the last row not after the window's
    /// beginning to the last one not after its end. `None` if there is no whole one.
    pub(super) fn intervals(
        &self,
        rows: &Rows<'_>,
        subject: &str,
        bounds: Bounds,
    ) -> Option<Bounds> {
        let times = rows.table.f64("t_s");
        let own = rows.of(subject);
        let upto = |t: f64| {
            let upto = Bounds { from: f64::NEG_INFINITY, to: t };
            own.iter().rev().find(|&&row| upto.holds(times[row])).map(|&row| times[row])
        };
        let first = times[*own.first()?] - self.run.scenario.sample_interval.as_secs_f64();
        let whole = Bounds { from: upto(bounds.from).unwrap_or(first), to: upto(bounds.to)? };
        (whole.length() > 0.0).then_some(whole)
    }

    /// How much a cumulative count of the flows' or queues' table grew in a window. The count at a bound is that
    /// of the last row not after it.
    pub(super) fn growth(
        rows: &Rows<'_>,
        subject: &str,
        column: &str,
        bounds: Bounds,
    ) -> Option<u64> {
        let times = rows.table.f64("t_s");
        let counts = rows.table.u64(column);
        let at = |t: f64| {
            let upto = Bounds { from: f64::NEG_INFINITY, to: t };
            rows.of(subject)
                .iter()
                .rev()
                .find(|&&row| upto.holds(times[row]))
                .map(|&row| counts[row])
        };
        let end = at(bounds.to)?;
        Some(end.saturating_sub(at(bounds.from).unwrap_or(0)))
    }
}

/// The packets that left in the step of a row: the weight of the step's mean.
fn left_in_step(rows: &Rows<'_>, subject: &str) -> Vec<f64> {
    let sent = rows.table.u64("sent_packets");
    let mut before = 0;
    rows.of(subject)
        .iter()
        .map(|&row| {
            let left = sent[row].saturating_sub(before);
            before = sent[row];
            left as f64
        })
        .collect()
}
