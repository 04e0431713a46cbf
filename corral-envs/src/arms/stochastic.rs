//! Stochastic arms: fixed laws, one draw a round.

use corral_core::{LossDomain, ParamError};
use rand_distr::Distribution;
use serde::Deserialize;

use super::{Law, Stationary, check_means};
use crate::Draw;
use crate::bandit::coin;
use crate::registry::{Row, entry, field};

/// Parameters of [`Bernoulli`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BernoulliParams {
    /// The probability of loss 1, per arm.
    pub means: Vec<f64>,
    /// What the losses 0 and 1 are multiplied by; above 1 they lie outside [0, 1].
    #[serde(default = "one")]
    pub scale: f64,
}

impl BernoulliParams {
    /// The laws, or the mean that is no probability.
    ///
    /// # Errors
    /// No mean is given, one is outside [0, 1], or the scale is not positive.
    pub fn check(self) -> Result<Bernoulli, ParamError> {
        check_means("means", &self.means)?;
        let scale = ParamError::positive("scale", self.scale)?;
        Ok(Bernoulli { means: self.means, scale })
    }
}

/// Arms that cost 1 (times a scale) with a fixed probability, else 0.
#[derive(Debug, Clone)]
pub struct Bernoulli {
    means: Vec<f64>,
    scale: f64,
}

impl Law for Bernoulli {
    fn arms(&self) -> usize {
        self.means.len()
    }

    fn mean(&self, arm: usize) -> f64 {
        self.scale * self.means[arm]
    }

    #[inline]
    fn loss(&self, arm: usize, draw: Draw) -> f64 {
        self.scale * coin(self.means[arm], draw, arm as u64)
    }

    fn losses(&self) -> LossDomain {
        if self.scale <= 1.0 { LossDomain::Unit } else { LossDomain::Real }
    }
}

/// Parameters of [`Gaussian`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GaussianParams {
    /// The mean loss per arm, before clipping.
    pub means: Vec<f64>,
    /// The standard deviation, before clipping.
    #[serde(default = "tenth")]
    pub sd: f64,
    /// Whether losses are clipped to [0, 1].
    #[serde(default = "yes")]
    pub clip: bool,
}

fn tenth() -> f64 {
    0.1
}

fn yes() -> bool {
    true
}

impl GaussianParams {
    /// The laws.
    ///
    /// # Errors
    /// No mean is given, one is not finite, or the deviation is not positive and finite.
    pub fn check(self) -> Result<Gaussian, ParamError> {
        ParamError::positive("sd", self.sd)?;
        if self.means.is_empty() {
            return Err(ParamError::choice("means", "give at least one number"));
        }
        if let Some(i) = self.means.iter().position(|m| !m.is_finite()) {
            return Err(ParamError::new("means", format!("{} at index {i}", self.means[i]), "finite"));
        }
        let expected = |mean: &f64| if self.clip { clipped_mean(*mean, self.sd) } else { *mean };
        Ok(Gaussian {
            expected: self.means.iter().map(expected).collect(),
            means: self.means,
            sd: self.sd,
            clip: self.clip,
        })
    }
}

/// The mean of N(mean, sd^2) clipped to [0, 1]: with a = -mean/sd and b = (1 - mean)/sd,
/// mean (Phi(b) - Phi(a)) + sd (phi(a) - phi(b)) + 1 - Phi(b).
pub fn clipped_mean(mean: f64, sd: f64) -> f64 {
    let below = |z: f64| 0.5 * libm::erfc(-z / std::f64::consts::SQRT_2);
    let density = |z: f64| libm::exp(-0.5 * z * z) / libm::sqrt(std::f64::consts::TAU);
    let (a, b) = (-mean / sd, (1.0 - mean) / sd);
    (mean * (below(b) - below(a)) + sd * (density(a) - density(b)) + below(-b)).clamp(0.0, 1.0)
}

/// Arms with normal losses: clipped to [0, 1], which moves their means (`mean` is the one after clipping), or, for
/// published experiments that do so, not clipped. Losses of the latter may lie outside [0, 1].
#[derive(Debug, Clone)]
pub struct Gaussian {
    means: Vec<f64>,
    expected: Vec<f64>,
    sd: f64,
    clip: bool,
}

