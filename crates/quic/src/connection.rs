//! What every implementation's connection is asked.

use sojourn_model::{Quic, TcpStack};
use sojourn_units::{Ecn, Span, Time};
use std::net::SocketAddr;

/// An end of a connection, by the way of its flow's data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Who sends the data.
    Sender,
    /// Who receives them.
    Receiver,
}

/// What an end sends: of QUIC a datagram, of TCP a packet.
#[derive(Debug)]
pub struct Datagram<'a> {
    /// Who sends it.
    pub from: End,
    /// Its codepoint.
    pub ecn: Ecn,
    /// The payload of a UDP datagram; of TCP a whole IP packet.
    pub payload: &'a [u8],
}

/// What is known of a connection. Packets and windows are the sender's.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Measured {
    /// The newest RTT sample.
    pub rtt: Option<Span>,
    /// How many samples there have been.
    pub samples: u64,
    /// The smoothed RTT.
    pub srtt: Option<Span>,
    /// The largest payload that the sender uses now, bytes: what windows are counted in.
    pub packet: u64,
    /// Congestion window, bytes; none if the implementation keeps it to itself.
    pub window: Option<u64>,
    /// Slow-start threshold, bytes; none while there is none, or if the control has none.
    pub ssthresh: Option<u64>,
    /// Bytes in flight.
    pub in_flight: u64,
    /// The pacing rate that the congestion control asks for, bits per second. Without one the implementation derives the
    /// rate from its window.
    pub pacing: Option<u64>,
    /// The newest delivery-rate sample, bits per second of QUIC packets.
    pub delivery_rate: Option<u64>,
    /// Packets that were acknowledged.
    pub acked: u64,
    /// Packets that were held for lost; 0 if the implementation keeps that to itself.
    pub lost: u64,
    /// Packets with data that had been sent before.
    pub repeated: u64,
    /// Congestion events by loss.
    pub loss_events: u64,
    /// Congestion events by ECN.
    pub ecn_events: u64,
    /// Persistent congestion (RFC 9002 §7.6).
    pub persistent: u64,
    /// Why the window is held down now.
    pub reduced: Option<Reduced>,
    /// Whether the handshake is complete at the sender.
    pub is_open: bool,
    /// Whether the connection is over: closed, or given up.
    pub is_over: bool,
}

/// Why a window is held down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reduced {
    /// Packets were marked.
    ByEcn,
    /// Packets were lost.
    ByLoss,
}

/// Where datagrams go.
pub type Out<'a> = &'a mut dyn FnMut(Datagram<'_>);

/// A connection, both ends.
pub trait Connection: core::fmt::Debug + Send {
    /// The client connects.
    fn open(&mut self, now: Time, out: Out<'_>);

    /// The sender's application closes the connection at the next call of [`Connection::on_timer`], which is due now.
    fn stop(&mut self, now: Time);

    /// A datagram, or of TCP an IP packet, has reached this end.
    fn receive(&mut self, now: Time, at: End, ecn: Ecn, payload: &[u8], out: Out<'_>);

    /// When [`Connection::on_timer`] is to be called; [`Time::NEVER`] if not.
    fn next_timer(&self) -> Time;

    /// Does what is due.
    fn on_timer(&mut self, now: Time, out: Out<'_>);

    /// Whether the sender's application has nothing more to send and knows that everything arrived.
    fn is_finished(&self) -> bool;

    /// Why an end gave the connection up, if one did: which end, and what the implementation says. That an application closed
    /// it is none.
    fn failure(&self) -> Option<&str>;

    /// Bytes that the receiver's application has read.
    fn delivered_bytes(&self) -> u64;

    /// What is known of it now.
    fn measured(&self) -> Measured;

    /// The numbers that the sender's control tells of itself, by their names ([`crate::Control::gauges`]).
    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64));
}

/// A connection of checked settings, closed. `upload` says that the client sends; the seed and the flow's name say what is
/// drawn.
///
/// # Panics
/// There is no such implementation or congestion control: [`crate::Stack`] says before.
pub fn connect(quic: &Quic, upload: bool, seed: u64, flow: &str) -> Box<dyn Connection> {
    match quic.stack.as_str() {
        "quinn" => Box::new(super::quinn::Ends::new(quic, upload, seed, flow)),
        "noq" => Box::new(super::noq::Ends::new(quic, upload, seed, flow)),
        other => panic!("no QUIC stack \"{other}\": the settings were not checked"),
    }
}

/// The same of TCP, between these addresses of the end that sends the data and of the one that receives them; both are of
/// one version of IP.
///
/// # Panics
/// There is no such implementation or congestion control: [`crate::Stack`] says before.
pub fn connect_tcp(
    tcp: &TcpStack,
    addresses: [SocketAddr; 2],
    upload: bool,
    seed: u64,
    flow: &str,
) -> Box<dyn Connection> {
    match tcp.stack.as_str() {
        "smoltcp" => Box::new(super::smoltcp::Ends::new(tcp, addresses, upload, seed, flow)),
        other => panic!("no TCP stack \"{other}\": the settings were not checked"),
    }
}
