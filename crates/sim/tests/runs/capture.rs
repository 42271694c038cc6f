//! Captures: their contents agree with the run's own counters, and a run is the same with and without.

use crate::bench::{fingerprint, run, tcp_mut, total};
use etherparse::{
    Ipv6HeaderSlice, NetSlice, SlicedPacket, TcpOptionElement, TcpOptionsIterator, TcpSlice,
    TransportSlice,
};
use pcap_file::pcap::PcapReader;
use sojourn_capture::{Capture, CaptureError, EPOCH, Point, SNAP_LEN};
use sojourn_engine::{Engine, RunError, Watch};
use sojourn_model::{
    Direction, EcnMode, Element, Flow, Ip, Kind, ReceiveWindow, Scenario, Selector, ShortFlows,
    Streaming, Traffic, Tunnel, TunnelKind, Udp,
};
use sojourn_results::Run;
use sojourn_sim::{Sim, dumbbell::Dumbbell};
use sojourn_units::{Ecn, Rate, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::PathBuf;
use std::time::Duration;

/// A folder that goes when the test is over, and the wish to have captures there.
pub(crate) struct Scratch(Capture);

impl Scratch {
    pub(crate) fn new(name: &str, snap_len: u32) -> Self {
        let folder = std::env::temp_dir().join(format!("sojourn-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder can be made");
        Self(Capture { folder, snap_len })
    }

    pub(crate) fn run(&self, s: &Scenario) -> Run {
        Sim::new().run(&s.clone().into(), self).expect("it runs")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.folder.join(format!("{name}.pcap"))
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).expect("it is there")
    }

    /// The packets of a file: stamp, length on the wire, what was kept.
    pub(crate) fn packets(&self, name: &str) -> Vec<(Duration, u32, Vec<u8>)> {
        let file = File::open(self.path(name)).expect("it is there");
        let mut reader = PcapReader::new(file).expect("a pcap file");
        let mut packets = Vec::new();
        // `next_packet` refuses packets that are longer than what is kept of them.
        while let Some(packet) = reader.next_raw_packet() {
            let p = packet.expect("a whole packet");
            let at = Duration::new(p.ts_sec.into(), p.ts_frac);
            packets.push((at, p.orig_len, p.data.into_owned()));
        }
        packets
    }
}

impl Watch for Scratch {
    fn capture(&self) -> Option<Capture> {
        Some(self.0.clone())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0.folder);
    }
}

const WHOLE: u32 = 65_535;

/// What the tests want of a frame. `flow` counts from the receivers' first port, either way.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) flow: u16,
    pub(crate) from_sender: bool,
    pub(crate) source: [u8; 4],
    pub(crate) ecn: u8,
    pub(crate) id: u16,
    pub(crate) tcp: Option<Segment>,
}

#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) syn: bool,
    /// AE, CWR, ECE.
    pub(crate) flags: u8,
    pub(crate) len: u32,
    pub(crate) window: u32,
    pub(crate) options: Vec<TcpOptionElement>,
    /// The counters of AccECN's option, which is not among the others: ECT(1), CE, ECT(0), as many as there are.
    pub(crate) accecn: Option<Vec<u32>>,
}

/// The flow of a packet by its ports, and whether it is from the sender.
fn ports(from: u16, to: u16) -> (u16, bool) {
    if from < to { (to - 50_000, true) } else { (from - 50_000, false) }
}

/// Takes AccECN's option of order 1 (kind 174, RFC 9768 §3.2.3) out of the others.
fn accecn(t: &TcpSlice<'_>) -> (Vec<u8>, Option<Vec<u32>>) {
    let (mut rest, mut others, mut found) = (t.options(), Vec::new(), None);
    while let Some(&kind) = rest.first() {
        let len = if kind <= 1 { 1 } else { usize::from(rest[1]) };
        let (option, more) = rest.split_at(len);
        if kind == 174 {
            let counter = |c: &[u8]| u32::from_be_bytes([0, c[0], c[1], c[2]]);
            assert_eq!((len - 2) % 3, 0);
            found = Some(option[2..].chunks(3).map(counter).collect());
        } else {
            others.extend_from_slice(option);
        }
        rest = more;
    }
    (others, found)
}

