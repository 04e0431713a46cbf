//! Posteriors of the prior families, for Thompson sampling.

use std::borrow::Cow;

use corral_core::prior::{Noise, Prior, at, cholesky};
use rand_distr::{Distribution, StandardNormal};

use super::betas::Betas;
use crate::law::Law;
use crate::prelude::*;
use crate::regression::{dot, packed};
use crate::winner::Winner;

/// The posterior of a [`Prior`] over mean vectors.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Posterior {
    /// a. Beta(a, b) per arm.
    Beta(Betas),
    /// b. Normal per arm, with its mean and standard deviation; `precision` = 1/variance.
    Gaussian { precision: Vec<f64>, mean: Vec<f64>, deviation: Vec<f64>, noise: f64 },
    /// c. Jointly normal.
    Correlated(Joint),
    /// d, e, f. Hypotheses with weights.
    Finite(Hypotheses),
}

impl Posterior {
    /// The prior itself.
    pub(crate) fn new(prior: &Prior, arms: usize) -> Result<Self, ParamError> {
        prior.check(arms)?;
        let spread = |list: &[f64]| (0..arms).map(|i| at(list, i)).collect::<Vec<f64>>();
        Ok(match prior {
            Prior::Beta { a, b } => Self::Beta(Betas::new(spread(a), spread(b))),
            Prior::Gaussian { mean, variance, noise } => Self::Gaussian {
                precision: spread(variance).iter().map(|v| 1.0 / v).collect(),
                mean: spread(mean),
                deviation: spread(variance).iter().map(|v| v.sqrt()).collect(),
                noise: *noise,
            },
            Prior::Correlated { mean, covariance, noise } => {
                Self::Correlated(Joint::new(spread(mean), covariance, *noise)?)
            }
            finite => match finite.hypotheses(arms) {
                Some((weights, means)) => Self::Finite(Hypotheses::new(finite, weights, means)),
                None => {
                    return Err(ParamError::new(
                        "prior",
                        format_args!("{finite:?}"),
                        "a family that is known",
                    ));
                }
            },
        })
    }

    /// The posterior of the arms with these numbers alone.
    pub(crate) fn part(&self, numbers: &[u32]) -> Self {
        let rows = |all: &[f64], arms: usize| -> Vec<f64> {
            all.chunks_exact(arms).flat_map(|row| select(row, numbers)).collect()
        };
        match self {
            Self::Beta(betas) => Self::Beta(Betas::new(select(&betas.a, numbers), select(&betas.b, numbers))),
            Self::Gaussian { precision, mean, deviation, noise } => Self::Gaussian {
                precision: select(precision, numbers),
                mean: select(mean, numbers),
                deviation: select(deviation, numbers),
                noise: *noise,
            },
            Self::Correlated(joint) => Self::Correlated(joint.part(numbers)),
            Self::Finite(all) => {
                let mut part = Hypotheses { means: rows(&all.means, all.arms()), ..all.clone() };
                part.prepare();
                Self::Finite(part)
            }
        }
    }

    /// Draws a mean vector, and returns the best of the first `offered` arms (the first of equals).
    pub(crate) fn sample_best(&mut self, offered: usize, rng: &mut dyn Rng) -> usize {
        match self {
            Self::Beta(betas) => betas.sample_best(offered, rng),
            Self::Gaussian { mean, deviation, .. } => {
                lowest(mean[..offered].iter().zip(&*deviation).map(|(m, d)| m + d * standard_normal(rng))).0
            }
            Self::Correlated(joint) => joint.sample_best(offered, rng),
            Self::Finite(hypotheses) => hypotheses.sample_best(offered, rng),
        }
    }

    /// Learns the loss of an arm.
    pub(crate) fn learn(&mut self, arm: usize, loss: f64) {
        match self {
            Self::Beta(betas) => betas.learn(arm, loss),
            // lambda += 1/sigma^2; h += c/sigma^2; mean h/lambda   docs/bases.md#thompson-sampling
            Self::Gaussian { precision, mean, deviation, noise } => {
                let shift = precision[arm] * mean[arm] + loss / *noise;
                precision[arm] += 1.0 / *noise;
                mean[arm] = shift / precision[arm];
                deviation[arm] = (1.0 / precision[arm]).sqrt();
            }
            Self::Correlated(joint) => joint.learn(arm, loss),
            Self::Finite(hypotheses) => hypotheses.learn(arm, loss),
        }
    }

