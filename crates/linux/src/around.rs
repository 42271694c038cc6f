//! Kernels as hosts round the simulator's queues: which flows are by a kernel, and the world that the kernels' cards are in.
//!
//! There is a guest for each stack of kernels' flows, and each flow's ends may be two of them. A guest has two network cards, one in the namespace of the server and one in that
//! of the client. It takes its clock from this process ([`sojourn_guests`]), which is the simulator at the same time: what leaves
//! a card enters the flow's path in the simulator, next to modelled flows, and what has passed the path enters the other
//! card.
//!
//! Invariants: the run begins at one time for all guests and the simulator: each agent proposes a whole second of its clock by a
//! frame ([`Mark`]), and gets the latest of these back. A guest's clock then is the simulator's but for the guest's own way from
//! reading it to the card (below 2 µs, the same in each run). Frames of no flow are dropped. Nothing is added to a frame's time
//! but the host's jitter, which is the simulator's.

use crate::cache::Kernel;
use crate::ports::{RECEIVER_PORT, SENDER_PORT};
use crate::programs;
use crate::samples::{Sample, Samples};
use crate::schedule;
use crate::stamps::{Layout, Role, Stamp, Trace};
use crate::tunnels::{self, Inside, Outer, Tunnel};
use sojourn_engine::Watch;
use sojourn_guests::{NEVER, World};
use sojourn_model::{
    Action, At, By, Direction, EcnMode, Flow, Ip, OnOff, Ping, Pulse, Scenario, Start, Tcp,
    Traffic, When,
};
use sojourn_sim::{HandedOut, Simulation};
use sojourn_units::{Dscp, Ecn, Span, Time};
use sojourn_wire::{Frame, Transport};
use std::collections::HashMap;

/// The server's card; the client's is the next.
const SERVER: usize = 0;
/// Protocols of IP.
const ICMP: u8 = 1;
const TCP: u8 = 6;
/// EtherType of the agent's frame with the beginning of its clock (IEEE 802, for local experiments), and what it begins with.
const MARK: [u8; 2] = [0x88, 0xb5];
const MAGIC: &[u8; 8] = b"sojourn\0";

/// More time of the calendar than any guest needs to boot and to carry out its plan's first part, nanoseconds, and than one needs
/// to end behind its run.
const BOOT: u64 = 600_000_000_000;
const AFTERWARDS: Span = Span::from_secs(60);

/// Whether the hops of a scenario are the simulator's.
pub(crate) fn is_around(scenario: &Scenario) -> bool {
    scenario.hops.iter().any(|hop| hop.by == Some(By::Sojourn))
}

/// The scenario with who carries out each hop and each flow's hosts, as this engine chooses.
pub(crate) fn decided(scenario: &Scenario) -> Scenario {
    let mut decided = scenario.clone();
    for flow in &mut decided.flows {
        flow.by.get_or_insert(By::Kernel);
    }
    decided
}

/// The stacks of the kernels' flows of a decided scenario, each once, in the order of the flows.
pub(crate) fn stacks(decided: &Scenario) -> Vec<String> {
    let mut stacks: Vec<String> = Vec::new();
    for stack in decided.flows.iter().filter(|flow| is_own(flow)).flat_map(Flow::stacks) {
        if !stacks.iter().any(|known| known == stack) {
            stacks.push(stack.to_owned());
        }
    }
    stacks
}

/// Whether two kernels can be the ends of a flow of this traffic: neither end has to know how far the other is.
pub(crate) const fn is_divisible(traffic: &Traffic) -> bool {
    matches!(
        traffic,
        Traffic::Tcp(_) | Traffic::OnOff(OnOff { over: Pulse::Tcp(_), .. }) | Traffic::Ping(_)
    )
}

