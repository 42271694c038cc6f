//! Properties of every discipline, whatever is done to it. The list comes from `disciplines()`: one that is added
//! without examples in its table fails here.

use crate::bench::{Bench, Pkt, pkt};
use proptest::prelude::*;
use sojourn_qdisc::{Dequeued, Qdisc, QdiscQuirks, disciplines};
use sojourn_units::{Dscp, Ecn, Span, Time};
use std::collections::{HashMap, HashSet};

/// The same of disciplines from outside, alone and with others.
const OUTSIDE: &[(&str, &[&str])] = &[
    ("codel_copy ecn target 0 interval 2ms ce_threshold 1ms", &["codel_copy limit 3"]),
    ("threshold limit 7", &["threshold limit 3", "threshold threshold 50us"]),
    ("htb rate 1mbit threshold limit 9", &["htb rate 3mbit threshold limit 2", "htb rate 9mbit"]),
    ("through htb rate 5mbit codel_copy limit 6", &["through htb rate 2mbit codel_copy limit 2"]),
];

/// Whether a flow's packets leave in the order in which they came.
fn keeps_order(words: &str) -> bool {
    // A change from diffserv3 to besteffort moves a flow to another tin, past its packets.
    let changes_tins = words.starts_with("cake") && !words.contains("besteffort");
    !changes_tins && !words.contains("netem")
}

/// The packets among which order is kept: a flow, or in a dual queue its packets of one class.
fn lane(words: &str, packet: &Pkt) -> u64 {
    let is_scalable = match packet.ecn {
        Ecn::Ect1 | Ecn::Ce => true,
        Ecn::Ect0 => words.contains("any_ect"),
        Ecn::NotEct => false,
    };
    packet.flow * 2 + u64::from(words.contains("dualpi2") && is_scalable)
}

#[derive(Clone, Debug)]
enum Step {
    Put {
        flow: u64,
        len: u32,
        ecn: Ecn,
    },
    Take,
    /// Wait until the discipline wants to be asked again, then ask it.
    TakeWhenReady,
    Pass(Span),
    Change(prop::sample::Index),
    Flush,
}

fn step() -> impl Strategy<Value = Step> {
    let length = prop_oneof![Just(66_u32), Just(1514), 1_u32..3000];
    prop_oneof![
        8 => (0_u64..5, length, 0_u8..4).prop_map(|(flow, len, bits)| Step::Put { flow, len, ecn: Ecn::from_bits(bits) }),
        3 => Just(Step::Take),
        3 => Just(Step::TakeWhenReady),
        3 => (0_u64..3_000_000).prop_map(|n| Step::Pass(Span::from_nanos(n))),
        1 => (0_u64..3_000_000_000).prop_map(|n| Step::Pass(Span::from_nanos(n))),
        1 => any::<prop::sample::Index>().prop_map(Step::Change),
        1 => Just(Step::Flush),
    ]
}

/// The packets that went in and have not come out.
#[derive(Default)]
struct Ledger {
    inside: HashMap<u64, Pkt>,
    /// Packets and bytes.
    came: (u64, u64),
    sent: (u64, u64),
    dropped: (u64, u64),
    last_of_flow: HashMap<u64, u64>,
}

struct Run<'a> {
    bench: Bench,
    words: &'a str,
    ledger: Ledger,
    seen_drops: usize,
    now: Time,
}