impl Law for Gaussian {
    fn arms(&self) -> usize {
        self.means.len()
    }

    fn mean(&self, arm: usize) -> f64 {
        self.expected[arm]
    }

    fn loss(&self, arm: usize, draw: Draw) -> f64 {
        let loss = self.means[arm] + self.sd * draw.normal(arm as u64);
        if self.clip { loss.clamp(0.0, 1.0) } else { loss }
    }

    fn losses(&self) -> LossDomain {
        if self.clip { LossDomain::Unit } else { LossDomain::Real }
    }
}

/// Parameters of [`Beta`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BetaParams {
    /// First parameter per arm.
    pub a: Vec<f64>,
    /// Second parameter per arm.
    pub b: Vec<f64>,
}

impl BetaParams {
    /// The laws.
    ///
    /// # Errors
    /// No arm is given, the lists have different lengths, or a parameter is not positive and finite.
    pub fn check(self) -> Result<Beta, ParamError> {
        if self.a.is_empty() {
            return Err(ParamError::choice("a", "give at least one number"));
        }
        if self.a.len() != self.b.len() {
            return Err(ParamError::new("b", format!("{} numbers", self.b.len()), "as many numbers as a"));
        }
        let mut laws = Vec::with_capacity(self.a.len());
        let mut means = Vec::with_capacity(self.a.len());
        for (a, b) in self.a.iter().zip(&self.b) {
            let (a, b) = (ParamError::positive("a", *a)?, ParamError::positive("b", *b)?);
            laws.push(
                rand_distr::Beta::new(a, b).map_err(|_| ParamError::new("a", a, "positive and finite"))?,
            );
            means.push(a / (a + b));
        }
        Ok(Beta { laws, means })
    }
}

/// Arms whose losses have a Beta law.
#[derive(Debug, Clone)]
pub struct Beta {
    laws: Vec<rand_distr::Beta<f64>>,
    means: Vec<f64>,
}

impl Law for Beta {
    fn arms(&self) -> usize {
        self.means.len()
    }

    fn mean(&self, arm: usize) -> f64 {
        self.means[arm]
    }

    fn loss(&self, arm: usize, draw: Draw) -> f64 {
        self.laws[arm].sample(&mut draw.stream(arm as u64)).clamp(0.0, 1.0)
    }
}

/// Parameters of [`HeavyTailed`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeavyTailedParams {
    /// The scale of the losses, per arm.
    pub scales: Vec<f64>,
    /// a of the tail, the same for all arms.
    #[serde(default = "tail")]
    pub exponent: f64,
}

fn tail() -> f64 {
    1.1
}

impl HeavyTailedParams {
    /// The laws.
    ///
    /// # Errors
    /// No scale is given, or a number is not positive and finite.
    pub fn check(self) -> Result<HeavyTailed, ParamError> {
        let exponent = ParamError::positive("exponent", self.exponent)?;
        if self.scales.is_empty() {
            return Err(ParamError::new("scales", "an empty list", "at least one number"));
        }
        for scale in &self.scales {
            ParamError::positive("scales", *scale)?;
        }
        // E min(1, X) is the integral of (1 + x/s)^-a over [0, 1].
        let mean = |s: &f64| match exponent {
            1.0 => s * libm::log1p(1.0 / s),
            a => s / (a - 1.0) * -libm::expm1((1.0 - a) * libm::log1p(1.0 / s)),
        };
        Ok(HeavyTailed { means: self.scales.iter().map(mean).collect(), scales: self.scales, exponent })
    }
}

/// Arms with losses min(1, X), where P(X > x) = (1 + x/s)^-a: most are small, and now and then one costs all there is.
#[derive(Debug, Clone)]
pub struct HeavyTailed {
    scales: Vec<f64>,
    means: Vec<f64>,
    exponent: f64,
}

impl Law for HeavyTailed {
    fn arms(&self) -> usize {
        self.means.len()
    }

    fn mean(&self, arm: usize) -> f64 {
        self.means[arm]
    }

