//! One tin of CAKE: its flows' queues, who may send next among them, and what they share of their hosts.
//!
//! Source: Linux 5.4 to 7.3 `net/sched/sch_cake.c` (`cake_hash`, `cake_enqueue`, `cake_dequeue`), docs/sources/queues.md#cobalt-and-cake.
//!
//! A flow is hashed to one of 1024 queues in sets of eight ways: if its own place is taken by another, it takes any
//! free one of its set. A queue is *sparse* when packets come to it and it had none, *bulk* once it has used up a
//! quantum with packets left, and *decaying* when it is empty but its controller is not yet at rest. New (sparse)
//! queues go first, then old ones in turn; each call looks at one decaying queue before all else. A flow's quantum
//! is divided by the number of bulk flows of its source or destination host, whichever has more (DRR++, triple
//! isolation).
//!
//! Invariants: a queue that holds packets is on the new or the old list; the counts of sparse, bulk and decaying
//! flows are those of their sets, where a sparse queue that waits empty in the old list counts as sparse.

use super::ack_filter::AckFilter;
use super::ramp::Ramp;
use crate::cobalt_law::{Plain, PlainParams};
use crate::shaper::PerByte;
use crate::tally::QdiscCounters;
use crate::{Backlog, Context, Packet, Reason, Telemetry};
use sojourn_units::{Random, Time};
use std::collections::VecDeque;

/// Queues in a tin.
pub(super) const QUEUES: usize = 1024;
const WAYS: usize = 8;
/// The end of a list.
const NONE: u32 = u32::MAX;
/// `psched_mtu` of an Ethernet device.
const MTU: u32 = 1514;

/// What makes packets different flows or hosts, as the kernel's bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Isolation(pub(super) u8);

impl Isolation {
    /// Words and bits, `triple-isolate` (which is all of them) last.
    pub(super) const WORDS: [&'static str; 8] = [
        "flowblind",
        "srchost",
        "dsthost",
        "hosts",
        "flows",
        "dual-srchost",
        "dual-dsthost",
        "triple-isolate",
    ];
    const SOURCE: u8 = 1;
    const DESTINATION: u8 = 2;
    const FLOWS: u8 = 4;

    const fn has(self, bits: u8) -> bool {
        self.0 & bits == bits
    }

    /// Whether flows share a source's part.
    const fn by_source(self) -> bool {
        self.has(Self::FLOWS | Self::SOURCE)
    }

    /// Whether flows share a destination's part.
    const fn by_destination(self) -> bool {
        self.has(Self::FLOWS | Self::DESTINATION)
    }
}

/// The hashes that identify a packet's flow and hosts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    pub(super) flow: u32,
    pub(super) source: u32,
    pub(super) destination: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Set {
    #[default]
    None,
    Sparse,
    /// Counted as sparse, but in the old list.
    SparseWait,
    Bulk,
    Decaying,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Which {
    #[default]
    None,
    New,
    Old,
    Decaying,
}

#[derive(Clone, Debug)]
struct Flow<P> {
    packets: VecDeque<P>,
    bytes: u32,
    deficit: i32,
    before: u32,
    after: u32,
    list: Which,
    set: Set,
    law: Plain,
    source: u16,
    destination: u16,
}

/// Queues in the order of their turns, chained both ways through the flows.
#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
}

impl List {
    const EMPTY: Self = Self { head: NONE, tail: NONE };
}

#[derive(Clone, Copy, Default, Debug)]
struct Host {
    source_tag: u32,
    destination_tag: u32,
    /// Bulk flows of the source, and to the destination.
    source_bulk: u16,
    destination_bulk: u16,
}

/// What tc prints of a tin.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Counts {
    pub(super) packets: u64,
    pub(super) bytes: u64,
    pub(super) drops: u64,
    pub(super) marks: u64,
    pub(super) sce_marks: u64,
    pub(super) way_hits: u64,
    pub(super) way_misses: u64,
    pub(super) way_collisions: u64,
    pub(super) longest: u32,
    /// Moving averages of the sojourn time: quick to rise, plain, quick to fall; in nanoseconds.
    pub(super) peak: u64,
    pub(super) average: u64,
    pub(super) base: u64,
}

/// The flows' state as of now, for gauges.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Now {
    /// Longest wait of a packet at the head of its queue, in seconds.
    pub(super) delay: f64,
    pub(super) count: u32,
    pub(super) p_drop: f64,
}

