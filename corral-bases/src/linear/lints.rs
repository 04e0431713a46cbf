//! Thompson sampling with linear losses: a parameter vector is drawn around the ridge regression, and its best action
//! is played.
//!
//! Agrawal, Goyal 2013. Regret O~(d^{3/2} sqrt T) when the loss is linear in the features. Lazy; weakly stable with
//! alpha = 1/2 by the argument of LinUCB with widths sqrt(d) larger (docs/stability.md#lazy-bases).

use std::cell::RefCell;

use corral_core::{Commons, Context};
use rand_distr::{Distribution, StandardNormal};

use super::learner::State;
use super::prelude::*;
use crate::joint::Joint;
use crate::normals::Normals;

corral_core::params! {
    /// What [`LinTs`] draws.
    pub enum Draw {
        /// A parameter vector.
        #[default]
        Joint,
        /// The prediction of each action by itself.
        Independent,
    }
}

base! {
    /// Plays the best action of a parameter vector drawn around a ridge regression.
    "lints": LinTs from LinTsParams;
    sqrt_bound |world| world.d * world.d.sqrt() * world.t.ln();
    params {
        /// Standard deviation of the draw in units of the width ||z||_{V^-1}; auto: sqrt(d ln T)/2, as in
        /// theory.
        scale: Setting = Setting::Auto, Bounds::NON_NEGATIVE;
        /// joint: one parameter vector for all actions; independent: each prediction by itself. The same in law
        /// where every action has its own parameters.
        draw: Draw = Draw::Joint;
    } with lazy, ridge, real_losses
}

/// Thompson sampling with linear losses.
#[derive(Debug, Clone)]
pub struct LinTs {
    state: State<LinTsParams>,
    /// For joint draws with a shared parameter vector.
    factor: RefCell<Factor>,
    drawn: Vec<f64>,
    odds: RefCell<Odds>,
}

/// L of V = L L^T, packed; empty: to be computed from V.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Factor {
    lower: Vec<f64>,
    /// Updates since it was computed from V.
    age: u32,
}

/// After so many updates the factor is computed from V again.
const REFRESH: u32 = 256;

impl Factor {
    fn of(&mut self, model: &Ridge, dim: usize) -> Result<&[f64]> {
        if self.lower.is_empty() {
            self.lower.resize(packed::size(dim), 0.0);
            if model.factor(0, &mut self.lower).is_none() {
                self.lower.clear();
                return Err(BaseError::Failed(String::from("lints: V is not positive definite")));
            }
            self.age = 0;
        }
        Ok(&self.lower)
    }

    /// V += z z^T; `z` is spoilt.
    fn add(&mut self, z: &mut [f64]) {
        self.age += 1;
        if self.age >= REFRESH {
            self.lower.clear();
        } else if !self.lower.is_empty() {
            packed::update_factor(&mut self.lower, z);
        }
    }
}

/// What the probabilities of the actions follow from at the last context that was asked about.
#[derive(Debug, Clone, Default)]
struct Odds {
    /// The features, the losses learned and the scale of the draw; `None`: nothing was asked about yet.
    of: Option<(u64, f64)>,
    x: Vec<f64>,
    numbers: Vec<u32>,
    means: Vec<f64>,
    /// Deviations of predictions that are drawn apart, or rows of a joint draw.
    spread: Vec<f64>,
    joint: Joint,
    normals: Normals,
    /// The last answer.
    answer: Option<(usize, f64)>,
}

impl Make<LinTsParams> for LinTs {
    const KIND: Kind = Kind::Contextual;

    fn make(params: LinTsParams, setup: &Setup) -> Result<Self> {
        let state = State::new(params, setup)?;
        let drawn = vec![0.0; state.layout.dim];
        Ok(Self { state, factor: RefCell::default(), drawn, odds: RefCell::default() })
    }
}

impl LinTs {
    fn scale(&self) -> f64 {
        // beta' = sigma sqrt(d ln(1/delta)), sigma = 1/2, delta = 1/T   docs/bases.md#linear-bases
        self.state.params.scale.or(|| {
            let horizon = self.state.clock.tuned().unwrap_or((self.state.clock.rounds as f64 + 1.0).max(2.0));
            0.5 * (self.state.layout.dim as f64 * horizon.ln()).sqrt()
        })
    }