fn segment(t: &TcpSlice<'_>) -> Segment {
    let (others, accecn) = accecn(t);
    Segment {
        seq: t.sequence_number(),
        ack: t.acknowledgment_number(),
        syn: t.syn(),
        flags: u8::from(t.ns()) << 2 | u8::from(t.cwr()) << 1 | u8::from(t.ece()),
        len: t.payload().len() as u32,
        window: u32::from(t.window_size()),
        options: TcpOptionsIterator::from_slice(&others)
            .map(|o| o.expect("a known option"))
            .collect(),
        accecn,
    }
}

/// Reads a whole frame and holds its checksums against what they should be.
pub(crate) fn read(frame: &[u8]) -> Seen {
    let packet = SlicedPacket::from_ethernet(frame).expect("a frame");
    let header = match &packet.net {
        Some(NetSlice::Ipv4(ip)) => ip.header(),
        Some(NetSlice::Ipv6(ip)) => return read_v6(&packet, &ip.header()),
        _ => panic!("not IP: {packet:?}"),
    };
    assert_eq!(header.header_checksum(), header.to_header().calc_header_checksum());
    let (source, destination) = (header.source(), header.destination());
    let ((flow, from_sender), tcp) = match packet.transport.expect("something in it") {
        TransportSlice::Tcp(t) => {
            let h = t.to_header();
            let sum = h.calc_checksum_ipv4_raw(source, destination, t.payload());
            assert_eq!(t.checksum(), sum.expect("it is short enough"));
            (ports(t.source_port(), t.destination_port()), Some(segment(&t)))
        }
        TransportSlice::Udp(u) => {
            let sum = u.to_header().calc_checksum_ipv4_raw(source, destination, u.payload());
            assert_eq!(u.checksum(), sum.expect("it is short enough"));
            (ports(u.source_port(), u.destination_port()), None)
        }
        TransportSlice::Icmpv4(icmp) => {
            let sum = icmp.icmp_type().calc_checksum(icmp.payload());
            assert_eq!(icmp.checksum(), sum);
            ((u16::MAX, icmp.type_u8() == 8), None)
        }
        other => panic!("what is {other:?}?"),
    };
    let (ecn, id) = (header.ecn().value(), header.identification());
    Seen { flow, from_sender, source, ecn, id, tcp }
}

/// The same of IP version 6, which has no identifiers; the last byte of an address tells hosts apart.
fn read_v6(packet: &SlicedPacket<'_>, header: &Ipv6HeaderSlice<'_>) -> Seen {
    let (source, destination) = (header.source(), header.destination());
    assert_eq!(
        (source[..6].to_vec(), source[6..15].to_vec()),
        (vec![0xfd, 0, 0, 9, 0, 9], vec![0; 9])
    );
    let ((flow, from_sender), tcp) = match packet.transport.as_ref().expect("something in it") {
        TransportSlice::Tcp(t) => {
            let sum = t.to_header().calc_checksum_ipv6_raw(source, destination, t.payload());
            assert_eq!(t.checksum(), sum.expect("it is short enough"));
            (ports(t.source_port(), t.destination_port()), Some(segment(t)))
        }
        TransportSlice::Udp(u) => {
            let sum = u.to_header().calc_checksum_ipv6_raw(source, destination, u.payload());
            assert_eq!(u.checksum(), sum.expect("it is short enough"));
            (ports(u.source_port(), u.destination_port()), None)
        }
        TransportSlice::Icmpv6(icmp) => {
            assert!(icmp.is_checksum_valid(source, destination));
            ((u16::MAX, icmp.type_u8() == 128), None)
        }
        other => panic!("what is {other:?}?"),
    };
    let host = [10, 9, 9, source[15]];
    Seen { flow, from_sender, source: host, ecn: header.traffic_class() & 3, id: 0, tcp }
}

