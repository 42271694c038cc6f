//! The loop: wake what is next, let it act, ask it when it wants to be woken again.

use crate::agenda::Agenda;
use crate::app::Wires;
use crate::app::probe::UDP_HEADERS;
use crate::host::{Ends, FlowRun, HostStack, Life, Nic, Outlet};
use crate::packet::{Body, Parcel, Pool};
use crate::recorder::Recorder;
use crate::tap::Tap;
use crate::timeline::{Item, Timeline};
use crate::topology::{self, HOST, OPEN, Role, Step, Topology, Unbuildable, stack};
use sojourn_capture::Capture;
use sojourn_engine::{RunError, Watch};
use sojourn_model::{Action, Edge, Gauge, Reference, Scenario, Shaper};
use sojourn_path::tunnel::strip;
use sojourn_path::{Charge, Deed, Pulled, Traveller as _};
use sojourn_qdisc::netem::Parameters;
use sojourn_qdisc::{Packet as _, Qdisc, Registry};
use sojourn_results::Table;
use sojourn_transport::cc::Registry as Controls;
use sojourn_transport::stack::TcpQuirks;
use sojourn_units::{ETHERNET_HEADER, Random, Span, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How often events that wait for a controller's number are looked at.
const WATCH_EVERY: Span = Span::from_millis(1);
/// How often progress is told.
const TELL_EVERY: Span = Span::from_millis(500);

/// A run under way.
pub(crate) struct Simulation<'a> {
    scenario: &'a Scenario,
    registry: &'a Registry<Parcel>,
    now: Time,
    end: Time,
    lead: Time,
    agenda: Agenda,
    /// The flows' own agenda; its next time is one slot of the other.
    flow_agenda: Agenda,
    topology: Topology,
    flows: Vec<FlowRun>,
    timeline: Timeline,
    recorder: Recorder,
    next_step: Time,
    next_watch: Time,
    told: Time,
    /// Whether any port is a device of a sending host.
    has_own_devices: bool,
    /// Flows that end by themselves and have not yet.
    unfinished: usize,
    slots: Slots,
    pool: Pool,
}

/// Where everything's slot is. At one time: the calendar first, then ports, queues' timers, flows, conditions,
/// and the recorder last.
#[derive(Clone, Copy, Debug)]
struct Slots {
    ports: usize,
    timers: usize,
    flows: usize,
    watch: usize,
    recorder: usize,
}

const CALENDAR: usize = 0;

impl Slots {
    fn new(ports: usize) -> Self {
        let timers = 1 + ports;
        let flows = timers + ports;
        Self { ports: 1, timers, flows, watch: flows + 1, recorder: flows + 2 }
    }

    fn count(self) -> usize {
        self.recorder + 1
    }
}

impl From<Unbuildable> for RunError {
    fn from(u: Unbuildable) -> Self {
        Self::Failed(format!("{}: \"{}\": {}", u.element, u.words, u.error))
    }
}

/// The ways out of a flow's two hosts by these routes.
fn wires<'a>(
    now: Time,
    nic: &'a mut Nic,
    topology: &'a mut Topology,
    pool: &'a mut Pool,
    routes: (u16, u16),
) -> Wires<'a> {
    let entry = |route: u16| usize::from(topology.routes[usize::from(route)][0].port);
    let entries = (entry(routes.0), entry(routes.1));
    Wires { now, nic, stations: &mut topology.stations, pool, routes, entries }
}