    fn is_joint(&self) -> bool {
        self.state.layout.shared && self.state.params.draw == Draw::Joint
    }

    /// theta~ = theta + v L^-T g, g ~ N(0, I), V = L L^T
    fn draw_shared(&mut self, x: &Context, rng: &mut dyn Rng) -> Result<usize> {
        let actions = self.state.layout.check(x)?;
        let scale = self.scale();
        let Self { state, factor, drawn, .. } = self;
        state.held.model(|model| {
            let lower = factor.get_mut().of(model, drawn.len())?;
            drawn.iter_mut().for_each(|g| *g = StandardNormal.sample(rng));
            packed::solve_upper(lower, drawn);
            for (drawn, theta) in drawn.iter_mut().zip(model.theta(0)) {
                *drawn = theta + scale * *drawn;
            }
            Ok::<(), BaseError>(())
        })??;
        let (mut low, mut best) = (f64::INFINITY, 0);
        for a in 0..actions {
            let z = self.state.layout.features(x, a);
            let score = packed::dot(&self.drawn, z);
            usable(score.is_finite(), z)?;
            if score < low {
                (low, best) = (score, a);
            }
        }
        Ok(best)
    }

    /// argmin m_a + v s_a N(0, 1)   docs/data.md#regression-learners
    fn draw_each(&mut self, x: &Context, rng: &mut dyn Rng) -> Result<usize> {
        let scale = self.scale();
        self.state.held.look(&self.state.layout, x, true, |sight, actions| {
            let mut drawn = |a: usize| {
                let g: f64 = StandardNormal.sample(rng);
                sight.predictions[a] + scale * sight.widths[a] * g
            };
            lowest((0..actions).map(&mut drawn)).0
        })
    }

    /// The probability of an action of `x`.
    fn odds(&self, x: &Context, arm: usize, odds: &mut Odds) -> Result<f64> {
        let actions = self.state.layout.check(x)?;
        let now = (self.state.held.seen(), self.scale());
        let (features, numbers) = (self.state.layout.all_features(x), self.state.layout.numbers(x));
        let same = odds.x == features && odds.numbers == numbers;
        let known = odds.of == Some(now) && odds.means.len() == actions && same;
        if !known {
            odds.of = None;
            self.look(x, actions, now.1, odds)?;
            odds.x.clear();
            odds.x.extend_from_slice(features);
            odds.numbers.clear();
            odds.numbers.extend_from_slice(numbers);
            (odds.of, odds.answer) = (Some(now), None);
        }
        if let Some((_, p)) = odds.answer.filter(|(of, _)| *of == arm) {
            return Ok(p);
        }
        let Odds { means, spread, joint, normals, .. } = odds;
        let p = match self.is_joint() {
            true => joint.lowest(arm),
            false => normals.lowest(arm, actions, |a| (means[a], spread[a])),
        };
        odds.answer = Some((arm, p));
        Ok(p)
    }

    /// Fills the laws of the predictions at `x`.
    fn look(&self, x: &Context, actions: usize, scale: f64, odds: &mut Odds) -> Result {
        let Odds { means, spread, joint, .. } = odds;
        means.clear();
        spread.clear();
        if !self.is_joint() {
            return self.state.held.look(&self.state.layout, x, true, |sight, actions| {
                means.extend_from_slice(&sight.predictions[..actions]);
                spread.extend(sight.widths[..actions].iter().map(|width| scale * width));
            });
        }
        let dim = self.state.layout.dim;
        self.state.held.model(|model| {
            let mut factor = self.factor.borrow_mut();
            let lower = factor.of(model, dim)?;
            for a in 0..actions {
                // z theta~ = z theta + v (L^-1 z) g
                let (z, from) = (self.state.layout.features(x, a), spread.len());
                means.push(packed::dot(model.theta(0), z));
                spread.extend_from_slice(z);
                packed::solve_lower(lower, &mut spread[from..]);
                spread[from..].iter_mut().for_each(|v| *v *= scale);
                usable(means[a].is_finite() && packed::dot(&spread[from..], &spread[from..]).is_finite(), z)?;
            }
            Ok::<(), BaseError>(())
        })??;
        joint.look(means, spread, dim);
        Ok(())
    }

