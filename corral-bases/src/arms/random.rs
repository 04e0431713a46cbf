//! A uniformly random arm in every round. No learning; alpha = 0 in any environment.

use corral_core::params::Params;
use corral_core::registry::{Entry, Kind, Status};
use corral_core::{
    Abilities, Arm, Base, BaseError, Feedback, LossDomain, Memo, Order, Proposal, Rng, Setup, uniform,
};

use crate::built::BaseParams;
use crate::common::{Clock, RangeChange, arm_count, check_arm, reopen, seal};

const NAME: &str = "random";

corral_core::params! {
    /// Parameters of [`Random`]: none.
    pub struct RandomParams {
    }
}

impl BaseParams for RandomParams {
    type Base = Random;
    const REAL_LOSSES: bool = true;

    const ENTRY: Entry = Entry {
        name: NAME,
        summary: "A uniformly random arm in every round.",
        source: "a constant",
        regret: "that of uniform play",
        alpha: Some(0.0),
        fits: "any",
        cost: "O(1)",
        kind: Kind::Arms,
        status: Status::Standard,
    };

    fn build(self, setup: &Setup) -> Result<Random, BaseError> {
        self.check()?;
        let actions = arm_count(setup)?;
        let clock = Clock { horizon: None, ..Clock::new(setup) };
        Ok(Random { params: self, actions, losses: setup.losses, clock })
    }
}

/// A uniformly random arm in every round.
#[derive(Debug, Clone)]
pub struct Random {
    params: RandomParams,
    actions: usize,
    losses: LossDomain,
    clock: Clock,
}

impl<X: ?Sized> Base<X, Arm> for Random {
    fn propose(&mut self, _x: &X, rng: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
        Ok(Proposal::new(Arm::from(uniform_arm(self.actions, rng))))
    }

    fn learn(&mut self, _x: &X, made: &Proposal<Arm>, feedback: Feedback) -> Result<(), BaseError> {
        feedback.check_in(self.losses, self.clock.range)?;
        check_arm(made.decision, self.actions)?;
        self.clock.tick();
        Ok(())
    }

    fn likelihood(&self, _x: &X, decision: &Arm) -> Option<(f64, Memo)> {
        check_arm(*decision, self.actions).ok()?;
        Some((1.0 / self.actions as f64, Memo::empty()))
    }

    fn abilities(&self) -> Abilities {
        Abilities::MODEL
    }

    /// Keeps: there is nothing to tune.
    fn obey(&mut self, order: Order) -> Result<(), BaseError> {
        self.clock.obey(order, RangeChange::Keep).map(drop)
    }

    fn save(&self) -> Vec<u8> {
        seal(NAME, &self.params, &self.clock)
    }

    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        let clock: Clock = reopen(NAME, &self.params, state)?;
        clock.valid()?;
        self.clock = clock;
        Ok(())
    }
}

/// An arm drawn uniformly: one number of the generator.
#[inline]
pub(crate) fn uniform_arm(actions: usize, rng: &mut dyn Rng) -> usize {
    // The product may round up to `actions` for huge counts only; stay inside whatever it is.
    ((uniform(rng) * actions as f64) as usize).min(actions - 1)
}
