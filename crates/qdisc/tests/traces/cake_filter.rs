//! CAKE's filter of acknowledgements and its tins by DSCP, by hand.

use crate::bench::{Bench, Pkt, ms, pkt};
use sojourn_qdisc::{Acknowledgement, Context, QdiscQuirks, Reason, Telemetry, table::Class};
use sojourn_units::Time;

/// A plain one.
fn ack(number: u32) -> Acknowledgement {
    Acknowledgement { ack: number, is_plain: true, ..Acknowledgement::default() }
}

fn sack(number: u32, blocks: &[(u32, u32)]) -> Acknowledgement {
    let mut ack = ack(number);
    ack.sack[..blocks.len()].copy_from_slice(blocks);
    ack.blocks = blocks.len() as u8;
    ack
}

/// Ids of what is dropped when these come one after the other, ids from 0, into a queue that sends nothing.
fn dropped(words: &str, acks: &[Acknowledgement]) -> Vec<u64> {
    let mut b = Bench::new(&format!("cake {words}"));
    for (id, ack) in (0..).zip(acks) {
        b.put(ms(0), pkt(id).ack(*ack));
    }
    assert!(b.log.dropped.iter().all(|drop| drop.2 == Reason::AckFilter));
    // The remaining packets are in order, and are counted.
    let gone: Vec<u64> = b.log.dropped.iter().map(|drop| drop.1.id).collect();
    let stays: Vec<u64> = (0..acks.len() as u64).filter(|id| !gone.contains(id)).collect();
    assert_eq!(b.backlog().packets as usize, stays.len());
    assert_eq!(b.backlog().bytes, 66 * stays.len() as u64);
    assert_eq!(b.stat("memory_used"), stays.len() as f64 * 1280.0);
    let left: Vec<u64> = stays.iter().map(|_| b.get(ms(1)).id).collect();
    assert_eq!(left, stays);
    gone
}

const MODERATE: &str = "ack-filter";
const AGGRESSIVE: &str = "ack-filter-aggressive";

/// The third makes the first superfluous, since the second is so too; then one goes for each that comes. Aggressively,
/// the second is enough, and of a run one stays.
#[test]
fn of_a_run_two_stay_or_one() {
    let run: Vec<_> = (1..=6).map(ack).collect();
    assert_eq!(dropped(MODERATE, &run), [0, 1, 2, 3]);
    assert_eq!(dropped(AGGRESSIVE, &run), [0, 1, 2, 3, 4]);
    assert_eq!(dropped("no-ack-filter", &run), [0; 0]);
    assert_eq!(dropped("", &run), [0; 0], "off by default");
}

/// Duplicates say nothing more than the one before, and loss recovery counts them.
#[test]
fn duplicates_stay() {
    assert_eq!(dropped(AGGRESSIVE, &[ack(5), ack(5), ack(5), ack(5)]), [0; 0]);
    // The fifth acknowledges more than all four.
    assert_eq!(dropped(MODERATE, &[ack(5), ack(5), ack(5), ack(6)]), [0]);
}

/// A SACK that grows covers the one before; one that lost a block, or tells of a duplicate below the cumulative one, does
/// not. An acknowledgement without blocks is covered by one with them, at the same number too.
#[test]
fn what_is_sacked_is_kept() {
    let grows = [sack(5, &[(7, 8)]), sack(5, &[(7, 9)]), sack(5, &[(7, 10)])];
    assert_eq!(dropped(MODERATE, &grows), [0]);
    let other = [sack(5, &[(7, 8)]), sack(6, &[(9, 12)])];
    assert_eq!(dropped(AGGRESSIVE, &other), [0; 0]);
    let split = [sack(5, &[(9, 10), (7, 8)]), sack(5, &[(7, 10)])];
    assert_eq!(dropped(AGGRESSIVE, &split), [0]);
    let duplicate = [sack(5, &[(3, 4)]), sack(6, &[(3, 4), (8, 9)])];
    assert_eq!(dropped(AGGRESSIVE, &duplicate), [0; 0]);
    assert_eq!(dropped(AGGRESSIVE, &[ack(5), sack(5, &[(7, 8)])]), [0]);
    assert_eq!(dropped(AGGRESSIVE, &[sack(5, &[(7, 8)]), ack(9)]), [0; 0], "as Linux has it");
}

