//! Counters of flows: losses, marks, retransmissions.

use super::series::Frame;
use super::window::WindowSpec;
use sojourn_model::Flow;

/// Packets with CE that reached the receiver over segments delivered, in the window.
pub(super) fn ce_fraction(frame: &Frame<'_>, flows: &[&Flow], window: &WindowSpec) -> Option<f64> {
    fraction(frame, flows, "ce", &["delivered"], window)
}

/// Segments held for lost over segments lost or delivered, in the window; of a probe or voice call, packets lost over
/// all that came or were lost. Of several flows: of all of them together.
pub(super) fn loss_rate(frame: &Frame<'_>, flows: &[&Flow], window: &WindowSpec) -> Option<f64> {
    match flows {
        [probe] if !frame.pings.of(&probe.name).is_empty() => {
            let bounds = frame.bounds(window, &probe.name)?;
            super::probes::loss(&frame.pings, &probe.name, bounds)
        }
        _ => fraction(frame, flows, "lost", &["lost", "delivered"], window),
    }
}

/// Segments sent again in the window.
pub(super) fn retransmits(frame: &Frame<'_>, flows: &[&Flow], window: &WindowSpec) -> Option<f64> {
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
pub(super) fn part_of(part: f64, all: f64) -> Option<f64> {
    if all == 0.0 { (part == 0.0).then_some(0.0) } else { Some(part / all) }
}
