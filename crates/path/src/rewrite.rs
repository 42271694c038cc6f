//! Rules that change header bits, by the names of the harness's mangle rules.
//!
//! Source: docs/sources/harness.md#rewriters: `iptables -t mangle` with the targets TOS, DSCP and
//! `ECN --ecn-tcp-remove` on a bridge. They act before the queue, on what they select, and know nothing of
//! connections: a rule on the way of the data leaves the acknowledgements alone.
//!
//! What each does to the byte and the TCP header:
//!
//! | rule | of packets that are | ECN field | DSCP | ECE, CWR |
//! |---|---|---|---|---|
//! | `bleach_ecn` | any | Not-ECT | 0, or kept | |
//! | `bleach_ce` | CE | Not-ECT | 0 | |
//! | `dscp_to_ect1` | any | ECT(1) | 0 | |
//! | `dscp_to_notect` | TCP | | | cleared |
//! | `dscp_to_notect_ect1` | TCP | ECT(1) | 0 | cleared |
//! | `ect0_to_ect1` | ECT(0) | ECT(1) | 0 | |
//! | `ect1_to_ect0` | ECT(1) | ECT(0) | 0 | |
//! | `ce_to_ect` | CE | the one stated | | |
//! | `set_dscp` | any | | the one stated | |
//! | `classify_by_length` | longer | the one stated | the one stated, or kept | |
//!
//! The harness's TOS target sets the whole byte, so that the DSCP is gone for whatever comes behind.
//! A SYN without ECE and CWR asks for nothing (RFC 3168 §6.1.1): with `syn`, the two `notect` rules keep ECN from
//! being agreed; without, they take away the feedback of a connection that has agreed.

use crate::element::Verdict;
use crate::setup::{FromElement, Setup, Typed};
use crate::{PathPacket, Selection};
use sojourn_model::{Kind, Rule};
use sojourn_units::{Dscp, Ecn, Time};

/// A rule, and whom it is for.
#[derive(Clone, PartialEq, Debug)]
pub struct Rewriter {
    rule: Rule,
    select: Selection,
    syn: bool,
}

impl Rewriter {
    /// A rule for the packets of `select`; for their SYN segments too if `syn`.
    pub const fn new(rule: Rule, select: Selection, syn: bool) -> Self {
        Self { rule, select, syn }
    }

    /// Acts on a packet that passes, and says whether it was meant.
    pub fn apply<P: PathPacket>(&self, packet: &mut P) -> bool {
        if !self.select.takes(packet) || (packet.is_syn() && !self.syn) {
            return false;
        }
        let ecn = packet.ecn();
        match self.rule {
            Rule::BleachEcn { keep_dscp } => {
                packet.set_ecn(Ecn::NotEct);
                if !keep_dscp {
                    packet.set_dscp(Dscp::BEST_EFFORT);
                }
            }
            Rule::BleachCe => return whole_byte(packet, ecn == Ecn::Ce, Ecn::NotEct),
            Rule::DscpToEct1 => return whole_byte(packet, true, Ecn::Ect1),
            Rule::DscpToNotect => packet.strip_tcp_ecn(),
            Rule::DscpToNotectEct1 => {
                packet.strip_tcp_ecn();
                return whole_byte(packet, true, Ecn::Ect1);
            }
            Rule::Ect0ToEct1 => return whole_byte(packet, ecn == Ecn::Ect0, Ecn::Ect1),
            Rule::Ect1ToEct0 => return whole_byte(packet, ecn == Ecn::Ect1, Ecn::Ect0),
            Rule::CeToEct { ecn: to } => {
                if ecn != Ecn::Ce {
                    return false;
                }
                packet.set_ecn(to);
            }
            Rule::SetDscp { to } => packet.set_dscp(to),
            Rule::ClassifyByLength { longer_than, ecn: to, to: dscp } => {
                if packet.l4_len() <= longer_than {
                    return false;
                }
                packet.set_ecn(to);
                if let Some(dscp) = dscp {
                    packet.set_dscp(dscp);
                }
            }
        }
        true
    }
}

impl FromElement for Rewriter {
    fn of(setup: &mut Setup<'_>) -> Option<Self> {
        let Kind::Rewrite(r) = setup.kind else { return None };
        Some(Self::new(r.rule, setup.selection(&r.select), r.syn))
    }
}

impl Typed for Rewriter {
    fn pass<P: PathPacket>(&mut self, _now: Time, packet: &mut P) -> Verdict {
        self.apply(packet);
        Verdict::Passes
    }
}

