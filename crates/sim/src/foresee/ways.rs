//! What limits and delays packets on their ways, as far as the scenario says it: rates over time, delays, limits.

use sojourn_model::{
    Action, Direction, Element, Flow, Kind, Queue, Scenario, Shaper, TcWords, When,
};
use sojourn_qdisc::netem::Parameters;
use sojourn_qdisc::table;
use sojourn_qdisc::{Packet, QdiscQuirks, Registry};
use sojourn_units::{Rate, parse_size};
use std::collections::BTreeMap;

/// A full Ethernet frame as queues count it, bytes.
pub(super) const FRAME: f64 = 1514.0;

/// One element of a scenario.
pub(super) struct Station<'a> {
    /// Its path.
    pub(super) path: String,
    /// Bits a second, each from a time on, s from the run's beginning; empty where nothing limits.
    rates: Vec<(f64, f64)>,
    /// Packets that wait in it at most, where its words say so.
    pub(super) limit: Option<f64>,
    /// The delay of the whole chain, s.
    delay: f64,
    /// The first one's part of it; a flow's own delay replaces that.
    first: f64,
    /// The share of packets that get through.
    passes: f64,
    own: BTreeMap<&'a str, f64>,
}

impl Station<'_> {
    /// Its lowest rate, where it has one.
    fn slowest(&self) -> Option<f64> {
        self.rates.iter().map(|r| r.1).min_by(f64::total_cmp)
    }

    /// Bits that it carries between two times.
    pub(super) fn bits(&self, from: f64, to: f64) -> f64 {
        let ends = self.rates.iter().skip(1).map(|r| r.0).chain([f64::INFINITY]);
        let parts = self.rates.iter().zip(ends);
        parts.map(|(&(begin, rate), end)| rate * (end.min(to) - begin.max(from)).max(0.0)).sum()
    }

    fn delay_of(&self, flow: &str) -> f64 {
        self.own.get(flow).map_or(self.delay, |own| self.delay - self.first + own)
    }
}

/// The way of a flow: places in [`Ways::stations`].
pub(super) struct Way {
    /// What its data passes.
    pub(super) data: Vec<usize>,
    back: Vec<usize>,
    /// The slowest that its data passes.
    pub(super) bottleneck: Option<usize>,
}

/// Every element, and who passes which.
pub(super) struct Ways<'a> {
    pub(super) stations: Vec<Station<'a>>,
    ways: BTreeMap<(bool, &'a [usize]), Way>,
}

impl<'a> Ways<'a> {
    pub(super) fn of<P: Packet>(scenario: &'a Scenario, registry: &Registry<P>) -> Self {
        let stations: Vec<Station<'a>> =
            scenario.elements().map(|(path, e)| station(scenario, registry, path, e)).collect();
        // Elements are in the order of hops, `down` before `up`.
        let mut next = 0;
        let mut places = |count: usize| {
            next += count;
            (next - count..next).collect::<Vec<_>>()
        };
        let hops: Vec<_> =
            scenario.hops.iter().map(|h| (places(h.down.len()), places(h.up.len()))).collect();
        let mut ways = BTreeMap::new();
        for flow in &scenario.flows {
            ways.entry(key(flow)).or_insert_with(|| {
                let down: Vec<usize> =
                    flow.hops.iter().flat_map(|&h| hops[h].0.iter().copied()).collect();
                let up: Vec<usize> =
                    flow.hops.iter().rev().flat_map(|&h| hops[h].1.iter().copied()).collect();
                let (data, back) = match flow.direction {
                    Direction::Down => (down, up),
                    Direction::Up => (up, down),
                };
                let rated = data.iter().filter_map(|&s| Some((stations[s].slowest()?, s)));
                let bottleneck = rated.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, s)| s);
                Way { data, back, bottleneck }
            });
        }
        Self { stations, ways }
    }

    pub(super) fn way(&self, flow: &'a Flow) -> &Way {
        &self.ways[&key(flow)]
    }

    /// The delays of a flow's data and of what comes back, without queues, s.
    pub(super) fn delays(&self, flow: &'a Flow) -> (f64, f64) {
        let way = self.way(flow);
        let of = |places: &[usize]| -> f64 {
            places.iter().map(|&s| self.stations[s].delay_of(&flow.name)).sum()
        };
        (of(&way.data), of(&way.back))
    }

    /// The share of a flow's data packets that elements lose in any case.
    pub(super) fn loss(&self, flow: &'a Flow) -> f64 {
        let passes = self.way(flow).data.iter().map(|&s| self.stations[s].passes);
        1.0 - passes.product::<f64>()
    }
}

