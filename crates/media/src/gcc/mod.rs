//! Google Congestion Control of a call's sender: a rate by delay and a rate by loss. The lesser one is the encoder's
//! target.
//!
//! Sources: draft-ietf-rmcat-gcc-02 (July 2016), which describes the parts, and libwebrtc (`goog_cc`, read in copies
//! of 2019 to 2022). Its parts replaced the draft's filter and numbers. This is the variant with feedback for each
//! packet and both controllers at the sender:
//!
//! - [`groups`] of packets within 5 ms and bursts (§5.2); [`trendline`] with 20 points, smoothing 0.9, gain 4 and the
//!   adaptive threshold (12.5 at first, K_u 0.0087, K_d 0.039, within 6 and 600, 10 ms of overuse), instead of §5.3's
//!   Kalman filter;
//! - [`rate`] by delay: 8 % a second, β 0.85, additive near the measured capacity, never above 1.5 times the received
//!   rate and 10 kbit/s;
//! - [`throughput`]: the received rate by the Bayesian average of 150 ms samples;
//! - [`loss`]: 2 % and 10 %, growth by 8 % from the least rate of the last second.
//!
//! Packets leave one by one at 2.5 times the target. There is no window: where no report comes, the sender goes on.
//!
//! Differences: reports are RFC 8888's, with arrivals in 1/1024 s, instead of transport-wide feedback's 1/4 ms; a
//! packet is lost when [`Sent`](crate::Sent) says so, after its reordering window, instead of at the first report
//! without it. Left out: probes by padding (so the first rise takes long), the detector of application limits that
//! triggers them, the pacer's faster draining of long queues, the later loss models, the back-off for missing reports,
//! ECN (packets are Not-ECT).

mod groups;
mod loss;
mod rate;
mod throughput;
mod trendline;

use crate::control::{Measured, MediaControl};
use crate::feedback::Report;
use crate::sent::{Arrived, Sent};
use groups::Groups;
use loss::LossControl;
use rate::{RateControl, State};
use sojourn_units::{Span, Time};
use throughput::Throughput;
use trendline::{Trendline, Usage};

/// The pacing rate over the target.
const PACING: f64 = 2.5;
/// After this time without a report the filter begins again, milliseconds.
const SILENCE_MS: f64 = 2_000.0;

/// The values that a sender is made with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GccOptions {
    /// The least rate, and the first one, bits per second.
    pub min: f64,
    /// The highest target.
    pub max: f64,
    /// The largest packet in bytes, with its RTP header.
    pub max_packet: u32,
}

/// A sender's congestion control.
#[derive(Clone, Debug)]
pub struct Gcc {
    max_packet: u32,
    sent: Sent,
    groups: Groups,
    trendline: Trendline,
    throughput: Throughput,
    by_delay: RateControl,
    by_loss: LossControl,
    last_report: Option<f64>,
    rtt: Option<Span>,
    srtt: Option<f64>,
    next_paced: Time,
    /// Packets sent, received, lost, marked.
    counts: [u64; 4],
    /// The newest packets of a report, kept for their memory.
    arrived: Vec<Arrived>,
}

impl Gcc {
    /// One that has sent nothing.
    pub fn new(options: GccOptions) -> Self {
        let max = options.max.max(options.min);
        Self {
            max_packet: options.max_packet,
            sent: Sent::default(),
            groups: Groups::default(),
            trendline: Trendline::default(),
            throughput: Throughput::default(),
            by_delay: RateControl::new(options.min, options.min),
            by_loss: LossControl::new(options.min, options.min, max),
            last_report: None,
            rtt: None,
            srtt: None,
            next_paced: Time::ZERO,
            counts: [0; 4],
            arrived: Vec::new(),
        }
    }

    /// Milliseconds of a time.
    fn ms(at: Time) -> f64 {
        at.as_nanos() as f64 / 1e6
    }

