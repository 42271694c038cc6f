//! fq_pie by hand, and with one queue against `pie`. The gains are as in `pie.rs` of this directory.

use crate::bench::{Bench, FULL, Pkt, ms, pkt};
use proptest::prelude::*;
use sojourn_qdisc::{Dequeued, QdiscQuirks, Reason};
use sojourn_units::{Ecn, Random, Span, Time};

/// A quantum is a full packet, so each turn is one: flow 1 and flow 2 are new and go once each, then alternate as old
/// ones. Flow 3 comes when both are old and goes before them, once; its queue, emptied, still takes a turn among the
/// old.
#[test]
fn turns() {
    let mut b = Bench::new("fq_pie");
    for (id, flow) in [(1, 1), (2, 1), (4, 2), (5, 2), (3, 1)] {
        b.put(ms(0), pkt(id).of(flow));
    }
    assert_eq!(b.stat("new_flows_len"), 2.0);
    let mut order: Vec<u64> = (0..3).map(|_| b.get(ms(1)).id).collect();
    b.put(ms(1), pkt(6).of(3));
    order.extend((0..3).map(|_| b.get(ms(1)).id));
    assert_eq!(order, [1, 4, 2, 6, 5, 3]);
    assert_eq!(b.take(ms(1)), Dequeued::Empty);
    assert_eq!((b.stat("new_flow_count"), b.stat("pkts_in")), (3.0, 6.0));
    assert_eq!(b.stat("old_flows_len") + b.stat("new_flows_len"), 0.0);
}

/// A quantum of 3000 lets a full packet and the next go: 3000 - 1514 = 1486 > 0, 1486 - 1514 = -28. The next turn has
/// 2972, less two packets: -56.
#[test]
fn an_overrun_is_owed() {
    let mut b = Bench::new("fq_pie quantum 3000");
    (0..6).for_each(|id| b.put(ms(0), pkt(id).of(1)));
    (10..14).for_each(|id| b.put(ms(0), pkt(id).of(2)));
    let order: Vec<u64> = (0..10).map(|_| b.get(ms(0)).id).collect();
    assert_eq!(order, [0, 1, 10, 11, 2, 3, 12, 13, 4, 5]);
}

/// (0.125 · (0.050 - 0.015) + 1.25 · 0.050) / 2048, to a millionth of itself: the kernel's fractions are rounded down.
fn is_first_update(prob: f64) -> bool {
    (prob - 3.265_380_859e-5).abs() <= 3.265e-11
}

/// As `the_probability_after_each_update` of `pie`: the same delay gives the same probability.
#[test]
fn the_probability_after_the_first_update() {
    let mut b = Bench::new("fq_pie");
    (0..10).for_each(|id| b.put(ms(400), pkt(id).of(7)));
    b.pass(ms(450));
    b.timer(ms(503));
    assert_eq!(b.gauge(ms(503), "prob"), 0.0, "early calls do nothing");
    b.timer(ms(504));
    let prob = b.gauge(ms(504), "prob");
    assert!(is_first_update(prob), "{prob}");
    assert_eq!(b.gauge(ms(504), "delay"), 0.05);
    assert_eq!(b.next_timer(), Some(ms(520)));
}

/// A queue with half a second's burst allowance long gone and a probability past certainty's threshold; flow 1 loses
/// packets, flow 2, which never waited, none.
#[test]
fn only_the_flow_with_the_queue_is_signalled() {
    let mut b = Bench::new("fq_pie");
    let mut id = 0;
    for t in 0..4_000 {
        // Flow 1 offers twice what leaves; flow 2 a packet now and then.
        for flow in [1, 1].into_iter().chain((t % 50 == 0).then_some(2)) {
            b.put(ms(t), pkt(id).of(flow));
            id += 1;
        }
        b.pass(ms(t));
        while b.next_timer().is_some_and(|at| at <= ms(t)) {
            b.timer(ms(t));
        }
    }
    let lost = b.log.dropped.iter().map(|(_, packet, reason)| (packet.flow, *reason));
    let lost: Vec<_> = lost.collect();
    assert!(lost.len() > 500, "{}", lost.len());
    assert!(lost.iter().all(|lost| *lost == (1, Reason::Early)));
    assert_eq!(b.stat("dropped"), lost.len() as f64);
}