impl<'a> Simulation<'a> {
    /// A run at its beginning.
    pub(crate) fn new(
        scenario: &'a Scenario,
        (registry, controls): (&'a Registry<Parcel>, &Controls),
        capture: Option<&Capture>,
    ) -> Result<Self, RunError> {
        let topology = Topology::build(scenario, registry)?;
        let tap = capture.map(|c| Tap::new(c, scenario, &topology)).transpose()?.map(Box::new);
        // One table a stack, for all its flows.
        let mut quirks: BTreeMap<&str, Arc<TcpQuirks>> = BTreeMap::new();
        let flows: Vec<FlowRun> = scenario
            .flows
            .iter()
            .enumerate()
            .map(|(i, f)| {
                let (routes, control) = (topology.of_flow[i], topology.of_control[i]);
                let device = topology.device_of[i];
                let stack = stack(&f.stack);
                let quirks =
                    quirks.entry(stack.name).or_insert_with(|| Arc::new(stack.tcp.clone()));
                let host = HostStack { stack, quirks, controls };
                FlowRun::new(i, f, (routes, control), device, host, scenario.seed)
            })
            .collect();
        let timeline = Timeline::new(scenario, |i| {
            let flow = &scenario.flows[i];
            if flow.traffic.is_load() {
                let jitter = stack(&flow.stack).tcp.start_jitter.as_nanos();
                let name = format!("flow/{}/start", flow.name);
                Span::from_nanos(Random::named(scenario.seed, &name).below(jitter))
            } else {
                Span::ZERO
            }
        });
        let slots = Slots::new(topology.stations.len());
        let mut recorder = Recorder::new(scenario, &topology);
        recorder.tc(Time::ZERO, "setup", &topology);
        let lead = Time::ZERO + scenario.lead;
        let mut sim = Self {
            now: Time::ZERO,
            end: Time::ZERO + scenario.length(),
            lead,
            agenda: Agenda::new(slots.count()),
            flow_agenda: Agenda::new(flows.len()),
            has_own_devices: topology.stations.iter().any(|station| station.own),
            unfinished: flows.iter().filter(|f| f.finite).count(),
            flows,
            timeline,
            recorder,
            next_step: Time::ZERO + scenario.step,
            next_watch: Time::NEVER,
            told: Time::ZERO,
            slots,
            pool: Pool::new(tap),
            topology,
            scenario,
            registry,
        };
        sim.agenda.set(CALENDAR, sim.timeline.next());
        sim.agenda.set(slots.recorder, sim.next_step.min(sim.told + TELL_EVERY));
        for port in 0..sim.topology.stations.len() {
            sim.set_queue_timer(port);
        }
        if !sim.timeline.conditions.is_empty() {
            sim.next_watch = Time::ZERO + WATCH_EVERY;
            sim.agenda.set(slots.watch, sim.next_watch);
        }
        Ok(sim)
    }

    /// Runs to the end and returns the tables.
    pub(crate) fn run(mut self, watch: &dyn Watch) -> Result<Vec<Table>, RunError> {
        let s = self.slots;
        loop {
            let (at, slot) = self.agenda.next();
            // What happens exactly at the end still belongs to the run.
            if at > self.end {
                break;
            }
            debug_assert!(at >= self.now, "time runs back");
            self.now = at;
            if slot >= s.ports && slot < s.timers {
                self.drain(slot - s.ports);
            } else if slot == s.flows {
                self.wake_flow();
            } else if slot < s.flows && slot >= s.timers {
                let port = slot - s.timers;
                self.topology.stations[port].port.on_timer(at);
                self.set_queue_timer(port);
            } else if slot == s.recorder {
                if at == self.next_step {
                    self.recorder.step(at, &self.flows, &mut self.topology);
                    self.next_step = at + self.scenario.step;
                }
                if at.since(self.told) >= TELL_EVERY {
                    self.told = at;
                    watch.progress(at.since(Time::ZERO));
                    if let Some(tap) = &mut self.pool.tap {
                        tap.check()?;
                    }
                    if watch.cancelled() {
                        return Err(RunError::Cancelled);
                    }
                }
                // A long step is no reason for silence.
                self.agenda.set(slot, self.next_step.min(self.told + TELL_EVERY));
            } else if slot == CALENDAR {
                self.calendar()?;
            } else {
                self.watch_conditions();
            }
        }
        self.now = self.end;
        // A length that is no multiple of the step ends with a shorter one.
        if self.next_step < self.end + self.scenario.step {
            self.recorder.step(self.end, &self.flows, &mut self.topology);
        }
        for i in 0..self.flows.len() {
            if self.flows[i].life == Life::Running {
                self.note_end(i, "end of the run");
            }
        }
        self.recorder.tc(self.end, "teardown", &self.topology);
        watch.progress(self.scenario.length());
        if let Some(tap) = self.pool.tap.take() {
            tap.finish()?;
        }
        Ok(self.recorder.finish(self.scenario, &self.flows, &self.topology))
    }

    fn set_queue_timer(&mut self, port: usize) {
        let at = self.topology.stations[port].port.next_timer();
        self.agenda.set(self.slots.timers + port, at);
    }

    /// Takes from a port what may leave now.
    #[inline]
    fn drain(&mut self, port: usize) {
        loop {
            let Topology { stations, air, .. } = &mut self.topology;
            match stations[port].port.pull(self.now, air) {
                Pulled::Packet(packet, stay) => {
                    self.recorder.delays.left(self.now, port, packet.flow as usize, stay);
                    if let Some(tap) = &mut self.pool.tap {
                        tap.left(self.now, port, &packet);
                    }
                    self.forward(packet);
                }
                Pulled::Later(at) => {
                    self.agenda.set(self.slots.ports + port, at);
                    break;
                }
            }
        }
        if self.has_own_devices && self.topology.stations[port].own {
            self.give_back(port);
        }
    }

    /// What a device of a sending host is done with goes back to the sockets, which may send more.
    #[cold]
    #[inline(never)]
    fn give_back(&mut self, port: usize) {
        let device = &mut self.topology.stations[port].port;
        // All of an exchange at once: the kernel's sockets go on when the interrupt is over.
        let mut done: Vec<Charge> = Vec::new();
        while let Some(charge) = device.take_return(self.now) {
            match done.iter_mut().find(|d| (d.flow, d.key) == (charge.flow, charge.key)) {
                Some(sum) => sum.bytes += charge.bytes,
                None => done.push(charge),
            }
        }
        let slot = self.slots.ports + port;
        let wake = self.agenda.time(slot).min(device.next_return());
        self.agenda.set(slot, wake);
        for charge in done {
            self.sent_off(&charge);
        }
    }

    /// A flow's sender hears that its device is done with some of its packets.
    fn sent_off(&mut self, done: &Charge) {
        let (now, index) = (self.now, done.flow as usize);
        let flow = &mut self.flows[index];
        let routes = (flow.nic.there, flow.nic.back);
        match &mut flow.ends {
            Ends::Tcp(sender, _) if done.key == flow.nic.owner.key => {
                let entry = usize::from(self.topology.routes[usize::from(routes.0)][0].port);
                let entry = &mut self.topology.stations[entry];
                let mut out = Outlet { nic: &mut flow.nic, entry, pool: &mut self.pool, now };
                sender.on_sent_off(now, done.bytes, &mut out);
            }
            Ends::Short(short) => {
                let (nic, topology, pool) = (&mut flow.nic, &mut self.topology, &mut self.pool);
                let mut wires = wires(now, nic, topology, pool, routes);
                short.on_sent_off(&mut wires, done.key, done.bytes);
            }
            Ends::Streaming(streaming) => {
                let (nic, topology, pool) = (&mut flow.nic, &mut self.topology, &mut self.pool);
                let mut wires = wires(now, nic, topology, pool, routes);
                streaming.connection.on_sent_off(&mut wires, done.bytes);
            }
            Ends::Tcp(..) | Ends::Probe(_) | Ends::Stream(_) => return,
        }
        self.stir(self.entry(routes.0));
        self.set_flow_timer(index);
    }

    /// A packet has left a port: on to the next, or to its host.
    #[inline]
    fn forward(&mut self, mut packet: Parcel) {
        packet.leg += 1;
        let leg = self.topology.routes[usize::from(packet.route)][usize::from(packet.leg)];
        if leg.way == 0 {
            self.reach(leg.port, packet);
        } else {
            self.go_through(packet);
        }
    }

    /// A packet has come to the end of its leg.
    #[inline]
    fn reach(&mut self, port: u16, packet: Parcel) {
        if port == HOST {
            return self.arrive(packet);
        }
        let port = usize::from(port);
        if let Some(tap) = &mut self.pool.tap {
            tap.entered(self.now, port, &packet);
        }
        let station = &mut self.topology.stations[port];
        station.port.accept(self.now, packet);
        let asleep = self.agenda.time(self.slots.ports + port).is_never();
        // An own device may have dropped it.
        if asleep || station.reorders || station.own {
            self.drain(port);
        }
    }

    /// What happens on a packet's leg, and on those behind it if there is a way round a port.
    #[cold]
    fn go_through(&mut self, mut packet: Parcel) {
        let Topology { routes, ways, passages, switches, .. } = &mut self.topology;
        let route = &routes[usize::from(packet.route)];
        let port = loop {
            let leg = route[usize::from(packet.leg)];
            let steps = match leg.way {
                0 => &[][..],
                way => &ways[usize::from(way) - 1],
            };
            let mut around = 0;
            for step in steps {
                match *step {
                    Step::Pass(number) => {
                        let passage = &mut passages[usize::from(number)].1;
                        let Some(passed) = passage.pass(self.now, packet) else { return };
                        packet = passed;
                    }
                    Step::Around(switch, _) if switches[usize::from(switch)].on => {}
                    Step::Around(_, legs) => around = legs,
                }
            }
            if around == 0 {
                break leg.port;
            }
            packet.leg += around;
        };
        self.reach(port, packet);
    }

    /// A host has put packets into a port: it must be looked at.
    #[inline]
    fn stir(&mut self, port: usize) {
        let slot = self.slots.ports + port;
        if self.agenda.time(slot).is_never() || self.topology.stations[port].reorders {
            self.agenda.set(slot, self.now);
        }
    }

    /// The first port of a route.
    #[inline]
    fn entry(&self, route: u16) -> usize {
        usize::from(self.topology.routes[usize::from(route)][0].port)
    }

    /// A packet has reached its host.
    #[inline]
    fn arrive(&mut self, mut packet: Parcel) {
        let now = self.now;
        if let Some(tap) = &mut self.pool.tap {
            tap.arrived(now, &packet);
        }
        // A host takes off what no far end took, without a check of its own.
        while packet.outer().is_some() {
            let _ = strip(&mut packet);
        }
        let index = packet.flow as usize;
        let (there, back) = {
            let nic = &self.flows[index].nic;
            (self.entry(nic.there), self.entry(nic.back))
        };
        let flow = &mut self.flows[index];
        flow.arrived += 1;
        match (&packet.body, &mut flow.ends) {
            (_, Ends::Tcp(..)) if packet.key != flow.nic.owner.key => {
                self.agree(index, &packet);
            }
            (Body::Data(data), Ends::Tcp(_, receiver)) => {
                self.recorder.delays.arrived(now, index, now - packet.sent);
                if let Some(ack) = receiver.on_data(now, data, packet.ecn()) {
                    let field = receiver.ack_field();
                    if let Some(earlier) = receiver.take_earlier() {
                        let reply = flow.nic.ack(earlier, field);
                        let entry = &mut self.topology.stations[back];
                        flow.nic.send(now, entry, &mut self.pool, reply);
                    }
                    let reply = flow.nic.ack(ack, field);
                    flow.nic.send(now, &mut self.topology.stations[back], &mut self.pool, reply);
                    self.stir(back);
                }
            }
            (Body::Ack(ack), Ends::Tcp(sender, _)) => {
                let entry = &mut self.topology.stations[there];
                sender.on_ack(
                    now,
                    ack,
                    &mut Outlet { nic: &mut flow.nic, entry, pool: &mut self.pool, now },
                );
                flow.note_rtt(now >= self.lead);
                self.stir(there);
                self.finish_if_done(index);
            }
            (Body::Syn(syn), Ends::Tcp(_, receiver)) => {
                let answer = receiver.on_syn(now, syn, packet.ecn());
                let reply = flow.nic.syn_ack(answer);
                flow.nic.send(now, &mut self.topology.stations[back], &mut self.pool, reply);
                self.stir(back);
            }
            (Body::SynAck(answer), Ends::Tcp(sender, _)) => {
                let entry = &mut self.topology.stations[there];
                sender.on_syn_ack(
                    now,
                    answer,
                    &mut Outlet { nic: &mut flow.nic, entry, pool: &mut self.pool, now },
                );
                flow.note_rtt(now >= self.lead);
                self.stir(there);
            }
            (&Body::Echo { number, sent, reply }, Ends::Probe(probe)) => {
                if reply {
                    probe.on_reply(now, number);
                    if now >= self.lead {
                        flow.delays.add(now - sent);
                    }
                } else {
                    let answer = probe.reply(now, number, sent, &flow.nic);
                    flow.nic.send(now, &mut self.topology.stations[back], &mut self.pool, answer);
                    self.stir(back);
                }
            }
            (&Body::Datagram { number, sent }, Ends::Stream(stream)) => {
                self.recorder.delays.arrived(now, index, now - sent);
                if now >= self.lead {
                    flow.delays.add(now - sent);
                }
                let headers = ETHERNET_HEADER + UDP_HEADERS + packet.ip().more();
                let payload = packet.wire_len() - headers;
                stream.on_datagram(now, number, payload, packet.ecn());
            }
            (&Body::Report { expected, missing }, Ends::Stream(stream)) => {
                stream.on_report(expected, missing);
            }
            (_, Ends::Short(_) | Ends::Streaming(_)) => self.tell(index, &packet, (there, back)),
            (body, _) => unreachable!("{body:?} is not for this flow"),
        }
        self.pool.unpack(packet);
        self.set_flow_timer(index);
    }

    /// A packet has reached an application that sends both ways.
    fn tell(&mut self, index: usize, packet: &Parcel, entries: (usize, usize)) {
        let (now, ecn) = (self.now, packet.ecn());
        if matches!(packet.body, Body::Data(_)) && !packet.is_turned() {
            self.recorder.delays.arrived(now, index, now - packet.sent);
        }
        let flow = &mut self.flows[index];
        let routes = (flow.nic.there, flow.nic.back);
        let mut wires = wires(now, &mut flow.nic, &mut self.topology, &mut self.pool, routes);
        let rtt = match &mut flow.ends {
            Ends::Short(short) => short.on_packet(&mut wires, packet, ecn),
            Ends::Streaming(streaming) => streaming.on_packet(&mut wires, packet, ecn),
            Ends::Tcp(..) | Ends::Probe(_) | Ends::Stream(_) => None,
        };
        if let Some(us) = rtt
            && now >= self.lead
        {
            flow.delays.add(Span::from_micros(u64::from(us)));
        }
        self.stir(entries.0);
        self.stir(entries.1);
        self.finish_if_done(index);
    }

    /// A packet of a program's control connection has reached its host: once both agree, the flow begins. One that is
    /// late finds nobody.
    #[cold]
    fn agree(&mut self, index: usize, packet: &Parcel) {
        let flow = &mut self.flows[index];
        let Some(control) = &mut flow.control else { return };
        let (now, routes) = (self.now, control.routes);
        let mut wires = wires(now, &mut flow.nic, &mut self.topology, &mut self.pool, routes);
        control.on_packet(&mut wires, packet, packet.ecn());
        let agreed = control.is_agreed() && flow.life == Life::Agreeing;
        if control.is_quiet() {
            flow.control = None;
        }
        self.stir(self.entry(routes.0));
        self.stir(self.entry(routes.1));
        if agreed {
            self.begin(index);
        }
    }

    fn finish_if_done(&mut self, index: usize) {
        let flow = &self.flows[index];
        if flow.finite && flow.life == Life::Running && flow.is_finished() {
            self.finish(index);
        }
    }

    /// Makes sure that a flow is woken in time. Timers that moved later are left: they find out when they fire.
    #[inline]
    fn set_flow_timer(&mut self, index: usize) {
        let at = self.flows[index].next_timer();
        if at < self.flow_agenda.time(index) {
            self.flow_agenda.set(index, at);
            self.agenda.set(self.slots.flows, self.flow_agenda.next().0);
        }
    }

    fn wake_flow(&mut self) {
        let now = self.now;
        let (_, index) = self.flow_agenda.next();
        let (there, back) = {
            let nic = &self.flows[index].nic;
            (self.entry(nic.there), self.entry(nic.back))
        };
        let flow = &mut self.flows[index];
        let mut answers = false;
        let mut control_routes = None;
        if let Some(control) = &mut flow.control
            && control.next() <= now
        {
            let routes = control.routes;
            let mut wires = wires(now, &mut flow.nic, &mut self.topology, &mut self.pool, routes);
            control.on_timer(&mut wires);
            control_routes = Some(routes);
        }
        match &mut flow.ends {
            Ends::Tcp(sender, receiver) => {
                if receiver.next_timer() <= now
                    && let Some(ack) = receiver.on_timer(now)
                {
                    let reply = flow.nic.ack(ack, receiver.ack_field());
                    flow.nic.send(now, &mut self.topology.stations[back], &mut self.pool, reply);
                    answers = true;
                }
                if sender.next_timer() <= now {
                    let entry = &mut self.topology.stations[there];
                    sender.on_timer(
                        now,
                        &mut Outlet { nic: &mut flow.nic, entry, pool: &mut self.pool, now },
                    );
                }
                if let Some(writer) = &mut flow.writer
                    && writer.next() <= now
                {
                    let entry = &mut self.topology.stations[there];
                    writer.act(
                        now,
                        sender,
                        &mut Outlet { nic: &mut flow.nic, entry, pool: &mut self.pool, now },
                    );
                }
            }
            Ends::Probe(probe) => {
                if probe.next() <= now
                    && let Some(request) = probe.request(now, &flow.nic)
                {
                    flow.nic.send(now, &mut self.topology.stations[there], &mut self.pool, request);
                }
            }
            Ends::Stream(stream) => {
                if stream.next() <= now
                    && let Some(packet) = stream.packet(now, &flow.nic)
                {
                    answers = packet.route == flow.nic.back;
                    let port = if answers { back } else { there };
                    flow.nic.send(now, &mut self.topology.stations[port], &mut self.pool, packet);
                }
            }
            Ends::Short(_) | Ends::Streaming(_) => {
                self.wake_application(index);
                answers = true;
            }
        }
        if let Some((there, back)) = control_routes {
            self.stir(self.entry(there));
            self.stir(self.entry(back));
        }
        if answers {
            self.stir(back);
        }
        self.stir(there);
        let at = self.flows[index].next_timer();
        self.flow_agenda.set(index, at);
        self.agenda.set(self.slots.flows, self.flow_agenda.next().0);
    }

    fn wake_application(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        let routes = (flow.nic.there, flow.nic.back);
        let mut wires = wires(self.now, &mut flow.nic, &mut self.topology, &mut self.pool, routes);
        match &mut flow.ends {
            Ends::Short(short) => short.on_timer(&mut wires),
            Ends::Streaming(streaming) => streaming.on_timer(&mut wires),
            Ends::Tcp(..) | Ends::Probe(_) | Ends::Stream(_) => {}
        }
    }

    fn calendar(&mut self) -> Result<(), RunError> {
        while let Some(item) = self.timeline.take(self.now) {
            match item {
                Item::StartFlow(i) => self.start(i),
                Item::StopFlow(i) => self.stop(i),
                Item::PhaseStart(i) | Item::PhaseEnd(i) => {
                    let name = self.scenario.phases[i].name.clone();
                    let starts = matches!(item, Item::PhaseStart(_));
                    let (what, edge) =
                        if starts { ("start", Edge::Start) } else { ("end", Edge::End) };
                    self.recorder.happening(self.now, what, &format!("phase {name}"), "");
                    self.recorder.delays.cut(self.now);
                    self.timeline.happened(self.now, &Reference::Phase(name), edge);
                }
                Item::Event(i) => {
                    let event = &self.scenario.events[i];
                    for action in &event.actions {
                        let detail = match action.element() {
                            Some(element) => format!("{element}: {action}"),
                            None => action.to_string(),
                        };
                        let subject = format!("event {}", event.name);
                        self.recorder.happening(self.now, "event", &subject, &detail);
                        self.act(action)?;
                    }
                    let reference = Reference::Event(event.name.clone());
                    self.timeline.happened(self.now, &reference, Edge::Start);
                }
            }
        }
        self.agenda.set(CALENDAR, self.timeline.next());
        Ok(())
    }

    /// A flow's program starts: the flow begins at once, unless the program has to agree on it with its peer first.
    fn start(&mut self, index: usize) {
        if self.flows[index].life != Life::Waiting {
            return;
        }
        let flow = &mut self.flows[index];
        let Some(control) = &mut flow.control else { return self.begin(index) };
        flow.life = Life::Agreeing;
        let (now, routes) = (self.now, control.routes);
        control.open(&mut wires(now, &mut flow.nic, &mut self.topology, &mut self.pool, routes));
        self.stir(self.entry(routes.0));
        self.stir(self.entry(routes.1));
        self.set_flow_timer(index);
    }

    fn begin(&mut self, index: usize) {
        let (now, name) = (self.now, &self.scenario.flows[index].name);
        self.recorder.happening(now, "start", &format!("flow {name}"), "");
        self.recorder.flow_started(now, index);
        let (there, back) = {
            let nic = &self.flows[index].nic;
            (self.entry(nic.there), self.entry(nic.back))
        };
        let flow = &mut self.flows[index];
        flow.life = Life::Running;
        match &mut flow.ends {
            Ends::Tcp(sender, _) => {
                let entry = &mut self.topology.stations[there];
                sender.open(
                    now,
                    &mut Outlet { nic: &mut flow.nic, entry, pool: &mut self.pool, now },
                );
            }
            Ends::Probe(probe) => probe.start(now),
            Ends::Stream(stream) => stream.start(now),
            Ends::Short(short) => short.start(now),
            Ends::Streaming(streaming) => {
                let routes = (flow.nic.there, flow.nic.back);
                streaming.start(&mut wires(
                    now,
                    &mut flow.nic,
                    &mut self.topology,
                    &mut self.pool,
                    routes,
                ));
            }
        }
        if let Some(writer) = &mut flow.writer {
            writer.start(now);
        }
        self.stir(back);
        self.stir(there);
        self.set_flow_timer(index);
        let reference = Reference::Flow(name.clone());
        self.timeline.happened(now, &reference, Edge::Start);
        self.agenda.set(CALENDAR, self.timeline.next());
    }

    fn stop(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        match flow.life {
            Life::Ended => return,
            // Whoever waits for its end waits for nothing more.
            Life::Waiting | Life::Agreeing => {
                return self.end_flow(index, "stopped before it started");
            }
            Life::Running => {}
        }
        match &mut flow.ends {
            Ends::Tcp(sender, _) => sender.stop(self.now),
            Ends::Probe(probe) => probe.stop(),
            Ends::Stream(stream) => stream.stop(),
            Ends::Short(short) => short.stop(),
            Ends::Streaming(streaming) => streaming.stop(self.now),
        }
        if let Some(writer) = &mut flow.writer {
            writer.stop();
        }
        self.end_flow(index, "stopped");
    }

    /// A flow with an end has reached it.
    fn finish(&mut self, index: usize) {
        self.end_flow(index, "finished");
    }

    fn end_flow(&mut self, index: usize, how: &str) {
        self.note_end(index, how);
        let name = self.scenario.flows[index].name.clone();
        self.timeline.happened(self.now, &Reference::Flow(name), Edge::End);
        if self.flows[index].finite {
            self.unfinished -= 1;
            if self.unfinished == 0 {
                self.timeline.happened(self.now, &Reference::Workload, Edge::End);
            }
        }
        self.agenda.set(CALENDAR, self.timeline.next());
    }

    fn note_end(&mut self, index: usize, how: &str) {
        if self.flows[index].life == Life::Running {
            self.recorder.flow_row(self.now, index, &self.flows[index]);
        }
        self.flows[index].life = Life::Ended;
        let subject = format!("flow {}", self.scenario.flows[index].name);
        self.recorder.happening(self.now, "end", &subject, how);
    }

    fn act(&mut self, action: &Action) -> Result<(), RunError> {
        let now = self.now;
        match action {
            Action::Rate { element, rate } => {
                if let Some(port) = self.queue_port(element) {
                    if !self.topology.stations[port].port.set_rate(now, *rate) {
                        return Err(RunError::Failed(format!("{element} has no shaper to set")));
                    }
                    self.drain(port);
                } else if let Some(passage) = self.topology.passage(element) {
                    let Deed::Police(policer) = &mut passage.deed else {
                        return Err(RunError::Failed(format!("{element} has no rate to set")));
                    };
                    policer.set_rate(now, *rate);
                }
            }
            Action::ChangeQdisc { element, qdisc } => {
                if let Some(port) = self.queue_port(element) {
                    let changed =
                        self.topology.stations[port].port.change(now, qdisc, self.registry);
                    changed.map_err(|e| RunError::Failed(format!("{element}: {e}")))?;
                    self.after_change(port);
                }
            }
            Action::ReplaceQdisc { element, qdisc, shaper } => {
                if let Some(port) = self.queue_port(element) {
                    self.replace(port, element, qdisc, *shaper)?;
                    self.after_change(port);
                }
            }
            Action::Delay { element, flow, delay } => {
                for port in self.topology.netems(element, flow.as_deref()) {
                    let station = &self.topology.stations[port];
                    let first = matches!(station.role, Role::Netem { link: 0, .. });
                    if let Some(netem) = station.netem.clone().filter(|_| first) {
                        let words = netem.with_delay(*delay).to_string();
                        self.change_netem(port, element, &words)?;
                    }
                }
            }
            Action::ChangeNetem { element, chain } => {
                for port in self.topology.netems(element, None) {
                    let Role::Netem { link, .. } = self.topology.stations[port].role else {
                        continue;
                    };
                    let words = chain.get(link).map_or(OPEN, String::as_str);
                    self.change_netem(port, element, words)?;
                }
            }
            Action::StartFlow { flow } => {
                if let Some(i) = self.flow_index(flow) {
                    self.start(i);
                }
            }
            Action::StopFlow { flow } => {
                if let Some(i) = self.flow_index(flow) {
                    self.stop(i);
                }
            }
            Action::Enable { element } => {
                self.topology.switch(element, true);
                if let Some(port) = self.queue_port(element) {
                    self.topology.stations[port].port.restart(now);
                    self.after_change(port);
                }
            }
            Action::Disable { element } => {
                self.topology.switch(element, false);
                if let Some(port) = self.queue_port(element) {
                    self.topology.stations[port].port.clear(now);
                    self.after_change(port);
                }
            }
        }
        Ok(())
    }

    fn flow_index(&self, name: &str) -> Option<usize> {
        self.scenario.flows.iter().position(|f| f.name == name)
    }

    /// The port of a queue; none if no flow passes it.
    fn queue_port(&self, element: &str) -> Option<usize> {
        self.topology.queue(element)
    }

    fn after_change(&mut self, port: usize) {
        self.set_queue_timer(port);
        self.drain(port);
    }

    fn replace(
        &mut self,
        port: usize,
        element: &str,
        qdisc: &str,
        shaper: Option<Shaper>,
    ) -> Result<(), RunError> {
        let now = self.now;
        let stack = self.stack_at(element);
        let station = &mut self.topology.stations[port];
        let Some(shaper) = shaper else {
            return station
                .port
                .replace(now, qdisc, self.registry)
                .map_err(|e| RunError::Failed(format!("{element}: {e}")));
        };
        let name = format!("path/{element}/{}", now.as_nanos());
        let random = Random::named(self.scenario.seed, &name);
        let q = sojourn_model::Queue { shaper, qdisc: qdisc.to_owned() };
        station.port.replace_all(now, topology::queue(&q, element, stack, random, self.registry)?);
        Ok(())
    }

    /// The stack of the hop that an element is of.
    fn stack_at(&self, element: &str) -> &'static sojourn_stacks::Stack {
        let hop = element.split('.').next().unwrap_or("");
        stack(self.scenario.hop(hop).map_or("", |h| h.stack.as_str()))
    }

