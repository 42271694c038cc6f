//! The relay: frames of two interfaces pass [`sojourn_net::Network`] on the model's clock and leave by the other interface.
//!
//! A frame enters the model at the time of its arrival in the kernel, not when this loop reads it; so a loop that is late
//! delays packets, and does not turn its delay into queueing. Departures happen at the model's times: the loop sleeps until
//! shortly before the next one and then watches the clock, since a timer of the kernel is 50 µs late and more. How late a
//! packet leaves is recorded, and never fed back into the model.
//!
//! Invariants: the model's time never runs back; everything that is due at one time happens in the order of the agenda;
//! a packet leaves the relay no earlier than the model lets it.

use crate::clock::{Clock, thread_cpu};
use crate::kernel_queue::KernelLink;
use crate::load::Ticks;
use crate::observe::{Captures, Observers, quantile};
use crate::packet::Packet;
use crate::protocol::Host;
use crate::sys::{self, Batch, Offloaded};
use crate::validity::Validity;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use sojourn_capture::Capture;
use sojourn_engine::programs;
use sojourn_engine::{Item, RunError, Timeline, WATCH_EVERY, Watch};
use sojourn_model::{Action, Direction, Edge, Gauge, Reference, Scenario, Traffic as Kind};
use sojourn_net::{Hosts, Network};
use sojourn_path::topology::{Basis, ChangeError, HostSide};
use sojourn_path::{Elements, PathPacket as _, Topology};
use sojourn_qdisc::{Packet as _, Registry};
use sojourn_record::{Delays, Distribution, PortElements, Provenances, Recorder, ports};
use sojourn_results::{MACHINE, Provenance, Rows, Table, rows};
use sojourn_stacks::{DEFAULT, Stack};
use sojourn_units::{Span, Time};
use sojourn_wire::{Frame, Joined};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// The last stretch before a departure, in which the loop watches the clock instead of sleeping.
const NEAR: Span = Span::from_micros(60);
/// A loop that comes later than this to a departure or a frame has been stopped.
const STOPPED: Span = Span::from_millis(1);
/// The loop wakes at least this often.
const LOOK: Span = Span::from_millis(20);
/// Frames received, and sent, by one call.
const BATCH: usize = 64;
/// Packets among which those of one connection are joined.
const JOINED: usize = 1024;
/// Kinds of super-packets (`VIRTIO_NET_HDR_GSO_TCPV4`, `_TCPV6`).
const GSO_TCP_V4: u8 = 1;
const GSO_TCP_V6: u8 = 4;
/// How often progress is reported and the capture checked.
const TELL: Span = Span::from_millis(200);
/// Bytes for a frame of a packet, and for one of a super-packet.
const ROOM: [usize; 2] = [2048, (1 << 16) + 256];

/// The hosts of a run: their packets, and the flow that each frame belongs to.
pub(crate) trait Traffic {
    /// The flow of a frame for this host; none if no flow of the run sends such frames.
    fn flow_of(&mut self, now: Time, frame: &Frame, to: Host) -> Option<u32>;

    /// Whether a frame from this side is for the relay. Others leave no trace in its counters.
    fn takes(&mut self, _from: Host, _frame: &[u8]) -> bool {
        true
    }

    /// A packet has come to its host.
    fn delivered(&mut self, now: Time, packet: &Packet);

    /// Packets leave on this side, with the times at which they left the model. It may change them, hold some, and add some that
    /// it has held.
    fn leave(&mut self, _now: Time, _to: Host, _packets: &mut Vec<(Time, Packet)>) {}

    /// What becomes readable when [`Traffic::act`] has something to do.
    fn wakes(&self) -> Vec<BorrowedFd<'_>>;

    /// Does what is due, and says what the relay is to change.
    ///
    /// # Errors
    /// Whatever ends the run without a result.
    fn act(&mut self, now: Time, recorder: &mut Recorder) -> Result<Vec<Wish>, RunError>;

    /// An interval of samples ends.
    fn sample(&mut self, now: Time, recorder: &mut Recorder, topology: &Topology<Packet>);

    /// The present value of a flow's number, for events that wait for it; none if the flow does not run, or if its packets alone announce it.
    fn number(&self, _flow: &str, _name: &str) -> Option<f64> {
        None
    }

    /// A flow is to start or to stop; one that its packets alone announce does neither.
    fn switch(&mut self, _now: Time, _flow: &str, _start: bool, _recorder: &mut Recorder) {}

