//! Runs: many at once with the GIL released, and the results of one.

use crate::arrow::Table;
use crate::engines;
use crate::errors::{run_error, store_error, word_error};
use crate::plugins::engine_of;
use crate::scenario::Scenario;
use crate::store::{self, Store};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyDict;
use sojourn_capture::{Capture, SNAP_LEN};
use sojourn_engine::{RunError, WatchMany, refuse_capture, run_many as run_many_on};
use sojourn_model::WordError;
use sojourn_results::metrics::{Bounds, Expression, Frame};
use sojourn_results::steps::{Of, rows_with, steps};
use sojourn_results::{Column, Run as Results};
use sojourn_store::answers::{Answers, checks, names};
use sojourn_store::record::stored;
use sojourn_store::{About, Keep, SegmentError, Segments};
use sojourn_units::Span;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A value, and where it was measured.
type Measured = (f64, Windows);

/// Where something was measured: after the first of these times, up to the second, in seconds.
type Windows = Vec<(f64, f64)>;

/// A line over time: its name, the middle of each step, and one number a step for each wanted column.
type Stepped = (String, Vec<f64>, Vec<Vec<f64>>);

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

#[pymethods]
impl Run {
    /// A run with tables that were stored: `tables` maps names to anything with `__arrow_c_stream__`.
    #[new]
    fn new(
        scenario: &Scenario,
        engine: String,
        version: String,
        tables: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let scenario = scenario.resolved();
        store::results(scenario, engine, version, tables).map(Self::of)
    }

    /// The whole scenario.
    #[getter]
    fn scenario(&self) -> Scenario {
        Scenario::new(Arc::clone(&self.results.scenario))
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

    /// A table over time in steps of `step` seconds, a line for each value of the columns `by`: its name, the middle of each step (s),
    /// and for each wanted column one number a step. `wanted` names columns (the first with a value counts) and
    /// whether the step has their `mean`, `least` or `most`; `only` keeps the rows with these texts.
    #[pyo3(signature = (table, step, wanted, *, by=Vec::new(), only=Vec::new()))]
    fn steps(
        &self,
        table: &str,
        step: f64,
        wanted: Vec<(Vec<String>, String)>,
        by: Vec<String>,
        only: Vec<(String, String)>,
    ) -> PyResult<Vec<Stepped>> {
        let known = |(columns, of): (Vec<String>, String)| {
            let of = Of::named(&of).ok_or_else(|| PyValueError::new_err(of))?;
            Ok((columns, of))
        };
        let wanted = wanted.into_iter().map(known).collect::<PyResult<Vec<_>>>()?;
        let lines = steps(self.found(table)?, step, &by, &only, &wanted);
        let lines = lines.map_err(|e| PyValueError::new_err(e.to_string()))?;
        Ok(lines.into_iter().map(|line| (line.name, line.t, line.values)).collect())
    }

    /// Columns of a table, as lists of its rows; `only` keeps the rows with these texts.
    #[pyo3(signature = (table, columns, *, only=Vec::new()))]
    fn rows<'py>(
        &self,
        py: Python<'py>,
        table: &str,
        columns: Vec<String>,
        only: Vec<(String, String)>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let table = self.found(table)?;
        let rows = rows_with(table, &only).map_err(|e| PyValueError::new_err(e.to_string()))?;
        let column = |name: &String| {
            let found = table.columns().find(|(schema, ..)| schema.name == name);
            let missing = || format!("table {} has no column {name}", table.schema().name);
            let (_, column, _) = found.ok_or_else(|| PyValueError::new_err(missing()))?;
            match column {
                Column::F64(v) => {
                    rows.iter().map(|&r| v[r]).collect::<Vec<_>>().into_bound_py_any(py)
                }
                Column::U64(v) => {
                    rows.iter().map(|&r| v[r]).collect::<Vec<_>>().into_bound_py_any(py)
                }
                Column::Text(t) => {
                    rows.iter().map(|&r| t.get(r)).collect::<Vec<_>>().into_bound_py_any(py)
                }
            }
        };
        columns.iter().map(column).collect()
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
        let found = checks(&Frame::new(&self.results)).into_iter();
        found.map(|own| (own.name, own.said, own.passed, own.windows)).collect()
    }

    fn __repr__(&self) -> String {
        format!("<Run {}>", self.results.scenario.id())
    }
}

impl Run {
    /// These results.
    pub fn of(results: Results) -> Self {
        Self { results: Arc::new(results) }
    }

    /// The results.
    pub fn results(&self) -> &Results {
        &self.results
    }

    /// The table of this name.
    fn found(&self, name: &str) -> PyResult<&sojourn_results::Table> {
        let found = self.results.tables.iter().find(|own| own.schema().name == name);
        found.ok_or_else(|| PyValueError::new_err(format!("this run has no table {name}")))
    }

    /// What an expression names that this run does not have.
    fn unknown(&self, expression: &Expression) -> Vec<WordError> {
        expression.unknown_names(&names(&self.results.scenario).of())
    }
}

