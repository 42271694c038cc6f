//! Programs in real namespaces. Where the machine refuses them, the tests are ignored, and counted as that.
//!
//! This file is also the programs that they run: with a word for an argument it is the helper, a sender or a receiver. No test
//! asserts a time that the machine decides.

use libtest_mimic::{Arguments, Trial};
use sojourn_engine::RunError;
use sojourn_language::{AnyWords, Experiment};
use sojourn_live::{Ended, HelperCommand, Shell, ShellError, Window, helper_main, shell};
use sojourn_model::{Direction, Scenario, Traffic};
use sojourn_results::metrics::{Expression, Frame};
use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::exit;
use std::time::Duration;

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[1..] {
        ["as-helper", fd] => exit(helper_main(fd.parse().expect("a number"))),
        ["as-sender", port, bytes] => serve(port, bytes),
        ["as-receiver", address, bytes] => receive(address, bytes),
        _ => test(),
    }
}

/// Sends so many bytes to whoever connects.
fn serve(port: &str, bytes: &str) {
    let listener = TcpListener::bind(("::", port.parse().expect("a port"))).expect("listens");
    for stream in listener.incoming() {
        let mut stream = stream.expect("a connection");
        let all = vec![7; bytes.parse().expect("a number")];
        // The client may leave before it has everything.
        let _ = stream.write_all(&all);
    }
}