/// A change of ECN-Echo is news: the last with the former flags stays, and so does the first with the new.
#[test]
fn a_change_of_flags_is_kept() {
    let ece = |number| Acknowledgement { ece: true, ..ack(number) };
    assert_eq!(dropped(AGGRESSIVE, &[ack(1), ece(2)]), [0; 0]);
    // 2 comes: 0, 1 are a run, 0 goes. The first ECE forgets 1; with its second two of a kind are found.
    assert_eq!(dropped(MODERATE, &[ack(1), ack(2), ack(3), ece(4), ece(5), ece(6)]), [0, 1, 3]);
}

/// Anything that is not plain stays; so does what has a later timestamp, or is of another flow.
#[test]
fn nothing_else_is_lost() {
    let accecn = |number| Acknowledgement { is_plain: false, ..ack(number) };
    assert_eq!(dropped(AGGRESSIVE, &[accecn(1), accecn(2), accecn(3)]), [0; 0]);
    let at = |number, time, echo| Acknowledgement { timestamps: (time, echo), ..ack(number) };
    assert_eq!(dropped(AGGRESSIVE, &[at(1, 8, 3), at(2, 7, 3)]), [0; 0]);
    assert_eq!(dropped(AGGRESSIVE, &[at(1, 7, 3), at(2, 8, 2)]), [0; 0]);
    assert_eq!(dropped(AGGRESSIVE, &[at(1, 7, 3), at(2, 8, 3)]), [0]);
    // Numbers wrap.
    assert_eq!(dropped(AGGRESSIVE, &[ack(u32::MAX), ack(2)]), [0]);
    let mut b = Bench::new("cake flowblind ack-filter-aggressive");
    b.put(ms(0), pkt(0).of(1).ack(ack(1)));
    b.put(ms(0), pkt(1).of(2).ack(ack(2)));
    b.put(ms(0), pkt(2).of(1));
    b.put(ms(0), pkt(3).of(2).ack(ack(3)));
    // Not consecutive: 1 stays, since only one was found.
    assert_eq!(b.log.drops(), []);
    b.put(ms(0), pkt(4).of(2).ack(ack(4)));
    assert_eq!(b.log.drops(), [(1, Reason::AckFilter)]);
}

/// Remembers the class of what leaves.
#[derive(Default)]
struct Classes(Vec<&'static str>);

impl Telemetry<Pkt> for Classes {
    fn dropped(&mut self, _now: Time, _packet: Pkt, _reason: Reason) {}
    fn marked(&mut self, _now: Time, _packet: &Pkt, _reason: Reason) {}
    fn leaves(&mut self, class: &'static Class) {
        self.0.push(class.name);
    }
}

/// The class of a packet with this DSCP.
fn class(words: &str, profile: &QdiscQuirks, dscp: u8) -> &'static str {
    let mut b = Bench::on(words, profile);
    b.put(ms(0), pkt(0).dscp(dscp));
    let mut classes = Classes::default();
    let mut cx = Context { random: &mut b.random, telemetry: &mut classes };
    sojourn_qdisc::Qdisc::dequeue(&mut b.any, ms(0), &mut cx);
    classes.0[0]
}

