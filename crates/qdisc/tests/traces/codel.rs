//! CoDel's time unit is 1024 ns: target 5 ms is 4882 units, interval 100 ms is 97 656 (99.999744 ms).

use crate::bench::{Bench, Pkt, ms, pkt};
use sojourn_qdisc::{Dequeued, QdiscQuirks, Reason};
use sojourn_units::Ecn;

/// `n` packets at time 0; then one dequeue a millisecond, so that the packet that leaves at k ms has waited k.
fn standing(words: &str, n: u64, packet: impl Fn(u64) -> Pkt) -> Bench {
    let mut b = Bench::new(words);
    (0..n).for_each(|id| b.put(ms(0), packet(id)));
    b
}

/// In milliseconds, when packets were dropped or marked by the control law.
fn signals(b: &Bench) -> Vec<u64> {
    let drops = b.log.dropped.iter().chain(&b.log.marked);
    drops.filter(|d| d.2 == Reason::ControlLaw).map(|d| d.0.as_nanos() / 1_000_000).collect()
}

/// The sojourn time reaches 4882 units at 5 ms; `first_above` is 4882 + 97 656 = 102 538, and the first dequeue
/// *after* it is at 105 ms (102 539). From there the law adds interval times the fraction y, which begins at
/// 65535/65536 and takes one Newton step, y (3 - n y²) / 2, at each signal:
///
/// | n | y       | next due, ms | dequeue |
/// |---|---------|--------------|---------|
/// | 1 | 0.99998 | 204.998      | 205     |
/// | 2 | 0.50002 | 254.999      | 255     |
/// | 3 | 0.56250 | 311.248      | 312     |
/// | 4 | 0.48779 | 360.026      | 361     |
/// | 5 | 0.44151 | 404.177      | 405     |
/// | 6 | 0.40407 | 444.583      | 445     |
/// | 7 | 0.37518 | 482.100      | 483     |
/// | 8 | 0.35152 | 517.251      | 518     |
///
/// The step lags behind 1/sqrt(n) at first (0.707 at 2) and has caught up by 7 (0.378).
#[test]
fn signals_come_an_interval_after_crossing_and_then_as_the_newton_step_has_it() {
    let mut b = standing("codel limit 2000", 1000, pkt);
    for k in 0..=520 {
        b.get(ms(k));
    }
    assert_eq!(signals(&b), [105, 205, 255, 312, 361, 405, 445, 483, 518]);
    assert_eq!((b.stat("count"), b.stat("lastcount"), b.stat("dropping")), (9.0, 1.0, 1.0));
    // Each dropped packet was the head; the one behind it left in its place.
    assert_eq!(b.log.drops()[0], (105, Reason::ControlLaw));
    assert_eq!(b.stat("maxpacket"), 1514.0);
    assert_eq!(b.stats().dropped, 9);
}

/// After many signals y is 1/sqrt(n) to a part in a thousand: the 100th gap is 10 ms, the 400th 5 ms.
#[test]
fn the_newton_step_converges() {
    let mut b = standing("codel limit 1000000", 100_000, pkt);
    let mut at = Vec::new();
    for k in 0..800_000 {
        let now = sojourn_units::Time::from_micros(k * 10);
        if b.log.dropped.len() > 450 {
            break;
        }
        if k % 10 == 0 || b.gauge(now, "drop_next") <= 0.0 {
            let before = b.log.dropped.len();
            b.get(now);
            if b.log.dropped.len() > before {
                at.push(now.as_nanos() as f64 / 1e6);
            }
        }
    }
    for n in [100_usize, 400] {
        let gap = at[n] - at[n - 1];
        assert!((gap - 100.0 / (n as f64).sqrt()).abs() < 0.03, "{n}: {gap}");
    }
}

