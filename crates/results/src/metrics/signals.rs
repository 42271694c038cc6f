//! Queues: marks, drops, and the use of the link.

use super::counts::part_of;
use super::known;
use super::series::Frame;
use super::window::{Bounds, WindowSpec};
use sojourn_model::{OnOff, Pulse, Shaper, Traffic};

/// Bytes that left a queue over what its rate could have carried, `8·ΔB / ∫C dt`, both over the sample intervals that end
/// in the window; the integral follows the changes of rate that happened. `None` for a queue of unknown rate.
///
/// A packet is counted where its last bit leaves. One that was on the line when the intervals began brings bytes that
/// were carried before: what of it is more than the line could carry is left out, so that a line that never rests is used
/// by 1 and no more. A shaper that saved up a burst while it was idle can exceed 1 in a window just behind.
pub(super) fn utilisation(frame: &Frame<'_>, queue: &str, window: &WindowSpec) -> Option<f64> {
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
                        | Shaper::Link { rate, .. }
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
pub(super) fn signals(
    frame: &Frame<'_>,
    element: &str,
    kind: Kind,
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
        // Elements that are no queues have no counters of their own in the tables: their reasons are added up.
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
pub(super) enum Kind {
    /// A mark.
    Mark,
    /// A drop.
    Drop,
}

impl Kind {
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

/// Packets that left in the window.
pub(super) fn departures(frame: &Frame<'_>, queue: &str, window: &WindowSpec) -> Option<f64> {
    let bounds = frame.bounds(window, queue)?;
    Some(Frame::growth(&frame.queues, queue, "sent_packets", bounds)? as f64)
}

/// Packets marked over packets that left, in the window.
pub(super) fn mark_fraction(frame: &Frame<'_>, queue: &str, window: &WindowSpec) -> Option<f64> {
    let bounds = frame.bounds(window, queue)?;
    let marks = Frame::growth(&frame.queues, queue, "marks", bounds)? as f64;
    part_of(marks, departures(frame, queue, window)?)
}
