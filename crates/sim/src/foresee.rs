//! The needs of a run, from its scenario alone: packets by rates, times, sizes and windows, and from them and the rows
//! of its tables processor time, memory and disk.
//!
//! Greedy flows share the slowest element of their way, as long as any of them is there. Losses, marks and the
//! reactions of congestion controls are ignored: an estimate is for plans, and within a factor of two for nearly all
//! cells of the suites.

mod offered;
#[cfg(test)]
mod tests;
mod ways;

use crate::packet::PacketBox;
use crate::topology;
use offered::Offered;
use sojourn_engine::{Disk, Foreseen, Memory};
use sojourn_model::{Action, At, Flow, Kind, Scenario, Start, Traffic, When};
use sojourn_qdisc::Registry;
use sojourn_results::metrics::FEW;
use sojourn_results::schema::{self, Schema, Type};
use sojourn_transport::cc::Registry as Controls;
use std::collections::BTreeMap;
use ways::{FRAME, Ways};

/// Data packets a second that one core does, by what sends: `packets_per_cpu_second` of A, F, H and E of
/// `benches/record.json`; a test holds these against it.
const SPEEDS: [f64; 4] = [5.45e6, 4.37e6, 3.89e6, 3.14e6];
/// Their places: any control but these two families, which reckon more, and every one where there are many flows.
const ANY: usize = 0;
const PRAGUE: usize = 1;
const BBR: usize = 2;
const CROWD: usize = 3;
/// From this number of flows on their state leaves the nearer caches (docs/performance.md, E).
const MANY: usize = 500;

/// What a run and a row take besides, storing included, s: measured over runs of all suites (docs/performance.md).
const RUN_S: f64 = 5e-4;
const ROW_S: f64 = 1.5e-7;

/// Bytes of a packet that is out, and of its segment in the sender's books (docs/performance.md): what
/// [`Memory::packets`] foresees for each.
pub const PACKET_BYTES: f64 = 180.0;
/// Bytes of a flow (the same).
const FLOW_BYTES: f64 = 10_000.0;
/// Rows of distributions, as runs of all suites have them: of a flow with recorded delays, of a queue.
const OF_A_FLOW: f64 = 3000.0;
const OF_A_QUEUE: f64 = 1000.0;
/// Columns grow by doubling: on the average half as much again is reserved.
const RESERVED: f64 = 1.5;
/// Bytes of a stored run without rows, of a row of a distribution, and of any other row.
const STORED_RUN: f64 = 2000.0;
const STORED_COUNT: f64 = 0.4;
const STORED_ROW: f64 = 4.5;

/// Greedy flows at one bottleneck.
#[derive(Default)]
struct Sharers {
    /// When they are there, s.
    times: Vec<(f64, f64)>,
    /// The packets that they would send together if each were alone.
    wanted: f64,
    /// Of that, by [`SPEEDS`].
    kinds: [f64; SPEEDS.len()],
    /// The packets that they may have out together.
    windows: f64,
    rtt: f64,
}

/// What a run will need of an engine that knows these disciplines and controls.
pub(crate) fn foresee(
    qdiscs: &Registry<PacketBox>,
    controls: &Controls,
    scenario: &Scenario,
) -> Foreseen {
    let ways = Ways::of(scenario, qdiscs);
    let seconds = scenario.length().as_secs_f64();
    let mut rows = Rows { seconds, steps: steps(scenario), ..Rows::default() };
    let mut sharers: BTreeMap<Option<usize>, Sharers> = BTreeMap::new();
    let mut loads = vec![0.0; ways.stations.len()];
    let (mut sent, mut out) = ([0.0; SPEEDS.len()], 0.0);
    let crowded = scenario.flows.len() >= MANY;
    let times = times(scenario);
    for flow in &scenario.flows {
        let (from, to) = times[flow.name.as_str()];
        let (there, back) = ways.delays(flow);
        let offered =
            Offered::by(flow, topology::stack(&flow.stack), there + back, ways.loss(flow));
        let wanted = (offered.rate * (to - from)).min(offered.most);
        let kind = if crowded { CROWD } else { kind(flow) };
        let way = ways.way(flow);
        rows.flow(controls, flow, to - from, wanted * offered.rows);
        if let Some(window) = offered.window {
            let group = sharers.entry(way.bottleneck).or_default();
            group.times.push((from, to));
            group.wanted += wanted;
            group.kinds[kind] += wanted;
            group.windows += window.min(offered.most);
            group.rtt = group.rtt.max(there + back);
        } else {
            sent[kind] += wanted;
            out += (offered.rate * (there + back)).min(wanted);
            for &station in &way.data {
                loads[station] += wanted * offered.there * offered.length * 8.0;
            }
        }
    }
    for (station, load) in ways.stations.iter().zip(&loads) {
        let over = (load - station.bits(0.0, seconds)) / 8.0 / FRAME;
        if over > 0.0 && station.bits(0.0, seconds) > 0.0 {
            out += station.limit.map_or(over, |limit| limit.min(over));
        }
    }
    for (bottleneck, group) in sharers {
        let together = union(group.times);
        let long: f64 = together.iter().map(|(from, to)| to - from).sum();
        let (mut room, mut holds) = (f64::INFINITY, f64::INFINITY);
        if let Some(place) = bottleneck {
            let station = &ways.stations[place];
            let bits: f64 = together.iter().map(|&(from, to)| station.bits(from, to)).sum();
            room = (bits - loads[place] * long / seconds).max(0.0) / 8.0 / FRAME;
            if let (Some(limit), true) = (station.limit, long > 0.0) {
                holds = bits / long * group.rtt / 8.0 / FRAME + limit;
            }
        }
        let share = if group.wanted > 0.0 { room.min(group.wanted) / group.wanted } else { 0.0 };
        for (sent, wanted) in sent.iter_mut().zip(group.kinds) {
            *sent += wanted * share;
        }
        out += group.windows.min(holds).min(group.wanted * share);
    }
    let recorded = |flow: &Flow| flow.delays.unwrap_or(scenario.flows.len() <= FEW);
    let recorded = scenario.flows.iter().filter(|flow| recorded(flow)).count();
    rows.add(&schema::DELAYS, recorded as f64 * OF_A_FLOW);
    rows.queues(qdiscs, scenario);
    let packets: f64 = sent.iter().sum();
    let busy: f64 = sent.iter().zip(SPEEDS).map(|(packets, speed)| packets / speed).sum();
    Foreseen {
        packets,
        rows: rows.count,
        cpu_s: RUN_S + busy + rows.count * ROW_S,
        memory: Memory {
            packets: out * PACKET_BYTES,
            flows: scenario.flows.len() as f64 * FLOW_BYTES,
            rows: rows.bytes * RESERVED,
        },
        disk: rows.disk(),
    }
}

