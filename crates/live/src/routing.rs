//! What a router asks its kernel by rtnetlink: interfaces, addresses, next hops and neighbours, and the rules that keep the kernel
//! from forwarding the same packets.
//!
//! Messages follow `linux/rtnetlink.h`, `if_link.h`, `if_addr.h`, `neighbour.h` and `fib_rules.h` (6.18).
//!
//! Invariants: each request's answer is read to its end before the next request; a rule that was made goes with [`Rules`];
//! nothing else of the machine changes, except that the kernel looks for neighbours.

use crate::netlink::{
    ACK, CREATE, DONE, DUMP, ERROR, EXCLUSIVE, Message, attributes, errno, messages, of, open,
};
use crate::protocol::Failure;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{RecvFlags, SendFlags};
use std::collections::HashSet;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

/// Kinds of messages.
const NEW_LINK: u16 = 16;
const GET_LINK: u16 = 18;
const NEW_ADDRESS: u16 = 20;
const DELETE_ADDRESS: u16 = 21;
const GET_ADDRESS: u16 = 22;
const NEW_ROUTE: u16 = 24;
const DELETE_ROUTE: u16 = 25;
const GET_ROUTE: u16 = 26;
const NEW_NEIGHBOUR: u16 = 28;
const DELETE_NEIGHBOUR: u16 = 29;
const GET_NEIGHBOUR: u16 = 30;
const NEW_RULE: u16 = 32;
const DELETE_RULE: u16 = 33;

/// The place of our rules in the list: directly behind the table `local`, which has 0. So packets for this machine arrive.
const PRIORITY: u32 = 1;

/// A MAC address.
pub(crate) type Mac = [u8; 6];

/// An interface of the machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Interface {
    pub(crate) index: u32,
    pub(crate) name: String,
    /// None if it is no Ethernet.
    pub(crate) mac: Option<Mac>,
    pub(crate) is_up: bool,
}

/// A neighbour on a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Neighbour {
    pub(crate) interface: u32,
    pub(crate) at: IpAddr,
    /// None if the kernel does not know it, or not any more.
    pub(crate) mac: Option<Mac>,
}

/// Questions about this thread's network namespace.
pub(crate) struct Kernel(OwnedFd);

impl Kernel {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(open(None)?))
    }

    /// The messages of an answer, up to its acknowledgement or end.
    fn ask(&self, message: Message) -> io::Result<Vec<(u16, Vec<u8>)>> {
        let kernel = SocketAddrNetlink::new(0, 0);
        rustix::net::sendto(&self.0, &message.finish(), SendFlags::empty(), &kernel)?;
        let mut found = Vec::new();
        let mut answer = vec![0; 1 << 15];
        loop {
            let (length, _) = rustix::net::recv(&self.0, &mut answer[..], RecvFlags::empty())?;
            for (kind, body) in messages(&answer[..length]) {
                if kind == ERROR || kind == DONE {
                    return errno(body).map(|()| found);
                }
                found.push((kind, body.to_vec()));
            }
        }
    }

    /// Every interface.
    pub(crate) fn interfaces(&self) -> io::Result<Vec<Interface>> {
        let found = self.ask(Message::new(GET_LINK, DUMP).bytes(&[0; 16]))?;
        let links = found.iter().filter(|(kind, _)| *kind == NEW_LINK);
        Ok(links.filter_map(|(_, body)| interface(body)).collect())
    }

    /// Every address of this machine.
    pub(crate) fn addresses(&self) -> io::Result<HashSet<IpAddr>> {
        let found = self.ask(Message::new(GET_ADDRESS, DUMP).bytes(&[0; 8]))?;
        let addresses = found.iter().filter(|(kind, _)| *kind == NEW_ADDRESS);
        Ok(addresses.filter_map(|(_, body)| address(body)).collect())
    }

    /// The neighbour through which packets to that address leave by this interface: the address itself where it is on the link.
    ///
    /// # Errors
    /// No route leads there.
    pub(crate) fn next_hop(&self, interface: u32, to: IpAddr) -> io::Result<IpAddr> {
        let found = self.ask(route_request(interface, to))?;
        let route = found.iter().find(|(kind, _)| *kind == NEW_ROUTE);
        let unreachable = || io::Error::from_raw_os_error(libc::EHOSTUNREACH);
        route.and_then(|(_, body)| gateway(body, to)).ok_or_else(unreachable)
    }

    /// The MAC address of a neighbour, if the kernel knows it.
    pub(crate) fn neighbour(&self, interface: u32, at: IpAddr) -> Option<Mac> {
        let message = Message::new(GET_NEIGHBOUR, ACK);
        // A neighbour that nobody has asked for is an error.
        let found = self.ask(about_neighbour(message, interface, at, 0)).ok()?;
        found.iter().find_map(|(kind, body)| {
            let found = neighbour(body).filter(|_| *kind == NEW_NEIGHBOUR)?;
            found.mac.filter(|_| found.at == at)
        })
    }

    /// Makes the kernel look for a neighbour, or look whether it is still there, as if it had a packet for it.
    pub(crate) fn resolve(&self, interface: u32, at: IpAddr) -> io::Result<()> {
        self.ask(resolve_request(interface, at)).map(drop)
    }

    fn rule(&self, kind: u16, family: i32, interface: &str) -> io::Result<()> {
        self.ask(rule_request(kind, family, interface)).map(drop)
    }
}

