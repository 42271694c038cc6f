//! From tokens to terms, with units checked on the way. Precedence: `and`, comparison, `+ -`, `* /`, sign.

use super::super::functions::{FUNCTIONS, Function, Looks, Parameter, RENAMED};
use super::super::quantity::{QUANTITIES, Quantity};
use super::super::series::Of;
use super::super::unit::Unit;
use super::super::window::WindowSpec;
use super::lexer::{Kind, Token, tokens};
use super::tree::{Call, Clause, Comparison, Name, NameOf, Operator, Placed, Term, TermKind};
use core::ops::Range;
use sojourn_model::At;
use sojourn_model::{WordError, nearest, new_name, renamed};
use sojourn_units::Span;

struct Parser<'t> {
    tokens: &'t [Token],
    next: usize,
    /// The end of the text, where what is missing would stand.
    end: Range<usize>,
    depth: u32,
}

type Result<T> = core::result::Result<T, WordError>;

/// Deeper nesting is refused, so that no text can exhaust the stack.
const DEPTH: u32 = 64;

fn wrong<T>(at: Range<usize>, message: impl Into<String>, help: impl Into<String>) -> Result<T> {
    Err(WordError { at, message: message.into(), help: help.into() })
}

pub(super) fn parse(text: &str) -> Result<Vec<Clause>> {
    let tokens = tokens(text)?;
    let end = text.len()..text.len();
    let mut parser = Parser { tokens: &tokens, next: 0, end, depth: 0 };
    let mut clauses = vec![parser.clause()?];
    while parser.word("and") {
        clauses.push(parser.clause()?);
    }
    if let Some(token) = parser.peek() {
        return wrong(token.at.clone(), "this does not belong to the expression", "");
    }
    if clauses.len() > 1
        && let Some(clause) = clauses.iter().find(|c| c.right.is_none())
    {
        return wrong(clause.at.clone(), "what \"and\" joins are comparisons", "");
    }
    Ok(clauses)
}

