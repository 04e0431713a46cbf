//! What bases without contexts share: the clock, the arms that are offered, checks of what comes back, snapshots.
//!
//! A round may offer fewer arms than were announced: the first ones, or those whose numbers it has. A rule chooses among those,
//! and its likelihoods are those of that choice. A decision is a place among them; what is learned is kept by number. Arms that no
//! round has offered yet are not counted where a rule is tuned for K (docs/bases.md#actions-that-are-not-offered).

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
    /// K: how many of them rounds have offered so far; in the first round those that it offers.
    pub met: usize,
    /// How many of them are offered: 0, 1, .. up to this.
    pub offered: usize,
    /// Where losses lie.
    pub losses: LossDomain,
}

/// A round that is learned: what was played, by its number, and what the round offered.
#[derive(Debug, Clone, Copy)]
pub struct Round<'a> {
    /// What came of the proposal.
    pub played: Played<'a>,
    /// The numbers of the offered arms, in order; `None`: the first [`Now::offered`].
    pub numbers: Option<&'a [u32]>,
}

impl Round<'_> {
    /// The numbers of the arms that were not offered.
    pub fn absent(&self, now: &Now) -> impl Iterator<Item = usize> {
        let (mut offered, first) = (self.numbers.unwrap_or_default(), now.offered);
        let named = self.numbers.is_some();
        (0..now.actions).filter(move |arm| match offered.split_first() {
            Some((next, rest)) if *next as usize == *arm => {
                offered = rest;
                false
            }
            _ => named || *arm >= first,
        })
    }
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

    /// Proposes a place among the arms with these numbers.
    ///
    /// # Errors
    /// It needs all arms, or the state cannot produce one.
    fn propose_among(
        &self,
        state: &mut Self::State,
        now: &Now,
        numbers: &[u32],
        rng: &mut dyn Rng,
    ) -> Result<Proposal<Arm>> {
        let left_out = || BaseError::LeftOut { base: Self::NAME.to_owned() };
        self.propose(&mut self.part(state, now, numbers).ok_or_else(left_out)?, now, rng)
    }

    /// The probability of proposing a place among the arms with these numbers, and the memo of that proposal.
    fn likelihood_among(
        &self,
        state: &Self::State,
        now: &Now,
        numbers: &[u32],
        place: usize,
    ) -> Option<(f64, Memo)> {
        self.likelihood(&self.part(state, now, numbers)?, now, place)
    }

    /// The probability of proposing the offered arm `arm`, and the memo of that proposal.
    fn likelihood(&self, state: &Self::State, now: &Now, arm: usize) -> Option<(f64, Memo)>;

    /// Learns what an arm cost, by its number; the memo came with its proposal.
    ///
    /// # Errors
    /// The memo is not of this base.
    fn learn(&self, _state: &mut Self::State, _now: &Now, _round: Round<'_>) -> Result {
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
    /// Whether a round has offered each arm; empty: all, or no round is over.
    met: Vec<bool>,
}

impl<R: ArmRule> Make<R> for ArmBase<R> {
    const KIND: Kind = Kind::Arms;

    fn make(rule: R, setup: &Setup) -> Result<Self> {
        let actions = arm_count(setup)?;
        let losses = if R::REAL_LOSSES { setup.losses } else { LossDomain::Unit };
        let clock = given::<R>(Clock::new(setup));
        let now = Now { clock, actions, met: actions, offered: actions, losses };
        let mut state = rule.fresh(&now)?;
        rule.tune(&mut state, &now);
        Ok(Self { rule, losses, actions, clock, state, met: Vec::new() })
    }
}

impl<R: ArmRule> ArmBase<R> {
    /// With all arms offered.
    pub(crate) fn now(&self) -> Now {
        let met =
            if self.met.is_empty() { self.actions } else { self.met.iter().filter(|met| **met).count() };
        Now { clock: self.clock, actions: self.actions, met, offered: self.actions, losses: self.losses }
    }

    #[inline]
    fn at<X: Observation + ?Sized>(&self, x: &X) -> Result<Now> {
        let (now, offered) = (self.now(), check_offered(x.offered(), self.actions)?);
        let met = if self.clock.rounds == 0 { offered } else { now.met };
        let now = Now { offered, met, ..now };
        if let Some(numbers) = x.offer().filter(|numbers| {
            numbers.len() != now.offered || numbers.iter().any(|number| *number as usize >= now.actions)
        }) {
            return Err(BaseError::Numbers { numbers: numbers.to_vec(), actions: now.actions });
        }
        Ok(now)
    }

