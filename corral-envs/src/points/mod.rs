//! Worlds whose decisions are points of a set in R^d.

mod adversarial;
mod convex;
mod normal;
mod reference;
mod sets;
mod stochastic;
#[cfg(test)]
mod tests;

use corral_core::vectors::dot;
use corral_core::{Context, Feedback, LossDomain, Point, Rng, Set, Setup, Space};

pub use adversarial::{AdversarialLinear, AdversarialLinearParams};
pub use convex::{AdversarialConvex, AdversarialConvexParams, Shape};
pub use normal::NormalLinearParams;
pub use reference::{ReferenceBallParams, ReferenceLoss, ReferenceSimplex, ReferenceSimplexParams};
pub use sets::{Named, SetSpec};
pub use stochastic::{GlmParams, Projected, StochasticLinearParams, Structure};

use crate::{AnyEnvironment, Draw, EnvError, Environment};

crate::world::rows! {
    "adversarial-linear": AdversarialLinearParams = "set = \"box\"\ndim = 3\nvariant = 1",
    "adversarial-convex": AdversarialConvexParams = "set = \"simplex\"\ndim = 3\nshape = \"huber\"",
    "stochastic-linear": StochasticLinearParams = "dim = 6\nstructure = \"sparse\"\nsupport = 2",
    "glm-points": GlmParams = "link = \"exponential\"\nset = \"sphere\"\npoints = 20\ndim = 3",
    "normal-linear": NormalLinearParams = "set = \"hypercube\"\ndim = 10",
    "reference-ball": ReferenceBallParams = "loss = \"lipschitz\"\ndim = 2\nvariant = 0",
    "reference-simplex": ReferenceSimplexParams = "arms = 3",
}

/// The loss functions f_1, f_2, ... of a world of points. Points that come in have the set's dimension.
pub trait PointLoss: Send {
    /// Fixes f_t of round `round`, counted from 0.
    fn next(&mut self, round: u64, draw: Draw);

    /// f_t(x).
    fn loss(&self, x: &[f64]) -> f64;

    /// The conditional expectation of f_t(x) given the past.
    fn mean(&self, x: &[f64]) -> f64;

    /// Where losses lie.
    fn losses(&self) -> LossDomain {
        LossDomain::Unit
    }

    /// The cumulative mean loss of the best fixed point of `set`, over the `rounds` so far.
    fn best(&self, set: &Set, rounds: f64) -> f64;
}

/// A world of points: a set of decisions and a sequence of loss functions over it.
#[derive(Debug, Clone)]
pub struct PointWorld<L> {
    set: Set,
    losses: L,
    horizon: u64,
    rounds: u64,
    context: Context,
}

impl<L: PointLoss> PointWorld<L> {
    /// The world of `losses` over `set`, announced for `horizon` rounds.
    pub fn new(set: Set, losses: L, horizon: u64) -> Self {
        Self { set, losses, horizon, rounds: 0, context: Context::plain(0) }
    }

    /// As a world of points.
    pub(crate) fn boxed(self) -> AnyEnvironment
    where
        L: 'static,
    {
        AnyEnvironment::Points(Box::new(self))
    }
}

impl<L: PointLoss> Environment<Context, Point> for PointWorld<L> {
    fn setup(&self) -> Setup {
        let setup = Setup::new(Space::Points(self.set.clone()), Some(self.horizon));
        Setup { losses: self.losses.losses(), ..setup }
    }

    fn next(&mut self, rng: &mut dyn Rng) -> Result<(), EnvError> {
        self.losses.next(self.rounds, Draw::new(rng));
        self.rounds += 1;
        Ok(())
    }

    fn context(&self) -> &Context {
        &self.context
    }

    fn loss(&self, decision: &Point) -> f64 {
        let x = decision.coordinates();
        if self.set.contains(x) { self.losses.loss(x) } else { f64::NAN }
    }

    fn mean_loss(&self, decision: &Point) -> f64 {
        let x = decision.coordinates();
        if self.set.contains(x) { self.losses.mean(x) } else { f64::NAN }
    }

    fn play(&mut self, decision: &Point) -> Result<Feedback, EnvError> {
        let x = decision.coordinates();
        if !self.set.contains(x) {
            return Err(EnvError::Decision(format!("{x:?}")));
        }
        Ok(Feedback::plain(self.losses.loss(x)))
    }

    fn best_so_far(&self) -> f64 {
        self.losses.best(&self.set, self.rounds as f64)
    }
}

/// Fills `u` with a direction uniform on the unit sphere.
fn fill_sphere(u: &mut [f64], draw: Draw) {
    let mut stream = draw.stream(0);
    loop {
        u.iter_mut().for_each(|v| *v = stream.normal());
        let norm = dot(u, u).sqrt();
        if norm > 1e-12 {
            return u.iter_mut().for_each(|v| *v /= norm);
        }
    }
}

/// Whether round `round` of `horizon` belongs to the first third, in which the adversary of variant 1 points the
/// other way. The division is that of integers.
fn misleads(variant: u8, round: u64, horizon: u64) -> bool {
    variant == 1 && round < horizon / 3
}
