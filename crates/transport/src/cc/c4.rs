//! C4, a control for interactive media that keeps the rate just below what the path carries (Huitema and others,
//! draft-huitema-ccwg-c4-spec, the text after -00 in the authors' repository, commit 0557c13; -04 was not readable).
//!
//! ```text
//! nominal rate   the highest delivery rate seen while not congested; congestion while cruising lowers it
//! nominal RTT    the highest RTT while sending at the nominal rate or below, forgotten by an eighth each era
//! pacing, W      α · rate, and that times the nominal RTT, at least two packets
//! Initial   α 2      until three eras bring no higher rate, or congestion does; then Recovery
//! Recovery  α 15/16  an era; after three pushes that succeeded, or once for high jitter, Initial; else Cruising
//! Cruising  α 1      four eras, not limited by the application; then Pushing; congestion: rate (1 - β), Recovery
//! Pushing   α 17/16, after a push that succeeded up to 5/4; an era or congestion, then Recovery
//! congestion     RTT > nominal RTT + d; smoothed loss > 0.02 + 0.5 (1 - s); smoothed CE > (2 - s) 3/32
//! β              of delay and CE in proportion to the excess, at most 1/4; of loss 1/4
//! s              sensitivity: 0 below 50 kB/s, 0.92 at 1 MB/s, 1 above 10 MB/s, linear between
//! ```
//!
//! Where the text cannot be meant as written: the nominal rate grows if the estimate is higher (printed the other way round), and
//! a push after a success has α = 17/16 + 3/16 (1 - ecn/threshold), which is the 5/4 of its table (printed 17/16 for 3/16). An
//! estimate is this stack's delivery rate, with an interval that begins with the last delivery before the packet left, not
//! with its departure. A timeout changes nothing, as the text demands. The quantum of 4 ms limits a pacing bucket that a sender with
//! data never fills, so bursts have the two packets that are its least.
//!
//! Invariants: an era ends with the delivery of a packet that left in it; only Cruising lowers the rate.

use super::{CongestionControl, Control, ControlSample, Info, MIN_CWND, View};
use crate::ecn::{EcnRequirements, Request};
use crate::stack::TcpQuirks;
use sojourn_units::Ecn;

/// α in 256ths.
const INITIAL: u32 = 512;
const RECOVERY: u32 = 240;
const CRUISING: u32 = 256;
const PUSH: u32 = 272;
/// What a push may have beyond [`PUSH`] after one that succeeded: 3/16.
const BOLD: u32 = 48;
/// Fractions are millionths.
const ONE: u64 = 1_000_000;
/// Jitter that the nominal RTT may have (`MAX_JITTER`).
const MAX_JITTER_US: u32 = 250_000;
const MOST_DELAY_MARGIN_US: u64 = 25_000;
const QUARTER: u64 = ONE / 4;
/// Losses before this many packets do not end Initial.
const ASSESSED: u32 = 20;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Initial,
    Recovery,
    Cruising,
    Pushing,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Signal {
    Delay,
    Loss,
    Marks,
}

/// C4.
#[derive(Clone, Debug)]
pub struct C4 {
    state: State,
    alpha: u32,
    alpha_before: u32,
    /// Payload bytes per second; 0 before the first estimate.
    rate: u64,
    /// Microseconds; 0 before the first sample.
    max_rtt: u32,
    running_min: u32,
    /// The era ends with a packet that left when this many had been delivered.
    era_end: u32,
    era_rtt: Option<(u32, u32)>,
    /// The rate when the era began, and eras in a row that did not raise it.
    era_rate: u64,
    flat: u32,
    /// Eras of Cruising so far.
    cruised: u32,
    /// Whether Recovery met congestion, before or after it began.
    congested: bool,
    /// α of the push that Recovery assesses.
    pushed: Option<u32>,
    /// The rate at the end of the last Recovery, and pushes in a row that succeeded.
    settled: u64,
    successes: u32,
    /// Whether high jitter has started Initial again.
    restarted: bool,
    /// Smoothed, millionths.
    loss: u64,
    marks: u64,
}

