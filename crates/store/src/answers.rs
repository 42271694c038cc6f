//! The answers that a run is stored with: everything that tables, summaries, warnings and checks usually ask for, computed
//! once, from the tables in memory, when the run ends.
//!
//! An answer's key is the metric's expression, so a question is a look-up by its text. A metric has one definition
//! ([`sojourn_results::metrics`]): a test compares each answer with the value from the stored tables, bit by bit.
//!
//! Stored form: the *shape* (expressions, numbers of windows, paths: equal for all seeds of a cell, so a segment keeps it
//! once), then the values as 64-bit floats, then what is text in each run (checks, remarks).

use super::columns::{CELL, Column, FLOW, QUEUE};
use super::remarks::{Remark, remarks};
use serde::{Deserialize, Serialize};
use sojourn_model::{Direction, Kind, Scenario, Side, Traffic};
use sojourn_results::metrics::{Bounds, Expression, Frame, Names, WindowSpec};
use sojourn_results::{Run, schema};
use sojourn_units::Rate;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A packet that stays in a queue for longer waited for others, s.
pub const WAITED: f64 = 0.001;
/// Runs with more flows keep no answers per flow; the tables have them.
pub const MOST_FLOWS: usize = 64;

/// What became of the packets that came to a queue.
#[derive(Clone, PartialEq, Debug)]
pub struct QueueFacts {
    /// The queue's path.
    pub path: String,
    /// Packets that came.
    pub came: f64,
    /// Packets that were dropped or marked.
    pub signalled: f64,
    /// Packets that left.
    pub left: f64,
    /// Packets that left after more than [`WAITED`].
    pub waited: f64,
    /// The time that all packets that left spent in the queue, s.
    pub total_s: f64,
}

/// The outcome of a check.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Checked {
    /// Its name.
    pub name: String,
    /// Its outcome in words: `23.50 >= 10: passed`.
    pub said: String,
    /// Whether it holds; `None` where the run gives it no value.
    pub passed: Option<bool>,
    /// Where it looks: (after, up to), s.
    pub windows: Vec<(f64, f64)>,
}

/// The value of a metric, and where it was measured.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// The expression.
    pub metric: String,
    /// In base units; NaN where the run has none.
    pub value: f64,
    /// (after, up to), s.
    pub windows: Vec<(f64, f64)>,
}

/// The answers of one run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Answers {
    /// The default window of the run as a whole, s.
    pub window: Option<(f64, f64)>,
    /// One for each usual metric.
    pub metrics: Vec<Answer>,
    /// One for each queue that packets came to.
    pub queues: Vec<QueueFacts>,
    /// The experiment's checks.
    pub checks: Vec<Checked>,
    /// Remarks to know before the numbers are believed.
    pub remarks: Vec<Remark>,
}

fn seconds(bounds: Bounds) -> (f64, f64) {
    (bounds.from, bounds.to)
}

impl Answers {
    /// Computes the answers of a run.
    pub fn of(run: &Run) -> Self {
        let frame = Frame::new(run);
        let queues = queue_facts(run);
        let wanted = usual(&run.scenario, &queues);
        let mut metrics: Vec<Answer> = Vec::with_capacity(wanted.len());
        let mut known = std::collections::HashSet::new();
        for metric in wanted {
            if !known.insert(metric.clone()) {
                continue;
            }
            let Ok(expression) = Expression::parse(&metric) else { continue };
            let value = expression.evaluate(&frame).map_or(f64::NAN, |v| v.value.number);
            let windows = expression.windows(&frame).into_iter().map(seconds).collect();
            metrics.push(Answer { metric, value, windows });
        }
        Self {
            window: frame.bounds(&WindowSpec::Default, "").map(seconds),
            metrics,
            queues,
            checks: checks(&frame),
            remarks: remarks(&frame),
        }
    }
}

/// The names that expressions may use in a run, owned.
#[derive(Debug)]
pub struct KnownNames<'a> {
    scenario: &'a Scenario,
    queues: Vec<String>,
    elements: Vec<String>,
}

/// The names that expressions may use in a run of this scenario.
pub fn names(scenario: &Scenario) -> KnownNames<'_> {
    KnownNames {
        scenario,
        queues: scenario.queues().collect(),
        elements: scenario.elements().map(|(path, _)| path).collect(),
    }
}

