//! Approximate fairness by hand: who is sparse, what a share weighs, how classes and packets are spaced; and
//! `cnq_codel_af` and `twin_codel_af` against a naive twin.

use crate::bench::{Bench, Log, Pkt, ms, ns, pkt};
use proptest::prelude::*;
use sojourn_qdisc::{Dequeued, QdiscQuirks, Reason};
use sojourn_units::{Ecn, Random, Span, Time};
use std::collections::BTreeMap;

fn ids(b: &mut Bench, at: Time, n: usize) -> Vec<u64> {
    (0..n).map(|_| b.get(at).id).collect()
}

/// A first packet is sparse and goes before all bulk; its dummy keeps the flow out until the bulk queue has passed.
#[test]
fn a_flow_is_sparse_while_it_has_nothing_in_the_bulk_queue() {
    let mut b = Bench::new("cnq_codel_af");
    for (id, flow) in [(0, 1), (1, 1), (2, 1), (3, 2), (4, 2), (5, 3)] {
        b.put(ms(0), pkt(id).of(flow));
    }
    assert_eq!(b.gauge(ms(0), "active_flows"), 3.0);
    assert_eq!(b.gauge(ms(0), "sparse_dummies"), 3.0);
    assert_eq!(ids(&mut b, ms(1), 3), [0, 3, 5]);
    // Flow 3 has sent all it had, but its dummy is still there: 6 is bulk, behind 1, 2 and 4.
    b.put(ms(1), pkt(6).of(3));
    assert_eq!(ids(&mut b, ms(1), 4), [1, 2, 4, 6]);
    // Now the dummy has passed.
    b.put(ms(1), pkt(7).of(1));
    b.put(ms(1), pkt(8).of(3));
    b.put(ms(1), pkt(9).of(1));
    assert_eq!(ids(&mut b, ms(1), 3), [7, 8, 9]);
    assert_eq!((b.stat("sparse_sent"), b.stat("bulk_sent")), (5.0, 5.0));
    assert_eq!(b.take(ms(1)), Dequeued::Empty);
}

/// Of 40 packets in bulk, flow 1 has 30 and flow 2 has 10. A share weighs f · a / T: 30 · 2 / 40 = 1.5 and
/// 10 · 2 / 40 = 0.5, so the 5 ms target is crossed by flow 1 after 3.333 ms and by flow 2 after 10 ms.
#[test]
fn over_share_flows_cross_the_target_early() {
    let count = |first: u64, at: u64| {
        let mut b = Bench::new("cnq_codel_af");
        let mut left = BTreeMap::from([(1, 31), (2, 11)]);
        for (id, flow) in [1, 2, first].into_iter().enumerate() {
            *left.get_mut(&flow).unwrap() -= 1;
            b.put(ms(0), pkt(id as u64).of(flow));
        }
        for (flow, n) in left {
            (0..n).for_each(|_| b.put(ms(0), pkt(9).of(flow)));
        }
        b.pass(ms(0));
        b.pass(ms(0));
        assert_eq!(b.backlog().packets, 40);
        assert_eq!(b.get(ns(at)).flow, first);
        b.gauge(ns(at), "count")
    };
    assert_eq!(count(1, 3_333_333), 0.0);
    assert_eq!(count(1, 3_333_334), 1.0);
    assert_eq!(count(2, 10_000_000), 0.0);
    assert_eq!(count(2, 10_000_001), 1.0);
}

