//! A video encoder that follows a target rate: when the next frame comes, and how large it is.
//!
//! The frames are those of RFC 8593's statistical model (§5) in its steady state. Sizes and intervals are the nominal ones,
//! each times one plus a Laplace-distributed number of mean 0 and scale 0.15; a new rate is taken over 200 ms after the last was
//! at the earliest (τ_v). The burst of frames that the document allows on a change of the rate is not modelled. In
//! addition to the document's model, a frame may be a key frame at intervals, a multiple of the mean in size; the
//! others are smaller, so that the mean is kept.
//!
//! Each frame takes four draws in any case: the path's treatment of a call does not shift its draws.

use sojourn_units::{Random, Span, Time};

/// How an encoder encodes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EncoderSettings {
    /// Frames a second.
    pub fps: f64,
    /// The scale of the sizes' deviations, in parts of the nominal size (SCALE_B).
    pub size_noise: f64,
    /// The same of the intervals (SCALE_t).
    pub interval_noise: f64,
    /// The least time between changes of the rate (τ_v).
    pub reaction: Span,
    /// Between key frames, if there are any beyond the first and those that are asked for.
    pub key_every: Option<Span>,
    /// The size of a key frame, as a multiple of the mean.
    pub key_size: f64,
}

/// An encoded frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    /// From 0.
    pub number: u64,
    /// How large, at least 1.
    pub bytes: u64,
    /// Whether it is a key frame.
    pub is_key: bool,
}

/// An encoder.
#[derive(Clone, Debug)]
pub struct Encoder {
    settings: EncoderSettings,
    /// The rate that it has, bits per second, and since when.
    rate: Option<(f64, Time)>,
    next: Time,
    next_key: Time,
    wants_key: bool,
    frames: u64,
}

impl Encoder {
    /// An encoder with its first frame at `start`.
    pub fn new(start: Time, settings: EncoderSettings) -> Self {
        let next_key = settings.key_every.map_or(Time::NEVER, |_| start);
        Self { settings, rate: None, next: start, next_key, wants_key: false, frames: 0 }
    }

    /// When the next frame comes.
    pub const fn next(&self) -> Time {
        self.next
    }

    /// The rate that it encodes with, bits per second; 0 before the first frame.
    pub fn rate(&self) -> f64 {
        self.rate.map_or(0.0, |(rate, _)| rate)
    }

    /// The nominal time from frame to frame.
    pub fn period(&self) -> f64 {
        1.0 / self.settings.fps
    }

    /// The next frame is a key frame.
    pub const fn request_key(&mut self) {
        self.wants_key = true;
    }

    /// The frame that comes now; `target` is the rate that is asked for, in bits per second.
    pub fn frame(&mut self, target: f64, random: &mut Random) -> Frame {
        let now = self.next;
        let rate = match self.rate {
            Some((rate, since)) if now.since(since) < self.settings.reaction => rate,
            _ => {
                self.rate = Some((target, now));
                target
            }
        };
        let (size, interval) = (laplace(random), laplace(random));
        let is_key = self.wants_key || self.next_key <= now;
        let nominal = rate * self.period() / 8.0 * self.share(is_key);
        let bytes = (nominal * (1.0 + self.settings.size_noise * size)).max(1.0) as u64;
        let until_next = self.period() * (1.0 + self.settings.interval_noise * interval);
        if let Some(every) = self.settings.key_every {
            while self.next_key <= now {
                self.next_key = self.next_key.saturating_add(every);
            }
        }
        self.wants_key = false;
        self.next = now.saturating_add(Span::from_secs_f64(until_next));
        self.frames += 1;
        Frame { number: self.frames - 1, bytes, is_key }
    }

    /// The size of a frame, as a share of the mean.
    fn share(&self, is_key: bool) -> f64 {
        if is_key {
            return self.settings.key_size;
        }
        let Some(every) = self.settings.key_every else { return 1.0 };
        let frames = every.as_nanos() as f64 / 1e9 * self.settings.fps;
        if frames > 1.0 {
            ((frames - self.settings.key_size) / (frames - 1.0)).max(0.0)
        } else {
            1.0
        }
    }
}

