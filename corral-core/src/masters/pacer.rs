//! Pacer: keeps what decisions cost on average at a budget, over bases that weigh cost against loss at rising prices.
//!
//! Base l learns loss and cost at price lambda_l (`price` of a band below): the first has no price, the last looks at costs alone. The
//! place u among them is the dual variable of the constraint mean cost <= B, as in primal-dual bandits with knapsacks (Badanidiyuru,
//! Kleinberg, Slivkins 2018; Li, Sun, Ye 2021), with what was spent too much beside it:
//!
//! ```text
//! D <- max(D + e/B - 1, -u_0/step)                a decision: e is what its action is expected to cost; credit is bounded
//! D <- max(D + (c - e)/B, -u_0/step)              its cost c: the estimate is put right
//! u = v + step D, in [0, L - 1]                   followed: the bases on both sides of u, by how near they are
//! v <- v + (step^2/8) D, in [0, L - 1]            where u is inside: the place at which nothing is owed; v_0 = u_0
//! ```
//!
//! So in every run sum_t c_t <= B (T + (L - 1)/step) + C + E, with C the largest cost and E what decisions of the last base alone cost
//! beyond B each, where each cost is learned before the next decision: the proof is in docs/practical.md#a-budget. The best policy within a
//! budget is a mixture of two prices, which is what is followed. No theorem says how little loss that has: bases learn as they do in any
//! band that feeds everyone.
//!
//! e is the mean cost of the action, over the last 64 costs or so. It is held for each decision whose cost is not known, and held anew where the mean
//! moves, for at most 64 of them. A decision of which nothing will be known (it was learned without a cost) is counted at what was held.

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
    /// v
    level: f64,
    /// Decisions that were paid, and the sum of their costs.
    rounds: u64,
    spent: f64,
    /// Decisions of which no cost will be known, and the sum of what they were expected to cost.
    unknown: u64,
    guessed: f64,
    accounts: Vec<Account>,
}

/// What is known of the costs of an action.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Account {
    /// Decisions whose cost is not known yet, and what is held for all of them.
    open: u64,
    held: f64,
    /// How many costs are known, and their mean over the last ones.
    known: u64,
    mean: f64,
}

/// The mean cost of an action looks back over as many.
const MEMORY: u64 = 64;

/// v moves by D times step^2 over this.
const SLOWER: f64 = 8.0;

impl Account {
    /// What a decision is expected to cost, where costs are `per_round` as long as nothing is known.
    fn expected(&self, per_round: f64) -> f64 {
        if self.known > 0 { self.mean } else { per_round }
    }

    fn is_sound(&self) -> bool {
        [self.held, self.mean].iter().all(|v| (0.0..=f64::MAX).contains(v))
    }
}

impl PacerRule {
    /// u_0: half way.
    fn start(&self) -> f64 {
        0.5 * (self.bases - 1) as f64
    }

    /// The last place.
    fn end(&self) -> f64 {
        (self.bases - 1) as f64
    }

    /// u, where it may be beyond the ends.
    fn aim(&self) -> f64 {
        self.level + self.params.step * self.debt
    }

    /// Moves D by what a sum of money is in budgets.
    fn owe(&mut self, budgets: f64) {
        self.debt = (self.debt + budgets).clamp(-self.start() / self.params.step, f64::MAX);
    }

    fn account(&mut self, action: usize) -> &mut Account {
        if action >= self.accounts.len() {
            self.accounts.resize(action + 1, Account::default());
        }
        &mut self.accounts[action]
    }
}

impl Rule for PacerRule {
    type Params = PacerParams;

    const NAME: &'static str = "pacer";

    const FORM: u16 = 3;

    const NEEDS_COST: bool = true;

    fn takes_real_losses(_: &PacerParams) -> bool {
        true
    }

    fn new(params: &PacerParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        let mut rule = Self {
            params: params.clone(),
            bases: setup.bases,
            debt: 0.0,
            level: 0.0,
            rounds: 0,
            spent: 0.0,
            unknown: 0,
            guessed: 0.0,
            accounts: Vec::new(),
        };
        rule.level = rule.start();
        Ok(rule)
    }

    fn begin(&mut self, _: &[Experience]) -> Result<(), ParamError> {
        Err(Experience::refuse(
            "means nothing to a master that chooses among prices, not among bases: give it to the master below",
        ))
    }

    fn learn(&mut self, _: Credited<'_>) -> Result<(), MasterError> {
        Ok(())
    }

    fn chose(&mut self, action: usize) {
        let per_round = self.params.per_round;
        let account = self.account(action);
        let expected = account.expected(per_round);
        (account.open, account.held) = (account.open + 1, (account.held + expected).min(f64::MAX));
        self.owe(expected / per_round - 1.0);
        let (aim, end) = (self.aim(), self.end());
        if (aim < end || self.debt < 0.0) && (aim > 0.0 || self.debt > 0.0) {
            let step = self.params.step;
            self.level = (self.level + step * step / SLOWER * self.debt).clamp(0.0, end);
        }
    }

    fn paid(&mut self, action: usize, cost: Option<f64>) {
        if self.account(action).open == 0 {
            // Chosen by another copy of the band, or before it was loaded.
            self.chose(action);
        }
        let per_round = self.params.per_round;
        let account = self.account(action);
        let held = account.held / account.open as f64;
        account.open -= 1;
        account.held = if account.open > 0 { (account.held - held).max(0.0) } else { 0.0 };
        let Some(cost) = cost else {
            (self.unknown, self.guessed) = (self.unknown + 1, (self.guessed + held).min(f64::MAX));
            return;
        };
        let before = account.expected(per_round);
        account.known += 1;
        account.mean += (cost - account.mean) / account.known.min(MEMORY) as f64;
        // What is held for the others follows the mean.
        let anew = (account.mean - before) * account.open.min(MEMORY) as f64;
        let anew = anew.clamp(-account.held, f64::MAX - account.held);
        account.held += anew;
        self.owe(((cost - held) + anew) / per_round);
        (self.rounds, self.spent) = (self.rounds + 1, (self.spent + cost).min(f64::MAX));
    }

