//! The value of an expression on a run.

use super::asked::Asked;
use super::expression::{Call, Clause, Expression, Operator, Term, TermKind};
use super::fault::Fault;
use super::functions::Compute;
use super::series::{Frame, Of};
use super::unit::Unit;
use core::fmt;
use serde::Serialize;
use sojourn_model::nearest;

/// A number with its unit.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Value {
    /// The number, in base units.
    pub number: f64,
    /// Its unit.
    pub unit: Unit,
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.unit.show(self.number))
    }
}

/// The value of an expression on a run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Verdict {
    /// The value; of a comparison, its left side; of several, that of the first that fails, or of the first.
    pub value: Value,
    /// Its bound and how it was compared; nothing for a plain value.
    pub bound: Option<(String, Value)>,
    /// Whether every comparison holds; nothing for a plain value.
    pub passed: Option<bool>,
}

impl fmt::Display for Verdict {
    /// `23.5 >= 10: passed`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.value)?;
        if let Some((comparison, bound)) = &self.bound {
            write!(f, " {comparison} {bound}")?;
        }
        match self.passed {
            Some(true) => f.write_str(": passed"),
            Some(false) => f.write_str(": failed"),
            None => Ok(()),
        }
    }
}

/// Why an expression has no value on a run.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{expression}: {message}{}", help.as_ref().map_or(String::new(), |help| format!(" ({help})")))]
pub struct EvaluationError {
    /// The part of the expression.
    pub expression: String,
    /// Why.
    pub message: String,
    /// Where the run did not record what it could have: what to write so that it does.
    pub help: Option<String>,
}

impl Expression {
    /// Evaluates it on a run.
    pub fn evaluate(&self, frame: &Frame<'_>) -> Result<Verdict, EvaluationError> {
        let mut first: Option<Verdict> = None;
        for clause in &self.clauses {
            let verdict = self.clause(frame, clause)?;
            if verdict.passed == Some(false) {
                return Ok(verdict);
            }
            first.get_or_insert(verdict);
        }
        first.ok_or_else(|| EvaluationError {
            expression: self.text.clone(),
            message: "there is nothing in it".into(),
            help: None,
        })
    }

    fn clause(&self, frame: &Frame<'_>, clause: &Clause) -> Result<Verdict, EvaluationError> {
        let left = self.term(frame, &clause.left)?;
        let value = Value { number: left, unit: clause.left.unit };
        let Some((comparison, right)) = &clause.right else {
            return Ok(Verdict { value, bound: None, passed: None });
        };
        if !frame.run.is_valid() {
            return Err(EvaluationError {
                expression: self.text.clone(),
                message: "the run is not valid: the machine disturbed it".into(),
                help: Some(
                    "the totals of the subject live say how; run it on an idle machine".into(),
                ),
            });
        }
        let right_value = self.term(frame, right)?;
        // A bare zero, or a bare count, is in the unit of what it is compared with.
        let plain = |unit: Unit, other: Unit| if unit == Unit::One { other } else { unit };
        let bound = Value { number: right_value, unit: plain(right.unit, value.unit) };
        let value = Value { unit: plain(value.unit, bound.unit), ..value };
        Ok(Verdict {
            value,
            bound: Some((comparison.symbol().to_owned(), bound)),
            passed: Some(comparison.holds(left, right_value)),
        })
    }

    fn term(&self, frame: &Frame<'_>, term: &Term) -> Result<f64, EvaluationError> {
        let fault = |Fault { message, help }| EvaluationError {
            expression: self.text[term.at.clone()].to_owned(),
            message,
            help,
        };
        let fail = |message: String| fault(message.into());
        match &term.kind {
            TermKind::Number(number) => Ok(*number),
            TermKind::Negative(inner) => Ok(-self.term(frame, inner)?),
            TermKind::Binary(operator, a, b) => {
                let (a, b) = (self.term(frame, a)?, self.term(frame, b)?);
                Ok(match operator {
                    Operator::Add => a + b,
                    Operator::Subtract => a - b,
                    Operator::Multiply => a * b,
                    Operator::Divide if b == 0.0 => return Err(fail("divided by zero".into())),
                    Operator::Divide => a / b,
                })
            }
            TermKind::Call(call) if let Compute::Values(of, whole) = call.function.compute => {
                let values: Vec<f64> = call
                    .terms
                    .iter()
                    .map(|inner| self.term(frame, inner))
                    .collect::<Result<_, _>>()?;
                let found = of(values[0], values[1]);
                if found.is_nan() {
                    return Err(fail(format!("there is nothing {whole} to measure harm by")));
                }
                Ok(found)
            }
            TermKind::Call(call) => {
                evaluate(frame, call).map_err(fault)?.ok_or_else(|| fault(no_sample(frame, call)))
            }
        }
    }
}

/// Why a metric has no value where nothing was measured: its subject may not have the number at all.
fn no_sample(frame: &Frame<'_>, call: &Call) -> Fault {
    let (Some(Of::State(name)), Some(subject)) = (&call.of, call.names.first()) else {
        return "there is no sample in the window".into();
    };
    let subject = subject.text.as_str();
    if frame.members(subject).len() > 1 {
        return format!("\"{subject}\" is a group: ask of one flow").into();
    }
    let own = frame.states(subject);
    if own.contains(&name.as_str()) {
        return "there is no sample in the window".into();
    }
    let message = format!("{subject} has no number of its own called \"{name}\"");
    let help = match nearest(name, own.iter().copied()) {
        Some(near) => format!("did you mean \"state.{near}\"? it has {}", own.join(", ")),
        None if own.is_empty() => "it has none at all".to_owned(),
        None => format!("it has {}", own.join(", ")),
    };
    Fault::not_recorded(message, help)
}

/// The value of a metric; `None` where there is nothing to measure.
fn evaluate(frame: &Frame<'_>, call: &Call) -> Result<Option<f64>, Fault> {
    let window = &call.looks();
    let scenario = &frame.run.scenario;
    let stated = window.stated(&scenario.windows);
    if let Some(outside) = stated.and_then(|w| w.outside(scenario.warmup, scenario.duration)) {
        return Err(format!("{}; {}", outside.message, outside.help).into());
    }
    match call.function.compute {
        Compute::Run(compute) => compute(&Asked { frame, call, window }),
        Compute::Values(..) => Ok(None),
    }
}
