//! Tunnels by the kernel: the namespaces of the server and the client are a tunnel's two ends, with the kernel's own WireGuard,
//! FOU and ESP, and the simulator's queues are between them.
//!
//! Each tunnel has two networks: 10.8.NUMBER.0/24 of the outer headers, as the simulator's tunnels have them in captures, and
//! 10.7.NUMBER.0/24 for the flows inside. Of both the server's host has 1 and the client's 2. Ports and indices are those of
//! the simulator's captures, too.
//!
//! ESP is RFC 4543 (GMAC): it authenticates and does not encrypt, so that the headers inside can be read here, and it is as long
//! as AES-GCM (RFC 4106): 8 bytes of header, 8 of the vector, 2 and the padding behind the packet, 16 of the check value.
//! WireGuard's messages (its protocol page, §5.4) cannot be read, so such a tunnel has one flow.
//!
//! Sources, read for behaviour in Linux 7.3: `net/xfrm/xfrm_replay.c` (the window is of 32 packets in a word, of up to 4096 in a
//! bitmap), `xfrm_user.c` (`XFRMA_REPLAY_ESN_MAX`), `net/ipv4/esp4.c`, `fou_core.c`, `drivers/net/wireguard`.

use crate::plan::CARDS;
use sojourn_model::{By, Direction, Element, Flow, Kind, Scenario, Selector, Side, TunnelKind};
use sojourn_wire::{Frame, Transport};

/// The largest packet that a card carries where there are tunnels, bytes: the largest of a host, and the outer headers.
pub const CARD_MTU: u16 = 1600;
/// The largest packet of a host.
pub(crate) const HOST_MTU: u16 = 1500;
/// The most packets of ESP's replay window (`XFRMA_REPLAY_ESN_MAX`).
pub(crate) const MOST_ESP_WINDOW: u32 = 4096;
/// WireGuard's replay window in packets (`COUNTER_BITS_TOTAL`), which no setting changes.
pub(crate) const WIREGUARD_WINDOW: u32 = 8192;
/// The port of the simulator's FOU in captures, where it is the source port, too.
const FOU_PORT: u16 = 5555;
/// WireGuard's port (the simulator's in captures).
const WIREGUARD_PORT: u16 = 51_820;
/// The first security parameters index.
const FIRST_SPI: u32 = 0x1000;
/// ESP's key and salt (20 bytes): a run depends on its seed alone.
const ESP_KEY: &str = "0x736f6a6f75726e3a206b6579206f66206553502e";
/// Private keys of the server's and the client's end of WireGuard, and the public ones that belong to them (X25519).
const WIREGUARD_KEYS: [[&str; 2]; 2] = [
    [
        "c29qb3VybjogdGhlIHByaXZhdGUga2V5LCBzZXJ2ZXI=",
        "qZURk44l53160aeDC9sW2d2WVXghaiu+SD16z0Mg3Es=",
    ],
    [
        "c29qb3VybjogdGhlIHByaXZhdGUga2V5LCBjbGllbnQ=",
        "wI0tj9k5HSwfPgwte07loSKGXrsUWTo0RVu6Yr5yZyY=",
    ],
];

/// Offsets and lengths of headers.
const ETHERNET: usize = 14;
const IP: usize = 20;
const UDP: usize = 8;
/// ESP's header and the vector behind it.
const ESP: usize = 8 + 8;
/// WireGuard's header of a data message: type, the receiver's index, counter; and its check value.
const DATA_HEADER: usize = 16;
const DATA_TAG: usize = 16;
/// The type of a data message.
const DATA: u8 = 4;

/// A tunnel by a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tunnel {
    /// Its name.
    pub name: String,
    /// Its number among the tunnels by kernels of the scenario.
    pub number: u8,
    /// Which kind.
    pub kind: TunnelKind,
    /// The far end's replay window in packets; 0 for none.
    pub replay_window: u32,
    /// The path of its near end on the way down: `bottleneck.down.vpn`.
    pub entrance: String,
    /// Whether it is over all hops.
    pub spans_all: bool,
    /// The flows inside, by their numbers.
    pub flows: Vec<usize>,
    /// The paths of its far ends, that of the way down first: `bottleneck.down.vpn-exit`.
    pub exits: [String; 2],
}

