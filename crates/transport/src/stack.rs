//! The switches in which the TCP of one named stack differs from another's.
//!
//! A switch is here because two kernels differ in it, or because the host that ran a published test bed was
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

/// How segments leave together, and when TCP would rather wait until more may (`tcp_write_xmit`,
/// `tcp_tso_should_defer` in `net/ipv4/tcp_output.c`). From Linux 4.17 on TCP builds groups whatever its device can do:
/// with offloads off they are cut apart on the way to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grouping {
    /// Up to Linux 4.16 on a device without segmentation: one by one, at once.
    Singly,
    /// From Linux 4.17: waits if the next ACK is expected within half a round trip. A group ends where one of the
    /// buffers ends that the application's data was put into, and the last of a buffer waits for nothing.
    HalfRtt,
    /// From Linux 6.18: waits if the next ACK is expected within half a round trip and within a millisecond ("tcp: fix
    /// tcp_tso_should_defer() vs large RTT", October 2025). What else has changed since 5.15 goes with it: groups are
    /// larger on paths below 16 ms (5.18), and reach into the next buffer (6.10).
    Millisecond,
}

pub use crate::cc::prague::Version as PragueVersion;
pub use crate::ecn::Request as EcnRequest;

/// The switches of one stack's TCP.
#[derive(Clone, PartialEq, Debug)]
pub struct Switches {
    /// HyStart variant.
    pub hystart: HyStartVariant,
    /// Whether HyStart tells rounds apart at every RTT sample (from Linux 5.16), also when the window does not
    /// limit the flow, or only when the window grows.
    pub hystart_rounds_by_sample: bool,
    /// PRR variant.
    pub prr: PrrBound,
    /// How segments are grouped.
    pub grouping: Grouping,
    /// Whether a receiver whose application has read everything acknowledges a segment with PSH at once, also a full
    /// one (from 6.6: "tcp: fix delayed ACKs for MSS boundary condition", `tcp_measure_rcv_mss`).
    pub acks_push: bool,
    /// Whether the record of having been limited by the window outlives the flight it was made in (from 6.1:
    /// `tcp_cwnd_validate` does not forget it).
    pub remembers_cwnd_limited: bool,
    /// ECN that a flow asks for by default (`net.ipv4.tcp_ecn`).
    pub ecn: EcnRequest,
    /// Whether an AccECN receiver acknowledges a change of the codepoint at once (RFC 9768 §3.2.2.5.1). The kernels
    /// of 2020 did not: their captures have 1.998 data packets an ACK with every ninth packet marked
    /// (`ect1_pcap.csv`).
    pub acks_ecn_change: bool,
    /// Which Prague the kernel has.
    pub prague: PragueVersion,
    /// The kernel's tick rate; CUBIC's clock moves in these (`CONFIG_HZ`).
    pub hz: u32,
    /// Initial window in segments (`TCP_INIT_CWND`).
    pub initial_window: u32,
    /// Default and largest receive buffer in bytes (`net.ipv4.tcp_rmem`).
    pub receive_buffer: (u32, u32),
    /// Share of the receive buffer that is offered as window, in 1/256 (`tcp_adv_win_scale` 1: a half; from 6.7
    /// measured from the packets' true size).
    pub window_share: u32,
    /// Longest that compressed SACKs are held back, in percent of the round trip (and never above 1 ms): 5 until
    /// 6.18, then `net.ipv4.tcp_comp_sack_rtt_percent`, 33.
    pub compressed_sack_percent: u32,
    /// A flow begins uniformly within this span after its nominal start: the time that a test bed's programs
    /// take to start.
    pub start_jitter: Span,
    /// Every packet leaves its host uniformly within this span after the event that caused it, in order: the
    /// time that a test bed's interrupts and timers take.
    pub host_jitter: Span,
}

impl Switches {
    /// Whether this is a kernel of the 6 or 7 series rather than of the 5. What changed in between and is too small
    /// for a switch of its own follows this: the slack of short timers (2 ms instead of two ticks, 6.7), which
    /// duplicates widen RACK's window (5.14), and SYNs repeated at a fixed interval at first (6.5).
    pub fn is_recent(&self) -> bool {
        self.prr == PrrBound::Rfc6937bis
    }

    /// SACK blocks that the receiver keeps before a held-back ACK is let go for a further one: three fit beside
    /// timestamps, and Linux 5.8 stopped to rely on all of them arriving (`TCP_SACK_BLOCKS_EXPECTED`).
    pub fn sack_blocks_kept(&self) -> usize {
        match self.hystart {
            HyStartVariant::Milliseconds => 4,
            HyStartVariant::Microseconds => 2,
        }
    }
}

/// The three stacks of the published test beds, for this crate's tests.
#[cfg(test)]
pub(crate) mod examples {
    use super::{EcnRequest, Grouping, HyStartVariant, PragueVersion, PrrBound, Switches};
    use sojourn_units::Span;

    /// A recent kernel, with ticks of a millisecond so that sums come out even.
    pub(crate) const LINUX_7_3: Switches = Switches {
        hystart: HyStartVariant::Microseconds,
        hystart_rounds_by_sample: true,
        prr: PrrBound::Rfc6937bis,
        grouping: Grouping::Millisecond,
        acks_push: true,
        remembers_cwnd_limited: true,
        ecn: EcnRequest::Rfc3168,
        acks_ecn_change: true,
        prague: PragueVersion::Newest,
        hz: 1000,
        initial_window: 10,
        receive_buffer: (131_072, 6_291_456),
        window_share: 160,
        compressed_sack_percent: 33,
        start_jitter: Span::ZERO,
        host_jitter: Span::ZERO,
    };

    pub(crate) const LINUX_5_10: Switches = Switches {
        hystart_rounds_by_sample: false,
        prr: PrrBound::Rfc6937,
        grouping: Grouping::HalfRtt,
        acks_push: false,
        remembers_cwnd_limited: false,
        window_share: 128,
        compressed_sack_percent: 5,
        prague: PragueVersion::Year2021,
        ..LINUX_7_3
    };

    pub(crate) const LINUX_5_4: Switches = Switches {
        hystart: HyStartVariant::Milliseconds,
        acks_ecn_change: false,
        prague: PragueVersion::August2020,
        ..LINUX_5_10
    };
}
