//! The model: rounds, the path's rate and lowest RTT, and what fills it. (draft §5.5.1, §5.5.2, §5.5.7, §5.6.)

use super::memory::{LEAST_CWND, Model};
use super::parts::NONE;
use super::rules::UNIT;
use super::state::State;
use super::version::Version;
use crate::cc::bbr::{BW_BITS, BW_UNIT};
use crate::cc::{Control, ControlSample, View};
use crate::segment::before;
use sojourn_units::{Span, Time};

/// How much slower than the estimate it is paced, so that queues shrink, percent.
const PACING_MARGIN: u64 = 1;
/// The window has room for this many bursts: one in the making, one on its way, one that is being acknowledged.
const BURSTS: u32 = 3;
/// A long burst of the draft, bytes.
const LARGEST_QUANTUM: u64 = 64 * 1024;
/// What Google adds to a burst at an RTT of nothing, bytes, and the RTT that halves it, in powers of two of a microsecond.
const SHORT_RTT_BURST: u64 = 65_536;
const SHORT_RTT_SHIFT: u32 = 9;

/// `bw` times `gain` in bytes of payload per second, less the margin.
pub(super) fn bytes_per_sec(view: &View, bw: u64, gain: u32) -> u64 {
    let bytes = u128::from(bw) * u128::from(view.mss_cache()) * u128::from(gain) / u128::from(UNIT);
    let per_second = bytes * u128::from(1_000_000 / 100 * (100 - PACING_MARGIN));
    u64::try_from(per_second >> BW_BITS).unwrap_or(u64::MAX)
}

impl<V: Version> Model<V> {
    /// The clock that seconds are counted by.
    pub(super) fn clock(view: &View) -> Time {
        if V::RULES.kernel_clocks {
            Time::from_nanos(u64::from(view.jiffies()) * u64::from(1_000_000_000 / view.hz))
        } else {
            view.now
        }
    }

    /// The point in time that phases are counted from.
    pub(super) fn phase_clock(view: &View) -> Time {
        if V::RULES.kernel_clocks { view.delivered_at } else { view.now }
    }

    /// The ACK's rate, packets per microsecond times 2^24; zero if it gave none.
    pub(super) fn sample_bw(sample: &ControlSample) -> u32 {
        sample.rate.map_or(0, |rate| {
            let (delivered, us) =
                (u64::from(rate.delivered) << BW_BITS, u64::from(rate.interval_us));
            let bw = if V::RULES.rates_round_up { delivered.div_ceil(us) } else { delivered / us };
            u32::try_from(bw).unwrap_or(u32::MAX)
        })
    }

    /// Whether the application paused when the ACK's newest segment left.
    pub(super) fn is_app_limited(sample: &ControlSample) -> bool {
        sample.rate.is_some_and(|rate| rate.app_limited)
    }

    /// Begins a round now: a phase has at least one full round.
    pub(super) fn start_round(&mut self, view: &View) {
        self.round_end = view.delivered;
    }

    /// Counts rounds by packets: one ends when what was sent in it is delivered.
    pub(super) fn update_round(&mut self, view: &View, sample: &ControlSample) {
        self.round_start = false;
        if V::RULES.kernel_clocks && sample.rate.is_none() {
            return;
        }
        let Some(prior) = sample.prior_delivered else { return };
        if before(prior, self.round_end) {
            return;
        }
        self.start_round(view);
        self.round_count = self.round_count.wrapping_add(1);
        self.rounds_since_probe = self.rounds_since_probe.saturating_add(1).min(255);
        self.round_start = true;
    }

    /// Takes the ACK's rate into the filter. An application that pauses says nothing of the path, unless it was faster
    /// nevertheless.
    pub(super) fn update_max_bw(&mut self, sample: &ControlSample) {
        let bw = Self::sample_bw(sample);
        if bw > 0 && (!Self::is_app_limited(sample) || bw >= self.max_bw.get()) {
            self.max_bw.take(bw);
        }
    }

    /// The rate that is used: the highest recent one, within the short-term bound.
    pub(super) fn bw(&self) -> u32 {
        self.max_bw.get().min(self.bw_shortterm)
    }

    /// Packets that the path holds without a queue at `bw`, times `gain`, rounded up; the initial window before the first
    /// RTT.
    pub(super) fn bdp(&self, bw: u32, gain: u32) -> u32 {
        if self.min_rtt_us == u32::MAX {
            return self.initial_window;
        }
        let product = u128::from(bw) * u128::from(self.min_rtt_us) * u128::from(gain);
        u32::try_from(product.div_ceil(u128::from(UNIT) * u128::from(BW_UNIT)))
            .unwrap_or(u32::MAX / 4)
    }

