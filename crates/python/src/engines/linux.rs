//! Linux in virtual time, and the needs of its runs.
//!
//! The simulator estimates how many packets a scenario sends: that follows from rates, times, sizes and windows, which
//! are the same there. A guest's cost of a packet was measured (docs/performance.md, "What a run will need"): the time
//! to boot, a time a packet, and a time a flow and virtual second, in which the agent asks each socket twenty times.

use sojourn_engine::{Capabilities, Engine, Facts, Foreseen, Memory, Registry, RunError, Watch};
use sojourn_linux::{Linux, NAME};
use sojourn_model::{By, Scenario, Traffic, Unsupported};
use sojourn_results::Run;
use sojourn_sim::Sim;
use std::sync::Arc;

/// CPU time of a run that does nothing, s: the guest's boot and end, the tables stored.
const RUN_S: f64 = 0.5;
/// CPU time of a data packet and its half acknowledgement, s.
const PACKET_S: f64 = 6.2e-6;
/// The same round the simulator's hops: each packet leaves the guest by a card and comes back by another.
const PACKET_ROUND_S: f64 = 80e-6;
/// CPU time of a flow in a virtual second, s.
const FLOW_S: f64 = 0.9e-3;

/// Bytes of a guest that has booted.
const GUEST_BYTES: f64 = 40e6;
/// Bytes of a full packet in the kernel: its data in a fragment of 2 kB, its head and the `sk_buff`.
const PACKET_BYTES: f64 = 2816.0;

/// Adds it.
pub(super) fn add(engines: &mut Registry, sim: &Sim) {
    let sim = sim.clone();
    engines.add(NAME, version!("LINUX_SOURCES"), move || Foreseeing::new(Linux::new(), &sim));
}

/// Linux, which the simulator tells how many packets there will be.
pub(super) struct Foreseeing {
    linux: Linux,
    sim: Sim,
}

impl Foreseeing {
    /// This one.
    pub(super) fn new(linux: Linux, sim: &Sim) -> Self {
        Self { linux: linux.with_sim(sim.clone()), sim: sim.clone() }
    }
}

#[deny(clippy::missing_trait_methods, reason = "methods not forwarded would run the default")]
impl Engine for Foreseeing {
    fn name(&self) -> &str {
        self.linux.name()
    }

    fn version(&self) -> &str {
        self.linux.version()
    }

    fn facts(&self) -> Facts {
        self.linux.facts()
    }

    fn identity(&self, scenario: &Scenario) -> String {
        self.linux.identity(scenario)
    }

    fn capabilities(&self) -> Capabilities {
        self.linux.capabilities()
    }

    fn refuse(&self, scenario: &Scenario) -> Vec<Unsupported> {
        self.linux.refuse(scenario)
    }

    /// None where a program sends: how much it has to say, only it knows.
    fn foresee(&self, scenario: &Scenario) -> Option<Foreseen> {
        if scenario.flows.iter().any(|flow| matches!(flow.traffic, Traffic::Program(_))) {
            return None;
        }
        let simulated = self.sim.foresee(scenario)?;
        let length = scenario.length().as_secs_f64();
        let asked: f64 = scenario.flows.iter().map(|_| length).sum();
        let round = scenario.hops.iter().any(|hop| hop.by == Some(By::Sojourn));
        let packet_s = if round { PACKET_ROUND_S } else { PACKET_S };
        Some(Foreseen {
            cpu_s: RUN_S + simulated.packets * packet_s + asked * FLOW_S,
            memory: Memory {
                packets: GUEST_BYTES
                    + simulated.memory.packets / sojourn_sim::PACKET_BYTES * PACKET_BYTES,
                ..simulated.memory
            },
            ..simulated
        })
    }

    fn run(&self, scenario: &Arc<Scenario>, watch: &dyn Watch) -> Result<Run, RunError> {
        self.linux.run(scenario, watch)
    }
}
