//! The columns of the tables that summarise runs, stated once: the summary that a run is stored with, `sojourn table`,
//! reports and docs take key, name, unit and metric from here.
//!
//! A column's metric is a template: `{flow}` stands for a flow's name, `{queue}` for a queue's path, `{flows}` for the names
//! of all flows that are one lasting connection.

use serde::Serialize;
use sojourn_model::{Direction, Flow, OnOff, Pulse, Scenario, Traffic};

/// A column of a summary.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Column {
    /// Its name where programs read it, unit included.
    pub key: &'static str,
    /// Its name in headings.
    pub name: &'static str,
    /// Its name where there is little room.
    pub short: &'static str,
    /// The unit of what tables show; empty for plain numbers.
    pub unit: &'static str,
    /// The metric's template.
    pub metric: &'static str,
    /// Multiplies the metric, which is in base units.
    pub scale: f64,
    /// Digits behind the point.
    pub digits: u8,
    /// Whether it says something only of two flows or more.
    pub several: bool,
    /// The kinds of flows that have it ([`kind`]), for a column with a value for each flow.
    pub kinds: &'static [&'static str],
    /// A legend's words; may be empty.
    pub meaning: &'static str,
    /// A table shows the column only if a flow reaches this value, in its unit; 0 shows it always.
    pub least: f64,
}

/// Flows of one lasting connection, those of implementations included: they have a delivery rate and an RTT.
pub const TCP: &[&str] = &["tcp", "streaming", "on_off tcp", "quic", "tcp_stack"];
const DATAGRAMS: &[&str] = &["udp", "on_off udp", "video", "voip"];
const CALLS: &[&str] = &["voip"];
const SHORT: &[&str] = &["short_flows"];
const PROGRAMS: &[&str] = &["program"];
const STREAMING: &[&str] = &["streaming"];
const PROBES: &[&str] = &["ping", "irtt"];
const LOSSY: &[&str] = &["udp", "on_off udp", "video", "voip", "ping", "irtt"];
const GOODPUT: &[&str] =
    &["tcp", "streaming", "on_off tcp", "quic", "tcp_stack", "udp", "on_off udp", "video"];

const BASE: Column = Column {
    key: "",
    name: "",
    short: "",
    unit: "",
    metric: "",
    scale: 1.0,
    digits: 1,
    several: false,
    kinds: TCP,
    meaning: "",
    least: 0.0,
};

