//! Applications, against what a pencil says of them alone on a path: 20 ms of round trip, 10 ms each way, and up to
//! 6 µs of jitter at each host.

use crate::bench::{
    JITTER, QUEUE, counts, mean_between, netem_mut, over_a_line, rows_of, run, series, table, total,
};
use sojourn_model::{
    Adaptation, Direction, EcnMode, Irtt, OnOff, Profile, Pulse, Scenario, ShortFlows, Side,
    Streaming, Traffic, Udp, Video, Voip,
};
use sojourn_results::Run;
use sojourn_results::metrics::{Expression, Frame};
use sojourn_sim::dumbbell::Dumbbell;
use sojourn_units::{Ecn, Rate, Span};

const RTT: f64 = 0.020;

fn path(rate: Rate, seconds: u64) -> Dumbbell {
    Dumbbell {
        rate,
        ping: false,
        qdisc: "pfifo limit 1000".to_owned(),
        duration: Span::from_secs(seconds),
        ..Dumbbell::default()
    }
}

/// One application alone, called `app`.
fn alone(rate: Rate, seconds: u64, traffic: Traffic) -> Scenario {
    let d = path(rate, seconds);
    let mut s = d.scenario();
    s.flows = vec![d.flow("app", traffic)];
    s
}

fn value(run: &Run, text: &str) -> f64 {
    let expression = Expression::parse(text).unwrap_or_else(|e| panic!("{text}: {}", e.message));
    expression.evaluate(&Frame::new(run)).unwrap_or_else(|e| panic!("{e}")).value.number
}

fn kbit(n: u64) -> Rate {
    Rate::from_bits_per_sec(n * 1000)
}

fn short(bytes: u64, count: u64) -> Traffic {
    let tcp = sojourn_model::Tcp { ecn: EcnMode::Off, ..path(Rate::from_mbit(1), 1).tcp("cubic") };
    Traffic::ShortFlows(ShortFlows {
        tcp,
        mean_interval: Span::from_millis(700),
        count: Some(count),
        length_p5: bytes,
        length_p95: bytes,
        request: 150,
    })
}

/// A round trip for the handshake, one for the request and the first window of ten, one more each time that the window
/// doubles: 10, 30, 70, 150 segments are done after 2, 3, 4, 5 round trips, and the line's time for the rest.
#[test]
fn a_short_flow_alone_takes_the_handshake_and_its_round_trips() {
    for (segments, rounds) in [(1, 2.0), (10, 2.0), (11, 3.0), (30, 3.0), (70, 4.0), (150, 5.0)] {
        // A length drawn between percentiles that are the same may be a byte short of it.
        let mut s = alone(Rate::from_mbit(1000), 20, short(segments * 1448, 3));
        over_a_line(&mut s, Rate::from_mbit(1000));
        let run = run(&s);
        let durations: Vec<f64> =
            series(&run, "completions", "duration_s", "app").iter().map(|r| r.1).collect();
        assert_eq!(durations.len(), 3);
        for d in durations {
            let least = rounds * RTT;
            // 12 µs a segment at 1 Gbit/s, a microsecond or two each way for the rest.
            let most = least + 20e-6 * segments as f64 + rounds * (JITTER + 5e-6);
            assert!((least..most).contains(&d), "{segments} segments: {d}, not {least} to {most}");
        }
        assert_eq!(value(&run, "completed(app) over all"), 3.0);
        // The workload was these three: it has ended, and so has the flow.
        let events = table(&run, "events");
        let ends = (0..events.len()).any(|i| events.text("detail").get(i) == "finished");
        assert!(ends);
    }
}

