//! Policers: a token bucket lets a burst through and then drops all above its rate, so that the highest rate is not
//! the one that lasts. If two intervals in a row, each of 4 to 16 rounds from loss to loss, lost a fifth and had about
//! the same rate, that rate is taken for the path's for 48 rounds. (`bbr_lt_bw_sampling`, "long term".)

use super::model::bytes_per_sec;
use super::{BW_BITS, Bbr, GAIN_BITS, Mode, UNIT, View};

/// Least and most rounds in an interval.
const LEAST_ROUNDS: u32 = 4;
const MOST_ROUNDS: u32 = 4 * LEAST_ROUNDS;
/// Lost of delivered, 1/256: about a fifth.
const LOSSY: u64 = 50;
/// How far two rates may be apart: an eighth, or 4 kbit/s, in bytes per second.
const ALIKE: u64 = UNIT as u64 / 8;
const ALIKE_BYTES: u64 = 4_000 / 8;
/// Rounds that the rate is used for.
const USED_ROUNDS: u32 = 48;

/// What is known of a policer.
#[derive(Clone, Debug, Default)]
pub(super) struct Policer {
    /// Rate of the last interval, then the mean of two.
    pub(super) bw: u32,
    pub(super) used: bool,
    pub(super) sampling: bool,
    rounds: u32,
    /// Where the interval began: milliseconds, packets delivered and lost.
    began_ms: u32,
    delivered: u32,
    lost: u32,
}

fn delivered_ms(view: &View) -> u32 {
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

    fn begin_interval(&mut self, view: &View) {
        self.began_ms = delivered_ms(view);
        self.delivered = view.delivered;
        self.lost = view.lost;
        self.rounds = 0;
    }

    fn is_alike(&self, view: &View, bw: u32) -> bool {
        let apart = u64::from(bw.abs_diff(self.bw));
        (apart << GAIN_BITS) <= ALIKE * u64::from(self.bw)
            || bytes_per_sec(view, apart, UNIT) <= ALIKE_BYTES
    }
}

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
