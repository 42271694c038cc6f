//! A run, step by step: wake what is next, let it act, ask it when it wants to be woken again.
//!
//! Invariant: in how many steps a run is advanced makes no difference to it. Nothing is drawn, recorded or changed between
//! two events.

mod actions;
mod conditions;
mod elsewhere;
mod flows;
mod snapshot;

use crate::app::any::AnyApp;
use crate::app::setup::HostStack;
use crate::app::{App, Connections, HalfPath, Template};
use crate::flow::{FlowRun, FlowState};
use crate::known::Known;
use crate::network::{
    CALENDAR, Network, OTHER_SLOTS, Observers, conditions_slot, flows_slot, recorder_slot,
};
use crate::packet::Pool;
use crate::recorder::Recorder;
use crate::tap::Tap;
use crate::topology::{self, stack};
use flows::Flows;
pub use snapshot::{FlowSnapshot, QueueSnapshot, Snapshot};
use sojourn_capture::Capture;
use sojourn_engine::{RunError, Timeline, WATCH_EVERY, Watch};
use sojourn_model::{Scenario, Tcp};
use sojourn_net::Agenda;
use sojourn_record::{Delays, ports};
use sojourn_results::Table;
use sojourn_transport::stack::TcpQuirks;
use sojourn_units::{Random, Span, Time};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// How often a run reports progress, in simulated time.
const TELL_EVERY: Span = Span::from_millis(500);
/// After this number of events at the latest the run asks whether it is still wanted: a tenth of a second or so of the
/// machine's time, however little of the simulated.
const EVENTS_BETWEEN_LOOKS: u64 = 1 << 18;
/// After this number of looks without progress of simulated time, 16 million events at one instant, a run is given up:
/// it would never end. A million flows that start together need a few of these.
const LOOKS_AT_ONE_TIME: u32 = 64;
/// The number of events that the error then assigns to their owners.
const EVENTS_TO_NAME: usize = 1000;

/// A run under way.
///
/// ```
/// use sojourn_sim::{Simulation, dumbbell::Dumbbell};
/// use sojourn_units::{Span, Time};
///
/// let scenario = Dumbbell { duration: Span::from_secs(2), ..Dumbbell::default() }.scenario();
/// let mut simulation = Simulation::new(scenario)?;
/// simulation.advance_to(Time::from_secs(1))?;
/// let snapshot = simulation.snapshot();
/// assert!(snapshot.flows[0].delivered_bytes > 0);
/// let tables = simulation.finish()?;
/// assert_eq!(tables[0].schema().name, "flows");
/// # Ok::<(), sojourn_engine::RunError>(())
/// ```
#[derive(Debug)]
pub struct Simulation {
    scenario: Arc<Scenario>,
    known: Known,
    now: Time,
    end: Time,
    network: Network,
    flows: Flows,
    next_step: Time,
}

impl Simulation {
    /// A run at its beginning, with what the simulator knows itself and without captures; with more it is
    /// [`crate::Sim::begin`]. The simulator must be able to run the scenario
    /// ([`Engine::refuse`](sojourn_engine::Engine::refuse) of [`crate::Sim`] says what it cannot).
    ///
    /// # Errors
    /// What does not hold together in the scenario, or cannot be built.
    pub fn new(scenario: impl Into<Arc<Scenario>>) -> Result<Self, RunError> {
        let scenario = scenario.into();
        scenario.check()?;
        Self::build(scenario, &Known::default(), None)
    }

    /// A run at its beginning, of a checked scenario.
    pub(crate) fn build(
        scenario: impl Into<Arc<Scenario>>,
        known: &Known,
        capture: Option<&Capture>,
    ) -> Result<Self, RunError> {
        let scenario = scenario.into();
        let topology = topology::build(&scenario, known.of_path())
            .map_err(|unbuildable| RunError::Failed(unbuildable.to_string()))?;
        let mut tap = capture.map(|c| Tap::new(c, &scenario, &topology)).transpose()?.map(Box::new);
        // One table a stack, for all its flows.
        let mut quirks: BTreeMap<&str, Arc<TcpQuirks>> = BTreeMap::new();
        let flows: Result<Vec<FlowRun>, RunError> = scenario
            .flows
            .iter()
            .enumerate()
            .map(|(i, f)| {
                let (routes, control) = (topology.of_flow[i], topology.of_control[i]);
                let device = topology.device_of[i].map(topology::host_nic);
                let mut of = |name: &str| {
                    let of = stack(name);
                    let quirks = quirks.entry(of.name);
                    Arc::clone(quirks.or_insert_with(|| Arc::new(of.tcp.clone())))
                };
                let (quirks, receiver) = (&of(&f.stack), &of(f.receiver()));
                let stack = stack(&f.stack);
                let host = HostStack { stack, quirks, receiver, controls: &known.controls };
                let host = (host, &known.apps);
                FlowRun::new(i, f, (routes, control), device, host, scenario.seed)
            })
            .collect();
        let flows = flows?;
        if let Some(tap) = &mut tap {
            for (i, flow) in flows.iter().enumerate() {
                tap.show_connections(i, flow.app.has_many_connections());
            }
        }
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
        let queues = topology.nodes.iter().map(ports::queue_of);
        let delays = Delays::new(&scenario, queues, |flow| {
            topology.fixed_delay(&scenario, topology.of_flow[flow].0)
        });
        let observers =
            Observers { pool: Pool::default(), tap, delays, handed_out: VecDeque::new() };
        let mut network = Network::new(topology, observers, OTHER_SLOTS);
        let flows = Flows {
            scenario: Arc::clone(&scenario),
            agenda: Agenda::new(flows.len()),
            unfinished: flows.iter().filter(|f| f.is_finite).count(),
            runs: flows,
            timeline,
            recorder,
        };
        let next_step = Time::ZERO + scenario.sample_interval;
        network.agenda.set(CALENDAR, flows.timeline.next());
        let slot = recorder_slot(&network);
        network.agenda.set(slot, next_step);
        network.schedule_queue_timers();
        if flows.timeline.waits_for_a_number() {
            let slot = conditions_slot(&network);
            network.agenda.set(slot, Time::ZERO + WATCH_EVERY);
        }
        let (now, end) = (Time::ZERO, Time::ZERO + scenario.length());
        Ok(Self { scenario, known: known.clone(), now, end, network, flows, next_step })
    }

