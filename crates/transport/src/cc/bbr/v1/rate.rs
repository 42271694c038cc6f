//! Rates in bytes.

use crate::cc::View;
use crate::cc::bbr::{BW_BITS, GAIN_BITS};

/// How much slower than the estimate it is paced, so that queues shrink, percent.
const PACING_MARGIN: u64 = 1;

/// `bw` times `gain` in bytes of payload per second, less the margin (`bbr_rate_bytes_per_sec`). Without a delay and with a
/// large window it is beyond 64 bits on the way: Linux wraps there, this does not.
pub(super) fn bytes_per_sec(view: &View, bw: u64, gain: u32) -> u64 {
    let product = u128::from(bw) * u128::from(view.mss_cache()) * u128::from(gain);
    let rate = (product >> GAIN_BITS) * u128::from(1_000_000 / 100 * (100 - PACING_MARGIN));
    u64::try_from(rate >> BW_BITS).unwrap_or(u64::MAX)
}
