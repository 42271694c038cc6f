use crate::bench::{Bench, FULL, ms, pkt};
use sojourn_qdisc::{Backlog, Dequeued, Reason};

#[test]
fn pfifo_refuses_the_packet_beyond_its_limit_and_keeps_the_order() {
    let mut b = Bench::new("pfifo limit 2");
    for id in 1..=3 {
        b.put(ms(0), pkt(id));
    }
    assert_eq!(b.log.drops(), [(3, Reason::Tail)]);
    assert_eq!(b.backlog(), Backlog { packets: 2, bytes: 3028 });
    assert_eq!(b.get(ms(1)).id, 1);
    b.put(ms(1), pkt(4));
    assert_eq!([b.get(ms(2)).id, b.get(ms(2)).id], [2, 4]);
    assert_eq!(b.take(ms(2)), Dequeued::Empty);
    let stats = b.stats();
    assert_eq!((stats.packets, stats.bytes, stats.dropped), (3, 3 * u64::from(FULL), 1));
}

/// 3028 bytes are two full packets: a third of one byte does not fit, and nothing does at exactly the limit.
#[test]
fn bfifo_refuses_what_would_take_it_above_its_bytes() {
    let mut b = Bench::new("bfifo limit 3028");
    b.put(ms(0), pkt(1));
    b.put(ms(0), pkt(2));
    b.put(ms(0), pkt(3).long(1));
    assert_eq!(b.log.drops(), [(3, Reason::Tail)]);
    b.get(ms(0));
    b.put(ms(0), pkt(4).long(1515));
    b.put(ms(0), pkt(5).long(1514));
    assert_eq!(b.log.drops(), [(3, Reason::Tail), (4, Reason::Tail)]);
}

#[test]
fn the_default_limits_are_those_of_a_veth() {
    let mut b = Bench::new("pfifo");
    (0..1001).for_each(|id| b.put(ms(0), pkt(id)));
    assert_eq!(b.log.drops(), [(1000, Reason::Tail)]);
    let mut b = Bench::new("bfifo");
    (0..1001).for_each(|id| b.put(ms(0), pkt(id)));
    assert_eq!(b.log.drops(), [(1000, Reason::Tail)]);
}

#[test]
fn a_lowered_limit_keeps_what_is_there() {
    let mut b = Bench::new("pfifo limit 5");
    (0..5).for_each(|id| b.put(ms(0), pkt(id)));
    b.change(ms(1), "pfifo limit 2");
    assert_eq!(b.backlog().packets, 5);
    b.put(ms(1), pkt(5));
    assert_eq!(b.log.drops(), [(5, Reason::Tail)]);
    // tc hands over nothing where nothing is written, and the kernel takes the default.
    b.change(ms(2), "pfifo");
    assert_eq!(b.any.describe(), "limit 1000p");
}

#[test]
fn replacing_flushes_and_starts_again() {
    let mut b = Bench::new("pfifo limit 5");
    (0..3).for_each(|id| b.put(ms(0), pkt(id)));
    b.flush(ms(1));
    assert_eq!(b.log.drops(), [(0, Reason::Flushed), (1, Reason::Flushed), (2, Reason::Flushed)]);
    assert_eq!(b.backlog(), Backlog::default());
}