    /// Puts another application on the hosts of a flow, in place of the one that its traffic asks for. The flow's
    /// start, end and path stay.
    ///
    /// # Errors
    /// There is no such flow, or it has started.
    pub fn set_app(&mut self, flow: &str, app: Box<dyn App>) -> Result<(), RunError> {
        let index = self.known_flow(flow)?;
        let run = &mut self.flows.runs[index];
        if run.state != FlowState::Waiting {
            return Err(RunError::Failed(format!("flow \"{flow}\" has started already")));
        }
        self.flows.unfinished -= usize::from(run.is_finite);
        run.is_finite = app.is_finite();
        self.flows.unfinished += usize::from(run.is_finite);
        if let Some(tap) = &mut self.network.observer.tap {
            tap.show_connections(index, app.has_many_connections());
        }
        run.app = AnyApp::Custom(app);
        Ok(())
    }

    /// TCP connections between the hosts of a flow, for an application that [`Simulation::set_app`] puts there: on the flow's
    /// path, with its stack, its DSCP and the congestion controls that the simulator knows. What `tcp` says of bytes and of
    /// the application's rate is not heeded, since the application writes; of `host_qdisc`, `fq` alone is.
    ///
    /// # Errors
    /// There is no such flow, or no such congestion control.
    pub fn connections(&self, flow: &str, tcp: &Tcp) -> Result<Connections, RunError> {
        let index = self.known_flow(flow)?;
        let spec = &self.scenario.flows[index];
        let known = self.known.controls.info(&tcp.cc);
        known.map_err(|e| RunError::Failed(format!("flow \"{flow}\": {e}")))?;
        let stack = stack(&spec.stack);
        let quirks = &Arc::new(stack.tcp.clone());
        let receiver = match topology::stack(spec.receiver()) {
            other if other.name == stack.name => Arc::clone(quirks),
            other => Arc::new(other.tcp.clone()),
        };
        let host = HostStack { stack, quirks, receiver: &receiver, controls: &self.known.controls };
        let device = self.network.topology.device_of[index].map(topology::host_nic);
        let template = Template::new(tcp, host, device, self.scenario.seed, flow);
        let hosts = &self.flows.runs[index].host;
        let (owner, dscp, routes) = (hosts.owner, hosts.dscp, (hosts.there, hosts.back));
        Ok(Connections::new(template, HalfPath { owner, routes, dscp, turned: false }))
    }

    fn known_flow(&self, flow: &str) -> Result<usize, RunError> {
        self.flow_index(flow).ok_or_else(|| {
            let names: Vec<&str> = self.scenario.flows.iter().map(|f| f.name.as_str()).collect();
            let names = names.join(", ");
            RunError::Failed(format!("no flow \"{flow}\": there are {names}"))
        })
    }

    /// Now, from the run's own zero on.
    pub fn now(&self) -> Time {
        self.now
    }

    /// When the run is over.
    pub fn end(&self) -> Time {
        self.end
    }

    /// Lets everything happen up to and at `until`, or up to the end if that is earlier.
    ///
    /// # Errors
    /// An event's action that fails, or a capture that cannot be written.
    pub fn advance_to(&mut self, until: Time) -> Result<(), RunError> {
        while !self.advance(until, u64::MAX)? {}
        Ok(())
    }

