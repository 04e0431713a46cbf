//! What bases over points share: the set, the clock, checks of what comes back, snapshots.
//!
//! Lazy ones learn from observed losses alone, of any points, and neither know nor need the weight
//! (docs/stability.md#lazy-bases). The others learn from loss * weight and what their own proposal carries in its memo.

use std::fmt;

use corral_core::LossDomain;
use serde::de::DeserializeOwned;

use super::{point_set, resize};
use crate::prelude::*;

/// How a base over points decides and learns: its parameters `Self` are the rule of a [`PointBase`].
pub trait PointRule: BaseParams {
    /// What it has learned.
    type State: Clone + fmt::Debug + Send + Serialize + DeserializeOwned;
    /// What follows from set, clock and state, and is not written into snapshots.
    type Work: Clone + fmt::Debug + Send;

    /// Whether it learns from observed losses alone, of any points.
    const LAZY: bool = true;

    /// Buffers for a base over `set`.
    ///
    /// # Errors
    /// The rule is not defined there.
    fn work(&self, set: &Set) -> Result<Self::Work>;

    /// What is known before the first round.
    fn fresh(&self, set: &Set, work: &Self::Work) -> Self::State;

    /// The state was made or read, or a lazy base has learned: sets the work for it.
    ///
    /// # Errors
    /// The arithmetic failed.
    fn tune(_base: &mut PointBase<Self>) -> Result {
        Ok(())
    }

    /// Writes a decision into `out`, and what it wants back into `memo`: the decision that it is sure of, unless it draws.
    ///
    /// # Errors
    /// The state cannot produce one.
    fn propose(base: &mut PointBase<Self>, _rng: &mut dyn Rng, out: &mut [f64], _memo: &mut Memo) -> Result {
        let nothing = || BaseError::Failed(String::from("it is not sure of a decision, and draws none"));
        out.copy_from_slice(Self::sure(base).ok_or_else(nothing)?);
        Ok(())
    }

    /// The decision that [`propose`](PointRule::propose) would write, where it does not draw.
    fn sure(_base: &PointBase<Self>) -> Option<&[f64]> {
        None
    }

    /// Learns that `x` cost `loss`, where it is lazy; [`tune`](PointRule::tune) follows. The clock has not ticked yet.
    ///
    /// # Errors
    /// The arithmetic failed.
    fn learn(_base: &mut PointBase<Self>, _x: &[f64], _loss: f64) -> Result {
        Ok(())
    }

    /// Learns from loss * weight and the memo of its proposal, where it is not lazy.
    ///
    /// # Errors
    /// The arithmetic failed.
    fn absorb(_base: &mut PointBase<Self>, _memo: &[f64], _feedback: Feedback) -> Result {
        Ok(())
    }

    /// A round is over, and the clock has moved.
    ///
    /// # Errors
    /// The arithmetic failed.
    fn ticked(_base: &mut PointBase<Self>) -> Result {
        Ok(())
    }

    /// Checks a state that was read back, and fills what was not written.
    ///
    /// # Errors
    /// No rounds lead to it.
    fn restore(base: &PointBase<Self>, state: &mut Self::State, clock: &Clock) -> Result;
}

/// A base over points that decides by the rule `R`.
#[derive(Debug, Clone)]
pub struct PointBase<R: PointRule> {
    pub(crate) rule: R,
    pub(crate) set: Set,
    pub(crate) clock: Clock,
    losses: LossDomain,
    pub(crate) state: R::State,
    pub(crate) work: R::Work,
}

impl<R: PointRule> PointBase<R> {
    /// The base over `set`.
    pub(super) fn over(rule: R, set: Set, setup: &Setup) -> Result<Self> {
        let work = rule.work(&set)?;
        let state = rule.fresh(&set, &work);
        let losses = if R::REAL_LOSSES { setup.losses } else { LossDomain::Unit };
        let mut base = Self { rule, set, clock: Clock::new(setup), losses, state, work };
        R::tune(&mut base)?;
        Ok(base)
    }

    /// Draws a decision into `made`.
    pub(super) fn draw(&mut self, rng: &mut dyn Rng, made: &mut Proposal<Point>) -> Result {
        made.memo.clear();
        let out = resize(&mut made.decision, self.set.dim());
        R::propose(self, rng, out, &mut made.memo)?;
        self.set.pull_inside(out);
        Ok(())
    }

