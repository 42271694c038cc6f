//! What a pencil says of simple runs, and what the simulator does.
//!
//! Throughout: a full segment is 1448 bytes of payload in an IP packet of 1500, 1514 bytes to a queue; hosts
//! add up to 6 µs of jitter to each packet; a bucket of HTB holds 1600 bytes.

use crate::bench::{
    JITTER, NETEM, PAYLOAD, QUEUE, buckets, count_at, counts, event, mean_between, mean_of,
    over_a_line, ping, queue_mut, rows_of, run, series, table, total, udp,
};
use sojourn_model::{Action, Kind, Scenario, Shaper, Side, Traffic, Udp};
use sojourn_results::Run;
use sojourn_sim::dumbbell::Dumbbell;
use sojourn_units::{Ecn, Rate, Span};

fn one(cc: &str, qdisc: &str) -> Dumbbell {
    Dumbbell { ccs: vec![cc.to_owned()], qdisc: qdisc.to_owned(), ..Dumbbell::default() }
}

/// No TCP at all: a probe each `interval` on a path of 20 ms at `rate`.
fn idle(rate: Rate, interval: Span) -> Scenario {
    let d = Dumbbell { rate, ping: false, duration: Span::from_secs(2), ..one("cubic", "pfifo") };
    let mut s = d.scenario();
    s.flows = vec![d.flow("ping", ping(interval))];
    s
}

/// An unresponsive load of full frames at 60 mbit/s on the wire into 50 mbit/s, and nothing else.
fn overload(qdisc: &str, step: Span) -> Scenario {
    let d = Dumbbell { duration: Span::from_secs(1), ..one("cubic", qdisc) };
    let mut s = d.scenario();
    // 1472 bytes of payload are 1514 on the wire.
    let payload = Rate::from_bits_per_sec(60_000_000 / 1514 * 1472);
    s.flows = vec![d.flow("load", udp(payload))];
    s.sample_interval = step;
    s
}

fn rtts(run: &Run, flow: &str) -> Vec<(f64, f64)> {
    series(run, "pings", "rtt_s", flow)
}

/// 50 mbit/s · 1448/1514 = 47.820 Mbit/s: pfifo's 1000 packets are 242 ms, CUBIC gives up 30 % of its window
/// on a loss, so of 262 ms in flight 184 ms stay, more than the path's 20: the queue never runs empty.
#[test]
fn one_cubic_flow_fills_a_fifo() {
    for rtt in [1, 20, 80] {
        let d = Dumbbell { rtt: Span::from_millis(rtt), ..one("cubic", "pfifo limit 1000") };
        let run = run(&d.scenario());
        let goodput = mean_between(&series(&run, "flows", "goodput_bps", "cubic-1"), 10.0, 60.0);
        let expected = 50e6 * PAYLOAD;
        assert!((goodput / expected - 1.0).abs() < 0.002, "{goodput} at {rtt} ms");
        assert!((expected / 1e6 - 47.820).abs() < 0.001);
    }
}

/// On an idle path: the two delays and the jitter of the two hosts. HTB lets a packet that finds it idle go at once; a
/// line takes 98 · 8 / 1 mbit/s = 784 µs for a probe each way.
#[test]
fn a_probe_on_an_idle_path_takes_the_base_rtt() {
    let each = Span::from_millis(200);
    for mbit in [1, 50, 1000] {
        let run = run(&idle(Rate::from_mbit(mbit), each));
        let rtts = rtts(&run, "ping");
        assert_eq!(rtts.len(), 11, "at 0, 0.2, … 2 s");
        for (_, rtt) in &rtts[..10] {
            assert!((0.020..=0.020 + JITTER).contains(rtt), "{rtt} at {mbit} mbit");
        }
    }
    let mut s = idle(Rate::from_mbit(1), each);
    over_a_line(&mut s, Rate::from_mbit(1));
    for (_, rtt) in &rtts(&run(&s), "ping")[..10] {
        let expected = 0.020 + 2.0 * 784e-6;
        assert!((expected..=expected + JITTER).contains(rtt), "{rtt}");
    }
}

