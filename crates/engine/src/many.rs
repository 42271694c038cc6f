//! Many independent runs on several threads.

use super::contract::{Engine, Fault, RunError, Watch};
use core::num::NonZero;
use sojourn_capture::Capture;
use sojourn_model::{Feature, Place, Scenario, Unsupported};
use sojourn_results::Run;
use sojourn_units::Span;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Whoever watches many runs.
pub trait WatchMany: Sync {
    /// So much of the length of run number `run` is done.
    fn progress(&self, _run: usize, _simulated: Span) {}

    /// Whether to give up: runs under way end soon, those not yet begun do not begin.
    fn cancelled(&self) -> bool {
        false
    }

    /// Where the packets of run number `run` are to be written, if they are wanted.
    fn capture(&self, _run: usize) -> Option<Capture> {
        None
    }
}

/// Nobody watches.
impl WatchMany for () {}

/// The view of one of the runs.
struct One<'a> {
    many: &'a dyn WatchMany,
    run: usize,
}

impl Watch for One<'_> {
    fn progress(&self, simulated: Span) {
        self.many.progress(self.run, simulated);
    }

    fn cancelled(&self) -> bool {
        self.many.cancelled()
    }

    fn capture(&self) -> Option<Capture> {
        self.many.capture(self.run)
    }
}

/// Runs every scenario, each by itself, on up to `threads` threads (at least one, and no more than the
/// engine allows, [`Facts::at_once`](crate::Facts::at_once)), and hands each result to
/// `on_done` with its scenario's number as soon as it is there: the order of the calls depends on the threads, the
/// results do not. Scenarios that are shared (`Arc`) are not copied. `on_done` is called once for each scenario, on the thread that ran it.
///
/// A scenario that does not hold together, is refused, is cancelled or makes the engine panic gives an error
/// and leaves the others alone.
pub fn run_many<E: Engine + ?Sized, S: Clone + Into<Arc<Scenario>> + Sync>(
    engine: &E,
    scenarios: &[S],
    threads: usize,
    watch: &dyn WatchMany,
    on_done: &(dyn Fn(usize, Result<Run, RunError>) + Sync),
) {
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let run = next.fetch_add(1, Ordering::Relaxed);
            let Some(scenario) = scenarios.get(run) else { return };
            on_done(run, run_one(engine, &scenario.clone().into(), &One { many: watch, run }));
        }
    };
    let most = engine.facts().at_once.map_or(usize::MAX, NonZero::get);
    let threads = threads.min(most).clamp(1, scenarios.len().max(1));
    if threads == 1 {
        return work();
    }
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
}

fn run_one<E: Engine + ?Sized>(
    engine: &E,
    scenario: &Arc<Scenario>,
    watch: &dyn Watch,
) -> Result<Run, RunError> {
    if watch.cancelled() {
        return Err(RunError::Cancelled);
    }
    scenario.check()?;
    let run = AssertUnwindSafe(|| {
        let mut refusals = engine.refuse(scenario);
        if watch.capture().is_some() {
            refusals.extend(refuse_capture(engine));
        }
        if refusals.is_empty() {
            engine.run(scenario, watch)
        } else {
            Err(RunError::Refused(refusals))
        }
    });
    catch_unwind(run).unwrap_or_else(|panic| {
        Err(match panic.downcast::<Fault>() {
            Ok(fault) => (*fault).into(),
            Err(panic) => RunError::Panicked(message(&*panic)),
        })
    })
}

/// The refusal of an engine without captures when some are asked for.
pub fn refuse_capture<E: Engine + ?Sized>(engine: &E) -> Option<Unsupported> {
    let can = engine.capabilities().has(&Feature::Capture);
    (!can).then(|| Unsupported {
        what: Feature::Capture,
        place: Place::Command,
        why: format!("the engine {} does not have it", engine.name()),
        help: "leave --pcap out".to_owned(),
    })
}

fn message(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|s| (*s).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "without a message".to_owned())
}

#[cfg(test)]
mod tests;