/// Two CUBICs, one with an end and no ECN, and a Prague, with losses and marks; a datagram source, a flow the other
/// way, and a ping.
fn mixed() -> Scenario {
    let mut s = Dumbbell {
        ccs: ["cubic", "cubic", "prague"].map(str::to_owned).into(),
        qdisc: "codel limit 80 ecn".to_owned(),
        rate: Rate::from_mbit(20),
        duration: Span::from_secs(4),
        ..Dumbbell::default()
    }
    .scenario();
    let upload = Flow { name: "up".to_owned(), direction: Direction::Up, ..s.flows[0].clone() };
    s.flows.push(upload);
    tcp_mut(&mut s.flows[1].traffic).bytes = Some(1_000_001);
    tcp_mut(&mut s.flows[1].traffic).ecn = EcnMode::Off;
    tcp_mut(&mut s.flows[2].traffic).ecn = EcnMode::AccEcn;
    let datagrams = Traffic::Udp(Udp { rate: Rate::from_mbit(2), payload: 1472, ecn: Ecn::Ect0 });
    s.flows.push(Flow { name: "udp".to_owned(), traffic: datagrams, ..s.flows[0].clone() });
    s
}

#[test]
fn a_run_is_the_same_with_a_capture_and_without() {
    let s = mixed();
    let scratch = Scratch::new("capture-same", SNAP_LEN);
    assert_eq!(fingerprint(&scratch.run(&s).tables), fingerprint(&run(&s).tables));
}

#[test]
fn the_same_run_gives_the_same_bytes_and_another_seed_others() {
    let s = mixed();
    let scratches = ["a", "b", "c"].map(|n| Scratch::new(&format!("capture-bytes-{n}"), SNAP_LEN));
    scratches[0].run(&s);
    scratches[1].run(&s);
    scratches[2].run(&Scenario { seed: 2, ..s.clone() });
    for point in Point::all(&s) {
        let name = point.file_name().replace(".pcap", "");
        let [a, b, c] = scratches.each_ref().map(|scratch| scratch.bytes(&name));
        assert!(a == b && a != c, "{name}");
    }
}

/// Time never runs back, nothing is longer than was asked for, and nothing is lost on the way but what queues drop.
#[test]
fn every_packet_is_there_in_order() {
    let s = mixed();
    let scratch = Scratch::new("capture-order", SNAP_LEN);
    let run = scratch.run(&s);
    let queue = |side: &str, name: &str| total(&run, &format!("bottleneck.{side}.qdisc"), name);
    let of_flows = |name: &str| s.flows.iter().map(|f| total(&run, &f.name, name)).sum::<f64>();
    let mut counts = BTreeMap::new();
    for point in Point::all(&s) {
        let name = point.file_name().replace(".pcap", "");
        let packets = scratch.packets(&name);
        let mut before = Duration::from_secs(EPOCH);
        assert!(s.warmup.is_zero());
        for (at, wire_len, kept) in &packets {
            assert!(*at >= before, "{name}: {at:?} after {before:?}");
            assert_eq!(kept.len(), (*wire_len).min(SNAP_LEN) as usize);
            before = *at;
        }
        counts.insert(name, packets.len() as f64);
    }
    assert_eq!(
        counts["server"] + counts["client"],
        of_flows("packets_sent") + of_flows("packets_arrived")
    );
    assert_eq!(counts["bottleneck.left"], queue("down", "entered") + queue("up", "left"));
    assert_eq!(counts["bottleneck.right"], queue("down", "left") + queue("up", "entered"));
    assert!(queue("down", "dropped") > 0.0, "there is something to see");
}

