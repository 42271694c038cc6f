//! LEDBAT++: a sender for background traffic. It keeps the queue that it makes at 60 ms or less, gives way to what fills more
//! than that, and steps aside at intervals, so that those who came late see the empty path's round trip, too.
//!
//! Source: draft-irtf-iccrg-ledbat-plus-plus, the rules of -01 (August 2020) as its implementations state them. The text of
//! -06 (January 2026), which is on its way to be an RFC, was not to be had: numbers may have changed. Base and current delay
//! are filtered as in RFC 6817 §3.4.2, but of round trips.
//!
//! ```text
//! base        lowest round trip of the last ten minutes, kept by the minute
//! queue       lowest of the last four round trips, less base
//! GAIN        1 / min(16, ceil(2 TARGET / base))                                                 §4.2
//! slow start  from 2; W += GAIN for each acknowledged; the first ends when queue > 3/4 TARGET    §4.1
//! beyond      once a round trip: W += GAIN, or, if queue > TARGET,
//!             W += max(GAIN - W (queue / TARGET - 1), -W/2)                                      §4.3
//! slowdown    two round trips after the first slow start: W = 2 for two round trips, then slow start
//!             back to where it was; the next after nine times as long as this took                §4.4
//! loss        W/2, once a round trip; a mark as a loss
//! ```
//!
//! Invariants: the window is at least two segments, but after a timeout. Only a loss reduces the window to come back to.
//!
//! The trick: windows and gains are counted in 1/720720 of a segment, the least number that 1 to 16 all divide, so that every
//! gain is exact. In a slowdown the threshold is as low as the window: then this is no slow start to anybody, and the window
//! to come back to is kept here.
//!
//! Read into the text where it says nothing: the ramp after a slowdown has the gain as any slow start has; it does not end by
//! delay; a round trip for the slowdown's times is the smoothed one of the moment when they begin; a loss in a slowdown halves
//! the window to come back to.

use super::{AckSample, CongestionControl, Info, MIN_CWND};
use crate::cc::control::INFINITE_SSTHRESH;
use crate::cc::{CaState, Control, View};
use crate::segment::{Seq, before};
use crate::stack::TcpQuirks;
use sojourn_units::{Span, Time};

/// Queueing delay that is aimed at, microseconds.
const TARGET_US: u32 = 60_000;
/// Least gain is one over this.
const LEAST_GAIN: u32 = 16;
/// A segment: the least common multiple of 1 to [`LEAST_GAIN`].
const ONE: u64 = 720_720;
/// The number of minutes with a lowest round trip each.
const MINUTES: usize = 10;
/// The number of round trips; their lowest is the current one.
const SAMPLES: usize = 4;
/// A slowdown takes at most one part in this number and one more.
const APART: u64 = 9;

/// What is known of round trips, in microseconds.
#[derive(Clone, Debug)]
struct Delays {
    /// Lowest of each minute, the newest first.
    minutes: [u32; MINUTES],
    /// The newest one.
    minute: u64,
    /// The last samples, in a ring.
    last: [u32; SAMPLES],
    next: usize,
}

impl Delays {
    const fn new() -> Self {
        Self { minutes: [u32::MAX; MINUTES], minute: 0, last: [u32::MAX; SAMPLES], next: 0 }
    }

    fn sample(&mut self, now: Time, rtt_us: u32) {
        let minute = now.as_nanos() / Span::from_secs(60).as_nanos();
        if minute != self.minute {
            self.minute = minute;
            self.minutes.rotate_right(1);
            self.minutes[0] = u32::MAX;
        }
        self.minutes[0] = self.minutes[0].min(rtt_us);
        self.last[self.next] = rtt_us;
        self.next = (self.next + 1) % SAMPLES;
    }

    /// Lowest round trip; `None` before the first.
    fn base(&self) -> Option<u32> {
        self.minutes.iter().copied().min().filter(|&us| us != u32::MAX)
    }

    /// The excess of the current round trip over the lowest; nothing before the first.
    fn queue(&self) -> u32 {
        let current = self.last.iter().copied().min().filter(|&us| us != u32::MAX);
        current.unwrap_or(0).saturating_sub(self.base().unwrap_or(0))
    }

    /// One over the gain.
    fn divisor(&self) -> u32 {
        // No round trip is known yet: as careful as can be.
        let Some(base) = self.base() else { return LEAST_GAIN };
        (2 * TARGET_US).div_ceil(base.max(1)).min(LEAST_GAIN)
    }
}

