//! A stack as a table, for people: `sojourn stacks NAME`.
//!
//! Invariant: every switch is in it. [`rows!`] takes a record apart with all its fields and without `..`, so that a new switch
//! does not compile until it has a line here.

use crate::stack::Stack;
use core::fmt::{Debug, Display};
use sojourn_qdisc::QdiscQuirks;
use sojourn_transport::stack::{Independence, TcpQuirks};
use sojourn_units::Span;

/// One switch of a stack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// What this stack has.
    pub value: String,
    /// What it means.
    pub doc: &'static str,
}

/// The rows of a record: `field as "name": how to print it, "meaning";`, every field once.
macro_rules! rows {
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
    ($record:expr => $Record:ident { $($field:ident $(as $name:literal)?: $show:expr, $doc:literal;)+ }) => {{
        let $Record { $($field),+ } = *$record;
        [$(Row { name: rows!(@name $field $($name)?), value: $show($field), doc: $doc }),+]
    }};
}

impl Stack {
    /// The switches, TCP's first.
    pub fn table(&self) -> Vec<Row> {
        let tcp = rows! { &self.tcp => TcpQuirks {
        hystart: debug, "which HyStart ends CUBIC's slow start";
        hystart_rounds_by_sample: plain, "HyStart detects new rounds at every RTT sample, not only as the window grows";
        prr: debug, "bound of proportional rate reduction";
        tso_bursts: debug, "how segments leave together, and when TCP waits until more may";
        acks_push: plain, "a full segment with PSH is acknowledged at once";
        small_queue_wakes: plain, "a sender stopped by its small queue is woken when that drains, not by the next ACK";
        small_queue_passes_single: plain, "a small queue never stops a sender that has a single buffer out";
        notes_limit_unsent: plain, "an attempt that sends nothing takes note of being limited by the window";
        remembers_cwnd_limited: plain, "having been limited by the window outlives the flight";
        ecn: debug, "ECN that a flow asks for unless it says";
        acks_ecn_change: plain, "an AccECN receiver acknowledges a change of the codepoint at once";
        ace_takes_least: plain, "an ACE field counts as the least number of marks that it can mean, wrapped or not";
        prague: debug, "which TCP Prague";
        rtt_independence: independence, "RTT independence of a Prague up to 2021, where it is not the version's own";
        echoes_sce: plain, "a receiver echoes ECT(1) as SCE";
        sce: debug, "which SCE senders";
        accecn_option: plain, "every packet of an AccECN connection but the SYN has its option";
        accecn_syn_twice: plain, "the first SYN that is repeated asks for AccECN again";
        ack_event_counts_its_ack: plain, "DCTCP's alpha sees the ACK that ends its window";
        timer_slack: ticks_or_span, "added to the timers of tail-loss probes and of RACK";
        dsack_needs_reordering: plain, "a duplicate widens RACK's window only where reordering was seen";
        rate_sample_by_send_time: plain, "a rate sample is of the segment sent last, by its time of sending";
        syn_linear_timeouts: plain, "SYNs repeated at the first interval before it doubles";
        sack_blocks_kept: plain, "SACK blocks that a held-back ACK may have before it is let go";
        hz: plain, "ticks a second of TCP's coarse clock";
        initial_window: plain, "segments";
        receive_buffer: pair, "bytes, default and largest";
        send_buffer: plain, "bytes, largest";
        skb_overhead: plain, "bytes that a buffer of data counts in the send buffer on top of its payload";
        receive_tuning: debug, "how the receive buffer grows with what is read";
        window_share: share, "share of the receive buffer offered as window";
        window_share_measured: plain, "the first full segment decides that share";
        compressed_sack_percent: plain, "longest wait of a compressed SACK, percent of the RTT";
        netperf: plain, "a bulk flow begins when its control connection has agreed on it, two round trips";
        start_jitter: plain, "a flow starts uniformly within this after its nominal time";
        host_jitter: plain, "a packet leaves its host uniformly within this after what caused it, in order";
        }};
        let qdisc = rows! { &self.qdisc => QdiscQuirks {
        name as "qdisc.profile": plain, "the kernel of these queues, by its name in messages about tc's words";
        hz as "qdisc.hz": plain, "ticks a second of the queues' clock";
        pie_estimator: debug, "how PIE learns the delay";
        codel: debug, "CoDel's law: whether an empty queue starts over and a dequeue's drops are bounded";
        pie_probability_bits: plain, "bits of PIE's probability";
        fq_codel_drop_batch_bug: plain, "fq_codel takes the lesser of 1 and drop_batch";
        cake_lower_effort: plain, "CAKE's diffserv3 puts lower effort (DSCP 1) into the bulk tin";
        red_adapts: plain, "red adaptive moves the probability: tc puts the word where the kernel looks for it";
        fq_codel_ce_threshold_selector: plain, "fq_codel has ce_threshold_selector";
        dualpi2: debug, "which DualPI2: exemption from the step, memory limit";
        sce_mirrors_at_rest: plain, "queues with SCE put a quiet flow's first mark off";
        }};
        tcp.into_iter().chain(qdisc).collect()
    }
}

