//! What is legal, runs, and may not be what was meant: said with its place, and run all the same. One rule, one function
//! in [`RULES`].

use super::bdp;
use super::decode::{Fields, Item};
use super::path::{base_rtt, bdp_of};
use super::source::{Diagnostic, DiagnosticKind, Diagnostics};
use super::vocabulary::{Takes, Vocabulary};
use core::ops::Range;
use sojourn_units::{parse_rate, parse_span};

/// Something that may not be what was meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    /// What it is, with its place.
    pub diagnostic: Diagnostic,
    /// The combinations of the axes that have it, by their places in the plan.
    pub cells: Vec<usize>,
}

/// One combination of an experiment, as it was read.
pub(crate) struct Read<'a> {
    pub(crate) root: &'a Fields,
    pub(crate) vocabulary: &'a dyn Vocabulary,
}

type Rule = fn(&Read<'_>, &mut Diagnostics);

/// Every rule.
const RULES: &[Rule] = &[
    bare_numbers,
    bytes_a_second,
    two_shapers,
    framing_without_a_rate,
    own_rate,
    prague_without_ecn,
    no_delay,
    small_window,
    inert_words,
];

/// What all rules say of a combination.
pub(crate) fn of(read: &Read<'_>) -> Diagnostics {
    let mut found = Diagnostics::default();
    for rule in RULES {
        rule(read, &mut found);
    }
    found
}

impl Read<'_> {
    fn hops(&self) -> &[Fields] {
        self.root.tables("hop")
    }

    /// Every text in tc's words, with what the vocabulary has before it.
    fn words(&self) -> Vec<(&Item, &'static str)> {
        let mut found = Vec::new();
        let sides =
            |hop| ["down", "up"].into_iter().filter_map(move |side| Fields::table(hop, side));
        for hop in self.hops() {
            for table in core::iter::once(hop).chain(sides(hop)) {
                found.extend(table.given("qdisc").map(|item| (item, "")));
                found.extend(table.list("netem").iter().map(|item| (item, "netem ")));
            }
            for element in hop.tables("element") {
                found.extend(element.list("netem").iter().map(|item| (item, "netem ")));
            }
        }
        for event in self.root.tables("event") {
            let keys = ["change", "replace"].into_iter();
            found.extend(keys.filter_map(|key| event.given(key)).map(|item| (item, "")));
            found.extend(event.list("netem").iter().map(|item| (item, "netem ")));
        }
        for flow in self.root.tables("flow") {
            found.extend(flow.given("host_qdisc").map(|item| (item, "")));
        }
        found
    }

    /// Every value in tc's words that has a known kind.
    fn values(&self) -> Vec<(&Item, Range<usize>, Takes)> {
        let mut found = Vec::new();
        for (item, name) in self.words() {
            let text = format!("{name}{}", item.text());
            for (at, _) in bdp::words(item.text()) {
                let place = at.start + name.len()..at.end + name.len();
                if let Some(takes) = self.vocabulary.takes(&text, &place) {
                    found.push((item, at, takes));
                }
            }
        }
        found
    }

    /// The hops that a flow passes.
    fn hops_of<'s>(&'s self, flow: &'s Fields) -> impl Iterator<Item = &'s Fields> {
        let named: Vec<&str> = flow.list("hops").iter().map(Item::text).collect();
        let passes = move |hop: &&Fields| {
            named.is_empty() || hop.text("name").is_some_and(|n| named.contains(&n))
        };
        self.hops().iter().filter(passes)
    }
}

fn says(item: &Item, at: &Range<usize>, message: String, help: String) -> Diagnostic {
    item.inside(at).says(DiagnosticKind::Surprise, message).help(help)
}

/// `target 5` is five microseconds.
fn bare_numbers(read: &Read<'_>, found: &mut Diagnostics) {
    for (item, at, takes) in read.values() {
        let word = &item.text()[at.clone()];
        if !word.parse::<f64>().is_ok_and(|x| x > 0.0) {
            continue;
        }
        let (message, help) = match takes {
            Takes::Time => {
                let Ok(span) = parse_span(word) else { continue };
                let message = format!("{word} is {span}: tc takes a bare number for microseconds");
                (message, format!("write {word}ms if milliseconds are meant, or {word}us"))
            }
            Takes::Rate => {
                let message =
                    format!("{word} is {word} bit/s: tc takes a bare number for bits a second");
                (message, format!("write {word}mbit if that is meant, or {word}bit"))
            }
            Takes::Packets | Takes::Bytes | Takes::Framing => continue,
        };
        found.push(says(item, &at, message, help));
    }
}

