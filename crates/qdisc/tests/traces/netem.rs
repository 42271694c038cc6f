use crate::bench::{Bench, ms, ns, pkt};
use proptest::prelude::*;
use proptest::sample::select;
use sojourn_qdisc::netem::Parameters;
use sojourn_qdisc::{Dequeued, QdiscQuirks, Reason, Registry};
use sojourn_units::{Ecn, Span};

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
    assert_eq!(b.log.drops(), [(3, Reason::Tail)]);
    b.get(ms(10));
    b.put(ms(10), pkt(4));
    assert_eq!(b.log.dropped.len(), 1);
    let mut b = Bench::new("netem delay 10ms");
    (0..1001).for_each(|id| b.put(ms(0), pkt(id)));
    assert_eq!(b.log.drops(), [(1000, Reason::Tail)]);
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

/// Options that tc does not name in a change go back to their defaults: one structure is handed over whole.
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
    let deviation = (delays.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / n as f64).sqrt();
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
    let variance = delays.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / n as f64;
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
    let variance = delays.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / n as f64;
    let lag = delays.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum::<f64>() / n as f64;
    assert!((mean / 2147.0 - 1.0).abs() < 0.01, "{mean}");
    assert!((variance / (2147.0 * 2147.0 / 3.0) - 1.0 / 3.0).abs() < 0.02, "{variance}");
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
        let lost = b.log.drops().iter().filter(|d| d.1 == Reason::Loss).count();
        assert_eq!(lost, b.log.dropped.len());
        assert!((1850..2150).contains(&lost), "{lost}");
    }
    let mut b = Bench::new("netem loss 100% limit 1");
    (0..5).for_each(|id| b.put(ms(0), pkt(id)));
    assert_eq!(b.log.drops().iter().filter(|d| d.1 == Reason::Loss).count(), 5);
}

