//! Linux itself as an engine: the kernel's own TCP and queue disciplines in a guest with a clock that jumps from timer
//! to timer. `docs/linux-engine.md` says how it works and what its limits are.
//!
//! A scenario becomes a plan ([`plan`]): namespaces, tc's words, flows, and what these do by the clock alone ([`lists`]);
//! decisions that depend on a flow's input are made here, too, while the guest waits (`asked`). A guest ([`guest`])
//! carries it out; its agent writes samples ([`samples`]) and the stamps of every packet on both sides of every queue
//! ([`stamps`]); from these come the same tables as the simulator's ([`record`]).
//!
//! Invariants: the guest cannot outlive the run, nor this process; nothing outside the run's own folder is
//! written; the plan depends on the scenario alone; a scenario that needs more than the kernel or the machine has is
//! refused before anything runs.

mod addresses;
mod around;
mod asked;
mod bypass;
pub mod cache;
mod captures;
mod cores;
pub mod guest;
mod host_queues;
pub mod lists;
mod middleboxes;
mod netems;
mod patience;
mod places;
pub mod plan;
pub mod ports;
pub mod probe;
mod programs;
mod queues;
mod record;
mod refuse;
mod rewrite;
pub mod samples;
mod schedule;
pub mod stamps;
mod statistics;
pub mod tools;
pub mod tunnels;

pub use cache::{Kernel, UnknownKernel};

use plan::Wires;
use sojourn_capture::Point;
use sojourn_engine::{Capabilities, Clock, Engine, Facts, RunError, Watch};
use sojourn_model::{By, ElementKind, Feature, RuleKind, Scenario, TrafficKind, Unsupported};
use sojourn_results::{EngineId, Run, Table};
use sojourn_sim::Sim;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Linux in virtual time.
#[derive(Clone, Debug)]
pub struct Linux {
    kernels: Vec<Kernel>,
    /// The one that was chosen, by its place among them; each stack's own unless it was.
    chosen: Option<usize>,
    /// The folder of the kernels and programs, or why it is unknown.
    cache: Result<PathBuf, String>,
    /// Carries out hops and hosts that are by Sojourn.
    sim: Sim,
    /// Whether guests that can share the calendar's memory do.
    sharing: bool,
}

/// The engine's name.
pub const NAME: &str = "linux";

impl Linux {
    /// With the kernels that are in the user's cache.
    pub fn new() -> Self {
        let cache = cache::folder();
        let kernels = cache.as_deref().map(cache::kernels).unwrap_or_default();
        Self { kernels, chosen: None, cache, sim: Sim::new(), sharing: true }
    }

    /// With these kernels, and the programs that are in the user's cache.
    pub fn with_kernels(kernels: Vec<Kernel>) -> Self {
        Self { kernels, chosen: None, cache: cache::folder(), sim: Sim::new(), sharing: true }
    }

    /// With this simulator between its kernels, and what was added to it.
    #[must_use]
    pub fn with_sim(self, sim: Sim) -> Self {
        Self { sim, ..self }
    }

    /// With kernels that keep their time by messages alone, as those before 6.11 do: the same results, at twice the cost.
    #[must_use]
    pub fn by_messages(self) -> Self {
        Self { sharing: false, ..self }
    }

    /// On this kernel, by its name, its id or its hash.
    ///
    /// # Errors
    ///
    /// If there is none that is called so.
    pub fn on(self, word: &str) -> Result<Self, UnknownKernel> {
        let found = cache::named(&self.kernels, word)?;
        let chosen = self.kernels.iter().position(|kernel| kernel == found);
        Ok(Self { chosen, ..self })
    }

    /// The kernels.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// The kernel that was chosen, if it stands for a stack; where none was, the one that does
    /// ([`cache::standing_for`]).
    pub fn kernel(&self, stack: &str) -> Option<&Kernel> {
        match self.chosen {
            Some(chosen) => self.kernels.get(chosen).filter(|kernel| kernel.is_of(stack)),
            None => cache::standing_for(&self.kernels, stack),
        }
    }

