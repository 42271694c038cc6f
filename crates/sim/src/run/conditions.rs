//! Events that wait for a number: a flow's window, a queue's backlog, what a discipline or a control says of itself.

use super::Simulation;
use crate::app::{App as _, Record};
use crate::flow::FlowRun;
use crate::network::{CALENDAR, conditions_slot};
use sojourn_engine::WATCH_EVERY;
use sojourn_model::{Gauge, Scenario};
use sojourn_record::ports;
use sojourn_units::Time;

impl Simulation {
    pub(super) fn watch_conditions(&mut self) {
        let (now, network) = (self.now, &mut self.network);
        let (flows, scenario, topology) = (&self.flows.runs, &self.scenario, &network.topology);
        self.flows.timeline.check(now, |gauge| match gauge {
            Gauge::Flow { flow, name } => of_flow(scenario, flows, flow, name),
            Gauge::Queue { queue, name } => ports::number(now, topology, queue, name),
        });
        network.agenda.set(CALENDAR, self.flows.timeline.next());
        let waits = self.flows.timeline.waits_for_a_number();
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
