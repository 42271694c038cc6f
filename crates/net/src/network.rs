//! The forwarding loop: a port releases a packet, the route leads it to the next port or to its host.

use crate::agenda::Agenda;
use sojourn_model::Action;
use sojourn_path::topology::{Basis, ChangeError, HOST, Passed, Topology};
use sojourn_path::{PathPacket, Poll, SkbCharge, Sojourn};
use sojourn_units::Time;

/// A packet that knows its route.
pub trait Routed: PathPacket {
    /// The number of its route in [`Topology::routes`].
    fn route(&self) -> u16;
    /// The entry of the route that it has reached: 0 in the first port.
    fn position(&self) -> u8;
    /// Sets [`Routed::position`].
    fn set_position(&mut self, position: u8);
}

/// Everything outside the network: the hosts, of whatever kind. The network hands packets over; which host takes a
/// packet is up to the implementation.
pub trait Hosts<P, O = ()> {
    /// A packet has passed the last entry of its route. The host may send at once ([`Network::send`]).
    fn deliver(&mut self, network: &mut Network<P, O>, now: Time, packet: P);

    /// A device of a sending host has finished with these bytes, so their socket may send more. Devices of one host
    /// report all bytes of one instant and one connection together. Only topologies with host devices
    /// ([`HostSide::queue`](sojourn_path::topology::HostSide::queue)) call it.
    fn tx_completion(&mut self, network: &mut Network<P, O>, now: Time, charge: SkbCharge) {
        let _ = (network, now, charge);
    }
}

/// Sees every packet that enters or leaves a port, for captures and distributions of delays. It changes nothing.
pub trait Observer<P> {
    /// A packet arrives at a port, before the queue accepts or drops it.
    fn entered(&mut self, now: Time, port: usize, packet: &P) {
        let _ = (now, port, packet);
    }

    /// A packet leaves a port after this time in its discipline.
    fn left(&mut self, now: Time, port: usize, packet: &P, sojourn: Sojourn) {
        let _ = (now, port, packet, sojourn);
    }
}

/// Observes nothing.
impl<P> Observer<P> for () {}

/// The agenda's slot for the owner's calendar. It acts before all ports of the same instant.
pub const CALENDAR: usize = 0;
/// The slot of the first port.
const PORTS: usize = 1;

/// The agenda's slots: the owner's calendar ([`CALENDAR`]), the ports, the queues' timers, then the owner's other slots.
/// At one instant they act in this order.
#[derive(Clone, Copy, Debug)]
pub struct Slots {
    /// The first queue's timer.
    timers: usize,
    /// The first of the owner's other slots.
    pub others: usize,
}

impl Slots {
    /// The slot of a port.
    #[inline]
    const fn of_port(port: usize) -> usize {
        PORTS + port
    }

    /// The port of a slot, if the slot belongs to a port.
    #[inline]
    pub const fn port(&self, slot: usize) -> Option<usize> {
        if slot >= PORTS && slot < self.timers { Some(slot - PORTS) } else { None }
    }

    /// The port of a slot, if the slot belongs to the timer of a port's queue.
    #[inline]
    pub const fn timer(&self, slot: usize) -> Option<usize> {
        if slot >= self.timers && slot < self.others { Some(slot - self.timers) } else { None }
    }
}

/// Ports, routes, and the times at which they act.
#[derive(Debug)]
pub struct Network<P, O = ()> {
    /// Ports and routes.
    pub topology: Topology<P>,
    /// The times of all slots.
    pub agenda: Agenda,
    /// Which slot belongs to what.
    pub slots: Slots,
    /// Sees every packet.
    pub observer: O,
    /// The first port of each route.
    entries: Vec<u16>,
    /// Whether any port is a device of a sending host.
    has_own_devices: bool,
    /// The time of the event that the ports act on.
    now: Time,
}

impl<P, O> Network<P, O> {
    /// A network at rest. The owner gets `others` slots of its own behind those of ports and timers
    /// ([`Slots::others`]), besides [`CALENDAR`].
    pub fn new(topology: Topology<P>, observer: O, others: usize) -> Self {
        let timers = PORTS + topology.nodes.len();
        let slots = Slots { timers, others: timers + topology.nodes.len() };
        let entries = topology.routes.iter().map(|route| route[0].port).collect();
        let agenda = Agenda::new(slots.others + others);
        let has_own_devices = topology.nodes.iter().any(|node| node.own);
        Self { topology, agenda, slots, observer, entries, has_own_devices, now: Time::ZERO }
    }
}

impl<P: Routed, O: Observer<P>> Network<P, O> {
    /// A host sends a packet, which enters the first port of its route at `at`. Until then the port holds it.
    #[inline(always)]
    pub fn send(&mut self, now: Time, at: Time, packet: P) {
        let port = usize::from(self.entries[usize::from(packet.route())]);
        let node = &mut self.topology.nodes[port];
        node.port.admit(at, packet);
        // A port that is awake knows when its next packet leaves, unless this one may overtake it.
        let slot = Slots::of_port(port);
        if node.reorders || self.agenda.time(slot).is_never() {
            self.agenda.set(slot, now);
        }
    }

    /// Lets ports and timers act on everything that is due at `until` or before, and returns the time of the next event:
    /// [`Time::NEVER`] if all are idle. For owners without slots of their own; an owner with slots asks
    /// [`Agenda::next`] and calls [`Network::act`].
    ///
    /// # Panics
    /// If a slot of the owner is due.
    pub fn advance(&mut self, until: Time, hosts: &mut impl Hosts<P, O>) -> Time {
        loop {
            let (at, slot) = self.agenda.next();
            if at > until {
                return at;
            }
            let is_mine = self.act(at, slot, hosts);
            assert!(is_mine, "slot {slot} belongs to the owner, who has to act on it");
        }
    }

