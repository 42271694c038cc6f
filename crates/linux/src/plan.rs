//! From a scenario to the orders for the guest.
//!
//! The hops form a chain between a server and a client, a namespace each:
//!
//! ```text
//! server ── hop0 ── hop1 ── … ── client
//! ```
//!
//! A hop bridges its two devices, `s` towards the server and `c` towards the client. Packets that come in by `s` go
//! through an ifb with the netem of the hop's `down` side and leave by `c`, which has the shaper with the discipline as
//! its root; `up` is the mirror image. Flows with a delay of their own have an ifb of their own, to which their ports
//! lead. Flows that skip a hop have a way of their own ([`crate::bypass`]). Taps look at the ifbs (a packet that enters
//! a queue) and at the devices (one that leaves it).
//!
//! Invariants: the plan depends on the scenario and on the places of the programs alone; tc's words are handed
//! over as they are; addresses of devices are fixed and neighbours known, so that nothing but the scenario's
//! packets passes.

use crate::addresses::{self, Windows};
use crate::lists::List;
use crate::netems;
use crate::places::{self, Place};
use crate::programs::End;
use crate::queues::{self, Order};
use crate::schedule::{self, start_offset};
use crate::tools::Programs;
use crate::tunnels::{self, HOST_MTU, Tunnel};
use crate::{asked, bypass, host_queues, middleboxes, programs, rewrite};
use sojourn_capture::Point;
use sojourn_engine::tc::{self, tc_time};
use sojourn_model::{
    Action, Direction, EcnMode, Element, Feature, Flow, Ip, Kind, OnOff, Place as Where, Pulse,
    Queue, ReceiveWindow, Scenario, Side, Start, Tcp, Traffic, Unsupported,
};
use sojourn_stacks::HOST_JITTER;
use sojourn_units::{Ecn, Rate, Span};
use std::fmt::Write as _;

const SERVER: &str = "server";
const CLIENT: &str = "client";

/// Where there are programs: the bridge of an end's hosts.
const BRIDGE: &str = "hosts";

/// Bytes of payload that a full segment over version 4 has, with TCP's time stamps: what an application writes at a time.
const FULL_PAYLOAD: u32 = 1448;

/// The settings of every host.
const TCP_SETTINGS: [(&str, &str); 4] = [
    ("tcp_rmem", "4096 131072 6291456"),
    ("tcp_wmem", "4096 16384 4194304"),
    ("tcp_no_metrics_save", "1"),
    // The kernel's default, by which a repeated SYN gives ECN up, as the simulator's does.
    ("tcp_ecn_fallback", "1"),
];

/// The few microseconds by which a host's packets leave late. Order is kept where netem is given a rate; at this one a packet
/// takes 0.1 µs.
fn host_jitter() -> String {
    let half = tc_time(HOST_JITTER / 2);
    format!("netem delay {half} {half} rate 100gbit limit 1000000")
}

/// Which end of a queue a tap looks at, or the end of a delay without a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edge {
    /// Packets that enter.
    In,
    /// Packets that leave.
    Out,
}

/// A place at which packets are stamped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tap {
    /// The queue, by its place in [`Plan::queues`].
    pub queue: usize,
    /// Which end.
    pub edge: Edge,
}

/// A queue with stamps of its packets and readings of its statistics.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueuePlan {
    /// `bottleneck.down.qdisc`.
    pub path: String,
    /// The hop's place.
    pub hop: usize,
    /// Its side.
    pub side: Side,
    /// Whether it acts from the beginning.
    pub on: bool,
}

/// The orders for the guest, and the meaning of its numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The agent's orders, one a line.
    pub text: String,
    /// What is stamped where, by the taps' numbers.
    pub taps: Vec<Tap>,
    /// The queues, by their numbers.
    pub queues: Vec<QueuePlan>,
    /// Actions of flows by the clock alone, each a file next to the plan, which names it.
    pub lists: Vec<List>,
    /// The policers, by their numbers.
    pub policers: Vec<String>,
    /// The far ends of tunnels with security associations, by the numbers of these.
    pub exits: Vec<String>,
    /// The orders to start programs of the machine, each a file next to the plan.
    pub programs: Vec<programs::Order>,
    /// What the engine cannot record of this run.
    pub unrecorded: Vec<Unsupported>,
}