/// More memory than allowed is counted and lets everything in: each packet weighs 1280 + 1448 = 2728 bytes; when the
/// third comes, the two held, 5456, are over 2000 + 2728.
#[test]
fn the_memory_limit_counts_and_drops_nothing() {
    let mut b = Bench::new("fq_pie memory_limit 2000");
    (0..4).for_each(|id| b.put(ms(0), pkt(id)));
    assert_eq!((b.stat("overmemory"), b.backlog().packets), (2.0, 4));
    assert_eq!(b.stat("memory_used"), 4.0 * 2728.0);
    assert!(b.log.dropped.is_empty());
}

/// The limit is over all queues, and packets beyond it are refused whoever sends them.
#[test]
fn the_limit_refuses_arrivals() {
    let mut b = Bench::new("fq_pie limit 3");
    (0..3).for_each(|id| b.put(ms(0), pkt(id).of(1)));
    b.put(ms(0), pkt(3).of(2));
    assert_eq!(b.log.drops(), [(3, Reason::Tail)]);
    assert_eq!((b.stat("overlimit"), b.stat("dropped")), (1.0, 1.0));
    b.change(ms(1), "fq_pie limit 1");
    assert_eq!(b.log.drops()[1..], [(0, Reason::Overlimit), (1, Reason::Overlimit)]);
    assert_eq!(b.backlog().packets, 1);
}

/// 5000 queues are three visits, a tick apart; `tupdate`, 15 ticks and one more, counts from the last.
#[test]
fn the_timer_visits_2048_queues_at_a_time() {
    let mut b = Bench::new("fq_pie flows 5000");
    let mut fired = Vec::new();
    for _ in 0..7 {
        let at = b.next_timer().unwrap();
        fired.push(at.as_nanos() / 1_000_000);
        b.timer(at);
    }
    assert_eq!(fired, [504, 505, 506, 522, 523, 524, 540]);
}

/// Up to `ecn_prob` an ECN-capable packet is marked, beyond it is dropped.
#[test]
fn ecn_prob_bounds_marking() {
    let run = |words: &str| {
        let mut b = Bench::new(words);
        let mut id = 0;
        let mut prob_at_drop = f64::MAX;
        let mut prob_at_mark = 0.0_f64;
        for t in 0..6_000 {
            for _ in 0..2 {
                let (drops, marks) = (b.log.dropped.len(), b.log.marked.len());
                b.put(ms(t), pkt(id).ecn(Ecn::Ect0));
                id += 1;
                let prob = b.gauge(ms(t), "prob");
                if b.log.dropped.len() > drops {
                    prob_at_drop = prob_at_drop.min(prob);
                }
                if b.log.marked.len() > marks {
                    prob_at_mark = prob_at_mark.max(prob);
                }
            }
            b.pass(ms(t));
            while b.next_timer().is_some_and(|at| at <= ms(t)) {
                b.timer(ms(t));
            }
        }
        assert_eq!(b.stat("ecn_mark"), b.log.marked.len() as f64);
        (prob_at_mark, prob_at_drop)
    };
    for (words, bound) in [("fq_pie ecn", 0.10), ("fq_pie ecn ecn_prob 30", 0.30)] {
        let (marked, dropped) = run(words);
        assert!(marked > bound / 2.0 && marked <= bound, "{words}: marked at {marked}");
        assert!(dropped > bound && dropped < 1.0, "{words}: dropped at {dropped}");
    }
    assert_eq!(run("fq_pie").0, 0.0, "off by default");
}

/// A kernel before 5.6 has none; its profile has that of 5.6, whatever its `pie` is.
#[test]
fn profiles_without_one() {
    let old = QdiscQuirks { hz: 1000, ..QdiscQuirks::LINUX_5_4 };
    let mut b = Bench::on("fq_pie no_dq_rate_estimator", &old);
    (0..10).for_each(|id| b.put(ms(400), pkt(id)));
    b.pass(ms(450));
    b.timer(ms(504));
    assert!(is_first_update(b.gauge(ms(504), "prob")));
}

