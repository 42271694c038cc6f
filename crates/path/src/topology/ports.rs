//! Ports from elements and hosts, each once however many flows pass it.

use super::elements::{Basis, Place, links};
use super::error::Unbuildable;
use super::host::{End, NicKind};
use super::node::{Node, Role, queue_among};
use crate::delivery::Delivery;
use crate::wifi::{Air, Channel, Transmitter};
use crate::{Device, OnLink, PathPacket, Port, Radio};
use sojourn_model::{AggregatingLink, Flow, FlowDelay, Kind, Netem, Queue, Shaper, Wifi};
use sojourn_qdisc::{AnyQdisc, QdiscQuirks, TcError, netem};
use sojourn_units::{Random, Rate, Span, Time};
use std::collections::BTreeMap;

/// Netem's words for one that delays nothing and refuses nobody.
pub(super) const OPEN: &str = "limit 1000000";

/// Builds a queue's port: shaper, discipline and device.
pub(super) fn queue<P: PathPacket>(
    basis: &Basis<'_, P>,
    element: &str,
    q: &Queue,
    mut random: Random,
) -> Result<Port<P>, Unbuildable> {
    let words = match q.shaper {
        Shaper::Htb { rate, ceil, burst } => {
            let ceil = ceil.map_or(String::new(), |c| format!(" ceil {}", tc_rate(c)));
            let burst = burst.map_or(String::new(), |b| format!(" burst {b}b cburst {b}b"));
            format!("htb rate {}{ceil}{burst} {}", tc_rate(rate), q.qdisc)
        }
        Shaper::Line { .. } | Shaper::Trace { .. } | Shaper::Link { .. } | Shaper::Own { .. } => {
            q.qdisc.to_string()
        }
    };
    let device = match q.shaper {
        Shaper::Line { rate } => Device::line(rate),
        Shaper::Trace { trace, .. } => {
            let trace = basis.scenario.traces[trace as usize].clone();
            Device::Trace(Box::new(Delivery::new(trace)))
        }
        Shaper::Link { link, rate } => {
            let words = basis.scenario.links[link as usize].as_str();
            let built = basis.elements.build_link(
                words,
                rate,
                Random::named(basis.scenario.seed, &format!("link/{element}")),
            );
            let link = built.map_err(|error| unbuildable(element, words, error))?;
            Device::Link(Box::new(OnLink::new(link)))
        }
        Shaper::Htb { .. } | Shaper::Own { .. } => Device::Instant,
    };
    let profile = basis.profile_at(element);
    let discipline = discipline(basis, element, &words, &profile, &mut random)?;
    let port = Port::new(discipline, device, random);
    Ok(if let Shaper::Htb { .. } = q.shaper { port.under_shaper() } else { port })
}

fn tc_rate(rate: Rate) -> String {
    format!("{}bit", rate.bits_per_sec())
}

fn discipline<P: PathPacket>(
    basis: &Basis<'_, P>,
    element: &str,
    words: &str,
    profile: &QdiscQuirks,
    random: &mut Random,
) -> Result<AnyQdisc<P>, Unbuildable> {
    let built = basis.registry.build(words, profile, random);
    built.map_err(|error| unbuildable(element, words, error))
}

fn unbuildable(element: &str, words: &str, error: TcError) -> Unbuildable {
    Unbuildable { element: element.to_owned(), words: words.to_owned(), error: Box::new(error) }
}

/// The ports that there are so far.
pub(super) struct Ports<'a, P> {
    basis: &'a Basis<'a, P>,
    pub(super) nodes: Vec<Node<P>>,
    pub(super) air: Air,
    /// Ports by a key that says what they are, so that flows share them.
    known: BTreeMap<String, u16>,
    /// Wireless channels by hop and element: both sides' elements of one name share one.
    channels: BTreeMap<String, usize>,
}

