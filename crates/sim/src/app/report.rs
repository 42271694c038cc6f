//! What applications tell the recorder.

use sojourn_record::{Completion, FlowSample, PingSample};
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
    Connection(FlowSample),
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

/// A flow when the run is over.
#[derive(Clone, Default, Debug)]
pub struct FlowReport {
    /// What its delays are.
    pub delays: DelayKind,
    /// The rows of the table `pings`, one a packet, in the order of their times.
    pub pings: Vec<PingSample>,
    /// Connections, in the order in which they were opened.
    pub completions: Vec<Completion>,
    /// Segments that a player downloaded.
    pub segments: Vec<Arrived>,
    /// What a player played, from when on.
    pub playback: Vec<(Time, Playing)>,
    /// Counters by name.
    pub totals: Vec<(&'static str, f64)>,
}

/// The meaning of the delays that an application measures.
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
