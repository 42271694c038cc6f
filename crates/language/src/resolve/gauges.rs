//! Whether the subject of a check with `state.NAME` has a number of that name, so far as the vocabulary knows:
//! otherwise a number that nobody has would be an error only when the run is over.

use crate::Vocabulary;
use sojourn_model::{Action, Event, Flow, Hop, Kind, Traffic, WordError, nearest};

/// What runs in an experiment.
pub(super) struct Standing<'a> {
    pub(super) hops: &'a [Hop],
    pub(super) flows: &'a [Flow],
    pub(super) events: &'a [Event],
}

impl Standing<'_> {
    /// Whether `subject`, a flow, a group or a queue, may have a number of this name. `text` is the check.
    pub(super) fn has(
        &self,
        vocabulary: &dyn Vocabulary,
        subject: &str,
        name: &str,
        text: &str,
    ) -> Result<(), WordError> {
        let known =
            self.of_queue(vocabulary, subject).or_else(|| self.of_flows(vocabulary, subject));
        let Some(known) = known.filter(|known| !known.iter().any(|own| own == name)) else {
            return Ok(());
        };
        let help = match nearest(name, known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean \"state.{near}\"?"),
            None if known.is_empty() => "it has none at all".to_owned(),
            None => format!("it has {}", known.join(", ")),
        };
        let word = format!("state.{name}");
        let from = text.find(&word).unwrap_or(0);
        let message = format!("{subject} has no number of its own called \"{name}\"");
        Err(WordError { at: from..from + word.len(), message, help })
    }

    /// The numbers of a queue, whatever its discipline during the run; `None` if it is no queue, or nobody knows.
    fn of_queue(&self, vocabulary: &dyn Vocabulary, path: &str) -> Option<Vec<String>> {
        self.hops.iter().find_map(|hop| {
            let (_, element) = hop.elements().find(|(own, _)| own == path)?;
            let Kind::Queue(queue) = &element.kind else { return None };
            let later =
                self.events.iter().flat_map(|event| &event.actions).filter_map(|a| match a {
                    Action::ReplaceQdisc { element, qdisc, .. } if element == path => Some(qdisc),
                    _ => None,
                });
            let all: Option<Vec<_>> = core::iter::once(&queue.qdisc)
                .chain(later)
                .map(|words| vocabulary.gauges_of_qdisc(words, &hop.stack))
                .collect();
            Some(all?.concat())
        })
    }

    /// Those of a flow, or of the flows of a group; `None` if one is nobody's that is known here.
    fn of_flows(&self, vocabulary: &dyn Vocabulary, name: &str) -> Option<Vec<String>> {
        let mut own = self
            .flows
            .iter()
            .filter(|flow| flow.name == name || flow.group.as_deref() == Some(name))
            .peekable();
        own.peek()?;
        let all: Option<Vec<_>> = own.map(|flow| of_flow(vocabulary, flow)).collect();
        Some(all?.concat())
    }
}

fn of_flow(vocabulary: &dyn Vocabulary, flow: &Flow) -> Option<Vec<String>> {
    let Traffic::Tcp(tcp) = &flow.traffic else { return None };
    // Another slow start and Careful Resume have numbers of their own, which the vocabulary does not know.
    if tcp.slow_start.is_some() || tcp.saved_cwnd.is_some() {
        None
    } else {
        vocabulary.gauges_of_cc(&tcp.cc)
    }
}
