//! Media rate control (§4.4) and packet pacing (§4.3.2): from the reference window and the round trip to the rate that the
//! encoder is to have, and to the time between packets.

use super::constants::{
    FRAME_SIZE_DEV_ALPHA, MAX_RELAXED_PACING_FACTOR, PACKET_OVERHEAD, PACKET_PACING_HEADROOM,
    RATE_ADJUST_GAIN, RATE_PACE_MIN, RELAXED_PACING_LIMIT_LOW,
};

/// The encoder's target. Rates are bits per second.
#[derive(Clone, Debug)]
pub(super) struct MediaRate {
    min: f64,
    max: f64,
    /// Seconds from frame to frame, nominally.
    frame_period: f64,
    pub(super) target_bitrate: f64,
    /// Takes down what waits at the sender.
    pub(super) rate_adjust_factor: f64,
    /// How much larger frames are than the target has them, on average.
    pub(super) frame_size_dev: f64,
}

impl MediaRate {
    /// Before the first report the target is the least rate: the text has none.
    pub(super) const fn new(min: f64, max: f64, frame_period: f64) -> Self {
        Self {
            min,
            max,
            frame_period,
            target_bitrate: min,
            rate_adjust_factor: 0.0,
            frame_size_dev: 0.0,
        }
    }

    /// A frame of `frame_size` bytes is new; the oldest packet has been waiting for `media_qdelay` seconds.
    pub(super) fn on_frame(&mut self, media_qdelay: f64, frame_size: f64) {
        let error = (media_qdelay - self.frame_period / 4.0) / self.frame_period;
        self.rate_adjust_factor =
            (self.rate_adjust_factor + error * RATE_ADJUST_GAIN).clamp(0.0, 0.5);
        let nominal = self.target_bitrate * self.frame_period / 8.0;
        let deviation = ((frame_size - nominal) / nominal).max(0.0);
        let averaged =
            (1.0 - FRAME_SIZE_DEV_ALPHA) * self.frame_size_dev + FRAME_SIZE_DEV_ALPHA * deviation;
        self.frame_size_dev = averaged.min(0.2);
    }

    /// The window was updated. `scale` is 1 except while clocks are compared again.
    pub(super) fn update(&mut self, ref_wnd: f64, s_rtt: f64, mss: f64, scale: f64) {
        let ref_wnd_ratio = (mss / ref_wnd).min(1.0);
        let mut part = 1.0 - (ref_wnd_ratio - 0.1).clamp(0.0, 0.2);
        part *= mss / (mss + PACKET_OVERHEAD);
        part /= 1.2 + self.rate_adjust_factor + self.frame_size_dev;
        self.target_bitrate = (part * 8.0 * ref_wnd / s_rtt * scale).clamp(self.min, self.max);
    }

    /// The rate that packets are paced at.
    pub(super) fn pace_bitrate(&self) -> f64 {
        let paced = self.target_bitrate.max(RATE_PACE_MIN) * PACKET_PACING_HEADROOM;
        let nominal = self.target_bitrate / self.max;
        let above =
            ((nominal - RELAXED_PACING_LIMIT_LOW) / (1.0 - RELAXED_PACING_LIMIT_LOW)).min(1.0);
        paced / (1.0 - above).clamp(1.0 / MAX_RELAXED_PACING_FACTOR, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(ours: f64, expected: f64) {
        assert!(
            (ours - expected).abs() < 1e-9 * expected.abs().max(1.0),
            "{ours}, expected {expected}"
        );
    }

    /// 20 000 bytes each 50 ms are 3.2 Mbit/s: 1000/1020 of them over 1.2. A window of 5 segments takes a tenth off, the least
    /// one of 3 two.
    #[test]
    fn the_target_is_window_over_round_trip_less_overheads() {
        let mut rate = MediaRate::new(1e5, 1e7, 0.04);
        for (ref_wnd, expected) in [
            (20_000.0, 3.2e6 / 1.02 / 1.2),
            (5_000.0, 0.9 * 0.8e6 / 1.02 / 1.2),
            (3_000.0, 0.8 * 0.48e6 / 1.02 / 1.2),
            (300.0, 1e5),
            (1e6, 1e7),
        ] {
            rate.update(ref_wnd, 0.05, 1_000.0, 1.0);
            near(rate.target_bitrate, expected);
        }
    }

    /// 10 ms in the queue, a quarter of a frame's time, are right. 50 ms are one frame too many: a sixteenth more each frame,
    /// up to a half. A frame that is one and a half times as large as it should be: half over 64.
    #[test]
    fn what_waits_and_what_is_too_large_takes_the_target_down() {
        let mut rate = MediaRate::new(1e5, 1e7, 0.04);
        rate.target_bitrate = 1e6;
        rate.on_frame(0.01, 5_000.0);
        near(rate.rate_adjust_factor, 0.0);
        near(rate.frame_size_dev, 0.0);
        rate.on_frame(0.05, 7_500.0);
        near(rate.rate_adjust_factor, 1.0 / 16.0);
        near(rate.frame_size_dev, 1.0 / 128.0);
        rate.update(20_000.0, 0.05, 1_000.0, 1.0);
        near(rate.target_bitrate, 3.2e6 / 1.02 / (1.2 + 1.0 / 16.0 + 1.0 / 128.0));
        for _ in 0..100 {
            rate.on_frame(0.05, 1e6);
        }
        near(rate.rate_adjust_factor, 0.5);
        near(rate.frame_size_dev, 0.2);
        rate.on_frame(0.0, 0.0);
        near(rate.rate_adjust_factor, 0.5 - 1.0 / 64.0);
        near(rate.frame_size_dev, 0.2 * 63.0 / 64.0);
    }

    /// Half more than the target; from 0.8 of the highest on more and more, four times as much at the highest.
    #[test]
    fn pacing_is_relaxed_near_the_highest_target() {
        let mut rate = MediaRate::new(1e4, 1e7, 0.04);
        for (target, expected) in
            [(1e4, 75e3), (1e6, 1.5e6), (8e6, 12e6), (9e6, 27e6), (9.6e6, 57.6e6), (1e7, 60e6)]
        {
            rate.target_bitrate = target;
            near(rate.pace_bitrate(), expected);
        }
    }
}
