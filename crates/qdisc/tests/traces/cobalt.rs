//! COBALT's law by hand, on the disciplines that run it plainest.

use crate::bench::{Bench, Pkt, ms, ns, pkt};
use sojourn_qdisc::{Dequeued, Reason};
use sojourn_units::{Ecn, Time};

/// `n` packets at time 0; the packet that leaves at k ms has waited k.
fn standing(words: &str, n: u64, packet: impl Fn(u64) -> Pkt) -> Bench {
    let mut b = Bench::new(words);
    (0..n).for_each(|id| b.put(ms(0), packet(id)));
    b
}

fn millis(told: &[(Time, Pkt, Reason)], reason: Reason) -> Vec<u64> {
    told.iter().filter(|t| t.2 == reason).map(|t| t.0.as_nanos() / 1_000_000).collect()
}

/// Target 5 ms, interval 100 ms. The packet at 6 ms is the first above target: count 1, and as nothing was ever
/// signalled, 1/sqrt is 0 and the next signal due at once. Then each is 100 ms / sqrt(count) behind the last:
///
/// | count | due, ms | dequeue |
/// |-------|---------|---------|
/// | 1     | 6       | 7       |
/// | 2     | 76.711  | 77      |
/// | 3     | 134.446 | 135     |
/// | 4     | 184.446 | 185     |
/// | 5     | 229.167 | 230     |
/// | 6     | 269.992 | 270     |
/// | 7     | 307.788 | 308     |
/// | 8     | 343.144 | 344     |
#[test]
fn signals_come_at_once_and_then_by_the_root_of_the_count() {
    for (ecn, told) in [(Ecn::NotEct, false), (Ecn::Ect0, true)] {
        let mut b = standing("cobalt no-sce", 1000, |id| pkt(id).ecn(ecn));
        (0..=344).for_each(|k| b.pass(ms(k)));
        let log = if told { &b.log.marked } else { &b.log.dropped };
        assert_eq!(millis(log, Reason::ControlLaw), [7, 77, 135, 185, 230, 270, 308, 344]);
        assert_eq!(b.gauge(ms(344), "count"), 9.0);
        assert_eq!(b.stats().dropped, if told { 0 } else { 8 });
    }
}

/// Count is 5 and the next signal due at 229.167 ms when the queue is emptied at 186: the schedule starts again from
/// there, 186 + 44.721 = 230.721 ms, and count goes down on it, first by the gap of the count that is left.
///
/// | count | from    | to 100 ms / sqrt(count) later |
/// |-------|---------|-------------------------------|
/// | 4     | 230.721 | 280.721                       |
/// | 3     | 280.721 | 338.457                       |
/// | 2     | 338.457 | 409.167                       |
/// | 1     | 409.167 | 509.167                       |
/// | 0     | 509.167 |                               |
///
/// At rest the wait is a whole interval: filled again at 700, above target at 706, signalled at 806 and 876.711.
#[test]
fn count_decays_on_its_schedule() {
    let mut b = standing("cobalt no-sce", 400, pkt);
    (0..=185).for_each(|k| b.pass(ms(k)));
    while b.backlog().packets > 0 {
        b.pass(ms(186));
    }
    let mut before = b.gauge(ms(186), "count");
    assert_eq!((before, b.gauge(ms(186), "dropping")), (5.0, 0.0));
    let mut falls = Vec::new();
    for k in 187..700 {
        b.put(ms(k), pkt(k));
        b.pass(ms(k));
        let count = b.gauge(ms(k), "count");
        if count < before {
            falls.push((k, count));
            before = count;
        }
    }
    assert_eq!(falls, [(231, 4.0), (281, 3.0), (339, 2.0), (410, 1.0), (510, 0.0)]);
    b.log.dropped.clear();
    (0..400).for_each(|id| b.put(ms(700), pkt(id)));
    (700..=880).for_each(|k| b.pass(ms(k)));
    assert_eq!(millis(&b.log.dropped, Reason::ControlLaw), [806, 877]);
}

