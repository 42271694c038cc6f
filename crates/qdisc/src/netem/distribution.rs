//! netem's shapes of jitter other than uniform: `distribution normal | pareto | paretonormal`.
//!
//! Source: Linux 5.4 to 7.3, `net/sched/sch_netem.c` (`tabledist`); iproute2 6, `tc/q_netem.c` and the definitions of
//! the tables in its `netem/` (of NIST Net). tc hands the kernel a table of 4096 quantiles in units of 1/8192 of the
//! jitter, and the kernel picks one of them at random. The tables here are computed from the same definitions:
//! - normal: the standard normal quantile at (4 i + 1/2) / 16384, hence within 4 standard deviations;
//! - pareto: that of the Pareto distribution of shape 3, (u^(-1/3) - 3/2) 4/3 for u from 1 down, cut at 4;
//! - paretonormal: a quarter of the former and three quarters of the latter.
//!
//! Hence JITTER is the standard deviation of `normal`; `pareto` begins 2/3 of it below the delay, where half of
//! its packets are less than 0.33 of it away from the least, and one in 91 is at the cut.
//!
//! Invariant: a table ascends.

use std::sync::LazyLock;

/// The scale of the tables (`NETEM_DIST_SCALE`).
const SCALE: i64 = 8192;
const ENTRIES: usize = 4096;

/// `distribution …`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Distribution {
    Normal,
    Pareto,
    ParetoNormal,
}

type Table = [i16; ENTRIES];

/// The quantile of the standard normal distribution at probability `p`, to the last bits.
fn normal_quantile(p: f64) -> f64 {
    let below = |x: f64| 0.5 * libm::erfc(-x / core::f64::consts::SQRT_2);
    let (mut low, mut high) = (-6.0, 6.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if below(middle) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

fn entry(value: f64) -> i32 {
    libm::rint(value.min(f64::from(i16::MAX))) as i32
}

/// Within 16 bits, which the kernel's tables have.
fn short(value: i32) -> i16 {
    value.clamp(i16::MIN.into(), i16::MAX.into()) as i16
}

fn normal(i: usize) -> i32 {
    entry(normal_quantile((4.0 * i as f64 + 0.5) / 16384.0) * SCALE as f64)
}

fn pareto(i: usize) -> i32 {
    let u = (ENTRIES - i) as f64 / ENTRIES as f64;
    entry((1.0 / libm::pow(u, 1.0 / 3.0) - 1.5) * 4.0 / 3.0 * SCALE as f64)
}

static NORMAL: LazyLock<Table> = LazyLock::new(|| core::array::from_fn(|i| short(normal(i))));
static PARETO: LazyLock<Table> = LazyLock::new(|| core::array::from_fn(|i| short(pareto(i))));
static PARETO_NORMAL: LazyLock<Table> =
    LazyLock::new(|| core::array::from_fn(|i| short((normal(i) + 3 * pareto(i)) / 4)));

impl Distribution {
    /// tc's words.
    pub(super) const WORDS: &'static [&'static str] =
        &["normal", "pareto", "paretonormal", "uniform"];

    /// That of one of these words; `None` for uniform, which needs no table.
    pub(super) fn named(word: &str) -> Option<Self> {
        match word {
            "normal" => Some(Self::Normal),
            "pareto" => Some(Self::Pareto),
            "paretonormal" => Some(Self::ParetoNormal),
            _ => None,
        }
    }

    /// tc's word.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Pareto => "pareto",
            Self::ParetoNormal => "paretonormal",
        }
    }

    fn table(self) -> &'static Table {
        match self {
            Self::Normal => &NORMAL,
            Self::Pareto => &PARETO,
            Self::ParetoNormal => &PARETO_NORMAL,
        }
    }

    /// The deviation for a random number and a jitter, both in nanoseconds: rounded to the nearest in two parts, as the
    /// kernel does to stay within 64 bits.
    pub(super) fn deviation(self, jitter: u32, random: u32) -> i64 {
        let t = i64::from(self.table()[random as usize % ENTRIES]);
        let jitter = i64::from(jitter);
        let x = (jitter % SCALE) * t;
        let x = if x >= 0 { x + SCALE / 2 } else { x - SCALE / 2 };
        x / SCALE + (jitter / SCALE) * t
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tails, the middle and the moments of each, from their definitions: 1/2 / 16384 is -4.0096 sigma; a Pareto
    /// variable of shape 3 has mean 3/2, and its quarter from below is (3/4)^(-1/3).
    #[test]
    fn tables_are_quantiles() {
        // -4.01 does not fit.
        assert_eq!(NORMAL[0], i16::MIN);
        assert!((0.0..0.002).contains(&(f64::from(NORMAL[2048]) / 8192.0)));
        assert!((f64::from(NORMAL[4095]) / 8192.0 - 3.5227).abs() < 0.001, "{}", NORMAL[4095]);
        assert_eq!(PARETO[0], -5461);
        let quarter = (libm::pow(0.75, -1.0 / 3.0) - 1.5) * 4.0 / 3.0;
        assert!((f64::from(PARETO[1024]) / 8192.0 - quarter).abs() < 1e-4);
        assert_eq!(PARETO[4095], 32767);
        for table in [&NORMAL, &PARETO, &PARETO_NORMAL] {
            assert!(table.windows(2).all(|w| w[0] <= w[1]), "it ascends");
        }
        let moments = |t: &Table| {
            let values = t.iter().map(|&x| f64::from(x) / 8192.0);
            let mean = values.clone().sum::<f64>() / 4096.0;
            (mean, (values.map(|x| (x - mean) * (x - mean)).sum::<f64>() / 4096.0).sqrt())
        };
        let (mean, sd) = moments(&NORMAL);
        assert!(mean.abs() < 0.002 && (sd - 1.0).abs() < 0.002, "{mean} {sd}");
        // Without the cut the mean would be zero and the deviation 2/√3 = 1.155.
        let (mean, sd) = moments(&PARETO);
        assert!((-0.05..0.0).contains(&mean) && (0.8..1.0).contains(&sd), "{mean} {sd}");
        let (_, both) = moments(&PARETO_NORMAL);
        assert!((0.8..1.0).contains(&both), "{both}");
    }

    #[test]
    fn deviations_round_to_the_nearest() {
        // The median of the normal table is within a table step of zero; its ends are ±4 ms of 1 ms.
        assert!(Distribution::Normal.deviation(1_000_000, 2048).abs() < 2_000);
        let least = Distribution::Normal.deviation(1_000_000, 0);
        assert!((-4_000_001..-3_999_999).contains(&least), "{least}");
        assert_eq!(Distribution::Pareto.deviation(8192, 0), -5461);
        assert_eq!(Distribution::Pareto.deviation(3, 4096), -2, "-3 x 5461 / 8192 = -1.9998");
    }
}