/// 1514 bytes at 10 Mbit/s take 1 211 200 ns. The clock starts when the first packet comes; a pause earns nothing.
#[test]
fn the_shaper_spaces_packets_and_has_no_burst() {
    let mut b = Bench::new("cnq_codel_af bandwidth 10mbit");
    (0..3).for_each(|id| b.put(ms(5), pkt(id)));
    b.pass(ms(5));
    for k in 1..3 {
        let at = ns(5_000_000 + k * 1_211_200);
        assert_eq!(b.take(ns(at.as_nanos() - 1)), Dequeued::Wait(at));
        b.pass(at);
    }
    assert_eq!(b.take(ms(50)), Dequeued::Empty);
    b.put(ms(50), pkt(3));
    b.put(ms(50), pkt(4));
    b.pass(ms(50));
    assert_eq!(b.take(ms(50)), Dequeued::Wait(ns(51_211_200)));
    // Asked late while busy, it catches up.
    b.pass(ms(60));
    b.put(ms(60), pkt(5));
    b.pass(ms(60));
    assert_eq!(b.stats().overlimits, 3);
    // 200 bytes at half the rate; what is charged already stays.
    b.put(ms(60), pkt(6).long(200));
    b.put(ms(60), pkt(7).long(200));
    b.change(ms(60), "cnq_codel_af bandwidth 5mbit");
    assert_eq!(b.take(ms(60)), Dequeued::Wait(ns(61_211_200)));
    b.pass(ns(61_211_200));
    assert_eq!(b.take(ms(61)), Dequeued::Wait(ns(61_531_200)));
}

/// What is charged for 100 bytes (86 without the Ethernet header) at 8 Mbit/s, a byte a microsecond.
#[test]
fn overhead_mpu_and_cells_are_charged() {
    for (words, micros) in [
        ("", 100),
        ("overhead 18", 104),
        ("overhead 18 mpu 200", 200),
        ("mpu 64", 100),
        // 86 + 48 = 134: three cells.
        ("overhead 48 atm", 3 * 53),
        // 100 bytes: 2 of 64.
        ("ptm", 102),
        ("raw", 100),
    ] {
        let mut b = Bench::new(&format!("cnq_codel_af bandwidth 8mbit {words}"));
        (0..2).for_each(|id| b.put(ms(0), pkt(id).long(100)));
        b.pass(ms(0));
        assert_eq!(b.take(ms(0)), Dequeued::Wait(Time::from_micros(micros)), "{words}");
    }
}

/// Three flows against one: the tight class gets a quarter of the packets. Alone, it gets all, whatever it owes.
#[test]
fn twin_classes_share_by_flows() {
    let mut b = Bench::new("twin_codel_af");
    for id in 0..4000 {
        let flow = id % 4;
        let dscp = if flow == 3 { 4 } else { 0 };
        b.put(ms(0), pkt(id).of(flow).dscp(dscp));
    }
    (0..400).for_each(|_| b.pass(ms(0)));
    let tight = b.stat("tight_sent");
    assert!((99.0..=102.0).contains(&tight), "{tight}");
    // Empty the loose class; the kernel's choice would go on to fall on it and send nothing.
    while b.backlog().packets > 0 {
        b.pass(ms(0));
    }
    assert_eq!(b.stat("tight_sent"), 1000.0);
    (0..9).for_each(|id| b.put(ms(1), pkt(id).of(3).dscp(4)));
    assert_eq!(ids(&mut b, ms(1), 9).len(), 9);
}

/// Standing queues of one flow each: SCE above 2.5 ms or, in the tight class, 0.5 ms, then on 25 or 5 ms schedules.
/// A lone backlogged flow weighs 1 but for its last packet. At rest the first mark waits an SCE interval.
#[test]
fn the_tight_class_marks_at_a_fifth() {
    for (dscp, first, gap) in [(0, 28, 25.0), (4, 6, 5.0)] {
        let mut b = Bench::new("twin_codel_af");
        (0..2000).for_each(|id| b.put(ms(0), pkt(id).ecn(Ecn::Ect0).dscp(dscp)));
        (0..=60).for_each(|k| b.pass(ms(k)));
        let sce: Vec<u64> = b.log.sce_marked.iter().map(|s| s.0.as_nanos() / 1_000_000).collect();
        assert_eq!(sce[0], first);
        let due = if dscp == 4 { 6.0 } else { 28.0 } + gap / 2.0_f64.sqrt();
        assert_eq!(sce[1] as f64, due.ceil());
    }
}

