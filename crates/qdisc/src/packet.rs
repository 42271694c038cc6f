//! What a discipline may ask of a packet. The simulator's packet is a small plain value; another engine's may
//! own a buffer.

use sojourn_units::{Dscp, Ecn, Time};

/// A packet as queues and path elements see it.
pub trait Packet {
    /// Length as a qdisc counts it, in bytes: the IP packet and its Ethernet header (1514 for a full one).
    fn wire_len(&self) -> u32;

    /// The ECN field.
    fn ecn(&self) -> Ecn;

    /// Rewrites the ECN field.
    fn set_ecn(&mut self, ecn: Ecn);

    /// The DSCP.
    fn dscp(&self) -> Dscp;

    /// Rewrites the DSCP.
    fn set_dscp(&mut self, dscp: Dscp);

    /// Identity of the 5-tuple a queue would hash: equal for packets of one flow and direction, different for
    /// others. Inside a tunnel it is the outer one. Not yet spread: queues mix it with their own perturbation.
    fn flow_key(&self) -> u64;

    /// Identities of source and destination host (for per-host fairness).
    fn host_keys(&self) -> (u32, u32);

    /// Length of the transport header and payload in bytes (for classifiers by length).
    fn l4_len(&self) -> u32;

    /// Memory that Linux would account to the packet (`skb->truesize`), in bytes, which `memory_limit` weighs.
    /// The default is that of a TCP segment sent without offloads: the `sk_buff` (256), a head of 1024 for
    /// headers and shared information, and the payload in page fragments. The exact figure depends on
    /// kernel and driver.
    #[inline]
    fn truesize(&self) -> u32 {
        const SK_BUFF_AND_HEAD: u32 = 256 + 1024;
        /// Ethernet, IPv4 and TCP with time stamps, which are in the head.
        const HEADERS: u32 = 14 + 20 + 32;
        SK_BUFF_AND_HEAD + self.wire_len().saturating_sub(HEADERS)
    }

    /// The earliest time at which it is to leave its host, if its sender set one (`skb->tstamp`); `fq` keeps to it.
    #[inline]
    fn departure(&self) -> Option<Time> {
        None
    }

    /// When the discipline that holds the packet took it, or another time that it noted: the kernel's `skb->cb`. Owned
    /// by whichever discipline holds the packet; the next one overwrites it.
    fn stamp(&self) -> Time;

    /// Notes [`Packet::stamp`].
    fn set_stamp(&mut self, at: Time);

    /// What a filter of acknowledgements sees of a TCP segment that is nothing but an acknowledgement (CAKE's `ack-filter`);
    /// `None` for every other packet.
    fn acknowledgement(&self) -> Option<Acknowledgement> {
        None
    }

    /// A second packet like this one, for netem's `duplicate`; `None` of packets that cannot be copied, which are
    /// then not duplicated.
    fn duplicate(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// Sets CE if the packet is ECN-capable and says whether it is now CE (Linux `INET_ECN_set_ce`: true for a
    /// packet that was CE already).
    #[inline]
    fn set_ce(&mut self) -> bool {
        let capable = self.ecn().is_capable();
        if capable {
            self.set_ecn(Ecn::Ce);
        }
        capable
    }
}

/// A pure acknowledgement of TCP: what its header says, in units that are the same for every packet of a connection
/// (bytes, or segments of one size), modulo 2^32.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Acknowledgement {
    /// All below this has arrived.
    pub ack: u32,
    /// SACK blocks: beginning and end of each, the newest first.
    pub sack: [(u32, u32); 3],
    /// How many of [`Acknowledgement::sack`] are in use.
    pub blocks: u8,
    /// The timestamp option: the receiver's clock, and its echo of the sender's.
    pub timestamps: (u32, u32),
    /// Congestion window reduced.
    pub cwr: bool,
    /// ECN-Echo.
    pub ece: bool,
    /// Whether there is nothing else: no flag but ACK and those two, no option but timestamps and SACK. AccECN's third flag
    /// and its option are something else.
    pub is_plain: bool,
}

/// The packet of whoever has none: words are read, or a congestion control is called, and nothing is queued. There is no
/// value of it.
#[derive(Clone, Copy, Debug)]
pub enum NoPacket {}

impl Packet for NoPacket {
    fn wire_len(&self) -> u32 {
        match *self {}
    }
    fn ecn(&self) -> Ecn {
        match *self {}
    }
    fn set_ecn(&mut self, _: Ecn) {
        match *self {}
    }
    fn dscp(&self) -> Dscp {
        match *self {}
    }
    fn set_dscp(&mut self, _: Dscp) {
        match *self {}
    }
    fn flow_key(&self) -> u64 {
        match *self {}
    }
    fn host_keys(&self) -> (u32, u32) {
        match *self {}
    }
    fn l4_len(&self) -> u32 {
        match *self {}
    }
    fn stamp(&self) -> Time {
        match *self {}
    }
    fn set_stamp(&mut self, _: Time) {
        match *self {}
    }
}

/// Looks at a packet that leaves soon, so that the processor has it when it does: nobody waits for what is read.
#[inline]
pub(crate) fn fetch<P: Packet>(packet: &P) {
    core::hint::black_box(packet.wire_len());
}
