//! The simulator: a deterministic discrete-event engine at packet level.
//!
//! Invariants: time never runs back; what happens at one time happens in the order of [`sojourn_net::Slots`]; all
//! randomness comes from streams named by the element that draws; a run depends on its scenario and on nothing
//! else.

pub mod app;
pub mod dumbbell;
mod flow;
mod foresee;
mod host;
mod known;
mod netem_changes;
mod network;
mod packet;
mod recorder;
mod run;
mod tap;
mod topology;

/// The example of the README runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

use app::{Apps, NamedApp};
use known::Known;
use sojourn_capture::Capture;
use sojourn_engine::{Capabilities, Clock, Engine, Facts, Foreseen, RunError, Watch};
use sojourn_model::{
    By, ElementKind, Feature, Flow, Kind, Place, Plugin, RuleKind, Scenario, Shaper, Traffic,
    TrafficKind, TunnelProtocol, Unsupported,
};
use sojourn_path::{Elements, NamedElement, NamedLink};
use sojourn_qdisc::{Family, NotAdded, Registry, RegistryError, TcError};
use sojourn_quic::Stack;
use sojourn_results::{EngineId, Run};
use sojourn_transport::cc::{
    AddError, AnyCongestionControl, CongestionControl, Info, Registry as Controls,
};
use sojourn_transport::stack::{PragueVersion, TcpQuirks};
use std::sync::Arc;

pub use flow::FlowState;
pub use foresee::PACKET_BYTES;
pub use network::HandedOut;
pub use packet::PacketBox;
pub use run::{FlowSnapshot, QueueSnapshot, Simulation, Snapshot};
pub use sojourn_qdisc::{Discipline, disciplines};

/// The simulator, with the queue disciplines, congestion controls, path elements and applications that it knows.
#[derive(Clone, Debug, Default)]
pub struct Sim {
    known: Known,
}

impl Sim {
    /// With the disciplines of [`sojourn_qdisc`], the congestion controls of [`sojourn_transport`], the path elements of
    /// [`sojourn_path`] and the applications here.
    pub fn new() -> Self {
        Self::default()
    }

    /// And with this one, by the name in its table.
    ///
    /// # Errors
    /// The name is taken or no word, or the table contradicts itself.
    pub fn with_qdisc<F: Family>(mut self) -> Result<Self, RegistryError> {
        self.known.qdiscs.add::<F>()?;
        Ok(self)
    }

    /// With these disciplines and no others: for those of [`Registry::add_entry`].
    pub fn with_registry(qdiscs: Registry<PacketBox>) -> Self {
        Self { known: Known { qdiscs, ..Known::default() } }
    }

    /// With these congestion controls and no others.
    #[must_use]
    pub fn with_controls(self, controls: Controls) -> Self {
        Self { known: Known { controls, ..self.known } }
    }

    /// And with this path element, by the name in its table: `middlebox = { words = "NAME …" }` of an `[[hop.element]]` asks
    /// for it.
    ///
    /// # Errors
    /// The name is taken or no word, or the table contradicts itself.
    pub fn with_element<E: NamedElement>(mut self) -> Result<Self, NotAdded> {
        self.known.elements.add::<E>()?;
        Ok(self)
    }

    /// And with this link, by the name in its table: `link = "NAME …"` of a hop asks for it.
    ///
    /// # Errors
    /// The name is taken or no word, or the table contradicts itself.
    pub fn with_link<L: NamedLink>(mut self) -> Result<Self, NotAdded> {
        self.known.elements.add_link::<L>()?;
        Ok(self)
    }

    /// And with this application, by the name in its table: `app = "NAME …"` of a `[[flow]]` asks for it.
    ///
    /// # Errors
    /// The name is taken or no word, or the table contradicts itself.
    pub fn with_app<A: NamedApp>(mut self) -> Result<Self, NotAdded> {
        self.known.apps.add::<A>()?;
        Ok(self)
    }

    /// The path elements that it knows by name. Whoever checks the words of an experiment before it runs asks this, too.
    pub const fn elements(&self) -> &Elements {
        &self.known.elements
    }