#[test]
fn with_ecn_what_can_be_marked_is_not_lost() {
    let mut b = Bench::new("netem loss 100% ecn");
    b.put(ms(0), pkt(1).ecn(Ecn::Ect0));
    b.put(ms(0), pkt(2));
    assert_eq!(b.log.marks(), [(1, Reason::Loss)]);
    assert_eq!(b.log.drops(), [(2, Reason::Loss)]);
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

/// Loss compares the mixed value itself, which spreads less than a uniform one: at 50 %, a threshold of 30 % is
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

/// Everything that leaves, with its time, asked whenever the discipline says.
fn all(b: &mut Bench, mut now: sojourn_units::Time) -> Vec<(u64, sojourn_units::Time)> {
    let mut out = Vec::new();
    loop {
        match b.take(now) {
            Dequeued::Packet(packet) => out.push((packet.id, now)),
            Dequeued::Wait(at) => now = at,
            Dequeued::Empty => return out,
        }
    }
}

/// A slot of exactly 1 ms with two packets, by hand. Asked at 0, the first packet is due at 0.2: the slot drawn
/// at the beginning, 1 ms, is not before it and stands. 1 and 2 leave at 1; the next slot is at 2: 3, and the fourth,
/// due at 1.7. 5 comes at 2.5 and is due at 2.7; the slot at 3 was drawn when 4 left, and serves it.
#[test]
fn a_slot_by_hand() {
    let mut b = Bench::new("netem delay 200us slot 1ms packets 2");
    (1..=3).for_each(|id| b.put(ms(0), pkt(id)));
    assert_eq!(b.take(ms(0)), Dequeued::Wait(ms(1)));
    assert_eq!([b.get(ms(1)).id, b.get(ms(1)).id], [1, 2]);
    assert_eq!(b.take(ms(1)), Dequeued::Wait(ms(2)));
    b.put(ns(1_500_000), pkt(4));
    assert_eq!([b.get(ms(2)).id, b.get(ms(2)).id], [3, 4]);
    b.put(ns(2_500_000), pkt(5));
    assert_eq!(b.take(ns(2_500_000)), Dequeued::Wait(ms(3)));
    assert_eq!(b.get(ms(3)).id, 5);
}

/// A slot serves only what was due when it opened: the slot at 1 is behind packet 2, due at 1.3, and a new one is
/// counted from the moment of asking. Asked again before the packet is due, it is not drawn again: 2.2 is
/// later than 1.3.
#[test]
fn what_becomes_due_later_waits_for_another_slot() {
    let mut b = Bench::new("netem delay 200us slot 1ms");
    b.put(ms(0), pkt(1));
    assert_eq!(b.get(ms(1)).id, 1);
    b.put(ns(1_100_000), pkt(2));
    for at in [1_200_000, 1_250_000] {
        assert_eq!(b.take(ns(at)), Dequeued::Wait(ns(2_200_000)));
    }
    // Late by 5 ms, and yet at once: the slot has been open since 2.2.
    assert_eq!(b.get(ms(7)).id, 2);
}

/// A delay longer than a slot's least gap: each time that it is asked before a packet is due, another slot is drawn.
#[test]
fn asking_early_draws_again() {
    let mut b = Bench::new("netem delay 10ms slot 1ms");
    b.put(ms(0), pkt(1));
    assert_eq!(b.take(ms(0)), Dequeued::Wait(ms(10)), "the slot at 1 is not before its time yet");
    assert_eq!(b.take(ns(9_500_000)), Dequeued::Wait(ns(10_500_000)), "a slot from 9.5 on");
}

#[test]
fn bytes_close_a_slot_behind_the_packet_that_exceeds_them() {
    let mut b = Bench::new("netem slot 1ms bytes 2000");
    (1..=3).for_each(|id| b.put(ms(0), pkt(id)));
    assert_eq!([b.get(ms(1)).id, b.get(ms(1)).id], [1, 2]);
    assert_eq!(b.take(ms(1)), Dequeued::Wait(ms(2)));
}

/// docs/sources/queues.md#slots-of-netem: with slots 0.8 to 5 ms apart the mean gap is 2.9 ms (standard deviation 4.2 / sqrt(12) = 1.21) and a
/// backlogged queue lets 16 packets a slot through: 66.8 Mbit/s of 1514 bytes. Of 5000 gaps the mean is known to
/// 0.017 ms.
#[test]
fn bursts_and_gaps_of_the_published_slots() {
    for (words, most, mean) in [
        ("slot 800us 5ms packets 16", 16, 2.9),
        ("slot 800us 5ms packets 32", 32, 2.9),
        ("slot 800us 10ms packets 42", 42, 5.4),
    ] {
        let mut b = Bench::new(&format!("netem delay 200us {words} limit 1000000"));
        let bursts = 5000;
        (0..most * bursts).for_each(|id| b.put(ms(0), pkt(id)));
        let left = all(&mut b, ms(0));
        assert!(left.is_sorted_by_key(|p| p.0), "a slot reorders nothing");
        let times: Vec<f64> =
            left.chunks(most as usize).map(|burst| burst[0].1.as_secs_f64() * 1e3).collect();
        for burst in left.chunks(most as usize) {
            assert!(burst.iter().all(|p| p.1 == burst[0].1), "as many as it says at once");
        }
        let gaps: Vec<f64> = times.windows(2).map(|w| w[1] - w[0]).collect();
        let found = gaps.iter().sum::<f64>() / gaps.len() as f64;
        assert!((found / mean - 1.0).abs() < 0.02, "{found}");
        let spread = 2.0 * (mean - 0.8);
        let variance =
            gaps.iter().map(|g| (g - found) * (g - found)).sum::<f64>() / gaps.len() as f64;
        assert!((variance.sqrt() / (spread / 12_f64.sqrt()) - 1.0).abs() < 0.02, "{variance}");
        let (low, high) = (0.8 - 1e-6, 0.8 + spread + 1e-6);
        assert!(gaps.iter().all(|g| (low..=high).contains(g)), "no gap is outside");
    }
}

/// A change keeps slots that it does not name; `slot 0` is none.
#[test]
fn slots_outlive_a_change() {
    let mut b = Bench::new("netem delay 1ms slot 2ms packets 1 loss 1% ecn");
    b.change(ms(0), "netem delay 3ms");
    assert_eq!(b.any.describe(), "limit 1000 delay 3ms slot 2ms 2ms packets 1 ecn");
    b.change(ms(0), "netem delay 3ms slot 0");
    assert_eq!(b.any.describe(), "limit 1000 delay 3ms ecn");
}

/// Gilbert: bad with 1 % and good again with 10 %, all lost while bad: 1 / 11 of the packets, in runs of 10 on
/// average.
#[test]
fn gilbert_loses_in_runs() {
    let mut b = Bench::new("netem loss gemodel 1% 10% limit 1000000");
    let n = 400_000;
    let lost = fates(&mut b, n);
    let share = lost.iter().filter(|l| **l).count() as f64 / n as f64;
    let runs = lost.windows(2).filter(|w| !w[0] && w[1]).count() as f64;
    assert!((share / (1.0 / 11.0) - 1.0).abs() < 0.04, "{share}");
    assert!((share * n as f64 / runs / 10.0 - 1.0).abs() < 0.04);
}

/// Elliott: 40 % are lost while bad (a third of the time), 3 % while good: 15.33 %.
#[test]
fn elliott_loses_by_state() {
    let mut b = Bench::new("netem loss gemodel 5% 10% 40% 3% limit 1000000");
    let lost = fates(&mut b, 400_000);
    let share = lost.iter().filter(|l| **l).count() as f64 / lost.len() as f64;
    let expected = 0.4 / 3.0 + 0.03 * 2.0 / 3.0;
    assert!((share / expected - 1.0).abs() < 0.02, "{share}");
    assert_eq!(
        Bench::new("netem loss gemodel 5%").any.describe(),
        "limit 1000 loss gemodel p 5% r 95% 1-h 100% 1-k 0%"
    );
}

fn fates(b: &mut Bench, n: u64) -> Vec<bool> {
    (0..n)
        .map(|id| {
            let before = b.log.dropped.len();
            b.put(ms(0), pkt(id));
            b.log.dropped.len() > before
        })
        .collect()
}

/// Each comes twice, the copy first in the queue; a copy is not copied. Of 20 000 at 10 %, 2000 are (42).
#[test]
fn copies() {
    let mut b = Bench::new("netem delay 1ms duplicate 100%");
    (1..=2).for_each(|id| b.put(ms(0), pkt(id)));
    assert_eq!(b.log.copied, [1, 2]);
    let left: Vec<u64> = all(&mut b, ms(0)).into_iter().map(|p| p.0).collect();
    assert_eq!(left, [1, 1, 2, 2]);
    let mut b = Bench::new("netem duplicate 10% limit 100000");
    (0..20_000).for_each(|id| b.put(ms(0), pkt(id)));
    assert!((1850..2150).contains(&b.log.copied.len()));
    assert_eq!(b.backlog().packets as usize, 20_000 + b.log.copied.len());
    // One of two is lost: a copied packet comes once, any other not at all.
    let mut b = Bench::new("netem duplicate 100% loss 100%");
    b.put(ms(0), pkt(1));
    assert_eq!((b.log.copied.len(), b.backlog().packets), (0, 1));
}

/// Each third packet may go ahead, and does; of several that go ahead before anyone asks, the last is first.
#[test]
fn reordered_packets_go_ahead() {
    let mut b = Bench::new("netem delay 10ms reorder 100% gap 3");
    (1..=6).for_each(|id| b.put(ms(0), pkt(id)));
    let left = all(&mut b, ms(0));
    let expected = [(6, 0), (3, 0), (1, 10), (2, 10), (4, 10), (5, 10)].map(|(id, t)| (id, ms(t)));
    assert_eq!(left, expected);
    // 25 % of 20 000 go ahead (61).
    let mut b = Bench::new("netem delay 10ms reorder 25% limit 100000");
    (0..20_000).for_each(|id| b.put(ms(0), pkt(id)));
    let ahead = all(&mut b, ms(0)).into_iter().filter(|p| p.1 == ms(0)).count();
    assert!((4800..5200).contains(&ahead), "{ahead}");
    assert_eq!(
        Bench::new("netem delay 10ms reorder 25% 50%").any.describe(),
        "limit 1000 delay 10ms reorder 25% 50% gap 1"
    );
}

#[test]
fn options_that_need_others() {
    let profile = QdiscQuirks::LINUX_7_3;
    let mut random = sojourn_units::Random::named(1, "");
    for (words, part) in [
        ("netem reorder 10%", "needs a delay"),
        ("netem delay 1ms gap 3", "needs \"reorder\""),
        ("netem packets 3", "not given"),
        ("netem loss 1% 2% 3%", "correlation"),
        ("netem loss random gemodel 1%", "one of"),
        ("netem loss gemodel state 1%", "one of"),
        ("netem loss gemodel 1% 2% 3% 4% 5%", "five"),
        ("netem loss state 60% 1% 1% 1% 50%", "add up"),
        ("netem delay 1ms distribution normal", "jitter"),
        ("netem delay 1ms 1ms distribution norml", "did you mean \"normal\"?"),
    ] {
        let built = Registry::<crate::bench::Pkt>::built_in().build(words, &profile, &mut random);
        let error = built.expect_err(words).to_string();
        assert!(error.contains(part), "{words}: {error}");
    }
}

/// At 8 Mbit/s a byte takes a microsecond: three packets of 1514, 66 and 1000 bytes that come together leave one after
/// the other, 10 ms after they came at the earliest; the delay is not served twice. One that comes later than the last
/// of them is due waits for its own delay and time only.
#[test]
fn a_rate_sends_one_packet_after_the_other() {
    let mut b = Bench::new("netem delay 10ms rate 8mbit limit 100");
    for (id, len) in [(1, 1514), (2, 66), (3, 1000)] {
        b.put(ms(0), pkt(id).long(len));
    }
    let micros = |n: u64| ns(n * 1000);
    for (id, at) in [(1, 11_514), (2, 11_580), (3, 12_580)] {
        assert_eq!(b.take(micros(at - 1)), Dequeued::Wait(micros(at)));
        assert_eq!(b.get(micros(at)).id, id);
    }
    b.put(ms(20), pkt(4).long(1000));
    assert_eq!(b.take(ms(20)), Dequeued::Wait(ms(31)));
    // This one finds the last due in 9 ms: a millisecond of its delay is left, and then its time.
    b.put(ms(22), pkt(5).long(500));
    b.get(ms(31));
    assert_eq!(b.take(ms(31)), Dequeued::Wait(micros(32_500)));
}

/// ATM: 1514 and 10 bytes of overhead are 31.75 cells of 48, so 32 of 53 bytes are sent.
#[test]
fn a_rate_can_count_cells() {
    let mut b = Bench::new("netem rate 8mbit 10 48 5 limit 100");
    b.put(ms(0), pkt(1));
    assert_eq!(b.take(ms(0)), Dequeued::Wait(ns(32 * 53 * 1000)));
    assert_eq!(
        b.any.describe(),
        "limit 100 rate 8Mbit packetoverhead 10 cellsize 48 celloverhead 5"
    );
    // A change keeps a rate that it does not name.
    b.change(ms(0), "netem limit 50");
    assert!(b.any.describe().contains("rate 8Mbit"));
}

/// Delays of 20 000 packets, each alone, in milliseconds.
fn delays(words: &str) -> Vec<f64> {
    let mut b = Bench::new(words);
    (0..20_000_u64)
        .map(|id| {
            let now = ms(id * 1000);
            b.put(now, pkt(id));
            let Dequeued::Wait(at) = b.take(now) else { panic!("it is delayed") };
            b.get(at);
            at.since(now).as_secs_f64() * 1e3
        })
        .collect()
}

/// Of a normal jitter of 5 ms the deviation is 5 ms; of Pareto's (shape 3) the least is 10/3 ms below the delay and the
/// median 5 x (2^(1/3) - 3/2) x 4/3 = 1.601 ms below it; the sum of both is between them.
#[test]
fn jitter_has_the_shape_that_is_asked_for() {
    let shape = |name: &str| {
        let mut d = delays(&format!("netem delay 50ms 5ms distribution {name}"));
        d.sort_by(f64::total_cmp);
        let mean = d.iter().sum::<f64>() / d.len() as f64;
        let sd = (d.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / d.len() as f64).sqrt();
        (d[0], d[d.len() / 2], mean, sd)
    };
    let (_, median, mean, sd) = shape("normal");
    assert!((mean - 50.0).abs() < 0.15 && (median - 50.0).abs() < 0.15, "{mean} {median}");
    assert!((sd - 5.0).abs() < 0.1, "{sd}");
    let (least, median, ..) = shape("pareto");
    assert!((least - (50.0 - 10.0 / 3.0)).abs() < 0.01, "{least}");
    assert!((median - 48.399).abs() < 0.1, "{median}");
    let (least, ..) = shape("paretonormal");
    assert!((40.0..46.0).contains(&least), "{least}");
    let (least, median, _, sd) = shape("uniform");
    assert!(least >= 45.0 && (median - 50.0).abs() < 0.15 && (sd - 2.887).abs() < 0.05);
}

/// The chain of four: of 100 packets in the good state one begins a burst (P13) and two are lone losses (P14); a burst
/// ends at a loss with 20 % (P31) or has a gap with 10 % (P32), which ends with 50 % (P23). In the long run, with g the
/// share of the good state: lost alone 0.02 g; in a burst b = 0.01 g / 0.2; gaps 0.1 b / 0.5.
#[test]
fn four_states_lose_in_bursts_and_alone() {
    let mut b = Bench::new("netem loss state 1% 20% 10% 50% 2% limit 1000000");
    let lost = fates(&mut b, 400_000);
    let share = lost.iter().filter(|l| **l).count() as f64 / lost.len() as f64;
    let (alone, burst) = (0.02, 0.01 / 0.2);
    let expected = (alone + burst) / (1.0 + alone + burst + 0.1 * burst / 0.5);
    assert!((share / expected - 1.0).abs() < 0.03, "{share} {expected}");
    assert_eq!(
        Bench::new("netem loss state 5%").any.describe(),
        "limit 1000 loss state p13 5% p31 95% p32 0% p23 100% p14 0%"
    );
}

/// Words of netem as somebody might write them, each option or none of it.
fn parameters() -> impl Strategy<Value = String> {
    let share = || (0_u64..=100_000).prop_map(|n| format!("{}%", n as f64 / 1e3));
    let time = || (1_u64..3_000_000_000).prop_map(|n| format!("{n}ns"));
    let maybe = |words: BoxedStrategy<String>| prop_oneof![Just(String::new()), words];
    let with = |name: &'static str, values: BoxedStrategy<String>| {
        maybe(values.prop_map(move |v| format!("{name} {v} ")).boxed())
    };
    let up_to_two =
        || (share(), maybe(share().boxed())).prop_map(|(a, b)| format!("{a} {b}")).boxed();
    let loss = prop_oneof![
        up_to_two(),
        (share(), share(), share(), share())
            .prop_map(|(a, b, c, d)| format!("gemodel {a} {b} {c} {d}")),
        (0_u32..50, 0_u32..50, 0_u32..50, 0_u32..50, 0_u32..50)
            .prop_map(|(a, b, c, d, e)| format!("state {a}% {b}% {c}% {d}% {e}%")),
    ];
    let rate = (8_u64..400_000_000_000, 0..3_usize, 0_u32..100, 0_u32..100, 0_u32..100).prop_map(
        |(rate, n, a, b, c)| {
            format!("{rate}bit {}", [String::new(), format!("{a}"), format!("{a} {b} {c}")][n])
        },
    );
    let slot = (
        time(),
        maybe(time().boxed()),
        with("packets", (0_u32..99).prop_map(|n| n.to_string()).boxed()),
    )
        .prop_map(|(min, max, packets)| format!("{min} {max} {packets}"));
    let shape = select(vec![
        "",
        "distribution normal ",
        "distribution pareto ",
        "distribution paretonormal ",
    ]);
    let delay = (time(), 1_u32..2_000_000_000, maybe(share().boxed()), shape)
        .prop_map(|(delay, jitter, rho, shape)| format!("delay {delay} {jitter}ns {rho} {shape}"));
    (
        prop_oneof![Just(String::new()), with("latency", time().boxed()), delay],
        with("rate", rate.boxed()),
        with("loss", loss.boxed()),
        select(vec!["", "ecn "]),
        with("duplicate", up_to_two()),
        maybe(
            (1_u32..=100, 1_u32..50)
                .prop_map(|(p, gap)| format!("reorder {p}% gap {gap} delay 3ms "))
                .boxed(),
        ),
        with("slot", slot.boxed()),
        with("limit", (1_u64..5_000_000_000).prop_map(|n| n.to_string()).boxed()),
    )
        .prop_map(|(a, b, c, d, e, f, g, h)| {
            // A delay is given once.
            let a = if f.is_empty() { a } else { String::new() };
            format!("{a}{b}{c}{d}{e}{f}{g}{h}")
        })
}

