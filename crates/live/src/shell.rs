//! A program of the user's between two hosts: `sojourn shell`.
//!
//! The command runs on the client, servers run on the server. The run ends when the command does. Its scenario has the path
//! that was asked for, and the flows that were found ([`crate::found`]).

use crate::clock::Clock;
use crate::control::{self, Door, Inbox, Outlet};
use crate::found::Flows;
use crate::lab::{HelperCommand, Lab};
use crate::netlink::Sockets;
use crate::observe::quantile;
use crate::packet::Packet;
use crate::protocol::{Failure, Host, Plan};
use crate::relay::{self, Outcome, Seen, Setting, Traffic, Wish};
use crate::validity::Validity;
use serde::Serialize;
use sojourn_capture::Capture;
use sojourn_engine::{RunError, Watch};
use sojourn_model::{Action, Scenario};
use sojourn_path::{Elements, Topology};
use sojourn_qdisc::Registry;
use sojourn_record::{Recorder, ports};
use sojourn_results::{EngineId, Run};
use sojourn_units::{Span, Time};
use sojourn_wire::Frame;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// A request for a shell.
#[derive(Clone, Debug)]
pub struct Shell {
    /// How the helper is started.
    pub helper: HelperCommand,
    /// The path; its flows give way to those that are found.
    pub scenario: Scenario,
    /// The program on the client, with its arguments.
    pub command: Vec<OsString>,
    /// The programs on the server.
    pub servers: Vec<Vec<OsString>>,
    /// Where the servers' output goes; to this process's own unless there is a file.
    pub server_output: Option<Arc<File>>,
    /// What programs see as `/etc/hosts`; the machine's if none.
    pub hosts: Option<String>,
    /// The congestion control of the programs' connections, on both hosts; the host's default if none.
    pub control: Option<String>,
    /// Whether the programs' connections ask for ECN.
    pub ecn: bool,
    /// Whether hosts hand super-packets over; if none, they do above 200 Mbit/s.
    pub offload: Option<bool>,
    /// Whether the relay never sleeps.
    pub spin: bool,
    /// Whether the server's place is the machine's network, by `pasta`. Servers are then in vain.
    pub internet: bool,
    /// Where packets go, if they are wanted.
    pub capture: Option<Capture>,
    /// Where the control socket is to be, if one is wanted.
    pub door: Option<PathBuf>,
}

/// A shell that is over.
#[derive(Debug)]
pub struct Ended {
    /// The results.
    pub run: Run,
    /// The command's status, as a shell gives it; none if it ran longer than the run.
    pub status: Option<i32>,
    /// What the machine did to the run.
    pub validity: Validity,
    /// Optional parts that could not be set up.
    pub lacking: Vec<String>,
}

/// A way to look at a shell while it runs, for other threads.
#[derive(Clone, Default, Debug)]
pub struct Window(Arc<Mutex<String>>);

