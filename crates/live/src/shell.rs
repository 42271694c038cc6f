//! A program of the user's between two hosts: `sojourn shell`.
//!
//! The command runs on the client, servers run on the server. The run ends when the command does. Its scenario has the path
//! that was asked for, and the flows that were found ([`crate::found`]).

use crate::clock::Clock;
use crate::found::Flows;
use crate::lab::{HelperCommand, Lab};
use crate::netlink::Sockets;
use crate::packet::Packet;
use crate::protocol::{Failure, Host, Plan};
use crate::relay::{self, Outcome, Seen, Setting, Traffic, Wish};
use crate::session::{Session, Window};
use crate::validity::Validity;
use sojourn_capture::Capture;
use sojourn_engine::{RunError, Watch};
use sojourn_model::Scenario;
use sojourn_path::{Elements, Topology};
use sojourn_qdisc::Registry;
use sojourn_record::Recorder;
use sojourn_results::Run;
use sojourn_units::Time;
use sojourn_wire::Frame;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::PathBuf;
use std::sync::Arc;

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
    let (flows, scenario) = Flows::new(&shell.scenario);
    let (session, door) = Session::new(&scenario, flows, shell.door.as_deref(), window)?;
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
        super_packets: offload,
        spin: shell.spin,
        capture: shell.capture.clone(),
        clock: Clock::start(),
    };
    let command = lab.start(Host::Client, &shell.command, None)?;
    let mut traffic =
        Programs { session, lab, command, servers, status: None, sockets: ends.sockets };
    let outcome = relay::run(&setting, &mut traffic, watch);
    drop(door);
    let Outcome { tables, length, validity } = outcome?;
    let run = traffic.session.run(length, tables);
    let status = traffic.status;
    Ok(Ended { run, status, validity, lacking: ends.lacking })
}

/// Programs on both hosts.
struct Programs<'a> {
    session: Session<'a>,
    lab: Lab,
    command: u32,
    servers: Vec<u32>,
    /// The command's, once it has ended.
    status: Option<i32>,
    sockets: [Sockets; 2],
}

impl Traffic for Programs<'_> {
    fn flow_of(&mut self, now: Time, frame: &Frame, to: Host) -> Option<u32> {
        Some(self.session.flows.of(now, frame, to))
    }

    fn delivered(&mut self, _: Time, packet: &Packet) {
        self.session.flows.delivered(packet);
    }

    fn wakes(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.lab.as_fd(), self.session.as_fd()]
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
        wishes.extend(self.session.wishes());
        Ok(wishes)
    }

    fn sample(&mut self, now: Time, _: &mut Recorder, topology: &Topology<Packet>) {
        self.session.flows.sample(now, Some(&self.sockets), topology);
    }

    fn status(&mut self, now: Time, of: &Seen<'_>) {
        self.session.show(now, of);
    }

    fn finish(&mut self, end: Time, recorder: &mut Recorder, topology: &Topology<Packet>) {
        self.session.flows.sample(end, Some(&self.sockets), topology);
        self.session.flows.finish(end, recorder, topology);
    }
}

/// The status that a shell gives: 128 and the signal's number for a program that a signal has ended.
const fn as_of_a_shell(status: i32) -> i32 {
    if status < 0 { 128 - status } else { status }
}
