//! `fq_codel` written a second time, as plainly as possible, against the real one on random input.
//!
//! The twin keeps its queues in a vector in the order of their slots, its two lists as vectors of indices, its
//! sums not at all (it adds up what is there), and its times as 64-bit units that do not wrap. It knows CoDel
//! as the kernel's flow chart has it. Only the Newton step is necessarily the same arithmetic.

use crate::bench::{Bench, Log, Pkt, pkt};
use core::cmp::Ordering;
use proptest::prelude::*;
use sojourn_qdisc::{Dequeued, Packet, QdiscQuirks, Reason};
use sojourn_units::{Ecn, Time};
use std::sync::LazyLock;

#[derive(Default)]
struct Queue {
    packets: Vec<Pkt>,
    deficit: i64,
    dropping: bool,
    count: u32,
    last: u32,
    fraction: u64,
    above_since: Option<u64>,
    next: u64,
}

struct Naive {
    limit: usize,
    memory: u64,
    quantum: i64,
    target: u64,
    interval: u64,
    ecn: bool,
    batch: usize,
    /// As Linux 7.3 has it, not 5.10.
    bounded: bool,
    queues: Vec<Queue>,
    new: Vec<usize>,
    old: Vec<usize>,
    log: Log,
}

/// Times in 1024 ns.
fn units(at: Time) -> u64 {
    at.as_nanos() / 1024
}

impl Naive {
    fn held(&self) -> impl Iterator<Item = &Pkt> {
        self.queues.iter().flat_map(|queue| &queue.packets)
    }

    fn put(&mut self, now: Time, slot: usize, mut packet: Pkt) {
        packet.stamp = now;
        self.queues[slot].packets.push(packet);
        if !self.new.contains(&slot) && !self.old.contains(&slot) {
            self.new.push(slot);
            self.queues[slot].deficit = self.quantum;
        }
        let too_much_memory =
            self.held().map(|p| u64::from(p.truesize())).sum::<u64>() > self.memory;
        if self.held().count() <= self.limit && !too_much_memory {
            return;
        }
        let bytes = |queue: &Queue| queue.packets.iter().map(|p| p.len).sum::<u32>();
        let most = self.queues.iter().map(bytes).max().unwrap();
        let queue = self.queues.iter_mut().find(|queue| bytes(queue) == most).unwrap();
        let mut gone = 0;
        while gone < self.batch {
            let packet = queue.packets.remove(0);
            self.log.dropped.push((
                now,
                packet,
                if too_much_memory { Reason::Memory } else { Reason::Overlimit },
            ));
            gone += 1;
            if most - bytes(queue) >= most / 2 {
                break;
            }
        }
        queue.count += gone as u32;
    }

    fn take(&mut self, now: Time) -> Option<Pkt> {
        loop {
            let from_new = !self.new.is_empty();
            let slot = *self.new.first().or(self.old.first())?;
            let list = if from_new { &mut self.new } else { &mut self.old };
            if self.queues[slot].deficit <= 0 {
                self.queues[slot].deficit += self.quantum;
                list.remove(0);
                self.old.push(slot);
                continue;
            }
            if let Some(packet) = self.codel(now, slot) {
                self.queues[slot].deficit -= i64::from(packet.len);
                return Some(packet);
            }
            let list = if from_new { &mut self.new } else { &mut self.old };
            list.remove(0);
            if from_new && !self.old.is_empty() {
                self.old.push(slot);
            }
        }
    }

    fn head(&mut self, now: Time, slot: usize) -> (Option<Pkt>, bool) {
        let queue = &mut self.queues[slot];
        let packet = (!queue.packets.is_empty()).then(|| queue.packets.remove(0));
        let left: u32 = self.held().map(|p| p.len).sum();
        let queue = &mut self.queues[slot];
        let sojourn = packet.map(|p| units(now) - units(p.stamp));
        if sojourn.is_none_or(|s| s < self.target) || left <= 1514 {
            queue.above_since = None;
            return (packet, false);
        }
        let since = *queue.above_since.get_or_insert(units(now));
        (packet, units(now) > since + self.interval)
    }

    /// One over the root of count, a step nearer: y (3 - n y²) / 2 in 16 bits, with what 64 bits make of it
    /// when n has jumped.
    fn newton(queue: &mut Queue) {
        let y = u128::from(queue.fraction) << 16;
        let wrap = 1_u128 << 64;
        let slope = ((3 << 32) + wrap - u128::from(queue.count) * ((y * y) >> 32) % wrap) % wrap;
        queue.fraction = ((((slope / 4) * y % wrap) >> 31) >> 16) as u64 & 0xffff;
    }

    fn gap(&self, slot: usize) -> u64 {
        let gap = (self.interval * (self.queues[slot].fraction << 16)) >> 32;
        gap.max(u64::from(self.bounded))
    }

    fn mark(&mut self, now: Time, packet: &mut Pkt) -> bool {
        match packet.ecn {
            _ if !self.ecn => false,
            Ecn::NotEct => false,
            Ecn::Ce => true,
            _ => {
                packet.ecn = Ecn::Ce;
                self.log.marked.push((now, *packet, Reason::ControlLaw));
                true
            }
        }
    }

