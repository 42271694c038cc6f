//! Named stacks: tables of the switches in which one kernel, as one testbed had it configured, differs from
//! another. To add a stack, add an entry to [`STACKS`].

mod stack;
mod table;

/// The example of the README runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use stack::Stack;
pub use table::Row;

use sojourn_qdisc::QdiscQuirks;
use sojourn_transport::stack::{EcnRequest, PragueVersion, SceSenders, TcpQuirks};
use sojourn_units::Span;

/// The stack that is meant when none is named.
pub const DEFAULT: &str = "linux-7.3";

/// What a program takes to start and open its connection, on any host: a flow starts uniformly within this after its nominal
/// time. The Linux engine draws the same.
pub const START_JITTER: Span = Span::from_millis(25);

/// Flent's, less what is common to all flows of a run: in captures (`ect1_pcap.csv`, `first_rel_T0`) of first flows through
/// an empty path without jitter the first data packet is there 5.062 to 5.067 s after the first ping's reply in 16 of 17 runs
/// at 20 ms of base RTT, 5.212 to 5.217 in all 4 at 80 ms, 5.406 and 5.409 in the 2 at 160 ms. `ss`, which looks every 65
/// ms, sees them later.
const FLENT_JITTER: Span = Span::from_millis(5);

/// A packet leaves its host uniformly within this after what caused it, on every engine. Departures of the published test
/// beds scatter by about 3 µs around the ideal (p1 239, p99 245 µs at a spacing of 242 µs). Without it flows fall into step
/// with one another, and with the queue.
pub const HOST_JITTER: Span = Span::from_micros(6);

/// Kernels of the main line on hosts like those of the published beds.
const LINUX_7_3: TcpQuirks =
    TcpQuirks { start_jitter: START_JITTER, host_jitter: HOST_JITTER, ..TcpQuirks::LINUX_7_3 };
const LINUX_5_10: TcpQuirks =
    TcpQuirks { start_jitter: START_JITTER, host_jitter: HOST_JITTER, ..TcpQuirks::LINUX_5_10 };
const LINUX_5_4: TcpQuirks =
    TcpQuirks { start_jitter: START_JITTER, host_jitter: HOST_JITTER, ..TcpQuirks::LINUX_5_4 };

/// The L4S team's kernels negotiate AccECN for every TCP (`tcp_ecn` 3 on both hosts of the published runs). Flent starts
/// their flows. Ticks are milliseconds (see `QdiscQuirks::L4STEAM_2020_04`).
const L4STEAM_2020_04: TcpQuirks = TcpQuirks {
    hz: 1000,
    ecn: EcnRequest::AccEcn,
    prague: PragueVersion::April2020,
    netperf: true,
    start_jitter: FLENT_JITTER,
    ..LINUX_5_4
};
const L4STEAM_2020_04_FIXED: TcpQuirks =
    TcpQuirks { prague: PragueVersion::April2020Fixed, ..L4STEAM_2020_04 };
const L4STEAM_2020_08: TcpQuirks =
    TcpQuirks { prague: PragueVersion::August2020, ..L4STEAM_2020_04 };
/// RTT independence is on by default by November: Prague at 0.5 to 30 ms shares by it in the ICCRG's runs. Pairs of packets are
/// not yet the least that leaves: with them one flow at 20 Mbit/s would leave the link idle for 0.3 % of the time at 5 and 20
/// ms, where the published goodput is that of the full link. Their bed delays ACKs alone, and its router lets packets go
/// properly. Its flows are iperf3's, with a control connection that is not modelled: they have the path to themselves
/// when they start.
const L4STEAM_2020_11: TcpQuirks = TcpQuirks {
    prague: PragueVersion::November2020,
    small_queue_wakes: true,
    netperf: false,
    start_jitter: START_JITTER,
    ..L4STEAM_2020_04
};
/// On the same bed, with the Prague of August and its classic-ECN detector off. That it was off in these runs is
/// inferred from them: the detector takes a base RTT that rises within 300 s from 5 to 10 ms for a queue, and with
/// April's on the flow gets 12 Mbit/s of 95 against another Prague from then on (43 published) and 11 at the same base
/// RTT (47).
const L4STEAM_2020_03: TcpQuirks = TcpQuirks {
    prague: PragueVersion::August2020,
    small_queue_wakes: true,
    netperf: false,
    ..L4STEAM_2020_04
};
const L4STEAM_2021_06: TcpQuirks = TcpQuirks { ecn: EcnRequest::AccEcn, ..LINUX_5_10 };
/// 5.15.72. No switch but Prague's is known to differ from 5.10 here.
const L4STEAM_2024: TcpQuirks = TcpQuirks { prague: PragueVersion::Early0_7, ..L4STEAM_2021_06 };

/// The SCE project's harness sets `tcp_ecn` 1 and `tcp_sce` 1 on both hosts, and runs Flent.
const SCE_2020_03: TcpQuirks =
    TcpQuirks { echoes_sce: true, netperf: true, start_jitter: FLENT_JITTER, ..LINUX_5_4 };
