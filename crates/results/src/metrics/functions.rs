//! The metrics themselves. Each is a function of a [`Frame`] and a window, with its formula and where it comes
//! from; [`FUNCTIONS`] lists them by the names that expressions use.

use super::rows::Series;
use super::series::{Frame, Of};
use super::window::{Bounds, WindowSpec};
use super::{Quantity, Unit};
use crate::estimators::{
    Bucket, geometric_mean, jain as jain_index, mean, mean_histogram, quantile_histogram,
    quantile_interpolated, quantile_nearest_rank, quantile_weighted, sorted, standard_deviation,
    sum, weighted_mean,
};
use sojourn_model::{Flow, OnOff, Pulse, Renamed, Shaper, Traffic};

/// What a metric may be given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parameter {
    /// A quantity, or `state.NAME`.
    Quantity,
    /// `delivery_rate` or `goodput`.
    Rate,
    /// A flow or a group.
    Flow,
    /// A queue.
    Queue,
    /// A queue, or another element that marks or drops: a tunnel's end, a policer.
    Element,
    /// A flow or a queue, whichever the quantity is of.
    Subject,
    /// A value in the quantity's unit.
    Level,
    /// A percentage, 0 to 100.
    Percent,
    /// Any number of flows or groups; all that carry data if there is none.
    Flows,
    /// The reason of a mark or drop; all if it is left out.
    Reason,
    /// A value: an expression of its own, with a window of its own if it says one.
    Value,
}

/// The unit of a metric's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gives {
    /// Always this.
    Unit(Unit),
    /// That of the quantity.
    Quantity,
}

/// Where a metric looks if nothing is said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Looks {
    /// In the default window, or in the one that is given.
    Window,
    /// In the whole run by its nature.
    Run,
    /// Where the values that it is given do.
    Values,
}

impl Looks {
    /// As the reference says it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Window => "the window",
            Self::Run => "the whole run",
            Self::Values => "as its values",
        }
    }
}

/// A metric that expressions can name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// What it is given, in order.
    pub parameters: &'static [Parameter],
    /// The unit of its value.
    pub gives: Gives,
    /// What it is: formula and source.
    pub doc: &'static str,
    /// Where it looks.
    pub looks: Looks,
    /// Which it is.
    pub(super) which: Which,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Which {
    DeliveryRate,
    Goodput,
    Sum,
    Ratio,
    Share,
    Jain,
    Mean,
    Min,
    Max,
    Median,
    StandardDeviation,
    GeometricMean,
    Percentile,
    Utilisation,
    MarkFraction,
    Marks,
    Drops,
    CeFraction,
    Retransmits,
    LossRate,
    RwndLimited,
    SndbufLimited,
    CwndLimited,
    PacingLimited,
    AppLimited,
    HostLimited,
    TimeAbove,
    LongestAbove,
    LongestBelow,
    Spike,
    ConvergenceTime,
    Completed,
    Unfinished,
    FirstAbove,
    FirstBelow,
    Oscillation,
    Min1s,
    Max1s,
    Spread1s,
    Period,
    Bitrate,
    Stalls,
    StallTime,
    Switches,
    StartupDelay,
    HarmLess,
    HarmMore,
}

use Parameter::{
    Element, Flow as F, Flows, Level, Percent, Quantity as Q, Queue, Rate, Reason, Subject, Value,
};
const ONE: Gives = Gives::Unit(Unit::One);
const SECONDS: Gives = Gives::Unit(Unit::Seconds);
const RATE: Gives = Gives::Unit(Unit::BitsPerSecond);
const PACKETS: Gives = Gives::Unit(Unit::Packets);

const fn f(
    name: &'static str,
    which: Which,
    parameters: &'static [Parameter],
    gives: Gives,
    doc: &'static str,
) -> Function {
    Function { name, parameters, gives, doc, looks: Looks::Window, which }
}

/// The same, where it looks elsewhere than in a window.
const fn looking(looks: Looks, of: Function) -> Function {
    Function { looks, ..of }
}

