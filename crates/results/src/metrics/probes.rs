//! What probes tell beyond each packet's delay: how delay varies from one packet to the next, and loss.

use super::rows::{Rows, Series};
use super::window::Bounds;

/// `|x(i) − x(i−1)|` of a column of `pings`, of packets with consecutive numbers that both have a value
/// (RFC 3393 §2.2 with the selection of consecutive packets; absolute, as irtt gives it), at the time of the later.
pub(super) fn variation(pings: &Rows<'_>, subject: &str, column: &str, bounds: Bounds) -> Series {
    let table = &pings.table;
    let (times, numbers, values) = (table.f64("t_s"), table.u64("sequence"), table.f64(column));
    let mut rows: Vec<usize> = pings.of(subject).to_vec();
    rows.sort_by_key(|&row| numbers[row]);
    let mut series = Series::default();
    for pair in rows.windows(2) {
        let [before, row] = [pair[0], pair[1]];
        let difference = (values[row] - values[before]).abs();
        let follows = numbers[before] + 1 == numbers[row];
        if follows && !difference.is_nan() && bounds.holds(times[row]) {
            series.push(times[row], difference);
        }
    }
    series
}

/// Packets of a probe or voice call that were lost, over all of the window; those that were still on their way when
/// the run ended are left out. `None` without a packet.
pub(super) fn loss(pings: &Rows<'_>, subject: &str, bounds: Bounds) -> Option<f64> {
    let table = &pings.table;
    let (times, lost) = (table.f64("t_s"), table.text("lost"));
    let (mut all, mut missing) = (0_u64, 0_u64);
    for &row in pings.of(subject) {
        if !bounds.holds(times[row]) || lost.get(row) == "late" {
            continue;
        }
        all += 1;
        missing += u64::from(!lost.get(row).is_empty());
    }
    (all > 0).then(|| missing as f64 / all as f64)
}
