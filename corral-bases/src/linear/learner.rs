//! The base that regresses the loss on features and chooses by a rule.
//!
//! Lazy: it learns the observed loss in rounds that it saw, also from decisions that others proposed. Weakly stable
//! with alpha = 1/2 without being told the range, where the squared widths of its rule are summable
//! (docs/stability.md#lazy-bases).

use std::cell::RefCell;

use corral_core::{Commons, Context, LossDomain};
use serde::de::DeserializeOwned;

use super::features::Features;
use super::held::Held;
use super::layout::{Layout, Parameters};
use crate::arms::index::all_lowest;
use crate::prelude::*;
use crate::regression::Regressor;

/// What a rule may look at.
pub struct View<'a> {
    /// The predicted loss of each action.
    pub predictions: &'a [f64],
    /// ||z||_{V^-1} of each action; only for rules that ask for widths.
    pub widths: &'a [f64],
    /// ln det(V/lambda) of each action's model; only for rules that ask for widths.
    pub log_dets: &'a [f64],
    /// Losses learned so far.
    pub seen: f64,
    /// Rounds that are over.
    pub rounds: f64,
    /// T, where it is known; at least 2.
    pub horizon: Option<f64>,
    /// The largest weight of feedback.
    pub range: f64,
    /// Features of an example.
    pub dim: f64,
}

impl View<'_> {
    /// The number of actions.
    pub fn actions(&self) -> f64 {
        self.predictions.len() as f64
    }

    /// T, or the number of this round where T is not known; at least 2.
    pub fn horizon_or_round(&self) -> f64 {
        self.horizon.unwrap_or((self.rounds + 1.0).max(2.0))
    }
}

/// Parameters that say how the context is seen.
pub trait OverFeatures {
    /// The representation of the context.
    fn features(&self) -> &Features;
}

/// Parameters of a base that regresses the loss on features: what they say of the regression.
pub trait Regression: BaseParams + OverFeatures {
    /// The model of the loss.
    type Model: Regressor;

    /// A model that has learned nothing.
    fn model(&self, models: usize, dim: usize) -> Self::Model;

    /// Which parameter vectors there are.
    fn parameters(&self) -> Parameters;

    /// Whether examples count by their importance weight.
    fn weighted(&self) -> bool {
        false
    }

    /// Whether the parameters of the regression can be used.
    ///
    /// # Errors
    /// Names one that cannot.
    fn check_model(&self) -> Result<(), ParamError> {
        Ok(())
    }
}

/// A [`Regression`] by the ridge that the parameter `model` describes.
macro_rules! by_ridge {
    ($params:ty) => {
        impl $crate::linear::Regression for $params {
            type Model = $crate::linear::Ridge;

            fn model(&self, models: usize, dim: usize) -> $crate::linear::Ridge {
                $crate::linear::Ridge::new(self.model.ridge, self.model.centre, models, dim)
            }

            fn parameters(&self) -> $crate::linear::Parameters {
                self.model.parameters
            }

            fn weighted(&self) -> bool {
                self.model.weighted
            }

            fn check_model(&self) -> Result<(), corral_core::ParamError> {
                $crate::built::inside("model", corral_core::params::Params::check(&self.model))
            }
        }
    };
}
pub(crate) use by_ridge;

/// A rule that turns predictions and widths into a distribution over actions.
pub trait ActionRule: Regression {
    /// Whether the rule looks at widths.
    fn needs_widths(&self) -> bool {
        false
    }

    /// Writes the distribution over actions.
    fn weigh(&self, view: &View<'_>, weights: &mut [f64]);

    /// Whether rounds that were not seen matter to the rule where the horizon is not known.
    fn counts_rounds(&self) -> bool {
        false
    }
}

/// All weight on the actions with the lowest score: on the first, or evenly.
pub(crate) fn put_on_lowest(ties: Ties, weights: &mut [f64], score: impl Fn(usize) -> f64) {
    weights.iter_mut().enumerate().for_each(|(a, weight)| *weight = score(a));
    let (low, first, count) = all_lowest(weights.iter().copied());
    for (a, weight) in weights.iter_mut().enumerate() {
        *weight = match ties {
            Ties::Lowest => f64::from(a == first),
            Ties::Random => f64::from(*weight == low) / count as f64,
        };
    }
}

/// What a base keeps that regresses the loss on features.
#[derive(Debug, Clone)]
pub(crate) struct State<P: Regression> {
    pub params: P,
    pub layout: Layout,
    pub clock: Clock,
    losses: LossDomain,
    pub held: Held<P::Model>,
}

impl<P: Regression> State<P> {
    pub(crate) fn new(params: P, setup: &Setup) -> Result<Self> {
        params.check_model()?;
        let layout = Layout::new(params.parameters(), setup, P::MATRICES)?;
        let held = Held::new(params.model(layout.models(), layout.dim), layout.actions);
        Ok(Self { params, layout, clock: Clock::new(setup), losses: setup.losses, held })
    }

    /// Learns an observed loss, and lets the round go by. What was learned: the features and their weight.
    pub(crate) fn learn<'a>(
        &mut self,
        x: &'a Context,
        arm: Arm,
        feedback: Feedback,
    ) -> Result<Option<(&'a [f64], f64)>> {
        let feedback = feedback.check_in(self.losses, self.clock.range)?;
        let action = check_arm(arm, self.layout.check(x)?)?;
        let mut learned = None;
        if let Some(loss) = feedback.observed() {
            let weight = if self.params.weighted() { feedback.weight() } else { 1.0 };
            let z = self.layout.features(x, action);
            self.held.learn(self.layout.model(x, action), z, loss, weight)?;
            learned = Some((z, weight));
        }
        self.clock.tick();
        Ok(learned)
    }

