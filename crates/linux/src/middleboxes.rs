//! Rewriters and policers, which tc has where packets come in, and what is switched on and off by events.
//!
//! Each has the filters of one priority, or of a few: those of the first element of a side come first. One that is switched
//! off has no filters.
//!
//! tc's police can drop and not mark. A policer that marks is therefore one action with one bucket that several filters
//! share, one for each ECN field; excess packets go on to the filter's next actions, which are the field's own. No
//! packet passes two of them: those with CE are asked first, and no other field is changed to one that is asked later.

use crate::places::{element_at, find, place};
use crate::{bypass, rewrite, schedule};
use sojourn_engine::tc::tc_rate;
use sojourn_model::{Action, Element, Ip, Kind, PoliceAction, Policer, Scenario, Side};
use sojourn_units::Ecn;

/// Bytes of the Ethernet header, which queues count and a filter where packets come in does not.
const ETHERNET: u32 = 14;

/// The numbers of actions that count what a policer marks and drops begin here, above those that the kernel gives itself.
const COUNTERS: usize = 1_000;

/// A filter: its protocol and priority, and the other words.
#[derive(Debug)]
struct Filter {
    protocol: &'static str,
    prio: usize,
    words: String,
}

/// The numbers by which tc's actions of a policer are asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Numbers {
    /// Of the bucket.
    pub(crate) bucket: usize,
    /// Of the actions that count marks and drops, where it marks.
    pub(crate) counters: Option<[usize; 2]>,
}

/// Whether this module handles this kind of element.
pub(crate) const fn is_one(kind: &Kind) -> bool {
    matches!(kind, Kind::Rewrite(_) | Kind::Policer(_))
}

/// A rewriter or policer of a side.
#[derive(Debug)]
pub(crate) struct Middlebox<'a> {
    pub(crate) element: &'a Element,
    device: &'static str,
    filters: Vec<Filter>,
    /// A policer's numbers in its namespace.
    pub(crate) numbers: Option<Numbers>,
}

/// Those of a side, in order.
pub(crate) fn of_side<'a>(scenario: &'a Scenario, hop: usize, side: Side) -> Vec<Middlebox<'a>> {
    let device = place(hop, side).from;
    let elements = scenario.hops[hop].side(side).iter().filter(|e| is_one(&e.kind));
    let mut prio = bypass::priorities(scenario, hop);
    let middlebox = |(number, element): (usize, &'a Element)| {
        prio += 1;
        // Both sides of a hop are in one namespace.
        let number = 2 * number + usize::from(side == Side::Up) + 1;
        let (filters, numbers): (Vec<Filter>, _) = match &element.kind {
            Kind::Rewrite(rewrite) => {
                let of_version = |(prio, ip): (usize, Ip)| {
                    let protocol = if ip == Ip::V4 { "ip" } else { "ipv6" };
                    let words = rewrite::filters(scenario, rewrite, ip).into_iter();
                    words.map(move |words| Filter { protocol, prio, words })
                };
                let versions = rewrite::versions(scenario).into_iter();
                ((prio..).zip(versions).flat_map(of_version).collect(), None)
            }
            Kind::Policer(policer) => match policer.exceed {
                PoliceAction::Drop => {
                    let words = format!("matchall {}", police(policer, "drop", number));
                    let numbers = Numbers { bucket: number, counters: None };
                    (vec![Filter { protocol: "all", prio, words }], Some(numbers))
                }
                PoliceAction::Mark => {
                    let counters = [COUNTERS + 2 * number, COUNTERS + 2 * number + 1];
                    let numbers = Numbers { bucket: number, counters: Some(counters) };
                    (marking(policer, prio, number, counters), Some(numbers))
                }
            },
            _ => (Vec::new(), None),
        };
        prio = filters.iter().map(|filter| filter.prio).max().unwrap_or(prio);
        Middlebox { element, device, filters, numbers }
    };
    elements.enumerate().map(middlebox).collect()
}

/// tc's police with a rate and a burst alone, and an action for the excess. Conforming packets go on to the next
/// filter.
fn police(policer: &Policer, exceed: &str, index: usize) -> String {
    let Policer { rate, burst, .. } = policer;
    format!(
        "action police rate {} burst {burst} overhead {ETHERNET} conform-exceed {exceed}/continue index {index}",
        tc_rate(*rate)
    )
}