    /// The kernels that may run something: the chosen one, or all.
    pub fn able(&self) -> &[Kernel] {
        match self.chosen {
            Some(chosen) => &self.kernels[chosen..=chosen],
            None => &self.kernels,
        }
    }
}

impl Default for Linux {
    fn default() -> Self {
        Self::new()
    }
}

/// The programs that know everything in this scenario, as far as there are such.
fn programs(cache: &Path, scenario: &Scenario) -> Result<tools::Programs, String> {
    let names: Vec<String> =
        refuse::disciplines(scenario).into_iter().map(|(name, _)| name).collect();
    tools::Programs::knowing(cache, &names).map(|(programs, _)| programs)
}

/// Whether a namespace can have elements of this kind on its path.
const fn has(kind: ElementKind) -> bool {
    match kind {
        ElementKind::Netem | ElementKind::Queue | ElementKind::Rewrite | ElementKind::Policer => {
            true
        }
        ElementKind::Encapsulate
        | ElementKind::Decapsulate
        | ElementKind::AggregatingLink
        | ElementKind::Wifi
        | ElementKind::Middlebox => false,
    }
}

/// Whether the agent sends traffic of this kind.
const fn sends(kind: TrafficKind) -> bool {
    match kind {
        TrafficKind::Tcp
        | TrafficKind::Udp
        | TrafficKind::Ping
        | TrafficKind::Voip
        | TrafficKind::Video
        | TrafficKind::OnOff
        | TrafficKind::Irtt
        | TrafficKind::ShortFlows
        | TrafficKind::Streaming
        | TrafficKind::Program => true,
        TrafficKind::Quic | TrafficKind::TcpStack | TrafficKind::App => false,
    }
}

/// What these kernels have, and the engine with them.
fn capabilities(kernels: &[Kernel]) -> Capabilities {
    let qdiscs = kernels.iter().flat_map(|k| k.qdiscs.iter().cloned()).map(Feature::Qdisc);
    let ccs = kernels.iter().flat_map(|k| k.ccs.iter().cloned()).map(Feature::CongestionControl);
    let stacks = kernels.iter().map(|k| Feature::Stack(k.stack()));
    let mut able: Capabilities = qdiscs.chain(ccs).chain(stacks).collect();
    able.extend(ElementKind::ALL.iter().copied().filter(|k| has(*k)).map(Feature::Element));
    // `rewrite` has each of them.
    able.extend(RuleKind::ALL.iter().copied().map(Feature::Rewrite));
    able.extend(TrafficKind::ALL.iter().copied().filter(|k| sends(*k)).map(Feature::Traffic));
    able.extend([
        Feature::PerFlowDelay,
        Feature::HostQdisc,
        Feature::RelativeEvents,
        Feature::Capture,
    ]);
    for by in By::ALL {
        able.extend([Feature::HopsBy(*by), Feature::HostsBy(*by)]);
    }
    able
}

/// The simulator's tables with those of a kernel's flows.
fn together(simulated: Vec<Table>, mut own: Vec<Table>) -> Vec<Table> {
    let mut all: Vec<Table> = simulated
        .into_iter()
        .map(|table| {
            let name = table.schema().name;
            let Some(place) = own.iter().position(|other| other.schema().name == name) else {
                return table;
            };
            let both = table.followed_by(&own.remove(place));
            // Those that are written step by step.
            let is_timed = matches!(name, "flows" | "flow_state" | "limits" | "events");
            if is_timed { both.in_order_of("t_s") } else { both }
        })
        .collect();
    all.append(&mut own);
    all
}

impl Engine for Linux {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    fn facts(&self) -> Facts {
        Facts::new("Linux", Clock::Virtual, ports::SENDER_PORT as u16).with_kernels()
    }

