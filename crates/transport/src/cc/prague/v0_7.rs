//! Prague 0.7 (docs/sources/prague.md#version-07): the window is a fraction of its own that `cwnd` follows by one packet an ACK;
//! up to four packets a rate is controlled instead, so that the flow can go below two packets a round trip. Below
//! 1 Mbit/s its packets get smaller, so that two still leave in 25 ms.
//!
//! Marks and growth act on one of the two, window or rate; every ACK works the other out of it, last of all. The
//! two ways are no inverses: from window to rate by whole packets and by the RTT, from rate to window by a slow average
//! of the RTT, and with a second of 2^20 µs, as growth and packet sizes have it. So a flow is not where it was when it has gone from one
//! to the other.
//!
//! An earlier text of 0.7 ([`Text::Early`]) has the same states and constants and acts otherwise in seven places
//! (docs/sources/prague.md#version-07-early-text): each is a branch on [`V0_7::text`].

use super::common::{Answers, burst, micros_since, mtu, real};
use super::gain::{self, ONE, ONE_BITS};
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
/// IP bytes of a full packet (`MTU_SYS`).
const MTU: u64 = 1500;
/// Windows up to this many bytes are controlled by rate.
const RATE_MODE_BYTES: u64 = 4 * MTU;
/// Least payload of a segment, bytes (`MIN_MSS`); an option of AccECN is part of it.
const MIN_MSS: u64 = 150;
/// Packets that are to fit into the target RTT (`MIN_CWND_VIRT`).
const LEAST_PACKETS: u64 = 2;
/// RTTs above this do not scale growth, microseconds times 8.
const MAX_SCALED8: u32 = 100_000 << 3;
/// The target of RTT independence, microseconds times 8.
const TARGET8: u64 = gain::TARGET_US << 3;
/// Microseconds times 8 in a second, where that is one.
const SECOND8: u64 = 1_000_000 << 3;
/// And where the module takes 2^20 of them for one (`RTT2SEC_SHIFT`).
const SECOND8_BITS: u32 = 23;
/// A paced rate is this much faster in the first half of a round, and slower in the second.
const OFFSET: u64 = 4;
const OFFSET_BITS: u32 = 7;
/// Gain of the slow average of the RTT.
const HSRTT_BITS: u32 = 7;
/// Least segments of a burst: one, whatever `tcp_min_tso_segs` says.
const LEAST_BURST: u32 = 1;

/// Which text of the module's version 0.7.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Text {
    /// Of the kernels 5.15.72 (L4STeam/tcp-prague @90aea47f).
    Early,
    /// Of 6.6 and later.
    Newest,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct V0_7 {
    text: Text,
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
    /// Slowly smoothed RTT, microseconds times 8 times 128.
    hsrtt: u64,
    next_seq: Seq,
    old_delivered: u32,
    old_delivered_ce: u32,
    round: u32,
    alpha_stamp: Time,
    cwr_stamp: Time,
    saw_ce: bool,
    in_loss: bool,
    loss_cwnd: u32,
    loss_rate: u64,
}

impl V0_7 {
    pub(super) fn new() -> Self {
        Self::of(Text::Newest)
    }

    /// The early text.
    pub(super) fn early() -> Self {
        Self::of(Text::Early)
    }

    fn of(text: Text) -> Self {
        Self {
            text,
            alpha16: 0,
            f_w: 0,
            rate: MIN_RATE,
            rate_mode: false,
            ai: ONE,
            path_mtu: 0,
            hsrtt: 0,
            next_seq: 0,
            old_delivered: 0,
            old_delivered_ce: 0,
            round: 0,
            alpha_stamp: Time::ZERO,
            cwr_stamp: Time::ZERO,
            saw_ce: false,
            in_loss: false,
            loss_cwnd: 0,
            loss_rate: 0,
        }
    }

    pub(super) fn init(&mut self, view: &View, control: &mut Control) {
        (self.alpha_stamp, self.cwr_stamp) = (view.now, view.now);
        self.f_w = whole(control.cwnd);
        self.path_mtu = mtu(view, control);
        self.hsrtt = u64::from(view.rtt.srtt8_us().max(8)) << HSRTT_BITS;
        self.saw_ce = view.delivered_ce > 0;
        control.paced = true;
        self.pace(view, control);
        self.begin_round(view, control);
    }

    /// The RTT that rates are computed with: that of the target, or a longer one; microseconds times 8.
    fn vrtt8(view: &View) -> u64 {
        u64::from(view.rtt.srtt8_us()).max(TARGET8)
    }

    fn independence_active(&self, control: &Control) -> bool {
        !control.in_slow_start() && self.round >= TRANSITION
    }

