//! When a long-term rate is sampled, used and given up (`bbr_lt_bw_sampling`).

use super::policer::delivered_ms;
use super::state::{Bbr, Mode};
use crate::cc::View;
use crate::cc::bbr::{BW_BITS, GAIN_BITS, UNIT};

/// Least and most rounds in an interval.
const LEAST_ROUNDS: u32 = 4;
const MOST_ROUNDS: u32 = 4 * LEAST_ROUNDS;
/// Lost of delivered, 1/256: about a fifth.
const LOSSY: u64 = 50;
/// Rounds that the rate is used for.
const USED_ROUNDS: u32 = 48;

impl Bbr {
    /// An ACK with a rate sample, or a timeout.
    pub(super) fn sample_long_term(&mut self, view: &View, lost: u32, app_limited: bool) {
        let p = &mut self.policer;
        if p.used {
            if self.mode == Mode::ProbeBw && self.round_start {
                p.rounds += 1;
                if p.rounds >= USED_ROUNDS {
                    p.reset(view);
                    self.begin_cycle(view);
                }
            }
            return;
        }
        if !p.sampling {
            // From the first loss on: before it the bucket was not empty.
            if lost == 0 {
                return;
            }
            p.begin_interval(view);
            p.sampling = true;
        }
        if app_limited {
            p.reset(view);
            return;
        }
        p.rounds += u32::from(self.round_start);
        if p.rounds < LEAST_ROUNDS {
            return;
        }
        if p.rounds > MOST_ROUNDS {
            p.reset(view);
            return;
        }
        if lost > 0 {
            self.end_interval(view);
        }
    }

    /// A loss may end the interval, when the bucket is empty again (`bbr_lt_bw_interval_done`).
    fn end_interval(&mut self, view: &View) {
        let p = &mut self.policer;
        let lost = u64::from(view.lost.wrapping_sub(p.lost));
        let delivered = u64::from(view.delivered.wrapping_sub(p.delivered));
        if delivered == 0 || (lost << GAIN_BITS) < LOSSY * delivered {
            return;
        }
        let ms = delivered_ms(view).wrapping_sub(p.began_ms);
        if (ms as i32) < 1 {
            return;
        }
        if ms >= u32::MAX / 1_000 {
            p.reset(view);
            return;
        }
        let bw = ((delivered << BW_BITS) / (u64::from(ms) * 1_000)) as u32;
        if p.bw > 0 && p.is_alike(view, bw) {
            p.bw = u32::midpoint(p.bw, bw);
            p.used = true;
            p.rounds = 0;
            self.pacing_gain = UNIT;
            return;
        }
        p.bw = bw;
        p.begin_interval(view);
    }
}
