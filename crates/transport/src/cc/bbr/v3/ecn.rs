//! Marks, as Google's branch takes them on a route with `ecn_low`, where the threshold is shallow and the receiver
//! echoes each mark as DCTCP's does. The draft has no response to marks.

use super::marks::ONE;
use super::memory::Model;
use super::parts::NONE;
use super::version::Version;
use crate::cc::{Control, ControlSample, View};
use crate::ecn::Agreed;

/// Gain of the smoothed share of marks: a sixteenth.
const GAIN: u32 = 16;
/// A bound is cut by this part of the share: a third.
const FACTOR: u32 = 85;
/// Share of marks in a round or a sample that is too much: half.
const THRESHOLD: u32 = 128;
/// Rounds of that which end Startup.
const STARTUP_ROUNDS: u32 = 2;
/// Marks count where the lowest RTT was ever this short, microseconds.
const LONGEST_RTT_US: u32 = 5_000;

impl<V: Version> Model<V> {
    /// At the start of a round: the share of marks, and whether two such rounds end Startup.
    pub(super) fn update_marks(&mut self, view: &View, control: &Control, sample: &ControlSample) {
        if !V::RULES.ecn || view.ecn == Agreed::Off {
            return;
        }
        if self.round_start {
            self.ecn.eligible |= self.min_rtt_us <= LONGEST_RTT_US;
            let delivered = view.delivered.wrapping_sub(self.ecn.delivered);
            let marked = view.delivered_ce.wrapping_sub(self.ecn.delivered_ce);
            self.ecn.delivered = view.delivered;
            self.ecn.delivered_ce = view.delivered_ce;
            if self.ecn.eligible && delivered > 0 {
                self.take_share(view, control, (marked * ONE / delivered).min(ONE));
            }
        }
        if self.ecn.eligible && sample.ece {
            self.ecn.in_round = true;
            self.ecn.in_cycle = true;
        }
    }

    fn take_share(&mut self, view: &View, control: &Control, share: u32) {
        let e = &mut self.ecn;
        e.alpha = ((((ONE - GAIN) * e.alpha) >> 8) + ((GAIN * share) >> 8)).min(ONE);
        if self.full_bw_reached {
            return;
        }
        e.startup_rounds = if share >= THRESHOLD { e.startup_rounds + 1 } else { 0 };
        if e.startup_rounds >= STARTUP_ROUNDS {
            self.end_startup_by_queue(view, control);
        }
    }

    /// Whether more than half of the ACK's sample was marked.
    pub(super) fn is_too_much_marked(&self, view: &View, sample: &ControlSample) -> bool {
        let (Some(sent), Some(rate)) = (sample.sent, sample.rate) else { return false };
        let marked = view.delivered_ce.wrapping_sub(sent.delivered_ce);
        self.ecn.eligible
            && marked > 0
            && u64::from(marked) * u64::from(ONE) > u64::from(rate.delivered) * u64::from(THRESHOLD)
    }

    /// What marks make of the short-term bound of what is in flight.
    pub(super) fn bound_by_ecn(&mut self, control: &Control) -> u32 {
        if !self.ecn.in_round() {
            return NONE;
        }
        if self.inflight_shortterm == NONE {
            self.inflight_shortterm = control.cwnd;
        }
        let keep = ONE - ((self.ecn.alpha * FACTOR) >> 8);
        ((u64::from(self.inflight_shortterm) * u64::from(keep)) >> 8) as u32
    }
}