/// Where in the cycle of slowdowns a connection is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// None is going on; the next begins at this time, once the first slow start is over.
    Between { next: Option<Time> },
    /// The window is held at two.
    Held { since: Time, until: Time, resume: u32 },
    /// Slow start back to where it was.
    Ramp { since: Time },
}

/// LEDBAT++.
#[derive(Clone, Debug)]
pub struct LedbatPlusPlus {
    delays: Delays,
    phase: Phase,
    /// The part of the window beyond whole segments, in parts of [`ONE`].
    fraction: u64,
    /// The round trip ends when this is acknowledged.
    round_end: Seq,
    /// The first slow start ends by delay; not so where another slow start does that.
    own_exit: bool,
}

impl LedbatPlusPlus {
    /// What it is.
    pub const INFO: Info = Info {
        name: "ledbat++",
        summary: "for background traffic: keeps its queue at 60 ms, gives way, and steps aside at intervals",
        source: "draft-irtf-iccrg-ledbat-plus-plus, rules of -01 (August 2020)",
        gauges: &[
            ("base_rtt", "s", "lowest round trip of the last ten minutes"),
            ("queue_delay", "s", "lowest of the last four round trips, less the base"),
            ("gain", "segments", "growth in a round trip, or in slow start for each acknowledged"),
            ("slowdown", "", "0 none, 1 the window is held at two, 2 back by slow start"),
        ],
        options: &[],
    };

    /// A new one.
    pub fn new(_switches: &TcpQuirks) -> Self {
        Self {
            delays: Delays::new(),
            phase: Phase::Between { next: None },
            fraction: 0,
            round_end: 0,
            own_exit: true,
        }
    }

    fn window(&self, control: &Control) -> u64 {
        u64::from(control.cwnd) * ONE + self.fraction
    }

    fn set_window(&mut self, control: &mut Control, window: u64) {
        let most = u64::from(control.cwnd_clamp) * ONE;
        let window = window.min(most);
        control.cwnd = (window / ONE) as u32;
        self.fraction = window % ONE;
    }

    /// Slow start by the gain, up to the threshold.
    fn slow_start(&mut self, control: &mut Control, acked: u32) {
        let growth = u64::from(acked) * ONE / u64::from(self.delays.divisor());
        let most = u64::from(control.ssthresh) * ONE;
        let window = (self.window(control) + growth).min(most);
        self.set_window(control, window);
    }

    /// What a round trip of congestion avoidance does.
    fn adjust(&mut self, view: &View, control: &mut Control) {
        let (window, queue) = (self.window(control), self.delays.queue());
        let gain = ONE / u64::from(self.delays.divisor());
        if queue <= TARGET_US {
            if control.is_cwnd_limited(view) {
                self.set_window(control, window + gain);
            }
            return;
        }
        let over = u128::from(window) * u128::from(queue - TARGET_US) / u128::from(TARGET_US);
        let cut = over.saturating_sub(u128::from(gain)).min(u128::from(window / 2)) as u64;
        // Just above the target the gain may be more than the cut, as below it.
        let growth = u128::from(gain).saturating_sub(over) as u64;
        let used = control.is_cwnd_limited(view);
        let window = window - cut + if used { growth } else { 0 };
        self.set_window(control, window.max(u64::from(MIN_CWND) * ONE));
        // Below the threshold it would be slow start again.
        control.ssthresh = control.ssthresh.min(control.cwnd);
    }

    /// Moves on in the cycle of slowdowns. Whether the window is held.
    fn slow_down(&mut self, view: &View, control: &mut Control) -> bool {
        let two_round_trips = Span::from_micros(u64::from(view.rtt.srtt8_us()) / 4);
        let now = view.now;
        match self.phase {
            Phase::Between { next: None } if !control.in_slow_start() => {
                self.phase = Phase::Between { next: Some(now.saturating_add(two_round_trips)) };
            }
            Phase::Between { next: Some(next) } if now >= next => {
                let until = now.saturating_add(two_round_trips);
                // A window that has not come back from a timeout still has its threshold to go to.
                let resume = if control.in_slow_start() { control.ssthresh } else { control.cwnd };
                self.phase = Phase::Held { since: now, until, resume };
                (control.cwnd, control.ssthresh, self.fraction) = (MIN_CWND, MIN_CWND, 0);
            }
            Phase::Held { since, until, resume } if now >= until => {
                control.ssthresh = resume;
                self.phase = Phase::Ramp { since };
            }
            Phase::Ramp { since } if !control.in_slow_start() => {
                let apart = Span::from_nanos(now.since(since).as_nanos() * APART);
                self.phase = Phase::Between { next: Some(now.saturating_add(apart)) };
            }
            _ => {}
        }
        matches!(self.phase, Phase::Held { .. })
    }
}

