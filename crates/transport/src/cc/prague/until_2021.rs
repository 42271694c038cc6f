//! Prague of 2020 and 2021 (docs/sources/prague.md): whole packets of window, and what is still to be added or
//! taken as a signed `carry`.

use super::classic::Detector;
use super::common::{Answers, burst, micros_since, mtu, pacing_rate, real};
use super::gain::{Independence, ONE, ONE_BITS, Scaling, TARGET_US};
use super::version::Version;
use crate::cc::{Control, View};
use crate::cc::{ControlSample, MIN_CWND};
use crate::segment::{Seq, before};
use sojourn_units::Time;

/// Alpha is kept sixteen times itself, so that the average loses no remainder.
const ALPHA_SHIFT: u32 = 4;

/// See the module.
#[derive(Clone, Debug)]
pub struct Until2021 {
    version: Version,
    independence: Independence,
    alpha16: i64,
    carry: i64,
    /// Growth for a window of unmarked packets.
    ai: i64,
    /// Where the round ends.
    next_seq: Seq,
    old_delivered: u32,
    old_delivered_ce: u32,
    round: u32,
    alpha_stamp: Time,
    cwr_stamp: Time,
    saw_ce: bool,
    in_loss: bool,
    loss_cwnd: u32,
    loss_carry: i64,
    detector: Option<Detector>,
}

impl Until2021 {
    /// With the version's own RTT independence (none until August 2020, then by rate), or this.
    pub(super) fn new(version: Version, independence: Option<Independence>) -> Self {
        let own = match version {
            Version::November2020 | Version::Year2021 => Scaling::Rate,
            _ => Scaling::None,
        };
        let own = Independence { scaling: own, target_us: TARGET_US as u32 };
        let detects = matches!(version, Version::April2020 | Version::April2020Fixed);
        Self {
            version,
            independence: independence.unwrap_or(own),
            alpha16: ONE << ALPHA_SHIFT,
            carry: 0,
            ai: ONE,
            next_seq: 0,
            old_delivered: 0,
            old_delivered_ce: 0,
            round: 0,
            alpha_stamp: Time::ZERO,
            cwr_stamp: Time::ZERO,
            saw_ce: false,
            in_loss: false,
            loss_cwnd: 0,
            loss_carry: 0,
            detector: detects.then(Detector::new),
        }
    }

    pub(super) fn init(&mut self, view: &View, control: &mut Control) {
        (self.alpha_stamp, self.cwr_stamp) = (view.now, view.now);
        self.saw_ce = view.delivered_ce > 0;
        self.begin_round(view, control);
        if let Some(detector) = &mut self.detector {
            detector.init(view);
        }
        control.paced = true;
        control.burst_limit = Some(1);
    }

    fn stops_growth_on_loss(&self) -> bool {
        self.version != Version::April2020
    }

    /// Whether it is the module of 2021, or November's, which differs from it in one thing.
    fn is_late(&self) -> bool {
        matches!(self.version, Version::November2020 | Version::Year2021)
    }

    fn independent(&self) -> bool {
        self.independence.scaling != Scaling::None
    }

    /// Rounds after slow start before RTT independence sets in (`rtt_transition`).
    fn transition(&self) -> u32 {
        if self.is_late() { 500 } else { 100 }
    }

    /// Whether RTT independence is in force.
    fn independence_active(&self, control: &Control) -> bool {
        self.independent() && !control.in_slow_start() && self.round >= self.transition()
    }

    /// Whether as long as a round trip of the target has passed since `stamp`, if that matters.
    fn target_passed(&self, view: &View, control: &Control, stamp: Time) -> bool {
        !self.independence_active(control)
            || micros_since(view, stamp) >= self.independence.target_us(view.rtt.srtt_us())
    }

    fn set_gain(&mut self, view: &View) {
        if self.independent() {
            let scaled = self.round >= self.transition() && view.rtt.srtt_us() > 0;
            self.ai = if scaled { self.independence.growth(view.rtt.srtt_us(), true) } else { ONE };
        }
    }

    fn alpha(&self) -> i64 {
        self.alpha16 >> ALPHA_SHIFT
    }

    pub(super) fn sample(&mut self, rtt_us: u32) {
        if let Some(detector) = &mut self.detector {
            detector.sample(rtt_us);
        }
    }

    pub(super) fn cong_control(
        &mut self,
        view: &View,
        control: &mut Control,
        sample: &ControlSample,
    ) {
        self.update_window(view, control, sample);
        if !before(view.una, self.next_seq) && self.target_passed(view, control, self.alpha_stamp) {
            self.update_alpha(view);
            self.begin_round(view, control);
        }
        let packets = u64::from(control.cwnd.max(view.in_flight()));
        if let Some(rate) = pacing_rate(view, control, packets * mtu(view, control)) {
            control.pacing_rate = rate;
            // `tcp_min_tso_segs` counts from 2021 on.
            let least = if self.version == Version::Year2021 { 2 } else { 1 };
            control.burst_limit = Some(burst(rate, mtu(view, control), least));
        }
    }

