//! The recorder: rows at every step, distributions over every packet, counters at the end.

use crate::app::{App as _, ConnectionRecord, Counts, FlowReport, Record};
use crate::delays::Delays;
use crate::distribution::Distribution;
use crate::flow::{FlowRun, FlowState};
use crate::topology::{Node, Role, Topology};
use sojourn_model::Scenario;
use sojourn_path::{PortStats, Signals, Sojourns};
use sojourn_qdisc::Qdisc;
use sojourn_results::{Code, Provenance, Rows, Table, rows};
use sojourn_transport::LimitedTimes;
use sojourn_units::Time;
use sojourn_workload::Playing;

/// Counts by reason when the last row was written.
#[derive(Debug)]
struct SignalsBefore {
    name: Code<rows::QueueSignals>,
    counts: Vec<Signals>,
}

/// Codes of the names of a queue's or a control's gauges, in the order in which it tells them, which is the same every
/// step.
#[derive(Debug)]
struct GaugeCodes<T>(Vec<(&'static str, Code<T>)>);

impl<T> GaugeCodes<T> {
    /// The code of the gauge that comes in this place.
    fn of(
        &mut self,
        place: usize,
        gauge: &'static str,
        intern: impl FnOnce(&str) -> Code<T>,
    ) -> Code<T> {
        match self.0.get(place) {
            // The same text at the same place of the program, so that it need not be read.
            Some((known, code)) if core::ptr::eq(*known, gauge) => *code,
            _ => {
                let code = intern(gauge);
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
    name: Code<rows::Queues>,
    state_name: Code<rows::QueueState>,
    gauges: GaugeCodes<rows::QueueState>,
    signals: SignalsBefore,
}

/// Names of a flow in the tables' dictionaries, and what had arrived when the last row was written.
#[derive(Debug)]
struct FlowBefore {
    name: Code<rows::Flows>,
    state_name: Code<rows::FlowState>,
    limits_name: Code<rows::Limits>,
    gauges: GaugeCodes<rows::FlowState>,
    delivered: u64,
    /// When the flow's last row was written, or the flow started.
    at: Time,
}

/// Gathers a run's tables.
#[derive(Debug)]
pub(crate) struct Recorder {
    warmup: Time,
    flows: Rows<rows::Flows>,
    flow_state: Rows<rows::FlowState>,
    limits: Rows<rows::Limits>,
    queues: Rows<rows::Queues>,
    queue_signals: Rows<rows::QueueSignals>,
    queue_state: Rows<rows::QueueState>,
    events: Rows<rows::Events>,
    tc: Rows<rows::Tc>,
    flow_before: Vec<FlowBefore>,
    queue_before: Vec<Option<QueueBefore>>,
    middlebox_before: Vec<SignalsBefore>,
    states: [Code<rows::Flows>; 5],
    kinds: [Code<rows::QueueSignals>; 3],
}

impl Recorder {
    /// Tables for a scenario's flows and ports.
    pub(crate) fn new(scenario: &Scenario, topology: &Topology) -> Self {
        let nodes = &topology.nodes;
        let (exact, sampled) = (Provenance::Exact, Provenance::Sampled);
        let mut flows = Rows::<rows::Flows>::new(exact)
            .with_provenance(|c| c.rtt_s, sampled)
            .with_provenance(|c| c.srtt_s, sampled)
            .with_provenance(|c| c.rttvar_s, sampled)
            .with_provenance(|c| c.delivery_rate_bps, sampled)
            .with_provenance(|c| c.cwnd, sampled)
            .with_provenance(|c| c.inflight, sampled);
        let mut flow_state = Rows::<rows::FlowState>::new(exact);
        let mut limits = Rows::<rows::Limits>::new(exact);
        let mut queues = Rows::<rows::Queues>::new(exact);
        let mut queue_state = Rows::<rows::QueueState>::new(exact);
        let mut queue_signals = Rows::<rows::QueueSignals>::new(exact);
        let states =
            ["Open", "Disorder", "CWR", "Recovery", "Loss"].map(|s| flows.intern(|c| c.state, s));
        let kinds = ["mark", "drop", "sce"].map(|kind| queue_signals.intern(|c| c.kind, kind));
        let flow_before = scenario
            .flows
            .iter()
            .map(|f| FlowBefore {
                name: flows.intern(|c| c.flow, &f.name),
                state_name: flow_state.intern(|c| c.flow, &f.name),
                limits_name: limits.intern(|c| c.flow, &f.name),
                gauges: GaugeCodes(Vec::new()),
                delivered: 0,
                at: Time::ZERO,
            })
            .collect();
        let mut signals = |element: &str| SignalsBefore {
            name: queue_signals.intern(|c| c.queue, element),
            counts: Vec::new(),
        };
        let queue_before = nodes
            .iter()
            .map(|s| match &s.role {
                Role::Queue { element } => Some(QueueBefore {
                    name: queues.intern(|c| c.queue, element),
                    state_name: queue_state.intern(|c| c.queue, element),
                    gauges: GaugeCodes(Vec::new()),
                    signals: signals(element),
                }),
                _ => None,
            })
            .collect();
        let middlebox_before = topology.middleboxes.iter().map(|p| signals(&p.0)).collect();
        Self {
            warmup: Time::ZERO + scenario.warmup,
            flows,
            flow_state,
            limits,
            queues,
            queue_signals,
            queue_state,
            events: Rows::new(exact),
            tc: Rows::new(exact),
            flow_before,
            queue_before,
            middlebox_before,
            states,
            kinds,
        }
    }

    fn seconds(&self, now: Time) -> f64 {
        now.signed_since(self.warmup) as f64 / 1e9
    }

    /// Something happened.
    pub(crate) fn event(&mut self, now: Time, what: &str, subject: &str, detail: &str) {
        let t = self.seconds(now);
        self.events.push(rows::Event {
            t_s: t,
            what: what.into(),
            subject: subject.into(),
            detail: detail.into(),
        });
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
            node.port.check_books();
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
        if let Some(times) = flow.app.limited_times(now) {
            self.limits.push(limit_row(t, before.limits_name, &times));
        }
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
            let place = places.next().unwrap_or(0);
            let code = gauges.of(place, gauge, |name| table.intern(|c| c.name, name));
            table.push(rows::FlowGauge {
                t_s: t,
                flow: state_name.into(),
                name: code.into(),
                value,
            });
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
        self.queues.push(rows::Queue {
            t_s: t,
            queue: before.name.into(),
            packets: u64::from(held.packets),
            bytes: held.bytes,
            sojourn_min_s: min,
            sojourn_mean_s: mean,
            sojourn_max_s: max,
            sent_packets: stats.left,
            sent_bytes: stats.left_bytes,
            marks: stats.all_marks(),
            drops: stats.all_drops(),
        });
        signal_rows(&mut self.queue_signals, t, self.kinds, stats, &mut before.signals);
        let (table, name, codes) = (&mut self.queue_state, before.state_name, &mut before.gauges);
        let mut places = 0..;
        node.port.discipline().gauges(now, &mut |gauge, value| {
            let place = places.next().unwrap_or(0);
            let code = codes.of(place, gauge, |name| table.intern(|c| c.name, name));
            table.push(rows::QueueGauge { t_s: t, queue: name.into(), name: code.into(), value });
        });
    }

    /// What tc says of everything that holds packets, `setup` or `teardown`.
    pub(crate) fn tc(&mut self, now: Time, when: &str, topology: &Topology) {
        let t = self.seconds(now);
        for node in &topology.nodes {
            if !matches!(node.role, Role::Nic { .. }) {
                let text = node.port.discipline().show();
                self.tc.push(rows::TcText {
                    t_s: t,
                    when: when.into(),
                    subject: (&subject(&node.role)).into(),
                    text: (&text).into(),
                });
            }
        }
    }

    /// The tables as far as they are written row by row.
    pub(crate) fn tables(&self) -> [&Table; 8] {
        [
            self.flows.table(),
            self.flow_state.table(),
            self.limits.table(),
            self.queues.table(),
            self.queue_signals.table(),
            self.queue_state.table(),
            self.events.table(),
            self.tc.table(),
        ]
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
        let mut of_flows = FlowTables::new(self.warmup);
        let mut histograms = Rows::<rows::Histograms>::new(Provenance::Exact);
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
            self.flows.into_table(),
            self.flow_state.into_table(),
            self.limits.into_table(),
            self.queues.into_table(),
            self.queue_signals.into_table(),
            self.queue_state.into_table(),
            pings.into_table(),
            completions.into_table(),
            segments.into_table(),
            playback.into_table(),
            histograms.into_table(),
            delays,
            self.events.into_table(),
            totals.into_table(),
            self.tc.into_table(),
        ]
    }
}

/// The row of what has limited a flow until this time.
fn limit_row(t: f64, flow: Code<rows::Limits>, times: &LimitedTimes) -> rows::Limit<'static> {
    rows::Limit {
        t_s: t,
        flow: flow.into(),
        busy_s: times.busy.as_secs_f64(),
        rwnd_limited_s: times.receive_window.as_secs_f64(),
        sndbuf_limited_s: times.send_buffer.as_secs_f64(),
        cwnd_limited_s: times.congestion_window.as_secs_f64(),
        pacing_limited_s: times.pacing.as_secs_f64(),
        app_limited_s: times.application.as_secs_f64(),
        host_limited_s: times.host.as_secs_f64(),
    }
}

/// The row of one connection, at this time, of this flow, with this goodput.
fn connection_row(
    table: &mut Rows<rows::Flows>,
    (t, name, goodput): (f64, Code<rows::Flows>, f64),
    r: &ConnectionRecord,
    state: Code<rows::Flows>,
) {
    table.push(rows::Flow {
        t_s: t,
        flow: name.into(),
        goodput_bps: goodput,
        delivery_rate_bps: r.delivery_rate_bps,
        rtt_s: r.rtt_s,
        srtt_s: r.srtt_s,
        rttvar_s: r.rttvar_s,
        cwnd: r.cwnd,
        ssthresh: r.ssthresh,
        inflight: r.in_flight,
        retransmits: r.retransmits,
        lost: r.lost,
        delivered: r.delivered,
        ce: r.ce,
        ece: r.ece,
        pacing_rate_bps: r.pacing_bps,
        state: state.into(),
        out_of_order_bytes: r.out_of_order_bytes,
    });
}

/// The row of a flow of which only counts are known.
fn counts_row(
    table: &mut Rows<rows::Flows>,
    (t, name, goodput): (f64, Code<rows::Flows>, f64),
    counts: &Counts,
    state: Code<rows::Flows>,
) {
    let nan = f64::NAN;
    table.push(rows::Flow {
        t_s: t,
        flow: name.into(),
        goodput_bps: goodput,
        delivery_rate_bps: nan,
        rtt_s: nan,
        srtt_s: nan,
        rttvar_s: nan,
        cwnd: 0,
        ssthresh: 0,
        inflight: counts.in_flight,
        retransmits: counts.retransmits,
        lost: counts.lost,
        delivered: counts.delivered,
        ce: counts.ce,
        ece: counts.ece,
        pacing_rate_bps: nan,
        state: state.into(),
        out_of_order_bytes: 0,
    });
}

/// Tables of what flows report at the end.
struct FlowTables {
    warmup: Time,
    pings: Rows<rows::Pings>,
    completions: Rows<rows::Completions>,
    segments: Rows<rows::Segments>,
    playback: Rows<rows::Playback>,
}

impl FlowTables {
    fn new(warmup: Time) -> Self {
        let exact = Provenance::Exact;
        Self {
            warmup,
            pings: Rows::new(exact),
            completions: Rows::new(exact),
            segments: Rows::new(exact),
            playback: Rows::new(exact),
        }
    }

    fn add(&mut self, flow: &str, report: &FlowReport) {
        let seconds = |at: Time| at.signed_since(self.warmup) as f64 / 1e9;
        let between = |from: Time, to: Time| {
            if from.is_never() || to.is_never() { f64::NAN } else { (to - from).as_secs_f64() }
        };
        let name = self.pings.intern(|c| c.flow, flow);
        for p in &report.pings {
            self.pings.push(rows::Ping {
                t_s: seconds(p.at),
                flow: name.into(),
                rtt_s: between(p.sent, p.back),
                sequence: p.number,
                owd_s: between(p.sent, p.there),
                owd_back_s: between(p.there, p.back),
                lost: p.lost.into(),
            });
        }
        for c in &report.completions {
            self.completions.push(rows::Completion {
                t_s: seconds(c.started),
                flow: flow.into(),
                bytes: c.bytes,
                duration_s: between(c.started, c.ended),
            });
        }
        for a in &report.segments {
            let download = (a.at - a.asked).as_secs_f64();
            self.segments.push(rows::Segment {
                t_s: seconds(a.at),
                flow: flow.into(),
                bitrate_bps: a.bitrate.bits_per_sec() as f64,
                throughput_bps: 8.0 * a.bytes as f64 / download,
                buffer_s: a.buffer.as_secs_f64(),
                stalled_s: a.stalled.as_secs_f64(),
                number: a.number,
                requested_s: seconds(a.asked),
                bytes: a.bytes,
            });
        }
        for &(at, playing) in &report.playback {
            let bitrate = match playing {
                Playing::Level(rate) => rate.bits_per_sec() as f64,
                Playing::Starting | Playing::Stalled | Playing::Ended => f64::NAN,
            };
            self.playback.push(rows::Playing {
                t_s: seconds(at),
                flow: flow.into(),
                state: playing.name().into(),
                bitrate_bps: bitrate,
            });
        }
    }
}

/// A distribution over the whole run: of a queue's sojourn times, or of what a flow measures itself.
fn histogram(table: &mut Rows<rows::Histograms>, subject: &str, quantity: &str, d: &Distribution) {
    let (subject, quantity) =
        (table.intern(|c| c.subject, subject), table.intern(|c| c.quantity, quantity));
    for (lo, hi, count) in d.buckets() {
        table.push(rows::Bucket {
            subject: subject.into(),
            quantity: quantity.into(),
            lo_s: lo as f64 / 1e9,
            hi_s: hi as f64 / 1e9,
            count,
        });
    }
}

/// Rows of the counts by reason that have changed.
fn signal_rows(
    table: &mut Rows<rows::QueueSignals>,
    t: f64,
    kinds: [Code<rows::QueueSignals>; 3],
    stats: &PortStats,
    before: &mut SignalsBefore,
) {
    for (place, (reason, signals)) in stats.signals().enumerate() {
        if place == before.counts.len() {
            before.counts.push(Signals::default());
        }
        let seen = &mut before.counts[place];
        let counts = |of: &Signals| [of.marks, of.drops, of.sce_marks];
        for ((kind, count), last) in kinds.into_iter().zip(counts(&signals)).zip(counts(seen)) {
            if count != last {
                table.push(rows::Signal {
                    t_s: t,
                    queue: before.name.into(),
                    reason: reason.name().into(),
                    kind: kind.into(),
                    count,
                });
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
fn totals(topology: &Topology) -> Rows<rows::Totals> {
    let mut table = Rows::<rows::Totals>::new(Provenance::Exact);
    let stats_rows =
        |table: &mut Rows<rows::Totals>, subject: &str, stats: &PortStats, held: u32| {
            for (name, value) in [
                ("entered", stats.entered),
                ("left", stats.left),
                ("held", u64::from(held)),
                ("dropped", stats.all_drops()),
                ("marked", stats.all_marks()),
                ("sce_marked", stats.all_sce_marks()),
                ("false_marks", stats.false_marks()),
            ] {
                table.push(rows::Total {
                    subject: subject.into(),
                    name: name.into(),
                    value: value as f64,
                });
            }
        };
    for node in &topology.nodes {
        let subject = subject(&node.role);
        let held = node.port.backlog().packets;
        stats_rows(&mut table, &subject, node.port.stats(), held);
        let mut add = |name: &str, value: f64| {
            table.push(rows::Total { subject: (&subject).into(), name: name.into(), value });
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
        for (reason, signals) in stats.signals().filter(|s| s.1.drops > 0) {
            let name = format!("drops.{}", reason.name());
            table.push(rows::Total {
                subject: element.into(),
                name: (&name).into(),
                value: signals.drops as f64,
            });
        }
    }
    table
}

/// Counters of a flow at the end.
fn flow_totals(
    table: &mut Rows<rows::Totals>,
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
        table.push(rows::Total { subject: name.into(), name: what.into(), value });
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