    /// What was computed of the regression is no longer of it.
    fn forget(&mut self) {
        self.factor.get_mut().lower.clear();
        self.odds.get_mut().of = None;
    }
}

impl Base<Context, Arm> for LinTs {
    fn propose(&mut self, x: &Context, rng: &mut dyn Rng) -> Result<Proposal<Arm>> {
        let arm = if self.is_joint() { self.draw_shared(x, rng)? } else { self.draw_each(x, rng)? };
        Ok(Proposal::new(Arm::at(arm)))
    }

    fn learn(&mut self, x: &Context, made: &Proposal<Arm>, feedback: Feedback) -> Result {
        let learned = self.state.learn(x, made.decision, feedback)?;
        if let Some((z, weight)) = learned.filter(|_| self.is_joint()) {
            self.drawn.iter_mut().zip(z).for_each(|(d, z)| *d = weight.sqrt() * z);
            self.factor.get_mut().add(&mut self.drawn);
        }
        Ok(())
    }

    /// Integrated where predictions are drawn apart; estimated from fixed draws where a parameter vector is drawn
    /// (docs/bases.md#likelihoods).
    fn likelihood(&self, x: &Context, decision: &Arm) -> Option<(f64, Memo)> {
        let mut odds = self.odds.try_borrow_mut().ok()?;
        let actions = self.state.layout.check(x).ok()?;
        let arm = Some(decision.index()).filter(|arm| *arm < actions)?;
        Some((self.odds(x, arm, &mut odds).ok()?, Memo::empty()))
    }

    fn abilities(&self) -> Abilities {
        Abilities { takes_offers: true, ..Abilities::MODEL }
    }

    fn apply_order(&mut self, order: Order) -> Result {
        if self.state.apply_order(order)? {
            self.forget();
        }
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        self.state.save(&*self.factor.borrow())
    }

    fn load(&mut self, state: &[u8]) -> Result {
        let size = if self.is_joint() { packed::size(self.state.layout.dim) } else { 0 };
        let sound = |factor: &Factor| match factor.lower.len() {
            0 => Ok(()),
            _ => check_numbers("factors of V", &factor.lower, size),
        };
        let factor = self.state.load(state, sound)?;
        self.forget();
        *self.factor.get_mut() = factor;
        Ok(())
    }

    fn extra(&mut self) -> Option<&mut dyn BaseExtra<Context, Arm>> {
        Some(self)
    }
}

impl BaseExtra<Context, Arm> for LinTs {
    fn share(&mut self, commons: &mut Commons) {
        self.state.share(commons);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corral_core::ContextShape;
    use rand::SeedableRng;
    use rand_pcg::Pcg64Dxsm;

    #[test]
    fn joint_draws_have_the_law_of_the_posterior() {
        // Two actions: P(first wins) = Phi((m_1 - m_0)/(v ||z_1 - z_0||_{V^-1})). 40,000 draws, five standard errors.
        let mut setup = Setup::arms(2, None);
        setup.context = ContextShape { row_features: 2, ..ContextShape::default() };
        let params = LinTsParams { scale: Setting::Given(0.7), ..LinTsParams::default() };
        let mut base = params.build(&setup).unwrap();
        let x = Context::with_rows(vec![], vec![1.0, 0.3, 0.2, -0.8], 2);
        for (arm, loss) in [(0, 1.0), (1, 0.0), (0, 0.3), (1, 0.4)] {
            base.learn(&x, &Proposal::new(Arm(arm)), Feedback::plain(loss)).unwrap();
        }
        let model = base.state.held.model(Clone::clone).unwrap();
        let gap = model.predict(0, &[0.2, -0.8]) - model.predict(0, &[1.0, 0.3]);
        let z = gap / (0.7 * model.variance(0, &[-0.8, -1.1]).sqrt());
        let p = 0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2);
        let mut rng = Pcg64Dxsm::seed_from_u64(8);
        let n = 40_000;
        let wins = (0..n).filter(|_| base.propose(&x, &mut rng).unwrap().decision == Arm(0)).count();
        assert!(
            (wins as f64 / f64::from(n) - p).abs() < 5.0 * (p * (1.0 - p) / f64::from(n)).sqrt(),
            "{wins} {p}"
        );
    }
}
