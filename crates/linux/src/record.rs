//! From samples and stamps to the tables of a run, with where each column comes from.

use crate::around;
use crate::asked::Answers;
use crate::bypass::passes_by;
use crate::guest::Outcome;
use crate::lists::List;
use crate::netems;
use crate::plan::{Edge, Plan, queue_of};
use crate::programs;
use crate::samples::{ManySample, OFF, QueueSample, Sample, Samples, SocketsSample, TcpSample};
use crate::schedule::{self, start_offset};
use crate::stamps::{FlowCounts, Later, Layout, Left, Role, Trace};
use crate::statistics;
use sojourn_engine::RunError;
use sojourn_model::{Direction, Flow, Scenario, Side, Start, TcWords, Traffic};
use sojourn_qdisc::Reason;
use sojourn_record::{
    Completion, Distribution, FlowSample, LimitedTimes, PingSample, Provenances, Recorder,
    RecoveryState, SignalKind,
};
use sojourn_results::metrics::subjects;
use sojourn_results::{Provenance, Rows, Table, rows};
use sojourn_units::{Span, Time};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::BufReader;

/// How long an irtt client waits at the end for replies if none has come, nanoseconds.
const IRTT_WAIT: u64 = 4_000_000_000;

/// The way of a flow: its queues' hops and sides for data, in order, and for what comes back.
fn ways(scenario: &Scenario, flow: &Flow) -> [Vec<(usize, Side)>; 2] {
    let through = |side: Side| {
        let mut hops: Vec<(usize, Side)> = (0..scenario.hops.len())
            .filter(|&h| !passes_by(flow, h))
            .filter(|&h| queue_of(scenario.hops[h].side(side)).is_some())
            .map(|h| (h, side))
            .collect();
        if side == Side::Up {
            hops.reverse();
        }
        hops
    };
    match flow.direction {
        Direction::Down => [through(Side::Down), through(Side::Up)],
        Direction::Up => [through(Side::Up), through(Side::Down)],
    }
}

/// What each tap means to each flow.
pub(crate) fn layout(scenario: &Scenario, plan: &Plan, samples: &Samples) -> Layout {
    let taps: Vec<(usize, bool)> =
        plan.taps.iter().map(|t| (t.queue, t.edge == Edge::In)).collect();
    let ways: Vec<_> = scenario.flows.iter().map(|f| ways(scenario, f)).collect();
    let mut later = Vec::new();
    let mut role = |tap: usize, number: usize| {
        let (queue, enters) = taps[tap];
        let q = &plan.queues[queue];
        let here = Some((q.hop, q.side));
        let [there, back] = &ways[number];
        // The RTT needs the whole way to be known: a constant delay before the first queue, and none
        // after the last that the stamps do not show, which the order netem, queue gives.
        let first = (enters && there.first().copied() == here).then(|| {
            let delays = netems::delays(scenario, &scenario.flows[number], q.hop, q.side);
            let mut delays = delays.into_iter();
            let at_first = delays.next().and_then(|(_, delay)| delay);
            later.extend(delays.map(|(from, delay)| Later {
                tap,
                flow: number,
                from: from.as_nanos(),
                delay: delay.map(Span::as_nanos),
            }));
            at_first.map(Span::as_nanos)
        });
        Role {
            first,
            last: !enters && there.last().copied() == here,
            back: !enters && back.last().copied() == here,
            back_first: enters && back.first().copied() == here,
        }
    };
    let roles = (0..taps.len())
        .map(|tap| (0..scenario.flows.len()).map(|flow| role(tap, flow)).collect())
        .collect();
    let (queues, flows) = (plan.queues.len(), scenario.flows.len());
    let off = (0..queues).map(|queue| off(plan.queues[queue].on, queue, samples)).collect();
    Layout { taps, roles, later, queues, flows, step: scenario.sample_interval.as_nanos(), off }
}

/// When a queue was off, from and to; of a discipline that was replaced both are the same.
fn off(on: bool, queue: usize, samples: &Samples) -> Vec<(u64, u64)> {
    let mut times = Vec::new();
    let mut since = (!on).then_some(0);
    for sample in &samples.all {
        match sample {
            Sample::Last(s) if s.queue == queue => times.push((s.at, s.at)),
            Sample::Removed { at, queue: other } if *other == queue => since = Some(*at),
            Sample::Placed { at, queue: other } if *other == queue => {
                times.extend(since.take().map(|from| (from, *at)));
            }
            _ => {}
        }
    }
    times.extend(since.map(|from| (from, u64::MAX)));
    times
}

