//! What a packet costs in each discipline: nanoseconds of one CPU for an enqueue and a dequeue with a standing
//! queue, and for the bottleneck of a scenario (netem, then htb over the discipline).
//!
//! `cargo run --release -p sojourn-qdisc --example cost`; and to count instructions, on a machine that does other
//! work too, `perf stat -e instructions:u …/cost "cake sce" 10`, or the same under `valgrind --tool=callgrind`
//! with `COST_PACKETS=100000`.

#![expect(clippy::disallowed_methods, reason = "a measurement needs a clock")]
#![expect(clippy::print_stdout, reason = "it prints its result")]

use sojourn_qdisc::codel::{self, Codel};
use sojourn_qdisc::fq_codel::{self, FqCodel};
use sojourn_qdisc::{
    AnyQdisc, Context, Dequeued, Discipline, Packet, Qdisc, QdiscQuirks, Registry,
    TcConfigurable as _,
};
use sojourn_units::{Dscp, Ecn, Random, Rate, Span, Time};
use std::time::Instant;

/// As large as the simulator's.
#[derive(Clone, Copy)]
struct Pkt {
    stamp: Time,
    flow: u32,
    len: u32,
    ecn: Ecn,
    dscp: Dscp,
    _rest: [u64; 5],
}

impl Packet for Pkt {
    fn wire_len(&self) -> u32 {
        self.len
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }
    fn dscp(&self) -> Dscp {
        self.dscp
    }
    fn set_dscp(&mut self, dscp: Dscp) {
        self.dscp = dscp;
    }
    fn flow_key(&self) -> u64 {
        u64::from(self.flow)
    }
    fn host_keys(&self) -> (u32, u32) {
        (self.flow, 0)
    }
    fn l4_len(&self) -> u32 {
        self.len - 34
    }
    fn stamp(&self) -> Time {
        self.stamp
    }
    fn set_stamp(&mut self, at: Time) {
        self.stamp = at;
    }
}

fn packet(flow: u32) -> Pkt {
    Pkt {
        stamp: Time::ZERO,
        flow,
        len: 1514,
        ecn: Ecn::Ect0,
        dscp: Dscp::BEST_EFFORT,
        _rest: [0; 5],
    }
}

/// CoDel and fq_codel behind a pointer, as a discipline from outside is.
const BOXED_CODEL: Discipline = Discipline { name: "boxed_codel", ..codel::INFO };
const BOXED_FQ_CODEL: Discipline = Discipline { name: "boxed_fq_codel", ..fq_codel::INFO };

fn registry() -> Registry<Pkt> {
    let mut registry = Registry::built_in();
    let added = [
        registry.add_entry(&BOXED_CODEL, |words, cx| Ok(Box::new(Codel::build(words, cx)?))),
        registry.add_entry(&BOXED_FQ_CODEL, |words, cx| Ok(Box::new(FqCodel::build(words, cx)?))),
    ];
    assert!(added.iter().all(Result::is_ok), "the names are free");
    registry
}

/// How many packets each figure is of.
fn packets() -> u32 {
    std::env::var("COST_PACKETS").map_or(5_000_000, |n| n.parse().expect("a number of packets"))
}

/// Nanoseconds for each packet of `flows` flows that arrive at 50 Mbit/s and find `standing` more.
fn cost(any: &mut AnyQdisc<Pkt>, flows: u32, standing: u32) -> f64 {
    let mut random = Random::named(1, "cost");
    let mut cx = Context { random: &mut random, telemetry: &mut () };
    let step = Rate::from_mbit(50).time_for(1514);
    let mut now = Time::ZERO;
    (0..standing).for_each(|i| any.enqueue(now, packet(i % flows), &mut cx));
    let start = Instant::now();
    for i in 0..packets() {
        now += step;
        any.enqueue(now, packet(i % flows), &mut cx);
        if any.next_timer().is_some_and(|at| at <= now) {
            any.on_timer(now, &mut cx);
        }
        any.dequeue(now, &mut cx);
    }
    start.elapsed().as_nanos() as f64 / f64::from(packets())
}

/// The same through a delay line and a shaper, as a hop has them.
fn cost_of_a_hop(child: AnyQdisc<Pkt>, flows: u32, standing: u32) -> f64 {
    let mut random = Random::named(1, "cost");
    let mut netem = registry()
        .build("netem delay 10ms limit 100000", &QdiscQuirks::LINUX_7_3, &mut random)
        .unwrap();
    let mut htb = AnyQdisc::shaped(Rate::from_mbit(50), child);
    let mut cx = Context { random: &mut random, telemetry: &mut () };
    let step = Rate::from_mbit(50).time_for(1514);
    let mut now = Time::ZERO;
    (0..standing).for_each(|i| htb.enqueue(now, packet(i % flows), &mut cx));
    let start = Instant::now();
    for i in 0..packets() {
        now += step;
        netem.enqueue(now, packet(i % flows), &mut cx);
        if let Dequeued::Packet(packet) = netem.dequeue(now, &mut cx) {
            htb.enqueue(now + Span::from_nanos(1), packet, &mut cx);
        }
        if htb.next_timer().is_some_and(|at| at <= now) {
            htb.on_timer(now, &mut cx);
        }
        htb.dequeue(now, &mut cx);
    }
    start.elapsed().as_nanos() as f64 / f64::from(packets())
}

fn main() {
    // `cost WORDS FLOWS` runs one of them in a hop, `cost WORDS FLOWS alone` by itself, and prints nothing, for a tool
    // that counts instructions.
    let mut args = std::env::args().skip(1);
    if let (Some(words), Some(flows)) = (args.next(), args.next()) {
        let mut any =
            registry().build(&words, &QdiscQuirks::LINUX_7_3, &mut Random::named(1, "b")).unwrap();
        let flows = flows.parse().expect("a number of flows");
        if args.next().is_some_and(|how| how == "alone") {
            cost(&mut any, flows, 20);
        } else {
            cost_of_a_hop(any, flows, 20);
        }
        return;
    }
    println!("{:<28} {:>7} {:>7} {:>9}", "discipline", "flows", "ns/pkt", "in a hop");
    for words in [
        "pfifo limit 100000",
        "codel limit 100000",
        "boxed_codel limit 100000",
        "pie limit 100000",
        "fq_codel",
        "boxed_fq_codel",
        "cobalt",
        "cnq_codel_af",
        "twin_codel_af",
        "lfq_cobalt sce-thresh 8",
        "cake besteffort flows",
        "cake sce",
    ] {
        for flows in [1, 10, 1000] {
            let build = || {
                registry()
                    .build(words, &QdiscQuirks::LINUX_7_3, &mut Random::named(1, "b"))
                    .unwrap()
            };
            let alone = cost(&mut build(), flows, 20);
            let hop = cost_of_a_hop(build(), flows, 20);
            println!("{words:<28} {flows:>7} {alone:>7.1} {hop:>9.1}");
        }
    }
    let mut netem = registry()
        .build("netem delay 10ms limit 100000", &QdiscQuirks::LINUX_7_3, &mut Random::named(1, "b"))
        .unwrap();
    println!("{:<28} {:>7} {:>7.1}", "netem delay 10ms", 1, cost(&mut netem, 1, 20));
}
