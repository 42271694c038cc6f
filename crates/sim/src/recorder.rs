//! The recorder: rows at every step, distributions over every packet, counters at the end.

use crate::app::{App as _, ConnectionRecord, Counts, FlowReport, Record};
use crate::delays::Delays;
use crate::distribution::Distribution;
use crate::flow::{FlowRun, FlowState};
use crate::topology::{Node, Role, Topology};
use sojourn_model::Scenario;
use sojourn_path::{PortStats, Signals, Sojourns};
use sojourn_qdisc::Qdisc;
use sojourn_results::{Provenance, Table, schema};
use sojourn_units::Time;
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
    middlebox_before: Vec<SignalsBefore>,
    states: [u32; 5],
    kinds: [u32; 3],
}

impl Recorder {
    /// Tables for a scenario's flows and ports.
    pub(crate) fn new(scenario: &Scenario, topology: &Topology) -> Self {
        let nodes = &topology.nodes;
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
        let queue_before = nodes
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
        let middlebox_before = topology.middleboxes.iter().map(|p| signals(&p.0)).collect();
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
            middlebox_before,
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
            if flow.state == FlowState::Running {
                self.flow_row(now, i, flow);
            }
        }
        for (i, node) in topology.nodes.iter_mut().enumerate() {
            if matches!(node.role, Role::Queue { .. }) {
                self.queue_row(now, i, node);
            }
        }
        let t = self.seconds(now);
        for (before, (_, middlebox)) in self.middlebox_before.iter_mut().zip(&topology.middleboxes)
        {
            signal_rows(&mut self.queue_signals, t, self.kinds, middlebox.stats(), before);
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
        let bytes = flow.app.delivered_bytes();
        let goodput = (bytes - before.delivered) as f64 * 8.0 / elapsed;
        before.delivered = bytes;
        before.at = now;
        let (name, state_name, gauges) = (before.name, before.state_name, &mut before.gauges);
        match flow.app.record() {
            Record::Nothing => {}
            Record::Counts(counts) => {
                counts_row(&mut self.flows, (t, name, goodput), &counts, self.states[0]);
            }
            Record::Connection(record) => {
                let state = self.states[record.state as usize];
                connection_row(&mut self.flows, (t, name, goodput), &record, state);
            }
        }
        let table = &mut self.flow_state;
        let mut places = 0..;
        flow.app.gauges(&mut |gauge, value| {
            let code = gauges.of(places.next().unwrap_or(0), gauge, table);
            table.row().f64(t).code(state_name).code(code).f64(value);
        });
    }

    fn queue_row(&mut self, now: Time, index: usize, node: &mut Node) {
        let t = self.seconds(now);
        let Some(before) = &mut self.queue_before[index] else { return };
        let Sojourns { count, min, max, sum } = node.port.take_sojourns();
        let (held, stats) = (node.port.backlog(), node.port.stats());
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
            .u64(stats.left)
            .u64(stats.left_bytes)
            .u64(stats.all_marks())
            .u64(stats.all_drops());
        signal_rows(&mut self.queue_signals, t, self.kinds, stats, &mut before.signals);
        let (table, name, codes) = (&mut self.queue_state, before.state_name, &mut before.gauges);
        let mut places = 0..;
        node.port.discipline().gauges(now, &mut |gauge, value| {
            let code = codes.of(places.next().unwrap_or(0), gauge, table);
            table.row().f64(t).code(name).code(code).f64(value);
        });
    }

    /// What tc says of everything that holds packets, `setup` or `teardown`.
    pub(crate) fn tc(&mut self, now: Time, when: &str, topology: &Topology) {
        let t = self.seconds(now);
        for node in &topology.nodes {
            if !matches!(node.role, Role::Nic { .. }) {
                let text = node.port.discipline().show();
                self.tc.row().f64(t).text(when).text(&subject(&node.role)).text(&text);
            }
        }
    }