/// By what a flow's packets are slower or faster to simulate.
fn kind(flow: &Flow) -> usize {
    match flow.traffic.tcp().map(|tcp| tcp.control().0) {
        Some(cc) if cc.starts_with("prague") => PRAGUE,
        Some(cc) if cc.starts_with("bbr") => BBR,
        _ => ANY,
    }
}

/// When each flow is there, s from the run's beginning, as far as it is known before the run.
fn times(scenario: &Scenario) -> BTreeMap<&str, (f64, f64)> {
    let (origin, end) = (scenario.warmup.as_secs_f64(), scenario.length().as_secs_f64());
    let clock = |at: At| scenario.clock(at).as_secs_f64().min(end);
    let mut times: BTreeMap<&str, (f64, f64)> = scenario
        .flows
        .iter()
        .map(|flow| {
            let from = match flow.start {
                Start::At(at) => clock(at),
                Start::Event => origin,
            };
            (flow.name.as_str(), (from, flow.stop.map_or(end, clock)))
        })
        .collect();
    for event in &scenario.events {
        let When::At(at) = event.when else { continue };
        for action in &event.actions {
            let Some(own) = action.flow().and_then(|name| times.get_mut(name)) else { continue };
            match action {
                Action::StartFlow { .. } => own.0 = clock(at),
                Action::StopFlow { .. } => own.1 = own.1.min(clock(at)),
                _ => {}
            }
        }
    }
    for own in times.values_mut() {
        own.1 = own.1.max(own.0);
    }
    times
}

/// The same times without overlaps, in order.
fn union(mut times: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut joined: Vec<(f64, f64)> = Vec::new();
    for (from, to) in times {
        match joined.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => joined.push((from, to)),
        }
    }
    joined
}

fn steps(scenario: &Scenario) -> f64 {
    scenario.length().as_secs_f64() / scenario.sample_interval.as_secs_f64()
}

/// Rows of tables and their bytes.
#[derive(Default)]
struct Rows {
    seconds: f64,
    steps: f64,
    count: f64,
    bytes: f64,
    /// Of `count`, rows of distributions of queues, of flows, and rows of controllers' numbers.
    histograms: f64,
    delays: f64,
    states: f64,
}

impl Rows {
    fn add(&mut self, schema: &Schema, rows: f64) {
        let bytes: f64 = schema
            .columns
            .iter()
            .map(|column| if column.ty == Type::Text { 4.0 } else { 8.0 })
            .sum();
        self.count += rows;
        self.bytes += rows * bytes;
        match schema.name {
            name if name == schema::HISTOGRAMS.name => self.histograms += rows,
            name if name == schema::DELAYS.name => self.delays += rows,
            name if name == schema::FLOW_STATE.name || name == schema::QUEUE_STATE.name => {
                self.states += rows;
            }
            _ => {}
        }
    }

    fn disk(&self) -> Disk {
        let series = self.count - self.histograms - self.delays - self.states;
        let summary = STORED_RUN + self.histograms * STORED_COUNT;
        let series = summary + self.delays * STORED_COUNT + series * STORED_ROW;
        Disk { summary, series, all: series + self.states * STORED_ROW }
    }

    fn flow(&mut self, controls: &Controls, flow: &Flow, long: f64, reported: f64) {
        let steps = self.steps * long / self.seconds;
        self.add(&schema::FLOWS, steps);
        if let Some(tcp) = flow.traffic.tcp()
            && !matches!(flow.traffic, Traffic::ShortFlows(_))
        {
            let gauges = controls.info(&tcp.cc).map_or(0, |info| info.gauges.len());
            self.add(&schema::LIMITS, steps);
            self.add(&schema::FLOW_STATE, steps * gauges as f64);
        }
        let table = if matches!(flow.traffic, Traffic::ShortFlows(_)) {
            &schema::COMPLETIONS
        } else {
            &schema::PINGS
        };
        self.add(table, reported);
    }

    fn queues(&mut self, qdiscs: &Registry<PacketBox>, scenario: &Scenario) {
        for (_, element) in scenario.elements().filter(|(_, e)| e.kind.holds_a_queue()) {
            self.add(&schema::QUEUES, self.steps);
            self.add(&schema::HISTOGRAMS, OF_A_QUEUE);
            if let Kind::Queue(queue) = &element.kind {
                let info = qdiscs.info(&queue.qdisc.name().to_ascii_lowercase());
                let gauges = info.map_or(0, |info| info.gauges.len());
                self.add(&schema::QUEUE_STATE, self.steps * gauges as f64);
            }
        }
    }
}
