//! What the disciplines say of themselves over netlink, by the names that `tc -s` and the simulator use.
//!
//! What is sent, and in which order, is in each discipline's table (`sojourn_qdisc::xstats`).

use sojourn_qdisc::xstats::Counted;
use sojourn_qdisc::{Discipline, disciplines};
use std::collections::BTreeMap;

/// Counts by reason and gauges of one discipline.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Own {
    /// (reason, marked or dropped, count).
    pub(crate) signals: Vec<(&'static str, bool, u64)>,
    /// (name, value).
    pub(crate) gauges: Vec<(&'static str, f64)>,
    /// (name, value), for the counters at the end.
    pub(crate) counters: Vec<(&'static str, f64)>,
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// Reads a discipline's own statistics by its table. One that is not known drops what does not fit, as far as can be seen.
pub(crate) fn read(kind: &str, own: &[u8], drops: u64) -> Own {
    let info = disciplines().iter().copied().find(|info| info.name == kind);
    let info = info.unwrap_or(&Discipline::BASE);
    let (mut at, mut values) = (0, BTreeMap::new());
    for field in info.xstats.fields {
        let rest = own.get(at..).unwrap_or_default();
        values.insert(field.name, field.form.read(rest).unwrap_or(0.0));
        at += field.form.size();
    }
    let named = |name: &'static str| values.get(name).map(|value| (name, *value));

    let count = |name| values.get(name).map_or(0, |value| *value as u64);
    let counted = info.xstats.signals.iter().map(|signal| match signal {
        Counted::Drops(_, field) => count(field),
        Counted::OtherDrops(_) | Counted::Marks(..) => 0,
    });
    let others = drops.saturating_sub(counted.sum());
    let signals = info.xstats.signals.iter().map(|signal| match signal {
        Counted::Drops(reason, field) => (reason.name(), false, count(field)),
        Counted::OtherDrops(reason) => (reason.name(), false, others),
        Counted::Marks(reason, field) => (reason.name(), true, count(field)),
    });
    Own {
        signals: signals.filter(|signal| signal.2 > 0).collect(),
        gauges: info.gauges.iter().filter_map(|gauge| named(gauge.name)).collect(),
        counters: info.counters.iter().filter_map(|counter| named(counter.name)).collect(),
    }
}

/// A congestion control's own numbers, by its answer to `TCP_CC_INFO`, under the names that the simulator uses.
pub(crate) fn control(cc: &str, info: &[u8], cwnd: u64) -> Vec<(&'static str, f64)> {
    let n = |word: usize| u32_at(info, word * 4).map(f64::from);
    match cc {
        "dctcp" if info.len() >= 16 => {
            vec![("alpha", n(1).unwrap_or(0.0) / 1024.0)]
        }
        "bbr" if info.len() >= 20 => vec![
            ("bw", u64_at(info, 0).unwrap_or(0) as f64 * 8.0),
            ("mrtt", n(2).unwrap_or(0.0) / 1e6),
            ("pacing_gain", n(3).unwrap_or(0.0) / 256.0),
            ("cwnd_gain", n(4).unwrap_or(0.0) / 256.0),
        ],
        // `struct tcp_prague_info` of version 0.7; that of 2021 and before is shorter, and its module has other scales.
        "prague" if info.len() == 40 => {
            let fixed =
                |at, bits: u32| u64_at(info, at).unwrap_or(0) as f64 / (1_u64 << bits) as f64;
            vec![
                ("alpha", fixed(0, PRAGUE_ALPHA_BITS)),
                ("carry", fixed(8, PRAGUE_WINDOW_BITS) - cwnd as f64),
                ("round", n(7).unwrap_or(0.0)),
            ]
        }
        _ => Vec::new(),
    }
}

/// Bits behind the point of Prague's alpha.
const PRAGUE_ALPHA_BITS: u32 = 24;
/// And of its window (`CWND_UNIT`).
const PRAGUE_WINDOW_BITS: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|w| w.to_ne_bytes()).collect()
    }

    #[test]
    fn drops_are_counted_by_reason() {
        let own = read("fq_codel", &words(&[0, 1514, 3, 40, 9, 1, 2, 0, 5000, 0]), 10);
        assert_eq!(
            own.signals,
            [("overlimit", false, 3), ("control_law", false, 7), ("control_law", true, 40)]
        );
        assert_eq!(own.gauges, [("new_flows_len", 1.0), ("old_flows_len", 2.0)]);
        // Fields that an older kernel does not send are zero.
        let old = read("codel", &words(&[1514, 4, 2, 5000, 0, 1, 6, 1]), 3);
        assert_eq!(old.signals[0], ("tail", false, 1));
        assert_eq!(old.gauges, [("count", 4.0), ("dropping", 1.0), ("drop_next", 0.0)]);
        assert!(
            old.counters.contains(&("ce_mark", 0.0)) && old.counters.contains(&("ldelay", 0.005))
        );
        assert_eq!(read("pfifo", &[], 5).signals, [("tail", false, 5)]);
    }

    /// The table has a name for every field that a discipline sends, and every field that a reason needs is sent.
    #[test]
    fn layouts_are_of_the_tables() {
        for info in disciplines() {
            let fields: Vec<&str> = info.xstats.fields.iter().map(|field| field.name).collect();
            for field in fields.iter().filter(|name| !name.is_empty()) {
                let mut names = info.counters.iter().map(|c| c.name);
                let mut gauges = info.gauges.iter().map(|g| g.name);
                let is_told = names.any(|n| n == *field) || gauges.any(|n| n == *field);
                assert!(is_told, "{}: {field}", info.name);
            }
            for signal in info.xstats.signals {
                if let Counted::Drops(_, field) | Counted::Marks(_, field) = signal {
                    assert!(fields.contains(field), "{}: {field}", info.name);
                }
            }
        }
    }

    /// `struct tcp_bbr_info`: the rate in two halves, the lowest RTT, the gains in 1/256. As `ss` shows them.
    #[test]
    fn bbrs_numbers_are_those_of_ss() {
        let own = control("bbr", &words(&[6_000_000, 0, 20_100, 320, 512]), 0);
        let expected = [("bw", 48e6), ("mrtt", 0.0201), ("pacing_gain", 1.25), ("cwnd_gain", 2.0)];
        assert_eq!(own, expected);
    }

    /// `struct tcp_prague_info`, version 0.7: alpha, fractional window and rate of 64 bits each, burst, round, target RTT.
    #[test]
    fn pragues_window_is_reported_beyond_the_whole_packets() {
        let info = words(&[1 << 22, 0, (10 << 20) + (1 << 19), 0, 125_000, 0, 1, 7, 25_000, 1]);
        let own = control("prague", &info, 10);
        assert_eq!(own, [("alpha", 0.25), ("carry", 0.5), ("round", 7.0)]);
        assert!(control("prague", &info[..32], 10).is_empty());
    }

    #[test]
    fn pies_probability_is_a_fraction() {
        let mut bytes = (1_u64 << 63).to_ne_bytes().to_vec();
        bytes.extend(words(&[15_000, 0, 0, 100, 7, 2, 30, 5]));
        let own = read("pie", &bytes, 7);
        assert_eq!(own.gauges[..2], [("prob", 0.5), ("delay", 0.015)]);
        assert_eq!(own.signals, [("tail", false, 2), ("early", false, 5), ("early", true, 5)]);
    }
}
