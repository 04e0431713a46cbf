//! A regression that one base keeps for itself, or several keep once.
//!
//! Bases that learn the same losses in the same order have the same regression, bit for bit. What happens to it is an event:
//! a loss, or a restart. The first base to which an event comes brings it about, the others find it done. A base to which
//! something else comes parts with the regression as it was before, and keeps its own from then on: it cannot be seen whether a
//! regression is kept once.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use corral_core::{BaseError, Commons, Context};

use super::features::Features;
use super::layout::Layout;
use crate::regression::{Regressor, usable};

/// A base's hold on its regression.
#[derive(Debug)]
pub(crate) struct Held<M: Regressor> {
    common: RefCell<Arc<Mutex<Common<M>>>>,
    /// The event up to which this base has come.
    at: Cell<u64>,
    /// Losses that this base has learned.
    seen: u64,
}

/// A regression, and what the bases that keep it have seen of it.
#[derive(Debug)]
struct Common<M> {
    model: M,
    /// Counts events.
    at: u64,
    /// The last of them; none before the first.
    last: Option<Event>,
    /// The bases that keep it, those included to which the last event has not come yet.
    members: usize,
    /// To how many of them it has not.
    behind: usize,
    /// The model before the last event; none where it is kept alone.
    before: Option<M>,
    /// Models of bases that stayed behind for good.
    parked: Vec<Parked<M>>,
    sight: Sight,
}

/// What can happen to a regression.
#[derive(Debug, Clone, PartialEq)]
enum Event {
    Learned { model: usize, loss: f64, weight: f64, z: Vec<f64> },
    Restarted,
}

/// The model after the event `at`, for `members` bases that have not asked for it yet.
#[derive(Debug)]
struct Parked<M> {
    model: M,
    at: u64,
    members: usize,
}

/// What was computed for the last context: the members of a round all look at the same one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sight {
    /// The features that were looked at, of so many actions.
    x: Vec<f64>,
    actions: usize,
    /// Their numbers, where each has a model and they are not the first ones.
    numbers: Vec<u32>,
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

impl<M: Regressor> Common<M> {
    /// A regression of one base, that predicts for at most `actions` actions.
    fn alone(model: M, actions: usize) -> Self {
        let zeros = || vec![0.0; actions];
        let sight = Sight { predictions: zeros(), widths: zeros(), log_dets: zeros(), ..Default::default() };
        Self { model, at: 0, last: None, members: 1, behind: 0, before: None, parked: Vec::new(), sight }
    }

    /// Keeps the model as it is, and puts aside what those want who stayed behind.
    fn keep_before(&mut self) {
        let Self { model, at, members, behind, before, parked, last, .. } = self;
        if let Some(model) = before.as_ref().filter(|_| *behind > 0) {
            parked.push(Parked { model: model.clone(), at: *at - 1, members: *behind });
            *members -= *behind;
            *behind = 0;
        }
        match (before, last) {
            (before, _) if *members == 1 => *before = None,
            // All but the last event is in it already.
            (Some(before), Some(Event::Learned { model: changed, .. })) => before.copy_model(model, *changed),
            (before, _) => *before = Some(model.clone()),
        }
    }

    /// The first base has brought about an event.
    fn happened(&mut self) {
        self.at += 1;
        self.behind = self.members - 1;
        self.sight.fresh = false;
    }

    /// A base that has come up to `at` leaves: with its model, where that is not the present one.
    fn leave(&mut self, at: u64) -> Option<M> {
        if at == self.at {
            self.members = self.members.saturating_sub(1);
            return None;
        }
        if at + 1 == self.at {
            (self.members, self.behind) = (self.members.saturating_sub(1), self.behind.saturating_sub(1));
            return self.before.clone();
        }
        let place = self.parked.iter().position(|parked| parked.at == at)?;
        self.parked[place].members -= 1;
        match self.parked[place].members {
            0 => Some(self.parked.swap_remove(place).model),
            _ => Some(self.parked[place].model.clone()),
        }
    }
}

impl<M: Regressor> Held<M> {
    /// A regression of its own, that predicts for at most `actions` actions.
    pub(crate) fn new(model: M, actions: usize) -> Self {
        Self::of(Common::alone(model, actions), 0)
    }