/// Losses cost retransmissions, but every connection gets its length; a lost SYN costs a second (RFC 6298 §2.1).
#[test]
fn short_flows_survive_losses() {
    let mut s = alone(Rate::from_mbit(20), 60, short(100_000, 60));
    for side in [Side::Down, Side::Up] {
        let hop = &mut s.hops[0];
        let elements = if side == Side::Down { &mut hop.down } else { &mut hop.up };
        for e in elements {
            if let sojourn_model::Kind::Netem(n) = &mut e.kind {
                n.chain = vec!["delay 10ms loss 3% limit 1000000".to_owned()];
            }
        }
    }
    let run = run(&s);
    assert!(total(&run, "app", "retransmits") > 0.0);
    let t = table(&run, "completions");
    let durations = t.f64("duration_s");
    let done = rows_of(t, "app").filter(|&i| !durations[i].is_nan()).count();
    assert!(done >= 55, "{done}");
    // 3 % of SYNs and 3 % of their answers are lost: some of 60 wait a second more.
    assert!(durations.iter().any(|&d| d > 1.0));
    assert!(durations.iter().filter(|d| !d.is_nan()).all(|&d| d >= 3.0 * RTT));
}

/// Not-ECT against an ECN rival in a queue that marks: dropped, never marked
/// (docs/sources/applications.md#short-flows).
#[test]
fn short_flows_without_ecn_are_dropped_where_a_rival_is_marked() {
    let d = Dumbbell {
        qdisc: "fq_codel flows 1".to_owned(),
        ecn: true,
        ..path(Rate::from_mbit(20), 30)
    };
    let mut s = d.scenario();
    s.flows =
        vec![d.flow("rival", Traffic::Tcp(d.tcp("cubic"))), d.flow("app", short(300_000, 30))];
    let run = run(&s);
    assert!(total(&run, "rival", "ce_packets") > 0.0);
    assert_eq!(total(&run, "app", "ce_packets"), 0.0);
    assert!(total(&run, "app", "packets_dropped") > 0.0);
}

#[test]
fn irtt_tells_both_ways_apart() {
    let irtt = Irtt { interval: Span::from_millis(10), payload: 60, ecn: Ecn::NotEct };
    let s = alone(Rate::from_mbit(50), 5, Traffic::Irtt(irtt));
    let answered = run(&s);
    // One each 10 ms from 0 to 5 s.
    assert_eq!(total(&answered, "app", "requests"), 501.0);
    for way in ["owd", "owd_back"] {
        let (low, high) = (
            value(&answered, &format!("min({way}, app) over all")),
            value(&answered, &format!("max({way}, app) over all")),
        );
        assert!(low >= 0.010 && high <= 0.010 + JITTER, "{way}: {low} to {high}");
        let ipdv = if way == "owd" { "ipdv" } else { "ipdv_back" };
        let most = value(&answered, &format!("max({ipdv}, app) over all"));
        assert!(most > 0.0 && most <= JITTER, "{most}");
    }
    assert_eq!(value(&answered, "loss_rate(app) over all"), 0.0);
    // Datagrams still on their way at the end are late, not lost: those of the last 20 ms.
    let t = table(&answered, "pings");
    let late = (0..t.len()).filter(|&i| t.text("lost").get(i) == "late").count();
    assert!((1..=3).contains(&late), "{late}");

    // Everything is lost on one way.
    for (side, lost) in [(Side::Down, "there"), (Side::Up, "back")] {
        let mut s = s.clone();
        let hop = &mut s.hops[0];
        if side == Side::Up {
            std::mem::swap(&mut hop.up, &mut hop.down);
        }
        netem_mut(&mut s).chain = vec!["delay 10ms loss 100% limit 1000".to_owned()];
        let hop = &mut s.hops[0];
        if side == Side::Up {
            std::mem::swap(&mut hop.up, &mut hop.down);
        }
        s.duration = Span::from_secs(10);
        let run = run(&s);
        let t = table(&run, "pings");
        let (early, lost_names) = (t.f64("t_s"), t.text("lost"));
        assert!((0..t.len()).filter(|&i| early[i] < 5.0).all(|i| lost_names.get(i) == lost));
        assert_eq!(value(&run, "loss_rate(app) from 0s to 5s"), 1.0);
    }
}