/// From the frames alone: retransmissions are bytes sent again, CE is a field, and both are the run's own counts. The
/// sequence numbers have no gaps, and both directions' identifiers count up.
#[test]
fn retransmissions_and_marks_are_the_runs_own() {
    let s = mixed();
    let scratch = Scratch::new("capture-counts", WHOLE);
    let run = scratch.run(&s);
    let (mut retransmits, mut ce) = (BTreeMap::new(), BTreeMap::new());
    let mut highest: BTreeMap<u16, u32> = BTreeMap::new();
    for name in ["server", "client"] {
        let mine: [u8; 4] = if name == "server" { [10, 9, 9, 1] } else { [10, 9, 9, 2] };
        let mut ids: BTreeMap<(u16, bool), u16> = BTreeMap::new();
        for (_, wire_len, frame) in scratch.packets(name) {
            assert_eq!(frame.len(), wire_len as usize);
            let seen = read(&frame);
            let is_sent = seen.source == mine;
            if is_sent && seen.flow != u16::MAX {
                let before = ids.insert((seen.flow, seen.from_sender), seen.id);
                assert!(before.is_none_or(|b| seen.id == b.wrapping_add(1)), "{seen:?}");
            }
            let data = seen.tcp.as_ref().is_none_or(|t| t.len > 0);
            if !is_sent && seen.from_sender && data && seen.ecn == 3 {
                *ce.entry(seen.flow).or_insert(0_u32) += 1;
            }
            let Some(segment) = seen.tcp else { continue };
            if is_sent && segment.len > 0 {
                let end = segment.seq.wrapping_add(segment.len);
                match highest.insert(seen.flow, end) {
                    Some(before) if before.wrapping_sub(segment.seq) as i32 > 0 => {
                        highest.insert(seen.flow, before.max(end));
                        *retransmits.entry(seen.flow).or_insert(0_u32) += 1;
                    }
                    Some(before) => assert_eq!(before, segment.seq, "no gap"),
                    None => {}
                }
            }
        }
    }
    for (i, flow) in s.flows.iter().enumerate() {
        let count = |of: &BTreeMap<u16, u32>| f64::from(of.get(&(i as u16)).copied().unwrap_or(0));
        match &flow.traffic {
            Traffic::Tcp(_) => {
                assert_eq!(
                    count(&retransmits),
                    total(&run, &flow.name, "retransmits"),
                    "{}",
                    flow.name
                );
                assert_eq!(count(&ce), total(&run, &flow.name, "ce_packets"), "{}", flow.name);
            }
            Traffic::Udp(_) => {
                assert_eq!(count(&ce), total(&run, &flow.name, "ce_packets"), "{}", flow.name);
            }
            _ => {}
        }
    }
    assert!(retransmits.len() >= 2 && ce.len() >= 2, "{retransmits:?} {ce:?}");
}

/// Accurate ECN's option on an acknowledgement: its counters cover the acknowledged bytes, and never decrease; nothing
/// came as ECT(0).
fn counts_bytes(t: &Segment, isn: u32, mut told: [u32; 3]) -> [u32; 3] {
    let counters = t.accecn.as_ref().expect("the option");
    for (before, &now) in told.iter_mut().zip(counters) {
        assert!(*before <= now, "{counters:?}");
        *before = now;
    }
    if counters.len() == 3 {
        assert!(told[0] - 1 + told[1] >= t.ack.wrapping_sub(isn) - 1 && told[2] == 1, "{told:?}");
    }
    told
}