pub(crate) fn queue_of(elements: &[Element]) -> Option<(&Element, &Queue)> {
    elements.iter().find_map(|e| match &e.kind {
        Kind::Queue(q) => Some((e, q)),
        _ => None,
    })
}

/// What connects the hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wires<'a> {
    /// Pairs of devices within the kernel, with the hops between them.
    Pairs,
    /// The kernel's two network cards, the server's first; the way between them is not the kernel's, but these tunnels are. The
    /// scenario has no hops.
    Cards(&'a [Tunnel]),
}

/// The name of the namespace in which the cards are at first.
const FIRST: &str = "first";

/// The addresses of the server's and the client's card.
pub(crate) const CARDS: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];

struct Builder<'a> {
    scenario: &'a Scenario,
    programs: &'a Programs,
    wires: Wires<'a>,
    text: String,
    taps: Vec<(Tap, String)>,
    queues: Vec<QueuePlan>,
    policers: Vec<String>,
    exits: Vec<String>,
    queue_lines: Vec<String>,
}

impl Plan {
    /// The plan of a scenario that was not refused.
    pub fn new(scenario: &Scenario, programs: &Programs, wires: Wires<'_>) -> Self {
        let mut b = Builder {
            scenario,
            programs,
            wires,
            text: String::new(),
            taps: Vec::new(),
            queues: Vec::new(),
            policers: Vec::new(),
            exits: Vec::new(),
            queue_lines: Vec::new(),
        };
        b.order(format!("length {}", scenario.length().as_nanos()));
        b.order(format!("step {}", scenario.sample_interval.as_nanos()));
        // Old kernels enter high-resolution mode at the first tick, and tc computes a bucket by it.
        b.order("wait 1000");
        match wires {
            Wires::Pairs => b.topology(),
            Wires::Cards(_) => b.cards(),
        }
        for hop in 0..scenario.hops.len() {
            b.side(hop, Side::Down);
            b.side(hop, Side::Up);
        }
        b.hosts();
        // Entries before exits, so that a step's stamps can be read in the order of the file.
        let mut taps = std::mem::take(&mut b.taps);
        taps.sort_by_key(|(tap, _)| tap.edge == Edge::Out);
        for (_, line) in &taps {
            b.order(line);
        }
        for line in std::mem::take(&mut b.queue_lines) {
            b.order(line);
        }
        let lists = b.flows();
        let programs = scenario.flows.iter().enumerate();
        let programs = programs.flat_map(|(i, flow)| programs::Order::of(i, flow)).collect();
        b.events();
        Self {
            lists,
            programs,
            text: b.text,
            taps: taps.into_iter().map(|(tap, _)| tap).collect(),
            queues: b.queues,
            policers: b.policers,
            exits: b.exits,
            unrecorded: unrecorded(scenario),
        }
    }
}

/// Room for what may pass in two steps, at the fastest rate of the scenario, in full packets and small ones.
fn ring_frames(scenario: &Scenario) -> u64 {
    let fastest = scenario
        .disciplines()
        .filter_map(|(_, q)| q.capacity())
        .chain(scenario.events.iter().flat_map(|e| &e.actions).filter_map(|a| match a {
            Action::Rate { rate, .. } => Some(*rate),
            Action::ReplaceQdisc { shaper: Some(shaper), qdisc, .. } => {
                Queue { shaper: *shaper, qdisc: qdisc.clone() }.capacity()
            }
            _ => None,
        }))
        .map(|r| r.bytes_in(scenario.sample_interval))
        .max()
        .unwrap_or(12_500_000);
    // Where a queue is off, nothing but the hosts holds packets up.
    let paths = scenario.disciplines().map(|(path, _)| path);
    let may_be_off = |path: &String| {
        places::element_at(scenario, path).is_some_and(|element| !element.enabled)
            || middleboxes::is_switched(scenario, path)
    };
    let fastest = if paths.into_iter().any(|path| may_be_off(&path)) {
        fastest.max(25_000_000)
    } else {
        fastest
    };
    (4 * fastest / 1_000).clamp(8_192, 400_000)
}

