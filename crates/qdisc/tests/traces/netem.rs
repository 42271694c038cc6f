use crate::bench::{Bench, ms, ns, pkt};
use sojourn_qdisc::{Dequeued, Why};
use sojourn_units::Ecn;

#[test]
fn a_constant_delay_keeps_order_and_spacing() {
    let mut b = Bench::new("netem delay 10ms");
    b.put(ms(0), pkt(1));
    b.put(ns(3), pkt(2));
    assert_eq!(b.take(ns(3)), Dequeued::Wait(ms(10)));
    assert_eq!(b.take(ns(9_999_999)), Dequeued::Wait(ms(10)));
    assert_eq!(b.get(ms(10)).id, 1);
    assert_eq!(b.take(ms(10)), Dequeued::Wait(ns(10_000_003)));
    // Nothing is lost by asking late.
    assert_eq!(b.get(ms(12)).id, 2);
    assert_eq!(b.take(ms(12)), Dequeued::Empty);
}

#[test]
fn it_holds_no_more_than_its_limit() {
    let mut b = Bench::new("netem delay 10ms limit 2");
    (1..=3).for_each(|id| b.put(ms(0), pkt(id)));
    assert_eq!(b.log.drops(), [(3, Why::Tail)]);
    b.get(ms(10));
    b.put(ms(10), pkt(4));
    assert_eq!(b.log.dropped.len(), 1);
    let mut b = Bench::new("netem delay 10ms");
    (0..1001).for_each(|id| b.put(ms(0), pkt(id)));
    assert_eq!(b.log.drops(), [(1000, Why::Tail)]);
}

/// A lowered delay lets what comes overtake what is on its way, in order of departure, equal ones in order of
/// arrival: 1 at 20, 2 at 21 by the old delay; 3 at 12, 5 at 13, ten at 20, 4 at 21 by the
/// new.
#[test]
fn a_delay_lowered_at_run_time_reorders() {
    let mut b = Bench::new("netem delay 20ms limit 20");
    b.put(ms(0), pkt(1));
    b.put(ms(1), pkt(2));
    b.change(ms(2), "netem delay 10ms limit 20");
    b.put(ms(2), pkt(3));
    b.put(ms(3), pkt(5));
    (10..20).for_each(|id| b.put(ms(10), pkt(id)));
    b.put(ms(11), pkt(4));
    assert_eq!(b.gauge(ms(11), "late"), 12.0);
    let mut order = Vec::new();
    for t in 0..30 {
        while let Dequeued::Packet(packet) = b.take(ms(t)) {
            order.push((t, packet.id));
        }
    }
    assert_eq!(order[..3], [(12, 3), (13, 5), (20, 1)]);
    assert_eq!(order[3..13], (10..20).map(|id| (20, id)).collect::<Vec<_>>());
    assert_eq!(order[13..], [(21, 2), (21, 4)]);
    assert_eq!(b.backlog().bytes, 0);
}

/// What tc does not name in a change goes back to its default: one structure is handed over whole.
#[test]
fn a_change_without_limit_takes_the_default_limit() {
    let mut b = Bench::new("netem delay 20ms limit 1");
    b.change(ms(0), "netem delay 10ms");
    assert_eq!(b.any.describe(), "limit 1000 delay 10ms");
}

/// Uniform in [delay - jitter, delay + jitter): mean 10 ms, standard deviation jitter / sqrt(3) = 2.887 ms.
/// With 20 000 draws the mean is known to 0.02 ms and no draw is outside.
#[test]
fn jitter_is_uniform_about_the_delay() {
    let mut b = Bench::new("netem delay 10ms 5ms limit 100000");
    let n = 20_000;
    (0..n).for_each(|id| b.put(ms(0), pkt(id)));
    let mut delays = Vec::new();
    let mut ids = Vec::new();
    let mut now = ms(0);
    loop {
        match b.take(now) {
            Dequeued::Packet(packet) => {
                delays.push(packet.stamp.as_nanos() as f64 / 1e6);
                ids.push(packet.id);
            }
            Dequeued::Wait(at) => now = at,
            Dequeued::Empty => break,
        }
    }
    assert_eq!(delays.len(), n as usize);
    assert!(delays.is_sorted(), "packets leave in the order of their times");
    assert!(!ids.is_sorted(), "jitter reorders");
    assert!(delays[0] >= 5.0 && *delays.last().unwrap() < 15.0);
    let mean = delays.iter().sum::<f64>() / n as f64;
    let deviation = (delays.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / n as f64).sqrt();
    assert!((mean - 10.0).abs() < 0.08, "{mean}");
    assert!((deviation - 2.887).abs() < 0.05, "{deviation}");
}

