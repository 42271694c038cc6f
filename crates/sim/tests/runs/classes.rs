//! Disciplines with classes in whole runs: packets that leave each class are recorded per class.

use crate::bench::{QUEUE, buckets, quantile_of, queue_mut, run, total};
use sojourn_model::{Flow, Scenario, Shaper, Side, Traffic, Udp};
use sojourn_qdisc::disciplines;
use sojourn_results::Run;
use sojourn_results::metrics::{Expression, Frame};
use sojourn_sim::dumbbell::Dumbbell;
use sojourn_units::{Dscp, Ecn, Rate, Span};

/// 50 Mbit/s with two streams: one of ECT(1) and DSCP 4, far below the rate, and one of Not-ECT above it.
fn scenario(qdisc: &str, is_shaped: bool) -> Scenario {
    let dumbbell = Dumbbell {
        ccs: Vec::new(),
        duration: Span::from_secs(4),
        ping: false,
        ..Dumbbell::default()
    };
    let mut s = dumbbell.scenario();
    let udp = |name, mbit, ecn, dscp| {
        let traffic = Traffic::Udp(Udp { rate: Rate::from_mbit(mbit), payload: 1472, ecn });
        Flow { dscp: Dscp::new(dscp).expect("a DSCP"), ..dumbbell.flow(name, traffic) }
    };
    s.flows = vec![udp("low", 2, Ecn::Ect1, 4), udp("high", 60, Ecn::NotEct, 0)];
    if !is_shaped {
        queue_mut(&mut s, Side::Down).shaper = Shaper::Own { rate: Some(Rate::from_mbit(50)) };
    }
    queue_mut(&mut s, Side::Down).qdisc = qdisc.into();
    s
}

fn count(run: &Run, quantity: &str) -> u64 {
    buckets(run, QUEUE, quantity).iter().map(|b| b.2).sum()
}

/// Each packet is in its class's distribution and in that of all, and the class that is served first waits less.
#[test]
fn every_packet_is_of_one_class() {
    // Words, whether htb shapes them, the class of the small stream, that of the large one.
    for (words, shaped, small, large) in [
        ("dualpi2", true, "l", "c"),
        ("cake bandwidth 50mbit", false, "voice", "best_effort"),
        ("twin_codel_af bandwidth 50mbit", false, "tight", "loose"),
        ("cnq_codel_af bandwidth 50mbit", false, "sparse", "bulk"),
        ("lfq_cobalt bandwidth 50mbit", false, "sparse", "bulk"),
    ] {
        let run = run(&scenario(words, shaped));
        let name = words.split(' ').next().unwrap();
        let info = disciplines().iter().find(|d| d.name == name).unwrap();
        let of = |class: &str| count(&run, &format!("sojourn.{class}"));
        let all: u64 = info.classes.iter().map(|class| of(class.name)).sum();
        assert_eq!(all, count(&run, "sojourn"), "{words}");
        assert_eq!(all as f64, total(&run, QUEUE, "left"), "{words}: warmup is nothing here");
        // A flow's packets go to the sparse queue or to the other by what is held of it; else classes are streams.
        if small != "sparse" {
            assert_eq!(of(small) as f64, total(&run, "low", "packets_arrived"), "{words}");
        }
        assert!(of(small) > 0 && of(large) > of(small), "{words}");
        let p99 =
            |class: &str| quantile_of(&buckets(&run, QUEUE, &format!("sojourn.{class}")), 0.99);
        assert!(p99(small) * 4.0 < p99(large), "{words}: {} {}", p99(small), p99(large));
        // The same by an expression over the whole run.
        let text = format!("p99(sojourn.{small}, {QUEUE}) over all");
        let verdict = Expression::parse(&text).unwrap().evaluate(&Frame::new(&run)).unwrap();
        let value = verdict.value.number;
        assert!((value / p99(small) - 1.0).abs() < 0.02, "{text}: {value}");
    }
}

/// A queue without classes has none in the tables.
#[test]
fn one_class_is_no_class() {
    let run = run(&scenario("pfifo limit 100", true));
    let table = crate::bench::table(&run, "histograms");
    assert!(table.text("quantity").names().iter().all(|q| !q.starts_with("sojourn.")));
}

/// The head's delay of a full FIFO is its drain time, in the series as in the distribution.
#[test]
fn the_heads_delay_is_in_the_series() {
    let run = run(&scenario("pfifo limit 100", true));
    let state = crate::bench::table(&run, "queue_state");
    let names = state.text("name");
    let rows: Vec<f64> = (0..state.len())
        .filter(|&i| names.get(i) == "head_delay" && state.f64("t_s")[i] > 2.0)
        .filter(|&i| state.text("queue").get(i) == QUEUE)
        .map(|i| state.f64("value")[i])
        .collect();
    // 100 packets of 1514 bytes at 50 Mbit/s are 24.2 ms.
    assert!(rows.len() > 30 && rows.iter().all(|d| (0.0235..0.0245).contains(d)), "{rows:?}");
}
