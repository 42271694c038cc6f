//! When things happen, where that is known before the run.
//!
//! The guest's agent acts at points in time. "20 s after the step" and "while the second flow runs" are such points
//! when the step and the flow have one; "when the workload ends" has none before the run, and is refused.

use sojourn_model::{Action, Edge, Flow, Reference, Scenario, Start, Traffic, When};
use sojourn_stacks::START_JITTER;
use sojourn_units::{Random, Span, Time};

/// References lead no deeper than this; those that do lead in a circle.
const DEEPEST: usize = 32;

/// When a flow starts after its nominal time: the draw that the simulator makes.
pub(crate) fn start_offset(scenario: &Scenario, flow: &Flow) -> Span {
    if !flow.traffic.is_load() {
        return Span::ZERO;
    }
    let name = format!("flow/{}/start", flow.name);
    let mut random = Random::named(scenario.seed, &name);
    Span::from_nanos(random.below(START_JITTER.as_nanos()))
}

/// Whether a flow has a number of bytes to send, or of connections to open.
const fn ends_by_itself(traffic: &Traffic) -> bool {
    match traffic {
        Traffic::Tcp(tcp) => tcp.bytes.is_some(),
        Traffic::ShortFlows(short) => short.count.is_some(),
        _ => false,
    }
}

/// The point of the run's clock that is meant; `None` if that is not known before the run.
pub(crate) fn time_of(scenario: &Scenario, when: &When) -> Option<Time> {
    resolve(scenario, when, DEEPEST)
}

/// An action by its time, its event's number, and its own in that: the order in which they happen.
type Ordered<'a> = ((Time, usize, usize), &'a Action);

/// What events of known times do to an element.
fn ordered<'a>(scenario: &'a Scenario, path: &str) -> Vec<Ordered<'a>> {
    let mut all: Vec<Ordered<'_>> = Vec::new();
    for (event, spec) in scenario.events.iter().enumerate() {
        let Some(at) = time_of(scenario, &spec.when) else { continue };
        let actions = (0..).zip(&spec.actions);
        let own = actions.filter(|(_, action)| action.element() == Some(path));
        all.extend(own.map(|(number, action)| ((at, event, number), action)));
    }
    all.sort_by_key(|(at, _)| *at);
    all
}

/// What events of known times do to an element, and when.
pub(crate) fn of_element<'a>(
    scenario: &'a Scenario,
    path: &str,
) -> impl Iterator<Item = (Time, &'a Action)> {
    ordered(scenario, path).into_iter().map(|((at, ..), action)| (at, action))
}

/// What events do to an element before an action comes, the `number`-th of an event, in the order of time. `None` if the time of
/// that event is not known before the run.
pub(crate) fn earlier<'a>(
    scenario: &'a Scenario,
    path: &str,
    event: usize,
    number: usize,
) -> Option<Vec<&'a Action>> {
    let now = (time_of(scenario, &scenario.events[event].when)?, event, number);
    let earlier = ordered(scenario, path).into_iter().take_while(|(at, _)| *at < now);
    Some(earlier.map(|(_, action)| action).collect())
}

fn resolve(scenario: &Scenario, when: &When, depth: usize) -> Option<Time> {
    let depth = depth.checked_sub(1)?;
    match when {
        When::At(at) => Some(scenario.clock(*at)),
        When::State { .. } => None,
        When::After { reference, edge, delay } => {
            let at = match reference {
                Reference::Event(name) => {
                    let event = scenario.events.iter().find(|e| e.name == *name)?;
                    resolve(scenario, &event.when, depth)?
                }
                Reference::Phase(name) => {
                    let phase = scenario.phases.iter().find(|p| p.name == *name)?;
                    let when = if *edge == Edge::Start { &phase.from } else { &phase.to };
                    resolve(scenario, when, depth)?
                }
                Reference::Flow(name) => {
                    let flow = scenario.flow(name)?;
                    match edge {
                        Edge::Start => match flow.start {
                            Start::At(at) => scenario.clock(at) + start_offset(scenario, flow),
                            Start::Event => return None,
                        },
                        // It may end before it is stopped.
                        Edge::End if ends_by_itself(&flow.traffic) => return None,
                        Edge::End => scenario.clock(flow.stop?),
                    }
                }
                Reference::Workload => return None,
            };
            Some(at + *delay)
        }
    }
}
