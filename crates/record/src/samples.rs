//! What engines hand over.

use sojourn_units::Time;

/// A state of TCP's recovery, as Linux names them (`tcp_ca_state`).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum RecoveryState {
    /// Nothing is wrong.
    #[default]
    Open,
    /// Packets are out of order.
    Disorder,
    /// The window falls after a congestion signal other than a loss.
    Cwr,
    /// Lost segments are sent again.
    Recovery,
    /// A retransmission timer has expired.
    Loss,
}

impl RecoveryState {
    /// All of them, in the order of their numbers in `TCP_INFO`.
    pub const ALL: [Self; 5] = [Self::Open, Self::Disorder, Self::Cwr, Self::Recovery, Self::Loss];

    /// Its name in the tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "Open",
            Self::Disorder => "Disorder",
            Self::Cwr => "CWR",
            Self::Recovery => "Recovery",
            Self::Loss => "Loss",
        }
    }
}

/// A flow at the end of a sample interval. Numbers that nobody knows are NaN; counts that nobody knows are 0.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FlowSample {
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
    /// Segments that the sender considers lost, since the beginning.
    pub lost: u64,
    /// Segments delivered since the beginning.
    pub delivered: u64,
    /// Packets that arrived marked CE.
    pub ce: u64,
    /// Acknowledgements that echo congestion.
    pub ece: u64,
    /// Pacing rate, bits per second; NaN if the sender does not pace.
    pub pacing_bps: f64,
    /// The state of its recovery.
    pub state: RecoveryState,
    /// Payload bytes that the receiver holds out of order.
    pub out_of_order_bytes: u64,
}

impl FlowSample {
    /// An unknown flow.
    pub const UNKNOWN: Self = Self {
        delivery_rate_bps: f64::NAN,
        rtt_s: f64::NAN,
        srtt_s: f64::NAN,
        rttvar_s: f64::NAN,
        cwnd: 0,
        ssthresh: 0,
        in_flight: 0,
        retransmits: 0,
        lost: 0,
        delivered: 0,
        ce: 0,
        ece: 0,
        pacing_bps: f64::NAN,
        state: RecoveryState::Open,
        out_of_order_bytes: 0,
    };
}

/// What has limited a sender, since its start; seconds, NaN where nobody knows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LimitedTimes {
    /// It had something to send or to be acknowledged.
    pub busy_s: f64,
    /// The receive window stopped it.
    pub rwnd_s: f64,
    /// Its send buffer stopped it.
    pub sndbuf_s: f64,
    /// The congestion window stopped it.
    pub cwnd_s: f64,
    /// Pacing stopped it.
    pub pacing_s: f64,
    /// The application had nothing for it.
    pub app_s: f64,
    /// The host's small queue stopped it.
    pub host_s: f64,
}

/// A queue at the end of a sample interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueSample {
    /// Packets that it holds.
    pub packets: u64,
    /// Bytes that it holds.
    pub bytes: u64,
    /// Least, sum and greatest of the sojourn times of the packets that left in the interval, in nanoseconds, and how many
    /// packets they are.
    pub sojourn: (u64, u64, u64, u64),
    /// Packets that left since the beginning.
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets marked since the beginning.
    pub marks: u64,
    /// Packets dropped since the beginning.
    pub drops: u64,
}

/// What a queue does to a packet, in the table `queue_signals`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SignalKind {
    /// Marks it CE.
    Mark,
    /// Drops it.
    Drop,
    /// Marks it with SCE's code point.
    Sce,
}

impl SignalKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Mark, Self::Drop, Self::Sce];

    /// Its name in the table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mark => "mark",
            Self::Drop => "drop",
            Self::Sce => "sce",
        }
    }
}

/// A packet with a delay that somebody measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PingSample {
    /// The time of its row: when the measurement was complete, otherwise when it was sent.
    pub at: Time,
    /// Its number in the flow.
    pub number: u64,
    /// When it was sent.
    pub sent: Time,
    /// When it reached the peer; [`Time::NEVER`] if it did not, or nobody knows.
    pub there: Time,
    /// When the answer came back; [`Time::NEVER`] if none did.
    pub back: Time,
    /// Where it was lost: `there`, `back`, `lost` where only the loss is known, `late` where the run ended too early to
    /// know; empty if it was not lost.
    pub lost: &'static str,
}

/// A connection or transfer of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// When it was opened.
    pub started: Time,
    /// Its length, bytes.
    pub bytes: u64,
    /// When its last byte arrived; [`Time::NEVER`] if it did not complete.
    pub ended: Time,
}
