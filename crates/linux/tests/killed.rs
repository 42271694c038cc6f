//! Guests round the simulator's queues that are killed: a process of its own, since every guest of it is. Ignored without a
//! kernel that can have cards.

use libtest_mimic::{Arguments, Trial};
use rustix::process::{Pid, Signal, kill_process};
use sojourn_engine::{Engine as _, RunError, Watch};
use sojourn_language::{AnyWords, Experiment};
use sojourn_linux::Linux;
use sojourn_model::Scenario;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

/// The stack of the kernel that the tests run on.
const STACK: &str = "linux-7.3";

fn scenario(hop: &str, flows: &str, secs: u32) -> Scenario {
    let text = format!(
        "[experiment]\nname = \"t\"\nduration = \"{secs}s\"\nwarmup = \"0s\"\nstack = \"{STACK}\"\n\
         [[hop]]\nname = \"bottleneck\"\n{hop}\n{flows}"
    );
    let experiment = Experiment::parse("t.toml", &text).unwrap();
    experiment.plan(&AnyWords, 10).unwrap().into_scenarios().remove(0)
}

const HOP: &str =
    "by = \"sojourn\"\nrate = \"50mbit\"\nrtt = \"10ms\"\nqdisc = \"pfifo limit 200\"\n";
const CUBIC: &str = "[[flow]]\nname = \"cubic\"\ncc = \"cubic\"\n";

/// Wherever a guest is killed, the run ends with what it said last, and leaves nothing.
fn a_killed_guest_ends_its_run() {
    for millis in [20, 60, 120, 200, 300, 500] {
        let stop = AtomicBool::new(false);
        let error = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(millis));
                while !stop.load(Ordering::Relaxed) {
                    kill_children();
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
            let error = Linux::new().run(&Arc::new(scenario(HOP, CUBIC, 60)), &()).unwrap_err();
            stop.store(true, Ordering::Relaxed);
            error
        });
        let said = error.to_string();
        assert!(said.contains("ended early") || said.contains("given up"), "{millis} ms: {said}");
        assert!(said.contains("last message") || said.contains("given up"), "{millis} ms: {said}");
    }
    nothing_is_left();
}

/// Gives a run up a while after its beginning.
struct Impatient(AtomicU32);

impl Watch for Impatient {
    fn cancelled(&self) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed) > 3
    }
}

/// A run that is given up ends with all of its guests.
fn a_cancelled_run_leaves_nothing() {
    let wish = Impatient(AtomicU32::new(0));
    let error = Linux::new().run(&Arc::new(scenario(HOP, CUBIC, 600)), &wish).unwrap_err();
    assert_eq!(error, RunError::Cancelled);
    nothing_is_left();
}

fn nothing_is_left() {
    let mine = format!("sojourn-guest-{}-", std::process::id());
    for parent in [std::env::temp_dir(), "/dev/shm".into()] {
        let left = std::fs::read_dir(parent).unwrap().flatten();
        let left: Vec<_> =
            left.filter(|e| e.file_name().to_string_lossy().starts_with(&mine)).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// Kills the guests of this process.
fn kill_children() {
    let me = std::process::id().to_string();
    let Ok(entries) = std::fs::read_dir("/proc") else { return };
    for entry in entries.flatten() {
        let Ok(status) = std::fs::read_to_string(entry.path().join("status")) else { continue };
        let is_mine =
            status.lines().any(|l| l.strip_prefix("PPid:").is_some_and(|p| p.trim() == me));
        let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let is_guest = String::from_utf8_lossy(&command).contains("time-travel=ext");
        let pid = entry.file_name().to_str().and_then(|n| n.parse().ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid.filter(|_| is_mine && is_guest) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

fn main() {
    let arguments = Arguments::from_args();
    let there = Linux::new().kernel(STACK).is_some_and(|kernel| kernel.cards);
    // One after the other: the first kills all guests.
    let trial =
        Trial::test("a_killed_guest_ends_its_run_and_a_cancelled_run_leaves_nothing", || {
            a_killed_guest_ends_its_run();
            a_cancelled_run_leaves_nothing();
            Ok(())
        });
    libtest_mimic::run(&arguments, vec![trial.with_ignored_flag(!there)]).exit();
}
