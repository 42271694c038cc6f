//! From a scenario's hops to ports and routes.
//!
//! Every netem of a chain, every queue and every radio link becomes a port; what holds no packets (rewriters, ends
//! of tunnels, policers) becomes a middlebox. A route is a list of entries: what happens to the packets of one
//! flow, one way, before a port, and the port; the last entry leads to the host. Flows with a delay of their own have
//! netems of their own. A route whose first element holds no packets begins with a port that only delays by the
//! host's jitter, so that what a host sends never arrives within the call that sent it.
//!
//! A chain of netems is one port after the other. The kernel has the second as the child of the first (the
//! harness's `root-tree`): the parent hands a packet down when its delay is over, which is when the first port
//! hands it on; the parent's limit counts its own packets (as of 6.13; before, 5.4 among them, too: it takes
//! what it hands down off its length). The difference that is left: a child with slots looks for packets whenever
//! the parent has one come or leave, a second port when one comes or is due. Only if `slot`'s least gap is shorter
//! than its own netem's delay does it then draw its next slot more often; nobody's is.
//!
//! What an event may switch off is there from the beginning: a delay with a bypass, which the entry before
//! it takes while it is off; packets that it holds still come out.

use crate::packet::PacketBox;
use sojourn_model::{
    Action, Direction, Element, Flow, FlowDelay, Kind, Netem, Queue, Scenario, Selector, Shaper,
    Side, Traffic, Tunnel, TunnelKind, Wifi, Wlan,
};
use sojourn_path::wlan::{Air, Channel, Transmitter};
use sojourn_path::{
    Device, Entrance, Exit, Middlebox, MiddleboxKind, Policer, Port, Radio, Rewriter, Selection,
};
use sojourn_qdisc::{Registry, TcError, netem};
use sojourn_stacks::{DEFAULT, Stack};
use sojourn_transport::OwnDevice;
use sojourn_units::{Random, Span};
use std::collections::BTreeMap;

/// What a port is to the scenario.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// A delay: of all flows that have none of their own, or of one flow.
    Netem {
        /// The element's path, `hop.side.element`.
        element: String,
        /// Its place in the chain.
        link: usize,
        /// The flow it is for, if for one alone.
        flow: Option<String>,
    },
    /// A queue, whose statistics are recorded.
    Queue {
        /// The element's path.
        element: String,
    },
    /// Where packets of hosts wait for their jitter.
    Nic {
        /// Whose: `host.near.STACK` sends what goes down, `host.far.STACK` what goes up.
        name: String,
    },
}

/// A port with its role.
#[derive(Debug)]
pub(crate) struct Node {
    /// The port.
    pub(crate) port: Port<PacketBox>,
    /// What it is.
    pub(crate) role: Role,
    /// Whether it is a device of the host that sends.
    pub(crate) own: bool,
    /// Whether a packet that comes later may leave earlier, so that each arrival asks anew when to poll.
    pub(crate) reorders: bool,
    /// What a netem is set to, for changes of its delay alone.
    pub(crate) netem: Option<netem::Parameters>,
}

/// The place of no port: the host.
pub(crate) const HOST: u16 = u16::MAX;

/// From one port to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RouteEntry {
    /// The port that it leads to, or [`HOST`].
    pub(crate) port: u16,
    /// What happens on the way: nothing at 0, else the place, less one, in [`Topology::steps`].
    pub(crate) steps: u16,
}

/// Something that happens on the way to a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// The middlebox of this number acts.
    Pass(u16),
    /// While the switch of this number is off, so many entries are left out, beginning with this one.
    Bypass(u16, u8),
}

/// A switch of an element that holds packets.
#[derive(Debug)]
pub(crate) struct Switch {
    /// The element's path.
    pub(crate) element: String,
    /// Whether it acts.
    pub(crate) on: bool,
}

/// Ports, middleboxes and the routes through them.
#[derive(Debug, Default)]
pub(crate) struct Topology {
    /// The ports.
    pub(crate) nodes: Vec<Node>,
    /// The middleboxes, with their elements' paths.
    pub(crate) middleboxes: Vec<(String, Middlebox)>,
    /// Delays, queues and radio links that events switch.
    pub(crate) switches: Vec<Switch>,
    /// Kinds of the tunnels, by their numbers.
    pub(crate) tunnels: Vec<TunnelKind>,
    /// What happens before ports.
    pub(crate) steps: Vec<Vec<Step>>,
    /// Legs of each route, in order; the first leads to a port, and nothing happens on it; the last leads to the
    /// host.
    pub(crate) routes: Vec<Vec<RouteEntry>>,
    /// Wireless channels.
    pub(crate) air: Air,
    /// The device of each flow's sending host, where it is told apart from the path.
    pub(crate) device_of: Vec<Option<OwnDevice>>,
    /// Routes of each flow: data, then what comes back.
    pub(crate) of_flow: Vec<(u16, u16)>,
    /// Those of its program's control connection, which has no delay of its own.
    pub(crate) of_control: Vec<(u16, u16)>,
}

