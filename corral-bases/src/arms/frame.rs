//! What bases without contexts share: the clock, the arms that are offered, checks of what comes back, snapshots.
//!
//! A round may offer fewer arms than were announced: the first ones, or those whose numbers it has. A rule chooses among those,
//! and its likelihoods are those of that choice. A decision is a place among them; what is learned is kept by number.

use std::fmt;

use corral_core::{LossDomain, Observation};
use serde::de::DeserializeOwned;

use crate::prelude::*;

/// The moment of a decision.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    /// Rounds, horizon and range.
    pub clock: Clock,
    /// How many arms there are.
    pub actions: usize,
    /// How many of them are offered: 0, 1, .. up to this.
    pub offered: usize,
    /// Where losses lie.
    pub losses: LossDomain,
}

/// How a base without contexts decides and learns. The rule is its parameters; what it learns is its state.
pub trait ArmRule: BaseParams {
    /// What it has learned. What follows from the rest is not written (`serde(skip)`) and filled by
    /// [`tune`](ArmRule::tune).
    type State: Clone + fmt::Debug + Send + Serialize + DeserializeOwned;

    /// The name in snapshots.
    const SAVED_AS: &'static str = Self::NAME;
    /// Whether anything is tuned for a horizon.
    const HORIZON: bool = true;
    /// What is known before the first round.
    ///
    /// # Errors
    /// The rule is not defined for so many arms.
    fn fresh(&self, now: &Now) -> Result<Self::State>;

    /// Sets what follows from state, horizon and range: after the state was made or read, and when the range changed.
    fn tune(&self, _state: &mut Self::State, _now: &Now) {}

    /// Proposes an offered arm.
    ///
    /// # Errors
    /// The state cannot produce one.
    fn propose(&self, state: &mut Self::State, now: &Now, rng: &mut dyn Rng) -> Result<Proposal<Arm>>;

    /// Whether it takes rounds that offer arms by their numbers: [`part`](ArmRule::part) is never `None` then.
    fn takes_offers(&self) -> bool {
        false
    }

    /// What is known of the arms with these numbers, as the state of a game that has no others: what is proposed, and how
    /// likely, follows from it. `None`: the rule needs all arms.
    fn part(&self, _state: &Self::State, _now: &Now, _numbers: &[u32]) -> Option<Self::State> {
        None
    }

    /// The probability of proposing the offered arm `arm`, and the memo of that proposal.
    fn likelihood(&self, state: &Self::State, now: &Now, arm: usize) -> Option<(f64, Memo)>;

    /// Learns what `arm` cost; `memo` came with its proposal.
    ///
    /// # Errors
    /// The memo is not of this base.
    fn learn(&self, _state: &mut Self::State, _now: &Now, _played: Played<'_>) -> Result {
        Ok(())
    }

    /// A round goes by without it; called where the abilities say that it wants passes.
    fn pass(&self, _state: &mut Self::State, _now: &Now) {}

    /// A round is over, and the clock has moved.
    ///
    /// # Errors
    /// The arithmetic failed.
    fn ticked(&self, _state: &mut Self::State, _now: &Now) -> Result {
        Ok(())
    }

    /// What it can do beyond what it must. A rule that learns from others needs no memo to do so.
    fn abilities(&self, _clock: &Clock) -> Abilities {
        Abilities::MODEL
    }

    /// Checks a state that was read back.
    ///
    /// # Errors
    /// No rounds lead to it.
    fn restore(&self, _state: &mut Self::State, _now: &Now) -> Result<(), SnapshotError> {
        Ok(())
    }
}

/// A base over arms that sees no context and decides by the rule `R`.
#[derive(Debug, Clone)]
pub struct ArmBase<R: ArmRule> {
    pub(crate) rule: R,
    losses: LossDomain,
    actions: usize,
    pub(crate) clock: Clock,
    pub(crate) state: R::State,
}

impl<R: ArmRule> Make<R> for ArmBase<R> {
    const KIND: Kind = Kind::Arms;

    fn make(rule: R, setup: &Setup) -> Result<Self> {
        let actions = arm_count(setup)?;
        let losses = if R::REAL_LOSSES { setup.losses } else { LossDomain::Unit };
        let clock = given::<R>(Clock::new(setup));
        let now = Now { clock, actions, offered: actions, losses };
        let mut state = rule.fresh(&now)?;
        rule.tune(&mut state, &now);
        Ok(Self { rule, losses, actions, clock, state })
    }
}

