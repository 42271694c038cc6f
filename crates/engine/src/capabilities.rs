//! What an engine can run.

use sojourn_model::{
    Action, By, Element, Feature, Gauge, HOST_STACK, Kind, Place, Scenario, Side, TcWords, Traffic,
    Unsupported, When,
};
use std::collections::BTreeSet;

/// What an engine can run.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Capabilities {
    features: BTreeSet<Feature>,
}

impl FromIterator<Feature> for Capabilities {
    fn from_iter<T: IntoIterator<Item = Feature>>(features: T) -> Self {
        Self { features: features.into_iter().collect() }
    }
}

impl Extend<Feature> for Capabilities {
    fn extend<T: IntoIterator<Item = Feature>>(&mut self, features: T) {
        self.features.extend(features);
    }
}

/// Collects what is missing, each thing once a place.
struct Missing<'a> {
    able: &'a Capabilities,
    found: Vec<Unsupported>,
}

impl Missing<'_> {
    fn need(&mut self, what: Feature, place: &Place) {
        let said =
            |found: &[Unsupported]| found.iter().any(|u| u.what == what && u.place == *place);
        if self.able.has(&what) || said(&self.found) {
            return;
        }
        let (why, help) = match &what {
            Feature::Stack(name) if name == HOST_STACK => (
                "its hosts are not this machine's kernel",
                "the live engine has them: --engine live; or name a stack of sojourn stacks",
            ),
            Feature::TunnelBy(By::Kernel) => (
                "this engine's hosts are no kernels that are a tunnel's ends",
                "the engine linux has such hosts, round hops by sojourn: --engine linux; or write by = \"sojourn\"",
            ),
            _ => ("this engine does not have it", ""),
        };
        let (why, help) = (why.to_owned(), help.to_owned());
        self.found.push(Unsupported { what, place: place.clone(), why, help });
    }

    fn qdisc(&mut self, words: &TcWords, place: &Place) {
        self.need(Feature::Qdisc(words.name().to_owned()), place);
    }

    fn element(&mut self, element: &Element, place: &Place) {
        self.need(Feature::Element(element.kind.kind()), place);
        match &element.kind {
            Kind::Netem(netem) if !netem.per_flow.is_empty() => {
                self.need(Feature::PerFlowDelay, place);
            }
            Kind::Queue(queue) => self.qdisc(&queue.qdisc, place),
            Kind::Rewrite(rewrite) => self.need(Feature::Rewrite(rewrite.rule.kind()), place),
            Kind::Encapsulate(tunnel) => {
                self.need(Feature::Tunnel(tunnel.kind.protocol()), place);
                if let Some(by) = tunnel.by.filter(|by| *by != By::Sojourn) {
                    self.need(Feature::TunnelBy(by), place);
                }
            }
            Kind::Netem(_)
            | Kind::Decapsulate { .. }
            | Kind::Policer(_)
            | Kind::AggregatingLink(_)
            | Kind::Wifi(_)
            | Kind::Middlebox(_) => {}
        }
    }

    fn traffic(&mut self, traffic: &Traffic, place: &Place) {
        self.need(Feature::Traffic(traffic.kind()), place);
        if let Some(tcp) = traffic.tcp() {
            let (name, options) = tcp.control();
            self.need(Feature::CongestionControl(name.to_owned()), place);
            if !options.is_empty() {
                self.need(Feature::ControlOptions, place);
            }
            if let Some(qdisc) = &tcp.host_qdisc {
                self.need(Feature::HostQdisc, place);
                self.qdisc(qdisc, place);
            }
            if tcp.offload {
                self.need(Feature::Offload, place);
            }
        }
    }

    fn time(&mut self, when: &When, place: &Place) {
        match when {
            When::At(_) => {}
            When::After { .. } => self.need(Feature::RelativeEvents, place),
            When::State { gauge: Gauge::Flow { .. } | Gauge::Queue { .. }, .. } => {
                self.need(Feature::StateEvents, place);
            }
        }
    }
}

impl Capabilities {
    /// Whether this is among them.
    pub fn has(&self, feature: &Feature) -> bool {
        self.features.contains(feature)
    }

    /// The parts of a scenario that are not among them.
    pub fn refuse(&self, scenario: &Scenario) -> Vec<Unsupported> {
        let mut missing = Missing { able: self, found: Vec::new() };
        let stack = |name: &String| Feature::Stack(name.clone());
        missing.need(stack(&scenario.stack), &Place::Experiment);
        for hop in &scenario.hops {
            let place = Place::Hop(hop.name.clone());
            if hop.stack != scenario.stack {
                missing.need(stack(&hop.stack), &place);
            }
            if let Some(by) = hop.by {
                missing.need(Feature::HopsBy(by), &place);
            }
            if hop.host_nic {
                missing.need(Feature::HostNic, &place);
            }
            for side in [Side::Down, Side::Up] {
                for element in hop.side(side) {
                    let path = format!("{}.{side}.{}", hop.name, element.name);
                    missing.element(element, &Place::Element(path));
                }
            }
        }
        for flow in &scenario.flows {
            let place = Place::Flow(flow.name.clone());
            for name in flow.stacks().filter(|name| *name != scenario.stack) {
                missing.need(Feature::Stack(name.to_owned()), &place);
            }
            if let Some(by) = flow.by {
                missing.need(Feature::HostsBy(by), &place);
            }
            missing.traffic(&flow.traffic, &place);
        }
        for event in &scenario.events {
            let place = Place::Event(event.name.clone());
            missing.time(&event.when, &place);
            for action in &event.actions {
                match action {
                    Action::ChangeQdisc { qdisc, .. } | Action::ReplaceQdisc { qdisc, .. } => {
                        missing.qdisc(qdisc, &place);
                    }
                    _ => {}
                }
            }
        }
        for phase in &scenario.phases {
            let place = Place::Phase(phase.name.clone());
            missing.time(&phase.from, &place);
            missing.time(&phase.to, &place);
        }
        missing.found
    }
}
