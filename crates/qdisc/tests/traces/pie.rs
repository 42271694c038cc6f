//! PIE by hand. The gains are alpha = 2/16 and beta = 20/16 per second; below 10 % of probability they are
//! divided by 2, below 1 %, 0.1 %, … 0.0001 % by a further 4 each, so by 2048 at first.

use crate::bench::{Bench, FULL, ms, ns, pkt};
use sojourn_qdisc::{QdiscQuirks, Reason};
use sojourn_units::{Ecn, Span, Time};

/// The probability, to a millionth of itself.
fn assert_prob(b: &Bench, expected: f64) {
    let prob = b.gauge(Time::ZERO, "prob");
    assert!((prob - expected).abs() <= expected * 1e-6, "{prob} is not {expected}");
}

/// A queue with a last delay of `delay` ms, with its burst allowance used up by 600 ms, and plenty held.
fn with_delay(words: &str, delay: u64) -> Bench {
    let mut b = Bench::new(words);
    let put_at = 600 - delay;
    (0..3).for_each(|id| b.put(ms(0), pkt(id)));
    b.pass(ms(0));
    // Time between departures eats the allowance of 150 ms.
    b.pass(ms(150));
    b.pass(ms(150));
    (0..100).for_each(|id| b.put(ms(put_at), pkt(id)));
    b.pass(ms(600));
    assert_eq!(b.gauge(ms(600), "burst_time"), 0.0);
    b
}

/// A packet leaves 50 ms after it came; the update follows with an old delay of 0. Then one leaves that waited
/// 110 ms, at a probability below 1e-4, so divided by 2·4·4·4 = 128. Then none, so that only the distance from
/// target gives something, 0.125 · 0.095 = 0.011875:
///
/// | what is added                                                 | the sum     |
/// |---------------------------------------------------------------|-------------|
/// | (0.125 · (0.050 - 0.015) + 1.25 · 0.050) / 2048               | 3.265381e-5 |
/// | (0.125 · 0.095 + 1.25 · 0.060) / 128 = 6.787109e-4            | 7.113647e-4 |
/// | 0.011875 / 32 (below 1e-3) = 3.710938e-4                      | 1.082458e-3 |
/// | 0.011875 / 8 (below 1e-2) = 1.484375e-3, six times            | 9.988708e-3 |
/// | once more, since that is below 1e-2                           | 1.147308e-2 |
/// | 0.011875 / 2 (below 1e-1) = 5.9375e-3                         | 1.741058e-2 |
#[test]
fn the_probability_after_each_update() {
    let mut b = Bench::new("pie");
    // 500 ticks of a millisecond ahead the wheel moves by eights, and then by ones (`CoarseClock`).
    assert_eq!(b.next_timer(), Some(ms(504)));
    (0..10).for_each(|id| b.put(ms(400), pkt(id)));
    b.pass(ms(450));
    b.timer(ms(503));
    assert_eq!(b.gauge(ms(503), "prob"), 0.0, "early calls do nothing");
    b.timer(ms(504));
    assert_prob(&b, 3.265_380_859e-5);
    assert_eq!(b.next_timer(), Some(ms(520)));
    b.pass(ms(510));
    b.timer(ms(520));
    assert_prob(&b, 7.113_647_461e-4);
    for (k, expected) in [
        1.082_458e-3,
        2.566_833e-3,
        4.051_208e-3,
        5.535_583e-3,
        7.019_958e-3,
        8.504_333e-3,
        9.988_708e-3,
        1.147_308_3e-2,
        1.741_058_3e-2,
    ]
    .into_iter()
    .enumerate()
    {
        b.timer(ms(536 + 16 * k as u64));
        let prob = b.gauge(ms(0), "prob");
        assert!((prob - expected).abs() < 1e-9, "{k}: {prob} is not {expected}");
    }
    assert_eq!(b.stat("delay"), 0.11);
}

