//! The modelled hosts of all flows: when flows start, wake and end, and the packets that reach them.

use crate::app::App as _;
use crate::flow::{FlowRun, FlowState};
use crate::host::HostTx;
use crate::network::{CALENDAR, Network, Observers, flows_slot};
use crate::packet::PacketBox;
use crate::recorder::Recorder;
use sojourn_engine::Timeline;
use sojourn_model::{Edge, Reference, Scenario};
use sojourn_net::{Agenda, Hosts};
use sojourn_path::tunnel::strip;
use sojourn_path::{PathPacket as _, SkbCharge};
use sojourn_units::Time;
use std::sync::Arc;

/// The flows of a run with their hosts, and the records of their starts and ends.
#[derive(Debug)]
pub(super) struct Flows {
    pub(super) scenario: Arc<Scenario>,
    pub(super) runs: Vec<FlowRun>,
    /// The flows' own agenda; its next time is one slot of the network's.
    pub(super) agenda: Agenda,
    pub(super) timeline: Timeline,
    pub(super) recorder: Recorder,
    /// Flows that end by themselves and have not yet.
    pub(super) unfinished: usize,
}

impl Hosts<PacketBox, Observers> for Flows {
    #[inline(never)]
    fn deliver(&mut self, network: &mut Network, now: Time, mut packet: PacketBox) {
        if let Some(tap) = &mut network.observer.tap {
            tap.arrived(now, &packet);
        }
        // A host removes the headers of tunnels that no far end removed, without checks of its own.
        while packet.outer().is_some() {
            let _ = strip(&mut packet);
        }
        let index = packet.flow as usize;
        let flow = &mut self.runs[index];
        flow.host.arrived += 1;
        let mut tx = HostTx::new(now, &mut flow.host, network);
        flow.app.on_packet(&mut tx, &packet);
        let (at, is_settled) = (flow.app.next_timer(), flow.is_settled());
        network.observer.pool.unpack(packet);
        if is_settled {
            self.wake_no_later(network, index, at);
        } else {
            self.after_packet(network, now, index);
        }
    }

    #[cold]
    fn tx_completion(&mut self, network: &mut Network, now: Time, charge: SkbCharge) {
        let index = charge.flow as usize;
        let flow = &mut self.runs[index];
        let mut tx = HostTx::new(now, &mut flow.host, network);
        flow.app.tx_completion(&mut tx, &charge);
        self.schedule_flow(network, index);
    }
}

impl Flows {
    /// A flow's application starts: the flow begins at once, unless its two ends have to agree on it first.
    pub(super) fn start(&mut self, network: &mut Network, now: Time, index: usize) {
        let flow = &mut self.runs[index];
        if flow.state != FlowState::Waiting {
            return;
        }
        flow.state = FlowState::Agreeing;
        flow.app.start(&mut HostTx::new(now, &mut flow.host, network));
        self.after_packet(network, now, index);
    }

    /// Looks at the changes that an event may have made to a flow: whether it has begun or ended, and when it wakes.
    pub(super) fn after_packet(&mut self, network: &mut Network, now: Time, index: usize) {
        let flow = &self.runs[index];
        if flow.state == FlowState::Agreeing && flow.app.has_begun() {
            self.has_begun(network, now, index);
        } else if flow.is_finite && flow.state == FlowState::Running && flow.app.is_finished() {
            self.end_flow(network, now, index, "finished");
        }
        self.note_failure(network, now, index);
        self.schedule_flow(network, index);
    }

    /// Ends a flow if its application cannot go on.
    #[inline]
    fn note_failure(&mut self, network: &mut Network, now: Time, index: usize) {
        let flow = &self.runs[index];
        if flow.app.failure().is_some() && flow.state == FlowState::Running {
            self.fail(network, now, index);
        }
    }

    #[cold]
    fn fail(&mut self, network: &mut Network, now: Time, index: usize) {
        let why = self.runs[index].app.failure().unwrap_or_default().to_owned();
        self.end_flow(network, now, index, &why);
    }

    #[cold]
    fn has_begun(&mut self, network: &mut Network, now: Time, index: usize) {
        let name = &self.scenario.flows[index].name;
        if !self.runs[index].app.is_elsewhere() {
            self.recorder.event(now, "start", &format!("flow {name}"), "");
        }
        self.recorder.flow_started(now, index);
        self.runs[index].state = FlowState::Running;
        self.timeline.happened(now, &Reference::Flow(name.clone()), Edge::Start);
        network.agenda.set(CALENDAR, self.timeline.next());
    }

    pub(super) fn stop(&mut self, network: &mut Network, now: Time, index: usize) {
        let flow = &mut self.runs[index];
        if flow.state == FlowState::Ended {
            return;
        }
        let ran = flow.state == FlowState::Running;
        if flow.state != FlowState::Waiting {
            flow.app.stop(now);
            // It may have something to say before it is silent.
            self.schedule_flow(network, index);
        }
        // Whoever waits for its end waits for nothing more.
        self.end_flow(
            network,
            now,
            index,
            if ran { "stopped" } else { "stopped before it started" },
        );
    }

    fn end_flow(&mut self, network: &mut Network, now: Time, index: usize, how: &str) {
        self.note_end(now, index, how);
        let name = self.scenario.flows[index].name.clone();
        self.timeline.happened(now, &Reference::Flow(name), Edge::End);
        if self.runs[index].is_finite {
            self.unfinished -= 1;
            if self.unfinished == 0 {
                self.timeline.happened(now, &Reference::Workload, Edge::End);
            }
        }
        network.agenda.set(CALENDAR, self.timeline.next());
    }

    /// A flow ends, or the run does.
    pub(super) fn note_end(&mut self, now: Time, index: usize, how: &str) {
        if self.runs[index].state == FlowState::Running {
            self.recorder.flow_row(now, index, &self.runs[index]);
        }
        self.runs[index].state = FlowState::Ended;
        if self.runs[index].app.is_elsewhere() {
            return;
        }
        let subject = format!("flow {}", self.scenario.flows[index].name);
        self.recorder.event(now, "end", &subject, how);
    }

    /// Makes sure that a flow is woken in time. Timers that moved later are left: they find out when they fire.
    #[inline]
    pub(super) fn schedule_flow(&mut self, network: &mut Network, index: usize) {
        self.wake_no_later(network, index, self.runs[index].app.next_timer());
    }

    /// Makes sure that a flow is woken by then.
    #[inline]
    pub(super) fn wake_no_later(&mut self, network: &mut Network, index: usize, at: Time) {
        if at < self.agenda.time(index) {
            self.agenda.set(index, at);
            let slot = flows_slot(network);
            network.agenda.set(slot, self.agenda.next().0);
        }
    }

    /// The flow that is next does what is due.
    pub(super) fn wake_flow(&mut self, network: &mut Network, now: Time) {
        let (_, index) = self.agenda.next();
        let flow = &mut self.runs[index];
        flow.app.on_timer(&mut HostTx::new(now, &mut flow.host, network));
        self.note_failure(network, now, index);
        self.agenda.set(index, self.runs[index].app.next_timer());
        let slot = flows_slot(network);
        network.agenda.set(slot, self.agenda.next().0);
    }
}
