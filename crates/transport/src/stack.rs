//! The quirks in which the TCP of one named stack differs from another's.
//!
//! A switch is here because two kernels differ in it, or because the host that ran a published testbed was
//! configured so. Everything else is common to all stacks and written once in its own file.

use sojourn_units::Span;

/// Which HyStart ends slow start (both are CUBIC's, `net/ipv4/tcp_cubic.c`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HyStartVariant {
    /// Up to Linux 5.5: millisecond clock, ACK train against half the minimum delay, delay from the first eight
    /// samples of a round.
    Milliseconds,
    /// From Linux 5.6: microsecond clock, train threshold with an allowance for bursts, halved for a socket that
    /// is not paced; the round's delay keeps falling with every sample.
    Microseconds,
}

/// How much a reduction may send per ACK once the flight is below `ssthresh`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrrBound {
    /// Up to Linux 5.14: slow-start bound only on an ACK that acknowledges a retransmission and loses none.
    Rfc6937,
    /// From Linux 5.15: slow-start bound on every ACK that makes progress and reveals no new loss (RFC 6937bis).
    Rfc6937bis,
}

/// How the receive buffer grows with what the application reads (`tcp_rcv_space_adjust`, dynamic right-sizing). While
/// the window grows, each segment is acknowledged by itself, so that this decides how many ACKs a slow start gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiveTuning {
    /// Twice what was read in the last round trip and 16 segments, and more in proportion while that grows, in segments with
    /// their memory by guess; the round trip is smoothed both ways. Up to 5.10 at the least.
    Generous,
    /// Twice what was read in the last round trip, more in proportion while that grows (below 1 ms of RTT little more), and
    /// what is out of order; in memory as measured. A round trip that is lower than the estimate is taken for it at once.
    /// Linux 7.3.
    Exact,
}

/// How segments leave together, and when TCP would rather wait until more may (`tcp_write_xmit`,
/// `tcp_tso_should_defer` in `net/ipv4/tcp_output.c`). From Linux 4.17 on TCP builds bursts whatever its device can do:
/// with offloads off they are cut apart on the way to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TsoBursts {
    /// Up to Linux 4.16 on a device without segmentation: one by one, at once.
    Singly,
    /// From Linux 4.17: waits if the next ACK is expected within half a round trip. A burst ends where one of the
    /// buffers ends that the application's data was put into, and the last of a buffer waits for nothing.
    HalfRtt,
    /// From Linux 6.18: waits if the next ACK is expected within half a round trip and within a millisecond ("tcp: fix
    /// tcp_tso_should_defer() vs large RTT", October 2025). The other changes since 5.15 go with it: bursts are larger
    /// on paths below 16 ms (5.18), and reach into the next buffer (6.10).
    Millisecond,
}

pub use crate::cc::prague::{Independence, Scaling, Version as PragueVersion};
pub use crate::ecn::Request as EcnRequest;

/// The version of the SCE senders (`cubic-sce`, `reno-sce`, `dctcp-sce`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SceSenders {
    /// As published (chromi/sce), bugs included: see [`crate::cc::sce`].
    Published,
    /// As their text says that they are meant: no kernel has these.
    Corrected,
}

