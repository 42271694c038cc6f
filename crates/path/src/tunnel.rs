//! Tunnels: an outer header at one end, off again at the other.
//!
//! Sources: RFC 6040 (ECN, normal mode and decapsulation, figure 4); RFC 4303 §2 (ESP's padding, sequence
//! numbers); Linux `drivers/net/wireguard/send.c` (padding to 16 bytes, no further than the MTU; DSCP 0) and
//! `net/ipv4/fou.c`, `udp_flow_src_port` (a source port from the inner flow's hash).
//!
//! Queues between the ends see the outer header: its length, its DSCP and ECN field, and one flow for all that
//! is inside, unless the source port follows the inner flow. Each packet gets a number as it goes in; the far end
//! holds the numbers against its replay window in the order in which packets arrive there.
//!
//! ECN in RFC 6040's normal mode: the outer field is a copy. Linux's own `INET_ECN_encapsulate` differs for CE
//! alone, which it sends as outer ECT(0) (RFC 3168 §9.1.1); at the far end the inner CE is CE either way.
//! DSCP: ESP copies it (Linux's default), WireGuard and FOU leave it 0.

use crate::element::Verdict;
use crate::packet::{Outer, PathPacket};
use crate::setup::{FromElement, Setup, Typed};
use crate::{ReplayWindow, Selection};
use sojourn_model::{Kind, TunnelKind};
use sojourn_qdisc::Reason;
use sojourn_units::{Dscp, ETHERNET_HEADER, Ecn, Time};

/// The largest IP packet that goes in, beyond which WireGuard does not pad.
const MTU: u32 = 1500;

/// What the inner ECN field becomes when the outer header comes off (RFC 6040 §4.2, figure 4); `None` if the
/// packet must be dropped.
pub const fn decapsulated(inner: Ecn, outer: Ecn) -> Option<Ecn> {
    match (inner, outer) {
        (Ecn::NotEct, Ecn::Ce) => None,
        (Ecn::NotEct, _) => Some(Ecn::NotEct),
        (Ecn::Ce, _) | (_, Ecn::Ce) => Some(Ecn::Ce),
        (Ecn::Ect0, Ecn::Ect1) => Some(Ecn::Ect1),
        (inner, _) => Some(inner),
    }
}

/// The near end.
#[derive(Clone, Debug)]
pub struct Entrance {
    tunnel: u16,
    kind: TunnelKind,
    select: Selection,
    overhead: u32,
    next: u64,
}

impl Entrance {
    /// An end of the tunnel number `tunnel` that takes what is selected and adds `overhead` bytes and padding.
    pub const fn new(tunnel: u16, kind: TunnelKind, select: Selection, overhead: u32) -> Self {
        Self { tunnel, kind, select, overhead, next: 0 }
    }

    /// Puts the packet in, if it is meant.
    pub fn enter<P: PathPacket>(&mut self, packet: &mut P) {
        if !self.select.takes(packet) {
            return;
        }
        let growth = self.overhead + self.padding(packet.wire_len() - ETHERNET_HEADER);
        let key = match self.kind {
            TunnelKind::Fou { auto_source_port: true } => {
                1 << 63 | u64::from(self.tunnel) << 40 | (packet.flow_key() & ((1 << 40) - 1))
            }
            _ => 1 << 62 | u64::from(self.tunnel),
        };
        let dscp = match self.kind {
            TunnelKind::Esp => packet.dscp(),
            TunnelKind::Wireguard | TunnelKind::Fou { .. } => Dscp::BEST_EFFORT,
        };
        let (tunnel, sequence, ecn) = (self.tunnel, self.next, packet.ecn());
        self.next += 1;
        packet.push_header(Outer { tunnel, key, sequence, growth, ecn, dscp });
    }

    /// Bytes of padding for an IP packet of this length.
    const fn padding(&self, ip_len: u32) -> u32 {
        match self.kind {
            TunnelKind::Wireguard => {
                let padded = ip_len.next_multiple_of(16);
                let most = if ip_len > MTU { ip_len } else { MTU };
                (if padded < most { padded } else { most }) - ip_len
            }
            // The two bytes behind the padding are in the overhead; they end on a multiple of four.
            TunnelKind::Esp => (ip_len + 2).next_multiple_of(4) - (ip_len + 2),
            TunnelKind::Fou { .. } => 0,
        }
    }
}

impl FromElement for Entrance {
    fn of(setup: &mut Setup<'_>) -> Option<Self> {
        let Kind::Encapsulate(tunnel) = setup.kind else { return None };
        let number = setup.tunnels.number(setup.side, setup.name, tunnel.kind);
        Some(Self::new(number, tunnel.kind, setup.selection(&tunnel.select), tunnel.overhead))
    }
}

