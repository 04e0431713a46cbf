//! What bases over policies share: the class, the clock, the actions that are offered, checks of what comes back, snapshots.
//!
//! A round may offer fewer actions than were announced: the first ones. A policy whose action is not offered plays the
//! last one that is (docs/bases.md#actions-that-are-not-offered), so that every policy has an action in every round, and
//! probabilities and estimates are those of these actions.

use std::ops::Range;

use corral_core::policy::Policy;
use serde::de::DeserializeOwned;

use super::class::{Policies, PolicyClass};
use crate::prelude::*;

/// What is seen in a round, and how many actions it offers: 0, 1, .. up to `offered`.
#[derive(Debug, Clone, Copy)]
pub struct Offer<'a> {
    /// The context.
    pub x: &'a Context,
    /// How many actions are offered.
    pub offered: usize,
}

impl Offer<'_> {
    /// What `policy` plays.
    #[inline]
    pub fn action(&self, policy: &Policy) -> Option<usize> {
        Some(policy.act(self.x)?.min(self.offered - 1))
    }

    /// The actions of `all` for which the offered action `arm` is played: itself, and those that it stands in for.
    pub fn played_as(&self, arm: usize, all: usize) -> Range<usize> {
        arm..if arm + 1 == self.offered { all } else { arm + 1 }
    }
}

/// Parameters that name policies.
pub trait OverPolicies {
    /// Which policies.
    fn policies(&self) -> &Policies;
}

/// How a base over policies decides and learns: its parameters `Self` are the rule of a [`PolicyBase`].
pub trait PolicyRule: BaseParams + OverPolicies {
    /// What it has learned.
    type State: Clone + Send + Serialize + DeserializeOwned;
    /// What follows from class, clock and state, and is not written into snapshots.
    type Work: Clone + Send;

    /// Buffers and tables for the class in the world of `setup`.
    ///
    /// # Errors
    /// The class cannot be used.
    fn work(&self, class: &PolicyClass, setup: &Setup) -> Result<Self::Work>;

    /// What is known before the first round.
    ///
    /// # Errors
    /// The class cannot be used.
    fn fresh(&self, class: &PolicyClass, work: &Self::Work) -> Result<Self::State>;

    /// The state was made or read: sets the work for it.
    ///
    /// # Errors
    /// What the clock says cannot be used.
    fn tune(_base: &mut PolicyBase<Self>) -> Result {
        Ok(())
    }

    /// The clock was told another range or horizon, and the state is kept.
    ///
    /// # Errors
    /// What the clock says cannot be used.
    fn retune(_base: &mut PolicyBase<Self>) -> Result {
        Ok(())
    }

    /// Proposes an offered action.
    ///
    /// # Errors
    /// The state cannot produce one.
    fn propose(base: &mut PolicyBase<Self>, round: Offer<'_>, rng: &mut dyn Rng) -> Result<Proposal<Arm>>;

    /// The probability of proposing `arm`, and the memo of that proposal.
    fn likelihood(base: &PolicyBase<Self>, round: Offer<'_>, arm: usize) -> Option<(f64, Memo)>;

    /// Learns what the offered action `arm` cost; `memo` came with its proposal.
    ///
    /// # Errors
    /// The memo is not of this base.
    fn learn(base: &mut PolicyBase<Self>, round: Offer<'_>, played: Played<'_>) -> Result;

    /// A round goes by without it.
    ///
    /// # Errors
    /// The arithmetic failed.
    fn pass(_base: &mut PolicyBase<Self>, _round: Offer<'_>) -> Result {
        Ok(())
    }

    /// A round is over, and the clock has moved.
    ///
    /// # Errors
    /// The oracle failed.
    fn ticked(_base: &mut PolicyBase<Self>) -> Result {
        Ok(())
    }

    /// Checks a state that was read back.
    ///
    /// # Errors
    /// No rounds lead to it.
    fn restore(base: &PolicyBase<Self>, state: &mut Self::State, clock: &Clock) -> Result<(), SnapshotError>;
}

/// A base over policies that decides by the rule `R`.
#[derive(Clone)]
pub struct PolicyBase<R: PolicyRule> {
    pub(crate) rule: R,
    pub(crate) class: PolicyClass,
    pub(crate) clock: Clock,
    pub(crate) state: R::State,
    pub(crate) work: R::Work,
}

impl<R: PolicyRule> PolicyBase<R> {
    /// How many actions there are.
    pub(crate) fn actions(&self) -> usize {
        self.class.reads().actions
    }

    fn round<'a>(&self, x: &'a Context) -> Result<Offer<'a>> {
        Ok(Offer { x, offered: self.class.reads().check(x)? })
    }

