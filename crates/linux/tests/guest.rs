//! Runs in a guest. Without a kernel in the cache they are ignored, and counted as that: the harness of the standard
//! library cannot tell when it runs. `make test-linux` builds a kernel first, and ignores none.

mod common;

use common::{column, mean, total};
use libtest_mimic::Arguments;
use sojourn_capture::{Capture, EPOCH, Point};
use sojourn_engine::{Engine as _, RunError, Watch};
use sojourn_linux::Linux;
use sojourn_model::{
    Action, Adaptation, At, Direction, EcnMode, Element, Event, Flow, Hop, Ip, Irtt, Kind, Netem,
    OnOff, Origin, Ping, PoliceAction, Policer, Profile, Pulse, Queue, Rewrite, Rule, Scenario,
    Selector, Shaper, ShortFlows, Start, Streaming, Tcp, Traffic, Udp, Video, Voip, When, Window,
    WindowBounds,
};
use sojourn_results::metrics::{Expression, Frame};
use sojourn_results::{Column, Run, Table};
use sojourn_units::{Dscp, Ecn, Random, Rate, Span, Time};
use sojourn_workload::{Act, Arrivals, Datagrams, Player, Source as _, Wish, random_name};
use std::path::Path;

/// The engine, and the stack of the newest kernel in the cache.
fn engine() -> (Linux, String) {
    let linux = Linux::new();
    let stack =
        linux.kernels().last().expect("a kernel in the cache (sojourn linux build)").stack();
    (linux, stack)
}

fn tcp(cc: &str) -> Tcp {
    Tcp::plain(cc, EcnMode::Rfc3168)
}

fn flow(stack: &str, name: &str, traffic: Traffic) -> Flow {
    Flow {
        name: name.to_owned(),
        group: None,
        stack: stack.to_owned(),
        receiver_stack: None,
        ip: Ip::V4,
        direction: Direction::Down,
        hops: vec![0],
        dscp: Dscp::BEST_EFFORT,
        start: Start::At(At::ORIGIN),
        stop: None,
        delays: None,
        by: None,
        traffic,
    }
}

fn scenario(stack: &str, qdisc: &str, rate: u64, rtt: Span, secs: u64, ccs: &[&str]) -> Scenario {
    let side = || {
        let element = |name: &str, kind| Element { name: name.to_owned(), enabled: true, kind };
        let chain = vec![format!("delay {} limit 1000000", rtt / 2)];
        let shaper = Shaper::Htb { rate: Rate::from_mbit(rate), ceil: None, burst: None };
        vec![
            element("netem", Kind::Netem(Netem { chain, per_flow: vec![] })),
            element("qdisc", Kind::Queue(Queue { shaper, qdisc: qdisc.into() })),
        ]
    };
    let mut flows: Vec<Flow> = ccs
        .iter()
        .enumerate()
        .map(|(i, cc)| flow(stack, &format!("{cc}-{}", i + 1), Traffic::Tcp(tcp(cc))))
        .collect();
    let ping = Ping { interval: Span::from_millis(200), size: 84, ecn: Ecn::NotEct };
    flows.push(flow(stack, "ping", Traffic::Ping(ping)));
    Scenario {
        experiment: "test".into(),
        source: String::new(),
        cell: vec![],
        seed: 1,
        origin: Origin::FirstFlow,
        duration: Span::from_secs(secs),
        warmup: Span::ZERO,
        sample_interval: Span::from_millis(50),
        stack: stack.to_owned(),
        hops: vec![Hop {
            name: "bottleneck".into(),
            stack: stack.to_owned(),
            by: None,
            host_nic: false,
            down: side(),
            up: side(),
        }],
        flows,
        events: vec![],
        phases: vec![],
        windows: vec![],
        checks: vec![],
        traces: Vec::new(),
        links: vec![],
        plugins: vec![],
    }
}

fn one_flow_fills_the_link_and_rtt_is_base_and_queue() {
    let (linux, stack) = engine();
    let mut s = scenario(&stack, "pfifo limit 100", 50, Span::from_millis(20), 20, &["cubic"]);
    let bounds = WindowBounds::Between { from: At::from_secs(10), to: At::from_secs(20) };
    s.windows = vec![Window { name: "second".to_owned(), bounds }];
    let run = linux.run(&s.clone().into(), &()).unwrap();
    let goodput = mean(&column(&run, "flows", "flow", "cubic-1", "goodput_bps", 10.0)) / 1e6;
    // 1448 of 1514 bytes are payload; the ping takes 98 bytes five times a second.
    assert!((goodput / 47.82 - 1.0).abs() < 0.002, "{goodput}");
    let rtt = mean(&column(&run, "flows", "flow", "cubic-1", "srtt_s", 10.0));
    let queue =
        mean(&column(&run, "queues", "queue", "bottleneck.down.qdisc", "sojourn_mean_s", 10.0));
    assert!((rtt - 0.020 - queue).abs() < 0.0007, "{rtt} {queue}");
    let latest = mean(&column(&run, "flows", "flow", "cubic-1", "rtt_s", 10.0));
    assert!((rtt - latest).abs() < 0.0005, "{rtt} {latest}");
    // Packet by packet in the window; beyond the queue there is nothing on the way but a constant delay.
    let value = |text: &str| value(&run, text);
    let packets = value("mean(sojourn, cubic-1) over second");
    assert!((packets / queue - 1.0).abs() < 0.02, "{packets} {queue}");
    for p in ["p50", "p99", "max"] {
        let (stayed, way) = (
            value(&format!("{p}(sojourn, cubic-1) over second")),
            value(&format!("{p}(packet_owd, cubic-1) over second")),
        );
        assert!((way - 0.010 - stayed).abs() < 0.02 * stayed, "{p}: {way} {stayed}");
    }
    let pings = run.table("pings").unwrap();
    assert!(pings.len() >= 99 && pings.f64("rtt_s")[0] > 0.02 && pings.f64("rtt_s")[0] < 0.0202);
}

/// The first window leaves in the first round trip of 400 ms after the handshake's own.
fn the_initial_window_is_the_routes() {
    let (linux, stack) = engine();
    for window in [None, Some(32)] {
        let mut s =
            scenario(&stack, "pfifo limit 1000", 50, Span::from_millis(400), 2, &["reno", "reno"]);
        for flow in &mut s.flows {
            if let Traffic::Tcp(tcp) = &mut flow.traffic {
                tcp.initial_window = window;
            }
        }
        let run = linux.run(&s.clone().into(), &()).unwrap();
        let flows = run.table("flows").unwrap();
        let (names, times, cwnd) = (flows.text("flow"), flows.f64("t_s"), flows.u64("cwnd"));
        // They start within 150 ms: 0.6 to 0.75 s is behind the handshake and before the first ACK.
        let early = (0..flows.len())
            .filter(|&i| names.get(i).starts_with("reno") && times[i] > 0.6 && times[i] < 0.75);
        let found: Vec<u64> = early.map(|i| cwnd[i]).collect();
        assert!(
            found.len() >= 4 && found.iter().all(|&w| w == u64::from(window.unwrap_or(10))),
            "{found:?}"
        );
    }
}

fn the_same_seed_gives_the_same_bits_and_another_seed_does_not() {
    let (linux, stack) = engine();
    let run = |seed| {
        let mut s = scenario(&stack, "pie ecn", 10, Span::from_millis(20), 8, &["cubic", "reno"]);
        s.seed = seed;
        linux.run(&s.clone().into(), &()).unwrap().tables.iter().map(bits).collect::<Vec<_>>()
    };
    let first = run(1);
    assert!(first == run(1), "two runs of one seed differ");
    assert!(first != run(2), "two seeds give the same run");
}

struct Keeping(Capture);
impl Watch for Keeping {
    fn capture(&self) -> Option<Capture> {
        Some(self.0.clone())
    }
}

/// The packets of a capture: nanoseconds since the epoch, length, and what was kept.
fn packets(file: &Path) -> Vec<(u64, u32, Vec<u8>)> {
    let bytes = std::fs::read(file).unwrap();
    let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(u32_at(0), 0xa1b2_3c4d, "nanosecond pcap");
    let (mut at, mut found) = (24, Vec::new());
    while at < bytes.len() {
        let kept = u32_at(at + 8) as usize;
        let time = u64::from(u32_at(at)) * 1_000_000_000 + u64::from(u32_at(at + 4));
        found.push((time, u32_at(at + 12), bytes[at + 16..at + 16 + kept].to_vec()));
        at += 16 + kept;
    }
    found
}

fn a_capture_has_every_packet_and_changes_nothing() {
    let (linux, stack) = engine();
    let s = scenario(&stack, "pie ecn", 10, Span::from_millis(20), 8, &["cubic", "reno"]);
    let folder = tempfile::tempdir().unwrap();
    let wish = Keeping(Capture { folder: folder.path().to_owned(), snap_len: 96 });
    let with = linux.run(&s.clone().into(), &wish).unwrap();
    let without = linux.run(&s.clone().into(), &()).unwrap();
    assert!(with.tables.iter().map(bits).eq(without.tables.iter().map(bits)));
    let of = |point: &Point| packets(&folder.path().join(point.file_name()));
    let points = Point::all(&s);
    assert_eq!(points.len(), 4);
    let [server, left, right, client] = [0, 1, 2, 3].map(|i| of(&points[i]));
    for taken in [&server, &left, &right, &client] {
        assert!(taken.len() > 5_000, "{} packets", taken.len());
        assert!(taken.is_sorted_by_key(|(at, ..)| at), "in order of time");
        assert!(taken.iter().all(|(_, length, kept)| kept.len() == 96.min(*length as usize)));
        // IPv4 in Ethernet.
        assert!(taken.iter().all(|(.., kept)| kept[12..15] == [8, 0, 0x45]));
    }
    // Full segments towards the client: dropped packets are missing behind the queue, nothing else is.
    let full = |taken: &[(u64, u32, Vec<u8>)]| taken.iter().filter(|p| p.1 == 1514).count();
    assert_eq!(full(&server), full(&left));
    assert!(full(&right) < full(&left));
    assert!(full(&right).abs_diff(full(&client)) <= 1, "one may be under way at the end");
    // Marks are set by the queue.
    let marked = |taken: &[(u64, u32, Vec<u8>)]| taken.iter().filter(|p| p.2[15] & 3 == 3).count();
    assert_eq!(marked(&left), 0);
    assert!(marked(&right) > 0);
}

