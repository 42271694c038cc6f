//! UDP Prague: the L4S team's Prague congestion control for applications over UDP, as the media control of a call.
//!
//! Source: L4STeam/udp_prague, `prague_cc.cpp` of 2024 (its text at 9a5c6d8), in facts. It is Prague in real numbers: where the library
//! counts in whole microseconds, bytes and parts of 2²⁰, this does not round.
//!
//! - A window grows by a packet, or by a millisecond of its rate after long without a mark, for each window of unmarked
//!   packets; times (srtt / vrtt)², where vrtt is 25 ms at least: that is the independence of the round trip.
//! - A mark takes off half of α, a loss half, each once a window and a virtual round trip; a loss that was none is undone.
//! - Up to 2 ms of round trip, or one packet's time, a rate is controlled in the same way in the window's place.
//! - Packets get smaller with the rate, so that two fit into a virtual round trip.
//!
//! The library's rule for frames: a frame has the bytes of a budget of time at the rate, and two frames may be in
//! flight at least. Here the encoder gets that budget: a share of the time from frame to frame. The window is counted
//! in bytes, not in frames.
//!
//! Feedback is RFC 8888's, one of the two that the library has; a round trip is the newest packet's of each report. After a
//! second with a full window and no report the control starts over.

use crate::control::{Measured, MediaControl};
use crate::feedback::Report;
use crate::sent::Sent;
use sojourn_units::{Span, Time};

/// Seconds: below this round trip all flows are alike.
const REF_RTT: f64 = 0.025;
/// Virtual round trips without a mark before growth is faster, at least.
const MIN_STEP: f64 = 7.0;
/// And one more for this number of bytes per second.
const RATE_STEP: f64 = 1_920_000.0;
/// Seconds of queue that the faster growth adds.
const QUEUE_GROWTH: f64 = 0.001;
/// Seconds of packets that may leave at once.
const BURST_TIME: f64 = 0.000_250;
/// Gain of α.
const ALPHA_GAIN: f64 = 1.0 / 16.0;
/// Packets that two virtual round trips' halves have at least.
const MIN_WINDOW: f64 = 2.0;
/// Bytes of the smallest packet.
const MIN_PACKET: f64 = 150.0;
/// The least room that the window leaves above the rate.
const ROOM: f64 = 1.03;
/// The first rate, bytes per second.
const INIT_RATE: f64 = 12_500.0;
/// Seconds: up to this round trip a rate is controlled.
const RATE_MODE_RTT: f64 = 0.002;
/// After this time with a full window the control starts over.
const TIMEOUT: Span = Span::from_secs(1);

/// The options of a sender.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PragueOptions {
    /// The least rate, bits per second.
    pub min: f64,
    /// The highest.
    pub max: f64,
    /// The largest packet in bytes, with its RTP header.
    pub max_packet: u32,
    /// Nominal seconds from frame to frame.
    pub frame_period: f64,
    /// The share of that time that a frame may take at the rate.
    pub budget: f64,
}

/// The state of the control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Init,
    Avoidance,
    InLoss,
    InCwr,
}

/// What is controlled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Window,
    Rate,
}

/// Counts of packets. The number of lost ones can decrease: a packet comes late.
#[derive(Clone, Copy, Default, Debug)]
struct Counts {
    sent: u64,
    received: u64,
    marked: u64,
    lost: u64,
}

impl Counts {
    const fn settled(&self) -> u64 {
        self.received + self.lost
    }
}

/// When something was done, and how many packets had been sent then: a window and a virtual round trip later it may be
/// done again.
#[derive(Clone, Copy, Default, Debug)]
struct Mark {
    at: Time,
    sent: u64,
}

impl Mark {
    fn is_past(&self, now: Time, vrtt: f64, counts: &Counts) -> bool {
        counts.settled() > self.sent && now.since(self.at).as_secs_f64() >= vrtt
    }
}

/// What a loss took off, to be given back.
#[derive(Clone, Copy, Debug)]
struct Loss {
    mode: Mode,
    taken: f64,
    /// The count of losses before it.
    lost_before: u64,
}

