//! Estimates that are worked out by hand, and that hold of real runs.

use super::*;
use crate::Sim;
use crate::dumbbell::Dumbbell;
use sojourn_engine::Engine as _;
use sojourn_model::{Event, Quic, ReceiveWindow, Tcp, TcpStack, Udp};
use sojourn_units::{Ecn, Rate, Span};

fn of(scenario: &Scenario) -> Foreseen {
    Sim::new().foresee(scenario).expect("the simulator says")
}

fn quic(change: impl FnOnce(&mut Quic)) -> Scenario {
    let mut scenario = line(&["cubic"]);
    let mut quic = Quic::plain("noq", "cubic");
    change(&mut quic);
    scenario.flows[0].traffic = Traffic::Quic(quic);
    scenario
}

/// 50 Mbit/s, 20 ms, no ping, 10 s.
fn line(ccs: &[&str]) -> Scenario {
    let ccs = ccs.iter().map(|cc| (*cc).to_owned()).collect();
    let ten = Span::from_secs(10);
    Dumbbell { ccs, ping: false, duration: ten, ..Dumbbell::default() }.scenario()
}

fn tcp(scenario: &mut Scenario) -> &mut Tcp {
    match &mut scenario.flows[0].traffic {
        Traffic::Tcp(tcp) => tcp,
        other => panic!("{other:?} is no TCP"),
    }
}

fn udp(rate: Rate, payload: u32) -> Traffic {
    Traffic::Udp(Udp { rate, payload, ecn: Ecn::NotEct })
}

#[track_caller]
fn about(found: f64, worked_out: f64) {
    assert!((found / worked_out - 1.0).abs() < 1e-3, "{found} is not {worked_out}");
}

#[test]
fn bulk_flows_share_what_the_bottleneck_carries() {
    // 50 Mbit/s · 10 s in frames of 1514 bytes, however many there are.
    let full = 50e6 * 10.0 / 8.0 / 1514.0;
    about(of(&line(&["cubic"])).packets, full);
    about(of(&line(&["cubic", "prague", "bbr"])).packets, full);
    // An event at 4 s takes the rate to a tenth.
    let mut changed = line(&["cubic"]);
    let (element, rate) = ("bottleneck.down.qdisc".to_owned(), Rate::from_mbit(5));
    assert!(changed.is_queue(&element), "the dumbbell's queue has another path");
    let actions = vec![Action::Rate { element, rate }];
    changed.events.push(Event { name: "slow".into(), when: When::At(At::from_secs(4)), actions });
    about(of(&changed).packets, full * (0.4 + 0.6 * 0.1));
    // One that stops at 5 s leaves the rest to nobody.
    let mut stopped = line(&["cubic"]);
    stopped.flows[0].stop = Some(At::from_secs(5));
    about(of(&stopped).packets, full / 2.0);
    // 20 Mbit/s of UDP in full frames: the other flow has the rest.
    let mut both = line(&["cubic", "cubic"]);
    both.flows[1].traffic = udp(Rate::from_mbit(20), 1472);
    about(of(&both).packets, full);
}

#[test]
fn a_flow_that_is_limited_sends_less() {
    // 14 480 bytes a round trip of 20 ms: 10 segments, 50 times a second.
    let mut small = line(&["cubic"]);
    tcp(&mut small).receive_window = ReceiveWindow::Fixed(14_480);
    about(of(&small).packets, 10.0 * 50.0 * 10.0);
    let mut finite = line(&["cubic"]);
    tcp(&mut finite).bytes = Some(1_448_000);
    about(of(&finite).packets, 1000.0);
    let mut slow = line(&["cubic"]);
    tcp(&mut slow).app_rate = Some(Rate::from_bits_per_sec(1448 * 8 * 70));
    about(of(&slow).packets, 700.0);
    let mut shaped = line(&["cubic"]);
    tcp(&mut shaped).host_qdisc = Some("tbf rate 12112kbit burst 1540 limit 10000".into());
    about(of(&shaped).packets, 10_000.0);
    // Reno at 1 %: √150 packets each 20 ms.
    let mut lossy = line(&["reno"]);
    let Kind::Netem(netem) = &mut lossy.hops[0].down[0].kind else { panic!("no netem") };
    netem.chain[0] += " loss 1%";
    about(of(&lossy).packets, 150_f64.sqrt() * 50.0 * 10.0);
}

