//! The captures of a run as one pcapng file (draft-ietf-opsawg-pcapng): each point is an interface with its name, and packets say in
//! comments whose they are and what a queue did with them.
//!
//! ```text
//! flow cubic                               by the sender's port
//! dropped in bottleneck down               went in, and later packets of its flow came out
//! marked in bottleneck down: ECT(0) to CE
//! waited 12.345 ms in bottleneck down      between the two sides
//! ```
//!
//! Nothing is asked of the engine: both sides of a queue are there, and a packet is known again by all that a router leaves as it is.
//! So it works with every engine's captures. Copies of one packet (the same bytes) are paired in their order.
//!
//! A packet that did not come out and that no later one of its flow overtook may still wait when the capture ends: it says so.

use crate::{CaptureError, Point, UNFINISHED, cause, error};
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError};
use sojourn_model::Scenario;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An Ethernet header.
const ETHERNET: usize = 14;

/// What became of a packet at a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Fate {
    /// It came out, so much later; with the ECN field that it went in and came out with.
    Passed { waited: Duration, ecn: [u8; 2], is_out: bool },
    /// It went in and did not come out, and later ones of its flow did.
    Dropped,
    /// It went in, and neither it nor a later one of its flow came out.
    Unseen,
}

/// What identifies a packet on both sides of a queue, and its flow.
struct Seen {
    at: Duration,
    key: Vec<u8>,
    flow: Vec<u8>,
    /// The address that it is from.
    source: Vec<u8>,
    ecn: u8,
}

/// Writes the captures of a folder as one file; returns its path, or nothing if there are none.
///
/// `senders` is the first port of senders: flow *n* of the scenario sends from port `senders` + *n*.
pub fn annotate(
    folder: &Path,
    scenario: &Scenario,
    senders: u16,
    to: &Path,
    about: &str,
) -> Result<bool, AnnotateError> {
    let points: Vec<_> = Point::all(scenario)
        .into_iter()
        .filter(|point| folder.join(point.file_name()).is_file())
        .collect();
    if points.is_empty() {
        return Ok(false);
    }
    let mut fates: HashMap<usize, Vec<Option<Fate>>> = HashMap::new();
    for (index, point) in points.iter().enumerate() {
        if let Point::Left(hop) = point
            && let Some(right) = points.iter().position(|p| *p == Point::Right(hop.clone()))
        {
            let side = |n: usize| read(folder.join(points[n].file_name()));
            let [left, right_fates] = told(&side(index)?, &side(right)?);
            fates.insert(index, left);
            fates.insert(right, right_fates);
        }
    }
    write(folder, scenario, senders, to, about, &points, &fates)?;
    Ok(true)
}

/// The interface's name: the file's without its suffix.
fn name_of(point: &Point) -> String {
    point.file_name().trim_end_matches(".pcap").to_owned()
}

/// Captures cannot be put into one file.
#[derive(Debug, thiserror::Error)]
pub enum AnnotateError {
    /// One of them cannot be read.
    #[error("the capture {} cannot be read: {why}", .file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        why: io::Error,
    },
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] CaptureError),
}

fn unread(file: &Path) -> impl Fn(PcapError) -> AnnotateError {
    |e| AnnotateError::Read { file: file.to_owned(), why: cause(e) }
}

/// A capture of ours, packet by packet.
struct Packets {
    file: PathBuf,
    reader: PcapReader<BufReader<File>>,
}

/// One of them.
struct Packet {
    at: Duration,
    wire_len: u32,
    frame: Vec<u8>,
}

impl Packets {
    fn open(file: PathBuf) -> Result<Self, AnnotateError> {
        let opened = File::open(&file).map_err(|e| unread(&file)(PcapError::IoError(e)))?;
        let reader = PcapReader::new(BufReader::new(opened)).map_err(unread(&file))?;
        Ok(Self { file, reader })
    }

    /// The next packet. It may be longer than what is kept of each, which the reader's own check takes for an error.
    fn next(&mut self) -> Result<Option<Packet>, AnnotateError> {
        let Some(packet) = self.reader.next_raw_packet() else { return Ok(None) };
        let packet = packet.map_err(unread(&self.file))?;
        Ok(Some(Packet {
            at: Duration::new(packet.ts_sec.into(), packet.ts_frac),
            wire_len: packet.orig_len,
            frame: packet.data.into_owned(),
        }))
    }
}