/// The traffic classes of RFC 4594 (and 8622) where the kernel's comments place them; all others are best effort.
#[test]
fn tins_by_dscp() {
    const LE: u8 = 1;
    const AF1: [u8; 3] = [10, 12, 14];
    const AF2: [u8; 3] = [18, 20, 22];
    const AF3: [u8; 3] = [26, 28, 30];
    const AF4: [u8; 3] = [34, 36, 38];
    let of = |groups: &[&[u8]]| groups.concat();
    let four = [
        ("bulk", of(&[&[LE, 8]])),
        ("video", of(&[&[4, 16, 24], &AF2, &AF3, &AF4])),
        ("voice", of(&[&[32, 40, 44, 46, 48, 56]])),
    ];
    let eight = [
        ("tin_0", of(&[&[LE]])),
        ("tin_1", of(&[&[2, 8], &AF1])),
        ("tin_3", of(&[&[24], &AF3, &AF4])),
        ("tin_4", of(&[&[4], &AF2])),
        ("tin_5", of(&[&[16]])),
        ("tin_6", of(&[&[32, 40, 44, 46]])),
        ("tin_7", of(&[&[48, 56]])),
    ];
    let check = |words, groups: &[(&'static str, Vec<u8>)], rest| {
        for dscp in 0..64 {
            let group = groups.iter().find(|(_, all)| all.contains(&dscp));
            let expected = group.map_or(rest, |(name, _)| *name);
            assert_eq!(class(words, &QdiscQuirks::LINUX_7_3, dscp), expected, "{words} {dscp}");
        }
    };
    check("cake diffserv4", &four, "best_effort");
    check("cake diffserv8", &eight, "tin_2");
    let precedence = |dscp: u8| class("cake precedence", &QdiscQuirks::LINUX_7_3, dscp);
    assert_eq!([0, 7, 8, 46, 63].map(precedence), ["tin_0", "tin_0", "tin_1", "tin_5", "tin_7"]);
    // Before 5.8, codepoint 1 was one of the old TOS field's and CS1 the lowest of eight.
    let old = |words| class(words, &QdiscQuirks::LINUX_5_4, LE);
    assert_eq!((old("cake diffserv4"), old("cake diffserv8")), ("video", "tin_5"));
    assert_eq!(class("cake diffserv8", &QdiscQuirks::LINUX_5_4, 8), "tin_0");
}

/// 16 Mbit/s are 2 000 000 bytes a second; of four tins video has a half of them, of eight each has 7/8 of the one before,
/// rounded down.
#[test]
fn thresholds() {
    let b = Bench::new("cake bandwidth 16mbit diffserv4");
    let shown = ["bulk", "best_effort", "video", "voice"].map(|t| b.stat(&format!("{t}_thresh")));
    assert_eq!(shown, [125_000.0, 2_000_000.0, 1_000_000.0, 500_000.0]);
    let b = Bench::new("cake bandwidth 16mbit diffserv8");
    let shown = [0, 1, 2, 7].map(|t| b.stat(&format!("tin_{t}_thresh")));
    assert_eq!(shown, [2_000_000.0, 1_750_000.0, 1_531_250.0, 785_390.0]);
    let names = |words| Bench::new(words).stats().own.into_iter().map(|(name, _)| name);
    assert!(names("cake diffserv8").all(|name| !name.starts_with("bulk")));
    assert!(names("cake").all(|name| !name.starts_with("video") && !name.starts_with("tin")));
}

/// All four tins are backlogged: each has its threshold, and best effort what is left: 16 - 1 - 8 - 4 = 3 of 16 parts.
#[test]
fn four_tins_share() {
    let mut b = Bench::new("cake bandwidth 16mbit diffserv4 memlimit 200mb");
    for id in 0..12_000 {
        let packet = pkt(id).of(id % 4).ecn(sojourn_units::Ecn::Ect0);
        b.put(ms(0), packet.dscp([0, 8, 34, 46][id as usize % 4]));
    }
    let mut counts = [0_u32; 4];
    for k in 0..1600 {
        counts[b.get(Time::from_nanos(k * 757_000)).flow as usize] += 1;
    }
    for (count, share) in counts.into_iter().zip([300, 100, 800, 400]) {
        assert!(count.abs_diff(share) <= 4, "{counts:?}");
    }
}

#[test]
fn as_tc_shows_them() {
    let shown = |words| Bench::new(words).any.describe();
    assert_eq!(
        shown("cake diffserv4 wash ack-filter-aggressive"),
        "bandwidth unlimited diffserv4 triple-isolate nonat wash ack-filter-aggressive split-gso rtt 100ms raw overhead 0"
    );
    assert!(shown("cake precedence ack-filter").contains(" precedence "));
}