    /// What is seen of the queues now.
    fn status(&mut self, now: Time, of: &Seen<'_>);

    /// The run is over: rows and counters of its end.
    fn finish(&mut self, end: Time, recorder: &mut Recorder, topology: &Topology<Packet>);
}

/// What traffic wants of the relay.
pub(crate) enum Wish {
    /// A change of the path, and where its outcome goes.
    Change(Action, Box<dyn FnOnce(Result<(), String>) + Send>),
    /// A flow has started or ended, at that time: events may follow.
    Happened(Time, usize, Edge),
    /// The run is over.
    End,
}

/// The input of a status.
pub(crate) struct Seen<'a> {
    pub(crate) topology: &'a Topology<Packet>,
    /// Sojourn times of each port since the last status.
    pub(crate) recent: &'a [Distribution],
    pub(crate) lateness: &'a Distribution,
}

/// The input of a run.
pub(crate) struct Setting<'a> {
    pub(crate) scenario: &'a Scenario,
    /// The same as the relay carries it out ([`crate::kernel_queue::carried`]).
    pub(crate) carried: &'a Scenario,
    /// Queues by the kernel.
    pub(crate) queues: &'a [KernelLink],
    pub(crate) registry: &'a Registry<Packet>,
    pub(crate) elements: &'a Elements,
    /// Packet sockets of the relay's interfaces to server and client, of each pair of hosts.
    pub(crate) links: Vec<[OwnedFd; 2]>,
    /// The pair that each flow is between; the first for flows that are not in the list.
    pub(crate) pair_of: Vec<usize>,
    /// Whether packets of one connection leave joined.
    pub(crate) offload: bool,
    /// Whether super-packets may arrive.
    pub(crate) super_packets: bool,
    /// Whether the loop never sleeps.
    pub(crate) spin: bool,
    pub(crate) capture: Option<Capture>,
    /// When the run began.
    pub(crate) clock: Clock,
}

/// What a run gives.
pub(crate) struct Outcome {
    pub(crate) tables: Vec<Table>,
    /// How long it was.
    pub(crate) length: Span,
    pub(crate) validity: Validity,
}

fn stack(name: &str) -> &'static Stack {
    Stack::named(name).or_else(|| Stack::named(DEFAULT)).expect("the default stack exists")
}

fn profile(name: &str) -> sojourn_qdisc::QdiscQuirks {
    stack(name).qdisc
}

/// Packets that have left the model and wait to be sent.
struct Outbox<'t, T> {
    traffic: &'t mut T,
    pair_of: &'t [usize],
    /// For the server and for the client of each pair: when each left the model, in order.
    waiting: Vec<[Vec<(Time, Packet)>; 2]>,
}

impl<T: Traffic> Hosts<Packet, Observers> for Outbox<'_, T> {
    fn deliver(&mut self, network: &mut Network<Packet, Observers>, now: Time, packet: Packet) {
        let observers = &mut network.observer;
        observers.delays.arrived(now, packet.flow(), now.since(packet.sent()));
        if let Some(captures) = &mut observers.captures {
            captures.at_host(now, packet.to(), &packet);
        }
        self.traffic.delivered(now, &packet);
        let pair = self.pair_of.get(packet.flow()).copied().unwrap_or(0);
        self.waiting[pair][packet.to().index()].push((now, packet));
    }
}

/// Counters of the relay itself.
#[derive(Default)]
struct Counts {
    lateness: Distribution,
    latest: Span,
    /// Frames that arrived, super-packets once.
    frames: u64,
    super_packets: u64,
    /// Packets that left as a part of another.
    joined: u64,
    /// Packets that an interface did not take.
    unsent: u64,
    /// Frames of nobody's, frames longer than a packet may be.
    unknown: u64,
    oversized: u64,
    /// Frames that a socket had no room for, or that the kernel could not hand over.
    overrun: u64,
    /// How long something was due, or a frame waited, and the loop did not run.
    stopped: Span,
}

/// What has arrived in the kernel.
enum Arrival {
    /// A frame of a host's.
    Frame(Host, Offloaded, Vec<u8>),
    /// One that comes back from a queue by the kernel, by the queue's number.
    Back(usize, Vec<u8>),
}

