//! A run as it stands: for whoever looks at it while it goes on.

use super::Simulation;
use crate::app::{App as _, Record};
use crate::flow::FlowState;
use crate::topology::Role;
use sojourn_qdisc::{Backlog, Qdisc as _};
use sojourn_results::Table;
use sojourn_units::Time;

/// Flows and queues at one time.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The time, from the run's own zero on.
    pub at: Time,
    /// The flows, in the scenario's order.
    pub flows: Vec<FlowSnapshot>,
    /// The queues that flows pass.
    pub queues: Vec<QueueSnapshot>,
}

/// A flow.
#[derive(Clone, Debug)]
pub struct FlowSnapshot {
    /// Its name.
    pub name: String,
    /// How far it is.
    pub state: FlowState,
    /// Packets that its hosts have sent, both ways.
    pub packets_sent: u64,
    /// Packets that have reached its hosts, both ways.
    pub packets_arrived: u64,
    /// Payload bytes that have been delivered.
    pub delivered_bytes: u64,
    /// What it would record now.
    pub record: Record,
    /// Further numbers of its congestion control.
    pub gauges: Vec<(&'static str, f64)>,
}

/// A queue.
#[derive(Clone, Debug)]
pub struct QueueSnapshot {
    /// The element's path, `hop.side.element`.
    pub element: String,
    /// What it holds, what is on the line or on the air included.
    pub backlog: Backlog,
    /// Packets that have left.
    pub left: u64,
    /// Their bytes.
    pub left_bytes: u64,
    /// Packets dropped, for any reason.
    pub dropped: u64,
    /// Packets marked CE, for any reason.
    pub marked: u64,
    /// Numbers of its discipline.
    pub gauges: Vec<(&'static str, f64)>,
}

impl Simulation {
    /// Payload bytes that a flow, by its place in the scenario, has delivered so far; 0 for a flow that is not there.
    pub fn delivered_bytes(&self, flow: usize) -> u64 {
        self.flows.runs.get(flow).map_or(0, |flow| flow.app.delivered_bytes())
    }

    /// The run as it is now. Taking it changes nothing.
    pub fn snapshot(&self) -> Snapshot {
        let flows = self.scenario.flows.iter().zip(&self.flows.runs).map(|(spec, flow)| {
            let mut gauges = Vec::new();
            flow.app.gauges(&mut |name, value| gauges.push((name, value)));
            FlowSnapshot {
                name: spec.name.clone(),
                state: flow.state,
                packets_sent: flow.host.sent,
                packets_arrived: flow.host.arrived,
                delivered_bytes: flow.app.delivered_bytes(),
                record: flow.app.record(),
                gauges,
            }
        });
        let queues = self.network.topology.nodes.iter().filter_map(|node| {
            let Role::Queue { element } = &node.role else { return None };
            let (port, stats) = (&node.port, node.port.stats());
            let mut gauges = Vec::new();
            port.discipline().gauges(self.now, &mut |name, value| gauges.push((name, value)));
            Some(QueueSnapshot {
                element: element.clone(),
                backlog: port.backlog(),
                left: stats.left,
                left_bytes: stats.left_bytes,
                dropped: stats.all_drops(),
                marked: stats.all_marks(),
                gauges,
            })
        });
        Snapshot { at: self.now, flows: flows.collect(), queues: queues.collect() }
    }

    /// The tables that are written step by step, as far as they are: flows, their controls' numbers, queues, their marks
    /// and drops by reason, their disciplines' numbers, what happened, what tc says. The others come with
    /// [`Simulation::finish`].
    pub fn tables(&self) -> [&Table; 8] {
        self.flows.recorder.tables()
    }
}
