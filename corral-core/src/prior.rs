//! Prior families over the mean losses of K arms, as plain data: Bayesian environments draw from them, and Thompson
//! sampling starts from them, so that "the prior is true" can be said exactly.
//!
//! Lists of one number stand for all arms: `beta = { a = [1.0], b = [1.0] }` is the uniform prior for any K.
//!
//! The few draws that are needed here (normal, gamma, beta) come from the sampling module, so that the core stays at
//! the size of `rand_core`; they are plain and exact, and made for drawing a world once, not for inner loops.
//! Posteriors are algorithms, and live in `corral-bases`.

use rand_core::Rng;
use serde::{Deserialize, Serialize};

use crate::params::Bounds;
use crate::sample::{beta, normal, sample_index};
use crate::vectors::{self, dot, lowest};
use crate::{ParamError, require};

/// A distribution over vectors of mean losses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Prior {
    /// a. Independent Beta(a, b) on the mean of Bernoulli losses.
    Beta {
        /// First parameter of each arm.
        a: Vec<f64>,
        /// Second parameter of each arm.
        b: Vec<f64>,
    },
    /// b. Independent N(mean, variance) on each mean. Draws are not clipped: a world with losses in [0, 1] does that.
    Gaussian {
        /// Prior mean of each arm.
        mean: Vec<f64>,
        /// Prior variance of each arm.
        variance: Vec<f64>,
        /// Variance of a loss around its mean; 1/4 is safe for losses in [0, 1].
        noise: f64,
    },
    /// c. N(mean, covariance) on the vector of means, not clipped.
    Correlated {
        /// Prior mean of each arm.
        mean: Vec<f64>,
        /// Covariance, row by row: K rows of K numbers.
        covariance: Vec<Vec<f64>>,
        /// Variance of a loss around its mean.
        noise: f64,
    },
    /// d. Finitely many hypotheses.
    Finite {
        /// Prior weight of each hypothesis, up to a factor; a list of one number: all the same.
        weights: Vec<f64>,
        /// The means of the arms under each hypothesis.
        means: Vec<Vec<f64>>,
        /// How losses scatter around their mean.
        noise: Noise,
    },
    /// e. Particles: a finite family drawn from something else. Inconsistent where the truth lies between particles.
    Particles {
        /// The means of the arms of each particle.
        means: Vec<Vec<f64>>,
        /// How losses scatter around their mean.
        noise: Noise,
    },
    /// f. One good arm: arm i has mean 1/2 - gap with probability q_i, all others 1/2.
    OneGoodArm {
        /// Probability that arm i is the good one, up to a factor; a list of one number: all the same.
        probabilities: Vec<f64>,
        /// How much better it is, in (0, 1/2].
        gap: f64,
    },
}

/// How losses scatter around their mean: the likelihood of finite families.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Noise {
    /// Losses are 0 or 1.
    #[default]
    Bernoulli,
    /// Normal with this variance.
    Gaussian(f64),
}

/// Number `i` of a list in which one number stands for all.
pub fn at(list: &[f64], i: usize) -> f64 {
    if list.len() == 1 { list[0] } else { list.get(i).copied().unwrap_or(f64::NAN) }
}

impl Default for Prior {
    /// Beta(1, 1) for every arm.
    fn default() -> Self {
        Self::Beta { a: vec![1.0], b: vec![1.0] }
    }
}

