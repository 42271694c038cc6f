//! A control with another slow start than its own.
//!
//! Invariant: below the threshold the window grows by the slow start alone, above it by the control alone. The control
//! keeps its own reactions to loss, marks and timeouts.

use super::slow_start::Kind;
use super::{
    AckEvent, AckSample, AnyCongestionControl, CaState, CongestionControl, Control, ControlSample,
    Event, LostSegment, OptionValue, SlowStart, View,
};
use crate::ecn::EcnRequirements;
use sojourn_units::Random;

/// A congestion control, and the slow start that it is given.
#[derive(Clone, Debug)]
pub struct WithSlowStart {
    slow_start: SlowStart,
    control: AnyCongestionControl,
    lowest_us: u32,
}

impl WithSlowStart {
    /// This control with a slow start of this kind. `None` of a control that sets its window itself, and so has no slow start
    /// that the stack knows of (BBR, Prague).
    pub fn new(kind: Kind, mut control: AnyCongestionControl) -> Option<Self> {
        if control.has_cong_control() {
            return None;
        }
        control.leave_slow_start_to_others();
        Some(Self { slow_start: kind.into(), control, lowest_us: u32::MAX })
    }
}

#[deny(clippy::missing_trait_methods)]
impl CongestionControl for WithSlowStart {
    fn seed(&mut self, random: Random) {
        self.control.seed(random);
    }

    fn set(&mut self, option: &'static str, value: OptionValue) {
        self.control.set(option, value);
    }

    fn init(&mut self, view: &View, control: &mut Control) {
        self.slow_start.restart(view);
        self.control.init(view, control);
    }

    fn ssthresh(&mut self, view: &View, control: &Control) -> u32 {
        if let SlowStart::RapidStart(rapid) = &mut self.slow_start
            && !rapid.is_over()
        {
            // What the control would leave; its own memory of the cut is made when the reduction is over.
            let left = self.control.clone().ssthresh(view, control);
            if rapid.begin(control, left) {
                return left;
            }
        }
        self.control.ssthresh(view, control)
    }

    fn reduce(&mut self, view: &View, control: &mut Control, delivered: u32, lost: u32) -> bool {
        if let SlowStart::RapidStart(rapid) = &mut self.slow_start
            && let Some(window) = rapid.reduce(delivered, lost)
        {
            control.cwnd = window;
            // Where the reduction ends.
            control.ssthresh = window;
            return true;
        }
        self.control.reduce(view, control, delivered, lost)
    }

    fn ecn(&self) -> EcnRequirements {
        self.control.ecn()
    }

    fn has_cong_control(&self) -> bool {
        false
    }

