//! Flows with hosts outside of the simulator ([`By::Kernel`](sojourn_model::By::Kernel)).
//!
//! Whoever runs such hosts keeps time with the run: it advances the run to the time at which a host acts, sends the host's
//! frames, and takes those that have come. [`Simulation::next_event`] says how far a host may go by itself.

use super::Simulation;
use crate::host::HostTx;
use crate::network::HandedOut;
use crate::packet::Packet;
use sojourn_units::Time;
use sojourn_wire::Frame;

impl Simulation {
    /// When something happens next; [`Time::NEVER`] if nothing does.
    pub fn next_event(&self) -> Time {
        self.network.agenda.next().0
    }

    /// A host of such a flow sends a frame, now: the host that receives the flow's data if `from_receiver`, else the one
    /// that sends it. Queues tell connections apart by their numbers; the flow's own is 0.
    ///
    /// # Panics
    /// If there is no flow of this number.
    pub fn send_frame(&mut self, flow: usize, from_receiver: bool, connection: u32, frame: Frame) {
        let host = &mut self.flows.runs[flow].host;
        let owner = host.owner.connection(connection);
        let route = if from_receiver { host.back } else { host.there };
        let packet = Packet::of_frame(owner, route, frame, from_receiver);
        HostTx::new(self.now, host, &mut self.network).send(packet);
    }

    /// The same for a frame with the headers of a tunnel that ends at these hosts. Queues tell it apart by these headers, as a
    /// router does; `carries` says whether an application's data are in it.
    ///
    /// # Panics
    /// If there is no flow of this number.
    pub fn send_outer_frame(
        &mut self,
        flow: usize,
        from_receiver: bool,
        frame: Frame,
        carries: bool,
    ) {
        let host = &mut self.flows.runs[flow].host;
        let route = if from_receiver { host.back } else { host.there };
        let packet = Packet::of_outer_frame(host.owner, route, frame, from_receiver, carries);
        HostTx::new(self.now, host, &mut self.network).send(packet);
    }

    /// The next of the frames that have come to hosts of such flows, in the order of their arrival.
    pub fn take_frame(&mut self) -> Option<HandedOut> {
        self.network.observer.handed_out.pop_front()
    }
}
