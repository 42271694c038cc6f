//! The links of a router: which frames are to be forwarded, and to which neighbour.
//!
//! Packets to a neighbour that the kernel still looks for wait here, a second at most, as many as [`MOST_WAITING`]; Linux keeps
//! some, too (`unres_qlen_bytes`). Those of one neighbour keep their order.
//!
//! Invariant: a packet leaves with its next hop's address, or is counted.

use crate::packet::Packet;
use crate::routing::{Kernel, Mac, Neighbour};
use sojourn_units::{Span, Time};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::net::IpAddr;

/// Packets that wait for one neighbour.
const MOST_WAITING: usize = 64;
/// How long they wait.
const PATIENCE: Span = Span::from_secs(1);
/// How often the kernel is asked whether it has found a neighbour, if it does not say so.
const LOOK: Span = Span::from_millis(20);
/// How long a neighbour counts as reachable before the kernel is to look again: Linux's `base_reachable_time`.
const REACHABLE: Span = Span::from_secs(30);
/// Entries of a table before it begins again.
const MOST_KNOWN: usize = 4096;

/// What a router does with a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Forward,
    /// It has been forwarded as often as it may be.
    Expired,
    /// It is not the router's to forward.
    Ignore,
}

/// What to do with a frame that came in by an interface with this MAC address; `own` are this machine's addresses.
pub(crate) fn verdict(frame: &[u8], mac: Mac, own: &HashSet<IpAddr>) -> Verdict {
    const V4: [u8; 2] = [8, 0];
    const V6: [u8; 2] = [0x86, 0xdd];
    if frame.get(..6) != Some(&mac) {
        return Verdict::Ignore;
    }
    let part = |from: usize, to: usize| frame.get(from..to).unwrap_or_default();
    let (hops, to) = match (part(12, 14), frame.get(14).map(|byte| byte >> 4)) {
        (kind, Some(4)) if kind == V4 => {
            let to = <[u8; 4]>::try_from(part(30, 34)).ok().map(IpAddr::from);
            (frame.get(22), to)
        }
        (kind, Some(6)) if kind == V6 => {
            let to = <[u8; 16]>::try_from(part(38, 54)).ok().map(IpAddr::from);
            (frame.get(21), to)
        }
        _ => return Verdict::Ignore,
    };
    match (hops, to) {
        (Some(_), Some(to)) if own.contains(&to) || !may_be_forwarded(to) => Verdict::Ignore,
        (Some(0 | 1), Some(_)) => Verdict::Expired,
        (Some(_), Some(_)) => Verdict::Forward,
        _ => Verdict::Ignore,
    }
}

/// Whether an address is one host's, on whatever link.
fn may_be_forwarded(to: IpAddr) -> bool {
    let is_of_the_link = match to {
        IpAddr::V4(to) => to.is_link_local() || to.is_broadcast(),
        IpAddr::V6(to) => to.is_unicast_link_local(),
    };
    !(is_of_the_link || to.is_multicast() || to.is_loopback() || to.is_unspecified())
}

/// The kernel's answers about one link.
pub(crate) trait Link {
    /// The neighbour through which packets to an address leave; none if no route leads there.
    fn next_hop(&self, to: IpAddr) -> Option<IpAddr>;
    /// The MAC address of a neighbour, if it is known.
    fn neighbour(&self, at: IpAddr) -> Option<Mac>;
    /// Lets the kernel look for a neighbour.
    fn resolve(&self, at: IpAddr);
}

/// A link by its interface's number.
pub(crate) struct OnInterface(pub(crate) Kernel, pub(crate) u32);

impl Link for OnInterface {
    fn next_hop(&self, to: IpAddr) -> Option<IpAddr> {
        self.0.next_hop(self.1, to).ok()
    }

    fn neighbour(&self, at: IpAddr) -> Option<Mac> {
        self.0.neighbour(self.1, at)
    }

    fn resolve(&self, at: IpAddr) {
        // A kernel that cannot look finds nothing, and the packets are counted as lost.
        let _ = self.0.resolve(self.1, at);
    }
}

/// A neighbour with an address.
struct Known {
    mac: Mac,
    /// When the kernel was last asked whether it is there.
    asked: Time,
}

/// Packets for a neighbour that has none yet.
struct Waiting {
    since: Time,
    asked: Time,
    packets: VecDeque<Packet>,
}

/// One side of a router.
pub(crate) struct Side<L> {
    link: L,
    /// The interface's own.
    mac: Mac,
    /// Next hops by destination.
    routes: HashMap<IpAddr, Option<IpAddr>>,
    known: HashMap<IpAddr, Known>,
    waiting: BTreeMap<IpAddr, Waiting>,
    /// Packets without a next hop, or one that nobody found.
    lost: u64,
}

