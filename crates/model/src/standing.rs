//! What stands at each queue while events change it, so that an event that could not be carried out is known before the run.
//!
//! Events at plain times are followed in their order. When one that waits for something comes is not known: what it puts in
//! place may stand at any time, and its own change must fit one of those that stand at some time.

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

/// A discipline, and whether it shapes itself.
#[derive(Clone, PartialEq, Eq)]
struct Standing {
    name: String,
    own: bool,
}

/// The discipline that tc's words name.
fn name(words: &str) -> String {
    words.split_whitespace().next().unwrap_or("").to_ascii_lowercase()
}

impl Standing {
    fn of(queue: &Queue) -> Self {
        Self { name: name(&queue.qdisc), own: matches!(queue.shaper, Shaper::Own { .. }) }
    }

    fn after(&self, action: &Action) -> Option<Self> {
        let Action::ReplaceQdisc { qdisc, shaper, .. } = action else { return None };
        let own = shaper.map_or(self.own, |s| matches!(s, Shaper::Own { .. }));
        Some(Self { name: name(qdisc), own })
    }

    fn bears(&self, action: &Action) -> bool {
        match action {
            Action::ChangeQdisc { qdisc, .. } => self.name == name(qdisc),
            Action::Rate { .. } => !self.own,
            _ => true,
        }
    }
}

fn impossible(event: &str, path: &str, at: &Standing, action: &Action) -> Impossible {
    let (key, why, help) = match action {
        Action::ChangeQdisc { qdisc, .. } => (
            "change",
            format!("{path} is {} then, and {} cannot change it", at.name, name(qdisc)),
            format!("write {} and its new options, or replace = \"{qdisc}\"", at.name),
        ),
        _ => (
            "rate",
            format!("{path} is {} then, which shapes itself", at.name),
            "change its words: change = \"…\"".to_owned(),
        ),
    };
    Impossible { event: event.to_owned(), key, why, help }
}

impl Scenario {
    /// The first event that changes a discipline which does not stand there when it comes, or sets the rate of one that
    /// shapes itself.
    pub fn impossible_change(&self) -> Option<Impossible> {
        self.impossible(|_| true)
    }

    /// The first of those that no engine could carry out: some disciplines that shape themselves take a rate, and which do
    /// is not known here.
    pub(crate) fn change_in_vain(&self) -> Option<Impossible> {
        self.impossible(|action| matches!(action, Action::ChangeQdisc { .. }))
    }

    fn impossible(&self, asked: fn(&Action) -> bool) -> Option<Impossible> {
        self.elements().find_map(|(path, element)| match &element.kind {
            Kind::Queue(queue) => self.impossible_at(&path, queue, asked),
            _ => None,
        })
    }

    fn impossible_at(
        &self,
        path: &str,
        queue: &Queue,
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
        let first = Standing::of(queue);
        let at_any_time: Vec<Standing> =
            waiting.iter().filter_map(|(_, action)| first.after(action)).collect();
        let mut stood = vec![first.clone()];
        let mut now = first;
        for (event, action) in timed {
            if asked(action) && !now.bears(action) && !at_any_time.iter().any(|s| s.bears(action)) {
                return Some(impossible(&event.name, path, &now, action));
            }
            if let Some(next) = now.after(action) {
                stood.push(next.clone());
                now = next;
            }
        }
        stood.extend(at_any_time);
        let (event, action) = waiting
            .iter()
            .find(|(_, action)| asked(action) && !stood.iter().any(|s| s.bears(action)))?;
        Some(impossible(&event.name, path, &now, action))
    }
}
