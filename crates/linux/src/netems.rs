//! The netems of a side of a hop in tc's words: as they are at the beginning, changed, switched off and on.
//!
//! `tc qdisc change` keeps a netem's rate, slots, shape of the jitter and marking where its words do not mention them, and so
//! does the simulator. So [`State`] has what is in force after all changes, and not the last words. A netem that is switched
//! off has the words of one that delays nothing, and packets that it holds come out when they are due: with slots, as if
//! there were none.

use crate::places::{element_at, find, place};
use crate::schedule;
use sojourn_model::{Action, Element, Flow, Kind, Netem, Scenario, Side};
use sojourn_qdisc::QdiscQuirks;
use sojourn_qdisc::netem::Parameters;
use sojourn_units::{Span, Time};

/// Every kernel reads a netem's words alike.
const QUIRKS: &QdiscQuirks = &QdiscQuirks::LINUX_7_3;

/// What a netem's words say, which were checked with the experiment.
fn netem(words: &str) -> Parameters {
    Parameters::parse(words, QUIRKS)
        .unwrap_or_else(|error| panic!("netem {words} was not checked: {error}"))
}

/// The constant delay of a netem that does nothing else.
fn constant(netem: &Parameters) -> Option<Span> {
    (!netem.varies()).then(|| netem.delay())
}

/// The constant delay of a netem by its words.
pub(crate) fn constant_delay(words: &str) -> Option<Span> {
    constant(&netem(words))
}

/// Netem's words for one that delays nothing and refuses nobody.
pub(crate) const OPEN: &str = "limit 1000000";

/// The words of a chain's first netem with the delay of one flow.
fn with_delay(chain: &[String], delay: Span) -> String {
    netem(chain.first().map_or(OPEN, String::as_str)).with_delay(delay).to_string()
}

pub(crate) fn netem_of(elements: &[Element]) -> Option<(&Element, &Netem)> {
    elements.iter().find_map(|e| match &e.kind {
        Kind::Netem(n) => Some((e, n)),
        _ => None,
    })
}

/// The most links that a chain of netems has at any time of the run, at least one: those to come let everything pass
/// until then.
fn links(scenario: &Scenario, path: &str, chain: &[String]) -> usize {
    let actions = scenario.events.iter().flat_map(|event| &event.actions);
    let later = actions.filter_map(|action| match action {
        Action::ChangeNetem { element, chain } if element == path => Some(chain.len()),
        _ => None,
    });
    later.fold(chain.len().max(1), usize::max)
}

/// The netems of a side at the beginning, one for each flow with a delay of its own and the one of all others: the flow, and
/// the words of the links.
pub(crate) fn groups(
    scenario: &Scenario,
    hop: usize,
    side: Side,
) -> Vec<(Option<usize>, Vec<String>)> {
    let spec = &scenario.hops[hop];
    let Some((element, netem)) = netem_of(spec.side(side)) else {
        return vec![(None, vec![OPEN.to_owned()])];
    };
    let path = format!("{}.{side}.{}", spec.name, element.name);
    let links = links(scenario, &path, &netem.chain);
    let mut all: Vec<(Option<usize>, Vec<String>)> = Vec::new();
    for own in &netem.per_flow {
        let mut words = vec![with_delay(&netem.chain, own.delay)];
        words.extend(netem.chain.iter().skip(1).cloned());
        all.push((scenario.flows.iter().position(|f| f.name == own.flow), words));
    }
    all.push((None, netem.chain.clone()));
    for (_, words) in &mut all {
        if !element.enabled {
            words.clear();
        }
        words.resize(links, OPEN.to_owned());
    }
    all
}

/// The netems of a side between two events.
struct State<'a> {
    on: bool,
    /// One for each flow with a delay of its own, and the last of all others: the flow's name, and the links as they are, or as
    /// they come back.
    groups: Vec<(Option<&'a str>, Vec<Parameters>)>,
}