/// `bandwidth 50mbps` is 400 Mbit/s.
fn bytes_a_second(read: &Read<'_>, found: &mut Diagnostics) {
    for (item, at, takes) in read.values() {
        let word = &item.text()[at.clone()];
        if takes != Takes::Rate || !word.to_ascii_lowercase().ends_with("bps") {
            continue;
        }
        let Ok(rate) = parse_rate(word) else { continue };
        let message = format!("{word} is {rate}: tc takes bps for bytes a second");
        let bits = rate.to_string().to_ascii_lowercase();
        found.push(says(
            item,
            &at,
            message,
            format!("write {bits} if that is meant, or …bit for bits"),
        ));
    }
}

/// A hop's `rate` with a `cake bandwidth …` that is no slower: the hop's shaper decides, and the queue is not the
/// discipline's. A slower one makes sense, as for a router in front of a modem.
fn two_shapers(read: &Read<'_>, found: &mut Diagnostics) {
    for hop in read.hops() {
        for side in [None, hop.table("down"), hop.table("up")] {
            let table = side.unwrap_or(hop);
            let Some(item) = table.given("qdisc") else { continue };
            let own = [table, hop].iter().any(|t| t.text("shaper") == Some("own"));
            let htb = [Some(table), Some(hop), hop.table("down")]
                .into_iter()
                .flatten()
                .find_map(|t| t.rate("rate"));
            let Some(rate) = htb.filter(|_| !own) else { continue };
            let Some((at, word)) = shaped_by_words(read, item) else { continue };
            if parse_rate(word).is_ok_and(|own| own < rate) {
                continue;
            }
            let message = format!(
                "two shapers limit this hop: one at {rate}, and the discipline's own at {word}, which is no slower"
            );
            let help = format!(
                "write a bandwidth below {rate}, as of a router in front of a modem, or shaper = \"own\" to have the discipline's alone"
            );
            found.push(says(item, &at, message, help));
        }
    }
}

/// `cake overhead 44 atm` with a hop's `rate`: cake charges no packet by it.
fn framing_without_a_rate(read: &Read<'_>, found: &mut Diagnostics) {
    for (item, at, takes) in read.values() {
        if takes != Takes::Framing || shaped_by_words(read, item).is_some() {
            continue;
        }
        let hops = read.hops().iter();
        let here = |hop: &Fields| {
            let sides = [Some(hop), hop.table("down"), hop.table("up")];
            let mut items = sides.into_iter().flatten().filter_map(|table| table.given("qdisc"));
            items.any(|given| core::ptr::eq(given, item))
        };
        let Some(hop) = hops.into_iter().find(|hop| here(hop)) else { continue };
        // Once for all such words of one text.
        let first = bdp::words(item.text())
            .find(|(place, _)| read.vocabulary.takes(item.text(), place) == Some(Takes::Framing));
        if first.is_some_and(|(place, _)| place != at) {
            continue;
        }
        let word = &item.text()[at.clone()];
        let message = format!(
            "{word} does nothing here: the discipline has no rate of its own, and the hop's shaper charges packets without it"
        );
        let rates = [Some(hop), hop.table("down"), hop.table("up")];
        let rate = rates.into_iter().flatten().find_map(|table| table.rate("rate"));
        let less = rate.map_or_else(
            || "RATE".to_owned(),
            |rate| format!("{}kbit", rate.bits_per_sec() * 95 / 100_000),
        );
        let help = format!("give it one: {} bandwidth {less}", first_word(item.text()));
        found.push(says(item, &at, message, help));
    }
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or("")
}

/// The rate that a discipline's words shape to, and where they say so.
fn shaped_by_words<'a>(read: &Read<'_>, item: &'a Item) -> Option<(Range<usize>, &'a str)> {
    let words: Vec<_> = bdp::words(item.text()).collect();
    // RED estimates idle time by its bandwidth.
    if words.first().is_some_and(|(_, name)| name.eq_ignore_ascii_case("red")) {
        return None;
    }
    let shaped = words.iter().zip(words.iter().skip(1)).find(|((_, option), (at, _))| {
        matches!(*option, "bandwidth" | "rate")
            && read.vocabulary.takes(item.text(), at) == Some(Takes::Rate)
    });
    let ((from, _), (to, word)) = shaped?;
    Some((from.start..to.end, word))
}