/// A flow's TCP at the host that only receives. What this host's kernel does not have, it does without.
fn receiving(tcp: &Tcp, kernel: Option<&Kernel>) -> Tcp {
    let lacks_control = kernel.is_some_and(|kernel| !kernel.ccs.contains(&tcp.cc));
    let lacks_accecn = kernel.is_some_and(|kernel| !kernel.has_accecn());
    Tcp {
        cc: if lacks_control { "cubic".to_owned() } else { tcp.cc.clone() },
        ecn: match tcp.ecn {
            EcnMode::AccEcn if lacks_accecn => EcnMode::Rfc3168,
            mode => mode,
        },
        bytes: None,
        app_rate: None,
        host_qdisc: None,
        ..tcp.clone()
    }
}

/// Whether a flow of a guest's part of a scenario is the guest's.
pub(crate) fn is_own(flow: &Flow) -> bool {
    flow.by == Some(By::Kernel)
}

/// The part of a decided scenario that is the kernel's of this stack: hosts with a wire between them, and the events that are
/// theirs. All flows keep their numbers, by which their ports differ on the wire: a ping that never starts takes the place of
/// another's flow. A flow that only ends at this kernel never starts here either, and its receiver waits for it.
pub(crate) fn of_kernel(decided: &Scenario, stack: &str, kernel: Option<&Kernel>) -> Scenario {
    let mut own = decided.clone();
    stack.clone_into(&mut own.stack);
    own.hops.clear();
    for flow in &mut own.flows {
        flow.hops.clear();
        let has = [&flow.stack, flow.receiver()].map(|name| is_own(flow) && name == stack);
        flow.receiver_stack = None;
        if let [false, true] = has {
            flow.by = Some(By::Sojourn);
            stack.clone_into(&mut flow.stack);
            (flow.start, flow.stop) = (Start::Event, None);
            if let Some(tcp) = flow.traffic.tcp() {
                flow.traffic = Traffic::Tcp(receiving(tcp, kernel));
            }
        } else if !has[0] {
            let ping = Ping { interval: Span::from_secs(1), size: 84, ecn: Ecn::NotEct };
            *flow = Flow {
                by: Some(By::Sojourn),
                stack: stack.to_owned(),
                ip: Ip::V4,
                dscp: Dscp::BEST_EFFORT,
                start: Start::Event,
                stop: None,
                traffic: Traffic::Ping(ping),
                ..flow.clone()
            };
        }
    }
    let is_named = |name: &String| own.flows.iter().any(|f| is_own(f) && f.name == *name);
    own.events.retain_mut(|event| {
        event.actions.retain(|action| match action {
            Action::StartFlow { flow } | Action::StopFlow { flow } => is_named(flow),
            _ => false,
        });
        // What an event follows may be no part of this.
        if let Some(at) = schedule::time_of(decided, &event.when) {
            let at = at.as_nanos() as i64 - decided.warmup.as_nanos() as i64;
            event.when = When::At(At::from_nanos(at));
        }
        !event.actions.is_empty()
    });
    own.phases.clear();
    own
}

/// The frame by which an agent proposes the beginning of the run's clock, and the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Mark {
    /// The guest's time when it sent the proposal, nanoseconds.
    now: u64,
    /// The guest's time when the run begins.
    begins: u64,
}

/// Where a mark's content begins.
const CONTENT: usize = 14;

impl Mark {
    fn read(frame: &[u8]) -> Option<Self> {
        let content = frame.get(CONTENT..).filter(|_| frame[12..14] == MARK)?;
        let content = content.strip_prefix(MAGIC)?;
        let word = |at: usize| Some(u64::from_ne_bytes(content.get(at..at + 8)?.try_into().ok()?));
        Some(Self { now: word(0)?, begins: word(8)? })
    }

    /// The same frame with this beginning.
    fn answer(mut frame: Vec<u8>, begins: u64) -> Vec<u8> {
        let at = CONTENT + MAGIC.len() + 8;
        frame[at..at + 8].copy_from_slice(&begins.to_ne_bytes());
        frame
    }
}

