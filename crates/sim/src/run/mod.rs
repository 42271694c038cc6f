//! A run, step by step: wake what is next, let it act, ask it when it wants to be woken again.

mod actions;
mod conditions;
mod flows;
mod forward;

use crate::agenda::Agenda;
use crate::app::setup::HostStack;
use crate::delays::Delays;
use crate::flow::{FlowRun, FlowState};
use crate::network::{CALENDAR, Network};
use crate::packet::PacketBox;
use crate::recorder::Recorder;
use crate::tap::Tap;
use crate::timeline::Timeline;
use crate::topology::{Topology, Unbuildable, stack};
use conditions::WATCH_EVERY;
use sojourn_capture::Capture;
use sojourn_engine::{RunError, Watch};
use sojourn_model::Scenario;
use sojourn_qdisc::Registry;
use sojourn_results::Table;
use sojourn_transport::cc::Registry as Controls;
use sojourn_transport::stack::TcpQuirks;
use sojourn_units::{Random, Span, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How often progress is told.
const TELL_EVERY: Span = Span::from_millis(500);

/// A run under way.
#[derive(Debug)]
pub(crate) struct Simulation {
    scenario: Arc<Scenario>,
    registry: Registry<PacketBox>,
    now: Time,
    end: Time,
    network: Network,
    flows: Vec<FlowRun>,
    /// The flows' own agenda; its next time is one slot of the other.
    flow_agenda: Agenda,
    timeline: Timeline,
    recorder: Recorder,
    next_step: Time,
    told: Time,
    /// Whether any port is a device of a sending host.
    has_own_devices: bool,
    /// Flows that end by themselves and have not yet.
    unfinished: usize,
}

impl From<Unbuildable> for RunError {
    fn from(u: Unbuildable) -> Self {
        Self::Failed(format!("{}: \"{}\": {}", u.element, u.words, u.error))
    }
}

impl Simulation {
    /// A run at its beginning.
    pub(crate) fn build(
        scenario: impl Into<Arc<Scenario>>,
        (registry, controls): (Registry<PacketBox>, &Controls),
        capture: Option<&Capture>,
    ) -> Result<Self, RunError> {
        let scenario = scenario.into();
        let topology = Topology::build(&scenario, &registry)?;
        let tap = capture.map(|c| Tap::new(c, &scenario, &topology)).transpose()?.map(Box::new);
        // One table a stack, for all its flows.
        let mut quirks: BTreeMap<&str, Arc<TcpQuirks>> = BTreeMap::new();
        let flows: Vec<FlowRun> = scenario
            .flows
            .iter()
            .enumerate()
            .map(|(i, f)| {
                let (routes, control) = (topology.of_flow[i], topology.of_control[i]);
                let device = topology.device_of[i];
                let stack = stack(&f.stack);
                let quirks =
                    quirks.entry(stack.name).or_insert_with(|| Arc::new(stack.tcp.clone()));
                let host = HostStack { stack, quirks, controls };
                FlowRun::new(i, f, (routes, control), device, host, scenario.seed)
            })
            .collect();
        let timeline = Timeline::new(&scenario, |i| {
            let flow = &scenario.flows[i];
            if flow.traffic.is_load() {
                let jitter = stack(&flow.stack).tcp.start_jitter.as_nanos();
                let name = format!("flow/{}/start", flow.name);
                Span::from_nanos(Random::named(scenario.seed, &name).below(jitter))
            } else {
                Span::ZERO
            }
        });
        let mut recorder = Recorder::new(&scenario, &topology);
        recorder.tc(Time::ZERO, "setup", &topology);
        let has_own_devices = topology.nodes.iter().any(|node| node.own);
        let delays = Delays::new(&scenario, &topology);
        let mut sim = Self {
            now: Time::ZERO,
            end: Time::ZERO + scenario.length(),
            network: Network::new(topology, tap, delays),
            flow_agenda: Agenda::new(flows.len()),
            has_own_devices,
            unfinished: flows.iter().filter(|f| f.is_finite).count(),
            flows,
            timeline,
            recorder,
            next_step: Time::ZERO + scenario.step,
            told: Time::ZERO,
            scenario,
            registry,
        };
        let network = &mut sim.network;
        network.agenda.set(CALENDAR, sim.timeline.next());
        network.agenda.set(network.slots.recorder, sim.next_step.min(sim.told + TELL_EVERY));
        for port in 0..network.topology.nodes.len() {
            network.schedule_queue_timer(port);
        }
        if !sim.timeline.conditions.is_empty() {
            network.agenda.set(network.slots.conditions, Time::ZERO + WATCH_EVERY);
        }
        Ok(sim)
    }

    /// Runs to the end and returns the tables.
    pub(crate) fn run(mut self, watch: &dyn Watch) -> Result<Vec<Table>, RunError> {
        let s = self.network.slots;
        loop {
            let (at, slot) = self.network.agenda.next();
            // What happens exactly at the end still belongs to the run.
            if at > self.end {
                break;
            }
            debug_assert!(at >= self.now, "time runs back");
            self.now = at;
            if slot >= s.ports && slot < s.timers {
                self.drain(slot - s.ports);
            } else if slot == s.flows {
                self.wake_flow();
            } else if slot < s.flows && slot >= s.timers {
                let port = slot - s.timers;
                self.network.topology.nodes[port].port.on_timer(at);
                self.network.schedule_queue_timer(port);
            } else if slot == s.recorder {
                if at == self.next_step {
                    self.recorder.step(at, &self.flows, &mut self.network.topology);
                    self.next_step = at + self.scenario.step;
                }
                if at.since(self.told) >= TELL_EVERY {
                    self.told = at;
                    watch.progress(at.since(Time::ZERO));
                    if let Some(tap) = &mut self.network.tap {
                        tap.check()?;
                    }
                    if watch.cancelled() {
                        return Err(RunError::Cancelled);
                    }
                }
                // A long step is no reason for silence.
                self.network.agenda.set(slot, self.next_step.min(self.told + TELL_EVERY));
            } else if slot == CALENDAR {
                self.calendar()?;
            } else {
                self.watch_conditions();
            }
        }
        self.now = self.end;
        // A length that is no multiple of the step ends with a shorter one.
        if self.next_step < self.end + self.scenario.step {
            self.recorder.step(self.end, &self.flows, &mut self.network.topology);
        }
        for i in 0..self.flows.len() {
            if self.flows[i].state == FlowState::Running {
                self.note_end(i, "end of the run");
            }
        }
        self.recorder.tc(self.end, "teardown", &self.network.topology);
        watch.progress(self.scenario.length());
        let Network { topology, tap, delays, .. } = self.network;
        if let Some(tap) = tap {
            tap.finish()?;
        }
        Ok(self.recorder.finish(&self.scenario, &self.flows, &topology, delays))
    }
}