/// What earlier versions called metrics.
pub(super) const RENAMED: &[Renamed] =
    &[("least_second", "min_1s"), ("largest_second", "max_1s"), ("range_in_a_second", "spread_1s")];

/// Every metric. `p50`, `p99`, `p99.9` … stand for `percentile` with that number.
pub const FUNCTIONS: &[Function] = &[
    f(
        "delivery_rate",
        Which::DeliveryRate,
        &[F],
        RATE,
        "Mean of the kernel's delivery-rate samples that are not zero, in the window: D_SS of the published tables (docs/sources/testbeds.md). Of a group: the sum over its flows.",
    ),
    f(
        "goodput",
        Which::Goodput,
        &[F],
        RATE,
        "Payload that arrived in the window, each byte once, over the window's length: what came in order, and what waits out of order when the window ends less what waited when it began. So it is never more than the links can carry; where the engine does not know what waits (QUIC; Linux), payload counts when it is in order. Of a group: the sum over its flows.",
    ),
    f("sum", Which::Sum, &[Rate, Flows], RATE, "Σ of the flows' rates."),
    f("ratio", Which::Ratio, &[Rate, F, F], ONE, "The first's rate over the second's."),
    f(
        "share",
        Which::Share,
        &[Rate, F, Flows],
        ONE,
        "The first's rate over the sum of the rates of the flows that follow, itself included; of all flows if none follows.",
    ),
    f(
        "jain",
        Which::Jain,
        &[Rate, Flows],
        ONE,
        "Jain's index of the flows' rates, (Σx)² / (n·Σx²) (Jain, Chiu, Hawe 1984).",
    ),
    f(
        "mean",
        Which::Mean,
        &[Q, Subject],
        Gives::Quantity,
        "Mean of the quantity's values in the window; of queue_delay weighted by packets.",
    ),
    f("min", Which::Min, &[Q, Subject], Gives::Quantity, "Least value in the window."),
    f("max", Which::Max, &[Q, Subject], Gives::Quantity, "Largest value in the window."),
    f("median", Which::Median, &[Q, Subject], Gives::Quantity, "percentile(…, 50)."),
    f(
        "sd",
        Which::StandardDeviation,
        &[Q, Subject],
        Gives::Quantity,
        "Standard deviation of the values in the window, with n − 1.",
    ),
    f(
        "geomean",
        Which::GeometricMean,
        &[Q, Subject],
        Gives::Quantity,
        "Geometric mean of the values in the window (completion times, docs/sources/applications.md).",
    ),
    f(
        "percentile",
        Which::Percentile,
        &[Q, Subject, Percent],
        Gives::Quantity,
        "Percentile of the values in the window, interpolated between the two nearest; of queue_delay of the sample intervals' means, each weighted by its packets, nearest rank: the same of every packet is sojourn's; of completion_time the value of rank ⌈p·n⌉; of a quantity of every packet (sojourn, pdv, packet_…) within the bucket of a histogram, whose width is at most 1 %.",
    ),
    f(
        "utilisation",
        Which::Utilisation,
        &[Queue],
        ONE,
        "Bytes that left the queue in the window's whole sample intervals, Ethernet header included, over what its rate could have carried in them, rate changes counted. Of a packet that was on the line when they began, no more is counted than fits.",
    ),
    f(
        "mark_fraction",
        Which::MarkFraction,
        &[Queue],
        ONE,
        "Packets marked over packets that left, in the window.",
    ),
    f(
        "marks",
        Which::Marks,
        &[Element, Reason],
        PACKETS,
        "Packets marked in the window, for a reason or for all.",
    ),
    f(
        "drops",
        Which::Drops,
        &[Element, Reason],
        PACKETS,
        "Packets dropped in the window, for a reason or for all: by a queue, or by another element, such as a tunnel's end (`bottleneck.down.ipsec-exit`) for `replay`.",
    ),
    f(
        "ce_fraction",
        Which::CeFraction,
        &[F],
        ONE,
        "Packets with CE that reached the receiver over segments delivered, in the window. Of a group: of all its flows together.",
    ),
    f(
        "retransmits",
        Which::Retransmits,
        &[F],
        PACKETS,
        "Segments sent again in the window. Of a group: the sum.",
    ),
    f(
        "loss_rate",
        Which::LossRate,
        &[F],
        ONE,
        "Segments held for lost over segments lost or delivered, in the window; of UDP by the numbers that the receiver misses; of a probe or voice call packets lost over all that came or were lost. Of a group, which has neither of these: of all its flows together.",
    ),
    f(
        "rwnd_limited",
        Which::RwndLimited,
        &[F],
        ONE,
        "Share of time in the window for which the flow was limited by its receive window (tcp_info's tcpi_rwnd_limited). Of a group, as of the limits below: the mean over its flows.",
    ),
    f(
        "sndbuf_limited",
        Which::SndbufLimited,
        &[F],
        ONE,
        "Share of time in the window for which the flow was limited by its send buffer (tcpi_sndbuf_limited).",
    ),
    f(
        "cwnd_limited",
        Which::CwndLimited,
        &[F],
        ONE,
        "Share of time in the window for which the flow was limited by its congestion window; not known on Linux.",
    ),
    f(
        "pacing_limited",
        Which::PacingLimited,
        &[F],
        ONE,
        "Share of time in the window for which the flow was limited by its pacing rate; not known on Linux.",
    ),
    f(
        "app_limited",
        Which::AppLimited,
        &[F],
        ONE,
        "Share of time in the window for which the flow was limited by its application, which had written no more; not known on Linux.",
    ),
    f(
        "host_limited",
        Which::HostLimited,
        &[F],
        ONE,
        "Share of time in the window for which the flow was limited by the small queue of its host (TSQ); not known on Linux.",
    ),
    f(
        "time_above",
        Which::TimeAbove,
        &[Q, Subject, Level],
        SECONDS,
        "Time in the window during which the quantity is above the level, each value standing from the one before it.",
    ),
    f(
        "longest_above",
        Which::LongestAbove,
        &[Q, Subject, Level],
        SECONDS,
        "The longest such time without a break: the length of a spike.",
    ),
    f(
        "longest_below",
        Which::LongestBelow,
        &[Q, Subject, Level],
        SECONDS,
        "The longest time in the window without a break during which the quantity is below the level: the length of a dead time.",
    ),
    f(
        "spike",
        Which::Spike,
        &[Q, Subject, Level],
        Gives::Quantity,
        "The largest value in the window less the level: the height of a spike above it; 0 if it never gets there.",
    ),
    looking(
        Looks::Run,
        f(
            "convergence_time",
            Which::ConvergenceTime,
            &[Rate, Flows],
            SECONDS,
            "From the start of the last of the flows until Jain's index of their rates, averaged over 1 s, first reaches 0.95 and stays there for 5 s.",
        ),
    ),
    f(
        "completed",
        Which::Completed,
        &[F],
        PACKETS,
        "Short flows that started in the window and were completed.",
    ),
    f(
        "unfinished",
        Which::Unfinished,
        &[F],
        PACKETS,
        "Short flows that started in the window and were not completed when the run ended.",
    ),
    f(
        "first_above",
        Which::FirstAbove,
        &[Q, Subject, Level],
        SECONDS,
        "From the window's beginning until the quantity is first above the level; none if it never is.",
    ),
    f(
        "first_below",
        Which::FirstBelow,
        &[Q, Subject, Level],
        SECONDS,
        "From the window's beginning until the quantity is first below the level; none if it never is.",
    ),
    f(
        "oscillation",
        Which::Oscillation,
        &[Q, Subject],
        ONE,
        "Coefficient of variation in the window, standard deviation over mean, of the means over each second (RFC 5166 §2.4).",
    ),
    f(
        "min_1s",
        Which::Min1s,
        &[Q, Subject],
        Gives::Quantity,
        "The least of the means over each second of the window.",
    ),
    f(
        "max_1s",
        Which::Max1s,
        &[Q, Subject],
        Gives::Quantity,
        "The largest of the means over each second of the window.",
    ),
    f(
        "spread_1s",
        Which::Spread1s,
        &[Q, Subject],
        Gives::Quantity,
        "Largest less least value of each second, averaged over the seconds of the window: the width of the band around a plot by seconds.",
    ),
    f(
        "period",
        Which::Period,
        &[Q, Subject],
        SECONDS,
        "Period of the quantity's ups and downs: of the means over each second the lag of the autocorrelation's highest peak behind its first fall below zero, up to two thirds of the window; none below a correlation of 0.3.",
    ),
    f(
        "bitrate",
        Which::Bitrate,
        &[F],
        RATE,
        "Mean level of an adaptive stream, by the time that each was played in the window (docs/sources/applications.md).",
    ),
    f(
        "stalls",
        Which::Stalls,
        &[F],
        PACKETS,
        "How often an adaptive stream's playing stalled in the window.",
    ),
    f(
        "stall_time",
        Which::StallTime,
        &[F],
        SECONDS,
        "Time in the window during which an adaptive stream was stalled.",
    ),
    f(
        "switches",
        Which::Switches,
        &[F],
        PACKETS,
        "How often the level that an adaptive stream plays changed in the window.",
    ),
    looking(
        Looks::Run,
        f(
            "startup_delay",
            Which::StartupDelay,
            &[F],
            SECONDS,
            "From an adaptive stream's start until it first plays.",
        ),
    ),
    looking(
        Looks::Values,
        f(
            "harm_less_is_better",
            Which::HarmLess,
            &[Value, Value],
            ONE,
            "Harm (Ware et al., HotNets 2019) to something of which less is better, such as completion times, delay, stalls: (w − s)/w, the first value s alone, the second w beside the rival; 0 if nothing got worse.",
        ),
    ),
    looking(
        Looks::Values,
        f(
            "harm_more_is_better",
            Which::HarmMore,
            &[Value, Value],
            ONE,
            "The same of something of which more is better, such as goodput or bitrate: (s − w)/s.",
        ),
    ),
];