#[test]
fn below_target_for_a_moment_starts_the_interval_again() {
    let mut b = standing("codel", 300, pkt);
    for k in 0..=100 {
        b.get(ms(k));
    }
    // The queue is emptied at 100 ms and filled again: sojourn is below target until 105.
    while b.backlog().packets > 0 {
        b.get(ms(100));
    }
    (0..300).for_each(|id| b.put(ms(100), pkt(id)));
    for k in 101..=204 {
        b.get(ms(k));
    }
    assert_eq!(signals(&b), []);
    // 105 ms is unit 102 539; 102 539 + 97 656 = 200 195, which is that of 205 ms: not yet after it.
    b.get(ms(205));
    assert_eq!(signals(&b), []);
    b.get(ms(206));
    assert_eq!(signals(&b), [206]);
}

/// What is left after the packet must be more than 1514 bytes.
#[test]
fn a_packet_that_leaves_one_mtu_behind_it_is_never_dropped() {
    let mut b = Bench::new("codel");
    b.put(ms(0), pkt(0));
    for k in 1..1000 {
        b.put(ms(k), pkt(k));
        // Two are held: taking one leaves one, 1514 bytes, each a second late.
        assert_eq!(b.get(ms(k + 1000)).id, k - 1);
    }
    assert_eq!(b.log.drops(), []);
    // With one byte more behind it, one is. (Then the queue is one packet shorter, and safe.)
    let mut b = Bench::new("codel");
    b.put(ms(0), pkt(0).long(1515));
    for k in 1..1000 {
        b.put(ms(k), pkt(k).long(1515));
        b.take(ms(k + 1000));
    }
    assert_eq!(b.log.dropped.len(), 1);
}

/// Signals are due at 205 and 255 ms; nobody asks until 300. Without ECN both are sent at once, by dropping
/// packets in a row; a mark ends the dequeue, so the second waits for the next one.
#[test]
fn one_dequeue_marks_once_but_may_drop_more() {
    let mut dropping = standing("codel", 500, pkt);
    let mut marking = standing("codel ecn", 500, |id| pkt(id).ecn(Ecn::Ect0));
    for b in [&mut dropping, &mut marking] {
        (0..=106).for_each(|k| b.pass(ms(k)));
        b.get(ms(300));
    }
    assert_eq!(signals(&dropping), [105, 300, 300]);
    assert_eq!(signals(&marking), [105, 300]);
    marking.get(ms(301));
    assert_eq!(signals(&marking), [105, 300, 301]);
    assert_eq!(marking.stat("ecn_mark"), 3.0);
    assert_eq!(marking.log.drops(), []);
}

/// A packet that is CE already takes the signal, and is no news.
#[test]
fn a_packet_that_is_ce_already_counts_but_is_not_reported() {
    let mut b = standing("codel ecn", 300, |id| pkt(id).ecn(Ecn::Ce));
    (0..=106).for_each(|k| b.pass(ms(k)));
    assert_eq!((b.stat("ecn_mark"), b.log.marked.len(), b.log.dropped.len()), (1.0, 0, 0));
}

#[test]
fn not_ect_is_dropped_even_with_ecn() {
    let mut b = standing("codel ecn", 300, pkt);
    (0..=106).for_each(|k| b.pass(ms(k)));
    assert_eq!(b.log.drops(), [(105, Reason::ControlLaw)]);
}