/// SYN and SYN-ACK are 74 bytes, which HTB lets go at once and a line of 1 mbit/s takes 592 µs for. So it is
/// with the first segment: HTB takes 12.1 ms for it only afterwards, when it is on its way; a line first, and
/// then 528 µs for its ACK of 66 bytes. The handshake is the shortest that there is.
#[test]
fn the_shortest_rtt_of_tcp_is_base_and_what_the_shaper_adds() {
    let d = Dumbbell { rate: Rate::from_mbit(1), ping: false, ..one("cubic", "fq_codel") };
    let mut s = Dumbbell { duration: Span::from_secs(5), ..d }.scenario();
    s.sample_interval = Span::from_millis(1);
    let first_and_least = |s: &Scenario| {
        let run = run(s);
        let rtts = series(&run, "flows", "rtt_s", "cubic-1");
        let first = rtts.iter().map(|r| r.1).find(|r| !r.is_nan()).expect("a sample");
        (first, buckets(&run, "cubic-1", "rtt")[0])
    };
    // The sender reads a clock in microseconds.
    let near = |rtt: f64, base: f64| (base - 1e-6..base + JITTER + 1e-6).contains(&rtt);
    let touches = |b: (f64, f64, u64), base: f64| b.0 <= base + JITTER && base < b.1;

    let (first, least) = first_and_least(&s);
    assert!(near(first, 0.020) && touches(least, 0.020), "{first}, {least:?}");

    over_a_line(&mut s, Rate::from_mbit(1));
    let (handshake, segment) = (0.020 + 2.0 * 592e-6, 0.020 + 12_112e-6 + 528e-6);
    let run = run(&s);
    let rtts = series(&run, "flows", "rtt_s", "cubic-1");
    let first = rtts.iter().map(|r| r.1).find(|r| !r.is_nan()).expect("a sample");
    let all = buckets(&run, "cubic-1", "rtt");
    assert!(near(first, handshake), "{first}");
    assert!(touches(all[0], handshake) && all[0].2 == 1, "{:?}", all[0]);
    assert!(touches(all[1], segment), "{:?}", all[1]);
}

/// A probe that left the queue in a step waited between the least and the most of that step.
#[test]
fn rtt_is_base_and_queue() {
    for qdisc in ["pfifo limit 200", "codel ecn", "pie ecn", "fq_codel flows 1"] {
        let d = Dumbbell { duration: Span::from_secs(20), ..one("cubic", qdisc) };
        let mut s = d.scenario();
        s.sample_interval = Span::from_millis(2);
        let run = run(&s);
        let q = table(&run, "queues");
        let rows: Vec<usize> = rows_of(q, QUEUE).collect();
        let (mut compared, mut queued) = (0, 0);
        for (t, rtt) in rtts(&run, "ping") {
            if rtt.is_nan() {
                continue;
            }
            // It left the queue 10 ms before it was back. The way back is shared with ACKs of 66 bytes:
            // no queue to speak of, at most the 10.6 µs of one or two.
            let left = t - 0.010;
            let at = rows.partition_point(|&i| q.f64("t_s")[i] < left);
            let near = &rows[at.saturating_sub(1)..(at + 1).min(rows.len())];
            let least = near.iter().map(|&i| q.f64("sojourn_min_s")[i]).fold(f64::MAX, f64::min);
            let most = near.iter().map(|&i| q.f64("sojourn_max_s")[i]).fold(0.0, f64::max);
            assert!(rtt >= 0.020 + least - 1e-9, "{qdisc}: {rtt} at {t}, queue {least}");
            assert!(rtt <= 0.020 + most + JITTER + 50e-6, "{qdisc}: {rtt} at {t}, queue {most}");
            compared += 1;
            queued += u64::from(rtt > 0.021);
        }
        assert!(compared > 90 && queued > 30, "{qdisc}: {compared} probes, {queued} met a queue");
    }
}

/// A queue's table and its distribution are of the same packets.
#[test]
fn the_distribution_of_sojourns_has_the_mean_of_the_rows() {
    for line in [false, true] {
        let mut s = Dumbbell {
            rate: Rate::from_mbit(5),
            duration: Span::from_secs(20),
            ..one("cubic", "codel ecn")
        }
        .scenario();
        if line {
            over_a_line(&mut s, Rate::from_mbit(5));
        }
        let run = run(&s);
        let means = series(&run, "queues", "sojourn_mean_s", QUEUE);
        let sent = counts(&run, "queues", "sent_packets", QUEUE);
        let (mut sum, mut before) = (0.0, 0);
        for ((_, mean), (_, n)) in means.iter().zip(&sent) {
            if !mean.is_nan() {
                sum += mean * (n - before) as f64;
            }
            before = *n;
        }
        let by_rows = sum / before as f64;
        let by_buckets = mean_of(&buckets(&run, QUEUE, "sojourn"));
        // Buckets are 1 % wide.
        assert!((by_rows / by_buckets - 1.0).abs() < 0.01, "{by_rows} {by_buckets}, line: {line}");
    }
}

