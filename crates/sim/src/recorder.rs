//! The recorder: rows at every step, distributions over every packet, counters at the end.

use crate::app::probe::Request;
use crate::app::short_flows::Counts;
use crate::delays::Delays;
use crate::distribution::Distribution;
use crate::host::{Ends, FlowRun, Life};
use crate::topology::{Role, Station, Topology};
use sojourn_model::Scenario;
use sojourn_path::{Ledger, Signals, Sojourns};
use sojourn_qdisc::Qdisc;
use sojourn_results::{Provenance, Table, schema};
use sojourn_transport::{Receiver, Sender};
use sojourn_units::{Span, Time};
use sojourn_workload::Playing;

/// Counts by reason when the last row was written.
#[derive(Debug)]
struct SignalsBefore {
    name: u32,
    counts: Vec<Signals>,
}

/// Codes of the names of a queue's or a control's gauges, in the order in which it tells them, which is the same every
/// step.
#[derive(Default, Debug)]
struct GaugeCodes(Vec<(&'static str, u32)>);

impl GaugeCodes {
    /// The code of the gauge that comes in this place.
    fn of(&mut self, place: usize, gauge: &'static str, table: &mut Table) -> u32 {
        match self.0.get(place) {
            // The same text at the same place of the program, so that it need not be read.
            Some((known, code)) if core::ptr::eq(*known, gauge) => *code,
            _ => {
                let code = table.intern("name", gauge);
                self.0.truncate(place);
                self.0.push((gauge, code));
                code
            }
        }
    }
}

/// Names of a queue in the tables' dictionaries, and its counts when the last row was written.
#[derive(Debug)]
struct QueueBefore {
    name: u32,
    state_name: u32,
    gauges: GaugeCodes,
    signals: SignalsBefore,
}

/// Names of a flow in the tables' dictionaries, and what had arrived when the last row was written.
#[derive(Debug)]
struct FlowBefore {
    name: u32,
    state_name: u32,
    gauges: GaugeCodes,
    delivered: u64,
    /// When the flow's last row was written, or the flow started.
    at: Time,
}

/// Gathers a run's tables.
#[derive(Debug)]
pub(crate) struct Recorder {
    lead: Time,
    flows: Table,
    flow_state: Table,
    queues: Table,
    queue_signals: Table,
    queue_state: Table,
    happenings: Table,
    tc: Table,
    flow_before: Vec<FlowBefore>,
    queue_before: Vec<Option<QueueBefore>>,
    passage_before: Vec<SignalsBefore>,
    /// Delays of every packet.
    pub(crate) delays: Delays,
    states: [u32; 5],
    kinds: [u32; 3],
}

impl Recorder {
    /// Tables for a scenario's flows and ports.
    pub(crate) fn new(scenario: &Scenario, topology: &Topology) -> Self {
        let stations = &topology.stations;
        let exact = |s| Table::new(s, Provenance::Exact);
        let mut flows = exact(&schema::FLOWS);
        for column in ["rtt_s", "srtt_s", "rttvar_s", "delivery_rate_bps", "cwnd", "inflight"] {
            flows = flows.with_provenance(column, Provenance::Sampled);
        }
        let (mut flow_state, mut queues) = (exact(&schema::FLOW_STATE), exact(&schema::QUEUES));
        let mut queue_state = exact(&schema::QUEUE_STATE);
        let mut queue_signals = exact(&schema::QUEUE_SIGNALS);
        let states =
            ["Open", "Disorder", "CWR", "Recovery", "Loss"].map(|s| flows.intern("state", s));
        let kinds = ["mark", "drop", "sce"].map(|kind| queue_signals.intern("kind", kind));
        let flow_before = scenario
            .flows
            .iter()
            .map(|f| FlowBefore {
                name: flows.intern("flow", &f.name),
                state_name: flow_state.intern("flow", &f.name),
                gauges: GaugeCodes::default(),
                delivered: 0,
                at: Time::ZERO,
            })
            .collect();
        let mut signals = |element: &str| SignalsBefore {
            name: queue_signals.intern("queue", element),
            counts: Vec::new(),
        };
        let queue_before = stations
            .iter()
            .map(|s| match &s.role {
                Role::Queue { element } => Some(QueueBefore {
                    name: queues.intern("queue", element),
                    state_name: queue_state.intern("queue", element),
                    gauges: GaugeCodes::default(),
                    signals: signals(element),
                }),
                _ => None,
            })
            .collect();
        let passage_before = topology.passages.iter().map(|p| signals(&p.0)).collect();
        Self {
            lead: Time::ZERO + scenario.lead,
            flows,
            flow_state,
            queues,
            queue_signals,
            queue_state,
            happenings: exact(&schema::HAPPENINGS),
            tc: exact(&schema::TC),
            flow_before,
            queue_before,
            passage_before,
            delays: Delays::new(scenario, topology),
            states,
            kinds,
        }
    }

    fn seconds(&self, now: Time) -> f64 {
        now.signed_since(self.lead) as f64 / 1e9
    }

    /// Something happened.
    pub(crate) fn happening(&mut self, now: Time, what: &str, subject: &str, detail: &str) {
        let t = self.seconds(now);
        self.happenings.row().f64(t).text(what).text(subject).text(detail);
    }

    /// A flow starts: its first step begins now.
    pub(crate) fn flow_started(&mut self, now: Time, flow: usize) {
        self.flow_before[flow].at = now;
    }

    /// A step ends.
    pub(crate) fn step(&mut self, now: Time, flows: &[FlowRun], topology: &mut Topology) {
        for (i, flow) in flows.iter().enumerate() {
            if flow.life == Life::Running {
                self.flow_row(now, i, flow);
            }
        }
        for (i, station) in topology.stations.iter_mut().enumerate() {
            if matches!(station.role, Role::Queue { .. }) {
                self.queue_row(now, i, station);
            }
        }
        let t = self.seconds(now);
        for (before, (_, passage)) in self.passage_before.iter_mut().zip(&topology.passages) {
            signal_rows(&mut self.queue_signals, t, self.kinds, passage.ledger(), before);
        }
    }

    /// A row of a flow, for the step that ends now.
    pub(crate) fn flow_row(&mut self, now: Time, index: usize, flow: &FlowRun) {
        let t = self.seconds(now);
        let before = &mut self.flow_before[index];
        let elapsed = now.since(before.at).as_secs_f64();
        if elapsed == 0.0 {
            return;
        }
        let bytes = flow.delivered_bytes();
        let goodput = (bytes - before.delivered) as f64 * 8.0 / elapsed;
        before.delivered = bytes;
        before.at = now;
        let name = before.name;
        match &flow.ends {
            Ends::Tcp(sender, receiver) => {
                self.tcp_row(t, index, goodput, (sender, receiver));
            }
            Ends::Streaming(streaming) => {
                let connection = &streaming.connection;
                let ends = (&connection.sends, &connection.takes);
                self.tcp_row(t, index, goodput, ends);
            }
            Ends::Stream(stream) => {
                let counts = Counts {
                    lost: stream.lost(),
                    delivered: stream.received,
                    ce: stream.ce,
                    ..Counts::default()
                };
                self.counts_row(t, name, goodput, &counts);
            }
            Ends::Short(short) => self.counts_row(t, name, goodput, &short.counts()),
            Ends::Probe(_) => {}
        }
    }

    /// The row of one connection.
    fn tcp_row(
        &mut self,
        t: f64,
        index: usize,
        goodput: f64,
        (sender, receiver): (&Sender, &Receiver),
    ) {
        let FlowBefore { name, state_name, gauges, .. } = &mut self.flow_before[index];
        let (name, state_name) = (*name, *state_name);
        let (tcb, counters) = (sender.tcb(), sender.counters());
        let sampled = tcb.view.rtt.samples() > 0;
        let seconds = |us: u32| if sampled { f64::from(us) / 1e6 } else { f64::NAN };
        let pacing =
            if tcb.control.paced { sender.effective_pacing_rate() as f64 * 8.0 } else { f64::NAN };
        self.flows
            .row()
            .f64(t)
            .code(name)
            .f64(goodput)
            .f64(tcb.view.delivery_rate() as f64 * 8.0)
            .f64(seconds(tcb.view.rtt.latest_us()))
            .f64(seconds(tcb.view.rtt.srtt_us()))
            .f64(seconds(tcb.view.rtt.mdev_us()))
            .u64(u64::from(tcb.control.cwnd))
            .u64(u64::from(tcb.control.ssthresh))
            .u64(u64::from(tcb.view.in_flight()))
            .u64(counters.retransmits)
            .u64(u64::from(tcb.view.lost))
            .u64(u64::from(tcb.view.delivered))
            .u64(receiver.ce_packets())
            .u64(counters.ece_acks)
            .f64(pacing)
            .code(self.states[tcb.view.ca_state as usize]);
        let table = &mut self.flow_state;
        let mut places = 0..;
        sender.gauges(&mut |gauge, value| {
            let code = gauges.of(places.next().unwrap_or(0), gauge, table);
            table.row().f64(t).code(state_name).code(code).f64(value);
        });
    }

    /// The row of a flow of which only counts are known: datagrams, or many connections.
    fn counts_row(&mut self, t: f64, name: u32, goodput: f64, counts: &Counts) {
        let nan = f64::NAN;
        self.flows
            .row()
            .f64(t)
            .code(name)
            .f64(goodput)
            .f64(nan)
            .f64(nan)
            .f64(nan)
            .f64(nan)
            .u64(0)
            .u64(0)
            .u64(counts.in_flight)
            .u64(counts.retransmits)
            .u64(counts.lost)
            .u64(counts.delivered)
            .u64(counts.ce)
            .u64(counts.ece)
            .f64(nan)
            .code(self.states[0]);
    }

    fn queue_row(&mut self, now: Time, index: usize, station: &mut Station) {
        let t = self.seconds(now);
        let Some(before) = &mut self.queue_before[index] else { return };
        let Sojourns { count, min, max, sum } = station.port.take_sojourns();
        let (held, ledger) = (station.port.backlog(), station.port.ledger());
        let (min, mean, max) = if count == 0 {
            (f64::NAN, f64::NAN, f64::NAN)
        } else {
            (min.as_secs_f64(), sum.as_secs_f64() / count as f64, max.as_secs_f64())
        };
        self.queues
            .row()
            .f64(t)
            .code(before.name)
            .u64(u64::from(held.packets))
            .u64(held.bytes)
            .f64(min)
            .f64(mean)
            .f64(max)
            .u64(ledger.left)
            .u64(ledger.left_bytes)
            .u64(ledger.all_marks())
            .u64(ledger.all_drops());
        signal_rows(&mut self.queue_signals, t, self.kinds, ledger, &mut before.signals);
        let (table, name, codes) = (&mut self.queue_state, before.state_name, &mut before.gauges);
        let mut places = 0..;
        station.port.discipline().gauges(now, &mut |gauge, value| {
            let code = codes.of(places.next().unwrap_or(0), gauge, table);
            table.row().f64(t).code(name).code(code).f64(value);
        });
    }

    /// What tc says of everything that holds packets, `setup` or `teardown`.
    pub(crate) fn tc(&mut self, now: Time, when: &str, topology: &Topology) {
        let t = self.seconds(now);
        for station in &topology.stations {
            if !matches!(station.role, Role::Nic { .. }) {
                let text = station.port.discipline().show();
                self.tc.row().f64(t).text(when).text(&subject(&station.role)).text(&text);
            }
        }
    }

    /// The run is over: its tables.
    pub(crate) fn finish(
        self,
        scenario: &Scenario,
        flows: &[FlowRun],
        topology: &Topology,
    ) -> Vec<Table> {
        let pings = self.pings(scenario, flows);
        let completions = self.completions(scenario, flows);
        let [segments, playback] = self.streams(scenario, flows);
        let end = Time::ZERO + scenario.length();
        let (delays, sojourns) = self.delays.finish(end);
        let histograms = histograms(scenario, flows, &sojourns);
        let totals = totals(scenario, flows, topology);
        vec![
            self.flows,
            self.flow_state,
            self.queues,
            self.queue_signals,
            self.queue_state,
            pings,
            completions,
            segments,
            playback,
            histograms,
            delays,
            self.happenings,
            totals,
            self.tc,
        ]
    }

    fn pings(&self, scenario: &Scenario, flows: &[FlowRun]) -> Table {
        let mut table = Table::new(&schema::PINGS, Provenance::Exact);
        let end = Time::ZERO + scenario.length();
        let delay = |from: Time, to: Time| {
            if from.is_never() || to.is_never() { f64::NAN } else { (to - from).as_secs_f64() }
        };
        for (spec, flow) in scenario.flows.iter().zip(flows) {
            let name = table.intern("flow", &spec.name);
            // When, number, sent, there, back, what is known to be lost.
            let mut rows: Vec<(Time, u64, Request, &str)> = match &flow.ends {
                Ends::Probe(probe) => {
                    let patience = probe.patience(end);
                    let row = |(number, r): (u64, &Request)| {
                        if !r.back.is_never() {
                            return (r.back, number, *r, "");
                        }
                        let late = r.sent > patience;
                        let way = if r.there.is_never() { "there" } else { "back" };
                        (r.sent, number, *r, if late { "late" } else { way })
                    };
                    (0..).zip(&probe.requests).map(row).collect()
                }
                Ends::Stream(stream) => {
                    let packets = stream.packets.iter().flatten();
                    let longest = packets
                        .clone()
                        .filter(|p| !p.1.is_never())
                        .map(|p| p.1 - p.0)
                        .max()
                        .unwrap_or(Span::ZERO);
                    let patience = end.saturating_sub(longest * 3);
                    let row = |(number, &(sent, there)): (u64, &(Time, Time))| {
                        let request = Request { sent, there, back: Time::NEVER };
                        if !there.is_never() {
                            return (there, number, request, "");
                        }
                        (sent, number, request, if sent > patience { "late" } else { "there" })
                    };
                    (0..).zip(packets).map(row).collect()
                }
                Ends::Tcp(..) | Ends::Short(_) | Ends::Streaming(_) => continue,
            };
            rows.sort_by_key(|r| r.0);
            for (at, number, r, lost) in rows {
                table
                    .row()
                    .f64(self.seconds(at))
                    .code(name)
                    .f64(delay(r.sent, r.back))
                    .u64(number)
                    .f64(delay(r.sent, r.there))
                    .f64(delay(r.there, r.back))
                    .text(lost);
            }
        }
        table
    }

    fn completions(&self, scenario: &Scenario, flows: &[FlowRun]) -> Table {
        let mut table = Table::new(&schema::COMPLETIONS, Provenance::Exact);
        for (spec, flow) in scenario.flows.iter().zip(flows) {
            let Ends::Short(short) = &flow.ends else { continue };
            for c in &short.completions {
                let duration =
                    if c.ended.is_never() { f64::NAN } else { (c.ended - c.started).as_secs_f64() };
                let row = table.row().f64(self.seconds(c.started)).text(&spec.name);
                row.u64(c.bytes).f64(duration);
            }
        }
        table
    }

    /// What adaptive streams downloaded, and what they played.
    fn streams(&self, scenario: &Scenario, flows: &[FlowRun]) -> [Table; 2] {
        let mut segments = Table::new(&schema::SEGMENTS, Provenance::Exact);
        let mut playback = Table::new(&schema::PLAYBACK, Provenance::Exact);
        for (spec, flow) in scenario.flows.iter().zip(flows) {
            let Ends::Streaming(streaming) = &flow.ends else { continue };
            let Some(player) = &streaming.player else { continue };
            for a in player.arrived() {
                let seconds = (a.at - a.asked).as_secs_f64();
                segments
                    .row()
                    .f64(self.seconds(a.at))
                    .text(&spec.name)
                    .f64(a.bitrate.bits_per_sec() as f64)
                    .f64(8.0 * a.bytes as f64 / seconds)
                    .f64(a.buffer.as_secs_f64())
                    .f64(a.stalled.as_secs_f64())
                    .u64(a.number)
                    .f64(self.seconds(a.asked))
                    .u64(a.bytes);
            }
            for &(at, playing) in player.changes() {
                let bitrate = match playing {
                    Playing::Level(rate) => rate.bits_per_sec() as f64,
                    Playing::Starting | Playing::Stalled | Playing::Ended => f64::NAN,
                };
                let row = playback.row().f64(self.seconds(at)).text(&spec.name);
                row.text(playing.name()).f64(bitrate);
            }
        }
        [segments, playback]
    }
}

/// Distributions over the whole run: queues' sojourn times, then what each flow measures itself.
fn histograms(
    scenario: &Scenario,
    flows: &[FlowRun],
    sojourns: &[(String, String, Distribution)],
) -> Table {
    let mut table = Table::new(&schema::HISTOGRAMS, Provenance::Exact);
    let mut add = |subject: &str, quantity: &str, d: &Distribution| {
        let (subject, quantity) =
            (table.intern("subject", subject), table.intern("quantity", quantity));
        for (lo, hi, count) in d.buckets() {
            let row = table.row().code(subject).code(quantity);
            row.f64(lo as f64 / 1e9).f64(hi as f64 / 1e9).u64(count);
        }
    };
    for (element, quantity, distribution) in sojourns {
        add(element, quantity, distribution);
    }
    for (spec, flow) in scenario.flows.iter().zip(flows) {
        let quantity = if matches!(flow.ends, Ends::Stream(_)) { "owd" } else { "rtt" };
        add(&spec.name, quantity, &flow.delays);
    }
    table
}

/// Rows of the counts by reason that have changed.
fn signal_rows(
    table: &mut Table,
    t: f64,
    kinds: [u32; 3],
    ledger: &Ledger,
    before: &mut SignalsBefore,
) {
    for (place, (why, signals)) in ledger.signals().enumerate() {
        if place == before.counts.len() {
            before.counts.push(Signals::default());
        }
        let seen = &mut before.counts[place];
        let counts = |of: &Signals| [of.marks, of.drops, of.sce_marks];
        for ((kind, count), last) in kinds.into_iter().zip(counts(&signals)).zip(counts(seen)) {
            if count != last {
                table.row().f64(t).code(before.name).text(why.name()).code(kind).u64(count);
            }
        }
        *seen = signals;
    }
}

/// What a port is called in the tables.
fn subject(role: &Role) -> String {
    match role {
        Role::Queue { element } => element.clone(),
        Role::Netem { element, link, flow } => {
            let whose = flow.as_deref().map_or(String::new(), |f| format!(":{f}"));
            let link = if *link == 0 { String::new() } else { format!("/{link}") };
            format!("{element}{link}{whose}")
        }
        Role::Nic { name } => name.clone(),
    }
}

/// Counters at the end: `tc -s`'s of queues, and what conservation is checked by.
fn totals(scenario: &Scenario, flows: &[FlowRun], topology: &Topology) -> Table {
    let mut table = Table::new(&schema::TOTALS, Provenance::Exact);
    let ledger_rows = |table: &mut Table, subject: &str, ledger: &Ledger, held: u32| {
        for (name, value) in [
            ("entered", ledger.entered),
            ("left", ledger.left),
            ("held", u64::from(held)),
            ("dropped", ledger.all_drops()),
            ("marked", ledger.all_marks()),
            ("sce_marked", ledger.all_sce_marks()),
            ("false_marks", ledger.false_marks()),
        ] {
            table.row().text(subject).text(name).f64(value as f64);
        }
    };
    for station in &topology.stations {
        let subject = subject(&station.role);
        let held = station.port.backlog().packets;
        ledger_rows(&mut table, &subject, station.port.ledger(), held);
        let mut add = |name: &str, value: f64| {
            table.row().text(&subject).text(name).f64(value);
        };
        let mut discipline = Some(station.port.discipline());
        while let Some(d) = discipline {
            let stats = d.stats();
            add(&format!("{}.overlimits", d.info().name), stats.overlimits as f64);
            for (name, value) in &stats.own {
                add(&format!("{}.{name}", d.info().name), *value);
            }
            discipline = d.child();
        }
    }
    for (element, passage) in &topology.passages {
        let ledger = passage.ledger();
        ledger_rows(&mut table, element, ledger, 0);
        for (why, signals) in ledger.signals().filter(|s| s.1.drops > 0) {
            let name = format!("drops.{}", why.name());
            table.row().text(element).text(&name).f64(signals.drops as f64);
        }
    }
    for (i, (spec, flow)) in scenario.flows.iter().zip(flows).enumerate() {
        let ports = topology.stations.iter().map(|s| s.port.ledger());
        let ledgers = || ports.clone().chain(topology.passages.iter().map(|p| p.1.ledger()));
        let dropped: u64 = ledgers().map(|l| l.drops_of(i)).sum();
        let copied: u64 = ledgers().map(|l| l.copies_of(i)).sum();
        let mut add = |name: &str, value: f64| {
            table.row().text(&spec.name).text(name).f64(value);
        };
        add("packets_sent", flow.nic.sent as f64);
        add("packets_arrived", flow.arrived as f64);
        add("packets_dropped", dropped as f64);
        if copied > 0 {
            add("packets_copied", copied as f64);
        }
        match &flow.ends {
            Ends::Tcp(sender, receiver) => {
                let c = sender.counters();
                add("segments_sent", c.sent as f64);
                add("retransmits", c.retransmits as f64);
                add("timeouts", c.timeouts as f64);
                add("probes", c.probes as f64);
                add("ece_acks", c.ece_acks as f64);
                add("esce_acks", c.esce_acks as f64);
                add("ece_reductions", c.ece_reductions as f64);
                add("recoveries", c.recoveries as f64);
                add("undos", c.undos as f64);
                add("ecn_agreed", f64::from(sender.ecn_agreed() as u8));
                add("ce_packets", receiver.ce_packets() as f64);
                add("delivered_bytes", receiver.delivered_bytes() as f64);
            }
            Ends::Stream(s) => {
                add("datagrams_sent", f64::from(s.sent));
                add("datagrams_received", s.received as f64);
                add("ce_packets", s.ce as f64);
            }
            Ends::Probe(p) => {
                add("requests", p.requests.len() as f64);
                add("replies", p.replies as f64);
            }
            Ends::Short(short) => {
                let c = short.counts();
                let completed = short.completions.iter().filter(|c| !c.ended.is_never()).count();
                add("connections", short.completions.len() as f64);
                add("completed", completed as f64);
                add("segments_sent", c.sent as f64);
                add("retransmits", c.retransmits as f64);
                add("timeouts", c.timeouts as f64);
                add("ce_packets", c.ce as f64);
                add("delivered_bytes", c.bytes as f64);
            }
            Ends::Streaming(streaming) => {
                let (sender, c) = (&streaming.connection.sends, &streaming.connection);
                add("segments_sent", sender.counters().sent as f64);
                add("retransmits", sender.counters().retransmits as f64);
                add("timeouts", sender.counters().timeouts as f64);
                add("ce_packets", c.takes.ce_packets() as f64);
                add("delivered_bytes", c.taken() as f64);
            }
        }
    }
    table
}
