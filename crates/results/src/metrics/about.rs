//! What an expression is about: for those who write its name on an axis, and say and shade where it looks.

use super::expression::{Call, Expression, TermKind};
use super::functions::Looks;
use super::series::{Frame, Of};
use super::unit::Unit;
use super::window::Bounds;

/// The subject of an expression.
#[derive(Clone, PartialEq, Debug)]
pub struct About {
    /// The unit of its value.
    pub unit: Unit,
    /// The metric, if it is a single one and nothing is computed with it.
    pub single: Option<Single>,
}

/// A single metric.
#[derive(Clone, PartialEq, Debug)]
pub struct Single {
    /// Its name: `percentile`, also where `p99` is written.
    pub function: &'static str,
    /// The quantity or rate that it is given, by its name in expressions.
    pub quantity: Option<String>,
    /// The percentage or the level that it is given; NaN if it is given none.
    pub number: f64,
    /// The flows, queues and elements that it names, in order.
    pub names: Vec<String>,
}

impl Expression {
    /// Its subject.
    pub fn about(&self) -> About {
        let single = match self.clauses.as_slice() {
            [clause] if clause.right.is_none() => match &clause.left.kind {
                TermKind::Call(call) => Some(single(call)),
                _ => None,
            },
            _ => None,
        };
        About { unit: self.unit(), single }
    }

    /// Where its metrics look in a run: each place once, in the order of the metrics and of the flows and queues that they
    /// name. Nothing where the run never came to a place.
    pub fn windows(&self, frame: &Frame<'_>) -> Vec<Bounds> {
        let mut found: Vec<Bounds> = Vec::new();
        self.calls(&mut |call| {
            if call.function.looks == Looks::Values {
                return;
            }
            let window = call.looks();
            for subject in subjects(frame, call) {
                let Some(bounds) = frame.bounds(&window, &subject) else { continue };
                if !found.iter().any(|known| known.is_same(bounds)) {
                    found.push(bounds);
                }
            }
        });
        found
    }
}

/// The flows and queues that place a metric's window by their last samples.
fn subjects(frame: &Frame<'_>, call: &Call) -> Vec<String> {
    let names: Vec<&str> = call.names.iter().map(|name| name.text.as_str()).collect();
    // Of a flow at a queue the flow decides.
    let own = if call.of.as_ref().is_some_and(Of::is_sojourn) {
        &names[..names.len().min(1)]
    } else {
        &names[..]
    };
    if own.is_empty() {
        let tcp_only = call.of.as_ref().is_none_or(|of| of.name() != "goodput");
        return frame.load(tcp_only).into_iter().map(|flow| flow.name.clone()).collect();
    }
    let members = |name: &&str| match frame.members(name).as_slice() {
        [] => vec![(*name).to_owned()],
        flows => flows.iter().map(|flow| flow.name.clone()).collect(),
    };
    own.iter().flat_map(members).collect()
}

fn single(call: &Call) -> Single {
    Single {
        function: call.function.name,
        quantity: call.of.as_ref().map(|of| of.name().to_owned()),
        number: call.number,
        names: call.names.iter().map(|name| name.text.clone()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_metric_says_what_it_is_of() {
        let about =
            Expression::parse("p99(queue_delay, bottleneck.down.qdisc) over all").unwrap().about();
        assert_eq!(about.unit, Unit::Seconds);
        let single = about.single.unwrap();
        assert_eq!(single.function, "percentile");
        assert_eq!(single.quantity.as_deref(), Some("queue_delay"));
        assert!((single.number - 99.0).abs() < 1e-12);
        assert_eq!(single.names, ["bottleneck.down.qdisc"]);
    }

    #[test]
    fn what_is_computed_has_a_unit_alone() {
        let about = Expression::parse("goodput(a) / 2").unwrap().about();
        assert_eq!((about.unit, about.single), (Unit::BitsPerSecond, None));
    }
}
