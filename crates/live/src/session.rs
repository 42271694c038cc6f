//! The parts that a shell and a router share: flows that nobody announces, the control socket, the status.

use crate::control::{self, Door, Inbox};
use crate::found::Flows;
use crate::observe::quantile;
use crate::protocol::{Failure, Host};
use crate::relay::{self, Seen, Wish};
use serde::Serialize;
use sojourn_model::{Action, Scenario};
use sojourn_record::ports;
use sojourn_results::{EngineId, Run, Table};
use sojourn_units::{Span, Time};
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A way to look at a shell or a router while it runs, and to end it with its results, for other threads.
#[derive(Clone, Default, Debug)]
pub struct Window {
    status: Arc<Mutex<String>>,
    is_over: Arc<AtomicBool>,
}

impl Window {
    /// The newest status, as JSON; empty before the first.
    pub fn status(&self) -> String {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the run as if it had come to its length, within some 20 ms.
    pub fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// What came out of each queue at the last status, for rates.
#[derive(Default)]
struct RateNow {
    at: Time,
    bytes: Vec<u64>,
}

/// A run with flows that are found by their packets.
pub(crate) struct Session<'a> {
    scenario: &'a Scenario,
    pub(crate) flows: Flows,
    inbox: Inbox,
    window: &'a Window,
    rates: RateNow,
}

impl<'a> Session<'a> {
    /// A session, and its control socket if one is wanted, which goes with the second.
    pub(crate) fn new(
        scenario: &'a Scenario,
        flows: Flows,
        door: Option<&Path>,
        window: &'a Window,
    ) -> Result<(Self, Option<Door>), Failure> {
        let (outlet, inbox) = control::pair().map_err(|why| Failure::of("an eventfd", why))?;
        let door = door.map(|path| {
            Door::open(path, outlet, Arc::clone(&window.status))
                .map_err(|why| Failure::of(format!("the control socket {}", path.display()), why))
        });
        let session = Self { scenario, flows, inbox, window, rates: RateNow::default() };
        Ok((session, door.transpose()?))
    }

    /// Becomes readable when a request has come.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.inbox.as_fd()
    }

    /// What was asked for since the last call.
    pub(crate) fn wishes(&self) -> Vec<Wish> {
        let mut wishes = Vec::new();
        for request in self.inbox.take() {
            match control::actions(&request.words, self.scenario) {
                // Nobody may be there any more to hear it.
                Err(why) => drop(request.answer.send(Err(why))),
                Ok(actions) => wishes.extend(changes(actions, &request.answer)),
            }
        }
        if self.window.is_over.load(Ordering::Relaxed) {
            wishes.push(Wish::End);
        }
        wishes
    }

    /// Shows how it is now.
    pub(crate) fn show(&mut self, now: Time, of: &Seen<'_>) {
        let status = status(now, of, &self.flows, &mut self.rates);
        if let Ok(text) = serde_json::to_string(&status) {
            *self.window.status.lock().unwrap_or_else(PoisonError::into_inner) = text;
        }
    }

    /// The results, with the flows that were found.
    pub(crate) fn run(&self, length: Span, tables: Vec<Table>) -> Run {
        let engine = EngineId {
            name: crate::NAME.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            detail: crate::machine(),
        };
        let scenario = Arc::new(self.flows.scenario(self.scenario, length));
        Run { scenario, engine, tables, unrecorded: Vec::new() }
    }
}

/// The changes of one request. The first that fails answers it; otherwise the last does.
fn changes(
    actions: Vec<Action>,
    answer: &std::sync::mpsc::Sender<Result<(), String>>,
) -> impl Iterator<Item = Wish> {
    let last = actions.len().saturating_sub(1);
    actions.into_iter().enumerate().map(move |(number, action)| {
        let answer = answer.clone();
        let tell = move |outcome: Result<(), String>| {
            if number == last || outcome.is_err() {
                // Nobody may be there any more to hear it.
                let _ = answer.send(outcome);
            }
        };
        Wish::Change(action, Box::new(tell))
    })
}

/// A session as it is now.
#[derive(Serialize)]
struct Status {
    /// Since it began.
    seconds: f64,
    queues: Vec<QueueStatus>,
    flows: Vec<FlowStatus>,
    /// Of packets so far.
    lateness_p99_s: Option<f64>,
}

#[derive(Serialize)]
struct QueueStatus {
    name: String,
    /// That left since the last status.
    rate_bps: f64,
    packets: u32,
    bytes: u64,
    /// Of packets since the last status.
    sojourn_p50_s: Option<f64>,
    sojourn_p99_s: Option<f64>,
    marks: u64,
    drops: u64,
}

#[derive(Serialize)]
struct FlowStatus {
    name: String,
    words: String,
    /// Payload so far, to the client and to the server.
    down_bytes: u64,
    up_bytes: u64,
    marks: u64,
    drops: u64,
    /// Since its last packet.
    silent_s: f64,
}

fn status(now: Time, of: &Seen<'_>, flows: &Flows, before: &mut RateNow) -> Status {
    let seconds = |share, d| quantile(d, share).map(Span::as_secs_f64);
    let elapsed = now.since(before.at).as_secs_f64().max(1e-3);
    before.bytes.resize(of.topology.nodes.len(), 0);
    before.at = now;
    let mut queues = Vec::new();
    for ((node, recent), before) in of.topology.nodes.iter().zip(of.recent).zip(&mut before.bytes) {
        let Some(element) = ports::queue_of(node) else { continue };
        let (stats, held) = (node.port.stats(), node.port.backlog());
        let sent = stats.left_bytes - core::mem::replace(before, stats.left_bytes);
        queues.push(QueueStatus {
            name: element.to_owned(),
            rate_bps: sent as f64 * 8.0 / elapsed,
            packets: held.packets,
            bytes: held.bytes,
            sojourn_p50_s: seconds(0.5, recent),
            sojourn_p99_s: seconds(0.99, recent),
            marks: stats.all_marks(),
            drops: stats.all_drops(),
        });
    }
    let flows =
        flows.status(|flow| relay::dropped(of.topology, flow)).into_iter().map(|flow| FlowStatus {
            name: flow.name.to_owned(),
            words: flow.words,
            down_bytes: flow.payload[Host::Client.index()],
            up_bytes: flow.payload[Host::Server.index()],
            marks: flow.ce,
            drops: flow.dropped,
            silent_s: now.since(flow.last.min(now)).as_secs_f64(),
        });
    Status {
        seconds: now.as_secs_f64(),
        queues,
        flows: flows.collect(),
        lateness_p99_s: seconds(0.99, of.lateness),
    }
}
