//! Interfaces, addresses, neighbours and routes by rtnetlink, and the states of TCP sockets by sock_diag. A router's questions are in [`crate::routing`].
//!
//! Messages follow `linux/netlink.h`, `rtnetlink.h`, `if_link.h`, `neighbour.h` and `inet_diag.h` (6.18). Six messages and their
//! answers are all that the engine needs; the crates that know every message (netlink-packet-route, rtnetlink) would add
//! ten dependencies, an asynchronous runtime among them, for less code than they take to call.
//!
//! Invariants: each request waits for its acknowledgement, so that what follows finds it done; lengths in an answer are
//! checked before anything behind them is read.

use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

const REQUEST: u16 = 1;
pub(crate) const ACK: u16 = 4;
const REPLACE: u16 = 0x100;
pub(crate) const EXCLUSIVE: u16 = 0x200;
pub(crate) const DUMP: u16 = 0x300;
pub(crate) const CREATE: u16 = 0x400;

pub(crate) const ERROR: u16 = 2;
pub(crate) const DONE: u16 = 3;

/// Bytes of a message's own header.
const HEADER: usize = 16;

/// A message under construction.
pub(crate) struct Message(Vec<u8>);

impl Message {
    pub(crate) fn new(kind: u16, flags: u16) -> Self {
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&(flags | REQUEST).to_ne_bytes());
        Self(bytes)
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn word(self, value: u32) -> Self {
        self.bytes(&value.to_ne_bytes())
    }

    /// An attribute; its length counts its header and not the bytes that align what follows.
    pub(crate) fn attribute(self, kind: u16, value: &[u8]) -> Self {
        self.nested(kind, |m| m.bytes(value))
    }

    fn nested(mut self, kind: u16, inside: impl FnOnce(Self) -> Self) -> Self {
        let start = self.0.len();
        self.0.extend_from_slice(&[0, 0]);
        self.0.extend_from_slice(&kind.to_ne_bytes());
        let mut whole = inside(self);
        let length = (whole.0.len() - start) as u16;
        whole.0[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        whole.0.resize(whole.0.len().next_multiple_of(4), 0);
        whole
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        let length = self.0.len() as u32;
        self.0[..4].copy_from_slice(&length.to_ne_bytes());
        self.0
    }
}

/// The attributes in a sequence of them: kind and value of each, up to the first that is not whole.
pub(crate) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes([*bytes.first()?, *bytes.get(1)?]));
        let kind = u16::from_ne_bytes([*bytes.get(2)?, *bytes.get(3)?]);
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// The messages of an answer: kind and body of each, up to the first that is not whole.
pub(crate) fn messages(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
        let kind = u16::from_ne_bytes([*bytes.get(4)?, *bytes.get(5)?]);
        let body = bytes.get(HEADER..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, body))
    })
}

/// A socket of the calling thread's network namespace; rtnetlink's is the protocol that has no number.
pub(crate) fn open(protocol: Option<rustix::net::Protocol>) -> rustix::io::Result<OwnedFd> {
    let (family, kind) = (AddressFamily::NETLINK, SocketType::RAW);
    rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, protocol)
}

/// The kernel's errno in an acknowledgement or the end of a dump.
pub(crate) fn errno(body: &[u8]) -> io::Result<()> {
    let code = body.get(..4).and_then(|b| b.try_into().ok()).map_or(0, i32::from_ne_bytes);
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(-code)) }
}

/// What belongs to a route to the other host.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct RouteFeatures {
    /// The congestion control of connections over it.
    pub(crate) control: Option<String>,
    /// Whether connections over it ask for ECN.
    pub(crate) ecn: bool,
}

/// Sets a network namespace up.
pub(crate) struct Links(OwnedFd);

impl Links {
    /// Of the calling thread's network namespace.
    pub(crate) fn open() -> io::Result<Self> {
        Ok(Self(open(None)?))
    }

    fn ask(&self, message: Message) -> io::Result<()> {
        let kernel = SocketAddrNetlink::new(0, 0);
        rustix::net::sendto(&self.0, &message.finish(), SendFlags::empty(), &kernel)?;
        let mut answer = vec![0; 1 << 14];
        let (length, _) = rustix::net::recv(&self.0, &mut answer[..], RecvFlags::empty())?;
        let found = messages(&answer[..length]).find(|(kind, _)| *kind == ERROR);
        found.map_or(Ok(()), |(_, body)| errno(body))
    }

