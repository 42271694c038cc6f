//! The interface between a call's sender and its congestion control.

use crate::feedback::Report;
use sojourn_units::{Span, Time};

/// A congestion control of media.
pub trait MediaControl: core::fmt::Debug + Send {
    /// The rate that the encoder is to have, bits per second.
    fn target_bitrate(&self) -> f64;

    /// The encoder has made a frame of `bytes` bytes; the oldest packet that waits has done so for `waited`.
    fn on_frame(&mut self, waited: Span, bytes: u64);

    /// How large packets are at most, with their RTP header.
    fn packet_size(&self) -> u32;

    /// When a packet of `bytes` bytes may leave, if no report comes until then.
    fn may_send(&self, bytes: u32) -> Time;

    /// A packet of `bytes` bytes leaves; its number is one more than the last one's, the first one's is 0.
    fn on_sent(&mut self, now: Time, bytes: u32);

    /// A report has come.
    fn on_report(&mut self, now: Time, report: &Report);

    /// Whether the path has been seen to change ECT(1), so that packets are to be Not-ECT.
    fn gives_up_ecn(&self) -> bool {
        false
    }

    /// Where it stands.
    fn measured(&self) -> Measured;

    /// Its state, by the names of its text.
    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64));
}

/// What every control has.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Measured {
    /// The newest round trip.
    pub rtt: Option<Span>,
    /// The smoothed one, seconds.
    pub srtt: Option<f64>,
    /// The window, bytes.
    pub window: f64,
    /// The pacing rate, bits per second.
    pub pacing: f64,
    /// Packets in flight.
    pub in_flight: u64,
    /// Packets that were held for lost.
    pub lost: u64,
    /// Packets that were reported as received.
    pub received: u64,
    /// Of these, with CE.
    pub marked: u64,
}
