//! HyStart++ (RFC 9406): where the RTT of a round has risen, grow by a quarter for some rounds before slow start ends,
//! and take it back if the RTT falls again.
//!
//! Invariants: it acts in the first slow start of a connection alone, while nothing has set the threshold; a round
//! lasts until the data out at its beginning is acknowledged; conservative slow start lasts five rounds at the most,
//! the one that it began in included.
//!
//! Not HyStart as Linux's CUBIC has it ([`HyStart`](crate::cc::HyStart)), where an exit is final.
//!
//! One difference from the document's order: an ACK's RTT is looked at before the window grows by it, as the stack calls
//! its hooks; so the ACK that begins conservative slow start grows by a quarter already.

use crate::cc::{Control, INFINITE_SSTHRESH, View};
use crate::segment::{Seq, before};

/// Smallest and largest rise of a round's RTT that counts, microseconds (`MIN_RTT_THRESH`, `MAX_RTT_THRESH`).
const RISE_MIN_US: u32 = 4_000;
const RISE_MAX_US: u32 = 16_000;
/// The rise in between, as a part of the last round's RTT (`MIN_RTT_DIVISOR`).
const RISE_DIVISOR: u32 = 8;
/// Samples that make a round's RTT worth a judgement (`N_RTT_SAMPLE`).
const SAMPLES: u32 = 8;
/// What conservative slow start divides growth by (`CSS_GROWTH_DIVISOR`).
const CSS_DIVISOR: u32 = 4;
/// Rounds of conservative slow start (`CSS_ROUNDS`).
const CSS_ROUNDS: u32 = 5;
/// Segments that one ACK may count for, where nothing paces (`L`).
const UNPACED_LIMIT: u32 = 8;

/// How far it has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Standard slow start.
    Standard,
    /// Conservative slow start, with the RTT that began it.
    Conservative { baseline_us: u32, rounds: u32 },
    /// Left, or never to be entered again.
    Over,
}

/// State of HyStart++.
#[derive(Clone, Debug)]
pub struct HyStartPlusPlus {
    phase: Phase,
    round_end: Seq,
    /// Lowest RTT of the round before, and of this one; `None` before the first sample.
    last_us: Option<u32>,
    current_us: Option<u32>,
    samples: u32,
    /// Quarters of a segment that have not made a whole one.
    quarters: u32,
}

impl HyStartPlusPlus {
    /// At rest.
    #[expect(clippy::new_without_default, reason = "it begins with a connection: restart")]
    pub fn new() -> Self {
        Self {
            phase: Phase::Standard,
            round_end: 0,
            last_us: None,
            current_us: None,
            samples: 0,
            quarters: 0,
        }
    }

    /// A connection begins.
    pub fn restart(&mut self, view: &View) {
        *self = Self { round_end: view.nxt, ..Self::new() };
    }

    /// What `acked` segments give the window in slow start.
    #[inline]
    pub fn growth(&mut self, control: &Control, acked: u32) -> u32 {
        if self.phase == Phase::Over {
            return acked;
        }
        let counted = if control.paced { acked } else { acked.min(UNPACED_LIMIT) };
        if self.phase == Phase::Standard {
            return counted;
        }
        self.quarters += counted;
        let whole = self.quarters / CSS_DIVISOR;
        self.quarters %= CSS_DIVISOR;
        whole
    }

    /// An ACK of new data, with its RTT if it gave one. True when slow start is to end now.
    pub fn on_ack(&mut self, view: &View, control: &Control, rtt_us: Option<u32>) -> bool {
        if self.phase == Phase::Over {
            return false;
        }
        if control.ssthresh != INFINITE_SSTHRESH {
            self.phase = Phase::Over;
            return false;
        }
        if !before(view.una, self.round_end) && self.next_round(view) {
            self.phase = Phase::Over;
            return true;
        }
        if let Some(rtt_us) = rtt_us {
            self.current_us = Some(self.current_us.map_or(rtt_us, |lowest| lowest.min(rtt_us)));
            self.samples += 1;
        }
        self.judge();
        false
    }

    /// A round is over: true if it was the last of conservative slow start.
    fn next_round(&mut self, view: &View) -> bool {
        self.last_us = self.current_us.take();
        self.samples = 0;
        self.round_end = view.nxt;
        let Phase::Conservative { rounds, .. } = &mut self.phase else { return false };
        *rounds += 1;
        *rounds >= CSS_ROUNDS
    }

    /// Compares this round with the last one, or with the one that began conservative slow start.
    fn judge(&mut self) {
        let Some(current_us) = self.current_us.filter(|_| self.samples >= SAMPLES) else { return };
        match self.phase {
            Phase::Standard => {
                let Some(last_us) = self.last_us else { return };
                let rise = (last_us / RISE_DIVISOR).clamp(RISE_MIN_US, RISE_MAX_US);
                if current_us >= last_us + rise {
                    self.phase = Phase::Conservative { baseline_us: current_us, rounds: 0 };
                }
            }
            Phase::Conservative { baseline_us, .. } if current_us < baseline_us => {
                self.phase = Phase::Standard;
            }
            Phase::Conservative { .. } | Phase::Over => {}
        }
    }