impl KnownNames<'_> {
    /// As expressions take them.
    pub fn of(&self) -> Names<'_> {
        let scenario = self.scenario;
        Names {
            flows: scenario.flows.iter().map(|f| f.name.as_str()).collect(),
            groups: scenario.flows.iter().filter_map(|f| f.group.as_deref()).collect(),
            queues: self.queues.iter().map(String::as_str).collect(),
            elements: self.elements.iter().map(String::as_str).collect(),
            phases: scenario.phases.iter().map(|p| p.name.as_str()).collect(),
            windows: scenario.windows.iter().map(|w| w.name.as_str()).collect(),
            warmup: scenario.warmup,
            duration: scenario.duration,
        }
    }
}

/// The outcomes of the experiment's checks.
pub fn checks(frame: &Frame<'_>) -> Vec<Checked> {
    let checks = frame.run().scenario.checks.iter().map(|check| {
        let name = check.name.clone().unwrap_or_else(|| check.that.clone());
        let expression = match Expression::parse(&check.that) {
            Ok(expression) => expression,
            Err(error) => {
                return Checked { name, said: error.message, passed: None, windows: Vec::new() };
            }
        };
        let windows = expression.windows(frame).into_iter().map(seconds).collect();
        match expression.evaluate(frame) {
            Ok(verdict) => {
                Checked { name, said: verdict.to_string(), passed: verdict.passed, windows }
            }
            Err(error) => Checked { name, said: error.to_string(), passed: None, windows },
        }
    });
    checks.collect()
}

/// The expressions of the summary's columns in a run.
fn usual(scenario: &Scenario, queues: &[QueueFacts]) -> Vec<String> {
    let mut paths: Vec<String> = queues.iter().map(|queue| queue.path.clone()).collect();
    if let Some(main) = bottleneck(scenario).filter(|main| !paths.contains(main)) {
        paths.push(main);
    }
    let few = scenario.flows.len() <= MOST_FLOWS;
    let columns = CELL.iter().chain(FLOW).chain(QUEUE);
    let columns = columns.filter(|column: &&Column| few || !column.metric.contains("{flow"));
    columns.flat_map(|column| column.expressions(scenario, &paths)).collect()
}

/// The path of the bottleneck: the slowest queue on the way of the data. That way is up if all flows that send as much as they
/// can, or else all that carry data, are uploads. `None` if it has no queue.
pub fn bottleneck(scenario: &Scenario) -> Option<String> {
    let loads = || scenario.flows.iter().filter(|flow| flow.traffic.is_load());
    let greedy: Vec<_> = loads()
        .filter(|flow| match &flow.traffic {
            Traffic::Tcp(tcp) => tcp.bytes.is_none(),
            Traffic::Quic(quic) => quic.bytes.is_none(),
            Traffic::TcpStack(tcp) => tcp.bytes.is_none(),
            _ => false,
        })
        .map(|flow| flow.direction)
        .collect();
    let ways = if greedy.is_empty() { loads().map(|f| f.direction).collect() } else { greedy };
    let up = !ways.is_empty() && ways.iter().all(|&way| way == Direction::Up);
    let side = if up { Side::Up } else { Side::Down };
    let queues = scenario.hops.iter().flat_map(|hop| {
        hop.side(side).iter().filter_map(move |element| match &element.kind {
            Kind::Queue(queue) => {
                let rate = queue.capacity().map_or(u64::MAX, Rate::bits_per_sec);
                Some((rate, format!("{}.{side}.{}", hop.name, element.name)))
            }
            _ => None,
        })
    });
    queues.min_by_key(|(rate, _)| *rate).map(|(_, path)| path)
}

/// What became of the packets in each queue that packets came to; nothing where the run did not record it.
pub fn queue_facts(run: &Run) -> Vec<QueueFacts> {
    let (Some(totals), Some(histograms)) =
        (run.table(schema::TOTALS.name), run.table(schema::HISTOGRAMS.name))
    else {
        return Vec::new();
    };
    let counter = |path: &str, name: &str| -> f64 {
        let (subjects, names) = (totals.text("subject"), totals.text("name"));
        let (Some(subject), Some(name)) = (subjects.code(path), names.code(name)) else {
            return 0.0;
        };
        let rows = (0..totals.len()).rev();
        let row = rows
            .into_iter()
            .find(|&row| subjects.codes()[row] == subject && names.codes()[row] == name);
        row.map_or(0.0, |row| totals.f64("value")[row])
    };
    let facts = run.scenario.queues().map(|path| {
        let entered = counter(&path, "entered");
        let (dropped, marked) = (counter(&path, "dropped"), counter(&path, "marked"));
        let (mut left, mut waited, mut total_s) = (0.0, 0.0, 0.0);
        let (subjects, quantities) = (histograms.text("subject"), histograms.text("quantity"));
        if let (Some(subject), Some(sojourn)) = (subjects.code(&path), quantities.code("sojourn")) {
            let (low, high) = (histograms.f64("lo_s"), histograms.f64("hi_s"));
            let counts = histograms.u64("count");
            for row in 0..histograms.len() {
                if subjects.codes()[row] == subject && quantities.codes()[row] == sojourn {
                    let count = counts[row] as f64;
                    left += count;
                    waited += if low[row] >= WAITED { count } else { 0.0 };
                    total_s += count * f64::midpoint(low[row], high[row]);
                }
            }
        }
        // Most disciplines drop before a packet has entered.
        let came = entered.max(left) + dropped;
        QueueFacts { came, signalled: dropped + marked, left, waited, total_s, path }
    });
    facts.filter(|facts| facts.came > 0.0).collect()
}

