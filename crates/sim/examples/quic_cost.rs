//! What a flow of an implementation by other authors costs: CPU seconds of 60 s at 50 Mbit/s, of one next to a CUBIC of TCP
//! and of one alone, and data packets per CPU-second, of QUIC with and without TLS.
//!
//! `cargo run --release -p sojourn-sim --example quic_cost`, with `noq/bbr3` behind `--` for one of them. CPU time is the kernel's account of this thread, so that a machine
//! that does other work too tells nearly the same.

#![expect(clippy::print_stdout, reason = "it prints its result")]

use sojourn_engine::Engine as _;
use sojourn_model::{Quic, QuicCrypto, TcpStack, Traffic, TrafficKind};
use sojourn_quic::{STACKS, Stack};
use sojourn_sim::{Sim, dumbbell::Dumbbell};

/// Seconds that this thread has been on a processor.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|n| n.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1e9
}

/// What a flow of a control of an implementation sends, with a word for its cryptography. TCP has none.
fn traffics(stack: &Stack, control: &str) -> Vec<(&'static str, Traffic)> {
    if stack.kind == TrafficKind::TcpStack {
        return vec![("-", Traffic::TcpStack(TcpStack::plain(stack.name, control)))];
    }
    let quic = |crypto| Traffic::Quic(Quic { crypto, ..Quic::plain(stack.name, control) });
    vec![("null", quic(QuicCrypto::Null)), ("tls", quic(QuicCrypto::Tls))]
}

/// Runs a flow, alone or against a CUBIC of TCP: CPU seconds, and packets that left the bottleneck.
fn cost(traffic: &Traffic, contested: bool) -> (f64, f64) {
    let ccs = if contested { vec!["cubic".to_owned()] } else { Vec::new() };
    let d = Dumbbell { ccs, ping: false, ..Dumbbell::default() };
    let mut s = d.scenario();
    s.flows.push(d.flow("q", traffic.clone()));
    let from = cpu_seconds();
    let run = Sim::new().run(&s.into(), &()).expect("it runs");
    let cpu = cpu_seconds() - from;
    let totals = run.table("totals").expect("every run has totals");
    let (subjects, names) = (totals.text("subject"), totals.text("name"));
    let left = (0..totals.len())
        .filter(|&i| subjects.get(i) == "bottleneck.down.qdisc" && names.get(i) == "left");
    (cpu, left.map(|i| totals.f64("value")[i]).sum())
}

fn main() {
    let only: Vec<String> = std::env::args().skip(1).collect();
    println!("stack   cc       crypto   rival  CPU s  data packets per CPU-second");
    for stack in STACKS {
        let controls = stack.controls.iter().map(|control| control.name);
        let asked = |name: &str| {
            only.is_empty() || only.iter().any(|word| *word == format!("{}/{name}", stack.name))
        };
        for control in controls.filter(|name| asked(name)) {
            for (crypto, traffic) in traffics(stack, control) {
                for contested in [true, false] {
                    let (cpu, left) = cost(&traffic, contested);
                    let rival = if contested { "cubic" } else { "-" };
                    println!(
                        "{:7} {control:8} {crypto:>6} {rival:>7} {cpu:>6.2} {:>10.0}",
                        stack.name,
                        left / cpu,
                    );
                }
            }
        }
    }
}
