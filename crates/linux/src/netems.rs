//! The netems of a side of a hop in tc's words: as they are at the beginning, changed, switched off and on.

use crate::places::{find, place};
use crate::schedule;
use sojourn_model::{Action, Element, Kind, Netem, Scenario};
use sojourn_qdisc::QdiscQuirks;
use sojourn_qdisc::netem::Parameters;
use sojourn_units::Span;

/// What a netem's words say, which were checked with the experiment. Every kernel reads them alike.
fn netem(words: &str) -> Parameters {
    Parameters::parse(words, &QdiscQuirks::LINUX_7_3)
        .unwrap_or_else(|error| panic!("netem {words} was not checked: {error}"))
}

/// The constant delay of a netem that does nothing else.
pub(crate) fn constant_delay(words: &str) -> Option<Span> {
    let netem = netem(words);
    (!netem.varies()).then(|| netem.delay())
}

/// Netem's words for one that delays nothing and refuses nobody.
pub(crate) const OPEN: &str = "limit 1000000";

/// The words of a chain's first netem with the delay of one flow.
pub(crate) fn with_delay(chain: &[String], delay: Span) -> String {
    netem(chain.first().map_or(OPEN, String::as_str)).with_delay(delay).to_string()
}

pub(crate) fn netem_of(elements: &[Element]) -> Option<(&Element, &Netem)> {
    elements.iter().find_map(|e| match &e.kind {
        Kind::Netem(n) => Some((e, n)),
        _ => None,
    })
}

/// The netems of a side, one for each flow with a delay of its own and the one of all others: the flow, and the words
/// of the links.
pub(crate) fn groups(
    scenario: &Scenario,
    netem: Option<(&Element, &Netem)>,
) -> Vec<(Option<usize>, Vec<String>)> {
    let Some((element, netem)) = netem else { return vec![(None, Vec::new())] };
    let chain = &netem.chain;
    let mut all: Vec<(Option<usize>, Vec<String>)> = Vec::new();
    for own in &netem.per_flow {
        let mut words = vec![with_delay(chain, own.delay)];
        words.extend(chain.iter().skip(1).cloned());
        all.push((scenario.flows.iter().position(|f| f.name == own.flow), words));
    }
    all.push((None, chain.clone()));
    if !element.enabled {
        for (_, words) in &mut all {
            *words = open_chain(words.len());
        }
    }
    all
}

/// tc's words that switch a netem: on with the delays that it has been given since the beginning.
pub(crate) fn switch(
    scenario: &Scenario,
    (event, number): (usize, usize),
    path: &str,
    on: bool,
) -> Vec<String> {
    let Some((hop, side)) = find(scenario, path) else { return Vec::new() };
    let letter = place(hop, side).letter;
    let Some((element, netem)) = netem_of(scenario.hops[hop].side(side)) else {
        return Vec::new();
    };
    let mut netem = netem.clone();
    for action in schedule::earlier(scenario, path, event, number).unwrap_or_default() {
        if let Action::Delay { flow, delay, .. } = action {
            set_delay(&mut netem, flow.as_deref(), *delay);
        }
    }
    let element = Element { enabled: on, ..element.clone() };
    let whole = groups(scenario, Some((&element, &netem)));
    let of_group = |(number, (_, words)): (usize, (Option<usize>, Vec<String>))| {
        change(letter, number, &words)
    };
    whole.into_iter().enumerate().flat_map(of_group).collect()
}

/// Gives the flow that has a delay of its own another, or all that have none.
fn set_delay(netem: &mut Netem, flow: Option<&str>, delay: Span) {
    let own = netem.per_flow.iter_mut().find(|own| Some(own.flow.as_str()) == flow);
    if let Some(own) = own {
        own.delay = delay;
    } else {
        let first = with_delay(&netem.chain, delay);
        match netem.chain.first_mut() {
            Some(words) => *words = first,
            None => netem.chain.push(first),
        }
    }
}

/// tc's words that give the links of a netem these.
pub(crate) fn change(letter: char, number: usize, words: &[String]) -> Vec<String> {
    let link_words = |(link, words): (usize, &String)| {
        let at = if link == 0 { "root".to_owned() } else { format!("parent {link}:1") };
        format!("qdisc change dev {letter}{number} {at} handle {}: netem {words}", link + 1)
    };
    words.iter().enumerate().map(link_words).collect()
}

/// Whether `qdisc change` can bring a netem to these words and away from them: it keeps the settings that its words
/// omit.
pub(crate) fn is_plain(words: &str) -> bool {
    let mut room = 0;
    words.split_whitespace().all(|word| {
        let takes = match word {
            "delay" | "latency" => Some(2),
            "loss" | "drop" | "duplicate" | "limit" => Some(1),
            _ => None,
        };
        match takes {
            Some(values) => room = values,
            None if room == 0 || word == "random" => return false,
            None => room -= 1,
        }
        word.starts_with(|c: char| c.is_ascii_digit()) || takes.is_some()
    })
}

/// The words of a netem that is switched off.
fn open_chain(links: usize) -> Vec<String> {
    vec![OPEN.to_owned(); links.max(1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_change_leaves_as_it_was_is_not_plain() {
        for plain in ["delay 10ms", "delay 10ms 2ms limit 1000", "loss 1% delay 5ms", "limit 9"] {
            assert!(is_plain(plain), "{plain}");
        }
        for other in [
            "delay 10ms 2ms 25%",
            "delay 10ms 2ms distribution normal",
            "loss gemodel 1%",
            "loss 1% 25%",
            "rate 1mbit",
            "slot 1ms",
            "delay 10ms reorder 5%",
        ] {
            assert!(!is_plain(other), "{other}");
        }
    }
}
