//! A uniformly random arm in every round. No learning; alpha = 0 in any environment.

use super::prelude::*;

base! {
    /// A uniformly random arm in every round.
    "random": pub type Random = ArmBase<RandomParams>;
    params {} with real_losses
}

impl ArmRule for RandomParams {
    type State = ();
    const HORIZON: bool = false;

    fn fresh(&self, _: &Now) -> Result {
        Ok(())
    }

    fn takes_offers(&self) -> bool {
        true
    }

    fn part(&self, _: &(), _: &Now, _: &[u32]) -> Option<()> {
        Some(())
    }

    fn propose(&self, _: &mut (), now: &Now, rng: &mut dyn Rng) -> Result<Proposal<Arm>> {
        Ok(Proposal::new(Arm::at(uniform_arm(now.offered, rng))))
    }

    fn likelihood(&self, _: &(), now: &Now, _: usize) -> Option<(f64, Memo)> {
        Some((1.0 / now.offered as f64, Memo::empty()))
    }
}