impl Prior {
    /// Whether this is a prior for `arms` arms.
    ///
    /// # Errors
    /// Names the first number that cannot be used.
    pub fn check(&self, arms: usize) -> Result<(), ParamError> {
        require(arms != 0, "the number of arms of the prior", arms, "at least 1")?;
        match self {
            Self::Beta { a, b } => {
                numbers("prior.beta.a", a, arms, Bounds::POSITIVE)?;
                numbers("prior.beta.b", b, arms, Bounds::POSITIVE)
            }
            Self::Gaussian { mean, variance, noise } => {
                numbers("prior.gaussian.mean", mean, arms, Bounds::FINITE)?;
                numbers("prior.gaussian.variance", variance, arms, Bounds::POSITIVE)?;
                Bounds::POSITIVE.check("prior.gaussian.noise", noise)
            }
            Self::Correlated { mean, covariance, noise } => {
                numbers("prior.correlated.mean", mean, arms, Bounds::FINITE)?;
                ParamError::positive("prior.correlated.noise", *noise)?;
                rows("prior.correlated.covariance", covariance, arms)?;
                require(
                    covariance.len() == arms,
                    "the number of rows of prior.correlated.covariance",
                    covariance.len(),
                    "the number of arms",
                )?;
                for (i, row) in covariance.iter().enumerate() {
                    for (j, v) in row.iter().enumerate().take(i) {
                        let slack = 1e-12 * (row[i].abs() + covariance[j][j].abs());
                        let same = (v - covariance[j][i]).abs() <= slack;
                        require(same, "prior.correlated.covariance", v, "symmetric")?;
                    }
                }
                cholesky(covariance).map(|_| ())
            }
            Self::Finite { weights, means, noise } => {
                rows("prior.finite.means", means, arms)?;
                masses("prior.finite.weights", weights, means.len())?;
                hypotheses("prior.finite.means", means, *noise)
            }
            Self::Particles { means, noise } => {
                rows("prior.particles.means", means, arms)?;
                hypotheses("prior.particles.means", means, *noise)
            }
            Self::OneGoodArm { probabilities, gap } => {
                masses("prior.one-good-arm.probabilities", probabilities, arms)?;
                require(*gap > 0.0 && *gap <= 0.5, "prior.one-good-arm.gap", gap, "in (0, 1/2]")
            }
        }
    }

    /// Draws a mean vector into `means`, one number per arm. Owes [`check`](Prior::check) with as many arms first: a
    /// prior that does not pass it may leave NaN.
    pub fn draw(&self, rng: &mut dyn Rng, means: &mut [f64]) {
        match self {
            Self::Beta { a, b } => {
                for (i, mean) in means.iter_mut().enumerate() {
                    *mean = beta(at(a, i), at(b, i), rng);
                }
            }
            Self::Gaussian { mean, variance, .. } => {
                for (i, out) in means.iter_mut().enumerate() {
                    *out = at(mean, i) + at(variance, i).sqrt() * normal(rng);
                }
            }
            Self::Correlated { mean, covariance, .. } => {
                let normals: Vec<f64> = means.iter().map(|_| normal(rng)).collect();
                let factor = cholesky(covariance).unwrap_or_default();
                for (i, out) in means.iter_mut().enumerate() {
                    *out = factor.get(row(i)).map_or(f64::NAN, |row| at(mean, i) + dot(row, &normals));
                }
            }
            Self::Finite { weights, means: rows, .. } => draw_row(rows, |h| at(weights, h), rng, means),
            Self::Particles { means: rows, .. } => draw_row(rows, |_| 1.0, rng, means),
            Self::OneGoodArm { probabilities, gap } => {
                let weights: Vec<f64> = (0..means.len()).map(|i| at(probabilities, i)).collect();
                let good = sample_index(&weights, weights.iter().sum(), rng);
                means.fill(0.5);
                if let Some(mean) = good.and_then(|i| means.get_mut(i)) {
                    *mean = 0.5 - gap;
                }
            }
        }
    }

    /// The family as finitely many hypotheses, where it is one: weights that sum to 1, and the means of `arms` arms
    /// under each.
    pub fn hypotheses(&self, arms: usize) -> Option<(Vec<f64>, Vec<Vec<f64>>)> {
        let (weights, means): (Vec<f64>, Vec<Vec<f64>>) = match self {
            Self::Finite { weights, means, .. } => {
                ((0..means.len()).map(|h| at(weights, h)).collect(), means.clone())
            }
            Self::Particles { means, .. } => (vec![1.0; means.len()], means.clone()),
            Self::OneGoodArm { probabilities, gap } => {
                let row = |good| (0..arms).map(|i| if i == good { 0.5 - gap } else { 0.5 }).collect();
                ((0..arms).map(|i| at(probabilities, i)).collect(), (0..arms).map(row).collect())
            }
            _ => return None,
        };
        let total: f64 = weights.iter().sum();
        Some((weights.iter().map(|w| w / total).collect(), means))
    }

