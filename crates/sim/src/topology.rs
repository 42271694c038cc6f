//! From a scenario's hops to ports and routes.
//!
//! Every netem of a chain and every queue becomes a port. A route is the list of ports that the packets of one
//! flow pass one way; flows with a delay of their own have netems of their own. A route whose first element
//! holds no packets begins with a port that only delays by the host's jitter, so that what a host sends never
//! arrives within the call that sent it.

use crate::packet::Parcel;
use crate::stacks::{DEFAULT, Stack};
use sojourn_path::{Device, Port};
use sojourn_qdisc::{Any, TcError};
use sojourn_scenario::model::{Element, Flow, Kind, Queue, Scenario, Shaper, Side};
use sojourn_units::Random;
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
        /// Whose: `host.data.STACK` or `host.ack.STACK`.
        name: String,
    },
}

/// A port with its role.
#[derive(Debug)]
pub(crate) struct Station {
    /// The port.
    pub(crate) port: Port<Parcel>,
    /// What it is.
    pub(crate) role: Role,
    /// Whether a packet that comes later may leave earlier, so that each arrival asks anew when to pull.
    pub(crate) reorders: bool,
    /// Words of a netem without its name, for changes of its delay alone.
    pub(crate) words: String,
}

/// Ports and the routes through them.
#[derive(Debug, Default)]
pub(crate) struct Topology {
    /// The ports.
    pub(crate) stations: Vec<Station>,
    /// Ports of each route, in order.
    pub(crate) routes: Vec<Vec<u16>>,
    /// Routes of each flow: data, then what comes back.
    pub(crate) of_flow: Vec<(u16, u16)>,
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

/// The stack of this name, which has been checked.
pub(crate) fn stack(name: &str) -> &'static Stack {
    Stack::named(name).or_else(|| Stack::named(DEFAULT)).expect("the default stack exists")
}

/// The words of a netem in which its delay is another.
pub(crate) fn with_delay(words: &str, delay: sojourn_units::Span) -> String {
    let mut out = Vec::new();
    let mut rest = words.split_whitespace();
    let mut found = false;
    while let Some(word) = rest.next() {
        out.push(word.to_owned());
        // tc knows it by both names.
        if matches!(word, "delay" | "latency") {
            rest.next();
            out.push(delay.to_string());
            found = true;
        }
    }
    if !found {
        out.splice(0..0, ["delay".to_owned(), delay.to_string()]);
    }
    out.join(" ")
}