/// A sender's congestion control. Rates are bytes per second.
#[derive(Clone, Debug)]
pub struct Prague {
    options: PragueOptions,
    sent: Sent,
    counts: Counts,
    state: State,
    mode: Mode,
    rate: f64,
    window: f64,
    alpha: f64,
    /// The counts when α was last updated.
    alpha_counts: Counts,
    alpha_mark: Mark,
    loss_mark: Mark,
    cwr_mark: Mark,
    loss: Option<Loss>,
    rounds_to_growth: f64,
    /// What the last loss added to the rounds.
    lost_rounds: f64,
    srtt: Option<f64>,
    rtt: Option<Span>,
    packet_size: f64,
    burst: f64,
    bleached: bool,
    /// The burst that is leaving: when it began, its bytes and packets.
    leaving: (Time, f64, f64),
    next_paced: Time,
    last_sent: Option<Time>,
    received_bytes: u64,
}

impl Prague {
    /// One that has sent nothing.
    pub fn new(options: PragueOptions) -> Self {
        let rate = INIT_RATE.clamp(options.min / 8.0, options.max / 8.0);
        let mut prague = Self {
            options,
            sent: Sent::default(),
            counts: Counts::default(),
            state: State::Init,
            mode: Mode::Window,
            rate,
            window: 10.0 * f64::from(options.max_packet),
            alpha: 0.0,
            alpha_counts: Counts::default(),
            alpha_mark: Mark::default(),
            loss_mark: Mark::default(),
            cwr_mark: Mark::default(),
            loss: None,
            rounds_to_growth: rate / RATE_STEP + MIN_STEP,
            lost_rounds: 0.0,
            srtt: None,
            rtt: None,
            packet_size: 0.0,
            burst: 1.0,
            bleached: false,
            leaving: (Time::ZERO, 0.0, 0.0),
            next_paced: Time::ZERO,
            last_sent: None,
            received_bytes: 0,
        };
        prague.resize(REF_RTT);
        prague
    }

    /// Packets and bursts follow the rate.
    fn resize(&mut self, vrtt: f64) {
        let most = f64::from(self.options.max_packet);
        self.packet_size = (self.rate * vrtt / MIN_WINDOW).clamp(MIN_PACKET.min(most), most);
        self.burst = (self.rate * BURST_TIME / self.packet_size).max(1.0);
    }

    /// Bytes that may be in flight: the window with its room, two packets and two frames at least.
    fn most_in_flight(&self) -> f64 {
        let packets = (self.window * ROOM / self.packet_size + 1.0).max(MIN_WINDOW);
        let frame =
            (self.rate * self.options.budget * self.options.frame_period).max(self.packet_size);
        (packets * self.packet_size).max(2.0 * frame)
    }

    /// The control starts over.
    fn reset(&mut self, now: Time) {
        let mut fresh = Self::new(self.options);
        fresh.window = f64::from(self.options.max_packet);
        fresh.sent = self.sent.clone();
        fresh.sent.forget();
        // Packets in flight count as settled: nothing is known of them.
        fresh.counts = Counts { received: self.counts.sent - self.counts.lost, ..self.counts };
        fresh.alpha_counts = fresh.counts;
        fresh.alpha_mark = Mark { at: now, sent: self.counts.sent };
        (fresh.srtt, fresh.rtt) = (self.srtt, self.rtt);
        (fresh.received_bytes, fresh.bleached) = (self.received_bytes, self.bleached);
        fresh.last_sent = self.last_sent;
        *self = fresh;
    }

    /// α, and the rounds until growth is faster.
    fn update_alpha(&mut self, now: Time, vrtt: f64) {
        if !self.alpha_mark.is_past(now, vrtt, &self.counts) {
            return;
        }
        let received = self.counts.received.saturating_sub(self.alpha_counts.received);
        if received > 0 {
            let marked = self.counts.marked - self.alpha_counts.marked;
            self.alpha += (marked as f64 / received as f64 - self.alpha) * ALPHA_GAIN;
        }
        self.alpha_counts = self.counts;
        self.alpha_mark = Mark { at: now, sent: self.counts.sent };
        self.rounds_to_growth = (self.rounds_to_growth - 1.0).max(0.0);
    }

