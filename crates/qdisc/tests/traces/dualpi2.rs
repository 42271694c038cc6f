//! DualPI2 by hand. The gains are 41/256 and 819/256 Hz, as integers 44 and 879 parts of 2^32 - 1 per 64
//! nanoseconds; L's packets are ECT(1), C's ECT(0) or Not-ECT.

use crate::bench::{Bench, FULL, Pkt, ms, ns, pkt};
use sojourn_qdisc::{Dequeued, QdiscQuirks, Reason};
use sojourn_units::{Ecn, Span, Time};

const ONE: f64 = u32::MAX as f64;

fn c(id: u64) -> Pkt {
    pkt(id).ecn(Ecn::Ect0)
}

fn l(id: u64) -> Pkt {
    pkt(id).ecn(Ecn::Ect1)
}

/// p' as the kernel keeps it.
fn prob(b: &Bench) -> u32 {
    (b.gauge(Time::ZERO, "prob") * ONE).round() as u32
}

/// A queue with p' near `base`, emptied, at 10 s: alone a C packet waits, updates come until p' has grown so far.
fn at_base(words: &str, profile: &QdiscQuirks, base: f64) -> Bench {
    let mut b = Bench::on(words, profile);
    b.put(ms(0), c(0));
    while f64::from(prob(&b)) < base * ONE {
        let at = b.next_timer().unwrap();
        b.timer(at);
    }
    b.pass(ms(10_000));
    b.log.marked.clear();
    b
}

/// The head is 16 ms old at 16 ms, 32 ms at 32 ms, then all leaves:
///
/// | at | (q - target) · 44   | (q - before) · 879     | the sum / 64 | p'          |
/// |----|---------------------|------------------------|--------------|-------------|
/// | 16 | 1 000 000 · 44      | 16 000 000 · 879       | 220 437 500  | 220 437 500 |
/// | 32 | 17 000 000 · 44     | 16 000 000 · 879       | 231 437 500  | 451 875 000 |
/// | 48 | -15 000 000 · 44    | -32 000 000 · 879      | -449 812 500 | 2 062 500   |
/// | 64 | -15 000 000 · 44    | 0                      | -10 312 500  | 0           |
#[test]
fn the_probability_after_each_update() {
    let mut b = Bench::new("dualpi2");
    (0..3).for_each(|id| b.put(ms(0), c(id)));
    assert_eq!(b.next_timer(), Some(ms(16)));
    b.timer(ms(15));
    assert_eq!(prob(&b), 0, "early calls do nothing");
    b.timer(ms(16));
    assert_eq!(prob(&b), 220_437_500);
    b.timer(ms(32));
    assert_eq!(prob(&b), 451_875_000);
    let base = 451_875_000.0 / ONE;
    assert!((b.gauge(ms(32), "prob_c") - base * base).abs() < 1e-12);
    assert!((b.gauge(ms(32), "prob_l") - 2.0 * base).abs() < 1e-9);
    assert_eq!((b.gauge(ms(32), "delay_c"), b.gauge(ms(32), "delay_l")), (0.032, 0.0));
    (0..3).for_each(|_| b.pass(ms(32)));
    b.timer(ms(48));
    assert_eq!(prob(&b), 2_062_500);
    b.timer(ms(64));
    assert_eq!(prob(&b), 0);
}

/// It is the older head that counts, whichever queue it is in.
#[test]
fn the_delay_is_that_of_the_older_head() {
    for (first, second) in [(c(0), l(1)), (l(0), c(1))] {
        let mut b = Bench::new("dualpi2");
        b.put(ms(0), first);
        b.put(ms(10), second);
        b.timer(ms(16));
        assert_eq!(prob(&b), 220_437_500);
    }
}

/// A delay of 400 ms at once: (385 000 000 · 44 + 400 000 000 · 879) / 64 = 5 758 437 500, less the 2^32 that are lost:
/// 1 463 470 204. The kernel's way, in all versions.
#[test]
fn a_great_jump_of_the_delay_overflows() {
    for profile in [&QdiscQuirks::LINUX_7_3, &QdiscQuirks::L4STEAM_2020_08] {
        let mut b = Bench::on("dualpi2", profile);
        b.put(ms(0), c(0));
        b.timer(ms(400));
        assert_eq!(prob(&b), 1_463_470_204);
    }
}

