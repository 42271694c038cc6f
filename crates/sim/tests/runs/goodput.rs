//! Goodput of windows: what arrived, and never more than the link can carry.

use crate::bench::{PAYLOAD, run};
use proptest::prelude::*;
use sojourn_results::Run;
use sojourn_results::metrics::{Expression, Frame};
use sojourn_sim::dumbbell::Dumbbell;
use sojourn_units::{Rate, Span};

fn value(run: &Run, text: &str) -> f64 {
    let expression = Expression::parse(text).unwrap_or_else(|e| panic!("{text}: {}", e.message));
    expression.evaluate(&Frame::new(run)).unwrap_or_else(|e| panic!("{e}")).value.number
}

/// A hole that is filled within the window brings in order what had arrived before the window began: 1000 packets of buffer
/// are 0.6 s of a link of 20 Mbit/s.
#[test]
fn a_hole_before_the_window_adds_nothing_to_it() {
    let (rate, duration) = (Rate::from_mbit(20), Span::from_secs(30));
    let d = Dumbbell {
        ccs: vec!["cubic".to_owned()],
        qdisc: "pfifo limit 1000".to_owned(),
        rate,
        rtt: Span::from_millis(40),
        duration,
        ..Dumbbell::default()
    };
    let run = run(&d.scenario());
    let most = rate.bits_per_sec() as f64 * PAYLOAD;
    for from in (2..29).map(|half_second| f64::from(half_second) * 0.5 + 5.0) {
        let goodput = value(&run, &format!("goodput(cubic-1) from {from}s to {}s", from + 1.0));
        // A packet that ends just within the window was on the line before it.
        assert!(goodput <= most + 8.0 * 1514.0, "{goodput} from {from} s, {most} at most");
        assert!(goodput > 0.98 * most, "{goodput} from {from} s: the queue never runs empty");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the window: the flows together get no more than the link can carry, and neither does each.
    #[test]
    fn goodput_is_no_more_than_the_link_carries(
        ccs in prop::collection::vec(prop::sample::select(vec!["cubic", "reno", "bbr", "prague"]), 1..4),
        qdisc in prop::sample::select(vec!["pfifo limit 20", "pfifo limit 600", "codel", "fq_codel", "dualpi2"]),
        mbit in 2_u64..40,
        rtt in 5_u64..120,
        seed in 0_u64..1000,
        from in 10_u64..70,
        length in 1_u64..20,
    ) {
        let d = Dumbbell {
            ccs: ccs.into_iter().map(str::to_owned).collect(),
            qdisc: qdisc.to_owned(),
            rate: Rate::from_mbit(mbit),
            rtt: Span::from_millis(rtt),
            duration: Span::from_secs(10),
            seed,
            ..Dumbbell::default()
        };
        let run = run(&d.scenario());
        let (from, to) = (from as f64 / 10.0, (from + length) as f64 / 10.0);
        let together = value(&run, &format!("sum(goodput) from {from:.1}s to {to:.1}s")) * (to - from);
        // HTB's burst, and a packet that was on the line when the window began.
        let most = mbit as f64 * 1e6 * (to - from) * PAYLOAD + 8.0 * (1600.0 + 1514.0);
        prop_assert!(together <= most, "{together} bits of {most} from {from} s to {to} s");
    }
}
