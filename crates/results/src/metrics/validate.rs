//! Our results next to published ones (docs/truth.md).
//!
//! A published value agrees when it lies in the central 95 % range of our seeds, widened on both sides by the
//! replicate noise of the published value itself. A count's own noise is its square root. Nothing is tuned to a
//! row.

use crate::estimators::{
    Interval, central_range, quantile_interpolated, quantile_nearest_rank, sorted,
};
use serde::Serialize;

/// How much a published value would differ if its experiment were run again.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Noise {
    /// So much, in the value's own unit.
    Absolute(f64),
    /// So much of the value.
    Relative(f64),
    /// The value is a count: its square root.
    Count,
}

impl Noise {
    /// In the value's own unit.
    pub fn of(self, published: f64) -> f64 {
        match self {
            Self::Absolute(noise) => noise,
            Self::Relative(share) => share * published.abs(),
            Self::Count => libm::sqrt(published.max(0.0)),
        }
    }
}

/// A published value next to ours.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Agreement {
    /// The published value.
    pub published: f64,
    /// The median of ours.
    pub ours: f64,
    /// The lower end of our central 95 % range, before it is widened.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The published value's noise.
    pub noise: f64,
    /// Whether the published value lies in the widened range.
    pub agrees: bool,
    /// Ours less the published value.
    pub bias: f64,
    /// Its size over the published value's; nothing where that is zero.
    pub relative_error: Option<f64>,
}

/// Holds a published value against the values of our seeds; `None` if we have none.
pub fn agreement(published: f64, noise: Noise, ours: &[f64]) -> Option<Agreement> {
    let sorted = sorted(ours);
    if sorted.is_empty() || published.is_nan() {
        return None;
    }
    let Interval { low, high } = central_range(&sorted);
    let noise = noise.of(published);
    let median = quantile_interpolated(&sorted, 0.5);
    let bias = median - published;
    Some(Agreement {
        published,
        ours: median,
        low,
        high,
        noise,
        agrees: published >= low - noise && published <= high + noise,
        bias,
        relative_error: (published != 0.0).then(|| bias.abs() / published.abs()),
    })
}

/// A group of rows summed up.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct GroupSummary {
    /// The group: a queue, a sender.
    pub group: String,
    /// How many rows.
    pub rows: usize,
    /// The share of them that agree.
    pub coverage: f64,
    /// The median of the biases.
    pub median_bias: f64,
    /// The median of their sizes.
    pub median_abs_error: f64,
    /// The 90th percentile of their sizes, nearest rank.
    pub p90_abs_error: f64,
}

/// Sums rows up by group, in the order in which groups first occur.
pub fn summarise<'a>(
    rows: impl IntoIterator<Item = (&'a str, &'a Agreement)>,
) -> Vec<GroupSummary> {
    let mut groups: Vec<(&str, Vec<&Agreement>)> = Vec::new();
    for (group, row) in rows {
        match groups.iter_mut().find(|(name, _)| *name == group) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((group, vec![row])),
        }
    }
    groups
        .into_iter()
        .map(|(group, rows)| {
            let biases: Vec<f64> = rows.iter().map(|r| r.bias).collect();
            let errors = sorted(&biases.iter().map(|b| b.abs()).collect::<Vec<f64>>());
            GroupSummary {
                group: group.to_owned(),
                rows: rows.len(),
                coverage: rows.iter().filter(|r| r.agrees).count() as f64 / rows.len() as f64,
                median_bias: quantile_interpolated(&sorted(&biases), 0.5),
                median_abs_error: quantile_interpolated(&errors, 0.5),
                p90_abs_error: quantile_nearest_rank(&errors, 0.9),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_agrees_within_our_range_and_its_own_noise() {
        let ours = [0.30, 0.31, 0.32, 0.33, 0.34];
        let with = |published, noise| agreement(published, noise, &ours).unwrap();
        assert!(with(0.32, Noise::Absolute(0.0)).agrees);
        assert!(!with(0.29, Noise::Absolute(0.005)).agrees);
        assert!(with(0.29, Noise::Absolute(0.012)).agrees);
        assert!(with(0.29, Noise::Relative(0.05)).agrees);
        let row = with(0.30, Noise::Absolute(0.0));
        assert!((row.bias - 0.02).abs() < 1e-12);
        assert!((row.relative_error.unwrap() - 0.02 / 0.3).abs() < 1e-12);
        assert!(agreement(1.0, Noise::Count, &[]).is_none());
        assert!(agreement(100.0, Noise::Count, &[110.0]).unwrap().agrees);
        assert!(!agreement(100.0, Noise::Count, &[111.0]).unwrap().agrees);
    }

    #[test]
    fn groups_are_summed_up_by_hand() {
        let row = |published: f64, ours: f64| {
            agreement(published, Noise::Absolute(0.05), &[ours]).unwrap()
        };
        let rows = [row(1.0, 1.0), row(1.0, 1.2), row(1.0, 0.9), row(2.0, 2.0)];
        let named = [("pie", &rows[0]), ("pie", &rows[1]), ("pie", &rows[2]), ("codel", &rows[3])];
        let summary = summarise(named);
        assert_eq!(summary.len(), 2);
        assert_eq!((summary[0].group.as_str(), summary[0].rows), ("pie", 3));
        assert!((summary[0].coverage - 1.0 / 3.0).abs() < 1e-12);
        assert!((summary[0].median_bias).abs() < 1e-12);
        assert!((summary[0].median_abs_error - 0.1).abs() < 1e-12);
        assert!((summary[0].p90_abs_error - 0.2).abs() < 1e-12);
        assert_eq!(summary[1].coverage, 1.0);
    }
}
