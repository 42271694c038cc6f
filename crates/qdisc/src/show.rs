//! Text in the layout of `tc -s -d qdisc show`, for a person who knows it by heart (a run's teardown text).
//! Numbers are also columns elsewhere; nothing should parse this.

use crate::table::{Shown, Unit};
use crate::{Discipline, Stats};
use core::fmt::Write as _;
use sojourn_units::Span;

/// `value` with `digits` significant digits and no zeros behind them, as C's `%g` has it for what is usual.
pub(crate) fn significant(value: f64, digits: i32) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let magnitude = libm::log10(value.abs()).floor() as i32;
    let scale = libm::pow(10.0, f64::from((digits - 1 - magnitude).clamp(-300, 300)));
    (value * scale).round() / scale
}

/// A size as tc prints it (`print_size`): in a larger unit if that is near enough.
pub(crate) fn size(bytes: u64) -> String {
    let whole = |unit: u64, name, near| {
        let units = (bytes as f64 / unit as f64).round() as u64;
        let is_near = bytes >= unit && (units * unit).abs_diff(bytes) < near;
        is_near.then(|| format!("{units}{name}"))
    };
    whole(1 << 20, "Mb", 1024)
        .or_else(|| whole(1 << 10, "Kb", 16))
        .unwrap_or_else(|| format!("{bytes}b"))
}

/// A time as tc prints it (`print_time`): three digits of the largest unit that it reaches. 4.999 ms, which
/// CoDel's time unit makes of 5, is 5 again.
pub(crate) fn time(span: Span) -> String {
    let nanos = span.as_nanos() as f64;
    let (unit, name) = match span.as_nanos() {
        1_000_000_000.. => (1e9, "s"),
        1_000_000.. => (1e6, "ms"),
        1_000.. => (1e3, "us"),
        _ => return format!("{nanos}ns"),
    };
    format!("{}{name}", significant(nanos / unit, 3))
}

/// A share of all ones in 32 bits, as tc prints it (`print_percent`).
pub(crate) fn percent(share: u32) -> String {
    format!("{}%", significant(f64::from(share) * 100.0 / f64::from(u32::MAX), 6))
}

fn value(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Seconds if value < 1e-6 => "0us".to_owned(),
        Unit::Seconds => time(Span::from_secs_f64(value)),
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
    let mut counters = info.counters.iter();
    for &(name, number) in own {
        // A discipline does not tell of classes that are not there.
        let Some(counter) = counters.find(|counter| counter.name == name) else {
            debug_assert!(false, "statistics come in the table's order: {name}");
            break;
        };
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
