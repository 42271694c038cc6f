//! The constants of the text, by its names, with the values that it recommends. Times are seconds, sizes bytes, rates bits per
//! second.

/// Gain of `l4s_alpha`'s average.
pub(super) const L4S_AVG_G: f64 = 1.0 / 16.0;
/// `l4s_alpha` is updated so often at least.
pub(super) const L4S_ALPHA_INTERVAL: f64 = 0.010;
/// Gain of `qdelay_avg` when the delay grows.
pub(super) const QDELAY_AVG_G: f64 = 1.0 / 4.0;
/// Gain of the short average of the delay.
pub(super) const QDELAY_SHORT_AVG_G: f64 = 1.0 / 5.0;
/// Gain of the long one.
pub(super) const QDELAY_LONG_AVG_G: f64 = 1.0 / 50.0;
/// What the two may differ without a sign of congestion.
pub(super) const LATENCY_DIFF_MARGIN: f64 = 0.001;
/// Gain of `latency_diff_avg` upwards.
pub(super) const LATENCY_DIFF_UP_GAIN: f64 = 20.0;
/// And downwards.
pub(super) const LATENCY_DIFF_DOWN_GAIN: f64 = 2.0;
/// The least target of the queue's delay.
pub(super) const QDELAY_TARGET_LO: f64 = 0.06;
/// The largest.
pub(super) const QDELAY_TARGET_HI: f64 = 0.4;
/// The least reference window.
pub(super) const MIN_REF_WND: f64 = 3_000.0;
/// How far the window may be beyond what has been in flight.
pub(super) const BYTES_IN_FLIGHT_HEAD_ROOM: f64 = 1.5;
/// The part of the window that a loss leaves.
pub(super) const BETA_LOSS: f64 = 0.7;
/// The part of it that a mark of classic ECN leaves.
pub(super) const BETA_ECN: f64 = 0.8;
/// For this number of round trips after congestion multiplicative growth is held back.
pub(super) const POST_CONGESTION_DELAY_RTTS: f64 = 100.0;
/// Multiplicative growth, in parts of the window a round trip.
pub(super) const MUL_INCREASE_FACTOR: f64 = 0.02;
/// The round trip below which all flows are alike.
pub(super) const VIRTUAL_RTT: f64 = 0.025;
/// After this number of round trips the inflection point is set again whatever the window has done.
pub(super) const REF_WND_I_UPDATE_MAX_HOLD_RTTS: f64 = 50.0;
/// How far bytes in flight may be beyond the window, at least.
pub(super) const REF_WND_OVERHEAD_MIN: f64 = 1.5;
/// And at most.
pub(super) const REF_WND_OVERHEAD_MAX: f64 = 3.0;
/// The least pacing rate, before its headroom.
pub(super) const RATE_PACE_MIN: f64 = 50_000.0;
/// The pacing rate before the first report.
pub(super) const PACE_BITRATE_FIRST: f64 = 1e6;
/// By how much pacing is faster than the target.
pub(super) const PACKET_PACING_HEADROOM: f64 = 1.5;
/// By how much more, at the highest target.
pub(super) const MAX_RELAXED_PACING_FACTOR: f64 = 4.0;
/// From this share of the highest target on pacing is relaxed.
pub(super) const RELAXED_PACING_LIMIT_LOW: f64 = 0.8;
/// What headers add to a data unit.
pub(super) const PACKET_OVERHEAD: f64 = 20.0;
/// Gain of `rate_adjust_factor`.
pub(super) const RATE_ADJUST_GAIN: f64 = 1.0 / 16.0;
/// Gain of `frame_size_dev`.
pub(super) const FRAME_SIZE_DEV_ALPHA: f64 = 1.0 / 64.0;
/// §4.5.1: gain of the long average of the delay's minimum.
pub(super) const QDELAY_MIN_AVG_ALPHA: f64 = 1.0 / 256.0;
/// §4.5.2: a share of lost packets that calls for no reaction.
pub(super) const LOSS_RATE_THRESHOLD: f64 = 0.01;
/// §4.5.3: the target is low if it is below so much of the acknowledged rate.
pub(super) const ACKED_BITRATE_MARGIN: f64 = 0.8;
/// §4.5.3: the part of a reduction that remains then.
pub(super) const BACKOFF_SCALE_LOW_TARGET_RATE: f64 = 0.25;
/// §4.5.4: losses in this share of the round trips mean others.
pub(super) const LOSS_EVENT_RATE: f64 = 0.002;
