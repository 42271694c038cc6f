//! The network of a run ([`sojourn_net`]) with the observers that the simulator attaches to it.

use crate::packet::{Packet, PacketBox, Pool};
use crate::tap::Tap;
use sojourn_net::Observer;
use sojourn_path::Sojourn;
use sojourn_record::Delays;
use sojourn_units::Time;
use sojourn_wire::Frame;
use std::collections::VecDeque;

pub(crate) use sojourn_net::CALENDAR;

/// Everything between hosts.
pub(crate) type Network = sojourn_net::Network<PacketBox, Observers>;

/// Slots behind those of ports and timers: flows, conditions, the recorder.
pub(crate) const OTHER_SLOTS: usize = 3;

/// The slot of all flows.
#[inline]
pub(crate) fn flows_slot(network: &Network) -> usize {
    network.slots.others
}

/// The slot of events that wait for a number.
pub(crate) fn conditions_slot(network: &Network) -> usize {
    network.slots.others + 1
}

/// The recorder's slot.
pub(crate) fn recorder_slot(network: &Network) -> usize {
    network.slots.others + 2
}

/// Captures, distributions of delays, and the boxes that packets travel in.
#[derive(Debug)]
pub(crate) struct Observers {
    /// Boxes for packets.
    pub(crate) pool: Pool,
    /// The captures, if the user asked for any.
    pub(crate) tap: Option<Box<Tap>>,
    /// Delays of every packet.
    pub(crate) delays: Delays,
    /// Frames that have come to hosts outside of the simulator, and that these have not taken yet.
    pub(crate) handed_out: VecDeque<HandedOut>,
}

/// A frame that has come to a host outside of the simulator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HandedOut {
    /// The number of its flow.
    pub flow: usize,
    /// Whether its host is the one that sends the flow's data.
    pub to_sender: bool,
    /// The frame.
    pub frame: Frame,
}

impl Observer<PacketBox> for Observers {
    #[inline(always)]
    fn entered(&mut self, now: Time, port: usize, packet: &PacketBox) {
        if let Some(tap) = &mut self.tap {
            tap.entered(now, port, packet);
        }
    }

    #[inline(always)]
    fn left(&mut self, now: Time, port: usize, packet: &PacketBox, sojourn: Sojourn) {
        let class = || sojourn.class.map(|class| class.name);
        self.delays.left(now, port, packet.flow as usize, sojourn.waited, class);
        if let Some(tap) = &mut self.tap {
            tap.left(now, port, packet);
        }
    }
}

/// A host sends a packet, which enters the first port of its route at `at`.
#[inline(always)]
pub(crate) fn send(network: &mut Network, now: Time, at: Time, packet: Packet) {
    let mut packet = network.observer.pool.pack(packet);
    packet.sent = now;
    if let Some(tap) = &mut network.observer.tap {
        (packet.ace, packet.id, packet.window, packet.opposite) = (0, 0, 0, 0);
        tap.sent(now, &mut packet);
    }
    network.send(now, at, packet);
}
