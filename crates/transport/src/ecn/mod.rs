//! ECN feedback: the agreement of the two ends, the receiver's reports of marks, and how the sender reads them.
//!
//! Three ways: none; RFC 3168, one bit that says "something was marked" until the sender answers with CWR; and
//! Accurate ECN (RFC 9768), which counts marked packets in three header bits. The flags of SYN and SYN/ACK alone decide
//! which one holds, so a middlebox that clears flags has the effect that it has on a real wire.
//!
//! With RFC 3168, and without negotiation, the SCE project's receivers echo ECT(1), which says "some congestion
//! experienced", in the bit that was the nonce sum's: ESCE (draft-grimes-tcpm-tcpsce §4; chromi/sce
//! `net/ipv4/tcp_input.c` at 016a60ca). Each ACK says it at most once; ACKs are split where the codepoint turns, so
//! that ACKs with ESCE cover exactly the packets that arrived as ECT(1), but for packets that were lost or came twice.
//! With AccECN the bit belongs to the counter, and SCE is not echoed.
//!
//! AccECN's option is modelled by the room that it takes ([`option`]); its counters, which would give a sender more
//! than the three bits do, are left out, as are the tests for mangled bits. As data flows one way only, marks on pure
//! ACKs are not counted.

pub mod accurate;
mod echo;
mod feedback;
mod handshake;
pub mod option;

#[cfg(test)]
mod tests;

pub(crate) use echo::{AckUrgency, Echo, Turn};
pub(crate) use feedback::{AckInfo, EcnFeedback};
pub use handshake::{Flags, accept, ask, conclude};

use sojourn_units::Ecn;

/// What a flow asks of its peer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Request {
    /// Does not ask, accepts RFC 3168 when asked (`tcp_ecn=2`, the kernel's default).
    #[default]
    Off,
    /// Asks for RFC 3168 ECN (`tcp_ecn=1`).
    Rfc3168,
    /// Asks for Accurate ECN and falls back to what the peer has (`tcp_ecn=3`).
    AccEcn,
}

/// The agreement of the two ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Agreed {
    /// No ECN: every packet is Not-ECT.
    #[default]
    Off,
    /// RFC 3168's ECE and CWR.
    Rfc3168,
    /// Accurate ECN's counter.
    AccEcn,
}

/// What a congestion control needs of ECN (`TCP_CONG_NEEDS_ECN`, `_NEEDS_ACCECN`, `_WANTS_ECT_1`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EcnRequirements {
    /// The least that is asked for, whatever the stack's default is.
    pub request: Request,
    /// Codepoint of what it sends.
    pub codepoint: Ecn,
    /// Whether retransmissions and pure ACKs are ECN-capable, too.
    pub on_all: bool,
    /// Whether the SYN is.
    pub on_syn: bool,
    /// Whether the receiver echoes each packet's mark (RFC 8257 §3.2) where RFC 3168 was agreed.
    pub exact_echo: bool,
    /// Whether the receiver echoes ECT(1) as SCE. No kernel's control asks for it: it is the receiver's own setting
    /// (`net.ipv4.tcp_sce`), which the published beds had on for these controls.
    pub echo_sce: bool,
}

impl EcnRequirements {
    /// Of a control that does not care: ECT(0) on new data.
    pub const NONE: Self = Self {
        request: Request::Off,
        codepoint: Ecn::Ect0,
        on_all: false,
        on_syn: false,
        exact_echo: false,
        echo_sce: false,
    };
}

/// Which packets are ECN-capable.
///
/// ```text
///                     RFC 3168          RFC 3168, control needs ECN   AccECN
/// new data            codepoint         codepoint                     codepoint
/// retransmissions     Not-ECT           codepoint                     codepoint
/// pure ACKs           Not-ECT           codepoint                     codepoint
/// SYN                 Not-ECT           as the control says           as the control says
/// SYN/ACK             Not-ECT           Not-ECT                       Not-ECT
/// ```
///
/// RFC 3168 §6.1.4-5 for the first column; Linux's `tcp_ecn_send` for the others, which the captures of the
/// published beds agree with (docs/sources/testbeds.md#ecn-fields-on-the-wire: pure ACKs as the data, Prague's SYN ECT(1), CUBIC's not).
#[derive(Clone, Copy, Debug)]
pub struct EctPolicy {
    codepoint: Ecn,
    on_all: bool,
    on_syn: bool,
}

impl EctPolicy {
    /// By what the control needs; `codepoint` replaces its choice.
    pub fn new(needs: &EcnRequirements, codepoint: Option<Ecn>) -> Self {
        Self {
            codepoint: codepoint.unwrap_or(needs.codepoint),
            on_all: needs.on_all,
            on_syn: needs.on_syn,
        }
    }

    /// The SYN's, if ECN is asked for.
    pub fn syn(&self, request: Request) -> Ecn {
        if self.on_syn && request != Request::Off { self.codepoint } else { Ecn::NotEct }
    }

    /// New data's.
    #[inline]
    pub fn data(&self, agreed: Agreed) -> Ecn {
        if agreed == Agreed::Off { Ecn::NotEct } else { self.codepoint }
    }

    /// A retransmission's or pure ACK's.
    #[inline]
    pub fn other(&self, agreed: Agreed) -> Ecn {
        match agreed {
            Agreed::AccEcn => self.codepoint,
            Agreed::Rfc3168 if self.on_all => self.codepoint,
            Agreed::Rfc3168 | Agreed::Off => Ecn::NotEct,
        }
    }
}