/// One tin.
#[derive(Clone, Debug)]
pub(super) struct Tin<P> {
    /// None until the first packet.
    flows: Vec<Flow<P>>,
    tags: Vec<u32>,
    hosts: Vec<Host>,
    new: List,
    old: List,
    decaying: List,
    pub(super) sparse: u32,
    pub(super) bulk: u32,
    decaying_count: u32,
    pub(super) unresponsive: u32,
    pub(super) held: Backlog,
    /// Bytes a second above which it has no priority.
    pub(super) rate: u64,
    pub(super) per_byte: PerByte,
    /// When the next packet is within the rate.
    pub(super) next: Time,
    /// Its part when there is no rate.
    pub(super) weight: i32,
    pub(super) deficit: i32,
    pub(super) quantum: u32,
    pub(super) params: PlainParams,
    ramp: Ramp,
    pub(super) counts: Counts,
}

/// `average` moved towards `sample` by 2^-shift of the way.
const fn ewma(average: u64, sample: u64, shift: u32) -> u64 {
    average - (average >> shift) + (sample >> shift)
}

impl<P: Packet> Tin<P> {
    pub(super) fn new() -> Self {
        Self {
            flows: Vec::new(),
            tags: Vec::new(),
            hosts: Vec::new(),
            new: List::EMPTY,
            old: List::EMPTY,
            decaying: List::EMPTY,
            sparse: 0,
            bulk: 0,
            decaying_count: 0,
            unresponsive: 0,
            held: Backlog::default(),
            rate: 0,
            per_byte: PerByte::default(),
            next: Time::ZERO,
            weight: 0,
            deficit: 0,
            quantum: 0,
            params: PlainParams::default(),
            ramp: Ramp::default(),
            counts: Counts::default(),
        }
    }

    /// Rate, weight and the law's parameters (`cake_set_rate`): at a low rate the target is one and a half packets.
    pub(super) fn configure(
        &mut self,
        rate: u64,
        weight: i32,
        interval: u64,
        target: u64,
        sce: u32,
    ) {
        self.rate = rate;
        self.weight = weight;
        self.quantum = if rate == 0 { MTU } else { (rate >> 12).clamp(300, u64::from(MTU)) as u32 };
        self.per_byte = PerByte::new(rate);
        let mtu_time = self.per_byte.time(MTU);
        let own = target.max(mtu_time * 3 / 2);
        let interval = (interval + own - target).max(own * 2);
        self.params = PlainParams { target: own, interval, mtu_time };
        self.ramp = Ramp::new(sce, own);
    }

    #[inline]
    pub(super) const fn has_flows(&self) -> bool {
        self.sparse + self.bulk > 0
    }

    fn allocate(&mut self) {
        let flow = || Flow {
            packets: VecDeque::new(),
            bytes: 0,
            deficit: 0,
            before: NONE,
            after: NONE,
            list: Which::None,
            set: Set::None,
            law: Plain::default(),
            source: 0,
            destination: 0,
        };
        self.flows = core::iter::repeat_with(flow).take(QUEUES).collect();
        self.tags = vec![0; QUEUES];
        self.hosts = vec![Host::default(); QUEUES];
    }

    const fn list_mut(&mut self, which: Which) -> &mut List {
        match which {
            Which::Old => &mut self.old,
            Which::Decaying => &mut self.decaying,
            Which::New | Which::None => &mut self.new,
        }
    }

    /// Moves a queue to the end of a list, or off all.
    #[inline]
    fn move_to(&mut self, slot: u32, to: Which) {
        let flow = &self.flows[slot as usize];
        let (before, after, from) = (flow.before, flow.after, flow.list);
        if from != Which::None {
            match self.flows.get_mut(before as usize) {
                Some(flow) => flow.after = after,
                None => self.list_mut(from).head = after,
            }
            match self.flows.get_mut(after as usize) {
                Some(flow) => flow.before = before,
                None => self.list_mut(from).tail = before,
            }
        }
        let mut last = NONE;
        if to != Which::None {
            let list = self.list_mut(to);
            last = core::mem::replace(&mut list.tail, slot);
            if last == NONE {
                list.head = slot;
            } else {
                self.flows[last as usize].after = slot;
            }
        }
        let flow = &mut self.flows[slot as usize];
        (flow.before, flow.after, flow.list) = (last, NONE, to);
    }

