//! A regression that one base keeps for itself, or several keep once.
//!
//! Bases that learn the same losses in the same order have the same regression, bit for bit. Each member knows how many
//! losses it has learned: the first that learns a loss updates the regression, the others find it done. A member that
//! is fed anything else, or misses a loss, is told so by an error, and never gets a prediction that is not its own.

use std::sync::{Arc, Mutex, MutexGuard};

use corral_core::{BaseError, Commons, Context};

use super::features::Features;
use super::layout::Layout;
use crate::regression::{Regressor, usable};

/// A base's hold on its regression.
#[derive(Debug)]
pub(crate) struct Held<M> {
    common: Arc<Mutex<Common<M>>>,
    /// Losses that this base has learned.
    seen: u64,
    /// Restarts that this base has made or followed.
    era: u64,
}

#[derive(Debug, Clone)]
struct Common<M> {
    model: M,
    /// Losses that the model has learned.
    learned: u64,
    /// How often it started over.
    era: u64,
    last: Example,
    sight: Sight,
}

/// The last example that was learned.
#[derive(Debug, Clone, Default)]
struct Example {
    model: usize,
    loss: f64,
    weight: f64,
    z: Vec<f64>,
}

/// What was computed for the last context: the members of a round all look at the same one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sight {
    /// The features that were looked at, of so many actions.
    x: Vec<f64>,
    actions: usize,
    /// Whether the model is still the one that looked.
    fresh: bool,
    /// Whether widths were computed.
    wide: bool,
    pub predictions: Vec<f64>,
    pub widths: Vec<f64>,
    pub log_dets: Vec<f64>,
}

/// What regressions must have in common besides their model, to be kept once.
struct Kept<M> {
    common: Arc<Mutex<Common<M>>>,
    features: Features,
    layout: Layout,
    restarts: bool,
}

impl<M: Regressor> Held<M> {
    /// A regression of its own, that predicts for at most `actions` actions.
    pub(crate) fn new(model: M, actions: usize) -> Self {
        let zeros = || vec![0.0; actions];
        let sight = Sight { predictions: zeros(), widths: zeros(), log_dets: zeros(), ..Default::default() };
        let common = Common { model, learned: 0, era: 0, last: Example::default(), sight };
        Self { common: Arc::new(Mutex::new(common)), seen: 0, era: 0 }
    }

    /// Takes the regression of an earlier base where it is the same, and offers its own otherwise. Only before the
    /// first loss. `restarts`: whether the regression starts over when the range changes.
    pub(crate) fn share(
        &mut self,
        commons: &mut Commons,
        features: &Features,
        layout: &Layout,
        restarts: bool,
    ) {
        let found = {
            let Ok(own) = self.in_step() else { return };
            let same = |kept: &Kept<M>| {
                let alike = (&kept.features, kept.layout, kept.restarts) == (features, *layout, restarts);
                alike
                    && own.learned == 0
                    && kept.common.lock().is_ok_and(|other| other.learned == 0 && other.model == own.model)
            };
            commons.find(same).map(|kept| Arc::clone(&kept.common))
        };
        match found {
            Some(common) => {
                self.era = common.lock().map_or(self.era, |common| common.era);
                self.common = common;
            }
            None => commons.keep(Kept {
                common: Arc::clone(&self.common),
                features: features.clone(),
                layout: *layout,
                restarts,
            }),
        }
    }

