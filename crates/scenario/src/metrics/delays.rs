//! Delays of every packet in a window: the intervals of the table `delays` that the window is made of.
//!
//! An interval lies in the window or outside it. One that lies across an edge of the window means that the window was
//! not known when the run was made, which is said and not guessed around.

use super::quantity::Table as Place;
use super::series::{Frame, Of};
use super::window::{Bounds, WindowSpec};
use crate::estimators::Bucket;
use crate::results::schema;

/// Which of a flow's packets.
#[derive(Clone, Copy)]
struct Which<'n> {
    quantity: &'n str,
    queue: &'n str,
    /// One class, or all.
    class: Option<&'n str>,
}

/// The distribution of a quantity of every packet: of a queue, of a flow or group, or of a flow or group at a queue,
/// as `names` say; in a window, or from the origin on. No bucket where there was no packet.
///
/// # Errors
/// When the run does not tell it.
pub(super) fn distribution(
    frame: &Frame<'_>,
    of: &Of,
    names: &[&str],
    window: Option<&WindowSpec>,
) -> Result<Vec<Bucket>, String> {
    let Some(quantity) = of.histogram() else { return Ok(Vec::new()) };
    let (subject, at) = (names.first().copied().unwrap_or(""), names.get(1).copied());
    let is_queue = frame.run.scenario.queues().any(|(path, _)| path == subject);
    // What a whole run has in a table of its own.
    let varies = matches!(of, Of::Quantity(q) if q.table == Place::DelayVariation);
    if window.is_none() && at.is_none() && !varies {
        let whole = frame.buckets(subject, quantity);
        if !whole.is_empty() || is_queue || quantity == "rtt" {
            return Ok(whole);
        }
    }
    if frame.run.table(schema::DELAYS.name).is_none() {
        return Err("this run has no delays by flow and window; run it again to have them".into());
    }
    let scenario = &frame.run.scenario;
    let flows: Vec<&str> = match frame.members(subject).as_slice() {
        [] if is_queue => scenario.flows.iter().map(|f| f.name.as_str()).collect(),
        [] => return Err(format!("there is no flow or queue called \"{subject}\"")),
        members => members.iter().map(|f| f.name.as_str()).collect(),
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
        let bounds = match window {
            // A queue's window ends where the queue's rows do.
            Some(w) => {
                let of = if is_queue { subject } else { flow };
                Some(frame.bounds(w, of).ok_or("the run never came to this window")?)
            }
            None => None,
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
fn sole_queue(frame: &Frame<'_>, flow: &str) -> Result<String, String> {
    let scenario = &frame.run.scenario;
    let queues: Vec<String> = scenario
        .flow(flow)
        .into_iter()
        .flat_map(|f| scenario.data_path(f))
        .map(|(hop, side, element)| format!("{hop}.{side}.{}", element.name))
        .filter(|path| scenario.queues().any(|(queue, _)| queue == *path))
        .collect();
    match queues.as_slice() {
        [queue] => Ok(queue.clone()),
        [] => Err(format!("the data of {flow} pass no queue")),
        several => Err(format!(
            "say in which queue: {}",
            several.iter().map(|q| format!("{flow} at {q}")).collect::<Vec<_>>().join(", ")
        )),
    }
}

/// The buckets of a flow's packets in a window, in the order of the table.
fn buckets(
    frame: &Frame<'_>,
    flow: &str,
    which: Which<'_>,
    bounds: Option<Bounds>,
) -> Result<Vec<Bucket>, String> {
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
                return Err(format!(
                    "the delays of {flow} are known from {} s to {} s together, of which this window has a part: it \
                     was not known when the run was made (name it in a [[window]] or a check of the experiment)",
                    from[row], to[row]
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