/// Whether an element is an end of a tunnel by a kernel.
fn is_end(scenario: &Scenario, element: &Element) -> bool {
    match &element.kind {
        Kind::Encapsulate(tunnel) => tunnel.by == Some(By::Kernel),
        Kind::Decapsulate { tunnel } => scenario.elements().any(|(_, near)| {
            near.name == *tunnel
                && matches!(&near.kind, Kind::Encapsulate(near) if near.by == Some(By::Kernel))
        }),
        _ => false,
    }
}

/// Whether a tunnel takes a flow in.
fn takes(select: &Selector, flow: &Flow) -> bool {
    match select {
        Selector::All => true,
        Selector::Flows(names) => names.contains(&flow.name),
        Selector::Dscp(dscp) => flow.dscp == *dscp,
    }
}

/// The path of a tunnel's far end on one side.
fn exit(scenario: &Scenario, name: &str, side: Side) -> Option<String> {
    scenario.hops.iter().find_map(|hop| {
        let is_it =
            |e: &&Element| matches!(&e.kind, Kind::Decapsulate { tunnel } if tunnel == name);
        hop.side(side).iter().find(is_it).map(|e| format!("{}.{side}.{}", hop.name, e.name))
    })
}

/// The tunnels by kernels of a scenario, in the order of their numbers.
pub(crate) fn of(scenario: &Scenario) -> Vec<Tunnel> {
    let last = scenario.hops.len().saturating_sub(1);
    let downs = scenario.hops.iter().enumerate();
    let downs = downs.flat_map(|(at, hop)| hop.side(Side::Down).iter().map(move |e| (at, hop, e)));
    let near = downs.filter_map(|(at, hop, element)| match &element.kind {
        Kind::Encapsulate(tunnel) if tunnel.by == Some(By::Kernel) => {
            Some((at, hop, element, tunnel))
        }
        _ => None,
    });
    let tunnels = near.enumerate().map(|(number, (at, hop, element, tunnel))| {
        let is_exit =
            |e: &Element| matches!(&e.kind, Kind::Decapsulate { tunnel } if *tunnel == element.name);
        let ends_last =
            scenario.hops.get(last).is_some_and(|hop| hop.side(Side::Down).iter().any(is_exit));
        let flows = scenario.flows.iter().enumerate();
        let flows = flows.filter(|(_, flow)| takes(&tunnel.select, flow));
        Tunnel {
            name: element.name.clone(),
            number: number as u8,
            kind: tunnel.kind,
            replay_window: tunnel.replay_window,
            entrance: format!("{}.{}.{}", hop.name, Side::Down, element.name),
            spans_all: at == 0 && ends_last,
            flows: flows.map(|(number, _)| number).collect(),
            exits: [Side::Down, Side::Up]
                .map(|side| exit(scenario, &element.name, side).unwrap_or_default()),
        }
    });
    tunnels.collect()
}

/// The scenario for the simulator: without the tunnels that are by kernels.
pub(crate) fn without(scenario: &Scenario) -> Scenario {
    let mut path = scenario.clone();
    for hop in &mut path.hops {
        for elements in [&mut hop.down, &mut hop.up] {
            elements.retain(|element| !is_end(scenario, element));
        }
    }
    path
}

/// The tunnels with flows of a guest, which has these flows as its own.
pub(crate) fn of_guest(tunnels: &[Tunnel], is_own: impl Fn(usize) -> bool) -> Vec<Tunnel> {
    tunnels.iter().filter(|tunnel| tunnel.flows.iter().any(|flow| is_own(*flow))).cloned().collect()
}

/// An end's address in the network of the flows inside.
fn inside(number: u8, end: u8) -> String {
    format!("10.7.{number}.{end}")
}

/// An end's address in the network of the outer headers.
fn outside(number: u8, end: u8) -> String {
    format!("10.8.{number}.{end}")
}

/// The security parameters index of the way down and of the way up.
fn spi(number: u8, down: bool) -> u32 {
    FIRST_SPI + 2 * u32::from(number) + u32::from(!down)
}

