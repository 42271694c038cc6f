//! Slow start as a part of its own: how the window grows below its threshold, and what ends it before a loss does.
//!
//! CUBIC holds HyStart as Linux has it. A control with growth driven by the stack can get another
//! ([`Kind`], [`WithSlowStart`](super::WithSlowStart)): plain slow start, HyStart++, SEARCH in two versions, Rapid
//! Start.
//!
//! A further kind is a file in `slow_start/`, and a variant here.

mod hystart_plus_plus;
mod rapid_start;
mod search;
mod search_4;

pub use hystart_plus_plus::HyStartPlusPlus;
pub use rapid_start::RapidStart;
pub use search::Search;
pub use search_4::Search4;

use super::hystart::{Exit, HyStart};
use super::{Control, View};

/// A slow start to combine with any control's growth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// RFC 5681: it ends by a loss or a mark.
    Standard,
    /// RFC 9406.
    HyStartPlusPlus,
    /// draft-chung-ccwg-search, version 3.0.
    Search,
    /// SEARCH 4.0, with the gradual drain of draft-chung-ccwg-search-10.
    Search4,
    /// draft-kazuho-ccwg-rapid-start.
    RapidStart,
}

/// How a flow goes through slow start.
#[derive(Clone, Debug)]
pub enum SlowStart {
    /// RFC 5681 as Linux has it: one segment for each acknowledged, up to the threshold; a loss or a mark ends it.
    Classic,
    /// As that, until HyStart finds that the path is full.
    HyStart(HyStart),
    /// Growth and end by HyStart++.
    HyStartPlusPlus(HyStartPlusPlus),
    /// As the first, until SEARCH finds that deliveries do not double any more.
    Search(Box<Search>),
    /// As the first, until SEARCH 4.0 finds that deliveries stay behind, which then drains the queue.
    Search4(Box<Search4>),
    /// Growth by Rapid Start, which also rules the reduction that ends it.
    RapidStart(RapidStart),
}

impl From<Kind> for SlowStart {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Standard => Self::Classic,
            Kind::HyStartPlusPlus => Self::HyStartPlusPlus(HyStartPlusPlus::new()),
            Kind::Search => Self::Search(Box::new(Search::new())),
            Kind::Search4 => Self::Search4(Box::new(Search4::new())),
            Kind::RapidStart => Self::RapidStart(RapidStart::default()),
        }
    }
}

impl SlowStart {
    /// A connection begins, or begins again after a timeout: everything is forgotten.
    pub fn restart(&mut self, view: &View) {
        match self {
            Self::Classic => {}
            Self::HyStart(hystart) => hystart.restart(view),
            Self::HyStartPlusPlus(plus) => plus.restart(view),
            Self::Search(search) => search.restart(view),
            Self::Search4(search) => search.restart(),
            Self::RapidStart(rapid) => rapid.restart(view),
        }
    }

    /// `acked` segments were delivered while the window was below its threshold: grows it, and returns what is left when
    /// the threshold is reached.
    #[inline]
    pub fn grow(&mut self, view: &View, control: &mut Control, acked: u32) -> u32 {
        let counted = match self {
            Self::Classic | Self::Search(_) => acked,
            Self::HyStart(hystart) => {
                hystart.on_growth(view);
                acked
            }
            Self::HyStartPlusPlus(plus) => plus.growth(control, acked),
            Self::Search4(search) => search.growth(acked),
            Self::RapidStart(rapid) => rapid.growth(view, acked),
        };
        control.slow_start(counted)
    }

    /// An ACK of new data, with its RTT if it gave one; the lowest RTT that the control has seen is `delay_min_us`. May end
    /// slow start, by setting the threshold to the window.
    #[inline]
    pub fn on_ack(
        &mut self,
        view: &View,
        control: &mut Control,
        rtt_us: Option<u32>,
        delay_min_us: u32,
    ) {
        let ends = match self {
            Self::Classic => false,
            Self::HyStart(hystart) => rtt_us.is_some_and(|rtt_us| {
                control.in_slow_start() && hystart.on_sample(view, control, rtt_us, delay_min_us)
            }),
            Self::HyStartPlusPlus(plus) => plus.on_ack(view, control, rtt_us),
            Self::Search(search) => {
                search.on_ack(view, control, rtt_us);
                false
            }
            Self::Search4(search) => {
                search.on_ack(view, control, rtt_us);
                false
            }
            Self::RapidStart(rapid) => {
                rapid.on_ack(view, control, rtt_us);
                false
            }
        };
        if ends {
            control.ssthresh = control.cwnd;
        }
    }

    /// Why HyStart has ended it, if it has.
    pub fn exit(&self) -> Option<Exit> {
        match self {
            Self::HyStart(hystart) => hystart.found(),
            _ => None,
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
                slow_start.on_ack(&tcb.view, &mut tcb.control, Some(50_000), 40_000);
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