/// The fixed-point form of the first update above, by long arithmetic: 2^56 - 1 divided by the ticks of a
/// second is 4 611 686 018; times 2, over 16, over 2048 is 281 474; times 20 … 2 814 749. Delay 50 ms is
/// 781 250 ticks, target 234 375: 281 474 · 546 875 + 2 814 749 · 781 250 = 2 352 953 750 000 parts of 2^56 - 1.
#[test]
fn the_arithmetic_is_the_kernel_s_to_the_last_bit() {
    let mut b = Bench::new("pie");
    (0..10).for_each(|id| b.put(ms(400), pkt(id)));
    b.pass(ms(450));
    b.timer(ms(504));
    let parts = 281_474_u64 * 546_875 + 2_814_749 * 781_250;
    assert_eq!(b.gauge(ms(504), "prob"), parts as f64 / ((1_u64 << 56) - 1) as f64);
}

/// With a delay of 240 ms the distance gives 0.125 · 0.225 = 0.028 a time once the probability is at 10 %: no
/// more than 2 % is taken. Above 250 ms, 2 % come on top.
#[test]
fn steps_are_bounded_and_a_very_long_delay_adds_to_them() {
    for (delay, step) in [(240, 0.02), (260, 0.04)] {
        let mut b = with_delay("pie limit 10000", delay);
        let mut k = 0;
        while b.gauge(ms(0), "prob") < 0.1 {
            k += 1;
            b.timer(ms(600 + 16 * k));
        }
        for _ in 0..5 {
            let before = b.gauge(ms(0), "prob");
            k += 1;
            b.timer(ms(600 + 16 * k));
            assert!((b.gauge(ms(0), "prob") - before - step).abs() < 1e-9);
        }
    }
}

/// In 5.4 the probability stops at certainty; from 5.10 only its report does.
#[test]
fn certainty_is_the_end() {
    let b = |profile| {
        let mut b = Bench::on("pie", profile);
        (0..1000).for_each(|id| b.put(ms(0), pkt(id)));
        // Delay: by rate, what is left at 50 Mbit/s, about 220 ms; by time stamp 230 ms.
        (0..30).for_each(|k| b.pass(ns(k * 242_240)));
        b.pass(ms(230));
        (0..300).for_each(|k| b.timer(ms(504 + 16 * k)));
        assert_eq!(b.gauge(ms(0), "prob"), 1.0);
        b
    };
    // Emptied, the delay is gone by the next update, which takes 1.25 · delay off what there was.
    for (profile, is_wound_up) in
        [(&QdiscQuirks::LINUX_5_4, false), (&QdiscQuirks::LINUX_7_3, true)]
    {
        let mut b = b(profile);
        (31..1000).for_each(|k| b.pass(ms(10_000 + k)));
        b.timer(ms(20_000));
        assert_eq!(b.gauge(ms(0), "prob") == 1.0, is_wound_up, "{}", profile.name);
    }
}

/// In 5.4 a gain times a long delay overflows 63 bits: at full gain alpha does from 4 s, beyond which a longer
/// queue *lowers* the probability. Later kernels have 8 bits to spare.
#[test]
fn a_very_long_delay_overflows_in_5_4() {
    let prob = |words, profile| {
        let mut b = Bench::on(words, profile);
        (0..1000).for_each(|id| b.put(ms(0), pkt(id)));
        // A packet each 10 ms: 12 s for the rest.
        (0..30).for_each(|k| b.pass(ms(10 * k)));
        (0..300).for_each(|k| b.timer(ms(504 + 16 * k)));
        b.gauge(ms(0), "prob")
    };
    assert_eq!(prob("pie", &QdiscQuirks::LINUX_5_4), 0.0);
    assert_eq!(prob("pie dq_rate_estimator", &QdiscQuirks::LINUX_5_10), 1.0);
}

/// No early drop during the burst allowance, however high the probability.
#[test]
fn the_burst_allowance_protects_the_first_150_ms_of_departures() {
    let mut b = Bench::new("pie limit 10000");
    (0..5000).for_each(|id| b.put(ms(0), pkt(id)));
    b.pass(ms(1));
    b.pass(ms(140));
    assert_eq!(b.gauge(ms(0), "burst_time"), 0.011);
    b.pass(ms(150));
    (0..60).for_each(|k| b.timer(ms(504 + 16 * k)));
    assert!(b.gauge(ms(0), "prob") > 0.2);
    (0..100).for_each(|id| b.put(ms(1400), pkt(id)));
    assert_eq!(b.log.drops(), [], "one millisecond of it is left");
    b.pass(ms(1401));
    (0..100).for_each(|id| b.put(ms(1401), pkt(id)));
    assert!(b.log.dropped.len() > 5);
    assert!(b.log.dropped.iter().all(|d| d.2 == Reason::Early));
}

