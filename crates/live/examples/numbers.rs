//! Measures the live engine on this machine: how late packets leave, how many it carries, how exact a ping is, how long the
//! set-up takes. A benchmark and no test: an idle machine gives other numbers than a busy one.
//!
//! `cargo run --release -p sojourn-live --example numbers`

use sojourn_engine::Engine as _;
use sojourn_language::{AnyWords, Experiment};
use sojourn_live::{HelperCommand, Live, Shell, Window, helper_main, shell};
use sojourn_model::Scenario;
use sojourn_results::Run;
use sojourn_results::metrics::{Expression, Frame};
use std::io::Write as _;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().collect();
    if let [_, word, fd] = &words[..]
        && word == "as-helper"
    {
        std::process::exit(helper_main(fd.parse()?));
    }
    let program = std::env::current_exe()?;
    let helper = HelperCommand { program, arguments: vec!["as-helper".into()] };
    let live = Live::new(helper.clone());
    let mut out = std::io::stdout();

    let bulk = "[[flow]]\nname = \"f\"\ncc = \"cubic\"\n";
    for (name, engine) in [("default", live.clone()), ("spinning", live.clone().spinning())] {
        let run = engine.run(&scenario("10s", "50mbit", "20ms", bulk), &())?;
        let of = |name| total(&run, name) * 1e6;
        writeln!(
            out,
            "50 Mbit/s, {name}: late by p50 {:.1}, p99 {:.1}, max {:.0} us; relay {:.0} %, machine {:.0} %, stolen {:.1} %, goodput {:.1} Mbit/s, valid {}",
            of("lateness_p50_s"),
            of("lateness_p99_s"),
            of("lateness_max_s"),
            total(&run, "relay_cpu_share") * 100.0,
            total(&run, "machine_busy_share") * 100.0,
            total(&run, "stolen_share") * 100.0,
            value(&run, "goodput(f)") / 1e6,
            total(&run, "valid"),
        )?;
        let ping = "[[flow]]\nname = \"f\"\nping = { interval = \"10ms\" }\n";
        let run = engine.run(&scenario("10s", "50mbit", "10ms", ping), &())?;
        // A request and a reply take 98 bytes at this rate each.
        let exact = 0.010 + 2.0 * 98.0 * 8.0 / 50e6;
        let mut errors: Vec<f64> = run.table("pings").map_or(Vec::new(), |pings| {
            pings.f64("rtt_s").iter().map(|rtt| (rtt - exact) * 1e6).collect()
        });
        errors.retain(|error| !error.is_nan());
        errors.sort_by(f64::total_cmp);
        let of = |share: f64| errors[((errors.len() - 1) as f64 * share) as usize];
        writeln!(
            out,
            "ping, {name}: error p50 {:.0}, p99 {:.0}, max {:.0} us",
            of(0.5),
            of(0.99),
            of(1.0)
        )?;
    }
    for (name, rate, offload) in [
        ("single packets", "100mbit", false),
        ("single packets", "200mbit", false),
        ("single packets", "500mbit", false),
        ("single packets", "1gbit", false),
        ("super-packets", "500mbit", true),
        ("super-packets", "1gbit", true),
        ("super-packets", "3gbit", true),
        ("super-packets", "10gbit", true),
    ] {
        let engine = live.clone().with_offload(offload);
        let run = engine.run(&scenario("5s", rate, "1ms", bulk), &())?;
        writeln!(
            out,
            "{name} at {rate}: {:.0} Mbit/s, late by p99 {:.0} us, relay {:.0} %, lost {} unsent {} oversized {}, valid {}",
            value(&run, "goodput(f)") / 1e6,
            total(&run, "lateness_p99_s") * 1e6,
            total(&run, "relay_cpu_share") * 100.0,
            total(&run, "socket_drops"),
            total(&run, "unsent_packets"),
            total(&run, "oversized_frames"),
            total(&run, "valid"),
        )?;
    }
    let mut times = Vec::new();
    for _ in 0..10 {
        let asked = Shell {
            helper: helper.clone(),
            scenario: (*scenario("10s", "50mbit", "10ms", bulk)).clone(),
            command: vec!["true".into()],
            servers: Vec::new(),
            server_output: None,
            hosts: None,
            control: None,
            ecn: false,
            offload: None,
            spin: false,
            internet: false,
            capture: None,
            door: None,
        };
        let before = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        shell(&asked, &(), &Window::default())?;
        let after = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let nanos = (after.tv_sec - before.tv_sec) * 1_000_000_000 + after.tv_nsec - before.tv_nsec;
        times.push(nanos as f64 / 1e6);
    }
    times.sort_by(f64::total_cmp);
    writeln!(out, "set-up, `true` and end: median {:.1}, max {:.1} ms", times[5], times[9])?;
    Ok(())
}

fn scenario(duration: &str, rate: &str, rtt: &str, flow: &str) -> Arc<Scenario> {
    let text = format!(
        "[experiment]\nname = \"numbers\"\nduration = \"{duration}\"\nping = false\nwarmup = \"0s\"\n\
         [[hop]]\nname = \"link\"\nrate = \"{rate}\"\nqdisc = \"fq_codel\"\nrtt = \"{rtt}\"\n{flow}"
    );
    let experiment = Experiment::parse("numbers.toml", &text).unwrap_or_else(|e| panic!("{e}"));
    let plan = experiment.plan(&AnyWords, 1).unwrap_or_else(|e| panic!("{e}"));
    Arc::new(plan.scenarios().next().expect("one"))
}

fn value(run: &Run, expression: &str) -> f64 {
    let expression = Expression::parse(expression).expect("a metric");
    expression.evaluate(&Frame::new(run)).map_or(f64::NAN, |verdict| verdict.value.number)
}

fn total(run: &Run, name: &str) -> f64 {
    let Some(table) = run.table("totals") else { return f64::NAN };
    let row = (0..table.len()).find(|&row| table.text("name").get(row) == name);
    row.map_or(f64::NAN, |row| table.f64("value")[row])
}