#[test]
fn as_tc_shows_it() {
    let mut b = Bench::new("fq_pie limit 150 ecn bytemode quantum 300");
    (0..3).for_each(|id| b.put(ms(0), pkt(id).long(FULL)));
    b.pass(ms(1));
    assert_eq!(
        b.any.show(),
        "\
qdisc fq_pie limit 150p flows 1024 target 15ms tupdate 15ms alpha 2 beta 20 quantum 300b memory_limit 32Mb ecn_prob 10 ecn bytemode
 Sent 1514 bytes 1 pkt (dropped 0, overlimits 0 requeues 0)
 backlog 3028b 2p requeues 0
  pkts_in 3 overlimit 0 overmemory 0 dropped 0 ecn_mark 0
  new_flow_count 1 new_flows_len 1 old_flows_len 0 memory_used 5456
"
    );
}

/// What was dropped, and what was marked, in order.
fn decisions(b: &Bench) -> [Vec<(u64, Reason)>; 2] {
    [b.log.drops(), b.log.marks()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// With one queue it is `pie`: the same packets leave, and the same are dropped and marked, out of the same stream.
    /// That also shows that a visit left out of a controller at rest would have changed nothing, since `pie` leaves none out.
    #[test]
    fn with_one_queue_it_is_pie(
        limit in 3_u32..400,
        (target, tupdate, alpha, beta) in (0_u64..20_000, 1_000_u64..30_000, 0_u32..=32, 0_u32..=32),
        (ecn, bytemode, by_rate) in any::<(bool, bool, bool)>(),
        steps in prop::collection::vec((0_u64..20_000, 0_u8..8, 60_u32..1515, 0_u8..4, 0_u64..40), 50..600),
    ) {
        let options = format!(
            "limit {limit} target {target}us tupdate {tupdate}us alpha {alpha} beta {beta}{}{}{}",
            if ecn { " ecn" } else { "" },
            if bytemode { " bytemode" } else { "" },
            if by_rate { " dq_rate_estimator" } else { "" },
        );
        let mut pie = Bench::new(&format!("pie {options}"));
        let mut fq_pie = Bench::new(&format!("fq_pie flows 1 {options}"));
        (pie.random, fq_pie.random) = (Random::named(2, "both"), Random::named(2, "both"));
        let mut now = Time::ZERO;
        for (id, (pause, what, len, bits, rest)) in steps.into_iter().enumerate() {
            // Long rests, now and then, let controllers come to rest.
            let pause = if rest == 0 { pause * 200 } else { pause / 4 };
            now += Span::from_micros(pause);
            for b in [&mut pie, &mut fq_pie] {
                while let Some(at) = b.next_timer().filter(|at| *at <= now) {
                    b.timer(at);
                }
            }
            if what < 5 {
                for k in 0..=u64::from(what) {
                    let packet: Pkt = pkt(id as u64 * 8 + k).long(len).ecn(Ecn::from_bits(bits));
                    pie.put(now, packet);
                    fq_pie.put(now, packet.of(k));
                }
            } else {
                let (one, other) = (pie.take(now), fq_pie.take(now));
                let id = |taken: &Dequeued<Pkt>| match taken {
                    Dequeued::Packet(packet) => Some((packet.id, packet.ecn)),
                    _ => None,
                };
                prop_assert_eq!(id(&one), id(&other));
            }
            prop_assert_eq!(decisions(&pie), decisions(&fq_pie));
            prop_assert_eq!(pie.next_timer(), fq_pie.next_timer());
        }
        let names = ["pkts_in", "overlimit", "dropped", "ecn_mark"];
        prop_assert_eq!(names.map(|name| pie.stat(name)), names.map(|name| fq_pie.stat(name)));
        prop_assert_eq!(pie.backlog(), fq_pie.backlog());
    }
}
