//! A uniformly random arm in every round. No learning; alpha = 0 in any environment.

use super::frame::{ArmBase, ArmRule, Now};
use crate::prelude::*;

corral_core::params! {
    /// Parameters of [`Random`]: none.
    pub struct RandomParams {
    }
}

/// A uniformly random arm in every round.
pub type Random = ArmBase<RandomParams>;

impl BaseParams for RandomParams {
    type Base = Random;
    const REAL_LOSSES: bool = true;

    const ENTRY: Entry = Entry {
        name: "random",
        summary: "A uniformly random arm in every round.",
        regret: "that of uniform play",
        ..super::fixed::CONSTANT
    };

    fn build(self, setup: &Setup) -> Result<Random, BaseError> {
        ArmBase::new(self, setup)
    }
}

impl ArmRule for RandomParams {
    type State = ();
    const HORIZON: bool = false;
    const RANGE_CHANGES: &'static [RangeChange] = &[RangeChange::Keep];

    fn range_change(&self) -> RangeChange {
        RangeChange::Keep
    }

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

    fn restore(&self, _: &mut (), _: &Now) -> Result<(), SnapshotError> {
        Ok(())
    }
}
