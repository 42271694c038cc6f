//! Expressions over metrics:
//!
//! ```text
//! ratio(delivery_rate, prague, rival) >= 10
//! jain(delivery_rate) >= 0.95 over last 60s before 1s
//! mean(rtt, cubic) < 30ms during competition and drops(bottleneck.down.qdisc) == 0 over all
//! p99(queue_delay, bottleneck.down.qdisc) - 5ms < 2 * mean(queue_delay, bottleneck.down.qdisc)
//! ```
//!
//! A window follows the call that it is for, or follows a comparison, for every call in it without a window:
//! `over last SPAN [before SPAN]`, `over all`, `over NAME` (a `[[window]]`), `during NAME` (a `[[phase]]`),
//! `from TIME to TIME`. Names are letters, digits, `-`, `_` and `.`, so a minus between two of them needs its
//! spaces. Units are checked when the expression is parsed.

mod lexer;
mod parser;
mod tree;

use super::functions::{Function, Gives, Parameter};
use super::series::Of;
use super::unit::Unit;
use super::window::WindowSpec;
use core::fmt;
use core::ops::Range;
use sojourn_model::{WordError, nearest};
use sojourn_units::Span;
pub(super) use tree::{Call, Clause, Name, NameOf, Operator, Placed, Term, TermKind};

/// A parsed expression.
#[derive(Clone, PartialEq, Debug)]
pub struct Expression {
    pub(super) text: String,
    /// Joined by `and`.
    pub(super) clauses: Vec<Clause>,
}

/// The names that an expression may use.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Names<'a> {
    /// Flows.
    pub flows: Vec<&'a str>,
    /// Groups of flows.
    pub groups: Vec<&'a str>,
    /// Queues, by their paths.
    pub queues: Vec<&'a str>,
    /// Every element, queues among them, by its path.
    pub elements: Vec<&'a str>,
    /// Phases.
    pub phases: Vec<&'a str>,
    /// Windows.
    pub windows: Vec<&'a str>,
    /// The parts of the run before and after the origin: no window reaches further.
    pub warmup: Span,
    /// See `warmup`.
    pub duration: Span,
}

impl Expression {
    /// Parses an expression; the error points at what is wrong.
    pub fn parse(text: &str) -> Result<Self, WordError> {
        Ok(Self { text: text.to_owned(), clauses: parser::parse(text)? })
    }

    /// The text it was parsed from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it compares something, and so holds or does not.
    pub fn is_verdict(&self) -> bool {
        self.clauses.iter().all(|c| c.right.is_some())
    }

    /// The unit of its value; plain for a verdict.
    pub fn unit(&self) -> Unit {
        match self.clauses.as_slice() {
            [Clause { left, right: None, .. }] => left.unit,
            _ => Unit::One,
        }
    }

    /// Shows every metric in it.
    pub(super) fn calls(&self, show: &mut dyn FnMut(&Call)) {
        for clause in &self.clauses {
            calls(&clause.left, show);
            if let Some((_, right)) = &clause.right {
                calls(right, show);
            }
        }
    }

    /// The numbers of controllers that it asks for (`state.NAME`), each with the flow, group or queue that it asks.
    pub fn states(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        self.calls(&mut |call| {
            if let (Some(Of::State(name)), Some(subject)) = (&call.of, call.names.first()) {
                found.push((subject.text.clone(), name.clone()));
            }
        });
        found
    }

