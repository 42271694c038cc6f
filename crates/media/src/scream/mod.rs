//! SCReAMv2, self-clocked rate adaptation for multimedia: a congestion control for media with an encoder that follows a
//! target.
//!
//! The text is draft-ietf-ccwg-rfc8298bis-screamv2 as its authors had it on 7 October 2026 and after (the working copy of
//! version -02; section numbers are its). Names of constants and variables are the text's.
//!
//! - The window that congestion sets is a *reference*: the target is so much a round trip, and bytes in flight may be up to
//!   three times as many, so that a large frame need not wait.
//! - A mark of L4S and a delay of the queue take off a share, as in DCTCP; a loss and a mark of classic ECN take off a fixed
//!   part. At most one reduction each 25 ms or round trip, whichever is less.
//! - The text's additional (§4.5) and optional (REDUCE_JITTER) parts are [`Switches`] (default: off).
//!
//! What is not in the text, and what is done here:
//! - The window may be full with no report on its way. The text asks for a least send rate and gives none; here a packet leaves
//!   half a second after the last one, whatever the window says. The reference implementation forgets then what is in flight.
//! - A round trip is from sending a packet to the report that tells of it, as RFC 6298 has it; it includes the
//!   receiver's wait.
//! - `max_bytes_in_flight` is of intervals of a smoothed round trip; `loss_event_rate` is an average over a hundred of them.
//! - What the text leaves to the reference implementation ("a history of the last max_bytes_in_flight" at the highest target)
//!   is not here: growth stops there, as the pseudocode has it.

mod constants;
mod delay;
mod rate;
mod window;

use crate::control::{Measured, MediaControl};
use crate::feedback::Report;
use crate::sent::{Digest, Sent};
use constants::{
    LOSS_RATE_THRESHOLD, PACE_BITRATE_FIRST, REF_WND_OVERHEAD_MAX, REF_WND_OVERHEAD_MIN,
    VIRTUAL_RTT,
};
use delay::Delay;
use rate::MediaRate;
use sojourn_units::{Span, Time};
use std::collections::VecDeque;
use window::{Inputs, Window};

/// After so long without a packet one leaves whatever the window says.
const STALLED: Span = Span::from_millis(500);

/// What its packets say of ECN, and what its marks mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Not-ECT: losses and delay alone.
    NoEcn,
    /// ECT(0): a mark takes off a fixed part.
    Classic,
    /// ECT(1): marks take off the share of them.
    L4s,
}

/// Parts of the algorithm that the text has as additional or optional.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Switches {
    /// REDUCE_JITTER of §4.2.1.4: slower growth while the delay varies.
    pub reduce_jitter: bool,
    /// §4.5.1: the base delay is forgotten when the queue seems never to be empty.
    pub clock_drift: bool,
    /// §4.5.2: few losses without a delay call for no reaction.
    pub loss_threshold: bool,
    /// §4.5.3: smaller reductions while the target is below the acknowledged rate.
    pub undershoot: bool,
    /// §4.5.4: a larger delay is admitted against flows that fill the queue.
    pub competing: bool,
}

/// The options of a sender.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    /// ECN.
    pub mode: Mode,
    /// TARGET_BITRATE_MIN, bits per second.
    pub min: f64,
    /// TARGET_BITRATE_MAX, bits per second.
    pub max: f64,
    /// The largest data unit in bytes: an RTP packet with its header.
    pub mss: u32,
    /// Nominal seconds from frame to frame.
    pub frame_period: f64,
    /// What is on.
    pub switches: Switches,
}

/// A sender's congestion control.
#[derive(Clone, Debug)]
pub struct Scream {
    options: Options,
    sent: Sent,
    window: Window,
    delay: Delay,
    rate: MediaRate,
    pace_bitrate: f64,
    /// When pacing lets the next packet leave.
    next_paced: Time,
    last_sent: Option<Time>,
    /// Seconds; none before the first report.
    s_rtt: Option<f64>,
    rtt: Option<Span>,
    round_begun: Time,
    max_bytes_in_flight: u64,
    max_bytes_in_flight_prev: u64,
    lost_in_round: bool,
    loss_event_rate: f64,
    loss_rate: f64,
    /// What has lately been acknowledged, and when.
    acked: VecDeque<(Time, u64)>,
    acked_bytes: u64,
    /// Until when the target is halved.
    halved_until: Time,
    lost: u64,
    received: u64,
    marked: u64,
    reports: u64,
}

