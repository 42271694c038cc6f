use crate::bench::{Bench, FULL, Pkt, ms, ns, pkt};
use sojourn_qdisc::{Dequeued, QdiscQuirks, Reason, Registry};
use sojourn_units::Ecn;

/// Ids in the order in which they leave at `now`, up to `n`.
fn drain(b: &mut Bench, n: usize) -> Vec<u64> {
    let mut ids = Vec::new();
    while ids.len() < n {
        match b.take(ms(1)) {
            Dequeued::Packet(packet) => ids.push(packet.id),
            _ => break,
        }
    }
    ids
}

/// Packets 11, 12, … of flow 1, full ones.
fn bulk(b: &mut Bench, flow: u64, n: u64) {
    (1..=n).for_each(|i| b.put(ms(0), pkt(flow * 10 + i).of(flow)));
}

/// With a quantum of one full packet (1514), bulk flow 1 sends its first packet as a new queue; its deficit is
/// then 0. Flow 2, new, has precedence over it from there: 1 goes to the old list (deficit 1514 again), 2 sends
/// one, goes to the old list too. From then they take turns.
#[test]
fn new_queues_go_first_and_old_ones_take_turns() {
    let mut b = Bench::new("fq_codel");
    bulk(&mut b, 1, 4);
    assert_eq!(b.gauge(ms(0), "new_flows_len"), 1.0);
    assert_eq!(drain(&mut b, 1), [11]);
    bulk(&mut b, 2, 3);
    assert_eq!(drain(&mut b, 1), [21], "1 has used up its turn");
    assert_eq!((b.stat("new_flows_len"), b.stat("old_flows_len")), (1.0, 1.0));
    // 2 has deficit 0, becomes old behind 1.
    assert_eq!(drain(&mut b, 9), [12, 22, 13, 23, 14]);
    assert_eq!((b.stat("new_flows_len"), b.stat("old_flows_len")), (0.0, 0.0));
    assert_eq!(b.stat("new_flow_count"), 2.0);
}

/// A sparse flow that empties while others wait is put behind the old ones once, and is new again only after
/// it has been taken off that list. Flow 1's packets are of 700 bytes: its deficit is 1514, 814, 114, -586 as a
/// new queue, then 928, 228 as an old one.
#[test]
fn a_new_queue_that_empties_takes_a_turn_among_the_old() {
    let mut b = Bench::new("fq_codel");
    (1..=7).for_each(|i| b.put(ms(0), pkt(10 + i).of(1).long(700)));
    assert_eq!(drain(&mut b, 4), [11, 12, 13, 14]);
    b.put(ms(1), pkt(21).of(2).long(100));
    assert_eq!(drain(&mut b, 1), [21]);
    // 2 is empty, still new, deficit 1414. Asked again it yields nothing and moves behind 1, which sends.
    assert_eq!(drain(&mut b, 1), [15]);
    assert_eq!((b.stat("new_flows_len"), b.stat("old_flows_len")), (0.0, 2.0));
    // A packet that comes now does not make it new. 1 is at -472: its turn is over, and 2 is next.
    b.put(ms(1), pkt(22).of(2).long(100));
    assert_eq!(b.stat("new_flow_count"), 2.0);
    assert_eq!(drain(&mut b, 2), [22, 16]);
    // Empty when its turn came, 2 left the list, and is new with its next packet.
    b.put(ms(1), pkt(23).of(2).long(100));
    assert_eq!(b.stat("new_flow_count"), 3.0);
    assert_eq!(drain(&mut b, 2), [23, 17]);
}

/// Quantum 3000: deficits 3000, 1486, -28: two packets a turn, then -28 + 3000 = 2972, 1458, -56: two again.
#[test]
fn a_quantum_is_in_bytes_and_overruns_are_remembered() {
    let mut b = Bench::new("fq_codel quantum 3000");
    bulk(&mut b, 1, 5);
    (1..=60).for_each(|i| b.put(ms(0), pkt(200 + i).of(2).long(100)));
    let order = drain(&mut b, 64);
    assert_eq!(order[..2], [11, 12]);
    assert_eq!(order[2..32], (201..=230).collect::<Vec<_>>(), "30 of 100 bytes are 3000");
    assert_eq!(order[32..34], [13, 14]);
    assert_eq!(order[34..], (231..=260).collect::<Vec<_>>());
}

/// Packets of 255 bytes: after one a deficit of 256 is 1, not yet used up, and a second goes. Then -254 + 256 =
/// 2: one more is enough.
#[test]
fn a_quantum_below_256_counts_as_256() {
    let mut b = Bench::new("fq_codel quantum 100");
    for i in 1..=4 {
        b.put(ms(0), pkt(10 + i).of(1).long(255));
        b.put(ms(0), pkt(20 + i).of(2).long(255));
    }
    assert_eq!(drain(&mut b, 8), [11, 12, 21, 22, 13, 23, 14, 24]);
}

