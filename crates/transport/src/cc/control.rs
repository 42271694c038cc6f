//! What a congestion control may write: window, threshold, pacing and burst sizes.
//!
//! Plain data without references, as [`View`]. The sender writes here, too, where Linux's does: proportional rate
//! reduction, the end of a reduction, a timeout and the restart after idleness set `cwnd`, and who does not set a pacing
//! rate gets the default one.

use super::View;

/// `ssthresh` before anything has set it (`TCP_INFINITE_SSTHRESH`).
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;
/// Largest TSO burst, and largest buffer that the application's data is put into, in bytes: 64 kB less the room for
/// headers (`sk_gso_max_size`; `MAX_TCP_HEADER` is 320 bytes where a cache line has 64).
pub const LARGEST_BURST: u64 = 65_536 - 321;

/// The handle by which a congestion control steers its connection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Control {
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Fractional growth of the window (`snd_cwnd_cnt`), segments acknowledged since the last whole step.
    pub cwnd_count: u32,
    /// Slow-start threshold, segments.
    pub ssthresh: u32,
    /// Highest window allowed, segments (`snd_cwnd_clamp`).
    pub cwnd_clamp: u32,
    /// Pacing rate in bytes of payload per second; what `ss` shows even where nothing paces.
    pub pacing_rate: u64,
    /// Payload of a full new segment, bytes; a control may change it, up to what the path takes. Unsent data is cut
    /// again after the ACK is processed.
    pub mss: u32,
    /// Most segments that may leave as one TSO burst, if the control limits it.
    pub burst_limit: Option<u32>,
    /// Whether the socket is really paced (a host `fq`, or a congestion control that asks for it).
    pub paced: bool,
    /// Whether the default pacing rate is the window over the RTT, without the kernel's factor.
    pub pace_over_rtt: bool,
    /// Set by a control to mark the data that is out as limited by the application, so that its delivery rates are not
    /// taken for the path's. The sender clears the flag when it has noted that.
    pub app_limited: bool,
}

impl Control {
    /// The handle of a connection that has sent nothing, with a window of `cwnd` segments of `mss` bytes.
    pub fn new(cwnd: u32, mss: u32) -> Self {
        Self {
            cwnd,
            cwnd_count: 0,
            ssthresh: INFINITE_SSTHRESH,
            cwnd_clamp: u32::MAX / 4,
            pacing_rate: 0,
            mss,
            burst_limit: None,
            paced: false,
            pace_over_rtt: false,
            app_limited: false,
        }
    }

    /// Whether the window is below its threshold.
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Whether the window limits the flow (`tcp_is_cwnd_limited`): a window that is not used must not grow. In slow
    /// start a window below twice its use may grow, too; [`View::cwnd_limited`] is the plain flag.
    #[inline]
    pub fn is_cwnd_limited(&self, view: &View) -> bool {
        if view.cwnd_limited {
            return true;
        }
        self.in_slow_start() && self.cwnd < 2 * view.max_packets_out
    }

    /// Additive increase of one segment for every `w` acknowledged (`tcp_cong_avoid_ai`).
    #[inline]
    pub fn additive_increase(&mut self, w: u32, acked: u32) {
        if self.cwnd_count >= w {
            self.cwnd_count = 0;
            self.cwnd += 1;
        }
        self.cwnd_count += acked;
        if self.cwnd_count >= w {
            let whole = self.cwnd_count / w;
            self.cwnd_count -= whole * w;
            self.cwnd += whole;
        }
        self.cwnd = self.cwnd.min(self.cwnd_clamp);
    }

    /// Slow start (`tcp_slow_start`): one segment for each acknowledged, up to the threshold; returns what is left.
    #[inline]
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        let cwnd = (self.cwnd + acked).min(self.ssthresh);
        let left = acked - (cwnd - self.cwnd);
        self.cwnd = cwnd.min(self.cwnd_clamp);
        left
    }

    /// The rate that payload is paced at, bytes per second.
    #[inline]
    pub fn effective_pacing_rate(&self, view: &View) -> u64 {
        view.max_pacing_rate.map_or(self.pacing_rate, |cap| cap.min(self.pacing_rate))
    }

    /// Segments that a TSO burst should have: about a millisecond at the pacing rate (eight before a WiFi device) and
    /// `more` bytes, at least `least`, at most 64 kB (`tcp_tso_autosize`, `bbr_tso_segs_goal`).
    pub fn tso_segs(&self, view: &View, more: u64, least: u32) -> u32 {
        let share = self.effective_pacing_rate(view) >> view.pacing_shift;
        let bytes = (share + more).min(LARGEST_BURST) as u32;
        (bytes / view.mss).max(least)
    }

    /// The default pacing rate (`tcp_update_pacing_rate`): 200 % of window/RTT early in slow start, else 120 %; the
    /// window over the RTT where a control asks for it.
    #[inline]
    pub(crate) fn update_pacing_rate(&mut self, view: &View) {
        let ratio = match self.pace_over_rtt {
            true => 100,
            false if self.cwnd < self.ssthresh / 2 => 200,
            false => 120,
        };
        let per_second = u64::from(view.mss_cache()) * 8 * (1_000_000 / 100) * ratio;
        let rate = per_second * u64::from(self.cwnd.max(view.packets_out));
        let srtt8 = u64::from(view.rtt.srtt8_us());
        self.pacing_rate = rate.checked_div(srtt8).unwrap_or(rate);
    }
}
