//! What the simulator hands to the recorder: everything exact, but for what the kernel's own estimators say.

use crate::app::{App as _, Counts, FlowReport, Record};
use crate::flow::{FlowRun, FlowState};
use crate::topology::{Node, Role, Topology};
use sojourn_model::Scenario;
use sojourn_path::{PortStats, Sojourns};
use sojourn_qdisc::Qdisc;
use sojourn_record::{Delays, FlowSample, Provenances, QueueSample, SignalKind};
use sojourn_results::{Provenance, Rows, Table, rows};
use sojourn_transport::LimitedTimes;
use sojourn_units::Time;

/// Gathers a run's tables.
#[derive(Debug)]
pub(crate) struct Recorder {
    record: sojourn_record::Recorder,
    /// The recorder's element of each port, if it is a queue.
    element_of: Vec<Option<usize>>,
    /// The element of the first middlebox.
    middleboxes: usize,
}

/// The element of a port, if it is a queue.
pub(crate) fn queue_of(node: &Node) -> Option<&str> {
    match &node.role {
        Role::Queue { element } => Some(element),
        _ => None,
    }
}

/// How well the simulator knows what it records.
fn provenances() -> Provenances {
    let (exact, sampled) = (Provenance::Exact, Provenance::Sampled);
    Provenances {
        flows: Rows::<rows::Flows>::new(exact)
            .with_provenance(|c| c.rtt_s, sampled)
            .with_provenance(|c| c.srtt_s, sampled)
            .with_provenance(|c| c.rttvar_s, sampled)
            .with_provenance(|c| c.delivery_rate_bps, sampled)
            .with_provenance(|c| c.cwnd, sampled)
            .with_provenance(|c| c.inflight, sampled),
        queues: Rows::new(exact),
        completions: Rows::new(exact),
        counters: exact,
        distributions: exact,
    }
}

impl Recorder {
    /// Tables for a scenario's flows and ports.
    pub(crate) fn new(scenario: &Scenario, topology: &Topology) -> Self {
        let mut next = 0..;
        let element_of: Vec<_> =
            topology.nodes.iter().map(|node| queue_of(node).and_then(|_| next.next())).collect();
        let middleboxes = element_of.iter().flatten().count();
        let queues = topology.nodes.iter().filter_map(queue_of);
        let elements = queues.chain(topology.middleboxes.iter().map(|(path, _)| path.as_str()));
        let record = sojourn_record::Recorder::new(scenario, elements, provenances());
        Self { record, element_of, middleboxes }
    }

    /// Something happened.
    pub(crate) fn event(&mut self, now: Time, what: &str, subject: &str, detail: &str) {
        self.record.event(now, what, subject, detail);
    }

    /// A flow starts: its first step begins now.
    pub(crate) fn flow_started(&mut self, now: Time, flow: usize) {
        self.record.flow_started(now, flow);
    }

    /// A step ends.
    pub(crate) fn step(&mut self, now: Time, flows: &[FlowRun], topology: &mut Topology) {
        for (i, flow) in flows.iter().enumerate() {
            if flow.state == FlowState::Running {
                self.flow_row(now, i, flow);
            }
        }
        for (node, element) in topology.nodes.iter_mut().zip(&self.element_of) {
            node.port.check_books();
            if let Some(element) = *element {
                queue_row(&mut self.record, now, element, node);
            }
        }
        for (element, (_, middlebox)) in (self.middleboxes..).zip(&topology.middleboxes) {
            signal_rows(&mut self.record, now, element, middlebox.stats());
        }
    }

    /// A row of a flow, for the step that ends now.
    pub(crate) fn flow_row(&mut self, now: Time, index: usize, flow: &FlowRun) {
        let sample = match flow.app.record() {
            Record::Nothing => None,
            Record::Counts(counts) => Some(of_counts(&counts)),
            Record::Connection(sample) => Some(sample),
        };
        if !self.record.flow(now, index, flow.app.delivered_bytes(), sample.as_ref()) {
            return;
        }
        if let Some(times) = flow.app.limited_times(now) {
            self.record.limits(now, index, &limits(&times));
        }
        self.record.flow_gauges(now, index, |out| flow.app.gauges(out));
    }

    /// What tc says of everything that holds packets, `setup` or `teardown`.
    pub(crate) fn tc(&mut self, now: Time, when: &str, topology: &Topology) {
        for node in &topology.nodes {
            if !matches!(node.role, Role::Nic { .. }) {
                let text = node.port.discipline().show();
                self.record.tc(now, when, &subject(&node.role), &text);
            }
        }
    }

    /// The tables as far as they are written row by row.
    pub(crate) fn tables(&self) -> [&Table; 8] {
        self.record.tables()
    }

    /// The run is over: its tables.
    pub(crate) fn finish(
        mut self,
        scenario: &Scenario,
        flows: &[FlowRun],
        topology: &Topology,
        delays: Delays,
    ) -> Vec<Table> {
        let end = Time::ZERO + scenario.length();
        let (delays, sojourns) = delays.finish(end);
        let record = &mut self.record;
        for (element, quantity, distribution) in &sojourns {
            record.histogram(element, quantity, distribution);
        }
        totals(record, topology);
        for (i, (spec, flow)) in scenario.flows.iter().zip(flows).enumerate() {
            let report = flow.app.report(end);
            reported(record, &spec.name, &report);
            record.histogram(&spec.name, report.delays.name(), &flow.host.delays);
            flow_totals(record, &spec.name, (i, flow), topology, &report);
        }
        self.record.finish(delays, |table| table != "output")
    }
}