    /// The law of the mean of an arm, where arms are independent.
    #[inline]
    pub(crate) fn law(&self, arm: usize) -> Option<Law> {
        match self {
            Self::Beta(Betas { a, b, .. }) => Some(Law::Beta { a: a[arm], b: b[arm] }),
            Self::Gaussian { mean, deviation, .. } => {
                Some(Law::Normal { mean: mean[arm], deviation: deviation[arm] })
            }
            Self::Correlated(_) | Self::Finite(_) => None,
        }
    }

    /// Whether a draw may change it.
    pub(crate) fn is_redrawn(&self) -> bool {
        matches!(self, Self::Finite(h) if h.smooth)
    }

    /// Whether a loss is counted as 0 or 1.
    pub(crate) fn is_bernoulli(&self) -> bool {
        match self {
            Self::Beta(_) => true,
            Self::Finite(h) => h.noise == Noise::Bernoulli,
            Self::Gaussian { .. } | Self::Correlated(_) => false,
        }
    }

    /// The probability with which each of the first `offered` arms is the best. For particles it is that of those at
    /// hand: a proposal that draws them afresh first may differ by what that smears.
    pub(crate) fn best<'a>(&self, offered: usize, winner: &'a mut Winner) -> Cow<'a, [f64]> {
        Cow::Borrowed(match self {
            Self::Beta(_) | Self::Gaussian { .. } => {
                winner.independent((0..offered).filter_map(|arm| self.law(arm)))
            }
            Self::Correlated(joint) => {
                let arms = joint.mean.len();
                winner.joint(&joint.mean[..offered], &joint.factor[..offered * arms], arms)
            }
            Self::Finite(h) => {
                let mut mass = vec![0.0; offered];
                (0..h.weights.len()).for_each(|i| mass[h.best(i, offered)] += h.weights[i] / h.total);
                return Cow::Owned(mass);
            }
        })
    }

    /// Checks a posterior that was read back, and fills what was not written.
    pub(crate) fn restore(&mut self, prior: &Prior, arms: usize) -> Result<(), SnapshotError> {
        let fresh = Self::new(prior, arms).map_err(SnapshotError::state)?;
        let positive = |what: &str, list: &[f64]| {
            check_numbers(what, list, arms)?;
            match list.iter().find(|v| **v <= 0.0) {
                Some(v) => Err(SnapshotError::state(format_args!("{v} among the {what}"))),
                None => Ok(()),
            }
        };
        match (self, fresh) {
            (Self::Beta(betas), Self::Beta(_)) => {
                positive("beta parameters", &betas.a)?;
                positive("beta parameters", &betas.b)?;
                betas.prepare();
                Ok(())
            }
            (Self::Gaussian { precision, mean, deviation, noise }, Self::Gaussian { noise: ours, .. }) => {
                positive("precisions", precision)?;
                positive("deviations", deviation)?;
                check_numbers("means", mean, arms)?;
                same_noise(*noise == ours)
            }
            (Self::Correlated(joint), Self::Correlated(ours)) => {
                same_noise(joint.noise == ours.noise)?;
                joint.restore(arms)
            }
            (Self::Finite(hypotheses), Self::Finite(ours)) => {
                same_noise(hypotheses.noise == ours.noise && hypotheses.smooth == ours.smooth)?;
                hypotheses.restore(ours.weights.len(), arms)
            }
            _ => Err(SnapshotError::state("a posterior of another family")),
        }
    }

    #[cfg(test)]
    pub(crate) fn beta_parameters(&self) -> Option<(&[f64], &[f64])> {
        if let Self::Beta(betas) = self { Some((&betas.a, &betas.b)) } else { None }
    }
}

fn same_noise(same: bool) -> Result<(), SnapshotError> {
    ensure(same, "a posterior with other noise")
}

/// c. A jointly normal posterior, with the factor of its covariance.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Joint {
    mean: Vec<f64>,
    /// K x K, row by row.
    covariance: Vec<f64>,
    noise: f64,
    /// L with L L^T = covariance, lower triangle of K x K.
    #[serde(skip)]
    factor: Vec<f64>,
    /// The same, packed.
    #[serde(skip)]
    lower: Vec<f64>,
    #[serde(skip)]
    scratch: Vec<f64>,
}