/// The flags of the first SYN and SYN/ACK of a flow that asks for this, AE, CWR and ECE as a number, and what a full
/// segment's frame holds besides its payload.
fn agreed(mode: EcnMode) -> (u8, u8, u32) {
    let (linux, stack) = engine();
    let mut s = scenario(&stack, "pie ecn", 10, Span::from_millis(20), 4, &["cubic"]);
    s.flows[0].traffic = Traffic::Tcp(Tcp::plain("cubic", mode));
    let folder = tempfile::tempdir().unwrap();
    let wish = Keeping(Capture { folder: folder.path().to_owned(), snap_len: 96 });
    linux.run(&s.clone().into(), &wish).unwrap();
    let taken = packets(&folder.path().join(Point::all(&s)[0].file_name()));
    // The TCP header follows 14 bytes of Ethernet and 20 of IPv4: its length, then its flags.
    let flags = |p: &(u64, u32, Vec<u8>)| (p.2[46] & 1) << 2 | p.2[47] >> 6;
    let syns: Vec<_> = taken.iter().filter(|p| p.2[47] & 2 != 0).collect();
    let data = taken.iter().find(|p| p.1 == 1514).unwrap();
    (flags(syns[0]), flags(syns[1]), 34 + 4 * u32::from(data.2[46] >> 4))
}

/// RFC 9768 §3.1: AE, CWR and ECE, and 010 for a SYN that was not ECN-capable; the option takes 12 bytes of each segment.
/// RFC 3168: CWR and ECE, and ECE.
fn what_a_flow_asks_for_is_agreed() {
    assert_eq!(agreed(EcnMode::AccEcn), (0b111, 0b010, 78));
    assert_eq!(agreed(EcnMode::Rfc3168), (0b011, 0b001, 66));
    assert_eq!(agreed(EcnMode::Off), (0, 0, 66));
}

/// Every value of a table, bit by bit: NaN is not equal to itself.
fn bits(table: &Table) -> Vec<Vec<u64>> {
    let of = |column: &Column| match column {
        Column::F64(v) => v.iter().map(|x| x.to_bits()).collect(),
        Column::U64(v) => v.clone(),
        Column::Text(t) => t.codes().iter().map(|&c| u64::from(c)).collect(),
    };
    table.columns().map(|(_, column, _)| of(column)).collect()
}

fn a_rate_changes_at_its_time_and_datagrams_are_delayed_as_they_should() {
    let (linux, stack) = engine();
    let mut s = scenario(&stack, "pfifo", 50, Span::from_millis(20), 6, &["cubic"]);
    let udp = Udp { rate: Rate::from_mbit(1), payload: 1000, ecn: Ecn::NotEct };
    s.flows.push(flow(&stack, "udp", Traffic::Udp(udp)));
    s.events.push(Event {
        name: "step".into(),
        when: When::At(At::from_secs(3)),
        actions: vec![Action::Rate {
            element: "bottleneck.down.qdisc".into(),
            rate: Rate::from_mbit(10),
        }],
    });
    let run = linux.run(&s.clone().into(), &()).unwrap();
    let sent = column(&run, "flows", "flow", "udp", "goodput_bps", 2.0);
    assert!((mean(&sent[..15]) / 1e6 - 1.0).abs() < 0.1, "{sent:?}");
    let queues = run.table("queues").unwrap();
    let (names, bytes) = (queues.text("queue"), queues.u64("sent_bytes"));
    let down: Vec<u64> = (0..queues.len())
        .filter(|&i| names.get(i) == "bottleneck.down.qdisc")
        .map(|i| bytes[i])
        .collect();
    let rate = |k: usize| (down[k] - down[k - 1]) as f64 * 8.0 / 0.05 / 1e6;
    assert!(rate(58) > 49.0 && rate(59) > 49.0, "{} {}", rate(58), rate(59));
    assert!((rate(61) - 10.0).abs() < 0.3 && (rate(80) - 10.0).abs() < 0.3, "{}", rate(61));
    assert!(rate(60) < 10.6, "{}", rate(60));
    let events = run.table("events").unwrap();
    let what = events.text("what");
    let step = (0..events.len()).find(|&i| what.get(i) == "event").unwrap();
    assert!((events.f64("t_s")[step] - 3.0).abs() < 1e-6);
}

fn value(run: &Run, text: &str) -> f64 {
    Expression::parse(text).unwrap().evaluate(&Frame::new(run)).unwrap().value.number
}

/// 1000 bytes of payload are 1042 on the wire: 12 Mbit/s of payload are 12.504 Mbit/s; 10 of them pass, less the ping's
/// 98 bytes five times a second (0.00392). A share of 1 - 9.99608 / 12.504 = 0.20057 is lost once the queue of 100
/// packets is full, which is after 0.34 s.
fn datagrams_that_are_dropped_are_lost() {
    let (linux, stack) = engine();
    let mut s = scenario(&stack, "pfifo limit 100", 10, Span::from_millis(20), 10, &[]);
    let udp = Udp { rate: Rate::from_mbit(12), payload: 1000, ecn: Ecn::NotEct };
    s.flows.push(flow(&stack, "udp", Traffic::Udp(udp)));
    let bounds = WindowBounds::Between { from: At::from_secs(2), to: At::from_secs(10) };
    s.windows = vec![Window { name: "full".to_owned(), bounds }];
    let run = linux.run(&s.clone().into(), &()).unwrap();
    let loss = value(&run, "loss_rate(udp) over full");
    assert!((loss - 0.20057).abs() < 0.0005, "{loss}");
    // Sent less received is lost, on its way or not yet given up: 15 are in the delay of 10 ms, 100 in the queue and 25
    // dropped between them, and of the last 64 up to the newest that has come 13 are missing.
    let counted = *column(&run, "flows", "flow", "udp", "goodput_bps", 0.0).last().unwrap();
    assert!((counted / 9.594e6 - 1.0).abs() < 0.02, "{counted}");
    let flows = run.table("flows").unwrap();
    let row = (0..flows.len()).rfind(|&i| flows.text("flow").get(i) == "udp").unwrap();
    let lost = flows.u64("lost")[row] as f64;
    let gone = total(&run, "udp", "datagrams_sent") - total(&run, "udp", "datagrams_received");
    assert!((148.0..=158.0).contains(&(gone - lost)), "{gone} {lost}");
    // It is the queue that dropped them, and pings.
    let pings = total(&run, "ping", "requests") - total(&run, "ping", "replies");
    let dropped = total(&run, "bottleneck.down.qdisc", "dropped") - pings;
    assert!((gone - dropped - 115.0).abs() <= 3.0, "{gone} {dropped}");
}

/// What the generators say for these seeds, and what a capture in front of the bottleneck shows: sizes and codepoints are
/// the same, and each comes at its time, late by no more than the hosts' jitter of 6 µs, the 0.12 µs that each segment of a
/// TCP group before it takes to leave, and a few steps of the clock.
fn generators_datagrams_leave_at_their_times() {
    let (linux, stack) = engine();
    let mut s = scenario(&stack, "pfifo", 50, Span::from_millis(20), 8, &["cubic"]);
    let call = Video::captured(Profile::CallDown, Ecn::Ect1);
    let voip = Voip { interval: Span::from_millis(20), payload: 172, ecn: Ecn::NotEct };
    let udp = Udp { rate: Rate::from_mbit(3), payload: 333, ecn: Ecn::Ect0 };
    let (on, off) = (Span::from_millis(300), Span::from_millis(200));
    let pulses = OnOff { over: Pulse::Udp(udp), on, off, exponential: true };
    for (name, traffic) in [
        ("call", Traffic::Video(call)),
        ("voice", Traffic::Voip(voip)),
        ("pulses", Traffic::OnOff(pulses)),
    ] {
        s.flows.push(flow(&stack, name, traffic));
    }
    s.flows[2].dscp = Dscp::new(45).unwrap();
    (s.flows[3].start, s.flows[3].stop) = (Start::At(At::from_secs(2)), Some(At::from_secs(6)));
    let folder = tempfile::tempdir().unwrap();
    let wish = Keeping(Capture { folder: folder.path().to_owned(), snap_len: 64 });
    let run = linux.run(&s.clone().into(), &wish).unwrap();
    let point = Point::Left("bottleneck".to_owned());
    let taken = packets(&folder.path().join(point.file_name()));
    for (i, from, until) in [(2, 0, 8), (3, 2, 6), (4, 0, 8)] {
        let flow = &s.flows[i];
        // Flent's loads start up to 25 ms late.
        let late = Random::named(s.seed, &format!("flow/{}/start", flow.name)).below(25_000_000);
        let start = Time::from_secs(from) + Span::from_nanos(late);
        let mut stream = Datagrams::of(&flow.traffic, start).unwrap();
        let mut random = Random::named(s.seed, &random_name(&flow.name));
        let mut said = Vec::new();
        while let Some(at) = stream.next().filter(|&at| at < Time::from_secs(until)) {
            if let Act::Datagram { bytes, .. } = stream.act(&mut random) {
                said.push((at.as_nanos(), bytes));
            }
        }
        let port = (5_001 + i as u16).to_be_bytes();
        let seen: Vec<&(u64, u32, Vec<u8>)> =
            taken.iter().filter(|p| p.2[23] == 17 && p.2[36..38] == port).collect();
        assert!(said.len() > 190, "{}: {}", flow.name, said.len());
        assert_eq!(seen.len(), said.len(), "{}", flow.name);
        let tos = flow.dscp.tos(flow.traffic.datagrams().unwrap());
        for (&(at, bytes), (then, length, kept)) in said.iter().zip(seen) {
            let then = then - EPOCH * 1_000_000_000;
            assert!((at..at + 10_000).contains(&then), "{}: {at} {then}", flow.name);
            assert_eq!((*length, kept[15]), (bytes + 42, tos), "{}", flow.name);
        }
        let counted = [total(&run, &flow.name, "datagrams_sent"), said.len() as f64];
        assert!(counted[0].to_bits() == counted[1].to_bits(), "{counted:?}");
    }
    // Each packet of the voice call is listed with its one-way delay: 10 ms, and what the queue held.
    let pings = run.table("pings").unwrap();
    let (names, owd) = (pings.text("flow"), pings.f64("owd_s"));
    let voice: Vec<f64> =
        (0..pings.len()).filter(|&i| names.get(i) == "voice").map(|i| owd[i]).collect();
    assert_eq!(voice.len() as f64, total(&run, "voice", "datagrams_sent"));
    assert!(voice.iter().all(|&d| d.is_nan() || d > 0.010), "{voice:?}");
    // The others' receivers miss exactly the lost datagrams.
    for name in ["call", "pulses"] {
        let gone = total(&run, name, "datagrams_sent") - total(&run, name, "datagrams_received");
        let flows = run.table("flows").unwrap();
        let row = (0..flows.len()).rfind(|&i| flows.text("flow").get(i) == name).unwrap();
        let lost = flows.u64("lost")[row] as f64;
        assert!((lost..=lost + 80.0).contains(&gone), "{name}: {gone} {lost}");
    }
}

