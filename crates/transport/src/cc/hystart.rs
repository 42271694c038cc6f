//! HyStart (Ha, Rhee 2011) as CUBIC has it in Linux (`hystart_*` in `net/ipv4/tcp_cubic.c`): leave slow start
//! before it overflows the queue, when the ACKs of one round make a train as long as the path, or when their
//! delay has grown.
//!
//! Both variants are here because the published measurements span the change of Linux 5.6 (see
//! [`HyStartVariant`]). Not HyStart++ (RFC 9406), which Linux does not have.

use crate::cc::{Control, View};
use crate::segment::{Seq, after};
use crate::stack::{HyStartVariant, TcpQuirks};
use sojourn_units::Time;

/// No exit below this window, in segments (`hystart_low_window`).
const LOW_WINDOW: u32 = 16;
/// Samples of a round that are looked at for the delay (`HYSTART_MIN_SAMPLES`).
const MIN_SAMPLES: u32 = 8;
/// Smallest and largest rise of the delay that counts, microseconds (`HYSTART_DELAY_MIN`, `_MAX`).
const DELAY_MIN_US: u32 = 4_000;
const DELAY_MAX_US: u32 = 16_000;
/// ACKs further apart than this end a train, microseconds (`hystart_ack_delta`).
const TRAIN_GAP_US: u32 = 2_000;
/// Largest segmentation burst, bytes (`GSO_MAX_SIZE`); the train threshold allows for a few of them.
const GSO_MAX_BYTES: u64 = 65_536;

/// Why slow start was left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// The round's ACK train was as long as half the path.
    Train,
    /// The round's delay was above the minimum.
    Delay,
}

/// State of the detector.
#[derive(Clone, Debug)]
pub struct HyStart {
    variant: HyStartVariant,
    /// Whether a new round is detected at each sample (from 5.16) or when the window grows.
    rounds_by_sample: bool,
    round_start: Time,
    last_ack: Time,
    round_end: Seq,
    samples: u32,
    round_min_us: u32,
    found: Option<Exit>,
}

impl HyStart {
    /// A detector at rest.
    pub fn new(quirks: &TcpQuirks) -> Self {
        Self {
            variant: quirks.hystart,
            rounds_by_sample: quirks.hystart_rounds_by_sample,
            round_start: Time::ZERO,
            last_ack: Time::ZERO,
            round_end: 0,
            samples: 0,
            round_min_us: u32::MAX,
            found: None,
        }
    }

    /// A connection begins, or begins again after a timeout: everything is forgotten.
    pub fn restart(&mut self, view: &View) {
        self.found = None;
        self.start_round(view);
    }

    /// Begins a round that lasts until what has been sent so far is acknowledged.
    fn start_round(&mut self, view: &View) {
        self.round_start = view.now;
        self.last_ack = view.now;
        self.round_end = view.nxt;
        self.samples = 0;
        self.round_min_us = u32::MAX;
    }

    /// Called before the window grows in slow start: whether a round has passed.
    #[inline]
    pub fn on_growth(&mut self, view: &View) {
        if !self.rounds_by_sample && after(view.una, self.round_end) {
            self.start_round(view);
        }
    }

    /// Why slow start was left, if it was.
    pub fn found(&self) -> Option<Exit> {
        self.found
    }

    /// An RTT sample in slow start. True when slow start is to end now.
    pub fn on_sample(
        &mut self,
        view: &View,
        control: &Control,
        rtt_us: u32,
        delay_min_us: u32,
    ) -> bool {
        if self.found.is_some() {
            return false;
        }
        if self.rounds_by_sample && after(view.una, self.round_end) {
            self.start_round(view);
        }
        if control.cwnd < LOW_WINDOW {
            return false;
        }
        self.found = match self.variant {
            HyStartVariant::Milliseconds => self.milliseconds(view, rtt_us, delay_min_us),
            HyStartVariant::Microseconds => self.microseconds(view, control, rtt_us, delay_min_us),
        };
        self.found.is_some()
    }

    fn delay_threshold(delay_min_us: u32) -> u32 {
        (delay_min_us / 8).clamp(DELAY_MIN_US, DELAY_MAX_US)
    }