/// What a frame of a kernel's flow is: the flow by its number in the kernel's scenario, and what the stamps say.
fn stamp_of(frame: &Frame, flows: &[Flow]) -> Option<Stamp> {
    let bytes = frame.bytes();
    let [source, destination] = frame.addresses();
    let is_v6 = source.len() == 16;
    let ip = bytes.get(14..)?;
    let tos = frame.dscp().tos(frame.ecn());
    let id = if is_v6 { 0 } else { u16::from_be_bytes([*ip.get(4)?, *ip.get(5)?]) };
    let start = 14 + if is_v6 { 40 } else { usize::from(*ip.first()? & 15) * 4 };
    let l4 = bytes.get(start..start + frame.l4_len())?;
    let long = |at: usize| l4.get(at..at + 4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]));
    let word = |at: usize| l4.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]]));
    let blank = Stamp {
        at: 0,
        seq: 0,
        ack: 0,
        tap: 0,
        flow: 0,
        id,
        length: (frame.l4_len() + if is_v6 { 40 } else { 20 }) as u16,
        tos,
        flags: 0,
        protocol: *ip.get(if is_v6 { 6 } else { 9 })?,
        way: 0,
        connection: 0,
    };
    let flow_of = |number: usize| flows.get(number).map(|_| number as u16);
    if let Some((number, from_server)) = programs::owner(source, destination, flows) {
        let way = u8::from(from_server != (flows[number].direction == Direction::Down));
        let ports = frame.ports().map(|[from, to]| {
            let [server, client] = if from_server { [from, to] } else { [to, from] };
            u32::from(server) << 16 | u32::from(client)
        });
        let tcp = frame.tcp();
        let udp = u16::from(frame.transport() == Some(Transport::Udp)) * 8;
        let hash = l4.iter().fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
        });
        return Some(Stamp {
            flow: number as u16,
            way,
            connection: ports.unwrap_or(u32::MAX),
            seq: tcp.map_or(hash, |tcp| tcp.seq),
            ack: tcp.map_or(0, |tcp| tcp.ack),
            flags: tcp.map_or(0, |tcp| tcp.flags),
            id: if is_v6 && tcp.is_some() { word(16)? } else { id },
            length: tcp.map_or((l4.len() as u16).saturating_sub(udp), |tcp| tcp.payload as u16),
            ..blank
        });
    }
    if frame.transport().is_none() {
        // Echo requests and replies (RFC 792, RFC 4443).
        let [request, reply] = if is_v6 { [128, 129] } else { [8, 0] };
        let kind = *l4.first()?;
        let flow = flow_of(word(4)?.into())?;
        let is_ping = matches!(flows[usize::from(flow)].traffic, Traffic::Ping(_));
        let way = u8::from(kind == reply);
        let seq = word(6)?.into();
        return (is_ping && (kind == request || kind == reply)).then_some(Stamp {
            seq,
            flow,
            way,
            ..blank
        });
    }
    let [from, to] = frame.ports()?.map(usize::from);
    let way = u8::from(from < SENDER_PORT);
    let [tx, rx] = if way == 1 { [to, from] } else { [from, to] };
    let number = tx.checked_sub(SENDER_PORT)?;
    let flow = flow_of(number)?;
    let is_short = matches!(flows[number].traffic, Traffic::ShortFlows(_));
    if !is_short && rx.checked_sub(RECEIVER_PORT) != Some(number) {
        return None;
    }
    let connection = if is_short { (tx as u32) << 16 | rx as u32 } else { 0 };
    let stamp = Stamp { flow, way, connection, ..blank };
    Some(match frame.tcp() {
        Some(tcp) => Stamp {
            seq: tcp.seq,
            ack: tcp.ack,
            flags: tcp.flags,
            id: if is_v6 { word(16)? } else { id },
            length: tcp.payload as u16,
            ..stamp
        },
        None => Stamp { seq: long(8)?, ..stamp },
    })
}

