//! A world whose losses are shown in [0, 1], wherever its own lie.

use corral_core::{Feedback, LossDomain, ParamError, Scale, Setup};

use crate::environment::forward;
use crate::{EnvError, Environment};

/// Shows the losses (or rewards) of `E` in [0, 1], by a [`Scale`]. Mean losses and regret stay in the units of the world.
#[derive(Debug, Clone)]
pub struct Rescaled<E> {
    world: E,
    scale: Scale,
}

impl<E> Rescaled<E> {
    /// `world`, with its losses shown by `scale`.
    ///
    /// # Errors
    /// The range is empty or not finite.
    pub fn new(world: E, scale: Scale) -> Result<Self, ParamError> {
        Ok(Self { world, scale: scale.check()? })
    }
}

impl<X: ?Sized, D, E: Environment<X, D>> Environment<X, D> for Rescaled<E> {
    forward!(Environment<X, D>: self => self.world, except setup, loss, play);

    fn setup(&self) -> Setup {
        Setup { losses: LossDomain::Unit, ..self.world.setup() }
    }

    fn loss(&self, decision: &D) -> f64 {
        // What would be refused if it were played is NaN.
        self.scale.loss(self.world.loss(decision)).map_or(f64::NAN, |(loss, _)| loss)
    }

    fn play(&mut self, decision: &D) -> Result<Feedback, EnvError> {
        Ok(self.scale.feedback(self.world.play(decision)?)?.0)
    }
}
