//! Runs: many at once with the GIL released, and the results of one.

use crate::arrow::{Table, import};
use crate::engines;
use crate::errors::{run_error, word_error};
use crate::plugins::engine_of;
use crate::scenario::Scenario;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_capture::{Capture, SNAP_LEN};
use sojourn_engine::{RunError, WatchMany, refuse_capture, run_many as run_many_on};
use sojourn_model::WordError;
use sojourn_results::metrics::{Bounds, Expression, Frame, Names, swing};
use sojourn_results::{EngineId, Run as Results, schema};
use sojourn_units::Span;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A value, and where it was measured.
type Measured = (f64, Windows);

/// Where something was measured: after the first of these times, up to the second, in seconds.
type Windows = Vec<(f64, f64)>;

/// Flows, whether they alternate, the period and the window, in seconds.
type Swinging = (Vec<String>, bool, f64, (f64, f64));

/// A check: name, what came out, whether it holds, and where it looks.
type Checked = (String, String, Option<bool>, Windows);

fn seconds(windows: &[Bounds]) -> Windows {
    windows.iter().map(|bounds| (bounds.from, bounds.to)).collect()
}

/// The results of one run: its scenario, the engine that ran it, and its tables.
#[pyclass(frozen, module = "sojourn._core")]
pub struct Run {
    results: Arc<Results>,
}

impl Run {
    /// What an engine gave.
    pub fn of(results: Results) -> Self {
        Self { results: Arc::new(results) }
    }
}

#[pymethods]
impl Run {
    /// A run whose tables were stored: `tables` maps names to anything with `__arrow_c_stream__`.
    #[new]
    fn new(
        scenario: &Scenario,
        engine: String,
        version: String,
        tables: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let mut read = Vec::new();
        for (name, table) in tables {
            let name: String = name.extract()?;
            let schema = schema::Schema::named(&name)
                .ok_or_else(|| PyValueError::new_err(format!("there is no table {name}")))?;
            read.push(import(&table, schema)?);
        }
        Ok(Self {
            results: Arc::new(Results {
                scenario: Arc::clone(scenario.resolved()),
                engine: EngineId { name: engine, version, detail: String::new() },
                tables: read,
                unrecorded: Vec::new(),
            }),
        })
    }

    /// The whole scenario.
    #[getter]
    fn scenario(&self) -> Scenario {
        Scenario::shared(Arc::clone(&self.results.scenario))
    }

    /// The engine's name, version, and what else its results depend on.
    #[getter]
    fn engine(&self) -> (&str, &str, &str) {
        let engine = &self.results.engine;
        (&engine.name, &engine.version, &engine.detail)
    }

    /// The names of its tables.
    #[getter]
    fn tables(&self) -> Vec<&'static str> {
        self.results.tables.iter().map(|t| t.schema().name).collect()
    }

    /// Its tables by name, with the digest of the values in each.
    fn digests(&self) -> Vec<(&'static str, String)> {
        self.results.tables.iter().map(|t| (t.schema().name, t.digest())).collect()
    }

    /// One of its tables.
    fn table(&self, name: &str) -> PyResult<Table> {
        Table::of_run(&self.results, name)
            .map_err(|e| PyValueError::new_err(e.to_string()))?
            .ok_or_else(|| PyValueError::new_err(format!("this run has no table {name}")))
    }

    /// The values of metrics, in base units, NaN where the run has none; each with where it looks, in seconds from the
    /// origin: after the first, up to the second.
    fn measure(&self, py: Python<'_>, expressions: Vec<String>) -> PyResult<Vec<Measured>> {
        let frame = Frame::new(&self.results);
        let value = |text: &String| {
            let expression = Expression::parse(text).map_err(|e| word_error(py, text, &e))?;
            if let Some(error) = self.unknown(&expression).first() {
                return Err(word_error(py, text, error));
            }
            let value =
                expression.evaluate(&frame).map_or(f64::NAN, |verdict| verdict.value.number);
            Ok((value, seconds(&expression.windows(&frame))))
        };
        expressions.iter().map(value).collect()
    }

    /// The flows whose rates swing so slowly that the default window holds few of their periods, whether they alternate, the
    /// period in seconds, and the window; None if none do.
    fn swing(&self) -> Option<Swinging> {
        let swing = swing(&Frame::new(&self.results))?;
        let window = (swing.window.from, swing.window.to);
        Some((swing.flows, swing.alternate, swing.period, window))
    }

    /// Why a metric has no value that the run could have had, and what to write so that it is recorded; None if that is
    /// not why, or it has one.
    fn not_recorded(&self, expression: &str) -> Option<(String, String)> {
        let expression = Expression::parse(expression).ok()?;
        let error = expression.evaluate(&Frame::new(&self.results)).err()?;
        error.help.map(|help| (error.message, help))
    }

    /// Where metrics look in this run by the words of a window, as `measure` gives it; where they look without any, if there
    /// are none.
    fn windows(&self, py: Python<'_>, words: &str) -> PyResult<Vec<(f64, f64)>> {
        // Where a metric looks does not depend on what it measures; of flows that end early it ends with them.
        const OF: &str = "drops(run) ";
        let text = format!("{OF}{words}");
        let in_words = |mut error: WordError| {
            error.at =
                error.at.start.saturating_sub(OF.len())..error.at.end.saturating_sub(OF.len());
            word_error(py, words, &error)
        };
        let parsed = Expression::parse(text.trim_end()).map_err(in_words)?;
        let mut unknown = self.unknown(&parsed).into_iter().filter(|e| e.at.start >= OF.len());
        match unknown.next() {
            Some(error) => Err(in_words(error)),
            None => Ok(seconds(&parsed.windows(&Frame::new(&self.results)))),
        }
    }

    /// The experiment's checks: name, what came out in words, whether it holds (None where it has no value), and where it
    /// looks.
    fn checks(&self) -> Vec<Checked> {
        let frame = Frame::new(&self.results);
        let checks = self.results.scenario.checks.iter().map(|check| {
            let name = check.name.clone().unwrap_or_else(|| check.that.clone());
            let expression = match Expression::parse(&check.that) {
                Ok(expression) => expression,
                Err(error) => return (name, error.message, None, Vec::new()),
            };
            let windows = seconds(&expression.windows(&frame));
            match expression.evaluate(&frame) {
                Ok(verdict) => (name, verdict.to_string(), verdict.passed, windows),
                Err(error) => (name, error.to_string(), None, windows),
            }
        });
        checks.collect()
    }

    fn __repr__(&self) -> String {
        format!("<Run {}>", self.results.scenario.id())
    }
}