/// What a frame is that may be in one of these tunnels, as [`stamp_of`]. The DSCP and the ECN field are the outer ones: what
/// queues see and mark. Of an encrypted packet nothing is known but its number, its length and its way.
fn stamp_in(frame: &Frame, flows: &[Flow], tunnels: &[Tunnel]) -> Option<Stamp> {
    let Some(Outer { tunnel, from_server, inside }) = tunnels::read(frame, tunnels) else {
        let is_outside =
            |stamp: &Stamp| tunnels.iter().all(|t| !t.flows.contains(&usize::from(stamp.flow)));
        return stamp_of(frame, flows).filter(is_outside);
    };
    let tos = frame.dscp().tos(frame.ecn());
    match inside {
        Inside::Packet(inner) => {
            let stamp = stamp_of(&inner, flows)?;
            tunnel.flows.contains(&stamp.flow.into()).then_some(Stamp { tos, ..stamp })
        }
        Inside::Encrypted { counter, length } => {
            let number = *tunnel.flows.first()?;
            Some(Stamp {
                at: 0,
                seq: counter,
                ack: 0,
                tap: 0,
                flow: number as u16,
                id: 0,
                length,
                tos,
                flags: 0,
                protocol: 0,
                way: way(&flows[number], from_server),
                connection: 0,
            })
        }
        Inside::Own => None,
    }
}

/// The way of what a flow's host at this end sends: 0 for data, 1 for what comes back.
fn way(flow: &Flow, from_server: bool) -> u8 {
    u8::from(from_server != (flow.direction == Direction::Down))
}

/// The taps of [`layout`]: data and answers enter the way down, leave it, and the same of the way up.
fn tap(enters: bool, down: bool) -> u16 {
    2 * u16::from(!down) + u16::from(!enters)
}

/// Each way between the cards is as one queue; its taps are the cards.
pub(crate) fn layout(own: &Scenario) -> Layout {
    let roles = (0..4).map(|tap| {
        let (enters, down) = (tap % 2 == 0, tap < 2);
        let of_flow = |flow: &Flow| {
            let is_data = down == (flow.direction == Direction::Down);
            Role {
                first: (enters && is_data).then_some(Some(0)),
                last: !enters && is_data,
                back: !enters && !is_data,
                back_first: enters && !is_data,
            }
        };
        own.flows.iter().map(of_flow).collect()
    });
    Layout {
        taps: vec![(0, true), (0, false), (1, true), (1, false)],
        roles: roles.collect(),
        later: Vec::new(),
        queues: 2,
        flows: own.flows.len(),
        step: own.sample_interval.as_nanos(),
        off: vec![Vec::new(); 2],
    }
}

/// A guest as the world sees it.
#[derive(Debug)]
pub(crate) struct Guest {
    /// Its part of the scenario.
    pub(crate) own: Scenario,
    layout: Layout,
    /// What its cards' frames tell.
    pub(crate) trace: Trace,
    /// The tunnels that it is the ends of.
    pub(crate) tunnels: Vec<Tunnel>,
    /// The numbers of connections besides a flow's own.
    connections: HashMap<(u16, u32), u32>,
    /// Its proposal, once it has come, and when that was in the calendar's time.
    proposal: Option<(u64, Mark, Vec<u8>)>,
}

impl Guest {
    /// The guest of a stack, which this kernel stands for.
    pub(crate) fn new(decided: &Scenario, stack: &str, kernel: &Kernel) -> Self {
        let own = of_kernel(decided, stack, Some(kernel));
        let layout = layout(&own);
        let trace = Trace::new(&layout);
        let tunnels = tunnels::of_guest(&tunnels::of(decided), |flow| is_own(&own.flows[flow]));
        Self { own, layout, trace, tunnels, connections: HashMap::new(), proposal: None }
    }

    /// What a frame of one of its flows is; nothing of a frame that comes from the wrong side.
    fn stamp(&self, frame: &Frame, at: Time, enters: bool, down: bool) -> Option<Stamp> {
        let stamp = stamp_in(frame, &self.own.flows, &self.tunnels)?;
        let flow = &self.own.flows[usize::from(stamp.flow)];
        let is_its = (stamp.way == 0) == (down == (flow.direction == Direction::Down));
        is_its.then(|| Stamp { at: at.as_nanos(), tap: tap(enters, down), ..stamp })
    }
}