    /// A pair of virtual Ethernet interfaces: one here, its peer in that namespace.
    pub(crate) fn pair(
        &self,
        here: &str,
        (peer, mac, namespace): (&str, [u8; 6], BorrowedFd<'_>),
        mtu: u32,
    ) -> io::Result<()> {
        let named = |m: Message, name: &str| {
            m.attribute(3, &[name.as_bytes(), &[0]].concat()).attribute(4, &mtu.to_ne_bytes())
        };
        let message = Message::new(16, ACK | CREATE | EXCLUSIVE).bytes(&[0; 16]);
        let message = named(message, here).nested(18, |m| {
            m.attribute(1, b"veth").nested(2, |m| {
                m.nested(1, |m| {
                    let space = namespace.as_raw_fd().to_ne_bytes();
                    named(m.bytes(&[0; 16]), peer).attribute(1, &mac).attribute(28, &space)
                })
            })
        });
        self.ask(message)
    }

    /// The number of an interface.
    pub(crate) fn index(&self, name: &str) -> io::Result<u32> {
        Ok(rustix::net::netdevice::name_to_index(&self.0, name)?)
    }

    /// Switches an interface on.
    pub(crate) fn up(&self, interface: u32) -> io::Result<()> {
        let message = Message::new(16, ACK).bytes(&[0; 4]).word(interface);
        self.ask(message.word(1).word(1))
    }

    /// Gives an interface an address, without the route that usually comes with one.
    pub(crate) fn address(&self, interface: u32, address: IpAddr, prefix: u8) -> io::Result<()> {
        /// No duplicate-address detection, no route.
        const FLAGS: u32 = 0x02 | 0x200;
        let (family, bytes) = of(address);
        let message = Message::new(20, ACK | CREATE | REPLACE).bytes(&[family, prefix, 0, 0]);
        let message = message.word(interface).attribute(1, &bytes).attribute(2, &bytes);
        self.ask(message.attribute(8, &FLAGS.to_ne_bytes()))
    }

    /// Says which MAC address a neighbour has, for good: nobody asks.
    pub(crate) fn neighbour(&self, interface: u32, at: IpAddr, mac: [u8; 6]) -> io::Result<()> {
        /// `NUD_PERMANENT`.
        const PERMANENT: u16 = 0x80;
        let (family, bytes) = of(at);
        let message = Message::new(28, ACK | CREATE | REPLACE).bytes(&[family, 0, 0, 0]);
        let message = message.word(interface).bytes(&PERMANENT.to_ne_bytes()).bytes(&[0, 0]);
        self.ask(message.attribute(1, &bytes).attribute(2, &mac))
    }

    /// A route through an interface, from this address of ours.
    pub(crate) fn route(
        &self,
        interface: u32,
        (to, prefix): (IpAddr, u8),
        from: IpAddr,
        features: &RouteFeatures,
    ) -> io::Result<()> {
        self.lead((to, prefix), features, |m| {
            m.attribute(4, &interface.to_ne_bytes()).attribute(7, &of(from).1)
        })
    }

    /// The route to all other addresses, by a neighbour, from this address of ours.
    pub(crate) fn gateway(
        &self,
        interface: u32,
        by: IpAddr,
        from: IpAddr,
        features: &RouteFeatures,
    ) -> io::Result<()> {
        let everywhere = match by {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        self.lead((everywhere, 0), features, |m| {
            let m = m.attribute(4, &interface.to_ne_bytes()).attribute(7, &of(from).1);
            m.attribute(5, &of(by).1)
        })
    }

    /// A route; `with` says by which interface.
    fn lead(
        &self,
        (to, prefix): (IpAddr, u8),
        features: &RouteFeatures,
        with: impl FnOnce(Message) -> Message,
    ) -> io::Result<()> {
        /// Main table, set by the boot, on the link, unicast.
        const ROUTE: [u8; 4] = [254, 3, 253, 1];
        const LOCK: u16 = 1;
        const FEATURES: u16 = 12;
        const CONTROL: u16 = 16;
        let (family, bytes) = of(to);
        let message = Message::new(24, ACK | CREATE | REPLACE).bytes(&[family, prefix, 0, 0]);
        // By a gateway a route is of the whole world's scope, not of the link's.
        let [table, protocol, _, kind] = ROUTE;
        let scope = if prefix == 0 { 0 } else { ROUTE[2] };
        let message = message.bytes(&[table, protocol, scope, kind]).word(0);
        // The route to everywhere has no destination.
        let message = if prefix == 0 { message } else { message.attribute(1, &bytes) };
        self.ask(with(message).nested(8, |m| {
            let m = match &features.control {
                Some(name) => m
                    .attribute(LOCK, &(1_u32 << CONTROL).to_ne_bytes())
                    .attribute(CONTROL, &[name.as_bytes(), &[0]].concat()),
                None => m,
            };
            m.attribute(FEATURES, &u32::from(features.ecn).to_ne_bytes())
        }))
    }
}

pub(crate) fn of(address: IpAddr) -> (u8, Vec<u8>) {
    match address {
        IpAddr::V4(v4) => (libc::AF_INET as u8, v4.octets().to_vec()),
        IpAddr::V6(v6) => (libc::AF_INET6 as u8, v6.octets().to_vec()),
    }
}

/// A TCP socket of a namespace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TcpSocket {
    /// Its congestion control.
    pub(crate) control: String,
    /// The kernel's `struct tcp_info`, as long as this kernel's is.
    pub(crate) info: Vec<u8>,
}

/// Asks a namespace for its TCP sockets.
pub(crate) struct Sockets(OwnedFd);

impl Sockets {
    /// A socket for [`Sockets::new`], of the calling thread's network namespace.
    pub(crate) fn open() -> io::Result<OwnedFd> {
        Ok(open(Some(netlink::SOCK_DIAG))?)
    }

