//! HyStart (Ha, Rhee 2011) as CUBIC has it in Linux (`hystart_*` in `net/ipv4/tcp_cubic.c`): leave slow start
//! before it overflows the queue, when the ACKs of one round make a train as long as the path, or when their
//! delay has grown.
//!
//! Both variants are here because the published measurements span the change of Linux 5.6 (see
//! [`HyStartVariant`]). Not HyStart++ (RFC 9406), which Linux does not have.

use crate::segment::{Seq, after};
use crate::stack::{HyStartVariant, Switches};
use crate::tcb::Tcb;
use sojourn_units::Time;

/// No exit below this window, in segments (`hystart_low_window`).
const LOW_WINDOW: u32 = 16;
/// Samples of a round that are looked at for the delay (`HYSTART_MIN_SAMPLES`).
const MIN_SAMPLES: u32 = 8;
/// Smallest and largest rise of the delay that counts, microseconds (`HYSTART_DELAY_MIN`, `_MAX`).
const DELAY_MIN_US: u32 = 4_000;
const DELAY_MAX_US: u32 = 16_000;
/// ACKs further apart than this end a train, microseconds (`hystart_ack_delta`).
const TRAIN_GAP_US: u32 = 2_000;
/// Largest segmentation burst, bytes (`GSO_MAX_SIZE`), of which the train threshold allows for a few.
const GSO_MAX_BYTES: u64 = 65_536;

/// Why slow start was left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// The round's ACK train was as long as half the path.
    Train,
    /// The round's delay was above the minimum.
    Delay,
}

/// State of the detector.
#[derive(Clone, Debug)]
pub struct HyStart {
    variant: HyStartVariant,
    /// Whether rounds are told apart at each sample (from 5.16) or when the window grows.
    rounds_by_sample: bool,
    round_start: Time,
    last_ack: Time,
    round_end: Seq,
    samples: u32,
    round_min_us: u32,
    found: Option<Exit>,
}

impl HyStart {
    /// A detector at rest.
    pub fn new(switches: &Switches) -> Self {
        Self {
            variant: switches.hystart,
            rounds_by_sample: switches.hystart_rounds_by_sample,
            round_start: Time::ZERO,
            last_ack: Time::ZERO,
            round_end: 0,
            samples: 0,
            round_min_us: u32::MAX,
            found: None,
        }
    }

    /// A connection begins, or begins again after a timeout: everything is forgotten.
    pub fn restart(&mut self, tcb: &Tcb) {
        self.found = None;
        self.start_round(tcb);
    }

    /// Begins a round that lasts until what has been sent so far is acknowledged.
    fn start_round(&mut self, tcb: &Tcb) {
        self.round_start = tcb.now;
        self.last_ack = tcb.now;
        self.round_end = tcb.nxt;
        self.samples = 0;
        self.round_min_us = u32::MAX;
    }

    /// Called before the window grows in slow start: whether a round has passed.
    #[inline]
    pub fn on_growth(&mut self, tcb: &Tcb) {
        if !self.rounds_by_sample && after(tcb.una, self.round_end) {
            self.start_round(tcb);
        }
    }

    /// Why slow start was left, if it was.
    pub fn found(&self) -> Option<Exit> {
        self.found
    }

    /// An RTT sample in slow start. True when slow start is to end now.
    pub fn on_sample(&mut self, tcb: &Tcb, rtt_us: u32, delay_min_us: u32) -> bool {
        if self.found.is_some() {
            return false;
        }
        if self.rounds_by_sample && after(tcb.una, self.round_end) {
            self.start_round(tcb);
        }
        if tcb.cwnd < LOW_WINDOW {
            return false;
        }
        self.found = match self.variant {
            HyStartVariant::Milliseconds => self.milliseconds(tcb, rtt_us, delay_min_us),
            HyStartVariant::Microseconds => self.microseconds(tcb, rtt_us, delay_min_us),
        };
        self.found.is_some()
    }

    fn delay_threshold(delay_min_us: u32) -> u32 {
        (delay_min_us / 8).clamp(DELAY_MIN_US, DELAY_MAX_US)
    }

    fn microseconds(&mut self, tcb: &Tcb, rtt_us: u32, delay_min_us: u32) -> Option<Exit> {
        let mut exit = None;
        if tcb.now.since(self.last_ack).as_micros() <= u64::from(TRAIN_GAP_US) {
            self.last_ack = tcb.now;
            let mut threshold = u64::from(delay_min_us) + Self::burst_allowance_us(tcb);
            if !tcb.paced {
                threshold /= 2;
            }
            if tcb.now.since(self.round_start).as_micros() > threshold {
                exit = Some(Exit::Train);
            }
        }
        self.round_min_us = self.round_min_us.min(rtt_us);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
        } else if self.round_min_us > delay_min_us + Self::delay_threshold(delay_min_us) {
            exit = Some(Exit::Delay);
        }
        exit
    }

    /// The time that a few segmentation bursts take at the pacing rate (`hystart_ack_delay`), at most 1 ms.
    fn burst_allowance_us(tcb: &Tcb) -> u64 {
        if tcb.pacing_rate == 0 {
            return 0;
        }
        (GSO_MAX_BYTES * 4 * 1_000_000 / tcb.pacing_rate).min(1_000)
    }

    /// The older form: a clock of whole milliseconds, and a minimum delay in units of 1/8 ms.
    fn milliseconds(&mut self, tcb: &Tcb, rtt_us: u32, delay_min_us: u32) -> Option<Exit> {
        let ms = |t: Time| t.as_nanos() / 1_000_000;
        let eighth_ms = |us: u32| us * 8 / 1_000;
        let (now, delay_min8) = (ms(tcb.now), eighth_ms(delay_min_us));
        let mut exit = None;
        if now - ms(self.last_ack) <= u64::from(TRAIN_GAP_US / 1_000) {
            self.last_ack = tcb.now;
            if now - ms(self.round_start) > u64::from(delay_min8 >> 4) {
                exit = Some(Exit::Train);
            }
        }
        if self.samples < MIN_SAMPLES {
            self.round_min_us = self.round_min_us.min(rtt_us);
            self.samples += 1;
        } else {
            let threshold =
                (delay_min8 >> 3).clamp(8 * DELAY_MIN_US / 1_000, 8 * DELAY_MAX_US / 1_000);
            if eighth_ms(self.round_min_us) > delay_min8 + threshold {
                exit = Some(Exit::Delay);
            }
        }
        exit
    }
}
