//! A stream of datagrams one way, of whichever traffic it is: constant UDP, a voice call, a video call, UDP that is
//! alternately on and off. Engines ask for one and need not distinguish them.
//!
//! Invariant: a stream is the same whenever it starts; its times are those from the start on, shifted.

use super::on_off::PulsedUdp;
use super::periodic::{ConstantRate, Periodic};
use super::source::{Act, Source};
use super::video::VideoSource;
use sojourn_model::{OnOff, Pulse, Traffic};
use sojourn_units::{Random, Time};

/// The name of the stream of random numbers that a flow's traffic is drawn from.
pub fn random_name(flow: &str) -> String {
    format!("flow/{flow}/traffic")
}

/// A stream of datagrams.
#[derive(Clone, Debug)]
pub enum Datagrams {
    /// At a constant rate.
    Constant(ConstantRate),
    /// A voice call.
    Voice(Periodic),
    /// A video call.
    Video(Box<VideoSource>),
    /// Alternately on and off.
    Pulsed(PulsedUdp),
}

impl Datagrams {
    /// The traffic of a flow that starts at `start`; nothing if it is no stream of datagrams.
    pub fn of(traffic: &Traffic, start: Time) -> Option<Self> {
        Some(match traffic {
            Traffic::Udp(udp) => Self::Constant(ConstantRate::new(start, *udp)),
            Traffic::Voip(voip) => Self::Voice(Periodic::voip(start, voip)),
            Traffic::Video(video) => Self::Video(Box::new(VideoSource::new(start, video.clone()))),
            Traffic::OnOff(source @ OnOff { over: Pulse::Udp(udp), .. }) => {
                Self::Pulsed(PulsedUdp::new(start, source, *udp))
            }
            _ => return None,
        })
    }
}

impl Source for Datagrams {
    #[inline]
    fn next(&self) -> Option<Time> {
        match self {
            Self::Constant(g) => g.next(),
            Self::Voice(g) => g.next(),
            Self::Video(g) => g.next(),
            Self::Pulsed(g) => g.next(),
        }
    }

    #[inline]
    fn act(&mut self, random: &mut Random) -> Act {
        match self {
            Self::Constant(g) => g.act(random),
            Self::Voice(g) => g.act(random),
            Self::Video(g) => g.act(random),
            Self::Pulsed(g) => g.act(random),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_model::{Profile, Udp, Video, Voip};
    use sojourn_units::{Ecn, Rate, Span};

    fn seen(traffic: &Traffic, start: Time, until: Span) -> Vec<(Span, Act)> {
        let mut random = Random::named(1, &random_name("f"));
        let mut stream = Datagrams::of(traffic, start).unwrap();
        let mut seen = Vec::new();
        while let Some(at) = stream.next().filter(|&at| at < start + until) {
            seen.push((at - start, stream.act(&mut random)));
        }
        seen
    }

    #[test]
    fn a_stream_is_the_same_whenever_it_starts() {
        let udp = Udp { rate: Rate::from_bits_per_sec(3_333_333), payload: 777, ecn: Ecn::Ect0 };
        let (on, off) = (Span::from_millis(70), Span::from_millis(30));
        let voip = Voip { interval: Span::from_millis(20), payload: 172, ecn: Ecn::NotEct };
        let mut video = Video::captured(Profile::CallUp, Ecn::Ect1);
        video.key_frame_every = Some(Span::from_millis(500));
        video.key_frame_factor = 3.0;
        for traffic in [
            Traffic::Udp(udp),
            Traffic::Voip(voip),
            Traffic::Video(video),
            Traffic::OnOff(OnOff { over: Pulse::Udp(udp), on, off, exponential: true }),
        ] {
            let first = seen(&traffic, Time::ZERO, Span::from_secs(3));
            assert!(first.len() > 100, "{}", traffic.name());
            assert_eq!(first, seen(&traffic, Time::from_nanos(5_012_345_677), Span::from_secs(3)));
            assert!(traffic.datagrams().is_some());
        }
    }
}