    fn codel(&mut self, now: Time, slot: usize) -> Option<Pkt> {
        if self.queues[slot].packets.is_empty() {
            // Nothing is judged, so how long it has been above target stays as it was, or else is forgotten.
            if self.bounded {
                self.queues[slot].above_since = None;
            }
            self.queues[slot].dropping = false;
            return None;
        }
        let (packet, bad) = self.head(now, slot);
        let mut packet = packet?;
        if self.queues[slot].dropping {
            self.queues[slot].dropping = bad;
            let mut rounds = 0;
            while self.queues[slot].dropping && units(now) >= self.queues[slot].next {
                rounds += 1;
                if self.bounded && rounds == 257 {
                    self.queues[slot].next = units(now) + self.gap(slot);
                    return Some(packet);
                }
                self.queues[slot].count += 1;
                Self::newton(&mut self.queues[slot]);
                if self.mark(now, &mut packet) {
                    self.queues[slot].next += self.gap(slot);
                    return Some(packet);
                }
                self.log.dropped.push((now, packet, Reason::ControlLaw));
                let (next, bad) = self.head(now, slot);
                self.queues[slot].dropping = bad;
                if bad {
                    self.queues[slot].next += self.gap(slot);
                }
                packet = next?;
            }
            return Some(packet);
        }
        if !bad {
            return Some(packet);
        }
        let mut out = Some(packet);
        if !self.mark(now, out.as_mut().unwrap()) {
            self.log.dropped.push((now, packet, Reason::ControlLaw));
            out = self.head(now, slot).0;
        }
        let queue = &mut self.queues[slot];
        queue.dropping = true;
        let gained = queue.count - queue.last;
        // `next` in the future, or less than 16 intervals ago.
        if gained > 1 && units(now) < queue.next + 16 * self.interval {
            queue.count = gained;
            Self::newton(queue);
        } else {
            queue.count = 1;
            queue.fraction = 0xffff;
        }
        queue.last = queue.count;
        self.queues[slot].next = units(now) + self.gap(slot);
        out
    }
}

/// Flows that are hashed to different queues, in the order of these, as the discipline itself shows it: a new
/// queue is counted, and of two equally long ones over the limit the first loses a packet.
fn flows_in_slot_order(n: usize) -> Vec<u64> {
    let mut chosen: Vec<u64> = Vec::new();
    for flow in 0.. {
        let mut b = Bench::new("fq_codel");
        for (id, &other) in chosen.iter().chain([&flow]).enumerate() {
            b.put(Time::ZERO, pkt(id as u64).of(other));
        }
        if b.stat("new_flow_count") as usize == chosen.len() + 1 {
            chosen.push(flow);
        }
        if chosen.len() == n {
            break;
        }
    }
    chosen.sort_by(|&a, &b| {
        let mut bench = Bench::new("fq_codel limit 1");
        bench.put(Time::ZERO, pkt(0).of(a));
        bench.put(Time::ZERO, pkt(0).of(b));
        if bench.log.dropped[0].1.flow == a { Ordering::Less } else { Ordering::Greater }
    });
    chosen
}

static KEYS: LazyLock<Vec<u64>> = LazyLock::new(|| flows_in_slot_order(6));

#[derive(Clone, Debug)]
struct Setup {
    flows: usize,
    limit: usize,
    memory: u64,
    quantum: i64,
    target: u64,
    interval: u64,
    ecn: bool,
    batch: usize,
    bounded: bool,
}

fn setup() -> impl Strategy<Value = Setup> {
    let small = (1_usize..6, 3_usize..60, 5_000_u64..120_000, 256_i64..4_000);
    let rest = (0_u64..8_000, 2_000_u64..60_000, any::<bool>(), 1_usize..20, any::<bool>());
    (small, rest).prop_map(|(small, (target, interval, ecn, batch, bounded))| {
        let (flows, limit, memory, quantum) = small;
        Setup { flows, limit, memory, quantum, target, interval, ecn, batch, bounded }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every packet leaves, is dropped or is marked at the same moment in both, for the same reason.
    #[test]
    fn fq_codel_does_what_its_naive_twin_does(
        setup in setup(),
        steps in prop::collection::vec((0_u64..4_000, 0_u8..8, 0_usize..6, 40_u32..1515, 0_u8..4), 50..400),
    ) {
        let Setup { flows, limit, memory, quantum, target, interval, ecn, batch, bounded } = setup;
        let words = format!(
            "fq_codel limit {limit} memory_limit {memory} quantum {quantum} target {target}us \
             interval {interval}us drop_batch {batch} {}",
            if ecn { "ecn" } else { "noecn" },
        );
        let profile = if bounded { QdiscQuirks::LINUX_7_3 } else { QdiscQuirks::LINUX_5_10 };
        let mut real = Bench::on(&words, &profile);
        let mut naive = Naive {
            limit, memory, quantum, ecn, batch, bounded,
            target: target * 1000 / 1024,
            interval: interval * 1000 / 1024,
            queues: (0..flows).map(|_| Queue::default()).collect(),
            new: Vec::new(),
            old: Vec::new(),
            log: Log::default(),
        };
        let mut now = Time::from_millis(1);
        for (id, (pause, what, flow, len, bits)) in steps.into_iter().enumerate() {
            now += sojourn_units::Span::from_micros(pause);
            // More arrives than leaves, or there would be nothing to control.
            if what < 5 {
                let slot = flow % flows;
                let packet = pkt(id as u64).of(KEYS[slot]).long(len).ecn(Ecn::from_bits(bits));
                real.put(now, packet);
                naive.put(now, slot, packet);
            } else {
                let expected = naive.take(now).map_or(Dequeued::Empty, Dequeued::Packet);
                prop_assert_eq!(real.take(now), expected);
            }
            prop_assert_eq!(&real.log.dropped, &naive.log.dropped);
            prop_assert_eq!(&real.log.marked, &naive.log.marked);
            prop_assert_eq!(real.stat("new_flows_len") as usize, naive.new.len());
            prop_assert_eq!(real.stat("old_flows_len") as usize, naive.old.len());
        }
        prop_assert_eq!(real.backlog().packets as usize, naive.held().count());
    }
}
