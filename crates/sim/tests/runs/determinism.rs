//! A run is a function of its scenario and its seed: not of threads, processes, or who else was there.

use crate::bench::{fingerprint, rows_of, run, table};
use sojourn_engine::{Engine, run_many};
use sojourn_model::{Scenario, Start};
use sojourn_results::Table;
use sojourn_sim::{Sim, disciplines, dumbbell::Dumbbell};
use sojourn_units::{Rate, Span};
use std::process::Command;
use std::sync::Mutex;

/// Every discipline that a shaper can have as a child, with draws from every kind of stream: jitter and loss on the
/// path, PIE's dice, fq_codel's key, hosts' jitter and starts.
fn experiment(seed: u64) -> Vec<Scenario> {
    let names = disciplines().iter().map(|d| d.name).filter(|&name| name != "htb");
    names
        .map(|qdisc| {
            let mut s = Dumbbell {
                rate: Rate::from_mbit(20),
                qdisc: match qdisc {
                    "red" => "red limit 400000 avpkt 1000 adaptive ecn".to_owned(),
                    "tbf" => "tbf rate 10mbit burst 4k limit 60k".to_owned(),
                    _ => qdisc.to_owned(),
                },
                ccs: ["cubic", "reno", "cubic"].map(str::to_owned).into(),
                duration: Span::from_secs(4),
                seed,
                ..Dumbbell::default()
            }
            .scenario();
            crate::bench::netem_mut(&mut s).chain = vec!["delay 10ms 1ms loss 0.2%".to_owned()];
            s
        })
        .collect()
}

fn of_many(scenarios: &[Scenario], threads: usize) -> Vec<u64> {
    let prints = Mutex::new(vec![0; scenarios.len()]);
    run_many(&Sim::new(), scenarios, threads, &(), &|i, run| {
        let tables = run.expect("the scenario can be run").tables;
        prints.lock().expect("nobody panics with it")[i] = fingerprint(&tables);
    });
    prints.into_inner().expect("nobody panics with it")
}

#[test]
fn one_thread_or_two_make_no_difference() {
    let scenarios = experiment(1);
    let one = of_many(&scenarios, 1);
    assert_eq!(one, of_many(&scenarios, 2));
    let alone: Vec<u64> = scenarios.iter().map(|s| fingerprint(&run(s).tables)).collect();
    assert_eq!(one, alone);
}

#[test]
fn another_seed_is_another_run() {
    for (a, b) in of_many(&experiment(1), 2).iter().zip(of_many(&experiment(2), 2)) {
        assert_ne!(*a, b);
    }
}

const ASKED: &str = "SOJOURN_TEST_PRINTS";

/// Not a test by itself: the next one runs it in processes of their own.
#[test]
#[expect(clippy::print_stdout, reason = "read by the process that started this one")]
fn prints_its_tables() {
    if std::env::var_os(ASKED).is_some() {
        for print in of_many(&experiment(1), 2) {
            println!("print {print:016x}");
        }
    }
}

#[test]
fn one_process_or_another_make_no_difference() {
    let prints = || {
        let output = Command::new(std::env::current_exe().expect("a test has a program"))
            .args(["determinism::prints_its_tables", "--exact", "--nocapture"])
            .env(ASKED, "yes")
            .output()
            .expect("the program can be run again");
        let text = String::from_utf8(output.stdout).expect("text");
        // The harness does not end its own line before the test prints.
        let prints: Vec<String> =
            text.lines().filter_map(|l| Some(l.split_once("print ")?.1.to_owned())).collect();
        prints
    };
    let (first, second) = (prints(), prints());
    assert_eq!(first.len(), experiment(1).len());
    assert_eq!(first, second);
}

/// When each flow started.
fn starts(events: &Table) -> Vec<(String, f64)> {
    (0..events.len())
        .filter(|&i| events.text("what").get(i) == "start")
        .map(|i| (events.text("subject").get(i).to_owned(), events.f64("t_s")[i]))
        .collect()
}

/// A flow more draws from streams of its own: the others start when they did, and as long as it sends nothing
/// every packet of theirs is where it was, wherever in the list the new one stands.
#[test]
fn a_flow_more_leaves_the_draws_of_the_others_alone() {
    let scenario = &experiment(1)[2];
    let before = run(scenario);
    for place in [0, 1, scenario.flows.len()] {
        let mut more = scenario.clone();
        let mut flow = more.flows[0].clone();
        flow.name = "another".to_owned();
        more.flows.insert(place, flow);
        let mut joined = starts(table(&run(&more), "events"));
        joined.retain(|(subject, _)| subject != "flow another");
        assert_eq!(joined, starts(table(&before, "events")));

        more.flows[place].start = Start::Event;
        let silent = run(&more);
        for name in ["flows", "queues"] {
            let (a, b) = (table(&before, name), table(&silent, name));
            let subject = a.schema().columns[1].name;
            for who in a.text(subject).names() {
                for column in a.columns().filter(|c| c.0.ty == sojourn_results::schema::Type::U64) {
                    let of = |t: &Table| -> Vec<u64> {
                        rows_of(t, who).map(|i| t.u64(column.0.name)[i]).collect()
                    };
                    assert_eq!(of(a), of(b), "{} of {who}, place {place}", column.0.name);
                }
            }
        }
    }
}

#[test]
fn an_engine_says_who_it_is() {
    let run = run(&experiment(1)[0]);
    assert_eq!(
        (run.engine.name.as_str(), run.engine.version.as_str()),
        (Sim::new().name(), Sim::new().version())
    );
    assert_eq!(*run.scenario, experiment(1)[0], "a result holds the whole scenario");
}