impl Joint {
    fn new(mean: Vec<f64>, covariance: &[Vec<f64>], noise: f64) -> Result<Self, ParamError> {
        cholesky(covariance)?;
        let k = mean.len();
        let mut joint = Self {
            mean,
            covariance: covariance.concat(),
            noise,
            factor: vec![0.0; k * k],
            lower: vec![0.0; packed::size(k)],
            scratch: vec![0.0; k],
        };
        joint.refactor();
        Ok(joint)
    }

    /// k = Sigma e_a/(Sigma_aa + sigma^2); m += k (c - m_a); Sigma -= k (Sigma e_a)^T   docs/bases.md#thompson-sampling
    fn learn(&mut self, arm: usize, loss: f64) {
        let k = self.mean.len();
        let column = &mut self.scratch;
        column.copy_from_slice(&self.covariance[arm * k..(arm + 1) * k]);
        let gain = 1.0 / (column[arm] + self.noise);
        let off = loss - self.mean[arm];
        for i in 0..k {
            self.mean[i] += gain * column[i] * off;
            // Written symmetrically, so that it stays symmetric to the last bit.
            for j in 0..k {
                self.covariance[i * k + j] -= gain * (column[i] * column[j]);
            }
        }
        self.refactor();
    }

    /// Cholesky in place, with a jitter of 1e-12 trace/K on the diagonal.
    fn refactor(&mut self) {
        let k = self.mean.len();
        let trace: f64 = (0..k).map(|i| self.covariance[i * k + i]).sum();
        let jitter = 1e-12 * trace.max(0.0) / k as f64;
        let at = |i: usize| (i * k..i * k + i + 1, packed::size(i)..packed::size(i + 1));
        for (row, triangle) in (0..k).map(at) {
            self.lower[triangle].copy_from_slice(&self.covariance[row]);
        }
        packed::factorise(&mut self.lower, k, |pivot| Some((pivot + jitter).max(0.0).sqrt()));
        for (row, triangle) in (0..k).map(at) {
            self.factor[row].copy_from_slice(&self.lower[triangle]);
        }
    }

    fn part(&self, numbers: &[u32]) -> Self {
        let (arms, k) = (self.mean.len(), numbers.len());
        let covariance = numbers
            .iter()
            .flat_map(|i| select(&self.covariance[*i as usize * arms..][..arms], numbers))
            .collect();
        let mut part = Self {
            mean: select(&self.mean, numbers),
            covariance,
            lower: vec![0.0; packed::size(k)],
            factor: vec![0.0; k * k],
            scratch: vec![0.0; k],
            ..self.clone()
        };
        part.refactor();
        part
    }

    fn sample_best(&mut self, offered: usize, rng: &mut dyn Rng) -> usize {
        let k = self.mean.len();
        self.scratch.iter_mut().for_each(|g| *g = standard_normal(rng));
        let drawn = |i: usize| self.mean[i] + dot(&self.factor[i * k..i * k + i + 1], &self.scratch[..=i]);
        lowest((0..offered).map(drawn)).0
    }

    fn restore(&mut self, arms: usize) -> Result<(), SnapshotError> {
        check_numbers("means", &self.mean, arms)?;
        check_numbers("covariances", &self.covariance, arms * arms)?;
        for i in 0..arms {
            let mirrored = |j| self.covariance[i * arms + j] == self.covariance[j * arms + i];
            ensure((0..=i).all(mirrored), "a covariance that is not symmetric")?;
            ensure(self.covariance[i * arms + i] >= 0.0, "a negative variance")?;
        }
        self.lower = vec![0.0; packed::size(arms)];
        (self.factor, self.scratch) = (vec![0.0; arms * arms], vec![0.0; arms]);
        self.refactor();
        Ok(())
    }
}