/// The tables of a run.
pub(crate) fn tables(
    scenario: &Scenario,
    plan: &Plan,
    outcome: &Outcome,
) -> Result<Vec<Table>, RunError> {
    let failed = |e: std::io::Error| RunError::Failed(format!("the packets' stamps: {e}"));
    let layout = layout(scenario, plan, &outcome.samples);
    let stamps = File::open(outcome.stamps.path()).map_err(failed)?;
    let trace = Trace::read(BufReader::new(stamps), &layout).map_err(failed)?;
    Ok(Writer::new(scenario, plan, &trace).write(&outcome.samples, outcome.answers.as_ref()))
}

/// The tables of a kernel's own flows; the stamps are of the frames at its cards. The simulator records their packets, their
/// one-way delays, queues and events.
pub(crate) fn own_tables(
    scenario: &Scenario,
    plan: &Plan,
    trace: &Trace,
    samples: &Samples,
    answers: Option<&Answers>,
) -> Vec<Table> {
    let writer = Writer { is_around: true, ..Writer::new(scenario, plan, trace) };
    let mut tables = writer.write(samples, answers);
    tables.retain(|table| table.schema().name != "delays");
    tables
}

struct Writer<'a> {
    /// Whether the simulator records queues, events and packets.
    is_around: bool,
    scenario: &'a Scenario,
    plan: &'a Plan,
    trace: &'a Trace,
    /// Its elements are the plan's queues, then its policers, then its tunnels' far ends.
    record: Recorder,
    /// When each flow started.
    began: Vec<u64>,
    replies: Vec<Vec<(u64, u64)>>,
    probes: Vec<Vec<u64>>,
    /// Of each request of a probe that has come, when it was sent and when it came.
    came: Vec<HashMap<u64, u64>>,
    /// Of each connection when it was opened, for how many bytes, and when the last of them was read.
    opened: Vec<Vec<(u64, u64, Option<u64>)>>,
    last_many: HashMap<usize, ManySample>,
    /// Packets of each policer that came, were dropped and were marked: before it was last switched off, and since.
    policed: Vec<([u64; 3], [u64; 3])>,
    /// Packets that each security association has let in, and those that its replay window has refused.
    associations: Vec<[u64; 2]>,
    last_tcp: HashMap<usize, TcpSample>,
    last_udp: HashMap<usize, (u64, u64)>,
    /// Of each queue its last numbers with those that it had before it was switched or replaced.
    last_queue: HashMap<usize, QueueSample>,
    gone: Vec<Gone>,
}

/// What a queue had counted when it went, of all times together.
#[derive(Clone, Debug, Default)]
struct Gone {
    sent_packets: u64,
    sent_bytes: u64,
    drops: u64,
    overlimits: u64,
    signals: BTreeMap<(&'static str, bool), u64>,
}

impl Gone {
    /// Adds what a queue has counted, and what it held, which is dropped.
    fn add(&mut self, s: &QueueSample) {
        self.sent_packets += s.sent_packets;
        self.sent_bytes += s.sent_bytes;
        self.drops += s.drops + s.packets;
        self.overlimits += s.overlimits;
        let own = statistics::read(&s.kind, &s.own, s.drops).signals;
        let held = (s.packets > 0).then_some((Reason::Flushed.name(), false, s.packets));
        for (reason, marked, count) in own.into_iter().chain(held) {
            *self.signals.entry((reason, marked)).or_default() += count;
        }
    }
}

impl<'a> Writer<'a> {
    fn new(scenario: &'a Scenario, plan: &'a Plan, trace: &'a Trace) -> Self {
        use Provenance::{Estimated, Exact, Sampled};
        let known = Provenances {
            flows: Rows::<rows::Flows>::new(Sampled)
                .with_provenance(|c| c.rtt_s, Estimated)
                .with_provenance(|c| c.lost, Estimated)
                .with_provenance(|c| c.ce, Estimated)
                .with_provenance(|c| c.ece, Estimated),
            queues: Rows::<rows::Queues>::new(Sampled)
                .with_provenance(|c| c.sojourn_min_s, Estimated)
                .with_provenance(|c| c.sojourn_mean_s, Estimated)
                .with_provenance(|c| c.sojourn_max_s, Estimated)
                .with_provenance(|c| c.marks, Estimated),
            completions: Rows::<rows::Completions>::new(Exact)
                .with_provenance(|c| c.bytes, Estimated),
            counters: Sampled,
            distributions: Estimated,
        };
        let elements = plan.queues.iter().map(|queue| queue.path.as_str());
        let elements = elements.chain(plan.policers.iter().map(String::as_str));
        let elements = elements.chain(plan.exits.iter().map(String::as_str));
        let n = scenario.flows.len();
        Self {
            is_around: false,
            scenario,
            plan,
            trace,
            record: Recorder::new(scenario, elements, known),
            began: vec![0; n],
            replies: vec![Vec::new(); n],
            probes: vec![Vec::new(); n],
            came: vec![HashMap::new(); n],
            opened: vec![Vec::new(); n],
            last_many: HashMap::new(),
            policed: vec![([0; 3], [0; 3]); plan.policers.len()],
            associations: vec![[0; 2]; plan.exits.len()],
            last_tcp: HashMap::new(),
            last_udp: HashMap::new(),
            last_queue: HashMap::new(),
            gone: vec![Gone::default(); plan.queues.len()],
        }
    }