impl Typed for Entrance {
    fn pass<P: PathPacket>(&mut self, _now: Time, packet: &mut P) -> Verdict {
        self.enter(packet);
        Verdict::Passes
    }
}

/// The far end.
#[derive(Clone, Debug)]
pub struct Exit {
    tunnel: u16,
    window: ReplayWindow,
}

impl Exit {
    /// The end of the tunnel number `tunnel` with a replay window of `replay_window` packets; 0, or a kind of tunnel
    /// without numbers, for no check.
    pub fn new(tunnel: u16, kind: TunnelKind, replay_window: u32) -> Self {
        let window = match kind {
            TunnelKind::Wireguard => ReplayWindow::wireguard(replay_window),
            TunnelKind::Esp => ReplayWindow::esp(replay_window),
            TunnelKind::Fou { .. } => ReplayWindow::off(),
        };
        Self { tunnel, window }
    }

    /// Takes the packet out if it is in this tunnel.
    ///
    /// # Errors
    /// Why it must be dropped.
    pub fn leave<P: PathPacket>(&mut self, packet: &mut P) -> Result<(), Reason> {
        let Some(outer) = packet.outer() else { return Ok(()) };
        if outer.tunnel != self.tunnel {
            return Ok(());
        }
        if !self.window.accept(outer.sequence) {
            return Err(Reason::Replay);
        }
        strip(packet)
    }
}

impl FromElement for Exit {
    fn of(setup: &mut Setup<'_>) -> Option<Self> {
        let Kind::Decapsulate { tunnel } = setup.kind else { return None };
        let (kind, window) = {
            let near = setup.near_end(tunnel)?;
            (near.kind, near.replay_window)
        };
        let number = setup.tunnels.number(setup.side, tunnel, kind);
        Some(Self::new(number, kind, window))
    }
}

impl Typed for Exit {
    fn pass<P: PathPacket>(&mut self, _now: Time, packet: &mut P) -> Verdict {
        match self.leave(packet) {
            Ok(()) => Verdict::Passes,
            Err(reason) => Verdict::Dropped(reason),
        }
    }
}