/// The lines that have the agent keep the packets at these points.
pub(crate) fn captures(scenario: &Scenario, points: &[Point], snap: u32) -> String {
    let hop = |name: &str| scenario.hops.iter().position(|h| h.name == name).unwrap_or_default();
    let frames = ring_frames(scenario);
    let mut text = String::new();
    for point in points {
        let (ns, device) = match point {
            Point::Server => (SERVER.to_owned(), "c"),
            Point::Left(name) => (format!("hop{}", hop(name)), "s"),
            Point::Right(name) => (format!("hop{}", hop(name)), "c"),
            Point::Client => (CLIENT.to_owned(), "s"),
        };
        let _ = writeln!(text, "capture {ns} {device} {frames} {snap}");
    }
    text
}

fn unrecorded(scenario: &Scenario) -> Vec<Unsupported> {
    let varies = |flow: &Flow| {
        flow.hops.iter().any(|&hop| {
            let sides = [Side::Down, Side::Up].into_iter();
            sides
                .flat_map(|side| netems::delays(scenario, flow, hop, side))
                .any(|(_, d)| d.is_none())
        })
    };
    if !scenario.flows.iter().any(varies) {
        return Vec::new();
    }
    vec![Unsupported {
        what: Feature::Limit("latest RTT and its distribution".into()),
        place: Where::Flows,
        why: "they are computed from constant delays, and a netem here varies its own".to_owned(),
        help: "srtt_s is the kernel's own and is recorded".to_owned(),
    }]
}