/// What a reader of headers expects: the options of a SYN in Linux's order, acknowledgements of what was sent, SACK
/// blocks above them on segments' edges, the last segment of a stream with an end, Accurate ECN's counter.
#[test]
fn headers_say_what_tcp_does() {
    use TcpOptionElement as Option;
    let s = mixed();
    let scratch = Scratch::new("capture-headers", WHOLE);
    scratch.run(&s);
    let (mut edges, mut initial) = (BTreeMap::<u16, BTreeSet<u32>>::new(), BTreeMap::new());
    let (mut sacks, mut marks, mut aces) = (0, 0, BTreeSet::new());
    let (mut first_data, mut told) = (BTreeMap::new(), [1, 0, 1]);
    // Of each flow as its sender sees it.
    for name in ["server", "client"] {
        for (.., frame) in scratch.packets(name) {
            let seen = read(&frame);
            let Some(t) = seen.tcp else { continue };
            let up = s.flows[usize::from(seen.flow)].direction == Direction::Up;
            if up != (name == "client") {
                continue;
            }
            if t.syn {
                let mut expected = vec![
                    |o: &Option| matches!(o, Option::MaximumSegmentSize(1460)),
                    |o: &Option| matches!(o, Option::SelectiveAcknowledgementPermitted),
                    |o: &Option| matches!(o, Option::Timestamp(..)),
                    |o: &Option| matches!(o, Option::Noop),
                    |o: &Option| matches!(o, Option::WindowScale(7)),
                ];
                // AccECN's option has its padding, and is on an answer alone.
                let answers_accecn = (seen.flow, seen.from_sender) == (2, false);
                if answers_accecn {
                    expected.insert(3, expected[3]);
                }
                assert_eq!(t.accecn, answers_accecn.then(|| vec![1, 0, 1]));
                assert_eq!(t.options.len(), expected.len());
                assert!(expected.iter().zip(&t.options).all(|(is, o)| is(o)), "{:?}", t.options);
                initial.insert((seen.flow, seen.from_sender), t.seq);
                let flags = match (seen.flow, seen.from_sender) {
                    (1, _) => 0b000,
                    (2, true) => 0b111,
                    // Prague's SYN is ECT(1), which the answer tells.
                    (2, false) | (_, true) => 0b011,
                    (_, false) => 0b001,
                };
                assert_eq!(t.flags, flags, "{}", seen.flow);
                continue;
            }
            assert!(t.options.iter().any(|o| matches!(o, Option::Timestamp(..))));
            let isn = initial[&(seen.flow, true)];
            if seen.from_sender {
                // It has got no data itself.
                assert_eq!(t.accecn, (seen.flow == 2).then(|| vec![1, 0, 1]));
                assert_eq!(t.ack, initial[&(seen.flow, false)].wrapping_add(1));
                let bytes = edges.entry(seen.flow).or_default();
                bytes.insert(t.seq.wrapping_sub(isn));
                bytes.insert(t.seq.wrapping_sub(isn) + t.len);
                first_data.entry(seen.flow).or_insert(t.flags);
                if seen.flow == 0 && t.flags == 0b010 {
                    marks += 1;
                }
            } else {
                let known = &edges[&seen.flow];
                let is_edge = |seq: u32| known.contains(&seq.wrapping_sub(isn));
                assert!(is_edge(t.ack), "{t:?}");
                assert!(t.window > 0);
                if seen.flow == 2 {
                    aces.insert(t.flags);
                    told = counts_bytes(&t, isn, told);
                }
                assert_eq!(t.accecn.is_some(), seen.flow == 2);
                for option in &t.options {
                    if let Option::SelectiveAcknowledgement((from, to), _) = option {
                        assert!(to.wrapping_sub(*from) > 0 && is_edge(*from) && is_edge(*to));
                        sacks += 1;
                    }
                }
            }
        }
    }
    assert!(sacks > 0 && marks > 0, "{sacks} SACKs, {marks} CWRs");
    assert_eq!(aces.len(), 8, "the counter goes round");
    assert!(told[0] > 1 && told[1] > 0, "{told:?}");
    // Its SYN/ACK came as Not-ECT.
    assert_eq!(first_data[&2], 0b010);
    assert_eq!(edges[&1].last(), Some(&1_000_002), "the SYN and every byte");
}

