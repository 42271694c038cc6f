//! Flows between two TCP implementations by other authors.

use crate::bench::{
    QUEUE, count_at, counts, fingerprint, mean_between, run, series, table, total, try_run,
};
use crate::capture::Scratch;
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use sojourn_engine::{RunError, run_many};
use sojourn_model::{At, Direction, EcnMode, Ip, Scenario, Start, TcpStack, Traffic};
use sojourn_results::Run;
use sojourn_sim::{Sim, dumbbell::Dumbbell};
use sojourn_units::{Rate, Span};
use std::sync::Mutex;

/// smoltcp's controls that reduce their windows.
const ANSWER: [&str; 2] = ["cubic", "reno"];

/// Payload of a full segment, and the frame that carries it: 14 bytes of Ethernet, 20 of IPv4, 20 of TCP, no options.
const PAYLOAD: f64 = 1460.0;
const FULL: f64 = PAYLOAD / 1514.0;

fn dumbbell(mbit: u64, rtt_ms: u64, qdisc: &str, seconds: u64) -> Dumbbell {
    Dumbbell {
        ccs: Vec::new(),
        rate: Rate::from_mbit(mbit),
        rtt: Span::from_millis(rtt_ms),
        qdisc: qdisc.to_owned(),
        duration: Span::from_secs(seconds),
        ping: false,
        ..Dumbbell::default()
    }
}

fn smoltcp(cc: &str) -> TcpStack {
    TcpStack::plain("smoltcp", cc)
}

fn alone(d: &Dumbbell, tcp: TcpStack) -> Scenario {
    let mut s = d.scenario();
    s.flows.push(d.flow("t", Traffic::TcpStack(tcp)));
    s
}

/// Every packet that was sent has arrived, was dropped, or is in a queue.
fn balances(run: &Run, flow: &str) {
    let of = |name| total(run, flow, name);
    let under_way = of("packets_sent") - of("packets_arrived") - of("packets_dropped");
    let held: f64 = ["bottleneck.down.netem", QUEUE, "bottleneck.up.netem", "bottleneck.up.qdisc"]
        .iter()
        .map(|element| total(run, element, "held"))
        .sum();
    assert!((0.0..=held).contains(&under_way), "{flow}: {under_way} under way, {held} held");
    assert_eq!(of("packets_sent"), of("segments_sent") + of("answers_sent"));
    assert_eq!(of("packets_arrived"), of("segments_received") + of("answers_received"));
}

/// With a buffer of two bandwidth-delay products (66 packets) a lone flow fills the link once its first losses are
/// repaired: 20 Mbit/s carry 1460 of every 1514 bytes. Full segments are acknowledged two by two.
#[test]
fn a_lone_flow_fills_the_link() {
    for cc in ANSWER {
        let d = dumbbell(20, 20, "pfifo limit 66", 30);
        let r = run(&alone(&d, smoltcp(cc)));
        let share = mean_between(&series(&r, "flows", "goodput_bps", "t"), 10.0, 30.0) / 20e6;
        assert!((0.995 * FULL..1.001 * FULL).contains(&share), "{cc}: {share} of the link");
        let rtt = mean_between(&series(&r, "flows", "rtt_s", "t"), 10.0, 30.0);
        assert!((0.020..0.062).contains(&rtt), "{cc}: {rtt} s");
        // SYN, SYN and ACK, ACK: the server knows after a round trip and a half.
        let handshake = total(&r, "t", "handshake_s");
        assert!((0.030..0.031).contains(&handshake), "{cc}: {handshake} s");
        let answers = total(&r, "t", "answers_sent") / total(&r, "t", "segments_received");
        assert!((0.5..0.52).contains(&answers), "{cc}: {answers} answers a segment");
        balances(&r, "t");
        // What smoltcp keeps to itself has no number.
        assert!(counts(&r, "flows", "cwnd", "t").iter().all(|(_, cwnd)| *cwnd == 0));
        assert!(series(&r, "flows", "srtt_s", "t").iter().all(|(_, srtt)| srtt.is_nan()));
    }
}

/// Without congestion control the receive window is all: 20 segments in 20 ms are 11.68 Mbit/s.
#[test]
fn a_receive_window_is_a_window_a_round_trip() {
    let d = dumbbell(20, 20, "pfifo limit 1000", 10);
    let r = run(&alone(&d, TcpStack { receive_window: 29_200, ..smoltcp("none") }));
    let rate = mean_between(&series(&r, "flows", "goodput_bps", "t"), 1.0, 10.0);
    assert!((11.5e6..11.7e6).contains(&rate), "{rate}");
    let most = counts(&r, "flows", "inflight", "t").iter().map(|(_, packets)| *packets).max();
    assert_eq!(most, Some(20));
    balances(&r, "t");
}

