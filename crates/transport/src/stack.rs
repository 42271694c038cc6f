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

/// What a flow asks of the peer about ECN when the scenario does not say (`net.ipv4.tcp_ecn`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EcnRequest {
    /// Does not ask, accepts when asked (`tcp_ecn=2`, the kernel's default).
    Off,
    /// Asks for RFC 3168 ECN (`tcp_ecn=1`).
    Rfc3168,
}

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
    /// Whether the record of having been limited by the window outlives the flight it was made in (from 6.1:
    /// `tcp_cwnd_validate` does not forget it).
    pub remembers_cwnd_limited: bool,
    /// ECN that a flow asks for by default.
    pub ecn: EcnRequest,
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