/// Connections with data both ways: each request's with a port of its own, numbers without gaps both ways, acknowledgements
/// of no more than was sent and in data segments of no more than was acknowledged before, and no FIN, which is not sent.
#[test]
fn applications_have_a_connection_each() {
    let d = Dumbbell {
        ccs: vec!["cubic".to_owned()],
        qdisc: "pfifo limit 40".to_owned(),
        rate: Rate::from_mbit(20),
        duration: Span::from_secs(6),
        ping: false,
        ..Dumbbell::default()
    };
    let mut s = d.scenario();
    let tcp = || tcp_mut(&mut d.scenario().flows[0].traffic).clone();
    let short = Traffic::ShortFlows(ShortFlows {
        tcp: tcp(),
        mean_interval: Span::from_millis(100),
        count: Some(30),
        length_p5: 1_000,
        length_p95: 200_000,
        request: 150,
    });
    let stream = Traffic::Streaming(Streaming {
        tcp: tcp(),
        ladder: [500, 2_000].map(|k| Rate::from_bits_per_sec(k * 1_000)).into(),
        segment: Span::from_secs(1),
        buffer: Span::from_secs(3),
        start_at: Span::from_secs(1),
        resume_at: Span::from_secs(1),
        live_delay: None,
        safety: 0.8,
        half_lives: (Span::from_secs(3), Span::from_secs(8)),
        size_sigma: 0.0,
        request: 300,
    });
    s.flows.push(d.flow("short", short));
    s.flows.push(d.flow("stream", stream));
    let scratch = Scratch::new("capture-applications", WHOLE);
    let run = scratch.run(&s);
    assert_eq!(fingerprint(&run.tables), fingerprint(&crate::bench::run(&s).tables));
    let of_flows = |name: &str| s.flows.iter().map(|f| total(&run, &f.name, name)).sum::<f64>();
    let (mut frames, mut opened) = (0.0, BTreeSet::new());
    // By connection and end: the next byte, and the end's last acknowledgement.
    let (mut next, mut told) = (BTreeMap::new(), BTreeMap::<_, u32>::new());
    let mut bytes: BTreeMap<(u16, bool), u64> = BTreeMap::new();
    for name in ["server", "client"] {
        let mine: [u8; 4] = if name == "server" { [10, 9, 9, 1] } else { [10, 9, 9, 2] };
        for (.., frame) in scratch.packets(name) {
            frames += 1.0;
            let seen = read(&frame);
            let t = seen.tcp.expect("TCP alone");
            if seen.source != mine {
                continue;
            }
            let port = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
            let id = (port(34).max(port(36)), seen.from_sender);
            assert_eq!(frame[47] & 0x01, 0, "no FIN");
            if t.syn {
                if !seen.from_sender {
                    opened.insert(id.0);
                }
                next.insert(id, t.seq.wrapping_add(1));
                continue;
            }
            let expected = next.get_mut(&id).expect("a SYN came first");
            let ahead = t.seq.wrapping_sub(*expected) as i32;
            assert!(ahead <= 0, "a gap of {ahead}: {t:?}");
            if t.len > 0 {
                let end = t.seq.wrapping_add(t.len);
                if end.wrapping_sub(*expected) as i32 > 0 {
                    *bytes.entry(id).or_default() += u64::from(end.wrapping_sub(*expected));
                    *expected = end;
                }
                if let Some(&told) = told.get(&id) {
                    assert_eq!(t.ack, told, "what was acknowledged before");
                }
            } else {
                assert_eq!(ahead, 0, "an acknowledgement has the number of the next byte");
                let before = told.insert(id, t.ack);
                assert!(before.is_none_or(|b| t.ack.wrapping_sub(b) as i32 >= 0), "{t:?}");
            }
        }
    }
    assert_eq!(frames, of_flows("packets_sent") + of_flows("packets_arrived"));
    // One a short connection, the stream's, and CUBIC's answer.
    let connections = total(&run, "short", "connections");
    assert_eq!(opened.len() as f64, connections + 2.0);
    let requested = opened.iter().map(|&port| bytes.get(&(port, false)).copied().unwrap_or(0));
    let asked: BTreeSet<u64> = requested.filter(|b| *b == 150).collect();
    assert_eq!(asked.len(), 1, "requests of 150 bytes: {bytes:?}");
    let answers = bytes.iter().filter(|((_, from_sender), _)| *from_sender);
    let of_tcp = total(&run, &s.flows[0].name, "delivered_bytes");
    let sent: u64 = answers.map(|(_, n)| n).sum();
    let delivered = of_flows("delivered_bytes");
    assert!(of_tcp > 0.0 && sent as f64 >= delivered, "{sent} {delivered}");
}