/// Ten are held, eight of flow 1 (12 112 bytes) and three of flow 2 with the eleventh. Flow 1 loses packets
/// from its head until half its bytes, 6056, are gone: exactly four.
#[test]
fn over_the_limit_the_longest_queue_loses_half_from_its_head() {
    let mut b = Bench::new("fq_codel limit 10");
    bulk(&mut b, 1, 8);
    bulk(&mut b, 2, 3);
    let gone: Vec<_> = (11..=14).map(|id| (id, Reason::Overlimit)).collect();
    assert_eq!(b.log.drops(), gone);
    assert_eq!((b.stat("drop_overlimit"), b.backlog().packets), (4.0, 7));
    assert_eq!(drain(&mut b, 9), [15, 21, 16, 22, 17, 23, 18]);
}

/// The batch bounds it; 5.4 turns any batch that is set into one packet (its default of 64 stands).
#[test]
fn drop_batch_bounds_the_loss_and_slips_in_5_4() {
    let gone = |words, profile| {
        let mut b = Bench::on(words, profile);
        bulk(&mut b, 1, 11);
        b.log.dropped.len()
    };
    assert_eq!(gone("fq_codel limit 10 drop_batch 2", &QdiscQuirks::LINUX_7_3), 2);
    assert_eq!(gone("fq_codel limit 10 drop_batch 2", &QdiscQuirks::LINUX_5_10), 2);
    assert_eq!(gone("fq_codel limit 10 drop_batch 2", &QdiscQuirks::LINUX_5_4), 1);
    // 11 x 1514 / 2 = 8327 bytes: six packets.
    assert_eq!(gone("fq_codel limit 10", &QdiscQuirks::LINUX_5_4), 6);
    // 200 packets over a limit of 199: half would be 100; 64 go.
    let mut b = Bench::new("fq_codel limit 199");
    bulk(&mut b, 1, 200);
    assert_eq!(b.log.dropped.len(), 64);
}

/// A full packet is accounted as 256 + 1024 + 1448 = 2728 bytes: three fit into 8184, the fourth does not.
#[test]
fn memory_is_limited_as_the_kernel_accounts_it() {
    let mut b = Bench::new("fq_codel memory_limit 8184");
    bulk(&mut b, 1, 3);
    assert_eq!((b.log.dropped.len(), b.stat("memory_used")), (0, 8184.0));
    bulk(&mut b, 2, 1);
    // Half of 4542 bytes is 2271: two packets.
    assert_eq!(b.log.drops(), [(11, Reason::Memory), (12, Reason::Memory)]);
    assert_eq!((b.stat("drop_overmemory"), b.stat("drop_overlimit")), (2.0, 2.0));
    assert_eq!(b.stat("memory_used"), 2.0 * 2728.0);
}

/// CoDel runs on each queue by itself, with ECN on by default. One dequeue a millisecond from two queues
/// filled at time 0: each is asked every second one, so queue 1 sees its sojourn pass 5 ms at 6 (or 5) ms.
#[test]
fn each_queue_has_its_own_codel() {
    let mut b = Bench::new("fq_codel");
    for i in 0..200 {
        b.put(ms(0), pkt(1000 + i).of(1).ecn(Ecn::Ect0));
        b.put(ms(0), pkt(2000 + i).of(2));
    }
    for k in 0..=110 {
        b.get(ms(k));
    }
    // Odd milliseconds are flow 2's: 5 ms crosses, 105 ms is after it (as in codel's trace). Even ones are
    // flow 1's: 6 ms is unit 5859, plus 97 656 is 103 515, that of 106 ms: after it is 108.
    assert_eq!(b.log.drops(), [(2052, Reason::ControlLaw)]);
    assert_eq!(b.log.dropped[0].0, ms(105));
    assert_eq!(b.log.marks(), [(1054, Reason::ControlLaw)]);
    assert_eq!(b.log.marked[0].0, ms(108));
    assert_eq!((b.gauge(ms(110), "dropping"), b.gauge(ms(110), "count")), (2.0, 1.0));
    let mut b = Bench::new("fq_codel noecn");
    (0..200).for_each(|i| b.put(ms(0), pkt(i).ecn(Ecn::Ect0)));
    (0..=110).for_each(|k| b.pass(ms(k)));
    assert_eq!((b.log.drops(), b.log.marks()), (vec![(105, Reason::ControlLaw)], vec![]));
}

/// CoDel's "at most one MTU behind it" looks at all queues together: a single late packet in a queue of its
/// own is dropped while another queue holds plenty, unlike in RFC 8290.
#[test]
fn the_backlog_that_codel_weighs_is_the_whole_discipline_s() {
    let late = |others: u64| {
        let mut b = Bench::new("fq_codel");
        (0..others).for_each(|i| b.put(ms(300), pkt(i).of(2)));
        for i in 0..40 {
            b.put(ns(i), pkt(100 + i).of(1).long(60));
        }
        // 40 packets of 60 bytes: the last 25 leave 1500 bytes or less behind them.
        let mut k = 300;
        while let Dequeued::Packet(_) = b.take(ms(k)) {
            k += 20;
        }
        b.log.dropped.iter().filter(|d| d.1.flow == 1).count()
    };
    assert_eq!(late(0), 2, "400 and 500 ms; at 560, 24 x 60 bytes are too little");
    assert!(late(200) > 5);
}

