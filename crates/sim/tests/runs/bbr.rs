//! BBR in whole runs, compared with its model: alone, it fills the link with little more than the bandwidth-delay
//! product in flight; its cycle has eight minimum RTTs; every ten seconds it shows the bottom of the queue.

use crate::bench::{PAYLOAD, counts, mean_between, rows_of, run, series, table, total};
use sojourn_model::Scenario;
use sojourn_results::Run;
use sojourn_sim::dumbbell::Dumbbell;
use sojourn_units::{Rate, Span};

fn alone(mbit: u64, rtt_ms: u64, seconds: u64, step: Span) -> Scenario {
    let mut s = Dumbbell {
        ccs: vec!["bbr".to_owned()],
        rate: Rate::from_mbit(mbit),
        rtt: Span::from_millis(rtt_ms),
        qdisc: "pfifo limit 2000".to_owned(),
        duration: Span::from_secs(seconds),
        ping: false,
        ..Dumbbell::default()
    }
    .scenario();
    s.sample_interval = step;
    s
}

/// A number of the control's own.
fn own(run: &Run, name: &str) -> Vec<(f64, f64)> {
    let t = table(run, "flow_state");
    let (times, names, values) = (t.f64("t_s"), t.text("name"), t.f64("value"));
    rows_of(t, "bbr-1").filter(|&i| names.get(i) == name).map(|i| (times[i], values[i])).collect()
}

/// Packets that the path holds: rate · RTT over 1514 bytes.
fn product(mbit: u64, rtt_ms: u64) -> f64 {
    (mbit * rtt_ms) as f64 * 1e3 / 8.0 / 1514.0
}

/// From the end of Drain to the first ProbeRtt: 99 % of the link, and one product in flight, not two.
#[test]
fn one_bbr_flow_fills_the_link_with_one_product_in_flight() {
    for (mbit, rtt_ms) in [(10, 40), (50, 20), (100, 80)] {
        let r = run(&alone(mbit, rtt_ms, 9, Span::from_millis(50)));
        let goodput = mean_between(&series(&r, "flows", "goodput_bps", "bbr-1"), 2.0, 9.0);
        let share = goodput / (mbit as f64 * 1e6 * PAYLOAD);
        assert!((0.97..1.001).contains(&share), "{mbit} mbit, {rtt_ms} ms: {share} of the link");
        let inflight: Vec<(f64, f64)> = counts(&r, "flows", "inflight", "bbr-1")
            .into_iter()
            .map(|(t, n)| (t, n as f64 / product(mbit, rtt_ms)))
            .collect();
        let mean = mean_between(&inflight, 2.0, 9.0);
        assert!((1.0..1.25).contains(&mean), "{mbit} mbit, {rtt_ms} ms: {mean} products");
        let most = inflight.iter().filter(|x| x.0 > 2.0).map(|x| x.1).fold(0.0, f64::max);
        assert!(most < 2.0, "{mbit} mbit, {rtt_ms} ms: {most} products");
        assert_eq!(total(&r, "bbr-1", "retransmits"), 0.0);
        // Startup goes up to 2.885 products and three trains.
        let first = inflight.iter().filter(|x| x.0 < 2.0).map(|x| x.1).fold(0.0, f64::max);
        assert!((2.0..3.4).contains(&first), "{mbit} mbit, {rtt_ms} ms: {first} products at first");
    }
}

/// 20 mbit, 100 ms. Seven phases end with the first ACK more than a minimum RTT after they began, the second perhaps
/// earlier; so a cycle is a little less or more than eight. In the first, 1.25 · 0.99 of the rate comes in for a minimum
/// RTT: 24 ms of queue.
#[test]
fn the_cycle_has_eight_phases_and_an_eighth_of_a_queue() {
    let r = run(&alone(20, 100, 9, Span::from_millis(5)));
    let gains = own(&r, "pacing_gain");
    let steady: Vec<(f64, f64)> = gains.into_iter().filter(|x| x.0 > 3.0).collect();
    assert!(steady.iter().all(|x| [1.25, 0.75, 1.0].contains(&x.1)));
    let begins: Vec<f64> =
        steady.windows(2).filter(|w| w[0].1 == 1.0 && w[1].1 == 1.25).map(|w| w[1].0).collect();
    let min_rtt = own(&r, "mrtt").last().map_or(f64::NAN, |x| x.1);
    let period = (begins[begins.len() - 1] - begins[0]) / (begins.len() - 1) as f64;
    assert!((7.2..8.3).contains(&(period / min_rtt)), "{period} s of {min_rtt} s");
    let share = |gain| steady.iter().filter(|x| x.1 == gain).count() as f64 / steady.len() as f64;
    assert!((0.11..0.16).contains(&share(1.25)), "{}", share(1.25));
    assert!((0.04..0.14).contains(&share(0.75)), "{}", share(0.75));
    // Every probe shows in the RTT.
    let rtts = series(&r, "flows", "rtt_s", "bbr-1");
    for w in begins.windows(2) {
        let inside = rtts.iter().filter(|x| x.0 > w[0] && x.0 <= w[1]).map(|x| x.1);
        let (low, high) = inside.fold((f64::MAX, 0.0), |(l, h), x| (x.min(l), x.max(h)));
        assert!((0.015..0.035).contains(&(high - low)), "{low} to {high} s");
    }
    let bw = own(&r, "bw").last().map_or(f64::NAN, |x| x.1);
    assert!((bw / (20e6 * PAYLOAD) - 1.0).abs() < 0.02, "{bw}");
}

/// Ten seconds after its lowest RTT it goes down to four packets for 200 ms and a round.
#[test]
fn probe_rtt_every_ten_seconds() {
    let r = run(&alone(20, 40, 24, Span::from_millis(5)));
    let low: Vec<f64> = counts(&r, "flows", "inflight", "bbr-1")
        .into_iter()
        .filter(|x| x.0 > 2.0 && x.1 <= 4)
        .map(|x| x.0)
        .collect();
    // Two stays: where one row is more than a second after the one before, another begins.
    let gap = low.windows(2).position(|w| w[1] - w[0] > 1.0).expect("two stays");
    for stay in [&low[..=gap], &low[gap + 1..]] {
        // Seen every 5 ms: a row short at either end.
        let length = stay[stay.len() - 1] - stay[0];
        assert!((0.19..0.3).contains(&length), "{length} s");
    }
    let between = low[gap + 1] - low[0];
    assert!((10.0..10.6).contains(&between), "{between} s");
}

/// The cycle begins at random: two seeds, two runs; one seed, one.
#[test]
fn the_seed_decides_where_the_cycle_begins() {
    let first_gains = |seed| {
        let s = Scenario { seed, ..alone(20, 40, 3, Span::from_millis(10)) };
        own(&run(&s), "pacing_gain")
    };
    let runs: Vec<_> = (1..=6).map(first_gains).collect();
    assert_eq!(runs[0], first_gains(1));
    assert!(runs.iter().any(|r| *r != runs[0]));
}