    /// One bulk flow more or less of the flow's hosts.
    #[inline]
    fn count_hosts(&mut self, slot: u32, isolation: Isolation, more: bool) {
        let change = |count: &mut u16| {
            *count = if more { *count + 1 } else { count.saturating_sub(1) };
        };
        let flow = &self.flows[slot as usize];
        if isolation.by_source() {
            change(&mut self.hosts[usize::from(flow.source)].source_bulk);
        }
        if isolation.by_destination() {
            change(&mut self.hosts[usize::from(flow.destination)].destination_bulk);
        }
    }

    /// The flow's quantum, in 65536ths of a byte: shared by the bulk flows of the busier of its hosts.
    #[inline]
    fn share(&self, slot: u32, isolation: Isolation) -> u32 {
        let flow = &self.flows[slot as usize];
        let mut load = 1;
        if isolation.by_source() {
            load = load.max(self.hosts[usize::from(flow.source)].source_bulk);
        }
        if isolation.by_destination() {
            load = load.max(self.hosts[usize::from(flow.destination)].destination_bulk);
        }
        self.quantum * (65_535 / u32::from(load))
    }

    /// The queue of a flow (`cake_hash`).
    #[inline]
    pub(super) fn slot(&mut self, keys: Keys, isolation: Isolation) -> u32 {
        if self.flows.is_empty() {
            self.allocate();
        }
        if isolation.0 == 0 {
            return 0;
        }
        let mut hash = 0;
        if isolation.has(Isolation::FLOWS) {
            hash = keys.flow;
        } else {
            if isolation.has(Isolation::SOURCE) {
                hash ^= keys.source;
            }
            if isolation.has(Isolation::DESTINATION) {
                hash ^= keys.destination;
            }
        }
        let place = hash as usize % QUEUES;
        if self.tags[place] == hash && self.flows[place].set != Set::None {
            return place as u32;
        }
        self.slot_in_set(place, hash, keys, isolation)
    }

    /// The way of the set that is the flow's, a free one, or its own place together with who is there.
    fn slot_in_set(&mut self, place: usize, hash: u32, keys: Keys, isolation: Isolation) -> u32 {
        let set = place - place % WAYS;
        let ways = (0..WAYS).map(|i| set + (place + i) % WAYS);
        let slot = if let Some(slot) = ways.clone().find(|slot| self.tags[*slot] == hash) {
            self.counts.way_hits += u64::from(slot != place);
            if self.flows[slot].set != Set::None {
                return slot as u32;
            }
            slot
        } else if let Some(slot) = ways.clone().find(|slot| self.flows[*slot].set == Set::None) {
            self.counts.way_misses += 1;
            slot
        } else {
            self.counts.way_collisions += 1;
            if self.flows[place].set == Set::Bulk {
                self.count_hosts(place as u32, isolation, false);
            }
            place
        };
        self.tags[slot] = hash;
        self.adopt(slot, keys, isolation);
        if self.flows[slot].set == Set::Bulk {
            self.count_hosts(slot as u32, isolation, true);
        }
        slot as u32
    }

    /// Finds the flow's hosts a place each, in sets as the flows'.
    fn adopt(&mut self, slot: usize, keys: Keys, isolation: Isolation) {
        let ways = |hash: u32| {
            let place = hash as usize % QUEUES;
            (0..WAYS).map(move |i| place - place % WAYS + (place + i) % WAYS)
        };
        if isolation.by_source() {
            let (hash, hosts) = (keys.source, &mut self.hosts);
            let at = ways(hash).find(|at| hosts[*at].source_tag == hash);
            let at = at.or_else(|| ways(hash).find(|at| hosts[*at].source_bulk == 0));
            let at = at.unwrap_or(hash as usize % QUEUES);
            hosts[at].source_tag = hash;
            self.flows[slot].source = at as u16;
        }
        if isolation.by_destination() {
            let (hash, hosts) = (keys.destination, &mut self.hosts);
            let at = ways(hash).find(|at| hosts[*at].destination_tag == hash);
            let at = at.or_else(|| ways(hash).find(|at| hosts[*at].destination_bulk == 0));
            let at = at.unwrap_or(hash as usize % QUEUES);
            hosts[at].destination_tag = hash;
            self.flows[slot].destination = at as u16;
        }
    }

