//! Thompson sampling with linear losses over points: a parameter vector is drawn around the ridge regression, and its
//! best point is played.
//!
//! Agrawal, Goyal 2013; Abeille, Lazaric 2017. Regret O~(d^{3/2} sqrt T) where the loss is linear plus noise. Lazy;
//! weakly stable with alpha = 1/2 by the argument of OFUL with widths sqrt(d) larger (docs/stability.md#lazy-bases).

use super::prelude::*;
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

use crate::regression::{Factored, packed};

base! {
    /// Plays the best point of a parameter vector drawn around a ridge regression.
    "lints-points": pub type LinTsPoints = PointBase<LinTsPointsParams>;
    sqrt_bound |world| world.d * world.d.sqrt() * world.t.ln();
    params {
        /// Standard deviation of the draw in units of the width ||x||_{V^-1}; auto: sqrt(d ln T)/2, as in theory.
        scale: Setting = Setting::Auto, Bounds::NON_NEGATIVE;
        /// Weight of the regularisation.
        lambda: f64 = 1.0, SIZE;
        /// What is subtracted from losses before the regression.
        offset: f64 = 0.5, OFFSET;
        /// How many coordinates it sees, the first ones; 0: all. The others are 0 on a sphere or ball, and random signs
        /// on a hypercube.
        coordinates: usize = 0;
    } with real_losses
}

impl LinTsPointsParams {
    /// How many coordinates it sees.
    fn seen(&self, set: &Set) -> usize {
        if self.coordinates == 0 { set.dim() } else { self.coordinates }
    }
}

impl PointRule for LinTsPointsParams {
    /// Over the coordinates that it sees.
    type State = Factored;
    /// The drawn parameter, as long as a point.
    type Work = Vec<f64>;

    fn work(&self, set: &Set) -> Result<Vec<f64>> {
        let (seen, dim) = (self.seen(set), set.dim());
        let in_part = matches!(set, Set::Ball { .. } | Set::Sphere { .. } | Set::Hypercube { .. });
        if seen == dim || (seen < dim && in_part) {
            return Ok(vec![0.0; dim]);
        }
        let wanted = "at most the dimension, and a part of it on a ball, a sphere or a hypercube only";
        Err(ParamError::new("coordinates", seen, wanted).into())
    }

    fn fresh(&self, set: &Set, _: &Vec<f64>) -> Factored {
        Factored::new(self.seen(set), self.lambda)
    }

    fn propose(base: &mut LinTsPoints, mut rng: &mut dyn Rng, out: &mut [f64], _: &mut Memo) -> Result {
        let PointBase { rule, set, clock, state: regression, work: direction, .. } = base;
        let dim = regression.moment().len();
        let (seen, others) = direction.split_at_mut(dim);
        // beta' = sigma sqrt(d ln(1/delta)), sigma = 1/2, delta = 1/T   docs/bases.md#linear-bases
        let scale = rule.scale.or(|| {
            let horizon = clock.tuned().unwrap_or((clock.rounds as f64 + 1.0).max(2.0));
            0.5 * (dim as f64 * horizon.ln()).sqrt()
        });
        if regression.is_new() {
            // Nothing is known: the estimate is a direction drawn at random.
            fill_sphere(seen, rng);
            packed::multiply_upper(regression.lower(), seen);
        } else {
            seen.copy_from_slice(regression.moment());
            packed::solve_lower(regression.lower(), seen);
        }
        // theta~ = theta + v L^-T g = L^-T (L^-1 sum y x + v g), g ~ N(0, I)
        if scale > 0.0 {
            for v in seen.iter_mut() {
                let g: f64 = StandardNormal.sample(&mut rng);
                *v += scale * g;
            }
        }
        packed::solve_upper(regression.lower(), seen);
        match set {
            Set::Hypercube { .. } => {
                others.iter_mut().for_each(|v| *v = if rng.random::<bool>() { 1.0 } else { -1.0 });
            }
            _ => others.fill(0.0),
        }
        if direction.iter().any(|v| !v.is_finite()) {
            return Err(BaseError::Failed(String::from("lints-points: the draw is not finite")));
        }
        set.linear_min(direction, out)?;
        Ok(())
    }

    fn learn(base: &mut LinTsPoints, x: &[f64], loss: f64) -> Result {
        let dim = base.state.moment().len();
        let seen = &mut base.work[..dim];
        seen.copy_from_slice(&x[..dim]);
        base.state.learn(seen, loss - base.rule.offset, 1.0);
        Ok(())
    }