impl C4 {
    /// What it is.
    pub const INFO: Info = Info {
        name: "c4",
        summary: "delay, loss and CE by the flow's own rate, for media; paced",
        source: "draft-huitema-ccwg-c4-spec after -00 (authors' repository, 0557c13)",
        gauges: &[
            ("nominal_rate", "bit/s", "highest rate that the path has carried without congestion"),
            ("nominal_rtt", "s", "highest RTT without queues of its own"),
            ("alpha", "", "pacing over the nominal rate"),
            ("smoothed_loss", "", "smoothed share of lost packets"),
        ],
        options: &[],
    };

    /// A new one.
    pub const fn new(_quirks: &TcpQuirks) -> Self {
        Self {
            state: State::Initial,
            alpha: INITIAL,
            alpha_before: INITIAL,
            rate: 0,
            max_rtt: 0,
            running_min: 0,
            era_end: 0,
            era_rtt: None,
            era_rate: 0,
            flat: 0,
            cruised: 0,
            congested: false,
            pushed: None,
            settled: 0,
            successes: 0,
            restarted: false,
            loss: 0,
            marks: 0,
        }
    }

    /// By the rate, in millionths.
    const fn sensitivity(&self) -> u64 {
        match self.rate {
            0..50_000 => 0,
            50_000..1_000_000 => (self.rate - 50_000) * 920_000 / 950_000,
            1_000_000..10_000_000 => 920_000 + (self.rate - 1_000_000) * 80_000 / 9_000_000,
            _ => ONE,
        }
    }

    /// How far the RTT may exceed the nominal one, microseconds.
    fn delay_margin(&self) -> u64 {
        let fraction = ONE / 16 + (ONE - self.sensitivity()) * 3 / 16;
        MOST_DELAY_MARGIN_US.min(fraction * u64::from(self.max_rtt) / ONE)
    }

    const fn loss_threshold(&self) -> u64 {
        20_000 + (ONE - self.sensitivity()) / 2
    }

    const fn marks_threshold(&self) -> u64 {
        (2 * ONE - self.sensitivity()) * 3 / 32
    }

    fn begin(&mut self, view: &View, state: State, alpha: u32) {
        self.state = state;
        self.alpha_before = self.alpha;
        self.alpha = alpha;
        self.cruised = 0;
        self.begin_era(view);
    }

    fn begin_era(&mut self, view: &View) {
        self.era_end = view.delivered;
        self.era_rtt = None;
        self.era_rate = self.rate;
    }

    /// What the ACK shows of congestion, with β.
    fn signals(&mut self, sample: &ControlSample) -> Option<(Signal, u64)> {
        let mut found = None;
        for _ in 0..sample.lost {
            self.loss = (ONE + 15 * self.loss) / 16;
        }
        if sample.lost > 0 && self.loss > self.loss_threshold() {
            found = Some((Signal::Loss, QUARTER));
        }
        for _ in 0..sample.delivered.min(1000) {
            self.loss = 15 * self.loss / 16;
        }
        if sample.delivered > 0 {
            let share =
                u64::from(sample.ce.min(sample.delivered)) * ONE / u64::from(sample.delivered);
            self.marks = if share >= ONE / 2 { share } else { (15 * self.marks + share) / 16 };
            let threshold = self.marks_threshold();
            if self.marks > threshold {
                let beta = QUARTER.min((self.marks - threshold) * ONE / threshold);
                found = found.or(Some((Signal::Marks, beta)));
            }
        }
        let margin = self.delay_margin();
        let rtt = u64::from(sample.rtt_us.unwrap_or(0));
        if let Some(excess) = rtt.checked_sub(u64::from(self.max_rtt) + margin).filter(|us| *us > 0)
        {
            let beta = QUARTER.min(excess * ONE / margin.max(1));
            found = found.or(Some((Signal::Delay, beta)));
        }
        found
    }

    fn congestion(&mut self, view: &View, signal: Signal, beta: u64) {
        match self.state {
            State::Recovery => self.congested = true,
            State::Initial => {
                let ends = match signal {
                    Signal::Delay => self.flat >= 2,
                    Signal::Loss => view.delivered > ASSESSED,
                    Signal::Marks => true,
                };
                if ends {
                    self.recover(view, true);
                }
            }
            State::Cruising => {
                self.rate = self.rate * (ONE - beta) / ONE;
                self.recover(view, true);
            }
            State::Pushing => {
                self.pushed = Some(self.alpha);
                self.recover(view, true);
            }
        }
    }

