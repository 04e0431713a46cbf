//! What an ensemble would draw its decision from.

use super::{Ensemble, EnsembleError};
use crate::{Decision, Master, Observation};

impl<X: Observation, D: Decision, M: Master> Ensemble<X, D, M> {
    /// The probability of every arm that `x` offers, sum_i pbar_i pi_i(a | x), as [`choose`](Ensemble::choose) would draw it
    /// now, but for rounds of the [guard](crate::EnsembleParams::guard). Empty where `x` does not say how many arms it offers.
    ///
    /// # Errors
    /// A context that the ensemble was not built for, decisions that are no arms, or a base that can be drawn and cannot say
    /// its own probabilities.
    pub fn distribution(&self, x: &X) -> Result<Vec<f64>, EnsembleError> {
        if let Some(world) = &self.world {
            world.check(x)?;
        }
        let clipped = self.clipped(x)?;
        let x = clipped.as_deref().unwrap_or(x);
        D::arm(0).ok_or(EnsembleError::NoArms)?;
        let drawn = || self.seats.iter().zip(self.master.probabilities()).enumerate();
        let mut all = Vec::with_capacity(x.offered().unwrap_or_default());
        for arm in 0..x.offered().unwrap_or_default() {
            let arm = D::arm(arm).ok_or(EnsembleError::NoArms)?;
            let mut total = 0.0;
            for (base, (seat, probability)) in drawn().filter(|(_, (seat, p))| !seat.benched && **p > 0.0) {
                let failed = |why| EnsembleError::Base { base, why };
                let own = seat.likelihood(x, &arm).map_err(failed)?;
                let (own, _) = own.ok_or_else(|| EnsembleError::NoLikelihood(self.name(base)))?;
                total += probability * own.min(1.0);
            }
            all.push(total);
        }
        Ok(all)
    }
}