impl Guest {
    /// Of a frame that is a tunnel's own, from this side, the flow by which it goes and whether it goes the way of answers.
    fn own_of_tunnel(&self, frame: &Frame, down: bool) -> Option<(usize, bool)> {
        let Outer { tunnel, from_server, inside } = tunnels::read(frame, &self.tunnels)?;
        let flow = *tunnel.flows.first()?;
        let is_it = inside == Inside::Own && from_server == down;
        is_it.then(|| (flow, way(&self.own.flows[flow], from_server) == 1))
    }
}

/// The guests of a flow that kernels carry out: who sends its data, and who receives it.
type Ends = Option<[usize; 2]>;

/// Of each flow of a decided scenario, with the stacks of the guests.
fn ends(decided: &Scenario, stacks: &[String]) -> Vec<Ends> {
    let guest = |stack: &str| stacks.iter().position(|known| known == stack);
    let ends_of = |flow: &Flow| Some([guest(&flow.stack)?, guest(flow.receiver())?]);
    decided.flows.iter().map(|flow| ends_of(flow).filter(|_| is_own(flow))).collect()
}

/// Fills in the received bytes of each flow with its receiver at another guest: each sample of the sender takes those of the
/// receiver's first sample at or after it. Both guests sample at the same times; only a flow's last sample may come between two,
/// and takes the bytes of the next step.
pub(crate) fn join_ends(decided: &Scenario, stacks: &[String], samples: &mut [&mut Samples]) {
    for (number, ends) in ends(decided, stacks).into_iter().enumerate() {
        let Some([sender, receiver]) = ends.filter(|ends| ends[0] != ends[1]) else { continue };
        let read: Vec<(u64, u64)> = samples[receiver].received(number).collect();
        for sample in &mut samples[sender].all {
            if let Sample::Tcp(tcp) = sample
                && tcp.flow == number
            {
                let next = read.partition_point(|(at, _)| *at < tcp.at);
                tcp.received = read.get(next).or(read.last()).map_or(0, |(_, bytes)| *bytes);
            }
        }
    }
}

/// The simulator as the world of the kernels' cards: of each guest the server's, then the client's.
pub(crate) struct Around<'a> {
    simulation: Simulation,
    pub(crate) guests: Vec<Guest>,
    ends: Vec<Ends>,
    watch: &'a dyn Watch,
    /// The calendar's time at which the run begins.
    begins: Option<u64>,
    /// Answers to proposals, by cards.
    answers: Vec<(usize, Vec<u8>)>,
}

impl<'a> Around<'a> {
    /// The world of these guests, of these stacks.
    pub(crate) fn new(
        simulation: Simulation,
        (decided, stacks): (&Scenario, &[String]),
        guests: Vec<Guest>,
        watch: &'a dyn Watch,
    ) -> Self {
        let ends = ends(decided, stacks);
        Self { simulation, guests, ends, watch, begins: None, answers: Vec::new() }
    }

    /// The run of the simulator, and what each guest's frames tell.
    pub(crate) fn into_parts(mut self) -> (Simulation, Vec<Guest>) {
        for guest in &mut self.guests {
            guest.trace.finish(&guest.layout);
        }
        (self.simulation, self.guests)
    }

    /// A time of the calendar on the run's clock, unless the run has not begun.
    fn clock(&self, now: u64) -> Option<Time> {
        now.checked_sub(self.begins?).map(Time::from_nanos)
    }

    /// A guest proposes a beginning. When all have, the latest is the run's.
    fn propose(&mut self, now: u64, guest: usize, mark: Mark, frame: Vec<u8>) {
        self.guests[guest].proposal = Some((now, mark, frame));
        let ahead =
            |(now, mark, _): &(u64, Mark, Vec<u8>)| now + mark.begins.saturating_sub(mark.now);
        let proposals = self.guests.iter().map(|guest| guest.proposal.as_ref());
        let Some(all) = proposals.collect::<Option<Vec<_>>>() else { return };
        let Some(begins) = all.iter().map(|proposal| ahead(proposal)).max() else { return };
        let answers = all.iter().enumerate().map(|(guest, (now, mark, frame))| {
            (2 * guest + SERVER, Mark::answer(frame.clone(), mark.now + (begins - now)))
        });
        self.answers = answers.collect();
        self.begins = Some(begins);
    }
}

