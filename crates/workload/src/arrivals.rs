//! Arrivals of short flows: exponential times between them, log-normal lengths (docs/sources/applications.md#short-flows).

use super::source::{Act, Source};
use sojourn_model::ShortFlows;
use sojourn_units::{Random, Time, sample};

/// Opens a connection at each arrival, whatever became of the earlier ones; the first at the start.
#[derive(Clone, Debug)]
pub struct Arrivals {
    flows: ShortFlows,
    mu: f64,
    sigma: f64,
    next: Time,
    started: u64,
}

impl Arrivals {
    /// The first connection is opened at `start`.
    pub fn new(start: Time, flows: ShortFlows) -> Self {
        let (mu, sigma) =
            sample::log_normal_by_percentiles(flows.length_p5 as f64, flows.length_p95 as f64);
        Self { flows, mu, sigma, next: start, started: 0 }
    }
}

impl Source for Arrivals {
    fn next(&self) -> Option<Time> {
        let more = self.flows.count.is_none_or(|count| self.started < count);
        more.then_some(self.next)
    }

    fn act(&mut self, random: &mut Random) -> Act {
        let bytes = sample::log_normal(self.mu, self.sigma, random).max(1.0) as u64;
        let sequence = self.started;
        self.started += 1;
        self.next = self.next.saturating_add(sample::exponential(self.flows.mean_interval, random));
        Act::Connection { sequence, bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_model::{EcnMode, Tcp};
    use sojourn_units::Span;

    fn flows(count: Option<u64>) -> ShortFlows {
        ShortFlows {
            tcp: Tcp::plain("cubic", EcnMode::Off),
            mean_interval: Span::from_millis(200),
            count,
            length_p5: 65_536,
            length_p95: 2_097_152,
            request: 150,
        }
    }

    #[test]
    fn nine_hundred_arrivals_offer_the_published_load() {
        let mut random = Random::named(3, "flow/short");
        let mut source = Arrivals::new(Time::from_secs(20), flows(Some(900)));
        let (mut bytes, mut last, mut n) = (0, Time::ZERO, 0);
        while let Some(at) = source.next() {
            assert!(at >= last);
            last = at;
            let Act::Connection { sequence, bytes: length } = source.act(&mut random) else {
                panic!("not a connection")
            };
            assert_eq!(sequence, n);
            n += 1;
            bytes += length;
        }
        assert_eq!(n, 900);
        // 25.83 Mbit/s over 180 s, within what one draw of 900 heavy-tailed lengths varies by.
        let seconds = (last - Time::from_secs(20)).as_secs_f64();
        let mbit = bytes as f64 * 8.0 / seconds / 1e6;
        assert!((seconds - 180.0).abs() < 18.0, "{seconds}");
        assert!((20.0..32.0).contains(&mbit), "{mbit}");
    }
}
