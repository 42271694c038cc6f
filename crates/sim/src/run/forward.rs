//! Packets on their way: out of a port, through what stands between ports, into the next or to a host.

use super::Simulation;
use crate::app::App as _;
use crate::host::HostTx;
use crate::network::{Network, Slots};
use crate::packet::PacketBox;
use crate::topology::{HOST, Topology};
use sojourn_path::topology::Passed;
use sojourn_path::tunnel::strip;
use sojourn_path::{PathPacket as _, Poll, SkbCharge};

impl Simulation {
    /// Takes from a port what may leave now.
    #[inline]
    pub(super) fn drain(&mut self, port: usize) {
        loop {
            let Network { topology, agenda, tap, delays, .. } = &mut self.network;
            let Topology { nodes, air, .. } = topology;
            match nodes[port].port.poll_transmit(self.now, air) {
                Poll::Packet(packet, sojourn) => {
                    delays.left(self.now, port, packet.flow as usize, sojourn);
                    if let Some(tap) = tap {
                        tap.left(self.now, port, &packet);
                    }
                    self.forward(packet);
                }
                Poll::Later(at) => {
                    agenda.set(Slots::of_port(port), at);
                    break;
                }
            }
        }
        if self.has_own_devices && self.network.topology.nodes[port].own {
            self.tx_completions(port);
        }
    }

    /// What a device of a sending host is done with goes off the sockets' accounts, and they may send more.
    #[cold]
    #[inline(never)]
    fn tx_completions(&mut self, port: usize) {
        let Network { topology, agenda, .. } = &mut self.network;
        let device = &mut topology.nodes[port].port;
        // All of an exchange at once: the kernel's sockets go on when the interrupt is over.
        let mut done: Vec<SkbCharge> = Vec::new();
        while let Some(charge) = device.take_completion(self.now) {
            match done.iter_mut().find(|d| (d.flow, d.key) == (charge.flow, charge.key)) {
                Some(sum) => sum.bytes += charge.bytes,
                None => done.push(charge),
            }
        }
        let slot = Slots::of_port(port);
        agenda.set(slot, agenda.time(slot).min(device.next_completion()));
        for charge in done {
            let index = charge.flow as usize;
            let flow = &mut self.flows[index];
            let mut tx = HostTx::new(self.now, &mut flow.host, &mut self.network);
            flow.app.tx_completion(&mut tx, &charge);
            self.schedule_flow(index);
        }
    }

    /// A packet has left a port: on to the next, or to its host.
    #[inline]
    fn forward(&mut self, mut packet: PacketBox) {
        packet.position += 1;
        let routes = &self.network.topology.routes;
        let entry = routes[usize::from(packet.route)][usize::from(packet.position)];
        if entry.steps != 0 {
            self.go_through(packet);
        } else if entry.port == HOST {
            self.deliver_to_app(packet);
        } else {
            self.enqueue(usize::from(entry.port), packet);
        }
    }

    /// A packet has come to a port.
    #[inline(always)]
    fn enqueue(&mut self, port: usize, packet: PacketBox) {
        let Network { topology, agenda, tap, .. } = &mut self.network;
        if let Some(tap) = tap {
            tap.entered(self.now, port, &packet);
        }
        let node = &mut topology.nodes[port];
        node.port.accept(self.now, packet);
        let asleep = agenda.time(Slots::of_port(port)).is_never();
        // The host's NIC may have dropped it.
        if asleep || node.reorders || node.own {
            self.drain(port);
        }
    }

    /// What happens before a packet's next port, and before those behind it if there is a bypass.
    #[cold]
    fn go_through(&mut self, packet: PacketBox) {
        let (route, position) = (packet.route, packet.position);
        let passed = self.network.topology.pass(self.now, packet, route, position);
        let Some(Passed { mut packet, position, port }) = passed else { return };
        packet.position = position;
        if port == HOST {
            self.deliver_to_app(packet);
        } else {
            self.enqueue(usize::from(port), packet);
        }
    }

    /// A packet has reached its host.
    #[inline(never)]
    fn deliver_to_app(&mut self, mut packet: PacketBox) {
        let now = self.now;
        if let Some(tap) = &mut self.network.tap {
            tap.arrived(now, &packet);
        }
        // A host takes off what no far end took, without a check of its own.
        while packet.outer().is_some() {
            let _ = strip(&mut packet);
        }
        let index = packet.flow as usize;
        let flow = &mut self.flows[index];
        flow.host.arrived += 1;
        let mut tx = HostTx::new(now, &mut flow.host, &mut self.network);
        flow.app.on_packet(&mut tx, &packet);
        let (at, is_settled) = (flow.app.next_timer(), flow.is_settled());
        self.network.pool.unpack(packet);
        if is_settled {
            self.wake_no_later(index, at);
        } else {
            self.after_packet(index);
        }
    }
}