impl World for Around<'_> {
    fn next(&mut self) -> u64 {
        let next = self.simulation.next_event();
        match self.begins {
            // They go as soon as the guest that proposed last stands still.
            _ if !self.answers.is_empty() => 0,
            Some(begins) if next <= self.simulation.end() => begins + next.as_nanos(),
            _ => NEVER,
        }
    }

    fn advance(&mut self, now: u64) -> Result<(), String> {
        let Some(at) = self.clock(now) else { return Ok(()) };
        self.simulation.advance_to(at).map_err(|e| e.to_string())
    }

    fn arrived(&mut self) -> Option<(usize, Vec<u8>)> {
        if !self.answers.is_empty() {
            return Some(self.answers.remove(0));
        }
        let HandedOut { flow, to_sender, frame } = self.simulation.take_frame()?;
        let now = self.simulation.now();
        let [sender, receiver] = self.ends[flow]?;
        let guest = &mut self.guests[sender];
        let down = to_sender == (guest.own.flows[flow].direction == Direction::Up);
        if let Some(stamp) = guest.stamp(&frame, now, false, down) {
            guest.trace.take(&stamp, &guest.layout);
        }
        let number = if to_sender { sender } else { receiver };
        Some((2 * number + usize::from(down), frame.into_bytes()))
    }

    fn sent(&mut self, now: u64, card: usize, bytes: Vec<u8>) -> Result<(), String> {
        if let Some(mark) = Mark::read(&bytes) {
            self.propose(now, card / 2, mark, bytes);
            return Ok(());
        }
        let (Some(at), frame) = (self.clock(now), Frame::new(bytes)) else { return Ok(()) };
        let from = card / 2;
        if let Some(carried) = self.guests[from].own_of_tunnel(&frame, card % 2 == SERVER) {
            self.simulation.advance_to(at).map_err(|e| e.to_string())?;
            self.simulation.send_outer_frame(carried.0, carried.1, frame, false);
            return Ok(());
        }
        let stamp = self.guests[from].stamp(&frame, at, true, card % 2 == SERVER);
        let Some(stamp) = stamp else { return Ok(()) };
        let Some(ends) = self.ends[usize::from(stamp.flow)] else { return Ok(()) };
        if ends[usize::from(stamp.way == 1)] != from {
            return Ok(());
        }
        let guest = &mut self.guests[ends[0]];
        guest.trace.take(&stamp, &guest.layout);
        let connection = if stamp.connection == 0 {
            0
        } else {
            let next = guest.connections.len() as u32 + 1;
            *guest.connections.entry((stamp.flow, stamp.connection)).or_insert(next)
        };
        self.simulation.advance_to(at).map_err(|e| e.to_string())?;
        let (flow, answers) = (usize::from(stamp.flow), stamp.way == 1);
        if self.guests[from].tunnels.iter().any(|tunnel| tunnel.flows.contains(&flow)) {
            let carries = match stamp.protocol {
                TCP => stamp.length > 0,
                ICMP => false,
                // UDP, and encrypted packets, which may have data.
                _ => true,
            };
            self.simulation.send_outer_frame(flow, answers, frame, carries);
        } else {
            self.simulation.send_frame(flow, answers, connection, frame);
        }
        Ok(())
    }

    fn goes_on(&mut self, now: u64) -> bool {
        let Some(at) = self.clock(now) else { return !self.watch.cancelled() && now < BOOT };
        let end = self.simulation.end();
        self.watch.progress(at.min(end).since(Time::ZERO));
        !self.watch.cancelled() && at <= end + AFTERWARDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::TcpSample;
    use sojourn_language::{AnyWords, Experiment};
    use sojourn_units::Random;

    /// Two flows of a kernel with a model's between them, on one hop.
    fn decided_scenario() -> Scenario {
        let text = "[experiment]\nname = \"t\"\nduration = \"9s\"\n[[hop]]\nname = \"h\"\nrate = \"1mbit\"\n\
                    rtt = \"1ms\"\nqdisc = \"pfifo limit 9\"\nby = \"sojourn\"\n[[flow]]\nname = \"a\"\ncc = \"cubic\"\n\
                    [[flow]]\nname = \"b\"\ncc = \"bbr3\"\nby = \"sojourn\"\n[[flow]]\nname = \"c\"\ncc = \"reno\"\n\
                    direction = \"up\"\nstack = \"linux-5.10\"\n[[event]]\nname = \"e\"\nat = \"5s\"\nhop = \"h\"\nrate = \"2mbit\"\n\
                    [[event]]\nname = \"stop\"\nat = \"event e + 1s\"\nstop = [\"a\", \"b\"]\n";
        let experiment = Experiment::parse("t.toml", text).unwrap();
        decided(&experiment.plan(&AnyWords, 10).unwrap().into_scenarios().remove(0))
    }

    #[test]
    fn each_kernel_has_its_flows_under_their_numbers() {
        let decided = decided_scenario();
        assert_eq!(stacks(&decided), ["linux-7.3", "linux-5.10"]);
        let own = of_kernel(&decided, "linux-7.3", None);
        let names: Vec<&str> =
            own.flows.iter().filter(|f| is_own(f)).map(|f| f.name.as_str()).collect();
        assert_eq!((own.flows.len(), names), (4, vec!["a", "ping"]));
        assert_eq!(own.flows[2].start, Start::Event);
        // Of the events the part that is its own, at its time.
        assert_eq!(own.events.len(), 1);
        assert_eq!(own.events[0].actions, [Action::StopFlow { flow: "a".to_owned() }]);
        assert_eq!(own.events[0].when, When::At(At::from_secs(6)));
        assert!(of_kernel(&decided, "linux-5.10", None).events.is_empty());
    }

    /// A flow of 7.3 that ends at 5.10 is 7.3's; at 5.10 it has a receiver that never starts, with what that kernel has.
    #[test]
    fn a_flow_between_two_kernels_is_the_senders() {
        let mut decided = decided_scenario();
        decided.flows[0].receiver_stack = Some("linux-6.1".to_owned());
        let tcp = Tcp { bytes: Some(9), ..Tcp::plain("prague", EcnMode::AccEcn) };
        decided.flows[0].traffic = Traffic::Tcp(tcp);
        let stacks = stacks(&decided);
        assert_eq!(stacks, ["linux-7.3", "linux-6.1", "linux-5.10"]);
        // The ping is 7.3's alone, and the model's flow no kernel's.
        let expected = [Some([0, 1]), None, Some([2, 2]), Some([0, 0])];
        assert_eq!(ends(&decided, &stacks), expected);
        let sender = of_kernel(&decided, "linux-7.3", None);
        assert!(is_own(&sender.flows[0]) && sender.flows[0].receiver_stack.is_none());
        assert_eq!(sender.flows[0].traffic, decided.flows[0].traffic);
        let kernel = Kernel {
            version: "6.1.9".to_owned(),
            hash: None,
            config: String::new(),
            name: None,
            source: String::new(),
            tree: false,
            options: false,
            built: 0,
            qdiscs: Vec::new(),
            ccs: vec!["cubic".to_owned()],
            accecn: Some(false),
            repeatable: None,
            programs: false,
            cards: true,
            tunnels: Vec::new(),
            program: std::path::PathBuf::new(),
        };
        let receiver = of_kernel(&decided, "linux-6.1", Some(&kernel));
        let flow = &receiver.flows[0];
        assert!(!is_own(flow) && flow.start == Start::Event && flow.stack == "linux-6.1");
        assert_eq!(flow.traffic, Traffic::Tcp(Tcp::plain("cubic", EcnMode::Rfc3168)));
        assert!(receiver.events.is_empty());
    }

    /// Each of the sender's samples has the bytes of the receiver's at its time or next after it.
    #[test]
    fn the_senders_samples_have_the_receivers_bytes() {
        let mut decided = decided_scenario();
        decided.flows[0].receiver_stack = Some("linux-6.1".to_owned());
        let stacks = stacks(&decided);
        let tcp = |at| Sample::Tcp(Box::new(TcpSample { at, ..TcpSample::default() }));
        let received = |at, bytes| Sample::Received { at, flow: 0, bytes };
        let of = |all| Samples { all, ..Samples::default() };
        let mut sender = of(vec![tcp(50), tcp(100), tcp(120), tcp(150), tcp(200)]);
        let mut receiver = of(vec![received(100, 7), received(150, 9)]);
        let mut none = Samples::default();
        join_ends(&decided, &stacks, &mut [&mut sender, &mut receiver, &mut none]);
        let bytes = sender.all.iter().map(|sample| match sample {
            Sample::Tcp(tcp) => tcp.received,
            other => panic!("{other:?}"),
        });
        assert_eq!(bytes.collect::<Vec<_>>(), [7, 7, 9, 9, 9]);
    }

    /// An IPv4 packet with a TCP header of these ports, and 3 bytes behind it; then padding.
    fn frame(from: u16, to: u16) -> Vec<u8> {
        let mut bytes = vec![0; 12];
        bytes.extend([8, 0, 0x45, 0xb8 | 3, 0, 43, 0x12, 0x34, 0, 0, 64, 6, 0, 0]);
        bytes.extend([10, 9, 9, 1, 10, 9, 9, 2]);
        bytes.extend(from.to_be_bytes());
        bytes.extend(to.to_be_bytes());
        bytes.extend([0, 0, 0, 7, 0, 0, 0, 9, 0x50, 0x10, 0, 0, 0, 0, 0, 0, 1, 2, 3]);
        bytes.resize(60, 0);
        bytes
    }

    #[test]
    fn ports_identify_frames() {
        let own = of_kernel(&decided_scenario(), "linux-7.3", None);
        let of = |from, to| stamp_of(&Frame::new(frame(from, to)), &own.flows);
        let data = of(40_001, 5_001).unwrap();
        assert_eq!((data.flow, data.way, data.seq, data.ack), (0, 0, 7, 9));
        assert_eq!((data.id, data.length, data.tos, data.flags), (0x1234, 3, 0xbb, 0x10));
        assert_eq!(of(5_001, 40_001).unwrap().way, 1);
        for (from, to) in [(40_001, 5_002), (40_009, 5_009), (80, 443), (40_000, 5_000)] {
            assert_eq!(of(from, to), None, "{from} {to}");
        }
    }

    #[test]
    fn an_answer_is_the_proposal_with_another_beginning() {
        let mut proposal = vec![255; 12];
        proposal.extend(MARK.iter().chain(MAGIC));
        for word in [5_u64, 9] {
            proposal.extend(word.to_ne_bytes());
        }
        proposal.extend([0; 20]);
        assert_eq!(Mark::read(&proposal), Some(Mark { now: 5, begins: 9 }));
        let answer = Mark::answer(proposal.clone(), 70);
        assert_eq!(Mark::read(&answer), Some(Mark { now: 5, begins: 70 }));
        assert_eq!(Mark::read(&proposal[..30]), None);
        assert_eq!(Mark::read(&frame(1, 2)), None);
    }

    /// A guest's programs may send anything.
    #[test]
    fn any_bytes_are_a_frame_or_none() {
        let (own, mut random) =
            (of_kernel(&decided_scenario(), "linux-7.3", None), Random::named(1, "frames"));
        for _ in 0..50_000 {
            let mut bytes = frame(40_001, 5_001);
            for _ in 0..random.below(6) {
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] = random.below(256) as u8;
            }
            bytes.truncate(random.below(61) as usize);
            let _ = (Mark::read(&bytes), stamp_of(&Frame::new(bytes), &own.flows));
        }
    }
}
