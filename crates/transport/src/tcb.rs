//! What a congestion control sees of its connection: the transmission control block (RFC 9293 §3.3.1), by the
//! kernel's names (`struct tcp_sock`) where the papers have none.
//!
//! The window, its threshold and the pacing rate belong to the congestion control; all else is the sender's,
//! and kept true by it.

use crate::ecn::Agreed;
use crate::rate_sample::RateSample;
use crate::rtt::Rtt;
use crate::segment::Seq;
use sojourn_units::Time;

/// `ssthresh` before anything has set it (`TCP_INFINITE_SSTHRESH`).
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;
/// Largest burst, and largest buffer that the application's data is put into, in bytes: 64 kB less the room for
/// headers (`sk_gso_max_size`; `MAX_TCP_HEADER` is 320 bytes where a cache line has 64).
pub const LARGEST_BURST: u64 = 65_536 - 321;

/// State of loss recovery and ECN response (`enum tcp_ca_state`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum CaState {
    /// Nothing is wrong.
    #[default]
    Open,
    /// Duplicates or SACKs have come; not yet clear that something was lost.
    Disorder,
    /// The window is being reduced for ECN-Echo.
    Cwr,
    /// The window is being reduced for a loss, and losses repaired.
    Recovery,
    /// The retransmission timer fired.
    Loss,
}

/// The connection as a congestion control sees it.
#[derive(Clone, Debug)]
pub struct Tcb {
    /// The time of the event being handled.
    pub now: Time,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Fractional growth of the window (`snd_cwnd_cnt`), segments acknowledged since the last whole step.
    pub cwnd_count: u32,
    /// Slow-start threshold, segments.
    pub ssthresh: u32,
    /// Highest window allowed, segments (`snd_cwnd_clamp`).
    pub cwnd_clamp: u32,
    /// The window at the last reduction (`prior_cwnd`).
    pub prior_cwnd: u32,
    /// Payload of a full new segment, bytes; a control may change it, up to what the path takes.
    pub mss: u32,
    /// Bytes of IP and TCP headers before it.
    pub headers: u32,
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
    /// When something was last delivered, or a flight began (`delivered_mstamp`).
    pub delivered_at: Time,
    /// Marked segments so far: by Accurate ECN's counter, or those on ACKs with ECN-Echo.
    pub delivered_ce: u32,
    /// What is agreed about ECN.
    pub ecn: Agreed,
    /// Segments taken for lost so far.
    pub lost: u32,
    /// Most segments out in the current window of data.
    pub max_packets_out: u32,
    /// Whether sending last stopped because of the window.
    pub cwnd_limited: bool,
    /// `delivered` at which the application's pause will have passed through, if it is pausing.
    pub app_limited: Option<u32>,
    /// Round-trip estimates.
    pub rtt: Rtt,
    /// Pacing rate in bytes per second; what `ss` shows even where nothing paces.
    pub pacing_rate: u64,
    /// Highest rate of payload that the socket may be paced at, bytes per second (`SO_MAX_PACING_RATE`).
    pub pacing_cap: Option<u64>,
    /// Whether the socket is really paced (a host `fq`, or a congestion control that asks for it).
    pub paced: bool,
    /// A burst is what the pacing rate gives in a 2^nth of a second (`sk_pacing_shift`).
    pub pacing_shift: u32,
    /// Most segments that may leave as one burst, if the control limits it.
    pub burst_limit: Option<u32>,
    /// State of recovery.
    pub ca_state: CaState,
    /// Latest delivery-rate sample worth keeping.
    pub rate: RateSample,
    /// Ticks per second of the host's coarse clock.
    pub hz: u32,
}

impl Tcb {
    /// Segments in the network by the kernel's count (`tcp_packets_in_flight`).
    #[inline]
    pub fn in_flight(&self) -> u32 {
        (self.packets_out + self.retrans_out).wrapping_sub(self.sacked_out + self.lost_out)
    }

    /// Whether the window is below its threshold.
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Whether the window is what limits the flow (`tcp_is_cwnd_limited`): growth without use is not earned.
    #[inline]
    pub fn is_cwnd_limited(&self) -> bool {
        if self.cwnd_limited {
            return true;
        }
        self.in_slow_start() && self.cwnd < 2 * self.max_packets_out
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

    /// Bytes per second that the latest rate sample stands for (`tcpi_delivery_rate`); zero before the first. Packets by the
    /// segment size of now, as Linux reckons it, also where the size has changed.
    pub fn delivery_rate(&self) -> u64 {
        self.rate.bytes_per_sec(self.mss)
    }

    /// The rate that payload is paced at, bytes per second.
    #[inline]
    pub fn effective_pacing_rate(&self) -> u64 {
        self.pacing_cap.map_or(self.pacing_rate, |cap| cap.min(self.pacing_rate))
    }

    /// Segments that a burst should have: what the pacing rate gives in about a millisecond (eight before a WiFi device)
    /// and `more` bytes, at least `least`, at most 64 kB (`tcp_tso_autosize`, `bbr_tso_segs_goal`).
    pub fn tso_segs(&self, more: u64, least: u32) -> u32 {
        let bytes =
            ((self.effective_pacing_rate() >> self.pacing_shift) + more).min(LARGEST_BURST) as u32;
        (bytes / self.mss).max(least)
    }

    /// The default pacing rate (`tcp_update_pacing_rate`): 200 % of window/RTT early in slow start, else 120 %.
    #[inline]
    pub fn update_pacing_rate(&mut self) {
        let ratio = if self.cwnd < self.ssthresh / 2 { 200 } else { 120 };
        let per_second = u64::from(self.mss) * 8 * (1_000_000 / 100) * ratio;
        let rate = per_second * u64::from(self.cwnd.max(self.packets_out));
        let srtt8 = u64::from(self.rtt.srtt8_us());
        self.pacing_rate = rate.checked_div(srtt8).unwrap_or(rate);
    }
}

#[cfg(test)]
impl Tcb {
    /// A connection in the middle of its life, for tests of controls: limited by its window, at `cwnd`.
    pub(crate) fn example(cwnd: u32) -> Self {
        Self {
            now: Time::from_secs(1),
            cwnd,
            cwnd_count: 0,
            ssthresh: INFINITE_SSTHRESH,
            cwnd_clamp: u32::MAX / 4,
            prior_cwnd: 0,
            mss: 1448,
            headers: crate::segment::HEADERS,
            una: 0,
            nxt: cwnd,
            packets_out: cwnd,
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            delivered: 0,
            delivered_at: Time::ZERO,
            delivered_ce: 0,
            ecn: Agreed::Off,
            lost: 0,
            max_packets_out: cwnd,
            cwnd_limited: true,
            app_limited: None,
            rtt: Rtt::default(),
            pacing_rate: 0,
            pacing_cap: None,
            paced: false,
            pacing_shift: 10,
            burst_limit: None,
            ca_state: CaState::Open,
            rate: RateSample::default(),
            hz: 250,
        }
    }
}
