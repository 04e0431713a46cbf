//! The environment E' induced by importance weighting, around any environment.
//!
//! The paper, section "Hardness in the Worst Case and A Natural Assumption". On each round t:
//! 1. E' picks a probability p_t and obtains (x_t, f_t) from E, given the decisions theta'_1..theta'_{t-1};
//! 2. the learner sees x_t and decides theta_t;
//! 3. with probability p_t: f'_t = f_t / p_t and theta'_t = theta_t; else f'_t = 0 and theta'_t is arbitrary;
//! 4. the learner learns f'_t(theta_t), and E moves on with theta'_t.

mod build;
mod schedule;

use corral_core::{
    Arm, Context, Decision, Feedback, Observation, Point, Rng, Space, params, require, uniform,
};

pub use build::{Around, BurstsParams, RangeParams, RecordedParams, SCHEDULES, induce};
pub use schedule::{Moment, Schedule};

use crate::environment::forward;
use crate::{About, EnvError, Environment};

/// What the induced environment needs to know of all decisions of a round, where they can be listed.
pub trait Listed<X: ?Sized>: Decision {
    /// The smallest mean loss of this round and the decision with the largest.
    fn extremes<E: Environment<X, Self> + ?Sized>(_world: &E) -> Option<(f64, Self)> {
        None
    }
}

impl Listed<Context> for Point {}

impl Listed<Context> for Arm {
    fn extremes<E: Environment<Context, Self> + ?Sized>(world: &E) -> Option<(f64, Self)> {
        let means = (0..world.context().actions()).map(|a| (world.mean_loss(&Arm::at(a)), Arm::at(a)));
        means
            .fold(None, |extremes, (mean, arm)| match extremes {
                None => Some((mean, mean, arm)),
                Some((least, most, _)) if mean > most => Some((least, mean, arm)),
                Some((least, most, worst)) => Some((f64::min(least, mean), most, worst)),
            })
            .map(|(least, _, worst)| (least, worst))
    }
}

params! {
    /// What E plays in a round that the learner does not see.
    pub enum Substitute {
        /// What it played in the round before (in the first round, or where that is no longer admitted: what the learner
        /// proposed).
        #[default]
        Last,
        /// What the learner proposed, unseen.
        Own,
        /// What the learner proposed first.
        First,
        /// The decision with the largest mean loss, where decisions can be listed (else what the learner proposed).
        Worst,
    }

    /// What the learner is told of the range.
    pub enum Announce {
        /// The range of the whole schedule, before the first round: weak stability.
        #[default]
        Known,
        /// As Corral does: when 1/p exceeds the range it becomes 2/p, but not more than the schedule's.
        Doubling,
        /// 1/p whenever that exceeds the range.
        Exact,
        /// Nothing: the range stays 1, and a base must find out by itself.
        Blind,
    }
}

/// E' around the environment E, with the probabilities of a schedule, for decisions D.
///
/// `loss` is f'_t, and exceeds 1; `mean_loss` and `best_so_far` are those of E, whose expectations they share. A round
/// draws what E draws, and one number.
pub struct Induced<E, D> {
    world: E,
    schedule: Schedule,
    substitute: Substitute,
    announce: Announce,
    horizon: u64,
    // Rounds that have begun.
    round: u64,
    // p_t of the present round; between rounds, of the next one.
    probability: f64,
    seen: bool,
    range: f64,
    last: Option<D>,
    first: Option<D>,
    // Mean losses of the proposals so far, for schedules that watch them.
    proposed: f64,
    space: Space,
}

impl<E, D> Induced<E, D> {
    /// E' around `world`, for a run of `horizon` rounds.
    ///
    /// # Errors
    /// The schedule's range is not a number of at least 1.
    pub fn new<X: ?Sized>(
        world: E,
        schedule: Schedule,
        substitute: Substitute,
        announce: Announce,
        horizon: u64,
    ) -> Result<Self, EnvError>
    where
        E: Environment<X, D>,
    {
        let range = schedule.range;
        require((1.0..f64::INFINITY).contains(&range), "range", range, "finite and at least 1")?;
        let probability = schedule.probability(Moment { round: 0, horizon, good: None });
        let space = world.setup().space;
        let mut induced = Self {
            world,
            schedule,
            substitute,
            announce,
            horizon,
            round: 0,
            probability,
            seen: false,
            range: 1.0,
            last: None,
            first: None,
            proposed: 0.0,
            space,
        };
        if announce == Announce::Known {
            induced.range = range;
        }
        induced.tell();
        Ok(induced)
    }

