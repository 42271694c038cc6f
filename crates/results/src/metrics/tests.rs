//! Every metric against numbers worked out by hand, on a run of ten seconds in steps of one.

use super::functions::{self, FUNCTIONS};
use super::rates::{self, RateOf};
use super::*;
use crate::{EngineId, Provenance, Rows, Run, rows};
use sojourn_model::example::scenario;
use sojourn_model::{
    Action, At, Check, Direction, Edge, Event, Flow, Kind, Phase, Ping, Reference, Scenario,
    Shaper, Start, Traffic, When, Window, WindowBounds,
};
use sojourn_units::{Ecn, Rate, Span};

const QUEUE: &str = "first.down.qdisc";

/// Flows `a` (10 Mbit/s) and `b` (2 Mbit/s from 5 s on, in group `late`), TCP both; 10 s; the queue at 50 Mbit/s.
fn plain() -> Scenario {
    let mut s = scenario();
    s.duration = Span::from_secs(10);
    s.sample_interval = Span::from_secs(1);
    s.events.clear();
    s.checks.clear();
    s.phases = vec![
        Phase { name: "early".into(), from: at(0), to: at(5) },
        Phase {
            name: "late".into(),
            from: When::After {
                reference: Reference::Flow("b".into()),
                edge: Edge::Start,
                delay: Span::ZERO,
            },
            to: at(10),
        },
    ];
    let tcp = s.flows[0].traffic.clone();
    s.flows[1].traffic = tcp;
    s.flows[1].direction = Direction::Down;
    s.flows[1].start = Start::At(At::from_secs(5));
    s.flows[1].group = Some("late".into());
    let ping = Ping { interval: Span::from_secs(1), size: 84, ecn: Ecn::NotEct };
    let traffic = Traffic::Ping(ping);
    s.flows.push(Flow { name: "ping".into(), group: None, traffic, ..s.flows[0].clone() });
    s
}

fn at(seconds: i64) -> When {
    When::At(At::from_secs(seconds))
}