    /// Segments that leave together: a millisecond at the estimated rate, at least two, at most 64 kB (draft §5.6.3);
    /// Google's bursts are larger below 8 ms of RTT.
    pub(super) fn burst(&self, view: &View, control: &Control) -> u32 {
        if V::RULES.bursts_by_rtt {
            let more = SHORT_RTT_BURST.checked_shr(self.min_rtt_us >> SHORT_RTT_SHIFT).unwrap_or(0);
            return control.tso_segs(view, more, 2);
        }
        let bytes = (control.effective_pacing_rate(view) / 1_000).min(LARGEST_QUANTUM);
        ((bytes / u64::from(view.mss)) as u32).max(2)
    }

    /// Adds what probing and bursts need.
    pub(super) fn with_bursts(&self, view: &View, control: &Control, inflight: u32) -> u32 {
        let least = (BURSTS * self.burst(view, control)).max(LEAST_CWND);
        // So that probing brings more in flight where the product is small.
        let probing = if self.state == State::Up { 2 } else { 0 };
        inflight.max(least) + probing
    }

    /// Packets in flight at `bw` times `gain`.
    pub(super) fn inflight(&self, view: &View, control: &Control, bw: u32, gain: u32) -> u32 {
        self.with_bursts(view, control, self.bdp(bw, gain))
    }

    /// The target when nothing is probed: enough to fill the path, if the window admits it.
    pub(super) fn target_inflight(&self, view: &View, control: &Control) -> u32 {
        let target = if V::RULES.counts_at_departure {
            self.inflight(view, control, self.bw(), UNIT)
        } else {
            self.bdp(self.bw(), UNIT)
        };
        target.min(control.cwnd)
    }

    /// The part of `in_flight` that decisions use: all of it, or the packets that will be in the network when the next
    /// burst leaves.
    pub(super) fn in_network(
        &self,
        view: &View,
        control: &Control,
        sample: &ControlSample,
        in_flight: u32,
    ) -> u32 {
        if !V::RULES.counts_at_departure {
            return in_flight;
        }
        let wait_us = sample.next_departure.since(view.now).as_nanos() / 1_000;
        let arrive = (u64::from(self.bw()) * wait_us) >> BW_BITS;
        let joining = if self.pacing_gain > UNIT { self.burst(view, control) } else { 0 };
        u64::from(in_flight + joining).saturating_sub(arrive) as u32
    }

    /// What is in flight as the phases of ProbeBW count it.
    pub(super) fn phase_inflight(
        &self,
        view: &View,
        control: &Control,
        sample: &ControlSample,
    ) -> u32 {
        let in_flight =
            if V::RULES.counts_at_departure { sample.prior_in_flight } else { view.in_flight() };
        self.in_network(view, control, sample, in_flight)
    }

    /// A first pacing rate, by the window and the smoothed RTT, or a millisecond before there is one.
    pub(super) fn pace_by_window(&mut self, view: &View, control: &mut Control) {
        self.has_seen_rtt |= view.rtt.srtt8_us() > 0;
        let rtt_us = if self.has_seen_rtt { view.rtt.srtt_us().max(1) } else { 1_000 };
        let bw = (u64::from(control.cwnd) << BW_BITS) / u64::from(rtt_us);
        control.pacing_rate = bytes_per_sec(view, bw, V::RULES.startup_pacing);
    }

    /// Sets the pacing rate; until the pipe is full, only upwards.
    pub(super) fn pace(&mut self, view: &View, control: &mut Control, gain: u32) {
        let rate = bytes_per_sec(view, u64::from(self.bw()), gain);
        if !self.has_seen_rtt && view.rtt.srtt8_us() > 0 {
            self.pace_by_window(view, control);
        }
        if self.full_bw_reached || rate > control.pacing_rate {
            control.pacing_rate = rate;
        }
    }

    /// Whether a point in time lies more than `span` before the clock.
    pub(super) fn is_older(view: &View, stamp: Time, span: Span) -> bool {
        Self::clock(view) > stamp + span
    }

    /// What stays free of the long-term bound for others who come.
    pub(super) fn with_headroom(&self) -> u32 {
        let bound = self.inflight_longterm;
        if bound == NONE {
            return NONE;
        }
        let free = (u64::from(bound) * u64::from(V::RULES.headroom) / u64::from(UNIT)).max(1);
        bound.saturating_sub(free as u32).max(LEAST_CWND)
    }
}
