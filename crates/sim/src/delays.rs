//! Delays of every packet, by flow, queue and class, in every window that is known before the run.
//!
//! Windows overlap and flows end at different times, so a packet could belong to any number of windows. Their edges,
//! though, cut the run into intervals, and of these a packet belongs to one: it is counted once, and a window is the
//! sum of its intervals (`sojourn_scenario::metrics::edges` gives the edges, the table `delays` holds the intervals).
//!
//! Invariants: an interval is `(from, to]`, as everywhere in the tables, but for the origin itself, which belongs to
//! the first; what happens before the origin is counted nowhere. A flow's distributions are emptied into the table
//! when its interval is over, so that memory goes with flows, queues and classes, and not with time.
//!
//! The trick of the one-way delay: a bucket's width goes with its value, and a queue's millisecond would drown in the
//! path's forty. What is distributed is therefore the delay less the part of it that never changes, which the table
//! has again.

use crate::topology::{Role, Topology};
use sojourn_path::Stay;
use sojourn_qdisc::Class;
use sojourn_scenario::metrics::edges;
use sojourn_scenario::model::Scenario;
use sojourn_scenario::results::{Provenance, Table, schema};
use sojourn_units::{Span, Time};

/// A distribution of times with a relative error of at most 1 %: an HDR histogram of two significant figures, as the
/// library of that name has it. Two of these are written for every packet, which is why it is ours: its buckets are
/// known beforehand, and so the place of a time is two shifts.
#[derive(Debug)]
pub(crate) struct Distribution {
    /// Packets in each bucket, up to the last that has any.
    counts: Vec<u32>,
}

/// Every power of two has this many buckets: 1/128 of their value at most. Below twice as many nanoseconds a bucket is
/// one of them.
const PARTS: u64 = 128;

impl Distribution {
    /// Empty.
    pub(crate) const fn new() -> Self {
        Self { counts: Vec::new() }
    }

    /// Adds a time.
    #[inline]
    pub(crate) fn add(&mut self, span: Span) {
        let place = bucket_of(span.as_nanos());
        if place >= self.counts.len() {
            self.grow(place);
        }
        let count = &mut self.counts[place];
        *count = count.saturating_add(1);
    }

    #[cold]
    fn grow(&mut self, place: usize) {
        self.counts.resize(place + 1, 0);
    }

    /// Adds the times of another.
    fn join(&mut self, other: &Self) {
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (own, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *own = own.saturating_add(*theirs);
        }
    }

    fn is_empty(&self) -> bool {
        self.counts.iter().all(|count| *count == 0)
    }

    /// Takes all times out; the room stays.
    fn clear(&mut self) {
        self.counts.fill(0);
    }

    /// Buckets in order: from, up to (not included), how many.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(place, count)| {
            let (low, high) = bounds_of(place);
            (low, high, u64::from(*count))
        })
    }
}

/// The bucket of a number of nanoseconds.
#[inline]
fn bucket_of(nanos: u64) -> usize {
    let finest = 2 * PARTS - 1;
    let power = u64::from(finest.leading_zeros() - (nanos | finest).leading_zeros());
    (power * PARTS + (nanos >> power)) as usize
}

/// The least number of nanoseconds of a bucket, and the least of the next.
fn bounds_of(place: usize) -> (u64, u64) {
    let place = place as u64;
    let power = (place / PARTS).saturating_sub(1);
    let part = place - power * PARTS;
    (part << power, (part + 1) << power)
}

/// Distributions by class, in the order in which a packet of each first left.
type ByClass = Vec<(Option<&'static Class>, Distribution)>;

/// The distribution of a class.
#[inline]
fn of_class<'a>(stays: &'a mut ByClass, class: Option<&'static Class>) -> &'a mut Distribution {
    // Classes are statics: one of them is itself.
    let is = |known: Option<&'static Class>| match (known, class) {
        (Some(a), Some(b)) => core::ptr::eq(a, b),
        (None, None) => true,
        _ => false,
    };
    let place = stays.iter().position(|(known, _)| is(*known)).unwrap_or_else(|| {
        stays.push((class, Distribution::new()));
        stays.len() - 1
    });
    &mut stays[place].1
}

