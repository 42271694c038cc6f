//! What is to happen when: starts and stops of flows, edges of phases, events, and what waits for these.

use sojourn_model::{Edge, Gauge, Order, Reference, Scenario, Start, When};
use sojourn_units::{Span, Time};
use std::collections::BTreeMap;

/// Something that happens at a point in time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Item {
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
pub(crate) struct Condition {
    /// The number.
    pub(crate) gauge: Gauge,
    /// Above or below.
    pub(crate) order: Order,
    /// The value.
    pub(crate) value: f64,
    delay: Span,
    item: Item,
}

/// The run's calendar.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    /// By time, then by the order in which they were entered.
    due: BTreeMap<(Time, u64), Item>,
    entered: u64,
    waiting: Vec<(Reference, Edge, Span, Item)>,
    /// What waits for a number.
    pub(crate) conditions: Vec<Condition>,
}

impl Timeline {
    /// The calendar of a scenario. `start_offset` gives what a flow starts after its nominal time.
    pub(crate) fn new(scenario: &Scenario, mut start_offset: impl FnMut(usize) -> Span) -> Self {
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

    /// When the next item is due.
    pub(crate) fn next(&self) -> Time {
        self.due.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at)
    }

    /// Takes the next item that is due.
    pub(crate) fn take(&mut self, now: Time) -> Option<Item> {
        if self.next() > now {
            return None;
        }
        self.due.pop_first().map(|(_, item)| item)
    }

    /// An event happened: enters what waited for it.
    pub(crate) fn happened(&mut self, now: Time, what: &Reference, edge: Edge) {
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

    /// Enters the items with a condition that holds.
    pub(crate) fn check(&mut self, now: Time, mut number: impl FnMut(&Gauge) -> Option<f64>) {
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
