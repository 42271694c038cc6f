//! What is to happen when: starts and stops of flows, edges of phases, events, and what waits for these.
//!
//! Time is an argument, so a calendar is the same under a simulated clock and under the machine's. Its owner says what has
//! happened and asks what is due.

use sojourn_model::{Edge, Gauge, Order, Reference, Scenario, Start, When};
use sojourn_units::{Span, Time};
use std::collections::BTreeMap;

/// How often the owner of a calendar checks the numbers that items wait for.
pub const WATCH_EVERY: Span = Span::from_millis(1);

/// Something that happens at a point in time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Item {
    /// A flow starts.
    StartFlow(usize),
    /// A flow stops.
    StopFlow(usize),
    /// A phase begins.
    PhaseStart(usize),
    /// A phase is over.
    PhaseEnd(usize),
    /// An event happens.
    Event(usize),
}

/// Something that waits for a number to pass a value.
#[derive(Clone, Debug)]
struct Condition {
    gauge: Gauge,
    order: Order,
    value: f64,
    delay: Span,
    item: Item,
}

/// The run's calendar.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// By time, then by the order in which they were entered.
    due: BTreeMap<(Time, u64), Item>,
    entered: u64,
    waiting: Vec<(Reference, Edge, Span, Item)>,
    conditions: Vec<Condition>,
}

impl Timeline {
    /// The calendar of a scenario. `start_offset` gives the time by which a flow starts after its nominal time.
    pub fn new(scenario: &Scenario, mut start_offset: impl FnMut(usize) -> Span) -> Self {
        let mut t = Self::default();
        for (i, flow) in scenario.flows.iter().enumerate() {
            if let Start::At(at) = flow.start {
                t.enter(scenario.clock(at) + start_offset(i), Item::StartFlow(i));
            }
            if let Some(stop) = flow.stop {
                t.enter(scenario.clock(stop), Item::StopFlow(i));
            }
        }
        for (i, phase) in scenario.phases.iter().enumerate() {
            t.plan(scenario, &phase.from, Item::PhaseStart(i));
            t.plan(scenario, &phase.to, Item::PhaseEnd(i));
        }
        for (i, event) in scenario.events.iter().enumerate() {
            t.plan(scenario, &event.when, Item::Event(i));
        }
        t
    }

    fn plan(&mut self, scenario: &Scenario, when: &When, item: Item) {
        match when {
            When::At(at) => self.enter(scenario.clock(*at), item),
            When::After { reference, edge, delay } => {
                self.waiting.push((reference.clone(), *edge, *delay, item));
            }
            When::State { gauge, order, value, delay } => self.conditions.push(Condition {
                gauge: gauge.clone(),
                order: *order,
                value: *value,
                delay: *delay,
                item,
            }),
        }
    }

    fn enter(&mut self, at: Time, item: Item) {
        self.due.insert((at, self.entered), item);
        self.entered += 1;
    }

    /// Whether anything waits for a number, so that [`Timeline::check`] has to be called now and then.
    pub fn waits_for_a_number(&self) -> bool {
        !self.conditions.is_empty()
    }

    /// When the next item is due; [`Time::NEVER`] if none is entered.
    pub fn next(&self) -> Time {
        self.due.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at)
    }

    /// Takes the next item that is due.
    pub fn take(&mut self, now: Time) -> Option<Item> {
        if self.next() > now {
            return None;
        }
        self.due.pop_first().map(|(_, item)| item)
    }

    /// Something happened at `now`: enters the items that waited for it, each its own delay after `now`.
    pub fn happened(&mut self, now: Time, what: &Reference, edge: Edge) {
        let mut i = 0;
        while i < self.waiting.len() {
            let (reference, on, ..) = &self.waiting[i];
            // An event starts and ends at once.
            let instant = matches!(what, Reference::Event(_));
            if reference == what && (instant || *on == edge) {
                let (_, _, delay, item) = self.waiting.remove(i);
                self.enter(now + delay, item);
            } else {
                i += 1;
            }
        }
    }

    /// Enters the items with a condition that holds. `number` gives the present value of a number, or none if it has none yet.
    pub fn check(&mut self, now: Time, mut number: impl FnMut(&Gauge) -> Option<f64>) {
        let mut i = 0;
        while i < self.conditions.len() {
            let c = &self.conditions[i];
            let holds = number(&c.gauge).is_some_and(|x| match c.order {
                Order::Above => x > c.value,
                Order::Below => x < c.value,
            });
            if holds {
                let c = self.conditions.remove(i);
                self.enter(now + c.delay, c.item);
            } else {
                i += 1;
            }
        }
    }
}
