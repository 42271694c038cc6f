//! The live engine: experiments with kernel TCP, UDP, pings and programs as hosts.
//!
//! Whatever the host's kernel or the engine lacks is refused by name before anything starts. Hosts run the machine's own
//! kernel, which the result names, so the only stacks are `host` and the default; the latter determines how the queues behave.

use crate::hosts::{CWND, Kernel, MOST_FLOWS};
use crate::kernel_queue::{self, Gate, KernelLink, Wanted};
use crate::lab::{HelperCommand, Lab};
use crate::packet::Packet;
use crate::programs::MOST_PROGRAMS;
use crate::protocol::{Host, Pair, Plan};
use crate::relay::{self, Outcome, Setting};
use crate::{NAME, advice, clock::Clock, control, machine};
use sojourn_engine::programs::{self, End};
use sojourn_engine::tc;
use sojourn_engine::{Capabilities, Clock as Kind, Engine, Facts, RunError, Watch};
use sojourn_model::{
    Action, By, EcnMode, ElementKind, Feature, Flow, Gauge, HOST_STACK, Ip, Place, Program,
    ReceiveWindow, RuleKind, Scenario, Side, Tcp, Traffic, TrafficKind, Unsupported, When,
};
use sojourn_path::Elements;
use sojourn_qdisc::Registry;
use sojourn_results::{EngineId, Run};
use sojourn_units::{Dscp, Span};
use std::borrow::Cow;
use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// From this rate on, hosts hand super-packets over, bit/s: below it the timing of each packet is exact at little cost.
pub(crate) const OFFLOAD_FROM: u64 = 200_000_000;

/// Whether a link of a scenario is so fast that hosts hand super-packets over.
pub(crate) fn is_fast(scenario: &Scenario) -> bool {
    let rates = [Side::Down, Side::Up].map(|side| control::rate(scenario, side));
    rates.iter().flatten().any(|rate| *rate > OFFLOAD_FROM)
}

/// The live engine.
#[derive(Clone, Debug)]
pub struct Live {
    helper: HelperCommand,
    /// Congestion controls of the host's kernel.
    controls: Vec<String>,
    qdiscs: Registry<Packet>,
    spin: bool,
    offload: Option<bool>,
}

impl Live {
    /// On this machine. `helper` starts a process that calls [`crate::helper_main`].
    pub fn new(helper: HelperCommand) -> Self {
        let (controls, qdiscs) = (controls(), Registry::built_in());
        Self { helper, controls, qdiscs, spin: false, offload: None }
    }

    /// The queue disciplines that it knows.
    pub const fn qdiscs(&self) -> &Registry<Packet> {
        &self.qdiscs
    }

    /// With these queue disciplines: those of [`Live::qdiscs`], and others that were added to them.
    #[must_use]
    pub fn with_registry(self, qdiscs: Registry<Packet>) -> Self {
        Self { qdiscs, ..self }
    }

    /// With a relay that never sleeps: it keeps one processor busy, and departures are more exact.
    #[must_use]
    pub fn spinning(self) -> Self {
        Self { spin: true, ..self }
    }

    /// With hosts that hand super-packets over, or do not, whatever the rate.
    #[must_use]
    pub fn with_offload(self, offload: bool) -> Self {
        Self { offload: Some(offload), ..self }
    }

    /// Tries on this machine what a run needs: namespaces, interfaces, packet sockets, routes, a program in them. Returns
    /// what works less well than elsewhere.
    ///
    /// # Errors
    /// The step that the machine refuses.
    pub fn probe(&self) -> Result<Vec<String>, crate::Failure> {
        let control = self.controls.first().cloned();
        let plan = Plan { control, ecn: true, ..Plan::default() };
        let (mut lab, ends) = Lab::open(&self.helper, plan)?;
        let program = lab.start(Host::Client, &["/bin/true".into()], None)?;
        let mut left = 200;
        while lab.exited()?.is_none_or(|(number, _)| number != program) && left > 0 {
            std::thread::sleep(Duration::from_millis(5));
            left -= 1;
        }
        let mut lacking = ends.lacking;
        if left == 0 {
            lacking.push("a program in the namespaces did not end within a second".to_owned());
        }
        Ok(lacking)
    }

    /// The congestion controls that the machine's kernel has loaded or built in.
    pub fn controls(&self) -> &[String] {
        &self.controls
    }
}

