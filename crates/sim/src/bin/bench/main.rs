//! `make bench`: packets per CPU-second, simulated seconds per CPU-second and peak memory of eight scenarios, each
//! in a process of its own, recording on. Prints a table and writes `target/bench.json`.
//!
//! CPU time and memory are the kernel's own accounts (`/proc/self/schedstat`, `VmHWM`); the median of the repeats is given.
//! Neighbours that use a machine's caches slow it down for everybody, so each repeat also runs a bare loop of the same
//! packets ([`bare`]) in turn: the ratio to it says what a change of the simulator did, whatever the machine does.

#![allow(clippy::print_stdout, reason = "a program's output")]

mod bare;

use sojourn_engine::Engine;
use sojourn_model::{EcnMode, Traffic};
use sojourn_results::Run;
use sojourn_sim::{Sim, dumbbell::Dumbbell};
use sojourn_units::{Rate, Span};
use std::process::{Command, ExitCode};
use std::sync::Arc;

const NAMES: [&str; 8] = ["A", "B", "C", "D", "E", "F", "G", "H"];
const REPEATS: usize = 5;

fn scenario(name: &str) -> Option<(Dumbbell, &'static str)> {
    let base = Dumbbell::default();
    let many = |n: usize| vec!["cubic".to_owned(); n];
    Some(match name {
        "A" => (base, "50 mbit, 20 ms, 2 CUBIC, fq_codel, 60 s"),
        "B" => (Dumbbell { rtt: Span::from_millis(80), ..base }, "the same at 80 ms"),
        "C" => {
            let d = Dumbbell { rate: Rate::from_mbit(1000), ccs: many(10), ..base };
            (Dumbbell { duration: Span::from_secs(20), ..d }, "1 gbit, 20 ms, 10 CUBIC, 20 s")
        }
        "D" => {
            let d = Dumbbell { rate: Rate::from_mbit(100), ccs: many(20), ..base };
            (d, "100 mbit, 20 ms, 20 CUBIC, 60 s")
        }
        "E" => {
            let d = Dumbbell { rate: Rate::from_mbit(10_000), ccs: many(1000), ..base };
            (Dumbbell { duration: Span::from_secs(3), ..d }, "10 gbit, 20 ms, 1000 CUBIC, 3 s")
        }
        "F" => (pair("prague"), "50 mbit, 20 ms, 2 Prague, dualpi2, 60 s"),
        "G" => (pair("cubic"), "the same with 2 CUBIC"),
        "H" => (pair("bbr"), "the same with 2 BBR"),
        _ => return None,
    })
}

/// Two flows through DualPI2.
fn pair(cc: &str) -> Dumbbell {
    Dumbbell { ccs: vec![cc.to_owned(); 2], qdisc: "dualpi2".to_owned(), ..Dumbbell::default() }
}

/// Nanoseconds that this thread has been on a processor.
fn cpu_nanos() -> Option<u64> {
    std::fs::read_to_string("/proc/self/schedstat").ok()?.split_whitespace().next()?.parse().ok()
}

fn peak_rss_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
}

/// Data packets that reached their receivers' hosts.
fn data_packets(run: &Run) -> f64 {
    let Some(totals) = run.table("totals") else { return 0.0 };
    let (subject, name, value) = (totals.text("subject"), totals.text("name"), totals.f64("value"));
    (0..totals.len())
        .filter(|&i| subject.get(i) == "bottleneck.down.qdisc" && name.get(i) == "left")
        .map(|i| value[i])
        .sum()
}

/// Runs the bare loop of a scenario in this process and prints packets and CPU seconds.
fn one_bare(name: &str) -> Option<ExitCode> {
    let (Dumbbell { rate, rtt, ccs, duration, .. }, _) = scenario(name)?;
    let before = cpu_nanos()?;
    let (packets, delays) = bare::packets(rate, rtt, ccs.len(), duration);
    let seconds = (cpu_nanos()? - before) as f64 / 1e9;
    println!("{packets} {seconds} {delays}");
    Some(ExitCode::SUCCESS)
}