/// A classifier that puts long datagrams alone into L, as the published classifier did.
fn datagrams_are_classified_by_their_length(ip: Ip) {
    let (linux, stack) = engine();
    let mut s = scenario(&stack, "pfifo", 50, Span::from_millis(20), 3, &[]);
    let call = Video::captured(Profile::CallDown, Ecn::NotEct);
    s.flows.push(Flow { ip, ..flow(&stack, "call", Traffic::Video(call)) });
    let (select, ecn) = (Selector::Flows(vec!["call".to_owned()]), Ecn::Ect1);
    let rule = Rule::ClassifyByLength { longer_than: 1024, ecn, to: Dscp::new(10) };
    let kind = Kind::Rewrite(Rewrite { rule, select, syn: true });
    s.hops[0].down.insert(0, Element { name: "slip".into(), enabled: true, kind });
    let folder = tempfile::tempdir().unwrap();
    let wish = Keeping(Capture { folder: folder.path().to_owned(), snap_len: 64 });
    linux.run(&s.clone().into(), &wish).unwrap();
    let taken = packets(&folder.path().join(Point::Right("bottleneck".to_owned()).file_name()));
    let (mut long, mut short) = (0, 0);
    for (_, length, kept) in taken.iter().filter(|p| is_datagram(ip, &p.2)) {
        // 14 bytes of Ethernet and 20 of IP are not counted, of version 6 40.
        let is_long = length - 34 - ip.more() > 1024;
        assert_eq!(class(ip, kept), if is_long { 10 << 2 | 1 } else { 0 }, "{length}");
        *(if is_long { &mut long } else { &mut short }) += 1;
    }
    assert!(long > 50 && short > 50, "{long} {short}");
}

fn datagrams_are_classified_over_both_versions() {
    datagrams_are_classified_by_their_length(Ip::V4);
    datagrams_are_classified_by_their_length(Ip::V6);
}

/// Whether a frame is a datagram of this version of IP.
fn is_datagram(ip: Ip, frame: &[u8]) -> bool {
    match ip {
        Ip::V4 => frame[12..14] == [8, 0] && frame[23] == 17,
        Ip::V6 => frame[12..14] == [0x86, 0xdd] && frame[20] == 17,
    }
}

/// A frame's TOS byte or traffic class.
fn class(ip: Ip, frame: &[u8]) -> u8 {
    match ip {
        Ip::V4 => frame[15],
        Ip::V6 => frame[14] << 4 | frame[15] >> 4,
    }
}

/// Datagrams with DSCP 10 and each ECN field pass a rule: what their byte becomes.
fn rules_make_of_each_field_what_they_should() {
    let (linux, stack) = engine();
    let fields = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
    let all = Dscp::new(46).unwrap();
    // By the codes of the ECN field: 0, 1, 2, 3. The DSCP alone is 40.
    for (rule, expected) in [
        (Rule::BleachEcn { keep_dscp: true }, [40, 40, 40, 40]),
        (Rule::BleachEcn { keep_dscp: false }, [0, 0, 0, 0]),
        (Rule::BleachCe, [40, 41, 42, 0]),
        (Rule::DscpToEct1, [1, 1, 1, 1]),
        (Rule::DscpToNotect, [40, 41, 42, 43]),
        (Rule::Ect0ToEct1, [40, 41, 1, 43]),
        (Rule::Ect1ToEct0, [40, 2, 42, 43]),
        (Rule::CeToEct { ecn: Ecn::Ect0 }, [40, 41, 42, 42]),
        (Rule::SetDscp { to: all }, [184, 185, 186, 187]),
    ] {
        let mut s = scenario(&stack, "pfifo", 50, Span::from_millis(20), 1, &[]);
        s.flows.clear();
        for ip in [Ip::V4, Ip::V6] {
            for ecn in fields {
                let udp = Udp { rate: Rate::from_bits_per_sec(200_000), payload: 200, ecn };
                let name = format!("{ip:?}-{ecn:?}");
                let dscp = Dscp::new(10).unwrap();
                s.flows.push(Flow { ip, dscp, ..flow(&stack, &name, Traffic::Udp(udp)) });
            }
        }
        // One is for the DSCP, one for the flows by their names, the others for all packets.
        let names = s.flows.iter().map(|flow| flow.name.clone()).collect();
        let select = match rule {
            Rule::BleachCe => Selector::Dscp(Dscp::new(10).unwrap()),
            Rule::SetDscp { .. } => Selector::Flows(names),
            _ => Selector::All,
        };
        let kind = Kind::Rewrite(Rewrite { rule, select, syn: false });
        s.hops[0].down.insert(0, element("rule", true, kind));
        assert!(linux.refuse(&s).is_empty(), "{:?}", linux.refuse(&s));
        let folder = tempfile::tempdir().unwrap();
        let wish = Keeping(Capture { folder: folder.path().to_owned(), snap_len: 80 });
        linux.run(&s.clone().into(), &wish).unwrap();
        let came = packets(&folder.path().join(Point::Client.file_name()));
        for (i, flow) in s.flows.iter().enumerate() {
            let ip = flow.ip;
            let port = 34 + ip.more() as usize;
            let own = came.iter().filter(|p| {
                is_datagram(ip, &p.2)
                    && u16::from_be_bytes([p.2[port], p.2[port + 1]]) == 40_001 + i as u16
            });
            let found: std::collections::BTreeSet<u8> = own.map(|p| class(ip, &p.2)).collect();
            let expected = expected[i % 4];
            assert!(found.iter().eq([&expected]), "{rule:?} {}: {found:?} {expected}", flow.name);
        }
    }
}

fn packets_are_conserved() {
    let (linux, stack) = engine();
    let s =
        scenario(&stack, "codel ecn limit 30", 10, Span::from_millis(20), 8, &["cubic", "reno"]);
    let run = linux.run(&s.clone().into(), &()).unwrap();
    let of = |subject: &str, name: &str| total(&run, subject, name);
    for queue in ["bottleneck.down.qdisc", "bottleneck.up.qdisc"] {
        // The last sample is taken at the end of the run, as is the last look at the taps.
        let through = of(queue, "left") + of(queue, "held") + of(queue, "dropped");
        assert!((of(queue, "entered") - through).abs() <= 2.0, "{queue}");
        assert!(of(queue, "false_marks") == 0.0);
    }
    assert!(of("bottleneck.down.qdisc", "marked") > 10.0);
    assert!(
        (of("bottleneck.down.qdisc", "marked") - of("bottleneck.down.qdisc", "codel.ecn_mark"))
            .abs()
            <= 1.0
    );
}

fn a_flow_of_so_many_bytes_finishes() {
    let (linux, stack) = engine();
    let mut s = scenario(&stack, "fq_codel", 10, Span::from_millis(20), 4, &[]);
    let bytes = Some(1_000_000);
    s.flows.push(flow(&stack, "finite", Traffic::Tcp(Tcp { bytes, ..tcp("cubic") })));
    let mut up = flow(&stack, "up", Traffic::Tcp(tcp("cubic")));
    up.direction = Direction::Up;
    s.flows.push(up);
    let run = linux.run(&s.clone().into(), &()).unwrap();
    let events = run.table("events").unwrap();
    let (what, subject) = (events.text("what"), events.text("subject"));
    let end = (0..events.len())
        .find(|&i| what.get(i) == "end" && subject.get(i) == "flow finite")
        .unwrap();
    assert_eq!(events.text("detail").get(end), "finished");
    let t = events.f64("t_s")[end];
    // 1 MB at 9.56 Mbit/s of payload is 0.84 s.
    assert!(t > 0.84 && t < 1.5, "{t}");
    assert!(mean(&column(&run, "flows", "flow", "up", "goodput_bps", 2.0)) > 8.5e6);
}

