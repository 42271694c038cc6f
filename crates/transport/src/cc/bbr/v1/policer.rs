//! Policers: a token bucket lets a burst through and then drops all above its rate, so that the highest rate is not
//! the one that lasts. If two intervals in a row, each of 4 to 16 rounds from loss to loss, lost a fifth and had about
//! the same rate, that rate is taken for the path's for 48 rounds. (`bbr_lt_bw_sampling`, "long term".)

use super::rate::bytes_per_sec;
use crate::cc::View;
use crate::cc::bbr::{GAIN_BITS, UNIT};

/// How far two rates may be apart: an eighth, or 4 kbit/s, in bytes per second.
const ALIKE: u64 = UNIT as u64 / 8;
const ALIKE_BYTES: u64 = 4_000 / 8;
/// What is known of a policer.
#[derive(Clone, Debug, Default)]
pub(super) struct Policer {
    /// Rate of the last interval, then the mean of two.
    pub(super) bw: u32,
    pub(super) used: bool,
    pub(super) sampling: bool,
    pub(super) rounds: u32,
    /// Where the interval began: milliseconds, packets delivered and lost.
    pub(super) began_ms: u32,
    pub(super) delivered: u32,
    pub(super) lost: u32,
}

pub(super) fn delivered_ms(view: &View) -> u32 {
    (view.delivered_at.as_nanos() / 1_000_000) as u32
}

impl Policer {
    /// The policed rate, while it is used.
    pub(super) fn rate(&self) -> Option<u32> {
        self.used.then_some(self.bw)
    }

    /// Forgets all.
    pub(super) fn reset(&mut self, view: &View) {
        *self = Self::default();
        self.begin_interval(view);
    }

    pub(super) fn begin_interval(&mut self, view: &View) {
        self.began_ms = delivered_ms(view);
        self.delivered = view.delivered;
        self.lost = view.lost;
        self.rounds = 0;
    }

    pub(super) fn is_alike(&self, view: &View, bw: u32) -> bool {
        let apart = u64::from(bw.abs_diff(self.bw));
        (apart << GAIN_BITS) <= ALIKE * u64::from(self.bw)
            || bytes_per_sec(view, apart, UNIT) <= ALIKE_BYTES
    }
}
