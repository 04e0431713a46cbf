//! What every base would have drawn its decision from.

use super::Ensemble;
use crate::{Master, Observation};

impl<X: ?Sized + Observation, D: Clone + PartialEq, M: Master> Ensemble<X, D, M> {
    /// Every base's own probability of every arm that `x` offers, one base after the other; NaN for a base that cannot say them
    /// or is benched. Empty where decisions are no arms, or the world is not known.
    pub(super) fn whole(&self, x: &X) -> Vec<f64> {
        let (Some(world), Some(offered)) = (&self.world, x.offered()) else { return Vec::new() };
        let arms: Option<Vec<D>> = (0..offered).map(|arm| world.at(arm)).collect();
        let Some(arms) = arms else { return Vec::new() };
        let mut all = Vec::with_capacity(arms.len() * self.seats.len());
        for seat in &self.seats {
            let own = |arm: &D| match seat.likelihood(x, arm) {
                Ok(Some((own, _))) if !seat.benched => own.min(1.0),
                _ => f64::NAN,
            };
            all.extend(arms.iter().map(own));
        }
        all
    }
}