impl<'a, P: PathPacket> Ports<'a, P> {
    pub(super) fn new(basis: &'a Basis<'a, P>) -> Self {
        let (known, channels) = (BTreeMap::new(), BTreeMap::new());
        Self { basis, nodes: Vec::new(), air: Air::new(), known, channels }
    }

    /// Those of an element, in the order in which a flow's packets pass them; `own` says whether by the delays that are its
    /// own. None of one that holds no packets.
    pub(super) fn of_element(
        &mut self,
        place: &Place<'_>,
        flow: &Flow,
        own: bool,
    ) -> Result<Vec<u16>, Unbuildable> {
        Ok(match &place.e.kind {
            Kind::Netem(netem) => {
                let own = netem.per_flow.iter().find(|d| own && d.flow == flow.name);
                self.chain(own, place, netem)?
            }
            Kind::Queue(q) => vec![self.queue(&place.path, q)?],
            Kind::AggregatingLink(link) => vec![self.aggregating_link(&place.path, link)?],
            Kind::Wifi(wifi) => vec![self.wifi(place, wifi)?],
            _ => Vec::new(),
        })
    }

    /// Where packets of a flow's host at this end wait for their jitter.
    pub(super) fn nic(&mut self, end: End, flow: &Flow) -> Result<u16, Unbuildable> {
        let (end, stack) = (end.name(), &flow.stack);
        let role = Role::Nic { name: format!("host.{end}.{stack}") };
        let profile = (self.basis.profiles)(stack);
        self.netem(&format!("nic/{end}/{stack}"), OPEN, None, role, &profile)
    }

    /// The sending host's own queue: one for all flows of the host that have the same words, on a device that takes no time.
    pub(super) fn host_queue(
        &mut self,
        words: &str,
        end: End,
        flow: &Flow,
    ) -> Result<u16, Unbuildable> {
        let (end, stack) = (end.name(), &flow.stack);
        let key = format!("nic/{end}/{stack}/{words}");
        if let Some(&port) = self.known.get(&key) {
            return Ok(port);
        }
        let mut random = self.stream(&key);
        let (subject, profile) = (format!("flow {}", flow.name), (self.basis.profiles)(stack));
        let discipline = discipline(self.basis, &subject, words, &profile, &mut random)?;
        let role = Role::Nic { name: format!("host.{end}.{stack} ({words})") };
        let mut port = Port::new(discipline, Device::Instant, random);
        port.report_completions();
        let index = self.add(&key, port, role, None);
        self.nodes[usize::from(index)].own = true;
        Ok(index)
    }

    /// The queue of this path becomes a device of the host that sends.
    pub(super) fn host_nic(&mut self, path: &str) -> Option<NicKind> {
        let index = queue_among(&self.nodes, path)?;
        let node = &mut self.nodes[index];
        node.own = true;
        node.port.report_completions();
        Some(if node.port.is_wireless() { NicKind::Wireless } else { NicKind::Wired })
    }

    /// The ports of a chain of netems.
    fn chain(
        &mut self,
        own: Option<&FlowDelay>,
        place: &Place<'_>,
        netem: &Netem,
    ) -> Result<Vec<u16>, Unbuildable> {
        let path = &place.path;
        let profile = self.basis.profile_of_hop(place.hop);
        let whose = own.map_or("", |d| d.flow.as_str());
        let mut ports = Vec::new();
        for link in 0..links(self.basis.scenario, path, netem.chain.len()) {
            let words = netem.chain.get(link).map_or(OPEN, String::as_str);
            let delay = own.filter(|_| link == 0).map(|d| d.delay);
            let flow = own.map(|d| d.flow.clone());
            let role = Role::Netem { element: path.clone(), link, flow };
            let key = format!("{path}/{link}/{whose}");
            ports.push(self.netem(&key, words, delay, role, &profile)?);
        }
        Ok(ports)
    }

