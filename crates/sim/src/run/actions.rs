//! What the calendar holds: starts and stops of flows, edges of phases, events and their actions.

use super::Simulation;
use crate::network::CALENDAR;
use crate::timeline::Item;
use crate::topology::{self, OPEN, Role, stack};
use sojourn_engine::RunError;
use sojourn_model::{Action, Edge, Queue, Reference, Shaper};
use sojourn_path::MiddleboxKind;
use sojourn_qdisc::netem::Parameters;
use sojourn_stacks::Stack;
use sojourn_units::Random;
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
                    self.recorder.happening(self.now, what, &format!("phase {name}"), "");
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
                        self.recorder.happening(self.now, "event", &subject, &detail);
                        self.act(action)?;
                    }
                    let reference = Reference::Event(event.name.clone());
                    self.timeline.happened(self.now, &reference, Edge::Start);
                }
            }
        }
        self.network.agenda.set(CALENDAR, self.timeline.next());
        Ok(())
    }

    fn act(&mut self, action: &Action) -> Result<(), RunError> {
        let now = self.now;
        match action {
            Action::Rate { element, rate } => {
                if let Some(port) = self.queue_port(element) {
                    if !self.network.topology.nodes[port].port.set_rate(now, *rate) {
                        return Err(RunError::Failed(format!("{element} has no shaper to set")));
                    }
                    self.drain(port);
                } else if let Some(middlebox) = self.network.topology.middlebox(element) {
                    let MiddleboxKind::Police(policer) = &mut middlebox.kind else {
                        return Err(RunError::Failed(format!("{element} has no rate to set")));
                    };
                    policer.set_rate(now, *rate);
                }
            }
            Action::ChangeQdisc { element, qdisc } => {
                if let Some(port) = self.queue_port(element) {
                    let changed =
                        self.network.topology.nodes[port].port.change(now, qdisc, &self.registry);
                    changed.map_err(|e| RunError::Failed(format!("{element}: {e}")))?;
                    self.after_change(port);
                }
            }
            Action::ReplaceQdisc { element, qdisc, shaper } => {
                if let Some(port) = self.queue_port(element) {
                    self.replace(port, element, qdisc, *shaper)?;
                    self.after_change(port);
                }
            }
            Action::Delay { element, flow, delay } => {
                for port in self.network.topology.netems(element, flow.as_deref()) {
                    let node = &self.network.topology.nodes[port];
                    let first = matches!(node.role, Role::Netem { link: 0, .. });
                    if let Some(netem) = node.netem.clone().filter(|_| first) {
                        let words = netem.with_delay(*delay).to_string();
                        self.change_netem(port, element, &words)?;
                    }
                }
            }
            Action::ChangeNetem { element, chain } => {
                for port in self.network.topology.netems(element, None) {
                    let Role::Netem { link, .. } = self.network.topology.nodes[port].role else {
                        continue;
                    };
                    let words = chain.get(link).map_or(OPEN, String::as_str);
                    self.change_netem(port, element, words)?;
                }
            }
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
            Action::Enable { element } => {
                self.network.topology.switch(element, true);
                if let Some(port) = self.queue_port(element) {
                    self.network.topology.nodes[port].port.restart(now);
                    self.after_change(port);
                }
            }
            Action::Disable { element } => {
                self.network.topology.switch(element, false);
                if let Some(port) = self.queue_port(element) {
                    self.network.topology.nodes[port].port.clear(now);
                    self.after_change(port);
                }
            }
        }
        Ok(())
    }

    pub(super) fn flow_index(&self, name: &str) -> Option<usize> {
        self.scenario.flows.iter().position(|f| f.name == name)
    }

    /// The port of a queue; none if no flow passes it.
    fn queue_port(&self, element: &str) -> Option<usize> {
        self.network.topology.queue(element)
    }

    fn after_change(&mut self, port: usize) {
        self.network.schedule_queue_timer(port);
        self.drain(port);
    }

    fn replace(
        &mut self,
        port: usize,
        element: &str,
        qdisc: &str,
        shaper: Option<Shaper>,
    ) -> Result<(), RunError> {
        let now = self.now;
        let stack = self.stack_at(element);
        let node = &mut self.network.topology.nodes[port];
        let Some(shaper) = shaper else {
            return node
                .port
                .replace(now, qdisc, &self.registry)
                .map_err(|e| RunError::Failed(format!("{element}: {e}")));
        };
        let name = format!("path/{element}/{}", now.as_nanos());
        let random = Random::named(self.scenario.seed, &name);
        let q = Queue { shaper, qdisc: qdisc.to_owned() };
        node.port.replace_all(now, topology::queue(&q, element, stack, random, &self.registry)?);
        Ok(())
    }

    /// The stack of the hop that an element is of.
    fn stack_at(&self, element: &str) -> &'static Stack {
        let hop = element.split('.').next().unwrap_or("");
        stack(self.scenario.hop(hop).map_or("", |h| h.stack.as_str()))
    }

    fn change_netem(&mut self, port: usize, element: &str, words: &str) -> Result<(), RunError> {
        let stack = self.stack_at(element);
        let node = &mut self.network.topology.nodes[port];
        let failed = |e| RunError::Failed(format!("{element}: {e}"));
        let netem = Parameters::parse(words, &stack.qdisc).map_err(failed)?;
        let words = format!("netem {words}");
        node.port.change(self.now, &words, &self.registry).map_err(failed)?;
        // From now on packets may overtake those that have a longer delay.
        node.reorders = true;
        node.netem = Some(netem);
        self.drain(port);
        Ok(())
    }
}
