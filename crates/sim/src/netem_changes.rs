//! Tests before the run whether a delay that an event sets suits the netem that it meets: `reorder` needs a delay.
//!
//! Events at plain times are followed in their order. The time of an event that waits for something is unknown: its
//! netem may be in place at any time, and its own delay must suit one of the netems that are in place at some time.

use sojourn_model::{Action, Event, Kind, Netem, Scenario, When};
use sojourn_qdisc::QdiscQuirks;
use sojourn_qdisc::netem::Parameters;
use sojourn_units::Span;

/// An event's delay that suits no netem that may be there.
#[derive(Debug)]
pub(crate) struct Unsuited {
    /// The event.
    pub(crate) event: String,
    /// Why not, with the element.
    pub(crate) why: String,
}

/// The first of them.
pub(crate) fn unsuited<'a>(
    scenario: &'a Scenario,
    profile: impl Fn(&str) -> &'a QdiscQuirks,
) -> Option<Unsuited> {
    scenario.hops.iter().find_map(|hop| {
        let profile = profile(&hop.stack);
        hop.elements().find_map(|(path, element)| match &element.kind {
            Kind::Netem(netem) => {
                let own = netem.per_flow.iter().map(|d| (Some(d.flow.as_str()), Some(d.delay)));
                [(None, None)].into_iter().chain(own).find_map(|(flow, delay)| {
                    Chain { path: &path, flow, profile }.unsuited(scenario, netem, delay)
                })
            }
            _ => None,
        })
    })
}

/// A chain of netems: those of all flows that have none of their own, or a flow's own.
struct Chain<'a> {
    path: &'a str,
    flow: Option<&'a str>,
    profile: &'a QdiscQuirks,
}

impl Chain<'_> {
    fn unsuited(
        &self,
        scenario: &Scenario,
        netem: &Netem,
        delay: Option<Span>,
    ) -> Option<Unsuited> {
        let all = scenario.events.iter().flat_map(|event| {
            let here = event.actions.iter().filter(|action| self.is_about(action));
            here.map(move |action| (event, action))
        });
        let (mut timed, waiting): (Vec<_>, Vec<_>) =
            all.partition(|(event, _)| matches!(event.when, When::At(_)));
        if timed.is_empty() && waiting.is_empty() {
            return None;
        }
        timed.sort_by_key(|(event, _)| match event.when {
            When::At(at) => at,
            _ => unreachable!("those that wait are apart"),
        });
        // Words that are wrong by themselves are somebody else's to tell.
        let words = netem.chain.first().map_or("", String::as_str);
        let mut now = Parameters::parse(words, self.profile).ok()?;
        if let Some(delay) = delay {
            now = now.with_delay(delay);
        }
        let mut stood = vec![now.clone()];
        stood.extend(waiting.iter().filter_map(|(_, action)| self.after(action)));
        let waits = stood.len() > 1;
        for (event, action) in timed {
            if let Action::Delay { delay, .. } = action {
                match self.with(&now, *delay) {
                    Ok(next) => now = next,
                    Err(_) if waits => {}
                    Err(why) => return Some(self.says(event, *delay, &why)),
                }
            } else if let Some(next) = self.after(action) {
                now = next;
            }
            stood.push(now.clone());
        }
        waiting.iter().find_map(|(event, action)| {
            let Action::Delay { delay, .. } = action else { return None };
            let why = stood.iter().map(|at| self.with(at, *delay).err()).min()??;
            Some(self.says(event, *delay, &why))
        })
    }

    fn is_about(&self, action: &Action) -> bool {
        match action {
            Action::Delay { element, flow, .. } => {
                element == self.path && flow.as_deref() == self.flow
            }
            Action::ChangeNetem { element, .. } => element == self.path && self.flow.is_none(),
            _ => false,
        }
    }

    fn after(&self, action: &Action) -> Option<Parameters> {
        let Action::ChangeNetem { chain, .. } = action else { return None };
        Parameters::parse(chain.first().map_or("", String::as_str), self.profile).ok()
    }

    fn with(&self, netem: &Parameters, delay: Span) -> Result<Parameters, String> {
        let words = netem.clone().with_delay(delay).to_string();
        Parameters::parse(&words, self.profile).map_err(|error| error.message)
    }

    fn says(&self, event: &Event, delay: Span, why: &str) -> Unsuited {
        let event = event.name.clone();
        Unsuited { event, why: format!("{} cannot have a delay of {delay} then: {why}", self.path) }
    }
}