/// The kernel of 2020 mirrors a new flow's schedule about its first crossing of the target: a standing queue is not
/// marked until it has been below for one packet and above with the next (or BLUE's threshold, 80 ms in the tight
/// class, makes a signal due). By hand, target 0.5 ms, microseconds: 1 leaves after 600, above, which puts the mark off
/// for good; 3 after 250, below, which brings it back; 4 after 550, above: from here an interval of no length yet (a
/// new flow's 1/sqrt(count) is nought), so that 5, after 750, is marked.
#[test]
fn the_kernel_of_2020_puts_the_first_mark_off() {
    let standing = |profile| {
        let mut b = Bench::on("twin_codel_af", profile);
        (0..200).for_each(|id| b.put(ms(0), pkt(id).ecn(Ecn::Ect0).dscp(4)));
        (1..=60).for_each(|k| b.pass(ms(k)));
        b.log.sce_marked.len()
    };
    assert_eq!(standing(&QdiscQuirks::SCE_2020_03), 0);
    assert!(standing(&QdiscQuirks::SCE_2020_03_FIXED) > 10);
    let mut b = Bench::on("twin_codel_af", &QdiscQuirks::SCE_2020_03);
    let us = Time::from_micros;
    (0..3).for_each(|id| b.put(us(0), pkt(id).ecn(Ecn::Ect0).dscp(4)));
    for at in [300, 600] {
        b.pass(us(at));
    }
    (3..12).for_each(|id| b.put(us(650), pkt(id).ecn(Ecn::Ect0).dscp(4)));
    for at in [700, 900, 1200, 1400] {
        b.pass(us(at));
    }
    let marked: Vec<_> = b.log.sce_marked.iter().map(|m| (m.0, m.1.id)).collect();
    assert_eq!(marked, [(us(1400), 5)]);
}

/// CE, for a responsive flow's sake, is told as the control law's, and BLUE's drops as BLUE's.
#[test]
fn an_unresponsive_flow_meets_blue_and_leaves_the_others_alone() {
    let mut b = Bench::new("cnq_codel_af rtt 10ms");
    let (mut id, mut p) = (0, 0.0_f64);
    for k in 0..400 {
        // One flow sends two packets a millisecond, another one each 10 ms; 1.2 leave a millisecond.
        for _ in 0..2 {
            b.put(ms(k), pkt(id).of(1).ecn(Ecn::Ect0));
            id += 1;
        }
        if k % 10 == 0 {
            b.put(ms(k), pkt(id).of(2).ecn(Ecn::Ect0));
            id += 1;
        }
        b.take(ms(k));
        if k % 5 == 0 {
            b.take(ms(k));
        }
        p = p.max(b.gauge(ms(k), "p_drop"));
    }
    assert!(b.stat("blue_drop") > 0.0 && b.stat("ecn_mark") > 0.0);
    assert_eq!(b.stat("law_drop"), 0.0);
    assert!(b.log.dropped.iter().all(|d| d.1.flow == 1 && d.2 == Reason::Blue));
    assert!(p > 0.1, "{p}");
}

/// One of the naive law's two schedules.
#[derive(Clone, Default)]
struct Schedule {
    count: u64,
    root: u128,
    next: i128,
    above: bool,
}

#[derive(Clone)]
struct Flow {
    ce: Schedule,
    sce: Schedule,
    p: u64,
    changed: i128,
}

#[derive(Clone, Copy)]
struct Params {
    interval: u128,
    target: u128,
    sce_interval: u128,
    /// The kernel of 2020's.
    at_rest: bool,
}

/// docs/sources/sce.md#the-marking-law as it reads, in wide integers. Only the Newton step is necessarily the same arithmetic.
fn newton(count: u64, y: u128) -> u128 {
    let slope = (3 << 32) - u128::from(count) * ((y * y) >> 32);
    ((slope / 4) * y) >> 31
}

