//! A radio link that collects frames and sends them in bursts, at a rate that wanders.
//!
//! Source: the model of docs/sources/applications.md#radio-links (a design; the published experiments had a real link). Chances
//! to send come at uniformly drawn times, whether or not there is anything to send. At each, as many of the
//! frames that wait as fit the frames and the airtime of a burst (one at least) go on the air together, at the
//! physical rate of that moment. The receiver has them when the burst is over, and passes them on one after the
//! other at its line's rate. No chance comes while the air is busy, so that the long-run rate never exceeds the
//! physical one. That moves along a ladder: after an exponential time it goes to a neighbour or stays, each
//! equally likely (at an end there is one neighbour).
//!
//! Invariant: chances and rates are drawn from a stream of their own in the order of time, so that they do not
//! depend on which frames there are, other than by a burst that is still on the air.

use crate::Sojourn;
use sojourn_model::AggregatingLink;
use sojourn_units::{Random, Rate, Serializer, Span, Time, sample};
use std::collections::VecDeque;

/// The link, and what is on it.
#[derive(Clone, Debug)]
pub struct Radio<P> {
    rates: Vec<Rate>,
    /// The place on the ladder.
    at: usize,
    next_change: Time,
    dwell: Span,
    chance_min: Span,
    chance_max: Span,
    frames: u32,
    airtime: Span,
    line: Serializer,
    line_free: Time,
    /// The next chance to send.
    chance: Time,
    chances: Random,
    changes: Random,
    /// A frame that was too long for the last burst.
    waiting: Option<(P, Sojourn)>,
    /// Frames on the air: when each has been passed on, and its sojourn in the queue before.
    on_air: VecDeque<(Time, Sojourn, P)>,
}

impl<P> Radio<P> {
    /// A quiet link; two streams for its chances and its rates.
    pub fn new(settings: &AggregatingLink, mut chances: Random, mut changes: Random) -> Self {
        let rates = settings.rates.clone();
        let at = changes.below(rates.len() as u64) as usize;
        let (chance_min, chance_max) = (settings.opportunity_min, settings.opportunity_max);
        let chance = Time::ZERO + uniform(chance_min, chance_max, &mut chances);
        let next_change = Time::ZERO + exponential(settings.dwell, &mut changes);
        Self {
            rates,
            at,
            next_change,
            dwell: settings.dwell,
            chance_min,
            chance_max,
            frames: settings.frames,
            airtime: settings.airtime,
            line: Serializer::new(settings.line),
            line_free: Time::ZERO,
            chance,
            chances,
            changes,
            waiting: None,
            on_air: VecDeque::new(),
        }
    }

    /// From now on the physical rate is this one alone.
    pub fn set_rate(&mut self, rate: Rate) {
        self.rates = vec![rate];
        self.at = 0;
    }

    /// The physical rate at `now`.
    pub fn rate(&mut self, now: Time) -> Rate {
        while self.next_change <= now {
            self.next_change += exponential(self.dwell, &mut self.changes);
            // Down, stay or up among those that there are.
            let low = self.at.saturating_sub(1);
            let high = (self.at + 1).min(self.rates.len() - 1);
            self.at = low + self.changes.below((high - low + 1) as u64) as usize;
        }
        self.rates[self.at]
    }

    /// The next chance at or after `now`. Those before it found nothing to send.
    fn chance_from(&mut self, now: Time) -> Time {
        while self.chance < now {
            self.chance += uniform(self.chance_min, self.chance_max, &mut self.chances);
        }
        self.chance
    }

    /// The frame that is passed on now, and its sojourn in the queue before.
    pub fn passed_on(&mut self, now: Time) -> Option<(P, Sojourn)> {
        if self.on_air.front()?.0 > now {
            return None;
        }
        self.on_air.pop_front().map(|(_, sojourn, frame)| (frame, sojourn))
    }

    /// When the first of the frames on the air is passed on.
    pub fn next_arrival(&self) -> Time {
        self.on_air.front().map_or(Time::NEVER, |f| f.0)
    }

    /// Sends a burst if there is a chance now; `frame` gives the next frame that waits, with its length in bytes
    /// and its sojourn. Says when there is the next chance.
    pub fn serve(
        &mut self,
        now: Time,
        mut frame: impl FnMut() -> Option<(P, Sojourn)>,
        bytes: impl Fn(&P) -> u32,
    ) -> Time {
        let chance = self.chance_from(now);
        if chance > now {
            return chance;
        }
        let rate = self.rate(now);
        let (mut airtime, mut count) = (Span::ZERO, 0);
        let first = self.on_air.len();
        while count < self.frames {
            let Some((next, sojourn)) = self.waiting.take().or_else(&mut frame) else { break };
            let more = rate.time_for(u64::from(bytes(&next)));
            if count > 0 && airtime + more > self.airtime {
                self.waiting = Some((next, sojourn));
                break;
            }
            airtime += more;
            count += 1;
            self.on_air.push_back((Time::NEVER, sojourn, next));
        }
        let over = now + airtime;
        let mut free = self.line_free.max(over);
        for sent in self.on_air.range_mut(first..) {
            free = self.line.finish(free, u64::from(bytes(&sent.2)));
            sent.0 = free;
        }
        self.line_free = free;
        self.chance =
            (now + uniform(self.chance_min, self.chance_max, &mut self.chances)).max(over);
        self.chance
    }

    /// Frames held: on the air, or left over from a burst.
    pub fn held(&self) -> impl Iterator<Item = &P> {
        self.on_air.iter().map(|f| &f.2).chain(self.waiting.iter().map(|w| &w.0))
    }

    /// Whether a frame is left over from a burst.
    pub const fn has_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// Gives up whatever is held.
    pub fn into_held(self) -> impl Iterator<Item = P> {
        self.on_air.into_iter().map(|f| f.2).chain(self.waiting.map(|w| w.0))
    }
}

/// Uniform between two spans, both included.
fn uniform(low: Span, high: Span, random: &mut Random) -> Span {
    sample::uniform(low, high, random).max(Span::from_nanos(1))
}

fn exponential(mean: Span, random: &mut Random) -> Span {
    sample::exponential(mean, random).max(Span::from_nanos(1))
}
