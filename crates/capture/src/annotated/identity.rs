//! What identifies a packet on both sides of a queue, and the flow that it is of.
//!
//! A router changes the ECN field, the time to live and IPv4's checksum. All else of what was kept of a packet is its
//! key. Copies of one packet have one key; whoever pairs them does it in their order.

use super::error::AnnotateError;
use super::packets::Packets;
use sojourn_model::Scenario;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

/// An Ethernet header.
const ETHERNET: usize = 14;

/// The ECN field of a packet, and what identifies the packet and its flow.
pub(super) struct Seen {
    /// When it was seen.
    pub(super) at: Duration,
    /// All that a router leaves as it is.
    pub(super) key: Vec<u8>,
    /// Addresses and ports.
    pub(super) flow: Vec<u8>,
    /// The address that it is from.
    pub(super) source: Vec<u8>,
    /// RFC 3168 §5.
    pub(super) ecn: u8,
}

/// All packets of a capture.
pub(super) fn read(file: PathBuf) -> Result<Vec<Seen>, AnnotateError> {
    let mut seen = Vec::new();
    let mut packets = Packets::open(file)?;
    while let Some(packet) = packets.next()? {
        let (key, flow, ecn) = identity(&packet.frame);
        let source = flow.get(..if flow.len() < 32 { 4 } else { 16 }).unwrap_or_default().to_vec();
        seen.push(Seen { at: packet.at, key, flow, source, ecn });
    }
    Ok(seen)
}

/// Where the ports are behind headers of this length, of TCP and UDP.
fn ports(protocol: u8, header: usize) -> Range<usize> {
    if matches!(protocol, TCP | UDP) { header..header + 4 } else { 0..0 }
}

const TCP: u8 = 6;
const UDP: u8 = 17;

/// A packet without what a router changes, the part of it that its flow has in common, and its ECN field.
pub(super) fn identity(frame: &[u8]) -> (Vec<u8>, Vec<u8>, u8) {
    let mut key = frame.get(ETHERNET..).unwrap_or_default().to_vec();
    let (ecn, addresses, ports) = match key.first().map(|byte| byte >> 4) {
        Some(4) if key.len() >= 20 => {
            let ecn = key[1] & 3;
            key[1] &= !3;
            (key[8], key[10], key[11]) = (0, 0, 0);
            let header = usize::from(key[0] & 15) * 4;
            (ecn, 12..20, ports(key[9], header))
        }
        Some(6) if key.len() >= 40 => {
            let ecn = key[1] >> 4 & 3;
            key[1] &= !0x30;
            key[7] = 0;
            (ecn, 8..40, ports(key[6], 40))
        }
        _ => (0, 0..0, 0..0),
    };
    let part = |range: Range<usize>| key.get(range).unwrap_or_default();
    let flow = [part(addresses), part(ports)].concat();
    (key, flow, ecn)
}

/// The flow that a packet is of, or answers to.
pub(super) fn flow_of<'a>(frame: &[u8], scenario: &'a Scenario, senders: u16) -> Option<&'a str> {
    let (key, _, _) = identity(frame);
    let header = match key.first()? >> 4 {
        4 => usize::from(key[0] & 15) * 4,
        _ => 40,
    };
    let protocol = *key.get(if key[0] >> 4 == 4 { 9 } else { 6 })?;
    if !matches!(protocol, TCP | UDP) {
        return None;
    }
    let port = |at: usize| Some(u16::from_be_bytes([*key.get(at)?, *key.get(at + 1)?]));
    [port(header)?, port(header + 2)?].into_iter().find_map(|port| {
        let index = port.checked_sub(senders)?;
        scenario.flows.get(usize::from(index)).map(|flow| flow.name.as_str())
    })
}