impl Function {
    /// The metric of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        FUNCTIONS.iter().find(|f| f.name == name)
    }
}

/// Either of the two rates of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RateOf {
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
pub fn delivery_rate(frame: &Frame<'_>, flow: &str, window: &WindowSpec) -> Option<f64> {
    let bounds = frame.bounds(window, flow)?;
    known(mean(&frame.series(&quantity("delivery_rate"), flow, bounds).values))
}

/// Payload that arrived at the receiver in the window, each byte once, over the window's length, in bit/s. Each row of
/// the flow counts for the part of its step that lies in the window; a flow counts nothing before its start
/// and after its end. A retransmission that fills a hole brings at once in order what had arrived in a whole round trip or
/// more; what waited out of order when the window began is therefore taken off, and what waits when it ends added.
pub fn goodput(frame: &Frame<'_>, flow: &str, window: &WindowSpec) -> Option<f64> {
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
pub fn rate(frame: &Frame<'_>, of: RateOf, flow: &str, window: &WindowSpec) -> Option<f64> {
    match of {
        RateOf::DeliveryRate => delivery_rate(frame, flow, window),
        RateOf::Goodput => goodput(frame, flow, window),
    }
}

/// The rates of several flows, in order. A flow without samples counts as nothing, as long as one has some.
pub fn rates(
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
pub fn jain(frame: &Frame<'_>, of: RateOf, flows: &[&Flow], window: &WindowSpec) -> Option<f64> {
    known(jain_index(&rates(frame, of, flows, window)?))
}

/// Bytes that left a queue over what its rate could have carried, `8·ΔB / ∫C dt`, both over the sample intervals that end
/// in the window; the integral follows the changes of rate that happened. `None` for a queue of unknown rate.
///
/// A packet is counted where its last bit leaves. One that was on the line when the intervals began brings bytes that
/// were carried before: what of it is more than the line could carry is left out, so that a line that never rests is used
/// by 1 and no more. A shaper that saved up a burst while it was idle can exceed 1 in a window just behind.
pub fn utilisation(frame: &Frame<'_>, queue: &str, window: &WindowSpec) -> Option<f64> {
    let bounds = frame.intervals(&frame.queues, queue, frame.bounds(window, queue)?)?;
    let bytes = Frame::growth(&frame.queues, queue, "sent_bytes", bounds)? as f64;
    let could = capacity_bits(frame, queue, bounds)? / 8.0;
    let is_cut = bytes > could && bytes <= could + f64::from(largest_packet(frame));
    known(if is_cut { 1.0 } else { bytes / could })
}

/// An upper bound of the bytes that one packet of the run is on a line, Ethernet header and tunnels included.
fn largest_packet(frame: &Frame<'_>) -> u32 {
    const FULL: u32 = 1_514;
    const GROUP: u32 = 65_536 + 14;
    const UDP: u32 = 14 + 40 + 8;
    const TUNNEL: u32 = 100;
    let largest = frame.run.scenario.flows.iter().map(|flow| match &flow.traffic {
        Traffic::Udp(udp) | Traffic::OnOff(OnOff { over: Pulse::Udp(udp), .. }) => {
            udp.payload + UDP
        }
        traffic if traffic.tcp().is_some_and(|tcp| tcp.offload) => GROUP,
        _ => FULL,
    });
    largest.fold(FULL, u32::max) + TUNNEL
}

/// What a queue's rate could carry in a window, in bits.
fn capacity_bits(frame: &Frame<'_>, queue: &str, bounds: Bounds) -> Option<f64> {
    let scenario = &frame.run.scenario;
    let (_, stated) = scenario.disciplines().find(|(path, _)| path == queue)?;
    // What a link could carry between two times, at a rate or by its trace.
    let begins = scenario.warmup.as_secs_f64();
    let ms = |t: f64| ((t + begins) * 1e3 + 1e-6).max(0.0) as u64;
    let by_trace = match stated.shaper {
        Shaper::Trace { trace, .. } => scenario.traces.get(trace as usize),
        _ => None,
    };
    let first = |from: f64, to: f64, rate: f64| match by_trace {
        Some(trace) => trace.bits_between(ms(from), ms(to)) as f64,
        None => rate * (to - from).max(0.0),
    };
    let mut rate = stated.capacity()?.bits_per_sec() as f64;
    let mut bits = 0.0;
    let mut from = bounds.from;
    let mut changed = false;
    for (t, new) in rate_changes(frame, queue) {
        if t > bounds.from {
            let upto = t.min(bounds.to);
            bits += if changed { rate * (upto - from).max(0.0) } else { first(from, upto, rate) };
            from = from.max(upto);
        }
        (rate, changed) = (new, true);
    }
    let rest =
        if changed { rate * (bounds.to - from).max(0.0) } else { first(from, bounds.to, rate) };
    Some(bits + rest)
}

/// The changes of a queue's rate in the order in which they happened: planned ones at their time, others as the
/// table `events` tells.
fn rate_changes(frame: &Frame<'_>, queue: &str) -> Vec<(f64, f64)> {
    use sojourn_model::{Action, When};
    let scenario = &frame.run.scenario;
    let happened = |event: &str| -> Option<f64> {
        let table = frame.run.table("events")?;
        let subject = table.text("subject").code(&format!("event {event}"))?;
        let row = table.text("subject").codes().iter().position(|&c| c == subject)?;
        Some(table.f64("t_s")[row])
    };
    let mut changes = Vec::new();
    for event in &scenario.events {
        let new = event.actions.iter().rev().find_map(|action| match action {
            Action::Rate { element, rate } if element == queue => Some(*rate),
            Action::ReplaceQdisc {
                element,
                shaper:
                    Some(
                        Shaper::Htb { rate, .. }
                        | Shaper::Line { rate }
                        | Shaper::Trace { rate, .. }
                        | Shaper::Own { rate: Some(rate) },
                    ),
                ..
            } if element == queue => Some(*rate),
            _ => None,
        });
        let Some(new) = new else { continue };
        let at = happened(&event.name).or(match event.when {
            When::At(at) => Some(at.as_secs_f64()),
            _ => None,
        });
        if let Some(at) = at {
            changes.push((at, new.bits_per_sec() as f64));
        }
    }
    changes.sort_by(|a, b| a.0.total_cmp(&b.0));
    changes
}

/// Packets marked or dropped in the window, for one reason or for all.
pub fn signals(
    frame: &Frame<'_>,
    element: &str,
    kind: SignalKind,
    reason: Option<&str>,
    window: &WindowSpec,
) -> Option<f64> {
    let bounds = frame.bounds(window, element)?;
    let is_queue = frame.run.scenario.is_queue(element);
    if is_queue && frame.queues.of(element).is_empty() {
        return None;
    }
    let table = &frame.signals.table;
    let Some(reason) = reason else {
        if is_queue {
            return Frame::growth(&frame.queues, element, kind.column(), bounds).map(|n| n as f64);
        }
        // What is no queue has no counters of its own in the tables: its reasons are added up.
        let mut reasons: Vec<&str> =
            frame.signals.of(element).iter().map(|&row| table.text("reason").get(row)).collect();
        reasons.sort_unstable();
        reasons.dedup();
        return reasons
            .iter()
            .map(|reason| signals(frame, element, kind, Some(reason), window))
            .sum();
    };
    // Rows are there only when a count changed: the count at a bound is that of the last row not after it.
    let (times, counts) = (table.f64("t_s"), table.u64("count"));
    let at = |t: f64| {
        let upto = Bounds { from: f64::NEG_INFINITY, to: t };
        frame
            .signals
            .of(element)
            .iter()
            .rev()
            .find(|&&row| {
                upto.holds(times[row])
                    && table.text("reason").get(row) == reason
                    && table.text("kind").get(row) == kind.name()
            })
            .map_or(0, |&row| counts[row])
    };
    Some(at(bounds.to).saturating_sub(at(bounds.from)) as f64)
}

/// A mark or a drop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SignalKind {
    /// A mark.
    Mark,
    /// A drop.
    Drop,
}

impl SignalKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Mark => "mark",
            Self::Drop => "drop",
        }
    }

    const fn column(self) -> &'static str {
        match self {
            Self::Mark => "marks",
            Self::Drop => "drops",
        }
    }
}

