//! Congestion controls of plugins. The one in C does what `reno` does, so its runs are those of `reno`.

use sojourn_engine::{Engine, RunError, run_many};
use sojourn_model::{Feature, Scenario, Traffic};
use sojourn_plugin_host::{LoadError, Plugins};
use sojourn_results::Run;
use sojourn_sim::Sim;
use sojourn_sim::dumbbell::Dumbbell;
use sojourn_units::Span;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The example, built from its source with `what` replaced by `with`.
fn halve(name: &str, what: &str, with: &str) -> PathBuf {
    let source = std::fs::read_to_string(format!("{ROOT}/examples/plugin-c/halve.c"));
    let source = source.expect("it is there");
    assert!(source.contains(what));
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.c"));
    std::fs::write(&file, source.replace(what, with)).expect("it can be written");
    let library = file.with_extension("so");
    let status = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-shared", "-fPIC", "-O2"])
        .arg(format!("-I{ROOT}/crates/plugin/include"))
        .arg("-o")
        .args([&library, &file])
        .status()
        .expect("there is a C compiler: cc");
    assert!(status.success());
    library
}

fn load(path: &Path) -> Result<Sim, LoadError> {
    let mut plugins = Plugins::new();
    plugins.load(path)?;
    let mut controls = Sim::new().controls().clone();
    plugins.add_controls(&mut controls)?;
    Ok(Sim::new().with_controls(controls))
}

/// Two flows for ten seconds, the first under this control. It keeps its name, after which its random streams are named.
fn scenario(cc: &str) -> Scenario {
    let ccs = vec!["reno".to_owned(), "cubic".to_owned()];
    let dumbbell = Dumbbell { ccs, duration: Span::from_secs(10), ..Dumbbell::default() };
    let mut scenario = dumbbell.scenario();
    if let Traffic::Tcp(tcp) = &mut scenario.flows[0].traffic {
        cc.clone_into(&mut tcp.cc);
    }
    scenario
}

fn run(sim: &Sim, ccs: &[&str]) -> Vec<Result<Run, RunError>> {
    let scenarios: Vec<_> = ccs.iter().map(|cc| scenario(cc)).collect();
    let results = Mutex::new(vec![None; scenarios.len()]);
    run_many(sim, &scenarios, 2, &(), &|i, result| {
        results.lock().expect("nobody panics with it")[i] = Some(result);
    });
    let results = results.into_inner().expect("nobody panics with it");
    results.into_iter().map(|result| result.expect("it is done")).collect()
}

#[test]
fn one_in_c_gives_the_bits_of_reno() {
    let sim = load(&halve("halve", "halve", "halve")).expect("it is right");
    assert!(sim.capabilities().has(&Feature::CongestionControl("halve".to_owned())));
    assert!(Sim::new().refuse(&scenario("halve")).len() == 1);
    let results = run(&sim, &["reno", "halve", "cubic"]);
    let [Ok(reno), Ok(ours), Ok(cubic)] = &results[..] else { panic!("they run") };
    let digest = |run: &Run, table: &str| run.table(table).map(sojourn_results::Table::digest);
    for table in &reno.tables {
        let name = table.schema().name;
        // The plugin reports a number of its own.
        if name != "flow_state" {
            assert_eq!(digest(ours, name), digest(reno, name), "{name}");
        }
    }
    assert_ne!(digest(ours, "flows"), digest(cubic, "flows"));
    let state = ours.table("flow_state").expect("it is recorded");
    let last = (0..state.len()).rfind(|&row| state.text("name").get(row) == "reductions");
    assert!(state.f64("value")[last.expect("it is reported")] > 2.0);
}

#[test]
fn what_is_wrong_with_one_is_named() {
    for (name, what, with, message) in [
        ("taken", "\"halve\"", "\"reno\"", "there is a congestion control \"reno\" already"),
        ("null", ".cong_avoid = cong_avoid", ".cong_avoid = NULL", "cong_avoid is a null pointer"),
        ("size", ".size = sizeof halve,", ".size = 4,", "says that it is 4 bytes long"),
    ] {
        let error = load(&halve(name, what, with)).expect_err("it is wrong");
        assert!(error.message.contains(message), "{error}");
    }
    // A threshold below two segments ends the run, and no other.
    let sim =
        load(&halve("low", "control->cwnd / 2 > MIN_CWND ? control->cwnd / 2 : MIN_CWND", "1"))
            .expect("its table is right");
    let results = run(&sim, &["halve", "reno"]);
    let Err(RunError::Environment { why, .. }) = &results[0] else { panic!("it fails") };
    assert!(why.contains("congestion control \"halve\": its ssthresh is 1, below 2"), "{why}");
    assert!(results[1].is_ok());
}