fn root(count: u64, last: u128) -> u128 {
    if count > 15 {
        return newton(count, last);
    }
    (1..=count).fold(0xffff_ffff, |y, n| (0..4).fold(y, |y, _| newton(n, y)))
}

impl Default for Flow {
    /// The clock is a year old: where the schedule was set to nought.
    fn default() -> Self {
        let sce = Schedule { next: -31_536_000_000_000_000, ..Schedule::default() };
        Self { ce: Schedule::default(), sce, p: 0, changed: 0 }
    }
}

impl Flow {
    fn roots(&mut self) {
        for s in [&mut self.ce, &mut self.sce] {
            s.root = root(s.count, s.root);
        }
    }

    fn gap(s: &Schedule, interval: u128) -> i128 {
        ((interval * s.root) >> 32) as i128
    }

    fn decay(&mut self, now: i128, p: &Params) {
        if self.p > 0 && now - self.changed > p.target as i128 {
            self.p = self.p.saturating_sub(1 << 20);
            self.changed = now;
        }
        while self.ce.count > 0 && now >= self.ce.next {
            self.ce.count -= 1;
            self.roots();
            self.ce.next += Self::gap(&self.ce, p.interval);
        }
        if self.ce.above {
            self.ce.above = false;
            self.ce.next = now + Self::gap(&self.ce, p.interval);
        }
        while self.sce.count > 0 && now >= self.sce.next {
            self.sce.count -= 1;
            self.roots();
            self.sce.next += Self::gap(&self.sce, p.sce_interval);
        }
        if self.sce.above {
            self.sce.above = false;
            self.turn(now, p, true);
        }
    }

    fn turn(&mut self, now: i128, p: &Params, mirrored: bool) {
        let s = &mut self.sce;
        s.root = if s.count == 0 && !p.at_rest { root(0, 0) } else { s.root };
        let from = if mirrored && (s.count > 0 || p.at_rest) { 2 * now - s.next } else { now };
        s.next = from + Self::gap(s, p.sce_interval);
    }

    /// Whether to drop, and why.
    fn judge(
        &mut self,
        at: Time,
        p: &Params,
        (weighted, total): (u128, u128),
        packet: &mut Pkt,
        random: &mut Random,
        log: &mut Log,
    ) -> Option<Reason> {
        let now = i128::from(at.as_nanos());
        let over = p.sce_interval > 0 && weighted > p.target.div_ceil(2) * total;
        let mut due = self.sce.count > 0 && now >= self.sce.next;
        if over && !self.sce.above {
            self.turn(now, p, !due);
            self.sce.above = true;
            due = false;
        } else if !over && self.sce.above {
            self.turn(now, p, !due);
            self.sce.above = false;
        }
        if over {
            self.sce.count = self.sce.count.max(1);
        }
        if due && over {
            if packet.ecn == Ecn::Ect0 {
                packet.ecn = Ecn::Ect1;
                log.sce_marked.push((at, *packet, Reason::ControlLaw));
                self.sce.count += 1;
                self.roots();
                self.sce.next += Self::gap(&self.sce, p.sce_interval);
            }
        } else {
            while due {
                self.sce.count -= 1;
                self.roots();
                self.sce.next += Self::gap(&self.sce, p.sce_interval);
                due = self.sce.count > 0 && now >= self.sce.next;
            }
        }
        let over = weighted > p.target * total;
        let mut due = self.ce.count > 0 && now >= self.ce.next;
        let mut late = now - self.ce.next;
        if over != self.ce.above {
            self.ce.above = over;
            self.ce.next = now + Self::gap(&self.ce, p.interval);
            due &= !over;
        }
        if over {
            self.ce.count = self.ce.count.max(1);
        }
        let mut drop = None;
        if due && over {
            match packet.ecn {
                Ecn::NotEct => drop = Some(Reason::ControlLaw),
                Ecn::Ce => {}
                Ecn::Ect0 | Ecn::Ect1 => {
                    packet.ecn = Ecn::Ce;
                    log.marked.push((at, *packet, Reason::ControlLaw));
                }
            }
            self.ce.count += 1;
            self.roots();
            self.ce.next += Self::gap(&self.ce, p.interval);
            late = now - self.ce.next;
        }
        while due && !over {
            self.ce.count -= 1;
            self.roots();
            self.ce.next += Self::gap(&self.ce, p.interval);
            late = now - self.ce.next;
            due = self.ce.count > 0 && late >= 0;
        }
        if weighted > 4 * p.interval * total {
            if now - self.changed > p.target as i128 {
                self.p = (self.p + (1 << 24)).min(0xffff_ffff);
                self.changed = now;
            }
            let both = if p.sce_interval > 0 { 2 } else { 1 };
            for s in [&mut self.ce, &mut self.sce].into_iter().take(both) {
                s.above = true;
                s.next = now;
                s.count = s.count.max(1);
            }
        }
        if self.p > 0 && u64::from(random.next_u32()) < self.p && drop.is_none() {
            drop = Some(Reason::Blue);
        }
        if self.ce.count == 0 {
            self.ce.next = now + p.interval as i128;
        } else if late > 0 && drop.is_none() {
            self.ce.next = now;
        }
        drop
    }
}