fn run_of(scenario: Scenario) -> Run {
    let mut flows = Rows::<rows::Flows>::new(Provenance::Exact);
    for t in 1..=10_u32 {
        for (name, from, mbit) in [("a", 0, 10.0), ("b", 5, 2.0)] {
            if t <= from {
                continue;
            }
            let n = u64::from(t - from);
            let goodput = mbit * 1e6;
            // A sample that is missing (zero) every third second, which the published metric leaves out.
            let delivery = if t % 3 == 0 { 0.0 } else { goodput * 0.99 };
            let rtt = if name == "a" { 0.020 + 0.001 * f64::from(t) } else { 0.030 };
            flows.push(rows::Flow {
                t_s: f64::from(t),
                flow: name.into(),
                goodput_bps: goodput,
                delivery_rate_bps: delivery,
                rtt_s: rtt,
                srtt_s: rtt,
                rttvar_s: 0.001,
                cwnd: 10 * n,
                ssthresh: 2_147_483_647,
                inflight: 8,
                retransmits: 2 * n,
                lost: n,
                delivered: 99 * n,
                ce: 3 * n,
                ece: n,
                pacing_rate_bps: f64::NAN,
                state: "Open".into(),
                out_of_order_bytes: 0,
            });
        }
    }
    let mut limits = Rows::<rows::Limits>::new(Provenance::Exact);
    for t in 1..=10_u32 {
        // `a` up to 4 s by its receive window, then by others in turn; `b`, from 5 s on, a quarter by its buffer.
        let held = |from: u32, to: u32| f64::from(t.clamp(from, to) - from);
        limits.push(rows::Limit {
            t_s: f64::from(t),
            flow: "a".into(),
            busy_s: held(0, 9),
            rwnd_limited_s: held(0, 4),
            sndbuf_limited_s: 0.0,
            cwnd_limited_s: held(4, 6),
            pacing_limited_s: held(6, 7),
            app_limited_s: held(9, 10),
            host_limited_s: held(7, 9),
        });
        if t > 5 {
            limits.push(rows::Limit {
                t_s: f64::from(t),
                flow: "b".into(),
                busy_s: held(5, 10),
                rwnd_limited_s: 0.0,
                sndbuf_limited_s: held(5, 10) / 4.0,
                cwnd_limited_s: f64::NAN,
                pacing_limited_s: f64::NAN,
                app_limited_s: f64::NAN,
                host_limited_s: f64::NAN,
            });
        }
    }
    let mut queues = Rows::<rows::Queues>::new(Provenance::Exact);
    let mut sent = 0;
    for t in 1..=10_u32 {
        // Odd seconds carry 100 packets at 2 ms, even ones 300 at 6 ms.
        let (packets, delay) = if t % 2 == 1 { (100, 0.002) } else { (300, 0.006) };
        sent += packets;
        queues.push(rows::Queue {
            t_s: f64::from(t),
            queue: QUEUE.into(),
            packets: u64::from(t),
            bytes: 1514 * u64::from(t),
            sojourn_min_s: 0.001,
            sojourn_mean_s: delay,
            sojourn_max_s: 2.0 * delay,
            sent_packets: sent,
            sent_bytes: 2_500_000 * u64::from(t),
            marks: 4 * u64::from(t),
            drops: u64::from(t) / 5,
        });
    }
    let mut signals = Rows::<rows::QueueSignals>::new(Provenance::Exact);
    signals.push(rows::Signal {
        t_s: 5.0,
        queue: QUEUE.into(),
        reason: "tail".into(),
        kind: "drop".into(),
        count: 1,
    });
    signals.push(rows::Signal {
        t_s: 8.0,
        queue: QUEUE.into(),
        reason: "early".into(),
        kind: "drop".into(),
        count: 1,
    });
    for (t, reason, count) in [(3.0, "replay", 2), (4.0, "tunnel_ecn", 1), (7.0, "replay", 5)] {
        signals.push(rows::Signal {
            t_s: t,
            queue: "first.down.t-exit".into(),
            reason: reason.into(),
            kind: "drop".into(),
            count,
        });
    }
    let mut pings = Rows::<rows::Pings>::new(Provenance::Exact);
    let nan = f64::NAN;
    for (n, t, rtt, there, back, lost) in [
        (0, 1.0, 0.021, 0.011, 0.010, ""),
        (1, 2.0, 0.023, 0.012, 0.011, ""),
        (2, 3.0, nan, 0.019, nan, "back"),
        (3, 4.0, nan, nan, nan, "there"),
        (4, 9.5, 0.040, 0.014, 0.026, ""),
        (5, 9.9, nan, nan, nan, "late"),
    ] {
        pings.push(rows::Ping {
            t_s: t,
            flow: "ping".into(),
            rtt_s: rtt,
            sequence: n,
            owd_s: there,
            owd_back_s: back,
            lost: lost.into(),
        });
    }
    let mut histograms = Rows::<rows::Histograms>::new(Provenance::Exact);
    for (low, high, count) in [(0.001, 0.002, 50), (0.002, 0.003, 40), (0.009, 0.010, 10)] {
        histograms.push(rows::Bucket {
            subject: QUEUE.into(),
            quantity: "sojourn".into(),
            lo_s: low,
            hi_s: high,
            count,
        });
    }
    for (class, low, high, count) in [
        ("sojourn.l", 0.001, 0.002, 10),
        ("sojourn.c", 0.001, 0.002, 40),
        ("sojourn.c", 0.009, 0.010, 10),
    ] {
        histograms.push(rows::Bucket {
            subject: QUEUE.into(),
            quantity: class.into(),
            lo_s: low,
            hi_s: high,
            count,
        });
    }
    let mut events = Rows::<rows::Events>::new(Provenance::Exact);
    events.push(rows::Event {
        t_s: 5.0,
        what: "start".into(),
        subject: ("phase late").into(),
        detail: "".into(),
    });
    events.push(rows::Event {
        t_s: 5.0,
        what: "start".into(),
        subject: ("flow b").into(),
        detail: "".into(),
    });
    let mut state = Rows::<rows::FlowState>::new(Provenance::Exact);
    for (t, alpha) in [(4.0, 0.5), (6.0, 0.25)] {
        state.push(rows::FlowGauge {
            t_s: t,
            flow: "a".into(),
            name: "alpha".into(),
            value: alpha,
        });
    }
    let mut completions = Rows::<rows::Completions>::new(Provenance::Exact);
    for (t, seconds) in [(1.0, 1.0), (2.0, 4.0), (3.0, f64::NAN)] {
        completions.push(rows::Completion {
            t_s: t,
            flow: "b".into(),
            bytes: 1000,
            duration_s: seconds,
        });
    }
    let engine = EngineId { name: "hand".into(), version: "1".into(), detail: String::new() };
    for (t, seconds) in (1..=10).map(|n| (6.0 + 0.1 * f64::from(n), f64::from(n))) {
        completions.push(rows::Completion {
            t_s: t,
            flow: "a".into(),
            bytes: 1000,
            duration_s: seconds,
        });
    }
    let mut playback = Rows::<rows::Playback>::new(Provenance::Exact);
    for (t, state, mbit) in [
        (0.5, "starting", nan),
        (2.0, "playing", 1.0),
        (4.0, "playing", 2.0),
        (6.0, "stalled", nan),
        (7.0, "playing", 2.0),
        (8.0, "playing", 1.0),
        (9.5, "stalled", nan),
    ] {
        playback.push(rows::Playing {
            t_s: t,
            flow: "a".into(),
            state: state.into(),
            bitrate_bps: mbit * 1e6,
        });
    }
    // Packets that left the queue and packets that arrived, before and after 5 s.
    let mut delays = Rows::<rows::Delays>::new(Provenance::Exact);
    for (from, flow, queue, class, quantity, low, count) in [
        (0.0, "a", QUEUE, "l", "sojourn", 0.001, 10),
        (0.0, "a", QUEUE, "c", "sojourn", 0.003, 10),
        (5.0, "a", QUEUE, "l", "sojourn", 0.001, 30),
        (5.0, "b", QUEUE, "c", "sojourn", 0.005, 20),
        (0.0, "a", "", "", "owd", 0.010, 20),
        (5.0, "a", "", "", "owd", 0.012, 30),
    ] {
        delays.push(rows::DelayBucket {
            from_s: from,
            to_s: from + 5.0,
            flow: flow.into(),
            queue: queue.into(),
            class: class.into(),
            quantity: quantity.into(),
            lo_s: low,
            hi_s: low + 0.001,
            count,
        });
    }
    let tables = vec![
        flows.into_table(),
        limits.into_table(),
        queues.into_table(),
        signals.into_table(),
        pings.into_table(),
        histograms.into_table(),
        delays.into_table(),
        events.into_table(),
        state.into_table(),
        completions.into_table(),
        playback.into_table(),
    ];
    Run { scenario: scenario.into(), engine, tables, unrecorded: vec![] }
}

fn value(run: &Run, text: &str) -> f64 {
    let expression = Expression::parse(text).unwrap_or_else(|e| panic!("{text}: {}", e.message));
    match expression.evaluate(&Frame::new(run)) {
        Ok(verdict) => verdict.value.number,
        Err(error) => panic!("{text}: {error}"),
    }
}

