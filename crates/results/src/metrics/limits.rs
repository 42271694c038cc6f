//! What limited a flow, as a share of time.

use super::series::Frame;
use super::window::WindowSpec;

/// The share of time for which a flow was limited, by a cumulative column of the table `limits`: of that part of the
/// window in which the flow ran. The time at a bound is that of the last row not after it. `None` where it is not known.
pub(super) fn share(
    frame: &Frame<'_>,
    column: &str,
    flow: &str,
    window: &WindowSpec,
) -> Option<f64> {
    const SAME: f64 = 0.5e-9;
    let bounds = frame.bounds(window, flow)?;
    let rows = frame.limits.of(flow);
    let table = &frame.limits.table;
    let (times, held) = (table.f64("t_s"), table.f64(column));
    let at = |t: f64| rows.iter().rev().find(|&&row| times[row] <= t + SAME).copied();
    let last = at(bounds.to)?;
    let (from, before) = if let Some(row) = at(bounds.from) {
        (times[row], held[row])
    } else {
        // The flow began in the window, a step before its first row at the earliest.
        let step = frame.run.scenario.sample_interval.as_secs_f64();
        ((times[*rows.first()?] - step).max(bounds.from), 0.0)
    };
    let elapsed = times[last] - from;
    let share = (held[last] - before) / elapsed;
    // Seconds are rounded nanoseconds: all of the time may come out as a little more.
    (elapsed > 0.0 && !share.is_nan()).then(|| share.min(1.0))
}