    /// The tables as far as they are written row by row.
    pub(crate) fn tables(&self) -> [&Table; 7] {
        let Self { flows, flow_state, queues, queue_signals, queue_state, happenings, tc, .. } =
            self;
        [flows, flow_state, queues, queue_signals, queue_state, happenings, tc]
    }

    /// The run is over: its tables.
    pub(crate) fn finish(
        self,
        scenario: &Scenario,
        flows: &[FlowRun],
        topology: &Topology,
        delays: Delays,
    ) -> Vec<Table> {
        let end = Time::ZERO + scenario.length();
        let (delays, sojourns) = delays.finish(end);
        let mut of_flows = FlowTables::new(self.lead);
        let mut histograms = Table::new(&schema::HISTOGRAMS, Provenance::Exact);
        for (element, quantity, distribution) in &sojourns {
            histogram(&mut histograms, element, quantity, distribution);
        }
        let mut totals = totals(topology);
        for (i, (spec, flow)) in scenario.flows.iter().zip(flows).enumerate() {
            let report = flow.app.report(end);
            of_flows.add(&spec.name, &report);
            histogram(&mut histograms, &spec.name, report.delays.name(), &flow.host.delays);
            flow_totals(&mut totals, &spec.name, (i, flow), topology, &report);
        }
        let FlowTables { pings, completions, segments, playback, .. } = of_flows;
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
}

/// The row of one connection, at this time, of this flow, with this goodput.
fn connection_row(
    table: &mut Table,
    (t, name, goodput): (f64, u32, f64),
    r: &ConnectionRecord,
    state: u32,
) {
    table
        .row()
        .f64(t)
        .code(name)
        .f64(goodput)
        .f64(r.delivery_rate_bps)
        .f64(r.rtt_s)
        .f64(r.srtt_s)
        .f64(r.rttvar_s)
        .u64(r.cwnd)
        .u64(r.ssthresh)
        .u64(r.in_flight)
        .u64(r.retransmits)
        .u64(r.lost)
        .u64(r.delivered)
        .u64(r.ce)
        .u64(r.ece)
        .f64(r.pacing_bps)
        .code(state);
}

/// The row of a flow of which only counts are known.
fn counts_row(table: &mut Table, (t, name, goodput): (f64, u32, f64), counts: &Counts, state: u32) {
    let nan = f64::NAN;
    table
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
        .code(state);
}

/// Tables of what flows report at the end.
struct FlowTables {
    lead: Time,
    pings: Table,
    completions: Table,
    segments: Table,
    playback: Table,
}

impl FlowTables {
    fn new(lead: Time) -> Self {
        let exact = |s| Table::new(s, Provenance::Exact);
        Self {
            lead,
            pings: exact(&schema::PINGS),
            completions: exact(&schema::COMPLETIONS),
            segments: exact(&schema::SEGMENTS),
            playback: exact(&schema::PLAYBACK),
        }
    }