#[test]
fn each_metric_gives_the_number_worked_out_by_hand() {
    let run = run_of(plain());
    for (text, expected) in [
        // The last sample is at 10 s: the window is (6, 9], the samples at 7, 8 (9 is zero and left out).
        ("delivery_rate(a) over last 3s before 1s", 9.9e6),
        ("goodput(a) over last 3s before 1s", 10e6),
        // b sends in the second half only.
        ("goodput(b) over all", 1e6),
        ("goodput(b) during late", 2e6),
        ("goodput(late) during late", 2e6),
        // The window has half of b's first step.
        ("goodput(b) from 4500ms to 5500ms", 1e6),
        ("sum(goodput) during late", 12e6),
        ("sum(goodput, a, b) during late", 12e6),
        ("ratio(goodput, a, b) during late", 5.0),
        ("share(goodput, b) during late", 1.0 / 6.0),
        ("share(goodput, b, a) during late", 1.0 / 6.0),
        // (10 + 2)^2 / (2 (100 + 4)).
        ("jain(goodput) during late", 144.0 / 208.0),
        ("jain(goodput, a, late) during late", 144.0 / 208.0),
        // 21 to 25 ms.
        ("mean(rtt, a) during early", 0.023),
        ("min(rtt, a) during early", 0.021),
        ("max(rtt, a) during early", 0.025),
        ("median(rtt, a) during early", 0.023),
        ("sd(rtt, a) during early", 0.001 * 2.5_f64.sqrt()),
        ("p75(rtt, a) during early", 0.024),
        ("percentile(rtt, a, 75) during early", 0.024),
        // (100*2 + 300*6) / 400 ms; of 1000 packets in (5, 9] the steps 6 and 8 hold 600 at 6 ms.
        ("mean(queue_delay, first.down.qdisc) over all", 0.005),
        ("p50(queue_delay, first.down.qdisc) over all", 0.006),
        ("p25(queue_delay, first.down.qdisc) over all", 0.002),
        ("max(queue_delay_max, first.down.qdisc) over all", 0.012),
        ("mean(queue_length, first.down.qdisc) from 2s to 4s", 3.5),
        // 50 of 100 packets below 2 ms; the 95th is in the middle of the last bucket.
        ("p50(sojourn, first.down.qdisc) over all", 0.002),
        ("p95(sojourn, first.down.qdisc) over all", 0.0095),
        ("mean(sojourn, first.down.qdisc) over all", 0.5 * 0.0015 + 0.4 * 0.0025 + 0.1 * 0.0095),
        // The classes apart: all of l's 10 are in one bucket, of c's 50 the last fifth in another.
        ("max(sojourn.l, first.down.qdisc) over all", 0.002),
        ("p90(sojourn.c, first.down.qdisc) over all", 0.0095),
        // Of one flow: 40 packets in the first bucket, 10 in another; rank 25.
        ("p50(sojourn, a at first.down.qdisc) over all", 0.001 + 0.001 * 25.0 / 40.0),
        ("max(sojourn, a at first.down.qdisc) over all", 0.004),
        ("max(sojourn, a at first.down.qdisc) from 5s to 10s", 0.002),
        ("max(sojourn.c, a at first.down.qdisc) during early", 0.004),
        // A group is its flows.
        ("mean(sojourn, late at first.down.qdisc) during late", 0.0055),
        // All flows in a window: 30 packets and 20; 10 and 10 before.
        ("mean(sojourn, first.down.qdisc) from 5s to 10s", (30.0 * 0.0015 + 20.0 * 0.0055) / 50.0),
        ("min(sojourn.c, first.down.qdisc) from 5s to 10s", 0.005),
        // From the least of the run, 10 ms, on.
        ("mean(packet_owd, a) from 0s to 5s", 0.0105),
        ("max(packet_owd, a) over all", 0.013),
        ("min(pdv, a) over all", 0.0),
        ("min(pdv, a) from 5s to 10s", 0.002),
        ("mean(pdv, a) over all", (20.0 * 0.0005 + 30.0 * 0.0025) / 50.0),
        // A window behind a bracket is for every call in it.
        ("(max(pdv, a) + max(sojourn, a at first.down.qdisc)) during early", 0.001 + 0.004),
        // 2.5 MB each second at 50 Mbit/s: 20 of 50.
        ("utilisation(first.down.qdisc) over all", 0.4),
        ("marks(first.down.qdisc) over all", 40.0),
        ("drops(first.down.qdisc) over all", 2.0),
        ("drops(first.down.qdisc) from 5s to 10s", 1.0),
        ("drops(first.down.qdisc, tail) over all", 1.0),
        ("drops(first.down.qdisc, tail) from 5s to 10s", 0.0),
        ("drops(first.down.qdisc, early) from 5s to 10s", 1.0),
        ("drops(first.down.t-exit, replay) over all", 5.0),
        ("drops(first.down.t-exit) from 3s to 10s", 4.0),
        ("drops(first.down.t-exit, tail) over all", 0.0),
        ("marks(first.down.t-exit) over all", 0.0),
        // Seconds 3 and 4: 100 and 300.
        ("departures(first.down.qdisc) from 2s to 4s", 400.0),
        ("mark_fraction(first.down.qdisc) over all", 40.0 / 2000.0),
        ("ce_fraction(a) over all", 3.0 / 99.0),
        ("loss_rate(a) over all", 0.01),
        ("retransmits(a) from 2s to 5s", 6.0),
        ("rwnd_limited(a) over all", 0.4),
        ("rwnd_limited(a) from 2s to 5s", 2.0 / 3.0),
        ("cwnd_limited(a) from 2s to 5s", 1.0 / 3.0),
        ("pacing_limited(a) over all", 0.1),
        ("host_limited(a) from 7s to 9s", 1.0),
        ("app_limited(a) from 8s to 10s", 0.5),
        ("sndbuf_limited(a) over all", 0.0),
        // Of the five seconds that it ran, whatever the window.
        ("sndbuf_limited(b) over all", 0.25),
        ("sndbuf_limited(b) from 3s to 7s", 0.25),
        ("mean(rtt, ping) over all", (0.021 + 0.023 + 0.040) / 3.0),
        ("mean(state.alpha, a) over all", 0.375),
        // Above 25.5 ms from the value at 6 s on, each standing for the second before it.
        ("time_above(rtt, a, 25500us) over all", 5.0),
        ("longest_above(queue_delay, first.down.qdisc, 5ms) over all", 1.0),
        // 1, 2, 3 and 4 packets, then more.
        ("longest_below(queue_length, first.down.qdisc, 5) over all", 4.0),
        ("longest_below(queue_length, first.down.qdisc, 5) from 2s to 10s", 2.0),
        ("longest_below(queue_length, first.down.qdisc, 1) over all", 0.0),
        ("time_above(queue_delay, first.down.qdisc, 5ms) over all", 5.0),
        ("spike(rtt, a, 20ms) over all", 0.010),
        ("spike(rtt, a, 1s) over all", 0.0),
        ("geomean(completion_time, b) over all", 2.0),
        ("completed(b) over all", 2.0),
        ("unfinished(b) over all", 1.0),
        // Of ten completion times the fifth and the tenth (rank ⌈p·n⌉).
        ("median(completion_time, a) over all", 5.0),
        ("p95(completion_time, a) over all", 10.0),
        ("completed(a) from 6s to 6500ms", 5.0),
        ("mean(owd, ping) over all", (0.011 + 0.012 + 0.019 + 0.014) / 4.0),
        ("max(owd_back, ping) over all", 0.026),
        // 11, 12, 19, lost, 14: one step of 1, one of 7 ms.
        ("mean(ipdv, ping) over all", 0.004),
        ("max(ipdv, ping) from 0s to 2s", 0.001),
        ("mean(ipdv_back, ping) over all", 0.001),
        ("max(ipdv_rtt, ping) over all", 0.002),
        // Two of the five that were not late.
        ("loss_rate(ping) over all", 0.4),
        ("bitrate(a) over all", (2.0 + 4.0 + 2.0 + 1.5) / 6.5 * 1e6),
        ("bitrate(a) from 7500ms to 8500ms", 1.5e6),
        ("stalls(a) over all", 2.0),
        ("stalls(a) from 7s to 9s", 0.0),
        ("stall_time(a) over all", 1.5),
        ("stall_time(a) from 6500ms to 9s", 0.5),
        ("switches(a) over all", 2.0),
        ("startup_delay(a)", 1.5),
        // 21, 22, …: above 24.5 ms first at 5 s, below it at once.
        ("first_above(rtt, a, 24500us) over all", 5.0),
        ("first_above(rtt, a, 24500us) from 2s to 9s", 3.0),
        ("first_below(rtt, a, 24500us) over all", 1.0),
        // 2, 6, 2, 6, … ms: sd² = 4·10/9, mean 4.
        ("oscillation(queue_delay, first.down.qdisc) over all", (40.0_f64 / 9.0).sqrt() / 4.0),
        // A value a second, alternately 2 and 6 ms.
        ("min_1s(queue_delay, first.down.qdisc) over all", 0.002),
        ("max_1s(queue_delay, first.down.qdisc) over all", 0.006),
        ("spread_1s(queue_delay, first.down.qdisc) over all", 0.0),
        ("period(queue_delay, first.down.qdisc) over all", 2.0),
        // 2 s for 4 s; 10 Mbit/s alone and 2 against a competitor; nothing got worse.
        ("harm_less_is_better(2s, 4s)", 0.5),
        ("harm_more_is_better(goodput(a) during late, goodput(b) during late)", 0.8),
        ("harm_more_is_better(goodput(b), goodput(a)) during late", 0.0),
        ("harm_less_is_better(min(rtt, a), max(rtt, a)) during early", 4.0 / 25.0),
        ("2 * mean(rtt, b) - 30ms + -(10ms) during late", 0.020),
        ("mean(rtt, b) / 10ms during late", 3.0),
    ] {
        let number = value(&run, text);
        assert!(
            (number - expected).abs() <= 1e-9 * expected.abs().max(1e-3),
            "{text}: {number}, not {expected}"
        );
    }
}