fn rewriters_rewrite(ip: Ip) {
    let (linux, stack) = engine();
    let counts = |rule: Option<Rule>| {
        let mut s = scenario(&stack, "codel ecn", 10, Span::from_millis(20), 8, &["cubic", "reno"]);
        s.flows.iter_mut().for_each(|flow| flow.ip = ip);
        if let Some(rule) = rule {
            let select = Selector::Flows(vec!["cubic-1".to_owned()]);
            let kind = Kind::Rewrite(Rewrite { rule, select, syn: true });
            s.hops[0].down.insert(1, Element { name: "rule".into(), enabled: true, kind });
        }
        let run = linux.run(&s.clone().into(), &()).unwrap();
        let last = |flow: &str, name: &str| {
            let table = run.table("flows").unwrap();
            let names = table.text("flow");
            let row = (0..table.len()).rfind(|&i| names.get(i) == flow).unwrap();
            table.u64(name)[row]
        };
        (last("cubic-1", "ce"), last("cubic-1", "retransmits"), last("reno-2", "ce"))
    };
    let (ce, retransmits, _) = counts(None);
    assert!(ce > 3 && retransmits == 0, "{ce} {retransmits}");
    // Without the codepoint the queue can only drop, and the sender still believes in ECN.
    let (ce, retransmits, other) = counts(Some(Rule::BleachEcn { keep_dscp: false }));
    assert!(ce == 0 && retransmits > 3 && other > 3, "{ce} {retransmits} {other}");
    // Without the TCP header's flags ECN is not agreed on at all.
    let (ce, retransmits, other) = counts(Some(Rule::DscpToNotect));
    assert!(ce == 0 && retransmits > 3 && other > 3, "{ce} {retransmits} {other}");
}

fn rewriters_rewrite_over_both_versions() {
    rewriters_rewrite(Ip::V4);
    rewriters_rewrite(Ip::V6);
}

/// Of three flows of a host one has a bucket of 5 Mbit/s of its own, over version 6, and one fq. The bucket holds its flow
/// alone; fq paces its own in slow start, and not the third; and a ping waits for neither.
fn a_host_queue_is_of_one_flow_among_several() {
    let (linux, stack) = engine();
    let mut s =
        scenario(&stack, "fq_codel", 40, Span::from_millis(40), 6, &["reno", "cubic", "bic"]);
    let mut words = |flow: usize, words: &str| {
        let Traffic::Tcp(tcp) = &mut s.flows[flow].traffic else { panic!("a TCP flow") };
        tcp.host_qdisc = Some(words.into());
    };
    words(1, "tbf rate 5mbit burst 3000 limit 30000");
    words(2, "fq");
    s.flows[1].ip = Ip::V6;
    assert!(linux.refuse(&s).is_empty(), "{:?}", linux.refuse(&s));
    let folder = tempfile::tempdir().unwrap();
    let wish = Keeping(Capture { folder: folder.path().to_owned(), snap_len: 64 });
    let run = linux.run(&s.clone().into(), &wish).unwrap();
    let goodput = |flow: &str| mean(&column(&run, "flows", "flow", flow, "goodput_bps", 2.0)) / 1e6;
    let (own, plain, paced) = (goodput("cubic-2"), goodput("reno-1"), goodput("bic-3"));
    // 1428 of 1514 bytes are payload over version 6; of the others 1448.
    assert!((own / (5.0 * 1428.0 / 1514.0) - 1.0).abs() < 0.01, "{own}");
    assert!((plain + paced) / (35.0 * 1448.0 / 1514.0) > 0.93, "{plain} {paced}");
    // The first window of ten packets leaves at once. The second, of twenty, leaves as its acknowledgements come, in the time
    // of at most 30 packets on the link, or over about half of a round trip.
    let sent = packets(&folder.path().join(Point::Server.file_name()));
    let second_window = |port: u16| {
        let of_flow = sent.iter().filter(|p| {
            p.2[23] == 6 && p.1 > 1000 && u16::from_be_bytes([p.2[34], p.2[35]]) == port
        });
        let times: Vec<u64> = of_flow.map(|p| p.0).take(30).collect();
        assert!(times[9] - times[0] < 100_000, "{times:?}");
        (times[29] - times[10]) as f64 / 1e9
    };
    let (plain, paced) = (second_window(40_001), second_window(40_003));
    assert!(plain < 0.010 && paced > 0.015 && paced < 0.025, "{plain} {paced}");
    let rtts = column(&run, "pings", "flow", "ping", "rtt_s", 1.0);
    assert!(rtts.iter().all(|rtt| *rtt < 0.043), "{rtts:?}");
}

fn short_flows() -> ShortFlows {
    ShortFlows {
        tcp: tcp("cubic"),
        mean_interval: Span::from_millis(200),
        count: Some(20),
        length_p5: 5_000,
        length_p95: 200_000,
        request: 150,
    }
}

/// The connections are those that the generator draws, opened at its times. Each takes two round trips of 20 ms, for the
/// handshake and the request, and what its bytes take at 47.8 Mbit/s of payload; alone on the link, few take more than six
/// round trips beyond it, and the flow ends with the last.
fn short_flows_are_those_of_the_generator(ip: Ip) {
    let (linux, stack) = engine();
    let mut s = scenario(&stack, "fq_codel", 50, Span::from_millis(20), 12, &[]);
    s.flows.push(Flow { ip, ..flow(&stack, "short", Traffic::ShortFlows(short_flows())) });
    let run = linux.run(&s.clone().into(), &()).unwrap();
    let late = Random::named(s.seed, "flow/short/start").below(25_000_000);
    let mut arrivals = Arrivals::new(Time::from_nanos(late), short_flows());
    let mut random = Random::named(s.seed, &random_name("short"));
    let table = run.table("completions").unwrap();
    assert_eq!(table.len(), 20);
    let (times, bytes, took) = (table.f64("t_s"), table.u64("bytes"), table.f64("duration_s"));
    for row in 0..table.len() {
        let at = arrivals.next().unwrap().as_nanos() as f64 / 1e9;
        let Act::Connection { bytes: drawn, .. } = arrivals.act(&mut random) else { panic!() };
        assert_eq!(bytes[row], drawn);
        assert!((times[row] - at).abs() < 2e-6, "{} {at}", times[row]);
        // Two segments leave at once: one by the bucket, one by what it may run into debt.
        let least = 0.040 + drawn.saturating_sub(2 * 1448) as f64 * 8.0 / 47.9e6;
        assert!((least..least + 0.150).contains(&took[row]), "{drawn}: {} {least}", took[row]);
    }
    let whole: u64 = bytes.iter().sum();
    assert_eq!(total(&run, "short", "delivered_bytes").to_bits(), (whole as f64).to_bits());
    assert_eq!(total(&run, "short", "completed") as u64, 20);
    let events = run.table("events").unwrap();
    let ended = (0..events.len()).any(|i| {
        events.text("subject").get(i) == "flow short" && events.text("detail").get(i) == "finished"
    });
    assert!(ended);
    // The RTT of what each acknowledgement covers is known from the stamps.
    let histograms = run.table("histograms").unwrap();
    let of = |i: &usize| histograms.text("subject").get(*i) == "short";
    let rows: Vec<usize> = (0..histograms.len()).filter(of).collect();
    assert!(rows.iter().all(|&i| histograms.f64("lo_s")[i] >= 0.0199));
    let samples: u64 = rows.iter().map(|&i| histograms.u64("count")[i]).sum();
    assert!(samples > whole / 1448 / 3, "{samples} {whole}");
}

fn short_flows_over_both_versions() {
    short_flows_are_those_of_the_generator(Ip::V4);
    short_flows_are_those_of_the_generator(Ip::V6);
}

/// An application that writes 4 Mbit/s: 4 of the 50 Mbit/s are used, whatever the window is. One that is on for 300 ms and off
/// for 200 sends nothing while it is off, beyond the round trip that ends what it had on its way.
fn applications_write_at_their_own_times() {
    let (linux, stack) = engine();
    let mut s = scenario(&stack, "fq_codel", 50, Span::from_millis(20), 6, &[]);
    let slow = Tcp { app_rate: Some(Rate::from_mbit(4)), ..tcp("cubic") };
    s.flows.push(flow(&stack, "slow", Traffic::Tcp(slow.clone())));
    let (on, off) = (Span::from_millis(300), Span::from_millis(200));
    let pulses = |tcp| Traffic::OnOff(OnOff { over: Pulse::Tcp(tcp), on, off, exponential: false });
    s.flows.push(flow(&stack, "pulses", pulses(tcp("cubic"))));
    s.flows.push(flow(&stack, "slow-pulses", pulses(slow)));
    let run = linux.run(&s.clone().into(), &()).unwrap();
    let goodput = |name: &str| column(&run, "flows", "flow", name, "goodput_bps", 1.0);
    let slow = mean(&goodput("slow")) / 1e6;
    assert!((slow / 4.0 - 1.0).abs() < 0.01, "{slow}");
    let half = mean(&goodput("slow-pulses")) / 1e6;
    assert!((half / 2.4 - 1.0).abs() < 0.03, "{half}");
    let flows = run.table("flows").unwrap();
    let late = Random::named(s.seed, "flow/pulses/start").below(25_000_000) as f64 / 1e9;
    let (mut on, mut off) = (Vec::new(), Vec::new());
    for i in (0..flows.len()).filter(|&i| flows.text("flow").get(i) == "pulses") {
        // Rows are of the 50 ms before their time.
        let within = (flows.f64("t_s")[i] - late) % 0.5;
        if flows.f64("t_s")[i] > 1.0 && (0.15..0.29).contains(&within) {
            on.push(flows.f64("goodput_bps")[i] / 1e6);
        }
        if flows.f64("t_s")[i] > 1.0 && (0.40..0.49).contains(&within) {
            off.push(flows.f64("goodput_bps")[i]);
        }
    }
    assert!(on.len() > 20 && mean(&on) > 38.0, "{on:?}");
    assert!(off.len() > 10 && off.iter().all(|&x| x == 0.0), "{off:?}");
}