impl Scream {
    /// One that has sent nothing.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            sent: Sent::default(),
            window: Window::new(),
            delay: Delay::new(),
            rate: MediaRate::new(options.min, options.max, options.frame_period),
            pace_bitrate: PACE_BITRATE_FIRST,
            next_paced: Time::ZERO,
            last_sent: None,
            s_rtt: None,
            rtt: None,
            round_begun: Time::ZERO,
            max_bytes_in_flight: 0,
            max_bytes_in_flight_prev: 0,
            lost_in_round: false,
            loss_event_rate: 0.0,
            loss_rate: 0.0,
            acked: VecDeque::new(),
            acked_bytes: 0,
            halved_until: Time::ZERO,
            lost: 0,
            received: 0,
            marked: 0,
            reports: 0,
        }
    }

    /// How far bytes in flight may still grow (§4.3.1).
    fn send_wnd(&self) -> f64 {
        let steady = 1.0 - self.delay.latency_diff_avg;
        let overhead =
            REF_WND_OVERHEAD_MIN + (REF_WND_OVERHEAD_MAX - REF_WND_OVERHEAD_MIN) * steady;
        let most = (self.window.ref_wnd * overhead).max(2.0 * f64::from(self.options.mss));
        most - self.sent.in_flight() as f64
    }

    /// Counts what a report tells of.
    fn count(&mut self, now: Time, s_rtt: f64, digest: &Digest) {
        self.lost += u64::from(digest.lost);
        self.received += u64::from(digest.received);
        self.marked += u64::from(digest.marked);
        self.lost_in_round |= digest.lost > 0;

        let alpha = f64::from(self.options.mss) / self.window.ref_wnd / 2.0;
        let alpha = alpha.min(LOSS_RATE_THRESHOLD / 4.0);
        for _ in 0..digest.received {
            self.loss_rate *= 1.0 - alpha;
        }
        for _ in 0..digest.lost {
            self.loss_rate = (1.0 - alpha) * self.loss_rate + alpha;
        }

        self.acked.push_back((now, digest.received_bytes));
        self.acked_bytes += digest.received_bytes;
        let lately = Span::from_secs_f64(self.acked_over(s_rtt));
        while let Some(&(at, bytes)) = self.acked.front()
            && now.since(at) > lately
        {
            self.acked_bytes -= bytes;
            self.acked.pop_front();
        }
    }

    /// The time that the acknowledged rate is averaged over: a round trip, and two frames at least.
    fn acked_over(&self, s_rtt: f64) -> f64 {
        s_rtt.max(2.0 * self.options.frame_period)
    }

    /// What is done once a round trip.
    fn pass_round(&mut self, now: Time, s_rtt: f64) {
        if now.since(self.round_begun).as_secs_f64() < s_rtt {
            return;
        }
        self.round_begun = now;
        self.max_bytes_in_flight_prev = self.max_bytes_in_flight;
        self.max_bytes_in_flight = self.sent.in_flight();
        let lost = f64::from(u8::from(core::mem::take(&mut self.lost_in_round)));
        self.loss_event_rate += (lost - self.loss_event_rate) / 100.0;
        if self.options.switches.clock_drift && self.delay.drifts() {
            self.halved_until = now + Span::from_secs_f64((5.0 * s_rtt).max(0.2));
        }
    }

    fn inputs(&self, now: Time, s_rtt: f64, digest: &Digest) -> Inputs {
        let switches = self.options.switches;
        let acked_bitrate = self.acked_bytes as f64 * 8.0 / self.acked_over(s_rtt);
        Inputs {
            now,
            s_rtt,
            qdelay: self.delay.qdelay,
            qdelay_avg: self.delay.qdelay_avg,
            qdelay_target: self.delay.qdelay_target,
            latency_diff_avg: self.delay.latency_diff_avg,
            mss: f64::from(self.options.mss),
            is_l4s: self.options.mode == Mode::L4s,
            bytes_newly_acked: digest.bytes_newly_acked as f64,
            bytes_newly_acked_ce: digest.bytes_newly_acked_ce as f64,
            max_bytes_in_flight: self.max_bytes_in_flight as f64,
            max_bytes_in_flight_prev: self.max_bytes_in_flight_prev as f64,
            target_bitrate: self.rate.target_bitrate,
            target_bitrate_max: self.options.max,
            loss_rate: switches.loss_threshold.then_some(self.loss_rate),
            acked_bitrate: switches.undershoot.then_some(acked_bitrate),
        }
    }
}

