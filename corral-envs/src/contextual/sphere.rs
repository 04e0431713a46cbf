//! Rewards that are linear in features on a sphere, with normal noise, not clipped: the contextual worlds of published
//! model-selection experiments.

use rand_distr::{Distribution, StandardNormal};

use crate::arms::{ARMS, given};
use crate::prelude::*;

params! {
    /// Parameters of [`Sphere`].
    pub struct SphereParams {
        /// The parameter vector of the reward; its length is the number of features of an action.
        theta: Vec<f64>, Bounds::FINITE;
        /// The number of actions.
        arms: usize = 10, ARMS;
        /// The mean of the noise.
        offset: f64 = 0.0, Bounds::FINITE;
        /// The standard deviation of the noise.
        sd: f64 = 1.0, Bounds::POSITIVE;
        /// What regret is held against, before the offset: `None` for the best action of each round. Published programs
        /// take a constant, their estimate of E max <theta, z>, whose error is in their figures.
        optimum: Option<f64> = None, Bounds::FINITE;
    }
}

impl Builds for SphereParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        given("theta", &self.theta)?;
        ask.budget.claim("arms", self.arms, self.arms as u128 * (self.theta.len() as u128 + 1))?;
        ask.game(Sphere { params: self })
    }
}

/// Each round the features z of every action are uniform on the unit sphere of R^d; the reward is
/// <theta, z> + N(offset, sd^2), and the loss 1 - reward, which may lie outside [0, 1].
#[derive(Debug, Clone)]
pub struct Sphere {
    params: SphereParams,
}

impl Game for Sphere {
    fn setup(&self) -> Setup {
        Setup {
            context: ContextShape { features: 0, row_features: self.params.theta.len(), cells: None },
            losses: LossDomain::Real,
            ..Setup::arms(self.params.arms, None)
        }
    }

    fn next(&mut self, round: Round<'_>) -> Result<(), EnvError> {
        let mut stream = round.draw.stream(0);
        let (params, means) = (&self.params, round.means);
        let dim = params.theta.len();
        round.context.refill_rows(dim, |rows| {
            for mean in means.iter_mut() {
                let start = rows.len();
                // A normal vector, divided by its length.
                rows.extend((0..dim).map(|_| -> f64 { StandardNormal.sample(&mut stream) }));
                let row = &mut rows[start..];
                let length = libm::sqrt(dot(row, row)).max(f64::MIN_POSITIVE);
                row.iter_mut().for_each(|z| *z /= length);
                *mean = 1.0 - params.offset - dot(&params.theta, row);
            }
        });
        Ok(())
    }

    fn loss(&self, arm: usize, mean: f64, draw: Draw) -> f64 {
        mean - self.params.sd * draw.normal(1 + arm as u64)
    }

    fn best(&self, rounds: u64, least: f64) -> f64 {
        match self.params.optimum {
            Some(optimum) => rounds as f64 * (1.0 - self.params.offset - optimum),
            None => least,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Environment;
    use crate::bandit::Bandit;
    use corral_core::Arm;
    use corral_core::params::Params;
    use rand::SeedableRng;
    use rand_pcg::Pcg64Dxsm;

    /// 20,000 rounds, five standard errors: each comparison fails by chance with probability below 1e-6.
    #[test]
    fn rows_are_uniform_on_the_sphere_and_rewards_have_their_law() {
        let theta = vec![0.5, -1.0, 2.0];
        let params = SphereParams { theta: theta.clone(), arms: 2, offset: 1.0, sd: 0.5, optimum: None };
        let mut world = Bandit::new(Sphere { params }, 10);
        let mut rng = Pcg64Dxsm::seed_from_u64(4);
        let n = 20_000;
        let (mut moments, mut off, mut square, mut best) = ([[0.0; 3]; 3], 0.0, 0.0, 0.0);
        for _ in 0..n {
            world.next(&mut rng).unwrap();
            let row = world.context().row(1).unwrap();
            assert!((dot(row, row) - 1.0).abs() < 1e-12);
            for (i, a) in row.iter().enumerate() {
                for (j, b) in row.iter().enumerate() {
                    moments[i][j] += a * b / f64::from(n);
                }
            }
            let mean = -dot(&theta, row);
            assert!((world.mean_loss(&Arm(1)) - mean).abs() < 1e-12);
            best += world.mean_loss(&Arm(0)).min(mean);
            let noise = (mean - world.loss(&Arm(1))) / 0.5;
            off += noise / f64::from(n);
            square += noise * noise / f64::from(n);
        }
        let root = f64::from(n).sqrt();
        for (i, row) in moments.iter().enumerate() {
            for (j, found) in row.iter().enumerate() {
                // E z_i z_j = 1{i = j}/d, and |z_i z_j| <= 1.
                let expected = if i == j { 1.0 / 3.0 } else { 0.0 };
                assert!((found - expected).abs() < 5.0 * 0.3 / root, "{i} {j}: {found}");
            }
        }
        assert!(off.abs() < 5.0 / root && (square - 1.0).abs() < 5.0 * 2f64.sqrt() / root, "{off} {square}");
        assert_eq!(world.best_so_far(), best);
    }

    #[test]
    fn regret_may_be_held_against_a_constant() {
        let params = SphereParams { theta: vec![3.0], arms: 2, offset: 1.0, sd: 1.0, optimum: Some(2.0) };
        let mut world = Bandit::new(Sphere { params: params.clone() }, 10);
        let mut rng = Pcg64Dxsm::seed_from_u64(4);
        (0..10).for_each(|_| world.next(&mut rng).unwrap());
        assert_eq!(world.best_so_far(), -20.0);
        let error = SphereParams { optimum: Some(f64::NAN), ..params }.check().unwrap_err();
        assert!(error.to_string().contains("optimum"), "{error}");
    }
}
