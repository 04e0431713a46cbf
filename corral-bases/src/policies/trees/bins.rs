//! Candidate thresholds from quantiles, and features as bin numbers.

use super::super::data::Sites;

/// Rows whose quantiles are taken at most; more are thinned out evenly.
const SAMPLE: usize = 4096;

/// The features of a data set as bin numbers: feature j of a row is at most `thresholds[j][b]` exactly when its bin is
/// at most b. Thresholds come from the quantiles of the first 2^k rows, the largest power of two that is there: they
/// are a function of the data, and change only when the data double.
#[derive(Debug, Clone, Default)]
pub struct Bins {
    thresholds: Vec<Vec<f64>>,
    /// How many rows the thresholds are made from; `usize::MAX` for fixed ones.
    source: usize,
    /// One byte per row and feature, row after row.
    numbers: Vec<u8>,
    rows: usize,
}

impl Bins {
    /// Brings the bins up to date with `sites`: at most `bins` per feature, or those of the `fixed` thresholds.
    pub(crate) fn update(&mut self, sites: &Sites, bins: usize, fixed: Option<&[Vec<f64>]>) {
        let source = match fixed {
            Some(_) => usize::MAX,
            None => (sites.len() + 1).next_power_of_two() / 2,
        };
        if self.source != source {
            self.thresholds = match fixed {
                Some(thresholds) => thresholds.to_vec(),
                None => quantiles(sites.dim(), bins, source, |row, j| sites.row(row)[j]),
            };
            (self.source, self.rows) = (source, 0);
            self.numbers.clear();
        }
        for row in self.rows..sites.len() {
            for (x, cuts) in sites.row(row).iter().zip(&self.thresholds) {
                self.numbers.push(cuts.partition_point(|h| h < x) as u8);
            }
        }
        self.rows = sites.len();
    }

    /// Forgets the rows from `rows` on.
    pub(crate) fn truncate(&mut self, rows: usize) {
        if rows < self.rows {
            self.numbers.truncate(rows * self.thresholds.len());
            self.rows = rows;
            if self.source != usize::MAX && self.source > rows {
                *self = Self::default();
            }
        }
    }

    /// The thresholds of each feature, ascending.
    pub(crate) fn thresholds(&self) -> &[Vec<f64>] {
        &self.thresholds
    }

    /// All bin numbers, row after row.
    pub(crate) fn numbers(&self) -> &[u8] {
        &self.numbers
    }
}

/// Thresholds between the quantiles of the first `rows` rows: at most `bins - 1` per feature, each halfway between two
/// neighbouring values.
pub(crate) fn quantiles(
    dim: usize,
    bins: usize,
    rows: usize,
    at: impl Fn(usize, usize) -> f64,
) -> Vec<Vec<f64>> {
    let stride = rows.div_ceil(SAMPLE).max(1);
    let mut values = Vec::with_capacity(rows.div_ceil(stride));
    (0..dim)
        .map(|j| {
            values.clear();
            values.extend((0..rows).step_by(stride).map(|row| at(row, j)));
            values.sort_unstable_by(f64::total_cmp);
            cuts(&values, bins)
        })
        .collect()
}

/// The thresholds of one sorted list of values.
fn cuts(sorted: &[f64], bins: usize) -> Vec<f64> {
    let mut gaps: Vec<(f64, f64)> = Vec::new();
    let distinct = sorted.windows(2).filter(|w| w[0] < w[1]).count();
    if distinct < bins {
        gaps.extend(sorted.windows(2).filter(|w| w[0] < w[1]).map(|w| (w[0], w[1])));
    } else {
        for b in 1..bins {
            let low = sorted[(b * sorted.len() / bins).saturating_sub(1)];
            let above = sorted.partition_point(|v| *v <= low);
            if let Some(high) = sorted.get(above) {
                gaps.push((low, *high));
            }
        }
        gaps.dedup();
    }
    gaps.into_iter().map(|(low, high)| halfway(low, high)).collect()
}

/// A number of [low, high): halfway where floats allow it.
fn halfway(low: f64, high: f64) -> f64 {
    let middle = 0.5 * low + 0.5 * high;
    if middle >= low && middle < high { middle } else { low }
}

#[cfg(test)]
mod tests {
    use corral_core::Context;
    use proptest::prelude::*;

    use super::super::super::data::Reads;
    use super::*;

    #[test]
    fn few_values_are_all_told_apart() {
        assert_eq!(cuts(&[0.0, 0.0, 1.0, 1.0], 32), [0.5]);
        assert_eq!(cuts(&[2.0, 2.0], 32), [0.0; 0]);
        assert_eq!(cuts(&[], 32), [0.0; 0]);
        let next = 1f64.next_up();
        assert_eq!(cuts(&[1.0, next], 4), [1.0]);
    }

    #[test]
    fn many_values_are_cut_into_equal_shares() {
        let values: Vec<f64> = (0..1000).map(f64::from).collect();
        let cuts = cuts(&values, 4);
        assert_eq!(cuts, [249.5, 499.5, 749.5]);
    }

    proptest! {
        #[test]
        fn a_bin_is_the_number_of_thresholds_below(
            rows in prop::collection::vec(prop::collection::vec(-8i8..8, 2), 1..70),
            bins in 2usize..9,
        ) {
            let mut sites = Sites::new(Reads { actions: 2, cells: None, features: Some(2) });
            let mut grown = Bins::default();
            for row in &rows {
                sites.enter(&Context::shared(row.iter().map(|v| f64::from(*v) / 3.0).collect(), 2)).unwrap();
                grown.update(&sites, bins, None);
            }
            let mut fresh = Bins::default();
            fresh.update(&sites, bins, None);
            prop_assert_eq!(grown.thresholds(), fresh.thresholds());
            prop_assert_eq!(grown.numbers(), fresh.numbers());
            for (i, numbers) in fresh.numbers().chunks(2).enumerate() {
                for (j, b) in numbers.iter().enumerate() {
                    prop_assert!(fresh.thresholds()[j].len() < bins);
                    for (c, h) in fresh.thresholds()[j].iter().enumerate() {
                        prop_assert_eq!(sites.row(i)[j] <= *h, usize::from(*b) <= c);
                    }
                }
            }
        }
    }
}
