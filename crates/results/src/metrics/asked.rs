//! The arguments of a metric: the run, its parameters, its window. The entries of [`super::functions::FUNCTIONS`]
//! compute with these.

use super::expression::{Call, Name};
use super::fault::Fault;
use super::quantity::Table;
use super::rates::{self, RateOf};
use super::rows::Series;
use super::series::{Frame, Of};
use super::window::{Bounds, WindowSpec};
use super::{delays, known, limits, oscillation};
use crate::estimators::{
    Bucket, geometric_mean, mean, mean_histogram, quantile_histogram, quantile_interpolated,
    quantile_nearest_rank, quantile_weighted, sorted, standard_deviation, sum, weighted_mean,
};
use sojourn_model::Flow;

type Answer = Result<Option<f64>, Fault>;

/// A metric with its parameters, on a run.
pub(super) struct Asked<'a> {
    pub(super) frame: &'a Frame<'a>,
    pub(super) call: &'a Call,
    pub(super) window: &'a WindowSpec,
}

impl<'a> Asked<'a> {
    /// The first name.
    pub(super) fn name(&self) -> &'a str {
        self.call.names.first().map_or("", |n| n.text.as_str())
    }

    /// The level or percentage.
    pub(super) const fn number(&self) -> f64 {
        self.call.number
    }

    /// The reason of a mark or drop; `None` for all.
    pub(super) fn reason(&self) -> Option<&'a str> {
        self.call.reason.as_deref()
    }

    /// The rate that it is given.
    pub(super) fn rate(&self) -> RateOf {
        match &self.call.of {
            Some(Of::Quantity(q)) if q.name == "goodput" => RateOf::Goodput,
            _ => RateOf::DeliveryRate,
        }
    }

    fn members(&self, name: &str) -> Result<Vec<&'a Flow>, Fault> {
        let members = self.frame.members(name);
        if members.is_empty() {
            Err(format!("there is no flow called \"{name}\"").into())
        } else {
            Ok(members)
        }
    }

    /// The flows of a name.
    pub(super) fn flows(&self, index: usize) -> Result<Vec<&'a Flow>, Fault> {
        self.members(self.call.names.get(index).map_or("", |n| n.text.as_str()))
    }

    /// The flows of all names from this one on; all that carry data if there is none.
    pub(super) fn flows_from(&self, index: usize) -> Result<Vec<&'a Flow>, Fault> {
        let names: &[Name] = self.call.names.get(index..).unwrap_or(&[]);
        if names.is_empty() {
            return Ok(self.frame.load(self.rate() == RateOf::DeliveryRate));
        }
        let mut all = Vec::new();
        for name in names {
            all.extend(self.members(&name.text)?);
        }
        Ok(all)
    }

    /// The sum of the rates of flows, bit/s.
    pub(super) fn total(&self, of: RateOf, flows: &[&Flow]) -> Option<f64> {
        rates::rates(self.frame, of, flows, self.window).map(|rates| sum(&rates))
    }

    /// The mean over its flows of the share of time for which a column of `limits` held them.
    pub(super) fn limited(&self, column: &str) -> Answer {
        let share = |flow: &&Flow| limits::share(self.frame, column, &flow.name, self.window);
        let shares: Option<Vec<f64>> = self.flows(0)?.iter().map(share).collect();
        Ok(shares.map(|shares| mean(&shares)))
    }

    /// A metric of one adaptive stream.
    pub(super) fn stream(
        &self,
        metric: impl Fn(&Frame<'_>, &str, Bounds) -> Option<f64>,
    ) -> Answer {
        match self.flows(0)?.as_slice() {
            [flow] => {
                let bounds = self.frame.bounds(self.window, &flow.name);
                Ok(bounds.and_then(|bounds| metric(self.frame, &flow.name, bounds)))
            }
            _ => Err(format!("\"{}\" is a group: ask of one flow", self.name()).into()),
        }
    }

    /// Short flows that started in the window: how many were completed, and how many not.
    pub(super) fn short_flows(&self) -> Result<(usize, usize), Fault> {
        let mut counts = (0, 0);
        for flow in self.flows(0)? {
            let bounds =
                self.frame.bounds(self.window, &flow.name).ok_or("the window is unknown")?;
            let (completed, unfinished) = self.frame.short_flows(&flow.name, bounds);
            counts = (counts.0 + completed, counts.1 + unfinished);
        }
        Ok(counts)
    }

    fn quantity(&self) -> Result<&'a Of, Fault> {
        Ok(self.call.of.as_ref().ok_or("no quantity")?)
    }

    /// The values of a flow, of a group's flows one after the other, or of a queue.
    fn sampled(&self) -> Result<Option<(Series, Bounds)>, Fault> {
        let (of, subject) = (self.quantity()?, self.name());
        let members = self.frame.members(subject);
        let names: Vec<&str> = if members.is_empty() {
            vec![subject]
        } else {
            members.iter().map(|f| f.name.as_str()).collect()
        };
        let mut all: Option<(Series, Bounds)> = None;
        for name in names {
            let Some(bounds) = self.frame.bounds(self.window, name) else { return Ok(None) };
            let series = self.frame.series(of, name, bounds);
            match &mut all {
                Some((joined, _)) => joined.join(series),
                None => all = Some((series, bounds)),
            }
        }
        Ok(all)
    }

    /// A number of the values over time and of the window.
    pub(super) fn over_time(&self, of: impl Fn(&Series, Bounds) -> Option<f64>) -> Answer {
        Ok(self.sampled()?.and_then(|(series, bounds)| of(&series, bounds)))
    }

    /// A number of the means over each second.
    pub(super) fn by_second(&self, of: impl Fn(Vec<f64>) -> Option<f64>) -> Answer {
        self.over_time(|series, bounds| of(oscillation::by_second(series, bounds)))
    }

    /// A number of the values as they stand, and of the level.
    pub(super) fn standing(&self, of: impl Fn(&Standing<'_>, f64) -> f64) -> Answer {
        self.over_time(|series, bounds| {
            let own = Standing { series, from: bounds.from };
            (!series.values.is_empty()).then(|| of(&own, self.number()))
        })
    }

    /// One number of a distribution.
    pub(super) fn aggregate(&self, which: Aggregate) -> Answer {
        let of = self.quantity()?;
        if of.histogram().is_some() {
            let names: Vec<&str> = self.call.names.iter().map(|n| n.text.as_str()).collect();
            return Ok(which.of_histogram(&delays::distribution(
                self.frame,
                of,
                &names,
                self.window,
            )?));
        }
        let by_rank = matches!(of, Of::Quantity(q) if matches!(q.table, Table::Completions(_)));
        Ok(self.sampled()?.and_then(|(series, _)| which.of_series(&series, by_rank)))
    }
}