#[test]
fn the_window_is_the_steady_one_or_the_last_third() {
    let mut s = plain();
    s.duration = Span::from_secs(9);
    let bounds = |s: &Scenario| {
        let run = run_of(s.clone());
        Frame::new(&run).bounds(&WindowSpec::Default, "a").unwrap()
    };
    // A third of 12 s up to one second before the last sample at 10 s.
    s.duration = Span::from_secs(12);
    assert_eq!(bounds(&s), Bounds { from: 5.0, to: 9.0 });
    // A second of a short run would be most of what is behind slow start: it is a tenth.
    s.duration = Span::from_secs(5);
    let short = bounds(&s);
    assert!((short.to - 9.5).abs() < 1e-9 && (short.length() - 5.0 / 3.0).abs() < 1e-9);
    // A run that ends before that time is looked at as a whole, and not before its beginning.
    s.duration = Span::from_secs(60);
    assert_eq!(bounds(&s), Bounds { from: 0.0, to: 10.0 });
    s.duration = Span::from_secs(9);
    let last = WindowBounds::Last { length: Span::from_secs(4), before_end: Span::from_secs(2) };
    s.windows = vec![Window { name: "steady".into(), bounds: last }];
    assert_eq!(bounds(&s), Bounds { from: 4.0, to: 8.0 });
    let between = WindowBounds::Between { from: At::from_secs(1), to: At::from_secs(2) };
    s.windows = vec![Window { name: "steady".into(), bounds: between }];
    assert_eq!(bounds(&s), Bounds { from: 1.0, to: 2.0 });
}

#[test]
fn utilisation_follows_the_rate() {
    let mut s = plain();
    let element = QUEUE.to_owned();
    s.events = vec![Event {
        name: "step".into(),
        when: at(5),
        actions: vec![Action::Rate { element, rate: Rate::from_mbit(20) }],
    }];
    let run = run_of(s.clone());
    // 200 Mbit over 5 s at 50 and 5 s at 20 Mbit/s.
    assert!((value(&run, "utilisation(first.down.qdisc) over all") - 200.0 / 350.0).abs() < 1e-12);
    assert!((value(&run, "utilisation(first.down.qdisc) from 6s to 8s") - 1.0).abs() < 1e-12);
    assert!((value(&run, "utilisation(first.down.qdisc) from 1s to 3s") - 0.4).abs() < 1e-12);
    // A queue with an unstated rate of its discipline's own has no utilisation.
    for element in &mut s.hops[0].down {
        if let Kind::Queue(queue) = &mut element.kind {
            queue.shaper = Shaper::Own { rate: None };
        }
    }
    s.events.clear();
    let run = run_of(s);
    let expression = Expression::parse("utilisation(first.down.qdisc) over all").unwrap();
    let error = expression.evaluate(&Frame::new(&run)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "utilisation(first.down.qdisc): there is no sample in the window"
    );
}

/// 2.5 MB a second at 20 Mbit/s: never more than the rate, wherever a window begins and ends between samples.
#[test]
fn a_saturated_queue_is_used_by_one_in_every_window() {
    let mut s = plain();
    for element in &mut s.hops[0].down {
        if let Kind::Queue(queue) = &mut element.kind {
            queue.shaper = Shaper::Line { rate: Rate::from_mbit(20) };
        }
    }
    let run = run_of(s);
    for from in 0..40 {
        for to in from + 4..=40 {
            let (from, to) = (f64::from(from) / 4.0, f64::from(to) / 4.0);
            let text = format!("utilisation(first.down.qdisc) from {from}s to {to}s");
            assert_eq!(value(&run, &text), 1.0, "{text}");
        }
    }
}

