//! The receiver's side: what each ACK says about marks, and when marks hurry an ACK.

use super::{Agreed, Flags, accurate, option};
use sojourn_units::Ecn;

/// How a data packet's codepoint hurries ACKs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AckUrgency {
    /// It does not.
    Nothing,
    /// The number of next ACKs that go at once.
    Quicken(u32),
    /// This packet is acknowledged at once.
    Now,
}

/// A data packet's codepoint differs from the last one's: the packets before it get an ACK of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Turn {
    /// The flags of an ACK for what came before, if one was waiting.
    pub(crate) before: Flags,
    /// And how the packet itself is acknowledged.
    pub(crate) then: AckUrgency,
}

/// What the receiver echoes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Echo {
    pub(crate) agreed: Agreed,
    /// See [`super::EcnRequirements::exact_echo`].
    pub(crate) exact: bool,
    /// See [`super::EcnRequirements::echo_sce`].
    pub(crate) sce: bool,
    /// The next ACK says ESCE.
    esce: bool,
    /// Whether the last packet that was ECT(0) or ECT(1) was ECT(1); CE and Not-ECT say nothing of it.
    last_was_sce: bool,
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
    /// Whether ACKs have AccECN's option, where that was agreed.
    option: bool,
    /// Fields that the next option has to have, for what has come since the last one.
    fields: u8,
}

impl Echo {
    /// Before anything is agreed.
    pub(crate) fn new(ack_on_change: bool, sce: bool, option: bool) -> Self {
        Self { sce, ack_on_change, option, ..Self::default() }
    }

    /// Whether packets of this end have AccECN's option.
    #[inline]
    pub(crate) fn has_option(&self) -> bool {
        self.option && self.agreed == Agreed::AccEcn
    }

    /// The fields of the option of an ACK that leaves now, and the number of SACK blocks next to it.
    #[inline]
    pub(crate) fn take_option(&mut self, blocks: u8) -> (Option<u8>, u8) {
        if !self.has_option() {
            return (None, blocks);
        }
        let (fields, blocks) = option::fit(blocks, self.fields);
        if fields.is_some() {
            self.fields = 0;
        }
        (fields, blocks)
    }

    /// The flags of an ACK that leaves now; it reports SCE once.
    #[inline]
    pub(crate) fn flags(&mut self) -> Flags {
        match self.agreed {
            Agreed::Off => Flags::default(),
            Agreed::Rfc3168 => {
                Flags { ae: core::mem::take(&mut self.esce), cwr: false, ece: self.demand_cwr }
            }
            Agreed::AccEcn => Flags::from_ace(accurate::field(self.received_ce)),
        }
    }

    /// A data packet has come, wanted or not. Only AccECN counts them all.
    #[inline]
    pub(crate) fn count(&mut self, ecn: Ecn) -> AckUrgency {
        if self.agreed != Agreed::AccEcn {
            return AckUrgency::Nothing;
        }
        self.received_ce = self.received_ce.wrapping_add(u32::from(ecn == Ecn::Ce));
        self.fields = self.fields.max(option::fields_for(ecn));
        let changed = core::mem::replace(&mut self.last, ecn) != ecn;
        if changed && self.ack_on_change { AckUrgency::Now } else { AckUrgency::Nothing }
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

    /// Whether a data packet has to be distinguished from those before it; `waiting` says whether an ACK waits.
    #[inline]
    pub(crate) fn turn(&mut self, ecn: Ecn, waiting: bool) -> Option<Turn> {
        if self.agreed != Agreed::Rfc3168 || ecn == Ecn::NotEct {
            return None;
        }
        let before = Flags { ae: self.esce, cwr: false, ece: self.demand_cwr };
        let sce_turns = self.sce && self.turn_sce(ecn) && waiting;
        // To a receiver of SCE an SCE packet is none of CE's business.
        let ce_turns = self.exact && !(self.sce && ecn == Ecn::Ect1) && self.turn_ce(ecn);
        match (ce_turns, sce_turns) {
            (true, _) => Some(Turn {
                before: Flags { ece: ecn != Ecn::Ce, ..before },
                then: AckUrgency::Now,
            }),
            // The packet itself follows the rules of quick ACKs and gets one.
            (false, true) => Some(Turn { before, then: AckUrgency::Quicken(1) }),
            (false, false) => None,
        }
    }

    /// DCTCP's receiver (RFC 8257 §3.2, `dctcp_ece_ack_update`): ECE is the mark of the latest packet.
    fn turn_ce(&mut self, ecn: Ecn) -> bool {
        let marked = ecn == Ecn::Ce;
        self.demand_cwr = marked;
        core::mem::replace(&mut self.marked, marked) != marked
    }

    /// The SCE project's receiver (`__tcp_ecn_check_ce` of chromi/sce 016a60ca): an ECT(1) packet is reported by the next
    /// ACK; an ECT(0) packet takes that back, once what came before is acknowledged. CE changes nothing of it.
    fn turn_sce(&mut self, ecn: Ecn) -> bool {
        if ecn == Ecn::Ce {
            return false;
        }
        let is_sce = ecn == Ecn::Ect1;
        self.esce = is_sce;
        core::mem::replace(&mut self.last_was_sce, is_sce) != is_sce
    }

    /// What a wanted data packet's codepoint asks of the next ACKs (`__tcp_ecn_check_ce`).
    #[inline]
    pub(crate) fn take(&mut self, ecn: Ecn) -> AckUrgency {
        if self.agreed != Agreed::Rfc3168 {
            return AckUrgency::Nothing;
        }
        let seen_ect = self.seen_ect;
        self.seen_ect |= ecn != Ecn::NotEct;
        if ecn == Ecn::NotEct {
            // Probably a retransmission: the sender's window may be small.
            return if seen_ect { AckUrgency::Quicken(2) } else { AckUrgency::Nothing };
        }
        if ecn == Ecn::Ce && !self.demand_cwr {
            self.demand_cwr = true;
            return AckUrgency::Quicken(2);
        }
        AckUrgency::Nothing
    }
}
