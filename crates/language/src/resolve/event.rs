//! Events: when, and what they do to which elements.

use super::super::bdp;
use super::super::decode::{Fields, Item, Val};
use super::super::path::{base_rtt, rate_of};
use super::super::source::DiagnosticKind;
use super::Resolver;
use super::hop::{NETEM, QDISC, share};
use super::named::Named;
use sojourn_model::{
    Action, At, Element, Event, FlowDelay, Hop, Kind, Netem, Scenario, Shaper, Side, When,
};
use sojourn_units::{Rate, Span};

/// The point in time `turn` turns later. A time that does not fit into nanoseconds is beyond every run.
fn later(when: &When, every: Span, turn: u64) -> When {
    let nanos = every.as_nanos().saturating_mul(turn);
    let shift = Span::from_nanos(nanos);
    match when {
        When::At(at) => {
            let nanos = i64::try_from(nanos).unwrap_or(i64::MAX);
            When::At(At::from_nanos(at.as_nanos().saturating_add(nanos)))
        }
        When::After { reference, edge, delay } => {
            When::After { reference: reference.clone(), edge: *edge, delay: *delay + shift }
        }
        When::State { gauge, order, value, delay } => When::State {
            gauge: gauge.clone(),
            order: *order,
            value: *value,
            delay: *delay + shift,
        },
    }
}