#[test]
fn overflow_stops_the_probability_where_l_is_certain() {
    let b = at_base("dualpi2 overflow", &QdiscQuirks::LINUX_7_3, 0.499_999_999);
    assert_eq!(prob(&b), u32::MAX / 2);
    let b = at_base("dualpi2 overflow coupling_factor 4", &QdiscQuirks::LINUX_7_3, 0.249_999_999);
    assert_eq!(prob(&b), u32::MAX / 4);
}

/// Credit -1514 · 80 = -121 120. Each packet of L adds 15 140; after eight it is 0, which is still L's turn; the
/// ninth makes it 15 140. One of C takes 136 260: -121 120 again.
#[test]
fn exactly_nine_of_l_for_each_of_c() {
    let mut b = Bench::new("dualpi2");
    (0..1000).for_each(|id| b.put(ms(0), c(id)));
    (0..1000).for_each(|id| b.put(ms(0), l(id)));
    for k in 0..1000 {
        let packet = b.get(ms(0));
        assert_eq!(packet.ecn == Ecn::Ect0, k % 10 == 9, "{k}");
    }
    assert_eq!(b.stat("credit"), -121_120.0);
}

/// With equal weights the credit begins at zero; with all weight on L, C starves.
#[test]
fn other_weights() {
    let order = |words| {
        let mut b = Bench::new(words);
        (0..20).for_each(|id| b.put(ms(0), c(id)));
        (0..20).for_each(|id| b.put(ms(0), l(id)));
        let order = (0..12).map(|_| if b.get(ms(0)).ecn == Ecn::Ect0 { 'c' } else { 'l' });
        order.collect::<String>()
    };
    assert_eq!(order("dualpi2 classic_protection 50%"), "lclclclclclc");
    assert_eq!(order("dualpi2 classic_protection 0"), "llllllllllll");
    assert_eq!(order("dualpi2 c_protection 100%"), "cccccccccccc");
    // 25: credit -75 700; four of L make it 75 700, one of C takes 113 550.
    assert_eq!(order("dualpi2 classic_protection 25%"), "lllclllclllc");
}

/// Alone in its queue a class is not charged; when both are empty the credit begins again.
#[test]
fn credit_changes_only_while_both_wait() {
    let mut b = Bench::new("dualpi2");
    (0..3).for_each(|id| b.put(ms(0), l(id)));
    b.pass(ms(0));
    assert_eq!(b.stat("credit"), -121_120.0);
    b.put(ms(0), c(9).long(1000));
    b.pass(ms(0));
    assert_eq!(b.stat("credit"), -121_120.0 + 15_140.0);
    b.pass(ms(0));
    b.pass(ms(0));
    assert_eq!(b.stat("credit"), -121_120.0 + 2.0 * 15_140.0, "the last was alone");
    assert_eq!(b.take(ms(0)), Dequeued::Empty);
    assert_eq!(b.stat("credit"), -121_120.0);
    // A change of the weights begins it again too, another change does not.
    (0..2).for_each(|id| b.put(ms(0), l(id)));
    b.put(ms(0), c(9));
    b.pass(ms(0));
    b.change(ms(0), "dualpi2 target 20ms");
    assert_eq!(b.stat("credit"), -105_980.0);
    b.change(ms(0), "dualpi2 classic_protection 20");
    assert_eq!(b.stat("credit"), 1514.0 * -60.0);
}

/// More than 1 ms in L is marked, 1 ms is not, and C knows no step.
#[test]
fn the_step_is_above_its_threshold() {
    let mut b = Bench::new("dualpi2");
    (0..2).for_each(|id| b.put(ms(0), l(id)));
    b.put(ms(0), c(2));
    b.pass(ms(1));
    b.pass(ns(1_000_001));
    b.pass(ms(5));
    assert_eq!(b.log.marks(), [(1, Reason::Step)]);
    assert_eq!((b.stat("step_marks"), b.stat("ecn_mark")), (1.0, 1.0));
}