    /// With the socket that a namespace gave.
    pub(crate) const fn new(socket: OwnedFd) -> Self {
        Self(socket)
    }

    /// The socket at this end of a connection: its own address and port, then its peer's; none if it is not there any more.
    ///
    /// Asking for one costs microseconds. A list would go through the machine's whole table of connections.
    pub(crate) fn connection(
        &self,
        own: (IpAddr, u16),
        peer: (IpAddr, u16),
    ) -> io::Result<Option<TcpSocket>> {
        /// `INET_DIAG_INFO` and `INET_DIAG_CONG`, as bits.
        const WANTED: u8 = 1 << 1 | 1 << 3;
        /// `SOCK_DIAG_BY_FAMILY`.
        const KIND: u16 = 20;
        const TCP: u8 = 6;
        let padded = |address: IpAddr| {
            let mut bytes = of(address).1;
            bytes.resize(16, 0);
            bytes
        };
        let message = Message::new(KIND, 0).bytes(&[of(own.0).0, TCP, WANTED, 0]).word(u32::MAX);
        let message = message.bytes(&own.1.to_be_bytes()).bytes(&peer.1.to_be_bytes());
        let message = message.bytes(&padded(own.0)).bytes(&padded(peer.0));
        // Any interface, any cookie.
        let request = message.word(0).word(u32::MAX).word(u32::MAX).finish();
        let kernel = SocketAddrNetlink::new(0, 0);
        rustix::net::sendto(&self.0, &request, SendFlags::empty(), &kernel)?;
        let mut answer = vec![0; 1 << 13];
        let (length, _) = rustix::net::recv(&self.0, &mut answer[..], RecvFlags::empty())?;
        match messages(&answer[..length]).next() {
            Some((ERROR, body)) => match errno(body) {
                Err(why) if why.raw_os_error() != Some(libc::ENOENT) => Err(why),
                _ => Ok(None),
            },
            Some((_, body)) => Ok(connection(body)),
            None => Ok(None),
        }
    }
}

/// A socket from the body of a message (`struct inet_diag_msg` and attributes).
fn connection(body: &[u8]) -> Option<TcpSocket> {
    /// Bytes before the attributes.
    const FIXED: usize = 72;
    let (mut control, mut info) = (String::new(), Vec::new());
    for (kind, value) in attributes(body.get(FIXED..)?) {
        match kind {
            2 => info = value.to_vec(),
            4 => {
                let name: Vec<u8> = value.iter().copied().take_while(|b| *b != 0).collect();
                control = String::from_utf8_lossy(&name).into_owned();
            }
            _ => {}
        }
    }
    Some(TcpSocket { control, info })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: a message of type 28 with a body of four bytes and one attribute of 3 bytes, padded to four.
    #[test]
    #[cfg(target_endian = "little")]
    fn messages_and_attributes_have_lengths_without_padding() {
        let message = Message::new(28, ACK).bytes(&[9, 8, 7, 6]).attribute(3, b"ab\0").finish();
        let expected = [
            28, 0, 0, 0, 28, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 8, 7, 6, 7, 0, 3, 0, 97, 98, 0, 0,
        ];
        assert_eq!(message, expected);
        let (kind, body) = messages(&message).next().unwrap();
        assert_eq!((kind, body.len()), (28, 12));
        assert_eq!(attributes(&body[4..]).collect::<Vec<_>>(), [(3, b"ab\0".as_slice())]);
    }

    /// Whatever a length says, nothing outside of the answer is read, and reading ends.
    #[test]
    fn lengths_that_lie_end_the_reading() {
        for length in 0..=255_u8 {
            for size in 0..24 {
                let bytes: Vec<u8> = (0..size).map(|_| length).collect();
                assert!(messages(&bytes).count() <= 24 && attributes(&bytes).count() <= 24);
            }
            let mut short = vec![length, 0, 1, 0];
            short.extend([0; 8]);
            let read: Vec<_> = attributes(&short).take(100).collect();
            assert!(read.len() < 100, "length {length}");
        }
        assert_eq!(connection(&[0; 71]), None);
    }
}
