//! Stochastic arms: fixed laws, one draw a round.

use rand_distr::Distribution;

use super::{ARMS, Stationary, given};
use crate::prelude::*;

params! {
    /// Parameters of Bernoulli arms.
    pub struct BernoulliParams {
        /// The probability of LOSS 1, per arm.
        means: Vec<f64>, Bounds::UNIT;
        /// What the losses 0 and 1 are multiplied by; above 1 they lie outside [0, 1].
        scale: f64 = 1.0, Bounds::POSITIVE;
        /// What is added to them then; they may lie outside [0, 1].
        offset: f64 = 0.0, Bounds::FINITE;
    }
}

impl Builds for BernoulliParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        given("means", &self.means)?;
        ask.game(bernoulli(self.means, self.scale, self.offset))
    }
}

/// Arms that cost 1 (times a scale, plus an offset) with a fixed probability, else 0.
pub(super) fn bernoulli(
    chances: Vec<f64>,
    scale: f64,
    offset: f64,
) -> Stationary<impl Fn(usize, Draw) -> f64 + Send> {
    let means = chances.iter().map(|p| offset + scale * p).collect();
    let law = move |arm: usize, draw: Draw| offset + scale * coin(chances[arm], draw, arm as u64);
    Stationary::new(means, law).within(offset >= 0.0 && offset + scale <= 1.0)
}

params! {
    /// Parameters of normal arms.
    pub struct GaussianParams {
        /// Mean LOSS per arm, before clipping.
        means: Vec<f64>, Bounds::FINITE;
        /// The standard deviation, before clipping.
        sd: f64 = 0.1, Bounds::POSITIVE;
        /// Whether losses are clipped to [0, 1]; else they may lie outside, for reproducing published figures with the
        /// learners that take such losses.
        clip: bool = true;
    }
}

impl Builds for GaussianParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        given("means", &self.means)?;
        ask.game(gaussian(self.means, self.sd, self.clip))
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

/// Arms with normal losses: clipped to [0, 1], which moves their means, or, for published experiments that do so, not
/// clipped. Losses of the latter may lie outside [0, 1].
pub(super) fn gaussian(
    centres: Vec<f64>,
    sd: f64,
    clip: bool,
) -> Stationary<impl Fn(usize, Draw) -> f64 + Send> {
    let mean = |centre: &f64| if clip { clipped_mean(*centre, sd) } else { *centre };
    let means = centres.iter().map(mean).collect();
    let law = move |arm: usize, draw: Draw| {
        let loss = centres[arm] + sd * draw.normal(arm as u64);
        if clip { loss.clamp(0.0, 1.0) } else { loss }
    };
    Stationary::new(means, law).within(clip)
}

params! {
    /// Parameters of arms whose losses have a Beta law.
    pub struct BetaParams {
        /// First parameter per arm; the mean LOSS is a / (a + b).
        a: Vec<f64>, Bounds::POSITIVE;
        /// Second parameter per arm.
        b: Vec<f64>, Bounds::POSITIVE;
    }
}

impl Builds for BetaParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        given("a", &self.a)?;
        let found = format_args!("{} numbers", self.b.len());
        require(self.a.len() == self.b.len(), "b", found, "as many numbers as a")?;
        let mut laws = Vec::with_capacity(self.a.len());
        for (a, b) in self.a.iter().zip(&self.b) {
            laws.push(
                rand_distr::Beta::new(*a, *b).map_err(|_| ParamError::new("a", a, "positive and finite"))?,
            );
        }
        let means = self.a.iter().zip(&self.b).map(|(a, b)| a / (a + b)).collect();
        let law =
            move |arm: usize, draw: Draw| laws[arm].sample(&mut draw.stream(arm as u64)).clamp(0.0, 1.0);
        ask.game(Stationary::new(means, law))
    }
}