/// What the kernel says that it has.
fn controls() -> Vec<String> {
    let file = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let text = fs::read_to_string(file).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// The traffic that the hosts send.
const fn sends(kind: TrafficKind) -> bool {
    use TrafficKind::{Ping, Program, Tcp, Udp};
    matches!(kind, Tcp | Udp | Ping | Program)
}

/// Whether frames can pass an element of this kind: all but tunnels, since frames get no outer headers here.
const fn carries(kind: ElementKind) -> bool {
    !matches!(kind, ElementKind::Encapsulate | ElementKind::Decapsulate)
}

impl Engine for Live {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    fn facts(&self) -> Facts {
        Facts::new("the live engine", Kind::Wall, crate::hosts::SENDER_PORT)
    }

    fn identity(&self, scenario: &Scenario) -> String {
        let plugins = scenario.plugins.iter().map(|plugin| format!(", {}", plugin.identity()));
        machine() + &programs::identity(scenario) + &plugins.collect::<String>()
    }

    fn capabilities(&self) -> Capabilities {
        let qdiscs = self.qdiscs.disciplines().iter().map(|d| Feature::Qdisc(d.name.to_owned()));
        let controls = self.controls.iter().cloned().map(Feature::CongestionControl);
        // Without the key, an experiment has the default.
        let stacks = [HOST_STACK, sojourn_stacks::DEFAULT].map(|s| Feature::Stack(s.to_owned()));
        let mut able: Capabilities = qdiscs.chain(controls).chain(stacks).collect();
        able.extend(ElementKind::ALL.iter().copied().filter(|k| carries(*k)).map(Feature::Element));
        able.extend(RuleKind::ALL.iter().copied().map(Feature::Rewrite));
        able.extend(TrafficKind::ALL.iter().copied().filter(|k| sends(*k)).map(Feature::Traffic));
        able.extend([
            Feature::HopsBy(By::Kernel),
            Feature::HopsBy(By::Sojourn),
            Feature::HostsBy(By::Kernel),
            Feature::PerFlowDelay,
            Feature::Capture,
            Feature::RelativeEvents,
            Feature::StateEvents,
        ]);
        able
    }

    fn refuse(&self, scenario: &Scenario) -> Vec<Unsupported> {
        let mut refusals = self.capabilities().refuse(scenario);
        for refusal in &mut refusals {
            self.explain(refusal);
        }
        refusals.extend(self.refuse_queues(scenario));
        let mut limit = |what: Cow<'static, str>, place: Place, why: &str, help: &str| {
            let (why, help) = (why.to_owned(), help.to_owned());
            refusals.push(Unsupported { what: Feature::Limit(what), place, why, help });
        };
        if scenario.flows.len() > MOST_FLOWS {
            limit("more than 200 flows".into(), Place::Flows, "each has sockets of its own", "");
        }
        if programs::programs(scenario).count() > MOST_PROGRAMS {
            let why = "each has two namespaces of its own, in which the relay looks for packets";
            limit("more than 16 flows of programs".into(), Place::Flows, why, "");
        }
        for (when, place) in times(scenario) {
            if let When::State { gauge: Gauge::Flow { flow, name }, .. } = when
                && !shows(scenario, flow, name)
            {
                let why = "a kernel shows a TCP sender's cwnd, and no other number of a flow";
                let help = "wait for cwnd or for a queue's number, or run it with --engine sim";
                limit(format!("{name} of flow {flow}").into(), place, why, help);
            }
        }
        for flow in &scenario.flows {
            let place = || Place::Flow(flow.name.clone());
            if let Traffic::Program(program) = &flow.traffic {
                for (what, why, help) in of_program(flow, program) {
                    limit(what, place(), why, help);
                }
            } else if flow.ip == Ip::V6 {
                limit("ip v6".into(), place(), "the hosts' flows use version 4", "leave ip out");
            }
            if let Traffic::Tcp(tcp) = &flow.traffic {
                for (what, why, help) in of_tcp(tcp) {
                    limit(what.into(), place(), why, help);
                }
            }
        }
        refusals
    }

    fn run(&self, scenario: &Arc<Scenario>, watch: &dyn Watch) -> Result<Run, RunError> {
        let offload = self.offload.unwrap_or_else(|| is_fast(scenario));
        let failed = |failure: crate::Failure| RunError::Environment {
            help: advice::help(&failure),
            why: failure.to_string(),
        };
        let plan = Plan { offload, ..Plan::default() };
        let (mut lab, ends) = Lab::open(&self.helper, plan).map_err(failed)?;
        let (mut links, mut pairs) = (vec![ends.links], Vec::new());
        let mut pair_of = vec![0; scenario.flows.len()];
        for (number, flow) in scenario.flows.iter().enumerate() {
            if let Traffic::Program(_) = flow.traffic {
                let addresses = addresses(number, flow.ip);
                let ends = lab.pair(Pair { addresses, offload }).map_err(failed)?;
                pair_of[number] = links.len();
                links.push(ends.links);
                pairs.push(ends.sockets);
            }
        }
        let clock = Clock::start();
        let mut registry = self.qdiscs.clone();
        let queues = queues(&mut lab, scenario, clock).map_err(failed)?;
        kernel_queue::add(&mut registry, &queues).map_err(|why| {
            RunError::Failed(format!("the discipline that stands for the kernel's: {why}"))
        })?;
        let carried = kernel_queue::carried(scenario);
        let mut traffic = Kernel::new(scenario, lab, clock, pairs).map_err(failed)?;
        let elements = Elements::built_in();
        let setting = Setting {
            scenario,
            carried: &carried,
            queues: &queues,
            registry: &registry,
            elements: &elements,
            links,
            pair_of,
            offload,
            super_packets: offload,
            spin: self.spin,
            capture: watch.capture(),
            clock,
        };
        let outcome = relay::run(&setting, &mut traffic, watch);
        let fault = traffic.fault();
        drop(traffic);
        let Outcome { tables, .. } = outcome?;
        if let Some(fault) = fault {
            return Err(fault);
        }
        let engine = EngineId {
            name: NAME.to_owned(),
            version: self.version().to_owned(),
            detail: machine(),
        };
        Ok(Run { scenario: Arc::clone(scenario), engine, tables, unrecorded: Vec::new() })
    }
}

