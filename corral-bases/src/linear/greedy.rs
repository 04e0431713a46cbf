//! Greedy with ridge regression: the action with the lowest predicted loss, and nothing else.
//!
//! No guarantee: it explores only by accident (random ties, diverse contexts), and is often hard to beat where contexts
//! are diverse. alpha is not defined.

use super::prelude::*;

base! {
    /// The action with the lowest predicted loss.
    "greedy": pub type Greedy = Linear<GreedyParams>;
    params {} with random_ties, lazy, ridge, real_losses
}

impl ActionRule for GreedyParams {
    fn weigh(&self, view: &View<'_>, weights: &mut [f64]) {
        put_on_lowest(self.ties, weights, |a| view.predictions[a]);
    }
}
