//! The receiver's side: what each ACK says about marks, and when marks hurry an ACK.

use super::{Agreed, Flags, accurate};
use sojourn_units::Ecn;

/// How a data packet's codepoint hurries ACKs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Urge {
    /// It does not.
    Nothing,
    /// The next so many ACKs go at once.
    Quicken(u32),
    /// This packet is acknowledged at once.
    Now,
}

/// What the receiver echoes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Echo {
    pub(crate) agreed: Agreed,
    /// See [`super::Needs::exact_echo`].
    pub(crate) exact: bool,
    /// Whether a change of codepoint is acknowledged at once, where AccECN was agreed.
    ack_on_change: bool,
    /// ECE is set on every ACK until the sender says CWR.
    demand_cwr: bool,
    /// Whether the last data packet was marked; for the exact echo.
    marked: bool,
    /// ECT has been seen on data.
    seen_ect: bool,
    received_ce: u32,
    last: Ecn,
}

impl Echo {
    /// Before anything is agreed.
    pub(crate) fn new(ack_on_change: bool) -> Self {
        Self { ack_on_change, ..Self::default() }
    }

    /// The flags of an ACK that leaves now.
    #[inline]
    pub(crate) fn flags(&self) -> Flags {
        match self.agreed {
            Agreed::Off => Flags::default(),
            Agreed::Rfc3168 => Flags { ece: self.demand_cwr, ..Flags::default() },
            Agreed::AccEcn => Flags::from_ace(accurate::field(self.received_ce)),
        }
    }

    /// A data packet has come, wanted or not. Only AccECN counts them all.
    #[inline]
    pub(crate) fn count(&mut self, ecn: Ecn) -> Urge {
        if self.agreed != Agreed::AccEcn {
            return Urge::Nothing;
        }
        self.received_ce = self.received_ce.wrapping_add(u32::from(ecn == Ecn::Ce));
        let changed = core::mem::replace(&mut self.last, ecn) != ecn;
        if changed && self.ack_on_change { Urge::Now } else { Urge::Nothing }
    }

    /// The sender says that it has reduced its window; true if that is to be acknowledged at once, as it may have
    /// nothing else to clock it.
    #[inline]
    pub(crate) fn heard_cwr(&mut self) -> bool {
        let heard = self.agreed == Agreed::Rfc3168;
        if heard {
            self.demand_cwr = false;
        }
        heard
    }

    /// DCTCP's receiver (RFC 8257 §3.2, `dctcp_ece_ack_update`): ECE is the mark of the latest packet. When that
    /// changes, what came before is acknowledged first, with the flags that are returned, and the packet at once.
    #[inline]
    pub(crate) fn turn(&mut self, ecn: Ecn) -> Option<Flags> {
        if !self.exact || self.agreed != Agreed::Rfc3168 || ecn == Ecn::NotEct {
            return None;
        }
        let marked = ecn == Ecn::Ce;
        self.demand_cwr = marked;
        let before = core::mem::replace(&mut self.marked, marked);
        (before != marked).then_some(Flags { ae: false, cwr: false, ece: before })
    }

    /// What a wanted data packet's codepoint asks of the next ACKs (`__tcp_ecn_check_ce`).
    #[inline]
    pub(crate) fn take(&mut self, ecn: Ecn) -> Urge {
        if self.agreed != Agreed::Rfc3168 {
            return Urge::Nothing;
        }
        let seen_ect = self.seen_ect;
        self.seen_ect |= ecn != Ecn::NotEct;
        if ecn == Ecn::NotEct {
            // Probably a retransmission: the sender's window may be small.
            return if seen_ect { Urge::Quicken(2) } else { Urge::Nothing };
        }
        if ecn == Ecn::Ce && !self.demand_cwr {
            self.demand_cwr = true;
            return Urge::Quicken(2);
        }
        Urge::Nothing
    }
}
