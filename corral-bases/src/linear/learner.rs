//! The base that regresses the loss on features and chooses by a rule.
//!
//! Lazy: it learns the observed loss in rounds that it saw, also from decisions that others proposed. Weakly stable
//! with alpha = 1/2 without being told the range, where the squared widths of its rule are summable
//! (docs/stability.md#lazy-bases).

use std::cell::RefCell;

use corral_core::snapshot::SnapshotError;
use corral_core::{
    Abilities, Arm, Base, BaseError, Commons, Context, Feedback, LossDomain, Memo, Order, Proposal, Rng,
    Setup, sample_index,
};
use serde::{Serialize, de::DeserializeOwned};

use super::features::Represented;
use super::held::Held;
use super::regressor::{Layout, Regressor};
use crate::arms::Ties;
use crate::common::{Clock, RangeChange, check_arm, reopen, seal};

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

/// A rule that turns predictions and widths into a distribution over actions.
pub trait Choice: Represented {
    /// The model of the loss.
    type Model: Regressor;

    /// A model that has learned nothing.
    fn model(&self, models: usize, dim: usize) -> Self::Model;

    /// Whether the rule looks at widths.
    fn needs_widths(&self) -> bool;

    /// Writes the distribution over actions.
    fn weigh(&self, view: &View<'_>, weights: &mut [f64]);

    /// Whether rounds that were not seen matter to the rule where the horizon is not known.
    fn counts_rounds(&self) -> bool {
        false
    }

    /// What a larger range does.
    fn range_change(&self) -> RangeChange;

    /// Whether examples count by their importance weight.
    fn weighted(&self) -> bool;
}

/// All weight on the actions with the lowest score: on the first, or evenly.
pub(crate) fn put_on_lowest(ties: Ties, weights: &mut [f64], score: impl Fn(usize) -> f64) {
    let (mut low, mut first, mut count) = (f64::INFINITY, 0, 0.0);
    for (a, weight) in weights.iter_mut().enumerate() {
        let s = score(a);
        *weight = s;
        if s < low {
            (low, first, count) = (s, a, 1.0);
        } else if s == low {
            count += 1.0;
        }
    }
    for (a, weight) in weights.iter_mut().enumerate() {
        *weight = match ties {
            Ties::Lowest => f64::from(a == first),
            Ties::Random => f64::from(*weight == low) / count,
        };
    }
}

/// A base that regresses the loss on features and chooses by the rule `C`.
#[derive(Debug, Clone)]
pub struct Linear<C: Choice> {
    params: C,
    layout: Layout,
    state: State<C::Model>,
    /// The distribution over actions.
    weights: RefCell<Vec<f64>>,
}

#[derive(Debug, Clone)]
pub(crate) struct State<M: Regressor> {
    pub clock: Clock,
    losses: LossDomain,
    pub held: Held<M>,
}

impl<M: Regressor> State<M> {
    pub(crate) fn new(setup: &Setup, model: M, layout: &Layout) -> Self {
        Self { clock: Clock::new(setup), losses: setup.losses, held: Held::new(model, layout.actions) }
    }

    /// Learns an observed loss, and lets the round go by.
    pub(crate) fn learn(
        &mut self,
        layout: &Layout,
        weighted: bool,
        x: &Context,
        arm: Arm,
        feedback: Feedback,
    ) -> Result<(), BaseError> {
        let feedback = feedback.check_in(self.losses, self.clock.range)?;
        let action = check_arm(arm, layout.check(x)?)?;
        if let Some(loss) = feedback.observed() {
            let weight = if weighted { feedback.weight() } else { 1.0 };
            self.held.learn(layout.model(action), layout.features(x, action), loss, weight)?;
        }
        self.clock.tick();
        Ok(())
    }

    pub(crate) fn obey(&mut self, order: Order, change: RangeChange) -> Result<(), BaseError> {
        let mut clock = self.clock;
        if clock.obey(order, change)? {
            self.held.restart()?;
        }
        self.clock = clock;
        Ok(())
    }

    /// Empty where a base that is out of step has no state of its own.
    pub(crate) fn save<P: Serialize>(&self, name: &str, params: &P, layout: &Layout) -> Vec<u8> {
        let sealed =
            self.held.model(|model| seal(name, params, &(layout, &self.clock, self.held.seen(), model)));
        sealed.unwrap_or_default()
    }