/// Decisions are spaced (RFC 8033 §5.5). At probability p none comes before 0.85 / p packets and one at
/// 8.5 / p at the latest; in between each packet is drawn for, so 1 / p more on the average, and the end is
/// reached by e^-7.65, one in 2100.
#[test]
fn early_drops_are_neither_bunched_nor_far_apart() {
    let mut b = with_delay("pie limit 1000000", 110);
    let mut k = 0;
    while b.gauge(ms(0), "prob") < 0.08 {
        k += 1;
        b.timer(ms(600 + 16 * k));
    }
    let p = b.gauge(ms(0), "prob");
    (0..1000).for_each(|id| b.put(ms(1000), pkt(id)));
    let mut now = ms(1000);
    let (mut gaps, mut since) = (Vec::new(), 0);
    b.log.dropped.clear();
    for id in 0..1_000_000 {
        // A standing queue of about 900 packets, 90 ms.
        now += Span::from_micros(100);
        b.put(now, pkt(id));
        since += 1;
        if b.log.dropped.is_empty() {
            b.pass(now);
        } else {
            b.log.dropped.clear();
            gaps.push(since);
            since = 0;
        }
    }
    gaps.remove(0);
    let (least, most) = ((0.85 / p).ceil() as i32, (8.5 / p).ceil() as i32);
    assert!(gaps.iter().all(|g| (least..=most).contains(g)), "{least}..={most}");
    let mean = f64::from(gaps.iter().sum::<i32>()) / gaps.len() as f64;
    // What begins at the first packet past 0.85 / p rounds up by half a packet.
    assert!((mean * p - 1.85).abs() < 0.05, "{}", mean * p);
    let certain = gaps.iter().filter(|g| **g == most).count();
    assert!((5..60).contains(&certain), "about 21: {certain}");
}

/// Up to 10 % ECT is marked and Not-ECT dropped; above, both are dropped. noecn never marks.
#[test]
fn marks_up_to_ten_percent_and_drops_above() {
    for (words, below) in [("pie ecn limit 100000", true), ("pie limit 100000", false)] {
        let mut b = with_delay(words, 200);
        let mut k = 0;
        let mut run = |b: &mut Bench, until: f64| {
            while b.gauge(ms(0), "prob") < until {
                k += 1;
                b.timer(ms(600 + 16 * k));
            }
            (b.log.dropped, b.log.marked) = (vec![], vec![]);
            (0..2000).for_each(|id| b.put(ms(1000), pkt(id).ecn(Ecn::Ect0)));
            (b.log.dropped.len(), b.log.marked.len())
        };
        let (dropped, marked) = run(&mut b, 0.05);
        assert!(b.gauge(ms(0), "prob") <= 0.1);
        assert_eq!((dropped > 20, marked > 20), (!below, below));
        let (dropped, marked) = run(&mut b, 0.11);
        assert!(dropped > 20 && marked == 0);
        assert_eq!(b.stat("dropped"), b.stats().dropped as f64);
    }
}

/// With less than two full packets held (3028 bytes) there is never an early drop, even at certainty.
#[test]
fn two_full_packets_must_be_held() {
    let mut b = with_delay("pie", 200);
    (0..200).for_each(|k| b.timer(ms(600 + 16 * k)));
    assert_eq!(b.gauge(ms(0), "prob"), 1.0);
    while b.backlog().packets > 1 {
        b.pass(ms(2000));
    }
    b.log.dropped.clear();
    b.put(ms(2000), pkt(1).long(FULL - 1));
    b.pass(ms(2000));
    b.put(ms(2000), pkt(2));
    assert_eq!(b.backlog().bytes, 3027);
    b.put(ms(2000), pkt(3).long(FULL - 1));
    assert_eq!(b.log.drops(), [], "3027 bytes were held");
    b.pass(ms(2100));
    b.pass(ms(2100));
    b.put(ms(2100), pkt(4).long(FULL + 1));
    assert_eq!(b.backlog().bytes, 3028);
    b.put(ms(2100), pkt(5));
    assert_eq!(b.log.drops(), [(5, Reason::Early)]);
}