// --- stored form ---------------------------------------------------------------------------------------------------

/// The settings that all seeds of a cell have in common.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Shape {
    /// Each metric with the place of its windows among `windows`.
    metrics: Vec<(String, usize)>,
    /// How many windows each set has; the first is the default window.
    windows: Vec<usize>,
    queues: Vec<String>,
}

impl Shape {
    /// The place of a metric among the answers.
    fn place(&self, metric: &str) -> Option<usize> {
        self.metrics.iter().position(|(own, _)| own == metric)
    }
}

#[derive(Serialize, Deserialize)]
struct Texts {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    checks: Vec<Checked>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    remarks: Vec<Remark>,
}

/// Answers in three parts: the shape's text, the values, the run's own texts.
#[derive(Clone, PartialEq, Debug)]
pub struct Packed {
    /// JSON of what the seeds of a cell have in common.
    pub shape: String,
    /// Values of the metrics, then bounds of the windows, then the facts of the queues.
    pub values: Vec<f64>,
    /// JSON of checks and remarks.
    pub texts: String,
}

impl Answers {
    /// Packs the answers.
    pub fn pack(&self) -> Packed {
        let mut sets: Vec<Vec<(f64, f64)>> = vec![self.window.into_iter().collect()];
        let mut metrics = Vec::with_capacity(self.metrics.len());
        for answer in &self.metrics {
            let place = sets.iter().position(|set| *set == answer.windows).unwrap_or_else(|| {
                sets.push(answer.windows.clone());
                sets.len() - 1
            });
            metrics.push((answer.metric.clone(), place));
        }
        let mut values: Vec<f64> = self.metrics.iter().map(|answer| answer.value).collect();
        values.extend(sets.iter().flatten().flat_map(|(from, to)| [*from, *to]));
        values.extend(
            self.queues.iter().flat_map(|q| [q.came, q.signalled, q.left, q.waited, q.total_s]),
        );
        let shape = Shape {
            metrics,
            windows: sets.iter().map(Vec::len).collect(),
            queues: self.queues.iter().map(|queue| queue.path.clone()).collect(),
        };
        let texts = Texts { checks: self.checks.clone(), remarks: self.remarks.clone() };
        Packed { shape: json(&shape), values, texts: json(&texts) }
    }
}

/// The shapes that a reader has met. The seeds of a cell have one, so its text is parsed once for all of them.
#[derive(Debug, Default)]
pub struct Shapes {
    /// By their texts.
    known: Mutex<HashMap<String, Arc<Shape>>>,
}

impl Shapes {
    /// A run's answers to look into; `None` if the parts do not belong together.
    pub fn view(&self, packed: Packed) -> Option<View> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let shape = if let Some(shape) = known.get(&packed.shape) {
            Arc::clone(shape)
        } else {
            let shape: Shape = serde_json::from_str(&packed.shape).ok()?;
            let spans = shape.windows.iter().try_fold(0_usize, |sum, n| sum.checked_add(*n))?;
            spans.checked_mul(2)?.checked_add(shape.queues.len().checked_mul(FACTS)?)?;
            let sets = shape.windows.len();
            if sets == 0 || shape.metrics.iter().any(|(_, set)| *set >= sets) {
                return None;
            }
            let shape = Arc::new(shape);
            known.insert(packed.shape, Arc::clone(&shape));
            shape
        };
        drop(known);
        let spans: usize = shape.windows.iter().sum();
        let length = shape.metrics.len() + 2 * spans + FACTS * shape.queues.len();
        (packed.values.len() == length).then_some(View {
            shape,
            values: packed.values,
            texts: packed.texts,
        })
    }
}

/// Numbers of a queue's facts.
const FACTS: usize = 5;

