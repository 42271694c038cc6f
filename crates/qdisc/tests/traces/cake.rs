//! CAKE by hand, and its queues against a naive twin.

use crate::bench::{Bench, Log, Pkt, ms, ns, pkt};
use proptest::prelude::*;
use sojourn_qdisc::{Dequeued, QdiscQuirks, Reason, Registry, disciplines};
use sojourn_units::{Ecn, Random, Span, Time};
use std::collections::BTreeMap;

/// 1514 bytes at 10 Mbit/s take 1 211 200 ns; with `overhead 18` 1518 are charged.
#[test]
fn the_shaper_spaces_packets_and_has_no_burst() {
    for (words, gap) in [("", 1_211_200), ("overhead 18", 1_214_400), ("mpu 256", 1_211_200)] {
        let mut b = Bench::new(&format!("cake bandwidth 10mbit {words}"));
        (0..4).for_each(|id| b.put(ms(7), pkt(id)));
        b.pass(ms(7));
        for k in 1..4 {
            let at = ns(7_000_000 + k * gap);
            assert_eq!(b.take(ns(at.as_nanos() - 1)), Dequeued::Wait(at), "{words}");
            b.pass(at);
        }
        assert_eq!(b.stats().overlimits, 3);
    }
}

/// All three tins are backlogged: bulk gets its sixteenth, voice its quarter, best effort what is left.
#[test]
fn tins_share_by_their_thresholds() {
    let mut b = Bench::new("cake bandwidth 16mbit memlimit 100mb");
    for id in 0..6000 {
        b.put(ms(0), pkt(id).of(id % 3).ecn(Ecn::Ect0).dscp([0, 8, 46][id as usize % 3]));
    }
    let mut counts = [0_u32; 3];
    for k in 0..1600 {
        counts[b.get(ns(k * 757_000)).flow as usize] += 1;
    }
    for (count, share) in counts.into_iter().zip([1100, 100, 400]) {
        assert!(count.abs_diff(share) <= 4, "{counts:?}");
    }
}

/// Voice within its quarter goes before best effort, beyond it not; without a rate tins take turns by weight.
#[test]
fn a_tin_within_its_threshold_goes_first() {
    let mut b = Bench::new("cake bandwidth 16mbit");
    for id in 0..4 {
        b.put(ms(0), pkt(id).of(1).dscp(0));
        b.put(ms(0), pkt(10 + id).of(2).dscp(46));
    }
    let order: Vec<u64> = (0..8).map(|k| b.get(ns(k * 757_000)).id).collect();
    assert_eq!(order, [10, 0, 1, 2, 11, 3, 12, 13]);
    let mut b = Bench::new("cake");
    for id in 0..6000 {
        b.put(ms(0), pkt(id).of(id % 3).dscp([0, 8, 46][id as usize % 3]));
    }
    let mut counts = [0_u32; 3];
    (0..2100).for_each(|_| counts[b.get(ms(0)).flow as usize] += 1);
    for (count, share) in counts.into_iter().zip([1600, 100, 400]) {
        assert!(count.abs_diff(share) <= 6, "{counts:?}");
    }
}

/// A packet takes 12.112 ms at 1 Mbit/s and 48.448 at a quarter: the target is one and a half, and the interval is
/// longer by as much as the target is above 5 ms.
#[test]
fn a_low_rate_has_its_own_target() {
    let b = Bench::new("cake bandwidth 1mbit");
    let shown = |name: &str| (b.stat(name) * 1e6).round();
    assert_eq!((shown("best_effort_target"), shown("best_effort_interval")), (18_168.0, 113_168.0));
    assert_eq!((shown("voice_target"), shown("voice_interval")), (72_672.0, 167_672.0));
    assert_eq!(b.stat("best_effort_quantum"), 300.0);
    assert_eq!(b.stat("voice_thresh"), 31_250.0);
    // 125 000 bytes/s · 100 ms · 4 is less than 4 MiB.
    assert_eq!(b.stat("memory_limit"), 4_194_304.0);
    let limit = |words| Bench::new(words).stat("memory_limit");
    assert_eq!(limit("cake bandwidth 100mbit rtt 300ms"), 15_000_000.0);
    assert_eq!(limit("cake"), 15_503_360.0);
    assert_eq!(limit("cake memlimit 32mb"), 33_554_432.0);
}