    /// Answers to losses; `before` are the counts of the last report.
    fn answer_losses(&mut self, now: Time, vrtt: f64, before: &Counts) {
        if let Some(loss) = self.loss.filter(|loss| self.counts.lost <= loss.lost_before) {
            match loss.mode {
                Mode::Window => self.window += loss.taken,
                Mode::Rate => self.rate += loss.taken,
            }
            self.mode = loss.mode;
            self.loss = None;
            self.rounds_to_growth = (self.rounds_to_growth - self.lost_rounds).max(0.0);
            self.lost_rounds = 0.0;
            self.state = State::Avoidance;
        }
        if self.state == State::InLoss && self.loss_mark.is_past(now, vrtt, &self.counts) {
            self.state = State::Avoidance;
        }
        if self.state == State::InLoss || self.counts.lost <= before.lost {
            return;
        }
        let most = f64::from(self.options.max_packet);
        let rounds = self.rate / 2.0 / most * REF_RTT * (REF_RTT / vrtt);
        self.lost_rounds = (self.lost_rounds + rounds - self.rounds_to_growth).min(rounds);
        self.rounds_to_growth = rounds;
        let taken = match self.mode {
            Mode::Window => self.window / 2.0,
            Mode::Rate => self.rate / 2.0,
        };
        match self.mode {
            Mode::Window => self.window -= taken,
            Mode::Rate => self.rate -= taken,
        }
        self.loss = Some(Loss { mode: self.mode, taken, lost_before: before.lost });
        self.state = State::InLoss;
        self.loss_mark = Mark { at: now, sent: self.counts.sent };
    }

    /// Grows by `acks` packets that were received and not marked.
    fn grow(&mut self, acks: f64, srtt: f64, vrtt: f64) {
        if self.state == State::InLoss || acks <= 0.0 {
            return;
        }
        let most = f64::from(self.options.max_packet);
        let faster = self.rate * QUEUE_GROWTH;
        let increment = if faster < most || self.rounds_to_growth > 0.0 { most } else { faster };
        let scale = srtt / vrtt;
        match self.mode {
            Mode::Window => {
                self.window += acks * self.packet_size * increment * scale * scale / self.window;
            }
            Mode::Rate => {
                self.rate += acks * increment / vrtt / (self.rate * vrtt / self.packet_size);
            }
        }
    }

    /// Answers to marks.
    fn answer_marks(&mut self, now: Time, vrtt: f64, before: &Counts) {
        if self.state == State::InCwr && self.cwr_mark.is_past(now, vrtt, &self.counts) {
            self.state = State::Avoidance;
        }
        if self.state != State::Avoidance || self.counts.marked <= before.marked {
            return;
        }
        self.rounds_to_growth = self.rate / RATE_STEP + MIN_STEP;
        match self.mode {
            Mode::Window => self.window *= 1.0 - self.alpha / 2.0,
            Mode::Rate => self.rate *= 1.0 - self.alpha / 2.0,
        }
        self.state = State::InCwr;
        self.cwr_mark = Mark { at: now, sent: self.counts.sent };
    }

    /// The rate that packets are paced at now: a little above the rate in the first half of a virtual round trip, a little
    /// below in the second.
    fn paced(&self, now: Time) -> f64 {
        let vrtt = self.srtt.unwrap_or(0.0).max(REF_RTT);
        let is_late = now.since(self.alpha_mark.at).as_secs_f64() >= vrtt / 2.0;
        if is_late { self.rate / ROOM } else { self.rate * ROOM }
    }
}

impl MediaControl for Prague {
    fn target_bitrate(&self) -> f64 {
        (self.rate * 8.0 * self.options.budget).max(self.options.min)
    }

    fn on_frame(&mut self, _waited: Span, _bytes: u64) {}

    fn packet_size(&self) -> u32 {
        self.packet_size as u32
    }