const RATE: Column = Column {
    key: "goodput_mbps",
    name: "goodput",
    short: "goodput",
    unit: "Mbit/s",
    metric: "goodput({flow})",
    scale: 1e-6,
    digits: 2,
    meaning: "payload that arrived: on a full link 1448 of the 1514 bytes of each frame",
    ..BASE
};
const RTT: Column = Column {
    key: "rtt_ms",
    name: "RTT",
    short: "RTT",
    unit: "ms",
    metric: "mean(rtt, {flow})",
    scale: 1e3,
    meaning: "mean round-trip time",
    ..BASE
};
const UTILISATION: Column = Column {
    key: "utilisation_percent",
    name: "utilisation",
    short: "util.",
    unit: "%",
    metric: "utilisation({queue})",
    scale: 100.0,
    meaning: "what left the queue, of what its rate could have carried",
    ..BASE
};
const DELAY: Column = Column {
    key: "queue_delay_ms",
    name: "queue delay",
    short: "queue",
    unit: "ms",
    metric: "mean(queue_delay, {queue})",
    scale: 1e3,
    meaning: "mean time that packets wait in the queue",
    ..BASE
};
const DELAY_P99: Column = Column {
    key: "queue_delay_p99_ms",
    name: "queue delay, 99 %",
    short: "queue 99 %",
    unit: "ms",
    metric: "p99(sojourn, {queue})",
    scale: 1e3,
    meaning: "time in the queue that 99 % of the packets stay below",
    ..BASE
};
const MARKS: Column = Column {
    key: "marks",
    name: "marks",
    short: "marks",
    metric: "marks({queue})",
    digits: 0,
    meaning: "packets that the queue marked CE",
    ..BASE
};
const DROPS: Column = Column {
    key: "drops",
    name: "drops",
    short: "drops",
    metric: "drops({queue})",
    digits: 0,
    meaning: "packets that the queue dropped",
    ..BASE
};
const BITRATE: Column = Column {
    key: "bitrate_mbps",
    name: "bitrate",
    short: "bitrate",
    unit: "Mbit/s",
    metric: "bitrate({flow})",
    scale: 1e-6,
    digits: 2,
    kinds: STREAMING,
    meaning: "mean level of the video that is played",
    ..BASE
};
const STALLS: Column = Column {
    key: "stalls",
    name: "stalls",
    short: "stalls",
    metric: "stalls({flow})",
    digits: 0,
    kinds: STREAMING,
    meaning: "times that it stopped",
    ..BASE
};
const JITTER: Column = Column {
    key: "jitter_ms",
    name: "jitter",
    short: "jitter",
    unit: "ms",
    metric: "mean(ipdv, {flow})",
    scale: 1e3,
    digits: 2,
    kinds: CALLS,
    meaning: "mean difference of the delays of successive packets (RFC 3393)",
    ..BASE
};
const PROGRAM: Column = Column {
    key: "program_s",
    name: "time that the program took",
    short: "took",
    unit: "s",
    metric: "mean(completion_time, {flow})",
    digits: 3,
    kinds: PROGRAMS,
    meaning: "from the client's start to its end",
    ..BASE
};
const MEDIAN: Column = Column {
    key: "completion_median_ms",
    name: "completion time, median",
    short: "50 %",
    unit: "ms",
    metric: "median(completion_time, {flow})",
    scale: 1e3,
    digits: 0,
    kinds: SHORT,
    meaning: "half of the transfers took no longer",
    ..BASE
};
const P95: Column = Column {
    key: "completion_p95_ms",
    name: "completion time, 95 %",
    short: "95 %",
    unit: "ms",
    metric: "percentile(completion_time, {flow}, 95)",
    scale: 1e3,
    digits: 0,
    kinds: SHORT,
    meaning: "95 % of the transfers took no longer",
    ..BASE
};
const OWD: Column = Column {
    key: "owd_ms",
    name: "one-way delay",
    short: "delay",
    unit: "ms",
    metric: "mean(packet_owd, {flow})",
    scale: 1e3,
    kinds: DATAGRAMS,
    meaning: "mean one-way delay",
    ..BASE
};
const OWD_P99: Column = Column {
    key: "owd_p99_ms",
    name: "one-way delay, 99 %",
    short: "delay 99 %",
    unit: "ms",
    metric: "p99(packet_owd, {flow})",
    scale: 1e3,
    kinds: DATAGRAMS,
    meaning: "one-way delay that 99 % of the packets stay below",
    ..BASE
};
const LOSS: Column = Column {
    key: "loss_percent",
    name: "loss",
    short: "loss",
    unit: "%",
    metric: "loss_rate({flow})",
    scale: 100.0,
    digits: 2,
    kinds: LOSSY,
    meaning: "packets that were lost",
    ..BASE
};
/// A flow's share of the time that something limits it, %.
const LIMITED: Column = Column { unit: "%", scale: 100.0, least: WORTH_SHOWING, ..BASE };

/// Percent of the window: a limit below it has no column. The congestion window and its pacing should limit a flow; they
/// have none either.
const WORTH_SHOWING: f64 = 5.0;

/// Of a cell: one row with everything. A table has those of them that say something of one of its cells.
pub const CELL: &[Column] = &[
    Column { kinds: GOODPUT, ..RATE },
    Column {
        key: "jain",
        name: "Jain's index",
        short: "Jain",
        metric: "jain(goodput, {flows})",
        digits: 3,
        several: true,
        meaning: "Jain's index of the goodputs: 1 if all are the same",
        ..BASE
    },
    UTILISATION,
    RTT,
    DELAY,
    DELAY_P99,
    MARKS,
    DROPS,
    Column { kinds: DATAGRAMS, meaning: "", ..LOSS },
    Column { meaning: "", ..OWD_P99 },
    Column { meaning: "", ..PROGRAM },
    Column { meaning: "", ..JITTER },
    Column { short: "compl. 50 %", meaning: "", ..MEDIAN },
    Column { short: "compl. 95 %", meaning: "", ..P95 },
    Column { meaning: "", ..BITRATE },
    Column { meaning: "", ..STALLS },
    Column {
        key: "rwnd_limited_percent",
        name: "limited by the receive window",
        short: "limited by\nrec. window",
        metric: "rwnd_limited({flow})",
        ..LIMITED
    },
    Column {
        key: "sndbuf_limited_percent",
        name: "limited by the send buffer",
        short: "limited by\nsend buffer",
        metric: "sndbuf_limited({flow})",
        ..LIMITED
    },
    Column {
        key: "app_limited_percent",
        name: "limited by the application",
        short: "limited by\napplication",
        metric: "app_limited({flow})",
        ..LIMITED
    },
    Column {
        key: "host_limited_percent",
        name: "limited by the host's small queue",
        short: "limited by\nsmall queue",
        metric: "host_limited({flow})",
        ..LIMITED
    },
];