/// `shaper = "own"` with a `rate` that the discipline's words do not state.
fn own_rate(read: &Read<'_>, found: &mut Diagnostics) {
    for hop in read.hops() {
        for side in [None, hop.table("down"), hop.table("up")] {
            let table = side.unwrap_or(hop);
            let tables = [Some(table), Some(hop), hop.table("down")];
            let first = |key| tables.into_iter().flatten().find_map(move |t| t.given(key));
            // Once where it stands for both sides.
            let is_said_here = |key| table.given(key).is_some();
            if side.is_some() && !["rate", "qdisc", "shaper"].into_iter().any(is_said_here) {
                continue;
            }
            let Some(item) = first("qdisc") else { continue };
            if first("shaper").is_none_or(|item| item.text() != "own") {
                continue;
            }
            let mut with_rate = tables.into_iter().flatten().filter(|t| t.given("rate").is_some());
            let Some((at, said)) = with_rate.next().and_then(|t| Some((t, t.rate("rate")?))) else {
                continue;
            };
            let stated = shaped_by_words(read, item);
            let message = match &stated {
                Some((_, word)) if parse_rate(word) == Ok(said) => continue,
                Some((_, word)) => {
                    format!(
                        "the discipline's words say {word}, and this rate is {said}: the words decide"
                    )
                }
                None => format!(
                    "nothing limits this hop to {said}: it is left to the discipline's words, which have no rate"
                ),
            };
            let help = match &stated {
                Some((_, word)) => format!(
                    "write rate = \"{word_rate}\", or leave shaper = \"own\" out: then both limit",
                    word_rate = word.rsplit(' ').next().unwrap_or(word)
                ),
                None => {
                    "give the discipline's words a rate, or leave shaper = \"own\" out".to_owned()
                }
            };
            let place = at.place_of("rate");
            found.push(place.says(DiagnosticKind::Surprise, message).help(help));
        }
    }
}

/// `red adaptive` on a stack where it does not adapt.
fn inert_words(read: &Read<'_>, found: &mut Diagnostics) {
    let usual = read.root.table("experiment").and_then(|table| table.text("stack")).unwrap_or("");
    for hop in read.hops() {
        let stack = hop.text("stack").unwrap_or(usual);
        for table in
            core::iter::once(hop).chain(["down", "up"].into_iter().filter_map(|s| hop.table(s)))
        {
            let Some(item) = table.given("qdisc") else { continue };
            for (at, why) in read.vocabulary.inert(item.text(), stack) {
                let word = &item.text()[at.clone()];
                let message = format!("\"{word}\" has no effect on {stack}: {why}");
                let help =
                    format!("leave \"{word}\" out, or choose a stack where it has: sojourn stacks");
                found.push(says(item, &at, message, help));
            }
        }
    }
}

/// `prague` with `ecn = "off"`.
fn prague_without_ecn(read: &Read<'_>, found: &mut Diagnostics) {
    for flow in read.root.tables("flow") {
        let (Some(cc), Some("off")) = (flow.text("cc"), flow.text("ecn")) else { continue };
        if cc.to_ascii_lowercase().starts_with("prague") {
            let place = flow.place_of("ecn");
            let said = place.says(
                DiagnosticKind::Surprise,
                format!("{cc} without ECN gets no marks and answers losses alone"),
            );
            found.push(said.help("leave ecn out, and it negotiates what it needs"));
        }
    }
}

/// A path without any delay.
fn no_delay(read: &Read<'_>, found: &mut Diagnostics) {
    for flow in read.root.tables("flow") {
        let own = flow.span("rtt");
        let delayed = |hop: &Fields| {
            let netems = [Some(hop), hop.table("down"), hop.table("up")];
            base_rtt(hop).is_some()
                || netems.into_iter().flatten().any(|t| !t.list("netem").is_empty())
                || hop.tables("element").iter().any(|e| e.given("netem").is_some())
        };
        if own.is_some_and(|rtt| !rtt.is_zero())
            || (own.is_none() && read.hops_of(flow).any(delayed))
        {
            continue;
        }
        let place = if own.is_some() {
            flow.place_of("rtt")
        } else {
            match read.hops_of(flow).next() {
                Some(hop) if hop.given("rtt").is_some() => hop.place_of("rtt"),
                Some(hop) => hop.place_of("name"),
                None => continue,
            }
        };
        let said = place.says(
            DiagnosticKind::Surprise,
            "the base RTT here is 0: there is no delay but that of the queues",
        );
        found.push(said.help("give the hop an rtt, such as rtt = \"20ms\""));
    }
}

/// A receive window that no path of this length can be filled with.
fn small_window(read: &Read<'_>, found: &mut Diagnostics) {
    for flow in read.root.tables("flow") {
        let Some(window) = flow.count("receive_window") else { continue };
        let hops: Vec<&Fields> = read.hops_of(flow).collect();
        let Some(bdp) = bdp_of(flow, hops.into_iter()) else { continue };
        if (window as f64) < bdp {
            let place = flow.place_of("receive_window");
            let message = format!(
                "a receive window of {window} bytes is less than the BDP of {bdp:.0} bytes: the flow cannot fill its path"
            );
            let said = place.says(DiagnosticKind::Surprise, message);
            found.push(said.help("leave it out, and the window grows as it is needed"));
        }
    }
}