/// What cannot be built.
#[derive(Clone, Debug)]
pub(crate) struct Unbuildable {
    /// The element's path.
    pub(crate) element: String,
    /// What its words are.
    pub(crate) words: String,
    /// What is wrong with them.
    pub(crate) error: Box<TcError>,
}

/// Whether netperf makes the flow, so that there is a control connection beside it.
pub(crate) fn is_netperfs(flow: &Flow, stack: &Stack) -> bool {
    stack.tcp.netperf && matches!(flow.traffic, Traffic::Tcp(_))
}

/// The stack of this name, which has been checked.
pub(crate) fn stack(name: &str) -> &'static Stack {
    Stack::named(name).or_else(|| Stack::named(DEFAULT)).expect("the default stack exists")
}

/// Builds a queue's port: shaper, discipline and device.
pub(crate) fn queue(
    q: &Queue,
    element: &str,
    stack: &Stack,
    mut random: Random,
    registry: &Registry<PacketBox>,
) -> Result<Port<PacketBox>, Unbuildable> {
    let words = match q.shaper {
        Shaper::Htb { rate, ceil, burst } => {
            let ceil = ceil.map_or(String::new(), |c| format!(" ceil {}", tc_rate(c)));
            let burst = burst.map_or(String::new(), |b| format!(" burst {b}b cburst {b}b"));
            format!("htb rate {}{ceil}{burst} {}", tc_rate(rate), q.qdisc)
        }
        Shaper::Line { .. } | Shaper::Own { .. } => q.qdisc.clone(),
    };
    let device = match q.shaper {
        Shaper::Line { rate } => Device::line(rate),
        _ => Device::Instant,
    };
    let discipline = registry.build(&words, &stack.qdisc, &mut random).map_err(|error| {
        Unbuildable { element: element.to_owned(), words: words.clone(), error: Box::new(error) }
    })?;
    let port = Port::new(discipline, device, random);
    Ok(if let Shaper::Htb { .. } = q.shaper { port.under_shaper() } else { port })
}

fn tc_rate(rate: sojourn_units::Rate) -> String {
    format!("{}bit", rate.bits_per_sec())
}

impl Topology {
    /// Ports and routes of a scenario.
    pub(crate) fn build(
        scenario: &Scenario,
        registry: &Registry<PacketBox>,
    ) -> Result<Self, Unbuildable> {
        let mut builder = Builder {
            scenario,
            registry,
            topology: Self::default(),
            known: BTreeMap::default(),
            channels: BTreeMap::default(),
            known_middleboxes: BTreeMap::default(),
            tunnels: Vec::new(),
        };
        for flow in &scenario.flows {
            let there: Vec<_> = scenario.data_path(flow).collect();
            let back: Vec<_> = scenario.ack_path(flow).collect();
            let (near, far) = match flow.direction {
                Direction::Down => ("near", "far"),
                Direction::Up => ("far", "near"),
            };
            let mut routes = |own| {
                let there = builder.route(flow, own, &there, near)?;
                Ok((there, builder.route(flow, own, &back, far)?))
            };
            let of_flow = routes(true)?;
            let of_control =
                if is_netperfs(flow, stack(&flow.stack)) { routes(false)? } else { of_flow };
            let device = match host_queue(flow) {
                Some(_) => Some(OwnDevice::WIRED),
                None => scenario.device_of(flow).and_then(|path| builder.own_device(&path)),
            };
            builder.topology.device_of.push(device);
            builder.topology.of_flow.push(of_flow);
            builder.topology.of_control.push(of_control);
        }
        // Hosts hand packets in some microseconds ahead of their time. Where others pass through, those may
        // leave before them.
        let Topology { nodes, routes, .. } = &mut builder.topology;
        for first in routes.iter().filter_map(|r| r.first()).map(|e| e.port) {
            let passed = routes.iter().any(|r| r.iter().skip(1).any(|e| e.port == first));
            nodes[usize::from(first)].reorders |= passed;
        }
        Ok(builder.topology)
    }