    pub(crate) fn share(&mut self, commons: &mut Commons) {
        let restarts = self.params.range_change() == RangeChange::Restart;
        self.held.share(commons, self.params.features(), &self.layout, restarts);
    }

    /// `true`: everything is forgotten.
    pub(crate) fn apply_order(&mut self, order: Order) -> Result<bool> {
        let mut clock = self.clock;
        let forget = clock.apply_order(order, self.params.range_change())?;
        if forget {
            self.held.restart()?;
        }
        self.clock = clock;
        Ok(forget)
    }

    /// With what the base keeps `beside` it. Empty where a base that is out of step has no state of its own.
    pub(crate) fn save<T: Serialize>(&self, beside: &T) -> Vec<u8> {
        let whole = |model: &P::Model| {
            let state = (&self.layout, &self.clock, self.held.seen(), model, beside);
            seal(P::NAME, &self.params, &state)
        };
        self.held.model(whole).unwrap_or_default()
    }

    /// Reads back what [`save`](State::save) wrote; `sound` checks what was kept beside.
    pub(crate) fn load<T: DeserializeOwned>(
        &mut self,
        bytes: &[u8],
        sound: impl FnOnce(&T) -> Result<(), SnapshotError>,
    ) -> Result<T> {
        let (layout, clock, seen, mut model, beside): (Layout, Clock, u64, P::Model, T) =
            reopen(P::NAME, &self.params, bytes)?;
        sound(&beside)?;
        ensure(layout == self.layout, "it was saved for a world of another shape")?;
        clock.valid()?;
        model.restore(&self.params.model(layout.models(), layout.dim))?;
        self.held.load(model, seen)?;
        self.clock = clock;
        Ok(beside)
    }
}

/// A base that regresses the loss on features and chooses by the rule `C`.
#[derive(Debug, Clone)]
pub struct Linear<C: ActionRule> {
    state: State<C>,
    /// The distribution over actions.
    weights: RefCell<Vec<f64>>,
}

impl<C: ActionRule> Make<C> for Linear<C> {
    const KIND: Kind = Kind::Contextual;

    fn make(params: C, setup: &Setup) -> Result<Self> {
        let state = State::new(params, setup)?;
        let weights = RefCell::new(vec![0.0; state.layout.actions]);
        Ok(Self { state, weights })
    }
}

impl<C: ActionRule> Linear<C> {
    /// Fills the weights of the actions of `x`; how many actions there are.
    fn weigh(&self, x: &Context, weights: &mut [f64]) -> Result<usize> {
        let State { params, layout, clock, held, .. } = &self.state;
        held.look(layout, x, params.needs_widths(), |sight, actions| {
            let view = View {
                predictions: &sight.predictions[..actions],
                widths: &sight.widths[..actions],
                log_dets: &sight.log_dets[..actions],
                seen: held.seen() as f64,
                rounds: clock.rounds as f64,
                horizon: clock.tuned(),
                range: if params.range_change() == RangeChange::Keep { 1.0 } else { clock.range },
                dim: layout.dim as f64,
            };
            params.weigh(&view, &mut weights[..actions]);
            actions
        })
    }

    /// Whether it needs to see every round: only where the horizon has to be counted.
    fn counts_passes(&self) -> bool {
        self.state.clock.horizon.is_none() && self.state.params.counts_rounds()
    }
}

impl<C: ActionRule> Base<Context, Arm> for Linear<C> {
    fn propose(&mut self, x: &Context, rng: &mut dyn Rng) -> Result<Proposal<Arm>> {
        let mut weights = self.weights.borrow_mut();
        let actions = self.weigh(x, &mut weights)?;
        let arm = sample_index(&weights[..actions], 1.0, rng)
            .ok_or_else(|| BaseError::Failed(format!("{} found no action", C::NAME)))?;
        Ok(Proposal::new(Arm::at(arm)))
    }

    fn learn(&mut self, x: &Context, made: &Proposal<Arm>, feedback: Feedback) -> Result {
        self.state.learn(x, made.decision, feedback).map(drop)
    }

    fn likelihood(&self, x: &Context, decision: &Arm) -> Option<(f64, Memo)> {
        let mut weights = self.weights.try_borrow_mut().ok()?;
        let actions = self.weigh(x, &mut weights).ok()?;
        let weight = weights[..actions].get(decision.index())?;
        Some((weight.clamp(0.0, 1.0), Memo::empty()))
    }

    fn abilities(&self) -> Abilities {
        Abilities { wants_passes: self.counts_passes(), takes_offers: true, ..Abilities::MODEL }
    }

    fn apply_order(&mut self, order: Order) -> Result {
        self.state.apply_order(order).map(drop)
    }

    fn save(&self) -> Vec<u8> {
        self.state.save(&())
    }

    fn load(&mut self, state: &[u8]) -> Result {
        self.state.load(state, |()| Ok(()))
    }

    fn extra(&mut self) -> Option<&mut dyn BaseExtra<Context, Arm>> {
        Some(self)
    }
}

impl<C: ActionRule> BaseExtra<Context, Arm> for Linear<C> {
    fn pass(&mut self, x: &Context) -> Result {
        self.state.layout.check(x)?;
        if self.counts_passes() {
            self.state.clock.tick();
        }
        Ok(())
    }

    fn share(&mut self, commons: &mut Commons) {
        self.state.share(commons);
    }
}
