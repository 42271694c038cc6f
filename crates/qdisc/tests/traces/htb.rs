//! 50 Mbit/s is 6.25 bytes a microsecond, 160 ns a byte; a full packet takes 1514 x 160 = 242 240 ns. The
//! default burst is 1600 bytes: 256 000 ns, exactly 4000 ticks of 64 ns.

use crate::bench::{Bench, ms, ns, pkt};
use sojourn_qdisc::{
    Context, Dequeued, Htb, Qdisc, QdiscQuirks, Reason, Registry, TcConfigurable as _,
};
use sojourn_units::{Ecn, Random, Rate, Time};

fn fifty() -> Bench {
    Bench::new("htb rate 50mbit pfifo")
}

#[test]
fn a_packet_that_finds_it_idle_leaves_at_once() {
    let mut b = fifty();
    for t in [0, 5, 10] {
        b.put(ms(t), pkt(t));
        assert_eq!(b.get(ms(t)).id, t);
        assert_eq!(b.take(ms(t)), Dequeued::Empty);
    }
}

/// Tokens: 256 000 at first; 13 760 after one packet, which is not below zero, so another leaves at once;
/// then -228 480, zero again after 228 480 ns; from then on each packet leaves the bucket at -242 240.
#[test]
fn a_busy_class_sends_one_packet_per_packet_time() {
    let mut b = fifty();
    (1..=5).for_each(|id| b.put(ns(0), pkt(id)));
    assert_eq!([b.get(ns(0)).id, b.get(ns(0)).id], [1, 2]);
    assert_eq!(b.take(ns(0)), Dequeued::Wait(ns(228_480)));
    assert_eq!(b.take(ns(228_479)), Dequeued::Wait(ns(228_480)));
    assert_eq!(b.get(ns(228_480)).id, 3);
    for (id, at) in [(4, 470_720), (5, 712_960)] {
        assert_eq!(b.take(ns(at - 242_240)), Dequeued::Wait(ns(at)));
        assert_eq!(b.get(ns(at)).id, id);
    }
    assert_eq!(b.take(ns(712_960)), Dequeued::Empty);
    // Tokens after the last packet: -242 240 ns = -3785 ticks. Each packet but the first left a debt.
    assert_eq!((b.stat("tokens"), b.stat("lended")), (-3785.0, 5.0));
    assert_eq!(b.stats().overlimits, 4);
}

/// dualpi2's credit starts over, at -121 120, on a dequeue while both its queues are empty. htb does not dequeue from
/// it then, out of debt or not: a packet of L that left while C waited has added 15 140, and that stays.
#[test]
fn an_empty_child_is_not_asked() {
    for (words, credit) in [("htb rate 50mbit dualpi2", -105_980.0), ("dualpi2", -121_120.0)] {
        let mut b = Bench::new(words);
        b.put(ms(0), pkt(1).ecn(Ecn::Ect1));
        b.put(ms(0), pkt(2).ecn(Ecn::Ect0));
        assert_eq!([b.get(ms(0)).id, b.get(ms(0)).id], [1, 2]);
        for t in [0, 10] {
            assert_eq!(b.take(ms(t)), Dequeued::Empty);
            assert_eq!(b.gauge(ms(t), "credit"), credit, "{words}");
        }
    }
}

/// A rate set by an event leaves what was stated: a burst of 5000 bytes lets four packets go at once at either rate,
/// where the default lets two; an unstated ceil follows the rate.
#[test]
fn another_rate_keeps_a_stated_burst() {
    for (words, at_once) in
        [("htb rate 50mbit burst 5k cburst 5k pfifo", 4), ("htb rate 50mbit pfifo", 2)]
    {
        let mut b = Bench::new(words);
        assert!(b.any.set_rate(ms(0), Rate::from_mbit(10)));
        // The tokens are those of the old bucket; they are full at the new rate after a second.
        b.put(ms(1000), pkt(0));
        b.get(ms(1000));
        (1..=9).for_each(|id| b.put(ms(3000), pkt(id)));
        let mut gone = 0;
        while let Dequeued::Packet(_) = b.take(ms(3000)) {
            gone += 1;
        }
        assert_eq!(gone, at_once, "{words}");
    }
}

