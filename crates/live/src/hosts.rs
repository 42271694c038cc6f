//! Kernel TCP, UDP, pings and programs as the flows of an experiment.
//!
//! Programs are started by a thread of their own ([`crate::programs`]). Of all other flows, sockets are made on the hosts before the run; one thread sends and receives on all of them, and the relay asks the kernel
//! for the senders' state. The thread reports connections, transfers and replies through a channel.
//!
//! Invariants: a flow's numbers on the wire are its ports, or the identifier of its pings; counts of a flow come from its own
//! sockets; the thread ends before the sockets' namespaces do.

use crate::clock::Clock;
use crate::conversation::Conversation;
use crate::helper::addresses;
use crate::info::Info;
use crate::lab::Lab;
use crate::load;
use crate::netlink::Sockets;
use crate::packet::Packet;
use crate::programs::{self, Programs};
use crate::protocol::{Failure, Host, SocketKind};
use crate::relay::{self, Seen, Traffic as Of, Wish};
use crate::sys;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, sockopt};
use rustix::time::Timespec;
use sojourn_engine::RunError;
use sojourn_engine::programs as of_machine;
use sojourn_model::{Direction, EcnMode, Edge, Flow, Ping, Scenario, Start, Tcp, Traffic, Udp};
use sojourn_path::{PathPacket as _, Topology};
use sojourn_qdisc::Packet as _;
use sojourn_record::{Completion, FlowSample, PingSample, Recorder};
use sojourn_results::MACHINE;
use sojourn_units::{Ecn, Span, Time};
use sojourn_wire::Frame;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The most flows of a run.
pub(crate) const MOST_FLOWS: usize = 200;
/// The port of the first flow's sender; flow `i` has the `i`th.
pub(crate) const SENDER_PORT: u16 = 40_001;
/// The same of receivers.
const RECEIVER_PORT: u16 = 5_001;
/// Bytes that a sender writes at a time, and that a receiver reads.
const CHUNK: usize = 1 << 17;
/// The thread wakes at least this often.
const LOOK: Duration = Duration::from_millis(20);
/// The number of a TCP flow that events may wait for: its window, packets.
pub(crate) const CWND: &str = "cwnd";
/// Bytes of the header of ICMP echo, and of IPv4.
const HEADERS: u32 = 28;

/// The part of a flow's sockets that two threads see.
struct Shared {
    /// The socket that sends: asked for its state.
    sender: OwnedFd,
    /// Payload that has arrived.
    received: AtomicU64,
    /// Packets sent and arrived, where these are counted here.
    sent: AtomicU64,
    arrived: AtomicU64,
    is_running: AtomicBool,
}

/// What the thread saw.
enum Report {
    Started(usize, Time),
    Ended(usize, Time, String),
    Ping(usize, PingSample),
    Complete(usize, Completion),
}

/// A command for the thread.
enum Command {
    Start(usize),
    Stop(usize),
    End,
}

/// A flow's part of the hosts.
enum Member {
    Sockets(Arc<Shared>),
    Programs(Box<Conversation>),
}

impl Member {
    fn is_running(&self) -> bool {
        match self {
            Self::Sockets(shared) => shared.is_running.load(Ordering::Acquire),
            Self::Programs(conversation) => conversation.began.is_some(),
        }
    }
}

/// The hosts of a run.
pub(crate) struct Kernel<'a> {
    scenario: &'a Scenario,
    flows: Vec<Member>,
    programs: Programs,
    /// Of each flow: data packets that arrived marked, and segments that echoed congestion.
    signals: Vec<(u64, u64)>,
    /// Packets of each flow that the path had dropped when an interval ended.
    dropped: Vec<u64>,
    /// Starts and ends of flows that the relay has not heard of.
    happened: Vec<Wish>,
    saw: Receiver<Report>,
    commands: Sender<Command>,
    /// Becomes readable when the thread saw something; and when it gets an order.
    news: Arc<OwnedFd>,
    orders: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
    /// What the thread cannot go on from.
    failure: Arc<Mutex<Option<String>>>,
    /// For how long the thread ran and waited for a processor, once it has ended.
    scheduled: Arc<Mutex<Option<[Span; 2]>>>,
    /// What a program did that ends the run.
    fault: Option<RunError>,
}

