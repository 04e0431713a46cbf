//! Thompson sampling with linear losses: a parameter vector is drawn around the ridge regression, and its best action
//! is played.
//!
//! Agrawal, Goyal 2013. Regret O~(d^{3/2} sqrt T) when the loss is linear in the features. Lazy; weakly stable with
//! alpha = 1/2 by the argument of LinUCB with widths sqrt(d) larger (docs/stability.md#lazy-bases).

use corral_core::masters::RegretBound;
use corral_core::params::{Bounds, Params};
use corral_core::registry::{Entry, Kind, Status};
use corral_core::{
    Abilities, Arm, Base, BaseError, Commons, Context, Feedback, Memo, Order, Proposal, Rng, Setup,
};
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use super::features::{Features, Represented};
use super::learner::State;
use super::packed;
use super::regressor::{Layout, unusable};
use super::ridge::{Ridge, RidgeParams};
use crate::built::{BaseParams, bound_horizon, inside};
use crate::common::{RangeChange, Setting, keep_or_restart};

const NAME: &str = "lints";

/// What [`LinTs`] draws.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Draw {
    /// A parameter vector.
    #[default]
    Joint,
    /// The prediction of each action by itself.
    Independent,
}

corral_core::params! {
    /// Parameters of [`LinTs`].
    pub struct LinTsParams {
        /// Standard deviation of the draw in units of the width ||z||_{V^-1}; auto: sqrt(d ln T)/2, as in
        /// theory.
        scale: Setting = Setting::Auto, Bounds::NON_NEGATIVE;
        /// joint: one parameter vector for all actions; independent: each prediction by itself. The same in law
        /// where every action has its own parameters.
        draw: Draw = Draw::Joint;
        /// What a larger range does: keep (sound, for it is lazy), or restart (the paper's letter).
        range_change: RangeChange = RangeChange::Keep;
        /// How the context is seen: raw, bias, one-hot, polynomial, { block = { from, to } }, { hashed = {
        /// dims, seed } }, { hashed-pairs = { dims, seed } } or { fourier = { dims, bandwidth, seed } }.
        features: Features = Features::Raw;
        /// The regression: ridge (strength), centre (first prediction), parameters (auto, shared: one vector
        /// over the actions' features, disjoint: one per action), weighted (count examples by importance
        /// weight).
        model: RidgeParams = RidgeParams::default();
    }
}

impl BaseParams for LinTsParams {
    type Base = LinTs;
    const REAL_LOSSES: bool = true;

    const ENTRY: Entry = Entry {
        name: NAME,
        summary: "Plays the best action of a parameter vector drawn around a ridge regression.",
        source: "Agrawal, Goyal 2013, Thompson sampling for contextual bandits with linear payoffs",
        regret: "O~(d^(3/2) sqrt T)",
        alpha: Some(0.5),
        fits: "linear losses, any contexts",
        cost: "O(K d^2); shared O(K d) + O(d^3) per loss",
        kind: Kind::Contextual,
        status: Status::Standard,
    };

    fn build(self, setup: &Setup) -> Result<LinTs, BaseError> {
        self.check()?;
        inside("model", self.model.check())?;
        keep_or_restart(self.range_change)?;
        let layout = Layout::new(self.model.parameters, setup)?;
        let state = State::new(setup, Ridge::new(&self.model, layout.models(), layout.dim), &layout);
        Ok(LinTs {
            params: self,
            layout,
            state,
            factor: vec![0.0; packed::size(layout.dim)],
            drawn: vec![0.0; layout.dim],
            stale: true,
        })
    }

    fn bound(&self, setup: &Setup) -> Option<RegretBound> {
        let d = setup.context.features.max(setup.context.row_features).max(1) as f64;
        Some(RegretBound::new(d * d.sqrt() * bound_horizon(setup).ln(), 0.5))
    }
}

impl Represented for LinTsParams {
    fn features(&self) -> &Features {
        &self.features
    }
}

/// Thompson sampling with linear losses.
#[derive(Debug, Clone)]
pub struct LinTs {
    params: LinTsParams,
    layout: Layout,
    state: State<Ridge>,
    /// L of V = L L^T, for joint draws with a shared parameter vector.
    factor: Vec<f64>,
    drawn: Vec<f64>,
    /// Whether V has changed since `factor` was computed.
    stale: bool,
}

