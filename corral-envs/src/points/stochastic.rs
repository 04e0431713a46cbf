//! Stochastic losses of a hidden linear parameter: plain, structured, and through a link.

use super::{PointLoss, PointWorld, SetSpec};
use crate::prelude::*;
use corral_core::Link;
use corral_core::memory::Budget;

params! {
    /// Parameters of f_t(x) = 1/2 + <c*, x>/(2N) + xi_t with xi_t uniform in [-noise, noise] and |c*| = 1 - 2 noise: never
    /// clipped (docs/bases.md#worlds-for-tests).
    pub struct StochasticLinearParams {
        /// The set of decisions.
        set: SetSpec = SetSpec::default();
        /// Its dimension, where it is named by a word.
        dim: usize = 2;
        /// How many points, for the sphere and the corners.
        points: usize = 0;
        /// The structure of the parameter.
        structure: Structure = Structure::Dense;
        /// How many coordinates or groups count.
        support: usize = 1;
        /// Size of a group.
        group: usize = 2;
        /// The parameter itself, scaled to its length; empty: drawn.
        parameter: Vec<f64> = Vec::new(), Bounds::FINITE;
        /// Noise is uniform in [-noise, noise].
        noise: f64 = 0.1, Bounds { low: 0.0, high: 0.5, above: false, below: true };
    }

    /// The structure of the hidden parameter.
    pub enum Structure {
        /// Every coordinate counts.
        #[default]
        Dense,
        /// `support` coordinates count.
        Sparse,
        /// `support` groups of `group` neighbouring coordinates count.
        GroupSparse,
    }
}

impl Builds for StochasticLinearParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        self.world(ask.rounds, ask.rng, &ask.budget).map(PointWorld::boxed)
    }
}

impl StochasticLinearParams {
    /// The world of `rounds` rounds; the parameter is drawn from `rng` unless it is given.
    ///
    /// # Errors
    /// The set cannot be built, the parameter does not fit it, or the noise is not in [0, 1/2).
    pub fn world(
        self,
        rounds: u64,
        rng: &mut dyn Rng,
        budget: &Budget,
    ) -> Result<PointWorld<Projected>, EnvError> {
        let set = self.set.build(self.dim, self.points, rng, budget)?;
        let mut parameter = hidden(&self, set.dim(), rng)?;
        // |c*| = 1 - 2 noise: the loss 1/2 + <c*, x>/(2N) + xi stays in [0, 1], so that nothing is clipped.
        let scale = 0.5 * (1.0 - 2.0 * self.noise) / set.norm_bound().max(f64::MIN_POSITIVE);
        parameter.iter_mut().for_each(|v| *v *= scale);
        let noise = self.noise;
        let xi = move |draw: Draw| noise * (2.0 * draw.uniform(0) - 1.0);
        let losses = Projected::new(
            &set,
            parameter,
            LossDomain::Unit,
            xi,
            |u| 0.5 + u,
            |mean, xi| (mean + xi).clamp(0.0, 1.0),
        )?;
        Ok(PointWorld::new(set, losses, rounds))
    }
}

/// A unit vector of the asked structure.
fn hidden(params: &StochasticLinearParams, dim: usize, rng: &mut dyn Rng) -> Result<Vec<f64>, EnvError> {
    let mut stream = Draw::new(rng).stream(0);
    let mut c = params.parameter.clone();
    if c.is_empty() {
        let (size, groups) = match params.structure {
            Structure::Dense | Structure::Sparse => (1, dim),
            Structure::GroupSparse => {
                let divides = params.group != 0 && dim.is_multiple_of(params.group);
                require(divides, "group", params.group, "a divisor of the dimension")?;
                (params.group, dim / params.group)
            }
        };
        let wanted = if params.structure == Structure::Dense { groups } else { params.support };
        let must = "at least 1 and at most the number of groups";
        require((1..=groups).contains(&wanted), "support", wanted, must)?;
        // The first `wanted` of a shuffle (Fisher and Yates).
        let mut order: Vec<usize> = (0..groups).collect();
        for i in 0..wanted {
            order.swap(i, i + stream.index(groups - i));
        }
        c = vec![0.0; dim];
        for g in &order[..wanted] {
            for v in &mut c[g * size..(g + 1) * size] {
                // Bounded away from zero, so that the support is what it says.
                let size = 0.5 + 0.5 * stream.uniform();
                *v = if stream.uniform() < 0.5 { size } else { -size };
            }
        }
    }
    require(c.len() == dim, "parameter", format_args!("{} numbers", c.len()), "as long as the dimension")?;
    let norm = dot(&c, &c).sqrt();
    let found = format_args!("of length {norm}");
    require(norm > 0.0 && norm.is_finite(), "parameter", found, "finite and not zero")?;
    c.iter_mut().for_each(|v| *v /= norm);
    Ok(c)
}