/// Runs one scenario in this process and prints packets, CPU seconds and peak megabytes.
fn one(name: &str) -> Option<ExitCode> {
    let (dumbbell, _) = scenario(name)?;
    let mut scenario = dumbbell.scenario();
    for flow in &mut scenario.flows {
        // ECN as each control wants it.
        if let Traffic::Tcp(tcp) = &mut flow.traffic {
            tcp.ecn = EcnMode::Default;
        }
    }
    let scenario = Arc::new(scenario);
    let before = cpu_nanos()?;
    let run = Sim::new().run(&scenario, &()).ok()?;
    let seconds = (cpu_nanos()? - before) as f64 / 1e9;
    println!("{} {seconds} {}", data_packets(&run), peak_rss_mb()?);
    Some(ExitCode::SUCCESS)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// What a scenario came to: medians of the repeats.
struct Measured {
    packets: f64,
    simulated: f64,
    rss_mb: f64,
    /// Packets per CPU-second of the bare loop.
    bare: f64,
    /// The median of the repeats' own ratios.
    ratio: f64,
}

fn measure(name: &str) -> Option<Measured> {
    let (dumbbell, _) = scenario(name)?;
    let program = std::env::current_exe().ok()?;
    let numbers = |arguments: &[&str]| -> Option<Vec<f64>> {
        let out = Command::new(&program).args(arguments).output().ok()?;
        let text = String::from_utf8(out.stdout).ok()?;
        Some(text.split_whitespace().filter_map(|w| w.parse().ok()).collect())
    };
    let (mut rows, mut bares) = (Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        let n = numbers(&[name])?;
        rows.push((*n.first()?, *n.get(1)?, *n.get(2)?));
        let n = numbers(&[name, "bare"])?;
        bares.push(*n.first()? / *n.get(1)?);
    }
    let simulated = dumbbell.duration.as_secs_f64();
    let ratios = rows.iter().zip(&bares).map(|(r, bare)| r.0 / r.1 / bare);
    Some(Measured {
        packets: median(rows.iter().map(|r| r.0 / r.1).collect()),
        simulated: median(rows.iter().map(|r| simulated / r.1).collect()),
        rss_mb: median(rows.iter().map(|r| r.2).collect()),
        ratio: median(ratios.collect()),
        bare: median(bares),
    })
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(name) = arguments.first() {
        let is_bare = arguments.get(1).is_some_and(|word| word == "bare");
        let one = if is_bare { one_bare } else { one };
        return one(name).unwrap_or(ExitCode::FAILURE);
    }
    println!(
        "| scenario | | packets per CPU-second | of the bare loop | simulated s per CPU-s | peak MB |"
    );
    println!("|---|---|---:|---:|---:|---:|");
    let mut json = Vec::new();
    for name in NAMES {
        let (Some(m), Some((_, what))) = (measure(name), scenario(name)) else {
            return ExitCode::FAILURE;
        };
        let Measured { packets, simulated, rss_mb, bare, ratio } = m;
        println!("| {name} | {what} | {packets:.0} | {ratio:.2} | {simulated:.1} | {rss_mb:.1} |");
        json.push(format!(
            "{{\"scenario\": \"{name}\", \"packets_per_cpu_second\": {packets:.0}, \
             \"bare_packets_per_cpu_second\": {bare:.0}, \"ratio_to_bare\": {ratio:.3}, \
             \"simulated_seconds_per_cpu_second\": {simulated:.2}, \"peak_rss_mb\": {rss_mb:.1}}}"
        ));
    }
    let text = format!("[\n  {}\n]\n", json.join(",\n  "));
    if std::fs::create_dir_all("target")
        .and_then(|()| std::fs::write("target/bench.json", text))
        .is_err()
    {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
