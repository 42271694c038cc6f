//! The discipline of each queue while events change it, so that an event that could not be carried out is known before
//! the run.
//!
//! Events at plain times are followed in their order. The time of an event that waits for something is unknown: its
//! discipline may be in place at any time, and its own change must fit one of the disciplines that are in place at some
//! time.

use super::element::{Kind, Queue, Shaper};
use super::event::{Action, When};
use super::scenario::Scenario;

/// An event that cannot do what it says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Impossible {
    /// Which event.
    pub event: String,
    /// The key of the language that says it: `change` or `rate`.
    pub key: &'static str,
    /// Why not, with the queue's path.
    pub why: String,
    /// What would be right.
    pub help: String,
}

/// Whoever knows disciplines names those in tc's words, for a stack: from the outermost to the innermost child, those that
/// nobody wrote included.
pub type Nested<'a> = dyn Fn(&str, &str) -> Vec<String> + 'a;

/// The discipline that tc's words name, as far as this crate can know it.
fn outermost(words: &str, _stack: &str) -> Vec<String> {
    vec![words.split_whitespace().next().unwrap_or("").to_ascii_lowercase()]
}

/// The disciplines that words of a change name: children that are not written stay as they are.
fn written(words: &str, stack: &str, nested: &Nested<'_>) -> Vec<String> {
    let is_written =
        |name: &String| words.split_whitespace().any(|word| word.eq_ignore_ascii_case(name));
    nested(words, stack).into_iter().take_while(is_written).collect()
}

/// A discipline with its children, and whether it shapes itself.
#[derive(Clone, PartialEq, Eq)]
struct Standing {
    names: Vec<String>,
    /// Why it takes no rate, if it takes none.
    fixed: Option<&'static str>,
}

fn fixed(shaper: &Shaper) -> Option<&'static str> {
    match shaper {
        Shaper::Own { .. } => Some("which shapes itself"),
        Shaper::Trace { .. } => Some("with the rate of its trace"),
        Shaper::Htb { .. } | Shaper::Line { .. } | Shaper::Link { .. } => None,
    }
}

/// A queue's stack, and who names disciplines.
#[derive(Clone, Copy)]
struct Known<'a> {
    stack: &'a str,
    nested: &'a Nested<'a>,
}

impl Standing {
    fn of(queue: &Queue, known: Known<'_>) -> Self {
        let names = (known.nested)(&queue.qdisc, known.stack);
        Self { names, fixed: fixed(&queue.shaper) }
    }

    fn after(&self, action: &Action, known: Known<'_>) -> Option<Self> {
        let Action::ReplaceQdisc { qdisc, shaper, .. } = action else { return None };
        let fixed = shaper.map_or(self.fixed, |s| fixed(&s));
        Some(Self { names: (known.nested)(qdisc, known.stack), fixed })
    }

    fn bears(&self, action: &Action, known: Known<'_>) -> bool {
        match action {
            Action::ChangeQdisc { qdisc, .. } => {
                self.names.starts_with(&written(qdisc, known.stack, known.nested))
            }
            Action::Rate { .. } => self.fixed.is_none(),
            _ => true,
        }
    }
}

fn impossible(
    event: &str,
    path: &str,
    at: &Standing,
    action: &Action,
    known: Known<'_>,
) -> Impossible {
    let (key, why, help) = match action {
        Action::ChangeQdisc { qdisc, .. } => {
            let with = written(qdisc, known.stack, known.nested);
            // Names of children only where those differ.
            let differs = if at.names.first() == with.first() { at.names.len() } else { 1 };
            let there = &at.names[..differs.min(at.names.len())];
            let with = &with[..differs.min(with.len())];
            (
                "change",
                format!(
                    "{path} is {} then, and {} cannot change it",
                    there.join(" with "),
                    with.join(" with ")
                ),
                format!(
                    "write {} and its new options, or replace = \"{qdisc}\"",
                    there.join(", its options, ")
                ),
            )
        }
        _ => (
            "rate",
            format!("{path} is {} then, {}", at.names[0], at.fixed.unwrap_or_default()),
            "change its words: change = \"…\"".to_owned(),
        ),
    };
    Impossible { event: event.to_owned(), key, why, help }
}

impl Scenario {
    /// The first event that changes a discipline which is not there when it comes, or sets the rate of one that shapes
    /// itself.
    pub fn impossible_change(&self, nested: &Nested<'_>) -> Option<Impossible> {
        self.impossible(nested, |_| true)
    }

    /// The first of those that no engine could carry out: some disciplines that shape themselves take a rate, and which do
    /// is not known here.
    pub fn change_in_vain(&self, nested: &Nested<'_>) -> Option<Impossible> {
        self.impossible(nested, |action| matches!(action, Action::ChangeQdisc { .. }))
    }

    /// The same as far as it is known without anybody who knows disciplines.
    pub(crate) fn change_of_another(&self) -> Option<Impossible> {
        self.change_in_vain(&outermost)
    }

    fn impossible(&self, nested: &Nested<'_>, asked: fn(&Action) -> bool) -> Option<Impossible> {
        self.hops.iter().find_map(|hop| {
            let known = Known { stack: &hop.stack, nested };
            hop.elements().find_map(|(path, element)| match &element.kind {
                Kind::Queue(queue) => self.impossible_at(&path, queue, known, asked),
                _ => None,
            })
        })
    }

    fn impossible_at(
        &self,
        path: &str,
        queue: &Queue,
        known: Known<'_>,
        asked: fn(&Action) -> bool,
    ) -> Option<Impossible> {
        let all = self.events.iter().flat_map(|event| {
            let here = event.actions.iter().filter(|action| action.element() == Some(path));
            here.map(move |action| (event, action))
        });
        let (mut timed, waiting): (Vec<_>, Vec<_>) =
            all.partition(|(event, _)| matches!(event.when, When::At(_)));
        timed.sort_by_key(|(event, _)| match event.when {
            When::At(at) => at,
            _ => unreachable!("those that wait are apart"),
        });
        if timed.is_empty() && waiting.is_empty() {
            return None;
        }
        let first = Standing::of(queue, known);
        let at_any_time: Vec<Standing> =
            waiting.iter().filter_map(|(_, action)| first.after(action, known)).collect();
        let mut stood = vec![first.clone()];
        let mut now = first;
        for (event, action) in timed {
            if asked(action)
                && !now.bears(action, known)
                && !at_any_time.iter().any(|s| s.bears(action, known))
            {
                return Some(impossible(&event.name, path, &now, action, known));
            }
            if let Some(next) = now.after(action, known) {
                stood.push(next.clone());
                now = next;
            }
        }
        stood.extend(at_any_time);
        let (event, action) = waiting
            .iter()
            .find(|(_, action)| asked(action) && !stood.iter().any(|s| s.bears(action, known)))?;
        Some(impossible(&event.name, path, &now, action, known))
    }
}