/// A packet that was on the line when a window began brings 1514 bytes of before. More than a packet is no such thing.
#[test]
fn what_was_carried_before_the_window_is_no_more_than_a_packet() {
    for (more, expected) in [(1_000, 1.0), (100_000, 2_600_000.0 / 2_500_000.0)] {
        let mut s = plain();
        for element in &mut s.hops[0].down {
            if let Kind::Queue(queue) = &mut element.kind {
                queue.shaper = Shaper::Line { rate: Rate::from_mbit(20) };
            }
        }
        let mut run = run_of(s);
        let mut queues = Rows::<rows::Queues>::new(Provenance::Exact);
        for (t, bytes) in [(1, 2_500_000), (2, 5_000_000 + more)] {
            queues.push(rows::Queue {
                t_s: f64::from(t),
                queue: QUEUE.into(),
                packets: 1,
                bytes: 1514,
                sojourn_min_s: 0.0,
                sojourn_mean_s: 0.0,
                sojourn_max_s: 0.0,
                sent_packets: 1,
                sent_bytes: bytes,
                marks: 0,
                drops: 0,
            });
        }
        run.tables.retain(|t| t.schema().name != "queues");
        run.tables.push(queues.into_table());
        let used = value(&run, "utilisation(first.down.qdisc) from 1s to 2s");
        assert!((used - expected).abs() < 1e-12, "{more}: {used}");
    }
}

/// The same window whatever is measured, but for what is of the whole run by its nature.
#[test]
fn every_metric_looks_in_the_default_window_or_says_otherwise() {
    let mut s = plain();
    let window = WindowBounds::Between { from: At::from_secs(5), to: At::from_secs(10) };
    s.windows = vec![Window { name: "steady".into(), bounds: window }];
    let run = run_of(s);
    // Packets of the second half alone, though the first has others.
    assert!((value(&run, "mean(packet_owd, a)") - 0.0125).abs() < 1e-12);
    assert!((value(&run, "mean(sojourn, first.down.qdisc)") - 0.0031).abs() < 1e-12);
    let windows = |text: &str| -> Vec<(f64, f64)> {
        let found = Expression::parse(text).unwrap().windows(&Frame::new(&run));
        found.into_iter().map(|b| (b.from, b.to)).collect()
    };
    for text in
        ["goodput(a)", "jain(goodput)", "p99(sojourn, a at first.down.qdisc)", "p99(rtt, a)"]
    {
        assert_eq!(windows(text), [(5.0, 10.0)], "{text}");
    }
    for text in ["convergence_time(goodput)", "startup_delay(a)", "p99(packet_rtt, a)"] {
        assert_eq!(windows(text), [(0.0, 10.0)], "{text}");
    }
    assert_eq!(
        windows("harm_more_is_better(goodput(a) from 1s to 2s, goodput(a))"),
        [(1.0, 2.0), (5.0, 10.0)]
    );
    assert_eq!(windows("goodput(b) during never"), []);
}

/// Flows that end at other times are measured up to a second before their own ends.
#[test]
fn flows_that_end_apart_have_windows_of_their_own() {
    let mut run = run_of(plain());
    let windows =
        |run: &Run, text: &str| Expression::parse(text).unwrap().windows(&Frame::new(run));
    assert_eq!(windows(&run, "sum(goodput, a, b)").len(), 1);
    let queues = run.tables.iter().position(|t| t.schema().name == "flows").unwrap();
    let mut flows = Rows::<rows::Flows>::new(Provenance::Exact);
    for (flow, last) in [("a", 10), ("b", 7)] {
        flows.push(rows::Flow { t_s: f64::from(last), flow: flow.into(), ..flow_row() });
    }
    run.tables[queues] = flows.into_table();
    let ends: Vec<f64> = windows(&run, "sum(goodput, a, b)").iter().map(|b| b.to).collect();
    assert_eq!(ends, [9.0, 6.0]);
}

/// `a` and `b` have 15 and 5 Mbit/s alternately, 7 s each: over 14 s, one turn of each, they are even.
#[test]
fn alternating_flows_are_reported_next_to_a_jain_of_one() {
    let mut s = plain();
    s.duration = Span::from_secs(60);
    s.sample_interval = Span::from_millis(500);
    let window = WindowBounds::Between { from: At::from_secs(28), to: At::from_secs(42) };
    s.windows = vec![Window { name: "steady".into(), bounds: window }];
    let mut run = run_of(s);
    let mut flows = Rows::<rows::Flows>::new(Provenance::Exact);
    for half in 1..=120_u32 {
        let is_first = (half - 1) / 14 % 2 == 0;
        for (flow, mbit) in
            [("a", if is_first { 15.0 } else { 5.0 }), ("b", if is_first { 5.0 } else { 15.0 })]
        {
            let t_s = f64::from(half) / 2.0;
            flows.push(rows::Flow {
                t_s,
                flow: flow.into(),
                goodput_bps: mbit * 1e6,
                ..flow_row()
            });
        }
    }
    run.tables.retain(|t| t.schema().name != "flows");
    run.tables.push(flows.into_table());
    assert!((value(&run, "jain(goodput)") - 1.0).abs() < 1e-9);
    let swing = swing(&Frame::new(&run)).expect("they alternate");
    assert_eq!(
        (swing.flows.as_slice(), swing.alternate),
        (&["a".to_owned(), "b".to_owned()][..], true)
    );
    assert!((swing.period - 14.0).abs() < 0.01 && (swing.held() - 1.0).abs() < 0.01, "{swing:?}");
    // Over the whole run, more than four of them, the means stand.
    std::sync::Arc::make_mut(&mut run.scenario).windows[0].bounds =
        WindowBounds::Between { from: At::from_secs(0), to: At::from_secs(60) };
    assert_eq!(super::swing(&Frame::new(&run)), None);
}

