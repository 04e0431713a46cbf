//! One learner in one world, by the protocol of the paper: what it paid, and its regret.
//!
//! A learner is a base, or an ensemble, which is a base as well: a plain environment, the induced E' and a master all
//! reach it through the same `learn`.

use corral_core::{Base, BaseError, Order, Rng};

use crate::{EnvError, Environment};

/// What a learner paid in a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Run {
    /// Rounds played.
    pub rounds: u64,
    /// Sum of the mean losses of its decisions.
    pub paid: f64,
    /// The same for the best fixed decision (or policy) in hindsight.
    pub best: f64,
}

impl Run {
    /// Pseudo-regret: what it paid beyond the best fixed decision in hindsight.
    pub fn regret(&self) -> f64 {
        self.paid - self.best
    }
}

/// Why a run stopped.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The world could not go on.
    #[error("round {round}: {why}")]
    AnyEnvironment {
        /// The round, from 0.
        round: u64,
        /// Why.
        why: EnvError,
    },
    /// The learner could not go on.
    #[error("round {round}: {why}")]
    Learner {
        /// The round, from 0.
        round: u64,
        /// Why.
        why: BaseError,
    },
}

/// Runs `learner` in `world` for `rounds` rounds, each with a generator of its own, so that every learner of a seed
/// faces the same world. Regret is measured with mean losses; a change of the world's range is passed on.
///
/// # Errors
/// The world or the learner fails; the round is named.
pub fn alone<X: ?Sized, D>(
    world: &mut dyn Environment<X, D>,
    learner: &mut dyn Base<X, D>,
    rounds: u64,
    world_rng: &mut dyn Rng,
    learner_rng: &mut dyn Rng,
) -> Result<Run, RunError> {
    let mut run = Run::default();
    let mut range = 1.0;
    for round in 0..rounds {
        let world_fails = |why| RunError::AnyEnvironment { round, why };
        let learner_fails = |why| RunError::Learner { round, why };
        let new_range = world.about().range;
        if new_range != range {
            range = new_range;
            learner
                .apply_order(Order::Widen { range, remaining: Some(rounds - round) })
                .map_err(learner_fails)?;
        }
        world.next(world_rng).map_err(world_fails)?;
        let made = learner.propose(world.context(), learner_rng).map_err(learner_fails)?;
        run.paid += world.mean_loss(&made.decision);
        let feedback = world.play(&made.decision).map_err(world_fails)?;
        learner.learn(world.context(), &made, feedback).map_err(learner_fails)?;
        run.rounds += 1;
    }
    run.best = world.best_so_far();
    Ok(run)
}
