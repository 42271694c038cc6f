//! Any congestion control in one type: those of this crate by a `match`, which the compiler sees through, others through
//! a box.

use super::{
    AckEvent, AckSample, CaState, CongestionControl, Control, ControlSample, Event, Info,
    LostSegment, OptionValue, View,
};
use crate::ecn::EcnRequirements;
use crate::stack::TcpQuirks;
use sojourn_units::Random;

/// How one of this crate's is made, as a stack has it.
type Make = fn(&TcpQuirks) -> AnyCongestionControl;

macro_rules! any_control {
    ($($file:ident: $($variant:ident),+;)*) => {
        $(pub use super::$file::{$($variant),+};)*

        /// Any of the congestion controls.
        #[derive(Clone, Debug)]
        #[allow(clippy::large_enum_variant, reason = "one per flow, kept in place")]
        pub enum AnyCongestionControl {
            $($(
                #[doc = concat!("See [`", stringify!($variant), "`].")]
                $variant($variant),
            )+)*
            /// One from outside.
            Custom(Box<dyn CongestionControl>),
        }

        $($(impl From<$variant> for AnyCongestionControl {
            fn from(control: $variant) -> Self {
                Self::$variant(control)
            }
        })+)*

        /// The controls of this crate.
        pub(super) fn built_in() -> Vec<(Info, Make)> {
            vec![$($(
                ($variant::INFO, |quirks| $variant::new(quirks).into()),
            )+)*]
        }

        /// Calls a hook of whichever it is.
        macro_rules! each {
            ($any:expr, $control:ident => $call:expr) => {
                match $any {
                    $($(AnyCongestionControl::$variant($control) => $call,)+)*
                    AnyCongestionControl::Custom($control) => $call,
                }
            };
        }
    };
}

controls!(any_control);

impl AnyCongestionControl {
    /// A control from outside this crate.
    pub fn custom(control: impl CongestionControl + 'static) -> Self {
        Self::Custom(Box::new(control))
    }
}

// A hook that is not handed on would silently be the default's.
#[deny(clippy::missing_trait_methods)]
impl CongestionControl for AnyCongestionControl {
    fn seed(&mut self, random: Random) {
        each!(self, c => c.seed(random));
    }

    fn set(&mut self, option: &'static str, value: OptionValue) {
        each!(self, c => c.set(option, value));
    }

    fn init(&mut self, view: &View, control: &mut Control) {
        each!(self, c => c.init(view, control));
    }

    fn ssthresh(&mut self, view: &View, control: &Control) -> u32 {
        each!(self, c => c.ssthresh(view, control))
    }

    fn ecn(&self) -> EcnRequirements {
        each!(self, c => c.ecn())
    }

    #[inline]
    fn has_cong_control(&self) -> bool {
        each!(self, c => c.has_cong_control())
    }

    fn leave_slow_start_to_others(&mut self) {
        each!(self, c => c.leave_slow_start_to_others());
    }

    fn wants_segment_state(&self) -> bool {
        each!(self, c => c.wants_segment_state())
    }

    #[inline]
    fn min_tso_segs(&self, view: &View, control: &Control) -> u32 {
        each!(self, c => c.min_tso_segs(view, control))
    }

    #[inline]
    fn tso_segs(&self, view: &View, control: &Control) -> Option<u32> {
        each!(self, c => c.tso_segs(view, control))
    }

    fn send_buffer_windows(&self) -> u64 {
        each!(self, c => c.send_buffer_windows())
    }

    #[inline]
    fn cong_control(&mut self, view: &View, control: &mut Control, sample: &ControlSample) {
        each!(self, c => c.cong_control(view, control, sample));
    }

    #[inline]
    fn in_ack_event(&mut self, view: &View, control: &mut Control, event: AckEvent) {
        each!(self, c => c.in_ack_event(view, control, event));
    }

    #[inline]
    fn reduce(&mut self, view: &View, control: &mut Control, delivered: u32, lost: u32) -> bool {
        each!(self, c => c.reduce(view, control, delivered, lost))
    }

    #[inline]
    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        each!(self, c => c.cong_avoid(view, control, acked));
    }

    #[inline]
    fn pkts_acked(&mut self, view: &View, control: &mut Control, sample: AckSample) {
        each!(self, c => c.pkts_acked(view, control, sample));
    }

    fn segment_lost(&mut self, view: &View, control: &mut Control, lost: &LostSegment) {
        each!(self, c => c.segment_lost(view, control, lost));
    }

    fn set_state(&mut self, view: &View, control: &mut Control, state: CaState) {
        each!(self, c => c.set_state(view, control, state));
    }

    fn event(&mut self, view: &View, control: &mut Control, event: Event) {
        each!(self, c => c.event(view, control, event));
    }

    fn undo_cwnd(&mut self, view: &View, control: &Control) -> u32 {
        each!(self, c => c.undo_cwnd(view, control))
    }

    fn gauges(&self, view: &View, control: &Control, out: &mut dyn FnMut(&'static str, f64)) {
        each!(self, c => c.gauges(view, control, out));
    }
}
