//! Startup: 2/ln 2 times the rate seen so far, which doubles it each round. It ends when the rate has not grown by a
//! quarter for three rounds: the pipe is full. (`bbr_check_full_bw_reached`.)

use super::state::Bbr;
use crate::cc::ControlSample;
use crate::cc::bbr::{GAIN_BITS, UNIT};

/// What counts as growth.
const GROWTH: u32 = UNIT * 5 / 4;
/// Rounds without it.
const ROUNDS: u32 = 3;

impl Bbr {
    /// Looks at the rate once a round; one in which the application paused says nothing.
    pub(super) fn check_full_pipe(&mut self, sample: &ControlSample) {
        let app_limited = sample.rate.is_some_and(|rate| rate.app_limited);
        if self.full_pipe || !self.round_start || app_limited {
            return;
        }
        let bw = self.max_bw.get();
        if u64::from(bw) >= (u64::from(self.full_bw) * u64::from(GROWTH)) >> GAIN_BITS {
            self.full_bw = bw;
            self.full_bw_rounds = 0;
            return;
        }
        self.full_bw_rounds += 1;
        self.full_pipe = self.full_bw_rounds >= ROUNDS;
    }
}