/// Sender and receiver of a flow, and their addresses.
fn ends(flow: &Flow) -> ([Host; 2], [IpAddr; 2]) {
    let hosts = match flow.direction {
        Direction::Down => [Host::Server, Host::Client],
        Direction::Up => [Host::Client, Host::Server],
    };
    let asks = match &flow.traffic {
        Traffic::Tcp(tcp) => tcp.ecn != EcnMode::Off,
        _ => false,
    };
    (hosts, hosts.map(|host| addresses(host)[usize::from(asks)]))
}

impl<'a> Kernel<'a> {
    /// Makes the sockets of all flows, and the threads. `pairs` are the sockets for questions about the connections of each flow of
    /// programs, in their order.
    pub(crate) fn new(
        scenario: &'a Scenario,
        mut lab: Lab,
        clock: Clock,
        pairs: Vec<[Sockets; 2]>,
    ) -> Result<Self, Failure> {
        let mut flows = Vec::new();
        let mut runs = Vec::new();
        let mut pairs = pairs.into_iter();
        for (number, flow) in scenario.flows.iter().enumerate() {
            if let Traffic::Program(_) = flow.traffic
                && let Some(sockets) = pairs.next()
            {
                let conversation = Conversation::new(flow.direction, sockets);
                flows.push(Member::Programs(Box::new(conversation)));
            } else {
                let run = Run::new(scenario, number, flow, &mut lab)?;
                flows.push(Member::Sockets(Arc::clone(&run.shared)));
                runs.push(run);
            }
        }
        let event = || eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map(Arc::new);
        let of = |why: Errno| Failure::of("an eventfd", why);
        let (news, orders) = (event().map_err(of)?, event().map_err(of)?);
        let (sees, saw) = channel();
        let (commands, inbox) = channel();
        let failure = Arc::new(Mutex::new(None));
        let mut thread = Thread {
            clock,
            runs,
            sees,
            news: Arc::clone(&news),
            inbox,
            orders: Arc::clone(&orders),
            buffer: vec![0; CHUNK],
        };
        let noted = Arc::clone(&failure);
        let scheduled = Arc::new(Mutex::new(None));
        let times = Arc::clone(&scheduled);
        let thread = std::thread::Builder::new().name("hosts".to_owned()).spawn(move || {
            if let Err(why) = thread.run() {
                *noted.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.to_string());
                let _ = rustix::io::write(&*thread.news, &1_u64.to_ne_bytes());
            }
            *times.lock().unwrap_or_else(PoisonError::into_inner) = load::scheduled();
        });
        let thread = Some(thread.map_err(|why| Failure::of("a thread", why))?);
        let (signals, dropped) = (vec![(0, 0); flows.len()], vec![0; flows.len()]);
        let happened = Vec::new();
        let programs = Programs::new(scenario, lab, clock, Arc::clone(&news))?;
        Ok(Self {
            scenario,
            flows,
            programs,
            signals,
            dropped,
            happened,
            saw,
            commands,
            news,
            orders,
            thread,
            failure,
            scheduled,
            fault: None,
        })
    }

    fn note_drops(&mut self, topology: &Topology<Packet>) {
        for (number, dropped) in self.dropped.iter_mut().enumerate() {
            *dropped = relay::dropped(topology, number);
        }
    }

    fn send(&self, command: Command) {
        // The thread may have failed; `act` reports that.
        let _ = self.commands.send(command);
        let _ = rustix::io::write(&*self.orders, &1_u64.to_ne_bytes());
    }

    fn take(&mut self, recorder: &mut Recorder) {
        while let Ok(saw) = self.saw.try_recv() {
            let name = |number: usize| self.scenario.flows[number].name.as_str();
            match saw {
                Report::Started(number, at) => {
                    self.happened.push(Wish::Happened(at, number, Edge::Start));
                    recorder.event(at, "start", &format!("flow {}", name(number)), "");
                    recorder.flow_started(at, number);
                }
                Report::Ended(number, at, how) => {
                    self.happened.push(Wish::Happened(at, number, Edge::End));
                    self.row(at, number, recorder);
                    recorder.event(at, "end", &format!("flow {}", name(number)), &how);
                }
                Report::Ping(number, sample) => recorder.ping(name(number), &sample),
                Report::Complete(number, of) => recorder.completion(name(number), &of),
            }
        }
        while let Some(saw) = self.programs.report() {
            self.take_of_programs(saw, recorder);
        }
    }

    fn take_of_programs(&mut self, saw: programs::Report, recorder: &mut Recorder) {
        use programs::Report::{Ended, Failed, Output, Started};
        let scenario = self.scenario;
        let name = |number: usize| scenario.flows[number].name.as_str();
        match saw {
            Started(number, at) => {
                if let Member::Programs(conversation) = &mut self.flows[number] {
                    conversation.began = Some(at);
                }
                self.happened.push(Wish::Happened(at, number, Edge::Start));
                recorder.event(at, "start", &format!("flow {}", name(number)), "");
                recorder.flow_started(at, number);
            }
            Ended(number, at, how, is_finished) => {
                self.happened.push(Wish::Happened(at, number, Edge::End));
                self.row(at, number, recorder);
                if let Member::Programs(conversation) = &mut self.flows[number]
                    && let Some(started) = conversation.began.take()
                {
                    let (_, bytes) = conversation.received();
                    let ended = if is_finished { at } else { Time::NEVER };
                    recorder.completion(name(number), &Completion { started, bytes, ended });
                }
                recorder.event(at, "end", &format!("flow {}", name(number)), &how);
            }
            Output(number, end, at, line) => recorder.output(at, name(number), end.name(), &line),
            Failed(why) => self.fault = Some(why),
        }
    }

    /// What a program did that ends the run without a result.
    pub(crate) fn fault(&mut self) -> Option<RunError> {
        self.fault.take()
    }

    /// A row of a flow.
    fn row(&mut self, now: Time, number: usize, recorder: &mut Recorder) {
        let dropped = self.dropped[number];
        let (ce, ece) = self.signals[number];
        let flow = match &mut self.flows[number] {
            Member::Sockets(shared) => shared,
            Member::Programs(conversation) => {
                let (_, received) = conversation.received();
                let sample = FlowSample { ce, ece, ..conversation.sample(dropped) };
                recorder.flow(now, number, received, Some(&sample));
                return;
            }
        };
        let received = flow.received.load(Ordering::Relaxed);
        let info = match &self.scenario.flows[number].traffic {
            Traffic::Tcp(_) => sys::tcp_info(flow.sender.as_fd()).ok(),
            Traffic::Ping(_) => return,
            _ => None,
        };
        let sample = if let Some(info) = &info {
            Info(info).sample()
        } else {
            let delivered = flow.arrived.load(Ordering::Relaxed);
            FlowSample { delivered, lost: dropped, ..FlowSample::UNKNOWN }
        };
        let sample = FlowSample { ce, ece, ..sample };
        if recorder.flow(now, number, received, Some(&sample))
            && let Some(info) = &info
        {
            recorder.limits(now, number, &Info(info).limited());
        }
    }
}