/// What the threads that run and the one that watches tell each other.
#[derive(Default)]
struct Shared {
    cancelled: AtomicBool,
    /// Nanoseconds simulated, by run, and of all runs together.
    simulated: Vec<AtomicU64>,
    together: AtomicU64,
    /// Where the packets of each run go; nowhere if there are none.
    captures: Vec<Capture>,
}

impl WatchMany for Shared {
    fn progress(&self, run: usize, simulated: Span) {
        let before = self.simulated[run].swap(simulated.as_nanos(), Ordering::Relaxed);
        self.together.fetch_add(simulated.as_nanos().saturating_sub(before), Ordering::Relaxed);
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
        Span::from_nanos(self.together.load(Ordering::Relaxed)).as_secs_f64()
    }
}

/// How often `on_progress` is called.
const LOOK: Duration = Duration::from_millis(80);

/// Results that a power cut may lose at most while others come without a pause.
const UNSYNCED: u32 = 256;

/// What came of a run.
enum Outcome {
    Made(Results),
    /// It is in the store.
    Stored,
    Failed(RunError),
    NotStored(SegmentError),
}

/// Where runs go and what their heads say.
struct Kept {
    segments: Arc<Segments>,
    version: String,
    about: About,
    /// By the run's place; all tables where there is none.
    keep: Vec<Keep>,
    /// By the run's place; 1 where there is none.
    repetitions: Vec<u32>,
    /// By the run's place.
    warnings: Vec<Vec<String>>,
}

impl Kept {
    /// Answers the usual questions and stores the run.
    fn store(&self, index: usize, run: &Results, identity: &str) -> Result<(), SegmentError> {
        let version = store::full_version(&self.version, identity);
        let warnings = self.warnings.get(index).cloned().unwrap_or_default();
        let keep = self.keep.get(index).copied().unwrap_or_default();
        let repetition = self.repetitions.get(index).copied().unwrap_or(1);
        let about = About { warnings, keep, repetition, ..self.about.clone() };
        let answers = Answers::of(run);
        self.segments.append(&stored(run, &version, &about, Some(&answers)))
    }
}

