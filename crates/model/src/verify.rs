//! Whether a scenario that was read back from a file holds together.

use super::element::{Kind, Queue, Selector, Shaper, Side};
use super::event::{Action, Gauge, Reference, When};
use super::flow::{Direction, Traffic};
use super::scenario::Scenario;
use std::collections::BTreeSet;

/// What does not hold together in a scenario.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Inconsistent {
    /// Two things of one kind have one name.
    #[error("two {what}s are called \"{name}\"")]
    Duplicate {
        /// What kind of thing.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A name that refers to nothing.
    #[error("{by} refers to the {what} \"{name}\", which does not exist")]
    Unknown {
        /// What refers.
        by: String,
        /// To what kind of thing.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// Nothing to run.
    #[error("the run has no {0}")]
    Missing(&'static str),
    /// A rate at which nothing would ever leave.
    #[error("{0} has a rate of zero; write 8bit or more")]
    NoRate(String),
    /// The run is longer than the clock can count, or has no length.
    #[error("the run's length, {0}, is out of range")]
    Length(String),
}

fn unique<'a>(
    what: &'static str,
    names: impl Iterator<Item = &'a str>,
) -> Result<BTreeSet<&'a str>, Inconsistent> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(Inconsistent::Duplicate { what, name: name.to_owned() });
        }
    }
    Ok(seen)
}

impl Scenario {
    /// Verifies the invariants that the module states.
    pub fn check(&self) -> Result<(), Inconsistent> {
        let hops = unique("hop", self.hops.iter().map(|h| h.name.as_str()))?;
        let flows = unique("flow", self.flows.iter().map(|f| f.name.as_str()))?;
        let events = unique("event", self.events.iter().map(|e| e.name.as_str()))?;
        let phases = unique("phase", self.phases.iter().map(|p| p.name.as_str()))?;
        unique("window", self.windows.iter().map(|w| w.name.as_str()))?;
        if hops.is_empty() {
            return Err(Inconsistent::Missing("hop"));
        }
        if flows.is_empty() {
            return Err(Inconsistent::Missing("flow"));
        }
        let length = u128::from(self.warmup.as_nanos()) + u128::from(self.duration.as_nanos());
        if self.duration.is_zero() || length > i64::MAX as u128 || self.sample_interval.is_zero() {
            return Err(Inconsistent::Length(self.duration.to_string()));
        }

        let unknown = |by: &str, what, name: &str| {
            Err(Inconsistent::Unknown { by: by.to_owned(), what, name: name.to_owned() })
        };
        let known_flow = |by: &str, name: &str| {
            if flows.contains(name) { Ok(()) } else { unknown(by, "flow", name) }
        };
        for hop in &self.hops {
            for side in [Side::Down, Side::Up] {
                let elements = hop.side(side);
                unique("element", elements.iter().map(|e| e.name.as_str()))?;
                for element in elements {
                    let by = format!("{}.{side}.{}", hop.name, element.name);
                    match &element.kind {
                        Kind::Queue(Queue {
                            shaper:
                                Shaper::Line { rate }
                                | Shaper::Htb { rate, .. }
                                | Shaper::Own { rate: Some(rate) },
                            ..
                        }) if rate.is_zero() => return Err(Inconsistent::NoRate(by)),
                        Kind::Netem(netem) => {
                            for own in &netem.per_flow {
                                known_flow(&by, &own.flow)?;
                            }
                        }
                        Kind::Rewrite(super::Rewrite {
                            select: Selector::Flows(names), ..
                        })
                        | Kind::Encapsulate(super::Tunnel {
                            select: Selector::Flows(names), ..
                        }) => {
                            for name in names {
                                known_flow(&by, name)?;
                            }
                        }
                        Kind::Decapsulate { tunnel } => {
                            let entered = self.hops.iter().flat_map(|h| h.side(side)).any(|e| {
                                e.name == *tunnel && matches!(e.kind, Kind::Encapsulate(_))
                            });
                            if !entered {
                                return unknown(&by, "tunnel", tunnel);
                            }
                        }
                        _ => {}
                    }
                }
            }
        }
        for flow in &self.flows {
            if let Traffic::Udp(udp) = &flow.traffic
                && udp.rate.is_zero()
            {
                return Err(Inconsistent::NoRate(format!("flow {}", flow.name)));
            }
            if flow.hops.iter().any(|&h| h >= self.hops.len()) {
                return unknown(&flow.name, "hop", "");
            }
            if flow.hops.is_empty() {
                return Err(Inconsistent::Missing(match flow.direction {
                    Direction::Down | Direction::Up => "hop on a flow's path",
                }));
            }
        }
        let known_time = |by: &str, when: &When| match when {
            When::At(_) => Ok(()),
            When::After { reference, .. } => match reference {
                Reference::Event(name) if !events.contains(name.as_str()) => {
                    unknown(by, "event", name)
                }
                Reference::Flow(name) => known_flow(by, name),
                Reference::Phase(name) if !phases.contains(name.as_str()) => {
                    unknown(by, "phase", name)
                }
                _ => Ok(()),
            },
            When::State { gauge: Gauge::Flow { flow, .. }, .. } => known_flow(by, flow),
            When::State { gauge: Gauge::Queue { queue, .. }, .. } => {
                if self.is_queue(queue) {
                    Ok(())
                } else {
                    unknown(by, "queue", queue)
                }
            }
        };
        for event in &self.events {
            known_time(&event.name, &event.when)?;
            for action in &event.actions {
                if let Some(path) = action.element()
                    && self.element(path).is_none()
                {
                    return unknown(&event.name, "element", path);
                }
                if let Action::Rate { element, rate } = action
                    && rate.is_zero()
                {
                    return Err(Inconsistent::NoRate(format!("event {}: {element}", event.name)));
                }
                if let Some(flow) = action.flow() {
                    known_flow(&event.name, flow)?;
                }
            }
        }
        for phase in &self.phases {
            known_time(&phase.name, &phase.from)?;
            known_time(&phase.name, &phase.to)?;
        }
        Ok(())
    }
}