impl Builder<'_> {
    /// Adds an order, which is a line: the agent runs as the guest's root, and reads what follows a line's end as the next.
    fn order(&mut self, line: impl AsRef<str>) {
        let ends = line.as_ref().contains(char::is_control);
        assert!(!ends, "an order is one line, and this is not: {:?}", line.as_ref());
        self.text.push_str(line.as_ref());
        self.text.push('\n');
    }

    fn ip(&mut self, ns: &str, words: &str) {
        self.order(format!("run {ns} {} {words}", self.programs.ip));
    }

    fn tc(&mut self, ns: &str, words: &str) {
        self.order(format!("run {ns} {} {words}", self.programs.tc));
    }

    /// A namespace for each host, with a card.
    fn cards(&mut self) {
        self.order(format!("first {FIRST}"));
        for (number, (ns, device)) in [(SERVER, "c"), (CLIENT, "s")].into_iter().enumerate() {
            self.order(format!("namespace {ns}"));
            self.ip(FIRST, &format!("link set eth{number} netns {ns} name {device}"));
            self.order(format!("offloads {ns} {device}"));
            self.ip(ns, &format!("link set {device} up"));
        }
        self.order(format!("beginning {SERVER} c"));
    }

    /// Namespaces and the links between them.
    fn topology(&mut self) {
        let hops = self.scenario.hops.len();
        self.order(format!("namespace {SERVER}"));
        for hop in 0..hops {
            self.order(format!("namespace hop{hop}"));
        }
        self.order(format!("namespace {CLIENT}"));
        let name = |node: usize| match node {
            0 => SERVER.to_owned(),
            n if n <= hops => format!("hop{}", n - 1),
            _ => CLIENT.to_owned(),
        };
        for link in 0..=hops {
            let (left, right) = (name(link), name(link + 1));
            // Fixed addresses: those of the kernel's choosing are random.
            let mac = |end: usize| format!("02:00:00:00:{link:02x}:{end:02x}");
            self.ip(
                &left,
                &format!(
                    "link add c address {} type veth peer name s address {} netns {right}",
                    mac(1),
                    mac(2)
                ),
            );
            for (ns, device) in [(&left, "c"), (&right, "s")] {
                self.order(format!("offloads {ns} {device}"));
                self.ip(ns, &format!("link set {device} up"));
            }
            if bypass::on_link(self.scenario, link) {
                self.second_pair([&left, &right], [mac(1), mac(2)]);
            }
        }
        for hop in 0..hops {
            let ns = format!("hop{hop}");
            self.ip(&ns, "link add bridge type bridge stp_state 0 forward_delay 0");
            for device in ["s", "c"] {
                self.ip(&ns, &format!("link set {device} master bridge"));
            }
            self.ip(&ns, "link set bridge up");
        }
    }

    /// Two neighbours' second pair of devices, for what passes by a hop.
    fn second_pair(&mut self, nodes: [&str; 2], macs: [String; 2]) {
        let [left, right] = nodes;
        let [(own, c), (peer, s)] = ["c", "s"].map(|device| (bypass::neighbour(device), device));
        let [mac, other] = macs;
        let words = format!(
            "link add {own} address {mac} type veth peer name {peer} address {other} netns {right}"
        );
        self.ip(left, &words);
        for (ns, neighbour, device) in [(left, own, c), (right, peer, s)] {
            self.order(format!("offloads {ns} {neighbour}"));
            self.ip(ns, &format!("link set {neighbour} up"));
            for words in bypass::hand_over(device) {
                self.tc(ns, &words);
            }
        }
    }

    /// Addresses, neighbours and what the published testbeds set.
    fn hosts(&mut self) {
        let hops = self.scenario.hops.len();
        // Where there are programs, each end has several hosts, and the one of the other flows is the bridge between them.
        let several = programs::are_in(self.scenario);
        let own_device = |device| if several { BRIDGE } else { device };
        if several {
            self.bridges();
        }
        let ends = [
            (Direction::Down, SERVER, own_device("c"), format!("02:00:00:00:{hops:02x}:02")),
            (Direction::Up, CLIENT, own_device("s"), "02:00:00:00:00:01".to_owned()),
        ];
        for (direction, ns, device, mac) in &ends {
            for ip in addresses::versions(self.scenario) {
                self.host_addresses(*direction, ns, device, mac, ip);
            }
            self.ip(ns, "link set lo up");
            let ecn = ("tcp_ecn", self.ecn_accepted());
            for (name, value) in [ecn].into_iter().chain(TCP_SETTINGS) {
                self.order(format!("set {ns} /proc/sys/net/ipv4/{name} {value}"));
            }
            self.codepoints(ns, device);
        }
        for (direction, ns, device) in
            [(Direction::Down, SERVER, own_device("c")), (Direction::Up, CLIENT, own_device("s"))]
        {
            // The frames of cards leave late on their way.
            let late = (self.wires == Wires::Pairs).then(host_jitter);
            for words in host_queues::words(self.scenario, direction, device, late.as_deref()) {
                self.tc(ns, &words);
            }
        }
        for (is_server, ns, device) in [(true, SERVER, "c"), (false, CLIENT, "s")] {
            self.tunnels(is_server, ns, device);
        }
        for (i, flow) in self.scenario.flows.iter().enumerate() {
            if matches!(flow.traffic, Traffic::Program(_)) {
                self.hosts_of_programs(i, flow.ip);
            }
        }
        if self.scenario.flows.iter().any(|flow| flow.ip == Ip::V6) {
            // Hosts tell their neighbours of the groups that they have joined: before the run, and not in it.
            self.order("wait 5000");
        }
    }

    /// The tunnels by this kernel.
    fn of_kernel(&self) -> &'_ [Tunnel] {
        match self.wires {
            Wires::Pairs => &[],
            Wires::Cards(tunnels) => tunnels,
        }
    }

    /// The ends of the kernel's tunnels at a host.
    fn tunnels(&mut self, is_server: bool, ns: &str, card: &str) {
        let tunnels = self.of_kernel().to_vec();
        for order in tunnels::orders(&tunnels, is_server, card) {
            match order {
                tunnels::Order::Ip(words) => self.ip(ns, &words),
                tunnels::Order::Wg(words) => {
                    let wg = self.programs.wg.as_deref().unwrap_or("wg");
                    self.order(format!("run {ns} {wg} {words}"));
                }
                tunnels::Order::File(path, text) => self.order(format!("file {path} {text}")),
                tunnels::Order::Offloads(device) => self.order(format!("offloads {ns} {device}")),
                tunnels::Order::Counters { to, index, exit } => {
                    self.exits.push(exit);
                    self.order(format!("association {ns} {to} {index}"));
                }
            }
        }
    }

    /// Makes a bridge at each end; its device is the host of the flows that are no programs.
    fn bridges(&mut self) {
        let hops = self.scenario.hops.len();
        let ends = [
            (SERVER, "c", "02:00:00:00:00:01".to_owned()),
            (CLIENT, "s", format!("02:00:00:00:{hops:02x}:02")),
        ];
        for (ns, device, mac) in ends {
            let kind = "type bridge stp_state 0 forward_delay 0";
            self.ip(ns, &format!("link add {BRIDGE} address {mac} {kind}"));
            self.order(format!("offloads {ns} {BRIDGE}"));
            self.ip(ns, &format!("link set {device} master {BRIDGE}"));
            self.ip(ns, &format!("link set {BRIDGE} up"));
        }
    }

    /// A host for the server and one for the client of a flow of programs.
    fn hosts_of_programs(&mut self, i: usize, ip: Ip) {
        let mac =
            |end: End| format!("02:01:00:{:02x}:{:02x}:{:02x}", i >> 8, i & 255, end.number());
        for (end, at) in [(End::Server, SERVER), (End::Client, CLIENT)] {
            let (ns, other) = (programs::namespace(i, end), end.other());
            let (own, peer) = (programs::address(i, end, ip), programs::address(i, other, ip));
            self.order(format!("namespace {ns}"));
            let address = mac(end);
            self.ip(
                at,
                &format!("link add p{i} type veth peer name e address {address} netns {ns}"),
            );
            self.ip(at, &format!("link set p{i} master {BRIDGE}"));
            for (ns, device) in [(at, format!("p{i}")), (&*ns, "e".to_owned())] {
                self.order(format!("offloads {ns} {device}"));
            }
            let (bits, more) = match ip {
                Ip::V4 => (24, ""),
                Ip::V6 => (64, " nodad"),
            };
            for (device, name, value) in [("lo", "disable_ipv6", 0), ("e", "addr_gen_mode", 1)] {
                self.order(format!("set {ns} /proc/sys/net/ipv6/conf/{device}/{name} {value}"));
            }
            if ip == Ip::V6 {
                self.order(format!("set {ns} /proc/sys/net/ipv6/conf/e/disable_ipv6 0"));
            }
            self.ip(at, &format!("link set p{i} up"));
            self.ip(&ns, "link set lo up");
            self.ip(&ns, "link set e up");
            self.ip(&ns, &format!("addr add {own}/{bits} dev e{more}"));
            self.ip(&ns, &format!("neigh add {peer} lladdr {} nud permanent dev e", mac(other)));
            self.tc(&ns, &format!("qdisc add dev e root {}", host_jitter()));
            for (name, value) in TCP_SETTINGS {
                self.order(format!("set {ns} /proc/sys/net/ipv4/{name} {value}"));
            }
        }
    }

    /// The ECN that hosts agree to when they are asked (`tcp_ecn`): RFC 3168's ECN, and AccECN where a flow asks for
    /// it. A kernel that has none knows no 4, and would not answer to AccECN either.
    fn ecn_accepted(&self) -> &'static str {
        let asks = |flow: &Flow| flow.traffic.tcp().is_some_and(|tcp| tcp.ecn == EcnMode::AccEcn);
        if self.scenario.flows.iter().any(asks) { "4" } else { "1" }
    }

    /// Of the host that sends a direction's data: its addresses, and the way to the other host's.
    fn host_addresses(&mut self, direction: Direction, ns: &str, device: &str, mac: &str, ip: Ip) {
        let (server, client) = (addresses::of_server(ip), addresses::of_client(ip));
        let (own, other, back) = match direction {
            Direction::Down => (server, client, Direction::Up),
            Direction::Up => (client, server, Direction::Down),
        };
        let (bits, more) = (addresses::prefix(ip), if ip == Ip::V6 { " nodad" } else { "" });
        if ip == Ip::V6 {
            for (device, name, value) in [
                ("lo", "disable_ipv6", 0),
                (device, "addr_gen_mode", 1),
                (device, "disable_ipv6", 0),
            ] {
                self.order(format!("set {ns} /proc/sys/net/ipv6/conf/{device}/{name} {value}"));
            }
        }
        let further = |direction| match addresses::windows(self.scenario, direction) {
            Windows::Same(_) => Vec::new(),
            Windows::Several(windows) => windows,
        };
        let (senders, receivers) = (further(direction), further(back));
        let own_further = (0..receivers.len()).map(|place| addresses::for_window(place, ip));
        for address in std::iter::once(own.clone()).chain(own_further) {
            self.ip(ns, &format!("addr add {address}/{bits} dev {device}{more}"));
        }
        let mut ways = vec![(other, None)];
        if let Windows::Same(window) = addresses::windows(self.scenario, direction) {
            ways[0].1 = window;
        }
        ways.extend(
            (0..).zip(senders).map(|(place, w)| (addresses::for_window(place, ip), Some(w))),
        );
        for (to, window) in ways {
            self.ip(ns, &format!("neigh add {to} lladdr {mac} nud permanent dev {device}"));
            // Where there are tunnels, a card takes longer packets than hosts send.
            let mtu = if self.of_kernel().is_empty() { None } else { Some(HOST_MTU) };
            if window.is_some() || mtu.is_some() {
                let whole = if ip == Ip::V6 { 128 } else { 32 };
                let mut words = format!("route add {to}/{whole} dev {device} src {own}");
                for (word, number) in [("initcwnd", window), ("mtu", mtu.map(u32::from))] {
                    let _ = number.map(|number| write!(words, " {word} {number}"));
                }
                self.ip(ns, &words);
            }
        }
    }

    /// Gives the packets of a host's flows the codepoint that these are to have, before they leave it.
    fn codepoints(&mut self, ns: &str, device: &str) {
        let flows = self.scenario.flows.iter().enumerate();
        let filters: Vec<String> =
            flows.flat_map(|(i, flow)| rewrite::codepoint(i, flow)).collect();
        if filters.is_empty() {
            return;
        }
        self.tc(ns, &format!("qdisc add dev {device} clsact"));
        for words in filters {
            self.tc(ns, &format!("filter add dev {device} egress {words}"));
        }
    }

    /// One side of a hop: shaper and discipline, delays, taps.
    fn side(&mut self, hop: usize, side: Side) {
        let scenario = self.scenario;
        let Place { ns, from, to, letter } = places::place(hop, side);
        let elements = scenario.hops[hop].side(side);
        let handle = queue_of(elements).map(|(element, queue)| {
            let on = element.enabled;
            for words in tc::first_words(to, &queue.shaper, &queue.qdisc).iter().filter(|_| on) {
                self.tc(&ns, words);
            }
            let path = format!("{}.{side}.{}", scenario.hops[hop].name, element.name);
            self.queues.push(QueuePlan { path, hop, side, on });
            let begins = if on { "on" } else { "off" };
            format!("{} {begins}", tc::handle(&queue.shaper))
        });
        self.tc(&ns, &format!("qdisc add dev {from} handle ffff: ingress"));
        for words in bypass::around(scenario, hop, side) {
            self.tc(&ns, &words);
        }
        for middlebox in middleboxes::of_side(scenario, hop, side) {
            if let Some(numbers) = middlebox.numbers {
                let name = &middlebox.element.name;
                self.policers.push(format!("{}.{side}.{name}", scenario.hops[hop].name));
                let (bucket, [marks, drops]) =
                    (numbers.bucket, numbers.counters.unwrap_or_default());
                self.queue_lines.push(format!("policer {ns} {bucket} {marks} {drops}"));
            }
            if middlebox.element.enabled {
                for words in middlebox.on() {
                    self.tc(&ns, &words);
                }
            }
        }
        let groups = netems::groups(scenario, hop, side);
        for (number, (flow, words)) in groups.iter().enumerate() {
            let ifb = format!("{letter}{number}");
            self.ip(&ns, &format!("link add {ifb} type ifb"));
            self.ip(&ns, &format!("link set {ifb} up"));
            for (link, words) in words.iter().enumerate() {
                let at = if link == 0 { "root".to_owned() } else { format!("parent {link}:1") };
                let handle = link + 1;
                self.tc(&ns, &format!("qdisc add dev {ifb} {at} handle {handle}: netem {words}"));
            }
            let to_ifb = format!("action mirred egress redirect dev {ifb}");
            let ingress = format!("filter add dev {from} parent ffff: protocol all");
            match flow {
                None => {
                    self.tc(&ns, &format!("{ingress} prio 99 u32 match u32 0 0 {to_ifb}"));
                }
                Some(i) => {
                    let own = &scenario.flows[*i];
                    // Of each protocol filters have a priority of their own.
                    let protocol = match own.ip {
                        Ip::V4 => "ip prio 98",
                        Ip::V6 => "ipv6 prio 97",
                    };
                    for words in rewrite::of_flow(*i, own) {
                        let ingress = format!("filter add dev {from} parent ffff: protocol");
                        self.tc(&ns, &format!("{ingress} {protocol} u32 {words} {to_ifb}"));
                    }
                }
            }
            if handle.is_some() {
                let queue = self.queues.len() - 1;
                let frames = self.ring_frames();
                let line = format!("tap {ns} {ifb} {frames}");
                self.taps.push((Tap { queue, edge: Edge::In }, line));
            }
        }
        if let Some(handle) = handle {
            let queue = self.queues.len() - 1;
            let frames = self.ring_frames();
            self.taps.push((Tap { queue, edge: Edge::Out }, format!("tap {ns} {to} {frames}")));
            self.queue_lines.push(format!("queue {ns} {to} {handle}"));
        }
    }

    fn ring_frames(&self) -> u64 {
        ring_frames(self.scenario)
    }

    fn flows(&mut self) -> Vec<List> {
        let scenario = self.scenario;
        let mut lists = Vec::new();
        for (number, flow) in scenario.flows.iter().enumerate() {
            let list = List::of(scenario, flow);
            let line = flow_line((scenario, self.of_kernel()), number, flow, list.as_ref());
            self.order(line);
            lists.extend(list);
        }
        lists
    }

    fn events(&mut self) {
        let scenario = self.scenario;
        for (number, event) in scenario.events.iter().enumerate() {
            // Refused beforehand where it is not known.
            let Some(at) = schedule::time_of(scenario, &event.when) else { continue };
            let at = at.as_nanos();
            for (place, action) in event.actions.iter().enumerate() {
                for (ns, words) in self.action(number, place, action) {
                    self.order(format!("at {at} {number} {ns} {words}"));
                }
            }
        }
    }

    /// An action's commands in the guest, if it is about a queue.
    fn of_queue(
        &self,
        event: usize,
        place: usize,
        action: &Action,
    ) -> Option<Vec<(String, String)>> {
        let path = action.element()?;
        let state = queues::before(self.scenario, path, event, place)?;
        let number = self.queues.iter().position(|queue| queue.path == path)?;
        let QueuePlan { hop, side, .. } = self.queues[number];
        let Place { ns, to, .. } = places::place(hop, side);
        let tc = &self.programs.tc;
        let line = |order: Order| match order {
            Order::Nothing => ("-".to_owned(), "nothing".to_owned()),
            Order::Begin(words) => (ns.clone(), format!("{tc} {words}")),
            Order::Wait(words) => (ns.clone(), format!("wait {tc} {words}")),
            Order::Tell => (ns.clone(), format!("tell {number}")),
            Order::Remove => (ns.clone(), format!("remove {number}")),
            Order::Placed(handle) => (ns.clone(), format!("placed {number} {handle}")),
        };
        Some(state.orders(to, action).into_iter().map(line).collect())
    }

    /// An action in the guest: namespace and command.
    fn action(&self, event: usize, place: usize, action: &Action) -> Vec<(String, String)> {
        let scenario = self.scenario;
        let tc = &self.programs.tc;
        if let Some(orders) = self.of_queue(event, place, action) {
            return orders;
        }
        let switched = |(element, to): (&String, bool)| {
            middleboxes::switch(scenario, (event, place), element, to)
        };
        let of_tc = netems::orders(scenario, (event, place), action)
            .or_else(|| middleboxes::switches(action).and_then(switched));
        if let Some((ns, words)) = of_tc {
            if words.is_empty() {
                return vec![("-".to_owned(), "nothing".to_owned())];
            }
            return words.into_iter().map(|l| (ns.clone(), format!("{tc} {l}"))).collect();
        }
        let (verb, flow) = match action {
            Action::StartFlow { flow } => ("start", flow),
            Action::StopFlow { flow } => ("stop", flow),
            _ => return Vec::new(),
        };
        let flow = scenario.flows.iter().position(|f| f.name == *flow);
        flow.map(|i| ("-".to_owned(), format!("{verb} {i}"))).into_iter().collect()
    }
}