    /// As [`Simulation::advance_to`], but no more than this number of `events`; returns whether everything up to `until` has
    /// happened.
    ///
    /// # Errors
    /// As there.
    pub fn advance(&mut self, until: Time, events: u64) -> Result<bool, RunError> {
        // Events exactly at the end still belong to the run.
        let until = until.min(self.end);
        for _ in 0..events {
            let (at, slot) = self.network.agenda.next();
            if at > until {
                self.now = self.now.max(until);
                return self.check_capture().map(|()| true);
            }
            assert!(at >= self.now, "time runs back from {:?} to {at:?}", self.now);
            self.now = at;
            // Most often it is a port.
            if !self.network.act(at, slot, &mut self.flows) {
                self.wake(slot)?;
            }
        }
        self.check_capture().map(|()| false)
    }

    /// Flows, the recorder, events and conditions do what is due.
    #[inline(never)]
    fn wake(&mut self, slot: usize) -> Result<(), RunError> {
        let (network, now) = (&mut self.network, self.now);
        if slot == flows_slot(network) {
            self.flows.wake_flow(network, now);
        } else if slot == recorder_slot(network) {
            self.flows.recorder.step(now, &self.flows.runs, &mut network.topology);
            self.next_step = now + self.scenario.sample_interval;
            network.agenda.set(slot, self.next_step);
        } else if slot == CALENDAR {
            self.calendar()?;
        } else {
            self.watch_conditions();
        }
        Ok(())
    }

    fn check_capture(&mut self) -> Result<(), RunError> {
        if let Some(tap) = &mut self.network.observer.tap {
            tap.check()?;
        }
        Ok(())
    }

    /// Runs to the end and returns the tables, unless `watch` gives it up.
    ///
    /// # Errors
    /// As [`Simulation::advance_to`], and [`RunError::Cancelled`].
    pub fn run(mut self, watch: &dyn Watch) -> Result<Vec<Table>, RunError> {
        let mut reported = self.now;
        let (mut looked, mut looks) = (self.now, 0);
        while self.now < self.end {
            let there = self.advance(reported + TELL_EVERY, EVENTS_BETWEEN_LOOKS)?;
            if there {
                reported = self.now;
            }
            looks = if self.now == looked { looks + 1 } else { 0 };
            looked = self.now;
            if looks >= LOOKS_AT_ONE_TIME {
                return Err(self.stands_still());
            }
            watch.progress(self.now.since(Time::ZERO));
            if watch.cancelled() {
                return Err(RunError::Cancelled);
            }
        }
        self.finish()
    }

    /// That time does not go on, and who is at work meanwhile.
    #[cold]
    fn stands_still(&mut self) -> RunError {
        let mut busy: BTreeMap<String, usize> = BTreeMap::new();
        for _ in 0..EVENTS_TO_NAME {
            let slot = self.network.agenda.next().1;
            *busy.entry(self.name_of(slot)).or_default() += 1;
            if let Err(error) = self.advance(self.now, 1) {
                return error;
            }
        }
        let mut busy: Vec<(String, usize)> = busy.into_iter().collect();
        busy.sort_by_key(|(_, events)| core::cmp::Reverse(*events));
        let names: Vec<String> = busy.into_iter().take(3).map(|(name, _)| name).collect();
        let events = u64::from(LOOKS_AT_ONE_TIME) * EVENTS_BETWEEN_LOOKS;
        RunError::Failed(format!(
            "the run stands still at {} s: {events} events and time does not go on; at work are {}",
            self.scenario.seconds(self.now),
            names.join(", "),
        ))
    }

    /// The owner of the slot.
    fn name_of(&self, slot: usize) -> String {
        let slots = self.network.slots;
        if let Some(port) = slots.port(slot).or_else(|| slots.timer(slot)) {
            return self.network.topology.nodes[port].role.to_string();
        }
        if slot == flows_slot(&self.network) {
            let flow = self.flows.agenda.next().1;
            return format!("flow {}", self.scenario.flows[flow].name);
        }
        match slot {
            CALENDAR => "events",
            slot if slot == conditions_slot(&self.network) => "events that wait for a number",
            _ => "the recorder",
        }
        .to_owned()
    }

    /// Runs to the end and returns the tables.
    ///
    /// # Errors
    /// As [`Simulation::advance_to`].
    pub fn finish(mut self) -> Result<Vec<Table>, RunError> {
        self.advance_to(self.end)?;
        // A length that is no multiple of the step ends with a shorter one.
        let (flows, end) = (&mut self.flows, self.end);
        if self.next_step < end + self.scenario.sample_interval {
            flows.recorder.step(end, &flows.runs, &mut self.network.topology);
        }
        for i in 0..flows.runs.len() {
            if flows.runs[i].state == FlowState::Running {
                flows.note_end(end, i, "end of the run");
            }
        }
        flows.recorder.tc(end, "teardown", &self.network.topology);
        let Network { topology, observer: Observers { tap, delays, .. }, .. } = self.network;
        if let Some(tap) = tap {
            tap.finish()?;
        }
        let Flows { recorder, runs, .. } = self.flows;
        Ok(recorder.finish(&self.scenario, &runs, &topology, delays))
    }
}