/// The queues as lists of packets and dummies; every sum is added up.
#[derive(Default)]
struct Class {
    sparse: Vec<Pkt>,
    /// Flow, and its packet or a dummy.
    bulk: Vec<(u64, Option<Pkt>)>,
    ahead: i64,
}

impl Class {
    fn of(&self, flow: u64) -> usize {
        self.bulk.iter().filter(|entry| entry.0 == flow).count()
    }
    fn flows(&self) -> usize {
        let mut flows: Vec<u64> = self.bulk.iter().map(|entry| entry.0).collect();
        flows.sort_unstable();
        flows.dedup();
        flows.len()
    }
    fn dummies(&self) -> usize {
        self.bulk.iter().filter(|entry| entry.1.is_none()).count()
    }
    fn held(&self) -> usize {
        self.sparse.len() + self.bulk.len() - self.dummies()
    }
    fn weight_for_other(&self) -> i64 {
        let flows = (self.flows() + self.sparse.len()) as i64 - self.dummies() as i64;
        if self.held() > 0 { flows.max(1) } else { flows }
    }
}

struct Naive {
    params: Vec<Params>,
    classes: Vec<Class>,
    flows: BTreeMap<u64, Flow>,
    random: Random,
    log: Log,
}

impl Naive {
    fn put(&mut self, now: Time, mut packet: Pkt) {
        packet.stamp = now;
        let class = usize::from(self.classes.len() > 1 && packet.dscp.value() == 4);
        let class = &mut self.classes[class];
        if class.of(packet.flow) == 0 {
            class.sparse.push(packet);
            class.bulk.push((packet.flow, None));
        } else {
            class.bulk.push((packet.flow, Some(packet)));
        }
    }

    fn held(&self) -> usize {
        self.classes.iter().map(Class::held).sum()
    }