    /// p_t of the present round; between rounds, of the next one.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// E.
    pub fn inner(&self) -> &E {
        &self.world
    }

    /// Raises the announced range so that it covers the next round.
    fn tell(&mut self) {
        let need = 1.0 / self.probability;
        if need > self.range {
            self.range = match self.announce {
                Announce::Known | Announce::Exact => need,
                Announce::Doubling => (2.0 * need).min(self.schedule.range),
                Announce::Blind => self.range,
            };
        }
    }

    /// s_t: 1/p_t where the round is seen, else 0.
    fn weight(&self) -> f64 {
        if self.seen { 1.0 / self.probability } else { 0.0 }
    }
}

impl<X: Observation + ?Sized, D: Listed<X>, E: Environment<X, D>> Environment<X, D> for Induced<E, D> {
    forward!(Environment<X, D>: self => self.world, except next, loss, play, about);

    fn next(&mut self, rng: &mut dyn Rng) -> Result<(), EnvError> {
        self.world.next(rng)?;
        // The coin is tossed with f_t and hidden until `play`: p_t knows nothing of theta_t.
        self.seen = uniform(rng) < self.probability;
        self.round += 1;
        Ok(())
    }

    fn loss(&self, decision: &D) -> f64 {
        // f'_t(theta, x) = f_t(theta, x)/p_t or 0; NaN outside the space either way.
        self.world.loss(decision) * self.weight()
    }

    fn play(&mut self, decision: &D) -> Result<Feedback, EnvError> {
        // Also in rounds that do not use it.
        if !decision.lies_in(&self.space, self.world.context().offered()) {
            return Err(EnvError::Decision(decision.describe()));
        }
        let mut good = None;
        if self.schedule.watches {
            let mean = self.world.mean_loss(decision);
            // Optimal where that can be told; else no worse than the proposals so far.
            let bar = D::extremes(&self.world)
                .map_or(self.proposed / (self.round.max(2) - 1) as f64, |(least, _)| least);
            self.proposed += mean;
            good = Some(mean <= bar + 1e-12);
        }
        let feedback = if self.seen {
            let played = self.world.play(decision)?;
            remember(&mut self.last, decision);
            match played.observed() {
                Some(loss) => Feedback::new(loss, played.weight() * self.weight()),
                None => Feedback::unseen(),
            }
        } else {
            let x = self.world.context();
            let usable = |d: &&D| d.lies_in(&self.space, x.offered());
            if self.substitute == Substitute::Last
                && let Some(last) = self.last.as_ref().filter(usable)
            {
                self.world.play(last)?;
            } else {
                let worst = match self.substitute {
                    Substitute::Worst => D::extremes(&self.world).map(|(_, worst)| worst),
                    _ => None,
                };
                let first = self.first.as_ref().filter(|_| self.substitute == Substitute::First);
                let played = worst.as_ref().or(first).filter(usable).unwrap_or(decision);
                self.world.play(played)?;
                remember(&mut self.last, played);
            }
            Feedback::unseen()
        };
        if self.first.is_none() {
            self.first = Some(decision.clone());
        }
        self.probability =
            self.schedule.probability(Moment { round: self.round, horizon: self.horizon, good });
        self.tell();
        Ok(feedback)
    }

    fn about(&self) -> About<'_> {
        let about = self.world.about();
        About { range: self.range * about.range, ..about }
    }
}

/// Keeps `decision`, in the memory of the one before.
fn remember<D: Decision>(slot: &mut Option<D>, decision: &D) {
    match slot {
        Some(kept) => kept.clone_from(decision),
        None => *slot = Some(decision.clone()),
    }
}