/// The queues by the kernel of a scenario, in the relay's namespace.
fn queues(
    lab: &mut Lab,
    scenario: &Scenario,
    clock: Clock,
) -> Result<Vec<KernelLink>, crate::Failure> {
    let wanted = Wanted::of(scenario).into_iter().enumerate();
    let made = wanted.map(|(number, wanted)| {
        let (back, out) = lab.queue(number, &wanted.words)?;
        let gate = Gate::new(out, clock, wanted.queue.qdisc.to_string());
        Ok(KernelLink { path: wanted.path, back, gate })
    });
    made.collect()
}

impl Live {
    /// What stands against the queues by the kernel of a scenario: shapers that no kernel has, changes while it runs, and
    /// what this machine's kernel does not take when it is tried.
    fn refuse_queues(&self, scenario: &Scenario) -> Vec<Unsupported> {
        let wanted = Wanted::of(scenario);
        let mut refusals = Vec::new();
        let mut limit = |what: String, place: Place, why: &str, help: &str| {
            let (why, help) = (why.to_owned(), help.to_owned());
            refusals.push(Unsupported { what: Feature::Limit(what.into()), place, why, help });
        };
        for wanted in &wanted {
            if let Some((what, why, help)) = tc::unlike(&wanted.queue.shaper) {
                limit(what.to_owned(), Place::Element(wanted.path.clone()), why, help);
            }
        }
        for event in &scenario.events {
            let of_them = |element: &str| wanted.iter().any(|w| w.path == element);
            if event.actions.iter().filter_map(Action::element).any(of_them) {
                let why = "the relay does not change the kernel's queues";
                let help = "write by = \"sojourn\" in the hop";
                let place = Place::Event(event.name.clone());
                limit("changes of a queue by the kernel".to_owned(), place, why, help);
            }
        }
        if !refusals.is_empty() || wanted.is_empty() {
            return refusals;
        }
        // If there are no namespaces, the run says why.
        let Ok((mut lab, _)) = Lab::open(&self.helper, Plan::default()) else { return refusals };
        for (number, wanted) in wanted.into_iter().enumerate() {
            if let Err(failure) = lab.queue(number, &wanted.words) {
                let name = wanted.queue.qdisc.name();
                let get = match failure.errno {
                    libc::ENOENT => "install iproute2, which has tc".to_owned(),
                    _ => format!("as root: modprobe sch_{name}"),
                };
                refusals.push(Unsupported {
                    what: Feature::Limit(format!("{name} by the kernel").into()),
                    place: Place::Element(wanted.path),
                    why: format!("this machine's kernel does not take it: {failure}"),
                    help: format!("{get}; or write by = \"sojourn\" in the hop"),
                });
            }
        }
        refusals
    }

