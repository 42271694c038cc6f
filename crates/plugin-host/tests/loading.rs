//! Plugins that are right and plugins that are wrong, loaded and run as a user's are. Those in C are built here by `cc`.

use sojourn_engine::{Engine, RunError, run_many};
use sojourn_model::{Feature, Scenario};
use sojourn_plugin_host::{LoadError, Plugins};
use sojourn_results::Run;
use sojourn_sim::Sim;
use sojourn_sim::dumbbell::Dumbbell;
use sojourn_units::Span;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The shared library of a source in C, with one macro defined.
fn built(source: &str, name: &str, define: &str) -> PathBuf {
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("lib{name}.so"));
    let status = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-O2"])
        .arg(format!("-D{define}"))
        .arg(format!("-I{ROOT}/crates/plugin/include"))
        .arg(format!("-I{ROOT}/examples/plugin-c"))
        .arg("-o")
        .arg(&library)
        .arg(format!("{ROOT}/{source}"))
        .status()
        .expect("there is a C compiler: cc");
    assert!(status.success(), "{source} is built");
    library
}

fn ramp(name: &str) -> PathBuf {
    built("examples/plugin-c/ramp.c", name, "RIGHT")
}

fn broken(define: &str) -> PathBuf {
    let name = format!("broken_{}", define.to_lowercase());
    built("crates/plugin-host/tests/fixtures/broken.c", &name, define)
}

/// The plugin in Rust that panics, which cargo builds with the tests.
fn panics() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let target = test.ancestors().nth(2).expect("it is in target/PROFILE/deps");
    let library = target.join("examples/libpanics.so");
    assert!(library.exists(), "run the package's tests together: --test alone builds no examples");
    library
}

fn load(paths: &[&Path]) -> Result<Sim, LoadError> {
    let mut plugins = Plugins::new();
    for path in paths {
        plugins.load(path)?;
    }
    let mut qdiscs = Sim::new().qdiscs().clone();
    plugins.add_qdiscs(&mut qdiscs)?;
    Ok(Sim::with_registry(qdiscs))
}

fn refused(path: &Path) -> LoadError {
    load(&[path]).expect_err("it is wrong")
}

fn scenario(qdisc: &str) -> Scenario {
    let ccs = vec!["cubic".to_owned(), "prague".to_owned()];
    let duration = Span::from_secs(5);
    Dumbbell { qdisc: qdisc.to_owned(), ccs, duration, ..Dumbbell::default() }.scenario()
}

fn run(sim: &Sim, qdiscs: &[&str]) -> Vec<Result<Run, RunError>> {
    let scenarios: Vec<_> = qdiscs.iter().map(|qdisc| scenario(qdisc)).collect();
    let results = Mutex::new(vec![None; scenarios.len()]);
    run_many(sim, &scenarios, 2, &(), &|i, result| {
        results.lock().expect("nobody panics with it")[i] = Some(result);
    });
    let results = results.into_inner().expect("nobody panics with it");
    results.into_iter().map(|result| result.expect("it is done")).collect()
}

/// What ended a run.
fn why(result: &Result<Run, RunError>) -> String {
    match result {
        Err(RunError::Environment { why, help }) => format!("{why}; {help}"),
        Err(other) => other.to_string(),
        Ok(_) => "nothing".to_owned(),
    }
}

fn total(run: &Run, name: &str) -> f64 {
    let totals = run.table("totals").expect("it is recorded");
    let (subjects, names) = (totals.text("subject"), totals.text("name"));
    let is_it =
        |row: &usize| subjects.get(*row) == "bottleneck.down.qdisc" && names.get(*row) == name;
    let at = (0..totals.len()).find(is_it);
    totals.f64("value")[at.unwrap_or_else(|| panic!("no {name}"))]
}

fn digests(run: &Run) -> Vec<String> {
    run.tables.iter().map(sojourn_results::Table::digest).collect()
}

#[test]
fn one_in_c_runs_next_to_one_in_rust_and_a_built_in() {
    let sim = load(&[&ramp("beside"), &broken("SECOND"), &panics()]).expect("they are right");
    let able = sim.capabilities();
    let has = |name: &&str| able.has(&Feature::Qdisc((*name).to_owned()));
    assert!(["ramp", "ramp2", "panics", "codel"].iter().all(has));
    let results = run(&sim, &["ramp low 2ms high 6ms", "ramp2 low 2ms high 6ms", "codel"]);
    let [Ok(first), Ok(second), Ok(codel)] = &results[..] else { panic!("{results:?}") };
    assert!(total(first, "ramp.marked") > 10.0, "{}", total(first, "ramp.marked"));
    assert_eq!(total(first, "ramp.marked"), total(second, "ramp2.marked"));
    assert_eq!(total(first, "ramp.marked"), total(first, "marked"));
    assert_ne!(digests(first)[0], digests(codel)[0]);
    // Threads, other runs and loading it again change nothing.
    let again = load(&[&ramp("again")]).expect("it is right");
    let again = run(&again, &["ramp low 2ms high 6ms"]);
    assert_eq!(digests(again[0].as_ref().expect("it runs")), digests(first));
}