    /// Takes a packet into the queue `slot`.
    #[inline]
    pub(super) fn push(&mut self, slot: u32, packet: P, isolation: Isolation) {
        let len = packet.wire_len();
        self.held.packets += 1;
        self.held.bytes += u64::from(len);
        self.counts.packets += 1;
        self.counts.bytes += u64::from(len);
        self.counts.longest = self.counts.longest.max(len);
        let flow = &mut self.flows[slot as usize];
        flow.bytes += len;
        flow.packets.push_back(packet);
        match flow.set {
            Set::None | Set::Decaying => {
                self.decaying_count -= u32::from(flow.set == Set::Decaying);
                flow.set = Set::Sparse;
                self.sparse += 1;
                self.move_to(slot, Which::New);
                self.flows[slot as usize].deficit = (self.share(slot, isolation) >> 16) as i32;
            }
            Set::SparseWait => {
                flow.set = Set::Bulk;
                self.sparse -= 1;
                self.bulk += 1;
                self.count_hosts(slot, isolation, true);
            }
            Set::Sparse | Set::Bulk => {}
        }
    }

    /// Takes out the acknowledgement that the packet which has just come makes superfluous. Bytes taken stay counted, as
    /// do both packets.
    pub(super) fn filter(&mut self, slot: u32, filter: AckFilter) -> Option<P> {
        let flow = &mut self.flows[slot as usize];
        let superfluous = filter.superfluous(&flow.packets)?;
        let packet = flow.packets.remove(superfluous)?;
        let len = packet.wire_len();
        flow.bytes -= len;
        self.held.packets -= 1;
        self.held.bytes -= u64::from(len);
        Some(packet)
    }

    /// The head of the queue.
    #[inline]
    fn pop(&mut self, slot: u32) -> Option<P> {
        let flow = &mut self.flows[slot as usize];
        let packet = flow.packets.pop_front()?;
        let len = packet.wire_len();
        flow.bytes -= len;
        self.held.packets -= 1;
        self.held.bytes -= u64::from(len);
        Some(packet)
    }

    fn slots(&self, list: List) -> impl Iterator<Item = u32> {
        let some = |slot: u32| (slot != NONE).then_some(slot);
        core::iter::successors(some(list.head), move |slot| some(self.flows[*slot as usize].after))
    }

    /// The queue with the most bytes, the lowest of equals, and how many it has.
    pub(super) fn longest(&self) -> Option<(u32, u32)> {
        let listed = self.slots(self.new).chain(self.slots(self.old));
        let bytes = listed.map(|slot| (self.flows[slot as usize].bytes, core::cmp::Reverse(slot)));
        bytes.max().map(|(bytes, slot)| (bytes, slot.0))
    }

    /// Takes the head of a queue because the buffer is full; the queue's controller sees that as a full queue.
    pub(super) fn overflow(&mut self, now: Time, slot: u32) -> Option<P> {
        let packet = self.pop(slot)?;
        let woke = self.flows[slot as usize].law.queue_full(now, &self.params);
        self.unresponsive += u32::from(woke);
        self.counts.drops += 1;
        Some(packet)
    }

    /// The flow that sends next: decaying ones only with `first`, or when there are no others.
    #[inline]
    fn turn(&self, first: bool) -> Option<u32> {
        let order = [self.new.head, self.old.head, self.decaying.head];
        if first && self.decaying.head != NONE {
            return Some(self.decaying.head);
        }
        order.into_iter().find(|slot| *slot != NONE)
    }

    /// Gives the flow at the head of the turn another quantum and the end of the line.
    #[inline]
    fn replenish(&mut self, slot: u32, isolation: Isolation, random: &mut Random) {
        let flow = &mut self.flows[slot as usize];
        if flow.set == Set::Sparse {
            if flow.packets.is_empty() {
                flow.set = Set::SparseWait;
            } else {
                flow.set = Set::Bulk;
                self.sparse -= 1;
                self.bulk += 1;
                self.count_hosts(slot, isolation, true);
            }
        }
        // Sixteen random bits carry what a shift would always lose.
        let dither = random.next_u32() >> 16;
        let more = (self.share(slot, isolation) + dither) >> 16;
        self.flows[slot as usize].deficit += more as i32;
        self.move_to(slot, Which::Old);
    }