/// The answers of a run as they are stored.
#[derive(Clone, Debug)]
pub struct View {
    shape: Arc<Shape>,
    values: Vec<f64>,
    texts: String,
}

impl View {
    /// Those of a run that has just ended.
    pub fn of(answers: &Answers) -> Self {
        Shapes::default().view(answers.pack()).expect("they were packed together")
    }

    /// A metric's value and where it was measured; `None` if it is not among the answers.
    pub fn get(&self, metric: &str) -> Option<(f64, Vec<(f64, f64)>)> {
        let place = self.shape.place(metric)?;
        Some((self.values[place], self.windows(self.shape.metrics[place].1).collect()))
    }

    /// The metrics that are answered.
    pub fn metrics(&self) -> impl Iterator<Item = &str> {
        self.shape.metrics.iter().map(|(metric, _)| metric.as_str())
    }

    /// The default window of the run as a whole, s.
    pub fn window(&self) -> Option<(f64, f64)> {
        self.windows(0).next()
    }

    /// The facts of each queue that packets came to, in the order of [`QueueFacts`].
    pub fn queues(&self) -> impl Iterator<Item = (&str, [f64; FACTS])> {
        let facts = &self.values[self.values.len() - FACTS * self.shape.queues.len()..];
        self.shape.queues.iter().map(String::as_str).zip(facts.as_chunks().0.iter().copied())
    }

    /// The experiment's checks; `None` if they are not as they are written.
    pub fn checks(&self) -> Option<Vec<Checked>> {
        serde_json::from_str(&self.texts).ok().map(|own: Texts| own.checks)
    }

    /// The remarks; `None` if they are not as they are written.
    pub fn remarks(&self) -> Option<Vec<Remark>> {
        serde_json::from_str(&self.texts).ok().map(|own: Texts| own.remarks)
    }

    /// The windows of a set.
    fn windows(&self, set: usize) -> impl Iterator<Item = (f64, f64)> + Clone {
        let first = self.shape.metrics.len() + 2 * self.shape.windows[..set].iter().sum::<usize>();
        let bounds = &self.values[first..first + 2 * self.shape.windows[set]];
        bounds.chunks_exact(2).map(|pair| (pair[0], pair[1]))
    }
}

/// A metric's values in several runs, and where they were measured.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Values {
    /// In base units, by run; NaN where a run has none.
    pub values: Vec<f64>,
    /// Each set of windows once: (after, up to), s. A single set is that of every run.
    pub windows: Vec<Vec<(f64, f64)>>,
}

impl Values {
    fn see(&mut self, set: impl Iterator<Item = (f64, f64)> + Clone) {
        if !self.windows.iter().any(|known| known.iter().copied().eq(set.clone())) {
            self.windows.push(set.collect());
        }
    }

    /// Appends those of further runs.
    pub fn extend(&mut self, other: Self) {
        self.values.extend(other.values);
        other.windows.iter().for_each(|set| self.see(set.iter().copied()));
    }
}

/// The same questions put to many runs.
#[derive(Debug)]
pub struct Questions<'a> {
    metrics: &'a [String],
    /// The shape of the last run, and the place of each metric in it.
    last: Option<(Arc<Shape>, Vec<Option<usize>>)>,
    /// By metric; `None` once a run had no answer.
    found: Vec<Option<Values>>,
}

impl<'a> Questions<'a> {
    /// Questions for these metrics.
    pub fn new(metrics: &'a [String]) -> Self {
        let found = metrics.iter().map(|_| Some(Values::default())).collect();
        Self { metrics, last: None, found }
    }

    /// Puts them to a run, which has no answers if it was imported.
    pub fn ask(&mut self, answers: Option<&View>) {
        let Some(view) = answers else {
            self.found.iter_mut().for_each(|found| *found = None);
            return;
        };
        let (_, places) = match self.last.take() {
            Some(last) if Arc::ptr_eq(&last.0, &view.shape) => self.last.insert(last),
            _ => {
                let places = self.metrics.iter().map(|metric| view.shape.place(metric)).collect();
                self.last.insert((Arc::clone(&view.shape), places))
            }
        };
        for (found, place) in self.found.iter_mut().zip(places) {
            match (found.as_mut(), *place) {
                (Some(known), Some(place)) => {
                    known.values.push(view.values[place]);
                    known.see(view.windows(view.shape.metrics[place].1));
                }
                _ => *found = None,
            }
        }
    }

    /// The answers, by metric; `None` where a run had none.
    pub fn into_values(self) -> Vec<Option<Values>> {
        self.found
    }
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("numbers and texts")
}