fn route_request(interface: u32, to: IpAddr) -> Message {
    let (family, bytes) = of(to);
    let prefix = bytes.len() as u8 * 8;
    let message = Message::new(GET_ROUTE, ACK).bytes(&[family, prefix, 0, 0, 0, 0, 0, 0]).word(0);
    message.attribute(1, &bytes).attribute(4, &interface.to_ne_bytes())
}

/// `struct ndmsg`, and the neighbour's address.
fn about_neighbour(message: Message, interface: u32, at: IpAddr, flags: u8) -> Message {
    let (family, bytes) = of(at);
    let message = message.bytes(&[family, 0, 0, 0]).word(interface);
    message.bytes(&[0, 0, flags, 0]).attribute(1, &bytes)
}

fn resolve_request(interface: u32, at: IpAddr) -> Message {
    /// `NTF_USE`.
    const USE: u8 = 1;
    about_neighbour(Message::new(NEW_NEIGHBOUR, ACK | CREATE), interface, at, USE)
}

/// What comes in by this interface, and is not for this machine, is lost: `struct fib_rule_hdr` with its attributes.
fn rule_request(kind: u16, family: i32, interface: &str) -> Message {
    /// `FR_ACT_BLACKHOLE`.
    const BLACKHOLE: u8 = 6;
    let flags = if kind == NEW_RULE { ACK | CREATE | EXCLUSIVE } else { ACK };
    let message = Message::new(kind, flags).bytes(&[family as u8, 0, 0, 0, 0, 0, 0, BLACKHOLE]);
    let name = [interface.as_bytes(), &[0]].concat();
    message.word(0).attribute(3, &name).attribute(6, &PRIORITY.to_ne_bytes())
}

/// An interface from the body of a message (`struct ifinfomsg` and attributes).
fn interface(body: &[u8]) -> Option<Interface> {
    const ETHERNET: u16 = 1;
    const UP: u32 = 1;
    let kind = u16::from_ne_bytes(body.get(2..4)?.try_into().ok()?);
    let word = |at: usize| Some(u32::from_ne_bytes(body.get(at..at + 4)?.try_into().ok()?));
    let mut found =
        Interface { index: word(4)?, name: String::new(), mac: None, is_up: word(8)? & UP != 0 };
    for (of, value) in attributes(body.get(16..)?) {
        match of {
            1 if kind == ETHERNET => found.mac = value.try_into().ok(),
            3 => found.name = String::from_utf8_lossy(value.strip_suffix(&[0])?).into_owned(),
            _ => {}
        }
    }
    Some(found)
}