    fn of(common: Common<M>, seen: u64) -> Self {
        Self { common: RefCell::new(Arc::new(Mutex::new(common))), at: Cell::new(0), seen }
    }

    /// Takes the regression of an earlier base where it is the same, and offers its own otherwise. `restarts`: whether the
    /// regression starts over when the range changes.
    pub(crate) fn share(
        &mut self,
        commons: &mut Commons,
        features: &Features,
        layout: &Layout,
        restarts: bool,
    ) {
        let Ok(own) = self.model(Clone::clone) else { return };
        let mine = Arc::clone(&self.common.borrow());
        let same = |kept: &Kept<M>| {
            (&kept.features, kept.layout, kept.restarts) == (features, *layout, restarts)
                && (Arc::ptr_eq(&kept.common, &mine)
                    || kept.common.lock().is_ok_and(|other| other.model == own))
        };
        let Some(kept) = commons.find(same) else {
            commons.keep(Kept { common: mine, features: features.clone(), layout: *layout, restarts });
            return;
        };
        if Arc::ptr_eq(&kept.common, &mine) {
            return;
        }
        let Ok(mut other) = kept.common.lock() else { return };
        other.members += 1;
        if let Ok(mut mine) = mine.lock() {
            mine.leave(self.at.get());
        }
        self.at.set(other.at);
        *self.common.borrow_mut() = Arc::clone(&kept.common);
    }

    /// Losses that this base has learned.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// Does something with the regression as this base has it: its own from now on, where the others went another way.
    fn with<R>(&self, work: impl FnOnce(&mut Common<M>) -> R) -> Result<R, BaseError> {
        let common = Arc::clone(&self.common.borrow());
        let mut shared = locked(&common)?;
        if shared.at == self.at.get() {
            return Ok(work(&mut shared));
        }
        let actions = shared.sight.predictions.len();
        let gone = || BaseError::Failed("its regression is gone".into());
        let mut own = Common::alone(shared.leave(self.at.get()).ok_or_else(gone)?, actions);
        drop(shared);
        let done = work(&mut own);
        self.at.set(0);
        *self.common.borrow_mut() = Arc::new(Mutex::new(own));
        Ok(done)
    }

    /// Brings an event about, unless another base did. `same`: whether the last one is this.
    fn event(
        &mut self,
        same: impl Fn(&Event) -> bool,
        bring: impl FnOnce(&mut Common<M>) -> Result<(), BaseError>,
    ) -> Result<(), BaseError> {
        let common = Arc::clone(&self.common.borrow());
        let mut shared = locked(&common)?;
        if shared.at == self.at.get() + 1 && shared.last.as_ref().is_some_and(same) {
            shared.behind -= 1;
        } else {
            drop(shared);
            self.with(|common| {
                common.keep_before();
                bring(common)?;
                common.happened();
                Ok::<(), BaseError>(())
            })??;
        }
        self.at.set(self.at.get() + 1);
        Ok(())
    }

    /// Learns that z cost `loss`, unless another member did.
    pub(crate) fn learn(&mut self, model: usize, z: &[f64], loss: f64, weight: f64) -> Result<(), BaseError> {
        let given = (model, loss, weight, z);
        let same = |last: &Event| match last {
            Event::Learned { model, loss, weight, z } => (*model, *loss, *weight, &z[..]) == given,
            Event::Restarted => false,
        };
        self.event(same, |common| {
            common.model.update(model, z, loss, weight)?;
            // The memory of the last example is used again.
            let mut buffer = match common.last.take() {
                Some(Event::Learned { z, .. }) => z,
                _ => Vec::new(),
            };
            buffer.clear();
            buffer.extend_from_slice(z);
            common.last = Some(Event::Learned { model, loss, weight, z: buffer });
            Ok(())
        })?;
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
        self.with(|Common { model, sight, .. }| {
            let actions = sight.look(layout, model, x, widths)?;
            Ok(then(sight, actions))
        })?
    }

    /// Shows the model to `then`.
    pub(crate) fn model<R>(&self, then: impl FnOnce(&M) -> R) -> Result<R, BaseError> {
        self.with(|common| then(&common.model))
    }