impl<'a> State<'a> {
    /// As it is at the beginning; `None` if this element is no netem.
    fn first(scenario: &'a Scenario, path: &str) -> Option<Self> {
        let element = element_at(scenario, path)?;
        let Kind::Netem(spec) = &element.kind else { return None };
        let mut chain: Vec<Parameters> = spec.chain.iter().map(|words| netem(words)).collect();
        chain.resize(links(scenario, path, &spec.chain), netem(OPEN));
        let own = spec.per_flow.iter().map(|own| {
            let mut chain = chain.clone();
            chain[0] = chain[0].clone().with_delay(own.delay);
            (Some(own.flow.as_str()), chain)
        });
        let mut groups: Vec<_> = own.collect();
        groups.push((None, chain));
        Some(Self { on: element.enabled, groups })
    }

    /// As it is when an action comes, the `number`-th of an event. `None` if this element is no netem, or if the time of the
    /// event is not known before the run.
    fn before(scenario: &'a Scenario, path: &str, event: usize, number: usize) -> Option<Self> {
        let mut state = Self::first(scenario, path)?;
        for action in schedule::earlier(scenario, path, event, number)? {
            state.take(action);
        }
        Some(state)
    }

    /// The words that an action brings to links of groups, by their numbers.
    fn brought(&self, action: &Action) -> Vec<(usize, usize, String)> {
        match action {
            Action::Delay { flow, delay, .. } => {
                let own = self.groups.iter().position(|(own, _)| *own == flow.as_deref());
                let words = |group: usize| {
                    let first = self.groups[group].1[0].clone();
                    (group, 0, first.with_delay(*delay).to_string())
                };
                own.map(words).into_iter().collect()
            }
            Action::ChangeNetem { chain, .. } => {
                let group = self.groups.len() - 1;
                let words = |link: usize| chain.get(link).map_or(OPEN, String::as_str).to_owned();
                (0..self.groups[group].1.len()).map(|link| (group, link, words(link))).collect()
            }
            _ => Vec::new(),
        }
    }

    fn take(&mut self, action: &Action) {
        match action {
            Action::Enable { .. } => self.on = true,
            Action::Disable { .. } => self.on = false,
            _ => {
                for (group, link, words) in self.brought(action) {
                    let netem = &mut self.groups[group].1[link];
                    *netem = netem
                        .changed_by(&words, QUIRKS)
                        .unwrap_or_else(|error| panic!("netem {words} was not checked: {error}"));
                }
            }
        }
    }

    /// tc's words that an action needs. None where the netem is off and stays so.
    fn orders(&self, letter: char, action: &Action) -> Vec<String> {
        let change = |(group, link, words): (usize, usize, String)| {
            let at = if link == 0 { "root".to_owned() } else { format!("parent {link}:1") };
            format!("qdisc change dev {letter}{group} {at} handle {}: netem {words}", link + 1)
        };
        let all = |words: fn(&Parameters) -> String| -> Vec<String> {
            let groups = self.groups.iter().enumerate();
            let links = groups.flat_map(|(group, (_, links))| {
                links.iter().enumerate().map(move |(link, netem)| (group, link, words(netem)))
            });
            links.map(change).collect()
        };
        match (self.on, action) {
            (false, Action::Enable { .. }) => all(Parameters::to_string),
            (true, Action::Disable { .. }) => all(Parameters::opened),
            (true, _) => self.brought(action).into_iter().map(change).collect(),
            (false, _) => Vec::new(),
        }
    }

    /// The delay of a flow's packets, if it is constant.
    fn delay(&self, flow: &Flow) -> Option<Span> {
        if !self.on {
            return Some(Span::ZERO);
        }
        let own = self.groups.iter().find(|(own, _)| *own == Some(flow.name.as_str()));
        let (_, links) = own.or(self.groups.last())?;
        links.iter().try_fold(Span::ZERO, |sum, netem| Some(sum + constant(netem)?))
    }
}

/// Where tc's words for an action on a netem are carried out, and these: none where that is as it should be already. `None`
/// if the action is not about a netem.
pub(crate) fn orders(
    scenario: &Scenario,
    (event, number): (usize, usize),
    action: &Action,
) -> Option<(String, Vec<String>)> {
    let path = action.element()?;
    let state = State::before(scenario, path, event, number)?;
    let (hop, side) = find(scenario, path)?;
    let place = place(hop, side);
    Some((place.ns, state.orders(place.letter, action)))
}

