//! The recorder: rows at every step, distributions over every packet, counters at the end.

use crate::host::{Ends, FlowRun, Life};
use crate::topology::{Role, Station};
use hdrhistogram::Histogram;
use sojourn_path::Sojourns;
use sojourn_qdisc::{Qdisc, Why};
use sojourn_scenario::model::Scenario;
use sojourn_scenario::results::{Provenance, Table, schema};
use sojourn_units::{Span, Time};

/// A distribution of times with a relative error of at most 1 %.
#[derive(Debug)]
pub(crate) struct Distribution(Histogram<u32>);

impl Distribution {
    /// Empty.
    pub(crate) fn new() -> Self {
        // Two significant figures are buckets of at most 1/128 of their value.
        Self(Histogram::new(2).expect("two figures are allowed"))
    }

    /// Adds a time.
    #[inline]
    pub(crate) fn add(&mut self, span: Span) {
        // The histogram grows as needed; it refuses only what does not fit 64 bits.
        let _ = self.0.record(span.as_nanos());
    }

    /// Buckets in order: from, up to (not included), how many.
    fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        self.0.iter_recorded().map(|b| {
            let at = b.value_iterated_to();
            let (low, high) = (self.0.lowest_equivalent(at), self.0.next_non_equivalent(at));
            (low, high, u64::from(b.count_at_value()))
        })
    }
}

/// Counts of a queue when the last row was written.
#[derive(Debug)]
struct QueueBefore {
    name: u32,
    state_name: u32,
    signals_name: u32,
    signals: Vec<(u64, u64)>,
}

/// Names of a flow in the tables' dictionaries, and what had arrived when the last row was written.
#[derive(Debug)]
struct FlowBefore {
    name: u32,
    state_name: u32,
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
    flow_before: Vec<FlowBefore>,
    queue_before: Vec<Option<QueueBefore>>,
    /// Sojourn distributions of the ports that are queues.
    pub(crate) sojourns: Vec<Option<Distribution>>,
    states: [u32; 5],
    kinds: (u32, u32),
}

