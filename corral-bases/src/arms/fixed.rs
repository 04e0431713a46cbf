//! Always the same arm. No learning; regret is that of the arm, alpha = 0 in any environment.

use super::prelude::*;

base! {
    /// Always the same arm.
    "fixed": pub type Fixed = ArmBase<FixedParams>;
    params {
        /// The arm, counted from 0; in a round that does not offer it, the last one that is offered.
        arm: usize = 0;
    } with real_losses
}

impl FixedParams {
    fn arm(&self, now: &Now) -> usize {
        self.arm.min(now.offered - 1)
    }
}

impl ArmRule for FixedParams {
    type State = ();
    const HORIZON: bool = false;

    fn fresh(&self, now: &Now) -> Result {
        if self.arm < now.actions {
            return Ok(());
        }
        Err(ParamError::new("arm", self.arm, "below the number of actions").into())
    }

    fn propose(&self, _: &mut (), now: &Now, _: &mut dyn Rng) -> Result<Proposal<Arm>> {
        Ok(Proposal::new(Arm::at(self.arm(now))))
    }

    fn likelihood(&self, _: &(), now: &Now, arm: usize) -> Option<(f64, Memo)> {
        Some((f64::from(arm == self.arm(now)), Memo::empty()))
    }
}
