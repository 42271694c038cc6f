//! Words for kinds of things: what files, messages and the lists of what engines can run call them, each stated once.
//!
//! An enum of this module has no data; the enum with the data (`Kind`, `Rule`, `TunnelKind`, `Traffic`) names its kind by an
//! exhaustive match, so that a variant more does not compile before it has a word.

use core::fmt;
use serde::{Deserialize, Serialize};

/// Makes an enum, the list of its variants, and the word of each; serde writes the same word.
macro_rules! kinds {
    ($($(#[$outer:meta])* $name:ident { $($(#[$inner:meta])* $variant:ident $word:literal,)* })*) => {$(
        $(#[$outer])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$inner])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// Each, in the order of the declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The words of all of them.
            pub const NAMES: &'static [&'static str] = &[$($word,)*];

            /// The word that files and messages use.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            /// From its word.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| kind.name() == name)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    )*};
}

kinds! {
    /// Who carries out a part of an experiment, where an engine has the choice.
    By {
        /// Sojourn's own code: its disciplines in virtual time, its models of hosts.
        Sojourn "sojourn",
        /// A kernel's.
        Kernel "kernel",
    }
    /// Kinds of path elements.
    ElementKind {
        /// Delay, jitter, bursts and loss of a path.
        Netem "netem",
        /// A bottleneck's queue with its shaper.
        Queue "queue",
        /// Changes header bits.
        Rewrite "rewrite",
        /// Puts packets into a tunnel.
        Encapsulate "encapsulate",
        /// Takes packets out of a tunnel.
        Decapsulate "decapsulate",
        /// Drops or remarks what exceeds a rate, without a queue.
        Policer "policer",
        /// A radio link that aggregates frames.
        AggregatingLink "aggregating_link",
        /// A wireless LAN's link.
        Wifi "wifi",
        /// What words name among the path elements that an engine knows.
        Middlebox "middlebox",
    }

    /// What rewriters do.
    RuleKind {
        /// ECN field to Not-ECT.
        BleachEcn "bleach_ecn",
        /// CE to Not-ECT.
        BleachCe "bleach_ce",
        /// ECN field to ECT(1).
        DscpToEct1 "dscp_to_ect1",
        /// Removes ECN from the TCP header.
        DscpToNotect "dscp_to_notect",
        /// Removes ECN from the TCP header and sets ECT(1).
        DscpToNotectEct1 "dscp_to_notect_ect1",
        /// ECT(0) to ECT(1).
        Ect0ToEct1 "ect0_to_ect1",
        /// ECT(1) to ECT(0).
        Ect1ToEct0 "ect1_to_ect0",
        /// CE back to an ECT codepoint.
        CeToEct "ce_to_ect",
        /// Sets the DSCP.
        SetDscp "set_dscp",
        /// Sets the ECN field of long packets.
        ClassifyByLength "classify_by_length",
    }

    /// What tunnels speak.
    TunnelProtocol {
        /// WireGuard.
        Wireguard "wireguard",
        /// IP in UDP (foo-over-UDP).
        Fou "fou",
        /// IPsec ESP in tunnel mode.
        Esp "esp",
    }

    /// Kinds of traffic.
    TrafficKind {
        /// One TCP connection.
        Tcp "tcp",
        /// Unresponsive UDP at a constant rate.
        Udp "udp",
        /// ICMP echo.
        Ping "ping",
        /// One-way and two-way delay probe.
        Irtt "irtt",
        /// A voice call's stream.
        Voip "voip",
        /// One direction of a video call.
        Video "video",
        /// Many short TCP connections.
        ShortFlows "short_flows",
        /// Adaptive video streaming.
        Streaming "streaming",
        /// A source that is alternately on and off.
        OnOff "on_off",
        /// One QUIC connection.
        Quic "quic",
        /// One TCP connection of an implementation by other authors.
        TcpStack "tcp_stack",
        /// Programs of the machine.
        Program "program",
        /// What words name among the applications that an engine knows.
        App "app",
    }
}