    /// The applications that it knows by name. Whoever checks the words of an experiment before it runs asks this, too.
    pub const fn apps(&self) -> &Apps {
        &self.known.apps
    }

    /// And with this congestion control ([`Registry::add`](Controls::add)).
    ///
    /// # Errors
    /// Its name is taken, or no word.
    pub fn with_control(
        mut self,
        info: Info,
        make: impl Fn(&TcpQuirks) -> AnyCongestionControl + Send + Sync + 'static,
    ) -> Result<Self, AddError> {
        self.known.controls.add(info, make)?;
        Ok(self)
    }

    /// The congestion controls that it knows. Whoever checks the words of an experiment before it runs asks this, too.
    pub const fn controls(&self) -> &Controls {
        &self.known.controls
    }

    /// A run at its beginning, which is then advanced step by step; its packets are captured if somebody wants them.
    ///
    /// # Errors
    /// What does not hold together in the scenario, what the simulator cannot run of it; a capture file that cannot be
    /// made.
    pub fn begin(
        &self,
        scenario: &Scenario,
        capture: Option<&Capture>,
    ) -> Result<Simulation, RunError> {
        scenario.check()?;
        let refusals = self.refuse(scenario);
        if !refusals.is_empty() {
            return Err(RunError::Refused(refusals));
        }
        Simulation::build(scenario.clone(), &self.known, capture)
    }

    /// A run at its beginning round hosts that are elsewhere, those of flows that are by a kernel. Whoever runs these hosts
    /// keeps time with it ([`Simulation::next_event`], [`Simulation::send_frame`], [`Simulation::take_frame`]) and has asked
    /// [`Sim::refuse_around`].
    ///
    /// # Errors
    /// As [`Sim::begin`].
    pub fn begin_around(
        &self,
        scenario: &Arc<Scenario>,
        capture: Option<&Capture>,
    ) -> Result<Simulation, RunError> {
        Simulation::build(Arc::clone(scenario), &self.known, capture)
    }

    /// What the simulator cannot run of a scenario apart from the hosts of flows that are by a kernel.
    pub fn refuse_around(&self, scenario: &Scenario) -> Vec<Unsupported> {
        let is_elsewhere = |place: &Place| {
            let Place::Flow(name) = place else { return false };
            let flow = scenario.flows.iter().find(|flow| flow.name == *name);
            flow.is_some_and(|flow| flow.by == Some(By::Kernel))
        };
        let mut refusals = self.refuse(scenario);
        refusals.retain(|refusal| !is_elsewhere(&refusal.place));
        refusals
    }

    /// The disciplines that it knows. Whoever checks the words of an experiment before it runs asks this too.
    pub const fn qdiscs(&self) -> &Registry<PacketBox> {
        &self.known.qdiscs
    }

    /// What of a scenario names a path element or an application that is not known, or gives it options that it does not
    /// have: one that was read back from a file has passed no check of words.
    fn refuse_words(&self, scenario: &Scenario) -> Vec<Unsupported> {
        let (elements, apps) = (self.known.elements.words(), self.known.apps.words());
        let refusal = |key: &str, words: &str, place: Place, error: TcError| Unsupported {
            what: Feature::Limit(format!("{key} {words}").into()),
            place,
            why: error.message,
            help: error.help.unwrap_or_default(),
        };
        let of_elements = scenario.elements().filter_map(|(path, element)| {
            let Kind::Middlebox(named) = &element.kind else { return None };
            let error = elements.check(&named.words).err()?;
            Some(refusal("middlebox", &named.words, Place::Element(path), error))
        });
        let of_flows = scenario.flows.iter().filter_map(|flow| {
            let Traffic::App(app) = &flow.traffic else { return None };
            let error = apps.check(&app.words).err()?;
            Some(refusal("app", &app.words, Place::Flow(flow.name.clone()), error))
        });
        let links = self.known.elements.link_words();
        let of_links = scenario.disciplines().filter_map(|(path, queue)| {
            let Shaper::Link { link, .. } = queue.shaper else { return None };
            let words = scenario.links.get(link as usize)?;
            let error = links.check(words).err()?;
            Some(refusal("link", words, Place::Element(path), error))
        });
        of_elements.chain(of_links).chain(of_flows).collect()
    }
}

