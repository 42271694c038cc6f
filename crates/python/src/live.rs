//! `sojourn shell`: a program between two hosts, and the process that makes their namespaces. `sojourn router`: the relay between
//! two interfaces.

use crate::engines::live_helper_command;
use crate::errors::{environment_error, run_error, usage_error};
use crate::run::Run;
use crate::scenario::Scenario;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sojourn_capture::{Capture, SNAP_LEN};
use sojourn_engine::Watch;
use sojourn_live::{Ended, Live, Router, RouterError, Shell, ShellError, Window, advice};
use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Runs as the process that makes namespaces for the live engine, with the number of the socket that it inherited.
/// Returns its status.
#[pyfunction]
pub fn live_helper(socket: i32) -> i32 {
    // The GIL stays: the process has one thread, and forks.
    sojourn_live::helper_main(socket)
}

/// Whether the live engine can run here, tried step by step: why not and what would help, if it cannot; what works less well
/// than elsewhere; the congestion controls of the machine's kernel.
type Probed = (Option<(String, String)>, Vec<String>, Vec<String>);

/// Tries each part of the live engine on this machine.
#[pyfunction]
pub fn probe_live(py: Python<'_>) -> PyResult<Probed> {
    let live = Live::new(live_helper_command(py)?);
    let controls = live.controls().to_vec();
    Ok(match py.detach(|| live.probe()) {
        Ok(lacking) => (None, lacking, controls),
        Err(failure) => (Some((failure.to_string(), advice::help(&failure))), Vec::new(), controls),
    })
}

/// Ends a shell when Python wants it.
#[derive(Default)]
struct Wanted(AtomicBool);

impl Watch for Wanted {
    fn cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How often the caller of a shell is asked and hears of the status.
const LOOK: Duration = Duration::from_millis(250);
/// The same of a router: its signals wait for it, and container engines kill a container a second after SIGTERM.
const SOON: Duration = Duration::from_millis(50);

/// What a shell gives: its results, the command's status (none if it ran longer than the run), why the run is not valid, and what could not be set up.
type Over = (Run, Option<i32>, Vec<String>, Vec<String>);

/// The file of a descriptor that Python keeps, opened once more.
fn opened(number: i32) -> PyResult<File> {
    let path = format!("/proc/self/fd/{number}");
    File::options().append(true).open(&path).map_err(|why| {
        PyValueError::new_err(format!("{path} is no file that can be written: {why}"))
    })
}

/// Runs a command on the client of a path, and servers on its server, the GIL released. `on_status(json)` is called some times
/// a second on the calling thread; an exception of it ends the shell.
#[pyfunction]
#[pyo3(signature = (scenario, command, *, servers, server_output, on_status, hosts=None, control=None, ecn=false, offload=None, spin=false, internet=false, captures=None, snap_len=SNAP_LEN, door=None))]
#[allow(clippy::too_many_arguments, reason = "keywords, as Python has them")]
pub fn run_shell(
    py: Python<'_>,
    scenario: &Scenario,
    command: Vec<OsString>,
    servers: Vec<Vec<OsString>>,
    server_output: i32,
    on_status: &Bound<'_, PyAny>,
    hosts: Option<String>,
    control: Option<String>,
    ecn: bool,
    offload: Option<bool>,
    spin: bool,
    internet: bool,
    captures: Option<PathBuf>,
    snap_len: u32,
    door: Option<PathBuf>,
) -> PyResult<Over> {
    let asked = Shell {
        helper: live_helper_command(py)?,
        scenario: (*scenario.resolved()).clone(),
        command,
        servers,
        server_output: Some(Arc::new(opened(server_output)?)),
        hosts,
        control,
        ecn,
        offload,
        spin,
        internet,
        capture: captures.map(|folder| Capture { folder, snap_len }),
        door,
    };
    let outcome =
        watched(py, on_status, LOOK, |wanted, window| sojourn_live::shell(&asked, wanted, window))?;
    match outcome {
        Err(ShellError::Run(error)) => Err(run_error(py, error, "the shell")),
        Err(ShellError::SetUp(failure)) => {
            Err(environment_error(py, &failure.to_string(), &advice::help(&failure)))
        }
        Ok(Ended { run, status, validity, lacking }) => {
            Ok((Run::of(run), status, validity.faults(), lacking))
        }
    }
}

/// Runs something in a thread of its own, the GIL released. `on_status(json)` is called some times a second on the calling thread:
/// a true answer ends the run with its results, an exception without.
fn watched<T: Send>(
    py: Python<'_>,
    on_status: &Bound<'_, PyAny>,
    look: Duration,
    run: impl FnOnce(&Wanted, &Window) -> T + Send,
) -> PyResult<T> {
    let (wanted, window) = (Wanted::default(), Window::default());
    let (sender, receiver) = sync_channel(1);
    // Only this thread listens; the lock lets it do so with the GIL released.
    let receiver = Mutex::new(receiver);
    let outcome = std::thread::scope(|scope| {
        let (wanted, window) = (&wanted, &window);
        scope.spawn(move || {
            let run = std::panic::AssertUnwindSafe(|| run(wanted, window));
            // This thread listens until it has it.
            let _ = sender.send(std::panic::catch_unwind(run));
        });
        let mut failure = None;
        let outcome = loop {
            let next = py.detach(|| {
                receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(look)
            });
            if let Ok(outcome) = next {
                break outcome;
            }
            let called = py
                .check_signals()
                .and_then(|()| on_status.call1((window.status(),)))
                .and_then(|answer| answer.is_truthy());
            match called {
                Ok(true) => window.end(),
                Ok(false) => {}
                Err(error) => {
                    wanted.0.store(true, Ordering::Relaxed);
                    failure.get_or_insert(error);
                }
            }
        };
        failure.map_or(Ok(outcome), Err)
    })?;
    outcome.map_err(|panic| std::panic::resume_unwind(panic))
}

/// What a router gives: its results, and why the run is not valid.
type Routed = (Run, Vec<String>);

/// Forwards between two interfaces, the GIL released. `on_status(json)` is called some times a second on the calling thread; a true
/// answer ends the router with its results, an exception without.
#[pyfunction]
#[pyo3(signature = (scenario, left, right, *, on_status, offload=None, spin=false, captures=None, snap_len=SNAP_LEN, door=None, ready=None))]
#[allow(clippy::too_many_arguments, reason = "keywords, as Python has them")]
pub fn run_router(
    py: Python<'_>,
    scenario: &Scenario,
    left: String,
    right: String,
    on_status: &Bound<'_, PyAny>,
    offload: Option<bool>,
    spin: bool,
    captures: Option<PathBuf>,
    snap_len: u32,
    door: Option<PathBuf>,
    ready: Option<u16>,
) -> PyResult<Routed> {
    let asked = Router {
        left,
        right,
        scenario: (*scenario.resolved()).clone(),
        offload,
        spin,
        capture: captures.map(|folder| Capture { folder, snap_len }),
        door,
        ready,
    };
    let outcome = watched(py, on_status, SOON, |wanted, window| {
        sojourn_live::router(&asked, wanted, window)
    })?;
    match outcome {
        Err(RouterError::Refused(refusal)) => {
            Err(usage_error(py, &refusal.why, Some(&refusal.help)))
        }
        Err(RouterError::Run(error)) => Err(run_error(py, error, "the router")),
        Err(RouterError::SetUp(failure)) => Err(environment_error(
            py,
            &failure.to_string(),
            "sojourn doctor tries each part of what the live engine needs",
        )),
        Ok(Ended { run, validity, .. }) => Ok((Run::of(run), validity.faults())),
    }
}