/// Where a flow is between its edges.
#[derive(Debug)]
struct OfFlow {
    name: u32,
    /// The part of its one-way delay that never changes.
    fixed: Span,
    /// One-way delays of its data, less that.
    owd: Distribution,
    /// Ends of its intervals in nanoseconds from the origin, ascending, the origin first.
    edges: Vec<i64>,
    /// The edge that ends its interval; at 0 the run has not come to the origin.
    next: usize,
    /// The first instant that is no longer of the interval.
    until: Time,
}

/// A queue's distributions over the whole run, from the origin on.
#[derive(Debug)]
struct OfQueue {
    element: String,
    whole: ByClass,
}

/// The place of a port that is no queue.
const NO_QUEUE: usize = usize::MAX;

/// Gathers delays.
#[derive(Debug)]
pub(crate) struct Delays {
    lead: Time,
    table: Table,
    flows: Vec<OfFlow>,
    queues: Vec<OfQueue>,
    /// The queue of each port.
    queue_of: Vec<usize>,
    /// The current interval's, of each queue and in it of each flow.
    stays: Vec<ByClass>,
}

impl Delays {
    /// Of a scenario's flows in the queues among its ports.
    pub(crate) fn new(scenario: &Scenario, topology: &Topology) -> Self {
        let mut table = Table::new(&schema::DELAYS, Provenance::Exact);
        let lead = Time::ZERO + scenario.lead;
        let routes = topology.of_flow.iter();
        let flows: Vec<OfFlow> = scenario
            .flows
            .iter()
            .zip(routes)
            .map(|(flow, &(there, _))| OfFlow {
                name: table.intern("flow", &flow.name),
                fixed: topology.fixed_delay(scenario, there),
                owd: Distribution::new(),
                edges: edges(scenario, flow),
                next: 0,
                until: lead,
            })
            .collect();
        let mut queues = Vec::new();
        let queue_of = topology
            .stations
            .iter()
            .map(|station| match &station.role {
                Role::Queue { element } => {
                    queues.push(OfQueue { element: element.clone(), whole: Vec::new() });
                    queues.len() - 1
                }
                _ => NO_QUEUE,
            })
            .collect();
        let stays = (0..queues.len() * flows.len()).map(|_| Vec::new()).collect();
        Self { lead, table, flows, queues, queue_of, stays }
    }

    /// A packet of a flow has left a port.
    #[inline]
    pub(crate) fn left(&mut self, now: Time, port: usize, flow: usize, stay: Stay) {
        let queue = self.queue_of[port];
        if queue == NO_QUEUE {
            return;
        }
        if now >= self.flows[flow].until {
            self.pass_edges(now, flow);
        }
        let stays = &mut self.stays[queue * self.flows.len() + flow];
        of_class(stays, stay.class).add(stay.waited);
    }

    /// A packet with data of a flow has come from its source to its destination.
    #[inline]
    pub(crate) fn arrived(&mut self, now: Time, flow: usize, delay: Span) {
        if now >= self.flows[flow].until {
            self.pass_edges(now, flow);
        }
        let flow = &mut self.flows[flow];
        flow.owd.add(delay.saturating_sub(flow.fixed));
    }

    /// A phase begins or ends: what follows is told apart from what was.
    pub(crate) fn cut(&mut self, now: Time) {
        let at = now.signed_since(self.lead);
        for flow in &mut self.flows {
            if let Err(place) = flow.edges.binary_search(&at)
                && place > 0
                && place < flow.edges.len()
            {
                flow.edges.insert(place, at);
                if place == flow.next {
                    flow.until = now + Span::from_nanos(1);
                }
            }
        }
    }