/// The addresses of a flow's sender and receiver, if it is in one of these tunnels.
pub(crate) fn addresses(
    tunnels: &[Tunnel],
    number: usize,
    direction: Direction,
) -> Option<(String, String)> {
    let tunnel = tunnels.iter().find(|tunnel| tunnel.flows.contains(&number))?;
    let [server, client] = [1, 2].map(|end| inside(tunnel.number, end));
    Some(match direction {
        Direction::Down => (server, client),
        Direction::Up => (client, server),
    })
}

/// An order of the plan: what of the agent, or a command of a program in a namespace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// Words for `ip`.
    Ip(String),
    /// Words for `wg`.
    Wg(String),
    /// A file with one line.
    File(String, String),
    /// The device has no offloads.
    Offloads(String),
    /// The kernel's counters of a security association are read.
    Counters {
        /// The address that its packets go to.
        to: String,
        /// Its index.
        index: u32,
        /// The path of the far end that it is.
        exit: String,
    },
}

impl Tunnel {
    /// The name of its device, which ESP does not have.
    fn device(&self) -> String {
        format!("tunnel{}", self.number)
    }

    /// The orders that make its end in a namespace: the server's, or the client's; `card` is the card there.
    pub(crate) fn end(&self, is_server: bool, card: &str) -> Vec<Order> {
        let number = self.number;
        let (end, other) = if is_server { (1, 2) } else { (2, 1) };
        let [own, far] = [end, other].map(|end| outside(number, end));
        let mac = CARDS[usize::from(is_server)].map(|byte| format!("{byte:02x}")).join(":");
        let mut orders = vec![
            Order::Ip(format!("addr add {own}/24 dev {card}")),
            Order::Ip(format!("neigh add {far} lladdr {mac} nud permanent dev {card}")),
        ];
        let [inner, peer] = [end, other].map(|end| inside(number, end));
        if self.kind == TunnelKind::Esp {
            orders.extend(self.associations([&own, &far], is_server));
            orders.push(Order::Ip(format!("addr add {inner}/32 dev {card}")));
            let words = format!("route add {peer}/32 dev {card} src {inner} mtu {HOST_MTU}");
            orders.push(Order::Ip(words));
            return orders;
        }
        let device = self.device();
        match self.kind {
            TunnelKind::Fou { auto_source_port } => {
                // One socket takes the packets of all such tunnels.
                let source =
                    if auto_source_port { "auto".to_owned() } else { FOU_PORT.to_string() };
                orders.push(Order::Ip(format!(
                    "link add {device} type ipip local {own} remote {far} ttl 64 encap fou \
                     encap-sport {source} encap-dport {FOU_PORT}"
                )));
            }
            TunnelKind::Wireguard | TunnelKind::Esp => {
                let [secret, _] = WIREGUARD_KEYS[usize::from(!is_server)];
                let [_, public] = WIREGUARD_KEYS[usize::from(is_server)];
                let (file, port) = (format!("/run/{device}"), WIREGUARD_PORT + u16::from(number));
                orders.push(Order::File(file.clone(), secret.to_owned()));
                orders.push(Order::Ip(format!("link add {device} type wireguard")));
                orders.push(Order::Wg(format!(
                    "set {device} listen-port {port} private-key {file} peer {public} \
                     allowed-ips 10.7.{number}.0/24 endpoint {far}:{port}"
                )));
            }
        }
        orders.push(Order::Offloads(device.clone()));
        orders.push(Order::Ip(format!("link set {device} mtu {HOST_MTU} up")));
        orders.push(Order::Ip(format!("addr add {inner}/24 dev {device}")));
        orders
    }

