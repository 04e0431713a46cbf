//! Pacer: keeps what decisions cost on average at a budget, over bases that weigh cost against loss at rising prices.
//!
//! Base l learns f + lambda_l c (`price` of a band below): the first has no price, the last the highest. The place u among them
//! is the dual variable of the constraint mean cost <= B, as in primal-dual bandits with knapsacks (Badanidiyuru, Kleinberg, Slivkins
//! 2018; Li, Sun, Ye 2021):
//!
//! ```text
//! D_t = max(D_{t-1} + c_t/B - 1, -u_0/step)       what was spent above the budget, in rounds; credit is bounded
//! u_t = min(u_0 + step D_t, L - 1)                 followed: the bases on both sides of u, by how near they are
//! ```
//!
//! So in every run sum_t c_t <= B (T + (L - 1 - u_0)/step) + the largest c, as long as no decision of the last base costs more than B and
//! each cost is learned before the next decision: D never passes the last base's place by more than one cost. The best policy within a budget is a mixture of two prices, which is
//! what is followed. No theorem says how little loss that has: bases learn as they do in any band that feeds everyone.

use super::prelude::*;
use crate::Spending;

crate::params! {
    /// Parameters of [`Pacer`].
    pub struct PacerParams {
        /// The budget B: what a decision may cost on average.
        per_round: f64 = 1.0, Bounds::POSITIVE;
        /// How far the price moves for one budget that was spent too much, in bases: small follows the best mixture, large keeps
        /// the budget sooner.
        step: f64 = 0.05, Bounds::POSITIVE;
    }
}

/// Keeps the mean cost at a budget.
pub type Pacer = Ruled<PacerRule>;

/// The rule of [`Pacer`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PacerRule {
    params: PacerParams,
    bases: usize,
    /// D
    debt: f64,
    /// Decisions that were paid, and the sum of their costs.
    rounds: u64,
    spent: f64,
}

impl PacerRule {
    /// u_0: half way.
    fn start(&self) -> f64 {
        0.5 * (self.bases - 1) as f64
    }

    /// u
    fn place(&self) -> f64 {
        (self.start() + self.params.step * self.debt).clamp(0.0, (self.bases - 1) as f64)
    }
}

impl Rule for PacerRule {
    type Params = PacerParams;

    const NAME: &'static str = "pacer";

    const NEEDS_COST: bool = true;

    fn takes_real_losses(_: &PacerParams) -> bool {
        true
    }

    fn new(params: &PacerParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        Ok(Self { params: params.clone(), bases: setup.bases, debt: 0.0, rounds: 0, spent: 0.0 })
    }

    fn begin(&mut self, _: &[Experience]) -> Result<(), ParamError> {
        Err(Experience::refuse(
            "means nothing to a master that chooses among prices, not among bases: give it to the master below",
        ))
    }

    fn learn(&mut self, _: Credited<'_>) -> Result<(), MasterError> {
        Ok(())
    }

    fn paid(&mut self, cost: f64) {
        let over = cost / self.params.per_round - 1.0;
        self.debt = (self.debt + over).clamp(-self.start() / self.params.step, f64::MAX);
        (self.rounds, self.spent) = (self.rounds + 1, (self.spent + cost).min(f64::MAX));
    }

    fn spending(&self) -> Option<Spending> {
        let mean = if self.rounds > 0 { self.spent / self.rounds as f64 } else { 0.0 };
        Some(Spending { per_round: self.params.per_round, rounds: self.rounds, mean })
    }

    /// The bases on both sides of u; one that is retired leaves its part to the next dearer price, or the last before it.
    fn distribute(&mut self, roster: &Roster, out: &mut [f64]) {
        let (place, last) = (self.place(), self.bases - 1);
        let low = (place.floor() as usize).min(last);
        let part = place - low as f64;
        out.fill(0.0);
        for (base, p) in [(low, 1.0 - part), ((low + 1).min(last), part)] {
            let stands_in = (base..=last).chain((0..base).rev()).find(|i| roster.has(*i));
            if let Some(i) = stands_in.filter(|_| p > 0.0) {
                out[i] += p;
            }
        }
    }

    fn constants(&self) -> impl Serialize {
        (&self.params, self.bases)
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        let sound = state.debt >= -self.start() / self.params.step && state.debt.is_finite();
        let sums = (0.0..=f64::MAX).contains(&state.spent);
        if !(sound && sums) {
            return Err(SnapshotError::state("a debt that no costs can give"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Master, MasterExtra};

    fn pacer(step: f64) -> Pacer {
        Pacer::new(PacerParams { per_round: 2.0, step }, &MasterSetup::new(5, None)).unwrap()
    }

    #[test]
    fn the_price_follows_what_was_spent() {
        let mut master = pacer(0.25);
        assert_eq!(master.probabilities(), [0.0, 0.0, 1.0, 0.0, 0.0]);
        // One budget too much is a quarter of a base.
        master.paid(4.0);
        assert_eq!(master.probabilities(), [0.0, 0.0, 0.75, 0.25, 0.0]);
        master.paid(0.0);
        (0..2).for_each(|_| master.paid(0.0));
        assert_eq!(master.probabilities(), [0.0, 0.5, 0.5, 0.0, 0.0]);
        // What was not spent is credit for u_0/step = 8 rounds, and no more.
        (0..100).for_each(|_| master.paid(0.0));
        assert_eq!(master.probabilities(), [1.0, 0.0, 0.0, 0.0, 0.0]);
        (0..8).for_each(|_| master.paid(4.0));
        assert_eq!(master.probabilities(), [0.0, 0.0, 1.0, 0.0, 0.0]);
        // A debt is paid back in full.
        master.paid(2.0 * 101.0);
        (0..92).for_each(|_| master.paid(0.0));
        assert_eq!(master.probabilities(), [0.0, 0.0, 0.0, 0.0, 1.0]);
        (0..4).for_each(|_| master.paid(0.0));
        assert_eq!(master.probabilities(), [0.0, 0.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn a_retired_base_is_stood_in_for_by_a_dearer_price() {
        let mut master = pacer(0.25);
        master.retire(2).unwrap();
        assert_eq!(master.probabilities(), [0.0, 0.0, 0.0, 1.0, 0.0]);
        master.retire(3).unwrap();
        master.retire(4).unwrap();
        assert_eq!(master.probabilities(), [0.0, 1.0, 0.0, 0.0, 0.0]);
    }
}