/// The quirks of one stack's TCP.
#[derive(Clone, PartialEq, Debug)]
pub struct TcpQuirks {
    /// HyStart variant.
    pub hystart: HyStartVariant,
    /// Whether HyStart tells rounds apart at every RTT sample (from Linux 5.16), also when the window does not
    /// limit the flow, or only when the window grows.
    pub hystart_rounds_by_sample: bool,
    /// PRR variant.
    pub prr: PrrBound,
    /// How segments leave in bursts.
    pub tso_bursts: TsoBursts,
    /// Whether a receiver with an application that has read everything acknowledges a segment with PSH at once, also a full
    /// one (from 6.6: "tcp: fix delayed ACKs for MSS boundary condition", `tcp_measure_rcv_mss`).
    pub acks_push: bool,
    /// Whether a sender that its small queue has stopped (`tcp_small_queue_check`) is woken when the queue has drained.
    /// Not by a netem on the sender's own machine before Linux 5.12: it took the packets over without telling the
    /// socket (`skb_orphan_partial`; "net: let skb_orphan_partial wake-up waiters", March 2021). Data held back then
    /// waits for the next ACK.
    pub small_queue_wakes: bool,
    /// Whether a small queue never stops a socket that has a single buffer out, too, and not only one with nothing out
    /// (from 6.7: "tcp: tsq: relax tcp_small_queue_check() when rtx queue contains a single skb").
    pub small_queue_passes_single: bool,
    /// Whether an attempt that sends nothing takes note of being limited by the window, as one that waits with a lone
    /// segment is (from 5.11: "tcp: fix cwnd-limited bug for TSO deferral where we send nothing").
    pub notes_limit_unsent: bool,
    /// Whether the record of having been limited by the window outlives the flight it was made in (from 6.1:
    /// `tcp_cwnd_validate` does not forget it).
    pub remembers_cwnd_limited: bool,
    /// ECN that a flow asks for by default (`net.ipv4.tcp_ecn`).
    pub ecn: EcnRequest,
    /// Whether an AccECN receiver acknowledges a change of the codepoint at once (RFC 9768 §3.2.2.5.1). The kernels
    /// of 2020 did not: their captures have 1.998 data packets an ACK with every ninth packet marked
    /// (`ect1_pcap.csv`).
    pub acks_ecn_change: bool,
    /// Whether an ACK's ACE field is always taken for the least number of marks that it can tell, even if the ACK
    /// covers enough packets for the counter to have wrapped. The safe choice came later than the kernels of 2020: in
    /// `ect1_timeseries.csv` Prague's window grows by one a round trip for 24 s behind a jitter of ± 5 ms, which makes
    /// ACKs jump by more than seven packets all the time, and the safe choice would read eight marks from each such ACK
    /// without any.
    pub ace_takes_least: bool,
    /// Which Prague the kernel has.
    pub prague: PragueVersion,
    /// RTT independence of a Prague up to 2021, where it is set to another than the version's own (its module parameters
    /// `prague_rtt_scaling` and `prague_rtt_target`).
    pub rtt_independence: Option<Independence>,
    /// Whether a receiver echoes ECT(1) as SCE (`net.ipv4.tcp_sce`), which only the SCE project's kernel can.
    pub echoes_sce: bool,
    /// The version of the SCE senders.
    pub sce: SceSenders,
    /// Whether AccECN's option is on every packet of an AccECN connection but its SYN (`net.ipv4.tcp_ecn_option`, 2 by default
    /// in 7.3). Those of 2020 and 2021 have it at the most on the two ACKs after a mark, which is left out.
    pub accecn_option: bool,
    /// Whether the first SYN that is repeated asks for AccECN once more (RFC 9768 §3.1.4.1; docs/linux-notes/repeated-syn.md).
    /// Those of 2020 and 2021 are of before that rule.
    pub accecn_syn_twice: bool,
    /// Whether a control hears of an ACK (`in_ack_event`) after its deliveries have been counted (from 6.15), or
    /// before, when only what it SACKs has. DCTCP's alpha lags one ACK behind in the second case.
    pub ack_event_counts_its_ack: bool,
    /// What is added to short timers, a tail-loss probe's and RACK's (`TCP_TIMEOUT_MIN_US`: 2 ms from 6.7 on;
    /// `TCP_TIMEOUT_MIN`: two ticks before). `None` stands for two ticks.
    pub timer_slack: Option<Span>,
    /// Whether a duplicate widens RACK's window only where reordering has been seen, and not if the tail-loss probe
    /// explains it (from 5.14: `tcp_dsack_seen`).
    pub dsack_needs_reordering: bool,
    /// Whether a rate sample is of the segment sent last among those that one ACK delivers (from 5.19), or of the first of
    /// those that left when most had been delivered (`tcp_rate_skb_delivered`).
    pub rate_sample_by_send_time: bool,
    /// SYNs that are repeated at the first interval before it doubles (`net.ipv4.tcp_syn_linear_timeouts`, 4 from 6.5
    /// on).
    pub syn_linear_timeouts: u32,
    /// SACK blocks that the receiver keeps before a held-back ACK is let go for a further one: three fit next to
    /// timestamps, and Linux 5.8 stopped to rely on all of them arriving (`TCP_SACK_BLOCKS_EXPECTED`: 2).
    pub sack_blocks_kept: usize,
    /// The kernel's tick rate; CUBIC's clock moves in these (`CONFIG_HZ`).
    pub hz: u32,
    /// Initial window in segments (`TCP_INIT_CWND`).
    pub initial_window: u32,
    /// Default and largest receive buffer in bytes (`net.ipv4.tcp_rmem`).
    pub receive_buffer: (u32, u32),
    /// Largest send buffer in bytes (`net.ipv4.tcp_wmem`). It grows with the window (`tcp_sndbuf_expand`).
    pub send_buffer: u32,
    /// The size of a buffer of data in it without its payload, bytes (`truesize`): `sk_buff` of 256, `skb_shared_info` of 320,
    /// and the head, 704 bytes of 1024, or from Linux 6.3 on 320 of a cache of its own (`skb_small_head_cache`).
    pub skb_overhead: u32,
    /// How the receive buffer grows.
    pub receive_tuning: ReceiveTuning,
    /// Share of the receive buffer that is offered as window, in 1/256 (`tcp_adv_win_scale` 1: a half; from 6.7
    /// measured from the packets' true size).
    pub window_share: u32,
    /// From 6.7 on the share becomes the ratio of the first full segment's payload to the memory that its buffer counts
    /// (`tcp_measure_rcv_mss`; docs/linux-notes/first-segment.md).
    pub window_share_measured: bool,
    /// Longest that compressed SACKs are held back, in percent of the round trip (and never above 1 ms): 5 until
    /// 6.18, then `net.ipv4.tcp_comp_sack_rtt_percent`, 33.
    pub compressed_sack_percent: u32,
    /// Whether bulk flows are netperf's, which first agrees on the test by a control connection over the same path: two
    /// round trips.
    pub netperf: bool,
    /// A flow begins uniformly within this span after its nominal start: the time that a testbed's programs
    /// take to start.
    pub start_jitter: Span,
    /// Every packet leaves its host uniformly within this span after the event that caused it, in order: the
    /// time that a testbed's interrupts and timers take.
    pub host_jitter: Span,
}