/// A run under way.
struct Relay<'a, 't, T> {
    setting: &'a Setting<'a>,
    network: Network<Packet, Observers>,
    outbox: Outbox<'t, T>,
    recorder: Recorder,
    ports: PortElements,
    clock: Clock,
    /// The model's time.
    now: Time,
    next_sample: Time,
    next_status: Time,
    next_tell: Time,
    /// When numbers that events wait for are checked next.
    next_watch: Time,
    /// Events and phases; the hosts start and stop flows by themselves.
    timeline: Timeline,
    /// Flows that end by themselves and have not ended.
    unfinished: usize,
    counts: Counts,
}

/// Runs a scenario to its end, or until the traffic ends it.
pub(crate) fn run<T: Traffic>(
    setting: &Setting<'_>,
    traffic: &mut T,
    watch: &dyn Watch,
) -> Result<Outcome, RunError> {
    let relay = Relay::new(setting, traffic)?;
    relay.run(watch)
}

impl<'a: 't, 't, T: Traffic> Relay<'a, 't, T> {
    fn new(setting: &'a Setting<'a>, traffic: &'t mut T) -> Result<Self, RunError> {
        let scenario = setting.scenario;
        let basis = basis(setting);
        let topology = Topology::build(&basis, |_| HostSide { nic: true, ..HostSide::default() })
            .map_err(|unbuildable| RunError::Failed(unbuildable.to_string()))?;
        let ports = PortElements::new(&topology);
        let known = Provenances {
            flows: Rows::<rows::Flows>::new(Provenance::Sampled)
                .with_provenance(|c| c.goodput_bps, Provenance::Exact)
                .with_provenance(|c| c.ce, Provenance::Exact)
                .with_provenance(|c| c.ece, Provenance::Exact)
                .with_provenance(|c| c.lost, Provenance::Estimated),
            queues: Rows::new(Provenance::Exact),
            completions: Rows::new(Provenance::Exact),
            counters: Provenance::Exact,
            distributions: Provenance::Exact,
        };
        let mut recorder = Recorder::new(scenario, PortElements::paths(&topology), known);
        ports::tc(&mut recorder, Time::ZERO, "setup", &topology);
        let queues = topology.nodes.iter().map(ports::queue_of);
        let fixed = |flow: usize| topology.fixed_delay(scenario, topology.of_flow[flow].0);
        let delays = Delays::new(scenario, queues, fixed);
        let captures = setting.capture.as_ref();
        let captures = captures.map(|c| Captures::new(c, scenario, &topology)).transpose()?;
        let recent = vec![Distribution::new(); topology.nodes.len()];
        let mut network = Network::new(topology, Observers { delays, captures, recent }, 0);
        network.schedule_queue_timers();
        let timeline = Timeline::new(scenario, |_| Span::ZERO);
        let next_watch =
            if timeline.waits_for_a_number() { Time::ZERO + WATCH_EVERY } else { Time::NEVER };
        let unfinished = scenario.flows.iter().filter(|flow| ends_by_itself(&flow.traffic)).count();
        Ok(Self {
            setting,
            network,
            outbox: Outbox {
                traffic,
                pair_of: &setting.pair_of,
                waiting: setting.links.iter().map(|_| [Vec::new(), Vec::new()]).collect(),
            },
            recorder,
            ports,
            clock: setting.clock,
            now: Time::ZERO,
            next_sample: Time::ZERO + scenario.sample_interval,
            next_status: Time::from_secs(1),
            next_tell: Time::ZERO,
            next_watch,
            timeline,
            unfinished,
            counts: Counts::default(),
        })
    }

    fn run(mut self, watch: &dyn Watch) -> Result<Outcome, RunError> {
        let end = Time::ZERO + self.setting.scenario.length();
        // Without it, the kernel adds 50 µs to every wait of this thread. It ends with the thread or the run.
        let slack = core::num::NonZero::new(1);
        let before = rustix::thread::current_timer_slack().ok().and_then(core::num::NonZero::new);
        let _ = rustix::thread::set_current_timer_slack(slack);
        let outcome = self.relay(end, watch);
        let _ = rustix::thread::set_current_timer_slack(before);
        let measured = outcome?;
        self.finish(measured)
    }

    /// The loop; returns the validity's numbers of the machine.
    fn relay(&mut self, end: Time, watch: &dyn Watch) -> Result<Machine, RunError> {
        let setting = self.setting;
        let (ticks, cpu) = (Ticks::now(), thread_cpu());
        let room = ROOM[usize::from(setting.super_packets)];
        let batches = setting.links.iter().map(|_| [(); 2].map(|()| Batch::new(BATCH, room)));
        let mut batches: Vec<[Batch; 2]> = batches.collect();
        let backs = setting.queues.iter().map(|_| Batch::new(BATCH, room));
        let mut backs: Vec<Batch> = backs.collect();
        let mut arrivals: Vec<(Time, Arrival)> = Vec::new();
        loop {
            let now = self.clock.look();
            let mut is_full = false;
            for (batches, links) in batches.iter_mut().zip(&setting.links) {
                for host in Host::BOTH {
                    let (batch, link) = (&mut batches[host.index()], &links[host.index()]);
                    is_full |= self.receive(now, host, batch, link, &mut arrivals)?;
                }
            }
            for (number, (batch, queue)) in backs.iter_mut().zip(setting.queues).enumerate() {
                is_full |= self.receive_back(now, number, batch, &queue.back, &mut arrivals)?;
            }
            arrivals.sort_by_key(|arrival| arrival.0);
            let first = arrivals.first().map_or(Time::NEVER, |arrival| arrival.0);
            let late = now.since(self.network.agenda.next().0.min(self.due()).min(first));
            if late > STOPPED {
                self.counts.stopped += late;
            }
            for (at, arrival) in arrivals.drain(..) {
                self.catch_up(at)?;
                match arrival {
                    Arrival::Frame(from, offloaded, frame) => {
                        self.enter(at, from, offloaded, frame);
                    }
                    Arrival::Back(number, frame) => self.come_back(at, number, &frame),
                }
            }
            self.catch_up(now.min(end))?;
            self.flush()?;
            if now >= end || self.act(now)? {
                let (busy, stolen) = match (ticks, Ticks::now()) {
                    (Some(then), Some(now)) => now.since(then),
                    _ => (f64::NAN, f64::NAN),
                };
                return Ok(Machine { relay: thread_cpu() - cpu, busy, stolen });
            }
            self.tell(now, watch)?;
            if !is_full && !setting.spin {
                self.wait(end)?;
            }
        }
    }

    /// Reads what has arrived on a link; true if there may be more.
    fn receive(
        &mut self,
        now: Time,
        from: Host,
        batch: &mut Batch,
        link: &OwnedFd,
        arrivals: &mut Vec<(Time, Arrival)>,
    ) -> Result<bool, RunError> {
        let count = match batch.receive(link.as_fd()) {
            Ok(count) => count,
            Err(why) => return Err(lost(from, &why)),
        };
        self.counts.overrun += batch.take_refused();
        for arrival in batch.arrivals() {
            if !self.outbox.traffic.takes(from, arrival.frame) {
                continue;
            }
            self.counts.frames += 1;
            self.counts.super_packets += u64::from(arrival.offloaded.kind != 0);
            if arrival.truncated {
                self.counts.oversized += 1;
                continue;
            }
            let at = self.clock.of_stamp(arrival.real, self.now, now.max(self.now));
            arrivals.push((at, Arrival::Frame(from, arrival.offloaded, arrival.frame.to_vec())));
        }
        Ok(count == BATCH)
    }

    /// Reads what has come back from a queue by the kernel; true if there may be more.
    fn receive_back(
        &mut self,
        now: Time,
        number: usize,
        batch: &mut Batch,
        link: &OwnedFd,
        arrivals: &mut Vec<(Time, Arrival)>,
    ) -> Result<bool, RunError> {
        let gone = |why: io::Error| RunError::Failed(format!("a queue by the kernel: {why}"));
        let count = batch.receive(link.as_fd()).map_err(gone)?;
        for arrival in batch.arrivals() {
            let at = self.clock.of_stamp(arrival.real, self.now, now.max(self.now));
            arrivals.push((at, Arrival::Back(number, arrival.frame.to_vec())));
        }
        Ok(count == BATCH)
    }

    /// A packet leaves its queue by the kernel.
    fn come_back(&mut self, at: Time, number: usize, frame: &[u8]) {
        let queue = &self.setting.queues[number];
        match self.network.topology.queue(&queue.path) {
            Some(port) if queue.gate.returned(frame) => self.network.ask(at, port),
            _ => self.counts.unknown += 1,
        }
    }

    /// A frame enters the model.
    fn enter(&mut self, at: Time, from: Host, offloaded: Offloaded, bytes: Vec<u8>) {
        let to = from.other();
        let mut frame = Frame::new(bytes);
        let Some(flow) = self.outbox.traffic.flow_of(at, &frame, to) else {
            self.counts.unknown += 1;
            return;
        };
        let topology = &self.network.topology;
        let (data, back) = topology.of_flow[flow as usize];
        let down = self.setting.scenario.flows[flow as usize].direction == Direction::Down;
        let route = if down == (to == Host::Client) { data } else { back };
        let is_left = offloaded.kind != 0 || offloaded.needs_checksum;
        let is_unfinished = is_left && !self.needs_checksums();
        let size = usize::from(offloaded.size);
        let frames = match (offloaded.kind, is_unfinished) {
            (0, _) => {
                if is_left && !is_unfinished {
                    frame.finish();
                }
                vec![frame]
            }
            (_, true) => frame.unfinished_segments(size, false),
            (_, false) => frame.segments(size, false),
        };
        for frame in frames {
            if frame.bytes().len() > crate::helper::MTU as usize + 14 {
                self.counts.oversized += 1;
                continue;
            }
            let packet = Packet::new(frame, at, to, flow, route);
            let packet = if is_unfinished { packet.unfinished() } else { packet };
            if let Some(captures) = &mut self.network.observer.captures {
                captures.at_host(at, from, &packet);
            }
            self.network.send(at, at, packet);
        }
    }

    /// Whether transport checksums have to be whole inside the relay: a middlebox may change what they cover, or a capture
    /// shows them. Otherwise the receiving host's interface finishes those that the sending host left to it.
    fn needs_checksums(&self) -> bool {
        let network = &self.network;
        network.observer.captures.is_some() || !network.topology.middleboxes.is_empty()
    }

    /// Lets everything happen that is due until then, and the model's time come there.
    fn catch_up(&mut self, until: Time) -> Result<(), RunError> {
        loop {
            // A flow's start or end is heard of a little later than it happens.
            let own = self.due().max(self.now);
            if own > until {
                break;
            }
            self.network.advance(own, &mut self.outbox);
            self.now = own;
            if let Some(item) = self.timeline.take(own) {
                self.happen(item)?;
            } else if self.next_watch <= own {
                self.watch();
            } else {
                self.ports.step(&mut self.recorder, own, &mut self.network.topology);
                let topology = &self.network.topology;
                self.outbox.traffic.sample(own, &mut self.recorder, topology);
                self.next_sample = own + self.setting.scenario.sample_interval;
            }
        }
        self.network.advance(until, &mut self.outbox);
        self.now = self.now.max(until);
        Ok(())
    }

    /// When the relay itself has something to do next.
    fn due(&self) -> Time {
        self.timeline.next().min(self.next_sample).min(self.next_watch)
    }

    /// An item of the calendar is due.
    fn happen(&mut self, item: Item) -> Result<(), RunError> {
        let (now, scenario) = (self.now, self.setting.scenario);
        match item {
            Item::StartFlow(_) | Item::StopFlow(_) => {}
            Item::PhaseStart(number) | Item::PhaseEnd(number) => {
                let name = &scenario.phases[number].name;
                let is_start = matches!(item, Item::PhaseStart(_));
                let (what, edge) =
                    if is_start { ("start", Edge::Start) } else { ("end", Edge::End) };
                self.recorder.event(now, what, &format!("phase {name}"), "");
                self.network.observer.delays.cut(now);
                self.timeline.happened(now, &Reference::Phase(name.clone()), edge);
            }
            Item::Event(number) => {
                let event = &scenario.events[number];
                for action in &event.actions {
                    let subject = format!("event {}", event.name);
                    self.change(&subject, action)
                        .map_err(|why| RunError::Failed(format!("{subject}: {why}")))?;
                }
                self.timeline.happened(now, &Reference::Event(event.name.clone()), Edge::Start);
            }
        }
        Ok(())
    }

    /// A flow has started or ended.
    fn note(&mut self, at: Time, flow: usize, edge: Edge) {
        let flow = &self.setting.scenario.flows[flow];
        self.timeline.happened(at, &Reference::Flow(flow.name.clone()), edge);
        if edge == Edge::End && ends_by_itself(&flow.traffic) {
            self.unfinished = self.unfinished.saturating_sub(1);
            if self.unfinished == 0 {
                self.timeline.happened(at, &Reference::Workload, Edge::End);
            }
        }
    }

    /// Checks the numbers that events wait for.
    fn watch(&mut self) {
        let (now, topology) = (self.now, &self.network.topology);
        let traffic = &self.outbox.traffic;
        self.timeline.check(now, |gauge| match gauge {
            Gauge::Flow { flow, name } => traffic.number(flow, name),
            Gauge::Queue { queue, name } => ports::number(now, topology, queue, name),
        });
        let waits = self.timeline.waits_for_a_number();
        self.next_watch = if waits { now + WATCH_EVERY } else { Time::NEVER };
    }

    fn change(&mut self, subject: &str, action: &Action) -> Result<(), ChangeError> {
        let now = self.now;
        match action {
            Action::StartFlow { flow } | Action::StopFlow { flow } => {
                let start = matches!(action, Action::StartFlow { .. });
                self.outbox.traffic.switch(now, flow, start, &mut self.recorder);
            }
            _ => {}
        }
        self.network.change(now, action, &basis(self.setting), &mut self.outbox)?;
        let detail = match action.element() {
            Some(element) => format!("{element}: {action}"),
            None => action.to_string(),
        };
        self.recorder.event(now, "event", subject, &detail);
        Ok(())
    }

    /// Sends what has left the model.
    fn flush(&mut self) -> Result<(), RunError> {
        for queue in self.setting.queues {
            let noted = queue.gate.noted();
            for late in noted.late {
                self.counts.lateness.add(late);
                self.counts.latest = self.counts.latest.max(late);
            }
            self.counts.unsent += noted.unsent;
            self.counts.unknown += noted.unknown;
        }
        let pairs = self.setting.links.iter().zip(&mut self.outbox.waiting);
        let ways =
            pairs.flat_map(|(links, waiting)| Host::BOTH.into_iter().zip(links).zip(waiting));
        for ((host, link), waiting) in ways {
            let link = link.as_fd();
            let room = if self.setting.offload { JOINED } else { BATCH };
            self.outbox.traffic.leave(self.clock.now(), host, waiting);
            for some in waiting.chunks(room) {
                let now = self.clock.now();
                for (left, _) in some {
                    let late = now.since(*left);
                    self.counts.lateness.add(late);
                    self.counts.latest = self.counts.latest.max(late);
                }
                let packets = some.iter().map(|(_, packet)| packet);
                let frames: Vec<Outgoing<'_>> = if self.setting.offload {
                    let whole = joined(packets);
                    self.counts.joined += (some.len() - whole.len()) as u64;
                    whole
                } else {
                    packets.map(Outgoing::alone).collect()
                };
                let frames: Vec<_> = frames.iter().map(Outgoing::parts).collect();
                for some in frames.chunks(BATCH) {
                    self.counts.unsent += send(link, some).map_err(|why| lost(host, &why))?;
                }
            }
            waiting.clear();
        }
        Ok(())
    }

    /// The hosts do what is due; true if the run is over.
    fn act(&mut self, now: Time) -> Result<bool, RunError> {
        for wish in self.outbox.traffic.act(now, &mut self.recorder)? {
            match wish {
                Wish::End => return Ok(true),
                Wish::Happened(at, flow, edge) => self.note(at, flow, edge),
                Wish::Change(action, answer) => {
                    let outcome = self.change("command", &action);
                    answer(outcome.map_err(|why| why.to_string()));
                    self.flush()?;
                }
            }
        }
        Ok(false)
    }

    /// Now and then: progress, status, captures, the machine.
    fn tell(&mut self, now: Time, watch: &dyn Watch) -> Result<(), RunError> {
        if now >= self.next_status {
            let recent = &mut self.network.observer.recent;
            let topology = &self.network.topology;
            let seen = Seen { topology, recent, lateness: &self.counts.lateness };
            self.outbox.traffic.status(now, &seen);
            recent.iter_mut().for_each(Distribution::clear);
            self.next_status = now + Span::from_millis(500);
        }
        if now < self.next_tell {
            return Ok(());
        }
        self.next_tell = now + TELL;
        watch.progress(now.since(Time::ZERO));
        if watch.cancelled() {
            return Err(RunError::Cancelled);
        }
        if let Some(captures) = &mut self.network.observer.captures {
            captures.check()?;
        }
        let backs = self.setting.queues.iter().map(|queue| &queue.back);
        for link in self.setting.links.iter().flatten().chain(backs) {
            // An interface that is gone is found where frames are read.
            let overrun = sys::packet_statistics(link.as_fd()).map_or(0, |(_, overrun)| overrun);
            self.counts.overrun += u64::from(overrun);
        }
        if self.clock.was_suspended() {
            return Err(RunError::Environment {
                why: "the machine was suspended during the run".to_owned(),
                help: "run it again".to_owned(),
            });
        }
        Ok(())
    }

    /// Waits for a frame or until shortly before something is due, and then for that.
    fn wait(&self, end: Time) -> Result<(), RunError> {
        let due = self.network.agenda.next().0.min(self.due()).min(end);
        let now = self.clock.now();
        let nap = due.since(now).saturating_sub(NEAR).min(LOOK);
        if nap > Span::ZERO {
            let wakes = self.outbox.traffic.wakes();
            let links = self.setting.links.iter().flatten().map(AsFd::as_fd);
            let backs = self.setting.queues.iter().map(|queue| queue.back.as_fd());
            let all: Vec<BorrowedFd<'_>> = links.chain(backs).chain(wakes).collect();
            let mut fds: Vec<PollFd<'_>> =
                all.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
            let nap = Timespec::try_from(Duration::from_nanos(nap.as_nanos())).ok();
            return match poll(&mut fds, nap.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
                Err(why) => Err(RunError::Failed(format!("poll: {why}"))),
            };
        }
        while self.clock.now() < due {
            std::hint::spin_loop();
        }
        Ok(())
    }

    fn finish(mut self, machine: Machine) -> Result<Outcome, RunError> {
        let end = self.now;
        if end + Span::from_millis(1) > self.next_sample.saturating_sub(Span::from_millis(1)) {
            self.ports.step(&mut self.recorder, end, &mut self.network.topology);
        }
        let topology = &self.network.topology;
        ports::tc(&mut self.recorder, end, "teardown", topology);
        self.outbox.traffic.finish(end, &mut self.recorder, topology);
        let mut delays = self.network.observer.delays;
        if end < Time::ZERO + self.setting.scenario.length() {
            // The traffic ended it: a window up to here is a sum of what is recorded.
            delays.cut(whole_millis(end));
        }
        let (delays, sojourns) = delays.finish(end);
        for (element, quantity, distribution) in &sojourns {
            self.recorder.histogram(element, quantity, distribution);
        }
        ports::totals(&mut self.recorder, topology);
        let of = |share| quantile(&self.counts.lateness, share).map_or(f64::NAN, Span::as_secs_f64);
        let length = end.since(Time::ZERO);
        let validity = Validity {
            late_p50_s: of(0.5),
            late_p99_s: of(0.99),
            late_max_s: self.counts.latest.as_secs_f64(),
            overrun: self.counts.overrun,
            unsent: self.counts.unsent,
            oversized: self.counts.oversized,
            unknown: self.counts.unknown,
            frames: self.counts.frames,
            super_packets: self.counts.super_packets,
            joined: self.counts.joined,
            stopped: self.counts.stopped.as_secs_f64() / length.as_secs_f64().max(1e-9),
            clock_steps: self.clock.steps,
            relay_cpu: machine.relay.as_secs_f64() / length.as_secs_f64().max(1e-9),
            spin: self.setting.spin,
            busy: machine.busy,
            stolen: machine.stolen,
        };
        self.recorder.histogram(MACHINE, "lateness", &self.counts.lateness);
        for (name, value) in validity.totals() {
            self.recorder.total(MACHINE, name, value);
        }
        if let Some(captures) = self.network.observer.captures.take() {
            captures.finish()?;
        }
        let has_programs = programs::are_in(self.setting.scenario);
        let tables = self.recorder.finish(delays, |table| table != "output" || has_programs);
        Ok(Outcome { tables, length, validity })
    }
}