/// 60 into 50 mbit/s: the sojourn grows by a sixth of the time, so it passes 5 ms after about 30 ms. The first
/// drop comes at the first packet that leaves more than an interval after that: a packet time (242 µs) more at
/// most, CoDel's clock of 1.024 µs and two sample intervals aside.
#[test]
fn codel_drops_first_one_interval_after_the_crossing() {
    let step = Span::from_micros(100);
    for (words, target, interval) in [
        ("codel", 0.005, 0.100),
        ("codel target 1ms interval 20ms", 0.001, 0.020),
        ("fq_codel", 0.005, 0.100),
    ] {
        let run = run(&overload(words, step));
        let crossed = series(&run, "queues", "sojourn_max_s", QUEUE)
            .into_iter()
            .find(|row| row.1 >= target)
            .expect("an overload fills the queue")
            .0;
        let drops = table(&run, "queue_signals");
        assert_eq!(drops.text("reason").get(0), "control_law");
        let waited = drops.f64("t_s")[0] - crossed;
        let slack = step.as_secs_f64() + 1.1e-6;
        let range = interval - slack..interval + 242.24e-6 + slack;
        assert!(range.contains(&waited), "{words}: {waited}");
    }
}

/// A packet takes 242.24 µs at 50 mbit/s and 1211.2 µs at 10. After a step down, the one that was being paid
/// for leaves when it was going to, every other is a slow packet time behind it; after a step up likewise.
#[test]
fn a_rate_step_shows_within_a_packet_time() {
    for line in [false, true] {
        let mut s = overload("pfifo limit 10000", Span::from_micros(20));
        if line {
            over_a_line(&mut s, Rate::from_mbit(50));
        }
        let to = |mbit| Action::Rate { element: QUEUE.to_owned(), rate: Rate::from_mbit(mbit) };
        s.events = vec![
            event("down", Span::from_millis(300), vec![to(10)]),
            event("up", Span::from_millis(500), vec![to(50)]),
        ];
        let run = run(&s);
        let sent = counts(&run, "queues", "sent_packets", QUEUE);
        let departures: Vec<f64> =
            sent.windows(2).filter(|w| w[1].1 > w[0].1).map(|w| w[1].0).collect();
        let after = |t: f64| departures.iter().copied().filter(move |d| *d > t);
        let (fast, slow, read) = (242.24e-6, 1211.2e-6, 21e-6);
        for (at, before, since) in [(0.3, fast, slow), (0.5, slow, fast)] {
            let next: Vec<f64> = after(at).take(4).collect();
            assert!(next[0] - at <= before + read, "line {line}: {} after {at}", next[0] - at);
            // On a line, one more packet was already on its way when the rate changed.
            for pair in next.windows(2) {
                let gap = pair[1] - pair[0];
                assert!((gap - since).abs() <= read, "line {line}: {gap} after {at}");
            }
        }
        // 200 ms at 10 mbit/s are 165.1 packets.
        let slow_ones = count_at(&sent, 0.5) - count_at(&sent, 0.3);
        assert!((165..=167).contains(&slow_ones), "line {line}: {slow_ones}");
    }
}

/// An idle bucket of 1600 bytes lets two full packets go together (1600 - 1514 is not in debt), then one each
/// 242.24 µs; a line none before 242.24 µs. In the long run both send the same.
#[test]
fn htb_begins_with_a_burst_and_a_line_does_not() {
    let step = Span::from_micros(10);
    let mut s = overload("pfifo limit 10000", step);
    let left = |s: &Scenario| counts(&run(s), "queues", "sent_packets", QUEUE);
    let htb = left(&s);
    over_a_line(&mut s, Rate::from_mbit(50));
    let line = left(&s);
    let nth = |sent: &[(f64, u64)], n| sent.iter().find(|row| row.1 >= n).expect("enough").0;
    // Packets come each 1514 · 8 / 60 mbit/s = 201.87 µs, faster than either sends.
    let (arrival, service) = (201.87e-6, 242.24e-6);
    let first = nth(&htb, 1);
    let near = |a: f64, b: f64| (a - b).abs() < 6e-6 + 11e-6;
    assert!(near(nth(&htb, 2) - first, arrival), "the second leaves as it comes");
    assert!(near(nth(&line, 1) - first, service), "a line's first has to be sent");
    assert!(near(nth(&line, 2) - nth(&line, 1), service));
    // The bucket's head start: 1600 bytes that the line has not.
    let (a, b) = (count_at(&htb, 0.9), count_at(&line, 0.9));
    assert!(a >= b && a - b <= 2, "{a} {b}");
    let per_second = 50e6 / (1514.0 * 8.0);
    let rate = (nth(&line, 3000) - nth(&line, 1000)) * per_second / 2000.0;
    assert!((rate - 1.0).abs() < 1e-4, "{rate}");
}