/// The first's rate over the second's.
pub(super) fn ratio(asked: &Asked<'_>) -> Answer {
    let rate = |index| Ok::<_, Fault>(asked.total(asked.rate(), &asked.flows(index)?));
    match (rate(0)?, rate(1)?) {
        (Some(_), Some(0.0)) => Err(format!("{} has no rate", asked.call.names[1].text).into()),
        (Some(a), Some(b)) => Ok(Some(a / b)),
        _ => Ok(None),
    }
}

/// The first's rate over the sum of it and the others'.
pub(super) fn share(asked: &Asked<'_>) -> Answer {
    let own = asked.flows(0)?;
    let mut among = asked.flows_from(1)?;
    for flow in &own {
        if !among.iter().any(|f| f.name == flow.name) {
            among.push(flow);
        }
    }
    let rate = |flows: &[&Flow]| asked.total(asked.rate(), flows);
    Ok(match (rate(&own), rate(&among)) {
        (Some(part), Some(whole)) if whole > 0.0 => Some(part / whole),
        _ => None,
    })
}

/// One number of a distribution.
#[derive(Clone, Copy)]
pub(super) enum Aggregate {
    Mean,
    Min,
    Max,
    /// Of this part, 0 to 1.
    Quantile(f64),
    StandardDeviation,
    GeometricMean,
}

impl Aggregate {
    fn of_histogram(self, buckets: &[Bucket]) -> Option<f64> {
        let mut held = buckets.iter().filter(|b| b.count > 0);
        known(match self {
            Self::Mean => mean_histogram(buckets),
            Self::Min => held.next()?.low,
            Self::Max => held.next_back()?.high,
            Self::Quantile(p) => quantile_histogram(buckets, p),
            Self::StandardDeviation | Self::GeometricMean => return None,
        })
    }

    /// `by_rank` takes a percentile for the value of rank ⌈p·n⌉.
    fn of_series(self, series: &Series, by_rank: bool) -> Option<f64> {
        let values = &series.values;
        known(match (self, &series.weights) {
            (Self::Mean, Some(weights)) => weighted_mean(values, weights),
            (Self::Mean, None) => mean(values),
            (Self::Min, _) => values.iter().copied().fold(f64::NAN, f64::min),
            (Self::Max, _) => values.iter().copied().fold(f64::NAN, f64::max),
            (Self::Quantile(p), Some(weights)) => quantile_weighted(values, weights, p),
            (Self::Quantile(p), None) if by_rank => quantile_nearest_rank(&sorted(values), p),
            (Self::Quantile(p), None) => quantile_interpolated(&sorted(values), p),
            (Self::StandardDeviation, _) => standard_deviation(values),
            (Self::GeometricMean, _) => geometric_mean(values),
        })
    }
}

/// Values over time. Each holds from the value before it to itself, the first from the window's beginning.
pub(super) struct Standing<'a> {
    series: &'a Series,
    from: f64,
}

impl Standing<'_> {
    /// The time during which a condition holds, in all and at a stretch.
    fn times(&self, holds: impl Fn(f64) -> bool) -> (f64, f64) {
        let (mut total, mut longest, mut running) = (0.0, 0.0_f64, 0.0);
        let mut before = self.from;
        for (&t, &value) in self.series.times.iter().zip(&self.series.values) {
            let stood = (t - before).max(0.0);
            before = t;
            if holds(value) {
                total += stood;
                running += stood;
                longest = longest.max(running);
            } else {
                running = 0.0;
            }
        }
        (total, longest)
    }

    pub(super) fn total(&self, holds: impl Fn(f64) -> bool) -> f64 {
        self.times(holds).0
    }

    pub(super) fn longest(&self, holds: impl Fn(f64) -> bool) -> f64 {
        self.times(holds).1
    }

    pub(super) fn highest(&self) -> f64 {
        self.series.values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }
}