/// What is written into tcp_ecn when a flow connects.
fn ecn_number(mode: EcnMode) -> u8 {
    match mode {
        EcnMode::Off => 0,
        EcnMode::AccEcn => 3,
        EcnMode::Default | EcnMode::Rfc3168 | EcnMode::Sce => 1,
    }
}

fn flow_line(
    (scenario, tunnels): (&Scenario, &[Tunnel]),
    number: usize,
    flow: &Flow,
    list: Option<&List>,
) -> String {
    let (tx, rx) = match flow.direction {
        Direction::Down => (SERVER, CLIENT),
        Direction::Up => (CLIENT, SERVER),
    };
    let (from, to) = tunnels::addresses(tunnels, number, flow.direction)
        .unwrap_or_else(|| addresses::of_flow(scenario, flow));
    let start = match flow.start {
        Start::At(at) => (scenario.clock(at) + start_offset(scenario, flow)).as_nanos().to_string(),
        Start::Event => "never".to_owned(),
    };
    let stop = flow.stop.map_or("never".to_owned(), |at| scenario.clock(at).as_nanos().to_string());
    let head = |kind: &str, ecn: Ecn| {
        let tos = flow.dscp.tos(ecn);
        format!("flow {kind} {tx} {rx} {from} {to} {start} {stop} {tos}")
    };
    if let Some(ecn) = flow.traffic.datagrams() {
        if let Some(list) = list {
            return format!("{} listed {}", head("udp", ecn), list.name);
        }
        if asked::decides(&flow.traffic) {
            return format!("{} asked", head("udp", ecn));
        }
    }
    // What TCP flows of every kind say; `bytes` are connections where there are many.
    let connection = |kind: &str, tcp: &Tcp, bytes: Option<u64>| {
        let window = match tcp.receive_window {
            ReceiveWindow::Autotune => 0,
            ReceiveWindow::Fixed(bytes) => bytes,
        };
        format!(
            "{} {} {} {} {} {window} {} {}",
            head(kind, Ecn::NotEct),
            tcp.cc,
            ecn_number(tcp.ecn),
            bytes.unwrap_or(0),
            tcp.max_pacing_rate.map_or(0, Rate::bytes_per_sec),
            tcp.send_buffer.unwrap_or(0),
            FULL_PAYLOAD - flow.ip.more(),
        )
    };
    let listed = list.map_or("-", |list| list.name.as_str());
    match &flow.traffic {
        Traffic::Tcp(tcp) | Traffic::OnOff(OnOff { over: Pulse::Tcp(tcp), .. }) => {
            let rate = tcp.app_rate.map_or(0, Rate::bits_per_sec);
            format!("{} {rate} {listed}", connection("tcp", tcp, tcp.bytes))
        }
        Traffic::ShortFlows(short) => {
            format!("{} {} {listed}", connection("short", &short.tcp, short.count), short.request)
        }
        Traffic::Streaming(stream) => {
            format!("{} {}", connection("stream", &stream.tcp, None), stream.request)
        }
        Traffic::Irtt(irtt) => {
            format!("{} {} {}", head("irtt", irtt.ecn), irtt.payload, irtt.interval.as_nanos())
        }
        Traffic::Udp(udp) => {
            let rate = udp.rate.bits_per_sec();
            format!("{} constant {} {rate}", head("udp", udp.ecn), udp.payload)
        }
        Traffic::Ping(ping) => {
            format!("{} {} {}", head("ping", ping.ecn), ping.size, ping.interval.as_nanos())
        }
        Traffic::Program(program) => {
            let i = number;
            let (tx, rx) = match flow.direction {
                Direction::Down => (End::Server, End::Client),
                Direction::Up => (End::Client, End::Server),
            };
            let address = |end| programs::address(i, end, flow.ip);
            let name = |end| programs::namespace(i, end);
            let order = |end| {
                let order = programs::Order::of_end(i, flow.ip, program, end);
                order.map_or_else(|| "-".to_owned(), |order| order.name)
            };
            format!(
                "flow program {} {} {} {} {start} {stop} 0 {tx} {} {} {} {} {} {}",
                name(tx),
                name(rx),
                address(tx),
                address(rx),
                u8::from(!program.server.is_empty()),
                programs::ready(&program.ready),
                program.within.map_or(0, Span::as_nanos),
                program.exit,
                order(End::Server),
                order(End::Client),
            )
        }
        other => unreachable!("{} is refused beforehand", other.name()),
    }
}
