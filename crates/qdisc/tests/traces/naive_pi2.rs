//! DualPI2 and PI2 written a second time, as plainly as possible, against the real ones on random input.
//!
//! The twin keeps packets in two vectors together with everything known of them, sums over the vectors, and has its
//! probability as a wide integer that it cuts where the kernel's 32 bits do. It draws from a generator of its own that
//! gives the same numbers.

use crate::bench::{Bench, FULL, Log, Pkt, pkt};
use proptest::prelude::*;
use sojourn_qdisc::{Dequeued, Packet, QdiscQuirks, Reason};
use sojourn_units::{Ecn, Random, Span, Time};

const ONE: i128 = (1 << 32) - 1;

/// What is configured, in tc's units.
#[derive(Clone, Debug)]
struct Setup {
    single: bool,
    team: bool,
    limit: usize,
    memory: u64,
    coupling: i128,
    step: u64,
    min_step: usize,
    drop_on_overload: bool,
    drop_enqueue: bool,
    weight: i128,
    any_ect: bool,
    target: u64,
    tupdate: u64,
    alpha: u32,
    beta: u32,
}

impl Setup {
    fn words(&self) -> String {
        let Self { limit, memory, coupling, step, min_step, weight, target, tupdate, .. } = self;
        let (alpha, beta) = (f64::from(self.alpha) / 256.0, f64::from(self.beta) / 256.0);
        let pi = format!(
            "limit {limit} target {target}us tupdate {tupdate}us alpha {alpha} beta {beta}"
        );
        if self.single {
            return format!("pi2 {pi}");
        }
        let memory = if self.team {
            String::new()
        } else {
            format!("memlimit {memory} min_qlen_step {min_step}")
        };
        format!(
            "dualpi2 {pi} {memory} coupling_factor {coupling} step_thresh {step}us {} {} \
             classic_protection {weight}% {}",
            if self.drop_on_overload { "drop_on_overload" } else { "overflow" },
            if self.drop_enqueue { "drop_enqueue" } else { "drop_dequeue" },
            if self.any_ect { "any_ect" } else { "l4s_ect" },
        )
    }

    fn quirks(&self) -> QdiscQuirks {
        if self.team { QdiscQuirks::L4STEAM_2020_08 } else { QdiscQuirks::LINUX_7_3 }
    }
}

struct Held {
    packet: Pkt,
    at: Time,
    found: usize,
}

struct Naive {
    setup: Setup,
    classic: Vec<Held>,
    scalable: Vec<Held>,
    prob: i128,
    before: i128,
    credit: i128,
    random: Random,
    log: Log,
    ecn_mark: u64,
}

impl Naive {
    fn new(setup: &Setup) -> Self {
        Self {
            setup: setup.clone(),
            classic: Vec::new(),
            scalable: Vec::new(),
            prob: 0,
            before: 0,
            credit: (2 * setup.weight - 100) * i128::from(FULL),
            random: Random::named(1, "bench"),
            log: Log::default(),
            ecn_mark: 0,
        }
    }

    fn all(&self) -> impl Iterator<Item = &Held> {
        self.classic.iter().chain(&self.scalable)
    }

    fn happens(&mut self, prob: i128) -> bool {
        i128::from(self.random.next_u32()) <= prob
    }

    fn mark(&mut self, now: Time, packet: &mut Pkt, reason: Reason) {
        self.ecn_mark += 1;
        if packet.ecn != Ecn::Ce {
            packet.ecn = Ecn::Ce;
            self.log.marked.push((now, *packet, reason));
        }
    }

    /// Whether it goes on.
    fn survives(&mut self, now: Time, packet: &mut Pkt, is_scalable: bool) -> bool {
        if self.all().map(|h| h.packet.len).sum::<u32>() < 2 * FULL {
            return true;
        }
        let overload = if self.setup.single {
            // A quarter of the square.
            self.prob * self.prob / (1 << 32) > (ONE + 2) / 4
        } else {
            self.prob * self.setup.coupling > ONE
        };
        if is_scalable && !overload {
            if self.happens(self.prob * self.setup.coupling) {
                self.mark(now, packet, Reason::Coupled);
            }
            return true;
        }
        let drops = !is_scalable || self.setup.drop_on_overload;
        if drops && self.happens(self.prob) && self.happens(self.prob) {
            if overload || packet.ecn == Ecn::NotEct {
                let reason = if overload { Reason::Overload } else { Reason::Classic };
                self.log.dropped.push((now, *packet, reason));
                return false;
            }
            self.mark(now, packet, Reason::Classic);
        } else if is_scalable {
            self.mark(now, packet, Reason::Coupled);
        }
        true
    }

    fn put(&mut self, now: Time, mut packet: Pkt) {
        let is_scalable = !self.setup.single
            && (packet.ecn.bits() & 1 == 1 || self.setup.any_ect && packet.ecn == Ecn::Ect0);
        let memory: u64 = self.all().map(|h| u64::from(h.packet.truesize())).sum();
        if self.all().count() >= self.setup.limit {
            self.log.dropped.push((now, packet, Reason::Tail));
            return;
        }
        let has_memory = !self.setup.single && !self.setup.team;
        if has_memory && memory + u64::from(packet.truesize()) > self.setup.memory {
            self.log.dropped.push((now, packet, Reason::Memory));
            return;
        }
        let early = self.setup.drop_enqueue && !self.setup.single;
        if early && !self.survives(now, &mut packet, is_scalable) {
            return;
        }
        packet.stamp = now;
        let queue = if is_scalable { &mut self.scalable } else { &mut self.classic };
        queue.push(Held { packet, at: now, found: queue.len() });
    }

