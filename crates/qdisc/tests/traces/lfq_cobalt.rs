//! Lightweight fair queueing by hand.

use crate::bench::{Bench, FULL, ms, pkt};
use sojourn_qdisc::{Dequeued, Reason};
use sojourn_units::Ecn;

fn order(b: &mut Bench) -> Vec<u64> {
    core::iter::from_fn(|| match b.take(ms(0)) {
        Dequeued::Packet(packet) => Some(packet.id),
        _ => None,
    })
    .collect()
}

/// Bulk holds 1, 2, 4, 5. Both flows have overrun their deficit with their sparse packets 0 and 3, so the scan passes
/// over all, is at the end, and sweeps: 1 goes, 2 is passed over, 4 goes, 5 is passed over; sweep; 2, 5.
#[test]
fn the_scan_passes_over_flows_that_had_their_turn() {
    let mut b = Bench::new("lfq_cobalt");
    for (id, flow) in [(0, 1), (1, 1), (2, 1), (3, 2), (4, 2), (5, 2)] {
        b.put(ms(0), pkt(id).of(flow));
    }
    assert_eq!(order(&mut b), [0, 3, 1, 4, 2, 5]);
    let stats = ["sparse_sent", "bulk_sent", "sweeps"].map(|name| b.stat(name));
    assert_eq!(stats, [2.0, 4.0, 2.0]);
    // Flow 2 still has its mark, so its next packet is bulk; flow 3 is new.
    b.put(ms(0), pkt(6).of(2));
    b.put(ms(0), pkt(7).of(3));
    assert_eq!(order(&mut b), [7, 6]);
}

/// Turns are fair in bytes, whatever the sizes.
#[test]
fn small_packets_get_as_many_bytes() {
    let mut b = Bench::new("lfq_cobalt");
    for id in 0..1000 {
        b.put(ms(0), pkt(id).of(1));
        (0..5).for_each(|_| b.put(ms(0), pkt(id).of(2).long(300)));
    }
    let mut bytes = [0_u32; 2];
    for _ in 0..3000 {
        let packet = b.get(ms(0));
        bytes[packet.flow as usize - 1] += packet.len;
    }
    assert!(bytes[0].abs_diff(bytes[1]) < 2 * FULL, "{bytes:?}");
}

/// Each packet of 60 kB takes a flow 58 kB further below zero, for a pass gives back one frame: 40 000 of them would be more
/// than 31 bits hold. A flow that is as far down as can be stays there, and has its turn once a pass as before.
#[test]
fn a_deficit_has_a_bottom() {
    let mut b = Bench::new("lfq_cobalt");
    for id in 0..3 {
        b.put(ms(0), pkt(id).long(60_000));
    }
    for id in 3..40_000 {
        b.put(ms(0), pkt(id).long(60_000));
        assert_eq!(b.get(ms(0)).id, id - 3);
    }
}

/// A full packet is 2728 bytes of memory. The kernel loses the new packet here; ours drops from the bulk head.
#[test]
fn the_memory_limit_drops_from_the_bulk_head() {
    let mut b = Bench::new("lfq_cobalt memlimit 9000");
    (0..5).for_each(|id| b.put(ms(0), pkt(id)));
    assert_eq!(b.log.drops(), [(1, Reason::Memory), (2, Reason::Memory)]);
    assert_eq!(order(&mut b), [0, 3, 4]);
    let mut b = Bench::new("lfq_cobalt memlimit 1000");
    b.put(ms(0), pkt(0));
    assert_eq!(b.log.drops(), [(0, Reason::Memory)]);
    assert_eq!(b.stat("memory_drop"), 1.0);
}

/// DSCP 4 has target 1 ms and interval 20 ms, whatever the options, and no SCE: above target at 2 ms, due at 2,
/// 16.142 and 27.689. Others at `sce-thresh 8`: SCE above 2.5 ms, at 3, so due 12.5 ms later and 12.5 / sqrt(2) after
/// that: 15.5, 24.339.
#[test]
fn dscp_4_is_judged_by_a_fifth_of_the_defaults() {
    let run = |dscp| {
        let mut b = Bench::new("lfq_cobalt sce-thresh 8");
        (0..400).for_each(|id| b.put(ms(0), pkt(id).ecn(Ecn::Ect0).dscp(dscp)));
        (0..=28).for_each(|k| b.pass(ms(k)));
        let times = |told: &[(sojourn_units::Time, _, Reason)]| -> Vec<u64> {
            told.iter().map(|t| t.0.as_nanos() / 1_000_000).collect()
        };
        (times(&b.log.marked), times(&b.log.sce_marked))
    };
    assert_eq!(run(4), (vec![3, 17, 28], vec![]));
    assert_eq!(run(0), (vec![7], vec![16, 25]));
}