/// Whether a flow ends before it is stopped.
const fn ends_by_itself(traffic: &Kind) -> bool {
    match traffic {
        Kind::Tcp(tcp) => tcp.bytes.is_some(),
        Kind::Program(_) => true,
        _ => false,
    }
}

/// A time without its part of a millisecond: what files state.
pub(crate) const fn whole_millis(at: Time) -> Time {
    Time::from_nanos(at.as_nanos() / 1_000_000 * 1_000_000)
}

/// Sends frames; returns how many the interface did not take. An error says that it is gone.
fn send(link: BorrowedFd<'_>, frames: &[(Offloaded, &[u8])]) -> io::Result<u64> {
    let (mut rest, mut unsent) = (frames, 0);
    while !rest.is_empty() {
        match sys::send(link, rest) {
            Ok(sent) => rest = &rest[sent.max(1)..],
            Err(why) if is_gone(&why) => return Err(why),
            // The interface does not take this one: no room, or it is malformed.
            Err(_) => {
                unsent += 1;
                rest = &rest[1..];
            }
        }
    }
    Ok(unsent)
}

/// A frame on its way out, and the interface's work on it.
enum Outgoing<'a> {
    /// A packet as it is.
    Alone(&'a Frame, Offloaded),
    /// Several packets joined.
    Joined(Frame, Offloaded),
}