impl Resolver<'_> {
    pub(super) fn events(
        &mut self,
        root: &Fields,
        named: &Named,
        hops: &mut [Hop],
        events: &mut Vec<Event>,
    ) {
        for table in root.tables("event") {
            let Some(name) = table.text("name").map(str::to_owned) else { continue };
            let when =
                table.item("at").cloned().and_then(|at| self.moment(&at, root, named, Some(hops)));
            let mut actions = Vec::new();
            self.hop_actions(table, root, named, hops, &mut actions);
            let start = table.list("start").to_vec();
            for flow in self.members(&start, named) {
                actions.push(Action::StartFlow { flow });
            }
            let stop = table.list("stop").to_vec();
            for flow in self.members(&stop, named) {
                actions.push(Action::StopFlow { flow });
            }
            if actions.is_empty() && self.diagnostics.is_empty() {
                let place = table.place_of("name");
                self.diagnostics.push(
                    place
                        .says(DiagnosticKind::Key, format!("event {name} does nothing"))
                        .help("give it a hop with rate, change, replace, rtt, netem, enable or disable, or flows to start or stop"),
                );
            }
            for (index, (name, when)) in self.repeated(table, &name, when).into_iter().enumerate() {
                if events.iter().any(|e| e.name == name) {
                    let place = table.place_of(if index == 0 { "name" } else { "times" });
                    self.says(
                        &place,
                        DiagnosticKind::Name,
                        format!("two events are called \"{name}\""),
                    );
                    break;
                }
                events.push(Event { name, when, actions: actions.clone() });
            }
        }
    }

    /// The names and times of an event that happens `times` times, `every` so often; of one alone where neither is given.
    fn repeated(&mut self, table: &Fields, name: &str, when: Option<When>) -> Vec<(String, When)> {
        let (every, times) = match (table.span("every"), table.count("times")) {
            (Some(every), Some(times)) => (every, times),
            (None, None) => (Span::ZERO, 1),
            (every, _) => {
                let (given, lacks) =
                    if every.is_some() { ("every", "times") } else { ("times", "every") };
                let message = format!("an event with {given} needs {lacks}");
                self.says(&table.place_of(given), DiagnosticKind::Key, message);
                return Vec::new();
            }
        };
        let Some(when) = when else { return Vec::new() };
        let all: Vec<_> = (0..times)
            .map(|turn| {
                let name = if turn == 0 { name.to_owned() } else { format!("{name}-{}", turn + 1) };
                (name, later(&when, every, turn))
            })
            .collect();
        let end = i128::from(self.duration.as_nanos());
        if let Some((late, When::At(at))) =
            all.iter().find(|(_, w)| matches!(w, When::At(at) if i128::from(at.as_nanos()) > end))
            && times > 1
        {
            let message = format!(
                "{late} would be at {at}, which is outside the run: it ends at {}",
                self.duration
            );
            self.says(&table.place_of("times"), DiagnosticKind::Value, message);
            return Vec::new();
        }
        all
    }

    /// Reports an event that cannot do what it says, because of the discipline at its queue when it comes.
    pub(super) fn possible_changes(&mut self, root: &Fields, scenario: &Scenario) {
        let nested = |words: &str, stack: &str| self.vocabulary.nested(words, stack);
        let Some(impossible) = scenario.impossible_change(&nested) else { return };
        let event = root.tables("event").iter().find(|e| e.text("name") == Some(&impossible.event));
        let place = event.map_or_else(|| root.place.clone(), |e| e.place_of(impossible.key));
        self.diagnostics
            .push(place.says(DiagnosticKind::Value, impossible.why).help(impossible.help));
    }

    fn hop_actions(
        &mut self,
        table: &Fields,
        root: &Fields,
        named: &Named,
        hops: &mut [Hop],
        actions: &mut Vec<Action>,
    ) {
        let keys = ["rate", "change", "replace", "shaper", "rtt", NETEM, "enable", "disable"];
        let wanted: Vec<&str> = keys.into_iter().filter(|k| table.given(k).is_some()).collect();
        let Some(item) = table.given("hop") else {
            if let Some(key) = wanted.first() {
                let place = table.place_of(key);
                self.diagnostics.push(
                    place
                        .says(DiagnosticKind::Key, format!("{key} needs a hop"))
                        .help("give the event a hop"),
                );
            }
            return;
        };
        let Some(index) = hops.iter().position(|h| h.name == item.text()) else {
            let names: Vec<String> = hops.iter().map(|h| h.name.clone()).collect();
            let place = item.place.clone();
            self.unknown(&place, "hop", item.text(), names.iter().map(String::as_str));
            return;
        };
        let settings = &root.tables("hop")[index];
        let hop = &mut hops[index];
        let sides: &[Side] = match table.text("side") {
            Some("down") => &[Side::Down],
            Some("up") => &[Side::Up],
            _ => &[Side::Down, Side::Up],
        };
        let before = actions.len();
        for &side in sides {
            let bdp = bdp_then(table, settings, side);
            self.queue_actions(table, hop, side, bdp, actions);
            self.delay_actions(table, settings, named, hop, side, actions);
        }
        let queue_or_delay = ["rate", "change", "replace", "rtt", NETEM];
        let in_vain = queue_or_delay.into_iter().find(|k| table.given(k).is_some());
        if actions.len() == before
            && let Some(key) = in_vain
            && self.diagnostics.is_empty()
        {
            let place = table.place_of(key);
            let what = if matches!(key, "rtt" | NETEM) { "delay" } else { "queue" };
            self.says(
                &place,
                DiagnosticKind::Value,
                format!("hop {} has no {what} there that could change", hop.name),
            );
        }
        for (key, enable) in [("enable", true), ("disable", false)] {
            for item in table.list(key).to_vec() {
                self.switch(&item, hop, sides, enable, actions);
            }
        }
    }

    fn queue_actions(
        &mut self,
        table: &Fields,
        hop: &Hop,
        side: Side,
        bdp: Option<f64>,
        actions: &mut Vec<Action>,
    ) {
        let Some((element, shaper)) = hop.side(side).iter().find_map(|e| match &e.kind {
            Kind::Queue(queue) => Some((format!("{}.{side}.{}", hop.name, e.name), queue.shaper)),
            _ => None,
        }) else {
            return;
        };
        let rate = table.rate("rate");
        if let Some(item) = table.item("replace").cloned() {
            let qdisc = self.qdisc(&item, &hop.stack, bdp);
            let shaper = match (table.text("shaper"), rate) {
                (None, None) => None,
                (word, rate) => self.new_shaper(table, shaper, word, rate),
            };
            actions.push(Action::ReplaceQdisc { element, qdisc, shaper });
            return;
        }
        if let Some(item) = table.given("shaper") {
            let place = item.place.clone();
            self.says(&place, DiagnosticKind::Key, "shaper goes with replace");
        }
        if let Some(rate) = rate {
            if matches!(shaper, Shaper::Trace { .. }) {
                let place = table.place_of("rate");
                let message = format!("the rate of hop {} is its trace's", hop.name);
                let said = place.says(DiagnosticKind::Value, message);
                self.diagnostics.push(
                    said.help("replace the queue and its shaper: replace = \"…\", rate = \"…\""),
                );
            } else if matches!(shaper, Shaper::Own { .. }) {
                let place = table.place_of("rate");
                self.diagnostics.push(
                    place
                        .says(
                            DiagnosticKind::Value,
                            format!("the discipline of hop {} shapes itself", hop.name),
                        )
                        .help("change its words: change = \"…\""),
                );
            } else {
                actions.push(Action::Rate { element: element.clone(), rate });
            }
        }
        if let Some(item) = table.item("change").cloned() {
            let qdisc = self.change(&item, &hop.stack, bdp);
            actions.push(Action::ChangeQdisc { element, qdisc });
        }
    }

    /// The shaper that a replacement brings: of the kind named or the old one's, with the rate given or the old one's.
    fn new_shaper(
        &mut self,
        table: &Fields,
        old: Shaper,
        word: Option<&str>,
        rate: Option<Rate>,
    ) -> Option<Shaper> {
        let old_rate = match old {
            Shaper::Htb { rate, .. } | Shaper::Line { rate } | Shaper::Link { rate, .. } => {
                Some(rate)
            }
            Shaper::Own { rate } => rate,
            Shaper::Trace { .. } => None,
        };
        let rate = rate.or(old_rate);
        let word = word.unwrap_or(match old {
            Shaper::Line { .. } => "line",
            Shaper::Own { .. } => "own",
            // A rate alone takes a link off its trace.
            Shaper::Htb { .. } | Shaper::Trace { .. } | Shaper::Link { .. } => "htb",
        });
        match (word, rate, old) {
            ("own", rate, _) => Some(Shaper::Own { rate }),
            ("line", Some(rate), _) => Some(Shaper::Line { rate }),
            (_, Some(rate), Shaper::Htb { burst, .. }) => {
                Some(Shaper::Htb { rate, ceil: None, burst })
            }
            (_, Some(rate), _) => Some(Shaper::Htb { rate, ceil: None, burst: None }),
            (_, None, _) => {
                let place = table.place_of("shaper");
                self.says(&place, DiagnosticKind::Key, "the new shaper needs a rate");
                None
            }
        }
    }

    fn delay_actions(
        &mut self,
        table: &Fields,
        settings: &Fields,
        named: &Named,
        hop: &mut Hop,
        side: Side,
        actions: &mut Vec<Action>,
    ) {
        let element = format!("{}.{side}.{NETEM}", hop.name);
        let stack = hop.stack.clone();
        let elements = match side {
            Side::Down => &mut hop.down,
            Side::Up => &mut hop.up,
        };
        if let Some(rtt) = table.span("rtt") {
            let delay = share(settings, side, rtt);
            let flow = match table.given("flow") {
                Some(item) if named.is_flow(item.text()) => Some(item.text().to_owned()),
                Some(item) => {
                    let place = item.place.clone();
                    self.unknown(&place, "flow", item.text(), named.flow_names());
                    return;
                }
                None => None,
            };
            let untouched = delay.is_zero() && settings.text("delay_on") != Some("both");
            if !untouched {
                let netem = netem_of(elements);
                if let Some(name) = &flow
                    && netem.per_flow.iter().all(|f| f.flow != *name)
                {
                    let delay =
                        settings.span("rtt").map_or(Span::ZERO, |rtt| share(settings, side, rtt));
                    netem.per_flow.push(FlowDelay { flow: name.clone(), delay });
                }
                actions.push(Action::Delay { element: element.clone(), flow, delay });
            }
        } else if let Some(item) = table.given("flow") {
            let place = item.place.clone();
            self.says(&place, DiagnosticKind::Key, "flow goes with rtt");
        }
        if let Some(Item { val: Val::List(items), .. }) = table.item(NETEM).cloned() {
            let chain = self.netems(&items, &stack, bdp_then(table, settings, side));
            netem_of(elements);
            actions.push(Action::ChangeNetem { element, chain });
        }
    }

    fn switch(
        &mut self,
        item: &Item,
        hop: &Hop,
        sides: &[Side],
        enable: bool,
        actions: &mut Vec<Action>,
    ) {
        let mut found = false;
        for &side in sides {
            let Some(element) = hop.side(side).iter().find(|e| e.name == item.text()) else {
                continue;
            };
            found = true;
            let element = format!("{}.{side}.{}", hop.name, element.name);
            actions.push(if enable {
                Action::Enable { element }
            } else {
                Action::Disable { element }
            });
        }
        if !found {
            let names: Vec<String> =
                sides.iter().flat_map(|&s| hop.side(s).iter().map(|e| e.name.clone())).collect();
            self.unknown(&item.place, "element", item.text(), names.iter().map(String::as_str));
        }
    }
}

