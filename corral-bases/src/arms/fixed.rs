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

/// Where [`Fixed`] finds its arm.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FixedState {
    /// Its place in a round that offers arms by their numbers.
    #[serde(skip)]
    place: Option<usize>,
}

impl FixedParams {
    fn arm(&self, state: &FixedState, now: &Now) -> usize {
        state.place.unwrap_or(self.arm).min(now.offered - 1)
    }
}

impl ArmRule for FixedParams {
    type State = FixedState;
    const HORIZON: bool = false;

    fn fresh(&self, now: &Now) -> Result<FixedState> {
        if self.arm < now.actions {
            return Ok(FixedState::default());
        }
        Err(ParamError::new("arm", self.arm, "below the number of actions").into())
    }

    fn takes_offers(&self) -> bool {
        true
    }

    fn part(&self, _: &FixedState, now: &Now, numbers: &[u32]) -> Option<FixedState> {
        let place = numbers.iter().position(|number| *number as usize == self.arm);
        Some(FixedState { place: place.or(Some(now.offered - 1)) })
    }

    fn propose(&self, state: &mut FixedState, now: &Now, _: &mut dyn Rng) -> Result<Proposal<Arm>> {
        Ok(Proposal::new(Arm::at(self.arm(state, now))))
    }

    fn likelihood(&self, state: &FixedState, now: &Now, arm: usize) -> Option<(f64, Memo)> {
        Some((f64::from(arm == self.arm(state, now)), Memo::empty()))
    }
}