/// A row of `flows` with numbers that do not matter.
fn flow_row() -> rows::Flow<'static> {
    rows::Flow {
        t_s: 0.0,
        flow: "".into(),
        goodput_bps: 1e6,
        delivery_rate_bps: 1e6,
        rtt_s: 0.02,
        srtt_s: 0.02,
        rttvar_s: 0.001,
        cwnd: 10,
        ssthresh: 2_147_483_647,
        inflight: 8,
        retransmits: 0,
        lost: 0,
        delivered: 1,
        ce: 0,
        ece: 0,
        pacing_rate_bps: f64::NAN,
        state: "Open".into(),
        out_of_order_bytes: 0,
    }
}

#[test]
fn flows_converge_when_their_shares_stay_even() {
    let mut s = plain();
    s.duration = Span::from_secs(20);
    let mut run = run_of(s);
    let mut flows = Rows::<rows::Flows>::new(Provenance::Exact);
    for t in 1..=20_u32 {
        // b starts at 5 s and has its half from 9 s on, but for a lapse in the twelfth second.
        for name in ["a", "b"] {
            if name == "b" && t <= 5 {
                continue;
            }
            let even = t > 9 && t != 12;
            let rate = match (name, even) {
                (_, true) => 5e6,
                ("a", false) => 9e6,
                _ => 1e6,
            };
            flows.push(rows::Flow {
                t_s: f64::from(t),
                flow: name.into(),
                goodput_bps: rate,
                delivery_rate_bps: rate,
                rtt_s: 0.02,
                srtt_s: 0.02,
                rttvar_s: 0.001,
                cwnd: 1,
                ssthresh: 1,
                inflight: 1,
                retransmits: 1,
                lost: 1,
                delivered: 1,
                ce: 1,
                ece: 1,
                pacing_rate_bps: f64::NAN,
                state: "Open".into(),
                out_of_order_bytes: 0,
            });
        }
    }
    run.tables[0] = flows.into_table();
    // Even for good from the second after the twelfth: 12 − 5.
    assert_eq!(value(&run, "convergence_time(goodput, a, b)"), 7.0);
}

/// Of no flows there is no second at which they are even, and the search for it ends.
#[test]
fn convergence_of_no_flows_is_unknown() {
    let mut run = run_of(plain());
    std::sync::Arc::make_mut(&mut run.scenario).flows.retain(|flow| flow.traffic.tcp().is_none());
    for of in ["goodput", "delivery_rate"] {
        let expression = Expression::parse(&format!("convergence_time({of})")).unwrap();
        assert!(expression.evaluate(&Frame::new(&run)).is_err());
    }
}

#[test]
fn verdicts_say_what_was_compared() {
    let run = run_of(plain());
    let frame = Frame::new(&run);
    let verdict =
        |text: &str| Expression::parse(text).unwrap().evaluate(&frame).unwrap().to_string();
    assert_eq!(verdict("ratio(goodput, a, b) >= 10 during late"), "5 >= 10: failed");
    assert_eq!(verdict("mean(rtt, a) < 30ms during early"), "23 ms < 30 ms: passed");
    assert_eq!(verdict("goodput(a) > 9mbit over all"), "10 Mbit/s > 9 Mbit/s: passed");
    assert_eq!(verdict("drops(first.down.qdisc) == 2 over all"), "2 packets == 2 packets: passed");
    assert_eq!(
        verdict("goodput(a) > 9mbit over all and ratio(goodput, a, b) < 2 during late"),
        "5 < 2: failed"
    );
    assert_eq!(verdict("p99(sojourn, first.down.qdisc) over all"), "9.9 ms");
}

#[test]
fn what_cannot_be_measured_is_an_error_not_a_number() {
    let run = run_of(plain());
    let frame = Frame::new(&run);
    for (text, message) in [
        ("mean(rtt, b) during early", "mean(rtt, b): there is no sample in the window"),
        // A quantity that the engine does not report is not zero.
        ("cwnd_limited(b)", "cwnd_limited(b): there is no sample in the window"),
        ("rwnd_limited(b) during early", "rwnd_limited(b): there is no sample in the window"),
        ("goodput(nobody)", "goodput(nobody): there is no flow called \"nobody\""),
        (
            "mean(state.alpah, a)",
            "mean(state.alpah, a): a has no number of its own called \"alpah\" (did you mean \"state.alpha\"? it has alpha)",
        ),
        (
            "max(state.prob, a)",
            "max(state.prob, a): a has no number of its own called \"prob\" (it has alpha)",
        ),
        (
            "mean(state.alpha, b)",
            "mean(state.alpha, b): b has no number of its own called \"alpha\" (it has none at all)",
        ),
        ("1 / (goodput(a) - goodput(a))", "divided by zero"),
        ("startup_delay(b)", "startup_delay(b): there is no sample in the window"),
        ("first_above(rtt, a, 1s)", "first_above(rtt, a, 1s): there is no sample in the window"),
        (
            "harm_more_is_better(0s, 1s)",
            "harm_more_is_better(0s, 1s): there is nothing alone to measure harm by",
        ),
        ("mean(rtt, a) during never", "mean(rtt, a): there is no sample in the window"),
        (
            "p99(sojourn, a at first.down.qdisc) from 4s to 10s",
            "p99(sojourn, a at first.down.qdisc): the delays of a are known from 0 s to 5 s together, and this \
             window has a part of that: it was not known when the run was made (name it in a [[window]] or a check of \
             the experiment and run it again)",
        ),
        (
            "p99(sojourn, a)",
            "p99(sojourn, a): say in which queue: a at first.down.qdisc, a at second.down.qdisc",
        ),
        ("p99(sojourn, ghost)", "p99(sojourn, ghost): there is no flow or queue called \"ghost\""),
        (
            "p99(sojourn.v, a at first.down.qdisc) over all",
            "p99(sojourn.v, a at first.down.qdisc): there is no sample in the window",
        ),
        ("p99(pdv, b) over all", "p99(pdv, b): there is no sample in the window"),
    ] {
        let Ok(expression) = Expression::parse(text) else {
            assert!(text.starts_with('1'), "{text}");
            continue;
        };
        assert_eq!(expression.evaluate(&frame).unwrap_err().to_string(), message);
    }
}