/// Kernels of the main line; a bed's own settings are the bed's (`sojourn-stacks`).
impl TcpQuirks {
    /// Linux 7.3, with ticks of 4 ms, ECN asked for, and hosts that take no time.
    pub const LINUX_7_3: Self = Self {
        hystart: HyStartVariant::Microseconds,
        hystart_rounds_by_sample: true,
        prr: PrrBound::Rfc6937bis,
        tso_bursts: TsoBursts::Millisecond,
        acks_push: true,
        small_queue_wakes: true,
        small_queue_passes_single: true,
        notes_limit_unsent: true,
        remembers_cwnd_limited: true,
        ecn: EcnRequest::Rfc3168,
        acks_ecn_change: true,
        ace_takes_least: false,
        accecn_option: true,
        accecn_syn_twice: true,
        prague: PragueVersion::V0_7,
        rtt_independence: None,
        echoes_sce: false,
        sce: SceSenders::Published,
        ack_event_counts_its_ack: true,
        timer_slack: Some(Span::from_millis(2)),
        dsack_needs_reordering: true,
        rate_sample_by_send_time: true,
        syn_linear_timeouts: 4,
        sack_blocks_kept: 2,
        hz: 250,
        initial_window: 10,
        receive_buffer: (131_072, 6_291_456),
        send_buffer: 4 << 20,
        skb_overhead: 896,
        receive_tuning: ReceiveTuning::Exact,
        window_share: 160,
        window_share_measured: true,
        compressed_sack_percent: 33,
        netperf: false,
        start_jitter: Span::ZERO,
        host_jitter: Span::ZERO,
    };

    /// Linux 5.10, otherwise as 7.3.
    pub const LINUX_5_10: Self = Self {
        hystart_rounds_by_sample: false,
        prr: PrrBound::Rfc6937,
        tso_bursts: TsoBursts::HalfRtt,
        acks_push: false,
        small_queue_passes_single: false,
        remembers_cwnd_limited: false,
        skb_overhead: 1280,
        receive_tuning: ReceiveTuning::Generous,
        window_share: 128,
        window_share_measured: false,
        compressed_sack_percent: 5,
        accecn_option: false,
        accecn_syn_twice: false,
        prague: PragueVersion::Year2021,
        ack_event_counts_its_ack: false,
        timer_slack: None,
        dsack_needs_reordering: false,
        rate_sample_by_send_time: false,
        syn_linear_timeouts: 0,
        ..Self::LINUX_7_3
    };

    /// Linux 5.4.
    pub const LINUX_5_4: Self = Self {
        hystart: HyStartVariant::Milliseconds,
        // Its testbeds delayed data by netem on the sender's own machine.
        small_queue_wakes: false,
        notes_limit_unsent: false,
        acks_ecn_change: false,
        ace_takes_least: true,
        prague: PragueVersion::August2020,
        sack_blocks_kept: 4,
        ..Self::LINUX_5_10
    };
}

/// The three stacks of the published testbeds, for this crate's tests: with ticks of a millisecond, so that sums come out
/// even.
#[cfg(test)]
pub(crate) mod examples {
    use super::TcpQuirks;

    pub(crate) const LINUX_7_3: TcpQuirks = TcpQuirks { hz: 1000, ..TcpQuirks::LINUX_7_3 };
    pub(crate) const LINUX_5_10: TcpQuirks = TcpQuirks { hz: 1000, ..TcpQuirks::LINUX_5_10 };
    pub(crate) const LINUX_5_4: TcpQuirks = TcpQuirks { hz: 1000, ..TcpQuirks::LINUX_5_4 };
}