/// Two flows of one direction; one states 32, the other has the kernel's 10.
fn initial_windows_are_flows_own(ip: Ip) {
    let (linux, stack) = engine();
    let mut s =
        scenario(&stack, "pfifo limit 1000", 50, Span::from_millis(400), 2, &["reno", "reno"]);
    for (flow, window) in s.flows.iter_mut().zip([Some(32), None]) {
        flow.ip = ip;
        let Traffic::Tcp(tcp) = &mut flow.traffic else { panic!() };
        tcp.initial_window = window;
    }
    let run = linux.run(&s.clone().into(), &()).unwrap();
    let flows = run.table("flows").unwrap();
    for (name, window) in [("reno-1", 32), ("reno-2", 10)] {
        let early = (0..flows.len()).filter(|&i| {
            flows.text("flow").get(i) == name && (0.6..0.75).contains(&flows.f64("t_s")[i])
        });
        let found: Vec<u64> = early.map(|i| flows.u64("cwnd")[i]).collect();
        assert!(found.len() >= 2 && found.iter().all(|&w| w == window), "{name}: {found:?}");
    }
}

fn initial_windows_over_both_versions() {
    initial_windows_are_flows_own(Ip::V4);
    initial_windows_are_flows_own(Ip::V6);
}

/// CUBIC's data has ECT(0), and ECT(1) where a flow states it; the SYN has neither.
fn a_codepoint_is_the_flows_own() {
    let (linux, stack) = engine();
    let mut s =
        scenario(&stack, "pie ecn", 10, Span::from_millis(20), 4, &["cubic", "cubic", "cubic"]);
    for (flow, (ip, codepoint)) in s.flows.iter_mut().zip([
        (Ip::V4, Some(Ecn::Ect1)),
        (Ip::V4, None),
        (Ip::V6, Some(Ecn::Ect1)),
    ]) {
        flow.ip = ip;
        let Traffic::Tcp(tcp) = &mut flow.traffic else { panic!() };
        tcp.codepoint = codepoint;
    }
    let folder = tempfile::tempdir().unwrap();
    let wish = Keeping(Capture { folder: folder.path().to_owned(), snap_len: 96 });
    linux.run(&s.clone().into(), &wish).unwrap();
    let taken = packets(&folder.path().join(Point::all(&s)[0].file_name()));
    let full = taken.iter().filter(|p| p.1 == 1514);
    let mut seen = [const { [0; 4] }; 3];
    for (.., kept) in full {
        let (port, ecn) = match kept[14] >> 4 {
            4 => (u16::from_be_bytes([kept[34], kept[35]]), kept[15] & 3),
            _ => (u16::from_be_bytes([kept[54], kept[55]]), kept[15] >> 4 & 3),
        };
        seen[usize::from(port - 40_001)][usize::from(ecn)] += 1;
    }
    // Retransmissions are not ECN-capable.
    for (seen, ecn) in seen.iter().zip([1, 2, 1]) {
        assert!(seen[ecn] > 300 && seen[3 - ecn] == 0 && seen[0] < 50, "{seen:?}");
    }
    let syn = taken.iter().find(|p| p.2[14] >> 4 == 4 && p.2[23] == 6 && p.2[47] & 2 != 0).unwrap();
    assert_eq!(syn.2[15] & 3, 0);
}

/// Of each of irtt's packets both ways are known; they add up, and are 10 ms each without a queue.
fn irtt_knows_both_ways() {
    let (linux, stack) = engine();
    let mut s = scenario(&stack, "fq_codel", 50, Span::from_millis(20), 4, &[]);
    let irtt = Irtt { interval: Span::from_millis(20), payload: 60, ecn: Ecn::NotEct };
    for (name, ip) in [("four", Ip::V4), ("six", Ip::V6)] {
        s.flows.push(Flow { ip, ..flow(&stack, name, Traffic::Irtt(irtt)) });
    }
    let ping = Ping { interval: Span::from_millis(200), size: 84, ecn: Ecn::NotEct };
    s.flows.push(Flow { ip: Ip::V6, ..flow(&stack, "ping-six", Traffic::Ping(ping)) });
    let run = linux.run(&s.clone().into(), &()).unwrap();
    let pings = run.table("pings").unwrap();
    let (rtt, there, back) = (pings.f64("rtt_s"), pings.f64("owd_s"), pings.f64("owd_back_s"));
    for name in ["four", "six"] {
        let rows: Vec<usize> =
            (0..pings.len()).filter(|&i| pings.text("flow").get(i) == name).collect();
        assert!((200..=201).contains(&rows.len()));
        for i in rows.into_iter().filter(|&i| pings.text("lost").get(i).is_empty()) {
            assert!((rtt[i] - there[i] - back[i]).abs() < 1e-9);
            assert!(there[i] > 0.010 && there[i] < 0.0102 && back[i] > 0.010 && back[i] < 0.0102);
        }
        assert!(total(&run, name, "replies") >= 198.0);
    }
    assert!(total(&run, "ping-six", "replies") >= 19.0);
}

/// A ladder of 1, 4 and 30 Mbit/s on 20: the first segment is of the lowest level, and 4 is the highest that fits. The
/// client's decisions are those of the same client for these arrivals anywhere.
fn a_stream_plays_what_fits(ip: Ip) {
    let (linux, stack) = engine();
    let mut s = scenario(&stack, "fq_codel", 20, Span::from_millis(20), 20, &["cubic"]);
    let streaming = Streaming {
        tcp: tcp("cubic"),
        ladder: [1, 4, 30].map(Rate::from_mbit).to_vec(),
        segment: Span::from_secs(2),
        buffer: Span::from_secs(6),
        start_at: Span::from_secs(2),
        resume_at: Span::from_secs(2),
        live_delay: None,
        safety: 0.8,
        half_lives: (Span::from_secs(3), Span::from_secs(8)),
        size_sigma: 0.2,
        request: 300,
    };
    s.flows.push(Flow { ip, ..flow(&stack, "film", Traffic::Streaming(streaming.clone())) });
    let run = linux.run(&s.clone().into(), &()).unwrap();
    let segments = run.table("segments").unwrap();
    let levels = segments.f64("bitrate_bps");
    assert!(segments.len() >= 8, "{}", segments.len());
    assert!(levels[0] == 1e6 && levels[2..].iter().all(|&level| level == 4e6), "{levels:?}");
    let late = Random::named(s.seed, "flow/film/start").below(25_000_000);
    let mut player = Player::new(Time::from_nanos(late), streaming, s.seed, "film");
    let (asked, bytes) = (segments.f64("requested_s"), segments.u64("bytes"));
    for row in 0..segments.len() {
        let now = Time::from_nanos((asked[row] * 1e9).round() as u64);
        let mut wished = None;
        while player.next() <= now {
            wished = player.act(now, 0).or(wished);
        }
        assert_eq!(wished, Some(Wish::Segment(bytes[row])), "{row}");
        player.on_segment(Time::from_nanos((segments.f64("t_s")[row] * 1e9).round() as u64));
    }
    let playback = run.table("playback").unwrap();
    let states = playback.text("state");
    let told: Vec<&str> = (0..playback.len()).map(|i| states.get(i)).collect();
    assert_eq!(told, ["starting", "playing", "playing"]);
    let delivered = total(&run, "film", "delivered_bytes") as u64;
    assert!(delivered >= bytes.iter().sum());
    let flows = run.table("flows").unwrap();
    let own = (0..flows.len()).filter(|&i| flows.text("flow").get(i) == "film");
    assert!(own.filter(|&i| flows.u64("cwnd")[i] >= 10).count() > 300);
}

fn a_stream_over_both_versions() {
    a_stream_plays_what_fits(Ip::V4);
    a_stream_plays_what_fits(Ip::V6);
}

/// On a link that has room for a third of the call its receiver misses most, and it goes down to its least; on one that
/// has room, it keeps its rate or goes up.
fn a_call_adapts_to_what_is_missing() {
    let (linux, stack) = engine();
    let rate_at_the_end = |mbit: Rate| {
        let mut s = scenario(&stack, "pfifo limit 20", 1, Span::from_millis(20), 12, &[]);
        let hop = &mut s.hops[0];
        for side in [&mut hop.down, &mut hop.up] {
            let Kind::Queue(queue) = &mut side[1].kind else { panic!() };
            queue.shaper = Shaper::Htb { rate: mbit, ceil: None, burst: None };
        }
        let mut call = Video::captured(Profile::CallDown, Ecn::NotEct);
        let mean_rate = call.mean_rate().bits_per_sec();
        call.adaptation = Some(Adaptation {
            loss: 0.05,
            decrease: 0.8,
            increase: 1.05,
            min: Rate::from_bits_per_sec(mean_rate / 4),
            max: Rate::from_bits_per_sec(mean_rate),
        });
        s.flows.push(flow(&stack, "call", Traffic::Video(call)));
        let run = linux.run(&s.clone().into(), &()).unwrap();
        let sent = total(&run, "call", "datagrams_sent");
        (sent, mean(&column(&run, "flows", "flow", "call", "goodput_bps", 9.0)) / mean_rate as f64)
    };
    let mean_rate = Video::captured(Profile::CallDown, Ecn::NotEct).mean_rate().bits_per_sec();
    let (plenty, full) = rate_at_the_end(Rate::from_mbit(50));
    let (few, third) = rate_at_the_end(Rate::from_bits_per_sec(mean_rate / 3));
    assert!((0.8..1.2).contains(&full), "{full}");
    assert!(third < 0.36 && few < 0.7 * plenty, "{third} {few} {plenty}");
}

fn element(name: &str, enabled: bool, kind: Kind) -> Element {
    Element { name: name.to_owned(), enabled, kind }
}