/// A setting or word of a flow by an implementation that this does not have: a scenario that was read back from a file has
/// passed no check of words.
fn refuse_implementation(flow: &Flow) -> Option<Unsupported> {
    let (protocol, name, cc) = match &flow.traffic {
        Traffic::Quic(quic) => ("quic", &quic.stack, &quic.cc),
        Traffic::TcpStack(tcp) => ("tcp", &tcp.stack, &tcp.cc),
        _ => return None,
    };
    let stack = Stack::named(flow.traffic.kind(), name);
    let known = stack.and_then(|stack| stack.control(cc).map(|_| stack));
    let (what, why, help) = match known {
        Err(word) => (format!("{protocol} stack {name}, cc {cc}"), word.message, word.help),
        Ok(stack) => {
            let (setting, why) = match &flow.traffic {
                Traffic::TcpStack(tcp) => stack.refuse_tcp(tcp)?,
                Traffic::Quic(quic) => stack.refuse(quic)?,
                _ => return None,
            };
            let why = format!("{}: {why}", stack.name);
            (format!("{protocol} {setting}"), why, "leave it out".to_owned())
        }
    };
    let place = Place::Flow(flow.name.clone());
    Some(Unsupported { what: Feature::Limit(what.into()), place, why, help })
}

/// The engine's name.
pub const NAME: &str = "sim";

impl Engine for Sim {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    fn facts(&self) -> Facts {
        Facts::new("the simulator", Clock::Simulated, tap::SENDER_PORT)
    }

    fn identity(&self, scenario: &Scenario) -> String {
        scenario.plugins.iter().map(Plugin::identity).collect::<Vec<_>>().join(", ")
    }

    fn capabilities(&self) -> Capabilities {
        let qdiscs =
            self.known.qdiscs.disciplines().iter().map(|d| Feature::Qdisc(d.name.to_owned()));
        let ccs = self.known.controls.names().map(|c| Feature::CongestionControl(c.to_owned()));
        let stacks = sojourn_stacks::STACKS.iter().map(|s| Feature::Stack(s.name.to_owned()));
        let mut able: Capabilities = qdiscs.chain(ccs).chain(stacks).collect();
        // Of these the model has nothing that is not built: the code that does so matches on them exhaustively.
        able.extend(ElementKind::ALL.iter().copied().map(Feature::Element));
        able.extend(RuleKind::ALL.iter().copied().map(Feature::Rewrite));
        able.extend(TunnelProtocol::ALL.iter().copied().map(Feature::Tunnel));
        // Programs of the machine need a kernel.
        let sends = |kind: &TrafficKind| match kind {
            TrafficKind::Program => false,
            TrafficKind::Quic | TrafficKind::TcpStack => sojourn_quic::BUILT_IN,
            _ => true,
        };
        able.extend(TrafficKind::ALL.iter().copied().filter(sends).map(Feature::Traffic));
        able.extend([
            Feature::StateEvents,
            Feature::RelativeEvents,
            Feature::PerFlowDelay,
            Feature::ControlOptions,
            Feature::HostQdisc,
            Feature::Capture,
            Feature::HostNic,
            Feature::HopsBy(By::Sojourn),
            Feature::HostsBy(By::Sojourn),
        ]);
        able
    }