fn ip(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = || <[u8; 4]>::try_from(bytes).ok().map(|b| IpAddr::V4(Ipv4Addr::from(b)));
    v4().or_else(|| <[u8; 16]>::try_from(bytes).ok().map(|b| IpAddr::V6(Ipv6Addr::from(b))))
}

/// An address of this machine from the body of a message (`struct ifaddrmsg` and attributes).
fn address(body: &[u8]) -> Option<IpAddr> {
    const PEER_OR_OWN: u16 = 1;
    const OWN: u16 = 2;
    let mut found = None;
    for (of, value) in attributes(body.get(8..)?) {
        match of {
            OWN => return ip(value),
            PEER_OR_OWN => found = ip(value),
            _ => {}
        }
    }
    found
}

/// The next hop from the body of a route (`struct rtmsg` and attributes); none if the route leads nowhere.
fn gateway(body: &[u8], to: IpAddr) -> Option<IpAddr> {
    const UNICAST: u8 = 1;
    const GATEWAY: u16 = 5;
    /// A gateway of the other family: its family comes first.
    const VIA: u16 = 18;
    if *body.get(7)? != UNICAST {
        return None;
    }
    let mut found = to;
    for (of, value) in attributes(body.get(12..)?) {
        match of {
            GATEWAY => found = ip(value)?,
            VIA => found = ip(value.get(2..)?)?,
            _ => {}
        }
    }
    Some(found)
}

/// A neighbour from the body of a message (`struct ndmsg` and attributes).
fn neighbour(body: &[u8]) -> Option<Neighbour> {
    /// Reachable, stale, delay, probe, no ARP, permanent.
    const VALID: u16 = 0xde;
    let interface = u32::from_ne_bytes(body.get(4..8)?.try_into().ok()?);
    let state = u16::from_ne_bytes(body.get(8..10)?.try_into().ok()?);
    let (mut at, mut mac) = (None, None);
    for (of, value) in attributes(body.get(12..)?) {
        match of {
            1 => at = ip(value),
            2 => mac = value.try_into().ok(),
            _ => {}
        }
    }
    Some(Neighbour { interface, at: at?, mac: mac.filter(|_| state & VALID != 0) })
}

/// What has changed since the last look.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct News {
    pub(crate) neighbours: Vec<Neighbour>,
    pub(crate) routes: bool,
    pub(crate) addresses: bool,
    /// There was more than the socket has room for.
    pub(crate) lost: bool,
}

impl News {
    fn read(&mut self, bytes: &[u8]) {
        for (kind, body) in messages(bytes) {
            match kind {
                NEW_NEIGHBOUR => self.neighbours.extend(neighbour(body)),
                DELETE_NEIGHBOUR => {
                    self.neighbours.extend(neighbour(body).map(|n| Neighbour { mac: None, ..n }));
                }
                NEW_ROUTE | DELETE_ROUTE => self.routes = true,
                NEW_ADDRESS | DELETE_ADDRESS => self.addresses = true,
                _ => {}
            }
        }
    }
}

/// Hears of changes.
pub(crate) struct Notices(OwnedFd);

impl Notices {
    pub(crate) fn new() -> io::Result<Self> {
        /// Neighbours; addresses and routes of both families.
        const GROUPS: u32 = 0x4 | 0x10 | 0x40 | 0x100 | 0x400;
        let socket = open(None)?;
        rustix::net::bind(&socket, &SocketAddrNetlink::new(0, GROUPS))?;
        Ok(Self(socket))
    }

    /// What has come since the last call. Waits for nothing.
    pub(crate) fn take(&self) -> News {
        let mut news = News::default();
        let mut buffer = vec![0; 1 << 13];
        loop {
            match rustix::net::recv(&self.0, &mut buffer[..], RecvFlags::DONTWAIT) {
                Ok((length, _)) if length > 0 => news.read(&buffer[..length]),
                Err(rustix::io::Errno::NOBUFS) => news.lost = true,
                Err(rustix::io::Errno::INTR) => {}
                _ => return news,
            }
        }
    }