/// 1000 bytes of payload are 1042 on the wire. Of 12.504 Mbit/s a policer of 5 Mbit/s lets 5 pass, and a burst of 30000 bytes
/// at the beginning; while it is switched off, everything.
fn a_policer_drops_what_exceeds_its_rate_while_it_is_on() {
    let (linux, stack) = engine();
    let mut s = scenario(&stack, "pfifo", 50, Span::from_millis(20), 8, &[]);
    s.flows.clear();
    let udp = Udp { rate: Rate::from_mbit(12), payload: 1000, ecn: Ecn::NotEct };
    s.flows.push(flow(&stack, "udp", Traffic::Udp(udp)));
    let policer = Policer { rate: Rate::from_mbit(5), burst: 30_000, exceed: PoliceAction::Drop };
    s.hops[0].down.insert(0, element("police", true, Kind::Policer(policer)));
    let path = || "bottleneck.down.police".to_owned();
    let event = |name: &str, at, action| Event {
        name: name.into(),
        when: When::At(At::from_secs(at)),
        actions: vec![action],
    };
    s.events.push(event("off", 3, Action::Disable { element: path() }));
    s.events.push(event("off-again", 4, Action::Disable { element: path() }));
    s.events.push(event("on", 5, Action::Enable { element: path() }));
    assert!(linux.refuse(&s).is_empty(), "{:?}", linux.refuse(&s));
    let run = linux.run(&s.clone().into(), &()).unwrap();
    let goodput = |from: f64, to: f64| {
        let flows = run.table("flows").unwrap();
        let times = flows.f64("t_s");
        let rows = (0..flows.len()).filter(|&i| times[i] > from && times[i] <= to + 1e-6);
        mean(&rows.map(|i| flows.f64("goodput_bps")[i]).collect::<Vec<_>>()) / 1e6
    };
    let passes = 5.0 / 1.042;
    for (from, to, expected) in [(1.0, 3.0, passes), (3.5, 5.0, 12.0), (6.0, 8.0, passes)] {
        let found = goodput(from, to);
        assert!((found / expected - 1.0).abs() < 0.005, "{from} to {to}: {found} {expected}");
    }
    // The policer has dropped the missing datagrams, or they are on their way for 10 ms: 6 of the 15 of that time.
    let gone = total(&run, "udp", "datagrams_sent") - total(&run, "udp", "datagrams_received");
    let dropped = total(&run, &path(), "dropped");
    assert!((gone - dropped - 6.0).abs() <= 2.0, "{gone} {dropped}");
    let through = total(&run, &path(), "left") + dropped;
    assert_eq!(through.to_bits(), total(&run, &path(), "entered").to_bits());
    let signals = run.table("queue_signals").unwrap();
    let reasons = signals.text("reason");
    assert!((0..signals.len()).any(|i| reasons.get(i) == "policer"));
    let events = run.table("events").unwrap();
    let told = (0..events.len()).filter(|&i| events.text("what").get(i) == "event").count();
    assert_eq!(told, 3);
}

/// Streams of 3, 4 and 5 Mbit/s through a policer of 5 Mbit/s that marks, and a thin one with CE on its packets
/// already. Excess packets of the one that is not ECN-capable are dropped, those with ECT(0) and ECT(1) are marked, and
/// those of the last pass. While the policer is off nothing is marked.
fn a_policer_marks_what_is_capable_and_drops_the_rest(ip: Ip) {
    let (linux, stack) = engine();
    let mut s = scenario(&stack, "pfifo", 50, Span::from_millis(20), 8, &[]);
    s.flows.clear();
    for (name, kbit, ecn) in [
        ("not", 3000, Ecn::NotEct),
        ("ect0", 4000, Ecn::Ect0),
        ("ect1", 5000, Ecn::Ect1),
        ("ce", 100, Ecn::Ce),
    ] {
        let payload = 1000 - ip.more();
        let udp = Udp { rate: Rate::from_bits_per_sec(kbit * 1000), payload, ecn };
        s.flows.push(Flow { ip, ..flow(&stack, name, Traffic::Udp(udp)) });
    }
    let policer = Policer { rate: Rate::from_mbit(5), burst: 30_000, exceed: PoliceAction::Mark };
    s.hops[0].down.insert(0, element("police", true, Kind::Policer(policer)));
    let path = || "bottleneck.down.police".to_owned();
    for (at, action) in
        [(5, Action::Disable { element: path() }), (7, Action::Enable { element: path() })]
    {
        let name = format!("event-{at}");
        s.events.push(Event { name, when: When::At(At::from_secs(at)), actions: vec![action] });
    }
    assert!(linux.refuse(&s).is_empty(), "{:?}", linux.refuse(&s));
    let run = linux.run(&s.clone().into(), &()).unwrap();
    let of = |flow: &str, name: &str| total(&run, flow, name);
    let (dropped, marked) = (of(&path(), "dropped"), of(&path(), "marked"));
    let gone = of("not", "datagrams_sent") - of("not", "datagrams_received");
    // 10 ms of its datagrams at most are on their way at the end: 4.
    assert!(dropped > 500.0 && (0.0..=5.0).contains(&(gone - dropped)), "{gone} {dropped}");
    let rows = run.table("flows").unwrap();
    let (names, times, counts) = (rows.text("flow"), rows.f64("t_s"), rows.u64("ce"));
    // Until when: how many had come with CE.
    let ce_by = |flow: &str, until: f64| {
        let own = (0..rows.len()).filter(|&i| names.get(i) == flow && times[i] < until);
        own.map(|i| counts[i]).max().unwrap_or(0)
    };
    let ce = |flow: &str| ce_by(flow, 9.0);
    assert_eq!(ce("not"), 0);
    // What was marked came with CE, but for what is on its way.
    let came = (ce("ect0") + ce("ect1")) as f64;
    assert!(came > 1000.0 && marked - came >= 0.0 && marked - came <= 12.0, "{marked} {came}");
    for flow in ["ect0", "ect1", "ce"] {
        let lost = of(flow, "datagrams_sent") - of(flow, "datagrams_received");
        assert!((0.0..=8.0).contains(&lost), "{flow}: {lost}");
    }
    // 5 Mbit/s conform for the 6 seconds that it is on, and the burst twice; all else exceeds, and the thin stream may
    // have had any part of that. The policer does not see packets that come while it is off.
    let conforming = (6.0 * 5e6 + 2.0 * 30_000.0 * 8.0) / (1042.0 * 8.0);
    let exceeds = of(&path(), "entered") - conforming;
    let thin = of("ce", "datagrams_sent");
    let found = marked + dropped;
    assert!(found < exceeds + 3.0 && found > exceeds - thin - 3.0, "{found} {exceeds} {thin}");
    assert!(ce_by("ect0", 5.0) > 100 && ce("ect0") > ce_by("ect0", 7.0) + 100);
    assert_eq!(ce_by("ect0", 5.1), ce_by("ect0", 7.0), "nothing is marked while it is off");
    let signals = run.table("queue_signals").unwrap();
    let (reasons, kinds) = (signals.text("reason"), signals.text("kind"));
    for kind in ["drop", "mark"] {
        let is = |i| reasons.get(i) == "policer" && kinds.get(i) == kind;
        assert!((0..signals.len()).any(is), "{kind}");
    }
}

fn a_policer_marks_over_both_versions() {
    a_policer_marks_what_is_capable_and_drops_the_rest(Ip::V4);
    a_policer_marks_what_is_capable_and_drops_the_rest(Ip::V6);
}

/// A delay of 30 ms that is switched off from 1 s to 2 s, and a rewriter that is on from 2 s on: the codepoint and
/// the delay of datagrams say so.
fn elements_are_switched_and_changed() {
    let (linux, stack) = engine();
    let mut s = scenario(&stack, "pfifo", 50, Span::from_millis(60), 4, &[]);
    s.flows.clear();
    let udp = Udp { rate: Rate::from_mbit(1), payload: 500, ecn: Ecn::Ect0 };
    s.flows.push(flow(&stack, "udp", Traffic::Udp(udp)));
    let rewrite = Rewrite { rule: Rule::Ect0ToEct1, select: Selector::All, syn: true };
    s.hops[0].down.insert(0, element("rule", false, Kind::Rewrite(rewrite)));
    let (netem, rule) = ("bottleneck.down.netem".to_owned(), "bottleneck.down.rule".to_owned());
    for (at, action) in [
        (1, Action::Disable { element: netem.clone() }),
        (1, Action::Delay { element: netem.clone(), flow: None, delay: Span::from_millis(20) }),
        (2, Action::Enable { element: netem.clone() }),
        (2, Action::Enable { element: rule }),
    ] {
        let name = format!("event-{}", s.events.len());
        s.events.push(Event { name, when: When::At(At::from_secs(at)), actions: vec![action] });
    }
    assert!(linux.refuse(&s).is_empty(), "{:?}", linux.refuse(&s));
    let folder = tempfile::tempdir().unwrap();
    let wish = Keeping(Capture { folder: folder.path().to_owned(), snap_len: 64 });
    linux.run(&s.clone().into(), &wish).unwrap();
    let of = |point: Point| packets(&folder.path().join(point.file_name()));
    let (sent, came) = (of(Point::Server), of(Point::Client));
    let number = |p: &(u64, u32, Vec<u8>)| u32::from_be_bytes(p.2[42..46].try_into().unwrap());
    let mut seen = 0;
    for packet in sent.iter().filter(|p| p.2[23] == 17) {
        let at = packet.0 as f64 / 1e9 - EPOCH as f64;
        // Not where it is just being switched.
        if [1.0, 2.0].iter().any(|edge| (at - edge).abs() < 0.01) || at > 3.9 {
            continue;
        }
        let there = came.iter().find(|p| p.2[23] == 17 && number(p) == number(packet)).unwrap();
        let delay = (there.0 - packet.0) as f64 / 1e9;
        // Off from 1 to 2 s, and meanwhile set to another delay.
        let expected = [0.030, 0.0, 0.020, 0.020][at.max(0.0) as usize];
        assert!((delay - expected).abs() < 0.0002, "{at}: {delay}");
        assert_eq!(there.2[15] & 3, if at < 2.0 { 2 } else { 1 }, "{at}");
        seen += 1;
    }
    assert!(seen > 900, "{seen}");
}

