//! Rates that swing so slowly that a window holds few of their periods: their mean over the window then depends on where
//! the window lies, and so do shares and Jain's index.

use super::series::{Frame, Of};
use super::window::{Bounds, WindowSpec};
use super::{Quantity, oscillation};
use crate::estimators::{mean, standard_deviation, sum};
use sojourn_model::Traffic;

/// The number of parts of the window. Faster swings than half of it are averaged away.
const PARTS: f64 = 50.0;
/// With fewer parts there is no answer.
const FEWEST_PARTS: usize = 20;
/// A swing counts from this standard deviation on, over the mean.
const SPREAD: f64 = 0.2;
/// A crossing of the mean counts when it is followed so far to its other side, in standard deviations.
const HYSTERESIS: f64 = 0.5;
/// The number of crossings needed: there is a whole period between the first and the third.
const CROSSINGS: usize = 3;
/// A window that holds fewer periods is too short.
const PERIODS: f64 = 2.0;
/// Two flows alternate if their rates are this much against one another (Pearson's correlation).
const AGAINST: f64 = -0.5;

/// Flows with rates that swing so slowly that the default window holds fewer than two periods.
#[derive(Clone, PartialEq, Debug)]
pub struct Swing {
    /// Their names, in the scenario's order.
    pub flows: Vec<String>,
    /// Whether they are two, and one has less when the other has more.
    pub alternate: bool,
    /// The mean of their periods, s.
    pub period: f64,
    /// The window.
    pub window: Bounds,
}

impl Swing {
    /// How many periods the window holds.
    pub fn held(&self) -> f64 {
        self.window.length() / self.period
    }
}

/// Which flows of a run swing slowly: TCP connections with an application that always has something to send, by their goodput,
/// from when all of them have started until the first ends, and in the default window at least.
///
/// A rate swings if the standard deviation of its means over a fiftieth of the window each is at least 0.2 of their mean.
/// Its period is twice the mean time between crossings of the mean, at least three; a crossing counts when
/// it leads at least half a standard deviation beyond the mean, so that noise on a slope is no crossing.
pub fn swing(frame: &Frame<'_>) -> Option<Swing> {
    let is_bulk =
        |traffic: &Traffic| matches!(traffic, Traffic::Tcp(tcp) if tcp.app_rate.is_none());
    let all = &frame.run().scenario.flows;
    let bulk: Vec<&str> =
        all.iter().filter(|f| is_bulk(&f.traffic)).map(|f| f.name.as_str()).collect();
    let times = frame.flows.table.f64("t_s");
    let step = frame.run().scenario.sample_interval.as_secs_f64();
    let ends = |flow: &str| {
        let rows = frame.flows.of(flow);
        Some(Bounds { from: times[*rows.first()?] - step, to: times[*rows.last()?] })
    };
    let alive: Vec<Bounds> = bulk.iter().filter_map(|flow| ends(flow)).collect();
    // Where none has a row, as when each waits for what never comes, nothing swings.
    if alive.is_empty() {
        return None;
    }
    let together = Bounds {
        from: alive.iter().map(|b| b.from).fold(0.0, f64::max),
        to: alive.iter().map(|b| b.to).fold(f64::INFINITY, f64::min),
    };
    let mut window = None;
    let found: Vec<(&str, f64, Vec<f64>)> = bulk
        .iter()
        .filter_map(|&flow| {
            let own = frame.bounds(&WindowSpec::Default, flow)?;
            let width = libm::round((own.length() / PARTS / step).max(1.0)) * step;
            let span = Bounds { from: together.from.min(own.from), to: together.to.max(own.to) };
            let goodput = Of::Quantity(Quantity::named("goodput")?);
            let parts = oscillation::by_part(&frame.series(&goodput, flow, span), span, width);
            let enough = own.length() / width >= FEWEST_PARTS as f64;
            let period = period(&parts).filter(|_| enough)? * width;
            window = Some(own);
            (own.length() / period < PERIODS).then_some((flow, period, parts))
        })
        .collect();
    let periods: Vec<f64> = found.iter().map(|(_, period, _)| *period).collect();
    let alternate = match found.as_slice() {
        [(.., a), (.., b)] => correlation(a, b) <= AGAINST,
        _ => false,
    };
    (!found.is_empty()).then_some(Swing {
        flows: found.iter().map(|(flow, ..)| (*flow).to_owned()).collect(),
        alternate,
        period: mean(&periods),
        window: window?,
    })
}

