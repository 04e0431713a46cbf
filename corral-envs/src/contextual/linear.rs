//! Losses that are linear, or generalised linear, in features; contexts i.i.d. or adversarial.

use corral_core::Link;
use corral_core::memory::Budget;
use corral_core::policy::Linear;

use super::sequence::{Contexts, Features, HALF, Sequence, unit_vector};
use crate::arms::Noise;
use crate::prelude::*;

params! {
    /// Parameters of [`LinearWorld`].
    pub struct LinearParams {
        /// The dimension of v; rows have one number more.
        dim: usize = 5, Bounds::between(1.0, 65_536.0);
        /// The number of actions, at most.
        arms: usize = 10, Bounds::between(1.0, 65_536.0);
        /// The number of actions, at least; every number between is as likely. `arms` where it is not given.
        fewest: Option<usize> = None, Bounds::at_least(1.0);
        /// Whether actions have rows of features, or share them and have parameters of their own.
        features: Features = Features::default();
        /// The link sigma of `E[loss] = sigma(<theta, z>)`.
        link: Link = Link::Identity;
        /// How steep the links are, but for the identity.
        scale: f64 = 4.0, Bounds::POSITIVE;
        /// How contexts come about.
        contexts: Contexts = Contexts::default();
        /// How many contexts come again, where they do.
        pool: usize = 10, Bounds::between(1.0, 65_536.0);
        /// How losses follow their means.
        noise: Noise = Noise::default();
        /// With shared features: the number of linear policies offered to bases, the optimal one last; 0: none.
        policies: usize = 0, Bounds::between(0.0, 65_536.0);
    }
}

/// sigma(u), cut to [0, 1] against rounding.
#[inline]
fn mean(link: Link, u: f64) -> f64 {
    link.portable_mean(u).clamp(0.0, 1.0)
}

/// A parameter whose means lie in [0, 1], with w a uniform unit vector and z = (1, v)/sqrt(2), |v| <= 1.
fn theta(link: Link, scale: f64, dim: usize, stream: &mut Stream) -> Vec<f64> {
    let (intercept, factor) = match link {
        // theta = (1, w)/sqrt(2): the mean is (1 + <w, v>)/2
        Link::Identity => (HALF, HALF),
        // theta = sqrt(2) scale (0, w): u is scale <w, v>
        Link::Logistic | Link::Probit => (0.0, scale / HALF),
        // theta = -scale (1, w)/sqrt(2): u is -scale (1 + <w, v>)/2
        Link::Exponential => (-scale * HALF, -scale * HALF),
    };
    let w = unit_vector(dim, stream);
    std::iter::once(intercept).chain(w.into_iter().map(|w| factor * w)).collect()
}

impl Builds for LinearParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        let world = self.draw(ask.rounds, ask.rng, &ask.budget)?;
        ask.game(world)
    }
}

impl LinearParams {
    /// Draws the parameters of the losses, and builds the world for a run of `rounds` rounds.
    ///
    /// # Errors
    /// As [`Sequence::new`], or policies are asked for without shared features.
    pub fn draw(self, rounds: u64, rng: &mut dyn Rng, budget: &Budget) -> Result<LinearWorld, ParamError> {
        let shared = self.policies == 0 || self.features == Features::Shared;
        require(shared, "policies", self.policies, "0 where actions have rows")?;
        let mut stream = Draw::new(rng).stream(0);
        let sequence = Sequence::new(&self, rounds, &mut stream, budget)?;
        let vectors = if self.features == Features::Rows { 1 } else { self.arms };
        let numbers = (self.policies as u128 + 1) * vectors as u128 * (self.dim as u128 + 1);
        budget.claim("policies", self.policies, numbers)?;
        let mut parameters = || {
            (0..vectors).flat_map(|_| theta(self.link, self.scale, self.dim, &mut stream)).collect::<Vec<_>>()
        };
        let theta = parameters();
        // The action of least mean has the largest score -<theta_a, z>.
        let policy = |theta: &[f64]| {
            let weights = theta.iter().map(|w| -w).collect();
            Linear::new(self.dim + 1, vec![0.0; self.arms], weights).map(Policy::Linear)
        };
        let class = if self.policies > 0 {
            let mut class = Vec::with_capacity(self.policies);
            for _ in 1..self.policies {
                class.push(policy(&parameters())?);
            }
            class.push(policy(&theta)?);
            Some(Arc::from(class))
        } else {
            None
        };
        Ok(LinearWorld {
            sampler: self.contexts.iid().then(|| Arc::new(sequence.clone())),
            sequence,
            features: self.features,
            link: self.link,
            theta,
            noise: self.noise,
            class,
            arms: self.arms,
        })
    }
}

/// E[loss of a] = sigma(<theta, z(x, a)>), or sigma(<theta_a, x>) where features are shared. The best policy in
/// hindsight takes the action of least mean in every round.
#[derive(Debug, Clone)]
pub struct LinearWorld {
    sequence: Sequence,
    sampler: Option<Arc<Sequence>>,
    features: Features,
    link: Link,
    // One vector, or one per action.
    theta: Vec<f64>,
    noise: Noise,
    class: Option<Arc<[Policy]>>,
    arms: usize,
}

impl LinearWorld {
    /// The parameters: one vector, or one per action where features are shared.
    pub fn theta(&self) -> &[f64] {
        &self.theta
    }
}

impl Game for LinearWorld {
    fn setup(&self) -> Setup {
        let width = self.sequence.width();
        let context = match self.features {
            Features::Rows => ContextShape { features: 0, row_features: width, cells: None },
            Features::Shared => ContextShape { features: width, row_features: 0, cells: None },
        };
        Setup {
            context,
            policies: self.class.clone(),
            sampler: self.sampler.clone().map(|s| s as Arc<dyn ContextSampler>),
            ..Setup::arms(self.arms, None)
        }
    }

    fn next(&mut self, round: Round<'_>) -> Result<(), EnvError> {
        self.sequence.write(round.number, &mut round.draw.stream(0), round.context);
        let (x, link) = (&*round.context, self.link);
        round.means.clear();
        match self.features {
            Features::Rows => {
                let rows = x.rows().chunks_exact(x.row_dim());
                round.means.extend(rows.map(|z| mean(link, dot(&self.theta, z))));
            }
            Features::Shared => {
                let thetas = self.theta.chunks_exact(x.features().len());
                round.means.extend(thetas.map(|theta| mean(link, dot(theta, x.features()))));
            }
        }
        Ok(())
    }

    fn loss(&self, arm: usize, mean: f64, draw: Draw) -> f64 {
        self.noise.loss(mean, draw, 1 + arm as u64)
    }

    fn played(&mut self, arm: usize, context: &Context) {
        self.sequence.played(context.row(arm));
    }
}