proptest! {
    /// What is written reads the same, to the last bit, and tells the same of the delay.
    #[test]
    fn parameters_read_as_they_are_written(words in parameters()) {
        // What is refused (a limit beyond 32 bits) is no netem.
        let Ok(netem) = Parameters::parse(&words, &QdiscQuirks::LINUX_7_3) else { return Ok(()) };
        let written = netem.to_string();
        prop_assert_eq!(&Parameters::parse(&written, &QdiscQuirks::LINUX_7_3).unwrap(), &netem, "{}", written);
        prop_assert_eq!(netem.to_string(), written);
        let other = Span::from_nanos(12_345_678);
        let changed = netem.clone().with_delay(other);
        prop_assert_eq!(changed.delay(), other);
        prop_assert_eq!(changed.varies(), netem.varies());
        prop_assert_eq!(changed.with_delay(netem.delay()), netem);
    }
}

/// A netem by itself, and what makes it more than a delay.
#[test]
fn parameters_say_what_is_delayed_how() {
    let read = |words| Parameters::parse(words, &QdiscQuirks::LINUX_7_3).unwrap();
    for (words, delay, varies) in [
        ("", 0, false),
        ("delay 4ms limit 7", 4, false),
        ("latency 4ms", 4, false),
        ("limit 7 delay 4000", 4, false),
        ("delay 4ms 2ms 10%", 4, true),
        ("delay 4ms loss 1%", 4, true),
        ("delay 4ms slot 1ms", 4, true),
        ("delay 4ms rate 1mbit", 4, true),
        ("delay 4ms duplicate 1%", 4, true),
        ("delay 4ms reorder 1%", 4, true),
    ] {
        let netem = read(words);
        assert_eq!((netem.delay(), netem.varies()), (Span::from_millis(delay), varies), "{words}");
    }
    let own = |words| read(words).with_delay(Span::from_millis(10)).to_string();
    assert_eq!(own("delay 40ms 2ms limit 5"), "delay 10000us 2000us limit 5");
    assert_eq!(own("latency 40ms limit 5"), "delay 10000us limit 5");
    assert_eq!(own("limit 5"), "delay 10000us limit 5");
    let error = Parameters::parse("delay 4ms lose 1%", &QdiscQuirks::LINUX_7_3).unwrap_err();
    assert_eq!(
        (error.at.clone(), error.to_string().contains("\"loss\"")),
        (10..14, true),
        "{error}"
    );
}
