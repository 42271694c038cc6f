//! Delays of every packet in a window: the intervals of the table `delays` that the window consists of; and the flows with
//! there are such intervals.
//!
//! A thousand flows' distributions are more than all else that a run keeps, and of a thousand flows nobody asks for each.
//! A queue's are there always: the part that is no single flow's has an empty name.
//!
//! An interval belongs to the window or does not. If one crosses an edge of the window, nobody knew the window when the run was
//! made; that is an error and no occasion to guess.

use super::expression::Expression;
use super::fault::Fault;
use super::quantity::Table as Place;
use super::series::{Frame, Of};
use super::window::{Bounds, WindowSpec};
use crate::estimators::Bucket;
use crate::schema;
use sojourn_model::{At, Flow, Scenario, Traffic};
use std::collections::BTreeSet;

/// With at most this number of flows, delays are recorded per flow by default.
pub const FEW: usize = 64;

/// The owner of delays in the table `delays`: a flow, or all flows together that have no delays per flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subject<'a> {
    /// The flow's name; empty for those not recorded per flow, which have no one-way delays.
    pub name: &'a str,
    /// Its flows' numbers in the scenario, ascending, at least one.
    pub flows: Vec<usize>,
    /// Its intervals' ends, see [`edges`].
    pub edges: Vec<i64>,
}

/// The delays that an engine keeps: each flow's own where they are recorded per flow, in the scenario's order, and those of
/// all others together, if there are any.
pub fn subjects(scenario: &Scenario) -> Vec<Subject<'_>> {
    let apart = recorded_per_flow(scenario);
    let (own, others): (Vec<usize>, Vec<usize>) = (0..apart.len()).partition(|&flow| apart[flow]);
    let mut subjects: Vec<Subject<'_>> = own
        .into_iter()
        .map(|number| {
            let flow = &scenario.flows[number];
            Subject { name: &flow.name, flows: vec![number], edges: edges(scenario, flow.stop) }
        })
        .collect();
    if !others.is_empty() {
        subjects.push(Subject { name: "", flows: others, edges: edges(scenario, None) });
    }
    subjects
}

/// For each flow, whether its delays are recorded per flow. A flow's own setting decides; without one, the answer is
/// yes in runs of up to [`FEW`] flows, and in larger ones only if a check of the experiment asks for its delays by the
/// name of the flow or of its group.
fn recorded_per_flow(scenario: &Scenario) -> Vec<bool> {
    let mut asked = BTreeSet::new();
    for check in &scenario.checks {
        if let Ok(expression) = Expression::parse(&check.that) {
            expression.calls(&mut |call| {
                let of = call.of.as_ref();
                if of.is_some_and(|of| of.histogram().is_some() && of.takes_window()) {
                    asked.extend(call.names.first().map(|name| name.text.clone()));
                }
            });
        }
    }
    let few = scenario.flows.len() <= FEW;
    let is_asked = |flow: &Flow| {
        asked.contains(&flow.name) || flow.group.as_ref().is_some_and(|group| asked.contains(group))
    };
    scenario.flows.iter().map(|f| f.delays.unwrap_or_else(|| few || is_asked(f))).collect()
}

