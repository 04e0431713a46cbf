//! Curves over seeds: means, bands, and the growth exponent with its interval.

use crate::run::{CellRecord, checkpoints};
use crate::summary::{Figure, bootstrap_95};

/// Regret over time, averaged over seeds.
pub struct Curve {
    /// Round, mean, half width of the 95% interval.
    pub points: Vec<(f64, f64, f64)>,
    /// Exponent of the growth over the last seven eighths of the run, with its 95% interval.
    pub slope: Option<(f64, f64, f64)>,
}

const RESAMPLES: usize = 400;

/// The curve of `cells`, all of one learner, environment and horizon.
pub fn regret(cells: &[&CellRecord]) -> Option<Curve> {
    let first = cells.first()?;
    let rounds = checkpoints(first.rounds);
    let whole: Vec<&[f64]> =
        cells.iter().filter(|c| c.curve.len() == rounds.len()).map(|c| c.curve.as_slice()).collect();
    let points = rounds
        .iter()
        .enumerate()
        .map(|(k, t)| {
            let at = Figure::of(&whole.iter().map(|c| c[k]).collect::<Vec<_>>())?;
            let half = if whole.len() > 1 { at.half_width(whole.len() as u64) } else { 0.0 };
            Some((*t as f64, at.mean, half))
        })
        .collect::<Option<_>>()?;
    Some(Curve { points, slope: slope_interval(&rounds, &whole) })
}

/// The slope of log mean regret against log t over t >= T/8, with a percentile bootstrap over seeds.
fn slope_interval(rounds: &[u64], curves: &[&[f64]]) -> Option<(f64, f64, f64)> {
    let last = *rounds.last()?;
    let late: Vec<usize> = (0..rounds.len()).filter(|k| rounds[*k] >= last / 8 && rounds[*k] > 1).collect();
    let fit = |chosen: &[usize]| -> Option<f64> {
        let mut points = Vec::with_capacity(late.len());
        for &k in &late {
            let mean = chosen.iter().map(|i| curves[*i][k]).sum::<f64>() / curves.len() as f64;
            if mean <= 0.0 {
                return None;
            }
            points.push(((rounds[k] as f64).ln(), mean.ln()));
        }
        slope(&points)
    };
    let centre = fit(&(0..curves.len()).collect::<Vec<_>>())?;
    if curves.len() < 2 {
        return Some((centre, f64::NAN, f64::NAN));
    }
    let (low, high) = bootstrap_95("bootstrap", RESAMPLES, curves.len(), fit);
    Some((centre, low, high))
}

/// Least squares.
pub fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let n = points.len() as f64;
    let (mx, my) = points.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x / n, b + y / n));
    let (sxy, sxx) =
        points.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + (x - mx) * (y - my), b + (x - mx) * (x - mx)));
    (sxx > 0.0).then(|| sxy / sxx)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_law_has_its_exponent() {
        let points: Vec<(f64, f64)> =
            (1..50).map(|t| (f64::from(t).ln(), 0.7 * f64::from(t).ln() + 1.0)).collect();
        assert!((slope(&points).unwrap() - 0.7).abs() < 1e-12);
        assert_eq!(slope(&[(1.0, 2.0)]), None);
    }
}