impl MediaControl for Scream {
    fn target_bitrate(&self) -> f64 {
        self.rate.target_bitrate
    }

    fn on_frame(&mut self, waited: Span, bytes: u64) {
        self.rate.on_frame(waited.as_secs_f64(), bytes as f64);
    }

    fn packet_size(&self) -> u32 {
        self.options.mss
    }

    fn may_send(&self, bytes: u32) -> Time {
        if f64::from(bytes) <= self.send_wnd() {
            return self.next_paced;
        }
        self.last_sent.map_or(Time::ZERO, |sent| sent + STALLED).max(self.next_paced)
    }

    fn on_sent(&mut self, now: Time, bytes: u32) {
        self.sent.push(now, bytes);
        self.last_sent = Some(now);
        self.max_bytes_in_flight = self.max_bytes_in_flight.max(self.sent.in_flight());
        self.next_paced = now + Span::from_secs_f64(f64::from(bytes) * 8.0 / self.pace_bitrate);
    }

    fn on_report(&mut self, now: Time, report: &Report) {
        self.reports += 1;
        let cap = self.s_rtt.map_or(Span::ZERO, Span::from_secs_f64);
        let digest = self.sent.on_report(now, report, cap);
        if let Some(rtt) = digest.rtt {
            let sample = rtt.as_secs_f64();
            self.rtt = Some(rtt);
            self.s_rtt = Some(self.s_rtt.map_or(sample, |s_rtt| s_rtt + (sample - s_rtt) / 8.0));
        }
        let Some(s_rtt) = self.s_rtt else { return };
        if let Some(one_way) = digest.one_way {
            self.delay.sample(now, one_way);
        }
        self.count(now, s_rtt, &digest);
        self.pass_round(now, s_rtt);
        let interval = VIRTUAL_RTT.min(s_rtt);
        let switches = self.options.switches;
        let detected = self.window.is_congestion_detected;
        if self.delay.average(now, interval, switches.reduce_jitter, detected) && switches.competing
        {
            self.delay.adjust_target(self.loss_event_rate);
        }
        self.window.see(now, s_rtt, digest.received, digest.marked, digest.lost);
        self.window.update(&self.inputs(now, s_rtt, &digest));
        let scale = if now < self.halved_until { 0.5 } else { 1.0 };
        self.rate.update(self.window.ref_wnd, s_rtt, f64::from(self.options.mss), scale);
        self.pace_bitrate = self.rate.pace_bitrate();
    }

    /// In flight by what packets were at most: bytes over the largest, rounded up.
    fn measured(&self) -> Measured {
        Measured {
            rtt: self.rtt,
            srtt: self.s_rtt,
            window: self.window.ref_wnd,
            pacing: self.pace_bitrate,
            in_flight: self.sent.in_flight().div_ceil(self.options.mss.into()),
            lost: self.lost,
            received: self.received,
            marked: self.marked,
        }
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("ref_wnd", self.window.ref_wnd);
        out("ref_wnd_i", self.window.ref_wnd_i);
        out("bytes_in_flight", self.sent.in_flight() as f64);
        out("send_wnd", self.send_wnd().max(0.0));
        out("qdelay", self.delay.qdelay);
        out("qdelay_avg", self.delay.qdelay_avg);
        out("qdelay_target", self.delay.qdelay_target);
        out("latency_diff_avg", self.delay.latency_diff_avg);
        out("l4s_alpha", self.window.l4s_alpha());
        out("target_bitrate", self.rate.target_bitrate);
        out("pace_bitrate", self.pace_bitrate);
        out("rate_adjust_factor", self.rate.rate_adjust_factor);
        out("frame_size_dev", self.rate.frame_size_dev);
        out("loss_rate", self.loss_rate);
        out("reports", self.reports as f64);
    }
}

#[cfg(test)]
mod tests;