    fn event(&mut self, at: u64, what: &str, subject: &str, detail: &str) {
        self.record.event(Time::from_nanos(at), what, subject, detail);
    }

    fn write(mut self, samples: &Samples, answers: Option<&Answers>) -> Vec<Table> {
        let scenario = self.scenario;
        let phases: Vec<(u64, &str, &str)> = self.phases();
        let mut phase = 0;
        let mut carried_out = vec![0_usize; scenario.events.len()];
        for sample in &samples.all {
            let at = time_of(sample);
            while phase < phases.len() && phases[phase].0 <= at {
                let (at, what, name) = phases[phase];
                self.event(at, what, &format!("phase {name}"), "");
                phase += 1;
            }
            match sample {
                Sample::Start { at, flow } => {
                    self.record.flow_started(Time::from_nanos(*at), *flow);
                    self.began[*flow] = *at;
                    let subject = format!("flow {}", scenario.flows[*flow].name);
                    self.event(*at, "start", &subject, "");
                }
                Sample::End { at, flow, reason } => {
                    let subject = format!("flow {}", scenario.flows[*flow].name);
                    self.event(*at, "end", &subject, reason);
                    self.completed(*at, *flow, reason);
                }
                Sample::Event { .. } if self.is_around => {}
                Sample::Event { at, event } => {
                    // The agent reports each command; an event's actions come in their order.
                    let spec = &scenario.events[*event];
                    let number = carried_out[*event];
                    carried_out[*event] += 1;
                    if let Some(action) = spec.actions.get(number) {
                        let detail = match action.element() {
                            Some(element) => format!("{element}: {action}"),
                            None => action.to_string(),
                        };
                        self.event(*at, "event", &format!("event {}", spec.name), &detail);
                    }
                }
                Sample::Probe { at, flow } => self.probes[*flow].push(*at),
                Sample::Reply { at, flow, sent } => self.replies[*flow].push((*at, *sent)),
                Sample::Came { at, flow, sent } => {
                    // Of copies the first counts.
                    self.came[*flow].entry(*sent).or_insert(*at);
                }
                Sample::Open { at, flow, bytes } => self.opened[*flow].push((*at, *bytes, None)),
                Sample::Took { at, flow, number } => {
                    if let Some(connection) = self.opened[*flow].get_mut(*number) {
                        connection.2 = Some(*at);
                    }
                }
                Sample::Many(s) => self.many_row(s),
                Sample::Tcp(s) => self.tcp_row(s),
                Sample::Udp { at, flow, sent, received, bytes } => {
                    self.udp_row(*at, *flow, *received, *bytes);
                    self.last_udp.insert(*flow, (*sent, *received));
                }
                Sample::Program(s) => self.sockets_row(s),
                Sample::Output { at, flow, client, text } => {
                    let program = if *client { "client" } else { "server" };
                    let name = &scenario.flows[*flow].name;
                    self.record.output(Time::from_nanos(*at), name, program, text);
                }
                Sample::Association { at, number, packets, replays } => {
                    self.associations[*number] = [*packets, *replays];
                    let element = self.plan.queues.len() + self.plan.policers.len() + number;
                    let reason = (Reason::Replay.name(), SignalKind::Drop);
                    self.record.signal(Time::from_nanos(*at), element, reason, *replays);
                }
                Sample::Police { at, policer, packets, drops, marks } => {
                    self.police_row(*at, *policer, [*packets, *drops, *marks]);
                }
                Sample::Queue(s) => self.queue_row(s),
                Sample::Last(s) => self.gone[s.queue].add(s),
                // The sender's kernel writes the flow's rows.
                Sample::Received { .. } | Sample::Removed { .. } | Sample::Placed { .. } => {}
            }
        }
        self.pings();
        self.totals(samples);
        self.answered();
        self.histograms();
        let players = answers.map(Answers::players).unwrap_or_default();
        for (&flow, player) in &players {
            let name = scenario.flows[flow].name.as_str();
            for segment in player.arrived() {
                self.record.segment(name, segment);
            }
            for &(at, playing) in player.changes() {
                self.record.playing(at, name, playing);
            }
        }
        let delays = self.delays();
        let opens = |flow: &Flow| matches!(flow.traffic, Traffic::ShortFlows(_));
        let has_programs = programs::are_in(scenario);
        let completes = has_programs || scenario.flows.iter().any(opens);
        self.record.finish(delays, |table| match table {
            "completions" => completes,
            "output" => has_programs,
            "segments" | "playback" => !players.is_empty(),
            // The kernel's tc is asked for numbers, not for text.
            "tc" => false,
            _ => true,
        })
    }

