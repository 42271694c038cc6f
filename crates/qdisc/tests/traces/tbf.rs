//! The token bucket by hand: at 8 mbit a byte takes 1 µs.

use crate::bench::{Bench, Pkt, ms, ns, pkt};
use sojourn_qdisc::{Dequeued, QdiscQuirks, Reason, Registry};
use sojourn_units::{Random, Time};

fn kilo(id: u64) -> Pkt {
    pkt(id).long(1000)
}

fn us(n: u64) -> Time {
    Time::from_micros(n)
}

/// A burst of 3000 bytes: three packets at once, then one each 1000 µs, since each needs all of its own time.
#[test]
fn a_burst_and_then_the_rate() {
    let mut b = Bench::new("tbf rate 8mbit burst 3000 limit 100000");
    (0..6).for_each(|id| b.put(ms(0), kilo(id)));
    (0..3).for_each(|_| b.pass(ms(0)));
    assert_eq!(b.take(ms(0)), Dequeued::Wait(ms(1)));
    assert_eq!(b.take(us(400)), Dequeued::Wait(ms(1)), "asking costs nothing");
    assert_eq!(b.stats().overlimits, 2);
    b.pass(ms(1));
    assert_eq!(b.gauge(us(1500), "tokens"), 0.0005);
    b.pass(ms(2));
    b.pass(ms(4));
    // Late: two packet times were there, one is left.
    assert_eq!(b.gauge(ms(4), "tokens"), 0.001);
    assert_eq!(b.gauge(ms(100), "tokens"), 0.003, "full");
}

/// Whatever is asked and when, in any span no more leaves than the burst and what the rate gives.
#[test]
fn the_rate_is_kept_to_the_nanosecond() {
    let mut b = Bench::new("tbf rate 50mbit burst 1514 limit 10000000");
    (0..1000).for_each(|id| b.put(ms(0), pkt(id)));
    let mut now = ms(0);
    for _ in 0..1000 {
        if let Dequeued::Wait(at) = b.take(now) {
            now = at;
            b.pass(now);
        }
    }
    // 242.24 µs each, rounded down in the kernel's fixed point.
    let expected = 999 * 242_240;
    assert!((expected - 999..=expected).contains(&now.as_nanos()), "{now}");
}

/// At a peak of 16 mbit with an mtu of 1000 a burst is spaced by 500 µs.
#[test]
fn a_peak_rate_spaces_the_burst() {
    let mut b = Bench::new("tbf rate 8mbit burst 3000 limit 100000 peakrate 16mbit mtu 1000");
    (0..9).for_each(|id| b.put(ms(0), kilo(id)));
    let mut left = Vec::new();
    let mut now = ms(0);
    while b.backlog().packets > 0 {
        match b.take(now) {
            Dequeued::Wait(at) => now = at,
            _ => left.push(now),
        }
    }
    // Tokens for three; while 500 µs pass, half a packet's come in: the fourth and fifth follow at the peak's pace.
    let micros = [0, 500, 1000, 1500, 2000, 3000, 4000, 5000, 6000];
    assert_eq!(left, micros.map(us));
}

#[test]
fn limits() {
    let mut b = Bench::new("tbf rate 8mbit burst 1000 limit 2500");
    (0..4).for_each(|id| b.put(ms(0), kilo(id)));
    b.put(ms(0), pkt(4).long(1001));
    assert_eq!(b.log.drops(), [(2, Reason::Tail), (3, Reason::Tail), (4, Reason::TooLong)]);
    // 20 ms at the rate are 20 000 bytes.
    let text = Bench::new("tbf rate 8mbit burst 1000 latency 20ms").any.describe();
    assert_eq!(text, "rate 8Mbit burst 1000b limit 21000b");
    // A change fills the buckets and keeps the queue.
    b.pass(ms(0));
    b.change(ns(1), "tbf rate 8mbit burst 2000 limit 9000 overhead 10");
    b.pass(ns(1));
    assert_eq!(b.gauge(ns(1), "tokens"), 0.000_990);
    b.flush(ns(1));
    assert_eq!(b.gauge(ns(1), "tokens"), 0.002);
}

#[test]
fn words_that_do_not_go_together() {
    let error = |words: &str| {
        let any = Registry::<Pkt>::built_in().build(
            words,
            &QdiscQuirks::LINUX_7_3,
            &mut Random::named(1, "tbf"),
        );
        any.unwrap_err().to_string()
    };
    assert_eq!(
        error("tbf rate 1mbit burst 5k"),
        "tbf needs \"limit\" or \"latency\"; write one of them"
    );
    assert_eq!(
        error("tbf rate 1mbit burst 5k limit 9k latency 3ms"),
        "\"limit\" and \"latency\" say the same; keep one of them"
    );
    assert_eq!(
        error("tbf rate 1mbit burst 5k limit 9k peakrate 2mbit"),
        "\"peakrate\" needs \"mtu\"; write \"mtu\" and a size"
    );
    assert_eq!(
        error("tbf rate 1mbit burst 5k limit 9k peakrate 1mbit mtu 2k"),
        "\"peakrate\" is not above \"rate\"; write a greater one"
    );
    assert_eq!(
        error("tbf rate 1mbit limit 9k brust 5k"),
        "tbf has no option \"brust\"; did you mean \"burst\"?"
    );
}
