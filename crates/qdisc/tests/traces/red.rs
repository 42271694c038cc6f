//! RED by hand. With `ewma` 1 the average moves half of the way to what is held at each arrival.

use crate::bench::{Bench, Pkt, ms, pkt};
use sojourn_qdisc::{Context, QdiscQuirks, Reason, TcTokens};
use sojourn_units::{Ecn, Span, Time};

/// What tc printed in the published runs: `ewma` is Wlog.
#[test]
fn tc_computes_the_parameters() {
    for (words, shown) in [
        (
            "red limit 400000 avpkt 1000 adaptive bandwidth 50mbit ecn",
            "limit 400000b min 33333b max 100000b ecn adaptive ewma 5 probability 0.02 Scell_log 13",
        ),
        (
            "red limit 150000 avpkt 1000 adaptive bandwidth 50mbit ecn",
            "limit 150000b min 12500b max 37500b ecn adaptive ewma 4 probability 0.02 Scell_log 12",
        ),
        // Bursts as computed above, 55 and 20, and what differs where they are one less.
        (
            "red limit 400000 avpkt 1000 burst 55 bandwidth 50mbit harddrop",
            "limit 400000b min 33333b max 100000b harddrop ewma 5 probability 0.02 Scell_log 13",
        ),
        (
            "red limit 150000 avpkt 1000 burst 20 bandwidth 50mbit",
            "limit 150000b min 12500b max 37500b ewma 4 probability 0.02 Scell_log 12",
        ),
        (
            "red limit 400000 min 20000 avpkt 1000 probability 0.1",
            "limit 400000b min 20000b max 60000b ewma 4 probability 0.1 Scell_log 14",
        ),
    ] {
        assert_eq!(Bench::new(words).any.describe(), shown, "{words}");
    }
}

#[test]
fn what_tc_cannot_compute_is_an_error() {
    let error = |words: &str| {
        let mut b = Bench::new("red limit 400000 avpkt 1000");
        let mut cx = Context { random: &mut b.random, telemetry: &mut b.log };
        b.any.change(ms(0), &mut TcTokens::new(words), &mut cx).unwrap_err().to_string()
    };
    assert_eq!(
        error("red limit 400000 avpkt 1000 burst 10"),
        "a \"burst\" of 10 packets of 1000 bytes is too small; write burst 34"
    );
    assert_eq!(
        error("red limit 4000000000 avpkt 1000"),
        "\"max\" 1000000000 with a weight of 1/2^18 is too large; write a smaller max or burst"
    );
    assert_eq!(
        error("red limit 400000 avpkt 1000 min 20000 max 20000"),
        "\"max\" 20000 is not above \"min\" 20000; write a greater max or limit"
    );
    assert_eq!(
        error("red limit 400000"),
        "red needs \"avpkt\"; write \"avpkt\" and a size from 1 to 4294967295 bytes, such as 32k"
    );
}

/// min 1000, max 3000 and burst 1 make ewma 1. The first packet finds an idle queue; each other halves the way:
/// 0, 500, 1250, 2125, 3062.5 (of 4000 held) bytes; the last is above max.
fn short(more: &str) -> Bench {
    Bench::new(&format!(
        "red limit 100000 min 1000 max 3000 avpkt 1000 burst 1 probability 0.000001 {more}"
    ))
}

fn kilo(id: u64) -> Pkt {
    pkt(id).long(1000)
}

#[test]
fn the_average_after_each_arrival() {
    let mut b = short("");
    for (id, average) in [0.0, 500.0, 1250.0, 2125.0, 3062.5].into_iter().enumerate() {
        b.put(ms(0), kilo(id as u64));
        assert_eq!(b.gauge(ms(0), "average"), average);
    }
    assert_eq!(b.log.drops(), [(4, Reason::Hard)]);
    assert_eq!((b.stat("early"), b.stats().overlimits), (1.0, 1));
    // What leaves changes nothing until the next arrival: 3062.5 + (0 - 3062.5) / 2, rounded.
    (0..4).for_each(|_| b.pass(ms(0)));
    b.put(ms(0), kilo(9));
    assert_eq!(b.gauge(ms(0), "average"), 1531.5);
}

#[test]
fn ecn_marks_and_harddrop_drops_at_the_upper_threshold() {
    for (more, ecn, marked) in [
        ("ecn", Ecn::Ect0, true),
        ("ecn", Ecn::Ect1, true),
        ("ecn", Ecn::NotEct, false),
        ("ecn harddrop", Ecn::Ect0, false),
        ("", Ecn::Ect0, false),
    ] {
        let mut b = short(more);
        (0..5).for_each(|id| b.put(ms(0), kilo(id).ecn(ecn)));
        let signal = vec![(4, Reason::Hard)];
        let (drops, marks) = if marked { (vec![], signal) } else { (signal, vec![]) };
        assert_eq!((b.log.drops(), b.log.marks()), (drops, marks), "{more} {ecn:?}");
        assert_eq!(b.stat("marked"), f64::from(u8::from(marked)));
    }
}

#[test]
fn the_limit_is_in_bytes() {
    let mut b = Bench::new("red limit 4000 min 2000 max 3900 avpkt 1000 burst 20");
    (0..5).for_each(|id| b.put(ms(0), kilo(id)));
    b.put(ms(0), kilo(5).long(1));
    assert_eq!(b.log.drops(), [(4, Reason::Tail), (5, Reason::Tail)]);
    assert_eq!((b.stat("pdrop"), b.stat("early")), (2.0, 0.0));
}