/// IP version 6: the frames are as long, the segments 20 bytes shorter, the rest longer; the run's own counts are the
/// frames', and the goodput of a full link is that of 1428 bytes a frame.
#[test]
fn version_6_has_longer_headers() {
    let mut s = mixed();
    for flow in &mut s.flows {
        flow.ip = Ip::V6;
        if let Traffic::Udp(udp) = &mut flow.traffic {
            udp.payload = 1452;
        }
    }
    let scratch = Scratch::new("capture-v6", WHOLE);
    let run = scratch.run(&s);
    assert_eq!(fingerprint(&run.tables), fingerprint(&crate::bench::run(&s).tables));
    let (mut ce, mut lengths, mut labels) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for name in ["server", "client"] {
        let mine: [u8; 4] = if name == "server" { [10, 9, 9, 1] } else { [10, 9, 9, 2] };
        for (_, wire_len, frame) in scratch.packets(name) {
            assert_eq!((frame.len(), &frame[12..14]), (wire_len as usize, &[0x86, 0xdd][..]));
            let seen = read(&frame);
            let label = u32::from_be_bytes([0, frame[15] & 0xf, frame[16], frame[17]]);
            let known = *labels.entry((seen.flow, seen.from_sender)).or_insert(label);
            assert_eq!(label, known, "one label a flow and direction");
            if let Some(t) = &seen.tcp {
                let longest = lengths.entry(t.syn).or_insert((0, 0));
                *longest = (*longest).max((t.len, wire_len));
                if t.syn {
                    assert!(matches!(t.options[0], TcpOptionElement::MaximumSegmentSize(1440)));
                }
            }
            let is_data = seen.tcp.as_ref().is_none_or(|t| t.len > 0);
            if seen.source != mine && seen.from_sender && is_data && seen.ecn == 3 {
                *ce.entry(seen.flow).or_insert(0_u32) += 1;
            }
        }
    }
    // 94 bytes, and 12 of AccECN's option on the answer to Prague.
    assert_eq!((lengths[&true], lengths[&false]), ((0, 106), (1428, 1514)));
    for (i, flow) in s.flows.iter().enumerate() {
        if !matches!(flow.traffic, Traffic::Ping(_)) {
            let seen = f64::from(ce.get(&(i as u16)).copied().unwrap_or(0));
            assert_eq!(seen, total(&run, &flow.name, "ce_packets"), "{}", flow.name);
        }
    }
    let mut alone = Dumbbell {
        ccs: vec!["cubic".to_owned()],
        qdisc: "pfifo limit 100".to_owned(),
        rate: Rate::from_mbit(20),
        duration: Span::from_secs(10),
        ping: false,
        ..Dumbbell::default()
    }
    .scenario();
    alone.flows[0].ip = Ip::V6;
    let run = crate::bench::run(&alone);
    let goodput = crate::bench::series(&run, "flows", "goodput_bps", "cubic-1");
    let mean = crate::bench::mean_between(&goodput, 5.0, 10.0);
    assert!((mean / (20e6 * 1428.0 / 1514.0) - 1.0).abs() < 1e-3, "{mean}");
}

/// A disk without room says what to do.
#[test]
fn a_full_disk_says_what_to_do() {
    let full = CaptureError {
        file: "results/x.pcap".into(),
        why: std::io::Error::from(std::io::ErrorKind::StorageFull),
    };
    let RunError::Environment { why, help } = RunError::from(full) else { panic!("environment") };
    assert!(why.starts_with("the capture results/x.pcap cannot be written: no storage space"));
    assert!(help.contains("make room") && help.contains("--snap-len"));
}

/// A receive window of 100 000 bytes is announced with a shift of one.
#[test]
fn windows_are_scaled() {
    let mut s = Dumbbell { duration: Span::from_secs(1), ..Dumbbell::default() }.scenario();
    tcp_mut(&mut s.flows[0].traffic).receive_window = ReceiveWindow::Fixed(100_000);
    let scratch = Scratch::new("capture-windows", WHOLE);
    scratch.run(&s);
    let mut largest = 0;
    for (.., frame) in scratch.packets("server") {
        let seen = read(&frame);
        if let (0, false, Some(t)) = (seen.flow, seen.from_sender, seen.tcp) {
            if t.syn {
                assert!(t.options.iter().any(|o| matches!(o, TcpOptionElement::WindowScale(1))));
            } else {
                largest = largest.max(t.window);
            }
        }
    }
    assert_eq!(largest, 50_000);
}