impl Drop for Kernel<'_> {
    fn drop(&mut self) {
        self.send(Command::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Of for Kernel<'_> {
    fn flow_of(&mut self, _: Time, frame: &Frame, _: Host) -> Option<u32> {
        let [source, destination] = frame.addresses();
        if let Some((number, _)) = of_machine::owner(source, destination, &self.scenario.flows) {
            return Some(number as u32);
        }
        let number = match frame.ports() {
            Some([a, b]) => {
                let of = |sender: u16, receiver: u16| {
                    let number = sender.checked_sub(SENDER_PORT)?;
                    (receiver.checked_sub(RECEIVER_PORT) == Some(number)).then_some(number)
                };
                of(a, b).or_else(|| of(b, a))?
            }
            None => frame.echo()?.checked_sub(SENDER_PORT)?,
        };
        (usize::from(number) < self.flows.len()).then_some(u32::from(number))
    }

    fn delivered(&mut self, _: Time, packet: &Packet) {
        let number = packet.flow();
        let ([_, receiver], _) = ends(&self.scenario.flows[number]);
        let (ce, ece) = &mut self.signals[number];
        if packet.to() == receiver {
            *ce += u64::from(packet.ecn() == Ecn::Ce);
        } else {
            *ece += u64::from(packet.echoes());
        }
        if let Member::Programs(conversation) = &mut self.flows[number] {
            conversation.delivered(packet);
        }
    }

    fn wakes(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.news.as_fd()]
    }

    fn act(&mut self, _: Time, recorder: &mut Recorder) -> Result<Vec<Wish>, RunError> {
        let mut count = [0; 8];
        if rustix::io::read(&*self.news, &mut count).is_ok() {
            self.take(recorder);
            let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(why) = failure {
                return Err(RunError::Failed(format!("the hosts' sockets: {why}")));
            }
            if let Some(fault) = self.fault() {
                return Err(fault);
            }
        }
        Ok(core::mem::take(&mut self.happened))
    }

    fn sample(&mut self, now: Time, recorder: &mut Recorder, topology: &Topology<Packet>) {
        self.note_drops(topology);
        self.take(recorder);
        for number in 0..self.flows.len() {
            if self.flows[number].is_running() {
                self.row(now, number, recorder);
            }
        }
    }

    fn number(&self, flow: &str, name: &str) -> Option<f64> {
        let number = self.scenario.flows.iter().position(|f| f.name == flow)?;
        let Member::Sockets(flow) = &self.flows[number] else { return None };
        if name != CWND || !flow.is_running.load(Ordering::Acquire) {
            return None;
        }
        let info = sys::tcp_info(flow.sender.as_fd()).ok()?;
        Some(Info(&info).sample().cwnd as f64)
    }

    fn switch(&mut self, _: Time, flow: &str, start: bool, _: &mut Recorder) {
        let Some(number) = self.scenario.flows.iter().position(|f| f.name == flow) else { return };
        if let Member::Programs(_) = self.flows[number] {
            self.programs.switch(number, start);
        } else {
            self.send(if start { Command::Start(number) } else { Command::Stop(number) });
        }
    }

    fn status(&mut self, _: Time, _: &Seen<'_>) {}

    fn finish(&mut self, end: Time, recorder: &mut Recorder, topology: &Topology<Packet>) {
        self.send(Command::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let times = *self.scheduled.lock().unwrap_or_else(PoisonError::into_inner);
        let length = end.since(Time::ZERO).as_secs_f64().max(1e-9);
        for (number, name) in ["hosts_cpu_share", "hosts_wait_share"].into_iter().enumerate() {
            let share = times.map_or(f64::NAN, |times| times[number].as_secs_f64() / length);
            recorder.total(MACHINE, name, share);
        }
        self.programs.finish();
        self.note_drops(topology);
        self.take(recorder);
        let scenario = self.scenario;
        for (number, spec) in scenario.flows.iter().enumerate() {
            if self.flows[number].is_running() {
                self.row(end, number, recorder);
                recorder.event(end, "end", &format!("flow {}", spec.name), "the run is over");
            }
            recorder.total(&spec.name, "packets_dropped", self.dropped[number] as f64);
            let flow = match &self.flows[number] {
                Member::Sockets(flow) => flow,
                Member::Programs(conversation) => {
                    let (packets, _) = conversation.received();
                    recorder.total(&spec.name, "packets_arrived", packets as f64);
                    continue;
                }
            };
            if !matches!(spec.traffic, Traffic::Tcp(_)) {
                let of = |count: &AtomicU64| count.load(Ordering::Relaxed) as f64;
                recorder.total(&spec.name, "packets_sent", of(&flow.sent));
                recorder.total(&spec.name, "packets_arrived", of(&flow.arrived));
            }
        }
    }
}

/// Where a flow is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Waiting,
    Connecting,
    Running,
    Ended,
}

/// A flow's sockets in the thread.
struct Run {
    number: usize,
    shared: Arc<Shared>,
    state: State,
    start: Time,
    stop: Time,
    began: Time,
    kind: Sends,
    /// Of TCP first the one that listens, then the connection's; of UDP the one that receives.
    receiver: Option<OwnedFd>,
    to: SocketAddr,
}

/// What a flow sends.
enum Sends {
    Tcp {
        /// What is left to send; none without end.
        left: Option<u64>,
        total: Option<u64>,
        /// Whether the receiving socket still listens.
        listens: bool,
    },
    Udp {
        gap: Span,
        payload: usize,
        next: Time,
    },
    Ping {
        ping: Ping,
        next: Time,
        /// When each was sent, and whether it was answered.
        sent: Vec<(Time, bool)>,
    },
}

/// Nothing to do on a socket right now.
fn would_block(why: Errno) -> bool {
    why == Errno::AGAIN || why == Errno::INTR
}

impl Run {
    fn new(
        scenario: &Scenario,
        number: usize,
        flow: &Flow,
        lab: &mut Lab,
    ) -> Result<Self, Failure> {
        let ([from, to], addresses) = ends(flow);
        let of = |why: Errno| Failure::of(format!("the sockets of flow {}", flow.name), why);
        let ports = [SENDER_PORT, RECEIVER_PORT].map(|first| first + number as u16);
        let kind = match flow.traffic {
            Traffic::Udp(_) => SocketKind::Udp,
            Traffic::Ping(_) => SocketKind::Ping,
            _ => SocketKind::Tcp,
        };
        let sender = lab.socket(from, kind)?;
        let (ecn, sends) = match &flow.traffic {
            Traffic::Tcp(tcp) => {
                configure(&sender, tcp).map_err(of)?;
                // The kernel's TCP sets the field itself.
                let (left, total) = (tcp.bytes, tcp.bytes);
                (Ecn::NotEct, Sends::Tcp { left, total, listens: true })
            }
            Traffic::Udp(Udp { rate, payload, ecn }) => {
                let (gap, payload) = (rate.time_for(u64::from(*payload)), *payload as usize);
                (*ecn, Sends::Udp { gap, payload, next: Time::ZERO })
            }
            Traffic::Ping(ping) => {
                (ping.ecn, Sends::Ping { ping: *ping, next: Time::ZERO, sent: Vec::new() })
            }
            other => {
                let why = format!("{} is refused before a run", other.name());
                return Err(Failure { step: flow.name.clone(), why, errno: 0 });
            }
        };
        // An identifier is a port to these sockets.
        rustix::net::bind(&sender, &SocketAddr::new(addresses[0], ports[0])).map_err(of)?;
        sockopt::set_ip_tos(&sender, flow.dscp.tos(ecn)).map_err(of)?;
        let there = SocketAddr::new(addresses[1], ports[1]);
        let receiver = if kind == SocketKind::Ping {
            None
        } else {
            let receiver = lab.socket(to, kind)?;
            rustix::net::bind(&receiver, &there).map_err(of)?;
            if kind == SocketKind::Tcp {
                sockopt::set_ip_tos(&receiver, flow.dscp.tos(Ecn::NotEct)).map_err(of)?;
                rustix::net::listen(&receiver, 1).map_err(of)?;
            } else {
                rustix::net::connect(&sender, &there).map_err(of)?;
            }
            Some(receiver)
        };
        let shared = Arc::new(Shared {
            sender,
            received: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            arrived: AtomicU64::new(0),
            is_running: AtomicBool::new(false),
        });
        let start = match flow.start {
            Start::At(at) => scenario.clock(at),
            Start::Event => Time::NEVER,
        };
        let stop = flow.stop.map_or(Time::NEVER, |at| scenario.clock(at));
        Ok(Self {
            number,
            shared,
            state: State::Waiting,
            start,
            stop,
            began: Time::ZERO,
            kind: sends,
            receiver,
            to: there,
        })
    }

    /// When it next has something to do by the clock.
    fn due(&self) -> Time {
        match (self.state, &self.kind) {
            (State::Waiting, _) => self.start.min(self.stop),
            (State::Running, Sends::Udp { next, .. } | Sends::Ping { next, .. }) => {
                self.stop.min(*next)
            }
            (State::Connecting | State::Running, _) => self.stop,
            (State::Ended, _) => Time::NEVER,
        }
    }

    /// What its sockets wait for.
    fn waits(&self) -> [Option<(BorrowedFd<'_>, PollFlags)>; 2] {
        let is_over = matches!(self.state, State::Waiting | State::Ended);
        let receiver = self.receiver.as_ref().filter(|_| !is_over);
        let sends = match (&self.kind, self.state) {
            (_, State::Connecting) => PollFlags::OUT,
            (Sends::Tcp { left, .. }, State::Running) if *left != Some(0) => PollFlags::OUT,
            (Sends::Ping { .. }, State::Running) => PollFlags::IN,
            _ => PollFlags::empty(),
        };
        let sender = (!sends.is_empty()).then(|| (self.shared.sender.as_fd(), sends));
        [sender, receiver.map(|fd| (fd.as_fd(), PollFlags::IN))]
    }

    fn begin(&mut self, now: Time, report: &mut dyn FnMut(Report)) -> Result<(), Errno> {
        if self.state != State::Waiting {
            return Ok(());
        }
        if let Sends::Tcp { .. } = self.kind {
            self.state = State::Connecting;
            return match rustix::net::connect(&self.shared.sender, &self.to) {
                Err(why) if why != Errno::INPROGRESS => Err(why),
                _ => Ok(()),
            };
        }
        self.is_there(now, report);
        match &mut self.kind {
            Sends::Udp { next, .. } | Sends::Ping { next, .. } => *next = now,
            Sends::Tcp { .. } => {}
        }
        Ok(())
    }

    fn is_there(&mut self, now: Time, report: &mut dyn FnMut(Report)) {
        (self.state, self.began) = (State::Running, now);
        report(Report::Started(self.number, now));
        self.shared.is_running.store(true, Ordering::Release);
    }

    /// A connection that the kernel has given up, or that was refused, is the end of its flow alone.
    fn end_on_error(&mut self, done: Result<(), Errno>, now: Time, report: &mut dyn FnMut(Report)) {
        if let Err(why) = done {
            self.end(now, &why.to_string(), report);
        }
    }

    fn end(&mut self, now: Time, how: &str, report: &mut dyn FnMut(Report)) {
        if self.state == State::Ended {
            return;
        }
        let ran = self.state == State::Running;
        self.state = State::Ended;
        self.shared.is_running.store(false, Ordering::Release);
        let how = if ran || how != "stopped" { how } else { "stopped before it started" };
        report(Report::Ended(self.number, now, how.to_owned()));
        if let Sends::Tcp { total, .. } = &self.kind {
            if let (Some(bytes), true) = (*total, how != "finished") {
                let (started, ended) = (self.began, Time::NEVER);
                report(Report::Complete(self.number, Completion { started, bytes, ended }));
            }
            // Unsent data is not to be sent any more.
            let _ = sockopt::set_socket_linger(&self.shared.sender, Some(Duration::ZERO));
            let _ = rustix::net::shutdown(&self.shared.sender, Shutdown::Both);
            self.receiver = None;
        }
        self.lost(now, report);
    }

    /// Requests without a reply: those of the last round trips may be late, and are not lost.
    fn lost(&mut self, now: Time, report: &mut dyn FnMut(Report)) {
        let Sends::Ping { ping, sent, .. } = &mut self.kind else { return };
        let patience = Span::from_millis(1000).max(ping.interval * 3);
        for (number, (at, answered)) in sent.iter_mut().enumerate() {
            if !core::mem::replace(answered, true) {
                let lost = if *at + patience > now { "late" } else { "lost" };
                let (there, back) = (Time::NEVER, Time::NEVER);
                let number = number as u64;
                report(Report::Ping(
                    self.number,
                    PingSample { at: *at, number, sent: *at, there, back, lost },
                ));
            }
        }
    }

    /// Does what is due by the clock.
    fn tick(
        &mut self,
        now: Time,
        buffer: &mut [u8],
        report: &mut dyn FnMut(Report),
    ) -> Result<(), Errno> {
        if now >= self.stop {
            self.end(now, "stopped", report);
        } else if now >= self.start {
            self.begin(now, report)?;
        }
        if self.state != State::Running {
            return Ok(());
        }
        let sender = &self.shared.sender;
        match &mut self.kind {
            Sends::Tcp { .. } => {}
            Sends::Udp { gap, payload, next } => {
                while *next <= now {
                    match rustix::net::send(sender, &buffer[..*payload], SendFlags::NOSIGNAL) {
                        Ok(_) => self.shared.sent.fetch_add(1, Ordering::Relaxed),
                        // A datagram that the host has no room for is not sent.
                        Err(why) if would_block(why) || why == Errno::NOBUFS => 0,
                        Err(why) => return Err(why),
                    };
                    *next += *gap;
                }
            }
            Sends::Ping { ping, next, sent } => {
                while *next <= now {
                    let number = sent.len() as u16;
                    let mut echo = vec![0; (ping.size.max(HEADERS + 8) - HEADERS + 8) as usize];
                    echo[0] = 8;
                    echo[6..8].copy_from_slice(&number.to_be_bytes());
                    let at = SocketAddr::new(self.to.ip(), 0);
                    match rustix::net::sendto(sender, &echo, SendFlags::NOSIGNAL, &at) {
                        Ok(_) => self.shared.sent.fetch_add(1, Ordering::Relaxed),
                        Err(why) if would_block(why) || why == Errno::NOBUFS => 0,
                        Err(why) => return Err(why),
                    };
                    sent.push((now, false));
                    *next += ping.interval;
                }
            }
        }
        Ok(())
    }

    /// Does what its sockets are ready for.
    fn work(
        &mut self,
        ready: [bool; 2],
        clock: &Clock,
        buffer: &mut [u8],
        report: &mut dyn FnMut(Report),
    ) -> Result<(), Errno> {
        let now = clock.now();
        if ready[0] {
            if self.state == State::Connecting {
                sockopt::socket_error(&self.shared.sender)??;
                self.is_there(now, report);
            }
            self.send(buffer)?;
            self.replies(clock, buffer, report)?;
        }
        if ready[1] {
            self.receive(now, buffer, report)?;
        }
        Ok(())
    }

    fn send(&mut self, buffer: &[u8]) -> Result<(), Errno> {
        let Sends::Tcp { left, .. } = &mut self.kind else { return Ok(()) };
        // So much at once, and then others have their turn.
        for _ in 0..4 {
            let most = left.map_or(buffer.len(), |left| buffer.len().min(left as usize));
            if most == 0 {
                break;
            }
            match rustix::net::send(&self.shared.sender, &buffer[..most], SendFlags::NOSIGNAL) {
                Ok(sent) => {
                    if let Some(left) = left {
                        *left -= sent as u64;
                        if *left == 0 {
                            rustix::net::shutdown(&self.shared.sender, Shutdown::Write)?;
                        }
                    }
                }
                Err(why) if would_block(why) => break,
                Err(why) => return Err(why),
            }
        }
        Ok(())
    }

    /// Reads the replies to pings.
    fn replies(
        &mut self,
        clock: &Clock,
        buffer: &mut [u8],
        report: &mut dyn FnMut(Report),
    ) -> Result<(), Errno> {
        let Sends::Ping { sent, .. } = &mut self.kind else { return Ok(()) };
        loop {
            let flags = RecvFlags::DONTWAIT;
            match rustix::net::recv(&self.shared.sender, &mut buffer[..], flags) {
                Ok((length, _)) if length >= 8 && buffer[0] == 0 => {
                    let back = clock.now();
                    self.shared.arrived.fetch_add(1, Ordering::Relaxed);
                    let low = u16::from_be_bytes([buffer[6], buffer[7]]);
                    // Numbers wrap: the newest with these bits.
                    let newest = sent.len().saturating_sub(1);
                    let number = newest - usize::from((newest as u16).wrapping_sub(low));
                    let Some((at, answered)) = sent.get_mut(number) else { continue };
                    if !core::mem::replace(answered, true) {
                        let (sent, there, number) = (*at, Time::NEVER, number as u64);
                        let sample = PingSample { at: back, number, sent, there, back, lost: "" };
                        report(Report::Ping(self.number, sample));
                    }
                }
                Ok(_) => {}
                Err(why) if would_block(why) => return Ok(()),
                Err(why) => return Err(why),
            }
        }
    }

    fn receive(
        &mut self,
        now: Time,
        buffer: &mut [u8],
        report: &mut dyn FnMut(Report),
    ) -> Result<(), Errno> {
        let Some(receiver) = &self.receiver else { return Ok(()) };
        if let Sends::Tcp { listens: listens @ true, .. } = &mut self.kind {
            let flags = rustix::net::SocketFlags::NONBLOCK | rustix::net::SocketFlags::CLOEXEC;
            match rustix::net::accept_with(receiver, flags) {
                Ok(connection) => (self.receiver, *listens) = (Some(connection), false),
                Err(why) if would_block(why) => {}
                Err(why) => return Err(why),
            }
            return Ok(());
        }
        let is_tcp = matches!(self.kind, Sends::Tcp { .. });
        // TCP throws the bytes away without copying them.
        let flags = RecvFlags::DONTWAIT | RecvFlags::TRUNC;
        for _ in 0..8 {
            match rustix::net::recv(receiver, &mut buffer[..], flags) {
                Ok((_, 0)) if is_tcp => {
                    if let Sends::Tcp { total: Some(bytes), .. } = self.kind {
                        let of = Completion { started: self.began, bytes, ended: now };
                        report(Report::Complete(self.number, of));
                    }
                    self.end(now, "finished", report);
                    return Ok(());
                }
                Ok((_, length)) => {
                    self.shared.received.fetch_add(length as u64, Ordering::Relaxed);
                    self.shared.arrived.fetch_add(1, Ordering::Relaxed);
                }
                Err(why) if would_block(why) => return Ok(()),
                Err(why) => return Err(why),
            }
        }
        Ok(())
    }
}

/// Sets a sender's socket.
fn configure(socket: &OwnedFd, tcp: &Tcp) -> Result<(), Errno> {
    sockopt::set_tcp_congestion(socket, tcp.control().0)?;
    if let Some(bytes) = tcp.send_buffer {
        sockopt::set_socket_send_buffer_size(socket, bytes as usize)?;
    }
    if let Some(rate) = tcp.max_pacing_rate {
        sys::set_max_pacing_rate(socket.as_fd(), rate.bytes_per_sec())?;
    }
    Ok(())
}

/// The thread that sends and receives.
struct Thread {
    clock: Clock,
    runs: Vec<Run>,
    sees: Sender<Report>,
    news: Arc<OwnedFd>,
    inbox: Receiver<Command>,
    orders: Arc<OwnedFd>,
    buffer: Vec<u8>,
}

impl Thread {
    fn run(&mut self) -> Result<(), Errno> {
        let _ = rustix::thread::set_current_timer_slack(core::num::NonZero::new(1));
        loop {
            let ready = self.wait()?;
            let Self { clock, runs, sees, news, buffer, .. } = self;
            let mut is_news = false;
            let mut report = |saw| {
                is_news = true;
                let _ = sees.send(saw);
            };
            let now = clock.now();
            for command in self.inbox.try_iter() {
                match command {
                    Command::Start(number) => {
                        for run in runs.iter_mut().filter(|run| run.number == number) {
                            let begun = run.begin(now, &mut report);
                            run.end_on_error(begun, now, &mut report);
                        }
                    }
                    Command::Stop(number) => {
                        for run in runs.iter_mut().filter(|run| run.number == number) {
                            run.end(now, "stopped", &mut report);
                        }
                    }
                    Command::End => {
                        for run in runs {
                            run.lost(now, &mut report);
                        }
                        return Ok(());
                    }
                }
            }
            for (run, ready) in runs.iter_mut().zip(ready) {
                if run.due() <= now {
                    let done = run.tick(now, buffer, &mut report);
                    run.end_on_error(done, now, &mut report);
                }
                if ready != [false, false] {
                    let done = run.work(ready, clock, buffer, &mut report);
                    run.end_on_error(done, now, &mut report);
                }
            }
            if is_news {
                let _ = rustix::io::write(&**news, &1_u64.to_ne_bytes());
            }
        }
    }

    /// Waits for what is next; says of each flow which of its two sockets is ready.
    fn wait(&self) -> Result<Vec<[bool; 2]>, Errno> {
        let due = self.runs.iter().map(Run::due).min().unwrap_or(Time::NEVER);
        let nap = Duration::from_nanos(due.since(self.clock.now()).as_nanos()).min(LOOK);
        let waits: Vec<_> = self.runs.iter().map(Run::waits).collect();
        let mut fds = vec![PollFd::new(&*self.orders, PollFlags::IN)];
        for (fd, flags) in waits.iter().flatten().flatten() {
            fds.push(PollFd::from_borrowed_fd(*fd, *flags));
        }
        match poll(&mut fds, Timespec::try_from(nap).ok().as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(why) => return Err(why),
        }
        if !fds[0].revents().is_empty() {
            let _ = rustix::io::read(&*self.orders, &mut [0; 8]);
        }
        let mut found = fds[1..].iter().map(|fd| !fd.revents().is_empty());
        let ready = |wait: &Option<_>| wait.is_some() && found.next().unwrap_or(false);
        let mut ready = ready;
        Ok(waits.iter().map(|[a, b]| [ready(a), ready(b)]).collect())
    }
}