    fn update_window(&mut self, view: &View, control: &mut Control, sample: &ControlSample) {
        self.saw_ce |= sample.ce > 0;
        let mut unmarked = sample.delivered.saturating_sub(sample.ce);
        // While only the socket's own pacing holds data back, the window counts as used until August 2020.
        let used = control.is_cwnd_limited(view) || (!self.is_late() && sample.backlogged);
        if unmarked > 0 && !self.in_loss && used {
            if control.in_slow_start() {
                unmarked = control.slow_start(unmarked);
                if unmarked == 0 {
                    // The carry is not looked at: marks among others do not end slow start.
                    self.set_gain(view);
                    return;
                }
            }
            let (n, cwnd) = (i64::from(unmarked), i64::from(control.cwnd));
            self.carry += ((n * self.ai + cwnd / 2) / cwnd).max(n);
        }
        self.step(view, control);
    }

    /// One packet of what is carried.
    fn step(&mut self, view: &View, control: &mut Control) {
        if self.carry <= -ONE {
            self.carry += ONE;
            control.cwnd = control.cwnd.saturating_sub(1);
            if control.cwnd < MIN_CWND {
                control.cwnd = MIN_CWND;
                self.carry = 0;
            }
            control.ssthresh = control.cwnd;
        } else if self.carry >= ONE {
            self.carry -= ONE;
            control.cwnd = (control.cwnd + 1).min(control.cwnd_clamp);
        } else {
            return;
        }
        self.set_gain(view);
    }

    fn update_alpha(&mut self, view: &View) {
        if !self.saw_ce {
            return;
        }
        let delivered = view.delivered.wrapping_sub(self.old_delivered);
        let marked = view.delivered_ce.wrapping_sub(self.old_delivered_ce);
        let share = (i64::from(marked) << ONE_BITS) / i64::from(delivered.max(1));
        let alpha16 = self.alpha16 - (self.alpha16 >> ALPHA_SHIFT) + share;
        self.alpha16 = alpha16.min(ONE << ALPHA_SHIFT);
        self.alpha_stamp = view.now;
        if let Some(detector) = &mut self.detector {
            detector.judge(view.rtt.min_us());
        }
    }

    fn begin_round(&mut self, view: &View, control: &Control) {
        self.next_seq = view.nxt;
        self.old_delivered = view.delivered;
        self.old_delivered_ce = view.delivered_ce;
        if !control.in_slow_start() {
            self.round = self.round.checked_add(1).unwrap_or(self.transition());
        }
        self.set_gain(view);
    }

    /// The hook that a reduction begins with (`prague_ssthresh`); the cut itself is carried. At e741f5ac it lifts the
    /// threshold to the window, and the detector's averages span that; the fix of the loss rule took this away, too
    /// (as at b256daed), so that they span the window that the last cut left.
    pub(super) fn ssthresh(&mut self, control: &Control) -> u32 {
        let lifted = self.version == Version::April2020;
        let ssthresh = if lifted { control.cwnd.max(control.ssthresh) } else { control.ssthresh };
        if let Some(detector) = &mut self.detector {
            detector.adapt(ssthresh);
        }
        ssthresh
    }

    /// The kernel adds the difference once more instead of taking it back; so does this.
    pub(super) fn undo_cwnd(&mut self, control: &Control) -> u32 {
        self.carry += self.carry - self.loss_carry;
        self.loss_cwnd.max(control.cwnd)
    }

    pub(super) fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("alpha", real(self.alpha()));
        out("carry", real(self.carry));
        out("ai", real(self.ai));
        out("round", f64::from(self.round));
        out("score", self.detector.as_ref().map_or(0.0, Detector::score));
        out("classic", self.detector.as_ref().map_or(0.0, Detector::classic));
        out("in_loss", f64::from(u8::from(self.in_loss)));
        out("rate_mode", 0.0);
    }
}

impl Answers for Until2021 {
    fn enter_cwr(&mut self, view: &View, control: &Control) {
        if !self.target_passed(view, control, self.cwr_stamp) {
            return;
        }
        self.cwr_stamp = view.now;
        let floor = self.detector.as_ref().map_or(0, |d| (d.floor() * ONE as f64) as i64);
        let alpha = self.alpha().max(floor);
        self.carry -= (alpha * i64::from(control.cwnd) + 1) >> 1;
    }

    fn enter_loss(&mut self, _view: &View, control: &Control) {
        self.loss_cwnd = control.cwnd;
        self.loss_carry = self.carry;
        self.carry -= (i64::from(control.cwnd) << (ONE_BITS - 1)) + (self.carry >> 1);
        self.in_loss = self.stops_growth_on_loss();
    }

    fn leave_loss(&mut self) {
        self.in_loss = false;
    }
}

#[cfg(test)]
#[path = "until_2021_tests.rs"]
mod tests;