/// Runs every scenario on up to `threads` threads, the GIL released, with the plugins that they name.
///
/// `on_done(index, run)` gets each result, or the error of a run that failed, as soon as it is there, and
/// `on_progress(seconds)` the simulated seconds of all runs together, some ten times a second; both are called on the calling
/// thread. The first error of a callback, or an interrupt, ends the runs under way, hands out what had finished, and is raised.
///
/// With `store`, the threads answer the usual questions, append each run to it, and hand None to `on_done`; the
/// heads say `command` and the run's `warnings`, and tables are kept as the run's `keep` says. Every tenth of a second without a
/// result, and after every 256, results are handed to the disk.
///
/// `captures` are folders, one a scenario, for the runs' packets; `snap_len` bytes of each packet are kept.
#[pyfunction]
#[pyo3(signature = (scenarios, *, engine="sim", threads=1, on_done, on_progress=None, captures=Vec::new(), snap_len=SNAP_LEN, store=None, command=String::new(), warnings=Vec::new(), keep=Vec::new(), repetitions=Vec::new()))]
#[allow(clippy::too_many_arguments, reason = "keywords, as Python has them")]
#[allow(clippy::disallowed_methods, reason = "the progress is shown in real time")]
pub fn run_many(
    py: Python<'_>,
    scenarios: Vec<Scenario>,
    engine: &str,
    threads: usize,
    on_done: &Bound<'_, PyAny>,
    on_progress: Option<&Bound<'_, PyAny>>,
    captures: Vec<PathBuf>,
    snap_len: u32,
    store: Option<PyRef<'_, Store>>,
    command: String,
    warnings: Vec<Vec<String>>,
    keep: Vec<PyBackedStr>,
    repetitions: Vec<u32>,
) -> PyResult<()> {
    let kept = match &store {
        None => None,
        Some(store) => Some(Kept {
            segments: store.segments(),
            version: engines::version(py, engine)?,
            about: About { command, ..About::default() },
            keep: keep.iter().map(|word| store::keep(word)).collect::<PyResult<_>>()?,
            repetitions,
            warnings,
        }),
    };
    // Runs go by the name that the engine was asked for by: `linux:NAME` has several kernels, and all call themselves `linux`.
    let asked = engine.to_owned();
    let engine = engine_of(py, engine, Scenario::cells(&scenarios))?;
    let shared = Shared {
        simulated: scenarios.iter().map(|_| AtomicU64::new(0)).collect(),
        captures: captures.into_iter().map(|folder| Capture { folder, snap_len }).collect(),
        ..Shared::default()
    };
    // Bounded, so that results wait in the threads that made them rather than fill the memory.
    let (sender, receiver) = sync_channel(threads.max(1));
    // Only this thread listens; with the lock it can do so with the GIL released.
    let receiver = Mutex::new(receiver);
    std::thread::scope(|scope| {
        let (engine, shared, runs, kept) = (&*engine, &shared, &scenarios, &kept);
        let asked = &asked;
        scope.spawn(move || {
            run_many_on(engine, runs, threads, shared, &|index, result| {
                shared.progress(index, runs[index].of_cell().length());
                let named = result.map(|mut run| {
                    run.engine.name.clone_from(asked);
                    run
                });
                let outcome = match (named, kept) {
                    (Err(error), _) => Outcome::Failed(error),
                    (Ok(run), None) => Outcome::Made(run),
                    (Ok(run), Some(kept)) => {
                        match kept.store(index, &run, &engine.identity(&run.scenario)) {
                            Ok(()) => Outcome::Stored,
                            Err(error) => Outcome::NotStored(error),
                        }
                    }
                };
                // Nobody listens any more only after a cancellation.
                let _ = sender.send((index, outcome));
            });
        });
        let mut failure: Option<PyErr> = None;
        let mut unsynced = 0;
        let mut looked = Instant::now();
        loop {
            let next = py.detach(|| {
                let receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
                receiver.recv_timeout(LOOK)
            });
            let mut idle = false;
            let outcome = match next {
                Err(RecvTimeoutError::Timeout) => {
                    idle = true;
                    Ok(())
                }
                Ok((_, Outcome::Failed(RunError::Cancelled))) => Ok(()),
                Ok((index, Outcome::Failed(error))) => {
                    let error = run_error(py, error, &scenarios[index].label());
                    on_done.call1((index, error.into_value(py))).map(drop)
                }
                Ok((_, Outcome::NotStored(error))) => Err(store_error(py, &error)),
                Ok((index, Outcome::Stored)) => on_done.call1((index, py.None())).map(drop),
                Ok((index, Outcome::Made(results))) => {
                    on_done.call1((index, Run::of(results))).map(drop)
                }
                Err(RecvTimeoutError::Disconnected) => break,
            };
            unsynced += 1;
            let outcome = outcome.and_then(|()| match kept {
                Some(kept) if idle || unsynced >= UNSYNCED => {
                    unsynced = 0;
                    py.detach(|| kept.segments.sync()).map_err(|error| store_error(py, &error))
                }
                _ => Ok(()),
            });
            let outcome =
                outcome.and_then(|()| py.check_signals()).and_then(|()| match on_progress {
                    Some(call) if failure.is_none() && looked.elapsed() >= LOOK => {
                        looked = Instant::now();
                        call.call1((shared.seconds(),)).map(drop)
                    }
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
    scenarios: Vec<Scenario>,
    engine: &str,
    pcap: bool,
) -> PyResult<Vec<String>> {
    let cells = Scenario::cells(&scenarios);
    let engine = engine_of(py, engine, cells.iter().copied())?;
    let wanted = pcap.then(|| refuse_capture(&*engine)).flatten();
    let mut said: Vec<String> = wanted.iter().map(ToString::to_string).collect();
    let mut known = HashSet::new();
    for scenario in cells {
        for refusal in engine.refuse(scenario) {
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
#[derive(Clone)]
pub struct Foreseen {
    /// Packets that carry data or are a probe's.
    packets: f64,
    /// Rows of its tables.
    rows: f64,
    /// How long it keeps a core busy, s.
    cpu_s: f64,
    /// Bytes of memory for packets, for flows, and for rows.
    memory: (f64, f64, f64),
    /// Bytes that a results folder keeps of it: of a summary, of series, of all.
    disk_bytes: (f64, f64, f64),
}

/// About what each run will need of this engine; None for an engine that cannot say.
#[pyfunction]
#[pyo3(signature = (scenarios, *, engine="sim"))]
pub fn foresee(
    py: Python<'_>,
    scenarios: Vec<Scenario>,
    engine: &str,
) -> PyResult<Vec<Option<Foreseen>>> {
    let engine = engine_of(py, engine, Scenario::cells(&scenarios))?;
    Ok(py.detach(|| {
        let about = Scenario::by_cell(&scenarios).flat_map(|runs| {
            let own = engine.foresee(runs[0].of_cell()).map(|own| Foreseen {
                packets: own.packets,
                rows: own.rows,
                cpu_s: own.cpu_s,
                memory: (own.memory.packets, own.memory.flows, own.memory.rows),
                disk_bytes: (own.disk.summary, own.disk.series, own.disk.all),
            });
            runs.iter().map(move |_| own.clone())
        });
        about.collect()
    }))
}

/// What decides a run of each scenario besides the scenario: the version, and what else the engine names.
#[pyfunction]
#[pyo3(signature = (scenarios, *, engine="sim"))]
pub fn identities(py: Python<'_>, scenarios: Vec<Scenario>, engine: &str) -> PyResult<Vec<String>> {
    let (version, engine) = (engines::version(py, engine)?, engines::engine(py, engine)?);
    let full = |scenario: &_| store::full_version(&version, &engine.identity(scenario));
    // The plans of kernels have the seed.
    let by_seed = engine.facts().kernels;
    let own = Scenario::by_cell(&scenarios).flat_map(|runs| {
        let shared = (!by_seed).then(|| full(runs[0].of_cell()));
        runs.iter().map(move |own| shared.clone().unwrap_or_else(|| full(&own.resolved())))
    });
    Ok(own.collect())
}
