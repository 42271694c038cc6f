//! Why a packet is dropped or marked.

use core::fmt;

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident $name:literal;)*) => {
        /// The reason for a drop or a mark. Every decision has one.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
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
    /// A later acknowledgement of the connection says the same and more (CAKE's `ack-filter`).
    AckFilter "ack_filter";
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
