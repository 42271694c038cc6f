//! What an engine can run, by name.

use sojourn_model::{Action, Element, Gauge, Kind, Refusal, Scenario, Side, Traffic, When};
use std::collections::BTreeSet;

/// A part of scenarios that an engine may or may not have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Feature {
    /// Events that wait for a controller's own number.
    StateEvents,
    /// Events that wait for another event, a flow, a phase or the workload.
    RelativeEvents,
    /// Delays of a flow's own.
    PerFlowDelay,
    /// A queue on the sender's host.
    HostQdisc,
    /// Trains of segments sent and received as one.
    Offload,
    /// Packet captures.
    Capture,
    /// A queue or radio that is a device of the sending host.
    OwnDevice,
}

impl Feature {
    /// The words in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::StateEvents => "events by a controller's state",
            Self::RelativeEvents => "events by another happening",
            Self::PerFlowDelay => "per-flow delay",
            Self::HostQdisc => "host qdisc",
            Self::Offload => "segmentation offload",
            Self::Capture => "packet capture",
            Self::OwnDevice => "device of the sending host",
        }
    }
}

/// What an engine can run. Names are those of the model: [`Kind::name`], [`Traffic::name`], the first word of a
/// qdisc.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Capabilities {
    /// Disciplines, by tc's names.
    pub qdiscs: BTreeSet<String>,
    /// Congestion controls.
    pub ccs: BTreeSet<String>,
    /// Stacks.
    pub stacks: BTreeSet<String>,
    /// Path elements, by [`Kind::name`]; rewriters by `rewrite RULE` too, tunnels by `tunnel KIND`.
    pub elements: BTreeSet<String>,
    /// Traffic, by [`Traffic::name`].
    pub traffic: BTreeSet<String>,
    /// The rest.
    pub features: BTreeSet<Feature>,
}

/// Collects what is missing, each thing once a place.
struct Missing(Vec<Refusal>);

impl Missing {
    fn unless(&mut self, has: bool, feature: String, place: &str) {
        if has || self.0.iter().any(|r| r.feature == feature && r.place == place) {
            return;
        }
        let why = "this engine does not have it".to_owned();
        self.0.push(Refusal { feature, place: place.to_owned(), why, help: String::new() });
    }
}

impl Capabilities {
    /// What of a scenario is not among them.
    pub fn refuse(&self, scenario: &Scenario) -> Vec<Refusal> {
        let mut missing = Missing(Vec::new());
        let stack = |missing: &mut Missing, name: &str, place: &str| {
            missing.unless(self.stacks.contains(name), format!("stack {name}"), place);
        };
        stack(&mut missing, &scenario.stack, "experiment");
        for hop in &scenario.hops {
            stack(&mut missing, &hop.stack, &format!("hop {}", hop.name));
            if hop.own_device {
                self.refuse_feature(&mut missing, Feature::OwnDevice, &format!("hop {}", hop.name));
            }
            for side in [Side::Down, Side::Up] {
                for element in hop.side(side) {
                    let place = format!("{}.{side}.{}", hop.name, element.name);
                    self.refuse_element(&mut missing, element, &place);
                }
            }
        }
        for flow in &scenario.flows {
            let place = format!("flow {}", flow.name);
            stack(&mut missing, &flow.stack, &place);
            self.refuse_traffic(&mut missing, &flow.traffic, &place);
        }
        for event in &scenario.events {
            let place = format!("event {}", event.name);
            self.refuse_time(&mut missing, &event.when, &place);
            for action in &event.actions {
                match action {
                    Action::ChangeQdisc { qdisc, .. } | Action::ReplaceQdisc { qdisc, .. } => {
                        self.refuse_qdisc(&mut missing, qdisc, &place);
                    }
                    _ => {}
                }
            }
        }
        for phase in &scenario.phases {
            let place = format!("phase {}", phase.name);
            self.refuse_time(&mut missing, &phase.from, &place);
            self.refuse_time(&mut missing, &phase.to, &place);
        }
        missing.0
    }

    fn refuse_qdisc(&self, missing: &mut Missing, words: &str, place: &str) {
        let name = words.split_whitespace().next().unwrap_or("");
        missing.unless(self.qdiscs.contains(name), format!("qdisc {name}"), place);
    }

    fn refuse_element(&self, missing: &mut Missing, element: &Element, place: &str) {
        let has = |name: &str| self.elements.contains(name);
        let kind = element.kind.name();
        missing.unless(has(kind), kind.to_owned(), place);
        match &element.kind {
            Kind::Netem(netem) if !netem.per_flow.is_empty() => {
                self.refuse_feature(missing, Feature::PerFlowDelay, place);
            }
            Kind::Queue(queue) => self.refuse_qdisc(missing, &queue.qdisc, place),
            Kind::Rewrite(rewrite) => {
                let name = format!("rewrite {}", rewrite.rule.name());
                missing.unless(has(&name), name, place);
            }
            Kind::Encapsulate(tunnel) => {
                let name = format!("tunnel {}", tunnel.kind.name());
                missing.unless(has(&name), name, place);
            }
            _ => {}
        }
    }

    fn refuse_traffic(&self, missing: &mut Missing, traffic: &Traffic, place: &str) {
        let name = traffic.name();
        missing.unless(self.traffic.contains(name), format!("traffic {name}"), place);
        if let Some(tcp) = traffic.tcp() {
            missing.unless(
                self.ccs.contains(&tcp.cc),
                format!("congestion control {}", tcp.cc),
                place,
            );
            if let Some(qdisc) = &tcp.host_qdisc {
                self.refuse_feature(missing, Feature::HostQdisc, place);
                self.refuse_qdisc(missing, qdisc, place);
            }
            if tcp.offload {
                self.refuse_feature(missing, Feature::Offload, place);
            }
        }
    }

    fn refuse_time(&self, missing: &mut Missing, when: &When, place: &str) {
        match when {
            When::At(_) => {}
            When::After { .. } => self.refuse_feature(missing, Feature::RelativeEvents, place),
            When::State { gauge: Gauge::Flow { .. } | Gauge::Queue { .. }, .. } => {
                self.refuse_feature(missing, Feature::StateEvents, place);
            }
        }
    }

    fn refuse_feature(&self, missing: &mut Missing, feature: Feature, place: &str) {
        missing.unless(self.features.contains(&feature), feature.name().to_owned(), place);
    }
}
