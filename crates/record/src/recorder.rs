//! The recorder: rows as samples come, distributions and counters at the end.

use crate::distribution::Distribution;
use crate::samples::{
    Completion, FlowSample, LimitedTimes, PingSample, QueueSample, RecoveryState, SignalKind,
};
use sojourn_model::Scenario;
use sojourn_results::{Code, Provenance, Rows, Table, rows};
use sojourn_units::Time;
use sojourn_workload::{Arrived, Playing};

/// How well an engine knows what it hands over.
#[derive(Debug)]
pub struct Provenances {
    /// The columns of flows.
    pub flows: Rows<rows::Flows>,
    /// The columns of queues.
    pub queues: Rows<rows::Queues>,
    /// The columns of completions.
    pub completions: Rows<rows::Completions>,
    /// Gauges, limits, counts by reason and final counters.
    pub counters: Provenance,
    /// Distributions.
    pub distributions: Provenance,
}

/// Codes of gauges' names, in the order in which a queue or a control reports them: the same at every sample.
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

/// An element's names in the tables' dictionaries, and its counts when the last row was written.
#[derive(Debug)]
struct ElementBefore {
    queues: Code<rows::Queues>,
    state: Code<rows::QueueState>,
    signals: Code<rows::QueueSignals>,
    gauges: GaugeCodes<rows::QueueState>,
    counts: Vec<(&'static str, SignalKind, u64)>,
}

/// A flow's names in the tables' dictionaries, and the bytes that had arrived when the last row was written.
#[derive(Debug)]
struct FlowBefore {
    flows: Code<rows::Flows>,
    state: Code<rows::FlowState>,
    limits: Code<rows::Limits>,
    gauges: GaugeCodes<rows::FlowState>,
    delivered: u64,
    /// When the last row was written, or the flow started.
    at: Time,
}

/// Gathers a run's tables.
#[derive(Debug)]
pub struct Recorder {
    warmup: Time,
    flows: Rows<rows::Flows>,
    flow_state: Rows<rows::FlowState>,
    limits: Rows<rows::Limits>,
    queues: Rows<rows::Queues>,
    queue_signals: Rows<rows::QueueSignals>,
    queue_state: Rows<rows::QueueState>,
    events: Rows<rows::Events>,
    tc: Rows<rows::Tc>,
    pings: Rows<rows::Pings>,
    completions: Rows<rows::Completions>,
    segments: Rows<rows::Segments>,
    playback: Rows<rows::Playback>,
    output: Rows<rows::Output>,
    histograms: Rows<rows::Histograms>,
    totals: Rows<rows::Totals>,
    flow_before: Vec<FlowBefore>,
    element_before: Vec<ElementBefore>,
    states: [Code<rows::Flows>; 5],
    kinds: [Code<rows::QueueSignals>; 3],
}

impl Recorder {
    /// Tables of a scenario's flows, and of these elements (queues and middleboxes, by their paths), which calls name by
    /// their place.
    pub fn new<'e>(
        scenario: &Scenario,
        elements: impl IntoIterator<Item = &'e str>,
        known: Provenances,
    ) -> Self {
        let Provenances { mut flows, mut queues, completions, counters, distributions } = known;
        let exact = Provenance::Exact;
        let mut flow_state = Rows::<rows::FlowState>::new(counters);
        let mut limits = Rows::<rows::Limits>::new(counters);
        let mut queue_state = Rows::<rows::QueueState>::new(counters);
        let mut queue_signals = Rows::<rows::QueueSignals>::new(counters);
        let states = RecoveryState::ALL.map(|state| flows.intern(|c| c.state, state.name()));
        let kinds = SignalKind::ALL.map(|kind| queue_signals.intern(|c| c.kind, kind.name()));
        let flow_before = scenario.flows.iter().map(|f| FlowBefore {
            flows: flows.intern(|c| c.flow, &f.name),
            state: flow_state.intern(|c| c.flow, &f.name),
            limits: limits.intern(|c| c.flow, &f.name),
            gauges: GaugeCodes(Vec::new()),
            delivered: 0,
            at: Time::ZERO,
        });
        let flow_before = flow_before.collect();
        let element_before = elements.into_iter().map(|element| ElementBefore {
            queues: queues.intern(|c| c.queue, element),
            state: queue_state.intern(|c| c.queue, element),
            signals: queue_signals.intern(|c| c.queue, element),
            gauges: GaugeCodes(Vec::new()),
            counts: Vec::new(),
        });
        let element_before = element_before.collect();
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
            pings: Rows::new(exact),
            completions,
            segments: Rows::new(exact),
            playback: Rows::new(exact),
            output: Rows::new(exact),
            histograms: Rows::new(distributions),
            totals: Rows::new(counters),
            flow_before,
            element_before,
            states,
            kinds,
        }
    }

    fn seconds(&self, at: Time) -> f64 {
        at.signed_since(self.warmup) as f64 / 1e9
    }

    /// Something happened.
    pub fn event(&mut self, at: Time, what: &str, subject: &str, detail: &str) {
        let t_s = self.seconds(at);
        let (what, subject, detail) = (what.into(), subject.into(), detail.into());
        self.events.push(rows::Event { t_s, what, subject, detail });
    }

    /// A flow starts: its first interval begins.
    pub fn flow_started(&mut self, at: Time, flow: usize) {
        self.flow_before[flow].at = at;
    }

    /// A flow at the end of an interval, with the payload bytes that have arrived since its start. False, and no row, if
    /// the interval has no length.
    pub fn flow(&mut self, at: Time, flow: usize, bytes: u64, sample: Option<&FlowSample>) -> bool {
        let t = self.seconds(at);
        let before = &mut self.flow_before[flow];
        let elapsed = at.since(before.at).as_secs_f64();
        if elapsed == 0.0 {
            return false;
        }
        let goodput = bytes.saturating_sub(before.delivered) as f64 * 8.0 / elapsed;
        (before.delivered, before.at) = (bytes, at);
        if let Some(s) = sample {
            self.flows.push(rows::Flow {
                t_s: t,
                flow: before.flows.into(),
                goodput_bps: goodput,
                delivery_rate_bps: s.delivery_rate_bps,
                rtt_s: s.rtt_s,
                srtt_s: s.srtt_s,
                rttvar_s: s.rttvar_s,
                cwnd: s.cwnd,
                ssthresh: s.ssthresh,
                inflight: s.in_flight,
                retransmits: s.retransmits,
                lost: s.lost,
                delivered: s.delivered,
                ce: s.ce,
                ece: s.ece,
                pacing_rate_bps: s.pacing_bps,
                state: self.states[s.state as usize].into(),
                out_of_order_bytes: s.out_of_order_bytes,
            });
        }
        true
    }

    /// What has limited a flow's sender until now.
    pub fn limits(&mut self, at: Time, flow: usize, times: &LimitedTimes) {
        self.limits.push(rows::Limit {
            t_s: self.seconds(at),
            flow: self.flow_before[flow].limits.into(),
            busy_s: times.busy_s,
            rwnd_limited_s: times.rwnd_s,
            sndbuf_limited_s: times.sndbuf_s,
            cwnd_limited_s: times.cwnd_s,
            pacing_limited_s: times.pacing_s,
            app_limited_s: times.app_s,
            host_limited_s: times.host_s,
        });
    }

    /// The numbers that a flow's congestion control reports: `report` calls what it gets for each.
    pub fn flow_gauges(
        &mut self,
        at: Time,
        flow: usize,
        report: impl FnOnce(&mut dyn FnMut(&'static str, f64)),
    ) {
        let (t, before) = (self.seconds(at), &mut self.flow_before[flow]);
        let (table, name, codes) = (&mut self.flow_state, before.state, &mut before.gauges);
        let mut places = 0..;
        report(&mut |gauge, value| {
            let place = places.next().unwrap_or(0);
            let code = codes.of(place, gauge, |name| table.intern(|c| c.name, name));
            table.push(rows::FlowGauge { t_s: t, flow: name.into(), name: code.into(), value });
        });
    }

    /// A queue at the end of an interval.
    pub fn queue(&mut self, at: Time, element: usize, sample: &QueueSample) {
        let t = self.seconds(at);
        let (min, sum, max, count) = sample.sojourn;
        let seconds = |nanos: f64| if count == 0 { f64::NAN } else { nanos / 1e9 };
        self.queues.push(rows::Queue {
            t_s: t,
            queue: self.element_before[element].queues.into(),
            packets: sample.packets,
            bytes: sample.bytes,
            sojourn_min_s: seconds(min as f64),
            sojourn_mean_s: if count == 0 { f64::NAN } else { sum as f64 / 1e9 / count as f64 },
            sojourn_max_s: seconds(max as f64),
            sent_packets: sample.sent_packets,
            sent_bytes: sample.sent_bytes,
            marks: sample.marks,
            drops: sample.drops,
        });
    }

    /// How often an element has done something for a reason since the beginning; a row if that has changed from 0 or the
    /// last count.
    pub fn signal(
        &mut self,
        at: Time,
        element: usize,
        (reason, kind): (&'static str, SignalKind),
        count: u64,
    ) {
        let t = self.seconds(at);
        let before = &mut self.element_before[element];
        let known = before.counts.iter().position(|known| (known.0, known.1) == (reason, kind));
        let place = known.unwrap_or_else(|| {
            before.counts.push((reason, kind, 0));
            before.counts.len() - 1
        });
        if core::mem::replace(&mut before.counts[place].2, count) != count {
            self.queue_signals.push(rows::Signal {
                t_s: t,
                queue: before.signals.into(),
                reason: reason.into(),
                kind: self.kinds[kind as usize].into(),
                count,
            });
        }
    }

    /// The numbers that a queue discipline reports: `report` calls what it gets for each.
    pub fn queue_gauges(
        &mut self,
        at: Time,
        element: usize,
        report: impl FnOnce(&mut dyn FnMut(&'static str, f64)),
    ) {
        let (t, before) = (self.seconds(at), &mut self.element_before[element]);
        let (table, name, codes) = (&mut self.queue_state, before.state, &mut before.gauges);
        let mut places = 0..;
        report(&mut |gauge, value| {
            let place = places.next().unwrap_or(0);
            let code = codes.of(place, gauge, |name| table.intern(|c| c.name, name));
            table.push(rows::QueueGauge { t_s: t, queue: name.into(), name: code.into(), value });
        });
    }

    /// Records tc's output for something that holds packets; `when` is `setup` or `teardown`.
    pub fn tc(&mut self, at: Time, when: &str, subject: &str, text: &str) {
        let t_s = self.seconds(at);
        let (when, subject, text) = (when.into(), subject.into(), text.into());
        self.tc.push(rows::TcText { t_s, when, subject, text });
    }

    /// A line that a program has written.
    pub fn output(&mut self, at: Time, flow: &str, program: &str, text: &str) {
        let t_s = self.seconds(at);
        let (flow, program, text) = (flow.into(), program.into(), text.into());
        self.output.push(rows::OutputLine { t_s, flow, program, text });
    }

    /// A packet with a delay that somebody measures.
    pub fn ping(&mut self, flow: &str, sample: &PingSample) {
        self.pings.push(rows::Ping {
            t_s: self.seconds(sample.at),
            flow: flow.into(),
            rtt_s: between(sample.sent, sample.back),
            sequence: sample.number,
            owd_s: between(sample.sent, sample.there),
            owd_back_s: between(sample.there, sample.back),
            lost: sample.lost.into(),
        });
    }

    /// A connection or transfer.
    pub fn completion(&mut self, flow: &str, of: &Completion) {
        self.completions.push(rows::Completion {
            t_s: self.seconds(of.started),
            flow: flow.into(),
            bytes: of.bytes,
            duration_s: between(of.started, of.ended),
        });
    }

    /// A segment that a player downloaded.
    pub fn segment(&mut self, flow: &str, a: &Arrived) {
        self.segments.push(rows::Segment {
            t_s: self.seconds(a.at),
            flow: flow.into(),
            bitrate_bps: a.bitrate.bits_per_sec() as f64,
            throughput_bps: 8.0 * a.bytes as f64 / (a.at - a.asked).as_secs_f64(),
            buffer_s: a.buffer.as_secs_f64(),
            stalled_s: a.stalled.as_secs_f64(),
            number: a.number,
            requested_s: self.seconds(a.asked),
            bytes: a.bytes,
        });
    }

    /// What a player plays from now on.
    pub fn playing(&mut self, at: Time, flow: &str, playing: Playing) {
        let bitrate_bps = match playing {
            Playing::Level(rate) => rate.bits_per_sec() as f64,
            Playing::Starting | Playing::Stalled | Playing::Ended => f64::NAN,
        };
        let (t_s, flow, state) = (self.seconds(at), flow.into(), playing.name().into());
        self.playback.push(rows::Playing { t_s, flow, state, bitrate_bps });
    }

    /// A distribution over the whole run.
    pub fn histogram(&mut self, subject: &str, quantity: &str, distribution: &Distribution) {
        let table = &mut self.histograms;
        let subject = table.intern(|c| c.subject, subject);
        let quantity = table.intern(|c| c.quantity, quantity);
        for (lo, hi, count) in distribution.buckets() {
            table.push(rows::Bucket {
                subject: subject.into(),
                quantity: quantity.into(),
                lo_s: lo as f64 / 1e9,
                hi_s: hi as f64 / 1e9,
                count,
            });
        }
    }

    /// A counter at the end.
    pub fn total(&mut self, subject: &str, name: &str, value: f64) {
        self.totals.push(rows::Total { subject: subject.into(), name: name.into(), value });
    }

    /// The tables that grow row by row, as far as they are written.
    pub fn tables(&self) -> [&Table; 8] {
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

    /// The run is over: its tables, with the one of delays. `has` says of a table without rows, by its name, whether the
    /// run has it.
    pub fn finish(self, delays: Table, has: impl Fn(&str) -> bool) -> Vec<Table> {
        let tables = [
            self.flows.into_table(),
            self.flow_state.into_table(),
            self.limits.into_table(),
            self.queues.into_table(),
            self.queue_signals.into_table(),
            self.queue_state.into_table(),
            self.pings.into_table(),
            self.completions.into_table(),
            self.segments.into_table(),
            self.playback.into_table(),
            self.histograms.into_table(),
            delays,
            self.events.into_table(),
            self.totals.into_table(),
            self.tc.into_table(),
            self.output.into_table(),
        ];
        tables.into_iter().filter(|table| has(table.schema().name)).collect()
    }
}

/// Seconds from one time to another; NaN if either never comes.
fn between(from: Time, to: Time) -> f64 {
    if from.is_never() || to.is_never() { f64::NAN } else { to.since(from).as_secs_f64() }
}