    fn leave_slow_start_to_others(&mut self) {}

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
        let mut left = acked;
        if control.in_slow_start() {
            if !control.is_cwnd_limited(view) {
                return;
            }
            left = self.slow_start.grow(view, control, acked);
            if control.in_slow_start() {
                return;
            }
        }
        if left > 0 {
            self.control.cong_avoid(view, control, left);
        }
    }

    #[inline]
    fn pkts_acked(&mut self, view: &View, control: &mut Control, sample: AckSample) {
        self.lowest_us = self.lowest_us.min(sample.rtt_us.unwrap_or(u32::MAX));
        self.slow_start.on_ack(view, control, sample.rtt_us, self.lowest_us);
        self.control.pkts_acked(view, control, sample);
    }

    fn segment_lost(&mut self, view: &View, control: &mut Control, lost: &LostSegment) {
        self.control.segment_lost(view, control, lost);
    }

    fn set_state(&mut self, view: &View, control: &mut Control, state: CaState) {
        if let SlowStart::RapidStart(rapid) = &mut self.slow_start {
            match state {
                CaState::Loss => rapid.give_up(),
                CaState::Open | CaState::Disorder => {
                    if let Some(cwnd) = rapid.end() {
                        self.control.ssthresh(view, &Control { cwnd, ..control.clone() });
                    }
                }
                CaState::Cwr | CaState::Recovery => {}
            }
        }
        if let (SlowStart::Search4(search), CaState::Loss) = (&mut self.slow_start, state) {
            search.restart();
        }
        self.control.set_state(view, control, state);
    }

    fn event(&mut self, view: &View, control: &mut Control, event: Event) {
        if let (SlowStart::Search4(search), Event::TxStart { idle_jiffies }) =
            (&mut self.slow_start, event)
        {
            // As where the stack restarts its window after idleness.
            let rto_jiffies = view.rtt.rto().as_nanos() * u64::from(view.hz) / 1_000_000_000;
            if u64::from(idle_jiffies) > rto_jiffies {
                search.restart();
            }
        }
        self.control.event(view, control, event);
    }

    fn undo_cwnd(&mut self, view: &View, control: &Control) -> u32 {
        self.control.undo_cwnd(view, control)
    }

    fn gauges(&self, view: &View, control: &Control, out: &mut dyn FnMut(&'static str, f64)) {
        self.control.gauges(view, control, out);
        match &self.slow_start {
            SlowStart::Classic | SlowStart::HyStart(_) => {}
            SlowStart::HyStartPlusPlus(plus) => out("hystart_phase", f64::from(plus.phase())),
            SlowStart::RapidStart(rapid) => {
                let grows = if rapid.is_over() { 0 } else { rapid.growth(view, 1) + 1 };
                out("rapid_start", f64::from(grows));
            }
            SlowStart::Search(search) => {
                out("search", f64::from(u8::from(search.is_over())));
                out("search_missing", search.missing().unwrap_or(f64::NAN));
            }
            SlowStart::Search4(search) => {
                out("search", f64::from(u8::from(search.is_over())));
                out("search_missing", search.missing().unwrap_or(f64::NAN));
                out("search_drain", search.drains_to().map_or(f64::NAN, f64::from));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Registry;
    use crate::stack::examples::LINUX_7_3;
    use crate::tcb::Tcb;

    fn with(kind: Kind, cc: &str) -> Option<WithSlowStart> {
        WithSlowStart::new(kind, Registry::built_in().build(cc, &LINUX_7_3).unwrap())
    }

    /// Below the threshold it is slow start's window, above it the control's: from 10 to 12, and then one segment for
    /// twelve.
    #[test]
    fn the_threshold_is_the_border() {
        let (mut reno, mut tcb) = (with(Kind::Standard, "reno").unwrap(), Tcb::example(10));
        reno.init(&tcb.view, &mut tcb.control);
        tcb.control.ssthresh = 12;
        reno.cong_avoid(&tcb.view, &mut tcb.control, 1);
        assert_eq!((tcb.control.cwnd, tcb.control.cwnd_count), (11, 0));
        reno.cong_avoid(&tcb.view, &mut tcb.control, 4);
        assert_eq!((tcb.control.cwnd, tcb.control.cwnd_count), (12, 3));
        reno.cong_avoid(&tcb.view, &mut tcb.control, 9);
        assert_eq!((tcb.control.cwnd, tcb.control.cwnd_count), (13, 0));
    }

    /// A window that is not used is not grown, in slow start either.
    #[test]
    fn growth_has_to_be_used() {
        let (mut reno, mut tcb) = (with(Kind::Standard, "reno").unwrap(), Tcb::example(10));
        (tcb.view.cwnd_limited, tcb.view.max_packets_out) = (false, 5);
        reno.cong_avoid(&tcb.view, &mut tcb.control, 5);
        assert_eq!(tcb.control.cwnd, 10);
        tcb.view.max_packets_out = 6;
        reno.cong_avoid(&tcb.view, &mut tcb.control, 5);
        assert_eq!(tcb.control.cwnd, 15);
    }

    /// CUBIC's own HyStart, which ends slow start at the ninth sample of 50 ms after 40, is silent with another slow start.
    #[test]
    fn a_cubic_with_another_slow_start_has_no_hystart() {
        let mut plain = Registry::built_in().build("cubic", &LINUX_7_3).unwrap();
        let mut given = with(Kind::Standard, "cubic").unwrap();
        for (control, ends) in
            [(&mut plain as &mut dyn CongestionControl, true), (&mut given, false)]
        {
            let mut tcb = Tcb::example(20);
            control.init(&tcb.view, &mut tcb.control);
            for sample in 0..40 {
                let rtt_us = Some(if sample < 10 { 40_000 } else { 50_000 });
                tcb.view.now += sojourn_units::Span::from_millis(4);
                if sample == 10 {
                    // Another round begins.
                    tcb.view.una = tcb.view.nxt + 1;
                    tcb.view.nxt = tcb.view.una + 20;
                }
                control.pkts_acked(&tcb.view, &mut tcb.control, AckSample { acked: 1, rtt_us });
            }
            assert_eq!(!tcb.control.in_slow_start(), ends);
        }
    }

    /// BBR and Prague set their windows themselves.
    #[test]
    fn some_controls_have_no_slow_start_of_the_stacks() {
        let refused: Vec<&str> = Registry::built_in()
            .names()
            .filter(|name| with(Kind::HyStartPlusPlus, name).is_none())
            .collect();
        assert_eq!(refused, ["prague", "bbr", "bbr3", "bbr3-google", "bbr3-google-ecn", "c4"]);
    }
}