impl<'a> Outgoing<'a> {
    fn alone(packet: &'a Packet) -> Self {
        let checksum = packet.checksum_at();
        let offloaded = Offloaded {
            needs_checksum: checksum.is_some(),
            checksum: checksum.unwrap_or_default(),
            ..Offloaded::default()
        };
        Self::Alone(packet.frame(), offloaded)
    }

    fn parts(&self) -> (Offloaded, &[u8]) {
        match self {
            Self::Alone(frame, offloaded) => (*offloaded, frame.bytes()),
            Self::Joined(frame, offloaded) => (*offloaded, frame.bytes()),
        }
    }
}

/// Packets of one connection that follow each other, joined; packets of different connections may pass each other, those of
/// one keep their order.
fn joined<'a>(packets: impl Iterator<Item = &'a Packet>) -> Vec<Outgoing<'a>> {
    /// The first packet of a group, and what may grow from it.
    struct Group<'a> {
        key: u64,
        first: &'a Packet,
        open: Option<Joined>,
    }
    let mut groups: Vec<Group<'a>> = Vec::new();
    for packet in packets {
        let key = packet.flow_key();
        // With very many connections, an older group of one is left alone: order stays.
        let last = groups.iter_mut().rev().take(BATCH).find(|group| group.key == key);
        if let Some(Group { open: Some(open), .. }) = last
            && open.add(packet.frame())
        {
            continue;
        }
        groups.push(Group { key, first: packet, open: Joined::begin(packet.frame()) });
    }
    let outgoing = groups.into_iter().map(|Group { first, open, .. }| match open {
        Some(joined) if joined.packets() > 1 => {
            let (headers, size) = (joined.headers() as u16, joined.size() as u16);
            let kind = if joined.is_v6() { GSO_TCP_V6 } else { GSO_TCP_V4 };
            let (frame, checksum) = joined.finish();
            let offloaded = Offloaded { needs_checksum: true, kind, size, headers, checksum };
            Outgoing::Joined(frame, offloaded)
        }
        _ => Outgoing::alone(first),
    });
    outgoing.collect()
}

