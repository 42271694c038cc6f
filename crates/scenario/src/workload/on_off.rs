//! On and off by turns.

use super::{Act, Source, sample};
use crate::model::OnOff;
use sojourn_units::{Random, Span, Time};

/// Says when a source begins and ceases to send; the first on period begins at the start.
#[derive(Clone, Debug)]
pub struct Pulses {
    on: Span,
    off: Span,
    exponential: bool,
    next: Time,
    is_on: bool,
}

impl Pulses {
    /// The first on period begins at `start`.
    pub const fn new(start: Time, source: &OnOff) -> Self {
        let OnOff { on, off, exponential, .. } = *source;
        Self { on, off, exponential, next: start, is_on: false }
    }
}

impl Source for Pulses {
    fn next(&self) -> Option<Time> {
        Some(self.next)
    }

    fn act(&mut self, random: &mut Random) -> Act {
        self.is_on = !self.is_on;
        let mean = if self.is_on { self.on } else { self.off };
        let length = if self.exponential { sample::exponential(mean, random) } else { mean };
        self.next = self.next.saturating_add(length);
        if self.is_on { Act::On } else { Act::Off }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Pulse, Udp};
    use sojourn_units::{Ecn, Rate};

    #[test]
    fn it_begins_on_and_takes_turns() {
        let udp = Udp { rate: Rate::from_mbit(1), payload: 1000, ecn: Ecn::NotEct };
        let (on, off) = (Span::from_millis(300), Span::from_millis(700));
        let source = OnOff { over: Pulse::Udp(udp), on, off, exponential: false };
        let mut pulses = Pulses::new(Time::from_secs(1), &source);
        let mut random = Random::named(1, "");
        let seen: Vec<(u64, Act)> = (0..4)
            .map(|_| {
                let at = pulses.next().unwrap().as_nanos() / 1_000_000;
                (at, pulses.act(&mut random))
            })
            .collect();
        assert_eq!(seen, [(1000, Act::On), (1300, Act::Off), (2000, Act::On), (2300, Act::Off)]);
    }
}
