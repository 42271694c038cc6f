//! Careful Resume (RFC 9959): a connection jumps to half of the window that an earlier one used on the same path,
//! checks the jump by its acknowledgments, and retreats below what the path has delivered if it meets congestion.
//!
//! Phases (§3): Reconnaissance sends the initial window and compares the RTT with the saved one. Unvalidated sets the
//! window to the jump and paces it over an RTT. Validating lets the control grow, until the last packet of the jump is
//! acknowledged. Safe Retreat halves PipeSize, the volume acknowledged since the jump and in flight at its beginning,
//! and holds the window. After each of them the control goes on alone.
//!
//! Invariants: a connection jumps once; the jump is at most half of the saved window, in one RTT; the window never
//! grows in Safe Retreat; the threshold after it is at most half of PipeSize (β of §3.5 is 0.5). It goes with every
//! control that the stack grows, and with any slow start: in Reconnaissance and Validating these act unchanged.
//!
//! Read: working copies of draft-ietf-tsvwg-careful-resume in its editors' repository, the newest after -20, and excerpts of
//! RFC 9959 (May 2026); not its final text. Our readings of open points: a jump below the present window changes
//! nothing; the jump waits until the window limits the flow (the text permits that); "current RTT" of the pacing is
//! the smoothed one; in the retreat one segment may leave although the flight is above the window (RFC 6675 §5); a
//! reduction that proves spurious is undone as the control does it; a timeout reduces as the control does (§3.6).
//! PipeSize counts segments, and those that SACK reports, until each segment of the jump is delivered or lost: TCP
//! repairs for several RTTs, in which the path delivers again and again, where QUIC's packet numbers end the phase
//! after one. The window holds until the stack's recovery is over.
//!
//! Left out: the saved parameters' lifetime, their sharing between connections, `max_jump` (a smaller saved window is
//! the same), and the rules for BBR.

use super::{
    AckEvent, AckSample, AnyCongestionControl, CaState, CongestionControl, Control, ControlSample,
    Event, INFINITE_SSTHRESH, LostSegment, MIN_CWND, OptionValue, View,
};
use crate::ecn::EcnRequirements;
use crate::segment::{Seq, after, before};
use sojourn_units::{Random, Span, Time};

/// What the earlier connection observed (§3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SavedPath {
    /// The window that it used, bytes of payload (`saved_cwnd`).
    pub cwnd: u64,
    /// Its minimum RTT (`saved_rtt`).
    pub rtt: Span,
}

/// Where a connection is in Careful Resume.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// The initial data is out: up to this segment, as soon as an ACK has shown it.
    Reconnaissance { initial_end: Option<Seq> },
    /// The jump is leaving, since then and from this segment on.
    Unvalidated { since: Time, first: Seq },
    /// The jump is out, up to this segment.
    Validating { end: Seq },
    /// Congestion. The window holds until the jump, up to this segment, is acknowledged.
    SafeRetreat { end: Seq, window: u32, released: bool },
    /// The control is alone.
    Normal,
}

/// A congestion control, and the parameters of an earlier connection.
#[derive(Clone, Debug)]
pub struct CarefulResume {
    saved: SavedPath,
    control: AnyCongestionControl,
    phase: Phase,
    /// PipeSize, segments.
    pipe: u32,
    /// Deliveries at the last ACK, and these with the losses.
    delivered: u32,
    settled: u32,
    /// The number of `settled` at which all segments below number 0 would be; set by the jump.
    settled_at_zero: u32,
    initial_window: u32,
    /// Whether the connection is paced for another reason.
    was_paced: bool,
}

impl CarefulResume {
    /// This control with these saved parameters. `None` for a control that sets its window itself (BBR, Prague).
    pub fn new(saved: SavedPath, control: AnyCongestionControl) -> Option<Self> {
        if control.has_cong_control() {
            return None;
        }
        Some(Self {
            saved,
            control,
            phase: Phase::Reconnaissance { initial_end: None },
            pipe: 0,
            delivered: 0,
            settled: 0,
            settled_at_zero: 0,
            initial_window: 0,
            was_paced: false,
        })
    }