/// Builds a queue's port: shaper, discipline and device.
pub(crate) fn queue(
    q: &Queue,
    element: &str,
    stack: &Stack,
    mut random: Random,
) -> Result<Port<Parcel>, Unbuildable> {
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
    let discipline = Any::build(&words, &stack.qdisc, &mut random).map_err(|error| {
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
    pub(crate) fn build(scenario: &Scenario) -> Result<Self, Unbuildable> {
        let mut builder =
            Builder { scenario, topology: Self::default(), known: BTreeMap::default() };
        for flow in &scenario.flows {
            let there: Vec<_> = scenario.data_path(flow).collect();
            let back: Vec<_> = scenario.ack_path(flow).collect();
            let routes = (builder.route(flow, &there, "data")?, builder.route(flow, &back, "ack")?);
            builder.topology.of_flow.push(routes);
        }
        // Hosts hand packets in some microseconds ahead of their time. Where others pass through, those may
        // leave before them.
        let Topology { stations, routes, .. } = &mut builder.topology;
        for &entry in routes.iter().filter_map(|r| r.first()) {
            let passed = routes.iter().any(|r| r.iter().skip(1).any(|&port| port == entry));
            stations[usize::from(entry)].reorders |= passed;
        }
        Ok(builder.topology)
    }

    /// The port of a queue.
    pub(crate) fn queue(&self, element: &str) -> Option<usize> {
        self.stations
            .iter()
            .position(|s| matches!(&s.role, Role::Queue { element: e } if e == element))
    }

    /// Ports of a netem element: those of one flow, or those of all flows that have none of their own.
    pub(crate) fn netems(&self, element: &str, flow: Option<&str>) -> Vec<usize> {
        let of = |s: &Station| match &s.role {
            Role::Netem { element: e, flow: f, .. } => e == element && f.as_deref() == flow,
            _ => false,
        };
        (0..self.stations.len()).filter(|&i| of(&self.stations[i])).collect()
    }
}

struct Builder<'a> {
    scenario: &'a Scenario,
    topology: Topology,
    /// Ports by a key that says what they are, so that flows share them.
    known: BTreeMap<String, u16>,
}

impl Builder<'_> {
    fn route(
        &mut self,
        flow: &Flow,
        elements: &[(&str, Side, &Element)],
        way: &str,
    ) -> Result<u16, Unbuildable> {
        let mut ports = Vec::new();
        // What packets stop at; the rest is switched off, or has no links.
        let acting = |(_, _, e): &&(&str, Side, &Element)| match &e.kind {
            Kind::Netem(netem) => e.enabled && !netem.chain.is_empty(),
            _ => true,
        };
        let mut elements = elements.iter().filter(acting).peekable();
        if !matches!(elements.peek(), Some((_, _, e)) if matches!(e.kind, Kind::Netem(_))) {
            let role = Role::Nic { name: format!("host.{way}.{}", flow.stack) };
            let key = format!("nic/{way}/{}", flow.stack);
            ports.push(self.netem(&key, "limit 1000000", role, &flow.stack)?);
        }
        for (hop, side, element) in elements {
            let path = format!("{hop}.{side}.{}", element.name);
            match &element.kind {
                Kind::Netem(netem) => {
                    let own = netem.per_flow.iter().find(|d| d.flow == flow.name);
                    for (link, words) in netem.chain.iter().enumerate() {
                        let words = match own {
                            Some(d) if link == 0 => with_delay(words, d.delay),
                            _ => words.clone(),
                        };
                        let role = Role::Netem {
                            element: path.clone(),
                            link,
                            flow: own.map(|d| d.flow.clone()),
                        };
                        let whose = own.map_or("", |d| d.flow.as_str());
                        let key = format!("{path}/{link}/{whose}");
                        let hop_stack = self.hop_stack(hop);
                        ports.push(self.netem(&key, &words, role, &hop_stack)?);
                    }
                }
                Kind::Queue(q) => ports.push(self.queue(&path, q, &self.hop_stack(hop))?),
                // Refused beforehand.
                _ => {}
            }
        }
        let routes = &mut self.topology.routes;
        let index = routes.iter().position(|r| *r == ports).unwrap_or_else(|| {
            routes.push(ports);
            routes.len() - 1
        });
        Ok(index as u16)
    }

    fn hop_stack(&self, hop: &str) -> String {
        self.scenario.hop(hop).map_or_else(|| DEFAULT.to_owned(), |h| h.stack.clone())
    }

    fn netem(
        &mut self,
        key: &str,
        words: &str,
        role: Role,
        stack_name: &str,
    ) -> Result<u16, Unbuildable> {
        if let Some(&port) = self.known.get(key) {
            return Ok(port);
        }
        let full = format!("netem {words}");
        let mut random = Random::named(self.scenario.seed, &format!("path/{key}"));
        let discipline =
            Any::build(&full, &stack(stack_name).qdisc, &mut random).map_err(|error| {
                Unbuildable { element: key.to_owned(), words: full.clone(), error: Box::new(error) }
            })?;
        Ok(self.add(key, Port::new(discipline, Device::Instant, random), role, words))
    }

    fn queue(&mut self, path: &str, q: &Queue, stack_name: &str) -> Result<u16, Unbuildable> {
        if let Some(&port) = self.known.get(path) {
            return Ok(port);
        }
        let random = Random::named(self.scenario.seed, &format!("path/{path}"));
        let port = queue(q, path, stack(stack_name), random)?;
        let role = Role::Queue { element: path.to_owned() };
        Ok(self.add(path, port, role, &q.qdisc))
    }

    fn add(&mut self, key: &str, port: Port<Parcel>, role: Role, words: &str) -> u16 {
        let index = self.topology.stations.len() as u16;
        let reorders = !matches!(role, Role::Queue { .. }) && delays_unevenly(words);
        self.topology.stations.push(Station { port, role, reorders, words: words.to_owned() });
        self.known.insert(key.to_owned(), index);
        index
    }
}

/// Whether a netem's words give its packets different delays: a second time behind `delay`, or anything but
/// `delay` and `limit`.
pub(crate) fn delays_unevenly(words: &str) -> bool {
    let mut rest = words.split_whitespace().peekable();
    while let Some(word) = rest.next() {
        match word {
            "delay" | "latency" => {
                rest.next();
                if rest.peek().is_some_and(|w| w.starts_with(|c: char| c.is_ascii_digit())) {
                    return true;
                }
            }
            "limit" => {
                rest.next();
            }
            _ => return true,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_units::Span;

    #[test]
    fn a_delay_is_replaced_and_all_else_kept() {
        let ten = Span::from_millis(10);
        assert_eq!(with_delay("delay 40ms 2ms limit 5", ten), "delay 10ms 2ms limit 5");
        assert_eq!(with_delay("latency 40ms limit 5", ten), "latency 10ms limit 5");
        assert_eq!(with_delay("limit 5", ten), "delay 10ms limit 5");
        assert!(delays_unevenly("delay 4ms 2ms 10%") && !delays_unevenly("delay 4ms limit 7"));
    }
}