/// What has limited a sender.
fn limits(times: &LimitedTimes) -> sojourn_record::LimitedTimes {
    sojourn_record::LimitedTimes {
        busy_s: times.busy.as_secs_f64(),
        rwnd_s: times.receive_window.as_secs_f64(),
        sndbuf_s: times.send_buffer.as_secs_f64(),
        cwnd_s: times.congestion_window.as_secs_f64(),
        pacing_s: times.pacing.as_secs_f64(),
        app_s: times.application.as_secs_f64(),
        host_s: times.host.as_secs_f64(),
    }
}

fn of_counts(counts: &Counts) -> FlowSample {
    FlowSample {
        in_flight: counts.in_flight,
        retransmits: counts.retransmits,
        lost: counts.lost,
        delivered: counts.delivered,
        ce: counts.ce,
        ece: counts.ece,
        ..FlowSample::UNKNOWN
    }
}

fn queue_row(record: &mut sojourn_record::Recorder, now: Time, element: usize, node: &mut Node) {
    let Sojourns { count, min, max, sum } = node.port.take_sojourns();
    let (held, stats) = (node.port.backlog(), node.port.stats());
    let sample = QueueSample {
        packets: u64::from(held.packets),
        bytes: held.bytes,
        sojourn: (min.as_nanos(), sum.as_nanos(), max.as_nanos(), count),
        sent_packets: stats.left,
        sent_bytes: stats.left_bytes,
        marks: stats.all_marks(),
        drops: stats.all_drops(),
    };
    record.queue(now, element, &sample);
    signal_rows(record, now, element, stats);
    record.queue_gauges(now, element, |out| node.port.discipline().gauges(now, out));
}

/// Counts by reason.
fn signal_rows(
    record: &mut sojourn_record::Recorder,
    now: Time,
    element: usize,
    stats: &PortStats,
) {
    use SignalKind::{Drop, Mark, Sce};
    for (reason, signals) in stats.signals() {
        let counts = [(Mark, signals.marks), (Drop, signals.drops), (Sce, signals.sce_marks)];
        // Most reasons never occur.
        for (kind, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            record.signal(now, element, (reason.name(), kind), count);
        }
    }
}

/// What a flow reports at the end.
fn reported(record: &mut sojourn_record::Recorder, flow: &str, report: &FlowReport) {
    for ping in &report.pings {
        record.ping(flow, ping);
    }
    for completion in &report.completions {
        record.completion(flow, completion);
    }
    for segment in &report.segments {
        record.segment(flow, segment);
    }
    for &(at, playing) in &report.playback {
        record.playing(at, flow, playing);
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
fn totals(record: &mut sojourn_record::Recorder, topology: &Topology) {
    let stats_rows =
        |record: &mut sojourn_record::Recorder, subject: &str, stats: &PortStats, held: u32| {
            for (name, value) in [
                ("entered", stats.entered),
                ("left", stats.left),
                ("held", u64::from(held)),
                ("dropped", stats.all_drops()),
                ("marked", stats.all_marks()),
                ("sce_marked", stats.all_sce_marks()),
                ("false_marks", stats.false_marks()),
            ] {
                record.total(subject, name, value as f64);
            }
        };
    for node in &topology.nodes {
        let subject = subject(&node.role);
        let held = node.port.backlog().packets;
        stats_rows(record, &subject, node.port.stats(), held);
        let mut discipline = Some(node.port.discipline());
        while let Some(d) = discipline {
            let (name, stats) = (d.info().name, d.stats());
            record.total(&subject, &format!("{name}.overlimits"), stats.overlimits as f64);
            for (counter, value) in &stats.own {
                record.total(&subject, &format!("{name}.{counter}"), *value);
            }
            discipline = d.child();
        }
    }
    for (element, middlebox) in &topology.middleboxes {
        let stats = middlebox.stats();
        stats_rows(record, element, stats, 0);
        for (reason, signals) in stats.signals().filter(|s| s.1.drops > 0) {
            record.total(element, &format!("drops.{}", reason.name()), signals.drops as f64);
        }
    }
}

/// Counters of a flow at the end.
fn flow_totals(
    record: &mut sojourn_record::Recorder,
    name: &str,
    (index, flow): (usize, &FlowRun),
    topology: &Topology,
    report: &FlowReport,
) {
    let ports = topology.nodes.iter().map(|node| node.port.stats());
    let all_stats = || ports.clone().chain(topology.middleboxes.iter().map(|p| p.1.stats()));
    let dropped: u64 = all_stats().map(|l| l.drops_of(index)).sum();
    let copied: u64 = all_stats().map(|l| l.copies_of(index)).sum();
    record.total(name, "packets_sent", flow.host.sent as f64);
    record.total(name, "packets_arrived", flow.host.arrived as f64);
    record.total(name, "packets_dropped", dropped as f64);
    if copied > 0 {
        record.total(name, "packets_copied", copied as f64);
    }
    for &(what, value) in &report.totals {
        record.total(name, what, value);
    }
}
