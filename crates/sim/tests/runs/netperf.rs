//! Flows that netperf starts: the control connection comes first, over the same path.

use crate::bench::{event, ping, run, series, table, tcp_mut, total};
use crate::capture::Scratch;
use sojourn_model::{Action, At, Direction, FlowDelay, Kind, Scenario, Side, Start};
use sojourn_results::Run;
use sojourn_sim::dumbbell::Dumbbell;
use sojourn_stacks::Stack;
use sojourn_units::Span;

const NETPERFS: &str = "sce-2020-03";

fn two(stack: &str, qdisc: &str, second: Span) -> Scenario {
    let mut s = Dumbbell {
        qdisc: qdisc.to_owned(),
        duration: second + Span::from_secs(3),
        stack: stack.to_owned(),
        ..Dumbbell::default()
    }
    .scenario();
    s.flows[1].start = Start::At(At::after_origin(second));
    s
}

fn starts(run: &Run, flow: &str) -> f64 {
    let t = table(run, "events");
    let subject = format!("flow {flow}");
    let is = |&i: &usize| t.text("subject").get(i) == subject && t.text("what").get(i) == "start";
    t.f64("t_s")[(0..t.len()).find(is).expect("it starts")]
}

fn jitter(stack: &str) -> f64 {
    Stack::named(stack).expect("it is one").tcp.start_jitter.as_secs_f64()
}

/// Alone on its path: SYN and SYN/ACK of 74 bytes, request and answer of 656 and 66 bytes of headers, each sent out at
/// 50 Mbit/s (11.84 and 115.52 µs) and 10 ms on the way: 40.25 ms, and what hosts add, up to 6 µs a packet. The
/// handshake's last ACK comes with the request. Either end may be netperf's client.
#[test]
fn two_round_trips_pass_before_the_flow_begins() {
    for direction in [Direction::Down, Direction::Up] {
        let mut s = two(NETPERFS, "fq_codel", Span::from_secs(2));
        s.flows[0].direction = direction;
        let start = starts(&run(&s), "cubic-1");
        let exchange = 0.04 + 2.0 * (11.84e-6 + 115.52e-6);
        let most = exchange + jitter(NETPERFS) + 4.0 * 6e-6;
        assert!((exchange..most).contains(&start), "{start} {direction:?}");
    }
    let start = starts(&run(&two("linux-5.4", "fq_codel", Span::from_secs(2))), "cubic-1");
    assert!(start < jitter("linux-5.4"));
}

/// The reason for this: ten seconds on, CUBIC has filled a queue of 1000 packets nearly to the brim, and each round
/// trip takes as long as a ping of that time.
#[test]
fn a_newcomer_waits_twice_for_a_full_queue() {
    let mut s = two(NETPERFS, "pfifo limit 1000", Span::from_secs(10));
    s.flows[2].traffic = ping(Span::from_millis(20));
    let run = run(&s);
    let start = starts(&run, "cubic-2") - 10.0;
    // A ping is recorded when its reply comes.
    let asked = |from: f64| {
        let pings = series(&run, "pings", "rtt_s", "ping");
        pings.iter().find(|(t, rtt)| t - rtt >= from).expect("it is asked").1
    };
    let first = asked(10.0);
    let both = first + asked(10.0 + first);
    assert!((0.4..0.54).contains(&both), "{both}");
    assert!((both - 0.005..both + jitter(NETPERFS) + 0.005).contains(&start), "{start} for {both}");
}

/// Stopped while it waits for the answer: it never began, and packets that still come for it find nobody.
#[test]
fn a_flow_that_is_stopped_while_it_agrees_never_begins() {
    let mut s = two(NETPERFS, "fq_codel", Span::from_secs(1));
    let stop = vec![Action::StopFlow { flow: "cubic-2".to_owned() }];
    s.events = vec![event("stop", Span::from_millis(1030), stop)];
    let run = run(&s);
    let t = table(&run, "events");
    let what: Vec<_> = (0..t.len())
        .filter(|&i| t.text("subject").get(i) == "flow cubic-2")
        .map(|i| t.text("detail").get(i))
        .collect();
    assert_eq!(what, ["stopped before it started"]);
    assert_eq!(total(&run, "cubic-2", "delivered_bytes"), 0.0);
}

/// A capture has the flow's packets alone, and the run is the same with it.
#[test]
fn captures_leave_it_out() {
    let mut s = two(NETPERFS, "fq_codel", Span::from_secs(1));
    s.flows.truncate(1);
    tcp_mut(&mut s.flows[0].traffic).bytes = Some(14_480);
    let files = Scratch::new("netperf", 128);
    let captured = files.run(&s);
    let plain = run(&s);
    assert_eq!(starts(&plain, "cubic-1"), starts(&captured, "cubic-1"));
    let packets = files.packets("client");
    // SYN, SYN/ACK, ten segments and their ACKs.
    assert_eq!(packets.iter().filter(|p| p.1 == 1514).count(), 10);
    assert_eq!(packets.iter().filter(|p| p.1 == 74).count(), 2);
    assert!(packets.iter().all(|p| p.1 != 722), "no request");
}

/// A rig tells the delays of flows by their DSCP, which the control connection has not: a flow of 5 ms each way on a path of
/// 10 begins when its neighbour of 10 does.
#[test]
fn delays_of_flows_are_not_the_control_connections() {
    let mut s = two(NETPERFS, "fq_codel", Span::from_secs(2));
    s.flows[1].start = Start::At(At::ORIGIN);
    for side in [Side::Down, Side::Up] {
        let elements = if side == Side::Down { &mut s.hops[0].down } else { &mut s.hops[0].up };
        for element in elements {
            if let Kind::Netem(netem) = &mut element.kind {
                let (flow, delay) = ("cubic-2".to_owned(), Span::from_millis(5));
                netem.per_flow.push(FlowDelay { flow, delay });
            }
        }
    }
    let run = run(&s);
    let (first, second) = (starts(&run, "cubic-1"), starts(&run, "cubic-2"));
    assert!(first > 0.04 && (first - second).abs() < jitter(NETPERFS) + 1e-3, "{first} {second}");
    let least = |flow| {
        let rtts = series(&run, "flows", "rtt_s", flow).into_iter().map(|row| row.1);
        rtts.filter(|rtt| rtt.is_finite()).fold(f64::INFINITY, f64::min)
    };
    assert!(least("cubic-1") >= 0.02 && (0.01..0.02).contains(&least("cubic-2")));
}
