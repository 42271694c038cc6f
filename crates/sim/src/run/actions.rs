//! What the calendar holds: starts and stops of flows, edges of phases, events and their actions.

use super::Simulation;
use crate::network::CALENDAR;
use crate::timeline::Item;
use crate::topology;
use sojourn_engine::RunError;
use sojourn_model::{Action, Edge, Reference};
use sojourn_path::topology::ChangeError;
use std::sync::Arc;

impl Simulation {
    pub(super) fn calendar(&mut self) -> Result<(), RunError> {
        let scenario = Arc::clone(&self.scenario);
        while let Some(item) = self.timeline.take(self.now) {
            match item {
                Item::StartFlow(i) => self.start(i),
                Item::StopFlow(i) => self.stop(i),
                Item::PhaseStart(i) | Item::PhaseEnd(i) => {
                    let name = scenario.phases[i].name.clone();
                    let starts = matches!(item, Item::PhaseStart(_));
                    let (what, edge) =
                        if starts { ("start", Edge::Start) } else { ("end", Edge::End) };
                    self.recorder.event(self.now, what, &format!("phase {name}"), "");
                    self.network.delays.cut(self.now);
                    self.timeline.happened(self.now, &Reference::Phase(name), edge);
                }
                Item::Event(i) => {
                    let event = &scenario.events[i];
                    for action in &event.actions {
                        let detail = match action.element() {
                            Some(element) => format!("{element}: {action}"),
                            None => action.to_string(),
                        };
                        let subject = format!("event {}", event.name);
                        self.recorder.event(self.now, "event", &subject, &detail);
                        self.act(action)
                            .map_err(|why| RunError::Failed(format!("{subject}: {why}")))?;
                    }
                    let reference = Reference::Event(event.name.clone());
                    self.timeline.happened(self.now, &reference, Edge::Start);
                }
            }
        }
        self.network.agenda.set(CALENDAR, self.timeline.next());
        Ok(())
    }

    fn act(&mut self, action: &Action) -> Result<(), ChangeError> {
        match action {
            Action::StartFlow { flow } => {
                if let Some(i) = self.flow_index(flow) {
                    self.start(i);
                }
            }
            Action::StopFlow { flow } => {
                if let Some(i) = self.flow_index(flow) {
                    self.stop(i);
                }
            }
            _ => {}
        }
        let topology = &mut self.network.topology;
        topology.change_between(self.now, action)?;
        for port in topology.ports_of(action) {
            let basis = topology::basis(&self.scenario, self.known.of_path());
            let topology = &mut self.network.topology;
            topology.change_port(self.now, port, action, &basis)?;
            self.network.schedule_queue_timer(port);
            self.drain(port);
        }
        Ok(())
    }

    pub(super) fn flow_index(&self, name: &str) -> Option<usize> {
        self.scenario.flows.iter().position(|f| f.name == name)
    }
}
