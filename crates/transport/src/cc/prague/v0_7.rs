//! Prague 0.7 (docs/sources/prague.md#version-07): the window is a fraction of its own that `cwnd` follows by one packet an ACK;
//! below four packets a rate is controlled instead, so that the flow can go below two packets a round trip. Below
//! 1 Mbit/s its packets get smaller, so that two still leave in 25 ms.

use super::{Answers, ONE, ONE_BITS, burst, gain, micros_since, mtu, pacing_rate, real};
use crate::cc::{Control, View};
use crate::cc::{ControlSample, MIN_CWND};
use crate::segment::{Seq, before};
use core::cmp::Ordering;
use sojourn_units::Time;

/// Bits of alpha's fraction.
const ALPHA_BITS: u32 = 24;
const ALPHA_ONE: u64 = 1 << ALPHA_BITS;
/// Gain 1/16.
const GAIN_SHIFT: u32 = 4;
/// Rounds after slow start before RTT independence sets in.
const TRANSITION: u32 = 4;
/// Lowest rate, bytes per second: 100 kbit/s.
const MIN_RATE: u64 = 12_500;
/// Windows up to this many bytes are controlled by rate.
const RATE_MODE_BYTES: u64 = 4 * 1500;
/// Least payload of a segment, bytes (`MIN_MSS`).
const MIN_MSS: u64 = 150;
/// Packets that are to fit into the target RTT (`MIN_CWND_VIRT`).
const LEAST_PACKETS: u64 = 2;
/// RTTs above this do not scale growth, microseconds.
const MAX_SCALED_US: u32 = 100_000;

/// See the module.
#[derive(Clone, Debug)]
pub struct V0_7 {
    /// Smoothed share of marks, times 16, in 2^-24.
    alpha16: u64,
    /// Window in 2^-20 packets.
    f_w: i64,
    /// Bytes per second.
    rate: u64,
    rate_mode: bool,
    ai: i64,
    /// IP bytes of the largest packet that the path takes (`mtu_cache`).
    path_mtu: u64,
    /// Slowly smoothed RTT, microseconds times 128.
    hsrtt128: u64,
    next_seq: Seq,
    old_delivered: u32,
    old_delivered_ce: u32,
    round: u32,
    alpha_stamp: Time,
    cwr_stamp: Time,
    saw_ce: bool,
    in_loss: bool,
    loss_cwnd: u32,
    loss_f_w: i64,
    loss_rate: u64,
}

impl V0_7 {
    pub(super) fn new() -> Self {
        Self {
            alpha16: 0,
            f_w: 0,
            rate: MIN_RATE,
            rate_mode: false,
            ai: ONE,
            path_mtu: 0,
            hsrtt128: 0,
            next_seq: 0,
            old_delivered: 0,
            old_delivered_ce: 0,
            round: 0,
            alpha_stamp: Time::ZERO,
            cwr_stamp: Time::ZERO,
            saw_ce: false,
            in_loss: false,
            loss_cwnd: 0,
            loss_f_w: 0,
            loss_rate: 0,
        }
    }

    pub(super) fn init(&mut self, view: &View, control: &mut Control) {
        (self.alpha_stamp, self.cwr_stamp) = (view.now, view.now);
        self.f_w = whole(control.cwnd);
        self.path_mtu = mtu(view, control);
        self.hsrtt128 = u64::from(view.rtt.srtt_us()) << 7;
        self.rate = self.rate_of_window(view, control);
        self.begin_round(view, control);
        control.paced = true;
        control.burst_limit = Some(1);
    }

    /// The RTT that rates are computed with: that of the target, or a longer one.
    fn vrtt_us(view: &View) -> u64 {
        u64::from(view.rtt.srtt_us()).max(gain::TARGET_US)
    }

    fn independence_active(&self, control: &Control) -> bool {
        !control.in_slow_start() && self.round >= TRANSITION
    }

    fn target_passed(&self, view: &View, control: &Control, stamp: Time) -> bool {
        !self.independence_active(control) || micros_since(view, stamp) >= gain::TARGET_US
    }

    fn set_gain(&mut self, view: &View) {
        let srtt = view.rtt.srtt_us();
        let scaled = self.round >= TRANSITION && srtt > 0 && srtt <= MAX_SCALED_US;
        self.ai = if scaled { gain::by_rate(srtt, gain::TARGET_US, false) } else { ONE };
    }

    fn rate_of_window(&self, view: &View, control: &Control) -> u64 {
        let bytes = (self.f_w as u64 * mtu(view, control)) >> ONE_BITS;
        let rate = (bytes * 1_000_000).checked_div(u64::from(view.rtt.srtt_us()));
        rate.unwrap_or(self.rate).max(MIN_RATE)
    }