    fn tick(&mut self) -> Result {
        self.clock.tick();
        R::ticked(self)
    }

    /// Goes on from `state`; where that cannot be, nothing changed.
    fn begin(&mut self, clock: Clock, state: R::State) -> Result {
        let before = (self.clock, std::mem::replace(&mut self.state, state));
        self.clock = clock;
        R::tune(self).inspect_err(|_| (self.clock, self.state) = before)
    }
}

impl<R: PolicyRule> Make<R> for PolicyBase<R> {
    const KIND: Kind = Kind::Contextual;

    fn make(rule: R, setup: &Setup) -> Result<Self> {
        let class = rule.policies().class(setup)?;
        let work = rule.work(&class, setup)?;
        let state = rule.fresh(&class, &work)?;
        let mut base = Self { rule, class, clock: Clock::new(setup), state, work };
        R::tune(&mut base)?;
        Ok(base)
    }
}

/// The error of a policy that has no action at a context.
pub(super) fn undefined<R: BaseParams>() -> BaseError {
    BaseError::Failed(format!("a policy of {} is not defined at the context", R::NAME))
}

impl<R: PolicyRule> Base<Context, Arm> for PolicyBase<R> {
    fn propose(&mut self, x: &Context, rng: &mut dyn Rng) -> Result<Proposal<Arm>> {
        let round = self.round(x)?;
        R::propose(self, round, rng)
    }

    fn learn(&mut self, x: &Context, made: &Proposal<Arm>, feedback: Feedback) -> Result {
        let feedback = feedback.check(self.clock.range)?;
        let round = self.round(x)?;
        let arm = check_arm(made.decision, round.offered)?;
        R::learn(self, round, Played { arm, memo: &made.memo, feedback })?;
        self.tick()
    }

    fn likelihood(&self, x: &Context, decision: &Arm) -> Option<(f64, Memo)> {
        R::likelihood(self, self.round(x).ok()?, decision.index())
    }

    fn abilities(&self) -> Abilities {
        Abilities { wants_passes: true, ..Abilities::OWN }
    }

    /// Restarts with the rounds that are left, or keeps what was learned and goes on with the rounds that are left.
    fn apply_order(&mut self, order: Order) -> Result {
        let mut clock = self.clock;
        if clock.apply_order(order, self.rule.range_change())? {
            if self.rule.needs_horizon() && clock.horizon.is_none() {
                let left = |horizon: u64| horizon.saturating_sub(self.clock.rounds).max(1);
                clock.horizon = self.clock.horizon.map(left);
            }
            let state = self.rule.fresh(&self.class, &self.work)?;
            self.begin(clock, state).map_err(|e| BaseError::Failed(e.to_string()))?;
        } else if R::RANGE_CHANGES.contains(&RangeChange::Retune) {
            let horizon = order.remaining().map(|left| clock.rounds.saturating_add(left)).or(clock.horizon);
            self.clock = Clock { horizon, ..clock };
            R::retune(self)?;
        }
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        seal(R::NAME, &self.rule, &(&self.clock, &self.state))
    }

    fn load(&mut self, state: &[u8]) -> Result {
        let (clock, mut state): (Clock, R::State) = reopen(R::NAME, &self.rule, state)?;
        clock.valid()?;
        ensure(!self.rule.needs_horizon() || clock.horizon.is_some(), "it has no horizon")?;
        R::restore(self, &mut state, &clock)?;
        Ok(self.begin(clock, state).map_err(SnapshotError::state)?)
    }

    fn extra(&mut self) -> Option<&mut dyn BaseExtra<Context, Arm>> {
        Some(self)
    }
}

impl<R: PolicyRule> BaseExtra<Context, Arm> for PolicyBase<R> {
    fn pass(&mut self, x: &Context) -> Result {
        let round = self.round(x)?;
        R::pass(self, round)?;
        self.tick()
    }
}
