//! Events that wait for a number: a flow's window, a queue's backlog, what a discipline or a control says of itself.

use super::{Simulation, WATCH_EVERY};
use crate::app::{App as _, Record};
use crate::flow::FlowRun;
use crate::network::{CALENDAR, conditions_slot};
use crate::topology::Topology;
use sojourn_model::{Gauge, Scenario};
use sojourn_qdisc::Qdisc as _;
use sojourn_units::Time;

impl Simulation {
    pub(super) fn watch_conditions(&mut self) {
        let (now, network) = (self.now, &mut self.network);
        let (flows, scenario, topology) = (&self.flows.runs, &self.scenario, &network.topology);
        self.flows.timeline.check(now, |gauge| match gauge {
            Gauge::Flow { flow, name } => of_flow(scenario, flows, flow, name),
            Gauge::Queue { queue, name } => of_queue(now, topology, queue, name),
        });
        network.agenda.set(CALENDAR, self.flows.timeline.next());
        let waits = !self.flows.timeline.conditions.is_empty();
        let next = if waits { now + WATCH_EVERY } else { Time::NEVER };
        let slot = conditions_slot(network);
        network.agenda.set(slot, next);
    }
}

/// A number of a flow.
fn of_flow(scenario: &Scenario, flows: &[FlowRun], flow: &str, name: &str) -> Option<f64> {
    let index = scenario.flows.iter().position(|f| f.name == flow)?;
    let app = &flows[index].app;
    if name == "cwnd" {
        let Record::Connection(record) = app.record() else { return None };
        return Some(record.cwnd as f64);
    }
    let mut found = None;
    app.gauges(&mut |n, v| {
        if n == name {
            found = Some(v);
        }
    });
    found
}

/// A number of a queue.
fn of_queue(now: Time, topology: &Topology, queue: &str, name: &str) -> Option<f64> {
    let port = &topology.nodes[topology.queue(queue)?].port;
    match name {
        "backlog_packets" => Some(f64::from(port.backlog().packets)),
        "backlog_bytes" => Some(port.backlog().bytes as f64),
        _ => {
            let mut found = None;
            port.discipline().gauges(now, &mut |n, v| {
                if n == name {
                    found = Some(v);
                }
            });
            found
        }
    }
}