    /// Notes that these arms are offered. Where some of them never were before: what was noted then.
    fn meet(&mut self, numbers: Option<&[u32]>, offered: usize) -> Option<Vec<bool>> {
        let first = self.clock.rounds == 0 && offered < self.actions;
        if self.met.is_empty() && !first {
            return None;
        }
        let known = |number: usize| self.met.get(number).is_none_or(|met| *met);
        let new = match numbers {
            Some(numbers) => numbers.iter().any(|number| !known(*number as usize)),
            None => (0..offered).any(|number| !known(number)),
        };
        if !new && !self.met.is_empty() {
            return None;
        }
        let before = self.met.clone();
        self.met.resize(self.actions, false);
        match numbers {
            Some(numbers) => numbers.iter().for_each(|number| self.met[*number as usize] = true),
            None => self.met[..offered].fill(true),
        }
        if self.met.iter().all(|met| *met) {
            self.met.clear();
        }
        Some(before)
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

/// Whether a round has offered each arm, as it is written.
#[derive(Serialize, Deserialize)]
struct Met(#[serde(with = "corral_core::snapshot::later")] Vec<bool>);

/// The clock as the rule is given it.
fn given<R: ArmRule>(clock: Clock) -> Clock {
    if R::HORIZON { clock } else { Clock { horizon: None, ..clock } }
}

impl<R: ArmRule, X: Observation + ?Sized> Base<X, Arm> for ArmBase<R> {
    fn propose(&mut self, x: &X, rng: &mut dyn Rng) -> Result<Proposal<Arm>> {
        let now = self.at(x)?;
        match x.offer() {
            None => self.rule.propose(&mut self.state, &now, rng),
            Some(numbers) => self.rule.propose_among(&mut self.state, &now, numbers, rng),
        }
    }

    fn learn(&mut self, x: &X, made: &Proposal<Arm>, feedback: Feedback) -> Result {
        let now = self.at(x)?;
        let feedback = feedback.check_in(self.losses, self.clock.range)?;
        let place = check_arm(made.decision, now.offered)?;
        let arm = x.offer().map_or(place, |numbers| numbers[place] as usize);
        let round = Round { played: Played { arm, memo: &made.memo, feedback }, numbers: x.offer() };
        let Some(before) = self.meet(x.offer(), now.offered) else {
            self.rule.learn(&mut self.state, &now, round)?;
            return self.tick();
        };
        let (known, now) = (now, Now { met: self.now().met, ..now });
        self.rule.tune(&mut self.state, &now);
        if let Err(refused) = self.rule.learn(&mut self.state, &now, round) {
            self.met = before;
            self.rule.tune(&mut self.state, &known);
            return Err(refused);
        }
        self.tick()
    }

    fn likelihood(&self, x: &X, decision: &Arm) -> Option<(f64, Memo)> {
        let now = self.at(x).ok()?;
        if decision.index() >= now.offered {
            return Some((0.0, Memo::empty()));
        }
        match x.offer() {
            None => self.rule.likelihood(&self.state, &now, decision.index()),
            Some(numbers) => self.rule.likelihood_among(&self.state, &now, numbers, decision.index()),
        }
    }

    fn abilities(&self) -> Abilities {
        Abilities { takes_offers: self.rule.takes_offers(), ..self.rule.abilities(&self.clock) }
    }

    fn apply_order(&mut self, order: Order) -> Result {
        let mut clock = self.clock;
        let forget = clock.apply_order(order, self.rule.range_change())?;
        let now = Now { clock: given::<R>(clock), ..self.now() };
        let now = if forget { Now { met: self.actions, ..now } } else { now };
        if forget {
            self.state = self.rule.fresh(&now)?;
            self.met.clear();
        }
        self.clock = now.clock;
        self.rule.tune(&mut self.state, &now);
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        seal(R::SAVED_AS, &self.rule, &(&self.clock, &self.state, Met(self.met.clone())))
    }

    fn load(&mut self, state: &[u8]) -> Result {
        let (clock, mut state, Met(met)): (Clock, R::State, Met) = reopen(R::SAVED_AS, &self.rule, state)?;
        clock.valid()?;
        let sound = met.is_empty() || (met.len() == self.actions && met.contains(&true));
        ensure(sound, "arms that were met, and that there are not")?;
        let before = std::mem::replace(&mut self.met, met);
        let now = Now { clock, ..self.now() };
        if let Err(refused) = self.rule.restore(&mut state, &now) {
            self.met = before;
            return Err(refused.into());
        }
        self.rule.tune(&mut state, &now);
        (self.clock, self.state) = (clock, state);
        Ok(())
    }

    fn extra(&mut self) -> Option<&mut dyn BaseExtra<X, Arm>> {
        Some(self)
    }
}

impl<R: ArmRule, X: Observation + ?Sized> BaseExtra<X, Arm> for ArmBase<R> {
    fn pass(&mut self, x: &X) -> Result {
        let now = self.at(x)?;
        if x.offer().is_some() && !self.rule.takes_offers() {
            return Err(BaseError::LeftOut { base: R::NAME.to_owned() });
        }
        if self.rule.abilities(&self.clock).wants_passes {
            if self.meet(x.offer(), now.offered).is_some() {
                let now = self.now();
                self.rule.tune(&mut self.state, &now);
            }
            self.rule.pass(&mut self.state, &now);
            self.tick()?;
        }
        Ok(())
    }
}