/// Datagrams of 542 bytes on the wire, 2 ms apart, through a netem of 30 ms: from 1 s on with a rate of 5 Mbit/s, at which one
/// takes 867 µs, and a second netem of 5 ms; from 2 s on of 10 ms, with the rate still; off from 3 s to 4, and meanwhile set to
/// 20 ms; from 5 s on in slots of 50 ms.
fn a_netem_is_changed_and_switched_with_all_that_it_has() {
    let (linux, stack) = engine();
    let mut s = scenario(&stack, "pfifo", 50, Span::from_millis(60), 6, &[]);
    s.flows.clear();
    let udp = Udp { rate: Rate::from_mbit(2), payload: 500, ecn: Ecn::NotEct };
    s.flows.push(flow(&stack, "udp", Traffic::Udp(udp)));
    let netem = || "bottleneck.down.netem".to_owned();
    let change = |words: &[&str]| Action::ChangeNetem {
        element: netem(),
        chain: words.iter().map(|&link| link.to_owned()).collect(),
    };
    for (at, action) in [
        (1, change(&["delay 30ms rate 5mbit limit 1000", "delay 5ms limit 1000"])),
        (2, change(&["delay 10ms limit 1000", "delay 5ms limit 1000"])),
        (3, Action::Disable { element: netem() }),
        (3, Action::Delay { element: netem(), flow: None, delay: Span::from_millis(20) }),
        (4, Action::Enable { element: netem() }),
        (5, change(&["delay 20ms slot 50ms limit 1000"])),
    ] {
        let name = format!("event-{}", s.events.len());
        s.events.push(Event { name, when: When::At(At::from_secs(at)), actions: vec![action] });
    }
    assert!(linux.refuse(&s).is_empty(), "{:?}", linux.refuse(&s));
    let folder = tempfile::tempdir().unwrap();
    let wish = Keeping(Capture { folder: folder.path().to_owned(), snap_len: 64 });
    linux.run(&s.clone().into(), &wish).unwrap();
    let of = |point: Point| packets(&folder.path().join(point.file_name()));
    let number = |p: &(u64, u32, Vec<u8>)| u32::from_be_bytes(p.2[42..46].try_into().unwrap());
    let sent = of(Point::Server);
    let came: std::collections::HashMap<u32, u64> =
        of(Point::Client).iter().map(|p| (number(p), p.0)).collect();
    let (mut seen, mut slots) = (0, std::collections::BTreeSet::new());
    for packet in &sent {
        let at = packet.0 as f64 / 1e9 - EPOCH as f64;
        // Not where it is just being changed.
        if (at - at.round()).abs() < 0.04 || at > 5.9 {
            continue;
        }
        let there = came[&number(packet)];
        let delay = (there - packet.0) as f64 / 1e9;
        if at > 5.0 {
            assert!(delay > 0.0199 && delay < 0.0711, "{at}: {delay}");
            slots.insert(there / 10_000_000);
        } else {
            let takes = 542.0 * 8.0 / 5e6;
            let expected =
                [0.030, 0.030 + takes + 0.005, 0.010 + takes + 0.005, 0.0, 0.020 + takes + 0.005];
            assert!((delay - expected[at as usize]).abs() < 0.0002, "{at}: {delay}");
        }
        seen += 1;
    }
    assert!(seen > 2500, "{seen}");
    assert!((16..=19).contains(&slots.len()), "{slots:?}");
}

/// Datagrams of 1042 bytes on the wire at 10.42 Mbit/s into 8 Mbit/s behind a fifo of 100 packets. It is off from 3 s to 5,
/// and 4 Mbit/s when it comes back, as an event said meanwhile; at 6 s tbf of 5 Mbit/s takes the place of shaper and discipline,
/// and at 7 s fq_codel that of tbf. Packets that it held each time were dropped, and count together with the earlier
/// drops.
fn a_queue_is_switched_and_replaced(ip: Ip) {
    let (linux, stack) = engine();
    let mut s = scenario(&stack, "pfifo limit 100", 8, Span::from_millis(20), 8, &[]);
    s.flows.clear();
    let udp = Udp { rate: Rate::from_mbit(10), payload: 1000, ecn: Ecn::NotEct };
    s.flows.push(Flow { ip, ..flow(&stack, "udp", Traffic::Udp(udp)) });
    let path = || "bottleneck.down.qdisc".to_owned();
    let htb = |mbit| Shaper::Htb { rate: Rate::from_mbit(mbit), ceil: None, burst: None };
    let replace = |words: &str, shaper| {
        let shaper = Some(shaper);
        Action::ReplaceQdisc { element: path(), qdisc: words.into(), shaper }
    };
    let own = Shaper::Own { rate: Some(Rate::from_mbit(5)) };
    for (at, action) in [
        (3, Action::Disable { element: path() }),
        (4, Action::Rate { element: path(), rate: Rate::from_mbit(4) }),
        (5, Action::Enable { element: path() }),
        (6, replace("tbf rate 5mbit burst 3000 limit 50000", own)),
        (7, replace("fq_codel limit 50", htb(6))),
    ] {
        let name = format!("at-{at}");
        s.events.push(Event { name, when: When::At(At::from_secs(at)), actions: vec![action] });
    }
    assert!(linux.refuse(&s).is_empty(), "{:?}", linux.refuse(&s));
    let run = linux.run(&s.clone().into(), &()).unwrap();
    let name = path();
    let at = |column: &str, time: f64| {
        let table = run.table("queues").unwrap();
        let (names, times, values) = (table.text("queue"), table.f64("t_s"), table.u64(column));
        let mut rows = (0..table.len()).filter(|&i| names.get(i) == name);
        values[rows.find(|&i| (times[i] - time).abs() < 1e-6).expect("a row")] as f64
    };
    // Packets of 1042 bytes, 1062 over version 6; at the beginning and the end of each interval the bucket's and one more.
    let size = if ip == Ip::V4 { 1042.0 } else { 1062.0 };
    for (from, to, mbit) in [(1.0, 3.0, 8.0), (5.0, 6.0, 4.0), (6.0, 7.0, 5.0), (7.0, 8.0, 6.0)] {
        let left = at("sent_packets", to) - at("sent_packets", from);
        let expected = (to - from) * mbit * 1e6 / 8.0 / size;
        assert!((left - expected).abs() < 5.0, "{from} to {to}: {left} {expected}");
    }
    // While it is off nothing comes to it, nothing leaves and nothing waits; waiting packets were dropped.
    for column in ["sent_packets", "drops"] {
        assert_eq!(at(column, 3.0).to_bits(), at(column, 5.0).to_bits(), "{column}");
    }
    assert!(at("packets", 2.95) > 95.0 && at("packets", 3.0) + at("packets", 4.95) < 0.5);
    let flushed: Vec<(f64, f64)> = {
        let table = run.table("queue_signals").unwrap();
        let (reasons, times, counts) = (table.text("reason"), table.f64("t_s"), table.u64("count"));
        let rows = (0..table.len()).filter(|&i| reasons.get(i) == "flushed");
        rows.map(|i| (times[i], counts[i] as f64)).collect()
    };
    let times: Vec<f64> = flushed.iter().map(|f| f.0.round()).collect();
    assert_eq!(times, [3.0, 6.0, 7.0], "{flushed:?}");
    // 100 packets twice; of 50000 bytes as many as fit.
    let held = [100.0, 200.0, 200.0 + (50_000.0_f64 / size).floor()];
    for ((_, count), expected) in flushed.iter().zip(held) {
        assert!((count - expected).abs() < 4.0, "{flushed:?} {held:?}");
    }
    let total = |what: &str| total(&run, &name, what);
    let (entered, gone) = (total("entered"), total("left") + total("dropped") + total("held"));
    // Over version 6 each host has announced the groups that it joined, before the run.
    let before = if ip == Ip::V4 { 0.0 } else { 2.0 };
    assert!((entered + before - gone).abs() < 1.5, "{entered} {gone}");
    // And all that came while it was off arrived, in the time of the path alone.
    let goodput = mean(&column(&run, "flows", "flow", "udp", "goodput_bps", 3.1)[..36]) / 1e6;
    assert!((goodput / 10.0 - 1.0).abs() < 0.01, "{goodput}");
    let sent = self::total(&run, "udp", "packets_sent");
    let counted = self::total(&run, "udp", "packets_arrived")
        + self::total(&run, "udp", "packets_dropped")
        + total("held");
    assert!((sent - counted).abs() < 2.5, "{sent} {counted}");
}

fn a_queue_is_switched_and_replaced_over_both_versions() {
    a_queue_is_switched_and_replaced(Ip::V4);
    a_queue_is_switched_and_replaced(Ip::V6);
}