    fn take(&mut self, at: Time) -> Option<Pkt> {
        let now = i128::from(at.as_nanos());
        while self.held() > 0 {
            let mut c = 0;
            if self.classes.len() > 1 && self.classes[1].held() > 0 {
                let (a, b) = (&self.classes[0], &self.classes[1]);
                c = usize::from(a.held() == 0 || a.ahead >= b.ahead);
            }
            let total = self.held() as u128;
            let class = &mut self.classes[c];
            let mut delivered = None;
            if class.sparse.is_empty() {
                let (flow, entry) = class.bulk.remove(0);
                let Some(mut packet) = entry else { continue };
                let others = class.of(flow);
                let weight = (others + 1) * (class.flows() - class.dummies());
                let weighted = u128::from(now as u64 - packet.stamp.as_nanos()) * weight as u128;
                let state = self.flows.entry(flow).or_default();
                let (random, log) = (&mut self.random, &mut self.log);
                let drop =
                    state.judge(at, &self.params[c], (weighted, total), &mut packet, random, log);
                match drop.filter(|_| others > 0) {
                    Some(reason) => log.dropped.push((at, packet, reason)),
                    None => delivered = Some(packet),
                }
            } else {
                let packet = class.sparse.remove(0);
                self.flows.entry(packet.flow).or_default().decay(now, &self.params[c]);
                delivered = Some(packet);
            }
            let Some(packet) = delivered else { continue };
            if self.classes.len() > 1 {
                self.classes[c].ahead += self.classes[1 - c].weight_for_other();
                let least = self.classes.iter().map(|class| class.ahead).min().unwrap();
                self.classes.iter_mut().for_each(|class| class.ahead -= least);
            }
            return Some(packet);
        }
        None
    }
}

fn twin_agrees(
    (twin, at_rest): (bool, bool),
    rtt: u64,
    thresh: u32,
    steps: Vec<(u64, u8, u64, u8)>,
) {
    let profile = if at_rest { QdiscQuirks::SCE_2020_03 } else { QdiscQuirks::LINUX_7_3 };
    let name = if twin { "twin_codel_af" } else { "cnq_codel_af" };
    let sce = if thresh == 0 { "no-sce".to_owned() } else { format!("sce-thresh {thresh}") };
    let mut real = Bench::on(&format!("{name} rtt {rtt}us {sce}"), &profile);
    let part = |d: u128| {
        let (interval, target) = (u128::from(rtt) * 1000, u128::from((rtt / 20).max(1)) * 1000);
        let sce_interval = interval.checked_div(u128::from(thresh)).unwrap_or(0);
        let sce_interval = sce_interval / d;
        Params { interval: interval / d, target: target / d, sce_interval, at_rest }
    };
    let params: Vec<Params> = [1, 5].into_iter().take(1 + usize::from(twin)).map(part).collect();
    let mut naive = Naive {
        classes: params.iter().map(|_| Class::default()).collect(),
        params,
        flows: BTreeMap::new(),
        random: real.random.clone(),
        log: Log::default(),
    };
    let mut now = ms(1);
    for (id, (pause, what, flow, bits)) in steps.into_iter().enumerate() {
        now += Span::from_micros(pause);
        if what < 5 {
            let dscp = if flow % 2 == 1 { 4 } else { 0 };
            let packet = pkt(id as u64).of(flow).ecn(Ecn::from_bits(bits)).dscp(dscp);
            real.put(now, packet);
            naive.put(now, packet);
        } else {
            let expected = naive.take(now).map_or(Dequeued::Empty, Dequeued::Packet);
            assert_eq!(real.take(now), expected);
        }
        assert_eq!(real.log.dropped, naive.log.dropped);
        assert_eq!(real.log.marked, naive.log.marked);
        assert_eq!(real.log.sce_marked, naive.log.sce_marked);
        let (a, d) = (naive.classes[0].flows() as f64, naive.classes[0].dummies() as f64);
        assert_eq!((real.gauge(now, "active_flows"), real.gauge(now, "sparse_dummies")), (a, d));
    }
    assert_eq!(real.backlog().packets as usize, naive.held());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every packet leaves, is dropped or is marked at the same moment in both, for the same reason. (The walk over
    /// idle buckets would take 65 536 packets to come to a flow: it is not in the twin.)
    #[test]
    fn approximate_fairness_does_what_its_naive_twin_does(
        twin in any::<(bool, bool)>(),
        rtt in 20_u64..40_000,
        thresh in 0_u32..10,
        steps in prop::collection::vec((0_u64..3_000, 0_u8..8, 0_u64..5, 0_u8..4), 50..400),
    ) {
        twin_agrees(twin, rtt, thresh, steps);
    }
}
