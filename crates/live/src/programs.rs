//! Programs of the machine as the flows of an experiment: a thread starts them, reads what they write, and ends them.
//!
//! Each flow's server and client have namespaces of their own. The server starts at the flow's start, the client when the server
//! is ready. The flow ends with the client, or when it is stopped: then both are asked to end, and a second later killed.
//!
//! Invariants: the thread alone speaks to the helper, so no answer of its keeps the relay waiting; the namespaces go when the thread
//! ends, with everything in them.

use crate::clock::Clock;
use crate::lab::Lab;
use crate::protocol::{Failure, Host, Program as Started};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use rustix::time::Timespec;
use sojourn_engine::RunError;
use sojourn_engine::programs::{self as of_machine, EXPECTED, End, LAST_LINES, MOST_OUTPUT};
use sojourn_model::{Flow, Program, Ready, Scenario, Start, Traffic};
use sojourn_units::{Span, Time};
use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The most flows of programs in a run.
pub(crate) const MOST_PROGRAMS: usize = 16;
/// How long a server may take until it is ready.
const PATIENCE: Span = Span::from_secs(60);
/// How long programs that were asked to end may take for it.
const LAST_WORDS: Span = Span::from_secs(1);
/// The thread wakes at least this often, and in a run without programs.
const LOOK: Duration = Duration::from_millis(20);
const IDLE: Duration = Duration::from_secs(10);
/// Bytes of a line from which on it is broken.
const LONGEST_LINE: usize = 4095;

/// What the thread saw.
pub(crate) enum Report {
    /// A client was started.
    Started(usize, Time),
    /// A flow is over: how, and whether its client ended by itself.
    Ended(usize, Time, String, bool),
    /// A program wrote a line.
    Output(usize, End, Time, String),
    /// The run cannot go on.
    Failed(RunError),
}

/// What the thread is to do.
enum Command {
    Start(usize),
    Stop(usize),
    Finish,
}

/// The programs of a run.
pub(crate) struct Programs {
    commands: Sender<Command>,
    orders: Arc<OwnedFd>,
    saw: Receiver<Report>,
    thread: Option<JoinHandle<()>>,
}

/// The other name of a host.
const fn host_of(end: End) -> Host {
    match end {
        End::Server => Host::Server,
        End::Client => Host::Client,
    }
}