    /// The window that the rate fills, in 2^-20 packets.
    fn window_of_rate(&self, view: &View, control: &Control) -> i64 {
        let bytes = u128::from(self.rate) * u128::from(self.hsrtt128 >> 7) / 1_000_000;
        ((bytes << ONE_BITS) / u128::from(mtu(view, control))) as i64
    }

    pub(super) fn cong_control(
        &mut self,
        view: &View,
        control: &mut Control,
        sample: &ControlSample,
    ) {
        self.update_window(view, control, sample);
        if !before(view.una, self.next_seq) && self.target_passed(view, control, self.alpha_stamp) {
            self.update_alpha(view, control);
            self.begin_round(view, control);
        }
        self.choose_mode(view, control);
        self.pace(view, control);
    }

    fn update_window(&mut self, view: &View, control: &mut Control, sample: &ControlSample) {
        if sample.ce > 0 && !self.saw_ce {
            // Alpha knows nothing yet: the first mark halves the window at once.
            self.saw_ce = true;
            self.f_w -= self.f_w / 2;
            self.rate -= self.rate / 2;
        }
        let mut unmarked = sample.delivered.saturating_sub(sample.ce);
        if unmarked > 0 && !self.in_loss && control.is_cwnd_limited(view) {
            if control.in_slow_start() {
                unmarked = control.slow_start(unmarked);
                if unmarked == 0 {
                    self.f_w = whole(control.cwnd);
                    self.rate = self.rate_of_window(view, control);
                    self.set_gain(view);
                    return;
                }
            }
            self.grow(view, control, unmarked);
        }
        self.follow(view, control);
    }

    fn grow(&mut self, view: &View, control: &Control, unmarked: u32) {
        let n = i64::from(unmarked);
        if self.rate_mode && self.independence_active(control) {
            let (vrtt, mtu) = (Self::vrtt_us(view), mtu(view, control));
            let packets = (self.rate * vrtt).div_ceil(mtu * 1_000_000).max(1);
            self.rate += u64::from(unmarked) * 1500 * 1_000_000 / vrtt / packets;
            self.f_w = (self.f_w + n).max(self.window_of_rate(view, control));
            return;
        }
        let share =
            i128::from(n) * i128::from(self.ai) * i128::from(ONE) / i128::from(self.f_w.max(1));
        let scaled = share * 1500 / i128::from(mtu(view, control));
        self.f_w += (scaled as i64).max(n);
        self.rate = self.rate_of_window(view, control);
    }

    /// The window that the fraction stands for, packets.
    fn window(&self, control: &Control) -> u32 {
        let f_w = self.f_w.max(1);
        (((f_w + ONE - 1) >> ONE_BITS) as u32).clamp(MIN_CWND, control.cwnd_clamp)
    }

    /// The window follows by one packet.
    fn follow(&mut self, view: &View, control: &mut Control) {
        match self.window(control).cmp(&control.cwnd) {
            Ordering::Less => {
                control.cwnd -= 1;
                control.ssthresh = control.cwnd;
            }
            Ordering::Greater => control.cwnd += 1,
            Ordering::Equal => return,
        }
        self.set_gain(view);
    }

    fn update_alpha(&mut self, view: &View, control: &mut Control) {
        let srtt = u64::from(view.rtt.srtt_us());
        self.hsrtt128 = self.hsrtt128 + srtt - (self.hsrtt128 >> 7);
        if !self.saw_ce {
            return;
        }
        let delivered = view.delivered.wrapping_sub(self.old_delivered);
        let marked = view.delivered_ce.wrapping_sub(self.old_delivered_ce);
        let share = (u64::from(marked) << ALPHA_BITS) / u64::from(delivered.max(1));
        let alpha16 = self.alpha16 - (self.alpha16 >> GAIN_SHIFT) + share;
        self.alpha16 = alpha16.min(ALPHA_ONE << GAIN_SHIFT);
        self.alpha_stamp = view.now;
        if self.independence_active(control) && !self.in_loss {
            self.resize(view, control);
        }
    }

    /// IP bytes of a packet of which two are sent in the target RTT, or in the RTT if that is longer
    /// (`prague_pacing_rate_to_max_mtu`, `prague_valid_mtu`). By the rate, the module takes 2^20 µs for a second.
    fn packet_size(&self, view: &View, control: &Control) -> u64 {
        let bytes = if self.rate_mode {
            (self.rate * Self::vrtt_us(view)) >> 20
        } else {
            let srtt = u64::from(view.rtt.srtt_us()).max(1);
            let packets = u128::from(self.f_w.max(0) as u64);
            let packets = packets * u128::from(Self::vrtt_us(view)) / u128::from(srtt);
            ((packets * u128::from(mtu(view, control))) >> ONE_BITS) as u64
        };
        let least = MIN_MSS + u64::from(view.headers);
        bytes.div_ceil(LEAST_PACKETS).min(self.path_mtu).max(least)
    }

