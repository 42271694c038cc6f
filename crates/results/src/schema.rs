//! The tables of a run. Every time is in seconds from the run's origin; every cumulative count begins at zero
//! with the run, warmup included.
//!
//! Each table is declared once. From its declaration come the schema that readers see ([`FLOWS`]), the row that an engine
//! fills in by field names ([`rows::Flow`]), and the columns by which names are interned ([`rows::Flows`]).

use super::column::named_in;
use sojourn_model::{Renamed, new_name, renamed};

pub use super::column::{ColumnSchema, Schema, Type};

/// Declares tables: `SCHEMA "name" Columns of Row: "what its rows are" { column: type["unit"] "what it says"; … }`.
macro_rules! tables {
    (@type number) => { Type::F64 };
    (@type count) => { Type::U64 };
    (@type text) => { Type::Text };
    (@place number) => { NumberColumn };
    (@place count) => { CountColumn };
    (@place text) => { TextColumn };
    (@value $lt:lifetime $of:ident number) => { f64 };
    (@value $lt:lifetime $of:ident count) => { u64 };
    (@value $lt:lifetime $of:ident text) => { Name<$lt, $of> };
    ($($(#[$meta:meta])* $SCHEMA:ident $table:literal $Columns:ident of $Row:ident: $doc:literal {
        $($field:ident: $ty:ident $([$unit:literal])? $says:literal;)*
    })*) => {
        $(
            $(#[$meta])*
            pub static $SCHEMA: Schema = Schema {
                name: $table,
                doc: $doc,
                columns: &[$(ColumnSchema {
                    name: stringify!($field),
                    ty: tables!(@type $ty),
                    unit: concat!($($unit)?),
                    doc: $says,
                },)*],
            };
        )*

        /// Every table.
        pub const ALL: &[&Schema] = &[$(&$SCHEMA,)*];

        /// The tables' rows, each by the names of its columns.
        pub mod rows {
            use super::Schema;
            use crate::writer::{Columns, CountColumn, Name, NumberColumn, Put as _, TextColumn};
            use crate::table::Column;

            $(
                #[doc = concat!("A row of `", $table, "`. ", $doc)]
                #[derive(Clone, Copy, Debug)]
                pub struct $Row<'a> {
                    $(#[doc = $says] pub $field: tables!(@value 'a $Columns $ty),)*
                }

                #[doc = concat!("The columns of `", $table, "`.")]
                #[derive(Clone, Copy, Debug)]
                pub struct $Columns {
                    $(#[doc = $says] pub $field: tables!(@place $ty),)*
                }

                impl Columns for $Columns {
                    const SCHEMA: &'static Schema = &super::$SCHEMA;
                    const COLUMNS: Self = {
                        let mut next = 0;
                        $(
                            let $field = <tables!(@place $ty)>::at(next);
                            next += 1;
                        )*
                        assert!(next == super::$SCHEMA.columns.len());
                        Self { $($field,)* }
                    };
                    type Row<'a> = $Row<'a>;

                    #[inline]
                    fn push(row: $Row<'_>, columns: &mut [Column]) {
                        let [$($field,)*] = columns else {
                            panic!("{} has other columns", $table)
                        };
                        $($field.put(row.$field);)*
                    }
                }
            )*
        }
    };
}

/// What earlier versions called tables.
pub const RENAMED_TABLES: &[Renamed] = &[("happenings", "events")];

/// What earlier versions called columns, by today's name of their table.
pub const RENAMED_COLUMNS: &[(&str, &[Renamed])] = &[("queue_signals", &[("why", "reason")])];

/// Columns that results of earlier versions and imported ones lack, by their table: they are read as zeros.
pub const ADDED_COLUMNS: &[(&str, &str)] = &[("flows", "out_of_order_bytes")];

/// The hint for a table that does not exist, if an earlier version had it.
pub fn renamed_table(name: &str) -> Option<String> {
    new_name(name, RENAMED_TABLES).map(|new| renamed(name, new))
}

/// The hint for a column that a table does not have, if an earlier version's had it.
pub fn renamed_column(table: &str, name: &str) -> Option<String> {
    let (_, columns) = RENAMED_COLUMNS.iter().find(|(of, _)| *of == table)?;
    new_name(name, columns).map(|new| renamed(name, new))
}

impl Schema {
    /// The schema of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        named_in(ALL, name)
    }
}

tables! {
    /// Flows, one row per sample interval.
    FLOWS "flows" Flows of Flow: "One row per sample interval and flow, from the flow's start to its end." {
        t_s: number["s"] "end of the sample interval, from the origin";
        flow: text "the flow's name";
        goodput_bps: number["bit/s"] "payload that arrived in order at the receiver in the sample interval, over its length";
        delivery_rate_bps: number["bit/s"] "the latest delivery-rate sample (tcp_info's tcpi_delivery_rate; of QUIC in bits of its packets); NaN for other than TCP and QUIC";
        rtt_s: number["s"] "the latest RTT sample; NaN before the first";
        srtt_s: number["s"] "the smoothed RTT; NaN before the first sample";
        rttvar_s: number["s"] "the RTT's mean deviation; NaN before the first sample";
        cwnd: count["packets"] "congestion window";
        ssthresh: count["packets"] "slow-start threshold; 2147483647 while there is none, as in Linux";
        inflight: count["packets"] "packets in flight, as the sender counts them";
        retransmits: count["packets"] "segments sent again, cumulative";
        lost: count["packets"] "segments that the sender held for lost, cumulative; of UDP, datagrams that had not come when 64 later ones had";
        delivered: count["packets"] "segments known to be delivered, cumulative";
        ce: count["packets"] "packets with CE that reached the receiver, cumulative";
        ece: count["packets"] "acknowledgements that reported CE to the sender, cumulative";
        pacing_rate_bps: number["bit/s"] "pacing rate; NaN while the flow is not paced";
        state: text "recovery state by Linux's names: Open, Disorder, CWR, Recovery, Loss";
        out_of_order_bytes: count["bytes"] "payload that has arrived out of order and waits at the receiver for what is missing before it; 0 where the engine does not know it: of QUIC, and on Linux";
    }

    /// The congestion controls' own numbers.
    FLOW_STATE "flow_state" FlowState of FlowGauge: "The congestion controls' own numbers, one row per sample interval, flow and name." {
        t_s: number["s"] "end of the sample interval, from the origin";
        flow: text "the flow's name";
        name: text "the number's name: alpha, w_max, …";
        value: number "its value";
    }

    /// What has limited TCP flows.
    LIMITS "limits" Limits of Limit: "What kept TCP flows from sending more, one row per sample interval and flow that is one connection. Times are cumulative since the connection was established. All but busy_s exclude one another and add up to its age." {
        t_s: number["s"] "end of the sample interval, from the origin";
        flow: text "the flow's name";
        busy_s: number["s"] "time with data written that were not acknowledged (tcp_info's tcpi_busy_time)";
        rwnd_limited_s: number["s"] "time limited by the peer's receive window (tcpi_rwnd_limited)";
        sndbuf_limited_s: number["s"] "time limited by the send buffer: all that was written was out, the application waited for room, and the congestion window was not in use as a whole (tcpi_sndbuf_limited)";
        cwnd_limited_s: number["s"] "time limited by the congestion window; NaN where it is not known, as on Linux";
        pacing_limited_s: number["s"] "time limited by the pacing rate; NaN where it is not known, as on Linux";
        app_limited_s: number["s"] "time in which the application had written no more, and the congestion window would have admitted more; NaN where it is not known, as on Linux";
        host_limited_s: number["s"] "time limited by the small queue of the sender's host (TSQ); NaN where it is not known, as on Linux";
    }

    /// Queues, one row per sample interval.
    QUEUES "queues" Queues of Queue: "One row per sample interval and queue." {
        t_s: number["s"] "end of the sample interval, from the origin";
        queue: text "the queue's path: bottleneck.down.qdisc";
        packets: count["packets"] "packets held";
        bytes: count["bytes"] "bytes held, Ethernet header included";
        sojourn_min_s: number["s"] "least time from enqueue to dequeue among the packets that left in the sample interval; NaN if none did";
        sojourn_mean_s: number["s"] "their mean; NaN if none left";
        sojourn_max_s: number["s"] "the largest; NaN if none left";
        sent_packets: count["packets"] "packets that left, cumulative";
        sent_bytes: count["bytes"] "bytes that left, Ethernet header included, cumulative";
        marks: count["packets"] "packets marked CE, cumulative";
        drops: count["packets"] "packets dropped, cumulative";
    }

    /// Marks and drops by reason.
    QUEUE_SIGNALS "queue_signals" QueueSignals of Signal: "Marks, SCE marks and drops by reason; rows only for sample intervals in which a count changed." {
        t_s: number["s"] "end of the sample interval, from the origin";
        queue: text "the queue's path";
        reason: text "the reason: tail, control_law, early, …";
        kind: text "mark (CE), drop, or sce (ECT(0) to ECT(1))";
        count: count["packets"] "cumulative";
    }

    /// The queue controllers' own numbers.
    QUEUE_STATE "queue_state" QueueState of QueueGauge: "The queue controllers' own numbers, one row per sample interval, queue and name." {
        t_s: number["s"] "end of the sample interval, from the origin";
        queue: text "the queue's path";
        name: text "the number's name: prob, count, …";
        value: number "its value";
    }

    /// Packets of the probes.
    PINGS "pings" Pings of Ping: "One row a packet of a probe (ping, irtt) or of a voice call. `owd_s` is the way to the peer, `owd_back_s` the reply's; irtt calls them send and receive delay." {
        t_s: number["s"] "when the reply came (of a voice call: the packet), or the request was sent if none did, from the origin";
        flow: text "the probe's name";
        rtt_s: number["s"] "round-trip time; NaN if lost, and of a voice call";
        sequence: count "the packet's number, from 0";
        owd_s: number["s"] "one-way delay to the peer; NaN if it did not get there, or is not known";
        owd_back_s: number["s"] "one-way delay of the reply; NaN if there is none, or it is not known";
        lost: text "empty if it came; `there` or `back`: lost on that way; `lost`: on which is not known; `late`: still on its way when the run ended";
    }

    /// Short flows that were completed.
    COMPLETIONS "completions" Completions of Completion: "One row a short connection, a transaction or a frame of a call that was completed, or left unfinished when the run ended." {
        t_s: number["s"] "when it was started, from the origin";
        flow: text "the name of the flow that generates it";
        bytes: count["bytes"] "its length";
        duration_s: number["s"] "from before the handshake to the last byte; NaN if unfinished";
    }

    /// Segments of adaptive streams.
    SEGMENTS "segments" Segments of Segment: "One row a segment of an adaptive stream, when it had arrived." {
        t_s: number["s"] "when it had arrived, from the origin";
        flow: text "the stream's name";
        bitrate_bps: number["bit/s"] "the level of the ladder";
        throughput_bps: number["bit/s"] "its size over its download time";
        buffer_s: number["s"] "playing time in the buffer then";
        stalled_s: number["s"] "time stalled so far, cumulative";
        number: count "the segment's place in the stream, from 0";
        requested_s: number["s"] "when it was asked for, from the origin";
        bytes: count["bytes"] "its size";
    }

    /// What adaptive streams play.
    PLAYBACK "playback" Playback of Playing: "What an adaptive stream plays: one row at each change, which holds until the flow's next row." {
        t_s: number["s"] "when, from the origin";
        flow: text "the stream's name";
        state: text "starting (nothing has been played), playing, stalled (the buffer ran dry), ended";
        bitrate_bps: number["bit/s"] "the level that is played; NaN unless playing";
    }

    /// Distributions of every packet.
    HISTOGRAMS "histograms" Histograms of Bucket: "Distributions over every packet of the run from the origin on; the relative width of a bucket is at most 1 %." {
        subject: text "a queue's path or a flow's name";
        quantity: text "sojourn (of a queue), sojourn.CLASS (of those that left from one class: l, c; `sojourn qdiscs NAME` \
             names a discipline's), rtt or owd (of a flow)";
        lo_s: number["s"] "lower edge of the bucket, which belongs to it";
        hi_s: number["s"] "upper edge, which does not";
        count: count["packets"] "packets in it";
    }

    /// Distributions of every packet's delays between the edges of windows.
    DELAYS "delays" Delays of DelayBucket: "Distributions of every packet's delays by queue and class, and by flow where they are recorded per flow (in runs of more than 64 those that say `delays = true` or that a check asks for), in the intervals between the edges of the windows that are known before the run (windows, phases, those that checks name): a window's is the sum of its intervals'. The width of a bucket is at most 1 % of the time, of a one-way delay without the path's constant part." {
        from_s: number["s"] "the interval's beginning, from the origin; what happens just then does not belong to it, but at the origin";
        to_s: number["s"] "its end; what happens just then does";
        flow: text "the flow's name; empty for the packets of all flows without delays recorded per flow";
        queue: text "the queue's path; empty for owd";
        class: text "the class that the packets left it from; empty if it has none, and for owd";
        quantity: text "sojourn: from enqueue to dequeue, by when the packet left, both directions of the flow; owd: from host to host, by when it arrived, of packets that carry the flow's data";
        lo_s: number["s"] "lower edge of the bucket, which belongs to it";
        hi_s: number["s"] "upper edge, which does not";
        count: count["packets"] "packets in it";
    }

    /// What happened.
    EVENTS "events" Events of Event: "What happened and when: flows and phases that start and end, events." {
        t_s: number["s"] "when, from the origin";
        what: text "start, end (of a flow or a phase), event, or a name of the engine's";
        subject: text "`flow NAME`, `phase NAME`, `event NAME` or an element's path";
        detail: text "what exactly; may be empty";
    }

    /// Counters at the end.
    TOTALS "totals" Totals of Total: "Counters at the end of the run: those of `tc -s` for queues, and those that the check of conservation uses." {
        subject: text "a queue's path, another element's, or a flow's name";
        name: text "the counter's name";
        value: number "its value";
    }

    /// What programs of the machine wrote.
    OUTPUT "output" Output of OutputLine: "What programs of a flow wrote on their standard output and error, one row a line." {
        t_s: number["s"] "when the line's first byte came, from the origin";
        flow: text "the flow's name";
        program: text "server or client";
        text: text "the line";
    }

    /// What tc says.
    TC "tc" Tc of TcText: "What `tc -s -d qdisc show` says of every delay and queue before the run and after it; a results folder has it as `setup.log` and `teardown.log`." {
        t_s: number["s"] "when, from the origin";
        when: text "setup or teardown";
        subject: text "the element's path, the place in its chain and the flow where there are several";
        text: text "the text, several lines";
    }
}