    /// Lets an element act, or not. One that no flow passes has no switch.
    pub(crate) fn switch(&mut self, element: &str, on: bool) {
        if let Some(middlebox) = self.middlebox(element) {
            middlebox.enabled = on;
        }
        if let Some(switch) = self.switches.iter_mut().find(|s| s.element == element) {
            switch.on = on;
        }
    }

    /// The middlebox of an element.
    pub(crate) fn middlebox(&mut self, element: &str) -> Option<&mut Middlebox> {
        self.middleboxes.iter_mut().find(|p| p.0 == element).map(|p| &mut p.1)
    }

    /// The port of a queue.
    pub(crate) fn queue(&self, element: &str) -> Option<usize> {
        self.nodes
            .iter()
            .position(|s| matches!(&s.role, Role::Queue { element: e } if e == element))
    }

    /// The part of the delay on a route that never changes: that of its constant netems, as long as no event changes
    /// or switches them.
    pub(crate) fn fixed_delay(&self, scenario: &Scenario, route: u16) -> Span {
        let ports = self.routes[usize::from(route)].iter().map(|entry| entry.port);
        let delays = ports.filter(|&port| port != HOST).filter_map(|port| {
            let node = &self.nodes[usize::from(port)];
            let Role::Netem { element, .. } = &node.role else { return None };
            let netem = node.netem.as_ref()?;
            let varies = netem.varies() || actions(scenario, element).next().is_some();
            (!varies).then(|| netem.delay())
        });
        delays.fold(Span::ZERO, |sum, delay| sum + delay)
    }

    /// Ports of a netem element: those of one flow, or those of all flows that have none of their own.
    pub(crate) fn netems(&self, element: &str, flow: Option<&str>) -> Vec<usize> {
        let of = |s: &Node| match &s.role {
            Role::Netem { element: e, flow: f, .. } => e == element && f.as_deref() == flow,
            _ => false,
        };
        (0..self.nodes.len()).filter(|&i| of(&self.nodes[i])).collect()
    }
}

struct Builder<'a> {
    scenario: &'a Scenario,
    registry: &'a Registry<PacketBox>,
    topology: Topology,
    /// Ports by a key that says what they are, so that flows share them.
    known: BTreeMap<String, u16>,
    /// Wireless channels by hop and element: both sides' elements of one name share one.
    channels: BTreeMap<String, usize>,
    /// Middleboxes by their elements' paths.
    known_middleboxes: BTreeMap<String, u16>,
    /// Tunnels by side and name; a tunnel's number is its place.
    tunnels: Vec<(Side, String)>,
}

/// Netem's words for one that delays nothing and refuses nobody.
pub(crate) const OPEN: &str = "limit 1000000";

/// An element where it stands.
struct Place<'a> {
    path: String,
    hop: &'a str,
    side: Side,
    e: &'a Element,
}

/// A route under construction.
#[derive(Default)]
struct Path {
    entries: Vec<RouteEntry>,
    /// What happens before the next port.
    steps: Vec<Step>,
}

impl Path {
    fn to(&mut self, port: u16, topology: &mut Topology) {
        let number = if self.steps.is_empty() {
            0
        } else {
            let steps = core::mem::take(&mut self.steps);
            let known = &mut topology.steps;
            let place = known.iter().position(|k| *k == steps).unwrap_or_else(|| {
                known.push(steps);
                known.len() - 1
            });
            place as u16 + 1
        };
        self.entries.push(RouteEntry { port, steps: number });
    }
}

