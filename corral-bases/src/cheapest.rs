//! The action that costs the least money, whatever its loss: what a band with a budget falls back on.
//!
//! The mean cost of each action is taken over its last 64 costs or so, those of unrated decisions included. Followed is the least
//! mean among the offered actions. Where that is above the budget B a decision, nothing that is known keeps it, and another is looked at: one of which no cost is known; else one that was
//! not seen for so many rounds that what it cost then is a twentieth of their budgets, for its price may have fallen. What it costs after
//! such a time is its mean.

use corral_core::Observation;

use crate::prelude::*;

/// What is known of the costs of an action.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Costs {
    known: u64,
    mean: f64,
    /// The round of the last one.
    last: u64,
}

/// Follows the least mean cost.
#[derive(Debug, Clone)]
pub struct Cheapest {
    per_round: f64,
    /// Rounds that were learned.
    round: u64,
    actions: Vec<Costs>,
}

/// The mean cost of an action looks back over as many.
const MEMORY: u64 = 64;

/// What looks at dear actions may cost, in budgets.
const LOOK: f64 = 0.05;

impl Cheapest {
    /// What recipes call it, in the place of a master.
    pub const NAME: &'static str = "cheapest";

    /// Over the actions of `setup`, with a budget of `per_round` a decision.
    ///
    /// # Errors
    /// The budget is not positive, or decisions are points.
    pub fn new(per_round: f64, setup: &Setup) -> Result<Self> {
        ParamError::positive("per_round", per_round)?;
        Ok(Self { per_round, round: 0, actions: vec![Costs::default(); arm_count(setup)?] })
    }

    /// The offered action of place `place`.
    fn number<X: Observation + ?Sized>(x: &X, place: usize) -> usize {
        x.offer().and_then(|offer| offer.get(place)).map_or(place, |number| *number as usize)
    }

    /// How long an action was not seen, in the time after which it is looked at again.
    fn waited(&self, Costs { mean, last, .. }: Costs) -> f64 {
        LOOK * self.per_round * self.round.saturating_sub(last) as f64 / mean
    }

    /// The place that is followed at `x`.
    fn place<X: Observation + ?Sized>(&self, x: &X) -> Result<usize> {
        let offered = check_offered(x.offered(), self.actions.len())?;
        let costs = |place: usize| self.actions.get(Self::number(x, place)).copied().unwrap_or_default();
        let known = (0..offered).filter(|place| costs(*place).known > 0);
        let best = known.min_by(|a, b| costs(*a).mean.total_cmp(&costs(*b).mean));
        let Some(best) = best else { return Ok(0) };
        if costs(best).mean <= self.per_round {
            return Ok(best);
        }
        if let Some(new) = (0..offered).find(|place| costs(*place).known == 0) {
            return Ok(new);
        }
        let waited = |place: usize| self.waited(costs(place));
        let late = (0..offered).filter(|place| *place != best && waited(*place) >= 1.0);
        Ok(late.max_by(|a, b| waited(*a).total_cmp(&waited(*b))).unwrap_or(best))
    }
}

impl<X: Observation + ?Sized> Base<X, Arm> for Cheapest {
    fn propose(&mut self, x: &X, _rng: &mut dyn Rng) -> Result<Proposal<Arm>> {
        Ok(Proposal::new(Arm::at(self.place(x)?)))
    }

    fn learn(&mut self, x: &X, made: &Proposal<Arm>, feedback: Feedback) -> Result {
        let feedback = feedback.check(f64::MAX)?;
        let place = check_arm(made.decision, check_offered(x.offered(), self.actions.len())?)?;
        self.round += 1;
        let number = Self::number(x, place);
        let known = self.actions.get(number).copied();
        if let (Some(cost), Some(mut costs)) = (feedback.cost(), known) {
            if costs.mean > self.per_round && self.waited(costs) >= 1.0 {
                costs = Costs::default();
            }
            costs.known += 1;
            costs.mean += (cost - costs.mean) / costs.known.min(MEMORY) as f64;
            costs.last = self.round;
            self.actions[number] = costs;
        }
        Ok(())
    }

    fn likelihood(&self, x: &X, decision: &Arm) -> Option<(f64, Memo)> {
        let followed = self.place(x).ok()? == decision.index();
        Some((f64::from(u8::from(followed)), Memo::empty()))
    }

    fn abilities(&self) -> Abilities {
        Abilities { takes_offers: true, ..Abilities::MODEL }
    }

    fn apply_order(&mut self, order: Order) -> Result {
        if order.check()?.starts_over() {
            self.round = 0;
            self.actions.fill(Costs::default());
        }
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        corral_core::snapshot::seal(Self::NAME, 1, &(self.per_round, self.round, &self.actions))
    }

    fn load(&mut self, state: &[u8]) -> Result {
        let (per_round, round, actions): (f64, u64, Vec<Costs>) =
            corral_core::snapshot::open(Self::NAME, 1, state)?;
        ensure(per_round == self.per_round, "its budget is another")?;
        ensure(actions.len() == self.actions.len(), "it is over another number of actions")?;
        let sound = |c: &Costs| (0.0..=f64::MAX).contains(&c.mean) && c.last <= round && c.known <= round;
        ensure(actions.iter().all(sound), "costs that cannot be")?;
        (self.round, self.actions) = (round, actions);
        Ok(())
    }

    fn extra(&mut self) -> Option<&mut dyn BaseExtra<X, Arm>> {
        Some(self)
    }
}

impl<X: Observation + ?Sized> BaseExtra<X, Arm> for Cheapest {
    fn takes_cost(&mut self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn follow(base: &mut Cheapest, x: &Context, costs: &[f64]) -> usize {
        let mut rng = rand_pcg::Pcg64Dxsm::seed_from_u64(1);
        let made = base.propose(x, &mut rng).unwrap();
        let number = Cheapest::number(x, made.decision.index());
        base.learn(x, &made, Feedback::unseen().with_cost(costs[number])).unwrap();
        number
    }

    #[test]
    fn the_least_mean_is_followed_and_dear_actions_are_looked_at_when_nothing_keeps_the_budget() {
        let (mut base, x) = (Cheapest::new(1.0, &Setup::arms(3, None)).unwrap(), Context::plain(3));
        // The first keeps the budget: the others are not looked at.
        assert_eq!((0..3).map(|_| follow(&mut base, &x, &[0.9, 0.1, 0.1])).collect::<Vec<_>>(), [0, 0, 0]);
        // It becomes dear: what is unknown is looked at, and the cheapest of all followed.
        let costs = [90.0, 70.0, 0.5];
        assert_eq!((0..4).map(|_| follow(&mut base, &x, &costs)).collect::<Vec<_>>(), [0, 1, 2, 2]);
        // It is followed where it is offered alone, by its number.
        let two = Context::plain(2).offering(vec![0, 2]);
        assert_eq!(follow(&mut base, &two, &costs), 2);
        // Nothing keeps the budget any more, and the price of the second has fallen since: it is found after 20 rounds for each budget.
        let costs = [90.0, 0.2, 2.0];
        let played: Vec<usize> = (0..2_000).map(|_| follow(&mut base, &x, &costs)).collect();
        let found = played.iter().position(|a| *a == 1).unwrap();
        assert!((1_390..1_500).contains(&found), "{found}");
        assert!(played[found..].iter().all(|a| *a == 1));
        assert!(played.iter().filter(|a| **a == 0).count() <= 1);
    }
}