/// After a pause of 100 us the debt of 242 240 is 142 240; a packet may leave when that is gone, not earlier.
#[test]
fn time_spent_empty_counts() {
    let mut b = fifty();
    (1..=2).for_each(|id| b.put(ns(0), pkt(id)));
    b.get(ns(0));
    b.get(ns(0));
    b.put(ns(100_000), pkt(3));
    assert_eq!(b.take(ns(100_000)), Dequeued::Wait(ns(228_480)));
    // It comes later than that: 300 000 - 228 480 = 71 520 tokens are there, and stay for the next.
    assert_eq!(b.get(ns(300_000)).id, 3);
    b.put(ns(300_000), pkt(4));
    assert_eq!(b.take(ns(300_000)), Dequeued::Wait(ns(300_000 + 242_240 - 71_520)));
}

/// At 10 Mbit/s a byte takes 800 ns, a packet 1 211 200. The debt is time and is not converted: the debt from 50 Mbit/s
/// is paid in the same time, and only the packets from then on take longer. The new bucket holds 1600 x 800 = 1 280
/// 000.
#[test]
fn a_new_rate_applies_at_once_and_keeps_the_tokens() {
    let mut b = fifty();
    (1..=5).for_each(|id| b.put(ns(0), pkt(id)));
    b.get(ns(0));
    b.get(ns(0));
    assert!(b.any.set_rate(ns(100_000), Rate::from_mbit(10)));
    assert_eq!(b.take(ns(100_000)), Dequeued::Wait(ns(228_480)));
    b.get(ns(228_480));
    assert_eq!(b.take(ns(228_480)), Dequeued::Wait(ns(228_480 + 1_211_200)));
    // And up again, in tc's words, with the child left alone: the child's packets are still there.
    b.change(ns(300_000), "htb rate 100mbit");
    assert_eq!(b.backlog().packets, 2);
    b.get(ns(228_480 + 1_211_200));
    assert_eq!(b.take(ns(228_480 + 1_211_200)), Dequeued::Wait(ns(228_480 + 1_211_200 + 121_120)));
}

/// With 6056 bytes of burst (968 960 ns) four packets bring the tokens to zero, so five leave at once.
#[test]
fn a_larger_burst_lets_more_out() {
    let mut b = Bench::new("htb rate 50mbit burst 6056 cburst 6056 pfifo");
    (1..=6).for_each(|id| b.put(ns(0), pkt(id)));
    (1..=5).for_each(|id| assert_eq!(b.get(ns(0)).id, id));
    assert_eq!(b.take(ns(0)), Dequeued::Wait(ns(242_240)));
    assert_eq!(b.stats().overlimits, 1, "zero is no debt");
}

/// The ceil's bucket at 100 Mbit/s holds 128 000 ns: 6880 after one packet, in debt after two (-114 240). The
/// rate's is at -228 480 then, and there is nobody to borrow from: the later of the two decides.
#[test]
fn both_buckets_must_be_out_of_debt() {
    let mut b = Bench::new("htb rate 50mbit ceil 100mbit pfifo");
    (1..=3).for_each(|id| b.put(ns(0), pkt(id)));
    b.get(ns(0));
    b.get(ns(0));
    assert_eq!(b.take(ns(0)), Dequeued::Wait(ns(228_480)));
    assert_eq!((b.stat("tokens"), b.stat("ctokens")), (-3570.0, -1785.0));
}

/// 1514 + 26 = 1540 bytes take 246 400 ns; 100 + 26 count as 200: 32 000 ns.
#[test]
fn overhead_and_mpu_are_charged() {
    let mut b = Bench::new("htb rate 50mbit overhead 26 mpu 200 pfifo");
    b.put(ns(0), pkt(1));
    b.put(ns(0), pkt(2).long(100));
    b.get(ns(0));
    assert_eq!(b.stat("tokens"), 9600.0 / 64.0);
    b.get(ns(0));
    assert_eq!(b.stat("tokens"), (9600.0 - 32_000.0) / 64.0);
}

/// 3 Mbit/s is 375 000 bytes a second, 2666.67 ns a byte: the kernel multiplies by 2 796 202 666 / 2^20,
/// which is 2666.666666, and rounds a packet's 4 037 333.33 ns down. The burst, 4 266 666.67 ns, is rounded up
/// to 66 667 ticks: 4 266 688.
#[test]
fn lengths_are_divided_by_the_rate_as_the_kernel_does() {
    let mut b = Bench::new("htb rate 3mbit pfifo");
    (1..=3).for_each(|id| b.put(ns(0), pkt(id)));
    b.get(ns(0));
    b.get(ns(0));
    let debt = 2 * 4_037_333 - 4_266_688;
    assert_eq!(b.take(ns(0)), Dequeued::Wait(ns(debt)));
}

