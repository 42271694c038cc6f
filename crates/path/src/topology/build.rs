//! Routes, flow by flow.

use super::elements::{Basis, Place, is_switched};
use super::error::Unbuildable;
use super::host::{End, HostSide, NicKind};
use super::middleboxes::Middleboxes;
use super::ports::Ports;
use super::{HOST, Node, Role, RouteEntry, Step, Switch, Topology};
use crate::wifi::Air;
use crate::{PathPacket, Port};
use sojourn_model::{Direction, Element, Flow, Kind, Side};

impl<P: PathPacket> Topology<P> {
    /// Named ports, and routes that each lead through some of them, given by their places, to a host: for programs that
    /// have no scenario.
    ///
    /// # Panics
    /// If a route is empty or names a port that does not exist.
    pub fn of_ports<'n>(
        ports: impl IntoIterator<Item = (&'n str, Port<P>)>,
        routes: &[&[u16]],
    ) -> Self {
        let node = |(name, port): (&str, Port<P>)| {
            let role = Role::Queue { element: name.to_owned() };
            Node { port, role, own: false, reorders: false, netem: None }
        };
        let nodes: Vec<Node<P>> = ports.into_iter().map(node).collect();
        let route = |ports: &&[u16]| {
            assert!(!ports.is_empty(), "a route needs a port");
            assert!(ports.iter().all(|&p| usize::from(p) < nodes.len()), "no such port: {ports:?}");
            ports.iter().chain([&HOST]).map(|&port| RouteEntry { port, steps: 0 }).collect()
        };
        let routes = routes.iter().map(route).collect();
        Self {
            nodes,
            routes,
            middleboxes: Vec::new(),
            switches: Vec::new(),
            tunnels: Vec::new(),
            steps: Vec::new(),
            air: Air::default(),
            device_of: Vec::new(),
            of_flow: Vec::new(),
            of_control: Vec::new(),
        }
    }

    /// Ports and routes of a scenario; `host_of` says what packets of a flow's hosts pass before the first element.
    ///
    /// # Errors
    /// The first port with a discipline that cannot be built.
    pub fn build<'f>(
        basis: &Basis<'f, P>,
        host_of: impl Fn(&'f Flow) -> HostSide<'f>,
    ) -> Result<Self, Unbuildable> {
        let scenario = basis.scenario;
        let mut builder = Builder::new(basis);
        let (mut device_of, mut of_flow, mut of_control) = (Vec::new(), Vec::new(), Vec::new());
        for flow in &scenario.flows {
            let host = host_of(flow);
            let there: Vec<_> = scenario.data_path(flow).collect();
            let back: Vec<_> = scenario.ack_path(flow).collect();
            let (near, far) = match flow.direction {
                Direction::Down => (End::Near, End::Far),
                Direction::Up => (End::Far, End::Near),
            };
            let answers = HostSide { queue: None, ..host };
            let mut routes = |own| {
                let there = builder.route(flow, own, &there, (near, host))?;
                Ok((there, builder.route(flow, own, &back, (far, answers))?))
            };
            let data = routes(true)?;
            of_control.push(if host.control { routes(false)? } else { data });
            of_flow.push(data);
            device_of.push(match host.queue {
                Some(_) => Some(NicKind::Wired),
                None => scenario.device_of(flow).and_then(|path| builder.ports.host_nic(&path)),
            });
        }
        let Builder { ports, middleboxes, switches, steps, routes, .. } = builder;
        let (mut nodes, air) = (ports.nodes, ports.air);
        // Hosts hand packets in some microseconds ahead of their time. Where others pass through, those may
        // leave before them.
        for first in routes.iter().filter_map(|r| r.first()).map(|e| e.port) {
            let passed = routes.iter().any(|r| r.iter().skip(1).any(|e| e.port == first));
            if let Some(node) = nodes.get_mut(usize::from(first)) {
                node.reorders |= passed;
            }
        }
        let Middleboxes { all: middleboxes, tunnels, .. } = middleboxes;
        let tunnels = tunnels.kinds;
        Ok(Self {
            nodes,
            middleboxes,
            switches,
            tunnels,
            steps,
            routes,
            air,
            device_of,
            of_flow,
            of_control,
        })
    }
}

struct Builder<'a, P> {
    basis: &'a Basis<'a, P>,
    ports: Ports<'a, P>,
    middleboxes: Middleboxes,
    switches: Vec<Switch>,
    steps: Vec<Vec<Step>>,
    routes: Vec<Vec<RouteEntry>>,
}

impl<'a, P: PathPacket> Builder<'a, P> {
    fn new(basis: &'a Basis<'a, P>) -> Self {
        Self {
            basis,
            ports: Ports::new(basis),
            middleboxes: Middleboxes::default(),
            switches: Vec::new(),
            steps: Vec::new(),
            routes: Vec::new(),
        }
    }

    /// The route of what a flow's host at one end sends; `own` says whether by the delays that are the flow's own.
    fn route(
        &mut self,
        flow: &Flow,
        own: bool,
        elements: &[(&str, Side, &Element)],
        (end, host): (End, HostSide<'_>),
    ) -> Result<u16, Unbuildable> {
        let scenario = self.basis.scenario;
        let mut path = Path::default();
        let places = elements.iter().map(|&element| Place::new(element));
        let places: Vec<Place<'_>> = places.filter(|place| place.exists(scenario)).collect();
        let begins_with_a_delay = places.first().is_some_and(|first| {
            matches!(first.e.kind, Kind::Netem(_)) && !is_switched(scenario, &first.path)
        });
        if host.nic && (!begins_with_a_delay || host.queue.is_some()) {
            path.to(self.ports.nic(end, flow)?, &mut self.steps);
        }
        if let Some(words) = host.queue {
            path.to(self.ports.host_queue(words, end, flow)?, &mut self.steps);
        }
        for place in places {
            if let Some(number) = self.middleboxes.of_element(self.basis, &place)? {
                path.before.push(Step::Pass(number));
                continue;
            }
            let ports = self.ports.of_element(&place, flow, own)?;
            if is_switched(scenario, &place.path) {
                let switch = self.switch(&place.path, place.e.enabled);
                path.before.push(Step::Bypass(switch, ports.len() as u8));
                if !place.e.enabled {
                    self.ports.clear(&ports);
                }
            }
            for port in ports {
                path.to(port, &mut self.steps);
            }
        }
        path.to(HOST, &mut self.steps);
        let (routes, entries) = (&mut self.routes, path.entries);
        let index = routes.iter().position(|r| *r == entries).unwrap_or_else(|| {
            routes.push(entries);
            routes.len() - 1
        });
        Ok(index as u16)
    }

    fn switch(&mut self, element: &str, on: bool) -> u16 {
        let switches = &mut self.switches;
        let place = switches.iter().position(|s| s.element == element).unwrap_or_else(|| {
            switches.push(Switch { element: element.to_owned(), on });
            switches.len() - 1
        });
        place as u16
    }
}

/// A route under construction.
#[derive(Default)]
struct Path {
    entries: Vec<RouteEntry>,
    /// What happens before the next port.
    before: Vec<Step>,
}

impl Path {
    fn to(&mut self, port: u16, known: &mut Vec<Vec<Step>>) {
        let steps = if self.before.is_empty() {
            0
        } else {
            let before = core::mem::take(&mut self.before);
            let place = known.iter().position(|k| *k == before).unwrap_or_else(|| {
                known.push(before);
                known.len() - 1
            });
            place as u16 + 1
        };
        self.entries.push(RouteEntry { port, steps });
    }
}
