//! What lies between hosts: ports and routes, the boxes that packets travel in, and when each port acts next.
//!
//! Invariant: a port that holds a packet from a host has a time in the agenda. [`Network::send`] sees to it, so whoever
//! sends need not.

use crate::agenda::Agenda;
use crate::delays::Delays;
use crate::packet::{Packet, Pool};
use crate::tap::Tap;
use crate::topology::Topology;
use sojourn_units::Time;

/// The agenda's slots. At one time the calendar is first, then come ports, queues' timers, flows, conditions, and the
/// recorder last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots {
    /// The first queue's timer.
    pub(crate) timers: usize,
    /// That of all flows.
    pub(crate) flows: usize,
    /// That of events that wait for a number.
    pub(crate) conditions: usize,
    /// The recorder's.
    pub(crate) recorder: usize,
}

/// The slot of starts, stops and events.
pub(crate) const CALENDAR: usize = 0;
/// The slot of the first port.
const PORTS: usize = 1;

impl Slots {
    fn new(ports: usize) -> Self {
        let timers = PORTS + ports;
        let flows = timers + ports;
        Self { timers, flows, conditions: flows + 1, recorder: flows + 2 }
    }

    /// A port's.
    #[inline]
    pub(crate) const fn of_port(port: usize) -> usize {
        PORTS + port
    }

    /// The port that a slot is of, if it is one's.
    #[inline]
    pub(crate) const fn port(&self, slot: usize) -> Option<usize> {
        if slot >= PORTS && slot < self.timers { Some(slot - PORTS) } else { None }
    }

    const fn count(self) -> usize {
        self.recorder + 1
    }
}

/// Everything between hosts.
#[derive(Debug)]
pub(crate) struct Network {
    /// Ports and routes.
    pub(crate) topology: Topology,
    /// Who acts next.
    pub(crate) agenda: Agenda,
    /// Whose slot is where.
    pub(crate) slots: Slots,
    /// Boxes for packets.
    pub(crate) pool: Pool,
    /// Who wants to have the packets, if anybody does.
    pub(crate) tap: Option<Box<Tap>>,
    /// Delays of every packet.
    pub(crate) delays: Delays,
    /// The first port of each route.
    entries: Vec<u16>,
}

impl Network {
    /// At rest.
    pub(crate) fn new(topology: Topology, tap: Option<Box<Tap>>, delays: Delays) -> Self {
        let slots = Slots::new(topology.nodes.len());
        let entries = topology.routes.iter().map(|route| route[0].port).collect();
        let agenda = Agenda::new(slots.count());
        Self { topology, agenda, slots, pool: Pool::default(), tap, delays, entries }
    }

    /// A host sends a packet, which enters the first port of its route at `at`.
    #[inline(always)]
    pub(crate) fn send(&mut self, now: Time, at: Time, packet: Packet) {
        let port = usize::from(self.entries[usize::from(packet.route)]);
        let mut packet = self.pool.pack(packet);
        packet.sent = now;
        if let Some(tap) = &mut self.tap {
            (packet.ace, packet.id, packet.window, packet.beside) = (0, 0, 0, 0);
            tap.sent(now, &mut packet);
        }
        let node = &mut self.topology.nodes[port];
        node.port.admit(at, packet);
        // One that is awake knows when its next packet leaves, unless this one may overtake it.
        let slot = Slots::of_port(port);
        if node.reorders || self.agenda.time(slot).is_never() {
            self.agenda.set(slot, now);
        }
    }

    /// Notes when a queue's timer wants to be called.
    pub(crate) fn schedule_queue_timer(&mut self, port: usize) {
        let at = self.topology.nodes[port].port.next_timer();
        self.agenda.set(self.slots.timers + port, at);
    }
}