fn key(flow: &Flow) -> (bool, &[usize]) {
    (flow.direction == Direction::Up, &flow.hops)
}

fn bits(rate: Rate) -> f64 {
    rate.bits_per_sec() as f64
}

fn mean(rates: &[Rate]) -> f64 {
    rates.iter().map(|&r| bits(r)).sum::<f64>() / rates.len().max(1) as f64
}

fn station<'a, P: Packet>(
    scenario: &Scenario,
    registry: &Registry<P>,
    path: String,
    element: &'a Element,
) -> Station<'a> {
    let mut made = Station {
        rates: Vec::new(),
        limit: None,
        delay: 0.0,
        first: 0.0,
        passes: 1.0,
        own: BTreeMap::new(),
        path,
    };
    let mut rate = None;
    match &element.kind {
        Kind::Queue(queue) => {
            rate = queue.capacity().map(bits);
            made.limit = limit(registry, &queue.qdisc);
        }
        Kind::Netem(netem) if element.enabled => {
            let read = netem.chain.iter().map(|w| Parameters::parse(w, &QdiscQuirks::default()));
            let netems: Vec<Parameters> = read.filter_map(Result::ok).collect();
            let delay = |n: &Parameters| n.delay().as_secs_f64();
            made.delay = netems.iter().map(delay).sum();
            made.first = netems.first().map_or(0.0, delay);
            made.passes = netems.iter().map(|n| 1.0 - n.loss()).product();
            made.limit = netems.iter().map(|n| f64::from(n.limit())).min_by(f64::total_cmp);
            rate = netems.iter().filter_map(|n| n.rate().map(bits)).min_by(f64::total_cmp);
            let own = netem.per_flow.iter().map(|o| (o.flow.as_str(), o.delay.as_secs_f64()));
            made.own = own.collect();
        }
        Kind::Policer(policer) if element.enabled => rate = Some(bits(policer.rate)),
        Kind::AggregatingLink(link) => {
            rate = Some(mean(&link.rates).min(bits(link.line)));
            made.limit = Some(f64::from(link.limit));
        }
        Kind::Wifi(wifi) => {
            rate = Some(mean(&wifi.rates).min(bits(wifi.line)));
            made.limit = Some(f64::from(wifi.limit));
        }
        _ => {}
    }
    made.rates = steps(scenario, &made.path, rate);
    made
}

/// A rate and what events at plain times make of it.
fn steps(scenario: &Scenario, path: &str, first: Option<f64>) -> Vec<(f64, f64)> {
    let mut steps: Vec<(f64, f64)> = first.map(|rate| (0.0, rate)).into_iter().collect();
    for event in &scenario.events {
        let When::At(at) = event.when else { continue };
        for action in event.actions.iter().filter(|a| a.element() == Some(path)) {
            let rate = match action {
                Action::Rate { rate, .. } => Some(*rate),
                Action::ReplaceQdisc { shaper: Some(shaper), .. } => capacity(*shaper),
                _ => None,
            };
            if let Some(rate) = rate {
                steps.push((scenario.clock(at).as_secs_f64(), bits(rate)));
            }
        }
    }
    steps.sort_by(|a, b| a.0.total_cmp(&b.0));
    steps
}

fn capacity(shaper: Shaper) -> Option<Rate> {
    Queue { shaper, qdisc: TcWords::default() }.capacity()
}

/// How many packets a discipline holds at most: its `limit`, or its child's.
fn limit<P: Packet>(registry: &Registry<P>, words: &TcWords) -> Option<f64> {
    let words: Vec<&str> = words.words().collect();
    let named = |word: &&str| registry.info(&word.to_ascii_lowercase());
    let at = words.iter().rposition(|word| named(word).is_some())?;
    let info = named(&words[at])?;
    let option = info.options.iter().find(|o| o.name == "limit")?;
    let own = &words[at..];
    let given = own.iter().position(|word| option.words().any(|w| w == *word));
    let value = match given {
        Some(place) => own.get(place + 1).copied(),
        None => option.preset.words(&QdiscQuirks::default()),
    }?;
    match option.values.first()?.kind {
        table::Kind::Size { .. } => Some(parse_size(value).ok()? as f64 / FRAME),
        table::Kind::Count { .. } => value.parse().ok(),
        _ => None,
    }
}
