//! What must hold of every discipline whatever is done to it. The list comes from `disciplines()`: one that is
//! added without words to try it with fails here.

use crate::bench::{Bench, Pkt, pkt};
use proptest::prelude::*;
use sojourn_qdisc::{Dequeued, Profile, Qdisc, disciplines};
use sojourn_units::{Dscp, Ecn, Span, Time};
use std::collections::{HashMap, HashSet};

/// Words to build each discipline with, and words to change it by.
fn words_of(name: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match name {
        "bfifo" => (&["bfifo", "bfifo limit 4000"], &["bfifo limit 2000", "bfifo limit 9000"]),
        "cake" => (
            &[
                "cake",
                "cake bandwidth 5mbit rtt 1ms memlimit 30000 sce",
                "cake bandwidth 800kbit besteffort flows internet sce-thresh 8",
                "cake bandwidth 20mbit dual-srchost rtt 100us overhead 18 mpu 64 ptm sce-single",
                "cake besteffort flowblind rtt 2ms memlimit 9000",
                "cake bandwidth 2mbit hosts rtt 50us atm memlimit 20000",
            ],
            &[
                "cake bandwidth 1mbit",
                "cake unlimited",
                "cake besteffort",
                "cake rtt 30us sce",
                "cake memlimit 5000",
            ],
        ),
        "cnq_codel_af" => (
            &[
                "cnq_codel_af",
                "cnq_codel_af bandwidth 5mbit rtt 1ms",
                "cnq_codel_af bandwidth 2mbit rtt 100us sce-thresh 4",
                "cnq_codel_af bandwidth 800kbit datacentre overhead 18 sce",
            ],
            &["cnq_codel_af bandwidth 100mbit", "cnq_codel_af rtt 20us", "cnq_codel_af no-sce"],
        ),
        "cobalt" => (
            &["cobalt", "cobalt rtt 1ms", "cobalt rtt 100us no-sce", "cobalt rtt 1us sce"],
            &["cobalt lan", "cobalt rtt 3us sce-thresh 1024"],
        ),
        "codel" => (
            &[
                "codel limit 8 target 1ms interval 5ms",
                "codel ecn target 0 interval 2ms ce_threshold 1ms",
            ],
            &["codel limit 3", "codel noecn", "codel ecn target 3ms"],
        ),
        "dualpi2" => (
            &[
                "dualpi2 limit 9",
                "dualpi2 target 100us tupdate 1ms alpha 2000 beta 9000 step_thresh 2ms",
                "dualpi2 target 1us tupdate 2ms alpha 500 beta 0.5 overflow any_ect memlimit 30000 step_thresh 2p",
                "dualpi2 drop_enqueue target 1us tupdate 3ms alpha 900 classic_protection 0 min_qlen_step 2",
                "dualpi2 rfc_t_shift 1ms rfc_ramp 500us max_rtt 3ms classic_protection 100%",
            ],
            &[
                "dualpi2 limit 3",
                "dualpi2 memlimit 9000",
                "dualpi2 classic_protection 60%",
                "dualpi2 target 1s",
            ],
        ),
        "fq_codel" => (
            &[
                "fq_codel",
                "fq_codel flows 1 limit 12 target 1ms interval 4ms",
                "fq_codel flows 4 quantum 300 memory_limit 20000 drop_batch 3 target 100 interval 2ms",
                "fq_codel noecn ce_threshold 2ms limit 5",
            ],
            &["fq_codel limit 4", "fq_codel memory_limit 9000", "fq_codel quantum 5000 target 1us"],
        ),
        "htb" => (
            &[
                "htb rate 10mbit pfifo limit 5",
                "htb rate 1mbit fq_codel flows 2 limit 7",
                "htb rate 5mbit ceil 8mbit burst 5k pie limit 9 target 1ms tupdate 2ms",
                "htb rate 3mbit netem delay 3ms 2ms limit 6",
                "htb rate 8bit pfifo limit 3",
            ],
            &["htb rate 100mbit", "htb rate 20kbit burst 1b"],
        ),
        "lfq_cobalt" => (
            &[
                "lfq_cobalt",
                "lfq_cobalt bandwidth 5mbit rtt 1ms sce-thresh 8",
                "lfq_cobalt bandwidth 2mbit rtt 100us memlimit 9000",
                "lfq_cobalt rtt 20us memlimit 20000 sce",
            ],
            &["lfq_cobalt bandwidth 1mbit", "lfq_cobalt memlimit 4000", "lfq_cobalt rtt 2us"],
        ),
        "netem" => (
            &[
                "netem delay 3ms limit 6",
                "netem delay 2ms 2ms 20% loss 10% limit 9",
                "netem",
                "netem delay 2ms 3ms distribution pareto rate 9mbit 10 48 5 limit 9",
                "netem rate 900kbit loss state 20% 30% 10% 50% 10% limit 9",
            ],
            &["netem delay 1ms", "netem delay 9ms 1ms limit 3", "netem loss 50% 30% ecn"],
        ),
        "pfifo" => (&["pfifo limit 4", "pfifo"], &["pfifo limit 2"]),
        "pi2" => (
            &[
                "pi2 limit 9 target 1us tupdate 1ms alpha 900 beta 900",
                "pi2 noecn target 2ms tupdate 2ms alpha 5000",
                "pi2 scalable ecn_drop 50% target 1ms tupdate 1ms alpha 300",
            ],
            &["pi2 limit 3", "pi2 ecn_drop 0", "pi2 target 1s"],
        ),
        "pie" => (
            &[
                "pie limit 9 target 1ms tupdate 1ms",
                "pie ecn target 0 tupdate 2ms alpha 32 beta 32",
                "pie bytemode target 500us tupdate 3ms ecn beta 0",
            ],
            &["pie limit 2", "pie noecn target 5ms", "pie alpha 0"],
        ),
        "twin_codel_af" => (
            &[
                "twin_codel_af",
                "twin_codel_af bandwidth 5mbit rtt 1ms",
                "twin_codel_af bandwidth 2mbit rtt 100us sce-thresh 8",
                "twin_codel_af bandwidth 20mbit lan no-sce",
            ],
            &["twin_codel_af bandwidth 1mbit", "twin_codel_af rtt 20us sce"],
        ),
        "red" => (
            &[
                "red limit 9000 avpkt 500 min 1000 max 4000 probability 0.5 adaptive",
                "red limit 20000 avpkt 100 ecn burst 60 bandwidth 1mbit",
                "red limit 20000 avpkt 1000 ecn harddrop adaptive",
            ],
            &["red limit 3000 min 500 avpkt 300", "red limit 90000 avpkt 1000 adaptive ecn"],
        ),
        "tbf" => (
            &[
                "tbf rate 10mbit burst 4000 limit 9000",
                "tbf rate 1mbit burst 5000 latency 50ms peakrate 3mbit mtu 3100 overhead 20 mpu 100",
            ],
            &["tbf rate 100mbit burst 3000 limit 5000", "tbf rate 9mbit burst 1500 limit 50000"],
        ),
        "fq" => (
            &[
                "fq limit 20 flow_limit 6 quantum 500 initial_quantum 900",
                "fq maxrate 3mbit low_rate_threshold 1mbit ce_threshold 1ms refill_delay 1ms",
                "fq maxrate 100kbit flow_limit 9 nopacing",
            ],
            &["fq limit 3", "fq maxrate 9mbit", "fq quantum 9000 pacing"],
        ),
        name => panic!("say here how to try {name}"),
    }
}

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