    /// Becomes readable when there is news.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The rules by which the kernel forwards nothing that comes in by these interfaces. They go with this.
pub(crate) struct Rules {
    kernel: Kernel,
    made: Vec<(i32, String)>,
}

impl Rules {
    /// Makes them; those that a killed router left are taken over.
    ///
    /// # Errors
    /// The kernel forwards, and takes no rules.
    pub(crate) fn new(interfaces: [&str; 2]) -> Result<Self, Failure> {
        let step = |why: io::Error| Failure::of("a routing rule", why);
        let mut rules = Self { kernel: Kernel::new().map_err(step)?, made: Vec::new() };
        for (family, folder) in [(libc::AF_INET, "ipv4"), (libc::AF_INET6, "ipv6")] {
            for name in interfaces {
                match rules.kernel.rule(NEW_RULE, family, name) {
                    Err(why) if why.raw_os_error() != Some(libc::EEXIST) => {
                        // A kernel without policy routing, or without IPv6.
                        let lacks = [libc::EOPNOTSUPP, libc::EAFNOSUPPORT];
                        let is_lacking = why.raw_os_error().is_some_and(|e| lacks.contains(&e));
                        if !is_lacking || forwards(folder, name) {
                            return Err(step(why));
                        }
                    }
                    _ => rules.made.push((family, name.to_owned())),
                }
            }
        }
        Ok(rules)
    }
}

impl Drop for Rules {
    fn drop(&mut self) {
        for (family, name) in &self.made {
            // Whoever removed it meanwhile, or the interface, was faster.
            let _ = self.kernel.rule(DELETE_RULE, *family, name);
        }
    }
}

/// Whether the kernel forwards what comes in by an interface.
fn forwards(folder: &str, interface: &str) -> bool {
    let file = format!("/proc/sys/net/{folder}/conf/{interface}/forwarding");
    fs::read_to_string(file).is_ok_and(|text| text.trim() != "0")
}

#[cfg(test)]
#[cfg(target_endian = "little")]
mod tests {
    use super::*;

    const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(193, 167, 100, 100));

    /// By hand from the structures: 16 bytes of header, 12 of `struct rtmsg`, two attributes of 8.
    #[test]
    fn a_route_is_asked_for_by_destination_and_interface() {
        let asked = route_request(7, SERVER).finish();
        let expected = [
            44, 0, 0, 0, 26, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            8, 0, 1, 0, 193, 167, 100, 100, 8, 0, 4, 0, 7, 0, 0, 0,
        ];
        assert_eq!(asked, expected);
    }

    /// `struct ndmsg` with the flag `NTF_USE` and the address.
    #[test]
    fn a_neighbour_is_looked_for_as_if_it_were_used() {
        let asked = resolve_request(7, SERVER).finish();
        let expected = [
            36, 0, 0, 0, 28, 0, 5, 4, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0, 0, 0, 1, 0,
            8, 0, 1, 0, 193, 167, 100, 100,
        ];
        assert_eq!(asked, expected);
    }

    /// `struct fib_rule_hdr` with the action, the interface's name with its zero and its padding, the priority.
    #[test]
    fn a_rule_loses_what_comes_in_by_an_interface() {
        let made = rule_request(NEW_RULE, libc::AF_INET, "eth0").finish();
        let expected = [
            48, 0, 0, 0, 32, 0, 5, 6, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0,
            9, 0, 3, 0, 101, 116, 104, 48, 0, 0, 0, 0, 8, 0, 6, 0, 1, 0, 0, 0,
        ];
        assert_eq!(made, expected);
        let gone = rule_request(DELETE_RULE, libc::AF_INET6, "eth0").finish();
        assert_eq!((gone[4], gone[6..8].to_vec(), gone[16]), (33, vec![5, 0], 10));
    }

