//! A world whose losses are shown in [0, 1], wherever its own lie.

use corral_core::{Feedback, LossDomain, ParamError, Rng, Setup};

use crate::data::Table;
use crate::{EnvError, Environment};

/// Shows the losses of `E` by the map of [low, high] to [0, 1]; what lies outside is clipped. Mean losses and regret stay
/// in the units of the world.
#[derive(Debug, Clone)]
pub struct Rescaled<E> {
    world: E,
    low: f64,
    width: f64,
}

impl<E> Rescaled<E> {
    /// `world`, with losses from `low` to `high` shown as 0 to 1.
    ///
    /// # Errors
    /// The range is empty or not finite.
    pub fn new(world: E, low: f64, high: f64) -> Result<Self, ParamError> {
        let width = high - low;
        if !(width > 0.0 && width.is_finite() && low.is_finite()) {
            return Err(ParamError::new(
                "rescale",
                format!("[{low}, {high}]"),
                "[low, high], low below high",
            ));
        }
        Ok(Self { world, low, width })
    }

    fn map(&self, loss: f64) -> f64 {
        ((loss - self.low) / self.width).clamp(0.0, 1.0)
    }
}

impl<X: ?Sized, D, E: Environment<X, D>> Environment<X, D> for Rescaled<E> {
    fn setup(&self) -> Setup {
        Setup { losses: LossDomain::Unit, ..self.world.setup() }
    }

    fn next(&mut self, rng: &mut dyn Rng) -> Result<(), EnvError> {
        self.world.next(rng)
    }

    fn context(&self) -> &X {
        self.world.context()
    }

    fn loss(&self, decision: &D) -> f64 {
        self.map(self.world.loss(decision))
    }

    fn mean_loss(&self, decision: &D) -> f64 {
        self.world.mean_loss(decision)
    }

    fn play(&mut self, decision: &D) -> Result<Feedback, EnvError> {
        let seen = self.world.play(decision)?;
        Ok(match seen.observed() {
            Some(loss) => Feedback::new(self.map(loss), seen.weight()),
            None => seen,
        })
    }

    fn range(&self) -> f64 {
        self.world.range()
    }

    fn best_so_far(&self) -> f64 {
        self.world.best_so_far()
    }

    fn facts(&self) -> Vec<(&'static str, f64)> {
        self.world.facts()
    }

    fn table(&self) -> Option<&Table> {
        self.world.table()
    }
}
