//! The parts of an expression.

use crate::metrics::functions::{Function, Looks};
use crate::metrics::series::Of;
use crate::metrics::unit::Unit;
use crate::metrics::window::WindowSpec;
use core::ops::Range;

/// A value, or a comparison of two.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::metrics) struct Clause {
    pub(in crate::metrics) left: Term,
    pub(in crate::metrics) right: Option<(Comparison, Term)>,
    /// Where in the text.
    pub(in crate::metrics) at: Range<usize>,
}

/// How two values are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::metrics) enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

impl Comparison {
    pub(in crate::metrics) fn holds(self, a: f64, b: f64) -> bool {
        match self {
            Self::Less => a < b,
            Self::LessOrEqual => a <= b,
            Self::Greater => a > b,
            Self::GreaterOrEqual => a >= b,
            Self::Equal => a == b,
            Self::NotEqual => a != b,
        }
    }

    pub(in crate::metrics) const fn symbol(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Equal => "==",
            Self::NotEqual => "!=",
        }
    }
}

/// Something with a value.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::metrics) struct Term {
    pub(in crate::metrics) kind: TermKind,
    pub(in crate::metrics) unit: Unit,
    pub(in crate::metrics) at: Range<usize>,
}

#[derive(Clone, PartialEq, Debug)]
pub(in crate::metrics) enum TermKind {
    Number(f64),
    Call(Call),
    Negative(Box<Term>),
    Binary(Operator, Box<Term>, Box<Term>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::metrics) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// A metric with what it is given.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::metrics) struct Call {
    pub(in crate::metrics) function: &'static Function,
    pub(in crate::metrics) of: Option<Of>,
    pub(in crate::metrics) names: Vec<Name>,
    pub(in crate::metrics) number: f64,
    pub(in crate::metrics) reason: Option<String>,
    /// Values that it is given.
    pub(in crate::metrics) terms: Vec<Term>,
    pub(in crate::metrics) window: Option<Placed<WindowSpec>>,
}

/// A name with its place and what it names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::metrics) struct Name {
    pub(in crate::metrics) text: String,
    pub(in crate::metrics) of: NameOf,
    pub(in crate::metrics) at: Range<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::metrics) enum NameOf {
    Flow,
    Queue,
    Element,
    Either,
}

/// Something with its place in the text.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::metrics) struct Placed<T> {
    pub(in crate::metrics) value: T,
    pub(in crate::metrics) at: Range<usize>,
}

impl Call {
    /// Where it looks: in its own window, or in the default one; metrics of the whole run look there.
    pub(in crate::metrics) fn looks(&self) -> WindowSpec {
        let is_whole = self.function.looks == Looks::Run
            || self.of.as_ref().is_some_and(|of| !of.takes_window());
        match &self.window {
            _ if is_whole => WindowSpec::Whole,
            Some(window) => window.value.clone(),
            None => WindowSpec::Default,
        }
    }
}
