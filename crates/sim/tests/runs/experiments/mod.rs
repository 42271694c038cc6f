//! Random experiments: files of the language with anything in them that it has. Each is refused with a message, or runs to
//! its end, keeps its books in packets and bytes, and its time never runs back.
//!
//! A hundred thousand and more at once: `make soak RUNS=100000`. One again: `SEED=17 RUNS=1 make soak`. With `KEEP=FOLDER`
//! each file that the language accepts is kept there, for `sojourn run`.

mod draw;
mod write;

use crate::bench::{fingerprint, table};
use crate::properties;
use serde_json::Value;
use sojourn_engine::{Engine, RunError};
use sojourn_language::{Experiment, json_schema};
use sojourn_model::{Action, Kind, Scenario, When};
use sojourn_results::Run;
use sojourn_sim::Sim;
use sojourn_vocabulary::Words;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Events that one run is given; a run that needs more is only begun.
const EVENTS: u64 = 300_000;

/// What became of an experiment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Outcome {
    /// The language refused it.
    Refused,
    /// It holds together and the simulator refused it, by name.
    RefusedByName,
    /// An event had to wait for another, which came too late for it.
    EventInVain,
    /// It had not ended after its events.
    Begun,
    /// It ran to its end.
    Ran,
}

/// What the simulator's words are.
fn words() -> Words {
    let sim = Sim::new();
    Words::default()
        .with_elements(sim.elements().words())
        .with_links(sim.elements().link_words())
        .with_apps(sim.apps().words())
}

fn attempt(schema: &Value, seed: u64) -> Outcome {
    let text = write::experiment(schema, seed);
    let read = Experiment::parse("random.toml", &text).and_then(|e| e.plan(&words(), 10));
    let plan = match read {
        Ok(plan) => plan,
        Err(wrong) => {
            assert!(wrong.to_string().contains("random.toml"), "a place: {wrong}");
            if std::env::var_os("TELL").is_some() {
                eprintln!("SEED={seed}: {wrong}");
            }
            return Outcome::Refused;
        }
    };
    if let Some(folder) = std::env::var_os("KEEP") {
        let file = std::path::Path::new(&folder).join(format!("{seed}.toml"));
        std::fs::write(file, &text).expect("the folder of KEEP exists");
    }
    let scenario = plan.scenarios().next().expect("a run");
    match run(&scenario) {
        Err(RunError::Refused(all)) => {
            assert!(all.iter().all(|u| !u.why.is_empty()));
            if std::env::var_os("TELL").is_some() {
                eprintln!("SEED={seed}: {}", all[0]);
            }
            Outcome::RefusedByName
        }
        Err(RunError::Inconsistent(why)) => {
            panic!("what the language lets through holds together: {why}")
        }
        // When an event comes that waits for something nobody knows before.
        Err(RunError::Failed(why)) if why.starts_with("event ") && has_waiting(&scenario) => {
            Outcome::EventInVain
        }
        Err(other) => panic!("found while it ran, not before: {other}"),
        Ok(None) => Outcome::Begun,
        Ok(Some(run)) => {
            keeps_its_books(&scenario, &run);
            Outcome::Ran
        }
    }
}

/// Whether an event waits for something, and a discipline is replaced: which of them comes first nobody knows before.
fn has_waiting(scenario: &Scenario) -> bool {
    let mut actions = scenario.events.iter().flat_map(|e| &e.actions);
    scenario.events.iter().any(|e| !matches!(e.when, When::At(_)))
        && actions.any(|action| matches!(action, Action::ReplaceQdisc { .. }))
}

fn run(scenario: &Scenario) -> Result<Option<Run>, RunError> {
    let sim = Sim::new();
    let mut begun = sim.begin(scenario, None)?;
    let end = begun.end();
    if !begun.advance(end, EVENTS)? {
        let snapshot = begun.snapshot();
        assert_eq!(snapshot.flows.len(), scenario.flows.len());
        return Ok(None);
    }
    let engine = sojourn_results::EngineId {
        name: sim.name().to_owned(),
        version: String::new(),
        detail: String::new(),
    };
    let tables = begun.finish()?;
    Ok(Some(Run { scenario: scenario.clone().into(), engine, tables, unrecorded: Vec::new() }))
}