    /// The names in it that an experiment does not have.
    pub fn unknown_names(&self, known: &Names<'_>) -> Vec<WordError> {
        let mut errors = Vec::new();
        for clause in &self.clauses {
            unknown(&clause.left, known, &mut errors);
            if let Some((_, right)) = &clause.right {
                unknown(right, known, &mut errors);
            }
        }
        errors
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn calls(term: &Term, show: &mut dyn FnMut(&Call)) {
    match &term.kind {
        TermKind::Number(_) => {}
        TermKind::Negative(inner) => calls(inner, show),
        TermKind::Binary(_, a, b) => {
            calls(a, show);
            calls(b, show);
        }
        TermKind::Call(call) => {
            show(call);
            for inner in &call.terms {
                calls(inner, show);
            }
        }
    }
}

fn unknown(term: &Term, known: &Names<'_>, errors: &mut Vec<WordError>) {
    match &term.kind {
        TermKind::Number(_) => {}
        TermKind::Negative(inner) => unknown(inner, known, errors),
        TermKind::Binary(_, a, b) => {
            unknown(a, known, errors);
            unknown(b, known, errors);
        }
        TermKind::Call(call) => {
            for inner in &call.terms {
                unknown(inner, known, errors);
            }
            for name in &call.names {
                let flows = known.flows.iter().chain(&known.groups).copied();
                let (what, names): (_, Vec<&str>) = match name.of {
                    NameOf::Flow => ("flow", flows.collect()),
                    NameOf::Queue => ("queue", known.queues.clone()),
                    NameOf::Element => ("element", known.elements.clone()),
                    NameOf::Either => {
                        ("flow or queue", flows.chain(known.queues.iter().copied()).collect())
                    }
                };
                missing(what, &name.text, &names, &name.at, errors);
            }
            match &call.window {
                Some(Placed { value: WindowSpec::Named(name), at }) => {
                    missing("window", name, &known.windows, at, errors);
                }
                Some(Placed { value: WindowSpec::Phase(name), at }) => {
                    missing("phase", name, &known.phases, at, errors);
                }
                Some(Placed { value, at }) => {
                    let stated = value.stated(&[]);
                    if let Some(o) = stated.and_then(|w| w.outside(known.warmup, known.duration)) {
                        let (message, help) = (o.message, o.help);
                        errors.push(WordError { at: at.clone(), message, help });
                    }
                }
                None => {}
            }
        }
    }
}

fn missing(what: &str, name: &str, names: &[&str], at: &Range<usize>, errors: &mut Vec<WordError>) {
    if names.contains(&name) {
        return;
    }
    let help = match nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None if names.is_empty() => format!("there is no {what}"),
        None => format!("{what}s: {}", names.join(", ")),
    };
    let message = format!("there is no {what} called \"{name}\"");
    errors.push(WordError { at: at.clone(), message, help });
}

impl Function {
    /// How it is called: `ratio(RATE, FLOW, FLOW)`.
    pub fn usage(&self) -> String {
        let words: Vec<&str> = self
            .parameters
            .iter()
            .map(|p| match p {
                Parameter::Quantity => "QUANTITY",
                Parameter::Rate => "RATE",
                Parameter::Flow => "FLOW",
                Parameter::Queue => "QUEUE",
                Parameter::Element => "ELEMENT",
                Parameter::Subject => "FLOW|QUEUE",
                Parameter::Level => "LEVEL",
                Parameter::Percent => "PERCENT",
                Parameter::Flows => "[FLOW, ...]",
                Parameter::Reason => "[REASON]",
                Parameter::Value => "VALUE",
            })
            .collect();
        format!("{}({})", self.name, words.join(", "))
    }

    pub(super) fn unit(&self, of: Option<&Of>) -> Unit {
        match (self.gives, of) {
            (Gives::Unit(unit), _) => unit,
            (Gives::Quantity, of) => of.map_or(Unit::One, Of::unit),
        }
    }
}

/// The reference of metrics and quantities in Markdown.
pub fn reference() -> String {
    use core::fmt::Write as _;
    let mut text = String::from("| metric | gives | looks at | meaning |\n|---|---|---|---|\n");
    for f in super::functions::FUNCTIONS {
        let gives = match f.gives {
            Gives::Unit(Unit::One) => "number",
            Gives::Unit(unit) => unit.symbol(),
            Gives::Quantity => "the quantity's unit",
        };
        let (usage, looks) = (f.usage().replace('|', "\\|"), f.looks.word());
        let _ = writeln!(text, "| `{usage}` | {gives} | {looks} | {} |", f.doc);
    }
    text.push_str("\n| quantity | unit | meaning |\n|---|---|---|\n");
    for q in super::quantity::QUANTITIES {
        let _ = writeln!(text, "| `{}` | {} | {} |", q.name, q.unit, q.doc);
    }
    text.push_str(
        "| `sojourn.CLASS` | s | the same of the packets that left from one class of the queue: `sojourn.l` and \
         `sojourn.c` of dualpi2, `sojourn.voice` of cake; `sojourn qdiscs NAME` names a discipline's classes |\n",
    );
    text.push_str("| `state.NAME` | | a controller's own number: `state.alpha`, `state.prob` |\n");
    text
}