    fn restore(base: &LinTsPoints, state: &mut Factored, _: &Clock) -> Result {
        Ok(state.valid(base.state.moment().len())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corral_core::{Base, Feedback, Point, Proposal, Space};
    use rand::SeedableRng;
    use rand_pcg::Pcg64Dxsm;

    fn base(set: Set, params: LinTsPointsParams) -> LinTsPoints {
        params.build(&Setup::new(Space::Points(set), Some(1000))).unwrap()
    }

    #[test]
    fn without_noise_it_plays_the_best_point_of_the_ridge_regression() {
        let set = Set::sphere(3).unwrap();
        let params = LinTsPointsParams { scale: Setting::Given(0.0), lambda: 0.5, ..Default::default() };
        let mut ts = base(set.clone(), params);
        let mut rng = Pcg64Dxsm::seed_from_u64(3);
        let mut ridge = Ridge::new(0.5, 0.0, 1, 3);
        for k in 0..300 {
            let mut x = vec![0.0; 3];
            fill_sphere(&mut x, &mut rng);
            let loss = 0.5 + 0.3 * x[0] - 0.1 * x[2];
            Base::<(), Point>::learn(&mut ts, &(), &Proposal::new(Point(x.clone())), Feedback::plain(loss))
                .unwrap();
            ridge.update(0, &x, loss - 0.5, 1.0).unwrap();
            let made: Proposal<Point> = ts.propose(&(), &mut rng).unwrap();
            let mut best = vec![0.0; 3];
            set.linear_min(ridge.theta(0), &mut best).unwrap();
            assert!(dot(made.decision.coordinates(), &best) > 1.0 - 1e-9, "{k}");
        }
    }

    #[test]
    fn draws_have_the_law_of_the_posterior() {
        // On {-1, 1} the point is -sign(theta~): P(1) = P(theta~ < 0) = Phi(-m/(v s)). 20,000 draws, five standard errors.
        let params = LinTsPointsParams { scale: Setting::Given(0.7), ..Default::default() };
        let mut ts = base(Set::hypercube(1).unwrap(), params);
        let mut rng = Pcg64Dxsm::seed_from_u64(4);
        for loss in [0.9, 0.2, 0.8, 0.7] {
            let made = Proposal::new(Point(vec![1.0]));
            Base::<(), Point>::learn(&mut ts, &(), &made, Feedback::plain(loss)).unwrap();
        }
        let (mean, sd) = ((0.9 + 0.2 + 0.8 + 0.7 - 2.0) / 5.0, 0.7 / 5f64.sqrt());
        let p = 0.5 * libm::erfc(mean / sd * std::f64::consts::FRAC_1_SQRT_2);
        let n = 20_000;
        let up = (0..n).filter(|_| {
            let made: Proposal<Point> = ts.propose(&(), &mut rng).unwrap();
            made.decision.coordinates()[0] > 0.0
        });
        let share = up.count() as f64 / f64::from(n);
        assert!((share - p).abs() < 5.0 * (p * (1.0 - p) / f64::from(n)).sqrt(), "{share} {p}");
    }

    #[test]
    fn what_it_does_not_see_is_zero_or_a_random_sign() {
        let params = LinTsPointsParams { coordinates: 2, ..Default::default() };
        let mut rng = Pcg64Dxsm::seed_from_u64(5);
        let mut on_sphere = base(Set::sphere(4).unwrap(), params.clone());
        let mut on_cube = base(Set::hypercube(4).unwrap(), params);
        let mut signs = [0, 0];
        for _ in 0..200 {
            let made: Proposal<Point> = on_sphere.propose(&(), &mut rng).unwrap();
            assert_eq!(made.decision.coordinates()[2..], [0.0, 0.0]);
            let made: Proposal<Point> = on_cube.propose(&(), &mut rng).unwrap();
            assert!(made.decision.coordinates().iter().all(|v| v.abs() == 0.5));
            (0..2).for_each(|i| signs[i] += usize::from(made.decision.coordinates()[2 + i] > 0.0));
        }
        // Each is within 5 standard errors of 100: alpha below 1e-6.
        assert!(signs.iter().all(|n| n.abs_diff(100) < 36), "{signs:?}");
        let too_many = LinTsPointsParams { coordinates: 5, ..Default::default() };
        assert!(too_many.build(&Setup::new(Space::Points(Set::sphere(4).unwrap()), None)).is_err());
    }
}