    fn recover(&mut self, view: &View, congested: bool) {
        self.congested = congested;
        self.begin(view, State::Recovery, RECOVERY);
    }

    /// An era has ended.
    fn era(&mut self, view: &View, app_limited: bool) {
        self.assess_rtt();
        match self.state {
            State::Initial => {
                if self.rate > self.era_rate {
                    self.flat = 0;
                } else if !app_limited {
                    self.flat += 1;
                }
                if self.flat >= 3 {
                    return self.recover(view, false);
                }
            }
            State::Recovery => return self.recovered(view),
            State::Cruising => {
                self.cruised += 1;
                if self.cruised >= 4 && !app_limited {
                    return self.push(view);
                }
            }
            State::Pushing => {
                self.pushed = Some(self.alpha);
                return self.recover(view, false);
            }
        }
        self.alpha_before = self.alpha;
        self.begin_era(view);
    }

    /// The nominal RTT after an era that followed one at the nominal rate or below.
    fn assess_rtt(&mut self) {
        let Some((least, most)) = self.era_rtt else { return };
        if self.alpha_before > CRUISING || self.state == State::Initial {
            return;
        }
        let eighth = |old: u32, new: u32| ((7 * u64::from(old) + u64::from(new)) / 8) as u32;
        self.running_min =
            if least < self.running_min { least } else { eighth(self.running_min, least) };
        let most = most.min(self.running_min + MAX_JITTER_US);
        self.max_rtt = if most > self.max_rtt { most } else { eighth(self.max_rtt, most) };
    }

    fn recovered(&mut self, view: &View) {
        if let Some(alpha) = self.pushed.take() {
            let needed =
                if alpha <= PUSH { 0 } else { self.settled * u64::from(alpha - 256) / 1024 };
            let succeeded = !self.congested && self.rate > self.settled + needed;
            self.successes = if succeeded { self.successes + 1 } else { 0 };
        } else if self.congested {
            self.successes = 0;
        }
        self.marks = 0;
        self.settled = self.rate;
        let jitter =
            !self.restarted && u64::from(self.running_min) * 5 < u64::from(self.max_rtt) * 2;
        self.restarted |= jitter;
        if self.successes >= 3 || jitter {
            (self.successes, self.flat) = (0, 0);
            self.begin(view, State::Initial, INITIAL);
        } else {
            self.begin(view, State::Cruising, CRUISING);
        }
    }

    fn push(&mut self, view: &View) {
        let bold = if self.successes == 0 {
            0
        } else {
            let threshold = self.marks_threshold();
            u64::from(BOLD) * (threshold - self.marks.min(threshold)) / threshold
        };
        self.begin(view, State::Pushing, PUSH + bold as u32);
    }

    /// Payload bytes per second.
    fn pacing(&self) -> u64 {
        self.rate * u64::from(self.alpha) / 256
    }

    fn apply(&self, view: &View, control: &mut Control) {
        if self.rate == 0 || self.max_rtt == 0 {
            control.pacing_rate = u64::MAX;
            return;
        }
        control.pacing_rate = self.pacing();
        let bytes = u128::from(self.pacing()) * u128::from(self.max_rtt) / u128::from(ONE);
        let window = bytes / u128::from(view.mss.max(1));
        control.cwnd =
            u32::try_from(window).unwrap_or(u32::MAX).clamp(MIN_CWND, control.cwnd_clamp);
    }
}