/// 172 bytes each 20 ms are 68.8 kbit/s (G.711 in RTP).
#[test]
fn a_voice_call_has_its_rate_and_its_delay() {
    let voip = Voip { interval: Span::from_millis(20), payload: 172, ecn: Ecn::Ect1 };
    let run = run(&alone(Rate::from_mbit(50), 10, Traffic::Voip(voip)));
    let goodput = value(&run, "goodput(app) from 1s to 9s");
    assert!((goodput - 68_800.0).abs() < 200.0, "{goodput}");
    let (low, high) =
        (value(&run, "min(owd, app) over all"), value(&run, "max(owd, app) over all"));
    assert!(low >= 0.010 && high <= 0.010 + JITTER, "{low} to {high}");
}

/// A burst of 40 kB alone, which comes at 70 Mbit/s, waits 40 kB · 8 · (1/C − 1/70): 59 ms at 5, 11.4 ms at 20 Mbit/s. The
/// probes next to the published call had 64 to 71 and 10 to 14 ms
/// (docs/sources/video-call.md#delay-of-others-in-the-same-queue).
#[test]
fn a_call_queues_its_own_bursts() {
    for (mbit, longest) in [(5_u64, 0.0594), (20, 0.0114)] {
        let video = Video::captured(Profile::CallDown, Ecn::NotEct);
        let mean = video.mean_rate().as_mbit();
        let run = run(&alone(Rate::from_mbit(mbit), 60, Traffic::Video(video)));
        let goodput = value(&run, "goodput(app) over all") / 1e6;
        assert!((goodput / mean - 1.0).abs() < 0.05, "{goodput} of {mean}");
        let delay = value(&run, "max(queue_delay_max, bottleneck.down.qdisc) over all");
        assert!((0.8 * longest..1.3 * longest).contains(&delay), "{delay} at {mbit} Mbit/s");
    }
}

/// Bursts that last longer than a frame follow one another, and time does not run back for them.
#[test]
fn a_call_with_overlapping_bursts_sends_them_in_turn() {
    let captured = Video::captured(Profile::CallDown, Ecn::NotEct);
    let mean = captured.mean_rate().as_mbit();
    let video = Video { burst_rate: Rate::from_mbit(3), ..captured };
    let run = run(&alone(Rate::from_mbit(50), 20, Traffic::Video(video)));
    let goodput = value(&run, "goodput(app) over all") / 1e6;
    assert!((goodput / mean - 1.0).abs() < 0.05, "{goodput} of {mean}");
}

/// Adaptation goes down where there is loss and comes up again where there is none; its reports travel.
#[test]
fn a_call_that_adapts_fits_the_path() {
    let (min, max) = (kbit(300), kbit(2500));
    let adaptation = Adaptation { loss: 0.02, decrease: 0.85, increase: 1.05, min, max };
    let call = |adaptation| {
        let video = Video { adaptation, ..Video::captured(Profile::CallDown, Ecn::NotEct) };
        let d = Dumbbell { qdisc: "pfifo limit 30".to_owned(), ..path(Rate::from_mbit(1), 60) };
        let mut s = d.scenario();
        s.flows = vec![d.flow("app", Traffic::Video(video))];
        run(&s)
    };
    let (adapts, does_not) = (call(Some(adaptation)), call(None));
    let loss = |run: &Run| value(run, "loss_rate(app) from 20s to 60s");
    assert!(loss(&does_not) > 0.35, "{}", loss(&does_not));
    assert!(loss(&adapts) < 0.12, "{}", loss(&adapts));
    assert!(value(&adapts, "goodput(app) from 20s to 60s") > 0.4e6);
}

