//! Sources with a beat: probes and voice at an interval, UDP at a rate.

use super::source::{Act, Source};
use sojourn_model::{Irtt, Ping, Udp, Voip};
use sojourn_units::{Random, Span, Time};

/// A packet each interval, from the start on, without drift.
#[derive(Clone, Debug)]
pub struct Periodic {
    start: Time,
    interval: Span,
    bytes: u32,
    sent: u64,
}

impl Periodic {
    /// Packets of `bytes` each `interval`, the first at `start`.
    pub const fn new(start: Time, interval: Span, bytes: u32) -> Self {
        Self { start, interval, bytes, sent: 0 }
    }

    /// The requests of a ping; bytes are those of the IP packet.
    pub const fn ping(start: Time, ping: &Ping) -> Self {
        Self::new(start, ping.interval, ping.size)
    }

    /// The packets of an irtt client.
    pub const fn irtt(start: Time, irtt: &Irtt) -> Self {
        Self::new(start, irtt.interval, irtt.payload)
    }

    /// A voice stream.
    pub const fn voip(start: Time, voip: &Voip) -> Self {
        Self::new(start, voip.interval, voip.payload)
    }
}

impl Source for Periodic {
    fn next(&self) -> Option<Time> {
        Some(self.start.saturating_add(Span::from_nanos(self.interval.as_nanos() * self.sent)))
    }

    fn act(&mut self, _random: &mut Random) -> Act {
        let sequence = self.sent;
        self.sent += 1;
        Act::Datagram { sequence, bytes: self.bytes }
    }
}

/// Datagrams of one size at a constant rate of payload. The time of each is computed from the start, so that the
/// rate is exact in the long run.
#[derive(Clone, Debug)]
pub struct ConstantRate {
    start: Time,
    udp: Udp,
    sent: u64,
}

impl ConstantRate {
    /// The first datagram leaves at `start`.
    pub const fn new(start: Time, udp: Udp) -> Self {
        Self { start, udp, sent: 0 }
    }
}

impl Source for ConstantRate {
    fn next(&self) -> Option<Time> {
        if self.udp.rate.is_zero() {
            return None;
        }
        let bits = u128::from(self.sent) * u128::from(self.udp.payload) * 8;
        let nanos = bits * 1_000_000_000 / u128::from(self.udp.rate.bits_per_sec());
        Some(self.start.saturating_add(Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))))
    }

    fn act(&mut self, _random: &mut Random) -> Act {
        let sequence = self.sent;
        self.sent += 1;
        Act::Datagram { sequence, bytes: self.udp.payload }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_units::{Ecn, Rate};

    fn times(source: &mut impl Source, n: usize) -> Vec<u64> {
        let mut random = Random::named(1, "");
        (0..n)
            .map(|_| {
                let at = source.next().unwrap().as_nanos();
                source.act(&mut random);
                at
            })
            .collect()
    }

    #[test]
    fn a_ping_keeps_its_beat() {
        let ping = Ping { interval: Span::from_millis(200), size: 84, ecn: Ecn::NotEct };
        let mut source = Periodic::ping(Time::from_millis(3), &ping);
        assert_eq!(times(&mut source, 3), [3_000_000, 203_000_000, 403_000_000]);
    }

    #[test]
    fn a_rate_that_does_not_divide_is_exact_in_the_long_run() {
        // 1 byte at 3 bit/s: 2.666… s apart.
        let udp = Udp { rate: Rate::from_bits_per_sec(3), payload: 1, ecn: Ecn::NotEct };
        let mut source = ConstantRate::new(Time::ZERO, udp);
        assert_eq!(times(&mut source, 4), [0, 2_666_666_666, 5_333_333_333, 8_000_000_000]);
        // The overload experiments' 200 Mbit/s of payload in 1514-byte frames: 58.88 us apart.
        let udp = Udp { rate: Rate::from_mbit(200), payload: 1472, ecn: Ecn::Ect0 };
        let mut source = ConstantRate::new(Time::ZERO, udp);
        assert_eq!(times(&mut source, 3), [0, 58_880, 117_760]);
    }
}