/// Three flows of one host against one of another. By flows each gets a quarter; by source host each host a half.
#[test]
fn hosts_are_isolated_where_asked_for() {
    for (words, lone) in [
        ("flows", 150),
        ("dual-srchost", 300),
        ("dual-dsthost", 150),
        ("srchost", 300),
        ("flowblind", 150),
        ("triple-isolate", 150),
    ] {
        let mut b = Bench::new(&format!("cake besteffort {words}"));
        for id in 0..4000 {
            b.put(ms(0), pkt(id).of([100, 101, 102, 200][id as usize % 4]));
        }
        let sent = (0..600).filter(|_| b.get(ms(0)).flow == 200).count() as u32;
        assert!(sent.abs_diff(lone) <= 4, "{words}: {sent}");
    }
}

/// The law on one queue is COBALT's as `cobalt` has it: see there for the times.
#[test]
fn signals_come_by_the_root_of_the_count() {
    for (ecn, marked) in [(Ecn::NotEct, false), (Ecn::Ect1, true)] {
        let mut b = Bench::new("cake besteffort flows");
        (0..400).for_each(|id| b.put(ms(0), pkt(id).ecn(ecn)));
        (0..=344).for_each(|k| b.pass(ms(k)));
        let told = if marked { &b.log.marked } else { &b.log.dropped };
        let times: Vec<u64> = told.iter().map(|t| t.0.as_nanos() / 1_000_000).collect();
        assert_eq!(times, [7, 77, 135, 185, 230, 270, 308, 344]);
        assert!(told.iter().all(|t| t.2 == Reason::ControlLaw));
        assert_eq!(b.gauge(ms(344), "best_effort_count"), 9.0);
        let stat = if marked { "best_effort_marks" } else { "best_effort_drops" };
        assert_eq!(b.stat(stat), 8.0);
    }
}

/// A full packet is 2728 bytes of memory. The fourth is too much: the longest queue loses its head, and its BLUE wakes.
#[test]
fn a_full_buffer_drops_from_the_longest_queue_and_wakes_blue() {
    let mut b = Bench::new("cake besteffort memlimit 9000");
    (0..3).for_each(|id| b.put(ms(10), pkt(id).of(1)));
    b.put(ms(10), pkt(3).of(2));
    assert_eq!(b.log.drops(), [(0, Reason::Memory)]);
    assert_eq!(b.gauge(ms(10), "best_effort_p_drop"), 1.0 / 256.0);
    assert_eq!(b.stat("best_effort_un_flows"), 1.0);
    // Within a target of 5 ms it does not grow, after that it does.
    b.put(ms(14), pkt(4).of(1));
    assert_eq!(b.gauge(ms(14), "best_effort_p_drop"), 1.0 / 256.0);
    b.put(ms(16), pkt(5).of(1));
    assert_eq!(b.gauge(ms(16), "best_effort_p_drop"), 2.0 / 256.0);
    assert_eq!((b.stat("memory_used"), b.stat("memory_max")), (8184.0, 10_912.0));
}

/// The `sce` ramp: none up to 2.5 ms, half at 3.75, all from 5. CE comes on top.
#[test]
fn the_ramp_marks_by_the_packet_s_own_delay() {
    let mut b = Bench::new("cake besteffort flows sce");
    (0..2000).for_each(|id| b.put(ms(0), pkt(id).ecn(Ecn::Ect0)));
    let mut sce_at = |micros: u64| {
        let before = b.log.sce_marked.len();
        (0..400).for_each(|_| b.pass(Time::from_micros(micros)));
        b.log.sce_marked.len() - before
    };
    assert_eq!(sce_at(2_500), 0);
    let half = sce_at(3_750);
    assert!((160..240).contains(&half), "{half}");
    assert_eq!(sce_at(5_000), 400);
    assert!(b.log.sce_marked.iter().all(|t| t.2 == Reason::Ramp));
    assert_eq!(b.stat("best_effort_sce_marks"), (400 + half) as f64);
    assert_eq!(b.stat("best_effort_marks"), 0.0);
}

/// RFC 8622's lower effort is in the bulk tin since 5.8.
#[test]
fn dscp_chooses_the_tin() {
    let tins = |dscp, profile| {
        let mut b = Bench::on("cake", profile);
        b.put(ms(0), pkt(0).dscp(dscp));
        ["bulk_pkts", "best_effort_pkts", "voice_pkts"].map(|name| b.stat(name))
    };
    for (dscp, tin) in [(0, 1), (8, 0), (1, 0), (4, 2), (46, 2), (44, 2), (48, 2), (56, 2), (10, 1)]
    {
        assert_eq!(tins(dscp, &QdiscQuirks::LINUX_7_3)[tin], 1.0, "{dscp}");
    }
    assert_eq!(tins(1, &QdiscQuirks::LINUX_5_4), [0.0, 1.0, 0.0]);
}