impl Builder<'_> {
    /// A flow's route; `own` says whether by the delays that are its own.
    fn route(
        &mut self,
        flow: &Flow,
        own: bool,
        elements: &[(&str, Side, &Element)],
        host: &str,
    ) -> Result<u16, Unbuildable> {
        let mut path = Path::default();
        let elements: Vec<Place<'_>> = elements
            .iter()
            .map(|&(hop, side, e)| Place { path: format!("{hop}.{side}.{}", e.name), hop, side, e })
            // The rest is switched off for good, or has no links.
            .filter(|place| self.exists(place))
            .collect();
        let begins_with_a_delay = elements.first().is_some_and(|first| {
            matches!(first.e.kind, Kind::Netem(_)) && !is_switched(self.scenario, &first.path)
        });
        let sends = (host == "near") == (flow.direction == Direction::Down);
        let queue = host_queue(flow).filter(|_| sends);
        if !begins_with_a_delay || queue.is_some() {
            let role = Role::Nic { name: format!("host.{host}.{}", flow.stack) };
            let key = format!("nic/{host}/{}", flow.stack);
            let nic = self.netem(&key, OPEN, None, role, &flow.stack)?;
            path.to(nic, &mut self.topology);
        }
        if let Some(words) = queue {
            let port = self.host_queue(words, host, flow)?;
            path.to(port, &mut self.topology);
        }
        for place in elements {
            if let Some(step) = self.middlebox(&place) {
                path.steps.push(step);
                continue;
            }
            let stack = self.hop_stack(place.hop);
            let ports = match &place.e.kind {
                Kind::Netem(netem) => {
                    let own = netem.per_flow.iter().find(|d| own && d.flow == flow.name);
                    self.chain(own, &place.path, netem, &stack)?
                }
                Kind::Queue(q) => vec![self.queue(&place.path, q, &stack)?],
                Kind::Wifi(wifi) => vec![self.wifi(&place.path, wifi, &stack)?],
                Kind::Wlan(wlan) => vec![self.wlan(&place, wlan, &stack)?],
                _ => Vec::new(),
            };
            if is_switched(self.scenario, &place.path) {
                let switch = self.switch(&place.path, place.e.enabled);
                path.steps.push(Step::Bypass(switch, ports.len() as u8));
            }
            for port in ports {
                path.to(port, &mut self.topology);
            }
        }
        path.to(HOST, &mut self.topology);
        let (routes, entries) = (&mut self.topology.routes, path.entries);
        let index = routes.iter().position(|r| *r == entries).unwrap_or_else(|| {
            routes.push(entries);
            routes.len() - 1
        });
        Ok(index as u16)
    }

    /// The sending host's own queue: one for all flows of the host that have the same words, on a device that takes no time.
    fn host_queue(&mut self, words: &str, host: &str, flow: &Flow) -> Result<u16, Unbuildable> {
        let key = format!("nic/{host}/{}/{words}", flow.stack);
        if let Some(&port) = self.known.get(&key) {
            return Ok(port);
        }
        let mut random = Random::named(self.scenario.seed, &format!("path/{key}"));
        let profile = &stack(&flow.stack).qdisc;
        let discipline = self.registry.build(words, profile, &mut random).map_err(|error| {
            let (element, words) = (format!("flow {}", flow.name), words.to_owned());
            Unbuildable { element, words, error: Box::new(error) }
        })?;
        let role = Role::Nic { name: format!("host.{host}.{} ({words})", flow.stack) };
        let mut port = Port::new(discipline, Device::Instant, random);
        port.report_completions();
        let index = self.add(&key, port, role, None);
        self.topology.nodes[usize::from(index)].own = true;
        Ok(index)
    }

    /// The queue of this path becomes a device of the host that sends.
    fn own_device(&mut self, path: &str) -> Option<OwnDevice> {
        let index = self.topology.queue(path)?;
        let node = &mut self.topology.nodes[index];
        node.own = true;
        node.port.report_completions();
        Some(if node.port.is_wireless() { OwnDevice::WIFI } else { OwnDevice::WIRED })
    }

    /// The ports of a chain of netems.
    fn chain(
        &mut self,
        own: Option<&FlowDelay>,
        path: &str,
        netem: &Netem,
        stack: &str,
    ) -> Result<Vec<u16>, Unbuildable> {
        let whose = own.map_or("", |d| d.flow.as_str());
        let mut ports = Vec::new();
        for link in 0..links(self.scenario, path, netem.chain.len()) {
            let words = netem.chain.get(link).map_or(OPEN, String::as_str);
            let delay = own.filter(|_| link == 0).map(|d| d.delay);
            let flow = own.map(|d| d.flow.clone());
            let role = Role::Netem { element: path.to_owned(), link, flow };
            let key = format!("{path}/{link}/{whose}");
            ports.push(self.netem(&key, words, delay, role, stack)?);
        }
        Ok(ports)
    }

    /// The middlebox of an element that holds no packets.
    fn middlebox(&mut self, place: &Place<'_>) -> Option<Step> {
        if let Some(&number) = self.known_middleboxes.get(&place.path) {
            return Some(Step::Pass(number));
        }
        let kind = match &place.e.kind {
            Kind::Rewrite(r) => {
                MiddleboxKind::Rewrite(Rewriter::new(r.rule, self.selection(&r.select), r.syn))
            }
            Kind::Policer(policer) => MiddleboxKind::Police(Policer::new(policer)),
            Kind::Encapsulate(tunnel) => {
                let number = self.tunnel(place.side, &place.e.name, tunnel.kind);
                let select = self.selection(&tunnel.select);
                MiddleboxKind::Enter(Entrance::new(number, tunnel.kind, select, tunnel.overhead))
            }
            Kind::Decapsulate { tunnel } => {
                let near = near_end(self.scenario, place.side, tunnel)?;
                let number = self.tunnel(place.side, tunnel, near.kind);
                MiddleboxKind::Leave(Exit::new(number, near.kind, near.replay_window))
            }
            Kind::Netem(_) | Kind::Queue(_) | Kind::Wifi(_) | Kind::Wlan(_) => return None,
        };
        let middleboxes = &mut self.topology.middleboxes;
        let number = middleboxes.len() as u16;
        middleboxes.push((place.path.clone(), Middlebox::new(kind, place.e.enabled)));
        self.known_middleboxes.insert(place.path.clone(), number);
        Some(Step::Pass(number))
    }

    /// Whether packets can meet this element in the run at all.
    fn exists(&self, place: &Place<'_>) -> bool {
        let acts = place.e.enabled || is_switched(self.scenario, &place.path);
        match &place.e.kind {
            Kind::Netem(netem) => acts && links(self.scenario, &place.path, netem.chain.len()) > 0,
            _ => acts,
        }
    }

    fn selection(&self, selector: &Selector) -> Selection {
        match selector {
            Selector::All => Selection::All,
            Selector::Dscp(dscp) => Selection::Dscp(*dscp),
            Selector::Flows(names) => {
                let flows = &self.scenario.flows;
                Selection::Flows(flows.iter().map(|f| names.contains(&f.name)).collect())
            }
        }
    }

    /// A tunnel's number. Each direction is a tunnel by itself.
    fn tunnel(&mut self, side: Side, name: &str, kind: TunnelKind) -> u16 {
        let known = self.tunnels.iter().position(|t| t.0 == side && t.1 == name);
        let place = known.unwrap_or_else(|| {
            self.tunnels.push((side, name.to_owned()));
            self.topology.tunnels.push(kind);
            self.tunnels.len() - 1
        });
        place as u16
    }

    fn switch(&mut self, element: &str, on: bool) -> u16 {
        let switches = &mut self.topology.switches;
        let place = switches.iter().position(|s| s.element == element).unwrap_or_else(|| {
            switches.push(Switch { element: element.to_owned(), on });
            switches.len() - 1
        });
        place as u16
    }

    fn hop_stack(&self, hop: &str) -> String {
        self.scenario.hop(hop).map_or_else(|| DEFAULT.to_owned(), |h| h.stack.clone())
    }

    /// The port of a netem of these words, with another delay if there is one.
    fn netem(
        &mut self,
        key: &str,
        words: &str,
        delay: Option<Span>,
        role: Role,
        stack_name: &str,
    ) -> Result<u16, Unbuildable> {
        if let Some(&port) = self.known.get(key) {
            return Ok(port);
        }
        let profile = &stack(stack_name).qdisc;
        let unbuildable = |words: &str, error| Unbuildable {
            element: key.to_owned(),
            words: format!("netem {words}"),
            error: Box::new(error),
        };
        let mut netem =
            netem::Parameters::parse(words, profile).map_err(|error| unbuildable(words, error))?;
        if let Some(delay) = delay {
            netem = netem.with_delay(delay);
        }
        let words = netem.to_string();
        let mut random = Random::named(self.scenario.seed, &format!("path/{key}"));
        let discipline = self
            .registry
            .build(&format!("netem {words}"), profile, &mut random)
            .map_err(|error| unbuildable(&words, error))?;
        let port = Port::new(discipline, Device::Instant, random);
        Ok(self.add(key, port, role, Some(netem)))
    }

    fn queue(&mut self, path: &str, q: &Queue, stack_name: &str) -> Result<u16, Unbuildable> {
        if let Some(&port) = self.known.get(path) {
            return Ok(port);
        }
        let random = Random::named(self.scenario.seed, &format!("path/{path}"));
        let port = queue(q, path, stack(stack_name), random, self.registry)?;
        let role = Role::Queue { element: path.to_owned() };
        Ok(self.add(path, port, role, None))
    }

    fn wifi(&mut self, path: &str, wifi: &Wifi, stack_name: &str) -> Result<u16, Unbuildable> {
        if let Some(&port) = self.known.get(path) {
            return Ok(port);
        }
        let stream = |what| Random::named(self.scenario.seed, &format!("path/{path}{what}"));
        let radio = Radio::new(wifi, stream("/opportunities"), stream("/rates"));
        self.wireless(path, wifi.limit, Device::Radio(Box::new(radio)), stack_name)
    }

    fn wlan(&mut self, place: &Place<'_>, wlan: &Wlan, stack: &str) -> Result<u16, Unbuildable> {
        let path = &place.path;
        if let Some(&port) = self.known.get(path) {
            return Ok(port);
        }
        let seed = self.scenario.seed;
        let stream = |of: &str, what| Random::named(seed, &format!("path/{of}{what}"));
        let shared = format!("{}.{}", place.hop, place.e.name);
        let air = &mut self.topology.air;
        let channel = *self.channels.entry(shared.clone()).or_insert_with(|| {
            let (arrivals, backoffs) =
                (stream(&shared, "/neighbours"), stream(&shared, "/backoff"));
            air.push(Channel::new(wlan.neighbours, wlan.airtime, arrivals, backoffs));
            air.len() - 1
        });
        let number = air[channel].join();
        let (changes, losses) = (stream(path, "/quality"), stream(path, "/losses"));
        let transmitter = Transmitter::new(number, wlan, changes, losses);
        let device = Device::Wlan(channel, Box::new(transmitter));
        self.wireless(path, wlan.limit, device, stack)
    }

    /// A port with a FIFO in front of a device on the air.
    fn wireless(
        &mut self,
        path: &str,
        limit: u32,
        device: Device<PacketBox>,
        stack_name: &str,
    ) -> Result<u16, Unbuildable> {
        let words = format!("pfifo limit {limit}");
        let mut random = Random::named(self.scenario.seed, &format!("path/{path}"));
        let frames = self.registry.build(&words, &stack(stack_name).qdisc, &mut random).map_err(
            |error| {
                let words = words.clone();
                Unbuildable { element: path.to_owned(), words, error: Box::new(error) }
            },
        )?;
        let port = Port::new(frames, device, random);
        let role = Role::Queue { element: path.to_owned() };
        let index = self.add(path, port, role, None);
        // What is on the air must not keep what comes from asking for the next chance.
        self.topology.nodes[usize::from(index)].reorders = true;
        Ok(index)
    }

    fn add(
        &mut self,
        key: &str,
        port: Port<PacketBox>,
        role: Role,
        netem: Option<netem::Parameters>,
    ) -> u16 {
        let index = self.topology.nodes.len() as u16;
        let reorders = netem.as_ref().is_some_and(netem::Parameters::varies);
        self.topology.nodes.push(Node { port, role, own: false, reorders, netem });
        self.known.insert(key.to_owned(), index);
        index
    }
}

