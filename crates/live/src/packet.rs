//! A real frame as queues and path elements see it.
//!
//! What a queue asks often is read once, when the frame arrives; the frame's own bytes change when the packet leaves the last
//! element or its ECN field or DSCP changes. Tunnels are refused before a run, so there is no outer header.

use sojourn_net::Routed;
use sojourn_path::{Outer, PathPacket, SkbCharge};
use sojourn_qdisc::{Acknowledgement, Packet as QdiscPacket};
use sojourn_units::{Dscp, Ecn, Time};
use sojourn_wire::{ChecksumAt, Frame};

use crate::protocol::Host;

/// A real packet's handle, which the live engine's queues hold.
#[derive(Clone, Debug)]
pub struct Packet(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    frame: Frame,
    stamp: Time,
    entered: Time,
    sent: Time,
    key: u64,
    hosts: (u32, u32),
    wire_len: u32,
    l4_len: u32,
    flow: u32,
    route: u16,
    position: u8,
    ecn: Ecn,
    to: Host,
    is_unfinished: bool,
}

impl Packet {
    /// A frame that arrived at `sent` for that host: of this flow, on this route.
    pub(crate) fn new(frame: Frame, sent: Time, to: Host, flow: u32, route: u16) -> Self {
        Self(Box::new(Inner {
            stamp: Time::ZERO,
            entered: sent,
            sent,
            key: frame.flow_key(),
            hosts: frame.host_keys(),
            wire_len: frame.bytes().len() as u32,
            l4_len: frame.l4_len() as u32,
            flow,
            route,
            position: 0,
            ecn: frame.ecn(),
            to,
            is_unfinished: false,
            frame,
        }))
    }

    /// The same, with a transport checksum that an interface has to finish.
    pub(crate) fn unfinished(mut self) -> Self {
        self.0.is_unfinished = true;
        self
    }

    /// Whether it is a TCP segment that echoes congestion.
    pub(crate) fn echoes(&self) -> bool {
        const ECE: u8 = 0x40;
        self.0.frame.tcp().is_some_and(|tcp| tcp.flags & ECE != 0 && !tcp.is_syn())
    }

    /// Where its transport checksum is to be finished; none if it is whole.
    pub(crate) fn checksum_at(&self) -> Option<ChecksumAt> {
        self.0.is_unfinished.then(|| self.0.frame.checksum_at()).flatten()
    }

    /// The frame.
    pub(crate) fn frame(&self) -> &Frame {
        &self.0.frame
    }

    /// The frame, for changes of the link's header and the hop limit: nothing that queues look at.
    pub(crate) fn frame_mut(&mut self) -> &mut Frame {
        &mut self.0.frame
    }

    /// When it arrived.
    pub(crate) fn sent(&self) -> Time {
        self.0.sent
    }

    /// The host that it is for.
    pub(crate) fn to(&self) -> Host {
        self.0.to
    }
}

impl QdiscPacket for Packet {
    fn wire_len(&self) -> u32 {
        self.0.wire_len
    }

    fn ecn(&self) -> Ecn {
        self.0.ecn
    }

    /// A frame that is not IP has no field to set.
    fn set_ecn(&mut self, ecn: Ecn) {
        self.0.frame.set_ecn(ecn);
        self.0.ecn = self.0.frame.ecn();
    }

    fn dscp(&self) -> Dscp {
        self.0.frame.dscp()
    }

    fn set_dscp(&mut self, dscp: Dscp) {
        self.0.frame.set_dscp(dscp);
    }

    fn flow_key(&self) -> u64 {
        self.0.key
    }

    fn host_keys(&self) -> (u32, u32) {
        self.0.hosts
    }

    fn l4_len(&self) -> u32 {
        self.0.l4_len
    }

    fn stamp(&self) -> Time {
        self.0.stamp
    }

    fn set_stamp(&mut self, at: Time) {
        self.0.stamp = at;
    }

    fn acknowledgement(&self) -> Option<Acknowledgement> {
        acknowledgement(&self.0.frame)
    }

