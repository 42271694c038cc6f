//! What the settings of hops amount to for packets on their way: rates, base RTTs, bandwidth-delay products.

use super::bdp;
use super::decode::Fields;
use sojourn_units::{Rate, Span};

/// The base RTT of a hop: as given, or the delays of its sides together.
pub(crate) fn base_rtt(table: &Fields) -> Option<Span> {
    let delay = |side: &str| table.table(side).and_then(|t| t.span("delay"));
    let both = || delay("down").map(|down| down + delay("up").unwrap_or(down));
    table.span("rtt").or_else(both).filter(|rtt| !rtt.is_zero())
}

/// The rate of one side of a hop, `down` or `up`, as its settings have it.
pub(crate) fn rate_of(hop: &Fields, side: &str) -> Option<Rate> {
    let of = |t: &Fields| t.rate("rate");
    hop.table(side).and_then(of).or_else(|| of(hop)).or_else(|| hop.table("down").and_then(of))
}

/// The product of a flow's path, bytes: the lowest rate that its data meets times its own RTT, or the sum of its hops'.
pub(crate) fn bdp_of<'a>(
    flow: &Fields,
    hops: impl Iterator<Item = &'a Fields> + Clone,
) -> Option<f64> {
    let side = flow.text("direction").unwrap_or("down");
    let rate = hops.clone().filter_map(|hop| rate_of(hop, side)).min()?;
    let together = || hops.filter_map(base_rtt).fold(Span::ZERO, |sum, rtt| sum + rtt);
    Some(bdp::of(rate, flow.span("rtt").unwrap_or_else(together))).filter(|bdp| *bdp > 0.0)
}