/// The delays of a flow's packets on a side of a hop, and since when; `None` where they vary. The first is that of the beginning.
pub(crate) fn delays(
    scenario: &Scenario,
    flow: &Flow,
    hop: usize,
    side: Side,
) -> Vec<(Time, Option<Span>)> {
    let spec = &scenario.hops[hop];
    let always = vec![(Time::ZERO, Some(Span::ZERO))];
    let Some((element, _)) = netem_of(spec.side(side)) else { return always };
    let path = format!("{}.{side}.{}", spec.name, element.name);
    let Some(mut state) = State::first(scenario, &path) else { return always };
    let mut delays = vec![(Time::ZERO, state.delay(flow))];
    for (at, action) in schedule::of_element(scenario, &path) {
        state.take(action);
        delays.push((at, state.delay(flow)));
    }
    delays.dedup_by_key(|(_, delay)| *delay);
    delays
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_language::{AnyWords, Experiment};

    fn scenario(events: &[(&str, &str)]) -> Scenario {
        let mut text = "[experiment]\nname = \"t\"\nduration = \"9s\"\n[[hop]]\nname = \"h\"\nrate = \"9mbit\"\n\
                        rtt = \"20ms\"\ndelay_on = \"down\"\nqdisc = \"pfifo\"\n[[flow]]\nname = \"own\"\n\
                        cc = \"reno\"\nrtt = \"60ms\"\n[[flow]]\nname = \"f\"\ncc = \"cubic\"\n"
            .to_owned();
        for (i, (at, what)) in events.iter().enumerate() {
            let event = format!("[[event]]\nname = \"e{i}\"\nat = \"{at}\"\nhop = \"h\"\n{what}\n");
            text.push_str(&event);
        }
        let experiment = Experiment::parse("t.toml", &text).unwrap();
        experiment.plan(&AnyWords, 10).unwrap().into_scenarios().remove(0)
    }

    #[test]
    fn a_netem_comes_back_as_its_changes_left_it() {
        let s = scenario(&[
            ("1s", "side = \"down\"\nnetem = [\"delay 5ms rate 8mbit slot 1ms\", \"loss 1%\"]"),
            ("2s", "side = \"down\"\nnetem = [\"delay 6ms\"]"),
            ("3s", "side = \"down\"\ndisable = [\"netem\"]"),
            ("4s", "side = \"down\"\nrtt = \"14ms\""),
            ("5s", "side = \"down\"\nenable = [\"netem\"]"),
        ]);
        let words = |event: usize| -> Vec<String> {
            let action = &s.events[event].actions[0];
            let (ns, words) = orders(&s, (event, 0), action).unwrap();
            assert_eq!(ns, "hop0");
            let short = |w: String| w.strip_prefix("qdisc change dev ").unwrap().to_owned();
            words.into_iter().map(short).collect()
        };
        assert_eq!(
            words(0),
            [
                "d1 root handle 1: netem delay 5ms rate 8mbit slot 1ms",
                "d1 parent 1:1 handle 2: netem loss 1%"
            ]
        );
        assert_eq!(words(1)[1], "d1 parent 1:1 handle 2: netem limit 1000000");
        assert_eq!(words(2)[2], "d1 root handle 1: netem rate 0 slot 0 limit 1000000");
        assert!(words(3).is_empty());
        assert_eq!(
            words(4)[2],
            "d1 root handle 1: netem delay 14000us rate 8000000bit slot 1000us 1000us limit 1000"
        );
        assert!(words(4)[0].starts_with("d0 root handle 1: netem delay 60000us"));
        // The second link is there from the beginning.
        let links: Vec<usize> = groups(&s, 0, Side::Down).iter().map(|(_, l)| l.len()).collect();
        assert_eq!(links, [2, 2]);
        let ms = |flow: usize| -> Vec<(u64, Option<u64>)> {
            let delays = delays(&s, &s.flows[flow], 0, Side::Down).into_iter();
            let ms = |span: Span| span.as_nanos() / 1_000_000;
            delays.map(|(at, d)| (at.as_nanos() / 1_000_000_000, d.map(ms))).collect()
        };
        let first = s.clock(sojourn_model::At::from_secs(1)).as_nanos() / 1_000_000_000 - 1;
        assert_eq!(ms(0), [(0, Some(60)), (first + 3, Some(0)), (first + 5, Some(60))]);
        assert_eq!(
            ms(1),
            [(0, Some(20)), (first + 1, None), (first + 3, Some(0)), (first + 5, None)]
        );
    }
}