    /// 0 in standard slow start, 1 in conservative slow start, 2 when it is over.
    pub fn phase(&self) -> u32 {
        match self.phase {
            Phase::Standard => 0,
            Phase::Conservative { .. } => 1,
            Phase::Over => 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcb::Tcb;

    /// A connection driven round by round.
    struct Played {
        plus: HyStartPlusPlus,
        tcb: Tcb,
    }

    impl Played {
        fn new() -> Self {
            let tcb = Tcb::example(20);
            let mut plus = HyStartPlusPlus::new();
            plus.restart(&tcb.view);
            Self { plus, tcb }
        }

        /// A round of `acks` ACKs of one segment, each with this RTT: the first acknowledges all data out, and as much
        /// is out again. Returns whether slow start ended in it.
        fn round(&mut self, rtt_ms: u32, acks: u32) -> bool {
            let mut ended = false;
            self.tcb.view.una = self.tcb.view.nxt;
            self.tcb.view.nxt += acks;
            for _ in 0..acks {
                ended |= self.plus.on_ack(&self.tcb.view, &self.tcb.control, Some(rtt_ms * 1_000));
            }
            ended
        }
    }

    /// RFC 9406 §4.2 at 100 ms: a rise of 100/8 = 12.5 ms counts and 12 do not. From 40 ms the least counts, 5 ms; from
    /// 200 ms the most, 16; from 20 ms the least, 4.
    #[test]
    fn a_round_that_is_slower_by_an_eighth_begins_conservative_slow_start() {
        for (last, stays, begins) in [(100, 112, 113), (40, 44, 45), (200, 215, 216), (20, 23, 24)]
        {
            for (rtt, phase) in [(stays, 0), (begins, 1)] {
                let mut played = Played::new();
                played.round(last, 10);
                played.round(rtt, 10);
                assert_eq!(played.plus.phase(), phase, "{last} then {rtt}");
            }
        }
    }

    /// Seven samples say nothing, and the lowest of a round counts.
    #[test]
    fn eight_samples_and_the_lowest_of_them() {
        let mut played = Played::new();
        played.round(100, 10);
        played.round(150, 7);
        assert_eq!(played.plus.phase(), 0);
        let mut played = Played::new();
        played.round(100, 10);
        played.round(100, 1);
        let tcb = &played.tcb;
        for _ in 0..20 {
            played.plus.on_ack(&tcb.view, &tcb.control, Some(150_000));
        }
        assert_eq!(played.plus.phase(), 0, "one early sample of 100 ms holds for the round");
    }

    /// §4.2: five rounds, the one that it began in included, and slow start is over.
    #[test]
    fn conservative_slow_start_ends_slow_start_after_five_rounds() {
        let mut played = Played::new();
        played.round(100, 10);
        assert!(!played.round(120, 10));
        for _ in 0..4 {
            assert!(!played.round(120, 10));
            assert_eq!(played.plus.phase(), 1);
        }
        assert!(played.round(120, 10));
        assert_eq!(played.plus.phase(), 2);
        assert!(!played.round(400, 10), "over for good");
    }

    /// 100, 120 and then 80 ms: it was no queue, and standard slow start goes on; the next rise counts from there.
    #[test]
    fn a_lower_rtt_takes_it_back() {
        let mut played = Played::new();
        played.round(100, 10);
        played.round(120, 10);
        assert_eq!(played.plus.phase(), 1);
        played.round(80, 7);
        assert_eq!(played.plus.phase(), 1, "not before the eighth sample");
        played.round(80, 8);
        assert_eq!(played.plus.phase(), 0);
        played.round(90, 10);
        assert_eq!(played.plus.phase(), 1);
    }

    /// One segment for each, at most eight an ACK where nothing paces; a quarter in conservative slow start, which
    /// keeps remainders.
    #[test]
    fn growth() {
        let mut played = Played::new();
        assert_eq!(played.plus.growth(&played.tcb.control, 2), 2);
        assert_eq!(played.plus.growth(&played.tcb.control, 30), 8);
        played.tcb.control.paced = true;
        assert_eq!(played.plus.growth(&played.tcb.control, 30), 30);
        played.round(100, 10);
        played.round(120, 10);
        let grown: Vec<u32> =
            [2, 2, 2, 2, 7].map(|acked| played.plus.growth(&played.tcb.control, acked)).into();
        assert_eq!(grown, [0, 1, 0, 1, 1]);
    }

    /// A loss or a mark has set the threshold: standard slow start from then on.
    #[test]
    fn only_the_first_slow_start() {
        let mut played = Played::new();
        played.round(100, 10);
        played.tcb.control.ssthresh = 10;
        played.round(150, 10);
        assert_eq!(played.plus.phase(), 2);
        assert_eq!(played.plus.growth(&played.tcb.control, 30), 30);
    }
}