/// Nobody asked in vain: the queue is not idle, and the average stays. Asked, it shrinks: at 1000 bytes and
/// 8 mbit a packet takes 1 ms, 15 625 ticks. tc's table halves each time the natural logarithm of (1 - 1/2)^packets
/// has fallen by 1, which is every 22 542 ticks; 31 times that are less than 512 cells of 2^11. The kernel looks
/// up microseconds where tc meant ticks: cell 7 at 16 ms (no halving yet: at most half by the straight line),
/// cell 15 at 32 ms (one), cell 23 at 48 ms (two).
#[test]
fn an_idle_average_shrinks_once_asked_in_vain() {
    let filled = || {
        let mut b = short("bandwidth 8mbit");
        (0..4).for_each(|id| b.put(ms(0), kilo(id)));
        (0..4).for_each(|_| b.pass(ms(0)));
        b
    };
    let mut b = filled();
    b.put(ms(1000), kilo(4));
    assert_eq!(b.gauge(ms(1000), "average"), 1062.5);
    for (idle, average) in [(16, 1062.0), (32, 1062.0), (48, 531.0), (10_000, 0.0)] {
        let mut b = filled();
        b.take(ms(0));
        b.take(ms(5));
        b.put(ms(idle), kilo(4));
        assert_eq!(b.gauge(ms(idle), "average").floor(), average, "{idle}");
        // And it is no longer idle.
        b.pass(ms(idle));
    }
    // An eighth of the first cell.
    let mut b = filled();
    b.take(ms(0));
    b.put(ms(0) + Span::from_micros(256), kilo(4));
    assert_eq!(b.gauge(ms(1), "average"), 1859.5);
}

/// With the average held between the thresholds, 2/5 of the way, p_b = 0.4 · 0.05 = 1/50 at which signals come
/// uniformly after 1 to 50 packets: 25.5 on the average, none beyond 51.
#[test]
fn signals_are_spaced_uniformly() {
    let mut b = Bench::new("red limit 400000 min 10000 max 30000 avpkt 1000 probability 0.05 ecn");
    let mut now = ms(0);
    // 18 000 bytes held: the average goes there.
    (0..18).for_each(|id| b.put(now, kilo(id)));
    for id in 0..1000 {
        b.pass(now);
        b.put(now, kilo(id).ecn(Ecn::Ect0));
        b.pass(now);
        b.put(now, kilo(id).ecn(Ecn::Ect0));
    }
    let average = b.gauge(now, "average");
    let held = 17_000.0;
    assert!((average - held).abs() < 50.0, "{average}");
    let (mut gaps, mut since) = (Vec::new(), 0);
    let before = b.log.marked.len();
    let mut seen = before;
    for id in 0..200_000 {
        now += Span::from_micros(10);
        b.pass(now);
        b.put(now, kilo(id).ecn(Ecn::Ect0));
        since += 1;
        if b.log.marked.len() > seen {
            seen = b.log.marked.len();
            gaps.push(since);
            since = 0;
        }
    }
    let most = 1.0 / (0.05 * (held - 10_000.0) / 20_000.0);
    let mean = f64::from(gaps[1..].iter().sum::<i32>()) / (gaps.len() - 1) as f64;
    assert!((mean / (most / 2.0) - 1.0).abs() < 0.03, "{mean} of {most}");
    assert!(f64::from(*gaps[1..].iter().max().unwrap()) < most + 2.0);
    assert!(b.log.marked.iter().all(|m| m.2 == Reason::Early));
}

/// Each half second: above 60 % of the way the probability grows by a quarter, at most 1 %; below 40 % it loses
/// a tenth, down to just under 1 %; in between it stays.
#[test]
fn adaptive_moves_the_probability() {
    let adapted = |held: u64, times: u64| {
        let words = "red limit 400000 min 10000 max 60000 avpkt 1000 adaptive ecn";
        let mut b = Bench::on(words, &QdiscQuirks { hz: 1000, ..QdiscQuirks::LINUX_5_4 });
        (0..held).for_each(|id| b.put(ms(0), kilo(id)));
        for id in 0..1000 {
            b.pass(ms(0));
            b.put(ms(0), kilo(id).ecn(Ecn::Ect0));
        }
        for _ in 0..times {
            let at = b.next_timer().unwrap();
            b.timer(at);
        }
        b.gauge(Time::ZERO, "max_p")
    };
    assert!((adapted(50, 1) - 0.025).abs() < 1e-9);
    assert!((adapted(50, 2) - 0.031_25).abs() < 1e-8);
    assert!((adapted(50, 3) - 0.039_062_5).abs() < 1e-8);
    assert!((adapted(50, 5) - 0.058_828_125).abs() < 1e-8, "from 4 % on by 1 %");
    assert!((adapted(50, 1000) - 0.508_828_125).abs() < 1e-6);
    assert_eq!(adapted(36, 10), adapted(36, 0));
    assert!((adapted(20, 1) - 0.018).abs() < 1e-8);
    // 0.02 · 0.9^7 = 0.009566: the first below 1 %.
    assert!((adapted(20, 100) - 0.009_565_938).abs() < 1e-8);
    assert_eq!(
        Bench::on("red limit 400000 avpkt 1000", &QdiscQuirks::LINUX_5_4).next_timer(),
        None
    );
    // A current tc does not hand the word over where the kernel starts the timer by it.
    assert_eq!(Bench::new("red limit 400000 avpkt 1000 adaptive").next_timer(), None);
}

/// tc makes a whole configuration, and the kernel a new queue for it.
#[test]
fn a_change_loses_what_is_held() {
    let mut b = short("");
    (0..3).for_each(|id| b.put(ms(0), kilo(id)));
    b.change(ms(1), "red limit 400000 avpkt 1000");
    assert_eq!(b.log.drops(), [(0, Reason::Flushed), (1, Reason::Flushed), (2, Reason::Flushed)]);
    assert_eq!(b.gauge(ms(1), "average"), 0.0);
}