    fn body(fixed: &[u8], of: &[(u16, &[u8])]) -> Vec<u8> {
        let message = Message::new(0, 0).bytes(fixed);
        let message = of.iter().fold(message, |m, (kind, value)| m.attribute(*kind, value));
        message.finish()[16..].to_vec()
    }

    #[test]
    fn answers_are_read() {
        let link = [0, 0, 1, 0, 7, 0, 0, 0, 0x43, 0x10, 1, 0, 0, 0, 0, 0];
        let mac = [2, 0, 0, 0, 0, 9];
        let found = interface(&body(&link, &[(3, b"eth0\0"), (1, &mac)])).unwrap();
        let expected = Interface { index: 7, name: "eth0".to_owned(), mac: Some(mac), is_up: true };
        assert_eq!(found, expected);
        let mut loopback = link;
        (loopback[2], loopback[3], loopback[8]) = (0x04, 0x03, 0);
        let found = interface(&body(&loopback, &[(1, &[0; 6])])).unwrap();
        assert_eq!((found.mac, found.is_up), (None, false));

        let own = [2, 24, 0, 0, 7, 0, 0, 0];
        let (a, b) = ([193, 167, 0, 2], [193, 167, 0, 3]);
        assert_eq!(address(&body(&own, &[(1, &a), (2, &b)])), ip(&b), "a point-to-point link");
        assert_eq!(address(&body(&own, &[(1, &[0xfd; 16])])), ip(&[0xfd; 16]));

        let mut route = [2, 32, 0, 0, 254, 3, 0, 1, 0, 0, 0, 0];
        assert_eq!(gateway(&body(&route, &[(4, &[7, 0, 0, 0])]), SERVER), Some(SERVER));
        assert_eq!(gateway(&body(&route, &[(5, &a)]), SERVER), ip(&a));
        let via = [[10, 0].as_slice(), &[0xfe; 16]].concat();
        assert_eq!(gateway(&body(&route, &[(18, &via)]), SERVER), ip(&[0xfe; 16]));
        route[7] = 7;
        assert_eq!(gateway(&body(&route, &[(5, &a)]), SERVER), None, "unreachable");

        let entry = |state| body(&[2, 0, 0, 0, 7, 0, 0, 0, state, 0, 0, 1], &[(1, &a), (2, &mac)]);
        let read = |state| neighbour(&entry(state)).unwrap();
        let known = Neighbour { interface: 7, at: ip(&a).unwrap(), mac: Some(mac) };
        assert_eq!((read(4), read(0x80)), (known, known));
        for unknown in [0, 1, 0x20] {
            assert_eq!(read(unknown).mac, None, "state {unknown:#x}");
        }
    }

    #[test]
    fn news_of_a_neighbour_that_is_gone_has_no_address_of_it() {
        let entry = |kind| {
            let message = Message::new(kind, 0).bytes(&[2, 0, 0, 0, 7, 0, 0, 0, 2, 0, 0, 1]);
            message.attribute(1, &[193, 167, 0, 3]).attribute(2, &[2, 0, 0, 0, 0, 9]).finish()
        };
        let mut news = News::default();
        news.read(&[entry(NEW_NEIGHBOUR), entry(DELETE_NEIGHBOUR)].concat());
        news.read(&Message::new(DELETE_ROUTE, 0).bytes(&[0; 12]).finish());
        let macs: Vec<_> = news.neighbours.iter().map(|n| n.mac.is_some()).collect();
        assert_eq!((macs, news.routes, news.addresses), (vec![true, false], true, false));
    }

    /// Whatever an answer holds, reading it ends.
    #[test]
    fn short_answers_are_nothing() {
        for length in 0..40 {
            let bytes = vec![1; length];
            let _ = (interface(&bytes), address(&bytes), neighbour(&bytes));
            let _ = gateway(&bytes, SERVER);
        }
        assert_eq!((interface(&[0; 15]), neighbour(&[0; 11])), (None, None));
    }
}