/// The traffic-class byte becomes `ecn` without a DSCP, if the rule is for this packet.
fn whole_byte<P: PathPacket>(packet: &mut P, meant: bool, ecn: Ecn) -> bool {
    if meant {
        packet.set_ecn(ecn);
        packet.set_dscp(Dscp::BEST_EFFORT);
    }
    meant
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Walker;
    use sojourn_qdisc::Packet;

    const ALL: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

    fn dscp(value: u8) -> Dscp {
        Dscp::new(value).unwrap()
    }

    /// The table of the module text, by ECN field in the order of its values on the wire.
    #[test]
    fn the_truth_table() {
        use Ecn::{Ce, Ect0, Ect1, NotEct};
        let (kept, gone) = (0x23, 0);
        let ce_to_ect = |ecn| Rule::CeToEct { ecn };
        let by_length = |to| Rule::ClassifyByLength { longer_than: 1024, ecn: Ect1, to };
        for (rule, ecn, tos, strips) in [
            (Rule::BleachEcn { keep_dscp: false }, [NotEct; 4], [gone; 4], false),
            (Rule::BleachEcn { keep_dscp: true }, [NotEct; 4], [kept; 4], false),
            (Rule::BleachCe, [NotEct, Ect1, Ect0, NotEct], [kept, kept, kept, gone], false),
            (Rule::DscpToEct1, [Ect1; 4], [gone; 4], false),
            (Rule::DscpToNotect, ALL, [kept; 4], true),
            (Rule::DscpToNotectEct1, [Ect1; 4], [gone; 4], true),
            (Rule::Ect0ToEct1, [NotEct, Ect1, Ect1, Ce], [kept, kept, gone, kept], false),
            (Rule::Ect1ToEct0, [NotEct, Ect0, Ect0, Ce], [kept, gone, kept, kept], false),
            (ce_to_ect(Ect0), [NotEct, Ect1, Ect0, Ect0], [kept; 4], false),
            (ce_to_ect(Ect1), [NotEct, Ect1, Ect0, Ect1], [kept; 4], false),
            (Rule::SetDscp { to: dscp(7) }, ALL, [7; 4], false),
            (by_length(None), [Ect1; 4], [kept; 4], false),
            (by_length(Some(dscp(7))), [Ect1; 4], [7; 4], false),
        ] {
            for i in 0..4 {
                let mut packet = Walker { ecn: ALL[i], dscp: dscp(kept), ..Walker::default() };
                Rewriter::new(rule, Selection::All, false).apply(&mut packet);
                assert_eq!((packet.ecn, packet.dscp.value()), (ecn[i], tos[i]), "{rule:?} {i}");
                assert_eq!(packet.feedback, !strips, "{rule:?}");
            }
        }
    }

    #[test]
    fn length_is_of_transport_header_and_payload() {
        let rule = Rule::ClassifyByLength { longer_than: 1024, ecn: Ecn::Ect1, to: None };
        let rewriter = Rewriter::new(rule, Selection::All, false);
        // 14 of Ethernet and 20 of IP are not counted.
        for (wire_len, meant) in [(1024 + 34, false), (1025 + 34, true)] {
            let mut packet = Walker { wire_len, ..Walker::default() };
            assert_eq!(rewriter.apply(&mut packet), meant);
            assert_eq!(packet.ecn() == Ecn::Ect1, meant);
        }
    }

    #[test]
    fn only_whom_it_is_for() {
        let rule = Rule::DscpToEct1;
        let applies = |select: Selection, syn, packet: &Walker| {
            Rewriter::new(rule, select, syn).apply(&mut packet.clone())
        };
        let data = Walker { dscp: dscp(0x13), flow: 1, ..Walker::default() };
        let syn = Walker { syn: true, ..data.clone() };
        assert!(applies(Selection::Dscp(dscp(0x13)), false, &data));
        assert!(!applies(Selection::Dscp(dscp(0x12)), false, &data));
        assert!(applies(Selection::Flows(vec![false, true]), false, &data));
        assert!(!applies(Selection::Flows(vec![true, false]), false, &data));
        assert!(!applies(Selection::Flows(vec![true]), false, &data));
        assert!(applies(Selection::All, true, &syn) && !applies(Selection::All, false, &syn));
    }

    /// The second of two rules no longer sees the DSCP that the first wiped.
    #[test]
    fn a_rule_hides_from_the_next_what_it_wiped() {
        let mut packet = Walker { dscp: dscp(0x23), ..Walker::default() };
        let select = || Selection::Dscp(dscp(0x23));
        assert!(Rewriter::new(Rule::DscpToEct1, select(), false).apply(&mut packet));
        assert!(!Rewriter::new(Rule::BleachCe, select(), false).apply(&mut packet));
    }
}