    fn add(&mut self, flow: &str, report: &FlowReport) {
        let seconds = |at: Time| at.signed_since(self.lead) as f64 / 1e9;
        let between = |from: Time, to: Time| {
            if from.is_never() || to.is_never() { f64::NAN } else { (to - from).as_secs_f64() }
        };
        let name = self.pings.intern("flow", flow);
        for p in &report.pings {
            self.pings
                .row()
                .f64(seconds(p.at))
                .code(name)
                .f64(between(p.sent, p.back))
                .u64(p.number)
                .f64(between(p.sent, p.there))
                .f64(between(p.there, p.back))
                .text(p.lost);
        }
        for c in &report.completions {
            let row = self.completions.row().f64(seconds(c.started)).text(flow);
            row.u64(c.bytes).f64(between(c.started, c.ended));
        }
        for a in &report.segments {
            let download = (a.at - a.asked).as_secs_f64();
            self.segments
                .row()
                .f64(seconds(a.at))
                .text(flow)
                .f64(a.bitrate.bits_per_sec() as f64)
                .f64(8.0 * a.bytes as f64 / download)
                .f64(a.buffer.as_secs_f64())
                .f64(a.stalled.as_secs_f64())
                .u64(a.number)
                .f64(seconds(a.asked))
                .u64(a.bytes);
        }
        for &(at, playing) in &report.playback {
            let bitrate = match playing {
                Playing::Level(rate) => rate.bits_per_sec() as f64,
                Playing::Starting | Playing::Stalled | Playing::Ended => f64::NAN,
            };
            let row = self.playback.row().f64(seconds(at)).text(flow);
            row.text(playing.name()).f64(bitrate);
        }
    }
}

/// A distribution over the whole run: of a queue's sojourn times, or of what a flow measures itself.
fn histogram(table: &mut Table, subject: &str, quantity: &str, d: &Distribution) {
    let (subject, quantity) =
        (table.intern("subject", subject), table.intern("quantity", quantity));
    for (lo, hi, count) in d.buckets() {
        let row = table.row().code(subject).code(quantity);
        row.f64(lo as f64 / 1e9).f64(hi as f64 / 1e9).u64(count);
    }
}

/// Rows of the counts by reason that have changed.
fn signal_rows(
    table: &mut Table,
    t: f64,
    kinds: [u32; 3],
    stats: &PortStats,
    before: &mut SignalsBefore,
) {
    for (place, (why, signals)) in stats.signals().enumerate() {
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
fn totals(topology: &Topology) -> Table {
    let mut table = Table::new(&schema::TOTALS, Provenance::Exact);
    let stats_rows = |table: &mut Table, subject: &str, stats: &PortStats, held: u32| {
        for (name, value) in [
            ("entered", stats.entered),
            ("left", stats.left),
            ("held", u64::from(held)),
            ("dropped", stats.all_drops()),
            ("marked", stats.all_marks()),
            ("sce_marked", stats.all_sce_marks()),
            ("false_marks", stats.false_marks()),
        ] {
            table.row().text(subject).text(name).f64(value as f64);
        }
    };
    for node in &topology.nodes {
        let subject = subject(&node.role);
        let held = node.port.backlog().packets;
        stats_rows(&mut table, &subject, node.port.stats(), held);
        let mut add = |name: &str, value: f64| {
            table.row().text(&subject).text(name).f64(value);
        };
        let mut discipline = Some(node.port.discipline());
        while let Some(d) = discipline {
            let stats = d.stats();
            add(&format!("{}.overlimits", d.info().name), stats.overlimits as f64);
            for (name, value) in &stats.own {
                add(&format!("{}.{name}", d.info().name), *value);
            }
            discipline = d.child();
        }
    }
    for (element, middlebox) in &topology.middleboxes {
        let stats = middlebox.stats();
        stats_rows(&mut table, element, stats, 0);
        for (why, signals) in stats.signals().filter(|s| s.1.drops > 0) {
            let name = format!("drops.{}", why.name());
            table.row().text(element).text(&name).f64(signals.drops as f64);
        }
    }
    table
}

/// Counters of a flow at the end.
fn flow_totals(
    table: &mut Table,
    name: &str,
    (index, flow): (usize, &FlowRun),
    topology: &Topology,
    report: &FlowReport,
) {
    let ports = topology.nodes.iter().map(|node| node.port.stats());
    let all_stats = || ports.clone().chain(topology.middleboxes.iter().map(|p| p.1.stats()));
    let dropped: u64 = all_stats().map(|l| l.drops_of(index)).sum();
    let copied: u64 = all_stats().map(|l| l.copies_of(index)).sum();
    let mut add = |what: &str, value: f64| {
        table.row().text(name).text(what).f64(value);
    };
    add("packets_sent", flow.host.sent as f64);
    add("packets_arrived", flow.host.arrived as f64);
    add("packets_dropped", dropped as f64);
    if copied > 0 {
        add("packets_copied", copied as f64);
    }
    for &(what, value) in &report.totals {
        add(what, value);
    }
}