    fn microseconds(
        &mut self,
        view: &View,
        control: &Control,
        rtt_us: u32,
        delay_min_us: u32,
    ) -> Option<Exit> {
        let mut exit = None;
        if view.now.since(self.last_ack).as_micros() <= u64::from(TRAIN_GAP_US) {
            self.last_ack = view.now;
            let mut threshold = u64::from(delay_min_us) + Self::burst_allowance_us(control);
            if !control.paced {
                threshold /= 2;
            }
            if view.now.since(self.round_start).as_micros() > threshold {
                exit = Some(Exit::Train);
            }
        }
        self.round_min_us = self.round_min_us.min(rtt_us);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
        } else if self.round_min_us > delay_min_us + Self::delay_threshold(delay_min_us) {
            exit = Some(Exit::Delay);
        }
        exit
    }

    /// The time that a few segmentation bursts take at the pacing rate (`hystart_ack_delay`), at most 1 ms.
    fn burst_allowance_us(control: &Control) -> u64 {
        if control.pacing_rate == 0 {
            return 0;
        }
        (GSO_MAX_BYTES * 4 * 1_000_000 / control.pacing_rate).min(1_000)
    }

    /// The older form: a clock of whole milliseconds, and a minimum delay in units of 1/8 ms.
    fn milliseconds(&mut self, view: &View, rtt_us: u32, delay_min_us: u32) -> Option<Exit> {
        let ms = |t: Time| t.as_nanos() / 1_000_000;
        let eighth_ms = |us: u32| us * 8 / 1_000;
        let (now, delay_min8) = (ms(view.now), eighth_ms(delay_min_us));
        let mut exit = None;
        if now - ms(self.last_ack) <= u64::from(TRAIN_GAP_US / 1_000) {
            self.last_ack = view.now;
            if now - ms(self.round_start) > u64::from(delay_min8 >> 4) {
                exit = Some(Exit::Train);
            }
        }
        if self.samples < MIN_SAMPLES {
            self.round_min_us = self.round_min_us.min(rtt_us);
            self.samples += 1;
        } else {
            let threshold =
                (delay_min8 >> 3).clamp(8 * DELAY_MIN_US / 1_000, 8 * DELAY_MAX_US / 1_000);
            if eighth_ms(self.round_min_us) > delay_min8 + threshold {
                exit = Some(Exit::Delay);
            }
        }
        exit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::examples::{LINUX_5_4, LINUX_5_10, LINUX_7_3};
    use crate::tcb::Tcb;
    use sojourn_units::Span;

    const DELAY_MIN: u32 = 40_000;

    /// A round that begins at 1 s with 20 segments out, and pacing so fast that the allowance for bursts is 100 µs.
    fn begin(quirks: &TcpQuirks) -> (HyStart, Tcb) {
        let mut tcb = Tcb::example(20);
        tcb.control.pacing_rate = GSO_MAX_BYTES * 4 * 10_000;
        let mut hystart = HyStart::new(quirks);
        hystart.restart(&tcb.view);
        (hystart, tcb)
    }

    /// Feeds a sample each `gap_us` until slow start is left; microseconds from the round's beginning, and why.
    fn train(hystart: &mut HyStart, tcb: &mut Tcb, gap_us: u64, count: u32) -> Option<(u64, Exit)> {
        let start = tcb.view.now;
        for _ in 0..count {
            tcb.view.now += Span::from_micros(gap_us);
            if hystart.on_sample(&tcb.view, &tcb.control, DELAY_MIN, DELAY_MIN) {
                return Some((tcb.view.now.since(start).as_micros(), hystart.found().unwrap()));
            }
        }
        None
    }

    /// From 5.6 on: the train is as long as (40 ms + 0.1 ms)/2, so the ACK at 21 ms is the first beyond; where the
    /// socket is paced, which spreads the train itself, as long as 40.1 ms.
    #[test]
    fn a_train_as_long_as_half_the_path_ends_slow_start() {
        let (mut h, mut tcb) = begin(&LINUX_7_3);
        assert_eq!(train(&mut h, &mut tcb, 1_000, 100), Some((21_000, Exit::Train)));
        let (mut h, mut tcb) = begin(&LINUX_7_3);
        tcb.control.paced = true;
        assert_eq!(train(&mut h, &mut tcb, 1_000, 100), Some((41_000, Exit::Train)));
        // The allowance is 1 ms at most: (40 + 1)/2 = 20.5.
        let (mut h, mut tcb) = begin(&LINUX_7_3);
        tcb.control.pacing_rate = 1_000_000;
        assert_eq!(train(&mut h, &mut tcb, 100, 1_000), Some((20_600, Exit::Train)));
    }

    /// A gap of more than 2 ms ends the train for the round.
    #[test]
    fn a_gap_ends_the_train() {
        let (mut h, mut tcb) = begin(&LINUX_7_3);
        assert_eq!(train(&mut h, &mut tcb, 2_000, 5), None);
        tcb.view.now += Span::from_micros(2_001);
        assert_eq!(train(&mut h, &mut tcb, 1_000, 100), None);
        // The next round counts from its own beginning.
        tcb.view.una = 21;
        tcb.view.nxt = 40;
        let start = tcb.view.now;
        assert!(train(&mut h, &mut tcb, 1_000, 100).is_some());
        assert_eq!(tcb.view.now.since(start), Span::from_millis(22));
    }

    /// Up to 5.5: whole milliseconds, against half the lowest delay in units of 1/8 ms: 320 >> 4 = 20.
    #[test]
    fn the_older_train_counts_milliseconds() {
        let (mut h, mut tcb) = begin(&LINUX_5_4);
        assert_eq!(train(&mut h, &mut tcb, 500, 100), Some((21_000, Exit::Train)));
        // Gaps of up to 2.999 ms may look like 2.
        let (mut h, mut tcb) = begin(&LINUX_5_4);
        assert_eq!(train(&mut h, &mut tcb, 2_000, 100), Some((22_000, Exit::Train)));
    }

    /// The delay: eight samples, then the lowest of the round against 40 + max(4, 40/8) = 45 ms.
    #[test]
    fn delay_above_an_eighth_ends_slow_start() {
        for (quirks, us, exit) in [
            (&LINUX_7_3, 45_001, true),
            (&LINUX_7_3, 45_000, false),
            (&LINUX_5_4, 45_125, true),
            // 45.1 ms are 360 eighths, as are 45.
            (&LINUX_5_4, 45_100, false),
        ] {
            let (mut h, mut tcb) = begin(quirks);
            // Too far apart for a train.
            tcb.view.now += Span::from_millis(5);
            for _ in 0..8 {
                assert!(!h.on_sample(&tcb.view, &tcb.control, us, DELAY_MIN));
            }
            assert_eq!(h.on_sample(&tcb.view, &tcb.control, us, DELAY_MIN), exit, "{us} µs");
            assert_eq!(h.found(), exit.then_some(Exit::Delay));
        }
    }

    /// The rise is at least 4 ms and at most 16.
    #[test]
    fn the_rise_is_clamped() {
        for (min, threshold) in [(8_000, 4_000), (80_000, 10_000), (400_000, 16_000)] {
            assert_eq!(HyStart::delay_threshold(min), threshold);
        }
    }

    /// From 5.6 on any sample of the round lowers its delay; before, the first eight decide.
    #[test]
    fn a_late_low_sample_counts_only_in_the_newer_form() {
        for (quirks, exit) in [(&LINUX_7_3, false), (&LINUX_5_4, true)] {
            let (mut h, mut tcb) = begin(quirks);
            tcb.view.now += Span::from_millis(5);
            for _ in 0..8 {
                assert!(!h.on_sample(&tcb.view, &tcb.control, 50_000, DELAY_MIN));
            }
            assert_eq!(h.on_sample(&tcb.view, &tcb.control, 41_000, DELAY_MIN), exit);
        }
    }

    /// Below 16 segments slow start goes on; a new round is still detected where samples do that.
    #[test]
    fn small_windows_are_left_alone() {
        let (mut h, mut tcb) = begin(&LINUX_7_3);
        tcb.control.cwnd = 15;
        assert_eq!(train(&mut h, &mut tcb, 1_000, 100), None);
        tcb.view.una = 21;
        let began = h.round_start;
        assert!(!h.on_sample(&tcb.view, &tcb.control, DELAY_MIN, DELAY_MIN));
        assert_ne!(h.round_start, began);
    }

    /// New rounds are detected at every sample (recent), or at the window's growth alone, so that a flow which does not
    /// use its window stays in one round and looks like one long train (Linux commit 4e1fddc98d25).
    #[test]
    fn rounds_by_growth_or_by_sample() {
        for (quirks, new_round) in [(&LINUX_7_3, true), (&LINUX_5_10, false)] {
            let (mut h, mut tcb) = begin(quirks);
            let began = h.round_start;
            tcb.view.now += Span::from_millis(3);
            (tcb.view.una, tcb.view.nxt) = (21, 41);
            h.on_sample(&tcb.view, &tcb.control, DELAY_MIN, DELAY_MIN);
            assert_eq!(h.round_start != began, new_round);
            h.on_growth(&tcb.view);
            assert_ne!(h.round_start, began);
        }
    }

    /// Once found, it is silent until a timeout.
    #[test]
    fn found_once() {
        let (mut h, mut tcb) = begin(&LINUX_7_3);
        assert!(train(&mut h, &mut tcb, 1_000, 100).is_some());
        assert_eq!(train(&mut h, &mut tcb, 1_000, 100), None);
        h.restart(&tcb.view);
        assert_eq!(h.found(), None);
    }
}