fn plain(value: impl Display + Copy) -> String {
    value.to_string()
}

fn debug(value: impl Debug + Copy) -> String {
    format!("{value:?}")
}

fn ticks_or_span(slack: Option<Span>) -> String {
    slack.map_or_else(|| "2 ticks".to_owned(), |s| s.to_string())
}

fn pair((default, largest): (u32, u32)) -> String {
    format!("{default} {largest}")
}

fn share(share: u32) -> String {
    format!("{share}/256")
}

fn independence(set: Option<Independence>) -> String {
    set.map_or_else(
        || "the version's own".to_owned(),
        |i| format!("{:?}, target {}", i.scaling, Span::from_micros(u64::from(i.target_us))),
    )
}

#[cfg(test)]
mod tests {
    use crate::{STACKS, Stack};
    use core::fmt::Debug;

    /// The fields of a record, as its `Debug` lays them out: independent of the macro.
    fn fields(record: &impl Debug) -> Vec<String> {
        let text = format!("{record:#?}");
        let own = text.lines().filter_map(|line| line.strip_prefix("    "));
        own.filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()))
            .filter_map(|line| line.split_once(':').map(|(field, _)| field.to_owned()))
            .collect()
    }

    #[test]
    fn every_switch_has_its_line() {
        let stack = &STACKS[0];
        let names: Vec<&str> = stack.table().iter().map(|row| row.name).collect();
        let tcp = fields(&stack.tcp);
        let qdisc = fields(&stack.qdisc).into_iter().map(|field| match field.as_str() {
            "name" => "qdisc.profile".to_owned(),
            "hz" => "qdisc.hz".to_owned(),
            _ => field,
        });
        assert_eq!(names, tcp.into_iter().chain(qdisc).collect::<Vec<_>>());
        assert!(names.contains(&"rtt_independence") && names.contains(&"cake_lower_effort"));
    }

    #[test]
    fn stacks_that_differ_do_so_in_the_table() {
        let value = |stack: &str, name: &str| {
            let table = Stack::named(stack).expect("it is there").table();
            table.into_iter().find(|row| row.name == name).expect("it is there").value
        };
        for a in STACKS {
            for b in STACKS {
                let same = a.tcp == b.tcp && a.qdisc == b.qdisc;
                assert_eq!(a.table() == b.table(), same, "{} and {}", a.name, b.name);
            }
        }
        assert_eq!(value("linux-7.3", "cake_lower_effort"), "true");
        assert_eq!(value("linux-5.4", "cake_lower_effort"), "false");
        assert_eq!(value("linux-5.4", "timer_slack"), "2 ticks");
        assert_eq!(value("linux-7.3", "receive_buffer"), "131072 6291456");
        assert_eq!(value("l4steam-2020-03", "qdisc.profile"), "l4steam-2020-03");
    }
}