/// The BDP of one side of a hop after an event, bytes: with the rate and the RTT that the event sets, and else those of the
/// hop's own settings, whatever other events did.
fn bdp_then(event: &Fields, hop: &Fields, side: Side) -> Option<f64> {
    let rate = event.rate("rate").or_else(|| rate_of(hop, side.name()))?;
    let own = event.given("flow").is_none().then(|| event.span("rtt")).flatten();
    Some(bdp::of(rate, own.filter(|rtt| !rtt.is_zero()).or_else(|| base_rtt(hop))?))
}

/// The delay of a side, which is made (with no delay yet) if there is none: an event may bring one.
fn netem_of(elements: &mut Vec<Element>) -> &mut Netem {
    let index = elements.iter().position(|e| e.name == NETEM).unwrap_or_else(|| {
        let at = elements.iter().position(|e| e.name == QDISC).unwrap_or(elements.len());
        let netem = Netem { chain: vec!["delay 0s limit 1000000".into()], per_flow: Vec::new() };
        let element = Element { name: NETEM.into(), enabled: true, kind: Kind::Netem(netem) };
        elements.insert(at, element);
        at
    });
    match &mut elements[index].kind {
        Kind::Netem(netem) => netem,
        _ => unreachable!("an element called netem is one"),
    }
}