/// Packets on their way keep the delay that they were given: those sent before the change come back after 50 + 10 ms,
/// those sent after it after 10 + 10, or 150 + 10.
#[test]
fn a_new_delay_is_for_later_packets_only() {
    for (delay, on_time) in [(10, 0.020), (150, 0.160)] {
        let mut s = idle(Rate::from_mbit(50), Span::from_millis(3));
        crate::bench::netem_mut(&mut s).chain = vec!["delay 50ms limit 1000".to_owned()];
        let delay = Span::from_millis(delay);
        let action = Action::Delay { element: NETEM.to_owned(), flow: None, delay };
        // Between two probes: they are sent at whole multiples of 3 ms.
        s.events = vec![event("step", Span::from_micros(1_000_500), vec![action])];
        let replies = rtts(&run(&s), "ping");
        let (mut before, mut after) = (0, 0);
        for (t, rtt) in replies.into_iter().filter(|r| !r.1.is_nan()) {
            let sent = t - rtt;
            let expected = if sent < 1.0005 { 0.060 } else { on_time };
            // Behind others that come at once through HTB a probe may wait for some 16 µs each.
            let most = expected + JITTER + 1e-3;
            assert!((expected..=most).contains(&rtt), "sent at {sent}: {rtt}");
            if sent < 1.0005 { before += 1 } else { after += 1 }
        }
        assert!(before > 300 && after > 250, "{before} {after}");
    }
}

/// 60 into 50 mbit/s for 0.5 s: a sixth of 4954 packets a second, 413, wait. Replacing the discipline loses them
/// all, changing it none; the link goes on without a gap either way.
#[test]
fn replacing_a_queue_flushes_it_and_changing_keeps_it() {
    let element = || QUEUE.to_owned();
    let replace =
        Action::ReplaceQdisc { element: element(), qdisc: "pfifo limit 9000".into(), shaper: None };
    let change = Action::ChangeQdisc { element: element(), qdisc: "pfifo limit 9000".into() };
    for (action, flushes) in [(replace, true), (change, false)] {
        let mut s = overload("pfifo limit 10000", Span::from_millis(1));
        s.events = vec![event("now", Span::from_millis(500), vec![action])];
        let run = run(&s);
        let held = counts(&run, "queues", "packets", QUEUE);
        let (before, after) = (count_at(&held, 0.499), count_at(&held, 0.501));
        // 0.8 packets a millisecond are added to what waits; the flow began up to 150 ms late.
        assert!((280..=414).contains(&before), "{before}");
        let signals = table(&run, "queue_signals");
        if flushes {
            assert!(after < 8, "{after}");
            assert_eq!(signals.len(), 1);
            assert_eq!(signals.text("reason").get(0), "flushed");
            assert_eq!(signals.text("kind").get(0), "drop");
            assert!(signals.u64("count")[0].abs_diff(before) <= 2);
        } else {
            assert!(after >= before && after <= before + 3, "{before} {after}");
            assert_eq!(signals.len(), 0);
        }
        let sent = counts(&run, "queues", "sent_packets", QUEUE);
        let around = count_at(&sent, 0.51) - count_at(&sent, 0.49);
        // 20 ms are 82.6 packet times.
        assert!((82..=84).contains(&around), "{around}");
    }
}

/// CoDel leaves a standing queue of a few milliseconds at 20 ms: the link is busy nearly all the time.
#[test]
fn fq_codel_keeps_the_link_busy_and_the_flows_equal() {
    let d = Dumbbell { duration: Span::from_secs(30), ..Dumbbell::default() };
    let run = run(&d.scenario());
    let bytes = counts(&run, "queues", "sent_bytes", QUEUE);
    let utilisation = (count_at(&bytes, 30.0) - count_at(&bytes, 5.0)) as f64 * 8.0 / 50e6 / 25.0;
    assert!((0.95..=1.0001).contains(&utilisation), "{utilisation}");
    let rate = |flow| mean_between(&series(&run, "flows", "goodput_bps", flow), 5.0, 30.0);
    let (a, b) = (rate("cubic-1"), rate("cubic-2"));
    assert!((a / b - 1.0).abs() < 0.01, "{a} {b}");
    // The probe has a queue of its own, so it waits for one packet of each flow at most.
    let worst = rtts(&run, "ping").iter().map(|r| r.1).fold(0.0, f64::max);
    assert!(worst <= 0.020 + JITTER + 2.0 * 242.24e-6 + 50e-6, "{worst}");
}