    fn change_netem(&mut self, port: usize, element: &str, words: &str) -> Result<(), RunError> {
        let stack = self.stack_at(element);
        let station = &mut self.topology.stations[port];
        let failed = |e| RunError::Failed(format!("{element}: {e}"));
        let netem = Parameters::parse(words, &stack.qdisc).map_err(failed)?;
        let words = format!("netem {words}");
        station.port.change(self.now, &words, self.registry).map_err(failed)?;
        // From now on packets may overtake those that have a longer delay.
        station.reorders = true;
        station.netem = Some(netem);
        self.drain(port);
        Ok(())
    }

    fn watch_conditions(&mut self) {
        let (flows, stations, scenario) = (&self.flows, &self.topology.stations, self.scenario);
        let now = self.now;
        self.timeline.check(now, |gauge| match gauge {
            Gauge::Flow { flow, name } => {
                let i = scenario.flows.iter().position(|f| f.name == *flow)?;
                let Ends::Tcp(sender, _) = &flows[i].ends else { return None };
                if name == "cwnd" {
                    return Some(f64::from(sender.tcb().control.cwnd));
                }
                let mut found = None;
                sender.gauges(&mut |n, v| {
                    if n == name {
                        found = Some(v);
                    }
                });
                found
            }
            Gauge::Queue { queue, name } => {
                let is = |r: &Role| matches!(r, Role::Queue { element } if element == queue);
                let station = stations.iter().find(|s| is(&s.role))?;
                match name.as_str() {
                    "backlog_packets" => Some(f64::from(station.port.backlog().packets)),
                    "backlog_bytes" => Some(station.port.backlog().bytes as f64),
                    _ => {
                        let mut found = None;
                        station.port.discipline().gauges(now, &mut |n, v| {
                            if n == name {
                                found = Some(v);
                            }
                        });
                        found
                    }
                }
            }
        });
        self.agenda.set(CALENDAR, self.timeline.next());
        self.next_watch =
            if self.timeline.conditions.is_empty() { Time::NEVER } else { now + WATCH_EVERY };
        self.agenda.set(self.slots.watch, self.next_watch);
    }
}