const SCE_2020_03_FIXED: TcpQuirks = TcpQuirks { sce: SceSenders::Corrected, ..SCE_2020_03 };

/// Every stack.
pub const STACKS: &[Stack] = &[
    Stack {
        name: "linux-7.3",
        summary: "mainline 7.3 between namespaces, offloads off, no host qdisc, ECN requested",
        source: "Linux 7.3 net/ipv4, net/sched",
        tcp: LINUX_7_3,
        qdisc: QdiscQuirks::LINUX_7_3,
    },
    Stack {
        name: "linux-5.10",
        summary: "mainline 5.10, otherwise as linux-7.3",
        source: "Linux 5.10 net/ipv4, net/sched",
        tcp: LINUX_5_10,
        qdisc: QdiscQuirks::LINUX_5_10,
    },
    Stack {
        name: "linux-5.4",
        summary: "mainline 5.4, the base of the kernels of the published tests of 2020",
        source: "Linux 5.4 net/ipv4, net/sched",
        tcp: LINUX_5_4,
        qdisc: QdiscQuirks::LINUX_5_4,
    },
    Stack {
        name: "l4steam-2020-03",
        summary: "the L4S team's 5.4-rc3 of March 2020 on the bed of l4steam-2020-11: for their RTT-independence runs",
        source: "L4STeam/linux tag testing/01-03-2020, by b256daed; their rtt-independence",
        tcp: L4STEAM_2020_03,
        qdisc: QdiscQuirks::L4STEAM_2020_03,
    },
    Stack {
        name: "l4steam-2020-04",
        summary: "the L4S team's 5.4-rc3 of April 2020: AccECN; Prague with its classic-ECN fallback",
        source: "L4STeam/linux e741f5ac; DualPI2 as at e1ec6e79 and in its overload-experiments",
        tcp: L4STEAM_2020_04,
        qdisc: QdiscQuirks::L4STEAM_2020_04,
    },
    Stack {
        name: "l4steam-2020-04-fixed",
        summary: "l4steam-2020-04 with Prague's rule after a loss fixed, as in the team's runs of 25 April 2020",
        source: "L4STeam/linux 1014c0e45f63: e741f5ac with the loss rule of b256daed",
        tcp: L4STEAM_2020_04_FIXED,
        qdisc: QdiscQuirks::L4STEAM_2020_04_FIXED,
    },
    Stack {
        name: "l4steam-2020-08",
        summary: "the L4S team's 5.4-rc3 of 4 August 2020: AccECN; Prague's fallback off",
        source: "L4STeam/linux b256daed",
        tcp: L4STEAM_2020_08,
        qdisc: QdiscQuirks::L4STEAM_2020_08,
    },
    Stack {
        name: "l4steam-2020-11",
        summary: "the L4S team's 5.4-rc3 of November 2020: AccECN; Prague with RTT independence",
        source: "L4STeam/linux d2ac7ff9 (ICCRG 109)",
        tcp: L4STEAM_2020_11,
        qdisc: QdiscQuirks::L4STEAM_2020_11,
    },
    Stack {
        name: "l4steam-2021-06",
        summary: "the L4S team's 5.10 of 28 June 2021: AccECN; Prague with RTT independence",
        source: "L4STeam/linux 3cc38518",
        tcp: L4STEAM_2021_06,
        qdisc: QdiscQuirks::L4STEAM_2021_06,
    },
    Stack {
        name: "l4steam-2024",
        summary: "the L4S team's 5.15.72 of 2024: AccECN; an early Prague 0.7",
        source: "L4STeam/linux 56eae305, release testing-build; Prague as in L4STeam/tcp-prague 90aea47f",
        tcp: L4STEAM_2024,
        qdisc: QdiscQuirks::L4STEAM_2024,
    },
    Stack {
        name: "sce-2020-03",
        summary: "the SCE project's kernel of March 2020, of 5.4's time: RFC 3168 ECN, receivers echo SCE",
        source: "chromi/sce 05bf6c32, 016a60ca, 63982553",
        tcp: SCE_2020_03,
        qdisc: QdiscQuirks::SCE_2020_03,
    },
    Stack {
        name: "sce-2020-03-fixed",
        summary: "sce-2020-03 with the bugs of its SCE senders and queues fixed, which no kernel has",
        source: "draft-morton-tsvwg-sce; the comments of chromi/sce net/ipv4",
        tcp: SCE_2020_03_FIXED,
        qdisc: QdiscQuirks::SCE_2020_03_FIXED,
    },
];

impl Stack {
    /// The stack of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        STACKS.iter().find(|s| s.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::STACKS;
    use sojourn_qdisc::QdiscQuirks;

    /// What a discipline says of an option that its kernel lacks names the kernel by its profile: that of the stack which was
    /// asked for, and no stack is without.
    #[test]
    fn a_stacks_queues_answer_by_its_name() {
        for stack in STACKS {
            assert_eq!(stack.qdisc.name, stack.name);
            assert_eq!(QdiscQuirks::named(stack.name), Some(&stack.qdisc));
        }
        assert_eq!(QdiscQuirks::ALL.len(), STACKS.len());
    }
}