/// The period of values at equal distances, in these distances; `None` of what does not swing.
fn period(values: &[f64]) -> Option<f64> {
    let (centre, spread) = (mean(values), standard_deviation(values));
    if spread.is_nan() || spread < SPREAD * centre.abs() {
        return None;
    }
    let beyond = |x: f64| {
        let (above, below) = (x > centre + HYSTERESIS * spread, x < centre - HYSTERESIS * spread);
        (above || below).then_some(above)
    };
    let mut side = None;
    let mut crossings = Vec::new();
    for (at, now) in values.iter().enumerate().filter_map(|(i, &x)| Some((i, beyond(x)?))) {
        if side.is_some_and(|before| before != now) {
            crossings.push(at);
        }
        side = Some(now);
    }
    let (first, last) = (crossings.first()?, crossings.last()?);
    let is_enough = crossings.len() >= CROSSINGS;
    is_enough.then(|| 2.0 * (last - first) as f64 / (crossings.len() - 1) as f64)
}

/// Pearson's correlation of as many values as both have.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().min(b.len());
    let (a, b) = (&a[..n], &b[..n]);
    let (mean_a, mean_b) = (mean(a), mean(b));
    let moment = |x: &[f64], mean_x: f64, y: &[f64], mean_y: f64| {
        let products: Vec<f64> =
            x.iter().zip(y).map(|(x, y)| (x - mean_x) * (y - mean_y)).collect();
        sum(&products)
    };
    let both = moment(a, mean_a, b, mean_b);
    both / libm::sqrt(moment(a, mean_a, a, mean_a) * moment(b, mean_b, b, mean_b))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: f64 = 2.0 * core::f64::consts::PI;

    /// A sine with this number of periods in a hundred values.
    fn sine(periods: f64, height: f64) -> Vec<f64> {
        (0..100).map(|i| 10.0 + height * libm::sin(f64::from(i) / 100.0 * TURN * periods)).collect()
    }

    #[test]
    fn a_sine_has_its_period() {
        for periods in [3.0, 8.0, 20.0] {
            let found = period(&sine(periods, 5.0)).expect("it swings");
            let due = 100.0 / periods;
            assert!((found - due).abs() <= 0.05 * due, "{periods}: {found}, not {due}");
        }
        // Of half a turn nobody knows how long a whole one would be; nor of a line.
        assert_eq!(period(&sine(0.5, 5.0)), None);
        let line: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(period(&line), None);
    }

    #[test]
    fn what_is_even_or_nearly_so_does_not_swing() {
        assert_eq!(period(&[10.0; 100]), None);
        assert_eq!(period(&[]), None);
        // A sine's deviation is 0.707 of its height: 0.2 of the mean are a height of 2.83.
        assert_eq!(period(&sine(3.0, 2.7)), None);
        assert!(period(&sine(3.0, 3.0)).is_some());
    }

    /// Between crossings noise needs 3.2 values on average (31 % lie beyond half a deviation on a side): a period of 6.5.
    #[test]
    fn noise_crosses_its_mean_often() {
        let mut state = 1_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        for _ in 0..100 {
            let noise: Vec<f64> = (0..150).map(|_| (0..4).map(|_| uniform()).sum()).collect();
            let found = period(&noise).expect("it has a deviation of 0.29 of its mean");
            assert!((4.0..12.5).contains(&found), "{found}");
        }
    }

    #[test]
    fn correlations_by_hand() {
        assert!((correlation(&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0]) - 1.0).abs() < 1e-12);
        assert!((correlation(&[1.0, 2.0, 3.0, 9.0], &[3.0, 2.0, 1.0]) + 1.0).abs() < 1e-12);
        // Deviations −1, 0, 1 and 0, −1, 1: 1 over the root of 2 · 2.
        assert!((correlation(&[1.0, 2.0, 3.0], &[2.0, 1.0, 3.0]) - 0.5).abs() < 1e-12);
    }
}
