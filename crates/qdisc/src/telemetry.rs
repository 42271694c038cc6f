//! Where disciplines tell what they decided, and why.

use crate::table::Class;
use core::fmt;
use sojourn_units::{Random, Time};

/// The reason for a drop or a mark. Every decision has one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Why {
    /// The queue was at its limit and the arriving packet was refused.
    Tail,
    /// The queue was over its limit and packets were taken from the head of the longest flow (fq_codel), or a
    /// limit was lowered at run time and packets were taken from the head.
    Overlimit,
    /// The bytes held were over the memory limit.
    Memory,
    /// CoDel's control law.
    ControlLaw,
    /// CoDel's `ce_threshold`.
    CeThreshold,
    /// A random early decision (PIE, RED between its thresholds).
    Early,
    /// The packet is larger than the shaper's burst could ever let through.
    TooLong,
    /// The discipline was replaced and its queue flushed.
    Flushed,
    /// Random loss of the path (netem).
    Loss,
    /// BLUE's drop probability (COBALT), which answers to overload by flows that do not respond.
    Blue,
    /// A policer's bucket had no tokens left.
    Policer,
    /// The far end of a tunnel had seen the sequence number, or it was behind the replay window.
    Replay,
    /// The outer header was CE and the inner one Not-ECT when a tunnel ended (RFC 6040 §4.2).
    TunnelEcn,
    /// RED's average was at or above its upper threshold.
    Hard,
    /// DualPI2: the L queue was above its step threshold (native marking).
    Step,
    /// A ramp over the sojourn time: DualPI2's native marking (RFC 9332 appendix A), CAKE's SCE marking.
    Ramp,
    /// (Dual)PI2: the base probability, times the coupling factor, of scalable packets.
    Coupled,
    /// (Dual)PI2: the square of the base probability, of classic packets.
    Classic,
    /// (Dual)PI2: the same square above the threshold from which ECN-capable packets are dropped too.
    Overload,
    /// The flow held as many packets as a flow may (fq).
    FlowLimit,
    /// The packet is to leave too far in the future (fq).
    Horizon,
    /// The frame had been sent as often as it may (a wireless LAN).
    Retries,
}

impl Why {
    /// Every reason, in the order of their numbers.
    pub const ALL: &'static [Self] = &[
        Self::Tail,
        Self::Overlimit,
        Self::Memory,
        Self::ControlLaw,
        Self::CeThreshold,
        Self::Early,
        Self::TooLong,
        Self::Flushed,
        Self::Loss,
        Self::Blue,
        Self::Policer,
        Self::Replay,
        Self::TunnelEcn,
        Self::Hard,
        Self::Step,
        Self::Ramp,
        Self::Coupled,
        Self::Classic,
        Self::Overload,
        Self::FlowLimit,
        Self::Horizon,
        Self::Retries,
    ];

    /// The name used in result columns.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tail => "tail",
            Self::Overlimit => "overlimit",
            Self::Memory => "memory",
            Self::ControlLaw => "control_law",
            Self::CeThreshold => "ce_threshold",
            Self::Early => "early",
            Self::TooLong => "too_long",
            Self::Flushed => "flushed",
            Self::Loss => "loss",
            Self::Blue => "blue",
            Self::Policer => "policer",
            Self::Replay => "replay",
            Self::TunnelEcn => "tunnel_ecn",
            Self::Hard => "hard",
            Self::Step => "step",
            Self::Ramp => "ramp",
            Self::Coupled => "coupled",
            Self::Classic => "classic",
            Self::Overload => "overload",
            Self::FlowLimit => "flow_limit",
            Self::Horizon => "horizon",
            Self::Retries => "retries",
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What an engine hands in to hear of decisions. Methods are called at the moment of the decision.
pub trait Telemetry<P> {
    /// The packet will not come out again.
    fn dropped(&mut self, now: Time, packet: P, why: Why);

    /// The packet has just been marked CE (it is so already in `packet`).
    fn marked(&mut self, now: Time, packet: &P, why: Why);

    /// The packet has just been marked SCE: it was ECT(0) and is ECT(1) (`0b01`, "some congestion experienced").
    /// The same packet may be marked CE or dropped after that.
    fn sce_marked(&mut self, _now: Time, _packet: &P, _why: Why) {}

    /// The packet that this call of `dequeue` returns is from this class of the discipline's.
    fn leaves(&mut self, _class: &'static Class) {}

    /// There is now a second packet like this one, which the discipline has not been given (netem's `duplicate`).
    fn duplicated(&mut self, _now: Time, _packet: &P) {}
}

/// Nobody listens.
impl<P> Telemetry<P> for () {
    fn dropped(&mut self, _now: Time, _packet: P, _why: Why) {}
    fn marked(&mut self, _now: Time, _packet: &P, _why: Why) {}
}

/// What every call of a discipline is given besides the time and the packet.
#[derive(Debug)]
pub struct Context<'a, T> {
    /// The discipline's own random stream.
    pub random: &'a mut Random,
    /// Where decisions are told.
    pub telemetry: &'a mut T,
}
