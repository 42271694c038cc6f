//! The tables of a run. Every time is in seconds from the run's origin; every cumulative count begins at zero
//! with the run, lead included.

use core::fmt;

/// The type of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    /// A number.
    F64,
    /// A count.
    U64,
    /// A name.
    Text,
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F64 => "f64",
            Self::U64 => "u64",
            Self::Text => "text",
        })
    }
}

/// What a column is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ColumnSchema {
    /// Its name, ending in its unit where it has one (`_s`, `_bps`).
    pub name: &'static str,
    /// The type of its values.
    pub ty: Type,
    /// The unit: `s`, `bit/s`, `packets`, `bytes`; empty where there is none.
    pub unit: &'static str,
    /// What it says.
    pub doc: &'static str,
}

/// What a table is.
#[derive(PartialEq, Eq, Debug)]
pub struct Schema {
    /// Its name, which is its file's.
    pub name: &'static str,
    /// What its rows are.
    pub doc: &'static str,
    /// Its columns in order.
    pub columns: &'static [ColumnSchema],
}

impl Schema {
    /// The place of a column.
    pub fn index(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == column)
    }

    /// The schema of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().copied().find(|s| s.name == name)
    }

    /// The table's reference in Markdown.
    pub fn markdown(&self) -> String {
        use core::fmt::Write as _;
        let mut text = format!("### `{}`\n\n{}\n\n", self.name, self.doc);
        text.push_str("| column | type | unit | meaning |\n|---|---|---|---|\n");
        for c in self.columns {
            let _ = writeln!(text, "| `{}` | {} | {} | {} |", c.name, c.ty, c.unit, c.doc);
        }
        text
    }
}

const fn number(name: &'static str, unit: &'static str, doc: &'static str) -> ColumnSchema {
    ColumnSchema { name, ty: Type::F64, unit, doc }
}

const fn count(name: &'static str, unit: &'static str, doc: &'static str) -> ColumnSchema {
    ColumnSchema { name, ty: Type::U64, unit, doc }
}

const fn text(name: &'static str, doc: &'static str) -> ColumnSchema {
    ColumnSchema { name, ty: Type::Text, unit: "", doc }
}

const TIME: ColumnSchema = number("t_s", "s", "end of the step, from the origin");

/// Every table.
pub const ALL: &[&Schema] = &[
    &FLOWS,
    &FLOW_STATE,
    &QUEUES,
    &QUEUE_SIGNALS,
    &QUEUE_STATE,
    &PINGS,
    &COMPLETIONS,
    &SEGMENTS,
    &PLAYBACK,
    &HISTOGRAMS,
    &DELAYS,
    &HAPPENINGS,
    &TOTALS,
    &TC,
];

/// Flows at the recorder's steps.
pub static FLOWS: Schema = Schema {
    name: "flows",
    doc: "One row a step and flow, from the flow's start to its end.",
    columns: &[
        TIME,
        text("flow", "the flow's name"),
        number(
            "goodput_bps",
            "bit/s",
            "payload that arrived in order at the receiver in the step, over the step",
        ),
        number(
            "delivery_rate_bps",
            "bit/s",
            "the latest delivery-rate sample (tcp_info's tcpi_delivery_rate); NaN for other than TCP",
        ),
        number("rtt_s", "s", "the latest RTT sample; NaN before the first"),
        number("srtt_s", "s", "the smoothed RTT; NaN before the first sample"),
        number("rttvar_s", "s", "the RTT's mean deviation; NaN before the first sample"),
        count("cwnd", "packets", "congestion window"),
        count(
            "ssthresh",
            "packets",
            "slow-start threshold; 2147483647 while there is none, as in Linux",
        ),
        count("inflight", "packets", "packets in flight by the sender's reckoning"),
        count("retransmits", "packets", "segments sent again, cumulative"),
        count(
            "lost",
            "packets",
            "segments that the sender held for lost, cumulative; of UDP, datagrams that had not come when 64 later ones had",
        ),
        count("delivered", "packets", "segments known to be delivered, cumulative"),
        count("ce", "packets", "packets with CE that reached the receiver, cumulative"),
        count("ece", "packets", "acknowledgements that told the sender of CE, cumulative"),
        number("pacing_rate_bps", "bit/s", "pacing rate; NaN while the flow is not paced"),
        text("state", "recovery state by Linux's names: Open, Disorder, CWR, Recovery, Loss"),
    ],
};