/// d, e, f. Finitely many hypotheses.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Hypotheses {
    /// ln of the weight of each hypothesis, the largest 0.
    log_weights: Vec<f64>,
    /// The means of the arms under each hypothesis, row by row.
    means: Vec<f64>,
    noise: Noise,
    /// Whether the hypotheses are particles, drawn afresh when few are left.
    smooth: bool,
    #[serde(skip)]
    weights: Vec<f64>,
    #[serde(skip)]
    total: f64,
    #[serde(skip)]
    best: Vec<u32>,
    #[serde(skip)]
    scratch: Vec<f64>,
}

/// Probabilities of a Bernoulli likelihood are kept this far from 0 and 1.
const SURE: f64 = 1e-15;
/// How far particles are smeared when they are drawn afresh, in standard deviations of all particles.
const SMEAR: f64 = 0.1;

impl Hypotheses {
    fn new(prior: &Prior, weights: Vec<f64>, means: Vec<Vec<f64>>) -> Self {
        let noise = match prior {
            Prior::Finite { noise, .. } | Prior::Particles { noise, .. } => *noise,
            _ => Noise::Bernoulli,
        };
        let mut fresh = Self {
            log_weights: weights.iter().map(|w| w.ln()).collect(),
            means: means.concat(),
            noise,
            smooth: matches!(prior, Prior::Particles { .. }),
            weights,
            total: 0.0,
            best: Vec::new(),
            scratch: Vec::new(),
        };
        fresh.prepare();
        fresh
    }

    fn arms(&self) -> usize {
        self.means.len() / self.log_weights.len()
    }

    /// Fills what follows from weights and means.
    fn prepare(&mut self) {
        let arms = self.arms();
        self.weights.resize(self.log_weights.len(), 0.0);
        self.best.clear();
        self.best.extend(self.means.chunks_exact(arms).map(|row| lowest(row.iter().copied()).0 as u32));
        self.scratch.resize(self.means.len(), 0.0);
        self.normalise();
    }

    /// Shifts the largest log-weight to 0, and computes the weights.
    fn normalise(&mut self) {
        let largest = self.log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for (log, weight) in self.log_weights.iter_mut().zip(&mut self.weights) {
            *log -= largest;
            *weight = log.exp();
        }
        self.total = self.weights.iter().sum();
    }

    /// ln w_h += ln P_h(c | a)   docs/bases.md#thompson-sampling
    fn learn(&mut self, arm: usize, loss: f64) {
        let arms = self.arms();
        for (log, row) in self.log_weights.iter_mut().zip(self.means.chunks_exact(arms)) {
            let mean = row[arm];
            *log += match self.noise {
                Noise::Bernoulli => {
                    let mean = mean.clamp(SURE, 1.0 - SURE);
                    loss * mean.ln() + (1.0 - loss) * (1.0 - mean).ln()
                }
                Noise::Gaussian(variance) => -(loss - mean).powi(2) / (2.0 * variance),
            };
        }
        self.normalise();
    }

    /// The best of the first `offered` arms under hypothesis `h`.
    fn best(&self, h: usize, offered: usize) -> usize {
        let arms = self.arms();
        if offered == arms {
            return self.best[h] as usize;
        }
        lowest(self.means[h * arms..][..offered].iter().copied()).0
    }

    fn sample_best(&mut self, offered: usize, rng: &mut dyn Rng) -> usize {
        if self.smooth {
            let squares: f64 = self.weights.iter().map(|w| w * w).sum();
            // effective size (sum w)^2/sum w^2 < H/2   docs/bases.md#thompson-sampling
            if self.total * self.total < 0.5 * self.weights.len() as f64 * squares {
                self.resample(rng);
            }
        }
        let h = sample_index(&self.weights, self.total, rng).unwrap_or(0);
        self.best(h, offered)
    }

    /// Draws all particles afresh by their weights, shrunk to the mean and smeared so that the first two moments stay
    /// (Liu and West 2001).
    fn resample(&mut self, rng: &mut dyn Rng) {
        let (arms, count) = (self.arms(), self.log_weights.len());
        let shrink = (1.0 - SMEAR * SMEAR).sqrt();
        for h in 0..count {
            let from = sample_index(&self.weights, self.total, rng).unwrap_or(h);
            self.scratch[h * arms..(h + 1) * arms]
                .copy_from_slice(&self.means[from * arms..(from + 1) * arms]);
        }
        for arm in 0..arms {
            let column = || self.means.iter().skip(arm).step_by(arms).zip(&self.weights);
            let mean = column().map(|(m, w)| m * w).sum::<f64>() / self.total;
            let variance = column().map(|(m, w)| w * (m - mean).powi(2)).sum::<f64>() / self.total;
            for h in 0..count {
                let moved = &mut self.scratch[h * arms + arm];
                *moved =
                    shrink * *moved + (1.0 - shrink) * mean + SMEAR * variance.sqrt() * standard_normal(rng);
                if self.noise == Noise::Bernoulli {
                    *moved = moved.clamp(0.0, 1.0);
                }
            }
        }
        std::mem::swap(&mut self.means, &mut self.scratch);
        self.log_weights.fill(0.0);
        self.prepare();
    }