    /// Lets the port or timer of this slot act; false if the slot belongs to the owner.
    #[inline]
    pub fn act(&mut self, now: Time, slot: usize, hosts: &mut impl Hosts<P, O>) -> bool {
        self.now = now;
        if let Some(port) = self.slots.port(slot) {
            self.drain(port, hosts);
            return true;
        }
        self.act_on_timer(now, slot)
    }

    #[inline(never)]
    fn act_on_timer(&mut self, now: Time, slot: usize) -> bool {
        let Some(port) = self.slots.timer(slot) else { return false };
        self.topology.nodes[port].port.on_timer(now);
        self.schedule_queue_timer(port);
        true
    }

    /// Notes when a queue's timer wants to be called.
    fn schedule_queue_timer(&mut self, port: usize) {
        let at = self.topology.nodes[port].port.next_timer();
        self.agenda.set(self.slots.timers + port, at);
    }

    /// Notes when the timers of all queues want to be called: once, before the first event.
    pub fn schedule_queue_timers(&mut self) {
        for port in 0..self.topology.nodes.len() {
            self.schedule_queue_timer(port);
        }
    }

    /// A port's discipline may let a packet go now, for a reason from outside the network.
    pub fn ask(&mut self, now: Time, port: usize) {
        self.agenda.no_later_than(Slots::of_port(port), now);
    }

    /// An event of the experiment changes links, queues or middleboxes.
    ///
    /// # Errors
    /// A change that an element refuses.
    pub fn change(
        &mut self,
        now: Time,
        action: &Action,
        basis: &Basis<'_, P>,
        hosts: &mut impl Hosts<P, O>,
    ) -> Result<(), ChangeError> {
        self.now = now;
        self.topology.change_between(now, action)?;
        for port in self.topology.ports_of(action) {
            self.topology.change_port(now, port, action, basis)?;
            self.schedule_queue_timer(port);
            self.drain(port, hosts);
        }
        Ok(())
    }

    /// Takes all packets from a port that may leave self.now.
    #[inline]
    fn drain(&mut self, port: usize, hosts: &mut impl Hosts<P, O>) {
        loop {
            let Topology { nodes, air, .. } = &mut self.topology;
            match nodes[port].port.poll_transmit(self.now, air) {
                Poll::Packet(packet, sojourn) => {
                    self.observer.left(self.now, port, &packet, sojourn);
                    self.forward(packet, hosts);
                }
                Poll::Later(at) => {
                    self.agenda.set(Slots::of_port(port), at);
                    break;
                }
            }
        }
        if self.has_own_devices && self.topology.nodes[port].own {
            self.tx_completions(port, hosts);
        }
    }

    /// Reports the bytes that a host's device has finished with.
    #[cold]
    #[inline(never)]
    fn tx_completions(&mut self, port: usize, hosts: &mut impl Hosts<P, O>) {
        let device = &mut self.topology.nodes[port].port;
        // All of one exchange together: the kernel's sockets continue when the interrupt is over.
        let mut done: Vec<SkbCharge> = Vec::new();
        while let Some(charge) = device.take_completion(self.now) {
            match done.iter_mut().find(|d| (d.flow, d.key) == (charge.flow, charge.key)) {
                Some(sum) => sum.bytes += charge.bytes,
                None => done.push(charge),
            }
        }
        let slot = Slots::of_port(port);
        self.agenda.no_later_than(slot, self.topology.nodes[port].port.next_completion());
        for charge in done {
            hosts.tx_completion(self, self.now, charge);
        }
    }

    /// A packet has left a port: it goes to the next port or to its host.
    #[inline]
    fn forward(&mut self, mut packet: P, hosts: &mut impl Hosts<P, O>) {
        let position = packet.position() + 1;
        packet.set_position(position);
        let entry = self.topology.routes[usize::from(packet.route())][usize::from(position)];
        if entry.steps != 0 {
            self.go_through(packet, hosts);
        } else if entry.port == HOST {
            hosts.deliver(self, self.now, packet);
        } else {
            self.enqueue(usize::from(entry.port), packet, hosts);
        }
    }

    /// A packet arrives at a port.
    #[inline(always)]
    fn enqueue(&mut self, port: usize, packet: P, hosts: &mut impl Hosts<P, O>) {
        self.observer.entered(self.now, port, &packet);
        let node = &mut self.topology.nodes[port];
        node.port.accept(self.now, packet);
        let asleep = self.agenda.time(Slots::of_port(port)).is_never();
        // The host's NIC may have dropped it.
        if asleep || node.reorders || node.own {
            self.drain(port, hosts);
        }
    }

    /// Middleboxes before a packet's next port, and before the ports behind it if there is a bypass.
    #[cold]
    fn go_through(&mut self, packet: P, hosts: &mut impl Hosts<P, O>) {
        let (route, position) = (packet.route(), packet.position());
        let passed = self.topology.pass(self.now, packet, route, position);
        let Some(Passed { mut packet, position, port }) = passed else { return };
        packet.set_position(position);
        if port == HOST {
            hosts.deliver(self, self.now, packet);
        } else {
            self.enqueue(usize::from(port), packet, hosts);
        }
    }
}