/// The team's kernels exempt a packet that finds at most one other in L; mainline exempts packets only with
/// `min_qlen_step`.
#[test]
fn who_is_exempt_from_the_step() {
    for (words, profile, marked) in [
        ("dualpi2", &QdiscQuirks::LINUX_7_3, 0..5),
        ("dualpi2 min_qlen_step 2", &QdiscQuirks::LINUX_7_3, 2..5),
        ("dualpi2", &QdiscQuirks::L4STEAM_2020_04, 2..5),
        ("dualpi2", &QdiscQuirks::L4STEAM_2021_06, 2..5),
    ] {
        let mut b = Bench::on(words, profile);
        (0..5).for_each(|id| b.put(ms(0), l(id)));
        (0..5).for_each(|_| b.pass(ms(10)));
        let expected: Vec<_> = marked.map(|id| (id, Reason::Step)).collect();
        assert_eq!(b.log.marks(), expected, "{words} of {}", profile.name);
    }
}

/// In packets: more than that many stay behind. The team's kernel took the number for microseconds, so that one
/// packet acts as a thousand.
#[test]
fn the_step_in_packets() {
    for (profile, held, marked) in [
        (&QdiscQuirks::LINUX_7_3, 5, 3),
        (&QdiscQuirks::L4STEAM_2020_08, 5, 0),
        // Behind the first four stay 1004 to 1001; the first two are exempt.
        (&QdiscQuirks::L4STEAM_2020_08, 1005, 2),
    ] {
        let mut b = Bench::on("dualpi2 step_thresh 1p", profile);
        (0..held).for_each(|id| b.put(ms(0), l(id)));
        (0..held).for_each(|_| b.pass(ms(0)));
        assert_eq!(b.log.marks().len(), marked, "{}: {held}", profile.name);
    }
}

/// Below two full packets left (3028 bytes) nothing is decided by probability, however sure.
#[test]
fn two_full_packets_must_stay() {
    let mut b = at_base("dualpi2", &QdiscQuirks::LINUX_7_3, 0.999);
    b.put(ms(0), c(1));
    b.put(ms(0), c(2));
    b.put(ms(0), c(3).long(FULL - 1));
    assert_eq!(b.get(ms(0)).id, 1);
    (0..2).for_each(|_| b.pass(ms(0)));
    assert_eq!((b.log.drops(), b.log.marks()), (vec![], vec![]));
    (4..7).for_each(|id| b.put(ms(0), c(id)));
    b.pass(ms(0));
    assert_eq!(b.log.drops(), [(4, Reason::Overload)]);
}