    /// The jump, segments (`jump_cwnd`).
    fn jump(&self, view: &View) -> u32 {
        u32::try_from(self.saved.cwnd / 2 / u64::from(view.mss.max(1))).unwrap_or(u32::MAX / 4)
    }

    /// Whether the RTT is at most half of the saved one, which would send faster than the earlier connection did.
    fn is_too_short(&self, view: &View) -> bool {
        u64::from(view.rtt.min_us()) * 2_000 <= self.saved.rtt.as_nanos()
    }

    /// Whether the RTT tells of another path (§4.2.1).
    fn is_too_long(&self, view: &View) -> bool {
        u64::from(view.rtt.min_us()) * 1_000 > self.saved.rtt.as_nanos().saturating_mul(10)
    }

    /// An ACK, before anything else is done with it.
    fn on_ack(&mut self, view: &View, control: &mut Control) {
        let newly = view.delivered.wrapping_sub(self.delivered);
        self.delivered = view.delivered;
        let settled = core::mem::replace(&mut self.settled, view.delivered.wrapping_add(view.lost));
        match self.phase {
            Phase::Normal => {}
            Phase::Reconnaissance { initial_end } => {
                let end = initial_end.unwrap_or(view.nxt);
                self.phase = Phase::Reconnaissance { initial_end: Some(end) };
                if !before(view.una, end) {
                    self.consider(view, control);
                }
            }
            Phase::Unvalidated { since, first } => {
                self.pipe += newly;
                self.follow_jump(view, control, since, first, newly);
            }
            Phase::Validating { end } => {
                self.pipe += newly;
                if !before(view.una, end) {
                    self.phase = Phase::Normal;
                }
            }
            Phase::SafeRetreat { end, .. } => {
                if before(settled.wrapping_sub(self.settled_at_zero), end) {
                    self.pipe += newly;
                }
                if !before(view.una, end) && !view.in_reduction() {
                    self.leave_retreat(view, control);
                }
            }
        }
    }

    /// The initial data has arrived: jumps, unless the path or the window speaks against it.
    fn consider(&mut self, view: &View, control: &mut Control) {
        let is_over = control.ssthresh != INFINITE_SSTHRESH || control.cwnd >= self.jump(view);
        if is_over || self.is_too_short(view) || self.is_too_long(view) {
            self.phase = Phase::Normal;
            return;
        }
        if view.ca_state != CaState::Open || !view.cwnd_limited {
            return;
        }
        self.pipe = view.in_flight();
        self.settled_at_zero = self.settled.wrapping_sub(view.una);
        self.phase = Phase::Unvalidated { since: view.now, first: view.nxt };
        control.cwnd = self.jump(view).min(control.cwnd_clamp);
        self.was_paced = core::mem::replace(&mut control.paced, true);
        control.pace_over_rtt = true;
    }

    /// An ACK while the jump leaves.
    fn follow_jump(
        &mut self,
        view: &View,
        control: &mut Control,
        since: Time,
        first: Seq,
        newly: u32,
    ) {
        if self.is_too_short(view) {
            self.stop_pacing(control);
            control.cwnd = self.retreat(view.nxt);
            return;
        }
        // The window was full when the last segment left, and no ACK has come since.
        let full = view.in_flight() + newly >= control.cwnd;
        let srtt = Span::from_micros(u64::from(view.rtt.srtt_us()));
        if !(full || after(view.una, first) || view.now.since(since) > srtt) {
            return;
        }
        self.stop_pacing(control);
        let flight = if full { control.cwnd } else { view.in_flight() };
        if flight < self.initial_window || flight <= self.pipe {
            control.cwnd = self.pipe.max(self.initial_window);
            self.phase = Phase::Normal;
        } else {
            control.cwnd = flight;
            self.phase = Phase::Validating { end: view.nxt };
        }
    }

    /// The pacing of the jump ends, if it lasts.
    fn stop_pacing(&self, control: &mut Control) {
        if control.pace_over_rtt {
            (control.paced, control.pace_over_rtt) = (self.was_paced, false);
        }
    }

    /// Congestion, or another path: the window from now on, half of PipeSize.
    fn retreat(&mut self, end: Seq) -> u32 {
        let window = (self.pipe / 2).max(MIN_CWND);
        self.phase = Phase::SafeRetreat { end, window, released: false };
        window
    }