    fn may_send(&self, bytes: u32) -> Time {
        let in_flight = self.sent.outstanding() as f64;
        if in_flight == 0.0 || in_flight + f64::from(bytes) <= self.most_in_flight() {
            return self.next_paced;
        }
        self.last_sent.map_or(Time::ZERO, |sent| sent + TIMEOUT).max(self.next_paced)
    }

    fn on_sent(&mut self, now: Time, bytes: u32) {
        let in_flight = self.sent.outstanding() as f64;
        if in_flight > 0.0 && in_flight + f64::from(bytes) > self.most_in_flight() {
            self.reset(now);
        }
        self.sent.push(now, bytes);
        self.counts.sent += 1;
        self.last_sent = Some(now);
        let (begun, gone, packets) = self.leaving;
        let is_same = begun == now && packets < self.burst;
        let (gone, packets) = if is_same { (gone, packets) } else { (0.0, 0.0) };
        self.leaving = (now, gone + f64::from(bytes), packets + 1.0);
        let (_, gone, packets) = self.leaving;
        // Packets that leave later than at the same instant are a burst of their own.
        let takes = Span::from_secs_f64(gone / self.paced(now));
        self.next_paced = if packets + 1.0 <= self.burst { now } else { now + takes };
    }

    fn on_report(&mut self, now: Time, report: &Report) {
        let cap = self.srtt.map_or(Span::ZERO, Span::from_secs_f64);
        let digest = self.sent.on_report(now, report, cap);
        if let Some(rtt) = digest.rtt {
            let sample = rtt.as_secs_f64();
            self.rtt = Some(rtt);
            self.srtt = Some(match self.srtt {
                Some(srtt) if self.state != State::Init => srtt + (sample - srtt) / 8.0,
                _ => sample,
            });
        }
        let Some(srtt) = self.srtt else { return };
        let before = self.counts;
        self.counts.received += u64::from(digest.received);
        self.counts.marked += u64::from(digest.marked);
        self.counts.lost += u64::from(digest.lost);
        self.counts.lost = self.counts.lost.saturating_sub(u64::from(digest.recovered));
        self.received_bytes += digest.received_bytes;
        self.bleached |= digest.bleached > 0;

        let vrtt = srtt.max(REF_RTT);
        if self.state == State::Init {
            self.window = srtt * self.rate;
            self.state = State::Avoidance;
        }
        if srtt <= RATE_MODE_RTT || srtt <= self.packet_size / self.rate {
            self.mode = Mode::Rate;
        } else {
            if self.mode == Mode::Rate {
                self.window = srtt * self.rate;
            }
            self.mode = Mode::Window;
        }
        self.update_alpha(now, vrtt);
        self.answer_losses(now, vrtt, &before);
        self.grow(f64::from(digest.received - digest.marked), srtt, vrtt);
        self.answer_marks(now, vrtt, &before);

        if self.mode == Mode::Window {
            self.rate = self.window / srtt;
        }
        self.rate = self.rate.clamp(self.options.min / 8.0, self.options.max / 8.0);
        self.window = self.rate * srtt;
        self.resize(vrtt);
    }

    fn gives_up_ecn(&self) -> bool {
        self.bleached
    }

    fn measured(&self) -> Measured {
        Measured {
            rtt: self.rtt,
            srtt: self.srtt,
            window: self.window,
            pacing: self.rate * 8.0,
            in_flight: self.counts.sent.saturating_sub(self.counts.settled()),
            lost: self.counts.lost,
            received: self.counts.received,
            marked: self.counts.marked,
        }
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("alpha", self.alpha);
        out("fractional_window", self.window);
        out("pacing_rate", self.rate * 8.0);
        out("rate_mode", f64::from(u8::from(self.mode == Mode::Rate)));
        out("in_loss", f64::from(u8::from(self.state == State::InLoss)));
        out("rtts_to_growth", self.rounds_to_growth);
        out("packet_size", self.packet_size);
        out("target_bitrate", self.target_bitrate());
    }
}

#[cfg(test)]
mod tests;
