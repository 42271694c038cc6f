//! Text in the layout of `tc -s -d qdisc show`, for a person who knows it by heart (a run's teardown text).
//! Numbers are also columns elsewhere; nothing should parse this.

use crate::table::{Shown, Unit};
use crate::{Discipline, Stats};
use core::fmt::Write as _;

/// A size as tc prints it (`print_size`).
pub(crate) fn size(bytes: u64) -> String {
    let scaled = |unit: u64, name| {
        // tc rounds to a tenth and prefers the unit if that is near enough to what is meant.
        let tenths = (bytes as f64 * 10.0 / unit as f64).round() as u64;
        let exact = bytes >= unit && (tenths * unit / 10).abs_diff(bytes) < 1024;
        exact.then(|| format!("{}{name}", tenths as f64 / 10.0))
    };
    scaled(1 << 20, "Mb").or_else(|| scaled(1 << 10, "Kb")).unwrap_or_else(|| format!("{bytes}b"))
}

/// A time as tc prints it (`sprint_time`): at most three digits behind the point, and no finer than microseconds.
fn time(seconds: f64) -> String {
    let micros = (seconds * 1e6).round();
    match micros.abs() {
        m if m >= 1e6 => format!("{}s", (micros / 1e3).round() / 1e3),
        m if m >= 1e3 => format!("{}ms", micros / 1e3),
        _ => format!("{micros}us"),
    }
}

fn value(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Seconds => time(value),
        Unit::Probability => format!("{value:.6}"),
        Unit::Count | Unit::Bytes | Unit::BytesPerSecond | Unit::Ticks | Unit::Flag => {
            value.to_string()
        }
    }
}

/// What `tc -s -d qdisc show` prints for a discipline: its configuration, the common lines, its own lines.
pub fn show(info: &Discipline, configuration: &str, stats: &Stats) -> String {
    let Stats { bytes, packets, dropped, overlimits, backlog, own } = stats;
    let mut text = format!(
        "qdisc {} {configuration}\n \
         Sent {bytes} bytes {packets} pkt (dropped {dropped}, overlimits {overlimits} requeues 0)\n \
         backlog {}b {}p requeues 0\n",
        info.name, backlog.bytes, backlog.packets,
    );
    let mut line = None;
    for (counter, &(name, number)) in info.counters.iter().zip(own) {
        debug_assert_eq!(counter.name, name, "statistics come in the table's order");
        if matches!(counter.shown, Shown::NonZero | Shown::Flag) && number == 0.0 {
            continue;
        }
        let colon = if counter.shown == Shown::Colon { ":" } else { "" };
        // tc indents by two what a discipline prints in a row, by one what has colons.
        let lead = match line {
            Some(l) if l == counter.line => " ",
            _ if colon.is_empty() => "\n  ",
            _ => "\n ",
        };
        let lead = if line.is_none() { &lead[1..] } else { lead };
        line = Some(counter.line);
        write!(text, "{lead}{name}{colon}").expect("a string takes everything");
        if counter.shown != Shown::Flag {
            write!(text, " {}", value(number, counter.unit)).expect("a string takes everything");
        }
    }
    if line.is_some() {
        text.push('\n');
    }
    text
}