fn read(file: PathBuf) -> Result<Vec<Seen>, AnnotateError> {
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
fn identity(frame: &[u8]) -> (Vec<u8>, Vec<u8>, u8) {
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

/// What became of each packet that is seen left and right of a queue.
fn told(left: &[Seen], right: &[Seen]) -> [Vec<Option<Fate>>; 2] {
    let mut fates = [vec![None; left.len()], vec![None; right.len()]];
    let ways = Ways::of(left, right);
    // Copies that went in and did not come out yet, in their order.
    let mut inside: HashMap<&[u8], VecDeque<usize>> = HashMap::new();
    // Of each flow, the last packet that came out, by its number where it went in.
    let mut passed: HashMap<&[u8], usize> = HashMap::new();
    let sides = [left, right];
    let mut next = [0, 0];
    while let Some(side) = earlier(&sides, next, &ways) {
        let number = next[side];
        next[side] += 1;
        let packet = &sides[side][number];
        if ways.enters(packet) == side {
            inside.entry(&packet.key).or_default().push_back(number);
            continue;
        }
        let Some(first) = inside.get_mut(packet.key.as_slice()).and_then(VecDeque::pop_front)
        else {
            continue;
        };
        let went = &sides[1 - side][first];
        let waited = packet.at.saturating_sub(went.at);
        let ecn = [went.ecn, packet.ecn];
        fates[1 - side][first] = Some(Fate::Passed { waited, ecn, is_out: false });
        fates[side][number] = Some(Fate::Passed { waited, ecn, is_out: true });
        let last = passed.entry(&packet.flow).or_default();
        *last = (*last).max(first);
    }
    for (key, numbers) in inside {
        for number in numbers {
            let side = usize::from(left.get(number).is_none_or(|p| p.key != key));
            let is_dropped = passed.get(sides[side][number].flow.as_slice()) > Some(&number);
            fates[side][number] = Some(if is_dropped { Fate::Dropped } else { Fate::Unseen });
        }
    }
    fates
}

/// At which side packets from each address go in.
///
/// A packet that does not wait is seen at both at the same time: those that wait tell the way.
struct Ways<'a>(HashMap<&'a [u8], i64>);

impl<'a> Ways<'a> {
    fn of(left: &'a [Seen], right: &'a [Seen]) -> Self {
        let first: HashMap<&[u8], Duration> =
            left.iter().rev().map(|packet| (packet.key.as_slice(), packet.at)).collect();
        let mut votes: HashMap<&[u8], i64> = HashMap::new();
        for packet in right {
            if let Some(at) = first.get(packet.key.as_slice()) {
                let vote = votes.entry(&packet.source).or_default();
                *vote += i64::from(*at < packet.at) - i64::from(packet.at < *at);
            }
        }
        Self(votes)
    }

    /// The side, left (0) or right (1); left if nobody knows.
    fn enters(&self, packet: &Seen) -> usize {
        usize::from(self.0.get(packet.source.as_slice()).is_some_and(|vote| *vote < 0))
    }
}

/// Which side's next packet is the earlier one; of two at the same time, one that goes in.
fn earlier(sides: &[&[Seen]; 2], next: [usize; 2], ways: &Ways<'_>) -> Option<usize> {
    match (sides[0].get(next[0]), sides[1].get(next[1])) {
        (Some(left), Some(right)) if left.at == right.at => {
            Some(usize::from(ways.enters(left) == 1))
        }
        (Some(left), Some(right)) => Some(usize::from(right.at < left.at)),
        (Some(_), None) => Some(0),
        (None, Some(_)) => Some(1),
        (None, None) => None,
    }
}

fn write(
    folder: &Path,
    scenario: &Scenario,
    senders: u16,
    to: &Path,
    about: &str,
    points: &[Point],
    fates: &HashMap<usize, Vec<Option<Fate>>>,
) -> Result<(), AnnotateError> {
    let file_name = to.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let unfinished: PathBuf = to.with_file_name(format!("{UNFINISHED}{file_name}"));
    let failed = |e: PcapError| error(to, cause(e));
    let file = File::create(&unfinished).map_err(|why| error(to, why))?;
    let section = SectionHeaderBlock {
        // Whatever the machine, the same bytes.
        endianness: Endianness::Little,
        options: vec![
            SectionHeaderOption::Comment(Cow::Owned(about.to_owned())),
            SectionHeaderOption::UserApplication(Cow::Borrowed("Sojourn")),
        ],
        ..SectionHeaderBlock::default()
    };
    let mut writer =
        PcapNgWriter::with_section_header(BufWriter::new(file), section).map_err(failed)?;
    for point in points {
        let options = vec![
            InterfaceDescriptionOption::IfName(Cow::Owned(name_of(point))),
            InterfaceDescriptionOption::IfDescription(Cow::Owned(described(point))),
            // Nanoseconds.
            InterfaceDescriptionOption::IfTsResol(9),
        ];
        let block = InterfaceDescriptionBlock { linktype: DataLink::ETHERNET, snaplen: 0, options };
        writer.write_pcapng_block(block).map_err(failed)?;
    }
    // All packets in the order of their times, of those at one time in the order of the points.
    let mut readers = Vec::new();
    for point in points {
        readers.push((Packets::open(folder.join(point.file_name()))?, 0_usize));
    }
    let mut heads = BTreeMap::new();
    for (index, (packets, _)) in readers.iter_mut().enumerate() {
        if let Some(packet) = packets.next()? {
            heads.insert((packet.at, index), packet);
        }
    }
    while let Some(((timestamp, index), packet)) = heads.pop_first() {
        let (packets, number) = &mut readers[index];
        let mut said = Vec::new();
        if let Some(flow) = flow_of(&packet.frame, scenario, senders) {
            said.push(format!("flow {flow}"));
        }
        if let Some(Some(fate)) = fates.get(&index).and_then(|own| own.get(*number)) {
            said.extend(comment(fate, &points[index]));
        }
        let options =
            said.into_iter().map(|text| EnhancedPacketOption::Comment(Cow::Owned(text))).collect();
        let block = EnhancedPacketBlock {
            interface_id: index as u32,
            timestamp,
            original_len: packet.wire_len,
            data: Cow::Owned(packet.frame),
            options,
        };
        writer.write_pcapng_block(block).map_err(failed)?;
        *number += 1;
        if let Some(packet) = packets.next()? {
            heads.insert((packet.at, index), packet);
        }
    }
    let mut file = writer.into_inner();
    let named = file.flush().and_then(|()| fs::rename(&unfinished, to));
    Ok(named.map_err(|why| error(to, why))?)
}

fn described(point: &Point) -> String {
    match point {
        Point::Server => "the hosts on the server's side".to_owned(),
        Point::Left(hop) => format!("hop {hop}, server's side: into down, out of up"),
        Point::Right(hop) => format!("hop {hop}, client's side: out of down, into up"),
        Point::Client => "the hosts on the client's side".to_owned(),
    }
}

fn comment(fate: &Fate, point: &Point) -> Vec<String> {
    let (Point::Left(hop) | Point::Right(hop)) = point else { return Vec::new() };
    let is_left = matches!(point, Point::Left(_));
    let is_out = matches!(fate, Fate::Passed { is_out: true, .. });
    let queue = format!("{hop} {}", if is_left == is_out { "up" } else { "down" });
    match fate {
        Fate::Dropped => vec![format!("dropped in {queue}")],
        Fate::Unseen => vec![format!("not seen to leave {queue}")],
        Fate::Passed { waited, ecn: [before, after], .. } => {
            let mut said = Vec::new();
            if before != after {
                let [before, after] = [before, after].map(|ecn| ECN[usize::from(*ecn)]);
                said.push(format!("marked in {queue}: {before} to {after}"));
            }
            if is_out {
                let micros = waited.as_nanos() / 1000;
                said.push(format!("waited {}.{:03} ms in {queue}", micros / 1000, micros % 1000));
            }
            said
        }
    }
}

/// By the field's value (RFC 3168).
const ECN: [&str; 4] = ["Not-ECT", "ECT(1)", "ECT(0)", "CE"];

/// The flow that a packet is of, or answers to.
fn flow_of<'a>(frame: &[u8], scenario: &'a Scenario, senders: u16) -> Option<&'a str> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets 5 and more go up.
    fn seen(at: u64, id: u8, ecn: u8) -> Seen {
        let way = vec![u8::from(id >= 5)];
        Seen { at: Duration::from_millis(at), key: vec![id], flow: way.clone(), source: way, ecn }
    }

    /// Left: a at 1, b at 2, c at 3, d at 9 ms go in. Right: a comes out at 5 ms, c at 8 ms with CE; b does not, and c behind it did; d may
    /// still be there. The other way e goes in at 4 and comes out at 6 ms.
    #[test]
    fn a_packet_is_known_again_on_the_other_side() {
        let left = [seen(1, 1, 2), seen(2, 2, 2), seen(3, 3, 2), seen(6, 5, 0), seen(9, 4, 2)];
        let right = [seen(4, 5, 0), seen(5, 1, 2), seen(8, 3, 3)];
        let [l, r] = told(&left, &right);
        let passed = |waited, ecn, is_out| {
            Some(Fate::Passed { waited: Duration::from_millis(waited), ecn, is_out })
        };
        assert_eq!(
            l,
            [
                passed(4, [2, 2], false),
                Some(Fate::Dropped),
                passed(5, [2, 3], false),
                passed(2, [0, 0], true),
                Some(Fate::Unseen)
            ]
        );
        assert_eq!(r, [passed(2, [0, 0], false), passed(4, [2, 2], true), passed(5, [2, 3], true)]);
        let hop = || "bottleneck".to_owned();
        let said = |fate: &Option<Fate>, point| comment(fate.as_ref().unwrap(), &point);
        assert_eq!(said(&l[1], Point::Left(hop())), ["dropped in bottleneck down"]);
        assert_eq!(said(&l[2], Point::Left(hop())), ["marked in bottleneck down: ECT(0) to CE"]);
        assert_eq!(
            said(&r[2], Point::Right(hop())),
            ["marked in bottleneck down: ECT(0) to CE", "waited 5.000 ms in bottleneck down"]
        );
        assert_eq!(said(&l[3], Point::Left(hop())), ["waited 2.000 ms in bottleneck up"]);
        assert_eq!(said(&l[4], Point::Left(hop())), ["not seen to leave bottleneck down"]);
    }

    /// What does not wait is seen at both sides at one time: that 5 goes up is known by 6.
    #[test]
    fn what_does_not_wait_goes_the_way_of_its_senders_others() {
        let left = [seen(1, 5, 0), seen(4, 6, 0)];
        let right = [seen(1, 5, 0), seen(3, 6, 0)];
        let [l, r] = told(&left, &right);
        let fate = |waited, is_out| {
            Some(Fate::Passed { waited: Duration::from_millis(waited), ecn: [0, 0], is_out })
        };
        assert_eq!(l, [fate(0, true), fate(1, true)]);
        assert_eq!(r, [fate(0, false), fate(1, false)]);
    }

    /// The same bytes twice are paired in their order.
    #[test]
    fn copies_are_paired_in_their_order() {
        let left = [seen(1, 1, 2), seen(2, 1, 2)];
        let right = [seen(3, 1, 2), seen(7, 1, 2)];
        let [l, _] = told(&left, &right);
        let waits: Vec<_> = l
            .iter()
            .map(|fate| match fate {
                Some(Fate::Passed { waited, .. }) => waited.as_millis(),
                _ => 0,
            })
            .collect();
        assert_eq!(waits, [2, 5]);
    }

    /// Nothing in a frame that is cut short, or none of ours, is read beyond its end.
    #[test]
    fn any_bytes_have_an_identity() {
        let scenario = sojourn_model::example::scenario();
        for first in [0x00, 0x45, 0x4f, 0x60, 0xff] {
            for length in 0..80 {
                let mut frame = vec![first; ETHERNET + length];
                frame[..ETHERNET].fill(0);
                identity(&frame);
                flow_of(&frame, &scenario, 30_000);
            }
        }
    }
}