/// Packets marked over packets that left, in the window.
pub fn mark_fraction(frame: &Frame<'_>, queue: &str, window: &WindowSpec) -> Option<f64> {
    let bounds = frame.bounds(window, queue)?;
    let marks = Frame::growth(&frame.queues, queue, "marks", bounds)? as f64;
    part_of(marks, Frame::growth(&frame.queues, queue, "sent_packets", bounds)? as f64)
}

/// Packets with CE that reached the receiver over segments delivered, in the window.
pub fn ce_fraction(frame: &Frame<'_>, flows: &[&Flow], window: &WindowSpec) -> Option<f64> {
    fraction(frame, flows, "ce", &["delivered"], window)
}

/// Segments held for lost over segments lost or delivered, in the window; of a probe or voice call, packets lost over
/// all that came or were lost.
pub fn loss_rate(frame: &Frame<'_>, flow: &Flow, window: &WindowSpec) -> Option<f64> {
    if !frame.pings.of(&flow.name).is_empty() {
        let bounds = frame.bounds(window, &flow.name)?;
        return super::probes::loss(&frame.pings, &flow.name, bounds);
    }
    loss_rate_of_group(frame, &[flow], window)
}

/// The same of several flows that send segments or datagrams: what all of them lost over what all of them lost or
/// delivered.
pub fn loss_rate_of_group(frame: &Frame<'_>, flows: &[&Flow], window: &WindowSpec) -> Option<f64> {
    fraction(frame, flows, "lost", &["lost", "delivered"], window)
}

