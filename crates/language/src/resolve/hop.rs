//! Hops: the two sides with their delay, queue and other elements; tunnels.

use super::super::bdp;
use super::super::decode::{Fields, Item, Val};
use super::super::path::base_rtt;
use super::super::source::DiagnosticKind;
use super::Resolver;
use super::named::Named;
use sojourn_model::{
    AggregatingLink, By, Element, ElementKind, FlowDelay, Hop, Kind, Middlebox, Neighbours, Netem,
    PoliceAction, Policer, Queue, Rewrite, Rule, RuleKind, Scenario, Selector, Shaper, Side,
    Tunnel, TunnelKind, TunnelProtocol, Wifi,
};
use sojourn_units::{Ecn, Rate, Span};

/// The names of a hop's own two elements.
pub(super) const NETEM: &str = "netem";
pub(super) const QDISC: &str = "qdisc";

/// A delay that a flow has of its own at a hop.
struct Own {
    hop: usize,
    flows: Vec<String>,
    rtt: Span,
}

impl Resolver<'_> {
    pub(super) fn hops(&mut self, root: &Fields, named: &Named) -> Vec<Hop> {
        self.unique("hop", root.tables("hop"));
        let own = self.own_delays(root, named);
        let tables = root.tables("hop");
        let mut hops: Vec<Hop> = tables
            .iter()
            .enumerate()
            .map(|(index, table)| {
                let stack = self.stack_of(table, "stack");
                let own: Vec<&Own> = own.iter().filter(|o| o.hop == index).collect();
                let down = self.side(table, Side::Down, &stack, &own);
                let up = self.side(table, Side::Up, &stack, &own);
                let name = table.text("name").unwrap_or("").to_owned();
                let host_nic = table.bool("host_nic").unwrap_or(false);
                let by = table.text("by").and_then(By::from_name);
                let mut hop = Hop { name, stack, by, host_nic, down, up };
                self.unique("element", table.tables("element"));
                for element in table.tables("element") {
                    self.place_element(element, table, named, &mut hop);
                }
                hop
            })
            .collect();
        self.bleached(root, named, &mut hops);
        hops
    }

    /// Says so if a hop's device is no sender's.
    pub(super) fn own_devices(&mut self, root: &Fields, scenario: &Scenario) {
        for (table, hop) in root.tables("hop").iter().zip(&scenario.hops) {
            let is_here = |path: String| path.split('.').next() == Some(&hop.name);
            let is_used = scenario.flows.iter().filter_map(|f| scenario.device_of(f)).any(is_here);
            if !hop.host_nic || is_used {
                continue;
            }
            let place = table.place_of("host_nic");
            let message = format!("no flow's data meet a queue or radio of hop {} first", hop.name);
            self.diagnostics.push(
                place
                    .says(DiagnosticKind::Value, message)
                    .help("host_nic is for a flow's first hop, and the delay is to be behind it, in another hop"),
            );
        }
    }

    /// Base RTTs that flows have of their own, each at the first of its hops that has a delay.
    fn own_delays(&mut self, root: &Fields, named: &Named) -> Vec<Own> {
        let tables = root.tables("hop");
        let has_delay = |&h: &usize| {
            let side = |key: &str| tables[h].table(key).is_some_and(|s| s.given("delay").is_some());
            tables[h].given("rtt").is_some() || side("down") || side("up")
        };
        let mut own = Vec::new();
        let mut note = |resolver: &mut Self, table: &Fields, flows: Vec<String>| {
            let Some(rtt) = table.span("rtt") else { return };
            let hops = resolver.hops_of(table, root);
            if let Some(hop) = hops.iter().copied().find(|h| has_delay(h)).or(hops.first().copied())
            {
                own.push(Own { hop, flows, rtt });
            }
        };
        for (index, table) in root.tables("flow").iter().enumerate() {
            if !named.of(index).is_empty() {
                note(self, table, named.of(index).to_vec());
            }
        }
        if let Some(table) = root.table("ping")
            && named.is_flow(super::named::PING)
        {
            note(self, table, vec![super::named::PING.to_owned()]);
        }
        own
    }

    /// The setting of one side: its own, for `up` that of `down`, or the hop's. Both at once is a contradiction
    /// waiting to happen (an override of one would be hidden by the other) and is refused.
    fn setting<'t>(&mut self, hop: &'t Fields, side: Side, key: &str) -> Option<&'t Item> {
        let of = |side: &str| hop.table(side).and_then(|t| t.given(key));
        let common = if hop.section.index(key).is_some() { hop.given(key) } else { None };
        let own = match side {
            Side::Down => of("down"),
            Side::Up => of("up").or_else(|| of("down")),
        };
        if let (Some(_), Some(item)) = (common, of("down").or_else(|| of("up"))) {
            let name = hop.text("name").unwrap_or("");
            let of_side = if of("down").is_some() { "down" } else { "up" };
            self.diagnostics.push(
                item.place
                    .says(
                        DiagnosticKind::Key,
                        format!(
                            "{key} is set for hop {name} as a whole and for its {of_side} side"
                        ),
                    )
                    .help(format!("set {key} under down and up, or for the hop, not both")),
            );
        }
        own.or(common)
    }

    fn side(&mut self, table: &Fields, side: Side, stack: &str, own: &[&Own]) -> Vec<Element> {
        let mut elements = Vec::new();
        if let Some(netem) = self.netem(table, side, stack, own) {
            elements.push(Element { name: NETEM.into(), enabled: true, kind: Kind::Netem(netem) });
        }
        if let Some(queue) = self.queue(table, side, stack) {
            elements.push(Element { name: QDISC.into(), enabled: true, kind: Kind::Queue(queue) });
        }
        elements
    }

    fn netem(&mut self, table: &Fields, side: Side, stack: &str, own: &[&Own]) -> Option<Netem> {
        let split = |rtt: Span| share(table, side, rtt);
        let delay = match self.setting(table, side, "delay").cloned() {
            Some(item) => {
                if let Some(rtt) = table.given("rtt") {
                    self.diagnostics.push(
                        rtt.place
                            .says(
                                DiagnosticKind::Key,
                                "rtt and delay of a side contradict each other",
                            )
                            .help("give rtt, or the delay of both sides"),
                    );
                }
                match item.val {
                    Val::Span(delay) => delay,
                    _ => Span::ZERO,
                }
            }
            None => table.span("rtt").map_or(Span::ZERO, split),
        };
        let limit = match self.setting(table, side, "netem_limit").map(|i| &i.val) {
            Some(Val::Count(n)) => *n,
            _ => table.count("netem_limit").unwrap_or(1_000_000),
        };
        let further = match self.setting(table, side, NETEM).cloned() {
            Some(Item { val: Val::List(items), .. }) => {
                let rate = self.setting(table, side, "rate").and_then(Item::rate);
                let bdp = rate.zip(base_rtt(table)).map(|(rate, rtt)| bdp::of(rate, rtt));
                self.netems(&items, stack, bdp)
            }
            _ => Vec::new(),
        };
        let per_flow: Vec<FlowDelay> = own
            .iter()
            .filter(|o| !split(o.rtt).is_zero() || !delay.is_zero())
            .flat_map(|o| {
                let delay = split(o.rtt);
                o.flows.iter().map(move |flow| FlowDelay { flow: flow.clone(), delay })
            })
            .collect();
        let mut chain = Vec::new();
        if !delay.is_zero() || !per_flow.is_empty() {
            chain.push(format!("delay {delay} limit {limit}"));
        }
        chain.extend(further);
        (!chain.is_empty()).then_some(Netem { chain, per_flow })
    }

    fn queue(&mut self, table: &Fields, side: Side, stack: &str) -> Option<Queue> {
        let key = side.name();
        if table.table(key).and_then(|t| t.bool("queue")) == Some(false) {
            return None;
        }
        // A side's own settings of its rate override those of the hop or the other side.
        let says = |key: &str| table.table(side.name()).is_some_and(|t| t.given(key).is_some());
        let rate = match self.setting(table, side, "rate").map(|i| &i.val) {
            Some(Val::Rate(rate)) if says("rate") || !says("trace") => Some(*rate),
            _ => None,
        };
        let trace = match self.setting(table, side, "trace").cloned() {
            Some(item) if says("trace") || !says("rate") => Some(item),
            _ => None,
        };
        let traced = match &trace {
            Some(item) => Some(self.trace(item)?),
            None => None,
        };
        if let (Some(item), Some(_)) = (&trace, rate) {
            let place = item.place.clone();
            self.says(&place, DiagnosticKind::Key, "a link has a trace or a rate, not both");
        }
        let rate = rate.or(traced.map(|(_, mean)| mean));
        let bdp = rate.zip(base_rtt(table)).map(|(rate, rtt)| bdp::of(rate, rtt));
        let text = |item: Option<&Item>| item.map(|i| i.text().to_owned());
        let shaper = text(self.setting(table, side, "shaper"));
        let qdisc = self.setting(table, side, QDISC).cloned();
        let ceil = match self.setting(table, side, "ceil").map(|i| &i.val) {
            Some(Val::Rate(rate)) => Some(*rate),
            _ => None,
        };
        let burst =
            match self.setting(table, side, "burst").map(|i| (i.val.clone(), i.place.clone())) {
                Some((Val::Count(n), _)) => Some(n),
                Some((Val::Bdp(multiple), place)) => self.bytes(multiple, bdp, &place),
                _ => None,
            };
        let name = table.text("name").unwrap_or("").to_owned();
        let place = table.place_of("name");
        let Some(qdisc) = qdisc else {
            if rate.is_some() || shaper.is_some() {
                self.diagnostics.push(
                    place
                        .says(DiagnosticKind::Key, format!("hop {name} has a rate and no qdisc"))
                        .help("give it one in tc's words, such as qdisc = \"fq_codel\""),
                );
            }
            return None;
        };
        let words = self.qdisc(&qdisc, stack, bdp);
        if let (Some(item), Some(word)) = (&trace, &shaper) {
            let place = item.place.clone();
            let message = format!(
                "a link with a trace cannot have the shaper {word}: the trace limits the rate"
            );
            self.says(&place, DiagnosticKind::Key, message);
        }
        let link = self.setting(table, side, "link").cloned();
        let link = match (&link, &trace, &shaper) {
            (Some(item), None, None) => self.link(item),
            (Some(item), ..) => {
                let place = item.place.clone();
                let message = "a link has words of its own, a trace or a shaper, not several";
                self.says(&place, DiagnosticKind::Key, message);
                None
            }
            (None, ..) => None,
        };
        let shaper = match (traced, shaper.as_deref(), rate) {
            (Some((trace, rate)), ..) => Shaper::Trace { trace, rate },
            (None, None, Some(rate)) if let Some(link) = link => Shaper::Link { link, rate },
            (None, Some("own"), rate) => Shaper::Own { rate },
            (None, Some("line"), Some(rate)) => Shaper::Line { rate },
            (None, _, Some(rate)) => Shaper::Htb { rate, ceil, burst },
            (None, _, None) => {
                self.diagnostics.push(
                    place
                        .says(DiagnosticKind::Key, format!("hop {name} has a qdisc and no rate"))
                        .help("give it a rate, or shaper = \"own\" if the qdisc's words set one"),
                );
                return None;
            }
        };
        let is_htb = matches!(shaper, Shaper::Htb { .. });
        if !is_htb && (ceil.is_some() || burst.is_some()) {
            self.says(
                &place,
                DiagnosticKind::Key,
                format!("ceil and burst are htb's, and hop {name} has none"),
            );
        }
        Some(Queue { shaper, qdisc: words })
    }

    /// The number of a trace among the run's, and what it delivers in the mean.
    fn trace(&mut self, item: &Item) -> Option<(u32, Rate)> {
        let trace = match self.vocabulary.trace(item.text()) {
            Ok(trace) => trace,
            Err(error) => {
                self.word_error(item, error);
                return None;
            }
        };
        let mean = trace.mean_rate();
        let known = self.traces.iter().position(|known| *known == trace);
        let number = known.unwrap_or_else(|| {
            self.traces.push(trace);
            self.traces.len() - 1
        });
        Some((number as u32, mean))
    }

    /// The number of a link among the run's.
    fn link(&mut self, item: &Item) -> Option<u32> {
        if let Err(error) = self.vocabulary.link(item.text()) {
            self.word_error(item, error);
            return None;
        }
        let words = super::one_line(item.text());
        let known = self.links.iter().position(|known| *known == words);
        let number = known.unwrap_or_else(|| {
            self.links.push(words);
            self.links.len() - 1
        });
        Some(number as u32)
    }

    /// Puts an element of `[[hop.element]]` where it belongs.
    fn place_element(&mut self, table: &Fields, owner: &Fields, named: &Named, hop: &mut Hop) {
        let Some(name) = table.text("name").map(str::to_owned) else { return };
        if name == NETEM || name == QDISC {
            let place = table.place_of("name");
            let message = format!("\"{name}\" is the name of the hop's own {name}");
            self.says(&place, DiagnosticKind::Name, message);
            return;
        }
        let Some(kind) = self.element_kind(table, owner, named, &hop.stack.clone()) else { return };
        let for_nobody = |select: &Selector| matches!(select, Selector::Flows(f) if f.is_empty());
        if let Kind::Rewrite(Rewrite { select, .. }) | Kind::Middlebox(Middlebox { select, .. }) =
            &kind
            && for_nobody(select)
        {
            return;
        }
        let enabled = table.bool("enabled").unwrap_or(true);
        let sides: &[Side] = match table.text("side") {
            Some("up") => &[Side::Up],
            Some("both") => &[Side::Down, Side::Up],
            _ => &[Side::Down],
        };
        for side in sides {
            let elements = match side {
                Side::Down => &mut hop.down,
                Side::Up => &mut hop.up,
            };
            let (anchor, after) = match (table.given("before"), table.given("after")) {
                (Some(item), None) => (Some(item), false),
                (None, Some(item)) => (Some(item), true),
                (None, None) => (None, false),
                (Some(_), Some(item)) => {
                    let place = item.place.clone();
                    self.says(
                        &place,
                        DiagnosticKind::Key,
                        "an element is before or after another, not both",
                    );
                    return;
                }
            };
            let wanted = anchor.map_or(QDISC, Item::text);
            let index = match (elements.iter().position(|e| e.name == wanted), anchor) {
                (Some(i), _) => i + usize::from(after),
                (None, None) => elements.len(),
                (None, Some(item)) => {
                    let names: Vec<String> = elements.iter().map(|e| e.name.clone()).collect();
                    let place = item.place.clone();
                    self.unknown(&place, "element", wanted, names.iter().map(String::as_str));
                    return;
                }
            };
            elements.insert(index, Element { name: name.clone(), enabled, kind: kind.clone() });
        }
    }

    fn element_kind(
        &mut self,
        table: &Fields,
        owner: &Fields,
        named: &Named,
        stack: &str,
    ) -> Option<Kind> {
        use ElementKind as Is;
        let kinds =
            [Is::Rewrite, Is::Policer, Is::AggregatingLink, Is::Wifi, Is::Netem, Is::Middlebox];
        let given: Vec<ElementKind> =
            kinds.into_iter().filter(|k| table.given(k.name()).is_some()).collect();
        let [kind] = given[..] else {
            let place = table.place_of("name");
            let message = if given.is_empty() {
                "this element does nothing".to_owned()
            } else {
                let names: Vec<&str> = given.iter().map(|k| k.name()).collect();
                format!("an element is one thing, not {}", names.join(" and "))
            };
            self.diagnostics.push(place.says(DiagnosticKind::Key, message).help(
                "give exactly one of rewrite, policer, aggregating_link, wifi, netem and middlebox",
            ));
            return None;
        };
        match kind {
            Is::Rewrite => self.rewrite(table.table(kind.name())?, named).map(Kind::Rewrite),
            Is::Policer => {
                let t = table.table(kind.name())?;
                let exceed = match t.text("exceed") {
                    Some("mark") => PoliceAction::Mark,
                    _ => PoliceAction::Drop,
                };
                Some(Kind::Policer(Policer {
                    rate: t.rate("rate")?,
                    burst: match t.item("burst")?.val {
                        Val::Count(n) => n,
                        Val::Bdp(multiple) => {
                            let bdp =
                                t.rate("rate").zip(base_rtt(owner)).map(|(r, rtt)| bdp::of(r, rtt));
                            self.bytes(multiple, bdp, &t.place_of("burst"))?
                        }
                        _ => return None,
                    },
                    exceed,
                }))
            }
            Is::AggregatingLink => {
                self.aggregating_link(table.table(kind.name())?).map(Kind::AggregatingLink)
            }
            Is::Wifi => self.wifi(table.table(kind.name())?).map(Kind::Wifi),
            Is::Netem => {
                let chain = self.netems(table.list(kind.name()), stack, None);
                Some(Kind::Netem(Netem { chain, per_flow: Vec::new() }))
            }
            Is::Middlebox => {
                let t = table.table(kind.name())?;
                let words = self.own_words(t.item("words")?, |v, words| v.middlebox(words));
                let select = self.selector(t, named)?;
                Some(Kind::Middlebox(Middlebox { words, select }))
            }
            // A hop has its queue by itself, and a `[[tunnel]]` its ends.
            Is::Queue | Is::Encapsulate | Is::Decapsulate => None,
        }
    }

    fn rewrite(&mut self, t: &Fields, named: &Named) -> Option<Rewrite> {
        let kind = RuleKind::from_name(t.text("rule")?)?;
        let needs = |resolver: &mut Self, key: &str| {
            let place = t.place_of("rule");
            resolver.says(&place, DiagnosticKind::Key, format!("{kind} needs {key}"));
        };
        let rule = match kind {
            RuleKind::BleachEcn => Rule::BleachEcn { keep_dscp: t.bool("keep_dscp")? },
            RuleKind::BleachCe => Rule::BleachCe,
            RuleKind::DscpToEct1 => Rule::DscpToEct1,
            RuleKind::DscpToNotect => Rule::DscpToNotect,
            RuleKind::DscpToNotectEct1 => Rule::DscpToNotectEct1,
            RuleKind::Ect0ToEct1 => Rule::Ect0ToEct1,
            RuleKind::Ect1ToEct0 => Rule::Ect1ToEct0,
            RuleKind::CeToEct => {
                let Some(ecn @ (Ecn::Ect0 | Ecn::Ect1)) = t.ecn("ecn") else {
                    needs(self, "ecn = \"ect0\" or \"ect1\"");
                    return None;
                };
                Rule::CeToEct { ecn }
            }
            RuleKind::SetDscp => {
                let Some(to) = t.dscp("to") else {
                    needs(self, "to, the DSCP that is set");
                    return None;
                };
                Rule::SetDscp { to }
            }
            RuleKind::ClassifyByLength => {
                let (Some(longer_than), Some(ecn)) = (t.count("longer_than"), t.ecn("ecn")) else {
                    needs(self, "longer_than and ecn");
                    return None;
                };
                Rule::ClassifyByLength { longer_than: longer_than as u32, ecn, to: t.dscp("to") }
            }
        };
        let select = self.selector(t, named)?;
        let by_default =
            matches!(rule, Rule::BleachEcn { .. } | Rule::DscpToNotect | Rule::DscpToNotectEct1);
        Some(Rewrite { rule, select, syn: t.bool("syn").unwrap_or(by_default) })
    }

    /// Which packets an element is for.
    fn selector(&mut self, t: &Fields, named: &Named) -> Option<Selector> {
        match (t.dscp("dscp"), t.given("flows")) {
            (None, None) => Some(Selector::All),
            (Some(dscp), None) => Some(Selector::Dscp(dscp)),
            (None, Some(_)) => Some(Selector::Flows(self.members(t.list("flows"), named))),
            (Some(_), Some(item)) => {
                let place = item.place.clone();
                self.says(
                    &place,
                    DiagnosticKind::Key,
                    "a rule selects by dscp or by flows, not both",
                );
                None
            }
        }
    }

    fn ladder(&mut self, t: &Fields) -> Vec<Rate> {
        let rates: Vec<Rate> = t.list("rates").iter().filter_map(Item::rate).collect();
        if rates.is_empty() || rates.windows(2).any(|w| w[0] >= w[1]) {
            let place = t.place_of("rates");
            self.says(&place, DiagnosticKind::Value, "the ladder of rates ascends");
        }
        rates
    }

    fn wifi(&mut self, t: &Fields) -> Option<Wifi> {
        let load = t.number("neighbour_load")?;
        let transfer = t.span("neighbour_transfer")?;
        Some(Wifi {
            rates: self.ladder(t),
            dwell: t.span("dwell")?,
            frames: t.count("frames")? as u32,
            airtime: t.span("airtime")?,
            frame_errors: t.number("frame_errors")?,
            retries: t.count("retries")? as u32,
            line: t.rate("line")?,
            limit: t.count("limit")? as u32,
            neighbours: (load > 0.0).then_some(Neighbours { load, transfer }),
        })
    }

    fn aggregating_link(&mut self, t: &Fields) -> Option<AggregatingLink> {
        let rates = self.ladder(t);
        let (opportunity_min, opportunity_max) =
            (t.span("opportunity_min")?, t.span("opportunity_max")?);
        if opportunity_min > opportunity_max {
            let place = t.place_of("opportunity_min");
            self.says(&place, DiagnosticKind::Value, "opportunity_min is above opportunity_max");
        }
        Some(AggregatingLink {
            rates,
            dwell: t.span("dwell")?,
            opportunity_min,
            opportunity_max,
            frames: t.count("frames")? as u32,
            airtime: t.span("airtime")?,
            line: t.rate("line")?,
            limit: t.count("limit")? as u32,
        })
    }

    /// The rule that `bleach = "HOP"` of a flow stands for.
    fn bleached(&mut self, root: &Fields, named: &Named, hops: &mut [Hop]) {
        for (index, table) in root.tables("flow").iter().enumerate() {
            let members = named.of(index).to_vec();
            let (Some(item), false) = (table.given("bleach"), members.is_empty()) else { continue };
            let Some(hop) = hops.iter_mut().find(|h| h.name == item.text()) else {
                let names: Vec<String> = hops.iter().map(|h| h.name.clone()).collect();
                let place = item.place.clone();
                self.unknown(&place, "hop", item.text(), names.iter().map(String::as_str));
                continue;
            };
            let elements = match table.text("direction") {
                Some("up") => &mut hop.up,
                _ => &mut hop.down,
            };
            let at = elements.iter().position(|e| e.name == QDISC).unwrap_or(elements.len());
            let rewrite = Rewrite {
                rule: Rule::BleachEcn { keep_dscp: false },
                select: Selector::Flows(members),
                syn: true,
            };
            let name = format!("bleach-{}", table.text("name").unwrap_or(""));
            elements.insert(at, Element { name, enabled: true, kind: Kind::Rewrite(rewrite) });
        }
    }

    pub(super) fn tunnels(&mut self, root: &Fields, named: &Named, hops: &mut [Hop]) {
        self.unique("tunnel", root.tables("tunnel"));
        for table in root.tables("tunnel") {
            if table.bool("enabled") == Some(false) {
                continue;
            }
            let over = self.hops_of(table, root);
            let (Some(&first), Some(&last), Some(name)) =
                (over.first(), over.last(), table.text("name").map(str::to_owned))
            else {
                continue;
            };
            let select = match table.given("flows") {
                Some(_) => Selector::Flows(self.members(table.list("flows"), named)),
                None => Selector::All,
            };
            let auto_source_port = table.bool("auto_source_port").unwrap_or(false);
            let (kind, overhead, window) = match table
                .text("kind")
                .and_then(TunnelProtocol::from_name)
            {
                Some(TunnelProtocol::Wireguard) => (TunnelKind::Wireguard, 60, 8192),
                Some(TunnelProtocol::Esp) => (TunnelKind::Esp, 54, 32),
                Some(TunnelProtocol::Fou) | None => (TunnelKind::Fou { auto_source_port }, 28, 0),
            };
            if auto_source_port && !matches!(kind, TunnelKind::Fou { .. }) {
                let place = table.place_of("auto_source_port");
                self.says(&place, DiagnosticKind::Key, "auto_source_port is for fou");
            }
            let by = table.text("by").and_then(By::from_name).filter(|by| *by != By::Sojourn);
            if by.is_some() && table.given("overhead").is_some() {
                let place = table.place_of("overhead");
                let what =
                    "the kernel adds what it adds: leave overhead out, or write by = \"sojourn\"";
                self.says(&place, DiagnosticKind::Key, what);
            }
            let tunnel = Tunnel {
                kind,
                select,
                overhead: table.count("overhead").unwrap_or(overhead) as u32,
                replay_window: table.count("replay_window").unwrap_or(window) as u32,
                by,
            };
            let enter =
                Element { name: name.clone(), enabled: true, kind: Kind::Encapsulate(tunnel) };
            let leave = Element {
                name: format!("{name}-exit"),
                enabled: true,
                kind: Kind::Decapsulate { tunnel: name },
            };
            hops[first].down.insert(0, enter.clone());
            hops[last].down.push(leave.clone());
            hops[last].up.insert(0, enter);
            hops[first].up.push(leave);
        }
    }
}

/// The part of a round trip on one side of a hop.
pub(super) fn share(table: &Fields, side: Side, rtt: Span) -> Span {
    match (table.text("delay_on"), side) {
        (Some("down"), Side::Down) | (Some("up"), Side::Up) => rtt,
        (Some("down" | "up"), _) => Span::ZERO,
        (_, Side::Down) => rtt / 2,
        (_, Side::Up) => rtt - rtt / 2,
    }
}