    /// The kernels, and the plans with the programs that carry them out. A scenario with a guest that is refused has none. The
    /// simulator's refusals do not count: the caller may not have loaded the plugins that it runs.
    fn identity(&self, scenario: &Scenario) -> String {
        let is_around = around::is_around(scenario);
        let refused = if is_around {
            !self.refuse_guests(&around::decided(scenario)).is_empty()
        } else {
            !self.refuse(scenario).is_empty()
        };
        if refused {
            return String::new();
        }
        let of = |scenario: &Scenario, wires: Wires<'_>| -> Option<String> {
            let (kernel, cache) = (self.kernel(&scenario.stack)?, self.cache.as_deref().ok()?);
            let programs = programs(cache, scenario).ok()?;
            let plan =
                sojourn_engine::programs::fnv1a(&plan::Plan::new(scenario, &programs, wires).text);
            let programs = programs::identity(scenario);
            Some(format!("kernel {}, plan {plan:016x}{programs}", kernel.id()))
        };
        if !is_around {
            return of(scenario, Wires::Pairs).unwrap_or_default();
        }
        let decided = around::decided(scenario);
        let tunnels = tunnels::of(&decided);
        let own = around::stacks(&decided).into_iter().map(|stack| {
            let own = around::of_kernel(&decided, &stack, self.kernel(&stack));
            let own_flow = |flow: usize| around::is_own(&own.flows[flow]);
            let tunnels = tunnels::of_guest(&tunnels, own_flow);
            of(&own, Wires::Cards(&tunnels)).unwrap_or_default()
        });
        let plugins = self.sim.identity(scenario);
        own.chain((!plugins.is_empty()).then_some(plugins)).collect::<Vec<_>>().join(", ")
    }

    /// What some kernel has; one scenario runs on one of them, and may be refused still.
    fn capabilities(&self) -> Capabilities {
        capabilities(self.able())
    }

    fn refuse(&self, scenario: &Scenario) -> Vec<Unsupported> {
        if !around::is_around(scenario) {
            return refuse::refuse(&self.here(&scenario.stack).as_here(), scenario);
        }
        let decided = around::decided(scenario);
        let mut refusals = self.sim.refuse_around(&tunnels::without(&decided));
        for refusal in self.refuse_guests(&decided) {
            if !refusals.contains(&refusal) {
                refusals.push(refusal);
            }
        }
        refusals
    }

    fn run(&self, scenario: &Arc<Scenario>, watch: &dyn Watch) -> Result<Run, RunError> {
        let cache = self.cache.as_deref().map_err(|why| RunError::Failed(why.clone()))?;
        let agent = tools::agent(cache).map_err(RunError::Failed)?;
        let (kernels, tables, unrecorded) = if around::is_around(scenario) {
            let (kernels, tables) = self.run_around(cache, &agent, scenario, watch)?;
            (kernels, tables, Vec::new())
        } else {
            let kernel = self.kernel_of(&scenario.stack)?;
            let (tables, unrecorded) = within(kernel, cache, &agent, scenario, watch)?;
            (vec![kernel], tables, unrecorded)
        };
        let detail =
            kernels.iter().map(|k| format!("kernel {}, configuration {}", k.id(), k.config));
        let engine = EngineId {
            name: NAME.to_owned(),
            version: self.version().to_owned(),
            detail: detail.collect::<Vec<_>>().join("; "),
        };
        Ok(Run { scenario: Arc::clone(scenario), engine, tables, unrecorded })
    }
}

/// A run in which everything is within one kernel: the tables, and what it could not record.
fn within(
    kernel: &Kernel,
    cache: &Path,
    agent: &tools::Agent,
    scenario: &Scenario,
    watch: &dyn Watch,
) -> Result<(Vec<Table>, Vec<Unsupported>), RunError> {
    let programs = programs(cache, scenario).map_err(RunError::Failed)?;
    let plan = plan::Plan::new(scenario, &programs, Wires::Pairs);
    let capture = watch.capture();
    let points = capture.as_ref().map_or_else(Vec::new, |_| Point::all(scenario));
    let kept = capture
        .as_ref()
        .map_or_else(String::new, |wish| plan::captures(scenario, &points, captures::snap(wish)));
    let text = format!("{}{kept}", plan.text);
    let outcome = guest::run(kernel, agent, &text, &plan, scenario, watch)?;
    if let Some(wish) = &capture {
        captures::write(wish, &points, scenario, outcome.stamps.folder())?;
    }
    let tables = record::tables(scenario, &plan, &outcome)?;
    Ok((tables, plan.unrecorded))
}

