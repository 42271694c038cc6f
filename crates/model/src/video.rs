//! One direction of a video call: frames that leave as bursts, and audio (docs/sources/video-call.md,
//! docs/sources/applications.md#video-with-key-frames). The defaults of the two profiles are the statistics measured
//! there.

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
    /// The interval of frames of `key_frame_factor` times their drawn size, with one at the start (default: none).
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
    /// Whether and how it adapts its rate (default: it does not).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adaptation: Option<Adaptation>,
}

/// The percentiles by which [`FrameSize::Measured`] is known.
pub const MEASURED_AT: [u32; 8] = [0, 5, 25, 50, 75, 90, 95, 100];

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
    /// As measured: between the percentiles of [`MEASURED_AT`] evenly.
    Measured([u32; MEASURED_AT.len()]),
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

impl FrameSize {
    /// The mean in bytes.
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Uniform { low, high } => f64::midpoint(f64::from(low), f64::from(high)),
            Self::Measured(sizes) => (1..sizes.len())
                .map(|i| {
                    let share = f64::from(MEASURED_AT[i] - MEASURED_AT[i - 1]) / 100.0;
                    share * f64::midpoint(f64::from(sizes[i - 1]), f64::from(sizes[i]))
                })
                .sum(),
            Self::LogNormal { mean, .. } => mean,
        }
    }
}

/// The two directions as they were captured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// A large frame and soon after it a small one, seven times a second; about 1.7 Mbit/s.
    CallDown,
    /// A frame each 53 or 63 ms, alternately large and small; about 0.8 Mbit/s.
    CallUp,
}

impl Video {
    /// The call as captured, of one direction: bursts of the 2132 down and 2322 up of the two captures
    /// (`skype_bursts.csv`; a burst ends where nothing follows within 4 ms). Down, 45 % are larger than 12 kB; mostly a
    /// small one follows a large one after 20 ms (mean), and the next large one comes 117 ms after that; two small ones
    /// in a row are 24 ms apart. A burst's packets come at 68 Mbit/s if it is large, at 71 if small (bytes behind the
    /// first packet by the bursts' durations; both captures had come over a radio of 60 and Gigabit Ethernet). Left out: longer runs of small or large ones, and how these times scatter.
    pub fn captured(profile: Profile, ecn: Ecn) -> Self {
        let (intervals, sizes, packet_payload) = match profile {
            Profile::CallDown => (
                [20, 117, 20, 117, 20, 117, 20, 24, 117].map(Span::from_millis).to_vec(),
                {
                    let large = FrameSize::Measured([
                        11_800, 14_200, 18_500, 22_700, 28_800, 39_200, 39_700, 41_700,
                    ]);
                    let small = FrameSize::Measured([
                        500, 1_200, 2_900, 4_000, 5_300, 6_900, 7_800, 11_600,
                    ]);
                    vec![large, small, large, small, large, small, large, small, small]
                },
                1_100,
            ),
            Profile::CallUp => (
                vec![Span::from_millis(53), Span::from_millis(63), Span::from_millis(63)],
                vec![
                    FrameSize::Measured([
                        5_300, 7_600, 8_600, 9_400, 10_500, 11_300, 11_700, 15_100,
                    ]),
                    FrameSize::Measured([400, 1_100, 1_600, 2_000, 2_400, 2_600, 2_800, 5_300]),
                ],
                1_000,
            ),
        };
        Self {
            frame_intervals: intervals,
            frame_sizes: sizes,
            packet_payload,
            burst_rate: Rate::from_mbit(70),
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
        let size = |i: usize| self.frame_sizes[i % self.frame_sizes.len()].mean();
        let interval =
            |i: usize| self.frame_intervals[i % self.frame_intervals.len()].as_secs_f64();
        let bytes: f64 = (0..cycle).map(size).sum();
        let seconds: f64 = (0..cycle).map(interval).sum();
        let audio = f64::from(self.audio_payload) / self.audio_interval.as_secs_f64();
        Rate::from_bits_per_sec((8.0 * (bytes / seconds + audio)) as u64)
    }
}