    fn loss(&self, arm: usize, draw: Draw) -> f64 {
        // 1 - u is in (0, 1].
        let tail = 1.0 - draw.uniform(arm as u64);
        (self.scales[arm] * (libm::pow(tail, -1.0 / self.exponent) - 1.0)).min(1.0)
    }
}

/// Parameters of [`Deterministic`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeterministicParams {
    /// The loss per arm.
    pub losses: Vec<f64>,
}

impl DeterministicParams {
    /// The laws.
    ///
    /// # Errors
    /// No loss is given, or one is outside [0, 1].
    pub fn check(self) -> Result<Deterministic, ParamError> {
        check_means("losses", &self.losses)?;
        Ok(Deterministic { losses: self.losses })
    }
}

/// Arms that always cost the same.
#[derive(Debug, Clone)]
pub struct Deterministic {
    losses: Vec<f64>,
}

impl Law for Deterministic {
    fn arms(&self) -> usize {
        self.losses.len()
    }

    fn mean(&self, arm: usize) -> f64 {
        self.losses[arm]
    }

    fn loss(&self, arm: usize, _draw: Draw) -> f64 {
        self.losses[arm]
    }
}

/// Parameters of the gap instance: Bernoulli arms with mean 1/2, but for one with 1/2 - gap.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GapParams {
    /// The number of arms.
    pub arms: usize,
    /// How much better the best arm is.
    pub gap: Option<f64>,
    /// Instead of `gap`: c of the minimax gap c sqrt(range K / T).
    pub scale: Option<f64>,
    /// rho of the minimax gap.
    #[serde(default = "one")]
    pub range: f64,
    /// The best arm; the last one where it is not given, so that ties do not flatter it.
    pub best: Option<usize>,
}

fn one() -> f64 {
    1.0
}

impl GapParams {
    /// The laws, for a run of `rounds` rounds, and the gap.
    ///
    /// # Errors
    /// There are no arms, both or neither of `gap` and `scale` are given, the gap is not in [0, 1/2] (a minimax gap
    /// is cut there), or the best arm does not exist.
    pub fn check(self, rounds: u64) -> Result<(Bernoulli, f64), ParamError> {
        check_arms(self.arms, 1)?;
        let gap = match (self.gap, self.scale) {
            (Some(gap), None) if (0.0..=0.5).contains(&gap) => gap,
            (Some(gap), None) => return Err(ParamError::new("gap", gap, "in [0, 1/2]")),
            (None, Some(scale)) => {
                let (scale, range) =
                    (ParamError::positive("scale", scale)?, ParamError::positive("range", self.range)?);
                (scale * libm::sqrt(range * self.arms as f64 / rounds.max(1) as f64)).min(0.5)
            }
            (None, None) => return Err(ParamError::choice("gap", "give gap, or scale instead")),
            (Some(_), Some(_)) => {
                return Err(ParamError::choice("gap", "give gap or scale, not both"));
            }
        };
        let best = self.best.unwrap_or(self.arms - 1);
        if best >= self.arms {
            return Err(ParamError::new("best", best, "an arm"));
        }
        let mut means = vec![0.5; self.arms];
        means[best] = 0.5 - gap;
        Ok((Bernoulli { means, scale: 1.0 }, gap))
    }
}

/// Passes when there are at least `least` arms, and not more than an arm's index can count.
pub(super) fn check_arms(arms: usize, least: usize) -> Result<(), ParamError> {
    if arms < least {
        let must = if least > 1 { "at least 2" } else { "at least 1" };
        return Err(ParamError::new("arms", arms, must));
    }
    if arms > 1 << 24 {
        return Err(ParamError::new("arms", arms, "at most 2^24"));
    }
    Ok(())
}

pub(super) const BERNOULLI: Row = Row {
    entry: entry(
        "bernoulli",
        "arms",
        "arms that cost 1 (or another scale) with a fixed probability, else 0",
        "the paper's multi-armed example, stochastic environment; scale 30: experiment 8 of Pacchiano, Dann, Gentile 2024",
        "stochastic",
        "O(1)",
        &[
            field("means", "", "probability of LOSS 1 per arm, each in [0, 1]"),
            field(
                "scale",
                "1.0",
                "what the losses 0 and 1 are multiplied by; above 1 they lie outside [0, 1]",
            ),
        ],
    ),
    example: "means = [0.9, 0.8, 0.5, 0.2]",
    build: |request, _| {
        let params: BernoulliParams = request.read()?;
        request.game(params.check().map(Stationary::new))
    },
};