    fn refuse(&self, scenario: &Scenario) -> Vec<Unsupported> {
        let able = self.capabilities();
        let mut refusals = able.refuse(scenario);
        // A host's own queue is no discipline on the path; it has its own refusals below.
        let is_hosts =
            |u: &Unsupported| matches!((&u.place, &u.what), (Place::Flow(_), Feature::Qdisc(_)));
        refusals.retain(|u| !is_hosts(u));
        let nested = |words: &str, stack: &str| {
            self.known.qdiscs.nested(words, &topology::stack(stack).qdisc)
        };
        // What is known without the disciplines, `Scenario::check` has said.
        refusals.extend(scenario.change_in_vain(&nested).map(|impossible| Unsupported {
            what: Feature::Limit("a change of another discipline".into()),
            place: Place::Event(impossible.event),
            why: impossible.why,
            help: impossible.help,
        }));
        let profile = |stack: &str| &topology::stack(stack).qdisc;
        refusals.extend(netem_changes::unsuited(scenario, profile).map(|unsuited| Unsupported {
            what: Feature::Limit("a delay that its netem cannot have".into()),
            place: Place::Event(unsuited.event),
            why: unsuited.why,
            help: "change the netem's words instead: netem = […]".to_owned(),
        }));
        for refusal in &mut refusals {
            if refusal.what == Feature::Traffic(TrafficKind::Program) {
                "programs run on a kernel".clone_into(&mut refusal.why);
                "run it with --engine linux or --engine live".clone_into(&mut refusal.help);
            }
        }
        refusals.extend(self.refuse_words(scenario));
        for flow in &scenario.flows {
            refusals.extend(refuse_implementation(flow));
            let Some(tcp) = flow.traffic.tcp() else { continue };
            let place = || Place::Flow(flow.name.clone());
            if let Some(host) = topology::host_queue(flow) {
                let name = host.name();
                let (why, help) = if name == "fq" {
                    ("of fq the simulator has the pacing alone", "use host_qdisc = \"fq\"")
                } else if !able.has(&Feature::Qdisc(name.to_owned())) {
                    ("the simulator does not have it", "use another, or none")
                } else if scenario.device_of(flow).is_some() {
                    ("its hop's host_nic is the host's device already", "leave one of them out")
                } else {
                    ("", "")
                };
                if !why.is_empty() {
                    refusals.push(Unsupported {
                        what: Feature::Limit(format!("host qdisc {host}").into()),
                        place: place(),
                        why: why.to_owned(),
                        help: help.to_owned(),
                    });
                }
            }
            let of_the_stack = [
                ("slow_start", tcp.slow_start.is_some()),
                ("saved_cwnd", tcp.saved_cwnd.is_some()),
            ];
            for (key, _) in of_the_stack.into_iter().filter(|(_, given)| *given) {
                let control = self.controls().build(&tcp.cc, &topology::stack(&flow.stack).tcp);
                if control.is_ok_and(|control| control.has_cong_control()) {
                    refusals.push(Unsupported {
                        what: Feature::Limit(key.into()),
                        place: place(),
                        why: format!("{} sets its window itself from the start", tcp.control().0),
                        help: "leave it out, or use another congestion control".to_owned(),
                    });
                }
            }
            if tcp.rtt_scaling.is_some() {
                let newest = matches!(
                    topology::stack(&flow.stack).tcp.prague,
                    PragueVersion::V0_7 | PragueVersion::Early0_7
                );
                let why = match (tcp.control().0, newest) {
                    ("prague", false) => continue,
                    ("prague", true) => "the newest Prague always has it by rate, for 25 ms",
                    _ => "only Prague has it",
                };
                refusals.push(Unsupported {
                    what: Feature::Limit("rtt_scaling".into()),
                    place: place(),
                    why: why.to_owned(),
                    help: "leave it out, or use cc = \"prague\" and a stack of 2020 or 2021"
                        .to_owned(),
                });
            }
        }
        refusals
    }

    fn foresee(&self, scenario: &Scenario) -> Option<Foreseen> {
        Some(foresee::foresee(&self.known.qdiscs, &self.known.controls, scenario))
    }

    fn run(&self, scenario: &Arc<Scenario>, watch: &dyn Watch) -> Result<Run, RunError> {
        let capture = watch.capture();
        let simulation = Simulation::build(Arc::clone(scenario), &self.known, capture.as_ref())?;
        let tables = simulation.run(watch)?;
        let engine = EngineId {
            name: NAME.to_owned(),
            version: self.version().to_owned(),
            detail: String::new(),
        };
        Ok(Run { scenario: Arc::clone(scenario), engine, tables, unrecorded: Vec::new() })
    }
}
