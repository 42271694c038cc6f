//! A shaper and its discipline in the words of `tc` (tc(8), tc-htb(8)), for the engines that have a kernel carry them out.
//!
//! The link's rate is one class of a hierarchical token bucket; the discipline is its leaf, or the device's root where it shapes
//! itself. A line, a trace and a link by name have no equivalent in a kernel: [`unlike`] says so.

use sojourn_model::{Shaper, TcWords};
use sojourn_units::{Rate, Span};
use std::borrow::Cow;
use std::fmt::Write as _;

/// Rates as tc reads them back exactly.
pub fn tc_rate(rate: Rate) -> String {
    format!("{}bit", rate.bits_per_sec())
}

/// Times as every tc understands them: old ones know no nanoseconds.
pub fn tc_time(span: Span) -> String {
    let (whole, part) = (span.as_nanos() / 1000, span.as_nanos() % 1000);
    if part == 0 { format!("{whole}us") } else { format!("{whole}.{part:03}us") }
}

/// What of a shaper no kernel has: what, why, and what to do; none if a kernel has it.
pub const fn unlike(shaper: &Shaper) -> Option<(&'static str, &'static str, &'static str)> {
    match shaper {
        Shaper::Line { .. } => Some((
            "shaper line",
            "a kernel's device has no rate of its own",
            "use shaper = \"htb\" with a bucket of one packet",
        )),
        Shaper::Trace { .. } => Some((
            "a trace",
            "a kernel's device sends when it can, and not when a trace says",
            "run it on the simulator: --engine sim",
        )),
        Shaper::Link { .. } => Some((
            "a link by name",
            "a kernel's device sends when it can, and not when a model of a link says",
            "write by = \"sojourn\" in the hop, or run it on the simulator: --engine sim",
        )),
        Shaper::Htb { .. } | Shaper::Own { .. } => None,
    }
}

/// A discipline's words where its device is a hop's and not a host's.
///
/// A packet keeps its socket from namespace to namespace. `fq` paces a packet of a socket by the socket's own rate and makes
/// the sender leave pacing to it (`fq_classify` and `fq_dequeue` in `net/sched/sch_fq.c`), which on a router it cannot. So it is
/// made without, unless its words speak of pacing: those are refused.
pub fn at_hop(words: &TcWords) -> Cow<'_, str> {
    if words.is("fq") && !paces(words) && !words.has("nopacing") {
        Cow::Owned(format!("{words} nopacing"))
    } else {
        Cow::Borrowed(words)
    }
}

/// Whether words ask an `fq` for what it has with pacing alone.
pub fn paces(words: &TcWords) -> bool {
    words.is("fq") && (words.has("maxrate") || words.has("pacing"))
}

/// The handle of the discipline, which is read for statistics.
pub const fn handle(shaper: &Shaper) -> &'static str {
    match shaper {
        Shaper::Htb { .. } => "10",
        Shaper::Line { .. } | Shaper::Trace { .. } | Shaper::Link { .. } | Shaper::Own { .. } => {
            "1"
        }
    }
}

/// Where the discipline goes, with its handle.
pub const fn leaf_at(shaper: &Shaper) -> &'static str {
    match shaper {
        Shaper::Htb { .. } => "parent 1:1 handle 10:",
        Shaper::Line { .. } | Shaper::Trace { .. } | Shaper::Link { .. } | Shaper::Own { .. } => {
            "root handle 1:"
        }
    }
}

/// The words about the class of a token bucket; empty for other shapers. `verb` is `add` or `change`.
pub fn class_words(device: &str, shaper: &Shaper, verb: &str) -> String {
    let Shaper::Htb { rate, ceil, burst } = shaper else { return String::new() };
    let ceil = ceil.unwrap_or(*rate);
    let mut words = format!(
        "class {verb} dev {device} parent 1: classid 1:1 htb rate {} ceil {}",
        tc_rate(*rate),
        tc_rate(ceil)
    );
    if let Some(bytes) = burst {
        let _ = write!(words, " burst {bytes}b cburst {bytes}b");
    }
    words
}

/// tc's words for a queue that is there from the beginning.
pub fn first_words(device: &str, shaper: &Shaper, qdisc: &TcWords) -> Vec<String> {
    let leaf = format!("qdisc add dev {device} {} {}", leaf_at(shaper), at_hop(qdisc));
    match shaper {
        Shaper::Htb { .. } => vec![
            format!("qdisc add dev {device} root handle 1: htb default 1"),
            class_words(device, shaper, "add"),
            leaf,
        ],
        Shaper::Line { .. } | Shaper::Trace { .. } | Shaper::Link { .. } | Shaper::Own { .. } => {
            vec![leaf]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fq_at_a_hop_leaves_sockets_alone() {
        for (words, there) in [
            ("fq", "fq nopacing"),
            ("fq limit 9", "fq limit 9 nopacing"),
            ("fq nopacing limit 9", "fq nopacing limit 9"),
            ("fq_codel", "fq_codel"),
            ("fq maxrate 3mbit", "fq maxrate 3mbit"),
        ] {
            assert_eq!(at_hop(&words.into()), there);
        }
        for (words, own) in
            [("fq maxrate 3mbit", true), ("fq pacing", true), ("fq", false), ("codel", false)]
        {
            assert_eq!(paces(&words.into()), own);
        }
        let own = Shaper::Own { rate: None };
        assert_eq!(
            first_words("d", &own, &"fq".into()),
            ["qdisc add dev d root handle 1: fq nopacing"]
        );
    }
}