impl<'t> Parser<'t> {
    fn peek(&self) -> Option<&'t Token> {
        self.tokens.get(self.next)
    }

    fn here(&self) -> Range<usize> {
        self.peek().map_or_else(|| self.end.clone(), |t| t.at.clone())
    }

    /// Takes a word of the language, if it is next.
    fn word(&mut self, word: &str) -> bool {
        let here = matches!(self.peek(), Some(Token { kind: Kind::Word { text, quoted: false }, .. }) if text == word);
        self.next += usize::from(here);
        here
    }

    fn sign(&mut self, signs: &[&'static str]) -> Option<&'static str> {
        match self.peek() {
            Some(Token { kind: Kind::Sign(sign), .. }) if signs.contains(sign) => {
                self.next += 1;
                Some(sign)
            }
            _ => None,
        }
    }

    fn expect(&mut self, sign: &'static str) -> Result<()> {
        if self.sign(&[sign]).is_some() {
            Ok(())
        } else {
            wrong(self.here(), format!("\"{sign}\" is missing here"), "")
        }
    }

    fn clause(&mut self) -> Result<Clause> {
        let start = self.here().start;
        let mut left = self.sum()?;
        let comparison = match self.sign(&["<=", ">=", "==", "!=", "<", ">"]) {
            Some("<=") => Some(Comparison::LessOrEqual),
            Some(">=") => Some(Comparison::GreaterOrEqual),
            Some("==") => Some(Comparison::Equal),
            Some("!=") => Some(Comparison::NotEqual),
            Some("<") => Some(Comparison::Less),
            Some(_) => Some(Comparison::Greater),
            None => None,
        };
        let mut right = match comparison {
            Some(comparison) => {
                let right = self.sum()?;
                if !alike(&left, &right) {
                    return wrong(
                        right.at.clone(),
                        format!("{} is compared with {}", left.unit.what(), right.unit.what()),
                        format!("write {}, such as {}", left.unit.what(), left.unit.example()),
                    );
                }
                Some((comparison, right))
            }
            None => None,
        };
        if let Some(window) = self.window()? {
            let mut taken = default_window(&mut left, &window)?;
            if let Some((_, right)) = &mut right {
                taken |= default_window(right, &window)?;
            }
            if !taken {
                return wrong(window.at, "nothing here takes this window", "");
            }
        }
        let end = self.tokens[..self.next].last().map_or(self.end.end, |t| t.at.end);
        Ok(Clause { left, right, at: start..end })
    }

    fn sum(&mut self) -> Result<Term> {
        let mut left = self.product()?;
        while let Some(sign) = self.sign(&["+", "-"]) {
            let right = self.product()?;
            if !alike(&left, &right) {
                let joined = if sign == "+" { "added to" } else { "taken from" };
                let (a, b) = (right.unit.what(), left.unit.what());
                return wrong(right.at, format!("{a} cannot be {joined} {b}"), "");
            }
            let operator = if sign == "+" { Operator::Add } else { Operator::Subtract };
            let unit = if left.unit == Unit::One { right.unit } else { left.unit };
            left = binary(operator, left, right, unit);
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Term> {
        let mut left = self.factor()?;
        while let Some(sign) = self.sign(&["*", "/"]) {
            let right = self.factor()?;
            let (operator, unit) = match (sign, left.unit, right.unit) {
                ("*", Unit::One, unit) | ("*", unit, Unit::One) => (Operator::Multiply, unit),
                ("/", unit, Unit::One) => (Operator::Divide, unit),
                ("/", a, b) if a == b => (Operator::Divide, Unit::One),
                (_, a, b) => {
                    let how = if sign == "*" { "multiplied with" } else { "divided by" };
                    let message = format!("{} cannot be {how} {}", a.what(), b.what());
                    return wrong(right.at, message, "");
                }
            };
            left = binary(operator, left, right, unit);
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Term> {
        let at = self.here();
        self.depth += 1;
        if self.depth > DEPTH {
            return wrong(at, "this is nested too deeply", "");
        }
        let term = self.unguarded_factor(&at);
        self.depth -= 1;
        term
    }

    fn unguarded_factor(&mut self, at: &Range<usize>) -> Result<Term> {
        if self.sign(&["-"]).is_some() {
            let inner = self.factor()?;
            let (unit, end) = (inner.unit, inner.at.end);
            let kind = TermKind::Negative(Box::new(inner));
            return Ok(Term { kind, unit, at: at.start..end });
        }
        if self.sign(&["("]).is_some() {
            let inner = self.sum()?;
            self.expect(")")?;
            return Ok(inner);
        }
        match self.peek() {
            Some(Token { kind: Kind::Number(value, unit), .. }) => {
                self.next += 1;
                Ok(Term { kind: TermKind::Number(*value), unit: *unit, at: at.clone() })
            }
            Some(Token { kind: Kind::Word { text, quoted: false }, .. }) => {
                self.next += 1;
                self.call(text, at)
            }
            Some(_) => wrong(at.clone(), "a metric or a number is missing here", ""),
            None => wrong(
                at.clone(),
                "the expression ends where a metric or a number should stand",
                "such as goodput(FLOW)",
            ),
        }
    }

    fn call(&mut self, name: &str, at: &Range<usize>) -> Result<Term> {
        let (function, mut number) = match percentile(name) {
            Some(p) => (Function::named("percentile"), Some(p)),
            None => (Function::named(name), None),
        };
        let Some(function) = function else {
            let names = || FUNCTIONS.iter().map(|f| f.name);
            if of_name(name).is_some() {
                let help =
                    format!("say what of it: mean({name}, …), p99({name}, …), max({name}, …)");
                return wrong(at.clone(), format!("{name} is a quantity, not a metric"), help);
            }
            if let Some(new) = new_name(name, RENAMED) {
                let help = Function::named(new).map_or_else(String::new, Function::usage);
                return wrong(at.clone(), renamed(name, new), help);
            }
            let help = match nearest(name, names()) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("metrics: {}", names().collect::<Vec<_>>().join(", ")),
            };
            return wrong(at.clone(), format!("there is no metric called \"{name}\""), help);
        };
        let usage = format!("{name} is called as {}", function.usage());
        if self.sign(&["("]).is_none() {
            return wrong(self.here(), format!("{name} needs its \"(\""), usage);
        }
        let mut call = Call {
            function,
            of: None,
            names: Vec::new(),
            number: 0.0,
            reason: None,
            terms: Vec::new(),
            window: None,
        };
        let mut first = true;
        for parameter in function.parameters {
            if matches!(parameter, Parameter::Percent) && number.is_some() {
                continue;
            }
            let optional = matches!(parameter, Parameter::Flows | Parameter::Reason);
            loop {
                let closed = matches!(self.peek(), Some(Token { kind: Kind::Sign(")"), .. }));
                if optional && closed {
                    break;
                }
                if !first {
                    if closed {
                        return wrong(self.here(), format!("{name} is not given enough"), usage);
                    }
                    self.expect(",")?;
                }
                if let Some(n) = self.argument(*parameter, &mut call, &usage)? {
                    number = Some(n);
                }
                first = false;
                if !matches!(parameter, Parameter::Flows) {
                    break;
                }
            }
        }
        if self.sign(&[")"]).is_none() {
            let too_much = matches!(self.peek(), Some(Token { kind: Kind::Sign(","), .. }));
            let message = if too_much {
                format!("{name} is given too much")
            } else {
                "\")\" is missing here".to_owned()
            };
            return wrong(self.here(), message, usage);
        }
        call.number = number.unwrap_or(0.0);
        if let Some(of) = &call.of
            && of.histogram().is_some()
            && !function.of_distributions
        {
            let message =
                format!("{} is known as a histogram only, which has no {name}", of.name());
            return wrong(at.clone(), message, "");
        }
        let end = self.tokens[self.next - 1].at.end;
        if let Some(window) = self.window()? {
            if call.terms.is_empty() {
                refuse_window(&call, &window)?;
                call.window = Some(window);
            } else if !give_window(&mut call.terms, &window)? {
                return wrong(window.at, "nothing here takes this window", "");
            }
        }
        let unit = function.unit(call.of.as_ref());
        Ok(Term { kind: TermKind::Call(call), unit, at: at.start..end })
    }

    /// One argument; the number if it is one.
    fn argument(
        &mut self,
        parameter: Parameter,
        call: &mut Call,
        usage: &str,
    ) -> Result<Option<f64>> {
        let at = self.here();
        match parameter {
            Parameter::Quantity | Parameter::Rate => {
                let name = self.name(usage)?;
                let of = of_name(&name.text);
                let is_rate = matches!(&of, Some(Of::Quantity(q)) if matches!(q.name, "delivery_rate" | "goodput"));
                match of {
                    Some(of) if parameter == Parameter::Quantity || is_rate => call.of = Some(of),
                    _ => {
                        let (what, names): (_, Vec<&str>) = match parameter {
                            Parameter::Rate => ("rate", vec!["delivery_rate", "goodput"]),
                            _ => ("quantity", QUANTITIES.iter().map(|q| q.name).collect()),
                        };
                        let help = match nearest(&name.text, names.iter().copied()) {
                            Some(near) => format!("did you mean \"{near}\"?"),
                            None => format!("write {}", names.join(", ")),
                        };
                        return wrong(at, format!("\"{}\" is not a {what}", name.text), help);
                    }
                }
            }
            Parameter::Flow
            | Parameter::Flows
            | Parameter::Queue
            | Parameter::Element
            | Parameter::Subject => {
                let mut name = self.name(usage)?;
                let is_sojourn = call.of.as_ref().is_some_and(Of::is_sojourn);
                if parameter == Parameter::Subject && is_sojourn && self.word("at") {
                    let queue = self.name("FLOW at QUEUE")?;
                    call.names.push(name);
                    call.names.push(Name { of: NameOf::Queue, ..queue });
                    return Ok(None);
                }
                name.of = match (parameter, &call.of) {
                    (Parameter::Queue, _) => NameOf::Queue,
                    (Parameter::Subject, _) if is_sojourn => NameOf::Either,
                    (Parameter::Element, _) => NameOf::Element,
                    (Parameter::Subject, Some(Of::Quantity(q))) if q.is_of_queues() => {
                        NameOf::Queue
                    }
                    (Parameter::Subject, Some(Of::State(_))) => NameOf::Either,
                    _ => NameOf::Flow,
                };
                call.names.push(name);
            }
            Parameter::Reason => call.reason = Some(self.name(usage)?.text),
            Parameter::Value => {
                let term = self.sum()?;
                if let Some(first) = call.terms.first()
                    && !alike(first, &term)
                {
                    let message =
                        format!("{} is needed here, not {}", first.unit.what(), term.unit.what());
                    return wrong(term.at, message, usage);
                }
                call.terms.push(term);
            }
            Parameter::Level | Parameter::Percent => {
                let term = self.sum()?;
                let wanted = match (parameter, &call.of) {
                    (Parameter::Level, Some(of)) => of.unit(),
                    _ => Unit::One,
                };
                let TermKind::Number(value) = term.kind else {
                    return wrong(term.at, "a plain number is needed here", usage);
                };
                let is_alike =
                    term.unit == wanted || (wanted == Unit::Packets && term.unit == Unit::One);
                if !is_alike {
                    let message =
                        format!("{} is needed here, not {}", wanted.what(), term.unit.what());
                    return wrong(term.at, message, format!("such as {}", wanted.example()));
                }
                if parameter == Parameter::Percent && !(0.0..=100.0).contains(&value) {
                    return wrong(term.at, "a percentage is from 0 to 100", "");
                }
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    fn name(&mut self, usage: &str) -> Result<Name> {
        let at = self.here();
        match self.peek() {
            Some(Token { kind: Kind::Word { text, .. }, .. }) => {
                self.next += 1;
                Ok(Name { text: text.clone(), of: NameOf::Flow, at })
            }
            _ => wrong(at, "a name is missing here", usage),
        }
    }

    /// A window, if one is next.
    fn window(&mut self) -> Result<Option<Placed<WindowSpec>>> {
        let start = self.here().start;
        let value = if self.word("during") {
            WindowSpec::Phase(self.name("during PHASE")?.text)
        } else if self.word("over") {
            if self.word("last") {
                let length = self.span("over last 60s")?;
                let before_end = if self.word("before") {
                    self.span("over last 60s before 1s")?
                } else {
                    Span::ZERO
                };
                WindowSpec::Last { length, before_end }
            } else if self.word("all") {
                WindowSpec::Whole
            } else {
                WindowSpec::Named(self.name("over WINDOW")?.text)
            }
        } else if self.word("from") {
            let from = self.span("from 20s to 60s")?;
            if !self.word("to") {
                return wrong(self.here(), "\"to\" is missing here", "from 20s to 60s");
            }
            let to = self.span("from 20s to 60s")?;
            if to <= from {
                let end = self.tokens[self.next - 1].at.end;
                return wrong(start..end, "a window ends after it starts", "");
            }
            WindowSpec::Between { from: At::after_origin(from), to: At::after_origin(to) }
        } else {
            return Ok(None);
        };
        let end = self.tokens[self.next - 1].at.end;
        Ok(Some(Placed { value, at: start..end }))
    }

    fn span(&mut self, usage: &str) -> Result<Span> {
        let at = self.here();
        match self.peek() {
            Some(Token { kind: Kind::Number(seconds, unit), .. })
                if *unit == Unit::Seconds || *seconds == 0.0 =>
            {
                self.next += 1;
                Ok(Span::from_secs_f64(*seconds))
            }
            _ => wrong(at, "a time is missing here", format!("such as {usage}")),
        }
    }
}

fn binary(operator: Operator, left: Term, right: Term, unit: Unit) -> Term {
    let at = left.at.start..right.at.end;
    Term { kind: TermKind::Binary(operator, Box::new(left), Box::new(right)), unit, at }
}

/// Whether two values can be compared or added: of one unit, or counted things and a plain number, or zero.
fn alike(a: &Term, b: &Term) -> bool {
    let is_zero = |t: &Term| matches!(t.kind, TermKind::Number(n) if n == 0.0);
    a.unit == b.unit
        || is_zero(a)
        || is_zero(b)
        || matches!((a.unit, b.unit), (Unit::One, Unit::Packets) | (Unit::Packets, Unit::One))
}

/// The number of `p50`, `p99`, `p99.9`.
fn percentile(name: &str) -> Option<f64> {
    let digits = name.strip_prefix('p')?;
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok().filter(|p| (0.0..=100.0).contains(p))
}

fn refuse_window(call: &Call, window: &Placed<WindowSpec>) -> Result<()> {
    let of_the_run = call.of.as_ref().is_some_and(|of| !of.takes_window());
    if of_the_run || call.function.looks == Looks::Run {
        return wrong(
            window.at.clone(),
            format!("{} looks at the whole run", call.function.name),
            "",
        );
    }
    Ok(())
}

/// Gives a window to every call of several terms that has none; whether there was one that takes it.
fn give_window(terms: &mut [Term], window: &Placed<WindowSpec>) -> Result<bool> {
    let mut taken = false;
    for term in terms {
        taken |= default_window(term, window)?;
    }
    Ok(taken)
}

/// Gives every call of a term that has no window this one; whether there was one that takes it.
fn default_window(term: &mut Term, window: &Placed<WindowSpec>) -> Result<bool> {
    match &mut term.kind {
        TermKind::Negative(inner) => default_window(inner, window),
        TermKind::Binary(_, a, b) => Ok(default_window(a, window)? | default_window(b, window)?),
        TermKind::Call(call) if !call.terms.is_empty() => give_window(&mut call.terms, window),
        TermKind::Call(call) if call.window.is_none() => {
            if refuse_window(call, window).is_err() {
                return Ok(false);
            }
            call.window = Some(window.clone());
            Ok(true)
        }
        TermKind::Number(_) | TermKind::Call(_) => Ok(false),
    }
}

/// The quantity of this name, or a controller's own number.
fn of_name(name: &str) -> Option<Of> {
    match name.strip_prefix("state.") {
        Some(state) if !state.is_empty() => Some(Of::State(state.to_owned())),
        _ => match name.strip_prefix("sojourn.") {
            Some(class) if !class.is_empty() => Some(Of::ClassSojourn(name.to_owned())),
            _ => Quantity::named(name).map(Of::Quantity),
        },
    }
}