    /// Says of a missing feature what would provide it.
    fn explain(&self, refusal: &mut Unsupported) {
        let (why, help) = match &refusal.what {
            Feature::CongestionControl(name) => (
                format!("this machine's kernel has {}", self.controls.join(", ")),
                if name.starts_with("python:") {
                    "a kernel runs no Python: --engine sim".to_owned()
                } else {
                    format!("as root: modprobe tcp_{name}; or --engine sim")
                },
            ),
            Feature::Stack(_) => (
                "its hosts run this machine's kernel, whatever a stack says".to_owned(),
                "write stack = \"host\" or leave it out, or run it with --engine sim or linux"
                    .to_owned(),
            ),
            _ => return,
        };
        (refusal.why, refusal.help) = (why, help);
    }
}

/// Every point in time that waits for something, and the place that states it.
fn times(scenario: &Scenario) -> impl Iterator<Item = (&When, Place)> {
    let events = scenario.events.iter().map(|e| (&e.when, Place::Event(e.name.clone())));
    let phases = scenario.phases.iter().flat_map(|phase| {
        [&phase.from, &phase.to].map(|when| (when, Place::Phase(phase.name.clone())))
    });
    events.chain(phases)
}

/// Whether a flow's number can be waited for.
fn shows(scenario: &Scenario, flow: &str, name: &str) -> bool {
    let is_tcp = |flow: &Flow| matches!(flow.traffic, Traffic::Tcp(_));
    name == CWND && scenario.flow(flow).is_some_and(is_tcp)
}

/// The addresses of the hosts of a flow of programs.
fn addresses(flow: usize, ip: Ip) -> [IpAddr; 2] {
    let of = |end| programs::address(flow, end, ip).parse();
    [End::Server, End::Client].map(|end| of(end).expect("it is an address"))
}

/// What of a flow of programs cannot be here.
fn of_program(
    flow: &Flow,
    program: &Program,
) -> Vec<(Cow<'static, str>, &'static str, &'static str)> {
    const CPU: Span = Span::from_secs(60);
    let missing = programs::missing(program).into_iter().map(|(end, word)| {
        (
            format!("the {end} {word}").into(),
            "this machine has no such program, or none that a flow sees (it has a /tmp of its own)",
            "install it, write the whole path where it is, or put it into files and write ./NAME",
        )
    });
    let set = [
        (
            flow.dscp != Dscp::BEST_EFFORT,
            "a DSCP",
            "a program chooses the DSCP of its packets",
            "tell the program, or use a rewriter",
        ),
        (
            program.cpu_limit < CPU,
            "cpu_limit",
            "this machine's clock goes on whatever a program computes",
            "leave it out, and say within how long the client may run",
        ),
        (
            flow.ip == Ip::V6 && !Path::new("/proc/net/if_inet6").exists(),
            "ip v6",
            "this machine has IPv6 switched off",
            "use ip = 4",
        ),
    ];
    let set = set.into_iter().filter(|(is, ..)| *is);
    missing.chain(set.map(|(_, what, why, help)| (what.into(), why, help))).collect()
}

/// What of a connection's settings the kernel cannot be asked for from here.
fn of_tcp(tcp: &Tcp) -> Vec<(&'static str, &'static str, &'static str)> {
    let leave = "leave it out, or run it with --engine linux";
    let set = [
        (tcp.codepoint.is_some(), "codepoint", "the congestion control chooses it"),
        (tcp.app_rate.is_some(), "app_rate", "senders write as fast as they may"),
        (tcp.initial_window.is_some(), "initial_window", "it is the kernel's"),
        (tcp.receive_window != ReceiveWindow::Autotune, "receive_window", "it is the kernel's"),
        (tcp.ignore_ce, "ignore_ce", "no kernel does"),
        (tcp.slow_start.is_some(), "slow_start", "the congestion control has its own"),
        (tcp.saved_cwnd.is_some(), "saved_cwnd", "no kernel has Careful Resume"),
        (tcp.rate_limited_increase, "rate_limited_increase", "the kernel has its own rule"),
        (tcp.rtt_scaling.is_some(), "rtt_scaling", "it is a module's parameter"),
        (tcp.rtt_target.is_some(), "rtt_target", "it is a module's parameter"),
        (tcp.ecn == EcnMode::AccEcn, "ecn accecn", "the namespaces ask for RFC 3168's ECN"),
        (tcp.ecn == EcnMode::Sce, "ecn sce", "no mainline kernel has it"),
    ];
    set.into_iter().filter(|(is, ..)| *is).map(|(_, what, why)| (what, why, leave)).collect()
}