#[test]
fn mistakes_in_expressions_are_pointed_at() {
    for (text, at, message) in [
        ("", 0..0, "the expression ends where a metric or a number should stand"),
        ("mean(rtt a)", 9..10, "\",\" is missing here"),
        ("mean(rrt, a)", 5..8, "\"rrt\" is not a quantity"),
        ("mean(rtt)", 8..9, "mean is not given enough"),
        ("mean(rtt, a, b)", 11..12, "mean is given too much"),
        ("rtt(a) > 1ms", 0..3, "rtt is a quantity, not a metric"),
        ("ratio(rtt, a, b)", 6..9, "\"rtt\" is not a rate"),
        ("goodput(a) > 0 < 2", 15..16, "this does not belong to the expression"),
        ("mean(rtt, a) + goodput(a)", 15..25, "a rate cannot be added to a time"),
        ("harm_less_is_better(1s, 2mbit)", 24..29, "a time is needed here, not a rate"),
        ("harm_less_is_better(1s)", 22..23, "harm_less_is_better is not given enough"),
        ("startup_delay(a) over all", 17..25, "startup_delay looks at the whole run"),
        ("mean(rtt, a) * mean(rtt, a)", 15..27, "a time cannot be multiplied with a time"),
        ("time_above(rtt, a, 5mbit)", 19..24, "a time is needed here, not a rate"),
        ("percentile(rtt, a, 101)", 19..22, "a percentage is from 0 to 100"),
        ("p99(packet_rtt, q) over all", 19..27, "p99 looks at the whole run"),
        ("mean(rtt, a at q)", 12..14, "\")\" is missing here"),
        ("p99(sojourn, a at)", 17..18, "a name is missing here"),
        ("sd(sojourn, q)", 0..2, "sojourn is known as a histogram only, which has no sd"),
        ("sd(sojourn.l, q)", 0..2, "sojourn.l is known as a histogram only, which has no sd"),
        (
            "time_above(sojourn.l, q, 1ms)",
            0..10,
            "sojourn.l is known as a histogram only, which has no time_above",
        ),
        ("mean(sojourn., q)", 5..13, "\"sojourn.\" is not a quantity"),
        ("goodput(a) over last 5", 21..22, "a time is missing here"),
        ("goodput(a) from 5s to 4s", 11..24, "a window ends after it starts"),
        ("goodput(a) and goodput(b) > 0", 0..10, "what \"and\" joins are comparisons"),
        ("3 > 2 during x", 6..14, "nothing here takes this window"),
        ("goodput(\"a) > 1", 8..15, "a quote without its end"),
        ("goodput(a) > 10mbits", 13..20, "\"10mbits\" is not a number with a unit"),
        ("goodput(a) ? 1", 11..12, "\"?\" has no meaning here"),
    ] {
        match Expression::parse(text) {
            Ok(_) => panic!("{text} was accepted"),
            Err(error) => {
                let message = message.replace("p99 looks", "percentile looks");
                assert_eq!((error.at, error.message), (at, message), "{text}");
            }
        }
    }
    let deep = format!("{}1{}", "(".repeat(1000), ")".repeat(1000));
    for (old, new) in functions::RENAMED {
        let error = Expression::parse(&format!("{old}(rtt, a)")).unwrap_err();
        assert_eq!(
            (error.at, error.message),
            (0..old.len(), format!("`{old}` is called `{new}` now"))
        );
        assert!(Expression::parse(&error.help.replace("QUANTITY, FLOW|QUEUE", "rtt, a")).is_ok());
    }
    assert_eq!(Expression::parse(&deep).unwrap_err().message, "this is nested too deeply");
}

#[test]
fn every_metric_is_in_the_reference_and_none_is_named_twice() {
    let text = reference();
    for f in FUNCTIONS {
        assert!(text.contains(&format!("`{}(", f.name)), "{}", f.name);
        assert_eq!(FUNCTIONS.iter().filter(|g| g.name == f.name).count(), 1, "{}", f.name);
        // Each has a number worked out by hand here.
        assert!(include_str!("tests.rs").contains(&format!("{}(", f.name)), "{}", f.name);
        assert!(
            Quantity::named(f.name).is_none_or(|q| matches!(q.name, "delivery_rate" | "goodput"))
        );
    }
}

#[test]
fn the_summary_is_what_the_metrics_say() {
    let mut s = plain();
    let window = WindowBounds::Between { from: At::from_secs(5), to: At::from_secs(10) };
    s.windows = vec![Window { name: "steady".into(), bounds: window }];
    let run = run_of(s);
    let frame = Frame::new(&run);
    let summary = summary(&frame);
    let names: Vec<&str> = summary.flows.iter().map(|f| f.flow.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    let b = &summary.flows[1];
    assert_eq!(b.goodput_bps, Some(2e6));
    assert_eq!(b.share, Some(1.0 / 6.0));
    assert_eq!(b.rtt_mean_s, Some(0.03));
    assert_eq!(b.retransmits, Some(10.0));
    assert_eq!(
        b.delivery_rate_bps,
        rates::rate(&frame, RateOf::DeliveryRate, "b", &WindowSpec::Default)
    );
    let [queue] = summary.queues.as_slice() else { panic!("{:?}", summary.queues) };
    assert_eq!(queue.queue, QUEUE);
    assert_eq!((queue.marks, queue.drops), (Some(20.0), Some(1.0)));
    assert!((queue.utilisation.unwrap() - 0.4).abs() < 1e-12);
    // Steps 6 to 10: 300, 100, 300, 100, 300 packets.
    assert!(
        (queue.delay_mean_s.unwrap() - (900.0 * 6.0 + 200.0 * 2.0) / 1100.0 / 1000.0).abs() < 1e-12
    );
    assert!(!matches!(run.scenario.flows[0].traffic, Traffic::Ping(_)));
}

/// Windows that end before the last sample are placed by a flow's stop and by the end of the run; phases that wait are
/// left to the engine.
#[test]
fn windows_known_before_the_run_cut_it() {
    let mut s = plain();
    let seconds = |s: &Scenario, flow: usize| -> Vec<f64> {
        subjects(s)[flow].edges.iter().map(|e| *e as f64 / 1e9).collect()
    };
    // The phase `early` to 5 s; the default window, a third of ten seconds up to 9 s.
    let default = 9.0 - 10.0 / 3.0;
    let near = |a: &[f64], b: &[f64]| {
        assert!(a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9), "{a:?}");
    };
    near(&seconds(&s, 0), &[0.0, 5.0, default, 9.0, 10.0]);
    let last = WindowBounds::Last { length: Span::from_secs(2), before_end: Span::from_secs(1) };
    s.windows = vec![Window { name: "steady".into(), bounds: last }];
    s.flows[1].stop = Some(At::from_secs(8));
    near(&seconds(&s, 0), &[0.0, 5.0, 7.0, 9.0, 10.0]);
    near(&seconds(&s, 1), &[0.0, 5.0, 7.0, 9.0, 10.0]);
    s.checks = vec![Check {
        name: None,
        that: "p99(pdv, a) < 5ms over last 3s and goodput(a) from 1s to 30s > 0".into(),
    }];
    near(&seconds(&s, 0), &[0.0, 1.0, 5.0, 7.0, 9.0, 10.0]);
    near(&seconds(&s, 1), &[0.0, 1.0, 5.0, 7.0, 8.0, 9.0, 10.0]);
}

