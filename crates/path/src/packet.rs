//! What a path asks of a packet, and what it notes on it.

use sojourn_qdisc::{Class, Packet};
use sojourn_units::{Dscp, Ecn, Span, Time};

/// An outer header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outer {
    /// The tunnel.
    pub tunnel: u16,
    /// The outer flow: what [`sojourn_qdisc::Packet::flow_key`] is between the ends.
    pub key: u64,
    /// The packet's number in the tunnel, from 0.
    pub sequence: u64,
    /// Bytes that the packet has grown by, padding included.
    pub growth: u32,
    /// Outer ECN field at the near end.
    pub ecn: Ecn,
    /// Outer DSCP.
    pub dscp: Dscp,
}

/// What is taken off a socket's account when its host's NIC is done with a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SkbCharge {
    /// The number of its flow.
    pub flow: u32,
    /// Which of the flow's connections.
    pub key: u32,
    /// Bytes on the account.
    pub bytes: u64,
}

/// A packet's time in a discipline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sojourn {
    /// From entering to leaving, shaper included.
    pub waited: Span,
    /// The class that it left from, if the discipline has any.
    pub class: Option<&'static Class>,
}

/// A packet that remembers its flow, and when it entered its present port.
pub trait PathPacket: Packet {
    /// When it entered.
    fn entered(&self) -> Time;
    /// Notes [`PathPacket::entered`].
    fn set_entered(&mut self, at: Time);
    /// The number of its flow.
    fn flow(&self) -> usize;
    /// Whether it can be seen to be a SYN or SYN/ACK; never inside a tunnel.
    fn is_syn(&self) -> bool;
    /// Clears every ECN flag of its TCP header (ECE and CWR). Nothing where there is none to be seen.
    fn strip_tcp_ecn(&mut self);
    /// Its charge on its socket's account while its host's NIC has it, if any.
    fn charge(&self) -> Option<SkbCharge>;
    /// The outermost header of a tunnel that it is in.
    fn outer(&self) -> Option<Outer>;
    /// Puts an outer header on: it has that header's ECN field, DSCP and flow from now on, and is longer.
    fn push_header(&mut self, outer: Outer);
    /// Takes the outermost header off and has the fields again that it had before; false if there is none.
    fn pop_header(&mut self) -> bool;
}
