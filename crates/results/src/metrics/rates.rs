//! Rates of flows: delivery, sharing, convergence.

use super::Quantity;
use super::known;
use super::rows::Series;
use super::series::{Frame, Of};
use super::window::{Bounds, WindowSpec};
use crate::estimators::{jain as jain_index, mean, sum};
use sojourn_model::Flow;

/// Either of the two rates of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RateOf {
    /// [`delivery_rate`].
    DeliveryRate,
    /// [`goodput`].
    Goodput,
}

fn quantity(name: &str) -> Of {
    Of::Quantity(Quantity::named(name).expect("a quantity of the table"))
}

/// Mean of the delivery-rate samples of one flow that are not zero, in bit/s: `D_SS` of the published tables
/// with the window `(t_last − W − 1, t_last − 1)` (docs/sources/testbeds.md#steady-state). `None` without a sample.
pub(super) fn delivery_rate(frame: &Frame<'_>, flow: &str, window: &WindowSpec) -> Option<f64> {
    let bounds = frame.bounds(window, flow)?;
    known(mean(&frame.series(&quantity("delivery_rate"), flow, bounds).values))
}

/// Payload that arrived at the receiver in the window, each byte once, over the window's length, in bit/s. Each row of
/// the flow counts for the part of its step inside the window; a flow counts nothing before its start
/// and after its end. A retransmission that fills a hole brings at once in order what had arrived in a whole round trip or
/// more; what waited out of order when the window began is therefore taken off, and what waits when it ends added.
pub(super) fn goodput(frame: &Frame<'_>, flow: &str, window: &WindowSpec) -> Option<f64> {
    let bounds = frame.bounds(window, flow)?;
    let step = frame.run.scenario.sample_interval.as_secs_f64();
    let rows = &frame.flows;
    let (times, rates) = (rows.table.f64("t_s"), rows.table.f64("goodput_bps"));
    if rows.of(flow).is_empty() || bounds.length() <= 0.0 {
        return None;
    }
    let waiting = rows.table.u64("out_of_order_bytes");
    let (mut before, mut waited) = (f64::NEG_INFINITY, 0.0);
    let (mut at_begin, mut at_end) = (0.0, 0.0);
    let bits: Vec<f64> = rows
        .of(flow)
        .iter()
        .map(|&row| {
            // The last row's step may be shorter than the others.
            let start = before.max(times[row] - step);
            before = times[row];
            // Within a step, both what is in order and what waits grow evenly.
            let waits = waiting[row] as f64 * 8.0;
            let upto = |t: f64| {
                let part = ((t - start) / (times[row] - start)).clamp(0.0, 1.0);
                waited + (waits - waited) * part
            };
            if bounds.from > start {
                at_begin = upto(bounds.from);
            }
            if bounds.to > start {
                at_end = upto(bounds.to);
            }
            waited = waits;
            let inside = times[row].min(bounds.to) - start.max(bounds.from);
            if inside > 0.0 && !rates[row].is_nan() { rates[row] * inside } else { 0.0 }
        })
        .collect();
    known((sum(&bits) + at_end - at_begin) / bounds.length())
}

/// A flow's rate by either measure.
pub(super) fn rate(frame: &Frame<'_>, of: RateOf, flow: &str, window: &WindowSpec) -> Option<f64> {
    match of {
        RateOf::DeliveryRate => delivery_rate(frame, flow, window),
        RateOf::Goodput => goodput(frame, flow, window),
    }
}

/// The rates of several flows, in order. A flow without samples counts as nothing, as long as one has some.
pub(super) fn rates(
    frame: &Frame<'_>,
    of: RateOf,
    flows: &[&Flow],
    window: &WindowSpec,
) -> Option<Vec<f64>> {
    let rates: Vec<Option<f64>> =
        flows.iter().map(|flow| rate(frame, of, &flow.name, window)).collect();
    if rates.iter().all(Option::is_none) {
        return None;
    }
    Some(rates.into_iter().map(|r| r.unwrap_or(0.0)).collect())
}

/// Jain's index of the flows' rates, `(Σx)² / (n·Σx²)`.
pub(super) fn jain(
    frame: &Frame<'_>,
    of: RateOf,
    flows: &[&Flow],
    window: &WindowSpec,
) -> Option<f64> {
    known(jain_index(&rates(frame, of, flows, window)?))
}

/// From the start of the last of the flows until Jain's index of their rates, averaged over one second, first
/// reaches 0.95 and stays there for five seconds; in seconds. `None` if it never does.
pub(super) fn convergence_time(frame: &Frame<'_>, of: RateOf, flows: &[&Flow]) -> Option<f64> {
    const FAIR: f64 = 0.95;
    const AVERAGE: f64 = 1.0;
    const HOLD: f64 = 5.0;
    let start = flows
        .iter()
        .map(|flow| {
            let rows = &frame.flows;
            rows.of(&flow.name).first().map(|&row| rows.table.f64("t_s")[row])
        })
        .collect::<Option<Vec<f64>>>()?
        .into_iter()
        .fold(f64::NEG_INFINITY, f64::max);
    // Of no flows the start is minus infinity, and its seconds would never reach an end.
    if !start.is_finite() {
        return None;
    }
    let start = start - frame.run.scenario.sample_interval.as_secs_f64();
    let end = flows.iter().map(|f| frame.last(&f.name)).fold(f64::INFINITY, f64::min);
    let name = match of {
        RateOf::DeliveryRate => "delivery_rate",
        RateOf::Goodput => "goodput",
    };
    let whole = Bounds { from: start, to: end };
    let series: Vec<Series> =
        flows.iter().map(|f| frame.series(&quantity(name), &f.name, whole)).collect();
    let mean_in = |series: &Series, bounds: Bounds| {
        let first = series.times.partition_point(|&t| t <= bounds.from + 0.5e-9);
        let last = series.times.partition_point(|&t| t <= bounds.to + 0.5e-9);
        let values = &series.values[first..last];
        if values.is_empty() { 0.0 } else { mean(values) }
    };
    let mut fair_since: Option<f64> = None;
    let mut second = 0;
    loop {
        let from = start + f64::from(second) * AVERAGE;
        let bounds = Bounds { from, to: from + AVERAGE };
        if bounds.to > end + 0.5e-9 {
            return None;
        }
        let rates: Vec<f64> = series.iter().map(|s| mean_in(s, bounds)).collect();
        let is_fair = jain_index(&rates) >= FAIR;
        match (is_fair, fair_since) {
            (true, None) => fair_since = Some(from),
            (false, _) => fair_since = None,
            _ => {}
        }
        if let Some(since) = fair_since
            && bounds.to - since >= HOLD - 0.5e-9
        {
            return Some(since - start);
        }
        second += 1;
    }
}