/// How often `packet` is marked and dropped, and why, with ten always held, none of them for long.
fn signals(b: &mut Bench, packet: Pkt, n: u32) -> (f64, f64, Option<Reason>) {
    b.log = crate::bench::Log::default();
    (0..10).for_each(|_| b.put(ms(20_000), packet));
    for _ in 0..n {
        b.put(ms(20_000), packet);
        let held = b.backlog().packets;
        if held > 10 {
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

/// p_C = p'², p_L = 2 p' = 2 √p_C, marks where ECN allows, within four standard deviations.
#[test]
fn the_coupling_is_a_square() {
    let n = 200_000;
    for base in [0.05, 0.2, 0.4] {
        let mut b = at_base("dualpi2", &QdiscQuirks::LINUX_7_3, base);
        let p = f64::from(prob(&b)) / ONE;
        let near = |share: f64, p: f64| {
            let deviation = (p * (1.0 - p) / f64::from(n)).sqrt();
            assert!((share - p).abs() < 4.0 * deviation + 1e-4, "{share} is not {p}");
        };
        let (classic, none, reason) = signals(&mut b, c(0), n);
        near(classic, p * p);
        assert_eq!((none, reason), (0.0, Some(Reason::Classic)));
        let (none, dropped, reason) = signals(&mut b, pkt(0), n);
        near(dropped, p * p);
        assert_eq!((none, reason), (0.0, Some(Reason::Classic)));
        let (scalable, none, reason) = signals(&mut b, l(0), n);
        near(scalable, 2.0 * p);
        assert_eq!((none, reason), (0.0, Some(Reason::Coupled)));
        assert!((scalable / (2.0 * classic.sqrt()) - 1.0).abs() < 0.05);
    }
}

/// Above p' = 50 %, p_C = 25 %: C's ECT is dropped as well, L loses p'² and all the rest of it is marked.
#[test]
fn overload_drops_what_it_would_have_marked() {
    let n = 100_000;
    let mut b = at_base("dualpi2", &QdiscQuirks::LINUX_7_3, 0.6);
    let p = f64::from(prob(&b)) / ONE;
    for (packet, is_l) in [(c(0), false), (pkt(0), false), (l(0), true)] {
        let (marked, dropped, _) = signals(&mut b, packet, n);
        assert!((dropped - p * p).abs() < 0.01, "{dropped} is not {}", p * p);
        assert!((marked - if is_l { 1.0 - p * p } else { 0.0 }).abs() < 0.01);
        assert!(b.log.dropped.iter().all(|d| d.2 == Reason::Overload));
    }
    // With overflow everything in L is marked and C stays at 25 %.
    let mut b = at_base("dualpi2 overflow", &QdiscQuirks::LINUX_7_3, 0.499_999_999);
    let (marked, dropped, _) = signals(&mut b, l(0), n);
    assert!(marked > 0.999 && dropped == 0.0);
    let (marked, dropped, _) = signals(&mut b, c(0), n);
    assert!((marked - 0.25).abs() < 0.01 && dropped == 0.0);
}

/// On arrival the decision is the same, but for what is held then.
#[test]
fn drop_enqueue_decides_on_arrival() {
    let mut b = at_base("dualpi2 drop_enqueue", &QdiscQuirks::LINUX_7_3, 0.999);
    (0..3).for_each(|id| b.put(ms(0), pkt(id)));
    assert_eq!(b.log.drops(), [(2, Reason::Overload)], "the third found 3028 bytes");
    (0..2).for_each(|_| b.pass(ms(0)));
}

#[test]
fn classes_by_ecn() {
    for (words, in_l) in [("dualpi2", [1, 3].as_slice()), ("dualpi2 any_ect", &[1, 2, 3])] {
        for bits in 0..4 {
            let mut b = Bench::new(words);
            b.put(ms(0), pkt(0).ecn(Ecn::from_bits(bits)));
            assert_eq!(b.stat("pkts_in_l"), f64::from(u8::from(in_l.contains(&bits))));
        }
    }
}

/// A full packet weighs 2728 bytes; the default is 3028 for each of the limit, so that only small packets reach it.
#[test]
fn limits() {
    let mut b = Bench::new("dualpi2 limit 2");
    for packet in [c(0), l(1), c(2), l(3)] {
        b.put(ms(0), packet);
    }
    assert_eq!(b.log.drops(), [(2, Reason::Tail), (3, Reason::Tail)]);
    assert_eq!((b.stats().overlimits, b.stat("maxq")), (2, 1.0));

    let mut b = Bench::new("dualpi2 memlimit 6000 limit 10");
    (0..3).for_each(|id| b.put(ms(0), l(id)));
    assert_eq!(b.log.drops(), [(2, Reason::Memory)]);
    assert_eq!((b.stat("memory_used"), b.stat("max_memory_used")), (5456.0, 5456.0));
    // A limit alone brings the rule of thumb back.
    b.change(ms(0), "dualpi2 limit 1000");
    assert!(b.any.describe().contains("memlimit 3028000B"));
    b.change(ms(0), "dualpi2 limit 1");
    assert_eq!(b.log.drops()[1..], [(0, Reason::Overlimit)]);

    let mut b = Bench::on("dualpi2 limit 100000", &QdiscQuirks::L4STEAM_2020_08);
    (0..50_000).for_each(|id| b.put(ms(0), c(id).long(1)));
    assert_eq!(b.log.drops(), [], "the team's has no memory limit");
}

/// RFC 9332's time-shifted FIFO: L goes first unless C's head is older by more than the shift.
#[test]
fn the_time_shifted_fifo() {
    for (l_at, first) in [(10, Ecn::Ect1), (11, Ecn::Ect0)] {
        let mut b = Bench::new("dualpi2 rfc_t_shift 10ms step_thresh 1s");
        b.put(ms(0), c(0));
        b.put(ms(l_at), l(1));
        assert_eq!(b.get(ms(12)).ecn, first);
    }
}

/// RFC 9332's ramp: nothing up to 800 µs, half of them at 1 ms, all from 1.2 ms on; with coupling at 40 % it is
/// the greater, not the sum.
#[test]
fn the_ramp() {
    let words = "dualpi2 step_thresh 800us rfc_ramp 400us";
    let share = |b: &mut Bench, micros: u64| {
        let (mut now, n) = (ms(30_000), 20_000);
        b.log.marked.clear();
        for _ in 0..n / 10 {
            (0..10).for_each(|id| b.put(now, l(id)));
            now += Span::from_micros(micros);
            (0..10).for_each(|_| b.pass(now));
        }
        b.log.marked.len() as f64 / f64::from(n)
    };
    let mut b = Bench::new(words);
    assert_eq!(share(&mut b, 800), 0.0);
    assert!((share(&mut b, 900) - 0.25).abs() < 0.02);
    assert!((share(&mut b, 1000) - 0.5).abs() < 0.02);
    assert!(b.log.marked.iter().all(|m| m.2 == Reason::Ramp));
    assert_eq!(share(&mut b, 1200), 1.0);
    let mut b = at_base(words, &QdiscQuirks::LINUX_7_3, 0.2);
    let p = 2.0 * f64::from(prob(&b)) / ONE;
    // Of ten packets the last two leave less than 3028 bytes behind and are not coupled.
    assert!((share(&mut b, 800) - 0.8 * p).abs() < 0.02);
    assert!((share(&mut b, 1000) - 0.5).abs() < 0.02, "the greater of {p} and a half");
}

/// tc's derivation: tupdate a sixth of max_rtt, alpha 0.1 · tupdate / max_rtt² = 0.1667 and beta 0.3 / max_rtt = 3,
/// both rounded down to 256ths and shown after two more roundings.
#[test]
fn tc_derives_the_controller_from_the_rtt() {
    let b = Bench::new("dualpi2 max_rtt 100ms");
    let text = b.any.describe();
    assert!(text.contains("target 16.7ms tupdate 16.7ms alpha 0.160156 beta 2.996094"), "{text}");
    let b = Bench::new("dualpi2 typical_rtt 15ms max_rtt 100ms");
    assert!(b.any.describe().contains("target 15ms tupdate 15ms alpha 0.144531 beta 2.996094"));
    // tc does not print the defaults as they were set: 41/256 and 819/256.
    assert!(Bench::new("dualpi2").any.describe().contains("alpha 0.156250 beta 3.195312"));
}

/// A flush forgets probability and credit, and keeps the delay of the last update, as the kernel does.
#[test]
fn a_flush_forgets_most() {
    let mut b = Bench::new("dualpi2");
    (0..3).for_each(|id| b.put(ms(0), c(id)));
    b.timer(ms(16));
    b.flush(ms(20));
    assert_eq!((prob(&b), b.backlog().packets, b.log.dropped.len()), (0, 0, 3));
    b.put(ms(20), c(3));
    // 12 ms is 4 ms less than the 16 ms of before: -3 000 000 · 44 - 4 000 000 · 879 is below zero.
    b.timer(ms(32));
    assert_eq!(prob(&b), 0);
}

/// The counted fractions are those of the last sixteen updates.
#[test]
fn fractions_are_counted() {
    let mut b = Bench::new("dualpi2");
    let mut now = ms(0);
    for k in 0..16 {
        (0..4).for_each(|id| b.put(now, l(id)));
        let late = Span::from_millis(if k % 2 == 0 { 2 } else { 0 });
        (0..4).for_each(|_| b.pass(now + late));
        now = b.next_timer().unwrap();
        b.timer(now);
    }
    assert_eq!(b.gauge(now, "fraction_native"), 0.5);
    assert_eq!((b.gauge(now, "fraction_l"), b.gauge(now, "fraction_c")), (0.0, 0.0));
}