/// SCE: target 2.5 ms, interval 25 ms. First above it at 3 ms, so due at 3 and marked at 4; then 25 ms / sqrt(count)
/// apart. An SCE mark refreshes the other schedule's root too, so CE waits its interval: above 5 ms at 6, CE at 106.
#[test]
fn sce_has_a_schedule_of_its_own() {
    let mut b = standing("cobalt", 400, |id| pkt(id).ecn(Ecn::Ect0));
    (0..=107).for_each(|k| b.pass(ms(k)));
    let sce = millis(&b.log.sce_marked, Reason::ControlLaw);
    assert_eq!(sce, [4, 21, 36, 48, 59, 69, 79, 88, 96, 104]);
    assert_eq!(millis(&b.log.marked, Reason::ControlLaw), [106]);
    assert_eq!((b.stat("sce_mark"), b.stat("ecn_mark"), b.stats().dropped), (10.0, 1.0, 0));
}

/// ECT(1) is SCE already and takes no mark; the schedule waits for a packet that can be marked.
#[test]
fn only_ect0_takes_an_sce_mark() {
    let mut b = standing("cobalt", 400, |id| {
        pkt(id).ecn(match id {
            0..=30 => Ecn::Ect1,
            31..=50 => Ecn::NotEct,
            _ => Ecn::Ect0,
        })
    });
    (0..=60).for_each(|k| b.pass(ms(k)));
    // The signal of 3 ms is taken by the first ECT(0), 51; the rest of the schedule has been waiting too.
    assert_eq!(b.log.sce_marked[0].0, ms(51));
    assert_eq!(b.stat("ecn_mark") + b.stats().dropped as f64, 1.0, "CE, at 7 and no more");
}

/// rtt 10 ms: target 0.5 ms, BLUE above 40 ms. Each packet a millisecond apart that waited longer makes it 1/256
/// more; it drops what could be marked. An empty queue makes it 1/4096 less.
#[test]
fn blue_grows_above_four_intervals_and_shrinks_when_empty() {
    let mut b = standing("cobalt rtt 10ms", 2000, |id| pkt(id).ecn(Ecn::Ect0));
    (0..=40).for_each(|k| b.pass(ms(k)));
    assert_eq!(b.gauge(ms(40), "p_drop"), 0.0);
    for k in 41..=140 {
        b.pass(ms(k));
        assert_eq!(b.gauge(ms(k), "p_drop"), (k - 40) as f64 / 256.0);
    }
    let blue = millis(&b.log.dropped, Reason::Blue).len();
    assert_eq!((blue as f64, b.log.dropped.len()), (b.stat("blue_drop"), blue));
    // The expectation is the sum of p / (1 - p), as a drop is followed by another try: 24.5.
    assert!((10..=45).contains(&blue), "{blue}");
    while b.backlog().packets > 0 {
        b.take(ms(140));
    }
    for k in 1..=16 {
        b.put(ms(140 + k), pkt(k));
        b.pass(ms(140 + k));
    }
    assert_eq!(b.gauge(ms(156), "p_drop"), 99.0 / 256.0);
}

/// A packet with nothing behind it is not judged.
#[test]
fn the_last_packet_is_safe() {
    let mut b = Bench::new("cobalt rtt 1ms");
    for k in 0..50 {
        b.put(ms(k * 1000), pkt(k).ecn(Ecn::Ect0));
        assert_eq!(b.get(ms(k * 1000 + 900)).ecn, Ecn::Ect0);
    }
    assert_eq!(b.take(ns(60_000_000_000)), Dequeued::Empty);
}

#[test]
fn what_is_not_written_stays_and_sce_keeps_its_interval() {
    let mut b = Bench::new("cobalt rtt 40ms sce-thresh 8");
    assert_eq!(b.any.describe(), "rtt 40ms sce-thresh 8");
    // 5 ms of 80 is a sixteenth.
    b.change(ms(0), "cobalt rtt 80ms");
    assert_eq!(b.any.describe(), "rtt 80ms sce-thresh 16");
    b.change(ms(0), "cobalt lan no-sce");
    assert_eq!(b.any.describe(), "rtt 1ms no-sce");
    assert_eq!(Bench::new("cobalt sce-thresh 4 rtt 8ms").any.describe(), "rtt 8ms sce-thresh 4");
}