/// Without ECN the same queue drops, and every drop of TCP's is sent again once.
#[test]
fn what_was_dropped_is_sent_again() {
    let d = Dumbbell { ecn: false, duration: Span::from_secs(30), ..one("cubic", "codel") };
    let run = run(&d.scenario());
    let (drops, again) =
        (total(&run, "cubic-1", "packets_dropped"), total(&run, "cubic-1", "retransmits"));
    assert!(drops > 5.0, "{drops}");
    // Some may be under way at the end; a probe may repeat what was not lost.
    assert!((again - drops).abs() <= 2.0, "{drops} drops, {again} retransmits");
    assert_eq!(total(&run, "cubic-1", "timeouts"), 0.0);
}

/// ACKs of one flow share the way up with the data of another: 66 of 1514 bytes each second segment.
#[test]
fn acks_take_their_share_of_the_way_back() {
    let mut s = Dumbbell { duration: Span::from_secs(30), ..Dumbbell::default() }.scenario();
    s.flows[1].direction = sojourn_model::Direction::Up;
    queue_mut(&mut s, Side::Up).qdisc = "fq_codel".into();
    let run = run(&s);
    for flow in ["cubic-1", "cubic-2"] {
        let goodput = mean_between(&series(&run, "flows", "goodput_bps", flow), 5.0, 30.0);
        // 33 bytes of ACK for every 1514 of data: at most 50 · 1448 / 1547 = 46.80 Mbit/s each way.
        let most = 50e6 * 1448.0 / 1547.0;
        assert!((0.93 * most..1.005 * most).contains(&goodput), "{flow}: {goodput}");
    }
}

/// Where a discipline is its own shaper, words are about the whole of it; under the link's, about what is there.
#[test]
fn a_shaper_of_its_own_is_changed_and_replaced_as_a_whole() {
    let element = || QUEUE.to_owned();
    let words = || "htb rate 10mbit pfifo limit 10000".to_owned();
    let change = Action::ChangeQdisc { element: element(), qdisc: words().into() };
    let replace = Action::ReplaceQdisc { element: element(), qdisc: words().into(), shaper: None };
    for action in [change, replace] {
        let mut s = overload("htb rate 2mbit pfifo limit 10000", Span::from_millis(1));
        queue_mut(&mut s, Side::Down).shaper = Shaper::Own { rate: None };
        s.events = vec![event("faster", Span::from_millis(500), vec![action])];
        let run = run(&s);
        let bytes = counts(&run, "queues", "sent_bytes", QUEUE);
        // A packet takes 6.06 ms at 2 mbit/s, 1.21 ms at 10.
        let rate = |from: f64, to: f64| {
            (count_at(&bytes, to) - count_at(&bytes, from)) as f64 * 8.0 / (to - from) / 1e6
        };
        let (slow, fast) = (rate(0.2, 0.5), rate(0.6, 0.9));
        assert!(
            (slow / 2.0 - 1.0).abs() < 0.03 && (fast / 10.0 - 1.0).abs() < 0.01,
            "{slow} {fast}"
        );
    }
}

/// Packets of hosts next to a hop are put into its delay up to 6 µs ahead of their time. Those that only pass
/// through do not wait for them.
#[test]
fn who_passes_through_does_not_wait_for_hosts_nearby() {
    let d = Dumbbell {
        rate: Rate::from_mbit(10_000),
        ping: false,
        duration: Span::from_secs(2),
        ..one("cubic", "pfifo")
    };
    let mut s = d.scenario();
    let mut far = s.hops[0].clone();
    far.name = "far".to_owned();
    s.hops.insert(0, far);
    // Without a delay it holds only the packets of the hosts next to it. The way there is 10 ms then.
    for element in &mut s.hops[1].down {
        if let Kind::Netem(netem) = &mut element.kind {
            netem.chain = vec!["limit 1000000".to_owned()];
        }
    }
    let mut through = d.flow("through", ping(Span::from_millis(1)));
    through.hops = vec![0, 1];
    // A packet each 7.6 µs: nearly always one waits for its jitter.
    let near = Udp { rate: Rate::from_mbit(30), payload: 28, ecn: Ecn::NotEct };
    let mut near = d.flow("near", Traffic::Udp(near));
    near.hops = vec![1];
    s.flows = vec![through, near];
    let run = run(&s);
    let worst =
        rtts(&run, "through").iter().map(|r| r.1).filter(|r| !r.is_nan()).fold(0.0, f64::max);
    assert!((0.030..=0.030 + JITTER + 0.2e-6).contains(&worst), "{worst}");
}