/// On for a third of the time: a third of the rate, in datagrams and over TCP.
#[test]
fn what_is_on_by_turns_sends_by_turns() {
    let (on, off) = (Span::from_millis(500), Span::from_secs(1));
    let udp = Pulse::Udp(Udp { rate: Rate::from_mbit(6), payload: 1000, ecn: Ecn::NotEct });
    let mut tcp = path(Rate::from_mbit(50), 1).tcp("cubic");
    tcp.app_rate = Some(Rate::from_mbit(6));
    for over in [udp, Pulse::Tcp(tcp)] {
        let on_off = OnOff { over, on, off, exponential: false };
        let run = run(&alone(Rate::from_mbit(50), 15, Traffic::OnOff(on_off)));
        let mean = value(&run, "goodput(app) from 0s to 15s");
        assert!((mean / 2e6 - 1.0).abs() < 0.02, "{mean}");
        let rates = series(&run, "flows", "goodput_bps", "app");
        assert!((mean_between(&rates, 3.1, 3.5) / 6e6 - 1.0).abs() < 0.05);
        assert!(mean_between(&rates, 3.6, 4.4) < 1e3);
    }
    // Without a rate it takes what the path gives while it is on.
    let tcp = path(Rate::from_mbit(50), 1).tcp("cubic");
    let (on, off) = (Span::from_secs(2), Span::from_secs(2));
    let on_off = OnOff { over: Pulse::Tcp(tcp), on, off, exponential: false };
    let run = run(&alone(Rate::from_mbit(50), 12, Traffic::OnOff(on_off)));
    let rates = series(&run, "flows", "goodput_bps", "app");
    assert!(mean_between(&rates, 9.0, 10.0) > 45e6);
    assert!(mean_between(&rates, 10.5, 12.0) < 1e3);
}

/// 5 Mbit/s through 50: all written data arrives, the queue stays empty, and the window is no larger than slow start
/// lets it grow beyond its use: twice what was in flight (RFC 7661's problem, Linux's `tcp_is_cwnd_limited`).
#[test]
fn an_application_limits_its_flow() {
    let mut tcp = path(Rate::from_mbit(50), 1).tcp("cubic");
    tcp.app_rate = Some(Rate::from_mbit(5));
    let limited = run(&alone(Rate::from_mbit(50), 20, Traffic::Tcp(tcp)));
    let goodput = value(&limited, "goodput(app) from 2s to 20s");
    assert!((goodput / 5e6 - 1.0).abs() < 0.002, "{goodput}");
    // 5 Mbit/s for 20 ms and a delayed ACK are under 20 segments.
    let cwnd = counts(&limited, "flows", "cwnd", "app");
    assert!(cwnd.iter().all(|c| c.1 <= 40), "{:?}", cwnd.iter().map(|c| c.1).max());
    assert!(value(&limited, "max(queue_length, bottleneck.down.qdisc) over all") <= 2.0);
    let rate = value(&limited, "delivery_rate(app) from 2s to 20s");
    assert!(rate < 12e6, "{rate}");
    // Stated bytes end it.
    let mut tcp = path(Rate::from_mbit(50), 1).tcp("cubic");
    (tcp.app_rate, tcp.bytes) = (Some(Rate::from_mbit(5)), Some(1_000_000));
    let run = run(&alone(Rate::from_mbit(50), 5, Traffic::Tcp(tcp)));
    assert_eq!(total(&run, "app", "delivered_bytes"), 1e6);
    let t = table(&run, "events");
    let end = (0..t.len()).find(|&i| t.text("detail").get(i) == "finished").unwrap();
    // 8 Mbit at 5 Mbit/s, from after the handshake, and a round trip for the last ACK (perhaps delayed).
    assert!((1.6..1.72).contains(&t.f64("t_s")[end]), "{}", t.f64("t_s")[end]);
}

fn streaming(ladder: &[u64], segment: u64, buffer: u64, live: Option<u64>) -> Traffic {
    Traffic::Streaming(Streaming {
        tcp: path(Rate::from_mbit(1), 1).tcp("cubic"),
        ladder: ladder.iter().map(|&k| kbit(k)).collect(),
        segment: Span::from_secs(segment),
        buffer: Span::from_secs(buffer),
        start_at: Span::from_secs(segment),
        resume_at: Span::from_secs(segment),
        live_delay: live.map(Span::from_secs),
        safety: 0.8,
        half_lives: (Span::from_secs(3), Span::from_secs(8)),
        size_sigma: 0.0,
        request: 300,
    })
}