/// Of a group losses, marks and repeats are those of all its flows together, each counted from when it starts.
#[test]
fn a_group_is_its_flows_together() {
    let mut s = plain();
    s.flows[0].group = Some("late".into());
    let run = run_of(s);
    let of = |metric: &str, flow: &str| value(&run, &format!("{metric}({flow}) over all"));
    assert_eq!(of("retransmits", "late"), of("retransmits", "a") + of("retransmits", "b"));
    for metric in ["loss_rate", "ce_fraction"] {
        let (a, b, both) = (of(metric, "a"), of(metric, "b"), of(metric, "late"));
        assert!(a.min(b) <= both && both <= a.max(b), "{metric}: {a} {b} {both}");
    }
}

/// Of few flows all are recorded per flow; of many those that ask, by their setting or in a check, by the flow's name or its
/// group's. The others are together. One-way delays of no window are a histogram of their own; RTTs always are.
#[test]
fn flows_are_recorded_per_flow_if_they_are_few_or_asked_for() {
    let mut s = plain();
    let names = |s: &Scenario| -> Vec<String> {
        subjects(s).iter().map(|subject| subject.name.to_owned()).collect()
    };
    let check = |that: &str| vec![Check { name: None, that: that.into() }];
    assert_eq!(names(&s), ["a", "b", "ping"]);
    s.flows[1].delays = Some(false);
    assert_eq!(names(&s), ["a", "ping", ""]);
    s.flows[1].delays = None;
    let one = s.flows[0].clone();
    s.flows.extend((3..FEW).map(|i| Flow { name: format!("f-{i}"), ..one.clone() }));
    assert_eq!((s.flows.len(), names(&s).len()), (FEW, FEW));
    s.flows.push(Flow { name: "last".into(), group: Some("late".into()), ..one });
    assert_eq!(names(&s), [""]);
    let [rest] = subjects(&s).try_into().unwrap();
    assert!(rest.flows.iter().copied().eq(0..=FEW));
    s.flows[3].delays = Some(true);
    assert_eq!(names(&s), ["f-3", ""]);
    for (that, wanted) in [
        ("p99(sojourn, first.down.qdisc) < 1s and mean(packet_rtt, a) < 1s", &["f-3", ""][..]),
        ("p99(pdv, a) < 1s and goodput(b) > 0", &["a", "f-3", ""]),
        (
            "1s > 2 * p99(sojourn.l, late at first.down.qdisc) during early",
            &["b", "f-3", "last", ""],
        ),
        ("mean(packet_owd, ping) < 1s", &["ping", "f-3", ""]),
    ] {
        s.checks = check(that);
        assert_eq!(names(&s), wanted, "{that}");
    }
}

/// A queue's delays in a window are those of all its flows, recorded per flow or not; for a flow that was not recorded
/// the error says how to have them, and not that there was no packet.
#[test]
fn delays_that_were_not_recorded_per_flow_are_asked_for_by_name() {
    let mut scenario = plain();
    let one = scenario.flows[0].clone();
    scenario.flows.extend((3..=FEW).map(|i| Flow { name: format!("f-{i}"), ..one.clone() }));
    scenario.flows[3].delays = Some(false);
    let mut run = run_of(scenario);
    let mut delays = Rows::<rows::Delays>::new(Provenance::Exact);
    for (flow, low, count) in [("a", 0.001, 30), ("", 0.005, 20)] {
        delays.push(rows::DelayBucket {
            from_s: 5.0,
            to_s: 10.0,
            flow: flow.into(),
            queue: QUEUE.into(),
            class: "".into(),
            quantity: "sojourn".into(),
            lo_s: low,
            hi_s: low + 0.001,
            count,
        });
    }
    run.tables.retain(|t| t.schema().name != "delays");
    run.tables.push(delays.into_table());
    for (of, mean) in [(QUEUE.to_owned(), 0.0031), (format!("a at {QUEUE}"), 0.0015)] {
        let mean_of = value(&run, &format!("mean(sojourn, {of}) from 5s to 10s"));
        assert!((mean_of - mean).abs() < 1e-12, "{of}: {mean_of}");
    }
    let part = Expression::parse(&format!("p99(sojourn, {QUEUE}) from 6s to 9s")).unwrap();
    let error = part.evaluate(&Frame::new(&run)).unwrap_err();
    assert!(error.message.starts_with("the delays of a are known from 5 s to 10 s together"));
    let many = "of more than 64 flows only those are that ask for it, or that a check asks for";
    for (text, flow, why, place) in [
        ("p99(sojourn, late at first.down.qdisc)", "b", many, "[[flow]]"),
        ("mean(packet_owd, ping)", "ping", many, "[[flow]] or [ping]"),
        ("p99(pdv, f-3)", "f-3", "its [[flow]] says `delays = false`", "[[flow]]"),
    ] {
        let error = Expression::parse(text).unwrap().evaluate(&Frame::new(&run)).unwrap_err();
        let expected = format!("the delays of {flow} were not recorded per flow: {why}");
        assert_eq!(error.message, expected);
        let help = format!("write `delays = true` in its {place} and run it again");
        assert_eq!(error.help, Some(help));
    }
}
