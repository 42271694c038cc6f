//! Rates and times in tc's words.

use sojourn_units::{Rate, Span};

/// Rates as tc reads them back exactly.
pub(crate) fn tc_rate(rate: Rate) -> String {
    format!("{}bit", rate.bits_per_sec())
}

/// Times as every tc understands them: old ones know no nanoseconds.
pub(crate) fn tc_time(span: Span) -> String {
    let (whole, part) = (span.as_nanos() / 1000, span.as_nanos() % 1000);
    if part == 0 { format!("{whole}us") } else { format!("{whole}.{part:03}us") }
}