    /// Learns from the memo of its own proposal, and lets the round go by.
    pub(super) fn take(&mut self, memo: &Memo, feedback: Feedback) -> Result {
        R::absorb(self, memo.numbers(), feedback.check(self.clock.range)?)?;
        self.tick()
    }

    pub(super) fn tick(&mut self) -> Result {
        self.clock.tick();
        R::ticked(self)
    }
}

impl<R: PointRule> Make<R> for PointBase<R> {
    const KIND: Kind = Kind::Points;

    fn make(rule: R, setup: &Setup) -> Result<Self> {
        Self::over(rule, point_set(setup)?.clone(), setup)
    }
}

impl<X: ?Sized, R: PointRule> Base<X, Point> for PointBase<R> {
    fn propose(&mut self, _: &X, rng: &mut dyn Rng) -> Result<Proposal<Point>> {
        let mut made = Proposal::default();
        self.draw(rng, &mut made)?;
        Ok(made)
    }

    fn learn(&mut self, _: &X, made: &Proposal<Point>, feedback: Feedback) -> Result {
        if !R::LAZY {
            return self.take(&made.memo, feedback);
        }
        let feedback = feedback.check_in(self.losses, self.clock.range)?;
        let x = made.decision.coordinates();
        if !self.set.contains(x) {
            return Err(BaseError::Proposal(format!("{x:?} is outside the set")));
        }
        if let Some(loss) = feedback.observed() {
            R::learn(self, x, loss)?;
            R::tune(self)?;
        }
        self.tick()
    }

    /// 1 or 0 where the decision is certain.
    fn likelihood(&self, _: &X, decision: &Point) -> Option<(f64, Memo)> {
        let mut sure = R::sure(self)?.to_vec();
        self.set.pull_inside(&mut sure);
        Some((f64::from(sure == decision.coordinates()), Memo::empty()))
    }

    fn abilities(&self) -> Abilities {
        Abilities { wants_passes: true, learns_from_others: R::LAZY, ..Abilities::MODEL }
    }

    fn apply_order(&mut self, order: Order) -> Result {
        if self.clock.apply_order(order, self.rule.range_change())? {
            self.state = self.rule.fresh(&self.set, &self.work);
            R::tune(self)?;
        }
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        seal(R::NAME, &self.rule, &(&self.set, &self.clock, &self.state))
    }

    fn load(&mut self, state: &[u8]) -> Result {
        let (set, clock, mut state): (Set, Clock, R::State) = reopen(R::NAME, &self.rule, state)?;
        clock.valid()?;
        ensure(set == self.set, "it was saved for another set")?;
        R::restore(self, &mut state, &clock)?;
        let mut next = Self { clock, state, ..self.clone() };
        R::tune(&mut next).map_err(SnapshotError::state)?;
        *self = next;
        Ok(())
    }

    fn extra(&mut self) -> Option<&mut dyn BaseExtra<X, Point>> {
        Some(self)
    }
}

impl<X: ?Sized, R: PointRule> BaseExtra<X, Point> for PointBase<R> {
    fn pass(&mut self, _: &X) -> Result {
        self.tick()
    }

    fn propose_into(&mut self, _: &X, rng: &mut dyn Rng, made: &mut Proposal<Point>) -> Result {
        self.draw(rng, made)
    }
}

/// The horizon where it is known, else the power of two that the rounds have not reached.
pub(super) fn horizon_or_doubling(clock: &Clock) -> f64 {
    clock.tuned().unwrap_or_else(|| (clock.rounds + 1).next_power_of_two().max(16) as f64)
}

/// Whether the last tick made [`horizon_or_doubling`] grow.
pub(super) fn doubled(clock: &Clock) -> bool {
    clock.horizon.is_none() && clock.rounds >= 16 && clock.rounds.is_power_of_two()
}

/// The direction that a memo holds: `dim` finite numbers.
pub(super) fn check_direction(memo: &[f64], dim: usize) -> Result<&[f64]> {
    if memo.len() == dim && memo.iter().all(|v| v.is_finite()) {
        return Ok(memo);
    }
    let found = memo.len();
    Err(BaseError::Proposal(format!("its memo has {found} numbers, not {dim} finite ones")))
}