impl LinTs {
    fn scale(&self) -> f64 {
        // beta' = sigma sqrt(d ln(1/delta)), sigma = 1/2, delta = 1/T   docs/bases.md#linear-bases
        self.params.scale.or(|| {
            let horizon = self.state.clock.tuned().unwrap_or((self.state.clock.rounds as f64 + 1.0).max(2.0));
            0.5 * (self.layout.dim as f64 * horizon.ln()).sqrt()
        })
    }

    /// theta~ = theta + v L^-T g, g ~ N(0, I), V = L L^T
    fn draw_shared(&mut self, x: &Context, rng: &mut dyn Rng) -> Result<usize, BaseError> {
        let actions = self.layout.check(x)?;
        let scale = self.scale();
        let Self { state, factor, drawn, stale, .. } = self;
        state.held.model(|model| {
            if *stale {
                model
                    .factor(0, factor)
                    .ok_or_else(|| BaseError::Failed(String::from("lints: V is not positive definite")))?;
                *stale = false;
            }
            drawn.iter_mut().for_each(|g| *g = StandardNormal.sample(rng));
            packed::solve_upper(factor, drawn);
            for (drawn, theta) in drawn.iter_mut().zip(model.theta(0)) {
                *drawn = theta + scale * *drawn;
            }
            Ok::<(), BaseError>(())
        })??;
        let (mut low, mut best) = (f64::INFINITY, 0);
        for a in 0..actions {
            let z = self.layout.features(x, a);
            let score = packed::dot(&self.drawn, z);
            if !score.is_finite() {
                return Err(unusable(z));
            }
            if score < low {
                (low, best) = (score, a);
            }
        }
        Ok(best)
    }

    /// argmin m_a + v s_a N(0, 1)   docs/data.md#regression-learners
    fn draw_each(&mut self, x: &Context, rng: &mut dyn Rng) -> Result<usize, BaseError> {
        let scale = self.scale();
        self.state.held.look(&self.layout, x, true, |sight, actions| {
            let (mut low, mut best) = (f64::INFINITY, 0);
            for a in 0..actions {
                let g: f64 = StandardNormal.sample(rng);
                let score = sight.predictions[a] + scale * sight.widths[a] * g;
                if score < low {
                    (low, best) = (score, a);
                }
            }
            best
        })
    }
}

impl Base<Context, Arm> for LinTs {
    fn propose(&mut self, x: &Context, rng: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
        let arm = if self.layout.shared && self.params.draw == Draw::Joint {
            self.draw_shared(x, rng)?
        } else {
            self.draw_each(x, rng)?
        };
        Ok(Proposal::new(Arm::from(arm)))
    }

    fn learn(&mut self, x: &Context, made: &Proposal<Arm>, feedback: Feedback) -> Result<(), BaseError> {
        self.state.learn(&self.layout, self.params.model.weighted, x, made.decision, feedback)?;
        self.stale |= feedback.observed().is_some();
        Ok(())
    }

    /// `None`: the probability of being best has no closed form. A master then has the proposal itself, which given
    /// its own draw is certain.
    fn likelihood(&self, _x: &Context, _decision: &Arm) -> Option<(f64, Memo)> {
        None
    }

    fn abilities(&self) -> Abilities {
        Abilities::MODEL
    }

    fn share(&mut self, commons: &mut Commons) {
        let restarts = self.params.range_change == RangeChange::Restart;
        self.state.held.share(commons, &self.params.features, &self.layout, restarts);
    }

    fn obey(&mut self, order: Order) -> Result<(), BaseError> {
        self.stale = true;
        self.state.obey(order, self.params.range_change)
    }

    fn save(&self) -> Vec<u8> {
        self.state.save(NAME, &self.params, &self.layout)
    }

    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        let fresh = Ridge::new(&self.params.model, self.layout.models(), self.layout.dim);
        self.state.load(NAME, &self.params, &self.layout, state, &fresh)?;
        self.stale = true;
        Ok(())
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
        use super::super::regressor::Regressor;
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