    fn spending(&self) -> Option<Spending> {
        let mean = |sum: f64, rounds: u64| if rounds > 0 { sum / rounds as f64 } else { 0.0 };
        let open: u64 = self.accounts.iter().map(|account| account.open).sum();
        let held: f64 = self.accounts.iter().map(|account| account.held).sum();
        let unknown = self.unknown + open;
        let expected = mean(self.spent + self.guessed + held, self.rounds + unknown);
        let per_round = self.params.per_round;
        Some(Spending {
            per_round,
            rounds: self.rounds,
            mean: mean(self.spent, self.rounds),
            unknown,
            expected,
        })
    }

    /// The bases on both sides of u; one that is retired leaves its part to the next dearer price, or the last before it.
    fn distribute(&mut self, roster: &Roster, out: &mut [f64]) {
        let (place, last) = (self.aim().clamp(0.0, self.end()), self.bases - 1);
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
        let sums = [state.spent, state.guessed].iter().all(|sum| (0.0..=f64::MAX).contains(sum));
        let inside = (0.0..=self.end()).contains(&state.level);
        if !(sound && sums && inside && state.accounts.iter().all(Account::is_sound)) {
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

    /// A decision, and its cost at once.
    fn pay(master: &mut Pacer, cost: f64) {
        master.chose(0);
        master.paid(0, Some(cost));
    }

    fn near(master: &Pacer, expected: [f64; 5]) {
        let found = master.probabilities();
        assert!(found.iter().zip(expected).all(|(p, e)| (p - e).abs() < 0.02), "{found:?}, not {expected:?}");
    }

    #[test]
    fn the_price_follows_what_was_spent() {
        let mut master = pacer(0.25);
        assert_eq!(master.probabilities(), [0.0, 0.0, 1.0, 0.0, 0.0]);
        // One budget too much is a quarter of a base; v has not moved, for the first cost was expected to be a budget.
        pay(&mut master, 4.0);
        assert_eq!(master.probabilities(), [0.0, 0.0, 0.75, 0.25, 0.0]);
        pay(&mut master, 0.0);
        near(&master, [0.0, 0.0, 1.0, 0.0, 0.0]);
        // What was not spent is credit for u_0/step = 8 rounds, and no more.
        (0..100).for_each(|_| pay(&mut master, 0.0));
        assert_eq!(master.probabilities(), [1.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(master.rule().debt, -8.0);
        // A debt is paid back in full: 3 budgets of 100 too much, and a budget saved in each round that costs nothing.
        (0..100).for_each(|_| pay(&mut master, 8.0));
        assert_eq!(master.probabilities(), [0.0, 0.0, 0.0, 0.0, 1.0]);
        let owed = master.rule().debt;
        // The first of them was expected to cost nothing, which is no credit any more.
        assert!((292.0..293.0).contains(&owed), "{owed}");
        (0..292).for_each(|_| pay(&mut master, 0.0));
        assert!((master.rule().debt - (owed - 292.0)).abs() < 1e-9);
    }

    #[test]
    fn what_is_owed_all_the_time_moves_the_place_where_nothing_is() {
        // Costs that keep the budget at place 2.6 alone: D goes to 0, and u stays.
        let mut master = pacer(0.05);
        for _ in 0..4_000 {
            let costs = [2.6, 2.6, 2.6, 1.6, 0.6];
            let cost = master.probabilities().iter().zip(costs).map(|(p, c)| p * c).sum();
            pay(&mut master, cost);
        }
        near(&master, [0.0, 0.0, 0.4, 0.6, 0.0]);
        assert!(master.rule().debt.abs() < 0.01, "{}", master.rule().debt);
    }

    #[test]
    fn costs_that_are_late_are_expected() {
        let mut master = pacer(0.01);
        // An action of 20 and one of 1, ten budgets and half of one.
        master.chose(0);
        master.paid(0, Some(20.0));
        master.chose(1);
        master.paid(1, Some(1.0));
        let debt = |master: &Pacer| master.rule().debt;
        assert_eq!(debt(&master), 8.5);
        (0..10).for_each(|_| master.chose(0));
        assert_eq!(debt(&master), 98.5);
        // They cost more than they did: the others are expected to, as far as one cost in three says so.
        master.paid(0, Some(29.0));
        let spent = |master: &Pacer| master.telemetry().spending.unwrap();
        assert_eq!((spent(&master).rounds, spent(&master).unknown), (3, 9));
        assert_eq!(debt(&master), 98.5 + 9.0 / 2.0 + 9.0 * 4.5 / 2.0);
        (0..8).for_each(|_| master.paid(0, Some(29.0)));
        // One will never be known, and counts as what it was expected to cost.
        master.paid(0, None);
        let Spending { rounds, mean, unknown, expected, .. } = spent(&master);
        assert_eq!((rounds, unknown), (11, 1));
        assert_eq!(mean, (21.0 + 9.0 * 29.0) / 11.0);
        assert!((28.0..29.0).contains(&(12.0 * expected - 11.0 * mean)), "{expected}");
        assert!((debt(&master) - (12.0 * expected / 2.0 - 12.0)).abs() < 1e-9);
        // A ticket of another copy is paid for too.
        let before = debt(&master);
        master.paid(1, Some(1.0));
        assert_eq!(debt(&master), before - 0.5);
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
