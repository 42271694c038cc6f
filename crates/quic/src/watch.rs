//! What a congestion control does, seen from outside: a wrapper around whichever it is notes what goes in and what comes
//! out. The implementations tell their applications less.

use crate::table::BBR3;
use core::time::Duration;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// What has been seen. A control is in one thread with whoever reads; the cells are atomic because the implementations want
/// their controls to be `Sync`.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Bytes in flight that count against the window.
    pub(crate) in_flight: Cell,
    /// Window in bytes.
    pub(crate) window: Cell,
    /// Slow-start threshold in bytes; `u64::MAX` while there is none, or if it has none.
    pub(crate) ssthresh: Cell,
    /// Pacing rate that the control asks for, in bits per second; 0 if it asks for none.
    pub(crate) pacing: Cell,
    /// The newest delivery-rate sample, bits per second; 0 before the first.
    pub(crate) rate: Cell,
    /// Packets that were acknowledged.
    pub(crate) acked: Cell,
    /// How many batches of acknowledgements had an RTT sample.
    pub(crate) samples: Cell,
    /// The newest of them, nanoseconds.
    pub(crate) rtt: Cell,
    /// Congestion events by loss.
    pub(crate) losses: Cell,
    /// Congestion events by ECN.
    pub(crate) marks: Cell,
    /// How often the control heard of losses or marks.
    pub(crate) touched: Cell,
    /// Persistent congestion.
    pub(crate) persistent: Cell,
    /// Why the window is held down now: 0 not at all, 1 by ECN, 2 by loss.
    pub(crate) recovering: Cell,
    /// What BBRv3 tells of its model.
    pub(crate) model: Model,
}

/// The numbers of [`BBR3`], in its order.
#[derive(Default, Debug)]
pub(crate) struct Model {
    is_told: Cell,
    numbers: [Cell; BBR3.len()],
}

impl Model {
    /// Takes them; NaN is one that there is not.
    pub(crate) fn set(&self, numbers: [f64; BBR3.len()]) {
        self.is_told.set(1);
        for (cell, number) in self.numbers.iter().zip(numbers) {
            cell.set(number.to_bits());
        }
    }

    /// Those that there are, by their names; none of a control that tells none.
    pub(crate) fn each(&self, out: &mut dyn FnMut(&'static str, f64)) {
        if self.is_told.get() == 0 {
            return;
        }
        for ((name, ..), cell) in BBR3.iter().zip(&self.numbers) {
            let number = f64::from_bits(cell.get());
            if !number.is_nan() {
                out(name, number);
            }
        }
    }
}

/// A number.
#[derive(Default, Debug)]
pub(crate) struct Cell(AtomicU64);

impl Cell {
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    pub(crate) fn add(&self, more: u64) {
        self.set(self.get() + more);
    }

    pub(crate) fn sub(&self, less: u64) {
        self.set(self.get().saturating_sub(less));
    }
}

impl Default for Watch {
    fn default() -> Self {
        let ssthresh = Cell::default();
        ssthresh.set(u64::MAX);
        Self {
            in_flight: Cell::default(),
            window: Cell::default(),
            ssthresh,
            pacing: Cell::default(),
            rate: Cell::default(),
            acked: Cell::default(),
            samples: Cell::default(),
            rtt: Cell::default(),
            losses: Cell::default(),
            marks: Cell::default(),
            touched: Cell::default(),
            persistent: Cell::default(),
            recovering: Cell::default(),
            model: Model::default(),
        }
    }
}

impl Watch {
    /// An RTT sample.
    pub(crate) fn sample(&self, rtt: Duration) {
        self.samples.add(1);
        self.rtt.set(u64::try_from(rtt.as_nanos()).unwrap_or(u64::MAX));
    }

    /// A congestion event.
    pub(crate) fn event(&self, by_ecn: bool, persistent: bool) {
        if by_ecn {
            self.marks.add(1);
        } else {
            self.losses.add(1);
        }
        self.persistent.add(u64::from(persistent));
        self.recovering.set(if by_ecn { 1 } else { 2 });
    }
}

/// Delivery-rate samples, as TCP's are taken (draft-cheng-iccrg-delivery-rate-estimation §3): the bytes delivered since
/// the departure of the packet that has just been acknowledged, over the longer of the time that it took to send and to
/// acknowledge that. Implementations have none, or keep theirs to themselves.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    /// Bytes acknowledged.
    delivered: u64,
    /// When the last were.
    at: Instant,
    /// When the packet had been sent that was acknowledged last.
    first_sent: Instant,
    /// The state at the departure of packets that have not been acknowledged, in the order of their sending.
    flights: VecDeque<Flight>,
}

/// Packets that were sent at one time.
#[derive(Clone, Copy, Debug)]
struct Flight {
    sent: Instant,
    delivered: u64,
    at: Instant,
    first_sent: Instant,
}

impl Delivery {
    pub(crate) fn new(now: Instant) -> Self {
        Self { delivered: 0, at: now, first_sent: now, flights: VecDeque::new() }
    }

    /// Packets leave, with `in_flight` bytes in flight before.
    pub(crate) fn sent(&mut self, now: Instant, in_flight: u64) {
        if in_flight == 0 {
            (self.at, self.first_sent) = (now, now);
        }
        if self.flights.back().is_none_or(|flight| flight.sent < now) {
            let Self { delivered, at, first_sent, .. } = *self;
            self.flights.push_back(Flight { sent: now, delivered, at, first_sent });
        }
    }

    /// A packet of `bytes` bytes was acknowledged.
    pub(crate) fn acked(&mut self, bytes: u64) {
        self.delivered += bytes;
    }

    /// A batch of acknowledgements is complete, and its last-sent packet left at `sent`: bits per second, if there is a
    /// sample.
    pub(crate) fn sample(&mut self, now: Instant, sent: Instant) -> Option<u64> {
        self.at = now;
        while self.flights.front().is_some_and(|flight| flight.sent < sent) {
            self.flights.pop_front();
        }
        let flight = *self.flights.front().filter(|flight| flight.sent == sent)?;
        self.first_sent = sent;
        let took = (now - flight.at).max(sent - flight.first_sent).as_nanos();
        let bits = u128::from(self.delivered - flight.delivered) * 8 * 1_000_000_000;
        bits.checked_div(took).map(|rate| u64::try_from(rate).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use sojourn_units::Time;

    /// A packet a millisecond, each acknowledged ten milliseconds later: 1200 bytes a millisecond are 9.6 Mbit/s. When ten
    /// are acknowledged at once, the time to send them counts, and not the moment at which they were acknowledged.
    #[test]
    fn a_rate_is_what_was_delivered_over_the_longer_time() {
        let clock = Clock::new();
        let at = |ms: u64| clock.at(Time::from_millis(ms));
        let mut delivery = Delivery::new(at(0));
        let mut last = None;
        for ms in 0..40 {
            delivery.sent(at(ms), ms.min(10) * 1200);
            if ms >= 10 {
                delivery.acked(1200);
                last = delivery.sample(at(ms), at(ms - 10));
            }
        }
        assert_eq!(last, Some(9_600_000));
        (0..10).for_each(|_| delivery.acked(1200));
        assert_eq!(delivery.sample(at(49), at(39)), Some(9_600_000));
        assert_eq!(delivery.sample(at(50), at(50)), None, "nothing was sent then");
    }
}
