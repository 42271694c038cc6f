//! One direction of a video call: frames that leave as bursts, and audio beside them (reference/skype.md,
//! traffic.md §2). The defaults of the two profiles are the statistics measured there.

use serde::{Deserialize, Serialize};
use sojourn_units::{Ecn, Rate, Span};

/// One direction of a video call, in UDP.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Video {
    /// Times from one frame to the next, taken in turn.
    pub frame_intervals: Vec<Span>,
    /// Sizes of the frames in bytes of UDP payload, taken in turn.
    pub frame_sizes: Vec<FrameSize>,
    /// The largest UDP payload; a frame is cut into equal packets no larger than this.
    pub packet_payload: u32,
    /// The rate at which a frame's packets leave.
    pub burst_rate: Rate,
    /// A frame of `key_frame_factor` times its drawn size each so often, and at the start; none unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_frame_every: Option<Span>,
    /// How much larger such a frame is. The following frames are smaller, so that the mean is kept.
    pub key_frame_factor: f64,
    /// Between audio packets.
    pub audio_interval: Span,
    /// Bytes of UDP payload of an audio packet; 0 for no audio.
    pub audio_payload: u32,
    /// The codepoint of every packet.
    pub ecn: Ecn,
    /// Whether and how it adapts its rate; it does not unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adaptation: Option<Adaptation>,
}

/// How large a frame is, in bytes.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameSize {
    /// Uniform between two bounds.
    Uniform {
        /// The smallest.
        low: u32,
        /// The largest.
        high: u32,
    },
    /// Log-normal.
    LogNormal {
        /// The mean in bytes.
        mean: f64,
        /// The standard deviation of the logarithm.
        sigma: f64,
    },
}

/// A simple adaptation to loss, once a second.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Adaptation {
    /// The loss ratio above which the rate goes down.
    pub loss: f64,
    /// The factor by which it goes down.
    pub decrease: f64,
    /// The factor by which it goes up in a second without such a loss.
    pub increase: f64,
    /// The lowest rate of the video.
    pub min: Rate,
    /// The highest.
    pub max: Rate,
}

/// The two directions as they were captured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Large frames every other time, about 1.75 Mbit/s.
    CallDown,
    /// Alternating 53 and 63 ms, about 0.83 Mbit/s.
    CallUp,
}

impl Video {
    /// The call as captured, of one direction.
    pub fn captured(profile: Profile, ecn: Ecn) -> Self {
        let (intervals, sizes, packet_payload) = match profile {
            Profile::CallDown => (
                vec![Span::from_millis(67)],
                vec![
                    FrameSize::Uniform { low: 12_000, high: 36_000 },
                    FrameSize::Uniform { low: 2_000, high: 7_000 },
                ],
                1_200,
            ),
            Profile::CallUp => (
                vec![Span::from_millis(53), Span::from_millis(63)],
                vec![
                    FrameSize::Uniform { low: 8_000, high: 11_000 },
                    FrameSize::Uniform { low: 1_000, high: 3_000 },
                ],
                1_000,
            ),
        };
        Self {
            frame_intervals: intervals,
            frame_sizes: sizes,
            packet_payload,
            burst_rate: Rate::from_mbit(100),
            key_frame_every: None,
            key_frame_factor: 1.0,
            audio_interval: Span::from_millis(20),
            audio_payload: 122,
            ecn,
            adaptation: None,
        }
    }

    /// The mean rate of its UDP payload.
    pub fn mean_rate(&self) -> Rate {
        let cycle = self.frame_intervals.len() * self.frame_sizes.len();
        let size = |i: usize| match self.frame_sizes[i % self.frame_sizes.len()] {
            FrameSize::Uniform { low, high } => f64::from(low + high) / 2.0,
            FrameSize::LogNormal { mean, .. } => mean,
        };
        let interval =
            |i: usize| self.frame_intervals[i % self.frame_intervals.len()].as_secs_f64();
        let bytes: f64 = (0..cycle).map(size).sum();
        let seconds: f64 = (0..cycle).map(interval).sum();
        let audio = f64::from(self.audio_payload) / self.audio_interval.as_secs_f64();
        Rate::from_bits_per_sec((8.0 * (bytes / seconds + audio)) as u64)
    }
}
