//! A queue discipline of one's own in an experiment, start to end: the discipline is in `curvy.rs`, the experiment in
//! `experiment.toml`; this adds the one to the simulator, runs the other and prints what was counted. So it is with a path
//! element (`outage.rs`) and an application (`page.rs`), which `handover.toml` names.
//!
//! `cargo run --profile checked -p own-aqm [FILE.toml]`

#![expect(clippy::print_stdout, reason = "it prints its result")]
#![expect(clippy::print_stderr, reason = "and what is wrong")]

use own_aqm::curvy::CurvyFamily;
use own_aqm::outage::Outage;
use own_aqm::page::Page;
use sojourn_engine::{Engine as _, run_many};
use sojourn_language::{Experiment, MOST_RUNS};
use sojourn_results::Run;
use sojourn_sim::Sim;
use sojourn_vocabulary::Words;
use std::process::ExitCode;
use std::sync::Mutex;

fn main() -> ExitCode {
    let file = std::env::args().nth(1);
    let result = match &file {
        None => Ok(include_str!("experiment.toml").to_owned()),
        Some(path) => std::fs::read_to_string(path).map_err(|e| format!("{path}: {e}")),
    };
    let name = file.as_deref().unwrap_or("experiment.toml");
    match result.and_then(|text| run(name, &text)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run(name: &str, text: &str) -> Result<(), String> {
    // The simulator with one of each more, and the words of an experiment as that simulator knows them.
    let sim = Sim::new().with_qdisc::<CurvyFamily>().map_err(|e| e.to_string())?;
    let sim = sim.with_element::<Outage>().and_then(Sim::with_app::<Page>);
    let sim = sim.map_err(|e| e.to_string())?;
    let words = Words::new(sim.qdiscs().clone())
        .with_elements(sim.elements().words())
        .with_apps(sim.apps().words());
    let plan = Experiment::parse(name, text)
        .and_then(|experiment| experiment.plan(&words, MOST_RUNS))
        .map_err(|diagnostics| diagnostics.to_string())?;
    let scenarios: Vec<_> = plan.scenarios().collect();
    for scenario in &scenarios {
        if let Some(refusal) = sim.refuse(scenario).first() {
            return Err(refusal.to_string());
        }
    }
    let reports = Mutex::new(vec![Ok(String::new()); scenarios.len()]);
    run_many(&sim, &scenarios, 2, &(), &|i, run| {
        let report = run.map(|run| report(&run)).map_err(|e| e.to_string());
        reports.lock().expect("no thread panics with it")[i] = report;
    });
    for report in reports.into_inner().expect("no thread panics with it") {
        print!("{}", report?);
    }
    Ok(())
}

/// What the bottleneck's discipline counted, and why packets were marked or dropped there and by the path element; how long
/// pages took.
fn report(run: &Run) -> String {
    const QUEUE: &str = "bottleneck.down.qdisc";
    let cell: Vec<&str> = run.scenario.cell.iter().map(|(_, value)| value.as_str()).collect();
    let mut lines = vec![format!("{} seed {}", cell.join(" "), run.scenario.seed)];
    if let Some(totals) = run.table("totals") {
        let (subjects, names, values) =
            (totals.text("subject"), totals.text("name"), totals.f64("value"));
        for row in (0..totals.len()).filter(|&row| [QUEUE, "web"].contains(&subjects.get(row))) {
            lines.push(format!("  {:<24} {}", names.get(row), values[row]));
        }
    }
    if let Some(signals) = run.table("queue_signals") {
        // Counts are cumulative: the last row of a reason is its total.
        let mut last = std::collections::BTreeMap::new();
        let (queues, whys) = (signals.text("queue"), signals.text("reason"));
        let (kinds, counts) = (signals.text("kind"), signals.u64("count"));
        let queues = |row: &usize| [QUEUE, "bottleneck.down.cell"].contains(&queues.get(*row));
        for row in (0..signals.len()).filter(queues) {
            last.insert((whys.get(row), kinds.get(row)), counts[row]);
        }
        for ((why, kind), count) in last {
            lines.push(format!("  {why} {kind}s: {count}"));
        }
    }
    if let Some(pages) = run.table("completions") {
        let longest = pages.f64("duration_s").iter().copied().fold(0.0, f64::max);
        lines.push(format!("  longest page: {longest:.3}"));
    }
    lines.push(String::new());
    lines.join("\n")
}