/// Packets of a flow that anything on the path has dropped.
pub(crate) fn dropped(topology: &Topology<Packet>, flow: usize) -> u64 {
    let ports = topology.nodes.iter().map(|node| node.port.stats());
    let boxes = topology.middleboxes.iter().map(|(_, middlebox)| middlebox.stats());
    ports.chain(boxes).map(|stats| stats.drops_of(flow)).sum()
}

/// What the machine did during a run.
#[derive(Clone, Copy)]
struct Machine {
    /// CPU time of the relay.
    relay: Span,
    busy: f64,
    stolen: f64,
}

fn basis<'a>(setting: &Setting<'a>) -> Basis<'a, Packet> {
    let Setting { carried: scenario, registry, elements, .. } = *setting;
    Basis { scenario, registry, elements, profiles: &profile }
}

/// Whether an interface is not there any more, or is off.
fn is_gone(why: &io::Error) -> bool {
    let gone = [libc::ENETDOWN, libc::ENXIO, libc::ENODEV, libc::EBADF];
    why.raw_os_error().is_some_and(|errno| gone.contains(&errno))
}

fn lost(host: Host, why: &io::Error) -> RunError {
    RunError::Environment {
        why: format!("the interface to the {} is gone: {why}", host.name()),
        help: "somebody removed it or switched it off; run it again".to_owned(),
    }
}

#[cfg(test)]
mod tests;