    /// The flow's interval, and perhaps more of them, are over.
    #[cold]
    fn pass_edges(&mut self, now: Time, index: usize) {
        while now >= self.flows[index].until {
            self.close(index);
            let flow = &mut self.flows[index];
            flow.next += 1;
            flow.until = match flow.edges.get(flow.next) {
                Some(edge) => self.lead + Span::from_nanos(edge.unsigned_abs() + 1),
                None => Time::NEVER,
            };
        }
    }

    /// Empties a flow's distributions into the table.
    fn close(&mut self, index: usize) {
        let Self { table, flows, queues, stays, .. } = self;
        let of_flow = flows.len();
        let flow = &mut flows[index];
        let counts = flow.next > 0;
        let seconds = |place: usize| flow.edges.get(place).map_or(0.0, |&e| e as f64 / 1e9);
        let interval = (seconds(flow.next.saturating_sub(1)), seconds(flow.next));
        let mut write =
            |queue: &str, class: &str, quantity: &str, fixed: Span, d: &Distribution| {
                let codes = [("queue", queue), ("class", class), ("quantity", quantity)];
                let [queue, class, quantity] =
                    codes.map(|(column, name)| table.intern(column, name));
                for (low, high, count) in d.buckets() {
                    let row = table.row().f64(interval.0).f64(interval.1).code(flow.name);
                    let row = row.code(queue).code(class).code(quantity);
                    let at = |nanos: u64| (Span::from_nanos(nanos) + fixed).as_secs_f64();
                    row.f64(at(low)).f64(at(high)).u64(count);
                }
            };
        for (number, queue) in queues.iter_mut().enumerate() {
            for (class, distribution) in &mut stays[number * of_flow + index] {
                if counts && !distribution.is_empty() {
                    let name = class.map_or("", |c| c.name);
                    write(&queue.element, name, "sojourn", Span::ZERO, distribution);
                    of_class(&mut queue.whole, *class).join(distribution);
                }
                distribution.clear();
            }
        }
        if counts {
            write("", "", "owd", flow.fixed, &flow.owd);
        }
        flow.owd.clear();
    }

    /// The run is over: the table, and for each queue the whole run's distributions by the quantity that they are of.
    pub(crate) fn finish(mut self, end: Time) -> (Table, Vec<(String, String, Distribution)>) {
        for index in 0..self.flows.len() {
            if end >= self.flows[index].until {
                self.pass_edges(end, index);
            }
            self.close(index);
        }
        let mut whole = Vec::new();
        for OfQueue { element, whole: classes, .. } in self.queues {
            let mut all = Distribution::new();
            for (_, of_class) in &classes {
                all.join(of_class);
            }
            whole.push((element.clone(), "sojourn".to_owned(), all));
            for (class, of_class) in classes {
                if let Some(class) = class {
                    whole.push((element.clone(), format!("sojourn.{}", class.name), of_class));
                }
            }
        }
        (self.table, whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The buckets are those of the library of HDR histograms, which the tables had before.
    #[test]
    fn buckets_are_those_of_an_hdr_histogram_of_two_figures() {
        let mut theirs = hdrhistogram::Histogram::<u32>::new(2).unwrap();
        let mut ours = Distribution::new();
        let times =
            (0..2_000).chain((0..45).flat_map(|p| [(1 << p) - 1, 1 << p, (1 << p) + (1 << p) / 3]));
        for nanos in times {
            theirs.record(nanos).unwrap();
            ours.add(Span::from_nanos(nanos));
        }
        let expected: Vec<(u64, u64, u64)> = theirs
            .iter_recorded()
            .map(|b| {
                let at = b.value_iterated_to();
                let (low, high) = (theirs.lowest_equivalent(at), theirs.next_non_equivalent(at));
                (low, high, u64::from(b.count_at_value()))
            })
            .collect();
        assert_eq!(ours.buckets().collect::<Vec<_>>(), expected);
        ours.clear();
        assert!(ours.is_empty());
    }
}