/// The mean loss of a linear part, the number that a round draws, and the loss of a mean and that number.
type Mean = Box<dyn Fn(f64) -> f64 + Send>;
type Noise = Box<dyn Fn(Draw) -> f64 + Send>;
type Noisy = Box<dyn Fn(f64, f64) -> f64 + Send>;

/// Losses of the linear part <c*, x> of a point and one number of each round. The mean grows with the linear part, so that the
/// best point minimises that: it is computed, not listed.
pub struct Projected {
    pub(super) parameter: Vec<f64>,
    least: f64,
    losses: LossDomain,
    drawn: f64,
    noise: Noise,
    mean: Mean,
    loss: Noisy,
}

impl Projected {
    pub(super) fn new(
        set: &Set,
        parameter: Vec<f64>,
        losses: LossDomain,
        noise: impl Fn(Draw) -> f64 + Send + 'static,
        mean: impl Fn(f64) -> f64 + Send + 'static,
        loss: impl Fn(f64, f64) -> f64 + Send + 'static,
    ) -> Result<Self, EnvError> {
        let least = mean(set.linear_min(&parameter, &mut vec![0.0; set.dim()])?);
        let (noise, mean, loss) = (Box::new(noise), Box::new(mean), Box::new(loss));
        Ok(Self { parameter, least, losses, drawn: 0.0, noise, mean, loss })
    }
}

impl PointLoss for Projected {
    fn losses(&self) -> LossDomain {
        self.losses
    }

    fn next(&mut self, _round: u64, draw: Draw) {
        self.drawn = (self.noise)(draw);
    }

    fn loss(&self, x: &[f64]) -> f64 {
        (self.loss)(self.mean(x), self.drawn)
    }

    fn mean(&self, x: &[f64]) -> f64 {
        (self.mean)(dot(&self.parameter, x))
    }

    fn best(&self, _set: &Set, rounds: f64) -> f64 {
        rounds * self.least
    }
}

params! {
    /// Parameters of a loss of 1 with probability sigma(<c*, x>), else 0.
    pub struct GlmParams {
        /// The set of decisions.
        set: SetSpec = SetSpec::default();
        /// Its dimension, where it is named by a word.
        dim: usize = 2;
        /// How many points, for the sphere and the corners.
        points: usize = 0;
        /// The link sigma; exponential: exp(u - scale), which is at most 1 where u <= scale. The identity, whose means would leave
        /// [0, 1], is refused.
        link: Link = Link::Logistic;
        /// The largest |<c*, x>| over the set.
        scale: f64 = 2.0, Bounds::POSITIVE;
        /// The parameter itself, scaled to its length; empty: drawn.
        parameter: Vec<f64> = Vec::new(), Bounds::FINITE;
    }
}

impl Builds for GlmParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        let bounded = "logistic, exponential or probit; with the identity, take stochastic-linear";
        require(self.link != Link::Identity, "link", "identity", bounded)?;
        let Ask { rounds, rng, .. } = ask;
        let set = self.set.build(self.dim, self.points, rng, &ask.budget)?;
        let structure = StochasticLinearParams { parameter: self.parameter, ..Default::default() };
        let mut parameter = hidden(&structure, set.dim(), rng)?;
        let length = self.scale / set.norm_bound().max(f64::MIN_POSITIVE);
        parameter.iter_mut().for_each(|v| *v *= length);
        let link = self.link;
        let shift = if link == Link::Exponential { self.scale } else { 0.0 };
        let losses = Projected::new(
            &set,
            parameter,
            LossDomain::Unit,
            |draw| draw.uniform(0),
            move |u| link.portable_mean(u - shift),
            |mean, uniform| f64::from(uniform < mean),
        )?;
        Ok(PointWorld::new(set, losses, rounds).boxed())
    }
}