/// Eight ways: as many flows as a fifth of the queues hardly ever share one.
#[test]
fn flows_find_queues_of_their_own() {
    let mut b = Bench::new("cake besteffort flows");
    (0..200).for_each(|flow| b.put(ms(0), pkt(flow).of(flow)));
    assert_eq!((b.stat("best_effort_way_miss"), b.stat("best_effort_way_cols")), (200.0, 0.0));
    assert_eq!(b.stat("best_effort_sp_flows"), 200.0);
    // 1025 flows cannot all have one.
    (200..1500).for_each(|flow| b.put(ms(0), pkt(flow).of(flow)));
    assert!(b.stat("best_effort_way_cols") >= 476.0);
}

#[test]
fn wrong_words_are_pointed_at() {
    for (words, message) in [
        ("cake bandwith 5mbit", "cake has no option \"bandwith\"; did you mean \"bandwidth\"?"),
        (
            "cake fwmark",
            "\"fwmark\" of cake is not modelled here; there are no firewall marks here",
        ),
        (
            "cake tripleisolate",
            "cake has no option \"tripleisolate\"; did you mean \"triple-isolate\"?",
        ),
        (
            "cake flows hosts",
            "\"hosts\" comes after \"flows\", which says the same or the opposite; keep one of them",
        ),
        (
            "cake bandwidth",
            "\"bandwidth\" needs a value; write a rate of at least 8bit, such as 50mbit",
        ),
        (
            "twin_codel_af sce-thresh 0",
            "\"sce-thresh\": 0 is out of range; write a number of SCE intervals in an interval from 1 to 1024",
        ),
        (
            "cnq_codel_af bandwidth 5mbit sce-tresh 4",
            "cnq_codel_af has no option \"sce-tresh\"; did you mean \"sce-thresh\"?",
        ),
        (
            "cnq_codal_af",
            "unknown queue discipline \"cnq_codal_af\"; did you mean \"cnq_codel_af\"?",
        ),
        (
            "lfq_cobalt overhead 300",
            "\"overhead\": 300 is out of range; write a number of bytes from 0 to 256",
        ),
    ] {
        let error = Registry::<Pkt>::built_in().build(
            words,
            &QdiscQuirks::LINUX_7_3,
            &mut Random::named(1, "words"),
        );
        assert_eq!(error.unwrap_err().to_string(), message, "{words}");
    }
    let help = disciplines().iter().find(|d| d.name == "cake").unwrap().help();
    assert!(
        help.contains("\n  diffserv3 | besteffort | diffserv4 | diffserv8 | precedence\n")
            && help.contains("\n  noatm | atm | ptm\n")
    );
    assert!(help.contains("\n  bandwidth RATE | unlimited\n"));
}

#[test]
fn options_are_shown_as_tc_shows_them() {
    let shown = |words| Bench::new(words).any.describe();
    assert_eq!(
        shown("cake bandwidth 50mbit"),
        "bandwidth 50Mbit diffserv3 triple-isolate nonat nowash no-ack-filter split-gso rtt 100ms raw overhead 0"
    );
    assert_eq!(
        shown(
            "cake besteffort dual-srchost metro overhead 38 mpu 84 ptm memlimit 4mb sce-thresh 8"
        ),
        "bandwidth unlimited besteffort dual-srchost nonat nowash no-ack-filter split-gso rtt 10ms ptm overhead 38 mpu 84 memlimit 4Mb sce-thresh 8"
    );
    assert_eq!(
        shown("cnq_codel_af bandwidth 50mbit"),
        "bandwidth 50Mbit rtt 100ms raw overhead 0 no-sce"
    );
    assert_eq!(shown("twin_codel_af"), "bandwidth unlimited rtt 100ms raw overhead 0 sce-thresh 4");
}