#[test]
fn a_file_that_is_no_plugin_is_named_with_what_it_is() {
    let text = Path::new(env!("CARGO_TARGET_TMPDIR")).join("text.so");
    std::fs::write(&text, "not a library").expect("it can be written");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for (path, message, help) in [
        (Path::new("./no/such.so"), "there is no such file", "the experiment's file"),
        (folder, "it cannot be read", "check that it is a file"),
        (&text, "it cannot be loaded: ", "built for this machine"),
        (&broken("NO_SYMBOL"), "does not export \"sojourn_plugin\"", "sojourn_plugin! {"),
    ] {
        let error = refused(path);
        assert_eq!(error.file, path.display().to_string());
        assert!(error.message.contains(message) && error.help.contains(help), "{error}");
    }
}

#[test]
fn a_table_that_is_not_ours_is_refused_before_anything_is_called() {
    for (define, message) in [
        ("WRONG_VERSION", "it is of version 99 of the plugin ABI"),
        ("OTHER_SIZE", "a table of sojourn_plugin.aqms says that it is"),
        ("NULL_NAME", "the name of a queue discipline is a null pointer"),
        ("NULL_FUNCTION", "\"ramp\": dequeue is a null pointer"),
        ("NULL_OPTIONS", "\"ramp\": options (3 of them) is a null pointer"),
        ("RANGE_BEYOND", "the range of the option \"far\" is from 1000000000000 to 2000000000000"),
        ("TAKEN_NAME", "there is a queue discipline \"codel\" already"),
    ] {
        let library = broken(define);
        let error = refused(&library);
        assert!(error.message.contains(message), "{error}");
        assert!(library.ends_with(Path::new(&error.file).file_name().expect("a file")), "{error}");
        assert!(!error.help.is_empty());
    }
    // Two of one name.
    let error = load(&[&ramp("one"), &ramp("two")]).expect_err("the name is taken");
    assert!(error.file.ends_with("libtwo.so") && error.message.contains("\"ramp\""), "{error}");
}

#[test]
fn what_a_plugin_must_not_do_ends_its_run_and_no_other() {
    for (define, message) in [
        ("DROPS_TWICE", "it dropped the packet 0x0, which its queue does not hold"),
        ("NO_REASON", "it gave reason 77 and has a table of 2"),
        ("SAYS_EMPTY", "it says that it is empty, and it holds 1 packets"),
        ("WAITS_FOR_NOW", "which is not later"),
        ("NONSENSE", "dequeue answered 9"),
        ("DRAWS", "it drew a random number in a call that only looks"),
    ] {
        let sim = load(&[&broken(define)]).expect("its tables are right");
        let results = run(&sim, &["ramp", "codel"]);
        let why = why(&results[0]);
        let file = format!("libbroken_{}.so, queue discipline \"ramp\": ", define.to_lowercase());
        assert!(why.contains(message) && why.contains(&file), "{why}");
        assert!(results[1].is_ok(), "{define}");
    }
}

#[test]
fn a_panic_inside_ends_its_run_and_no_other() {
    let sim = load(&[&panics()]).expect("it is right");
    let results = run(&sim, &["panics after 1000", "codel", "panics after 4000000000"]);
    let why = why(&results[0]);
    assert!(
        why.contains("libpanics.so") && why.contains("it panicked: that was the last straw"),
        "{why}"
    );
    assert!(results[1].is_ok() && results[2].is_ok());
    // When it is made, it is the words that are wrong.
    let build = |words: &str| {
        let quirks = sojourn_qdisc::QdiscQuirks::default();
        let mut random = sojourn_units::Random::named(1, "test");
        sim.qdiscs().build(words, &quirks, &mut random).map(|qdisc| qdisc.describe())
    };
    let error = build("htb rate 1mbit panics after 13").expect_err("it panics");
    assert!(error.message.contains("it panicked: thirteen is too much"), "{error}");
    assert_eq!(&error.text[error.at], "panics after 13");
    assert_eq!(build("panics after 14").as_deref(), Ok("after 14p"));
    let error = build("panics").expect_err("the option is missing");
    assert_eq!(
        error.to_string(),
        "panics needs \"after\"; write \"after\" and a number of packets from 1 to 4294967295"
    );
}

#[test]
fn a_stored_scenario_asks_for_the_build_that_it_was_run_with() {
    let library = ramp("stored");
    let mut plugins = Plugins::new();
    plugins.load(&library).expect("it is right");
    let stored = Scenario { plugins: plugins.named(), ..scenario("ramp") };
    let found = Plugins::of([&stored, &stored]).expect("it is there");
    assert_eq!(found.named(), stored.plugins);
    assert_eq!(found.disciplines().map(|d| d.name).collect::<Vec<_>>(), ["ramp"]);
    let mut other = stored.clone();
    other.plugins[0].digest = "0123456789abcdef".to_owned();
    let error = Plugins::of([&other]).expect_err("it is another");
    assert!(
        error.message.contains("another build") && error.message.contains("0123456789ab"),
        "{error}"
    );
    assert_ne!(Sim::new().identity(&stored), Sim::new().identity(&other));
}