#[test]
fn probes_and_datagrams_come_at_their_own_rate() {
    let mut scenario = line(&["cubic"]);
    scenario.flows[0].traffic = udp(Rate::from_mbit(10), 1250);
    about(of(&scenario).packets, 10_000.0);
    // A request and a reply each 200 ms; the requests take their 98 bytes of the line.
    let with = Dumbbell { duration: Span::from_secs(10), ..Dumbbell::default() };
    let without = Dumbbell { ping: false, ..with.clone() };
    about(
        of(&with.scenario()).packets - of(&without.scenario()).packets,
        100.0 - 50.0 * 98.0 / 1514.0,
    );
}

#[test]
fn memory_is_for_packets_flows_and_rows() {
    // 10^12 bit/s of datagrams of 1250 bytes are 10^8 a second; 10^9 are out in a round trip of 10 s.
    let mut wide = Dumbbell {
        rate: Rate::from_mbit(1_000_000),
        rtt: Span::from_secs(10),
        duration: Span::from_secs(60),
        ccs: vec!["cubic".into()],
        ping: false,
        ..Dumbbell::default()
    }
    .scenario();
    wide.flows[0].traffic = udp(Rate::from_mbit(1_000_000), 1250);
    let packets = of(&wide).memory.packets;
    assert!((1e9 * PACKET_BYTES..1.1e9 * PACKET_BYTES).contains(&packets), "{packets}");
    // A window of 10^6 segments.
    let tenth = Tcp::plain("cubic", sojourn_model::EcnMode::Off);
    wide.flows[0].traffic =
        Traffic::Tcp(Tcp { receive_window: ReceiveWindow::Fixed(1_448_000_000), ..tenth });
    about(of(&wide).memory.packets, 1e6 * PACKET_BYTES);
    let many = line(&["cubic"; 100]);
    about(of(&many).memory.flows, 100.0 * FLOW_BYTES);
    let mut often = line(&["cubic"]);
    let seldom = of(&often);
    often.sample_interval = often.sample_interval / 10;
    let rows = of(&often).rows / seldom.rows;
    assert!((2.0..10.0).contains(&rows), "rows of distributions are as many: {rows}");
}

#[test]
fn a_queue_that_is_overrun_holds_its_limit() {
    let held = |qdisc: &str| {
        let ccs = vec!["cubic".into()];
        let base = Dumbbell { ccs, ping: false, ..Dumbbell::default() };
        let mut scenario = Dumbbell { qdisc: qdisc.to_owned(), ..base }.scenario();
        scenario.flows[0].traffic = udp(Rate::from_mbit(100), 1472);
        of(&scenario).memory.packets / PACKET_BYTES
    };
    let out = 100e6 / 8.0 / 1472.0 * 0.02;
    about(held("pfifo limit 3000"), out + 3000.0);
    about(held("bfifo limit 1514000"), out + 1000.0);
    about(held("fq_codel limit 500"), out + 500.0);
    about(held("pfifo"), out + 1000.0);
}