/// The points of the run, in nanoseconds from the origin and ascending, between which an engine tells the packets of a
/// flow with this stated stop apart (the table `delays`), so that every window that is known before the run is a sum of intervals: those of
/// `[[window]]` and `[[phase]]`, the default one, and those that the experiment's checks name. The first is the origin,
/// the last the end of the run. A window that ends so long before the last sample is placed by the flow's stated stop
/// and by the end of the run; of a flow that ends by itself the last sample is not known beforehand. Neither is a phase
/// that waits for something: an engine cuts there when it happens.
fn edges(scenario: &Scenario, stop: Option<At>) -> Vec<i64> {
    let mut specs = vec![WindowSpec::Default];
    specs.extend(scenario.windows.iter().map(|w| WindowSpec::Named(w.name.clone())));
    specs.extend(scenario.phases.iter().map(|p| WindowSpec::Phase(p.name.clone())));
    for check in &scenario.checks {
        if let Ok(expression) = Expression::parse(&check.that) {
            expression
                .calls(&mut |call| specs.extend(call.window.as_ref().map(|w| w.value.clone())));
        }
    }
    let end = scenario.duration.as_nanos() as i64;
    let nanos = |seconds: f64| libm::round(seconds * 1e9) as i64;
    let stop = stop.map_or(end, |stop| stop.as_nanos().clamp(0, end));
    let mut edges = vec![0, end];
    for last in [end, stop] {
        let planned = specs.iter().filter_map(|w| w.planned(scenario, last as f64 / 1e9));
        edges.extend(planned.flat_map(|b| [nanos(b.from), nanos(b.to)]));
    }
    edges.retain(|edge| (0..=end).contains(edge));
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// The error for a flow without delays, with the words that record them.
fn not_recorded_per_flow(flow: &Flow) -> Fault {
    let is_ping = matches!(flow.traffic, Traffic::Ping(_));
    let place = if is_ping { "[[flow]] or [ping]" } else { "[[flow]]" };
    let why = match flow.delays {
        Some(_) => format!("its {place} says `delays = false`"),
        None => format!(
            "of more than {FEW} flows only those are that ask for it, or that a check asks for"
        ),
    };
    Fault::not_recorded(
        format!("the delays of {} were not recorded per flow: {why}", flow.name),
        format!("write `delays = true` in its {place} and run it again"),
    )
}

/// Which of a flow's packets.
#[derive(Clone, Copy)]
struct Which<'n> {
    quantity: &'n str,
    queue: &'n str,
    /// One class, or all.
    class: Option<&'n str>,
}

/// The distribution of a quantity of every packet: of a queue, of a flow or group, or of a flow or group at a queue,
/// as `names` say, in a window. No bucket where there was no packet.
///
/// # Errors
/// When the run does not tell it.
pub(super) fn distribution(
    frame: &Frame<'_>,
    of: &Of,
    names: &[&str],
    window: &WindowSpec,
) -> Result<Vec<Bucket>, Fault> {
    let Some(quantity) = of.histogram() else { return Ok(Vec::new()) };
    let (subject, at) = (names.first().copied().unwrap_or(""), names.get(1).copied());
    let is_queue = frame.run.scenario.is_queue(subject);
    // Quantities of a whole run, in a table of their own.
    let varies = matches!(of, Of::Quantity(q) if q.table == Place::DelayVariation);
    let is_whole = *window == WindowSpec::Whole;
    if is_whole && at.is_none() && !varies {
        let whole = frame.buckets(subject, quantity);
        if !whole.is_empty() || is_queue || quantity == "rtt" {
            return Ok(whole);
        }
    }
    if frame.run.table(schema::DELAYS.name).is_none() {
        if frame.run.table(schema::HISTOGRAMS.name).is_none() {
            // Imported results have neither.
            return Ok(Vec::new());
        }
        return Err(Fault::not_recorded(
            "this run has no delays by flow and window",
            "run it again to have them",
        ));
    }
    let scenario = &frame.run.scenario;
    let flows: Vec<&str> = match frame.members(subject).as_slice() {
        [] if is_queue => {
            // And those that were not recorded per flow.
            scenario.flows.iter().map(|f| f.name.as_str()).chain([""]).collect()
        }
        [] => return Err(format!("there is no flow or queue called \"{subject}\"").into()),
        members => {
            let apart = recorded_per_flow(scenario);
            let is_apart = |flow: &Flow| {
                !frame.delays.of(&flow.name).is_empty()
                    || scenario
                        .flows
                        .iter()
                        .zip(&apart)
                        .any(|(f, apart)| *apart && f.name == flow.name)
            };
            if let Some(flow) = members.iter().find(|flow| !is_apart(flow)) {
                return Err(not_recorded_per_flow(flow));
            }
            members.iter().map(|f| f.name.as_str()).collect()
        }
    };
    let mut all = Vec::new();
    for flow in flows {
        let queue;
        let which = if of.is_sojourn() {
            queue = match at {
                Some(queue) => queue.to_owned(),
                None if is_queue => subject.to_owned(),
                None => sole_queue(frame, flow)?,
            };
            let class = quantity.strip_prefix("sojourn.");
            Which { quantity: "sojourn", queue: &queue, class }
        } else {
            Which { quantity, queue: "", class: None }
        };
        let bounds = if is_whole {
            None
        } else {
            // A queue's window ends where the queue's rows do.
            let of = if is_queue { subject } else { flow };
            Some(frame.bounds(window, of).ok_or("the run never came to this window")?)
        };
        let mut found = buckets(frame, flow, which, bounds)?;
        if varies {
            let run = buckets(frame, flow, which, None)?;
            let least = run.iter().map(|b| b.low).fold(f64::INFINITY, f64::min);
            for bucket in &mut found {
                bucket.low -= least;
                bucket.high -= least;
            }
        }
        all.append(&mut found);
    }
    Ok(joined(all))
}