fn keeps_its_books(scenario: &Scenario, run: &Run) {
    properties::packets_are_conserved(scenario, run);
    properties::completions_make_sense(scenario, run);
    properties::streams_play_what_has_come(scenario, run);
    properties::time_never_runs_back(scenario, run);
    properties::rows_make_sense(scenario, run);
    // Whoever rewrites the ECN field on the way makes marks of what was never capable of them.
    let rewritten = scenario.elements().any(|(_, e)| matches!(e.kind, Kind::Rewrite(_)));
    if !rewritten {
        properties::not_ect_is_never_marked(scenario, run);
    }
}

/// Runs the experiments of some seeds, and says what became of them and which failed.
fn experiments(seeds: impl Iterator<Item = u64>) -> (BTreeMap<Outcome, u64>, Vec<(u64, String)>) {
    let schema = json_schema();
    let (mut counts, mut failed) = (BTreeMap::new(), Vec::new());
    for seed in seeds {
        match catch_unwind(AssertUnwindSafe(|| attempt(&schema, seed))) {
            Ok(outcome) => *counts.entry(outcome).or_insert(0) += 1,
            Err(why) => {
                let text = why.downcast_ref::<String>().cloned();
                let text = text.or_else(|| why.downcast_ref::<&str>().map(|s| (*s).to_owned()));
                failed.push((seed, text.unwrap_or_default()));
            }
        }
    }
    (counts, failed)
}

#[test]
fn random_experiments_run_or_are_refused() {
    let (counts, failed) = experiments(0..400);
    assert!(failed.is_empty(), "{failed:?}");
    // The generator writes what can be run, and each fate is met.
    let of = |outcome| counts.get(&outcome).copied().unwrap_or(0);
    assert!(of(Outcome::Ran) > 100, "{counts:?}");
    assert!(of(Outcome::Refused) > 10, "{counts:?}");
}

#[test]
fn the_same_seed_is_the_same_experiment_and_the_same_run() {
    let schema = json_schema();
    for seed in 0..5 {
        let text = write::experiment(&schema, seed);
        assert_eq!(text, write::experiment(&schema, seed));
        let twice = || {
            let plan = Experiment::parse("r.toml", &text).ok()?.plan(&words(), 10).ok()?;
            let run = run(&plan.scenarios().next()?).ok()??;
            assert!(!table(&run, "totals").is_empty());
            Some(fingerprint(&run.tables))
        };
        assert_eq!(twice(), twice());
    }
}

/// `RUNS` experiments from `SEED` on, on one thread for each of `THREADS`: `make soak`.
#[test]
#[ignore = "as many as one wants: make soak RUNS=1000000"]
fn soak() {
    let number = |name: &str, or: u64| {
        let said = std::env::var(name).ok().filter(|text| !text.is_empty());
        said.map_or(or, |text| {
            text.parse().unwrap_or_else(|_| panic!("{name}={text} is no whole number"))
        })
    };
    let (runs, first, threads) = (number("RUNS", 10_000), number("SEED", 0), number("THREADS", 1));
    let next = AtomicU64::new(first);
    let all = Mutex::new((BTreeMap::<Outcome, u64>::new(), Vec::new()));
    // With a single run, the place of its panic is the interesting part.
    if runs > 1 {
        std::panic::set_hook(Box::new(|_| {}));
    }
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    let from = next.fetch_add(100, Ordering::Relaxed);
                    if from >= first + runs {
                        return;
                    }
                    let (counts, failed) = experiments(from..(from + 100).min(first + runs));
                    let mut all = all.lock().expect("nobody panics with it");
                    for (outcome, n) in counts {
                        *all.0.entry(outcome).or_default() += n;
                    }
                    for (seed, why) in &failed {
                        eprintln!("SEED={seed}: {why}");
                    }
                    all.1.extend(failed);
                    let done: u64 = all.0.values().sum::<u64>() + all.1.len() as u64;
                    if done.is_multiple_of(1000) {
                        eprintln!("{done} of {runs}: {:?}, {} failed", all.0, all.1.len());
                    }
                }
            });
        }
    });
    let (counts, failed) = all.into_inner().expect("nobody panics with it");
    eprintln!("{runs} experiments from seed {first}: {counts:?}, {} failed", failed.len());
    if runs == 1 {
        eprintln!("{}", write::experiment(&json_schema(), first));
    }
    assert!(
        failed.is_empty(),
        "seeds that failed: {:?}",
        failed.iter().map(|f| f.0).collect::<Vec<_>>()
    );
}
