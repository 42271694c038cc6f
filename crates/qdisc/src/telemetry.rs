//! Where disciplines tell what they decided, and why.

use crate::table::Class;
use core::fmt;
use sojourn_units::{Random, Time};

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident $name:literal;)*) => {
        /// The reason for a drop or a mark. Every decision has one.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Reason {
            $($(#[$doc])* $variant,)*
            /// A reason of a discipline from outside, by the name that it has in result columns; one that is none of
            /// [`Reason::BUILT_IN`]'s.
            Custom(&'static str),
        }

        /// The place of each reason in [`Reason::BUILT_IN`].
        #[derive(Clone, Copy)]
        enum Place { $($variant,)* }

        impl Reason {
            /// Every reason that the disciplines and elements of this project give, in the order of their
            /// [`Reason::index`].
            pub const BUILT_IN: &'static [Self] = &[$(Self::$variant,)*];

            /// Its place in [`Reason::BUILT_IN`]; none for a [`Reason::Custom`] one.
            #[inline]
            pub const fn index(self) -> Option<usize> {
                match self {
                    $(Self::$variant => Some(Place::$variant as usize),)*
                    Self::Custom(_) => None,
                }
            }

            /// The name used in result columns.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                    Self::Custom(name) => name,
                }
            }
        }
    };
}

reasons! {
    /// The queue was at its limit and the arriving packet was refused.
    Tail "tail";
    /// The queue was over its limit and packets were taken from the head of the longest flow (fq_codel), or a
    /// limit was lowered at run time and packets were taken from the head.
    Overlimit "overlimit";
    /// The bytes held were over the memory limit.
    Memory "memory";
    /// CoDel's control law.
    ControlLaw "control_law";
    /// CoDel's `ce_threshold`.
    CeThreshold "ce_threshold";
    /// A random early decision (PIE, RED between its thresholds).
    Early "early";
    /// The packet is larger than the shaper's burst could ever let through.
    TooLong "too_long";
    /// The discipline was replaced and its queue flushed.
    Flushed "flushed";
    /// Random loss of the path (netem).
    Loss "loss";
    /// BLUE's drop probability (COBALT), which answers to overload by flows that do not respond.
    Blue "blue";
    /// A policer's bucket had no tokens left.
    Policer "policer";
    /// The far end of a tunnel had seen the sequence number, or it was behind the replay window.
    Replay "replay";
    /// The outer header was CE and the inner one Not-ECT when a tunnel ended (RFC 6040 §4.2).
    TunnelEcn "tunnel_ecn";
    /// RED's average was at or above its upper threshold.
    Hard "hard";
    /// DualPI2: the L queue was above its step threshold (native marking).
    Step "step";
    /// A ramp over the sojourn time: DualPI2's native marking (RFC 9332 appendix A), CAKE's SCE marking.
    Ramp "ramp";
    /// (Dual)PI2: the base probability, times the coupling factor, of scalable packets.
    Coupled "coupled";
    /// (Dual)PI2: the square of the base probability, of classic packets.
    Classic "classic";
    /// (Dual)PI2: the same square above the threshold from which ECN-capable packets are dropped too.
    Overload "overload";
    /// The flow held as many packets as a flow may (fq).
    FlowLimit "flow_limit";
    /// The packet is to leave too far in the future (fq).
    Horizon "horizon";
    /// The frame had been sent as often as it may (a wireless LAN).
    Retries "retries";
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What an engine hands in to hear of decisions. Methods are called at the moment of the decision.
pub trait Telemetry<P> {
    /// The packet will not come out again.
    fn dropped(&mut self, now: Time, packet: P, reason: Reason);

    /// The packet has just been marked CE (it is so already in `packet`).
    fn marked(&mut self, now: Time, packet: &P, reason: Reason);

    /// The packet has just been marked SCE: it was ECT(0) and is ECT(1) (`0b01`, "some congestion experienced").
    /// The same packet may be marked CE or dropped after that.
    fn sce_marked(&mut self, _now: Time, _packet: &P, _why: Reason) {}

    /// The packet that this call of `dequeue` returns is from this class of the discipline's.
    fn leaves(&mut self, _class: &'static Class) {}

    /// There is now a second packet like this one, which the discipline has not been given (netem's `duplicate`).
    fn duplicated(&mut self, _now: Time, _packet: &P) {}
}

/// Nobody listens.
impl<P> Telemetry<P> for () {
    fn dropped(&mut self, _now: Time, _packet: P, _why: Reason) {}
    fn marked(&mut self, _now: Time, _packet: &P, _why: Reason) {}
}

/// A reference listens as what it refers to does; so does one to `dyn Telemetry`, which is how a discipline behind
/// [`crate::DynQdisc`] is handed whatever telemetry there is.
#[deny(clippy::missing_trait_methods, reason = "what is not forwarded would be lost in silence")]
impl<P, T: Telemetry<P> + ?Sized> Telemetry<P> for &mut T {
    fn dropped(&mut self, now: Time, packet: P, reason: Reason) {
        (**self).dropped(now, packet, reason);
    }

    fn marked(&mut self, now: Time, packet: &P, reason: Reason) {
        (**self).marked(now, packet, reason);
    }

    fn sce_marked(&mut self, now: Time, packet: &P, reason: Reason) {
        (**self).sce_marked(now, packet, reason);
    }

    fn leaves(&mut self, class: &'static Class) {
        (**self).leaves(class);
    }

    fn duplicated(&mut self, now: Time, packet: &P) {
        (**self).duplicated(now, packet);
    }
}

/// What every call of a discipline is given besides the time and the packet.
#[derive(Debug)]
pub struct Context<'a, T: ?Sized> {
    /// The discipline's own random stream.
    pub random: &'a mut Random,
    /// Where decisions are told.
    pub telemetry: &'a mut T,
}
