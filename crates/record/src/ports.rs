//! The ports of a topology in the tables: rows of queues at the end of an interval, counters at the end.
//!
//! Every engine that carries packets through [`sojourn_path::Topology`] hands its ports to these functions, so that one
//! port gives the same rows under a simulated, a virtual and a wall clock. They are exact: a port counts every packet.

use crate::{QueueSample, Recorder, SignalKind};
use sojourn_path::topology::{Node, Role};
use sojourn_path::{PathPacket, PortStats, Sojourns, Topology};
use sojourn_qdisc::Qdisc as _;
use sojourn_units::Time;

/// The path of a port's element, if the port is a queue.
pub fn queue_of<P>(node: &Node<P>) -> Option<&str> {
    match &node.role {
        Role::Queue { element } => Some(element),
        _ => None,
    }
}

/// The name of a port in the tables.
pub fn subject(role: &Role) -> String {
    match role {
        Role::Queue { element } => element.clone(),
        Role::Netem { element, link, flow } => {
            let of_flow = flow.as_deref().map_or(String::new(), |f| format!(":{f}"));
            let link = if *link == 0 { String::new() } else { format!("/{link}") };
            format!("{element}{link}{of_flow}")
        }
        Role::Nic { name } => name.clone(),
    }
}

/// The queues and middleboxes of a topology as a [`Recorder`]'s elements: queues in the order of their ports, then middleboxes.
#[derive(Clone, Debug)]
pub struct PortElements {
    /// The recorder's element of each port, if it is a queue.
    element_of: Vec<Option<usize>>,
    /// The element of the first middlebox.
    middleboxes: usize,
}

impl PortElements {
    /// The elements of a topology.
    pub fn new<P>(topology: &Topology<P>) -> Self {
        let mut next = 0..;
        let element_of: Vec<_> =
            topology.nodes.iter().map(|node| queue_of(node).and_then(|_| next.next())).collect();
        let middleboxes = element_of.iter().flatten().count();
        Self { element_of, middleboxes }
    }

    /// Their paths, in the order in which [`Recorder::new`] wants them.
    pub fn paths<P>(topology: &Topology<P>) -> impl Iterator<Item = &str> {
        let queues = topology.nodes.iter().filter_map(queue_of);
        queues.chain(topology.middleboxes.iter().map(|(path, _)| path.as_str()))
    }

    /// An interval ends: a row of each queue, and counts by reason that have changed.
    pub fn step<P: PathPacket>(
        &self,
        record: &mut Recorder,
        now: Time,
        topology: &mut Topology<P>,
    ) {
        for (node, element) in topology.nodes.iter_mut().zip(&self.element_of) {
            node.port.check_books();
            if let Some(element) = *element {
                queue_row(record, now, element, node);
            }
        }
        for (element, (_, middlebox)) in (self.middleboxes..).zip(&topology.middleboxes) {
            signal_rows(record, now, element, middlebox.stats());
        }
    }
}

/// Records tc's output for everything that holds packets; `when` is `setup` or `teardown`.
pub fn tc<P: PathPacket>(record: &mut Recorder, now: Time, when: &str, topology: &Topology<P>) {
    for node in &topology.nodes {
        if !matches!(node.role, Role::Nic { .. }) {
            let text = node.port.discipline().show();
            record.tc(now, when, &subject(&node.role), &text);
        }
    }
}

/// The present value of a queue's number: of its backlog, or one that its discipline shows in the table `queue_state`. None if
/// there is no such queue or number.
pub fn number<P: PathPacket>(
    now: Time,
    topology: &Topology<P>,
    queue: &str,
    name: &str,
) -> Option<f64> {
    let port = &topology.nodes[topology.queue(queue)?].port;
    match name {
        "backlog_packets" => Some(f64::from(port.backlog().packets)),
        "backlog_bytes" => Some(port.backlog().bytes as f64),
        _ => {
            let mut found = None;
            port.discipline().gauges(now, &mut |n, v| {
                if n == name {
                    found = Some(v);
                }
            });
            found
        }
    }
}

fn queue_row<P: PathPacket>(record: &mut Recorder, now: Time, element: usize, node: &mut Node<P>) {
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
fn signal_rows(record: &mut Recorder, now: Time, element: usize, stats: &PortStats) {
    use SignalKind::{Drop, Mark, Sce};
    for (reason, signals) in stats.signals() {
        let counts = [(Mark, signals.marks), (Drop, signals.drops), (Sce, signals.sce_marks)];
        // Most reasons never occur.
        for (kind, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            record.signal(now, element, (reason.name(), kind), count);
        }
    }
}

/// Counters at the end: `tc -s`'s of queues, and those that the check of conservation uses.
pub fn totals<P: PathPacket>(record: &mut Recorder, topology: &Topology<P>) {
    let stats_rows = |record: &mut Recorder, subject: &str, stats: &PortStats, held: u32| {
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