/// The filters of a policer that marks ECN-capable packets and drops the others; packets with CE pass.
fn marking(policer: &Policer, first: usize, index: usize, counters: [usize; 2]) -> Vec<Filter> {
    let police = police(policer, "pipe", index);
    let [marks, drops] = counters;
    let ce = Ecn::Ce.bits();
    let mut filters = Vec::new();
    for (protocol, first) in [("ip", first), ("ipv6", first + 2)] {
        // Version 6 has its traffic class across the first two bytes.
        let (field, mark) = if protocol == "ip" {
            let field: fn(u8) -> String = |ecn| format!("match ip tos {ecn:#04x} 0x03");
            (
                field,
                format!("pedit munge ip tos set {ce:#04x} retain 0x03 pipe action csum ip4h pipe"),
            )
        } else {
            let field: fn(u8) -> String = |ecn| format!("match u8 {:#04x} 0x30 at 1", ecn << 4);
            (field, format!("pedit munge offset 1 u8 set {:#04x} retain 0x30 pipe", ce << 4))
        };
        for ecn in [Ecn::Ce, Ecn::NotEct, Ecn::Ect0, Ecn::Ect1] {
            let (prio, then) = match ecn {
                Ecn::Ce => (first, "gact continue".to_owned()),
                Ecn::NotEct => (first + 1, format!("gact drop index {drops}")),
                Ecn::Ect0 | Ecn::Ect1 => {
                    (first + 1, format!("{mark} action gact continue index {marks}"))
                }
            };
            let words = format!("u32 {} {police} action {then}", field(ecn.bits()));
            filters.push(Filter { protocol, prio, words });
        }
    }
    filters
}

impl Middlebox<'_> {
    /// tc's words that put it there.
    pub(crate) fn on(&self) -> Vec<String> {
        let add = |Filter { protocol, prio, words }: &Filter| {
            let device = self.device;
            format!("filter add dev {device} parent ffff: protocol {protocol} prio {prio} {words}")
        };
        self.filters.iter().map(add).collect()
    }

    /// tc's words that take it away.
    fn off(&self) -> Vec<String> {
        let device = self.device;
        let del = |Filter { protocol, prio, .. }: &Filter| {
            format!("filter del dev {device} parent ffff: protocol {protocol} prio {prio}")
        };
        let mut words: Vec<String> = self.filters.iter().map(del).collect();
        words.dedup();
        words
    }
}

/// The element that an action switches, and to what.
pub(crate) const fn switches(action: &Action) -> Option<(&String, bool)> {
    match action {
        Action::Enable { element } => Some((element, true)),
        Action::Disable { element } => Some((element, false)),
        _ => None,
    }
}

/// Whether any event switches this element.
pub(crate) fn is_switched(scenario: &Scenario, path: &str) -> bool {
    let mut actions = scenario.events.iter().flat_map(|event| &event.actions);
    actions.any(|action| switches(action).is_some_and(|(element, _)| element == path))
}

/// tc's words when an event switches a middlebox: nothing where that is as it should be already.
pub(crate) fn switch(
    scenario: &Scenario,
    (event, number): (usize, usize),
    path: &str,
    to: bool,
) -> Option<(String, Vec<String>)> {
    let (hop, side) = find(scenario, path)?;
    let ns = place(hop, side).ns;
    let element = element_at(scenario, path)?;
    if acts_before(scenario, path, event, number) == to {
        return Some((ns, Vec::new()));
    }
    let middleboxes = of_side(scenario, hop, side);
    let own = middleboxes.iter().find(|m| m.element.name == element.name)?;
    Some((ns, if to { own.on() } else { own.off() }))
}

/// Whether an element acts when an action comes: as the last one before it has left it.
fn acts_before(scenario: &Scenario, path: &str, event: usize, number: usize) -> bool {
    let earlier = schedule::earlier(scenario, path, event, number).unwrap_or_default();
    let last = earlier.into_iter().filter_map(switches).next_back();
    last.map_or_else(
        || element_at(scenario, path).is_some_and(|element| element.enabled),
        |(_, to)| to,
    )
}
