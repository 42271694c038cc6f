//! Quantities: the columns that metrics are functions of, by the names that expressions use.

use super::Unit;

/// Where a quantity's values are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Table {
    /// A column of `flows`; of `pings` for a probe's `rtt`.
    Flows(&'static str),
    /// A column of `queues`.
    Queues(&'static str),
    /// The histogram of this quantity, of queues.
    QueueHistogram(&'static str),
    /// The histogram of this quantity, of flows.
    FlowHistogram(&'static str),
    /// One-way delays of `delays`, less the least of them.
    DelayVariation,
    /// A column of `completions`.
    Completions(&'static str),
    /// A column of `pings`.
    Probes(&'static str),
    /// How much a column of `pings` differs from one packet to the next.
    Variation(&'static str),
    /// A column of `segments`.
    Segments(&'static str),
}

/// A quantity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quantity {
    /// Its name in expressions.
    pub name: &'static str,
    /// Its name on an axis.
    pub label: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Where its values are.
    pub table: Table,
    /// What it is.
    pub doc: &'static str,
}

const fn flow(
    name: &'static str,
    label: &'static str,
    unit: Unit,
    column: &'static str,
    doc: &'static str,
) -> Quantity {
    Quantity { name, label, unit, table: Table::Flows(column), doc }
}

const fn queue(
    name: &'static str,
    label: &'static str,
    unit: Unit,
    column: &'static str,
    doc: &'static str,
) -> Quantity {
    Quantity { name, label, unit, table: Table::Queues(column), doc }
}

const fn elsewhere(
    name: &'static str,
    label: &'static str,
    unit: Unit,
    table: Table,
    doc: &'static str,
) -> Quantity {
    Quantity { name, label, unit, table, doc }
}

/// Every quantity. In addition, `state.NAME` is a controller's own number of that name.
pub const QUANTITIES: &[Quantity] = &[
    flow(
        "delivery_rate",
        "delivery rate",
        Unit::BitsPerSecond,
        "delivery_rate_bps",
        "the kernel's delivery-rate samples; those that are zero are left out, as in the published tables",
    ),
    flow(
        "goodput",
        "goodput",
        Unit::BitsPerSecond,
        "goodput_bps",
        "payload that arrives in order, per sample interval",
    ),
    flow(
        "rtt",
        "RTT",
        Unit::Seconds,
        "rtt_s",
        "latest RTT sample; of a probe, each packet's round trip",
    ),
    flow("srtt", "smoothed RTT", Unit::Seconds, "srtt_s", "smoothed RTT, what `ss` shows"),
    flow("cwnd", "congestion window", Unit::Packets, "cwnd", "congestion window"),
    flow("inflight", "packets in flight", Unit::Packets, "inflight", "packets in flight"),
    flow("pacing_rate", "pacing rate", Unit::BitsPerSecond, "pacing_rate_bps", "pacing rate"),
    queue(
        "queue_delay",
        "queue delay",
        Unit::Seconds,
        "sojourn_mean_s",
        "sojourn time: each sample interval's mean, weighted by the packets that left in it",
    ),
    queue(
        "queue_delay_min",
        "least queue delay",
        Unit::Seconds,
        "sojourn_min_s",
        "each sample interval's least sojourn time",
    ),
    queue(
        "queue_delay_max",
        "largest queue delay",
        Unit::Seconds,
        "sojourn_max_s",
        "each sample interval's largest sojourn time",
    ),
    queue(
        "queue_length",
        "queue length",
        Unit::Packets,
        "packets",
        "packets held at the end of each sample interval",
    ),
    queue(
        "queue_bytes",
        "queue length",
        Unit::Bytes,
        "bytes",
        "bytes held at the end of each sample interval",
    ),
    elsewhere(
        "owd",
        "one-way delay",
        Unit::Seconds,
        Table::Probes("owd_s"),
        "one-way delay to the peer of each packet of a probe or voice call (RFC 7679); irtt's send delay",
    ),
    elsewhere(
        "owd_back",
        "one-way delay back",
        Unit::Seconds,
        Table::Probes("owd_back_s"),
        "one-way delay of each reply to a probe; irtt's receive delay",
    ),
    elsewhere(
        "ipdv",
        "delay variation (IPDV)",
        Unit::Seconds,
        Table::Variation("owd_s"),
        "IP packet delay variation (RFC 3393) on the way to the peer: |owd(i) − owd(i−1)| of packets sent one after the other that both came; absolute, as irtt gives it",
    ),
    elsewhere(
        "ipdv_back",
        "delay variation back (IPDV)",
        Unit::Seconds,
        Table::Variation("owd_back_s"),
        "the same of the replies",
    ),
    elsewhere(
        "ipdv_rtt",
        "RTT variation (IPDV)",
        Unit::Seconds,
        Table::Variation("rtt_s"),
        "the same of the round-trip times: |rtt(i) − rtt(i−1)|",
    ),
    elsewhere(
        "completion_time",
        "flow completion time",
        Unit::Seconds,
        Table::Completions("duration_s"),
        "from before a short flow's handshake to its last byte, of a call (`app = \"media\"`) from the encoder to a frame's last packet at the receiver; belongs to the window it started in; percentiles by nearest rank (docs/sources/applications.md)",
    ),
    elsewhere(
        "segment_bitrate",
        "segment bitrate",
        Unit::BitsPerSecond,
        Table::Segments("bitrate_bps"),
        "level of each segment of an adaptive stream, when it had arrived",
    ),
    elsewhere(
        "segment_throughput",
        "segment throughput",
        Unit::BitsPerSecond,
        Table::Segments("throughput_bps"),
        "size over download time of each segment of an adaptive stream, when it had arrived",
    ),
    elsewhere(
        "buffer",
        "playout buffer",
        Unit::Seconds,
        Table::Segments("buffer_s"),
        "playing time in an adaptive stream's buffer at each segment's arrival",
    ),
    elsewhere(
        "sojourn",
        "queue delay",
        Unit::Seconds,
        Table::QueueHistogram("sojourn"),
        "sojourn time of every packet in a queue: of all (`bottleneck.down.qdisc`), of a flow's (`prague at bottleneck.down.qdisc`; `prague` alone where its data pass one queue only)",
    ),
    elsewhere(
        "packet_rtt",
        "RTT",
        Unit::Seconds,
        Table::FlowHistogram("rtt"),
        "RTT of every packet of the whole run, from the flow's histogram; takes no window",
    ),
    elsewhere(
        "packet_owd",
        "one-way delay",
        Unit::Seconds,
        Table::FlowHistogram("owd"),
        "one-way delay of every packet with data, from host to host",
    ),
    elsewhere(
        "pdv",
        "packet delay variation",
        Unit::Seconds,
        Table::DelayVariation,
        "packet delay variation (RFC 5481 §4.2) of every packet with data: its one-way delay less the least of the flow's in the run, which leaves what queues, their lines and jitter added",
    ),
];

impl Quantity {
    /// The quantity of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        QUANTITIES.iter().find(|q| q.name == name)
    }

    /// Whether it is of queues rather than of flows.
    pub const fn is_of_queues(&self) -> bool {
        matches!(self.table, Table::Queues(_))
    }
}