/// Of each flow of a run: one row a flow, one table a kind of flows.
pub const FLOW: &[Column] = &[
    RATE,
    RTT,
    Column {
        key: "rtt_p99_ms",
        name: "RTT, 99 %",
        short: "RTT 99 %",
        unit: "ms",
        metric: "p99(rtt, {flow})",
        scale: 1e3,
        meaning: "RTT that 99 % of the samples stay below",
        ..BASE
    },
    Column {
        key: "retransmits",
        name: "retransmits",
        short: "retrans.",
        unit: "packets",
        metric: "retransmits({flow})",
        digits: 0,
        meaning: "segments sent again",
        ..BASE
    },
    Column {
        key: "ce_percent",
        name: "CE marks",
        short: "CE",
        unit: "%",
        metric: "ce_fraction({flow})",
        scale: 100.0,
        digits: 3,
        meaning: "segments that arrived marked Congestion Experienced",
        ..BASE
    },
    BITRATE,
    STALLS,
    Column { digits: 3, kinds: DATAGRAMS, meaning: "payload that arrived", ..RATE },
    LOSS,
    OWD,
    OWD_P99,
    JITTER,
    PROGRAM,
    Column { kinds: PROGRAMS, meaning: "mean round-trip time of its TCP connections", ..RTT },
    Column { kinds: PROGRAMS, meaning: "mean one-way delay of what the sender sent", ..OWD },
    Column {
        kinds: PROGRAMS,
        meaning: "one-way delay that 99 % of its packets stay below",
        ..OWD_P99
    },
    Column {
        key: "completed",
        name: "completed",
        short: "done",
        metric: "completed({flow})",
        digits: 0,
        kinds: SHORT,
        meaning: "transfers done",
        ..BASE
    },
    Column {
        key: "unfinished",
        name: "unfinished",
        short: "not done",
        metric: "unfinished({flow})",
        digits: 0,
        kinds: SHORT,
        meaning: "transfers that were under way at the end",
        ..BASE
    },
    MEDIAN,
    P95,
    Column {
        key: "ping_rtt_ms",
        name: "RTT, median",
        short: "RTT 50 %",
        unit: "ms",
        metric: "median(rtt, {flow})",
        scale: 1e3,
        kinds: PROBES,
        meaning: "median round-trip time",
        ..BASE
    },
    Column {
        key: "ping_rtt_max_ms",
        name: "RTT, largest",
        short: "RTT max",
        unit: "ms",
        metric: "max(rtt, {flow})",
        scale: 1e3,
        kinds: PROBES,
        meaning: "the largest",
        ..BASE
    },
];

/// Of a queue.
pub const QUEUE: &[Column] = &[UTILISATION, DELAY, DELAY_P99, MARKS, DROPS];

/// The kind of a flow's traffic; of a source that switches on and off with what it sends: `on_off udp`.
pub const fn kind(flow: &Flow) -> &'static str {
    match &flow.traffic {
        Traffic::OnOff(OnOff { over: Pulse::Tcp(_), .. }) => "on_off tcp",
        Traffic::OnOff(OnOff { over: Pulse::Udp(_), .. }) => "on_off udp",
        traffic => traffic.name(),
    }
}

impl Column {
    /// The expressions that this column measures in a run; none if it says nothing there.
    pub fn expressions(&self, scenario: &Scenario, queues: &[String]) -> Vec<String> {
        if self.metric.contains("{queue}") {
            return queues.iter().map(|queue| self.metric.replace("{queue}", queue)).collect();
        }
        if self.metric.contains("{flow}") {
            let own = scenario.flows.iter().filter(|flow| self.kinds.contains(&kind(flow)));
            return own.map(|flow| self.metric.replace("{flow}", &flow.name)).collect();
        }
        let lasting = scenario.flows.iter().filter(|flow| TCP.contains(&kind(flow)));
        let (names, ways): (Vec<&str>, Vec<Direction>) =
            lasting.map(|flow| (flow.name.as_str(), flow.direction)).unzip();
        // A download and an upload have no link to share.
        if names.len() < 2 || ways.iter().any(|&way| way != ways[0]) {
            return Vec::new();
        }
        vec![self.metric.replace("{flows}", &names.join(", "))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_results::metrics::Expression;

    #[test]
    fn every_metric_is_one_of_the_language() {
        for column in [CELL, FLOW, QUEUE].concat() {
            let text = column.metric.replace("{flows}", "a, b").replace("{flow}", "a");
            let text = text.replace("{queue}", "bottleneck.down.qdisc");
            assert!(Expression::parse(&text).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_column_measures_the_flows_that_have_it() {
        let scenario = sojourn_model::example::scenario();
        let of = |column: &Column| column.expressions(&scenario, &["x.down.qdisc".to_owned()]);
        assert_eq!(of(&MARKS), ["marks(x.down.qdisc)"]);
        assert_eq!(of(&STALLS), Vec::<String>::new());
        let lasting = scenario.flows.iter().filter(|f| kind(f) == "tcp").count();
        assert_eq!(of(&RTT).len(), lasting);
    }
}
