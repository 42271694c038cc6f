//! The way of flows that pass by a hop.
//!
//! The hops form a chain, so packets that skip a hop must get around it. A hop that some flow skips has a second pair
//! of devices to each of its neighbours, `by-s` next to `s` and `by-c` next to `c`:
//!
//! ```text
//!        ┌ s ──── delay, queue ──── c ┐
//! before ┤                            ├ behind
//!        └ by-s ──────────────── by-c ┘
//! ```
//!
//! An ingress filter sends packets of such a flow out by the device next to the hop's other one, before a rewriter or
//! policer sees them. Where they arrive they are handed to the first pair's device as if they had come by it: the next
//! hop, or host, knows no difference.
//!
//! Invariants: both pairs have the same addresses, for a host takes frames to its own alone; a device of the second
//! pair has no discipline and no delay.

use crate::places::place;
use crate::rewrite;
use sojourn_model::{Flow, Ip, Scenario, Side};

/// How many priorities the filters of this module take, before all others.
const PRIORITIES: usize = 2;

/// Whether a flow passes by a hop.
pub(crate) fn passes_by(flow: &Flow, hop: usize) -> bool {
    !flow.hops.contains(&hop)
}

/// Whether any flow passes by a hop, so that there must be a way.
pub(crate) fn is_at(scenario: &Scenario, hop: usize) -> bool {
    scenario.flows.iter().any(|flow| passes_by(flow, hop))
}

/// How many priorities of filters are taken where packets come into a hop.
pub(crate) fn priorities(scenario: &Scenario, hop: usize) -> usize {
    if is_at(scenario, hop) { PRIORITIES } else { 0 }
}

/// The device next to `s` or `c`.
pub(crate) fn neighbour(device: &str) -> &'static str {
    if device == "s" { "by-s" } else { "by-c" }
}

/// Whether there is a second pair between two neighbours, `link` being the place of the one behind among all nodes but
/// the first: hop 0 is behind link 0.
pub(crate) fn on_link(scenario: &Scenario, link: usize) -> bool {
    let hops = scenario.hops.len();
    (link < hops && is_at(scenario, link)) || (link > 0 && is_at(scenario, link - 1))
}

/// tc's words that hand over packets from the device next to another.
pub(crate) fn hand_over(device: &str) -> [String; 2] {
    let neighbour = neighbour(device);
    [
        format!("qdisc add dev {neighbour} handle ffff: ingress"),
        format!(
            "filter add dev {neighbour} parent ffff: protocol all prio 1 matchall \
             action mirred ingress redirect dev {device}"
        ),
    ]
}

/// tc's words that send the flows that pass by a hop past it.
pub(crate) fn around(scenario: &Scenario, hop: usize, side: Side) -> Vec<String> {
    let place = place(hop, side);
    let mut words = Vec::new();
    for (i, flow) in scenario.flows.iter().enumerate().filter(|(_, flow)| passes_by(flow, hop)) {
        // Of each protocol filters have a priority of their own.
        let protocol = match flow.ip {
            Ip::V4 => "ip prio 1",
            Ip::V6 => "ipv6 prio 2",
        };
        for packets in rewrite::of_flow(i, flow) {
            words.push(format!(
                "filter add dev {} parent ffff: protocol {protocol} u32 {packets} \
                 action mirred egress redirect dev {}",
                place.from,
                neighbour(place.to)
            ));
        }
    }
    words
}