impl Window {
    /// The newest status, as JSON; empty before the first.
    pub fn status(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Why a shell cannot be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ShellError {
    /// The namespaces or a program could not be set up.
    #[error(transparent)]
    SetUp(#[from] Failure),
    /// The run failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Runs it. `watch` may end it; `window` shows it.
///
/// # Errors
/// What could not be set up; what ended the run before the command did.
pub fn shell(shell: &Shell, watch: &dyn Watch, window: &Window) -> Result<Ended, ShellError> {
    let offload = shell.offload.unwrap_or_else(|| crate::engine::is_fast(&shell.scenario));
    let plan = Plan {
        control: shell.control.clone(),
        ecn: shell.ecn,
        offload,
        hosts: shell.hosts.clone(),
        outside: shell.internet,
    };
    let (mut lab, mut ends) = Lab::open(&shell.helper, plan)?;
    // It ends with this call.
    let outside = if shell.internet { Some(lab.outside()?) } else { None };
    let _outside = outside.map(|(outside, link)| {
        ends.links[Host::Server.index()] = link;
        outside
    });
    let mut servers = Vec::new();
    for words in &shell.servers {
        let output = shell.server_output.as_ref().map(|file| file.as_fd());
        servers.push(lab.start(Host::Server, words, output)?);
    }
    let (outlet, inbox) = control::pair().map_err(|why| Failure::of("an eventfd", why))?;
    let door = match &shell.door {
        None => None,
        Some(path) => Some(open_door(path, outlet, window)?),
    };
    let (flows, scenario) = Flows::new(&shell.scenario);
    let registry = Registry::built_in();
    let elements = Elements::built_in();
    let setting = Setting {
        scenario: &scenario,
        carried: &scenario,
        queues: &[],
        registry: &registry,
        elements: &elements,
        links: vec![ends.links],
        pair_of: Vec::new(),
        offload,
        spin: shell.spin,
        capture: shell.capture.clone(),
        clock: Clock::start(),
    };
    let command = lab.start(Host::Client, &shell.command, None)?;
    let mut traffic = Programs {
        scenario: &scenario,
        lab,
        command,
        servers,
        status: None,
        sockets: ends.sockets,
        flows,
        inbox,
        window,
        rates: RateNow::default(),
    };
    let outcome = relay::run(&setting, &mut traffic, watch);
    drop(door);
    let Outcome { tables, length, validity } = outcome?;
    let scenario = Arc::new(traffic.flows.scenario(&scenario, length));
    let engine = EngineId {
        name: crate::NAME.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        detail: crate::machine(),
    };
    let run = Run { scenario, engine, tables, unrecorded: Vec::new() };
    let status = traffic.status;
    Ok(Ended { run, status, validity, lacking: ends.lacking })
}

fn open_door(path: &std::path::Path, outlet: Outlet, window: &Window) -> Result<Door, Failure> {
    Door::open(path, outlet, Arc::clone(&window.0))
        .map_err(|why| Failure::of(format!("the control socket {}", path.display()), why))
}

/// What came out of each queue at the last status, for rates.
#[derive(Default)]
struct RateNow {
    at: Time,
    bytes: Vec<u64>,
}

/// Programs on both hosts.
struct Programs<'a> {
    scenario: &'a Scenario,
    lab: Lab,
    command: u32,
    servers: Vec<u32>,
    /// The command's, once it has ended.
    status: Option<i32>,
    sockets: [Sockets; 2],
    flows: Flows,
    inbox: Inbox,
    window: &'a Window,
    rates: RateNow,
}

impl Traffic for Programs<'_> {
    fn flow_of(&mut self, now: Time, frame: &Frame, to: Host) -> Option<u32> {
        Some(self.flows.of(now, frame, to))
    }

    fn delivered(&mut self, _: Time, packet: &Packet) {
        self.flows.delivered(packet);
    }

    fn wakes(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.lab.as_fd(), self.inbox.as_fd()]
    }

    fn act(&mut self, now: Time, recorder: &mut Recorder) -> Result<Vec<Wish>, RunError> {
        let mut wishes = Vec::new();
        let gone = |why: Failure| RunError::Environment {
            why: why.to_string(),
            help: "the namespaces are gone with the helper; run it again".to_owned(),
        };
        while let Some((program, status)) = self.lab.exited().map_err(gone)? {
            let status = as_of_a_shell(status);
            if program == self.command {
                self.status = Some(status);
                recorder.event(now, "end", "command", &format!("status {status}"));
                wishes.push(Wish::End);
            } else if self.servers.contains(&program) {
                recorder.event(now, "end", "server", &format!("status {status}"));
            }
        }
        for request in self.inbox.take() {
            match control::actions(&request.words, self.scenario) {
                // Nobody may be there any more to hear it.
                Err(why) => drop(request.answer.send(Err(why))),
                Ok(actions) => wishes.extend(changes(actions, &request.answer)),
            }
        }
        Ok(wishes)
    }

    fn sample(&mut self, now: Time, _: &mut Recorder, topology: &Topology<Packet>) {
        self.flows.sample(now, &self.sockets, topology);
    }

    fn number(&self, _: &str, _: &str) -> Option<f64> {
        None
    }

    fn switch(&mut self, _: Time, _: &str, _: bool, _: &mut Recorder) {}

    fn status(&mut self, now: Time, of: &Seen<'_>) {
        let status = status(now, of, &self.flows, &mut self.rates);
        if let Ok(text) = serde_json::to_string(&status) {
            *self.window.0.lock().unwrap_or_else(PoisonError::into_inner) = text;
        }
    }

    fn finish(&mut self, end: Time, recorder: &mut Recorder, topology: &Topology<Packet>) {
        self.flows.sample(end, &self.sockets, topology);
        self.flows.finish(end, recorder, topology);
    }
}

/// The status that a shell gives: 128 and the signal's number for a program that a signal has ended.
const fn as_of_a_shell(status: i32) -> i32 {
    if status < 0 { 128 - status } else { status }
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

/// A shell as it is now.
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