/// Three hops in a row, of 10, 20 and 40 ms both ways. Probes over IP version 4 and 6, and datagrams, each know the base
/// RTTs of the hops that they pass, and the queues of the others have seen none of them.
fn a_flow_passes_by_the_hops_that_are_not_its_own() {
    let (linux, stack) = engine();
    let mut s = scenario(&stack, "pfifo", 50, Span::from_millis(10), 4, &[]);
    let all = |ms: u64| scenario(&stack, "pfifo", 50, Span::from_millis(ms), 4, &[]).hops.remove(0);
    s.hops = [("a", 10), ("b", 20), ("c", 40)]
        .map(|(name, ms)| Hop { name: name.to_owned(), ..all(ms) })
        .to_vec();
    s.flows.clear();
    let ways: [(&[usize], f64); 5] =
        [(&[0, 1, 2], 0.070), (&[0], 0.010), (&[1], 0.020), (&[0, 2], 0.050), (&[2], 0.040)];
    for ip in [Ip::V4, Ip::V6] {
        for direction in [Direction::Down, Direction::Up] {
            for (hops, _) in ways {
                let ping = Ping { interval: Span::from_millis(100), size: 84, ecn: Ecn::NotEct };
                let new = flow(&stack, &format!("ping-{}", s.flows.len()), Traffic::Ping(ping));
                s.flows.push(Flow { ip, direction, hops: hops.to_vec(), ..new });
            }
        }
    }
    let udp = Udp { rate: Rate::from_mbit(1), payload: 1000, ecn: Ecn::NotEct };
    s.flows.push(Flow { hops: vec![0, 2], ..flow(&stack, "udp", Traffic::Udp(udp)) });
    assert!(linux.refuse(&s).is_empty(), "{:?}", linux.refuse(&s));
    let run = linux.run(&s.clone().into(), &()).unwrap();
    let pings = run.table("pings").unwrap();
    for (i, flow) in s.flows.iter().enumerate().take(20) {
        let names = pings.text("flow");
        let own: Vec<f64> = (0..pings.len())
            // The last ones' answers do not come in time.
            .filter(|&row| names.get(row) == flow.name && pings.f64("t_s")[row] < 3.85)
            .map(|row| pings.f64("rtt_s")[row])
            .collect();
        let (_, base) = ways[i % 5];
        assert!(own.len() >= 35, "{}: {}", flow.name, own.len());
        for rtt in own {
            // Ten probes at most before it, each 16 µs in every queue both ways, and a datagram of 167 µs.
            assert!(rtt > base && rtt < base + 0.0015, "{} {:?}: {rtt}", flow.name, flow.hops);
        }
    }
    let sent = |hop: usize, down: bool| -> f64 {
        let passes = |f: &&Flow| f.hops.contains(&hop);
        let pings = s.flows[..20].iter().filter(passes);
        let pings: f64 = pings.map(|f| total(&run, &f.name, "packets_sent")).sum();
        let own = hop != 1 && down;
        pings / 2.0 + if own { total(&run, "udp", "datagrams_sent") } else { 0.0 }
    };
    for (hop, name) in ["a", "b", "c"].into_iter().enumerate() {
        for (side, down) in [("down", true), ("up", false)] {
            let entered = total(&run, &format!("{name}.{side}.qdisc"), "entered");
            let expected = sent(hop, down);
            // What is on its way at the end.
            assert!((entered - expected).abs() <= 20.0, "{name} {side}: {entered} {expected}");
        }
    }
    // 25 ms, and 167 µs in each of two queues.
    let owd = value(&run, "p50(packet_owd, udp)");
    assert!(owd > 0.025 && owd < 0.026, "{owd}");
}

fn errors_quote_tc() {
    let (linux, stack) = engine();
    let s = scenario(&stack, "fq_codel tarqet 5ms", 10, Span::from_millis(20), 1, &["cubic"]);
    let error = linux.run(&s.clone().into(), &()).unwrap_err().to_string();
    assert!(error.contains("What is \"tarqet\""), "{error}");
    // Also in the middle of a run, when nobody waits for the command.
    let mut s = scenario(&stack, "fq_codel", 10, Span::from_millis(20), 3, &["cubic"]);
    let change = Action::ChangeQdisc {
        element: "bottleneck.down.qdisc".to_owned(),
        qdisc: "fq_codel tarqet 5ms".into(),
    };
    let when = When::At(At::from_secs(1));
    s.events.push(Event { name: "change".to_owned(), when, actions: vec![change] });
    let error = linux.run(&s.into(), &()).unwrap_err().to_string();
    assert!(
        error.contains("qdisc change dev c") && error.contains("What is \"tarqet\""),
        "{error}"
    );
}

struct Cancelled;
impl Watch for Cancelled {
    fn cancelled(&self) -> bool {
        true
    }
}

fn a_cancelled_run_leaves_nothing() {
    let (linux, stack) = engine();
    let s = scenario(&stack, "fq_codel", 50, Span::from_millis(20), 600, &["cubic"]);
    assert_eq!(linux.run(&s.clone().into(), &Cancelled).unwrap_err(), RunError::Cancelled);
    let mine = format!("sojourn-guest-{}-", std::process::id());
    // Other tests of this process have folders of their own while they run; none is of a length of ten minutes.
    let left = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten().any(|e| {
        e.file_name().to_string_lossy().starts_with(&mine)
            && std::fs::read_to_string(e.path().join("plan"))
                .is_ok_and(|p| p.starts_with("length 600000000000"))
    });
    assert!(!left);
}

/// The kernel's own answer, compared with its configuration: nothing that was built in is missing.
fn a_kernel_says_what_it_has() {
    let (linux, _) = engine();
    let kernel = linux.kernels().last().unwrap();
    let cache = sojourn_linux::cache::folder().unwrap();
    let answer = sojourn_linux::probe::ask(&cache, &kernel.program).unwrap();
    assert_eq!(answer.release, kernel.version);
    let config = std::fs::read_to_string(kernel.program.with_file_name("config")).unwrap();
    let built_in = |prefix: &str| -> Vec<String> {
        let lines = config.lines().filter_map(|line| line.strip_prefix(prefix)?.strip_suffix("=y"));
        lines.map(str::to_lowercase).collect()
    };
    // These are no controls or disciplines: the default options, and the option of three disciplines.
    let of_all = |name: &&String| !["advanced", "default", "fifo"].contains(&name.as_str());
    let controls = built_in("CONFIG_TCP_CONG_");
    assert!(controls.len() > 3, "{controls:?}");
    for name in controls.iter().filter(of_all) {
        // A module's name is not always that of its option.
        let name = if name == "hstcp" { "highspeed" } else { name };
        assert!(answer.ccs.iter().any(|own| own == name), "{name}: {:?}", answer.ccs);
    }
    // A part that others share is no discipline.
    let mut disciplines = built_in("CONFIG_NET_SCH_");
    disciplines.retain(|name| name != "mqprio_lib");
    assert!(disciplines.len() > 10, "{disciplines:?}");
    for name in disciplines.iter().filter(of_all) {
        let name = if name == "teql" { "teql0" } else { name };
        assert!(answer.qdiscs.iter().any(|own| own == name), "{name}: {:?}", answer.qdiscs);
    }
    for always in ["pfifo", "bfifo", "pfifo_fast"] {
        assert!(answer.qdiscs.iter().any(|own| own == always), "{always}");
    }
    assert!(!answer.qdiscs.iter().any(|own| own == "cubic" || own == "eth0"));
    assert_eq!(answer.accecn, kernel.order() >= (7, 0, 0));
}

fn main() {
    let kernel = Linux::new().kernels().last().is_some();
    let tests: [(&str, fn()); 30] = [
        ("a_host_queue_is_of_one_flow_among_several", a_host_queue_is_of_one_flow_among_several),
        (
            "a_netem_is_changed_and_switched_with_all_that_it_has",
            a_netem_is_changed_and_switched_with_all_that_it_has,
        ),
        (
            "a_queue_is_switched_and_replaced_over_both_versions",
            a_queue_is_switched_and_replaced_over_both_versions,
        ),
        ("a_policer_marks_over_both_versions", a_policer_marks_over_both_versions),
        (
            "a_flow_passes_by_the_hops_that_are_not_its_own",
            a_flow_passes_by_the_hops_that_are_not_its_own,
        ),
        ("a_kernel_says_what_it_has", a_kernel_says_what_it_has),
        (
            "a_policer_drops_what_exceeds_its_rate_while_it_is_on",
            a_policer_drops_what_exceeds_its_rate_while_it_is_on,
        ),
        ("elements_are_switched_and_changed", elements_are_switched_and_changed),
        ("short_flows_over_both_versions", short_flows_over_both_versions),
        ("applications_write_at_their_own_times", applications_write_at_their_own_times),
        ("initial_windows_over_both_versions", initial_windows_over_both_versions),
        ("a_codepoint_is_the_flows_own", a_codepoint_is_the_flows_own),
        ("irtt_knows_both_ways", irtt_knows_both_ways),
        ("a_stream_over_both_versions", a_stream_over_both_versions),
        ("a_call_adapts_to_what_is_missing", a_call_adapts_to_what_is_missing),
        (
            "one_flow_fills_the_link_and_rtt_is_base_and_queue",
            one_flow_fills_the_link_and_rtt_is_base_and_queue,
        ),
        ("the_initial_window_is_the_routes", the_initial_window_is_the_routes),
        (
            "the_same_seed_gives_the_same_bits_and_another_seed_does_not",
            the_same_seed_gives_the_same_bits_and_another_seed_does_not,
        ),
        (
            "a_capture_has_every_packet_and_changes_nothing",
            a_capture_has_every_packet_and_changes_nothing,
        ),
        (
            "a_rate_changes_at_its_time_and_datagrams_are_delayed_as_they_should",
            a_rate_changes_at_its_time_and_datagrams_are_delayed_as_they_should,
        ),
        ("what_a_flow_asks_for_is_agreed", what_a_flow_asks_for_is_agreed),
        ("datagrams_that_are_dropped_are_lost", datagrams_that_are_dropped_are_lost),
        ("generators_datagrams_leave_at_their_times", generators_datagrams_leave_at_their_times),
        (
            "datagrams_are_classified_over_both_versions",
            datagrams_are_classified_over_both_versions,
        ),
        ("rules_make_of_each_field_what_they_should", rules_make_of_each_field_what_they_should),
        ("packets_are_conserved", packets_are_conserved),
        ("a_flow_of_so_many_bytes_finishes", a_flow_of_so_many_bytes_finishes),
        ("rewriters_rewrite_over_both_versions", rewriters_rewrite_over_both_versions),
        ("errors_quote_tc", errors_quote_tc),
        ("a_cancelled_run_leaves_nothing", a_cancelled_run_leaves_nothing),
    ];
    let trials = common::trials(tests, kernel);
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
