//! A look at one run: `peek QDISC RATE_MBIT RTT_MS SECONDS CC...`.
#![allow(clippy::print_stdout, missing_docs)]
use sojourn_scenario::engine::Engine;
use sojourn_sim::{Sim, dumbbell::Dumbbell};
use sojourn_units::{Rate, Span};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let d = Dumbbell {
        qdisc: a[1].clone(),
        rate: Rate::from_mbit(a[2].parse().unwrap()),
        rtt: Span::from_millis(a[3].parse().unwrap()),
        duration: Span::from_secs(a[4].parse().unwrap()),
        ccs: a[5..].to_vec(),
        stack: std::env::var("STACK").unwrap_or("linux-7.3".into()),
        seed: std::env::var("SEED").map_or(1, |s| s.parse().unwrap()),
        ecn: std::env::var("NOECN").is_err(),
        ..Dumbbell::default()
    };
    let run = Sim.run(&d.scenario(), &()).unwrap();
    let f = run.table("flows").unwrap();
    let every: usize = std::env::var("EVERY").map_or(20, |s| s.parse().unwrap());
    let n = d.ccs.len();
    for i in 0..f.len() {
        if (i / n).is_multiple_of(every) {
            println!("{:8.3} {:10} good {:7.2} dr {:7.2} rtt {:7.2} srtt {:7.2} cwnd {:5} ssth {:6} infl {:5} rtx {:5} ce {:5} {}",
                f.f64("t_s")[i], f.text("flow").get(i), f.f64("goodput_bps")[i]/1e6, f.f64("delivery_rate_bps")[i]/1e6,
                f.f64("rtt_s")[i]*1e3, f.f64("srtt_s")[i]*1e3, f.u64("cwnd")[i], f.u64("ssthresh")[i].min(999999), f.u64("inflight")[i], f.u64("retransmits")[i], f.u64("ce")[i], f.text("state").get(i));
        }
    }
    let t = run.table("totals").unwrap();
    for i in 0..t.len() { println!("{} {} {}", t.text("subject").get(i), t.text("name").get(i), t.f64("value")[i]); }
}