/// What order is kept within: a flow, or in a dual queue its packets of one class.
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

/// What went in and has not come out.
#[derive(Default)]
struct Ledger {
    inside: HashMap<u64, Pkt>,
    sent: (u64, u64),
    dropped: u64,
    last_of_flow: HashMap<u64, u64>,
}

struct Run {
    bench: Bench,
    words: &'static str,
    ledger: Ledger,
    seen_drops: usize,
    now: Time,
}

impl Run {
    /// A packet has come out, one way or the other: it was inside, and nothing of it has changed but ECN.
    fn out(&mut self, packet: &Pkt) -> Pkt {
        let was =
            self.ledger.inside.remove(&packet.id).expect("a packet comes out once, and was inside");
        assert_eq!((was.flow, was.len, was.dscp), (packet.flow, packet.len, packet.dscp));
        if was.ecn == Ecn::NotEct || was.ecn == Ecn::Ce {
            assert_eq!(packet.ecn, was.ecn, "Not-ECT stays, CE stays");
        } else if packet.ecn != was.ecn && packet.ecn != Ecn::Ce {
            // CE is written on what is capable, and SCE on ECT(0), which is told.
            assert_eq!((was.ecn, packet.ecn), (Ecn::Ect0, Ecn::Ect1));
            let sce = &self.bench.log.sce_marked;
            assert!(sce.iter().any(|(_, told, _)| told.id == packet.id), "an SCE mark is told");
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
        self.ledger.dropped += drops.len() as u64;

        let backlog = self.bench.backlog();
        let bytes: u64 = self.ledger.inside.values().map(|p| u64::from(p.len)).sum();
        assert_eq!((backlog.packets as usize, backlog.bytes), (self.ledger.inside.len(), bytes));
        let stats = self.bench.stats();
        assert_eq!((stats.packets, stats.bytes), self.ledger.sent);
        assert_eq!((stats.dropped, stats.backlog), (self.ledger.dropped, backlog));
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

fn check(words: &'static str, changes: &[&'static str], profile: &Profile, steps: Vec<Step>) {
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
            let (builds, changes) = words_of(info.name);
            for words in builds {
                for profile in [&Profile::LINUX_7_3, &Profile::LINUX_5_4] {
                    check(words, changes, profile, steps.clone());
                }
            }
        }
        for (words, changes) in OUTSIDE {
            check(words, changes, &Profile::LINUX_7_3, steps.clone());
        }
        // The one whose words differ by stack.
        check("dualpi2 limit 9 step_thresh 1p", &["dualpi2 limit 3"], &Profile::L4STEAM_2020_08, steps);
    }
}

#[test]
fn statistics_and_gauges_are_those_of_the_table() {
    for info in disciplines() {
        let mut b = Bench::new(words_of(info.name).0[0]);
        b.put(Time::ZERO, pkt(1));
        let names: Vec<&str> = b.stats().own.iter().map(|(name, _)| *name).collect();
        let table: Vec<&str> = info.counters.iter().map(|counter| counter.name).collect();
        assert_eq!(names, table, "{}", info.name);
        let mut names = Vec::new();
        b.any.gauges(Time::ZERO, &mut |name, _| names.push(name));
        let table: Vec<&str> = info.gauges.iter().map(|gauge| gauge.name).collect();
        // A shaper's are followed by its child's.
        assert_eq!(names[..table.len()], table, "{}", info.name);
        assert!(info.classful || names.len() == table.len());
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len(), "no two of one name");
    }
}

/// The same words, stream and operations: the same decisions.
#[test]
fn two_runs_are_alike() {
    for info in disciplines() {
        for words in words_of(info.name).0 {
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