    /// The jump is acknowledged: the control goes on, with PipeSize as the window from which it was cut.
    fn leave_retreat(&mut self, view: &View, control: &mut Control) {
        let cut = Control { cwnd: self.pipe.max(MIN_CWND), ..control.clone() };
        let own = self.control.ssthresh(view, &cut);
        control.ssthresh = own.min(self.pipe / 2).max(MIN_CWND);
        self.phase = Phase::Normal;
    }

    /// Its number in the gauge.
    fn number(&self) -> u8 {
        match self.phase {
            Phase::Reconnaissance { .. } => 0,
            Phase::Unvalidated { .. } => 1,
            Phase::Validating { .. } => 2,
            Phase::SafeRetreat { .. } => 3,
            Phase::Normal => 4,
        }
    }
}

#[deny(clippy::missing_trait_methods)]
impl CongestionControl for CarefulResume {
    fn seed(&mut self, random: Random) {
        self.control.seed(random);
    }

    fn set(&mut self, option: &'static str, value: OptionValue) {
        self.control.set(option, value);
    }

    fn init(&mut self, view: &View, control: &mut Control) {
        self.control.init(view, control);
        self.phase = Phase::Reconnaissance { initial_end: None };
        (self.initial_window, self.delivered) = (control.cwnd, view.delivered);
    }

    fn ssthresh(&mut self, view: &View, control: &Control) -> u32 {
        match self.phase {
            Phase::Unvalidated { .. } => self.retreat(view.nxt),
            Phase::Validating { end } => self.retreat(end),
            Phase::SafeRetreat { end, window, .. } => {
                let window = self.control.ssthresh(view, control).min(window);
                self.phase = Phase::SafeRetreat { end, window, released: false };
                window
            }
            Phase::Reconnaissance { .. } | Phase::Normal => {
                self.phase = Phase::Normal;
                self.control.ssthresh(view, control)
            }
        }
    }

    fn reduce(&mut self, view: &View, control: &mut Control, delivered: u32, lost: u32) -> bool {
        let Phase::SafeRetreat { end, window, released } = self.phase else {
            return self.control.reduce(view, control, delivered, lost);
        };
        control.cwnd = if released { window } else { window.max(view.in_flight() + 1) };
        control.ssthresh = window;
        self.phase = Phase::SafeRetreat { end, window, released: true };
        true
    }

    fn ecn(&self) -> EcnRequirements {
        self.control.ecn()
    }

    fn has_cong_control(&self) -> bool {
        false
    }

    fn leave_slow_start_to_others(&mut self) {
        self.control.leave_slow_start_to_others();
    }

    fn wants_segment_state(&self) -> bool {
        self.control.wants_segment_state()
    }

    fn min_tso_segs(&self, view: &View, control: &Control) -> u32 {
        self.control.min_tso_segs(view, control)
    }

    fn tso_segs(&self, view: &View, control: &Control) -> Option<u32> {
        self.control.tso_segs(view, control)
    }

    fn send_buffer_windows(&self) -> u64 {
        self.control.send_buffer_windows()
    }

    fn cong_control(&mut self, view: &View, control: &mut Control, sample: &ControlSample) {
        self.control.cong_control(view, control, sample);
    }

    fn in_ack_event(&mut self, view: &View, control: &mut Control, event: AckEvent) {
        self.control.in_ack_event(view, control, event);
    }

