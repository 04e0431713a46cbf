//! Worlds of arms: what a round fixes is each world's own, and everything around it is shared.

use corral_core::{Arm, Context, Feedback, Rng, Setup};

use crate::About;
use crate::table::{Table, Unlearned};
use crate::{Draw, EnvError, Environment};

/// A round that begins.
pub struct Round<'a> {
    /// Its number, from 0.
    pub number: u64,
    /// Its randomness.
    pub draw: Draw,
    /// Side information: that of the round before, to be written over.
    pub context: &'a mut Context,
    /// The mean loss of every action that can be played: those of the round before, to be written over.
    pub means: &'a mut Vec<f64>,
}

impl Round<'_> {
    /// Writes the mean losses.
    pub fn set(&mut self, means: impl IntoIterator<Item = f64>) {
        self.means.clear();
        self.means.extend(means);
    }
}

/// What a world of arms is, but for what all of them share ([`Bandit`]).
///
/// # What an implementation owes
/// `next` sees the past only: `played` is called after the round, never before its means are fixed. No allocation in a
/// round once the first rounds are over.
pub trait Game: Send {
    /// What a learner is told; the horizon is filled in.
    fn setup(&self) -> Setup;

    /// The randomness of a round: one number of the generator, or none where nothing is random.
    fn draw(&self, rng: &mut dyn Rng) -> Draw {
        Draw::new(rng)
    }

    /// Fixes the context and the mean losses of a round.
    ///
    /// # Errors
    /// The data ended or could not be read.
    fn next(&mut self, round: Round<'_>) -> Result<(), EnvError>;

    /// The loss of an arm, whose mean is `mean`: 1 with that probability, else 0.
    fn loss(&self, arm: usize, mean: f64, draw: Draw) -> f64 {
        coin(mean, draw, 1 + arm as u64)
    }

    /// Puts the decision of the round that ends into the history.
    fn played(&mut self, _arm: usize, _context: &Context) {}

    /// Whether the least mean loss of every round is summed for [`best`](Game::best).
    const SUMS_LEAST: bool = true;

    /// The cumulative mean loss of the best fixed decision or policy: unless a world says otherwise that of the best
    /// action of every round, `least`.
    fn best(&self, _rounds: u64, least: f64) -> f64 {
        least
    }

    /// Writes the mean losses that are told before the first round.
    fn first(&self, _means: &mut [f64]) {}

    /// See [`About::facts`].
    fn facts(&self) -> &[(&'static str, f64)] {
        &[]
    }

    /// See [`About::table`].
    fn table(&self) -> Option<&Table> {
        None
    }

    /// See [`About::unlearned`].
    fn unlearned(&self) -> Option<&dyn Unlearned> {
        None
    }
}

/// 1 with probability `mean`, else 0, by the `index`-th number of a draw.
#[inline]
pub fn coin(mean: f64, draw: Draw, index: u64) -> f64 {
    f64::from(draw.uniform(index) < mean)
}

/// A world of arms.
#[derive(Debug, Clone)]
pub struct Bandit<G> {
    game: G,
    setup: Setup,
    context: Context,
    means: Vec<f64>,
    draw: Draw,
    rounds: u64,
    // The sum over rounds of the least mean loss.
    least: f64,
}

impl<G: Game> Bandit<G> {
    /// The world of `game`, for a run of `rounds` rounds.
    pub fn new(game: G, rounds: u64) -> Self {
        let setup = game.setup();
        let setup = Setup { horizon: Some(setup.horizon.map_or(rounds, |h| h.min(rounds))), ..setup };
        let arms = setup.actions();
        let mut means = vec![0.0; arms];
        game.first(&mut means);
        Self { context: Context::plain(arms), means, draw: Draw::none(), rounds: 0, least: 0.0, game, setup }
    }
}

impl<G: Game> Environment<Context, Arm> for Bandit<G> {
    fn setup(&self) -> Setup {
        self.setup.clone()
    }

    fn next(&mut self, rng: &mut dyn Rng) -> Result<(), EnvError> {
        self.draw = self.game.draw(rng);
        let (context, means) = (&mut self.context, &mut self.means);
        self.game.next(Round { number: self.rounds, draw: self.draw, context, means })?;
        if G::SUMS_LEAST {
            self.least += self.means.iter().copied().fold(f64::INFINITY, f64::min);
        }
        self.rounds += 1;
        Ok(())
    }

    fn context(&self) -> &Context {
        &self.context
    }

    fn loss(&self, decision: &Arm) -> f64 {
        match self.means.get(decision.index()) {
            Some(mean) => self.game.loss(decision.index(), *mean, self.draw),
            None => f64::NAN,
        }
    }

    fn mean_loss(&self, decision: &Arm) -> f64 {
        self.means.get(decision.index()).copied().unwrap_or(f64::NAN)
    }

    fn play(&mut self, decision: &Arm) -> Result<Feedback, EnvError> {
        EnvError::check_arm(*decision, self.means.len())?;
        let loss = self.loss(decision);
        self.game.played(decision.index(), &self.context);
        Ok(Feedback::plain(loss))
    }

    fn best_so_far(&self) -> f64 {
        self.game.best(self.rounds, self.least)
    }

    fn about(&self) -> About<'_> {
        let (facts, table, unlearned) = (self.game.facts(), self.game.table(), self.game.unlearned());
        About { facts, table, unlearned, ..About::default() }
    }
}