params! {
    /// Parameters of arms with losses min(1, X), where P(X > x) = (1 + x/s)^-a: most are small, and now and then one costs all
    /// there is.
    pub struct HeavyTailedParams {
        /// The scale of the LOSS per arm: half of the losses are below about the scale.
        scales: Vec<f64>, Bounds::POSITIVE;
        /// The exponent of the tail; up to 1 the mean would be infinite without the clipping.
        exponent: f64 = 1.1, Bounds::POSITIVE;
    }
}

impl Builds for HeavyTailedParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        given("scales", &self.scales)?;
        // E min(1, X) is the integral of (1 + x/s)^-a over [0, 1].
        let mean = |s: &f64| match self.exponent {
            1.0 => s * libm::log1p(1.0 / s),
            a => s / (a - 1.0) * -libm::expm1((1.0 - a) * libm::log1p(1.0 / s)),
        };
        let means = self.scales.iter().map(mean).collect();
        ask.game(Stationary::new(means, move |arm, draw| {
            // 1 - u is in (0, 1].
            let tail = 1.0 - draw.uniform(arm as u64);
            (self.scales[arm] * (libm::pow(tail, -1.0 / self.exponent) - 1.0)).min(1.0)
        }))
    }
}

params! {
    /// Parameters of arms that always cost the same.
    pub struct DeterministicParams {
        /// The loss per arm.
        losses: Vec<f64>, Bounds::UNIT;
    }
}

impl Builds for DeterministicParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        given("losses", &self.losses)?;
        ask.game(deterministic(self.losses))
    }
}

/// Arms that always cost the same.
pub(crate) fn deterministic(losses: Vec<f64>) -> Stationary<impl Fn(usize, Draw) -> f64 + Send> {
    Stationary::new(losses.clone(), move |arm, _| losses[arm])
}

params! {
    /// Parameters of the gap instance: Bernoulli arms with mean 1/2, but for one with 1/2 - gap.
    pub struct GapParams {
        /// The number of arms.
        arms: usize, ARMS;
        /// How much better the best arm is.
        gap: Option<f64> = None, Bounds::between(0.0, 0.5);
        /// Instead of `gap`: c of the minimax gap c sqrt(range K / T), cut at 1/2.
        scale: Option<f64> = None, Bounds::POSITIVE;
        /// rho of the minimax gap.
        range: f64 = 1.0, Bounds::POSITIVE;
        /// The best arm; the last one where it is not given, so that ties do not flatter it.
        best: Option<usize> = None;
    }
}

impl GapParams {
    /// The world, for a run of `rounds` rounds.
    fn world(self, rounds: u64) -> Result<Stationary<impl Fn(usize, Draw) -> f64 + Send>, ParamError> {
        let gap = match (self.gap, self.scale) {
            (Some(gap), None) => gap,
            (None, Some(scale)) => {
                (scale * libm::sqrt(self.range * self.arms as f64 / rounds.max(1) as f64)).min(0.5)
            }
            (None, None) => return Err(ParamError::choice("gap", "give gap or scale")),
            (Some(_), Some(_)) => return Err(ParamError::choice("gap", "give gap or scale, not both")),
        };
        let best = self.best.unwrap_or(self.arms - 1);
        require(best < self.arms, "best", best, "an arm")?;
        let mut means = vec![0.5; self.arms];
        means[best] = 0.5 - gap;
        Ok(bernoulli(means, 1.0, 0.0).with_fact("gap", gap))
    }
}

impl Builds for GapParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        ask.game(self.world(ask.rounds)?)
    }
}

params! {
    /// Parameters of the minimax lower bound's instance.
    pub struct Exp3HardParams {
        /// The number of arms.
        arms: usize, ARMS;
        /// The gap is scale * sqrt(K/T); scale is 1/4 in the lower bound.
        scale: f64 = 0.25, Bounds::POSITIVE;
    }
}

impl Builds for Exp3HardParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        let best = Some(Draw::new(ask.rng).stream(0).index(self.arms));
        let gap = GapParams { arms: self.arms, gap: None, scale: Some(self.scale), range: 1.0, best };
        ask.game(gap.world(ask.rounds)?)
    }
}
