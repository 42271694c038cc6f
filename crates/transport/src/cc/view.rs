//! What a congestion control may read of its connection: all that the sender owns, by the kernel's names (`struct
//! tcp_sock`) where the papers have none.
//!
//! Plain data without references, so that it can be copied, logged, and mirrored by other languages.

use super::CaState;
use crate::ecn::Agreed;
use crate::rate_sample::RateSample;
use crate::rtt::Rtt;
use crate::segment::Seq;
use sojourn_units::Time;

/// The connection as a congestion control reads it. The sender writes it, and nobody else.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct View {
    /// The time of the event being handled.
    pub now: Time,
    /// When something was last delivered, or a flight began (`delivered_mstamp`).
    pub delivered_at: Time,
    /// Oldest segment not acknowledged.
    pub una: Seq,
    /// Next segment to be sent for the first time.
    pub nxt: Seq,
    /// Segments sent and not cumulatively acknowledged.
    pub packets_out: u32,
    /// Of these, SACKed.
    pub sacked_out: u32,
    /// Of these, taken for lost.
    pub lost_out: u32,
    /// Of these, retransmissions still out.
    pub retrans_out: u32,
    /// Segments delivered so far, SACKed ones included.
    pub delivered: u32,
    /// Marked segments so far: by Accurate ECN's counter, or those on ACKs with ECN-Echo.
    pub delivered_ce: u32,
    /// Segments taken for lost so far.
    pub lost: u32,
    /// Payload of a full new segment, bytes. A size that a control sets in [`Control::mss`](super::Control::mss) shows
    /// here after the ACK is processed.
    pub mss: u32,
    /// Bytes of IP and TCP headers before it, all options included.
    pub headers: u32,
    /// Of these, options that Linux does not count when it says how large a segment is: AccECN's.
    pub options: u32,
    /// The window at the last reduction (`prior_cwnd`).
    pub prior_cwnd: u32,
    /// Most segments out in the current window of data.
    pub max_packets_out: u32,
    /// `delivered` at which the application's pause will have passed through, if it is pausing.
    pub app_limited: Option<u32>,
    /// Whether sending last stopped because of the window.
    pub cwnd_limited: bool,
    /// State of recovery.
    pub ca_state: CaState,
    /// What is agreed about ECN.
    pub ecn: Agreed,
    /// Latest delivery-rate sample worth keeping.
    pub rate: RateSample,
    /// Round-trip estimates.
    pub rtt: Rtt,
    /// Highest rate of payload that the socket may be paced at, bytes per second (`SO_MAX_PACING_RATE`).
    pub max_pacing_rate: Option<u64>,
    /// A TSO burst has the bytes of a 2^nth of a second at the pacing rate (`sk_pacing_shift`).
    pub pacing_shift: u32,
    /// Ticks per second of the host's coarse clock.
    pub hz: u32,
}

impl View {
    /// A connection that has sent nothing: `mss` bytes of payload behind `headers` bytes in each segment, and a coarse
    /// clock of `hz` ticks per second.
    pub fn new(mss: u32, headers: u32, hz: u32) -> Self {
        Self {
            now: Time::ZERO,
            delivered_at: Time::ZERO,
            una: 0,
            nxt: 0,
            packets_out: 0,
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            delivered: 0,
            delivered_ce: 0,
            lost: 0,
            mss,
            headers,
            options: 0,
            prior_cwnd: 0,
            max_packets_out: 0,
            app_limited: None,
            cwnd_limited: false,
            ca_state: CaState::Open,
            ecn: Agreed::Off,
            rate: RateSample::default(),
            rtt: Rtt::default(),
            max_pacing_rate: None,
            pacing_shift: 10,
            hz,
        }
    }

    /// Segments in the network by the kernel's count (`tcp_packets_in_flight`).
    #[inline]
    pub fn in_flight(&self) -> u32 {
        (self.packets_out + self.retrans_out).wrapping_sub(self.sacked_out + self.lost_out)
    }

    /// Whether a reduction is going on (`tcp_in_cwnd_reduction`).
    #[inline]
    pub fn in_reduction(&self) -> bool {
        matches!(self.ca_state, CaState::Cwr | CaState::Recovery)
    }

    /// The coarse clock (`jiffies`), which moves once every 1/`hz` seconds.
    #[inline]
    pub fn jiffies(&self) -> u32 {
        self.jiffies_at(self.now)
    }

    /// What the coarse clock showed at `at`.
    #[inline]
    pub fn jiffies_at(&self, at: Time) -> u32 {
        (at.as_nanos() / u64::from(1_000_000_000 / self.hz)) as u32
    }

    /// What Linux takes for the size of a segment when it computes rates (`mss_cache`), bytes: payload, and the options that it
    /// learns of too late.
    #[inline]
    pub fn mss_cache(&self) -> u32 {
        self.mss + self.options
    }

    /// Bytes per second that the latest rate sample stands for (`tcpi_delivery_rate`); zero before the first. Packets
    /// count with the present segment size, as in Linux, also where the size has changed.
    pub fn delivery_rate(&self) -> u64 {
        self.rate.bytes_per_sec(self.mss_cache())
    }
}