    #[inline]
    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        if !matches!(self.phase, Phase::Unvalidated { .. } | Phase::SafeRetreat { .. }) {
            self.control.cong_avoid(view, control, acked);
        }
    }

    #[inline]
    fn pkts_acked(&mut self, view: &View, control: &mut Control, sample: AckSample) {
        if self.phase != Phase::Normal {
            self.on_ack(view, control);
        }
        self.control.pkts_acked(view, control, sample);
    }

    fn segment_lost(&mut self, view: &View, control: &mut Control, lost: &LostSegment) {
        self.control.segment_lost(view, control, lost);
    }

    fn set_state(&mut self, view: &View, control: &mut Control, state: CaState) {
        if state == CaState::Loss {
            self.phase = Phase::Normal;
        }
        if !matches!(self.phase, Phase::Unvalidated { .. }) {
            self.stop_pacing(control);
        }
        self.control.set_state(view, control, state);
    }

    fn event(&mut self, view: &View, control: &mut Control, event: Event) {
        self.control.event(view, control, event);
        if let Phase::SafeRetreat { end, .. } = self.phase {
            match event {
                Event::CompleteCwr if !before(view.una, end) => self.leave_retreat(view, control),
                // A timeout: the threshold is the control's own.
                Event::Loss => {
                    control.ssthresh = self.control.ssthresh(view, control);
                    self.phase = Phase::Normal;
                }
                _ => {}
            }
        }
    }

    fn undo_cwnd(&mut self, view: &View, control: &Control) -> u32 {
        self.phase = Phase::Normal;
        self.control.undo_cwnd(view, control)
    }

    fn gauges(&self, view: &View, control: &Control, out: &mut dyn FnMut(&'static str, f64)) {
        self.control.gauges(view, control, out);
        out("resume_phase", f64::from(self.number()));
        out("pipe_size", f64::from(self.pipe));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Registry;
    use crate::stack::examples::LINUX_7_3;
    use crate::tcb::Tcb;

    /// Saved: 200 segments of 1448 bytes and 100 ms. The jump is 100 segments.
    const SAVED: SavedPath = SavedPath { cwnd: 200 * 1448, rtt: Span::from_millis(100) };

    struct Played {
        resume: CarefulResume,
        tcb: Tcb,
    }

    impl Played {
        /// Ten segments are out on a path of this RTT.
        fn new(cc: &str, rtt_us: u32) -> Self {
            let control = Registry::built_in().build(cc, &LINUX_7_3).unwrap();
            let mut tcb = Tcb::example(10);
            tcb.view.rtt.sample(Time::ZERO, rtt_us, rtt_us, 0, 10);
            let mut resume = CarefulResume::new(SAVED, control).unwrap();
            resume.init(&tcb.view, &mut tcb.control);
            Self { resume, tcb }
        }

        /// An ACK of two segments; then all that the window allows leaves.
        fn ack(&mut self) {
            self.ack_alone();
            self.fill(u32::MAX);
        }

        fn ack_alone(&mut self) {
            let Self { resume, tcb } = self;
            (tcb.view.una, tcb.view.delivered) = (tcb.view.una + 2, tcb.view.delivered + 2);
            tcb.view.packets_out -= 2;
            let sample = AckSample { acked: 2, rtt_us: Some(100_000) };
            resume.pkts_acked(&tcb.view, &mut tcb.control, sample);
            if !tcb.view.in_reduction() {
                resume.cong_avoid(&tcb.view, &mut tcb.control, 2);
            }
        }

        /// What the window allows leaves, at most this number.
        fn fill(&mut self, most: u32) {
            let view = &mut self.tcb.view;
            let more = self.tcb.control.cwnd.saturating_sub(view.packets_out).min(most);
            (view.nxt, view.packets_out) = (view.nxt + more, view.packets_out + more);
        }

        fn phase(&self) -> u8 {
            self.resume.number()
        }

        /// Up to the jump: five ACKs. By hand the window is 12, 14, 16, 18 after four of them, and 8 + 18 = 26
        /// segments have left.
        fn jumped(cc: &str) -> Self {
            let mut played = Self::new(cc, 100_000);
            for cwnd in [12, 14, 16, 18] {
                played.ack();
                assert_eq!((played.tcb.control.cwnd, played.phase()), (cwnd, 0));
            }
            assert_eq!(played.tcb.view.nxt, 26);
            played.ack_alone();
            played
        }

        /// On through the jump, eight segments for each ACK of two, up to Validating.
        fn validating(cc: &str) -> Self {
            let mut played = Self::jumped(cc);
            while played.phase() == 1 {
                played.fill(8);
                played.ack_alone();
            }
            assert_eq!(played.phase(), 2);
            played
        }
    }

    /// Ten of 26 segments are acknowledged: PipeSize is 16, the window 100, and 100 segments leave in an RTT of 100
    /// ms: 1000 a second.
    #[test]
    fn it_jumps_once_the_initial_data_has_arrived() {
        for cc in ["reno", "cubic"] {
            let mut played = Played::jumped(cc);
            assert_eq!((played.phase(), played.resume.pipe), (1, 16));
            assert_eq!(played.tcb.control.cwnd, 100, "this ACK does not grow it");
            played.tcb.control.update_pacing_rate(&played.tcb.view);
            assert!(played.tcb.control.paced);
            assert_eq!(played.tcb.control.pacing_rate, 1448 * 1_000);
        }
    }

    /// At most half of the saved RTT, or more than ten times it: another path (§3.2, §4.2.1).
    #[test]
    fn an_rtt_of_another_path_is_none_to_resume_on() {
        for (rtt_us, phase) in [(50_000, 4), (50_001, 1), (1_000_000, 1), (1_000_001, 4)] {
            let mut played = Played::new("reno", rtt_us);
            for _ in 0..5 {
                played.ack();
            }
            assert_eq!(played.phase(), phase, "{rtt_us}");
        }
    }

    /// A flow that does not use its window waits; a window that has grown to the jump makes it needless.
    #[test]
    fn a_jump_is_for_a_flow_that_needs_it() {
        let mut played = Played::new("reno", 100_000);
        played.tcb.view.cwnd_limited = false;
        for _ in 0..5 {
            played.ack();
        }
        assert_eq!(played.phase(), 0);
        played.tcb.view.cwnd_limited = true;
        played.ack();
        assert_eq!(played.phase(), 1);
        let mut played = Played::new("reno", 100_000);
        played.tcb.control.cwnd = 100;
        played.ack();
        for _ in 0..4 {
            played.ack_alone();
        }
        assert_eq!(played.phase(), 4);
        assert_eq!(played.tcb.control.cwnd, 110, "as slow start has it");
    }

    /// By hand: each ACK of two lets eight leave, so the flight grows by six from 16, and PipeSize by two. The flight
    /// of 22, 28 … 58 comes with una 12, 14 … 24; the ACK up to 26 is not of segment 26, the first of the jump; that
    /// up to 28 is. Then 26 + 72 = 98 have left and 70 are in flight: that is the window. PipeSize is 16 + 18 = 34.
    /// The control grows it by two for each ACK, until segment 97 is acknowledged.
    #[test]
    fn the_flight_is_validated() {
        let mut played = Played::validating("reno");
        let view = &played.tcb.view;
        assert_eq!((view.una, view.nxt, view.in_flight()), (28, 98, 70));
        assert_eq!(played.resume.pipe, 34);
        // The ACK that ends the jump grows the window already.
        assert_eq!(played.tcb.control.cwnd, 72);
        assert!(!played.tcb.control.paced);
        let mut acks = 0;
        while played.phase() == 2 {
            played.ack();
            acks += 1;
        }
        assert_eq!(acks, 35);
        assert_eq!((played.resume.pipe, played.tcb.control.cwnd), (104, 142));
        assert_eq!(played.tcb.control.ssthresh, INFINITE_SSTHRESH);
    }

    /// A full window ends the jump as well: 100 are in flight, and an ACK takes two.
    #[test]
    fn a_full_window_ends_the_jump() {
        let mut played = Played::jumped("reno");
        played.fill(u32::MAX);
        assert_eq!(played.tcb.view.nxt, 110);
        played.ack_alone();
        assert_eq!((played.phase(), played.tcb.control.cwnd), (2, 102));
        assert_eq!(played.resume.phase, Phase::Validating { end: 110 });
    }

    /// No more than PipeSize in flight: it becomes the window, not below the initial one, and normal control goes on.
    #[test]
    fn what_the_jump_did_not_use_is_given_back() {
        let mut played = Played::jumped("reno");
        // Nothing leaves: one ACK of the jump's first segment needs one, so a round trip passes instead.
        played.tcb.view.now += Span::from_micros(100_001);
        played.ack_alone();
        // 14 in flight, PipeSize 18; this ACK grows it by two.
        assert_eq!((played.phase(), played.tcb.control.cwnd), (4, 20));
        assert!(!played.tcb.control.paced);
    }

    /// A loss in Validating with PipeSize 34: the window is 17, one segment above the flight leaves, and no ACK grows
    /// it. 98 segments are the jump and all before it. 28 are delivered and 10 lost, so the next 60 settle it:
    /// PipeSize 94, and the threshold half of it, for CUBIC too, which would leave 65. Ten repaired ones do not count.
    #[test]
    fn a_loss_retreats_below_what_was_delivered() {
        for cc in ["reno", "cubic"] {
            let mut played = Played::validating(cc);
            let Played { resume, tcb } = &mut played;
            tcb.control.ssthresh = resume.ssthresh(&tcb.view, &tcb.control);
            assert_eq!(tcb.control.ssthresh, 17);
            resume.set_state(&tcb.view, &mut tcb.control, CaState::Recovery);
            tcb.view.ca_state = CaState::Recovery;
            tcb.view.lost = 10;
            assert!(resume.reduce(&tcb.view, &mut tcb.control, 0, 10));
            assert_eq!(tcb.control.cwnd, 71);
            for _ in 0..35 {
                played.ack_alone();
                let Played { resume, tcb } = &mut played;
                assert!(resume.reduce(&tcb.view, &mut tcb.control, 2, 0));
                assert_eq!((tcb.control.cwnd, tcb.control.ssthresh), (17, 17));
            }
            assert_eq!((played.phase(), played.tcb.view.una), (3, 98), "{cc}: the reduction lasts");
            let Played { resume, tcb } = &mut played;
            resume.event(&tcb.view, &mut tcb.control, Event::CompleteCwr);
            assert_eq!((tcb.control.cwnd, tcb.control.ssthresh), (17, 47));
            assert_eq!(resume.number(), 4);
        }
    }

    /// The RTT falls to half of the saved one while the jump leaves: another path, and a retreat without a reduction
    /// of the stack. No ACK grows the window until the jump, up to segment 33, is acknowledged.
    #[test]
    fn another_path_in_the_jump_retreats() {
        let mut played = Played::jumped("reno");
        played.fill(8);
        played.tcb.view.rtt.sample(Time::from_secs(1), 50_000, 50_000, 10, 34);
        played.ack_alone();
        assert_eq!((played.phase(), played.tcb.control.cwnd), (3, 9));
        assert!(!played.tcb.control.paced);
        for _ in 0..11 {
            assert_eq!((played.phase(), played.tcb.control.cwnd), (3, 9));
            played.ack_alone();
        }
        // PipeSize is 16 + 24; the ACK that ends the retreat grows the window.
        assert_eq!((played.phase(), played.tcb.control.cwnd), (4, 11));
        assert_eq!(played.tcb.control.ssthresh, 20);
    }

    /// Congestion before the jump: the control's own reduction, and no jump after it. A timeout in the jump: the same.
    #[test]
    fn congestion_without_a_jump_and_a_timeout_are_the_controls() {
        let mut played = Played::new("reno", 100_000);
        let Played { resume, tcb } = &mut played;
        assert_eq!(resume.ssthresh(&tcb.view, &tcb.control), 5);
        assert_eq!(resume.number(), 4);
        let mut played = Played::validating("reno");
        let Played { resume, tcb } = &mut played;
        tcb.control.ssthresh = resume.ssthresh(&tcb.view, &tcb.control);
        resume.event(&tcb.view, &mut tcb.control, Event::Loss);
        resume.set_state(&tcb.view, &mut tcb.control, CaState::Loss);
        assert_eq!((tcb.control.ssthresh, resume.number()), (36, 4));
    }

    /// BBR and Prague set their windows themselves.
    #[test]
    fn some_controls_are_not_grown_by_the_stack() {
        let built_in = Registry::built_in();
        let refused = built_in.names().filter(|name| {
            CarefulResume::new(SAVED, built_in.build(name, &LINUX_7_3).unwrap()).is_none()
        });
        let refused: Vec<&str> = refused.collect();
        assert_eq!(refused, ["prague", "bbr", "bbr3", "bbr3-google", "bbr3-google-ecn", "c4"]);
    }
}
