//! What a QUIC flow costs: CPU seconds of 60 s at 50 Mbit/s, of one next to a CUBIC of TCP and of one alone, and data
//! packets per CPU-second, with and without TLS.
//!
//! `cargo run --release -p sojourn-sim --example quic_cost`. CPU time is the kernel's account of this thread, so that a machine
//! that does other work too tells nearly the same.

#![expect(clippy::print_stdout, reason = "it prints its result")]

use sojourn_engine::Engine as _;
use sojourn_model::{Quic, QuicCrypto, Traffic};
use sojourn_sim::{Sim, dumbbell::Dumbbell};

/// Seconds that this thread has been on a processor.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|n| n.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1e9
}

fn main() {
    println!("stack cc         crypto   rival  CPU s  data packets per CPU-second");
    for stack in sojourn_quic::STACKS {
        for control in stack.controls {
            for crypto in [QuicCrypto::Null, QuicCrypto::Tls] {
                for beside in [true, false] {
                    let ccs = if beside { vec!["cubic".to_owned()] } else { Vec::new() };
                    let d = Dumbbell { ccs, ping: false, ..Dumbbell::default() };
                    let mut s = d.scenario();
                    let quic = Quic { crypto, ..Quic::plain(stack.name, control.name) };
                    s.flows.push(d.flow("q", Traffic::Quic(quic)));
                    let from = cpu_seconds();
                    let run = Sim::new().run(&s.clone().into(), &()).expect("it runs");
                    let cpu = cpu_seconds() - from;
                    let totals = run.table("totals").expect("every run has totals");
                    let (subjects, names) = (totals.text("subject"), totals.text("name"));
                    let left: f64 = (0..totals.len())
                        .filter(|&i| {
                            subjects.get(i) == "bottleneck.down.qdisc" && names.get(i) == "left"
                        })
                        .map(|i| totals.f64("value")[i])
                        .sum();
                    println!(
                        "{:5} {:8} {:>8?} {:>7} {cpu:>6.2} {:>10.0}",
                        stack.name,
                        control.name,
                        crypto,
                        if beside { "cubic" } else { "-" },
                        left / cpu,
                    );
                }
            }
        }
    }
}
