//! The table at the end of a run.

use super::rates::{self, RateOf};
use super::series::{Frame, Of};
use super::signals::{self, Kind};
use super::window::WindowSpec;
use super::{Quantity, counts, delays, known};
use crate::estimators::{mean, quantile_weighted, weighted_mean};
use crate::estimators::{mean_histogram, quantile_histogram, quantile_interpolated, sorted, sum};
use serde::Serialize;

/// What a run came to, in the default window.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Summary {
    /// One row a flow that carries data, in the order of the scenario.
    pub flows: Vec<FlowSummary>,
    /// One row a queue that saw a packet.
    pub queues: Vec<QueueSummary>,
}

/// One flow. Quantities that cannot be measured are `None`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FlowSummary {
    /// Its name.
    pub flow: String,
    /// [`rates::delivery_rate`], bit/s.
    pub delivery_rate_bps: Option<f64>,
    /// [`rates::goodput`], bit/s.
    pub goodput_bps: Option<f64>,
    /// Its goodput over the goodput of all.
    pub share: Option<f64>,
    /// Mean of its RTT samples, s.
    pub rtt_mean_s: Option<f64>,
    /// Their 99th percentile, s.
    pub rtt_p99_s: Option<f64>,
    /// Segments sent again.
    pub retransmits: Option<f64>,
    /// Packets with CE over segments delivered.
    pub ce_fraction: Option<f64>,
}

/// One queue. Quantities that cannot be measured are `None`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct QueueSummary {
    /// Its path.
    pub queue: String,
    /// Mean sojourn time by packets, s.
    pub delay_mean_s: Option<f64>,
    /// Its 99th percentile, s: of every packet in the window where that was recorded, which means within a step would
    /// blunt; otherwise of the steps' means.
    pub delay_p99_s: Option<f64>,
    /// Packets marked.
    pub marks: Option<f64>,
    /// Packets dropped.
    pub drops: Option<f64>,
    /// [`signals::utilisation`].
    pub utilisation: Option<f64>,
}

/// Sums a run up, in its default window.
pub fn summary(frame: &Frame<'_>) -> Summary {
    let window = WindowSpec::Default;
    let scenario = &frame.run().scenario;
    let goodputs: Vec<f64> = scenario
        .flows
        .iter()
        .filter(|f| f.traffic.is_load())
        .filter_map(|f| rates::rate(frame, RateOf::Goodput, &f.name, &window))
        .collect();
    let total = sum(&goodputs);
    let series = |name: &str, subject: &str| {
        let of = Quantity::named(name).map(Of::Quantity);
        frame
            .bounds(&window, subject)
            .zip(of)
            .map(|(bounds, of)| frame.series(&of, subject, bounds))
            .unwrap_or_default()
    };
    let flows = scenario
        .flows
        .iter()
        .filter(|f| f.traffic.is_load())
        .map(|flow| {
            let name = flow.name.as_str();
            let goodput = rates::goodput(frame, name, &window);
            let rtt = series("rtt", name).values;
            let p99 = quantile_interpolated(&sorted(&rtt), 0.99);
            FlowSummary {
                flow: name.to_owned(),
                delivery_rate_bps: rates::delivery_rate(frame, name, &window),
                goodput_bps: goodput,
                share: goodput.filter(|_| total > 0.0).map(|g| g / total),
                rtt_mean_s: known(mean(&rtt)),
                rtt_p99_s: known(p99),
                retransmits: counts::retransmits(frame, &[flow], &window),
                ce_fraction: counts::ce_fraction(frame, &[flow], &window),
            }
        })
        .collect();
    let queues = scenario
        .queues()
        .filter(|path| {
            let rows = frame.queues.of(path);
            rows.last().is_some_and(|&row| {
                frame.queues.table.u64("sent_packets")[row] + frame.queues.table.u64("drops")[row]
                    > 0
            })
        })
        .map(|path| {
            let delay = series("queue_delay", &path);
            let weights = delay.weights.unwrap_or_default();
            let every = Quantity::named("sojourn").map(Of::Quantity);
            let histogram = every
                .and_then(|of| delays::distribution(frame, &of, &[&path], &window).ok())
                .unwrap_or_default();
            let (mean, p99) = if delay.values.is_empty() && !histogram.is_empty() {
                (mean_histogram(&histogram), quantile_histogram(&histogram, 0.99))
            } else if histogram.is_empty() {
                (
                    weighted_mean(&delay.values, &weights),
                    quantile_weighted(&delay.values, &weights, 0.99),
                )
            } else {
                (weighted_mean(&delay.values, &weights), quantile_histogram(&histogram, 0.99))
            };
            let signals = |kind| signals::signals(frame, &path, kind, None, &window);
            QueueSummary {
                delay_mean_s: known(mean),
                delay_p99_s: known(p99),
                marks: signals(Kind::Mark),
                drops: signals(Kind::Drop),
                utilisation: signals::utilisation(frame, &path, &window),
                queue: path,
            }
        })
        .collect();
    Summary { flows, queues }
}