/// The kernel mixes 32-bit values, rho of the last and 1 - rho of a fresh one, and only then takes the rest of
/// dividing by twice the jitter in nanoseconds. That rest of a value 430 times as wide is uniform and knows
/// nothing of the one before: with jitter far below 4 s a correlation changes *nothing* but the draws.
#[test]
fn correlated_jitter_is_as_uniform_as_any() {
    let mut b = Bench::new("netem delay 10ms 5ms 50% limit 100000");
    let n = 20_000_u64;
    let mut delays = vec![0.0; n as usize];
    for id in 0..n {
        b.put(ms(0), pkt(id));
    }
    while let Dequeued::Packet(packet) = b.take(ms(20)) {
        delays[packet.id as usize] = packet.stamp.as_nanos() as f64 / 1e6;
    }
    let mean = delays.iter().sum::<f64>() / n as f64;
    let variance = delays.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / n as f64;
    let lag = delays.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum::<f64>() / n as f64;
    assert!((mean - 10.0).abs() < 0.1, "{mean}");
    assert!((variance / (25.0 / 3.0) - 1.0).abs() < 0.03, "{variance}");
    assert!((lag / variance).abs() < 0.03, "{lag}");
}

/// At 2 s, twice the jitter is 4.0e9 of 4.29e9: the mixture of values shows. Half of each: the variance of a
/// first-order process, (1 - rho) / (1 + rho), is a third of a uniform one's, and its lag-1 correlation rho.
#[test]
fn a_correlation_mixes_values() {
    let mut b = Bench::new("netem delay 2147ms 2147ms 50% limit 100000");
    let n = 20_000_u64;
    let mut delays = vec![0.0; n as usize];
    (0..n).for_each(|id| b.put(ms(0), pkt(id)));
    while let Dequeued::Packet(packet) = b.take(ms(5000)) {
        delays[packet.id as usize] = packet.stamp.as_nanos() as f64 / 1e6;
    }
    let mean = delays.iter().sum::<f64>() / n as f64;
    let variance = delays.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / n as f64;
    let lag = delays.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum::<f64>() / n as f64;
    assert!((mean / 2147.0 - 1.0).abs() < 0.01, "{mean}");
    assert!((variance / (2147_f64.powi(2) / 3.0) - 1.0 / 3.0).abs() < 0.02, "{variance}");
    assert!((lag / variance - 0.5).abs() < 0.03, "{lag}");
}

/// Jitter above the delay can ask for a departure in the past: that is now.
#[test]
fn a_negative_delay_is_none() {
    let mut b = Bench::new("netem delay 0ms 5ms");
    (0..100).for_each(|id| b.put(ms(1), pkt(id)));
    let mut at_once = 0;
    while let Dequeued::Packet(_) = b.take(ms(1)) {
        at_once += 1;
    }
    assert!((25..75).contains(&at_once), "about half: {at_once}");
}

/// 10 % of 20 000 is 2000 with a standard deviation of 42.
#[test]
fn loss_is_random_and_comes_before_the_limit() {
    for words in [
        "netem loss random 10% limit 30000",
        "netem loss 10% limit 30000",
        "netem drop 10 limit 30000",
    ] {
        let mut b = Bench::new(words);
        (0..20_000).for_each(|id| b.put(ms(0), pkt(id)));
        let lost = b.log.drops().iter().filter(|d| d.1 == Why::Loss).count();
        assert_eq!(lost, b.log.dropped.len());
        assert!((1850..2150).contains(&lost), "{lost}");
    }
    let mut b = Bench::new("netem loss 100% limit 1");
    (0..5).for_each(|id| b.put(ms(0), pkt(id)));
    assert_eq!(b.log.drops().iter().filter(|d| d.1 == Why::Loss).count(), 5);
}

#[test]
fn with_ecn_what_can_be_marked_is_not_lost() {
    let mut b = Bench::new("netem loss 100% ecn");
    b.put(ms(0), pkt(1).ecn(Ecn::Ect0));
    b.put(ms(0), pkt(2));
    assert_eq!(b.log.marks(), [(1, Why::Loss)]);
    assert_eq!(b.log.drops(), [(2, Why::Loss)]);
    assert_eq!(b.get(ms(0)).ecn, Ecn::Ce);
}

/// Flushing takes both the ring and the heap.
#[test]
fn a_flush_leaves_nothing() {
    let mut b = Bench::new("netem delay 10ms 5ms");
    (0..100).for_each(|id| b.put(ms(0), pkt(id)));
    b.flush(ms(1));
    assert_eq!((b.backlog().packets, b.log.dropped.len()), (0, 100));
    assert_eq!(b.take(ms(100)), Dequeued::Empty);
    b.put(ms(100), pkt(1));
    assert!(matches!(b.take(ms(100)), Dequeued::Wait(_)));
}

/// Loss compares the mixed value itself, whose spread is less than uniform: at 50 %, a threshold of 30 % is
/// undercut 12.96 % of the time, and 36.5 % of the time after a loss (2 million draws in another language).
#[test]
fn correlated_loss_is_bursty_and_rarer_than_asked() {
    let mut b = Bench::new("netem loss 30% 50% limit 1000000");
    let n = 200_000;
    let mut lost = Vec::new();
    for id in 0..n {
        let before = b.log.dropped.len();
        b.put(ms(0), pkt(id));
        lost.push(b.log.dropped.len() > before);
    }
    let share = lost.iter().filter(|l| **l).count() as f64 / n as f64;
    let pairs = lost.windows(2).filter(|w| w[0]).count() as f64;
    let after = lost.windows(2).filter(|w| w[0] && w[1]).count() as f64 / pairs;
    assert!((share - 0.1296).abs() < 0.005, "{share}");
    assert!((after - 0.3646).abs() < 0.01, "{after}");
}
