//! PI2 by hand. Its controller is DualPI2's, and its trace is in `dualpi2.rs`, too.

use crate::bench::{Bench, FULL, Log, Pkt, ms, pkt};
use sojourn_qdisc::Reason;
use sojourn_units::{Ecn, Time};

const ONE: f64 = u32::MAX as f64;

/// The trace of the first two updates is that of `dualpi2`: 220 437 500 and 451 875 000 of 2^32 - 1.
#[test]
fn the_probability_after_each_update() {
    let mut b = Bench::new("pi2");
    b.put(ms(0), pkt(0));
    assert_eq!(b.next_timer(), Some(ms(16)));
    for (at, parts) in [(16, 220_437_500.0), (32, 451_875_000.0)] {
        b.timer(ms(at));
        let base = parts / ONE;
        assert_eq!(b.gauge(ms(at), "prob"), base);
        assert_eq!(b.gauge(ms(at), "prob_c"), base * base);
    }
    assert_eq!((b.gauge(ms(40), "delay"), b.stat("delay")), (0.04, 0.032));
    b.flush(ms(40));
    assert_eq!(b.gauge(ms(40), "prob"), 0.0);
}

/// p' grown to `base` by small steps, and the queue emptied.
fn at_base(words: &str, base: f64) -> Bench {
    let mut b = Bench::new(&format!("{words} alpha 0.004 beta 0.1"));
    b.put(ms(0), pkt(0));
    while b.gauge(Time::ZERO, "prob") < base {
        let at = b.next_timer().unwrap();
        b.timer(at);
    }
    b.pass(ms(10_000));
    b
}

/// Shares of marked and dropped of packets like this one, ten of them always held, and why.
fn signals(b: &mut Bench, packet: Pkt) -> (f64, f64, Option<Reason>) {
    b.log = Log::default();
    let n = 100_000;
    for _ in 0..n {
        b.put(ms(20_000), packet);
        while b.backlog().packets > 10 {
            b.take(ms(20_000));
        }
    }
    while b.backlog().packets > 0 {
        b.take(ms(20_000));
    }
    let (marks, drops) = (&b.log.marked, &b.log.dropped);
    let reason = marks.iter().chain(drops).map(|(_, _, reason)| *reason).next();
    (marks.len() as f64 / f64::from(n), drops.len() as f64 / f64::from(n), reason)
}

fn assert_near(share: f64, expected: f64) {
    assert!((share - expected).abs() < 0.006, "{share} is not {expected}");
}

/// p'² whatever the packet; marks for ECN.
#[test]
fn the_output_is_squared() {
    for base in [0.1, 0.3, 0.45] {
        let mut b = at_base("pi2", base);
        let p = b.gauge(ms(0), "prob");
        for (ecn, marks) in [(Ecn::NotEct, false), (Ecn::Ect0, true), (Ecn::Ect1, true)] {
            let (marked, dropped, reason) = signals(&mut b, pkt(0).ecn(ecn));
            assert_near(if marks { marked } else { dropped }, p * p);
            assert_near(if marks { dropped } else { marked }, 0.0);
            assert_eq!(reason, Some(Reason::Classic));
        }
        let mut b = at_base("pi2 noecn", base);
        let (marked, dropped, _) = signals(&mut b, pkt(0).ecn(Ecn::Ect0));
        assert_eq!(marked, 0.0);
        assert_near(dropped, b.gauge(ms(0), "prob_c"));
    }
}

/// ECT is marked while the square is at most 25 % (p' 50 %) and dropped from there on, except with other options.
#[test]
fn ect_is_dropped_beyond_the_threshold() {
    for (words, base, marks) in [
        ("pi2", 0.48, true),
        ("pi2", 0.52, false),
        ("pi2 ecn_drop 10%", 0.30, true),
        ("pi2 ecn_drop 10%", 0.34, false),
        ("pi2 ecn_drop 100%", 0.9, true),
    ] {
        let mut b = at_base(words, base);
        let squared = b.gauge(ms(0), "prob_c");
        for ecn in [Ecn::Ect0, Ecn::Ect1] {
            let (marked, dropped, reason) = signals(&mut b, pkt(0).ecn(ecn));
            assert_near(if marks { marked } else { dropped }, squared);
            assert_near(if marks { dropped } else { marked }, 0.0);
            assert_eq!(
                reason,
                Some(if marks { Reason::Classic } else { Reason::Overload }),
                "{words} {base}"
            );
        }
    }
}

/// The paper's coexistence: ECT(1) at k p' = 2 √p_C, ECT(0) at its square, in one queue.
#[test]
fn scalable_traffic_meets_the_root() {
    let mut b = at_base("pi2 scalable", 0.2);
    let p = b.gauge(ms(0), "prob");
    let (marked, _, reason) = signals(&mut b, pkt(0).ecn(Ecn::Ect1));
    assert_near(marked, 2.0 * p);
    assert_eq!(reason, Some(Reason::Coupled));
    let (marked, _, reason) = signals(&mut b, pkt(0).ecn(Ecn::Ect0));
    assert_near(marked, p * p);
    assert_eq!(reason, Some(Reason::Classic));
    let mut b = at_base("pi2 scalable", 0.6);
    let (marked, dropped, _) = signals(&mut b, pkt(0).ecn(Ecn::Ect1));
    assert_near(dropped, b.gauge(ms(0), "prob_c"));
    assert_eq!(marked, 0.0);
}

#[test]
fn two_full_packets_must_stay_and_the_limit_refuses() {
    let mut b = at_base("pi2 limit 3", 0.9999);
    b.put(ms(0), pkt(1));
    b.put(ms(0), pkt(2));
    b.put(ms(0), pkt(3).long(FULL - 1));
    b.put(ms(0), pkt(4));
    assert_eq!(b.log.drops(), [(4, Reason::Tail)]);
    (1..4).for_each(|id| assert_eq!(b.get(ms(0)).id, id));
    (5..8).for_each(|id| b.put(ms(0), pkt(id)));
    assert_eq!(b.get(ms(0)).id, 6);
    assert_eq!(b.log.drops()[1..], [(5, Reason::Overload)]);
    assert_eq!((b.stat("overlimit"), b.stat("dropped")), (1.0, 2.0));
    b.change(ms(0), "pi2 limit 1");
    assert_eq!(b.backlog().packets, 1);
    b.put(ms(0), pkt(9));
    assert_eq!(b.log.drops()[2..], [(9, Reason::Tail)]);
}
