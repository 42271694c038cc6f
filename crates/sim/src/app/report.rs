//! What applications tell the recorder.

use sojourn_transport::CaState;
use sojourn_units::Time;
use sojourn_workload::{Arrived, Playing};

/// A flow at the end of a step.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum Record {
    /// It has no row.
    Nothing,
    /// Only counts are known: datagrams, or many connections.
    Counts(Counts),
    /// One connection.
    Connection(ConnectionRecord),
}

/// Counts over all datagrams or connections of a flow, since the beginning unless said otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Payload bytes that arrived.
    pub bytes: u64,
    /// Packets sent.
    pub sent: u64,
    /// Of these, sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Packets that are held to be lost.
    pub lost: u64,
    /// Packets that arrived.
    pub delivered: u64,
    /// Of these, marked CE.
    pub ce: u64,
    /// Acknowledgements that echo congestion.
    pub ece: u64,
    /// Packets that are under way now.
    pub in_flight: u64,
}

/// One connection at the end of a step. What is not known is NaN.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ConnectionRecord {
    /// Delivery rate, bits per second.
    pub delivery_rate_bps: f64,
    /// The newest RTT sample, seconds.
    pub rtt_s: f64,
    /// Smoothed RTT, seconds.
    pub srtt_s: f64,
    /// Its mean deviation, seconds.
    pub rttvar_s: f64,
    /// Congestion window, segments.
    pub cwnd: u64,
    /// Slow start threshold, segments.
    pub ssthresh: u64,
    /// Segments in flight.
    pub in_flight: u64,
    /// Retransmissions since the beginning.
    pub retransmits: u64,
    /// Segments that are held to be lost now.
    pub lost: u64,
    /// Segments delivered since the beginning.
    pub delivered: u64,
    /// Packets that arrived marked CE.
    pub ce: u64,
    /// Acknowledgements that echo congestion.
    pub ece: u64,
    /// Pacing rate, bits per second; NaN if it is not paced.
    pub pacing_bps: f64,
    /// The state of its recovery.
    pub state: CaState,
    /// Payload bytes that the receiver holds out of order; 0 where that is not known.
    pub out_of_order_bytes: u64,
}

/// A flow when the run is over.
#[derive(Clone, Default, Debug)]
pub struct FlowReport {
    /// What its delays are.
    pub delays: DelayKind,
    /// Packets of which each has a row in the table `pings`, in the order of the rows' times.
    pub pings: Vec<PingRow>,
    /// Connections, in the order in which they were opened.
    pub completions: Vec<Completion>,
    /// Segments that a player downloaded.
    pub segments: Vec<Arrived>,
    /// What a player played, from when on.
    pub playback: Vec<(Time, Playing)>,
    /// Counters by name.
    pub totals: Vec<(&'static str, f64)>,
}

/// What the delays are that an application measures.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum DelayKind {
    /// Round trips.
    #[default]
    RoundTrip,
    /// From its source to its destination.
    OneWay,
}

impl DelayKind {
    /// Its name in the tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RoundTrip => "rtt",
            Self::OneWay => "owd",
        }
    }
}

/// What became of a packet whose delay is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PingRow {
    /// The time of its row: when the measurement was complete, else when it was sent.
    pub at: Time,
    /// Its number.
    pub number: u64,
    /// When it was sent.
    pub sent: Time,
    /// When it reached the peer; never if it did not.
    pub there: Time,
    /// When the answer came back; never if none did.
    pub back: Time,
    /// Where it was lost: `there`, `back`, or `late` where the run ended too early to know; empty if it was not.
    pub lost: &'static str,
}

/// One connection of a flow that has many.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// When it was opened.
    pub started: Time,
    /// Its length.
    pub bytes: u64,
    /// When its last byte was read; never if it has not been.
    pub ended: Time,
}