/// One packet in fifty is lost on the path, both ways: every byte arrives all the same, once.
#[test]
fn losses_are_repaired() {
    for cc in ANSWER {
        let d = dumbbell(20, 20, "pfifo limit 1000", 60);
        let mut s = alone(&d, TcpStack { bytes: Some(2_000_000), ..smoltcp(cc) });
        crate::bench::netem_mut(&mut s).chain = vec!["delay 10ms loss 2%".to_owned()];
        let r = run(&s);
        assert_eq!(total(&r, "t", "delivered_bytes"), 2_000_000.0, "{cc}");
        assert!(total(&r, "t", "retransmits") > 5.0, "{cc}");
        balances(&r, "t");
    }
}

/// When the flow ended, s.
fn ends(run: &Run) -> Option<f64> {
    let t = table(run, "events");
    let (whats, subjects) = (t.text("what"), t.text("subject"));
    let is_end = |i: &usize| whats.get(*i) == "end" && subjects.get(*i) == "flow t";
    (0..t.len()).find(is_end).map(|i| t.f64("t_s")[i])
}

/// To the byte, either way, over either version of IP.
#[test]
fn so_many_bytes_arrive_and_the_flow_ends() {
    for direction in [Direction::Down, Direction::Up] {
        for ip in [Ip::V4, Ip::V6] {
            let d = dumbbell(20, 30, "pfifo limit 1000", 5);
            let mut s = alone(&d, TcpStack { bytes: Some(3_141_592), ..smoltcp("reno") });
            (s.flows[0].direction, s.flows[0].ip) = (direction, ip);
            let r = run(&s);
            assert_eq!(total(&r, "t", "delivered_bytes"), 3_141_592.0);
            // A header of version 6 has 20 bytes more, and a segment 20 fewer. Once the application has closed, the last 2.5
            // MB of its buffer leave in shorter segments, too: Nagle's algorithm is over.
            let full = if ip == Ip::V4 { 1460.0 } else { 1440.0 };
            let share = total(&r, "t", "segments_sent") / (3_141_592.0 / full);
            assert!((1.0..1.3).contains(&share), "{direction:?} {ip:?}: {share}");
            // 3.14 MB take 1.30 s at the rate, and a slow start from one segment.
            let end = ends(&r).expect("it ends");
            assert!((1.30..2.2).contains(&end), "{direction:?} {ip:?}: {end} s");
            balances(&r, "t");
        }
    }
}

fn of_many(scenarios: &[Scenario], threads: usize) -> Vec<u64> {
    let prints = Mutex::new(vec![0; scenarios.len()]);
    run_many(&Sim::new(), scenarios, threads, &(), &|i, run| {
        let tables = run.expect("the scenario can be run").tables;
        prints.lock().expect("nobody panics with it")[i] = fingerprint(&tables);
    });
    prints.into_inner().expect("nobody panics with it")
}

/// Each control against a CUBIC of this project's TCP, through a queue that draws.
fn mixed(seed: u64) -> Vec<Scenario> {
    let with = |cc| {
        let d = Dumbbell { ccs: vec!["cubic".to_owned()], seed, ..dumbbell(10, 20, "pie", 8) };
        alone(&d, smoltcp(cc))
    };
    ["cubic", "reno", "none"].map(with).to_vec()
}

#[test]
fn the_same_seed_is_the_same_run_on_any_number_of_threads() {
    let scenarios = mixed(1);
    let one = of_many(&scenarios, 1);
    assert_eq!(one, of_many(&scenarios, 3));
    assert_eq!(one, of_many(&scenarios, 1));
    for (a, b) in one.iter().zip(of_many(&mixed(2), 2)) {
        assert_ne!(*a, b);
    }
}

/// It starts when it should, and when it is stopped its sender resets the connection and is silent.
#[test]
fn a_flow_starts_and_stops() {
    let d = dumbbell(20, 20, "pfifo limit 1000", 6);
    let mut s = alone(&d, TcpStack { receive_window: 60_000, ..smoltcp("reno") });
    s.flows[0].start = Start::At(At::from_secs(1));
    s.flows[0].stop = Some(At::from_secs(3));
    let r = run(&s);
    let goodput = series(&r, "flows", "goodput_bps", "t");
    assert!(goodput.iter().all(|row| row.0 >= 1.0 && row.0 <= 3.01));
    let share = total(&r, "t", "delivered_bytes") / (2.0 * 20e6 / 8.0 * FULL);
    assert!((0.85..1.0).contains(&share), "{share} of the link");
    let sent = counts(&r, "queues", "sent_packets", QUEUE);
    assert_eq!(count_at(&sent, 6.0), count_at(&sent, 3.1));
    balances(&r, "t");
}

/// Against a CUBIC of this project's TCP in one queue: both get through, and both books balance with the queue's.
#[test]
fn the_books_of_two_flows_balance() {
    let d = Dumbbell { ccs: vec!["cubic".to_owned()], ..dumbbell(20, 20, "fq_codel", 10) };
    let r = run(&alone(&d, smoltcp("cubic")));
    balances(&r, "t");
    let of = |flow, name| total(&r, flow, name);
    for flow in ["t", "cubic-1"] {
        assert!(of(flow, "delivered_bytes") > 8e6, "{flow}");
    }
    let dropped = of("t", "packets_dropped") + of("cubic-1", "packets_dropped");
    assert_eq!(dropped, total(&r, QUEUE, "dropped"));
}