    /// ESP's security associations and policies of an end.
    fn associations(&self, [own, far]: [&String; 2], is_server: bool) -> Vec<Order> {
        let (number, window) = (self.number, self.replay_window);
        let [out_index, in_index] = [is_server, !is_server].map(|down| spi(number, down));
        let state = |from: &str, to: &str, index: u32, window: u32| {
            Order::Ip(format!(
                "xfrm state add src {from} dst {to} proto esp spi {index:#x} reqid {index} mode tunnel \
                 replay-window {window} aead rfc4543(gcm(aes)) {ESP_KEY} 128"
            ))
        };
        let policy = |from: &str, to: &str, index: u32, way: &str| {
            let inside = format!("10.7.{number}.0/24");
            Order::Ip(format!(
                "xfrm policy add src {inside} dst {inside} dir {way} tmpl src {from} dst {to} proto esp \
                 reqid {index} mode tunnel"
            ))
        };
        vec![
            // An end checks nothing that it sends.
            state(own, far, out_index, 0),
            state(far, own, in_index, window),
            policy(own, far, out_index, "out"),
            policy(far, own, in_index, "in"),
            Order::Counters {
                to: own.clone(),
                index: in_index,
                exit: self.exits[usize::from(is_server)].clone(),
            },
        ]
    }
}

/// The orders of a namespace for all tunnels of a guest.
pub(crate) fn orders(tunnels: &[Tunnel], is_server: bool, card: &str) -> Vec<Order> {
    let mut orders = Vec::new();
    if tunnels.iter().any(|tunnel| matches!(tunnel.kind, TunnelKind::Fou { .. })) {
        orders.push(Order::Ip(format!("fou add port {FOU_PORT} ipproto 4")));
    }
    orders.extend(tunnels.iter().flat_map(|tunnel| tunnel.end(is_server, card)));
    orders
}

/// What is in a frame of a tunnel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Inside {
    /// A packet in clear, as a frame of its own.
    Packet(Frame),
    /// An encrypted packet: its number in the tunnel, and bytes with padding.
    Encrypted {
        /// The number.
        counter: u32,
        /// How long it is.
        length: u16,
    },
    /// The tunnel's own: handshakes, keepalives.
    Own,
}

/// A frame of a tunnel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Outer<'a> {
    /// Which tunnel.
    pub(crate) tunnel: &'a Tunnel,
    /// Whether the server's end sent it.
    pub(crate) from_server: bool,
    /// What is in it.
    pub(crate) inside: Inside,
}

/// Reads a frame of one of these tunnels; nothing of others.
pub(crate) fn read<'a>(frame: &Frame, tunnels: &'a [Tunnel]) -> Option<Outer<'a>> {
    let [source, destination] = frame.addresses();
    let end = |address: &[u8]| match *address {
        [10, 8, number, end @ (1 | 2)] => Some((number, end)),
        _ => None,
    };
    let ((number, from), (other, to)) = end(source).zip(end(destination))?;
    let tunnel = tunnels.iter().find(|tunnel| tunnel.number == number)?;
    if number != other || from == to {
        return None;
    }
    let bytes = frame.bytes();
    let start = ETHERNET + usize::from(bytes[ETHERNET] & 15) * 4;
    let clear = |behind: usize| {
        let packet = bytes.get(start + behind..).filter(|packet| packet.len() >= IP)?;
        let mut inner = bytes[..ETHERNET].to_vec();
        inner.extend_from_slice(packet);
        Some(Inside::Packet(Frame::new(inner)))
    };
    let is_udp = frame.transport() == Some(Transport::Udp);
    let inside = match tunnel.kind {
        TunnelKind::Esp => frame.security_parameters_index().and_then(|_| clear(ESP)),
        TunnelKind::Fou { .. } => clear(UDP).filter(|_| is_udp),
        TunnelKind::Wireguard => {
            let message =
                bytes.get(start + UDP..).filter(|message| is_udp && !message.is_empty())?;
            Some(encrypted(message, frame.l4_len().saturating_sub(UDP)).unwrap_or(Inside::Own))
        }
    }?;
    Some(Outer { tunnel, from_server: from == 1, inside })
}

/// A data message of WireGuard with a packet in it, `length` bytes long.
fn encrypted(message: &[u8], length: usize) -> Option<Inside> {
    let counter = message.get(8..12).filter(|_| message[0] == DATA)?;
    let counter = u32::from_le_bytes(counter.try_into().ok()?);
    let length = length.checked_sub(DATA_HEADER + DATA_TAG).filter(|length| *length > 0)?;
    Some(Inside::Encrypted { counter, length: length as u16 })
}

#[cfg(test)]
mod tests;
