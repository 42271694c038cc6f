//! The value of an expression on a run.

use super::expression::{Call, Clause, Expression, Operator, Term, TermKind};
use super::fault::Fault;
use super::functions::{self, RateOf, Sample, SignalKind, Which};
use super::quantity::Table;
use super::rows::Series;
use super::series::{Frame, Of};
use super::unit::Unit;
use super::window::{Bounds, WindowSpec};
use super::{delays, limits, oscillation, playback};
use crate::estimators::{harm_less_is_better, harm_more_is_better};
use core::fmt;
use serde::Serialize;
use sojourn_model::{Flow, nearest};

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

/// What an expression comes to on a run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Verdict {
    /// The value; of a comparison, its left side; of several, that of the first that fails, or of the first.
    pub value: Value,
    /// What it was compared with, and how; nothing for a plain value.
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
            TermKind::Call(call) if !call.terms.is_empty() => {
                let values: Vec<f64> = call
                    .terms
                    .iter()
                    .map(|inner| self.term(frame, inner))
                    .collect::<Result<_, _>>()?;
                let (solo, with) = (values[0], values[1]);
                let (harm, whole) = match call.function.which {
                    Which::HarmMore => (harm_more_is_better(solo, with), "alone"),
                    _ => (harm_less_is_better(solo, with), "beside the rival"),
                };
                if harm.is_nan() {
                    return Err(fail(format!("there is nothing {whole} to measure harm by")));
                }
                Ok(harm)
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
    let rate_of = match &call.of {
        Some(Of::Quantity(q)) if q.name == "goodput" => RateOf::Goodput,
        _ => RateOf::DeliveryRate,
    };
    let flows = |name: &str| -> Result<Vec<&Flow>, Fault> {
        let members = frame.members(name);
        if members.is_empty() {
            Err(format!("there is no flow called \"{name}\"").into())
        } else {
            Ok(members)
        }
    };
    let all = |names: &[super::expression::Name]| -> Result<Vec<&Flow>, Fault> {
        if names.is_empty() {
            return Ok(frame.load(rate_of == RateOf::DeliveryRate));
        }
        let mut all = Vec::new();
        for name in names {
            all.extend(flows(&name.text)?);
        }
        Ok(all)
    };
    let total = |of: RateOf, flows: &[&Flow]| {
        functions::rates(frame, of, flows, window).map(|rates| crate::estimators::sum(&rates))
    };
    let first = || call.names.first().map_or("", |n| n.text.as_str());
    let of_stream =
        |metric: fn(&Frame<'_>, &str, Bounds) -> Option<f64>| -> Result<Option<f64>, Fault> {
            match flows(first())?.as_slice() {
                [flow] => {
                    let bounds = frame.bounds(window, &flow.name);
                    Ok(bounds.and_then(|bounds| metric(frame, &flow.name, bounds)))
                }
                _ => Err(format!("\"{}\" is a group: ask of one flow", first()).into()),
            }
        };
    let limited = |column: &str| -> Result<Option<f64>, Fault> {
        let own = flows(first())?;
        let shares: Option<Vec<f64>> =
            own.iter().map(|flow| limits::share(frame, column, &flow.name, window)).collect();
        Ok(shares.map(|shares| crate::estimators::mean(&shares)))
    };
    let of_queue = |metric: fn(&Frame<'_>, &str, &WindowSpec) -> Option<f64>| {
        Ok(metric(frame, first(), window))
    };
    match call.function.which {
        Which::DeliveryRate => Ok(total(RateOf::DeliveryRate, &flows(first())?)),
        Which::Goodput => Ok(total(RateOf::Goodput, &flows(first())?)),
        Which::Sum => Ok(total(rate_of, &all(&call.names)?)),
        Which::Ratio => {
            let (Some(a), Some(b)) =
                (total(rate_of, &flows(first())?), total(rate_of, &flows(&call.names[1].text)?))
            else {
                return Ok(None);
            };
            if b == 0.0 {
                Err(format!("{} has no rate", call.names[1].text).into())
            } else {
                Ok(Some(a / b))
            }
        }
        Which::Share => {
            let own = flows(first())?;
            let mut among = all(&call.names[1..])?;
            for flow in &own {
                if !among.iter().any(|f| f.name == flow.name) {
                    among.push(flow);
                }
            }
            let (Some(part), Some(whole)) = (total(rate_of, &own), total(rate_of, &among)) else {
                return Ok(None);
            };
            Ok((whole > 0.0).then(|| part / whole))
        }
        Which::Jain => Ok(functions::jain(frame, rate_of, &all(&call.names)?, window)),
        Which::Utilisation => of_queue(functions::utilisation),
        Which::MarkFraction => of_queue(functions::mark_fraction),
        Which::Marks => {
            Ok(functions::signals(frame, first(), SignalKind::Mark, call.reason.as_deref(), window))
        }
        Which::Drops => {
            Ok(functions::signals(frame, first(), SignalKind::Drop, call.reason.as_deref(), window))
        }
        Which::CeFraction => Ok(functions::ce_fraction(frame, &flows(first())?, window)),
        Which::Retransmits => Ok(functions::retransmits(frame, &flows(first())?, window)),
        Which::LossRate => match flows(first())?.as_slice() {
            [flow] => Ok(functions::loss_rate(frame, flow, window)),
            several => Ok(functions::loss_rate_of_group(frame, several, window)),
        },
        Which::RwndLimited => limited("rwnd_limited_s"),
        Which::SndbufLimited => limited("sndbuf_limited_s"),
        Which::CwndLimited => limited("cwnd_limited_s"),
        Which::PacingLimited => limited("pacing_limited_s"),
        Which::AppLimited => limited("app_limited_s"),
        Which::HostLimited => limited("host_limited_s"),
        Which::ConvergenceTime => {
            Ok(functions::convergence_time(frame, rate_of, &all(&call.names)?))
        }
        Which::Completed | Which::Unfinished => {
            let mut counts = (0, 0);
            for flow in flows(first())? {
                let bounds = frame.bounds(window, &flow.name).ok_or("the window is unknown")?;
                let (completed, unfinished) = frame.short_flows(&flow.name, bounds);
                counts = (counts.0 + completed, counts.1 + unfinished);
            }
            let completed = call.function.which == Which::Completed;
            Ok(Some((if completed { counts.0 } else { counts.1 }) as f64))
        }
        Which::Bitrate => of_stream(playback::bitrate),
        Which::Stalls => of_stream(playback::stalls),
        Which::StallTime => of_stream(playback::stall_time),
        Which::Switches => of_stream(playback::switches),
        Which::StartupDelay => of_stream(|frame, flow, _| playback::startup_delay(frame, flow)),
        Which::Oscillation
        | Which::Min1s
        | Which::Max1s
        | Which::Spread1s
        | Which::Period
        | Which::FirstAbove
        | Which::FirstBelow => {
            let of = call.of.as_ref().ok_or("no quantity")?;
            let Some((series, bounds)) = sampled(frame, of, first(), window) else {
                return Ok(None);
            };
            let level = call.number;
            Ok(match call.function.which {
                Which::Oscillation => {
                    oscillation::variation(&oscillation::by_second(&series, bounds))
                }
                Which::Min1s => {
                    oscillation::by_second(&series, bounds).into_iter().reduce(f64::min)
                }
                Which::Max1s => {
                    oscillation::by_second(&series, bounds).into_iter().reduce(f64::max)
                }
                Which::Spread1s => oscillation::spread_1s(&series, bounds),
                Which::Period => oscillation::period(&oscillation::by_second(&series, bounds)),
                Which::FirstAbove => oscillation::first(&series, bounds, |x| x > level),
                _ => oscillation::first(&series, bounds, |x| x < level),
            })
        }
        Which::TimeAbove | Which::LongestAbove | Which::LongestBelow | Which::Spike => {
            let of = call.of.as_ref().ok_or("no quantity")?;
            let Some((series, bounds)) = sampled(frame, of, first(), window) else {
                return Ok(None);
            };
            if series.values.is_empty() {
                return Ok(None);
            }
            let level = call.number;
            let (together, longest) = functions::standing(&series, bounds.from, |x| x > level);
            Ok(Some(match call.function.which {
                Which::TimeAbove => together,
                Which::LongestAbove => longest,
                Which::LongestBelow => functions::standing(&series, bounds.from, |x| x < level).1,
                _ => {
                    let highest = series.values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    (highest - call.number).max(0.0)
                }
            }))
        }
        which => {
            let of = call.of.as_ref().ok_or("no quantity")?;
            let sample = match of.histogram() {
                Some(_) => {
                    let names: Vec<&str> = call.names.iter().map(|n| n.text.as_str()).collect();
                    Sample::Histogram(delays::distribution(frame, of, &names, window)?)
                }
                None => match sampled(frame, of, first(), window) {
                    Some((series, _)) => Sample::Series(series),
                    None => return Ok(None),
                },
            };
            let by_rank = matches!(of, Of::Quantity(q) if matches!(q.table, Table::Completions(_)));
            Ok(sample.aggregate(which, call.number / 100.0, by_rank))
        }
    }
}

/// The values of a flow, of a group's flows one after the other, or of a queue.
fn sampled(
    frame: &Frame<'_>,
    of: &Of,
    subject: &str,
    window: &WindowSpec,
) -> Option<(Series, Bounds)> {
    let members = frame.members(subject);
    let names: Vec<&str> = if members.is_empty() {
        vec![subject]
    } else {
        members.iter().map(|f| f.name.as_str()).collect()
    };
    let mut all: Option<(Series, Bounds)> = None;
    for name in names {
        let bounds = frame.bounds(window, name)?;
        let series = frame.series(of, name, bounds);
        match &mut all {
            Some((joined, _)) => joined.join(series),
            None => all = Some((series, bounds)),
        }
    }
    all
}