/// Six signals until 405 ms, `lastcount` 1. The queue is emptied and overflows its target again: `first_above`
/// passes within 16 intervals of `drop_next`, so count resumes at 6 - 1 = 5. y goes from 0.40407 to
/// 0.40407 (3 - 5 · 0.16327) / 2 = 0.44117: the next signal comes 44.117 ms after the first.
#[test]
fn the_dropping_state_resumes_near_where_it_was() {
    let run = |pause: u64| {
        let mut b = standing("codel limit 3000", 500, pkt);
        (0..=410).for_each(|k| b.pass(ms(k)));
        assert_eq!(b.stat("count"), 6.0);
        while b.backlog().packets > 0 {
            b.take(ms(410));
        }
        assert_eq!(b.stat("dropping"), 0.0);
        (0..500).for_each(|id| b.put(ms(pause), pkt(id)));
        b.log.dropped.clear();
        (pause..=pause + 106).for_each(|k| b.pass(ms(k)));
        (b.stat("count"), b)
    };
    let (count, mut b) = run(420);
    assert_eq!(count, 5.0);
    let first = signals(&b)[0];
    (527..=580).for_each(|k| b.pass(ms(k)));
    assert_eq!(signals(&b), [first, first + 45], "44.117 ms, at the next whole millisecond");
    // drop_next was 444.583 ms: 16 intervals later, at 2044.6 ms, it is too long ago.
    assert_eq!(run(1930).0, 5.0, "2035 ms");
    assert_eq!(run(1950).0, 1.0, "2055 ms");
}

#[test]
fn ce_threshold_marks_whatever_is_later_than_it() {
    let mut b = standing("codel ce_threshold 2ms", 10, |id| {
        pkt(id).ecn(if id == 4 { Ecn::NotEct } else { Ecn::Ect1 })
    });
    (0..=5).for_each(|k| b.pass(ms(k)));
    // 2 ms is 1953 units, and the packet at 2 ms has waited 1953: not more. Not-ECT cannot be marked.
    assert_eq!(b.log.marks(), [(3, Reason::CeThreshold), (5, Reason::CeThreshold)]);
    assert_eq!((b.stat("ce_mark"), b.stat("ecn_mark")), (2.0, 0.0));
}

#[test]
fn the_limit_refuses_and_a_lowered_one_drops_from_the_head() {
    let mut b = standing("codel limit 4", 5, pkt);
    assert_eq!(b.log.drops(), [(4, Reason::Tail)]);
    assert_eq!(b.stat("drop_overlimit"), 1.0);
    b.change(ms(1), "codel limit 2 target 1ms");
    assert_eq!(b.log.drops()[1..], [(0, Reason::Overlimit), (1, Reason::Overlimit)]);
    assert_eq!(b.get(ms(1)).id, 2);
    // 1 ms is 976 units of 1024 ns: 999 us, as tc shows it; of 99.999 ms it shows three digits.
    assert_eq!(b.any.describe(), "limit 2p target 999us interval 100ms");
    // What is not written stays.
    b.change(ms(1), "codel ecn");
    assert_eq!(b.any.describe(), "limit 2p target 999us interval 100ms ecn");
    assert_eq!(b.get(ms(1)).id, 3);
    assert_eq!(b.take(ms(1)), Dequeued::Empty);
}

/// An interval of 1 us is none in units of 1024 ns. Of 1000 packets one leaves at 1 ms (unit 976), which sets the time
/// above target; at 2 ms (1953) one is dropped and one leaves, and the next signal is due at once, or, bounded, a unit later,
/// at 1954. At 3 ms (2929) 976 of these are due. Unbounded the queue is dropped but for one that leaves and one, an MTU,
/// behind it: 995. Bounded 256 go, and the next one is due after now.
#[test]
fn a_dequeue_drops_so_many_at_the_most() {
    let words = "codel limit 2000 target 0 interval 1us";
    for (profile, dropped) in
        [(&QdiscQuirks::LINUX_5_10, [0, 1, 995, 0]), (&QdiscQuirks::LINUX_7_3, [0, 1, 256, 256])]
    {
        let mut b = Bench::on(words, profile);
        (0..1000).for_each(|id| b.put(ms(0), pkt(id)));
        for (k, expected) in (1..).zip(dropped) {
            b.log.dropped.clear();
            b.get(ms(k));
            assert_eq!(b.log.dropped.len(), expected, "{} at {k} ms", profile.name);
            if (profile.name, k) == ("linux-7.3", 3) {
                assert_eq!(b.gauge(ms(3), "drop_next"), 1024e-9);
            }
        }
    }
}
