//! Sources that are alternately on and off.

use super::periodic::ConstantRate;
use super::source::{Act, Source};
use sojourn_model::{OnOff, Udp};
use sojourn_units::{Random, Span, Time, sample};

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

/// Datagrams at a constant rate while it is on, each on period from its beginning.
#[derive(Clone, Debug)]
pub struct PulsedUdp {
    pulses: Pulses,
    udp: Udp,
    sending: Option<ConstantRate>,
    sent: u64,
}

impl PulsedUdp {
    /// The first on period begins at `start`.
    pub const fn new(start: Time, source: &OnOff, udp: Udp) -> Self {
        Self { pulses: Pulses::new(start, source), udp, sending: None, sent: 0 }
    }

    fn datagram(&self) -> Option<Time> {
        self.sending.as_ref().and_then(ConstantRate::next).filter(|&at| at < self.pulses.next)
    }
}

impl Source for PulsedUdp {
    fn next(&self) -> Option<Time> {
        self.datagram().or(self.pulses.next())
    }

    fn act(&mut self, random: &mut Random) -> Act {
        if self.datagram().is_some() {
            let sequence = self.sent;
            self.sent += 1;
            if let Some(sending) = &mut self.sending {
                sending.act(random);
            }
            return Act::Datagram { sequence, bytes: self.udp.payload };
        }
        let begins = self.pulses.next;
        let act = self.pulses.act(random);
        self.sending = (act == Act::On).then(|| ConstantRate::new(begins, self.udp));
        act
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_model::{Pulse, Udp};
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

    #[test]
    fn datagrams_leave_while_it_is_on() {
        // 1000 bytes each 100 ms, on for 250 ms of every second.
        let udp = Udp { rate: Rate::from_bits_per_sec(80_000), payload: 1000, ecn: Ecn::NotEct };
        let (on, off) = (Span::from_millis(250), Span::from_millis(750));
        let source = OnOff { over: Pulse::Udp(udp), on, off, exponential: false };
        let mut source = PulsedUdp::new(Time::ZERO, &source, udp);
        let mut random = Random::named(1, "");
        let mut seen = Vec::new();
        while seen.len() < 6 {
            let at = source.next().unwrap().as_nanos() / 1_000_000;
            if let Act::Datagram { sequence, .. } = source.act(&mut random) {
                seen.push((at, sequence));
            }
        }
        assert_eq!(seen, [(0, 0), (100, 1), (200, 2), (1000, 3), (1100, 4), (1200, 5)]);
    }
}
