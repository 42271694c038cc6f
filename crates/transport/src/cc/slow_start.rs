//! Slow start as a part of its own, which any control's growth can hold: how the window grows below its threshold, and
//! what ends it before a loss does.
//!
//! A further variant (HyStart++, SEARCH) is a variant here and a file beside `hystart.rs`.

use super::hystart::{Exit, HyStart};
use super::{Control, View};

/// How a flow goes through slow start.
#[derive(Clone, Debug)]
pub enum SlowStart {
    /// RFC 5681 as Linux has it: one segment for each acknowledged, up to the threshold; a loss or a mark ends it.
    Classic,
    /// As that, until HyStart finds that the path is full.
    HyStart(HyStart),
}

impl SlowStart {
    /// A connection begins, or begins again after a timeout: everything is forgotten.
    pub fn restart(&mut self, view: &View) {
        match self {
            Self::Classic => {}
            Self::HyStart(hystart) => hystart.restart(view),
        }
    }

    /// `acked` segments were delivered while the window was below its threshold: grows it, and returns what is left when
    /// the threshold is reached.
    #[inline]
    pub fn grow(&mut self, view: &View, control: &mut Control, acked: u32) -> u32 {
        match self {
            Self::Classic => {}
            Self::HyStart(hystart) => hystart.on_growth(view),
        }
        control.slow_start(acked)
    }

    /// An RTT sample; the lowest that the control has seen is `delay_min_us`. May end slow start, by setting the
    /// threshold to the window.
    #[inline]
    pub fn on_rtt(&mut self, view: &View, control: &mut Control, rtt_us: u32, delay_min_us: u32) {
        match self {
            Self::Classic => {}
            Self::HyStart(hystart) => {
                if control.in_slow_start() && hystart.on_sample(view, control, rtt_us, delay_min_us)
                {
                    control.ssthresh = control.cwnd;
                }
            }
        }
    }

    /// Why it was left before a loss, if it was.
    pub fn exit(&self) -> Option<Exit> {
        match self {
            Self::Classic => None,
            Self::HyStart(hystart) => hystart.found(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::examples::LINUX_7_3;
    use crate::tcb::Tcb;
    use sojourn_units::Span;

    /// From 20 segments on, a sample of 50 ms each millisecond on a path of 40: the ninth ends HyStart's slow start, as
    /// 50 is above 40 + 40/8. Classic slow start takes no notice. Both grow by what is acknowledged, up to the threshold.
    #[test]
    fn what_ends_it_and_what_does_not() {
        for (mut slow_start, ended) in
            [(SlowStart::Classic, None), (SlowStart::HyStart(HyStart::new(&LINUX_7_3)), Some(9))]
        {
            let mut tcb = Tcb::example(20);
            slow_start.restart(&tcb.view);
            let mut left = None;
            for sample in 1..=12 {
                tcb.view.now += Span::from_millis(1);
                slow_start.on_rtt(&tcb.view, &mut tcb.control, 50_000, 40_000);
                if left.is_none() && !tcb.control.in_slow_start() {
                    left = Some(sample);
                }
            }
            assert_eq!(left, ended);
            assert_eq!(slow_start.exit(), ended.map(|_| Exit::Delay));
            tcb.control.ssthresh = 25;
            assert_eq!(slow_start.grow(&tcb.view, &mut tcb.control, 3), 0);
            assert_eq!(slow_start.grow(&tcb.view, &mut tcb.control, 3), 1);
            assert_eq!(tcb.control.cwnd, 25);
        }
    }
}