impl Run<'_> {
    /// A packet has come out, one way or the other: it was inside, and nothing of it has changed but ECN.
    fn out(&mut self, packet: &Pkt) -> Pkt {
        let was =
            self.ledger.inside.remove(&packet.id).expect("a packet comes out once, and was inside");
        assert_eq!((was.flow, was.len, was.dscp), (packet.flow, packet.len, packet.dscp));
        if was.ecn == Ecn::NotEct || was.ecn == Ecn::Ce {
            assert_eq!(packet.ecn, was.ecn, "Not-ECT stays, CE stays");
        } else if packet.ecn != was.ecn && packet.ecn != Ecn::Ce {
            // CE is written on ECN-capable packets, and SCE, which is reported, on ECT(0).
            assert_eq!((was.ecn, packet.ecn), (Ecn::Ect0, Ecn::Ect1));
            let sce = &self.bench.log.sce_marked;
            assert!(sce.iter().any(|(_, told, _)| told.id == packet.id), "an SCE mark is reported");
        }
        was
    }

    fn sent(&mut self, packet: &Pkt) {
        let was = self.out(packet);
        self.ledger.sent.0 += 1;
        self.ledger.sent.1 += u64::from(packet.len);
        if keeps_order(self.words) {
            let last = self.ledger.last_of_flow.insert(lane(self.words, &was), packet.id);
            assert!(last < Some(packet.id), "a flow's packets keep their order");
        }
    }

    fn take(&mut self) -> Dequeued<Pkt> {
        let taken = self.bench.take(self.now);
        // Whatever was dropped on the way was so before the packet left; settle after.
        if let Dequeued::Packet(packet) = &taken {
            self.sent(packet);
        }
        self.settle();
        match taken {
            Dequeued::Wait(at) => {
                assert!(at > self.now, "{}: to wait until now is not to wait", self.words);
                assert!(!self.ledger.inside.is_empty(), "nothing to wait for");
            }
            Dequeued::Empty => {
                assert!(self.ledger.inside.is_empty(), "{} hides packets", self.words);
            }
            Dequeued::Packet(_) => {}
        }
        taken
    }

    /// Accounts what was dropped since the last time, and compares all sums.
    fn settle(&mut self) {
        let drops: Vec<Pkt> =
            self.bench.log.dropped[self.seen_drops..].iter().map(|d| d.1).collect();
        self.seen_drops = self.bench.log.dropped.len();
        for packet in &drops {
            self.out(packet);
        }
        self.ledger.dropped.0 += drops.len() as u64;
        self.ledger.dropped.1 += drops.iter().map(|p| u64::from(p.len)).sum::<u64>();

        let backlog = self.bench.backlog();
        // What the discipline itself says makes up for all that came, in packets and in bytes.
        let Ledger { came, sent, dropped, .. } = &self.ledger;
        let (held, stats) = (u64::from(backlog.packets), self.bench.stats());
        assert_eq!(
            (stats.packets + dropped.0 + held, stats.bytes + dropped.1 + backlog.bytes),
            *came
        );
        assert_eq!((stats.packets, stats.bytes), *sent);
        let bytes: u64 = self.ledger.inside.values().map(|p| u64::from(p.len)).sum();
        assert_eq!((backlog.packets as usize, backlog.bytes), (self.ledger.inside.len(), bytes));
        assert_eq!((stats.dropped, stats.backlog), (self.ledger.dropped.0, backlog));
    }

    /// Time goes on, with every timer on the way.
    fn pass(&mut self, to: Time) {
        while let Some(at) = self.bench.next_timer().filter(|at| *at <= to) {
            assert!(at >= self.now, "timers are not in the past");
            self.now = at;
            self.bench.timer(at);
            assert!(self.bench.next_timer() > Some(at), "a timer goes on");
            self.settle();
        }
        self.now = to;
    }
}