impl Run {
    /// What an expression names that this run does not have.
    fn unknown(&self, expression: &Expression) -> Vec<WordError> {
        let scenario = &self.results.scenario;
        let queues: Vec<String> = scenario.queues().collect();
        let elements: Vec<String> = scenario.elements().map(|(path, _)| path).collect();
        let names = Names {
            flows: scenario.flows.iter().map(|f| f.name.as_str()).collect(),
            groups: scenario.flows.iter().filter_map(|f| f.group.as_deref()).collect(),
            queues: queues.iter().map(String::as_str).collect(),
            elements: elements.iter().map(String::as_str).collect(),
            phases: scenario.phases.iter().map(|p| p.name.as_str()).collect(),
            windows: scenario.windows.iter().map(|w| w.name.as_str()).collect(),
            warmup: scenario.warmup,
            duration: scenario.duration,
        };
        expression.unknown_names(&names)
    }
}

/// What the threads that run and the one that watches tell each other.
#[derive(Default)]
struct Shared {
    cancelled: AtomicBool,
    /// Nanoseconds simulated, by run.
    simulated: Vec<AtomicU64>,
    /// Where the packets of each run go; nowhere if there are none.
    captures: Vec<Capture>,
}

impl WatchMany for Shared {
    fn progress(&self, run: usize, simulated: Span) {
        self.simulated[run].store(simulated.as_nanos(), Ordering::Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    fn capture(&self, run: usize) -> Option<Capture> {
        self.captures.get(run).cloned()
    }
}

impl Shared {
    fn seconds(&self) -> f64 {
        let nanos = self.simulated.iter().map(|s| s.load(Ordering::Relaxed)).sum();
        Span::from_nanos(nanos).as_secs_f64()
    }
}

/// Runs every scenario on up to `threads` threads, the GIL released, with the plugins that they name.
///
/// `on_done(index, run)` gets each result, or the error of a run that failed, as soon as it is there, and `on_progress(seconds)` the simulated seconds
/// of all runs together, some ten times a second; both are called on the calling thread. The first error of a
/// callback, or an interrupt, ends the runs under way, hands out what had finished, and is raised.
///
/// `captures` are folders, one a scenario, for the runs' packets, of each of which `snap_len` bytes are kept.
#[pyfunction]
#[pyo3(signature = (scenarios, *, engine="sim", threads=1, on_done, on_progress=None, captures=Vec::new(), snap_len=SNAP_LEN))]
#[allow(clippy::too_many_arguments, reason = "keywords, as Python has them")]
pub fn run_many(
    py: Python<'_>,
    scenarios: Vec<PyRef<'_, Scenario>>,
    engine: &str,
    threads: usize,
    on_done: &Bound<'_, PyAny>,
    on_progress: Option<&Bound<'_, PyAny>>,
    captures: Vec<PathBuf>,
    snap_len: u32,
) -> PyResult<()> {
    let scenarios: Vec<_> = scenarios.iter().map(|s| Arc::clone(s.resolved())).collect();
    let engine = engine_of(py, engine, scenarios.iter().map(|s| &**s))?;
    let shared = Shared {
        simulated: scenarios.iter().map(|_| AtomicU64::new(0)).collect(),
        captures: captures.into_iter().map(|folder| Capture { folder, snap_len }).collect(),
        ..Shared::default()
    };
    // Bounded, so that results wait in the threads that made them rather than fill the memory.
    let (sender, receiver) = sync_channel(threads.max(1));
    // Only this thread listens; the lock is what lets it do so with the GIL released.
    let receiver = Mutex::new(receiver);
    std::thread::scope(|scope| {
        let (engine, shared, runs) = (&*engine, &shared, &scenarios);
        scope.spawn(move || {
            run_many_on(engine, runs, threads, shared, &|index, result| {
                shared.progress(index, runs[index].length());
                // Nobody listens any more only after a cancellation.
                let _ = sender.send((index, result));
            });
        });
        let mut failure: Option<PyErr> = None;
        loop {
            let next = py.detach(|| {
                let receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
                receiver.recv_timeout(Duration::from_millis(80))
            });
            let outcome = match next {
                Err(RecvTimeoutError::Timeout) | Ok((_, Err(RunError::Cancelled))) => Ok(()),
                Ok((index, Err(error))) => {
                    let error = run_error(py, error, &scenarios[index].id());
                    on_done.call1((index, error.into_value(py))).map(drop)
                }
                Ok((index, Ok(results))) => {
                    let run = Run::of(results);
                    on_done.call1((index, run)).map(drop)
                }
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let outcome =
                outcome.and_then(|()| py.check_signals()).and_then(|()| match on_progress {
                    Some(call) if failure.is_none() => call.call1((shared.seconds(),)).map(drop),
                    _ => Ok(()),
                });
            if let Err(error) = outcome {
                shared.cancelled.store(true, Ordering::Relaxed);
                failure.get_or_insert(error);
            }
        }
        failure.map_or(Ok(()), Err)
    })
}

/// What the engine cannot run of these scenarios, each thing and place once; empty if it can run them all.
/// `pcap` says whether captures are wanted.
#[pyfunction]
#[pyo3(signature = (scenarios, *, engine="sim", pcap=false))]
pub fn refusals(
    py: Python<'_>,
    scenarios: Vec<PyRef<'_, Scenario>>,
    engine: &str,
    pcap: bool,
) -> PyResult<Vec<String>> {
    let engine = engine_of(py, engine, scenarios.iter().map(|s| &**s.resolved()))?;
    let wanted = pcap.then(|| refuse_capture(&*engine)).flatten();
    let mut said: Vec<String> = wanted.iter().map(ToString::to_string).collect();
    let mut known = HashSet::new();
    for scenario in &scenarios {
        for refusal in engine.refuse(scenario.resolved()) {
            let text = refusal.to_string();
            if known.insert(text.clone()) {
                said.push(text);
            }
        }
    }
    Ok(said)
}

/// About what a run will need.
#[pyclass(frozen, get_all, module = "sojourn._core")]
pub struct Foreseen {
    /// Packets that carry data or are a probe's.
    packets: f64,
    /// Rows of its tables.
    rows: f64,
    /// How long it keeps a core busy, s.
    cpu_s: f64,
    /// Bytes of memory for packets, for flows, and for rows.
    memory: (f64, f64, f64),
    /// Bytes of its stored tables.
    disk_bytes: f64,
}

/// About what each run will need of this engine; None for an engine that cannot say.
#[pyfunction]
#[pyo3(signature = (scenarios, *, engine="sim"))]
pub fn foresee(
    py: Python<'_>,
    scenarios: Vec<PyRef<'_, Scenario>>,
    engine: &str,
) -> PyResult<Vec<Option<Foreseen>>> {
    let scenarios: Vec<_> = scenarios.iter().map(|s| Arc::clone(s.resolved())).collect();
    let engine = engine_of(py, engine, scenarios.iter().map(|s| &**s))?;
    Ok(py.detach(|| {
        let about = scenarios.iter().map(|scenario| {
            let own = engine.foresee(scenario)?;
            Some(Foreseen {
                packets: own.packets,
                rows: own.rows,
                cpu_s: own.cpu_s,
                memory: (own.memory.packets, own.memory.flows, own.memory.rows),
                disk_bytes: own.disk_bytes,
            })
        });
        about.collect()
    }))
}

/// What decides a run of this scenario besides the scenario: the version, and what else the engine names.
#[pyfunction]
#[pyo3(signature = (scenario, *, engine="sim"))]
pub fn identity(py: Python<'_>, scenario: &Scenario, engine: &str) -> PyResult<String> {
    let own = engines::engine(py, engine)?.identity(scenario.resolved());
    let version = engines::version(py, engine)?;
    Ok(if own.is_empty() { version } else { format!("{version}, {own}") })
}