/// Flows 1: everything in one CoDel queue, in order.
#[test]
fn one_queue_is_a_fifo() {
    let mut b = Bench::new("fq_codel flows 1");
    (0..50).for_each(|id| b.put(ms(0), pkt(id).of(id % 7)));
    assert_eq!(drain(&mut b, 50), (0..50).collect::<Vec<_>>());
}

/// Only what matches: ECT(1) is 0b01 under the mask 0b11.
#[test]
fn the_selector_confines_ce_threshold() {
    let mut b = Bench::new("fq_codel flows 1 ce_threshold 1ms ce_threshold_selector 0x1/0x3");
    let ecn = [Ecn::Ect0, Ecn::Ect1, Ecn::NotEct];
    (0..3).for_each(|i| b.put(ms(0), pkt(i as u64).ecn(ecn[i])));
    (0..3).for_each(|_| b.pass(ms(2)));
    assert_eq!(b.log.marks(), [(1, Reason::CeThreshold)]);
}

/// Queues keep their state over a change; a lowered limit costs packets in the order of service.
#[test]
fn a_change_keeps_queue_and_state() {
    let mut b = Bench::new("fq_codel limit 20");
    bulk(&mut b, 1, 4);
    bulk(&mut b, 2, 4);
    b.change(ms(1), "fq_codel limit 6 target 1ms");
    assert_eq!(b.log.drops(), [(11, Reason::Overlimit), (21, Reason::Overlimit)]);
    assert_eq!(drain(&mut b, 9), [12, 22, 13, 23, 14, 24]);
    assert_eq!(b.stats().packets, 6, "what a change drops was not sent");
    let text = b.any.describe();
    assert!(text.contains("limit 6p flows 1024 quantum 1514 target 999us"), "{text}");
}

#[test]
fn hashing_spreads_flows_evenly_and_depends_on_the_stream() {
    let queues = |flows: u64| {
        let mut b = Bench::new("fq_codel");
        (0..flows).for_each(|f| b.put(ms(0), pkt(f).of(f)));
        b.stat("new_flow_count") as u64
    };
    // 1024 flows into 1024 queues: 1024 (1 - 1/e) = 647 are expected to be used, standard deviation 10.
    assert!((607..687).contains(&queues(1024)), "{}", queues(1024));
    let order = |seed| {
        let mut random = sojourn_units::Random::named(seed, "x");
        let any = Registry::<Pkt>::built_in().build(
            "fq_codel flows 8",
            &QdiscQuirks::LINUX_7_3,
            &mut random,
        );
        let mut b = Bench { any: any.unwrap(), ..Bench::new("pfifo") };
        (0..16).for_each(|f| b.put(ms(0), pkt(f).of(f)));
        drain(&mut b, 16)
    };
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
}

#[test]
fn a_flush_leaves_nothing_behind() {
    let mut b = Bench::new("fq_codel");
    bulk(&mut b, 1, 3);
    bulk(&mut b, 2, 3);
    b.flush(ms(1));
    assert_eq!(b.log.dropped.len(), 6);
    assert!(b.log.dropped.iter().all(|d| d.2 == Reason::Flushed));
    assert_eq!((b.take(ms(1)), b.stat("memory_used")), (Dequeued::Empty, 0.0));
    bulk(&mut b, 1, 2);
    assert_eq!(drain(&mut b, 2), [11, 12]);
    assert_eq!(b.stat("maxpacket"), f64::from(FULL));
}

/// A ping, 10 ms late behind a bulk flow, takes note of being above target: a signal would be due 100 ms later. Its queue is
/// empty for 190 ms; the next ping is late again. In 5.10 it is the one to be dropped, in 7.3 the first of its time.
#[test]
fn a_queue_found_empty_starts_again_or_does_not() {
    for (profile, lost) in [(&QdiscQuirks::LINUX_5_10, true), (&QdiscQuirks::LINUX_7_3, false)] {
        let mut b = Bench::on("fq_codel", profile);
        bulk(&mut b, 1, 8);
        b.put(ms(0), pkt(1).of(2).long(98));
        assert_eq!((b.get(ms(10)).id, b.get(ms(10)).id), (11, 1));
        assert_eq!((b.get(ms(20)).id, b.get(ms(20)).id), (12, 13), "2 is found empty");
        // The bulk flow is not late, and enough of it waits.
        while b.backlog().packets > 0 {
            b.take(ms(20));
        }
        (1..=3).for_each(|i| b.put(ms(210), pkt(20 + i).of(1)));
        b.put(ms(200), pkt(2).of(2).long(98));
        let first = b.get(ms(210));
        let second = b.get(ms(210));
        let pinged = [first.id, second.id].contains(&2);
        assert_eq!((pinged, b.log.drops() == [(2, Reason::ControlLaw)]), (!lost, lost));
    }
}