    /// Whether it is the rate that marks and growth act on.
    fn by_rate(&self, control: &Control) -> bool {
        self.rate_mode && self.independence_active(control)
    }

    fn target_passed(&self, view: &View, control: &Control, stamp: Time) -> bool {
        !self.independence_active(control) || micros_since(view, stamp) >= gain::TARGET_US
    }

    fn set_gain(&mut self, view: &View) {
        let srtt8 = view.rtt.srtt8_us();
        let scaled = self.round >= TRANSITION
            && (1..=MAX_SCALED8).contains(&srtt8)
            && u64::from(srtt8) < TARGET8;
        self.ai = if scaled {
            let square = |x: u64| x * x;
            nearest(square(u64::from(srtt8)) << ONE_BITS, square(TARGET8)) as i64
        } else {
            ONE
        };
    }

    /// Bytes per second of one packet a round trip.
    fn packet_rate(view: &View, control: &Control) -> u64 {
        let rate = SECOND8 * mtu(view, control);
        rate.checked_div(u64::from(view.rtt.srtt8_us())).unwrap_or(rate)
    }

    /// The rate at which the window leaves in a round trip (`prague_frac_cwnd_to_pacing_rate`).
    fn rate_of_window(&self, view: &View, control: &Control) -> u64 {
        let rate = u128::from(Self::packet_rate(view, control)) * self.f_w as u128;
        ((rate >> ONE_BITS) as u64).max(MIN_RATE)
    }

    /// After a cut of the window. In the early text the rate is set with the pace.
    fn rate_follows(&mut self, view: &View, control: &Control) {
        if self.text == Text::Newest {
            self.rate = self.rate_of_window(view, control);
        }
    }

    /// The window that the rate fills, in 2^-20 packets (`prague_pacing_rate_to_frac_cwnd`).
    fn window_of_rate(&self, view: &View, control: &Control) -> i64 {
        let rtt8 = self.hsrtt >> HSRTT_BITS;
        let bytes = (u128::from(self.rate) * u128::from(rtt8)) >> (SECOND8_BITS - ONE_BITS);
        bytes.div_ceil(u128::from(mtu(view, control))) as i64
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
        self.pace(view, control);
        self.choose_mode(view, control);
    }

    fn update_window(&mut self, view: &View, control: &mut Control, sample: &ControlSample) {
        if sample.ce > 0 && !self.saw_ce {
            // Alpha knows nothing yet: the first mark halves the window at once. The rate follows with the pace.
            self.saw_ce = true;
            self.f_w = (self.f_w + 1) >> 1;
        }
        let mut unmarked = sample.delivered.saturating_sub(sample.ce);
        let used = match self.text {
            Text::Early => view.app_limited.is_none(),
            Text::Newest => control.is_cwnd_limited(view),
        };
        if unmarked > 0 && !self.in_loss && used {
            if control.in_slow_start() {
                unmarked = control.slow_start(unmarked);
                self.f_w = whole(control.cwnd);
                if unmarked == 0 {
                    self.set_gain(view);
                    return;
                }
            }
            self.grow(view, control, u64::from(unmarked));
        }
        self.follow(view, control);
    }