/// Takes all bytes; the status says whether they were as many as they should be.
fn receive(address: &str, bytes: &str) {
    let mut stream = loop {
        match TcpStream::connect(address) {
            Ok(stream) => break stream,
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let mut all = Vec::new();
    stream.read_to_end(&mut all).expect("everything arrives");
    exit(i32::from(all.len().to_string() != bytes));
}

fn test() {
    let arguments = Arguments::from_args();
    let refused = probe();
    if let Some(why) = &refused {
        eprintln!("no namespaces on this machine, so their tests are ignored: {why}");
    }
    type Test = (&'static str, fn());
    let tests: [Test; 7] = [
        ("a_download_passes_the_queue", a_download_passes_the_queue),
        ("the_status_is_the_commands", the_status_is_the_commands),
        ("connections_take_the_control_of_the_route", connections_take_the_control_of_the_route),
        ("a_command_that_is_not_there_is_named", a_command_that_is_not_there_is_named),
        ("programs_have_no_capability", programs_have_no_capability),
        ("nothing_outlives_the_shell", nothing_outlives_the_shell),
        ("a_cancelled_shell_ends", a_cancelled_shell_ends),
    ];
    let trials = tests.into_iter().map(|(name, run)| {
        let run = move || {
            run();
            Ok(())
        };
        Trial::test(name, run).with_ignored_flag(refused.is_some())
    });
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

fn own() -> PathBuf {
    std::env::current_exe().expect("this program has a path")
}

fn helper() -> HelperCommand {
    HelperCommand { program: own(), arguments: vec!["as-helper".into()] }
}

/// Why there can be no namespaces.
fn probe() -> Option<String> {
    match run(&asked("true", &[])) {
        Err(ShellError::SetUp(failure)) => Some(failure.to_string()),
        _ => None,
    }
}

fn scenario(hop: &str) -> Scenario {
    let text = format!(
        "[experiment]\nname = \"t\"\nduration = \"3600s\"\nping = false\nwarmup = \"0s\"\n\
         sample_interval = \"50ms\"\n[[hop]]\nname = \"link\"\n{hop}\n\
         [[flow]]\nname = \"x\"\ncc = \"cubic\"\n"
    );
    let experiment = Experiment::parse("t.toml", &text).unwrap_or_else(|e| panic!("{e}"));
    let plan = experiment.plan(&AnyWords, 1).unwrap_or_else(|e| panic!("{e}"));
    plan.scenarios().next().expect("one")
}

const HOP: &str = "down = { rate = \"20mbit\", qdisc = \"fq_codel\" }\n\
                   up = { rate = \"5mbit\" }\nrtt = \"20ms\"";

fn words(text: &str) -> Vec<OsString> {
    text.split(' ').map(|word| if word == "SELF" { own().into() } else { word.into() }).collect()
}

fn asked(command: &str, servers: &[&str]) -> Shell {
    Shell {
        helper: helper(),
        scenario: scenario(HOP),
        command: words(command),
        servers: servers.iter().map(|server| words(server)).collect(),
        server_output: "/dev/null".into(),
        hosts_file: None,
        control: None,
        ecn: false,
        offload: None,
        spin: false,
        capture: None,
        door: None,
    }
}

fn run(asked: &Shell) -> Result<Ended, ShellError> {
    shell(asked, &(), &Window::default())
}

fn value(ended: &Ended, expression: &str) -> f64 {
    let expression = Expression::parse(expression).unwrap();
    expression.evaluate(&Frame::new(&ended.run)).unwrap().value.number
}

fn total(ended: &Ended, subject: &str, name: &str) -> f64 {
    let table = ended.run.table("totals").unwrap();
    let (subjects, names) = (table.text("subject"), table.text("name"));
    let row = (0..table.len())
        .find(|&row| subjects.get(row) == subject && names.get(row) == name)
        .unwrap_or_else(|| panic!("no {subject} {name}"));
    table.f64("value")[row]
}

fn a_download_passes_the_queue() {
    let mut asked =
        asked("SELF as-receiver 10.9.9.1:8000 1000000", &["SELF as-sender 8000 1000000"]);
    asked.servers.push(words("SELF as-sender 8001 5"));
    let ended = run(&asked).unwrap();
    assert_eq!((ended.status, &ended.lacking), (0, &Vec::new()));
    let scenario = &ended.run.scenario;
    scenario.check().unwrap();
    // Connections that were refused before the server listened are flows, too.
    let is_large =
        |traffic: &Traffic| matches!(traffic, Traffic::Tcp(tcp) if tcp.bytes == Some(1_000_000));
    let downloads: Vec<_> = scenario.flows.iter().filter(|f| is_large(&f.traffic)).collect();
    assert_eq!(downloads.len(), 1, "{:?}", scenario.flows);
    assert_eq!(downloads[0].direction, Direction::Down);
    // What went through the queue is payload, headers and what was sent again.
    assert!(total(&ended, "link.down.qdisc", "left") >= 1_000_000.0 / 1448.0);
    assert_eq!(total(&ended, "live", "socket_drops"), 0.0);
    assert_eq!(total(&ended, "live", "unknown_frames"), 0.0);
    // At 20 Mbit/s nothing is faster than that.
    let seconds = scenario.duration.as_secs_f64();
    assert!(seconds > 8e6 / 20e6, "{seconds} s");
    assert!(value(&ended, &format!("mean(rtt, {}) over last 300ms", downloads[0].name)) >= 0.020);
}

fn the_status_is_the_commands() {
    assert_eq!(run_status("exit 7"), 7);
    assert_eq!(run_status("kill -9 $$"), 137);
}

fn run_status(script: &str) -> i32 {
    let command = vec!["sh".into(), "-c".into(), script.into()];
    run(&Shell { command, ..asked("true", &[]) }).unwrap().status
}

fn connections_take_the_control_of_the_route() {
    let base = asked("SELF as-receiver 10.9.9.1:8000 300000", &["SELF as-sender 8000 300000"]);
    let ended = run(&Shell { control: Some("reno".to_owned()), ecn: true, ..base }).unwrap();
    let found = ended.run.scenario.flows.iter().find_map(|flow| match &flow.traffic {
        Traffic::Tcp(tcp) if tcp.bytes == Some(300_000) => Some(tcp.clone()),
        _ => None,
    });
    let found = found.expect("the download");
    assert_eq!((found.cc.as_str(), format!("{:?}", found.ecn)), ("reno", "Rfc3168".to_owned()));
}

fn a_command_that_is_not_there_is_named() {
    let error = run(&asked("no-such-program-at-all", &[])).unwrap_err().to_string();
    assert!(error.starts_with("starting no-such-program-at-all: No such file"), "{error}");
}

/// Neither by `exec` nor by a user namespace of its own does a program get a capability over the relay's namespaces.
fn programs_have_no_capability() {
    let script = "grep -q '^CapEff:.0*$' /proc/self/status || exit 3; \
                  grep -q '^CapBnd:.0*$' /proc/self/status || exit 4; \
                  grep -q '^NoNewPrivs:.1$' /proc/self/status || exit 5; \
                  nsenter --net=/proc/1/ns/net true 2>/dev/null && exit 6; \
                  unshare -Ur nsenter --net=/proc/1/ns/net true 2>/dev/null && exit 7; \
                  kill -9 1 2>/dev/null; \
                  ip link set net0 down 2>/dev/null && exit 9; exit 0";
    assert_eq!(run_status(script), 0);
}

/// A grandchild that ignores every signal it can is gone when the shell is.
fn nothing_outlives_the_shell() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "cd {}; (trap '' HUP INT TERM; echo x > begun; while :; do sleep 0.02; touch alive; done) & \
         while ! test -e begun; do sleep 0.02; done",
        folder.path().display()
    );
    assert_eq!(run_status(&script), 0);
    let alive = folder.path().join("alive");
    let _ = std::fs::remove_file(&alive);
    std::thread::sleep(Duration::from_millis(200));
    assert!(!alive.exists(), "it still runs");
}

fn a_cancelled_shell_ends() {
    struct Cancel;
    impl sojourn_engine::Watch for Cancel {
        fn cancelled(&self) -> bool {
            true
        }
    }
    let error = shell(&asked("sleep 100", &[]), &Cancel, &Window::default()).unwrap_err();
    assert_eq!(error, ShellError::Run(RunError::Cancelled));
}