    /// The newly received packets, in the order in which they came.
    fn on_arrivals(&mut self) {
        // The sort is stable: packets of one instant stay in the order of their numbers.
        self.arrived.sort_by(|a, b| a.at.total_cmp(&b.at));
        for packet in core::mem::take(&mut self.arrived) {
            let came = packet.at * 1_000.0;
            self.throughput.update(came, packet.bytes);
            if let Some(delta) = self.groups.add(Self::ms(packet.sent), came) {
                self.trendline.update(delta.sent, delta.came, came);
            }
        }
    }
}

impl MediaControl for Gcc {
    fn target_bitrate(&self) -> f64 {
        self.by_loss.target()
    }

    fn on_frame(&mut self, _waited: Span, _bytes: u64) {}

    fn packet_size(&self) -> u32 {
        self.max_packet
    }

    fn may_send(&self, _bytes: u32) -> Time {
        self.next_paced
    }

    fn on_sent(&mut self, now: Time, bytes: u32) {
        self.sent.push(now, bytes);
        self.counts[0] += 1;
        let takes = f64::from(bytes) * 8.0 / (PACING * self.target_bitrate());
        self.next_paced = now + Span::from_secs_f64(takes);
    }

    fn on_report(&mut self, now: Time, report: &Report) {
        let cap = self.srtt.map_or(Span::ZERO, Span::from_secs_f64);
        let mut arrived = core::mem::take(&mut self.arrived);
        arrived.clear();
        let digest = self.sent.on_report_with(now, report, cap, &mut |one| arrived.push(one));
        self.arrived = arrived;
        let [_, received, lost, marked] = &mut self.counts;
        *received += u64::from(digest.received);
        *lost = (*lost + u64::from(digest.lost)).saturating_sub(digest.recovered.into());
        *marked += u64::from(digest.marked);
        if digest.received == 0 && digest.lost == 0 {
            return;
        }
        if let Some(rtt) = digest.rtt {
            let sample = rtt.as_secs_f64();
            self.rtt = Some(rtt);
            let srtt = self.srtt.map_or(sample, |srtt| srtt + (sample - srtt) / 8.0);
            self.srtt = Some(srtt);
            self.by_delay.set_rtt(srtt * 1_000.0);
        }
        let at = Self::ms(now);
        if self.last_report.replace(at).is_some_and(|last| at - last > SILENCE_MS) {
            (self.groups, self.trendline) = (Groups::default(), Trendline::default());
        }
        self.on_arrivals();
        self.by_delay.update(at, self.trendline.usage(), self.throughput.rate());
        let lost = digest.lost.saturating_sub(digest.recovered);
        let rtt = self.srtt.map_or(0.0, |srtt| srtt * 1_000.0);
        self.by_loss.update(at, lost, digest.received, self.by_delay.rate(), rtt);
    }

    fn measured(&self) -> Measured {
        let [sent, received, lost, marked] = self.counts;
        Measured {
            rtt: self.rtt,
            srtt: self.srtt,
            window: 0.0,
            pacing: PACING * self.target_bitrate(),
            in_flight: sent.saturating_sub(received + lost),
            lost,
            received,
            marked,
        }
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("target_bitrate", self.target_bitrate());
        out("delay_based_rate", self.by_delay.rate());
        out("acked_bitrate", self.throughput.rate().unwrap_or(f64::NAN));
        out("link_capacity", self.by_delay.capacity().rate().unwrap_or(f64::NAN));
        out("modified_trend", self.trendline.modified());
        out("threshold", self.trendline.threshold());
        out(
            "usage",
            match self.trendline.usage() {
                Usage::Under => -1.0,
                Usage::Normal => 0.0,
                Usage::Over => 1.0,
            },
        );
        out(
            "rate_state",
            match self.by_delay.state() {
                State::Hold => 0.0,
                State::Increase => 1.0,
                State::Decrease => 2.0,
            },
        );
        out("loss_fraction", self.by_loss.share());
    }
}

#[cfg(test)]
mod tests;
