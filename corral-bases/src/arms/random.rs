//! A uniformly random arm in every round. No learning; alpha = 0 in any environment.

use super::prelude::*;

base! {
    /// A uniformly random arm in every round.
    pub type Random = ArmBase<RandomParams>;
    params {} with real_losses
    name: "random",
    regret: "that of uniform play",
    ..super::fixed::CONSTANT
}

impl ArmRule for RandomParams {
    type State = ();
    const HORIZON: bool = false;

    fn fresh(&self, _: &Now) -> Result<(), BaseError> {
        Ok(())
    }

    fn propose(&self, _: &mut (), now: &Now, rng: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
        Ok(Proposal::new(Arm::from(uniform_arm(now.offered, rng))))
    }

    fn likelihood(&self, _: &(), now: &Now, _: usize) -> Option<(f64, Memo)> {
        Some((1.0 / now.offered as f64, Memo::empty()))
    }

    fn learn(&self, _: &mut (), _: &Now, _: usize, _: &Memo, _: Feedback) -> Result<(), BaseError> {
        Ok(())
    }
}
