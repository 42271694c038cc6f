//! The flags of SYN and SYN/ACK (RFC 3168 §6.1.1, RFC 9768 §3.1).

use super::{Agreed, Request};
use sojourn_units::Ecn;

/// The three ECN bits of a TCP header; as a number, the ACE field: AE is its highest bit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags {
    /// Accurate ECN; once the nonce sum, and with RFC 3168 ESCE, the echo of SCE (draft-grimes-tcpm-tcpsce).
    pub ae: bool,
    /// Congestion window reduced.
    pub cwr: bool,
    /// ECN-Echo.
    pub ece: bool,
}

impl Flags {
    /// As a number of three bits.
    #[inline]
    pub const fn ace(self) -> u8 {
        (self.ae as u8) << 2 | (self.cwr as u8) << 1 | self.ece as u8
    }

    /// Of a number of three bits; higher bits do not count.
    #[inline]
    pub const fn from_ace(ace: u8) -> Self {
        Self { ae: ace & 4 != 0, cwr: ace & 2 != 0, ece: ace & 1 != 0 }
    }

    /// What `iptables -j ECN --ecn-tcp-remove` leaves: it knows ECE and CWR, not AE, which is ESCE too.
    #[must_use]
    pub const fn without_ece_and_cwr(self) -> Self {
        Self { ae: self.ae, cwr: false, ece: false }
    }
}

/// The flags of a SYN that repeats `repeats` unanswered ones. RFC 3168 §6.1.1.1: a repeated SYN does not ask for ECN,
/// in case a middlebox minds. RFC 9768 §3.1.4.1: the first repeated one asks for AccECN once more, if `accecn_twice`,
/// which the kernels before that RFC do not know.
pub const fn ask(request: Request, repeats: u32, accecn_twice: bool) -> Flags {
    Flags::from_ace(match (request, repeats) {
        (Request::AccEcn, 0) => 0b111,
        (Request::AccEcn, 1) if accecn_twice => 0b111,
        (Request::Rfc3168, 0) => 0b011,
        _ => 0b000,
    })
}

/// What a receiver makes of a SYN that came with `ecn` in its IP header, and the flags of its answer. `has_accecn`
/// says whether it speaks AccECN; RFC 3168 it always does.
///
/// RFC 9768 §3.1.3: flags that mean nothing yet (those with AE alone, say) ask for AccECN. One that does not know
/// AccECN looks at ECE and CWR only.
pub const fn accept(syn: Flags, ecn: Ecn, has_accecn: bool) -> (Agreed, Flags) {
    match syn.ace() {
        0b000 => (Agreed::Off, Flags::from_ace(0b000)),
        0b011 => (Agreed::Rfc3168, Flags::from_ace(0b001)),
        // RFC 9768 table 2: the answer says how the SYN arrived.
        _ if has_accecn => (
            Agreed::AccEcn,
            Flags::from_ace(match ecn {
                Ecn::NotEct => 0b010,
                Ecn::Ect1 => 0b011,
                Ecn::Ect0 => 0b100,
                Ecn::Ce => 0b110,
            }),
        ),
        _ if syn.cwr && syn.ece => (Agreed::Rfc3168, Flags::from_ace(0b001)),
        _ => (Agreed::Off, Flags::from_ace(0b000)),
    }
}

/// What the sender makes of the answer (RFC 9768 §3.1.2, table 2; RFC 3168 §6.1.1).
pub const fn conclude(request: Request, answer: Flags) -> Agreed {
    match (request, answer.ace()) {
        (Request::AccEcn, 0b010 | 0b011 | 0b100 | 0b110) => Agreed::AccEcn,
        // 101 is a receiver of the time of the nonce.
        (Request::AccEcn | Request::Rfc3168, 0b001 | 0b101) => Agreed::Rfc3168,
        // Nothing, or one's own flags reflected.
        _ => Agreed::Off,
    }
}