    /// What each connection of short flows took.
    fn answered(&mut self) {
        for (spec, opened) in self.scenario.flows.iter().zip(std::mem::take(&mut self.opened)) {
            for &(began, bytes, ended) in &opened {
                let completion =
                    Completion { started: Time::from_nanos(began), bytes, ended: or_never(ended) };
                self.record.completion(&spec.name, &completion);
            }
        }
    }

    /// What a flow of programs took, if its client has come to an end.
    fn completed(&mut self, at: u64, flow: usize, reason: &str) {
        let spec = &self.scenario.flows[flow];
        if !matches!(spec.traffic, Traffic::Program(_)) {
            return;
        }
        let completion = Completion {
            started: Time::from_nanos(self.began[flow]),
            bytes: self.counts(flow, at).bytes,
            ended: or_never(reason.starts_with("ended").then_some(at)),
        };
        self.record.completion(&spec.name, &completion);
    }

    /// The flows that this engine runs, with their numbers.
    fn flows(&self) -> impl Iterator<Item = (usize, &'a Flow)> + use<'a> {
        let (scenario, is_around) = (self.scenario, self.is_around);
        let flows = scenario.flows.iter().enumerate();
        flows.filter(move |(_, flow)| !is_around || around::is_own(flow))
    }

    /// Edges of phases, by time.
    fn phases(&self) -> Vec<(u64, &'a str, &'a str)> {
        let scenario = self.scenario;
        let mut edges = Vec::new();
        for phase in &scenario.phases {
            for (when, what) in [(&phase.from, "start"), (&phase.to, "end")] {
                if let Some(at) = schedule::time_of(scenario, when) {
                    edges.push((at.as_nanos(), what, phase.name.as_str()));
                }
            }
        }
        edges.sort_unstable();
        edges
    }

    /// Counts of a flow at the end of the step that ends at `at`.
    fn counts(&self, flow: usize, at: u64) -> FlowCounts {
        let steps = &self.trace.flows[flow].steps;
        steps.get(self.step_at(at)).or(steps.last()).copied().unwrap_or_default()
    }

    /// The place of the sample interval that ends at or after a time.
    fn step_at(&self, at: u64) -> usize {
        (at.saturating_sub(1) / self.scenario.sample_interval.as_nanos()) as usize
    }

    fn tcp_row(&mut self, s: &TcpSample) {
        let counts = self.counts(s.flow, s.at);
        let at = Time::from_nanos(s.at);
        let tcp = self.scenario.flows[s.flow].traffic.tcp();
        let cc = tcp.map_or("", |t| t.cc.as_str());
        let paced = tcp.is_some_and(|t| t.max_pacing_rate.is_some() || t.host_qdisc.is_some())
            || matches!(cc, "bbr" | "prague");
        // The kernel begins with a mean deviation of one second's quarter and no smoothed RTT.
        let seconds = |us: u64| if s.srtt_us == 0 { f64::NAN } else { us as f64 / 1e6 };
        let sample = FlowSample {
            delivery_rate_bps: s.delivery_rate as f64 * 8.0,
            srtt_s: seconds(s.srtt_us),
            rttvar_s: seconds(s.rttvar_us),
            cwnd: s.cwnd,
            ssthresh: s.ssthresh,
            in_flight: (s.unacked + s.retrans).saturating_sub(s.sacked + s.lost),
            retransmits: s.total_retrans,
            lost: s.total_retrans + s.lost,
            delivered: s.delivered,
            pacing_bps: if paced { s.pacing_rate as f64 * 8.0 } else { f64::NAN },
            state: state_of(s.ca_state),
            ..seen(&counts)
        };
        // The kernel counts a FIN as a byte.
        let whole = tcp.and_then(|tcp| tcp.bytes).unwrap_or(u64::MAX);
        let received = s.received.min(whole);
        if !self.record.flow(at, s.flow, received, Some(&sample)) {
            return;
        }
        self.record.flow_gauges(at, s.flow, |out| {
            for (name, value) in statistics::control(cc, &s.cc_info, s.cwnd) {
                out(name, value);
            }
        });
        self.record.limits(at, s.flow, &limits(s));
        self.last_tcp.insert(s.flow, TcpSample { received, ..s.clone() });
    }

    fn udp_row(&mut self, at: u64, flow: usize, received: u64, bytes: u64) {
        let lost = &self.trace.flows[flow].lost;
        let lost = lost.get(self.step_at(at)).or(lost.last()).copied().unwrap_or(0);
        self.plain_row(at, flow, bytes, received, lost);
    }

    /// A row of a flow that has many connections: their sums, as the simulator's.
    fn many_row(&mut self, s: &ManySample) {
        let sample = FlowSample {
            rtt_s: f64::NAN,
            in_flight: s.in_flight,
            retransmits: s.retransmits,
            lost: s.lost,
            delivered: s.delivered,
            ..seen(&self.counts(s.flow, s.at))
        };
        if self.record.flow(Time::from_nanos(s.at), s.flow, s.received, Some(&sample)) {
            self.last_many.insert(s.flow, *s);
        }
    }

    /// A row of a flow of programs. Without TCP, the stamps are all that is known.
    fn sockets_row(&mut self, s: &SocketsSample) {
        let counts = self.counts(s.flow, s.at);
        if s.known == 0 {
            return self.plain_row(s.at, s.flow, counts.bytes, counts.arrived, 0);
        }
        let nan = f64::NAN;
        let seconds = |us: u64| if s.open == 0 || s.srtt_us == 0 { nan } else { us as f64 / 1e6 };
        let sample = FlowSample {
            delivery_rate_bps: if s.open == 0 { nan } else { s.delivery_rate as f64 * 8.0 },
            srtt_s: seconds(s.srtt_us),
            rttvar_s: seconds(s.rttvar_us),
            cwnd: s.cwnd,
            ssthresh: s.ssthresh,
            in_flight: s.in_flight,
            retransmits: s.retransmits,
            lost: s.lost,
            delivered: s.delivered,
            state: state_of(s.ca_state),
            ..seen(&counts)
        };
        self.record.flow(Time::from_nanos(s.at), s.flow, counts.bytes, Some(&sample));
    }

    /// A row of a flow with a sender that tells nothing about its state.
    fn plain_row(&mut self, at: u64, flow: usize, bytes: u64, received: u64, lost: u64) {
        let counts = self.counts(flow, at);
        let sample = FlowSample { lost, delivered: received, ..seen(&counts) };
        self.record.flow(Time::from_nanos(at), flow, bytes, Some(&sample));
    }

    fn queue_row(&mut self, s: &QueueSample) {
        let at = Time::from_nanos(s.at);
        let gone = &self.gone[s.queue];
        let mut signals = gone.signals.clone();
        let own = statistics::read(&s.kind, &s.own, s.drops);
        for (reason, marked, count) in own.signals {
            *signals.entry((reason, marked)).or_default() += count;
        }
        let whole = QueueSample {
            sent_packets: gone.sent_packets + s.sent_packets,
            sent_bytes: gone.sent_bytes + s.sent_bytes,
            drops: gone.drops + s.drops,
            overlimits: gone.overlimits + s.overlimits,
            ..s.clone()
        };
        let s = &whole;
        let steps = &self.trace.queues[s.queue].steps;
        let left = steps.get(self.step_at(s.at)).copied().unwrap_or_else(|| Left {
            marks: steps.last().map_or(0, |l| l.marks),
            ..Left::default()
        });
        let sample = sojourn_record::QueueSample {
            packets: s.packets,
            bytes: s.bytes,
            sojourn: (left.min, left.sum, left.max, left.count),
            sent_packets: s.sent_packets,
            sent_bytes: s.sent_bytes,
            marks: left.marks,
            drops: s.drops,
        };
        self.record.queue(at, s.queue, &sample);
        for ((reason, marked), count) in signals {
            let kind = if marked { SignalKind::Mark } else { SignalKind::Drop };
            self.record.signal(at, s.queue, (reason, kind), count);
        }
        self.record.queue_gauges(at, s.queue, |out| {
            for (gauge, value) in own.gauges {
                out(gauge, value);
            }
        });
        self.last_queue.insert(s.queue, whole);
    }

    /// A policer's drops and marks, where those have changed. One that was switched off and on again counts from 0: its
    /// sums go on.
    fn police_row(&mut self, at: u64, policer: usize, now: [u64; 3]) {
        let (gone, last) = &mut self.policed[policer];
        let sums = |gone: &[u64; 3], more: &[u64; 3]| {
            std::array::from_fn::<u64, 3, _>(|which| gone[which] + more[which])
        };
        if now[0] < last[0] {
            *gone = sums(gone, last);
        }
        *last = now;
        let [_, drops, marks] = sums(gone, last);
        let (at, element) = (Time::from_nanos(at), self.plan.queues.len() + policer);
        let reason = Reason::Policer.name();
        self.record.signal(at, element, (reason, SignalKind::Drop), drops);
        self.record.signal(at, element, (reason, SignalKind::Mark), marks);
    }

    fn pings(&mut self) {
        for (i, flow) in self.flows() {
            match &flow.traffic {
                Traffic::Ping(_) | Traffic::Irtt(_) => self.probe_rows(i, flow),
                Traffic::Voip(_) => self.voice_rows(i, flow),
                _ => {}
            }
        }
    }

    /// Requests and their replies. One that the run's end may have cut off is late and not lost, as on the simulator; of a
    /// ping nobody knows whether the request or the reply was lost.
    fn probe_rows(&mut self, i: usize, flow: &Flow) {
        let is_ping = matches!(flow.traffic, Traffic::Ping(_));
        let (replies, came) = (&self.replies[i], &self.came[i]);
        // Of copies the first counts.
        let answered: HashMap<u64, u64> =
            replies.iter().rev().map(|&(at, sent)| (sent, at)).collect();
        let longest = replies.iter().map(|&(at, sent)| at.saturating_sub(sent)).max();
        let wait = longest.map_or(IRTT_WAIT, |rtt| 3 * rtt);
        let patience = self.scenario.length().as_nanos().saturating_sub(wait);
        let mut rows: Vec<(u64, u64, u64)> = (0..)
            .zip(&self.probes[i])
            .map(|(number, &sent)| (answered.get(&sent).copied().unwrap_or(sent), number, sent))
            .collect();
        rows.sort_by_key(|row| row.0);
        for (at, number, sent) in rows {
            let (there, back) = (came.get(&sent).copied(), answered.get(&sent).copied());
            let lost = match (back, there) {
                (Some(_), _) => "",
                (None, _) if is_ping => "lost",
                (None, _) if sent > patience => "late",
                (None, None) => "there",
                (None, Some(_)) => "back",
            };
            let sample = PingSample {
                at: Time::from_nanos(at),
                number,
                sent: Time::from_nanos(sent),
                there: or_never(there),
                back: or_never(back),
                lost,
            };
            self.record.ping(&flow.name, &sample);
        }
    }

    /// The packets of a voice call, when each came or, if it did not, was sent. One that the run's end may have cut off is
    /// late and not lost: three times the longest delay seen is the patience, as on the simulator.
    fn voice_rows(&mut self, i: usize, flow: &Flow) {
        let trace = &self.trace.flows[i];
        let (Some(list), Some(&(sent, _))) = (List::of(self.scenario, flow), self.last_udp.get(&i))
        else {
            return;
        };
        let began = match flow.start {
            Start::At(at) => {
                (self.scenario.clock(at) + start_offset(self.scenario, flow)).as_nanos()
            }
            Start::Event => self.began[i],
        };
        // Of copies the first counts.
        let arrivals = trace.numbers.iter().copied().zip(trace.delays.iter().copied());
        let came: HashMap<u32, (u64, u64)> = arrivals.rev().collect();
        let longest = trace.delays.iter().map(|d| d.1).max().unwrap_or(0);
        let patience = self.scenario.length().as_nanos().saturating_sub(3 * longest);
        let row = |(number, &(after, _)): (u32, &(Span, u64))| {
            if let Some(&(at, delay)) = came.get(&number) {
                return (at, number, (at.saturating_sub(delay), Some(at)), "");
            }
            let at = began + after.as_nanos();
            (at, number, (at, None), if at > patience { "late" } else { "there" })
        };
        let mut rows: Vec<_> =
            (0..).zip(list.entries.iter().take(sent as usize)).map(row).collect();
        rows.sort_by_key(|r| r.0);
        for (at, number, (sent, there), lost) in rows {
            let sample = PingSample {
                at: Time::from_nanos(at),
                number: number.into(),
                sent: Time::from_nanos(sent),
                there: or_never(there),
                back: Time::NEVER,
                lost,
            };
            self.record.ping(&flow.name, &sample);
        }
    }

    fn histograms(&mut self) {
        let warmup = self.scenario.warmup.as_nanos();
        let flows = self.flows();
        let mut add = |subject: &str, quantity: &str, times: &[(u64, u64)]| {
            let times = times.iter().filter(|t| t.0 >= warmup).map(|t| t.1);
            self.record.histogram(subject, quantity, &distribution(times));
        };
        for (q, trace) in self.plan.queues.iter().zip(&self.trace.queues) {
            let times: Vec<(u64, u64)> = trace.sojourns.iter().map(|s| (s.at, s.nanos)).collect();
            add(&q.path, "sojourn", &times);
        }
        for (i, flow) in flows {
            match &flow.traffic {
                traffic if traffic.datagrams().is_some() => {
                    add(&flow.name, "owd", &self.trace.flows[i].delays);
                }
                Traffic::Ping(_) | Traffic::Irtt(_) => {
                    let rtts: Vec<(u64, u64)> =
                        self.replies[i].iter().map(|&(at, sent)| (at, at - sent.min(at))).collect();
                    add(&flow.name, "rtt", &rtts);
                }
                _ => add(&flow.name, "rtt", &self.trace.flows[i].delays),
            }
        }
    }

    /// Delays by flow and window. Linux does not tell from which class a packet left; of DualPI2 the ECN field that it
    /// came with does ([`class_of`]).
    fn delays(&self) -> Table {
        let mut table = Rows::<rows::Delays>::new(Provenance::Estimated);
        let warmup = self.scenario.warmup.as_nanos();
        for subject in subjects(self.scenario) {
            let clock = |edge: i64| warmup + edge.unsigned_abs();
            for (n, ends) in subject.edges.windows(2).enumerate() {
                let (from, to) = (clock(ends[0]), clock(ends[1]));
                // An event at the origin belongs to the first interval, one at any other edge to the one before it.
                let inside = |at: u64| at <= to && (at > from || n == 0 && at == from);
                let mut add =
                    |[queue, class, quantity]: [&str; 3], fixed: u64, times: &[(u64, u64)]| {
                        let times = times.iter().filter(|t| inside(t.0));
                        let times = distribution(times.map(|t| t.1.saturating_sub(fixed)));
                        for (low, high, count) in times.buckets() {
                            let seconds = |nanos: u64| (nanos + fixed) as f64 / 1e9;
                            table.push(rows::DelayBucket {
                                from_s: ends[0] as f64 / 1e9,
                                to_s: ends[1] as f64 / 1e9,
                                flow: subject.name.into(),
                                queue: queue.into(),
                                class: class.into(),
                                quantity: quantity.into(),
                                lo_s: seconds(low),
                                hi_s: seconds(high),
                                count,
                            });
                        }
                    };
                for (q, trace) in self.plan.queues.iter().zip(&self.trace.queues) {
                    let qdisc = self.scenario.disciplines().find(|(path, _)| *path == q.path);
                    let words = qdisc.map(|(_, queue)| &queue.qdisc);
                    let mut by_class: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::new();
                    let is_its =
                        |flow: u16| subject.flows.binary_search(&usize::from(flow)).is_ok();
                    for s in trace.sojourns.iter().filter(|s| is_its(s.flow)) {
                        by_class
                            .entry(words.map_or("", |own| class_of(own, s.ecn)))
                            .or_default()
                            .push((s.at, s.nanos));
                    }
                    for (class, times) in by_class {
                        add([&q.path, class, "sojourn"], 0, &times);
                    }
                }
                if subject.name.is_empty() {
                    continue;
                }
                let flow = subject.flows[0];
                let trace = &self.trace.flows[flow];
                let is_datagrams = self.scenario.flows[flow].traffic.datagrams().is_some();
                let owd = if is_datagrams { &trace.delays } else { &trace.ways };
                // A bucket's width goes with its value: the constant part is left out of it.
                let least = owd.iter().map(|t| t.1).min().unwrap_or(0);
                add(["", "", "owd"], least, owd);
            }
        }
        table.into_table()
    }

    fn totals(&mut self, samples: &Samples) {
        let flows = self.flows();
        let record = &mut self.record;
        let mut add = |subject: &str, name: &str, value: f64| record.total(subject, name, value);
        for (i, q) in self.plan.queues.iter().enumerate() {
            let trace = &self.trace.queues[i];
            let Some(last) = self.last_queue.get(&i) else { continue };
            for (name, value) in [
                ("entered", trace.entered),
                ("left", last.sent_packets),
                ("held", last.packets),
                ("dropped", last.drops),
                ("marked", trace.marked),
                ("false_marks", trace.false_marks),
            ] {
                add(&q.path, name, value as f64);
            }
            if last.kind == OFF {
                continue;
            }
            add(&q.path, &format!("{}.overlimits", last.kind), last.overlimits as f64);
            for (name, value) in statistics::read(&last.kind, &last.own, last.drops).counters {
                add(&q.path, &format!("{}.{name}", last.kind), value);
            }
        }
        for (path, (gone, last)) in self.plan.policers.iter().zip(&self.policed) {
            let [entered, dropped, marked] = std::array::from_fn(|which| gone[which] + last[which]);
            for (name, value) in [
                ("entered", entered),
                ("left", entered - dropped),
                ("held", 0),
                ("dropped", dropped),
                ("marked", marked),
            ] {
                add(path, name, value as f64);
            }
        }
        for (path, [packets, replays]) in self.plan.exits.iter().zip(&self.associations) {
            for (name, value) in [
                ("entered", packets + replays),
                ("left", *packets),
                ("held", 0),
                ("dropped", *replays),
                ("marked", 0),
            ] {
                add(path, name, value as f64);
            }
        }
        for &(tap, missed) in &samples.missed {
            if let Some(t) = self.plan.taps.get(tap) {
                add(&self.plan.queues[t.queue].path, "stamps_missed", missed as f64);
            }
        }
        for (i, flow) in flows {
            let trace = &self.trace.flows[i];
            if !self.is_around {
                add(&flow.name, "packets_sent", trace.sent as f64);
                add(&flow.name, "packets_arrived", trace.arrived as f64);
                add(&flow.name, "packets_dropped", trace.dropped as f64);
            }
            let counts = trace.steps.last().copied().unwrap_or_default();
            if let Some(s) = self.last_tcp.get(&i) {
                // TCPI_OPT_ECN says that the connection agreed on ECN.
                let agreed = u64::from(s.options & 8 != 0);
                for (name, value) in [
                    ("segments_sent", s.segments),
                    ("retransmits", s.total_retrans),
                    ("ece_acks", counts.ece),
                    ("ecn_agreed", agreed),
                    ("ce_packets", counts.ce),
                    ("delivered_bytes", s.received),
                    ("dsacks", s.dsacks),
                    ("rwnd_limited_us", s.rwnd_limited_us),
                ] {
                    add(&flow.name, name, value as f64);
                }
            }
            if let Some(&(sent, received)) = self.last_udp.get(&i) {
                add(&flow.name, "datagrams_sent", sent as f64);
                add(&flow.name, "datagrams_received", received as f64);
                add(&flow.name, "ce_packets", counts.ce as f64);
            }
            if let Some(s) = self.last_many.get(&i) {
                let done = self.opened[i].iter().filter(|c| c.2.is_some()).count();
                for (name, value) in [
                    ("connections", self.opened[i].len() as u64),
                    ("completed", done as u64),
                    ("segments_sent", s.segments),
                    ("retransmits", s.retransmits),
                    ("ce_packets", counts.ce),
                    ("delivered_bytes", s.received),
                ] {
                    add(&flow.name, name, value as f64);
                }
            }
            if matches!(flow.traffic, Traffic::Ping(_) | Traffic::Irtt(_)) {
                add(&flow.name, "requests", self.probes[i].len() as f64);
                add(&flow.name, "replies", self.replies[i].len() as f64);
            }
        }
    }
}

/// A sample of what the stamps show, without the sender's state.
fn seen(counts: &FlowCounts) -> FlowSample {
    FlowSample {
        rtt_s: counts.rtt.map_or(f64::NAN, |rtt| rtt as f64 / 1e9),
        ce: counts.ce,
        ece: counts.ece,
        ..FlowSample::UNKNOWN
    }
}

/// A state of recovery, by its number in `TCP_INFO`.
fn state_of(ca_state: u64) -> RecoveryState {
    RecoveryState::ALL.get(ca_state as usize).copied().unwrap_or(RecoveryState::Loss)
}

/// A time of the guest's clock that may not have come.
fn or_never(nanos: Option<u64>) -> Time {
    nanos.map_or(Time::NEVER, Time::from_nanos)
}

/// What has limited a flow, as `TCP_INFO` reports it, counted by the kernel in ticks.
fn limits(s: &TcpSample) -> LimitedTimes {
    let (seconds, nan) = (|us: u64| us as f64 / 1e6, f64::NAN);
    LimitedTimes {
        busy_s: seconds(s.busy_us),
        rwnd_s: seconds(s.rwnd_limited_us),
        sndbuf_s: seconds(s.sndbuf_limited_us),
        cwnd_s: nan,
        pacing_s: nan,
        app_s: nan,
        host_s: nan,
    }
}

/// The class of DualPI2 that takes a packet of this ECN field (RFC 9332 §2.4): L for ECT(1) and CE, and with `any_ect`
/// for ECT(0), too. None of other disciplines.
fn class_of(qdisc: &TcWords, ecn: u8) -> &'static str {
    if qdisc.name() != "dualpi2" {
        return "";
    }
    let is_low_latency = if qdisc.has("any_ect") { ecn != 0 } else { ecn & 1 == 1 };
    if is_low_latency { "l" } else { "c" }
}

/// The distribution of times in nanoseconds.
fn distribution(times: impl Iterator<Item = u64>) -> Distribution {
    let mut all = Distribution::new();
    times.for_each(|nanos| all.add(Span::from_nanos(nanos)));
    all
}

fn time_of(sample: &Sample) -> u64 {
    match sample {
        Sample::Start { at, .. }
        | Sample::End { at, .. }
        | Sample::Event { at, .. }
        | Sample::Probe { at, .. }
        | Sample::Reply { at, .. }
        | Sample::Came { at, .. }
        | Sample::Open { at, .. }
        | Sample::Took { at, .. }
        | Sample::Received { at, .. }
        | Sample::Udp { at, .. }
        | Sample::Police { at, .. }
        | Sample::Association { at, .. }
        | Sample::Output { at, .. }
        | Sample::Removed { at, .. }
        | Sample::Placed { at, .. } => *at,
        Sample::Program(s) => s.at,
        Sample::Many(s) => s.at,
        Sample::Tcp(s) => s.at,
        Sample::Queue(s) | Sample::Last(s) => s.at,
    }
}
