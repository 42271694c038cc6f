//! What the disciplines say of themselves over netlink, by the names that `tc -s` and the simulator use.
//!
//! The layouts are those of the kernel's interface (`linux/pkt_sched.h`), which only ever grow at their ends:
//! what an older kernel does not send is left out.

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

/// Reads a discipline's own statistics.
pub(crate) fn read(kind: &str, own: &[u8], drops: u64) -> Own {
    let n = |word: usize| u32_at(own, word * 4).unwrap_or(0);
    let count = |word: usize| u64::from(n(word));
    let number = |word: usize| f64::from(n(word));
    let mut out = Own::default();
    match kind {
        "codel" => {
            // maxpacket count lastcount ldelay drop_next drop_overlimit ecn_mark dropping ce_mark
            let tail = count(5);
            out.signals = vec![
                ("tail", false, tail),
                ("control_law", false, drops.saturating_sub(tail)),
                ("control_law", true, count(6)),
                ("ce_threshold", true, count(8)),
            ];
            let due = f64::from(n(4).cast_signed()) / 1e6;
            let dropping = number(7);
            out.gauges = vec![
                ("count", number(1)),
                ("dropping", dropping),
                ("drop_next", if dropping > 0.0 { due } else { 0.0 }),
            ];
            out.counters = vec![
                ("count", number(1)),
                ("lastcount", number(2)),
                ("ldelay", number(3) / 1e6),
                ("maxpacket", number(0)),
                ("ecn_mark", number(6)),
                ("drop_overlimit", number(5)),
                ("ce_mark", number(8)),
            ];
        }
        "fq_codel" => {
            // type | maxpacket drop_overlimit ecn_mark new_flow_count new_flows_len old_flows_len ce_mark
            // memory_usage drop_overmemory
            let over = count(2);
            out.signals = vec![
                ("overlimit", false, over),
                ("control_law", false, drops.saturating_sub(over)),
                ("control_law", true, count(3)),
                ("ce_threshold", true, count(7)),
            ];
            out.gauges = vec![("new_flows_len", number(5)), ("old_flows_len", number(6))];
            out.counters = vec![
                ("maxpacket", number(1)),
                ("drop_overlimit", number(2)),
                ("ecn_mark", number(3)),
                ("new_flow_count", number(4)),
                ("ce_mark", number(7)),
                ("memory_used", number(8)),
                ("drop_overmemory", number(9)),
            ];
        }
        "pie" => {
            // prob (64 bits) delay avg_dq_rate dq_rate_estimating packets_in dropped overlimit maxq ecn_mark
            let prob = u64_at(own, 0).unwrap_or(0) as f64 / 18_446_744_073_709_551_616.0;
            let tail = count(7);
            out.signals = vec![
                ("tail", false, tail),
                ("early", false, drops.saturating_sub(tail)),
                ("early", true, count(9)),
            ];
            out.gauges =
                vec![("prob", prob), ("delay", number(2) / 1e6), ("avg_dq_rate", number(3))];
            out.counters = vec![
                ("prob", prob),
                ("pkts_in", number(5)),
                ("overlimit", number(7)),
                ("dropped", number(6)),
                ("maxq", number(8)),
                ("ecn_mark", number(9)),
            ];
        }
        "red" => {
            // early pdrop other marked
            out.signals = vec![
                ("early", false, count(0)),
                ("tail", false, drops.saturating_sub(count(0))),
                ("early", true, count(3)),
            ];
            out.counters = vec![
                ("early", number(0)),
                ("pdrop", number(1)),
                ("other", number(2)),
                ("marked", number(3)),
            ];
        }
        "dualpi2" => {
            // prob delay_c delay_l packets_in_c packets_in_l maxq ecn_mark step_marks credit memory_used …
            out.signals =
                vec![("step", true, count(7)), ("early", true, count(6)), ("early", false, drops)];
            out.gauges = vec![
                ("prob", number(0) / 4_294_967_296.0),
                ("delay_c", number(1) / 1e6),
                ("delay_l", number(2) / 1e6),
            ];
            out.counters = vec![
                ("pkts_in_c", number(3)),
                ("pkts_in_l", number(4)),
                ("maxq", number(5)),
                ("ecn_mark", number(6)),
                ("step_marks", number(7)),
            ];
        }
        _ => out.signals = vec![("tail", false, drops)],
    }
    out.signals.retain(|s| s.2 > 0);
    out
}

/// A congestion control's own numbers, by its answer to `TCP_CC_INFO`.
pub(crate) fn control(cc: &str, info: &[u8]) -> Vec<(&'static str, f64)> {
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
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|w| w.to_ne_bytes()).collect()
    }

    #[test]
    fn drops_are_told_apart_by_reason() {
        let own = read("fq_codel", &words(&[0, 1514, 3, 40, 9, 1, 2, 0, 5000, 0]), 10);
        assert_eq!(
            own.signals,
            [("overlimit", false, 3), ("control_law", false, 7), ("control_law", true, 40)]
        );
        assert_eq!(own.gauges, [("new_flows_len", 1.0), ("old_flows_len", 2.0)]);
        // What an older kernel does not send is zero.
        let old = read("codel", &words(&[1514, 4, 2, 5000, 0, 1, 6, 1]), 3);
        assert_eq!(old.signals[0], ("tail", false, 1));
        assert_eq!(old.gauges[0], ("count", 4.0));
        assert_eq!(read("pfifo", &[], 5).signals, [("tail", false, 5)]);
    }

    /// `struct tcp_bbr_info`: the rate in two halves, the lowest RTT, the gains in 1/256. As `ss` shows them.
    #[test]
    fn bbrs_numbers_are_those_of_ss() {
        let own = control("bbr", &words(&[6_000_000, 0, 20_100, 320, 512]));
        let expected = [("bw", 48e6), ("mrtt", 0.0201), ("pacing_gain", 1.25), ("cwnd_gain", 2.0)];
        assert_eq!(own, expected);
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
