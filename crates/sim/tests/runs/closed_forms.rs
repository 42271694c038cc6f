//! Theory about a window: Reno, CUBIC, DCTCP and Prague where packets are marked with a fixed probability (netem marks
//! instead of dropping, so that nothing but the mark disturbs), and the rates of Prague and CUBIC through DualPI2.
//!
//! With p the probability and W the window in packets:
//!
//! - Reno: 1.31/√p over time, where each packet is marked by itself (T. Ott, J. Kemperman, M. Mathis, "The stationary
//!   behavior of ideal TCP congestion avoidance", 1996).
//! - CUBIC: Reno-friendly, it adds α = 3(1 − β)/(1 + β) and keeps β of its window (RFC 9438 §4.3); a model of four
//!   lines computes the result with marks at random. Its cubic region, where marks come regularly, has a test in
//!   CUBIC's own file.
//! - DCTCP and Prague: a cut by p/2 in every round trip that has a mark, 1 a round trip of growth: W = 2/p where every
//!   round trip has one. Each test has the further behaviour of the implementations.

use crate::bench::{counts, mean_between, netem_mut, run, series, tcp_mut};
use sojourn_model::{EcnMode, Scenario};
use sojourn_sim::dumbbell::Dumbbell;
use sojourn_units::{Random, Rate, Span};

/// A flow over a path that marks `permille` packets in a thousand, and has room for all.
fn marking(cc: &str, stack: &str, rtt_ms: u64, permille: f64, seconds: u64) -> Scenario {
    let mut s = Dumbbell {
        ccs: vec![cc.to_owned()],
        stack: stack.to_owned(),
        rate: Rate::from_mbit(1000),
        rtt: Span::from_millis(rtt_ms),
        qdisc: "pfifo limit 10000".to_owned(),
        duration: Span::from_secs(seconds),
        ping: false,
        ..Dumbbell::default()
    }
    .scenario();
    let chain = &mut netem_mut(&mut s).chain[0];
    *chain = format!("{chain} loss {}% ecn", permille / 10.0);
    tcp_mut(&mut s.flows[0].traffic).ecn = EcnMode::Default;
    s
}

/// Mean window over time, the first tenth left out.
fn mean_window(s: &Scenario) -> f64 {
    let flow = &s.flows[0].name;
    let cwnd: Vec<(f64, f64)> =
        counts(&run(s), "flows", "cwnd", flow).into_iter().map(|(t, w)| (t, w as f64)).collect();
    let end = s.duration.as_secs_f64();
    mean_between(&cwnd, end / 10.0, end)
}

/// Mean over time of a window that grows by `alpha` a round trip and keeps `beta` when a packet is marked, each with
/// probability `p` by itself. As after a real sender's cut, the next round trip is not marked, and the window does not
/// grow for `still_rounds`.
fn ideal(alpha: f64, beta: f64, still_rounds: f64, p: f64) -> f64 {
    let mut random = Random::named(1, "ideal");
    let (mut w, mut packets, mut rounds) = (30.0_f64, 0.0, 0.0);
    let (mut deaf, mut still) = (0.0, 0.0);
    for _ in 0..3_000_000 {
        (packets, rounds) = (packets + 1.0, rounds + 1.0 / w);
        (deaf, still) = (deaf - 1.0, still - 1.0);
        if deaf <= 0.0 && random.unit() < p {
            w *= beta;
            (deaf, still) = (w, w * still_rounds);
        } else if still <= 0.0 {
            w += alpha / w;
        }
    }
    packets / rounds
}

#[track_caller]
fn near(what: &str, got: f64, expected: f64, within: f64) {
    assert!((got / expected - 1.0).abs() <= within, "{what}: {got}, expected {expected}");
}

/// 41.4 packets at 0.1 %, 20.7 at 0.4 %.
#[test]
fn renos_window_is_131_over_the_root_of_p() {
    near("the model", ideal(1.0, 0.5, 1.0, 1e-3), 1.31 / 1e-3_f64.sqrt(), 0.04);
    for permille in [1.0, 4.0] {
        let w = mean_window(&marking("reno", "linux-7.3", 10, permille, 200));
        near("Reno", w, 1.31 / (permille / 1e3_f64).sqrt(), 0.08);
    }
}