    fn restore(&mut self, count: usize, arms: usize) -> Result<(), SnapshotError> {
        let sound = self.log_weights.len() == count && self.log_weights.iter().all(|w| *w <= 0.0);
        ensure(sound, "weights that no hypotheses can have")?;
        let likeliest = self.log_weights.iter().any(|w| *w >= 0.0);
        ensure(likeliest, "hypotheses of which none is the likeliest")?;
        check_numbers("hypotheses", &self.means, count * arms)?;
        self.prepare();
        Ok(())
    }
}

#[inline]
pub(super) fn standard_normal(rng: &mut dyn Rng) -> f64 {
    StandardNormal.sample(rng)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_pcg::Pcg64Dxsm;

    #[test]
    fn correlated_and_independent_agree_where_the_covariance_is_diagonal() {
        let diagonal = vec![vec![0.04, 0.0], vec![0.0, 0.09]];
        let joint = Prior::Correlated { mean: vec![0.5, 0.6], covariance: diagonal, noise: 0.25 };
        let apart = Prior::Gaussian { mean: vec![0.5, 0.6], variance: vec![0.04, 0.09], noise: 0.25 };
        let (mut joint, mut apart) = (Posterior::new(&joint, 2).unwrap(), Posterior::new(&apart, 2).unwrap());
        for (arm, loss) in [(0, 1.0), (1, 0.2), (0, 0.0), (0, 0.7)] {
            joint.learn(arm, loss);
            apart.learn(arm, loss);
        }
        let (Posterior::Correlated(j), Posterior::Gaussian { mean, deviation, .. }) = (joint, apart) else {
            panic!("other families");
        };
        for i in 0..2 {
            assert!((j.mean[i] - mean[i]).abs() < 1e-14);
            assert!((j.covariance[i * 2 + i].sqrt() - deviation[i]).abs() < 1e-14);
        }
    }

    #[test]
    fn hypotheses_follow_bayes() {
        let means = vec![vec![0.1, 0.9], vec![0.5, 0.2]];
        let prior = Prior::Finite { weights: vec![1.0, 3.0], means, noise: Noise::Bernoulli };
        let mut posterior = Posterior::new(&prior, 2).unwrap();
        posterior.learn(1, 1.0);
        posterior.learn(0, 0.0);
        // 1 * 0.9 * 0.9 : 3 * 0.2 * 0.5
        let p = 0.81 / (0.81 + 0.3);
        assert!((posterior.best(2, &mut Winner::default())[0] - p).abs() < 1e-15);
    }

    #[test]
    fn particles_are_drawn_afresh_when_few_are_left() {
        let mut rng = Pcg64Dxsm::seed_from_u64(1);
        let means = (0..50).map(|i| vec![0.01 * f64::from(i), 0.5]).collect();
        let prior = Prior::Particles { means, noise: Noise::Bernoulli };
        let mut posterior = Posterior::new(&prior, 2).unwrap();
        for round in 0..2000 {
            posterior.sample_best(2, &mut rng);
            posterior.learn(0, f64::from(round % 4 == 0));
        }
        posterior.sample_best(2, &mut rng);
        let Posterior::Finite(h) = posterior else { panic!("another family") };
        let mean = h.means.iter().step_by(2).zip(&h.weights).map(|(m, w)| m * w).sum::<f64>() / h.total;
        assert!((mean - 0.25).abs() < 0.05, "{mean}");
        let squares: f64 = h.weights.iter().map(|w| w * w).sum();
        assert!(h.total * h.total >= 0.5 * 50.0 * squares);
    }
}