impl<R: ArmRule> ArmBase<R> {
    /// With all arms offered.
    pub(crate) fn now(&self) -> Now {
        Now { clock: self.clock, actions: self.actions, offered: self.actions, losses: self.losses }
    }

    #[inline]
    fn at<X: Observation + ?Sized>(&self, x: &X) -> Result<Now> {
        let now = Now { offered: check_offered(x.offered(), self.actions)?, ..self.now() };
        if let Some(numbers) = x.offer().filter(|numbers| {
            numbers.len() != now.offered || numbers.iter().any(|number| *number as usize >= now.actions)
        }) {
            return Err(BaseError::Numbers { numbers: numbers.to_vec(), actions: now.actions });
        }
        Ok(now)
    }

    /// The state of a game with the arms of these numbers alone.
    fn part(&self, now: &Now, numbers: &[u32]) -> Result<R::State> {
        let left_out = || BaseError::LeftOut { base: R::NAME.to_owned() };
        self.rule.part(&self.state, now, numbers).ok_or_else(left_out)
    }

    fn tick(&mut self) -> Result {
        self.clock.tick();
        let outlasted = self.clock.outlast();
        let now = self.now();
        if outlasted {
            self.rule.tune(&mut self.state, &now);
        }
        self.rule.ticked(&mut self.state, &now)
    }
}

/// The clock as the rule is given it.
fn given<R: ArmRule>(clock: Clock) -> Clock {
    if R::HORIZON { clock } else { Clock { horizon: None, ..clock } }
}

impl<R: ArmRule, X: Observation + ?Sized> Base<X, Arm> for ArmBase<R> {
    fn propose(&mut self, x: &X, rng: &mut dyn Rng) -> Result<Proposal<Arm>> {
        let now = self.at(x)?;
        match x.offer() {
            None => self.rule.propose(&mut self.state, &now, rng),
            Some(numbers) => self.rule.propose(&mut self.part(&now, numbers)?, &now, rng),
        }
    }

    fn learn(&mut self, x: &X, made: &Proposal<Arm>, feedback: Feedback) -> Result {
        let now = self.at(x)?;
        let feedback = feedback.check_in(self.losses, self.clock.range)?;
        let place = check_arm(made.decision, now.offered)?;
        let arm = x.offer().map_or(place, |numbers| numbers[place] as usize);
        self.rule.learn(&mut self.state, &now, Played { arm, memo: &made.memo, feedback })?;
        self.tick()
    }

    fn pass(&mut self, x: &X) -> Result {
        let now = self.at(x)?;
        if x.offer().is_some() && !self.rule.takes_offers() {
            return Err(BaseError::LeftOut { base: R::NAME.to_owned() });
        }
        if self.rule.abilities(&self.clock).wants_passes {
            self.rule.pass(&mut self.state, &now);
            self.tick()?;
        }
        Ok(())
    }

    fn likelihood(&self, x: &X, decision: &Arm) -> Option<(f64, Memo)> {
        let now = self.at(x).ok()?;
        if decision.index() >= now.offered {
            return Some((0.0, Memo::empty()));
        }
        match x.offer() {
            None => self.rule.likelihood(&self.state, &now, decision.index()),
            Some(numbers) => self.rule.likelihood(&self.part(&now, numbers).ok()?, &now, decision.index()),
        }
    }

    fn abilities(&self) -> Abilities {
        Abilities { takes_offers: self.rule.takes_offers(), ..self.rule.abilities(&self.clock) }
    }

    fn apply_order(&mut self, order: Order) -> Result {
        let mut clock = self.clock;
        let forget = clock.apply_order(order, self.rule.range_change())?;
        let now = Now { clock: given::<R>(clock), ..self.now() };
        if forget {
            self.state = self.rule.fresh(&now)?;
        }
        self.clock = now.clock;
        self.rule.tune(&mut self.state, &now);
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        seal(R::SAVED_AS, &self.rule, &(&self.clock, &self.state))
    }

    fn load(&mut self, state: &[u8]) -> Result {
        let (clock, mut state): (Clock, R::State) = reopen(R::SAVED_AS, &self.rule, state)?;
        clock.valid()?;
        let now = Now { clock, ..self.now() };
        self.rule.restore(&mut state, &now)?;
        self.rule.tune(&mut state, &now);
        (self.clock, self.state) = (clock, state);
        Ok(())
    }
}