fn check(words: &str, changes: &[&str], profile: &QdiscQuirks, steps: Vec<Step>) {
    let mut run = Run {
        bench: Bench::on(words, profile),
        words,
        ledger: Ledger::default(),
        seen_drops: 0,
        now: Time::ZERO,
    };
    for (id, step) in steps.into_iter().enumerate() {
        match step {
            Step::Put { flow, len, ecn } => {
                let dscp = Dscp::new(flow as u8).unwrap();
                let packet = Pkt { dscp, ..pkt(id as u64).of(flow).long(len).ecn(ecn) };
                run.ledger.inside.insert(packet.id, packet);
                run.ledger.came.0 += 1;
                run.ledger.came.1 += u64::from(len);
                run.bench.put(run.now, packet);
                run.settle();
            }
            Step::Take => drop(run.take()),
            Step::TakeWhenReady => {
                if let Dequeued::Wait(at) = run.take() {
                    run.pass(at);
                    // Asked at the time that it named, it gives a packet, or names another: a shaper for its child,
                    // fq when a change has emptied the flow that it waited for.
                    let again = run.take();
                    assert!(
                        words.contains("htb")
                            || words.starts_with("fq ")
                            || matches!(again, Dequeued::Packet(_)),
                        "{words}: {again:?}"
                    );
                }
            }
            Step::Pass(span) => run.pass(run.now + span),
            Step::Change(which) => {
                run.bench.change(run.now, changes[which.index(changes.len())]);
                run.settle();
            }
            Step::Flush => {
                run.bench.flush(run.now);
                run.settle();
                assert_eq!(run.bench.backlog().packets, 0);
            }
        }
    }
    // And everything comes out in the end.
    for _ in 0..100_000 {
        match run.take() {
            Dequeued::Empty => break,
            Dequeued::Wait(at) => run.pass(at),
            Dequeued::Packet(_) => {}
        }
    }
    assert!(run.ledger.inside.is_empty(), "{words} keeps packets");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn packets_are_conserved_and_sums_agree(steps in prop::collection::vec(step(), 1..120)) {
        for info in disciplines() {
            assert!(!info.examples.is_empty() && !info.changes.is_empty(), "{}", info.name);
            for words in info.examples {
                for profile in [&QdiscQuirks::LINUX_7_3, &QdiscQuirks::LINUX_5_4] {
                    check(words, info.changes, profile, steps.clone());
                }
            }
        }
        for (words, changes) in OUTSIDE {
            check(words, changes, &QdiscQuirks::LINUX_7_3, steps.clone());
        }
        // The one with words that differ by stack.
        check("dualpi2 limit 9 step_thresh 1p", &["dualpi2 limit 3"], &QdiscQuirks::L4STEAM_2020_08, steps);
    }

    /// The same with options put together as they come.
    #[test]
    fn so_they_are_with_any_options(
        steps in prop::collection::vec(step(), 1..120),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 0..64),
    ) {
        for info in disciplines() {
            for profile in [&QdiscQuirks::LINUX_7_3, &QdiscQuirks::LINUX_5_4] {
                let mut picks = picks.iter();
                let mut drawn = |changing| {
                    let mut pick = |n| picks.next().map_or(0, |pick| pick.index(n));
                    info.drawn(&[profile], changing, disciplines(), &mut pick)
                };
                let words = drawn(false);
                check(&words, &[&drawn(true), &drawn(true)], profile, steps.clone());
            }
        }
    }
}

/// Each example reports names of the table in its order, and every name appears in one of them: a discipline with
/// classes that depend on its options (cake's tins) reports those that are there.
#[test]
fn statistics_and_gauges_are_those_of_the_table() {
    for info in disciplines() {
        let counters: Vec<&str> = info.counters.iter().map(|counter| counter.name).collect();
        let gauges: Vec<&str> = info.gauges.iter().map(|gauge| gauge.name).collect();
        let (mut told_counters, mut told_gauges) = (HashSet::new(), HashSet::new());
        for words in info.examples {
            let mut b = Bench::new(words);
            b.put(Time::ZERO, pkt(1));
            let names: Vec<&str> = b.stats().own.iter().map(|(name, _)| *name).collect();
            let known = |all: &[&'static str], names: &[&str]| -> Vec<&'static str> {
                all.iter().filter(|name| names.contains(name)).copied().collect()
            };
            assert_eq!(names, known(&counters, &names), "{words}");
            told_counters.extend(names);
            let mut names = Vec::new();
            b.any.gauges(Time::ZERO, &mut |name, _| names.push(name));
            // A shaper's are followed by its child's.
            let own = known(&gauges, &names);
            assert_eq!(names[..own.len()], own, "{words}");
            assert!(info.classful || names.len() == own.len());
            assert_eq!(
                names.iter().collect::<HashSet<_>>().len(),
                names.len(),
                "no two of one name"
            );
            told_gauges.extend(own);
        }
        assert_eq!(told_counters.len(), counters.len(), "{}: all of its statistics", info.name);
        assert_eq!(told_gauges.len(), gauges.len(), "{}: all of its gauges", info.name);
    }
}

/// The same words, stream and operations: the same decisions.
#[test]
fn two_runs_are_alike() {
    for info in disciplines() {
        for words in info.examples {
            let run = || {
                let mut b = Bench::new(words);
                for id in 0..3000_u64 {
                    let now = Time::from_micros(id * 700);
                    b.put(now, pkt(id).of(id % 3));
                    while let Some(at) = b.next_timer().filter(|at| *at <= now) {
                        b.timer(at);
                    }
                    if id % 3 != 0 {
                        b.take(now);
                    }
                }
                (b.log.drops(), b.stats())
            };
            assert_eq!(run(), run(), "{words}");
        }
    }
}