/// tc-cake(8): each name is short for an overhead, a least length and cells.
#[test]
fn a_link_by_name_is_its_overhead_its_least_length_and_its_cells() {
    let shown = |words: &str| Bench::new(&format!("cake bandwidth 20mbit {words}")).any.describe();
    for (named, meant) in [
        ("docsis", "overhead 18 mpu 64"),
        ("ethernet", "overhead 38 mpu 84"),
        ("pppoe-ptm", "overhead 30 ptm"),
        ("bridged-ptm", "overhead 22 ptm"),
        ("pppoa-vcmux", "overhead 10 atm"),
        ("pppoa-llc", "overhead 14 atm"),
        ("pppoe-vcmux", "overhead 32 atm"),
        ("pppoe-llcsnap", "overhead 40 atm"),
        ("bridged-vcmux", "overhead 24 atm"),
        ("bridged-llcsnap", "overhead 32 atm"),
        ("ipoa-vcmux", "overhead 8 atm"),
        ("ipoa-llcsnap", "overhead 16 atm"),
        ("conservative", "overhead 48 atm"),
        ("ethernet ether-vlan", "overhead 42 mpu 84"),
        ("overhead 4 bridged-ptm", "overhead 26 ptm"),
        ("docsis overhead 22", "overhead 22 mpu 64"),
    ] {
        assert_eq!(shown(named), shown(meant), "{named}");
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Set {
    None,
    Sparse,
    SparseWait,
    Bulk,
    Decaying,
}

/// One flow's queue and COBALT, as docs/sources/queues.md#cobalt-and-cake has it in wide integers.
struct Queue {
    packets: Vec<Pkt>,
    set: Set,
    deficit: i64,
    count: u64,
    root: u128,
    next: i128,
    above: bool,
}

struct Naive {
    target: i128,
    interval: i128,
    sce: i128,
    queues: BTreeMap<u64, Queue>,
    /// Flows: new, old, decaying.
    lists: [Vec<u64>; 3],
    random: Random,
    log: Log,
}

fn newton(count: u64, y: u128) -> u128 {
    let slope = (3 << 32) - u128::from(count) * ((y * y) >> 32);
    ((slope / 4) * y) >> 31
}

impl Queue {
    fn step(&mut self, more: i64, interval: i128) {
        self.count = (self.count as i64 + more) as u64;
        self.root = if self.count > 15 {
            newton(self.count, self.root)
        } else {
            (1..=self.count).fold(0xffff_ffff, |y, n| (0..4).fold(y, |y, _| newton(n, y)))
        };
        self.next += self.gap(interval);
    }
    fn gap(&self, interval: i128) -> i128 {
        (interval * self.root as i128) >> 32
    }
    fn due(&self, now: i128) -> bool {
        self.count > 0 && now >= self.next
    }
}

impl Naive {
    fn held(&self) -> usize {
        self.queues.values().map(|queue| queue.packets.len()).sum()
    }

    fn move_to(&mut self, flow: u64, list: Option<usize>) {
        self.lists.iter_mut().for_each(|list| list.retain(|f| *f != flow));
        if let Some(list) = list {
            self.lists[list].push(flow);
        }
    }

    fn put(&mut self, now: Time, mut packet: Pkt) {
        packet.stamp = now;
        let queue = self.queues.entry(packet.flow).or_insert(Queue {
            packets: Vec::new(),
            set: Set::None,
            deficit: 0,
            count: 0,
            root: 0,
            next: 0,
            above: false,
        });
        queue.packets.push(packet);
        match queue.set {
            Set::None | Set::Decaying => {
                queue.set = Set::Sparse;
                queue.deficit = 1513;
                self.move_to(packet.flow, Some(0));
            }
            Set::SparseWait => queue.set = Set::Bulk,
            Set::Sparse | Set::Bulk => {}
        }
    }

    fn take(&mut self, at: Time) -> Option<Pkt> {
        let now = i128::from(at.as_nanos());
        let mut first = true;
        while self.held() > 0 {
            let [new, old, decaying] = &self.lists;
            let early = decaying.first().filter(|_| first);
            let flow = *early.or(new.first()).or(old.first()).or(decaying.first()).unwrap();
            first = false;
            let queue = self.queues.get_mut(&flow).unwrap();
            if queue.deficit <= 0 {
                if queue.set == Set::Sparse {
                    queue.set = if queue.packets.is_empty() { Set::SparseWait } else { Set::Bulk };
                }
                queue.deficit += (1514 * 65_535 + i64::from(self.random.next_u32() >> 16)) >> 16;
                self.move_to(flow, Some(1));
                continue;
            }
            if let Some(packet) = self.send(at, now, flow) {
                self.queues.get_mut(&flow).unwrap().deficit -= i64::from(packet.len);
                return Some(packet);
            }
            let queue = self.queues.get_mut(&flow).unwrap();
            queue.above = false;
            if queue.due(now) {
                queue.step(-1, self.interval);
            }
            let rests = queue.count == 0 && now >= queue.next;
            queue.set = if rests { Set::None } else { Set::Decaying };
            self.move_to(flow, (!rests).then_some(2));
        }
        None
    }

    fn send(&mut self, at: Time, now: i128, flow: u64) -> Option<Pkt> {
        let queue = self.queues.get_mut(&flow).unwrap();
        while !queue.packets.is_empty() {
            let mut packet = queue.packets.remove(0);
            let sojourn = now - i128::from(packet.stamp.as_nanos());
            let over = sojourn > self.target;
            let due = queue.due(now);
            let mut late = now - queue.next;
            if over && !queue.above {
                queue.next = now + queue.gap(self.interval);
            }
            queue.above = over;
            queue.count = queue.count.max(u64::from(over));
            let mut drop = false;
            if due && over {
                drop = packet.ecn == Ecn::NotEct;
                if !drop && packet.ecn != Ecn::Ce {
                    packet.ecn = Ecn::Ce;
                    self.log.marked.push((at, packet, Reason::ControlLaw));
                }
                queue.step(1, self.interval);
                late = now - queue.next;
            }
            while !over && queue.due(now) {
                queue.step(-1, self.interval);
                late = now - queue.next;
            }
            if queue.count == 0 {
                queue.next = now + self.interval;
            } else if late > 0 && !drop {
                queue.next = now;
            }
            if drop && !queue.packets.is_empty() {
                self.log.dropped.push((at, packet, Reason::ControlLaw));
                continue;
            }
            if self.sce > 0 {
                let (one, half) = (0xffff_ffff_i128, self.target / 2);
                let knee = one / self.sce;
                let p = if over {
                    (sojourn - self.target) * ((one - knee) / self.target) + knee
                } else {
                    (sojourn - half).max(0) * (knee / half)
                };
                let hit = p > one || (p > 0 && i128::from(self.random.next_u32()) < p);
                if hit && packet.ecn == Ecn::Ect0 {
                    packet.ecn = Ecn::Ect1;
                    self.log.sce_marked.push((at, packet, Reason::Ramp));
                }
            }
            return Some(packet);
        }
        None
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    /// DRR++ and COBALT in one tin: every packet leaves, is dropped or marked at the same moment in both.
    #[test]
    fn besteffort_does_what_its_naive_twin_does(
        rtt in 20_u64..40_000,
        sce in 0_u32..6,
        steps in prop::collection::vec((0_u64..3_000, 0_u8..8, 0_u64..5, 40_u32..1515, 0_u8..4), 50..400),
    ) {
        let thresh = if sce == 0 { "no-sce".to_owned() } else { format!("sce-thresh {sce}") };
        let mut real = Bench::new(&format!("cake besteffort flows rtt {rtt}us {thresh}"));
        let target = i128::from((rtt / 20).max(1)) * 1000;
        let mut naive = Naive {
            target,
            interval: (i128::from(rtt) * 1000).max(2 * target),
            sce: i128::from(sce),
            queues: BTreeMap::new(),
            lists: [const { Vec::new() }; 3],
            random: real.random.clone(),
            log: Log::default(),
        };
        let mut now = ms(1);
        for (id, (pause, what, flow, len, bits)) in steps.into_iter().enumerate() {
            now += Span::from_micros(pause);
            if what < 5 {
                let packet = pkt(id as u64).of(flow).long(len).ecn(Ecn::from_bits(bits));
                real.put(now, packet);
                naive.put(now, packet);
            } else {
                let expected = naive.take(now).map_or(Dequeued::Empty, Dequeued::Packet);
                prop_assert_eq!(real.take(now), expected);
            }
            prop_assert_eq!(&real.log.dropped, &naive.log.dropped);
            prop_assert_eq!(&real.log.marked, &naive.log.marked);
            prop_assert_eq!(&real.log.sce_marked, &naive.log.sce_marked);
            let of = |sets: &[Set]| naive.queues.values().filter(|q| sets.contains(&q.set)).count() as f64;
            prop_assert_eq!(real.stat("best_effort_bk_flows"), of(&[Set::Bulk]));
            prop_assert_eq!(real.stat("best_effort_sp_flows"), of(&[Set::Sparse, Set::SparseWait]));
        }
        prop_assert_eq!(real.backlog().packets as usize, naive.held());
    }
}

/// The tin is that of the DSCP with which the packet came.
#[test]
fn wash_clears_the_dscp_behind_the_choice_of_the_tin() {
    let mut b = Bench::new("cake bandwidth 8mbit wash nat no-split-gso");
    assert!(b.any.describe().contains(" nat wash no-ack-filter no-split-gso "));
    b.put(ms(0), pkt(1).dscp(46).ecn(Ecn::Ect1));
    let packet = b.get(ms(0));
    assert_eq!((packet.dscp.value(), packet.ecn), (0, Ecn::Ect1));
    assert_eq!((b.stat("voice_pkts"), b.stat("best_effort_pkts")), (1.0, 0.0));
}
