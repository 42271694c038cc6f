//! Flows: when they start, wake, and end.

use super::Simulation;
use crate::app::App as _;
use crate::flow::FlowState;
use crate::host::HostTx;
use crate::network::CALENDAR;
use sojourn_model::{Edge, Reference};
use sojourn_units::Time;

impl Simulation {
    /// A flow's application starts: the flow begins at once, unless its two ends have to agree on it first.
    pub(super) fn start(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        if flow.state != FlowState::Waiting {
            return;
        }
        flow.state = FlowState::Agreeing;
        flow.app.start(&mut HostTx::new(self.now, &mut flow.host, &mut self.network));
        self.after_packet(index);
    }

    /// What an event may have changed about a flow: whether it has begun or ended, and when it wakes.
    pub(super) fn after_packet(&mut self, index: usize) {
        let flow = &self.flows[index];
        if flow.state == FlowState::Agreeing && flow.app.has_begun() {
            self.has_begun(index);
        } else if flow.is_finite && flow.state == FlowState::Running && flow.app.is_finished() {
            self.end_flow(index, "finished");
        }
        self.note_failure(index);
        self.schedule_flow(index);
    }

    /// A flow whose application cannot go on is at its end.
    #[inline]
    fn note_failure(&mut self, index: usize) {
        let flow = &self.flows[index];
        if flow.app.failure().is_some() && flow.state == FlowState::Running {
            self.fail(index);
        }
    }

    #[cold]
    fn fail(&mut self, index: usize) {
        let why = self.flows[index].app.failure().unwrap_or_default().to_owned();
        self.end_flow(index, &why);
    }

    #[cold]
    fn has_begun(&mut self, index: usize) {
        let (now, name) = (self.now, &self.scenario.flows[index].name);
        self.recorder.event(now, "start", &format!("flow {name}"), "");
        self.recorder.flow_started(now, index);
        self.flows[index].state = FlowState::Running;
        self.timeline.happened(now, &Reference::Flow(name.clone()), Edge::Start);
        self.network.agenda.set(CALENDAR, self.timeline.next());
    }

    pub(super) fn stop(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        if flow.state == FlowState::Ended {
            return;
        }
        let ran = flow.state == FlowState::Running;
        if flow.state != FlowState::Waiting {
            flow.app.stop(self.now);
            // It may have something to say before it is silent.
            self.schedule_flow(index);
        }
        // Whoever waits for its end waits for nothing more.
        self.end_flow(index, if ran { "stopped" } else { "stopped before it started" });
    }

    fn end_flow(&mut self, index: usize, how: &str) {
        self.note_end(index, how);
        let name = self.scenario.flows[index].name.clone();
        self.timeline.happened(self.now, &Reference::Flow(name), Edge::End);
        if self.flows[index].is_finite {
            self.unfinished -= 1;
            if self.unfinished == 0 {
                self.timeline.happened(self.now, &Reference::Workload, Edge::End);
            }
        }
        self.network.agenda.set(CALENDAR, self.timeline.next());
    }

    /// A flow ends, or the run does.
    pub(super) fn note_end(&mut self, index: usize, how: &str) {
        if self.flows[index].state == FlowState::Running {
            self.recorder.flow_row(self.now, index, &self.flows[index]);
        }
        self.flows[index].state = FlowState::Ended;
        let subject = format!("flow {}", self.scenario.flows[index].name);
        self.recorder.event(self.now, "end", &subject, how);
    }

    /// Makes sure that a flow is woken in time. Timers that moved later are left: they find out when they fire.
    #[inline]
    pub(super) fn schedule_flow(&mut self, index: usize) {
        self.wake_no_later(index, self.flows[index].app.next_timer());
    }

    /// Makes sure that a flow is woken by then.
    #[inline]
    pub(super) fn wake_no_later(&mut self, index: usize, at: Time) {
        if at < self.flow_agenda.time(index) {
            self.flow_agenda.set(index, at);
            self.network.agenda.set(self.network.slots.flows, self.flow_agenda.next().0);
        }
    }

    /// The flow that is next does what is due.
    pub(super) fn wake_flow(&mut self) {
        let (_, index) = self.flow_agenda.next();
        let flow = &mut self.flows[index];
        flow.app.on_timer(&mut HostTx::new(self.now, &mut flow.host, &mut self.network));
        self.note_failure(index);
        self.flow_agenda.set(index, self.flows[index].app.next_timer());
        self.network.agenda.set(self.network.slots.flows, self.flow_agenda.next().0);
    }
}