/// Inside a tunnel queues see the outer header; its length, and what is within, are right.
#[test]
fn tunnels_have_their_outer_headers() {
    for (kind, overhead) in [
        (TunnelKind::Wireguard, 60),
        (TunnelKind::Fou { auto_source_port: true }, 28),
        (TunnelKind::Esp, 54),
    ] {
        let mut s = Dumbbell { duration: Span::from_secs(1), ..Dumbbell::default() }.scenario();
        let tunnel = Tunnel { kind, select: Selector::All, overhead, replay_window: 64, by: None };
        let element = |name: &str, kind| Element { name: name.to_owned(), enabled: true, kind };
        let down = s.hops[0].down.len() - 1;
        s.hops[0].down.insert(down, element("tunnel", Kind::Encapsulate(tunnel)));
        let end = Kind::Decapsulate { tunnel: "tunnel".to_owned() };
        s.hops[0].down.push(element("tunnel-end", end));
        let scratch = Scratch::new(&format!("capture-{}", kind.name()), WHOLE);
        let run = scratch.run(&s);
        let mut within = 0_u64;
        for (_, wire_len, frame) in scratch.packets("bottleneck.right") {
            let packet = SlicedPacket::from_ethernet(&frame).expect("a frame");
            let Some(NetSlice::Ipv4(ip)) = &packet.net else { panic!("not IPv4") };
            let header = ip.header().to_header();
            assert_eq!(u32::from(header.total_len) + 14, wire_len);
            assert_eq!(header.header_checksum, header.calc_header_checksum());
            if header.source != [10, 8, 0, 1] {
                continue;
            }
            within += 1;
            match (kind, &packet.transport) {
                (TunnelKind::Esp, None) => assert_eq!(header.protocol.0, 50),
                (TunnelKind::Wireguard, Some(TransportSlice::Udp(udp))) => {
                    let sum = udp.to_header().calc_checksum_ipv4_raw(
                        header.source,
                        header.destination,
                        udp.payload(),
                    );
                    assert_eq!(Ok(udp.checksum()), sum.map_err(drop));
                    assert_eq!(udp.payload()[0], 4);
                    let counter: [u8; 8] = udp.payload()[8..16].try_into().expect("eight bytes");
                    assert_eq!(u64::from_le_bytes(counter) + 1, within, "nothing was dropped");
                }
                (TunnelKind::Fou { .. }, Some(TransportSlice::Udp(udp))) => {
                    let inner = SlicedPacket::from_ip(udp.payload()).expect("a packet within");
                    let Some(NetSlice::Ipv4(ip)) = inner.net else { panic!("not IPv4") };
                    assert_eq!(u32::from(ip.header().total_len()) + 14 + 28, wire_len);
                    assert_eq!(ip.header().source(), [10, 9, 9, 1]);
                }
                (_, other) => panic!("{} has {other:?}", kind.name()),
            }
        }
        assert_eq!(within as f64, total(&run, "bottleneck.down.qdisc", "left"), "{}", kind.name());
        assert!(scratch.packets("client").iter().all(|(.., f)| f[26..29] == [10, 9, 9]));
    }
}

/// A cancelled run, and one that cannot write its captures, leave no file behind.
#[test]
fn what_is_not_whole_is_not_there() {
    struct Impatient(Scratch);
    impl Watch for Impatient {
        fn cancelled(&self) -> bool {
            true
        }
        fn capture(&self) -> Option<Capture> {
            self.0.capture()
        }
    }
    let s = mixed();
    let impatient = Impatient(Scratch::new("capture-given-up", SNAP_LEN));
    assert_eq!(Sim::new().run(&s.clone().into(), &impatient).err(), Some(RunError::Cancelled));
    assert_eq!(fs::read_dir(&impatient.0.0.folder).expect("it is there").count(), 0);
    let nowhere = Scratch(Capture { folder: "/nowhere/at/all".into(), snap_len: SNAP_LEN });
    let error =
        Sim::new().run(&s.clone().into(), &nowhere).expect_err("it cannot be written").to_string();
    assert!(
        error.starts_with("the capture /nowhere/at/all/server.pcap cannot be written"),
        "{error}"
    );
}