    /// q, where q_i is the probability that arm i is the best (lowest mean, the lowest index among equals). Exact for
    /// the finite families, and for independent arms that are all alike; otherwise the frequency in `samples` draws.
    fn optimal_arm_distribution(&self, arms: usize, samples: u32, rng: &mut dyn Rng) -> Vec<f64> {
        let mut q = vec![0.0; arms];
        if let Some((weights, means)) = self.hypotheses(arms) {
            for (weight, row) in weights.iter().zip(&means) {
                if let Some(q) = q.get_mut(lowest(row.iter().copied()).0) {
                    *q += weight;
                }
            }
        } else if self.is_exchangeable() {
            q.fill(1.0 / arms as f64);
        } else if arms > 0 {
            let mut means = vec![0.0; arms];
            for _ in 0..samples.max(1) {
                self.draw(rng, &mut means);
                q[lowest(means.iter().copied()).0] += 1.0 / f64::from(samples.max(1));
            }
        }
        q
    }

    /// H(q), the entropy of the best arm: the constant of Thompson sampling's bound sqrt(T K H(q)). As exact as
    /// its estimate of q.
    pub fn entropy(&self, arms: usize, samples: u32, rng: &mut dyn Rng) -> f64 {
        entropy(&self.optimal_arm_distribution(arms, samples, rng))
    }

    /// Whether all arms are independent and alike.
    fn is_exchangeable(&self) -> bool {
        let alike = |list: &[f64]| list.windows(2).all(|w| w[0] == w[1]);
        match self {
            Self::Beta { a, b } => alike(a) && alike(b),
            Self::Gaussian { mean, variance, .. } => alike(mean) && alike(variance),
            _ => false,
        }
    }
}

/// H(q) = -sum q ln q, where 0 ln 0 = 0.
pub fn entropy(q: &[f64]) -> f64 {
    q.iter().filter(|q| **q > 0.0).map(|q| -q * q.ln()).sum()
}

/// The lower triangular L with L L^T = `matrix`, row after row (row i has i + 1 numbers).
///
/// # Errors
/// The matrix is not positive semi-definite: names the pivot. Zero pivots (within 1e-12 of the trace) are allowed.
pub fn cholesky(matrix: &[Vec<f64>]) -> Result<Vec<f64>, ParamError> {
    if let Some(row) = matrix.iter().find(|row| row.len() != matrix.len()) {
        return Err(ParamError::new("the length of a covariance's row", row.len(), "the number of rows"));
    }
    let slack = 1e-12 * matrix.iter().enumerate().map(|(i, row)| row[i].abs()).sum::<f64>();
    let refuse = |rest: f64| ParamError::new("the covariance's pivot", rest, "that of a positive matrix");
    let mut factor: Vec<f64> = matrix.iter().zip(1..).flat_map(|(row, n)| row[..n].to_vec()).collect();
    vectors::factorise(&mut factor, matrix.len(), dot, |rest| match rest {
        _ if rest > slack => Ok(rest.sqrt()),
        _ if rest >= -slack => Ok(0.0),
        _ => Err(refuse(rest)),
    })?;
    // Below a pivot of 0 nothing may be left.
    for j in (0..matrix.len()).filter(|j| factor[row(*j)][*j] == 0.0) {
        for (i, line) in matrix.iter().enumerate().skip(j + 1) {
            let rest = line[j] - dot(&factor[row(i)][..j], &factor[row(j)][..j]);
            if rest.abs() > slack.sqrt() * line[i].abs().sqrt() {
                return Err(refuse(rest));
            }
        }
    }
    Ok(factor)
}

/// Where row `i` of a lower triangle stands.
fn row(i: usize) -> std::ops::Range<usize> {
    vectors::triangle(i)..vectors::triangle(i + 1)
}

/// One of `rows`, the h-th with a probability in proportion to `weight(h)`.
fn draw_row(rows: &[Vec<f64>], weight: impl Fn(usize) -> f64, rng: &mut dyn Rng, out: &mut [f64]) {
    let weights: Vec<f64> = (0..rows.len()).map(weight).collect();
    match sample_index(&weights, weights.iter().sum(), rng).map(|h| &rows[h]) {
        Some(row) if row.len() == out.len() => out.copy_from_slice(row),
        _ => out.fill(f64::NAN),
    }
}