    fn take(&mut self, now: Time) -> Option<Pkt> {
        loop {
            let both = !self.classic.is_empty() && !self.scalable.is_empty();
            let from_l = self.classic.is_empty() || (both && self.credit <= 0);
            let queue = if from_l { &mut self.scalable } else { &mut self.classic };
            if queue.is_empty() {
                self.credit = (2 * self.setup.weight - 100) * i128::from(FULL);
                return None;
            }
            let Held { mut packet, at, found } = queue.remove(0);
            let late = self.setup.single || !self.setup.drop_enqueue;
            if late && !self.survives(now, &mut packet, from_l) {
                continue;
            }
            let least = if self.setup.team { 2 } else { self.setup.min_step };
            if from_l && found >= least && now.since(at) > Span::from_micros(self.setup.step) {
                self.mark(now, &mut packet, Reason::Step);
            }
            if both {
                let weight = if from_l { self.setup.weight } else { self.setup.weight - 100 };
                self.credit += weight * i128::from(packet.len);
            }
            return Some(packet);
        }
    }

    fn update(&mut self, now: Time) {
        let oldest = self.all().map(|h| h.at).min();
        let delay = oldest.map_or(0, |at| i128::from(now.since(at).as_nanos()));
        let gain = |parts: u32| i128::from(parts) * ONE / 4 / 1_000_000_000;
        let target = i128::from(self.setup.target) * 1_000;
        let delta = (delay - target) * gain(self.setup.alpha)
            + (delay - self.before) * gain(self.setup.beta);
        self.before = delay;
        let moved = (self.prob + (delta / 64) % (1 << 32)).rem_euclid(1 << 32);
        self.prob = match delta > 0 {
            true if moved < self.prob => ONE,
            false if moved > self.prob => 0,
            _ => moved,
        };
        if !self.setup.single && !self.setup.drop_on_overload {
            self.prob = self.prob.min(ONE / self.setup.coupling);
        }
    }
}

fn setup() -> impl Strategy<Value = Setup> {
    let sizes = (5_usize..60, 10_000_u64..150_000, 1_i128..6, 100_u64..6_000, 0_usize..4);
    let flags = prop::array::uniform6(any::<bool>());
    let pi = (0_i128..101, 1_u64..8_000, 500_u64..5_000, 1_u32..20_000, 1_u32..60_000);
    (sizes, flags, pi).prop_map(|(sizes, flags, pi)| {
        let (limit, memory, coupling, step, min_step) = sizes;
        let [single, team, drop_on_overload, drop_enqueue, any_ect, calm] = flags;
        let (weight, target, tupdate, alpha, beta) = pi;
        // Half of them stay where probabilities are small.
        let (alpha, beta) = if calm { (alpha / 50 + 1, beta / 50 + 1) } else { (alpha, beta) };
        Setup {
            single,
            team,
            limit,
            memory,
            coupling,
            step,
            min_step,
            drop_on_overload,
            drop_enqueue,
            weight,
            any_ect,
            target,
            tupdate,
            alpha,
            beta,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every packet leaves, is dropped or is marked at the same moment in both, for the same reason.
    #[test]
    fn pi2_and_dualpi2_do_what_their_naive_twin_does(
        setup in setup(),
        steps in prop::collection::vec((0_u64..2_000, 0_u8..9, 40_u32..1515, 0_u8..4), 50..400),
    ) {
        let mut real = Bench::on(&setup.words(), &setup.quirks());
        let mut naive = Naive::new(&setup);
        let mut now = Time::from_millis(0);
        for (id, (pause, what, len, bits)) in steps.into_iter().enumerate() {
            let then = now + Span::from_micros(pause);
            while let Some(at) = real.next_timer().filter(|at| *at <= then) {
                real.timer(at);
                naive.update(at);
            }
            now = then;
            if what < 5 {
                let packet = pkt(id as u64).long(len).ecn(Ecn::from_bits(bits));
                real.put(now, packet);
                naive.put(now, packet);
            } else {
                let expected = naive.take(now).map_or(Dequeued::Empty, Dequeued::Packet);
                prop_assert_eq!(real.take(now), expected);
            }
            let drops: Vec<_> = naive.log.drops();
            prop_assert_eq!(real.log.drops(), drops);
            prop_assert_eq!(&real.log.marked, &naive.log.marked);
            let prob = naive.prob as f64 / ONE as f64;
            prop_assert!((real.gauge(now, "prob") - prob).abs() < 1e-12);
            prop_assert_eq!(real.stat("ecn_mark") as u64, naive.ecn_mark);
            if !setup.single {
                prop_assert_eq!(real.stat("credit") as i128, naive.credit);
            }
        }
        prop_assert_eq!(real.backlog().packets as usize, naive.all().count());
    }
}