/// Takes the outermost header off, whatever tunnel it is of.
///
/// # Errors
/// Why the packet must be dropped.
pub fn strip<P: PathPacket>(packet: &mut P) -> Result<(), Reason> {
    let outer_ecn = packet.ecn();
    if packet.pop_header() {
        let ecn = decapsulated(packet.ecn(), outer_ecn).ok_or(Reason::TunnelEcn)?;
        packet.set_ecn(ecn);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Walker;
    use sojourn_qdisc::Packet;

    const KINDS: [(TunnelKind, u32); 4] = [
        (TunnelKind::Wireguard, 60),
        (TunnelKind::Fou { auto_source_port: false }, 28),
        (TunnelKind::Fou { auto_source_port: true }, 28),
        (TunnelKind::Esp, 54),
    ];

    /// RFC 6040 figure 4: rows are the inner field, columns the outer, both in the order Not-ECT, ECT(0), ECT(1),
    /// CE.
    #[test]
    fn figure_4() {
        use Ecn::{Ce, Ect0, Ect1, NotEct};
        let order = [NotEct, Ect0, Ect1, Ce];
        let figure = [
            [Some(NotEct), Some(NotEct), Some(NotEct), None],
            [Some(Ect0), Some(Ect0), Some(Ect1), Some(Ce)],
            [Some(Ect1), Some(Ect1), Some(Ect1), Some(Ce)],
            [Some(Ce), Some(Ce), Some(Ce), Some(Ce)],
        ];
        for (inner, row) in order.iter().zip(figure) {
            for (outer, expected) in order.iter().zip(row) {
                assert_eq!(decapsulated(*inner, *outer), expected, "{inner} in {outer}");
            }
        }
    }

    #[test]
    fn what_goes_in_comes_out_as_it_was() {
        for (kind, overhead) in KINDS {
            let mut near = Entrance::new(3, kind, Selection::All, overhead);
            let mut far = Exit::new(3, kind, 64);
            for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
                let dscp = Dscp::new(0x13).unwrap();
                let before = Walker { ecn, dscp, ..Walker::default() };
                let mut packet = before.clone();
                near.enter(&mut packet);
                assert!(packet.ecn() == ecn && packet.wire_len() >= 1514 + overhead);
                assert_eq!(packet.dscp() == dscp, kind == TunnelKind::Esp);
                far.leave(&mut packet).unwrap();
                assert_eq!(packet, before);
            }
        }
    }

    /// Sizes by hand: an ACK of 52 bytes of IP is padded to 64 by WireGuard; 52 + 2 to 56 by ESP.
    #[test]
    fn padding() {
        for ((kind, overhead), ip_len, padding) in [
            (KINDS[0], 52, 12),
            (KINDS[0], 64, 0),
            (KINDS[0], 1490, 10),
            (KINDS[0], 1497, 3),
            (KINDS[0], 1500, 0),
            (KINDS[0], 1600, 0),
            (KINDS[1], 53, 0),
            (KINDS[3], 52, 2),
            (KINDS[3], 54, 0),
            (KINDS[3], 1500, 2),
        ] {
            let mut packet = Walker { wire_len: ip_len + 14, ..Walker::default() };
            Entrance::new(0, kind, Selection::All, overhead).enter(&mut packet);
            let expected = ip_len + 14 + overhead + padding;
            assert_eq!(packet.wire_len(), expected, "{} of {ip_len}", kind.name());
        }
    }

    /// All inside are one flow to a queue, unless the source port follows them; two tunnels are never one.
    #[test]
    fn outer_flows() {
        let key = |tunnel, kind, flow| {
            let mut packet = Walker { flow, ..Walker::default() };
            Entrance::new(tunnel, kind, Selection::All, 0).enter(&mut packet);
            packet.flow_key()
        };
        for (kind, _) in KINDS {
            let auto = kind == TunnelKind::Fou { auto_source_port: true };
            assert_eq!(key(0, kind, 1) != key(0, kind, 2), auto, "{}", kind.name());
            assert_eq!(key(0, kind, 1), key(0, kind, 1));
            assert_ne!(key(0, kind, 1), key(1, kind, 1));
        }
    }

    #[test]
    fn a_mark_in_the_tunnel_comes_out_and_an_illegal_one_is_a_drop() {
        let kind = TunnelKind::Wireguard;
        for (inner, result) in [(Ecn::Ect0, Ok(())), (Ecn::NotEct, Err(Reason::TunnelEcn))] {
            let mut packet = Walker { ecn: inner, ..Walker::default() };
            Entrance::new(0, kind, Selection::All, 60).enter(&mut packet);
            packet.set_ecn(Ecn::Ce);
            assert_eq!(Exit::new(0, kind, 0).leave(&mut packet), result);
        }
    }

    /// A queue that holds one packet of every hundred back behind the next 40: a window of 32 drops exactly those,
    /// one of 64 none. Numbers are given at the near end, whatever happens between.
    #[test]
    fn a_delayed_class_is_dropped_by_a_short_window() {
        for (window, drops) in [(0, 0), (32, 10), (40, 10), (41, 0), (64, 0)] {
            let mut near = Entrance::new(0, TunnelKind::Esp, Selection::All, 54);
            let mut far = Exit::new(0, TunnelKind::Esp, window);
            let mut packets: Vec<Walker> = (0..1000)
                .map(|n| {
                    let mut p = Walker {
                        ecn: Ecn::Ect0,
                        flow: usize::from(n % 100 == 7),
                        ..Walker::default()
                    };
                    near.enter(&mut p);
                    p
                })
                .collect();
            for at in (7..1000).step_by(100) {
                let held = packets.remove(at);
                packets.insert(at + 40, held);
            }
            let dropped: Vec<usize> = packets
                .iter_mut()
                .filter_map(|p| far.leave(p).is_err().then_some(p.flow))
                .collect();
            assert_eq!(dropped, vec![1; drops], "window {window}");
        }
    }

    /// A tunnel in a tunnel: each end takes its own header only.
    #[test]
    fn tunnels_nest() {
        let mut a = Entrance::new(1, TunnelKind::Esp, Selection::All, 54);
        let mut b = Entrance::new(2, TunnelKind::Wireguard, Selection::All, 60);
        let before = Walker { ecn: Ecn::Ect1, ..Walker::default() };
        let mut packet = before.clone();
        a.enter(&mut packet);
        b.enter(&mut packet);
        let outermost = packet.clone();
        Exit::new(1, TunnelKind::Esp, 32).leave(&mut packet).unwrap();
        assert_eq!(packet, outermost, "not this tunnel's");
        packet.set_ecn(Ecn::Ce);
        Exit::new(2, TunnelKind::Wireguard, 32).leave(&mut packet).unwrap();
        Exit::new(1, TunnelKind::Esp, 32).leave(&mut packet).unwrap();
        assert_eq!(packet, Walker { ecn: Ecn::Ce, ..before });
    }
}