/// With a delay below half the target, 7.5 ms, nothing is dropped while the probability is below 20 %.
#[test]
fn a_short_delay_protects_up_to_twenty_percent() {
    for (until, delay, drops) in [(0.19, 7, false), (0.21, 7, true), (0.19, 8, true)] {
        let mut b = with_delay("pie limit 100000", 200);
        let mut k = 0;
        while b.gauge(ms(0), "prob") < until - 0.01 {
            k += 1;
            b.timer(ms(600 + 16 * k));
        }
        assert!((until - 0.01..until + 0.01).contains(&b.gauge(ms(0), "prob")));
        // All but a few go at once; the last to go has waited that long.
        (0..10).for_each(|id| b.put(ms(2000 - delay), pkt(id)));
        while b.backlog().packets > 5 {
            b.pass(ms(2000));
        }
        assert_eq!(b.gauge(ms(0), "delay"), delay as f64 / 1e3);
        b.log.dropped.clear();
        (0..1000).for_each(|id| b.put(ms(2000), pkt(id)));
        assert_eq!(!b.log.dropped.is_empty(), drops);
    }
}

#[test]
fn bytemode_scales_by_length() {
    let drops = |words| {
        let mut b = with_delay(words, 200);
        b.change(ms(600), &format!("{words} limit 1000000"));
        (0..40).for_each(|k| b.timer(ms(600 + 16 * k)));
        (0..20_000).for_each(|id| b.put(ms(2000), pkt(id).long(757)));
        b.log.dropped.len() as f64
    };
    let ratio = drops("pie bytemode") / drops("pie nobytemode");
    assert!((ratio - 0.5).abs() < 0.05, "half the length, half the drops: {ratio}");
}

/// Nothing held for two updates: the probability loses a 64th each time; at zero with a short delay all begins
/// again, the allowance of 150 ms included.
#[test]
fn an_idle_queue_forgets() {
    let mut b = with_delay("pie", 110);
    (0..80).for_each(|k| b.timer(ms(600 + 16 * k)));
    while b.backlog().packets > 0 {
        b.pass(ms(1880));
    }
    b.timer(ms(1881));
    let before = b.gauge(ms(0), "prob");
    assert!(before > 0.5);
    b.timer(ms(1897));
    // Less 0.125 · 0.015, then a 64th.
    let expected = (before - 0.125 * 0.015) * (63.0 / 64.0);
    assert!((b.gauge(ms(0), "prob") - expected).abs() < 1e-9);
    for k in 0..4000 {
        b.timer(ms(1913 + 16 * k));
    }
    assert_eq!((b.gauge(ms(0), "prob"), b.gauge(ms(0), "burst_time")), (0.0, 0.15));
}