/// 1 kbit/s is 125 bytes a second, 8 ms a byte exactly: 12.112 s a packet, 12.8 s of burst.
#[test]
fn slow_rates_are_exact_too() {
    let mut b = Bench::new("htb rate 1kbit pfifo");
    (1..=3).for_each(|id| b.put(ns(0), pkt(id)));
    b.get(ns(0));
    b.get(ns(0));
    assert_eq!(b.take(ns(0)), Dequeued::Wait(ms(2 * 12_112 - 12_800)));
}

/// A debt is never more than a minute: at 8 bit/s a packet would take 1514 s.
#[test]
fn no_debt_is_longer_than_a_minute() {
    let mut b = Bench::new("htb rate 8bit burst 1b cburst 1b pfifo");
    (1..=2).for_each(|id| b.put(ns(0), pkt(id)));
    b.get(ns(0));
    assert_eq!(b.take(ns(0)), Dequeued::Wait(ns(59_999_999_999)));
}

#[test]
fn a_child_can_be_replaced_and_its_drops_stay_counted() {
    let mut random = Random::named(1, "child");
    let mut log = crate::bench::Log::default();
    let child = |words| {
        Registry::built_in()
            .build(words, &QdiscQuirks::LINUX_7_3, &mut Random::named(1, "c"))
            .unwrap()
    };
    let mut htb = Htb::over(Rate::from_mbit(50), child("pfifo limit 3"));
    let mut cx = Context { random: &mut random, telemetry: &mut log };
    (1..=4).for_each(|id| htb.enqueue(ns(0), pkt(id), &mut cx));
    assert!(htb.replace_child(ms(700), child("pie"), &mut cx).is_none());
    assert_eq!(htb.stats().dropped, 4);
    // PIE's first update comes half a second after it was put in, at 304 ticks of 4 ms.
    assert_eq!(htb.next_timer(), Some(ms(1216)));
    htb.enqueue(ms(701), pkt(5), &mut cx);
    assert_eq!(htb.backlog().packets, 1);
    let reason: Vec<Reason> = log.drops().iter().map(|d| d.1).collect();
    assert_eq!(reason, [Reason::Tail, Reason::Flushed, Reason::Flushed, Reason::Flushed]);
}

/// At the root as under a class: what replaces begins its work then, the old child is handed back empty.
#[test]
fn replacing_the_root_starts_it_at_that_time() {
    let mut b = Bench::new("pfifo limit 2");
    (1..=3).for_each(|id| b.put(ms(0), pkt(id)));
    let pie = Bench::new("htb rate 1mbit pie").any;
    let mut cx = Context { random: &mut b.random, telemetry: &mut b.log };
    let old = b.any.replace(ms(300), pie, &mut cx);
    assert_eq!((old.stats().dropped, old.backlog().packets), (3, 0));
    assert_eq!(b.log.drops(), [(3, Reason::Tail), (1, Reason::Flushed), (2, Reason::Flushed)]);
    assert_eq!((b.any.info().name, b.next_timer()), ("htb", Some(ms(808))));
}

/// Over ten seconds 50 Mbit/s are 62 500 000 bytes: 41 281.37 packets. Two leave at the beginning.
#[test]
fn the_long_run_rate_is_exact() {
    let mut b = fifty();
    let (mut now, mut sent) = (Time::ZERO, 0);
    (0..3).for_each(|id| b.put(now, pkt(id)));
    while now < Time::from_secs(10) {
        match b.take(now) {
            Dequeued::Packet(_) => {
                sent += 1;
                b.put(now, pkt(sent));
            }
            Dequeued::Wait(at) => now = at,
            Dequeued::Empty => unreachable!(),
        }
    }
    assert!((41_282..=41_283).contains(&sent), "{sent}");
}

/// The kernel asks netem under htb again when its watchdog rings; so does the engine here.
#[test]
fn a_child_that_waits_makes_the_class_wait() {
    let mut b = Bench::new("htb rate 50mbit netem delay 10ms");
    b.put(ms(1), pkt(1));
    assert_eq!(b.take(ms(1)), Dequeued::Wait(ms(11)));
    assert_eq!(b.get(ms(11)).id, 1);
}