    fn duplicate(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// What a filter of acknowledgements sees: no payload, no flag but ACK, ECE and CWR, no option but timestamps and SACK.
fn acknowledgement(frame: &Frame) -> Option<Acknowledgement> {
    const ACK: u8 = 0x10;
    const ECE: u8 = 0x40;
    const CWR: u8 = 0x80;
    let tcp = frame.tcp()?;
    if tcp.payload > 0 || tcp.flags & ACK == 0 {
        return None;
    }
    let mut found = Acknowledgement {
        ack: tcp.ack,
        cwr: tcp.flags & CWR != 0,
        ece: tcp.flags & ECE != 0,
        is_plain: tcp.flags & !(ACK | ECE | CWR) == 0 && !tcp.ae,
        ..Acknowledgement::default()
    };
    let mut options = frame.tcp_options()?;
    let long = |bytes: &[u8], at: usize| -> Option<u32> {
        Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
    };
    while let [kind, rest @ ..] = options {
        match kind {
            0 => break,
            1 => {
                options = rest;
                continue;
            }
            _ => {}
        }
        let length = usize::from(*rest.first()?);
        let value = options.get(2..length)?;
        match (kind, length) {
            (8, 10) => found.timestamps = (long(value, 0)?, long(value, 4)?),
            (5, _) => {
                for block in value.chunks_exact(8).take(found.sack.len()) {
                    found.sack[usize::from(found.blocks)] = (long(block, 0)?, long(block, 4)?);
                    found.blocks += 1;
                }
            }
            _ => found.is_plain = false,
        }
        options = &options[length..];
    }
    Some(found)
}

impl PathPacket for Packet {
    fn entered(&self) -> Time {
        self.0.entered
    }

    fn set_entered(&mut self, at: Time) {
        self.0.entered = at;
    }

    fn flow(&self) -> usize {
        self.0.flow as usize
    }

    fn is_syn(&self) -> bool {
        self.0.frame.tcp().is_some_and(|tcp| tcp.is_syn())
    }

    fn strip_tcp_ecn(&mut self) {
        self.0.frame.strip_tcp_ecn();
    }

    fn charge(&self) -> Option<SkbCharge> {
        None
    }

    fn outer(&self) -> Option<Outer> {
        None
    }

    fn push_header(&mut self, _: Outer) {
        debug_assert!(false, "tunnels are refused");
    }

    fn pop_header(&mut self) -> bool {
        false
    }
}

impl Routed for Packet {
    fn route(&self) -> u16 {
        self.0.route
    }

    fn position(&self) -> u8 {
        self.0.position
    }

    fn set_position(&mut self, position: u8) {
        self.0.position = position;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An acknowledgement with timestamps and one SACK block, by hand: Ethernet, IPv4 with ECT(0), TCP of 44 bytes.
    fn frame(flags: u8, kind: u8) -> Frame {
        let mut bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
        bytes.extend([0x45, 2, 0, 64, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 9, 9, 2, 10, 9, 9, 1]);
        bytes.extend([
            0x13, 0x89, 0x9c, 0x41, 0, 0, 0, 1, 0, 0, 1, 0, 0xb0, flags, 0, 1, 0, 0, 0, 0,
        ]);
        bytes.extend([1, 1, kind, 10, 0, 0, 0, 7, 0, 0, 0, 9]);
        bytes.extend([1, 1, 5, 10, 0, 0, 2, 0, 0, 0, 3, 0]);
        Frame::new(bytes)
    }

    #[test]
    fn an_acknowledgement_is_read() {
        let found = acknowledgement(&frame(0x50, 8)).unwrap();
        let expected = Acknowledgement {
            ack: 256,
            sack: [(512, 768), (0, 0), (0, 0)],
            blocks: 1,
            timestamps: (7, 9),
            cwr: false,
            ece: true,
            is_plain: true,
        };
        assert_eq!(found, expected);
        assert!(!acknowledgement(&frame(0x10, 253)).unwrap().is_plain);
        assert!(!acknowledgement(&frame(0x11, 8)).unwrap().is_plain);
        assert_eq!(acknowledgement(&frame(0x02, 8)), None);
    }

    #[test]
    fn a_mark_changes_the_frame() {
        let mut packet = Packet::new(frame(0x10, 8), Time::ZERO, Host::Server, 0, 0);
        assert!(packet.set_ce());
        assert_eq!((packet.ecn(), packet.frame().bytes()[15]), (Ecn::Ce, 3));
        let mut other = Packet::new(Frame::new(vec![0xff; 60]), Time::ZERO, Host::Server, 0, 0);
        assert!(!other.set_ce());
        assert_eq!(other.frame().bytes(), [0xff; 60]);
    }
}