impl<L: Link> Side<L> {
    pub(crate) fn new(link: L, mac: Mac) -> Self {
        let (routes, known, waiting) = (HashMap::new(), HashMap::new(), BTreeMap::new());
        Self { link, mac, routes, known, waiting, lost: 0 }
    }

    /// The address of its interface.
    pub(crate) const fn mac(&self) -> Mac {
        self.mac
    }

    /// Packets that found no neighbour.
    pub(crate) const fn lost(&self) -> u64 {
        self.lost
    }

    /// Routes have changed.
    pub(crate) fn forget_routes(&mut self) {
        self.routes.clear();
    }

    /// Anything may have changed.
    pub(crate) fn forget(&mut self) {
        self.routes.clear();
        self.known.clear();
    }

    /// The kernel has found a neighbour, or lost it.
    pub(crate) fn hear(&mut self, now: Time, of: Neighbour) {
        match of.mac {
            Some(mac) if self.known.contains_key(&of.at) || self.waiting.contains_key(&of.at) => {
                let asked = self.known.get(&of.at).map_or(now, |known| known.asked);
                self.known.insert(of.at, Known { mac, asked });
            }
            Some(_) => {}
            None => drop(self.known.remove(&of.at)),
        }
    }

    /// Gives packets that leave now their next hop's address. Those without one stay here, and leave later.
    pub(crate) fn lead(&mut self, now: Time, packets: &mut Vec<(Time, Packet)>) {
        if packets.is_empty() && self.waiting.is_empty() {
            return;
        }
        let fresh = std::mem::take(packets);
        self.release(now, packets);
        for (left, mut packet) in fresh {
            let Some(hop) = destination(&packet).and_then(|to| self.next_hop(to)) else {
                self.lost += 1;
                continue;
            };
            match self.mac_of(now, hop) {
                Some(mac) => {
                    if packet.frame_mut().forward(self.mac, mac) {
                        packets.push((left, packet));
                    }
                }
                None => self.keep(now, hop, packet),
            }
        }
    }

    /// Lets packets go to neighbours that were found, and drops those that have waited for too long.
    fn release(&mut self, now: Time, packets: &mut Vec<(Time, Packet)>) {
        let hops: Vec<IpAddr> = self.waiting.keys().copied().collect();
        for hop in hops {
            let Some(waiting) = self.waiting.get_mut(&hop) else { continue };
            if !self.known.contains_key(&hop) && now.since(waiting.asked) >= LOOK {
                waiting.asked = now;
                if let Some(mac) = self.link.neighbour(hop) {
                    self.known.insert(hop, Known { mac, asked: now });
                }
            }
            let mac = self.known.get(&hop).map(|known| known.mac);
            if mac.is_none() && now.since(waiting.since) < PATIENCE {
                continue;
            }
            let Some(waiting) = self.waiting.remove(&hop) else { continue };
            let Some(mac) = mac else {
                self.lost += waiting.packets.len() as u64;
                continue;
            };
            for mut packet in waiting.packets {
                if packet.frame_mut().forward(self.mac, mac) {
                    // The relay is not late with it.
                    packets.push((now, packet));
                }
            }
        }
    }

    fn keep(&mut self, now: Time, hop: IpAddr, packet: Packet) {
        let link = &self.link;
        let waiting = self.waiting.entry(hop).or_insert_with(|| {
            link.resolve(hop);
            Waiting { since: now, asked: now, packets: VecDeque::new() }
        });
        if waiting.packets.len() == MOST_WAITING {
            waiting.packets.pop_front();
            self.lost += 1;
        }
        waiting.packets.push_back(packet);
    }

    fn next_hop(&mut self, to: IpAddr) -> Option<IpAddr> {
        if let Some(known) = self.routes.get(&to) {
            return *known;
        }
        if self.routes.len() >= MOST_KNOWN {
            self.routes.clear();
        }
        let hop = self.link.next_hop(to);
        self.routes.insert(to, hop);
        hop
    }

    fn mac_of(&mut self, now: Time, hop: IpAddr) -> Option<Mac> {
        if self.waiting.contains_key(&hop) {
            // Behind those that wait already.
            return None;
        }
        if let Some(known) = self.known.get_mut(&hop) {
            if now.since(known.asked) > REACHABLE {
                known.asked = now;
                self.link.resolve(hop);
            }
            return Some(known.mac);
        }
        if self.known.len() >= MOST_KNOWN {
            self.known.clear();
        }
        let mac = self.link.neighbour(hop)?;
        self.link.resolve(hop);
        self.known.insert(hop, Known { mac, asked: now });
        Some(mac)
    }
}

