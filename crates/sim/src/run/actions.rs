//! What the calendar holds: starts and stops of flows, edges of phases, events and their actions.

use super::Simulation;
use crate::network::CALENDAR;
use crate::topology;
use sojourn_engine::{Item, RunError};
use sojourn_model::{Action, Edge, Reference};
use sojourn_path::topology::ChangeError;
use std::sync::Arc;

impl Simulation {
    pub(super) fn calendar(&mut self) -> Result<(), RunError> {
        let scenario = Arc::clone(&self.scenario);
        while let Some(item) = self.flows.timeline.take(self.now) {
            match item {
                Item::StartFlow(i) => self.flows.start(&mut self.network, self.now, i),
                Item::StopFlow(i) => self.flows.stop(&mut self.network, self.now, i),
                Item::PhaseStart(i) | Item::PhaseEnd(i) => {
                    let name = scenario.phases[i].name.clone();
                    let starts = matches!(item, Item::PhaseStart(_));
                    let (what, edge) =
                        if starts { ("start", Edge::Start) } else { ("end", Edge::End) };
                    self.flows.recorder.event(self.now, what, &format!("phase {name}"), "");
                    self.network.observer.delays.cut(self.now);
                    self.flows.timeline.happened(self.now, &Reference::Phase(name), edge);
                }
                Item::Event(i) => {
                    let event = &scenario.events[i];
                    for action in &event.actions {
                        let detail = match action.element() {
                            Some(element) => format!("{element}: {action}"),
                            None => action.to_string(),
                        };
                        let subject = format!("event {}", event.name);
                        self.flows.recorder.event(self.now, "event", &subject, &detail);
                        self.act(action)
                            .map_err(|why| RunError::Failed(format!("{subject}: {why}")))?;
                    }
                    let reference = Reference::Event(event.name.clone());
                    self.flows.timeline.happened(self.now, &reference, Edge::Start);
                }
            }
        }
        self.network.agenda.set(CALENDAR, self.flows.timeline.next());
        Ok(())
    }

    fn act(&mut self, action: &Action) -> Result<(), ChangeError> {
        match action {
            Action::StartFlow { flow } => {
                if let Some(i) = self.flow_index(flow) {
                    self.flows.start(&mut self.network, self.now, i);
                }
            }
            Action::StopFlow { flow } => {
                if let Some(i) = self.flow_index(flow) {
                    self.flows.stop(&mut self.network, self.now, i);
                }
            }
            _ => {}
        }
        let basis = topology::basis(&self.scenario, self.known.of_path());
        self.network.change(self.now, action, &basis, &mut self.flows)
    }

    pub(super) fn flow_index(&self, name: &str) -> Option<usize> {
        self.scenario.flows.iter().position(|f| f.name == name)
    }
}
