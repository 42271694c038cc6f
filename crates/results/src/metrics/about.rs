//! What an expression is about: for those who write its name on an axis, and shade where it looks.

use super::expression::{Call, Expression, TermKind};
use super::unit::Unit;
use super::window::{Bounds, WindowSpec};
use crate::Run;

/// What an expression is about.
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
    /// What it is about.
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

    /// Where its first metric looks in a run, for a flow or queue whose last sample is the run's end; `None` if the run
    /// never came to it, or nothing in it looks anywhere.
    pub fn bounds(&self, run: &Run) -> Option<Bounds> {
        let mut first: Option<WindowSpec> = None;
        self.calls(&mut |call| {
            first.get_or_insert_with(|| {
                call.window.as_ref().map_or(WindowSpec::Default, |window| window.value.clone())
            });
        });
        first?.bounds(run, run.scenario.duration.as_secs_f64())
    }
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