fn destination(packet: &Packet) -> Option<IpAddr> {
    let [_, to] = packet.frame().addresses();
    let v4 = || <[u8; 4]>::try_from(to).ok().map(IpAddr::from);
    v4().or_else(|| <[u8; 16]>::try_from(to).ok().map(IpAddr::from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Host;
    use sojourn_wire::Frame;
    use std::cell::{Cell, RefCell};

    const OWN: Mac = [2, 0, 0, 0, 0, 2];
    const OTHER: Mac = [2, 0, 0, 0, 0, 3];

    /// A UDP datagram to 193.167.100.LAST with this number as its payload.
    fn datagram(last: u8, ttl: u8, number: u8) -> Vec<u8> {
        let mut bytes = [OWN.as_slice(), &[2, 0, 0, 0, 0, 1, 8, 0]].concat();
        bytes.extend([0x45, 0, 0, 29, 0, 0, 0x40, 0, ttl, 17, 0, 0]);
        bytes.extend([193, 167, 0, 100, 193, 167, 100, last, 0, 1, 0, 2, 0, 9, 0, 0, number]);
        bytes
    }

    fn packet(last: u8, number: u8) -> (Time, Packet) {
        let frame = Frame::new(datagram(last, 64, number));
        (Time::ZERO, Packet::new(frame, Time::ZERO, Host::Server, 0, 0))
    }

    fn at(last: u8) -> IpAddr {
        IpAddr::from([193, 167, 100, last])
    }

    #[test]
    fn only_frames_to_others_by_this_router_are_forwarded() {
        let own = HashSet::from([at(2), IpAddr::from([0xfd; 16])]);
        let of = |frame: &[u8]| verdict(frame, OWN, &own);
        assert_eq!(of(&datagram(100, 64, 0)), Verdict::Forward);
        assert_eq!(of(&datagram(100, 2, 0)), Verdict::Forward);
        assert_eq!(of(&datagram(100, 1, 0)), Verdict::Expired);
        assert_eq!(of(&datagram(2, 64, 0)), Verdict::Ignore, "for this machine");
        assert_eq!(of(&datagram(2, 1, 0)), Verdict::Ignore, "for this machine, whatever its TTL");
        let changed = |at: usize, with: &[u8]| {
            let mut frame = datagram(100, 64, 0);
            frame[at..at + with.len()].copy_from_slice(with);
            frame
        };
        for (name, frame) in [
            ("another machine's", changed(0, &OTHER)),
            ("a broadcast", changed(0, &[0xff; 6])),
            ("ARP", changed(12, &[8, 6])),
            ("IPv6 by EtherType alone", changed(12, &[0x86, 0xdd])),
            ("multicast", changed(30, &[224, 0, 0, 5])),
            ("of the link", changed(30, &[169, 254, 0, 5])),
            ("to everybody", changed(30, &[255; 4])),
            ("loopback", changed(30, &[127, 0, 0, 1])),
            ("cut off", datagram(100, 64, 0)[..33].to_vec()),
            ("empty", Vec::new()),
        ] {
            assert_eq!(of(&frame), Verdict::Ignore, "{name}");
        }
        let v6 = |hops: u8, to: [u8; 16]| {
            let mut bytes = [OWN.as_slice(), &[2, 0, 0, 0, 0, 1, 0x86, 0xdd]].concat();
            bytes.extend([0x60, 0, 0, 0, 0, 0, 59, hops]);
            bytes.extend([0xfd; 15].iter().chain(&[1]).chain(&to));
            bytes
        };
        let mut to = [0; 16];
        (to[0], to[15]) = (0xfd, 5);
        assert_eq!((of(&v6(64, to)), of(&v6(1, to))), (Verdict::Forward, Verdict::Expired));
        (to[0], to[1]) = (0xfe, 0x80);
        assert_eq!(of(&v6(64, to)), Verdict::Ignore, "of the link");
        (to[0], to[1]) = (0xff, 0x02);
        assert_eq!(of(&v6(64, to)), Verdict::Ignore, "multicast");
        assert_eq!(of(&v6(64, [0xfd; 16])), Verdict::Ignore, "for this machine");
    }

    /// A link with a gateway for everything but 193.167.100.0/24.
    #[derive(Default)]
    struct Stub {
        known: RefCell<HashMap<IpAddr, Mac>>,
        resolved: RefCell<Vec<IpAddr>>,
        routed: Cell<u32>,
    }

    impl Link for &Stub {
        fn next_hop(&self, to: IpAddr) -> Option<IpAddr> {
            self.routed.set(self.routed.get() + 1);
            (to != at(9)).then_some(if to == at(50) { at(1) } else { to })
        }
        fn neighbour(&self, at: IpAddr) -> Option<Mac> {
            self.known.borrow().get(&at).copied()
        }
        fn resolve(&self, at: IpAddr) {
            self.resolved.borrow_mut().push(at);
        }
    }

    fn led(
        side: &mut Side<&Stub>,
        millis: u64,
        packets: Vec<(Time, Packet)>,
    ) -> Vec<(u64, Mac, u8)> {
        let mut packets = packets;
        side.lead(Time::from_millis(millis), &mut packets);
        let seen = packets.iter().map(|(left, packet)| {
            let bytes = packet.frame().bytes();
            assert_eq!(bytes[6..12], [2, 0, 0, 0, 0, 7], "the interface's own");
            assert_eq!(bytes[22], 63, "one hop less");
            (left.as_nanos() / 1_000_000, bytes[..6].try_into().unwrap(), bytes[42])
        });
        seen.collect()
    }

    #[test]
    fn packets_leave_to_their_next_hop() {
        let stub = Stub::default();
        stub.known.borrow_mut().extend([(at(1), OTHER), (at(100), OWN)]);
        let mut side = Side::new(&stub, [2, 0, 0, 0, 0, 7]);
        let packets = vec![packet(100, 1), packet(50, 2), packet(9, 3), packet(100, 4)];
        assert_eq!(led(&mut side, 5, packets), [(0, OWN, 1), (0, OTHER, 2), (0, OWN, 4)]);
        assert_eq!((side.lost(), stub.routed.get()), (1, 3), "9 has no route; 100 was asked once");
        // The kernel looks after half a minute whether the neighbour is still there.
        stub.resolved.borrow_mut().clear();
        assert_eq!(led(&mut side, 30_000, vec![packet(100, 5)]).len(), 1);
        assert!(stub.resolved.borrow().is_empty());
        assert_eq!(led(&mut side, 30_006, vec![packet(100, 6)]).len(), 1);
        assert_eq!(*stub.resolved.borrow(), [at(100)]);
        let moved = Neighbour { interface: 1, at: at(100), mac: Some(OTHER) };
        side.hear(Time::from_millis(30_007), moved);
        assert_eq!(led(&mut side, 30_008, vec![packet(100, 7)]), [(0, OTHER, 7)]);
        side.forget_routes();
        assert_eq!(led(&mut side, 30_009, vec![packet(100, 8)]).len(), 1);
        assert_eq!(stub.routed.get(), 4);
    }

    #[test]
    fn packets_wait_for_a_neighbour_in_their_order() {
        let stub = Stub::default();
        let mut side = Side::new(&stub, [2, 0, 0, 0, 0, 7]);
        assert_eq!(led(&mut side, 0, vec![packet(100, 1), packet(100, 2)]), []);
        assert_eq!(led(&mut side, 1, vec![packet(100, 3)]), []);
        assert_eq!(*stub.resolved.borrow(), [at(100)], "the kernel looks once");
        side.hear(Time::from_millis(2), Neighbour { interface: 1, at: at(100), mac: Some(OTHER) });
        let left = led(&mut side, 2, vec![packet(100, 4)]);
        assert_eq!(left, [(2, OTHER, 1), (2, OTHER, 2), (2, OTHER, 3), (0, OTHER, 4)]);
        // Without a notice it is found by asking.
        assert_eq!(led(&mut side, 10, vec![packet(101, 5)]), []);
        stub.known.borrow_mut().insert(at(101), OWN);
        assert_eq!(led(&mut side, 29, Vec::new()), []);
        assert_eq!(led(&mut side, 30, Vec::new()), [(30, OWN, 5)]);
        assert_eq!(side.lost(), 0);
    }

    #[test]
    fn packets_that_wait_in_vain_are_counted() {
        let stub = Stub::default();
        let mut side = Side::new(&stub, [2, 0, 0, 0, 0, 7]);
        let many = (0..=MOST_WAITING as u8).map(|number| packet(100, number)).collect();
        assert_eq!(led(&mut side, 0, many), []);
        assert_eq!(side.lost(), 1, "the first made room for the last");
        assert_eq!(led(&mut side, 999, Vec::new()), []);
        assert_eq!(side.lost(), 1);
        assert_eq!(led(&mut side, 1000, Vec::new()), []);
        assert_eq!(side.lost(), 1 + MOST_WAITING as u64);
        side.hear(Time::from_secs(2), Neighbour { interface: 1, at: at(100), mac: Some(OTHER) });
        assert_eq!(led(&mut side, 2000, vec![packet(100, 1)]), [], "it is looked for again");
        assert_eq!(stub.resolved.borrow().len(), 2);
    }
}
