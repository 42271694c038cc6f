//! What every version of Prague has in common.

use super::gain::ONE;
use crate::cc::{CaState, Control, View};
use sojourn_units::Time;

/// Bytes of a full packet.
pub(super) fn mtu(view: &View, control: &Control) -> u64 {
    u64::from(control.mss + view.headers)
}

/// `bytes` a round trip as bytes per second; twice that early in slow start.
pub(super) fn pacing_rate(view: &View, control: &Control, bytes: u64) -> Option<u64> {
    let twice = u32::from(control.cwnd < control.ssthresh / 2);
    (bytes * 8_000_000).checked_div(u64::from(view.rtt.srtt8_us())).map(|rate| rate << twice)
}

/// Most segments of a burst: a 2^12th of a second at the rate, about 244 µs, but at least `least`.
pub(super) fn burst(rate: u64, mtu: u64, least: u32) -> u32 {
    (((rate / mtu) >> 12) as u32).max(least)
}

/// Whole microseconds from `earlier` to now.
pub(super) fn micros_since(view: &View, earlier: Time) -> u64 {
    view.now.since(earlier).as_nanos() / 1_000
}

/// A number with 20 bits of fraction.
pub(super) fn real(fixed: i64) -> f64 {
    fixed as f64 / ONE as f64
}

/// What every version answers alike, in its own way.
pub(super) trait Answers {
    /// Marks begin a reduction.
    fn enter_cwr(&mut self, view: &View, control: &Control);
    /// A loss begins one.
    fn enter_loss(&mut self, view: &View, control: &Control);
    /// The loss is repaired.
    fn leave_loss(&mut self);

    /// The state of recovery is about to become another (`prague_state`).
    fn set_state(&mut self, view: &View, control: &Control, state: CaState) {
        match state {
            CaState::Cwr => self.enter_cwr(view, control),
            CaState::Recovery => self.enter_loss(view, control),
            CaState::Open => self.leave_loss(),
            CaState::Disorder | CaState::Loss => {}
        }
    }
}