    /// The port of a netem of these words, with another delay if there is one.
    fn netem(
        &mut self,
        key: &str,
        words: &str,
        delay: Option<Span>,
        role: Role,
        profile: &QdiscQuirks,
    ) -> Result<u16, Unbuildable> {
        if let Some(&port) = self.known.get(key) {
            return Ok(port);
        }
        let mut netem = netem::Parameters::parse(words, profile)
            .map_err(|error| unbuildable(&role.to_string(), &format!("netem {words}"), error))?;
        if let Some(delay) = delay {
            netem = netem.with_delay(delay);
        }
        let mut random = self.stream(key);
        let (element, words) = (role.to_string(), format!("netem {netem}"));
        let discipline = discipline(self.basis, &element, &words, profile, &mut random)?;
        let port = Port::new(discipline, Device::Instant, random);
        Ok(self.add(key, port, role, Some(netem)))
    }

    fn queue(&mut self, path: &str, q: &Queue) -> Result<u16, Unbuildable> {
        if let Some(&port) = self.known.get(path) {
            return Ok(port);
        }
        let port = queue(self.basis, path, q, self.stream(path))?;
        let role = Role::Queue { element: path.to_owned() };
        Ok(self.add(path, port, role, None))
    }

    fn aggregating_link(&mut self, path: &str, link: &AggregatingLink) -> Result<u16, Unbuildable> {
        if let Some(&port) = self.known.get(path) {
            return Ok(port);
        }
        let stream = |what| self.stream(&format!("{path}{what}"));
        let radio = Radio::new(link, stream("/opportunities"), stream("/rates"));
        self.wireless(path, link.limit, Device::Radio(Box::new(radio)))
    }

    fn wifi(&mut self, place: &Place<'_>, wifi: &Wifi) -> Result<u16, Unbuildable> {
        let path = &place.path;
        if let Some(&port) = self.known.get(path) {
            return Ok(port);
        }
        let shared = format!("{}.{}", place.hop, place.e.name);
        let stream = |of: &str, what| self.stream(&format!("{of}{what}"));
        let (arrivals, backoffs) = (stream(&shared, "/neighbours"), stream(&shared, "/backoff"));
        let (changes, losses) = (stream(path, "/quality"), stream(path, "/losses"));
        let air = &mut self.air;
        let channel = *self.channels.entry(shared).or_insert_with(|| {
            air.push(Channel::new(wifi.neighbours, wifi.airtime, arrivals, backoffs));
            air.len() - 1
        });
        let number = air[channel].join();
        let transmitter = Transmitter::new(number, wifi, changes, losses);
        self.wireless(path, wifi.limit, Device::Wifi(channel, Box::new(transmitter)))
    }

    /// A port with a FIFO in front of a device on the air.
    fn wireless(&mut self, path: &str, limit: u32, device: Device<P>) -> Result<u16, Unbuildable> {
        let mut random = self.stream(path);
        let (words, profile) = (format!("pfifo limit {limit}"), self.basis.profile_at(path));
        let frames = discipline(self.basis, path, &words, &profile, &mut random)?;
        let port = Port::new(frames, device, random);
        let role = Role::Queue { element: path.to_owned() };
        Ok(self.add(path, port, role, None))
    }

    /// The random stream of a port.
    fn stream(&self, key: &str) -> Random {
        Random::named(self.basis.scenario.seed, &format!("path/{key}"))
    }

    /// Takes away what begins switched off.
    pub(super) fn clear(&mut self, ports: &[u16]) {
        for &port in ports {
            self.nodes[usize::from(port)].port.clear(Time::ZERO);
        }
    }

    fn add(
        &mut self,
        key: &str,
        port: Port<P>,
        role: Role,
        netem: Option<netem::Parameters>,
    ) -> u16 {
        let index = self.nodes.len() as u16;
        // What is on the air or on a link must not keep what comes from asking for the next chance.
        let reorders =
            port.looks_at_arrivals() || netem.as_ref().is_some_and(netem::Parameters::varies);
        self.nodes.push(Node { port, role, own: false, reorders, netem });
        self.known.insert(key.to_owned(), index);
        index
    }
}
