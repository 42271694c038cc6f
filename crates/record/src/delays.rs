//! Delays of every packet, by queue and class, and by flow where they are recorded per flow, in every window that
//! is known before the run.
//!
//! Windows overlap and flows end at different times, so a packet could belong to any number of windows. Their edges,
//! though, cut the run into intervals, and of these a packet belongs to one: it is counted once, and a window is the
//! sum of its intervals (`sojourn_results::metrics::edges` gives the edges, the table `delays` holds the intervals).
//! A queue's distribution is likewise the sum of its flows': those recorded per flow, and the rest together.
//!
//! Invariants: an interval is `(from, to]`, as everywhere in the tables, but for the origin itself, which belongs to
//! the first; events before the origin are counted nowhere. Distributions are emptied into the table when their
//! interval is over, so that memory grows with the records, and not with time or with flows.
//!
//! The trick of the one-way delay: a bucket's width goes with its value, and a queue's millisecond would drown in the
//! path's forty. The distribution is therefore of the delay less its constant part, and the table has the whole delay
//! again.

use crate::distribution::Distribution;
use sojourn_model::Scenario;
use sojourn_results::metrics;
use sojourn_results::{Code, Provenance, Rows, Table, rows};
use sojourn_units::{Span, Time};

/// Distributions by class, in the order in which a packet of each first left.
type ByClass = Vec<(Option<&'static str>, Distribution)>;

/// The distribution of a class.
#[inline]
fn of_class<'a>(sojourns: &'a mut ByClass, class: Option<&'static str>) -> &'a mut Distribution {
    // Names of classes are statics: one of them is itself.
    let address = |class: Option<&'static str>| class.map_or(core::ptr::null(), str::as_ptr);
    let is = |known: Option<&'static str>| address(known) == address(class);
    let place = sojourns.iter().position(|(known, _)| is(*known)).unwrap_or_else(|| {
        sojourns.push((class, Distribution::new()));
        sojourns.len() - 1
    });
    &mut sojourns[place].1
}

/// One-way delays of a flow's data.
#[derive(Debug)]
struct OneWay {
    /// The part of them that never changes.
    fixed: Span,
    /// They, less that.
    rest: Distribution,
}

/// A flow, or all flows that are not recorded per flow, and where it is between its edges.
#[derive(Debug)]
struct Subject {
    name: Code<rows::Delays>,
    /// Nothing for several flows: their paths differ.
    one_way: Option<OneWay>,
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
pub struct Delays {
    warmup: Time,
    table: Rows<rows::Delays>,
    subjects: Vec<Subject>,
    /// The subject of each flow.
    subject_of: Vec<u32>,
    /// The first instant at which an interval is over.
    until: Time,
    queues: Vec<OfQueue>,
    /// Where the distributions of each port's queue begin in `sojourns`.
    queue_of: Vec<usize>,
    /// The current interval's, of each queue and in it of each subject.
    sojourns: Vec<ByClass>,
}

impl Delays {
    /// Of a scenario's flows in the queues among its ports: each port's element, if it is a queue. `fixed` says which part
    /// of a flow's one-way delay never changes.
    pub fn new<'e>(
        scenario: &Scenario,
        ports: impl IntoIterator<Item = Option<&'e str>>,
        fixed: impl Fn(usize) -> Span,
    ) -> Self {
        let mut table = Rows::<rows::Delays>::new(Provenance::Exact);
        let warmup = Time::ZERO + scenario.warmup;
        let mut subject_of = vec![0; scenario.flows.len()];
        let subjects: Vec<Subject> = (0..)
            .zip(metrics::subjects(scenario))
            .map(|(number, subject)| {
                for &flow in &subject.flows {
                    subject_of[flow] = number;
                }
                let own = subject.flows.first().filter(|_| !subject.name.is_empty());
                Subject {
                    name: table.intern(|c| c.flow, subject.name),
                    one_way: own
                        .map(|&flow| OneWay { fixed: fixed(flow), rest: Distribution::new() }),
                    edges: subject.edges,
                    next: 0,
                    until: warmup,
                }
            })
            .collect();
        let mut queues = Vec::new();
        let queue_of = ports.into_iter().map(|element| match element {
            Some(element) => {
                queues.push(OfQueue { element: element.to_owned(), whole: Vec::new() });
                (queues.len() - 1) * subjects.len()
            }
            None => NO_QUEUE,
        });
        let queue_of = queue_of.collect();
        let sojourns = (0..queues.len() * subjects.len()).map(|_| Vec::new()).collect();
        Self { warmup, table, subjects, subject_of, until: warmup, queues, queue_of, sojourns }
    }

    /// The origin: delays before it count nowhere.
    #[inline]
    pub fn warmup(&self) -> Time {
        self.warmup
    }

    /// A packet of a flow has left a port.
    #[inline]
    pub fn left(
        &mut self,
        now: Time,
        port: usize,
        flow: usize,
        waited: Span,
        class: impl FnOnce() -> Option<&'static str>,
    ) {
        let queue = self.queue_of[port];
        if queue == NO_QUEUE {
            return;
        }
        if now >= self.until {
            self.pass_edges(now);
        }
        let subject = self.subject_of[flow] as usize;
        of_class(&mut self.sojourns[queue + subject], class()).add(waited);
    }

    /// A packet with data of a flow has come from its source to its destination.
    #[inline]
    pub fn arrived(&mut self, now: Time, flow: usize, delay: Span) {
        if now >= self.until {
            self.pass_edges(now);
        }
        let subject = self.subject_of[flow] as usize;
        if let Some(one_way) = &mut self.subjects[subject].one_way {
            one_way.rest.add(delay.saturating_sub(one_way.fixed));
        }
    }

    /// A phase begins or ends: later delays are recorded apart from earlier ones.
    pub fn cut(&mut self, now: Time) {
        let at = now.signed_since(self.warmup);
        for subject in &mut self.subjects {
            if let Err(place) = subject.edges.binary_search(&at)
                && place > 0
                && place < subject.edges.len()
            {
                subject.edges.insert(place, at);
                if place == subject.next {
                    subject.until = now + Span::from_nanos(1);
                }
            }
        }
        self.note_until();
    }

    fn note_until(&mut self) {
        let earliest = self.subjects.iter().map(|subject| subject.until).min();
        self.until = earliest.unwrap_or(Time::NEVER);
    }

    /// Some intervals, of one subject perhaps several, are over.
    #[cold]
    fn pass_edges(&mut self, now: Time) {
        for index in 0..self.subjects.len() {
            while now >= self.subjects[index].until {
                self.close(index);
                let subject = &mut self.subjects[index];
                subject.next += 1;
                subject.until = match subject.edges.get(subject.next) {
                    Some(edge) => self.warmup + Span::from_nanos(edge.unsigned_abs() + 1),
                    None => Time::NEVER,
                };
            }
        }
        self.note_until();
    }

    /// Empties a subject's distributions into the table.
    fn close(&mut self, index: usize) {
        let Self { table, subjects, queues, sojourns, .. } = self;
        let of_queue = subjects.len();
        let subject = &mut subjects[index];
        let counts = subject.next > 0;
        let seconds = |place: usize| subject.edges.get(place).map_or(0.0, |&e| e as f64 / 1e9);
        let interval = (seconds(subject.next.saturating_sub(1)), seconds(subject.next));
        let mut write =
            |queue: &str, class: &str, quantity: &str, fixed: Span, d: &Distribution| {
                let queue = table.intern(|c| c.queue, queue);
                let class = table.intern(|c| c.class, class);
                let quantity = table.intern(|c| c.quantity, quantity);
                for (low, high, count) in d.buckets() {
                    let at = |nanos: u64| (Span::from_nanos(nanos) + fixed).as_secs_f64();
                    table.push(rows::DelayBucket {
                        from_s: interval.0,
                        to_s: interval.1,
                        flow: subject.name.into(),
                        queue: queue.into(),
                        class: class.into(),
                        quantity: quantity.into(),
                        lo_s: at(low),
                        hi_s: at(high),
                        count,
                    });
                }
            };
        for (number, queue) in queues.iter_mut().enumerate() {
            for (class, distribution) in &mut sojourns[number * of_queue + index] {
                if counts && !distribution.is_empty() {
                    let name = class.unwrap_or_default();
                    write(&queue.element, name, "sojourn", Span::ZERO, distribution);
                    of_class(&mut queue.whole, *class).join(distribution);
                }
                distribution.clear();
            }
        }
        if let Some(one_way) = &mut subject.one_way {
            if counts {
                write("", "", "owd", one_way.fixed, &one_way.rest);
            }
            one_way.rest.clear();
        }
    }

    /// The run is over: the table, and for each queue the whole run's distributions by the quantity that they are of.
    pub fn finish(mut self, end: Time) -> (Table, Vec<(String, String, Distribution)>) {
        if end >= self.until {
            self.pass_edges(end);
        }
        for index in 0..self.subjects.len() {
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
                    whole.push((element.clone(), format!("sojourn.{class}"), of_class));
                }
            }
        }
        (self.table.into_table(), whole)
    }
}