pub(super) const GAUSSIAN: Row = Row {
    entry: entry(
        "gaussian",
        "arms",
        "arms with normal losses, clipped to [0, 1] (their true mean is the clipped one) or not",
        "the paper's multi-armed example; unclipped: experiments 1 and 2 of Pacchiano, Dann, Gentile 2024",
        "stochastic",
        "O(1)",
        &[
            field("means", "", "mean LOSS per arm, before clipping"),
            field("sd", "0.1", "standard deviation, before clipping"),
            field(
                "clip",
                "true",
                "whether losses are clipped to [0, 1]; false: they may lie outside, for reproducing published figures with the learners that take such losses",
            ),
        ],
    ),
    example: "means = [0.5, 0.0, 0.8, 0.9, 0.4]\nsd = 1.0",
    build: |request, _| {
        let params: GaussianParams = request.read()?;
        request.game(params.check().map(Stationary::new))
    },
};

pub(super) const BETA: Row = Row {
    entry: entry(
        "beta",
        "arms",
        "arms whose losses have a Beta law",
        "the paper's multi-armed example, stochastic environment",
        "stochastic",
        "O(1)",
        &[
            field("a", "", "first parameter per arm; the mean is a / (a + b)"),
            field("b", "", "second parameter per arm"),
        ],
    ),
    example: "a = [2.0, 0.5, 1.0]\nb = [1.0, 0.5, 3.0]",
    build: |request, _| {
        let params: BetaParams = request.read()?;
        request.game(params.check().map(Stationary::new))
    },
};

pub(super) const HEAVY_TAILED: Row = Row {
    entry: entry(
        "heavy-tailed",
        "arms",
        "arms with losses min(1, X), P(X > x) = (1 + x/scale)^-exponent: small ones, and now and then a 1",
        "stress scenario: heavy tails, clipped",
        "stochastic",
        "O(1)",
        &[
            field("scales", "", "scale of the LOSS per arm: half of the losses are below about scale"),
            field(
                "exponent",
                "1.1",
                "exponent of the tail; up to 1 the mean would be infinite without the clipping",
            ),
        ],
    ),
    example: "scales = [0.2, 0.1, 0.05]",
    build: |request, _| {
        let params: HeavyTailedParams = request.read()?;
        request.game(params.check().map(Stationary::new))
    },
};

pub(super) const DETERMINISTIC: Row = Row {
    entry: entry(
        "deterministic",
        "arms",
        "arms that always cost the same",
        "the hardness theorem's environments are of this kind",
        "stochastic",
        "O(1)",
        &[field("losses", "", "loss per arm, each in [0, 1]")],
    ),
    example: "losses = [0.3, 0.1, 0.2]",
    build: |request, _| {
        let params: DeterministicParams = request.read()?;
        request.game(params.check().map(Stationary::new))
    },
};

pub(super) const GAP: Row = Row {
    entry: entry(
        "gap",
        "arms",
        "Bernoulli arms with mean 1/2, but for one with 1/2 - gap",
        "the reference instance of the figures; the minimax gap is c sqrt(range K / T)",
        "stochastic",
        "O(1)",
        &[
            field("arms", "", "number of arms"),
            field("gap", "unset", "how much better the best arm is"),
            field("scale", "unset", "instead of gap: c of the minimax gap c sqrt(range K / T)"),
            field("range", "1.0", "rho of the minimax gap"),
            field("best", "unset", "the best arm; the last one where it is not given"),
        ],
    ),
    example: "arms = 5\ngap = 0.3",
    build: |request, _| {
        let params: GapParams = request.read()?;
        let built = params.check(request.rounds);
        request.game(built.map(|(law, gap)| Stationary::new(law).with_facts(vec![("gap", gap)])))
    },
};