    /// A queue had its turn and was empty: it leaves, or decays.
    fn retire(&mut self, now: Time, slot: u32, isolation: Isolation) {
        let flow = &mut self.flows[slot as usize];
        let asleep = flow.law.queue_empty(now, &self.params);
        self.unresponsive = self.unresponsive.saturating_sub(u32::from(asleep));
        let rests = flow.law.is_at_rest(now);
        let was = core::mem::replace(&mut flow.set, if rests { Set::None } else { Set::Decaying });
        match was {
            Set::Bulk => {
                self.bulk -= 1;
                self.count_hosts(slot, isolation, false);
            }
            Set::Sparse | Set::SparseWait => self.sparse -= 1,
            Set::Decaying => self.decaying_count -= 1,
            Set::None => {}
        }
        self.decaying_count += u32::from(!rests);
        self.move_to(slot, if rests { Which::None } else { Which::Decaying });
    }

    /// The packet that leaves, and its flow's queue; none when the turn went to an empty queue, after which the
    /// choice of a tin is to be made again.
    #[inline]
    pub(super) fn serve<T: Telemetry<P>>(
        &mut self,
        now: Time,
        first: &mut bool,
        isolation: Isolation,
        tally: &mut QdiscCounters,
        memory: &mut u64,
        cx: &mut Context<'_, T>,
    ) -> Option<(u32, P)> {
        loop {
            let slot = self.turn(*first)?;
            *first = false;
            if self.flows[slot as usize].deficit <= 0 {
                self.replenish(slot, isolation, cx.random);
                continue;
            }
            loop {
                let Some(mut packet) = self.pop(slot) else {
                    self.retire(now, slot, isolation);
                    return None;
                };
                *memory -= u64::from(packet.truesize());
                let flow = &mut self.flows[slot as usize];
                let sojourn = now.since(packet.stamp()).as_nanos();
                let verdict = flow.law.judge(now, &self.params, sojourn, &mut packet, cx);
                // The last packet may be marked, but not dropped.
                let Some(reason) = verdict.drop.filter(|_| !flow.packets.is_empty()) else {
                    let over = Plain::is_over(sojourn, &self.params);
                    let sce =
                        self.ramp.apply(now, sojourn, self.params.target, over, &mut packet, cx);
                    let c = &mut self.counts;
                    c.marks += u64::from(verdict.ce);
                    c.sce_marks += u64::from(sce);
                    c.average = ewma(c.average, sojourn, 8);
                    c.peak = ewma(c.peak, sojourn, if sojourn > c.peak { 2 } else { 8 });
                    c.base = ewma(c.base, sojourn, if sojourn < c.base { 2 } else { 8 });
                    return Some((slot, packet));
                };
                self.counts.drops += 1;
                tally.drop(now, packet, reason, cx);
            }
        }
    }

    /// `bytes`, as charged, were sent from the queue.
    #[inline]
    pub(super) fn charge(&mut self, now: Time, slot: u32, bytes: u32) {
        self.flows[slot as usize].deficit -= bytes as i32;
        if !self.per_byte.is_limited() {
            self.deficit -= bytes as i32;
        }
        let time = sojourn_units::Span::from_nanos(self.per_byte.time(bytes));
        // A tin that was within its rate keeps the credit; one that was not owes no more than this packet.
        if self.next < now {
            self.next += time;
        } else {
            self.next = self.next.max(now + time);
        }
    }

    /// Takes out everything, and forgets everything but the configuration.
    pub(super) fn clear(&mut self, out: &mut impl FnMut(P)) {
        self.flows.iter_mut().flat_map(|flow| flow.packets.drain(..)).for_each(out);
        self.flows.clear();
        (self.new, self.old, self.decaying) = (List::EMPTY, List::EMPTY, List::EMPTY);
        (self.sparse, self.bulk, self.decaying_count, self.unresponsive) = (0, 0, 0, 0);
        self.held = Backlog::default();
        self.deficit = 0;
    }

    pub(super) fn now(&self, now: Time) -> Now {
        let listed = [self.new, self.old, self.decaying].into_iter().flat_map(|l| self.slots(l));
        listed.fold(Now::default(), |most, slot| {
            let flow = &self.flows[slot as usize];
            let waited = flow.packets.front().map_or(0.0, |p| now.since(p.stamp()).as_secs_f64());
            Now {
                delay: most.delay.max(waited),
                count: most.count.max(flow.law.schedule.count),
                p_drop: most.p_drop.max(flow.law.blue.probability()),
            }
        })
    }

    /// Why a packet that [`Tin::overflow`] gave is dropped.
    pub(super) const OVERFLOW: Reason = Reason::Memory;
}