/// The congestion controls' own numbers.
pub static FLOW_STATE: Schema = Schema {
    name: "flow_state",
    doc: "The congestion controls' own numbers, one row a step, flow and name.",
    columns: &[
        TIME,
        text("flow", "the flow's name"),
        text("name", "the number's name: alpha, w_max, …"),
        number("value", "", "its value"),
    ],
};

/// Queues at the recorder's steps.
pub static QUEUES: Schema = Schema {
    name: "queues",
    doc: "One row a step and queue.",
    columns: &[
        TIME,
        text("queue", "the queue's path: bottleneck.down.qdisc"),
        count("packets", "packets", "packets held"),
        count("bytes", "bytes", "bytes held, Ethernet header included"),
        number(
            "sojourn_min_s",
            "s",
            "least time from enqueue to dequeue among the packets that left in the step; NaN if none did",
        ),
        number("sojourn_mean_s", "s", "their mean; NaN if none left"),
        number("sojourn_max_s", "s", "the largest; NaN if none left"),
        count("sent_packets", "packets", "packets that left, cumulative"),
        count("sent_bytes", "bytes", "bytes that left, Ethernet header included, cumulative"),
        count("marks", "packets", "packets marked CE, cumulative"),
        count("drops", "packets", "packets dropped, cumulative"),
    ],
};

/// Marks and drops by reason.
pub static QUEUE_SIGNALS: Schema = Schema {
    name: "queue_signals",
    doc: "Marks, SCE marks and drops by reason; rows only at the steps in which a count changed.",
    columns: &[
        TIME,
        text("queue", "the queue's path"),
        text("why", "the reason: tail, control_law, early, …"),
        text("kind", "mark (CE), drop, or sce (ECT(0) to ECT(1))"),
        count("count", "packets", "cumulative"),
    ],
};

/// The queue controllers' own numbers.
pub static QUEUE_STATE: Schema = Schema {
    name: "queue_state",
    doc: "The queue controllers' own numbers, one row a step, queue and name.",
    columns: &[
        TIME,
        text("queue", "the queue's path"),
        text("name", "the number's name: prob, count, …"),
        number("value", "", "its value"),
    ],
};

/// Packets of the probes.
pub static PINGS: Schema = Schema {
    name: "pings",
    doc: "One row a packet of a probe (ping, irtt) or of a voice call. `owd_s` is the way to the peer, `owd_back_s` the reply's; irtt calls them send and receive delay.",
    columns: &[
        number(
            "t_s",
            "s",
            "when the reply came (of a voice call: the packet), or the request was sent if none did, from the origin",
        ),
        text("flow", "the probe's name"),
        number("rtt_s", "s", "round-trip time; NaN if lost, and of a voice call"),
        count("sequence", "", "the packet's number, from 0"),
        number(
            "owd_s",
            "s",
            "one-way delay to the peer; NaN if it did not get there, or is not known",
        ),
        number(
            "owd_back_s",
            "s",
            "one-way delay of the reply; NaN if there is none, or it is not known",
        ),
        text(
            "lost",
            "empty if it came; `there` or `back`: lost on that way; `lost`: on which is not known; `late`: still on its way when the run ended",
        ),
    ],
};

/// Short flows that were completed.
pub static COMPLETIONS: Schema = Schema {
    name: "completions",
    doc: "One row a short connection that was completed, or left unfinished when the run ended.",
    columns: &[
        number("t_s", "s", "when it was started, from the origin"),
        text("flow", "the name of the flow that generates it"),
        count("bytes", "bytes", "its length"),
        number("duration_s", "s", "from before the handshake to the last byte; NaN if unfinished"),
    ],
};