    /// New segments get the size that fits the rate; the window stays as many bytes.
    fn resize(&mut self, view: &View, control: &mut Control) {
        let (before, after) = (mtu(view, control), self.packet_size(view, control));
        if before == after {
            return;
        }
        control.mss = after as u32 - view.headers;
        self.f_w = (i128::from(self.f_w) * i128::from(before) / i128::from(after)) as i64;
        let cwnd = self.window(control);
        if cwnd != control.cwnd {
            control.cwnd = cwnd;
            let ssthresh = u64::from(control.ssthresh) * before / after;
            // The module's may be nought, which is no more slow start than one is.
            control.ssthresh = ssthresh.clamp(1, u64::from(u32::MAX)) as u32;
            self.set_gain(view);
        }
    }

    fn begin_round(&mut self, view: &View, control: &Control) {
        self.next_seq = view.nxt;
        self.old_delivered = view.delivered;
        self.old_delivered_ce = view.delivered_ce;
        if !control.in_slow_start() {
            self.round = self.round.checked_add(1).unwrap_or(TRANSITION);
        }
        self.set_gain(view);
    }

    fn choose_mode(&mut self, view: &View, control: &Control) {
        let rate_mode =
            self.saw_ce && u64::from(control.cwnd) * mtu(view, control) <= RATE_MODE_BYTES;
        if rate_mode == self.rate_mode {
            return;
        }
        self.rate_mode = rate_mode;
        if rate_mode {
            self.rate = self.rate_of_window(view, control);
        } else {
            self.f_w = self.window_of_rate(view, control).max(self.f_w);
        }
    }

    fn pace(&self, view: &View, control: &mut Control) {
        let rate = if self.rate_mode && self.independence_active(control) {
            // A little fast for half a round trip, a little slow for the other: the queue is sounded.
            let early = micros_since(view, self.alpha_stamp) < Self::vrtt_us(view) / 2;
            let offset = self.rate * 4 / 128;
            Some(if early { self.rate + offset } else { self.rate - offset })
        } else {
            let packets = u64::from(((self.f_w >> ONE_BITS) as u32).max(view.in_flight()));
            pacing_rate(view, control, packets * mtu(view, control))
        };
        if let Some(rate) = rate {
            control.pacing_rate = rate.max(MIN_RATE);
            control.burst_limit = Some(burst(control.pacing_rate, mtu(view, control), 2));
        }
    }

    pub(super) fn undo_cwnd(&mut self, control: &Control) -> u32 {
        self.f_w = self.f_w.max(self.loss_f_w);
        self.rate = self.rate.max(self.loss_rate);
        self.in_loss = false;
        self.loss_cwnd.max(control.cwnd)
    }

    pub(super) fn gauges(&self, control: &Control, out: &mut dyn FnMut(&'static str, f64)) {
        out("alpha", self.alpha16 as f64 / (ALPHA_ONE << GAIN_SHIFT) as f64);
        out("carry", real(self.f_w - whole(control.cwnd)));
        out("ai", real(self.ai));
        out("round", f64::from(self.round));
        out("score", 0.0);
        out("classic", 0.0);
        out("in_loss", f64::from(u8::from(self.in_loss)));
        out("rate_mode", f64::from(u8::from(self.rate_mode)));
    }
}

impl Answers for V0_7 {
    fn enter_cwr(&mut self, view: &View, control: &Control) {
        if !self.target_passed(view, control, self.cwr_stamp) {
            return;
        }
        self.cwr_stamp = view.now;
        // Half of alpha, of what is sixteen times alpha.
        let bits = ALPHA_BITS + GAIN_SHIFT + 1;
        if self.rate_mode && self.independence_active(control) {
            let cut = (u128::from(self.rate) * u128::from(self.alpha16)) >> bits;
            self.rate = self.rate.saturating_sub(cut as u64).max(MIN_RATE);
            self.f_w = self.window_of_rate(view, control);
        } else {
            let cut = (i128::from(self.f_w) * i128::from(self.alpha16)) >> bits;
            self.f_w -= cut as i64;
            self.rate = self.rate_of_window(view, control);
        }
    }

    fn enter_loss(&mut self, control: &Control) {
        (self.loss_cwnd, self.loss_f_w, self.loss_rate) = (control.cwnd, self.f_w, self.rate);
        self.f_w -= self.f_w / 2;
        self.rate = (self.rate / 2).max(MIN_RATE);
        self.in_loss = true;
    }

    fn leave_loss(&mut self) {
        self.in_loss = false;
    }
}

/// So many packets, in 2^-20.
fn whole(packets: u32) -> i64 {
    i64::from(packets) << ONE_BITS
}

#[cfg(test)]
#[path = "v0_7_tests.rs"]
mod tests;