    /// This number of unmarked packets was delivered.
    fn grow(&mut self, view: &View, control: &Control, unmarked: u64) {
        let mtu = mtu(view, control);
        if self.by_rate(control) {
            // A full packet for each that is due in a round trip.
            let vrtt8 = Self::vrtt8(view);
            let more = ((unmarked * MTU) << SECOND8_BITS) / vrtt8;
            let packets = u128::from(self.rate) * u128::from(vrtt8);
            let packets = packets.div_ceil(u128::from(mtu) << SECOND8_BITS) as u64;
            self.rate += nearest(more, packets.max(1));
            self.f_w = (self.f_w + unmarked as i64).max(self.window_of_rate(view, control));
            return;
        }
        if self.text == Text::Early {
            // In whole packets of the window, whatever a packet's size.
            let share = unmarked as i64 * self.ai;
            let cwnd = i64::from(control.cwnd);
            self.f_w += ((share + cwnd / 2) / cwnd).max(unmarked as i64);
            return;
        }
        let share = (u128::from(unmarked) * (self.ai as u128)) << ONE_BITS;
        let window = self.f_w.max(1) as u128;
        let share = (share + window / 2) / window * u128::from(MTU) / u128::from(mtu);
        self.f_w += (share as i64).max(unmarked as i64);
        self.rate = (self.rate + unmarked).max(self.rate_of_window(view, control));
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
        if self.saw_ce {
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
        let srtt8 = u64::from(view.rtt.srtt8_us());
        self.hsrtt = self.hsrtt + srtt8 - (self.hsrtt >> HSRTT_BITS);
    }

    /// IP bytes of a packet, if two are sent in the target RTT, or in the RTT if that is longer
    /// (`prague_pacing_rate_to_max_mtu`, `prague_valid_mtu`).
    fn packet_size(&self, view: &View, control: &Control) -> u64 {
        let bytes = if self.rate_mode || self.text == Text::Early {
            ((u128::from(self.rate) * u128::from(Self::vrtt8(view))) >> SECOND8_BITS) as u64
        } else {
            let srtt8 = u64::from(view.rtt.srtt8_us()).max(1);
            let packets = u128::from(self.f_w.max(0) as u64);
            let packets = packets * u128::from(Self::vrtt8(view)) / u128::from(srtt8);
            ((packets * u128::from(mtu(view, control))) >> ONE_BITS) as u64
        };
        let least = MIN_MSS + u64::from(view.headers - view.options);
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
        if self.text == Text::Early {
            control.cwnd = cwnd;
        } else if cwnd != control.cwnd {
            control.cwnd = cwnd;
            let ssthresh = u64::from(control.ssthresh) * before / after;
            // The module's threshold may be zero, which allows no more slow start than one.
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

    /// Windows up to four full packets are controlled by their rate. At every ACK what is not controlled is worked out of
    /// what is.
    fn choose_mode(&mut self, view: &View, control: &Control) {
        let bytes = u64::from(control.cwnd) * mtu(view, control);
        self.rate_mode = self.saw_ce && bytes <= RATE_MODE_BYTES;
        if self.text == Text::Early {
            // Neither is worked out of the other.
        } else if self.rate_mode {
            self.f_w = self.window_of_rate(view, control);
        } else {
            self.rate = self.rate_of_window(view, control);
        }
    }

    fn pace(&mut self, view: &View, control: &mut Control) {
        // The early text keeps the doubled rate.
        let twice = u32::from(control.cwnd < control.ssthresh / 2);
        let mut rate = if self.by_rate(control) {
            // A little fast for half a round trip, a little slow for the other: the queue is sounded.
            let early = micros_since(view, self.alpha_stamp) < Self::vrtt8(view) >> 4;
            let offset = (self.rate * OFFSET) >> OFFSET_BITS;
            if early { self.rate + offset } else { self.rate - offset }
        } else {
            let window = match self.text {
                Text::Early => control.cwnd,
                Text::Newest => (self.f_w >> ONE_BITS) as u32,
            };
            let packets = u64::from(window.max(view.in_flight()));
            self.rate = (Self::packet_rate(view, control) * packets).max(MIN_RATE);
            self.rate
        };
        rate <<= twice;
        if self.text == Text::Early && !self.by_rate(control) {
            self.rate = rate;
        }
        control.pacing_rate = rate;
        let rate = control.effective_pacing_rate(view);
        control.burst_limit = Some(burst(rate, mtu(view, control), LEAST_BURST));
    }

    pub(super) fn undo_cwnd(&mut self, view: &View, control: &Control) -> u32 {
        self.in_loss = false;
        self.rate = self.rate.max(self.loss_rate);
        self.f_w = self.window_of_rate(view, control);
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
        let alpha = u128::from(self.alpha16 >> GAIN_SHIFT);
        if self.by_rate(control) {
            let cut = (u128::from(self.rate) * alpha) >> (ALPHA_BITS + 1);
            self.rate = self.rate.saturating_sub(cut as u64).max(MIN_RATE);
            self.f_w = self.window_of_rate(view, control);
        } else {
            let cut = (alpha * self.f_w as u128 + u128::from(ALPHA_ONE)) >> (ALPHA_BITS + 1);
            self.f_w -= cut as i64;
            self.rate_follows(view, control);
        }
    }

    fn enter_loss(&mut self, view: &View, control: &Control) {
        (self.loss_cwnd, self.loss_rate) = (control.cwnd, self.rate);
        if self.by_rate(control) {
            self.rate -= self.rate / 2;
            self.f_w = self.window_of_rate(view, control);
        } else {
            self.f_w -= self.f_w / 2;
            self.rate_follows(view, control);
        }
        self.in_loss = true;
    }

    fn leave_loss(&mut self) {
        self.in_loss = false;
    }
}

/// The whole number next to a fraction.
fn nearest(numerator: u64, denominator: u64) -> u64 {
    (numerator + denominator / 2) / denominator
}

/// A number of packets, in 2^-20.
fn whole(packets: u32) -> i64 {
    i64::from(packets) << ONE_BITS
}

#[cfg(test)]
#[path = "v0_7_tests.rs"]
mod tests;