/// Names in a scenario that was read from a file and that nobody has, and settings that smoltcp lacks.
#[test]
fn what_a_stack_does_not_have_is_refused() {
    let d = dumbbell(20, 20, "pfifo", 1);
    let refusal = |tcp| match try_run(&alone(&d, tcp)) {
        Err(RunError::Refused(refusals)) => refusals[0].to_string(),
        other => panic!("not refused: {other:?}"),
    };
    let said = refusal(TcpStack::plain("smoltpc", "cubic"));
    let expected = "there is no TCP stack \"smoltpc\" (did you mean \"smoltcp\"?)";
    assert!(said.contains(expected), "{said}");
    let said = refusal(smoltcp("bbr"));
    assert!(said.contains("there is no congestion control of smoltcp \"bbr\""), "{said}");
    for ecn in [EcnMode::Rfc3168, EcnMode::AccEcn] {
        let said = refusal(TcpStack { ecn, ..smoltcp("cubic") });
        assert!(said.contains("tcp ecn: smoltcp: it sends Not-ECT"), "{said}");
    }
    let said = refusal(TcpStack { initial_window: Some(10), ..smoltcp("cubic") });
    assert!(said.contains("tcp initial_window: smoltcp: its controls begin with 2048"), "{said}");
}

/// Settings of a flow's own reach the stack.
#[test]
fn settings_change_what_they_say() {
    let d = dumbbell(20, 50, "pfifo limit 1000", 3);
    let answers = |tcp| {
        let r = run(&alone(&d, tcp));
        total(&r, "t", "answers_sent") / total(&r, "t", "segments_received")
    };
    let every = answers(TcpStack { ack_delay: Some(Span::ZERO), ..smoltcp("reno") });
    assert!((1.0..1.01).contains(&every), "{every} answers a segment");
    // The first segment is alone, and its acknowledgement waits 10 ms, or until a step of the timer ends.
    let early = |timer_granularity: Option<Span>| {
        let d = dumbbell(20, 50, "pfifo limit 1000", 1);
        let r = run(&alone(&d, TcpStack { timer_granularity, ..smoltcp("reno") }));
        total(&r, "t", "delivered_bytes")
    };
    let (exact, coarse) = (early(None), early(Some(Span::from_millis(100))));
    assert!(coarse < exact, "{exact} bytes, {coarse} bytes");
}

/// A capture has the segments with their own bytes: lengths and checksums are right, the numbers begin with the SYN's,
/// no segment is ECN-capable, and headers have the flow's DSCP.
#[test]
fn captures_have_the_segments_that_were_sent() {
    let d = dumbbell(20, 20, "codel", 2);
    let mut s = alone(&d, TcpStack { bytes: Some(1_000_000), ..smoltcp("reno") });
    s.flows[0].dscp = sojourn_units::Dscp::new(10).expect("AF11 is one");
    let scratch = Scratch::new("tcp_stack", 65_535);
    let r = scratch.run(&s);
    assert_eq!(fingerprint(&r.tables), fingerprint(&run(&s).tables));
    let of = |name| total(&r, "t", name);
    let ends = [
        ("client", [10, 9, 9, 2], of("answers_sent"), of("segments_received")),
        ("server", [10, 9, 9, 1], of("segments_sent"), of("answers_received")),
    ];
    for (point, host, sent, came) in ends {
        let (mut seen, mut first) = ([0.0, 0.0], [None, None]);
        let mut last = 0;
        for (_, wire_len, bytes) in scratch.packets(point) {
            assert_eq!(wire_len as usize, bytes.len());
            let packet = SlicedPacket::from_ethernet(&bytes).expect("a frame");
            let Some(NetSlice::Ipv4(ip)) = &packet.net else { panic!("IPv4: {packet:?}") };
            let Some(TransportSlice::Tcp(tcp)) = &packet.transport else {
                panic!("TCP: {packet:?}")
            };
            let (source, destination) = (ip.header().source(), ip.header().destination());
            let header = tcp.to_header();
            let sum = header.calc_checksum_ipv4_raw(source, destination, tcp.payload());
            assert_eq!(tcp.checksum(), sum.expect("it is short enough"));
            let header = ip.header().to_header();
            assert_eq!(ip.header().header_checksum(), header.calc_header_checksum());
            assert_eq!((ip.header().ecn().value(), ip.header().dcp().value()), (0, 10));
            let from = usize::from(source != host);
            seen[from] += 1.0;
            let begins = *first[from].get_or_insert(tcp.sequence_number());
            assert_eq!(tcp.syn(), tcp.sequence_number() == begins);
            if let ([10, 9, 9, 1], Some(isn)) =
                (destination, first[usize::from(host != [10, 9, 9, 1])])
            {
                last = last.max(tcp.acknowledgment_number().wrapping_sub(isn));
            }
            let server = usize::from(source != [10, 9, 9, 1]);
            assert_eq!([tcp.source_port(), tcp.destination_port()][server], 30_000);
        }
        assert_eq!(seen, [sent, came], "{point}");
        // The SYN, the data, and the FIN.
        assert_eq!(last, 1_000_002, "{point}");
    }
}