    /// Reads back what [`save`](State::save) wrote; `fresh` is a model that has learned nothing.
    pub(crate) fn load<P>(
        &mut self,
        name: &str,
        params: &P,
        layout: &Layout,
        bytes: &[u8],
        fresh: &M,
    ) -> Result<(), BaseError>
    where
        P: DeserializeOwned + PartialEq,
    {
        let (shape, clock, seen, mut model): (Layout, Clock, u64, M) = reopen(name, params, bytes)?;
        if shape != *layout {
            return Err(SnapshotError::state("it was saved for a world of another shape").into());
        }
        clock.valid()?;
        model.restore(fresh)?;
        self.held.load(model, seen)?;
        self.clock = clock;
        Ok(())
    }
}

impl<C: Choice> Linear<C> {
    pub(crate) fn new(params: C, layout: Layout, setup: &Setup) -> Self {
        let state = State::new(setup, params.model(layout.models(), layout.dim), &layout);
        Self { params, layout, state, weights: RefCell::new(vec![0.0; layout.actions]) }
    }

    /// Fills the weights of the actions of `x`; how many actions there are.
    fn weigh(&self, x: &Context, weights: &mut [f64]) -> Result<usize, BaseError> {
        let clock = &self.state.clock;
        self.state.held.look(&self.layout, x, self.params.needs_widths(), |sight, actions| {
            let view = View {
                predictions: &sight.predictions[..actions],
                widths: &sight.widths[..actions],
                log_dets: &sight.log_dets[..actions],
                seen: self.state.held.seen() as f64,
                rounds: clock.rounds as f64,
                horizon: clock.tuned(),
                range: if self.params.range_change() == RangeChange::Keep { 1.0 } else { clock.range },
                dim: self.layout.dim as f64,
            };
            self.params.weigh(&view, &mut weights[..actions]);
            actions
        })
    }
}

impl<C: Choice> Linear<C> {
    /// Whether a round without it is something: only where the horizon has to be counted.
    fn counts_passes(&self) -> bool {
        self.state.clock.horizon.is_none() && self.params.counts_rounds()
    }
}

impl<C: Choice> Base<Context, Arm> for Linear<C> {
    fn propose(&mut self, x: &Context, rng: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
        let mut weights = self.weights.borrow_mut();
        let actions = self.weigh(x, &mut weights)?;
        let arm = sample_index(&weights[..actions], 1.0, rng)
            .ok_or_else(|| BaseError::Failed(format!("{} found no action", C::ENTRY.name)))?;
        Ok(Proposal::new(Arm::from(arm)))
    }

    fn learn(&mut self, x: &Context, made: &Proposal<Arm>, feedback: Feedback) -> Result<(), BaseError> {
        self.state.learn(&self.layout, self.params.weighted(), x, made.decision, feedback)
    }

    fn pass(&mut self, x: &Context) -> Result<(), BaseError> {
        self.layout.check(x)?;
        if self.counts_passes() {
            self.state.clock.tick();
        }
        Ok(())
    }

    fn likelihood(&self, x: &Context, decision: &Arm) -> Option<(f64, Memo)> {
        let mut weights = self.weights.try_borrow_mut().ok()?;
        let actions = self.weigh(x, &mut weights).ok()?;
        let weight = weights[..actions].get(decision.index())?;
        Some((weight.clamp(0.0, 1.0), Memo::empty()))
    }

    fn abilities(&self) -> Abilities {
        let heeds_passes = self.counts_passes();
        Abilities { heeds_passes, learns_from_others: true }
    }

    fn share(&mut self, commons: &mut Commons) {
        let restarts = self.params.range_change() == RangeChange::Restart;
        self.state.held.share(commons, self.params.features(), &self.layout, restarts);
    }

    fn obey(&mut self, order: Order) -> Result<(), BaseError> {
        self.state.obey(order, self.params.range_change())
    }

    fn save(&self) -> Vec<u8> {
        self.state.save(C::ENTRY.name, &self.params, &self.layout)
    }

    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        let fresh = self.params.model(self.layout.models(), self.layout.dim);
        self.state.load(C::ENTRY.name, &self.params, &self.layout, state, &fresh)
    }
}