    fn lock(&self) -> Result<MutexGuard<'_, Common<M>>, BaseError> {
        let broken = |_| BaseError::Failed(String::from("a regression was left half made"));
        self.common.lock().map_err(broken)
    }

    /// The regression, when it has learned what this base has learned.
    fn in_step(&self) -> Result<MutexGuard<'_, Common<M>>, BaseError> {
        let common = self.lock()?;
        if (common.learned, common.era) == (self.seen, self.era) {
            return Ok(common);
        }
        Err(out_of_step(self.seen, common.learned))
    }

    /// Losses that this base has learned.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// Learns that z cost `loss`, unless another member did.
    pub(crate) fn learn(&mut self, model: usize, z: &[f64], loss: f64, weight: f64) -> Result<(), BaseError> {
        let mut guard = self.lock()?;
        let common = &mut *guard;
        if common.era != self.era {
            return Err(out_of_step(self.seen, common.learned));
        }
        if common.learned == self.seen {
            common.model.update(model, z, loss, weight)?;
            common.sight.fresh = false;
            common.learned = common.learned.saturating_add(1);
            (common.last.model, common.last.loss, common.last.weight) = (model, loss, weight);
            common.last.z.clear();
            common.last.z.extend_from_slice(z);
        } else {
            let last = &common.last;
            let done = common.learned == self.seen + 1
                && (last.model, last.loss, last.weight) == (model, loss, weight)
                && last.z == z;
            if !done {
                return Err(out_of_step(self.seen, common.learned));
            }
        }
        drop(guard);
        self.seen = self.seen.saturating_add(1);
        Ok(())
    }

    /// Predicts the loss of every action of `x`, with widths where `widths`, and shows it to `then` with the number of
    /// actions.
    pub(crate) fn look<R>(
        &self,
        layout: &Layout,
        x: &Context,
        widths: bool,
        then: impl FnOnce(&Sight, usize) -> R,
    ) -> Result<R, BaseError> {
        let mut common = self.in_step()?;
        let Common { model, sight, .. } = &mut *common;
        let actions = sight.look(layout, model, x, widths)?;
        Ok(then(sight, actions))
    }

    /// Shows the model to `then`.
    pub(crate) fn model<R>(&self, then: impl FnOnce(&M) -> R) -> Result<R, BaseError> {
        Ok(then(&self.in_step()?.model))
    }

    /// Forgets everything, unless another member did.
    pub(crate) fn restart(&mut self) -> Result<(), BaseError> {
        let mut common = self.lock()?;
        if common.era == self.era {
            common.model.reset();
            common.sight.fresh = false;
            common.learned = 0;
            common.era += 1;
        } else if common.learned > 0 {
            return Err(out_of_step(0, common.learned));
        }
        let era = common.era;
        drop(common);
        (self.seen, self.era) = (0, era);
        Ok(())
    }

    /// Continues with a model that has learned `seen` losses. The other members have to be loaded too.
    pub(crate) fn load(&mut self, model: M, seen: u64) -> Result<(), BaseError> {
        let mut common = self.lock()?;
        (common.model, common.learned) = (model, seen);
        common.sight.fresh = false;
        common.last = Example::default();
        let era = common.era;
        drop(common);
        (self.seen, self.era) = (seen, era);
        Ok(())
    }
}

fn out_of_step(seen: u64, learned: u64) -> BaseError {
    BaseError::Failed(format!(
        "a shared regression has learned {learned} losses where this base has {seen}: those that share one are fed, \
         restarted and loaded together"
    ))
}

/// A clone keeps a regression of its own.
impl<M: Regressor> Clone for Held<M> {
    fn clone(&self) -> Self {
        let common = self.common.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        Self { common: Arc::new(Mutex::new(common)), ..*self }
    }
}

impl Sight {
    fn look<M: Regressor>(
        &mut self,
        layout: &Layout,
        model: &M,
        x: &Context,
        widths: bool,
    ) -> Result<usize, BaseError> {
        let actions = layout.check(x)?;
        let seen = layout.all_features(x);
        if !(self.fresh && self.actions == actions && self.x == seen) {
            (self.fresh, self.wide) = (false, false);
            for a in 0..actions {
                let z = layout.features(x, a);
                self.predictions[a] = model.predict(layout.model(a), z);
                usable(self.predictions[a].is_finite(), z)?;
            }
            self.x.clear();
            self.x.extend_from_slice(seen);
            (self.actions, self.fresh) = (actions, true);
        }
        if widths && !self.wide {
            for a in 0..actions {
                let (m, z) = (layout.model(a), layout.features(x, a));
                self.widths[a] = model.variance(m, z).sqrt();
                self.log_dets[a] = model.log_det(m);
                usable(self.widths[a].is_finite(), z)?;
            }
            self.wide = true;
        }
        Ok(actions)
    }
}