/// At 10 ms the Reno-friendly region holds: growth of 0.53 a round trip, cut to 0.7 (RFC 9438 §4.3). Linux begins to grow
/// when its estimate of Reno's window is a packet ahead, 1.875 round trips after the reduction has taken its one.
#[test]
fn cubics_window_in_the_reno_friendly_region() {
    let beta = 717.0 / 1024.0;
    let alpha = 3.0 * (1.0 - beta) / (1.0 + beta);
    for permille in [1.0, 4.0] {
        let w = mean_window(&marking("cubic", "linux-7.3", 10, permille, 200));
        near("CUBIC", w, ideal(alpha, beta, 2.875, permille / 1e3), 0.08);
    }
}

/// 2/p: 40 packets at 5 %, 20 at 10 %. The cut of W·alpha/2 is rounded down to whole packets, so that below 2/alpha there
/// is none, and above there is one: DCTCP stays close to 2/p though not every round trip has a mark.
#[test]
fn dctcps_window_is_two_over_p() {
    for permille in [50.0, 100.0] {
        let w = mean_window(&marking("dctcp", "linux-7.3", 40, permille, 200));
        near("DCTCP", w, 2e3 / permille, 0.1);
    }
}

/// Prague's cut keeps its fraction, so the round trips without a mark count: with x = pW, (1 − p)(1 + 1/x) = x/2, as
/// derived at `the_window_at_a_fixed_marking_probability` in Prague's own tests. 40 ms, above RTT independence.
#[test]
fn pragues_window_at_a_fixed_marking_probability() {
    for stack in ["l4steam-2020-08", "linux-7.3"] {
        for permille in [50.0, 100.0] {
            let (p, q) = (permille / 1e3, 1.0 - permille / 1e3);
            let expected = (q + (q * q + 2.0_f64 * q).sqrt()) / p;
            let w = mean_window(&marking("prague", stack, 40, permille, 200));
            near(stack, w, expected, 0.06);
        }
    }
}

/// DualPI2 couples the probabilities so that the windows are alike (RFC 9332 §2.1): the rates are then as the inverse
/// of the total round trips, base and queue. Roughly: the published ratios at 20 ms are 2.05 and 2.17 where the round
/// trips' is 1.72 (`s1_50mbit.csv`, `ect1.csv`), as marks in C come in clusters. One seed scatters, by 0.3 at 20 ms: the mean of
/// four.
#[test]
fn rates_through_dualpi2_are_as_the_inverse_of_total_rtts() {
    let ratios = |rtt_ms, seed| {
        let mut s = Dumbbell {
            seed,
            ccs: vec!["prague".to_owned(), "cubic".to_owned()],
            stack: "l4steam-2020-08".to_owned(),
            rtt: Span::from_millis(rtt_ms),
            qdisc: "dualpi2".to_owned(),
            duration: Span::from_secs(120),
            ping: false,
            ..Dumbbell::default()
        }
        .scenario();
        for flow in &mut s.flows {
            tcp_mut(&mut flow.traffic).ecn = EcnMode::Default;
        }
        let r = run(&s);
        let mean = |flow, column| mean_between(&series(&r, "flows", column, flow), 20.0, 120.0);
        let rates = mean("prague-1", "goodput_bps") / mean("cubic-2", "goodput_bps");
        let rtts = mean("cubic-2", "srtt_s") / mean("prague-1", "srtt_s");
        (rates, rtts)
    };
    for rtt_ms in [10, 20] {
        let (rates, rtts) = (1..=4)
            .map(|seed| ratios(rtt_ms, seed))
            .fold((0.0, 0.0), |sum, (rates, rtts)| (sum.0 + rates / 4.0, sum.1 + rtts / 4.0));
        // Never less, and more by no more than was published: 26 % at 20 ms, and a tenth for what four seeds scatter.
        let excess = rates / rtts;
        assert!((1.0..1.36).contains(&excess), "{rtt_ms} ms: {rates} for {rtts}");
    }
}