    /// Forgets everything, unless another member did.
    pub(crate) fn restart(&mut self) -> Result<(), BaseError> {
        self.event(
            |last| *last == Event::Restarted,
            |common| {
                common.model.reset();
                common.last = Some(Event::Restarted);
                Ok(())
            },
        )?;
        self.seen = 0;
        Ok(())
    }

    /// Continues with a model that has learned `seen` losses, of its own until it is shared again.
    pub(crate) fn load(&mut self, model: M, seen: u64) -> Result<(), BaseError> {
        let actions = locked(&self.common.borrow())?.sight.predictions.len();
        *self = Self::of(Common::alone(model, actions), seen);
        Ok(())
    }
}

fn locked<M>(common: &Mutex<Common<M>>) -> Result<MutexGuard<'_, Common<M>>, BaseError> {
    common.lock().map_err(|_| BaseError::Failed(String::from("a regression was left half made")))
}

/// A clone keeps a regression of its own.
impl<M: Regressor> Clone for Held<M> {
    fn clone(&self) -> Self {
        let whole =
            |common: &mut Common<M>| Common::alone(common.model.clone(), common.sight.predictions.len());
        match self.with(whole) {
            Ok(common) => Self::of(common, self.seen),
            // What is half made stays so.
            Err(_) => Self { common: self.common.clone(), at: self.at.clone(), seen: self.seen },
        }
    }
}

/// The others do not wait for a base that is gone.
impl<M: Regressor> Drop for Held<M> {
    fn drop(&mut self) {
        self.common.borrow().lock().unwrap_or_else(PoisonError::into_inner).leave(self.at.get());
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
        let (seen, numbers) = (layout.all_features(x), layout.numbers(x));
        if !(self.fresh && self.actions == actions && self.x == seen && self.numbers == numbers) {
            (self.fresh, self.wide) = (false, false);
            for a in 0..actions {
                let z = layout.features(x, a);
                self.predictions[a] = model.predict(layout.model(x, a), z);
                usable(self.predictions[a].is_finite(), z)?;
            }
            self.x.clear();
            self.x.extend_from_slice(seen);
            self.numbers.clear();
            self.numbers.extend_from_slice(numbers);
            (self.actions, self.fresh) = (actions, true);
        }
        if widths && !self.wide {
            for a in 0..actions {
                let (m, z) = (layout.model(x, a), layout.features(x, a));
                self.widths[a] = model.variance(m, z).sqrt();
                self.log_dets[a] = model.log_det(m);
                usable(self.widths[a].is_finite(), z)?;
            }
            self.wide = true;
        }
        Ok(actions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regression::Ridge;

    /// A base that has learned what others have may join them, also while some of them have not come to it yet.
    #[test]
    fn a_base_joins_others_of_which_one_is_behind() {
        let setup = corral_core::Setup {
            context: corral_core::ContextShape { features: 1, ..Default::default() },
            ..corral_core::Setup::arms(2, None)
        };
        let layout = Layout::new(Default::default(), &setup, true).unwrap();
        let learn = |held: &mut Held<Ridge>, event: u32| {
            held.learn(event as usize % 2, &[1.0 + f64::from(event)], f64::from(event) / 8.0, 1.0).unwrap();
        };
        let introduce = |bases: &mut [Held<Ridge>]| {
            let mut commons = Commons::default();
            bases.iter_mut().for_each(|held| held.share(&mut commons, &Features::Raw, &layout, false));
        };
        let mut bases: Vec<_> = (0..3).map(|_| Held::new(Ridge::new(1.0, 0.0, 2, 1), 2)).collect();
        introduce(&mut bases[..2]);
        let mut alone = bases[0].clone();
        learn(&mut bases[0], 1);
        learn(&mut bases[2], 1);
        // The second is behind. The third joins the first, and brings the next event about.
        introduce(&mut bases);
        assert!(Arc::ptr_eq(&bases[0].common.borrow(), &bases[2].common.borrow()));
        for (base, event) in [(2, 2), (1, 1), (0, 2), (1, 2), (2, 3), (1, 3), (0, 3), (0, 4), (2, 4), (1, 4)]
        {
            learn(&mut bases[base], event);
        }
        (1..=4).for_each(|event| learn(&mut alone, event));
        for held in &bases {
            assert_eq!(held.model(Clone::clone).unwrap(), alone.model(Clone::clone).unwrap());
        }
    }
}