/// The near end of a tunnel.
fn near_end<'a>(scenario: &'a Scenario, side: Side, name: &str) -> Option<&'a Tunnel> {
    scenario.hops.iter().flat_map(|h| h.side(side)).find_map(|e| match &e.kind {
        Kind::Encapsulate(tunnel) if e.name == name => Some(tunnel),
        _ => None,
    })
}

/// The words of the queue on the device of a flow's sender. `fq` is none here: what it does to a flow is to pace it.
pub(crate) fn host_queue(flow: &Flow) -> Option<&str> {
    let words = flow.traffic.tcp()?.host_qdisc.as_deref()?.trim();
    (words != "fq").then_some(words)
}

fn actions<'a>(scenario: &'a Scenario, path: &str) -> impl Iterator<Item = &'a Action> {
    let actions = scenario.events.iter().flat_map(|e| &e.actions);
    actions.filter(move |a| a.element() == Some(path))
}

/// Whether an event switches the element.
fn is_switched(scenario: &Scenario, path: &str) -> bool {
    actions(scenario, path).any(|a| matches!(a, Action::Enable { .. } | Action::Disable { .. }))
}

/// How many netems stand here at any time of the run.
fn links(scenario: &Scenario, path: &str, at_first: usize) -> usize {
    let later = actions(scenario, path).filter_map(|a| {
        if let Action::ChangeNetem { chain, .. } = a { Some(chain.len()) } else { None }
    });
    later.fold(at_first, usize::max)
}
