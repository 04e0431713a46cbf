//! Linear rewards with normal noise, not clipped: the point worlds of published model-selection experiments.

use super::{Named, PointWorld, Projected, SetSpec};
use crate::prelude::*;

params! {
    /// Parameters of rewards <theta, x> + N(offset, sd^2): the loss is 1 - reward, which may lie outside [0, 1].
    pub struct NormalLinearParams {
        /// The set of decisions.
        set: SetSpec = SetSpec::Named(Named::UnitSphere);
        /// Its dimension, where it is named by a word.
        dim: usize = 5;
        /// How many points, for sets that are listed.
        points: usize = 0;
        /// The parameter of the reward; empty: a ramp, whose coordinate i is i, counted from 0.
        theta: Vec<f64> = Vec::new(), Bounds::FINITE;
        /// How many coordinates the ramp has, the first ones; 0: all.
        support: usize = 0;
        /// The length of the ramp.
        length: f64 = 5.0, Bounds::POSITIVE;
        /// The mean of the noise.
        offset: f64 = 1.0, Bounds::FINITE;
        /// The standard deviation of the noise.
        sd: f64 = 1.0, Bounds::POSITIVE;
    }
}

impl Builds for NormalLinearParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        let set = self.set.build(self.dim, self.points, ask.rng, &ask.budget)?;
        let dim = set.dim();
        let theta = if self.theta.is_empty() {
            let support = if self.support == 0 { dim } else { self.support };
            let must = "at least 2 and at most the dimension";
            require((2..=dim).contains(&support), "support", support, must)?;
            let ramp = |i: usize| if i < support { i as f64 } else { 0.0 };
            let norm: f64 = (0..support).map(|i| ramp(i) * ramp(i)).sum::<f64>().sqrt();
            (0..dim).map(|i| self.length * ramp(i) / norm).collect()
        } else {
            self.theta
        };
        let found = format_args!("{} numbers", theta.len());
        require(theta.len() == dim, "theta", found, "as long as the dimension")?;
        // The loss is 1 - reward: its linear part is -theta.
        let direction: Vec<f64> = theta.iter().map(|w| -w).collect();
        let (offset, sd) = (self.offset, self.sd);
        let losses = Projected::new(
            &set,
            direction,
            LossDomain::Real,
            move |draw| sd * draw.normal(0),
            move |u| 1.0 - offset + u,
            |mean, noise| mean - noise,
        )?;
        Ok(PointWorld::new(set, losses, ask.rounds).boxed())
    }
}