/// Departure-rate estimator at 50 Mbit/s: a full packet leaves each 242 240 ns = 3785 ticks. A measurement
/// begins with a packet that leaves 16 384 bytes or more behind, which it counts, and ends with the one that
/// makes it 16 384 bytes: eleven packets, 16 654 bytes, in *ten* packet times, 37 850 ticks. In 256ths of a
/// byte per tick: 16 654 · 256 / 37 850 = 112 (of 112.6; the true rate is 102.4). The next begins where that
/// ends: eleven packet times, 41 635 ticks: 102, and the average 112 - 14 + 12 = 110.
/// Of thirty packets eight are left after 22; backlog 12 112 · 256 / 110 = 28 187 ticks = 1.803 968 ms.
#[test]
fn the_departure_rate_as_5_4_measures_it() {
    for (words, profile) in
        [("pie", &QdiscQuirks::LINUX_5_4), ("pie dq_rate_estimator", &QdiscQuirks::LINUX_5_10)]
    {
        let mut b = Bench::on(words, profile);
        (0..30).for_each(|id| b.put(ms(0), pkt(id)));
        (0..11).for_each(|k| b.pass(ns(k * 242_240)));
        assert_eq!(b.stat("avg_dq_rate"), f64::from(112 * 15_625_000 / 256));
        // 150 ms less 37 850 ticks, 2.4224 ms.
        assert_eq!(b.gauge(ms(0), "burst_time"), 0.147_577);
        (11..22).for_each(|k| b.pass(ns(k * 242_240)));
        assert_eq!(b.stat("avg_dq_rate"), f64::from(110_u32 * 15_625_000 / 256));
        b.timer(ms(512));
        assert_eq!(b.stat("delay"), 0.001_803);
        // (0.125 · (0.001 803 968 - 0.015) + 1.25 · 0.001 803 968) / 2048
        let expected = (0.125 * (0.001_803_968 - 0.015) + 1.25 * 0.001_803_968) / 2048.0;
        // The difference of two numbers ten times as large, each short of its last digit from 5.10 on.
        assert!((b.gauge(ms(0), "prob") / expected - 1.0).abs() < 1e-5);
        if profile == &QdiscQuirks::LINUX_5_4 {
            // To the last bit, in fractions of 2^64 - 1; a tick's part is 1 180 591 620 717.
            let per_tick = |gain: u64| ((gain * 1_180_591_620_717) >> 4) >> 11;
            let (alpha, beta) = (per_tick(2), per_tick(20));
            let parts = beta * 28_187 - alpha * (234_375 - 28_187);
            assert_eq!(b.gauge(ms(0), "prob"), parts as f64 / u64::MAX as f64);
        }
        // Nothing is measured while little is held: the next measurement begins with the next long queue, and
        // makes the average 110 - 13 + 14.
        (0..30).for_each(|id| b.put(ms(1000), pkt(id)));
        (0..19).for_each(|k| b.pass(ms(1000) + Span::from_nanos(k * 242_240)));
        assert_eq!(b.stat("avg_dq_rate"), f64::from(111_u32 * 15_625_000 / 256));
        assert_eq!(b.log.drops(), []);
    }
}

/// With time stamps an emptied queue has no delay; with rates it has its backlog's.
#[test]
fn the_last_packet_of_a_queue_has_no_delay() {
    let mut b = Bench::new("pie");
    b.put(ms(0), pkt(1));
    b.put(ms(0), pkt(2));
    b.pass(ms(100));
    assert_eq!(b.gauge(ms(100), "delay"), 0.1);
    b.pass(ms(100));
    assert_eq!(b.gauge(ms(100), "delay"), 0.0);
}

#[test]
fn the_limit_refuses_and_counts() {
    let mut b = Bench::new("pie limit 3");
    (0..5).for_each(|id| b.put(ms(0), pkt(id)));
    assert_eq!(b.log.drops(), [(3, Reason::Tail), (4, Reason::Tail)]);
    assert_eq!((b.stat("overlimit"), b.stat("dropped")), (2.0, 2.0));
    assert_eq!(
        (b.stat("pkts_in"), b.stat("maxq")),
        (3.0, 2.0),
        "two were held when the third came"
    );
    b.change(ms(1), "pie limit 1");
    assert_eq!(b.log.drops()[2..], [(0, Reason::Overlimit), (1, Reason::Overlimit)]);
}

/// 15 ms at 250 timer ticks a second are 3.75 ticks: four, and the wheel fires with the fifth. Linux 7.3 was seen to update
/// every 20 ms. Half a second is 125 ticks, and the next of eight is 128.
#[test]
fn tupdate_is_rounded_up_to_timer_ticks() {
    let slow = QdiscQuirks { hz: 250, ..QdiscQuirks::LINUX_5_4 };
    let mut b = Bench::on("pie", &slow);
    assert_eq!(b.next_timer(), Some(ms(512)));
    b.timer(ms(512));
    assert_eq!(b.next_timer(), Some(ms(532)));
    assert!(b.any.describe().contains("tupdate 16ms"));
    b.change(ms(513), "pie tupdate 32ms");
    b.timer(ms(532));
    assert_eq!(b.next_timer(), Some(ms(568)));
    assert!(b.any.describe().contains("tupdate 32ms"));
}