impl Programs {
    /// The flows of programs of a scenario, the first between the first pair of hosts that was added to the lab. `news` becomes readable
    /// when the thread saw something.
    pub(crate) fn new(
        scenario: &Scenario,
        lab: Lab,
        clock: Clock,
        news: Arc<OwnedFd>,
    ) -> Result<Self, Failure> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let orders = eventfd(0, flags).map_err(|why| Failure::of("an eventfd", why))?;
        let orders = Arc::new(orders);
        let (sees, saw) = channel();
        let (commands, inbox) = channel();
        let reads: Vec<_> = of_machine::reads(scenario).into_iter().collect();
        let flows = scenario.flows.iter().enumerate();
        let runs = flows.filter_map(|(number, flow)| Run::new(scenario, number, flow));
        let runs: Vec<Run> = (1..).zip(runs).map(|(pair, run)| Run { pair, ..run }).collect();
        let seen = Arc::clone(&orders);
        let mut thread = Thread { clock, lab, runs, reads, sees, news, inbox, orders: seen };
        let thread = std::thread::Builder::new()
            .name("programs".to_owned())
            .spawn(move || {
                if let Err(why) = thread.run() {
                    thread.report(Report::Failed(why));
                }
            })
            .map_err(|why| Failure::of("a thread", why))?;
        Ok(Self { commands, orders, saw, thread: Some(thread) })
    }

    /// Starts or stops a flow.
    pub(crate) fn switch(&self, flow: usize, start: bool) {
        self.send(if start { Command::Start(flow) } else { Command::Stop(flow) });
    }

    /// The next thing that the thread saw.
    pub(crate) fn report(&self) -> Option<Report> {
        self.saw.try_recv().ok()
    }

    /// The run is over: everything is killed, and the last reports are there.
    pub(crate) fn finish(&mut self) {
        self.send(Command::Finish);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    fn send(&self, command: Command) {
        // The thread may have failed, which it reports.
        let _ = self.commands.send(command);
        let _ = rustix::io::write(&*self.orders, &1_u64.to_ne_bytes());
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Where a flow is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Waiting,
    /// Its server runs and is not ready.
    Preparing,
    Running,
    /// Its programs were asked to end.
    Ending,
    Ended,
}

/// A program that was started.
struct Child {
    number: u32,
    output: Option<OwnedFd>,
    line: Vec<u8>,
    line_at: Time,
    written: u64,
    last: VecDeque<String>,
    is_gone: bool,
}

/// A flow in the thread.
struct Run {
    number: usize,
    pair: usize,
    name: String,
    ip: sojourn_model::Ip,
    program: Program,
    state: State,
    start: Time,
    stop: Time,
    /// When the server was started, then when the client was.
    began: Time,
    /// When it has something to do by the clock, while it runs.
    next: Time,
    /// Whether the server has written what makes it ready.
    is_announced: bool,
    /// Server and client.
    children: [Option<Child>; 2],
}

impl Run {
    fn new(scenario: &Scenario, number: usize, flow: &Flow) -> Option<Self> {
        let Traffic::Program(program) = &flow.traffic else { return None };
        let start = match flow.start {
            Start::At(at) => scenario.clock(at),
            Start::Event => Time::NEVER,
        };
        Some(Self {
            number,
            pair: 0,
            name: flow.name.clone(),
            ip: flow.ip,
            program: program.clone(),
            state: State::Waiting,
            start,
            stop: flow.stop.map_or(Time::NEVER, |at| scenario.clock(at)),
            began: Time::ZERO,
            next: Time::NEVER,
            is_announced: false,
            children: [None, None],
        })
    }

    fn due(&self) -> Time {
        match self.state {
            State::Waiting => self.start.min(self.stop),
            State::Preparing | State::Running => self.next.min(self.stop),
            State::Ending => self.next,
            State::Ended => Time::NEVER,
        }
    }

    /// An error of a program of this flow.
    fn fault(&self, end: End, what: &str) -> RunError {
        let child = self.children[host_of(end).index()].as_ref();
        let last: Vec<&str> =
            child.into_iter().flat_map(|child| &child.last).map(String::as_str).collect();
        let why = of_machine::fault(&self.name, end, what, &last);
        RunError::Environment { why, help: EXPECTED.to_owned() }
    }
}

/// The thread that has the programs.
struct Thread {
    clock: Clock,
    lab: Lab,
    runs: Vec<Run>,
    reads: Vec<std::path::PathBuf>,
    sees: Sender<Report>,
    news: Arc<OwnedFd>,
    inbox: Receiver<Command>,
    orders: Arc<OwnedFd>,
}

/// What the helper could not do.
fn failed(failure: &Failure) -> RunError {
    RunError::Environment { why: failure.to_string(), help: crate::advice::help(failure) }
}

impl Thread {
    fn report(&self, report: Report) {
        // The run may be over.
        let _ = self.sees.send(report);
        let _ = rustix::io::write(&*self.news, &1_u64.to_ne_bytes());
    }

    fn run(&mut self) -> Result<(), RunError> {
        loop {
            self.wait().map_err(|why| RunError::Failed(format!("the programs: {why}")))?;
            while let Ok(command) = self.inbox.try_recv() {
                let place = |number: usize| self.runs.iter().position(|run| run.number == number);
                match command {
                    Command::Start(number) => {
                        place(number).map_or(Ok(()), |place| self.begin(place))?;
                    }
                    Command::Stop(number) => {
                        place(number).map_or(Ok(()), |place| self.stop(place, "stopped"))?;
                    }
                    Command::Finish => return self.finish(),
                }
            }
            for place in 0..self.runs.len() {
                self.read(place)?;
            }
            while let Some((number, status)) = self.lab.exited().map_err(|why| failed(&why))? {
                self.gone(number, status)?;
            }
            for place in 0..self.runs.len() {
                if self.runs[place].due() <= self.clock.now() {
                    self.tick(place)?;
                }
            }
        }
    }

    /// Waits until something is due or comes.
    fn wait(&self) -> Result<(), Errno> {
        let due = self.runs.iter().map(Run::due).min().unwrap_or(Time::NEVER);
        let most = if self.runs.is_empty() { IDLE } else { LOOK };
        let nap = Duration::from_nanos(due.since(self.clock.now()).as_nanos()).min(most);
        let children = self.runs.iter().flat_map(|run| run.children.iter().flatten());
        let outputs = children.filter_map(|child| Some(child.output.as_ref()?.as_fd()));
        let all = [self.orders.as_fd(), self.lab.as_fd()].into_iter().chain(outputs);
        let mut fds: Vec<PollFd<'_>> =
            all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        match poll(&mut fds, Timespec::try_from(nap).ok().as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(why) => return Err(why),
        }
        if !fds[0].revents().is_empty() {
            let _ = rustix::io::read(&*self.orders, &mut [0; 8]);
        }
        Ok(())
    }

    /// Does what is due by the clock.
    fn tick(&mut self, place: usize) -> Result<(), RunError> {
        let now = self.clock.now();
        let run = &self.runs[place];
        match run.state {
            _ if now >= run.stop && !matches!(run.state, State::Ending | State::Ended) => {
                self.stop(place, "stopped")
            }
            State::Waiting => self.begin(place),
            State::Preparing => self.look(place),
            State::Running => {
                let within = run.program.within.unwrap_or(Span::ZERO).as_secs_f64();
                let what = format!("still ran after the {within} s that it was given");
                Err(run.fault(End::Client, &what))
            }
            State::Ending => {
                let run = &mut self.runs[place];
                run.state = State::Ended;
                self.lab.end(run.pair, true).map_err(|why| failed(&why))
            }
            State::Ended => Ok(()),
        }
    }

    fn begin(&mut self, place: usize) -> Result<(), RunError> {
        let run = &mut self.runs[place];
        if run.state != State::Waiting {
            return Ok(());
        }
        if run.program.server.is_empty() {
            return self.start(place, End::Client);
        }
        run.state = State::Preparing;
        self.start(place, End::Server)?;
        let run = &mut self.runs[place];
        run.began = self.clock.now();
        run.next = run.began;
        Ok(())
    }

    /// Starts a program.
    fn start(&mut self, place: usize, end: End) -> Result<(), RunError> {
        let run = &mut self.runs[place];
        let Some(words) = of_machine::words(&run.program, end) else { return Ok(()) };
        let variables = of_machine::variables(run.number, run.ip, &run.program);
        // Programs run as the user, who has a name of their own.
        let variables = variables.into_iter().filter(|v| !v.starts_with("USER=")).collect();
        let started = Started {
            words,
            variables,
            files: run.program.files.clone(),
            hosts: of_machine::hosts(run.number, run.ip),
            reads: self.reads.clone(),
        };
        let (ours, theirs) = pipe().map_err(|why| failed(&Failure::of("a pipe", why)))?;
        let number = self
            .lab
            .program(run.pair, host_of(end), &started, theirs.as_fd())
            .map_err(|why| failed(&why))?;
        run.children[host_of(end).index()] = Some(Child {
            number,
            output: Some(ours),
            line: Vec::new(),
            line_at: Time::ZERO,
            written: 0,
            last: VecDeque::new(),
            is_gone: false,
        });
        if end == End::Client {
            let now = self.clock.now();
            run.state = State::Running;
            run.began = now;
            run.next = run.program.within.map_or(Time::NEVER, |within| now + within);
            let number = run.number;
            self.report(Report::Started(number, now));
        }
        Ok(())
    }

    /// Starts the client if the server is ready.
    fn look(&mut self, place: usize) -> Result<(), RunError> {
        let now = self.clock.now();
        let run = &self.runs[place];
        let waited = now.since(run.began);
        let is_ready = match &run.program.ready {
            Ready::Output(_) => run.is_announced,
            Ready::After(span) => waited >= *span,
            Ready::Port(port) => {
                self.lab.listens(run.pair, Some(*port)).map_err(|why| failed(&why))?
            }
            Ready::Listens => self.lab.listens(run.pair, None).map_err(|why| failed(&why))?,
        };
        if is_ready {
            return self.start(place, End::Client);
        }
        let run = &mut self.runs[place];
        if waited >= PATIENCE {
            let what = format!("was not ready after {} s", PATIENCE.as_secs_f64());
            return Err(run.fault(End::Server, &what));
        }
        run.next = now + (waited / 16).max(Span::from_millis(1));
        if let Ready::After(span) = run.program.ready {
            run.next = run.began + span;
        }
        Ok(())
    }

    /// A flow is to end before its client does.
    fn stop(&mut self, place: usize, how: &str) -> Result<(), RunError> {
        let run = &self.runs[place];
        match run.state {
            State::Waiting => self.end(place, "stopped before it started", false),
            State::Preparing => Err(run.fault(End::Server, "was not ready when the flow ended")),
            State::Running => self.end(place, how, false),
            State::Ending | State::Ended => Ok(()),
        }
    }

    /// A flow ends, and its programs are asked to.
    fn end(&mut self, place: usize, how: &str, is_finished: bool) -> Result<(), RunError> {
        let now = self.clock.now();
        let run = &mut self.runs[place];
        run.state = State::Ending;
        run.next = now + LAST_WORDS;
        let (number, pair) = (run.number, run.pair);
        self.report(Report::Ended(number, now, how.to_owned(), is_finished));
        self.lab.end(pair, false).map_err(|why| failed(&why))
    }

    /// A program is over.
    fn gone(&mut self, number: u32, status: i32) -> Result<(), RunError> {
        for place in 0..self.runs.len() {
            for end in [End::Server, End::Client] {
                let child = &mut self.runs[place].children[host_of(end).index()];
                if child.as_ref().is_some_and(|child| child.number == number && !child.is_gone) {
                    // Whatever it wrote is there.
                    self.read(place)?;
                    return self.ended(place, end, status);
                }
            }
        }
        Ok(())
    }

    fn ended(&mut self, place: usize, end: End, status: i32) -> Result<(), RunError> {
        let run = &mut self.runs[place];
        let number = run.number;
        if let Some(child) = &mut run.children[host_of(end).index()] {
            child.is_gone = true;
            if let Some((at, line)) = child.end_line() {
                self.report(Report::Output(number, end, at, line));
            }
        }
        let run = &self.runs[place];
        let how = match status {
            0.. => format!("ended with exit status {status}"),
            _ => format!("was ended by signal {}", -status),
        };
        let wanted = if end == End::Client { i32::from(run.program.exit) } else { 0 };
        match (run.state, end) {
            (State::Preparing | State::Running, _) if status != wanted => Err(match end {
                End::Client => run.fault(end, &format!("{how}; expected: exit status {wanted}")),
                End::Server => run.fault(end, &format!("{how} before its client")),
            }),
            (State::Running, End::Client) => self.end(place, &how, true),
            // A server that has put itself into the background is gone, and serves.
            _ => Ok(()),
        }
    }

    /// Reads what the programs of a flow have written.
    fn read(&mut self, place: usize) -> Result<(), RunError> {
        let now = self.clock.now();
        let mut buffer = [0; 1 << 14];
        for end in [End::Server, End::Client] {
            let mut lines = Vec::new();
            let run = &mut self.runs[place];
            let Some(child) = &mut run.children[host_of(end).index()] else { continue };
            while let Some(output) = &child.output {
                match rustix::io::read(output, &mut buffer) {
                    Ok(0) => child.output = None,
                    Ok(count) => {
                        child.written += count as u64;
                        child.take(&buffer[..count], now, &mut lines);
                        if child.written > MOST_OUTPUT {
                            break;
                        }
                    }
                    Err(Errno::INTR) => {}
                    Err(_) => break,
                }
            }
            if let Ready::Output(text) = &run.program.ready
                && end == End::Server
            {
                let open = String::from_utf8_lossy(&child.line);
                run.is_announced |=
                    open.contains(&**text) || lines.iter().any(|(_, line)| line.contains(&**text));
            }
            let is_too_much = child.written > MOST_OUTPUT;
            let number = run.number;
            for (at, line) in lines {
                self.report(Report::Output(number, end, at, line));
            }
            if is_too_much {
                let most = MOST_OUTPUT >> 20;
                let what =
                    format!("wrote more than {most} MiB of output; let it write into a file");
                return Err(self.runs[place].fault(end, &what));
            }
        }
        Ok(())
    }

    /// The run is over.
    fn finish(&mut self) -> Result<(), RunError> {
        for place in 0..self.runs.len() {
            self.read(place)?;
            let run = &mut self.runs[place];
            let now = self.clock.now();
            let mut lines = Vec::new();
            for end in [End::Server, End::Client] {
                let child = &mut run.children[host_of(end).index()];
                lines.extend(child.as_mut().and_then(Child::end_line).map(|line| (end, line)));
            }
            let (number, state) = (run.number, run.state);
            for (end, (at, line)) in lines {
                self.report(Report::Output(number, end, at, line));
            }
            match state {
                State::Preparing => {
                    let run = &self.runs[place];
                    return Err(run.fault(End::Server, "was not ready when the run ended"));
                }
                State::Running => {
                    let how = "the run is over".to_owned();
                    self.report(Report::Ended(number, now, how, false));
                }
                State::Waiting | State::Ending | State::Ended => {}
            }
        }
        Ok(())
    }
}

impl Child {
    /// Takes bytes that it wrote, and puts the lines that are whole with the times of their first bytes.
    fn take(&mut self, bytes: &[u8], now: Time, lines: &mut Vec<(Time, String)>) {
        for &byte in bytes {
            if self.line.is_empty() {
                self.line_at = now;
            }
            if byte != b'\n' {
                self.line.push(byte);
            }
            if byte == b'\n' || self.line.len() >= LONGEST_LINE {
                let line = String::from_utf8_lossy(&self.line).into_owned();
                self.line.clear();
                self.note(&line);
                lines.push((self.line_at, line));
            }
        }
    }

    /// The line that it has begun and not ended.
    fn end_line(&mut self) -> Option<(Time, String)> {
        if self.line.is_empty() {
            return None;
        }
        let line = String::from_utf8_lossy(&core::mem::take(&mut self.line)).into_owned();
        self.note(&line);
        Some((self.line_at, line))
    }

    fn note(&mut self, line: &str) {
        if !line.trim().is_empty() {
            self.last.push_back(line.trim().to_owned());
            if self.last.len() > LAST_LINES {
                self.last.pop_front();
            }
        }
    }
}

/// A pipe: our end does not wait, the program's does.
fn pipe() -> std::io::Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) = std::io::pipe()?;
    rustix::io::ioctl_fionbio(&ours, true)?;
    Ok((ours.into(), theirs.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_cut_into_lines_with_the_times_of_their_first_bytes() {
        let mut child = Child {
            number: 1,
            output: None,
            line: Vec::new(),
            line_at: Time::ZERO,
            written: 0,
            last: VecDeque::new(),
            is_gone: false,
        };
        let mut lines = Vec::new();
        child.take(b"one\n\ntw", Time::from_millis(1), &mut lines);
        child.take(b"o\nthree\nfour\nfi", Time::from_millis(2), &mut lines);
        let found: Vec<(u64, &str)> =
            lines.iter().map(|(at, line)| (at.as_nanos() / 1_000_000, line.as_str())).collect();
        assert_eq!(found, [(1, "one"), (1, ""), (1, "two"), (2, "three"), (2, "four")]);
        assert_eq!(child.last, ["two", "three", "four"]);
        assert_eq!(child.end_line(), Some((Time::from_millis(2), "fi".to_owned())));
        assert_eq!(child.end_line(), None);
        child.take(&[b'x'; LONGEST_LINE + 1], Time::ZERO, &mut lines);
        assert_eq!((lines.last().unwrap().1.len(), child.line.len()), (LONGEST_LINE, 1));
    }
}
