//! Always the same arm. No learning; regret is that of the arm, alpha = 0 in any environment.

use corral_core::params::Params;
use corral_core::registry::{Entry, Kind, Status};
use corral_core::{
    Abilities, Arm, Base, BaseError, Feedback, LossDomain, Memo, Order, ParamError, Proposal, Rng, Setup,
};

use crate::built::BaseParams;
use crate::common::{Clock, RangeChange, arm_count, check_arm, reopen, seal};

const NAME: &str = "fixed";

corral_core::params! {
    /// Parameters of [`Fixed`].
    pub struct FixedParams {
        /// The arm, counted from 0.
        arm: usize = 0;
    }
}

impl BaseParams for FixedParams {
    type Base = Fixed;
    const REAL_LOSSES: bool = true;

    const ENTRY: Entry = Entry {
        name: NAME,
        summary: "Always the same arm.",
        source: "a constant",
        regret: "that of the arm",
        alpha: Some(0.0),
        fits: "any",
        cost: "O(1)",
        kind: Kind::Arms,
        status: Status::Standard,
    };

    fn build(self, setup: &Setup) -> Result<Fixed, BaseError> {
        self.check()?;
        let actions = arm_count(setup)?;
        if self.arm >= actions {
            return Err(ParamError::new("arm", self.arm, "below the number of actions").into());
        }
        let clock = Clock { horizon: None, ..Clock::new(setup) };
        Ok(Fixed { params: self, actions, losses: setup.losses, clock })
    }
}

/// Always the same arm.
#[derive(Debug, Clone)]
pub struct Fixed {
    params: FixedParams,
    actions: usize,
    losses: LossDomain,
    clock: Clock,
}

impl<X: ?Sized> Base<X, Arm> for Fixed {
    fn propose(&mut self, _x: &X, _rng: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
        Ok(Proposal::new(Arm::from(self.params.arm)))
    }

    fn learn(&mut self, _x: &X, made: &Proposal<Arm>, feedback: Feedback) -> Result<(), BaseError> {
        feedback.check_in(self.losses, self.clock.range)?;
        check_arm(made.decision, self.actions)?;
        self.clock.tick();
        Ok(())
    }

    fn likelihood(&self, _x: &X, decision: &Arm) -> Option<(f64, Memo)> {
        check_arm(*decision, self.actions).ok()?;
        Some((f64::from(decision.index() == self.params.arm), Memo::empty()))
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