/// A segment of 93 750 bytes (150 kbit/s, 5 s) takes 65 packets: 10, 20, 35 of them; the viewer waits for the
/// handshake, the request and three windows. 18 Mbit/s fit into 30 Mbit/s, with its margin of a fifth.
#[test]
fn a_stream_alone_climbs_to_what_fits_and_does_not_stall() {
    let ladder = [150, 300, 600, 1200, 2500, 5000, 10_000, 18_000];
    let run = run(&alone(Rate::from_mbit(30), 120, streaming(&ladder, 5, 60, None)));
    let delay = value(&run, "startup_delay(app)");
    // 65 packets of 1514 bytes at 30 Mbit/s are 26 ms; four round trips.
    assert!((4.0 * RTT..4.0 * RTT + 0.028).contains(&delay), "{delay}");
    assert_eq!(value(&run, "stalls(app) over all"), 0.0);
    assert_eq!(value(&run, "stall_time(app) over all"), 0.0);
    assert_eq!(value(&run, "bitrate(app) from 60s to 120s"), 18e6);
    assert_eq!(value(&run, "switches(app) over all"), 7.0);
    // Full: it fetches as it plays.
    let goodput = value(&run, "goodput(app) from 70s to 120s");
    assert!((goodput / 18e6 - 1.0).abs() < 0.12, "{goodput}");
    assert!(value(&run, "max(buffer, app) over all") <= 60.0);
}

/// Half the bitrate of the only level: it stalls half of the time (but for what the protocol takes).
#[test]
fn a_stream_that_does_not_fit_stalls() {
    let d = path(kbit(1000), 120);
    let first = run(&alone(d.rate, 120, streaming(&[1900], 4, 12, None)));
    let share = value(&first, "stall_time(app) from 20s to 120s") / 100.0;
    // 1900 kbit/s through 956 of payload: 1 − 956/1900.
    assert!((share - 0.497).abs() < 0.04, "{share}");
    assert!(value(&first, "stalls(app) over all") > 8.0);
    // The same, twice: bits and all.
    let again = run(&alone(d.rate, 120, streaming(&[1900], 4, 12, None)));
    assert!(first.tables.iter().zip(&again.tables).all(|(a, b)| {
        crate::bench::fingerprint(std::slice::from_ref(a))
            == crate::bench::fingerprint(std::slice::from_ref(b))
    }));
}

/// Four flows each way and nothing else (`rrul_be`): every queue is full, and hosts send both data and ACKs by one port.
#[test]
fn bulk_both_ways_shares_each_hosts_port() {
    let d = Dumbbell { qdisc: "fq_codel".to_owned(), ..path(Rate::from_mbit(50), 20) };
    let mut s = d.scenario();
    s.flows = (0..8)
        .map(|i| {
            let mut flow = d.flow(&format!("flow-{i}"), Traffic::Tcp(d.tcp("cubic")));
            flow.direction = if i % 2 == 0 { Direction::Down } else { Direction::Up };
            flow
        })
        .collect();
    let both = run(&s);
    for queue in [QUEUE, "bottleneck.up.qdisc"] {
        let used = value(&both, &format!("utilisation({queue}) over last 10s before 1s"));
        assert!(used > 0.98, "{queue}: {used}");
    }
    let jain = value(&both, "jain(goodput) over last 10s before 1s");
    assert!(jain > 0.9, "{jain}");
    // Without a delay in front, packets begin at the hosts' ports: the near host's carries down data and up ACKs.
    for hop in &mut s.hops {
        for elements in [&mut hop.down, &mut hop.up] {
            elements.reverse();
        }
    }
    let run = run(&s);
    let sent = |host: &str| total(&run, &format!("host.{host}.{}", s.stack), "entered");
    let of = |flows: [&str; 4]| flows.map(|f| total(&run, f, "packets_sent")).iter().sum::<f64>();
    let all =
        of(["flow-0", "flow-2", "flow-4", "flow-6"]) + of(["flow-1", "flow-3", "flow-5", "flow-7"]);
    assert_eq!(sent("near") + sent("far"), all);
}