impl CongestionControl for LedbatPlusPlus {
    fn init(&mut self, view: &View, control: &mut Control) {
        control.cwnd = control.cwnd.min(MIN_CWND);
        self.round_end = view.nxt;
    }

    fn leave_slow_start_to_others(&mut self) {
        self.own_exit = false;
    }

    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        if let Phase::Held { resume, .. } = &mut self.phase {
            *resume = (*resume / 2).max(MIN_CWND);
            return MIN_CWND;
        }
        (control.cwnd / 2).max(MIN_CWND)
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        let round_over = !before(view.una, self.round_end);
        if round_over {
            self.round_end = view.nxt;
        }
        if self.slow_down(view, control) {
            control.cwnd = control.cwnd.min(MIN_CWND);
            return;
        }
        if control.in_slow_start() {
            // Nothing has set the threshold yet: it is the first slow start.
            let first = control.ssthresh == INFINITE_SSTHRESH;
            if first && self.own_exit && self.delays.queue() > TARGET_US / 4 * 3 {
                // Two segments at the least (RFC 5681, 3.1): an initial window of one may end slow start.
                control.ssthresh = control.cwnd.max(MIN_CWND);
                self.slow_down(view, control);
            } else if control.is_cwnd_limited(view) {
                self.slow_start(control, acked);
            }
        } else if round_over {
            self.adjust(view, control);
        }
    }

    fn pkts_acked(&mut self, view: &View, _control: &mut Control, sample: AckSample) {
        if let Some(rtt_us) = sample.rtt_us {
            self.delays.sample(view.now, rtt_us);
        }
    }

    fn set_state(&mut self, view: &View, _control: &mut Control, _state: CaState) {
        // A reduction is over: its effect shows first.
        if view.in_reduction() {
            self.round_end = view.nxt;
        }
    }

    fn undo_cwnd(&mut self, view: &View, control: &Control) -> u32 {
        if let Phase::Held { resume, .. } = &mut self.phase {
            *resume = (*resume).max(view.prior_cwnd);
            return control.cwnd;
        }
        control.cwnd.max(view.prior_cwnd)
    }

    fn gauges(&self, _view: &View, _control: &Control, out: &mut dyn FnMut(&'static str, f64)) {
        let seconds = |us: u32| f64::from(us) / 1e6;
        if let Some(base) = self.delays.base() {
            out("base_rtt", seconds(base));
            out("queue_delay", seconds(self.delays.queue()));
        }
        out("gain", 1.0 / f64::from(self.delays.divisor()));
        out(
            "slowdown",
            match self.phase {
                Phase::Between { .. } => 0.0,
                Phase::Held { .. } => 1.0,
                Phase::Ramp { .. } => 2.0,
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::examples::LINUX_7_3;
    use crate::tcb::Tcb;

    /// A connection with the lowest round trip `base` and four last ones of `rtt`, in milliseconds. The smoothed one is 200 ms.
    fn established(cwnd: u32, base: u32, rtt: u32) -> (LedbatPlusPlus, Tcb) {
        let (mut ledbat, mut tcb) = (LedbatPlusPlus::new(&LINUX_7_3), Tcb::example(cwnd));
        tcb.view.rtt.sample(tcb.view.now, 200_000, 200_000, 0, 0);
        see(&mut ledbat, &mut tcb, base, 1);
        see(&mut ledbat, &mut tcb, rtt, 4);
        (ledbat, tcb)
    }

    fn see(ledbat: &mut LedbatPlusPlus, tcb: &mut Tcb, rtt: u32, times: u32) {
        for _ in 0..times {
            let sample = AckSample { acked: 1, rtt_us: Some(rtt * 1000) };
            ledbat.pkts_acked(&tcb.view, &mut tcb.control, sample);
        }
    }

    /// An ACK at a time in milliseconds that ends a round trip.
    fn round(ledbat: &mut LedbatPlusPlus, tcb: &mut Tcb, at: u64, acked: u32) {
        tcb.view.now = Time::from_millis(at);
        tcb.view.una = tcb.view.nxt;
        tcb.view.nxt += acked;
        ledbat.cong_avoid(&tcb.view, &mut tcb.control, acked);
    }

    fn segments(ledbat: &LedbatPlusPlus, tcb: &Tcb) -> f64 {
        ledbat.window(&tcb.control) as f64 / ONE as f64
    }

    /// §4.2: ceil(120 ms / base), at most 16.
    #[test]
    fn the_gain_by_the_base() {
        for (base, divisor) in
            [(1, 16), (7, 16), (8, 15), (20, 6), (50, 3), (119, 2), (120, 1), (600, 1)]
        {
            let (ledbat, _) = established(10, base, base);
            assert_eq!(ledbat.delays.divisor(), divisor, "{base} ms");
        }
        assert_eq!(LedbatPlusPlus::new(&LINUX_7_3).delays.divisor(), 16, "nothing is known");
    }

    /// Every gain divides a segment.
    #[test]
    fn a_segment_has_all_gains() {
        assert!((1..=u64::from(LEAST_GAIN)).all(|divisor| ONE.is_multiple_of(divisor)));
    }

    /// §4.1: at 60 ms a half for each acknowledged: 10, 15, 22.5, 33.5 (22 acknowledged: half a segment does not
    /// leave).
    #[test]
    fn slow_start_by_the_gain() {
        let (mut ledbat, mut tcb) = established(10, 60, 60);
        for (acked, window) in [(10, 15.0), (15, 22.5), (22, 33.5)] {
            round(&mut ledbat, &mut tcb, 1000, acked);
            assert_eq!(segments(&ledbat, &tcb), window);
        }
        tcb.control.ssthresh = 35;
        round(&mut ledbat, &mut tcb, 1000, 33);
        assert_eq!(segments(&ledbat, &tcb), 35.0, "no further than the threshold");
    }

    /// §4.1: the first slow start ends above 45 ms of queue, one after it does not.
    #[test]
    fn the_first_slow_start_ends_by_delay() {
        for (rtt, threshold, ends) in
            [(105, INFINITE_SSTHRESH, false), (106, INFINITE_SSTHRESH, true), (119, 100, false)]
        {
            let (mut ledbat, mut tcb) = established(20, 60, rtt);
            tcb.control.ssthresh = threshold;
            round(&mut ledbat, &mut tcb, 1000, 2);
            assert_eq!(!tcb.control.in_slow_start(), ends, "{rtt} ms");
            assert_eq!(tcb.control.cwnd, if ends { 20 } else { 21 });
        }
    }

    /// §4.3 with W = 40 and a gain of a half: 1/2 up to the target; at 66 ms -40/10 + 1/2; at 90 ms -20 + 1/2; beyond -20.
    #[test]
    fn a_round_trip_by_its_queue() {
        for (queue, window) in
            [(0, 40.5), (60, 40.5), (66, 36.5), (90, 20.5), (91, 20.0), (600, 20.0)]
        {
            let (mut ledbat, mut tcb) = established(40, 60, 60 + queue);
            tcb.control.ssthresh = 40;
            round(&mut ledbat, &mut tcb, 1000, 40);
            assert_eq!(segments(&ledbat, &tcb), window, "{queue} ms");
            // The same round trip does not count twice.
            ledbat.cong_avoid(&tcb.view, &mut tcb.control, 1);
            assert_eq!(segments(&ledbat, &tcb), window, "{queue} ms");
        }
    }

    /// Growth has to be used; a cut comes whether the window is used or not, and ends at two.
    #[test]
    fn what_is_not_used_does_not_grow() {
        for (queue, cwnd, window) in [(0, 40, 40.0), (90, 40, 20.5), (600, 3, 2.0)] {
            let (mut ledbat, mut tcb) = established(cwnd, 60, 60 + queue);
            (tcb.control.ssthresh, tcb.view.cwnd_limited) = (2, false);
            round(&mut ledbat, &mut tcb, 1000, cwnd);
            assert_eq!(segments(&ledbat, &tcb), window, "{queue} ms");
        }
    }

    /// RFC 6817 §3.4.2: of the lowest round trips of ten minutes, the eleventh pushes out the first.
    #[test]
    fn the_base_is_forgotten_after_ten_minutes() {
        let mut delays = Delays::new();
        delays.sample(Time::from_secs(1), 20_000);
        for minute in 1..10 {
            delays.sample(Time::from_secs(60 * minute), 50_000);
            assert_eq!(delays.base(), Some(20_000));
        }
        delays.sample(Time::from_secs(600), 50_000);
        assert_eq!(delays.base(), Some(50_000));
    }

    /// The current delay is the lowest of four: one late ACK is no queue.
    #[test]
    fn a_late_ack_is_no_queue() {
        let (mut ledbat, mut tcb) = established(10, 60, 80);
        see(&mut ledbat, &mut tcb, 500, 3);
        assert_eq!(ledbat.delays.queue(), 20_000);
        see(&mut ledbat, &mut tcb, 500, 1);
        assert_eq!(ledbat.delays.queue(), 440_000);
    }

    /// A connection that has left its first slow start at 1 s with 40 segments and 200 ms as its smoothed round trip.
    fn out_of_slow_start() -> (LedbatPlusPlus, Tcb) {
        let (mut ledbat, mut tcb) = established(40, 120, 170);
        round(&mut ledbat, &mut tcb, 1000, 1);
        assert_eq!((tcb.control.cwnd, tcb.control.ssthresh), (40, 40));
        see(&mut ledbat, &mut tcb, 120, 4);
        (ledbat, tcb)
    }

    /// RFC 5681, 3.1: a threshold has two segments at the least, also where the initial window has one.
    #[test]
    fn a_threshold_has_two_segments() {
        let (mut ledbat, mut tcb) = established(1, 120, 170);
        tcb.control.cwnd = 1;
        round(&mut ledbat, &mut tcb, 1000, 1);
        assert_eq!(tcb.control.ssthresh, 2);
    }

    /// §4.4: held from 1.4 s to 1.8 s, back at 2.2 s (2, 4, 8 ... with a gain of one); that took 0.8 s: the next at 9.4 s.
    #[test]
    fn a_slowdown_and_the_next() {
        let (mut ledbat, mut tcb) = out_of_slow_start();
        round(&mut ledbat, &mut tcb, 1399, 1);
        assert_eq!(tcb.control.cwnd, 41, "one round trip more");
        round(&mut ledbat, &mut tcb, 1400, 1);
        assert_eq!(tcb.control.cwnd, 2);
        round(&mut ledbat, &mut tcb, 1799, 2);
        assert_eq!(tcb.control.cwnd, 2);
        round(&mut ledbat, &mut tcb, 1800, 2);
        assert_eq!((tcb.control.cwnd, tcb.control.ssthresh), (4, 41));
        for (acked, cwnd) in [(4, 8), (8, 16), (16, 32), (32, 41)] {
            round(&mut ledbat, &mut tcb, 2000, acked);
            assert_eq!(tcb.control.cwnd, cwnd);
        }
        round(&mut ledbat, &mut tcb, 2200, 1);
        assert_eq!(ledbat.phase, Phase::Between { next: Some(Time::from_millis(9400)) });
        round(&mut ledbat, &mut tcb, 9399, 1);
        assert!(tcb.control.cwnd > 2);
        round(&mut ledbat, &mut tcb, 9400, 1);
        assert_eq!(tcb.control.cwnd, 2);
    }

    /// A loss while the window is held leaves it at two and halves what it comes back to; if there was none, that is taken back.
    #[test]
    fn a_loss_in_a_slowdown() {
        let (mut ledbat, mut tcb) = out_of_slow_start();
        round(&mut ledbat, &mut tcb, 1400, 1);
        assert_eq!(ledbat.ssthresh(&tcb.view, &tcb.control), 2);
        let mut undone = ledbat.clone();
        round(&mut ledbat, &mut tcb, 1800, 2);
        assert_eq!(tcb.control.ssthresh, 20);
        tcb.view.prior_cwnd = 40;
        tcb.control.cwnd = 2;
        assert_eq!(undone.undo_cwnd(&tcb.view, &tcb.control), 2);
        round(&mut undone, &mut tcb, 1800, 2);
        assert_eq!(tcb.control.ssthresh, 40);
    }

    /// A loss is half, and ends the first slow start as its delay would.
    #[test]
    fn half_on_loss() {
        let (mut ledbat, mut tcb) = established(41, 60, 60);
        tcb.control.ssthresh = ledbat.ssthresh(&tcb.view, &tcb.control);
        assert_eq!(tcb.control.ssthresh, 20);
        tcb.control.cwnd = 20;
        round(&mut ledbat, &mut tcb, 1000, 1);
        assert!(matches!(ledbat.phase, Phase::Between { next: Some(_) }));
        tcb.control.cwnd = 3;
        assert_eq!(ledbat.ssthresh(&tcb.view, &tcb.control), 2);
    }
}