/// `list` has one number, or `len`, all within `bounds`.
fn numbers(name: &'static str, list: &[f64], len: usize, bounds: Bounds) -> Result<(), ParamError> {
    let found = format_args!("of length {}", list.len());
    require(list.len() == 1 || list.len() == len, name, found, "one number, or one for each")?;
    bounds.check(name, list)
}

/// `list` has one number, or `len`; none negative, not all zero.
fn masses(name: &'static str, list: &[f64], len: usize) -> Result<(), ParamError> {
    numbers(name, list, len, Bounds::NON_NEGATIVE)?;
    Bounds::POSITIVE.check(name, &list.iter().sum::<f64>())
}

/// At least one row, each of `arms` finite numbers.
fn rows(name: &'static str, rows: &[Vec<f64>], arms: usize) -> Result<(), ParamError> {
    require(!rows.is_empty(), name, "empty", "at least one row")?;
    for row in rows {
        let found = format_args!("a row of length {}", row.len());
        require(row.len() == arms, name, found, "one number per arm")?;
        Bounds::FINITE.check(name, row)?;
    }
    Ok(())
}

/// Means that the noise can have.
fn hypotheses(name: &'static str, means: &[Vec<f64>], noise: Noise) -> Result<(), ParamError> {
    match noise {
        Noise::Gaussian(variance) => Bounds::POSITIVE.check("the prior's noise", &variance),
        Noise::Bernoulli => Bounds::UNIT.check(name, means),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_pcg::Pcg64Dxsm;

    fn families() -> Vec<Prior> {
        vec![
            Prior::default(),
            Prior::Beta { a: vec![0.5, 2.0, 3.0], b: vec![1.0, 2.0, 0.3] },
            Prior::Gaussian { mean: vec![0.5, 0.4, 0.3], variance: vec![0.04], noise: 0.25 },
            Prior::Correlated {
                mean: vec![0.5],
                covariance: vec![vec![0.04, 0.03, 0.0], vec![0.03, 0.05, -0.01], vec![0.0, -0.01, 0.02]],
                noise: 0.25,
            },
            Prior::Finite {
                weights: vec![1.0, 3.0],
                means: vec![vec![0.1, 0.9, 0.5], vec![0.5, 0.2, 0.7]],
                noise: Noise::Bernoulli,
            },
            Prior::Particles {
                means: vec![vec![0.1, 0.9, 0.5], vec![0.5, 0.2, 0.7], vec![0.6, 0.6, 0.3]],
                noise: Noise::Gaussian(0.25),
            },
            Prior::OneGoodArm { probabilities: vec![0.7, 0.2, 0.1], gap: 0.3 },
        ]
    }

    /// The first two moments of a family, by its definition.
    fn moments(prior: &Prior) -> (Vec<f64>, Vec<f64>) {
        match prior {
            Prior::Beta { a, b } => (0..3)
                .map(|i| (at(a, i), at(b, i)))
                .map(|(a, b)| (a / (a + b), a * b / ((a + b).powi(2) * (a + b + 1.0))))
                .unzip(),
            Prior::Gaussian { mean, variance, .. } => (0..3).map(|i| (at(mean, i), at(variance, i))).unzip(),
            Prior::Correlated { mean, covariance, .. } => {
                (0..3).map(|i| (at(mean, i), covariance[i][i])).unzip()
            }
            finite => {
                let (w, m) = finite.hypotheses(3).unwrap();
                let mean = |i: usize| w.iter().zip(&m).map(|(w, m)| w * m[i]).sum::<f64>();
                let square = |i: usize| w.iter().zip(&m).map(|(w, m)| w * m[i] * m[i]).sum::<f64>();
                (0..3).map(|i| (mean(i), square(i) - mean(i) * mean(i))).unzip()
            }
        }
    }

    #[test]
    fn draws_have_the_moments_of_their_family() {
        // 7 families x 3 arms x (mean, second moment) at five standard errors: false alarms below 42 * 6e-7 = 3e-5.
        let mut rng = Pcg64Dxsm::seed_from_u64(3);
        let n = 40_000;
        for prior in families() {
            prior.check(3).unwrap();
            let (mean, variance) = moments(&prior);
            let mut draws = vec![[0.0; 3]; n];
            draws.iter_mut().for_each(|d| prior.draw(&mut rng, d));
            for i in 0..3 {
                let m = draws.iter().map(|d| d[i]).sum::<f64>() / n as f64;
                assert!(
                    (m - mean[i]).abs() <= 5.0 * (variance[i] / n as f64).sqrt() + 1e-12,
                    "{prior:?} {i}: {m}"
                );
                let squares: Vec<f64> = draws.iter().map(|d| (d[i] - mean[i]).powi(2)).collect();
                let v = squares.iter().sum::<f64>() / n as f64;
                let spread = squares.iter().map(|s| (s - v).powi(2)).sum::<f64>() / n as f64;
                assert!(
                    (v - variance[i]).abs() <= 5.0 * (spread / n as f64).sqrt() + 1e-12,
                    "{prior:?} {i}: {v}"
                );
            }
        }
    }

    #[test]
    fn correlated_draws_have_their_covariance() {
        let prior = &families()[3];
        let mut rng = Pcg64Dxsm::seed_from_u64(5);
        let (n, mut sum) = (40_000, [0.0; 3]);
        for _ in 0..n {
            let mut d = [0.0; 3];
            prior.draw(&mut rng, &mut d);
            let d = d.map(|v| v - 0.5);
            sum[0] += d[0] * d[1];
            sum[1] += d[0] * d[2];
            sum[2] += d[1] * d[2];
        }
        for (s, c) in sum.iter().zip([0.03, 0.0, -0.01]) {
            // The products have standard deviation below 0.06: six standard errors.
            assert!((s / n as f64 - c).abs() < 6.0 * 0.06 / (n as f64).sqrt(), "{sum:?}");
        }
    }

    #[test]
    fn the_best_arm_is_counted_exactly_where_that_is_possible() {
        let mut rng = Pcg64Dxsm::seed_from_u64(1);
        let q = families()[4].optimal_arm_distribution(3, 0, &mut rng);
        assert_eq!(q, [0.25, 0.75, 0.0]);
        assert!((entropy(&q) - (0.25 * 4f64.ln() + 0.75 * (4.0f64 / 3.0).ln())).abs() < 1e-15);
        assert_eq!(Prior::default().entropy(4, 0, &mut rng), 4f64.ln());
        let good = families()[6].optimal_arm_distribution(3, 0, &mut rng);
        assert!(good.iter().zip([0.7, 0.2, 0.1]).all(|(a, b)| (a - b).abs() < 1e-15));
        // N(0.5, v) against N(0.3, v), v = 0.04: P(first is lower) = Phi(-0.2/sqrt(0.08)) = 0.2398.
        let two = Prior::Gaussian { mean: vec![0.5, 0.3], variance: vec![0.04], noise: 0.25 };
        let q = two.optimal_arm_distribution(2, 40_000, &mut rng);
        assert!((q[0] - 0.2398).abs() < 5.0 * (0.24f64 * 0.76 / 40_000.0).sqrt(), "{q:?}");
    }

    #[test]
    fn what_is_no_prior_is_refused_with_its_value() {
        let bad = |p: Prior| p.check(3).unwrap_err().to_string();
        assert_eq!(
            bad(Prior::Beta { a: vec![0.0], b: vec![1.0] }),
            "prior.beta.a must be positive and finite, but is 0"
        );
        assert!(bad(Prior::Beta { a: vec![1.0, 1.0], b: vec![1.0] }).contains("of length 2"));
        assert!(
            bad(Prior::Gaussian { mean: vec![f64::NAN], variance: vec![1.0], noise: 1.0 }).contains("NaN")
        );
        let covariance = vec![vec![1.0, 2.0, 0.0], vec![2.0, 1.0, 0.0], vec![0.0, 0.0, 1.0]];
        assert!(
            bad(Prior::Correlated { mean: vec![0.5], covariance, noise: 1.0 }).contains("positive matrix")
        );
        assert!(bad(Prior::OneGoodArm { probabilities: vec![1.0], gap: 0.7 }).contains("0.7"));
        let means = vec![vec![0.5, 0.5, 1.5]];
        assert!(bad(Prior::Finite { weights: vec![1.0], means, noise: Noise::Bernoulli }).contains("1.5"));
        assert!(Prior::default().check(0).is_err());
    }
}