/// Segments sent again in the window.
pub fn retransmits(frame: &Frame<'_>, flows: &[&Flow], window: &WindowSpec) -> Option<f64> {
    growth(frame, flows, "retransmits", window)
}

/// What a column of these flows grew by in the window, each flow's counted in its own bounds.
fn growth(frame: &Frame<'_>, flows: &[&Flow], column: &str, window: &WindowSpec) -> Option<f64> {
    let mut sum = 0.0;
    for flow in flows {
        let bounds = frame.bounds(window, &flow.name)?;
        sum += Frame::growth(&frame.flows, &flow.name, column, bounds)? as f64;
    }
    Some(sum)
}

fn fraction(
    frame: &Frame<'_>,
    flows: &[&Flow],
    part: &str,
    whole: &[&str],
    window: &WindowSpec,
) -> Option<f64> {
    let part = growth(frame, flows, part, window)?;
    let mut all = 0.0;
    for column in whole {
        all += growth(frame, flows, column, window)?;
    }
    part_of(part, all)
}

/// A part of a whole; of nothing there is no part.
fn part_of(part: f64, all: f64) -> Option<f64> {
    if all == 0.0 { (part == 0.0).then_some(0.0) } else { Some(part / all) }
}

/// From the start of the last of the flows until Jain's index of their rates, averaged over one second, first
/// reaches 0.95 and stays there for five seconds; in seconds. `None` if it never does.
pub fn convergence_time(frame: &Frame<'_>, of: RateOf, flows: &[&Flow]) -> Option<f64> {
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

/// Values of a quantity to be summed up: a series, or a histogram.
pub(super) enum Sample {
    Series(Series),
    Histogram(Vec<Bucket>),
}

impl Sample {
    /// One number of the sample; `None` if there is no value.
    /// `by_rank` takes a percentile for the value of rank ⌈p·n⌉.
    pub(super) fn aggregate(&self, which: Which, p: f64, by_rank: bool) -> Option<f64> {
        match self {
            Self::Histogram(buckets) => {
                let held = || buckets.iter().filter(|b| b.count > 0);
                known(match which {
                    Which::Mean => mean_histogram(buckets),
                    Which::Min => held().next()?.low,
                    Which::Max => held().next_back()?.high,
                    Which::Median => quantile_histogram(buckets, 0.5),
                    Which::Percentile => quantile_histogram(buckets, p),
                    _ => return None,
                })
            }
            Self::Series(series) => {
                let values = &series.values;
                known(match (which, &series.weights) {
                    (Which::Mean, Some(weights)) => weighted_mean(values, weights),
                    (Which::Mean, None) => mean(values),
                    (Which::Min, _) => values.iter().copied().fold(f64::NAN, f64::min),
                    (Which::Max, _) => values.iter().copied().fold(f64::NAN, f64::max),
                    (Which::Median, Some(weights)) => quantile_weighted(values, weights, 0.5),
                    (Which::Median, None) if by_rank => quantile_nearest_rank(&sorted(values), 0.5),
                    (Which::Percentile, None) if by_rank => {
                        quantile_nearest_rank(&sorted(values), p)
                    }
                    (Which::Median, None) => quantile_interpolated(&sorted(values), 0.5),
                    (Which::Percentile, Some(weights)) => quantile_weighted(values, weights, p),
                    (Which::Percentile, None) => quantile_interpolated(&sorted(values), p),
                    (Which::StandardDeviation, _) => standard_deviation(values),
                    (Which::GeometricMean, _) => geometric_mean(values),
                    _ => return None,
                })
            }
        }
    }
}

/// Times during which a condition holds of a series: all of them together, and the longest. Each value stands from
/// the value before it to itself; the first from the window's beginning.
pub(super) fn standing(series: &Series, from: f64, holds: impl Fn(f64) -> bool) -> (f64, f64) {
    let (mut total, mut longest, mut running) = (0.0, 0.0_f64, 0.0);
    let mut before = from;
    for (&t, &value) in series.times.iter().zip(&series.values) {
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

fn known(x: f64) -> Option<f64> {
    (!x.is_nan()).then_some(x)
}