/// The queue that a flow's data pass.
fn sole_queue(frame: &Frame<'_>, flow: &str) -> Result<String, Fault> {
    let scenario = &frame.run.scenario;
    let queues: Vec<String> = scenario
        .flow(flow)
        .into_iter()
        .flat_map(|f| scenario.data_path(f))
        .map(|(hop, side, element)| format!("{hop}.{side}.{}", element.name))
        .filter(|path| scenario.is_queue(path))
        .collect();
    match queues.as_slice() {
        [queue] => Ok(queue.clone()),
        [] => Err(format!("the data of {flow} pass no queue").into()),
        several => Err(format!(
            "say in which queue: {}",
            several.iter().map(|q| format!("{flow} at {q}")).collect::<Vec<_>>().join(", ")
        )
        .into()),
    }
}

/// The buckets of a flow's packets in a window, in the order of the table.
fn buckets(
    frame: &Frame<'_>,
    flow: &str,
    which: Which<'_>,
    bounds: Option<Bounds>,
) -> Result<Vec<Bucket>, Fault> {
    let table = &frame.delays.table;
    let (from, to) = (table.f64("from_s"), table.f64("to_s"));
    let (low, high, count) = (table.f64("lo_s"), table.f64("hi_s"), table.u64("count"));
    let code = |column, name| table.text(column).code(name);
    let (Some(quantity), Some(queue)) =
        (code("quantity", which.quantity), code("queue", which.queue))
    else {
        return Ok(Vec::new());
    };
    let class = match which.class {
        Some(name) => match code("class", name) {
            Some(class) => Some(class),
            None => return Ok(Vec::new()),
        },
        None => None,
    };
    let (quantities, queues) = (table.text("quantity").codes(), table.text("queue").codes());
    let classes = table.text("class").codes();
    let mut found = Vec::new();
    for &row in frame.delays.of(flow) {
        let is_it = quantities[row] == quantity
            && queues[row] == queue
            && class.is_none_or(|class| classes[row] == class);
        if !is_it {
            continue;
        }
        if let Some(b) = bounds {
            // Points of the run are whole nanoseconds.
            const SAME: f64 = 0.5e-9;
            if to[row] <= b.from + SAME || from[row] >= b.to - SAME {
                continue;
            }
            // The run's own ends are edges of every window that goes beyond them.
            if from[row] < b.from - SAME || to[row] > b.to + SAME {
                let flow = if flow.is_empty() { "flows together" } else { flow };
                return Err(Fault::not_recorded(
                    format!(
                        "the delays of {flow} are known from {} s to {} s together, and this window has a part \
                         of that: it was not known when the run was made",
                        from[row], to[row]
                    ),
                    "name it in a [[window]] or a check of the experiment and run it again",
                ));
            }
        }
        found.push(Bucket { low: low[row], high: high[row], count: count[row] });
    }
    Ok(found)
}

/// Ascending, and each bucket once.
fn joined(mut buckets: Vec<Bucket>) -> Vec<Bucket> {
    buckets.sort_by(|a, b| a.low.total_cmp(&b.low).then(a.high.total_cmp(&b.high)));
    buckets.dedup_by(|next, kept| {
        let is_same = next.low == kept.low && next.high == kept.high;
        if is_same {
            kept.count += next.count;
        }
        is_same
    });
    buckets
}