impl Recorder {
    /// Tables for a scenario's flows and ports.
    pub(crate) fn new(scenario: &Scenario, stations: &[Station]) -> Self {
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
        let kinds = (queue_signals.intern("kind", "mark"), queue_signals.intern("kind", "drop"));
        let flow_before = scenario
            .flows
            .iter()
            .map(|f| FlowBefore {
                name: flows.intern("flow", &f.name),
                state_name: flow_state.intern("flow", &f.name),
                delivered: 0,
                at: Time::ZERO,
            })
            .collect();
        let queue_before = stations
            .iter()
            .map(|s| match &s.role {
                Role::Queue { element } => Some(QueueBefore {
                    name: queues.intern("queue", element),
                    state_name: queue_state.intern("queue", element),
                    signals_name: queue_signals.intern("queue", element),
                    signals: vec![(0, 0); Why::ALL.len()],
                }),
                _ => None,
            })
            .collect();
        let sojourns = stations
            .iter()
            .map(|s| matches!(s.role, Role::Queue { .. }).then(Distribution::new))
            .collect();
        Self {
            lead: Time::ZERO + scenario.lead,
            flows,
            flow_state,
            queues,
            queue_signals,
            queue_state,
            happenings: exact(&schema::HAPPENINGS),
            flow_before,
            queue_before,
            sojourns,
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
    pub(crate) fn step(&mut self, now: Time, flows: &[FlowRun], stations: &mut [Station]) {
        for (i, flow) in flows.iter().enumerate() {
            if flow.life == Life::Running {
                self.flow_row(now, i, flow);
            }
        }
        for (i, station) in stations.iter_mut().enumerate() {
            if matches!(station.role, Role::Queue { .. }) {
                self.queue_row(now, i, station);
            }
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
        let (name, state_name) = (before.name, before.state_name);
        match &flow.ends {
            Ends::Tcp(sender, receiver) => {
                let (tcb, counters) = (sender.tcb(), sender.counters());
                let sampled = tcb.rtt.samples() > 0;
                let seconds = |us: u32| if sampled { f64::from(us) / 1e6 } else { f64::NAN };
                let pacing =
                    if tcb.paced { sender.effective_pacing_rate() as f64 * 8.0 } else { f64::NAN };
                self.flows
                    .row()
                    .f64(t)
                    .code(name)
                    .f64(goodput)
                    .f64(tcb.delivery_rate() as f64 * 8.0)
                    .f64(seconds(tcb.rtt.latest_us()))
                    .f64(seconds(tcb.rtt.srtt_us()))
                    .f64(seconds(tcb.rtt.mdev_us()))
                    .u64(u64::from(tcb.cwnd))
                    .u64(u64::from(tcb.ssthresh))
                    .u64(u64::from(tcb.in_flight()))
                    .u64(counters.retransmits)
                    .u64(u64::from(tcb.lost))
                    .u64(u64::from(tcb.delivered))
                    .u64(receiver.ce_packets())
                    .u64(counters.ece_acks)
                    .f64(pacing)
                    .code(self.states[tcb.ca_state as usize]);
                let table = &mut self.flow_state;
                sender.gauges(&mut |gauge, value| {
                    table.row().f64(t).code(state_name).text(gauge).f64(value);
                });
            }
            Ends::Source(source) => {
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
                    .u64(0)
                    .u64(0)
                    .u64(0)
                    .u64(source.received)
                    .u64(source.ce)
                    .u64(0)
                    .f64(nan)
                    .code(self.states[0]);
            }
            Ends::Probe(_) => {}
        }
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
        for (&why, seen) in Why::ALL.iter().zip(&mut before.signals) {
            let (marks, drops) = (ledger.marks(why), ledger.drops(why));
            let name = before.signals_name;
            let mut signal = |kind, count| {
                self.queue_signals.row().f64(t).code(name).text(why.name()).code(kind).u64(count);
            };
            if marks != seen.0 {
                signal(self.kinds.0, marks);
            }
            if drops != seen.1 {
                signal(self.kinds.1, drops);
            }
            *seen = (marks, drops);
        }
        let (table, name) = (&mut self.queue_state, before.state_name);
        station.port.discipline().gauges(now, &mut |gauge, value| {
            table.row().f64(t).code(name).text(gauge).f64(value);
        });
    }

    /// The run is over: its tables.
    pub(crate) fn finish(
        self,
        scenario: &Scenario,
        flows: &[FlowRun],
        stations: &[Station],
    ) -> Vec<Table> {
        let pings = self.pings(scenario, flows);
        let histograms = self.histograms(scenario, flows, stations);
        let totals = totals(scenario, flows, stations);
        vec![
            self.flows,
            self.flow_state,
            self.queues,
            self.queue_signals,
            self.queue_state,
            pings,
            histograms,
            self.happenings,
            totals,
        ]
    }

    fn pings(&self, scenario: &Scenario, flows: &[FlowRun]) -> Table {
        let mut table = Table::new(&schema::PINGS, Provenance::Exact);
        for (spec, flow) in scenario.flows.iter().zip(flows) {
            let Ends::Probe(probe) = &flow.ends else { continue };
            let name = table.intern("flow", &spec.name);
            let mut rows: Vec<(Time, f64)> =
                probe.replies.iter().map(|&(at, rtt)| (at, rtt.as_secs_f64())).collect();
            rows.extend(probe.waiting.iter().map(|&(_, at)| (at, f64::NAN)));
            rows.sort_by_key(|r| r.0);
            for (at, rtt) in rows {
                table.row().f64(self.seconds(at)).code(name).f64(rtt);
            }
        }
        table
    }

    fn histograms(&self, scenario: &Scenario, flows: &[FlowRun], stations: &[Station]) -> Table {
        let mut table = Table::new(&schema::HISTOGRAMS, Provenance::Exact);
        let mut add = |subject: &str, quantity: &str, d: &Distribution| {
            let (subject, quantity) =
                (table.intern("subject", subject), table.intern("quantity", quantity));
            for (lo, hi, count) in d.buckets() {
                table
                    .row()
                    .code(subject)
                    .code(quantity)
                    .f64(lo as f64 / 1e9)
                    .f64(hi as f64 / 1e9)
                    .u64(count);
            }
        };
        for (station, sojourns) in stations.iter().zip(&self.sojourns) {
            if let (Role::Queue { element }, Some(d)) = (&station.role, sojourns) {
                add(element, "sojourn", d);
            }
        }
        for (spec, flow) in scenario.flows.iter().zip(flows) {
            let quantity = if matches!(flow.ends, Ends::Source(_)) { "owd" } else { "rtt" };
            add(&spec.name, quantity, &flow.delays);
        }
        table
    }
}

/// Counters at the end: `tc -s`'s of queues, and what conservation is checked by.
fn totals(scenario: &Scenario, flows: &[FlowRun], stations: &[Station]) -> Table {
    let mut table = Table::new(&schema::TOTALS, Provenance::Exact);
    for station in stations {
        let subject = match &station.role {
            Role::Queue { element } => element.clone(),
            Role::Netem { element, link, flow } => {
                let whose = flow.as_deref().map_or(String::new(), |f| format!(":{f}"));
                let link = if *link == 0 { String::new() } else { format!("/{link}") };
                format!("{element}{link}{whose}")
            }
            Role::Nic { name } => name.clone(),
        };
        let ledger = station.port.ledger();
        let mut add = |name: &str, value: f64| {
            table.row().text(&subject).text(name).f64(value);
        };
        add("entered", ledger.entered as f64);
        add("left", ledger.left as f64);
        add("held", f64::from(station.port.backlog().packets));
        add("dropped", ledger.all_drops() as f64);
        add("marked", ledger.all_marks() as f64);
        add("false_marks", ledger.false_marks() as f64);
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
    for (i, (spec, flow)) in scenario.flows.iter().zip(flows).enumerate() {
        let dropped: u64 = stations.iter().map(|s| s.port.ledger().drops_of(i)).sum();
        let mut add = |name: &str, value: f64| {
            table.row().text(&spec.name).text(name).f64(value);
        };
        add("packets_sent", flow.nic.sent as f64);
        add("packets_arrived", flow.arrived as f64);
        add("packets_dropped", dropped as f64);
        match &flow.ends {
            Ends::Tcp(sender, receiver) => {
                let c = sender.counters();
                add("segments_sent", c.sent as f64);
                add("retransmits", c.retransmits as f64);
                add("timeouts", c.timeouts as f64);
                add("probes", c.probes as f64);
                add("ece_acks", c.ece_acks as f64);
                add("ece_reductions", c.ece_reductions as f64);
                add("recoveries", c.recoveries as f64);
                add("undos", c.undos as f64);
                add("ecn_agreed", f64::from(u8::from(sender.ecn_agreed())));
                add("ce_packets", receiver.ce_packets() as f64);
                add("delivered_bytes", receiver.delivered_bytes() as f64);
            }
            Ends::Source(s) => {
                add("datagrams_sent", s.sent as f64);
                add("datagrams_received", s.received as f64);
                add("ce_packets", s.ce as f64);
            }
            Ends::Probe(p) => {
                add("requests", f64::from(p.sent));
                add("replies", p.replies.len() as f64);
            }
        }
    }
    table
}