/// Segments of adaptive streams.
pub static SEGMENTS: Schema = Schema {
    name: "segments",
    doc: "One row a segment of an adaptive stream, when it had arrived.",
    columns: &[
        number("t_s", "s", "when it had arrived, from the origin"),
        text("flow", "the stream's name"),
        number("bitrate_bps", "bit/s", "the level of the ladder"),
        number("throughput_bps", "bit/s", "its size over its download time"),
        number("buffer_s", "s", "playing time in the buffer then"),
        number("stalled_s", "s", "time stalled so far, cumulative"),
        count("number", "", "the segment's place in the stream, from 0"),
        number("requested_s", "s", "when it was asked for, from the origin"),
        count("bytes", "bytes", "its size"),
    ],
};

/// What adaptive streams play.
pub static PLAYBACK: Schema = Schema {
    name: "playback",
    doc: "What an adaptive stream plays: one row at each change, which holds until the flow's next row.",
    columns: &[
        number("t_s", "s", "when, from the origin"),
        text("flow", "the stream's name"),
        text(
            "state",
            "starting (nothing has been played), playing, stalled (the buffer ran dry), ended",
        ),
        number("bitrate_bps", "bit/s", "the level that is played; NaN unless playing"),
    ],
};

/// Distributions of every packet.
pub static HISTOGRAMS: Schema = Schema {
    name: "histograms",
    doc: "Distributions over every packet of the run from the origin on; the relative width of a bucket is at most 1 %.",
    columns: &[
        text("subject", "a queue's path or a flow's name"),
        text(
            "quantity",
            "sojourn (of a queue), sojourn.CLASS (of those that left from one class: l, c; `sojourn qdiscs NAME` \
             names a discipline's), rtt or owd (of a flow)",
        ),
        number("lo_s", "s", "lower edge of the bucket, which belongs to it"),
        number("hi_s", "s", "upper edge, which does not"),
        count("count", "packets", "packets in it"),
    ],
};

/// Distributions of every packet's delays between the edges of windows.
pub static DELAYS: Schema = Schema {
    name: "delays",
    doc: "Distributions of every packet's delays by queue and class, and by flow of the flows that are told apart (in runs of more than 64 those that say `delays = true` or whose delays a check asks for), in the intervals between the edges of the windows that are known before the run (windows, phases, those that checks name): a window's is the sum of its intervals'. The width of a bucket is at most 1 % of the time, of a one-way delay without the path's constant part.",
    columns: &[
        number(
            "from_s",
            "s",
            "the interval's beginning, from the origin; what happens just then does not belong to it, but at the origin",
        ),
        number("to_s", "s", "its end; what happens just then does"),
        text("flow", "the flow's name; empty for the packets of all flows that are not told apart"),
        text("queue", "the queue's path; empty for owd"),
        text("class", "the class that the packets left it from; empty if it has none, and for owd"),
        text(
            "quantity",
            "sojourn: from enqueue to dequeue, by when the packet left, both directions of the flow; owd: from host to host, by when it arrived, of packets that carry the flow's data",
        ),
        number("lo_s", "s", "lower edge of the bucket, which belongs to it"),
        number("hi_s", "s", "upper edge, which does not"),
        count("count", "packets", "packets in it"),
    ],
};

/// What happened.
pub static HAPPENINGS: Schema = Schema {
    name: "happenings",
    doc: "What happened and when: flows and phases that start and end, events.",
    columns: &[
        number("t_s", "s", "when, from the origin"),
        text("what", "start, end (of a flow or a phase), event, or a name of the engine's"),
        text("subject", "`flow NAME`, `phase NAME`, `event NAME` or an element's path"),
        text("detail", "what exactly; may be empty"),
    ],
};

/// Counters at the end.
pub static TOTALS: Schema = Schema {
    name: "totals",
    doc: "Counters at the end of the run: those of `tc -s` for queues, and what conservation is checked by.",
    columns: &[
        text("subject", "a queue's path, another element's, or a flow's name"),
        text("name", "the counter's name"),
        number("value", "", "its value"),
    ],
};

/// What tc says.
pub static TC: Schema = Schema {
    name: "tc",
    doc: "What `tc -s -d qdisc show` says of every delay and queue before the run and after it; a results folder has it as `setup.log` and `teardown.log`.",
    columns: &[
        number("t_s", "s", "when, from the origin"),
        text("when", "setup or teardown"),
        text(
            "subject",
            "the element's path, the place in its chain and the flow where there are several",
        ),
        text("text", "the text, several lines"),
    ],
};