/// The kernel that runs a stack, and everything that it has.
struct There<'a> {
    linux: &'a Linux,
    kernel: Option<&'a Kernel>,
    able: Capabilities,
}

impl<'a> There<'a> {
    fn as_here(&'a self) -> refuse::Here<'a> {
        let linux = self.linux;
        refuse::Here {
            engine: NAME,
            kernels: &linux.kernels,
            chosen: linux.chosen.map(|chosen| &linux.kernels[chosen]),
            kernel: self.kernel,
            cache: linux.cache.as_deref().map_err(String::as_str),
            able: &self.able,
        }
    }
}

impl Linux {
    fn here(&self, stack: &str) -> There<'_> {
        let kernel = self.kernel(stack);
        let able = capabilities(kernel.map(std::slice::from_ref).unwrap_or_default());
        There { linux: self, kernel, able }
    }

    /// What is refused of a decided scenario for its guests: how it is divided, and what each kernel has.
    fn refuse_guests(&self, decided: &Scenario) -> Vec<Unsupported> {
        let mut refusals = refuse::divided(decided);
        let tunnels = tunnels::of(decided);
        for stack in around::stacks(decided) {
            let own = around::of_kernel(decided, &stack, self.kernel(&stack));
            let here = self.here(&stack);
            let own_flow = |flow: usize| around::is_own(&own.flows[flow]);
            let tunnels = tunnels::of_guest(&tunnels, own_flow);
            for refusal in refuse::of_guest(&here.as_here(), &own, &tunnels) {
                if !refusals.contains(&refusal) {
                    refusals.push(refusal);
                }
            }
        }
        refusals
    }

    fn kernel_of(&self, stack: &str) -> Result<&Kernel, RunError> {
        self.kernel(stack).ok_or_else(|| RunError::Failed(format!("no kernel for {stack}")))
    }

    /// A run in which kernels are the hosts of flows, and the simulator what is between them: the kernels, and the tables.
    fn run_around(
        &self,
        cache: &Path,
        agent: &tools::Agent,
        scenario: &Scenario,
        watch: &dyn Watch,
    ) -> Result<(Vec<&Kernel>, Vec<Table>), RunError> {
        let decided = Arc::new(around::decided(scenario));
        let stacks = around::stacks(&decided);
        let kernels = stacks.iter().map(|stack| self.kernel_of(stack));
        let kernels: Vec<&Kernel> = kernels.collect::<Result<_, _>>()?;
        let guests = stacks.iter().zip(&kernels);
        let guests: Vec<around::Guest> =
            guests.map(|(stack, kernel)| around::Guest::new(&decided, stack, kernel)).collect();
        let carded = kernels.iter().zip(&guests).map(|(kernel, guest)| {
            let own = guest.own.clone();
            let programs = programs(cache, &own).map_err(RunError::Failed)?;
            let plan = plan::Plan::new(&own, &programs, Wires::Cards(&guest.tunnels));
            let mtu = (!guest.tunnels.is_empty()).then_some(tunnels::CARD_MTU);
            Ok(guest::Carded { kernel, plan, own, mtu })
        });
        let carded: Vec<guest::Carded<'_>> = carded.collect::<Result<_, RunError>>()?;
        let path = Arc::new(tunnels::without(&decided));
        let simulation = self.sim.begin_around(&path, watch.capture().as_ref())?;
        let mut world = around::Around::new(simulation, (&decided, &stacks), guests, watch);
        let mut left = guest::run_around(agent, &carded, self.sharing, &mut world, watch)?;
        let mut samples: Vec<_> = left.iter_mut().map(|(samples, _)| samples).collect();
        around::join_ends(&decided, &stacks, &mut samples);
        let (simulation, guests) = world.into_parts();
        let mut tables = simulation.finish()?;
        for ((guest, carded), (samples, answers)) in guests.iter().zip(&carded).zip(&left) {
            let (own, plan) = (&carded.own, &carded.plan);
            let more = record::own_tables(own, plan, &guest.trace, samples, answers.as_ref());
            tables = together(tables, more);
        }
        Ok((kernels, tables))
    }
}
