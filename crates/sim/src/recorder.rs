//! What the simulator hands to the recorder: everything exact, but for what the kernel's own estimators say.

use crate::app::{App as _, Counts, FlowReport, Record};
use crate::flow::{FlowRun, FlowState};
use crate::topology::Topology;
use sojourn_model::Scenario;
use sojourn_record::{Delays, FlowSample, PortElements, Provenances, ports};
use sojourn_results::{Provenance, Rows, Table, rows};
use sojourn_transport::LimitedTimes;
use sojourn_units::Time;

/// Gathers a run's tables.
#[derive(Debug)]
pub(crate) struct Recorder {
    record: sojourn_record::Recorder,
    ports: PortElements,
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
        let ports = PortElements::new(topology);
        let elements = PortElements::paths(topology);
        let record = sojourn_record::Recorder::new(scenario, elements, provenances());
        Self { record, ports }
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
        self.ports.step(&mut self.record, now, topology);
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

    /// Records tc's output for everything that holds packets, `setup` or `teardown`.
    pub(crate) fn tc(&mut self, now: Time, when: &str, topology: &Topology) {
        ports::tc(&mut self.record, now, when, topology);
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
        ports::totals(record, topology);
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