impl CongestionControl for C4 {
    fn init(&mut self, view: &View, control: &mut Control) {
        control.paced = true;
        self.begin_era(view);
        self.apply(view, control);
    }

    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        control.cwnd.max(MIN_CWND)
    }

    fn ecn(&self) -> EcnRequirements {
        EcnRequirements { request: Request::AccEcn, codepoint: Ecn::Ect1, ..EcnRequirements::NONE }
    }

    fn has_cong_control(&self) -> bool {
        true
    }

    fn tso_segs(&self, _view: &View, _control: &Control) -> Option<u32> {
        Some(2)
    }

    fn cong_control(&mut self, view: &View, control: &mut Control, sample: &ControlSample) {
        if let Some(rtt) = sample.rtt_us.filter(|us| *us > 0) {
            if self.max_rtt == 0 {
                (self.max_rtt, self.running_min) = (rtt, rtt);
            }
            let (least, most) = self.era_rtt.unwrap_or((rtt, rtt));
            self.era_rtt = Some((least.min(rtt), most.max(rtt)));
        }
        if !(self.state == State::Recovery && self.congested) {
            let estimate = sample.rate.map_or(0, |rate| rate.bytes_per_sec(view.mss));
            self.rate = self.rate.max(estimate);
        }
        if let Some((signal, beta)) = self.signals(sample) {
            self.congestion(view, signal, beta);
        }
        if sample.prior_delivered.is_some_and(|delivered| delivered >= self.era_end) {
            let app_limited = sample.rate.is_some_and(|rate| rate.app_limited);
            self.era(view, app_limited);
        }
        self.apply(view, control);
    }

    fn cong_avoid(&mut self, _view: &View, _control: &mut Control, _acked: u32) {}

    fn undo_cwnd(&mut self, _view: &View, control: &Control) -> u32 {
        control.cwnd
    }

    fn gauges(&self, _view: &View, _control: &Control, out: &mut dyn FnMut(&'static str, f64)) {
        if self.rate > 0 {
            out("nominal_rate", (self.rate * 8) as f64);
        }
        if self.max_rtt > 0 {
            out("nominal_rtt", f64::from(self.max_rtt) / 1e6);
        }
        out("alpha", f64::from(self.alpha) / 256.0);
        out("smoothed_loss", self.loss as f64 / 1e6);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate_sample::RateSample;
    use crate::stack::examples::LINUX_7_3;
    use crate::tcb::Tcb;

    /// A flow, and ACKs of whole round trips at a rate.
    struct Flow {
        c4: C4,
        tcb: Tcb,
    }

    const MSS: u64 = 1448;

    impl Flow {
        fn new() -> Self {
            let (mut c4, mut tcb) = (C4::new(&LINUX_7_3), Tcb::example(10));
            c4.init(&tcb.view, &mut tcb.control);
            Self { c4, tcb }
        }

        /// One ACK that ends an era, with a delivery rate in segments per 100 ms and an RTT.
        fn era(&mut self, segments: u32, rtt_ms: u32) -> &mut Self {
            self.ack(ControlSample {
                delivered: 1,
                rtt_us: Some(rtt_ms * 1000),
                rate: Some(RateSample {
                    delivered: segments,
                    interval_us: 100_000,
                    app_limited: false,
                }),
                ..ControlSample::default()
            })
        }

        fn ack(&mut self, mut sample: ControlSample) -> &mut Self {
            self.tcb.view.delivered += sample.delivered;
            sample.prior_delivered = Some(self.tcb.view.delivered - 1);
            // What left before this ACK had been seen.
            self.c4.era_end = self.c4.era_end.min(self.tcb.view.delivered - 1);
            self.c4.cong_control(&self.tcb.view, &mut self.tcb.control, &sample);
            self
        }

        fn window(&self) -> (u32, u64) {
            (self.tcb.control.cwnd, self.tcb.control.pacing_rate / MSS)
        }

        /// Cruising with 100 segments in 100 ms.
        fn cruising() -> Self {
            let mut flow = Self::new();
            for _ in 0..5 {
                flow.era(100, 100);
            }
            assert_eq!(flow.c4.state, State::Cruising);
            flow
        }
    }

    #[test]
    fn the_initial_state_sends_twice_what_is_known_until_three_eras_bring_nothing() {
        let mut flow = Flow::new();
        assert_eq!(flow.window(), (10, u64::MAX / MSS));
        // 10 segments in 100 ms: 100 a second, 20 in flight.
        flow.era(10, 100);
        assert_eq!(flow.window(), (20, 200));
        flow.era(20, 100);
        assert_eq!(flow.window(), (40, 400));
        flow.era(20, 100).era(20, 100);
        assert_eq!((flow.c4.state, flow.c4.flat), (State::Initial, 2));
        // The third: 15/16 of 20 segments are 18.75.
        flow.era(20, 100);
        assert_eq!((flow.c4.state, flow.window()), (State::Recovery, (18, 187)));
        flow.era(20, 100);
        assert_eq!((flow.c4.state, flow.window()), (State::Cruising, (20, 200)));
    }

    #[test]
    fn a_higher_rtt_ends_the_initial_state_only_after_two_flat_eras_and_loss_after_twenty_packets()
    {
        let mut flow = Flow::new();
        flow.era(10, 100).era(20, 140).era(20, 140);
        assert_eq!(flow.c4.state, State::Initial);
        flow.era(20, 140).era(20, 140);
        assert_eq!((flow.c4.state, flow.c4.congested), (State::Recovery, true));

        let lossy = ControlSample { delivered: 1, lost: 20, ..ControlSample::default() };
        let mut flow = Flow::new();
        flow.era(10, 100).ack(lossy);
        assert_eq!(flow.c4.state, State::Initial);
        flow.tcb.view.delivered = 21;
        flow.ack(lossy);
        assert_eq!(flow.c4.state, State::Recovery);
        // The rate stays.
        assert_eq!(flow.c4.rate, 100 * MSS);
    }

    #[test]
    fn cruising_pushes_after_four_eras_by_a_sixteenth_and_bolder_after_a_success() {
        let mut flow = Flow::cruising();
        for _ in 0..4 {
            assert_eq!(flow.c4.state, State::Cruising);
            flow.era(100, 100);
        }
        // 17/16 of 100.
        assert_eq!((flow.c4.state, flow.window()), (State::Pushing, (106, 1062)));
        flow.era(106, 100);
        assert_eq!(flow.c4.state, State::Recovery);
        flow.era(106, 100);
        assert_eq!(
            (flow.c4.state, flow.c4.successes, flow.c4.rate),
            (State::Cruising, 1, 1060 * MSS)
        );
        for _ in 0..4 {
            flow.era(106, 100);
        }
        // 5/4 of 106.
        assert_eq!((flow.c4.state, flow.window()), (State::Pushing, (132, 1325)));
        // A fourth of the expected quarter are 6.6 segments: 6 are too few.
        flow.era(112, 100).era(112, 100);
        assert_eq!(flow.c4.successes, 0);
    }

    #[test]
    fn three_successes_start_the_initial_state_again() {
        let mut flow = Flow::cruising();
        let mut segments = 100;
        for push in 1..=3 {
            for _ in 0..4 {
                flow.era(segments, 100);
            }
            assert_eq!(flow.c4.state, State::Pushing, "{push}");
            segments += segments / 4;
            flow.era(segments, 100).era(segments, 100);
        }
        assert_eq!((flow.c4.state, flow.c4.successes), (State::Initial, 0));
    }

    /// 1.448 MB/s: s = 0.92 + 0.08 · 0.448/9 = 0.923982.
    #[test]
    fn thresholds_follow_the_rate() {
        let mut c4 = C4::new(&LINUX_7_3);
        for (rate, sensitivity) in [(0, 0), (50_000, 0), (525_000, 460_000), (1_000_000, 920_000)] {
            c4.rate = rate;
            assert_eq!(c4.sensitivity(), sensitivity);
        }
        for (rate, sensitivity) in [(1_448_000, 923_982), (10_000_000, ONE), (100_000_000, ONE)] {
            c4.rate = rate;
            assert_eq!(c4.sensitivity(), sensitivity);
        }
        (c4.rate, c4.max_rtt) = (10_000_000, 100_000);
        // A sixteenth of 100 ms; 2 % of loss; 3/32 of marks.
        assert_eq!(
            (c4.delay_margin(), c4.loss_threshold(), c4.marks_threshold()),
            (6_250, 20_000, 93_750)
        );
        (c4.rate, c4.max_rtt) = (0, 100_000);
        // A quarter of 100 ms is the most; 52 %; 3/16.
        assert_eq!(
            (c4.delay_margin(), c4.loss_threshold(), c4.marks_threshold()),
            (25_000, 520_000, 187_500)
        );
    }

    #[test]
    fn congestion_while_cruising_lowers_the_rate_in_proportion() {
        // 1/16 + 3/16 · 0.076018 of 100 ms are 7675 µs; 108 ms exceed them by 325: β = 4.2 %.
        let mut flow = Flow::cruising();
        flow.era(90, 108);
        let before = 1000 * MSS;
        assert_eq!(flow.c4.state, State::Recovery);
        assert_eq!(flow.c4.rate, before * (ONE - 325 * ONE / 7675) / ONE);
        // 20 ms more are a quarter, as a loss is.
        let mut flow = Flow::cruising();
        flow.era(90, 120);
        assert_eq!(flow.c4.rate, before * 3 / 4);
        let mut flow = Flow::cruising();
        flow.ack(ControlSample { delivered: 1, lost: 1, ..ControlSample::default() });
        assert_eq!((flow.c4.state, flow.c4.rate), (State::Recovery, before * 3 / 4));
        // In recovery a higher estimate does not count.
        flow.c4.era_end = u32::MAX;
        let rate = Some(RateSample { delivered: 100, interval_us: 100_000, app_limited: false });
        let sample = ControlSample {
            delivered: 1,
            rate,
            prior_delivered: Some(0),
            ..ControlSample::default()
        };
        flow.c4.cong_control(&flow.tcb.view, &mut flow.tcb.control, &sample);
        assert_eq!(flow.c4.rate, before * 3 / 4);
    }

    #[test]
    fn half_of_the_packets_marked_is_congestion_at_once_and_a_push_is_smaller_with_marks() {
        let mut flow = Flow::cruising();
        flow.ack(ControlSample { delivered: 2, ce: 1, ..ControlSample::default() });
        assert_eq!((flow.c4.state, flow.c4.marks), (State::Recovery, 500_000));
        assert_eq!(flow.c4.rate, 750 * MSS);
        flow.era(75, 100);
        assert_eq!(flow.c4.marks, 0, "recovery forgets marks");
        flow.c4.successes = 1;
        flow.c4.marks = flow.c4.marks_threshold() / 2;
        flow.c4.push(&flow.tcb.view);
        assert_eq!(flow.c4.alpha, PUSH + BOLD / 2);
    }

    #[test]
    fn congestion_while_pushing_costs_the_push_and_no_rate() {
        let mut flow = Flow::cruising();
        for _ in 0..4 {
            flow.era(100, 100);
        }
        flow.era(106, 130);
        assert_eq!((flow.c4.state, flow.c4.rate), (State::Recovery, 1060 * MSS));
        flow.era(106, 100);
        assert_eq!((flow.c4.state, flow.c4.successes), (State::Cruising, 0));
    }

    #[test]
    fn the_nominal_rtt_keeps_jitter_and_forgets_it_by_an_eighth() {
        let mut flow = Flow::cruising();
        flow.era(90, 105);
        assert_eq!(flow.c4.max_rtt, 105_000);
        flow.era(90, 97);
        assert_eq!(flow.c4.max_rtt, 104_000);
        assert_eq!(flow.c4.running_min, 97_000);
        // What exceeds the least by more than 250 ms does not count; it is jitter enough to start again, once.
        flow.c4.alpha_before = CRUISING;
        flow.c4.era_rtt = Some((97_000, 900_000));
        flow.c4.assess_rtt();
        assert_eq!(flow.c4.max_rtt, 347_000);
        flow.c4.recovered(&flow.tcb.view);
        assert_eq!((flow.c4.state, flow.c4.restarted), (State::Initial, true));
        flow.c4.recovered(&flow.tcb.view);
        assert_eq!(flow.c4.state, State::Cruising);
    }

    #[test]
    fn a_flow_that_the_application_limits_neither_pushes_nor_leaves_the_initial_state() {
        let idle = |segments| ControlSample {
            delivered: 1,
            rtt_us: Some(100_000),
            rate: Some(RateSample { delivered: segments, interval_us: 100_000, app_limited: true }),
            ..ControlSample::default()
        };
        let mut flow = Flow::new();
        for _ in 0..20 {
            flow.ack(idle(10));
        }
        assert_eq!(flow.c4.state, State::Initial);
        let mut flow = Flow::cruising();
        for _ in 0..20 {
            flow.ack(idle(10));
        }
        assert_eq!((flow.c4.state, flow.c4.rate), (State::Cruising, 1000 * MSS));
    }
}
