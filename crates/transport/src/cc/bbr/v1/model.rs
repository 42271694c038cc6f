//! The model: what rate the path has, and how many packets fill it.

use super::rate::bytes_per_sec;
use super::state::{Bbr, HIGH_GAIN, Mode, PAIRS_FROM};
use crate::cc::bbr::{BW_BITS, BW_UNIT, GAIN_BITS, UNIT};
use crate::cc::{Control, ControlSample, View};
use crate::segment::before;

/// Rounds that a rate counts for: a cycle of gains and two.
const BW_ROUNDS: u32 = super::probe_bw::PHASES + 2;
/// Window where there has never been an RTT sample (`TCP_INIT_CWND`).
pub(super) const SAFE_CWND: u32 = 10;
/// Most segments that a burst is taken to have.
const LONGEST_BURST: u32 = 127;

/// Least segments of a burst (`bbr_min_tso_segs`).
pub(super) fn min_tso_segs(view: &View, control: &Control) -> u32 {
    if control.effective_pacing_rate(view) < PAIRS_FROM { 1 } else { 2 }
}

/// Segments that a burst has at the pacing rate (`bbr_tso_segs_goal`).
fn burst(view: &View, control: &Control) -> u32 {
    control.tso_segs(view, 0, min_tso_segs(view, control)).min(LONGEST_BURST)
}

impl Bbr {
    /// The rate that is taken for the bottleneck's: the policer's, or the highest recent one (`bbr_bw`).
    pub(super) fn bw(&self) -> u32 {
        self.policer.rate().unwrap_or(self.max_bw.get())
    }

    /// Rounds and the filter of rates (`bbr_update_bw`).
    pub(super) fn update_rate(&mut self, view: &View, sample: &ControlSample) {
        self.round_start = false;
        let (Some(rate), Some(prior)) = (sample.rate, sample.prior_delivered) else { return };
        if !before(prior, self.round_end) {
            self.round_end = view.delivered;
            self.rounds = self.rounds.wrapping_add(1);
            self.round_start = true;
            self.conserving = false;
        }
        self.sample_long_term(view, sample.lost, rate.app_limited);
        let bw = (u64::from(rate.delivered) << BW_BITS) / u64::from(rate.interval_us);
        // An application that pauses says nothing of the path, unless it was faster nevertheless.
        if !rate.app_limited || bw >= u64::from(self.max_bw.get()) {
            self.max_bw.update(self.rounds, bw.min(u64::from(u32::MAX)) as u32, BW_ROUNDS);
        }
    }

    /// Packets that the path holds without a queue, times `gain`, rounded up (`bbr_bdp`).
    pub(super) fn bdp(&self, bw: u32, gain: u32) -> u32 {
        if self.min_rtt_us == u32::MAX {
            return SAFE_CWND;
        }
        let product = u128::from(bw) * u128::from(self.min_rtt_us) * u128::from(gain);
        (product >> GAIN_BITS).div_ceil(u128::from(BW_UNIT)) as u32
    }

    /// Adds room for the bursts that are being sent, received and acknowledged (`bbr_quantization_budget`).
    pub(super) fn with_bursts(&self, view: &View, control: &Control, cwnd: u32) -> u32 {
        let cwnd = (cwnd + 3 * burst(view, control)).next_multiple_of(2);
        // So that probing brings more in flight where the product is small.
        if self.mode == Mode::ProbeBw && self.phase == 0 { cwnd + 2 } else { cwnd }
    }

    /// Packets in flight at the highest rate times `gain` (`bbr_inflight`).
    pub(super) fn inflight(&self, view: &View, control: &Control, gain: u32) -> u32 {
        self.with_bursts(view, control, self.bdp(self.max_bw.get(), gain))
    }

    /// Packets that will be in the network when the next burst leaves (`bbr_packets_in_net_at_edt`): pacing has
    /// settled when that is, and until then some of those that are out will arrive.
    pub(super) fn in_network(
        &self,
        view: &View,
        control: &Control,
        sample: &ControlSample,
        in_flight: u32,
    ) -> u32 {
        let wait_us = sample.next_departure.since(view.now).as_nanos() / 1_000;
        let arrive = (u64::from(self.bw()) * wait_us) >> BW_BITS;
        let joining = if self.pacing_gain > UNIT { burst(view, control) } else { 0 };
        u64::from(in_flight + joining).saturating_sub(arrive) as u32
    }

    /// A first pacing rate, by the window and the smoothed RTT, or a millisecond before there is one
    /// (`bbr_init_pacing_rate_from_rtt`).
    pub(super) fn pace_by_window(&mut self, view: &View, control: &mut Control) {
        let srtt_us = view.rtt.srtt_us();
        self.has_seen_rtt |= view.rtt.srtt8_us() > 0;
        let rtt_us = if self.has_seen_rtt { srtt_us.max(1) } else { 1_000 };
        let bw = (u64::from(control.cwnd) << BW_BITS) / u64::from(rtt_us);
        control.pacing_rate = bytes_per_sec(view, bw, HIGH_GAIN);
    }

    /// Sets the pacing rate; until the pipe is full, only upwards (`bbr_set_pacing_rate`).
    pub(super) fn pace(&mut self, view: &View, control: &mut Control, gain: u32) {
        let rate = bytes_per_sec(view, u64::from(self.bw()), gain);
        if !self.has_seen_rtt && view.rtt.srtt8_us() > 0 {
            self.pace_by_window(view, control);
        }
        if self.full_pipe || rate > control.pacing_rate {
            control.pacing_rate = rate;
        }
    }
}
