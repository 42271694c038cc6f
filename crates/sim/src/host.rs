//! The hosts of a flow, and the way out of them.

use crate::network::{HandedOut, Network, send};
use crate::packet::{Body, Owner, Packet};
use sojourn_record::Distribution;
use sojourn_units::{Dscp, Ecn, Random, Span, Time};
use sojourn_wire::{Frame, Transport};

/// What the two hosts of a flow have, whatever the application on them. Every packet comes by here, and so it is kept
/// small.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Host {
    /// The flow that their packets are of.
    pub(crate) owner: Owner,
    /// Route of data.
    pub(crate) there: u16,
    /// Route of what comes back.
    pub(crate) back: u16,
    /// The DSCP of their packets, both ways.
    pub(crate) dscp: Dscp,
    /// A packet leaves up to this many nanoseconds late.
    pub(crate) jitter: u64,
    /// What they draw from.
    pub(crate) random: Random,
    /// Packets sent, both ways.
    pub(crate) sent: u64,
    /// Packets that have arrived, both ways.
    pub(crate) arrived: u64,
    /// What the application measures: RTT samples, or one-way delays.
    pub(crate) delays: Box<Distribution>,
}

/// The way out of a flow's hosts: what an application sends by, and tells its measurements to. A send schedules the port
/// that it goes into.
#[derive(Debug)]
pub struct HostTx<'a> {
    now: Time,
    pub(crate) host: &'a mut Host,
    network: &'a mut Network,
}

impl<'a> HostTx<'a> {
    /// Out of these hosts, now.
    #[inline]
    pub(crate) fn new(now: Time, host: &'a mut Host, network: &'a mut Network) -> Self {
        Self { now, host, network }
    }
}

impl HostTx<'_> {
    /// Now.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// What the hosts of this flow draw from.
    pub fn random(&mut self) -> &mut Random {
        &mut self.host.random
    }

    /// Sends datagram `number` with `payload` bytes of UDP payload: from the host that sends the flow's data, or back
    /// to it.
    pub fn send_datagram(&mut self, number: u32, payload: u32, ecn: Ecn, back: bool) {
        let host = &*self.host;
        let route = if back { host.back } else { host.there };
        let body = Body::Datagram { number, sent: self.now };
        let packet = Packet::udp(host.owner, route, host.dscp, ecn, payload, body);
        self.send(if back { packet.turned() } else { packet });
    }

    /// The same for a datagram with bytes that the other end reads ([`Packet::payload`]).
    pub fn send_payload(&mut self, number: u32, payload: &[u8], ecn: Ecn, back: bool) {
        let host = &*self.host;
        let route = if back { host.back } else { host.there };
        let body = Body::Datagram { number, sent: self.now };
        let length = payload.len() as u32;
        let packet = Packet::udp(host.owner, route, host.dscp, ecn, length, body).carrying(payload);
        self.send(if back { packet.turned() } else { packet });
    }

    /// Sends an IP packet, which the other end reads byte by byte, with the hosts' DSCP and this codepoint in its header.
    pub fn send_ip(&mut self, packet: &[u8], ecn: Ecn, back: bool) {
        let host = &*self.host;
        let route = if back { host.back } else { host.there };
        let is_v6 = packet.first().is_some_and(|first| first >> 4 == 6);
        let ether_type: [u8; 2] = if is_v6 { [0x86, 0xdd] } else { [0x08, 0x00] };
        let mut frame = Frame::new([&[0; 12][..], &ether_type, packet].concat());
        frame.set_ecn(ecn);
        frame.set_dscp(host.dscp);
        self.send(Packet::of_frame(host.owner, route, frame, back));
    }

    /// Sends a packet by the route that it names.
    pub(crate) fn send(&mut self, packet: Packet) {
        self.send_here(packet);
    }

    /// The same where data and acknowledgements leave: in line, so that the packet comes into being in its box. A copy
    /// reads wide what has just been written narrow, and the processor waits for that.
    #[inline(always)]
    pub(crate) fn send_here(&mut self, packet: Packet) {
        let host = &mut *self.host;
        host.sent += 1;
        let late = if host.jitter == 0 { 0 } else { host.random.below(host.jitter) };
        send(self.network, self.now, self.now + Span::from_nanos(late), packet);
    }

    /// A frame has come to a host outside of the simulator.
    pub(crate) fn hand_out(&mut self, packet: &Packet) {
        let Some(bytes) = packet.payload() else { return };
        let mut frame = Frame::new(bytes.to_vec());
        frame.set_ecn(packet.ecn_field());
        frame.set_dscp(packet.dscp_field());
        let to_sender = packet.is_from_receiver();
        let carries = packet.carries_data().unwrap_or_else(|| match frame.transport() {
            Some(Transport::Tcp) => frame.tcp().is_some_and(|tcp| tcp.payload > 0),
            Some(Transport::Udp) => true,
            None => false,
        });
        if carries && !to_sender {
            self.note_delivery(packet);
        }
        let flow = packet.flow as usize;
        self.network.observer.handed_out.push_back(HandedOut { flow, to_sender, frame });
    }

    /// A packet with data has come from its source to its destination.
    #[inline]
    pub fn note_delivery(&mut self, packet: &Packet) {
        let flow = self.host.owner.flow as usize;
        self.network.observer.delays.arrived(self.now, flow, self.now - packet.sent);
    }

    /// The application has measured a delay: a round trip, or one way.
    #[inline]
    pub fn note_delay(&mut self, delay: Span) {
        if self.now >= self.network.observer.delays.warmup() {
            self.host.delays.add(delay);
        }
    }
}