/// A Laplace-distributed number of mean 0 and scale 1: two exponential ones, the first less the second.
fn laplace(random: &mut Random) -> f64 {
    let (plus, minus) = (random.unit(), random.unit());
    libm::log(1.0 - minus) - libm::log(1.0 - plus)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: EncoderSettings = EncoderSettings {
        fps: 25.0,
        size_noise: 0.15,
        interval_noise: 0.15,
        reaction: Span::from_millis(200),
        key_every: None,
        key_size: 3.0,
    };

    fn frames(
        settings: EncoderSettings,
        count: usize,
        target: impl Fn(Time) -> f64,
    ) -> Vec<(Time, Frame)> {
        let mut random = Random::named(1, "encoder");
        let mut encoder = Encoder::new(Time::ZERO, settings);
        (0..count)
            .map(|_| (encoder.next(), encoder.frame(target(encoder.next()), &mut random)))
            .collect()
    }

    /// The deviation of a Laplace distribution of scale b is b·√2: 0.212 of the mean.
    #[test]
    fn sizes_and_intervals_have_the_moments_of_the_model() {
        let frames = frames(SETTINGS, 20_000, |_| 1e6);
        let sizes: Vec<f64> =
            frames.iter().map(|(_, frame)| frame.bytes as f64 / 5_000.0).collect();
        let gaps: Vec<f64> =
            frames.windows(2).map(|w| w[1].0.since(w[0].0).as_secs_f64() / 0.04).collect();
        for values in [sizes, gaps] {
            let count = values.len() as f64;
            let mean = values.iter().sum::<f64>() / count;
            let deviation =
                libm::sqrt(values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count);
            assert!((mean - 1.0).abs() < 0.01, "{mean}");
            assert!((deviation - 0.212).abs() < 0.01, "{deviation}");
        }
    }

    /// Without noise frames come each 40 ms. A rate asked for at 40 ms is had at 200 ms.
    #[test]
    fn a_new_rate_is_taken_over_after_the_reaction_time() {
        let quiet = EncoderSettings { size_noise: 0.0, interval_noise: 0.0, ..SETTINGS };
        let frames = frames(quiet, 8, |now| if now == Time::ZERO { 1e6 } else { 2e6 });
        let sizes: Vec<u64> = frames.iter().map(|(_, frame)| frame.bytes).collect();
        assert_eq!(sizes, [5_000, 5_000, 5_000, 5_000, 5_000, 10_000, 10_000, 10_000]);
        assert_eq!(frames[7].0, Time::from_millis(280));
    }

    /// A key frame of three means each second of 25 frames: the other 24 are 22/24 of it.
    #[test]
    fn key_frames_keep_the_mean() {
        let every = Some(Span::from_secs(1));
        let settings =
            EncoderSettings { size_noise: 0.0, interval_noise: 0.0, key_every: every, ..SETTINGS };
        let frames = frames(settings, 50, |_| 1e6);
        let keys: Vec<usize> = (0..50).filter(|&i| frames[i].1.is_key).collect();
        assert_eq!(keys, [0, 25]);
        assert_eq!((frames[0].1.bytes, frames[1].1.bytes), (15_000, 4_583));
        let all: u64 = frames.iter().map(|(_, frame)| frame.bytes).sum();
        assert!((249_900..=250_000).contains(&all), "{all}");
    }

    #[test]
    fn a_key_frame_that_is_asked_for_comes_next() {
        let mut random = Random::named(1, "encoder");
        let mut encoder = Encoder::new(Time::ZERO, SETTINGS);
        encoder.frame(1e6, &mut random);
        encoder.request_key();
        assert!(encoder.frame(1e6, &mut random).is_key);
        assert!(!encoder.frame(1e6, &mut random).is_key);
    }
}
