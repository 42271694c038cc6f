//! `fq` by hand, on packets that bring no time along but for those that do.

use crate::bench::{Bench, Pkt, ms, pkt};
use sojourn_qdisc::{Dequeued, Reason};
use sojourn_units::{Ecn, Time};

fn due(id: u64, at: Time) -> Pkt {
    Pkt { departure: Some(at), ..pkt(id) }
}

/// A first turn of 15 140 bytes is ten packets; then turns of two (3028 bytes), each in its turn.
#[test]
fn turns_are_by_bytes() {
    let mut b = Bench::new("fq");
    (0..40).for_each(|id| b.put(ms(0), pkt(id).of(1)));
    (0..40).for_each(|id| b.put(ms(0), pkt(id).of(2)));
    let flows: Vec<u64> = (0..32).map(|_| b.get(ms(0)).flow).collect();
    assert_eq!(flows[..10], [1; 10]);
    assert_eq!(flows[10..20], [2; 10]);
    assert_eq!(flows[20..], [1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2]);
    // A new flow goes first.
    b.put(ms(0), pkt(99).of(3));
    assert_eq!(b.get(ms(0)).flow, 3);
}

/// A packet's own time holds, and one that comes with an earlier time leaves earlier.
#[test]
fn no_packet_before_its_time() {
    let mut b = Bench::new("fq");
    b.put(ms(0), due(1, ms(10)));
    b.put(ms(0), due(2, ms(20)));
    b.put(ms(0), due(3, ms(15)));
    b.put(ms(0), pkt(4).of(2));
    assert_eq!(b.get(ms(0)).id, 4, "the other flow is not kept waiting");
    assert_eq!(b.take(ms(0)), Dequeued::Wait(ms(10)));
    assert_eq!(b.stat("throttled"), 1.0);
    assert_eq!(b.get(ms(10)).id, 1);
    assert_eq!(b.take(ms(10)), Dequeued::Wait(ms(15)));
    assert_eq!(b.get(ms(15)).id, 3);
    assert_eq!(b.get(ms(21)).id, 2);
    assert_eq!(b.take(ms(21)), Dequeued::Empty);
}

/// A router's packets have no socket: with one bucket all flows share a queue and its order, and with 1024 these have their own.
#[test]
fn packets_without_a_socket_share_a_queue_by_their_hash() {
    let order = |words: &str| -> Vec<u64> {
        let mut b = Bench::new(words);
        (0..12).for_each(|id| b.put(ms(0), pkt(id).of(1 + id % 2)));
        (0..12).map(|_| b.get(ms(0)).id).collect()
    };
    let arrival: Vec<u64> = (0..12).collect();
    assert_eq!(order("fq orphan_mask 0"), arrival);
    assert_eq!(order("fq orphan_mask 1023"), order("fq"));
    assert_ne!(order("fq"), arrival);
}

#[test]
fn the_horizon() {
    let mut b = Bench::new("fq horizon 1s");
    b.put(ms(0), due(1, ms(1000)));
    b.put(ms(0), due(2, ms(1001)));
    assert_eq!(b.log.drops(), [(2, Reason::Horizon)]);
    let mut b = Bench::new("fq horizon 1s horizon_cap");
    b.put(ms(0), due(2, ms(5000)));
    assert_eq!(b.take(ms(0)), Dequeued::Wait(ms(1000)));
    b.pass(ms(1000));
    assert_eq!(b.stat("horizon_caps"), 1.0);
}

/// At 8 mbit, once the first turn is used up, 3000 bytes are followed by a gap of a quantum, 3 ms.
#[test]
fn maxrate_paces_by_quanta() {
    let mut b = Bench::new("fq maxrate 8mbit quantum 3000 initial_quantum 3000");
    (0..9).for_each(|id| b.put(ms(0), pkt(id).long(1000)));
    let mut left = Vec::new();
    let mut now = ms(0);
    while b.backlog().packets > 0 {
        match b.take(now) {
            Dequeued::Wait(at) => now = at,
            _ => left.push(now.as_micros() / 1_000),
        }
    }
    assert_eq!(left, [0, 0, 0, 3, 3, 3, 6, 6, 6]);
    // Below the threshold each by itself: 1000 bytes at 80 kbit are 100 ms.
    let mut b = Bench::new("fq maxrate 80kbit");
    (0..2).for_each(|id| b.put(ms(0), pkt(id).long(1000)));
    b.pass(ms(0));
    assert_eq!(b.take(ms(0)), Dequeued::Wait(ms(100)));
}

#[test]
fn limits_and_marks() {
    let mut b = Bench::new("fq limit 5 flow_limit 3");
    (0..4).for_each(|id| b.put(ms(0), pkt(id).of(1)));
    (4..7).for_each(|id| b.put(ms(0), pkt(id).of(2)));
    assert_eq!(b.log.drops(), [(3, Reason::FlowLimit), (6, Reason::Tail)]);
    let mut b = Bench::new("fq ce_threshold 2ms");
    (0..2).for_each(|id| b.put(ms(0), pkt(id).ecn(Ecn::Ect0)));
    b.pass(ms(2));
    b.pass(ms(3));
    assert_eq!(b.log.marks(), [(1, Reason::CeThreshold)]);
}