#[test]
fn real_runs_are_within_a_factor_of_two() {
    for cc in ["reno", "cubic", "prague", "bbr"] {
        let base = Dumbbell { ccs: vec![cc.into(), cc.into()], ..Dumbbell::default() };
        let scenario = Dumbbell { duration: Span::from_secs(10), ..base }.scenario();
        let foreseen = of(&scenario);
        let run = Sim::new().run(&scenario.clone().into(), &()).unwrap();
        let rows: usize = run.tables.iter().map(sojourn_results::Table::len).sum();
        let totals = run.table("totals").unwrap();
        let (names, values) = (totals.text("name"), totals.f64("value"));
        let segments: f64 =
            (0..totals.len()).filter(|&i| names.get(i) == "segments_sent").map(|i| values[i]).sum();
        let sent = foreseen.packets / segments;
        assert!((0.5..2.0).contains(&sent), "{cc}: {sent} of the packets");
        let rows = foreseen.rows / rows as f64;
        assert!((0.5..2.0).contains(&rows), "{cc}: {rows} of the rows");
    }
}

#[test]
fn speeds_are_those_of_the_benchmarks_record() {
    let record = include_str!("../../../../benches/record.json");
    let record: serde_json::Value = serde_json::from_str(record).unwrap();
    let speed = |name: &str| {
        let entry = record.as_array().unwrap().iter().find(|e| e["scenario"] == name).unwrap();
        entry["packets_per_cpu_second"].as_f64().unwrap()
    };
    assert_eq!(SPEEDS, ["A", "F", "H", "E"].map(speed));
}

/// Datagrams of 1452 bytes of UDP payload, 1494 on the wire, with 1418 bytes of streams in each. The bottleneck's
/// capacity counts in frames of 1514, whatever a flow's are.
#[test]
fn quic_is_limited_by_its_windows_its_pacing_and_its_bytes() {
    about(of(&quic(|_| {})).packets, 50e6 * 10.0 / 8.0 / 1514.0);
    // 28 360 bytes a round trip of 20 ms: 20 packets, 50 times a second; three streams have three times that.
    about(of(&quic(|q| q.receive_window = Some(28_360))).packets, 20.0 * 50.0 * 10.0);
    let three = |q: &mut Quic| (q.receive_window, q.streams) = (Some(28_360), 3);
    about(of(&quic(three)).packets, 60.0 * 50.0 * 10.0);
    // A thousand packets a second.
    let paced = |q: &mut Quic| q.max_pacing_rate = Some(Rate::from_bits_per_sec(1494 * 8 * 1000));
    about(of(&quic(paced)).packets, 10_000.0);
    about(of(&quic(|q| q.bytes = Some(1_418_001))).packets, 1001.0);
    // NewReno at 1 %: √150 packets each 20 ms, as Reno.
    let mut lossy = quic(|q| q.cc = "newreno".to_owned());
    let Kind::Netem(netem) = &mut lossy.hops[0].down[0].kind else { panic!("no netem") };
    netem.chain[0] += " loss 1%";
    about(of(&lossy).packets, 150_f64.sqrt() * 50.0 * 10.0);
}

/// Segments of 1460 bytes. Without a control losses change nothing.
#[test]
fn an_implementation_of_tcp_is_limited_by_its_buffer_and_its_bytes() {
    let of_stack = |cc: &str, change: &dyn Fn(&mut TcpStack)| {
        let mut scenario = line(&["cubic"]);
        let mut tcp = TcpStack::plain("smoltcp", cc);
        change(&mut tcp);
        scenario.flows[0].traffic = Traffic::TcpStack(tcp);
        scenario
    };
    about(of(&of_stack("cubic", &|_| {})).packets, 50e6 * 10.0 / 8.0 / 1514.0);
    let small = |tcp: &mut TcpStack| tcp.receive_window = 29_200;
    about(of(&of_stack("reno", &small)).packets, 20.0 * 50.0 * 10.0);
    about(of(&of_stack("reno", &|tcp| tcp.bytes = Some(1_460_001))).packets, 1001.0);
    for (cc, packets) in [("reno", 150_f64.sqrt()), ("none", 20.0)] {
        let mut lossy = of_stack(cc, &small);
        let Kind::Netem(netem) = &mut lossy.hops[0].down[0].kind else { panic!("no netem") };
        netem.chain[0] += " loss 1%";
        about(of(&lossy).packets, packets * 50.0 * 10.0);
    }
}
